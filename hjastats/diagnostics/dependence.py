"""Whether verdicts on one prompt hang together, and what that does to standard errors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from .. import limits
from ..fitted import CovarianceChoice, Fit, Observations
from ..inference.clusters import Clusters
from ..inference.covariances import clustered

# Kinds of parameters whose errors are compared.
KINDS = ("mu", "beta", "B", "gamma", "position")


@dataclass(frozen=True)
class Dependence:
    """Standard errors clustered by prompt, as multiples of those of the model.

    Attributes
    ----------
    column : str
        That names the prompts; ``"judge"`` for judges.
    n_prompts : int
    noun : str
        What these are called.
    ratios : dict of str to ndarray
        For each kind of parameter that the model has.
    """

    column: str
    n_prompts: int
    noun: str
    ratios: dict[str, np.ndarray]

    @property
    def largest(self) -> float:
        """The largest ratio of any parameter."""
        return max(float(np.max(values)) for values in self.ratios.values())

    @property
    def by_chance(self) -> float:
        """What the largest ratio exceeds in at most 5% of data whose verdicts are independent."""
        n, g = sum(map(len, self.ratios.values())), self.n_prompts - 1
        # The correction for few clusters is part of the ratio.
        return float((g + 1.0) / g * np.sqrt(stats.chi2.isf(0.05 / n, g) / g))


def dependence(fit: Fit, observed: Observations, clusters: Clusters | None = None) -> Dependence | None:
    """What clustering by the prompts of the data does; None where no prompt repeats, or there is nothing to compare.

    Other clusters may be named. Judges with verdicts on a single prompt are left out: their own parameters have no clustered
    variance.
    """
    data = observed.data
    clusters = clusters or Clusters.of_prompts(data)
    if clusters is None and not fit.layout.has_own_parameters and data.n_judges >= limits.FEW_CLUSTERS:
        # Of judges that the model takes to be alike, each may still have a taste.
        clusters = Clusters.of("judge", data)
    if clusters is None or clusters.name is None or not clusters.has_repeats:
        return None
    if clusters.has_gaps(data):
        return None
    if fit.layout.n_free > limits.LARGEST_SANDWICH or not fit.model_covariance.is_finite:
        return None
    # Each as it is by default: the model's by the expected information, robust ones by the observed.
    plain, robust = fit.with_information("expected"), fit.with_information("observed")
    together = replace(robust, choice=CovarianceChoice(covariance=clustered(robust, observed, clusters)))
    in_prompts, ratios = clusters.per_judge(data), {}
    for kind in KINDS:
        where = fit.layout.slices.get(kind)
        if where is None:
            continue
        positions = np.arange(where.start, where.stop)
        if len(positions) == data.n_judges and kind not in ("mu", "beta", "B"):
            positions = positions[in_prompts > 1]
        errors, model = together.errors(positions), plain.errors(positions)
        known = np.isfinite(errors) & (model > 0) & ~fit.is_separated[positions]
        if known.any():
            ratios[kind] = errors[known] / model[known]
    return Dependence(clusters.name, clusters.n, clusters.noun, ratios) if ratios else None
