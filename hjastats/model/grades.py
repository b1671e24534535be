"""Responses of graded verdicts: cumulative and adjacent-category logits on a scale that reads the same from both sides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, cast

import numpy as np
from scipy.special import log_expit, logsumexp, xlogy

from .. import limits
from ..data.grades import ON_SCALE, points_of_scale
from ..errors import ComparisonError, Hint
from ..words import and_more, counted
from .response import Derivatives, Natural, Response, bernoulli, probability, third_powers, total_of
from .terms import Term, TermKind
from .ties import BINARY

# A threshold of a judge who never gave the grade below it is the next lower one, in a coefficient that is no parameter; one that
# nothing lies beyond is out of reach.
_SAME, _BEYOND = -50.0, 50.0
# Logarithm of the width of a grade that nobody gives, as small as the propensity of ties without any.
_NO_WIDTH = -50.0
# Below this width its logarithm goes on along its tangent, steeply: thresholds do not cross.
_NARROW = 1e-8
_THRESHOLDS = "thresholds (log-odds where grades change, on both sides of zero)"
_PROPENSITIES = "grades (log propensity of those within the scale, against its ends)"
_WORDS = {1.0: "first", 0.5: "tie", 0.0: "second"}


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
        return [float(grade) for grade in scale if np.abs(grade - np.array(self.grades)).min() > ON_SCALE]

    def check(self, outcome: np.ndarray) -> Response:
        """The grades of the coarsest scale of equal steps that the outcomes lie on, without those that nobody gave.

        Raises
        ------
        ComparisonError
            If there is no such scale, or only one step of it.

        Examples
        --------
        >>> Ordinal().check(np.array([0.0, 0.25, 1.0])).verdicts
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
        return (np.abs(np.asarray(outcome)[:, None] - np.array(self.grades)) <= ON_SCALE).astype(float)

    def departures(self, eta: np.ndarray, own: np.ndarray | None) -> dict[str, np.ndarray]:
        """How log-probabilities of grades move if the two sides differ in a step of the scale, or steps in their steepness."""
        sides = self._one_sided(eta, own)
        return {"sides": sides, "steps": eta * sides}

    def _one_sided(self, eta: np.ndarray, own: np.ndarray | None) -> np.ndarray:
        """Derivatives of log-probabilities by a push at one step and its mirror image, shape (m, n_grades, n_cells)."""
        raise NotImplementedError

    def null_loglike(self, n: np.ndarray, counts: np.ndarray) -> float:
        """Coin flips, and the overall shares of grades whichever way they point."""
        seen, sizes = self._zones @ counts.sum(axis=0), self._zones.sum(axis=1)
        return float(xlogy(seen, seen / sizes / seen.sum()).sum())

    @cached_property
    def _zones(self) -> np.ndarray:
        """Which grades lie in the same distance from the middle, the nearest first, shape (n_zones, n_grades)."""
        return _by_distance(len(self.grades))

    def _given(self, judge_index: np.ndarray, outcome: np.ndarray, n_judges: int) -> np.ndarray:
        """Which grades, as far as their distance from the middle, each judge gave, shape (n_zones, n_judges)."""
        zones = self._zones @ self.counts(outcome).T
        return np.array([np.bincount(judge_index, some, n_judges) > 0 for some in zones])


def _by_distance(n: int) -> np.ndarray:
    """Which of so many in a row lie in the same distance from the middle, the nearest first."""
    far = np.abs(2 * np.arange(n) - (n - 1)) // 2
    return (far == np.arange((n + 1) // 2)[:, None]).astype(float)


@dataclass(frozen=True)
class Ordinal(_Graded):
    """Grades of a scale: the log-odds plus logistic noise, cut at thresholds that lie symmetrically around zero.

    In ``logit P(better than a cut) = eta - cut`` the cuts are zero, if no grade lies in the middle, and plus and minus every
    threshold. A grade between cuts ``a < b`` has the probability ``P(above a) P(below b) (1 - exp(a - b))``: that of two binary
    verdicts, and of its width. Grades that nobody gave have none, and are part of the next.
    """

    name = "ordinal"
    is_natural = False
    # By the log-odds, a verdict is two binary ones; widths, which thresholds alone move, have no such bound.
    bend = 1.0

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
        >>> one, three = np.ones(1), Ordinal().check(np.array([0.0, 0.5, 1.0]))
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
        width, short = self._widths(threshold, is_same)
        inner = self._zones[:-1] @ given
        # What the widths add, by themselves and, the inmost of an odd number being twice its threshold, by thresholds.
        lack = np.where(is_same, 0.0, 1.0 / np.expm1(width))
        by_width = self._by_width
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
        value = cuts.value.sum() - np.sum(inner * self._log_widths(threshold, is_same))
        return Derivatives(
            value=np.inf if short.any() else float(value),
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

    @cached_property
    def _by_width(self) -> np.ndarray:
        """How the widths of the grades between thresholds move with these, shape (p, p)."""
        result = np.eye(p := len(self.parameters)) - np.eye(p, k=-1)
        result[0, 0] += len(self.grades) % 2
        return result

    @cached_property
    def _by_cut(self) -> np.ndarray:
        """How the log-odds at the cuts move with all predictors, shape (n_grades - 1, 1 + p)."""
        eta, *thresholds = np.eye(1 + len(self.parameters))
        return self._from_cuts(eta, np.array(thresholds))

    def _widths(self, threshold: np.ndarray, is_same: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Widths of the grades between thresholds, at least narrow ones, and by how much, in these, they fall short of them."""
        width = np.where(is_same, 1.0, np.diff(threshold, axis=-2, prepend=0.0))
        if len(self.grades) % 2:
            width[..., 0, :] *= 2.0
        return np.maximum(width, _NARROW), np.minimum(width / _NARROW - 1.0, 0.0)

    def _log_widths(self, threshold: np.ndarray, is_same: np.ndarray) -> np.ndarray:
        """Logarithms of what the widths leave of the probabilities; concave, and steep where thresholds cross."""
        width, short = self._widths(threshold, is_same)
        return np.where(is_same, _NO_WIDTH, np.log(-np.expm1(-width)) + short)

    def third_derivatives(self, here: Derivatives, n: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Sums over cuts and widths, each a function of one sum of predictors; of thresholds that differ."""
        assert here.own is not None
        given, (threshold, is_same) = counts.T, _merged(here.own)
        above = probability(self._from_cuts(here.eta, threshold))
        lack = 1.0 / np.expm1(self._widths(threshold, is_same)[0])
        of_cuts = (given[:-1] + given[1:]) * above * (1.0 - above) * (1.0 - 2.0 * above)
        of_widths = -(self._zones[:-1] @ given) * lack * (1.0 + lack) * (1.0 + 2.0 * lack)
        along = np.vstack([self._by_cut, np.pad(self._by_width, ((0, 0), (1, 0)))])
        return third_powers(along.T[:, :, None], np.concatenate([of_cuts, of_widths]))

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
        widths = self._log_widths(threshold, is_same)
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

    def _one_sided(self, eta: np.ndarray, own: np.ndarray | None) -> np.ndarray:
        """Of a cut and its mirror image: it hands verdicts from the grade below to that above, at the density there."""
        assert own is not None
        above = probability(self._from_cuts(eta, _merged(own)[0]))
        flow = _by_distance(len(self.grades) - 1)[:, :, None] * (above * (1.0 - above))
        lost = np.diff(np.pad(flow, ((0, 0), (1, 1), (0, 0))), axis=1)
        return lost / np.maximum(self.probabilities(eta, own), 1e-300)

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
class Adjacent(_Graded, Natural):
    """Grades whose log-odds against the next one rise by the same part of the log-odds: adjacent-category logits.

    A grade is as likely as ``exp((worth - 1/2) eta + own)``, so that the ends of the scale are at odds of ``eta``; its own
    propensity is that of its mirror image, and zero at the ends. With three grades this is Davidson's model. Grades that nobody
    gave are impossible.
    """

    name = "adjacent"

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
            value=np.asarray(total_of(log_total - weights, given)).sum(axis=-1)[()],
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

    def _one_sided(self, eta: np.ndarray, own: np.ndarray | None) -> np.ndarray:
        """Of the propensity of a grade, against that of its mirror image."""
        signed = self._zones * np.sign(np.array(self.grades) - 0.5)
        signed = signed[signed.any(axis=1)]
        return signed[:, :, None] - (signed @ self.probabilities(eta, own))[:, None]

    def start(self, n: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Propensities that give the overall shares of grades among equals."""
        each = np.maximum(self._zones @ counts.sum(axis=0), 1e-3) / self._zones.sum(axis=1)
        return np.log(each[:-1] / each[-1])
