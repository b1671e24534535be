"""The likelihood of judges who are a sample and have tastes of their own: integrated out by expectation propagation.

Individual taste is n_items - 1 more effects of a judge, too many for a grid. Every verdict is a function of one linear form
``eta = base + loading . z`` of the effects. It is replaced by ``exp(nu eta - tau eta^2 / 2)`` such that eta has the same mean
and variance as with the verdict itself in place of its own replacement (Minka 2001; Rasmussen and Williams 2006, section 3.6).
There the approximate likelihood is stationary in every nu and tau, so that its gradient by the parameters is that of a normal
integral. Judges are stacked; nothing loops over them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from .. import limits
from ..data.cells import take
from ..model.design import Design
from ..model.population import Population, Space, predictors
from .marginal import Gradients, cluster_scores, nodes, parts_of_gradient

# Change of a mean, in standard deviations, and of the log of a variance, at which a fixed point is found.
_SETTLED = 1e-9
# Steps of the differences of the gradient that make the information.
_STEP = 1e-3
# Share of the complete information in a first metric.
_COMPLETE = 0.02
# Variance of a linear form below which it is a number: a verdict that is not there, or judges who are all alike.
_NO_VARIANCE = 1e-10


class Part(NamedTuple):
    """Some judges, each with a row of cells that is filled up with empty ones; shapes (k, m)."""

    judges: np.ndarray
    cells: np.ndarray
    is_there: np.ndarray
    n: np.ndarray
    y: np.ndarray
    counts: np.ndarray


class Normal(NamedTuple):
    """Normal approximations of some judges: log-likelihood (k,), mean (k, d) and covariance (k, d, d) of their effects."""

    loglike: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray


class Propagated:
    """The marginal likelihood of one design, whose judges have tastes of their own.

    Parameters
    ----------
    design : Design
        Cells in the order of the judges, with a response whose verdicts depend on log-odds alone.
    space : Space
    n_nodes : int
        Draws of each judge where the approximation is not enough.
    is_free : ndarray of bool, shape (n_effects,), optional
        Effects in which judges may differ; taste is one.
    first_judge : int
        Place of the first of these judges among all.
    """

    def __init__(
        self, design: Design, space: Space, n_nodes: int, is_free: np.ndarray | None = None, first_judge: int = 0
    ) -> None:
        self.design, self.space, self.n_nodes, self.first_judge = design, space, n_nodes, first_judge
        self.is_free = np.ones(space.n_effects, dtype=bool) if is_free is None else is_free
        self.n_latent = space.n_effects - 1 + space.n_items - 1
        x, log_weight = nodes(limits.SITE_NODES, 1)
        self._x, self._log_weight = x[:, 0], log_weight
        # nu and tau where they settled last.
        self.memory = np.zeros((2, len(design.n)))
        self._parts = [self._part(judges) for judges in self._pieces()]

    def _pieces(self) -> list[np.ndarray]:
        """Judges in pieces that fit in memory, those with as many cells together."""
        sizes = np.bincount(self.design.judge, minlength=self.design.n_judges)
        order = np.argsort(sizes, kind="stable")
        each = np.maximum(sizes[order] * (self.n_latent + limits.SITE_NODES), self.n_latent**2)
        ends = np.searchsorted(
            np.cumsum(each), np.arange(1, each.sum() // limits.NODES_AT_ONCE + 1) * limits.NODES_AT_ONCE
        )
        return [piece for piece in np.split(order, np.unique(ends)) if len(piece)]

    def _part(self, judges: np.ndarray) -> Part:
        design = self.design
        sizes = np.bincount(design.judge, minlength=design.n_judges)
        starts = np.cumsum(sizes) - sizes
        along = np.arange(sizes[judges].max(initial=1))
        is_there = along < sizes[judges][:, None]
        cells = np.where(is_there, starts[judges][:, None] + along, 0)
        counts = np.where(is_there[:, :, None], design.counts[cells], 0.0)
        return Part(judges, cells, is_there, design.n[cells] * is_there, design.y[cells] * is_there, counts)

    # Some judges

    def _settle(self, part: Part, base: np.ndarray, loading: np.ndarray) -> Normal:
        """Rounds in which all replacements are matched at once, until nothing changes."""
        nu, tau = self.memory[:, part.cells] * part.is_there
        share, before = 1.0, np.inf
        for _ in range(limits.SITE_ROUNDS):
            normal, middle, spread = self._normal(base, loading, nu, tau)
            total, mean, variance = self._tilted(part, nu, tau, middle, spread)
            moved, shrunk = mean - middle, np.log(variance / spread)
            change = max(np.abs(moved / np.sqrt(spread)).max(initial=0.0), np.abs(shrunk).max(initial=0.0))
            if change < _SETTLED:
                break
            if change > before:
                share = max(0.5 * share, 0.1)
            before = change
            more = -np.expm1(shrunk) / variance
            nu = nu + share * (moved / variance + middle * more)
            tau = tau + share * more
        self.memory[:, part.cells[part.is_there]] = nu[part.is_there], tau[part.is_there]
        return normal._replace(loglike=normal.loglike + total.sum(axis=1))

    def _normal(
        self, base: np.ndarray, loading: np.ndarray, nu: np.ndarray, tau: np.ndarray
    ) -> tuple[Normal, np.ndarray, np.ndarray]:
        """The normal integral with replacements, and means and variances of the linear forms under it."""
        turned = loading.transpose(0, 2, 1)
        precision = np.matmul(turned, tau[:, :, None] * loading)
        diagonal = np.arange(self.n_latent)
        precision[:, diagonal, diagonal] += 1.0
        covariance = np.linalg.inv(precision)
        pull = np.matmul(turned, (nu - tau * base)[:, :, None])
        mean = np.matmul(covariance, pull)
        loglike = (nu * base - 0.5 * tau * base**2).sum(axis=1) + 0.5 * (pull * mean).sum(axis=(1, 2))
        loglike -= 0.5 * np.linalg.slogdet(precision)[1]
        middle = base + np.matmul(loading, mean)[:, :, 0]
        spread = np.einsum("kmd,kmd->km", np.matmul(loading, covariance), loading)
        return Normal(loglike, mean[:, :, 0], covariance), middle, np.maximum(spread, _NO_VARIANCE)

    def _tilted(
        self, part: Part, nu: np.ndarray, tau: np.ndarray, middle: np.ndarray, spread: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Log of the mean of verdict over replacement, and mean and variance of the linear form with the verdict itself."""
        eta = middle + np.sqrt(spread) * self._x[:, None, None]
        verdict = self.verdicts(part, eta)
        log = verdict - eta * (nu - 0.5 * tau * eta) + self._log_weight[:, None, None]
        total = logsumexp(log, axis=0)
        weight = np.exp(log - total)
        away = eta - middle
        moved = (weight * away).sum(axis=0)
        return total, middle + moved, np.maximum((weight * away**2).sum(axis=0) - moved**2, 1e-3 * spread)

    def verdicts(self, part: Part, eta: np.ndarray) -> np.ndarray:
        """Log-likelihood of every cell at linear forms (q, k, m)."""
        flat = eta.reshape(len(eta), -1)
        return self.design.response.loglike(flat, None, *_flat(part)).reshape(eta.shape)

    def slopes(self, part: Part, eta: np.ndarray) -> np.ndarray:
        """Its derivative, (q, k, m)."""
        here = self.design.response.derivatives(eta.reshape(len(eta), -1), None, *_flat(part))
        return -here.slope.reshape(eta.shape)

    def each(self, at: Population) -> list[tuple[Part, np.ndarray, np.ndarray, Normal]]:
        """Pieces with base, loading and normal approximation."""
        base, loading = predictors(self.design, at)
        result = []
        for part in self._parts:
            own, own_loading = base[0][part.cells], loading[0][part.cells] * part.is_there[:, :, None]
            result.append((part, own, own_loading, self._settle(part, own, own_loading)))
        return result

    # All judges

    def _all(self, values: np.ndarray) -> tuple[np.ndarray, Gradients]:
        """Log-likelihood of every judge, and derivatives by base and loading of every cell."""
        loglike = np.zeros(self.design.n_judges)
        by_base, by_loading = np.zeros((1, len(self.design.n))), np.zeros((1, len(self.design.n), self.n_latent))
        for part, base, loading, normal in self.each(self.space.unpack(values)):
            loglike[part.judges] = normal.loglike
            nu, tau = self.memory[:, part.cells]
            slope = nu - tau * (base + np.matmul(loading, normal.mean[:, :, None])[:, :, 0])
            along = slope[:, :, None] * normal.mean[:, None] - tau[:, :, None] * np.matmul(loading, normal.covariance)
            by_base[0, part.cells[part.is_there]] = slope[part.is_there]
            by_loading[0, part.cells[part.is_there]] = along[part.is_there]
        return loglike, Gradients(by_base, by_loading)

    def value(self, values: np.ndarray) -> tuple[float, np.ndarray]:
        """Log-likelihood at some coordinates, and its gradient by them."""
        loglike, slopes = self._all(values)
        gradient = self.space.gradient(parts_of_gradient(self.design, self.space.unpack(values), slopes))
        return float(loglike.sum()), gradient

    def loglike(self, values: np.ndarray) -> np.ndarray:
        """Log-likelihood of every judge."""
        return self._all(values)[0]

    def rows(self, values: np.ndarray) -> Gradients:
        """Derivatives by base and loading of every cell."""
        return self._all(values)[1]

    def posterior(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means (n_judges, n_latent) and covariances of the effects given the verdicts."""
        means = np.zeros((self.design.n_judges, self.n_latent))
        covariances = np.zeros((*means.shape, self.n_latent))
        for part, _, _, normal in self.each(self.space.unpack(values)):
            means[part.judges], covariances[part.judges] = normal.mean, normal.covariance
        return means, covariances

    def average(
        self, values: np.ndarray, rows: Design, judges: np.ndarray, summarise: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """What is expected of rows of some judges (their positions), given their verdicts; of functions of the predictors."""
        base, loading = predictors(rows, self.space.unpack(values))
        means, covariances = self.posterior(values)
        middle = base[0] + np.einsum("rd,rd->r", loading[0], means[judges])
        spread = np.sqrt(np.einsum("rd,rde,re->r", loading[0], covariances[judges], loading[0], optimize=True))
        weights = np.exp(self._log_weight)
        return np.asarray(
            sum(w * summarise((middle + spread * x)[None]) for x, w in zip(self._x, weights, strict=True))
        )

    def of(self, design: Design) -> Propagated:
        """The same likelihood of other cells."""
        return Propagated(design, self.space, self.n_nodes, self.is_free, self.first_judge)

    def complete_information(self, values: np.ndarray) -> np.ndarray:
        """A first metric of the search: outer products of judges' gradients, and a little of the information if effects were seen.

        The latter is there for what few judges leave open; it is much more than there is.
        """
        design, at = self.design, self.space.unpack(values)
        by_judge = cluster_scores(design, self.space, at, self.rows(values), design.judge, design.n_judges)
        result, means = by_judge.T @ by_judge, self.posterior(values)[0]
        at_once = max(limits.NODES_AT_ONCE // self.n_latent, 1)
        for first in range(0, len(design.n), at_once):
            rows = take(design, np.arange(first, min(first + at_once, len(design.n))))
            moves = np.array([self._along(rows, means, values, unit) for unit in np.eye(len(values))])
            result += _COMPLETE * (moves * self.memory[1, first : first + at_once]) @ moves.T
        return result

    def information(self, values: np.ndarray) -> np.ndarray:
        """Observed information, by differences of the exact gradient."""
        columns = [
            (self.value(values - _STEP * unit)[1] - self.value(values + _STEP * unit)[1]) / (2.0 * _STEP)
            for unit in np.eye(len(values))
        ]
        return 0.5 * (np.array(columns) + np.array(columns).T)

    def _along(self, rows: Design, means: np.ndarray, values: np.ndarray, unit: np.ndarray) -> np.ndarray:
        """Derivative of the linear forms by a coordinate: of a quadratic function, whose differences are exact."""
        ends = []
        for side in (0.5, -0.5):
            base, loading = predictors(rows, self.space.unpack(values + side * unit))
            ends.append(base[0] + np.einsum("rd,rd->r", loading[0], means[rows.judge]))
        return ends[0] - ends[1]


def _flat(part: Part) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return part.n.ravel(), part.y.ravel(), part.counts.reshape(part.n.size, -1)
