import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from benchmarks.claims import alarms
from hjastats.diagnostics.cards import judge_sentence, nearest_judges
from hjastats.diagnostics.consistency import cycle_rates, mean_squares
from hjastats.errors import ContrastError

MODELS = {
    "BTL": (hja.BTLModel, {}),
    "JA": (hja.JAModel, {"position": "common"}),
    "HJA": (hja.HJAModel, {"rank": 1, "position": "judge"}),
    "judge-wise": (hja.JudgewiseBTLModel, {}),
    "Davidson": (hja.JAModel, {"ties": "davidson", "tie": "judge"}),
    "drop": (hja.JAModel, {"ties": "drop"}),
}


@pytest.fixture(scope="module")
def panel_with_everything(panel):
    """The panel with every seventh verdict a tie, a prompt judged in both orders, and verdicts lost when reading."""
    frame = panel.to_frame()
    outcome = np.where(np.arange(len(frame)) % 7 == 0, 0.5, frame["outcome"])
    prompts = pd.DataFrame({"prompt": np.arange(len(frame)) // 2})
    frame.loc[1, ["judge", "first", "second"]] = frame.loc[0, ["judge", "second", "first"]].to_numpy()
    lost = pd.DataFrame({"judge": ["judge-2"], "label": ["unknown"], "count": [100]})
    return hja.Comparisons.from_arrays(
        frame["judge"], frame["first"], frame["second"], outcome, columns=prompts, dropped=lost
    )


def is_readable(card):
    lines = repr(card).splitlines()
    return len(lines) <= 15 and max(map(len, lines)) <= 80 and "nan" not in repr(card)


@pytest.mark.parametrize("name", list(MODELS))
def test_every_card_of_every_model_fits_and_shows_no_missing_number(panel_with_everything, name):
    cls, options = MODELS[name]
    result = cls.from_comparisons(panel_with_everything, **options).fit()
    table = result.judges.cards()
    for judge in panel_with_everything.judges:
        card = result.judges.card(judge)
        assert is_readable(card)
        assert card.sentence == table.loc[judge, "sentence"]


def test_the_numbers_are_those_of_the_tables_they_come_from(panel_with_everything):
    result = hja.HJAModel.from_comparisons(panel_with_everything, rank=1, position="judge").fit()
    cards = result.judges.cards()
    np.testing.assert_array_equal(cards["sensitivity"], result.sensitivity["estimate"])
    np.testing.assert_array_equal(cards["sensitivity_se"], result.sensitivity["std_err"])
    np.testing.assert_array_equal(cards["position"], result.position["estimate"])
    np.testing.assert_array_equal(cards[["h", "rho"]], result.judges.leverage())
    np.testing.assert_array_equal(cards["cycle_rate"], cycle_rates(panel_with_everything.cells))
    infit, outfit = mean_squares(result.model.row_design(), result.fit.at)
    np.testing.assert_array_equal(cards["infit"], infit)
    np.testing.assert_array_equal(cards["outfit"], outfit)
    np.testing.assert_array_equal(cards["flip_rate"], hja.swap_report(panel_with_everything)["flip_rate"])
    np.testing.assert_allclose(cards["information_share"].sum(), 1.0)
    share = panel_with_everything.first_share()
    np.testing.assert_allclose(cards["tie_rate"], share["ties"] / share["comparisons"])
    assert cards.loc["judge-2", "dropped_rate"] == pytest.approx(100 / (100 + share.loc["judge-2", "comparisons"]))
    assert cards.drop(index="judge-2")["dropped_rate"].eq(0).all()


def test_what_is_not_there_is_empty_in_the_table_and_words_on_the_card(panel_with_everything):
    dropped = hja.JAModel.from_comparisons(panel_with_everything, ties="drop").fit()
    cards = dropped.judges.cards()
    assert cards[["tie_rate", "position", "position_se"]].isna().all(axis=None)
    text = repr(dropped.judges.card("judge-1"))
    assert "ties left out" in text
    assert "not modelled, first in" in text
    assert "all judges rank alike in this model" in text
    common = hja.JAModel.from_comparisons(panel_with_everything, position="common").fit()
    np.testing.assert_array_equal(common.judges.cards()["position"], common.position["estimate"].iloc[0])
    assert "for all, first in" in repr(common.judges.card("judge-1"))


def test_withheld_estimates_read_as_words():
    rows = [("j", "a", "b", 1), ("j", "b", "c", 1), ("k", "a", "b", 1), ("k", "b", "c", 0), ("k", "c", "a", 0)] * 4
    data = hja.Comparisons.from_arrays(*map(list, zip(*rows, strict=True)))
    result = hja.HJAModel.from_comparisons(data, rank=1).fit(warn_convergence=False)
    assert result.fit.separation is not None
    for judge in data.judges:
        card = result.judges.card(judge)
        assert is_readable(card)
        assert "sensitivity    withheld" in repr(card)
        assert "infit, outfit  withheld, withheld" in repr(card)
        assert "information    withheld" in repr(card)
        assert "rank alike" not in repr(card)
    assert result.judges.leverage().isna().all(axis=None)
    regular = hja.HJAModel.from_comparisons(data, rank=1).fit_regularized()
    assert "withheld" not in repr(regular.judges.card("j"))


def test_labels_of_any_kind_stay_on_one_line():
    panel = hja.datasets.load_panel().to_frame()
    names = {"judge-1": "x" * 300, "judge-2": "line\nbreak", "judge-3": "<script>alert(1)</script>"}
    panel["judge"] = panel["judge"].replace(names)
    data = hja.Comparisons.from_arrays(panel["judge"], panel["first"], panel["second"], panel["outcome"])
    result = hja.HJAModel.from_comparisons(data, rank=1).fit()
    for judge in data.judges:
        assert is_readable(result.judges.card(judge))


def test_an_unknown_judge_is_refused_with_the_nearest_name(panel_fit):
    with pytest.raises(ContrastError, match=r"no judge is called 'judge-frist'. Did you mean 'judge-first'"):
        panel_fit.judges.card("judge-frist")


FACTS = {
    "sensitivity": 1.4,
    "sensitivity_lower": 1.2,
    "sensitivity_upper": 1.6,
    "position_kind": "judge",
    "position": 0.1,
    "first_share": 0.5,
    "tie_rate": 0.0,
    "dropped_rate": 0.0,
    "flip_rate": np.nan,
    "cycle_rate": np.nan,
    "infit": 1.0,
    "outfit": 1.0,
    "has_halves": False,
    "h": 1.0,
    "rho": 0.5,
    "p_average": 0.001,
} | dict.fromkeys(
    [
        "p_against",
        "p_first",
        "p_position",
        "p_ties",
        "p_flips",
        "p_cycles",
        "p_calm",
        "p_erratic",
        "p_impossible",
        "p_taste",
    ],
    1.0,
)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "Follows the consensus more sharply than average (1.40, 1.20 to 1.60)."),
        (
            {"p_average": 0.06},
            "Follows the consensus about as sharply as average, as far as the judges can be told apart (1.40, 1.20 to 1.60).",
        ),
        (
            {"sensitivity_lower": 0.9, "p_average": 0.1},
            "Follows the consensus about as sharply as average (1.40, 0.90 to 1.60).",
        ),
        (
            {"sensitivity": 0.3, "sensitivity_lower": 0.1, "sensitivity_upper": 0.5},
            "Follows the consensus less sharply than average (0.30, 0.10 to 0.50).",
        ),
        (
            {"sensitivity": 0.1, "sensitivity_lower": -0.1, "sensitivity_upper": 0.3},
            "May not follow the consensus at all (0.10, -0.10 to 0.30).",
        ),
        (
            {"sensitivity": 0.5, "sensitivity_lower": -0.5, "sensitivity_upper": 1.5, "p_average": 0.5},
            "Its sensitivity is hardly determined (0.50, -0.50 to 1.50).",
        ),
        (
            {"sensitivity": -0.5, "sensitivity_lower": -0.9, "sensitivity_upper": -0.1, "p_against": 0.01},
            "Ranks against the consensus (-0.50, -0.90 to -0.10).",
        ),
        (
            dict.fromkeys(["sensitivity", "sensitivity_lower"], np.nan),
            "How closely it follows the consensus is withheld.",
        ),
    ],
)
def test_sensitivity_in_words(changes, expected):
    assert judge_sentence(FACTS | changes) == expected


@pytest.mark.parametrize(
    ("changes", "clause"),
    [
        ({"position": 1.0, "p_position": 0.01}, "prefers the first answer (+1.0 log-odds)"),
        ({"position": -0.15, "p_position": 0.01}, "slightly prefers the second answer (-0.1 log-odds)"),
        ({"position": np.nan}, "its position effect has no finite estimate"),
        (
            {"position_kind": "", "first_share": 0.3, "p_first": 0.01},
            "picks the second answer in 70.0% of its decided verdicts",
        ),
        (
            {"position_kind": "", "first_share": 0.99, "p_first": 0.01},
            "picks the first answer in 99.0% of its decided verdicts, which this model takes for taste",
        ),
        ({"tie_rate": 0.4, "p_ties": 0.01}, "ties often (40%)"),
        ({"dropped_rate": 0.5}, "50% of its verdicts were unusable"),
        ({"flip_rate": 0.3, "p_flips": 0.01}, "follows the position in 30% of swapped pairs"),
        ({"cycle_rate": 0.2, "p_cycles": 0.01}, "contradicts itself in 20% of triples"),
        ({"infit": 1.3, "p_erratic": 0.01}, "is less predictable than the model says (infit 1.3)"),
        ({"infit": 0.5, "p_calm": 0.01}, "is more predictable than the model says (infit 0.5)"),
        ({"outfit": 50.0, "p_impossible": 0.01}, "gives verdicts the model thinks next to impossible (outfit 50)"),
        ({"p_taste": 0.01}, "has a strong taste of its own"),
    ],
)
def test_habits_in_words(changes, clause):
    plain = judge_sentence(FACTS)
    assert judge_sentence(FACTS | changes) == f"{plain[:-1]}; {clause}."


def test_habits_that_are_none_are_not_mentioned():
    plain = judge_sentence(FACTS)
    for changes in (
        {"infit": 0.5, "p_calm": 0.01, "has_halves": True},
        {"flip_rate": 0.5},
        {"cycle_rate": 0.25},
        {"infit": 1.5, "outfit": 3.0},
        {"position": 1.0},
        {"position_kind": "common", "position": 1.0, "p_first": 0.01},
        {"position_kind": "", "first_share": 0.53},
    ):
        assert judge_sentence(FACTS | changes) == plain


def test_nearest_judges_are_those_with_the_most_similar_scores(panel_fit):
    nearest = nearest_judges(panel_fit.scores)
    correlation = np.corrcoef(panel_fit.scores)
    np.fill_diagonal(correlation, -np.inf)
    for k, judge in enumerate(panel_fit.model.judges):
        names, values = zip(*nearest[judge], strict=True)
        assert list(names) == [panel_fit.model.judges[i] for i in np.argsort(-correlation[k])[:3]]
        np.testing.assert_allclose(values, np.sort(correlation[k])[::-1][:3])


def test_the_judge_that_always_picks_the_first_item_is_told_apart_on_real_data(shared_data):
    data = hja.read_comparisons(shared_data / "chatbot_arena.json")
    judge = "zai-org/GLM-4.5-Air-FP8"
    plain = hja.HJAModel.from_comparisons(data, rank=1).fit()
    aware = hja.JAModel.from_comparisons(data, position="judge").fit()
    assert "99.2% of its decided verdicts, which this model takes for taste" in plain.judges.card(judge).sentence
    assert "may not follow the consensus at all" in aware.judges.card(judge).sentence.lower()
    assert aware.judges.cards().loc[judge, "information_share"] < 0.001
    for result in (plain, aware):
        assert all(is_readable(result.judges.card(name)) for name in data.judges)
    step, refit = aware.judges.influence(), aware.judges.influence("refit")
    order = list(aware.model.judges)
    np.testing.assert_allclose(
        step.table.loc[order, "rms_change"], refit.table.loc[order, "rms_change"], rtol=0.1
    )  # Ten judges: see ONE_IN_TWELVE of the tests of influence.


def test_ties_are_often_only_beside_those_of_the_others():
    """A user of an arena who ties in 21% of its verdicts, where all others do, too."""
    rng = np.random.default_rng(0)
    data = alarms.panel(rng, alarms.consensus(rng, 5, 6), 400)
    alike = data.with_outcome(np.where(rng.random(data.n_rows) < 0.25, 0.5, data.outcome))
    own = data.with_outcome(np.where(rng.random(data.n_rows) < 0.1 + 0.3 * (data.judge_index == 2), 0.5, data.outcome))
    sentences = hja.JAModel.from_comparisons(alike).fit().judges.cards()["sentence"]
    assert not sentences.str.contains("ties often").any()
    sentences = hja.JAModel.from_comparisons(own).fit().judges.cards()["sentence"]
    assert sentences.index[sentences.str.contains("ties often")].tolist() == ["j2"]
    alone = hja.BTLModel.from_comparisons(alike.without_judges(["j1", "j2", "j3", "j4"])).fit()
    assert "ties often" in alone.judges.card("j0").sentence


def test_no_line_of_a_card_is_cut(tied_panel):
    for position in ("common", "judge"):
        result = hja.JAModel.from_comparisons(tied_panel, position=position).fit()
        text = str(result.judges.card(tied_panel.judges[0]))
        assert "…" not in text
        assert "of decided verdicts" in text
