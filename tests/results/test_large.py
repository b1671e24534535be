"""After the fit of panels that are too large for a matrix of all parameters: limits are lowered, and nothing else may change."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.diagnostics.biclustering import bicluster
from hjastats.errors import ContrastError, CovarianceWarning, SizeError
from hjastats.simulation import heterogeneous_panel, near_balanced_design, simulate_comparisons
from hjastats.solve.precision import LargeCovariance

MODELS = {
    "BTL": (hja.BTLModel, {}),
    "JA": (hja.JAModel, {"position": "common"}),
    "HJA(1)": (hja.HJAModel, {"rank": 1, "position": "judge"}),
    "HJA(2)": (hja.HJAModel, {"rank": 2}),
    "judge-wise": (hja.JudgewiseBTLModel, {}),
}


@pytest.fixture
def large(set_limits):
    """Count every panel as too large for matrices of all parameters, and for more than thirty solutions."""
    set_limits(DENSE_SHARED=3, LARGEST_MATRIX=3, MOST_SOLUTIONS=30, ENTRIES_AT_ONCE=50)


def text(result):
    """The summary without the time of day."""
    return [line for line in str(result.summary(max_rows=6)).splitlines() if "Time:" not in line]


@pytest.mark.parametrize("name", ["BTL", "JA", "HJA(1)", "HJA(2)"])
def test_summaries_are_the_same(panel, name, request):
    kind, options = MODELS[name]
    model = kind.from_comparisons(panel, **options)
    small = text(model.fit())
    request.getfixturevalue("large")
    result = model.fit()
    assert isinstance(result.fit.model_covariance, LargeCovariance)
    other = text(result)
    # The condition number is a bound in one case and exact in the other.
    assert [line for line in other if "condition" not in line] == [line for line in small if "condition" not in line]


@pytest.mark.parametrize("name", MODELS)
def test_the_change_along_a_movement_is_the_jacobian_times_it(panel, name):
    kind, options = MODELS[name]
    result = kind.from_comparisons(panel, **options).fit()
    movement = np.random.default_rng(0).normal(size=int(result.df_model))
    change = result.model.layout.derivative(movement, result.fit.tangent, result.fit.parts)
    np.testing.assert_allclose(change, result.fit.jacobian @ movement, atol=1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_some_estimates_are_those_of_the_whole_table(panel, name):
    kind, options = MODELS[name]
    result = kind.from_comparisons(panel, **options).fit()
    some = [panel.items[7], panel.items[2]]
    np.testing.assert_allclose(result.estimates("mu", some), result.consensus.loc[some], rtol=1e-10)
    np.testing.assert_allclose(
        result.estimates("gamma", "judge-2"), result.estimates("gamma").loc[["judge-2"]], rtol=1e-10
    )


def test_estimates_of_nobody_are_refused_in_words(panel):
    result = hja.JAModel.from_comparisons(panel).fit()
    with pytest.raises(ContrastError, match="no item is called 'model-Z'; there are 'model-A'"):
        result.estimates("mu", ["model-A", "model-Z"])
    with pytest.raises(ContrastError, match="kind must be one of 'mu', 'gamma', got 'position'"):
        result.estimates("position")


def test_what_would_take_hours_is_left_out_with_a_warning(panel, large):
    result = hja.HJAModel.from_comparisons(panel, rank=1).fit()
    with pytest.warns(
        CovarianceWarning,
        match=r"standard errors of 36 parameters of 10 items are left out.*estimates\('mu', labels\)",
    ):
        assert np.isnan(result.bse).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(result.consensus).all(axis=None)
        assert np.isfinite(result.contrast("mu[model-A] - mu[model-B]").std_err).all()


def test_rows_times_a_covariance_are_the_same_by_factors_and_by_products(panel, set_limits):
    model = hja.HJAModel.from_comparisons(panel, rank=1, position="judge")
    small = model.fit()
    rows = np.random.default_rng(1).normal(size=(3, int(small.df_model)))
    expected = small.fit.model_covariance.times(rows)
    set_limits(DENSE_SHARED=3)
    for as_long in (0.0, 1e9):
        set_limits(AS_LONG_AS_FACTORS=as_long)
        known = model.fit().fit.model_covariance
        np.testing.assert_allclose(known.times(rows), expected, atol=1e-6 * np.abs(expected).max())
        assert ("_factors" in known.__dict__) == (as_long == 0.0)


def test_a_separated_large_panel_empties_the_rows_that_have_no_limit(large):
    rng = np.random.default_rng(4)
    truth = heterogeneous_panel(6, 9, 1, rng=rng)
    panel = simulate_comparisons(0.5 * truth.scores, near_balanced_design(6, 9, 3000, rng=rng), rng=rng)
    frame = panel.to_frame()
    frame.loc[frame["first"] == panel.items[3], "outcome"] = 1.0
    frame.loc[frame["second"] == panel.items[3], "outcome"] = 0.0
    undefeated = hja.read_comparisons(frame, codes="unit")
    result = hja.BTLModel.from_comparisons(undefeated).fit(warn_convergence=False)
    table = result.estimates("mu")
    assert list(table.index[table["estimate"].isna()]) == [panel.items[3]]
    others = frame[(frame["first"] != panel.items[3]) & (frame["second"] != panel.items[3])]
    rest = hja.BTLModel.from_comparisons(hja.read_comparisons(others, codes="unit")).fit()
    finite = table.dropna()
    np.testing.assert_allclose(finite, rest.estimates("mu").loc[finite.index], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_judges_alone_are_fitted_alike_by_sparse_products(panel, ridge, set_limits):
    model = hja.JudgewiseBTLModel.from_comparisons(panel)
    fit = model.fit if ridge == 0.0 else lambda: model.fit_regularized(ridge)
    small = fit()
    set_limits(DENSE_OWN_ITEMS=3)
    other = fit()
    assert other.converged
    assert other.llf == pytest.approx(small.llf, abs=1e-8)
    np.testing.assert_allclose(other.scores, small.scores, atol=1e-7)
    np.testing.assert_allclose(other.bse, small.bse, rtol=1e-6)


def test_a_large_panel_is_loaded_as_it_was_saved(panel, tmp_path, set_limits):
    model = hja.HJAModel.from_comparisons(panel, rank=1, position="judge")
    result = model.fit()
    set_limits(MANY_FREE=3)
    result.to_json(tmp_path / "fit.json")
    again = hja.load_results(tmp_path / "fit.json")
    assert again.converged
    np.testing.assert_allclose(again.params, result.params, rtol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_the_gradient_is_the_sum_of_those_of_the_rows(panel, name):
    kind, options = MODELS[name]
    model = kind.from_comparisons(panel, **options)
    params = np.random.default_rng(5).normal(size=model.nparams)
    np.testing.assert_allclose(model.score(params), model.score_obs(params).sum(axis=0), atol=1e-9)


def test_places_of_too_many_items_are_refused_and_of_some_given(panel, set_limits):
    result = hja.HJAModel.from_comparisons(panel, rank=1).fit()
    whole = result.ranking()
    some = ["model-B", "model-I", "model-J"]
    table = result.ranking(items=some)
    assert list(table.index) == ["model-I", "model-B", "model-J"]
    assert list(table["place"]) == [1, 2, 3]
    np.testing.assert_allclose(table["score"], whole.loc[table.index, "score"])
    np.testing.assert_allclose(table["std_err"], whole.loc[table.index, "std_err"])
    pairs = result.pairwise(labels=some, method="none")
    assert list(pairs.index) == [("model-B", "model-I"), ("model-B", "model-J"), ("model-I", "model-J")]
    np.testing.assert_allclose(pairs, result.pairwise(method="none").loc[pairs.index], rtol=1e-8)
    assert list(result.ranking("judge-2", items=some)["place"]) == [1, 2, 3]
    with pytest.raises(ContrastError, match="no item is called 'model-Z'"):
        result.ranking(items=["model-A", "model-Z"])
    with pytest.raises(ContrastError, match="expected two or more different labels to compare, got"):
        result.pairwise(labels=["model-A", "model-A"])
    set_limits(MOST_COMPARED=5)
    with pytest.raises(SizeError, match="places of 10 items need all 45 differences between them: name at most 5"):
        result.ranking()
    with pytest.raises(SizeError, match="differences of 10 items"):
        result.pairwise()


def test_a_report_of_too_many_items_ranks_the_leading_ones(panel, set_limits):
    result = hja.HJAModel.from_comparisons(panel, rank=1).fit()
    set_limits(MOST_COMPARED=5, RANKED_OF_MANY=4)
    page = result.report()
    assert "These are the 4 items with the highest scores, compared among themselves." in page
    assert "6 more items are not in this table." in page


def test_words_about_many_judges_stay_short(panel_fit):
    many = pd.DataFrame(np.random.default_rng(0).normal(size=(700, 3)), [f"j{i:03d}" for i in range(700)], list("abc"))
    assert len(repr(bicluster(many)).splitlines()) < 40
    assert "more" in repr(bicluster(many))
    diagnosis = panel_fit.diagnose()
    judges = pd.concat([diagnosis.judges] * 10)
    assert repr(replace(diagnosis, judges=judges)).endswith("and 20 more in .judges")


@pytest.mark.parametrize("name", ["BTL", "JA", "HJA(1)", "HJA(2)"])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_leaving_out_one_of_many_judges_eliminates_the_others(panel, name, alpha, set_limits):
    kind, options = MODELS[name]
    model = kind.from_comparisons(panel, **options)
    result = model.fit_regularized(alpha) if alpha else model.fit()
    small = result.judges.influence().table
    set_limits(MANY_FREE=3)
    large = result.judges.influence().table
    pd.testing.assert_frame_equal(large, small, rtol=1e-7)


def test_matrices_that_do_not_fit_are_refused_in_words(panel, large, set_limits):
    set_limits(LARGEST_MATRIX=20)
    result = hja.HJAModel.from_comparisons(panel, rank=1).fit()
    for ask in (result.cov_params, lambda: result.cov_params_default, result.fit.weakest_direction):
        with pytest.raises(SizeError, match=r"a covariance matrix of 3\d parameters would take 0 GB: ask for contrast"):
            ask()
    set_limits(LARGEST_MATRIX=3)
    with pytest.raises(SizeError, match="standard errors of 80 scores would take hours"):
        _ = result.judges.score_errors()


def test_predictions_of_many_items_are_those_of_few(panel, panel_fit, set_limits):
    asked = {"judge": "judge-2", "item_a": "model-I", "item_b": ["model-A", "model-B"]}
    expected = panel_fit.get_prediction(**asked).summary_frame()
    set_limits(BASIS_ITEMS=3)
    again = hja.HJAModel.from_comparisons(panel, rank=1, position="judge").fit()
    assert again.fit.tangent.complement is None
    np.testing.assert_allclose(again.get_prediction(**asked).summary_frame(), expected, rtol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_the_order_of_the_labels_is_that_of_the_rows(panel, name):
    kind, options = MODELS[name]
    result = kind.from_comparisons(panel, **options).fit()
    backwards = list(panel.items)[::-1]
    np.testing.assert_allclose(result.estimates("mu", backwards), result.estimates("mu").loc[backwards], rtol=1e-10)
    shown, table = str(result.summary()).splitlines(), result.consensus
    for item in panel.items:
        row = next(line for line in shown if line.startswith(item))
        assert f"{table.loc[item, 'std_err']:.4f}" in row
    if name != "judge-wise":
        places = result.ranking(items=backwards)
        np.testing.assert_allclose(places["std_err"], table.loc[places.index, "std_err"], rtol=1e-10)


def test_judges_alone_with_many_items_run_away_where_wins_lead_nowhere(set_limits):
    """One judge is a total order, one has an undefeated item, one contradicts itself enough."""
    rng = np.random.default_rng(0)
    n_items, rows = 6, []
    for judge in ("ordered", "champion", "fine"):
        for _ in range(20):
            for i in range(n_items):
                for j in range(i):
                    wins = {"ordered": i > j, "champion": i == 5 or rng.random() < 0.5, "fine": rng.random() < 0.6}[
                        judge
                    ]
                    rows.append((judge, f"i{i}", f"i{j}", float(wins)))
    data = hja.Comparisons.from_arrays(*(list(column) for column in zip(*rows, strict=True)))
    small = hja.JudgewiseBTLModel.from_comparisons(data).fit(warn_convergence=False)
    set_limits(DENSE_OWN_ITEMS=2, MANY_STARTS_FREE=2, MANY_FREE=2)
    with pytest.warns(hja.SeparationWarning, match="'champion', 'ordered'"):
        large = hja.JudgewiseBTLModel.from_comparisons(data).fit()
    empty = large.scores.isna()
    assert empty.loc["champion"].to_dict() == {f"i{i}": i == 5 for i in range(n_items)}
    assert empty.loc["ordered"].sum() == n_items - 1
    assert not empty.loc["fine"].any()
    np.testing.assert_allclose(large.scores.loc["fine"], small.scores.loc["fine"], atol=1e-6)
    np.testing.assert_allclose(large.scores.loc["champion"].dropna(), small.scores.loc["champion"].dropna(), atol=2e-3)
    assert large.llf == pytest.approx(small.llf, abs=0.1)
