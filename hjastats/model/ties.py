"""Responses of wins and losses: ties as half of both, and ties as an outcome of their own."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp, xlogy

from ..errors import ComparisonError, Hint, IdentificationError
from .response import Derivatives, Natural, Response, bernoulli, probability, total_of
from .terms import Term, TermKind


class Binary(Natural):
    """A win or a loss; a tie, or any other preference between them, is part of both."""

    name = "half"
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

    def departures(self, eta: np.ndarray, own: np.ndarray | None) -> dict[str, np.ndarray]:
        """None."""
        return {}

    def null_loglike(self, n: np.ndarray, counts: np.ndarray) -> float:
        """Coin flips."""
        return -float(np.log(2.0) * n.sum())

    def start(self, n: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Nothing to begin with."""
        return np.zeros(0)


def refuse_soft(name: str, outcome: np.ndarray) -> None:
    """Refuse anything between a win, a tie and a loss.

    Raises
    ------
    ComparisonError
    """
    if not np.isin(outcome, (1.0, 0.5, 0.0)).all():
        raise ComparisonError(
            Hint("ties", name),
            " needs wins, ties and losses (1, 0.5, 0); soft preferences need ",
            Hint("ties", "half"),
            ", grades of a scale ",
            Hint("ties", "ordinal"),
            ".",
        )


class Davidson(Natural):
    """A win, a tie or a loss, ``exp(eta / 2) : exp(tau) : exp(-eta / 2)`` (Davidson 1970); ``tau`` is the log tie propensity."""

    name = "davidson"
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
        refuse_soft(self.name, outcome)
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
        >>> even = Davidson().derivatives(0 * one, np.zeros((1, 1)), 3 * one, 1.5 * one, np.ones((1, 1)))
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
            total_of(np.log(total), n)
            + total_of(top - small, n - ties - rare)
            + total_of(top + small, rare)
            + total_of(top - tau, ties)
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

    def departures(self, eta: np.ndarray, own: np.ndarray | None) -> dict[str, np.ndarray]:
        """None that are tested here: generalised models have them as parameters."""
        return {}

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
