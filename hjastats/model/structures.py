"""Which score matrices a model allows: how to move among them, and how each structure packs, names and differentiates itself.

All three are reached by the movements of a :class:`~hjastats.model.tangent.TangentBasis`. What differs between them stands here and
nowhere else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations, combinations_with_replacement, pairwise
from types import MappingProxyType
from typing import ClassVar, NamedTuple, Protocol, Self, cast

import numpy as np
from scipy.linalg.lapack import dgesdd

from .. import limits
from ..data.cells import Cells
from .decomposition import AnchoringError, Decomposition, canonical, max_rank
from .jacobians import consensus_jacobian, decomposition_derivative, decomposition_jacobian, scores_jacobian
from .likelihood import by_judge, signed_items
from .tangent import TangentBasis, centred, centred_basis, complement_of, from_centred_basis, in_centred_basis


class ScoreStructure(Protocol):
    """A family of score matrices: its tangent bases, its projection, its charts, and its reported parameters."""

    @property
    def kind(self) -> str:
        """Under which solvers know what is special about it."""

    @property
    def name(self) -> str:
        """Short name of the model."""

    @property
    def title(self) -> str:
        """Name of the model in full."""

    @property
    def rank(self) -> int:
        """Number of disagreement directions among the parameters."""

    @property
    def has_sensitivities(self) -> bool:
        """Whether gamma is among the parameters."""

    @property
    def judges_differ(self) -> bool:
        """Whether judges may have different scores."""

    @property
    def own_kinds(self) -> Mapping[str, tuple[str, ...]]:
        """Kinds of parameters that no other structure has, and what indexes them."""

    @property
    def own_labels(self) -> Mapping[str, tuple[str, ...]]:
        """Labels of indices that are neither judges nor items."""

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Items whose scores sum to zero by themselves, if there are several such groups."""

    @property
    def zero_over(self) -> str:
        """What scores sum to zero over, in words."""

    def with_free_items(self, n_items: int) -> ScoreStructure:
        """The same with free scores of the items, where they are made of traits."""

    @property
    def item_basis(self) -> np.ndarray | None:
        """Orthonormal basis of the item vectors that scores are made of; None where these are all that sum to zero."""

    def weights(self, kind: str, index: tuple[int, ...], n_judges: int) -> np.ndarray:
        """A parameter of its own kind as a sum over the scores with weights, shape (n_judges, n_items)."""

    def of_rank(self, rank: int) -> Self:
        """The structure with another rank, if it has one."""

    def level(self, n_judges: int, n_items: int) -> int:
        """Place in the chain of nested structures BTL < JA < HJA(1) < ... < judge-wise BTL."""

    def n_free(self, n_judges: int, n_items: int) -> int:
        """Degrees of freedom."""

    # Movements

    def tangent(self, scores: np.ndarray) -> TangentBasis:
        """Directions of movement at a member of the family."""

    def move(
        self, scores: np.ndarray, tangent: TangentBasis, own: np.ndarray, shared: np.ndarray
    ) -> tuple[np.ndarray, TangentBasis]:
        """Follow judge steps (n_judges, f) and shared steps (g, n_shared) to another member, with its tangent basis."""

    def nearest(self, scores: np.ndarray) -> np.ndarray:
        """Closest member of the family to any score matrix, in least squares."""

    def member(self, scores: np.ndarray) -> tuple[np.ndarray, TangentBasis]:
        """The closest member with a tangent basis, for a computation that does not depend on the basis's orientation."""

    def from_free(self, free: np.ndarray, tangent: TangentBasis) -> np.ndarray:
        """Member of the family whose coordinates in ``tangent`` are ``free``; inverse of ``tangent.coordinates``."""

    # Reported parameters

    def blocks(self, judges: tuple[str, ...], items: tuple[str, ...]) -> dict[str, list[str]]:
        """Parameter names by kind, in order."""

    def index(self, kind: str, position: int, n_judges: int, n_items: int) -> tuple[int, ...]:
        """Indices of the parameter at a position within its kind."""

    def decompose(self, scores: np.ndarray) -> Decomposition:
        """Consensus, sensitivity and disagreement of the scores."""

    def pack(self, parts: Decomposition, scores: np.ndarray) -> np.ndarray:
        """Reported parameters of some scores and their decomposition."""

    def unpack(self, values: np.ndarray, n_judges: int, n_items: int) -> np.ndarray:
        """Scores of reported parameters; the normalisation need not hold."""

    def jacobian(self, parts: Decomposition, tangent: TangentBasis) -> np.ndarray:
        """Derivative of the reported parameters by the free coordinates, shape (n_reported, n_free)."""

    def derivative(self, parts: Decomposition, change: np.ndarray) -> np.ndarray:
        """Change of the reported parameters along one movement of the scores, to first order."""

    def regressors(self, values: np.ndarray, cells: Cells) -> np.ndarray:
        """Derivative of each cell's log-odds by the reported parameters, the normalisation ignored, shape (n_cells, n_reported)."""

    def chain(self, values: np.ndarray, by_scores: np.ndarray) -> np.ndarray:
        """Gradient by the reported parameters of one by the scores (n_judges, n_items), the normalisation ignored."""

    def bending(self, by_scores: np.ndarray) -> np.ndarray:
        """Second derivatives of the scores by the reported parameters times a gradient by the scores."""

    def normalisation(self, values: np.ndarray, n_judges: int, n_items: int) -> Normalisation:
        """What reported parameters must fulfil beside describing the scores, and how that bends."""


class Normalisation(NamedTuple):
    """Conditions on reported parameters, each that a product of two of their blocks is a constant.

    Attributes
    ----------
    jacobian : ndarray, shape (n_conditions, n_reported)
    products : tuple of (int, slice, slice)
        Conditions that are no sums but products of two blocks.
    blocks : ndarray, shape (n, n_reported), optional
        Derivative of what the blocks are of by the reported parameters, where that is something else.
    """

    jacobian: np.ndarray
    products: tuple[tuple[int, slice, slice], ...] = ()
    blocks: np.ndarray | None = None

    def bending(self, multipliers: np.ndarray) -> np.ndarray:
        """Second derivatives of the conditions times multipliers, shape (n_reported, n_reported)."""
        n = self.jacobian.shape[1] if self.blocks is None else len(self.blocks)
        result = np.zeros((n, n))
        for i, left, right in self.products:
            block = multipliers[i] * np.eye(left.stop - left.start)
            result[left, right] += block
            result[right, left] += block
        return result if self.blocks is None else self.blocks.T @ result @ self.blocks


class _Plain:
    """A structure whose parameters are of the kinds that all know."""

    own_kinds: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({})
    own_labels: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({})
    groups: ClassVar[tuple[tuple[int, ...], ...]] = ()
    zero_over = "items"

    def with_free_items(self, n_items: int) -> ScoreStructure:
        """Itself: scores are free."""
        return cast("ScoreStructure", self)

    @property
    def item_basis(self) -> np.ndarray | None:
        """Items may have any scores."""
        return None

    def weights(self, kind: str, index: tuple[int, ...], n_judges: int) -> np.ndarray:
        """There are no such parameters."""
        raise NotImplementedError


class _Flat(ABC):
    """A structure whose members are a linear space: movements lead to members and never turn the tangent basis."""

    rank = 0
    has_sensitivities = False

    @abstractmethod
    def tangent(self, scores: np.ndarray) -> TangentBasis:
        """Directions of the space."""

    @abstractmethod
    def nearest(self, scores: np.ndarray) -> np.ndarray:
        """Projection on the space."""

    def of_rank(self, rank: int) -> Self:
        """Itself."""
        return self

    def move(
        self, scores: np.ndarray, tangent: TangentBasis, own: np.ndarray, shared: np.ndarray
    ) -> tuple[np.ndarray, TangentBasis]:
        """Add the step."""
        return scores + tangent.movement(own, shared), tangent

    def normalisation(self, values: np.ndarray, n_judges: int, n_items: int) -> Normalisation:
        """Scores sum to zero."""
        return Normalisation(np.kron(np.eye(len(values) // n_items), np.ones(n_items)))

    def member(self, scores: np.ndarray) -> tuple[np.ndarray, TangentBasis]:
        """The nearest member with its tangent basis."""
        return self.nearest(scores), self.tangent(scores)

    def from_free(self, free: np.ndarray, tangent: TangentBasis) -> np.ndarray:
        """Scores from coordinates; the map is linear."""
        return tangent.scores(free)


@dataclass(frozen=True)
class Pooled(_Plain, _Flat):
    """All judges share one score vector (Bradley-Terry-Luce)."""

    kind = "pooled"
    name = "BTL"
    title = "Bradley-Terry-Luce ranking"
    judges_differ = False

    def level(self, n_judges: int, n_items: int) -> int:
        """Below all others."""
        return -1

    def n_free(self, n_judges: int, n_items: int) -> int:
        """Degrees of freedom."""
        return n_items - 1

    def tangent(self, scores: np.ndarray) -> TangentBasis:
        """Shared movements only, with the same weight for every judge."""
        n_judges, n_items = scores.shape
        weights = np.full((n_judges, 1), n_judges**-0.5)
        basis = centred_basis(n_items) if n_items <= limits.BASIS_ITEMS else None
        return TangentBasis(np.zeros((n_items, 0)), weights, np.zeros(0), basis)

    def nearest(self, scores: np.ndarray) -> np.ndarray:
        """Mean over judges."""
        return np.broadcast_to(centred(scores.mean(axis=0, keepdims=True)), scores.shape).copy()

    def blocks(self, judges: tuple[str, ...], items: tuple[str, ...]) -> dict[str, list[str]]:
        """One score per item."""
        return {"mu": [f"mu[{item}]" for item in items]}

    def index(self, kind: str, position: int, n_judges: int, n_items: int) -> tuple[int, ...]:
        """The item."""
        return (position,)

    def decompose(self, scores: np.ndarray) -> Decomposition:
        """Sensitivities of one by definition, and no disagreement."""
        n_judges, n_items = scores.shape
        return Decomposition(np.ones(n_judges), scores[0], np.zeros((n_judges, 0)), np.zeros((n_items, 0)))

    def pack(self, parts: Decomposition, scores: np.ndarray) -> np.ndarray:
        """The scores of any judge."""
        return scores[0]

    def unpack(self, values: np.ndarray, n_judges: int, n_items: int) -> np.ndarray:
        """The scores of every judge."""
        return np.tile(values, (n_judges, 1))

    def jacobian(self, parts: Decomposition, tangent: TangentBasis) -> np.ndarray:
        """Derivative of the consensus."""
        return consensus_jacobian(tangent)

    def derivative(self, parts: Decomposition, change: np.ndarray) -> np.ndarray:
        """The change of any judge."""
        return change[0]

    def regressors(self, values: np.ndarray, cells: Cells) -> np.ndarray:
        """Signed items."""
        return signed_items(cells)

    def chain(self, values: np.ndarray, by_scores: np.ndarray) -> np.ndarray:
        """Sums over judges."""
        return by_scores.sum(axis=0)

    def bending(self, by_scores: np.ndarray) -> np.ndarray:
        """None, the scores are linear in the parameters."""
        return np.zeros((by_scores.shape[1], by_scores.shape[1]))


@dataclass(frozen=True)
class Unrestricted(_Plain, _Flat):
    """Every judge has a score vector of its own (judge-wise Bradley-Terry-Luce)."""

    kind = "unrestricted"
    name = "judge-wise BTL"
    title = "Judge-wise Bradley-Terry-Luce ranking"
    judges_differ = True

    def level(self, n_judges: int, n_items: int) -> int:
        """That of the largest rank, with which scores are unrestricted."""
        return max_rank(n_judges, n_items)

    def n_free(self, n_judges: int, n_items: int) -> int:
        """Degrees of freedom."""
        return n_judges * (n_items - 1)

    def tangent(self, scores: np.ndarray) -> TangentBasis:
        """Every judge moves along all centred item directions."""
        n_judges, n_items = scores.shape
        return TangentBasis(centred_basis(n_items), np.zeros((n_judges, 0)), np.zeros(0), np.zeros((n_items, 0)))

    def nearest(self, scores: np.ndarray) -> np.ndarray:
        """The scores themselves, centred."""
        return centred(scores)

    def blocks(self, judges: tuple[str, ...], items: tuple[str, ...]) -> dict[str, list[str]]:
        """One score per judge and item."""
        return {"S": [f"S[{judge},{item}]" for judge in judges for item in items]}

    def index(self, kind: str, position: int, n_judges: int, n_items: int) -> tuple[int, ...]:
        """Judge and item."""
        return divmod(position, n_items)

    def decompose(self, scores: np.ndarray) -> Decomposition:
        """Consensus and sensitivities implied by the scores; those are not a number where there is no consensus."""
        try:
            return canonical(scores, 0)
        except AnchoringError:
            n_judges, n_items = scores.shape
            nothing = np.zeros((n_judges, 0)), np.zeros((n_items, 0))
            return Decomposition(np.full(n_judges, np.nan), scores.mean(axis=0), *nothing)

    def pack(self, parts: Decomposition, scores: np.ndarray) -> np.ndarray:
        """All scores."""
        return scores.ravel()

    def unpack(self, values: np.ndarray, n_judges: int, n_items: int) -> np.ndarray:
        """All scores."""
        return values.reshape(n_judges, n_items)

    def jacobian(self, parts: Decomposition, tangent: TangentBasis) -> np.ndarray:
        """The basis directions themselves."""
        return scores_jacobian(tangent)

    def derivative(self, parts: Decomposition, change: np.ndarray) -> np.ndarray:
        """The change itself."""
        return change.ravel()

    def regressors(self, values: np.ndarray, cells: Cells) -> np.ndarray:
        """Signed items of the cell's judge."""
        return by_judge(signed_items(cells), cells).reshape(len(cells.n), -1)

    def chain(self, values: np.ndarray, by_scores: np.ndarray) -> np.ndarray:
        """The gradient itself."""
        return by_scores.ravel()

    def bending(self, by_scores: np.ndarray) -> np.ndarray:
        """None, the scores are the parameters."""
        return np.zeros((by_scores.size, by_scores.size))


@dataclass(frozen=True)
class LowRank(_Plain):
    """Centred matrices of rank ``rank + 1``: consensus with sensitivities plus ``rank`` disagreement directions.

    This is exactly the set parameterised by ``Theta_r`` wherever the judges' mean does not vanish.
    """

    rank: int
    kind = "low rank"
    has_sensitivities = True
    judges_differ = True

    @property
    def name(self) -> str:
        """JA, or HJA with its rank."""
        return f"HJA({self.rank})" if self.rank else "JA"

    @property
    def title(self) -> str:
        """Judge-aware, heterogeneously so with disagreement."""
        return "Heterogeneous judge-aware ranking" if self.rank else "Judge-aware ranking"

    @property
    def matrix_rank(self) -> int:
        """Rank of the score matrix."""
        return self.rank + 1

    def level(self, n_judges: int, n_items: int) -> int:
        """The rank."""
        return self.rank

    def of_rank(self, rank: int) -> Self:
        """The structure with more directions of disagreement, or fewer."""
        return replace(self, rank=rank)

    def n_free(self, n_judges: int, n_items: int) -> int:
        """Degrees of freedom: (r + 1)(K + N - 2 - r), or of p item directions (r + 1)(K + p - 1 - r)."""
        width = n_items - 1 if self.item_basis is None else self.item_basis.shape[1]
        return self.matrix_rank * (n_judges + width - self.matrix_rank)

    def tangent(self, scores: np.ndarray) -> TangentBasis:
        """Singular vectors of the scores, with signs that do not depend on rounding.

        Taken in centred item coordinates: directions without strength must not contain the constant either.
        """
        q, basis = self.matrix_rank, self.item_basis
        inside = in_centred_basis(scores) if basis is None else scores @ basis
        left, strength, right = np.linalg.svd(inside, full_matrices=False)
        left, strength = left[:, :q], strength[:q]
        items = (from_centred_basis(right[:q]) if basis is None else right[:q] @ basis.T).T
        sign = np.sign(items[np.abs(items).argmax(axis=0), np.arange(q)])
        items = items * sign
        return TangentBasis(items, left * sign, strength, self._complement(items))

    def _complement(self, items: np.ndarray) -> np.ndarray | None:
        """The other directions that items may move along; None where those of all that sum to zero are too many."""
        if self.item_basis is not None:
            return self.item_basis @ np.linalg.qr(self.item_basis.T @ items, mode="complete")[0][:, items.shape[1] :]
        return complement_of(items) if len(items) <= limits.BASIS_ITEMS else None

    def _small_tangent(self, scores: np.ndarray) -> TangentBasis:
        """A tangent whose shared directions come out of the same decomposition, in any orientation.

        In centred item coordinates the constant stays out of the way, so the null space is what is needed.
        """
        (n_judges, n_items), q = scores.shape, self.matrix_rank
        basis = centred_basis(n_items) if self.item_basis is None else self.item_basis
        # Directly from LAPACK: half of the time numpy takes for a small matrix.
        left, strength, right, failed = dgesdd(scores @ basis, full_matrices=n_judges < basis.shape[1])
        if failed:
            raise np.linalg.LinAlgError("the singular values did not converge.")
        items = basis @ right.T
        return TangentBasis(items[:, :q], left[:, :q], strength[:q], items[:, q:])

    def move(
        self, scores: np.ndarray, tangent: TangentBasis, own: np.ndarray, shared: np.ndarray
    ) -> tuple[np.ndarray, TangentBasis]:
        """Add the step and truncate to the rank by a singular value decomposition.

        The sum has rank at most 2 (rank + 1): for large panels only factors of that width are decomposed.
        """
        items = tangent.to_items(shared)
        if scores.size <= limits.WHOLE_SCORES:
            return self.member(scores + own @ tangent.judge_items.T + tangent.shared_judges @ items)
        left, strength, right = tangent.shared_judges, tangent.strength, tangent.judge_items
        left_basis, left_core = np.linalg.qr(np.hstack([left, own]))
        right_basis, right_core = np.linalg.qr(np.hstack([right * strength + items.T, right]))
        a, new_strength, b = np.linalg.svd(left_core @ right_core.T)
        q = self.matrix_rank
        directions = right_basis @ b[:q].T
        complement = None if self.item_basis is None else self._complement(directions)
        return self._scores(TangentBasis(directions, left_basis @ a[:, :q], new_strength[:q], complement))

    def member(self, scores: np.ndarray) -> tuple[np.ndarray, TangentBasis]:
        """Truncate to the rank."""
        return self._scores(self._small_tangent(scores) if scores.size <= limits.WHOLE_SCORES else self.tangent(scores))

    @staticmethod
    def _scores(tangent: TangentBasis) -> tuple[np.ndarray, TangentBasis]:
        return (tangent.shared_judges * tangent.strength) @ tangent.judge_items.T, tangent

    def nearest(self, scores: np.ndarray) -> np.ndarray:
        """Truncated singular value decomposition of the centred scores."""
        tangent = self.tangent(centred(scores))
        return (tangent.shared_judges * tangent.strength) @ tangent.judge_items.T

    def from_free(self, free: np.ndarray, tangent: TangentBasis) -> np.ndarray:
        """Scores whose projections on the tangent are ``free``: a rank-q matrix is fixed by q of its rows and columns.

        With ``A = S B`` and ``D = P' S C`` (B, C the tangent's own and shared item directions), ``S = A B' + A (P'A)^-1 D C'``.
        """
        own, shared = tangent.split(free)
        completed = np.linalg.solve(tangent.shared_judges.T @ own, shared)
        return own @ (tangent.judge_items.T + tangent.to_items(completed))

    def blocks(self, judges: tuple[str, ...], items: tuple[str, ...]) -> dict[str, list[str]]:
        """Sensitivities, consensus, and the loadings and coordinates of each direction."""
        directions = range(1, self.rank + 1)
        blocks = {"gamma": [f"gamma[{judge}]" for judge in judges], "mu": [f"mu[{item}]" for item in items]}
        if self.rank:
            blocks["U"] = [f"U[{judge},{d}]" for d in directions for judge in judges]
            blocks["V"] = [f"V[{item},{d}]" for d in directions for item in items]
        return blocks

    def index(self, kind: str, position: int, n_judges: int, n_items: int) -> tuple[int, ...]:
        """Judge or item, and the direction of loadings and coordinates."""
        if kind not in ("U", "V"):
            return (position,)
        direction, place = divmod(position, n_judges if kind == "U" else n_items)
        return place, direction

    def decompose(self, scores: np.ndarray) -> Decomposition:
        """Under Condition cond:norm."""
        return canonical(scores, self.rank)

    def pack(self, parts: Decomposition, scores: np.ndarray) -> np.ndarray:
        """All parts, direction by direction."""
        return np.concatenate([parts.gamma, parts.mu, parts.U.T.ravel(), parts.V.T.ravel()])

    def unpack(self, values: np.ndarray, n_judges: int, n_items: int) -> np.ndarray:
        """Products of the parts."""
        judges, items = self._factors(values, n_judges, n_items)
        return judges.T @ items

    def _factors(self, values: np.ndarray, n_judges: int, n_items: int) -> tuple[np.ndarray, np.ndarray]:
        """Parameters of judges (rank + 1, n_judges) and of items (rank + 1, n_items), those of the consensus first."""
        ends = np.cumsum([n_judges, n_items, self.rank * n_judges])
        gamma, mu, U, V = np.split(values, ends)
        judges = np.vstack([gamma, U.reshape(self.rank, n_judges)])
        return judges, np.vstack([mu, V.reshape(self.rank, n_items)])

    def jacobian(self, parts: Decomposition, tangent: TangentBasis) -> np.ndarray:
        """Derivative of all parts."""
        return decomposition_jacobian(parts, tangent)

    def derivative(self, parts: Decomposition, change: np.ndarray) -> np.ndarray:
        """Change of all parts."""
        return decomposition_derivative(parts, change)

    def regressors(self, values: np.ndarray, cells: Cells) -> np.ndarray:
        """By judges' parameters the items' differences, by items' parameters the judge's."""
        judges, items = self._factors(values, cells.n_judges, cells.n_items)
        signed = signed_items(cells)
        to_judges = [by_judge((signed @ item)[:, None], cells)[:, :, 0] for item in items]
        to_items = [judge[cells.judge][:, None] * signed for judge in judges]
        return np.hstack([to_judges[0], to_items[0], *to_judges[1:], *to_items[1:]])

    def chain(self, values: np.ndarray, by_scores: np.ndarray) -> np.ndarray:
        """Products with the other side's parameters."""
        judges, items = self._factors(values, *by_scores.shape)
        to_judges, to_items = items @ by_scores.T, judges @ by_scores
        return np.concatenate([to_judges[0], to_items[0], to_judges[1:].ravel(), to_items[1:].ravel()])

    def bending(self, by_scores: np.ndarray) -> np.ndarray:
        """Judges' with items' parameters of the same direction."""
        n_judges, n_items = by_scores.shape
        result = np.zeros((self.matrix_rank * (n_judges + n_items),) * 2)
        loadings = n_judges + n_items
        starts = [(0, n_judges)]
        starts += [(loadings + d * n_judges, loadings + self.rank * n_judges + d * n_items) for d in range(self.rank)]
        for judge, item in starts:
            result[judge : judge + n_judges, item : item + n_items] = by_scores
            result[item : item + n_items, judge : judge + n_judges] = by_scores.T
        return result

    def normalisation(self, values: np.ndarray, n_judges: int, n_items: int) -> Normalisation:
        """Condition cond:norm: sums of all blocks, and products of the items' and of the judges' directions."""
        ends = np.cumsum([0, n_judges, n_items, *[n_judges] * self.rank, *[n_items] * self.rank])
        gamma, mu, *rest = [slice(a, b) for a, b in pairwise(ends.tolist())]
        U, V = rest[: self.rank], rest[self.rank :]
        sums = [gamma, mu, *rest]
        products = [*((mu, v) for v in V), *combinations_with_replacement(V, 2), *combinations(U, 2)]
        jacobian = np.zeros((len(sums) + len(products), len(values)))
        for i, block in enumerate(sums):
            jacobian[i, block] = 1.0
        for i, (left, right) in enumerate(products, start=len(sums)):
            jacobian[i, left] += values[right]
            jacobian[i, right] += values[left]
        return Normalisation(jacobian, tuple((len(sums) + i, *pair) for i, pair in enumerate(products)))


@dataclass(frozen=True)
class Sampled(LowRank):
    """Judges drawn from a population of low-rank scores: they are integrated out, and the population is what is reported.

    Scores are those predicted for the judges at hand. The parameters are in :mod:`~hjastats.model.population`, the likelihood
    and its
    maximum in ``solve/population.py``.
    """

    has_taste: bool = False

    kind = "sampled"
    has_sensitivities = False

    @property
    def name(self) -> str:
        """JA or HJA with its rank, of judges who are a sample."""
        return f"population {super().name}" + (" with taste" if self.has_taste else "")

    @property
    def title(self) -> str:
        """That of the same scores, with judges as a sample."""
        return f"{super().title}, judges as a sample" + (" with tastes of their own" if self.has_taste else "")


def largest_rank(structure: ScoreStructure, n_judges: int, n_items: int) -> int:
    """The rank with which judges' scores are unrestricted but for what items may be.

    Examples
    --------
    >>> largest_rank(LowRank(0), 4, 10)
    3
    """
    basis = structure.item_basis
    return max_rank(n_judges, n_items if basis is None else basis.shape[1] + 1)
