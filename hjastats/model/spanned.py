"""Scores in the span of given matrices: abilities that follow from traits of items, judges who differ by their traits.

``S = W C Y'``: W are traits of judges, the first of them the constant, Y those of items, or the items themselves. Or judges who
weigh the traits of items each in its own way: ``S = M Y'`` with M of low rank.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from scipy.linalg import eigh

from .. import limits
from ..data.arrays import listed
from ..data.cells import Cells
from ..data.traits import ItemTraits
from ..errors import ComparisonError, IdentificationError, OptionError
from ..words import counted, quoted
from .decomposition import Decomposition, max_rank
from .design import Coefficients, Design
from .information import expected_information, free_information
from .layout import Layout
from .likelihood import signed_items
from .structures import LowRank, Normalisation, Pooled, ScoreStructure, Unrestricted, _Flat
from .tangent import TangentBasis

# Share of a trait that others may leave of it by rounding.
_NOTHING_LEFT = 1e-9


@dataclass(frozen=True, eq=False)
class Spanned(_Flat):
    """Scores linear in traits of judges and of items.

    Attributes
    ----------
    of_judges : ndarray, shape (n_judges, g)
        One, then the judges' traits, each less its mean over the judges.
    of_items : ndarray, shape (n_items, p)
        Traits of the items, each less its mean; where scores are free, a basis of those there are.
    judge_traits : tuple of str
        Names of the traits of judges, one less than there are columns.
    item_traits : tuple of str
        Names of the traits of items; none where scores are free.
    groups : tuple of tuple of int
        Items whose free scores sum to zero by themselves, because nothing compares them with others; all of them by default.

    Examples
    --------
    >>> size = np.array([[-1.0], [0.0], [1.0]])
    >>> structure = Spanned(np.ones((2, 1)), size, (), ("size",))
    >>> structure.blocks(("ann", "bob"), ("a", "b", "c"))
    {'beta': ['beta[size]']}
    >>> structure.unpack(np.array([0.5]), 2, 3)
    array([[-0.5,  0. ,  0.5],
           [-0.5,  0. ,  0.5]])
    """

    of_judges: np.ndarray
    of_items: np.ndarray
    judge_traits: tuple[str, ...] = ()
    item_traits: tuple[str, ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()

    kind = "spanned"

    def with_free_items(self, n_items: int) -> ScoreStructure:
        """BTL, with the same traits of judges."""
        of_items = free_items(n_items, (tuple(range(n_items)),))
        return Spanned(self.of_judges, of_items, self.judge_traits) if self.judge_traits else Pooled()

    @property
    def item_basis(self) -> np.ndarray | None:
        """Of the traits of items, or of their scores."""
        return self._bases[1]

    @property
    def judges_differ(self) -> bool:
        """Whether traits of judges move their scores."""
        return bool(self.judge_traits)

    @property
    def name(self) -> str:
        """BTL, on which traits."""
        on = f" on {_few(self.item_traits)}" if self.item_traits else ""
        return f"BTL{on}" + (f" by judges' {_few(self.judge_traits)}" if self.judge_traits else "")

    @property
    def title(self) -> str:
        """Bradley-Terry-Luce, on which traits."""
        return f"Bradley-Terry-Luce ranking{self.name.removeprefix('BTL')}"

    @property
    def zero_over(self) -> str:
        """What scores sum to zero over, in words."""
        return f"the items of each of {len(self.groups)} groups that nobody compared" if self.groups else "items"

    @property
    def own_kinds(self) -> dict[str, tuple[str, ...]]:
        """Kinds of parameters that no other structure has, and what indexes them."""
        own = {"beta": ("trait",)} if self.item_traits else {}
        return own | ({"B": ("judge trait", "trait" if self.item_traits else "item")} if self.judge_traits else {})

    @property
    def own_labels(self) -> dict[str, tuple[str, ...]]:
        """Labels of those indices."""
        return {"trait": self.item_traits, "judge trait": self.judge_traits}

    def level(self, n_judges: int, n_items: int) -> int:
        """Above BTL if judges differ; else below, or it."""
        return 0 if self.judge_traits else (-2 if self.item_traits else -1)

    def n_free(self, n_judges: int, n_items: int) -> int:
        """Degrees of freedom."""
        return self.of_judges.shape[1] * self.of_items.shape[1]

    # Movements

    @cached_property
    def _bases(self) -> tuple[np.ndarray, np.ndarray]:
        """Orthonormal bases of both sides, with signs that do not depend on rounding."""
        return _orthonormal(self.of_judges), _orthonormal(self.of_items)

    def tangent(self, scores: np.ndarray) -> TangentBasis:
        """Shared movements: traits of judges times those of items."""
        judges, items = self._bases
        return TangentBasis(np.zeros((len(items), 0)), judges, np.zeros(0), items)

    def nearest(self, scores: np.ndarray) -> np.ndarray:
        """Projection on both sides."""
        judges, items = self._bases
        return judges @ (judges.T @ scores @ items) @ items.T

    # Reported parameters

    @property
    def _reported(self) -> np.ndarray:
        """Item vectors that reported parameters are coefficients of, shape (n_items, q)."""
        return self.of_items if self.item_traits else np.eye(len(self.of_items))

    @cached_property
    def _inverses(self) -> tuple[np.ndarray, np.ndarray]:
        """What makes coefficients of scores, from the left and from the right: ``C = L S R'``."""
        return np.linalg.pinv(self.of_judges), np.linalg.pinv(self._reported)

    def blocks(self, judges: tuple[str, ...], items: tuple[str, ...]) -> dict[str, list[str]]:
        """Consensus scores or coefficients of the items' traits, and how judges' traits move them."""
        labels, first = (self.item_traits, "beta") if self.item_traits else (items, "mu")
        own = {first: [f"{first}[{label}]" for label in labels]}
        moved = [f"B[{trait},{label}]" for trait in self.judge_traits for label in labels]
        return own | ({"B": moved} if moved else {})

    def index(self, kind: str, position: int, n_judges: int, n_items: int) -> tuple[int, ...]:
        """The item or trait, after the trait of the judge."""
        return divmod(position, self._reported.shape[1]) if kind == "B" else (position,)

    def weights(self, kind: str, index: tuple[int, ...], n_judges: int) -> np.ndarray:
        """One of its own parameters as a sum over the scores with weights, shape (n_judges, n_items)."""
        left, right = self._inverses
        row, column = (0, *index) if kind == "beta" else (1 + index[0], index[1])
        return np.outer(left[row], right[column])

    def decompose(self, scores: np.ndarray) -> Decomposition:
        """Like those of BTL, or of judges with scores of their own."""
        return (Unrestricted() if self.judge_traits else Pooled()).decompose(scores)

    def pack(self, parts: Decomposition, scores: np.ndarray) -> np.ndarray:
        """Coefficients, trait of judges by trait of judges."""
        left, right = self._inverses
        return (left @ scores @ right.T).ravel()

    def unpack(self, values: np.ndarray, n_judges: int, n_items: int) -> np.ndarray:
        """Scores of all judges."""
        coefficients = values.reshape(self.of_judges.shape[1], -1)
        return self.of_judges @ coefficients @ self._reported.T

    def jacobian(self, parts: Decomposition, tangent: TangentBasis) -> np.ndarray:
        """Derivative of the coefficients, which are linear in the scores."""
        left, right = self._inverses
        judges, items = self._bases
        return np.kron(left @ judges, right @ items)

    def derivative(self, parts: Decomposition, change: np.ndarray) -> np.ndarray:
        """The coefficients of the change."""
        return self.pack(parts, change)

    def regressors(self, values: np.ndarray, cells: Cells) -> np.ndarray:
        """Traits of the cell's judge times differences of the items' traits."""
        on_items = signed_items(cells) @ self._reported
        return (self.of_judges[cells.judge][:, :, None] * on_items[:, None]).reshape(len(cells.n), -1)

    def chain(self, values: np.ndarray, by_scores: np.ndarray) -> np.ndarray:
        """Weighted sums over judges and items."""
        return (self.of_judges.T @ by_scores @ self._reported).ravel()

    def bending(self, by_scores: np.ndarray) -> np.ndarray:
        """None, the scores are linear in the parameters."""
        n = self.of_judges.shape[1] * self._reported.shape[1]
        return np.zeros((n, n))

    def normalisation(self, values: np.ndarray, n_judges: int, n_items: int) -> Normalisation:
        """Free scores sum to zero, over each group of items; coefficients of traits need nothing."""
        if self.item_traits:
            return Normalisation(np.zeros((0, len(values))))
        groups = self.groups or (tuple(range(n_items)),)
        sums = np.array([np.isin(np.arange(n_items), group) for group in groups], dtype=float)
        return Normalisation(np.kron(np.eye(len(values) // n_items), sums))


@dataclass(frozen=True, eq=False)
class LowRankOnTraits(LowRank):
    """Scores of low rank that are linear in traits of the items: what judges weigh differently are the traits.

    A consensus ``mu = Y beta`` with sensitivities, and directions of disagreement V in the span of Y. All is reported as of free
    scores but the consensus, of which the coefficients are.

    Attributes
    ----------
    of_items : ndarray, shape (n_items, p)
        Traits of the items, each less its mean.
    item_traits : tuple of str
        Their names.

    Examples
    --------
    >>> structure = LowRankOnTraits(0, np.array([[-1.0, 1.0], [0.0, -2.0], [1.0, 1.0]]), ("size", "age"))
    >>> structure.blocks(("ann", "bob"), ("a", "b", "c"))
    {'gamma': ['gamma[ann]', 'gamma[bob]'], 'beta': ['beta[size]', 'beta[age]']}
    >>> structure.unpack(np.array([0.5, 1.5, 2.0, 0.0]), 2, 3)
    array([[-1.,  0.,  1.],
           [-3.,  0.,  3.]])
    >>> structure.n_free(2, 3)
    3
    """

    of_items: np.ndarray
    item_traits: tuple[str, ...]

    # W, what each judge makes of each trait, is told by gamma, beta, U and V, and no parameter beside them.
    own_kinds: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({"beta": ("trait",), "W": ("judge", "trait")})
    # Traits are compared by what they are, as those of Spanned.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def name(self) -> str:
        """JA, or HJA with its rank, on which traits."""
        return f"{super().name} on {_few(self.item_traits)}"

    @property
    def title(self) -> str:
        """That of free scores, on which traits."""
        return f"{super().title} on {_few(self.item_traits)}"

    @property
    def own_labels(self) -> dict[str, tuple[str, ...]]:  # type: ignore[override]
        """Labels of the traits."""
        return {"trait": self.item_traits}

    def with_free_items(self, n_items: int) -> ScoreStructure:
        """JA, or HJA of the same rank."""
        return LowRank(self.rank)

    @property
    def item_basis(self) -> np.ndarray:
        """Of the traits."""
        return self._basis

    @cached_property
    def _basis(self) -> np.ndarray:
        return _orthonormal(self.of_items)

    @cached_property
    def _inverse(self) -> np.ndarray:
        """What makes coefficients of a consensus, shape (p, n_items)."""
        return np.linalg.pinv(self.of_items)

    # Reported parameters: those of free scores, with beta in the place of mu

    def blocks(self, judges: tuple[str, ...], items: tuple[str, ...]) -> dict[str, list[str]]:
        """Sensitivities, coefficients of the traits, loadings and coordinates of each direction."""
        beta = [f"beta[{trait}]" for trait in self.item_traits]
        return dict(
            ("beta", beta) if kind == "mu" else (kind, own) for kind, own in super().blocks(judges, items).items()
        )

    def weights(self, kind: str, index: tuple[int, ...], n_judges: int) -> np.ndarray:
        """A coefficient as a sum over the scores of one judge, or over those of all, whose mean it is for beta."""
        judges = np.eye(n_judges)[index[0]] if kind == "W" else np.full(n_judges, 1.0 / n_judges)
        return np.outer(judges, self._inverse[index[-1]])

    def pack(self, parts: Decomposition, scores: np.ndarray) -> np.ndarray:
        """All parts, direction by direction."""
        return _exchanged(super().pack(parts, scores), len(parts.gamma), self._inverse)

    def unpack(self, values: np.ndarray, n_judges: int, n_items: int) -> np.ndarray:
        """Products of the parts."""
        return super().unpack(_exchanged(values, n_judges, self.of_items), n_judges, n_items)

    def jacobian(self, parts: Decomposition, tangent: TangentBasis) -> np.ndarray:
        """Derivative of all parts."""
        return _exchanged(super().jacobian(parts, tangent), len(parts.gamma), self._inverse)

    def derivative(self, parts: Decomposition, change: np.ndarray) -> np.ndarray:
        """Change of all parts."""
        return _exchanged(super().derivative(parts, change), len(parts.gamma), self._inverse)

    def regressors(self, values: np.ndarray, cells: Cells) -> np.ndarray:
        """By coefficients the differences of the traits, times sensitivities."""
        by_items = super().regressors(_exchanged(values, cells.n_judges, self.of_items), cells)
        return _exchanged(by_items.T, cells.n_judges, self.of_items.T).T

    def chain(self, values: np.ndarray, by_scores: np.ndarray) -> np.ndarray:
        """Products with the other side's parameters."""
        n_judges = len(by_scores)
        by_items = super().chain(_exchanged(values, n_judges, self.of_items), by_scores)
        return _exchanged(by_items, n_judges, self.of_items.T)

    def bending(self, by_scores: np.ndarray) -> np.ndarray:
        """Judges' with items' parameters of the same direction."""
        n_judges, traits = len(by_scores), self.of_items.T
        return _exchanged(_exchanged(super().bending(by_scores), n_judges, traits).T, n_judges, traits)

    def normalisation(self, values: np.ndarray, n_judges: int, n_items: int) -> Normalisation:
        """Condition cond:norm, and directions that lie in the span of the traits."""
        of_items = super().normalisation(_exchanged(values, n_judges, self.of_items), n_judges, n_items)
        change = _exchanged(np.eye(len(values)), n_judges, self.of_items)
        first = len(values) - self.rank * n_items
        inside = np.zeros((self.rank * n_items, len(values)))
        inside[:, first:] = np.kron(np.eye(self.rank), np.eye(n_items) - self._basis @ self._basis.T)
        return Normalisation(np.vstack([of_items.jacobian @ change, inside]), of_items.products, change)


# Share of the largest eigenvalue of the information below which there is none.
_NO_INFORMATION = 1e-10
# Effects that may be drawn from a distribution.
RANDOM = ("items", "interactions")


def random_effects(random: Any, items: Any, interactions: Any) -> tuple[str, ...]:
    """Which effects are drawn from a distribution.

    Raises
    ------
    OptionError
    """
    names = () if random is None else (random,) if isinstance(random, str) else tuple(listed("random", random, "names"))
    if unknown := [name for name in names if name not in RANDOM]:
        raise OptionError(f"random must be 'items', 'interactions' or both, got {quoted(unknown)}.")
    if "interactions" in names and interactions is None:
        raise OptionError("random='interactions' needs interactions='~ ...', the effects that are to be random.")
    return tuple(name for name in RANDOM if name in names)


def spanned(
    n_judges: int,
    items: tuple[str, ...],
    traits: ItemTraits | None,
    judges: pd.DataFrame | None,
    groups: tuple[tuple[str, ...], ...] = (),
) -> Spanned:
    """The structure of given traits; without traits of items their scores are free.

    Parameters
    ----------
    groups : tuple of tuple of str
        Items that nothing links with others.

    Raises
    ------
    ComparisonError
        For a trait that others already say.
    """
    moved = np.zeros((n_judges, 0)) if judges is None else judges.to_numpy()
    of_judges = np.hstack([np.ones((n_judges, 1)), moved])
    judge_traits = () if judges is None else tuple(map(str, judges.columns))
    place = {item: i for i, item in enumerate(items)}
    parts = tuple(tuple(place[item] for item in group) for group in groups) or (tuple(range(len(items))),)
    of_items = free_items(len(items), parts) if traits is None else traits.values
    item_traits = () if traits is None else traits.names
    check_tells(moved, judge_traits, "judges")
    check_tells(of_items, item_traits, "items")
    return Spanned(of_judges, of_items, judge_traits, item_traits, parts if len(parts) > 1 else ())


def on_traits(rank: int, n_judges: int, traits: ItemTraits) -> LowRankOnTraits:
    """The structure of judges who weigh given traits of the items each in its own way.

    Raises
    ------
    ComparisonError
        For a trait that others already say.
    IdentificationError
        For more directions than traits, or judges, can have.
    """
    check_tells(traits.values, traits.names, "items")
    p = len(traits.names)
    largest = max_rank(n_judges, p + 1)
    if isinstance(rank, bool) or not isinstance(rank, int | np.integer) or not 0 <= rank <= largest:
        raise IdentificationError(
            f"rank must be an integer between 0 and min(n_judges - 1, n_traits - 1) = {largest} for {n_judges} judges who weigh "
            f"{counted(p, 'trait')} of the items ({quoted(traits.names, 4)}), got {rank!r}: judges who all weigh the same traits "
            "differ in no more directions than that."
        )
    return LowRankOnTraits(int(rank), traits.values, traits.names)


def check_tells(columns: np.ndarray, names: tuple[str, ...], whose: str) -> None:
    """Refuse a trait that others already say.

    Raises
    ------
    ComparisonError
    """
    if names and (place := depends(columns)) is not None:
        raise ComparisonError(
            f"{names[place]!r} says nothing about the {whose} that {quoted(names[:place])} do not say already: leave "
            "one of them out (an intercept is the scale's own, so '0 +' gives one category too many)."
        )


def undetermined(design: Design, layout: Layout) -> list[str]:
    """Parameters that no verdicts of these comparisons could determine; not looked for among too many."""
    n_items, tangent = len(layout.items), layout.structure.tangent(np.zeros((len(layout.judges), len(layout.items))))
    if layout.n_free > limits.MANY_FREE:
        return []
    arrow = expected_information(design, design.response.even_odds(design.n), tangent)
    values, vectors = eigh(free_information(arrow, design))
    if values[0] > _NO_INFORMATION * values[-1]:
        return []
    nothing = np.zeros((len(layout.judges), n_items))
    at = Coefficients(nothing, layout.terms.absent(len(layout.judges)), np.zeros(len(layout.terms.shared)))
    movement = np.abs(layout.jacobian(at, tangent) @ vectors[:, 0])
    return [layout.names[i] for i in np.argsort(-movement)[:4] if movement[i] > 0.3 * movement.max()]


def free_items(n_items: int, groups: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """A basis of item vectors that sum to zero over each group, shape (n_items, n_items - n_groups).

    Examples
    --------
    >>> free_items(4, ((0, 2), (1, 3))).round(3).T
    array([[-0.707,  0.   ,  0.707,  0.   ],
           [ 0.   , -0.707,  0.   ,  0.707]])
    """
    columns = []
    for group in groups:
        where = np.array(group)
        for i in range(1, len(where)):
            column = np.zeros(n_items)
            column[where[:i]], column[where[i]] = -1.0 / i, 1.0
            columns.append(column / np.linalg.norm(column))
    return np.array(columns).T.reshape(n_items, -1)


def depends(columns: np.ndarray) -> int | None:
    """The first of some columns that is a combination of those before it; None if none is.

    Examples
    --------
    >>> depends(np.array([[1.0, 2.0], [2.0, 4.0]])), depends(np.eye(2))
    (1, None)
    """
    for i, column in enumerate(columns.T):
        before = columns[:, :i]
        left = column - before @ np.linalg.lstsq(before, column, rcond=None)[0]
        if np.linalg.norm(left) <= _NOTHING_LEFT * max(float(np.linalg.norm(column)), 1e-300):
            return i
    return None


def _exchanged(values: np.ndarray, n_judges: int, matrix: np.ndarray) -> np.ndarray:
    """Values (n, ...) of sensitivities, the consensus and all else, with the consensus times a matrix in its place."""
    gamma, consensus, others = np.split(values, [n_judges, n_judges + matrix.shape[1]])
    return np.concatenate([gamma, matrix @ consensus, others])


def _few(names: tuple[str, ...]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{len(names)} traits"


def _orthonormal(columns: np.ndarray) -> np.ndarray:
    vectors, factor = np.linalg.qr(columns)
    return vectors * np.where(np.diag(factor) < 0, -1.0, 1.0)
