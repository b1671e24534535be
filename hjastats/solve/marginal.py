"""The likelihood of judges who are a sample: their effects integrated out by adaptive Gauss-Hermite quadrature.

For each judge ``log int exp(f(z)) phi(z) dz``, where f is the log-likelihood of its verdicts, with nodes at ``zhat + C x``: zhat
is the mode of the integrand and ``C C'`` the inverse of its curvature there (Pinheiro and Bates 1995). One node is Laplace's
method. Gradients are those of this very approximation: nodes move with the parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np

from ..model.design import Design
from ..model.population import Population, Space, predictors
from ..model.tangent import centred_basis, in_centred_basis
from .integrands import Around, Part, around_modes, curvatures_of, parts_of, slopes_of, times
from .louis import by_item, complete_and_missing, told_of_effects

# Of the differences of the gradient that make the information of Laplace's method; they are right to as many digits.
_STEP = 1e-5


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


class Gradients(NamedTuple):
    """Derivatives of the log-likelihood by what moves the cells: shapes (p, n_cells) and (p, n_cells, d)."""

    base: np.ndarray
    loading: np.ndarray


class Curved(NamedTuple):
    """A log-likelihood with its gradient, the information if effects had been seen, and how much of it is missing."""

    loglike: float
    gradient: np.ndarray
    complete: np.ndarray
    missing: np.ndarray

    @property
    def information(self) -> np.ndarray:
        """Observed (Louis 1982)."""
        return self.complete - self.missing


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
        self.memory = np.zeros((design.n_judges, int(self.is_free.sum())))
        self.x, self.log_weight = nodes(n_nodes, int(self.is_free.sum()))

    @cached_property
    def parts(self) -> list[Part]:
        """The judges in pieces that fit in memory."""
        return list(parts_of(self.design, len(self.x)))

    def _around(self, part: Part, at: Population) -> Around:
        """The integrands of a piece around their modes, which are remembered: next time they are near."""
        around = around_modes(part, at, self.is_free, self.x, self.log_weight, self.memory[part.judges])
        self.memory[part.judges] = around.mode
        return around

    def _gradients(self, around: Around, *, exact: bool = True) -> Gradients:
        """By base and loading of each cell: expected slopes over the nodes, and what the nodes' own movement adds."""
        part = around.part
        slopes = slopes_of(around.there) * part.of_cells(around.posterior, axis=1)
        mean, along = slopes.sum(axis=1), np.matmul(slopes.transpose(0, 2, 1), around.x)
        loading = mean[:, :, None] * part.of_cells(around.mode)
        loading += np.einsum("rde,pre->prd", part.of_cells(around.root), along)
        if exact:
            moved = _movement(around, mean, along)
            mean, loading = mean + moved.base, loading + moved.loading
        if self.is_free.all():
            return Gradients(mean, loading)
        spread = np.zeros((*loading.shape[:2], len(self.is_free)))
        spread[:, :, self.is_free] = loading
        return Gradients(mean, spread)

    # All judges

    def value(self, values: np.ndarray) -> tuple[float, np.ndarray]:
        """Log-likelihood at some coordinates, and its gradient by them."""
        at, total, gradient = self.space.unpack(values), 0.0, np.zeros(self.space.n)
        for part in self.parts:
            around = self._around(part, at)
            total += float(around.loglike.sum())
            gradient += self._gradient(around, at)
        return total, gradient

    def _gradient(self, around: Around, at: Population) -> np.ndarray:
        return self.space.gradient(parts_of_gradient(around.part.design, at, self._gradients(around)))

    def curved(self, values: np.ndarray) -> Curved:
        """Log-likelihood, gradient and information in one go."""
        at, n, total = self.space.unpack(values), self.space.n, 0.0
        gradient, complete, missing = np.zeros(n), np.zeros((n, n)), np.zeros((n, n))
        for part in self.parts:
            around = self._around(part, at)
            total += float(around.loglike.sum())
            gradient += self._gradient(around, at)
            whole, lost = complete_and_missing(around, self.space, at, self.is_free)
            complete += whole
            missing += lost
        return Curved(total, gradient, complete, missing)

    def loglike(self, values: np.ndarray) -> np.ndarray:
        """Log-likelihood of every judge."""
        at = self.space.unpack(values)
        return np.concatenate([self._around(part, at).loglike for part in self.parts])

    def rows(self, values: np.ndarray) -> Gradients:
        """Expected derivatives by base and loading of every cell given the verdicts of its judge (Fisher's identity)."""
        at = self.space.unpack(values)
        found = [self._gradients(self._around(part, at), exact=False) for part in self.parts]
        return Gradients(*(np.concatenate(some, axis=1) for some in zip(*found, strict=True)))

    def influences(self, values: np.ndarray, code: np.ndarray, n_clusters: int) -> np.ndarray:
        """Derivatives of the gradient by the weights of the cells of each cluster, shape (n_clusters, n).

        The expected gradient of the cells given the verdicts of their judge, and what they tell of its effects, which its other
        cells then have, too: the covariance of their log-likelihood with the gradient of all of them.
        """
        at, result, first = self.space.unpack(values), np.zeros((n_clusters, self.space.n)), 0
        for part in self.parts:
            around = self._around(part, at)
            own = code[first : first + len(part.judge)]
            expected = self._gradients(around, exact=False)
            result += cluster_scores(part.design, self.space, at, expected, own, n_clusters)
            result += told_of_effects(around, self.space, at, self.is_free, own, n_clusters)
            first += len(part.judge)
        return result

    def posterior(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means (n_judges, n_effects) and covariances of the effects given the verdicts; held effects are zero."""
        at, (n, d), free = (
            self.space.unpack(values),
            (self.design.n_judges, len(self.is_free)),
            np.flatnonzero(self.is_free),
        )
        means, covariances = np.zeros((n, d)), np.zeros((n, d, d))
        for part in self.parts:
            around = self._around(part, at)
            drawn, second = around.moments()
            root, judges = around.root, np.arange(n)[part.judges]
            inner = second - drawn[:, :, None] * drawn[:, None]
            means[judges[:, None], free] = around.mode + _through(root, drawn)
            covariances[judges[:, None, None], free[:, None], free] = root @ inner @ root.transpose(0, 2, 1)
        return means, covariances

    def draws(self, values: np.ndarray, judges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Nodes of some judges (m, q, n_effects) and their weights given the verdicts (m, q)."""
        at = self.space.unpack(values)
        z = np.zeros((self.design.n_judges, len(self.x), len(self.is_free)))
        weights = np.zeros(z.shape[:2])
        for part in self.parts:
            around = self._around(part, at)
            z[part.judges][:, :, self.is_free] = around.nodes(slice(None))
            weights[part.judges] = around.posterior.T
        return z[judges], weights[judges]

    def average(
        self, values: np.ndarray, rows: Design, judges: np.ndarray, summarise: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """Averages over the effects of some judges (their positions) given their verdicts, of functions of predictors (p, n)."""
        base, loading = predictors(rows, self.space.unpack(values))
        known, place = np.unique(judges, return_inverse=True)
        z, weights = self.draws(values, known)
        nodes = range(z.shape[1])
        return np.asarray(sum(weights[place, q] * summarise(base + times(loading, z[place, q])) for q in nodes))

    def of(self, design: Design) -> Marginal:
        """The same likelihood of other cells."""
        return Marginal(design, self.space.rank, self.n_nodes, self.is_free)

    def information(self, values: np.ndarray) -> np.ndarray:
        """Observed information of the integral, which the quadrature approximates.

        With one node, differences of the exact gradient of Laplace's method.
        """
        if not self.is_laplace:
            return self.curved(values).information
        here, steps = self.value(values)[1], _STEP * np.eye(len(values))
        columns = np.array([here - self.value(values + step)[1] for step in steps]) / _STEP
        return 0.5 * (columns + columns.T)

    @property
    def is_laplace(self) -> bool:
        """Whether there is but one node, and something to integrate."""
        return self.n_nodes == 1 and bool(self.is_free.any())


def _movement(around: Around, mean: np.ndarray, along: np.ndarray) -> Gradients:
    """What the movement of modes and curvatures with the parameters adds to gradients; next to nothing with many nodes.

    The likelihood depends on the mode by ``slope`` and on the root by ``by_x``; both are functions of base and loading, of which
    K and v are the adjoints.
    """
    part, L, root, mode = around.part, around.loading, around.root, around.mode
    drawn, second = around.moments()
    d = root.shape[1]
    slope = part.by_judge(np.einsum("prd,pr->rd", L, mean), axis=0) - mode - _through(root, drawn)
    by_x = part.by_judge(np.einsum("prd,pre->rde", L, along), axis=0)
    by_x -= mode[:, :, None] * drawn[:, None] + np.matmul(root, second)
    A = np.matmul(root.transpose(0, 2, 1), by_x)
    lower = np.tril(A, -1)
    T = -0.5 * (lower + lower.transpose(0, 2, 1) + (np.einsum("kii->ki", A) + 1.0)[:, None] * np.eye(d))
    K = np.matmul(np.matmul(root, T), root.transpose(0, 2, 1))
    KL = np.einsum("prd,rde->pre", L, part.of_cells(K))
    W, design = curvatures_of(around.here), part.design
    third = design.response.third_derivatives(around.here, design.n, design.counts)
    bent = np.einsum("pqsr,pqr->sr", third, np.einsum("prd,qrd->pqr", L, KL))
    slope += part.by_judge(np.einsum("prd,pr->rd", L, bent), axis=0)
    v = part.of_cells(_through(np.matmul(root, root.transpose(0, 2, 1)), slope))
    moved = bent - np.einsum("pqr,pr->qr", W, times(L, v))
    bending = 2.0 * np.einsum("pqr,qrd->prd", W, KL) + slopes_of(around.here)[:, :, None] * v
    return Gradients(moved, moved[:, :, None] * part.of_cells(mode) + bending)


def cluster_scores(
    design: Design, space: Space, at: Population, slopes: Gradients, code: np.ndarray, n_clusters: int
) -> np.ndarray:
    """Gradients by the coordinates of the cells of each cluster, shape (n_clusters, n)."""
    n_items, where = design.n_items, space.slices

    def by_cluster(values: np.ndarray) -> np.ndarray:
        cells = np.concatenate([code * n_items + design.first, code * n_items + design.second])
        total = np.bincount(cells, np.concatenate([values, -values]), n_clusters * n_items)
        return in_centred_basis(total.reshape(n_clusters, n_items))

    result = np.zeros((n_clusters, space.n))
    base, loading = slopes
    result[:, where["mu"]] = by_cluster(base[0] + at.sensitivity * loading[0, :, 0])
    for d in range(space.rank):
        start = where["V"].start + d * (n_items - 1)
        result[:, start : start + n_items - 1] = by_cluster(loading[0, :, 1 + d])
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


def parts_of_gradient(design: Design, at: Population, slopes: Gradients) -> Population:
    """Gradient by the parts of a population of one by base and loading of the cells."""
    base, loading = slopes
    r, terms = at.rank, design.terms
    gap = at.mu[design.first] - at.mu[design.second]
    V = [by_item(design, loading[0, :, 1 + d]) for d in range(r)]
    return Population(
        by_item(design, base[0] + at.sensitivity * loading[0, :, 0]),
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


def _through(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Matrices (k, d, d) times vectors (..., k, d)."""
    return np.matmul(matrices, vectors[..., None])[..., 0]
