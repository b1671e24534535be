"""Power, numbers of verdicts, and what to ask next."""

import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.power import NormalIndPower

import hjastats as hja
from hjastats.data.comparisons import Comparisons
from hjastats.errors import Hint
from hjastats.inference.allocation import Allocator, telling
from hjastats.inference.foretelling import foretold
from hjastats.inference.goals import read_goal
from hjastats.inference.planning import every_candidate
from hjastats.inference.shrinking import Errors, split_errors
from tests.panels import clustered_panel

CLOSE = "mu[model-B] - mu[model-F]"


@pytest.fixture(scope="module")
def btl(panel):
    return hja.BTLModel.from_comparisons(panel).fit()


@pytest.fixture(scope="module")
def clustered():
    data = clustered_panel(1500)
    return hja.BTLModel.from_comparisons(data).fit(cov_type="cluster", cov_kwds={"groups": "prompt"})


# Power


def test_power_is_that_of_a_z_test_with_the_error_that_more_verdicts_leave(btl):
    found = btl.plan.power(CLOSE, 3200)
    contrast = btl.contrast(CLOSE)
    # Twice the verdicts: half the variance. statsmodels' normal power of one sample, whose effect is in standard deviations.
    effect = abs(contrast.estimate[0]) / contrast.std_err[0] * np.sqrt(2.0)
    expected = NormalIndPower(ddof=0).power(effect, nobs1=1, alpha=0.05, ratio=0)
    assert float(found) == pytest.approx(expected)
    assert found.table["after"].iloc[0] == pytest.approx(contrast.std_err[0] / np.sqrt(2.0))


def test_the_number_of_verdicts_has_the_power_that_was_asked_for(btl):
    needed = btl.plan.sample_size(CLOSE, power=0.8)
    assert float(btl.plan.power(CLOSE, needed.verdicts)) == pytest.approx(0.8, abs=1e-3)
    assert float(btl.plan.power(CLOSE, needed.best, "best")) >= 0.8
    assert needed.best < needed.verdicts
    assert "80% power" in needed.sentence


def test_what_is_known_already_needs_nothing(btl):
    needed = btl.plan.sample_size("mu[model-I] - mu[model-J]")
    assert (needed.verdicts, needed.best) == (0.0, 0.0)
    assert bool(btl.plan.stopping("mu[model-I] - mu[model-J]"))


def test_equals_are_out_of_reach(btl):
    needed = btl.plan.sample_size(f"{CLOSE} = {float(btl.contrast(CLOSE).estimate[0])!r}")
    assert np.isinf(needed.verdicts)
    assert "out of reach" in needed.sentence


def test_power_of_an_effect_that_is_given(btl):
    error = btl.contrast(CLOSE).std_err[0]
    found = float(btl.plan.power(CLOSE, 0, effect=2.0 * error))
    assert found == pytest.approx(stats.norm.sf(1.96 - 2.0) + stats.norm.cdf(-1.96 - 2.0), abs=1e-4)


def test_power_comes_true():
    """Predicted within 0.03 of simulated (Monte-Carlo error 0.02, allowed three times)."""
    rng, scores = np.random.default_rng(0), np.tile(np.linspace(-0.7, 0.7, 6), (4, 1))

    def verdicts(n):
        first = rng.integers(6, size=n)
        design = np.arange(n) % 4, first, (first + rng.integers(1, 6, size=n)) % 6
        return hja.simulation.simulate_comparisons(scores, design, rng=rng)

    spec = "mu[item-4] - mu[item-3]"
    pilot = hja.BTLModel.from_comparisons(verdicts(600)).fit()
    predicted = float(pilot.plan.power(spec, 600, effect=0.28))
    found = np.mean(
        [hja.BTLModel.from_comparisons(verdicts(1200)).fit().contrast(spec).p_value[0] < 0.05 for _ in range(600)]
    )
    assert found == pytest.approx(predicted, abs=0.03 + 3 * 0.02)


# Clusters


def test_verdicts_on_the_same_clusters_leave_what_clusters_contribute():
    errors = Errors(np.array([1.0]), np.array([3.0]), 100.0, 20, "prompt")
    assert errors.after(100.0, are_new=False)[0] == pytest.approx(0.5 + 3.0)
    assert errors.after(100.0, are_new=True)[0] == pytest.approx(2.0)
    assert errors.clusters_of(50) == 10


def test_clustered_errors_are_split_into_those_of_the_model_and_the_rest(clustered):
    rows = read_goal(clustered.fit, "top2").rows
    errors = split_errors(clustered.fit, rows)
    np.testing.assert_allclose(errors.total, clustered.fit.covariance.variances(rows))
    of_model = clustered.with_covariance(information="observed").fit.covariance.variances(rows)
    np.testing.assert_allclose(errors.verdicts, np.minimum(of_model, errors.total))
    assert errors.n_clusters == clustered.cov_kwds["n_groups"]


def test_where_prompts_limit_the_error_it_is_said_and_verdicts_on_them_do_not_help():
    rng = np.random.default_rng(3)
    prompt = np.repeat(np.arange(30), 60)
    first = rng.integers(4, size=1800)
    second = (first + rng.integers(1, 4, size=1800)) % 4
    suits = rng.normal(0.0, 1.5, (30, 4))
    eta = 0.1 * (second - first) + suits[prompt, first] - suits[prompt, second]
    wins = rng.random(1800) < 1 / (1 + np.exp(-eta))
    items = np.array(list("abcd"), dtype=object)
    data = Comparisons.from_arrays(
        "j", items[first], items[second], wins * 1.0, columns=pd.DataFrame({"prompt": prompt})
    )
    plan = hja.BTLModel.from_comparisons(data).fit(cov_type="cluster", cov_kwds={"groups": "prompt"}).plan
    same, new = (plan.power("top2", 1800, prompts=kind).table["after"].iloc[0] for kind in ("same", "new"))
    now = plan.power("top2", 0).table["after"].iloc[0]
    assert same > 0.9 * now
    assert new == pytest.approx(now / np.sqrt(2.0))
    assert "between the 30 values of prompt" in repr(plan.power("top2", 100))
    assert "on those there are" in plan.sample_size("top2").sentence
    asked = plan.next(20)
    assert asked.errors["after"].iloc[0] > 0.95 * asked.errors["now"].iloc[0]
    # Counted on new prompts, and asked on them.
    assert ", as new ones" in plan.sample_size("top2").sentence
    assert asked.table["prompt"].tolist() == [f"new prompt {k}" for k in range(1, 21)]
    assert asked.errors["after"].iloc[0] == pytest.approx(asked.table["std_err"].iloc[-1])


# What to ask next


@pytest.mark.parametrize("model", [hja.BTLModel, hja.JAModel, hja.HJAModel, hja.JudgewiseBTLModel])
def test_rank_one_updates_are_the_inverse_of_the_larger_information(panel, model):
    fit = model.from_comparisons(panel, position="judge").fit().fit
    goal, candidates = read_goal(fit, "top2"), every_candidate(fit)
    asked = Allocator(fit, goal, candidates, 60).run(60)
    both = [telling(fit, some.take(asked.chosen)) for some in (candidates, candidates.turned)]
    rows, weights = (
        np.where(asked.is_turned.reshape(-1, *[1] * (a.ndim - 1)), b, a) for a, b in zip(*both, strict=True)
    )
    information = np.linalg.inv(fit.model_covariance.covariance) + (rows * weights[:, None]).T @ rows
    exact = goal.rows @ np.linalg.inv(information) @ goal.rows.T
    np.testing.assert_allclose(asked.variances, np.diag(exact), rtol=1e-8)


def test_a_verdict_adds_what_the_expected_information_of_its_cell_is(panel):
    """Asking for every row of the data again doubles the information."""
    fit = hja.JAModel.from_comparisons(panel, position="judge").fit().fit
    design = fit.design
    candidates = every_candidate(fit).take(np.zeros(len(design.n), dtype=int))
    candidates = type(candidates)(design.judge, design.first, design.second, candidates.price, candidates.left)
    rows, weights = telling(fit, candidates)
    np.testing.assert_allclose(
        (rows * (design.n * weights)[:, None]).T @ rows, fit.model_covariance.information, rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("goal", ["top2", "places", "order all"])
def test_following_some_candidates_is_as_good_as_looking_at_all_each_time(panel_fit, goal):
    fit = panel_fit.fit
    wanted = read_goal(fit, goal)
    quick, slow = (Allocator(fit, wanted, every_candidate(fit), 100).run(100, look=look) for look in (50, 1))
    assert quick.path[-1] <= 1.02 * slow.path[-1]


def test_the_first_choice_is_the_best_of_all(panel_fit):
    fit = panel_fit.fit
    goal, candidates = read_goal(fit, CLOSE), every_candidate(fit)
    rows, weights = telling(fit, candidates)
    covariance = fit.model_covariance.covariance
    gain = (rows @ covariance @ goal.rows[0]) ** 2 * weights
    gain /= 1 + weights * np.einsum("cd,de,ce->c", rows, covariance, rows)
    asked = Allocator(fit, goal, candidates, 1).run(1)
    assert asked.chosen[0] == gain.argmax()
    assert asked.path[0] - asked.path[1] == pytest.approx(gain.max())


def test_the_predicted_error_comes_true(panel):
    result = hja.JAModel.from_comparisons(panel).fit()
    asked = result.plan.next(500)
    rng, scores = np.random.default_rng(1), result.scores
    table = asked.table
    eta = [
        scores.loc[j, a] - scores.loc[j, b]
        for j, a, b in zip(table["judge"], table["first"], table["second"], strict=True)
    ]
    new = table[["judge", "first", "second"]].assign(outcome=1.0 * (rng.random(500) < 1 / (1 + np.exp(-np.array(eta)))))
    rows = pd.concat([panel.to_frame()[list(new.columns)], new])
    after = hja.JAModel.from_comparisons(Comparisons.from_arrays(*(rows[name] for name in rows))).fit()
    realised = after.head_to_head(*result.consensus.index[:2]).std_err
    assert asked.errors["after"].iloc[0] == pytest.approx(realised, rel=0.1)


def test_positions_are_balanced_and_prompts_not_reused(panel):
    frame = panel.to_frame().assign(prompt=np.arange(3200) % 40)
    data = hja.read_comparisons(frame, codes="unit")
    result = hja.JAModel.from_comparisons(data, position="judge").fit()
    table = result.plan.next(200, CLOSE).table
    pairs = table.apply(lambda row: tuple(sorted((row["first"], row["second"]))), axis=1)
    by_pair = (table["first"] < table["second"]).groupby([table["judge"], pairs]).agg(["sum", "size"])
    assert ((2 * by_pair["sum"] - by_pair["size"]).abs() <= 1).all()
    before = frame.assign(pair=[tuple(sorted(pair)) for pair in zip(frame["first"], frame["second"], strict=True)])
    seen = set(zip(before["judge"], before["pair"], before["prompt"], strict=True))
    asked = list(zip(table["judge"], pairs, table["prompt"], strict=True))
    assert len(set(asked)) == len(asked)
    assert not seen & set(asked)


def test_where_a_judge_has_seen_all_prompts_new_ones_are_needed(panel):
    data = hja.read_comparisons(panel.to_frame().assign(prompt="only one"), codes="unit")
    asked = hja.JAModel.from_comparisons(data).fit().plan.next(5)
    assert asked.table["prompt"].tolist() == [f"new prompt {k}" for k in range(1, 6)]
    assert "5 of them need new values of prompt" in repr(asked)


def test_prompts_that_tell_nothing_of_their_own_are_asked_again_and_not_counted_as_new(panel):
    data = hja.read_comparisons(panel.to_frame().assign(prompt=np.arange(3200) % 40), codes="unit")
    plan = hja.BTLModel.from_comparisons(data).fit(cov_type="cluster", cov_kwds={"groups": "prompt"}).plan
    assert "if those are asked that tell most." in plan.sample_size(("model-B", "model-F")).sentence
    assert set(plan.next(20, ("model-B", "model-F")).table["prompt"]) <= set(range(40))


def test_neither_votes_nor_rankings_are_proposed_as_prompts(panel):
    votes = hja.read_comparisons(panel.to_frame().assign(question_id=np.arange(3200)), codes="unit")
    assert "question_id" not in hja.BTLModel.from_comparisons(votes).fit().plan.next(3).table
    rng = np.random.default_rng(0)
    table = {
        "annotator": rng.choice(["ann", "bob"], 90),
        "ranking": [list(rng.permutation(list("abcd"))) for _ in range(90)],
    }
    ranked = hja.read_comparisons(table)
    asked = hja.JAModel.from_comparisons(ranked).fit_regularized().plan.next(3)
    assert list(asked.table.columns) == ["judge", "first", "second", "cost_so_far", "std_err"]
    about = hja.read_comparisons({**table, "prompt": np.arange(90) % 30})
    assert set(hja.JAModel.from_comparisons(about).fit_regularized().plan.next(3).table["prompt"]) <= set(range(30))


def test_where_prompts_run_out_others_take_their_place_and_it_is_said(panel):
    few = hja.read_comparisons(panel.to_frame().assign(prompt=np.arange(3200) % 12), codes="unit")
    result = hja.JAModel.from_comparisons(few).fit()
    asked = result.plan.next(60, CLOSE)
    assert len(asked.table.groupby(["judge"])) > 1
    assert "will have been asked on all 12 values of prompt" in asked.note
    assert "will have been asked" not in result.plan.next(2, CLOSE).note


def test_a_plan_fits_a_line_and_its_names_are_told_apart(panel):
    labels = {name: f"a-very-long-name-of-a-model-from-a-family-{name}" for name in panel.items}
    frame = panel.to_frame().replace({"first": labels, "second": labels}).assign(prompt="a prompt of many words " * 3)
    asked = hja.JAModel.from_comparisons(hja.read_comparisons(frame, codes="unit")).fit().plan.next(5)
    lines = repr(asked).splitlines()
    assert max(map(len, lines[-6:])) <= 80
    assert "cost_so_far" not in lines[-6]
    dear = hja.BTLModel.from_comparisons(panel).fit().plan.next(9, cost=dict.fromkeys(panel.judges, 3.0))
    assert repr(dear).splitlines()[-3].split()[-2] == "3"


def test_a_pair_is_said_to_be_tested_alone_and_the_advice_on_looks_can_be_followed(btl):
    found = btl.plan.stopping("top2")
    assert "tested alone; places of a ranking hold for all items at once" in found.sentence
    [hint] = [piece for piece in found.told if isinstance(piece, Hint)]
    again = btl.plan.stopping("top2", **{hint.name: hint.value})
    assert "Each of 2 looks is held to 5% / 2." in again.sentence
    assert "tested alone" not in btl.plan.stopping("order all").sentence


def test_prices_are_paid_from_the_budget_and_change_who_is_asked(panel):
    result = hja.JAModel.from_comparisons(panel).fit()
    dear = {judge: 100.0 if judge == "judge-1" else 1.0 for judge in result.model.judges}
    free, paid = result.plan.next(50).table, result.plan.next(50, cost=dear).table
    assert (free["judge"] == "judge-1").all()
    assert "judge-1" not in set(paid["judge"])
    assert paid["cost_so_far"].iloc[-1] == 50.0


def test_judges_that_are_alike_take_turns_or_the_cheapest_is_asked(btl):
    assert btl.plan.next(16).table["judge"].value_counts().eq(2).all()
    prices = {judge: 2.0 - (judge == "judge-3") for judge in btl.model.judges}
    assert set(btl.plan.next(5, cost=prices).table["judge"]) == {"judge-3"}


def test_candidates_are_rows_of_a_frame_or_pairs(btl, panel):
    frame = panel.to_frame().iloc[100:400]
    table = btl.plan.next(40, candidates=frame).table
    assert table["row"].is_unique
    pd.testing.assert_frame_equal(
        frame.loc[table["row"], ["judge", "first", "second"]].reset_index(drop=True),
        table[["judge", "first", "second"]],
        check_dtype=False,
    )
    some = btl.plan.next(10, candidates=[("model-A", "model-B"), ("model-B", "model-A")]).table
    assert {frozenset(pair) for pair in zip(some["first"], some["second"], strict=True)} == {
        frozenset(("model-A", "model-B"))
    }
    assert len(btl.plan.next(10**6, candidates=frame.iloc[:7])) == 7


def test_a_plan_can_be_handed_to_a_pipeline(btl, tmp_path):
    asked = btl.plan.next(10, batch=4)
    assert asked.table["batch"].tolist() == [1] * 4 + [2] * 4 + [3] * 2
    read = pd.read_csv(io.StringIO(asked.to_csv()))
    assert read["judge"].tolist() == asked.table["judge"].tolist()
    asked.to_jsonl(tmp_path / "next.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "next.jsonl").read_text().splitlines()]
    assert [line["first"] for line in lines] == asked.table["first"].tolist()


def test_ties_as_an_outcome_are_planned_for(tied_panel):
    result = hja.JAModel.from_comparisons(tied_panel, ties="davidson").fit()
    asked = result.plan.next(50)
    assert asked.errors["after"].iloc[0] < asked.errors["now"].iloc[0]


def test_whether_it_is_enough_is_said_with_what_is_missing(btl):
    found = btl.plan.stopping("order all")
    assert not found
    assert "model-F and model-D" in found.sentence
    assert "more verdicts" in found.sentence
    assert "pairs of items are told apart" in btl.plan.stopping("places").sentence


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda plan: plan.power("everything", 10), "goal must be a contrast or one of"),
        (lambda plan: plan.power("mu[nobody]", 10), "no item is called"),
        (lambda plan: plan.power(CLOSE, -1), "n must be"),
        (lambda plan: plan.power(CLOSE, 10, "worst"), "design must be"),
        (lambda plan: plan.sample_size(CLOSE, power=1.5), "power must lie"),
        (lambda plan: plan.sample_size("places"), "can be reached"),
        (lambda plan: plan.next(0), "budget must be"),
        (lambda plan: plan.next(5, batch=0), "batch must be"),
        (lambda plan: plan.next(5, per_judge=3), "knows those at hand only"),
        (lambda plan: plan.next(5, per_judge=0), "per_judge must be"),
        (lambda plan: plan.next(5, cost={"nobody": 1}), "not there"),
        (lambda plan: plan.next(5, cost={"judge-1": 1}), "has none for"),
        (lambda plan: plan.next(5, candidates=["model-A"]), "pairs of items"),
        (lambda plan: plan.next(5, candidates=pd.DataFrame({"judge": ["judge-1"]})), "lacks 'first', 'second'"),
    ],
)
def test_what_cannot_be_planned_is_refused_with_what_can(btl, call, text):
    with pytest.raises(ValueError, match=text):
        call(btl.plan)


def test_a_plan_needs_an_estimate(separated_fit):
    with pytest.raises(hja.IdentificationError, match="fit_regularized"):
        separated_fit.plan.next(10)


def test_a_plan_works_after_the_data_are_gone(panel):
    result = hja.BTLModel.from_comparisons(panel).fit()
    result.remove_data()
    assert len(result.plan.next(5)) == 5


# The estimates are uncertain, too


def test_errors_are_foretold_at_scores_that_are_shrunk(panel):
    """Of two items that are far apart, whose error grows with their distance, it is that of a smaller distance."""
    result = hja.JAModel.from_comparisons(panel.subset(np.arange(0, 3200, 3))).fit()
    pair = tuple(result.consensus.index[[0, -1]])
    asked = result.plan.next(200, pair)
    goal, candidates = read_goal(result.fit, pair), every_candidate(result.fit)
    at_the_estimate = np.sqrt(Allocator(result.fit, goal, candidates, 200).run(200).variances[0])
    row = asked.errors.iloc[0]
    known = candidates.take(Allocator(result.fit, goal, candidates, 200).run(200).chosen)
    assert foretold(result.fit, goal, known, np.random.default_rng(0))[0][0] < at_the_estimate**2
    assert row["lower"] < row["after"] < row["upper"] < row["now"]
    assert asked.table["std_err"].iloc[-1] == pytest.approx(row["after"])
    assert f"({row['lower']:.4f} to {row['upper']:.4f})" in repr(asked)


def test_what_is_foretold_without_shrinkage_is_what_the_algebra_says(panel, monkeypatch):
    monkeypatch.setattr("hjastats.inference.foretelling.score_draws", lambda mu, covariance, rng: mu[None])
    fit = hja.HJAModel.from_comparisons(panel, rank=1, position="judge").fit().fit
    goal, candidates = read_goal(fit, "order all"), every_candidate(fit)
    asked = Allocator(fit, goal, candidates, 40).run(40)
    known = candidates.take(asked.chosen)
    turned = known.turned
    first, second = (
        np.where(asked.is_turned, b, a) for a, b in ((known.first, turned.first), (known.second, turned.second))
    )
    left, _ = foretold(fit, goal, replace(known, first=first, second=second), np.random.default_rng(0))
    np.testing.assert_allclose(left, asked.variances, rtol=1e-8)


def test_every_look_has_its_share_of_the_level(btl, panel):
    goal = ("model-I", "model-H")
    p = btl.head_to_head(*goal).p_value
    assert 0.05 / 10 < p < 0.05
    assert btl.plan.stopping(goal)
    assert not btl.plan.stopping(goal, looks=10)
    frame = panel.to_frame().assign(batch=np.arange(3200) % 10)
    declared = hja.BTLModel.from_comparisons(hja.read_comparisons(frame, codes="unit", asked_in="batch")).fit()
    found = declared.plan.stopping(goal)
    assert not found
    assert "Each of 10 looks is held to 5% / 10." in found.sentence
    assert "0.5% / 10" not in found.sentence
    with pytest.raises(hja.errors.OptionError, match="looks must be"):
        btl.plan.stopping(goal, looks=0)
