"""Whether an optimum is one: finite estimates, with names for what ran away."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, eigh

from ..data.cells import Cells
from ..geometry.parameters import Coefficients
from ..geometry.structures import Frame
from ..likelihood import bernoulli, expected_information, free_information, linear_predictor

# Along a direction that runs to infinity the fitted probabilities reach 0 or 1 and the information falls below this share of
# what the same comparisons would give at even odds. A score 20 log-odds away from all others still has 1e-8.
VANISHED = 1e-8
# A judge or an item takes part in a direction when it has at least this share of the largest movement.
_INVOLVED = 0.3


@dataclass(frozen=True)
class Separation:
    """A movement of the scores that keeps improving the likelihood without limit.

    Attributes
    ----------
    direction : ndarray, shape (n_judges, n_items)
        Movement of the scores, largest entry one in absolute value.
    judge_terms : ndarray, shape (n_judges, e)
        Movement of the judges' own coefficients.
    judges, rising, falling : tuple of int
        Who moves, and the items that rise and fall for them.
    """

    direction: np.ndarray
    judge_terms: np.ndarray
    judges: tuple[int, ...]
    rising: tuple[int, ...]
    falling: tuple[int, ...]


def find_separation(cells: Cells, at: Coefficients, frame: Frame, *, diverges: bool = False) -> Separation | None:
    """Look for a direction without information that even odds would have informed; None when the estimate is finite.

    The information at the estimate is compared with that of the same comparisons at even odds: scale-free, and blind to
    directions the design never informed (those are not separated but unidentified).

    Parameters
    ----------
    diverges : bool
        Whether the maximisation saw the scores run away; the least informed direction is then the one.
    """
    here = bernoulli(linear_predictor(cells, at), cells.n, cells.y)
    even = cells.n / 4.0
    if not diverges and (here.curvature > VANISHED * even).all():
        return None
    sizes = (cells.n_judge_terms, cells.n_shared_terms)
    estimated = free_information(expected_information(cells, here.curvature, frame), *sizes)
    possible = free_information(expected_information(cells, even, frame), *sizes)
    try:
        share, vectors = eigh(estimated, possible, subset_by_index=[0, 0])
    except LinAlgError:
        return None
    if not diverges and share[0] > VANISHED:
        return None
    return _describe(vectors[:, 0], frame, *sizes)


def _describe(vector: np.ndarray, frame: Frame, n_judge_terms: int, n_shared_terms: int) -> Separation:
    n_linear = n_shared_terms + frame.n_judges * n_judge_terms
    own, shared = frame.split(vector[n_linear:])
    direction = own @ frame.judge_items.T + frame.shared_judges @ shared @ frame.shared_items.T
    terms = vector[n_shared_terms:n_linear].reshape(frame.n_judges, n_judge_terms)
    largest = max(np.abs(direction).max(initial=0.0), np.abs(terms).max(initial=0.0)) or 1.0
    direction, terms = direction / largest, terms / largest
    movement = np.hstack([direction, terms])
    judges = np.flatnonzero(np.abs(movement).max(axis=1) >= _INVOLVED)
    moves = direction[judges]
    strongest = moves[np.abs(moves).argmax(axis=0), np.arange(frame.n_items)] if len(judges) else direction[0]
    return Separation(
        direction,
        terms,
        tuple(judges.tolist()),
        tuple(np.flatnonzero(strongest >= _INVOLVED).tolist()),
        tuple(np.flatnonzero(strongest <= -_INVOLVED).tolist()),
    )
