"""Style control: how much longer, how many more headings the first answer has."""

from __future__ import annotations

from typing import Any

import numpy as np
from patsy import stateful_transform

from ..errors import ComparisonError


class StyleDifference:
    """Normalised difference of a feature of the two answers, ``(first - second) / (first + second)``, standardised.

    The form in which arena leaderboards control for style. It changes sign with the order of the items, so its coefficient is
    the log-odds that one standard deviation more of the feature brings. Within a formula, the standard deviation of the data
    is remembered and used again for predictions.

    Parameters
    ----------
    first, second : array_like
        Non-negative values of the feature, such as numbers of tokens, for the item shown first and second.

    Examples
    --------
    >>> style_difference([100, 50, 75], [50, 100, 75]).round(3)
    array([ 1.225, -1.225,  0.   ])
    """

    def __init__(self) -> None:
        self._squares, self._count = 0.0, 0

    def memorize_chunk(self, first: Any, second: Any) -> None:
        """See a part of the data."""
        difference = _relative(first, second)
        self._squares += float(np.sum(difference**2))
        self._count += len(difference)

    def memorize_finish(self) -> None:
        """All data have been seen."""

    def transform(self, first: Any, second: Any) -> np.ndarray:
        """Standardise by the spread of the data seen: scaled but not centred, so that it changes sign with the order."""
        spread = np.sqrt(self._squares / max(self._count, 1))
        return _relative(first, second) / (spread or 1.0)


def _relative(first: Any, second: Any) -> np.ndarray:
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if a.shape != b.shape or not (np.isfinite(a).all() and np.isfinite(b).all() and (a >= 0).all() and (b >= 0).all()):
        raise ComparisonError("style_difference needs two columns of non-negative numbers of the same length.")
    return np.divide(a - b, a + b, out=np.zeros_like(a), where=a + b > 0)


style_difference = stateful_transform(StyleDifference)
