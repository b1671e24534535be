"""Files in every syntax, packing and encoding; several at once; what is refused."""

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import threading

import pandas as pd
import pytest

from hjastats.data.readers import read_comparisons
from hjastats.errors import ComparisonError

FRAME = pd.DataFrame(
    {
        "judge": ["j1", "j2", "clàude"],
        "model_a": ["3.1", "3.10", "007"],
        "model_b": ["3.10", "7", "3.1"],
        "winner": ["model_a", "tie", "model_b"],
        "question_id": [7, 8, 9],
    }
)
CSV = FRAME.to_csv(index=False)


def zst(content):
    return pytest.importorskip("zstandard").ZstdCompressor().compress(content)


PACKED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zst}


def assert_same(data):
    expected = FRAME.rename(columns={"model_a": "first", "model_b": "second"})
    found = data.to_frame().sort_values("judge", ignore_index=True)
    expected = expected.sort_values("judge", ignore_index=True)
    for name in ("judge", "first", "second", "question_id"):
        assert found[name].tolist() == expected[name].tolist()
    assert sorted(data.outcome) == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_packed_files_are_known_by_their_first_bytes(tmp_path, packing, ending):
    content = CSV if ending == "csv" else FRAME.to_json(orient="records", lines=True)
    packed = PACKED[packing](content.encode())
    (tmp_path / f"a.{ending}.{packing}").write_bytes(packed)
    assert_same(read_comparisons(tmp_path / f"a.{ending}.{packing}"))
    assert_same(read_comparisons(io.BytesIO(packed)))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_encodings_are_known_by_their_marks_and_zeros(tmp_path, encoding):
    (tmp_path / "a.csv").write_bytes(CSV.encode(encoding))
    assert_same(read_comparisons(tmp_path / "a.csv"))
    assert_same(read_comparisons(CSV.encode(encoding)))
    assert_same(read_comparisons(io.BytesIO(FRAME.to_json(orient="records", force_ascii=False).encode(encoding))))


def test_other_encodings_are_refused_and_following_the_message_reads_them(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(CSV.encode("cp1252"))
    with pytest.raises(ComparisonError, match=r"is not UTF-8 text .* open\(path, encoding='cp1252'\)"):
        read_comparisons(path)
    with open(path, encoding="cp1252") as file:
        assert_same(read_comparisons(file))
    assert_same(read_comparisons(io.StringIO("\ufeff" + CSV)))


@pytest.mark.parametrize("orient", ["records", "columns", "index", "split", "list"])
def test_json_in_every_way_pandas_writes_columns(tmp_path, orient):
    text = json.dumps(FRAME.to_dict("list")) if orient == "list" else FRAME.to_json(orient=orient)
    if orient == "index":
        # Rows by their label look like columns of other names, and are refused.
        with pytest.raises(ComparisonError):
            read_comparisons(io.StringIO(text))
        return
    (tmp_path / "a.json").write_text(text)
    assert_same(read_comparisons(tmp_path / "a.json"))
    assert_same(read_comparisons(text.encode()))


@pytest.mark.parametrize("wrapped", [{"battles": "records"}, None])
def test_records_within_a_document(wrapped):
    records = FRAME.to_dict("records")
    assert_same(read_comparisons(io.StringIO(json.dumps({"battles": records} if wrapped else records, indent=1))))


@pytest.mark.parametrize("ending", ["parquet", "feather", "xlsx"])
def test_tables_that_are_no_text_by_path_and_from_bytes(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    if ending == "xlsx":
        pytest.importorskip("openpyxl")
        FRAME.to_excel(path, index=False)
    else:
        pytest.importorskip("pyarrow")
        getattr(FRAME, f"to_{ending}")(path)
    options = {} if ending == "xlsx" else {"keep": ["question_id"]}
    assert_same(read_comparisons(path, **options))
    with open(path, "rb") as file:
        assert_same(read_comparisons(file, **options))
    other = path.rename(tmp_path / "download")
    assert_same(read_comparisons(other, **options))


def test_several_files_patterns_and_folders_are_one_table(tmp_path):
    FRAME.iloc[:1].to_csv(tmp_path / "a.csv", index=False)
    FRAME.iloc[1:2].to_json(tmp_path / "b.jsonl", orient="records", lines=True)
    (tmp_path / "deep").mkdir()
    FRAME.iloc[2:].to_csv(tmp_path / "deep" / "c.tsv", index=False, sep="\t")
    (tmp_path / "README").write_text("no table")
    assert_same(read_comparisons(tmp_path))
    assert_same(read_comparisons([tmp_path / "a.csv", tmp_path / "b.jsonl", str(tmp_path / "deep" / "*")]))
    assert_same(read_comparisons(str(tmp_path / "**" / "*.*")))
    data = read_comparisons(tmp_path)
    assert data.columns["file"].tolist() == ["a", "b", "c"]
    with pytest.raises(ComparisonError, match="no file matches"):
        read_comparisons(str(tmp_path / "*.xyz"))


def test_files_of_one_judge_each_are_told_apart_as_the_message_says(tmp_path):
    for name in ("gpt-4", "claude"):
        FRAME.drop(columns="judge").to_csv(tmp_path / f"{name}.csv", index=False)
    with pytest.raises(ComparisonError, match="pass judge='file' if each file is one judge's") as caught:
        read_comparisons(tmp_path)
    assert read_comparisons(tmp_path, judge=caught.value.hints[0].value).judges == ("claude", "gpt-4")


def test_the_file_that_is_wrong_is_named(tmp_path):
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "b.csv").write_text("")
    with pytest.raises(ComparisonError, match=r"b\.csv.* is empty"):
        read_comparisons(tmp_path)


@pytest.mark.parametrize("ending", ["csv", "tsv", "xlsx"])
def test_a_name_twice_in_the_header_is_refused(tmp_path, ending):
    rows = [["judge", "left", "right", "winner", "winner"], ["j", "a", "b", "left", "right"]]
    path = tmp_path / f"a.{ending}"
    if ending == "xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save(path)
    else:
        path.write_text("\n".join(("," if ending == "csv" else "\t").join(row) for row in rows))
    with pytest.raises(ComparisonError, match="'winner' occurs more than once"):
        read_comparisons(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_read_once_and_by_its_content(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(CSV.encode("utf-16")))
    writer.start()
    data = read_comparisons(pipe)
    writer.join()
    assert_same(data)


def test_standard_input_is_read_as_bytes_whatever_the_locale():
    command = [sys.executable, "-m", "hjastats", "fit", "-", "--model", "btl", "--ridge", "1"]
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    packed = gzip.compress(CSV.encode("utf-16"))
    run = subprocess.run(command, input=packed, capture_output=True, env=environment, check=False)
    assert run.returncode == 0, run.stderr.decode(errors="replace")
    run = subprocess.run(command, input=CSV.encode("cp1252"), capture_output=True, env=environment, check=False)
    assert run.returncode == 2
    assert b"is not UTF-8 text" in run.stderr


def test_a_workbook_of_several_sheets_says_so_and_reads_the_one_that_is_named(tmp_path):
    path = tmp_path / "panel.xlsx"
    table = pd.DataFrame({"judge": ["j"] * 2, "left": ["x", "y"], "right": ["y", "z"], "winner": ["left", "right"]})
    with pd.ExcelWriter(path) as book:
        pd.DataFrame({"Read me": ["verdicts of the panel"]}).to_excel(book, sheet_name="Read me", index=False)
        table.to_excel(book, sheet_name="Verdicts", index=False, startrow=2)
    with pytest.raises(ComparisonError, match="'Read me' is the first of 2 sheets, 'Read me', 'Verdicts'") as caught:
        read_comparisons(path)
    [sheet] = [hint.value for hint in caught.value.hints if hint.name == "sheet"]
    data = read_comparisons(path, sheet=sheet)
    assert data.outcome.tolist() == [1, 0]
    assert read_comparisons(path.read_bytes(), sheet=sheet).n_rows == 2
    with pytest.raises(
        ComparisonError, match="sheet='Other' is not in the workbook: its sheets are 'Read me', 'Verdicts'"
    ):
        read_comparisons(path, sheet="Other")
    with pytest.raises(ComparisonError, match="sheet must be the name of a sheet"):
        read_comparisons(path, sheet=1)
    with pd.ExcelWriter(path) as book:
        table.to_excel(book, sheet_name="Verdicts", index=False)
        table.to_excel(book, sheet_name="More", index=False)
    assert read_comparisons(path).made_of == "'Verdicts', the first of 2 sheets"
