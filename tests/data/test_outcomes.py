"""What outcome labels mean, with and without the user's codes."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hjastats.data.labels import Pairs, code_columns
from hjastats.data.outcomes import read_outcomes
from hjastats.data.vocabulary import FIRST_LABELS, SECOND_LABELS, TIE_LABELS, UNUSABLE_LABELS
from hjastats.errors import ComparisonError


def outcomes(labels, items=("claude", "gpt"), first=None, second=None, **options):
    """Outcomes of rows that compare items[0] with items[1] unless first and second say otherwise."""
    n_rows = len(labels)
    first = np.zeros(n_rows, dtype=int) if first is None else np.array(first)
    second = np.ones(n_rows, dtype=int) if second is None else np.array(second)
    column = labels if isinstance(labels, pd.Series) else pd.Series(labels, name="winner", dtype=object)
    pairs = Pairs(np.zeros(len(first), dtype=int), first, second, ("j",), tuple(items))
    return read_outcomes(column, *code_columns([column]), pairs, **options).outcome.tolist()


def left_out(value):
    return value != value


def test_the_vocabulary_has_one_meaning_per_label():
    sets = [FIRST_LABELS, SECOND_LABELS, TIE_LABELS, UNUSABLE_LABELS]
    assert sum(map(len, sets)) == len(frozenset.union(*sets))


@pytest.mark.parametrize(
    ("label", "meaning"),
    [
        *((label, 1.0) for label in ["model_a", "a", "A ", "LEFT", "x", "item_a", "first", "win", "A>B", "model_1"]),
        *((label, 1.0) for label in ["generator_1", "player1", "leftvote", "A>>B", "B<A", "B<<A"]),
        *((label, 0.0) for label in ["model_b", "b", " Right", "y", "item_b", "second", "loss", "B>A", "model_2"]),
        *((label, 0.0) for label in ["generator_2", "player2", "rightvote", "B>>A", "A<B", "A<<B"]),
        *(
            (label, 1.0)
            for label in ["[[A]]", "Assistant A", "assistant_a", "[A]", "Response 1", "Model A", "A wins", "a > b"]
        ),
        *((label, 0.0) for label in ["[[B]]", "Assistant B", "Output (b)", "Answer 2", "B is better"]),
        *((label, 0.5) for label in ["tie (inconsistent)", "[[C]]", "[[A=B]]", "a~b"]),
        *((label, 0.5) for label in ["tie", "C", "draw", "both_good", "A=B", "B=A", "tievote"]),
        *((label, 0.5) for label in ["tie (bothbad)", "both_bad", "bothbad", "bothbad_vote"]),
    ],
)
def test_labels_in_common_use_have_their_meaning(label, meaning):
    assert outcomes([label]) == [meaning]


@pytest.mark.parametrize(
    "label", ["unknown", "Error", "inconclusive", "invalid", "", " ", "n/a", "None", None, np.nan, pd.NA]
)
def test_unusable_labels_are_left_out(label):
    assert [left_out(value) for value in outcomes(["a", label])] == [False, True]


@pytest.mark.parametrize("label", ["tie (bothbad)", "both_bad", "bothbad", "bothbad_vote"])
def test_both_bad_is_a_tie_or_left_out_or_an_error(label):
    assert outcomes([label], both_bad="tie") == [0.5]
    assert left_out(outcomes([label], both_bad="drop")[0])
    with pytest.raises(ComparisonError, match=r"calls both items bad in 2 rows.*both_bad='drop'"):
        outcomes([label, "a", label], both_bad="error")
    assert outcomes([label], both_bad="error", codes={label: 0.25}) == [0.25]
    assert outcomes(["a", "tie"], both_bad="error") == [1.0, 0.5]


def test_both_bad_takes_three_values():
    with pytest.raises(ComparisonError, match="both_bad must be 'tie', 'drop' or 'error', got 'ignore'"):
        outcomes(["a"], both_bad="ignore")


# Names of items


def test_a_label_may_be_the_name_of_an_item_of_its_row():
    assert outcomes(["gpt", "claude", "tie"]) == [0.0, 1.0, 0.5]
    assert outcomes(["gpt", "gpt"], first=[0, 1], second=[1, 0]) == [0.0, 1.0]


def test_the_name_of_an_item_that_is_not_in_the_row_is_unknown():
    with pytest.raises(ComparisonError, match=r"'llama' \(1 row\)"):
        outcomes(["gpt", "llama"], items=("claude", "gpt", "llama"))


def test_names_are_compared_exactly():
    with pytest.raises(
        ComparisonError, match=r"label 'GPT' in 1 row, which is the item 'gpt' but for case.* pass clean=True"
    ):
        outcomes(["GPT"])
    assert outcomes(["GPT", "gpt\u200b "], clean=True) == [0.0, 0.0]


def test_strength_is_kept_as_equal_steps():
    assert outcomes(["A>>B", "A>B", "A=B", "B>A", "B>>A"]) == [1.0, 0.75, 0.5, 0.25, 0.0]
    assert outcomes(["A>>>B", "B<A", "A<<<B"]) == [1.0, 0.5 + 1 / 6, 0.0]
    assert outcomes(["[[A>>B]]", "[[A>B]]", "[[B>A]]"]) == [1.0, 0.75, 0.25]
    # A word without a sign is as sure as a verdict can be, and codes leave the strength aside.
    assert outcomes(["A>>B", "A>B", "B"]) == [1.0, 0.75, 0.0]
    assert outcomes(["A>>B", "A>B", "B>A"], codes={"a>b": "first", "b>a": "second"}) == [1.0, 1.0, 0.0]


def test_a_sign_between_other_words_is_unknown():
    for label in ("gpt>claude", "A>A", "a>", ">b", "A><B"):
        with pytest.raises(ComparisonError, match="neither first, second or tie codes"):
            outcomes(["a", label])


@pytest.mark.parametrize(("low", "high"), [(1, 5), (-2, 2), (1, 2), (0, 2), (-3, 3), (1, 7)])
def test_every_scale_that_is_suggested_means_what_the_message_says(low, high):
    numbers = list(range(low, high + 1))
    with pytest.raises(ComparisonError, match="never guessed") as caught:
        outcomes(numbers)
    scales = [hint.value for hint in caught.value.hints if isinstance(hint.value, str)]
    assert {f"{low}..{high}", f"{high}..{low}"} <= set(scales)
    steps = [(number - low) / (high - low) for number in numbers]
    assert outcomes(numbers, codes=f"{high}..{low}") == pytest.approx(steps)
    assert outcomes(numbers, codes=f"{low}..{high}") == pytest.approx(steps[::-1])
    assert ("alpacaeval" in scales) == ((low, high) == (0, 2))


def test_zeros_and_ones_may_be_read_both_ways():
    with pytest.raises(ComparisonError) as caught:
        outcomes([0, 1, 0.5])
    assert [hint.value for hint in caught.value.hints][:2] == ["unit", "0..1"]
    assert outcomes([0, 1, 0.5], codes="unit") == [0.0, 1.0, 0.5]
    assert outcomes([0, 1, 0.5], codes="0..1") == [1.0, 0.0, 0.5]


def test_names_are_suggested_where_numbers_are_items():
    with pytest.raises(ComparisonError, match="codes='names' if they name the preferred item"):
        outcomes([97, 98], items=("97", "98"))
    with pytest.raises(ComparisonError) as caught:
        outcomes([97, 98], items=("a", "b"))
    assert "names" not in [hint.value for hint in caught.value.hints]


@pytest.mark.parametrize("labels", [["foo"], [7, 7], ["a", 1]])
def test_a_meaning_that_nobody_told_is_refused_when_passed_on(labels):
    with pytest.raises(ComparisonError) as caught:
        outcomes(labels)
    [hint] = [hint for hint in caught.value.hints if isinstance(hint.value, dict)]
    with pytest.raises(ComparisonError, match="expected 'first', 'second', 'tie', 'drop' or a number"):
        outcomes(labels, codes=hint.value)


def test_the_names_of_the_item_columns_are_verdicts():
    assert outcomes(["Home", "away", "tie"], sides=("home", "away")) == [1.0, 0.0, 0.5]
    assert outcomes(["model_a"], sides=("model_b", "model_a")) == [0.0]
    # Who takes the columns in reverse has to say what a and b mean.
    with pytest.raises(ComparisonError, match="neither first, second"):
        outcomes(["a"], sides=("model_b", "model_a"))


def test_a_word_that_names_the_item_it_stands_for_is_clear():
    assert outcomes(["a", "b"], items=("a", "b")) == [1.0, 0.0]


@pytest.mark.parametrize(
    ("label", "items", "meaning"),
    [
        ("a", ("b", "a"), "name of the second item but as a word means the first item"),
        ("b", ("b", "z"), "name of the first item but as a word means the second item"),
        ("c", ("c", "z"), "name of the first item but as a word means a tie"),
        ("unknown", ("z", "unknown"), "name of the second item but as a word means no verdict"),
    ],
)
def test_a_label_with_two_meanings_asks_for_codes(label, items, meaning):
    with pytest.raises(
        ComparisonError,
        match=f"ambiguous in 1 row: at row 2, counted from 1, the label '{label}' is the {meaning}.*codes=",
    ):
        outcomes(["tie", label], items=items)
    by_name = 1.0 if items[0] == label else 0.0
    assert outcomes(["tie", label], items=items, codes="names") == [0.5, by_name]
    assert outcomes(["tie", label], items=items, codes={label: 0.75}) == [0.5, 0.75]


def test_position_words_mean_nothing_among_names():
    with pytest.raises(ComparisonError, match=r"'model_a' \(1 row\)"):
        outcomes(["gpt", "model_a"], codes="names")


def test_numbers_can_name_items_when_the_user_says_so():
    assert outcomes([97, 98.0, "97", "tie"], items=("97", "98"), codes="names") == [1.0, 0.0, 1.0, 0.5]
    with pytest.raises(ComparisonError, match="never guessed"):
        outcomes([97, 98], items=("97", "98"))


# Unknown labels and numbers


def test_unknown_labels_are_listed_with_their_counts():
    with pytest.raises(ComparisonError) as caught:
        outcomes(["foo", "a", "bar", "foo"])
    assert str(caught.value) == (
        "outcome column 'winner' has 3 values that are neither first, second or tie codes nor the name of an item in their "
        "row: 'foo' (2 rows), 'bar' (1 row). Pass codes={'foo': 'first|second|tie', ...} to say what they mean or "
        "drop=['foo', ...] to leave them out."
    )


def test_a_long_list_of_unknown_labels_is_cut():
    with pytest.raises(ComparisonError, match=r"'n0' \(1 row\).*'n4' \(1 row\) and 3 more\. Pass"):
        outcomes([f"n{k}" for k in range(8)])


@pytest.mark.parametrize(
    "labels",
    [[0, 1], [1.0, 2.0], [-1, 0, 1], [True, False], ["0", "1"], ["True", "false"], ["a", 1], ["a", "1.5"], [0.5]],
)
def test_numbers_and_truth_values_are_never_guessed(labels):
    for column in (pd.Series(labels, name="win"), pd.Series(labels, name="win", dtype=object)):
        with pytest.raises(ComparisonError, match=r"'win' holds numbers or true/false values.*never guessed.*codes="):
            outcomes(column)


def test_lists_are_no_outcomes():
    with pytest.raises(ComparisonError, match="must hold text or numbers, got lists"):
        outcomes([["a"], ["b"]])


# Codes and drop


@pytest.mark.parametrize("key", [1, 1.0, "1", "1.0", " 1 ", True, np.int64(1), np.float32(1)])
@pytest.mark.parametrize("value", [1, 1.0, "1", True, np.int8(1), "1.00"])
def test_a_code_is_found_whatever_the_type_of_the_number(key, value):
    assert outcomes([value, 2], codes={key: "second", 2: "tie"}) == [0.0, 0.5]


def test_codes_take_words_and_numbers():
    result = outcomes(["p", "q", "r", "s", "t"], codes={"P": "first", "q": "second", "r": "tie", "s": "drop", "t": 0.8})
    assert result[:3] == [1.0, 0.0, 0.5]
    assert left_out(result[3])
    assert result[4] == 0.8


def test_codes_replace_the_usual_meaning_and_leave_the_others():
    assert outcomes(["a", "b", "tie"], codes={"a": "second", "b": 1}) == [0.0, 1.0, 0.5]


def test_missing_values_can_be_given_a_meaning():
    assert outcomes(["a", None, ""], codes={None: "tie"}) == [1.0, 0.5, 0.5]


def test_numbers_without_a_code_are_unknown():
    with pytest.raises(ComparisonError, match=r"1 value that is neither.*'3' \(1 row\)"):
        outcomes([1, 2, 3], codes={1: "first", 2: "second"})


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (
            {"a": "frist"},
            "codes maps 'a' to 'frist': expected 'first', 'second', 'tie', 'drop' or a number from 0 to 1",
        ),
        ({"a": 2}, "codes maps 'a' to 2"),
        ({"a": float("nan")}, "codes maps 'a' to nan"),
        ({"a": None}, "codes maps 'a' to None"),
        ({1: "first", "1": "second"}, "codes gives two meanings to '1'"),
        ("binary", "codes must be a dict .* got 'binary'"),
        (["a"], "codes must be a dict"),
    ],
)
def test_wrong_codes_are_refused(codes, message):
    with pytest.raises(ComparisonError, match=message):
        outcomes(["a"], codes=codes)


def test_the_same_code_written_twice_is_no_contradiction():
    assert left_out(outcomes([1], codes={1: "drop", "1": "drop"})[0])


def test_dropped_labels_are_left_out_whatever_they_mean():
    result = outcomes(["a", "b", "weird", 7], drop=["B", "weird", "7"], codes={"b": "first"})
    assert result[0] == 1.0
    assert all(map(left_out, result[1:]))


# Scales


def test_unit_keeps_soft_preferences():
    labels = [1, 0, 0.5, 0.2, None, "unknown", "0.75", True, "False"]
    result = outcomes(labels, codes="unit")
    assert result[:4] == [1.0, 0.0, 0.5, 0.2]
    assert all(map(left_out, result[4:6]))
    assert result[6:] == [0.75, 1.0, 0.0]


def test_alpacaeval_runs_from_one_to_two_with_zero_a_tie():
    result = outcomes(pd.Series([1, 2, 1.5, 0, 1.25, np.nan], name="preference"), codes="alpacaeval")
    assert result[:5] == [1.0, 0.0, 0.5, 0.5, 0.75]
    assert left_out(result[5])


@pytest.mark.parametrize(
    ("labels", "codes", "message"),
    [
        ([0, 2, 2], "unit", r"2 values outside the scale 0 to 1 of codes='unit': '2' \(2 rows\)"),
        ([0, -0.1], "unit", r"'-0.1' \(1 row\)"),
        ([0, np.inf], "unit", r"'inf' \(1 row\)"),
        ([0, "tie"], "unit", r"'tie' \(1 row\)"),
        ([1, 0.5], "alpacaeval", r"outside the scale 1 to 2 \(or 0 for a tie\).*'0.5' \(1 row\)"),
        ([1, 2.5], "alpacaeval", r"'2.5' \(1 row\)"),
    ],
)
def test_values_outside_a_scale_are_listed(labels, codes, message):
    with pytest.raises(ComparisonError, match=message):
        outcomes(labels, codes=codes)


def test_values_outside_a_scale_can_be_dropped():
    result = outcomes([1, -1, "skip"], codes="unit", drop=["-1", "SKIP"])
    assert result[0] == 1.0
    assert all(map(left_out, result[1:]))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_unit_is_the_identity_for_numbers_and_their_text(preferences):
    for column in (
        pd.Series(preferences, name="p_a"),
        pd.Series(preferences, name="p_a", dtype=object),
        pd.Series([repr(value) for value in preferences], name="p_a", dtype="str"),
    ):
        assert outcomes(column, codes="unit") == preferences


@given(st.lists(st.sampled_from(["a", "b", "tie", "claude", "gpt"]), min_size=1, max_size=12))
def test_swapping_the_items_and_the_words_swaps_the_outcome(labels):
    swapped = [{"a": "b", "b": "a"}.get(label, label) for label in labels]
    ones, zeros = np.ones(len(labels), dtype=int), np.zeros(len(labels), dtype=int)
    mirrored = outcomes(swapped, first=ones, second=zeros)
    assert [1.0 - value for value in mirrored] == outcomes(labels)


def test_long_columns_are_coded_at_the_same_time_and_alike(set_limits):
    columns = [pd.Series(list("abca")), pd.Series(["x", None, "x", "y"]), pd.Series([["list"], 1, 2, 3], dtype=object)]
    alone = code_columns(columns)
    set_limits(LONG_COLUMN=0)
    together = code_columns(columns)
    for one, other in zip(alone[:2], together[:2], strict=True):
        np.testing.assert_array_equal(one()[0], other()[0])
        assert one()[1] == other()[1]
    # What is wrong with a column is said when its codes are asked for.
    for coding in (alone[2], together[2]):
        with pytest.raises(TypeError):
            coding()
