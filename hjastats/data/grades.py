"""Grades as numbers: outcomes at equal steps from 0 to 1, and which scale they lie on."""

from __future__ import annotations

import numpy as np

from .. import limits

# How near a number is to the verdict that it stands for: thirds need not be exact.
ON_SCALE = 1e-6
# Strengths of differences, where these lie on no scale of so few points that each is a grade.
STRENGTHS = 5


def points_of_scale(outcome: np.ndarray) -> int | None:
    """Points of the coarsest scale of equal steps that all outcomes lie on; None if there is none.

    Examples
    --------
    >>> points_of_scale(np.array([0.0, 0.25, 1.0])), points_of_scale(np.array([0.31, 0.99]))
    (5, None)
    """
    for n_steps in range(1, limits.GRADES):
        if (np.abs(outcome * n_steps - np.round(outcome * n_steps)) <= ON_SCALE * n_steps).all():
            return n_steps + 1
    return None


def number_of_grades(outcome: np.ndarray) -> int:
    """How many grades the verdicts have, with mirror images; none where they lie on no scale.

    Examples
    --------
    >>> number_of_grades(np.array([0.25, 0.5, 1.0])), number_of_grades(np.array([0.1, 0.77, 0.345]))
    (5, 0)
    """
    n_points = points_of_scale(seen := np.unique(outcome))
    if n_points is None:
        return 0
    place = np.round(seen * (n_points - 1))
    return len(np.union1d(place, n_points - 1 - place))


def preferred(outcome: np.ndarray) -> np.ndarray:
    """Which item was preferred, however strongly: 1 the first, 0 the second, 1/2 neither.

    Examples
    --------
    >>> preferred(np.array([1.0, 0.6, 0.5, 0.25])).tolist()
    [1.0, 1.0, 0.5, 0.0]
    """
    return 0.5 + 0.5 * np.sign(outcome - 0.5)


def grades_of(difference: np.ndarray) -> np.ndarray:
    """Differences of ratings as grades: equal steps of the ratings, or so many strengths where there are more than have thresholds.

    Examples
    --------
    >>> grades_of(np.array([2.0, -1, 0, 4]))
    array([0.75 , 0.375, 0.5  , 1.   ])
    """
    size, largest = np.abs(difference), np.abs(difference).max(initial=0.0)
    if not largest:
        return np.full(len(difference), 0.5)
    if points_of_scale(0.5 + 0.5 * difference / largest) is None:
        cuts = np.quantile(size[size > 0], np.arange(1, STRENGTHS) / STRENGTHS)
        size = np.where(size > 0, 1.0 + np.searchsorted(cuts, size), 0.0)
        largest = float(STRENGTHS)
    return 0.5 + 0.5 * np.sign(difference) * size / largest
