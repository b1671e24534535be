"""Groups of verdicts from one call: boards, whether they differ, fallbacks, figures, a page; and two rankings compared."""

import json
import re
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import hjastats as hja
from hjastats.data.groups import group_rows
from hjastats.inference.moves import moves

# Three Monte-Carlo errors of the difference of two p-values of one half, from 2,000 draws of signs each.
SIGNS_DRAWN = 0.05
# What a step from the fit of all rows leaves out of scores that move by a log-odd.
ONE_STEP = 0.15
CATEGORIES = ["writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem", "humanities"]


def with_group(data, group):
    return replace(data, columns=data.columns.assign(group=np.asarray(group)))


@pytest.fixture(scope="module")
def panel():
    return hja.datasets.load_panel()


@pytest.fixture(scope="module")
def halves(panel):
    return hja.by_group(with_group(panel, np.where(np.arange(3200) < 1600, "a", "b")), "group")


@pytest.fixture(scope="module")
def drifting():
    """Four months; in the last two judge j0 takes what is shown first, and item i5 has fallen."""
    rng = np.random.default_rng(3)
    n = 4000
    month, judge = np.arange(n) // 1000, rng.integers(5, size=n)
    first = rng.integers(6, size=n)
    second = (first + rng.integers(1, 6, size=n)) % 6
    scores = np.tile(np.linspace(-1.0, 1.0, 6), (4, 1))
    scores[2:, 5] = -0.6
    eta = scores[month, first] - scores[month, second] + 2.0 * ((judge == 0) & (month > 1))
    columns = pd.DataFrame(
        {"month": [f"2024-0{m + 1}" for m in month], "prompt": rng.integers(400, size=n) * 4 + month}
    )
    names = [np.array([f"{x}{c}" for c in codes]) for x, codes in zip("jii", (judge, first, second), strict=True)]
    return hja.Comparisons.from_arrays(*names, (rng.random(n) < expit(eta)).astype(float), columns=columns)


@pytest.fixture(scope="module")
def months(drifting):
    return hja.by_group(drifting, by="month")


def test_halves_of_one_panel_do_not_differ(halves):
    assert halves.places["all"].tolist() == list(range(1, 11))
    assert (halves.tests["p_value"] > 0.05).all()
    assert halves.moved.empty
    assert halves.groups["note"].tolist() == ["", ""]
    assert "not seen to differ" in str(halves)


def test_the_board_of_a_group_is_that_of_its_own_fit(panel, halves):
    own = hja.HJAModel.from_comparisons(panel.subset(np.arange(1600)), rank=1, position="judge").fit()
    board = halves.board("a")
    assert np.allclose(board["score"].sort_index(), own.consensus["estimate"].sort_index(), atol=1e-5)
    assert np.allclose(board["std_err"].sort_index(), own.consensus["std_err"].sort_index(), rtol=1e-3)
    assert halves.board("all").equals(halves.overall.ranking())


def test_drift_is_named_by_month_judge_and_item(months):
    assert months.grouping.is_ordered
    assert months.tests["p_value"]["consensus"] < 0.01
    judges = months.judge_tests
    assert judges.iloc[0][["judge", "kind"]].tolist() == ["j0", "position"]
    assert judges["p_holm"].iloc[0] < 0.05
    assert (judges["p_holm"].iloc[1:] > 0.05).all()
    assert months.item_tests["trend_statistic"].idxmax() == "i5"
    clearest = months.differences.iloc[0]
    assert clearest["item"] == "i5"
    text = str(months)
    assert "position of 'j0'" in text
    assert re.search(r"Scores from 2024-01 to 2024-04: .*that of 'i5' falls\.", " ".join(text.split()))


@pytest.fixture(scope="module")
def turning():
    """Four months; in the last two judge j0 likes i1 and i3 less and i0 and i4 more than before, beyond what all do."""
    rng = np.random.default_rng(5)
    n = 6000
    month, judge, first = np.arange(n) // 1500, rng.integers(5, size=n), rng.integers(6, size=n)
    second = (first + rng.integers(1, 6, size=n)) % 6
    taste = np.array([0.8, -0.8, 0.0, -0.8, 0.8, 0.0])
    scores = np.linspace(-1.0, 1.0, 6) + np.where(judge == 0, np.where(month > 1, 1.0, -1.0), 0.0)[:, None] * taste
    eta = scores[np.arange(n), first] - scores[np.arange(n), second]
    columns = pd.DataFrame(
        {"month": [f"2024-0{m + 1}" for m in month], "prompt": rng.integers(400, size=n) * 4 + month}
    )
    names = [np.array([f"{x}{c}" for c in codes]) for x, codes in zip("jii", (judge, first, second), strict=True)]
    data = hja.Comparisons.from_arrays(*names, (rng.random(n) < expit(eta)).astype(float), columns=columns)
    return hja.by_group(data, by="month")


def test_a_taste_that_turns_is_named_with_what_it_changed_to(turning):
    assert turning.judge_tests.iloc[0][["judge", "kind"]].tolist() == ["j0", "taste"]
    assert turning.tests["p_value"]["taste"] == 1.0 / 2000.0
    assert "taste of 'j0'" in str(turning)
    assert (turning.judge_tests["p_holm"].iloc[1:] > 0.05).all()
    changes = turning.taste_changes("j0").pivot_table("change", "item", "group")
    assert (changes.loc[["i0", "i4"], ["2024-03", "2024-04"]] > 0).all(axis=None)
    assert (changes.loc[["i1", "i3"], ["2024-03", "2024-04"]] < 0).all(axis=None)
    assert {"kind": "taste", "judge": "j0"}.items() <= turning.to_dict()["judges"][0].items()


def test_a_taste_that_turns_is_drawn_on_the_page(turning):
    assert turning.plot.tastes_changed == ["j0"]
    assert "What j0 prefers more (orange) or less (blue) than in all groups." in turning.report()
    assert turning.plot.taste("j0").get_title(loc="left").startswith("What j0 prefers more")
    plt.close("all")


def test_tastes_are_only_told_of_judges_who_have_a_test(turning):
    with pytest.raises(hja.OptionError, match="the taste of 'nobody' is not tested; that of 'j0', 'j1'"):
        turning.taste_changes("nobody")


def test_findings_say_when_something_changed(drifting):
    found = hja.fit(drifting, judges="fixed").findings
    told = next(finding.text for finding in found if finding.topic == "stability")
    assert "'month'" in told
    assert "hja.by_group(data, by='month', period='month')" in told


def test_small_groups_borrow_strength(months, drifting):
    few = np.where(np.arange(drifting.n_rows) < 60, "few", drifting.columns["month"])
    found = hja.by_group(with_group(drifting, few), "group")
    own, shrunk = found.board("few"), found.board("few", shrunken=True)
    assert (shrunk["std_err"].sort_index() < own["std_err"].sort_index()).all()
    assert np.ptp(shrunk["score"]) < np.ptp(own["score"])
    assert found.heterogeneity.ci_lower < found.heterogeneity.sd < found.heterogeneity.ci_upper
    assert list(found.shrunken.columns) == ["all", *found.labels]


def test_no_group_is_refused(panel):
    """One of three verdicts, one where an item is never beaten, one of a single judge, one in two parts."""
    group = np.full(3200, "rest", dtype=object)
    group[:3] = "three"
    best = np.flatnonzero((panel.first_index == 8) & (panel.outcome == 1.0))[:40]
    group[best] = "one-sided"
    group[np.flatnonzero(panel.judge_index == 2)[:150]] = "one judge"
    is_low = (panel.first_index < 4) & (panel.second_index < 4)
    is_high = (panel.first_index > 5) & (panel.second_index > 5)
    group[np.flatnonzero(is_low | is_high)[-80:]] = "two parts"
    found = hja.by_group(with_group(panel, group), "group", model="ja")
    assert set(found.results) == set(group)
    notes = found.groups["note"]
    assert notes["rest"] == ""
    assert "judges are as in all groups" in notes["one-sided"]
    assert notes["one judge"] == "BTL"
    assert "not compared with the others" in notes["two parts"]
    for label in found.labels:
        assert np.isfinite(found.board(label)["std_err"]).all()
        assert np.isfinite(found.board(label, shrunken=True)["std_err"]).all()
    assert np.isnan(found.scores["two parts"].to_numpy()).sum() == 10 - found.groups["items"]["two parts"]


def test_light_judges_of_a_group_speak_with_one_voice(panel):
    """Judges with a handful of verdicts all one way have no position effect of their own there."""
    own = [np.flatnonzero((panel.judge_index == k) & (panel.outcome == k % 2))[:8] for k in range(3)]
    light = np.concatenate(own)
    rows = np.concatenate([light, np.flatnonzero(panel.judge_index >= 3)[:900]])
    group = np.full(3200, "rest", dtype=object)
    group[rows] = "light"
    found = hja.by_group(with_group(panel, group), "group", model="ja", position="judge")
    assert "3 judges with fewer than 30 verdicts speak with one voice" in found.groups["note"]["light"]


def test_a_group_of_many_verdicts_is_taken_at_its_word(halves):
    """Shrunken by little, since its errors are small against what groups differ by, or towards its like."""
    own, shrunk = halves.board("a"), halves.board("a", shrunken=True)
    assert np.abs(own["score"] - shrunk["score"].reindex(own.index)).max() < 2 * own["std_err"].max()


def test_differences_of_two_groups_are_mirrored(halves):
    table = halves.differences.pivot_table("difference", "item", "group")
    assert np.allclose(table["a"], -table["b"], atol=0.1)
    p = halves.differences.pivot_table("p_holm", "item", "group")
    assert (p["a"] == p["b"]).all()


def test_everything_goes_into_json(months):
    told = json.loads(months.to_json())
    assert [line["group"] for line in told["groups"]] == months.labels
    assert told["clusters"]["what"] == "prompts"
    assert {line["question"] for line in told["tests"]} == set(months.tests.index)


def test_the_section_of_a_page_has_a_tab_for_every_group_and_no_script(months):
    page = months.report()
    assert "<script" not in page
    assert page.count('type="radio"') == 1 + len(months.labels)
    assert page.count("<svg") == 3
    for label in months.labels:
        assert f">{label}</label>" in page
    assert months.section() in page
    named = set(re.findall(r'aria-(?:labelledby|describedby)="([^"]+)"', page))
    assert named <= set(re.findall(r'\bid="([^"]+)"', page))
    assert page.count("<main>") == 1


def test_labels_are_only_text_on_the_page(panel):
    hostile = np.where(np.arange(3200) < 1600, "<script>alert(1)</script>", "b & c")
    page = hja.by_group(with_group(panel, hostile), "group", model="btl").report(title="<b>")
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "<b>" not in page


def test_figures_colour_what_is_beyond_chance(months):
    lines = months.plot.places().lines
    assert len(lines) == 6
    colours = {line.get_color() for line in lines}
    assert len(colours) >= 2
    texts = [text.get_text() for text in months.plot.differences().texts]
    assert len(texts) == 24
    legend = months.plot.judges("position").get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["j0"]
    plt.close("all")


def test_processes_change_nothing(drifting, months):
    again = hja.by_group(drifting, by="month", n_jobs=2)
    pd.testing.assert_frame_equal(again.differences, months.differences)
    pd.testing.assert_frame_equal(again.tests, months.tests)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"by": "nothing"}, "no column is called so"),
        ({"by": "month", "model": "judgewise"}, "has no consensus"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(drifting, options, text):
    with pytest.raises(hja.InputError, match=text):
        hja.by_group(drifting, **options)


def test_unknown_groups_of_a_board_are_refused(halves):
    with pytest.raises(hja.OptionError, match="no group is called 'c'"):
        halves.board("c")


def test_rows_without_a_group_are_left_out_and_counted(panel):
    group = pd.Series(np.where(np.arange(3200) % 2, "a", "b")).where(np.arange(3200) > 9)
    found = hja.by_group(panel, by=group, model="btl")
    assert found.n_left_out == 10
    assert "10 verdicts without a group are left out." in found.findings


def test_judges_as_a_sample_are_tested_by_judge():
    rng = np.random.default_rng(8)
    n = 900
    judge, first = rng.integers(60, size=n), rng.integers(5, size=n)
    second = (first + rng.integers(1, 5, size=n)) % 5
    win = rng.random(n) < expit(0.5 * (second - first) * rng.normal(1.0, 2.0, 60)[judge])
    names = [np.array([f"{x}{c}" for c in codes]) for x, codes in zip("jii", (judge, first, second), strict=True)]
    columns = pd.DataFrame({"half": judge % 2})
    found = hja.by_group(hja.Comparisons.from_arrays(*names, win.astype(float), columns=columns), "half")
    assert found.overall.fit.layout.description.startswith("population")
    assert found.to_dict()["clusters"] == {"what": "judges", "number": 60}
    assert found.tests["p_value"]["consensus"] > 0.01


# Two results


def test_a_result_did_not_move_from_itself(halves):
    found = hja.compare_rankings(halves.overall, halves.overall)
    assert found.moved == []
    assert np.allclose(found.table["difference"], 0.0)
    assert "all rows" in str(found)


def test_whoever_moved_is_named(drifting):
    month = drifting.columns["month"]
    old, new = (
        hja.JAModel.from_comparisons(drifting.subset((month == m).to_numpy())).fit() for m in ("2024-01", "2024-04")
    )
    found = hja.compare_rankings(old, new)
    assert found.moved[0] == "i5"
    assert found.table.loc["i5", ["old_place", "new_place"]].tolist() == [1, 4]
    assert "taken to be independent" in str(found)
    with pytest.raises(hja.OptionError, match="none in common"):
        hja.compare_rankings(old, new, paired=True)


def test_shared_prompts_make_differences_more_certain():
    """What a prompt does to both results is no difference."""
    rng = np.random.default_rng(2)
    prompt = np.tile(np.repeat(np.arange(80), 25), 2)
    first = rng.integers(4, size=len(prompt))
    second = (first + rng.integers(1, 4, size=len(prompt))) % 4
    likes = rng.normal(0.0, 1.2, (80, 4))
    win = rng.random(len(prompt)) < expit(likes[prompt, first] - likes[prompt, second])
    names = np.array(list("abcd"))
    half = np.repeat([0, 1], 2000)
    columns = pd.DataFrame({"prompt": prompt})
    data = hja.Comparisons.from_arrays("j", names[first], names[second], win.astype(float), columns=columns)
    fits = [
        hja.BTLModel.from_comparisons(data.subset(half == h)).fit(cov_type="cluster", cov_kwds={"groups": "prompt"})
        for h in (0, 1)
    ]
    paired, apart = (hja.compare_rankings(*fits, paired=how) for how in (None, False))
    assert paired.paired_by == "80 prompts"
    assert (paired.table["std_err"].sort_index() < 0.8 * apart.table["std_err"].sort_index()).all()


def test_results_need_items_in_common(panel, halves):
    some = panel.subset((panel.first_index < 3) & (panel.second_index < 3))
    others = panel.subset((panel.first_index > 6) & (panel.second_index > 6))
    old, new = (hja.BTLModel.from_comparisons(data).fit() for data in (some, others))
    with pytest.raises(hja.OptionError, match="0 items in common"):
        hja.compare_rankings(old, new)
    found = hja.compare_rankings(halves.overall, old)
    assert len(found.table) == 3
    assert len(found.only_old) == 7


# Real data


def test_mt_bench_by_category_answers_for_all_eight(shared_data):
    data = hja.read_comparisons(shared_data / "mtbench.json")
    found = hja.by_group(data, "question_id", breaks=[91, 101, 111, 121, 131, 141, 151], labels=CATEGORIES)
    assert found.labels == CATEGORIES
    assert set(found.results) == set(CATEGORIES)
    assert found.to_dict()["clusters"] == {"what": "prompts", "number": 80}
    assert found.groups["prompts"].tolist() == [10] * 8
    assert 0.001 < found.tests["p_value"]["consensus"] < 0.03
    assert found.moved.empty
    assert list(found.item_tests.index[found.item_tests["p_holm"] < 0.05]) == ["gpt-3.5-turbo", "gpt-4"]
    told = next(text for text in found.findings if text.startswith("Groups differ in their scores"))
    assert "Not the same in all groups, each tested by itself: 'gpt-3.5-turbo' (p = " in told
    assert "none differs clearly; nearest, relative to the mean of the items: 'gpt-3.5-turbo' in math (+0.80" in told
    assert found.tests["p_value"]["position"] < 0.005
    assert 0.2 < found.heterogeneity.sd < 0.5


def first_of_the_alphabet(rng, scores, bonus, n=8000, n_judges=10):
    """Two months; the item shown first is always the one that is first in the alphabet, ``bonus`` (n_judges,) in the second."""
    n_items, judge, month = scores.shape[1], rng.integers(n_judges, size=n), np.arange(n) * 2 // n
    one = rng.integers(n_items, size=n)
    other = (one + rng.integers(1, n_items, size=n)) % n_items
    first, second = np.minimum(one, other), np.maximum(one, other)
    eta = scores[month, first] - scores[month, second] + bonus[judge] * (month == 1)
    names = [np.array([f"{x}{c:02d}" for c in codes]) for x, codes in zip("jii", (judge, first, second), strict=True)]
    return with_group(hja.Comparisons.from_arrays(*names, (rng.random(n) < expit(eta)).astype(float)), month)


def test_a_group_in_which_nobody_ties_has_a_board():
    rng = np.random.default_rng(0)
    scores, first = np.linspace(-1.0, 1.0, 5), rng.integers(5, size=1200)
    second = (first + rng.integers(1, 5, size=1200)) % 5
    wins, group = rng.random(1200) < expit(scores[first] - scores[second]), np.arange(1200) % 3
    outcome = np.where((rng.random(1200) < 0.2) & (group > 0), 0.5, wins)
    names = [np.array([f"i{c}" for c in codes]) for codes in (first, second)]
    data = with_group(hja.Comparisons.from_arrays("j", *names, outcome), group)
    found = hja.by_group(data, "group", ties="davidson")
    assert found.places["0"].notna().all()
    assert "nobody ties here" in found.groups["note"]["0"]


def test_items_are_not_blamed_for_position_effects_that_change():
    rng = np.random.default_rng(4)
    scores = np.tile(rng.permutation(np.linspace(-1.0, 1.0, 20)), (2, 1))
    found = hja.by_group(first_of_the_alphabet(rng, scores, np.full(10, 1.5)), "group", position="judge", model="ja")
    assert found.tests["p_value"]["position"] < 0.001
    assert (found.tests["p_value"][["consensus", "proportionality", "scale", "sensitivity"]] > 0.01).all()
    assert found.moved.empty
    assert (found.item_tests["p_holm"] > 0.05).all()


def test_neither_judges_nor_positions_are_blamed_for_items_that_change():
    rng = np.random.default_rng(5)
    scores = np.tile(np.linspace(-1.0, 1.0, 8), (2, 1))
    scores[1, [0, 7]] += [1.0, -1.0]
    found = hja.by_group(first_of_the_alphabet(rng, scores, np.zeros(10)), "group", position="judge", model="ja")
    assert found.tests["p_value"]["consensus"] < 0.001
    assert found.tests["p_value"]["position"] > 0.01
    assert (found.judge_tests["p_holm"] > 0.05).all()


def test_judges_are_not_blamed_for_the_position_effects_of_others():
    rng = np.random.default_rng(6)
    scores = np.tile(rng.permutation(np.linspace(-1.0, 1.0, 6)), (2, 1))
    data = first_of_the_alphabet(rng, scores, np.where(np.arange(10) < 5, 1.5, 0.0))
    table = hja.by_group(data, "group", position="judge", model="ja").judge_tests
    assert set(table.loc[table["p_holm"] < 0.05, "judge"]) == {f"j{k:02d}" for k in range(5)}


def test_a_row_of_weight_three_is_three_verdicts(drifting, set_limits):
    """Of rows without prompts, whose order then changes nothing but which signs are drawn, unless rows are put together."""
    set_limits(SIGNED_CLUSTERS=4000)
    plain = replace(drifting, columns=drifting.columns[["month"]])
    table = plain.to_frame().groupby(["judge", "first", "second", "outcome", "month"], as_index=False).size()
    counted = hja.Comparisons.from_arrays(
        *(table[name] for name in ("judge", "first", "second", "outcome", "size")),
        counts=False,
        columns=table[["month"]],
    )
    one, other = (hja.by_group(data, "month", model="ja", position="judge") for data in (plain, counted))
    assert other.to_dict()["clusters"]["number"] == 4000
    assert np.allclose(one.tests["statistic"], other.tests["statistic"], rtol=1e-4)
    assert np.allclose(one.tests["p_value"], other.tests["p_value"], atol=SIGNS_DRAWN)
    pairs = [found.differences.set_index(["item", "group"]).sort_index() for found in (one, other)]
    assert np.allclose(pairs[0]["std_err"], pairs[1]["std_err"], rtol=0.1)


def test_one_of_many_judges_that_changes_is_found_after_adjustment_for_all():
    """2,000 draws cannot tell a p-value that is small enough for 180 tests: of the clearest there are more."""
    rng = np.random.default_rng(1)
    n_judges, n, n_items = 60, 150, 6
    mu, judge = np.linspace(-1.0, 1.0, n_items), np.repeat(np.arange(n_judges), n)
    month = np.tile(np.arange(n) * 4 // n, n_judges)
    first = rng.integers(n_items, size=len(judge))
    second = (first + rng.integers(1, n_items, size=len(judge))) % n_items
    wins = rng.random(len(judge)) < expit(mu[first] - mu[second] + 2.5 * ((judge == 3) & (month > 1)))
    names = ([f"j{k:02d}" for k in judge], [f"i{i}" for i in first], [f"i{i}" for i in second])
    data = with_group(hja.Comparisons.from_arrays(*names, wins.astype(float)), month)
    found = hja.by_group(data, "group", model="ja", position="judge").judge_tests
    changed = found[found["p_holm"] < 0.05]
    assert list(zip(changed["judge"], changed["kind"], strict=True)) == [("j03", "position")]
    assert len(found) == 3 * n_judges


def test_one_item_that_falls_alone_explains_that_the_others_rise():
    old, new = np.zeros(6), np.array([-2.0, 0.02, -0.03, 0.01, 0.0, 0.0])
    found = moves(old - old.mean(), new - new.mean(), 0.005 * np.eye(6), 0.005 * np.eye(6))
    assert (found.p_value < 0.01).all()
    assert found.without[0] > 0.9
    assert (found.without[1:] < 1e-6).all()


@pytest.mark.parametrize("scale", [0.3, 1.0, -0.5])
def test_a_change_of_scale_is_rejected_as_often_as_it_should(scale):
    """Of 600 pairs of boards with errors of their own 0.05, with a standard error of 0.009."""
    rng, mu, centre = np.random.default_rng(0), np.linspace(1.2, -1.2, 6), np.eye(6) - 1.0 / 6.0
    root = rng.normal(size=(6, 6))
    errors = [0.01 * np.eye(6) + 0.002 * root @ root.T, 0.03 * np.eye(6)]
    boards = [
        rng.multivariate_normal(mean, error, 600) @ centre for mean, error in zip((mu, scale * mu), errors, strict=True)
    ]
    found = [moves(old, new, *(centre @ error @ centre for error in errors)) for old, new in zip(*boards, strict=True)]
    assert np.mean([made.apart_p_value < 0.05 for made in found]) == pytest.approx(0.05, abs=0.027)
    assert np.median([made.scale for made in found]) == pytest.approx(scale, abs=0.02)


def verdicts(rng, scores, judge, group, bonus=0.0):
    """Verdicts on scores (n_rows, n_items) of each row, of the item shown first by ``bonus`` more."""
    n, n_items = scores.shape
    first = rng.integers(n_items, size=n)
    second = (first + rng.integers(1, n_items, size=n)) % n_items
    rows = np.arange(n)
    wins = rng.random(n) < expit(scores[rows, first] - scores[rows, second] + bonus)
    names = [np.array([f"{x}{c:02d}" for c in codes]) for x, codes in zip("jii", (judge, first, second), strict=True)]
    return with_group(hja.Comparisons.from_arrays(*names, wins.astype(float)), group)


def test_groups_of_judges_count_judges_whatever_prompts_there_are():
    rng = np.random.default_rng(0)
    judge = np.repeat(np.arange(30), 60)
    tastes = np.linspace(1.0, -1.0, 6) + rng.normal(0.0, 0.8, (30, 6))
    data = verdicts(rng, tastes[judge], judge, np.where(judge < 15, "layman", "expert"))
    data = replace(data, columns=data.columns.assign(question_id=rng.integers(80, size=1800)))
    found = hja.by_group(data, "group", model="btl", position=None)
    assert found.to_dict()["clusters"] == {"what": "judges", "number": 30}
    assert found.tests["p_value"]["consensus"] > 0.05
    assert any("p-values are about judges like these" in text for text in found.findings)
    few = hja.by_group(data.subset(judge % 15 < 5), "group", model="btl", position=None)
    assert any("p-values are about these 10 judges, not about others like them" in text for text in few.findings)


def test_a_judge_who_ranks_backwards_is_no_judge_of_another_sensitivity_to_its_group():
    rng = np.random.default_rng(11)
    judge = rng.integers(6, size=4000)
    gamma = np.array([1.0, 1.0, 1.0, 1.0, 1.0, -0.8])
    data = verdicts(rng, gamma[judge, None] * np.linspace(1.2, -1.2, 6), judge, judge)
    found = hja.by_group(data, "judge", model="ja", position=None)
    assert found.tests["p_value"]["consensus"] < 0.001
    told = found.findings[0]
    assert "in their scale alone" in told
    assert "the other way round in j05 (-" in told
    assert any("as if all judges were equally sensitive" in text for text in found.findings)
    assert found.scores["j05"].corr(found.scores["j00"]) < -0.9


def test_a_change_of_scale_is_not_told_as_items_that_move():
    rng = np.random.default_rng(1)
    judge, month = rng.integers(6, size=4000), np.arange(4000) // 1000
    scores = np.array([1.0, 1.0, 1.0, 0.3])[month, None] * np.linspace(1.2, -1.2, 6)
    data = verdicts(rng, scores, judge, month)
    found = hja.by_group(data, "group", model="btl", position=None)
    told = found.findings[0]
    assert "in their scale alone" in told
    assert "times in 3" in told
    assert not any("rise" in text or "The clearest" in text for text in found.findings)
    old, new = (hja.BTLModel.from_comparisons(data.subset(some)).fit() for some in (month < 3, month == 3))
    moves_ = hja.compare_rankings(old, new)
    assert "in their scale alone: the new ones are 0.3" in moves_.sentences[0]
    assert "relative to the mean" not in " ".join(moves_.sentences)


def test_a_judge_that_changed_in_between_is_told_with_the_groups_that_differ():
    rng = np.random.default_rng(7)
    judge, month = rng.integers(6, size=6000), np.arange(6000) // 1500
    bonus = np.where((judge == 2) & (month == 1), 1.5, 0.0)
    data = verdicts(rng, np.tile(np.linspace(1.2, -1.2, 6), (6000, 1)), judge, month, bonus)
    found = hja.by_group(data, "group", model="btl", position="judge")
    [told] = [text for text in found.findings if text.startswith("Judges that are not the same")]
    assert re.search(r"position of 'j02' \((-?0\.\d+ in 0, 1\.\d+ in 1|1\.\d+ in 1, -?0\.\d+ in [23]);", told)


def released(new_in, n=3000):
    """Three months; item a crashes in the third, and item f is there in some of the months only."""
    rng = np.random.default_rng(0)
    first, month = rng.integers(6, size=n), rng.integers(3, size=n)
    second = (first + rng.integers(1, 6, size=n)) % 6
    scores = np.tile(np.linspace(1.0, -1.0, 6), (3, 1))
    scores[2, 0] = -1.5
    outcome = (rng.random(n) < expit(scores[month, first] - scores[month, second])).astype(float)
    kept = np.isin(month, new_in) | ((first != 5) & (second != 5))
    names = np.array(list("abcdef"))
    columns = pd.DataFrame({"month": [f"2024-0{m + 1}" for m in month[kept]]})
    return hja.Comparisons.from_arrays("j", names[first[kept]], names[second[kept]], outcome[kept], columns=columns)


@pytest.mark.parametrize("new_in", [[2], [1, 2]])
def test_a_new_item_leaves_the_tests_of_all_others(new_in):
    found = hja.by_group(released(new_in), by="month")
    tests = found.item_tests
    assert tests.index[0] == "a"
    assert tests.loc[list("abcde"), "df"].tolist() == [2] * 5
    assert tests["trend_slope"].idxmin() == "a"
    assert found.differences.iloc[0][["item", "group"]].tolist() == ["a", "2024-03"]
    assert found.differences.dropna().groupby("item").size().loc[list("abcde")].tolist() == [3] * 5
    assert "that of 'a' falls." in str(found)
    assert np.isnan(tests["p_value"]["f"]) == (new_in == [2])
    assert ("No test of 'f' by itself" in str(found)) == (new_in == [2])


def test_scores_are_relative_to_the_items_that_groups_have_in_common():
    """Where 'f' is left out everywhere, what is said of the others is nearly the same."""
    data = released([2])
    without = data.subset(~np.isin(data.first_index, 5) & ~np.isin(data.second_index, 5))
    slopes = [hja.by_group(some, by="month").item_tests["trend_slope"] for some in (data, without)]
    assert np.allclose(slopes[0][list("abcde")], slopes[1][list("abcde")], atol=ONE_STEP)


def test_nothing_is_said_of_trends_that_cannot_be_tested():
    """Every month compares the item of the month before with a new one."""
    rng = np.random.default_rng(0)
    month = np.arange(300) // 100
    columns = pd.DataFrame({"month": [f"2024-0{m + 1}" for m in month]})
    names = np.array(list("abcd"))
    outcome = rng.integers(2, size=300).astype(float)
    data = hja.Comparisons.from_arrays("j", names[month], names[month + 1], outcome, columns=columns)
    found = hja.by_group(data, by="month")
    assert found.item_tests["p_value"].isna().all()
    assert not any("rise or fall" in text for text in found.findings)


def test_a_judge_who_joins_later_is_tested_among_the_groups_that_have_it():
    rng = np.random.default_rng(1)
    n = 3000
    month, judge, first = rng.integers(3, size=n), rng.integers(3, size=n), rng.integers(5, size=n)
    month[(judge == 2) & (month == 0)] = 1
    second = (first + rng.integers(1, 5, size=n)) % 5
    bonus = 1.5 * ((judge == 2) & (month == 2))
    outcome = (rng.random(n) < expit((second - first) / 2.0 + bonus)).astype(float)
    columns = pd.DataFrame({"month": month})
    names = [np.array([f"{x}{c}" for c in codes]) for x, codes in zip("jii", (judge, first, second), strict=True)]
    data = hja.Comparisons.from_arrays(*names, outcome, columns=columns)
    tests = hja.by_group(data, by="month", model="btl", position="judge").judge_tests
    tests = tests[tests["kind"] == "position"].set_index("judge")
    assert tests["df"].to_dict() == {"j0": 2, "j1": 2, "j2": 1}
    assert tests["p_value"]["j2"] == 1.0 / 2000.0


@pytest.mark.parametrize("n_tiny", [1, 2])
def test_a_group_of_three_verdicts_is_shrunk_to_the_common_board(panel, n_tiny):
    """With the errors of a group of which next to nothing is known, and no word about how far groups differ."""
    group = np.where(
        np.arange(panel.n_rows) < 3 * n_tiny, "tiny" + pd.Series(np.arange(panel.n_rows) // 3).astype(str), "many"
    )
    found = hja.by_group(with_group(panel, group), "group", model="btl")
    boards = found.shrunken
    tiny, many = (found.board(label, shrunken=True)["std_err"] for label in ("tiny0", "many"))
    assert boards[["tiny0", "all"]].sub(boards["many"], axis=0).abs().max(axis=1).lt(tiny.reindex(boards.index)).all()
    assert (tiny > 2.0 * many.reindex(tiny.index)).all()
    assert np.isnan(found.heterogeneity.sd)


def test_a_group_called_all_has_a_board_of_its_own(panel):
    found = hja.by_group(with_group(panel, np.where(np.arange(3200) < 400, "all", "some")), "group")
    assert found.labels == ["all (group)", "some"]
    assert list(found.places) == ["all", "all (group)", "some"]
    assert found.board("all").equals(found.overall.ranking())
    assert found.board("all (group)")["std_err"].mean() > 2.0 * found.board("all")["std_err"].mean()
    assert "The group 'all' is called 'all (group)' here" in str(found)


DATES = pd.Series(pd.date_range("2023-11-20", "2024-03-18", periods=3200))


@pytest.mark.parametrize(
    "form",
    ["%d.%m.%Y", "%d/%m/%Y %H:%M", "%m/%d/%Y", "%Y/%m/%d", "%d %B %Y", "%Y-%m-%dT%H:%M:%SZ", "%m-%d-%Y %I:%M %p"],
)
def test_a_column_of_dates_is_read_by_one_format(panel, form):
    found = group_rows(replace(panel, columns=panel.columns.assign(at=DATES.dt.strftime(form))), "at", period="month")
    assert found.labels == ("2023-11", "2023-12", "2024-01", "2024-02", "2024-03")
    assert (np.array(found.labels)[found.code] == DATES.dt.strftime("%Y-%m")).all()


@pytest.mark.parametrize("options", [{"period": "month"}, {}])
def test_dates_that_may_be_read_both_ways_are_refused_with_what_to_do(panel, options):
    rows = np.arange(panel.n_rows)
    dates = [f"{row % 12 + 1:02}.{row // 12 % 12 + 1:02}.2024" for row in rows]
    data = replace(panel, columns=panel.columns.assign(at=dates))
    with pytest.raises(hja.ComparisonError, match="the day or the month first") as refused:
        group_rows(data, "at", **options)
    assert "pd.to_datetime(data['at'], dayfirst=True)" in str(refused.value)
    times = data.columns.assign(at=pd.to_datetime(data.columns["at"], dayfirst=True))
    found = group_rows(replace(data, columns=times), "at", **options)
    assert found.labels[found.code[1]] == "2024-01"


def test_dates_written_in_two_ways_are_refused(panel):
    dates = np.where(np.arange(3200) % 2, "2024-03-20", "20.04.2024")
    with pytest.raises(hja.ComparisonError, match="'at' is cut as a time, but '2024-03-20' is not written as"):
        group_rows(replace(panel, columns=panel.columns.assign(at=dates)), "at", period="month")


def test_an_empty_text_is_no_group(panel):
    found = group_rows(with_group(panel, np.array(["", "a", "b", " "])[np.arange(3200) % 4]), "group")
    assert found.labels == ("a", "b")
    assert (found.code >= 0).sum() == 1600


def test_seasons_are_in_order(panel):
    found = group_rows(with_group(panel, np.array(["2010-11", "2008-9", "2009-10"])[np.arange(3200) % 3]), "group")
    assert found.labels == ("2008-9", "2009-10", "2010-11")
    assert found.is_ordered


def test_names_of_pieces_keep_their_order_and_one_break_needs_no_list(panel):
    data = with_group(panel, np.arange(3200.0))
    found = group_rows(data, "group", breaks=1600.0, labels=["short", "long"])
    assert (found.labels, found.is_ordered) == (("short", "long"), True)


@pytest.mark.parametrize(
    ("call", "needed"), [(hja.by_group, {"by": "group"}), (hja.fit, {}), (hja.anchor, {"target": "judge-1"})]
)
def test_a_misspelt_option_is_named_with_the_one_that_was_meant(panel, call, needed):
    with pytest.raises(hja.InputError, match=r"no option is called 'modle': did you mean model=\?"):
        call(panel, **needed, modle="ja")
    with pytest.raises(hja.InputError, match=r"no option is called 'xyzzy'; there are .*'model'"):
        call(panel, **needed, xyzzy=1)


def test_a_group_of_a_sample_of_judges_without_a_maximum_has_a_board():
    rng = np.random.default_rng(0)
    n = 1200
    judge, first = rng.integers(30, size=n), rng.integers(5, size=n)
    second = (first + rng.integers(1, 5, size=n)) % 5
    group = np.where(np.arange(n) < 40, "few", "many")
    outcome = np.where(group == "few", first < second, rng.random(n) < expit((second - first) / 2.0)).astype(float)
    names = [np.array([f"{x}{c:02}" for c in codes]) for x, codes in zip("jii", (judge, first, second), strict=True)]
    data = hja.Comparisons.from_arrays(*names, outcome, columns=pd.DataFrame({"group": group}))
    found = hja.by_group(data, "group", judges="sample", rank=0)
    assert "ridge" in found.groups["note"]["few"]
    assert found.board("few").index[0] == "i00"


def test_groups_of_a_single_prompt_each_are_not_told_apart_from_prompts():
    rng = np.random.default_rng(0)
    group = np.arange(1200) // 200
    scores = (np.linspace(1.0, -1.0, 5) + rng.normal(0.0, 1.0, (6, 5)))[group]
    data = verdicts(rng, scores, rng.integers(4, size=1200), group)
    data = replace(data, columns=data.columns.assign(question_id=group))
    found = hja.by_group(data, "group", model="btl", position=None)
    assert "Every group is a single prompt: what differs between groups cannot be told from it." in found.findings
    assert np.isnan(found.heterogeneity.sd)


def prompted(rng, n_prompts, n_judges, sd, group_of, per_prompt=40):
    """Verdicts without differences between groups, on prompts that suit some items more."""
    prompt = np.repeat(np.arange(n_prompts), per_prompt)
    scores = (np.linspace(1.0, -1.0, 6) + rng.normal(0.0, sd, (n_prompts, 6)))[prompt]
    data = verdicts(rng, scores, rng.integers(n_judges, size=len(prompt)), group_of(prompt))
    return replace(data, columns=data.columns.assign(question_id=prompt))


def test_boards_of_few_prompts_count_these_however_many_judges_there_are():
    """Of 40 judges groups were clustered by judge, and said to differ by 0.21 or more where they do not."""
    rng = np.random.default_rng(8)
    data = prompted(rng, 80, 40, 1.2, lambda prompt: prompt // 10)
    found = hja.by_group(data, "group", model="btl", position=None)
    assert found.heterogeneity.ci_lower < 0.1
    assert {result.cov_type for result in found.results.values()} == {"HC0"}


@pytest.mark.parametrize("n_last", [1, 3])
def test_a_group_of_few_prompts_with_many_verdicts_each_is_not_said_to_differ(n_last):
    """Of 30 panels 25 and 10 were; of ten, one may be."""
    named = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        of_prompt = np.r_[np.repeat([0, 1], 40), np.full(n_last, 2)]
        size = np.r_[np.full(80, 10), np.full(n_last, 800 // n_last)]
        prompt = np.repeat(np.arange(len(of_prompt)), size)
        scores = (np.linspace(1.0, -1.0, 6) + rng.normal(0.0, 0.5, (len(of_prompt), 6)))[prompt]
        data = verdicts(rng, scores, rng.integers(4, size=len(prompt)), of_prompt[prompt])
        data = replace(data, columns=data.columns.assign(question_id=prompt))
        named += len(hja.by_group(data, "group", model="btl", position=None).moved) > 0
    assert named <= 2


def test_thirty_judges_as_groups_are_told_apart():
    rng = np.random.default_rng(3)
    judge = np.repeat(np.arange(30), 200)
    gamma = np.where(judge == 7, -1.0, 1.0)
    data = verdicts(rng, gamma[:, None] * np.linspace(1.2, -1.2, 6), judge, judge)
    found = hja.by_group(data, "judge", model="btl", position=None)
    assert found.tests["p_value"]["consensus"] < 0.001


def test_a_position_effect_that_changes_for_all_is_no_change_of_scores_and_is_told():
    rng = np.random.default_rng(1)
    month, judge = np.arange(4000) // 1000, rng.integers(6, size=4000)
    one = rng.integers(6, size=4000)
    other = (one + rng.integers(1, 6, size=4000)) % 6
    first, second = np.minimum(one, other), np.maximum(one, other)
    scores = np.linspace(1.0, -1.0, 6)[[3, 0, 4, 2, 5, 1]]
    wins = rng.random(4000) < expit(scores[first] - scores[second] + 1.0 * (month == 3))
    names = [np.array([f"{x}{c}" for c in codes]) for x, codes in zip("jii", (judge, first, second), strict=True)]
    found = hja.by_group(with_group(hja.Comparisons.from_arrays(*names, wins.astype(float)), month), "group")
    assert found.overall.model.position is not None
    assert found.tests["p_value"]["consensus"] > 0.01
    assert found.tests["p_value"]["position"] < 0.001
    assert any("position effect" in text and "differs between groups" in text for text in found.findings)
    assert any(text.startswith("Not tested of single judges: sensitivities") for text in found.findings)
