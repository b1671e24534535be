import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.sandwich_covariance import cov_cluster, cov_white_simple

import hjastats as hja
from hjastats.errors import ComparisonError, CovarianceWarning, IdentificationError
from hjastats.inference.clusters import Clusters
from hjastats.inference.contributions import Contributions, single
from hjastats.inference.covariances import Sandwich, single_meat
from hjastats.model.likelihood import cell_scores, evaluate, free_moves, free_regressors
from tests import panels


@pytest.fixture(scope="module", params=[{}, {"position": "judge"}], ids=["plain", "position"])
def result(request, clustered_panel):
    return hja.HJAModel.from_comparisons(clustered_panel, rank=1, **request.param).fit()


def test_hc0_equals_the_formula_in_free_coordinates(result):
    robust = result.with_covariance("HC0")
    bread = np.linalg.inv(-result.model.hessian_free(result.params))
    expected = cov_white_simple((result.model.score_obs_free(result.params), bread), use_correction=False)
    np.testing.assert_allclose(robust.fit.covariance.covariance, expected, rtol=1e-8, atol=1e-14)
    assert robust.cov_type == "HC0"
    assert "HC0" in str(robust.summary())


@pytest.mark.parametrize("use_correction", [True, False])
def test_cluster_equals_the_formula_in_free_coordinates(result, use_correction):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CovarianceWarning)
        robust = result.with_covariance("cluster", {"groups": "prompt", "use_correction": use_correction})
    bread = np.linalg.inv(-result.model.hessian_free(result.params))
    groups = result.model.comparisons.columns["prompt"].to_numpy()
    scores = result.model.score_obs_free(result.params)
    expected = cov_cluster((scores, bread), groups, use_correction=use_correction)
    np.testing.assert_allclose(robust.fit.covariance.covariance, expected, rtol=1e-8, atol=1e-14)
    assert robust.n_groups == 60
    assert "60 clusters (prompt)" in str(robust.summary())


def test_robust_covariance_can_be_asked_for_at_fitting(clustered_panel, result):
    fitted = hja.HJAModel.from_comparisons(clustered_panel, rank=1).fit(cov_type="HC0")
    other = hja.HJAModel.from_comparisons(clustered_panel, rank=1).fit().with_covariance("HC0")
    np.testing.assert_allclose(fitted.bse, other.bse)


def test_the_old_result_is_left_as_it_is(result):
    before = result.bse.copy()
    result.with_covariance("HC0")
    pd.testing.assert_series_equal(result.bse, before)
    assert result.cov_type == "nonrobust"
    observed = result.with_covariance(information="observed")
    assert not np.allclose(observed.bse, before)
    back = observed.with_covariance(information="expected")
    np.testing.assert_allclose(back.bse, before)


def test_the_bread_can_be_the_expected_information(result):
    robust = result.with_covariance("HC0", information="expected")
    bread = np.linalg.inv(result.model.information(result.params))
    expected = cov_white_simple((result.model.score_obs_free(result.params), bread), use_correction=False)
    np.testing.assert_allclose(robust.fit.covariance.covariance, expected, rtol=1e-8, atol=1e-14)


def test_merged_rows_give_the_same_hc0(clustered_panel):
    frame = clustered_panel.to_frame()
    merged = frame.groupby(["judge", "first", "second", "outcome"], as_index=False)["weight"].sum()
    rows = {
        "judge": merged["judge"],
        "item_a": merged["first"],
        "item_b": merged["second"],
        "weights": merged["weight"],
    }
    one = hja.JAModel(merged["outcome"], **rows).fit(cov_type="HC0")
    two = hja.JAModel.from_comparisons(clustered_panel).fit(cov_type="HC0")
    np.testing.assert_allclose(one.bse, two.bse, rtol=1e-6)


def test_ties_as_half_wins_make_robust_errors_smaller(clustered_panel):
    """Half-ties vary less than Bernoulli verdicts: the model-based errors are too wide."""
    frame = clustered_panel.to_frame()
    frame["outcome"] = np.where(np.arange(len(frame)) % 2 == 0, 0.5, frame["outcome"])
    result = hja.BTLModel(frame["outcome"], judge=frame["judge"], item_a=frame["first"], item_b=frame["second"]).fit()
    ratio = result.with_covariance("HC0").bse / result.bse
    assert (ratio < 0.85).all()


def test_clustering_by_judge_is_refused_with_the_reason(result, clustered_panel):
    with pytest.raises(IdentificationError, match="sum to zero over the judge"):
        result.with_covariance("cluster", {"groups": "judge"})
    provider = np.where(clustered_panel.judge_index < 2, "x", "y")
    with pytest.raises(IdentificationError, match="one cluster each"):
        result.with_covariance("cluster", {"groups": provider})


def test_clustering_by_judge_is_allowed_without_judge_parameters(clustered_panel):
    with pytest.warns(CovarianceWarning, match="4 clusters"):
        hja.BTLModel.from_comparisons(clustered_panel).fit(cov_type="cluster", cov_kwds={"groups": "judge"})


def test_bad_covariance_options_are_refused(result):
    with pytest.raises(ValueError, match="cov_type must be"):
        result.with_covariance("HC3")
    with pytest.raises(ValueError, match="needs cov_kwds"):
        result.with_covariance("cluster")
    with pytest.raises(ComparisonError, match="no column is called 'promt'"):
        result.with_covariance("cluster", {"groups": "promt"})
    with pytest.raises(ComparisonError, match="groups has 3 labels"):
        result.with_covariance("cluster", {"groups": [1, 2, 3]})
    with pytest.raises(ValueError, match=r"cov_type='HC0' takes no cov_kwds, got \['maxlags'\]"):
        result.with_covariance("HC0", {"maxlags": 3})
    with pytest.raises(ValueError, match=r"unknown entries 'maxlags'; known are 'groups'"):
        result.with_covariance("cluster", {"groups": "prompt", "maxlags": 3})
    with pytest.raises(ValueError, match="takes no cov_kwds"):
        result.with_covariance("nonrobust", {"groups": "prompt"})
    with pytest.raises(ValueError, match="information must be"):
        result.with_covariance(information="total")


def test_row_and_cluster_bootstrap_agree_with_the_sandwich():
    """400 replications: the Monte-Carlo error of a standard error is 1/sqrt(800) = 3.5%; limits at four of them."""
    data = panels.clustered_panel(8000)
    result = hja.JAModel.from_comparisons(data).fit()
    names = [f"mu[{item}]" for item in data.items]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CovarianceWarning)
        clustered = result.with_covariance("cluster", {"groups": "prompt", "use_correction": False})
    for kind, groups, other in (("rows", None, result.with_covariance("HC0")), ("cluster", "prompt", clustered)):
        draws = result.bootstrap(400, kind, groups=groups, rng=1).contrast(names)
        np.testing.assert_allclose(draws["std_err"], other.bse[names], rtol=0.14)


@pytest.mark.parametrize(
    "options",
    [
        {"rank": 1},
        {"rank": 2, "position": "judge", "exog": ["length"]},
        {"rank": 0, "position": "common", "ties": "davidson", "tie": "common"},
        {"rank": 1, "position": "judge", "ties": "davidson", "tie": "judge", "judge_exog": ["length"]},
    ],
    ids=["scores", "terms", "ties", "ties by judge"],
)
def test_squares_of_gradients_are_those_of_the_rows(clustered_panel, options, set_limits):
    # Weighted rows, and a judge that never ties.
    rng = np.random.default_rng(1)
    never = clustered_panel.judge_index == 0
    outcome = np.where(never & (clustered_panel.outcome == 0.5), 1.0, clustered_panel.outcome)
    columns = clustered_panel.columns.assign(length=rng.normal(size=clustered_panel.n_rows).round(1))
    clustered_panel = replace(
        clustered_panel,
        outcome=outcome,
        weight=rng.integers(1, 4, clustered_panel.n_rows).astype(float),
        columns=columns,
    )
    model = hja.HJAModel.from_comparisons(clustered_panel, **options)
    result = model.fit(warn_convergence=False)
    rows, at, tangent = model.row_design(), result.fit.at, result.fit.tangent
    each = single(rows, clustered_panel.outcome)
    scores = cell_scores(evaluate(each, at), free_regressors(each, tangent), free_moves(each, tangent))
    expected = scores.T @ (clustered_panel.weight[:, None] * scores)
    close = {"rtol": 1e-9, "atol": 1e-9 * np.abs(expected).max()}
    np.testing.assert_allclose(single_meat(rows, clustered_panel, at, tangent), expected, **close)
    cluster = clustered_panel.columns["prompt"].to_numpy()
    sums = np.zeros((60, scores.shape[1]))
    np.add.at(sums, cluster, clustered_panel.weight[:, None] * scores)
    movements = rng.normal(size=(4, scores.shape[1]))
    by_comparison = Contributions.of_comparisons(rows, clustered_panel, at)
    by_cluster = Contributions.of_clusters(rows, clustered_panel, evaluate(each, at), Clusters(cluster, 60))
    for entries in (10, 500, 10**6):
        set_limits(ENTRIES_AT_ONCE=entries)
        np.testing.assert_allclose(by_cluster.along(movements, tangent), sums @ movements.T, **close)
        for found, meat in ((by_comparison, expected), (by_cluster, sums.T @ sums)):
            products = movements @ meat @ movements.T
            near = {"rtol": 1e-9, "atol": 1e-9 * np.abs(products).max()}
            np.testing.assert_allclose(found.products(movements, tangent), products, **near)
            np.testing.assert_allclose(found.squares(movements, tangent), np.diag(products), **near)


@pytest.mark.parametrize("cov_type", ["HC0", "cluster"])
@pytest.mark.parametrize("many", [3, 500], ids=["by products", "by a matrix"])
def test_a_robust_covariance_too_large_for_a_matrix_is_the_same(clustered_panel, cov_type, many, set_limits):
    model = hja.HJAModel.from_comparisons(clustered_panel, rank=1, position="judge")
    kwds = {"groups": "prompt"} if cov_type == "cluster" else None
    whole = model.fit(cov_type=cov_type, cov_kwds=kwds)
    set_limits(LARGEST_SANDWICH=3, DENSE_SHARED=many)
    parts = model.fit(cov_type=cov_type, cov_kwds=kwds)
    assert isinstance(parts.fit.covariance, Sandwich)
    np.testing.assert_allclose(parts.bse, whole.bse, rtol=1e-6)
    np.testing.assert_allclose(parts.consensus, whole.consensus, rtol=1e-6, atol=1e-9)
    matrix = whole.cov_params().to_numpy()
    np.testing.assert_allclose(parts.cov_params(), matrix, atol=1e-6 * np.abs(matrix).max())


def test_no_quantities_have_an_empty_covariance(panel_fit):
    robust = panel_fit.with_covariance("HC0").fit
    observed = panel_fit.model.observations
    contributions = Contributions.of_comparisons(observed.rows, observed.data, robust.at)
    assert contributions.products(np.zeros((0, robust.layout.n_free)), robust.tangent).shape == (0, 0)
