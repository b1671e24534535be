"""The likelihood of judges with tastes of their own without approximation but that of draws: importance sampling.

Draws come from the normal approximation of expectation propagation, each with its mirror image, and are weighted by what the
verdicts say. The gradient is the weighted mean of the complete one (Fisher's identity). The information is that of the
approximation: a difference of large numbers, which draws of judges with many verdicts would not tell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from .. import limits
from ..model.design import Design
from .marginal import Gradients, parts_of_gradient
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
    gradient : ndarray, shape (n,)
        By the coordinates.
    """

    loglike: float
    error: float
    effective: np.ndarray
    gradient: np.ndarray


class TasteMarginal(Propagated):
    """The marginal likelihood of one design, whose judges have tastes of their own: approximate, and by draws.

    Examples
    --------
    >>> import hjastats as hja
    >>> from hjastats.model.population import Space
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
        at, n_draws, n_cells = self.space.unpack(values), self.n_nodes, len(self.design.n)
        loglike, variance, effective = 0.0, 0.0, np.zeros(self.design.n_judges)
        slopes = Gradients(np.zeros((1, n_cells)), np.zeros((1, n_cells, self.n_latent)))
        for part, base, loading, normal in self.each(at):
            some = max(limits.NODES_AT_ONCE // (n_draws * max(part.n.shape[1], self.n_latent)), 1)
            for first in range(0, len(part.judges), some):
                piece = slice(first, first + some)
                own, here = Part(*(array[piece] for array in part)), Normal(*(array[piece] for array in normal))
                seen = _Piece(self, own, base[piece], loading[piece], here)
                loglike += float(seen.loglike.sum())
                effective[own.judges] = seen.effective
                # Of the log of a mean of weights, by the delta method.
                variance += float((1.0 / seen.effective - 1.0 / n_draws).sum())
                slopes.base[0, own.cells[own.is_there]] = seen.by_base[own.is_there]
                slopes.loading[0, own.cells[own.is_there]] = seen.by_loading[own.is_there]
        gradient = self.space.gradient(parts_of_gradient(self.design, at, slopes))
        return Drawn(loglike, float(np.sqrt(max(variance, 0.0))), effective, gradient)


class _Piece:
    """Draws of some judges: log-likelihoods (k,), worth (k,), and weighted means of derivatives by base and loading (k, m, ...)."""

    def __init__(self, marginal: Propagated, part: Part, base: np.ndarray, loading: np.ndarray, normal: Normal) -> None:
        root, n_draws = np.linalg.cholesky(normal.covariance), marginal.n_nodes
        x = np.stack([_mirrored(marginal.first_judge + int(k), n_draws, root.shape[1]) for k in part.judges])
        z = normal.mean[:, None] + np.matmul(x, root.transpose(0, 2, 1))
        eta = (base[:, None] + np.matmul(z, loading.transpose(0, 2, 1))).transpose(1, 0, 2)
        log = marginal.verdicts(part, eta).sum(axis=2).T - 0.5 * np.square(z).sum(axis=2) - _log_density(x)
        total = logsumexp(log, axis=1)
        weight = np.exp(log - total[:, None])
        self.loglike = total - np.log(n_draws) + np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        self.effective = 1.0 / np.square(weight).sum(axis=1)
        slopes = marginal.slopes(part, eta).transpose(1, 2, 0) * weight[:, None]
        self.by_base, self.by_loading = slopes.sum(axis=2), np.matmul(slopes, z)


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
