"""How far off estimates are on average: many judges with few verdicts each, all with parameters of their own, push scores apart."""

from __future__ import annotations

import numpy as np

from .. import limits
from ..fitted import Fit
from ..solve.firth import first_order_bias
from ..solve.ridge import NO_RIDGE

# Judges per verdict of a judge from which on their own parameters may bias the consensus.
CROWD = 0.1


def may_be_biased(fit: Fit) -> bool:
    """Whether judges are so many, with so few verdicts each, that it is worth a look; estimates without bias need none."""
    design, penalty = fit.design, fit.penalty
    is_crowd = fit.layout.structure.has_sensitivities and design.n_judges**2 >= CROWD * fit.n_comparisons
    is_estimate = fit.converged and fit.covariance.is_finite and (penalty is None or penalty.has_likelihood)
    return is_crowd and is_estimate and not design.response.parameters


def bias_of_largest_difference(fit: Fit) -> tuple[float, float] | None:
    """Bias to first order of the difference between the first item and the last, and the same in standard errors.

    None for panels so large that it would take longer than the fit.
    """
    design, n_free = fit.design, fit.layout.n_free
    if n_free > limits.MANY_FREE or len(design.n) * n_free > limits.ENTRIES_AT_ONCE:
        return None
    ridge = NO_RIDGE if fit.penalty is None else fit.penalty.ridge
    scores = first_order_bias(design, fit.at, fit.tangent, fit.model_covariance.covariance, ridge).mean(axis=0)
    ends = np.zeros(design.n_items)
    ends[fit.best_first[0][[0, -1]]] = 1.0, -1.0
    bias, variance = float(ends @ scores), fit.covariance.variances(fit.consensus_rows(ends[None]))[0]
    return bias, bias / float(np.sqrt(variance))
