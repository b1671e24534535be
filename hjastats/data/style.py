"""Style control: how much longer, how many more headings the first answer has."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ComparisonError


def style_difference(first: Any, second: Any) -> np.ndarray:
    """Normalised difference of a feature of the two answers, ``(first - second) / (first + second)``, standardised.

    The form in which arena leaderboards control for style. It changes sign with the order of the items, so its coefficient is
    the log-odds that one standard deviation more of the feature brings.

    Parameters
    ----------
    first, second : array_like
        Non-negative values of the feature, such as numbers of tokens, for the item shown first and second.

    Examples
    --------
    >>> style_difference([100, 50, 75], [50, 100, 75]).round(3)
    array([ 1.225, -1.225,  0.   ])
    """
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if a.shape != b.shape or not (np.isfinite(a).all() and np.isfinite(b).all() and (a >= 0).all() and (b >= 0).all()):
        raise ComparisonError("style_difference needs two columns of non-negative numbers of the same length.")
    total = a + b
    difference = np.divide(a - b, total, out=np.zeros_like(total), where=total > 0)
    spread = np.sqrt(np.mean(difference**2))
    # Scaled but not centred: a centred difference would not change sign with the order.
    return difference / spread if spread > 0 else difference
