"""Two boards item by item: who really moved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.optimize import minimize_scalar

# Scales that are tried before the best of them is improved.
_ANGLES = 48


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
    scale : float
        Of the new scores in the old ones, if that is all that changed.
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
    scale: float


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
    between = np.zeros_like(old_errors) if between is None else between
    variance = old_errors + new_errors - between - between.T
    n, change = len(old), new - old
    difference, variance = _centred(change, variance)
    error = np.sqrt(np.maximum(np.diag(variance), 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(error > 1e-9 * error.max(initial=0.0), difference / error, np.nan)
    whitened = difference @ _root(variance)
    statistic, p = float(whitened @ whitened), len(whitened)
    scaled, scale = _scaled(old, new, old_errors, new_errors, between)
    others = [np.arange(n) != i for i in range(n)]
    without = np.array([_none_moved(*_centred(change[rest], variance[np.ix_(rest, rest)]), df) for rest in others])
    joint, apart = _chance(statistic, p, df), _chance(scaled, p - 1, df)
    return Moves(difference, error, z, 2.0 * stats.t.sf(np.abs(z), df), statistic, p, joint, without, apart, scale)


def _scaled(
    old: np.ndarray, new: np.ndarray, old_errors: np.ndarray, new_errors: np.ndarray, between: np.ndarray
) -> tuple[float, float]:
    """The least that is left of ``new - c old`` in its own errors, whatever the scale c, and where that is."""

    def left(angle: float) -> float:
        c, s = np.cos(angle), np.sin(angle)
        variance = c * c * new_errors + s * s * old_errors - c * s * (between + between.T)
        difference, variance = _centred(c * new - s * old, variance)
        whitened = difference @ _root(variance)
        return float(whitened @ whitened)

    # All scales from minus to plus infinity are half a turn.
    angles = np.linspace(-0.5 * np.pi, 0.5 * np.pi, _ANGLES, endpoint=False)
    nearest, step = angles[np.argmin([left(angle) for angle in angles])], np.pi / _ANGLES
    found = minimize_scalar(left, bounds=(nearest - step, nearest + step), method="bounded")
    return float(found.fun), float(np.tan(found.x))


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
