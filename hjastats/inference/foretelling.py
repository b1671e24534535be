"""What errors planned comparisons will leave, given that the estimates they are planned by err, too.

The error of a difference grows with the difference where the scale of the scores is estimated, and the largest of many estimated
differences is too large. Errors are therefore foretold at scores shrunk as those of items drawn from a normal distribution
are, and for other scores and sensitivities that the data leave possible.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .. import limits
from ..fitted import Fit
from ..model.design import Coefficients
from .allocation import Candidates, telling
from .decisions import relied_on, score_draws
from .goals import Goal

# Between which shares of what is possible errors are foretold.
RANGE = (0.1, 0.9)


def foretold(fit: Fit, goal: Goal, asked: Candidates, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Variances of a goal's contrasts after some comparisons: at the shrunken scores (m,), and at draws about them (n_draws, m)."""
    _, mu, rows = fit.vector("mu", np.arange(len(fit.layout.items)))
    shift = score_draws(mu, relied_on(fit, rows), rng=rng).mean(axis=0) - mu
    n_draws = limits.FORETOLD_DRAWS if fit.layout.n_free <= limits.REDRAWN_FREE else 0
    root = np.linalg.cholesky(fit.model_covariance.covariance) if n_draws else np.zeros((0, 0))
    steps = [root @ rng.standard_normal(len(root)) for _ in range(n_draws)]
    drawn = [_variances(_shifted(_moved(fit, step), shift), goal, asked) for step in steps]
    return _variances(_shifted(fit, shift), goal, asked), np.array(drawn)


def _variances(there: Fit, goal: Goal, asked: Candidates) -> np.ndarray:
    """As if the estimate were there."""
    rows, weight = telling(there, asked)
    information = there.model_covariance.information + (rows * weight[:, None]).T @ rows
    wanted = goal.again(there)
    return np.einsum("md,dm->m", wanted, np.linalg.solve(information, wanted.T))


def _moved(fit: Fit, step: np.ndarray) -> Fit:
    at, tangent = fit.layout.moved(fit.at, fit.tangent, step)
    return replace(fit, search=replace(fit.search, best=replace(fit.optimum, at=at)), tangent=tangent)


def _shifted(fit: Fit, shift: np.ndarray) -> Fit:
    """The fit with another consensus."""
    scores = fit.at.scores + np.outer(fit.parts.gamma, shift)
    at = Coefficients(scores, fit.at.judge, fit.at.shared)
    tangent = fit.layout.structure.tangent(scores)
    return replace(fit, search=replace(fit.search, best=replace(fit.optimum, at=at)), tangent=tangent)
