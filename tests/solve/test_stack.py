"""Several points at a time: everything known of a stack is what is known of its members, one by one."""

from dataclasses import replace

import numpy as np
import pytest

from hjastats import limits
from hjastats.model.information import Arrow
from hjastats.model.layout import NEVER, Coefficients
from hjastats.model.structures import LowRank
from hjastats.solve.quadratic import QuadraticModel, combined, evaluated, solve_arrow, solve_arrows
from hjastats.solve.ridge import NO_RIDGE, Ridge
from hjastats.solve.search import no_terms, search
from hjastats.solve.starts import starting_scores
from hjastats.solve.trust import Runs, maximise, part_of
from tests.counting import aggregate

K, N = 4, 5
# Same sums in another order.
ROUNDING = 1e-11


def panel(kind):
    """Random cells: with every pair or not, with terms of judges and of all, with ties as outcomes of their own."""
    rng = np.random.default_rng(1)
    n = 900 if kind == "complete" else 110
    judge, first = rng.integers(K, size=n), rng.integers(N, size=n)
    second = (first + rng.integers(1, N, size=n)) % N
    terms = (
        (np.column_stack([np.ones(n), rng.integers(2, size=n)]), rng.integers(-1, 2, size=(n, 2)).astype(float))
        if kind in ("terms", "common", "judge")
        else ()
    )
    cells = aggregate(judge, first, second, rng.choice([0, 0.5, 1], n), rng.integers(1, 4, n) * 1.0, K, N, *terms)
    if kind in ("common", "judge"):
        block = "shared_terms" if kind == "common" else "judge_terms"
        never = (2,) if kind == "judge" else ()
        ties = np.where(np.isin(cells.judge, never), 0.0, np.minimum(cells.y, cells.n - cells.y))
        with_tie = {block: np.hstack([getattr(cells, block), np.ones((len(cells.n), 1))])}
        cells = replace(cells, ties=ties, tie=kind, never_tie=never, **with_tie)
    return cells


def points(cells, structure, ridge=NO_RIDGE, n=3):
    rng = np.random.default_rng(2)
    result = []
    for _ in range(n):
        scores, tangent = structure.member(rng.normal(size=(K, N)))
        judge = 0.3 * rng.normal(size=(K, cells.n_judge_terms))
        judge[list(cells.never_tie), -1:] = NEVER
        at = Coefficients(scores, judge, 0.3 * rng.normal(size=cells.n_shared_terms))
        result.append(evaluated(cells, at, tangent, ridge))
    return result


def stacked(members):
    return combined(lambda *arrays: np.stack(arrays), *members)


KINDS = ["complete", "incomplete", "terms", "common", "judge"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rank", [0, 1, 2])
@pytest.mark.parametrize("ridge", [NO_RIDGE, Ridge(0.7, 0.3)], ids=["plain", "ridge"])
def test_values_and_steps_of_a_stack_are_those_of_its_members(kind, rank, ridge):
    cells, structure = panel(kind), LowRank(rank)
    assert (cells.pairs is not None) == (kind == "complete")
    members = points(cells, structure, ridge)
    stack = stacked(members)
    # The frames of the stack are those of its members: a tangent of its own would be another basis.
    again = evaluated(cells, stack.at, stack.tangent, ridge)
    np.testing.assert_allclose(again.value, [member.value for member in members], rtol=1e-13)
    damping = np.array([0.0, 2.0, 50.0])
    step, solved = QuadraticModel(cells, stack, ridge).steps(damping)
    there = step.taken(cells, structure, stack, ridge)
    for i, member in enumerate(members):
        model = QuadraticModel(cells, member, ridge)
        alone = model.step(damping[i])
        assert solved[i]
        assert step.is_newton[i] == alone.is_newton
        np.testing.assert_allclose(QuadraticModel(cells, stack, ridge).scale[i], model.scale, rtol=1e-12)
        for name in ("own", "judge", "item", "shared", "slope", "expected_gain"):
            np.testing.assert_allclose(getattr(step, name)[i], getattr(alone, name), atol=ROUNDING, err_msg=name)
        end = alone.taken(cells, structure, member, ridge)
        np.testing.assert_allclose(there.at.scores[i], end.at.scores, atol=ROUNDING)
        np.testing.assert_allclose(there.value[i], end.value, rtol=1e-12)


def test_a_point_that_is_bent_the_wrong_way_takes_a_scoring_step_and_the_others_do_not():
    cells, structure = panel("incomplete"), LowRank(1)
    near = maximise(cells, structure, no_terms(cells, np.zeros((K, N)) + np.eye(K, N)))
    _scores, tangent = structure.member(near.at.scores)
    members = [evaluated(cells, near.at, tangent, NO_RIDGE), *points(cells, structure, n=30)]
    kinds = [QuadraticModel(cells, member, NO_RIDGE).step(0.0).is_newton for member in members]
    assert kinds[0]
    assert not all(kinds)
    step, solved = QuadraticModel(cells, stacked(members), NO_RIDGE).steps(np.zeros(len(members)))
    assert solved.all()
    assert step.is_newton.tolist() == kinds


def test_an_absent_direction_has_no_curvature_to_use():
    cells, structure = panel("complete"), LowRank(1)
    flat = np.outer(np.ones(K), np.arange(N) - 2.0)
    scores, tangent = structure.member(flat)
    members = [
        evaluated(cells, no_terms(cells, scores), replace(tangent, strength=np.array([1.0, 0.0])), NO_RIDGE),
        *points(cells, structure, n=1),
    ]
    with np.errstate(all="raise"):
        step, solved = QuadraticModel(cells, stacked(members), NO_RIDGE).steps(np.zeros(2))
    assert solved.all()
    assert not step.is_newton[0]
    assert np.isfinite(step.own).all()


def test_a_singular_block_of_one_system_leaves_the_others_solved():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(2, 3, 2, 4))
    judge = root @ root.swapaxes(-1, -2)
    judge[1, 2] = np.ones((2, 2))
    arrows = Arrow(judge, rng.normal(size=(2, 3, 2, 2)), 50.0 * np.stack([np.eye(2)] * 2))
    own, shared = rng.normal(size=(2, 3, 2)), rng.normal(size=(2, 2))
    with np.errstate(all="raise"):
        found_own, found_shared, solved = solve_arrows(arrows, own, shared)
    assert solved.tolist() == [True, False]
    alone = solve_arrow(Arrow(judge[0], arrows.coupling[0], arrows.shared[0]), own[0], shared[0])
    np.testing.assert_allclose(found_own[0], alone[0], atol=ROUNDING)
    np.testing.assert_allclose(found_shared[0], alone[1], atol=ROUNDING)
    assert solve_arrow(Arrow(judge[1], arrows.coupling[1], arrows.shared[1]), own[1], shared[1]) is None


@pytest.mark.parametrize("kind", KINDS)
def test_runs_together_end_where_each_of_them_ends_alone(kind):
    cells, structure = panel(kind), LowRank(1)
    starts = no_terms(cells, starting_scores(cells, structure, 3, np.random.default_rng(0)))
    runs, ended = Runs(cells, structure), []
    runs.start(starts)
    order = list(runs.members)
    while runs.members:
        runs.advance()
        ended += runs.leave([i for i, run in enumerate(runs.members) if run.ended])
    together = {id(run): runs.outcome(run, here) for run, here in ended}
    for i, run in enumerate(order):
        found, alone = together[id(run)], maximise(cells, structure, part_of(starts, i))
        assert found.converged == alone.converged
        assert found.value == pytest.approx(alone.value, abs=1e-7)
        if alone.converged:
            assert found.iterations == alone.iterations
            np.testing.assert_allclose(found.at.scores, alone.at.scores, atol=1e-7)


def test_a_search_finds_the_same_however_many_runs_move_at_once(monkeypatch):
    cells = panel("incomplete")
    together = search(cells, LowRank(1))
    monkeypatch.setattr(limits, "STACKED_CELLS", 0)
    alone = search(cells, LowRank(1))
    np.testing.assert_allclose(together.values, alone.values, atol=1e-7)
    assert together.n_starts == alone.n_starts


def test_empty_cells_change_nothing():
    cells = panel("complete")
    gone = (cells.judge == 1) & (cells.first == 0) & (cells.second > 2)
    some = aggregate(*(a[~gone] for a in (cells.judge, cells.first, cells.second, cells.y / cells.n, cells.n)), K, N)
    full = some.completed()
    assert some.pairs is None
    assert full.pairs is not None
    assert len(full.n) == len(cells.n)
    assert full.n.sum() == some.n.sum()
    assert full.completed() is full
    at = no_terms(some, np.random.default_rng(0).normal(size=(K, N)))
    sparse, dense = (maximise(of, LowRank(1), at) for of in (some, full))
    np.testing.assert_allclose(dense.path, sparse.path, rtol=1e-12)
    np.testing.assert_allclose(dense.at.scores, sparse.at.scores, atol=1e-9)
    # A pair nobody compared does not say how far out a point is.
    far = no_terms(full, np.zeros((K, N)))
    far.scores[1, 0], far.scores[1, 3] = 40.0, 0.0
    point = evaluated(full, far, LowRank(1).member(far.scores)[1], NO_RIDGE)
    runs = Runs(full, LowRank(1))
    assert runs.extent(point) == np.abs(point.cells.eta[full.n > 0]).max()


def test_a_panel_with_few_of_its_pairs_is_left_as_it_is():
    cells = aggregate(np.zeros(3, int), np.array([0, 1, 2]), np.array([1, 2, 3]), np.ones(3), np.ones(3), 1, 6)
    assert cells.completed() is cells


def test_the_last_step_is_as_short_as_foretold():
    cells, structure = panel("complete"), LowRank(1)
    found = search(cells, structure).best
    scores, tangent = structure.member(found.at.scores)
    here = evaluated(cells, replace(found.at, scores=scores), tangent, NO_RIDGE)
    step = QuadraticModel(cells, here, NO_RIDGE).step(0.0)
    assert np.sqrt(-step.slope) < 1e-9
    assert found.distance <= 1e-6
