"""What a response is, and what follows for any: the chances of its verdicts, expected curvatures, draws.

All numbers are arrays over cells; likelihoods and predictors also take stacks, one more axis in front.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..data.grades import ON_SCALE
from .terms import Term, TermKind


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
    def bend(self) -> float | None:
        """Bound of third derivatives by second ones along predictors that effects may move, for a unit of them.

        None where there is none: judges cannot be a sample then.
        """

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

    def third_derivatives(self, here: Derivatives, n: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Of the negative log-likelihood by all predictors, shape (p, p, p, n_cells)."""

    def loglike(
        self, eta: np.ndarray, own: np.ndarray | None, n: np.ndarray, y: np.ndarray, counts: np.ndarray
    ) -> np.ndarray:
        """Log-likelihood of every cell, shape (n_cells,); in a stack own predictors are (p, ..., n_cells)."""

    def even_odds(self, n: np.ndarray) -> Derivatives:
        """What comparisons would tell if all verdicts were open: curvatures at their largest."""

    def probabilities(self, eta: np.ndarray, own: np.ndarray | None) -> np.ndarray:
        """Probabilities of the verdicts, shape (n_verdicts, n_cells)."""

    def departures(self, eta: np.ndarray, own: np.ndarray | None) -> dict[str, np.ndarray]:
        """How log-probabilities move with what the response rules out, each (m, n_verdicts, n_cells), by what it is."""

    def null_loglike(self, n: np.ndarray, counts: np.ndarray) -> float:
        """Log-likelihood of coin flips, with the overall shares of what is no win or loss."""

    def start(self, n: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Values of the own predictors to begin with, shape (p,)."""

    def __hash__(self) -> int:
        """What follows for a response is remembered."""


def bernoulli(eta: np.ndarray, n: np.ndarray, y: np.ndarray) -> Derivatives:
    """Negative Bernoulli log-likelihood of ``y`` successes out of ``n`` at log-odds ``eta`` (eq. ll), without constants.

    Exact in both tails: nothing is formed as a difference of numbers close to each other.

    Examples
    --------
    >>> far = bernoulli(np.array([40.0]), np.ones(1), np.ones(1))
    >>> bool(np.isclose(far.value, np.exp(-40.0))), bool(np.isclose(far.slope[0], -np.exp(-40.0)))
    (True, True)
    """
    # Most of the time goes into memory for what is in between: it is used again.
    size = np.abs(eta)
    small = np.negative(size)
    np.exp(small, out=small)
    rest = 1.0 + small
    np.reciprocal(rest, out=rest)
    expected = n * small
    expected *= rest
    # At positive log-odds losses are the rare outcome, at negative ones wins: count what is rare. By signs, which is quicker than
    # choosing, and exact where nothing rare was seen.
    sign, half = np.copysign(1.0, eta), 0.5 * n
    observed = sign * (half - y)
    observed += half
    value = total_of(observed, size) + total_of(np.log1p(small, out=small), n)
    observed -= expected
    observed *= sign
    expected *= rest
    return Derivatives(value, observed, expected, eta)


def total_of(values: np.ndarray, weight: np.ndarray) -> Any:
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
    >>> from hjastats.model.responses import BINARY
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


class Natural:
    """What holds of all responses whose predictors are natural parameters."""

    is_natural = True

    @property
    def bend(self: Response) -> float:
        """The widest distance between what two verdicts add: third central moments are at most that times variances.

        Examples
        --------
        >>> from hjastats.model.responses import BINARY
        >>> BINARY.bend
        1.0
        """
        told = statistics(self)
        return float(np.sqrt(np.square(told[:, None] - told).sum(axis=2).max()))

    def third_derivatives(self: Response, here: Derivatives, n: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Third cumulants of what the verdicts add to the predictors.

        Examples
        --------
        >>> from hjastats.model.responses import BINARY
        >>> none = np.zeros((2, 0))
        >>> even = BINARY.derivatives(np.array([0.0, 1.0]), None, np.ones(2), np.ones(2), none)
        >>> BINARY.third_derivatives(even, np.ones(2), none).ravel().round(4)
        array([ 0.    , -0.0909])
        """
        chances, told = self.probabilities(here.eta, here.own), statistics(self)
        away = told.T[:, :, None] - (told.T @ chances)[:, None]
        return third_powers(away, n * chances)


def third_powers(directions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sums of threefold products of directions (p, m, n_cells) with some weights (m, n_cells), shape (p, p, p, n_cells)."""
    result = np.zeros((len(directions),) * 3 + weights.shape[1:])
    for v, weight in enumerate(weights):
        own = directions[:, v]
        result += weight * own[:, None, None] * own[None, :, None] * own[None, None]
    return result


@lru_cache(maxsize=32)
def statistics(response: Response) -> np.ndarray:
    """What each verdict adds to the predictors, up to what all add, shape (n_verdicts, 1 + p); of natural predictors only.

    Examples
    --------
    >>> from hjastats.model.responses import BINARY, DAVIDSON
    >>> statistics(BINARY).ravel(), statistics(DAVIDSON)[:, 1].round(2)
    (array([ 0.5, -0.5]), array([-0.33,  0.67, -0.33]))
    """
    even, one, own = np.zeros(1), np.ones(1), np.zeros((len(response.parameters), 1))
    rows = []
    for outcome in response.verdicts.values():
        single = response.derivatives(even, own, one, outcome * one, response.counts(outcome * one))
        rows.append(np.concatenate([single.slope, *([] if single.own_slope is None else single.own_slope)]))
    result = -np.array(rows)
    return result - result.mean(axis=0)


def numbers_of_verdicts(response: Response, n: np.ndarray, y: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """How many of each verdict cells have, shape (n_verdicts, n_cells): what is counted of a cell is a sum over them.

    Examples
    --------
    >>> from hjastats.model.responses import DAVIDSON
    >>> numbers_of_verdicts(DAVIDSON, np.array([6.0]), np.array([4.0]), np.array([[2.0]])).ravel().round(9)
    array([3., 2., 1.])
    """
    worth = np.array(list(response.verdicts.values()))
    told = np.vstack([np.ones_like(worth), worth, response.counts(worth).T])
    return np.linalg.pinv(told) @ np.vstack([n, y, counts.T])


def is_verdict(response: Response, outcome: np.ndarray) -> np.ndarray:
    """Which outcomes are verdicts of the response."""
    # Against one after the other: rows are many, verdicts few.
    return np.any([np.abs(outcome - worth) <= ON_SCALE for worth in response.verdicts.values()], axis=0)


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
