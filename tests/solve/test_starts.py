"""Starts: judges fitted on item directions, and items on judges."""

import numpy as np
import pytest
import statsmodels.api as sm

import hjastats.solve.starts as start
from hjastats import JAModel, limits
from hjastats.data.cells import Cells
from hjastats.model.design import Design
from hjastats.model.likelihood import evaluate
from hjastats.model.tangent import centred
from hjastats.simulation import heterogeneous_panel, near_balanced_design, simulate_comparisons
from hjastats.solve.search import no_terms
from hjastats.solve.starts import Quadratic, leading_directions


def panel(n_judges: int, n_items: int, rows: int) -> Cells:
    truth = heterogeneous_panel(n_judges, n_items, rank=1, heterogeneity=0.5, rng=1)
    design = near_balanced_design(n_judges, n_items, rows, rng=2)
    return Design.of(simulate_comparisons(0.6 * truth.scores, design, rng=3).cells)


@pytest.fixture(params=[(6, 7, 1500), (6, 120, 9000)], ids=["dense", "sparse"])
def cells(request, monkeypatch) -> Cells:
    made = panel(*request.param)
    # One of them goes through the judges' Laplacians, the other through the cells.
    monkeypatch.setattr(limits, "DENSE_START", 50_000)
    assert start.is_dense(made) == (made.n_items == 7)
    return made


def test_judges_are_fitted_as_statsmodels_fits_a_weighted_regression(cells, monkeypatch):
    # Without its ridge the fit of a judge is one step of iteratively reweighted least squares from its own scores.
    monkeypatch.setattr(start, "START_RIDGE", 0.0)
    rng = np.random.default_rng(4)
    judgewise = 0.3 * rng.normal(size=(cells.n_judges, cells.n_items))
    directions = leading_directions(rng.normal(size=(3, 5, cells.n_items)), 2)
    fitted = Quadratic(cells, judgewise).judges_on(directions) @ directions
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


def test_items_are_fitted_as_statsmodels_fits_a_weighted_regression(monkeypatch):
    monkeypatch.setattr(start, "START_RIDGE", 1e-9)
    cells = panel(5, 7, 400)
    rng = np.random.default_rng(4)
    judgewise, judges = 0.3 * rng.normal(size=(5, 7)), rng.normal(size=(3, 5, 2))
    fitted = judges @ Quadratic(cells, judgewise).items_for(judges)
    assert fitted.shape == (3, 5, 7)
    eta = judgewise[cells.judge, cells.first] - judgewise[cells.judge, cells.second]
    p = 1.0 / (1.0 + np.exp(-eta))
    response = eta + (cells.y / cells.n - p) / (p * (1.0 - p))
    # The last item is the one the others are compared with: levels are not determined.
    contrast = (np.eye(7)[cells.first] - np.eye(7)[cells.second])[:, :-1]
    for weights, scores in zip(judges, fitted, strict=True):
        design = np.hstack([weights[cells.judge, [g]][:, None] * contrast for g in range(2)])
        found = sm.WLS(response, design, weights=cells.n * p * (1.0 - p)).fit().params.reshape(2, 6)
        expected = weights @ np.hstack([found, np.zeros((2, 1))])
        np.testing.assert_allclose(centred(scores), centred(expected), atol=1e-7)


def test_fitting_judges_and_items_makes_better_starts_than_projecting_them():
    cells = panel(12, 8, 20_000)
    judgewise = start.judgewise_scores(cells)
    directions = leading_directions(judgewise, 1)
    quadratic = Quadratic(cells, judgewise)
    judges = quadratic.judges_on(directions)
    steps = [judgewise @ directions.T @ directions, judges @ directions, judges @ quadratic.items_for(judges)]
    values = [evaluate(cells, no_terms(cells, scores)).value for scores in steps]
    assert values[0] > values[1] > values[2]


def test_starts_that_know_the_linear_terms_are_those_of_the_log_odds_without_them():
    truth = heterogeneous_panel(5, 6, rank=0, heterogeneity=0.5, rng=1)
    design = near_balanced_design(5, 6, 20_000, rng=2)
    position = np.array([2.0, -2.0, 1.0, 0.0, -1.0])
    data = simulate_comparisons(0.6 * truth.scores, design, position=position, rng=3)
    cells = JAModel.from_comparisons(data, position="judge").design
    offset = cells.judge_terms[:, 0] * position[cells.judge]
    scores = start.judgewise_scores(cells, offset)
    # Four standard errors of a score from some 1,300 comparisons of every pair.
    np.testing.assert_allclose(scores, centred(0.6 * truth.scores), atol=0.5)
    assert np.abs(start.judgewise_scores(cells) - scores).max() > 0.1


def test_judges_who_part_the_items_alike_or_the_other_way_round_share_a_cut():
    levels = np.array([[1, 0, 0], [0, 1, 1], [0, 0, 0]])
    cuts, sides = start._cuts(levels)
    assert cuts.tolist() == [[1, 0, 0], [0, 1, 1], [0, 1, 1]]
    assert sides.tolist() == [[1, 0, 0], [0, 1, 0], [-1, 1, 0]]
