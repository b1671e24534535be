"""Bradley-Terry-Luce without further terms: Newton steps on the Laplacian of the pooled comparisons."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dposv

from ..data.cells import Cells
from ..geometry.parameters import Coefficients
from ..likelihood import Derivatives, bernoulli
from .trust import Optimum, Run, Surroundings, likelihood_unit


def maximise_pooled(cells: Cells, maxiter: int = 200) -> Optimum | None:
    """Maximise the likelihood of one score vector for all judges, by plain Newton steps from zero.

    The likelihood is concave, and for most data every step is a good one. Where one is not, as when an item was never beaten,
    the answer is None: a search that damps its steps has to see why.

    Examples
    --------
    >>> pair = np.array([0, 0, 1]), np.array([1, 2, 2])
    >>> found = maximise_pooled(Cells(np.zeros(3, int), *pair, np.full(3, 4.0), np.array([3.0, 2.0, 1.0]), 1, 3))
    >>> found.converged, found.at.scores.round(3)
    (True, array([[ 0.549, -0.549,  0.   ]]))
    """
    n_items = cells.n_items
    first, second, n, y = _pooled(cells)
    pair, diagonal = first * n_items + second, np.arange(n_items)
    scores = np.zeros(n_items)
    here = Derivatives(float(n.sum()) * np.log(2.0), 0.5 * n - y, 0.25 * n, np.zeros(len(n)))
    run = Run([here.value], likelihood_unit(cells), maxiter)
    while not run.ended:
        slope = np.bincount(first, here.slope, n_items) - np.bincount(second, here.slope, n_items)
        links = np.bincount(pair, here.curvature, n_items**2).reshape(n_items, n_items)
        information = -links - links.T
        degree = -information.sum(axis=0)
        # The scores have no level. Information about it, as much as there is about an item, leaves the steps what they are.
        information += degree.mean() / n_items
        information[diagonal, diagonal] += degree
        _, step, failed = dposv(information.T, slope, lower=True, overwrite_a=True)
        if failed:
            return None
        there = scores - step
        then = bernoulli(there.take(first) - there.take(second), n, y)
        gain, around = float(slope @ step), Surroundings(float(np.ptp(there)))
        if not run.accept(then.value, -gain, 0.5 * gain, True, float(np.ptp(step)), around):
            return None
        scores, here = there, then
    at = np.tile(scores - scores.mean(), (cells.n_judges, 1))
    return run.outcome(Coefficients(at, np.zeros((cells.n_judges, 0)), np.zeros(0)), here.value, here.value)


def _pooled(cells: Cells) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """First and second items, weights and wins of the comparisons of all judges together."""
    if cells.n_judges == 1:
        return cells.first, cells.second, cells.n, cells.y
    n, y = cells.sum_by_pair(cells.n).ravel(), cells.sum_by_pair(cells.y).ravel()
    pair = np.flatnonzero(n)
    return *np.divmod(pair, cells.n_items), n[pair], y[pair]
