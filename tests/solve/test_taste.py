"""Individual taste: expectation propagation and draws against dense grids, quadrature, differences and oracles."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logsumexp

import hjastats as hja
from hjastats.model.population import Space, predictors
from hjastats.solve.draws import TasteMarginal
from hjastats.solve.marginal import Marginal
from hjastats.solve.propagation import Propagated

from .test_population import differences, small_panel

# Differences in steps of 1e-5, of a fixed point that is settled to 1e-9.
BY_DIFFERENCES = 1e-5
# Expectation propagation itself, on judges with some ten verdicts: hundredths each.
APPROXIMATE = 0.05


def some_values(space, seed, size=0.6):
    return size * np.random.default_rng(seed).standard_normal(space.n)


def three_items(seed=0):
    return small_panel(seed, n_items=3, n_judges=4, n_rows=32)


def dense_loglike(design, space, values, n_nodes):
    """Slow and obvious: a fixed grid over all effects of every judge."""
    x, weight = np.polynomial.hermite_e.hermegauss(n_nodes)
    base, loading = predictors(design, space.unpack(values))
    grid = np.array(list(product(x, repeat=loading.shape[2])))
    log_weight = np.log(np.array(list(product(weight / weight.sum(), repeat=loading.shape[2])))).sum(axis=1)
    result = np.zeros(design.n_judges)
    for judge in range(design.n_judges):
        own = design.judge == judge
        p = expit(base[0, own] + grid @ loading[0, own].T)
        values = design.y[own] * np.log(p) + (design.n[own] - design.y[own]) * np.log1p(-p)
        result[judge] = logsumexp(values.sum(axis=1) + log_weight)
    return result


@pytest.mark.parametrize("rank", [0, 1])
def test_the_gradient_is_that_of_the_approximation_itself(rank):
    design = small_panel(1)
    marginal = Propagated(design, Space.of(design, rank, has_taste=True), 64)
    at = some_values(marginal.space, 2)
    found = differences(lambda values: marginal.value(values)[0], at)
    np.testing.assert_allclose(marginal.value(at)[1], found, atol=BY_DIFFERENCES)


@pytest.mark.parametrize("seed", [0, 1])
def test_draws_agree_with_a_dense_grid_and_the_approximation_nearly(seed):
    design = three_items(seed)
    # Sensitivity, position and two dimensions of taste.
    space = Space.of(design, 0, has_taste=True)
    marginal, at = TasteMarginal(design, space, 8192), some_values(space, seed, 0.8)
    dense = dense_loglike(design, space, at, 25)
    drawn = marginal.drawn(at)
    assert drawn.error < 0.03
    assert drawn.loglike == pytest.approx(dense.sum(), abs=4.0 * drawn.error)
    np.testing.assert_allclose(marginal.loglike(at), dense, atol=APPROXIMATE)


def test_the_gradient_of_draws_is_that_of_the_integral():
    design = three_items()
    space = Space.of(design, 0, has_taste=True)
    # Spreads for which thirteen nodes are as good as exact.
    at = some_values(space, 3, 0.4)
    marginal = TasteMarginal(design, space, 16384)
    found = differences(lambda values: dense_loglike(design, space, values, 13).sum(), at, 1e-4)
    # Slopes of four judges vary by about one; the Monte-Carlo error of their mean over 16,384 draws is some 0.02.
    np.testing.assert_allclose(marginal.drawn(at).gradient, found, atol=0.07)
    np.testing.assert_allclose(
        marginal.information(at), -differences(lambda v: marginal.value(v)[1], at, 1e-4), atol=1e-3
    )


def test_without_taste_everything_is_that_of_quadrature():
    design = small_panel(4)
    space = Space.of(design, 1)
    at = 0.5 * np.random.default_rng(5).standard_normal(space.n)
    quadrature = Marginal(design, 1, 15)
    wide = Space.of(design, 1, has_taste=True)
    none = wide.pack(replace(space.unpack(at), taste=0.0))
    drawn = TasteMarginal(design, wide, 16384).drawn(none)
    assert drawn.loglike == pytest.approx(quadrature.value(at)[0], abs=4.0 * drawn.error)
    taste = wide.slices["taste"].start
    np.testing.assert_allclose(np.delete(drawn.gradient, taste), quadrature.value(at)[1], atol=0.03)
    assert drawn.gradient[taste] == pytest.approx(0.0, abs=0.03)


def test_pieces_of_the_judges_add_up(set_limits):
    design = small_panel(6, n_judges=12, n_rows=100)
    space = Space.of(design, 1, has_taste=True)
    at = some_values(space, 7)
    whole = TasteMarginal(design, space, 256)
    value, drawn = whole.value(at), whole.drawn(at)
    set_limits(NODES_AT_ONCE=500)
    pieces = TasteMarginal(design, space, 256)
    assert len(pieces.each(space.unpack(at))) > 3
    assert pieces.value(at)[0] == pytest.approx(value[0], abs=1e-9)
    np.testing.assert_allclose(pieces.value(at)[1], value[1], atol=1e-7)
    np.testing.assert_allclose(pieces.drawn(at).gradient, drawn.gradient, atol=1e-6)


# German parties


@pytest.fixture(scope="module")
def parties(shared_data):
    table = pd.read_csv(shared_data / "r" / "cv_germanparties.csv", keep_default_na=False)
    data = hja.Comparisons.from_arrays(
        table.judge.astype(str).tolist(), table["first"].tolist(), table["second"].tolist(), table.y.to_numpy(float)
    )
    return hja.PopulationHJAModel.from_comparisons(data, taste=True), table.fold.to_numpy()


def test_without_taste_draws_give_the_simulated_likelihood_of_the_oracle(parties, oracles):
    model, _ = parties
    row = json.loads((oracles / "r" / "sml_random_judges_germanparties.json").read_text())["models"]["random gamma"]
    found = hja.PopulationHJAModel.from_comparisons(model.comparisons).fit().fit
    space = Space.of(model.design, 0, has_taste=True)
    drawn = TasteMarginal(model.design, space, 1024).drawn(space.pack(replace(found.population, taste=0.0)))
    assert drawn.error < 0.3
    assert drawn.loglike == pytest.approx(row["logLik"], abs=3.0 * drawn.error)


@pytest.mark.slow
def test_taste_predicts_german_parties_best(parties):
    model, fold = parties
    losses = [model.held_out(fold == f) for f in range(5)]
    # DESIGN 12: 0.355 with six parameters; population HJA(2) 0.401.
    assert np.mean(losses) == pytest.approx(0.355, abs=0.001)
