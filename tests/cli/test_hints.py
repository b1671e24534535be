"""The command line shows what to do next in its own options, and what it shows can be typed."""

import pickle
import re
import shlex
import warnings

import pandas as pd
import pytest

from hjastats import ComparisonError, SeparationWarning
from hjastats.cli import main
from hjastats.cli.commands import said
from hjastats.cli.hints import as_option
from hjastats.cli.main import parser
from hjastats.errors import Hint


def refused(capsys, *arguments):
    """What the command line says to an input it refuses."""
    assert main(["fit", *arguments, "--model", "btl"]) == 2
    return capsys.readouterr().err


def test_messages_about_labels_name_options(verdicts, capsys):
    table = pd.read_csv(verdicts)
    table["winner"] = table["winner"].map({"a": "L", "b": "R"})
    table.to_csv(verdicts, index=False)
    assert main(["fit", verdicts]) == 2
    message = capsys.readouterr().err
    assert "Pass --codes 'L=first|second|tie' ... to say what they mean or --drop 'L' ... to leave them out." in message


@pytest.mark.parametrize(
    "label", ["judge='x'", "codes={'a': 'first', ...}", "drop=[...]", "two  spaces", "missing='drop'"]
)
def test_the_text_of_a_user_is_never_altered(verdicts, capsys, label):
    table = pd.read_csv(verdicts)
    table.loc[0, "winner"] = label
    table.to_csv(verdicts, index=False)
    message = refused(capsys, verdicts)
    assert f"{label!r} (1 row). Pass --codes " in message
    assert shlex.split(message.partition("--codes ")[2])[0] == f"{label}=first|second|tie"


def columns(**others):
    rows = [
        ("j", "a", "b", "a"),
        ("k", "b", "c", "a"),
        ("j", "c", "a", "b"),
        ("k", "a", "b", "b"),
        ("j", "a", "c", "b"),
    ]
    table = pd.DataFrame(rows, columns=["judge", "model_a", "model_b", "winner"])
    table["model_a"], table["model_b"] = "item-" + table["model_a"], "item-" + table["model_b"]
    return table.assign(**others)


CASES = {
    "separator": (lambda path: columns().to_csv(path, index=False, sep="|"), [], []),
    "judge": (lambda path: columns().drop(columns="judge").to_csv(path, index=False), [], []),
    "label": (lambda path: columns(winner=["L", "R", "R", "L", "L"]).to_csv(path, index=False), [], ["R=second"]),
    "dash": (lambda path: columns(winner=[-1, -1, 1, 1, -1]).to_csv(path, index=False), [], ["--codes", "1=second"]),
    "quote": (lambda path: columns(winner=["it's", "a", "a", "b", "b"]).to_csv(path, index=False), [], []),
    "lines": (lambda path: columns().to_json(path, orient="records", lines=True), ["--format", "json"], []),
}


@pytest.mark.parametrize("case", CASES)
def test_what_a_message_advises_can_be_typed_and_reads_the_file(tmp_path, capsys, case):
    write, arguments, more = CASES[case]
    path = str(tmp_path / "verdicts.csv")
    write(path)
    message = refused(capsys, path, *arguments)
    advised = re.findall(r"--[a-z-]+[ =](?:'[^ ]*'|[\w=-]+)", message)
    chosen = [text for text in advised if "=first" in text or "=second" in text] or advised
    option = next(text for text in chosen if text != "--judge column").replace("first|second|tie", "first")
    assert main(["fit", path, *shlex.split(option), *more, "--model", "btl", "--ridge", "1"]) == 0
    assert "5 comparisons of 3 items" in capsys.readouterr().out


def test_a_scale_that_begins_with_a_dash_can_be_typed(tmp_path, capsys):
    path = str(tmp_path / "verdicts.csv")
    columns(winner=[-1, -1, 1, 1, 0]).to_csv(path, index=False)
    message = refused(capsys, path)
    for option in ("--codes=-1..1", "--codes 1..-1"):
        assert option + " if" in message
        assert main(["fit", path, *option.split(), "--model", "btl", "--ridge", "1"]) == 0


def test_hints_at_what_this_command_does_not_have_are_shown_as_they_are():
    fit, compare = (vars(parser().parse_args([command, "file"])) for command in ("fit", "compare"))
    assert as_option(Hint("cov_type", "HC0"), fit) == "--robust"
    assert as_option(Hint("cov_type", "HC0"), compare) == "cov_type='HC0'"
    assert as_option(Hint("fit_regularized", "terms=True", is_call=True), fit) == "--ridge 0.1"
    assert as_option(Hint("pool_rare_judges", 30, is_call=True), fit) == "pool_rare_judges(30)"
    assert as_option(Hint("missing", "drop"), fit) == "missing='drop'"
    assert as_option(Hint("position", "judge"), fit) == "--position judge"


def test_warnings_have_hints_too(capsys):
    chosen = parser().parse_args(["fit", "file"])
    with said(chosen) as sentences:
        warnings.warn(
            SeparationWarning("x='y' runs away: use ", Hint("fit_regularized", is_call=True), "."), stacklevel=1
        )
    assert sentences == ["x='y' runs away: use --ridge 0.1."]
    assert capsys.readouterr().err == "warning: x='y' runs away: use --ridge 0.1.\n"


def test_a_message_reads_for_users_of_python_and_survives_pickling():
    error = ComparisonError("pass ", Hint("codes", {"L": "first"}), " or ", Hint("drop", []), ".")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "pass codes={'L': 'first', ...} or drop=[...]."
    assert again.hints == [Hint("codes", {"L": "first"}), Hint("drop", [])]


def test_an_option_given_twice_is_refused_and_codes_add_up(verdicts, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["fit", verdicts, "--outcome", "winner", "--outcome", "judge"])
    assert stop.value.code == 2
    assert "--outcome was given twice" in capsys.readouterr().err
    chosen = parser().parse_args(["fit", verdicts, "--codes=-2=first", "--codes", "2=second", "0=tie"])
    assert chosen.codes == ["-2=first", "2=second", "0=tie"]
