"""Judges as a sample whose verdicts are grades: derivatives, a dense reference, R's clmm, recovery, predictions, files."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logsumexp

import hjastats as hja
from hjastats.model.population import predictors
from hjastats.population import assess_population
from hjastats.solve.marginal import Marginal

# Differences of sums of hundreds, in single steps of 1e-5.
BY_DIFFERENCES = 1e-7
THRESHOLDS = np.array([0.5, 1.5])
# clmm stops at gradients of 1e-8 by differences, some 1e-5 from the maximum.
CLMM = 2e-5


def drawn(
    seed, n_judges=60, n_each=25, mu=(-1.0, -0.5, 0.0, 0.5, 1.0), *, sd=0.5, position=(0.4, 0.6), thresholds=THRESHOLDS
):
    """Judges with sensitivities and position effects of their own, and their verdicts with five grades."""
    rng = np.random.default_rng(seed)
    mu, judge, n = np.array(mu), np.repeat(np.arange(n_judges), n_each), n_judges * n_each
    first = rng.integers(0, len(mu), n)
    second = (first + 1 + rng.integers(0, len(mu) - 1, n)) % len(mu)
    gamma = 1.0 + sd * rng.standard_normal(n_judges)
    own = position[0] + position[1] * rng.standard_normal(n_judges)
    latent = gamma[judge] * (mu[first] - mu[second]) + own[judge] + rng.logistic(size=n)
    grade = np.searchsorted(np.sort(np.concatenate([-thresholds, thresholds])), latent)
    names = ([f"{name}{i:02}" for i in code] for name, code in (("j", judge), ("i", first), ("i", second)))
    return hja.Comparisons.from_arrays(*names, grade / (2 * len(thresholds)))


def small_design(points, position="judge", seed=1):
    rng = np.random.default_rng(seed)
    judge, first = rng.integers(0, 6, 60), rng.integers(0, 4, 60)
    second = (first + 1 + rng.integers(0, 3, 60)) % 4
    names = ([f"{name}{i}" for i in code] for name, code in (("j", judge), ("i", first), ("i", second)))
    data = hja.Comparisons.from_arrays(*names, rng.choice(np.linspace(0.0, 1.0, points), 60))
    return hja.PopulationHJAModel.from_comparisons(data, position=position, ties="ordinal").design


def somewhere(marginal, seed=2):
    """Coordinates with thresholds in order."""
    rng = np.random.default_rng(seed)
    at, where = 0.7 * rng.standard_normal(marginal.space.n), marginal.space.slices["shared"]
    at[where] = np.cumsum(0.5 + rng.random(marginal.space.n_shared))
    return at


def differences(function, at, step=1e-5):
    return np.array(
        [(function(at + step * unit) - function(at - step * unit)) / (2 * step) for unit in np.eye(len(at))]
    )


def dense_loglike(design, at, n_nodes=41):
    """Slow and obvious: differences of logistic functions on a fixed grid for every judge."""
    x, weight = np.polynomial.hermite_e.hermegauss(n_nodes)
    base, loading = predictors(design, at)
    grid = np.array(list(product(x, repeat=loading.shape[2])))
    log_weight = np.log(np.array(list(product(weight / weight.sum(), repeat=loading.shape[2])))).sum(axis=1)
    total = 0.0
    for judge in range(design.n_judges):
        own = design.judge == judge
        eta, thresholds = base[0, own] + grid @ loading[0, own].T, base[1:, own][:, None]
        middle = [] if len(design.response.verdicts) % 2 else [0.0 * thresholds[:1]]
        above = expit(eta - np.concatenate([thresholds[::-1], *middle, -thresholds]))
        chances = np.diff(np.concatenate([0.0 * above[:1], above, 0.0 * above[:1] + 1.0]), axis=0)
        total += logsumexp(np.einsum("cg,gqc->q", design.counts[own], np.log(chances)) + log_weight)
    return total


@pytest.mark.parametrize(("points", "rank", "n_nodes"), [(3, 1, 1), (4, 0, 1), (4, 1, 2), (5, 0, 5), (5, 1, 1)])
def test_the_gradient_is_that_of_the_quadrature_itself(points, rank, n_nodes):
    marginal = Marginal(small_design(points), rank, n_nodes)
    at = somewhere(marginal)
    found = differences(lambda values: marginal.value(values)[0], at)
    np.testing.assert_allclose(marginal.value(at)[1], found, atol=BY_DIFFERENCES)


@pytest.mark.parametrize("points", [4, 5])
def test_adaptive_nodes_agree_with_a_dense_grid(points):
    marginal = Marginal(small_design(points), 0, 15)
    at = somewhere(marginal, 3)
    loglike = marginal.loglike(at).sum()
    assert loglike == pytest.approx(dense_loglike(marginal.design, marginal.space.unpack(at)), abs=1e-7)


@pytest.mark.parametrize("points", [3, 4])
def test_the_information_is_the_curvature_of_the_integral(points):
    marginal = Marginal(small_design(points, "common"), 0, 31)
    at = somewhere(marginal, 3)
    found = -differences(lambda values: marginal.value(values)[1], at)
    np.testing.assert_allclose(marginal.information(at), found, atol=1e-6)


def test_two_grades_are_wins_and_losses():
    data = drawn(1, n_judges=30)
    two = data.with_outcome((data.outcome > 0.5) * 1.0)
    ordinal, binary = (hja.PopulationHJAModel.from_comparisons(two, ties=ties).fit() for ties in ("ordinal", "half"))
    assert ordinal.llf == pytest.approx(binary.llf, abs=1e-8)
    np.testing.assert_allclose(ordinal.params, binary.params, atol=1e-8)


# R's ordinal


def clmm_data():
    return drawn(7, 40, 15, (-0.8, -0.3, 0.2, 0.8), sd=0.0, position=(0.3, 0.7))


def table_for_clmm(path):
    """What ``clmm_oracle.R`` reads."""
    data = clmm_data()
    signed = {f"x{i + 1}": (data.first_index == i) * 1 - (data.second_index == i) * 1 for i in range(1, 4)}
    pd.DataFrame({"judge": data.judge_index, "y": (4 * data.outcome).round().astype(int), **signed}).to_csv(
        path, index=False
    )


def test_position_effects_of_judges_are_random_intercepts_of_clmm():
    """The same adaptive quadrature with eleven nodes, without any spread of sensitivities."""
    known = json.loads((Path(__file__).parent / "clmm_oracle.json").read_text())
    model = hja.PopulationHJAModel.from_comparisons(clmm_data(), ties="ordinal", position="judge")
    is_free = np.array([False, True])
    marginal = Marginal(model.design, 0, 11, is_free)
    found = model._search(model.design, 11, is_free=is_free)
    fit = assess_population(model.population_layout, marginal, found)
    told = dict(zip(fit.layout.names, fit.params, strict=True))
    assert found.loglike == pytest.approx(known["loglik"], abs=1e-6)
    assert told["sd[position]"] == pytest.approx(known["sd"], abs=CLMM)
    for name in ("position", "threshold1", "threshold2"):
        assert told[name] == pytest.approx(known[name], abs=CLMM)
    mu = fit.params[fit.layout.slices["mu"]]
    np.testing.assert_allclose(mu[1:] - mu[0], known["gaps"], atol=CLMM)
    jacobian = fit.layout.report_jacobian(fit.population)[fit.layout.slices["mu"]]
    movements = jacobian[1:] - jacobian[0]
    np.testing.assert_allclose(np.sqrt(fit.covariance.variances(movements)), known["gap_errors"], rtol=1e-4)


# What a user holds


@pytest.fixture(scope="module")
def result():
    return hja.PopulationHJAModel.from_comparisons(drawn(0), ties="ordinal", position="judge").fit()


def test_a_population_is_recovered_within_its_errors(result):
    assert result.converged
    truth = np.array([*THRESHOLDS, 0.4, -1.0, -0.5, 0.0, 0.5, 1.0, 0.5, 0.6])
    assert (np.abs((result.params - truth) / result.bse) < 3.0).all()
    # More is known of a verdict than who won it.
    data = result.model.comparisons
    coarse = data.with_outcome(np.where(data.outcome == 0.5, 0.5, (data.outcome > 0.5) * 1.0))
    sides = hja.PopulationHJAModel.from_comparisons(coarse, ties="ordinal", position="judge").fit()
    assert (result.bse.filter(like="mu[") < sides.bse.filter(like="mu[")).all()


def test_predictions_are_means_over_judges_of_probabilities_of_grades(result):
    pair = {"item_a": "i04", "item_b": "i00"}
    fit, at = result.fit, result.fit.population
    z = np.random.default_rng(0).standard_normal((200_000, 2))
    eta = (1.0 + at.sensitivity * z[:, 0]) * (at.mu[4] - at.mu[0]) + at.means[0] + at.sds[0] * z[:, 1]
    above = expit(eta[:, None] - np.concatenate([at.shared[::-1], -at.shared]))
    chances = np.diff(above.mean(axis=0), prepend=0.0, append=1.0)
    new = result.predict(**pair, which="probs").to_numpy()[0]
    np.testing.assert_allclose(new, chances, atol=4e-3)
    assert result.predict(**pair)[0] == pytest.approx(new @ np.linspace(1.0, 0.0, 5), abs=1e-10)
    # Of a known judge: over the posterior.
    z, weight = fit.marginal.draws(fit.found.values, np.array([3]))
    eta = (1.0 + at.sensitivity * z[0, :, 0]) * (at.mu[4] - at.mu[0]) + at.means[0] + at.sds[0] * z[0, :, 1]
    above = weight[0] @ expit(eta[:, None] - np.concatenate([at.shared[::-1], -at.shared]))
    known = result.predict(judge="j03", **pair, which="probs").to_numpy()[0]
    np.testing.assert_allclose(known, np.diff(above, prepend=0.0, append=1.0), atol=1e-10)


def test_errors_of_predictions_agree_with_differences():
    small = hja.PopulationHJAModel.from_comparisons(drawn(6, 12, 10), ties="ordinal", position="judge")
    result = small.fit(n_quadrature=3)
    fit, pair = result.fit, {"item_a": "i04", "item_b": "i01"}

    def expected(values):
        moved = small.fit_at(values, fit.marginal.is_free, fit.marginal.n_nodes)
        return type(result)(small, moved).predict(**pair)[0]

    gradient = differences(expected, fit.found.values, 1e-4)
    error = np.sqrt(fit.covariance.variances(gradient[None])[0])
    assert result.get_prediction(**pair)["se"][0] == pytest.approx(error, rel=1e-5)


def test_many_grades_are_predicted_as_few_are():
    """Thresholds have no spread: nodes are those of the log-odds, not of every threshold."""
    rng = np.random.default_rng(3)
    data = drawn(2, 20, thresholds=np.array([0.3, 0.6, 1.0, 1.5, 2.2]))
    result = hja.PopulationHJAModel.from_comparisons(data, ties="ordinal").fit()
    assert len(result.params.filter(like="threshold")) == 5
    pair = {"item_a": "i04", "item_b": "i00"}
    chances = result.predict(**pair, which="probs").to_numpy()[0]
    assert chances.sum() == pytest.approx(1.0)
    assert result.get_prediction(**pair)["predicted"][0] == pytest.approx(chances @ np.linspace(1.0, 0.0, 11))
    # Drawn again they are the same grades.
    grades = 10 * result.model.simulate(result.params, rng=rng).outcome
    np.testing.assert_allclose(grades, grades.round(), atol=1e-12)


def test_a_file_and_the_summary_tell_the_same(result, tmp_path):
    (tmp_path / "graded.json").write_text(result.to_json())
    again = hja.load_results(tmp_path / "graded.json")
    np.testing.assert_allclose(again.params, result.params)
    np.testing.assert_allclose(again.bse, result.bse, rtol=1e-6)
    text = str(result.summary())
    assert "threshold2" in text
    assert "sd[position]" in text
    assert result.model.loglike(result.params) == pytest.approx(result.llf, abs=1e-6)


@pytest.mark.parametrize("ties", ["ordinal", "adjacent"])
def test_held_out_grades_are_predicted_as_results_predict_them(ties):
    data = drawn(4, 20, 20)
    is_test = np.random.default_rng(0).random(data.n_rows) < 0.2
    model = hja.PopulationHJAModel.from_comparisons(data, ties=ties)
    train = hja.PopulationHJAModel.from_comparisons(data.subset(~is_test), ties=ties).fit()
    new = data.subset(is_test).to_frame()
    chances = train.predict(judge=new["judge"], item_a=new["first"], item_b=new["second"], which="probs").to_numpy()
    grade = np.round(4 * (1.0 - data.outcome[is_test])).astype(int)
    expected = -np.log(chances[np.arange(len(grade)), grade]).mean()
    assert model.held_out(is_test) == pytest.approx(expected, abs=1e-6)


def test_a_climb_goes_uphill_where_judges_disagree_strongly():
    """Thresholds far apart and judges of both minds: at the start even the complete information is indefinite."""
    mu, thresholds = np.linspace(-0.5, 0.5, 5), np.array([0.5, 3.6])
    data = drawn(1, 60, 20, mu, sd=4.0, position=(0.0, 0.0), thresholds=thresholds)
    result = hja.PopulationHJAModel.from_comparisons(data, ties="ordinal").fit()
    assert result.converged
    np.testing.assert_allclose(result.params[["threshold1", "threshold2"]], thresholds, atol=0.4)


def test_the_front_door_takes_a_graded_crowd_as_a_sample():
    data = drawn(5, 24, 20)
    result = hja.fit(data, rank=0, position="judge")
    assert result.choices.loc[["judges", "ties", "scale"], "chosen"].tolist() == ["sample", "ordinal", "common"]
    assert result.choices.loc["ties", "number"] == 5
    assert result.cov_type == "nonrobust"
    own = hja.fit(data, rank=0, position="common", ties="ordinal", tie="judge")
    assert own.choices.loc["judges", "chosen"] == "pooled"
    assert "the 'tie' asked for is none of a sample" in own.choices.loc["judges", "reason"]
