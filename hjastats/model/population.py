"""Judges as a sample: what is assumed about the judges they are drawn from, and the coordinates it is estimated in.

Scores of judge k are ``S_k = gamma_k mu + V U_k``; ``gamma_k ~ N(1, sd^2)``, ``U_k ~ N(0, I)``, and the coefficients of terms that
judges have for themselves are independent normal. With individual taste, ``e_k ~ N(0, sd^2 (I - 11'/n_items))`` is added. All of it
is a vector ``z_k ~ N(0, I)`` of effects, linear in every predictor; taste is its last ``n_items - 1`` entries.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from .decomposition import Decomposition
from .design import Coefficients, Design
from .layout import Layout
from .structures import Sampled
from .tangent import centred_basis, from_centred_basis, in_centred_basis
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
    taste : float, optional
        Standard deviation of a judge's own taste along every direction of items; None if there is none in the model.
    """

    mu: np.ndarray
    V: np.ndarray
    sensitivity: float
    shared: np.ndarray
    means: np.ndarray
    sds: np.ndarray
    taste: float | None = None

    @property
    def rank(self) -> int:
        """Number of disagreement directions."""
        return self.V.shape[1]

    @cached_property
    def score_loading(self) -> np.ndarray:
        """What one standard deviation of each effect adds to the scores, shape (n_items, n_effects)."""
        own = np.zeros((len(self.mu), len(self.means)))
        taste = [] if self.taste is None else [self.taste * centred_basis(len(self.mu))]
        return np.hstack([self.sensitivity * self.mu[:, None], self.V, own, *taste])

    def scores(self, effects: np.ndarray) -> np.ndarray:
        """Scores of judges with some effects (..., n_effects), shape (..., n_items)."""
        return self.mu + effects @ self.score_loading.T

    def coefficients(self, effects: np.ndarray) -> np.ndarray:
        """Own coefficients of judges with some effects (..., n_effects), shape (..., e)."""
        return self.means + self.sds * effects[..., 1 + self.rank : 1 + self.rank + len(self.means)]


@dataclass(frozen=True)
class Space:
    """Coordinates of populations: shared, means, sds, mu and V in a basis of centred item vectors, sensitivity, and taste.

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
    has_taste: bool = False

    @classmethod
    def of(cls, design: Design, rank: int, has_taste: bool = False) -> Space:
        """That of a model for some data."""
        return cls(design.n_items, rank, design.n_shared_terms, design.n_judge_terms, has_taste)

    @property
    def n_effects(self) -> int:
        """Effects of one judge: sensitivity, loadings, own coefficients, and taste as one."""
        return 1 + self.rank + self.n_own + self.has_taste

    @property
    def n(self) -> int:
        """Number of coordinates, with those that only rotate V."""
        return self.n_shared + 2 * self.n_own + 1 + self.has_taste + (1 + self.rank) * (self.n_items - 1)

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Where each part stands."""
        free = self.n_items - 1
        sizes = {"shared": self.n_shared, "means": self.n_own, "sds": self.n_own, "mu": free, "sensitivity": 1}
        sizes["taste"] = int(self.has_taste)
        ends = np.cumsum([*sizes.values(), free * self.rank]).tolist()
        return {k: slice(a, b) for k, a, b in zip([*sizes, "V"], [0, *ends[:-1]], ends, strict=True)}

    @property
    def spreads(self) -> np.ndarray:
        """Positions of the standard deviations: of the sensitivities, then of the own coefficients and of taste."""
        own, taste = self.slices["sds"], self.slices["taste"]
        at = [self.slices["sensitivity"].start, *range(own.start, own.stop), *range(taste.start, taste.stop)]
        return np.array(at, dtype=int)

    def pack(self, at: Population) -> np.ndarray:
        """Coordinates of a population."""
        items = in_centred_basis(np.vstack([at.mu, at.V.T]))
        taste = [] if at.taste is None else [at.taste]
        return np.concatenate([at.shared, at.means, at.sds, items[0], [at.sensitivity], taste, items[1:].ravel()])

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
            float(values[where["taste"]][0]) if self.has_taste else None,
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
    of_scores = at.score_loading
    loading = np.zeros((n_predictors, n_cells, of_scores.shape[1]))
    base[LOG_ODDS] = at.mu[design.first] - at.mu[design.second] + design.known_odds
    loading[LOG_ODDS] = of_scores[design.first] - of_scores[design.second]
    for t, moves in enumerate(design.terms.shared_moves):
        base[moves] += at.shared[t] * design.shared_terms[:, t]
    for t, moves in enumerate(design.terms.own_moves):
        base[moves] += at.means[t] * design.judge_terms[:, t]
        loading[moves, :, 1 + at.rank + t] = at.sds[t] * design.judge_terms[:, t]
    return base, loading


@dataclass(frozen=True)
class Reported:
    """A population in the terms of its report: V orthogonal to mu, so that sensitivity and taste may be correlated.

    ``gamma mu + V U`` is the same as ``(gamma + c . U) mu + V' U`` with ``c = V' mu / |mu|^2`` and V' the rest of V, whose singular
    vectors are the directions and whose singular values are the sizes of the loadings on them.

    Attributes
    ----------
    mu : ndarray, shape (n_items,)
    V : ndarray, shape (n_items, rank)
        Directions orthogonal to mu and to each other, of length sqrt(n_items), strongest first.
    sensitivity : float
        Standard deviation of gamma.
    loadings : ndarray, shape (rank,)
        Standard deviations of U.
    correlations : ndarray, shape (rank,)
        Of gamma with U.
    turn : ndarray, shape (rank, rank)
        Loadings are ``sizes * (turn' z)``.
    along : ndarray, shape (rank,)
        c.
    """

    mu: np.ndarray
    V: np.ndarray
    sensitivity: float
    loadings: np.ndarray
    correlations: np.ndarray
    turn: np.ndarray
    along: np.ndarray

    @classmethod
    def of(cls, at: Population) -> Reported:
        """The report of a population."""
        along, rest = _beyond_consensus(at)
        left, size, right = np.linalg.svd(rest, full_matrices=False)
        sign = np.sign(left[np.abs(left).argmax(axis=0), np.arange(at.rank)]) if at.rank else np.zeros(0)
        turn, root = (right * sign[:, None]).T, np.sqrt(len(at.mu))
        sensitivity = float(np.sqrt(at.sensitivity**2 + along @ along))
        correlations = turn.T @ along / sensitivity if sensitivity > 0 else np.zeros(at.rank)
        return cls(at.mu, left * sign * root, sensitivity, size / root, correlations, turn, along)

    def gamma(self, at: Population, effects: np.ndarray) -> np.ndarray:
        """Sensitivities of judges with some effects (..., n_effects)."""
        return 1.0 + at.sensitivity * effects[..., 0] + effects[..., 1 : 1 + at.rank] @ self.along

    def U(self, at: Population, effects: np.ndarray) -> np.ndarray:
        """Loadings of judges with some effects (..., n_effects), shape (..., rank)."""
        return effects[..., 1 : 1 + at.rank] @ self.turn * self.loadings

    def derivative(
        self, at: Population, mu: np.ndarray, V: np.ndarray, sensitivity: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """Change of V, the sd of gamma, the sds of U and their correlations along m movements of mu, V and the sensitivity.

        Shapes (m, n_items), (m, n_items, rank) and (m,) in; (m, n_items, rank), (m,), (m, rank) and (m, rank) out.
        """
        length, root = float(at.mu @ at.mu), np.sqrt(len(at.mu))
        along = (np.einsum("mir,i->mr", V, at.mu) + mu @ at.V - 2.0 * (mu @ at.mu)[:, None] * self.along) / length
        rest = V - mu[:, :, None] * self.along - at.mu[:, None] * along[:, None]
        W, size = self.V / root, self.loadings * root
        P = np.matmul(W.T, np.matmul(rest, self.turn))
        with np.errstate(divide="ignore", invalid="ignore"):
            gaps = 1.0 / (size**2 - (size**2)[:, None])
            np.fill_diagonal(gaps, 0.0)
            inside = gaps * (P * size + size[:, None] * P.transpose(0, 2, 1))
            turned = gaps * (size[:, None] * P + P.transpose(0, 2, 1) * size)
            outside = (np.matmul(rest, self.turn) - np.matmul(W, P)) / size
        by_V = root * (np.matmul(W, inside) + outside)
        by_turn = np.matmul(self.turn, turned)
        sd = self.sensitivity
        by_sd = (at.sensitivity * sensitivity + along @ self.along) / sd if sd > 0 else np.zeros(len(mu))
        covariances = np.einsum("msr,s->mr", by_turn, self.along) + along @ self.turn
        by_correlation = (
            (covariances - self.correlations * by_sd[:, None]) / sd if sd > 0 else np.zeros((len(mu), at.rank))
        )
        return by_V, by_sd, np.einsum("mrr->mr", P) / root, by_correlation


def _beyond_consensus(at: Population) -> tuple[np.ndarray, np.ndarray]:
    """How far V goes along mu, and the rest of it."""
    length = float(at.mu @ at.mu)
    along = at.V.T @ at.mu / length if length > 0 else np.zeros(at.rank)
    return along, at.V - np.outer(at.mu, along)


@dataclass(frozen=True)
class PopulationLayout(Layout):
    """Names and order of the parameters of a population: shared, means, mu, V, sd and corr.

    Examples
    --------
    >>> from hjastats.model.structures import Sampled
    >>> PopulationLayout(Sampled(1), ("j1", "j2"), ("a", "b", "c")).names[3:]
    ['V[a,1]', 'V[b,1]', 'V[c,1]', 'sd[gamma]', 'sd[U1]', 'corr[gamma,U1]']
    """

    # Those of all judges: a single judge has predictions, no parameters.
    has_judge_parameters: bool = field(default=True, init=False)

    @property
    def space(self) -> Space:
        """The coordinates it is estimated in."""
        return Space(len(self.items), self.rank, len(self.terms.shared), len(self.terms.own), self.has_taste)

    @property
    def has_taste(self) -> bool:
        """Whether judges have tastes of their own beyond the directions."""
        return isinstance(self.structure, Sampled) and self.structure.has_taste

    @property
    def effects(self) -> tuple[str, ...]:
        """What judges differ in."""
        loadings = (f"U{d + 1}" for d in range(self.rank))
        return ("gamma", *loadings, *self.terms.own_names, *(["taste"] if self.has_taste else []))

    @cached_property
    def blocks(self) -> dict[str, list[str]]:
        """Parameter names by kind, in order."""
        directions = [f"V[{item},{d + 1}]" for d in range(self.rank) for item in self.items]
        return (
            {name: [name] for name in (*self.terms.shared_names, *self.terms.own_names)}
            | {"mu": [f"mu[{item}]" for item in self.items]}
            | ({"V": directions} if self.rank else {})
            | {"sd": [f"sd[{effect}]" for effect in self.effects]}
            | ({"corr": [f"corr[gamma,U{d + 1}]" for d in range(self.rank)]} if self.rank else {})
        )

    @property
    def n_free(self) -> int:
        """Number of coordinates, among them those that only rotate V."""
        return self.space.n

    def report(self, at: Population) -> np.ndarray:
        """Reported parameters of a population."""
        told = Reported.of(at)
        sds = [[told.sensitivity], told.loadings, np.abs([*at.sds, *([] if at.taste is None else [at.taste])])]
        return np.concatenate([at.shared, at.means, told.mu, told.V.T.ravel(), *sds, told.correlations])

    def report_jacobian(self, at: Population) -> np.ndarray:
        """Derivative of the reported parameters by the coordinates, shape (n_params, n_free)."""
        space, told, where = self.space, Reported.of(at), self.slices
        n, m = space.n, space.n_shared + space.n_own
        units = [space.unpack(unit) for unit in np.eye(n)]
        mu = np.array([unit.mu for unit in units])
        V = np.array([unit.V for unit in units])
        by_V, by_sd, by_loading, by_correlation = told.derivative(at, mu, V, np.array([u.sensitivity for u in units]))
        result = np.zeros((len(self.names), n))
        result[np.arange(m), np.arange(m)] = 1.0
        result[where["mu"]] = mu.T
        sd = where["sd"].start
        result[sd] = by_sd
        for t, position in enumerate(space.spreads[1:]):
            result[sd + 1 + self.rank + t, position] = np.sign(space.pack(at)[position])
        if self.rank:
            result[where["V"]] = by_V.transpose(2, 1, 0).reshape(-1, n)
            result[sd + 1 : sd + 1 + self.rank] = by_loading.T
            result[where["corr"]] = by_correlation.T
        return result

    def population(self, params: np.ndarray) -> Population:
        """The population of reported parameters."""
        where, r, n_items = self.slices, self.rank, len(self.items)
        k, e = len(self.terms.shared), len(self.terms.own)
        mu, sd = params[where["mu"]] - params[where["mu"]].mean(), params[where["sd"]]
        taste = float(sd[1 + r + e]) if self.has_taste else None
        if not r:
            return Population(
                mu, np.zeros((n_items, 0)), float(sd[0]), params[:k], params[k : k + e], sd[1 : 1 + e], taste
            )
        correlations = params[where["corr"]]
        left = max(1.0 - float(correlations @ correlations), 0.0)
        V = params[where["V"]].reshape(r, n_items).T * sd[1 : 1 + r] + np.outer(mu, sd[0] * correlations)
        size, own = float(sd[0] * np.sqrt(left)), sd[1 + r : 1 + r + e]
        return Population(mu, V, size, params[:k], params[k : k + e], own, taste)

    def decompose(self, at: Coefficients) -> Decomposition:
        """Refuse what scores of the judges do not tell."""
        raise NotImplementedError(
            "not available: the scores of the judges at hand do not tell the population they are drawn from."
        )
