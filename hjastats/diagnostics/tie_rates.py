"""Whether judges tie alike; otherwise half wins say of sensitivities what is true of ties."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.comparisons import Comparisons
from ..inference.score_tests import ScoreTest, homogeneity_test
from .order import LEVEL

# Shares of decided verdicts that differ by this factor make half wins look like sensitivities that do.
MUCH_SHARPER = 1.25


@dataclass(frozen=True)
class TieRates:
    """How often judges tie.

    Attributes
    ----------
    rates : ndarray, shape (n_judges,)
    test : ScoreTest
        That they are all the same.
    """

    rates: np.ndarray
    test: ScoreTest

    @property
    def span(self) -> str:
        """The smallest and the largest, in words."""
        return f"{self.rates.min():.0%} to {self.rates.max():.0%} of their verdicts"

    @property
    def differ(self) -> bool:
        """Whether they do beyond chance, and so much that it shows."""
        # Half wins multiply a judge's log-odds by about its share of decided verdicts.
        is_much = (1.0 - self.rates.min()) > MUCH_SHARPER * (1.0 - self.rates.max())
        return bool(is_much and self.test.p_value < LEVEL)


def tie_rates(data: Comparisons) -> TieRates | None:
    """How often judges tie; None for one judge, without ties, and among soft preferences, where a half may be one.

    Examples
    --------
    >>> data = Comparisons.from_arrays(["j"] * 40 + ["k"] * 40, ["a"] * 80, ["b"] * 80, [0.5] * 30 + [1, 0] * 25)
    >>> tie_rates(data).span, tie_rates(data).differ
    ('0% to 75% of their verdicts', True)
    """
    halves = data.outcome == 0.5
    if data.n_judges == 1 or not halves.any() or not np.isin(data.outcome, (0.0, 0.5, 1.0)).all():
        return None
    number, ties = (np.bincount(data.judge_index, data.weight * some, data.n_judges) for some in (1.0, halves))
    return TieRates(ties / number, homogeneity_test(ties, number))
