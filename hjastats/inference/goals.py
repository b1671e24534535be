"""What verdicts are collected for: contrasts that are to be told from a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from scipy import stats

from ..data.arrays import check_alpha
from ..errors import ContrastError, Hint, IdentificationError, OptionError
from ..fitted import Fit
from ..words import quoted
from .apart import are_apart, check_pairs_linked
from .contrasts import contrast
from .simultaneous import largest_differences, pairwise_differences

# Standard errors beyond the critical value at which nothing is left to find out.
FAR = 3.0

# Weights of contrasts from their distances, variances and the critical value.
Weigh: TypeAlias = "Callable[[np.ndarray, np.ndarray, float], np.ndarray]"


@dataclass(frozen=True)
class Goal:
    """Contrasts and what is to be known about them.

    Attributes
    ----------
    text : str
        What is to be reached.
    names : list of str
    rows : ndarray, shape (m, n_free)
    distance : ndarray, shape (m,)
        From the value tested against, on the scale of the test.
    critical : float
        Standard errors beyond which a contrast counts as told from it.
    again : callable
        The rows at another fit of the same model.
    weigh : callable, optional
        Weights of the contrasts' variances (m,) from their distances, variances and the critical value; all alike by default.
    of_items : tuple, optional
        Jacobian of scores (n, n_free) and the two positions (m,) whose differences the contrasts are: many, but of few scores.
    is_pair_of_many : bool
        Whether it is about two items, and there are others.
    """

    text: str
    names: list[str]
    rows: np.ndarray
    distance: np.ndarray
    critical: float
    again: Callable[[Fit], np.ndarray]
    weigh: Weigh | None = None
    of_items: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
    is_pair_of_many: bool = False

    def along(self, movement: np.ndarray) -> np.ndarray:
        """By how much a movement (n_free,) of the free coordinates changes the contrasts, shape (m,)."""
        if self.of_items is None:
            return self.rows @ movement
        scores, low, high = self.of_items
        moved = scores @ movement
        return moved[low] - moved[high]

    def directions(self, weights: np.ndarray) -> np.ndarray:
        """Rows whose variances sum to the weighted ones of the contrasts, shape (r, n_free)."""
        if self.of_items is None:
            return np.sqrt(weights)[:, None] * self.rows
        scores, low, high = self.of_items
        links = np.zeros((len(scores), len(scores)))
        links[low, high] = links[high, low] = -weights
        values, vectors = np.linalg.eigh(links - np.diag(links.sum(axis=1)))
        kept = values > 1e-10 * values.max()
        return np.sqrt(values[kept])[:, None] * (vectors[:, kept].T @ scores)

    def weights(self, variances: np.ndarray) -> np.ndarray:
        """What a smaller variance of each contrast is worth, given what the variances will be, shape (m,)."""
        if self.weigh is None:
            return np.ones(len(self.rows))
        return self.weigh(self.distance, variances, self.critical)

    def power(self, variances: np.ndarray) -> float:
        """Chance that all contrasts are told from their values, if these distances are true; at least that, of several."""
        shift = np.abs(self.distance) / np.sqrt(variances)
        each = stats.norm.sf(self.critical - shift) + (
            stats.norm.cdf(-self.critical - shift) if len(shift) == 1 else 0.0
        )
        # Of several, by Bonferroni's inequality.
        return float(max(1.0 - np.sum(1.0 - each), 0.0)) if len(shift) > 1 else float(each[0])


def read_goal(fit: Fit, goal: Any, alpha: float = 0.05) -> Goal:
    """A goal by its name, or any contrast.

    Raises
    ------
    OptionError
        For a contrast that cannot be read as one, and names that are none.
    IdentificationError
        Without a finite, determined estimate or standard errors.
    """
    check_alpha(alpha)
    fit.need_converged("the fit has no finite, determined estimate to plan from: use fit_regularized().")
    if fit.why_no_errors:
        raise IdentificationError(fit.why_no_errors)
    if isinstance(goal, str) and goal in GOALS:
        if are_apart(fit.layout):
            groups = fit.layout.structure.groups
            some = [fit.layout.items[i] for i in groups[0][:2]]
            raise OptionError(
                f"goal {goal!r} is about all items, and they are in {len(groups)} groups that nobody compared: name "
                "items of one group, ",
                Hint("goal", f"mu[{some[0]}] - mu[{some[1]}]"),
                ".",
            )
        return GOALS[goal](fit, alpha)
    if isinstance(goal, tuple) and len(goal) == 2 and set(goal) <= set(fit.layout.items):
        return _of_two(fit, fit.positions("mu", goal), alpha)
    try:
        found = contrast(fit, goal)
    except ContrastError as error:
        if isinstance(goal, str) and "[" not in goal:
            raise OptionError(f"goal must be a contrast or one of {quoted(GOALS, len(GOALS))}, got {goal!r}.") from None
        raise error
    if found.is_fixed.any():
        raise ContrastError(
            f"{quoted(np.array(found.names)[found.is_fixed])} is fixed by the model: no verdict changes it."
        )
    distance, rows = found.on_scales()
    critical = float(stats.norm.isf(alpha / 2.0 / len(found.names)))
    text = ", ".join(f"{name} from {null:g}" for name, null in zip(found.names, found.null, strict=True))
    again = partial(_contrast_rows, spec=goal)
    return Goal(f"tell {text}", list(found.names), rows, distance, critical, again)


def _contrast_rows(fit: Fit, spec: Any) -> np.ndarray:
    return contrast(fit, spec).on_scales()[1]


def _difference_rows(fit: Fit, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Jacobian of differences between scores of the consensus."""
    rows = fit.vector("mu", np.arange(len(fit.layout.items)))[2]
    return rows[first] - rows[second]


def _of_two(fit: Fit, pair: np.ndarray, alpha: float) -> Goal:
    """Two items told apart."""
    check_pairs_linked(fit.layout, pair[:1], pair[1:])
    first, second = (fit.layout.items[i] for i in pair)
    text, critical = f"separate {first} from {second}", float(stats.norm.isf(alpha / 2.0))
    goal = _of_differences(fit, pair[:1], pair[1:], text, critical)
    return replace(goal, is_pair_of_many=len(fit.layout.items) > 2)


def _of_differences(
    fit: Fit, first: np.ndarray, second: np.ndarray, text: str, critical: float, weigh: Weigh | None = None
) -> Goal:
    """Items told apart in pairs, of positions (m,)."""
    names, mu, _ = fit.vector("mu", np.arange(len(fit.layout.items)))
    again = partial(_difference_rows, first=first, second=second)
    pairs = [f"{names[i]} and {names[j]}" for i, j in zip(first, second, strict=True)]
    return Goal(text, pairs, again(fit), mu[first] - mu[second], critical, again, weigh)


def _top(fit: Fit, alpha: float) -> Goal:
    return _of_two(fit, fit.best_first[0][:2], alpha)


def _all_in_order(fit: Fit, alpha: float) -> Goal:
    order, critical = fit.best_first[0], _joint_critical(fit, alpha)
    return _of_differences(fit, order[:-1], order[1:], "order all items", critical, _as_hard)


def _joint_critical(fit: Fit, alpha: float) -> float:
    """Of all pairwise differences at once, as in the ranking."""
    _, _, rows = fit.vector("mu", np.arange(len(fit.layout.items)))
    return float(np.quantile(largest_differences(fit.covariance.of(rows)), 1.0 - alpha))


def _as_hard(distance: np.ndarray, variances: np.ndarray, critical: float) -> np.ndarray:
    """All shall be told apart: what counts is the hardest, in units of its distance."""
    hardness = variances / np.maximum(distance**2, 1e-12)
    return (hardness / hardness.max()) ** 4 / np.maximum(distance**2, 1e-12)


def _places(fit: Fit, alpha: float) -> Goal:
    """As many pairs as possible told apart when all are compared: that makes the ranges of places narrow."""
    _, mu, rows = fit.vector("mu", np.arange(len(fit.layout.items)))
    low, high = np.triu_indices(len(mu), 1)
    critical = _joint_critical(fit, alpha)
    # Pairs that are told apart by far need nothing.
    z = np.abs(pairwise_differences(mu, fit.covariance.of(rows)).z)[low, high]
    low, high = (side[z < max(critical + FAR, z.min() + 1.0)] for side in (low, high))
    found = _of_differences(fit, low, high, "narrow the ranges of places", critical, _near)
    return replace(found, of_items=(rows, low, high))


def _near(distance: np.ndarray, variances: np.ndarray, critical: float) -> np.ndarray:
    """Slope of the expected number of differences that are told apart, by their variances."""
    shift = np.abs(distance) / np.sqrt(variances)
    return stats.norm.pdf(shift - critical) * shift / (2.0 * variances)


# By name, as the methods of ``result.plan`` take them: functions of the fit and the level of the tests.
GOALS: dict[str, Callable[[Fit, float], Goal]] = {
    "top2": _top,
    "separate the top 2": _top,
    "order all": _all_in_order,
    "places": _places,
}


def closest(goal: Goal, variances: np.ndarray) -> int:
    """The contrast that is hardest to tell from its null value."""
    return int(np.argmin(np.abs(goal.distance) / np.sqrt(variances)))


def pairs_told_apart(fit: Fit, alpha: float) -> tuple[int, int]:
    """How many pairs of items differ when all are compared at once, of how many."""
    _, mu, rows = fit.vector("mu", np.arange(len(fit.layout.items)))
    z = np.abs(pairwise_differences(mu, fit.covariance.of(rows)).z)[np.triu_indices(len(mu), 1)]
    return int((z > _joint_critical(fit, alpha)).sum()), len(z)
