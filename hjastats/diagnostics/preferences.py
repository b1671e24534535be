"""What scores say about every pair of items."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import expit

from ..data.comparisons import Comparisons


def preference_probabilities(scores: pd.Series) -> pd.DataFrame:
    """Probability that the item of the row is preferred to that of the column, position and ties left aside.

    Examples
    --------
    >>> preference_probabilities(pd.Series({"a": 1.0, "b": 0.0})).round(3)
           a      b
    a    NaN  0.731
    b  0.269    NaN
    """
    values = scores.to_numpy(float)
    probability = expit(values[:, None] - values[None, :])
    np.fill_diagonal(probability, np.nan)
    return pd.DataFrame(probability, index=scores.index, columns=scores.index)


def comparison_counts(data: Comparisons, items: Sequence[str]) -> pd.DataFrame:
    """Number of comparisons of every pair of some items, in either order.

    Examples
    --------
    >>> data = Comparisons.from_arrays(["j", "j", "j"], ["a", "b", "a"], ["b", "a", "c"], [1, 0, 1])
    >>> comparison_counts(data, ["c", "b", "a"]).loc["a"].tolist()
    [1.0, 2.0, 0.0]
    """
    n, place = len(items), {item: i for i, item in enumerate(items)}
    where = np.array([place.get(item, -1) for item in data.items])
    first, second = where[data.first_index], where[data.second_index]
    kept = (first >= 0) & (second >= 0)
    ordered = np.bincount(first[kept] * n + second[kept], data.weight[kept], minlength=n * n).reshape(n, n)
    return pd.DataFrame(ordered + ordered.T, index=list(items), columns=list(items))
