from itertools import combinations

import numpy as np
import pytest

import hjastats as hja
from hjastats.diagnostics.consistency import cycle_p_values, cycle_rates, mean_squares, misfit_p_values
from hjastats.model.design import Coefficients, Design
from hjastats.model.responses import DAVIDSON
from hjastats.simulation import heterogeneous_panel, near_balanced_design, simulate_comparisons


def test_mean_squares_are_those_of_the_rows_with_weights():
    y, w, k = np.array([1.0, 0.0, 0.5, 1.0]), np.array([1.0, 2.0, 3.0, 0.5]), np.array([0, 0, 1, 1])
    data = hja.Comparisons.from_arrays(list("jjkk"), list("abca"), list("bcab"), y, w)
    scores = np.array([[0.4, -0.1, -0.3], [1.2, 0.1, -1.3]])
    at = Coefficients(scores, np.zeros((2, 0)), np.zeros(0))
    p = 1 / (1 + np.exp(scores[k, data.second_index] - scores[k, data.first_index]))
    infit, outfit = mean_squares(Design.of(data.row_cells), at)
    for j in (0, 1):
        own = k == j
        z2 = (y - p) ** 2 / (p * (1 - p))
        assert outfit[j] == pytest.approx(np.average(z2[own], weights=w[own]))
        assert infit[j] == pytest.approx((w * (y - p) ** 2)[own].sum() / (w * p * (1 - p))[own].sum())


def test_at_the_truth_both_are_one_on_average():
    # Scores small enough that outfit, whose variance grows with exp(|eta|), settles in a hundred replications.
    scores = heterogeneous_panel(4, 6, rank=1, rng=3).scores / 3
    at = Coefficients(scores, np.zeros((4, 0)), np.zeros(0))
    design = near_balanced_design(4, 6, 2_000, rng=4)
    values = np.array(
        [mean_squares(Design.of(simulate_comparisons(scores, design, rng=s).row_cells), at) for s in range(100)]
    )
    mean, error = values.mean(axis=0), values.std(axis=0, ddof=1) / 10
    # Eight means, each within four of its own standard errors.
    assert (np.abs(mean - 1) < 4 * error).all()
    assert (error < 0.05).all()


def test_ties_as_an_outcome_have_their_own_variance_and_half_wins_too_little():
    rng = np.random.default_rng(5)
    n, eta, tau = 20_000, 0.8, 0.3
    first, tie, second = DAVIDSON.probabilities(np.array([eta]), np.array([[tau]]))[:, 0]
    y = rng.choice([1.0, 0.5, 0.0], n, p=[first, tie, second])
    data = hja.Comparisons.from_arrays(["j"] * n, ["a"] * n, ["b"] * n, y)
    davidson = hja.BTLModel.from_comparisons(data, ties="davidson").fit()
    halves = hja.BTLModel.from_comparisons(data).fit()
    # The standard deviation of a mean square of n rows is below one over the root of n.
    for value in mean_squares(davidson.model.row_design(), davidson.fit.at):
        assert value[0] == pytest.approx(1.0, abs=4 / np.sqrt(n))
    assert mean_squares(halves.model.row_design(), halves.fit.at)[0][0] < 0.8


def test_an_impossible_verdict_is_an_infinite_surprise_and_a_certain_one_none():
    data = hja.Comparisons.from_arrays(["j", "k"], ["a", "a"], ["b", "b"], [1, 0])
    at = Coefficients(np.array([[800.0, -800.0], [800.0, -800.0]]), np.zeros((2, 0)), np.zeros(0))
    outfit = mean_squares(Design.of(data.row_cells), at)[1]
    assert outfit[0] == 0
    assert np.isinf(outfit[1])


def by_enumeration(data, judge):
    frame = data.to_frame()
    frame = frame[frame["judge"] == judge]
    lead = {}
    for row in frame.itertuples():
        lead[row.first, row.second] = lead.get((row.first, row.second), 0) + row.weight * (2 * row.outcome - 1)
        lead[row.second, row.first] = -lead[row.first, row.second]
    decided = cyclic = 0
    for a, b, c in combinations(data.items, 3):
        signs = [np.sign(lead.get(pair, 0)) for pair in ((a, b), (b, c), (c, a))]
        decided += all(signs)
        cyclic += abs(sum(signs)) == 3
    return cyclic / decided


def test_cycles_are_counted_as_by_looking_at_every_triple():
    rng = np.random.default_rng(6)
    design = near_balanced_design(3, 7, 180, rng=7)
    data = simulate_comparisons(rng.standard_normal((3, 7)) / 2, design, shuffle_order=True, rng=8)
    rates = cycle_rates(data.cells)
    assert (rates > 0).all()
    for k, judge in enumerate(data.judges):
        # Orders merge into one margin whichever way the pair was shown.
        frame = data.to_frame()
        swap = frame["first"] > frame["second"]
        merged = hja.Comparisons.from_arrays(
            frame["judge"],
            frame["first"].where(~swap, frame["second"]),
            frame["second"].where(~swap, frame["first"]),
            frame["outcome"].where(~swap, 1 - frame["outcome"]),
        )
        assert rates[k] == pytest.approx(by_enumeration(merged, judge))
        assert cycle_rates(data.ordered_cells)[k] == rates[k]


def test_coin_flips_go_round_a_quarter_of_the_time():
    first, second = np.triu_indices(40, 1)
    data = simulate_comparisons(np.zeros((1, 40)), (np.zeros(len(first), dtype=int), first, second), rng=9)
    # 9,880 triples, pairwise uncorrelated: the standard deviation of the share is the root of 3/16 over their number.
    assert cycle_rates(data.cells)[0] == pytest.approx(0.25, abs=4 * np.sqrt(3 / 16 / 9880))


def test_without_triples_there_is_no_rate():
    data = hja.Comparisons.from_arrays(["j", "j"], ["a", "b"], ["b", "c"], [1, 1])
    assert np.isnan(cycle_rates(data.cells)).all()


def test_cycles_of_many_items_are_those_of_few(panel, set_limits):
    dense = cycle_rates(panel.cells)
    set_limits(DENSE_MARGINS=2)
    np.testing.assert_allclose(cycle_rates(panel.cells), dense)


def test_cycles_of_simulated_verdicts_are_as_rare_as_they_should_be():
    """Panels drawn from the model are surprising as often as they should be, or less."""
    scores, design = (
        np.linspace(-1, 1, 7)[None] * np.array([[0.0], [1.0], [3.0]]),
        near_balanced_design(3, 7, 450, rng=1),
    )
    at = Coefficients(scores, np.zeros((3, 0)), np.zeros(0))
    drawn = [simulate_comparisons(scores, design, shuffle_order=True, rng=seed) for seed in range(200)]
    p_values = np.array([cycle_p_values(Design.of(data.row_cells), at) for data in drawn])
    # Adjusted by Holm's method: at most 5% of the panels, with a standard error of 1.5%.
    assert np.mean(np.nanmin(p_values, axis=1) < 0.05) <= 0.05 + 3 * 0.0154
    # The same verdicts are impossible for judges as sharp as these.
    sharp = Coefficients(6.0 * np.tile(np.linspace(-1, 1, 7), (3, 1)), np.zeros((3, 0)), np.zeros(0))
    assert cycle_p_values(Design.of(drawn[0].row_cells), sharp)[0] < 1e-6


def test_misfit_of_simulated_verdicts_is_as_rare_as_it_should_be():
    scores, design = np.linspace(-2, 2, 6)[None] * np.ones((4, 1)), near_balanced_design(4, 6, 400, rng=1)
    at = Coefficients(scores, np.zeros((4, 0)), np.zeros(0))
    drawn = [simulate_comparisons(scores, design, shuffle_order=True, rng=seed) for seed in range(300)]
    alarms = [[np.nanmin(p) < 0.05 for p in misfit_p_values(Design.of(data.row_cells), at)] for data in drawn]
    # Standard error 1.3% at 5%.
    assert (np.mean(alarms, axis=0) <= 0.05 + 3 * 0.0126).all()
    # Verdicts of the opposite scores are less predictable, and next to impossible.
    turned = simulate_comparisons(-scores, design, shuffle_order=True, rng=0)
    calm, erratic, impossible = misfit_p_values(Design.of(turned.row_cells), at)
    assert (calm == 1).all()
    assert (np.maximum(erratic, impossible) < 0.05).all()
