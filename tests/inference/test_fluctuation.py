"""Score tests over groups: an oracle of statsmodels, invariances, and what they must not notice."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats

import hjastats as hja
from hjastats import limits
from hjastats.inference.clusters import Clusters
from hjastats.inference.fluctuation import Fluctuation, movements_of
from hjastats.inference.group_starts import freed_scores
from hjastats.inference.group_tests import GroupTests
from hjastats.inference.own_scores import moved_consensus
from hjastats.model.tangent import centred_basis

# Of two ways to compute the same quadratic form; and of central differences with steps of 1e-5.
EXACT, DIFFERENCES = 1e-8, 1e-6


def panel(rng, n=900, n_items=4, n_judges=3, bonus=0.4):
    judge, first = rng.integers(n_judges, size=n), rng.integers(n_items, size=n)
    second = (first + rng.integers(1, n_items, size=n)) % n_items
    eta = np.linspace(1, -1, n_items)[first] - np.linspace(1, -1, n_items)[second] + bonus
    names = [np.array([f"{x}{c}" for c in codes]) for x, codes in zip("jii", (judge, first, second), strict=True)]
    columns = pd.DataFrame({"group": rng.integers(3, size=n), "prompt": np.arange(n) // 6})
    return hja.Comparisons.from_arrays(*names, (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float), columns=columns)


def fluctuation(data, model, clusters=None, group=None):
    result = model.from_comparisons(data, position="common").fit()
    group = data.columns["group"].to_numpy() if group is None else group
    rows = Clusters.of("row" if clusters is None else clusters, data)
    return Fluctuation.of(result.fit, result.model.observations, group, rows)


@pytest.fixture(scope="module")
def data():
    return panel(np.random.default_rng(5))


@pytest.fixture(scope="module")
def changed(data):
    """One group prefers the last item."""
    likes = (data.columns["group"] == 1) & (np.random.default_rng(1).random(data.n_rows) < 0.6)
    first, second = likes & (data.first_index == 3), likes & (data.second_index == 3)
    return data.with_outcome(np.where(first, 1.0, np.where(second, 0.0, data.outcome)))


def test_the_statistic_is_that_of_the_score_test_of_a_logistic_regression(data):
    """statsmodels tests added columns, the differences of items in two of the three groups, from the fit without them."""
    found = fluctuation(data, hja.BTLModel)
    made = found.movements(movements_of(found.fit, "mu")[1]).test(found.signs())
    rows = np.arange(data.n_rows)
    differences = np.zeros((data.n_rows, data.n_items))
    differences[rows, data.first_index] = 1.0
    differences[rows, data.second_index] -= 1.0
    differences = differences @ centred_basis(data.n_items)
    base = np.column_stack([np.ones(data.n_rows), differences])
    group = data.columns["group"].to_numpy()
    added = np.hstack([differences * (group == g)[:, None] for g in (1, 2)])
    fit = sm.GLM(data.outcome, base, family=sm.families.Binomial()).fit(tol=1e-12)
    statistic, p_value, df = _score_test(base, added, fit)
    assert made.df == df
    assert made.statistic == pytest.approx(statistic, rel=EXACT)
    assert made.p_value == pytest.approx(p_value, abs=0.05)


def _score_test(base, added, fit):
    whole = sm.GLM(fit.model.endog, np.hstack([base, added]), family=sm.families.Binomial())
    at = np.append(fit.params, np.zeros(added.shape[1]))
    score, information = whole.score(at), -whole.hessian(at, observed=False)
    statistic = float(score @ np.linalg.solve(information, score))
    return statistic, float(stats.chi2.sf(statistic, added.shape[1])), added.shape[1]


def test_names_of_groups_and_sides_of_items_do_not_matter(data):
    found = fluctuation(data, hja.JAModel, "prompt")
    renamed = fluctuation(data, hja.JAModel, "prompt", (data.columns["group"].to_numpy() + 1) % 3)
    swapped = hja.Comparisons.from_arrays(
        np.array(data.judges)[data.judge_index],
        np.array(data.items)[data.second_index],
        np.array(data.items)[data.first_index],
        1 - data.outcome,
        columns=data.columns,
    )
    tests = [
        GroupTests(one, one, False, np.zeros((3, 4), bool)).joint()
        for one in (found, renamed, fluctuation(swapped, hja.JAModel, "prompt"))
    ]
    # A bonus of the first item changes its sign with the sides.
    for other in tests[1:]:
        pd.testing.assert_frame_equal(tests[0], other, rtol=1e-6)


def test_scores_and_their_scale_share_the_statistic_of_the_consensus(data):
    found = fluctuation(data, hja.JAModel)
    tests = GroupTests(found, found, False, np.zeros((3, 4), bool)).joint()
    assert tests["df"].to_dict() == {"consensus": 6, "proportionality": 4, "scale": 2, "sensitivity": 4, "position": 2}
    parts = tests["statistic"]["proportionality"] + tests["statistic"]["scale"]
    assert parts == pytest.approx(tests["statistic"]["consensus"], rel=EXACT)


def test_judges_of_one_group_each_leave_its_scale_open(data):
    found = fluctuation(data, hja.JAModel, group=data.judge_index.copy())
    tests = GroupTests(found, found, False, np.zeros((3, 4), bool)).joint()
    assert "scale" not in tests.index
    assert tests["df"]["consensus"] == tests["df"]["proportionality"] == 4


def test_two_groups_of_the_same_verdicts_do_not_differ(data):
    twice = data.subset(np.tile(np.arange(data.n_rows), 2))
    found = fluctuation(twice, hja.JAModel, group=np.repeat([0, 1], data.n_rows))
    table = GroupTests(found, found, True, np.zeros((2, 4), bool)).joint()
    assert np.allclose(table["statistic"], 0.0, atol=1e-6)
    assert (table["p_value"] == 1.0).all()


def test_many_clusters_are_put_together_within_their_groups(data, set_limits):
    group = np.arange(data.n_rows) // 6 % 3
    set_limits(SIGNED_CLUSTERS=40)
    found = fluctuation(data, hja.JAModel, "prompt", group)
    assert found.is_nested
    assert 30 <= found.n_clusters <= 40
    whole = found.movements(movements_of(found.fit, "mu")[1])
    set_limits.reset()
    plain = fluctuation(data, hja.JAModel, "prompt", group)
    assert plain.n_clusters == 150
    assert np.allclose(whole.sums, plain.movements(movements_of(plain.fit, "mu")[1]).sums)


def test_an_item_that_one_group_prefers_is_found_by_its_own_test(changed):
    found = fluctuation(changed, hja.JAModel)
    tests = GroupTests(found, found, True, np.zeros((3, 4), bool))
    table = tests.items()
    assert table["statistic"].idxmax() == "i3"
    assert table["p_value"]["i3"] == 1.0 / (1 + limits.SIGNS)
    assert table["df"].tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize("model", [hja.BTLModel, hja.JAModel, hja.HJAModel])
@pytest.mark.parametrize("position", [None, "common", "judge"])
def test_gradients_and_information_at_the_scores_of_a_group_are_those_of_its_likelihood(changed, model, position):
    """In a group the scores of judge k are ``S_k + gamma_k m``, and gamma moves with the free coordinates."""
    data = changed
    result = model.from_comparisons(data, position=position).fit(warn_convergence=False)
    fit, observed, group = result.fit, result.model.observations, data.columns["group"].to_numpy()
    found = freed_scores(fit, observed, group, Clusters.of("row", data))
    moved = moved_consensus(fit.at, observed.rows, group, fit.parts.gamma)
    assert np.abs(moved).max() > 0.05
    rows, layout = observed.rows, fit.layout

    def slopes(free):
        """Log-likelihood of every row, and its log-odds."""
        at = layout.moved(fit.at, fit.tangent, free)[0]
        gamma = layout.decompose(at).gamma
        known = gamma[rows.judge] * (moved[group, rows.first] - moved[group, rows.second])
        odds = at.scores[rows.judge, rows.first] - at.scores[rows.judge, rows.second] + known
        for regressors, coefficients in ((rows.judge_terms, at.judge[rows.judge]), (rows.shared_terms, at.shared)):
            odds = odds + (regressors * coefficients).sum(axis=1)
        return data.outcome * odds - np.log1p(np.exp(odds)), odds

    steps = 1e-5 * np.eye(layout.n_free)
    each = np.array([(np.array(slopes(step)) - np.array(slopes(-step))) / 2e-5 for step in steps])
    by_group = np.eye(3)[group]
    gradients = np.array([found.parts[found.group == g].sum(axis=0) for g in range(3)])
    np.testing.assert_allclose(gradients, by_group.T @ each[:, 0].T, atol=DIFFERENCES * data.n_rows)
    odds = slopes(np.zeros(layout.n_free))[1]
    weight = 1.0 / (2.0 + 2.0 * np.cosh(odds))
    expected = np.einsum("rg,ar,br,r->gab", by_group, each[:, 1], each[:, 1], weight)
    np.testing.assert_allclose(found.information, expected, atol=DIFFERENCES * data.n_rows)
