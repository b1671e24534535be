"""What a user can get wrong is refused with one sentence, before the work, and with exit code 2."""

import importlib.resources
import json
import subprocess
import sys
import time

import numpy as np
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
