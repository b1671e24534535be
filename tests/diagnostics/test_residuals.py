"""Pearson and deviance residuals, against a GLM and by hand."""

import numpy as np
import pytest
import statsmodels.api as sm

import hjastats as hja


def _glm(data):
    """The pooled model as a generalised linear model, weights as frequencies."""
    rows, x = np.arange(data.n_rows), np.zeros((data.n_rows, data.n_items))
    x[rows, data.first_index], x[rows, data.second_index] = 1.0, -1.0
    x = np.column_stack([np.ones(data.n_rows), x[:, 1:]])
    family = sm.families.Binomial()
    return sm.GLM(data.outcome, x, family=family, freq_weights=data.weight).fit(tol=1e-14, maxiter=200)


@pytest.mark.parametrize("ties", ["drop", "half"])
def test_residuals_of_pooled_models_are_those_of_a_glm(tied_panel, ties):
    frame = tied_panel.to_frame()
    weights = 1.0 + np.arange(len(frame)) % 3
    data = hja.Comparisons.from_arrays(
        frame["judge"], frame["first"], frame["second"], frame["outcome"], weights, counts=False
    )
    result = hja.BTLModel.from_comparisons(data, position="common", ties=ties).fit()
    glm = _glm(result.model.comparisons)
    np.testing.assert_allclose(result.resid_pearson, glm.resid_pearson, atol=1e-7)
    np.testing.assert_allclose(result.resid_dev, glm.resid_deviance, atol=1e-7)
    np.testing.assert_allclose(result.resid, glm.resid_response, atol=1e-7)


def test_residuals_where_ties_are_an_outcome(tied_panel):
    result = hja.JAModel.from_comparisons(tied_panel, ties="davidson", position="judge").fit()
    outcome, chances = tied_panel.outcome, result.predict(which="probs")
    mean = chances["first"] + chances["tie"] / 2
    variance = chances["first"] + chances["tie"] / 4 - mean**2
    np.testing.assert_allclose(result.resid_pearson, (outcome - mean) / np.sqrt(variance), rtol=1e-10)
    # Every verdict is one: nothing is lost to entropy, and the squares add up to the deviance.
    assert (result.resid_dev**2).sum() == pytest.approx(-2 * result.llf)
    # The first items lost and won as often as expected, judge by judge.
    assert np.abs(result.resid.groupby(tied_panel.judge_index).sum()).max() < 1e-5
