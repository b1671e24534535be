"""What single comparisons, or clusters of them, contribute to the gradient along any movement of the parameters.

From this come robust covariances, the acceleration of BCa intervals and robust score tests. Nothing here has a row per comparison
and a column per parameter: a comparison touches two items and one judge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from .. import limits
from ..data.cells import distinct_rows, take
from ..data.comparisons import Comparisons
from ..model.design import Coefficients, Design
from ..model.likelihood import evaluate
from ..model.responses import Derivatives
from ..model.tangent import TangentBasis
from ..model.terms import LOG_ODDS


@dataclass(frozen=True)
class Contributions:
    """Slopes of the log-likelihood of comparisons by their predictors, ordered by the unit they belong to.

    Attributes
    ----------
    rows : Design
    slope : ndarray, shape (n_rows,)
    own_slope : ndarray, shape (p, n_rows), optional
        By the response's own predictors.
    starts : ndarray of int, shape (n_units + 1,)
        Where the rows of each unit begin, and where the last ones end.
    count : ndarray, shape (n_units,)
        How often each unit was seen.
    """

    rows: Design
    slope: np.ndarray
    own_slope: np.ndarray | None
    starts: np.ndarray
    count: np.ndarray

    @classmethod
    def of_comparisons(cls, rows: Design, data: Comparisons, at: Coefficients) -> Contributions:
        """Every comparison by itself; those that cannot be told apart once, with their number."""
        columns = [rows.judge, rows.first, rows.second, data.outcome, *rows.judge_terms.T, *rows.shared_terms.T]
        code, some = distinct_rows(columns)
        distinct = take(rows, some)
        here = evaluate(single(distinct, data.outcome[some]), at)
        own_slope = None if here.own_slope is None else -here.own_slope
        count = np.bincount(code, data.weight, minlength=len(some))
        return cls(distinct, -here.slope, own_slope, np.arange(len(some) + 1), count)

    @classmethod
    def of_clusters(
        cls, rows: Design, data: Comparisons, at: Coefficients, cluster: np.ndarray, n_clusters: int
    ) -> Contributions:
        """The comparisons of a cluster together."""
        order = np.argsort(cluster, kind="stable")
        here = weighted_slopes(rows, data, at)
        own_slope = None if here.own_slope is None else here.own_slope[:, order]
        starts = np.searchsorted(cluster[order], np.arange(n_clusters + 1))
        return cls(take(rows, order), here.slope[order], own_slope, starts, np.ones(n_clusters))

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
        """Counts and contributions of some units at a time."""
        moves = _Moves.of(movements, tangent, self.rows)
        at_once = max(limits.ENTRIES_AT_ONCE // max(len(movements), 1), 1)
        first, n_units = 0, len(self.count)
        while first < n_units:
            last = int(np.searchsorted(self.starts, self.starts[first] + at_once, side="right")) - 1
            last = min(max(last, first + 1), n_units)
            some = np.arange(self.starts[first], self.starts[last])
            rows = take(self.rows, some)
            each = self.slope[some, None] * moves.odds(rows)
            for p, slope in enumerate([] if self.own_slope is None else self.own_slope, start=1):
                each += slope[some, None] * moves.by_terms(rows, p)
            if len(some) != last - first:
                # Clusters are never empty, so that every sum has a beginning of its own.
                each = np.add.reduceat(each, self.starts[first:last] - self.starts[first], axis=0)
            yield self.count[first:last], each
            first = last


@dataclass(frozen=True)
class _Moves:
    """Movements of the free coordinates, taken apart: of judges on their own directions, of items, of linear coefficients.

    Attributes
    ----------
    own : ndarray, shape (n_judges, f, m)
    items : ndarray, shape (g, n_items, m)
    judge : ndarray, shape (n_judges, e, m)
    shared : ndarray, shape (n_shared_terms, m)
    """

    tangent: TangentBasis
    own: np.ndarray
    items: np.ndarray
    judge: np.ndarray
    shared: np.ndarray

    @classmethod
    def of(cls, movements: np.ndarray, tangent: TangentBasis, rows: Design) -> _Moves:
        m, n_linear = len(movements), rows.n_linear
        f, g = tangent.judge_items.shape[1], tangent.shared_judges.shape[1]
        linear = np.zeros((len(rows.is_free), m))
        linear[rows.is_free] = movements[:, :n_linear].T
        n_own = n_linear + tangent.n_judges * f
        items = tangent.to_items(movements[:, n_own:].reshape(m * g, tangent.n_shared)).reshape(m, g, tangent.n_items)
        return cls(
            tangent,
            np.ascontiguousarray(movements[:, n_linear:n_own].T).reshape(tangent.n_judges, f, m),
            np.ascontiguousarray(items.transpose(1, 2, 0)),
            linear[rows.n_shared_terms :].reshape(tangent.n_judges, rows.n_judge_terms, m),
            linear[: rows.n_shared_terms],
        )

    def odds(self, rows: Design) -> np.ndarray:
        """Change of the log-odds of rows, shape (n_rows, m), judge by judge: each has scores of its own that change."""
        change = self.by_terms(rows, LOG_ODDS)
        order = np.argsort(rows.judge, kind="stable")
        judges, starts = np.unique(rows.judge[order], return_index=True)
        for k, some in zip(judges.tolist(), np.split(order, starts[1:]), strict=True):
            scores = self.tangent.judge_items @ self.own[k] + np.tensordot(self.tangent.shared_judges[k], self.items, 1)
            change[some] += scores[rows.first[some]] - scores[rows.second[some]]
        return change

    def by_terms(self, rows: Design, predictor: int) -> np.ndarray:
        """Change that the terms of rows make to a predictor, shape (n_rows, m)."""
        own, own_columns = rows.judge_terms_by_predictor[predictor]
        shared, shared_columns = rows.shared_terms_by_predictor[predictor]
        change = shared_columns @ self.shared[shared]
        for column, coefficients in zip(own_columns.T, self.judge[:, own].swapaxes(0, 1), strict=True):
            change += column[:, None] * coefficients[rows.judge]
        return change


def single(rows: Design, outcome: np.ndarray) -> Design:
    """Every row as one comparison."""
    return replace(rows, n=np.ones(len(outcome)), y=outcome, counts=rows.response.counts(outcome))


def weighted_slopes(rows: Design, data: Comparisons, at: Coefficients) -> Derivatives:
    """Derivatives of the log-likelihood of every row by its predictors."""
    here = evaluate(single(rows, data.outcome), at)
    own_slope = None if here.own_slope is None else -data.weight * here.own_slope
    return here._replace(slope=-data.weight * here.slope, own_slope=own_slope)
