import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.cli import main


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    frame = hja.datasets.load_panel().to_frame().rename(columns={"outcome": "winner"})
    frame["winner"] = np.where(frame["winner"] == 1.0, "first", "second")
    frame["category"] = np.where(np.arange(len(frame)) % 2, "chat", "code")
    path = tmp_path_factory.mktemp("groups") / "verdicts.csv"
    frame[["judge", "first", "second", "winner", "category"]].to_csv(path, index=False)
    return str(path)


def test_groups_prints_choices_places_and_tests_in_80_columns(file, capsys):
    assert main(["groups", file, "--by", "category", "--model", "btl"]) == 0
    text = capsys.readouterr().out
    for expected in ("Chosen", "place (* differs)", "chat", "scores of the items", "not seen to differ"):
        assert expected in text
    assert ".board(group)" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_groups_writes_a_page_numbers_or_differences_by_the_ending(file, tmp_path, capsys):
    page, numbers, table = (str(tmp_path / name) for name in ("g.html", "g.json", "g.csv"))
    for path in (page, numbers, table):
        assert main(["groups", file, "--by", "category", "--model", "btl", "-o", path]) == 0
    capsys.readouterr()
    assert "Boards" in Path(page).read_text(encoding="utf-8")
    assert json.loads(Path(numbers).read_text(encoding="utf-8"))["by"] == "category"
    assert set(pd.read_csv(table)["group"]) == {"chat", "code"}


def test_groups_as_json_and_shrunken(file, capsys):
    assert main(["groups", file, "--by", "category", "--model", "btl", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == []
    assert main(["groups", file, "--by", "category", "--model", "btl", "--shrunken"]) == 0
    assert capsys.readouterr().out.count("Ranking (possible places") == 3


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--by", "nothing"], "--by nothing: no such column"),
        (["--by", "category", "--quantiles", "3"], "is cut as a number"),
        (["--by", "category", "--labels", "x", "y"], "pass --breaks '0' ..., too."),
        (["--by", "category", "-o", "x.doc"], "--output must end in"),
        (["--by", "category", "--target", "judge-1"], "--target anchors one ranking"),
    ],
)
def test_what_cannot_be_is_one_line(file, options, text, capsys):
    assert main(["groups", file, *options]) == 2
    error = capsys.readouterr().err
    assert text in error
    assert error.count("\n") == 1
