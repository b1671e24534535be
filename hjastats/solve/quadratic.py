"""The quadratic model of the objective at a point, or at each of a stack of points, and the damped steps it proposes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotrs

from .. import limits
from ..model.design import Coefficients, Design
from ..model.information import Arrow, expected_information, observed_information
from ..model.likelihood import evaluate, gradient
from ..model.responses import Derivatives
from ..model.structures import ScoreStructure
from ..model.tangent import TangentBasis
from .products import ProductSystem, coordinates
from .ridge import Ridge

# Share of the strongest direction below which the weakest of a low-rank structure is absent: it has no curvature to use.
_ABSENT = 1e-7


def is_many(n_shared: int) -> bool:
    """Whether so many shared coordinates are left to products with the information."""
    return n_shared > limits.DENSE_SHARED


class Point(NamedTuple):
    """A member of the structure with everything known about it; or a stack of them, along a first axis of all arrays.

    Attributes
    ----------
    at : Coefficients
    tangent : TangentBasis
    cells : Derivatives
    value : float
        Penalised negative log-likelihood.
    """

    at: Coefficients
    tangent: TangentBasis
    cells: Derivatives
    value: Any


def evaluated(cells: Design, at: Coefficients, tangent: TangentBasis, ridge: Ridge) -> Point:
    """The point at some coefficients of the structure."""
    here = evaluate(cells, at)
    return Point(at, tangent, here, here.value + ridge.value(cells, at) if ridge else here.value)


def combined(function: Callable[..., Any], *points: Point) -> Point:
    """A point made of others, array by array."""

    def of(*parts: Any) -> list[Any]:
        return [None if arrays[0] is None else function(*arrays) for arrays in zip(*parts, strict=True)]

    return Point(
        Coefficients(*of(*((p.at.scores, p.at.judge, p.at.shared) for p in points))),
        TangentBasis(
            *of(
                *(
                    (p.tangent.judge_items, p.tangent.shared_judges, p.tangent.strength, p.tangent.complement)
                    for p in points
                )
            )
        ),
        Derivatives(*of(*(p.cells for p in points))),
        function(*(p.value for p in points)),
    )


class Step(NamedTuple):
    """A movement and what the quadratic model expects of it; in a stack, arrays of them."""

    own: np.ndarray
    judge: np.ndarray
    item: np.ndarray
    shared: np.ndarray
    slope: Any
    expected_gain: Any
    is_newton: Any

    def taken(self, cells: Design, structure: ScoreStructure, here: Point, ridge: Ridge) -> Point:
        """Where the step leads."""
        scores, tangent = structure.move(here.at.scores, here.tangent, self.own, self.item)
        at = Coefficients(scores, here.at.judge + self.judge, here.at.shared + self.shared)
        return evaluated(cells, at, tangent, ridge)


def has_strength(tangent: TangentBasis) -> Any:
    """Whether the weakest direction of a low-rank structure is there; one without strength has no curvature to use."""
    return tangent.strength[..., -1] > _ABSENT * tangent.strength[..., 0]


class DenseSystem:
    """Information at a point as a matrix with judge blocks, solved by eliminating them."""

    def __init__(self, cells: Design, here: Point, ridge: Ridge, bending: np.ndarray) -> None:
        self.tangent, self.bending = here.tangent, bending
        self.plain = expected_information(cells, here.cells, here.tangent)
        self.expected = ridge.add_to_information(cells, self.plain, here.tangent) if ridge else self.plain

    @cached_property
    def observed(self) -> Arrow:
        """Observed information: the expected one plus the bending of the low-rank structure, where it has any strength."""
        tangent = self.tangent
        if tangent.strength.ndim > 1 and not (present := has_strength(tangent)).all():
            tangent = replace(tangent, strength=np.where(present[:, None], tangent.strength, np.inf))
        return observed_information(self.expected, tangent, self.bending)

    def diagonals(self) -> tuple[np.ndarray, np.ndarray]:
        """Information about own coordinates, summed over judges, and about shared ones."""
        return np.einsum("...kff->...f", self.plain.judge), np.einsum("...ss->...s", self.plain.shared)

    def quadratic_form(self, own: np.ndarray, shared: np.ndarray) -> Any:
        """Observed information in a direction, or each of a stack of them, times its squared length."""
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


class QuadraticModel:
    """Gradient and information at one point or a stack of them, solved for any damping."""

    def __init__(self, cells: Design, here: Point, ridge: Ridge) -> None:
        tangent = self.tangent = here.tangent
        slopes = gradient(cells, here.cells)
        if ridge:
            slopes = ridge.add_to_gradient(cells, slopes, here.at)
        self.own_gradient, self.shared_gradient = coordinates(slopes, tangent)
        self.system: DenseSystem | ProductSystem = (
            ProductSystem(cells, here.cells, tangent, ridge.scores, ridge.terms, slopes.scores)
            if is_many(self.shared_gradient.shape[-1])
            else DenseSystem(cells, here, ridge, slopes.scores)
        )

    @property
    def _n_scores(self) -> tuple[int, int]:
        """How many of each judge's own coordinates, and of the shared ones, are scores; the rest are linear coefficients."""
        return self.tangent.judge_items.shape[-1], self.tangent.shared_judges.shape[-1] * self.tangent.n_shared

    @cached_property
    def _diagonals(self) -> tuple[np.ndarray, np.ndarray]:
        return self.system.diagonals()

    @cached_property
    def scale(self) -> Any:
        """Average information about a coordinate of the scores."""
        (own, shared), (f, moves) = self._diagonals, self._n_scores
        total = own[..., :f].sum(axis=-1) + shared[..., :moves].sum(axis=-1)
        return total / (f * self.tangent.n_judges + moves)

    @cached_property
    def units(self) -> tuple[np.ndarray, np.ndarray]:
        """Units of the damping, shapes (f + e,) and (s,): one for all scores, for a coefficient that of its regressor."""
        own, shared = self._diagonals
        f, moves = self._n_scores
        scale = np.asarray(self.scale)[..., None]
        own_unit, shared_unit = np.ones_like(own), np.ones_like(shared)
        own_unit[..., f:] = own[..., f:] / (self.tangent.n_judges * scale)
        shared_unit[..., moves:] = shared[..., moves:] / scale
        return own_unit, shared_unit

    def step(self, damping: float) -> Step | None:
        """Solution of the damped system: Newton where the observed information allows it, otherwise Fisher scoring."""
        own_damping = shared_damping = None
        if damping:
            own_damping, shared_damping = (damping * unit for unit in self.units)
        strength, solution, is_newton = self.tangent.strength, None, True
        if not strength.size or has_strength(self.tangent):
            solution = self.system.solve(self.own_gradient, self.shared_gradient, own_damping, shared_damping)
        if solution is None and strength.size:
            is_newton = False
            solution = self.system.solve(
                self.own_gradient, self.shared_gradient, own_damping, shared_damping, observed=False
            )
        return None if solution is None else self._step(*solution, own_damping, shared_damping, is_newton)

    def steps(self, damping: np.ndarray) -> tuple[Step, np.ndarray]:
        """The same for a stack, with a damping (n_points,) for each point; and which of the points have a step."""
        assert isinstance(self.system, DenseSystem)
        own_damping = shared_damping = None
        if damping.any():
            own_damping, shared_damping = (damping[:, None] * unit for unit in self.units)
        own, shared, is_newton = solve_arrows(
            self.system.observed, self.own_gradient, self.shared_gradient, own_damping, shared_damping
        )
        solved, is_newton = is_newton, is_newton & has_strength(self.tangent)
        if not is_newton.all():
            rest = np.flatnonzero(~is_newton)
            expected, solved = self.system.expected, is_newton.copy()
            own[rest], shared[rest], solved[rest] = solve_arrows(
                Arrow(expected.judge[rest], expected.coupling[rest], expected.shared[rest]),
                self.own_gradient[rest],
                self.shared_gradient[rest],
                None if own_damping is None else own_damping[rest],
                None if shared_damping is None else shared_damping[rest],
            )
        if not solved.all():
            # A step to nowhere, instead of numbers that are none.
            own[~solved], shared[~solved] = 0.0, 0.0
        return self._step(own, shared, own_damping, shared_damping, is_newton), solved

    def _step(
        self,
        own: np.ndarray,
        shared: np.ndarray,
        own_damping: np.ndarray | None,
        shared_damping: np.ndarray | None,
        is_newton: Any,
    ) -> Step:
        own, shared = -own, -shared
        slope = _product(own, self.own_gradient, 2) + _product(shared, self.shared_gradient, 1)
        gain = -slope
        if own_damping is not None and shared_damping is not None:
            gain = (
                gain + _product(own * own_damping[..., None, :], own, 2) + _product(shared * shared_damping, shared, 1)
            )
        (f, moves), g = self._n_scores, self.tangent.shared_judges.shape[-1]
        return Step(
            own=own[..., :f],
            judge=own[..., f:],
            item=shared[..., :moves].reshape(*shared.shape[:-1], g, self.tangent.n_shared),
            shared=shared[..., moves:],
            slope=slope,
            expected_gain=0.5 * gain,
            is_newton=is_newton,
        )


def _product(left: np.ndarray, right: np.ndarray, n_axes: int) -> Any:
    """Inner product over the last axes: a number, or one for every member of a stack."""
    if left.ndim == n_axes:
        return float(np.vdot(left, right))
    return np.einsum("si,si->s", left.reshape(len(left), -1), right.reshape(len(right), -1))


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
    eliminated, schur, right = _eliminate(arrow, own, shared, own_damping, shared_damping)
    solution = _solve_definite(schur, right)
    if solution is None:
        return None
    back = eliminated[:, -1] - eliminated[:, :-1] @ solution
    return (back.reshape(own.shape), solution) if np.isfinite(back).all() else None


def remainder(arrow: Arrow) -> np.ndarray:
    """Information about the shared coordinates that is left after the judges' own, shape (s, s)."""
    *_, n_judges, f, s = arrow.coupling.shape
    return _eliminate(arrow, np.zeros((n_judges, f)), np.zeros(s), None, None)[1]


def solve_arrows(
    arrows: Arrow,
    own: np.ndarray,
    shared: np.ndarray,
    own_damping: np.ndarray | None = None,
    shared_damping: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Solve a stack of arrow systems, dampings (n_points, f) and (n_points, s); and tell which are positive definite."""
    eliminated, schur, right = _eliminate(arrows, own, shared, own_damping, shared_damping)
    try:
        # Factors only to see that all are positive definite: two calls for the whole stack are quicker than two for each.
        np.linalg.cholesky(schur)
        solution, solved = np.linalg.solve(schur, right[..., None])[..., 0], np.ones(len(shared), dtype=bool)
    except LinAlgError:
        solution, solved = np.zeros_like(shared), np.zeros(len(shared), dtype=bool)
        for i in range(len(shared)):
            answer = _solve_definite(schur[i], right[i])
            if answer is not None:
                solution[i], solved[i] = answer, True
    back = eliminated[:, :, -1] - (eliminated[:, :, :-1] @ solution[:, :, None])[:, :, 0]
    return back.reshape(own.shape), solution, solved & np.isfinite(back).all(axis=-1)


def _eliminate(
    arrow: Arrow,
    own: np.ndarray,
    shared: np.ndarray,
    own_damping: np.ndarray | None,
    shared_damping: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Judge blocks eliminated: their solutions for coupling and own side, and the system (s, s) with right side that remains."""
    judge, block = arrow.judge, arrow.shared
    *stack, n_judges, f = own.shape
    s = shared.shape[-1]
    if own_damping is not None:
        judge = judge + own_damping[..., None, None, :] * np.eye(f)
    if shared_damping is not None:
        block = block + shared_damping[..., None, :] * np.eye(s)
    right = np.concatenate([arrow.coupling, own[..., None]], axis=-1)
    eliminated = _solve_blocks(judge, right).reshape(*stack, n_judges * f, s + 1)
    reduced = arrow.coupling.reshape(*stack, n_judges * f, s).swapaxes(-1, -2) @ eliminated
    return eliminated, block - reduced[..., :-1], shared - reduced[..., -1]


def _solve_blocks(blocks: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve many small systems (..., f, f) for (..., f, m); not finite where a block is singular.

    The blocks are sums of squares: they can be singular, but not indefinite. They are so small that a product with the inverse
    takes a third of the time of solving.
    """
    try:
        return np.linalg.inv(blocks) @ right
    except LinAlgError:
        # Some block is singular. Eliminating row after row in all of them leaves the others intact.
        f = blocks.shape[-1]
        both = np.concatenate([blocks, right], axis=-1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for i in range(f):
                row = both[..., i, :] / both[..., i, i, None]
                both -= both[..., i, None] * row[..., None, :]
                both[..., i, :] = row
        # Not a number rather than infinite: it passes through further products in silence.
        return np.where(np.isfinite(both[..., f:]), both[..., f:], np.nan)


def _solve_definite(matrix: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """Solve by Cholesky factors; None if the matrix is not positive definite, or not finite."""
    if not len(right):
        return right
    if len(right) <= limits.SINGLE_THREADED:
        factor, failed = dpotrf(matrix, lower=True)
        if failed:
            return None
        solution = dpotrs(factor, right, lower=True)[0]
    else:
        # Everything large by numpy: it and scipy have threads of their own, which wait for work in a loop. Taking turns, each would
        # wait for the other's to fall asleep, ten times as long as the work takes. One right side is not worth a thread.
        try:
            factor = np.linalg.cholesky(matrix)
        except LinAlgError:
            return None
        solution = dpotrs(factor.T, right, lower=False)[0]
    return solution if np.isfinite(solution).all() else None
