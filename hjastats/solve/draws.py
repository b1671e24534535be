"""The likelihood of judges with tastes of their own without approximation but that of draws: importance sampling.

Draws come from the normal approximation of expectation propagation, each with its mirror image, and are weighted by what the
verdicts say. The gradient is the weighted mean of the complete one (Fisher's identity), the information its curvature less the
variance of the slopes (Louis').
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from .. import limits
from ..model.design import Design
from ..model.population import Population, Space
from ..model.tangent import centred_basis
from .propagation import Normal, Part, Propagated

_SEED = 22
# Some draws come from a wider normal, so that no weight is large where the effects of a judge are skewed (defensive importance
# sampling, Hesterberg 1995): which share, and how many times its variance.
_WIDE_SHARE = 0.25
_WIDE = 2.0


class Drawn(NamedTuple):
    """What draws say of a population.

    Attributes
    ----------
    loglike : float
    error : float
        Its Monte-Carlo standard error.
    effective : ndarray, shape (n_judges,)
        Number of equally weighted draws worth as much.
    gradient, information : ndarray, shapes (n,), (n, n)
        By the coordinates.
    """

    loglike: float
    error: float
    effective: np.ndarray
    gradient: np.ndarray
    information: np.ndarray


class TasteMarginal(Propagated):
    """The marginal likelihood of one design, whose judges have tastes of their own: approximate, and by draws.

    Examples
    --------
    >>> import hjastats as hja
    >>> design = hja.PopulationHJAModel.from_comparisons(hja.datasets.load_panel()).design
    >>> marginal = TasteMarginal(design, Space.of(design, 0, has_taste=True), 512)
    >>> at = np.full(marginal.space.n, 0.3)
    >>> bool(abs(marginal.drawn(at).loglike - marginal.value(at)[0]) < 0.2)
    True
    """

    def of(self, design: Design) -> TasteMarginal:
        """The same likelihood of other cells."""
        return TasteMarginal(design, self.space, self.n_nodes, self.is_free, self.first_judge)

    def drawn(self, values: np.ndarray) -> Drawn:
        """Weighted draws of the effects of every judge; always the same ones for a judge, so that results repeat."""
        at, n, n_draws = self.space.unpack(values), self.space.n, self.n_nodes
        loglike, variance, effective = 0.0, 0.0, np.zeros(self.design.n_judges)
        gradient, information = np.zeros(n), np.zeros((n, n))
        for part, base, loading, normal in self.each(at):
            some = max(limits.NODES_AT_ONCE // (n_draws * max(part.n.shape[1], n)), 1)
            for first in range(0, len(part.judges), some):
                piece = slice(first, first + some)
                own, here = Part(*(array[piece] for array in part)), Normal(*(array[piece] for array in normal))
                seen = _Piece(self, at, own, base[piece], loading[piece], here)
                loglike += float(seen.loglike.sum())
                effective[own.judges] = seen.effective
                # Of the log of a mean of weights, by the delta method.
                variance += float((1.0 / seen.effective - 1.0 / n_draws).sum())
                more = seen.gradient_and_information()
                gradient += more[0]
                information += more[1]
        return Drawn(loglike, float(np.sqrt(max(variance, 0.0))), effective, gradient, information)


class _Piece:
    """Draws of some judges: effects (k, q, d), weights (k, q), and how the parameters move their linear forms."""

    def __init__(
        self,
        marginal: Propagated,
        at: Population,
        part: Part,
        base: np.ndarray,
        loading: np.ndarray,
        normal: Normal,
    ) -> None:
        self.space, self.at, n_draws = marginal.space, at, marginal.n_nodes
        root = np.linalg.cholesky(normal.covariance)
        x = np.stack([_mirrored(marginal.first_judge + int(k), n_draws, root.shape[1]) for k in part.judges])
        self.z = normal.mean[:, None] + np.matmul(x, root.transpose(0, 2, 1))
        eta = base[:, None] + np.matmul(self.z, loading.transpose(0, 2, 1))
        stacked = eta.transpose(1, 0, 2)
        log = marginal.verdicts(part, stacked).sum(axis=2).T - 0.5 * np.square(self.z).sum(axis=2) - _log_density(x)
        total = logsumexp(log, axis=1)
        self.loglike = total - np.log(n_draws) + np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        self.weight = np.exp(log - total[:, None])
        self.effective = 1.0 / np.square(self.weight).sum(axis=1)
        here = marginal.derivatives(part, stacked)
        self.slope, self.curvature = -here[0].transpose(1, 0, 2), here[1].transpose(1, 0, 2)
        self._moves(marginal.design, part)

    def _moves(self, design: Design, part: Part) -> None:
        """Item vectors of the cells (k, m, n_items - 1), what they are multiplied by, and scalar movements (k, q, m, j)."""
        space, at, z, r = self.space, self.at, self.z, self.at.rank
        basis, where, there = centred_basis(design.n_items), self.space.slices, part.is_there[:, :, None]
        self.items = (basis[design.first[part.cells]] - basis[design.second[part.cells]]) * there
        self.multiples = np.concatenate([1.0 + at.sensitivity * z[:, :, :1], z[:, :, 1 : 1 + r]], axis=2)
        gap = self.items @ (basis.T @ at.mu)
        shared, own = design.shared_terms[part.cells] * there, design.judge_terms[part.cells] * there
        effects = z[:, :, None, 1 + r : 1 + r + own.shape[2]]
        taste = np.matmul(z[:, :, z.shape[2] - basis.shape[1] :], self.items.transpose(0, 2, 1))
        shape = (*taste.shape, -1)
        parts = {
            "sensitivity": gap[:, None, :, None] * z[:, :, None, :1],
            "shared": np.broadcast_to(shared[:, None], (*taste.shape, shared.shape[2])),
            "means": np.broadcast_to(own[:, None], (*taste.shape, own.shape[2])),
            "sds": own[:, None] * effects,
            "taste": taste[..., None],
        }
        self.scalars = np.concatenate([value.reshape(shape) for value in parts.values() if value.size], axis=3)
        self.places = np.concatenate([np.arange(where[name].start, where[name].stop) for name in parts])
        starts = [where["mu"].start, *(where["V"].start + d * (space.n_items - 1) for d in range(r))]
        self.blocks = [slice(start, start + space.n_items - 1) for start in starts]

    def _scores(self) -> np.ndarray:
        """Gradients of the judges' log-likelihoods at the draws, shape (k, q, n)."""
        result = np.empty((*self.weight.shape, self.space.n))
        by_item = np.matmul(self.slope, self.items)
        for a, block in enumerate(self.blocks):
            result[:, :, block] = by_item * self.multiples[:, :, a, None]
        result[:, :, self.places] = np.einsum("kqm,kqmj->kqj", self.slope, self.scalars)
        return result

    def gradient_and_information(self) -> tuple[np.ndarray, np.ndarray]:
        """Weighted mean of the slopes; expected curvature less their variance."""
        scores = self._scores()
        mean = np.matmul(self.weight[:, None], scores)
        scores = ((scores - mean) * np.sqrt(self.weight)[:, :, None]).reshape(-1, self.space.n)
        return mean.sum(axis=(0, 1)), self._complete() - scores.T @ scores

    def _complete(self) -> np.ndarray:
        weight, n_blocks = self.weight[:, :, None], len(self.blocks)
        shape = (*self.slope.shape, n_blocks)
        factors = np.concatenate([np.broadcast_to(self.multiples[:, :, None], shape), self.scalars], axis=3)
        turned = factors.transpose(0, 2, 3, 1)
        moments = np.matmul(turned, ((self.curvature * weight)[..., None] * factors).transpose(0, 2, 1, 3))
        items, moments = self.items.reshape(-1, self.items.shape[2]), moments.reshape(-1, *moments.shape[2:])
        result = np.zeros((self.space.n, self.space.n))
        for a, block in enumerate(self.blocks):
            for b, other in enumerate(self.blocks):
                result[block, other] = items.T @ (moments[:, a, b, None] * items)
            result[block, self.places] = items.T @ moments[:, a, n_blocks:]
            result[self.places, block] = result[block, self.places].T
        result[np.ix_(self.places, self.places)] = moments[:, n_blocks:, n_blocks:].sum(axis=0)
        # Sensitivity times consensus is the one product of two parameters.
        cross = (self.slope * weight * self.z[:, :, :1]).sum(axis=1).ravel() @ items
        sensitivity = self.space.slices["sensitivity"].start
        result[self.blocks[0], sensitivity] -= cross
        result[sensitivity, self.blocks[0]] -= cross
        return result


def _mirrored(judge: int, n_draws: int, n_effects: int) -> np.ndarray:
    """Vectors of a judge (n_draws, n_effects), each with its mirror image: what is odd in them cancels."""
    half = np.random.default_rng([_SEED, judge]).standard_normal((n_draws // 2, n_effects))
    half[: round(_WIDE_SHARE * len(half))] *= np.sqrt(_WIDE)
    return np.vstack([half, -half])


def _log_density(x: np.ndarray) -> np.ndarray:
    """Log-density of the vectors, without the constant of a standard normal one."""
    square = np.square(x).sum(axis=-1)
    wide = np.log(_WIDE_SHARE) - 0.5 * square / _WIDE - 0.5 * x.shape[-1] * np.log(_WIDE)
    return np.logaddexp(np.log(1.0 - _WIDE_SHARE) - 0.5 * square, wide)
