import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.cli import main
from hjastats.show.report.html_tables import table
from hjastats.show.report.opening import leadership, resolution

HOSTILE = ["<script>alert(1)</script>", '"quotes\' & co"', "x" * 300, "שלום עולם", "{{ 7 * 7 }}", "a\u202eb</svg>"]


class Outline(HTMLParser):
    """Tags, identifiers and text of a page, as a browser's parser sees them."""

    def __init__(self):
        super().__init__()
        self.tags, self.ids, self.links, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "xlink:href", "action", "data"):
                self.links.append(value)

    def handle_data(self, data):
        self.text.append(data)


def outline(page):
    parsed = Outline()
    parsed.feed(page)
    return parsed


def renamed(panel, names):
    frame = panel.to_frame()
    mapping = dict(zip(panel.items, [*names, *panel.items[len(names) :]], strict=True))
    judges = dict(zip(panel.judges, [*names, *panel.judges[len(names) :]], strict=True))
    return hja.Comparisons.from_arrays(
        frame["judge"].map(judges), frame["first"].map(mapping), frame["second"].map(mapping), panel.outcome
    )


def test_the_page_has_all_sections_and_every_figure_once(panel_fit):
    page = outline(panel_fit.report(title="A title"))
    for section in ("verdict", "ranking", "judges", "disagreement", "models", "checks", "facts"):
        assert page.ids.count(section) == 1
    assert page.tags.count("svg") == 9
    assert len(page.ids) == len(set(page.ids)), "identifiers of different figures must not meet"
    text = "".join(page.text)
    for word in (
        "A title",
        "model-I leads",
        "How to cite",
        "HJA(1) + position",
        "judge-noise",
        "position effects: judge",
    ):
        assert word in text


def test_the_page_refers_to_nothing_outside(panel_fit):
    page = outline(panel_fit.report())
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in page.links), page.links
    assert "default-src 'none'" in panel_fit.report()
    # Namespaces are names, not addresses; nothing else may look like one.
    addresses = set(re.findall(r"https?://[^\s\"'<>]+", panel_fit.report()))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def test_hostile_labels_are_text(panel):
    hostile = renamed(panel, HOSTILE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        page = hja.HJAModel.from_comparisons(hostile, rank=1).fit().report(title=HOSTILE[0])
    parsed = outline(page)
    plain = outline(hja.HJAModel.from_comparisons(panel, rank=1).fit().report())
    assert parsed.tags.count("script") == plain.tags.count("script") == 1
    assert parsed.tags.count("svg") == plain.tags.count("svg")
    text = "".join(parsed.text)
    for label in HOSTILE:
        assert label in text
    assert "49" not in [cell.strip() for cell in parsed.text]


def test_models_without_a_part_leave_out_its_section(panel):
    page = outline(hja.BTLModel.from_comparisons(panel).fit().report())
    assert "disagreement" not in page.ids
    shrunk = outline(hja.HJAModel.from_comparisons(panel, rank=1).fit_regularized(0.5).report())
    assert "models" not in shrunk.ids
    assert "disagreement" in shrunk.ids


def test_a_fit_without_an_estimate_says_so_first(panel):
    frame = panel.to_frame()
    item = panel.items[0]
    outcome = np.where(frame["first"] == item, 1.0, np.where(frame["second"] == item, 0.0, frame["outcome"]))
    model = hja.JAModel(outcome, judge=frame["judge"], item_a=frame["first"], item_b=frame["second"])
    text = "".join(outline(model.fit(warn_convergence=False).report()).text)
    assert "There is no ranking to report" in text
    assert "does not exist" in text


def test_the_page_is_written_to_a_file_and_is_the_same_again(panel_fit, tmp_path):
    path = tmp_path / "report.html"
    assert panel_fit.report(path) is None
    page = path.read_text(encoding="utf-8")
    strip = r"<dt>made</dt><dd>.*?</dd>|Time:.*?\d\d:\d\d:\d\d"
    assert re.sub(strip, "", panel_fit.report()) == re.sub(strip, "", page)


def test_the_verdict_names_the_leader_or_all_who_may_lead():
    ranking = pd.DataFrame(
        {"place_lower": [1, 1, 3], "place_upper": [2, 2, 3], "group": ["a", "a", "b"]}, index=["x", "y", "z"]
    )
    assert leadership(ranking) == "x has the highest score, but y may be first as well (95%, all comparisons at once)."
    assert resolution(ranking) == "2 of 3 pairs of items can be ordered; 1 of 3 places are certain."


def test_cells_sort_by_their_value_and_missing_ones_are_empty():
    frame = pd.DataFrame(
        {"p": [1e-9, 0.5, np.nan], "n": [1000.0, 2.0, 3.0], "gone": [np.nan] * 3}, index=["a", "b", "c"]
    )
    made = table(frame, "", {"p": ("p", "p"), "n": ("n", ",.0f"), "gone": ("gone", "")}, "item")
    assert made.header == ["item", "p", "n"]
    assert [row[1].text for row in made.rows] == ["< 0.0001", "0.5000", "–"]
    assert [row[1].order for row in made.rows] == ["1e-09", "0.5", ""]
    assert made.rows[0][2].text == "1,000"


def test_families_of_the_metadata_colour_the_figures(panel, tmp_path):
    items = pd.DataFrame(
        {"family": ["red team" if i < 5 else "blue team" for i in range(panel.n_items)]}, index=panel.items
    )
    judges = pd.DataFrame({"family": ["crowd"] * panel.n_judges}, index=panel.judges)
    coloured = hja.JAModel.from_comparisons(panel.with_metadata(judges=judges, items=items)).fit()
    legend = coloured.plot.ranking(family="family").get_legend()
    assert {text.get_text() for text in legend.get_texts()} == {"red team", "blue team"}
    assert {text.get_text() for text in coloured.plot.sensitivity(family="family").get_legend().get_texts()} == {
        "crowd"
    }
    assert "blue team" in coloured.report()
    with pytest.raises(ValueError, match="no metadata column of items is called 'clan'"):
        coloured.plot.ranking(family="clan")
    path = tmp_path / "items.csv"
    items.to_csv(path, index_label="item")
    verdicts = tmp_path / "verdicts.csv"
    frame = panel.to_frame()
    frame["winner"] = np.where(frame["outcome"] == 1, "first", "second")
    frame[["judge", "first", "second", "winner"]].to_csv(verdicts, index=False)
    page = tmp_path / "report.html"
    arguments = ["report", str(verdicts), "--model", "ja", "--item-metadata", str(path), "-o", str(page)]
    assert main(arguments) == 0
    assert "red team" in page.read_text(encoding="utf-8")


def test_importing_the_package_loads_neither_figures_nor_templates():
    import subprocess
    import sys

    code = "import sys, hjastats; print([m for m in ('matplotlib', 'jinja2', 'selenium') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
