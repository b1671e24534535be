"""The front door: what it chooses is what an expert would choose by hand, and it always ends with a ranking."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import hjastats as hja
from hjastats import limits
from hjastats.model.terms import OPTIONS, TermKind
from hjastats.simulation import heterogeneous_panel, near_balanced_design, simulate_comparisons
from tests.panels import finding, graded_panel, seasons

POSITIONS = (None, "common", "judge")
# Arithmetic in another order.
SAME = 1e-6


def panel(seed=0, judges=6, items=8, n=6000, rank=0, heterogeneity=1.0, position=0.0):
    rng = np.random.default_rng(seed)
    truth = heterogeneous_panel(judges, items, rank, heterogeneity, rng=rng)
    design = near_balanced_design(judges, items, n, rng=rng)
    return simulate_comparisons(truth.scores, design, position=position, shuffle_order=True, rng=rng)


def chosen(result):
    return result.choices["chosen"].to_dict()


def weighed(taste, gamma=(1.6, 1.3, 1.0, 0.9, 0.8, 0.4), more=0.0, n=3000):
    """Verdicts of judges whose scores follow from size and price, and from nothing else unless items have more."""
    rng, n_items = np.random.default_rng(0), 9
    table = pd.DataFrame(
        rng.normal(size=(n_items, 3)), [f"item-{i}" for i in range(n_items)], ["size", "price", "noise"]
    )
    weights = np.outer(gamma, [0.8, -0.5]) + taste * np.outer([1, -1, 1, -1, 1, -1], [0.5, 0.8])
    scores = weights @ table[["size", "price"]].to_numpy().T + more * rng.normal(size=n_items)
    data = simulate_comparisons(scores, near_balanced_design(6, n_items, n, rng=rng), shuffle_order=True, rng=rng)
    return data.with_metadata(items=table.set_axis(list(data.items)))


# By hand


def by_hand(data):
    """The smallest BIC of the whole grid, and what the next best position and rank cost, with Davidson's ties if rates differ."""
    share = data.first_share()
    counts = np.array([share["ties"], share["comparisons"] - share["ties"]])
    rates = share["ties"] / share["comparisons"]
    differ = stats.chi2_contingency(counts).pvalue < 0.01 and (1 - rates.min()) > 1.25 * (1 - rates.max())
    ties = {"ties": "davidson", "tie": "judge"} if differ else {"ties": "half"}
    grid = {}
    for position in POSITIONS:
        options = {"position": position, **ties}
        grid[position, "BTL"] = hja.BTLModel.from_comparisons(data, **options).fit().bic
        for rank in range(4 if data.n_judges > 3 else 3):
            model = hja.HJAModel.from_comparisons(data, rank=rank, **options)
            grid[position, rank] = model.fit(warn_convergence=False).bic
    best = min(grid, key=grid.get)
    next_position = min(bic for key, bic in grid.items() if key[0] != best[0]) - grid[best]
    next_rank = min(bic for key, bic in grid.items() if key[1] != best[1]) - grid[best]
    return best, next_position, next_rank, ties["ties"]


@pytest.mark.parametrize("name", ["chatbot_arena.json", "mtbench.json", "position_bias_mtbench/verdicts.csv"])
def test_choices_are_those_of_bic_and_of_the_cluster_ratio_by_hand(shared_data, name):
    data = hja.read_comparisons(shared_data / name)
    result = hja.fit(data)
    (position, rank), next_position, next_rank, ties = by_hand(data)
    assert (result.model.position, result.model.rank) == (position, rank)
    assert result.fit.layout.structure.has_sensitivities
    assert result.model.ties == ties
    assert result.choices.loc["position", "number"] == pytest.approx(next_position, rel=SAME)
    assert result.choices.loc["model", "number"] == pytest.approx(next_rank, rel=SAME)
    assert result.choices.loc["confirmed", "chosen"] == "yes"
    clustered = result.with_covariance("cluster", {"groups": "question_id"}).bse
    ratio = (clustered / result.with_covariance("nonrobust").bse).filter(like="mu[").max()
    assert (result.cov_type, result.cov_kwds["groups"]) == ("cluster", "question_id")
    np.testing.assert_allclose(result.bse, clustered)
    assert result.choices.loc["errors", "number"] == pytest.approx(ratio, rel=SAME)
    assert result.ranking().index[0] == "gpt-4"


def test_a_crowd_is_a_sample_with_a_complete_ranking(shared_data):
    path = shared_data / "llmfao" / "crowd-comparisons.csv"
    result = hja.fit(path, first="left", second="right")
    assert len(result.ranking()) == 59
    assert result.ranking().index[0] == "GPT 4"
    expected = {
        "judges": "sample",
        "position": "judge",
        "model": "population HJA(1)",
        "ties": "half",
        "errors": "cluster",
    }
    assert chosen(result) == expected
    assert (len(result.model.judges), result.cov_kwds["groups"]) == (124, "prompt")
    assert "13 prompts beside the judges" in result.choices.loc["errors", "reason"]
    assert any("With so few prompts" in text for text in result.findings.warnings)


# Rules


@pytest.mark.parametrize(("position", "expected"), [(0.0, "none"), (0.6, "common")])
def test_position_effects_are_found_where_they_are(position, expected):
    result = hja.fit(panel(position=position))
    assert chosen(result)["position"] == expected
    assert "taste" not in result.choices.loc["position", "reason"]


def test_judges_that_do_not_differ_are_taken_to_be_alike():
    rng = np.random.default_rng(1)
    scores = np.tile(rng.normal(size=8), (6, 1))
    data = simulate_comparisons(scores, near_balanced_design(6, 8, 3000, rng=rng), shuffle_order=True, rng=rng)
    assert chosen(hja.fit(data))["model"] == "BTL"


def test_directions_of_disagreement_are_found():
    assert chosen(hja.fit(panel(rank=1, heterogeneity=2.0)))["model"] == "HJA(1)"


@pytest.mark.parametrize("criterion", ["bic", "aic", "cv"])
def test_a_model_of_judges_is_fitted_where_it_is_asked_for_and_judges_are_alike(criterion):
    """The walk over ranks may end before the first direction, which was asked for all the same."""
    result = hja.fit(panel(heterogeneity=0.0, n=1200), model="hja", criterion=criterion, position=None)
    assert result.model.rank >= 1
    assert chosen(result)["model"].startswith("HJA")


@pytest.mark.parametrize("options", [{"model": "hja"}, {"rank": 1}])
def test_light_judges_stay_apart_in_a_model_that_is_about_each(options):
    result = hja.fit(panel(judges=3, items=5, n=60), **options)
    assert chosen(result)["judges"] == "fixed"
    assert chosen(result)["model"] == "HJA(1)"
    assert len(result.model.judges) == 3
    assert "the model that is asked for is about each" in result.choices.loc["judges", "reason"]


def test_a_table_without_order_has_no_position_and_none_is_tested():
    frame = panel().to_frame()
    won = frame["outcome"] == 1
    table = {"judge": frame["judge"], "winner": frame["first"].where(won, frame["second"])}
    table["loser"] = frame["second"].where(won, frame["first"])
    result = hja.fit(pd.DataFrame(table))
    line = result.choices.loc["position"]
    assert (line["chosen"], line["reason"]) == ("none", "the table does not say what was shown first")
    assert "BIC" not in line["reason"]


def test_pairs_in_one_order_only_are_said_to_leave_position_to_the_model():
    data = panel(position=1.0)
    frame = data.to_frame()
    result = hja.fit(data.subset((frame["first"] < frame["second"]).to_numpy()))
    assert "only the model tells it from taste" in result.choices.loc["position", "reason"]


def test_the_order_of_rows_judges_and_sides_changes_nothing():
    frame = panel(rank=1, position=0.5).to_frame()
    one = hja.fit(frame, codes="unit")
    swapped = frame.sample(frac=1, random_state=0).reset_index(drop=True)
    swapped["judge"] = swapped["judge"].map(lambda name: name[::-1])
    other = hja.fit(swapped, codes="unit")
    assert chosen(one) == chosen(other)
    np.testing.assert_allclose(one.consensus["estimate"], other.consensus["estimate"], atol=1e-6)


def test_the_largest_group_is_ranked_and_the_rest_is_named():
    data = panel()
    apart = pd.DataFrame({"judge": "judge-1", "first": ["x", "y"], "second": ["y", "x"], "outcome": [1.0, 1.0]})
    result = hja.fit(pd.concat([data.to_frame().drop(columns="weight"), apart]), codes="unit")
    assert len(result.ranking()) == 8
    assert chosen(result)["items"] == "8 of 10"
    assert "'x', 'y'" in result.choices.loc["items", "reason"]


def test_what_is_left_out_with_the_other_groups_is_a_warning_whose_advice_ranks_them(tmp_path):
    result = hja.fit(seasons())
    found = finding(result, "left out")
    n = len(seasons()) - result.model.comparisons.n_comparisons
    assert found.is_warning
    assert f"Left out are {n:.0f} of 600 verdicts and 8 of 12 items ('club-0@" in found.text
    assert "which no comparison links with the 4 that are ranked" in found.text
    assert "1 warning" in str(result)
    result.to_json(tmp_path / "fit.json")
    assert finding(hja.load_results(tmp_path / "fit.json"), "left out") == found
    with pytest.warns(hja.errors.CovarianceWarning, match="3 groups"):
        together = hja.fit(seasons(), unlinked="apart")
    assert "left out" not in [each.topic for each in together.findings]
    assert len(together.model.items) == 12
    others = seasons()[~seasons()["first"].isin(result.model.items)]
    season = others["first"].str.partition("@")[2]
    assert len(hja.fit(others[season == season.iloc[0]]).model.items) == 4


def test_a_pair_among_many_that_nothing_links_is_noted_without_a_warning():
    others = pd.DataFrame({"judge": "score", "first": ["x", "y"], "second": ["y", "x"], "winner": ["first", "first"]})
    many = seasons(("2023",), n_clubs=50, n=4000)
    found = finding(hja.fit(pd.concat([many, others]), model="btl"), "left out")
    assert "2 of 4,002 verdicts and 2 of 52 items" in found.text
    assert not found.is_warning


def test_light_judges_speak_with_one_voice_and_no_one_is_lost():
    data = panel(rank=1, heterogeneity=2.0, n=3000)
    frame = data.to_frame().drop(columns="weight")
    few = frame.groupby("judge").head(20).assign(judge=lambda table: "light-" + table["judge"])
    both = pd.concat([frame, few])
    result = hja.fit(both, codes="unit")
    assert chosen(result)["judges"] == "pooled"
    assert result.choices.loc["judges", "number"] == 6
    assert "others" in result.model.judges
    assert result.model.comparisons.n_comparisons == len(both)
    fixed = hja.fit(both, codes="unit", judges="fixed", rank=0, position=None)
    assert len(fixed.model.judges) == 12


def crowd(seed=0, judges=30, each=24, items=5, spread=0.5, taste=0.0, position=0.0):
    rng = np.random.default_rng(seed)
    mu, side = np.linspace(-1.0, 1.0, items), np.where(np.arange(items) % 2, 1.0, -1.0)
    scores = (1 + spread * rng.normal(size=judges))[:, None] * mu + taste * rng.normal(size=judges)[:, None] * side
    design = near_balanced_design(judges, items, judges * each, rng=rng)
    return simulate_comparisons(scores, design, position=position, shuffle_order=True, rng=rng)


def marginal_bic(data, position, rank):
    """With the number of judges, by three nodes as at the door."""
    if rank == "BTL":
        fit = hja.BTLModel.from_comparisons(data, position=position).fit()
    else:
        fit = hja.PopulationHJAModel.from_comparisons(data, rank=rank, position=position).fit(n_quadrature=3)
    return -2 * fit.llf + np.log(data.n_judges) * fit.df_model


@pytest.mark.parametrize(("taste", "position"), [(0.0, 0.0), (1.5, 0.8)])
def test_many_light_judges_are_a_sample_by_bic_of_judges(taste, position):
    data = crowd(taste=taste, position=position)
    result = hja.fit(data)
    grid = {(p, r): marginal_bic(data, p, r) for p in POSITIONS for r in (0, 1)}
    grid |= {(p, "BTL"): marginal_bic(data, p, "BTL") for p in POSITIONS[:2]}
    best = min(grid, key=grid.get)
    assert best[1] == (1 if taste else 0)
    assert (chosen(result)["judges"], result.model.position, result.model.rank) == ("sample", *best)
    assert result.choices.loc["judges", "number"] == 30
    full = hja.PopulationHJAModel.from_comparisons(data, rank=best[1], position=best[0]).fit()
    assert result.llf == pytest.approx(full.llf, abs=1e-5)
    assert set(result.ranking().index[:2]) == {"item-5", "item-4"}
    assert (result.cov_type, chosen(result)["errors"]) == ("nonrobust", "nonrobust")


def test_a_crowd_that_is_of_one_mind_is_btl_clustered_by_judge():
    result = hja.fit(crowd(spread=0.0, seed=2))
    assert (chosen(result)["judges"], chosen(result)["model"]) == ("sample", "BTL")
    assert (result.cov_type, result.cov_kwds["groups"]) == ("cluster", "judge")


def test_errors_of_a_sample_count_prompts_beside_judges_and_ties():
    data = crowd(judges=40)
    rng = np.random.default_rng(0)
    tied = data.with_outcome(np.where(rng.random(data.n_rows) < 0.3, 0.5, data.outcome))
    by_judge = hja.fit(tied, rank=0, position=None)
    assert (by_judge.cov_type, by_judge.cov_kwds["groups"]) == ("cluster", "judge")
    ratio = (by_judge.bse / by_judge.with_covariance("nonrobust").bse).filter(like="mu[").max()
    assert by_judge.choices.loc["errors", "number"] == pytest.approx(ratio, rel=SAME)
    tied.columns["prompt_id"] = np.arange(data.n_rows) % 60
    by_prompt = hja.fit(tied, rank=0, position=None)
    both = by_prompt.with_covariance("cluster", {"groups": "prompt_id"})
    np.testing.assert_allclose(by_prompt.bse, both.bse)
    assert "60 prompts beside the judges" in by_prompt.choices.loc["errors", "reason"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"ridge": 1.0}, "the 'ridge' asked for is none of a sample"),
        ({"cov_type": "HC0"}, "the 'cov_type' asked for is none of a sample"),
        ({"model": "ja"}, "the 'model' asked for is none of a sample"),
    ],
)
def test_what_a_sample_cannot_do_is_done_with_pooled_judges_and_said(options, why):
    result = hja.fit(crowd(), **{"rank": 0, "position": None} | options if "model" not in options else options)
    assert chosen(result)["judges"] == "pooled"
    assert why in result.choices.loc["judges", "reason"]


def test_a_crowd_with_an_item_that_always_wins_still_has_a_ranking():
    data = crowd()
    top = data.items.index("item-5")
    won = np.where(data.first_index == top, 1.0, np.where(data.second_index == top, 0.0, data.outcome))
    result = hja.fit(data.with_outcome(won))
    assert "a sample needs every item to win and to lose" in result.choices.loc["judges", "reason"]
    assert result.ranking().index[0] == "item-5"
    assert "ridge" in chosen(result)["penalty"]


def test_judges_without_finite_estimates_are_a_sample_if_they_are_many():
    # Enough verdicts each, but two of them are never in doubt.
    data = crowd(judges=24, each=32, items=4, spread=0.1)
    frame = data.to_frame()
    sure = np.where(frame["judge"].isin(data.judges[:2]), (frame["first"] > frame["second"]) * 1.0, data.outcome)
    result = hja.fit(data.with_outcome(sure), position=None, rank=0)
    line = result.choices.loc["judges"]
    assert (line["chosen"], line["reason"].partition(":")[0]) == (
        "sample",
        "parameters of their own have no finite estimate",
    )
    assert "penalty" not in result.choices.index
    assert result.converged


def test_an_item_that_never_lost_is_ranked_first_by_a_ridge_with_the_reason():
    frame = panel().to_frame()
    best = "item-1"
    frame["outcome"] = np.where(frame["first"] == best, 1.0, np.where(frame["second"] == best, 0.0, frame["outcome"]))
    result = hja.fit(frame, codes="unit")
    assert result.ranking().index[0] == best
    assert len(result.ranking()) == 8
    assert "item-1" in result.choices.loc["penalty", "reason"]
    assert result.converged
    with pytest.warns(hja.SeparationWarning):
        assert not hja.fit(frame, codes="unit", ridge=None).converged


def test_ties_are_an_outcome_where_judges_tie_differently():
    data = panel()
    rng = np.random.default_rng(0)
    rate = np.linspace(0.0, 0.6, data.n_judges)[data.judge_index]
    tied = data.with_outcome(np.where(rng.random(data.n_rows) < rate, 0.5, data.outcome))
    result = hja.fit(tied)
    assert (result.model.ties, result.model.tie, result.cov_type) == ("davidson", "judge", "nonrobust")
    alike = data.with_outcome(np.where(rng.random(data.n_rows) < 0.2, 0.5, data.outcome))
    result = hja.fit(alike)
    assert (result.model.ties, result.cov_type) == ("half", "HC0")
    assert result.choices.loc["errors", "number"] == pytest.approx(np.mean(alike.outcome == 0.5))


def test_thresholds_of_each_judge_without_an_estimate_are_said_to_have_none():
    """A judge that always prefers what is shown first: its position and its thresholds run to infinity together."""
    result = hja.fit(graded_panel())
    assert (result.model.ties, result.model.tie, result.fit.penalty) == ("ordinal", "common", None)
    reason = result.choices.loc["scale", "reason"]
    assert re.match(
        r"judges differ \(chi2\(3\) = .* in one of 3 tests, adjusted p = .*\), but with one for each", reason
    )
    assert "the likelihood has no maximum: position[lazy] grows" in reason
    assert "BIC" not in reason
    own = hja.JAModel.from_comparisons(graded_panel(), position="judge", ties="ordinal", tie="judge")
    assert not own.fit(warn_convergence=False).converged


def test_thresholds_of_each_judge_that_have_an_estimate_are_chosen_by_bic():
    data = graded_panel()
    others = data.without_judges("lazy")
    rng = np.random.default_rng(0)
    # One judge of three shuns the ends.
    is_mild = (others.judge_index == 0) & (rng.random(others.n_rows) < 0.9)
    data = others.with_outcome(np.where(is_mild, 0.5 + (others.outcome - 0.5) / 3, others.outcome).round(9))
    result = hja.fit(data)
    common = hja.fit(data, tie="common")
    assert (result.model.tie, common.model.tie) == ("judge", "common")
    assert result.choices.loc["scale", "number"] == pytest.approx(common.bic - result.bic, abs=SAME)
    assert "BIC is lower by" in result.choices.loc["scale", "reason"]


@pytest.mark.parametrize("scope", ["common", "judge"])
def test_whose_ties_were_asked_for_makes_them_an_outcome(scope):
    result = hja.fit(graded_panel(), tie=scope)
    assert (result.model.ties, result.model.tie) == ("ordinal", scope)
    data = panel(n=3000)
    data = data.with_outcome(np.where(np.random.default_rng(0).random(data.n_rows) < 0.2, 0.5, data.outcome))
    result = hja.fit(data, tie=scope)
    assert (result.model.ties, result.model.tie) == ("davidson", scope)


@pytest.mark.parametrize(("n_prompts", "errors"), [(300, "cluster"), (limits.FEW_CLUSTERS - 1, "nonrobust")])
def test_errors_are_clustered_by_prompts_unless_they_are_too_few(n_prompts, errors):
    data = panel()
    data.columns["prompt_id"] = np.arange(data.n_rows) % n_prompts
    result = hja.fit(data)
    assert result.cov_type == errors
    assert f"{n_prompts} prompts" in result.choices.loc["errors", "reason"]


def test_a_smaller_model_is_taken_where_it_predicts_prompts_better():
    # Twenty copies of few verdicts: BIC counts rows, and finds directions that no other prompt shows.
    rng = np.random.default_rng(0)
    small = panel(seed=3, judges=5, items=8, n=300)
    frame = small.to_frame().drop(columns="weight").assign(prompt_id=rng.permutation(300))
    copies = pd.concat([frame] * 20, ignore_index=True)
    result = hja.fit(copies, codes="unit", judges="fixed")
    assert chosen(result)["confirmed"] == "no"
    assert result.choices.loc["confirmed", "number"] > 0
    by_bic = hja.fit(copies.drop(columns="prompt_id"), codes="unit", judges="fixed")
    assert result.df_model < by_bic.df_model


def test_covariates_and_weights_go_in_by_name():
    data, rng = panel(), np.random.default_rng(0)
    tokens = pd.DataFrame(rng.integers(1, 500, (data.n_rows, 2)), columns=["tokens_a", "tokens_b"])
    frame = pd.concat([data.to_frame().drop(columns="weight"), tokens], axis=1)
    frame["category"] = np.where(np.arange(len(frame)) % 3 == 0, "code", "math")
    options = {"codes": "unit", "rank": 0, "position": None}
    styled = hja.fit(frame, exog={"length": ("tokens_a", "tokens_b")}, **options)
    model = hja.JAModel.from_formula(
        "outcome ~ 0 + hja.style_difference(tokens_a, tokens_b)", frame, judge="judge", item_a="first", item_b="second"
    )
    assert styled.params["length"] == pytest.approx(model.fit().params.iloc[0])
    balanced = hja.fit(frame, weights={"category": "equal"}, **options)
    weight = np.where(frame["category"] == "code", 1.5, 0.75)
    by_hand = hja.JAModel.from_comparisons(
        hja.Comparisons.from_arrays(*(frame[c] for c in ("judge", "first", "second", "outcome")), weight)
    )
    np.testing.assert_allclose(balanced.params, by_hand.fit(warn_convergence=False).params, atol=1e-7)
    assert (balanced.cov_type, balanced.cov_kwds["groups"]) == ("cluster", "row")
    only = hja.fit(frame, weights={"category": {"code": 1, "math": 0}}, **options)
    assert only.model.comparisons.n_rows == (frame["category"] == "code").sum()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "btl", "rank": 3}, "rank=3 has no effect with model='btl'"),
        ({"tie": "judge"}, "tie='judge' has no effect: no verdict is a tie or one of several grades. Leave it out."),
        (
            {"tie": "judge", "ties": "half"},
            "tie='judge' has no effect with ties='half', which has no parameters of ties",
        ),
        ({"cov_type": "robust"}, "cov_type must be 'auto', 'nonrobust', 'HC0', 'HC1' or 'cluster'"),
        ({"judges": "random"}, "judges must be 'auto', 'fixed', 'pooled' or 'sample'"),
        ({"rank": 1.5}, "rank must be a whole number or 'auto'"),
        ({"exog": np.ones(3)}, "exog must name columns of the data"),
        ({"exog": "length"}, "exog='length': no such column"),
        ({"weights": {"topic": "equal"}}, "weights='topic': no such column"),
        ({"criterion": "loglik-bootstrap"}, "chooses the rank only: pass position="),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_fitted(options, message):
    with pytest.raises(hja.InputError, match=message):
        hja.fit(panel(n=300), **options)


@pytest.mark.parametrize("criterion", ["aic", "cv"])
def test_other_criteria_choose_as_select_rank_does(criterion):
    data = panel(rank=1, n=2000)
    result = hja.fit(data, criterion=criterion, position=None)
    expected = hja.select_rank(data, criterion=criterion, rng=0).best
    assert (result.model.rank, result.fit.layout.structure.has_sensitivities) == (
        0 if expected == "BTL" else expected,
        expected != "BTL",
    )


def test_the_same_seed_gives_the_same_choices():
    data = panel()
    data.columns["prompt_id"] = np.arange(data.n_rows) % 100
    tables = [hja.fit(data, seed=seed).choices for seed in (5, 5)]
    pd.testing.assert_frame_equal(*tables)


def test_choices_are_empty_for_a_model_that_was_fitted_as_it_is():
    result = hja.JAModel.from_comparisons(panel(n=600)).fit()
    assert result.choices.empty
    assert list(result.choices.columns) == ["chosen", "reason", "number"]


def test_choices_are_kept_in_a_file_and_on_the_page():
    result = hja.fit(panel(n=1200))
    again = hja.load_results(result.to_json())
    pd.testing.assert_frame_equal(again.choices, result.choices)
    assert json.loads(result.to_json())["choices"][0]["what"] == "judges"
    page = result.report()
    assert "Model choices" in page
    assert result.choices.loc["model", "reason"] in page
    assert math.isnan(result.choices.loc["errors", "number"])


def test_work_that_takes_longer_shows_a_bar_if_asked_for(capsys, set_limits):
    set_limits(SILENT_SECONDS=0.0)
    hja.fit(panel(n=1200))
    assert capsys.readouterr().err == ""
    hja.fit(panel(n=1200), progress=True)
    assert "fits" in capsys.readouterr().err
    set_limits(SILENT_SECONDS=600.0)
    hja.fit(panel(n=1200), progress=True)
    assert capsys.readouterr().err == ""


# Traits


@pytest.mark.parametrize(
    ("gamma", "taste", "model"),
    [
        ((1,) * 6, 0.0, "BTL on size, price, noise"),
        ((1.6, 1.3, 1.0, 0.9, 0.8, 0.4), 0.0, "JA on size, price, noise"),
        ((1.6, 1.3, 1.0, 0.9, 0.8, 0.4), 1.0, "HJA(1) on size, price, noise"),
    ],
    ids=str,
)
def test_models_compete_within_the_traits_that_were_asked_for(gamma, taste, model):
    data, on = weighed(taste, gamma), "~ size + price + noise"
    result = hja.fit(data, items=on)
    kinds = [hja.BTLModel.from_comparisons(data, items=on, position=position) for position in POSITIONS]
    kinds += [
        hja.HJAModel.from_comparisons(data, rank=rank, items=on, position=p) for rank in (0, 1, 2) for p in POSITIONS
    ]
    assert result.bic == pytest.approx(min(kind.fit(warn_convergence=False).bic for kind in kinds), abs=SAME)
    assert chosen(result)["model"] == model
    assert "higher by" in result.choices.loc["traits", "reason"]
    told = result.predict_item({"size": 2.0, "price": 0.0, "noise": 0.0}, against=result.model.items[0])
    assert told["ci_lower"].iloc[0] < told["estimate"].iloc[0] < told["ci_upper"].iloc[0]


def test_traits_that_do_not_say_all_are_said_not_to():
    data = weighed(0.0, more=1.0)
    result = hja.fit(data, items="~ size + price")
    line = result.choices.loc["traits"]
    assert line["reason"].endswith("items differ by more than that")
    free = result.model.update(items=None).fit()
    assert line["number"] == pytest.approx(result.bic - free.bic, abs=1e-4)


def test_a_table_of_items_goes_in_with_a_file_of_verdicts(tmp_path):
    data = weighed(0.0)
    data.to_frame().to_csv(tmp_path / "verdicts.csv", index=False)
    given = hja.fit(tmp_path / "verdicts.csv", codes="unit", items=data.item_metadata[["size", "price"]])
    known = hja.fit(data, items="~ size + price")
    assert given.llf == pytest.approx(known.llf, abs=SAME)
    assert given.traits.index.tolist() == known.traits.index.tolist()


def test_prompts_confirm_the_model_and_cluster_the_errors_of_traits():
    data = weighed(1.0)
    prompts = replace(data, columns=pd.DataFrame({"question_id": np.arange(data.n_rows) % 150}))
    result = hja.fit(prompts, items="~ size + price")
    assert chosen(result)["confirmed"] == "yes"
    assert chosen(result)["errors"] == "cluster"
    plain = result.with_covariance("nonrobust")
    ratio = (result.bse / plain.bse).filter(like="beta[").max()
    assert f"errors of traits up to {ratio:.2f} times" in result.choices.loc["errors", "reason"]


def test_light_judges_are_pooled_where_scores_follow_from_traits():
    result = hja.fit(weighed(0.0, n=150), items="~ size")
    assert chosen(result)["judges"] == "pooled"
    assert "judges who are a sample have free scores" in result.choices.loc["judges", "reason"]
    assert type(result) is hja.TraitResults


def test_traits_link_what_nobody_compared():
    data = weighed(0.0)
    apart = data.subset((data.first_index < 4) == (data.second_index < 4))
    result = hja.fit(apart, items="~ size + price")
    assert chosen(result)["items"] == "all 9"
    assert result.choices.loc["items", "reason"].endswith("what links them is their traits")
    assert len(hja.fit(apart).model.items) < 9


def test_random_effects_and_interactions_make_the_model_btl():
    data = weighed(0.0, more=1.0)
    data = data.with_metadata(judges=pd.DataFrame({"kind": [*"xxxyyy"]}, list(data.judges)))
    drawn = hja.fit(data, items="~ size", random="items")
    by_hand = [
        hja.BTLModel.from_comparisons(data, items="~ size", random="items", position=p).fit() for p in (None, "common")
    ]
    assert drawn.bic <= min(fit.bic for fit in by_hand) + SAME
    assert chosen(drawn)["errors"] == "nonrobust"
    assert chosen(drawn)["traits"] == "~ size, random items"
    assert drawn.spread.loc["sd[items]", "estimate"] > 0.4
    differing = hja.fit(data, interactions="~ kind")
    assert chosen(differing)["model"] == "BTL by judges' kind[T.y]"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"items": "~ size", "judges": "sample"}, "judges='sample' has no effect with items='~ size'"),
        ({"items": "~ size", "model": "judgewise"}, "or use model='hja'"),
        ({"items": "~ size", "rank": 1}, "judges who weigh 1 trait"),
        ({"random": "items", "rank": 1}, "rank=1 has no effect with random='items'"),
        ({"interactions": "~ kind", "model": "ja"}, "model='ja' has no effect with interactions='~ kind'"),
        ({"random": "items", "ridge": 1.0}, "ridge=1.0 has no effect with random='items'"),
        ({"random": "items", "cov_type": "HC0"}, "standard errors with random effects are those of the model"),
        ({"interactions": "~ kind", "judges": "pooled"}, "judges='pooled' has no effect"),
    ],
    ids=str,
)
def test_what_does_not_go_with_traits_is_refused(options, message):
    with pytest.raises(hja.InputError, match=message):
        hja.fit(weighed(0.0, n=600), **options)


def test_groups_have_free_scores():
    data = weighed(0.0, n=600)
    with pytest.raises(hja.OptionError, match="by free scores: leave out items="):
        hja.by_group(data, np.arange(data.n_rows) % 2, items="~ size")


def test_declared_terms_that_no_rule_chooses_reach_the_model(monkeypatch):
    longer = TermKind(name="longer", label="longer", title="longer", help="bonus of the longer answer")
    monkeypatch.setitem(OPTIONS, "longer", longer)
    given = {}

    def taken(data, exog=None, **options):
        given.update(options)
        raise InterruptedError

    monkeypatch.setattr(hja.JudgewiseBTLModel, "from_comparisons", taken)
    for asked, expected in (("judge", {"longer": "judge"}), ("auto", {}), (None, {})):
        given.clear()
        with pytest.raises(InterruptedError):
            hja.fit(panel(n=200), model="judgewise", longer=asked)
        assert {name: given[name] for name in given if name == "longer"} == expected
    with pytest.raises(hja.OptionError, match="longer"):
        hja.fit(panel(n=200), longer="sometimes")
