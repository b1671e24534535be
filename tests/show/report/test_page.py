import html
import inspect
import io
import json
import re
import warnings
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.cli import main
from hjastats.diagnostics.findings import Finding, Findings
from hjastats.show.plots.canvas import LIGHT
from hjastats.show.report.doubts import TO_DO, doubts
from hjastats.show.report.downloads import download
from hjastats.show.report.embedded import embedded
from hjastats.show.report.html_tables import table
from hjastats.show.report.opening import leadership, no_ranking, what_more_buys
from hjastats.show.report.page import Subject, render
from hjastats.show.report.panel import judges_by_gravity
from hjastats.show.report.standing import Standing
from tests.panels import seasons
from tests.show.plots.reading import contrast

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


FIRST_SCREEN = ("verdict", "distrust", "more", "ranking", "compare")
FOLDED = ("judges", "disagreement", "choices", "checks", "facts", "downloads")
FIGURES = ("probabilities", "slopes", "disagreement", "profiles", "leverage", "calibration")


@pytest.fixture(scope="module")
def panel_page(panel_fit):
    return panel_fit.report(title="A title")


def test_the_page_has_all_sections_and_every_figure_once(panel_page):
    page = outline(panel_page)
    for section in (*FIRST_SCREEN, *FOLDED):
        assert page.ids.count(section) == 1
    assert [name.removeprefix("figure-") for name in page.ids if name.startswith("figure-")] == list(FIGURES)
    assert page.tags.count("figure") == len(FIGURES)
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


def test_every_judge_has_one_row_the_worst_first(panel_fit, panel_page):
    for judge in panel_fit.model.judges:
        assert panel_page.count(f'<th scope="row" dir="auto" data-order="{judge}">') == 1
    found = judges_by_gravity(panel_fit.fit, panel_fit.model.observations)
    assert set(found.index[:2]) == {"judge-first", "judge-5"}
    assert found["gravity"].is_monotonic_decreasing
    assert found["action"].str.len().min() > 0


def test_a_judge_without_its_preference_modelled_is_to_be_acted_on(panel):
    blind = hja.JAModel.from_comparisons(panel).fit()
    found = judges_by_gravity(blind.fit, blind.model.observations)
    assert found.index[0] == "judge-first"
    assert "position='judge'" in found.loc["judge-first", "action"]
    seeing = hja.JAModel.from_comparisons(panel, position="judge").fit()
    assert "takes this out" in judges_by_gravity(seeing.fit, seeing.model.observations).loc["judge-first", "action"]


def test_a_judge_with_its_labels_turned_round_comes_first(panel):
    frame = panel.to_frame()
    outcome = np.where(frame["judge"] == "judge-2", 1.0 - frame["outcome"], frame["outcome"])
    data = hja.Comparisons.from_arrays(frame["judge"], frame["first"], frame["second"], outcome)
    turned = hja.JAModel.from_comparisons(data, position="judge").fit()
    found = judges_by_gravity(turned.fit, turned.model.observations)
    assert found.index[0] == "judge-2"
    assert "wrong way round" in found["action"].iloc[0]
    # Its advice, followed: the other judges alone.
    others = hja.JAModel.from_comparisons(data.without_judges(["judge-2"]), position="judge").fit()
    assert (judges_by_gravity(others.fit, others.model.observations)["gravity"] < 3).all()


def test_a_judge_that_is_among_the_doubts_is_among_those_to_look_at(panel_fit):
    (found,) = [doubt for doubt in doubts(panel_fit.fit, panel_fit.findings) if doubt.topic == "sensitivity"]
    assert "'judge-noise'" in found.text
    table = judges_by_gravity(panel_fit.fit, panel_fit.model.observations)
    assert table.loc["judge-noise", "gravity"] == 2
    assert "Stop paying" in table.loc["judge-noise", "action"]


def test_every_topic_that_can_warn_has_something_to_do():
    folder = Path(hja.__file__).parent
    source = "".join(path.read_text() for path in [*folder.glob("diagnostics/*.py"), folder / "anchored_results.py"])
    topics = {topic for topic, warns in re.findall(r'Finding\(\s*"([a-z ]+)",\s*([^,]+),', source) if warns != "False"}
    assert len(topics) > 20
    assert topics <= TO_DO.keys()


def test_the_gravest_doubts_come_first_and_what_is_taken_care_of_last(panel_fit):
    found = [Finding(topic, True, topic) for topic in ("order", "first share", "prompts", "separation")]
    assert [doubt.topic for doubt in doubts(panel_fit.fit, found)] == ["separation", "prompts", "order", "first share"]
    assert all(doubt.action for doubt in doubts(panel_fit.fit, found))
    assert doubts(panel_fit.fit, [Finding("order", False, "fine")]) == []


def test_the_first_screen_names_three_doubts_and_the_checks_have_the_others(panel_fit):
    found = Findings(Finding("order", True, f"Doubt number {k}.") for k in range(5))
    subject = panel_fit._subject()
    page = render(Subject(subject.fit, subject.observed, found, subject.heading, None))
    first, rest = page.split('id="ranking"', 1)
    assert [f"Doubt number {k}." in first for k in range(5)] == [True, True, True, False, False]
    assert [f"Doubt number {k}." in rest.split('id="facts"')[0] for k in range(5)] == [
        False,
        False,
        False,
        True,
        True,
    ]
    assert "2 more below checks" in first


def test_ranges_that_are_too_narrow_are_said_to_be_beside_the_leader(panel_fit, panel_page):
    found = Findings([Finding("order", True, "An order."), Finding("prompts", True, "Prompts hang together.")])
    subject = replace(panel_fit._subject(), findings=found)
    assert "all ranges and intervals are too narrow: see reason 1 to distrust" in render(subject)
    assert "too narrow" not in panel_page


def test_more_data_are_bought_for_the_first_open_place(panel_fit, panel):
    settled = what_more_buys(panel_fit.fit, Standing.of(panel_fit.fit), panel.n_comparisons)
    assert settled[0] == "The first place is settled."
    assert settled[1].removeprefix("Next below: ") == panel_fit.plan.sample_size(("model-A", "model-E")).sentence
    pooled = hja.BTLModel.from_comparisons(panel).fit()
    open_place = what_more_buys(pooled.fit, Standing.of(pooled.fit), panel.n_comparisons)
    assert open_place == [pooled.plan.sample_size("top2").sentence]


def test_the_leaderboard_of_the_page_is_that_of_the_result(panel_fit):
    standing = Standing.of(panel_fit.fit)
    for scale, shown in standing.scales.items():
        expected = panel_fit.leaderboard(scale).table
        pd.testing.assert_frame_equal(shown.loc[expected.index], expected[["score", "std_err", "ci_lower", "ci_upper"]])
    names = ["place", "place_lower", "place_upper", "p_best", "p_top_3", "tier", "comparisons"]
    pd.testing.assert_frame_equal(standing.table[names], expected[names], check_dtype=False)


def test_the_numbers_of_the_page_are_those_of_head_to_head(panel_fit):
    numbers = json.loads(embedded(Standing.of(panel_fit.fit), panel_fit.fit))
    items, n = numbers["items"], len(numbers["items"])
    low, high = np.triu_indices(n, 1)
    where = next(k for k in range(len(low)) if (items[low[k]], items[high[k]]) == ("model-H", "model-B"))
    i, j = low[where], high[where]
    by_all = panel_fit.head_to_head("model-H", "model-B")
    assert numbers["scores"][i] - numbers["scores"][j] == pytest.approx(by_all.log_odds, abs=2e-5)
    assert numbers["pairs"][where] == pytest.approx(by_all.std_err, rel=1e-4)
    judge = next(judge for judge in numbers["judges"] if judge["name"] == "judge-5")
    alone = panel_fit.head_to_head("model-H", "model-B", judge="judge-5")
    assert judge["scores"][i] - judge["scores"][j] == pytest.approx(alone.log_odds, abs=1e-4)
    assert judge["pairs"][where] == pytest.approx(alone.std_err, rel=1e-4)
    assert judge["errors"][i] == pytest.approx(panel_fit.judges.score_errors().loc["judge-5", "model-H"], rel=1e-4)


def test_what_is_too_much_for_a_page_is_left_out_with_a_word(panel_fit, set_limits):
    set_limits(PAGE_NUMBERS=100)
    assert all(
        "pairs" not in judge for judge in json.loads(embedded(Standing.of(panel_fit.fit), panel_fit.fit))["judges"]
    )
    set_limits(PAGE_ITEMS=9, PAGE_ROWS=5)
    page = outline(panel_fit.report())
    text = " ".join("".join(page.text).split())
    assert "too many items for a page to hold all pairs" in text
    assert "5 more items are not in this table; the CSV has them" in text
    assert "3 more judges, who give the least reason, are in the CSV only" in text


def test_files_have_exact_numbers_and_no_formulas(panel):
    frame = pd.DataFrame({"what": ["=1+1", "a, b"], "x": [1.0 / 3.0, np.nan]}, index=pd.Index(["@a", "b"], name="item"))
    text = unquote(download("x", "", frame).address.partition(",")[2])
    read = pd.read_csv(io.StringIO(text), index_col="item")
    assert read.index.tolist() == ["'@a", "b"]
    assert read["what"].tolist() == ["'=1+1", "a, b"]
    assert read["x"].iloc[0] == pytest.approx(1.0 / 3.0, rel=1e-5)


def test_the_page_has_every_table_as_a_file(panel_fit, panel_page):
    addresses = re.findall(r'download="([a-z_]+)\.csv" href="data:text/csv;charset=utf-8,([^"]*)"', panel_page)
    frames = {name: pd.read_csv(io.StringIO(unquote(html.unescape(text)))) for name, text in addresses}
    assert list(frames) == ["leaderboard", "places", "pairs", "judges", "scores_by_judge", "models", "checks"]
    assert frames["leaderboard"]["item"].tolist() == list(panel_fit.consensus.index)
    assert len(frames["pairs"]) == 45
    assert len(frames["checks"]) == len(panel_fit.findings)
    one = frames["pairs"].set_index(["item", "other"]).loc[("model-A", "model-E")]
    found = panel_fit.head_to_head("model-A", "model-E")
    assert one[["probability", "lower", "upper"]].tolist() == pytest.approx(
        [found.probability, found.ci_lower, found.ci_upper], rel=1e-4
    )


def test_no_colour_of_a_figure_is_fixed(panel_page):
    drawn = "".join(re.findall(r"<figure.*?</figure>", panel_page, flags=re.DOTALL))
    assert "var(--ink, " in drawn
    drawn = re.sub(r"var\(--[a-z0-9-]+, #[0-9a-f]{6}\)", "", drawn)
    assert not set(re.findall(r"#[0-9a-f]{6}\b", drawn)) & {LIGHT.ink, LIGHT.soft, LIGHT.sheet, *LIGHT.hues, "#000000"}


def test_words_of_the_page_stand_out_in_light_dark_and_print():
    style = (Path(hja.__file__).parent / "show/report/page.css").read_text(encoding="utf-8")
    blocks = re.findall(r":root \{(.*?)\}", style, flags=re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        known = dict(re.findall(r"--([\w-]+): (#\w+);", block))
        words = [known[name] for name in ("ink", "soft", "accent", "act", "look", "fine")]
        words += [colour for name, colour in known.items() if name.startswith("letter")]
        assert min(contrast(word, known[ground]) for word in words for ground in ("paper", "band")) >= 4.3


def test_every_control_and_figure_of_the_page_has_a_name(panel_page):
    ids = set(re.findall(r'\bid="([^"]+)"', panel_page))
    named = re.findall(r'aria-(?:labelledby|describedby|controls)="([^"]+)"', panel_page)
    assert named
    assert {name for names in named for name in names.split()} <= ids
    assert all("aria-labelledby=" in tag for tag in re.findall(r'<svg role="img"[^>]*>', panel_page))
    labelled = "".join(re.findall(r"<label.*?</label>", panel_page, flags=re.DOTALL))
    controls = re.findall(r"<(?:select|input)[^>]*>", panel_page)
    assert controls
    assert all(tag in labelled for tag in controls)


def test_a_graph_of_comparisons_is_shown_only_where_it_says_something(panel_page):
    assert "figure-comparisons" not in outline(panel_page).ids
    ring = [(f"i{k}", f"i{(k + 1) % 9}") for k in range(9)] * 20
    rng = np.random.default_rng(0)
    first, second = zip(*ring, strict=True)
    sparse = hja.BTLModel(rng.integers(0, 2, len(ring)), judge=["j"] * len(ring), item_a=first, item_b=second).fit()
    page = sparse.report()
    assert "figure-comparisons" in outline(page).ids
    assert "Few pairs were compared" in page


def test_a_judge_called_like_the_consensus_does_no_harm(panel):
    frame = panel.to_frame()
    renamed_judge = frame["judge"].replace({"judge-5": "consensus"})
    data = hja.Comparisons.from_arrays(renamed_judge, frame["first"], frame["second"], panel.outcome)
    page = hja.HJAModel.from_comparisons(data, rank=1, position="judge").fit().report()
    assert "consensus ranks most unlike the consensus" in page


def test_judges_as_a_sample_and_anchored_scores_have_pages(panel):
    sample = hja.PopulationHJAModel.from_comparisons(panel, rank=1, position="judge").fit()
    page = outline(sample.report())
    assert {"ranking", "compare", "judges", "disagreement", "numbers"} <= set(page.ids)
    assert page.text.count("judge-noise") >= 1
    anchored = hja.anchor(panel, "judge-2")
    text = anchored.report()
    # The ranking is the target's, the judges are the others.
    for judge in anchored.others.model.judges:
        assert text.count(f'<th scope="row" dir="auto" data-order="{judge}">') == 1
    assert '<th scope="row" dir="auto" data-order="judge-2">' not in text
    assert anchored.tracking.sentence.partition(";")[0] in html.unescape(text)


def test_groups_have_their_place(panel_fit, panel_page):
    made = render(replace(panel_fit._subject(), groups="<p id='groups'>Two groups</p>"))
    inside = made.partition('<details id="by-group">')[2].partition("</details>")[0]
    assert "<p id='groups'>Two groups</p>" in inside
    assert 'href="#by-group"' in made
    assert "by-group" not in panel_page


def test_boards_by_group_are_a_section_of_the_page(panel, panel_fit):
    topics = panel.columns.assign(topic=np.tile(["math", "code"], panel.n_rows // 2))
    boards = hja.by_group(replace(panel, columns=topics), by="topic")
    page = outline(panel_fit.report(groups=boards))
    assert page.ids.count("by-group") == page.ids.count("groups") == 1
    assert len(page.ids) == len(set(page.ids))
    assert {"math", "code"} <= {text.strip() for text in page.text}
    with pytest.raises(ValueError, match=r"groups must be what hja.by_group returns, got str"):
        panel_fit.report(groups="topic")


def test_the_page_refers_to_nothing_outside(panel_page):
    page = outline(panel_page)
    inside = ("#", "data:image/png;base64,", "data:text/csv;charset=utf-8,")
    assert all(link.startswith(inside) for link in page.links), page.links
    assert "default-src 'none'" in panel_page
    # Namespaces are names, not addresses; nothing else may look like one.
    addresses = set(re.findall(r"https?://[^\s\"'<>]+", panel_page))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def test_hostile_labels_are_text(panel):
    hostile = renamed(panel, HOSTILE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        page = hja.HJAModel.from_comparisons(hostile, rank=1).fit().report(title=HOSTILE[0])
    parsed = outline(page)
    plain = outline(hja.HJAModel.from_comparisons(panel, rank=1).fit().report())
    assert parsed.tags.count("script") == plain.tags.count("script") == 2
    assert parsed.tags.count("svg") == plain.tags.count("svg")
    text = "".join(parsed.text)
    for label in HOSTILE:
        assert label in text
    assert "49" not in [cell.strip() for cell in parsed.text]


def test_models_without_a_part_leave_out_its_section(panel):
    page = outline(hja.BTLModel.from_comparisons(panel).fit().report())
    assert "disagreement" not in page.ids
    shrunk = outline(hja.HJAModel.from_comparisons(panel, rank=1).fit_regularized(0.5).report())
    assert "models-table" not in shrunk.ids
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
    strip = r"<dt>made</dt><dd[^>]*>.*?</dd>|Time:.*?\d\d:\d\d:\d\d"
    assert re.sub(strip, "", panel_fit.report()) == re.sub(strip, "", page)


@pytest.mark.parametrize(
    "model",
    [
        lambda panel: hja.BTLModel([1.0, 0.0] * 20, judge=["j"] * 40, item_a=["a"] * 40, item_b=["b"] * 40).fit(),
        lambda panel: hja.JudgewiseBTLModel.from_comparisons(panel).fit(),
        lambda panel: hja.PopulationHJAModel.from_comparisons(panel).fit(),
        lambda panel: hja.JAModel.from_comparisons(panel).fit_regularized(penalty="firth"),
        lambda panel: hja.BTLModel([1.0] * 3, judge=["j"] * 3, item_a=list("aab"), item_b=list("bcc")).fit(
            warn_convergence=False
        ),
    ],
    ids=["two items", "judge-wise", "a sample of rank 0", "firth", "all apart"],
)
def test_every_kind_of_fit_has_a_page(panel, model):
    page = outline(model(panel).report())
    assert {"verdict", "ranking", "judges", "checks", "downloads"} <= set(page.ids)
    assert "nan" not in " ".join(page.text[: page.text.index("All estimates")]).split()


def test_the_verdict_names_the_leader_or_all_who_may_lead():
    ranking = pd.DataFrame({"place_lower": [1, 1, 3], "place_upper": [2, 2, 3]}, index=["x", "y", "z"])
    assert leadership(ranking) == "x has the highest score, but y may be first as well (95%, all comparisons at once)."


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
    legend = coloured.plot.ranking(family="family").get_figure().axes[-1].get_legend()
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


def test_arguments_that_the_page_advises_are_arguments():
    """What is written name=value, or as a call, is one of the methods that are named, or of the door."""
    known = {
        name
        for call in (hja.fit, hja.HJAModel.fit, hja.HJAModel.fit_regularized, hja.HJAModel.from_comparisons)
        for name in inspect.signature(call).parameters
    }
    for _, action in TO_DO.values():
        if isinstance(action, str):
            assert set(re.findall(r"\b([a-z_]+)=", action)) <= known, action


@pytest.mark.filterwarnings("ignore::hjastats.errors.CovarianceWarning")
def test_groups_that_are_apart_have_a_board_each_and_nothing_across():
    result = hja.fit(seasons(), unlinked="apart", position="common")
    page = result.report()
    parsed = outline(page)
    text = " ".join(" ".join(parsed.text).split())
    assert "12 items are in 3 groups that nobody compared with each other, each with a zero of its own" in text
    assert "they have in common: position." in text
    for wrong in ("does not exist", "run to infinity", "Compare two items", "How likely one is preferred"):
        assert wrong not in text
    assert "ranking-table" not in parsed.ids
    assert "figure-probabilities" not in parsed.ids
    for number, group in enumerate(result.fit.layout.structure.groups, start=1):
        items = [result.fit.layout.items[i] for i in group]
        board = page.partition(f'id="group-{number}-table"')[2].partition("</table>")[0]
        shown = re.findall(r'<th scope="row"[^>]*>(.*?)</th>', board)
        assert shown == list(result.ranking(items=items).index)
        assert re.findall(r'class="number place" data-order="(\d)"', board) == list("1234")
    [address] = re.findall(r'download="leaderboard.csv" href="([^"]*)"', page)
    frame = pd.read_csv(io.StringIO(unquote(html.unescape(address).partition(",")[2])))
    assert frame["group"].tolist() == [1] * 4 + [2] * 4 + [3] * 4
    assert frame["place"].tolist() == [1, 2, 3, 4] * 3


@pytest.mark.filterwarnings("ignore::hjastats.errors.CovarianceWarning")
@pytest.mark.filterwarnings("ignore::hjastats.errors.SeparationWarning")
def test_scores_of_groups_that_are_apart_without_places_stand_by_group():
    lone = pd.DataFrame({"judge": "score", "first": ["x"] * 4, "second": ["y"] * 4, "winner": ["first"] * 4})
    table = pd.concat([seasons(("2023", "2024")), lone])
    page = hja.fit(table, unlinked="apart", position=None, ridge=None).report()
    assert "items without one run to infinity; each group of items has a zero of its own" in page
    rows = page.partition('id="scores-table"')[2].partition("</table>")[0]
    shown = re.findall(r'<th scope="row"[^>]*>(.*?)</th>', rows)
    assert [name.partition("@")[2] for name in shown] == ["2023"] * 4 + ["2024"] * 4 + [""] * 2


def test_nothing_is_said_to_run_to_infinity_where_only_errors_are_missing():
    told = no_ranking([], "Standard errors are not available.")
    assert told == [
        "There is no ranking to report: Standard errors are not available. What follows shows what can be said."
    ]
