"""Sources, column detection and real files; what outcome labels mean is tested in test_outcomes.py."""

import gzip
import io
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hjastats.data.comparisons import Comparisons
from hjastats.data.readers import read_comparisons
from hjastats.errors import ComparisonError

RECORDS = [
    {"judge": "j1", "model_a": "gpt", "model_b": "claude", "winner": "model_a", "question_id": 7},
    {"judge": "j2", "model_a": "llama", "model_b": "gpt", "winner": "model_b", "question_id": 8},
    {"judge": "j1", "model_a": "claude", "model_b": "llama", "winner": "unknown", "question_id": 9},
    {"judge": "j2", "model_a": "claude", "model_b": "gpt", "winner": "tie", "question_id": 10},
]


def table(**columns):
    """Two rows of a valid table with some columns replaced (None removes one)."""
    plain = {"judge": ["j", "j"], "left": ["gpt", "gpt"], "right": ["llama", "claude"], "winner": ["left", "right"]}
    return {name: values for name, values in (plain | columns).items() if values is not None}


def assert_same(one: Comparisons, other: Comparisons) -> None:
    pd.testing.assert_frame_equal(one.to_frame(), other.to_frame(), check_dtype=False)
    pd.testing.assert_frame_equal(one.dropped, other.dropped, check_dtype=False)


# Sources


def test_labels_outcomes_and_further_columns_keep_the_order_of_the_rows():
    data = read_comparisons(RECORDS)
    assert data.judges == ("j1", "j2")
    assert data.items == ("claude", "gpt", "llama")
    assert data.to_frame()["first"].tolist() == ["gpt", "llama", "claude"]
    assert data.to_frame()["second"].tolist() == ["claude", "gpt", "gpt"]
    assert data.outcome.tolist() == [1.0, 0.0, 0.5]
    assert data.columns["question_id"].tolist() == [7, 8, 10]
    assert data.dropped.to_dict("records") == [{"judge": "j1", "label": "unknown", "count": 1}]


@pytest.mark.parametrize("ending", ["json", "jsonl", "ndjson", "csv", "tsv", "json.gz", "jsonl.gz", "csv.gz", "tsv.gz"])
def test_every_file_format_gives_the_same_comparisons(tmp_path, ending):
    frame = pd.DataFrame(RECORDS)
    content = {
        "json": json.dumps(RECORDS),
        "jsonl": "\n".join(map(json.dumps, RECORDS)),
        "ndjson": "\n\n".join(map(json.dumps, RECORDS)) + "\n",
        "csv": frame.to_csv(index=False),
        "tsv": frame.to_csv(index=False, sep="\t"),
    }[ending.removesuffix(".gz")].encode()
    path = tmp_path / f"verdicts.{ending}"
    path.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    expected = read_comparisons(RECORDS)
    assert_same(read_comparisons(path), expected)
    assert_same(read_comparisons(str(path)), expected)


def test_frames_dicts_of_columns_and_open_files_give_the_same_comparisons():
    expected = read_comparisons(RECORDS)
    frame = pd.DataFrame(RECORDS, index=[5, 5, 1, 0])
    assert_same(read_comparisons(frame), expected)
    categories = dict.fromkeys(["judge", "model_a", "model_b", "winner"], "category")
    assert_same(read_comparisons(frame.astype(categories)), expected)
    assert_same(read_comparisons(frame.to_dict("list")), expected)
    assert_same(read_comparisons(tuple(RECORDS)), expected)
    assert_same(read_comparisons(io.StringIO(json.dumps(RECORDS)), format="json"), expected)
    assert_same(read_comparisons(io.StringIO(frame.to_csv(index=False)), format="csv"), expected)


def test_columns_of_a_dict_have_one_index():
    columns = {name: pd.Series(values, index=[1, 0]) for name, values in table().items()}
    assert_same(read_comparisons(columns), read_comparisons(table()))
    with pytest.raises(ComparisonError, match="winner and judge have different indices"):
        read_comparisons(columns | {"winner": columns["winner"].sort_index()})


def test_the_table_passed_in_is_not_changed():
    frame = pd.DataFrame(RECORDS)
    before = frame.copy(deep=True)
    further = read_comparisons(frame).columns
    further.loc[0, "question_id"] = -1
    pd.testing.assert_frame_equal(frame, before)


def test_comparisons_are_returned_unchanged_and_refuse_options():
    data = read_comparisons(RECORDS)
    assert read_comparisons(data) is data
    with pytest.raises(ComparisonError, match="Comparisons already"):
        read_comparisons(data, codes="unit")


def test_the_table_of_comparisons_can_be_read_again():
    data = read_comparisons(RECORDS)
    again = read_comparisons(data.to_frame(), codes="unit")
    pd.testing.assert_frame_equal(again.to_frame(), data.to_frame())


def test_labels_of_a_csv_file_stay_as_they_are_written():
    text = "judge,left,right,winner,prompt\n007,3.1,3.10,left,5\n7,3.10,3.1,left,\n"
    data = read_comparisons(io.StringIO(text), format="csv")
    assert data.judges == ("007", "7")
    assert data.items == ("3.1", "3.10")
    assert data.columns["prompt"].tolist()[0] == 5.0


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", b"judge,left,right,winner\r\nj,gpt,llama,left\r\n"),
        ("a.json", b'[{"judge": "j", "left": "gpt", "right": "llama",\r\n"winner": "left"}]'),
        ("a.jsonl", b'{"judge": "j", "left": "gpt", "right": "llama", "winner": "left"}\r\n'),
    ],
)
def test_a_byte_order_mark_and_windows_line_ends_are_no_part_of_the_labels(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(b"\xef\xbb\xbf" + content)
    assert read_comparisons(path).to_frame().iloc[0].tolist() == ["j", "gpt", "llama", 1.0, 1.0]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b"", r"a\.json' is empty: expected a JSON array"),
        ("a.jsonl", b"\n \n", r"a\.jsonl' is empty: expected one JSON record per line"),
        ("a.csv", b"", r"a\.csv' is empty: expected a header line"),
        ("a.csv", b"judge,left,right,winner\n", "the table is empty: expected one row per verdict"),
        ("a.json", b"[]", "the table is empty"),
        ("a.json", b'[{"judge": 1}', r"not valid JSON \(Expecting ',' delimiter: line 1"),
        ("a.json", b'{"judge": 1}\n{"judge": 2}', r"not valid JSON .* pass format='jsonl'"),
        ("a.json", b'{"judge": 1}', "must hold a JSON array of records, or columns, got dict"),
        ("a.json", b"[1, 2]", "must hold records .* element 0 is int"),
        ("a.json", b"[" * 100_000, "not valid JSON"),
        ("a.jsonl", b'{"judge": 1}\n\n{"judge": }', "line 3 of .* is not one JSON record"),
        ("a.jsonl", b'{"judge": 1},{"judge": 2}', "line 1 of .* is not one JSON record"),
        (
            "a.csv",
            b"judge;left;right;winner\nj;a;b;left\n",
            "single column 'judge;left;right;winner'.*Pass separator=';'",
        ),
        ("a.csv", b"judge,left,right,winner\nj,a,b,left,x\n", "cannot be read as a table separated by ','"),
        ("a.csv", b"judge,left,right,winner\nj,a,b,left\nj,a,b,left,x\n", "Expected 4 fields in line 3, saw 5"),
        ("a.csv", b'judge,left,right,winner\nj,a,b,"left\n', "cannot be read as a table.*inside string"),
        ("a.csv", b"judge,left,right,winner\nj,\xff,b,left\n", "is not UTF-8 text"),
        ("a.json", b"\xff", "is not UTF-8 text"),
        ("a.csv.gz", b"\x1f\x8b,left,right,winner", "cannot be read: Unknown compression method"),
        (
            "a.csv.gz",
            gzip.compress(b"judge,left,right,winner\n" * 50, mtime=0)[:-12],
            "cannot be read: Compressed file ended",
        ),
        ("a.txt", b"judge\x00", r"cannot tell the format of .* expected \.json, \.jsonl"),
    ],
)
def test_unreadable_files_are_named_with_the_reason(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ComparisonError, match=message) as caught:
        read_comparisons(path)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path):
    with pytest.raises(ComparisonError, match=r"'nowhere\.json' does not exist: check the path"):
        read_comparisons("nowhere.json")
    with pytest.raises(ComparisonError, match=r"the folder .* has no file of a known format: expected \.json"):
        read_comparisons(tmp_path)
    with pytest.raises(ComparisonError, match="does not exist"):
        read_comparisons("x" * 5000)


def test_other_sources_are_refused_with_what_is_accepted():
    class TangentBasis:
        def to_pandas(self):
            raise AssertionError("must not be called")

    with pytest.raises(
        ComparisonError, match=r"from TangentBasis: expected a pandas DataFrame.*convert it with \.to_pandas\(\)"
    ):
        read_comparisons(TangentBasis())
    with pytest.raises(
        ComparisonError, match=r"from int: expected a pandas DataFrame, a list of dicts.*with format=\.$"
    ):
        read_comparisons(5)
    with pytest.raises(ComparisonError, match="element 1 is str"):
        read_comparisons([RECORDS[0], "a"])
    with pytest.raises(ComparisonError, match="equally long columns"):
        read_comparisons(table(winner=["left"]))
    with pytest.raises(ComparisonError, match="equally long columns"):
        read_comparisons(RECORDS[0])
    with pytest.raises(ComparisonError, match="several levels of column names"):
        read_comparisons(pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])))


def test_a_format_is_one_of_those_that_are_known():
    with pytest.raises(ComparisonError, match=r"format must be 'json', .*'fastchat'.* got 'xls'"):
        read_comparisons(io.StringIO("judge"), format="xls")
    with pytest.raises(ComparisonError, match="parquet files are no text: open them in mode 'rb'"):
        read_comparisons(io.StringIO("judge"), format="parquet")


# Columns


@pytest.mark.parametrize(
    "pair",
    [
        ("model_a", "model_b"),
        ("item_a", "item_b"),
        ("left", "right"),
        ("model_1", "model_2"),
        ("generator_1", "generator_2"),
        ("player1", "player2"),
        ("first", "second"),
    ],
)
def test_item_columns_in_common_use_are_found(pair):
    data = read_comparisons({"judge": ["j"], pair[1]: ["llama"], pair[0]: ["gpt"], "winner": ["a"]})
    assert data.to_frame().iloc[0].tolist() == ["j", "gpt", "llama", 1.0, 1.0]


@pytest.mark.parametrize(
    "name",
    ["judge", "judge_model", "judge_name", "annotator", "worker", "performer", "rater", "user", "user_id", "Judge"],
)
def test_judge_columns_in_common_use_are_found(name):
    assert read_comparisons(table(**({"judge": None} | {name: ["x", "y"]}))).judges == ("x", "y")


@pytest.mark.parametrize(
    "name",
    ["winner", "judge_preferred_model", "outcome", "preference", "label", "verdict", "win", "winner_side", "p_a"],
)
def test_outcome_columns_in_common_use_are_found(name):
    assert read_comparisons(table(**({"winner": None} | {name: ["a", "b"]}))).outcome.tolist() == [1.0, 0.0]


def test_winner_and_loser_are_items_when_no_column_says_the_outcome():
    data = read_comparisons({"judge": ["j", "j"], "loser": ["b", "c"], "winner": ["a", "b"]})
    assert data.to_frame()["first"].tolist() == ["a", "b"]
    assert data.outcome.tolist() == [1.0, 1.0]
    explicit = read_comparisons({"judge": ["j"], "loser": ["b"], "winner": ["a"]}, first="winner", second="loser")
    assert explicit.outcome.tolist() == [1.0]


def test_winner_is_the_outcome_when_the_items_have_their_own_columns():
    data = read_comparisons(table(winner=["gpt", "claude"], loser=["llama", "gpt"]))
    assert data.outcome.tolist() == [1.0, 0.0]
    assert data.columns["loser"].tolist() == ["llama", "gpt"]


def test_winner_and_loser_beside_an_outcome_are_not_guessed():
    columns = {"judge": ["j"], "winner": ["a"], "loser": ["b"], "label": ["tie"]}
    with pytest.raises(
        ComparisonError, match="'winner', 'loser' say who won, but 'label' may be an outcome too"
    ) as caught:
        read_comparisons(columns)
    *as_outcome, as_note = caught.value.hints
    assert read_comparisons(columns, **{hint.name: hint.value for hint in as_outcome}).outcome.tolist() == [0.5]
    assert read_comparisons(columns, **{as_note.name: as_note.value}).outcome.tolist() == [1.0]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"user_id": [1, 2]}, "several columns may be the judge: 'judge', 'user_id'. Choose with judge="),
        ({"label": ["a", "b"]}, "several columns may be the outcome: 'winner', 'label'. Choose with outcome="),
        ({"weight": [1, 1], "weights": [1, 1]}, "several columns may be the weight: 'weight', 'weights'"),
        ({"item_a": [1, 2], "item_b": [3, 4]}, "'item_a' and 'item_b' or 'left' and 'right': choose with first="),
        ({"judge": None, "JUDGE": [1, 2], "Judge": [1, 2]}, "several columns may be the judge: 'JUDGE', 'Judge'"),
        ({"left": None, "Left": [1, 2], "LEFT": [1, 2]}, "several columns may be the item.*first= and second="),
    ],
)
def test_two_candidates_for_one_role_are_listed_and_not_guessed(more, message):
    with pytest.raises(ComparisonError, match=message):
        read_comparisons(table(**more))


def test_naming_a_column_settles_the_ambiguity_and_keeps_the_other():
    data = read_comparisons(table(user_id=["u", "v"], label=["b", "b"]), judge="user_id", outcome="label")
    assert data.judges == ("u", "v")
    assert data.outcome.tolist() == [0.0, 0.0]
    assert data.columns.columns.tolist() == ["judge", "winner"]


def test_an_exact_column_name_beats_one_in_another_case():
    assert read_comparisons(table(Judge=["x", "y"])).judges == ("j",)


def test_column_names_given_in_another_case_are_accepted():
    assert read_comparisons(table(), judge="JUDGE").judges == ("j",)


def test_column_names_need_not_be_text():
    frame = pd.DataFrame([["j", "gpt", "llama", "a"]])
    assert read_comparisons(frame, judge=0, first=1, second=2, outcome=3).outcome.tolist() == [1.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"judge": "juge"}, "judge='juge' is not a column of the table; did you mean 'judge'"),
        ({"outcome": "Winnr"}, "outcome='Winnr' is not a column of the table; did you mean 'winner'"),
        ({"keep": ["zzz"]}, "keep='zzz' is not a column of the table; the columns are 'judge', 'left'"),
        ({"judge": np.array(["a", "b"])}, "judge must be the name of a column, got ndarray"),
        ({"first": "left"}, "got only one of first= and second="),
        ({"first": "left", "second": "left"}, "one column was given two roles"),
        ({"judge": "judge", "single_judge": "me"}, "got both judge= and single_judge="),
    ],
)
def test_wrong_column_arguments_are_explained(options, message):
    with pytest.raises(ComparisonError, match=message):
        read_comparisons(table(), **options)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"judge": None},
            "no judge column found among 'left', 'right', 'winner': pass judge='column', or single_judge=",
        ),
        ({"winner": None}, "no outcome column found among 'judge', 'left', 'right': pass outcome='column'"),
        ({"left": None}, "no pair of item columns found among 'judge', 'right', 'winner'.*model_a/model_b"),
    ],
)
def test_missing_columns_are_named_with_those_present(columns, message):
    with pytest.raises(ComparisonError, match=message):
        read_comparisons(table(**columns))


def test_repeated_column_names_are_refused():
    frame = pd.DataFrame([["j", "gpt", "llama", "a", "b"]], columns=["judge", "left", "right", "winner", "winner"])
    with pytest.raises(ComparisonError, match="'winner' occurs more than once"):
        read_comparisons(frame)


def test_a_single_judge_labels_all_rows():
    data = read_comparisons(table(judge=None), single_judge="GPT-4")
    assert data.judges == ("GPT-4",)
    assert data.n_rows == 2


def test_lists_that_name_a_judge_are_joined():
    assert read_comparisons(table(judge=[["gpt-4", "pair-v2"], "author_1"])).judges == ("author_1", "gpt-4/pair-v2")


def test_weights_are_found_by_name_and_counted_in_the_dropped_verdicts():
    data = read_comparisons(table(winner=["left", "error"], weight=[3, 2]))
    assert data.weight.tolist() == [3.0]
    assert data.dropped["count"].tolist() == [2]
    assert read_comparisons(table(count=[3, 2]), weight=False).weight.tolist() == [1.0, 1.0]
    assert read_comparisons(table(count=[3, 2]), weight="count").weight.tolist() == [3.0, 2.0]


def test_containers_are_left_out_of_the_further_columns_unless_asked_for():
    columns = table(conversation=[["hi"], ["ho"]], meta=[{"a": 1}, None], turn=[1, 2], note=["x", None])
    assert read_comparisons(columns).columns.columns.tolist() == ["turn", "note"]
    assert read_comparisons(columns, keep=["conversation"]).columns["conversation"].tolist() == [["hi"], ["ho"]]
    assert read_comparisons(columns, keep="turn").columns.columns.tolist() == ["turn"]
    assert read_comparisons(columns, keep=[]).columns.shape == (2, 0)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"judge": [None, "j"], "winner": ["unknown", "left"]},
            "1 judge labels are missing, first at row 1, counted from 1",
        ),
        (
            {"right": ["llama", float("nan")]},
            "1 item labels are missing, first at row 2, counted from 1",
        ),
        ({"right": ["llama", " "]}, "some item labels are empty text"),
        ({"left": [["gpt"], "gpt"]}, "item labels must be text or numbers, got lists"),
        ({"judge": [{"a": 1}, "j"]}, "judge labels must be text or numbers, got lists"),
        (
            {"winner": ["unknown", "left"], "right": ["llama", "gpt"]},
            "item with itself, first at row 2, counted from 1 .'gpt'",
        ),
        (
            {"winner": ["unknown", "left"], "weight": [1, -1]},
            "weight must be finite and not negative.* first -1 at row 2, counted from 1",
        ),
        ({"weight": ["many", "few"]}, "weight must be numbers.$"),
    ],
)
def test_bad_labels_and_weights_are_located_in_the_rows_of_the_table(columns, message):
    with pytest.raises(ComparisonError, match=message):
        read_comparisons(table(**columns))


def test_a_judge_without_usable_verdict_vanishes_but_stays_in_the_dropped_counts():
    data = read_comparisons(table(judge=["k", "j"], winner=["error", "left"]))
    assert data.judges == ("j",)
    assert data.dropped["judge"].tolist() == ["k"]


def test_a_table_without_any_usable_verdict_is_refused():
    with pytest.raises(ComparisonError, match=r"all 2 verdicts of the outcome column 'winner' are left out.*'error'"):
        read_comparisons(table(winner=["error", None]))


# Invariances

labels = st.sampled_from(["model_a", "B", " Tie ", "unknown", None, "gpt"])
rows = st.lists(st.tuples(st.sampled_from("jkl"), labels, st.integers(1, 4)), min_size=1, max_size=12)


def records_of(drawn):
    return [{"judge": judge, "left": "gpt", "right": "llama", "winner": y, "weight": w} for judge, y, w in drawn]


@given(rows, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_changes_nothing_but_the_order(drawn, random):
    records = records_of([*drawn, ("j", "a", 1)])
    order = list(range(len(records)))
    random.shuffle(order)
    data = read_comparisons(pd.DataFrame(records).assign(row=range(len(records))))
    moved = read_comparisons(pd.DataFrame(records).assign(row=range(len(records))).iloc[order])
    pd.testing.assert_frame_equal(moved.dropped, data.dropped)
    pd.testing.assert_frame_equal(
        moved.to_frame().sort_values("row", ignore_index=True), data.to_frame().sort_values("row", ignore_index=True)
    )


@given(rows)
def test_every_verdict_is_kept_or_counted_as_dropped(drawn):
    records = records_of([*drawn, ("j", "a", 1)])
    data = read_comparisons(records)
    per_judge = data.first_share()["comparisons"].add(data.dropped.groupby("judge")["count"].sum(), fill_value=0)
    expected = pd.DataFrame(records).groupby("judge")["weight"].sum()
    assert per_judge.to_dict() == expected.to_dict()


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([10**400, -(2**63), float("nan"), float("inf"), pd.NA, pd.NaT, pd.Timestamp("2024-01-01")]),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from(["a", "b", "tie", "model_a", "left", "both_bad", "unknown", "1", "0.5", "x", "\x00", "True", ""]),
    st.text(max_size=3),
    st.lists(st.integers(0, 1), max_size=2),
    st.tuples(st.integers(0, 1)),
    st.just({"k": 1}),
)
names = st.sampled_from(["judge", "left", "right", "winner", "label", "weight", "model_a", "model_b", "loser", "note"])
any_table = st.integers(1, 4).flatmap(
    lambda n: st.dictionaries(names, st.lists(values, min_size=n, max_size=n), min_size=1, max_size=8)
)
good_labels = st.integers(1, 4).flatmap(
    lambda n: st.fixed_dictionaries(
        {
            "judge": st.lists(st.sampled_from(["j", "k", 1, 1.0, True]), min_size=n, max_size=n),
            "left": st.lists(st.sampled_from(["a", "x", "m", 3]), min_size=n, max_size=n),
            "right": st.lists(st.sampled_from(["b", "n", "tie", 4.0]), min_size=n, max_size=n),
            "winner": st.lists(values, min_size=n, max_size=n),
        }
    )
)
codes = st.sampled_from([None, "unit", "alpacaeval", "names", {1: "first", "0": 0.25, None: "tie"}, {"x": "drop"}])


@given(st.one_of(any_table, good_labels), codes, st.sampled_from(["tie", "drop", "error"]))
def test_any_table_gives_clean_comparisons_or_a_comparison_error(columns, how, both_bad):
    try:
        data = read_comparisons(columns, codes=how, both_bad=both_bad, drop=[2])
    except ComparisonError:
        return
    assert ((data.outcome >= 0) & (data.outcome <= 1)).all()
    assert ((data.weight > 0) & np.isfinite(data.weight)).all()
    assert len(data.columns) == data.n_rows > 0
    assert (data.first_index != data.second_index).all()
    assert data.n_rows + (data.dropped["count"].sum() if "weight" not in columns else 0) <= len(columns["judge"])


CONTENT = {
    "json": json.dumps(RECORDS),
    "jsonl": "\n".join(map(json.dumps, RECORDS)),
    "csv": pd.DataFrame(RECORDS).to_csv(index=False),
}


@given(st.sampled_from(sorted(CONTENT)), st.data())
def test_a_damaged_file_gives_clean_comparisons_or_a_comparison_error(format, draw):
    text = CONTENT[format]
    start, stop = sorted(draw.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    inserted = draw.draw(
        st.text(max_size=2) | st.sampled_from([",", '"', "[", "}", "\n", "\r", "\x00", "1e999", "NaN"])
    )
    try:
        data = read_comparisons(io.StringIO(text[:start] + inserted + text[stop:]), format=format)
    except ComparisonError:
        return
    assert ((data.outcome >= 0) & (data.outcome <= 1)).all()
    assert 0 < data.n_rows <= len(RECORDS) + 1


# Real files


@pytest.mark.parametrize(
    ("name", "usable", "n_judges", "n_items", "ties", "unknown"),
    [("chatbot_arena.json", 9937, 10, 20, 1224, 63), ("mtbench.json", 9706, 20, 6, 756, 294)],
)
def test_the_public_judge_files_are_read_without_options(shared_data, name, usable, n_judges, n_items, ties, unknown):
    data = read_comparisons(shared_data / name)
    assert (data.n_rows, data.n_judges, data.n_items) == (usable, n_judges, n_items)
    assert (data.outcome == 0.5).sum() == ties
    assert data.dropped["label"].unique().tolist() == ["unknown"]
    assert data.dropped["count"].sum() == unknown
    assert data.dropped["judge"].is_monotonic_increasing
    assert data.columns.columns.tolist() == ["question_id", "judge_confidence"]


def test_outcomes_of_a_public_file_agree_with_a_plain_loop(shared_data):
    path = shared_data / "chatbot_arena.json"
    meaning = {"a": 1.0, "b": 0.0, "c": 0.5}
    expected = [
        (row["judge_model"], row["model_a"], row["model_b"], meaning[row["judge_preferred_model"]], row["question_id"])
        for row in json.loads(path.read_text(encoding="utf-8"))
        if row["judge_preferred_model"] in meaning
    ]
    frame = read_comparisons(path).to_frame()[["judge", "first", "second", "outcome", "question_id"]]
    assert list(frame.itertuples(index=False, name=None)) == expected


def test_crowd_comparisons_are_read_with_the_worker_as_judge(shared_data):
    data = read_comparisons(shared_data / "llmfao" / "crowd-comparisons.csv")
    assert (data.n_rows, data.n_judges, data.n_items) == (8931, 124, 59)
    assert data.columns.columns.tolist() == ["id", "prompt", "model_x", "model_y"]
    assert data.dropped.empty


def test_a_file_of_one_judge_asks_for_its_name(shared_data):
    path = shared_data / "llmfao" / "gpt4-crowd-comparisons.csv"
    with pytest.raises(ComparisonError, match="single_judge="):
        read_comparisons(path)
    assert read_comparisons(path, single_judge="GPT-4").n_rows == 2139
