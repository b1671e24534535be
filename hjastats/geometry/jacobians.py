"""Derivatives of the reported parameters with respect to the free coordinates of the scores, in closed form.

Numerical Jacobians are not good enough here: a Wald test finds its rank from these matrices.
"""

from __future__ import annotations

import numpy as np

from .decomposition import Decomposition
from .structures import Frame


def consensus_jacobian(frame: Frame) -> np.ndarray:
    """Derivative of mu, shape (n_items, n_free): mu is the mean of the rows."""
    ones = np.full((frame.n_judges, 1), 1.0 / frame.n_judges)
    return frame.transposed_direction_times(ones)[0]


def anchor_jacobian(gamma: np.ndarray, mu: np.ndarray, residual: np.ndarray, frame: Frame) -> np.ndarray:
    """Derivative of (gamma, mu) implied by scores ``gamma mu' + residual``, shape (n_judges + n_items, n_free)."""
    d_mu = consensus_jacobian(frame)
    h_mu = frame.direction_times(mu[:, None])[0]
    return np.concatenate([_sensitivity_jacobian(gamma, mu, residual, h_mu, d_mu), d_mu])


def _sensitivity_jacobian(
    gamma: np.ndarray, mu: np.ndarray, residual: np.ndarray, h_mu: np.ndarray, d_mu: np.ndarray
) -> np.ndarray:
    """Derivative of gamma: along a movement H of the scores, ``(H mu - gamma mu' d mu + residual d mu) / |mu|^2``."""
    with np.errstate(invalid="ignore", divide="ignore"):
        # Without any consensus there is no sensitivity to it: not a number.
        return (h_mu + (residual - gamma[:, None] * mu) @ d_mu) / (mu @ mu)


def decomposition_jacobian(parts: Decomposition, frame: Frame) -> np.ndarray:
    """Derivative of (gamma, mu, U, V), shape (n_judges + n_items + rank (n_judges + n_items), n_free).

    ``U`` and ``V`` are stacked direction by direction; they follow from gamma and mu by perturbation of the singular vectors
    of the residual, which needs its singular values to differ.

    Arrays have axes (direction, ..., free coordinate), in this order in memory: all products are matrix products.
    """
    gamma, mu, residual = parts.gamma, parts.mu, parts.residual
    if parts.rank == 0:
        return anchor_jacobian(gamma, mu, residual, frame)
    n_judges, n_items = frame.n_judges, frame.n_items
    root = np.sqrt(n_items)
    strength = np.sqrt((parts.U * parts.U).sum(axis=0)) * root
    left, right = parts.U * (root / strength), parts.V / root
    along_items = frame.direction_times(np.column_stack([mu, right]))
    along_judges = frame.transposed_direction_times(np.column_stack([np.full(n_judges, 1.0 / n_judges), left]))
    d_mu = along_judges[0]
    d_gamma = _sensitivity_jacobian(gamma, mu, residual, along_items[0], d_mu)
    # The residual moves by dR = H - dgamma mu' - gamma dmu'; only its products with the singular vectors are needed.
    d_right = along_items[1:] - gamma[:, None] * (right.T @ d_mu)[:, None]
    d_left = along_judges[1:] - mu[:, None] * (left.T @ d_gamma)[:, None] - (gamma @ left)[:, None, None] * d_mu
    d_U, d_V = _factor_jacobian(left, right, strength, d_left, d_right)
    return np.concatenate([d_gamma, d_mu, d_U.reshape(-1, frame.n_free) / root, d_V.reshape(-1, frame.n_free) * root])


def _factor_jacobian(
    left: np.ndarray, right: np.ndarray, strength: np.ndarray, d_left: np.ndarray, d_right: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of singular vectors, those on the left times their values, by first-order perturbation.

    Parameters
    ----------
    d_left, d_right : ndarray, shapes (rank, n_items, n_free) and (rank, n_judges, n_free)
        The moving matrix, transposed times the left vectors, and times the right ones.
    """
    inner = left.T @ d_right
    transposed = inner.transpose(1, 0, 2)
    to, of = strength[:, None, None], strength[:, None]
    d_U = d_right - left @ inner + left.T[:, :, None] * np.einsum("rrd->rd", inner)[:, None]
    d_V = (d_left - right @ transposed) / to
    if len(strength) == 1:
        return d_U, d_V
    # Directions also turn towards each other.
    gap = strength[:, None] ** 2 - strength**2
    with np.errstate(divide="ignore"):
        inverse_gap = np.where(np.eye(len(strength), dtype=bool), 0.0, 1.0 / gap)[:, :, None]
    d_U += left @ (inverse_gap * (inner * to + transposed * of)) * to
    d_V += right @ (inverse_gap * (inner * of + transposed * to))
    return d_U, d_V


def scores_jacobian(frame: Frame) -> np.ndarray:
    """Derivative of the flattened score matrix, shape (n_judges * n_items, n_free): the basis directions themselves."""
    return frame.direction_times(np.eye(frame.n_items)).transpose(1, 0, 2).reshape(-1, frame.n_free)
