"""Formulas: frames of later days are read as that of the data was, whichever engine made the design, and models are updated."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import statsmodels.formula

import hjastats as hja
from hjastats.errors import ComparisonError, OptionError

ROLES = {"judge": "rater", "item_a": "left", "item_b": "right"}


def halved(x):
    """A function of the user's own, which both engines have to find."""
    return x / 2.0


@pytest.fixture
def frame(tied_panel):
    frame = tied_panel.to_frame().drop(columns="weight")
    frame = frame.rename(columns={"judge": "rater", "first": "left", "second": "right"})
    topic = np.random.default_rng(0).choice(["code", "math", "text"], len(frame))
    return frame.assign(topic=topic, won=frame["outcome"] > 0.4).set_index(
        pd.Index([f"row{i}" for i in range(len(frame))])
    )


@pytest.fixture(params=["patsy", "formulaic"])
def engine(request):
    before = statsmodels.formula.options.formula_engine
    statsmodels.formula.options.formula_engine = request.param
    yield request.param
    statsmodels.formula.options.formula_engine = before


RELATIVES = {
    "itself": lambda model: model,
    "with_rank": lambda model: model.with_rank(1),
    "pooled": lambda model: model.pooled(),
    "with_position": lambda model: model.with_position("judge"),
    "without_term": lambda model: model.without_term("C(topic)"),
    "updated": lambda model: model.update("~ . - C(topic)", position=None),
    "pickled": lambda model: pickle.loads(pickle.dumps(model)),
}


@pytest.mark.parametrize("relative", RELATIVES)
def test_a_model_and_its_relatives_predict_from_the_frame_they_were_made_of(frame, engine, relative):
    model = hja.JAModel.from_formula(
        "outcome ~ center(length) + C(topic)", frame, judge_exog="0 + halved(length):C(topic)", **ROLES
    )
    model = RELATIVES[relative](model)
    result = model.fit(warn_convergence=False)
    assert result.fittedvalues.index.equals(frame.index)
    assert model.endog_names == "outcome"
    some = frame.iloc[[5, 900, 17]]
    predicted = result.predict(some)
    assert predicted.index.equals(some.index)
    np.testing.assert_allclose(predicted, result.fittedvalues.loc[some.index], rtol=1e-12)
    probabilities = result.predict(some, which="probs")
    assert probabilities.index.equals(some.index)
    assert result.get_prediction(some).summary_frame().index.equals(some.index)
    assert result.get_prediction(some, row_labels=list("abc")).summary_frame().index.tolist() == list("abc")


def test_engines_agree(frame):
    fits = []
    for engine in ("patsy", "formulaic"):
        statsmodels.formula.options.formula_engine = engine
        fits.append(hja.BTLModel.from_formula("outcome ~ 0 + length + C(topic)", frame, **ROLES).fit())
    statsmodels.formula.options.formula_engine = "patsy"
    assert fits[0].llf == pytest.approx(fits[1].llf, abs=1e-9)
    for result in fits:
        assert list(result.wald_test_terms().table.index[:2]) == ["C(topic)", "length"]
        # Made by one engine, read by it although another is in use by now.
        np.testing.assert_allclose(result.predict(frame.head(3)), result.fittedvalues.head(3), rtol=1e-12)


def test_levels_that_the_data_do_not_have_are_refused(frame, engine):
    result = hja.BTLModel.from_formula("outcome ~ 0 + C(topic)", frame, **ROLES).fit()
    with pytest.raises(ComparisonError, match=r"cannot build '0 \+ C\(topic\)' for the new data"):
        result.predict(frame.head(2).assign(topic="poetry"))
    with pytest.raises(ComparisonError, match="for the new data"):
        result.predict(frame.head(2).drop(columns="topic"))


@pytest.mark.parametrize("engine_of", [pl.DataFrame, lambda f: pl.DataFrame(f).lazy(), pa.Table.from_pandas, dict])
def test_frames_of_other_engines_give_the_same_fit_and_predictions(frame, engine_of):
    plain = frame.reset_index(drop=True)
    formula = "outcome ~ 0 + length + C(topic)"
    here = hja.JAModel.from_formula(formula, plain, **ROLES).fit()
    there = hja.JAModel.from_formula(formula, engine_of(plain), **ROLES).fit()
    np.testing.assert_allclose(there.params, here.params, atol=1e-12)
    predicted = there.predict(engine_of(plain.head(4)))
    assert isinstance(predicted, pd.Series)
    np.testing.assert_allclose(predicted, here.fittedvalues.head(4), rtol=1e-10)
    np.testing.assert_array_equal(
        there.simulate(engine_of(plain.head(40)), rng=0).outcome, here.simulate(plain.head(40), rng=0).outcome
    )


@pytest.mark.parametrize("left", ["won", "outcome > 0.4"])
def test_a_left_side_may_be_true_or_false(frame, engine, left):
    as_number = hja.JAModel.from_formula("w ~ 0 + length", frame.assign(w=frame["won"] * 1.0), **ROLES).fit()
    if engine == "formulaic" and " " in left:
        left = f"{{{left}}}"
    model = hja.JAModel.from_formula(f"{left} ~ 0 + length", frame, **ROLES)
    assert model.endog_names == left.strip("{}")
    np.testing.assert_allclose(model.fit().params, as_number.params, atol=1e-10)
    assert pickle.loads(pickle.dumps(model)).predict(as_number.params, frame.head(1)).notna().all()
    with pytest.raises(ComparisonError, match="holds labels"):
        hja.JAModel.from_formula("topic ~ 0 + length", frame, **ROLES)


def test_columns_of_the_roles_come_first_and_are_named_when_missing(frame):
    result = hja.JAModel.from_formula("outcome ~ 0", frame, **ROLES).fit()
    misleading = frame.head(3).assign(first=frame["right"].head(3), second=frame["left"].head(3))
    np.testing.assert_allclose(result.predict(misleading), result.fittedvalues.head(3), rtol=1e-12)
    usual = frame.head(3).rename(columns={"rater": "judge", "left": "first", "right": "second"})
    np.testing.assert_allclose(result.predict(usual), result.fittedvalues.head(3), rtol=1e-12)
    with pytest.raises(ComparisonError, match="needs columns rater, left and right"):
        result.predict(frame.head(3).drop(columns="rater"))


def test_rows_that_were_left_out_do_not_shift_the_labels(frame, engine):
    gaps = frame.assign(length=frame["length"].astype(float).where(np.arange(len(frame)) % 7 > 0))
    with pytest.raises(ComparisonError, match=r"cannot build 'outcome ~ 0 . length'.*missing='drop'"):
        hja.BTLModel.from_formula("outcome ~ 0 + length", gaps, **ROLES)
    result = hja.BTLModel.from_formula("outcome ~ 0 + length", gaps, missing="drop", **ROLES).fit()
    assert result.fittedvalues.index.equals(gaps.dropna().index)
    assert result.resid_pearson.index.equals(gaps.dropna().index)
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_allclose(again.predict(gaps.dropna()), result.fittedvalues, rtol=1e-12)


# Change, and the formula that means the same.
CHANGES = {
    "~ . + tone": "outcome ~ length + C(topic) + tone",
    "~ . - C(topic)": "outcome ~ length",
    "~ . - 1": "outcome ~ 0 + length + C(topic)",
    "~ . - length + np.abs(length)": "outcome ~ C(topic) + np.abs(length)",
    "~ .:tone": "outcome ~ (length + C(topic)):tone",
    "~ 0 + tone": "outcome ~ 0 + tone",
    ". ~ 1": "outcome ~ 1",
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_updated_model_is_that_of_the_formula_written_out(frame, change):
    frame = frame.assign(tone=np.random.default_rng(1).normal(size=len(frame)))
    model = hja.BTLModel.from_formula("outcome ~ length + C(topic)", frame, **ROLES)
    updated = model.update(change)
    expected = hja.BTLModel.from_formula(CHANGES[change], frame, **ROLES)
    assert sorted(updated.exog_names or []) == sorted(expected.exog_names or [])
    assert updated.position == expected.position
    assert updated.fit().llf == pytest.approx(expected.fit().llf, abs=1e-9)


def test_models_without_a_formula_are_updated_too(tied_panel):
    model = hja.JAModel.from_comparisons(tied_panel, exog=["length"], position="judge")
    updated = model.update("~ . + C(prompt > 20)", ties="davidson")
    assert updated.exog_names == ["C(prompt > 20)[False]", "C(prompt > 20)[True]", "length"]
    assert (updated.position, updated.ties) == ("judge", "davidson")
    assert model.update(position=None).position is None
    with pytest.raises(ComparisonError, match="nothing is called 'nothing'; there are 'judge'"):
        model.update("~ . + nothing")
    for change in ("outcome > 0 ~ .", "length"):
        with pytest.raises(OptionError, match="keeps the verdicts"):
            model.update(change)


def test_position_per_judge_outlives_an_update_of_a_formula_with_an_intercept(frame):
    model = hja.BTLModel.from_formula("outcome ~ length", frame, **ROLES).with_position("judge")
    assert model.update("~ . + C(topic)").position == "judge"
