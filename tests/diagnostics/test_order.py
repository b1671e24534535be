"""What is said about the order of presentation, and where nothing may be."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from benchmarks.claims.alarms import consensus, panel
from hjastats.diagnostics.adjusted import holm
from hjastats.diagnostics.order import flip_p_values, order_evidence
from hjastats.inference.score_tests import order_within_judges
from tests.panels import finding, small_panel


def topics(result):
    return {found.topic: found for found in result.findings}


def said(result):
    """Everything the findings and the cards say."""
    return " ".join([*(str(found) for found in result.findings), *result.judges.cards()["sentence"]]).lower()


def winners_and_losers(data):
    frame = data.to_frame()
    won = frame["outcome"] > 0.5
    first, second = frame["first"].where(won, frame["second"]), frame["second"].where(won, frame["first"])
    return hja.Comparisons.from_arrays(frame["judge"], first, second, np.ones(len(frame)), columns=data.columns)


def test_winners_and_losers_have_no_order():
    data = winners_and_losers(small_panel())
    result = hja.JAModel.from_comparisons(data).fit()
    assert not {"first share", "position test"} & set(topics(result))
    assert not topics(result)["order"].is_warning
    assert "position" not in said(result)
    assert "picks the" not in said(result)
    assert result.judges.cards()["first_share"].isna().all()
    diagnosis = result.diagnose()
    assert diagnosis.position_test is None
    assert "position" not in diagnosis.judges


@pytest.mark.parametrize("file", ["flatlizards_main", "chameleons"])
def test_real_winners_and_losers_have_no_order(shared_data, file):
    frame = pd.read_csv(shared_data / "r" / f"{file}.csv")
    winner, loser = (frame[name].astype(str) for name in frame.columns[:2])
    data = hja.Comparisons.from_arrays("all", winner, loser, np.ones(len(frame)))
    result = hja.BTLModel.from_comparisons(data).fit_regularized(1.0)
    assert "position" not in said(result)


def test_best_and_worst_have_no_order(shared_data):
    beans = pd.read_csv(shared_data / "beans_best_worst" / "beans.csv")
    varieties = beans[["variety_a", "variety_b", "variety_c"]].to_numpy()
    best, worst = (beans[name].map({"A": 0, "B": 1, "C": 2}).to_numpy() for name in ("best", "worst"))
    rows, middle = np.arange(len(beans)), 3 - best - worst
    pairs = [(best, middle), (middle, worst), (best, worst)]
    first, second = (np.concatenate([varieties[rows, pair[side]] for pair in pairs]) for side in (0, 1))
    result = hja.BTLModel.from_comparisons(
        hja.Comparisons.from_arrays("farms", first, second, np.ones(len(first)))
    ).fit()
    assert "position" not in said(result)


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("file", ["germanparties", "germanparties_ordered"])
def test_taste_along_a_canonical_order_is_no_position_effect(shared_data, file, rank):
    """The same verdicts, listed in the order of the parties and in that in which they were asked for."""
    data = hja.read_comparisons(shared_data / "r" / f"{file}.csv", codes="names")
    result = hja.HJAModel.from_comparisons(data, rank=rank).fit(warn_convergence=False)
    found = topics(result)
    assert not found["position test"].is_warning
    assert not found["first share"].is_warning
    assert "p = 1)" in found["position test"].text or "p = 0.9" in found["position test"].text
    assert "picks the" not in said(result)


def test_a_model_with_position_effects_does_not_accuse_taste_either(shared_data):
    data = hja.read_comparisons(shared_data / "r" / "germanparties.csv", codes="names")
    result = hja.JAModel.from_comparisons(data, position="judge").fit_regularized(0.1)
    assert "prefers the" not in said(result)


@pytest.mark.parametrize("file", ["chatbot_arena.json", "mtbench.json"])
@pytest.mark.parametrize("rank", [0, 1])
def test_what_no_taste_explains_is_told_where_only_the_model_tells_it(shared_data, file, rank):
    data = hja.read_comparisons(shared_data / file)
    found = topics(hja.HJAModel.from_comparisons(data, rank=rank).fit())
    assert found["position test"].is_warning
    assert "By design only the model tells the two apart. Fit position='judge'" in found["position test"].text
    assert "GLM-4.5-Air-FP8' picks the first item" in found["first share"].text
    # Told with position effects per judge, too, and that they differ where all share one.
    common = hja.JAModel.from_comparisons(data, position="common").fit()
    assert "different position effects explain" in finding(common, "position test").text
    aware = hja.JAModel.from_comparisons(data, position="judge").fit()
    assert "prefers the first answer" in aware.judges.cards().loc["zai-org/GLM-4.5-Air-FP8", "sentence"]


def test_the_score_within_judges_is_that_of_a_fit_with_scores_of_their_own():
    """Against the likelihood ratio of position effects in judge-wise models, near the null."""
    rng = np.random.default_rng(4)
    data = panel(rng, 0.5 * rng.normal(size=(4, 5)), 800, position=0.1, canonical=True)
    fits = [hja.JudgewiseBTLModel.from_comparisons(data, position=scope).fit() for scope in (None, "judge")]
    excess, variance = order_within_judges(data.ordered_cells)
    # Score and likelihood-ratio statistics agree to a few percent where both are small.
    assert np.sum(excess**2 / variance) == pytest.approx(2 * (fits[1].llf - fits[0].llf), rel=0.05)


def test_covariates_enter_the_score_within_judges():
    """A covariate that goes with the order explains what would be a position effect without it."""
    rng = np.random.default_rng(5)
    plain = panel(rng, consensus(rng, 4, 5), 500, position=1.0, canonical=True)
    blind = hja.JAModel.from_comparisons(plain).fit()
    assert finding(blind, "position test").is_warning
    assert (order_evidence(blind.fit, blind.model.observations).p_first < 0.05).all()
    knowing = hja.JAModel.from_comparisons(plain, exog=np.ones((plain.n_rows, 1))).fit()
    assert not finding(knowing, "position test").is_warning


def test_too_many_items_for_scores_of_all_judges_leave_it_at_the_design(set_limits):
    rng = np.random.default_rng(6)
    data = panel(rng, consensus(rng, 4, 5), 200, position=2.0, canonical=True)
    set_limits(DENSE_LAPLACIANS=1)
    found = finding(hja.JAModel.from_comparisons(data).fit(), "position test")
    assert not found.is_warning
    assert found.text == "A position effect per judge cannot be told from the taste of a judge in these data."


def test_flips_to_both_sides_alike_are_chance():
    swaps = pd.DataFrame({"first": [40, 30, 0], "second": [40, 5, 0]}, list("abc"))
    p_values = flip_p_values(swaps)
    assert p_values[1] < 0.001
    assert (p_values[[0, 2]] == 1).all()
    rng = np.random.default_rng(7)
    data = panel(rng, np.zeros((3, 4)), 200, swaps=True)
    result = hja.BTLModel.from_comparisons(data).fit()
    found = finding(result, "swaps")
    assert not found.is_warning
    assert "Of 300 pairs judged in both orders, " in found.text
    assert "no more one-sided than chance for any judge" in found.text
    assert not result.judges.cards()["sentence"].str.contains("follows the position").any()


def test_a_judge_that_follows_the_position_is_named_and_the_advice_helps():
    rng = np.random.default_rng(8)
    data = panel(rng, consensus(rng, 4, 6), 300, position=np.array([1.5, 0, 0, 0]), swaps=True)
    result = hja.JAModel.from_comparisons(data).fit()
    found = finding(result, "swaps")
    assert found.is_warning
    assert "Judges that follow the position (sign test, adjusted), the first: 'j0' (" in found.text
    assert "follows the position in" in result.judges.cards().loc["j0", "sentence"]
    aware = hja.JAModel.from_comparisons(data, position="judge").fit().position
    assert aware.loc["j0", "ci_lower"] < 1.5 < aware.loc["j0", "ci_upper"]


def test_holm_is_that_of_statsmodels():
    from statsmodels.stats.multitest import multipletests

    p_values = np.random.default_rng(9).random(20) ** 3
    np.testing.assert_allclose(holm(p_values), multipletests(p_values, method="holm")[1])


def test_who_follows_the_second_position_is_named_beside_those_who_follow_the_first_more_often():
    rng = np.random.default_rng(10)
    data = panel(rng, consensus(rng, 6, 6), 300, position=np.array([3.0, 3.0, 3.0, 3.0, -1.5, 0]), swaps=True)
    text = finding(hja.JAModel.from_comparisons(data).fit(), "swaps").text
    first, second = text.split("(sign test, adjusted), ")[1].split("; ")
    assert first.startswith("the first: ")
    assert first.endswith(" and 1 more")
    assert second.startswith("the second: 'j4' (")


@pytest.mark.parametrize("question", ["redundancy", "goodness_of_fit", "stability"])
def test_which_column_holds_the_winner_tells_nothing_of_judges(question):
    known = small_panel()
    tables = winners_and_losers(known), replace(known, has_order=False)
    told, other = (getattr(hja.HJAModel.from_comparisons(data).fit().judges, question)() for data in tables)
    assert str(told) == str(other)
    assert not told.is_warning
    assert "position" not in str(told)


def test_circles_of_winners_and_losers_are_found():
    rng = np.random.default_rng(0)
    judge, ahead = np.tile(["round", "straight"], 300), rng.integers(3, size=600)
    after = (ahead + 1) % 3
    # Of three items the one judge prefers each to the next, the other the smaller number, by how much it is smaller.
    forward = rng.random(600) < np.where(judge == "round", 0.9, 1 / (1 + np.exp(ahead - after)))
    frame = {"judge": judge, "winner": np.where(forward, ahead, after), "loser": np.where(forward, after, ahead)}
    result = hja.JudgewiseBTLModel.from_comparisons(hja.read_comparisons(pd.DataFrame(frame))).fit()
    table = result.judges.goodness_of_fit().table
    assert table.loc["round", "p_circular_holm"] < 1e-6
    assert table.loc["straight", "p_circular_holm"] > 0.05


def test_tests_of_positions_that_are_none_do_not_count():
    known = small_panel()
    data = replace(known, has_order=False, columns=pd.DataFrame({"prompt_id": np.arange(known.n_rows) // 4}))
    table = hja.JAModel.from_comparisons(data).fit().judges.stability().table
    assert set(table["kind"]) == {"sensitivity", "score"}
    np.testing.assert_allclose(table["p_holm"], holm(table["p_value"].to_numpy()))


def rankings(seed, n_judges=20, n_rankings=60, n_items=10, k=5):
    """Plackett-Luce rankings of items in random order: no position effects."""
    rng = np.random.default_rng(seed)
    mu = np.linspace(1.0, -1.0, n_items)
    number = np.arange(n_judges * n_rankings)
    items = np.array([rng.permutation(n_items)[:k] for _ in number])
    places = np.argsort(np.argsort(-(mu[items] + rng.gumbel(size=items.shape)), axis=1), axis=1) + 1
    columns = {"judge": number % n_judges, "ranking": number}
    table = {name: np.repeat(values, k) for name, values in columns.items()}
    table |= {"item": items.ravel(), "rank": places.ravel(), "shown_at": np.tile(np.arange(k) + 1, len(number))}
    return hja.read_comparisons(pd.DataFrame(table).astype({"judge": str, "item": str}))


def test_pairs_of_one_ranking_hang_together_in_the_test_of_positions():
    """Who is ranked first wins all pairs: with pairs as if independent half of these tests rejected at 5%."""
    p_values = []
    for seed in range(20):
        result = hja.BTLModel.from_comparisons(rankings(seed)).fit(cov_type="cluster", cov_kwds={"groups": "ranking"})
        p_values.append(order_evidence(result.fit, result.model.observations).test.p_value)
    # 1 of 20 on average; 5 or more with probability 0.003.
    assert np.sum(np.array(p_values) < 0.05) < 5
