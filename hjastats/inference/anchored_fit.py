"""Anchored scores as a fit of the target's verdicts, so that whatever takes a fit takes them."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import numpy as np

from ..fitted import CovarianceChoice, Fit
from ..model.likelihood import evaluate
from ..model.tangent import in_centred_basis
from ..solve.penalties import Anchoring
from ..solve.precision import FreeCovariance, information_at
from ..solve.trust import Optimum
from ..words import counted
from .anchor import Anchored

# Information about every coordinate that is added where verdicts leave some open: a standard deviation of 100.
BARELY = 1e-4


@dataclass(frozen=True, repr=False)
class AnchoredFit(Fit):
    """A pooled fit whose scores are anchored: their likelihood is not at its maximum, and has no information criteria.

    Attributes
    ----------
    anchor : Anchored
    posterior : FreeCovariance
        Of the free coordinates: what further verdicts of the target add to.
    """

    anchor: Anchored = None  # type: ignore[assignment]
    posterior: FreeCovariance = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        items = counted(len(self.layout.items), "item")
        return f"{self.name}: {counted(self.n_comparisons, 'verdict')} of the target about {items}"

    @property
    def name(self) -> str:
        """Short name of the model."""
        return f"anchored {super().name}"

    @property
    def model_covariance(self) -> FreeCovariance:
        """Covariance of the free coordinates; there is no other."""
        return self.posterior

    @property
    def n_worth(self) -> float:
        """Comparisons of the target alone that would give such errors."""
        return self.n_comparisons * self.anchor.gain

    @property
    def aic(self) -> float:
        """Not a number."""
        return math.nan

    @property
    def bic(self) -> float:
        """Not a number."""
        return math.nan


@dataclass(frozen=True)
class Direct:
    """A pooled fit in free coordinates, as normal evidence about them.

    Attributes
    ----------
    fit : Fit
    free : ndarray, shape (n_free,)
    covariance : ndarray, shape (n_free, n_free)
    source : Fit or None
        Another fit of the same verdicts, whose consensus are the scores.
    """

    fit: Fit
    free: np.ndarray
    covariance: np.ndarray
    source: Fit | None = None

    @classmethod
    def of(cls, fit: Fit) -> Direct:
        """The maximum with its covariance, or the quadratic of the likelihood at a ridge's mode if the fit has one."""
        if fit.penalty is None:
            return cls(fit, fit.params_free, fit.covariance.of(np.eye(fit.layout.n_free)))
        information = information_at(fit.design, fit.at, fit.tangent) + BARELY * np.eye(fit.layout.n_free)
        covariance = np.linalg.inv(information)
        return cls(fit, fit.params_free + covariance @ (fit.slope - BARELY * fit.params_free), covariance)

    @property
    def scored(self) -> Fit:
        """The fit whose consensus are the scores."""
        return self.fit if self.source is None else self.source

    @property
    def rows(self) -> np.ndarray:
        """Derivative of the scores by the free coordinates of that fit, shape (n_items, n_free)."""
        return self.scored.consensus_rows(np.eye(len(self.fit.layout.items)))

    @property
    def scores(self) -> np.ndarray:
        """Scores that sum to zero, shape (n_items,)."""
        return self.rows @ self.free if self.source is None else self.source.parts.mu

    @property
    def errors(self) -> np.ndarray:
        """Covariance of the scores, shape (n_items, n_items)."""
        return (
            self.rows @ self.covariance @ self.rows.T if self.source is None else self.source.covariance.of(self.rows)
        )

    def anchored(self, found: Anchored, told: str) -> AnchoredFit:
        """The fit with anchored scores; coefficients of terms move along as their covariance with the scores says."""
        fit = self.fit
        to_contrasts = in_centred_basis(fit.consensus_rows(np.eye(len(fit.layout.items))).T).T
        own = to_contrasts @ self.covariance @ to_contrasts.T
        along = np.linalg.solve(own, to_contrasts @ self.covariance).T
        free = self.free + along @ (in_centred_basis(found.scores[None])[0] - to_contrasts @ self.free)
        change = in_centred_basis(in_centred_basis(found.covariance).T) - own
        covariance = self.covariance + along @ change @ along.T
        information = np.linalg.inv(covariance)
        posterior = FreeCovariance(covariance, information, float(np.linalg.cond(covariance, 1)))
        at = fit.layout.from_free(free, fit.tangent)
        value = evaluate(fit.design, at).value
        best = Optimum(at, value, value, 0.0, True, fit.optimum.iterations, (value,))
        known = {field.name: getattr(fit, field.name) for field in fields(Fit)} | {
            "search": replace(fit.search, best=best),
            "separation": None,
            "method": Anchoring.kind,
            "penalty": Anchoring(told=told),
            "choice": CovarianceChoice(Anchoring.kind, told),
        }
        return AnchoredFit(**known, anchor=found, posterior=posterior)
