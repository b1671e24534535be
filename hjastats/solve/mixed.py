"""Effects drawn from a normal distribution whose variance is estimated, integrated out by expectation propagation.

Every verdict tells of one linear form of the coefficients. Its likelihood, as a function of that form, is replaced by a normal one
that agrees with it in the first two moments given all others. Laplace's method agrees at the mode only, which is not enough
where there are few verdicts on each item; penalised quasi-likelihood (BradleyTerry2) finds half of the standard deviation there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh
from scipy.optimize import minimize
from scipy.special import logsumexp

from .. import limits
from ..errors import IdentificationError
from ..model.design import Coefficients, Design
from ..model.layout import Layout
from ..model.likelihood import free_moves, free_regressors
from .precision import information_at

# Nodes of the quadrature around what is known of a linear form.
_NODES, _WEIGHTS = np.polynomial.hermite.hermgauss(48)
# Standard deviations that are looked at, in log-odds.
LEAST, MOST = 0.01, 20.0
# Where few verdicts on each item leave it open how large a standard deviation is, the likelihood may rise without end. A weak
# prior (half-t with 3 degrees of freedom) says that one much larger than this many log-odds is unlikely.
PRIOR_SCALE = 2.5
# Objective where there is no answer.
_FAR = 1e12


@dataclass(frozen=True)
class Integral:
    """A likelihood integrated over normal coefficients, with its derivatives.

    Attributes
    ----------
    value : float
        Its logarithm.
    mean : ndarray, shape (d,)
        Of the coefficients given the verdicts.
    matrix : ndarray, shape (d, d)
        Their precision.
    precision, shift : ndarray, shape (n_cells,)
        Of the normal functions that stand for the verdicts.
    by_odds : ndarray, shape (n_cells,)
        Derivative by what else is in the log-odds.
    by_own : ndarray, shape (p, n_cells)
        Derivative by the predictors of the response's own parameters.
    """

    value: float
    mean: np.ndarray
    matrix: np.ndarray
    precision: np.ndarray
    shift: np.ndarray
    by_odds: np.ndarray
    by_own: np.ndarray


def propagate(
    design: Design,
    regressors: np.ndarray,
    prior: np.ndarray,
    known: np.ndarray,
    own: np.ndarray | None,
    near: Integral | None = None,
) -> Integral:
    """Integrate the likelihood over normal coefficients.

    Parameters
    ----------
    regressors : ndarray, shape (n_cells, d)
        Of the log-odds.
    prior : ndarray, shape (d, d)
        Precision of the coefficients, whose mean is zero.
    known : ndarray, shape (n_cells,)
        What else is in the log-odds.
    own : ndarray, shape (p, n_cells), or None
        Predictors of the response's own parameters.
    near : Integral, optional
        One that is not far, to start from.

    Raises
    ------
    IdentificationError
        Where it does not come to an end.
    """
    n_cells, n_nodes = len(design.n), len(_NODES)
    precision, shift = (design.n / 4.0, np.zeros(n_cells)) if near is None else (near.precision, near.shift)
    wide = [np.repeat(x, n_nodes, axis=0) for x in (design.n, design.y, design.counts)]
    many = None if own is None else np.repeat(own, n_nodes, axis=1)
    log_prior, last = float(np.linalg.slogdet(prior)[1]), -np.inf
    for sweep in range(limits.SWEEPS):
        matrix = prior + regressors.T @ (precision[:, None] * regressors)
        try:
            factor = cho_factor(matrix, lower=True)
        except (LinAlgError, ValueError):
            break
        mean = cho_solve(factor, regressors.T @ shift)
        variance = np.maximum(np.einsum("cd,dc->c", regressors, cho_solve(factor, regressors.T)), 1e-12)
        at = regressors @ mean
        # What all other verdicts tell of the form.
        rest, rest_shift = np.maximum(1.0 / variance - precision, 1e-8 / variance), at / variance - shift
        # Its moments with this verdict, in nodes around what is known of it.
        form = at[:, None] + np.sqrt(2.0 * variance)[:, None] * _NODES
        eta = (form + known[:, None]).ravel()
        told = design.response.loglike(eta, many, *wide).reshape(form.shape)
        # The rest in units of what is known: common factors of both integrals cancel.
        against = told - 0.5 * (rest - 1.0 / variance)[:, None] * form**2 + (rest_shift - at / variance)[:, None] * form
        log_mass = against + np.log(_WEIGHTS / np.sqrt(np.pi))
        log_total = logsumexp(log_mass, axis=1)
        mass = np.exp(log_mass - log_total[:, None])
        first = (mass * form).sum(axis=1)
        second = (mass * (form - first[:, None]) ** 2).sum(axis=1)
        # The verdict's integral against the rest over that of the normal function, each times the density of what is known.
        value = (
            0.5 * log_prior
            - float(np.log(np.diag(factor[0])).sum())
            + 0.5 * float(mean @ (regressors.T @ shift))
            + float(log_total.sum())
        )
        if abs(value - last) < 1e-11 * (1.0 + abs(value)) and np.abs(first - at).max() < 1e-7:
            by_own = np.zeros((0, n_cells))
            if many is not None:
                here = design.response.derivatives(eta, many, *wide)
                assert here.own_slope is not None
                by_own = -(here.own_slope.reshape(-1, n_cells, n_nodes) * mass).sum(axis=2)
            return Integral(value, mean, matrix, precision, shift, at * rest - rest_shift, by_own)
        last = value
        step = 1.0 if sweep < 20 else 0.5
        precision = (1.0 - step) * precision + step * np.maximum(1.0 / second - rest, 0.0)
        shift = (1.0 - step) * shift + step * (first / second - rest_shift)
    raise IdentificationError(
        "the integral over the random effects did not settle: leave them out, or give them fewer."
    )


@dataclass(frozen=True)
class Mixture:
    """A fit with random effects.

    Attributes
    ----------
    at : Coefficients
        Means given the verdicts.
    sd : ndarray, shape (m,)
    log_sd_error : ndarray, shape (m,)
        Standard errors of their logarithms; not a number for those at zero.
    information : ndarray, shape (n_free, n_free)
        About the free coordinates, standard deviations known.
    loglike : float
        Integrated over the random effects.
    is_maximum : bool
    iterations : int
    """

    at: Coefficients
    sd: np.ndarray
    log_sd_error: np.ndarray
    information: np.ndarray
    loglike: float
    is_maximum: bool
    iterations: int


class Mixed:
    """The likelihood of a flat structure, integrated over random effects.

    Its arguments are the coefficients that have no distribution, and the logarithms of the standard deviations.

    Parameters
    ----------
    priors : list of ndarray, each (n_free, n_free)
        Precision of the free coordinates for each kind of random effects at a standard deviation of one.
    """

    def __init__(self, design: Design, layout: Layout, priors: list[np.ndarray]) -> None:
        self.design, self.layout, self.priors = design, layout, priors
        self.tangent = layout.structure.tangent(np.zeros((len(layout.judges), len(layout.items))))
        moves = free_moves(design, self.tangent)
        is_odds = moves == 0
        every = free_regressors(design, self.tangent)
        values, vectors = eigh(sum(priors, np.zeros((len(moves), len(moves)))))
        is_random = values > 1e-9 * max(float(values[-1]), 1e-300)
        # Directions with a distribution, and those without, the response's own parameters among them.
        self.random, self.fixed = vectors[:, is_random], vectors[:, ~is_random]
        self.odds = np.where(is_odds, every, 0.0)
        self.own = [np.where(moves == 1 + p, every, 0.0) for p in range(len(design.response.parameters))]
        self._near: Integral | None = None
        self.calls = 0

    def integrate(self, fixed: np.ndarray, log_sd: np.ndarray) -> tuple[Integral, np.ndarray]:
        """The integral at some arguments, with its gradient by them."""
        self.calls += 1
        parts = [self.random.T @ prior @ self.random for prior in self.priors]
        weights = np.exp(-2.0 * log_sd)
        prior = sum((w * part for w, part in zip(weights, parts, strict=True)), np.zeros_like(parts[0]))
        held, offset = self.fixed @ fixed, self.design.known_odds if self.design.has_offset else 0.0
        own = np.stack([columns @ held for columns in self.own]) if self.own else None
        where = self.design, self.odds @ self.random, prior, self.odds @ held + offset, own
        try:
            found = propagate(*where, self._near)
        except IdentificationError:
            found = propagate(*where)
        self._near = found
        by_held = self.odds.T @ found.by_odds
        for columns, slope in zip(self.own, found.by_own, strict=True):
            by_held = by_held + columns.T @ slope
        # Of the normal density, of the precision given the verdicts, and of the mean's distance from zero.
        spread = np.linalg.inv(prior) - np.linalg.inv(found.matrix) - np.outer(found.mean, found.mean)
        by_sd = [-w * float(np.vdot(spread, part)) for w, part in zip(weights, parts, strict=True)]
        return found, np.concatenate([self.fixed.T @ by_held, by_sd])

    def fit(self, start: Coefficients, log_sd: np.ndarray | None = None) -> Mixture:
        """The maximum, or the best for standard deviations that are given."""
        n, begin = len(self.priors), self.fixed.T @ self.layout.to_free(start, self.tangent)
        n_fixed = len(begin)
        low, high = np.log(LEAST), np.log(MOST)

        def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
            sd = x[n_fixed:] if log_sd is None else log_sd
            try:
                found, slope = self.integrate(x[:n_fixed], sd)
            except IdentificationError:
                # A step too long: the search comes back.
                return _FAR, np.zeros(len(x))
            value, by_sd = _prior(sd)
            slope[n_fixed:] += by_sd
            return -found.value - value, -slope[: len(x)]

        x = np.concatenate([begin, np.full(n, np.log(0.7))]) if log_sd is None else begin
        bounds = [(None, None)] * n_fixed + [(low, high)] * (len(x) - n_fixed)
        ended = minimize(
            objective,
            x,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"ftol": 1e-15, "gtol": 1e-7, "maxiter": 500},
        )
        best = ended.x
        sds = best[n_fixed:] if log_sd is None else np.asarray(log_sd, dtype=float)
        found, slope = self.integrate(best[:n_fixed], sds)
        slope[n_fixed:] += _prior(sds)[1]
        inside = (sds > low + 1e-6) & (sds < high - 1e-6)
        moving = np.concatenate([np.ones(n_fixed, dtype=bool), inside])
        curvature = self._curvature(np.concatenate([best[:n_fixed], sds]), moving)
        errors = np.full(n, np.nan)
        is_maximum = bool(np.abs(slope[moving]).max(initial=0.0) < 1e-3 and (np.linalg.eigvalsh(curvature) > 0).all())
        if is_maximum:
            variance = np.diag(np.linalg.inv(curvature))
            errors[inside] = np.sqrt(variance[n_fixed:])
        free = self.fixed @ best[:n_fixed] + self.random @ found.mean
        at = self.layout.from_free(free, self.tangent)
        information = information_at(self.design, at, self.tangent, "observed")
        if not self.own:
            information = self.odds.T @ (found.precision[:, None] * self.odds)
        for prior, sd in zip(self.priors, sds, strict=True):
            information = information + np.exp(-2.0 * sd) * prior
        sd = np.where(sds <= low + 1e-6, 0.0, np.exp(sds))
        return Mixture(at, sd, errors, information, found.value, is_maximum, self.calls)

    def _curvature(self, at: np.ndarray, moving: np.ndarray) -> np.ndarray:
        """Negative second derivatives along what moves, by central differences of the gradient."""
        n_fixed, some, step = self.fixed.shape[1], np.flatnonzero(moving), 1e-3
        rows = []
        for i in some:
            sides = []
            for sign in (1.0, -1.0):
                x = at.copy()
                x[i] += sign * step
                slope = self.integrate(x[:n_fixed], x[n_fixed:])[1]
                slope[n_fixed:] += _prior(x[n_fixed:])[1]
                sides.append(slope[some])
            rows.append((sides[1] - sides[0]) / (2.0 * step))
        matrix = np.array(rows).reshape(len(some), len(some))
        return 0.5 * (matrix + matrix.T)


def _prior(log_sd: np.ndarray) -> tuple[float, np.ndarray]:
    """Logarithm of the prior of standard deviations, and its derivative by their logarithms."""
    square = np.exp(2.0 * log_sd) / (3.0 * PRIOR_SCALE**2)
    return -2.0 * float(np.log1p(square).sum()), -4.0 * square / (1.0 + square)
