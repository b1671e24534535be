from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm

import hjastats as hja
from hjastats.data.cells import Cells
from hjastats.model.decomposition import canonical
from hjastats.model.design import Coefficients, Design
from hjastats.model.information import Arrow
from hjastats.model.likelihood import evaluate, gradient
from hjastats.model.structures import LowRank, Pooled, Unrestricted
from hjastats.simulation import heterogeneous_panel, near_balanced_design, simulate_comparisons
from hjastats.solve.alternating import alternate
from hjastats.solve.existence import find_separation
from hjastats.solve.quadratic import solve_arrow, state_at
from hjastats.solve.ridge import NO_RIDGE, Ridge
from hjastats.solve.search import no_terms, search
from hjastats.solve.starts import breakaway_scores, initialise, judgewise_scores, pooled_scores, starting_scores
from hjastats.solve.trust import maximise, neighbourhood, next_length
from tests.counting import aggregate

# Two optimisers that both satisfy the first-order conditions agree far below a standard error.
SAME_OPTIMUM = 1e-8


@pytest.fixture(scope="module")
def cells() -> Cells:
    panel = heterogeneous_panel(5, 7, rank=1, heterogeneity=0.3, rng=3)
    return Design.of(simulate_comparisons(0.6 * panel.scores, near_balanced_design(5, 7, 3000, rng=4), rng=5).cells)


def design_matrix(cells):
    design = np.zeros((len(cells.n), cells.n_items))
    rows = np.arange(len(cells.n))
    design[rows, cells.first], design[rows, cells.second] = 1.0, -1.0
    return design[:, 1:]


def test_pooled_scores_equal_a_statsmodels_glm(cells):
    found = maximise(cells, Pooled(), no_terms(cells, np.zeros((5, 7))))
    wins = np.column_stack([cells.y, cells.n - cells.y])
    glm = sm.GLM(wins, design_matrix(cells), family=sm.families.Binomial()).fit(tol=1e-13)
    reference = np.r_[0.0, glm.params]
    assert found.converged
    np.testing.assert_allclose(found.at.scores, np.tile(reference - reference.mean(), (5, 1)), atol=SAME_OPTIMUM)


def test_unrestricted_scores_equal_one_glm_per_judge(cells):
    found = maximise(cells, Unrestricted(), no_terms(cells, np.zeros((5, 7))))
    for judge in range(5):
        mine = cells.judge == judge
        wins = np.column_stack([cells.y, cells.n - cells.y])[mine]
        glm = sm.GLM(wins, design_matrix(cells)[mine], family=sm.families.Binomial()).fit(tol=1e-13, maxiter=200)
        reference = np.r_[0.0, glm.params]
        np.testing.assert_allclose(found.at.scores[judge], reference - reference.mean(), atol=1e-6)


def test_largest_rank_reaches_the_unrestricted_likelihood(cells):
    largest = search(cells, LowRank(4)).best
    unrestricted = maximise(cells, Unrestricted(), no_terms(cells, np.zeros((5, 7))))
    assert largest.value == pytest.approx(unrestricted.value, rel=1e-10)
    np.testing.assert_allclose(largest.at.scores, unrestricted.at.scores, atol=1e-6)


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_optimum_is_stationary_in_every_free_direction(cells, rank):
    best = search(cells, LowRank(rank)).best
    assert best.converged
    here = evaluate(cells, best.at)
    tangent = LowRank(rank).tangent(best.at.scores)
    assert np.abs(tangent.coordinates(gradient(cells, here).scores)).max() < 1e-8


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_alternating_decreases_at_every_step_and_ends_at_the_same_optimum(cells, rank):
    start = no_terms(cells, initialise(cells, rank))
    run = alternate(cells, rank, start)
    values = np.array(run.values)
    assert run.reached_tolerance
    # Increases below the rounding error of a sum of a few thousand terms are not increases.
    assert (np.diff(values) <= 1e-12 * values[0]).all()
    assert values[-1] == pytest.approx(search(cells, LowRank(rank)).best.value, rel=1e-9)


def test_alternating_raises_tau_when_reanchoring_fails(cells, monkeypatch):
    from hjastats.model.decomposition import AnchoringError
    from hjastats.solve import alternating

    original, calls = alternating.reanchor, []

    def failing_twice(*parts):
        calls.append(1)
        if len(calls) <= 2:
            raise AnchoringError("made to fail")
        return original(*parts)

    monkeypatch.setattr(alternating, "reanchor", failing_twice)
    start = no_terms(cells, initialise(cells, 1))
    run = alternate(cells, 1, start, tau=0.01, maxiter=3)
    assert run.taus[0] == pytest.approx(1.0)
    assert run.values[-1] < run.values[0]


def test_initialisation_has_the_asked_rank_and_the_pooled_consensus(cells):
    pooled = pooled_scores(cells)
    for rank in (0, 1, 2):
        scores = initialise(cells, rank)
        assert np.linalg.matrix_rank(scores, tol=1e-8) == rank + 1
        np.testing.assert_allclose(scores.mean(axis=0), pooled, atol=1e-12)


def test_every_start_is_finite_and_of_the_right_rank(cells):
    for structure in (Pooled(), LowRank(0), LowRank(2), Unrestricted()):
        for scores in starting_scores(cells, structure, 3, np.random.default_rng(0)):
            assert np.isfinite(scores).all()
            np.testing.assert_allclose(structure.nearest(scores), scores, atol=1e-10)


def test_ridge_shrinks_and_satisfies_its_own_first_order_conditions(cells):
    structure, ridge = LowRank(1), 5.0
    plain, shrunk = search(cells, structure).best, search(cells, structure, ridge=Ridge(ridge)).best
    assert np.linalg.norm(shrunk.at.scores) < np.linalg.norm(plain.at.scores)
    assert shrunk.negative_loglike > plain.negative_loglike
    here = evaluate(cells, shrunk.at)
    slope = Ridge(ridge).add_to_gradient(cells, gradient(cells, here), shrunk.at).scores
    assert np.abs(structure.tangent(shrunk.at.scores).coordinates(slope)).max() < 1e-8


def test_arrow_solution_equals_the_dense_one():
    rng = np.random.default_rng(0)
    K, f, s = 3, 2, 4
    root = rng.normal(size=(K * f + s, K * f + s + 3))
    dense = root @ root.T
    for a in range(K):
        for b in range(K):
            if a != b:
                dense[a * f : a * f + f, b * f : b * f + f] = 0
    dense += 10 * np.eye(len(dense))
    judge = np.array([dense[k * f : k * f + f, k * f : k * f + f] for k in range(K)])
    arrow = Arrow(judge, dense[: K * f, K * f :].reshape(K, f, s), dense[K * f :, K * f :])
    right = rng.normal(size=K * f + s)
    own, shared = solve_arrow(arrow, right[: K * f].reshape(K, f), right[K * f :], np.full(f, 0.5), np.full(s, 0.5))
    expected = np.linalg.solve(dense + 0.5 * np.eye(len(dense)), right)
    np.testing.assert_allclose(np.r_[own.ravel(), shared], expected, atol=1e-12)


def test_a_neighbourhood_contains_states_as_much_worse_as_their_distance_predicts(cells):
    structure = LowRank(1)
    optimum = maximise(cells, structure, no_terms(cells, judgewise_scores(cells)))
    tangent = structure.tangent(optimum.at.scores)
    near = neighbourhood(cells, state_at(cells, optimum.at, tangent, NO_RIDGE), radius=3.0)
    rng = np.random.default_rng(0)
    direction = structure.nearest(rng.normal(size=optimum.at.scores.shape))

    def moved(length):
        at = replace(optimum.at, scores=structure.nearest(optimum.at.scores + length * direction))
        return at, evaluate(cells, at).value

    at, value = moved(1e-2)
    assert near.contains(at, value)
    # Better than the optimum, another value at the same scores, too far away: heading elsewhere.
    assert not near.contains(at, optimum.value - 1e-3)
    assert not near.contains(at, value + 0.5 * (value - optimum.value))
    assert not near.contains(*moved(10.0))


def test_an_arrow_that_is_not_positive_definite_has_no_solution():
    arrow = Arrow(np.ones((1, 1, 1)), np.full((1, 1, 1), 2.0), np.ones((1, 1)))
    assert solve_arrow(arrow, np.ones((1, 1)), np.ones(1)) is None


def test_an_undefeated_item_is_reported_as_separation_with_its_direction():
    judge = np.zeros(60, dtype=int)
    first = np.tile([0, 0, 1], 20)
    second = np.tile([1, 2, 2], 20)
    outcome = np.where(first == 0, 1.0, np.arange(60) % 2)
    cells = aggregate(judge, first, second, outcome, np.ones(60), 1, 3)
    found = maximise(cells, Pooled(), no_terms(cells, np.zeros((1, 3))))
    assert found.diverges
    assert not found.converged
    separation = find_separation(cells, found.at, Pooled().tangent(found.at.scores), diverges=True)
    assert separation is not None
    assert separation.rising.tolist() == [0]
    # The sum to zero carries the others down, which is no movement of theirs.
    assert separation.falling.tolist() == []


def test_a_run_to_infinity_is_not_ended_by_its_own_damping():
    """Stopped when a heavily damped step gained little, this fit was a whole log-likelihood unit short."""
    rng = np.random.default_rng(38)
    n_judges, n_items, n = 6, 6, 180
    scores = rng.uniform(0.2, 2, (n_judges, 1)) * rng.normal(size=n_items)
    scores = scores + 2.0 * rng.normal(size=(n_judges, 2)) @ rng.normal(size=(2, n_items))
    judge, first = rng.integers(n_judges, size=n), rng.integers(n_items, size=n)
    second = (first + rng.integers(1, n_items, size=n)) % n_items
    wins = rng.random(n) < 1 / (1 + np.exp(scores[judge, second] - scores[judge, first]))
    data = hja.Comparisons.from_arrays(judge, first, second, wins.astype(float))
    result = hja.JAModel.from_comparisons(data, position="judge").fit(warn_convergence=False)
    assert result.fit.optimum.diverges
    assert result.llf > -74.2


def test_finite_estimates_are_not_called_separated(cells):
    best = search(cells, LowRank(1)).best
    assert find_separation(cells, best.at, LowRank(1).tangent(best.at.scores)) is None


def test_long_chains_of_items_far_apart_are_not_called_separated():
    """Scores 40 log-odds apart are estimable through the items between them."""
    n = 21
    low, high = np.arange(n - 1), np.arange(1, n)
    counts = np.full(n - 1, 1000.0)
    arrays = np.zeros(n, int), np.r_[low, 0], np.r_[high, n - 1], np.r_[counts, 1], np.r_[counts * 0.881, 1]
    cells = Design(*arrays, 1, n)
    found = maximise(cells, Pooled(), no_terms(cells, np.zeros((1, n))))
    assert found.converged
    assert np.ptp(found.at.scores) > 39
    assert find_separation(cells, found.at, Pooled().tangent(found.at.scores)) is None


def test_two_optima_are_both_listed_and_the_better_one_kept():
    """Two halves of a panel with unrelated rankings and one dimension to share: each half is a local optimum."""
    rng = np.random.default_rng(2)
    mu = np.linspace(-2, 2, 6)
    scores = np.vstack([np.tile(mu, (3, 1)), np.tile(rng.permutation(mu), (3, 1))])
    data = simulate_comparisons(scores, near_balanced_design(6, 6, 6000, rng=1), rng=2)
    starts = [
        no_terms(Design.of(data.cells), np.outer(w, s))
        for w, s in (([1, 1, 1, 0, 0, 0], scores[0]), ([0, 0, 0, 1, 1, 1], scores[5]))
    ]
    found = search(Design.of(data.cells), LowRank(0), starts=starts)
    alone = [maximise(Design.of(data.cells), LowRank(0), start).value for start in starts]
    assert found.best.value == pytest.approx(min(alone))
    assert len(found.values) == len({round(value, 4) for value in alone})
    assert sum(found.counts) == 2


def test_scores_of_the_start_need_not_satisfy_the_structure(cells):
    rough = Coefficients(np.random.default_rng(0).normal(size=(5, 7)) + 3.0, np.zeros((5, 0)), np.zeros(0))
    best = maximise(cells, LowRank(1), rough)
    assert best.converged
    canonical(best.at.scores, 1)


def test_a_larger_rank_never_fits_worse_than_a_smaller_one():
    for seed in range(25):
        rng = np.random.default_rng(seed)
        panel = heterogeneous_panel(6, 7, 3, heterogeneity=0.8, rng=rng)
        data = simulate_comparisons(0.5 * panel.scores, near_balanced_design(6, 7, 900, rng=rng), rng=rng)
        values = [search(Design.of(data.cells), LowRank(rank)).best.value for rank in range(4)]
        assert (np.diff(values) < 1e-6).all()


def test_a_finite_optimum_below_a_likelihood_that_rises_to_infinity_is_not_reported():
    panel = heterogeneous_panel(10, 3, 1, heterogeneity=0.6, rng=333)
    cells = Design.of(
        simulate_comparisons(0.5 * panel.scores, near_balanced_design(10, 3, 450, rng=333), rng=333).cells
    )
    judgewise = no_terms(cells, judgewise_scores(cells))
    finite = maximise(cells, LowRank(0), judgewise)
    assert finite.converged
    found = search(cells, LowRank(0)).best
    assert found.diverges
    assert found.value < finite.value - 1.0
    assert find_separation(cells, found.at, LowRank(0).tangent(found.at.scores), diverges=True) is not None


def test_a_run_that_diverges_stops_before_the_finite_scores_drown(cells):
    extreme = Design(
        cells.judge, cells.first, cells.second, cells.n, np.where(cells.judge == 0, cells.n, cells.y), 5, 7
    )
    found = maximise(extreme, LowRank(1), no_terms(extreme, judgewise_scores(extreme)))
    assert found.diverges
    assert np.abs(found.at.scores).max() < 1e3


@pytest.mark.parametrize("weight", [1e-9, 1e15])
def test_weights_of_any_size_give_the_same_scores(cells, weight):
    # So large that the ridge of the starts is nothing beside them, or so small that the data are nothing beside the ridge.
    expected = search(cells, LowRank(1)).best
    found = search(replace(cells, n=weight * cells.n, y=weight * cells.y), LowRank(1)).best
    assert found.converged
    np.testing.assert_allclose(found.at.scores, expected.at.scores, atol=1e-6)


def test_only_short_newton_steps_foretell_the_next_one():
    assert next_length(1e-5) == pytest.approx(1e-10)
    assert next_length(1e-3) == 1e-3


def test_starts_far_out_find_judges_who_run_away_together():
    """Four of five judges set one item apart, two above and two below: no judge of them leads alone."""
    panel = heterogeneous_panel(5, 6, 1, heterogeneity=0.5, rng=1)
    cells = Design.of(simulate_comparisons(0.3 * panel.scores, near_balanced_design(5, 6, 3000, rng=2), rng=3).cells)
    apart = (cells.first == 0) & (cells.judge < 4)
    extreme = replace(cells, y=np.where(apart, np.where(cells.judge < 2, cells.n, 0.0), cells.y))
    starts = breakaway_scores(extreme, LowRank(0), 50, np.random.default_rng(0))
    together = [np.abs(scores[:4, 0]).min() for scores in starts]
    assert max(together) > 5.0
    found = search(extreme, LowRank(0))
    assert found.best.diverges
