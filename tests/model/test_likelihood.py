import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, log_expit
from statsmodels.tools.numdiff import approx_fprime, approx_hess

from hjastats.data.cells import Cells, collapse
from hjastats.model.design import Coefficients, assemble
from hjastats.model.information import expected_information, free_information, observed_information
from hjastats.model.layout import Layout
from hjastats.model.likelihood import cell_scores, evaluate, free_gradient, free_moves, free_regressors, gradient
from hjastats.model.response import bernoulli, probability
from hjastats.model.responses import BINARY, DAVIDSON
from hjastats.model.spanned import LowRankOnTraits
from hjastats.model.structures import LowRank, Pooled, Unrestricted
from hjastats.model.terms import gather

# Second differences of a sum of about a hundred log-likelihood terms.
FINITE_DIFFERENCE = 2e-4


TRAITS = np.array([[-2.0, 1.0, 0.5], [-1.0, 0.0, -1.5], [0.0, -2.0, 0.0], [1.0, 0.0, 2.0], [2.0, 1.0, -1.0]])
ON_TRAITS = [LowRankOnTraits(rank, TRAITS, ("size", "price", "age")) for rank in (0, 1)]
STRUCTURES = [Pooled(), LowRank(0), LowRank(1), LowRank(2), Unrestricted(), *ON_TRAITS]


@pytest.fixture(
    params=[(s, scope) for s in STRUCTURES for scope in (None, "common", "judge")],
    ids=lambda p: f"{p[0].name}-{p[1] or 'half'}",
)
def problem(request):
    """Random cells with judge, shared and tie terms, and a point well away from the optimum."""
    structure, scope = request.param
    rng = np.random.default_rng(0)
    K, N, n = 4, 5, 120
    judge, first = rng.integers(K, size=n), rng.integers(N, size=n)
    second = (first + rng.integers(1, N, size=n)) % N
    columns = rng.integers(2, size=n) * 1.0, *rng.integers(-1, 2, size=(2, n)).astype(float)
    outcome, weight = rng.choice([0, 0.5, 1], n), rng.integers(1, 4, n) * 1.0
    outcome = np.where((judge == 2) & (outcome == 0.5), 1.0, outcome)
    response = BINARY if scope is None else DAVIDSON
    terms = gather(["x1", "x2"], ["slope"], {"position": "judge"}, response.terms(scope, judge, outcome, K))
    rows = Cells(judge, first, second, weight, weight * outcome, K, N)
    covariates = dict(zip(("slope", "x1", "x2"), columns, strict=True))
    design = collapse(assemble(rows, outcome, terms, response, covariates, pd.DataFrame(index=range(n))))
    layout = Layout(structure, tuple("abcd"), tuple("vwxyz"), terms)
    own = np.where(design.is_own_parameter, 0.3 * rng.normal(size=(K, len(terms.own))), terms.absent(K))
    scores = structure.nearest(rng.normal(size=(K, N)))
    return design, layout, Coefficients(scores, own, 0.3 * rng.normal(size=len(terms.shared)))


def negative_loglike(cells, at):
    return evaluate(cells, at).value


def test_information_of_large_panels_is_that_of_small_ones(problem, set_limits):
    cells, layout, at = problem
    tangent, here = layout.structure.tangent(at.scores), evaluate(cells, at)
    dense = expected_information(cells, here, tangent)
    set_limits(DENSE_LAPLACIANS=0)
    sparse = expected_information(cells, here, tangent)
    for name in ("judge", "coupling", "shared"):
        np.testing.assert_allclose(getattr(sparse, name), getattr(dense, name), atol=1e-10)


def test_information_about_few_traits_of_many_items_needs_no_pairs_of_items(set_limits):
    rng = np.random.default_rng(0)
    traits = rng.normal(size=(40, 3))
    structure = LowRankOnTraits(1, traits - traits.mean(axis=0), ("size", "price", "age"))
    judge, first = rng.integers(5, size=100), rng.integers(40, size=100)
    second = (first + rng.integers(1, 40, size=100)) % 40
    rows = Cells(judge, first, second, np.full(100, 2.0), rng.integers(3, size=100) * 1.0, 5, 40)
    design = collapse(assemble(rows, rows.y / 2, gather([], [], {}, []), BINARY, {}, pd.DataFrame(index=range(100))))
    scores = structure.nearest(rng.normal(size=(5, 40)))
    tangent, at = structure.tangent(scores), Coefficients(scores, np.zeros((5, 0)), np.zeros(0))
    here = evaluate(design, at)
    dense = expected_information(design, here, tangent)
    set_limits(DENSE_LAPLACIANS=0)
    np.testing.assert_allclose(expected_information(design, here, tangent).shared, dense.shared, atol=1e-12)


def test_quadratic_form_of_an_arrow_is_that_of_its_dense_layout(problem):
    cells, layout, at = problem
    tangent, here = layout.structure.tangent(at.scores), evaluate(cells, at)
    slopes = gradient(cells, here)
    arrow = observed_information(expected_information(cells, here, tangent), tangent, slopes.scores)
    own = np.hstack([slopes.scores @ tangent.judge_items, slopes.judge])
    shared = np.concatenate([tangent.along_shared(tangent.shared_judges.T @ slopes.scores).ravel(), slopes.shared])
    free = free_gradient(slopes, tangent, cells)
    expected = free @ free_information(arrow, cells) @ free
    np.testing.assert_allclose(arrow.quadratic_form(own, shared), expected, rtol=1e-10)


def test_free_gradient_matches_finite_differences(problem):
    cells, layout, at = problem
    tangent = layout.structure.tangent(at.scores)
    free = layout.to_free(at, tangent)
    numerical = approx_fprime(free, lambda x: negative_loglike(cells, layout.from_free(x, tangent)), centered=True)
    here = evaluate(cells, at)
    exact = free_gradient(gradient(cells, here), tangent, cells)
    np.testing.assert_allclose(exact, numerical, atol=1e-6)
    by_cell = cell_scores(here, free_regressors(cells, tangent), free_moves(cells, tangent))
    np.testing.assert_allclose(-by_cell.sum(axis=0), exact, atol=1e-10)


def test_observed_information_matches_second_differences(problem):
    cells, layout, at = problem
    tangent = layout.structure.tangent(at.scores)
    free = layout.to_free(at, tangent)
    here = evaluate(cells, at)
    arrow = expected_information(cells, here, tangent)
    observed = observed_information(arrow, tangent, gradient(cells, here).scores)
    exact = free_information(observed, cells)
    numerical = approx_hess(free, lambda x: negative_loglike(cells, layout.from_free(x, tangent)))
    np.testing.assert_allclose(exact, numerical, atol=FINITE_DIFFERENCE * np.abs(exact).max())


def test_expected_information_is_the_weighted_product_of_the_design(problem):
    cells, layout, at = problem
    tangent = layout.structure.tangent(at.scores)
    here = evaluate(cells, at)
    arrow = expected_information(cells, here, tangent)
    exact = free_information(arrow, cells)
    design, is_tie = free_regressors(cells, tangent), free_moves(cells, tangent) == 1
    odds, ties = np.where(is_tie, 0, design), np.where(is_tie, design, 0)
    product = odds.T @ (here.curvature[:, None] * odds)
    if here.cross is not None:
        mixed = odds.T @ (here.cross[0][:, None] * ties)
        product += mixed + mixed.T + ties.T @ (here.own_curvature[0, 0][:, None] * ties)
    np.testing.assert_allclose(exact, product, atol=1e-10)


def test_reported_derivatives_match_finite_differences(problem):
    cells, layout, at = problem
    params = layout.pack(at)
    objective = lambda x: negative_loglike(cells, layout.unpack(x))  # noqa: E731
    here = evaluate(cells, at)
    by_cell = cell_scores(here, layout.reported_regressors(params, cells), layout.moves)
    np.testing.assert_allclose(-by_cell.sum(axis=0), approx_fprime(params, objective, centered=True), atol=1e-6)


def test_bernoulli_agrees_with_scipy_and_is_exact_in_the_tails():
    eta = np.array([-800.0, -40.0, -1.0, 0.0, 2.0, 40.0, 800.0])
    n, y = np.full(7, 3.0), np.array([0.0, 0.0, 1.0, 1.5, 2.0, 3.0, 3.0])
    here = bernoulli(eta, n, y)
    exact = -(y * log_expit(eta) + (n - y) * log_expit(-eta))
    assert here.value == pytest.approx(exact.sum(), rel=1e-14)
    np.testing.assert_allclose(here.slope, np.where(y == n, -n * expit(-eta), n * expit(eta) - y), rtol=1e-13)
    np.testing.assert_allclose(here.curvature, n * expit(eta) * expit(-eta), rtol=1e-13)
    np.testing.assert_allclose(probability(eta), expit(eta), rtol=1e-15)


def test_davidson_is_the_multinomial_it_claims_to_be_also_in_the_tails():
    eta, tau = np.array([-700.0, -3.0, 0.0, 2.0, 700.0, 1.0]), np.array([0.5, -1.0, 0.3, 400.0, -400.0, -50.0])
    wins, ties, losses = np.array([0.0, 1, 2, 0, 3, 2]), np.array([0.0, 2, 1, 3, 0, 0]), np.array([3.0, 1, 1, 0, 0, 1])
    first, tie, second = DAVIDSON.probabilities(eta, tau[None])
    np.testing.assert_allclose(first + tie + second, 1.0)
    here = DAVIDSON.derivatives(eta, tau[None], wins + ties + losses, wins + ties / 2, ties[:, None])
    log = np.log(np.maximum([first, tie, second], 1e-320))
    assert here.value == pytest.approx(-(wins * log[0] + ties * log[1] + losses * log[2]).sum(), rel=1e-12)
    assert np.isfinite(here.slope).all()
    assert (here.curvature >= 0).all()
    assert (here.curvature * here.own_curvature[0, 0] >= here.cross[0] ** 2 - 1e-12).all()
