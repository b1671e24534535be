"""The marginal likelihood of judges as a sample: derivatives, a dense reference, oracles, and its maximum."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logsumexp

import hjastats as hja
from hjastats.model.population import Population, Space, predictors
from hjastats.solve.integrands import around_modes, parts_of
from hjastats.solve.marginal import Marginal, nodes
from hjastats.solve.population import FOUND, search_population

# Differences of the log-likelihood in single steps of 1e-5.
BY_DIFFERENCES = 1e-7
# The oracles give the optimiser's own last digits.
TMB = 1e-4
# By rank: R's TMB 1.9.2, sdreport of oracles/r/scripts/btre.cpp, modes 1 and 4, as tmb_cv.R fits them.
ITEMS = ("CDU/CSU", "FDP", "Gruene", "Linke", "none", "SPD")
TMB_ERRORS = {
    0: (0.10708550, 0.09482032, 0.10643687, 0.10917064, 0.06764573, 0.08315597),
    1: (0.17429442, 0.16689990, 0.15667425, 0.28102357, 0.09969973, 0.13160444),
}


def small_panel(seed, *, ties="half", n_judges=6, n_items=4, n_rows=50):
    rng = np.random.default_rng(seed)
    judge, first = rng.integers(0, n_judges, n_rows), rng.integers(0, n_items, n_rows)
    second = (first + 1 + rng.integers(0, n_items - 1, n_rows)) % n_items
    outcome = rng.choice([0.0, 0.5, 1.0], n_rows)
    data = hja.Comparisons.from_arrays(
        [f"j{k}" for k in judge], [f"i{i}" for i in first], [f"i{i}" for i in second], outcome
    )
    tie = "judge" if ties == "davidson" else "common"
    return hja.PopulationHJAModel.from_comparisons(data, position="judge", ties=ties, tie=tie).design


def differences(function, at, step=1e-5):
    return np.array(
        [(function(at + step * unit) - function(at - step * unit)) / (2 * step) for unit in np.eye(len(at))]
    )


@pytest.mark.parametrize("ties", ["half", "davidson"])
@pytest.mark.parametrize(("rank", "n_nodes"), [(0, 1), (0, 4), (1, 1), (1, 3), (2, 2)])
def test_the_gradient_is_that_of_the_quadrature_itself(ties, rank, n_nodes):
    marginal = Marginal(small_panel(1, ties=ties), rank, n_nodes)
    at = 0.7 * np.random.default_rng(2).standard_normal(marginal.space.n)
    found = differences(lambda values: marginal.value(values)[0], at)
    np.testing.assert_allclose(marginal.value(at)[1], found, atol=BY_DIFFERENCES)


def test_the_information_is_the_curvature_of_the_integral():
    marginal = Marginal(small_panel(1), 0, 31)
    at = 0.7 * np.random.default_rng(3).standard_normal(marginal.space.n)
    found = -differences(lambda values: marginal.value(values)[1], at)
    np.testing.assert_allclose(marginal.information(at), found, atol=1e-6)


def test_the_information_of_two_directions_and_ties_is_right_too():
    marginal = Marginal(small_panel(1, ties="davidson", n_judges=3, n_rows=20), 1, 9)
    # Integrands close to normal, for which nine nodes are as good as exact.
    at = 0.2 * np.random.default_rng(3).standard_normal(marginal.space.n)
    found = -differences(lambda values: marginal.value(values)[1], at)
    np.testing.assert_allclose(marginal.information(at), found, atol=1e-5)


def test_modes_are_found_from_far_away_however_steep_the_integrand():
    design = small_panel(8, n_rows=200)
    space = Space.of(design, 1)
    at = space.unpack(8.0 * np.random.default_rng(9).standard_normal(space.n))
    x, log_weight = nodes(1, 3)
    (part,) = parts_of(design, 1)
    far = 30.0 * np.random.default_rng(10).standard_normal((design.n_judges, 3))
    free = np.ones(3, dtype=bool)
    ends = [around_modes(part, at, free, x, log_weight, near) for near in (far, np.zeros_like(far))]
    np.testing.assert_allclose(ends[0].mode, ends[1].mode, atol=1e-8)
    # Where the slope is that of the prior.
    base, loading = predictors(design, at)
    odds = base[0] + np.einsum("rd,rd->r", loading[0], ends[0].mode[design.judge])
    pull = (design.y - design.n * expit(odds))[:, None] * loading[0]
    total = np.array([np.bincount(design.judge, column, design.n_judges) for column in pull.T]).T
    np.testing.assert_allclose(total, ends[0].mode, atol=1e-5)


def test_newton_and_quasi_newton_steps_end_at_the_same_maximum(set_limits):
    design = small_panel(6, n_judges=30, n_rows=400)
    newton = search_population(design, 1, 5)
    set_limits(CHEAP_INFORMATION=0)
    quasi = search_population(design, 1, 5)
    assert quasi.iterations > newton.iterations
    assert quasi.loglike == pytest.approx(newton.loglike, abs=1e-6)
    assert max(quasi.distance, newton.distance) < FOUND


def test_held_effects_change_neither_value_nor_gradient_where_their_spread_is_zero():
    design = small_panel(4)
    space = Space.of(design, 1)
    at = 0.5 * np.random.default_rng(5).standard_normal(space.n)
    at[space.slices["sds"]] = 0.0
    free = Marginal(design, 1, 5).value(at)
    held = Marginal(design, 1, 5, np.array([True, True, False])).value(at)
    assert held[0] == pytest.approx(free[0], abs=1e-9)
    np.testing.assert_allclose(held[1], free[1], atol=1e-8)


def dense_loglike(design, at: Population, n_nodes=61):
    """Slow and obvious: a fixed grid for every judge."""
    x, weight = np.polynomial.hermite_e.hermegauss(n_nodes)
    base, loading = predictors(design, at)
    grid = np.array(list(product(x, repeat=loading.shape[2])))
    log_weight = np.log(np.array(list(product(weight / weight.sum(), repeat=loading.shape[2])))).sum(axis=1)
    total = 0.0
    for judge in range(design.n_judges):
        own = design.judge == judge
        odds = base[0, own] + grid @ loading[0, own].T
        p = expit(odds)
        values = design.y[own] * np.log(p) + (design.n[own] - design.y[own]) * np.log1p(-p)
        total += logsumexp(values.sum(axis=1) + log_weight)
    return total


@pytest.mark.parametrize("seed", range(4))
def test_adaptive_nodes_agree_with_a_dense_grid_on_random_panels(seed):
    design = small_panel(seed)
    space = Space.of(design, 0)
    at = 0.6 * np.random.default_rng(seed).standard_normal(space.n)
    found = Marginal(design, 0, 15).value(at)[0]
    assert found == pytest.approx(dense_loglike(design, space.unpack(at)), abs=1e-5)


def test_pieces_of_the_judges_add_up(set_limits):
    design = small_panel(6, n_judges=12, n_rows=100)
    at = 0.5 * np.random.default_rng(7).standard_normal(Space.of(design, 1).n)
    whole, information = Marginal(design, 1, 5).value(at), Marginal(design, 1, 5).information(at)
    set_limits(NODES_AT_ONCE=500)
    pieces = Marginal(design, 1, 5)
    assert len(pieces.parts) > 3
    assert pieces.value(at)[0] == pytest.approx(whole[0], abs=1e-9)
    np.testing.assert_allclose(pieces.value(at)[1], whole[1], atol=1e-9)
    np.testing.assert_allclose(pieces.information(at), information, atol=1e-9)


def test_nodes_integrate_a_normal_vector():
    x, log_weight = nodes(5, 2)
    assert np.exp(log_weight).sum() == pytest.approx(1.0)
    np.testing.assert_allclose(
        np.exp(log_weight) @ (x[:, :, None] * x[:, None]).reshape(len(x), -1), np.eye(2).ravel(), atol=1e-12
    )


# German parties: R's TMB, simulated likelihood and glmer


@pytest.fixture(scope="module")
def parties(shared_data):
    table = pd.read_csv(shared_data / "r" / "cv_germanparties.csv", keep_default_na=False)
    data = hja.Comparisons.from_arrays(
        table.judge.astype(str).tolist(), table["first"].tolist(), table["second"].tolist(), table.y.to_numpy(float)
    )
    return hja.PopulationHJAModel.from_comparisons(data)


@pytest.fixture(scope="module")
def tmb(oracles):
    return json.loads((oracles / "r" / "tmb_random_judges_germanparties.json").read_text())


@pytest.mark.parametrize(("rank", "name"), [(0, "random gamma"), (1, "gamma+factor R1")])
def test_one_node_is_the_laplace_approximation_of_tmb(parties, tmb, rank, name):
    row = tmb[name]
    found = search_population(parties.design, rank, 1)
    at = Space.of(parties.design, rank).unpack(found.values)
    assert found.loglike == pytest.approx(row["marginal_logLik_laplace"], abs=1e-5)
    assert len(found.values) == row["npar"]
    assert abs(at.sensitivity) == pytest.approx(row["tau"], abs=TMB)
    mu = dict(zip(parties.items, at.mu, strict=True))
    np.testing.assert_allclose([mu[item] for item in row["items"]], row["mu"], atol=TMB)


@pytest.mark.parametrize("rank", [0, 1])
def test_standard_errors_of_laplace_are_those_of_tmb(parties, rank):
    with pytest.warns(hja.CovarianceWarning, match="Laplace"):
        result = parties.with_rank(rank).fit(n_quadrature=1)
    found = [result.bse[f"mu[{item}]"] for item in ITEMS]
    np.testing.assert_allclose(found, TMB_ERRORS[rank], atol=TMB)


def test_quadrature_agrees_with_the_simulated_likelihood(parties, oracles):
    rows = json.loads((oracles / "r" / "sml_random_judges_germanparties.json").read_text())["models"]
    one = search_population(parties.design, 0, 11)
    # 8,192 Sobol points leave some thousandths.
    assert one.loglike == pytest.approx(rows["random gamma"]["logLik"], abs=0.01)
    assert abs(Space.of(parties.design, 0).unpack(one.values).sensitivity) == pytest.approx(0.6384, abs=5e-4)
    two = search_population(parties.design, 1, 7)
    assert two.loglike == pytest.approx(rows["gamma+factor R1"]["logLik"], abs=0.3)


def test_a_random_slope_on_fixed_scores_is_that_of_glmer(parties, oracles):
    slope = json.loads((oracles / "r" / "glmer_random_judges.json").read_text())["germanparties"]["slope"]
    btl = parties.pooled().fit().fit.parts.mu
    empty = np.zeros(0)
    at = Population(slope["gamma"] * btl, np.zeros((6, 0)), slope["tau"] / slope["gamma"], empty, empty, empty)
    marginal = Marginal(parties.design, 0, 25)
    assert marginal.value(marginal.space.pack(at))[0] == pytest.approx(slope["logLik_agq25"], abs=1e-3)
