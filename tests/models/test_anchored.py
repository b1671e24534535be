"""From comparisons to anchored results: whose verdicts count for what, and what is refused."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import hjastats as hja


@pytest.fixture(scope="module")
def data():
    """The panel with prompts: eight verdicts on each."""
    panel = hja.datasets.load_panel()
    return replace(panel, columns=panel.columns.assign(prompt=np.arange(panel.n_rows) // 8))


@pytest.fixture(scope="module")
def result(data):
    return hja.anchor(data, "judge-2")


def test_the_result_is_a_fit_of_the_target(result):
    assert isinstance(result, hja.HJAResults)
    assert result.converged
    np.testing.assert_allclose(result.consensus["estimate"].sort_index(), result.anchor.scores, atol=1e-12)
    errors = np.sqrt(np.diag(result.anchor.covariance))
    np.testing.assert_allclose(result.consensus["std_err"].sort_index(), errors, rtol=1e-9)
    difference = result.contrast("mu[model-I] - mu[model-H]").summary_frame().iloc[0]
    expected = result.anchor.covariance
    i, h = (result.model.items.index(name) for name in ("model-I", "model-H"))
    assert difference["std_err"] == pytest.approx(np.sqrt(expected[i, i] + expected[h, h] - 2 * expected[i, h]))
    assert result.ranking()["place"].tolist() == list(range(1, 11))
    planned = result.plan.next(50, ("model-I", "model-H")).errors.iloc[0]
    assert planned["now"] == pytest.approx(difference["std_err"])
    # A verdict tells at most a quarter, added to what is known with the help of the others.
    most = planned["now"] ** -2 + 50 / 4
    assert 0.85 * most < planned["after"] ** -2 < 1.001 * most


def test_direct_scores_are_those_of_the_target_alone(data, result):
    alone = hja.BTLModel.from_comparisons(data.subset(data.judge_index == data.judges.index("judge-2"))).fit()
    np.testing.assert_allclose(
        result.weights["direct"].sort_index(), alone.consensus["estimate"].sort_index(), atol=1e-9
    )


def test_a_position_effect_moves_along(data):
    found = hja.anchor(data, ["judge-2"], position="common")
    alone = hja.BTLModel.from_comparisons(
        data.subset(data.judge_index == data.judges.index("judge-2")), position="common"
    ).fit()
    assert found.params["position"] == pytest.approx(alone.params["position"], abs=alone.bse["position"])
    assert found.bse["position"] <= alone.bse["position"] * 1.1


def test_a_mask_is_a_target(data, result):
    mask = data.judge_index == data.judges.index("judge-2")
    found = hja.anchor(data, mask)
    np.testing.assert_allclose(found.anchor.scores, result.anchor.scores)
    with pytest.raises(hja.OptionError, match="name them"):
        found.to_json()


@pytest.mark.parametrize("auxiliary", ["judges", "directions", {"judge-1": 2.0, "judge-3": 1.0}])
def test_other_auxiliary_scores(data, auxiliary):
    found = hja.anchor(data.without_judges(["judge-noise", "judge-first", "judge-6"]), "judge-2", auxiliary=auxiliary)
    assert len(found.anchor.slope[0]) == {"judges": 4, "directions": 2}.get(
        auxiliary if isinstance(auxiliary, str) else "", 1
    )
    assert found.ranking().loc[["model-I", "model-H"], "place"].max() <= 3


@pytest.mark.parametrize("model", ["ja", "sample"])
def test_other_models_of_the_target(data, model):
    found = hja.anchor(data, ["judge-1", "judge-2", "judge-3", "judge-4"], model=model)
    assert found.ranking().index[0] == "model-I"


def test_files_anchor_again(result):
    again = hja.load_results(result.to_json())
    assert isinstance(again, hja.AnchoredResults)
    np.testing.assert_allclose(again.anchor.scores, result.anchor.scores)


def test_items_that_the_target_never_saw_are_ranked(data):
    is_target = data.judge_index == data.judges.index("judge-2")
    unseen = data.items.index("model-I")
    kept = ~(is_target & ((data.first_index == unseen) | (data.second_index == unseen)))
    found = hja.anchor(data.subset(kept), "judge-2")
    assert np.isfinite(found.bse).all()
    assert found.ranking().loc["model-I", "place"] <= 3
    assert found.weights.loc["model-I", "weight"] < 0.05
    assert "quadratic" in found.fit.choice.description
    assert "cannot" in repr(found.worth)


def test_an_undefeated_item_has_a_finite_score(data):
    is_target, best = data.judge_index == data.judges.index("judge-2"), data.items.index("model-I")
    outcome = np.where(is_target & (data.first_index == best), 1.0, data.outcome)
    outcome = np.where(is_target & (data.second_index == best), 0.0, outcome)
    found = hja.anchor(data.with_outcome(outcome), "judge-2")
    assert found.ranking().index[0] == "model-I"
    assert 0.0 < found.bse["mu[model-I]"] < 3.0


def test_what_is_not_true_of_it_is_refused(result):
    for refused in (
        result.bootstrap,
        result.fragility,
        result.with_covariance,
        lambda: result.lr_test("mu[model-I] = 0"),
    ):
        with pytest.raises(NotImplementedError, match="no maximum of a likelihood"):
            refused()
    with pytest.raises(hja.IdentificationError):
        result.conf_int(cols=["mu[model-I]"], method="profile")
    assert np.isnan(result.aic)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"target": "nobody"}, "target must name judges: 'nobody' is none of"),
        ({"target": "judge-2", "auxiliary": "judges"}, ""),
        ({"target": "judge-2", "auxiliary": "best"}, "auxiliary must be"),
        ({"target": "judge-2", "model": "hja"}, "model must be"),
        ({"target": "judge-2", "position": "judge"}, "one voice"),
        ({"target": "judge-2", "auxiliary": 6}, ""),
    ],
)
def test_errors_say_what_to_do(data, asked, told):
    if told:
        with pytest.raises(hja.OptionError, match=told):
            hja.anchor(data, **asked)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few = data.subset((data.first_index < 4) & (data.second_index < 4))
        with pytest.raises((hja.OptionError, hja.IdentificationError)):
            hja.anchor(few, **asked)


def test_all_judges_are_no_target(data):
    with pytest.raises(hja.OptionError, match="both are needed"):
        hja.anchor(data, list(data.judges))


def test_the_rectified_estimate_needs_prompts(result):
    with pytest.raises(hja.OptionError, match="column of prompts"):
        hja.anchor(hja.datasets.load_panel(), "judge-2").rectified()
    assert {"anchored", "rectified", "direct"} < set(result.rectified().table)


def test_gold_knows_every_other_judge(data, result):
    table = result.gold(cost=dict.fromkeys(data.judges, 2.0))
    assert list(table.index) == [name for name in data.judges if name != "judge-2"]
    assert table["correlation"].between(-1, 1).all()
    assert table.loc["judge-first", "position"] > 2
    assert "family" not in table
    priced = table.dropna(subset="price")
    np.testing.assert_allclose(priced["price"], 2 * result.gold().loc[priced.index, "price"])


def test_a_family_bonus_is_seen():
    """One judge turns half of the verdicts on its own two items in their favour."""
    panel = hja.datasets.load_panel()
    own = np.isin(np.asarray(panel.items), ["model-C", "model-D"])
    judges = pd.DataFrame({"family": ["x", *"yyyyyyy"]}, panel.judges)
    items = pd.DataFrame({"family": np.where(own, "x", "y")}, panel.items)
    ahead = own[panel.first_index] * 1.0 - own[panel.second_index]
    is_turned = (panel.judge_index == 0) & (ahead != 0) & (np.random.default_rng(0).random(panel.n_rows) < 0.5)
    turned = panel.with_outcome(np.where(is_turned, (ahead > 0) * 1.0, panel.outcome))
    others = ["judge-2", "judge-3", "judge-4"]
    before, after = (
        hja.anchor(data.with_metadata(judges=judges, items=items), others).gold().loc["judge-1"]
        for data in (panel, turned)
    )
    assert after["family"] - before["family"] > 2 * after["family_se"] > 0


def test_any_weights_of_judges_are_a_contrast_of_the_same_fit():
    fit = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
    table = fit.ranking(judge={"judge-1": 3.0, "judge-5": 1.0})
    found = fit.contrast("0.75 * S[judge-1, model-H] + 0.25 * S[judge-5, model-H]").summary_frame().iloc[0]
    assert table.loc["model-H", ["score", "std_err"]].tolist() == pytest.approx(found[["estimate", "std_err"]].tolist())
    with pytest.raises(hja.ContrastError, match="no judge is called"):
        fit.ranking(judge={"judge-99": 1.0})
    with pytest.raises(hja.OptionError, match="positive sum"):
        fit.ranking(judge={"judge-1": 0.0})


def test_a_consensus_of_some_judges_goes_by_a_label_of_their_metadata():
    data = hja.datasets.load_panel()
    kinds = pd.DataFrame({"kind": ["humans"] * 3 + ["LLM"] * 5}, index=data.judges)
    fit = hja.HJAModel.from_comparisons(data.with_metadata(judges=kinds), rank=1, position="judge").fit()
    humans = fit.ranking(judge=dict.fromkeys(data.judges[:3], 1.0))
    pd.testing.assert_frame_equal(fit.ranking(consensus="humans"), humans)
    pd.testing.assert_frame_equal(fit.ranking(consensus=dict.fromkeys(data.judges[:3], 2.0)), humans)
    board = fit.leaderboard(consensus="humans")
    np.testing.assert_allclose(board.table["score"], humans["score"])
    assert repr(board).startswith("Leaderboard by the consensus of humans")
    with pytest.raises(hja.ComparisonError, match="no judge, and no label of their metadata"):
        fit.ranking(consensus="nobody")
    with pytest.raises(hja.OptionError, match="not both"):
        fit.ranking("judge-1", consensus="humans")


def test_the_same_verdicts_twice_are_no_second_opinion():
    """A judge who copies the target makes the same errors: their covariance is that of the target, as far as one is possible."""
    panel = hja.datasets.load_panel()
    one = panel.subset(panel.judge_index == panel.judges.index("judge-2")).to_frame()
    one["prompt"] = np.arange(len(one))
    both = pd.concat([one, one.assign(judge="copy")])
    data = hja.read_comparisons(both, first="first", second="second", outcome="outcome", codes="unit")
    found = hja.anchor(data, "judge-2", auxiliary_position=None)
    seen = found.anchor.seen
    np.testing.assert_allclose(seen.direct, seen.auxiliary[0], atol=1e-6)
    np.testing.assert_allclose(seen.between, 0.95 * seen.direct_errors, atol=0.01 * np.trace(seen.direct_errors))
    assert found.anchor.gain < 1.1


def test_what_a_refusal_points_to_is_there():
    result = hja.anchor(hja.datasets.load_panel(), "judge-2")
    with pytest.raises(NotImplementedError, match=r"result\.direct .* result\.others"):
        result.rank_test()
    alone = hja.BTLModel.from_comparisons(result.direct.model.comparisons).fit()
    np.testing.assert_allclose(result.direct.params, alone.params, atol=1e-8)
    assert np.isfinite(result.direct.aic)
    assert repr(result).splitlines()[0] == "anchored BTL: 400 verdicts of the target about 10 items"
