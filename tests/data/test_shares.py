"""Rows that stand for several verdicts: shares of wins, numbers of wins, rows of weight zero."""

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats import ComparisonError, Comparisons, read_comparisons

SHARES = pd.DataFrame(
    {
        "judge": ["j", "j", "j", "k"],
        "item_a": ["a", "b", "a", "b"],
        "item_b": ["b", "c", "c", "a"],
        "outcome": [0.6, 0.5, 0.75, 0.2],
        "weight": [90, 40, 60, 50],
    }
)
WINS = pd.DataFrame(
    {
        "judge": ["j", "j", "j", "k"],
        "item_a": ["a", "b", "a", "b"],
        "item_b": ["b", "c", "c", "a"],
        "won": [54, 20, 45, 10],
        "lost": [36, 20, 15, 40],
    }
)
COLUMNS = {"first_wins": "won", "second_wins": "lost"}


def verdicts():
    """The table with a row for every verdict."""
    rows = WINS.loc[WINS.index.repeat(WINS["won"] + WINS["lost"])]
    place = rows.groupby(level=0).cumcount()
    return rows.assign(outcome=(place < rows["won"]).astype(float))


def fields(frame):
    """Arguments of a model."""
    return {"judge": frame["judge"], "item_a": frame["item_a"], "item_b": frame["item_b"]}


def test_shares_with_weights_are_asked_about():
    message = r"first at row 1, counted from 1 \(0.6 with weight 90\). Pass counts=True if 0.6 is the share .* counts=False if"
    with pytest.raises(ComparisonError, match=message):
        read_comparisons(SHARES, codes="unit")
    with pytest.raises(ComparisonError, match=message):
        Comparisons.from_arrays(*(SHARES[name] for name in SHARES))
    with pytest.raises(ComparisonError, match=message):
        hja.BTLModel(SHARES["outcome"], weights=SHARES["weight"], **fields(SHARES))
    with pytest.raises(ComparisonError, match=message):
        hja.BTLModel.from_formula(
            "outcome ~ 0", SHARES, weights="weight", judge="judge", item_a="item_a", item_b="item_b"
        )


@pytest.mark.parametrize("cov_type", ["nonrobust", "HC0"])
def test_shares_that_are_counts_have_the_errors_of_their_verdicts(cov_type):
    raw = verdicts()
    expected = hja.BTLModel(raw["outcome"], **fields(raw)).fit(cov_type=cov_type)
    formula = {"judge": "judge", "item_a": "item_a", "item_b": "item_b", "weights": "weight", "counts": True}
    for model in (
        hja.BTLModel.from_comparisons(read_comparisons(SHARES, codes="unit", counts=True)),
        hja.BTLModel(SHARES["outcome"], weights=SHARES["weight"], counts=True, **fields(SHARES)),
        hja.BTLModel.from_formula("outcome ~ 0", SHARES, **formula),
        hja.BTLModel.from_comparisons(read_comparisons(WINS, **COLUMNS)),
    ):
        result = model.fit(cov_type=cov_type)
        np.testing.assert_allclose(result.params, expected.params, atol=1e-7)
        np.testing.assert_allclose(result.bse, expected.bse, rtol=1e-6)
        assert (result.nobs, round(result.llf, 6)) == (240, round(expected.llf, 6))


def test_covariates_of_shares_go_with_both_halves():
    x = pd.Series([1.0, -1.0, 0.5, 0.0])
    raw = verdicts()
    expected = hja.BTLModel(raw["outcome"], x.loc[raw.index].rename("x"), **fields(raw)).fit()
    model = hja.BTLModel(SHARES["outcome"], x.rename("x"), weights=SHARES["weight"], counts=True, **fields(SHARES))
    np.testing.assert_allclose(model.fit().params, expected.params, atol=1e-7)
    np.testing.assert_allclose(model.fit().bse, expected.bse, rtol=1e-6)


def test_preferences_that_were_given_several_times_stay_preferences():
    data = read_comparisons(SHARES, codes="unit", counts=False)
    assert data.outcome.tolist() == SHARES["outcome"].tolist()
    result = hja.BTLModel.from_comparisons(data).fit()
    again = hja.load_results(result.to_json())
    np.testing.assert_allclose(again.bse, result.bse)
    assert data.subset(data.judge_index == 0).n_comparisons == 190
    assert data.pool_rare_judges(100).judges == ("j", "others")
    assert len(result.bootstrap(20, kind="rows", rng=0).params) == 20


def test_preferences_without_weights_and_ties_with_them_need_no_word():
    assert read_comparisons(SHARES.drop(columns="weight"), codes="unit").n_comparisons == 4
    assert Comparisons.from_arrays("j", ["a", "b"], ["b", "c"], [0.5, 1], [4, 3]).outcome.tolist() == [0.5, 1.0]
    assert Comparisons.from_arrays("j", ["a", "b"], ["b", "c"], [0.7, 1], [0.4, 3]).outcome.tolist() == [0.7, 1.0]


@pytest.mark.parametrize(("share", "weight"), [(0.6, 91), (0.5, 1), (0.6, 2.5)])
def test_shares_of_no_whole_number_of_wins_are_refused(share, weight):
    message = rf"no whole numbers of wins, first at row 2, counted from 1 \({share} of {weight}\): .* first_wins="
    with pytest.raises(ComparisonError, match=message):
        Comparisons.from_arrays("j", ["a", "b"], ["b", "c"], [0.5, share], [2, weight], counts=True)


def test_rounded_shares_give_whole_numbers():
    data = Comparisons.from_arrays("j", ["a", "b"], ["b", "c"], [0.667, 0.33], [3, 3], counts=True)
    assert data.weight.tolist() == [2.0, 1.0, 1.0, 2.0]


def test_preferences_counted_by_an_engine_need_no_word():
    polars = pytest.importorskip("polars")
    frame = polars.from_pandas(pd.concat([SHARES.drop(columns="weight")] * 3))
    assert read_comparisons(frame, codes="unit").weight.tolist() == [3.0] * 4
    with pytest.raises(ComparisonError, match=r"there are 3 \(0\.\d+ with weight \d+\)"):
        read_comparisons(polars.from_pandas(SHARES), codes="unit")
    counted = read_comparisons(polars.from_pandas(pd.concat([WINS] * 2)), **COLUMNS)
    assert counted.n_comparisons == 480


def test_importance_weights_keep_their_rows_in_an_engine():
    polars = pytest.importorskip("polars")
    frame = SHARES.assign(outcome="first", weight=[1.5, 2.0, 0.3, 0.3])
    frame = pd.concat([frame] * 2)
    data = read_comparisons(polars.from_pandas(frame))
    assert sorted(data.weight) == [0.3] * 4 + [1.5] * 2 + [4.0]
    assert sorted(read_comparisons(polars.from_pandas(frame.astype({"weight": str}))).weight) == sorted(data.weight)


def test_rows_of_weight_zero_are_left_out_and_counted():
    frame = SHARES.assign(weight=[90, 40, 0, 0], outcome=[0.6, 0.5, np.nan, np.nan])
    data = read_comparisons(frame, codes="unit", counts=True)
    assert (data.judges, data.n_comparisons, len(data.dropped)) == (("j",), 130, 0)
    assert "left out    2 rows without a verdict" in repr(data)
    model = hja.BTLModel(frame["outcome"], weights=frame["weight"], counts=True, **fields(frame))
    assert (model.comparisons.n_empty, model.nobs) == (2, 130)
    assert Comparisons.from_arrays("j", ["a", "b", "c"], ["b", "c", "a"], [1, 0, 1], [2, 0, 1]).weight.tolist() == [
        2,
        1,
    ]


def test_numbers_of_wins_losses_and_ties_are_read():
    data = read_comparisons(WINS.assign(drawn=[0, 2, 0, 1]), **COLUMNS, tied="drawn")
    ties = data.weight[data.outcome == 0.5]
    assert (data.n_comparisons, ties.tolist()) == (243, [2.0, 1.0])
    assert "drawn" not in data.columns


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"first_wins": "won"}, "got only first_wins=: numbers of verdicts need both first_wins= and second_wins="),
        ({"tied": "won"}, "got only tied="),
        (COLUMNS | {"outcome": "judge"}, "one column was given two roles|got both first_wins= and outcome="),
        (COLUMNS | {"weight": "x"}, "got both first_wins= and weight="),
        (
            COLUMNS | {"second_wins": "x"},
            "x must be finite and not negative; 1 values are not, first -1 at row 2, counted from 1",
        ),
        ({}, "no outcome column .* pass first_wins='won' and second_wins='lost'"),
    ],
)
def test_numbers_of_wins_that_cannot_be_read(options, message):
    with pytest.raises(ComparisonError, match=message):
        read_comparisons(WINS.assign(x=[1, -1, 0, 0]), **options)
