"""What judges are worth, and which of them are enough."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.diagnostics.effective import effective_judges
from hjastats.diagnostics.worth import JudgePanel, Panels, keeps_order, told_apart


@pytest.fixture(scope="module")
def result(panel):
    return hja.JAModel.from_comparisons(panel, position="judge").fit()


@pytest.fixture(scope="module")
def panels(result):
    return Panels.of(result.fit, None, np.ones(8))


def test_shares_are_those_of_the_information_about_the_consensus(result):
    expected = effective_judges(result.fit).shares
    pd.testing.assert_series_equal(result.judges.value()["share"].loc[expected.index], expected, check_names=False)


def test_values_are_per_verdict_and_per_price_with_a_mean_of_one(result):
    prices = {judge: 4.0 if judge == "judge-1" else 1.0 for judge in result.model.judges}
    plain, priced = result.judges.value(), result.judges.value(prices)
    assert np.average(plain["per_verdict"], weights=plain["verdicts"]) == pytest.approx(1.0)
    assert np.average(priced["per_price"], weights=priced["verdicts"] * priced["price"]) == pytest.approx(1.0)
    ratio = [table["per_price"]["judge-1"] / table["per_price"]["judge-2"] for table in (plain, priced)]
    assert ratio[0] / ratio[1] == pytest.approx(4.0)


def test_a_copy_adds_next_to_nothing_and_neither_does_the_copied(panel):
    frame = panel.to_frame()
    copied = pd.concat([frame, frame[frame["judge"] == "judge-2"].assign(judge="copy")])
    result = hja.JAModel.from_comparisons(hja.read_comparisons(copied, codes="unit"), position="judge").fit()
    new = result.judges.value()["not_repeated"]
    assert (new[["copy", "judge-2"]] < 0.05).all()
    assert (new.drop(["copy", "judge-2"]) > 0.9).all()
    kept = result.judges.panel(2000).judges
    assert len({"copy", "judge-2"} & set(kept)) <= 1


def test_errors_of_a_panel_are_those_of_bradley_terry_where_judges_are_alike(panel):
    """Of equal judges the consensus is that of the pooled verdicts."""
    btl = hja.BTLModel.from_comparisons(panel).fit()
    found = Panels.of(btl.fit, None, np.ones(8)).spread(np.ones(8, dtype=bool))
    pairs = btl.pairwise()["std_err"].to_numpy()
    np.testing.assert_allclose(np.sqrt(found[np.triu_indices(10, 1)]), pairs, rtol=1e-8)


@pytest.mark.parametrize("budget", [400, 1000, 2000])
def test_the_best_panel_for_a_budget_is_the_best_of_all_panels(panels, budget):
    best = min(
        panels.error(np.isin(np.arange(8), some))
        for size in range(1, budget // 400 + 1)
        for some in combinations(range(8), size)
    )
    assert panels.error(panels.within(budget)) == pytest.approx(best)


def test_the_cheapest_panel_is_the_cheapest_of_all_that_are_enough(result):
    prices = np.array([9.0, 2.0, 1.0, 1.0, 1.0, 2.0, 1.0, 1.0])
    panels = Panels.of(result.fit, None, prices)
    limit = 1.4 * panels.error(np.ones(8, dtype=bool))
    everything = [np.isin(np.arange(8), some) for size in range(1, 9) for some in combinations(range(8), size)]
    cheapest = min(panels.cost @ some for some in everything if panels.error(some) <= limit)
    found = panels.cheapest(lambda some: panels.error(some) <= limit)
    assert panels.error(found) <= limit
    # One exchange at a time finds the cheapest, or nearly.
    assert panels.cost @ found <= 1.25 * cheapest


def test_a_panel_that_keeps_the_ranking_turns_nothing_round(result):
    found = result.judges.panel(keep="ranking")
    assert found.n_reversed == 0
    assert found.cost < found.whole_cost
    assert set(found.judges) | set(found.dropped) == set(result.model.judges)
    smaller = result.model.without_judges(found.dropped).fit()
    difference, is_told = told_apart(result.fit)
    mu = smaller.consensus["estimate"].loc[list(result.model.items)].to_numpy()
    assert (np.sign(mu[:, None] - mu)[is_told] == np.sign(difference)[is_told]).all()


def test_judges_with_tastes_of_their_own_are_brought_back_if_the_order_turns(panel):
    result = hja.HJAModel.from_comparisons(panel, rank=1, position="judge").fit()
    found = result.judges.panel(keep="ranking")
    assert found.n_reversed == 0
    alone = Panels.of(result.fit, None, np.ones(8)).cheapest(
        keeps_order(result.fit, Panels.of(result.fit, None, np.ones(8)))
    )
    assert len(found.judges) >= alone.sum()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "either a budget, or what to keep"),
        ({"budget": 100, "keep": "ranking"}, "either a budget"),
        ({"budget": -1}, "budget must be"),
        ({"budget": 100}, "raise the budget"),
        ({"keep": "everything"}, "keep must be"),
        ({"keep": 0.001}, "less than all judges"),
        ({"keep": 0.3, "cost": {"nobody": 1.0}}, "not there"),
    ],
)
def test_what_cannot_be_chosen_is_refused(result, options, text):
    with pytest.raises(ValueError, match=text):
        result.judges.panel(**options)


def test_a_panel_of_one_judge_says_what_it_cannot_show():
    alone = "One judge is no panel"
    numbers = (100.0, 200.0, 0.2, 0.1, 0, 5)
    assert alone in repr(JudgePanel(("a",), ("b",), *numbers))
    assert alone not in repr(JudgePanel(("a", "b"), (), *numbers))
