"""What a user holds after a fit."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import hjastats as hja


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
    # Not by the result itself, which keeps the name of the outcome from the first time.
    text = hja.HJAModel.from_comparisons(panel, rank=1).fit().summary().tables[2].as_text()
    result = hja.HJAModel.from_comparisons(panel, rank=1).fit()
    size = len(pickle.dumps(result))
    result.remove_data()
    assert result.model.comparisons is None
    assert result.model.endog is None
    assert len(pickle.dumps(result)) < size / 2
    assert result.summary().tables[2].as_text() == text
    assert "Warnings" in str(result.summary())
    assert result.predict(judge="judge-1", item_a="model-A", item_b="model-B").shape == (1,)
    assert result.judges.score_errors().notna().all().all()
