"""Predicted and simulated verdicts."""

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.errors import ComparisonError
from tests.panels import arguments


def test_predictions_follow_the_scores(small_panel):
    result = hja.HJAModel.from_comparisons(small_panel, rank=1, position="judge").fit()
    eta = result.predict(judge="judge-2", item_a="item-1", item_b="item-4", which="linear")[0]
    expected = result.scores.loc["judge-2", "item-1"] - result.scores.loc["judge-2", "item-4"]
    assert eta == pytest.approx(expected + result.position.loc["judge-2", "estimate"])
    many = result.predict(judge=["judge-1", "judge-2"], item_a="item-1", item_b="item-4")
    assert many.shape == (2,)
    assert ((many > 0) & (many < 1)).all()
    np.testing.assert_allclose(result.fittedvalues.sum(), small_panel.outcome.sum(), rtol=1e-7)


def test_predictions_with_and_without_the_advantage_of_position(tied_panel):
    result = hja.HJAModel.from_comparisons(tied_panel, rank=1, position="judge", ties="davidson").fit()
    new = {"judge": "judge-1", "item_a": "item-1", "item_b": "item-2"}
    with_it, without = result.predict(which="linear", **new), result.predict(which="linear", position=False, **new)
    assert with_it - without == pytest.approx(result.position.loc["judge-1", "estimate"])
    reverse = {"judge": "judge-1", "item_a": "item-2", "item_b": "item-1"}
    assert result.predict(position=False, **new) == pytest.approx(1 - result.predict(position=False, **reverse))
    probabilities = result.predict(which="probs", **new)
    assert list(probabilities.columns) == ["first", "tie", "second"]
    assert probabilities.sum(axis=1).iloc[0] == pytest.approx(1)
    assert result.predict(**new)[0] == pytest.approx((probabilities["first"] + probabilities["tie"] / 2).iloc[0])
    with pytest.raises(ValueError, match="which must be"):
        result.predict(which="median", **new)


def test_predictions_need_the_covariates_of_the_model(tied_panel):
    result = hja.JAModel.from_comparisons(tied_panel, exog=["length"], judge_exog=tied_panel.columns[["prompt"]]).fit()
    frame = tied_panel.to_frame().head(4)
    np.testing.assert_allclose(result.predict(frame), result.fittedvalues[:4])
    new = {"judge": "judge-1", "item_a": "item-1", "item_b": "item-2"}
    with pytest.raises(ComparisonError, match="pass exog"):
        result.predict(**new)
    with pytest.raises(ComparisonError, match="pass judge_exog"):
        result.predict([[1.0]], **new)
    with pytest.raises(ComparisonError, match="1 rows and 1 columns"):
        result.predict([[1.0, 2.0]], judge_exog=[[1.0]], **new)


def test_simulated_verdicts_follow_the_model(tied_panel):
    model = hja.JAModel.from_comparisons(tied_panel, ties="davidson", tie="judge", position="judge")
    result = model.fit()
    drawn = model.simulate(result.params, rng=0)
    assert drawn.n_comparisons == tied_panel.n_comparisons
    again = hja.JAModel.from_comparisons(drawn, ties="davidson", tie="judge", position="judge").fit()
    # Differences between two fits to independent panels from the same model, in their standard errors.
    assert np.abs((again.params - result.params) / (np.sqrt(2) * result.bse)).max() < 4
    design = pd.DataFrame({"judge": ["judge-1"] * 4000, "item_a": "item-1", "item_b": "item-2"})
    shares = model.simulate(result.params, design, rng=1).outcome
    expected = result.predict(judge="judge-1", item_a="item-1", item_b="item-2", which="probs").iloc[0]
    # Four standard errors of a share of 4,000.
    assert np.mean(shares == 0.5) == pytest.approx(expected["tie"], abs=0.032)
    assert np.mean(shares == 1) == pytest.approx(expected["first"], abs=0.032)
    plain = hja.BTLModel.from_comparisons(tied_panel)
    assert set(plain.simulate(plain.fit().params, rng=0).outcome) == {0.0, 1.0}


def test_style_differences_keep_the_scale_of_the_data_in_predictions(tied_panel):
    from hjastats import style_difference  # noqa: F401  (used inside the formula)

    frame = tied_panel.to_frame().assign(a=lambda f: 100 + 20 * f["length"], b=100)
    names = {"judge": "judge", "item_a": "first", "item_b": "second"}
    result = hja.BTLModel.from_formula("outcome ~ 0 + style_difference(a, b)", frame, **names).fit()
    np.testing.assert_allclose(result.predict(frame.iloc[[7]]), result.fittedvalues[[7]])


def test_prediction_intervals_know_position_and_judge_slopes(tied_panel):
    result = hja.JAModel.from_comparisons(tied_panel, judge_exog=["length"], position="judge").fit()
    new = {"judge": "judge-1", "item_a": "item-1", "item_b": "item-2", "judge_exog": [[2.0]]}
    for position in (True, False):
        table = result.get_prediction(position=position, **new).summary_frame()
        assert table["predicted"].iloc[0] == pytest.approx(result.predict(position=position, **new)[0])


def test_simulated_verdicts_keep_the_columns_and_refuse_fractions(tied_panel):
    model = hja.JAModel.from_comparisons(tied_panel, exog=["length"])
    drawn = model.simulate(model.fit().params, rng=0)
    assert list(drawn.columns["length"]) == list(tied_panel.columns["length"])
    frame = tied_panel.to_frame()
    halves = hja.BTLModel(frame["outcome"], weights=np.full(len(frame), 1.4), **arguments(frame))
    with pytest.raises(ComparisonError, match="whole numbers"):
        halves.simulate(halves.fit(warn_convergence=False).params)


def test_a_model_in_which_judges_are_alike_needs_no_judge(small_panel):
    result = hja.BTLModel.from_comparisons(small_panel).fit()
    pair = {"item_a": "item-1", "item_b": "item-4"}
    expected = result.predict(judge="judge-2", **pair)
    np.testing.assert_array_equal(result.predict(**pair), expected)
    np.testing.assert_array_equal(result.predict(pd.DataFrame([pair])), expected)
    np.testing.assert_array_equal(result.predict(pd.DataFrame([pair | {"judge": "nobody yet"}])), expected)
    np.testing.assert_array_equal(result.predict(judge="nobody yet", **pair), expected)
    own = hja.BTLModel.from_comparisons(small_panel, position="judge").fit()
    with pytest.raises(ComparisonError, match="new comparisons need judge"):
        own.predict(**pair)


def test_labels_and_covariates_of_new_comparisons_share_their_index(tied_panel):
    result = hja.JAModel.from_comparisons(tied_panel, exog=["length"]).fit()
    frame = tied_panel.to_frame().head(4)
    labels = {"judge": frame["judge"], "item_a": frame["first"], "item_b": frame["second"]}
    np.testing.assert_allclose(result.predict(frame[["length"]], **labels), result.fittedvalues[:4])
    with pytest.raises(ComparisonError, match="exog and judge have different indices"):
        result.predict(frame[["length"]].iloc[::-1], **labels)
    with pytest.raises(ComparisonError, match="item_b and judge have different indices"):
        result.predict(frame[["length"]], **labels | {"item_b": frame["second"].iloc[::-1]})
