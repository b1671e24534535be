"""What judges are worth: what each adds for its price, and the cheapest panel that is good enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import cast

import numpy as np
import pandas as pd
from scipy import stats

from .. import limits
from ..data.arrays import check_positive
from ..errors import IdentificationError, OptionError
from ..fitted import Fit
from ..inference.ranks import compared_scores
from ..inference.simultaneous import largest_differences, pairwise_differences
from ..looks import Piece, Shown
from ..model.likelihood import evaluate
from ..words import counted, percent, quoted

# Chance with which a panel has to keep the order of two items that are told apart now.
KEPT = 0.95
# What is left of a judge whom others repeat is at least this: correlations of copies cannot be inverted.
_LEAST = 1e-3


@dataclass(frozen=True)
class Panels:
    """What any panel of the judges would tell about the consensus with the verdicts they gave.

    Sensitivities, disagreement and linear terms are held at their estimates, as for shares of information
    (:func:`hjastats.diagnostics.effective.information_shares`); the variance is as much larger as judges repeat each other.

    Attributes
    ----------
    information : ndarray, shape (n_judges, n_items, n_items), or (n_judges, p, p)
        About the consensus.
    correlation : ndarray, shape (n_judges, n_judges)
        Of all that judges said beyond the model.
    cost : ndarray, shape (n_judges,)
        Of the verdicts each gave.
    basis : ndarray, shape (n_items, p), optional
        Of what the consensus may be, where it follows from traits, in whose coordinates the information is.
    """

    information: np.ndarray
    correlation: np.ndarray
    cost: np.ndarray
    basis: np.ndarray | None = None

    @classmethod
    def of(cls, fit: Fit, correlation: np.ndarray | None, prices: np.ndarray) -> Panels:
        """The panels of a fit."""
        design = fit.design
        weight = evaluate(design, fit.at).curvature * fit.parts.gamma[design.judge] ** 2
        information = np.zeros((design.n_judges, design.n_items, design.n_items))
        for side, other in ((design.first, design.second), (design.second, design.first)):
            np.add.at(information, (design.judge, side, side), weight)
            np.add.at(information, (design.judge, side, other), -weight)
        alike = np.eye(design.n_judges) if correlation is None else correlation
        basis = fit.layout.structure.item_basis if "beta" in fit.layout.slices else None
        information = information if basis is None else basis.T @ information @ basis
        return cls(information, alike, prices * np.bincount(design.judge, design.n, design.n_judges), basis)

    @property
    def shares(self) -> np.ndarray:
        """Share of each judge in what is known about the consensus, shape (n_judges,)."""
        inverse = np.linalg.pinv(self.information.sum(axis=0), hermitian=True)
        return np.einsum("kij,ji->k", self.information, inverse) / (len(inverse) - (self.basis is None))

    def spread(self, some: np.ndarray) -> np.ndarray:
        """Variances of all differences of the consensus by a panel (n_judges,) of bool, infinite where it says nothing."""
        total = self.information[some].sum(axis=0)
        n = len(total) if self.basis is None else len(self.basis)
        # The consensus has no level: information about it takes no part in differences. That of traits has none to begin with.
        scale = np.trace(total) / n**2 if self.basis is None else 0.0
        try:
            inverse = np.linalg.inv(total + (max(scale, 1e-300) if self.basis is None else 0.0))
        except np.linalg.LinAlgError:
            return np.full((n, n), np.inf)
        of_items = inverse if self.basis is None else self.basis @ inverse @ self.basis.T
        diagonal = np.diag(of_items)
        spread = diagonal[:, None] + diagonal - 2.0 * of_items
        if (
            not np.isfinite(spread).all()
            or (self.basis is None and (spread[np.triu_indices(n, 1)] <= 0).any())
            or np.linalg.cond(total + scale) > 1e10
        ):
            return np.full((n, n), np.inf)
        shares = np.einsum("kij,ji->k", self.information[some], inverse)
        alike = float(shares @ self.correlation[np.ix_(some, some)] @ shares / (shares @ shares))
        return spread * max(alike, 1.0)

    def error(self, some: np.ndarray) -> float:
        """Root mean square of the standard errors of all differences."""
        spread = self.spread(some)
        return float(np.sqrt(spread[np.triu_indices(len(spread), 1)].mean()))

    def cheapest(self, is_enough: Callable[[np.ndarray], bool]) -> np.ndarray:
        """The cheapest panel that is good enough, everybody if none is.

        From everybody, and from those that add most for their price, who is dearest for what it adds is left out as long as the
        others are enough; then judges are exchanged.
        """
        everybody = np.ones(len(self.cost), dtype=bool)
        if not is_enough(everybody):
            return everybody
        some = ~everybody
        while not some.any() or not is_enough(some):
            some = self.enlarged(some)
        found = [self._exchanged(self._pruned(start, is_enough), is_enough, self._price) for start in (everybody, some)]
        return min(found, key=self._price)

    def _price(self, some: np.ndarray) -> float:
        return float(self.cost @ some)

    def _pruned(self, some: np.ndarray, is_enough: Callable[[np.ndarray], bool]) -> np.ndarray:
        while some.sum() > 1:
            fine = [panel for panel in (_changed(some, k) for k in np.flatnonzero(some).tolist()) if is_enough(panel)]
            if not fine:
                break
            lost = [(self.error(panel) ** 2 - self.error(some) ** 2) / self.cost[some & ~panel][0] for panel in fine]
            some = fine[int(np.argmin(lost))]
        return some

    def within(self, budget: float) -> np.ndarray:
        """The panel that tells most for a budget: who adds most for its price first, then exchange."""
        some = self.cost <= 0
        while True:
            more = [
                k for k in np.flatnonzero(~some).tolist() if self.cost @ _changed(some, k) <= budget * (1.0 + 1e-12)
            ]
            if not more:
                break
            # Until the items are linked nothing is known: by the sum of information, then by what it lowers.
            some = _changed(some, max(more, key=lambda k: self._gain(some, k) / self.cost[k]))
        return self._exchanged(some, lambda panel: bool(self.cost @ panel <= budget * (1.0 + 1e-12)), self.error)

    def enlarged(self, some: np.ndarray) -> np.ndarray:
        """The panel with the judge that adds most for its price."""
        return _changed(some, max(np.flatnonzero(~some).tolist(), key=lambda k: self._gain(some, k) / self.cost[k]))

    def _gain(self, some: np.ndarray, k: int) -> float:
        with_k = _changed(some, k)
        if some.any() and np.isfinite(self.error(some)):
            return self.error(some) ** 2 - self.error(with_k) ** 2
        return float(np.trace(self.information[k]))

    def _exchanged(
        self, some: np.ndarray, is_allowed: Callable[[np.ndarray], bool], size: Callable[[np.ndarray], float]
    ) -> np.ndarray:
        """Exchange a judge for none, one or two others while that makes the size smaller and is allowed."""
        most = 2 if len(some) <= limits.EXCHANGED_JUDGES else 1
        while True:
            outside = np.flatnonzero(~some).tolist()
            others = [
                _changed(some, [k, *more])
                for k in np.flatnonzero(some).tolist()
                for n in range(most + 1)
                for more in combinations(outside, n)
            ]
            better = [panel for panel in others if panel.any() and size(panel) < size(some) * (1.0 - 1e-9)]
            better = [panel for panel in better if is_allowed(panel)]
            if not better:
                return some
            some = min(better, key=size)


def _changed(some: np.ndarray, which: int | list[int]) -> np.ndarray:
    result = some.copy()
    result[which] = ~result[which]
    return result


def told_apart(fit: Fit, alpha: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """Differences of the consensus, and which of them are told from zero when all are compared, shape (n, n)."""
    _, mu, covariance = compared_scores(fit)
    pairs = pairwise_differences(mu, covariance)
    return pairs.estimate, np.abs(pairs.z) > np.quantile(largest_differences(covariance), 1.0 - alpha)


def keeps_order(fit: Fit, panels: Panels) -> Callable[[np.ndarray], bool]:
    """Whether a panel is likely to keep the order of all items that are told apart now."""
    difference, is_told = told_apart(fit)
    needed = stats.norm.ppf(KEPT)

    def is_enough(some: np.ndarray) -> bool:
        return bool((np.abs(difference)[is_told] > needed * np.sqrt(panels.spread(some)[is_told])).all())

    return is_enough


def n_reversed(fit: Fit, other: Fit) -> int:
    """Pairs told apart in one fit whose order another one, of fewer judges, turns round."""
    difference, is_told = told_apart(fit)
    mu = other.parts.mu[[other.layout.items.index(item) for item in fit.layout.items]]
    return int((is_told & (difference > 0) & (mu[:, None] - mu <= 0)).sum())


def judge_values(fit: Fit, correlation: np.ndarray | None, prices: np.ndarray) -> pd.DataFrame:
    """What each judge adds to what is known about the consensus, per verdict and per price; the panel's mean is one."""
    fit.need_converged("the fit has no finite, determined estimate to value judges by: use fit_regularized().")
    panels = Panels.of(fit, correlation, prices)
    verdicts = np.bincount(fit.design.judge, fit.design.n, fit.design.n_judges)
    share = panels.shares
    # Of what a judge says beyond the model, the part that the others do not say, too.
    alike = panels.correlation + _LEAST * np.eye(len(share))
    new = np.clip(1.0 / np.diag(np.linalg.inv(alike)), 0.0, 1.0)
    told = share * new
    table = pd.DataFrame(
        {
            "verdicts": verdicts,
            "share": share,
            "not_repeated": new,
            "per_verdict": told / verdicts * verdicts.sum() / told.sum(),
            "price": prices,
            "per_price": told / panels.cost * panels.cost.sum() / told.sum(),
        },
        index=pd.Index(fit.layout.judges, name="judge"),
    )
    return table.sort_values("per_price", ascending=False, kind="stable")


@dataclass(frozen=True, repr=False)
class JudgePanel(Shown):
    """Judges that are enough.

    Attributes
    ----------
    judges, dropped : tuple of str
    cost, whole_cost : float
        Of the verdicts of these judges, and of all.
    error, whole_error : float
        Root mean square standard error of differences of the consensus, as predicted, of this panel and of all.
    n_reversed, n_told : int
        Pairs of items told apart by all whose order the model, fitted again to this panel, turns round; of how many.
    """

    judges: tuple[str, ...]
    dropped: tuple[str, ...]
    cost: float
    whole_cost: float
    error: float
    whole_error: float
    n_reversed: int
    n_told: int

    def _shown(self) -> list[Piece]:
        kept = (
            f"{counted(len(self.judges), 'judge')} of {len(self.judges) + len(self.dropped)}: {quoted(self.judges, 8)}."
        )
        cost = percent(self.cost / self.whole_cost, 0)
        alone = "One judge is no panel: its own taste is in the ranking and cannot be told from what all would say."
        return [
            f"{kept} Cost: {cost} of that of all; standard error of a difference: {self.error:.3f} instead of "
            f"{self.whole_error:.3f}.",
            f"Fitted again: {self.n_reversed} of {self.n_told} pairs of items that all judges tell apart are turned round.",
            *([alone] if len(self.judges) == 1 else []),
        ]


def judge_panel(fit: Fit, panels: Panels, some: np.ndarray, smaller: Fit) -> JudgePanel:
    """A panel with what it costs and keeps."""
    everybody = np.ones(len(some), dtype=bool)
    names = np.array(fit.layout.judges, dtype=object)
    return JudgePanel(
        tuple(names[some]),
        tuple(names[~some]),
        float(panels.cost @ some),
        float(panels.cost.sum()),
        panels.error(some),
        panels.error(everybody),
        n_reversed(fit, smaller),
        int(told_apart(fit)[1].sum()) // 2,
    )


def choose_panel(fit: Fit, panels: Panels, budget: float | None, keep: str | float | None) -> np.ndarray:
    """The panel asked for, shape (n_judges,) of bool.

    Raises
    ------
    OptionError
    IdentificationError
        If the budget does not pay for judges that link all items.
    """
    if (budget is None) == (keep is None):
        raise OptionError("expected either a budget, or what to keep: keep='ranking' or a standard error.")
    if budget is not None:
        check_positive("budget", budget)
        some = panels.within(float(budget))
        if not some.any() or not np.isfinite(panels.error(some)):
            raise IdentificationError(
                f"no panel for {budget:g} links all items; all judges cost {panels.cost.sum():g}: raise the budget."
            )
        return some
    if isinstance(keep, str) and keep == "ranking":
        return panels.cheapest(keeps_order(fit, panels))
    check_positive("keep", keep, "'ranking' or a positive standard error of differences")
    largest, everybody = float(cast(float, keep)), np.ones(len(panels.cost), dtype=bool)
    if panels.error(everybody) > largest:
        raise OptionError(f"keep={largest:g} is less than all judges together have, {panels.error(everybody):.3g}.")
    return panels.cheapest(lambda some: panels.error(some) <= largest)
