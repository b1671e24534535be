import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.iolib.summary2 import summary_col

import hjastats as hja
from hjastats.diagnostics import findings


@pytest.fixture(scope="module")
def result(panel):
    return hja.HJAModel.from_comparisons(panel, rank=1).fit()


def test_parameters_are_labelled_and_on_the_natural_scale(result):
    assert list(result.params.index[:2]) == ["gamma[judge-1]", "gamma[judge-2]"]
    assert list(result.bse.index) == list(result.params.index) == list(result.cov_params().index)
    assert result.params.filter(like="gamma[").mean() == pytest.approx(1.0, abs=1e-10)
    assert result.params.filter(like="mu[").sum() == pytest.approx(0.0, abs=1e-10)
    np.testing.assert_allclose(result.tvalues, result.params / result.bse)
    np.testing.assert_allclose(result.conf_int()[0], result.params - stats.norm.ppf(0.975) * result.bse)


def test_scores_are_the_sum_of_consensus_and_disagreement(result):
    gamma, mu = result.sensitivity["estimate"], result.consensus["estimate"]
    rebuilt = pd.DataFrame(np.outer(gamma, mu), gamma.index, mu.index)[result.scores.columns] + result.disagreement
    np.testing.assert_allclose(rebuilt, result.scores, atol=1e-10)


def test_covariance_is_that_of_the_free_coordinates_carried_over(result):
    model, params = result.model, result.params.to_numpy()
    free = model.untransform_params(params, at=params)
    jacobian = model.transform_jacobian(free, at=params)
    covariance = jacobian @ np.linalg.inv(model.information(params)) @ jacobian.T
    np.testing.assert_allclose(result.cov_params(), covariance, atol=1e-10)
    np.testing.assert_allclose(result.fit.params_free, free, atol=1e-8)
    assert np.linalg.matrix_rank(result.cov_params()) == result.df_model


def test_constrained_combinations_have_no_variance(result):
    covariance = result.cov_params()
    for kind in ("gamma", "mu", "U", "V"):
        ones = np.array([name.startswith(f"{kind}[") for name in covariance.index], dtype=float)
        assert abs(ones @ covariance.to_numpy() @ ones) < 1e-10


def test_observed_information_gives_other_standard_errors(panel, result):
    observed = hja.HJAModel.from_comparisons(panel, rank=1).fit(information="observed")
    np.testing.assert_allclose(observed.params, result.params)
    ratio = observed.bse / result.bse
    assert 0.7 < ratio.min() < ratio.max() < 1.4
    assert np.abs(ratio - 1).max() > 1e-3
    numerical = np.linalg.inv(-observed.model.hessian_free(observed.params))
    np.testing.assert_allclose(observed.fit.covariance.covariance, numerical, atol=1e-10)


def test_tables_name_what_they_hold(result):
    assert list(result.consensus.columns) == ["estimate", "std_err", "ci_lower", "ci_upper"]
    assert list(result.sensitivity.columns) == ["estimate", "std_err", "z", "p_value", "ci_lower", "ci_upper"]
    assert result.consensus["estimate"].is_monotonic_decreasing
    z = (result.sensitivity["estimate"] - 1) / result.sensitivity["std_err"]
    np.testing.assert_allclose(result.sensitivity["z"], z)
    np.testing.assert_allclose(result.sensitivity["p_value"], 2 * stats.norm.sf(abs(z)))
    assert result.position.empty
    assert result.judges.leverage().loc["judge-noise", "h"] < result.judges.leverage()["h"].median()


def test_pooled_models_report_constant_sensitivity(panel):
    result = hja.BTLModel.from_comparisons(panel).fit()
    assert (result.sensitivity["estimate"] == 1).all()
    assert result.sensitivity["p_value"].isna().all()
    assert (result.disagreement.abs() < 1e-12).all().all()
    assert result.scores.std().max() < 1e-12
    assert not result.params.index.str.startswith("gamma").any()


def test_judgewise_models_derive_consensus_and_sensitivity(panel):
    result = hja.JudgewiseBTLModel.from_comparisons(panel).fit()
    np.testing.assert_allclose(result.consensus["estimate"], result.scores.mean().sort_values(ascending=False))
    assert result.sensitivity["estimate"].mean() == pytest.approx(1.0)
    assert (result.sensitivity["std_err"] > 0).all()
    bse = result.bse.to_numpy().reshape(8, 10)
    np.testing.assert_allclose(result.judges.score_errors(), bse, rtol=1e-9)


def test_likelihood_figures(result):
    assert result.llnull == pytest.approx(-np.log(2) * 3200)
    assert result.llr == pytest.approx(2 * (result.llf - result.llnull))
    assert 0 < result.prsquared < 1
    assert np.isnan(result.llr_pvalue)
    pooled = hja.BTLModel.from_comparisons(result.model.comparisons).fit()
    assert pooled.llr_pvalue == pytest.approx(stats.chi2.sf(pooled.llr, 9))
    assert result.nobs == 3200
    assert result.df_resid == 3200 - result.df_model


def saved_and_loaded(result, tmp_path):
    path = tmp_path / "fit.pickle"
    result.save(path)
    return type(result).load(path)


def test_results_survive_pickling_saving_and_loading(result, panel, tmp_path):
    frame = panel.to_frame()
    formula = hja.JAModel.from_formula("outcome ~ 0", frame, judge="judge", item_a="first", item_b="second").fit()
    for original in (result, formula):
        for copy in (pickle.loads(pickle.dumps(original)), saved_and_loaded(original, tmp_path)):
            pd.testing.assert_series_equal(copy.params, original.params)
            pd.testing.assert_frame_equal(copy.cov_params(), original.cov_params())
            assert copy.summary().tables[1].as_text() == original.summary().tables[1].as_text()


def test_results_work_without_their_data(panel):
    result = hja.HJAModel.from_comparisons(panel, rank=1).fit()
    text = result.summary().tables[2].as_text()
    size = len(pickle.dumps(result))
    result.remove_data()
    assert result.model.comparisons is None
    assert result.model.endog is None
    assert len(pickle.dumps(result)) < size / 2
    assert result.summary().tables[2].as_text() == text
    assert "Warnings" in str(result.summary())
    assert result.predict(judge="judge-1", item_a="model-A", item_b="model-B").shape == (1,)
    assert result.judges.score_errors().notna().all().all()


def test_summaries_print_in_every_format(result):
    summary = result.summary()
    for text in (summary.as_text(), summary.as_html(), summary.as_csv(), summary.as_latex()):
        assert "judge-noise" in text
    assert "gamma = 1" in summary.as_text()


def test_summary_columns_stand_side_by_side(panel, result):
    ja = hja.JAModel.from_comparisons(panel).fit()
    assert "gamma[judge-noise]" in str(summary_col([ja, result], model_names=["JA", "HJA"]))


def test_wide_panels_are_cut_in_the_middle(result):
    text = str(result.summary(max_rows=4))
    assert "(4 more)" in text
    assert "(6 more)" in text
    assert "judge-1" in text
    assert "model-E" not in text


def test_long_labels_stay_within_a_hundred_and_ten_columns(panel):
    frame = panel.to_frame()
    frame["judge"] = "organisation-with-a-long-name/" + frame["judge"] + "-instruct-turbo-preview-2026"
    rows = {"judge": frame["judge"], "item_a": frame["first"], "item_b": frame["second"]}
    text = str(hja.HJAModel(frame["outcome"], rank=1, **rows).fit().summary())
    assert max(map(len, text.splitlines())) <= 110
    assert "...first..." in text


def test_every_condition_is_stated_either_way(panel, result):
    topics = {
        "convergence",
        "optima",
        "ties",
        "connectivity",
        "first share",
        "position test",
        "order",
        "dropped",
        "sensitivity",
        "leverage",
    }
    assert {finding.topic for finding in result.findings} == topics
    warned = {finding.topic: finding for finding in result.findings if finding.is_warning}
    assert "judge-first" in warned["first share"].text
    assert "position='judge'" in warned["position test"].text
    calm = hja.HJAModel.from_comparisons(panel.without_judges(["judge-first"]), rank=1).fit()
    assert not any(finding.is_warning for finding in calm.findings if finding.topic in ("first share", "position test"))


def test_score_test_of_position_agrees_with_the_likelihood_ratio_near_the_null(panel):
    calm = panel.without_judges(["judge-first"])
    plain = hja.JAModel.from_comparisons(calm).fit()
    position = hja.JAModel.from_comparisons(calm, position="judge").fit()
    text = next(finding.text for finding in plain.findings if finding.topic == "position test")
    statistic = float(text.split("chi2(7) = ")[1].split(",")[0])
    assert statistic == pytest.approx(2 * (position.llf - plain.llf), rel=0.1)


def test_what_a_penalised_fit_says_of_positions_is_penalised_too(panel):
    few = panel.subset(np.arange(panel.n_rows) % 16 == 0)
    result = hja.JAModel.from_comparisons(few).fit_regularized(alpha=1.0, terms=True)
    diagnosis = result.diagnose()
    other = result.model.with_position("judge").fit_regularized(alpha=1.0, terms=True)
    np.testing.assert_allclose(diagnosis.judges["position"].astype(float), other.position["estimate"], rtol=1e-6)
    assert diagnosis.position_test is None


def _finding(result, topic):
    return next(finding for finding in result.findings if finding.topic == topic)


def test_the_most_dominant_judges_are_named_first(result):
    leverage = pd.DataFrame(
        {"h": [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 5.0, 9.0, 6.0, 7.0], "rho": [0.1] * 6 + [2.0] * 4},
        [f"j{i}" for i in range(10)],
    )
    text = findings._dominance(SimpleNamespace(leverage=lambda: leverage)).text
    assert "dominated by 'j7' (h = 9.00), 'j9' (h = 7.00), 'j8' (h = 6.00) and 1 more, against" in text


def test_pairs_compared_once_cannot_be_shown_in_both_orders():
    rng = np.random.default_rng(0)
    pairs = np.array([(i, j) for i in range(40) for j in range(i)])
    once = pairs[rng.permutation(len(pairs))[:400]]
    order = rng.random(len(once)) < 0.5
    first, second = np.where(order, once[:, 0], once[:, 1]), np.where(order, once[:, 1], once[:, 0])
    # A few are shown again, half of them the other way round.
    first, second = np.r_[first, first[:30], second[:30]], np.r_[second, second[:30], first[:30]]
    data = hja.Comparisons.from_arrays(
        "judge", first.astype(str), second.astype(str), rng.integers(0, 2, len(first)).astype(float)
    )
    result = hja.BTLModel.from_comparisons(data).fit_regularized(1.0)
    found = _finding(result, "order")
    assert not found.is_warning
    assert found.text == "30 of the 30 pairs compared more than once were shown in both orders."


def test_of_many_judges_none_is_accused_by_chance():
    """Judges without any sensitivity to the consensus of the others: some intervals lie below zero, none after adjustment."""
    labels = [f"j{k}" for k in range(60)]
    rng = np.random.default_rng(3)
    gamma = rng.normal(size=60)
    gamma[0] = -9.0
    table = pd.DataFrame({"estimate": gamma, "std_err": 1.0}, labels)
    table["ci_lower"], table["ci_upper"] = table["estimate"] - 1.96, table["estimate"] + 1.96
    assert (table["ci_upper"] < 0).sum() > 1
    layout = SimpleNamespace(slices={"gamma": slice(0, 60)})
    told = SimpleNamespace(
        model=SimpleNamespace(layout=layout), has_consensus=True, is_withheld=lambda kind: False, sensitivity=table
    )
    (found,) = findings._sensitivities(told)
    assert "(gamma below zero, adjusted for 60 judges): 'j0'. " in found.text
    assert "cannot be told from zero (5" in found.text
