"""Random effects integrated out: against quadrature where it is one integral, finite differences, and other estimators' limits."""

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

import hjastats as hja
from hjastats.model.jacobians import consensus_jacobian
from hjastats.solve.mixed import Mixed


def drawn(data, **options):
    """The integrated likelihood of items that are random, without traits."""
    model = hja.BTLModel.from_comparisons(data, **options)
    tangent = model.structure.tangent(np.zeros((len(model.judges), len(model.items))))
    rows = np.hstack([np.zeros((len(model.items), model.layout.n_linear)), consensus_jacobian(tangent)])
    return Mixed(model.design, model.layout, [rows.T @ rows]), model


@pytest.mark.parametrize(("n", "wins"), [(1, 1), (3, 2), (40, 31)])
@pytest.mark.parametrize("sd", [0.3, 1.0, 3.0])
def test_the_integral_over_two_items_is_that_of_quadrature(n, wins, sd):
    """Of two items one difference is random, with variance 2 sd^2: propagation is exact where there is one linear form."""
    data = hja.Comparisons.from_arrays(["j"] * n, ["a"] * n, ["b"] * n, [1.0] * wins + [0.0] * (n - wins))
    mixed, _ = drawn(data)
    found, slope = mixed.integrate(np.zeros(0), np.log([sd]))

    def density(x):
        return np.exp(-wins * np.logaddexp(0, -x) - (n - wins) * np.logaddexp(0, x)) * stats.norm.pdf(
            x, 0, np.sqrt(2) * sd
        )

    exact = integrate.quad(density, -40, 40, points=[0.0, 2.0], limit=500, epsabs=0)[0]
    assert found.value == pytest.approx(np.log(exact), abs=1e-6)
    assert len(slope) == 1


@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_gradients_are_finite_differences(ties):
    rng = np.random.default_rng(4)
    first = rng.integers(0, 6, 150)
    second = (first + rng.integers(1, 6, 150)) % 6
    outcome = rng.choice([0.0, 0.5, 1.0], 150, p=[0.4, 0.2, 0.4])
    labels = np.array([*"abcdef"])
    data = hja.Comparisons.from_arrays(["j"] * 150, labels[first], labels[second], outcome)
    mixed, _ = drawn(data, ties=ties, position="common")
    n_fixed = mixed.fixed.shape[1]
    assert n_fixed == (1 if ties == "half" else 2)
    at = np.concatenate([rng.normal(size=n_fixed) * 0.3, [0.2]])
    slope = mixed.integrate(at[:n_fixed], at[n_fixed:])[1]
    for i, unit in enumerate(1e-4 * np.eye(len(at))):
        values = [mixed.integrate((at + s * unit)[:n_fixed], (at + s * unit)[n_fixed:])[0].value for s in (1, -1)]
        assert slope[i] == pytest.approx((values[0] - values[1]) / 2e-4, abs=1e-5)


def test_a_tiny_spread_gives_the_fit_without_effects():
    data = hja.datasets.load_panel()
    mixed, model = drawn(data, position="common")
    start = model.fit().fit.at
    found = mixed.fit(start, np.log([0.01]))
    coins = hja.BTLModel.from_comparisons(data, position="common", items=pd.DataFrame({"x": range(10)}, data.items))
    assert np.abs(found.at.scores).max() < 0.05
    assert found.loglike < coins.fit().llf


def test_effects_that_are_not_there_have_no_spread():
    rng = np.random.default_rng(11)
    first = rng.integers(0, 8, 4000)
    second = (first + rng.integers(1, 8, 4000)) % 8
    labels = np.array([*"abcdefgh"])
    data = hja.Comparisons.from_arrays(
        ["j"] * 4000, labels[first], labels[second], (rng.random(4000) < 0.5).astype(float)
    )
    result = hja.BTLModel.from_comparisons(data, random="items").fit()
    assert result.spread["estimate"].iloc[0] < 0.06
