"""Covariance of the free coordinates and of everything computed from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotri

from .. import limits
from ..model.design import Coefficients, Design
from ..model.information import Arrow, expected_information, free_information, observed_information
from ..model.likelihood import evaluate, free_gradient, gradient
from ..model.response import Derivatives, typical
from ..model.tangent import TangentBasis
from .products import ProductSystem, coordinates, in_free_order
from .quadratic import is_many
from .ridge import NO_RIDGE, Ridge

# Beyond this condition number of the information, standard errors are rounding error.
SINGULAR_CONDITION = 1e13


class Covariance(Protocol):
    """What is known about the precision of the free coordinates."""

    @property
    def covariance(self) -> np.ndarray:
        """The whole matrix, shape (n_free, n_free)."""

    @property
    def is_finite(self) -> bool:
        """Whether there are standard errors."""

    def of(self, jacobian: np.ndarray) -> np.ndarray:
        """Covariance of quantities with the given Jacobian (m, n_free), exactly symmetric."""

    def variances(self, jacobian: np.ndarray) -> np.ndarray:
        """Variances of quantities with the given Jacobian, shape (m,)."""

    def can_solve(self, n: int) -> bool:
        """Whether so many quantities can be had in reasonable time."""


@dataclass(frozen=True)
class DenseCovariance:
    """A covariance at hand as a matrix.

    Examples
    --------
    >>> known = DenseCovariance(np.diag([1.0, 4.0]))
    >>> known.of(np.array([[1.0, 1.0]])), known.variances(np.eye(2))
    (array([[5.]]), array([1., 4.]))
    """

    covariance: np.ndarray

    @property
    def is_finite(self) -> bool:
        """Whether there are standard errors."""
        return bool(np.isfinite(self.covariance).all())

    def of(self, jacobian: np.ndarray) -> np.ndarray:
        """Delta method: covariance of quantities with the given Jacobian (m, n_free), exactly symmetric."""
        return _symmetric(jacobian @ self.covariance @ jacobian.T)

    def variances(self, jacobian: np.ndarray) -> np.ndarray:
        """Variances of quantities with the given Jacobian, shape (m,)."""
        return np.maximum(np.einsum("md,md->m", jacobian @ self.covariance, jacobian), 0.0)

    def times(self, jacobian: np.ndarray) -> np.ndarray:
        """Each row of a Jacobian times the covariance, shape (m, n_free)."""
        return jacobian @ self.covariance

    def can_solve(self, n: int) -> bool:
        """Whether so many quantities can be had in reasonable time: there is nothing to solve."""
        return True


@dataclass(frozen=True)
class NoCovariance:
    """Standard errors that are withheld: not a number, except of linear coefficients where their covariance is given.

    Attributes
    ----------
    n_free : int
    of_linear : Covariance, optional
        Of all free coordinates, of which only the first ``n_linear`` are shown.
    n_linear : int

    Examples
    --------
    >>> NoCovariance(2).of(np.array([[1.0, 1.0]])), NoCovariance(2).is_finite
    (array([[nan]]), False)
    >>> NoCovariance(2, DenseCovariance(np.eye(2)), 1).variances(np.eye(2))
    array([ 1., nan])
    """

    n_free: int
    of_linear: Covariance | None = None
    n_linear: int = 0
    is_finite = False

    @property
    def covariance(self) -> np.ndarray:
        """The whole matrix, shape (n_free, n_free)."""
        return self.of(np.eye(self.n_free))

    def _is_shown(self, jacobian: np.ndarray) -> np.ndarray:
        return np.asarray((self.of_linear is not None) & ~jacobian[:, self.n_linear :].any(axis=1))

    def of(self, jacobian: np.ndarray) -> np.ndarray:
        """Covariance of quantities with the given Jacobian (m, n_free)."""
        shown, result = self._is_shown(jacobian), np.full((len(jacobian), len(jacobian)), np.nan)
        if self.of_linear is not None:
            result[np.ix_(shown, shown)] = self.of_linear.of(jacobian[shown])
        return result

    def variances(self, jacobian: np.ndarray) -> np.ndarray:
        """Variances of quantities with the given Jacobian, shape (m,)."""
        shown, result = self._is_shown(jacobian), np.full(len(jacobian), np.nan)
        if self.of_linear is not None:
            result[shown] = self.of_linear.variances(jacobian[shown])
        return result

    def can_solve(self, n: int) -> bool:
        """Whether so many quantities can be had in reasonable time: there is nothing to solve."""
        return True


@dataclass(frozen=True)
class FreeCovariance(DenseCovariance):
    """Information about the free coordinates and its inverse.

    Attributes
    ----------
    covariance : ndarray, shape (n_free, n_free)
        Not-a-number throughout when the information is singular: no pseudo-inverse stands in for missing knowledge.
    information : ndarray, shape (n_free, n_free)
    condition : float
        Condition number of the information in the 1-norm; infinite when singular.
    """

    information: np.ndarray
    condition: float

    @property
    def is_identified(self) -> bool:
        """Whether the data determine every free coordinate."""
        return bool(np.isfinite(self.condition))


class LargeCovariance:
    """Inverse information of a panel with many items or judges, worked out only as far as it is asked for.

    A few quantities cost a solution by conjugate gradients each. For more of them judges are eliminated, so that the only large
    matrix is that of the coordinates they share; where even that does not fit, solutions have to do. Whether the data determine
    the estimate is judged from products with the information alone.
    """

    def __init__(self, cells: Design, at: Coefficients, tangent: TangentBasis, kind: str, ridge: Ridge) -> None:
        self.cells, self.tangent, self.kind, self.ridge = cells, tangent, kind, ridge
        self.at = at
        self._n_solved = 0

    @cached_property
    def _here(self) -> Derivatives:
        here = evaluate(self.cells, self.at)
        return typical(self.cells.response, here, self.cells.n) if self.kind == "expected" else here

    @cached_property
    def _system(self) -> ProductSystem:
        bending = gradient(self.cells, self._here).scores if self.kind == "observed" else None
        return ProductSystem(self.cells, self._here, self.tangent, self.ridge, bending)

    @cached_property
    def condition(self) -> float:
        """Condition number of the information, each judge and item in its own units; infinite when singular."""
        condition = self._system.condition()
        return condition if condition < SINGULAR_CONDITION else np.inf

    @property
    def is_identified(self) -> bool:
        """Whether the data determine every free coordinate."""
        return bool(np.isfinite(self.condition))

    @property
    def is_finite(self) -> bool:
        """Whether there are standard errors."""
        return self.is_identified

    @property
    def information(self) -> np.ndarray:
        """Information about the free coordinates, shape (n_free, n_free)."""
        return information_at(self.cells, self.at, self.tangent, self.kind, self.ridge)

    @cached_property
    def covariance(self) -> np.ndarray:
        """The whole matrix, shape (n_free, n_free)."""
        return self.of(np.eye(self.cells.n_linear + self.tangent.n_free))

    @cached_property
    def _factors(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Inverse judge blocks, those times the coupling, and the Cholesky factor of what is left for the shared coordinates."""
        arrow = _arrow_of(self.cells, self._here, self.tangent, self.kind, self.ridge).bordered()
        n_judges, width, n_shared = arrow.coupling.shape
        coupling = arrow.coupling.reshape(n_judges * width, n_shared)
        try:
            inverse = np.linalg.inv(arrow.judge)
            eliminated = (inverse @ arrow.coupling).reshape(n_judges * width, n_shared)
            # In place and in pieces: this is the largest matrix of all.
            left = np.asfortranarray(arrow.shared)
            for start in range(0, n_shared, limits.BLOCK):
                left[:, start : start + limits.BLOCK] -= coupling.T @ eliminated[:, start : start + limits.BLOCK]
            return inverse, eliminated, cholesky(left, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            return None

    def of(self, jacobian: np.ndarray) -> np.ndarray:
        """Covariance of quantities with the given Jacobian (m, n_free), exactly symmetric."""
        if not self.is_identified:
            return np.full((len(jacobian), len(jacobian)), np.nan)
        if (solved := self._solved(jacobian)) is not None:
            return _symmetric(solved @ jacobian.T)
        own, weighted, half = self._halves(jacobian)
        return _symmetric(weighted @ own.T + half.T @ half)

    def variances(self, jacobian: np.ndarray) -> np.ndarray:
        """Variances of quantities with the given Jacobian, shape (m,)."""
        if not self.is_identified:
            return np.full(len(jacobian), np.nan)
        result = np.empty(len(jacobian))
        for start in range(0, len(jacobian), limits.BLOCK):
            rows = jacobian[start : start + limits.BLOCK]
            if (solved := self._solved(rows)) is not None:
                result[start : start + limits.BLOCK] = np.einsum("md,md->m", solved, rows)
                continue
            own, weighted, half = self._halves(rows)
            result[start : start + limits.BLOCK] = np.einsum("md,md->m", weighted, own) + np.einsum(
                "sm,sm->m", half, half
            )
        return result

    def times(self, jacobian: np.ndarray) -> np.ndarray:
        """Each row of a Jacobian times the covariance, shape (m, n_free)."""
        if not self.is_identified:
            return np.full(jacobian.shape, np.nan)
        if (solved := self._solved(jacobian)) is not None:
            return solved
        if self._factors is None:
            return np.full(jacobian.shape, np.nan)
        _, eliminated, root = self._factors
        _, weighted, half = self._halves(jacobian)
        shared = solve_triangular(root, half, lower=True, trans="T", overwrite_b=True, check_finite=False)
        own = (weighted - (eliminated @ shared).T).reshape(len(jacobian), *self._system.own_ridge.shape)
        shared = shared[: self._n_shared]
        return np.array([in_free_order(own[m], shared[:, m], self.cells) for m in range(len(jacobian))])

    def _halves(self, jacobian: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The judges' part of a Jacobian, the same times their inverse blocks, and the root of what the shared part adds."""
        own, shared = self._in_arrow(jacobian)
        if self._factors is None:
            # No standard errors, as with any other information that cannot be inverted.
            return own, np.full_like(own, np.nan), np.full((1, len(own)), np.nan)
        inverse, eliminated, root = self._factors
        by_judge = own.reshape(len(own), *inverse.shape[:2])
        weighted = np.einsum("mkf,kfh->mkh", by_judge, inverse, optimize=True).reshape(own.shape)
        left = -(own @ eliminated)
        left[:, : shared.shape[1]] += shared
        half = solve_triangular(root, left.T, lower=True, overwrite_b=True, check_finite=False)
        return own, weighted, half

    @property
    def _n_shared(self) -> int:
        return self.tangent.shared_judges.shape[1] * self.tangent.n_shared + self.cells.n_shared_terms

    def can_solve(self, n: int) -> bool:
        """Whether so many quantities can be had in reasonable time."""
        return n <= limits.MOST_SOLUTIONS or self._n_shared <= limits.LARGEST_MATRIX

    def _solved(self, jacobian: np.ndarray) -> np.ndarray | None:
        """Each row times the covariance, by conjugate gradients; None where the factors are at hand, sooner made, or needed."""
        n_shared, is_too_large = self._n_shared, self._n_shared > limits.LARGEST_MATRIX
        self._n_solved += len(jacobian)
        is_quicker = (
            "_factors" not in self.__dict__ and self._n_solved <= limits.AS_LONG_AS_FACTORS * (n_shared / 1000.0) ** 2
        )
        if not (is_too_large or is_quicker):
            return None
        result = np.empty_like(jacobian)
        own, shared = self._in_arrow(jacobian)
        shape, patience = self._system.own_ridge.shape, limits.SOLUTION_PRODUCTS * (10 if is_too_large else 1)
        for m in range(len(jacobian)):
            solution = self._system.solve(own[m].reshape(shape), shared[m], tolerance=1e-8, max_products=patience)
            if solution is None and not is_too_large:
                # Long chains of comparisons take too many products.
                return None
            result[m] = np.nan if solution is None else in_free_order(*solution, self.cells)
        return result

    def _in_arrow(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows over free coordinates (m, n_free) as judges' (m, n_judges * (f + e)) and shared coordinates (m, s)."""
        cells, f = self.cells, self.tangent.judge_items.shape[1]
        linear, own, shared = np.split(rows, np.cumsum([cells.n_linear, cells.n_judges * f]), axis=1)
        of_judges, of_all = cells.coefficients(linear)
        own = np.concatenate([own.reshape(len(rows), cells.n_judges, f), of_judges], axis=2)
        return own.reshape(len(rows), -1), np.hstack([shared, of_all])


def covariance_at(
    cells: Design, at: Coefficients, tangent: TangentBasis, kind: str = "expected", ridge: Ridge = NO_RIDGE
) -> FreeCovariance | LargeCovariance:
    """Inverse information at some coefficients: a matrix, or a promise of its parts where judges or items are many."""
    n_shared = tangent.shared_judges.shape[1] * tangent.n_shared + cells.n_shared_terms
    n_free = tangent.n_free + cells.n_linear
    if is_many(n_shared) or n_free > limits.MANY_FREE:
        large = LargeCovariance(cells, at, tangent, kind, ridge)
        # An item that runs to infinity spoils the preconditioner for all others, and with it the condition number.
        if n_free > limits.SECOND_LOOK or large.is_identified:
            return large
    return invert(information_at(cells, at, tangent, kind, ridge))


def information_at(
    cells: Design, at: Coefficients, tangent: TangentBasis, kind: str = "expected", ridge: Ridge = NO_RIDGE
) -> np.ndarray:
    """Information about (shared terms, judge terms, free score coordinates), shape (n_free, n_free).

    Parameters
    ----------
    kind : {"expected", "observed"}
    ridge : Ridge
        Penalty, added to the coordinates it shrinks.
    """
    here = evaluate(cells, at)
    here = typical(cells.response, here, cells.n) if kind == "expected" else here
    return free_information(_arrow_of(cells, here, tangent, kind, ridge), cells)


def _arrow_of(cells: Design, here: Derivatives, tangent: TangentBasis, kind: str, ridge: Ridge) -> Arrow:
    """Of derivatives whose curvatures are of the kind."""
    arrow = expected_information(cells, here, tangent)
    if kind == "observed":
        arrow = observed_information(arrow, tangent, gradient(cells, here).scores)
    return ridge.add_to_information(cells, arrow, tangent) if ridge else arrow


def invert(information: np.ndarray) -> FreeCovariance:
    """Inverse of an information matrix, or an honest absence of one.

    Examples
    --------
    >>> invert(np.diag([4.0, 1.0])).covariance
    array([[0.25, 0.  ],
           [0.  , 1.  ]])
    >>> invert(np.ones((2, 2))).is_identified
    False
    """
    # Coordinates of different kinds live on different scales; a unit diagonal keeps the test of singularity fair.
    diagonal = np.diag(information)
    if not (diagonal > 0).all():
        return _no_inverse(information)
    scale = np.sqrt(diagonal)
    units = scale[:, None] * scale
    scaled = information / units
    factor, failed = dpotrf(scaled, lower=True)
    if failed:
        return _no_inverse(information)
    # The inverse from its factor: half the work of solving for the unit matrix.
    half = dpotri(factor, lower=True)[0]
    inverse = half + half.T
    np.fill_diagonal(inverse, half.diagonal())
    condition = float(np.abs(scaled).sum(axis=0).max() * np.abs(inverse).sum(axis=0).max())
    if not condition < SINGULAR_CONDITION:
        return _no_inverse(information)
    inverse /= units
    return FreeCovariance(inverse, information, condition)


def invert_along(information: np.ndarray, equations: np.ndarray) -> FreeCovariance:
    """Inverse of an information among the coordinates that equations with gradients (m, n_free) leave free.

    Examples
    --------
    >>> invert_along(np.diag([4.0, 1.0]), np.array([[0.0, 1.0]])).covariance
    array([[0.25, 0.  ],
           [0.  , 0.  ]])
    """
    along = directions_left(equations)
    inner = (
        invert(along.T @ information @ along) if along.shape[1] else FreeCovariance(np.zeros((0, 0)), np.eye(0), 1.0)
    )
    return FreeCovariance(along @ inner.covariance @ along.T + 0.0, information, inner.condition)


def directions_left(equations: np.ndarray) -> np.ndarray:
    """Orthonormal movements that equations with gradients (m, n_free) allow, shape (n_free, n_free - m).

    Examples
    --------
    >>> np.abs(directions_left(np.array([[0.0, 2.0]])))
    array([[1.],
           [0.]])
    """
    return np.linalg.qr(equations.T, mode="complete")[0][:, len(equations) :]


def _no_inverse(information: np.ndarray) -> FreeCovariance:
    return FreeCovariance(np.full_like(information, np.nan), information, np.inf)


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    """Without the rounding error that makes a product of matrices differ from its transpose."""
    return 0.5 * (matrix + matrix.T)


def score_standard_errors(tangent: TangentBasis, covariance: Covariance, n_linear: int) -> np.ndarray:
    """Standard errors of all scores, shape (n_judges, n_items), judge by judge."""
    return np.array([np.sqrt(covariance.variances(score_rows(tangent, k, n_linear))) for k in range(tangent.n_judges)])


def score_rows(tangent: TangentBasis, judge: int, n_linear: int) -> np.ndarray:
    """Derivative of a judge's scores with respect to the free coordinates, shape (n_items, n_linear + n_free).

    The score of judge k and item i depends only on the judge's own coordinates and the shared ones.
    """
    f = tangent.judge_items.shape[1]
    rows = np.zeros((tangent.n_items, n_linear + tangent.n_free))
    rows[:, n_linear + judge * f : n_linear + (judge + 1) * f] = tangent.judge_items
    rows[:, n_linear + tangent.n_judges * f :] = np.kron(tangent.shared_judges[judge], tangent.shared_items)
    return rows


def stationarity(cells: Design, at: Coefficients, tangent: TangentBasis, ridge: Ridge = NO_RIDGE) -> tuple[float, bool]:
    """How many standard errors a Newton step from here would move, and whether the observed information is positive definite."""
    here = evaluate(cells, at)
    slopes = gradient(cells, here)
    if ridge:
        slopes = ridge.add_to_gradient(cells, slopes, at)
    # Judges who share nothing have blocks as large as the items are many: nothing to precondition products with.
    if tangent.n_free > limits.MANY_FREE and tangent.shared_judges.shape[1]:
        right = coordinates(slopes, tangent)
        solution = ProductSystem(cells, here, tangent, ridge, slopes.scores).solve(*right)
        squared = None if solution is None else sum(float(np.vdot(a, b)) for a, b in zip(solution, right, strict=True))
    else:
        slope = free_gradient(slopes, tangent, cells)
        try:
            squared = slope @ cho_solve(cho_factor(information_at(cells, at, tangent, "observed", ridge)), slope)
        except LinAlgError:
            squared = None
    if squared is None:
        return float("nan"), False
    return float(np.sqrt(max(squared, 0.0) / min(1.0, float(cells.n.mean())))), True
