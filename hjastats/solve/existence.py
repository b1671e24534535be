"""Whether an optimum is one: finite estimates, with names for what ran away."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from .. import limits
from ..data.graph import groups_of_wins, levels_of_wins
from ..model.design import Coefficients, Design
from ..model.information import expected_information, free_information
from ..model.likelihood import evaluate, free_gradient, gradient, log_odds, log_odds_change, own_predictors
from ..model.response import Derivatives, typical
from ..model.tangent import TangentBasis, centred
from .products import ProductSystem, coordinates, in_free_order, movement

# Along a direction that runs to infinity the fitted probabilities reach 0 or 1 and the information falls below this share of
# what the same comparisons would give at even odds. A score 20 log-odds away from all others still has 1e-8.
VANISHED = 1e-8
# Log-odds up to which a verdict's information has certainly not: there it is 1e-6 of that at even odds.
_OPEN = 15.0
# On the way to infinity every step is about one log-odds long; one so short is the rounding error of an optimum.
_STANDSTILL = 1e-2
# A judge, an item or a coefficient takes part in a direction when it has at least this share of the largest movement.
INVOLVED = 0.3


@dataclass(frozen=True)
class Separation:
    """A movement that keeps improving the likelihood without limit, scaled to a largest change of log-odds of one.

    Attributes
    ----------
    scores : ndarray, shape (n_judges, n_items)
    judge_terms : ndarray, shape (n_judges, e)
    shared_terms : ndarray, shape (m,)
    step : ndarray, shape (n_free,)
        The movement in free coordinates.
    even_odds : ndarray, shape (n_free, n_free)
        Covariance the same comparisons would give if all verdicts were open; empty where it was too large to compute.
    """

    scores: np.ndarray
    judge_terms: np.ndarray
    shared_terms: np.ndarray
    step: np.ndarray
    even_odds: np.ndarray

    @property
    def is_affected(self) -> np.ndarray:
        """Which scores run away, shape (n_judges, n_items)."""
        return np.abs(self.scores) >= INVOLVED

    @property
    def judges(self) -> np.ndarray:
        """Positions of the judges whose scores move."""
        return np.flatnonzero(np.abs(self.scores).max(axis=1, initial=0.0) >= INVOLVED)

    @property
    def rising(self) -> np.ndarray:
        """Positions of the items that rise for these judges."""
        return np.flatnonzero(self._item_moves >= INVOLVED)

    @property
    def falling(self) -> np.ndarray:
        """Positions of the items that fall for these judges."""
        return np.flatnonzero(self._item_moves <= -INVOLVED)

    @property
    def _item_moves(self) -> np.ndarray:
        """The largest movement of each item over the judges."""
        strongest = np.abs(self.scores).argmax(axis=0)
        return self.scores[strongest, np.arange(self.scores.shape[1])]

    def moving_terms(
        self, judge_terms: tuple[str, ...], shared_terms: tuple[str, ...], judges: tuple[str, ...]
    ) -> list[str]:
        """Names of the coefficients that grow or fall."""
        names = []
        for e, term in enumerate(judge_terms):
            for k in np.flatnonzero(np.abs(self.judge_terms[:, e]) >= INVOLVED):
                names.append(f"{term}[{judges[k]}] {'grows' if self.judge_terms[k, e] > 0 else 'falls'}")
        for m in np.flatnonzero(np.abs(self.shared_terms) >= INVOLVED):
            names.append(f"{shared_terms[m]} {'grows' if self.shared_terms[m] > 0 else 'falls'}")
        return names


def find_separation(
    cells: Design, at: Coefficients, tangent: TangentBasis, *, diverges: bool = False
) -> Separation | None:
    """Look for directions without information that even odds would have informed; None when the estimate is finite.

    The information at the estimate is compared with that of the same comparisons at even odds: scale-free, and blind to
    directions the design never informed (those are not separated but unidentified).

    Parameters
    ----------
    diverges : bool
        Whether the maximisation saw the estimate run away; the least informed directions are then the ones.
    """
    if not diverges and not cells.response.parameters and np.abs(log_odds(cells, at)).max(initial=0.0) < _OPEN:
        return None
    # Expected information, which knows of every verdict that could have been given.
    here = typical(cells.response, evaluate(cells, at), cells.n)
    if not diverges and (here.curvature > VANISHED * cells.n / 4.0).all() and _response_is_open(cells, here):
        return None
    if tangent.n_free > limits.MANY_FREE and not tangent.shared_judges.shape[1] and not len(cells.is_free):
        # Judges by themselves: what has no limit can be read off who beat whom.
        return _separation_of_judges(cells, tangent)
    n_free = cells.n_linear + tangent.n_free
    if n_free > limits.DENSE_SHARED and not diverges and _has_information(*_systems(cells, here, tangent)):
        return None
    if n_free > limits.MANY_FREE:
        # One eigenvalue problem of this size takes longer than the fit.
        return _separation_of_many(cells, here, tangent, diverges=diverges)
    estimated = free_information(expected_information(cells, here, tangent), cells)
    possible = free_information(expected_information(cells, cells.response.even_odds(cells.n), tangent), cells)
    basis = _informed(possible)
    share, vectors = eigh(basis.T @ estimated @ basis, basis.T @ possible @ basis)
    limit = max(VANISHED, min(30.0 * share[0], 1e-3)) if diverges else VANISHED
    gone = share <= limit
    if not gone.any():
        return None
    vectors = basis @ vectors[:, gone]
    # The Newton step within the vanished directions: signed, and as long in each as the likelihood wants to go.
    slope = vectors.T @ free_gradient(gradient(cells, here), tangent, cells)
    step = -vectors @ (slope / np.maximum(share[gone], 1e-300))
    if not np.isfinite(step).all() or not step.any():
        step = vectors[:, 0]
    return _separation(step, cells, tangent, basis @ np.linalg.inv(basis.T @ possible @ basis) @ basis.T)


def _separation_of_judges(cells: Design, tangent: TangentBasis) -> Separation | None:
    """The same for judges with scores of their own: within each, all that wins do not lead to and back from run away.

    The largest group that is linked both ways keeps finite differences; everything else moves away from it, in any direction.
    """
    levels, groups = levels_of_wins(cells), groups_of_wins(cells)
    if not levels.any():
        return None
    moves = np.zeros(levels.shape)
    for k in np.flatnonzero(levels.any(axis=1)):
        own = np.unique(groups[k], return_inverse=True)[1]
        main = own == np.bincount(own).argmax()
        moves[k] = np.where(main, 0.0, np.where(levels[k] >= levels[k][main][0], 1.0, -1.0))
    nothing = np.zeros((cells.n_judges, 0)), np.zeros(0)
    return Separation(moves, *nothing, tangent.coordinates(centred(moves)), np.zeros((0, 0)))


def _systems(cells: Design, here: Derivatives, tangent: TangentBasis) -> tuple[ProductSystem, ProductSystem]:
    """The information, and that of the same comparisons at even odds."""
    possible = cells.response.even_odds(cells.n)
    return ProductSystem(cells, here, tangent), ProductSystem(cells, possible, tangent)


def _has_information(estimated: ProductSystem, possible: ProductSystem) -> bool:
    """Whether even the least informed direction certainly has some."""
    return estimated.least_share(possible) > VANISHED


def _separation_of_many(
    cells: Design, here: Derivatives, tangent: TangentBasis, *, diverges: bool
) -> Separation | None:
    """The same question answered by products with the information, where a bound did not suffice: by the next step."""
    system, possible = _systems(cells, here, tangent)
    slopes = gradient(cells, here)
    # Enough damping to keep the step where information vanished from drowning in rounding error.
    damping = 1e-12 * max(float(diagonal.max(initial=0.0)) for diagonal in possible.diagonals())
    solution = system.solve(*coordinates(slopes, tangent), damping, damping, tolerance=1e-3)
    if solution is None:
        return None
    change = movement(*solution, tangent)
    if not diverges and _largest_change(cells, change) < _STANDSTILL:
        return None
    step = -in_free_order(*solution, cells)
    return _separation(step, cells, tangent, np.zeros((0, 0))) if step.any() else None


def _largest_change(cells: Design, change: Coefficients) -> float:
    """The largest change of a predictor along a movement."""
    moved = [log_odds_change(cells, change), own_predictors(cells, change)]
    return max(float(np.abs(part).max(initial=0.0)) for part in moved if part is not None)


def _response_is_open(cells: Design, here: Derivatives) -> bool:
    """Whether no own parameter of the response has run to where one of its verdicts is impossible or certain."""
    if here.own_curvature is None:
        return True
    held = [k for k, _ in cells.terms.held]
    known = ~np.isin(cells.judge, held)
    curvature = np.einsum("ppc->pc", here.own_curvature)
    return bool((curvature[:, known] > VANISHED * cells.n[known] / 4.0).all())


def _informed(possible: np.ndarray) -> np.ndarray:
    """Basis of the directions the design informs at all."""
    values, vectors = np.linalg.eigh(possible)
    return vectors[:, values > 1e-10 * values[-1]]


def _separation(step: np.ndarray, cells: Design, tangent: TangentBasis, open_covariance: np.ndarray) -> Separation:
    scores = tangent.scores(step[cells.n_linear :])
    # A single score that rises makes all others of a judge fall through the sum to zero: what most of them do is no movement.
    scores = scores - np.median(scores, axis=1, keepdims=True)
    judge, shared = cells.coefficients(step[: cells.n_linear])
    # Coefficients count by the change of log-odds they make in a typical comparison.
    judge_terms = judge * np.abs(cells.judge_terms).mean(axis=0)
    shared_terms = shared * np.abs(cells.shared_terms).mean(axis=0)
    parts = (scores, judge_terms, shared_terms)
    largest = max(float(np.abs(part).max(initial=0.0)) for part in parts) or 1.0
    return Separation(scores / largest, judge_terms / largest, shared_terms / largest, step / largest, open_covariance)
