"""Which comparisons carry the leader: the few that would make another lead if they had not been made.

The idea is the approximate maximum influence perturbation of Broderick, Giordano and Meager (2020, arXiv:2011.14999): order the
comparisons by their influence on the difference, remove the first of them. What influence promises, refitting has to confirm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from .. import limits
from ..data.comparisons import Comparisons
from ..errors import IdentificationError
from ..fitted import Fit, Observations
from ..inference.contributions import Contributions, single
from ..model.likelihood import evaluate
from ..words import percent

# How often the number of comparisons is enlarged if influence promised too much.
_ATTEMPTS = 6


@dataclass(frozen=True, repr=False)
class Fragility:
    """How many comparisons the lead hangs on.

    Attributes
    ----------
    leader : str
    challenger : str or None
        Who leads without the comparisons; None if nobody was found who could.
    n_comparisons : float
        How many would have to be missing, as confirmed by fitting without them. Fewer may do: others than these were not tried.
    share : float
        Of all comparisons.
    rows : pandas.DataFrame
        Which: judge, first, second, outcome, and how many of each row, those of most influence first.
    challengers : pandas.DataFrame
        By item: difference to the leader, and the number of comparisons that influence says would turn it (one step, not refitted).
    """

    leader: str
    challenger: str | None
    n_comparisons: float
    share: float
    rows: pd.DataFrame
    challengers: pd.DataFrame

    def __repr__(self) -> str:
        if self.challenger is None:
            return f"{self.leader} leads, and influence finds no comparisons without which another would."
        total = self.n_comparisons / self.share
        found = f"without {self.n_comparisons:,.10g} of {total:,.10g} comparisons ({percent(self.share)})"
        return f"{self.leader} leads; {found} {self.challenger} would, as fitting again confirms."


@dataclass(frozen=True)
class _Order:
    """Rows by their influence on one difference, of those that hold it up.

    Attributes
    ----------
    rows : ndarray of int
        Most influential first.
    effect : ndarray
        By how much the difference falls for every comparison of the row that is removed.
    weight : ndarray
        How many there are.
    is_whole : bool
        Whether single comparisons of a row can be removed.
    """

    rows: np.ndarray
    effect: np.ndarray
    weight: np.ndarray
    is_whole: bool

    def needed(self, difference: float) -> float:
        """How many comparisons, the most influential first, bring the difference below zero; infinity if none do."""
        fallen = np.cumsum(self.effect * self.weight)
        if not len(fallen) or fallen[-1] <= difference:
            return np.inf
        last = int(np.argmax(fallen > difference))
        before = fallen[last] - self.effect[last] * self.weight[last]
        part = np.floor((difference - before) / self.effect[last]) + 1.0 if self.is_whole else self.weight[last]
        return float(self.weight[:last].sum() + min(part, self.weight[last]))

    def first(self, n: float, n_rows: int) -> np.ndarray:
        """How many comparisons of each row to remove for the first ``n`` of all to be gone, shape (n_rows,)."""
        start = np.cumsum(self.weight) - self.weight
        taken = np.clip(n - start, 0.0, self.weight)
        result = np.zeros(n_rows)
        result[self.rows] = taken if self.is_whole else np.where(taken > 0, self.weight, 0.0)
        return result


def fragility(fit: Fit, observed: Observations, refit: Callable[[np.ndarray], Fit | None]) -> Fragility:
    """The comparisons whose removal changes the leader: by influence, and confirmed by refitting.

    Parameters
    ----------
    refit : callable
        Fits with so many comparisons of each row removed; None if that is not possible.

    Raises
    ------
    IdentificationError
        If the estimate does not exist or maximises no likelihood.
    """
    fit.need_converged("the lead is one of finite, determined scores: this fit did not converge.")
    if fit.penalty is not None and not fit.penalty.has_likelihood:
        raise IdentificationError(
            "bias-reduced estimates maximise no likelihood, so that comparisons have no influence."
        )
    data, items = observed.data, fit.layout.items
    leader = int(fit.best_first[0][0])
    others, differences, orders = _orders(fit, observed, leader)
    needed = np.array([order.needed(gap) for order, gap in zip(orders, differences, strict=True)])
    table = pd.DataFrame(
        {"difference": differences, "n_comparisons": needed, "share": needed / data.n_comparisons},
        index=pd.Index([items[i] for i in others], name="item"),
    ).sort_values("n_comparisons", kind="stable")
    nearest = int(np.argmin(needed))
    found = (
        None if np.isinf(needed[nearest]) else _confirmed(orders[nearest], needed[nearest], data, items[leader], refit)
    )
    if found is None:
        return Fragility(
            items[leader], None, np.inf, np.inf, _rows(data, np.zeros(data.n_rows), orders[nearest]), table
        )
    n, challenger = found
    removed = orders[nearest].first(n, data.n_rows)
    total = float(removed.sum())
    return Fragility(
        items[leader], challenger, total, total / data.n_comparisons, _rows(data, removed, orders[nearest]), table
    )


def _orders(fit: Fit, observed: Observations, leader: int) -> tuple[np.ndarray, np.ndarray, list[_Order]]:
    """The nearest challengers, their differences to the leader, and who holds these up.

    Without a comparison the gradient g of its log-likelihood is missing from a sum of zero, so that the estimate moves by
    minus the inverse information times g.
    """
    n_items, mu = len(fit.layout.items), fit.parts.mu
    others = np.setdiff1d(np.arange(n_items), [leader])
    contrasts = np.zeros((len(others), n_items))
    contrasts[:, leader] = 1.0
    contrasts[np.arange(len(others)), others] = -1.0
    gradients = fit.consensus_rows(contrasts)
    inverse = fit.with_information("observed").model_covariance
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (mu[leader] - mu[others]) / np.sqrt(inverse.variances(gradients))
    near = np.argsort(z, kind="stable")[: limits.CHALLENGERS]
    data = observed.data
    each = evaluate(single(observed.rows, data.outcome), fit.at)
    contributions = Contributions.of_rows(observed.rows, data, each)
    orders = []
    for movement in inverse.times(gradients[near]):
        effect = contributions.along(movement[None], fit.tangent)[:, 0]
        rows = np.argsort(-effect, kind="stable")
        rows = rows[effect[rows] > 0.0]
        orders.append(_Order(rows, effect[rows], data.weight[rows], data.has_whole_weights))
    return others[near], mu[leader] - mu[others[near]], orders


def _confirmed(
    order: _Order, n: float, data: Comparisons, leader: str, refit: Callable[[np.ndarray], Fit | None]
) -> tuple[float, str] | None:
    """The smallest number of comparisons, in their order, that refitting confirms, and who leads without them."""

    def leads_without(n: float) -> str | None:
        fit = refit(order.first(n, data.n_rows))
        if fit is None or not fit.converged:
            return None
        first = fit.layout.items[fit.best_first[0][0]]
        return None if first == leader else first

    available, low = float(order.weight.sum()), 0.0
    who = leads_without(n)
    for _ in range(_ATTEMPTS):
        if who is not None or n >= available:
            break
        low, n = n, min(np.ceil(1.25 * n) + 1.0, available)
        who = leads_without(n)
    if who is None:
        return None
    # Influence tends to promise too little: what is left leans on fewer comparisons.
    while n - low > 1.0:
        middle = np.floor((low + n) / 2.0)
        other = leads_without(middle)
        low, n, who = (low, middle, other) if other is not None else (middle, n, who)
    return n, who


def _rows(data: Comparisons, removed: np.ndarray, order: _Order) -> pd.DataFrame:
    """The rows that go, with the number of their comparisons that do."""
    rows = order.rows[removed[order.rows] > 0]
    judges, items = np.asarray(data.judges, dtype=object), np.asarray(data.items, dtype=object)
    return pd.DataFrame(
        {
            "judge": judges[data.judge_index[rows]],
            "first": items[data.first_index[rows]],
            "second": items[data.second_index[rows]],
            "outcome": data.outcome[rows],
            "removed": removed[rows],
        },
        index=rows if data.row_labels is None else data.row_labels[rows],
    )
