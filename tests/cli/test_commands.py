import io
import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats import __version__
from hjastats.cli import main, options
from hjastats.cli.main import THREADS
from hjastats.show.leaderboard import chance
from hjastats.words import no_wider
from tests.panels import graded_panel, seasons

WIDTH = 80


def test_demo_prints_comparison_and_summary(capsys):
    assert main(["demo"]) == 0
    text = capsys.readouterr().out
    for expected in ("3,200 comparisons", "HJA(1) + position", "not chi-squared", "sensitivity gamma", "Warnings"):
        assert expected in text
    assert max(map(len, text.splitlines())) <= 120


def test_version_is_the_package_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert __version__ in capsys.readouterr().out


def test_an_unknown_command_is_refused_with_exit_code_two(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["dance"])
    assert stop.value.code == 2
    assert "invalid choice" in capsys.readouterr().err


def test_fit_chooses_the_rank_and_prints_what_the_package_computes(verdicts, capsys):
    assert main(["fit", verdicts]) == 0
    text = capsys.readouterr().out
    assert "  position  judge: BIC is lower by 186.8 than with one for all judges" in text
    assert "  model     HJA(1): BIC is lower by 71.55 than for HJA(2)" in text
    assert max(map(len, text.splitlines())) <= WIDTH
    result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
    with no_wider(WIDTH):
        summary = [line for line in str(result.summary()).splitlines() if "Time:" not in line]
    assert all(line in text for line in summary)
    ranking = next(line for line in text.splitlines() if line.startswith("model-I"))
    assert ranking.split()[1:] == ["1", "1.38", "0.10", "1", "a"]


def test_fit_prints_json_for_machines_that_reads_back(verdicts, tmp_path, capsys):
    kept = tmp_path / "fit.json"
    arguments = ["fit", verdicts, "--model", "ja", "--position", "none", "--robust", "--json", "--save", str(kept)]
    assert main([*arguments, "--contrast", "mu[model-I] - mu[model-H]"]) == 0
    document = json.loads(capsys.readouterr().out)
    result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit(cov_type="HC0")
    assert document["fit"]["llf"] == pytest.approx(result.llf)
    assert document["model"]["name"] == "JA"
    assert document["choices"][-1] == {"what": "errors", "chosen": "HC0", "reason": "asked for", "number": None}
    leader = result.consensus.iloc[0]
    assert document["consensus"][0]["item"] == leader.name
    assert document["consensus"][0]["std_err"] == pytest.approx(leader["std_err"])
    contrast = result.contrast("mu[model-I] - mu[model-H]")
    assert document["contrasts"][0]["estimate"] == pytest.approx(contrast.estimate[0])
    np.testing.assert_allclose(hja.load_results(kept).bse, result.bse, rtol=1e-9)


def test_a_target_anchors_the_ranking_to_its_judges(verdicts, tmp_path, capsys):
    saved = tmp_path / "fit.json"
    assert main(["fit", verdicts, "--target", "judge-2", "--save", str(saved)]) == 0
    text = capsys.readouterr().out
    anchored = hja.anchor(verdicts, "judge-2")
    assert anchored.worth.equivalent == pytest.approx(hja.load_results(saved).worth.equivalent)
    assert " ".join(repr(anchored.worth).split()) in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= WIDTH
    assert main(["fit", verdicts, "--target", "judge-2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ranking"][0]["item"] == anchored.ranking().index[0]
    assert found["fit"]["aic"] is None
    assert main(["fit", verdicts, "--target", "judge-2", "--rank", "1"]) == 2
    assert "--rank has no effect with --target" in capsys.readouterr().err


def test_fit_reads_standard_input_and_odd_columns(verdicts, capsys, monkeypatch):
    frame = hja.datasets.load_panel().to_frame()
    odd = frame.rename(columns={"judge": "rater", "first": "L", "second": "R"})
    odd["choice"] = np.where(frame["outcome"] == 1, "1", "2")
    arguments = [
        "fit",
        "-",
        "--judge",
        "rater",
        "--first",
        "L",
        "--second",
        "R",
        "--outcome",
        "choice",
        "--model",
        "btl",
    ]
    arguments += ["--codes", "1=first", "2=second", "--json"]
    for text in (odd.drop(columns=["outcome", "weight"]).to_csv(index=False), odd.to_json(orient="records")):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        assert main(arguments) == 0
        document = json.loads(capsys.readouterr().out)
        expected = hja.BTLModel.from_comparisons(hja.datasets.load_panel(), position="judge").fit()
        assert document["fit"]["llf"] == pytest.approx(expected.llf)


def test_separated_data_end_with_a_ranking_and_the_reason(tmp_path, capsys):
    path = tmp_path / "few.csv"
    path.write_text("judge,model_a,model_b,winner\nj,a,b,a\nj,b,c,a\nk,a,c,a\nk,c,b,a\n")
    assert main(["fit", str(path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    penalty = next(line for line in document["choices"] if line["what"] == "penalty")
    assert penalty["chosen"] == "ridge 0.1"
    assert "'a' without limit" in penalty["reason"]
    assert document["ranking"][0]["item"] == "a"
    assert len(document["ranking"]) == 3


def test_a_judge_who_always_says_first_does_not_cost_the_ranking(verdicts, capsys):
    table = pd.read_csv(verdicts)
    table.loc[table["judge"] == "judge-first", "winner"] = "a"
    table.to_csv(verdicts, index=False)
    assert main(["fit", verdicts, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    chosen = {line["what"]: line for line in document["choices"]}
    assert chosen["position"]["chosen"] == "judge"
    assert "position[judge-first] grows without limit" in chosen["penalty"]["reason"]
    assert len(document["ranking"]) == 10
    assert document["ranking"][0]["item"] == "model-I"


def test_everything_that_is_printed_is_in_the_json(verdicts, capsys):
    assert main(["fit", verdicts]) == 0
    text = capsys.readouterr().out
    assert main(["fit", verdicts, "--json"]) == 0
    plain = capsys.readouterr().out
    numbers = {f"{abs(value):.4f}" for value in _numbers(json.loads(plain))}
    printed = [word for line in text.splitlines() for word in line.split() if re.fullmatch(r"-?\d+\.\d{4}", word)]
    assert len(printed) > 100
    assert {word.lstrip("-") for word in printed} <= numbers
    for line in json.loads(plain)["findings"]:
        assert " ".join(line["text"].split()[:4]) in " ".join(text.split())


def _numbers(value):
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _numbers(part)
    elif isinstance(value, int | float):
        yield value


def test_tables_fit_eighty_columns(verdicts, capsys):
    table = pd.read_csv(verdicts)
    table["judge"] = "organisation/a-judge-with-a-long-name-" + table["judge"]
    table["model_a"], table["model_b"] = (
        "organisation/an-item-with-a-name-" + table[c] for c in ("model_a", "model_b")
    )
    table.to_csv(verdicts, index=False)
    for command in (["fit", verdicts], ["compare", verdicts]):
        assert main(command) == 0
        lines = capsys.readouterr().out.splitlines()
        tables = [line for line in lines if re.search(r" -?\d+\.\d+ +-?\d+\.\d+", line) or set(line) in ({"="}, {"-"})]
        assert len(tables) > 8
        assert max(map(len, tables)) <= 80


def test_many_items_are_shown_in_tiers(tmp_path, capsys):
    path = str(tmp_path / "many.csv")
    assert main(["simulate", "--items", "60", "--comparisons", "60000", "--rank", "0", "-o", path]) == 0
    assert main(["fit", path, "--model", "btl"]) == 0
    text = capsys.readouterr().out
    ranking = text[text.index("Ranking (") : text.index("Dep. Variable")].splitlines()
    tiers = [int(line.split()[-1]) for line in ranking if line.startswith("item-")]
    assert len(tiers) == 60
    assert tiers == sorted(tiers)
    assert tiers[0] == 1 < tiers[-1]


def test_a_table_with_another_separator_is_read_as_text_and_the_error_names_the_option(verdicts, capsys):
    table = pd.read_csv(verdicts)
    table["weight"] = 2
    table["judge"] = "0" + table["judge"].str.len().astype(str)
    table.to_csv(verdicts, index=False, sep=";")
    assert main(["fit", verdicts]) == 2
    assert "Pass --separator ';'" in capsys.readouterr().err
    assert main(["fit", verdicts, "--separator", ";", "--model", "btl", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["fit"]["nobs"] == 6400
    assert {row["judge"] for row in document["sensitivity"]} <= {"07", "011"}


def test_a_single_judge_is_compared_with_and_without_position_only(verdicts, capsys):
    table = pd.read_csv(verdicts).drop(columns="judge")
    table.to_csv(verdicts, index=False)
    assert main(["compare", verdicts, "--single-judge", "all", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["model"] for row in document["models"]] == ["BTL", "BTL + common position"]
    assert main(["compare", verdicts, "--single-judge", "all", "--ranks", "1"]) == 2
    assert "only rank 0 is possible" in capsys.readouterr().err


def test_data_without_any_disagreement_are_fitted_and_compared_without_it(tmp_path, capsys):
    path = tmp_path / "few.csv"
    path.write_text("judge,model_a,model_b,winner\nann,gpt-4,llama,model_a\nbob,llama,claude,tie\n")
    assert main(["fit", str(path)]) == 0
    assert "model     BTL: there is one judge, or one voice of all" in capsys.readouterr().out
    assert main(["compare", str(path), "--judges", "fixed", "--json"]) == 0
    names = [row["model"] for row in json.loads(capsys.readouterr().out)["models"]]
    assert sorted(names) == ["BTL", "JA"]
    assert main(["compare", str(path), "--ranks", "1"]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "nowhere.csv"], "the file 'nowhere.csv' does not exist"),
        (["fit", "VERDICTS", "--judge", "raters"], "raters"),
        (["fit", "VERDICTS", "--rank", "many"], "--rank takes a whole number or auto"),
        (["fit", "VERDICTS", "--rank", "40"], "rank must be an integer between 0 and"),
        (["fit", "VERDICTS", "--contrast", "mu[model-Z]"], "model-Z"),
        (["fit", "VERDICTS", "--cluster", "prompt"], "--cluster prompt: no such column; there are none"),
        (["fit", "VERDICTS", "--keep", "p", "--cluster", "q"], "--keep p, --cluster q: no such column"),
        (["fit", "VERDICTS", "--judge", "rater", "--outcome", "choice"], "--judge rater is not a column"),
        (["fit", "VERDICTS", "--judge", "rater", "--outcome", "choice"], "--outcome choice is not a column"),
        (["fit", "VERDICTS", "--model", "btl", "--rank", "3"], "--rank 3 has no effect with --model btl"),
        (
            ["fit", "VERDICTS", "--tie", "judge"],
            "--tie judge has no effect: no verdict is a tie or one of several grades. Leave it out.",
        ),
        (["fit", "VERDICTS", "--model", "ja", "--criterion", "aic"], "--criterion aic has no effect"),
        (["fit", "VERDICTS", "--robust", "--cluster", "judge"], "--cluster judge has no effect with --robust"),
        (["fit", "VERDICTS", "--codes", "x=first", "y"], "--codes takes"),
        (["fit", "VERDICTS", "--without-judges", "nobody"], "nobody"),
        (["compare", "VERDICTS", "--ranks", "0"], "--ranks must lie between"),
        (["simulate", "--rank", "9"], "rank must lie between"),
        (["simulate", "--items", "1"], "at least one judge"),
    ],
)
def test_bad_input_is_one_line_with_exit_code_two(verdicts, capsys, arguments, message):
    assert main([verdicts if argument == "VERDICTS" else argument for argument in arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert len(captured.err.strip().splitlines()) == 1


def test_a_bug_has_exit_code_one_and_a_traceback_only_on_request(verdicts, capsys, monkeypatch):
    def broken(*arguments, **options):
        raise RuntimeError("two plus two")

    monkeypatch.setattr("hjastats.cli.options.read", broken)
    assert main(["fit", verdicts]) == 1
    captured = capsys.readouterr()
    assert "internal error, RuntimeError: two plus two" in captured.err
    assert "Traceback" not in captured.err
    assert main(["fit", verdicts, "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_compare_counts_clusters_on_request(verdicts, capsys):
    table = pd.read_csv(verdicts)
    table.assign(question_id=np.arange(len(table)) // 40).to_csv(verdicts, index=False)
    assert main(["compare", verdicts, "--cluster", "question_id", "--json"]) == 0
    notes = {row["model"]: row["note"] for row in json.loads(capsys.readouterr().out)["models"]}
    assert notes["JA"].startswith("Rao-Scott, ")
    assert notes["JA"].endswith(" by question_id")
    assert main(["compare", verdicts, "--cluster", "nowhere"]) == 2
    assert "nowhere" in capsys.readouterr().err


def test_compare_names_the_smallest_criteria(verdicts, capsys):
    assert main(["compare", verdicts]) == 0
    text = capsys.readouterr().out
    assert "Smallest BIC: HJA(1) + position; smallest AIC: HJA(1) + position." in text
    assert main(["compare", verdicts, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["model"] for row in rows["models"]} >= {"BTL", "JA", "HJA(1) + position"}


def test_compare_says_how_ties_count(verdicts, capsys):
    table = pd.read_csv(verdicts)
    table.assign(winner=table["winner"].where(np.arange(len(table)) % 9 > 0, "tie")).to_csv(verdicts, index=False)
    assert main(["compare", verdicts]) == 0
    assert "ties      half: half a win for each" in capsys.readouterr().out
    assert main(["compare", verdicts, "--ties", "davidson"]) == 0
    assert "ties      davidson: asked for" in capsys.readouterr().out


def test_compare_takes_grades_as_fit_does_and_names_what_models_differ_in(tmp_path, capsys):
    data = graded_panel()
    path = str(tmp_path / "grades.csv")
    data.to_frame().to_csv(path, index=False)
    assert main(["compare", path, "--codes", "unit"]) == 0
    out = capsys.readouterr().out
    assert "ties      ordinal: 7 grades" in out
    assert "davidson" not in out
    assert "All with common thresholds" in out
    best = hja.JAModel.from_comparisons(data, position="judge", ties="ordinal").fit()
    (row,) = [line for line in out.splitlines() if line.startswith("JA + position ")]
    assert f"{best.bic:.1f}" in row
    assert max(map(len, out.split("Chosen")[1].splitlines())) <= 80


def test_what_a_warning_of_grades_advises_is_an_option_that_works(tmp_path, capsys):
    path = str(tmp_path / "grades.csv")
    graded_panel().to_frame().to_csv(path, index=False)
    assert main(["fit", path, "--codes", "unit"]) == 0
    assert "Fit tie='judge'." in " ".join(capsys.readouterr().out.split())
    assert main(["fit", path, "--codes", "unit", "--tie", "judge"]) == 0
    out = capsys.readouterr().out
    assert "ties      ordinal: asked for, tie judge" in out
    assert "Fit tie='judge'" not in " ".join(out.split())
    tables = out.split("Ranking")[1].split("Warnings")[0]
    assert max(map(len, tables.splitlines()[1:])) <= 80


def test_simulate_pipes_into_fit():
    run = [sys.executable, "-m", "hjastats"]
    panel = subprocess.run(
        [*run, "simulate", "--judges", "5", "--seed", "3"], capture_output=True, check=True, text=True
    )
    assert panel.stdout.splitlines()[0] == "judge,item_a,item_b,winner"
    assert len(panel.stdout.splitlines()) == 2001
    fit = subprocess.run([*run, "fit", "-"], input=panel.stdout, capture_output=True, check=True, text=True)
    assert "2,000 comparisons of 8 items by 5 judges" in fit.stdout
    # A reader that stops early, such as head, is no error.
    piped = subprocess.run(
        f"{sys.executable} -m hjastats simulate --comparisons 200000 | head -n 1",
        shell=True,
        capture_output=True,
        text=True,
    )
    assert piped.stderr == ""
    again = subprocess.run(
        [*run, "simulate", "--judges", "5", "--seed", "3"], capture_output=True, check=True, text=True
    )
    assert again.stdout == panel.stdout


def test_every_help_text_is_readable(capsys):
    for command in ("demo", "fit", "compare", "simulate", "reproduce"):
        with pytest.raises(SystemExit) as stop:
            main([command, "--help"])
        assert stop.value.code == 0
        assert max(map(len, capsys.readouterr().out.splitlines())) <= 120


def test_mt_bench_as_a_new_user_would_type_it(shared_data, capsys):
    assert main(["fit", str(shared_data / "mtbench.json")]) == 0
    text = capsys.readouterr().out
    assert "errors    cluster: by 'question_id': 80 prompts" in text
    assert max(map(len, text.splitlines())) <= WIDTH
    assert next(line for line in text.splitlines() if line.startswith("gpt-4")).split()[1] == "1"


def test_of_too_many_items_the_leading_ones_are_ranked(verdicts, capsys, set_limits):
    set_limits(MOST_COMPARED=5, RANKED_OF_MANY=3)
    assert main(["fit", verdicts]) == 0
    text = capsys.readouterr().out
    assert "The leading 3 of 10 items, compared among themselves:" in text


def test_data_too_small_for_what_was_asked_are_no_bug(tmp_path, capsys):
    path = tmp_path / "few.csv"
    path.write_text("judge,model_a,model_b,winner\nj,x,y,model_a\nj,y,x,model_a\nk,x,y,model_b\n")
    assert main(["fit", str(path), "--criterion", "cv", "--judges", "fixed"]) == 2
    assert "n_folds must lie between 2 and the number of" in capsys.readouterr().err


def test_shares_with_weights_are_asked_about_in_options(tmp_path, capsys):
    path = tmp_path / "rates.csv"
    items = {"judge": "j", "first": ["a", "b", "a"], "second": ["b", "c", "c"]}
    pd.DataFrame(items | {"p_a": [0.6, 0.5, 0.75], "weight": [90, 40, 60]}).to_csv(path, index=False)
    command = ["fit", str(path), "--model", "btl", "--json"]
    assert main([*command, "--codes", "unit"]) == 2
    assert "Pass --counts if 0.6 is the share of 90 comparisons" in (told := capsys.readouterr().err)
    assert "or --no-counts if one preference" in told
    assert main([*command, "--codes", "unit", "--counts"]) == 0
    by_rates = json.loads(capsys.readouterr().out)
    pd.DataFrame(items | {"won": [54, 20, 45], "lost": [36, 20, 15]}).to_csv(path, index=False)
    assert main([*command, "--first-wins", "won", "--second-wins", "lost"]) == 0
    assert json.loads(capsys.readouterr().out)["consensus"] == by_rates["consensus"]


def test_importance_weights_have_errors_of_their_own(tmp_path, capsys):
    path = tmp_path / "weighted.csv"
    frame = hja.datasets.load_panel().to_frame()
    frame.assign(weight=np.random.default_rng(0).lognormal(size=len(frame))).to_csv(path, index=False)
    assert main(["fit", str(path), "--model", "btl", "--json", "--codes", "unit"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert json.loads(captured.out)["choices"][-1]["reason"] == "by row, since weights are no whole numbers"


def test_codes_may_be_negative(tmp_path, capsys):
    path = tmp_path / "scale.csv"
    frame = hja.datasets.load_panel().to_frame()
    scale = np.where(frame["outcome"] == 1, 2, -2)
    frame.assign(verdict=scale).drop(columns=["outcome", "weight"]).to_csv(path, index=False)
    assert main(["fit", str(path), "--codes", "-2=0", "2=1", "--model", "btl", "--position", "none", "--json"]) == 0
    expected = hja.BTLModel.from_comparisons(hja.datasets.load_panel()).fit()
    assert json.loads(capsys.readouterr().out)["fit"]["llf"] == pytest.approx(expected.llf)


def test_a_parquet_file_is_clustered_by_its_prompts_and_by_any_column(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    path = str(tmp_path / "verdicts.parquet")
    frame = hja.datasets.load_panel().to_frame().drop(columns=["weight", "outcome"])
    frame["winner"] = np.where(hja.datasets.load_panel().outcome == 1, "first", "second")
    frame["question_id"], frame["topic"] = np.arange(len(frame)) % 100, np.arange(len(frame)) % 30
    frame.to_parquet(path)
    assert main(["fit", path]) == 0
    assert "errors    cluster: by 'question_id': 100 prompts" in capsys.readouterr().out
    assert main(["fit", path, "--cluster", "topic", "--model", "btl"]) == 0
    assert "30 clusters (topic)" in capsys.readouterr().out


def test_covariates_and_balance_go_in_by_name(tmp_path, capsys):
    path = str(tmp_path / "styled.csv")
    data = hja.datasets.load_panel()
    rng = np.random.default_rng(0)
    frame = data.to_frame().drop(columns="weight")
    frame = frame.assign(tokens_a=rng.integers(10, 900, len(frame)), tokens_b=rng.integers(10, 900, len(frame)))
    frame.assign(prompt_id=rng.integers(0, 300, len(frame))).to_csv(path, index=False)
    command = ["fit", path, "--codes", "unit", "--rank", "0", "--position", "none", "--json"]
    assert main([*command, "--covariate", "length=tokens_a,tokens_b", "--balance", "prompt_id"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["std_err"] > 0 for row in document["terms"]["length"]] == [True]
    assert document["fit"]["nobs"] == pytest.approx(len(frame))


@pytest.mark.parametrize("command", ["fit", "compare"])
def test_control_characters_of_labels_do_not_reach_the_terminal(tmp_path, capsys, command):
    frame = hja.datasets.load_panel().to_frame()
    frame["winner"] = np.where(frame["outcome"] == 1, "a", "b")
    frame = frame.replace({"model-I": "\x1b[31mred\x07", "judge-1": "\u202ejudge"})
    path = tmp_path / "verdicts.csv"
    frame.rename(columns={"first": "model_a", "second": "model_b"})[["judge", "model_a", "model_b", "winner"]].to_csv(
        path
    )
    assert main([command, str(path)]) == 0
    printed = "".join(capsys.readouterr())
    assert "\\x1b[31mred" in printed
    assert not {"\x1b", "\x07", "\u202e"} & set(printed)


@pytest.mark.parametrize(
    ("ending", "mark"),
    [("csv", "p_best"), ("json", '"p_best"'), ("md", "| model-I |"), ("tex", "toprule"), ("html", "<table>")],
)
def test_leaderboard_prints_a_board_and_writes_it_by_its_ending(verdicts, tmp_path, capsys, ending, mark):
    path = tmp_path / f"board.{ending}"
    assert (
        main(["leaderboard", verdicts, "--model", "btl", "--scale", "elo", "--anchor", "model-H", "-o", str(path)]) == 0
    )
    text = capsys.readouterr().out
    assert "Elo points from model-H" in text
    assert max(map(len, text.replace(str(tmp_path), "").splitlines())) <= WIDTH
    assert mark in path.read_text()


def test_plan_says_what_to_ask_next_for_a_budget(verdicts, tmp_path, capsys):
    path = tmp_path / "next.csv"
    prices = [f"{judge}={2 if judge == 'judge-1' else 1}" for judge in hja.datasets.load_panel().judges]
    goal = ["--goal", "mu[model-B] - mu[model-F]", "--budget", "50", "--batch", "20"]
    assert main(["plan", verdicts, "--model", "ja", *goal, "--cost", *prices, "-o", str(path)]) == 0
    text = capsys.readouterr().out
    assert "Not enough to tell mu[model-B] - mu[model-F] from 0" in text
    assert max(map(len, text.replace(str(tmp_path), "").splitlines())) <= WIDTH
    table = pd.read_csv(path)
    assert table["cost_so_far"].iloc[-1] <= 50
    assert {"judge", "first", "second", "std_err", "batch"} <= set(table)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["plan", "FILE", "-o", "next.xls"], "--output must end in .csv or .jsonl"),
        (["leaderboard", "FILE", "-o", "board"], "--output must end in"),
        (["plan", "FILE", "--model", "btl", "--cost", "judge-1=dear"], "--cost takes pairs"),
        (["plan", "FILE", "--model", "btl", "--goal", "everything"], "goal must be a contrast or one of"),
        (["leaderboard", "FILE", "--model", "btl", "--anchor", "nobody"], "anchor must be an item"),
    ],
)
def test_what_boards_and_plans_cannot_do_is_said_in_a_sentence(verdicts, capsys, arguments, expected):
    assert main([verdicts if word == "FILE" else word for word in arguments]) == 2
    assert expected in capsys.readouterr().err


@pytest.fixture
def crowd(tmp_path):
    """Thirty workers with twenty verdicts each."""
    rng = np.random.default_rng(0)
    worker = np.repeat(np.arange(30), 20)
    first = rng.integers(0, 4, 600)
    second = (first + rng.integers(1, 4, 600)) % 4
    gap = (1 + 0.5 * rng.normal(size=30))[worker] * 0.8 * (first - second)
    won = np.where(rng.random(600) < 1 / (1 + np.exp(-gap)), "left", "right")
    path = tmp_path / "crowd.csv"
    pd.DataFrame({"worker": worker, "left": first, "right": second, "winner": won}).to_csv(path, index=False)
    return str(path)


def test_a_crowd_is_a_sample_in_every_command_that_can_show_one(crowd, capsys):
    assert main(["fit", crowd, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [line["chosen"] for line in document["choices"] if line["what"] == "judges"] == ["sample"]
    assert [row["item"] for row in document["ranking"]] == ["3", "2", "1", "0"]
    assert document["population"][0]["parameter"] == "sd[gamma]"
    assert main(["compare", crowd]) == 0
    assert "population JA + common position" in capsys.readouterr().out
    assert main(["plan", crowd, "--budget", "20"]) == 0
    assert "What to ask next" in capsys.readouterr().out


def test_a_command_has_one_thread_for_matrices_and_leaves_the_process_as_it_was(crowd, monkeypatch, capsys):
    from threadpoolctl import threadpool_info

    def threads():
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    before, during = threads(), []
    monkeypatch.setattr(
        options, "read", lambda *_: during.append(threads()) or hja.read_comparisons(crowd, single_judge="x")
    )
    for name in THREADS:
        monkeypatch.delenv(name, raising=False)
    main(["compare", crowd])
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    main(["compare", crowd])
    assert during == [{1}, before]
    assert threads() == before
    capsys.readouterr()


def test_several_files_are_one_table_as_a_shell_hands_them_over(verdicts, tmp_path, capsys):
    table = pd.read_csv(verdicts)
    parts = [str(tmp_path / f"part{k}.csv") for k in range(3)]
    for k, part in enumerate(parts):
        table.iloc[k::3].to_csv(part, index=False)
    assert main(["compare", verdicts]) == main(["compare", *parts]) == 0
    text = capsys.readouterr().out
    assert text.count("3,200 comparisons") == 2
    assert main(["fit", *parts, "-"]) == 2
    assert "standard input, -, is read alone" in capsys.readouterr().err


def test_a_fit_says_how_likely_the_first_is_best_and_which_commands_tell_more(verdicts, capsys):
    assert main(["fit", verdicts, "--model", "btl"]) == 0
    lines = capsys.readouterr().out
    best = hja.fit(verdicts, model="btl").places().best
    assert f"P(best) of {best.index[0]!r}: {chance(best.iloc[0])}. " in lines
    for command in ("leaderboard", "plan"):
        assert f"hjastats {command}" in " ".join(lines.split())
        assert main([command, verdicts, "--model", "btl"]) == 0


def test_a_plan_counts_looks_as_it_says(verdicts, capsys):
    assert main(["plan", verdicts, "--model", "btl"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "That is enough. Who wants to be surer still: What to ask next" in text
    [advice] = re.findall(r"--looks \d+", text)
    assert main(["plan", verdicts, "--model", "btl", *advice.split()]) == 0
    assert "Each of 2 looks is held to" in " ".join(capsys.readouterr().out.split())


def test_a_leaderboard_keeps_its_tiers_at_80_columns_and_explains_none_that_it_does_not_show(tmp_path, capsys):
    names = [f"a-model-with-a-long-name-{name}" for name in "abcdefgh"]
    data = hja.datasets.load_panel().to_frame()
    data = data.replace(dict(zip(sorted(set(data["first"])), [*names, "i", "j"], strict=True)))
    data.to_csv(tmp_path / "v.csv", index=False)
    assert main(["leaderboard", str(tmp_path / "v.csv"), "--codes", "unit", "--model", "btl", "--no-weight"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "P(top 3) tier" in text
    assert "No room for: n, place, win rate." in text
    assert "a tier ends where" in text
    (tmp_path / "v.csv").write_text(
        (tmp_path / "v.csv").read_text().replace("a-long-name", "a-name-that-is-longer-still")
    )
    assert main(["leaderboard", str(tmp_path / "v.csv"), "--codes", "unit", "--model", "btl", "--no-weight"]) == 0
    text = capsys.readouterr().out
    assert "No room for: n, place, win rate, tier." in text
    assert "a tier ends where" not in text


def test_labels_that_look_alike_are_told_apart_in_every_table(tmp_path, capsys):
    names = ["GPT-4o", "GPT-4o ", "Claude 3", "Claude\u00a03", "Claude  3"]
    rng = np.random.default_rng(0)
    pairs = [rng.permutation([rng.integers(2), rng.integers(2, 5)]) for _ in range(300)]
    table = pd.DataFrame([[names[i], names[j]] for i, j in pairs], columns=["winner", "loser"])
    path = str(tmp_path / "v.csv")
    table.to_csv(path, index=False)
    for command in ("fit", "leaderboard", "plan"):
        assert main([command, path, "--single-judge", "me", "--model", "btl"]) == 0
        said = capsys.readouterr()
        if command != "plan":
            exact = ("'GPT-4o'", "'GPT-4o '", "'Claude 3'", r"'Claude\xa03'", "'Claude  3'")
            assert all(f"\n{text} " in said.out for text in exact)
        assert "look alike" in said.err
    assert main(["fit", path, "--single-judge", "me", "--model", "btl", "--clean"]) == 0
    assert "'GPT-4o '" not in capsys.readouterr().out


def test_what_is_said_on_a_terminal_is_folded_to_its_width_and_is_one_line_elsewhere(verdicts, monkeypatch, capsys):
    assert main(["fit", verdicts, "--judge", "nobody"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main(["fit", verdicts, "--judge", "nobody"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 1
    assert max(map(len, lines)) <= 60


@pytest.mark.parametrize("command", ["fit", "compare"])
def test_groups_of_items_that_are_left_out_are_said_to_be(command, tmp_path, capsys):
    path = tmp_path / "seasons.csv"
    seasons().to_csv(path, index=False)
    assert main([command, str(path)]) == 0
    said = capsys.readouterr()
    assert "of 600 verdicts and 8 of 12 items" in " ".join((said.out + said.err).split())
    if command == "fit":
        assert "--unlinked apart fits all groups of items" in said.err


def test_groups_that_are_apart_are_ranked_and_planned_for_one_at_a_time(tmp_path, capsys):
    path = tmp_path / "seasons.csv"
    seasons().to_csv(path, index=False)
    given = [str(path), "--unlinked", "apart"]
    assert main(["leaderboard", *given]) != 0
    assert "Name items of one group: --group-of ITEM ranks it." in capsys.readouterr().err
    assert main(["leaderboard", *given, "--group-of", "club-1@2024"]) == 0
    text = capsys.readouterr().out
    assert text.count("@2024") == 4
    assert "@2025 " not in text.partition("Leaderboard")[2]
    assert main(["plan", *given]) != 0
    [goal] = re.findall(r"--goal '([^']*)'", capsys.readouterr().err)
    assert main(["plan", *given, "--goal", goal]) == 0
    capsys.readouterr()
    assert main(["leaderboard", *given, "--group-of", "nobody"]) != 0
    assert "--group-of takes an item, one of 'club-0@2023'" in capsys.readouterr().err
    assert main(["leaderboard", str(path), "--group-of", "club-1@2024"]) != 0
    assert "no effect without --unlinked apart" in capsys.readouterr().err
