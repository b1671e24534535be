"""Residuals of the rows: by how much each verdict surprises, in units of its standard deviation or of its likelihood."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from ..fitted import Fit, Observations
from ..inference.contributions import single
from ..model.likelihood import log_odds, own_predictors
from ..model.response import expected_outcome, is_verdict, worth_variance


def pearson_residuals(fit: Fit, observed: Observations) -> np.ndarray:
    """Outcome minus what is expected of it, over its standard deviation, shape (n_rows,); those of one comparison each."""
    chances, outcome = _chances(fit, observed), observed.data.outcome
    response = observed.rows.response
    return (outcome - expected_outcome(response, chances)) / np.sqrt(worth_variance(response, chances))


def deviance_residuals(fit: Fit, observed: Observations) -> np.ndarray:
    """Signed roots of what each comparison adds to the deviance, shape (n_rows,).

    That is twice the log-likelihood that its verdict lacks to the best possible: one for a verdict, its entropy for a soft
    preference or a tie that is half of two.
    """
    rows, outcome = observed.rows, observed.data.outcome
    one = single(rows, outcome)
    loglike = rows.response.loglike(log_odds(rows, fit.at), own_predictors(rows, fit.at), one.n, one.y, one.counts)
    best = np.where(
        is_verdict(rows.response, outcome), 0.0, xlogy(outcome, outcome) + xlogy(1.0 - outcome, 1.0 - outcome)
    )
    expected = expected_outcome(rows.response, _chances(fit, observed))
    return np.sign(outcome - expected) * np.sqrt(2.0 * np.maximum(best - loglike, 0.0))


def _chances(fit: Fit, observed: Observations) -> np.ndarray:
    rows = observed.rows
    return rows.response.probabilities(log_odds(rows, fit.at), own_predictors(rows, fit.at))
