"""Whether scores that are made of traits alone are all there is of the items: a score test of free ones."""

from __future__ import annotations

import numpy as np

from .. import limits
from ..data.comparisons import Comparisons
from ..fitted import Fit, Observations
from ..inference.clusters import read_clusters
from ..inference.contributions import Contributions, single
from ..inference.score_tests import ScoreTest
from ..mixed import MixedFit
from ..model.design import Design
from ..model.information import expected_information, free_information
from ..model.likelihood import evaluate
from ..model.tangent import TangentBasis

# Share of the largest eigenvalue of the information below which there is none.
_NO_INFORMATION = 1e-10
# Ties as half wins vary less than the model says, but not without limit.
_LEAST = 0.1


def is_restricted(fit: Fit) -> bool:
    """Whether scores are nothing but what traits of the items say."""
    return "beta" in fit.layout.slices and not isinstance(fit, MixedFit)


def free_scores_test(fit: Fit, observed: Observations) -> ScoreTest | None:
    """Score test of the model with free scores at the estimate of one whose scores are made of traits.

    Where standard errors count clusters, or what verdicts vary, so does the statistic (Rao and Scott 1984). None where scores are
    free, nothing links all items, the estimate is no maximum, or there are too many of them.
    """
    n_more = _n_more(fit)
    if not n_more or why_untested(fit, observed):
        return None
    tangent = fit.layout.structure.with_free_items(len(fit.layout.items)).tangent(fit.at.scores)
    information, squares, gradient = _moments(fit, observed, tangent)
    values = np.linalg.eigvalsh(information)
    if values[0] <= _NO_INFORMATION * values[-1]:
        return None
    statistic = float(gradient @ np.linalg.solve(information, gradient))
    if squares is not None:
        known, own, _ = _moments(fit, observed, fit.tangent)
        assert own is not None
        added = np.trace(np.linalg.solve(information, squares)) - np.trace(np.linalg.solve(known, own))
        statistic /= max(float(added) / n_more, _LEAST)
    return ScoreTest(statistic, n_more)


def why_untested(fit: Fit, observed: Observations) -> str:
    """Why it is not tested whether items differ by more than their traits, where that could be asked; or nothing."""
    n_more = _n_more(fit)
    if not n_more:
        return ""
    if not observed.data.connectivity.is_connected:
        return "no comparisons link all items"
    return "there are too many parameters" if fit.layout.n_free + n_more > limits.TESTED_PARAMETERS else ""


def _n_more(fit: Fit) -> int:
    """Free parameters that free scores add to those made of traits; none where they are no question of the fit."""
    if not is_restricted(fit) or fit.penalty is not None or fit.restriction is not None or not fit.converged:
        return 0
    size, structure = (len(fit.layout.judges), len(fit.layout.items)), fit.layout.structure
    return structure.with_free_items(size[1]).n_free(*size) - structure.n_free(*size)


def _moments(
    fit: Fit, observed: Observations, tangent: TangentBasis
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Information, squared contributions where errors are robust, and gradient, along the movements of a tangent space."""
    rows: Design = observed.rows
    data: Comparisons = observed.data
    each = evaluate(single(rows, data.outcome), fit.at)
    information = free_information(expected_information(rows, evaluate(rows, fit.at), tangent), rows)
    along = np.eye(len(information))
    by_row = Contributions.of_rows(rows, data, each)
    gradient = by_row.count @ by_row.along(along, tangent)
    if fit.choice.kind == "nonrobust":
        return information, None, gradient
    if fit.choice.kind == "cluster":
        (clusters, *_) = read_clusters(fit.choice.facts["groups"], data)
        by_row = Contributions.of_clusters(rows, data, each, clusters)
    return information, by_row.products(along, tangent), gradient
