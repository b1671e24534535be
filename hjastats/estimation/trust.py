"""Damped Newton steps on the set of allowed score matrices, with judge blocks eliminated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotrs

from ..data.cells import Cells
from ..geometry.parameters import Coefficients
from ..geometry.structures import Frame, ScoreStructure, centred
from ..likelihood import (
    Arrow,
    Derivatives,
    Gradient,
    evaluate,
    expected_information,
    gradient,
    observed_information,
)
from .krylov import ProductSystem, coordinates

# A point counts as stationary when a further Newton step would move it by less than this many standard errors.
STATIONARY = 1e-6
# Log-odds beyond which a verdict carries no information any more; no start may lie out there.
_FLAT = 12.0
# Log-odds no finite number of verdicts can estimate: a run that uses up its iterations out there is on its way to infinity.
_BEYOND = 30.0
_OUT_OF_SIGHT = 100.0
# Longest step, in log-odds: where the likelihood is flat its quadratic model would go anywhere.
_STRIDE = 30.0
# Coordinates shared by the judges beyond which their information is not made into a matrix to be factorised at every step.
MANY = 500
# Damping tried first after a step without any has failed, in units of the average information.
_FIRST_DAMPING = 1e-2
# The same for runs out of sight: they end when a step gains little, and a damped step gains little because it is short.
_FIRST_DAMPING_FAR_OUT = 1e-3
# Share of the strongest direction below which the weakest of a low-rank structure is absent: it has no curvature to use.
_ABSENT = 1e-7


@dataclass(frozen=True)
class Ridge:
    """Half these weights times the sum of squared scores and of squared linear coefficients, added to the objective."""

    scores: float = 0.0
    terms: float = 0.0

    def __bool__(self) -> bool:
        return self.scores > 0 or self.terms > 0

    def value(self, cells: Cells, at: Coefficients) -> float:
        """The penalty."""
        own = self._own(cells, at)
        return 0.5 * self.scores * float(np.vdot(at.scores, at.scores)) + 0.5 * self.terms * float(
            np.vdot(own, own) + np.vdot(at.shared, at.shared)
        )

    @staticmethod
    def _own(cells: Cells, at: Coefficients) -> np.ndarray:
        """The judges' coefficients, zero where there is no parameter."""
        if not cells.never_tie:
            return at.judge
        own = at.judge.copy()
        own[list(cells.never_tie), -1] = 0.0
        return own

    def add_to_gradient(self, cells: Cells, slopes: Gradient, at: Coefficients) -> Gradient:
        """Gradient of the penalised objective."""
        return Gradient(
            slopes.scores + self.scores * at.scores,
            slopes.judge + self.terms * self._own(cells, at),
            slopes.shared + self.terms * at.shared,
        )

    def add_to_information(self, cells: Cells, arrow: Arrow, frame: Frame) -> Arrow:
        """Information of the penalised objective; score coordinates are orthonormal, so the ridge is the same for all."""
        judge, shared = arrow.judge.copy(), arrow.shared.copy()
        f, moves = frame.judge_items.shape[1], frame.shared_judges.shape[1] * frame.n_shared
        own, all_own = np.arange(f), np.arange(f, judge.shape[1])
        judge[:, own, own] += self.scores
        judge[:, all_own, all_own] += self.terms
        diagonal = np.arange(len(shared))
        shared[diagonal, diagonal] += np.where(diagonal < moves, self.scores, self.terms)
        return Arrow(judge, arrow.coupling, shared)


NO_RIDGE = Ridge()


@dataclass(frozen=True)
class Optimum:
    """Where a maximisation ended.

    Attributes
    ----------
    at : Coefficients
    value : float
        Penalised negative log-likelihood; equal to ``negative_loglike`` without ridge.
    negative_loglike : float
    distance : float
        Length of the next Newton step in standard errors; nan where the information is not positive definite.
    is_minimum : bool
        Whether the observed information is positive definite.
    iterations : int
    path : tuple of float
        Objective after each iteration.
    diverges : bool
        Whether the scores were running to infinity when the run was stopped.
    joined : int or None
        Position of the known optimum whose neighbourhood was entered; the run stopped there.
    """

    at: Coefficients
    value: float
    negative_loglike: float
    distance: float
    is_minimum: bool
    iterations: int
    path: tuple[float, ...]
    diverges: bool = False
    joined: int | None = None

    @property
    def is_stationary(self) -> bool:
        """Whether the free gradient vanishes for all statistical purposes."""
        return bool(self.distance <= STATIONARY)

    @property
    def converged(self) -> bool:
        """Small free gradient and positive definite information."""
        return self.is_stationary and self.is_minimum and not self.diverges


@dataclass(frozen=True)
class Neighbourhood:
    """The region around an optimum in which the likelihood is the quadratic function its observed information predicts.

    Attributes
    ----------
    at : Coefficients
    value : float
    frame : Frame
    information : _DenseSystem or ProductSystem
    radius : float
        Log-likelihood units within which a run can be recognised as heading for the optimum.
    """

    at: Coefficients
    value: float
    frame: Frame
    information: _DenseSystem | ProductSystem
    radius: float

    def contains(self, at: Coefficients, value: float) -> bool:
        """Whether a point is within the radius, and as much worse as its distance predicts."""
        excess = value - self.value
        if not 0.0 <= excess <= self.radius:
            return False
        move = Coefficients(at.scores - self.at.scores, at.judge - self.at.judge, at.shared - self.at.shared)
        predicted = 0.5 * self.information.quadratic_form(*coordinates(move, self.frame))
        return predicted < self.radius and abs(excess - predicted) <= 0.2 * predicted


def neighbourhood(
    cells: Cells, structure: ScoreStructure, optimum: Optimum, radius: float, ridge: Ridge = NO_RIDGE
) -> Neighbourhood:
    """What a run from another start needs to know of an optimum."""
    frame = structure.member(optimum.at.scores)[1]
    here = _evaluate(cells, optimum.at, frame, ridge)
    return Neighbourhood(optimum.at, optimum.value, frame, _Proposal(cells, here, ridge).system, radius)


@dataclass(frozen=True)
class _Step:
    own: np.ndarray
    judge: np.ndarray
    item: np.ndarray
    shared: np.ndarray
    slope: float
    expected_gain: float
    damping: float
    is_newton: bool

    def is_negligible(self, value: float) -> bool:
        """Whether the expected gain is below the rounding error of the objective."""
        return self.expected_gain <= 1e-12 * abs(value) + 1e-300


@dataclass(frozen=True)
class _Point:
    """A member of the structure with everything known about it."""

    at: Coefficients
    frame: Frame
    cells: Derivatives
    value: float


def maximise(
    cells: Cells,
    structure: ScoreStructure,
    start: Coefficients,
    *,
    ridge: Ridge = NO_RIDGE,
    maxiter: int = 200,
    known: Sequence[Neighbourhood] = (),
) -> Optimum:
    """Maximise the likelihood of the cells within a structure from one starting point.

    Newton steps with the observed information where it is positive definite, Fisher scoring steps elsewhere, both
    damped in the orthonormal coordinates of the current frame until the likelihood follows its quadratic model.

    Parameters
    ----------
    ridge : Ridge
        Penalty on the scores and, if asked for, on the linear coefficients.
    known : sequence of Neighbourhood
        Optima found from other starts; a run that comes close to one of them ends there.
    """
    here = _start(cells, structure, start, ridge)
    path = [here.value]
    damping, distance, is_minimum, diverges = 0.0, np.inf, False, False
    joined: int | None = None
    # Likelihoods scale with the weights; what counts as nothing must do so too.
    unit = min(1.0, float(cells.n.mean()))
    while len(path) <= maxiter:
        proposal = _Proposal(cells, here, ridge)
        taken, damping = _descend(cells, structure, here, proposal, damping, ridge)
        if taken is None:
            break
        step, there, moved = taken
        if step.damping == 0.0:
            is_minimum = step.is_newton
            distance = np.sqrt(max(-step.slope, 0.0) / unit) if is_minimum else np.nan
        # Moving on by half a log-odds and more for no gain worth the name: the scores run to infinity. The step is not taken:
        # what is finite would drown in what is not.
        diverges = step.expected_gain < 1e-6 * unit and moved > 0.5
        # Some valleys rise to infinity ever more slowly; far beyond what verdicts can tell, a small gain is enough.
        diverges |= step.expected_gain < 1e-2 * unit and _extent(there) > _OUT_OF_SIGHT
        if diverges:
            break
        here = there
        path.append(here.value)
        if distance <= STATIONARY and is_minimum and moved < 1e-3:
            break
        if step.is_negligible(here.value) and not step.is_newton:
            break
        joined = next((i for i, other in enumerate(known) if other.contains(here.at, here.value)), None)
        if joined is not None:
            break
    else:
        diverges = _extent(here) > _BEYOND
    at = replace(here.at, scores=centred(here.at.scores))
    return Optimum(
        at, here.value, here.cells.value, float(distance), is_minimum, len(path) - 1, tuple(path), diverges, joined
    )


def _start(cells: Cells, structure: ScoreStructure, start: Coefficients, ridge: Ridge) -> _Point:
    """The nearest member of the structure, drawn in to where the likelihood is not flat."""
    scores, frame = structure.member(start.scores)
    here = _evaluate(cells, Coefficients(scores, start.judge, start.shared), frame, ridge)
    largest = _extent(here)
    if largest <= _FLAT:
        return here
    shrink = _FLAT / largest
    at = Coefficients(shrink * scores, shrink * start.judge, shrink * start.shared)
    return _evaluate(cells, at, replace(frame, strength=shrink * frame.strength), ridge)


def _evaluate(cells: Cells, at: Coefficients, frame: Frame, ridge: Ridge) -> _Point:
    here = evaluate(cells, at)
    value = here.value + ridge.value(cells, at) if ridge else here.value
    return _Point(at, frame, here, value)


def _descend(
    cells: Cells, structure: ScoreStructure, here: _Point, proposal: _Proposal, damping: float, ridge: Ridge
) -> tuple[tuple[_Step, _Point, float] | None, float]:
    """Raise the damping until a step does what the quadratic model promises.

    Returns the step, where it leads and the largest change of a log-odds, or None; and the damping to go on with.
    """
    first_damping = _FIRST_DAMPING if _extent(here) <= _OUT_OF_SIGHT else _FIRST_DAMPING_FAR_OUT
    while proposal.scale > 0 and damping <= 1e12 * proposal.scale:
        step = proposal.step(damping)
        if step is not None:
            scores, frame = structure.move(here.at.scores, here.frame, step.own, step.item)
            at = Coefficients(scores, here.at.judge + step.judge, here.at.shared + step.shared)
            there = _evaluate(cells, at, frame, ridge)
            # Below rounding error of the objective the ratio is noise: a step so small is simply taken.
            negligible = step.is_negligible(here.value)
            ratio = 1.0 if negligible else (here.value - there.value) / step.expected_gain
            moved = _largest_change(here, there)
            if isfinite(there.value) and ratio > 1e-3 and moved < _STRIDE:
                if ratio < 0.25:
                    damping = max(4.0 * damping, 1e-3 * proposal.scale)
                elif ratio > 0.75:
                    damping = damping / 8.0 if damping > 1e-4 * proposal.scale else 0.0
                return (step, there, moved), damping
        damping = max(4.0 * damping, first_damping * proposal.scale)
    return None, damping


def _largest_change(here: _Point, there: _Point) -> float:
    """The largest change of a fitted log-odds between two points."""
    return float(np.abs(there.cells.eta - here.cells.eta).max(initial=0.0))


def _extent(point: _Point) -> float:
    """The largest fitted log-odds."""
    return float(np.abs(point.cells.eta).max(initial=0.0))


class _DenseSystem:
    """Information at one point as a matrix with judge blocks, solved by eliminating them."""

    def __init__(self, cells: Cells, here: _Point, ridge: Ridge, bending: np.ndarray) -> None:
        self.frame, self.bending = here.frame, bending
        self.plain = expected_information(cells, here.cells, here.frame)
        self.expected = ridge.add_to_information(cells, self.plain, here.frame) if ridge else self.plain

    @cached_property
    def observed(self) -> Arrow:
        """Observed information: the expected one plus the bending of the low-rank structure."""
        return observed_information(self.expected, self.frame, self.bending)

    def diagonals(self) -> tuple[np.ndarray, np.ndarray]:
        """Information about own coordinates, summed over judges, and about shared ones."""
        return np.einsum("kff->f", self.plain.judge), np.einsum("ss->s", self.plain.shared)

    def quadratic_form(self, own: np.ndarray, shared: np.ndarray) -> float:
        """Observed information in a direction times its squared length."""
        return self.observed.quadratic_form(own, shared)

    def solve(
        self,
        own: np.ndarray,
        shared: np.ndarray,
        own_damping: np.ndarray | None = None,
        shared_damping: np.ndarray | None = None,
        *,
        observed: bool = True,
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Solve the system, damped or not; None where it is not positive definite."""
        return solve_arrow(self.observed if observed else self.expected, own, shared, own_damping, shared_damping)


class _Proposal:
    """The quadratic model at one point, solved for any damping."""

    def __init__(self, cells: Cells, here: _Point, ridge: Ridge):
        frame = self.frame = here.frame
        slopes = gradient(cells, here.cells)
        if ridge:
            slopes = ridge.add_to_gradient(cells, slopes, here.at)
        self.own_gradient, self.shared_gradient = coordinates(slopes, frame)
        self.system: _DenseSystem | ProductSystem = (
            ProductSystem(cells, here.cells, frame, ridge.scores, ridge.terms, slopes.scores)
            if len(self.shared_gradient) > MANY
            else _DenseSystem(cells, here, ridge, slopes.scores)
        )
        self._diagonals = own, shared = self.system.diagonals()
        f, moves = frame.judge_items.shape[1], frame.shared_judges.shape[1] * frame.n_shared
        self.scale = float(own[:f].sum() + shared[:moves].sum()) / (f * frame.n_judges + moves)

    @cached_property
    def units(self) -> tuple[np.ndarray, np.ndarray]:
        """Units of the damping, shapes (f + e,) and (s,): one for all scores, for a coefficient that of its regressor."""
        own, shared = self._diagonals
        f, moves = self.frame.judge_items.shape[1], self.frame.shared_judges.shape[1] * self.frame.n_shared
        own_unit, shared_unit = np.ones(len(own)), np.ones(len(shared))
        own_unit[f:] = own[f:] / (self.frame.n_judges * self.scale)
        shared_unit[moves:] = shared[moves:] / self.scale
        return own_unit, shared_unit

    def step(self, damping: float) -> _Step | None:
        """Solution of the damped system: Newton where the observed information allows it, otherwise Fisher scoring."""
        strength = self.frame.strength
        if not strength.size:
            return self._solve(damping, is_newton=True)
        newton = None
        if strength[-1] > _ABSENT * strength[0]:
            newton = self._solve(damping, is_newton=True)
        return newton or self._solve(damping, is_newton=False)

    def _solve(self, damping: float, is_newton: bool) -> _Step | None:
        own_damping = shared_damping = None
        if damping:
            own_unit, shared_unit = self.units
            own_damping, shared_damping = damping * own_unit, damping * shared_unit
        solution = self.system.solve(
            self.own_gradient, self.shared_gradient, own_damping, shared_damping, observed=is_newton
        )
        if solution is None:
            return None
        own, shared = -solution[0], -solution[1]
        slope = float(np.vdot(own, self.own_gradient) + np.vdot(shared, self.shared_gradient))
        resistance = 0.0
        if own_damping is not None and shared_damping is not None:
            resistance = float(np.vdot(own * own_damping, own) + np.vdot(shared * shared_damping, shared))
        f, g, n_shared = (
            self.frame.judge_items.shape[1],
            self.frame.shared_judges.shape[1],
            self.frame.n_shared,
        )
        return _Step(
            own=own[:, :f],
            judge=own[:, f:],
            item=shared[: g * n_shared].reshape(g, n_shared),
            shared=shared[g * n_shared :],
            slope=slope,
            expected_gain=0.5 * (resistance - slope),
            damping=damping,
            is_newton=is_newton,
        )


def solve_arrow(
    arrow: Arrow,
    own: np.ndarray,
    shared: np.ndarray,
    own_damping: np.ndarray | float | None = None,
    shared_damping: np.ndarray | float | None = None,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Solve a positive definite arrow system by eliminating the judge blocks; None if it is not positive definite.

    Parameters
    ----------
    own : ndarray, shape (n_judges, f)
    shared : ndarray, shape (s,)
    own_damping, shared_damping : ndarray, shapes (f,) and (s,), or float, optional
        Added to the diagonals.
    """
    judge, block = arrow.judge, arrow.shared
    n_judges, f = own.shape
    if own_damping is not None:
        judge = judge + own_damping * np.eye(f)
    if shared_damping is not None:
        block = block + shared_damping * np.eye(len(shared))
    try:
        right = np.concatenate([arrow.coupling, own[:, :, None]], axis=2)
        # Judge blocks are sums of squares: they can be singular, but not indefinite. They are so small that a product with
        # the inverse takes a third of the time of solving.
        eliminated = (np.linalg.inv(judge) @ right).reshape(n_judges * f, len(shared) + 1)
    except LinAlgError:
        return None
    reduced = arrow.coupling.reshape(n_judges * f, len(shared)).T @ eliminated
    schur = block - reduced[:, :-1]
    if not np.isfinite(schur).all():
        return None
    factor, failed = dpotrf(schur, lower=True)
    if failed:
        return None
    solution = dpotrs(factor, shared - reduced[:, -1], lower=True)[0] if len(shared) else shared
    back = eliminated[:, -1] - eliminated[:, :-1] @ solution
    return back.reshape(n_judges, f), solution
