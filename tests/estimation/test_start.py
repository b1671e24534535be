"""Starts: the judges fitted on item directions."""

import numpy as np
import pytest
import statsmodels.api as sm

import hjastats.estimation.start as start
from hjastats.data.cells import Cells
from hjastats.estimation.search import no_terms
from hjastats.estimation.start import leading_directions, quadratic_around, starting_scores
from hjastats.geometry.structures import LowRank
from hjastats.likelihood import evaluate
from hjastats.simulation import heterogeneous_panel, near_balanced_design, simulate_comparisons


def panel(n_judges: int, n_items: int, rows: int) -> Cells:
    truth = heterogeneous_panel(n_judges, n_items, rank=1, heterogeneity=0.5, rng=1)
    design = near_balanced_design(n_judges, n_items, rows, rng=2)
    return simulate_comparisons(0.6 * truth.scores, design, rng=3).cells


@pytest.fixture(scope="module", params=[(6, 7, 1500), (6, 120, 9000)], ids=["small", "large"])
def cells(request) -> Cells:
    made = panel(*request.param)
    # One of them goes through the judges' Laplacians, the other through the cells.
    assert made.has_dense_laplacians == (made.n_items == 7)
    return made


def test_judges_are_fitted_as_statsmodels_fits_a_weighted_regression(cells, monkeypatch):
    # Without its ridge the fit of a judge is one step of iteratively reweighted least squares from its own scores.
    monkeypatch.setattr(start, "START_RIDGE", 0.0)
    rng = np.random.default_rng(4)
    judgewise = 0.3 * rng.normal(size=(cells.n_judges, cells.n_items))
    directions = leading_directions(rng.normal(size=(3, 5, cells.n_items)), 2)
    fitted = quadratic_around(cells, judgewise).fitted_on(cells, directions)
    assert fitted.shape == (3, cells.n_judges, cells.n_items)
    for k in range(cells.n_judges):
        own = cells.judge == k
        first, second, n, y = cells.first[own], cells.second[own], cells.n[own], cells.y[own]
        eta = judgewise[k, first] - judgewise[k, second]
        p = 1.0 / (1.0 + np.exp(-eta))
        response = eta + (y / n - p) / (p * (1.0 - p))
        for panel_directions, scores in zip(directions, fitted[:, k], strict=True):
            design = (panel_directions[:, first] - panel_directions[:, second]).T
            expected = sm.WLS(response, design, weights=n * p * (1.0 - p)).fit().params @ panel_directions
            np.testing.assert_allclose(scores, expected, atol=1e-9)


def test_fitting_the_judges_makes_better_starts_than_projecting_them():
    cells = panel(12, 8, 20_000)
    judgewise = start.judgewise_scores(cells)
    for scores in starting_scores(cells, LowRank(0), 2, np.random.default_rng(0)):
        directions = leading_directions(scores, 1)
        projected = judgewise @ directions.T @ directions
        value, projected_value = (evaluate(cells, no_terms(cells, s)).value for s in (scores, projected))
        assert value < projected_value
