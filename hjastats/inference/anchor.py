"""Scores of few trusted verdicts, pulled towards scores of many others as far as these have proved to track them.

The structural model of Fay and Herriot (1979) with errors in the auxiliary scores (Ybarra and Lohr 2008), in an orthonormal basis
of the item vectors that sum to zero:

    direct = theta + e,  x_j = xi_j + e_j,  theta = sum_j b_j xi_j + v,  v ~ N(0, t^2 I),  xi ~ N(0, Sigma x I),

where (e, e_1, ...) have a joint covariance, since the same prompts may be behind all of them. Slopes b and the departure t are
integrated over, flat in b and in the standard deviation t: on the scale of log t this multiplies the likelihood by t, which keeps
its mode from zero, as the factors of Li and Lahiri (2010) and Yoshimori and Lahiri (2014) do. The covariance of theta is the mean
of its conditional covariances plus the covariance of its conditional means, which counts that b and t are estimated. ``Sigma`` is
a moment estimate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.optimize import minimize
from scipy.special import ndtri

from .. import limits
from ..model.tangent import from_centred_basis, in_centred_basis

# Steps of numerical second derivatives, and degrees of freedom of the draws.
_STEP, _DF = 1e-3, 5.0
# Draws of correlations.
_DRAWN = 256
# Departures that are tried for a start, in errors of the direct scores.
_STARTS = 2.0 ** np.arange(-5.0, 4.0)


@dataclass(frozen=True)
class Evidence:
    """Direct and auxiliary scores with their joint covariance, in an orthonormal basis of d = n_items - 1 contrasts.

    Attributes
    ----------
    direct : ndarray, shape (d,)
    auxiliary : ndarray, shape (p, d)
    direct_errors : ndarray, shape (d, d)
    auxiliary_errors : ndarray, shape (p d, p d)
    between : ndarray, shape (d, p d)
        Covariance of the errors of direct and auxiliary scores.
    """

    direct: np.ndarray
    auxiliary: np.ndarray
    direct_errors: np.ndarray
    auxiliary_errors: np.ndarray
    between: np.ndarray

    @classmethod
    def of_items(
        cls, direct: np.ndarray, direct_errors: np.ndarray, auxiliary: np.ndarray, *others: np.ndarray
    ) -> Evidence:
        """From scores of items (n_items,) and (p, n_items) with covariances of items; without ``between``, independent ones.

        Parameters
        ----------
        *others : ndarray
            ``auxiliary_errors`` (p n_items, p n_items) and, if there are any, ``between`` (n_items, p n_items).
        """
        p, n = auxiliary.shape
        to_contrasts = _for_each(p, n)
        between = in_centred_basis(others[1].T).T @ to_contrasts if len(others) > 1 else np.zeros((n - 1, p * (n - 1)))
        return cls(
            in_centred_basis(direct[None])[0],
            in_centred_basis(auxiliary),
            in_centred_basis(in_centred_basis(direct_errors).T),
            to_contrasts.T @ others[0] @ to_contrasts,
            between,
        )

    @cached_property
    def spread(self) -> np.ndarray:
        """Covariance of the p true auxiliary scores of an item, by moments and not below what chance could hide, shape (p, p)."""
        p, d = self.auxiliary.shape
        noise = np.einsum("jaka->jk", self.auxiliary_errors.reshape(p, d, p, d)) / d
        values, vectors = np.linalg.eigh(self.auxiliary @ self.auxiliary.T / d - noise)
        least = np.sqrt(2.0 / d) * max(float(np.linalg.eigvalsh(noise).max()), 1e-12)
        return (vectors * np.maximum(values, least)) @ vectors.T


def _for_each(p: int, n_items: int) -> np.ndarray:
    """The contrast basis for each of p auxiliary scores, shape (p n_items, p (n_items - 1))."""
    return np.kron(np.eye(p), in_centred_basis(np.eye(n_items)))


@dataclass(frozen=True)
class _Given:
    """The model given the auxiliary scores: what is known of xi, and of the error of the direct scores, at any (b, t)."""

    m: np.ndarray
    D: np.ndarray
    xi: np.ndarray
    R: np.ndarray
    X: np.ndarray

    @classmethod
    def of(cls, seen: Evidence) -> _Given:
        p, d = seen.auxiliary.shape
        prior = np.kron(seen.spread, np.eye(d))
        kept = np.linalg.solve(prior + seen.auxiliary_errors, np.hstack([prior, seen.between.T]))
        H, known = kept[:, : p * d].T, kept[:, p * d :].T
        x = seen.auxiliary.ravel()
        return cls(
            seen.direct - known @ x,
            seen.direct_errors - known @ seen.between.T,
            (H @ x).reshape(p, d),
            (prior - H @ prior).reshape(p, d, p, d).transpose(0, 2, 1, 3),
            -(H @ seen.between.T).reshape(p, d, d),
        )

    def at(self, phi: np.ndarray) -> _Here:
        """The model at n values of (b, log t), shape (n, p + 1)."""
        b, d = phi[:, :-1], len(self.m)
        t2 = np.exp(2.0 * phi[:, -1])[:, None, None] * np.eye(d)
        own = np.tensordot(b[:, :, None] * b[:, None], self.R, 2)
        crossed = np.tensordot(b, self.X, 1)
        return _Here(
            self.m - b @ self.xi, own, own + crossed, own + crossed + np.swapaxes(crossed, 1, 2) + self.D + t2, t2
        )

    def log_posterior(self, phi: np.ndarray) -> np.ndarray:
        """Logarithm of the posterior density of (b, log t), up to a constant, shape (n,)."""
        here = self.at(phi)
        root = np.linalg.cholesky(here.variance)
        scaled = np.linalg.solve(root, here.residual[..., None])[..., 0]
        loglike = -np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1) - 0.5 * np.square(scaled).sum(axis=1)
        return loglike + phi[:, -1]

    def in_parts(self, phi: np.ndarray) -> list[np.ndarray]:
        """Values of (b, log t), as many at a time as fit."""
        return np.array_split(phi, max(10 * len(phi) * len(self.m) ** 2 // limits.ENTRIES_AT_ONCE, 1))


class _Here(NamedTuple):
    """At n values of (b, log t): m less what is expected of it (n, d), and matrices (n, d, d) of the combination c = sum b xi.

    own: variance of c. with_error: covariance of c with m. variance: of m. t2: of v.
    """

    residual: np.ndarray
    own: np.ndarray
    with_error: np.ndarray
    variance: np.ndarray
    t2: np.ndarray

    def gains(self, covariance: np.ndarray) -> np.ndarray:
        """Regression on m of what has such covariances with it, shape (n, k, d)."""
        return np.swapaxes(np.linalg.solve(self.variance, np.swapaxes(covariance, 1, 2)), 1, 2)


@dataclass(frozen=True)
class Anchored:
    """Anchored scores, and what made them.

    Attributes
    ----------
    scores : ndarray, shape (n_items,)
    covariance : ndarray, shape (n_items, n_items)
    weights : ndarray, shape (n_items,)
        By how much a score moves with the target's own score: 1 where nothing else counts.
    seen : Evidence
    draws : ndarray, shape (n, p + 1)
        Values of the slopes b and of log t.
    chances : ndarray, shape (n,)
        Their weights in the average.
    """

    scores: np.ndarray
    covariance: np.ndarray
    weights: np.ndarray
    seen: Evidence
    draws: np.ndarray
    chances: np.ndarray

    @property
    def direct_covariance(self) -> np.ndarray:
        """Covariance of the target's own scores, shape (n_items, n_items)."""
        return _of_items(self.seen.direct_errors)

    @property
    def gain(self) -> float:
        """Mean variance of the differences of two items, of the direct scores over the anchored ones."""
        return float(np.trace(self.seen.direct_errors) / np.trace(self.covariance))

    @property
    def n_effective(self) -> float:
        """Draws that the average is worth."""
        return float(1.0 / np.square(self.chances).sum())

    @property
    def slope(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean (p,) and covariance (p, p) of b."""
        b = self.draws[:, :-1]
        mean = self.chances @ b
        return mean, (self.chances[:, None] * (b - mean)).T @ (b - mean)

    @property
    def departure(self) -> float:
        """Mean of t: by how much target and auxiliary scores differ per item beyond the errors."""
        return float(self.chances @ np.exp(self.draws[:, -1]))

    @cached_property
    def departures(self) -> tuple[np.ndarray, np.ndarray]:
        """How far the direct scores are from what the others say, with the covariance of that if only chance is behind it."""
        (mean, covariance), given = self.slope, _Given.of(self.seen)
        here = given.at(np.append(mean, -np.inf)[None])
        return from_centred_basis(here.residual)[0], _of_items(here.variance[0] + given.xi.T @ covariance @ given.xi)

    @cached_property
    def correlation(self) -> tuple[float, float, float]:
        """Of the target's true scores with the best combination of the others': median and limits of a 95% interval."""
        values = _correlations(_Given.of(self.seen), self.draws, self.chances)
        middle, low, high = np.quantile(values, [0.5, 0.025, 0.975])
        if self.draws.shape[1] == 2 and self.slope[0][0] < 0:
            # Of a single other, the sign is its slope's.
            middle, low, high = -middle, -high, -low
        return float(middle), float(low), float(high)


def anchored(seen: Evidence, *, seed: int = 0) -> Anchored:
    """Posterior mean and covariance of the target's scores.

    Parameters
    ----------
    seed : int
        Of the quasi-random values of (b, t) that are averaged over.

    Examples
    --------
    >>> few, many = np.array([1.3, -0.4, 0.2, 0.1, -1.2]), np.array([[1.0, 0.4, -0.2, 0.1, -1.3]])
    >>> found = anchored(Evidence.of_items(few, 0.3 * np.eye(5), many, 0.01 * np.eye(5)))
    >>> found.scores.round(1), bool(found.gain > 1)
    (array([ 1.1, -0. ,  0. ,  0.1, -1.2]), True)
    """
    given = _Given.of(seen)
    phi, weight = _draws(given, seed)
    d, means = len(given.m), []
    left, gain = np.zeros((2, d, d))
    for some, w in zip(given.in_parts(phi), given.in_parts(weight), strict=True):
        here = given.at(some)
        with_m = here.with_error + here.t2
        gains = here.gains(with_m)
        means.append(some[:, :-1] @ given.xi + (gains @ here.residual[..., None])[..., 0])
        left += np.tensordot(w, here.own + here.t2 - gains @ np.swapaxes(with_m, 1, 2), 1)
        gain += np.tensordot(w, gains, 1)
    theta = np.concatenate(means)
    mean = weight @ theta
    covariance = left + (weight[:, None] * (theta - mean)).T @ (theta - mean)
    n = d + 1
    weights = np.diag(from_centred_basis(from_centred_basis(gain).T)) * n / (n - 1.0)
    return Anchored(from_centred_basis(mean[None])[0], _of_items(covariance), weights, seen, phi, weight)


def _of_items(matrix: np.ndarray) -> np.ndarray:
    return from_centred_basis(from_centred_basis(0.5 * (matrix + matrix.T)).T)


def _draws(given: _Given, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Values of (b, log t) with weights that sum to one: from a t distribution about the mode, corrected by importance."""

    def objective(phi: np.ndarray) -> float:
        return -float(given.log_posterior(phi[None])[0])

    best = minimize(objective, _start(given), method="Nelder-Mead", options={"xatol": 1e-3, "fatol": 1e-4}).x
    values, vectors = np.linalg.eigh(_second_derivatives(objective, best))
    # A direction without curvature gets the width that is plausible for the logarithm of a standard deviation.
    root, n_phi = vectors / np.sqrt(np.maximum(values, 0.25)), len(best)
    n = int(np.clip(limits.ANCHOR_WORK // len(given.m) ** 3, 64, limits.ANCHOR_DRAWS))
    uniform = np.clip(stats.qmc.Sobol(n_phi + 1, rng=seed).random_base2(int(np.log2(n))), 1e-10, 1.0 - 1e-10)
    drawn = ndtri(uniform[:, :-1]) / np.sqrt(stats.chi2.ppf(uniform[:, -1:], _DF) / _DF)
    phi = best + drawn @ root.T
    log_density = np.concatenate([given.log_posterior(some) for some in given.in_parts(phi)])
    log_density += 0.5 * (_DF + n_phi) * np.log1p(np.square(drawn).sum(axis=1) / _DF)
    weight = np.exp(log_density - log_density.max())
    return phi, weight / weight.sum()


def _start(given: _Given) -> np.ndarray:
    """The best of some departures with generalised least squares of the slopes, shape (p + 1,)."""
    p, d = given.xi.shape
    b, found = np.zeros(p), []
    for log_t in np.log(_STARTS * np.sqrt(np.trace(given.D) / d)):
        for _ in range(3):
            weighed = np.linalg.solve(given.at(np.append(b, log_t)[None]).variance[0], given.xi.T)
            b = np.linalg.lstsq(given.xi @ weighed, weighed.T @ given.m, rcond=None)[0]
        found.append(np.append(b, log_t))
    return found[int(np.argmax(given.log_posterior(np.array(found))))]


def _second_derivatives(objective: Callable[[np.ndarray], float], at: np.ndarray) -> np.ndarray:
    steps = _STEP * np.diag(np.maximum(np.abs(at), 1.0))

    def change(i: int, j: int) -> float:
        signs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
        total = sum(a * c * objective(at + a * steps[i] + c * steps[j]) for a, c in signs)
        return total / (4.0 * steps[i, i] * steps[j, j])

    return np.array([[change(i, j) for j in range(len(at))] for i in range(len(at))])


def _correlations(given: _Given, draws: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """Correlations over the items of draws of theta with draws of the combination sum b xi."""
    rng, d = np.random.default_rng(0), len(given.m)
    values = []
    for phi in draws[rng.choice(len(draws), _DRAWN, p=chances)]:
        here = given.at(phi[None])
        seen = np.concatenate([here.with_error, here.with_error + here.t2], axis=1)
        gains = here.gains(seen)[0]
        own, t2 = here.own[0], here.t2[0]
        left = np.block([[own, own], [own, own + t2]]) - gains @ seen[0].T
        size, vectors = np.linalg.eigh(left)
        drawn = np.tile(phi[:-1] @ given.xi, 2) + gains @ here.residual[0]
        drawn = drawn + vectors @ (np.sqrt(np.maximum(size, 0.0)) * rng.standard_normal(2 * d))
        values.append(drawn[:d] @ drawn[d:] / np.linalg.norm(drawn[:d]) / np.linalg.norm(drawn[d:]))
    return np.array(values)
