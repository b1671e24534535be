"""Newton systems without matrices: conjugate gradients on products with the information, for panels of many items.

Nothing here is larger than the cells, the scores and the parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal

from .. import limits
from ..model.design import Coefficients, Design
from ..model.information import outside
from ..model.likelihood import Gradient, gradient, log_odds_change, own_predictors
from ..model.response import Derivatives
from ..model.tangent import TangentBasis
from ..model.terms import LOG_ODDS
from .ridge import NO_RIDGE, Ridge

# Of these steps only the direction counts; close to the optimum the tolerance follows the gradient down.
LOOSEST = 0.1


class ProductSystem:
    """Information at one point as something to multiply by, with a preconditioner that can be inverted at once.

    The preconditioner is the information without the links between judges and items, and between items: one block per judge,
    one per item. Coordinates are those of :class:`hjastats.model.information.Arrow`: own (n_judges, f + e) and shared (s,).

    Parameters
    ----------
    ridge : Ridge
        Penalty whose second derivatives are added.
    bending : ndarray, shape (n_judges, n_items), optional
        Gradient by the scores: what makes the observed information of a low-rank structure differ from the expected one.
    """

    def __init__(
        self,
        cells: Design,
        here: Derivatives,
        tangent: TangentBasis,
        ridge: Ridge = NO_RIDGE,
        bending: np.ndarray | None = None,
    ) -> None:
        self.cells, self.here, self.tangent, self.bending = cells, here, tangent, bending
        f, moves = tangent.judge_items.shape[1], tangent.shared_judges.shape[1] * tangent.n_shared
        self.own_ridge, self._common = ridge.of_own(cells, f)
        # What is no parameter is a unit of its own that nothing else touches.
        self.own_ridge[:, f:][~cells.is_own_parameter] = 1.0
        self.shared_ridge, self._moves_ridge = (
            np.full(moves + cells.n_shared_terms, ridge.terms),
            ridge.of_shared(tangent),
        )
        self.shared_ridge[:moves] = 0.0
        self._is_coupled = bool(ridge)
        self._judge_blocks = _judge_blocks(cells, here, tangent)
        self._item_blocks = _item_blocks(cells, here, tangent)
        self._term_block = _shared_term_block(cells, here)

    def diagonals(self) -> tuple[np.ndarray, np.ndarray]:
        """Information about own coordinates, summed over judges, and about shared ones; items count at their mean."""
        moves = np.repeat(np.einsum("igg->g", self._item_blocks) / len(self._item_blocks), self.tangent.n_shared)
        return np.einsum("kff->f", self._judge_blocks), np.concatenate([moves, np.diag(self._term_block)])

    def quadratic_form(self, own: np.ndarray, shared: np.ndarray) -> float:
        """Observed information in a direction times its squared length."""
        by_own, by_shared = self._product(own, shared, self._outside)
        by_own, by_shared = by_own + self.own_ridge * own, by_shared + self.shared_ridge * shared
        return float(np.vdot(own, by_own) + shared @ by_shared)

    def solve(
        self,
        own: np.ndarray,
        shared: np.ndarray,
        own_damping: np.ndarray | float | None = None,
        shared_damping: np.ndarray | float | None = None,
        *,
        observed: bool = True,
        tolerance: float | None = None,
        max_products: int | None = None,
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Solve the system, damped or not; None where it is seen not to be positive definite.

        Parameters
        ----------
        observed : bool
            Whether to count the bending of the structure.
        tolerance : float, optional
            Error of the solution relative to it; by default as precise as the length of the right side, in standard errors,
            deserves.
        max_products : int, optional
            As in :func:`conjugate_gradients`.
        """
        own_diagonal = self.own_ridge if own_damping is None else self.own_ridge + own_damping
        shared_diagonal = self.shared_ridge if shared_damping is None else self.shared_ridge + shared_damping
        times, precondition = self._operators(observed, own_diagonal, shared_diagonal)
        right = np.concatenate([own.ravel(), shared])
        solution = conjugate_gradients(times, precondition, right, tolerance, max_products=max_products)
        return None if solution is None else (solution[: own.size].reshape(own.shape), solution[own.size :])

    def condition(self) -> float:
        """Estimated condition number of the information relative to the preconditioner; infinite if not positive definite."""
        least, most = self.extremes()
        return most / least if least > 0.0 else np.inf

    def extremes(self) -> tuple[float, float]:
        """Estimated least and largest eigenvalue relative to the preconditioner; the least is 0 if not positive definite.

        A random right side has a part in every direction, so one without information shows.
        """
        times, precondition = self._operators(True, self.own_ridge, self.shared_ridge)
        right = np.random.default_rng(0).standard_normal(self.own_ridge.size + self.shared_ridge.size)
        curvatures: list[tuple[float, float]] = []
        if conjugate_gradients(times, precondition, right, 1e-6, curvatures) is None or not curvatures:
            return 0.0, 1.0
        # The coefficients of the conjugate gradients are the Lanczos tridiagonal matrix in disguise.
        step, ratio = np.array(curvatures).T
        diagonal = 1.0 / step
        diagonal[1:] += ratio[:-1] / step[:-1]
        values = eigvalsh_tridiagonal(diagonal, np.sqrt(ratio[:-1]) / step[:-1])
        return max(float(values[0]), 0.0), float(values[-1])

    def least_share(self, possible: ProductSystem) -> float:
        """A lower bound of the information in any direction as a share of another information of the same coordinates.

        Both are compared with their preconditioners: no direction has less than the least block times the least eigenvalue
        here, nor more than the largest eigenvalue there.
        """
        pairs = [
            (self._judge_blocks, possible._judge_blocks),
            (self._item_blocks, possible._item_blocks),
            (self._term_block[None], possible._term_block[None]),
        ]
        return min(_least_ratio(*pair) for pair in pairs) * self.extremes()[0] / possible.extremes()[1]

    def _operators(
        self, observed: bool, own_diagonal: np.ndarray, shared_diagonal: np.ndarray
    ) -> tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]:
        """Multiplication by the information plus a diagonal, and by its approximate inverse."""
        outside = self._outside if observed else None

        def times(x: np.ndarray) -> np.ndarray:
            a, b = x[: own_diagonal.size].reshape(own_diagonal.shape), x[own_diagonal.size :]
            by_own, by_shared = self._product(a, b, outside)
            return np.concatenate([(by_own + own_diagonal * a).ravel(), by_shared + shared_diagonal * b])

        return times, self._preconditioner(own_diagonal, shared_diagonal)

    @cached_property
    def _outside(self) -> np.ndarray | None:
        """The gradient outside the structure's own directions, shape (n_judges, n_shared)."""
        if self.bending is None or not self.tangent.strength.size:
            return None
        return outside(self.tangent, self.bending)

    def _product(
        self, own: np.ndarray, shared: np.ndarray, outside: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Information times a movement: what it does to the predictors, weighted, and back; a ridge without its diagonal."""
        cells, here, tangent = self.cells, self.here, self.tangent
        change = movement(own, shared, tangent)
        eta, own_change = log_odds_change(cells, change), own_predictors(cells, change)
        slope, own_slope = here.curvature * eta, None
        if own_change is not None and here.cross is not None and here.own_curvature is not None:
            slope = slope + (here.cross * own_change).sum(axis=0)
            own_slope = here.cross * eta + (here.own_curvature * own_change).sum(axis=1)
        by_own, by_shared = coordinates(gradient(cells, Derivatives(0.0, slope, slope, eta, own_slope)), tangent)
        if outside is not None:
            strength = tangent.strength
            f, moves = len(strength), len(strength) * tangent.n_shared
            by_own[:, :f] += outside @ (shared[:moves].reshape(f, -1) / strength[:, None]).T
            by_shared[:moves] += ((own[:, :f] / strength).T @ outside).ravel()
        if self._is_coupled:
            by_own -= self._common * (self._common * own).sum(axis=0)
            shape = len(self._moves_ridge), tangent.n_shared
            moves = shape[0] * shape[1]
            by_shared[:moves] += (self._moves_ridge @ shared[:moves].reshape(shape)).ravel()
        return by_own, by_shared

    def _preconditioner(
        self, own_diagonal: np.ndarray, shared_diagonal: np.ndarray
    ) -> Callable[[np.ndarray], np.ndarray]:
        tangent, (n_judges, width) = self.tangent, own_diagonal.shape
        g, n_shared = tangent.shared_judges.shape[1], tangent.n_shared
        moves = g * n_shared
        judges = _inverses(self._judge_blocks + own_diagonal[:, :, None] * np.eye(width))
        # Damping is the same for all coordinates of a kind; items without comparisons need some to stand on.
        extra = shared_diagonal[:moves].reshape(g, n_shared)[:, 0] if moves else np.zeros(g)
        items = _inverses(self._item_blocks + self._moves_ridge + extra[:, None] * np.eye(g))
        terms = _inverses(self._term_block[None] + shared_diagonal[moves:, None] * np.eye(len(self._term_block)))[0]

        def apply(x: np.ndarray) -> np.ndarray:
            own, shared = x[: n_judges * width].reshape(n_judges, width), x[n_judges * width :]
            by_item = tangent.to_items(shared[:moves].reshape(g, n_shared))
            by_item = np.einsum("igh,hi->gi", items, by_item)
            return np.concatenate(
                [
                    np.einsum("kfh,kh->kf", judges, own).ravel(),
                    tangent.along_shared(by_item).ravel(),
                    terms @ shared[moves:],
                ]
            )

        return apply


def coordinates(of: Coefficients | Gradient, tangent: TangentBasis) -> tuple[np.ndarray, np.ndarray]:
    """Inner products with the directions of a tangent: the judges' own, shape (n_judges, f + e), and the shared, shape (s,)."""
    own = of.scores @ tangent.judge_items
    shared = tangent.along_shared(tangent.shared_judges.T @ of.scores).ravel()
    if of.judge.shape[1]:
        own = np.concatenate([own, of.judge], axis=1)
    if len(of.shared):
        shared = np.concatenate([shared, of.shared])
    return own, shared


def movement(own: np.ndarray, shared: np.ndarray, tangent: TangentBasis) -> Coefficients:
    """What a step in these coordinates does to scores and linear coefficients."""
    f, g = tangent.judge_items.shape[1], tangent.shared_judges.shape[1]
    moves = g * tangent.n_shared
    scores = tangent.movement(own[:, :f], shared[:moves].reshape(g, tangent.n_shared))
    return Coefficients(scores, own[:, f:], shared[moves:])


def in_free_order(own: np.ndarray, shared: np.ndarray, cells: Design) -> np.ndarray:
    """Coordinates in the order of ``free_information``: shared terms, judges' terms, own and shared scores."""
    f, moves = own.shape[1] - cells.n_judge_terms, len(shared) - cells.n_shared_terms
    linear = np.concatenate([shared[moves:], own[:, f:].ravel()])[cells.is_free]
    return np.concatenate([linear, own[:, :f].ravel(), shared[:moves]])


def conjugate_gradients(
    times: Callable[[np.ndarray], np.ndarray],
    precondition: Callable[[np.ndarray], np.ndarray],
    right: np.ndarray,
    tolerance: float | None = None,
    curvatures: list[tuple[float, float]] | None = None,
    max_products: int | None = None,
) -> np.ndarray | None:
    """Solve a symmetric positive definite system; None where a direction shows that it is not.

    Parameters
    ----------
    max_products : int, optional
        Products after which there is no solution; by default a step of a search, which need not be exact, is taken as it is
        after many.
    curvatures : list, optional
        Is filled with the length of every step and the ratio of squared residuals after and before it.

    Examples
    --------
    >>> matrix = np.array([[4.0, 1.0], [1.0, 3.0]])
    >>> conjugate_gradients(lambda x: matrix @ x, lambda x: x, np.array([1.0, 2.0]), 1e-12).round(4)
    array([0.0909, 0.6364])
    >>> conjugate_gradients(lambda x: -x, lambda x: x, np.array([1.0, 2.0])) is None
    True
    """
    x, residual = np.zeros_like(right), right.copy()
    direction = z = precondition(residual)
    length = first = float(residual @ z)
    if not np.isfinite(length) or length < 0.0:
        return None
    if tolerance is None:
        # About the length of the step in standard errors: a step of 0.001 is worth three digits.
        tolerance = float(np.clip(np.sqrt(first), 1e-6, LOOSEST))
    for _ in range(max_products or limits.MOST_PRODUCTS):
        if length <= tolerance**2 * first:
            return x
        product = times(direction)
        curvature = float(direction @ product)
        if not curvature > 0.0:
            return None
        step = length / curvature
        x += step * direction
        residual -= step * product
        z = precondition(residual)
        length, previous = float(residual @ z), length
        direction = z + (length / previous) * direction
        if curvatures is not None:
            curvatures.append((step, length / previous))
    return x if max_products is None or length <= tolerance**2 * first else None


def _inverses(blocks: np.ndarray) -> np.ndarray:
    """Inverses of symmetric positive semidefinite blocks; directions without information count as little of it."""
    if not blocks.size:
        return blocks
    values, vectors = np.linalg.eigh(blocks)
    floor = np.maximum(1e-8 * values[:, -1:], 1e-8 * max(float(values[:, -1].mean()), 1e-300))
    return (vectors / np.maximum(values, floor)[:, None, :]) @ vectors.transpose(0, 2, 1)


def _least_ratio(blocks: np.ndarray, others: np.ndarray) -> float:
    """The least eigenvalue of any block relative to its counterpart, in the directions the counterpart informs."""
    if not blocks.size:
        return np.inf
    values, vectors = np.linalg.eigh(others)
    known = values > 1e-10 * np.maximum(values[:, -1:], 1e-300)
    root = np.where(known, 1.0 / np.sqrt(np.where(known, values, 1.0)), 0.0)
    half = vectors * root[:, None, :]
    # Directions without counterpart must not count as having nothing.
    unknown = np.where(known, 0.0, 1.0)[:, :, None] * np.eye(blocks.shape[1])
    return float(np.linalg.eigvalsh(half.transpose(0, 2, 1) @ blocks @ half + unknown)[:, 0].min())


def _judge_blocks(cells: Design, here: Derivatives, tangent: TangentBasis) -> np.ndarray:
    """Information about each judge's own coordinates; terms that move different predictors stand alone."""
    own, terms = tangent.judge_items, cells.judge_terms
    f, width, n_judges = own.shape[1], own.shape[1] + cells.n_judge_terms, cells.n_judges
    blocks = np.zeros((n_judges, width, width))
    moves = np.concatenate([np.zeros(f, dtype=int), cells.terms.own_moves])
    columns = [*(part[cells.first] - part[cells.second] for part in own.T), *terms.T]
    for i in range(width):
        weighted = _curvature(here, moves[i]) * columns[i]
        for j in np.flatnonzero(moves[: i + 1] == moves[i]).tolist():
            blocks[:, i, j] = np.bincount(cells.judge, weighted * columns[j], n_judges)
            blocks[:, j, i] = blocks[:, i, j]
    for k, e in cells.terms.held:
        blocks[k, f + e] = blocks[k, :, f + e] = 0.0
    return blocks


def _curvature(here: Derivatives, predictor: int) -> np.ndarray:
    """Second derivative with respect to one predictor, shape (n_cells,)."""
    if predictor == LOG_ODDS or here.own_curvature is None:
        return here.curvature
    return here.own_curvature[predictor - 1, predictor - 1]


def _item_blocks(cells: Design, here: Derivatives, tangent: TangentBasis) -> np.ndarray:
    """Information about each item's shared movements if all other items stood still, shape (n_items, g, g)."""
    size, weights = cells.n_judges * cells.n_items, tangent.shared_judges
    degree = np.bincount(cells.first_entry, here.curvature, size) + np.bincount(
        cells.second_entry, here.curvature, size
    )
    g = weights.shape[1]
    products = (weights[:, :, None] * weights[:, None, :]).reshape(cells.n_judges, g * g)
    return (degree.reshape(cells.n_judges, cells.n_items).T @ products).reshape(cells.n_items, g, g)


def _shared_term_block(cells: Design, here: Derivatives) -> np.ndarray:
    """Information about the shared linear coefficients; terms that move different predictors stand alone."""
    terms, moves = cells.shared_terms, cells.terms.shared_moves
    block = np.zeros((terms.shape[1], terms.shape[1]))
    for predictor in np.unique(moves):
        some = np.flatnonzero(moves == predictor)
        block[np.ix_(some, some)] = terms[:, some].T @ (_curvature(here, predictor)[:, None] * terms[:, some])
    return block
