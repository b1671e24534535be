"""Damped Newton steps on the set of allowed score matrices, from one start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, isfinite, nan, sqrt
from typing import NamedTuple

import numpy as np

from ..data.cells import Cells
from ..model.design import Coefficients, Design
from ..model.structures import ScoreStructure
from ..model.tangent import TangentBasis, centred
from .products import ProductSystem, coordinates
from .quadratic import DenseSystem, QuadraticModel, State, Step, state_at
from .ridge import NO_RIDGE, Ridge

# A state counts as stationary when a further Newton step would move it by less than this many standard errors.
STATIONARY = 1e-6
# A Newton step as short as this is the last: the next one would be about as long as its square.
_LAST = 3e-5
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
        Length of the next Newton step in standard errors, as the last one foretells it; nan where the information is not
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


class Neighbourhood(NamedTuple):
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

    def contains(self, at: Coefficients, value: float) -> bool:
        """Whether a state is within the radius, and as much worse as its distance predicts."""
        excess = value - self.value
        if not 0.0 <= excess <= self.radius:
            return False
        move = Coefficients(at.scores - self.at.scores, at.judge - self.at.judge, at.shared - self.at.shared)
        predicted = 0.5 * self.information.quadratic_form(*coordinates(move, self.tangent))
        return predicted < self.radius and abs(excess - predicted) <= 0.2 * predicted


def neighbourhood(cells: Design, optimum: State, radius: float, ridge: Ridge = NO_RIDGE) -> Neighbourhood:
    """What a run from another start needs to know of an optimum."""
    information = QuadraticModel(cells, optimum, ridge).system
    return Neighbourhood(optimum.at, optimum.value, optimum.tangent, information, radius)


def likelihood_unit(cells: Cells) -> float:
    """What counts as one unit of the likelihood: a comparison, or less where weights are less.

    Likelihoods scale with the weights, and what counts as nothing must do so too.
    """
    return min(1.0, float(cells.n.sum()) / max(int(np.count_nonzero(cells.n)), 1))


def next_length(length: float) -> float:
    """Length of the Newton step after one of this length: short ones fall quadratically."""
    return length**2 if length <= _LAST else length


class _Trial(NamedTuple):
    """A step that does what was promised.

    Attributes
    ----------
    moved : float
        Largest change of a log-odds.
    ratio : float
        The gain relative to the expected one.
    is_negligible : bool
        Whether the expected gain is below rounding error of the objective.
    """

    step: Step
    there: State
    moved: float
    ratio: float
    is_negligible: bool


class Run:
    """One maximisation on its way.

    Attributes
    ----------
    state : State
        Where it is.
    path : list of float
        Objective at the start and after each iteration.
    ended : bool
    """

    def __init__(
        self,
        cells: Design,
        structure: ScoreStructure,
        start: Coefficients,
        ridge: Ridge = NO_RIDGE,
        maxiter: int = 200,
    ) -> None:
        self.cells, self.structure, self.ridge, self.maxiter = cells, structure, ridge, maxiter
        self.unit = likelihood_unit(cells)
        self._compared = slice(None) if cells.n.all() else cells.n > 0
        self.state = self._first(start)
        self.path = [self.state.value]
        self.damping, self.distance = 0.0, inf
        self.is_minimum = self.diverges = False
        self.ended = maxiter < 1
        self._model: QuadraticModel | None = None

    def _first(self, start: Coefficients) -> State:
        """The member of the structure next to a start, drawn in to where the likelihood is not flat."""
        scores, tangent = self.structure.member(start.scores)
        here = state_at(self.cells, Coefficients(scores, start.judge, start.shared), tangent, self.ridge)
        extent = self.extent(here)
        if extent <= _FLAT:
            return here
        shrink = _FLAT / extent
        judge = np.where(self.cells.is_own_parameter, shrink * start.judge, start.judge)
        at = Coefficients(shrink * scores, judge, shrink * start.shared)
        return state_at(self.cells, at, replace(tangent, strength=shrink * tangent.strength), self.ridge)

    def extent(self, state: State) -> float:
        """The largest fitted log-odds of a pair that was compared."""
        return self._largest(state.derivatives.eta)

    def _largest(self, eta: np.ndarray) -> float:
        return float(np.abs(eta[self._compared]).max(initial=0.0))

    @property
    def model(self) -> QuadraticModel:
        """The quadratic model where the run is; kept while steps are refused."""
        if self._model is None:
            self._model = QuadraticModel(self.cells, self.state, self.ridge)
        return self._model

    def advance(self) -> None:
        """Take a step that does what the quadratic model promises; where there is none, raise the damping."""
        trial = self._try()
        if trial is None:
            self._raise_damping()
            return
        step = trial.step
        if self.damping == 0.0:
            self.is_minimum = step.is_newton
            self.distance = next_length(sqrt(max(-step.slope, 0.0) / self.unit)) if step.is_newton else nan
        if self._runs_away(trial):
            # The step is not taken: far out, rounding would spoil the scores that are finite.
            self.ended = self.diverges = True
            return
        self._adapt_damping(trial.ratio)
        self.state, self._model = trial.there, None
        self.path.append(trial.there.value)
        is_there = self.distance <= STATIONARY and self.is_minimum and trial.moved < 1e-3
        if is_there or (trial.is_negligible and not step.is_newton):
            self.ended = True
        elif len(self.path) > self.maxiter:
            self.ended, self.diverges = True, self.extent(self.state) > _BEYOND

    def _try(self) -> _Trial | None:
        step = self.model.step(self.damping)
        if step is None:
            return None
        value, there = self.state.value, step.taken(self.cells, self.structure, self.state, self.ridge)
        moved = self._largest(there.derivatives.eta - self.state.derivatives.eta)
        # Below rounding error the ratio is noise: a step so small is simply taken.
        is_negligible = step.expected_gain <= 1e-12 * abs(value) + 1e-300
        ratio = 1.0 if is_negligible else (value - there.value) / step.expected_gain
        is_good = isfinite(there.value) and ratio > 1e-3 and moved < _STRIDE
        return _Trial(step, there, moved, ratio, is_negligible) if is_good else None

    def _runs_away(self, trial: _Trial) -> bool:
        """Whether the scores run to infinity: they move on by half a log-odds and more for no gain worth the name."""
        expected = trial.step.expected_gain
        if expected < 1e-6 * self.unit and trial.moved > 0.5:
            return True
        # Some valleys rise to infinity ever more slowly; far beyond what verdicts can tell, a small gain is enough.
        return expected < 1e-2 * self.unit and self.extent(trial.there) > _OUT_OF_SIGHT

    def _adapt_damping(self, ratio: float) -> None:
        """Damp more after a step that gained little of what was expected, less after one that gained nearly all."""
        if ratio < 0.25:
            self.damping = max(4.0 * self.damping, 1e-3 * self.model.scale)
        elif ratio > 0.75 and self.damping:
            self.damping = self.damping / 8.0 if self.damping > 1e-4 * self.model.scale else 0.0

    def _raise_damping(self) -> None:
        """Damp more after a step that failed, and give up where there is no more damping to try."""
        scale = self.model.scale
        first = _FIRST_DAMPING if self.extent(self.state) <= _OUT_OF_SIGHT else _FIRST_DAMPING_FAR_OUT
        self.damping = max(4.0 * self.damping, first * scale)
        self.ended = not (scale > 0 and self.damping <= 1e12 * scale)

    def outcome(self) -> Optimum:
        """What the run has come to."""
        return Optimum(
            replace(self.state.at, scores=centred(self.state.at.scores)),
            self.state.value,
            float(self.state.derivatives.value),
            self.distance,
            self.is_minimum,
            len(self.path) - 1,
            tuple(self.path),
            self.diverges,
        )


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
    run = Run(cells, structure, start, ridge, maxiter)
    while not run.ended:
        run.advance()
    return run.outcome()
