"""The population of judges with tastes of their own: where its marginal likelihood is largest.

Expectation propagation leads near the maximum, Newton steps on the likelihood of draws to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from .. import limits
from ..model.design import Design
from ..model.population import Space
from ..model.tangent import centred_basis, in_centred_basis
from .draws import TasteMarginal
from .pooled import maximise_pooled
from .population import FOUND, PopulationOptimum, fixed_movements
from .precision import invert_along

# Standard deviations to begin with; those below which it is tried whether they are zero, and log-likelihood that may cost.
_FIRST_SPREAD = 0.5
_SMALL_SPREAD = 0.1
_SAME = 1e-4
# Slopes, in standard errors, at which a first and a last climb end; Newton steps after it.
_ROUGH = 0.3
_NEAR = 0.03
_NEWTON_STEPS = 25

Likelihood = Callable[[Design, Space, int, np.ndarray], TasteMarginal]


class _Climb(NamedTuple):
    marginal: TasteMarginal
    values: np.ndarray
    loglike: float
    iterations: int


def n_draws_for(design: Design) -> int:
    """Draws of every judge, fewer where there are many verdicts."""
    return int(np.clip(limits.TASTE_DRAWS_IN_ALL // len(design.n), limits.FEWEST_TASTE_DRAWS, limits.MOST_TASTE_DRAWS))


def search_taste(
    design: Design,
    rank: int,
    n_draws: int,
    *,
    make: Likelihood = TasteMarginal,
    start: np.ndarray | None = None,
    is_free: np.ndarray | None = None,
    n_random: int = 2,
    rng: int | np.random.Generator | None = 0,
    maxiter: int = 200,
) -> PopulationOptimum:
    """The largest marginal likelihood that several starts lead to.

    One start has the directions along which tastes vary most, others have random ones.

    Parameters
    ----------
    make : callable, optional
        The likelihood, of the same arguments; in this process by default.
    start : ndarray, optional
        Coordinates that replace the starts.
    is_free : ndarray of bool, shape (n_effects,), optional
        Effects in which judges may differ; taste is the last.
    """
    space, rng = Space.of(design, rank, has_taste=True), np.random.default_rng(rng)
    is_free = np.ones(space.n_effects, dtype=bool) if is_free is None else is_free
    if start is None:
        climbs = _first_climbs(design, rank, n_draws, make, is_free, n_random, rng, maxiter)
        best, others = climbs[0], tuple(climb.loglike for climb in climbs[1:])
    else:
        best, others = _Climb(make(design, space, n_draws, is_free), start, -np.inf, 0), ()
    climb = _at_the_boundary(_climb(best.marginal, best.values, maxiter), make, maxiter)
    return replace(_finish(climb), others=others)


def _first_climbs(
    design: Design,
    rank: int,
    n_draws: int,
    make: Likelihood,
    is_free: np.ndarray,
    n_random: int,
    rng: np.random.Generator,
    maxiter: int,
) -> list[_Climb]:
    """Ends of the starts, best first."""

    def likelihood(r: int) -> TasteMarginal:
        some = np.concatenate([is_free[:1], np.ones(r, dtype=bool), is_free[1 + rank :]])
        return make(design, Space.of(design, r, has_taste=True), n_draws, some)

    marginal = likelihood(0)
    climb = _climb(marginal, _without_directions(design, marginal), maxiter, _ROUGH)
    for r in range(rank):
        marginal = likelihood(r + 1)
        climb = _climb(marginal, _with_direction(climb, marginal.space), maxiter, _ROUGH)
    climbs = [climb]
    if rank and len(design.n) <= limits.RANDOM_STARTS_CELLS:
        at = climb.marginal.space.unpack(climb.values)
        size = float(np.sqrt(np.square(at.V).mean()))
        for _ in range(n_random):
            begin = climb.marginal.space.pack(replace(at, V=size * rng.standard_normal(at.V.shape)))
            climbs.append(_climb(likelihood(rank), begin, maxiter, _ROUGH))
    return sorted(climbs, key=lambda one: -one.loglike)


def _without_directions(design: Design, marginal: TasteMarginal) -> np.ndarray:
    """Coordinates to begin with: pooled scores, and some spread of all that judges may differ in."""
    space = marginal.space
    values = np.zeros(space.n)
    values[space.spreads] = np.where(marginal.is_free, _FIRST_SPREAD, 0.0)
    pooled = maximise_pooled(design)
    if pooled is not None:
        values[space.slices["mu"]] = in_centred_basis(pooled.at.scores[:1])[0]
    return values


def _with_direction(climb: _Climb, space: Space) -> np.ndarray:
    """Coordinates with the direction along which predicted tastes vary most, out of taste."""
    at = climb.marginal.space.unpack(climb.values)
    means, covariances = climb.marginal.posterior(climb.values)
    own = slice(means.shape[1] - space.n_items + 1, None)
    second = means[:, own].T @ means[:, own] / len(means) + covariances[:, own, own].mean(axis=0)
    size, vectors = np.linalg.eigh(second)
    taste = at.taste or _FIRST_SPREAD
    direction = taste * np.sqrt(size[-1]) * centred_basis(space.n_items) @ vectors[:, -1]
    return space.pack(
        replace(at, V=np.column_stack([at.V, direction]), taste=taste if climb.marginal.is_free[-1] else 0.0)
    )


def _climb(marginal: TasteMarginal, start: np.ndarray, maxiter: int, tolerance: float = _NEAR) -> _Climb:
    """Quasi-Newton steps of scipy's BFGS in standard errors, as the outer products of gradients at the start tell them."""
    metric = marginal.complete_information(start)
    scale = np.linalg.cholesky(metric + 0.05 * np.diag(np.diag(metric)) + 1e-6 * np.trace(metric) * np.eye(len(metric)))

    def function(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = marginal.value(start + solve_triangular(scale.T, x))
        return -value, -solve_triangular(scale, gradient, lower=True)

    found = minimize(
        function, np.zeros(len(start)), jac=True, method="BFGS", options={"gtol": tolerance, "maxiter": maxiter}
    )
    return _Climb(marginal, start + solve_triangular(scale.T, found.x), -float(found.fun), int(found.nit))


def _at_the_boundary(climb: _Climb, make: Likelihood, maxiter: int) -> _Climb:
    """Hold standard deviations at zero that the likelihood puts there."""
    space = climb.marginal.space
    effects = [0, *range(1 + space.rank, space.n_effects)]
    for position, effect in zip(space.spreads, effects, strict=True):
        if not climb.marginal.is_free[effect] or abs(climb.values[position]) > _SMALL_SPREAD:
            continue
        was = climb.marginal
        values, is_free = climb.values.copy(), was.is_free.copy()
        values[position], is_free[effect] = 0.0, False
        held = _climb(make(was.design, space, was.n_nodes, is_free), values, maxiter)
        if held.loglike >= climb.loglike - _SAME:
            held.values[position] = 0.0
            climb = held._replace(iterations=climb.iterations + held.iterations)
    return climb


def _finish(climb: _Climb) -> PopulationOptimum:
    """Newton steps to where the gradient of the draws is zero; draws follow the population."""
    values, iterations = climb.values, climb.iterations
    found = taste_optimum(climb.marginal, values, iterations)
    for step in range(_NEWTON_STEPS):
        if not found.is_maximum or found.distance < FOUND:
            break
        covariance = invert_along(found.information, found.fixed).covariance
        values = values + min(1.0, np.sqrt(len(values)) / found.distance) * (covariance @ found.gradient)
        found = taste_optimum(climb.marginal, values, iterations + step + 1)
    return found


def taste_optimum(marginal: TasteMarginal, values: np.ndarray, iterations: int = 0) -> PopulationOptimum:
    """Coordinates judged by draws from where they lie."""
    drawn = marginal.drawn(values)
    fixed = fixed_movements(marginal, values)
    covariance = invert_along(drawn.information, fixed).covariance
    is_maximum = bool(np.isfinite(covariance).all())
    distance = float(np.sqrt(max(drawn.gradient @ covariance @ drawn.gradient, 0.0))) if is_maximum else np.nan
    return PopulationOptimum(
        values,
        drawn.loglike,
        drawn.gradient,
        drawn.information,
        fixed,
        marginal.is_free,
        distance,
        is_maximum,
        iterations,
        drawn=drawn,
    )
