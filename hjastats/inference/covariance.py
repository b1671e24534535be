"""Covariance of the free coordinates and of everything computed from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from ..data.cells import Cells
from ..estimation.trust import NO_RIDGE, Ridge
from ..geometry.parameters import Coefficients
from ..geometry.structures import Frame
from ..likelihood import (
    evaluate,
    expected_information,
    free_information,
    gradient,
    observed_information,
)

# Beyond this condition number of the information, standard errors are rounding error.
SINGULAR_CONDITION = 1e13


@dataclass(frozen=True)
class FreeCovariance:
    """Information about the free coordinates and its inverse.

    Attributes
    ----------
    information : ndarray, shape (n_free, n_free)
    covariance : ndarray, shape (n_free, n_free)
        Not-a-number throughout when the information is singular: no pseudo-inverse stands in for missing knowledge.
    condition : float
        Condition number of the information in the 1-norm; infinite when singular.
    """

    information: np.ndarray
    covariance: np.ndarray
    condition: float

    @property
    def is_identified(self) -> bool:
        """Whether the data determine every free coordinate."""
        return bool(np.isfinite(self.condition))


def information_at(
    cells: Cells, at: Coefficients, frame: Frame, kind: str = "expected", ridge: Ridge = NO_RIDGE
) -> np.ndarray:
    """Information about (shared terms, judge terms, free score coordinates), shape (n_free, n_free).

    Parameters
    ----------
    kind : {"expected", "observed"}
    ridge : Ridge
        Penalty, added to the coordinates it shrinks.
    """
    here = evaluate(cells, at)
    arrow = expected_information(cells, here, frame)
    if kind == "observed":
        arrow = observed_information(arrow, frame, gradient(cells, here).scores)
    return free_information(ridge.add_to_information(cells, arrow, frame) if ridge else arrow, cells)


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
    nothing = FreeCovariance(information, np.full_like(information, np.nan), np.inf)
    # Coordinates of different kinds live on different scales; a unit diagonal keeps the test of singularity fair.
    scale = np.sqrt(np.diag(information))
    if not (scale > 0).all():
        return nothing
    scaled = information / np.outer(scale, scale)
    factor, failed = dpotrf(scaled, lower=True)
    if failed:
        return nothing
    # The inverse from its factor: half the work of solving for the unit matrix.
    inverse = np.tril(dpotri(factor, lower=True)[0])
    inverse += np.tril(inverse, -1).T
    condition = float(np.linalg.norm(scaled, 1) * np.linalg.norm(inverse, 1))
    if not condition < SINGULAR_CONDITION:
        return nothing
    return FreeCovariance(information, inverse / np.outer(scale, scale), condition)


def propagate(jacobian: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Delta method: covariance of quantities with the given Jacobian, exactly symmetric."""
    result = jacobian @ covariance @ jacobian.T
    return 0.5 * (result + result.T)


def score_standard_errors(frame: Frame, covariance: np.ndarray) -> np.ndarray:
    """Standard errors of all scores, shape (n_judges, n_items), judge by judge.

    ``covariance`` is that of the free score coordinates; the score of judge k and item i depends only on the judge's own
    coordinates and the shared ones.
    """
    n_judges, n_items, f = frame.n_judges, frame.n_items, frame.judge_items.shape[1]
    n_own = n_judges * f
    shared = np.arange(n_own, frame.n_free)
    errors = np.empty((n_judges, n_items))
    for k in range(n_judges):
        index = np.concatenate([np.arange(k * f, (k + 1) * f), shared])
        jacobian = np.hstack([frame.judge_items, np.kron(frame.shared_judges[k], frame.shared_items)])
        variance = np.einsum("ia,ab,ib->i", jacobian, covariance[np.ix_(index, index)], jacobian, optimize=True)
        errors[k] = np.sqrt(np.maximum(variance, 0.0))
    return errors
