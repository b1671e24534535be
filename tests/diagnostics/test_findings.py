"""What is said about a fit, either way."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from benchmarks.claims.alarms import consensus, panel
from hjastats.diagnostics import findings
from hjastats.diagnostics.scales import own_parameters_test
from hjastats.simulation import near_balanced_design, simulate_comparisons
from tests.panels import finding, graded_panel, mild_scores


@pytest.mark.slow
def test_the_score_test_of_position_keeps_its_level_with_half_ties():
    """No position effects, a quarter of ties. 1,500 replications: standard error 0.006."""
    scores, p_values = mild_scores(seed=3), []
    judge, first, second = near_balanced_design(4, 6, 1200, rng=0)
    for seed in range(1500):
        rng = np.random.default_rng(seed)
        chance = 1 / (1 + np.exp(scores[judge, second] - scores[judge, first]))
        tied = rng.random(1200) < 0.5 * np.minimum(chance, 1 - chance) * 2
        decided = rng.random(1200) < np.where(
            chance > 0.5, 1 - (1 - chance) / 2 / (1 - (1 - chance)), chance / 2 / (1 - chance)
        )
        outcome = np.where(tied, 0.5, decided)
        flip = rng.random(1200) < 0.5
        model = hja.HJAModel(
            np.where(flip, 1 - outcome, outcome),
            judge=judge,
            item_a=np.where(flip, second, first),
            item_b=np.where(flip, first, second),
            rank=1,
        )
        result = model.fit(n_random=0, warn_convergence=False)
        text = finding(result, "position test").text
        p_values.append(float(text.split("p = ")[1].split(")")[0]))
    assert 0.032 <= np.mean(np.array(p_values) < 0.05) <= 0.068


def test_the_position_test_leaves_out_what_other_terms_explain(biased_panel):
    frame = biased_panel.to_frame()
    labels = {"judge": "judge", "item_a": "first", "item_b": "second"}
    intercept = hja.BTLModel.from_formula("outcome ~ 1", frame, **labels).fit()
    common = hja.BTLModel.from_comparisons(biased_panel, position="common").fit()
    texts = [finding(result, "position test").text for result in (intercept, common)]
    assert all("chi2(4)" in text for text in texts)
    assert "differ between judges" in texts[1]


@pytest.fixture(scope="module")
def result(panel):
    return hja.HJAModel.from_comparisons(panel, rank=1).fit()


def test_every_condition_is_stated_either_way(panel, result):
    topics = {
        "convergence",
        "optima",
        "ties",
        "connectivity",
        "first share",
        "position test",
        "order",
        "dropped",
        "sensitivity",
        "leverage",
        "redundancy",
        "goodness of fit",
        "stability",
    }
    assert {finding.topic for finding in result.findings} == topics
    warned = {finding.topic: finding for finding in result.findings if finding.is_warning}
    assert "judge-first" in warned["first share"].text
    assert "position='judge'" in warned["position test"].text
    calm = hja.HJAModel.from_comparisons(panel.without_judges(["judge-first"]), rank=1).fit()
    assert not any(finding.is_warning for finding in calm.findings if finding.topic in ("first share", "position test"))


def test_score_test_of_position_agrees_with_the_likelihood_ratio_near_the_null(panel):
    calm = panel.without_judges(["judge-first"])
    plain = hja.JAModel.from_comparisons(calm).fit()
    position = hja.JAModel.from_comparisons(calm, position="judge").fit()
    text = finding(plain, "position test").text
    statistic = float(text.split("chi2(7) = ")[1].split(",")[0])
    assert statistic == pytest.approx(2 * (position.llf - plain.llf), rel=0.1)


def test_the_most_dominant_judges_are_named_first(monkeypatch):
    table = pd.DataFrame(
        {"h": [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 5.0, 9.0, 6.0, 7.0], "rho": [0.1] * 6 + [2.0] * 4},
        [f"j{i}" for i in range(10)],
    )
    monkeypatch.setattr(findings, "leverage", lambda fit: table)
    monkeypatch.setattr(findings, "taste_p_values", lambda fit: np.zeros(10))
    text = findings._dominance(None).text
    assert "dominated by 'j7' (h = 9.00), 'j9' (h = 7.00), 'j8' (h = 6.00) and 1 more, against" in text


def test_pairs_compared_once_cannot_be_shown_in_both_orders():
    rng = np.random.default_rng(0)
    pairs = np.array([(i, j) for i in range(40) for j in range(i)])
    once = pairs[rng.permutation(len(pairs))[:400]]
    order = rng.random(len(once)) < 0.5
    first, second = np.where(order, once[:, 0], once[:, 1]), np.where(order, once[:, 1], once[:, 0])
    # A few are shown again, half of them the other way round.
    first, second = np.r_[first, first[:30], second[:30]], np.r_[second, second[:30], first[:30]]
    data = hja.Comparisons.from_arrays(
        "judge", first.astype(str), second.astype(str), rng.integers(0, 2, len(first)).astype(float)
    )
    result = hja.BTLModel.from_comparisons(data).fit_regularized(1.0)
    found = finding(result, "order")
    assert not found.is_warning
    assert found.text == "30 of the 30 pairs compared more than once were shown in both orders."


def test_few_pairs_in_both_orders_are_said_to_be_few():
    rng = np.random.default_rng(0)
    pairs = np.array([(i, j) for i in range(6) for j in range(i)] * 20)
    pairs[0] = pairs[0, ::-1]
    data = hja.Comparisons.from_arrays("judge", pairs[:, 0], pairs[:, 1], rng.integers(0, 2, len(pairs)).astype(float))
    found = finding(hja.BTLModel.from_comparisons(data).fit(), "order")
    assert found.is_warning
    assert found.text.startswith("1 of the 15 pairs compared more than once were shown in both orders: so few that")


def test_of_many_judges_none_is_accused_by_chance(monkeypatch):
    """Judges without any sensitivity to the consensus of the others: some intervals lie below zero, none after adjustment."""
    labels = [f"j{k}" for k in range(60)]
    rng = np.random.default_rng(3)
    gamma = rng.normal(size=60)
    gamma[0] = -9.0
    table = pd.DataFrame({"estimate": gamma, "std_err": 1.0}, labels)
    table["ci_lower"], table["ci_upper"] = table["estimate"] - 1.96, table["estimate"] + 1.96
    assert (table["ci_upper"] < 0).sum() > 1
    monkeypatch.setattr(findings, "sensitivity", lambda fit: table)
    layout = SimpleNamespace(structure=SimpleNamespace(has_sensitivities=True))
    (found,) = findings._sensitivities(
        SimpleNamespace(layout=layout, has_consensus=True, is_withheld=lambda kind: False)
    )
    assert "(gamma below zero, adjusted for 60 judges): 'j0'. " in found.text
    assert "cannot be told from zero (5" in found.text


def test_a_judge_that_may_rank_against_the_consensus_is_not_called_a_follower():
    rng = np.random.default_rng(7)
    gamma, mu = np.array([1.6] * 5 + [-0.35]), np.linspace(-1, 1, 5)
    panel = simulate_comparisons(np.outer(gamma, mu), near_balanced_design(6, 5, 900, rng=rng), rng=rng)
    result = hja.JAModel.from_comparisons(panel).fit()
    text = finding(result, "sensitivity").text
    assert (result.sensitivity["ci_lower"] <= 0).sum() == 1
    assert panel.judges[5] in text
    assert "All judges follow" not in text


def test_fractions_of_comparisons_are_comparisons():
    weights = [0.9] * 5
    data = hja.Comparisons.from_arrays("j", list("abbca"), list("bacbc"), [1, 1, 0, 0, 1.0], weights)
    result = hja.BTLModel.from_comparisons(data).fit(warn_convergence=False)
    text = finding(result, "order").text
    assert text == "2 of the 2 pairs compared more than once were shown in both orders."


def crowd(n_judges, n_each):
    """Judges with sensitivities around one and as many verdicts each."""
    scores = np.outer(np.random.default_rng(0).normal(1.0, 0.3, n_judges), np.linspace(1.2, -1.2, 6))
    return simulate_comparisons(scores, near_balanced_design(n_judges, 6, n_judges * n_each, rng=1), rng=2)


def test_many_judges_with_few_verdicts_are_said_to_push_the_scores_apart():
    model = hja.JAModel.from_comparisons(crowd(100, 15))
    shrunk = model.fit_regularized()
    found = finding(shrunk, "bias")
    assert found.is_warning
    assert "100 judges with 15 verdicts each" in found.text
    assert "push the scores apart, the largest difference by about 0.2" in found.text
    strong = finding(model.fit_regularized(alpha=30.0), "bias")
    assert strong.is_warning
    assert "Take a smaller alpha" in strong.text
    # What it advises takes the bias away, and says nothing about it.
    assert "If select_rank(criterion='cv') takes no rank above 0, fit_regularized(penalty='firth')" in found.text
    assert hja.select_rank(crowd(100, 15), ranks=[0, 1], criterion="cv").best in ("BTL", 0)
    reduced = model.fit_regularized(penalty="firth")
    first, last = shrunk.consensus.index[[0, -1]]
    differences = [fit.contrast(f"mu[{first}] - mu[{last}]").estimate[0] for fit in (shrunk, reduced)]
    assert differences[0] - differences[1] > 0.15
    assert not any(found.topic == "bias" for found in reduced.findings)


def test_next_to_no_verdicts_are_warned_of_until_there_are_more():
    rows = [("a", "b"), ("b", "c"), ("c", "a"), ("b", "a")]
    few = hja.read_comparisons({"winner": [w for w, _ in rows], "loser": [x for _, x in rows]}, single_judge="j")
    found = finding(hja.BTLModel.from_comparisons(few).fit(), "few verdicts")
    assert found.is_warning
    assert "4 verdicts for 2 parameters" in found.text
    many = hja.read_comparisons(
        {"winner": [w for w, _ in rows * 3], "loser": [x for _, x in rows * 3]}, single_judge="j"
    )
    assert not any(found.topic == "few verdicts" for found in hja.BTLModel.from_comparisons(many).fit().findings)


def test_light_judges_are_pooled_or_of_twenty_a_sample():
    """What the warning of separation advises has an estimate."""
    for n_judges, advised in ((6, "data.pool_rare_judges(6)"), (60, "hja.fit(..., judges='sample')")):
        with pytest.warns(hja.SeparationWarning) as caught:
            hja.JAModel.from_comparisons(crowd(n_judges, 5)).fit()
        assert advised in str(caught[0].message)
    assert hja.fit(crowd(60, 5), judges="sample").converged


def test_crowds_too_large_to_work_it_out_are_still_said_to_push_the_scores_apart(set_limits):
    set_limits(MANY_FREE=50)
    text = finding(hja.JAModel.from_comparisons(crowd(100, 15)).fit_regularized(), "bias").text
    assert "push the scores apart: intervals cover less than they say" in text


def test_bias_reduction_is_not_advised_where_judges_disagree(shared_data):
    """It puts a party first that loses the majority against all others; the rank that is chosen, with a ridge, puts it last."""
    data = hja.read_comparisons(shared_data / "r" / "germanparties.csv", codes="names")
    assert hja.select_rank(data, ranks=[0, 1], criterion="cv", n_folds=3).best == 1
    chosen = hja.HJAModel.from_comparisons(data, rank=1).fit_regularized(n_random=0, warn_convergence=False)
    assert "firth" not in finding(chosen, "bias").text
    assert chosen.consensus.index[-1] == "Linke"


def test_a_panel_of_heavy_judges_is_not_said_to_be_biased(panel):
    assert not finding(hja.JAModel.from_comparisons(crowd(30, 200)).fit(), "bias").is_warning
    assert not any(found.topic == "bias" for found in hja.JAModel.from_comparisons(panel).fit().findings)
    assert not any(found.topic == "bias" for found in hja.BTLModel.from_comparisons(crowd(100, 15)).fit().findings)


# Six judges of the same sensitivity who tie in 1% to 72% of their verdicts.
TIES = np.array([-3.5, -2.0, -1.0, 0.0, 1.0, 1.8])


@pytest.fixture(scope="module")
def unequal_ties():
    rng = np.random.default_rng(3)
    return panel(rng, np.tile(np.linspace(-1.2, 1.2, 6), (6, 1)), 800, tie=TIES)


def test_tie_rates_that_become_sensitivities_are_found_and_the_advice_helps(unequal_ties):
    wrong = [hja.JAModel.from_comparisons(unequal_ties, ties=ties).fit() for ties in ("half", "davidson")]
    for result in wrong:
        assert np.ptp(result.sensitivity["estimate"]) > 0.8
        assert finding(result, "tie rates").is_warning
    assert "Fit ties='davidson', tie='judge', or ties='drop'." in finding(wrong[0], "tie rates").text
    assert finding(wrong[1], "tie rates").text.endswith("Fit tie='judge'.")
    for options in ({"ties": "davidson", "tie": "judge"}, {"ties": "drop"}):
        right = hja.JAModel.from_comparisons(unequal_ties, **options).fit()
        # Six z values of a right null.
        assert np.abs((right.sensitivity["estimate"] - 1) / right.sensitivity["std_err"]).max() < 3
        assert "tie rates" not in {found.topic for found in right.findings}


def test_common_and_own_tie_propensities_are_compared_by_their_likelihoods(unequal_ties):
    fits = [hja.JAModel.from_comparisons(unequal_ties, ties="davidson", tie=tie).fit() for tie in ("common", "judge")]
    table = hja.compare(*fits)
    assert table["lr_df"].iloc[1] == 5
    assert table["lr"].iloc[1] == pytest.approx(2 * (fits[1].llf - fits[0].llf))
    assert table["note"].iloc[1] == ""


def test_the_score_test_of_tie_propensities_agrees_with_the_likelihood_ratio_near_the_null():
    rng = np.random.default_rng(4)
    data = panel(rng, np.tile(np.linspace(-1, 1, 5), (4, 1)), 1000, position=0.3, tie=np.array([-0.3, -0.2, -0.1, 0.0]))
    options = {"ties": "davidson", "position": "judge"}
    fits = [hja.JAModel.from_comparisons(data, tie=tie, **options).fit() for tie in ("common", "judge")]
    test = own_parameters_test(fits[0].fit)
    # Both are chi-squared statistics of order three; they differ by their third-order terms.
    assert test.statistic == pytest.approx(2 * (fits[1].llf - fits[0].llf), rel=0.05)
    assert test.df == 3


def test_equal_tie_rates_are_no_finding():
    rng = np.random.default_rng(5)
    data = panel(rng, np.tile(np.linspace(-1, 1, 5), (4, 1)), 300, tie=-0.5)
    for ties in ("half", "davidson"):
        assert not finding(hja.JAModel.from_comparisons(data, ties=ties).fit(), "tie rates").is_warning
    assert "tie rates" not in {found.topic for found in hja.BTLModel.from_comparisons(data).fit().findings}


def test_a_direction_that_is_always_found_dominates_nothing():
    """Rank one fitted to rank zero: half of these fits have a judge far above the median."""
    rng, outliers = np.random.default_rng(6), 0
    for _ in range(8):
        data = panel(rng, consensus(rng, 20, 10, 0.4), 100)
        result = hja.HJAModel.from_comparisons(data, rank=1).fit(warn_convergence=False)
        outliers += len(findings.outlying(result.judges.leverage())) > 0
        assert not any(found.is_warning for found in result.findings if found.topic == "leverage")
        assert not result.judges.cards()["sentence"].str.contains("taste of its own").any()
    assert outliers > 2


def test_nine_of_ten_first_choices_are_no_rarity_among_a_hundred_judges():
    rng = np.random.default_rng(7)
    data = panel(rng, consensus(rng, 100, 10), 10)
    result = hja.BTLModel.from_comparisons(data).fit()
    found = finding(result, "first share")
    assert (data.first_share()["first_share"] - 0.5).abs().max() >= 0.4
    assert not found.is_warning
    assert found.text.endswith("none beyond what chance and taste can do.")


@pytest.mark.parametrize(
    ("name", "values", "is_told"), [("n", [3, 1], 1), ("Count", [9, 9], 1), ("n", [1, 1], 0), ("turns", [3, 1], 0)]
)
def test_a_column_of_counts_that_nobody_counted_is_told_and_the_advice_counts_it(name, values, is_told):
    frame = pd.DataFrame({"first": list("abcabc"), "second": list("bcacab"), "winner": ["first"] * 4 + ["second"] * 2})
    frame[name] = values * 3
    # Whoever reads a column of such a name is asked; rows that count once are told of it.
    rows = hja.read_comparisons(frame, single_judge="x", weight=False)
    seen = hja.BTLModel.from_comparisons(rows).fit(warn_convergence=False)
    told = [found.text for found in seen.findings if found.topic == "weights" and found.is_warning]
    assert len(told) == is_told
    if is_told:
        assert f"read the data with weight={name!r}" in told[0]
        counted = hja.read_comparisons(frame, single_judge="x", weight=name)
        again = hja.BTLModel.from_comparisons(counted).fit(warn_convergence=False)
        assert again.nobs == frame[name].sum()
        assert not [found for found in again.findings if found.topic == "weights"]


def test_the_position_effect_of_the_only_judge_is_its_own(panel):
    frame = panel.to_frame()
    data = hja.Comparisons.from_arrays("all", frame["first"], frame["second"], frame["outcome"])
    found = finding(hja.BTLModel.from_comparisons(data, position="common").fit(), "position test")
    assert found.text == "There is one judge: the position effect is its own."


def test_judges_without_parameters_need_not_link_all_items(panel):
    frame = panel.to_frame()[["judge", "first", "second", "outcome"]]
    frame.loc[len(frame)] = ["eve", "model-A", "model-B", 1.0]
    data = hja.Comparisons.from_arrays(*(frame[name] for name in frame))
    found = finding(hja.BTLModel.from_comparisons(data).fit(), "connectivity")
    assert not found.is_warning
    assert found.text == "1 of 9 judges link all items only together with others, as the model takes them."
    leaning = hja.BTLModel.from_comparisons(data, position="judge").fit_regularized(1.0, terms=True)
    assert finding(leaning, "connectivity").is_warning


# Judges that hardly follow the others


def test_a_judge_that_follows_far_less_than_the_others_is_a_warning_with_its_name():
    """As one annotator of AlpacaEval among three: its sensitivity is above zero, beyond doubt, and tells next to nothing."""
    rng = np.random.default_rng(1)
    data = panel(rng, np.outer([1.3, 1.1, 0.25, 1.2], np.linspace(-1.5, 1.5, 6)), 400)
    result = hja.JAModel.from_comparisons(data).fit()
    found = finding(result, "sensitivity")
    assert (result.sensitivity["ci_lower"] > 0).all()
    assert found.is_warning
    weak, median = result.sensitivity["estimate"]["j2"], result.sensitivity["estimate"].drop("j2").median()
    assert found.text == (
        f"Judges that follow the consensus far less than others, whose gamma is {median:.2f} in the median: 'j2' ({weak:.2f})."
    )
    assert "All judges follow" in finding(hja.fit(data.without_judges("j2"), model="ja"), "sensitivity").text


def test_beside_a_ridge_the_front_door_and_the_findings_do_not_contradict_each_other():
    data = graded_panel()
    three = data.with_outcome(0.5 + 0.5 * np.sign(data.outcome - 0.5))
    result = hja.fit(three)
    assert result.fit.penalty is not None
    assert result.choices.loc["errors", "chosen"] == "nonrobust"
    found = finding(result, "ties")
    assert not found.is_warning
    assert "too small where verdicts are all one way" in found.text
