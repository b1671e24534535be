"""Responses: which verdicts there are, and how likely each is given the log-odds and the response's own parameters.

A response is one class with the methods of :class:`Response`; ``RESPONSES`` names them as the option ``ties`` does. All numbers are
arrays over cells; likelihoods and predictors also take stacks, one more axis in front.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.special import logsumexp, xlogy

from ..errors import ComparisonError, Hint, IdentificationError
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

    def check(self, outcome: np.ndarray) -> None:
        """Refuse outcomes that are no such verdicts."""

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
        """Log-likelihood of every cell, shape (n_cells,)."""

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
    parameters: tuple[TermKind, ...] = ()
    verdicts = {"first": 1.0, "second": 0.0}  # noqa: RUF012

    def check(self, outcome: np.ndarray) -> None:
        """Take any outcome between 0 and 1."""

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

    def check(self, outcome: np.ndarray) -> None:
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
                ".",
            )

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


BINARY, DAVIDSON = Binary(), Davidson()
# By the option ``ties``; ties that are dropped leave wins and losses.
RESPONSES: dict[str, Response] = {"half": BINARY, "drop": BINARY, "davidson": DAVIDSON}
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


def is_soft(response: Response, outcome: np.ndarray) -> np.ndarray:
    """Which outcomes are none of the verdicts, nor half of two: of these the likelihood is a quasi-likelihood."""
    return ~np.isin(outcome, [*response.verdicts.values(), 0.5])


def expected_outcome(response: Response, probabilities: np.ndarray) -> np.ndarray:
    """What the verdicts are worth to the first item on average, shape (n_cells,)."""
    return np.tensordot(list(response.verdicts.values()), probabilities, 1)


def draw_outcomes(response: Response, probabilities: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One verdict for every column of probabilities (n_verdicts, n_rows), shape (n_rows,)."""
    chosen = (rng.random(probabilities.shape[1]) >= np.cumsum(probabilities, axis=0)[:-1]).sum(axis=0)
    return np.array(list(response.verdicts.values()))[chosen]
