"""Responses: which verdicts there are, and how likely each is given the log-odds and the response's own parameters.

A response is one class with the methods of :class:`Response`; ``RESPONSES`` names them as the option ``ties`` does. All numbers are
arrays over cells; likelihoods and predictors also take stacks, one more axis in front.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol, cast

import numpy as np
from scipy.special import log_expit, logsumexp, xlogy

from .. import limits
from ..errors import ComparisonError, Hint, IdentificationError
from ..words import and_more, counted
from .terms import OPTIONS, Term, TermKind


class Derivatives(NamedTuple):
    """Value and derivatives of the negative log-likelihood with respect to the predictors of each cell.

    Attributes
    ----------
    value : float
        In a stack, an array of them.
    slope, curvature : ndarray, shape (n_cells,)
        With respect to the log-odds ``eta``. Curvatures are observed ones; see :func:`typical`.
    eta : ndarray, shape (n_cells,)
    own_slope, cross : ndarray, shape (p, n_cells), or None
        With respect to the response's own predictors, and mixed with the log-odds, where it has any.
    own_curvature : ndarray, shape (p, p, n_cells), or None
    own : ndarray, shape (p, n_cells), or None
        The response's own predictors.
    """

    value: Any
    slope: np.ndarray
    curvature: np.ndarray
    eta: np.ndarray
    own_slope: np.ndarray | None = None
    cross: np.ndarray | None = None
    own_curvature: np.ndarray | None = None
    own: np.ndarray | None = None


class Response(Protocol):
    """What a verdict can be."""

    @property
    def name(self) -> str:
        """As in the option ``ties``."""

    @property
    def parameters(self) -> tuple[TermKind, ...]:
        """Own predictors, each a term that everybody or every judge has."""

    @property
    def is_natural(self) -> bool:
        """Whether its predictors are natural parameters, of which observed and expected curvatures are the same."""

    @property
    def verdicts(self) -> dict[str, float]:
        """Possible verdicts and what each is worth to the first item, best first."""

    @property
    def never(self) -> list[float]:
        """Verdicts that nobody gave and that are therefore none, by what they would be worth."""

    def check(self, outcome: np.ndarray) -> Response:
        """Refuse outcomes that are no such verdicts; the response with those of its verdicts that there are."""

    def terms(self, scope: str, judge_index: np.ndarray, outcome: np.ndarray, n_judges: int) -> list[Term]:
        """Terms of the own parameters for some verdicts: which judges have none."""

    def counts(self, outcome: np.ndarray) -> np.ndarray:
        """What is counted of rows beside comparisons and wins, shape (n_rows, n_counts)."""

    def derivatives(
        self, eta: np.ndarray, own: np.ndarray | None, n: np.ndarray, y: np.ndarray, counts: np.ndarray
    ) -> Derivatives:
        """Negative log-likelihood with its derivatives by the predictors."""

    def loglike(
        self, eta: np.ndarray, own: np.ndarray | None, n: np.ndarray, y: np.ndarray, counts: np.ndarray
    ) -> np.ndarray:
        """Log-likelihood of every cell, shape (n_cells,); in a stack own predictors are (p, ..., n_cells)."""

    def even_odds(self, n: np.ndarray) -> Derivatives:
        """What comparisons would tell if all verdicts were open: curvatures at their largest."""

    def probabilities(self, eta: np.ndarray, own: np.ndarray | None) -> np.ndarray:
        """Probabilities of the verdicts, shape (n_verdicts, n_cells)."""

    def null_loglike(self, n: np.ndarray, counts: np.ndarray) -> float:
        """Log-likelihood of coin flips, with the overall shares of what is no win or loss."""

    def start(self, n: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Values of the own predictors to begin with, shape (p,)."""


class Binary:
    """A win or a loss; a tie, or any other preference between them, is part of both."""

    name = "half"
    is_natural = True
    never: list[float] = []  # noqa: RUF012
    parameters: tuple[TermKind, ...] = ()
    verdicts = {"first": 1.0, "second": 0.0}  # noqa: RUF012

    def check(self, outcome: np.ndarray) -> Response:
        """Take any outcome between 0 and 1."""
        return self

    def terms(self, scope: str, judge_index: np.ndarray, outcome: np.ndarray, n_judges: int) -> list[Term]:
        """None."""
        return []

    def counts(self, outcome: np.ndarray) -> np.ndarray:
        """Nothing further."""
        return np.zeros((len(outcome), 0))

    def derivatives(
        self, eta: np.ndarray, own: np.ndarray | None, n: np.ndarray, y: np.ndarray, counts: np.ndarray
    ) -> Derivatives:
        """Bernoulli log-likelihood."""
        return bernoulli(eta, n, y)

    def loglike(
        self, eta: np.ndarray, own: np.ndarray | None, n: np.ndarray, y: np.ndarray, counts: np.ndarray
    ) -> np.ndarray:
        """Exact in both tails, as its sum is."""
        return np.where(eta > 0, y - n, y) * eta - n * np.log1p(np.exp(-np.abs(eta)))

    def even_odds(self, n: np.ndarray) -> Derivatives:
        """A quarter of the comparisons."""
        return Derivatives(0.0, np.zeros(len(n)), n / 4.0, np.zeros(len(n)))

    def probabilities(self, eta: np.ndarray, own: np.ndarray | None) -> np.ndarray:
        """Inverse logits of both sides, exact in both tails."""
        return np.stack([probability(eta), probability(-eta)])

    def null_loglike(self, n: np.ndarray, counts: np.ndarray) -> float:
        """Coin flips."""
        return -float(np.log(2.0) * n.sum())

    def start(self, n: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Nothing to begin with."""
        return np.zeros(0)


class Davidson:
    """A win, a tie or a loss, ``exp(eta / 2) : exp(tau) : exp(-eta / 2)`` (Davidson 1970); ``tau`` is the log tie propensity."""

    name = "davidson"
    is_natural = True
    never: list[float] = []  # noqa: RUF012
    verdicts = {"first": 1.0, "tie": 0.5, "second": 0.0}  # noqa: RUF012
    parameters = (
        TermKind(
            name="tie",
            label="ties",
            title="tie",
            moves=1,
            # No propensity means no ties: the effect that could be absent is not zero.
            null=None,
            # Small enough to leave the other probabilities exact.
            absent=-50.0,
        ),
    )

    def check(self, outcome: np.ndarray) -> Response:
        """Refuse anything between a win, a tie and a loss.

        Raises
        ------
        ComparisonError
        """
        if not np.isin(outcome, list(self.verdicts.values())).all():
            raise ComparisonError(
                Hint("ties", "davidson"),
                " needs wins, ties and losses (1, 0.5, 0); soft preferences need ",
                Hint("ties", "half"),
                ", grades of a scale ",
                Hint("ties", "ordinal"),
                ".",
            )
        return self

    def terms(self, scope: str, judge_index: np.ndarray, outcome: np.ndarray, n_judges: int) -> list[Term]:
        """The tie propensity; that of judges who never tie is minus infinity, and no parameter.

        Raises
        ------
        IdentificationError
            Without any tie.
        """
        ties = np.bincount(judge_index, outcome == 0.5, n_judges)
        if not ties.any():
            raise IdentificationError(
                "there are no ties in the data: ",
                Hint("ties", "davidson"),
                " has nothing to estimate, use ",
                Hint("ties", "half"),
                ".",
            )
        held = tuple(np.flatnonzero(ties == 0).tolist()) if scope == "judge" else ()
        return [Term("tie", scope, self.parameters[0], held)]

    def counts(self, outcome: np.ndarray) -> np.ndarray:
        """Ties."""
        return (outcome == 0.5).astype(float)[:, None]

    def derivatives(
        self, eta: np.ndarray, own: np.ndarray | None, n: np.ndarray, y: np.ndarray, counts: np.ndarray
    ) -> Derivatives:
        """Multinomial log-likelihood; both predictors are natural, so that observed and expected information agree.

        ``y`` counts ties as half wins, so that wins minus losses are ``2 y - n``.

        Examples
        --------
        >>> one = np.ones(1)
        >>> even = DAVIDSON.derivatives(0 * one, np.zeros((1, 1)), 3 * one, 1.5 * one, np.ones((1, 1)))
        >>> bool(np.isclose(even.value, 3 * np.log(3))), even.slope, even.own_slope
        (True, array([0.]), array([[0.]]))
        """
        assert own is not None
        tau, ties = own[..., 0, :], counts[..., 0]
        first, tie, second = np.moveaxis(self.probabilities(eta, own), -2, 0)
        top = np.maximum(np.abs(eta) / 2.0, tau)
        small = np.abs(eta) / 2.0
        total = np.exp(small - top) + np.exp(-small - top) + np.exp(tau - top)
        # Wins and losses of the rarer side, ties, and the normaliser, each exact where the others vanish.
        rare = np.where(eta > 0, n - y, y) - 0.5 * ties
        value = (
            _total(np.log(total), n)
            + _total(top - small, n - ties - rare)
            + _total(top + small, rare)
            + _total(top - tau, ties)
        )
        difference = first - second
        return Derivatives(
            value=value,
            slope=0.5 * n * difference - (y - 0.5 * n),
            curvature=0.25 * n * (first + second - difference**2),
            eta=eta,
            own_slope=(n * tie - ties)[..., None, :],
            cross=(-0.5 * n * difference * tie)[..., None, :],
            own_curvature=(n * tie * (1.0 - tie))[..., None, None, :],
            own=own,
        )

    def loglike(
        self, eta: np.ndarray, own: np.ndarray | None, n: np.ndarray, y: np.ndarray, counts: np.ndarray
    ) -> np.ndarray:
        """Wins, ties and losses times their log-probabilities, finite however far out."""
        assert own is not None
        weights = np.stack([0.5 * eta, own[0], -0.5 * eta])
        first, tie, second = weights - logsumexp(weights, axis=0)
        ties = counts[:, 0]
        wins = y - 0.5 * ties
        return wins * first + ties * tie + (n - wins - ties) * second

    def even_odds(self, n: np.ndarray) -> Derivatives:
        """A quarter of the comparisons for both predictors."""
        nothing = np.zeros(len(n))
        return Derivatives(
            0.0, nothing, n / 4.0, nothing, nothing[None], nothing[None], (n / 4.0)[None, None], nothing[None]
        )

    def probabilities(self, eta: np.ndarray, own: np.ndarray | None) -> np.ndarray:
        """Of a win of the first item, a tie, and a win of the second."""
        assert own is not None
        tau = own[..., 0, :]
        top = np.maximum(np.abs(eta) / 2.0, tau)
        first, tie, second = np.exp(eta / 2.0 - top), np.exp(tau - top), np.exp(-eta / 2.0 - top)
        return np.stack([first, tie, second], axis=-2) / (first + tie + second)[..., None, :]

    def null_loglike(self, n: np.ndarray, counts: np.ndarray) -> float:
        """Coin flips, and the overall share of ties."""
        total, ties = float(n.sum()), float(counts.sum())
        decided = total - ties
        return float(xlogy(ties, ties / total) + xlogy(decided, 0.5 * decided / total))

    def start(self, n: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The propensity that gives the overall share of ties among equals."""
        share = np.clip(counts.sum() / n.sum(), 1e-3, 1 - 1e-3)
        return np.array([np.log(2.0 * share / (1.0 - share))])


# A threshold of a judge who never gave the grade below it is the next lower one, in a coefficient that is no parameter; one that
# nothing lies beyond is out of reach.
_SAME, _BEYOND = -50.0, 50.0
# Logarithm of the width of a grade that nobody gives, as small as the propensity of ties without any.
_NO_WIDTH = -50.0
# How near a number is to the verdict that it stands for: thirds need not be exact.
_ON_SCALE = 1e-6
_THRESHOLDS = "thresholds (log-odds where the grade changes, on both sides of zero)"
_PROPENSITIES = "grades (log propensity of those within the scale, against its ends)"
_WORDS = {1.0: "first", 0.5: "tie", 0.0: "second"}


def points_of_scale(outcome: np.ndarray) -> int | None:
    """Points of the coarsest scale of equal steps that all outcomes lie on; None if there is none.

    Examples
    --------
    >>> points_of_scale(np.array([0.0, 0.25, 1.0])), points_of_scale(np.array([0.31, 0.99]))
    (5, None)
    """
    for n_steps in range(1, limits.GRADES):
        if (np.abs(outcome * n_steps - np.round(outcome * n_steps)) <= _ON_SCALE * n_steps).all():
            return n_steps + 1
    return None


@dataclass(frozen=True)
class _Graded:
    """Verdicts on a scale of equal steps; one read from the other side is its mirror image.

    Attributes
    ----------
    grades : tuple of float
        What each is worth to the first item, best first, with every grade its mirror image.
    n_points : int
        Of the scale, grades that nobody gave included.
    """

    grades: tuple[float, ...] = tuple(np.linspace(1.0, 0.0, limits.GRADES).tolist())
    n_points: int = limits.GRADES

    name: ClassVar[str]

    @cached_property
    def verdicts(self) -> dict[str, float]:
        """By their words, or by what they are worth."""
        return {_WORDS.get(grade, f"{grade:.3g}"): grade for grade in self.grades}

    @property
    def never(self) -> list[float]:
        """Grades of the scale that are none here, because neither they nor their mirror images were given."""
        scale = np.linspace(1.0, 0.0, self.n_points)
        return [float(grade) for grade in scale if np.abs(grade - np.array(self.grades)).min() > _ON_SCALE]

    def check(self, outcome: np.ndarray) -> Response:
        """The grades of the coarsest scale of equal steps that the outcomes lie on, without those that nobody gave.

        Raises
        ------
        ComparisonError
            If there is no such scale, or only one step of it.

        Examples
        --------
        >>> ORDINAL.check(np.array([0.0, 0.25, 1.0])).verdicts
        {'first': 1.0, '0.75': 0.75, '0.25': 0.25, 'second': 0.0}
        """
        seen = np.unique(outcome)
        listed = and_more([f"{x:.4g}" for x in seen], 4)
        if (n_points := points_of_scale(seen)) is not None:
            place = np.round(seen * (n_points - 1)).astype(int).tolist()
            used = sorted({*place, *(n_points - 1 - k for k in place)}, reverse=True)
            grades = tuple(k / (n_points - 1) for k in used)
            if len(grades) > 2:
                return cast("Response", replace(self, grades=grades, n_points=n_points))
            if grades == (1.0, 0.0):
                return BINARY
            raise ComparisonError(
                Hint("ties", self.name),
                f" needs verdicts that differ in strength, and all are {listed}: code those for the first item as 1 and those for "
                "the second as 0.",
            )
        raise ComparisonError(
            Hint("ties", self.name),
            f" needs grades at equal steps from 0 to 1, at most {limits.GRADES} of them: 0, 0.25, 0.5, 0.75, 1 for five points, "
            f"1 / 3 and not 0.33 for a third. Got {counted(len(seen), 'different outcome')}, such as {listed}. "
            "Code the grades so, or take them as soft preferences with ",
            Hint("ties", "half"),
            ".",
        )

    def counts(self, outcome: np.ndarray) -> np.ndarray:
        """Every grade."""
        return (np.abs(np.asarray(outcome)[:, None] - np.array(self.grades)) <= _ON_SCALE).astype(float)

    def null_loglike(self, n: np.ndarray, counts: np.ndarray) -> float:
        """Coin flips, and the overall shares of grades whichever way they point."""
        seen, sizes = self._zones @ counts.sum(axis=0), self._zones.sum(axis=1)
        return float(xlogy(seen, seen / sizes / seen.sum()).sum())

    @cached_property
    def _zones(self) -> np.ndarray:
        """Which grades lie in the same distance from the middle, the nearest first, shape (n_zones, n_grades)."""
        n_grades = len(self.grades)
        far = np.abs(2 * np.arange(n_grades) - (n_grades - 1)) // 2
        return (far == np.arange((n_grades + 1) // 2)[:, None]).astype(float)

    def _given(self, judge_index: np.ndarray, outcome: np.ndarray, n_judges: int) -> np.ndarray:
        """Which grades, as far as their distance from the middle, each judge gave, shape (n_zones, n_judges)."""
        zones = self._zones @ self.counts(outcome).T
        return np.array([np.bincount(judge_index, some, n_judges) > 0 for some in zones])


@dataclass(frozen=True)
class Ordinal(_Graded):
    """Grades of a scale: the log-odds plus logistic noise, cut at thresholds that lie symmetrically around zero.

    In ``logit P(better than a cut) = eta - cut`` the cuts are zero, if no grade lies in the middle, and plus and minus every
    threshold. A grade between cuts ``a < b`` has the probability ``P(above a) P(below b) (1 - exp(a - b))``: that of two binary
    verdicts, and of its width. Grades that nobody gave have none, and are part of the next.
    """

    name = "ordinal"
    is_natural = False

    @cached_property
    def parameters(self) -> tuple[TermKind, ...]:
        """Thresholds from the middle outwards; of an even number of grades zero is one more cut."""
        return tuple(
            TermKind(f"threshold{i}", "thresholds", _THRESHOLDS, moves=i, null=None)
            for i in range(1, (len(self.grades) - 1) // 2 + 1)
        )

    def terms(self, scope: str, judge_index: np.ndarray, outcome: np.ndarray, n_judges: int) -> list[Term]:
        """Thresholds; those of a judge around grades it never gave are equal, or out of reach, and no parameters."""
        given = self._given(judge_index, outcome, n_judges)
        if scope == "common":
            given[:] = True
        held: list[dict[int, float]] = [{} for _ in self.parameters]
        for k in range(n_judges):
            used = np.flatnonzero(given[:, k])
            for i in range(1, len(given)):
                # The threshold lies above zone i - 1: it counts if that one was given, and a further one.
                if i - 1 not in used:
                    held[i - 1][k] = _SAME
                elif i > used[-1]:
                    held[i - 1][k] = _BEYOND
        return [
            Term(kind.name, scope, kind, tuple(some), tuple(some.values()))
            for kind, some in zip(self.parameters, held, strict=True)
        ]

    def derivatives(
        self, eta: np.ndarray, own: np.ndarray | None, n: np.ndarray, y: np.ndarray, counts: np.ndarray
    ) -> Derivatives:
        """Sums over the cuts, each a binary verdict of those next to it, and over the widths of grades; concave.

        Examples
        --------
        >>> one, three = np.ones(1), ORDINAL.check(np.array([0.0, 0.5, 1.0]))
        >>> tie = three.derivatives(0 * one, one[None], one, one / 2, three.counts(one / 2))
        >>> bool(np.isclose(np.exp(-tie.value), np.tanh(0.5))), tie.slope
        (True, array([0.]))
        """
        assert own is not None
        if eta.ndim > 1:
            # One after the other: the cuts of all members at once are more than fits in a cache.
            members = [self.derivatives(e, o, n, y, counts) for e, o in zip(eta, own, strict=True)]
            return Derivatives(*(np.stack(part) for part in zip(*members, strict=True)))
        given, p = np.ascontiguousarray(counts.T), len(self.parameters)
        threshold, is_same = _merged(own)
        cuts = bernoulli(self._from_cuts(eta, threshold), given[:-1] + given[1:], given[:-1])
        width, is_possible = self._widths(threshold, is_same)
        inner = self._zones[:-1] @ given
        # What the widths add, by themselves and, the inmost of an odd number being twice its threshold, by thresholds.
        lack = np.where(is_same, 0.0, 1.0 / np.expm1(width))
        by_width = np.eye(p) - np.eye(p, k=-1)
        by_width[0, 0] += len(self.grades) % 2
        bend = inner * lack * (1.0 + lack)
        # Every threshold is a cut above zero and its mirror image.
        high, low = slice(p - 1, None, -1), slice(-p, None)
        slope = cuts.slope[low] - cuts.slope[high] - by_width.T @ (inner * lack)
        cross = cuts.curvature[low] - cuts.curvature[high]
        curvature = np.zeros((p, p, len(eta)))
        for i in range(p):
            curvature[i, i] = cuts.curvature[low][i] + cuts.curvature[high][i] + by_width[i, i] ** 2 * bend[i]
            if i:
                curvature[i - 1, i - 1] += bend[i]
                curvature[i, i - 1] = curvature[i - 1, i] = -bend[i]
        _fold(is_same, slope, cross, curvature)
        value = cuts.value.sum() - np.sum(inner * self._log_widths(width, is_same))
        return Derivatives(
            value=float(value) if is_possible else np.inf,
            slope=cuts.slope.sum(axis=0),
            curvature=cuts.curvature.sum(axis=0),
            eta=eta,
            own_slope=slope,
            cross=cross,
            own_curvature=curvature,
            own=own,
        )

    def _from_cuts(self, eta: np.ndarray, threshold: np.ndarray) -> np.ndarray:
        """Log-odds of a verdict better than each cut, the highest first, shape (..., n_grades - 1, n_cells)."""
        eta = eta[..., None, :]
        middle = [] if len(self.grades) % 2 else [eta]
        return np.concatenate([eta - threshold[..., ::-1, :], *middle, eta + threshold], axis=-2)

    def _widths(self, threshold: np.ndarray, is_same: np.ndarray) -> tuple[np.ndarray, bool]:
        """Widths of the grades between thresholds, and whether all are widths."""
        width = np.diff(threshold, axis=-2, prepend=0.0)
        if len(self.grades) % 2:
            width[..., 0, :] *= 2.0
        is_possible = bool((is_same | (width > 0)).all())
        return np.where(is_same, 1.0, np.maximum(width, 1e-8)), is_possible

    @staticmethod
    def _log_widths(width: np.ndarray, is_same: np.ndarray) -> np.ndarray:
        """Logarithms of what the widths leave of the probabilities."""
        return np.where(is_same, _NO_WIDTH, np.log(-np.expm1(-width)))

    def loglike(
        self, eta: np.ndarray, own: np.ndarray | None, n: np.ndarray, y: np.ndarray, counts: np.ndarray
    ) -> np.ndarray:
        """Numbers of the grades times their log-probabilities."""
        return np.einsum("cg,...gc->...c", counts, self._log_probabilities(eta, _members_first(own)))

    def _log_probabilities(self, eta: np.ndarray, own: np.ndarray | None) -> np.ndarray:
        assert own is not None
        threshold, is_same = _merged(own)
        cuts = self._from_cuts(eta, threshold)
        end = np.zeros_like(cuts[..., :1, :])
        above, below = np.concatenate([log_expit(cuts), end], -2), np.concatenate([end, log_expit(-cuts)], -2)
        widths = self._log_widths(self._widths(threshold, is_same)[0], is_same)
        return above + below + np.einsum("zg,...zc->...gc", self._zones[:-1], widths)

    def even_odds(self, n: np.ndarray) -> Derivatives:
        """Every verdict next to two cuts, a quarter of it at each."""
        nothing, p = np.zeros(len(n)), len(self.parameters)
        none, most = np.zeros((p, len(n))), np.eye(p)[:, :, None] * (n / 2.0)
        return Derivatives(0.0, nothing, n / 2.0, nothing, none, none, most, none)

    def probabilities(self, eta: np.ndarray, own: np.ndarray | None) -> np.ndarray:
        """Of every grade, best first."""
        chances = np.exp(self._log_probabilities(eta, own))
        return chances / chances.sum(axis=-2, keepdims=True)

    def start(self, n: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Thresholds that give the overall shares of grades among equals."""
        seen = np.maximum(self._zones @ counts.sum(axis=0), 1e-3)
        beyond = np.cumsum(seen[::-1])[-2::-1] / seen.sum()
        return np.log((2.0 - beyond) / beyond)


def _members_first(own: np.ndarray | None) -> np.ndarray:
    """Own predictors (p, ..., n_cells) with the axes of a stack in front."""
    assert own is not None
    return np.moveaxis(own, 0, -2)


def _merged(own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Thresholds (..., p, n_cells) with those that are the next lower one, or zero, filled in, and which these are.

    Those that all cells share are one column.
    """
    own = own[..., :1] if (own == own[..., :1]).all() else own
    is_same = own <= _SAME
    if not is_same.any():
        return own, is_same
    threshold = own.copy()
    for i in range(own.shape[-2]):
        lower = threshold[..., i - 1, :] if i else 0.0
        threshold[..., i, :] = np.where(is_same[..., i, :], lower, own[..., i, :])
    return threshold, is_same


def _fold(is_same: np.ndarray, slope: np.ndarray, cross: np.ndarray, curvature: np.ndarray) -> None:
    """Hand the derivatives by thresholds that are the next lower one on to that, in place."""
    for i in reversed(range(len(is_same))):
        if not (same := is_same[i]).any():
            continue
        for values in (slope, cross, curvature, curvature.swapaxes(0, 1)):
            if i:
                values[i - 1] += same * values[i]
            values[i] *= ~same


@dataclass(frozen=True)
class Adjacent(_Graded):
    """Grades whose log-odds against the next one rise by the same part of the log-odds: adjacent-category logits.

    A grade is as likely as ``exp((worth - 1/2) eta + own)``, so that the ends of the scale are at odds of ``eta``; its own
    propensity is that of its mirror image, and zero at the ends. With three grades this is Davidson's model. Grades that nobody
    gave are impossible.
    """

    name = "adjacent"
    is_natural = True

    @cached_property
    def parameters(self) -> tuple[TermKind, ...]:
        """Log propensities of the grades within the scale, from the middle outwards."""
        return tuple(
            TermKind(f"grade{i}", "grades", _PROPENSITIES, moves=i, null=None, absent=_SAME)
            for i in range(1, (len(self.grades) - 1) // 2 + 1)
        )

    def terms(self, scope: str, judge_index: np.ndarray, outcome: np.ndarray, n_judges: int) -> list[Term]:
        """Propensities; that of a grade that a judge never gave is minus infinity, and no parameter."""
        given = self._given(judge_index, outcome, n_judges)
        held = [np.flatnonzero(~some).tolist() if scope == "judge" else [] for some in given[:-1]]
        return [Term(kind.name, scope, kind, tuple(some)) for kind, some in zip(self.parameters, held, strict=True)]

    def derivatives(
        self, eta: np.ndarray, own: np.ndarray | None, n: np.ndarray, y: np.ndarray, counts: np.ndarray
    ) -> Derivatives:
        """Multinomial log-likelihood in natural parameters."""
        weights = self._log_weights(eta, own)
        log_total = logsumexp(weights, axis=-2, keepdims=True)
        chances, inner, given = np.exp(weights - log_total), self._zones[:-1], counts.T
        worth = np.array(self.grades) - 0.5
        mean, own_mean = np.tensordot(worth, np.moveaxis(chances, -2, 0), 1), inner @ chances
        away = worth[:, None] - mean[..., None, :]
        own_curvature = -n * own_mean[..., :, None, :] * own_mean[..., None, :, :]
        for i in range(len(inner)):
            own_curvature[..., i, i, :] += n * own_mean[..., i, :]
        return Derivatives(
            value=np.asarray(_total(log_total - weights, given)).sum(axis=-1)[()],
            slope=n * mean - worth @ given,
            curvature=n * np.sum(chances * away**2, axis=-2),
            eta=eta,
            own_slope=n * own_mean - inner @ given,
            cross=n * (inner @ (chances * away)),
            own_curvature=own_curvature,
            own=own,
        )

    def _log_weights(self, eta: np.ndarray, own: np.ndarray | None) -> np.ndarray:
        assert own is not None
        return (np.array(self.grades) - 0.5)[:, None] * eta[..., None, :] + self._zones[:-1].T @ own

    def loglike(
        self, eta: np.ndarray, own: np.ndarray | None, n: np.ndarray, y: np.ndarray, counts: np.ndarray
    ) -> np.ndarray:
        """Numbers of the grades times their log-probabilities."""
        weights = self._log_weights(eta, _members_first(own))
        return np.einsum("cg,...gc->...c", counts, weights - logsumexp(weights, axis=-2, keepdims=True))

    def even_odds(self, n: np.ndarray) -> Derivatives:
        """A quarter of the comparisons for every predictor."""
        nothing, p = np.zeros(len(n)), len(self.parameters)
        none, most = np.zeros((p, len(n))), np.eye(p)[:, :, None] * (n / 4.0)
        return Derivatives(0.0, nothing, n / 4.0, nothing, none, none, most, none)

    def probabilities(self, eta: np.ndarray, own: np.ndarray | None) -> np.ndarray:
        """Of every grade, best first."""
        weights = self._log_weights(eta, own)
        chances = np.exp(weights - weights.max(axis=-2, keepdims=True))
        return chances / chances.sum(axis=-2, keepdims=True)

    def start(self, n: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Propensities that give the overall shares of grades among equals."""
        each = np.maximum(self._zones @ counts.sum(axis=0), 1e-3) / self._zones.sum(axis=1)
        return np.log(each[:-1] / each[-1])


BINARY, DAVIDSON, ORDINAL, ADJACENT = Binary(), Davidson(), Ordinal(), Adjacent()
# By the option ``ties``; ties that are dropped leave wins and losses.
RESPONSES: dict[str, Response] = {
    "half": BINARY,
    "drop": BINARY,
    "davidson": DAVIDSON,
    "ordinal": ORDINAL,
    "adjacent": ADJACENT,
}
# All terms that are declared: those with an option of their own, and the parameters of the responses.
KINDS = OPTIONS | {kind.name: kind for response in RESPONSES.values() for kind in response.parameters}


def bernoulli(eta: np.ndarray, n: np.ndarray, y: np.ndarray) -> Derivatives:
    """Negative Bernoulli log-likelihood of ``y`` successes out of ``n`` at log-odds ``eta`` (eq. ll), without constants.

    Exact in both tails: nothing is formed as a difference of numbers close to each other.

    Examples
    --------
    >>> far = bernoulli(np.array([40.0]), np.ones(1), np.ones(1))
    >>> bool(np.isclose(far.value, np.exp(-40.0))), bool(np.isclose(far.slope[0], -np.exp(-40.0)))
    (True, True)
    """
    size = np.abs(eta)
    small = np.exp(-size)
    rest = 1.0 / (1.0 + small)
    expected = n * small * rest
    # At positive log-odds losses are the rare outcome, at negative ones wins: count what is rare. By signs, which is quicker than
    # choosing, and exact where nothing rare was seen.
    sign, half = np.copysign(1.0, eta), 0.5 * n
    observed = half + sign * (half - y)
    value = _total(observed, size) + _total(np.log1p(small), n)
    return Derivatives(value, sign * (observed - expected), expected * rest, eta)


def _total(values: np.ndarray, weight: np.ndarray) -> Any:
    """Weighted sum over the cells: a number, or one for every member of a stack."""
    return float(np.dot(values, weight)) if values.ndim == 1 else np.einsum("...c,...c->...", values, weight)


def probability(eta: np.ndarray) -> np.ndarray:
    """Inverse logit, stable in both tails."""
    small = np.exp(-np.abs(eta))
    return np.where(eta > 0, 1.0, small) / (1.0 + small)


def verdict_slopes(
    response: Response, eta: np.ndarray, own: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities of the verdicts (n_verdicts, n_cells), and their derivatives by the log-odds and by the own predictors.

    The latter have shape (p, n_verdicts, n_cells). Those of a log-probability are minus those of the likelihood of one verdict.

    Examples
    --------
    >>> chances, slopes, _ = verdict_slopes(BINARY, np.zeros(1), None)
    >>> chances.ravel(), slopes.ravel()
    (array([0.5, 0.5]), array([ 0.25, -0.25]))
    """
    chances, one = response.probabilities(eta, own), np.ones(len(eta))
    by_odds, by_own = np.zeros_like(chances), np.zeros((len(response.parameters), *chances.shape))
    for v, outcome in enumerate(response.verdicts.values()):
        here = response.derivatives(eta, own, one, outcome * one, response.counts(outcome * one))
        by_odds[v] = -chances[v] * here.slope
        if here.own_slope is not None:
            by_own[:, v] = -chances[v] * here.own_slope
    return chances, by_odds, by_own


def typical(response: Response, here: Derivatives, n: np.ndarray) -> Derivatives:
    """The derivatives with expected curvatures.

    Log-likelihoods are linear in the numbers of verdicts, and so are their curvatures: those of the expected numbers are expected.
    """
    if response.is_natural:
        return here
    probabilities, outcomes = response.probabilities(here.eta, here.own), np.array(list(response.verdicts.values()))
    counts = n[:, None] * (probabilities.T @ response.counts(outcomes))
    there = response.derivatives(here.eta, here.own, n, n * (outcomes @ probabilities), counts)
    return here._replace(curvature=there.curvature, cross=there.cross, own_curvature=there.own_curvature)


def third_derivatives(response: Response, here: Derivatives, n: np.ndarray) -> np.ndarray:
    """Third derivatives of the negative log-likelihood by all predictors, shape (p, p, p, n_cells); of natural predictors only.

    They are the third cumulants of what the verdicts add to the predictors, which the slopes of single verdicts are around their
    mean.

    Examples
    --------
    >>> even = BINARY.derivatives(np.array([0.0, 1.0]), None, np.ones(2), np.ones(2), np.zeros((2, 0)))
    >>> third_derivatives(BINARY, even, np.ones(2)).ravel().round(4)
    array([ 0.    , -0.0909])
    """
    chances, one = response.probabilities(here.eta, here.own), np.ones(len(here.eta))
    result = np.zeros((1 + len(response.parameters),) * 3 + here.eta.shape)
    for chance, outcome in zip(chances, response.verdicts.values(), strict=True):
        single = response.derivatives(here.eta, here.own, one, outcome * one, response.counts(outcome * one))
        slope = -single.slope[None] if single.own_slope is None else -np.vstack([single.slope[None], single.own_slope])
        result += chance * slope[:, None, None] * slope[None, :, None] * slope[None, None]
    return n * result


def is_verdict(response: Response, outcome: np.ndarray) -> np.ndarray:
    """Which outcomes are verdicts of the response."""
    # Against one after the other: rows are many, verdicts few.
    return np.any([np.abs(outcome - worth) <= _ON_SCALE for worth in response.verdicts.values()], axis=0)


def is_soft(response: Response, outcome: np.ndarray) -> np.ndarray:
    """Which outcomes are none of the verdicts, nor half of two: of these the likelihood is a quasi-likelihood."""
    return ~is_verdict(response, outcome) & (outcome != 0.5)


def worth_variance(response: Response, probabilities: np.ndarray) -> np.ndarray:
    """Variance of what one verdict is worth to the first item, shape (n_cells,), without a difference of squares."""
    away = np.array(list(response.verdicts.values()))[:, None] - expected_outcome(response, probabilities)
    return np.einsum("vc,vc->c", probabilities, away**2)


def expected_outcome(response: Response, probabilities: np.ndarray) -> np.ndarray:
    """What the verdicts are worth to the first item on average, shape (n_cells,)."""
    return np.tensordot(list(response.verdicts.values()), probabilities, 1)


def draw_outcomes(response: Response, probabilities: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One verdict for every column of probabilities (n_verdicts, n_rows), shape (n_rows,)."""
    chosen = (rng.random(probabilities.shape[1]) >= np.cumsum(probabilities, axis=0)[:-1]).sum(axis=0)
    return np.array(list(response.verdicts.values()))[chosen]
