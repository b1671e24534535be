"""Steps, runs and what a search makes of several starts, on panels with and without terms, ties and empty cells."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hjastats.data.cells import Cells, collapse
from hjastats.model.design import Coefficients, assemble
from hjastats.model.information import Arrow
from hjastats.model.likelihood import evaluate
from hjastats.model.responses import BINARY, DAVIDSON
from hjastats.model.structures import LowRank
from hjastats.model.terms import gather
from hjastats.solve.quadratic import QuadraticModel, solve_arrow, state_at
from hjastats.solve.ridge import NO_RIDGE, Ridge
from hjastats.solve.search import no_terms, search, stacked
from hjastats.solve.starts import starting_scores
from hjastats.solve.trust import maximise
from tests.counting import aggregate

K, N = 4, 5


def panel(kind):
    """Random cells: with every pair or not, with terms of judges and of all, with ties as outcomes of their own."""
    rng = np.random.default_rng(1)
    n = 900 if kind == "complete" else 110
    judge, first = rng.integers(K, size=n), rng.integers(N, size=n)
    second = (first + rng.integers(1, N, size=n)) % N
    outcome, weight = rng.choice([0, 0.5, 1], n), rng.integers(1, 4, n) * 1.0
    if kind not in ("terms", "common", "judge"):
        return aggregate(judge, first, second, outcome, weight, K, N)
    columns = {
        "slope": rng.integers(2, size=n) * 1.0,
        "x1": rng.integers(-1, 2, n) * 1.0,
        "x2": rng.integers(-1, 2, n) * 1.0,
    }
    response = BINARY if kind == "terms" else DAVIDSON
    if kind == "judge":
        # A judge that never ties.
        outcome = np.where((judge == 2) & (outcome == 0.5), 1.0, outcome)
    terms = gather(["x1", "x2"], ["slope"], {"position": "judge"}, response.terms(kind, judge, outcome, K))
    rows = Cells(judge, first, second, weight, weight * outcome, K, N)
    return collapse(assemble(rows, outcome, terms, response, columns, pd.DataFrame(index=range(n))))


def random_states(cells, structure, ridge=NO_RIDGE, n=3):
    rng = np.random.default_rng(2)
    result = []
    for _ in range(n):
        scores, tangent = structure.member(rng.normal(size=(K, N)))
        judge = np.where(cells.is_own_parameter, 0.3 * rng.normal(size=(K, cells.n_judge_terms)), cells.terms.absent(K))
        at = Coefficients(scores, judge, 0.3 * rng.normal(size=cells.n_shared_terms))
        result.append(state_at(cells, at, tangent, ridge))
    return result


KINDS = ["complete", "incomplete", "terms", "common", "judge"]


@pytest.mark.parametrize("kind", KINDS)
def test_values_of_a_stack_are_those_of_its_members(kind):
    cells = panel(kind)
    members = random_states(cells, LowRank(1))
    together = evaluate(cells, stacked([member.at for member in members]))
    np.testing.assert_allclose(together.value, [member.value for member in members], rtol=1e-13)
    np.testing.assert_allclose(together.eta, [member.derivatives.eta for member in members], atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ridge", [NO_RIDGE, Ridge(0.7, 0.3)], ids=["plain", "ridge"])
def test_a_short_step_gains_what_is_expected_of_it(kind, ridge):
    cells, structure = panel(kind), LowRank(1)
    for here in random_states(cells, structure, ridge):
        step = QuadraticModel(cells, here, ridge).step(1e6)
        gain = here.value - step.taken(cells, structure, here, ridge).value
        # Damped so much that the quadratic term is nothing beside the slope.
        assert gain == pytest.approx(-step.slope, rel=1e-3)


def test_a_state_that_is_bent_the_wrong_way_takes_a_scoring_step():
    cells, structure = panel("incomplete"), LowRank(1)
    states = random_states(cells, structure, n=30)
    steps = [QuadraticModel(cells, state, NO_RIDGE).step(0.0) for state in states]
    assert {step.is_newton for step in steps} == {True, False}
    assert all(step.slope < 0.0 for step in steps)


def test_an_absent_direction_has_no_curvature_to_use():
    cells, structure = panel("complete"), LowRank(1)
    scores, tangent = structure.member(np.outer(np.ones(K), np.arange(N) - 2.0))
    here = state_at(cells, no_terms(cells, scores), replace(tangent, strength=np.array([1.0, 0.0])), NO_RIDGE)
    with np.errstate(all="raise"):
        step = QuadraticModel(cells, here, NO_RIDGE).step(0.0)
    assert not step.is_newton
    assert np.isfinite(step.own).all()


def test_a_singular_block_has_no_solution_before_it_is_damped():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 2, 4))
    judge = root @ root.swapaxes(-1, -2)
    judge[2] = np.ones((2, 2))
    arrow = Arrow(judge, rng.normal(size=(3, 2, 2)), 50.0 * np.eye(2))
    own, shared = rng.normal(size=(3, 2)), rng.normal(size=2)
    with np.errstate(all="raise"):
        assert solve_arrow(arrow, own, shared) is None
    assert solve_arrow(arrow, own, shared, np.ones(2), np.ones(2)) is not None


@pytest.mark.parametrize("kind", KINDS)
def test_a_search_finds_what_each_of_its_starts_finds_alone(kind):
    cells, structure = panel(kind), LowRank(1)
    scores = starting_scores(cells, structure, 3, np.random.default_rng(0))
    starts = [no_terms(cells, own) for own in scores]
    found, alone = search(cells, structure, starts=starts), [maximise(cells, structure, start) for start in starts]
    assert found.n_starts == len(starts) == len(found.paths)
    assert found.best.value == pytest.approx(min(one.value for one in alone), abs=1e-7)
    assert found.n_unfinished == sum(not one.converged for one in alone)


def test_equal_starts_are_run_once():
    cells = panel("complete")
    start = no_terms(cells, starting_scores(cells, LowRank(1), 0, np.random.default_rng(0))[0])
    found = search(cells, LowRank(1), starts=[start] * 4)
    assert found.counts == (4,)
    assert sorted(len(path) > 1 for path in found.paths) == [False, False, False, True]


def test_the_last_step_was_as_short_as_foretold():
    cells, structure = panel("complete"), LowRank(1)
    found = search(cells, structure).best
    scores, tangent = structure.member(found.at.scores)
    here = state_at(cells, replace(found.at, scores=scores), tangent, NO_RIDGE)
    step = QuadraticModel(cells, here, NO_RIDGE).step(0.0)
    assert np.sqrt(-step.slope) < 1e-9
    assert found.distance <= 1e-6
