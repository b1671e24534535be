"""Sufficient counts: rows that share judge, items and covariates are one binomial cell."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from scipy import sparse

from .. import limits

# The fields of cells with one entry, or one row, for each.
_VECTORS = ("judge", "first", "second", "n", "y")
_BLOCKS = ("judge_terms", "shared_terms", "counts", "offset")


@dataclass(frozen=True)
class Cells:
    """Weighted verdict counts per (judge, first item, second item), ordered by judge.

    Attributes
    ----------
    judge, first, second : ndarray of int, shape (n_cells,)
    n : ndarray, shape (n_cells,)
        Total weight of the comparisons in the cell.
    y : ndarray, shape (n_cells,)
        Weight times outcome summed over the cell: wins of the first item, a tie counting one half.
    n_judges, n_items : int
    judge_terms : ndarray, shape (n_cells, e)
        Regressors whose coefficients differ between judges.
    shared_terms : ndarray, shape (n_cells, m)
        Regressors with one coefficient for all judges.
    counts : ndarray, shape (n_cells, c)
        What else of the verdicts counts, such as the weight of ties where they are no half wins; equal from both sides of a pair.
    offset : ndarray, shape (n_cells, 1), or (n_cells, 0) without one
        What is known to be added to the log-odds of the first item.
    """

    judge: np.ndarray
    first: np.ndarray
    second: np.ndarray
    n: np.ndarray
    y: np.ndarray
    n_judges: int
    n_items: int
    judge_terms: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    shared_terms: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    counts: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    offset: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))

    def __post_init__(self) -> None:
        for name in _BLOCKS:
            block = getattr(self, name)
            if len(block) == len(self.n):
                continue
            if block.size:
                raise ValueError(f"{name} has {len(block)} rows for {len(self.n)} cells: pass one row per cell.")
            object.__setattr__(self, name, np.zeros((len(self.n), 0)))

    @property
    def n_judge_terms(self) -> int:
        """Number of linear coefficients each judge has for itself."""
        return self.judge_terms.shape[1]

    @property
    def n_shared_terms(self) -> int:
        """Number of linear coefficients common to all judges."""
        return self.shared_terms.shape[1]

    @property
    def has_offset(self) -> bool:
        """Whether something is known to be added to the log-odds."""
        return self.offset.shape[1] > 0

    @property
    def known_odds(self) -> np.ndarray | float:
        """Log-odds that are known, shape (n_cells,); zero without an offset."""
        return self.offset[:, 0] if self.has_offset else 0.0

    @cached_property
    def first_entry(self) -> np.ndarray:
        """Position of (judge, first item) in the flattened score matrix."""
        return self.judge * self.n_items + self.first

    @cached_property
    def second_entry(self) -> np.ndarray:
        """Position of (judge, second item) in the flattened score matrix."""
        return self.judge * self.n_items + self.second

    @cached_property
    def incidence(self) -> sparse.csc_array:
        """Transpose of the map from scores to score differences, shape (n_judges * n_items, n_cells)."""
        n_cells = len(self.n)
        entries = np.stack([self.first_entry, self.second_entry], axis=1).ravel()
        signs = np.tile([1.0, -1.0], n_cells)
        ends = np.arange(0, 2 * n_cells + 1, 2)
        return sparse.csc_array((signs, entries, ends), shape=(self.n_judges * self.n_items, n_cells))

    def sum_by_judge(self, values: np.ndarray) -> np.ndarray:
        """Sums of the rows of ``values`` (n_cells, m) over the cells of each judge, shape (n_judges, m)."""
        if values.shape[1] == 0:
            return np.zeros((self.n_judges, 0))
        sums = [np.bincount(self.judge, column, minlength=self.n_judges) for column in values.T]
        return np.stack(sums, axis=1)

    def sum_by_score(self, values: np.ndarray) -> np.ndarray:
        """Sums of ``values`` (n_cells,) over the cells of each judge and first item minus those of second items.

        The transpose of taking score differences, shape (n_judges, n_items).
        """
        size = self.n_judges * self.n_items
        sums = np.bincount(self.first_entry, values, size) - np.bincount(self.second_entry, values, size)
        return sums.reshape(self.n_judges, self.n_items)

    @property
    def pair(self) -> np.ndarray:
        """Number of each cell's two items, whatever their order, shape (n_cells,)."""
        return np.minimum(self.first, self.second) * self.n_items + np.maximum(self.first, self.second)

    @cached_property
    def _pair(self) -> np.ndarray:
        return self.first * self.n_items + self.second

    @property
    def has_dense_laplacians(self) -> bool:
        """Whether the judges' Laplacians are so small that they are cheaper than what it takes to avoid them."""
        return self.n_judges * self.n_items**2 <= limits.DENSE_LAPLACIANS

    @cached_property
    def _laplacian_entries(self) -> np.ndarray:
        """Where a cell's weight goes in the Laplacians: two entries off the diagonal, then two on it."""
        first, second, n_items = self.first_entry, self.second_entry, self.n_items
        entries = [first * n_items + self.second, second * n_items + self.first]
        return np.concatenate([*entries, first * n_items + self.first, second * n_items + self.second])

    def laplacians(self, weight: np.ndarray) -> np.ndarray:
        """Weighted graph Laplacian of the items for every judge, shape (n_judges, n_items, n_items)."""
        values = np.concatenate([-weight, -weight, weight, weight])
        sums = np.bincount(self._laplacian_entries, values, self.n_judges * self.n_items**2)
        return sums.reshape(self.n_judges, self.n_items, self.n_items)

    def sum_by_pair(self, values: np.ndarray) -> np.ndarray:
        """Sums of ``values`` over the cells of each ordered pair of items, shape (n_items, n_items)."""
        n_items = self.n_items
        return np.bincount(self._pair, values, minlength=n_items**2).reshape(n_items, n_items)


AnyCells = TypeVar("AnyCells", bound=Cells)


def collapse(rows: AnyCells) -> AnyCells:
    """Collapse rows to cells.

    Without linear terms and offset the order of presentation carries no information and (i, j) is merged with (j, i). With them
    a cell also fixes their values, so that the likelihood of the rows is kept exactly.

    Examples
    --------
    >>> zero = np.zeros(3, dtype=int)
    >>> cells = collapse(Cells(zero, np.array([0, 1, 0]), np.array([1, 0, 1]), np.ones(3), np.array([1, 1, 0.5]), 1, 2))
    >>> cells.n, cells.y
    (array([3.]), array([1.5]))
    """
    n_judges, n_items = rows.n_judges, rows.n_items
    terms = [block for block in (rows.judge_terms, rows.shared_terms, rows.offset) if block.shape[1] > 0]
    is_constant = all((block == block[:1]).all() for block in terms)
    if is_constant and n_judges * n_items**2 <= limits.DENSE_COUNTS:
        totals = _table_of_pairs(rows)
        if not terms:
            totals = _without_order(totals)
        present = np.flatnonzero(totals[0])
        totals = [values.ravel()[present] for values in totals]
        judge, rest = np.divmod(present, n_items**2)
        first, second = np.divmod(rest, n_items)
        some = np.zeros(len(present), dtype=int)
    else:
        judge, first, second, sums = rows.judge, rows.first, rows.second, _summed(rows)
        if not terms:
            is_swapped = first > second
            first, second = np.minimum(first, second), np.maximum(rows.first, second)
            sums[1] = np.where(is_swapped, rows.n - rows.y, rows.y)
        key = (judge * n_items + first) * n_items + second
        code, some = distinct_rows([key, *(column for block in terms for column in block.T)])
        totals = [np.bincount(code, values, minlength=len(some)) for values in sums]
        weighted = np.flatnonzero(totals[0])
        order = weighted[np.argsort(judge[some[weighted]], kind="stable")]
        totals, some = [values[order] for values in totals], some[order]
        judge, first, second = judge[some], first[some], second[some]
    return replace(
        rows,
        judge=judge,
        first=first,
        second=second,
        n=totals[0],
        y=totals[1],
        judge_terms=rows.judge_terms[some],
        shared_terms=rows.shared_terms[some],
        offset=rows.offset[some],
        counts=np.column_stack([np.zeros((len(judge), 0)), *totals[2:]]),
    )


def _summed(rows: Cells) -> list[np.ndarray]:
    """What is added up within a cell."""
    return [rows.n, rows.y, *rows.counts.T]


def _table_of_pairs(rows: Cells) -> list[np.ndarray]:
    """Sums for every (judge, first item, second item), each of shape (n_judges, n_items, n_items)."""
    shape = (rows.n_judges, rows.n_items, rows.n_items)
    key = rows.first * rows.n_items
    key += rows.second
    if rows.n_judges > 1:
        key += rows.judge * rows.n_items**2
    return [np.bincount(key, values, math.prod(shape)).reshape(shape) for values in _summed(rows)]


def _without_order(totals: list[np.ndarray]) -> list[np.ndarray]:
    """Merge (j, i) with (i, j) for i < j: what the one's first item does not win, the other's does.

    Done on the table, which is smaller than the rows it was counted from.
    """
    n, y, *counts = totals
    n_swapped = n.swapaxes(1, 2)
    total = np.triu(n + n_swapped, 1)
    return [total, y + (n_swapped - y.swapaxes(1, 2)), *(count + count.swapaxes(1, 2) for count in counts)]


def take(rows: AnyCells, index: np.ndarray) -> AnyCells:
    """The rows at some positions."""
    return replace(rows, **{name: getattr(rows, name)[index] for name in (*_VECTORS, *_BLOCKS)})


def distinct_rows(columns: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Codes of equal rows, and one row of each code.

    Examples
    --------
    >>> distinct_rows([np.array([3, 1, 3]), np.array([0.5, 0.5, 0.5])])
    (array([1, 0, 1]), array([1, 0]))
    """
    _, some, code = np.unique(columns[0], return_index=True, return_inverse=True)
    for column in columns[1:]:
        _, own = np.unique(column, return_inverse=True)
        # Recoded after every column, so that the product of codes never overflows.
        _, some, code = np.unique(code * (int(own.max()) + 1) + own, return_index=True, return_inverse=True)
    return code, some
