import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.cli import main
from hjastats.experiments import EXPERIMENTS, Settings, inputs, published, real, reproduce
from hjastats.experiments.ledger import Ledger, key, work_off
from hjastats.experiments.synthetic import draw, recovery_tasks


def test_a_finished_task_is_never_repeated_and_a_torn_line_is(tmp_path):
    path = tmp_path / "work.jsonl"
    calls = []

    def run(n):
        calls.append(n)
        return [{"square": n * n}]

    tasks = [{"n": n} for n in range(5)]
    first = work_off(tasks[:3], run, Ledger(path), jobs=1, label="", progress=False)
    assert first["square"].tolist() == [0, 1, 4]
    with path.open("a") as file:
        file.write('{"task": {"n": 3}, "rows": [{"squ')
    whole = work_off(tasks, run, Ledger(path), jobs=1, label="", progress=False)
    assert whole["square"].tolist() == [0, 1, 4, 9, 16]
    assert calls == [0, 1, 2, 3, 4]
    assert len(path.read_text().splitlines()) == 5


def total(file, seed=0):
    return [{"total": sum(map(int, Path(file).read_text().split())) + seed}]


def done(path, files, run=total):
    ledger = Ledger(path)
    tasks = [{"file": str(file), "seed": seed} for file in files for seed in range(2)]
    return work_off(tasks, run, ledger, jobs=1, label="sums", progress=False), ledger


def test_changed_data_are_computed_again_and_that_is_said(tmp_path):
    data, path = tmp_path / "data.txt", tmp_path / "work.jsonl"
    data.write_text("1 2")
    assert done(path, [data])[0]["total"].tolist() == [3, 4]
    data.write_text("1 2 3")
    frame, ledger = done(path, [data])
    assert frame["total"].tolist() == [6, 7]
    assert ledger.notes == ["2 tasks of sums computed again: the data have changed since"]
    # The earlier content is still known, wherever it lies.
    (tmp_path / "elsewhere.txt").write_text("1 2")
    frame, ledger = done(path, [tmp_path / "elsewhere.txt", data], run=None)
    assert frame["total"].tolist() == [3, 4, 6, 7]
    assert ledger.notes == []


def test_changed_code_is_a_reason_to_compute_again(tmp_path, monkeypatch):
    data, path = tmp_path / "data.txt", tmp_path / "work.jsonl"
    data.write_text("5")
    done(path, [data])
    monkeypatch.setattr(inputs, "code_digest", lambda: "another version")
    frame, ledger = done(path, [data], run=lambda file, seed: [{"total": -1}])
    assert frame["total"].tolist() == [-1, -1]
    assert ledger.notes == ["2 tasks of sums computed again: the code has changed since"]
    # Lines of earlier versions do not say what they were computed from.
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({"task": e["task"], "rows": e["rows"]}) + "\n" for e in entries))
    assert len(done(path, [data])[1].notes) == 1


def test_a_file_that_changes_while_it_is_worked_on_is_not_kept(tmp_path):
    data = tmp_path / "data.txt"
    data.write_text("1")

    def run(file, seed):
        data.write_text("2")
        return [{"total": 1}]

    with pytest.raises(hja.ComparisonError, match="was changed while it was worked on"):
        done(tmp_path / "work.jsonl", [data], run)
    assert not (tmp_path / "work.jsonl").exists()


@pytest.mark.parametrize(
    "damage", [b"{not json", b"\xff\xfe\x00", b"[]", b'{"task": {"n": 1}}', b'{"task": 1, "rows": 2}']
)
def test_a_damaged_line_is_named_set_aside_and_done_again(tmp_path, damage):
    data, path = tmp_path / "data.txt", tmp_path / "work.jsonl"
    data.write_text("1 2")
    done(path, [data])
    first, second = path.read_bytes().splitlines()
    path.write_bytes(first + b"\n" + damage + b"\n")
    frame, ledger = done(path, [data])
    assert frame["total"].tolist() == [3, 4]
    assert ledger.notes[0].startswith("line 2 of work.jsonl cannot be read (")
    assert "work.jsonl.damaged" in ledger.notes[1]
    assert (tmp_path / "work.jsonl.damaged").read_bytes() == damage + b"\n"
    assert path.read_bytes() == first + b"\n" + second + b"\n"
    assert done(path, [data], run=None)[1].notes == []


def test_files_of_one_stem_stay_apart(tmp_path, panel):
    frame = panel.to_frame()[["judge", "first", "second"]].assign(
        winner=np.where(panel.outcome == 1.0, "first", "second")
    )
    files = []
    for folder, rows in (("a", frame), ("b", frame[frame["judge"] != "judge-noise"])):
        (tmp_path / folder).mkdir()
        files.append(str(tmp_path / folder / "panel.csv"))
        rows.to_csv(files[-1], index=False)
    text = reproduce("diagnostics", tmp_path / "out", Settings(files=(*files, files[0])))
    assert "note:" not in text
    table = pd.read_csv(tmp_path / "out" / "diagnostics.csv")
    assert list(table["data"].unique()) == ["a_panel.csv", "b_panel.csv"]
    numbers = table[table["variant"] == "all judges"].groupby("data")["judge"].nunique()
    assert numbers.tolist() == [panel.n_judges, panel.n_judges - 1]
    assert len(list((tmp_path / "out").glob("diagnostics_*_all_judges_leverage.png"))) == 2
    assert "a_panel.csv: " in text
    assert "b_panel.csv: " in text


@pytest.mark.slow
def test_a_killed_run_goes_on_and_gives_what_an_undisturbed_one_gives(tmp_path):
    command = [sys.executable, "-m", "hjastats", "reproduce", "synthetic", "--quick", "--output"]
    process = subprocess.Popen([*command, str(tmp_path / "a")], stdout=subprocess.DEVNULL)
    ledger = tmp_path / "a" / "synthetic.jsonl"
    deadline = time.monotonic() + 120
    while not (ledger.exists() and len(ledger.read_text().splitlines()) >= 3):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.kill()
    process.wait()
    before = ledger.read_text().splitlines()
    assert 3 <= len(before) < 32
    subprocess.run([*command, str(tmp_path / "a")], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([*command, str(tmp_path / "b"), "--jobs", "2"], check=True, stdout=subprocess.DEVNULL)
    after = ledger.read_text().splitlines()
    assert after[: len(before) - 1] == before[:-1]
    tasks = [key(json.loads(line)["task"]) for line in after]
    assert len(set(tasks)) == len(tasks) == 32
    pd.testing.assert_frame_equal(
        pd.read_csv(tmp_path / "a" / "synthetic.csv"), pd.read_csv(tmp_path / "b" / "synthetic.csv"), rtol=1e-8
    )


@pytest.mark.slow
def test_every_experiment_runs_quickly_and_leaves_tables_and_figures(tmp_path, capsys):
    assert main(["reproduce", "all", "--quick", "--jobs", "2", "--output", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    for name in EXPERIMENTS:
        assert f"{name}: {EXPERIMENTS[name].title}" in text
        assert (tmp_path / f"{name}.csv").stat().st_size > 100
        assert list(tmp_path.glob(f"{name}*.png")) or name == "table1"
    table = pd.read_csv(tmp_path / "synthetic.csv").set_index(["sweep", "n", "h", "method"])
    # The order of the methods is beyond doubt even with eight repetitions.
    for n in (400, 1600):
        assert table.loc[("n", n, 1.0, "HJA ridge"), "mse"] < 0.5 * table.loc[("n", n, 1.0, "JA"), "mse"]
    assert table.loc[("n", 1600, 1.0, "HJA"), "coverage"] > 0.9


def test_unknown_experiments_and_files_are_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["reproduce", "table9"])
    capsys.readouterr()
    assert main(["reproduce", "table1", "--data", "nowhere.json", "--output", str(tmp_path)]) == 2
    assert "no file nowhere.json" in capsys.readouterr().err
    with pytest.raises(hja.ComparisonError, match="no experiment"):
        reproduce("table9", tmp_path)


def test_the_same_task_draws_the_same_panel():
    one, two = draw(400, 1.0, 3), draw(400, 1.0, 3)
    np.testing.assert_array_equal(one[1].outcome, two[1].outcome)
    assert not np.array_equal(one[1].outcome, draw(400, 1.0, 4)[1].outcome)
    assert len(recovery_tasks((400, 800), (0.0,), 50)) == 150
    assert len(EXPERIMENTS["synthetic"].tasks(Settings())) == 11 * 50


def test_a_noisy_judge_adds_coin_flips_and_leaves_the_others_alone(panel):
    noisy = real.with_noisy_judge(panel, "noise", 4000, np.random.default_rng(0))
    assert noisy.n_judges == panel.n_judges + 1
    assert noisy.n_rows == panel.n_rows + 4000
    np.testing.assert_array_equal(noisy.outcome[: panel.n_rows], panel.outcome)
    mine = noisy.to_frame().query("judge == 'noise'")
    assert abs(mine["outcome"].mean() - 0.5) < 4 * 0.5 / np.sqrt(4000)
    assert set(mine["first"]) == set(panel.items)


def test_close_pairs_come_in_thirds_from_the_closest_on_and_without_ties():
    rows = []
    # Pairs a-b at 50%, c-d at 60%, e-f at 70%, and g-h too rare to count.
    for low, high, wins, n in (("a", "b", 20, 40), ("c", "d", 24, 40), ("e", "f", 28, 40), ("g", "h", 5, 10)):
        rows += [("j", low, high, 1.0)] * wins + [("j", high, low, 1.0)] * (n - wins)
    rows += [("j", "a", "b", 0.5), ("j", "b", "c", 1.0), ("j", "d", "e", 1.0), ("j", "f", "g", 1.0)]
    data = hja.Comparisons.from_arrays(*zip(*rows, strict=True))
    slices = real.near_ties(data, data)
    frame = data.to_frame()
    for name, pair in (("closest", {"a", "b"}), ("middle", {"c", "d"}), ("farthest", {"e", "f"})):
        chosen = frame.iloc[slices[name]]
        assert set(chosen["first"]) | set(chosen["second"]) == pair
        assert (chosen["outcome"] != 0.5).all()
        assert len(chosen) == 40


@pytest.mark.slow
def test_position_effects_predict_held_out_verdicts_better_than_disagreement(shared_data):
    """JA with position against HJA without, on three splits with fixed seeds."""
    for name in ("chatbot_arena", "mtbench"):
        rows = [pd.DataFrame(real.run("held-out", str(shared_data / f"{name}.json"), seed)) for seed in range(3)]
        means = pd.concat(rows).groupby("method")[["accuracy", "log-loss"]].mean()
        assert means.loc["JA + position", "log-loss"] < means.loc["HJA", "log-loss"] - 0.005
        assert means.loc["JA + position", "accuracy"] > means.loc["BTL", "accuracy"] + 0.03


def documented(facts, rng):
    """Records in the form of the paper's files, with the numbers that it states of one of them."""
    n = facts.comparisons + facts.dropped
    first, second = np.triu_indices(facts.items, 1)
    cells = rng.permutation(facts.judges * len(first))[: facts.cells]
    # Every cell once, and the rest as it comes: a record that cannot be read is in no cell.
    chosen = np.concatenate([cells, rng.choice(cells, n - len(cells))])
    judge, pair = np.divmod(chosen, len(first))
    label = rng.choice(["a", "b"], n).astype(object)
    label[: facts.ties], label[facts.comparisons :] = "c", "unknown"
    return [
        {
            "question_id": str(k),
            "model_a": f"model-{first[pair[k]]:02d}",
            "model_b": f"model-{second[pair[k]]:02d}",
            "judge_model": f"maker/judge-{judge[k]:02d}",
            "judge_preferred_model": label[k],
            "judge_confidence": 0.9,
        }
        for k in range(n)
    ]


@pytest.mark.parametrize("name", published.DATASETS)
def test_data_of_the_paper_are_known_by_what_it_says_of_them(tmp_path, name):
    facts = published.DATASETS[name]
    path = tmp_path / "downloaded.json"
    path.write_text(json.dumps(documented(facts, np.random.default_rng(0))), encoding="utf-8")
    data = hja.read_comparisons(path)
    assert published.Facts.of(data) == facts
    assert published.recognise(data) == name
    assert published.recognise(data.subset(np.arange(data.n_rows - 1))) is None


def test_the_public_files_are_those_that_the_paper_describes(shared_data):
    for name in ("chatbot_arena", "mtbench"):
        assert published.recognise(hja.read_comparisons(shared_data / f"{name}.json")) == name


def test_table1_sets_printed_numbers_beside_the_paper_s_own_data_only(tmp_path, monkeypatch):
    small = published.Facts(900, 30, 70, 5, 4, 40)
    path = tmp_path / "ultrafeedback.json"
    path.write_text(json.dumps(documented(small, np.random.default_rng(1))), encoding="utf-8")
    settings = Settings(quick=True, files=(str(path),))
    text = reproduce("table1", tmp_path / "out", settings)
    assert "ultrafeedback is called like a data set of the paper and is not that" in text
    assert "comparisons 900 instead of 9,726, dropped 30 instead of 274" in text
    assert "beside the printed numbers" not in text
    # Were it the paper's, whatever it is called, the numbers would stand beside each other.
    monkeypatch.setitem(published.DATASETS, "ultrafeedback", small)
    other = path.rename(tmp_path / "my download.json")
    text = reproduce("table1", tmp_path / "out", Settings(quick=True, files=(str(other),)))
    assert "my download: ultrafeedback of the paper" in text
    printed = pd.read_csv(tmp_path / "out" / "table1_printed.csv").set_index(["data", "method", "column"])
    assert printed.loc[("ultrafeedback", "HJA", "accuracy"), "printed"] == 0.70
