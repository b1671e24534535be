"""Everything that is known after a fit with random effects of items or of interactions, whose variances are estimated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pandas as pd
from scipy.special import ndtri

from .errors import IdentificationError, OptionError
from .fitted import CovarianceChoice, Fit
from .model.design import Coefficients, Design
from .model.layout import Layout
from .model.structures import ScoreStructure
from .solve.mixed import Mixed, Mixture
from .solve.penalties import Penalty
from .solve.precision import FreeCovariance, invert
from .solve.search import Search
from .solve.trust import Optimum


@dataclass(frozen=True)
class Drawn(Penalty):
    """A normal distribution of some of the effects, instead of a penalty with a weight of one's own."""

    kind: ClassVar[str] = "random effects"
    title: ClassVar[str] = "Integrated likelihood"
    has_likelihood: ClassVar[bool] = False

    @property
    def description(self) -> str:
        """How the standard errors came about."""
        return (
            "Random effects are integrated out (expectation propagation), their standard deviations under a weak prior; scores "
            "are means given the verdicts, standard errors those for known standard deviations."
        )

    def refit(self, design: Design, structure: ScoreStructure, near: Coefficients) -> Optimum | None:
        """Refuse to fit again without the distribution.

        Raises
        ------
        OptionError
        """
        raise OptionError(
            "resampling is not available with random effects: simulate from the fit and fit the model again."
        )


@dataclass(frozen=True, repr=False)
class MixedFit(Fit):
    """A fit whose scores are means given the verdicts.

    Attributes
    ----------
    mixture : Mixture
    effects : tuple of str
        What is random, in the order of the standard deviations.
    n_fixed : int
        Coefficients without a distribution.
    has_item_traits : bool
        Whether items are drawn around what their traits say.
    """

    mixture: Mixture = None  # type: ignore[assignment]
    effects: tuple[str, ...] = ()
    n_fixed: int = 0
    has_item_traits: bool = False

    @property
    def loglike(self) -> float:
        """Log-likelihood of the comparisons, integrated over the random effects."""
        return self.mixture.loglike

    @cached_property
    def df(self) -> float:
        """Number of coefficients without a distribution, and of standard deviations."""
        return float(self.n_fixed + len(self.effects))

    @cached_property
    def is_identified(self) -> bool:
        """Whether the data determine what has no distribution."""
        return self.model_covariance.is_identified

    @cached_property
    def model_covariance(self) -> FreeCovariance:
        """Covariance given the verdicts, standard deviations known."""
        return invert(self.mixture.information)

    def with_information(self, information: str) -> Fit:
        """The fit with the covariance of the model; there is but one information."""
        return replace(self, choice=CovarianceChoice())

    @property
    def _expected(self) -> Fit:
        return self

    def spread(self, alpha: float = 0.05) -> pd.DataFrame:
        """Standard deviations of the random effects with intervals, which are symmetric on the log scale."""
        error, half = self.mixture.log_sd_error, ndtri(1.0 - alpha / 2.0) * self.mixture.log_sd_error
        columns = {
            "estimate": self.mixture.sd,
            "std_err": self.mixture.sd * error,
            "ci_lower": self.mixture.sd * np.exp(-half),
            "ci_upper": self.mixture.sd * np.exp(half),
        }
        return pd.DataFrame(columns, pd.Index([f"sd[{name}]" for name in self.effects], name="effect"))


def assess_mixture(layout: Layout, design: Design, priors: dict[str, np.ndarray], start: Coefficients) -> MixedFit:
    """The fit with random effects of given precisions at a standard deviation of one.

    Raises
    ------
    IdentificationError
        Where nothing is left to have a distribution.
    """
    if empty := [name for name, prior in priors.items() if not np.abs(prior).max(initial=0.0) > 1e-12]:
        raise IdentificationError(f"random {empty[0]} have nothing left to be random: the traits say all there is.")
    mixed = Mixed(design, layout, list(priors.values()))
    found = mixed.fit(start)
    best = Optimum(found.at, -found.loglike, -found.loglike, 0.0, found.is_maximum, found.iterations, (-found.loglike,))
    search = Search(best, (best.value,), (1,), 0)
    return MixedFit(
        layout,
        design,
        search,
        mixed.tangent,
        None,
        "integrated",
        "observed",
        Drawn(),
        mixture=found,
        effects=tuple(priors),
        n_fixed=mixed.fixed.shape[1],
    )
