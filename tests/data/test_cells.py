"""Aggregated counts against a plain dictionary, on both ways of counting."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hjastats.data.cells import Cells
from tests.counting import aggregate

N_JUDGES, N_ITEMS = 3, 4
# Outcomes, weights and terms are multiples of 1/4: sums do not depend on their order and can be compared exactly.
ROWS = st.lists(
    st.tuples(
        st.integers(0, N_JUDGES - 1),
        st.permutations(range(N_ITEMS)).map(lambda items: items[:2]),
        st.integers(0, 4).map(lambda k: k / 4),
        st.integers(0, 8).map(lambda k: k / 4),
        st.tuples(*[st.integers(-1, 1).map(lambda k: k / 4)] * 3),
    ),
    min_size=1,
    max_size=30,
)
# How many of the three drawn terms belong to the judges and how many are shared; None passes no array at all.
BLOCKS = st.sampled_from([(None, None), (0, 0), (1, None), (None, 1), (1, 0), (1, 2), (2, 1)])


def arrays(rows, blocks, is_constant):
    judge, pair, outcome, weight, terms = (np.array(column) for column in zip(*rows, strict=True))
    if is_constant:
        terms = np.tile(terms[:1], (len(rows), 1))
    n_judge_terms, n_shared_terms = blocks
    judge_terms = None if n_judge_terms is None else terms[:, :n_judge_terms]
    shared_terms = None if n_shared_terms is None else terms[:, 3 - n_shared_terms :]
    return judge, pair[:, 0], pair[:, 1], outcome, weight, judge_terms, shared_terms


def brute_force(judge, first, second, outcome, weight, judge_terms, shared_terms):
    """Counts per (judge, first, second, judge terms, shared terms); the order of the items matters only with terms."""
    n_rows = len(judge)
    judge_terms = np.zeros((n_rows, 0)) if judge_terms is None else judge_terms
    shared_terms = np.zeros((n_rows, 0)) if shared_terms is None else shared_terms
    has_terms = judge_terms.shape[1] + shared_terms.shape[1] > 0
    counts = defaultdict(lambda: [0.0, 0.0])
    for k in range(n_rows):
        i, j, y = int(first[k]), int(second[k]), float(outcome[k])
        if not has_terms and i > j:
            i, j, y = j, i, 1 - y
        cell = counts[int(judge[k]), i, j, tuple(judge_terms[k].tolist()), tuple(shared_terms[k].tolist())]
        cell[0] += weight[k]
        cell[1] += weight[k] * y
    return {key: tuple(cell) for key, cell in counts.items() if cell[0] > 0}


def as_dictionary(cells):
    keys = zip(
        cells.judge.tolist(),
        cells.first.tolist(),
        cells.second.tolist(),
        map(tuple, cells.judge_terms.tolist()),
        map(tuple, cells.shared_terms.tolist()),
        strict=True,
    )
    result = dict(zip(keys, zip(cells.n.tolist(), cells.y.tolist(), strict=True), strict=True))
    assert len(result) == len(cells.n), "a cell occurs twice"
    return result


@pytest.mark.parametrize("dense_limit", [0, 4_000_000], ids=["sorting", "dense"])
def test_counts_equal_a_plain_dictionary(dense_limit, set_limits):
    set_limits(DENSE_COUNTS=dense_limit)

    @given(ROWS, BLOCKS, st.booleans())
    def check(rows, blocks, is_constant):
        fields = arrays(rows, blocks, is_constant)
        cells = aggregate(*fields[:5], N_JUDGES, N_ITEMS, *fields[5:])
        assert as_dictionary(cells) == brute_force(*fields)
        assert (np.diff(cells.judge) >= 0).all()
        assert (cells.n_judge_terms, cells.n_shared_terms) == (blocks[0] or 0, blocks[1] or 0)

    check()


def test_both_ways_of_counting_give_the_same_cells_in_the_same_order(set_limits):
    rng = np.random.default_rng(0)
    n_rows = 500
    judge, first = rng.integers(5, size=n_rows), rng.integers(7, size=n_rows)
    second = (first + rng.integers(1, 7, size=n_rows)) % 7
    fields = (judge, first, second, rng.integers(3, size=n_rows) / 2, rng.integers(1, 4, size=n_rows) / 4, 5, 7)
    for terms in (None, np.ones((n_rows, 1))):
        dense = aggregate(*fields, terms)
        set_limits(DENSE_COUNTS=0)
        sorting = aggregate(*fields, terms)
        set_limits.reset()
        for name in ("judge", "first", "second", "n", "y", "judge_terms", "shared_terms"):
            np.testing.assert_array_equal(getattr(dense, name), getattr(sorting, name))


@given(ROWS, BLOCKS)
def test_cells_of_cells_are_the_same_cells(rows, blocks):
    fields = arrays(rows, blocks, is_constant=False)
    cells = aggregate(*fields[:5], N_JUDGES, N_ITEMS, *fields[5:])
    share = cells.y / cells.n
    again = aggregate(
        cells.judge, cells.first, cells.second, share, cells.n, N_JUDGES, N_ITEMS, cells.judge_terms, cells.shared_terms
    )
    for name in ("judge", "first", "second", "n", "judge_terms", "shared_terms"):
        np.testing.assert_array_equal(getattr(again, name), getattr(cells, name))


def test_the_order_of_presentation_is_kept_only_with_terms():
    zero, one = np.zeros(2, dtype=int), np.ones(2)
    first, second = np.array([0, 1]), np.array([1, 0])
    assert len(aggregate(zero, first, second, one, one, 1, 2).n) == 1
    assert len(aggregate(zero, first, second, one, one, 1, 2, shared_terms=np.ones((2, 1))).n) == 2


def test_a_constant_term_beside_a_varying_one_does_not_merge_cells():
    zero, one = np.zeros(3, dtype=int), np.ones(3)
    position, length = np.ones((3, 1)), np.array([[0.5], [-0.5], [0.5]])
    cells = aggregate(zero, zero, zero + 1, np.array([1.0, 0.0, 0.0]), one, 1, 2, position, length)
    assert as_dictionary(cells) == {(0, 0, 1, (1.0,), (-0.5,)): (1.0, 0.0), (0, 0, 1, (1.0,), (0.5,)): (2.0, 1.0)}


def test_many_distinct_covariates_keep_every_row_apart():
    rng = np.random.default_rng(1)
    zero, one = np.zeros(1000, dtype=int), np.ones(1000)
    covariate = rng.normal(size=(1000, 2))
    cells = aggregate(zero, zero, zero + 1, one, one, 1, 2, shared_terms=covariate)
    assert {tuple(row) for row in cells.shared_terms} == {tuple(row) for row in covariate}
    assert cells.n.tolist() == [1.0] * 1000


def test_the_entries_point_into_the_flattened_score_matrix():
    cells = Cells(np.array([0, 2]), np.array([1, 3]), np.array([0, 2]), np.ones(2), np.ones(2), N_JUDGES, N_ITEMS)
    assert cells.first_entry.tolist() == [1, 11]
    assert cells.second_entry.tolist() == [0, 10]


@given(ROWS)
def test_incidence_gives_score_differences_and_sums_by_judge_add_up(rows):
    cells = aggregate(*arrays(rows, (None, None), is_constant=False)[:5], N_JUDGES, N_ITEMS)
    scores = np.arange(N_JUDGES * N_ITEMS, dtype=float).reshape(N_JUDGES, N_ITEMS) ** 2
    expected = [scores[k, i] - scores[k, j] for k, i, j in zip(cells.judge, cells.first, cells.second, strict=True)]
    assert (cells.incidence.T @ scores.ravel()).tolist() == expected
    values = np.column_stack([cells.n, cells.y])
    assert cells.sum_by_judge(values).tolist() == [
        values[cells.judge == k].sum(axis=0).tolist() for k in range(N_JUDGES)
    ]
    assert cells.sum_by_judge(values[:, :0]).shape == (N_JUDGES, 0)


def test_terms_of_another_length_are_refused():
    two = np.zeros(2, dtype=int)
    with pytest.raises(ValueError, match="judge_terms has 3 rows for 2 cells"):
        Cells(two, two, two + 1, np.ones(2), np.ones(2), 1, 2, judge_terms=np.ones((3, 1)))


def test_sums_by_pair_and_laplacians_are_those_of_single_cells():
    rng = np.random.default_rng(0)
    judge, first = rng.integers(N_JUDGES, size=50), rng.integers(N_ITEMS, size=50)
    second = (first + rng.integers(1, N_ITEMS, size=50)) % N_ITEMS
    cells = aggregate(judge, first, second, np.ones(50), np.ones(50), N_JUDGES, N_ITEMS)
    values = rng.normal(size=len(cells.n))
    sums, laplacians = np.zeros((N_ITEMS, N_ITEMS)), np.zeros((N_JUDGES, N_ITEMS, N_ITEMS))
    for c in range(len(cells.n)):
        i, j = cells.first[c], cells.second[c]
        sums[i, j] += values[c]
        step = np.eye(N_ITEMS)[i] - np.eye(N_ITEMS)[j]
        laplacians[cells.judge[c]] += values[c] * np.outer(step, step)
    np.testing.assert_allclose(cells.sum_by_pair(values), sums, atol=1e-12)
    np.testing.assert_allclose(cells.laplacians(values), laplacians, atol=1e-12)
