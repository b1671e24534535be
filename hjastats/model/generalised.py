"""Ties whose share depends on strength as it likes: generalised Davidson models, scaled and shifted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import entr, log_expit

from .response import Derivatives, Response, bernoulli, probability, total_of
from .terms import Term, TermKind
from .ties import DAVIDSON, refuse_soft

_SCALE = TermKind(
    "tie_scale",
    "tie scale",
    "tie scale (how fast ties get rare among unequal items; one in Davidson's model)",
    moves=2,
    null=1.0,
)
_MODE = TermKind("tie_mode", "tie mode", "tie mode (log-odds of a win at which ties are most likely)", moves=3)


@dataclass(frozen=True)
class GeneralisedDavidson:
    """A win, a tie or a loss; ties are most likely at some log-odds, and get rarer from there on at a rate that is estimated.

    Of decided verdicts the first item wins ``q = expit(eta)``. The odds of a tie against them are

        T = exp(tie) / 2 * (q / m)^(scale m) * ((1 - q) / (1 - m))^(scale (1 - m)),    m = expit(mode),

    largest at ``q = m``. A scale of one with mode zero is Davidson's model; with a scale of zero ties do not depend on strength.
    R's BradleyTerry2 reports ``tie - log(2)``, ``log(scale)`` and ``mode`` as tie.max, tie.scale and tie.mode.

    Attributes
    ----------
    name : str
    has_mode : bool
        Whether the mode is estimated, or zero.
    """

    name: str
    has_mode: bool

    is_natural = False
    # None is known of ties that get rarer at a rate of their own.
    bend = None
    never = DAVIDSON.never
    verdicts = DAVIDSON.verdicts

    @cached_property
    def parameters(self) -> tuple[TermKind, ...]:
        """Propensity, scale, and mode."""
        return (*DAVIDSON.parameters, _SCALE, *([_MODE] if self.has_mode else []))

    def check(self, outcome: np.ndarray) -> Response:
        """Refuse anything between a win, a tie and a loss.

        Raises
        ------
        ComparisonError
        """
        refuse_soft(self.name, outcome)
        return self

    def terms(self, scope: str, judge_index: np.ndarray, outcome: np.ndarray, n_judges: int) -> list[Term]:
        """The tie propensity as in Davidson's model; scale and mode are the same for all judges."""
        others = [Term(kind.name, "common", kind) for kind in self.parameters[1:]]
        return [*DAVIDSON.terms(scope, judge_index, outcome, n_judges), *others]

    def counts(self, outcome: np.ndarray) -> np.ndarray:
        """Ties."""
        return DAVIDSON.counts(outcome)

    def _split(self, eta: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, ...]:
        """Log-odds of a tie, what the scale multiplies in it, the scale, and the mode, each of shape (..., n_cells)."""
        tau, scale = own[..., 0, :], own[..., 1, :]
        mode = own[..., 2, :] if self.has_mode else np.zeros_like(tau)
        middle = probability(mode)
        away = middle * log_expit(eta) + (1 - middle) * log_expit(-eta) + entr(middle) + entr(1 - middle)
        return tau - np.log(2.0) + scale * away, away, scale, mode

    def derivatives(
        self, eta: np.ndarray, own: np.ndarray | None, n: np.ndarray, y: np.ndarray, counts: np.ndarray
    ) -> Derivatives:
        """Those of who wins, if anybody, and of whether there is a tie, whose log-odds bend with the predictors.

        Examples
        --------
        >>> one, own = np.ones(1), np.array([[0.0], [1.0]])
        >>> even = SCALED.derivatives(0 * one, own, 3 * one, 1.5 * one, one[:, None])
        >>> bool(np.isclose(even.value, 3 * np.log(3))), even.slope
        (True, array([0.]))
        """
        assert own is not None
        ties = counts[..., 0]
        odds, away, scale, mode = self._split(eta, own)
        middle, q = probability(mode), probability(eta)
        decided, tied = bernoulli(eta, n - ties, y - 0.5 * ties), bernoulli(odds, n, ties)
        one, none = np.ones_like(odds), np.zeros_like(odds)
        p, by_mode = 1 + len(self.parameters), middle * (1 - middle)
        # By the log-odds of a win, then tie, scale and mode.
        first = np.stack([scale * (middle - q), one, away, scale * by_mode * (eta - mode)][:p])
        second = np.stack([np.stack([none] * p)] * p)
        second[0, 0] = -scale * q * (1 - q)
        second[0, 2] = second[2, 0] = middle - q
        if self.has_mode:
            second[0, 3] = second[3, 0] = scale * by_mode
            second[2, 3] = second[3, 2] = by_mode * (eta - mode)
            second[3, 3] = scale * by_mode * ((1 - 2 * middle) * (eta - mode) - 1)
        slope, curvature = tied.slope * first, tied.curvature * first[:, None] * first + tied.slope * second
        value = total_of(-log_expit(-odds), n) - total_of(odds, ties) + decided.value
        return Derivatives(
            value=value,
            slope=decided.slope + slope[0],
            curvature=decided.curvature + curvature[0, 0],
            eta=eta,
            own_slope=np.moveaxis(slope[1:], 0, -2),
            cross=np.moveaxis(curvature[0, 1:], 0, -2),
            own_curvature=np.moveaxis(curvature[1:, 1:], (0, 1), (-3, -2)),
            own=own,
        )

    def third_derivatives(self, here: Derivatives, n: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Nobody needs them without a bound."""
        raise NotImplementedError

    def loglike(
        self, eta: np.ndarray, own: np.ndarray | None, n: np.ndarray, y: np.ndarray, counts: np.ndarray
    ) -> np.ndarray:
        """Wins, ties and losses times their log-probabilities."""
        assert own is not None
        ties = counts[:, 0]
        odds, wins = self._split(eta, np.moveaxis(own, 0, -2))[0], y - 0.5 * ties
        return ties * odds + n * log_expit(-odds) + wins * log_expit(eta) + (n - ties - wins) * log_expit(-eta)

    def even_odds(self, n: np.ndarray) -> Derivatives:
        """A quarter of the comparisons for every predictor."""
        nothing, p = np.zeros(len(n)), len(self.parameters)
        none, most = np.zeros((p, len(n))), np.eye(p)[:, :, None] * (n / 4.0)
        return Derivatives(0.0, nothing, n / 4.0, nothing, none, none, most, none)

    def probabilities(self, eta: np.ndarray, own: np.ndarray | None) -> np.ndarray:
        """Of a win of the first item, a tie, and a win of the second."""
        assert own is not None
        odds = self._split(eta, own)[0]
        is_decided = probability(-odds)
        return np.stack([is_decided * probability(eta), probability(odds), is_decided * probability(-eta)], axis=-2)

    def departures(self, eta: np.ndarray, own: np.ndarray | None) -> dict[str, np.ndarray]:
        """None: scale and mode are parameters."""
        return {}

    def null_loglike(self, n: np.ndarray, counts: np.ndarray) -> float:
        """Coin flips, and the overall share of ties."""
        return DAVIDSON.null_loglike(n, counts)

    def start(self, n: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Davidson's model with the overall share of ties among equals."""
        return np.array([*DAVIDSON.start(n, counts), 1.0, 0.0])[: len(self.parameters)]


SCALED, SHIFTED = GeneralisedDavidson("davidson-scaled", False), GeneralisedDavidson("davidson-shifted", True)
