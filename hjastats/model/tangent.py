"""The directions in which a score matrix may move: a basis of the tangent space, and items in coordinates that sum to zero.

From a point, every structure reaches ``d scores = a B' + P D'``: every judge has free coordinates ``a`` along item directions
``B``, and all judges share movements ``D`` of the items with judge weights ``P``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.linalg import helmert
from scipy.linalg.lapack import dgeqrf, dorgqr

from .. import limits


@dataclass(frozen=True)
class TangentBasis:
    """Orthonormal directions that span the allowed movements at one score matrix.

    Attributes
    ----------
    judge_items : ndarray, shape (n_items, f)
        Item directions along which every judge moves by itself.
    shared_judges : ndarray, shape (n_judges, g)
        Judge weights of the movements all judges share.
    strength : ndarray, shape (f,) or (0,)
        Singular values of the scores; they set the curvature of a low-rank structure, flat structures have none.
    complement : ndarray, shape (n_items, n_shared), optional
        ``shared_items`` where they come for free, or are fewer than all that are left.
    """

    judge_items: np.ndarray
    shared_judges: np.ndarray
    strength: np.ndarray
    complement: np.ndarray | None = None

    @property
    def n_judges(self) -> int:
        """Number of judges."""
        return self.shared_judges.shape[0]

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.judge_items.shape[0]

    @property
    def n_shared(self) -> int:
        """Number of item directions of the shared movements."""
        return self.n_items - 1 - self.judge_items.shape[1] if self.complement is None else self.complement.shape[1]

    @cached_property
    def shared_items(self) -> np.ndarray:
        """Item directions of the shared movements: orthonormal, orthogonal to the constant and to ``judge_items``."""
        if self.complement is not None:
            return self.complement
        vectors, factor = self._reflectors
        n_fixed = len(factor)
        rest = -vectors @ (factor @ vectors[n_fixed:].T)
        rest[np.arange(n_fixed, self.n_items), np.arange(self.n_items - n_fixed)] += 1.0
        return rest

    @cached_property
    def _reflectors(self) -> tuple[np.ndarray, np.ndarray]:
        """Householder vectors V (n_items, m) and factor T such that the last columns of ``I - V T V'`` are ``shared_items``."""
        fixed = _with_constant(self.judge_items)
        packed, tau = dgeqrf(fixed)[:2]
        vectors = np.tril(packed, -1)
        m = fixed.shape[1]
        vectors[np.arange(m), np.arange(m)] = 1.0
        factor = np.zeros((m, m))
        for i in range(m):
            factor[:i, i] = -tau[i] * factor[:i, :i] @ (vectors[:, :i].T @ vectors[:, i])
            factor[i, i] = tau[i]
        return vectors, factor

    def along_shared(self, rows: np.ndarray) -> np.ndarray:
        """Item vectors in the rows (m, n_items) times ``shared_items``, shape (m, n_shared)."""
        if self.complement is not None:
            return rows @ self.complement
        vectors, factor = self._reflectors
        n_fixed = len(factor)
        return rows[:, n_fixed:] - (rows @ vectors) @ (factor @ vectors[n_fixed:].T)

    def to_items(self, rows: np.ndarray) -> np.ndarray:
        """Shared coordinates in the rows (m, n_shared) as item vectors: times ``shared_items'``, shape (m, n_items)."""
        if self.complement is not None:
            return rows @ self.complement.T
        vectors, factor = self._reflectors
        n_fixed = len(factor)
        items = -((rows @ vectors[n_fixed:]) @ factor.T) @ vectors.T
        items[:, n_fixed:] += rows
        return items

    def between_shared(self, matrices: np.ndarray) -> np.ndarray:
        """``shared_items' M shared_items`` of several matrices (m, n_items, n_items), shape (m, n_shared, n_shared).

        By reflections, at the cost of a few vectors instead of two full products.
        """
        if self.complement is not None:
            return self.complement.T @ matrices @ self.complement
        vectors, factor = self._reflectors
        n_fixed = len(factor)
        right = matrices[:, :, n_fixed:] - (matrices @ vectors) @ (factor @ vectors[n_fixed:].T)
        return right[:, n_fixed:] - vectors[n_fixed:] @ (factor.T @ (vectors.T @ right))

    @property
    def n_free(self) -> int:
        """Number of free coordinates of the scores."""
        n_own, n_shared = self.judge_items.shape[1], self.shared_judges.shape[1]
        return self.n_judges * n_own + n_shared * self.n_shared

    def direction_times(self, vectors: np.ndarray) -> np.ndarray:
        """Each basis direction times item vectors (n_items, m): shape (m, n_judges, n_free)."""
        m, judges = vectors.shape[1], np.arange(self.n_judges)
        own = np.zeros((m, self.n_judges, self.n_judges, self.judge_items.shape[1]))
        own[:, judges, judges] = (vectors.T @ self.judge_items)[:, None]
        shared = self.shared_judges[:, :, None] * (vectors.T @ self.shared_items)[:, None, None]
        return self._side_by_side(own, shared)

    def transposed_direction_times(self, vectors: np.ndarray) -> np.ndarray:
        """Transpose of each basis direction times judge vectors (n_judges, m): shape (m, n_items, n_free)."""
        own = vectors.T[:, None, :, None] * self.judge_items[:, None]
        shared = (vectors.T @ self.shared_judges)[:, None, :, None] * self.shared_items[:, None]
        return self._side_by_side(own, shared)

    def _side_by_side(self, own: np.ndarray, shared: np.ndarray) -> np.ndarray:
        """Join arrays (m, n, n_judges, f) and (m, n, g, n_shared) along the free coordinates."""
        m, n = own.shape[:2]
        n_own = own.shape[2] * own.shape[3]
        return np.concatenate([own.reshape(m, n, n_own), shared.reshape(m, n, self.n_free - n_own)], axis=2)

    def coordinates(self, scores: np.ndarray) -> np.ndarray:
        """Inner products of a score matrix with the basis directions: the free coordinates, shape (n_free,)."""
        own = scores @ self.judge_items
        shared = self.along_shared(self.shared_judges.T @ scores)
        return np.concatenate([own.ravel(), shared.ravel()])

    def scores(self, free: np.ndarray) -> np.ndarray:
        """The movement of the scores with the given free coordinates, shape (n_judges, n_items)."""
        return self.movement(*self.split(free))

    def movement(self, own: np.ndarray, shared: np.ndarray) -> np.ndarray:
        """The same of judges' own (n_judges, f) and shared coordinates (g, n_shared)."""
        return own @ self.judge_items.T + self.shared_judges @ self.to_items(shared)

    def split(self, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Free coordinates as (n_judges, f) of the judges and (g, n_shared) of the shared movements."""
        n_own = self.n_judges * self.judge_items.shape[1]
        own = free[:n_own].reshape(self.n_judges, self.judge_items.shape[1])
        return own, free[n_own:].reshape(self.shared_judges.shape[1], self.n_shared)


def _with_constant(directions: np.ndarray) -> np.ndarray:
    """Item directions (n_items, f) after the constant one."""
    return np.hstack([np.full((len(directions), 1), len(directions) ** -0.5), directions])


def complement_of(directions: np.ndarray) -> np.ndarray:
    """Orthonormal item directions orthogonal to the constant and to others, shape (n_items, n_items - 1 - f)."""
    fixed = _with_constant(directions)
    n_items, n_fixed = fixed.shape
    packed, tau = dgeqrf(fixed)[:2]
    whole = np.zeros((n_items, n_items), order="F")
    whole[:, :n_fixed] = packed
    return dorgqr(whole, tau, overwrite_a=True)[0][:, n_fixed:]


@lru_cache(maxsize=8)
def centred_basis(n_items: int) -> np.ndarray:
    """Orthonormal basis of the item vectors that sum to zero, shape (n_items, n_items - 1)."""
    basis = np.ascontiguousarray(helmert(n_items).T)
    basis.flags.writeable = False
    return basis


def in_centred_basis(rows: np.ndarray) -> np.ndarray:
    """Item vectors in the rows (m, n_items), in an orthonormal basis of those that sum to zero, shape (m, n_items - 1).

    The basis is a table for few items; for many, a reflection that turns the constant into the first item.
    """
    n_items = rows.shape[1]
    if n_items <= limits.BASIS_ITEMS:
        return rows @ centred_basis(n_items)
    root = np.sqrt(n_items)
    along = (rows.sum(axis=1) + root * rows[:, 0]) / (n_items + root)
    return rows[:, 1:] - along[:, None]


def from_centred_basis(rows: np.ndarray) -> np.ndarray:
    """Item vectors (m, n_items) from their coordinates in that basis (m, n_items - 1)."""
    n_items = rows.shape[1] + 1
    if n_items <= limits.BASIS_ITEMS:
        return rows @ centred_basis(n_items).T
    root, total = np.sqrt(n_items), rows.sum(axis=1, keepdims=True)
    return np.hstack([-total / root, rows - total / (n_items + root)])


def centred(scores: np.ndarray) -> np.ndarray:
    """Remove the mean of every row."""
    return scores - scores.mean(axis=1, keepdims=True)
