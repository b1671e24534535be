"""Pooled scores by plain Newton steps: the general search and a generalised linear model as references."""

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.tools.sm_exceptions import ConvergenceWarning

import hjastats as hja
from hjastats.data.cells import Cells, collapse
from hjastats.fitted import pooled_condition
from hjastats.model.design import Design
from hjastats.model.structures import Pooled
from hjastats.solve.pooled import maximise_pooled
from hjastats.solve.precision import covariance_at
from hjastats.solve.search import no_terms
from hjastats.solve.starts import win_share_scores
from hjastats.solve.trust import maximise


def random_cells(rng, n_items=None, n_judges=None, spread=None):
    n_items = int(rng.integers(3, 30)) if n_items is None else n_items
    n_judges = int(rng.integers(1, 4)) if n_judges is None else n_judges
    n = int(rng.integers(10, 40)) * n_items
    scores = (rng.choice([0.3, 1.0, 2.0]) if spread is None else spread) * rng.normal(size=n_items)
    first = rng.integers(n_items, size=n)
    second = (first + rng.integers(1, n_items, size=n)) % n_items
    wins = (rng.random(n) < 1.0 / (1.0 + np.exp(scores[second] - scores[first]))).astype(float)
    weight = rng.integers(1, 4, size=n) / 2.0
    cells = Cells(rng.integers(n_judges, size=n), first, second, weight, weight * wins, n_judges, n_items)
    return collapse(Design.of(cells))


def test_the_estimate_is_that_of_a_glm():
    cells = random_cells(np.random.default_rng(0), 8, 3, 1.0)
    design = np.zeros((len(cells.n), 8))
    rows = np.arange(len(cells.n))
    design[rows, cells.first], design[rows, cells.second] = 1.0, -1.0
    counts = np.column_stack([cells.y, cells.n - cells.y])
    glm = sm.GLM(counts, design[:, 1:], family=sm.families.Binomial()).fit(tol=1e-13)
    reference = np.r_[0.0, glm.params]
    found = maximise_pooled(cells)
    assert found.converged
    np.testing.assert_allclose(found.at.scores, np.tile(reference - reference.mean(), (3, 1)), atol=1e-9)


@pytest.mark.parametrize("many", [3, 500], ids=["products", "matrix"])
def test_whatever_it_returns_is_what_the_careful_search_finds(many, set_limits):
    set_limits(DENSE_SHARED=many)
    rng, n_done = np.random.default_rng(1), 0
    for _ in range(60):
        cells = random_cells(rng)
        found = maximise_pooled(cells)
        set_limits(DENSE_SHARED=500)
        careful = maximise(cells, Pooled(), no_terms(cells, np.zeros((cells.n_judges, cells.n_items))))
        set_limits(DENSE_SHARED=many)
        if found is None:
            continue
        assert found.converged
        n_done += 1
        assert careful.converged
        assert found.value == pytest.approx(careful.value, abs=1e-8)
        np.testing.assert_allclose(found.at.scores, careful.at.scores, atol=1e-7)
    assert n_done > 40


def test_the_order_of_the_cells_does_not_matter():
    cells = random_cells(np.random.default_rng(2), 12, 1, 0.7)
    order = np.random.default_rng(3).permutation(len(cells.n))
    arrays = (a[order] for a in (cells.judge, cells.first, cells.second, cells.n, cells.y))
    mixed = Cells(*arrays, 1, 12)
    np.testing.assert_allclose(maximise_pooled(mixed).at.scores, maximise_pooled(cells).at.scores, atol=1e-12)


def test_items_without_a_limit_are_left_to_a_search_that_names_them():
    rows = [("j", "a", "b", 1), ("j", "a", "c", 1), ("j", "b", "c", 1), ("j", "c", "b", 1)] * 5
    data = hja.Comparisons.from_arrays(*zip(*rows, strict=True))
    assert maximise_pooled(data.cells) is None
    with pytest.warns(hja.SeparationWarning, match="'a'"):
        hja.BTLModel.from_comparisons(data).fit()


def test_shares_of_wins_are_a_close_start_where_everybody_meets_everybody():
    rng = np.random.default_rng(4)
    cells = random_cells(rng, 60, 1, 0.7)
    start = win_share_scores(cells.first, cells.second, cells.n, cells.y, 60)
    found = maximise_pooled(cells)
    away = np.sqrt(np.mean((start - found.at.scores[0]) ** 2))
    assert away < 0.3 * np.std(found.at.scores[0])
    assert found.iterations <= 5


def test_the_bound_on_the_condition_holds():
    rng = np.random.default_rng(5)
    for _ in range(40):
        cells = random_cells(rng)
        found = maximise_pooled(cells)
        if found is None:
            continue
        covariance = covariance_at(cells, found.at, Pooled().tangent(found.at.scores))
        assert covariance.condition <= cells.n_items * pooled_condition(cells, found.at.scores[0])


def test_a_fit_makes_no_covariance_before_it_is_asked_for():
    result = hja.BTLModel.from_comparisons(hja.datasets.load_panel()).fit()
    assert "model_covariance" not in vars(result.fit)
    assert result.converged
    assert result.bse.notna().all()
    assert np.isfinite(result.mle_retvals["condition"])
    assert "model_covariance" in vars(result.fit)


def fitted(rows, **options):
    first, second, outcome, weight = zip(*rows, strict=True)
    return hja.BTLModel.from_comparisons(hja.Comparisons.from_arrays("j", first, second, outcome, weight)).fit(
        **options
    )


def path(n_items, wins=9.0, losses=1.0):
    steps = [(f"i{k:04d}", f"i{k + 1:04d}") for k in range(n_items - 1)]
    return [(*step, *verdict) for step in steps for verdict in ((1.0, wins), (0.0, losses))]


@pytest.mark.filterwarnings("error")
def test_very_unequal_weights_converge_though_shares_of_wins_mislead():
    rows = [("c", "a", 0.0, 565009.0), ("b", "e", 1.0, 1.1), ("b", "a", 1.0, 2.14), ("b", "e", 0.5, 0.57)]
    result = fitted([*rows, ("d", "c", 0.5, 0.000058), ("e", "c", 0.5, 2151.0)], warn_convergence=False)
    assert result.converged
    # A tie and nothing else.
    assert result.params["mu[d]"] == pytest.approx(result.params["mu[c]"], abs=1e-6)


def test_running_out_of_iterations_far_from_the_middle_is_not_a_separation():
    rows = path(5, 9999.0, 1.0)
    assert fitted(rows).converged
    with pytest.warns(ConvergenceWarning, match="raise maxiter"):
        result = fitted(rows, maxiter=5)
    assert not result.converged
    # A run that ended nowhere is no optimum.
    assert result.mle_retvals["optima"] == []


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_items", [400, 600], ids=["matrix", "products"])
def test_a_long_chain_of_items_is_fitted_in_silence(n_items):
    result = fitted(path(n_items))
    assert result.converged
    steps = -np.diff(result.params)
    np.testing.assert_allclose(steps, np.log(9.0), rtol=1e-6)
