"""The quadratic model of the objective at one state of a maximisation, and the damped steps it proposes."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrs

from .. import limits
from ..model.design import Coefficients, Design
from ..model.information import Arrow, expected_information, observed_information
from ..model.likelihood import evaluate, gradient
from ..model.response import Derivatives
from ..model.structures import ScoreStructure
from ..model.tangent import TangentBasis
from .products import ProductSystem, coordinates
from .ridge import Ridge

# Share of the strongest direction below which the weakest of a low-rank structure is absent: it has no curvature to use.
_ABSENT = 1e-7


def is_many(n_shared: int) -> bool:
    """Whether so many shared coordinates are left to products with the information."""
    return n_shared > limits.DENSE_SHARED


class State(NamedTuple):
    """A member of the structure with everything known about it.

    Attributes
    ----------
    at : Coefficients
    tangent : TangentBasis
    derivatives : Derivatives
        Of the negative log-likelihood.
    value : float
        Penalised negative log-likelihood.
    """

    at: Coefficients
    tangent: TangentBasis
    derivatives: Derivatives
    value: float


def state_at(cells: Design, at: Coefficients, tangent: TangentBasis, ridge: Ridge) -> State:
    """Evaluate coefficients whose scores belong to the structure."""
    here = evaluate(cells, at)
    return State(at, tangent, here, float(here.value + ridge.value(cells, at) if ridge else here.value))


class Step(NamedTuple):
    """A movement and what the quadratic model expects of it.

    Attributes
    ----------
    own : ndarray, shape (n_judges, f + e)
        Of every judge's scores and linear coefficients.
    shared : ndarray, shape (s,)
        Of the scores and linear coefficients that all judges share.
    slope : float
        Change of the objective per unit of the step.
    expected_gain : float
    is_newton : bool
        Whether the system was the observed information.
    """

    own: np.ndarray
    shared: np.ndarray
    slope: float
    expected_gain: float
    is_newton: bool

    def taken(self, cells: Design, structure: ScoreStructure, here: State, ridge: Ridge) -> State:
        """Follow the step to another member of the structure."""
        tangent = here.tangent
        f, g = tangent.judge_items.shape[1], tangent.shared_judges.shape[1]
        moves = g * tangent.n_shared
        items = self.shared[:moves].reshape(g, tangent.n_shared)
        scores, tangent = structure.move(here.at.scores, tangent, self.own[:, :f], items)
        at = Coefficients(scores, here.at.judge + self.own[:, f:], here.at.shared + self.shared[moves:])
        return state_at(cells, at, tangent, ridge)


def _has_curvature(tangent: TangentBasis) -> bool:
    """Whether the curvature of the structure is known: a low-rank one must have all of its directions, a flat one has none."""
    strength = tangent.strength
    return not strength.size or bool(strength[-1] > _ABSENT * strength[0])


class DenseSystem:
    """Information at a state as a matrix with judge blocks, solved by eliminating them."""

    def __init__(self, cells: Design, here: State, ridge: Ridge, bending: np.ndarray) -> None:
        self.tangent, self.bending = here.tangent, bending
        self.plain = expected_information(cells, here.derivatives, here.tangent)
        self.expected = ridge.add_to_information(cells, self.plain, here.tangent) if ridge else self.plain

    @cached_property
    def observed(self) -> Arrow:
        """Observed information: the expected one plus the bending of a low-rank structure."""
        return observed_information(self.expected, self.tangent, self.bending)

    def diagonals(self) -> tuple[np.ndarray, np.ndarray]:
        """Information about own coordinates, summed over judges, and about shared ones."""
        return np.einsum("kff->f", self.plain.judge), np.diag(self.plain.shared)

    def quadratic_form(self, own: np.ndarray, shared: np.ndarray) -> float:
        """Observed information in a direction times its squared length."""
        return float(self.observed.quadratic_form(own, shared))

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


class QuadraticModel:
    """Gradient and information at a state, solved for any damping."""

    def __init__(self, cells: Design, here: State, ridge: Ridge) -> None:
        tangent = self.tangent = here.tangent
        slopes = gradient(cells, here.derivatives)
        if ridge:
            slopes = ridge.add_to_gradient(cells, slopes, here.at)
        self.own_gradient, self.shared_gradient = coordinates(slopes, tangent)
        self.system: DenseSystem | ProductSystem = (
            ProductSystem(cells, here.derivatives, tangent, ridge, slopes.scores)
            if is_many(len(self.shared_gradient))
            else DenseSystem(cells, here, ridge, slopes.scores)
        )

    @property
    def _n_scores(self) -> tuple[int, int]:
        """How many of each judge's own coordinates, and of the shared ones, are scores; the rest are linear coefficients."""
        return self.tangent.judge_items.shape[1], self.tangent.shared_judges.shape[1] * self.tangent.n_shared

    @cached_property
    def _diagonals(self) -> tuple[np.ndarray, np.ndarray]:
        return self.system.diagonals()

    @cached_property
    def scale(self) -> float:
        """Average information about a coordinate of the scores."""
        (own, shared), (f, moves) = self._diagonals, self._n_scores
        return float(own[:f].sum() + shared[:moves].sum()) / (f * self.tangent.n_judges + moves)

    @cached_property
    def units(self) -> tuple[np.ndarray, np.ndarray]:
        """Units of the damping, shapes (f + e,) and (s,): one for all scores, for a coefficient that of its regressor."""
        own, shared = self._diagonals
        f, moves = self._n_scores
        own_unit, shared_unit = np.ones_like(own), np.ones_like(shared)
        own_unit[f:] = own[f:] / (self.tangent.n_judges * self.scale)
        shared_unit[moves:] = shared[moves:] / self.scale
        return own_unit, shared_unit

    def step(self, damping: float) -> Step | None:
        """Solve the damped system: Newton where the observed information allows it, otherwise Fisher scoring."""
        own_damping, shared_damping = (damping * unit for unit in self.units) if damping else (None, None)
        sides = self.own_gradient, self.shared_gradient, own_damping, shared_damping
        solution, is_newton = self.system.solve(*sides) if _has_curvature(self.tangent) else None, True
        if solution is None and self.tangent.strength.size:
            solution, is_newton = self.system.solve(*sides, observed=False), False
        if solution is None:
            return None
        own, shared = -solution[0], -solution[1]
        slope = float(np.vdot(own, self.own_gradient) + shared @ self.shared_gradient)
        gain = -slope
        if damping:
            gain += float(np.vdot(own * own_damping, own) + (shared * shared_damping) @ shared)
        return Step(own, shared, slope, 0.5 * gain, is_newton)


def solve_arrow(
    arrow: Arrow,
    own: np.ndarray,
    shared: np.ndarray,
    own_damping: np.ndarray | None = None,
    shared_damping: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Solve a positive definite arrow system by eliminating the judge blocks; None if it is not positive definite.

    Parameters
    ----------
    own : ndarray, shape (n_judges, f)
    shared : ndarray, shape (s,)
    own_damping, shared_damping : ndarray, shapes (f,) and (s,), optional
        Added to the diagonals.
    """
    if own_damping is not None and shared_damping is not None:
        judge = arrow.judge + own_damping[:, None] * np.eye(own.shape[1])
        arrow = arrow._replace(judge=judge, shared=arrow.shared + np.diag(shared_damping))
    n_shared, arrow = len(shared), arrow.bordered()
    (n_judges, f), s = own.shape, len(arrow.shared)
    shared = np.concatenate([shared, np.zeros(s - n_shared)])
    right = np.concatenate([arrow.coupling, own[:, :, None]], axis=2)
    eliminated = _solve_blocks(arrow.judge, right).reshape(n_judges * f, s + 1)
    reduced = arrow.coupling.reshape(n_judges * f, s).T @ eliminated
    solution = _solve_definite(arrow.shared - reduced[:, :-1], shared - reduced[:, -1])
    if solution is None:
        return None
    back = eliminated[:, -1] - eliminated[:, :-1] @ solution
    return (back.reshape(own.shape), solution[:n_shared]) if np.isfinite(back).all() else None


def remainder(arrow: Arrow) -> np.ndarray:
    """Information about the shared coordinates that is left after the judges' own, shape (s, s); more if it is bordered."""
    arrow = arrow.bordered()
    n_judges, f, s = arrow.coupling.shape
    eliminated = _solve_blocks(arrow.judge, arrow.coupling).reshape(n_judges * f, s)
    return arrow.shared - arrow.coupling.reshape(n_judges * f, s).T @ eliminated


def _solve_blocks(blocks: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve many small systems (..., f, f) for (..., f, m); no numbers where a block is singular.

    The blocks are sums of squares: they can be singular, but not indefinite. They are so small that a product with the inverse
    takes a third of the time of solving.
    """
    try:
        return np.linalg.inv(blocks) @ right
    except LinAlgError:
        return np.full_like(right, np.nan)


def _solve_definite(matrix: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """Solve by Cholesky factors; None if the matrix is not positive definite, or not finite."""
    if not len(right):
        return right
    # The factors by numpy: it and scipy have threads of their own, which wait for work in a loop. Taking turns, each would wait
    # for the other's to fall asleep, ten times as long as the work takes. One right side is not worth a thread.
    try:
        factor = np.linalg.cholesky(matrix)
    except LinAlgError:
        return None
    solution = dpotrs(factor.T, right, lower=False)[0]
    return solution if np.isfinite(solution).all() else None
