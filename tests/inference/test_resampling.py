import inspect

import numpy as np
import pytest
from scipy import stats

import hjastats as hja
from hjastats.errors import (
    ComparisonError,
    ContrastError,
    IdentificationError,
    NonRegularWarning,
    OptionError,
)
from hjastats.inference.resampling import ParametricDraw, RowDraw
from hjastats.model.likelihood import log_odds
from hjastats.model.response import probability
from hjastats.simulation import heterogeneous_panel, near_balanced_design, simulate_comparisons


@pytest.fixture(scope="module")
def result(panel):
    return hja.JAModel.from_comparisons(panel).fit()


def test_parametric_draws_have_the_mean_of_the_model_and_the_ties_of_the_data(panel):
    frame = panel.to_frame()
    outcome = np.where(np.arange(len(frame)) % 5 == 0, 0.5, frame["outcome"])
    result = hja.JAModel(outcome, judge=frame["judge"], item_a=frame["first"], item_b=frame["second"]).fit()
    model = result.model
    source = ParametricDraw.from_fit(model.design, model.comparisons, result.fit.at)
    mean = probability(log_odds(model.design, result.fit.at))
    rng = np.random.default_rng(0)
    draws = np.array([source.draw(rng).y for _ in range(2000)])
    # Four standard errors of a mean of 2,000 binomial counts.
    expected = model.design.n * mean
    assert np.abs(draws.mean(axis=0) - expected).max() < 4 * np.sqrt(model.design.n.max() / 4 / 2000)
    assert (draws % 1 == 0.5).any()
    assert ((draws >= 0) & (draws <= model.design.n)).all()


def test_row_draws_keep_the_number_of_comparisons(panel, result):
    source = RowDraw.from_data(result.model.row_design(), panel)
    drawn = source.draw(np.random.default_rng(0))
    assert drawn.n.sum() == 3200
    assert not np.array_equal(drawn.n, result.model.design.n)


def test_results_do_not_depend_on_the_number_of_jobs(result):
    one, two = (result.bootstrap(12, rng=3, n_jobs=jobs).params for jobs in (1, 2))
    np.testing.assert_array_equal(one, two)
    other = result.bootstrap(12, rng=4).params
    assert not np.allclose(one, other)


def test_percentile_and_bca_intervals_bracket_the_estimate(result):
    rows = result.bootstrap(300, "rows", rng=0)
    spec = ["log(gamma[judge-1] / gamma[judge-2])", "mu[model-I] - mu[model-H]"]
    for method in ("percentile", "bca"):
        table = rows.contrast(spec, method=method)
        assert list(table.columns) == ["estimate", "std_err", "bias", "ci_lower", "ci_upper"]
        assert ((table["ci_lower"] < table["estimate"]) & (table["estimate"] < table["ci_upper"])).all()
        # The model does not hold for these data, so the sandwich is what resampling agrees with (300 draws: 4%).
        delta = result.with_covariance("HC0").contrast(spec).std_err
        np.testing.assert_allclose(table["std_err"], delta, rtol=0.16)
    assert not np.allclose(rows.contrast(spec, method="bca")["ci_lower"], rows.contrast(spec)["ci_lower"])
    assert "300 replications" in repr(rows)


def test_bca_agrees_with_scipy_for_a_mean(panel):
    """One judge, two items: the score difference is the logit of a mean, for which scipy has BCa intervals."""

    rng = np.random.default_rng(1)
    outcome = (rng.random(60) < 0.8).astype(float)
    result = hja.BTLModel(outcome, judge=["j"] * 60, item_a=["a"] * 60, item_b=["b"] * 60).fit()
    ours = result.bootstrap(4000, "rows", rng=0).contrast("p[j, a, b]", method="bca").iloc[0]
    # Called random_state before scipy 1.15.
    seed = {"rng" if "rng" in inspect.signature(stats.bootstrap).parameters else "random_state": 0}
    theirs = stats.bootstrap((outcome,), np.mean, method="BCa", n_resamples=9999, **seed).confidence_interval
    # A mean of 60 verdicts moves in steps of 1/60.
    assert ours["ci_lower"] == pytest.approx(theirs.low, abs=1.01 / 60)
    assert ours["ci_upper"] == pytest.approx(theirs.high, abs=1.01 / 60)


def test_bootstrap_options_are_checked(result, panel):
    with pytest.raises(ValueError, match="n must be a whole number from 2"):
        result.bootstrap(0)
    with pytest.raises(ValueError, match="kind must be"):
        result.bootstrap(10, "wild")
    with pytest.raises(ContrastError, match="need resampled data"):
        result.bootstrap(5).contrast("mu[model-A]", method="bca")
    with pytest.raises(OptionError, match="method must be"):
        result.bootstrap(5).contrast("mu[model-A]", method="normal")
    frame = panel.to_frame()
    rows = {"judge": frame["judge"], "item_a": frame["first"], "item_b": frame["second"]}
    halves = hja.BTLModel(frame["outcome"], weights=np.full(len(frame), 0.3), **rows).fit(warn_convergence=False)
    with pytest.raises(ComparisonError, match="whole numbers"):
        halves.bootstrap(5)


def test_saturated_rank_test_is_the_likelihood_ratio_against_judgewise_models(panel, result):
    judgewise = hja.JudgewiseBTLModel.from_comparisons(panel).fit()
    test = result.rank_test()
    assert test.statistic == pytest.approx(2 * (judgewise.llf - result.llf))
    assert test.df == (8 - 1) * (10 - 2)
    assert "chi2(56)" in repr(test)
    lr = judgewise.compare_lr_test(result)
    assert lr.pvalue == pytest.approx(test.p_value)
    assert lr.df_diff == test.df


def test_bootstrap_rank_test_finds_a_direction_that_is_there(panel):
    calm = panel.without_judges(["judge-first"])
    none = hja.JAModel.from_comparisons(calm).fit().rank_test("bootstrap", n=39)
    assert none.p_value == pytest.approx(1 / 40)
    assert none.mc_error > 0
    enough = hja.HJAModel.from_comparisons(calm, rank=1).fit().rank_test("bootstrap", n=39, rng=1)
    assert enough.p_value > 0.05
    assert "HJA(1) against HJA(2)" in repr(enough)
    assert len(enough.replications) == 39


def test_adjacent_ranks_get_no_p_value(panel, result):
    larger = hja.HJAModel.from_comparisons(panel, rank=1).fit()
    with pytest.warns(NonRegularWarning, match="no p-value"):
        test = larger.compare_lr_test(result)
    assert np.isnan(test.pvalue)
    assert test.df_diff == 14


def test_models_that_are_not_nested_are_not_compared(panel, result):
    btl = hja.BTLModel.from_comparisons(panel, position="judge").fit()
    with pytest.raises(ComparisonError, match="not nested"):
        result.compare_lr_test(btl)
    with pytest.raises(ComparisonError, match="not nested"):
        btl.compare_lr_test(result)


def test_rank_tests_say_when_there_is_nothing_to_test(panel, result):
    with pytest.raises(IdentificationError, match="no rank to test"):
        hja.BTLModel.from_comparisons(panel).fit().rank_test()
    small = panel.subset(panel.judge_index < 2)
    with pytest.raises(IdentificationError, match="largest possible"):
        hja.HJAModel.from_comparisons(small, rank=1).fit().rank_test()
    with pytest.raises(ValueError, match="method must be"):
        result.rank_test("chi2")


def test_prediction_intervals_are_logit_intervals(panel, panel_fit):
    frame = panel.to_frame().rename(columns={"first": "item_a", "second": "item_b"}).head(5)
    table = panel_fit.get_prediction(frame).summary_frame()
    np.testing.assert_allclose(table["predicted"], panel_fit.predict(frame))
    np.testing.assert_allclose(table["predicted"], panel_fit.fittedvalues[:5])
    assert ((table["ci_lower"] > 0) & (table["ci_upper"] < 1)).all()
    whole = panel_fit.get_prediction().summary_frame()
    assert len(whole) == 3200
    with pytest.raises(ComparisonError, match="need judge"):
        panel_fit.get_prediction(judge="judge-1")


def test_prediction_from_a_formula_uses_its_transformations(panel):
    frame = panel.to_frame().assign(length=np.arange(3200) % 7 - 3.0)
    columns = {"judge": "judge", "item_a": "first", "item_b": "second"}
    result = hja.JAModel.from_formula("outcome ~ 0 + np.tanh(length)", frame, **columns).fit()
    np.testing.assert_allclose(result.predict(frame), result.fittedvalues)
    with pytest.raises(ValueError, match="covariates"):
        result.predict(judge="judge-1", item_a="model-A", item_b="model-B")
    array = hja.JAModel(
        frame["outcome"], frame[["length"]], judge=frame["judge"], item_a=frame["first"], item_b=frame["second"]
    ).fit()
    np.testing.assert_allclose(array.predict(frame), array.fittedvalues)


def test_removed_data_are_missed_in_words(panel):
    result = hja.JAModel.from_comparisons(panel).fit()
    result.remove_data()
    for action in (lambda: result.bootstrap(5), lambda: result.with_covariance("HC0"), lambda: result.rank_test()):
        with pytest.raises(IdentificationError, match="were removed"):
            action()
    with pytest.raises(ComparisonError, match="were removed"):
        result.predict()
    assert result.contrast("gamma[judge-1]").std_err[0] > 0


def test_acceleration_counts_every_comparison(panel):
    """BCa of merged rows equals that of single rows up to the resampling."""
    single = hja.BTLModel.from_comparisons(panel).fit()
    boot = single.bootstrap(2, "rows")
    effect = boot.sandwich.influence(single.contrast("mu[model-A]").gradient)[:, 0]
    rows = single.model.score_obs_free(single.params) @ np.linalg.inv(single.model.information(single.params))
    each = rows @ single.contrast("mu[model-A]").gradient[0]
    assert np.sum(boot.sandwich.contributions.count * effect**3) == pytest.approx(np.sum(each**3), rel=1e-8)


def test_unusable_fits_and_contrasts_are_not_resampled(panel, result):
    with pytest.raises(IdentificationError, match="sum to zero"):
        result.bootstrap(5, "cluster", groups="judge")
    with pytest.raises(OptionError, match="alpha must lie"):
        result.bootstrap(3).contrast("mu[model-A]", alpha=7)
    always = panel.subset(panel.judge_index == 6)
    outcome = np.where(always.first_index == 0, 1.0, np.where(always.second_index == 0, 0.0, always.outcome))
    frame = always.to_frame()
    labels = {"judge": frame["judge"], "item_a": frame["first"], "item_b": frame["second"]}
    separated = hja.BTLModel(outcome, **{k: v.to_numpy() for k, v in labels.items()}).fit(warn_convergence=False)
    with pytest.raises(IdentificationError, match="did not converge"):
        separated.bootstrap(5)


@pytest.mark.parametrize(("penalty", "kind"), [("ridge", "rows"), ("firth", "rows"), ("firth", "parametric")])
def test_replications_of_a_penalised_fit_are_penalised_alike(panel, kind, penalty):
    result = hja.JAModel.from_comparisons(panel).fit_regularized(alpha=50.0, penalty=penalty)
    draws = result.bootstrap(40, kind, rng=0)
    table = draws.contrast(f"mu[{panel.items[8]}] - mu[{panel.items[9]}]").iloc[0]
    assert draws.n_failed == 0
    # Without the ridge the mean is more than a hundred of its standard errors away; what is left is the ridge's own bias.
    assert abs(table["bias"]) < 5 * table["std_err"] / np.sqrt(40) + 0.02 * abs(table["estimate"])
    assert table["ci_lower"] < table["estimate"] < table["ci_upper"]


def test_data_drawn_from_a_ridge_estimate_are_shrunk_once_more(panel):
    result = hja.JAModel.from_comparisons(panel).fit_regularized(alpha=400.0)
    table = result.bootstrap(40, "parametric", rng=0).contrast(f"mu[{panel.items[8]}] - mu[{panel.items[9]}]").iloc[0]
    assert 0.0 < table["estimate"] + table["bias"] < 0.7 * table["estimate"]


def test_draws_that_lose_an_item_are_counted_as_failed():
    rng = np.random.default_rng(0)
    first, gap = rng.integers(0, 6, 14), 1 + rng.integers(0, 5, 14)
    second = (first + gap) % 6
    first[:6], second[:6] = range(6), [1, 2, 3, 4, 5, 0]
    labels = [np.array([f"i{i}" for i in side]) for side in (first, second)]
    data = hja.Comparisons.from_arrays("j", *labels, rng.integers(0, 2, 14).astype(float))
    draws = hja.BTLModel.from_comparisons(data).fit_regularized(penalty="firth").bootstrap(50, kind="rows", rng=1)
    assert 0 < draws.n_failed < 50


def test_draws_of_loadings_have_the_signs_and_the_order_of_the_estimate():
    """The sign is that of the first judge's loading by convention, which is near zero here; and two directions are as strong."""
    truth = heterogeneous_panel(5, 6, rank=2, heterogeneity=0.0, rng=3)
    left = np.array([[0.05, 0.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.05, -1.0]])
    right = np.linalg.qr(np.column_stack([np.ones(6), truth.mu, np.random.default_rng(0).normal(size=(6, 2))]))[0][
        :, 2:
    ]
    scores = np.outer(np.ones(5), truth.mu) + 1.3 * left @ right.T
    data = simulate_comparisons(scores, near_balanced_design(5, 6, 6000, rng=1), rng=2)
    result = hja.HJAModel.from_comparisons(data, rank=1).fit()
    draws = result.bootstrap(60)
    names = [f"U[{judge},1]" for judge in result.model.judges]
    np.testing.assert_allclose(draws.params[names].std(), result.bse[names], rtol=0.4)
    spelled = draws.contrast([f"U[{judge}, 1]" for judge in result.model.judges])
    np.testing.assert_allclose(spelled["std_err"], draws.params[names].std(), rtol=1e-9)
    by_function = draws.contrast(lambda v: v.U[1])
    np.testing.assert_allclose(by_function["std_err"], spelled["std_err"], rtol=1e-9)
    two = hja.HJAModel.from_comparisons(data, rank=2).fit().bootstrap(30)
    assert (two.params["U[judge-2,1]"] * two.params["U[judge-2,1]"].iloc[0] > 0).mean() > 0.9
