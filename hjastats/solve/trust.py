"""Damped Newton steps on the set of allowed score matrices, from one start or from several at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite, nan, sqrt
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..data.cells import Cells
from ..model.design import Coefficients, Design
from ..model.structures import LowRank, ScoreStructure, is_small
from ..model.tangent import TangentBasis, centred
from .products import ProductSystem, coordinates
from .quadratic import DenseSystem, Point, QuadraticModel, combined, evaluated, is_many
from .ridge import NO_RIDGE, Ridge

# A point counts as stationary when a further Newton step would move it by less than this many standard errors.
STATIONARY = 1e-6
# The same for a step that is not worked out but foretold from the last two.
_FORETOLD = 1e-9
# Log-odds beyond which a verdict carries no information any more; no start may lie out there.
_FLAT = 12.0
# Log-odds no finite number of verdicts can estimate: a run that uses up its iterations out there is on its way to infinity.
_BEYOND = 30.0
_OUT_OF_SIGHT = 100.0
# Longest step, in log-odds: where the likelihood is flat its quadratic model would go anywhere.
_STRIDE = 30.0
# Damping tried first after a step without any has failed, in units of the average information.
_FIRST_DAMPING = 1e-2
# The same for runs out of sight: they end when a step gains little, and a damped step gains little because it is short.
_FIRST_DAMPING_FAR_OUT = 1e-3


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
        Length of the next Newton step in standard errors, as the last ones foretell it; nan where the information is not
        positive definite.
    is_minimum : bool
        Whether the observed information is positive definite.
    iterations : int
    path : tuple of float
        Objective after each iteration.
    diverges : bool
        Whether the scores were running to infinity when the run was stopped.
    """

    at: Coefficients
    value: float
    negative_loglike: float
    distance: float
    is_minimum: bool
    iterations: int
    path: tuple[float, ...]
    diverges: bool = False

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
    tangent : TangentBasis
    information : DenseSystem or ProductSystem
    radius : float
        Log-likelihood units within which a run can be recognised as heading for the optimum.
    """

    at: Coefficients
    value: float
    tangent: TangentBasis
    information: DenseSystem | ProductSystem
    radius: float

    def contains(self, at: Coefficients, value: Any) -> Any:
        """Whether a point, or each of a stack of them, is within the radius, and as much worse as its distance predicts."""
        excess = value - self.value
        move = Coefficients(at.scores - self.at.scores, at.judge - self.at.judge, at.shared - self.at.shared)
        predicted = 0.5 * self.information.quadratic_form(*coordinates(move, self.tangent))
        is_near = (excess >= 0.0) & (excess <= self.radius) & (predicted < self.radius)
        return is_near & (abs(excess - predicted) <= 0.2 * predicted)


def neighbourhood(cells: Design, optimum: Point, radius: float, ridge: Ridge = NO_RIDGE) -> Neighbourhood:
    """What a run from another start needs to know of an optimum."""
    information = QuadraticModel(cells, optimum, ridge).system
    return Neighbourhood(optimum.at, float(optimum.value), optimum.tangent, information, radius)


class Surroundings(Protocol):
    """What a run seldom needs to know of where it is."""

    @property
    def extent_there(self) -> float:
        """Largest fitted log-odds after a step."""

    @property
    def extent_here(self) -> float:
        """The same before it."""

    @property
    def scale(self) -> float:
        """Average information per coordinate, the unit of damping."""


class _Around(NamedTuple):
    """Surroundings of a run among others, worked out when they are asked for."""

    runs: Runs
    model: QuadraticModel
    here: Point
    there: Point | None
    i: int | None = None

    @property
    def scale(self) -> float:
        return float(self._own(self.model.scale))

    @property
    def extent_here(self) -> float:
        return float(self._own(self.runs.extent(self.here)))

    @property
    def extent_there(self) -> float:
        assert self.there is not None
        return float(self._own(self.runs.extent(self.there)))

    def _own(self, values: Any) -> Any:
        return values if self.i is None else values[self.i]


@dataclass
class Run:
    """One maximisation: what it has seen, and how it goes on.

    Attributes
    ----------
    path : list of float
        Objective at the start and after each iteration.
    unit : float
        What counts as one unit of the likelihood: likelihoods scale with the weights, and what counts as nothing must do so too.
    length : float
        Of the last Newton step, in standard errors; infinite after a step of another kind.
    surprise : tuple of float
        How far the last gain was from what the quadratic model had promised, and as a share of it.
    """

    path: list[float]
    unit: float
    maxiter: int
    damping: float = 0.0
    distance: float = np.inf
    is_minimum: bool = False
    diverges: bool = False
    ended: bool = False
    length: float = np.inf
    surprise: tuple[float, float] = (np.inf, np.inf)

    @property
    def value(self) -> float:
        """The objective so far."""
        return self.path[-1]

    def accept(
        self, value: float, slope: float, expected: float, is_newton: bool, moved: float, around: Surroundings
    ) -> bool:
        """Take a step that does what the quadratic model promises, and see whether it was the last.

        Parameters
        ----------
        slope, expected : float
            Change per unit of the step, and gain, according to the quadratic model.
        moved : float
            Largest change of a log-odds.
        """
        # Below rounding error of the objective the ratio is noise: a step so small is simply taken.
        negligible = expected <= 1e-12 * abs(self.value) + 1e-300
        ratio = 1.0 if negligible else (self.value - value) / expected
        if not (isfinite(value) and ratio > 1e-3 and moved < _STRIDE):
            return False
        damping = self.damping
        if ratio < 0.25:
            self.damping = max(4.0 * damping, 1e-3 * around.scale)
        elif ratio > 0.75 and damping:
            self.damping = damping / 8.0 if damping > 1e-4 * around.scale else 0.0
        if damping == 0.0:
            self.is_minimum = is_newton
            self.distance = self._foretell(sqrt(max(-slope, 0.0) / self.unit)) if is_newton else nan
        if damping or not is_newton:
            self.length = np.inf
        # Moving on by half a log-odds and more for no gain worth the name: the scores run to infinity. The step is not taken:
        # what is finite would drown in what is not.
        self.diverges = expected < 1e-6 * self.unit and moved > 0.5
        # Some valleys rise to infinity ever more slowly; far beyond what verdicts can tell, a small gain is enough.
        self.diverges |= expected < 1e-2 * self.unit and around.extent_there > _OUT_OF_SIGHT
        if self.diverges:
            self.ended = True
            return False
        error = abs(self.value - value - expected)
        self.surprise = error, error / (expected + 1e-300)
        self.path.append(value)
        if (self.distance <= STATIONARY and self.is_minimum and moved < 1e-3) or (negligible and not is_newton):
            self.ended = True
        elif len(self.path) > self.maxiter:
            self.ended, self.diverges = True, around.extent_there > _BEYOND
        return True

    def refuse(self, around: Surroundings) -> None:
        """There is no step, or it does not do what was promised: raise the damping, and give up when there is no more of it."""
        scale = around.scale
        first = _FIRST_DAMPING if around.extent_here <= _OUT_OF_SIGHT else _FIRST_DAMPING_FAR_OUT
        self.damping = max(4.0 * self.damping, first * scale)
        self.ended |= not (scale > 0 and self.damping <= 1e12 * scale)

    def _foretell(self, length: float) -> float:
        """Length of the next Newton step: lengths fall quadratically, so that the ratio of two is the square of the last ratio."""
        ratio, self.length = length / max(self.length, 1e-300), length
        foretold = length * ratio**2 if 0.0 < ratio < 1.0 else length
        return foretold if foretold <= _FORETOLD else length

    def outcome(self, at: Coefficients, value: float, negative_loglike: float) -> Optimum:
        """Where the run has come to."""
        return Optimum(
            at,
            value,
            negative_loglike,
            self.distance,
            self.is_minimum,
            len(self.path) - 1,
            tuple(self.path),
            self.diverges,
        )


def stacked(members: Sequence[Coefficients]) -> Coefficients:
    """Coefficients along a new first axis of all arrays."""
    parts = zip(*((member.scores, member.judge, member.shared) for member in members), strict=True)
    return Coefficients(*(np.stack(part) for part in parts))


def part_of(stack: Coefficients, which: int | slice) -> Coefficients:
    """One or several members of a stack."""
    return Coefficients(stack.scores[which], stack.judge[which], stack.shared[which])


class Place(NamedTuple):
    """Where a run is: a point, or a member of a stack of them."""

    point: Point
    i: int | None = None

    @property
    def at(self) -> Coefficients:
        """The coefficients there."""
        return self.point.at if self.i is None else part_of(self.point.at, self.i)

    def of(self, values: Any) -> Any:
        """What belongs to this place of something known for the whole stack."""
        return values if self.i is None else values[self.i]

    def alone(self) -> Point:
        """The point by itself."""
        return self.point if self.i is None else combined(self.of, self.point)


def likelihood_unit(cells: Cells) -> float:
    """What counts as one unit of the likelihood: a comparison, or less where weights are less."""
    return min(1.0, float(cells.n.sum()) / max(int(np.count_nonzero(cells.n)), 1))


@dataclass
class Runs:
    """Maximisations that move at the same time.

    Small panels cost calls, not arithmetic: the points of all runs are then one stack, and a step of all costs little more than
    a step of one.
    """

    cells: Design
    structure: ScoreStructure
    ridge: Ridge = NO_RIDGE
    maxiter: int = 200
    members: list[Run] = field(default_factory=list)
    _here: Point | None = None
    _model: QuadraticModel | None = None

    @property
    def can_stack(self) -> bool:
        """Whether the arithmetic of this panel knows stacks."""
        if not isinstance(self.structure, LowRank) or not self.cells.has_dense_laplacians:
            return False
        n_judges, n_items = self.cells.n_judges, self.cells.n_items
        n_moves = self.structure.matrix_rank * (n_items - 1 - self.structure.matrix_rank)
        return is_small(n_judges, n_items) and n_moves > 0 and not is_many(n_moves + self.cells.n_shared_terms)

    @cached_property
    def _compared(self) -> np.ndarray | None:
        """Ones for cells with comparisons and zeros for empty ones; None if all have some."""
        return None if self.cells.n.all() else (self.cells.n > 0).astype(float)

    def start(self, starts: Coefficients) -> None:
        """Begin at the members of the structure next to a stack of these, drawn in to where the likelihood is not flat."""
        self._here = self._first(starts if len(starts.scores) > 1 else part_of(starts, 0))
        values, unit = np.atleast_1d(self._here.value).tolist(), likelihood_unit(self.cells)
        self.members = [Run([value], unit, self.maxiter, ended=self.maxiter < 1) for value in values]
        self._model = None

    def enter(self, further: Sequence[tuple[Run, Place]]) -> None:
        """Let runs go on from where they are."""
        if not further:
            return
        points = [place.alone() for place in [*map(self.place, range(len(self.members))), *(p for _, p in further)]]
        self.members = self.members + [run for run, _ in further]
        self._model = None
        self._here = points[0] if len(points) == 1 else combined(lambda *arrays: np.stack(arrays), *points)

    def place(self, i: int) -> Place:
        """Where a run is."""
        assert self._here is not None
        return Place(self._here, None if len(self.members) == 1 else i)

    @staticmethod
    def outcome(run: Run, place: Place) -> Optimum:
        """Where a run has come to."""
        at, point = place.at, place.point
        at = replace(at, scores=centred(at.scores))
        return run.outcome(at, float(place.of(point.value)), float(place.of(point.cells.value)))

    def leave(self, gone: Sequence[int]) -> list[tuple[Run, Place]]:
        """Take runs out, with where they are."""
        if not gone:
            return []
        out = [(self.members[i], self.place(i)) for i in gone]
        kept = [i for i in range(len(self.members)) if i not in gone]
        if kept and self._here is not None:
            index = kept[0] if len(kept) == 1 else np.array(kept)
            self._here = combined(lambda array: array[index], self._here)
        self.members = [self.members[i] for i in kept]
        self._model = None
        return out

    def advance(self) -> None:
        """One attempt of every run."""
        if len(self.members) == 1:
            self._advance_one(self.members[0])
        else:
            self._advance_all()

    def _first(self, start: Coefficients) -> Point:
        scores, tangent = self.structure.member(start.scores)
        here = evaluated(self.cells, Coefficients(scores, start.judge, start.shared), tangent, self.ridge)
        extent = self.extent(here)
        if extent.max() <= _FLAT:
            return here
        shrink = np.asarray(_FLAT / np.maximum(extent, _FLAT))[..., None]
        at = Coefficients(shrink[..., None] * scores, shrink[..., None] * start.judge, shrink * start.shared)
        return evaluated(self.cells, at, replace(tangent, strength=shrink * tangent.strength), self.ridge)

    def extent(self, at: Point) -> Any:
        """The largest fitted log-odds."""
        return self._largest(at.cells.eta)

    def _largest(self, eta: np.ndarray) -> Any:
        size = np.abs(eta)
        if self._compared is not None:
            size *= self._compared
        return size.max(axis=-1, initial=0.0)

    def _advance_one(self, run: Run) -> None:
        here = self._here
        assert here is not None
        # Kept while steps are refused.
        self._model = model = self._model or QuadraticModel(self.cells, here, self.ridge)
        step, there = model.step(run.damping), None
        if step is not None:
            there = step.taken(self.cells, self.structure, here, self.ridge)
            moved = float(self._largest(there.cells.eta - here.cells.eta))
            around = _Around(self, model, here, there)
            if run.accept(float(there.value), step.slope, step.expected_gain, step.is_newton, moved, around):
                self._here, self._model = there, None
                return
        run.refuse(_Around(self, model, here, there))

    def _advance_all(self) -> None:
        here = self._here
        assert here is not None
        model = QuadraticModel(self.cells, here, self.ridge)
        step, solved = model.steps(np.array([run.damping for run in self.members]))
        there = step.taken(self.cells, self.structure, here, self.ridge)
        moved = self._largest(there.cells.eta - here.cells.eta)
        facts = (solved, there.value, step.slope, step.expected_gain, step.is_newton, moved)
        around = [_Around(self, model, here, there, i) for i in range(len(self.members))]
        is_taken = [
            has_step and run.accept(value, slope, gain, is_newton, change, own)
            for run, own, has_step, value, slope, gain, is_newton, change in zip(
                self.members, around, *(array.tolist() for array in facts), strict=True
            )
        ]
        if all(is_taken):
            self._here = there
            return
        for run, taken, own in zip(self.members, is_taken, around, strict=True):
            if not taken:
                run.refuse(own)
        mask = np.array(is_taken)
        self._here = combined(lambda new, old: np.where(mask.reshape(-1, *[1] * (new.ndim - 1)), new, old), there, here)


def maximise(
    cells: Design,
    structure: ScoreStructure,
    start: Coefficients,
    *,
    ridge: Ridge = NO_RIDGE,
    maxiter: int = 200,
) -> Optimum:
    """Maximise the likelihood of the cells within a structure from one starting point.

    Newton steps with the observed information where it is positive definite, Fisher scoring steps elsewhere, both
    damped in the orthonormal coordinates of the current tangent until the likelihood follows its quadratic model.

    Parameters
    ----------
    ridge : Ridge
        Penalty on the scores and, if asked for, on the linear coefficients.
    """
    runs = Runs(cells, structure, ridge, maxiter)
    runs.start(stacked([start]))
    while not runs.members[0].ended:
        runs.advance()
    return runs.outcome(runs.members[0], runs.place(0))
