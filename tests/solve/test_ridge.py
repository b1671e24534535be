import numpy as np
import pytest
from scipy.optimize import minimize
from statsmodels.tools.numdiff import approx_fprime, approx_hess

import hjastats as hja
from hjastats.model.design import Coefficients
from hjastats.model.information import Arrow
from hjastats.model.likelihood import evaluate
from hjastats.simulation import heterogeneous_panel, near_balanced_design, simulate_comparisons
from hjastats.solve.precision import LargeCovariance, information_at
from hjastats.solve.products import ProductSystem, in_free_order
from hjastats.solve.quadratic import solve_arrow
from hjastats.solve.ridge import Ridge

ALPHA = 1.3
# Second differences of a function of size 300 have errors of 1e-5 of its largest curvature.
NUMERICAL = 1e-4
MODELS = [
    (hja.BTLModel, {}),
    (hja.JAModel, {}),
    (hja.HJAModel, {"rank": 1}),
    (hja.HJAModel, {"rank": 2}),
    (hja.JudgewiseBTLModel, {}),
]


@pytest.fixture(scope="module")
def few():
    """Six judges with some ties, of whom one never ties."""
    panel = heterogeneous_panel(6, 7, 1, rng=1)
    drawn = simulate_comparisons(panel.scores, near_balanced_design(6, 7, 600, rng=2), rng=3).to_frame()
    drawn.loc[(np.arange(len(drawn)) % 9 == 0) & (drawn["judge"] != drawn["judge"].iloc[0]), "outcome"] = 0.5
    return hja.Comparisons.from_arrays(*(drawn[name] for name in ("judge", "first", "second", "outcome")))


def relabelled(data, n_labels, rng):
    """The verdicts of every judge spread at random over several labels."""
    table, extra = data.to_frame(), np.random.default_rng(rng).integers(n_labels, size=data.n_rows)
    judge = [f"{name} {i}" for name, i in zip(table["judge"], extra, strict=True)]
    return hja.Comparisons.from_arrays(judge, *(table[name] for name in ("first", "second", "outcome")))


def test_the_penalty_is_that_of_the_consensus_and_of_the_departures_from_it(few):
    design, rng = hja.JAModel.from_comparisons(few, position="judge").design, np.random.default_rng(0)
    at = Coefficients(rng.normal(size=(6, 7)), rng.normal(size=(6, 1)), np.zeros(0))
    parts = [x.mean(axis=0) for x in (at.scores, at.judge)], (at.scores.var(axis=0) * 6, at.judge.var(axis=0) * 6)
    scores, terms = (float((m**2).sum() + departures.sum()) for m, departures in zip(*parts, strict=True))
    assert Ridge(0.7, 0.3).value(design, at) == pytest.approx(0.35 * scores + 0.15 * terms, rel=1e-12)
    alike = Coefficients(np.tile(at.scores[0], (6, 1)), np.zeros((6, 1)), np.zeros(0))
    assert Ridge(0.7).value(design, alike) == pytest.approx(0.35 * float(at.scores[0] @ at.scores[0]), rel=1e-12)


@pytest.mark.parametrize("terms", [False, True])
@pytest.mark.parametrize(("model", "options"), MODELS)
def test_derivatives_are_those_of_finite_differences(few, model, options, terms):
    fit = (
        model.from_comparisons(few, position="judge", ties="davidson", tie="judge", **options)
        .fit_regularized(ALPHA, terms=terms)
        .fit
    )
    ridge = fit.penalty.ridge

    def objective(free):
        at = fit.layout.from_free(free, fit.tangent)
        return evaluate(fit.design, at).value + ridge.value(fit.design, at)

    observed = information_at(fit.design, fit.at, fit.tangent, "observed", ridge)
    assert fit.converged
    assert np.abs(approx_fprime(fit.params_free, objective, centered=True)).max() < 1e-5
    np.testing.assert_allclose(
        approx_hess(fit.params_free, objective), observed, atol=NUMERICAL * np.abs(observed).max()
    )
    plain = information_at(fit.design, fit.at, fit.tangent)
    assert fit.df == pytest.approx(np.trace(fit.covariance.covariance @ plain), rel=1e-9)


def test_the_optimum_is_that_of_a_general_optimiser_on_the_factors(few):
    model = hja.HJAModel.from_comparisons(few, rank=1)
    fit = model.fit_regularized(ALPHA).fit
    rng = np.random.default_rng(0)

    def objective(values):
        judges, items = values[:12].reshape(2, 6), values[12:].reshape(2, 7)
        scores = judges.T @ (items - items.mean(axis=1, keepdims=True))
        mean = scores.mean(axis=0)
        penalty = 0.5 * ALPHA * ((mean**2).sum() + ((scores - mean) ** 2).sum())
        return evaluate(model.design, Coefficients(scores, np.zeros((6, 0)), np.zeros(0))).value + penalty

    found = [minimize(objective, rng.normal(size=26), method="BFGS").fun for _ in range(5)]
    assert min(found) == pytest.approx(fit.optimum.value, rel=1e-9)


def test_a_bordered_arrow_has_the_solution_of_the_whole_matrix():
    rng = np.random.default_rng(0)
    K, f, s = 4, 2, 3
    root = rng.normal(size=(K * f + s, K * f + s + 3))
    dense = root @ root.T
    judge = np.array([dense[k * f : (k + 1) * f, k * f : (k + 1) * f] for k in range(K)])
    mask = np.kron(np.eye(K), np.ones((f, f)))
    dense[: K * f, : K * f] *= mask
    dense += 30.0 * np.eye(len(dense))
    judge = judge + 30.0 * np.eye(f)
    common = rng.normal(size=(K, f))
    whole = dense.copy()
    for j in range(f):
        column = np.zeros((K, f))
        column[:, j] = common[:, j]
        whole[: K * f, : K * f] -= np.outer(column, column)
    arrow = Arrow(judge, dense[: K * f, K * f :].reshape(K, f, s), dense[K * f :, K * f :], common)
    own, shared = rng.normal(size=(K, f)), rng.normal(size=s)
    right = np.concatenate([own.ravel(), shared])
    np.testing.assert_allclose(
        np.concatenate([part.ravel() for part in solve_arrow(arrow, own, shared)]), np.linalg.solve(whole, right)
    )
    assert arrow.quadratic_form(own, shared) == pytest.approx(right @ whole @ right)


@pytest.mark.parametrize(("model", "options"), MODELS)
def test_products_equal_the_matrix(few, model, options):
    fit = model.from_comparisons(few, position="judge", **options).fit_regularized(ALPHA, terms=True).fit
    design, ridge = fit.design, fit.penalty.ridge
    large = LargeCovariance(design, fit.at, fit.tangent, "expected", ridge)
    x = np.random.default_rng(0).standard_normal(design.n_linear + fit.tangent.n_free)
    own, shared = large._in_arrow(x[None])
    system = ProductSystem(design, evaluate(design, fit.at), fit.tangent, ridge)
    times, _ = system._operators(False, system.own_ridge, system.shared_ridge)
    product = times(np.concatenate([own[0], shared[0]]))
    back = in_free_order(product[: own.size].reshape(system.own_ridge.shape), product[own.size :], design)
    matrix = information_at(design, fit.at, fit.tangent, ridge=ridge)
    np.testing.assert_allclose(back, matrix @ x, atol=1e-9)
    rows = np.eye(len(x))[::5]
    inverse = np.linalg.inv(matrix)
    np.testing.assert_allclose(large.of(rows), inverse[::5, ::5], atol=1e-10)
    np.testing.assert_allclose(large.times(rows), inverse[::5], atol=1e-10)


def test_judges_by_themselves_are_fitted_alike_by_blocks_and_by_products(few, set_limits):
    model = hja.JudgewiseBTLModel.from_comparisons(few)
    dense = model.fit_regularized(ALPHA)
    set_limits(DENSE_OWN_ITEMS=2)
    np.testing.assert_allclose(model.fit_regularized(ALPHA).params, dense.params, atol=1e-7)


@pytest.mark.parametrize("position", [None, "common"])
def test_pooled_scores_do_not_depend_on_how_verdicts_are_spread_over_judges(few, position):
    whole, parts = (
        hja.BTLModel.from_comparisons(data, position=position).fit_regularized(terms=True)
        for data in (few, relabelled(few, 20, rng=0))
    )
    np.testing.assert_allclose(parts.params, whole.params, atol=1e-9)
    np.testing.assert_allclose(parts.bse, whole.bse, atol=1e-9)
    assert parts.df_model == pytest.approx(whole.df_model, rel=1e-9)


def test_a_judge_that_says_little_is_taken_for_one_like_the_others(panel):
    table = panel.to_frame()
    table.loc[len(table)] = {**table.iloc[0], "judge": "light"}
    data = hja.Comparisons.from_arrays(*(table[name] for name in ("judge", "first", "second", "outcome")))
    result = hja.JAModel.from_comparisons(data).fit_regularized()
    # A prior around zero would leave such a judge next to none of the consensus.
    assert 0.7 < result.sensitivity.loc["light", "estimate"] < 1.5


def test_without_a_judge_the_penalty_is_that_of_the_others(few):
    model = hja.HJAModel.from_comparisons(few, rank=1, position="judge")
    fit = model.fit_regularized(ALPHA, terms=True).fit
    others = model.without_judges([model.judges[2]])
    keep = np.arange(6) != 2
    at = Coefficients(fit.at.scores[keep], fit.at.judge[keep], fit.at.shared)
    left_out = Ridge(0.7, 0.3, without=2).value(fit.design, fit.at)
    assert left_out == pytest.approx(Ridge(0.7, 0.3).value(others.design, at), rel=1e-12)
