"""Judges and items in an order in which those that behave alike stand together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from .. import limits
from ..errors import ContrastError, OptionError
from ..looks import Facts, Piece, Shown, Title
from ..words import shortened

# Largest number of groups chosen by itself: more are no summary.
MOST_GROUPS = 6


@dataclass(frozen=True, repr=False, eq=False)
class Bicluster(Shown):
    """Two-way clustering of a judges-by-items matrix.

    Attributes
    ----------
    judge_order, item_order : tuple of str
        Labels in the order of the leaves of the trees.
    judge_groups, item_groups : pandas.Series
        Group number of each label, in this order; groups are numbered as they appear.
    frame : pandas.DataFrame
        The matrix in this order.
    judge_tree, item_tree : ndarray, shape (n - 1, 4)
        Linkage matrices as scipy has them, for the labels in their original order.
    """

    judge_order: tuple[str, ...]
    item_order: tuple[str, ...]
    judge_groups: pd.Series
    item_groups: pd.Series
    frame: pd.DataFrame
    judge_tree: np.ndarray
    item_tree: np.ndarray

    def _shown(self) -> list[Piece]:
        pieces: list[Piece] = []
        for role, groups in (("judges", self.judge_groups), ("items", self.item_groups)):
            told = []
            for group, members in groups.groupby(groups, sort=True):
                names = ", ".join(shortened(label) for label in members.index[: limits.PRINTED_LABELS])
                names += f" and {len(members) - limits.PRINTED_LABELS:,} more" * (len(members) > limits.PRINTED_LABELS)
                told.append((str(group), names))
            pieces += [Title(f"{role} by group"), Facts(told, width=3)]
        return pieces


def bicluster(frame: pd.DataFrame, n_groups: int | tuple[int, int] | None = None) -> Bicluster:
    """Cluster rows and columns by Ward's method, leaves of up to 500 in optimal order (scipy.cluster.hierarchy).

    Parameters
    ----------
    frame : pandas.DataFrame, shape (n_judges, n_items)
    n_groups : int or pair of int, optional
        Groups of judges and of items. By default where the merges of the tree leave the widest gap, between 2 and 6 groups.

    Raises
    ------
    ContrastError
        When the matrix is zero or not finite, or there are fewer labels than groups.

    Examples
    --------
    >>> frame = pd.DataFrame([[1, -1, 0], [-1, 1, 0], [1, -1, 0.1]], index=list("jkl"), columns=list("abc"))
    >>> found = bicluster(frame)
    >>> found.judge_order, found.judge_groups.tolist()
    (('k', 'j', 'l'), [1, 2, 2])
    """
    values = frame.to_numpy(dtype=float)
    if not np.isfinite(values).all():
        raise ContrastError("some of the disagreement is withheld because it runs to infinity: use fit_regularized().")
    if np.abs(values).max(initial=0.0) < 1e-12:
        raise ContrastError("there is no disagreement to cluster: fit HJAModel with rank 1 or more.")
    both = n_groups if isinstance(n_groups, tuple) else (n_groups, n_groups)
    if len(both) != 2:
        raise OptionError(f"n_groups must be one number, or one for judges and one for items, got {n_groups!r}.")
    for_judges, for_items = both
    judges, judge_groups, judge_tree = _clustered(values, frame.index, "judge", for_judges)
    items, item_groups, item_tree = _clustered(values.T, frame.columns, "item", for_items)
    return Bicluster(
        tuple(judges), tuple(items), judge_groups, item_groups, frame.loc[judges, items], judge_tree, item_tree
    )


def _clustered(
    rows: np.ndarray, labels: pd.Index, role: str, n_groups: int | None
) -> tuple[list[str], pd.Series, np.ndarray]:
    # Costs more to import than all the rest of this package's diagnostics.
    from scipy.cluster.hierarchy import fcluster, leaves_list, linkage

    n = len(rows)
    is_whole = isinstance(n_groups, int | np.integer) and not isinstance(n_groups, bool)
    if n_groups is not None and not (is_whole and 1 <= n_groups <= n):
        raise ContrastError(f"n_groups must lie between 1 and {n}, the number of {role}s, got {n_groups!r}.")
    if n == 1:
        return [str(labels[0])], pd.Series([1], index=pd.Index(labels, name=role), name="group"), np.zeros((0, 4))
    tree = linkage(rows, method="ward", optimal_ordering=n <= limits.ORDERED_LEAVES)
    leaves = leaves_list(tree)
    # A tree can be read from either end; the end whose label comes first makes the order unique.
    if labels[leaves[-1]] < labels[leaves[0]]:
        leaves = leaves[::-1]
    codes = fcluster(tree, n_groups or _widest_gap(tree[:, 2]), criterion="maxclust")[leaves]
    numbered = pd.factorize(codes)[0] + 1
    order = [str(labels[leaf]) for leaf in leaves]
    return order, pd.Series(numbered, index=pd.Index(order, name=role), name="group"), tree


def _widest_gap(heights: np.ndarray) -> int:
    """The number of groups that survives the widest range of heights.

    Examples
    --------
    >>> _widest_gap(np.array([0.1, 0.2, 5.0, 6.0]))
    3
    """
    n = len(heights) + 1
    if n == 2:
        return 2
    falling = heights[::-1]
    gaps = falling[:-1] - falling[1:]
    return int(np.argmax(gaps[: MOST_GROUPS - 1])) + 2
