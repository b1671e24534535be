"""Traits of items and judges on the command line."""

import json

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.cli.main import main


@pytest.fixture
def files(tmp_path, panel):
    verdicts, items, judges = (tmp_path / f"{name}.csv" for name in ("verdicts", "items", "judges"))
    panel.to_frame()[["judge", "first", "second", "outcome"]].to_csv(verdicts, index=False)
    pd.DataFrame({"size": np.arange(10.0)}, pd.Index(panel.items, name="item")).to_csv(items)
    pd.DataFrame({"kind": [*"xxxxyyyy"]}, pd.Index(panel.judges, name="judge")).to_csv(judges)
    data = ["fit", str(verdicts), "--codes", "unit"]
    return data, ["--item-metadata", str(items), "--judge-metadata", str(judges)]


def test_traits_of_items_and_judges_are_those_of_the_library(files, panel, capsys):
    data, tables = files
    asked = ["--items", "~ size", "--interactions", "~ kind", "--position", "common", "--json"]
    assert main([*data, *tables, *asked]) == 0
    document = json.loads(capsys.readouterr().out)
    known = panel.with_metadata(
        items=pd.DataFrame({"size": np.arange(10.0)}, panel.items),
        judges=pd.DataFrame({"kind": [*"xxxxyyyy"]}, panel.judges),
    )
    result = hja.BTLModel.from_comparisons(known, items="~ size", interactions="~ kind", position="common").fit()
    assert document["fit"]["llf"] == pytest.approx(result.llf)
    assert [row["estimate"] for row in document["traits"]] == pytest.approx(list(result.traits["estimate"]))
    chosen = {row["what"]: row["chosen"] for row in document["choices"]}
    assert chosen["model"] == "BTL on size by judges' kind[T.y]"
    assert chosen["traits"] == "~ size, ~ kind"


def test_judges_may_weigh_traits_and_what_is_not_given_is_chosen(files, panel, capsys):
    data, tables = files
    assert main([*data, *tables, "--items", "~ size", "--model", "ja", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    known = panel.with_metadata(items=pd.DataFrame({"size": np.arange(10.0)}, panel.items))
    result = hja.fit(known, items="~ size", model="ja")
    assert result.fit.layout.structure.name == "JA on size"
    assert document["fit"]["llf"] == pytest.approx(result.llf)
    assert [row["reason"] for row in document["choices"]] == list(result.choices["reason"])
    assert [row["trait"] for row in document["traits"]] == ["size"]


def test_a_report_and_a_leaderboard_are_of_the_same_fit(files, tmp_path, capsys):
    data, tables = files
    page = tmp_path / "page.html"
    assert main(["report", *data[1:], *tables, "--items", "~ size", "-o", str(page)]) == 0
    assert "traits of items" in page.read_text()
    capsys.readouterr()
    assert main(["leaderboard", *data[1:], *tables, "--items", "~ size"]) == 0
    assert "model-J" in capsys.readouterr().out


def test_random_items_have_their_spread_in_the_text(files, capsys):
    data, tables = files
    assert main([*data, *tables, "--items", "~ size", "--random", "items"]) == 0
    assert "sd[items]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--items", "~ size"], "--item-metadata FILE"),
        (["--interactions", "~ kind", "--rank", "1"], "--rank 1 has no effect with --interactions '~ kind'"),
        (["--interactions", "~ kind", "--model", "ja"], "--model ja has no effect with --interactions '~ kind'"),
        (["--items", "~ size", "--judges", "sample"], "--judges sample has no effect with --items '~ size'"),
        (["--items", "~ size", "--model", "judgewise"], "or use --model hja"),
        (["--items", "~ size", "--target", "judge-1"], "--items has no effect with --target"),
    ],
    ids=str,
)
def test_options_that_do_not_go_together_get_a_sentence(files, capsys, options, message):
    assert main([*files[0], *options]) == 2
    assert message in capsys.readouterr().err
