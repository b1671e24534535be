"""Coding, checks, subsets and the printed form of Comparisons."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hjastats.data.comparisons import Comparisons
from hjastats.errors import ComparisonError

# Weights and outcomes are multiples of 1/4, so that every sum below is exact.
QUARTERS = st.integers(0, 4).map(lambda k: k / 4)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["j", "k", "l"]),
        st.permutations(["gpt", "claude", "llama"]).map(lambda items: items[:2]),
        QUARTERS,
        st.integers(1, 8).map(lambda k: k / 4),
    ),
    min_size=1,
    max_size=15,
)


def comparisons(rows):
    judge, pair, outcome, weight = zip(*rows, strict=True)
    columns = pd.DataFrame({"row": range(len(rows))})
    first, second = zip(*pair, strict=True)
    return Comparisons.from_arrays(judge, first, second, outcome, weight, counts=False, columns=columns)


def small(**changes):
    fields = {"judge": ["j", "k"], "first": ["a", "b"], "second": ["b", "c"], "outcome": [1, 0.5], "weight": None}
    return Comparisons.from_arrays(**(fields | changes))


# Coding


def test_codes_point_to_the_sorted_labels():
    data = small(judge=["z", "k"], first=["c", "a"], second=["a", "b"])
    assert data.judges == ("k", "z")
    assert data.items == ("a", "b", "c")
    assert data.judge_index.tolist() == [1, 0]
    assert data.first_index.tolist() == [2, 0]
    assert data.second_index.tolist() == [0, 1]
    assert data.weight.tolist() == [1.0, 1.0]


@given(ROWS)
def test_the_table_gives_back_the_rows(rows):
    frame = comparisons(rows).to_frame()
    assert frame.columns.tolist() == ["judge", "first", "second", "outcome", "weight", "row"]
    expected = [(judge, *pair, outcome, weight, k) for k, (judge, pair, outcome, weight) in enumerate(rows)]
    assert list(frame.itertuples(index=False, name=None)) == expected


def test_labels_are_compared_as_text_and_whole_floats_as_integers():
    data = small(judge=[58.0, "58"], first=[1, 2], second=[2.0, 3])
    assert data.judges == ("58",)
    assert data.items == ("1", "2", "3")


def test_labels_that_differ_in_a_trailing_null_character_stay_apart():
    assert small(first=["a", "b"], second=["a\0", "c"]).items == ("a", "a\0", "b", "c")


def test_series_of_one_index_are_taken_and_others_refused():
    data = small(judge=pd.Series(["j", "k"], index=[1, 0]), first=pd.Series(["a", "b"], index=[1, 0]))
    assert data.to_frame()["judge"].tolist() == ["j", "k"]
    assert data.row_labels.tolist() == [1, 0]
    with pytest.raises(ComparisonError, match="first and judge have different indices: align them, or pass arrays"):
        small(judge=pd.Series(["j", "k"], index=[1, 0]), first=pd.Series(["a", "b"], index=[7, 7]))


def test_a_mask_belongs_to_the_rows_of_the_table():
    labels = pd.Index([5, 3])
    data = small(outcome=pd.Series([1, 0.5], index=labels))
    assert data.subset(pd.Series([True, False], index=labels)).judges == ("j",)
    assert data.subset(pd.Series([True, False])).row_labels.tolist() == [5]
    with pytest.raises(ComparisonError, match="the mask and the data have different indices"):
        data.subset(pd.Series([True, False], index=[3, 5]))


def test_rows_in_another_order_are_not_counted():
    data = small(outcome=pd.Series([1, 0.5], index=[1, 0]))
    with pytest.raises(ComparisonError, match="the mask and the data have different indices"):
        data.subset(pd.Series([True, False]))


def test_categories_without_rows_are_no_labels():
    assert small(judge=pd.Categorical(["y", "x"], categories=["z", "y", "x"])).judges == ("x", "y")


def test_arrays_are_read_only_and_the_arguments_stay_writeable():
    outcome = np.array([1.0, 0.5])
    data = small(outcome=outcome)
    for array in (data.judge_index, data.first_index, data.second_index, data.outcome, data.weight):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    outcome[0] = 0.0
    assert data.outcome[0] == 1.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"judge": ["j"]}, "judge has length 1 but outcome has length 2"),
        ({"weight": [1, 2, 3]}, "weight has length 3 but outcome has length 2"),
        ({"columns": pd.DataFrame({"q": [1]})}, "columns has 1 rows but outcome has 2"),
        ({"judge": [], "first": [], "second": [], "outcome": []}, "there are no comparisons"),
        ({"judge": [None, "k"]}, "1 judge labels are missing, first at row 1, counted from 1"),
        ({"second": ["b", None]}, "1 item labels are missing, first at row 2, counted from 1"),
        (
            {"first": ["a", None], "second": [np.nan, "c"]},
            "2 item labels are missing, first at row 1, counted from 1",
        ),
        ({"judge": ["", "k"]}, "some judge labels are empty text"),
        ({"judge": [["x"], ["y"]]}, "judge labels must be text or numbers, got lists"),
        ({"first": [("x", "y"), "b"]}, "item labels must be text or numbers, got tuple"),
        (
            {"first": ["a", "c"]},
            r"1 rows compare an item with itself, first at row 2, counted from 1 \('c'\)",
        ),
        (
            {"outcome": [1, 1.5]},
            r"outcome must lie in \[0, 1\].*; 1 values do not, first 1.5 at row 2, counted from 1",
        ),
        ({"outcome": [np.nan, 1]}, "1 values do not, first nan at row 1, counted from 1"),
        ({"outcome": ["a", "b"]}, r"outcome must be numbers; map labels with read_comparisons\(..., codes="),
        ({"outcome": [10**400, 1]}, "outcome must be numbers"),
        ({"outcome": np.ones((2, 1))}, "outcome must be one-dimensional, got 2 dimensions"),
        ({"weight": [0, 0]}, "there are no comparisons: all weights are zero"),
        (
            {"weight": [1, -1]},
            "weight must be finite and not negative; 1 values are not, first -1 at row 2, counted from 1",
        ),
        ({"weight": [np.inf, -1]}, "2 values are not, first inf at row 1, counted from 1"),
        ({"weight": pd.Series([1, None], dtype="Int64")}, "first nan at row 2, counted from 1"),
        ({"weight": ["many", "few"]}, r"weight must be numbers\.$"),
    ],
)
def test_bad_fields_are_refused_with_the_place(changes, message):
    with pytest.raises(ComparisonError, match=message):
        small(**changes)


# Counts


@given(ROWS)
def test_counts_are_sums_of_weights(rows):
    data = comparisons(rows)
    share = data.first_share()
    assert len(data) == data.n_rows == len(rows)
    assert data.n_comparisons == sum(weight for *_, weight in rows)
    assert share.index.tolist() == sorted({judge for judge, *_ in rows})
    for judge in share.index:
        own = [(outcome, weight) for name, _, outcome, weight in rows if name == judge]
        count = sum(weight for _, weight in own)
        assert share.loc[judge, "comparisons"] == count
        assert share.loc[judge, "ties"] == sum(weight for outcome, weight in own if outcome == 0.5)
        first = sum(weight * (1 if outcome > 0.5 else 0.5 if outcome == 0.5 else 0) for outcome, weight in own)
        assert share.loc[judge, "first_share"] == first / count


@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_change_the_cells(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    one, other = comparisons(rows).cells, comparisons(shuffled).cells
    for name in ("judge", "first", "second", "n", "y"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@given(ROWS)
def test_showing_the_items_in_the_other_order_does_not_change_the_cells(rows):
    swapped = [(judge, pair[::-1], 1 - outcome, weight) for judge, pair, outcome, weight in rows]
    one, other = comparisons(rows).cells, comparisons(swapped).cells
    for name in ("judge", "first", "second", "n", "y"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@given(ROWS)
def test_a_row_of_weight_two_is_two_rows_of_weight_one(rows):
    doubled = comparisons([(judge, pair, outcome, 2.0) for judge, pair, outcome, _ in rows])
    repeated = comparisons([(judge, pair, outcome, 1.0) for judge, pair, outcome, _ in rows for _ in range(2)])
    assert doubled.n_comparisons == repeated.n_comparisons
    np.testing.assert_array_equal(doubled.cells.n, repeated.cells.n)
    np.testing.assert_array_equal(doubled.cells.y, repeated.cells.y)
    pd.testing.assert_frame_equal(doubled.first_share(), repeated.first_share())


def test_connectivity_carries_the_labels():
    report = small().connectivity
    assert report.pooled_groups == (("a", "b", "c"),)
    assert report.judge_groups == {"j": (("a", "b"), ("c",)), "k": (("b", "c"), ("a",))}


# Subsets


@given(ROWS, st.data())
def test_a_subset_holds_the_chosen_rows(rows, draw):
    data = comparisons(rows)
    mask = np.array(draw.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    mask[0] = True
    part = data.subset(mask)
    expected = data.to_frame()[mask].reset_index(drop=True)
    pd.testing.assert_frame_equal(part.to_frame(), expected)
    assert part.judges == tuple(sorted(expected["judge"].unique()))
    assert part.items == tuple(sorted({*expected["first"], *expected["second"]}))
    pd.testing.assert_frame_equal(data.subset(np.flatnonzero(mask)).to_frame(), expected)


def test_positions_may_repeat_rows_in_any_order():
    assert small().subset([1, 0, 1]).outcome.tolist() == [0.5, 1.0, 0.5]


def test_a_mask_of_another_length_is_refused():
    with pytest.raises(ComparisonError, match="the mask has 1 values for 2 comparisons"):
        small().subset(np.array([True]))


def test_an_empty_subset_is_refused():
    with pytest.raises(ComparisonError, match="there are no comparisons"):
        small().subset(np.array([False, False]))


def test_judges_are_left_out_by_name_together_with_their_dropped_verdicts():
    dropped = pd.DataFrame({"judge": ["gone", "j", "k"], "label": "unknown", "count": [1, 2, 3]})
    data = small(dropped=dropped)
    for judges in ("j", ["j"], ("j", "j")):
        rest = data.without_judges(judges)
        assert rest.judges == ("k",)
        assert rest.n_rows == 1
        assert rest.dropped["judge"].tolist() == ["gone", "k"]
    assert data.without_judges([]).judges == ("j", "k")
    assert data.dropped["judge"].tolist() == ["gone", "j", "k"]


def test_unknown_judges_cannot_be_left_out():
    with pytest.raises(ComparisonError, match="no judge is called 'x'; the judges are 'j', 'k'"):
        small().without_judges(["x", "j"])


# Printed form


def test_the_printed_form_tells_sizes_ties_and_shares():
    assert repr(small()).splitlines() == [
        "Comparisons: 2 comparisons of 3 items by 2 judges (1 tie)",
        "  judges      'j', 'k'",
        "  items       'a', 'b', 'c'",
        "  per judge   1 to 1 comparisons (median 1)",
        "  first item  preferred in 100.0% of the decided comparisons",
    ]


def test_the_printed_form_tells_further_columns_soft_preferences_and_dropped_verdicts():
    dropped = pd.DataFrame({"judge": list("abcd"), "label": ["error", "unknown"] * 2, "count": [1, 4, 3, 2]})
    data = small(outcome=[0.77, 1], judge=["j", "j"], columns=pd.DataFrame({"prompt": [1, 2]}), dropped=dropped)
    lines = repr(data).splitlines()
    assert lines[0] == "Comparisons: 2 comparisons of 3 items by 1 judge (no ties, 1 soft preferences)"
    assert lines[-2:] == [
        "  columns     'prompt'",
        "  dropped     10 verdicts labelled 'error', 'unknown': 'b' 4, 'c' 3, 'd' 2 and 1 more judge",
    ]


def test_half_a_character_in_a_label_is_refused():
    with pytest.raises(ComparisonError, match=r"valid text, got .*ud800"):
        Comparisons.from_arrays(["j\ud800", "k"], ["a", "b"], ["b", "a"], [1, 0])


def test_short_floats_are_the_same_ids_as_integers():
    data = Comparisons.from_arrays(["j", "j"], pd.Series([58, 7]), pd.Series([7.0, 58.0], dtype="Float32"), [1, 0])
    assert data.items == ("58", "7")


@pytest.mark.parametrize("name", ["first", "second", "weight"])
def test_only_judges_may_be_one_text(name):
    fields = {"first": ["a", "b"], "second": ["b", "c"], "weight": [1.0, 2.0], name: "ab"}
    with pytest.raises(ComparisonError, match=f"{name} is the text 'ab'"):
        Comparisons.from_arrays(["j", "k"], outcome=[1, 0], **fields)


def test_columns_added_later_stay_with_the_comparisons():
    data = Comparisons.from_arrays(["j1", "j2"], ["a", "a"], ["b", "c"], [1.0, 0.0])
    data.columns["session"] = [7, 8]
    assert data.subset(np.array([1])).columns["session"].tolist() == [8]
    assert replace(data, outcome=np.zeros(2)).columns["session"].tolist() == [7, 8]
    assert pickle.loads(pickle.dumps(data)).columns["session"].tolist() == [7, 8]
    assert replace(data, columns=pd.DataFrame({"day": [1, 2]})).columns["day"].tolist() == [1, 2]
    # Comparisons without columns do not share them.
    assert not Comparisons.from_arrays(["j1"], ["a"], ["b"], [1.0]).columns.shape[1]
