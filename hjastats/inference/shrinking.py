"""How errors shrink with more verdicts: what verdicts contribute to them, and what prompts or judges that are a sample do."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from ..errors import OptionError
from ..fitted import Fit
from ..population import PopulationFit
from ..words import counted, percent, roughly
from .allocation import Allocator, Candidates
from .goals import Goal
from .recruiting import PanelAllocator, shares_of_judges

# Verdicts beyond which there is no use in asking for more.
OUT_OF_REACH = 1e9
# Share of the variance between clusters from which new ones are worth their making.
WORTH_NEW = 0.05


@dataclass(frozen=True)
class Errors:
    """Variances of contrasts by what they come from.

    Attributes
    ----------
    verdicts : ndarray, shape (m,)
        What more verdicts of the same kind make smaller, also on the same clusters.
    clusters : ndarray, shape (m,)
        What only more clusters make smaller: prompts that suit some items more, say. Zero without clustered errors.
    n_verdicts : float
    n_clusters : int
        Zero without clustered errors.
    name : str
        What the clusters are.
    are_planned : bool
        Whether plans choose among clusters, too, as they do among judges who are a sample.
    """

    verdicts: np.ndarray
    clusters: np.ndarray
    n_verdicts: float
    n_clusters: int = 0
    name: str = ""
    are_planned: bool = False

    @property
    def total(self) -> np.ndarray:
        """Variances now, shape (m,)."""
        return self.verdicts + self.clusters

    def after(self, n: float, *, are_new: bool) -> np.ndarray:
        """Variances after n more verdicts in the present mix, on new clusters, as many on each, or on those there are."""
        shrunk = self.n_verdicts / (self.n_verdicts + n)
        return self.verdicts * shrunk + self.clusters * (shrunk if are_new else 1.0)

    @property
    def of_mean(self) -> Errors:
        """Of the mean of the contrasts' variances."""
        return replace(self, verdicts=self.verdicts.mean(), clusters=self.clusters.mean())

    def after_plan(self, left: np.ndarray, n: float | np.ndarray = 0.0) -> np.ndarray:
        """Variances after n planned verdicts that leave some share of what they bear on; clusters become more with them."""
        if self.are_planned:
            return self.total * left
        return self.verdicts * left + self.clusters * (self.n_verdicts / (self.n_verdicts + n))

    @property
    def are_new(self) -> bool:
        """Whether plans are for new clusters."""
        return self.are_planned or bool(self.clusters.sum() > WORTH_NEW * self.total.sum())

    @property
    def word(self) -> str:
        """How verdicts belong to clusters."""
        return "by" if self.are_planned else "on"

    def told(self, n: float, *, new: bool = False) -> str:
        """So many clusters in words."""
        if self.are_planned:
            return counted(n, f"{'new ' * new}{self.name}")
        return f"{roughly(n) if new else f'{n:,.0f}'} {'new ' * new}values of {self.name}"

    def clusters_of(self, n: float) -> int:
        """New clusters that so many verdicts fill as those there are."""
        return int(np.ceil(n * self.n_clusters / self.n_verdicts))


def split_errors(fit: Fit, rows: np.ndarray) -> Errors:
    """What verdicts and what clusters contribute to the variances of contrasts with the given Jacobian (m, n_free).

    Verdicts that are independent given the model have its variance. What cluster-robust variances have beyond that is what verdicts
    of a cluster have in common. A cluster contributes to a contrast the sum of ``c'C x`` times residuals. Twice as many
    verdicts on each cluster halve ``C`` and have four times as many pairs: what pairs have in common stays. Twice as many clusters
    halve it.
    """
    of_model, chosen = fit.model_covariance.variances(rows), fit.covariance.variances(rows)
    if isinstance(fit, PopulationFit):
        of_judges = chosen * shares_of_judges(fit, rows)
        n_judges = len(fit.layout.judges)
        return Errors(chosen - of_judges, of_judges, fit.n_comparisons, n_judges, "judge", are_planned=True)
    if fit.choice.kind != "cluster":
        return Errors(chosen, np.zeros(len(rows)), fit.n_worth)
    facts, verdicts = fit.choice.facts, np.minimum(of_model, chosen)
    groups = facts.get("groups")
    name = groups if isinstance(groups, str) else "cluster"
    return Errors(verdicts, chosen - verdicts, fit.n_comparisons, int(facts["n_groups"]), name)


def verdicts_needed(goal: Goal, errors: Errors, power: float, *, are_new: bool) -> float:
    """Verdicts in the present mix after which the goal is reached with some power; infinite if no number of them is enough."""

    def lacking(log_n: float) -> float:
        return goal.power(errors.after(np.expm1(log_n), are_new=are_new)) - power

    if lacking(0.0) >= 0.0:
        return 0.0
    most = np.log(OUT_OF_REACH)
    return float(np.ceil(np.expm1(brentq(lacking, 0.0, most)))) if lacking(most) > 0.0 else np.inf


def limiting(errors: Errors) -> str:
    """A sentence where clusters, and not verdicts, are most of the error."""
    if not errors.n_clusters or errors.clusters.sum() < errors.verdicts.sum():
        return ""
    share = errors.clusters.sum() / errors.total.sum()
    return (
        f"{percent(share, 0)} of the variance is between the {errors.told(errors.n_clusters)}: more verdicts {errors.word} "
        "them buy little, new ones do."
    )


def allocator(
    fit: Fit, goal: Goal, candidates: Candidates, ahead: float, per_judge: float | None = None
) -> Allocator | PanelAllocator:
    """Who chooses comparisons for a fit: judges who are a sample can be others than those at hand.

    Raises
    ------
    OptionError
        For verdicts of new judges where there are none.
    """
    if isinstance(fit, PopulationFit):
        return PanelAllocator(fit, goal, candidates, ahead, per_judge)
    if per_judge is not None:
        raise OptionError(
            "per_judge is about new judges, and this model knows those at hand only: PopulationHJAModel plans for others."
        )
    return Allocator(fit, goal, candidates, ahead)
