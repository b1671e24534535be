"""Two boards item by item: who really moved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Moves:
    """Differences of two boards of the same items, each about its mean.

    Attributes
    ----------
    difference, std_err, z, p_value : ndarray, shape (n_items,)
    statistic : float
        Of the test that none moved.
    df : int
    joint_p_value : float
    apart_p_value : float
        Of the test that none moved but by a change of scale; 1 where no difference is left.
    """

    difference: np.ndarray
    std_err: np.ndarray
    z: np.ndarray
    p_value: np.ndarray
    statistic: float
    df: int
    joint_p_value: float
    apart_p_value: float


def moves(
    old: np.ndarray,
    new: np.ndarray,
    old_errors: np.ndarray,
    new_errors: np.ndarray,
    between: np.ndarray | None = None,
    df: float = np.inf,
) -> Moves:
    """Compare scores (n_items,) with covariances (n_items, n_items), and that between the two where they share verdicts.

    Covariances with so many degrees of freedom, clusters less one, make t and F statistics, as in statsmodels.

    Examples
    --------
    >>> found = moves(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 3.0]), 0.01 * np.eye(3), 0.01 * np.eye(3))
    >>> found.difference.round(2), found.df, found.joint_p_value < 0.001
    (array([-0.33, -0.33,  0.67]), 2, True)
    """
    n = len(old)
    centre = np.eye(n) - 1.0 / n
    difference = centre @ (new - old)
    variance = old_errors + new_errors
    if between is not None:
        variance = variance - between - between.T
    variance = centre @ variance @ centre
    error = np.sqrt(np.maximum(np.diag(variance), 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(error > 1e-9 * error.max(initial=0.0), difference / error, np.nan)
    values, vectors = np.linalg.eigh(variance)
    some = values > 1e-10 * max(values.max(initial=0.0), 1e-300)
    whitened = (vectors[:, some].T @ difference) / np.sqrt(values[some])
    # The mean of both has no error in common with their difference if both are as precise.
    scale = (vectors[:, some].T @ (centre @ (old + new))) / np.sqrt(values[some])
    statistic, p = float(whitened @ whitened), int(some.sum())
    along = float(whitened @ scale) ** 2 / max(float(scale @ scale), 1e-300)
    chances = [_chance(statistic, p, df), _chance(statistic - along, p - 1, df)]
    return Moves(difference, error, z, 2.0 * stats.t.sf(np.abs(z), df), statistic, p, *chances)


def _chance(statistic: float, p: int, df: float) -> float:
    if p < 1:
        return 1.0
    return float(stats.chi2.sf(statistic, p) if np.isinf(df) else stats.f.sf(statistic / p, p, df))
