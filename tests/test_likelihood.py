import numpy as np
import pytest
from scipy.special import expit, log_expit
from statsmodels.tools.numdiff import approx_fprime, approx_hess

from hjastats.geometry.parameters import Coefficients, ParameterLayout
from hjastats.geometry.structures import LowRank, Pooled, Unrestricted
from hjastats.likelihood import (
    bernoulli,
    evaluate,
    expected_information,
    free_design,
    free_gradient,
    free_information,
    gradient,
    observed_information,
    probability,
    reported_bending,
    reported_design,
)
from tests.counting import aggregate

# Second differences of a sum of about a hundred log-likelihood terms.
FINITE_DIFFERENCE = 2e-4


@pytest.fixture(params=[Pooled(), LowRank(0), LowRank(1), LowRank(2), Unrestricted()], ids=str)
def problem(request):
    """Random cells with judge and shared terms, and a point well away from the optimum."""
    rng = np.random.default_rng(0)
    K, N, n = 4, 5, 120
    judge, first = rng.integers(K, size=n), rng.integers(N, size=n)
    second = (first + rng.integers(1, N, size=n)) % N
    terms = np.column_stack([np.ones(n), rng.integers(2, size=n)]), rng.integers(-1, 2, size=(n, 2)).astype(float)
    cells = aggregate(judge, first, second, rng.choice([0, 0.5, 1], n), rng.integers(1, 4, n) * 1.0, K, N, *terms)
    layout = ParameterLayout(request.param, tuple("abcd"), tuple("vwxyz"), ("x1", "x2"), ("position", "slope"))
    scores = request.param.nearest(rng.normal(size=(K, N)))
    return cells, layout, Coefficients(scores, 0.3 * rng.normal(size=(K, 2)), 0.3 * rng.normal(size=2))


def negative_loglike(cells, at):
    return evaluate(cells, at).value


def test_free_gradient_matches_finite_differences(problem):
    cells, layout, at = problem
    frame = layout.structure.frame(at.scores)
    free = layout.to_free(at, frame)
    numerical = approx_fprime(free, lambda x: negative_loglike(cells, layout.from_free(x, frame)), centered=True)
    here = evaluate(cells, at)
    exact = free_gradient(gradient(cells, here), frame, cells)
    np.testing.assert_allclose(exact, numerical, atol=1e-6)
    np.testing.assert_allclose(free_design(cells, frame).T @ here.slope, exact, atol=1e-10)


def test_observed_information_matches_second_differences(problem):
    cells, layout, at = problem
    frame = layout.structure.frame(at.scores)
    free = layout.to_free(at, frame)
    here = evaluate(cells, at)
    arrow = expected_information(cells, here, frame)
    observed = observed_information(arrow, frame, gradient(cells, here).scores)
    exact = free_information(observed, cells)
    numerical = approx_hess(free, lambda x: negative_loglike(cells, layout.from_free(x, frame)))
    np.testing.assert_allclose(exact, numerical, atol=FINITE_DIFFERENCE * np.abs(exact).max())


def test_expected_information_is_the_weighted_product_of_the_design(problem):
    cells, layout, at = problem
    frame = layout.structure.frame(at.scores)
    here = evaluate(cells, at)
    arrow = expected_information(cells, here, frame)
    exact = free_information(arrow, cells)
    design = free_design(cells, frame)
    np.testing.assert_allclose(exact, design.T @ (here.curvature[:, None] * design), atol=1e-10)


def test_reported_derivatives_match_finite_differences(problem):
    cells, layout, at = problem
    params = layout.pack(at)
    objective = lambda x: negative_loglike(cells, layout.unpack(x))  # noqa: E731
    here = evaluate(cells, at)
    design = reported_design(cells, layout, params)
    np.testing.assert_allclose(design.T @ here.slope, approx_fprime(params, objective, centered=True), atol=1e-6)
    exact = design.T @ (here.curvature[:, None] * design)
    exact += reported_bending(layout, gradient(cells, here).scores)
    np.testing.assert_allclose(exact, approx_hess(params, objective), atol=FINITE_DIFFERENCE * np.abs(exact).max())


def test_bernoulli_agrees_with_scipy_and_is_exact_in_the_tails():
    eta = np.array([-800.0, -40.0, -1.0, 0.0, 2.0, 40.0, 800.0])
    n, y = np.full(7, 3.0), np.array([0.0, 0.0, 1.0, 1.5, 2.0, 3.0, 3.0])
    here = bernoulli(eta, n, y)
    exact = -(y * log_expit(eta) + (n - y) * log_expit(-eta))
    assert here.value == pytest.approx(exact.sum(), rel=1e-14)
    np.testing.assert_allclose(here.slope, np.where(y == n, -n * expit(-eta), n * expit(eta) - y), rtol=1e-13)
    np.testing.assert_allclose(here.curvature, n * expit(eta) * expit(-eta), rtol=1e-13)
    np.testing.assert_allclose(probability(eta), expit(eta), rtol=1e-15)
