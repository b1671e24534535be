"""What single comparisons, or clusters of them, contribute to the gradient along any movement of the parameters.

From this come robust covariances, the acceleration of BCa intervals and robust score tests. Nothing here has a row per comparison
and a column per parameter: a comparison touches two items and one judge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from .. import limits
from ..data.cells import distinct_rows, take
from ..data.comparisons import Comparisons
from ..model.design import Coefficients, Design
from ..model.likelihood import evaluate, weighted
from ..model.response import Derivatives
from ..model.tangent import TangentBasis
from .clusters import Clusters


@dataclass(frozen=True)
class Contributions:
    """Gradients of the log-likelihood of comparisons, added up by the unit they belong to.

    Attributes
    ----------
    rows : Design
        Whose judges, items and terms these are.
    by_scores : scipy.sparse.csr_array, shape (n_units, n_judges * n_items)
    by_terms : scipy.sparse.csr_array, shape (n_units, m + n_judges * e)
        By the shared linear coefficients, then by those of each judge.
    count : ndarray, shape (n_units,)
        How often each unit was seen.
    """

    rows: Design
    by_scores: sparse.csr_array
    by_terms: sparse.csr_array
    count: np.ndarray

    @classmethod
    def of_comparisons(cls, rows: Design, data: Comparisons, at: Coefficients) -> Contributions:
        """Every comparison by itself; those that cannot be told apart once, with their number."""
        terms = (*rows.judge_terms.T, *rows.shared_terms.T, *rows.offset.T)
        columns = [rows.judge, rows.first, rows.second, data.outcome, *terms]
        code, some = distinct_rows(columns)
        distinct, count = take(rows, some), np.bincount(code, data.weight, minlength=len(some))
        each = evaluate(single(distinct, data.outcome[some]), at)
        return cls(distinct, *_gradients(distinct, each), count)

    @classmethod
    def of_rows(cls, rows: Design, data: Comparisons, each: Derivatives) -> Contributions:
        """Every row by itself, as one comparison with the given derivatives, and with its weight."""
        return cls(rows, *_gradients(rows, each), data.weight)

    @classmethod
    def of_clusters(
        cls, rows: Design, data: Comparisons, each: Derivatives, clusters: Clusters, scale: np.ndarray | None = None
    ) -> Contributions:
        """The comparisons of a cluster together; each judge's times its ``scale``, if given.

        Parameters
        ----------
        each : Derivatives
            Of every row as one comparison.
        """
        weight = data.weight if scale is None else data.weight * scale[data.judge_index]
        places = clusters.code, np.arange(data.n_rows)
        together = sparse.csr_array((weight, places), shape=(clusters.n, data.n_rows))
        by_scores, by_terms = _gradients(rows, each)
        return cls(rows, together @ by_scores, together @ by_terms, np.ones(clusters.n))

    def along(self, movements: np.ndarray, tangent: TangentBasis) -> np.ndarray:
        """Contribution of every unit along movements (m, n_free) of the free coordinates, shape (n_units, m)."""
        return np.concatenate([part for _, part in self._parts(movements, tangent)])

    def products(self, movements: np.ndarray, tangent: TangentBasis) -> np.ndarray:
        """Sum over the units of the products of their contributions along each two movements, shape (m, m)."""
        total = np.zeros((len(movements), len(movements)))
        for count, part in self._parts(movements, tangent):
            total += part.T @ (count[:, None] * part)
        return total

    def squares(self, movements: np.ndarray, tangent: TangentBasis) -> np.ndarray:
        """The diagonal of ``products``, shape (m,)."""
        total = np.zeros(len(movements))
        for count, part in self._parts(movements, tangent):
            total += count @ part**2
        return total

    def _parts(self, movements: np.ndarray, tangent: TangentBasis) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Counts and contributions of some units at a time, along the scores of some judges at a time."""
        rows, m = self.rows, len(movements)
        f, g = tangent.judge_items.shape[1], tangent.shared_judges.shape[1]
        terms = np.zeros((len(rows.is_free), m))
        terms[rows.is_free] = movements[:, : rows.n_linear].T
        own, shared = np.split(movements[:, rows.n_linear :], [rows.n_judges * f], axis=1)
        own = own.T.reshape(rows.n_judges, f, m)
        items = tangent.to_items(shared.reshape(m * g, tangent.n_shared)).reshape(m, g, rows.n_items).transpose(1, 2, 0)
        n_units = max(limits.ENTRIES_AT_ONCE // max(m, 1), 1)
        n_judges = max(limits.ENTRIES_AT_ONCE // max(m * rows.n_items, 1), 1)
        for start in range(0, len(self.count), n_units):
            some = slice(start, start + n_units)
            part = self.by_terms[some] @ terms
            for judge in range(0, rows.n_judges, n_judges):
                judges = slice(judge, judge + n_judges)
                scores = tangent.judge_items @ own[judges] + np.tensordot(tangent.shared_judges[judges], items, 1)
                columns = slice(judge * rows.n_items, (judge + n_judges) * rows.n_items)
                part += self.by_scores[some, columns] @ scores.reshape(len(scores) * rows.n_items, m)
            yield self.count[some], part


def single(rows: Design, outcome: np.ndarray) -> Design:
    """Every row as one comparison."""
    return replace(rows, n=np.ones(len(outcome)), y=outcome, counts=rows.response.counts(outcome))


def _gradients(rows: Design, here: Derivatives) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Gradient of the log-likelihood of every row by the scores and by the linear coefficients."""
    terms, n_columns = rows.terms, rows.n_judges * rows.n_items
    by_scores = _sparse(np.column_stack([rows.first_entry, rows.second_entry]), [-here.slope, here.slope], n_columns)
    by_shared = weighted(rows.shared_terms, terms.shared_moves, here.slope, here.own_slope)
    by_own = weighted(rows.judge_terms, terms.own_moves, here.slope, here.own_slope)
    shared, own = np.split(np.arange(rows.n_shared_terms + rows.n_judge_terms), [rows.n_shared_terms])
    columns = np.hstack([np.tile(shared, (len(by_own), 1)), rows.judge[:, None] * rows.n_judge_terms + own])
    return by_scores, _sparse(columns, [-by_shared, -by_own], len(rows.is_free))


def _sparse(columns: np.ndarray, values: list[np.ndarray], n_columns: int) -> sparse.csr_array:
    """A matrix with as many entries in each row, given by their columns and values."""
    n_rows, width = columns.shape
    return sparse.csr_array(
        (np.column_stack(values).ravel(), columns.ravel(), width * np.arange(n_rows + 1)), shape=(n_rows, n_columns)
    )
