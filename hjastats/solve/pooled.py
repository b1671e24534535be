"""Bradley-Terry-Luce without further terms, pooled or judge by judge: Newton steps on the Laplacian of the comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dposv

from .. import limits
from ..data.cells import Cells
from ..model.design import Coefficients
from ..model.response import Derivatives, bernoulli
from ..model.tangent import centred
from .products import conjugate_gradients
from .quadratic import is_many
from .starts import win_share_scores
from .trust import STATIONARY, Optimum, likelihood_unit, next_length

# Longest step, in log-odds: one much longer leads to where nothing is known.
_STRIDE = 30.0


def maximise_pooled(cells: Cells, maxiter: int = 200) -> Optimum | None:
    """Maximise the likelihood of one score vector for all judges, by plain Newton steps from the shares of wins.

    The likelihood is concave, and for most data every step is a good one. Where one is not, or the end is not near, as when an
    item was never beaten, the answer is None: a search that damps its steps has to see why.

    Examples
    --------
    >>> pair = np.array([0, 0, 1]), np.array([1, 2, 2])
    >>> found = maximise_pooled(Cells(np.zeros(3, int), *pair, np.full(3, 4.0), np.array([3.0, 2.0, 1.0]), 1, 3))
    >>> found.converged, found.at.scores.round(3)
    (True, array([[ 0.366, -0.732,  0.366]]))
    """
    pairs = _pooled(cells)
    start = win_share_scores(pairs.first, pairs.second, pairs.n, pairs.y, pairs.n_items)
    return _maximise(pairs, start, cells, min(maxiter, limits.PLAIN_STEPS))


def maximise_judgewise(
    cells: Cells, ridge: float | np.ndarray = 0.0, maxiter: int = 200, *, common: float = 0.0
) -> Optimum | None:
    """Maximise the likelihood of a score vector for every judge, all at once: an item is another one for every judge.

    Parameters
    ----------
    ridge : float or ndarray, shape (n_judges,)
        Weight of half the sum of squared scores, subtracted from the log-likelihood.
    common : float
        Weight of half the squared sums over judges, added again.

    Examples
    --------
    >>> pair = np.array([0, 0, 1]), np.array([1, 2, 2])
    >>> found = maximise_judgewise(Cells(np.zeros(3, int), *pair, np.full(3, 4.0), np.array([3.0, 2.0, 1.0]), 1, 3))
    >>> found.converged, found.at.scores.round(3)
    (True, array([[ 0.366, -0.732,  0.366]]))
    """
    order = np.argsort(cells.first_entry, kind="stable")
    nodes = cells.first_entry[order], cells.second_entry[order]
    weight = np.repeat(np.broadcast_to(ridge, cells.n_judges), cells.n_items)
    held = weight if np.any(ridge) else None
    pairs = _Pairs(nodes[0], nodes[1], cells.n[order], cells.y[order], len(weight), held, common, cells.n_judges)
    # From zero, and perhaps far out: a log-odds per step.
    return _maximise(pairs, np.zeros(len(weight)), cells, min(maxiter, 3 * limits.PLAIN_STEPS))


def _maximise(pairs: _Pairs, scores: np.ndarray, cells: Cells, maxiter: int) -> Optimum | None:
    """Plain Newton steps; None where these are not enough."""
    here, unit = pairs.evaluate(scores), likelihood_unit(cells)
    path = [here.value + pairs.penalty(scores)]
    while len(path) <= maxiter:
        slope = pairs.gradient(here, scores)
        step = pairs.solve(here.curvature, slope)
        if step is None:
            return None
        scores = scores - step
        here = pairs.evaluate(scores)
        expected, moved = 0.5 * float(slope @ step), float(step.max() - step.min())
        path.append(here.value + pairs.penalty(scores))
        # Below rounding error of the objective its fall says nothing.
        is_negligible = expected <= 1e-12 * abs(path[-2])
        if not (is_negligible or path[-2] - path[-1] > 1e-3 * expected) or moved > _STRIDE:
            return None
        distance = next_length(sqrt(2.0 * max(expected, 0.0) / unit))
        if distance <= STATIONARY and moved < 1e-3:
            return _optimum(cells, scores, path, here.value, distance)
    return None


def _optimum(cells: Cells, scores: np.ndarray, path: list[float], value: float, distance: float) -> Optimum:
    """The outcome for scores of the items, or of the items of every judge."""
    at = np.broadcast_to(scores.reshape(-1, cells.n_items), (cells.n_judges, cells.n_items))
    nothing = np.zeros((cells.n_judges, 0)), np.zeros(0)
    return Optimum(Coefficients(centred(at), *nothing), path[-1], value, distance, True, len(path) - 1, tuple(path))


@dataclass(frozen=True)
class _Pairs:
    """Comparisons of all judges together, ordered by first item, and a ridge on the scores, less one on their sums over judges."""

    first: np.ndarray
    second: np.ndarray
    n: np.ndarray
    y: np.ndarray
    n_items: int
    ridge: np.ndarray | None = None
    common: float = 0.0
    n_judges: int = 1

    def penalty(self, scores: np.ndarray) -> float:
        return 0.0 if self.ridge is None else 0.5 * float(scores @ self._held(scores))

    def _held(self, scores: np.ndarray) -> np.ndarray:
        """Second derivatives of the ridge times scores."""
        total = np.tile(scores.reshape(self.n_judges, -1).sum(axis=0), self.n_judges)
        return self.ridge * scores - self.common * total

    def evaluate(self, scores: np.ndarray) -> Derivatives:
        return bernoulli(scores.take(self.first) - scores.take(self.second), self.n, self.y)

    def gradient(self, here: Derivatives, scores: np.ndarray) -> np.ndarray:
        slope = np.bincount(self.first, here.slope, self.n_items) - np.bincount(self.second, here.slope, self.n_items)
        return slope if self.ridge is None else slope + self._held(scores)

    def solve(self, curvature: np.ndarray, right: np.ndarray) -> np.ndarray | None:
        """Solve the Laplacian: as a matrix, or by products with it where items are many; None if it cannot be done."""
        if self.ridge is not None or is_many(self.n_items):
            return self._solve_by_products(curvature, right)
        n_items = self.n_items
        links = np.bincount(self._position, curvature, n_items**2).reshape(n_items, n_items)
        links = links + links.T
        degree = links.sum(axis=0)
        # The scores have no level. Information about it, as much as there is about an item, leaves the solution what it is.
        laplacian = degree.sum() / n_items**2 - links
        laplacian.ravel()[:: n_items + 1] += degree
        _, solution, failed = dposv(laplacian.T, right, lower=True, overwrite_a=True)
        return None if failed else solution

    @cached_property
    def _position(self) -> np.ndarray:
        """Where the pair stands in a table of all."""
        return self.first * self.n_items + self.second

    def _solve_by_products(self, curvature: np.ndarray, right: np.ndarray) -> np.ndarray | None:
        n_items = self.n_items
        ends = np.searchsorted(self.first, np.arange(n_items + 1))
        links = sparse.csr_array((curvature, self.second, ends), shape=(n_items, n_items))
        back, ones = links.T, np.ones(n_items)
        degree = links @ ones + back @ ones
        if self.ridge is None:
            return conjugate_gradients(lambda x: degree * x - links @ x - back @ x, lambda x: x / degree, right)
        whole = degree + self.ridge
        return conjugate_gradients(
            lambda x: degree * x - links @ x - back @ x + self._held(x), lambda x: x / whole, right
        )


def _pooled(cells: Cells) -> _Pairs:
    first, second, n, y, n_items = cells.first, cells.second, cells.n, cells.y, cells.n_items
    if cells.n_judges > 1 or (first[1:] < first[:-1]).any():
        key, pair = np.unique(first * n_items + second, return_inverse=True)
        first, second = np.divmod(key, n_items)
        n, y = np.bincount(pair, n), np.bincount(pair, y)
    return _Pairs(first, second, n, y, n_items)
