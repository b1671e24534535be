"""Which comparisons the lead hangs on: against fits without every possible set, and on data made to be fragile."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

import hjastats as hja
from hjastats.errors import IdentificationError
from tests.panels import separated_panel


def _close(n_ahead, n=30):
    """Three items, a wins n_ahead more of the comparisons with b than it loses."""
    first = ["a"] * n + ["a"] * 12 + ["b"] * 12
    second = ["b"] * n + ["c"] * 12 + ["c"] * 12
    wins = [1] * ((n + n_ahead) // 2) + [0] * ((n - n_ahead) // 2) + ([1] * 8 + [0] * 4) * 2
    return hja.Comparisons.from_arrays(["x", "y"] * (len(wins) // 2), first, second, wins)


def _leader(model):
    return model.fit(warn_convergence=False).consensus.index[0]


@pytest.mark.parametrize("n_ahead", [2, 4])
def test_no_smaller_set_changes_the_leader_of_a_small_panel(n_ahead):
    model = hja.BTLModel.from_comparisons(_close(n_ahead))
    found = model.fit().fragility()
    assert (found.leader, found.challenger) == ("a", "b")
    n = int(found.n_comparisons)
    # Comparisons that are alike do the same: only their numbers matter.
    cells = list(model.comparisons.to_frame().groupby(["first", "second", "outcome"]).indices.values())
    for chosen in combinations_with_replacement(range(len(cells)), n - 1):
        removed = np.zeros(model.comparisons.n_rows)
        for cell, rows in enumerate(cells):
            removed[rows[: chosen.count(cell)]] = 1.0
        assert _leader(model.without_comparisons(removed)) == "a"
    # And the set that was found does.
    removed = np.zeros(model.comparisons.n_rows)
    removed[found.rows.index] = found.rows["removed"]
    assert removed.sum() == n
    assert _leader(model.without_comparisons(removed)) == "b"


def test_weights_are_comparisons_that_can_be_removed_one_by_one():
    plain = _close(4)
    counted = plain.to_frame().groupby(["judge", "first", "second", "outcome"], as_index=False)["weight"].sum()
    data = hja.Comparisons.from_arrays(
        counted["judge"], counted["first"], counted["second"], counted["outcome"], counted["weight"], counts=False
    )
    one, many = (hja.BTLModel.from_comparisons(some).fit().fragility() for some in (plain, data))
    assert many.n_comparisons == one.n_comparisons
    assert many.rows["removed"].sum() == one.n_comparisons
    np.testing.assert_allclose(many.challengers, one.challengers)


@pytest.mark.parametrize("position", [None, "judge"])
def test_influence_is_that_of_refitting_without_single_rows(small_panel, position):
    """One step says what removing a comparison does, to the second order in the share that one is of all."""
    from hjastats.diagnostics.fragility import _orders

    result = hja.HJAModel.from_comparisons(small_panel, rank=1, position=position).fit()
    leader = int(result.fit.best_first[0][0])
    others, gaps, orders = _orders(result.fit, result.model.observations, leader)
    order, other = orders[0], others[0]
    for place in (0, 3, len(order.rows) // 2):
        row = order.rows[place]
        without = result.model.without_comparisons(np.arange(small_panel.n_rows) == row).fit()
        mu = without.fit.parts.mu
        assert gaps[0] - (mu[leader] - mu[other]) == pytest.approx(order.effect[place], rel=0.1, abs=2e-4)


def test_rows_carry_the_labels_of_the_table_and_the_judges_they_came_from(panel):
    frame = panel.to_frame().set_index(panel.to_frame().index + 1000)
    data = hja.read_comparisons(frame, judge="judge", first="first", second="second", outcome="outcome", codes="unit")
    result = hja.HJAModel.from_comparisons(data, rank=1, position="judge").fit()
    found = result.fragility()
    assert repr(found).startswith("model-I leads; without ")
    assert found.share == found.n_comparisons / 3200 < 0.02
    assert len(found.challengers) == 9
    expected = frame.loc[found.rows.index, ["judge", "first", "second", "outcome"]]
    assert (found.rows[["judge", "first", "second", "outcome"]].to_numpy() == expected.to_numpy()).all()


def test_a_lead_that_nothing_changes_and_one_that_is_infinite():
    wins = [1] * 40 + [0] + [1, 0] * 3
    data = hja.Comparisons.from_arrays("x", ["a"] * 41 + ["a"] * 6, ["b"] * 41 + ["b"] * 6, wins)
    found = hja.BTLModel.from_comparisons(data).fit().fragility()
    assert (found.challenger, found.n_comparisons, len(found.rows)) == (None, np.inf, 0)
    assert repr(found) == "a leads, and influence finds no comparisons without which another would."
    with pytest.raises(IdentificationError, match="did not converge"):
        hja.BTLModel.from_comparisons(separated_panel()).fit(warn_convergence=False).fragility()
    with pytest.raises(IdentificationError, match="no likelihood"):
        hja.BTLModel.from_comparisons(data).fit_regularized(penalty="firth").fragility()
