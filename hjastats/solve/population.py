"""The population that judges are drawn from: where the marginal likelihood is largest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .. import limits
from ..data.cells import take
from ..model.design import Design
from ..model.population import Population, Space
from ..model.response import numbers_of_verdicts
from ..model.tangent import from_centred_basis, in_centred_basis
from .draws import Drawn, TasteMarginal
from .integrands import own_predictors
from .marginal import Marginal
from .pooled import maximise_pooled
from .precision import invert_along

# Standard deviations below which it is tried whether judges differ at all (the likelihood is even in each, so that zero is
# always stationary), and log-likelihood that zero may cost.
_SMALL_SPREAD = 0.1
_SAME = 1e-5
# Of the starts.
_FIRST_SPREAD = 0.5
_FEW_NODES = 2
# In standard errors: a step that ends the climb of a start, the longest step of each coordinate, and the distance at which a
# maximum is found.
_ROUGH = 0.3
# Gain of so many steps together below which a climb ends: towards a boundary, where a spread is zero, steps hardly shrink.
_PATIENCE, _STALLED = 5, 1e-9
_LONGEST = 3.0
FOUND = 1e-6
# How often the information is taken anew on the last steps.
_LAST_ROUNDS = 6
# Of what is missing of the complete information: all of it gives Newton's steps, none those of an EM algorithm, always uphill.
_SHARES = (1.0, 0.9, 0.5, 0.0)


Likelihood = Callable[[Design, int, int, np.ndarray], Marginal]


@dataclass(frozen=True)
class PopulationOptimum:
    """Where a maximisation of the marginal likelihood ended.

    Attributes
    ----------
    values : ndarray
        Coordinates of the population.
    loglike : float
    gradient : ndarray
    information : ndarray
        Observed, of all coordinates.
    fixed : ndarray, shape (m, n)
        Movements that are none: rotations of V, and standard deviations that are zero.
    is_free : ndarray of bool, shape (n_effects,)
        Effects in which judges differ.
    distance : float
        Length of the next Newton step in standard errors.
    is_maximum : bool
        Whether the information is positive definite among the other movements.
    iterations : int
    others : tuple of float
        Log-likelihoods where other starts ended.
    path : tuple of float
        Log-likelihood after every step with all nodes.
    drawn : Drawn, optional
        What draws say there, if judges have tastes of their own.
    """

    values: np.ndarray
    loglike: float
    gradient: np.ndarray
    information: np.ndarray
    fixed: np.ndarray
    is_free: np.ndarray
    distance: float
    is_maximum: bool
    iterations: int
    others: tuple[float, ...] = ()
    path: tuple[float, ...] = ()
    drawn: Drawn | None = None


class _Point(NamedTuple):
    """Coordinates with log-likelihood, gradient, an inverse information as metric of the next step, and it itself if known."""

    values: np.ndarray
    loglike: float
    gradient: np.ndarray
    inverse: np.ndarray
    information: np.ndarray | None = None
    iterations: int = 0
    path: tuple[float, ...] = ()

    @property
    def step(self) -> np.ndarray:
        return self.inverse @ self.gradient

    @property
    def distance(self) -> float:
        """Length of the next step in standard errors."""
        return float(np.sqrt(max(self.gradient @ self.step, 0.0)))

    @property
    def promise(self) -> float:
        """Log-likelihood that the next step is to reach."""
        return self.loglike + 0.5 * self.distance**2

    def then(self, later: _Point) -> _Point:
        """A later point with the steps of both climbs."""
        return later._replace(iterations=self.iterations + later.iterations, path=(*self.path, *later.path[1:]))

    def turned(self, values: np.ndarray, loglike: float, gradient: np.ndarray) -> _Point:
        """Another point, its metric this one's, corrected for how the gradient changed between them.

        By the formula of Broyden, Fletcher, Goldfarb and Shanno for the inverse.
        """
        step, change, inverse = values - self.values, self.gradient - gradient, self.inverse
        along = float(step @ change)
        if along > 1e-10 * float(step @ self.gradient):
            moved = inverse @ change
            inverse = inverse + (1.0 + change @ moved / along) / along * np.outer(step, step)
            inverse -= (np.outer(step, moved) + np.outer(moved, step)) / along
        return _Point(values, loglike, gradient, inverse)


def search_population(
    design: Design,
    rank: int,
    n_nodes: int,
    *,
    make: Likelihood = Marginal,
    start: np.ndarray | None = None,
    is_free: np.ndarray | None = None,
    n_random: int = 2,
    rng: int | np.random.Generator | None = 0,
    maxiter: int = 200,
) -> PopulationOptimum:
    """The largest marginal likelihood that several starts lead to.

    One start has the direction along which judges differ most beyond those of the rank below; others have random ones. They climb
    with few nodes, and the best goes on with all of them.

    Parameters
    ----------
    make : callable, optional
        The likelihood, of the same arguments; in this process by default.
    start : ndarray, optional
        Coordinates that replace the starts.
    is_free : ndarray of bool, shape (n_effects,), optional
        Effects in which judges may differ; all by default.
    """
    rng, space = np.random.default_rng(rng), Space.of(design, rank)
    is_free = np.ones(space.n_effects, dtype=bool) if is_free is None else is_free
    few = _few_nodes(n_nodes, space)
    if start is None:
        climbs = _rough_climbs(design, rank, few, make, is_free, n_random, rng, maxiter)
        best, others = climbs[0], tuple(climb.loglike for climb in climbs[1:])
    else:
        best, others = _curved(make(design, rank, few, is_free), start), ()
    marginal = make(design, rank, n_nodes, is_free)
    climb = _climb(marginal, best.values, maxiter, FOUND, best.inverse)
    marginal, climb = _at_the_boundary(marginal, make, climb, maxiter)
    return _finish(marginal, climb, maxiter, others)


def _few_nodes(n_nodes: int, space: Space) -> int:
    """Nodes for each effect with which starts climb: more than one, if these are not too many."""
    if n_nodes == 1 and _FEW_NODES**space.n_effects > limits.ROUGH_NODES:
        return 1
    return _FEW_NODES if n_nodes == 1 else min(n_nodes, _FEW_NODES)


def _rough_climbs(
    design: Design,
    rank: int,
    n_nodes: int,
    make: Likelihood,
    is_free: np.ndarray,
    n_random: int,
    rng: np.random.Generator,
    maxiter: int,
) -> list[_Point]:
    """Ends of the starts with few nodes, best first."""

    def marginal(r: int) -> Marginal:
        return make(design, r, n_nodes, np.concatenate([is_free[:1], np.ones(r, dtype=bool), is_free[1 + rank :]]))

    first = _climb(marginal(0), _without_directions(design, marginal(0).is_free), maxiter, _ROUGH)
    for r in range(rank):
        wider = _with_direction(marginal(r), first.values, next_direction(marginal(r), first.values))
        first = _climb(marginal(r + 1), wider, maxiter, _ROUGH)
    climbs = [first]
    if rank and len(design.n) <= limits.RANDOM_STARTS_CELLS:
        at = marginal(rank).space.unpack(first.values)
        size = float(np.sqrt(np.square(at.V).mean()))
        for _ in range(n_random):
            begin = replace(at, V=size * rng.standard_normal(at.V.shape))
            climbs.append(_climb(marginal(rank), marginal(rank).space.pack(begin), maxiter, _ROUGH))
    return sorted(climbs, key=lambda climb: -climb.promise)


def _without_directions(design: Design, is_free: np.ndarray) -> np.ndarray:
    """Coordinates to begin with: pooled scores, and some spread of all that judges may differ in."""
    space = Space.of(design, 0)
    values = np.zeros(space.n)
    values[space.spreads] = np.where(is_free, _FIRST_SPREAD, 0.0)
    pooled = maximise_pooled(design)
    if pooled is not None:
        values[space.slices["mu"]] = in_centred_basis(pooled.at.scores[:1])[0]
    own = design.response.start(design.n, design.counts)
    for part, moves in (("shared", design.terms.shared_moves), ("means", design.terms.own_moves)):
        for t in np.flatnonzero(moves):
            values[space.slices[part].start + t] = own[moves[t] - 1]
    return values


def next_direction(marginal: Marginal, values: np.ndarray) -> np.ndarray:
    """Item vector along which judges differ most beyond what the population says, one standard deviation long in log-odds.

    The slope of the likelihood by ``v v'`` at no such direction is half of the slopes' outer products less the curvature.
    """
    design = marginal.design
    slopes = marginal.rows(values).base[0]
    n = design.n_items
    cells = np.concatenate([design.judge * n + design.first, design.judge * n + design.second])
    by_judge = np.bincount(cells, np.concatenate([slopes, -slopes]), design.n_judges * n).reshape(-1, n)
    weight = marginal.curved(values).complete
    where = marginal.space.slices["mu"]
    curvature = weight[where, where]
    items = in_centred_basis(by_judge)
    scale = np.linalg.cholesky(curvature + 1e-8 * np.trace(curvature) * np.eye(n - 1))
    excess = np.linalg.solve(scale, np.linalg.solve(scale, items.T @ items).T)
    top = np.linalg.solve(scale.T, np.linalg.eigh(0.5 * (excess + excess.T))[1][:, -1])
    direction = from_centred_basis(top[None])[0]
    gaps = direction[design.first] - direction[design.second]
    return direction / np.sqrt((design.n @ np.square(gaps)) / design.n.sum())


def _with_direction(smaller: Marginal, values: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Coordinates with one more direction."""
    at = smaller.space.unpack(values)
    space = Space.of(smaller.design, at.rank + 1)
    V = np.hstack([at.V, direction[:, None]])
    return space.pack(Population(at.mu, V, at.sensitivity, at.shared, at.means, at.sds))


def _climb(
    marginal: Marginal, start: np.ndarray, maxiter: int, tolerance: float, inverse: np.ndarray | None = None
) -> _Point:
    """Steps uphill, until the next one is shorter than the tolerance, in standard errors.

    They are Newton's where the information is cheap, quasi-Newton ones from an inverse information elsewhere (Jamshidian and
    Jennrich 1997).
    """
    is_newton = _is_cheap(marginal)
    here = _curved(marginal, start) if is_newton or inverse is None else _Point(start, *marginal.value(start), inverse)
    path: tuple[float, ...] = (here.loglike,)
    for _ in range(maxiter):
        distance, step = here.distance, here.step
        if distance < tolerance:
            break
        step *= min(1.0, _LONGEST * np.sqrt(len(step)) / distance)
        for _ in range(limits.HALVINGS):
            values = here.values + step
            there = _curved(marginal, values) if is_newton else here.turned(values, *marginal.value(values))
            # Up to rounding: near the maximum there is nothing more to gain.
            if there.loglike >= here.loglike + 1e-4 * (here.gradient @ step) - 1e-12 * abs(here.loglike):
                break
            step = 0.5 * step
        else:
            break
        here, path = there, (*path, there.loglike)
        if len(path) > _PATIENCE and path[-1] - path[-1 - _PATIENCE] < _STALLED:
            break
    return here._replace(iterations=len(path) - 1, path=path)


def _is_cheap(marginal: Marginal) -> bool:
    """Whether the information costs little beside the likelihood; of Laplace's method it does not."""
    per_judge = len(marginal.design.n) / marginal.design.n_judges
    return not marginal.is_laplace and marginal.space.n**2 <= limits.CHEAP_INFORMATION * per_judge


def _curved(marginal: Marginal, values: np.ndarray) -> _Point:
    """A point with the metric of Newton's steps, or of some between those and an EM algorithm's that lead uphill."""
    found, fixed = marginal.curved(values), fixed_movements(marginal, values)
    for share in _SHARES:
        inverse = _inverse(found.complete - share * found.missing, fixed)
        if inverse is not None:
            return _Point(values, found.loglike, found.gradient, inverse, found.information)
    # The product of sensitivity and consensus has none of its own where one is nothing, and bends upwards where slopes are large.
    size, along = np.linalg.eigh(found.complete)
    raised = np.maximum(np.abs(size), 1e-3 * np.abs(size).mean())
    return _Point(values, found.loglike, found.gradient, (along / raised) @ along.T, found.information)


def _inverse(information: np.ndarray, fixed: np.ndarray) -> np.ndarray | None:
    """Inverse of an information among the movements that are some; None if it is not positive definite there."""
    covariance = invert_along(information, fixed).covariance
    return covariance if np.isfinite(covariance).all() else None


def _at_the_boundary(marginal: Marginal, make: Likelihood, climb: _Point, maxiter: int) -> tuple[Marginal, _Point]:
    """Hold standard deviations at zero that the likelihood puts there."""
    space = marginal.space
    effects = np.array([0, *range(1 + space.rank, space.n_effects)])
    was_free = marginal.is_free
    for position, effect in zip(space.spreads, effects, strict=True):
        if not was_free[effect] or abs(climb.values[position]) > _SMALL_SPREAD:
            continue
        values, is_free = climb.values.copy(), marginal.is_free.copy()
        values[position], is_free[effect] = 0.0, False
        held = make(marginal.design, space.rank, marginal.n_nodes, is_free)
        again = _climb(held, values, maxiter, FOUND)
        if again.loglike >= climb.loglike - _SAME:
            marginal, climb = held, climb.then(again)
    return marginal, climb


def _finish(marginal: Marginal, climb: _Point, maxiter: int, others: tuple[float, ...]) -> PopulationOptimum:
    """The information where a climb ended, and steps in its metric to the last digits."""
    found = _judged(marginal, climb)
    for _ in range(_LAST_ROUNDS):
        if found.distance < FOUND:
            break
        metric = _inverse(found.information, found.fixed) if found.is_maximum else None
        climb = climb.then(_climb(marginal, found.values, maxiter, FOUND, metric))
        found = _judged(marginal, climb)
    return replace(found, others=others)


def _judged(marginal: Marginal, at: _Point) -> PopulationOptimum:
    """Whether a point is a maximum."""
    known = None if marginal.is_laplace else at.information
    information = marginal.information(at.values) if known is None else known
    fixed = fixed_movements(marginal, at.values)
    inverse = _inverse(information, fixed)
    left = np.nan if inverse is None else at._replace(inverse=inverse).distance
    ends = left, inverse is not None, at.iterations
    return PopulationOptimum(
        at.values, at.loglike, at.gradient, information, fixed, marginal.is_free, *ends, path=at.path
    )


def optimum_at(marginal: Marginal, values: np.ndarray, iterations: int = 0) -> PopulationOptimum:
    """Coordinates that were found before, judged again from where they lie."""
    return _judged(marginal, _curved(marginal, values)._replace(iterations=iterations))


# Prediction of what was held out


def held_out_loss(
    rows: Design,
    is_test: np.ndarray,
    search: Callable[[Design], PopulationOptimum],
    likelihood: Callable[[Design, PopulationOptimum], Marginal | TasteMarginal],
) -> float:
    """Log-loss per comparison of held-out rows under the population fitted to the others.

    Verdicts of judges who are known from other rows are predicted given those. Judges who are held out whole are predicted jointly:
    the loss is their marginal likelihood, in which what a judge said first tells about what it said next.
    """
    train, known = _part_of(rows, ~is_test)
    test, judges = _part_of(rows, is_test)
    found = search(train)
    is_known = np.isin(judges, known)[test.judge]
    losses = 0.0
    if not is_known.all():
        new, _ = _part_of(test, ~is_known)
        losses -= float(likelihood(new, found).loglike(found.values).sum())
    if is_known.any():
        old = take(test, np.flatnonzero(is_known))
        place = np.searchsorted(known, judges[old.judge])
        losses -= _predictive(likelihood(train, found), found.values, old, place)
    return losses / float(test.n.sum())


def _predictive(marginal: Marginal | TasteMarginal, values: np.ndarray, rows: Design, judge: np.ndarray) -> float:
    """Log-likelihood of rows by averages of their probabilities over the effects of known judges."""
    chances = marginal.average(values, rows, judge, lambda at: rows.response.probabilities(at[0], own_predictors(at)))
    numbers = numbers_of_verdicts(rows.response, rows.n, rows.y, rows.counts)
    return float(np.sum(numbers * np.log(np.maximum(chances, 1e-300))))


def _part_of(rows: Design, kept: np.ndarray) -> tuple[Design, np.ndarray]:
    """Some rows in the order of their judges, who are numbered anew, and which judges these were."""
    index = np.flatnonzero(kept)
    some = take(rows, index[np.argsort(rows.judge[index], kind="stable")])
    judges, code = np.unique(some.judge, return_inverse=True)
    return replace(some, judge=code, n_judges=len(judges)), judges


def fixed_movements(marginal: Marginal | TasteMarginal, values: np.ndarray) -> np.ndarray:
    """Movements that are none: rotations of V, and standard deviations that are zero."""
    space = marginal.space
    effects = np.array([0, *range(1 + space.rank, space.n_effects)])
    held = space.spreads[~marginal.is_free[effects]]
    return np.vstack([space.rotations(values), np.eye(space.n)[held]])
