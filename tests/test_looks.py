"""How objects look at a prompt, in a notebook, in LaTeX and in a spreadsheet, whatever their labels hold."""

import io
import re
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from statsmodels.iolib.summary2 import summary_col

import hjastats as hja
from hjastats.looks import Facts, Shown, Table, Title, Warned, escaped_latex, page
from tests.panels import separated_panel, warned

# Each would do something in a browser, in LaTeX, in a spreadsheet or in a terminal.
HOSTILE = {
    "judge-1": "<script>alert(1)</script>",
    "judge-2": "=cmd|' /C calc'!A0",
    "model-I": '<img src=x onerror="alert(2)">',
    "model-H": r"\input{/etc/passwd} 100% [a]* $x$ #1 ~^_&",
    "model-A": "+1, 'x', \"y\"",
    "model-B": "esc\x1b[31m\x07bell\u202erev",
    "model-C": "[0.5] & \\\\",
    "model-D": "*--starred",
}
TAGS = {"style", "div", "p", "b", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "caption"}


class Reader(HTMLParser):
    """The tags of a page, its cells row by row, and all of its text."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.rows, self.text, self.is_style = [], [], "", False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.is_style = tag == "style"
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.is_style:
            return
        self.text += data
        if self.rows and self.rows[-1] and data.strip():
            self.rows[-1][-1] += data

    def handle_endtag(self, tag):
        self.is_style = False


def renamed(data, names):
    frame = data.to_frame()
    for column in ("judge", "first", "second"):
        frame[column] = frame[column].replace(names)
    return hja.Comparisons.from_arrays(*(frame[name] for name in ("judge", "first", "second", "outcome")))


@cache
def hostile_fit():
    data = renamed(hja.datasets.load_panel(), HOSTILE)
    judges = pd.DataFrame({"family": [*list("xxyyzzx"), "<i>"]}, index=data.judges)
    items = pd.DataFrame({"family": [*list("xxyyzzxyz"), "<i>"]}, index=data.items)
    return hja.HJAModel.from_comparisons(data.with_metadata(judges=judges, items=items), rank=1).fit()


def hostile_tree(data):
    """A tree that parts judges by a trait whose name and labels are hostile, since no few judges can be tested."""
    rng = np.random.default_rng(0)
    judge = np.repeat(np.arange(60), 15)
    first = rng.integers(0, 3, 900)
    second = (first + rng.integers(1, 3, 900)) % 3
    wins = rng.random(900) < 1.0 / (1.0 + np.exp(np.where(judge < 30, 1.0, -1.0) * (first - second)))
    labels = np.array(list(data.items[:3]), dtype=object)
    crowd = hja.Comparisons.from_arrays(judge, labels[first], labels[second], wins.astype(float))
    bad = np.where(np.arange(60)[np.array(crowd.judges, dtype=int)] < 30, "<script>", "=cmd|' /C calc'!A0")
    return hja.partition(crowd, pd.DataFrame({"<img src=x>": bad}, index=crowd.judges))


@cache
def hostile_groups():
    data = hostile_fit().model.comparisons
    group = np.array([HOSTILE["model-I"], HOSTILE["judge-1"]], dtype=object)[np.arange(data.n_rows) // 3100]
    return hja.by_group(replace(data, columns=data.columns.assign(**{HOSTILE["model-H"]: group})), HOSTILE["model-H"])


@cache
def hostile_anchor():
    data = hostile_fit().model.comparisons
    columns = data.columns.assign(prompt=np.arange(data.n_rows) // 4)
    target = data.judge_index == data.judges.index(HOSTILE["judge-1"])
    few = ~target | (np.arange(data.n_rows) < 1600)
    return hja.anchor(replace(data, columns=columns).subset(few), HOSTILE["judge-1"])


OBJECTS = {
    "result": lambda fit: fit,
    "data": lambda fit: fit.model.comparisons,
    "connectivity": lambda fit: fit.model.comparisons.connectivity,
    "contrast": lambda fit: fit.contrast(dict.fromkeys(HOSTILE.values(), "mu[model-E] - mu[model-F]")),
    "formula contrast": lambda fit: fit.contrast_formula("gamma ~ family"),
    "z tests": lambda fit: fit.t_test(np.eye(len(fit.params))[:18]),
    "z tests printed": lambda fit: fit.t_test(np.eye(len(fit.params))[:18]).summary(),
    "joint test": lambda fit: fit.wald_test("gamma[judge-3] = 1"),
    "tests of kinds": lambda fit: fit.wald_test_terms(),
    "leaderboard": lambda fit: fit.leaderboard(),
    "places": lambda fit: fit.places(),
    "head to head": lambda fit: fit.head_to_head(HOSTILE["model-I"], HOSTILE["model-H"]),
    "plan": lambda fit: fit.plan,
    "power": lambda fit: fit.plan.power((HOSTILE["model-I"], HOSTILE["model-H"]), 100),
    "sample size": lambda fit: fit.plan.sample_size((HOSTILE["model-I"], HOSTILE["model-H"])),
    "stopping": lambda fit: fit.plan.stopping("order all"),
    "next": lambda fit: fit.plan.next(5, (HOSTILE["model-I"], HOSTILE["model-H"])),
    "rank test": lambda fit: fit.rank_test(),
    "models": lambda fit: hja.compare(fit, fit.model.with_rank(0).fit()),
    "tree": lambda fit: hostile_tree(fit.model.comparisons),
    "selection": lambda fit: hja.select_rank(fit.model.comparisons, ranks=[0, 1]),
    "diagnosis": lambda fit: fit.diagnose(),
    "findings": lambda fit: fit.findings,
    "card": lambda fit: fit.judges.card(HOSTILE["judge-1"]),
    "panel of judges": lambda fit: fit.judges.panel(keep="ranking"),
    "redundancy": lambda fit: fit.judges.redundancy(),
    "goodness": lambda fit: fit.judges.goodness_of_fit(),
    "misfit": lambda fit: fit.judges.misfit(n=100),
    "stability": lambda fit: fit.judges.stability(),
    "influence": lambda fit: fit.judges.influence(),
    "affinity": lambda fit: fit.judges.affinity(),
    "bicluster": lambda fit: fit.judges.bicluster(),
    "effective number": lambda fit: fit.judges.effective_number(),
    "bootstrap": lambda fit: fit.model.pooled().fit().bootstrap(2),
    "judges": lambda fit: fit.judges,
    "figures": lambda fit: fit.plot,
    "anchored": lambda fit: hostile_anchor(),
    "worth": lambda fit: hostile_anchor().worth,
    "tracking": lambda fit: hostile_anchor().tracking,
    "rectified": lambda fit: hostile_anchor().rectified(),
    "groups": lambda fit: hostile_groups(),
    "heterogeneity": lambda fit: hostile_groups().heterogeneity,
    "figures of groups": lambda fit: hostile_groups().plot,
    "two rankings": lambda fit: hja.compare_rankings(fit, fit.model.with_rank(0).fit()),
    "summary": lambda fit: fit.summary(),
    "summary2": lambda fit: fit.summary2(),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_labels_are_only_text_in_notebooks_and_terminals(name):
    shown = OBJECTS[name](hostile_fit())
    read = Reader(shown._repr_html_())
    assert set(read.tags) <= TAGS
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", read.text)
    if isinstance(shown, Shown):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", repr(shown))


def test_everything_that_prints_itself_has_looks_in_a_notebook():
    found = {type(made(hostile_fit())) for made in OBJECTS.values()}

    def all_below(cls):
        return {cls}.union(*(all_below(other) for other in cls.__subclasses__()))

    ours = {cls for cls in all_below(Shown) if cls.__module__.startswith("hjastats.")}
    # Abstract, or made by calls that another test makes.
    assert {cls.__name__ for cls in ours - found} <= {"Shown", "Menu", "HypothesisTest", "LinearTest"}


def test_a_result_shows_its_ranking_and_its_warnings(panel_fit):
    read = Reader(panel_fit._repr_html_())
    ranking = panel_fit.ranking()
    assert [row[0] for row in read.rows[1:]] == list(ranking.index)
    assert [int(row[1]) for row in read.rows[1:]] == list(ranking["place"])
    assert [float(row[3]) for row in read.rows[1:]] == pytest.approx(list(ranking["score"]), abs=5e-4)
    warnings = [finding.text for finding in panel_fit.findings if finding.is_warning]
    assert warnings
    assert all(text in read.text for text in warnings)


def test_values_that_are_withheld_are_no_numbers_anywhere():
    result, _ = warned(hja.BTLModel.from_comparisons(separated_panel()).fit, hja.SeparationWarning)
    gone = [item for item in result.model.items if np.isnan(result.consensus.loc[item, "estimate"])]
    assert gone
    shown = {row[0]: row[1:] for row in Reader(result._repr_html_()).rows}
    assert all(set(shown[item]) == {"–"} for item in gone)
    in_columns = summary_col([result]).tables[0].iloc[:, 0]
    assert all(in_columns[f"mu[{item}]"] == "nan" for item in gone)
    rows = pd.read_csv(io.StringIO(result.summary().as_csv()), header=None, index_col=0)
    assert rows.loc[gone].iloc[:, 1:].isna().all(axis=None)


def test_many_items_show_scores_and_no_places(panel_fit, set_limits):
    set_limits(RANKED_OF_MANY=5, PRINTED_LABELS=4)
    read = Reader(panel_fit._repr_html_())
    assert read.rows[0] == ["item", "score", "std. error", "95% interval"]
    assert [row[0] for row in read.rows[1:]] == list(panel_fit.consensus.index[:4])
    assert "and 6 more items in .consensus" in read.text


def test_a_result_without_its_rows_still_shows_itself(panel):
    result = hja.BTLModel.from_comparisons(panel).fit()
    before = result._repr_html_()
    result.remove_data()
    assert result._repr_html_() == before


def test_text_and_page_say_the_same():
    frame = pd.DataFrame(
        {"x": [1.25, np.nan], "n": [3, 4], "who": ["a", "<b>"]}, index=pd.Index(["u", "v"], name="row")
    )
    table = Table(frame, {"x": "{:.1f}".format})
    read = Reader(page([Title("T"), "  A sentence.", Warned("Careful."), Facts([("name", "told")], 6), table]))
    assert read.rows[0] == ["name", "told"]
    assert read.rows[1:] == [["row", "x", "n", "who"], ["u", "1.2", "3", "a"], ["v", "-", "4", "<b>"]]
    assert str(table).split() == ["x", "n", "who", "row", "u", "1.2", "3", "a", "v", "-", "4", "<b>"]
    assert read.text.split()[:4] == ["T", "A", "sentence.", "Careful."]


def test_numbers_stand_to_the_right_and_text_to_the_left():
    table = Table(pd.DataFrame({"x": [1.5], "interval": ["-1.0 to 2.0"], "who": ["a"]}, index=["row"])).as_html()
    assert re.findall(r"<td style=\"text-align: (\w+)\">", table) == ["right", "right", "left"]


# CSV


def test_csv_parses_and_holds_bare_numbers():
    result = hostile_fit()
    text = result.summary().as_csv()
    table = pd.read_csv(io.StringIO(text), header=None, dtype=str, keep_default_na=False)
    header = table[table[0] == "No. Comparisons:"].iloc[0]
    assert header[1] == "3200"
    assert not table.map(lambda cell: bool(re.match(r"[=@]|[+-](?!\d|\.)", cell))).any(axis=None)
    table = table.set_index(0)
    scores = table.loc["consensus mu (sums to zero) and disagreement coordinates V":].iloc[2:12]
    place = {label: number for number, label in enumerate(result.consensus.index)}
    assert scores.index[place[HOSTILE["model-A"]]] == "'" + HOSTILE["model-A"]
    assert scores[2].astype(float).to_numpy() == pytest.approx(result.consensus["estimate"].to_numpy(), abs=5e-5)


def test_each_table_of_a_summary_is_csv_of_its_own(panel_fit):
    table = pd.read_csv(io.StringIO(panel_fit.summary().tables[-1].as_csv()), skiprows=1, index_col=0)
    assert table["h"].to_numpy() == pytest.approx(panel_fit.judges.leverage()["h"].to_numpy(), abs=5e-5)


# LaTeX


def unescaped(latex):
    """What is left of braces, tabs and the like after all that is escaped."""
    return re.sub(r"\\[{}#$%&_\\]", "", latex)


@pytest.mark.parametrize("model", [hja.HJAModel, hja.JAModel, hja.BTLModel, hja.JudgewiseBTLModel])
def test_latex_has_titles_and_tables_whose_rows_are_as_wide_as_their_columns(panel, model):
    result = model.from_comparisons(panel, position="judge").fit()
    summary = result.summary()
    latex = summary.as_latex()
    for table in summary.tables:
        assert rf"\textbf{{{escaped_latex(table.title)}}}" in latex
    blocks = re.findall(r"\\begin\{tabular\}\{(\w+)\}\n\\toprule\n(.*?)\n\\bottomrule", latex, flags=re.DOTALL)
    assert len(blocks) == len(summary.tables)
    for columns, body in blocks:
        rows = [row for row in body.splitlines() if row != r"\midrule"]
        assert {len(re.split(r"(?<!\\)&", row)) for row in rows} == {len(columns)}
    assert all(escaped_latex(finding.text) in latex for finding in result.findings)


def test_latex_runs_nothing_that_a_label_says():
    for latex in (hostile_fit().summary().as_latex(), hostile_fit().summary2().as_latex()):
        commands = set(re.findall(r"\\([a-zA-Z]+)", latex))
        assert commands <= {
            *("begin", "end", "textbf", "toprule", "midrule", "bottomrule", "noindent", "item", "caption", "label"),
            *("textbackslash", "textasciitilde", "textasciicircum", "textless", "textgreater", "textbar", "char"),
        }
        left = unescaped(latex)
        assert left.count("{") == left.count("}")
        assert not set("%#~^") & set(left)
        assert not re.search(r"\\\\\s*(\[(?!0\.5ex\])|\*)", latex)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles(tmp_path):
    known = subprocess.run(["kpsewhich", "booktabs.sty"], capture_output=True, text=True, check=False)
    if not known.stdout.strip():
        pytest.skip("booktabs is not installed")
    fit = hostile_fit()
    parts = [
        fit.summary().as_latex(),
        fit.summary2().as_latex(),
        fit.t_test("gamma[judge-3]").summary().as_latex_tabular(),
    ]
    start = r"\documentclass{article}\usepackage{booktabs}\begin{document}"
    (tmp_path / "page.tex").write_text("\n\n".join([start, *parts, r"\end{document}"]), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "-draftmode", "page.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-2000:]
