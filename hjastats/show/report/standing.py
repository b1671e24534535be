"""Who stands where, once for all that a page says of it: places, chances, scores on every scale, and every pair."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ...fitted import Fit
from ...inference.apart import are_apart
from ...inference.decisions import comparisons_of_items, places, scaled_scores
from ...inference.ranks import joint_critical, leading_scores, ranking_table
from ...inference.simultaneous import PairwiseDifferences, pairwise_differences
from ...model.response import probability

SCALES = {"elo": "Elo points", "win-rate": "win rate", "log-odds": "log-odds"}


@dataclass(frozen=True, eq=False)
class Standing:
    """The items that are ranked, best first.

    Attributes
    ----------
    fit : Fit
    items : tuple of str
    estimate : ndarray, shape (n,)
    covariance : ndarray, shape (n, n)
    critical : float
        Standard errors by which two items differ while all pairs are compared.
    probability : pandas.DataFrame
        Items by places: how likely each is.
    """

    fit: Fit
    items: tuple[str, ...]
    estimate: np.ndarray
    covariance: np.ndarray
    critical: float
    probability: pd.DataFrame

    @classmethod
    def of(cls, fit: Fit, group: tuple[str, ...] | None = None) -> Standing | None:
        """The standing of all items, or of a group of them, or of the leading ones if there are too many; None if there is none.

        Where groups of items are apart there is none of all.
        """
        if not fit.converged or fit.why_no_errors or (group is None and are_apart(fit.layout)):
            return None
        items, estimate, covariance = leading_scores(fit, group)
        # The same draws as those of the leaderboard.
        probability = places(fit, items=items).probability
        order = np.argsort(-estimate, kind="stable")
        in_order = covariance[np.ix_(order, order)]
        return cls(
            fit, tuple(items[i] for i in order), estimate[order], in_order, joint_critical(covariance), probability
        )

    @cached_property
    def table(self) -> pd.DataFrame:
        """Places with ranges, chances of the first and of the first three, and comparisons."""
        ranked = ranking_table(self.items, self.estimate, self.covariance, critical=self.critical)
        table = ranked[["place", "place_lower", "place_upper", "tier"]].copy()
        table["p_best"], table["p_top_3"] = self.probability[1], self.probability.iloc[:, :3].sum(axis=1)
        table["comparisons"] = pd.Series(comparisons_of_items(self.fit), self.fit.layout.items)
        return table

    @cached_property
    def scales(self) -> dict[str, pd.DataFrame]:
        """Scores with errors and intervals on every scale."""
        return {scale: scaled_scores(self.items, self.estimate, self.covariance, scale) for scale in SCALES}

    @cached_property
    def pairs(self) -> PairwiseDifferences:
        """All differences with their standard errors."""
        return pairwise_differences(self.estimate, self.covariance)

    @property
    def told_apart(self) -> tuple[int, int]:
        """How many pairs differ while all are compared, and how many there are."""
        n = len(self.items)
        return int((np.abs(self.pairs.z) > self.critical).sum()) // 2, n * (n - 1) // 2

    @property
    def undecided(self) -> tuple[str, str] | None:
        """The first two neighbours whose order is not known, each pair taken by itself."""
        z = np.diagonal(self.pairs.z, 1)
        open_places = np.flatnonzero(np.abs(z) < 1.96)
        return None if not len(open_places) else (self.items[open_places[0]], self.items[open_places[0] + 1])

    def listed_pairs(self, limit: int) -> pd.DataFrame | None:
        """Every pair with its probability, difference and interval; None if there are more than the limit."""
        first, second = np.triu_indices(len(self.items), 1)
        if len(first) > limit:
            return None
        difference, error = self.pairs.estimate[first, second], self.pairs.std_err[first, second]
        half = 1.959963984540054 * error
        return pd.DataFrame(
            {
                "item": [self.items[i] for i in first],
                "other": [self.items[i] for i in second],
                "probability": probability(difference),
                "lower": probability(difference - half),
                "upper": probability(difference + half),
                "log_odds": difference,
                "std_err": error,
                "told_apart_jointly": np.abs(self.pairs.z[first, second]) > self.critical,
            }
        )
