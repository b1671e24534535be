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
    without : ndarray, shape (n_items,)
        Of the test that none of the others moved against each other, each item left out; differences of the others do not hang on
        the zero of the scores, which an item that falls raises for all others.
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
    without: np.ndarray
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
    variance = old_errors + new_errors
    if between is not None:
        variance = variance - between - between.T
    n, change = len(old), new - old
    difference, variance = _centred(change, variance)
    error = np.sqrt(np.maximum(np.diag(variance), 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(error > 1e-9 * error.max(initial=0.0), difference / error, np.nan)
    root = _root(variance)
    # The mean of both has no error in common with their difference if both are as precise.
    whitened, scale = difference @ root, (old + new - (old + new).mean()) @ root
    statistic, p = float(whitened @ whitened), len(whitened)
    along = float(whitened @ scale) ** 2 / max(float(scale @ scale), 1e-300)
    others = [np.arange(n) != i for i in range(n)]
    without = np.array([_none_moved(*_centred(change[rest], variance[np.ix_(rest, rest)]), df) for rest in others])
    joint, apart = _chance(statistic, p, df), _chance(statistic - along, p - 1, df)
    return Moves(difference, error, z, 2.0 * stats.t.sf(np.abs(z), df), statistic, p, joint, without, apart)


def _centred(change: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    centre = np.eye(len(change)) - 1.0 / len(change)
    return centre @ change, centre @ variance @ centre


def _root(variance: np.ndarray) -> np.ndarray:
    """A matrix R such that R R' inverts the variance along what varies."""
    values, vectors = np.linalg.eigh(variance)
    some = values > 1e-10 * max(values.max(initial=0.0), 1e-300)
    return vectors[:, some] / np.sqrt(values[some])


def _none_moved(difference: np.ndarray, variance: np.ndarray, df: float) -> float:
    """The p-value of the test that all differences are zero."""
    whitened = difference @ _root(variance)
    return _chance(float(whitened @ whitened), len(whitened), df)


def _chance(statistic: float, p: int, df: float) -> float:
    if p < 1:
        return 1.0
    return float(stats.chi2.sf(statistic, p) if np.isinf(df) else stats.f.sf(statistic / p, p, df))
