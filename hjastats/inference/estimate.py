"""A fitted model as the numbers it consists of: where it is, how it got there, how precise it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg import cho_factor, cho_solve

from .. import limits
from ..data.cells import Cells
from ..model.layout import Coefficients, Layout
from ..model.likelihood import evaluate, free_gradient, gradient
from ..model.structures import ScoreStructure, TangentBasis
from ..solve.alternating import AlternatingRun
from ..solve.existence import Separation, find_separation
from ..solve.products import ProductSystem, coordinates
from ..solve.ridge import NO_RIDGE, Ridge
from ..solve.search import Search
from ..solve.trust import Optimum
from ..solve.validation import CrossValidation
from ..words import quoted
from .covariance import SINGULAR_CONDITION, FreeCovariance, LargeCovariance, covariance_at, information_at


@dataclass(frozen=True)
class Penalty:
    """What was added to the likelihood.

    Attributes
    ----------
    kind : {"ridge", "firth"}
    ridge : Ridge
    df : float
        Effective number of parameters, trace of (information + ridge)^-1 information.
    validation : CrossValidation or None
        How the weight was chosen, if it was.
    """

    kind: str
    ridge: Ridge = NO_RIDGE
    df: float = float("nan")
    validation: CrossValidation | None = None

    @property
    def description(self) -> str:
        """How the standard errors came about."""
        if self.kind == "firth":
            return "Bias-reduced estimates (Firth); standard errors from the expected information."
        on = "scores and linear coefficients" if self.ridge.terms else "scores"
        return (
            f"Ridge with weight {self.ridge.scores:.3g} on the {on}, a Gaussian prior of variance {1 / self.ridge.scores:.3g}; "
            "standard errors are those of the posterior, from the information plus the ridge."
        )


@dataclass(frozen=True)
class Estimate:
    """Optimum, tangent, covariance and existence of one fit.

    Attributes
    ----------
    cells : Cells
        What was fitted.
    search : Search
    tangent : TangentBasis
        Free directions at the estimated scores.
    separation : Separation or None
    method : str
    information : str
        "expected" or "observed".
    history : AlternatingRun or None
    penalty : Penalty or None
    """

    cells: Cells
    search: Search
    tangent: TangentBasis
    separation: Separation | None
    method: str
    information: str
    history: AlternatingRun | None = None
    penalty: Penalty | None = None

    @cached_property
    def free_covariance(self) -> FreeCovariance | LargeCovariance:
        """Inverse information of the free coordinates; computed when first asked for."""
        ridge = NO_RIDGE if self.penalty is None else self.penalty.ridge
        return covariance_at(self.cells, self.at, self.tangent, self.information, ridge)

    @cached_property
    def is_identified(self) -> bool:
        """Whether the data determine every free coordinate."""
        # Of scores without further terms that comparisons link, there is often no need for a covariance to tell.
        is_plain = self.penalty is None and self.separation is None and not len(self.cells.is_free)
        if is_plain and self.optimum.converged:
            if (
                not self.tangent.judge_items.shape[1]
                and _pooled_condition(self.cells, self.at.scores[0]) < SINGULAR_CONDITION
            ):
                return True
            if not self.tangent.shared_judges.shape[1] and self.cells.n_items > limits.DENSE_OWN_ITEMS:
                curvature = evaluate(self.cells, self.at).curvature
                return bool(curvature.min() > curvature.max() / SINGULAR_CONDITION)
        return self.free_covariance.is_identified

    @property
    def optimum(self) -> Optimum:
        """The best optimum found."""
        return self.search.best

    @property
    def at(self) -> Coefficients:
        """Estimated scores and linear coefficients."""
        return self.search.best.at

    @property
    def converged(self) -> bool:
        """Stationary, a minimum, identified, and finite."""
        return self.optimum.converged and self.is_identified and self.separation is None

    @property
    def best_share(self) -> float:
        """Share of the starts that ended at the best optimum."""
        if not self.search.values or self.search.values[0] > self.optimum.value:
            return 0.0
        return self.search.counts[0] / self.search.n_starts

    def separation_text(self, layout: Layout, cells: Cells) -> str:
        """What runs to infinity, with names, and what to do about it."""
        found = self.separation
        if found is None:
            return "All scores are finite."
        items = np.asarray(layout.items, dtype=object)
        terms = found.moving_terms(layout.judge_terms, layout.shared_terms, layout.judges)[:5]
        moves = terms
        if len(found.judges):
            judges = np.asarray(layout.judges, dtype=object)[found.judges]
            who = (
                "all judges"
                if len(judges) == len(layout.judges)
                else f"judge{'s' if len(judges) > 1 else ''} {quoted(judges)}"
            )
            rise = [f"{quoted(items[found.rising])} rise{_s(found.rising)}"] if len(found.rising) else []
            fall = [f"{quoted(items[found.falling])} fall{_s(found.falling)}"] if len(found.falling) else []
            moves = [f"for {who} {' and '.join(rise + fall)}", *terms]
        remedy = "fit_regularized(terms=True)" if terms else "fit_regularized()"
        return (
            "the maximum likelihood estimate does not exist: the likelihood keeps improving while "
            f"{'; '.join(moves) or 'the scores grow'}, without limit. Rows along this direction are left empty; "
            f"{remedy} gives estimates that exist{self._light_judges(layout, cells)}."
        )

    def _light_judges(self, layout: Layout, cells: Cells) -> str:
        """Advice for judges that gave fewer verdicts than there are items to score."""
        verdicts = np.bincount(cells.judge, cells.n, minlength=cells.n_judges)
        leading = np.zeros(0, dtype=int) if self.separation is None else self.separation.judges
        light = leading[verdicts[leading] < len(layout.items)]
        if not len(light) or len(light) == len(layout.judges):
            return ""
        number = verdicts[light[0]]
        who = f"judge {layout.judges[light[0]]!r} gave only {number:,.0f} verdict{'' if number == 1 else 's'}"
        return f", and since {who}, data.pool_rare_judges({len(layout.items)}) would join judges as light as that"

    def return_values(self) -> dict[str, Any]:
        """How the maximisation went, under the names statsmodels' optimisers use where they have one."""
        optimum, found = self.optimum, self.search
        values: dict[str, Any] = {
            "fopt": optimum.negative_loglike,
            "converged": self.converged,
            "iterations": optimum.iterations,
            "distance": optimum.distance,
            "condition": self.free_covariance.condition,
            "warnflag": 0 if self.converged else 1,
            "path": optimum.path,
            "optima": [
                {"llf": -value, "starts": count} for value, count in zip(found.values, found.counts, strict=True)
            ],
        }
        if self.history is not None:
            values["history"] = self.history
        return values

    def optima_text(self) -> str:
        """Which optima the starts ended at."""
        values, counts, total = self.search.values, self.search.counts, self.search.n_starts
        lost = self.search.n_unfinished
        rest = f" {lost} of {total} starts ended at no optimum." if lost else ""
        if not values:
            return (
                f"{'The only start did not end' if total == 1 else f'None of the {total} starts ended'} at an optimum."
            )
        if len(values) == 1:
            start = "The only start" if total == 1 else f"All {total} starts"
            return (
                f"{start} ended at {'an' if total == 1 else 'the same'} optimum."
                if not lost
                else f"One optimum was found.{rest}"
            )
        listed = ", ".join(f"{-value:.3f} ({count})" for value, count in zip(values, counts, strict=True))
        return f"The starts ended at {len(values)} optima with log-likelihoods {listed}; the best was kept.{rest}"


def _s(subjects: np.ndarray) -> str:
    """The ending of a verb."""
    return "s" if len(subjects) == 1 else ""


def assess(
    cells: Cells,
    structure: ScoreStructure,
    found: Search,
    *,
    method: str,
    information: str,
    history: AlternatingRun | None = None,
    penalty: Penalty | None = None,
) -> Estimate:
    """Covariance and existence at the optimum of a search."""
    at = found.best.at
    tangent = structure.tangent(at.scores)
    # Under a penalty on everything no direction can run away.
    is_held = penalty is not None and not found.best.diverges
    separation = None if is_held else find_separation(cells, at, tangent, diverges=found.best.diverges)
    estimate = Estimate(cells, found, tangent, separation, method, information, history, penalty)
    if penalty is None:
        return estimate
    return replace(estimate, penalty=replace(penalty, df=_effective_parameters(estimate, penalty.ridge)))


def _effective_parameters(estimate: Estimate, ridge: Ridge) -> float:
    """Trace of (information + ridge)^-1 information: one for every free coordinate, less what the ridge holds of it."""
    cells, tangent = estimate.cells, estimate.tangent
    n_linear = int(cells.is_free.sum())
    held = np.repeat([ridge.terms, ridge.scores], [n_linear, tangent.n_free])
    touched = np.flatnonzero(held)
    variances = estimate.free_covariance.variances(np.eye(len(held))[touched])
    return float(len(held) - held[touched] @ variances)


def _pooled_condition(cells: Cells, scores: np.ndarray) -> float:
    """A bound on the condition number of the information about pooled scores of items that comparisons link.

    No item has more information than n_items times a pair's largest; and every direction has as much as the weakest pair's over
    the longest possible path between two items, 4 / n_items^2.
    """
    # Further out there is no bound worth the name.
    largest = min(float(np.ptp(scores)), 100.0)
    weakest = float(cells.n.min()) / (2.0 + np.exp(largest) + np.exp(-largest))
    return cells.n_judges * cells.n_items**3 * float(cells.n.max()) / (8.0 * max(weakest, 1e-300))


def stationarity(cells: Cells, at: Coefficients, tangent: TangentBasis, ridge: Ridge = NO_RIDGE) -> tuple[float, bool]:
    """How many standard errors a Newton step from here would move, and whether the observed information is positive definite."""
    here = evaluate(cells, at)
    slopes = gradient(cells, here)
    if ridge:
        slopes = ridge.add_to_gradient(cells, slopes, at)
    # Judges who share nothing have blocks as large as the items are many: nothing to precondition products with.
    if tangent.n_free > limits.MANY_FREE and tangent.shared_judges.shape[1]:
        right = coordinates(slopes, tangent)
        solution = ProductSystem(cells, here, tangent, ridge.scores, ridge.terms, slopes.scores).solve(*right)
        squared = None if solution is None else sum(float(np.vdot(a, b)) for a, b in zip(solution, right, strict=True))
    else:
        slope = free_gradient(slopes, tangent, cells)
        try:
            squared = slope @ cho_solve(cho_factor(information_at(cells, at, tangent, "observed", ridge)), slope)
        except LinAlgError:
            squared = None
    if squared is None:
        return float("nan"), False
    return float(np.sqrt(max(squared, 0.0) / min(1.0, float(cells.n.mean())))), True


def reassess(estimate: Estimate, information: str) -> Estimate:
    """The same estimate with its covariance from another information."""
    if information == estimate.information:
        return estimate
    return replace(estimate, information=information)


def which_information(information: str | None, cov_type: str) -> str:
    """The information a covariance is made of.

    A sandwich is there for models that do not hold exactly. Expected information is right only if they do, so robust types
    use the observed one unless told otherwise.

    Raises
    ------
    ValueError
    """
    if information is None:
        return "expected" if cov_type == "nonrobust" else "observed"
    if information not in ("expected", "observed"):
        raise ValueError(f"information must be 'expected' or 'observed', got {information!r}.")
    return information
