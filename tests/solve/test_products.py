"""Fits of many items, by products with the information, against the same fits by matrices."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.model.design import Design
from hjastats.model.likelihood import evaluate, gradient
from hjastats.model.structures import LowRank, Pooled
from hjastats.simulation import heterogeneous_panel, near_balanced_design, simulate_comparisons
from hjastats.solve.precision import LargeCovariance, information_at
from hjastats.solve.products import ProductSystem, conjugate_gradients, in_free_order
from hjastats.solve.ridge import NO_RIDGE
from hjastats.solve.search import no_terms

OPTIONS = {
    "plain": {},
    "position": {"position": "judge"},
    "common position": {"position": "common"},
    "ties": {"ties": "davidson"},
    "ties per judge": {"ties": "davidson", "tie": "judge", "position": "judge"},
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    truth = heterogeneous_panel(5, 9, 2, heterogeneity=1.0, rng=rng)
    panel = simulate_comparisons(0.7 * truth.scores, near_balanced_design(5, 9, 4000, rng=rng), position=0.3, rng=rng)
    return replace(panel, outcome=np.where(rng.random(panel.n_rows) < 0.2, 0.5, panel.outcome))


@pytest.fixture
def many(set_limits):
    """Count every panel as one with many items."""
    set_limits(DENSE_SHARED=3)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("rank", [-1, 0, 1, 2])
def test_products_and_matrices_give_the_same_fit(data, rank, options, many, set_limits):
    model = (
        hja.BTLModel.from_comparisons(data, **options)
        if rank < 0
        else hja.HJAModel.from_comparisons(data, rank=rank, **options)
    )
    large = model.fit()
    assert isinstance(large.fit.model_covariance, LargeCovariance)
    set_limits(DENSE_SHARED=500)
    small = model.fit()
    assert large.converged
    assert large.llf == pytest.approx(small.llf, abs=1e-8)
    np.testing.assert_allclose(large.params, small.params, atol=1e-7)
    np.testing.assert_allclose(large.bse, small.bse, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(large.consensus, small.consensus, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(large.cov_params(), small.cov_params(), atol=1e-7)
    np.testing.assert_allclose(large.judges.score_errors(), small.judges.score_errors(), rtol=1e-5)


@pytest.mark.parametrize("name", ["every judge alone", "largest rank"])
def test_many_judges_who_share_nothing(data, name, set_limits):
    """Judges with scores of their own, and panels of full rank, have no shared coordinates."""
    few = data.subset(np.isin(data.first_index, range(4)) & np.isin(data.second_index, range(4)))
    model = (
        hja.JudgewiseBTLModel.from_comparisons(data)
        if name == "every judge alone"
        else hja.HJAModel.from_comparisons(few, rank=2)
    )
    small = model.fit()
    set_limits(MANY_FREE=3)
    large = model.fit()
    assert isinstance(large.fit.model_covariance, LargeCovariance)
    assert large.converged
    np.testing.assert_allclose(large.bse, small.bse, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(large.judges.score_errors(), small.judges.score_errors(), rtol=1e-5)


@pytest.mark.parametrize("kind", ["expected", "observed"])
def test_a_covariance_too_large_for_memory_is_solved_for(data, kind, many, set_limits):
    model = hja.HJAModel.from_comparisons(data, rank=1, position="judge")
    result = model.fit(information=kind)
    by_factors = result.bse
    set_limits(LARGEST_MATRIX=3)
    again = model.fit(information=kind)
    np.testing.assert_allclose(again.bse, by_factors, rtol=1e-6)
    spec = f"mu[{data.items[0]}] - mu[{data.items[1]}]"
    assert again.contrast(spec).std_err[0] == pytest.approx(result.contrast(spec).std_err[0], rel=1e-6)


def test_few_contrasts_are_solved_for_and_many_wait_for_the_factors(data, many, set_limits):
    specs = ["gamma[judge-1] - gamma[judge-2]", f"S[judge-1, {data.items[0]}]", f"V[{data.items[0]}, 1]"]
    model = hja.HJAModel.from_comparisons(data, rank=1, position="judge")
    n_shared = 2 * (9 - 1 - 2)
    set_limits(AS_LONG_AS_FACTORS=2.5 * len(specs) / (n_shared / 1000) ** 2)
    result = model.fit()
    known = result.fit.model_covariance
    solved = [result.contrast(specs).cov for _ in range(2)]
    assert "_factors" not in known.__dict__
    factored = result.contrast(specs).cov
    assert "_factors" in known.__dict__
    np.testing.assert_allclose(solved, [factored] * 2, rtol=1e-6, atol=1e-9)


def test_ridge_and_its_effective_parameters(data, many, set_limits):
    model = hja.HJAModel.from_comparisons(data, rank=1, position="judge")
    large = model.fit_regularized(alpha=0.5, terms=True)
    set_limits(DENSE_SHARED=500)
    small = model.fit_regularized(alpha=0.5, terms=True)
    np.testing.assert_allclose(large.params, small.params, atol=1e-6)
    np.testing.assert_allclose(large.bse, small.bse, rtol=1e-5)
    plain = information_at(model.design, small.fit.at, small.fit.tangent)
    assert small.df_model == pytest.approx(np.trace(small.fit.covariance.covariance @ plain), rel=1e-8)
    assert large.df_model == pytest.approx(small.df_model, rel=1e-6)


def test_products_equal_the_matrix(data):
    model = hja.HJAModel.from_comparisons(data, rank=1, position="judge", ties="davidson", tie="judge")
    result = model.fit()
    cells, at, tangent = model.design, result.fit.at, result.fit.tangent
    moved = at.__class__(
        at.scores + 0.1 * np.sin(np.arange(at.scores.size)).reshape(at.scores.shape), at.judge, at.shared
    )
    here = evaluate(cells, moved)
    system = ProductSystem(cells, here, tangent, bending=gradient(cells, here).scores)
    large = LargeCovariance(cells, moved, tangent, "observed", NO_RIDGE)
    rng = np.random.default_rng(0)
    x = rng.standard_normal(int(cells.is_free.sum()) + tangent.n_free)
    own, shared = large._in_arrow(x[None])
    times, _ = system._operators(True, 0.0 * system.own_ridge, 0.0 * system.shared_ridge)
    product = times(np.concatenate([own[0], shared[0]]))
    back = in_free_order(product[: own.size].reshape(system.own_ridge.shape), product[own.size :], cells)
    np.testing.assert_allclose(back, information_at(cells, moved, tangent, "observed") @ x, atol=1e-8)


def test_what_the_design_does_not_determine_has_no_condition_number(many):
    # Two groups of items that only a structured model links: each judge compares within one group.
    first, second = ["a", "a", "b", "x", "x", "y"] * 20, ["b", "c", "c", "y", "z", "z"] * 20
    judge = ["j1", "j1", "j1", "j2", "j2", "j2"] * 20
    outcome = np.random.default_rng(0).integers(0, 2, 120)
    data = hja.Comparisons.from_arrays(judge, first, second, outcome)
    cells = Design.of(data.cells)
    tangent = Pooled().tangent(np.zeros((2, 6)))
    at = no_terms(cells, np.zeros((2, 6)))
    large = LargeCovariance(cells, at, tangent, "expected", NO_RIDGE)
    assert not large.is_identified
    assert np.isnan(large.variances(np.eye(5))).all()
    assert np.isnan(large.of(np.eye(5))).all()


def test_a_large_design_that_determines_too_little_is_not_called_separated(data, many, set_limits):
    set_limits(MANY_FREE=3)
    rng = np.random.default_rng(2)
    # One verdict far out on the scale of a covariate tells nothing any more, and the covariate is there twice.
    length = rng.standard_normal(data.n_rows)
    length[0] = 250.0
    outcome = np.where(rng.random(data.n_rows) < 1.0 / (1.0 + np.exp(-0.3 * length)), 1.0, data.outcome)
    columns = pd.DataFrame({"length": length, "twice": 2.0 * length})
    model = hja.JAModel.from_comparisons(replace(data, outcome=outcome, columns=columns), exog=["length", "twice"])
    result = model.fit(warn_convergence=False)
    assert not result.fit.model_covariance.is_identified
    assert result.fit.separation is None


def test_conjugate_gradients_solve_and_refuse():
    rng = np.random.default_rng(1)
    root = rng.standard_normal((30, 30))
    matrix, right = root @ root.T + np.eye(30), rng.standard_normal(30)
    diagonal = np.diag(matrix)
    x = conjugate_gradients(lambda v: matrix @ v, lambda v: v / diagonal, right, 1e-12)
    np.testing.assert_allclose(matrix @ x, right, atol=1e-8)
    matrix[0, 0] = -100.0
    assert conjugate_gradients(lambda v: matrix @ v, lambda v: v, right, 1e-12) is None


def test_coordinates_of_many_items_are_those_of_few():
    rng = np.random.default_rng(2)
    scores = LowRank(1).nearest(rng.standard_normal((6, 80)))
    tangent = LowRank(1).tangent(scores)
    np.testing.assert_allclose((tangent.shared_judges * tangent.strength) @ tangent.judge_items.T, scores, atol=1e-12)
    rows = rng.standard_normal((3, tangent.n_shared))
    np.testing.assert_allclose(tangent.to_items(rows), rows @ tangent.shared_items.T, atol=1e-13)
    np.testing.assert_allclose(tangent.along_shared(tangent.to_items(rows)), rows, atol=1e-13)


@pytest.mark.usefixtures("many")
def test_factors_that_fail_leave_no_standard_errors(data):
    result = hja.HJAModel.from_comparisons(data, rank=1).fit()
    large = result.fit.model_covariance
    large.__dict__["_factors"] = None
    rows = np.eye(int(result.df_model))[:2]
    assert large.is_identified
    assert np.isnan(large.variances(rows)).all()
    assert np.isnan(large.of(rows)).all()


def test_contrasts_along_a_long_chain_are_exact(many, set_limits):
    # Every item meets the next one only: the variance of a difference is the sum of those of the links between.
    rng, n_items = np.random.default_rng(0), 40
    items = np.array([f"item-{i:02d}" for i in range(n_items)])
    n = rng.integers(5, 20, n_items - 1)
    wins = rng.integers(1, n)
    pairs = (np.tile(items[:-1], 2), np.tile(items[1:], 2))
    data = hja.Comparisons.from_arrays(
        "j", *pairs, np.repeat([1.0, 0.0], n_items - 1), np.concatenate([wins, n - wins]).astype(float)
    )
    exact = np.sqrt((n / (wins * (n - wins))).sum())
    set_limits(AS_LONG_AS_FACTORS=1e6)
    for most, is_factored in ((1000, False), (5, True)):
        # Too few products to get from one end to the other.
        set_limits(SOLUTION_PRODUCTS=most)
        result = hja.BTLModel.from_comparisons(data).fit()
        known = result.fit.model_covariance
        assert isinstance(known, LargeCovariance)
        assert result.contrast(f"mu[{items[0]}] - mu[{items[-1]}]").std_err[0] == pytest.approx(exact, rel=1e-8)
        assert ("_factors" in known.__dict__) == is_factored
    # Too large for factors, it is not known.
    set_limits(LARGEST_MATRIX=3, SOLUTION_PRODUCTS=1)
    result = hja.BTLModel.from_comparisons(data).fit()
    assert np.isnan(result.contrast(f"mu[{items[0]}] - mu[{items[-1]}]").std_err[0])


@pytest.mark.parametrize(
    "options", [{}, {"ties": "davidson", "tie": "judge", "position": "common"}], ids=["plain", "terms"]
)
def test_parameters_one_by_one_have_the_same_errors_as_all_at_once(data, options, set_limits):
    # The first judge never ties, so that one of the tie propensities is no parameter.
    data = replace(data, outcome=np.where(data.judge_index == 0, np.round(data.outcome), data.outcome))
    models = [hja.HJAModel.from_comparisons(data, rank=2, **options), hja.BTLModel.from_comparisons(data, **options)]
    for model in [*models, hja.JudgewiseBTLModel.from_comparisons(data)]:
        result = model.fit()
        bse, hypothesis = result.bse, f"{model.param_names[-1]} - {model.param_names[-2]} = 0"
        test = result.t_test(hypothesis)
        predicted = result.get_prediction().summary_frame()
        set_limits(ENTRIES_AT_ONCE=500)
        again = model.fit()
        np.testing.assert_allclose(again.bse, bse, rtol=1e-8)
        np.testing.assert_allclose(again.get_prediction().summary_frame(), predicted, rtol=1e-8)
        np.testing.assert_allclose(again.t_test(hypothesis).sd, test.sd, rtol=1e-8)
        with pytest.raises(hja.ContrastError, match="not testable"):
            again.t_test(np.zeros((1, len(bse))))
        set_limits.reset()
