"""An order of judges and items that puts similar ones beside each other."""

from __future__ import annotations

import numpy as np
import pandas as pd


def clustered(matrix: pd.DataFrame) -> pd.DataFrame:
    """Rows and columns reordered by hierarchical clustering (average linkage, Euclidean) with optimal leaf order.

    Cells without a value count as zero, that is, as no disagreement.

    Examples
    --------
    >>> matrix = pd.DataFrame([[1.0, -1, 1], [-1, 1, -1], [1, -1, 1]], ["j1", "j2", "j3"], ["a", "b", "c"])
    >>> ordered = clustered(matrix)
    >>> list(ordered.index), list(ordered.columns)
    (['j2', 'j3', 'j1'], ['b', 'c', 'a'])
    """
    values = np.nan_to_num(matrix.to_numpy(float))
    return matrix.iloc[leaf_order(values), leaf_order(values.T)]


def leaf_order(rows: np.ndarray) -> np.ndarray:
    """Positions of the rows in the order in which neighbours are most alike (Bar-Joseph et al. 2001).

    Parameters
    ----------
    rows : ndarray, shape (n, p)

    Returns
    -------
    ndarray of int, shape (n,)
    """
    if len(rows) < 3:
        return np.arange(len(rows))
    # Importing it takes longer than all figures' own modules together, and only this figure needs it.
    from scipy.cluster.hierarchy import leaves_list, linkage

    return leaves_list(linkage(rows, method="average", optimal_ordering=True))
