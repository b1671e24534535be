"""Whether predicted probabilities come true as often as they say."""

from __future__ import annotations

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from ..data.arrays import check_whole


def calibration_table(
    predicted: np.ndarray,
    outcome: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    n_bins: int = 10,
    level: float = 0.95,
) -> pd.DataFrame:
    """Predicted probabilities in groups of about equal size, with the observed shares.

    Parameters
    ----------
    predicted : ndarray, shape (n_rows,)
        Probabilities that the first item is preferred.
    outcome : ndarray, shape (n_rows,)
        1 first, 0 second, a tie one half.
    weight : ndarray, shape (n_rows,), optional
        Comparisons per row.
    n_bins : int
        Groups; fewer when there are fewer distinct predictions.
    level : float
        Level of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per group: comparisons, predicted (mean), observed (share), ci_lower, ci_upper (Wilson's binomial interval of the
        share; too wide where many verdicts are ties, which vary less than wins and losses).

    Examples
    --------
    >>> calibration_table(np.array([0.2, 0.2, 0.8, 0.8]), np.array([0, 0.5, 1, 1]), n_bins=2).round(2)
       comparisons  predicted  observed  ci_lower  ci_upper
    0          2.0        0.2      0.25      0.03       0.8
    1          2.0        0.8      1.00      0.34       1.0
    """
    check_whole("n_bins", n_bins, 1)
    predicted, outcome = np.asarray(predicted, dtype=float), np.asarray(outcome, dtype=float)
    weight = np.ones(len(predicted)) if weight is None else np.asarray(weight, dtype=float)
    group = _groups(predicted, weight, n_bins)
    count = np.bincount(group, weight)
    wins = np.bincount(group, weight * outcome)
    lower, upper = proportion_confint(np.minimum(wins, count), count, alpha=1.0 - level, method="wilson")
    return pd.DataFrame(
        {
            "comparisons": count,
            "predicted": np.bincount(group, weight * predicted) / count,
            "observed": wins / count,
            "ci_lower": lower,
            "ci_upper": upper,
        }
    )


def _groups(predicted: np.ndarray, weight: np.ndarray, n_bins: int) -> np.ndarray:
    """Group of every row, 0, 1, ... without gaps; equal predictions are never torn apart."""
    values, inverse = np.unique(predicted, return_inverse=True)
    total = np.bincount(inverse, weight, minlength=len(values))
    # The middle of each value's weight says in which quantile it lies.
    middle = (np.cumsum(total) - total / 2.0) / total.sum()
    quantile = np.minimum((middle * n_bins).astype(int), n_bins - 1)
    return np.unique(quantile, return_inverse=True)[1][inverse]
