"""Connected groups against brute-force reachability, and named cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hjastats.data import graph
from hjastats.data.cells import Cells
from hjastats.data.comparisons import Comparisons

ITEMS = ["a", "b", "c", "d", "e", "f"]
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["j", "k", "l"]),
        st.permutations(ITEMS).map(lambda items: items[:2]),
        st.sampled_from([0.0, 1.0, 1.0, 0.5, 0.25]),
    ),
    min_size=1,
    max_size=14,
)


def report(rows):
    judge, pair, outcome = zip(*rows, strict=True)
    first, second = zip(*pair, strict=True)
    return Comparisons.from_arrays(judge, first, second, outcome).connectivity


def wins_of(rows):
    """Pairs (winner, loser); a tie or a soft preference is a win in both directions."""
    wins = {(pair[0], pair[1]) for _, pair, outcome in rows if outcome > 0}
    return wins | {(pair[1], pair[0]) for _, pair, outcome in rows if outcome < 1}


def groups_of(items, edges):
    """Groups of items that reach each other along the edges, largest first."""
    reach = {item: {item} for item in items}
    for _ in items:
        for tail, head in edges:
            for item in items:
                if tail in reach[item]:
                    reach[item].add(head)
    groups = {tuple(sorted(other for other in reach[item] if item in reach[other])) for item in items}
    return tuple(sorted(groups, key=lambda group: (-len(group), group)))


def both_ways(pairs):
    return {edge for a, b in pairs for edge in ((a, b), (b, a))}


@given(ROWS)
def test_groups_equal_brute_force_reachability(rows):
    result = report(rows)
    items = sorted({item for _, pair, _ in rows for item in pair})
    assert result.items == tuple(items)
    assert result.pooled_groups == groups_of(items, both_ways(pair for _, pair, _ in rows))
    assert result.winning_groups == groups_of(items, wins_of(rows))
    for judge in result.judges:
        own = groups_of(items, both_ways(pair for name, pair, _ in rows if name == judge))
        assert result.judge_groups.get(judge, (tuple(items),)) == own
    assert all(len(groups) > 1 for groups in result.judge_groups.values())


@given(ROWS)
def test_undefeated_and_winless_items_equal_brute_force(rows):
    result = report(rows)
    wins = wins_of(rows)
    assert result.undefeated == tuple(x for x in result.items if x not in {loser for _, loser in wins})
    assert result.winless == tuple(x for x in result.items if x not in {winner for winner, _ in wins})


@given(ROWS)
def test_somebody_stands_above_another_where_a_win_has_no_way_back(rows):
    levels = graph.levels_of_wins(report(rows).cells)
    for k, judge in enumerate(sorted({row[0] for row in rows})):
        own = wins_of([row for row in rows if row[0] == judge])
        items = sorted({item for _, pair, _ in rows for item in pair})
        is_higher = [levels[k, items.index(a)] > levels[k, items.index(b)] for a, b in own]
        assert any(is_higher) == any(
            b != a and not any({a, b} <= set(g) for g in groups_of(items, own)) for a, b in own
        )


def test_connection_is_the_same_for_many_items(set_limits):
    @given(ROWS)
    def check(rows):
        few = report(rows).is_connected
        set_limits(DENSE_LINKS=0)
        assert report(rows).is_connected == few
        set_limits.reset()

    check()


@given(ROWS)
def test_the_properties_say_what_the_groups_say(rows):
    result = report(rows)
    assert result.is_connected == (len(result.pooled_groups) == 1)
    assert result.is_strongly_connected == (len(result.winning_groups) == 1)
    assert result.is_connected_for_every_judge == (not result.judge_groups)
    assert result.is_connected or not result.is_strongly_connected
    assert result.is_connected or not result.is_connected_for_every_judge


def test_a_cycle_of_wins_is_strongly_connected():
    result = report([("j", ("a", "b"), 1), ("j", ("b", "c"), 1), ("j", ("c", "a"), 1)])
    assert result.is_connected_for_every_judge
    assert result.is_strongly_connected
    assert result.undefeated == result.winless == ()
    assert repr(result).splitlines() == [
        "Connectivity of 3 items and 1 judges: the pooled comparisons link all items.",
        "Every judge links all items by itself.",
        "Wins run in both directions between all groups: the pooled estimate exists.",
    ]


def test_a_chain_of_wins_is_connected_but_has_no_estimate():
    result = report([("j", ("a", "b"), 1), ("j", ("b", "c"), 1)])
    assert result.is_connected
    assert not result.is_strongly_connected
    assert result.winning_groups == (("a",), ("b",), ("c",))
    assert (result.undefeated, result.winless) == (("a",), ("c",))
    assert repr(result).splitlines()[-3:] == [
        "Wins run in one direction only between some groups: the pooled maximum likelihood estimate does not exist.",
        "  never beaten: 'a'",
        "  never won: 'c'",
    ]


@pytest.mark.parametrize("outcome", [0.5, 0.01, 0.99])
def test_a_tie_or_a_soft_preference_counts_in_both_directions(outcome):
    result = report([("j", ("a", "b"), outcome)])
    assert result.is_strongly_connected
    assert result.undefeated == ()


def test_wins_of_different_judges_are_pooled():
    result = report([("j", ("a", "b"), 1), ("k", ("a", "b"), 0)])
    assert result.is_strongly_connected
    assert result.is_connected_for_every_judge


def test_islands_are_named():
    result = report([("j", ("a", "b"), 1), ("j", ("c", "d"), 0), ("j", ("d", "e"), 0.5)])
    assert not result.is_connected
    assert result.pooled_groups == (("c", "d", "e"), ("a", "b"))
    assert "fall into 2 groups that are never compared with each other:\n  'c', 'd', 'e'\n  'a', 'b'\n" in repr(result)


def test_items_a_judge_never_saw_stand_alone():
    rows = [("j", ("a", "b"), 1), ("j", ("b", "c"), 1), ("k", ("c", "b"), 1)]
    result = report(rows)
    assert result.judge_groups == {"k": (("b", "c"), ("a",))}
    assert "1 judges do not link all items by themselves:\n  'k': 2 groups, the largest of 2 items" in repr(result)


def test_many_unconnected_judges_are_cut_in_the_printed_form():
    rows = [(f"j{k}", ("a", "b"), 1) for k in range(7)] + [("j9", ("b", "c"), 1)]
    assert "  and 3 more" in repr(report(rows)).splitlines()


@given(ROWS, st.permutations(ITEMS))
def test_new_names_for_the_items_give_the_same_groups_under_new_names(rows, names):
    rename = dict(zip(ITEMS, names, strict=True))
    moved = report([(judge, tuple(rename[item] for item in pair), outcome) for judge, pair, outcome in rows])
    for name in ("pooled_groups", "winning_groups"):
        expected = {frozenset(rename[item] for item in group) for group in getattr(report(rows), name)}
        assert {frozenset(group) for group in getattr(moved, name)} == expected


def test_exact_sums_of_inexact_weights_do_not_fake_a_loss():
    weight = np.full(10, 0.1)
    data = Comparisons.from_arrays(["j"] * 10, ["b"] * 10, ["a"] * 10, np.ones(10), weight)
    assert data.connectivity.undefeated == ("b",)


def test_as_many_cells_as_pairs_need_not_be_all_pairs():
    # The same pair three times, among three items: the third stands alone.
    zero, one = np.zeros(3, dtype=int), np.ones(3)
    cells = Cells(zero, zero, zero + 1, one, 0.5 * one, 1, 3)
    assert not graph.Connectivity(cells, ("j",), ("a", "b", "c")).is_connected
