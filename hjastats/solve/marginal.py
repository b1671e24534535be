"""The likelihood of judges who are a sample: their effects integrated out by adaptive Gauss-Hermite quadrature.

For each judge ``log int exp(f(z)) phi(z) dz``, where f is the log-likelihood of its verdicts, with nodes at ``zhat + C x``: zhat
is the mode of the integrand and ``C C'`` the inverse of its curvature there (Pinheiro and Bates 1995). One node is Laplace's
method. Gradients are those of this very approximation: nodes move with the parameters. Judges are stacked; nothing loops over
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from .. import limits
from ..data.cells import take
from ..model.design import Design
from ..model.population import Population, Space, predictors
from ..model.response import Derivatives, third_derivatives
from ..model.tangent import centred_basis, in_centred_basis

# Movement of a mode, in standard deviations of an effect, below which it is found; the step that told so is still taken.
_AT_MODE = 1e-7
_MODE_STEPS = 60


@lru_cache(maxsize=16)
def nodes(n_nodes: int, n_effects: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes of a standard normal vector, shape (n, n_effects), and the logs of their weights.

    Examples
    --------
    >>> x, log_weight = nodes(3, 1)
    >>> x.ravel().round(3).tolist(), np.exp(log_weight).round(3).tolist()
    ([-1.732, 0.0, 1.732], [0.167, 0.667, 0.167])
    """
    x, weight = np.polynomial.hermite_e.hermegauss(n_nodes)
    weight = weight / weight.sum()
    shape = n_nodes**n_effects, n_effects
    grid = np.array(list(product(x, repeat=n_effects))).reshape(shape)
    weights = np.array(list(product(weight, repeat=n_effects))).reshape(shape).prod(axis=1)
    return grid, np.log(weights)


class _Part(NamedTuple):
    """Some judges with their cells, which are in the order of the judges."""

    design: Design
    judges: slice
    judge: np.ndarray
    starts: np.ndarray

    def by_judge(self, values: np.ndarray, axis: int = -1) -> np.ndarray:
        """Sums over the cells of each judge."""
        return np.add.reduceat(values, self.starts, axis=axis)


@dataclass(frozen=True)
class _Around:
    """The integrands of some judges around their modes.

    Attributes
    ----------
    base, loading : ndarray, shapes (p, n_cells), (p, n_cells, d)
    mode : ndarray, shape (k, d)
    root : ndarray, shape (k, d, d)
        C.
    here : Derivatives
        Of the cells at the modes.
    x : ndarray, shape (q, d)
    posterior : ndarray, shape (q, k)
        Weights of the nodes.
    at_nodes : ndarray, shape (p, q, n_cells)
        Predictors.
    loglike : ndarray, shape (k,)
    """

    base: np.ndarray
    loading: np.ndarray
    mode: np.ndarray
    root: np.ndarray
    here: Derivatives
    x: np.ndarray
    posterior: np.ndarray
    at_nodes: np.ndarray
    loglike: np.ndarray


class Gradients(NamedTuple):
    """Derivatives of the log-likelihood by what moves the cells: shapes (p, n_cells) and (p, n_cells, d)."""

    base: np.ndarray
    loading: np.ndarray


class Marginal:
    """The marginal likelihood of one design.

    Parameters
    ----------
    design : Design
        Cells in the order of the judges.
    rank : int
    n_nodes : int
        For each effect.
    is_free : ndarray of bool, shape (n_effects,), optional
        Effects in which judges may differ; the others have no spread.
    """

    def __init__(self, design: Design, rank: int, n_nodes: int, is_free: np.ndarray | None = None) -> None:
        self.design, self.n_nodes, self.space = design, n_nodes, Space.of(design, rank)
        self.is_free = np.ones(self.space.n_effects, dtype=bool) if is_free is None else is_free
        self.modes = np.zeros((design.n_judges, int(self.is_free.sum())))
        self.x, self.log_weight = nodes(n_nodes, int(self.is_free.sum()))
        self._parts: list[_Part] | None = None

    # Pieces

    @property
    def parts(self) -> list[_Part]:
        """The judges in pieces that fit in memory."""
        if self._parts is None:
            self._parts = list(self._pieces())
        return self._parts

    def _pieces(self) -> Iterator[_Part]:
        design = self.design
        ends = np.cumsum(np.bincount(design.judge, minlength=design.n_judges))
        at_once = max(limits.NODES_AT_ONCE // (len(self.x) * (1 + len(design.response.parameters))), 1)
        first = 0
        while first < design.n_judges:
            begin = ends[first - 1] if first else 0
            last = max(int(np.searchsorted(ends, begin + at_once, side="right")), first + 1)
            cells = np.arange(begin, ends[last - 1])
            starts = np.concatenate([[0], ends[first : last - 1] - begin]).astype(int)
            yield _Part(take(design, cells), slice(first, last), design.judge[cells] - first, starts)
            first = last

    # One piece

    def _around(self, part: _Part, at: Population) -> _Around:
        design, response = part.design, part.design.response
        base, loading = predictors(design, at)
        loading = loading[:, :, self.is_free]
        mode, here, curvature = self._find_modes(part, base, loading)
        self.modes[part.judges] = mode
        root = np.linalg.cholesky(np.linalg.inv(curvature))
        hat = base + times(loading, mode[part.judge])
        spread = np.matmul(loading[:, :, None], root[part.judge])[:, :, 0]
        at_nodes = hat[:, None] + self.x @ spread.transpose(0, 2, 1)
        cells = response.loglike(at_nodes[0], own_predictors(at_nodes), design.n, design.y, design.counts)
        z = mode[:, None] + self.x @ root.transpose(0, 2, 1)
        log_weight = self.log_weight + 0.5 * np.square(self.x).sum(axis=1)
        joint = part.by_judge(cells) + (log_weight - 0.5 * np.square(z).sum(axis=2)).T
        total = logsumexp(joint, axis=0)
        scale = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        return _Around(base, loading, mode, root, here, self.x, np.exp(joint - total), at_nodes, total + scale)

    def _find_modes(
        self, part: _Part, base: np.ndarray, loading: np.ndarray
    ) -> tuple[np.ndarray, Derivatives, np.ndarray]:
        """Modes (k, d), cells and curvatures (k, d, d) there: damped Newton steps of strictly concave functions, all at once."""
        mode = self.modes[part.judges].copy()
        value, here = self._integrand(part, base, loading, mode)
        for _ in range(_MODE_STEPS):
            slope = part.by_judge(_weighted(loading, _slopes(here)), axis=0) - mode
            curvature = self._curvature(part, loading, here)
            step = np.linalg.solve(curvature, slope[:, :, None])[:, :, 0]
            length = np.ones(len(mode))
            for _ in range(_MODE_STEPS):
                trial = mode + length[:, None] * step
                there, here = self._integrand(part, base, loading, trial)
                worse = there < value - 1e-10 * (1.0 + np.abs(value))
                if not worse.any():
                    break
                length[worse] *= 0.5
            mode, value = trial, there
            if np.abs(length[:, None] * step).max(initial=0.0) < _AT_MODE:
                break
        return mode, here, self._curvature(part, loading, here)

    def _integrand(
        self, part: _Part, base: np.ndarray, loading: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, Derivatives]:
        design, response = part.design, part.design.response
        at = base + times(loading, z[part.judge])
        cells = response.loglike(at[0], own_predictors(at), design.n, design.y, design.counts)
        here = response.derivatives(at[0], own_predictors(at), design.n, design.y, design.counts)
        return part.by_judge(cells) - 0.5 * np.square(z).sum(axis=1), here

    def _curvature(self, part: _Part, loading: np.ndarray, here: Derivatives) -> np.ndarray:
        weighted = np.einsum("pqr,qrd->rpd", _curvatures(here), loading)
        products = np.matmul(loading.transpose(1, 2, 0), weighted)
        return part.by_judge(products, axis=0) + np.eye(loading.shape[2])

    def _at_nodes(self, part: _Part, around: _Around) -> Derivatives:
        design, at = part.design, around.at_nodes
        own = None if len(at) == 1 else np.moveaxis(at[1:], 0, 1)
        return design.response.derivatives(at[0], own, design.n, design.y, design.counts)

    def _gradients(self, part: _Part, around: _Around, *, exact: bool = True) -> Gradients:
        """By base and loading of each cell: expected slopes over the nodes, and what the nodes' own movement adds."""
        slopes = _slopes(self._at_nodes(part, around)) * around.posterior[:, part.judge]
        mean, along = slopes.sum(axis=1), np.matmul(slopes.transpose(0, 2, 1), around.x)
        mode, root = around.mode[part.judge], around.root[part.judge]
        loading = mean[:, :, None] * mode + np.matmul(root, along[..., None])[..., 0]
        if not exact:
            return Gradients(mean, loading)
        more = self._movement(part, around, mean, along)
        return Gradients(mean + more.base, loading + more.loading)

    def _movement(self, part: _Part, around: _Around, mean: np.ndarray, along: np.ndarray) -> Gradients:
        """What the movement of modes and curvatures with the parameters adds; next to nothing with many nodes."""
        L, root, here = around.loading, around.root, around.here
        drawn = around.posterior.T @ around.x
        slope = part.by_judge(_weighted(L, mean), axis=0)
        slope -= around.mode + _through(root, drawn)
        outer = np.einsum("prd,pre->rde", L, along)
        second = np.einsum("qk,qd,qe->kde", around.posterior, around.x, around.x, optimize=True)
        by_x = part.by_judge(outer, axis=0) - around.mode[:, :, None] * drawn[:, None] - np.matmul(root, second)
        A = np.matmul(root.transpose(0, 2, 1), by_x)
        lower = np.tril(A, -1)
        diagonal = np.einsum("kii->ki", A)
        T = -0.5 * (lower + lower.transpose(0, 2, 1))
        T[:, np.arange(T.shape[1]), np.arange(T.shape[1])] = -0.5 * (diagonal + 1.0)
        K = np.matmul(np.matmul(root, T), root.transpose(0, 2, 1))[part.judge]
        KL = np.matmul(L[:, :, None], K)[:, :, 0]
        W, third = _curvatures(here), third_derivatives(part.design.response, here, part.design.n)
        bent = np.einsum("pqsr,prd,qrd->sr", third, L, KL, optimize=True)
        slope += part.by_judge(_weighted(L, bent), axis=0)
        v = _through(np.matmul(root, root.transpose(0, 2, 1)), slope)[part.judge]
        moved = bent - np.einsum("pqr,pr->qr", W, times(L, v))
        bending = 2.0 * np.einsum("pqr,qrd->prd", W, KL) + _slopes(here)[:, :, None] * v
        return Gradients(moved, moved[:, :, None] * around.mode[part.judge] + bending)

    # All judges

    def value(self, values: np.ndarray) -> tuple[float, np.ndarray]:
        """Log-likelihood at some coordinates, and its gradient by them."""
        at, space = self.space.unpack(values), self.space
        total, gradient = 0.0, np.zeros(space.n)
        for part in self.parts:
            around = self._around(part, at)
            total += float(around.loglike.sum())
            gradient += _by_coordinates(part.design, space, at, self._spread(self._gradients(part, around)))
        return total, gradient

    def loglike(self, values: np.ndarray) -> np.ndarray:
        """Log-likelihood of every judge."""
        at = self.space.unpack(values)
        return np.concatenate([self._around(part, at).loglike for part in self.parts])

    def _spread(self, slopes: Gradients) -> Gradients:
        """With columns of zeros for effects that are held."""
        loading = np.zeros((*slopes.loading.shape[:2], len(self.is_free)))
        loading[:, :, self.is_free] = slopes.loading
        return Gradients(slopes.base, loading)

    def rows(self, values: np.ndarray) -> Gradients:
        """Expected derivatives by base and loading of every cell given the verdicts of its judge (Fisher's identity)."""
        at = self.space.unpack(values)
        found = [self._spread(self._gradients(part, self._around(part, at), exact=False)) for part in self.parts]
        return Gradients(*(np.concatenate(some, axis=1) for some in zip(*found, strict=True)))

    def posterior(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means (n_judges, n_effects) and covariances of the effects given the verdicts; held effects are zero."""
        at, d = self.space.unpack(values), int(self.is_free.sum())
        means, covariances = np.zeros((self.design.n_judges, d)), np.zeros((self.design.n_judges, d, d))
        for part in self.parts:
            around = self._around(part, at)
            drawn = around.posterior.T @ around.x
            second = np.einsum("qk,qd,qe->kde", around.posterior, around.x, around.x, optimize=True)
            second -= drawn[:, :, None] * drawn[:, None]
            means[part.judges] = around.mode + _through(around.root, drawn)
            root = around.root
            covariances[part.judges] = np.matmul(np.matmul(root, second), root.transpose(0, 2, 1))
        free = np.flatnonzero(self.is_free)
        mean = np.zeros((len(means), len(self.is_free)))
        covariance = np.zeros((len(means), len(self.is_free), len(self.is_free)))
        mean[:, free] = means
        covariance[:, free[:, None], free] = covariances
        return mean, covariance

    def draws(self, values: np.ndarray, judges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Nodes of some judges (m, q, n_effects) and their weights given the verdicts (m, q)."""
        at = self.space.unpack(values)
        z = np.zeros((self.design.n_judges, len(self.x), len(self.is_free)))
        weights = np.zeros(z.shape[:2])
        for part in self.parts:
            around = self._around(part, at)
            z[part.judges][:, :, self.is_free] = around.mode[:, None] + self.x @ around.root.transpose(0, 2, 1)
            weights[part.judges] = around.posterior.T
        return z[judges], weights[judges]

    def average(
        self, values: np.ndarray, rows: Design, judges: np.ndarray, summarise: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """What is expected of rows of some judges (their positions) given their verdicts: averages over effects, of any functions of
        the predictors (p, n_rows)."""
        base, loading = predictors(rows, self.space.unpack(values))
        known, place = np.unique(judges, return_inverse=True)
        z, weights = self.draws(values, known)
        nodes = range(z.shape[1])
        return np.asarray(sum(weights[place, q] * summarise(base + times(loading, z[place, q])) for q in nodes))

    def of(self, design: Design) -> Marginal:
        """The same likelihood of other cells."""
        return Marginal(design, self.space.rank, self.n_nodes, self.is_free)

    def information(self, values: np.ndarray) -> np.ndarray:
        """Observed information by Louis' identity: expected curvature given the verdicts, less the variance of the slopes.

        That of the integral, which the quadrature approximates; with one node, differences of the exact gradient of Laplace's
        method.
        """
        if len(self.x) == 1 and self.is_free.any():
            return self._laplace_information(values)
        at = self.space.unpack(values)
        total = sum(
            self._complete(part, around, at) - self._missing(part, around, at)
            for part in self.parts
            for around in [self._around(part, at)]
        )
        return _in_coordinates(np.asarray(total), self.space)

    def complete_information(self, values: np.ndarray) -> np.ndarray:
        """Information if the effects of the judges had been seen, too: positive definite, and the metric of the search."""
        at = self.space.unpack(values)
        total = sum(self._complete(part, self._around(part, at), at) for part in self.parts)
        return _in_coordinates(np.asarray(total), self.space)

    def _laplace_information(self, values: np.ndarray) -> np.ndarray:
        step = 1e-4
        columns = [
            (self.value(values - step * unit)[1] - self.value(values + step * unit)[1]) / (2.0 * step)
            for unit in np.eye(len(values))
        ]
        return 0.5 * (np.array(columns) + np.array(columns).T)

    def _complete(self, part: _Part, around: _Around, at: Population) -> np.ndarray:
        """Expected curvature of the cells, by mu, V (items each) and everything else."""
        d, n_free = len(self.is_free), around.x.shape[1]
        here = self._at_nodes(part, around)
        curvature = _curvatures(here) * around.posterior[:, part.judge]
        one_x = np.hstack([np.ones((len(around.x), 1)), around.x])
        products = (one_x[:, :, None] * one_x[:, None]).reshape(len(one_x), -1)
        moments = np.matmul(curvature.transpose(0, 1, 3, 2), products)
        moments = moments.reshape(*moments.shape[:3], 1 + n_free, 1 + n_free)
        change = np.zeros((len(around.mode), 1 + d, 1 + n_free))
        change[:, 0, 0] = 1.0
        kept = 1 + np.flatnonzero(self.is_free)
        change[:, kept, 0] = around.mode
        change[:, kept, 1:] = around.root
        change = change[part.judge]
        moments = np.matmul(np.matmul(change, moments), change.transpose(0, 2, 1))
        result = _gather(part.design, _Channels(part.design, self.space, at), moments)
        # Sensitivity times consensus is the one product of two parameters.
        slopes = self._spread(self._gradients(part, around, exact=False)).loading[0, :, 0]
        cross = _by_item(part.design, slopes)
        n_items, where = part.design.n_items, (1 + self.space.rank) * part.design.n_items
        result[:n_items, where] -= cross
        result[where, :n_items] -= cross
        return result

    def _missing(self, part: _Part, around: _Around, at: Population) -> np.ndarray:
        """Variance of the slopes over the nodes, summed over judges."""
        n_judges = len(around.mode)
        slopes = _slopes(self._at_nodes(part, around))
        channels = _Channels(part.design, self.space, at)
        some = max(limits.NODES_AT_ONCE * 4 // (len(around.x) * channels.n), 1)
        result = np.zeros((channels.n, channels.n))
        ends = np.append(part.starts, len(part.judge))
        for first in range(0, n_judges, some):
            last = min(first + some, n_judges)
            cells = np.arange(ends[first], ends[last])
            judge = part.judge[cells] - first
            z = np.zeros((last - first, len(around.x), len(self.is_free)))
            z[:, :, self.is_free] = around.mode[first:last, None] + around.x @ around.root[first:last].transpose(
                0, 2, 1
            )
            scores = channels.scores(cells, judge, last - first, slopes[:, :, cells], z)
            weight = around.posterior[:, first:last].T
            scores -= np.matmul(weight[:, None], scores)
            scores *= np.sqrt(weight)[:, :, None]
            flat = scores.reshape(-1, channels.n)
            result += flat.T @ flat
        return result


class _Channels:
    """How parameters reach the cells: mu and V through items, everything else through a column, each times one or an effect.

    The order is mu, V by direction (items each), sensitivity, shared, means, sds.
    """

    def __init__(self, design: Design, space: Space, at: Population) -> None:
        self.design, self.space, self.at = design, space, at
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
    def n(self) -> int:
        """Number of parameters, items uncentred."""
        return (1 + self.space.rank) * self.design.n_items + len(self.columns)

    def scores(
        self, cells: np.ndarray, judge: np.ndarray, n_judges: int, slopes: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """Gradients of the log-likelihood of judges at nodes, shape (n_judges, q, n)."""
        design, n_items, q = self.design, self.design.n_items, z.shape[1]
        places = np.concatenate([judge * n_items + design.first[cells], judge * n_items + design.second[cells]])
        signs = np.repeat([1.0, -1.0], len(cells))
        rows = np.tile(np.arange(len(cells)), 2)
        incidence = sparse.csr_array((signs, (places, rows)), shape=(n_judges * n_items, len(cells)))
        by_item = (incidence @ slopes[0].T).reshape(n_judges, n_items, q).transpose(0, 2, 1)
        ones = np.concatenate([np.ones((*z.shape[:2], 1)), z], axis=2)
        multiples = ones @ self.items.T
        result = np.empty((n_judges, q, self.n))
        for a in range(multiples.shape[2]):
            np.multiply(by_item, multiples[:, :, a, None], out=result[:, :, a * n_items : (a + 1) * n_items])
        starts = np.searchsorted(judge, np.arange(n_judges))
        for j, (p, effect, column) in enumerate(self.columns):
            sums = np.add.reduceat(slopes[p] * column[cells], starts, axis=1).T
            result[:, :, multiples.shape[2] * n_items + j] = sums * ones[:, :, effect]
        return result


def _gather(design: Design, channels: _Channels, moments: np.ndarray) -> np.ndarray:
    """Information of the channels from that of cells, moments of (1, z) by predictors, shape (p, p, n_cells, 1 + d, 1 + d)."""
    n_items, n = design.n_items, channels.n
    result = np.zeros((n, n))
    n_blocks = len(channels.items)
    inner = np.matmul(np.matmul(channels.items, moments[0, 0]), channels.items.T)
    for a in range(n_blocks):
        for b in range(n_blocks):
            block = _laplacian(design, inner[:, a, b])
            result[a * n_items : (a + 1) * n_items, b * n_items : (b + 1) * n_items] = block
    for j, (p, effect, column) in enumerate(channels.columns):
        at = n_blocks * n_items + j
        along = np.matmul(channels.items, moments[0, p, :, :, effect, None])[:, :, 0] * column[:, None]
        for a in range(n_blocks):
            result[a * n_items : (a + 1) * n_items, at] = _by_item(design, along[:, a])
        result[at, : n_blocks * n_items] = result[: n_blocks * n_items, at]
        for i, (q, other, values) in enumerate(channels.columns):
            result[n_blocks * n_items + i, at] = (values * column) @ moments[q, p, :, other, effect]
    return result


def _in_coordinates(matrix: np.ndarray, space: Space) -> np.ndarray:
    """From the order of the channels, items uncentred, to that of the coordinates."""
    n_items, r, where = space.n_items, space.rank, space.slices
    blocks = (1 + r) * n_items
    rest = np.concatenate(
        [np.arange(s.start, s.stop) for s in (where[k] for k in ("sensitivity", "shared", "means", "sds"))]
    )
    order = np.concatenate(
        [np.arange(where["mu"].start, where["mu"].stop), np.arange(where["V"].start, where["V"].stop), rest]
    )

    def centred(rows: np.ndarray) -> np.ndarray:
        items = in_centred_basis(rows[:, :blocks].reshape(-1, n_items)).reshape(len(rows), -1)
        return np.hstack([items, rows[:, blocks:]])

    half = centred(centred(matrix).T).T
    result = np.zeros((space.n, space.n))
    result[np.ix_(order, order)] = 0.5 * (half + half.T)
    return result


def cluster_scores(
    design: Design, space: Space, at: Population, slopes: Gradients, code: np.ndarray, n_clusters: int
) -> np.ndarray:
    """Gradients by the coordinates of the cells of each cluster, shape (n_clusters, n)."""
    n_items, where = design.n_items, space.slices

    def by_item(values: np.ndarray) -> np.ndarray:
        cells = np.concatenate([code * n_items + design.first, code * n_items + design.second])
        total = np.bincount(cells, np.concatenate([values, -values]), n_clusters * n_items)
        return in_centred_basis(total.reshape(n_clusters, n_items))

    result = np.zeros((n_clusters, space.n))
    base, loading = slopes
    result[:, where["mu"]] = by_item(base[0] + at.sensitivity * loading[0, :, 0])
    for d in range(space.rank):
        start = where["V"].start + d * (n_items - 1)
        result[:, start : start + n_items - 1] = by_item(loading[0, :, 1 + d])
    gap = at.mu[design.first] - at.mu[design.second]
    columns = [(where["sensitivity"].start, gap * loading[0, :, 0])]
    for t, m in enumerate(design.terms.shared_moves):
        columns.append((where["shared"].start + t, design.shared_terms[:, t] * base[m]))
    for t, m in enumerate(design.terms.own_moves):
        columns.append((where["means"].start + t, design.judge_terms[:, t] * base[m]))
        columns.append((where["sds"].start + t, design.judge_terms[:, t] * loading[m, :, 1 + space.rank + t]))
    if space.has_taste:
        columns.append((where["taste"].start, _by_taste(design, loading)))
    for position, values in columns:
        result[:, position] = np.bincount(code, values, n_clusters)
    return result


def _by_coordinates(design: Design, space: Space, at: Population, slopes: Gradients) -> np.ndarray:
    """Gradient by the coordinates of one by base and loading of the cells."""
    return space.gradient(parts_of_gradient(design, at, slopes))


def parts_of_gradient(design: Design, at: Population, slopes: Gradients) -> Population:
    """Gradient by the parts of a population of one by base and loading of the cells."""
    base, loading = slopes
    r, terms = at.rank, design.terms
    gap = at.mu[design.first] - at.mu[design.second]
    V = [_by_item(design, loading[0, :, 1 + d]) for d in range(r)]
    return Population(
        _by_item(design, base[0] + at.sensitivity * loading[0, :, 0]),
        np.array(V).reshape(r, design.n_items).T,
        float(gap @ loading[0, :, 0]),
        np.array([base[m] @ design.shared_terms[:, t] for t, m in enumerate(terms.shared_moves)]),
        np.array([base[m] @ design.judge_terms[:, t] for t, m in enumerate(terms.own_moves)]),
        np.array([loading[m, :, 1 + r + t] @ design.judge_terms[:, t] for t, m in enumerate(terms.own_moves)]),
        None if at.taste is None else float(_by_taste(design, loading).sum()),
    )


def _by_taste(design: Design, loading: np.ndarray) -> np.ndarray:
    """Gradient of every cell by the standard deviation of taste."""
    basis = centred_basis(design.n_items)
    own = loading[0, :, -basis.shape[1] :]
    return np.einsum("cd,cd->c", own, basis[design.first] - basis[design.second])


def _by_item(design: Design, values: np.ndarray) -> np.ndarray:
    """Sums over the cells of an item, with opposite signs for first and second."""
    n = design.n_items
    return np.bincount(design.first, values, n) - np.bincount(design.second, values, n)


def _laplacian(design: Design, weight: np.ndarray) -> np.ndarray:
    n = design.n_items
    pairs = np.bincount(design.first * n + design.second, weight, n * n).reshape(n, n)
    pairs = pairs + pairs.T
    return np.diag(pairs.sum(axis=0)) - pairs


def own_predictors(at: np.ndarray) -> np.ndarray | None:
    """What the response takes besides log-odds, of predictors (p, n); None if nothing."""
    return None if len(at) == 1 else at[1:]


def _slopes(here: Derivatives) -> np.ndarray:
    """Slopes of the log-likelihood by all predictors, shape (p, ..., n_cells)."""
    if here.own_slope is None:
        return -here.slope[None]
    return -np.concatenate([here.slope[None], np.moveaxis(here.own_slope, -2, 0)])


def _curvatures(here: Derivatives) -> np.ndarray:
    """Curvatures of the negative log-likelihood by all predictors, shape (p, p, ..., n_cells)."""
    if here.own_curvature is None or here.cross is None:
        return here.curvature[None, None]
    cross, own = np.moveaxis(here.cross, -2, 0), np.moveaxis(here.own_curvature, (-3, -2), (0, 1))
    top = np.concatenate([here.curvature[None], cross])
    below = np.concatenate([cross[:, None], own], axis=1)
    return np.concatenate([top[None], below])


def times(loading: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Loadings (p, n, d) times effects (n, d)."""
    return np.einsum("prd,rd->pr", loading, z)


def _weighted(loading: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Loadings (p, n, d) times slopes (p, n), summed over predictors, shape (n, d)."""
    return np.einsum("prd,pr->rd", loading, slopes)


def _through(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return np.matmul(matrices, vectors[:, :, None])[:, :, 0]
