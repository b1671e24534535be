"""What a user can get wrong is refused with one sentence, before the work, and with exit code 2."""

import importlib.resources
import json
import re
import subprocess
import sys
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats import limits
from hjastats.cli import main
from hjastats.export import checksum
from hjastats.show.report.vector import picture


@pytest.fixture(scope="module")
def fitted(panel):
    return hja.JAModel.from_comparisons(panel).fit()


def test_types_are_declared():
    assert (importlib.resources.files("hjastats") / "py.typed").is_file()


@pytest.mark.parametrize("text", ["mu[" + "]" * 19_000, "mu" + "[" * 100_000, "mu[model-A] + " * 9_000, "(" * 100_000])
@pytest.mark.parametrize("way", ["contrast", "t_test", "wald_test", "lr_test", "conf_int"])
def test_long_texts_are_refused_at_once(fitted, text, way):
    start = time.process_time()
    with pytest.raises(hja.InputError) as refused:
        getattr(fitted, way)(text)
    # Half a minute before there were limits; generous for machines under load.
    assert time.process_time() - start < 10
    assert len(str(refused.value)) < 1000


def test_a_hypothesis_of_too_many_terms_asks_for_a_matrix(fitted):
    with pytest.raises(hja.ContrastError, match="too many terms for a text: pass a matrix instead"):
        fitted.t_test(" + ".join(["mu[model-A]"] * 1200))
    assert fitted.t_test(" + ".join(["mu[model-A]"] * 50)).effect == pytest.approx(50 * fitted.params["mu[model-A]"])


@pytest.mark.parametrize("alpha", [1e308, float("inf"), float("nan"), 0, -1, True, "much"])
def test_penalties_out_of_range_are_refused(panel, alpha):
    with pytest.raises(hja.OptionError, match="alpha must be a positive number"):
        hja.JAModel.from_comparisons(panel).fit_regularized(alpha)


def test_weights_beyond_what_can_be_counted_are_refused():
    with pytest.raises(
        hja.ComparisonError, match=r"at most 9.0072e\+15; 1 values are not, first 1e\+308 at row 2, counted from 1"
    ):
        hja.Comparisons.from_arrays("j", list("aa"), list("bb"), [1, 0], [1, 1e308])
    largest = hja.Comparisons.from_arrays("j", list("aa"), list("bb"), [1, 0], [limits.LARGEST_AMOUNT] * 2)
    assert hja.BTLModel.from_comparisons(largest).fit().params.abs().max() < 1e-6


ENDLESS: list = []
ENDLESS.append(ENDLESS)
# What the fuzzer found: calls, and what is said of them.
CALLS = {
    "alpha must lie between 0 and 1, got 'cv'": lambda fit: fit.plan.stopping(alpha="cv"),
    "n_groups must lie between 1 and 8, the number of judges, got {}": lambda fit: fit.judges.bicluster(
        {}, of="scores"
    ),
    "max_rows must be a whole number from 1, got 'many'": lambda fit: fit.plot.sensitivity(max_rows="many"),
    "max_rows must be a whole number from 1, got 0": lambda fit: fit.leaderboard().plot(max_rows=0),
    "ax must be axes of matplotlib, got int": lambda fit: fit.leaderboard().plot(ax=3),
    "n_bins must be a whole number from 1, got 1.5": lambda fit: fit.plot.calibration(n_bins=1.5),
    "rng must be a whole number": lambda fit: fit.simulate(rng=ENDLESS),
    "no item is called 'Series": lambda fit: fit.head_to_head(pd.Series(dtype=float), "model-A"),
    "a contrast is a string, a function or weights, got list": lambda fit: fit.contrast(ENDLESS),
    "a contrast is a string, a function, weights": lambda fit: fit.contrast(np.array(5.0)),
    "scale must be 'delta', 'log' or 'logit'": lambda fit: fit.contrast("mu[model-A]", scale=pd.Series(dtype=float)),
    "null must be a number": lambda fit: fit.contrast("mu[model-A]", null=10**400),
    "simultaneous must be True or False": lambda fit: fit.ranking(simultaneous=np.ones(3)),
    "cols must be positions of parameters": lambda fit: fit.conf_int(cols=1.5),
    "cols must be positions of parameters from 0": lambda fit: fit.conf_int(cols=ENDLESS),
    "use_t is not available": lambda fit: fit.t_test("mu[model-A]", use_t=pd.Series(dtype=float)),
    "wald_test supports neither": lambda fit: fit.wald_test("mu[model-A]", use_f=pd.Series(dtype=float)),
    "kind must be one of": lambda fit: fit.estimates(pd.Series(dtype=float)),
    "anchor must be an item": lambda fit: fit.leaderboard(anchor=pd.Index(["model-A"])),
    "no judge is called": lambda fit: fit.plot.ranking(judge=np.array([])),
    "without any consensus": lambda fit: fit.model.hessian_free(np.zeros(len(fit.params))),
    "position must be True or False": lambda fit: fit.model.predict(fit.params, position=pd.DataFrame()),
    "warn_convergence must be True or False": lambda fit: fit.model.fit(warn_convergence=pd.Series(dtype=float)),
    "n_random must be a whole number from 0": lambda fit: fit.model.fit_constrained(
        "gamma[judge-1] = 1", n_random=True
    ),
    "positions of rows as whole numbers": lambda fit: fit.model.comparisons.subset(True),
    "separator must be": lambda fit: hja.read_comparisons("a.csv", separator=pd.Series(dtype=float)),
    "drop must be labels of verdicts": lambda fit: hja.read_comparisons(fit.model.comparisons.to_frame(), drop=True),
    "method must be the name of a method": lambda fit: fit.pairwise(method=np.ones(3)),
    "positions of rows as whole": lambda fit: fit.model.comparisons.subset([[1.0], [2.0, 3.0]]),
    "n_folds must be a whole number from 2": lambda fit: fit.model.fit_regularized("cv", n_folds="many"),
    "offset must be numbers on the scale of log-odds": lambda fit: fit.model.from_comparisons(
        fit.model.comparisons, offset=10**400
    ),
    "target must name judges: '[[...]]'": lambda fit: hja.anchor(fit.model.comparisons, ENDLESS),
    "n_jobs must be a number of processes": lambda fit: fit.bootstrap(2, n_jobs="all"),
    "n_jobs must be a number of processes, or -1": lambda fit: fit.judges.influence("refit", n_jobs=0),
    "judges must be names, got ndarray": lambda fit: fit.model.comparisons.without_judges(np.array(5.0)),
    "simultaneous must be True or False, got": lambda fit: fit.plot.contrast("mu[model-A]", simultaneous=pd.NA),
    "judge must be the name of a column, got NAType": lambda fit: hja.read_comparisons(
        fit.model.comparisons.to_frame(), judge=pd.NA
    ),
    "n_groups must be one number, or one for judges": lambda fit: fit.judges.bicluster((), of="scores"),
    "budget must be a positive number, got": lambda fit: fit.judges.panel(10**400),
    "keep must be 'ranking' or a positive": lambda fit: fit.judges.panel(keep=10**400),
    "budget must be a positive number of verdicts": lambda fit: fit.plan.next(10**400),
    "a number of comparisons": lambda fit: fit.model.comparisons.pool_rare_judges(10**400),
    "n must be a whole number from 100 to 1000000": lambda fit: fit.judges.misfit(n=10**400),
    "n must be a whole number from 2 to 1000000": lambda fit: fit.bootstrap(n=10**400),
    "exog must have one row per comparison": lambda fit: fit.model.from_comparisons(
        fit.model.comparisons, exog=[[1.0], [2.0, 3.0]]
    ),
    "n must be a number from 0": lambda fit: fit.plan.power("mu[model-A]", 10**400),
    "looks must be a whole number from 1": lambda fit: fit.plan.stopping(looks=10**400),
    "position must be": lambda fit: hja.anchor(fit.model.comparisons, "judge-1", position=np.array([])),
    "target must name judges": lambda fit: hja.anchor(fit.model.comparisons, pd.NA),
    "no such column is kept": lambda fit: hja.read_comparisons(fit.model.comparisons.to_frame(), asked_in=np.array([])),
    "old must be a result": lambda fit: hja.compare_rankings(pd.DataFrame(), fit),
    "model must be 'auto', 'btl'": lambda fit: hja.by_group(fit.model.comparisons, "judge", model=np.array([])),
    "breaks must be numbers, got str": lambda fit: hja.by_group(
        fit.model.comparisons, np.arange(fit.model.comparisons.n_rows), breaks="a, b"
    ),
    "there is no contrast to evaluate": lambda fit: fit.plot.profile([]),
    "null must be numbers up to": lambda fit: fit.contrast("mu[model-A]", null=1e308),
    "skip_single must be True or False": lambda fit: fit.wald_test_terms(pd.Series([1.0])),
    "keep must be names of columns, got int": lambda fit: hja.read_comparisons(
        fit.model.comparisons.to_frame(), keep=3
    ),
    "keep must be names of columns, got list": lambda fit: hja.read_comparisons(
        fit.model.comparisons.to_frame(), keep=[["a"]]
    ),
    "entries beyond": lambda fit: fit.wald_test(np.full((1, len(fit.params)), 1e308)),
    "the taste of": lambda fit: hja.by_group(
        fit.model.comparisons, np.arange(fit.model.comparisons.n_rows) % 2
    ).taste_changes(pd.Series([1.0])),
    "unknown item": lambda fit: fit.predict(judge="judge-1", item_a={}, item_b="*"),
    "progress must be True or False": lambda fit: hja.fit(fit.model.comparisons, progress=pd.Series([True, False])),
    "method must be the name of a method, got DataFrame": lambda fit: fit.model.fit(method=pd.DataFrame()),
    "ridge must be a positive number, 'auto' or None": lambda fit: hja.fit(fit.model.comparisons, ridge=pd.DataFrame()),
    "rank must be a whole number or 'auto', got": lambda fit: hja.fit(fit.model.comparisons, rank=pd.Series([1, 2])),
    "by must name columns, map judges": lambda fit: hja.by_group(fit.model.comparisons, np.array(5.0)),
    "level must lie between 0 and 1, got Fraction": lambda fit: fit.plot.ranking(level=Fraction(1, 3)),
    "is no judge, and no label of their metadata": lambda fit: fit.ranking(consensus="\ud800"),
    "covariates must be numbers, got str": lambda fit: fit.predict("x", item_a="*", item_b="model-C", judge="judge-1"),
}


@pytest.mark.parametrize("message", CALLS)
def test_arguments_of_another_kind_are_named(fitted, message):
    with pytest.raises(hja.InputError, match=re.escape(message)):
        CALLS[message](fitted)


@pytest.mark.parametrize("path", ["a\0b", "\ud800"])
def test_what_can_be_no_name_of_a_file_is_refused(fitted, path):
    with pytest.raises(OSError, match="no file can be called"):
        fitted.to_json(path)


def test_judges_are_named_after_the_data_were_removed(panel):
    result = hja.JAModel.from_comparisons(panel).fit()
    before = result.ranking(consensus="judge-1")
    result.remove_data()
    pd.testing.assert_frame_equal(result.ranking(consensus="judge-1"), before)
    with pytest.raises(hja.ComparisonError, match="'humans' is no judge"):
        result.leaderboard(consensus="humans")


def test_shares_of_judges_are_asked_of_names(panel):
    sample = hja.PopulationHJAModel.from_comparisons(panel).fit()
    with pytest.raises(hja.OptionError, match="judges are a sample here: leave judge out"):
        sample.leaderboard(judge={"judge-1": 1.0})
    with pytest.raises(hja.OptionError, match="items must be names of items, got int"):
        sample.share("model-A", 0)
    with pytest.raises(
        hja.ContrastError, match="expected as many first as second items, or one of either, got 2 and 3"
    ):
        sample.share(["model-A", "model-B"], ["model-C", "model-D", "model-E"])
    with pytest.raises(hja.OptionError, match="alpha must lie between 0 and 1"):
        sample.new_judge(Decimal("0.05"))


def test_prompts_that_are_containers_say_not_what_belongs_together():
    columns = pd.DataFrame({"prompt": [[1], [2], [1]]})
    data = hja.Comparisons.from_arrays("j", list("aab"), list("bcc"), [1, 0, 1], columns=columns)
    with pytest.raises(hja.ComparisonError, match="'prompt' holds lists or other containers: make it text first"):
        hja.swap_report(data)


def test_families_are_told_by_their_text(fitted):
    ax = fitted.plot.sensitivity(family={"judge-1": {}, "judge-2": 7})
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["7", "{}", "no family given"]


def test_a_file_that_is_not_of_the_format_asked_for_is_no_bug(tmp_path, capsys):
    path = tmp_path / "verdicts.csv"
    path.write_bytes(b"[{}, {}]" * 30)
    assert main(["fit", str(path), "--format", "feather"]) == 2
    assert "verdicts.csv' cannot be read" in capsys.readouterr().err


def test_a_bootstrap_of_another_model_has_no_places(fitted):
    other = hja.BTLModel.from_comparisons(fitted.model.comparisons).fit()
    with pytest.raises(hja.OptionError, match="bootstrap must be one of this fit: its parameters are others"):
        other.places(bootstrap=fitted.bootstrap(2))


def stored(result, change):
    document = json.loads(result.to_json())
    change(document)
    return json.dumps(document | {"checksum": checksum(document)})


FACTS = {
    "penalties": lambda d: d["fit"]["penalty"].update(scores=-1.0),
    "penalties of": lambda d: d["fit"]["penalty"].update(terms=1e300),
    "penalties of .*'0.5'": lambda d: d["fit"]["penalty"].update(scores="0.5"),
    "was minimised": lambda d: d["fit"]["penalty"].update(scores=50.0),
    "claims that 5": lambda d: d["fit"].update(objective=5),
    "'penalty' in the file": lambda d: d["fit"]["penalty"].update(kind="firth"),
    "was minimised, its": lambda d: d["fit"].update(penalty=None),
    "'optima'": lambda d: d["fit"].update(optima=[1.0] * 9),
    "'starts'": lambda d: d["fit"].update(unfinished=-1),
    "'starts' ": lambda d: d["fit"].update(iterations=2.5),
    "'outermost'": lambda d: d["fit"].update(outermost="far"),
    "'information'": lambda d: d["fit"].update(information="hearsay"),
    "'diverges'": lambda d: d["fit"].update(diverges=1),
    "'rank'": lambda d: d["model"].update(rank=5),
    "'n_ties_dropped'": lambda d: d["model"].update(n_ties_dropped=-1),
    "values beyond": lambda d: d["estimate"]["scores"][0].__setitem__(0, 1e308),
    "lists or other containers": lambda d: d["data"].update(columns=[{"name": "prompt", "values": [[1]] * 10}]),
    "judged together": lambda d: d["data"].update(cluster="nowhere"),
}


@pytest.mark.parametrize("message", FACTS)
def test_stored_results_that_cannot_be_are_refused(panel, message):
    result = hja.JAModel.from_comparisons(panel).fit_regularized(0.1)
    hja.load_results(stored(result, lambda document: None))
    with pytest.raises(hja.ComparisonError, match=message):
        hja.load_results(stored(result, FACTS[message]))


def test_foreign_numbers_marks_and_bytes_in_stored_results(fitted, tmp_path):
    text = fitted.to_json()
    for number in ("1e400", "-1e999", "9" * 5000, "9" * 25, "NaN"):
        with pytest.raises(hja.ComparisonError, match="which to_json\\(\\) never writes"):
            hja.load_results(text.replace('"loglike": ', f'"loglike": {number}, "other": '))
    path = tmp_path / "marked.json"
    path.write_text(text, encoding="utf-8-sig")
    assert hja.load_results(path).llf == hja.load_results("\ufeff" + text).llf == pytest.approx(fitted.llf)
    path.write_bytes(b"{\xff\xfe")
    for source in (path, tmp_path, tmp_path / "nowhere", "", "a\0b", "[1]", None, b"{}", 5):
        with pytest.raises(hja.ComparisonError):
            hja.load_results(source)


def test_labels_that_look_like_identifiers_are_drawn_as_they_are():
    from matplotlib.figure import Figure

    labels = ['say id="x"', "paint url(#y)", 'to href="#z"']

    def draw():
        figure = Figure()
        axes = figure.subplots()
        axes.set_yticks(range(3), labels)
        axes.plot([0, 1], [0, 2], clip_on=True)
        return figure

    svg = picture(draw, "caption", "fig").svg
    assert all(f">{label}</text>" in svg for label in labels)
    assert 'id="fig-' in svg
    assert "url(#fig-" in svg


@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", "--seed", "-1"],
        ["simulate", "--heterogeneity", "nan"],
        ["simulate", "--heterogeneity", "-1"],
        ["simulate", "--position", "inf"],
        ["simulate", "--judges", "0"],
        ["reproduce", "bic", "--jobs", "0"],
        ["reproduce", "table1", "--noise-volume", "-1"],
        ["reproduce", "table1", "--noise-volume", "nan"],
        ["reproduce", "bic", "--quick", "-o", "{file}"],
        ["fit", "{file}", "--ridge", "1e308"],
        ["fit", "{file}", "--ridge", "inf"],
        ["fit", "{file}", "--item-metadata", "{broken}"],
        ["fit", "{broken}"],
        ["fit", "{halves}"],
    ],
)
def test_faults_of_the_user_end_with_exit_code_two_and_one_sentence(arguments, verdicts, tmp_path, capsys):
    halves, broken = tmp_path / "halves.json", tmp_path / "broken.csv"
    halves.write_text(json.dumps([{"judge": "j", "model_a": "a\ud800", "model_b": "b", "winner": "model_a"}]))
    broken.write_bytes(b'a,b\n"1,2\n\xff,3,4,5\n')
    files = {"file": verdicts, "halves": halves, "broken": broken}
    try:
        code = main([argument.format(**files) for argument in arguments])
    except SystemExit as stop:
        code = stop.code
    said = capsys.readouterr().err.strip().splitlines()
    assert code == 2
    assert said[-1].startswith("hjastats")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_do_not_cost_the_work(closed, verdicts, tmp_path):
    kept = tmp_path / "fit.json"
    command = f"{sys.executable} -m hjastats fit {verdicts} --model btl --save {kept} {closed}"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert ended.returncode == 0
    assert "Traceback" not in ended.stderr
    assert np.isfinite(hja.load_results(kept).llf)
