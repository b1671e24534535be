"""Damped Newton steps on the set of allowed score matrices, with judge blocks eliminated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..data.cells import Cells
from ..geometry.parameters import Coefficients
from ..geometry.structures import Frame, ScoreStructure, centred
from ..likelihood import (
    Arrow,
    Derivatives,
    Gradient,
    bernoulli,
    expected_information,
    gradient,
    linear_predictor,
    observed_information,
)

# A point counts as stationary when a further Newton step would move it by less than this many standard errors.
STATIONARY = 1e-6


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
    joined: int | None = None

    @property
    def is_stationary(self) -> bool:
        """Whether the free gradient vanishes for all statistical purposes."""
        return bool(self.distance <= STATIONARY)

    @property
    def converged(self) -> bool:
        """Small free gradient and positive definite information."""
        return self.is_stationary and self.is_minimum


@dataclass(frozen=True)
class Neighbourhood:
    """The region around an optimum in which the likelihood is the quadratic function its information predicts."""

    eta: np.ndarray
    curvature: np.ndarray
    value: float

    def contains(self, eta: np.ndarray, value: float) -> bool:
        """Whether a point lies within about one standard error, and is as much worse as the distance predicts."""
        predicted = 0.5 * float(np.dot(self.curvature, (eta - self.eta) ** 2))
        return predicted < 0.5 and abs(value - self.value - predicted) <= 0.2 * predicted


@dataclass(frozen=True)
class _Step:
    own: np.ndarray
    judge: np.ndarray
    item: np.ndarray
    shared: np.ndarray
    slope: float
    squared: float


def maximise(
    cells: Cells,
    structure: ScoreStructure,
    start: Coefficients,
    *,
    ridge: float = 0.0,
    maxiter: int = 200,
    known: Sequence[Neighbourhood] = (),
) -> Optimum:
    """Maximise the likelihood of the cells within a structure from one starting point.

    Newton steps with the observed information where it is positive definite, Fisher scoring steps elsewhere, both
    damped in the orthonormal coordinates of the current frame until the likelihood follows its quadratic model.

    Parameters
    ----------
    ridge : float
        Adds ``ridge / 2`` times the sum of squared scores to the negative log-likelihood.
    known : sequence of Neighbourhood
        Optima found from other starts; a run that comes close to one of them ends there.
    """
    scores = structure.nearest(start.scores)
    frame = structure.frame(scores)
    at = replace(start, scores=scores)
    here = bernoulli(linear_predictor(cells, at), cells.n, cells.y)
    value = here.value + 0.5 * ridge * float(np.vdot(scores, scores))
    damping, path = 0.0, [value]
    distance, is_minimum, iteration = np.inf, False, 0
    joined: int | None = None
    for iteration in range(1, maxiter + 1):
        slopes = gradient(cells, here.slope)
        slopes = replace(slopes, scores=slopes.scores + ridge * at.scores)
        proposal = _Proposal(cells, here, slopes, frame, ridge)
        accepted = False
        while not accepted and damping < 1e12:
            step, is_minimum = proposal.step(damping)
            if step is None:
                damping = max(4.0 * damping, 1e-3 * proposal.scale)
                continue
            if damping == 0.0:
                distance = np.sqrt(max(-step.slope, 0.0)) if is_minimum else np.nan
            new_scores, new_frame = structure.move(at.scores, frame, step.own, step.item)
            new_at = Coefficients(new_scores, at.judge + step.judge, at.shared + step.shared)
            eta = linear_predictor(cells, new_at)
            new = bernoulli(eta, cells.n, cells.y)
            new_value = new.value + 0.5 * ridge * float(np.vdot(new_scores, new_scores))
            expected = 0.5 * (damping * step.squared - step.slope)
            # Below rounding error of the objective the ratio is noise: a step so small is simply taken.
            negligible = expected <= 1e-12 * (1.0 + abs(value))
            ratio = (value - new_value) / expected if expected > 0 else 1.0
            accepted = bool(np.isfinite(new_value)) and (negligible or ratio > 1e-3)
            if not accepted or (ratio < 0.25 and not negligible):
                damping = max(4.0 * damping, 1e-3 * proposal.scale)
            elif ratio > 0.75:
                damping = damping / 8.0 if damping > 1e-4 * proposal.scale else 0.0
        if not accepted:
            break
        at, frame, here, value = new_at, new_frame, new, new_value
        path.append(value)
        if distance <= STATIONARY and is_minimum:
            break
        joined = next((i for i, other in enumerate(known) if other.contains(eta, value)), None)
        if joined is not None:
            break
    at = replace(at, scores=centred(at.scores))
    return Optimum(at, value, here.value, float(distance), is_minimum, iteration, tuple(path), joined)


class _Proposal:
    """The quadratic model at one point, solved for any damping."""

    def __init__(self, cells: Cells, here: Derivatives, slopes: Gradient, frame: Frame, ridge: float):
        self.cells, self.slopes, self.frame = cells, slopes, frame
        n_own = frame.judge_items.shape[1]
        expected = expected_information(cells, here.curvature, frame)
        self.expected = _pinned(expected, frame, n_own, ridge)
        self.curved = bool(frame.strength.size)
        self._observed: Arrow | None = None
        diagonal = np.concatenate([np.einsum("kff->kf", expected.judge).ravel(), np.diag(expected.shared)])
        self.scale = float(diagonal.mean())
        self.own_gradient = np.hstack([slopes.scores @ frame.judge_items, slopes.judge])
        self.shared_gradient = np.concatenate([(frame.shared_judges.T @ slopes.scores).ravel(), slopes.shared])

    @property
    def observed(self) -> Arrow:
        """Observed information: the expected one plus the bending of the low-rank structure."""
        if self._observed is None:
            self._observed = observed_information(self.expected, self.frame, self.slopes.scores)
        return self._observed

    def step(self, damping: float) -> tuple[_Step | None, bool]:
        """Solution of the damped system, and whether it used positive definite observed information."""
        if self.curved:
            step = self._solve(self.observed, damping)
            if step is not None:
                return step, True
        step = self._solve(self.expected, damping)
        return step, not self.curved and step is not None

    def _solve(self, arrow: Arrow, damping: float) -> _Step | None:
        solution = solve_arrow(arrow, self.own_gradient, self.shared_gradient, damping)
        if solution is None:
            return None
        own, shared = -solution[0], -solution[1]
        slope = float(np.vdot(own, self.own_gradient) + np.vdot(shared, self.shared_gradient))
        f = self.frame.judge_items.shape[1]
        g, n_items = self.frame.shared_judges.shape[1], self.frame.n_items
        return _Step(
            own=own[:, :f],
            judge=own[:, f:],
            item=shared[: g * n_items].reshape(g, n_items),
            shared=shared[g * n_items :],
            slope=slope,
            squared=float(np.vdot(own, own) + np.vdot(shared, shared)),
        )


def _pinned(arrow: Arrow, frame: Frame, n_own: int, ridge: float) -> Arrow:
    """Give the directions that do not move the scores a stiffness of their own, and add the ridge.

    Shared movements along ``frame.fixed_items`` either change nothing (the constant) or repeat what the judges' own
    coordinates do; with some stiffness the solution leaves them alone and no basis of the complement is needed.
    """
    g, n_items = frame.shared_judges.shape[1], frame.n_items
    judge, shared = arrow.judge, arrow.shared
    if ridge:
        judge = judge.copy()
        index = np.arange(n_own)
        judge[:, index, index] += ridge
    if g:
        shared = shared.copy()
        size = g * n_items
        stiffness = np.trace(shared[:size, :size]) / size + ridge
        pin = stiffness * (frame.fixed_items @ frame.fixed_items.T)
        blocks = shared[:size, :size].reshape(g, n_items, g, n_items)
        for a in range(g):
            blocks[a, :, a] += pin
            blocks[a, :, a].flat[:: n_items + 1] += ridge
        shared[:size, :size] = blocks.reshape(size, size)
    return Arrow(judge, arrow.coupling, shared)


def solve_arrow(
    arrow: Arrow, own: np.ndarray, shared: np.ndarray, damping: float = 0.0
) -> tuple[np.ndarray, np.ndarray] | None:
    """Solve a positive definite arrow system by eliminating the judge blocks; None if it is not positive definite.

    Parameters
    ----------
    own : ndarray, shape (n_judges, f)
    shared : ndarray, shape (s,)
    """
    judge, block = arrow.judge, arrow.shared
    n_judges, f = own.shape
    if damping:
        judge = judge + damping * np.eye(f)
        block = block + damping * np.eye(len(shared))
    if f == 0:
        eliminated = np.zeros((0, len(shared) + 1))
        coupling = np.zeros((0, len(shared)))
    else:
        try:
            np.linalg.cholesky(judge)
        except LinAlgError:
            return None
        right = np.concatenate([arrow.coupling, own[:, :, None]], axis=2)
        eliminated = np.linalg.solve(judge, right).reshape(n_judges * f, -1)
        coupling = arrow.coupling.reshape(n_judges * f, -1)
    if len(shared) == 0:
        return eliminated[:, -1].reshape(n_judges, f), shared
    reduced = coupling.T @ eliminated
    try:
        factor = cho_factor(block - reduced[:, :-1], lower=True, check_finite=False)
    except LinAlgError:
        return None
    solution = cho_solve(factor, shared - reduced[:, -1], check_finite=False)
    back = eliminated[:, -1] - eliminated[:, :-1] @ solution
    return back.reshape(n_judges, f), solution
