"""Derivatives of the reported parameters, in closed form: of all by the free coordinates, or of one by the scores.

Numerical Jacobians are not good enough here: a Wald test finds its rank from these matrices. Of many items the derivatives of all
parameters do not fit in memory; that of one is a matrix like the scores, whose ``TangentBasis.coordinates`` are its row of the
Jacobian.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .decomposition import Decomposition
from .tangent import TangentBasis

# Vectors in columns (n, m) to their products with movements, shape (m, n of the other side, n_movements).
Along = Callable[[np.ndarray], np.ndarray]


def consensus_jacobian(tangent: TangentBasis) -> np.ndarray:
    """Derivative of mu, shape (n_items, n_free): mu is the mean of the rows."""
    ones = np.full((tangent.n_judges, 1), 1.0 / tangent.n_judges)
    return tangent.transposed_direction_times(ones)[0]


def mean_rows(items: np.ndarray, tangent: TangentBasis) -> np.ndarray:
    """Derivative of item vectors (m, n_items) times the mean over judges of the scores, shape (m, n_free).

    With rows of the unit matrix these are rows of ``consensus_jacobian``, as many at a time as are wanted.
    """
    own = np.repeat((items @ tangent.judge_items / tangent.n_judges)[:, None], tangent.n_judges, axis=1)
    shared = tangent.shared_judges.mean(axis=0)[:, None] * tangent.along_shared(items)[:, None]
    return np.hstack([own.reshape(len(items), -1), shared.reshape(len(items), -1)])


def anchor_jacobian(gamma: np.ndarray, mu: np.ndarray, residual: np.ndarray, tangent: TangentBasis) -> np.ndarray:
    """Derivative of (gamma, mu) implied by scores ``gamma mu' + residual``, shape (n_judges + n_items, n_free)."""
    d_mu = consensus_jacobian(tangent)
    h_mu = tangent.direction_times(mu[:, None])[0]
    return np.concatenate([_sensitivity_jacobian(gamma, mu, residual, h_mu, d_mu), d_mu])


def _sensitivity_jacobian(
    gamma: np.ndarray, mu: np.ndarray, residual: np.ndarray, h_mu: np.ndarray, d_mu: np.ndarray
) -> np.ndarray:
    """Derivative of gamma: along a movement H of the scores, ``(H mu - gamma mu' d mu + residual d mu) / |mu|^2``."""
    with np.errstate(invalid="ignore", divide="ignore"):
        # Without any consensus there is no sensitivity to it: not a number.
        return (h_mu + (residual - gamma[:, None] * mu) @ d_mu) / (mu @ mu)


def decomposition_jacobian(parts: Decomposition, tangent: TangentBasis) -> np.ndarray:
    """Derivative of (gamma, mu, U, V), shape (n_judges + n_items + rank (n_judges + n_items), n_free).

    ``U`` and ``V`` are stacked direction by direction; they follow from gamma and mu by perturbation of the singular vectors
    of the residual, which needs its singular values to differ.

    Arrays have axes (direction, ..., free coordinate), in this order in memory: all products are matrix products.
    """
    return _derivatives(parts, tangent.direction_times, tangent.transposed_direction_times)


def decomposition_derivative(parts: Decomposition, change: np.ndarray) -> np.ndarray:
    """Change of (gamma, mu, U, V) along one movement of the scores (n_judges, n_items), to first order.

    The product of ``decomposition_jacobian`` with that movement, without the matrix.
    """
    return _derivatives(
        parts, lambda items: (change @ items).T[..., None], lambda judges: (judges.T @ change)[..., None]
    )[:, 0]


def _derivatives(parts: Decomposition, along_items: Along, along_judges: Along) -> np.ndarray:
    """Change of (gamma, mu, U, V) along movements H given by their products with item and with judge vectors."""
    gamma, mu, residual = parts.gamma, parts.mu, parts.residual
    n_judges, root = len(gamma), np.sqrt(len(mu))
    left, strength, right = _singular_vectors(parts)
    by_items = along_items(np.column_stack([mu, right]))
    by_judges = along_judges(np.column_stack([np.full(n_judges, 1.0 / n_judges), left]))
    d_mu = by_judges[0]
    d_gamma = _sensitivity_jacobian(gamma, mu, residual, by_items[0], d_mu)
    if parts.rank == 0:
        return np.concatenate([d_gamma, d_mu])
    # The residual moves by dR = H - dgamma mu' - gamma dmu'; only its products with the singular vectors are needed.
    d_right = by_items[1:] - gamma[:, None] * (right.T @ d_mu)[:, None]
    d_left = by_judges[1:] - mu[:, None] * (left.T @ d_gamma)[:, None] - (gamma @ left)[:, None, None] * d_mu
    d_U, d_V = _factor_jacobian(left, right, strength, d_left, d_right)
    return np.concatenate([d_gamma, d_mu, *(d_U / root), *(d_V * root)])


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


def scores_jacobian(tangent: TangentBasis) -> np.ndarray:
    """Derivative of the flattened score matrix, shape (n_judges * n_items, n_free): the basis directions themselves."""
    return tangent.direction_times(np.eye(tangent.n_items)).transpose(1, 0, 2).reshape(-1, tangent.n_free)


def consensus_gradient(parts: Decomposition, item: int) -> np.ndarray:
    """Derivative of ``mu[item]`` by the scores, shape (n_judges, n_items)."""
    result = np.zeros((len(parts.gamma), len(parts.mu)))
    result[:, item] = 1.0 / len(parts.gamma)
    return result


def sensitivity_gradient(parts: Decomposition, residual: np.ndarray, judge: int) -> np.ndarray:
    """Derivative of ``gamma[judge]`` by the scores ``gamma mu' + residual``, shape (n_judges, n_items)."""
    n_judges, mu = len(parts.gamma), parts.mu
    with np.errstate(invalid="ignore", divide="ignore"):
        result = np.tile((residual[judge] - parts.gamma[judge] * mu) / n_judges, (n_judges, 1))
        result[judge] += mu
        return result / (mu @ mu)


def disagreement_gradient(parts: Decomposition, residual: np.ndarray, judge: int) -> np.ndarray:
    """Derivative by the scores of the norm of a judge's row of the residual, which has no part along mu."""
    own = residual[judge] / np.linalg.norm(residual[judge])
    result = np.tile(-parts.gamma[judge] * own / len(parts.gamma), (len(parts.gamma), 1))
    result[judge] += own
    return result


def loading_gradient(parts: Decomposition, judge: int, direction: int) -> np.ndarray:
    """Derivative of ``U[judge, direction]`` by the scores, shape (n_judges, n_items)."""
    left, strength, right = _singular_vectors(parts)
    own, others = left[:, direction], np.arange(parts.rank) != direction
    leave = left[judge, direction] * own - left @ left[judge]
    leave[judge] += 1.0
    turn = left[judge] * _inverse_gaps(strength, direction)
    by_residual = np.outer(leave + strength[direction] ** 2 * (left @ turn), right[:, direction])
    by_residual += strength[direction] * np.outer(own, right[:, others] @ (turn * strength)[others])
    return _through_residual(parts, by_residual / np.sqrt(len(parts.mu)))


def coordinate_gradient(parts: Decomposition, item: int, direction: int) -> np.ndarray:
    """Derivative of ``V[item, direction]`` by the scores, shape (n_judges, n_items)."""
    left, strength, right = _singular_vectors(parts)
    own, others = right[:, direction], np.arange(parts.rank) != direction
    leave = -right @ right[item]
    leave[item] += 1.0
    turn = right[item] * _inverse_gaps(strength, direction)
    by_residual = np.outer(left[:, direction], leave / strength[direction] + strength[direction] * (right @ turn))
    by_residual += np.outer(left[:, others] @ (turn * strength)[others], own)
    return _through_residual(parts, by_residual * np.sqrt(len(parts.mu)))


def _singular_vectors(parts: Decomposition) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Left vectors, values and right vectors of the residual."""
    root = np.sqrt(len(parts.mu))
    strength = np.sqrt((parts.U * parts.U).sum(axis=0)) * root
    return parts.U * (root / strength), strength, parts.V / root


def _inverse_gaps(strength: np.ndarray, direction: int) -> np.ndarray:
    """How much a direction turns towards each of the others; not at all towards itself."""
    gap = strength[direction] ** 2 - strength**2
    gap[direction] = np.inf
    with np.errstate(divide="ignore"):
        return 1.0 / gap


def _through_residual(parts: Decomposition, by_residual: np.ndarray) -> np.ndarray:
    """Derivative by the scores of what depends on the residual ``S - gamma mu'`` alone."""
    gamma, mu = parts.gamma, parts.mu
    by_gamma, by_mu = by_residual @ mu / (mu @ mu), gamma @ by_residual
    shared = by_gamma @ (parts.residual - gamma[:, None] * mu) + by_mu
    return by_residual - np.outer(by_gamma, mu) - shared / len(gamma)
