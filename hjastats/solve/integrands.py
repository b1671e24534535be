"""What one judge's verdicts say of its effects: the integrands of the marginal likelihood, their modes, and nodes around them.

For judge k that is ``exp(f(z)) phi(z)`` of its effects z, where f is the log-likelihood of its verdicts. Judges are stacked;
nothing loops over them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .. import limits
from ..data.cells import take
from ..model.design import Design
from ..model.population import Population, predictors
from ..model.response import Derivatives

# Movement of a mode, in standard deviations of an effect, below which it is found: the step that told so is still taken, and
# steps are quadratic.
_AT_MODE = 1e-7


class Part(NamedTuple):
    """Some judges with their cells, which are in the order of the judges."""

    design: Design
    judges: slice
    judge: np.ndarray
    starts: np.ndarray

    def by_judge(self, values: np.ndarray, axis: int = -1) -> np.ndarray:
        """Sums over the cells of each judge."""
        return np.add.reduceat(values, self.starts, axis=axis)

    def of_cells(self, values: np.ndarray, axis: int = 0) -> np.ndarray:
        """What belongs to each judge, at its cells."""
        return values.take(self.judge, axis=axis)


def parts_of(design: Design, n_nodes: int) -> Iterator[Part]:
    """The judges in pieces whose nodes, so many for each judge, fit in memory."""
    ends = np.cumsum(np.bincount(design.judge, minlength=design.n_judges))
    at_once = max(limits.NODES_AT_ONCE // (n_nodes * (1 + len(design.response.parameters))), 1)
    first = 0
    while first < design.n_judges:
        begin = ends[first - 1] if first else 0
        last = max(int(np.searchsorted(ends, begin + at_once, side="right")), first + 1)
        cells = np.arange(begin, ends[last - 1])
        starts = np.concatenate([[0], ends[first : last - 1] - begin]).astype(int)
        yield Part(take(design, cells), slice(first, last), design.judge[cells] - first, starts)
        first = last


@dataclass(frozen=True)
class Around:
    """The integrands of some judges around their modes.

    Attributes
    ----------
    part : Part
    base, loading : ndarray, shapes (p, n_cells), (p, n_cells, d)
    mode : ndarray, shape (k, d)
    root : ndarray, shape (k, d, d)
        C, with ``C C'`` the inverse of the curvature at the mode.
    here : Derivatives
        Of the cells at the modes.
    x : ndarray, shape (q, d)
        Nodes of a standard normal vector: those of a judge are ``mode + C x``.
    posterior : ndarray, shape (q, k)
        Weights of the nodes.
    at_nodes : ndarray, shape (p, q, n_cells)
        Predictors.
    loglike : ndarray, shape (k,)
    """

    part: Part
    base: np.ndarray
    loading: np.ndarray
    mode: np.ndarray
    root: np.ndarray
    here: Derivatives
    x: np.ndarray
    posterior: np.ndarray
    at_nodes: np.ndarray
    loglike: np.ndarray

    def nodes(self, judges: slice) -> np.ndarray:
        """Nodes of some of the judges, shape (k, q, d)."""
        return self.mode[judges, None] + self.x @ self.root[judges].transpose(0, 2, 1)

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Means (k, d) and second moments (k, d, d) of x, with the weights of the nodes."""
        d = self.x.shape[1]
        products = (self.x[:, :, None] * self.x[:, None]).reshape(len(self.x), -1)
        return self.posterior.T @ self.x, (self.posterior.T @ products).reshape(self.posterior.shape[1], d, d)

    @cached_property
    def there(self) -> Derivatives:
        """Of the cells at the nodes."""
        design, at = self.part.design, self.at_nodes
        own = None if len(at) == 1 else np.moveaxis(at[1:], 0, 1)
        return design.response.derivatives(at[0], own, design.n, design.y, design.counts)


def around_modes(
    part: Part, at: Population, is_free: np.ndarray, x: np.ndarray, log_weight: np.ndarray, near: np.ndarray
) -> Around:
    """The integrands of some judges around their modes, which are looked for from somewhere near (k, d)."""
    design, response = part.design, part.design.response
    base, loading = predictors(design, at)
    if not is_free.all():
        loading = loading[:, :, is_free]
    mode, here, curvature = _find_modes(part, base, loading, near)
    root = np.linalg.cholesky(np.linalg.inv(curvature))
    hat = base + times(loading, part.of_cells(mode))
    spread = np.einsum("prd,rde->pre", loading, part.of_cells(root))
    at_nodes = hat[:, None] + x @ spread.transpose(0, 2, 1)
    cells = response.loglike(at_nodes[0], own_predictors(at_nodes), design.n, design.y, design.counts)
    z = mode[:, None] + x @ root.transpose(0, 2, 1)
    joint = part.by_judge(cells) - 0.5 * np.square(z).sum(axis=2).T
    joint += (log_weight + 0.5 * np.square(x).sum(axis=1))[:, None]
    highest = joint.max(axis=0)
    posterior = np.exp(joint - highest)
    total = posterior.sum(axis=0)
    loglike = highest + np.log(total) + np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    return Around(part, base, loading, mode, root, here, x, posterior / total, at_nodes, loglike)


def _find_modes(
    part: Part, base: np.ndarray, loading: np.ndarray, near: np.ndarray
) -> tuple[np.ndarray, Derivatives, np.ndarray]:
    """Modes (k, d), cells and curvatures (k, d, d) there, by Newton steps of all judges at once.

    Third derivatives along a step h are at most ``t = reach |h|`` times second ones. A step times ``log(1 + t) / t`` therefore
    never leads downwards, nor does a whole one with t below one (Sun and Tran-Dinh 2019, self-concordant functions of order 2).
    """
    bend = part.design.response.bend
    assert bend is not None
    reach = bend * np.sqrt(np.maximum.reduceat(np.square(loading).sum(axis=(0, 2)), part.starts))
    mode = near
    for _ in range(limits.MODE_STEPS):
        here, curvature = _at(part, base, loading, mode)
        slope = part.by_judge(_weighted(loading, slopes_of(here)), axis=0) - mode
        step = np.linalg.solve(curvature, slope[:, :, None])[:, :, 0]
        t = reach * np.sqrt(np.square(step).sum(axis=1))
        mode = mode + np.divide(np.log1p(t), t, out=np.ones_like(t), where=t > 1)[:, None] * step
        if np.abs(step).max(initial=0.0) < _AT_MODE:
            break
    return mode, *_at(part, base, loading, mode)


def _at(part: Part, base: np.ndarray, loading: np.ndarray, z: np.ndarray) -> tuple[Derivatives, np.ndarray]:
    """Derivatives of the cells at some effects, and curvatures (k, d, d) of the integrands."""
    design, at = part.design, base + times(loading, part.of_cells(z))
    here = design.response.derivatives(at[0], own_predictors(at), design.n, design.y, design.counts)
    weighted = np.einsum("pqr,qrd->prd", curvatures_of(here), loading)
    products = np.einsum("prd,pre->rde", loading, weighted)
    return here, part.by_judge(products, axis=0) + np.eye(loading.shape[2])


def own_predictors(at: np.ndarray) -> np.ndarray | None:
    """What the response takes besides log-odds, of predictors (p, n); None if nothing."""
    return None if len(at) == 1 else at[1:]


def slopes_of(here: Derivatives) -> np.ndarray:
    """Slopes of the log-likelihood by all predictors, shape (p, ..., n_cells)."""
    if here.own_slope is None:
        return -here.slope[None]
    return -np.concatenate([here.slope[None], np.moveaxis(here.own_slope, -2, 0)])


def curvatures_of(here: Derivatives) -> np.ndarray:
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
