"""Information of a likelihood whose judges are integrated out, by Louis' identity (1982).

It is the expected curvature of the cells given the verdicts, less the variance of the judges' slopes given them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from .. import limits
from ..model.design import Design
from ..model.population import Population, Space
from ..model.tangent import in_centred_basis
from .integrands import Around, curvatures_of, own_predictors, slopes_of


def complete_and_missing(
    around: Around, space: Space, at: Population, is_free: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Information of some judges by the coordinates if their effects had been seen, too, and how much of it is lost."""
    channels = _Channels(around.part.design, space, at)
    whole, lost = _complete(around, channels, is_free), _missing(around, channels, is_free)
    return _in_coordinates(whole, space), _in_coordinates(lost, space)


class _Channels:
    """How parameters reach the cells: mu and V through items, everything else through a column, each times one or an effect.

    The order is mu, V by direction (items each), sensitivity, shared, means, sds.
    """

    def __init__(self, design: Design, space: Space, at: Population) -> None:
        self.design = design
        r, terms = space.rank, design.terms
        # Predictor, effect counted from one (zero: none), column.
        self.columns: list[tuple[int, int, np.ndarray]] = [(0, 1, at.mu[design.first] - at.mu[design.second])]
        self.columns += [(m, 0, design.shared_terms[:, t]) for t, m in enumerate(terms.shared_moves)]
        self.columns += [(m, 0, design.judge_terms[:, t]) for t, m in enumerate(terms.own_moves)]
        self.columns += [(m, 2 + r + t, design.judge_terms[:, t]) for t, m in enumerate(terms.own_moves)]
        # Of mu and V on (base, loadings).
        self.items = np.zeros((1 + r, 1 + space.n_effects))
        self.items[0, :2] = 1.0, at.sensitivity
        self.items[np.arange(1, 1 + r), 1 + np.arange(1, 1 + r)] = 1.0

    @property
    def n_blocks(self) -> int:
        """Parameters that go through items: mu and the directions."""
        return len(self.items)

    @property
    def n(self) -> int:
        """Number of parameters, items uncentred."""
        return self.n_blocks * self.design.n_items + len(self.columns)

    def scores(self, cells: slice, judge: np.ndarray, slopes: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Gradients of the log-likelihood of some judges at their nodes z (n_judges, q, d), shape (n_judges, q, n)."""
        n_items, (n_judges, q) = self.design.n_items, z.shape[:2]
        first, second = judge * n_items + self.design.first[cells], judge * n_items + self.design.second[cells]
        n_cells = len(judge)
        signs, rows = np.repeat([1.0, -1.0], n_cells), np.tile(np.arange(n_cells), 2)
        incidence = sparse.csr_array(
            (signs, (np.concatenate([first, second]), rows)), shape=(n_judges * n_items, n_cells)
        )
        by_item = (incidence @ slopes[0].T).reshape(n_judges, n_items, q).transpose(0, 2, 1)
        ones = np.concatenate([np.ones((n_judges, q, 1)), z], axis=2)
        multiples = ones @ self.items.T
        result = np.empty((n_judges, q, self.n))
        for a in range(self.n_blocks):
            np.multiply(by_item, multiples[:, :, a, None], out=result[:, :, a * n_items : (a + 1) * n_items])
        starts = np.searchsorted(judge, np.arange(n_judges))
        for j, (p, effect, column) in enumerate(self.columns):
            sums = np.add.reduceat(slopes[p] * column[cells], starts, axis=1).T
            result[:, :, self.n_blocks * n_items + j] = sums * ones[:, :, effect]
        return result

    def gather(self, moments: np.ndarray) -> np.ndarray:
        """Information from that of the cells, moments of (1, z) by predictors, shape (p, p, n_cells, 1 + d, 1 + d)."""
        n_items, blocks = self.design.n_items, self.n_blocks * self.design.n_items
        result = np.zeros((self.n, self.n))
        inner = np.matmul(np.matmul(self.items, moments[0, 0]), self.items.T)
        for a in range(self.n_blocks):
            for b in range(self.n_blocks):
                block = _laplacian(self.design, inner[:, a, b])
                result[a * n_items : (a + 1) * n_items, b * n_items : (b + 1) * n_items] = block
        for j, (p, effect, column) in enumerate(self.columns):
            at = blocks + j
            along = (moments[0, p, :, :, effect] @ self.items.T) * column[:, None]
            result[:blocks, at] = np.concatenate([by_item(self.design, values) for values in along.T])
            result[at, :blocks] = result[:blocks, at]
            for i, (q, other, values) in enumerate(self.columns):
                result[blocks + i, at] = (values * column) @ moments[q, p, :, other, effect]
        return result


def _complete(around: Around, channels: _Channels, is_free: np.ndarray) -> np.ndarray:
    """Expected curvature of the cells."""
    part, here = around.part, around.there
    posterior = part.of_cells(around.posterior, axis=1)
    one_x = np.hstack([np.ones((len(around.x), 1)), around.x])
    d = one_x.shape[1]
    products = (one_x[:, :, None] * one_x[:, None]).reshape(len(one_x), -1)
    moments = np.matmul((curvatures_of(here) * posterior).transpose(0, 1, 3, 2), products)
    # From moments of (1, x) to those of (1, z), z = mode + C x.
    change = np.zeros((len(around.mode), 1 + len(is_free), d))
    change[:, 0, 0] = 1.0
    kept = 1 + np.flatnonzero(is_free)
    change[:, kept, 0] = around.mode
    change[:, kept, 1:] = around.root
    change = part.of_cells(change)
    moments = np.matmul(np.matmul(change, moments.reshape(*moments.shape[:3], d, d)), change.transpose(0, 2, 1))
    result = channels.gather(moments)
    # Sensitivity times consensus is the one product of two parameters.
    slopes = (slopes_of(here)[0] * posterior).T @ one_x
    cross = by_item(part.design, np.einsum("rd,rd->r", slopes, change[:, 1]))
    n_items, sensitivity = part.design.n_items, channels.n_blocks * part.design.n_items
    result[:n_items, sensitivity] -= cross
    result[sensitivity, :n_items] -= cross
    return result


def told_of_effects(
    around: Around, space: Space, at: Population, is_free: np.ndarray, code: np.ndarray, n_clusters: int
) -> np.ndarray:
    """Covariances, given the verdicts, of the log-likelihood of each cluster's cells with the slopes of their judge's.

    Summed over judges, by the coordinates, shape (n_clusters, n).
    """
    part, channels, own = around.part, _Channels(around.part.design, space, at), own_predictors(around.at_nodes)
    design, q = part.design, len(around.x)
    loglike = design.response.loglike(around.at_nodes[0], own, design.n, design.y, design.counts)
    result = np.zeros((n_clusters, channels.n))
    for judges, cells, scores in _scores_at_nodes(around, channels, is_free):
        judge, weight = part.judge[cells] - judges.start, around.posterior[:, judges].T
        scores -= np.matmul(weight[:, None], scores)
        # Cells times nodes: a cluster gathers its cells, each at the nodes of its judge.
        rows, columns = np.repeat(code[cells], q), (judge[:, None] * q + np.arange(q)).ravel()
        products = (loglike[:, cells].T * weight[judge]).ravel()
        gathered = sparse.coo_array((products, (rows, columns)), shape=(n_clusters, scores.shape[0] * q)).tocsr()
        result += gathered @ scores.reshape(-1, channels.n)
    return _rows_in_coordinates(result, space)


def _scores_at_nodes(
    around: Around, channels: _Channels, is_free: np.ndarray
) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """Some judges after the other, with their cells, and the gradients (n_judges, q, n) of their log-likelihood at their nodes."""
    part, n_judges, slopes = around.part, len(around.mode), slopes_of(around.there)
    some = max(limits.NODES_AT_ONCE * 4 // (len(around.x) * channels.n), 1)
    ends = np.append(part.starts, len(part.judge))
    for first in range(0, n_judges, some):
        last = min(first + some, n_judges)
        cells = slice(ends[first], ends[last])
        z = np.zeros((last - first, len(around.x), len(is_free)))
        z[:, :, is_free] = around.nodes(slice(first, last))
        yield slice(first, last), cells, channels.scores(cells, part.judge[cells] - first, slopes[:, :, cells], z)


def _missing(around: Around, channels: _Channels, is_free: np.ndarray) -> np.ndarray:
    """Variance of the slopes over the nodes, summed over judges."""
    result = np.zeros((channels.n, channels.n))
    for judges, _, scores in _scores_at_nodes(around, channels, is_free):
        weight = around.posterior[:, judges].T
        scores -= np.matmul(weight[:, None], scores)
        scores *= np.sqrt(weight)[:, :, None]
        flat = scores.reshape(-1, channels.n)
        result += flat.T @ flat
    return result


def _in_coordinates(matrix: np.ndarray, space: Space) -> np.ndarray:
    """From the order of the channels, items uncentred, to that of the coordinates, on both sides."""
    result = _rows_in_coordinates(_rows_in_coordinates(matrix, space).T, space)
    return 0.5 * (result + result.T)


def _rows_in_coordinates(rows: np.ndarray, space: Space) -> np.ndarray:
    """Rows in the order of the channels, items uncentred, as rows of coordinates."""
    blocks, where = (1 + space.rank) * space.n_items, space.slices
    order = np.concatenate(
        [np.r_[where[name]] for name in ("mu", "V", "sensitivity", "shared", "means", "sds")]
    ).astype(int)
    items = in_centred_basis(rows[:, :blocks].reshape(-1, space.n_items)).reshape(len(rows), -1)
    result = np.zeros((len(rows), space.n))
    result[:, order] = np.hstack([items, rows[:, blocks:]])
    return result


def by_item(design: Design, values: np.ndarray) -> np.ndarray:
    """Sums over the cells of an item, with opposite signs for first and second."""
    n = design.n_items
    return np.bincount(design.first, values, n) - np.bincount(design.second, values, n)


def _laplacian(design: Design, weight: np.ndarray) -> np.ndarray:
    pairs = design.sum_by_pair(weight)
    pairs = pairs + pairs.T
    return np.diag(pairs.sum(axis=0)) - pairs
