"""Sufficient counts: rows that share judge, items and covariates are one binomial cell."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import sparse

# Below this many possible (judge, item, item) triples a dense count beats sorting the rows.
_DENSE_LIMIT = 4_000_000


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

    def __post_init__(self) -> None:
        for name in ("judge_terms", "shared_terms"):
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

    @cached_property
    def pair_sums(self) -> sparse.csc_array:
        """Sums over the cells of each ordered pair of items, shape (n_items ** 2, n_cells)."""
        n_cells = len(self.n)
        pair = self.first * self.n_items + self.second
        return sparse.csc_array((np.ones(n_cells), pair, np.arange(n_cells + 1)), shape=(self.n_items**2, n_cells))


def aggregate(
    judge: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    outcome: np.ndarray,
    weight: np.ndarray,
    n_judges: int,
    n_items: int,
    judge_terms: np.ndarray | None = None,
    shared_terms: np.ndarray | None = None,
) -> Cells:
    """Collapse rows to cells.

    Without linear terms the order of presentation carries no information and (i, j) is merged with (j, i). With them a
    cell also fixes the values of the terms, so that the likelihood of the rows is kept exactly.

    Examples
    --------
    >>> zero = np.zeros(3, dtype=int)
    >>> cells = aggregate(zero, np.array([0, 1, 0]), np.array([1, 0, 1]), np.array([1, 1, 0.5]), np.ones(3), 1, 2)
    >>> cells.n, cells.y
    (array([3.]), array([1.5]))
    """
    terms = [block for block in (judge_terms, shared_terms) if block is not None and block.shape[1] > 0]
    if not terms:
        swapped = first > second
        first, second = np.where(swapped, second, first), np.where(swapped, first, second)
        outcome = np.where(swapped, 1.0 - outcome, outcome)
    key = (judge * n_items + first) * n_items + second
    if terms and not all((block == block[:1]).all() for block in terms):
        _, term_code = np.unique(np.column_stack(terms), axis=0, return_inverse=True)
        term_code = term_code.reshape(-1)
        # Pairs of codes are recoded first: a product of both could overflow for many distinct covariate values.
        _, dense_key = np.unique(key, return_inverse=True)
        key = dense_key.reshape(-1) * (int(term_code.max()) + 1) + term_code
        n_keys = None
    else:
        n_keys = n_judges * n_items * n_items
    if n_keys is not None and n_keys <= _DENSE_LIMIT:
        total = np.bincount(key, weight, minlength=n_keys)
        wins = np.bincount(key, weight * outcome, minlength=n_keys)
        present = np.flatnonzero(total)
        n, y = total[present], wins[present]
        judge_out, rest = np.divmod(present, n_items * n_items)
        first_out, second_out = np.divmod(rest, n_items)
        some_row = None
        if terms:
            some_row = np.zeros(len(present), dtype=int)
    else:
        present, some_row, code = np.unique(key, return_index=True, return_inverse=True)
        code = code.reshape(-1)
        n = np.bincount(code, weight, minlength=len(present))
        y = np.bincount(code, weight * outcome, minlength=len(present))
        weighted = np.flatnonzero(n)
        order = weighted[np.argsort(judge[some_row[weighted]], kind="stable")]
        some_row, n, y = some_row[order], n[order], y[order]
        judge_out, first_out, second_out = judge[some_row], first[some_row], second[some_row]
    return Cells(
        judge=judge_out,
        first=first_out,
        second=second_out,
        n=n,
        y=y,
        n_judges=n_judges,
        n_items=n_items,
        judge_terms=_rows(judge_terms, some_row, len(n)),
        shared_terms=_rows(shared_terms, some_row, len(n)),
    )


def _rows(block: np.ndarray | None, some_row: np.ndarray | None, n_cells: int) -> np.ndarray:
    if block is None or some_row is None:
        return np.zeros((n_cells, 0))
    return np.ascontiguousarray(block[some_row], dtype=float)


def distinct_rows(columns: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Codes of equal rows, and one row of each code.

    Examples
    --------
    >>> distinct_rows([np.array([3, 1, 3]), np.array([0.5, 0.5, 0.5])])
    (array([1, 0, 1]), array([1, 0]))
    """
    code = np.zeros(len(columns[0]), dtype=np.intp)
    for column in columns:
        _, own = np.unique(column, return_inverse=True)
        own = own.reshape(-1)
        # Recoded after every column, so that the product of codes never overflows.
        _, code = np.unique(code * (int(own.max()) + 1) + own, return_inverse=True)
        code = code.reshape(-1)
    _, some = np.unique(code, return_index=True)
    return code, some
