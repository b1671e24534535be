"""The population of judges with tastes of their own: where its marginal likelihood is largest.

Expectation propagation leads near the maximum, steps along the gradient of the draws to it.
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
# Slopes, in standard errors, at which a first and a last climb end.
_ROUGH = 0.3
_NEAR = 0.03

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
    """Quasi-Newton steps of scipy's BFGS in standard errors, as a first metric tells them."""
    metric = marginal.complete_information(start)
    scale = np.linalg.cholesky(metric + 1e-3 * np.trace(metric) / len(metric) * np.eye(len(metric)))

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
    """Steps, in the metric of the information where they begin, to where the gradient of the draws is zero."""
    marginal, values = climb.marginal, climb.values
    information, fixed = marginal.information(values), fixed_movements(marginal, values)
    inverse = invert_along(information, fixed).covariance
    if not np.isfinite(inverse).all():
        inverse = invert_along(marginal.complete_information(values), fixed).covariance
    steps = 0
    while steps < limits.DRAWN_STEPS and np.isfinite(inverse).all():
        gradient = marginal.drawn(values).gradient
        move = inverse @ gradient
        distance = float(np.sqrt(max(gradient @ move, 0.0)))
        if distance < 0.5 * FOUND:
            break
        values, steps = values + min(1.0, np.sqrt(len(values)) / distance) * move, steps + 1
    return taste_optimum(marginal, values, climb.iterations + steps)


def taste_optimum(marginal: TasteMarginal, values: np.ndarray, iterations: int = 0) -> PopulationOptimum:
    """Coordinates judged by draws from where they lie."""
    drawn, information, fixed = marginal.drawn(values), marginal.information(values), fixed_movements(marginal, values)
    covariance = invert_along(information, fixed).covariance
    is_maximum = bool(np.isfinite(covariance).all())
    distance = float(np.sqrt(max(drawn.gradient @ covariance @ drawn.gradient, 0.0))) if is_maximum else np.nan
    return PopulationOptimum(
        values,
        drawn.loglike,
        drawn.gradient,
        information,
        fixed,
        marginal.is_free,
        distance,
        is_maximum,
        iterations,
        drawn=drawn,
    )
