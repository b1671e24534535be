"""Predictions with intervals: averages against statsmodels, emmeans and a numerical delta method."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.optimize import approx_fprime

import hjastats as hja
from hjastats.errors import ComparisonError, ContrastError, OptionError

# Of derivatives by differences.
BY_DIFFERENCES = 1e-5


def _numerical(result, predict):
    """Standard errors of a vector of predictions by differences in the free coordinates at the estimate."""
    model, at = result.model, result.fit.params
    free = model.untransform_params(at, at=at)
    n = len(np.atleast_1d(predict(at)))
    gradient = np.stack(
        [
            approx_fprime(free, lambda x, i=i: np.atleast_1d(predict(model.transform_params(x, at=at)))[i], 1e-6)
            for i in range(n)
        ]
    )
    return np.sqrt(np.diag(gradient @ result.fit.covariance.covariance @ gradient.T))


@pytest.fixture(scope="module")
def davidson(tied_panel):
    return hja.HJAModel.from_comparisons(tied_panel, rank=1, position="judge", ties="davidson", tie="judge").fit()


@pytest.mark.parametrize("which", ["mean", "decided", "linear", "first", "tie", "second"])
def test_averages_over_judges_have_the_errors_of_a_numerical_delta_method(davidson, which):
    grid = {"judge": "*", "item_a": "item-1", "item_b": ["item-2", "item-5"]}
    table = davidson.get_prediction(**grid, which=which, average="judge").summary_frame()
    assert table.index.tolist() == [("item-1", "item-2"), ("item-1", "item-5")]

    def averaged(params):
        asked = which if which in ("mean", "decided", "linear") else "probs"
        single = davidson.model.predict(params, **grid, which=asked)
        single = single[which] if asked == "probs" else single
        return single.groupby(level=["item_a", "item_b"]).mean().to_numpy()

    np.testing.assert_allclose(table["predicted"], averaged(davidson.fit.params), rtol=1e-12)
    np.testing.assert_allclose(table["se"], _numerical(davidson, averaged), rtol=BY_DIFFERENCES)
    half = 1.959963984540054 * table["se"]
    if which == "linear":
        np.testing.assert_allclose(table["ci_upper"], table["predicted"] + half, rtol=1e-12)
    else:
        p = table["predicted"]
        np.testing.assert_allclose(
            np.log(table["ci_lower"] / (1 - table["ci_lower"])), np.log(p / (1 - p)) - half / (p * (1 - p)), rtol=1e-9
        )


def test_all_verdicts_of_a_grid_stand_below_each_other(davidson):
    grid = {"judge": ["judge-1", "judge-3"], "item_a": "item-1", "item_b": "*", "position": False}
    table = davidson.get_prediction(**grid, which="probs").summary_frame()
    assert table.index.names == ["judge", "item_a", "item_b", "verdict"]
    assert len(table) == 2 * 5 * 3
    single = davidson.predict(**grid, which="probs")
    assert single.columns.tolist() == ["first", "tie", "second"]
    np.testing.assert_allclose(table["predicted"].to_numpy().reshape(-1, 3), single, rtol=1e-12)
    np.testing.assert_allclose(single.sum(axis=1), 1.0)
    for verdict in ("first", "tie", "second"):
        one = davidson.get_prediction(**grid, which=verdict).summary_frame()
        pd.testing.assert_frame_equal(table.xs(verdict, level="verdict"), one)
    over = davidson.get_prediction(**grid, which="probs", average=["judge", "item_b"]).summary_frame()
    np.testing.assert_allclose(over["predicted"], single.mean(), rtol=1e-12)


def test_averages_of_pooled_models_are_those_of_a_logit(tied_panel):
    decided = tied_panel.subset(tied_panel.outcome != 0.5)
    result = hja.BTLModel.from_comparisons(decided, exog=["length"], position="common").fit()
    n, rows = decided.n_rows, np.arange(decided.n_rows)
    x = np.zeros((n, decided.n_items))
    x[rows, decided.first_index], x[rows, decided.second_index] = 1.0, -1.0
    x = np.column_stack([decided.columns["length"], np.ones(n), x[:, 1:]])
    logit = sm.Logit(decided.outcome, x).fit(disp=0)
    ours, theirs = result.get_prediction(average=True), logit.get_prediction(average=True)
    np.testing.assert_allclose(ours.predicted, theirs.predicted, rtol=1e-8)
    np.testing.assert_allclose(ours.se, theirs.se, rtol=1e-6)
    assert ours.summary_frame().index.tolist() == ["average"]
    # Weights are numbers of comparisons.
    frame = decided.to_frame()
    twice = hja.BTLModel(
        frame["outcome"], judge=frame["judge"], item_a=frame["first"], item_b=frame["second"], weights=1 + rows % 2
    ).fit()
    apart = twice.model.predict(twice.fit.params)
    assert twice.get_prediction(average=True).predicted[0] == pytest.approx(np.average(apart, weights=1 + rows % 2))


def test_averages_are_those_of_emmeans():
    """Four judges on two items: judge-wise BTL is a logistic regression on judges, which emmeans averages.

    R 4.2.2, emmeans 1.8.4: ``g <- glm(win ~ judge + x, binomial); emmeans(g, ~ 1, at = list(x = 0.5))`` for log-odds and with
    ``regrid = "response"`` for probabilities. The data are those below.
    """
    judge, x = np.repeat(list("abcd"), 30), np.tile(np.arange(-2.0, 3.0), 24)
    win = (np.arange(120) * 7 % 11 < np.repeat([4, 6, 7, 8], 30)).astype(float)
    result = hja.JudgewiseBTLModel(win, x[:, None], judge=judge, item_a=["i"] * 120, item_b=["j"] * 120).fit()
    asked = {"exog": [[0.5]], "judge": "*", "item_a": "i", "item_b": "j", "average": "judge"}
    linear, mean = (result.get_prediction(**asked, which=which).summary_frame().iloc[0] for which in ("linear", "mean"))
    np.testing.assert_allclose(linear[["predicted", "se"]].astype(float), EMMEANS["link"], rtol=1e-5)
    np.testing.assert_allclose(mean[["predicted", "se"]].astype(float), EMMEANS["response"], rtol=1e-5)


# Estimate and standard error.
EMMEANS = {"link": (0.192244223451, 0.201346227948), "response": (0.546062454488, 0.0466235240392)}


def test_options_that_make_no_sense_are_refused(davidson, tied_panel):
    pair = {"judge": "judge-1", "item_a": "item-1", "item_b": "item-2"}
    with pytest.raises(OptionError, match="average must be True, False or some of"):
        davidson.get_prediction(**pair, average="prompt")
    with pytest.raises(OptionError, match="one for each of the 1 predictions, got 2"):
        davidson.get_prediction(**pair, row_labels=["a", "b"])
    over = davidson.get_prediction(judge="*", item_a="item-1", item_b="item-2", average="judge", row_labels=["panel"])
    assert over.summary_frame().index.tolist() == ["panel"]
    with pytest.raises(ContrastError, match="which must be one of"):
        davidson.get_prediction(**pair, which="median")
    with pytest.raises(ComparisonError, match="no pair of two different items"):
        davidson.predict(judge="*", item_a="item-1", item_b="item-1")
    slopes = hja.BTLModel.from_comparisons(tied_panel, exog=["length"]).fit()
    with pytest.raises(ComparisonError, match="the same covariates: pass one row, got 2"):
        slopes.predict([[1.0], [2.0]], item_a="*", item_b="item-1")
    every = slopes.predict([[1.0]], item_a="*", item_b="item-1")
    assert every.index.get_level_values("item_a").tolist() == [f"item-{i}" for i in range(2, 7)]


def test_large_grids_are_worked_out_in_parts(davidson, set_limits):
    grid = {"judge": "*", "item_a": "*", "item_b": "*", "which": "probs"}
    whole = [davidson.get_prediction(**grid, average=average).summary_frame() for average in (False, "judge")]
    set_limits(ENTRIES_AT_ONCE=300)
    parts = [davidson.get_prediction(**grid, average=average).summary_frame() for average in (False, "judge")]
    for one, other in zip(whole, parts, strict=True):
        pd.testing.assert_frame_equal(one, other)
