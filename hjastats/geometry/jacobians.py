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
    """Derivative of (gamma, mu) implied by scores ``gamma mu' + residual``, shape (n_judges + n_items, n_free).

    Along a movement H of the scores, ``d mu = H'1/K`` and ``d gamma = (H mu - gamma mu' d mu + residual d mu) / |mu|^2``.
    """
    d_mu = consensus_jacobian(frame)
    h_mu = frame.direction_times(mu[:, None])[0]
    with np.errstate(invalid="ignore", divide="ignore"):
        # Without any consensus there is no sensitivity to it: not a number.
        d_gamma = (h_mu - np.outer(gamma, mu @ d_mu) + residual @ d_mu) / (mu @ mu)
    return np.vstack([d_gamma, d_mu])


def decomposition_jacobian(parts: Decomposition, frame: Frame) -> np.ndarray:
    """Derivative of (gamma, mu, U, V), shape (n_judges + n_items + rank (n_judges + n_items), n_free).

    ``U`` and ``V`` are stacked direction by direction; they follow from gamma and mu by perturbation of the singular vectors
    of the residual, which needs its singular values to differ.
    """
    anchor = anchor_jacobian(parts.gamma, parts.mu, parts.residual, frame)
    if parts.rank == 0:
        return anchor
    d_gamma, d_mu = anchor[: frame.n_judges], anchor[frame.n_judges :]
    d_U, d_V = _factor_jacobian(parts, frame, d_gamma, d_mu)
    return np.vstack([anchor, d_U, d_V])


def _factor_jacobian(
    parts: Decomposition, frame: Frame, d_gamma: np.ndarray, d_mu: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """First-order perturbation of the singular vectors of the residual, for all free coordinates at once.

    Arrays have axes (direction, ..., free coordinate), in this order in memory: all products are matrix products.
    """
    n_judges, n_items, n_free = frame.n_judges, frame.n_items, frame.n_free
    strength = np.linalg.norm(parts.U, axis=0) * np.sqrt(n_items)
    left = parts.U * np.sqrt(n_items) / strength
    right = parts.V / np.sqrt(n_items)
    # The residual moves by dR = H - dgamma mu' - gamma dmu'; only its products with the singular vectors are needed.
    d_right = frame.direction_times(right) - parts.gamma[:, None] * (right.T @ d_mu)[:, None]
    d_left = (
        frame.transposed_direction_times(left)
        - parts.mu[:, None] * (left.T @ d_gamma)[:, None]
        - (parts.gamma @ left)[:, None, None] * d_mu
    )
    inner = left.T @ d_right
    transposed = inner.transpose(1, 0, 2)
    d_strength = np.einsum("rrd->rd", inner)
    gap = strength[:, None] ** 2 - strength**2
    with np.errstate(divide="ignore"):
        inverse_gap = np.where(np.eye(parts.rank, dtype=bool), 0.0, 1.0 / gap)[:, :, None]
    to, of = strength[:, None, None], strength[:, None]
    turn_left = inverse_gap * (inner * to + transposed * of)
    turn_right = inverse_gap * (inner * of + transposed * to)
    leave_left = (d_right - left @ inner) / to
    leave_right = (d_left - right @ transposed) / to
    d_U = ((left @ turn_left + leave_left) * to + left.T[:, :, None] * d_strength[:, None]) / np.sqrt(n_items)
    d_V = (right @ turn_right + leave_right) * np.sqrt(n_items)
    return d_U.reshape(parts.rank * n_judges, n_free), d_V.reshape(parts.rank * n_items, n_free)


def scores_jacobian(frame: Frame) -> np.ndarray:
    """Derivative of the flattened score matrix, shape (n_judges * n_items, n_free): the basis directions themselves."""
    return frame.direction_times(np.eye(frame.n_items)).transpose(1, 0, 2).reshape(-1, frame.n_free)
