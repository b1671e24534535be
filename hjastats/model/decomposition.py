"""The map between a score matrix and its consensus, sensitivities and disagreement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..errors import IdentificationError

# Relative sizes below which a consensus or a disagreement direction counts as absent (delta_mu, delta_sigma of
# alg:reanchor): far above rounding error, far below anything an analysis could resolve.
CONSENSUS_TOLERANCE = 1e-9
STRENGTH_TOLERANCE = 1e-7


class AnchoringError(IdentificationError):
    """A score matrix has no consensus, or fewer disagreement directions than asked for (FAIL in alg:reanchor)."""


@dataclass(frozen=True)
class Decomposition:
    """Parameters under Condition cond:norm: ``scores = gamma mu' + U V'``.

    Attributes
    ----------
    gamma : ndarray, shape (n_judges,)
        Sensitivity of each judge to the consensus; sums to n_judges and may be negative.
    mu : ndarray, shape (n_items,)
        Consensus scores; sum to zero.
    U : ndarray, shape (n_judges, rank)
        Judge loadings on the disagreement directions; orthogonal columns that sum to zero, strongest first.
    V : ndarray, shape (n_items, rank)
        Item coordinates; columns sum to zero, are orthogonal to mu and to each other, and have length sqrt(n_items).
    """

    gamma: np.ndarray
    mu: np.ndarray
    U: np.ndarray
    V: np.ndarray

    @property
    def rank(self) -> int:
        """Number of disagreement directions."""
        return self.U.shape[1]

    @property
    def residual(self) -> np.ndarray:
        """Disagreement ``U V'``, shape (n_judges, n_items)."""
        return self.U @ self.V.T

    @property
    def scores(self) -> np.ndarray:
        """Score matrix, shape (n_judges, n_items)."""
        return np.outer(self.gamma, self.mu) + self.residual


def canonical(scores: np.ndarray, rank: int) -> Decomposition:
    """Consensus, sensitivity and disagreement of a row-centred score matrix, shape (n_judges, n_items).

    The inverse of ``gamma mu' + U V'`` under Condition cond:norm (eqs. mu, gamma and S-residual of the paper). Scores whose
    residual has a higher rank are truncated to their ``rank`` strongest directions.

    Raises
    ------
    AnchoringError
        If the mean over judges vanishes (no consensus), or the residual has fewer than ``rank`` directions.

    Examples
    --------
    >>> parts = canonical(np.array([[1.0, -1.0, 0.0], [1.0, 0.0, -1.0]]), rank=1)
    >>> parts.mu, parts.gamma
    (array([ 1. , -0.5, -0.5]), array([1., 1.]))
    >>> np.allclose(parts.U @ parts.V.T, [[0, -0.5, 0.5], [0, 0.5, -0.5]])
    True
    """
    mu = scores.mean(axis=0)
    mu = mu - mu.mean()
    size = np.linalg.norm(scores) / np.sqrt(len(scores))
    squared = mu @ mu
    if np.sqrt(squared) <= CONSENSUS_TOLERANCE * size or squared == 0.0:
        raise AnchoringError(
            "the judges' scores average to zero for every item, so there is no consensus to be sensitive to: the model "
            "reduces to pure disagreement and mu, gamma are not defined."
        )
    gamma = scores @ mu / squared
    U, V = _factors(scores - np.outer(gamma, mu), rank, size)
    return Decomposition(gamma, mu, U, V)


def reanchor(gamma: np.ndarray, mu: np.ndarray, U: np.ndarray, V: np.ndarray) -> Decomposition:
    """Restore Condition cond:norm after a block update, leaving the scores unchanged (alg:reanchor).

    Expects ``gamma`` to sum to n_judges, the columns of ``U`` to sum to zero, and ``mu`` and ``V`` to be centred.

    Raises
    ------
    AnchoringError
        The two FAIL conditions: ``mu`` near zero, or the weakest disagreement direction near zero.
    """
    squared = mu @ mu
    size = np.sqrt(squared) * np.linalg.norm(gamma) / np.sqrt(len(gamma)) + np.linalg.norm(U) * np.linalg.norm(V)
    if np.sqrt(squared) <= CONSENSUS_TOLERANCE * size or squared == 0.0:
        raise AnchoringError("the consensus scores are numerically zero.")
    along = V.T @ mu / squared
    anchored_U, anchored_V = _factors(U @ (V - np.outer(mu, along)).T, U.shape[1], size)
    return Decomposition(gamma + U @ along, mu, anchored_U, anchored_V)


def _factors(residual: np.ndarray, rank: int, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Scaled singular vectors of the residual, signs by the first non-zero entry of each column of U."""
    n_judges, n_items = residual.shape
    if rank == 0:
        return np.zeros((n_judges, 0)), np.zeros((n_items, 0))
    left, strength, _ = np.linalg.svd(residual, full_matrices=False)
    if strength[rank - 1] <= STRENGTH_TOLERANCE * max(size, strength[0]):
        found = int((strength > STRENGTH_TOLERANCE * max(size, strength[0])).sum())
        raise AnchoringError(
            f"the scores have {found} disagreement direction(s) but rank={rank} was asked for: the data show no more, fit "
            f"rank={found}."
        )
    left = left[:, :rank] * first_nonzero_sign(left[:, :rank])
    V = residual.T @ left / strength[:rank]
    return left * strength[:rank] / np.sqrt(n_items), V * np.sqrt(n_items)


def aligned(parts: Decomposition, like: Decomposition) -> Decomposition:
    """The same decomposition with its directions in the order and with the signs of another that is close to it.

    Examples
    --------
    >>> parts = canonical(np.array([[1.0, -1.0, 0.0], [1.0, 0.0, -1.0]]), rank=1)
    >>> turned = Decomposition(parts.gamma, parts.mu, -parts.U, -parts.V)
    >>> np.allclose(aligned(turned, parts).U, parts.U)
    True
    """
    if not parts.rank:
        return parts
    # Both matter: neighbours in strength may have changed places, and only their products are sure of their signs.
    likeness = (like.U.T @ parts.U) * (like.V.T @ parts.V)
    order = linear_sum_assignment(-likeness)[1]
    sign = np.where(np.sum(like.V * parts.V[:, order], axis=0) < 0, -1.0, 1.0)
    return Decomposition(parts.gamma, parts.mu, parts.U[:, order] * sign, parts.V[:, order] * sign)


def first_nonzero_sign(columns: np.ndarray) -> np.ndarray:
    """Sign of the first entry of each column that is not rounding error (rem:sign-id).

    Examples
    --------
    >>> first_nonzero_sign(np.array([[1e-17, 2.0], [-1.0, -3.0]]))
    array([-1.,  1.])
    """
    significant = np.abs(columns) > 1e-8 * np.abs(columns).max(axis=0)
    first = significant.argmax(axis=0)
    return np.sign(columns[first, np.arange(columns.shape[1])])


def max_rank(n_judges: int, n_items: int) -> int:
    """Largest rank of the disagreement: with it the scores are unrestricted."""
    return max(min(n_judges - 1, n_items - 2), 0)
