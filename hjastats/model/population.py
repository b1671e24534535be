"""Judges as a sample: what is assumed about the judges they are drawn from, and the coordinates it is estimated in.

Scores of judge k are ``S_k = gamma_k mu + V U_k``; ``gamma_k ~ N(1, sd^2)``, ``U_k ~ N(0, I)``, and the coefficients of terms that
judges have for themselves are independent normal. All of it is a vector ``z_k ~ N(0, I)`` of effects, linear in every predictor.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .design import Design
from .tangent import from_centred_basis, in_centred_basis
from .terms import LOG_ODDS


@dataclass(frozen=True)
class Population:
    """The population judges are drawn from.

    Attributes
    ----------
    mu : ndarray, shape (n_items,)
        Scores of the average judge.
    V : ndarray, shape (n_items, rank)
        What a judge who is one standard deviation along a direction of disagreement adds to them.
    sensitivity : float
        Standard deviation of the sensitivities; its sign means nothing, nor do those of ``sds``.
    shared : ndarray, shape (m,)
        Coefficients of the terms common to all judges.
    means, sds : ndarray, shape (e,)
        Of the coefficients that judges have for themselves.
    """

    mu: np.ndarray
    V: np.ndarray
    sensitivity: float
    shared: np.ndarray
    means: np.ndarray
    sds: np.ndarray

    @property
    def rank(self) -> int:
        """Number of disagreement directions."""
        return self.V.shape[1]

    def scores(self, effects: np.ndarray) -> np.ndarray:
        """Scores of judges with some effects (..., n_effects), shape (..., n_items)."""
        gamma = 1.0 + self.sensitivity * effects[..., :1]
        return gamma * self.mu + effects[..., 1 : 1 + self.rank] @ self.V.T

    def coefficients(self, effects: np.ndarray) -> np.ndarray:
        """Own coefficients of judges with some effects (..., n_effects), shape (..., e)."""
        return self.means + self.sds * effects[..., 1 + self.rank :]


@dataclass(frozen=True)
class Space:
    """Coordinates of populations: shared, means, sds, mu and V in a basis of centred item vectors, and the sensitivity.

    Examples
    --------
    >>> space = Space(n_items=3, rank=1, n_shared=0, n_own=1)
    >>> space.n, space.n_effects
    (7, 3)
    >>> space.unpack(np.arange(7.0)).sensitivity
    4.0
    """

    n_items: int
    rank: int
    n_shared: int
    n_own: int

    @classmethod
    def of(cls, design: Design, rank: int) -> Space:
        """That of a model for some data."""
        return cls(design.n_items, rank, design.n_shared_terms, design.n_judge_terms)

    @property
    def n_effects(self) -> int:
        """Effects of one judge: sensitivity, loadings, own coefficients."""
        return 1 + self.rank + self.n_own

    @property
    def n(self) -> int:
        """Number of coordinates, with those that only rotate V."""
        return self.n_shared + 2 * self.n_own + 1 + (1 + self.rank) * (self.n_items - 1)

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Where each part stands."""
        free = self.n_items - 1
        sizes = {"shared": self.n_shared, "means": self.n_own, "sds": self.n_own, "mu": free, "sensitivity": 1}
        ends = np.cumsum([*sizes.values(), free * self.rank]).tolist()
        return {k: slice(a, b) for k, a, b in zip([*sizes, "V"], [0, *ends[:-1]], ends, strict=True)}

    @property
    def spreads(self) -> np.ndarray:
        """Positions of the standard deviations: of the sensitivities, then of the own coefficients."""
        own = self.slices["sds"]
        return np.array([self.slices["sensitivity"].start, *range(own.start, own.stop)], dtype=int)

    def pack(self, at: Population) -> np.ndarray:
        """Coordinates of a population."""
        items = in_centred_basis(np.vstack([at.mu, at.V.T]))
        return np.concatenate([at.shared, at.means, at.sds, items[0], [at.sensitivity], items[1:].ravel()])

    def unpack(self, values: np.ndarray) -> Population:
        """The population at some coordinates."""
        where = self.slices
        items = np.vstack([values[where["mu"]], values[where["V"]].reshape(self.rank, self.n_items - 1)])
        mu, *V = from_centred_basis(items)
        return Population(
            mu,
            np.array(V).reshape(self.rank, self.n_items).T,
            float(values[where["sensitivity"]][0]),
            values[where["shared"]],
            values[where["means"]],
            values[where["sds"]],
        )

    def gradient(self, by: Population) -> np.ndarray:
        """Gradient by the coordinates of one by the parts of a population."""
        return self.pack(by)

    def rotations(self, values: np.ndarray) -> np.ndarray:
        """Movements of the coordinates that only rotate V, shape (rank (rank - 1) / 2, n)."""
        V = values[self.slices["V"]].reshape(self.rank, self.n_items - 1)
        pairs = [(i, j) for i in range(self.rank) for j in range(i)]
        result = np.zeros((len(pairs), self.n))
        for row, (i, j) in zip(result, pairs, strict=True):
            turned = np.zeros_like(V)
            turned[i], turned[j] = V[j], -V[i]
            row[self.slices["V"]] = turned.ravel()
        return result


def predictors(design: Design, at: Population) -> tuple[np.ndarray, np.ndarray]:
    """Every predictor of every cell is ``base + loading . z``; shapes (p, n_cells) and (p, n_cells, n_effects)."""
    n_predictors, n_cells = 1 + len(design.response.parameters), len(design.n)
    base = np.zeros((n_predictors, n_cells))
    loading = np.zeros((n_predictors, n_cells, 1 + at.rank + len(at.means)))
    gap = at.mu[design.first] - at.mu[design.second]
    base[LOG_ODDS] = gap + design.known_odds
    loading[LOG_ODDS, :, 0] = at.sensitivity * gap
    loading[LOG_ODDS, :, 1 : 1 + at.rank] = at.V[design.first] - at.V[design.second]
    for t, moves in enumerate(design.terms.shared_moves):
        base[moves] += at.shared[t] * design.shared_terms[:, t]
    for t, moves in enumerate(design.terms.own_moves):
        base[moves] += at.means[t] * design.judge_terms[:, t]
        loading[moves, :, 1 + at.rank + t] = at.sds[t] * design.judge_terms[:, t]
    return base, loading
