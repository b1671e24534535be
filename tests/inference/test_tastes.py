"""Changed tastes of judges: the same statistic from explicit matrices and from statsmodels, invariances, and what is no change."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats
from scipy.linalg import qr
from scipy.special import expit

import hjastats as hja
from hjastats.inference import tastes
from hjastats.inference.clusters import Clusters
from hjastats.inference.fluctuation import Fluctuation
from hjastats.inference.group_tests import GroupTests
from hjastats.inference.tastes import Tastes
from hjastats.model.tangent import centred_basis, from_centred_basis

# Of two ways to compute the same quadratic form.
EXACT = 1e-8
# Of a score test at estimates one step away from those that statsmodels goes all the way to, with 12,000 verdicts; or 0.1.
ONE_STEP = 0.02
LIKES = np.array([1.5, -1.5, 1.5, -1.5, 0.0])


def panel(rng, n=3000, n_judges=4, likes=None, apart=0.0):
    """Judges who agree but for the likes (n_groups, n_items) of the first; scores that differ between groups by ``apart``."""
    n_items = len(LIKES)
    judge, group = rng.integers(n_judges, size=n), rng.integers(3, size=n)
    first = rng.integers(n_items, size=n)
    second = (first + rng.integers(1, n_items, size=n)) % n_items
    scores = np.tile(np.linspace(1.0, -1.0, n_items), (3, n_judges, 1)) + rng.normal(0.0, apart, (3, 1, n_items))
    if likes is not None:
        scores[:, 0] += likes
    eta = scores[group, judge, first] - scores[group, judge, second] + 0.3 * judge
    names = [np.array([f"{x}{c}" for c in codes]) for x, codes in zip("jii", (judge, first, second), strict=True)]
    columns = pd.DataFrame({"group": group, "prompt": np.arange(n) // 6})
    return hja.Comparisons.from_arrays(*names, (rng.random(n) < expit(eta)).astype(float), columns=columns)


def fitted(data, model=hja.JAModel, clusters="row", position="judge", **options):
    result = model.from_comparisons(data, position=position, **options).fit(n_random=0)
    group = data.columns["group"].to_numpy()
    return result.fit, result.model.observations, group, Clusters.of(clusters, data)


def asked(data, **options):
    """GroupTests of some data."""
    fit, observed, group, clusters = fitted(data, **options)
    found = Tastes.of(fit, observed, group, clusters)
    seldom = np.zeros((int(group.max()) + 1, data.n_items), bool)
    everything = Fluctuation.of(fit, observed, group, clusters)
    return GroupTests(everything, everything, True, seldom, 0, found)


def explicit(data, tastes, fit, judge):
    """Columns of what all groups have in common, of what each has for itself, and of the taste that is tested."""
    rows, group = np.arange(data.n_rows), data.columns["group"].to_numpy()
    differences = np.zeros((data.n_rows, data.n_items))
    differences[rows, data.first_index], differences[rows, data.second_index] = 1.0, -1.0
    differences = differences @ centred_basis(data.n_items)
    own = [differences * (data.judge_index == k)[:, None] for k in range(data.n_judges)]
    bonus = np.eye(data.n_judges)[data.judge_index]
    mu = fit.parts.mu @ centred_basis(data.n_items)
    others = np.linalg.qr(np.column_stack([mu, np.eye(len(mu))]))[0][:, 1:]

    def by_group(columns):
        return np.einsum("rg,rp->rgp", np.eye(3)[group], columns).reshape(data.n_rows, -1)

    follows = fit.parts.gamma[data.judge_index, None] * differences
    each = by_group(np.hstack([follows, (own[judge] @ mu)[:, None], bonus[:, [judge]]]))
    line = np.einsum("rp,rp->r", own[judge], tastes.moved.apart[judge][group])
    return np.hstack([*own, bonus, each, line[:, None]]), by_group(own[judge] @ others)


@pytest.mark.parametrize("model", [hja.BTLModel, hja.JAModel])
def test_the_statistic_is_that_of_explicit_matrices(model):
    data = panel(np.random.default_rng(2), likes=np.outer([1.0, -1.0, 0.0], LIKES), apart=0.5)
    fit, observed, group, clusters = fitted(data, model)
    found = Tastes.of(fit, observed, group, clusters)
    made = found.of_judge(0).test(found.found.signs())
    nuisance, tested = explicit(data, found, fit, 0)
    rows, moved = np.arange(data.n_rows), from_centred_basis(found.moved.together)
    assert np.abs(moved).max() > 0.1
    by_row = found.own.at.scores[data.judge_index] + fit.parts.gamma[data.judge_index, None] * moved[group]
    eta = by_row[rows, data.first_index] - by_row[rows, data.second_index] + found.own.at.judge[data.judge_index, 0]
    p = expit(eta)
    weight, ridge = (p * (1.0 - p))[:, None], np.append(np.zeros(nuisance.shape[1] - 1), tastes._FOLLOWS)
    inverse = np.linalg.pinv(nuisance.T @ (weight * nuisance) + np.diag(ridge), rcond=1e-11)
    together = tested.T @ (weight * nuisance)
    score = (tested - nuisance @ (inverse @ together.T)).T @ (data.outcome - p)
    variance = tested.T @ (weight * tested) - together @ inverse @ together.T
    expected = float(score @ np.linalg.pinv(variance, rcond=1e-6, hermitian=True) @ score)
    assert made.df == np.linalg.matrix_rank(variance, tol=1e-5 * np.abs(variance).max(), hermitian=True)
    assert made.statistic == pytest.approx(expected, rel=EXACT)


def independent(columns):
    """Some of the columns, by QR with pivots, that span all."""
    _, factor, order = qr(columns, mode="economic", pivoting=True)
    size = np.abs(np.diag(factor))
    return columns[:, np.sort(order[: int((size > 1e-8 * size[0]).sum())])]


@pytest.mark.parametrize("likes", [None, np.outer([1.0, -1.0, 0.0], 0.4 * LIKES), np.tile(LIKES, (3, 1))])
def test_the_statistic_is_near_to_the_score_test_of_a_logistic_regression(likes, monkeypatch):
    """Of statsmodels, at its own estimate of everything but the tested columns; how a judge follows the consensus is left open."""
    monkeypatch.setattr(tastes, "_FOLLOWS", 1e-9)
    data = panel(np.random.default_rng(7), n=12_000, likes=likes, apart=0.4)
    fit, observed, group, clusters = fitted(data, hja.BTLModel)
    found = Tastes.of(fit, observed, group, clusters)
    made = found.of_judge(0).test(found.found.signs())
    nuisance, tested = explicit(data, found, fit, 0)
    base = independent(nuisance)
    added = independent(tested - base @ np.linalg.lstsq(base, tested, rcond=None)[0])
    null = sm.GLM(data.outcome, base, family=sm.families.Binomial()).fit(tol=1e-12)
    larger = sm.GLM(data.outcome, np.hstack([base, added]), family=sm.families.Binomial())
    at = np.append(null.params, np.zeros(added.shape[1]))
    score, information = larger.score(at), -larger.hessian(at, observed=False)
    statistic = float(score @ np.linalg.solve(information, score))
    assert made.df == added.shape[1]
    assert made.statistic == pytest.approx(statistic, rel=ONE_STEP, abs=0.1)
    assert made.p_value == pytest.approx(stats.chi2.sf(statistic, made.df), abs=0.05)


def test_a_constant_taste_is_no_change_and_a_turned_one_is():
    constant = asked(panel(np.random.default_rng(1), likes=np.tile(LIKES, (3, 1))), model=hja.BTLModel)
    assert (constant.judges("taste")["p_value"] > 0.05).all()
    turned = asked(panel(np.random.default_rng(1), likes=np.outer([1.0, -1.0, -1.0], 0.5 * LIKES)))
    table = turned.judges("taste")
    assert table["statistic"].idxmax() == "j0"
    assert table["p_value"]["j0"] == 1.0 / 2000.0
    assert turned.joint()["p_value"]["taste"] == 1.0 / 2000.0


def test_items_that_change_for_all_judges_are_no_change_of_taste():
    tests = asked(panel(np.random.default_rng(4), apart=0.8))
    assert tests.joint()["p_value"]["consensus"] == 1.0 / 2000.0
    assert (tests.judges("taste")["p_value"] > 0.02).all()


def test_a_judge_with_a_taste_that_is_in_some_groups_only_changes_nothing_for_others():
    """Where it is missing the mean of the others is another one, although nobody has changed."""
    data = panel(np.random.default_rng(6), n=6000, likes=np.tile(LIKES, (3, 1)))
    kept = (data.judge_index > 0) | (data.columns["group"] < 2).to_numpy()
    tests = asked(data.subset(kept))
    assert tests.joint()["p_value"]["consensus"] < 0.05
    assert (tests.judges("taste")["p_value"] > 0.02).all()


def test_names_of_groups_and_sides_of_items_do_not_matter():
    data = panel(np.random.default_rng(5))
    renamed = hja.Comparisons.from_arrays(
        *labels(data), data.outcome, columns=data.columns.assign(group=(data.columns["group"] + 1) % 3)
    )
    judge, first, second = labels(data)
    swapped = hja.Comparisons.from_arrays(judge, second, first, 1.0 - data.outcome, columns=data.columns)
    tables = [asked(one, clusters="prompt").judges("taste") for one in (data, renamed, swapped)]
    for other in tables[1:]:
        pd.testing.assert_frame_equal(tables[0][["statistic", "df"]], other[["statistic", "df"]], rtol=1e-5)


def labels(data):
    items = np.array(data.items)
    return np.array(data.judges)[data.judge_index], items[data.first_index], items[data.second_index]


def test_a_judge_that_stays_where_others_move_has_not_changed():
    """Even one of two: of the other, nothing but its own verdicts moves."""
    table = asked(panel(np.random.default_rng(8), n_judges=2, likes=np.outer([1.0, -1.0, 0.0], LIKES)))
    found = table.judges("taste")
    assert found["p_value"]["j0"] == 1.0 / 2000.0
    assert found["statistic"]["j1"] < 0.1 * found["statistic"]["j0"]


def test_one_judge_has_no_taste_of_its_own():
    data = panel(np.random.default_rng(9), n_judges=1)
    fit, observed, group, clusters = fitted(data, hja.BTLModel)
    assert Tastes.of(fit, observed, group, clusters) is None


def test_few_verdicts_of_a_judge_or_group_give_no_test(set_limits):
    data = panel(np.random.default_rng(3))
    kept = (data.judge_index > 0) | (np.arange(data.n_rows) < 60)
    assert "j0" not in asked(data.subset(kept)).judges("taste").index
    in_one = (data.judge_index > 0) | (data.columns["group"] == 0).to_numpy()
    table = asked(data.subset(in_one)).judges("taste")
    assert table.index.tolist() == ["j1", "j2", "j3"]
    set_limits(TASTE_COORDINATES=10)
    assert len(asked(data).judges("taste")) == 2


def test_directions_of_disagreement_are_tested_by_themselves():
    """A judge whose loading changes is seen sooner along the direction of the fit than in all of them."""
    rng = np.random.default_rng(12)
    n, n_items = 6000, 10
    judge, group, first = rng.integers(6, size=n), rng.integers(3, size=n), rng.integers(n_items, size=n)
    second = (first + rng.integers(1, n_items, size=n)) % n_items
    taste = np.tile([1.0, -1.0], 5)
    loading = np.where(judge == 0, np.array([0.5, 0.9, 0.9])[group], np.array([0, 0.9, -0.9, -0.9, 0.9, -0.9])[judge])
    scores = np.linspace(1, -1, n_items) + loading[:, None] * taste
    rows = np.arange(n)
    win = rng.random(n) < expit(scores[rows, first] - scores[rows, second])
    names = [np.array([f"{x}{c}" for c in codes]) for x, codes in zip("jii", (judge, first, second), strict=True)]
    data = hja.Comparisons.from_arrays(*names, win.astype(float), columns=pd.DataFrame({"group": group}))
    tests = asked(data, model=hja.HJAModel, rank=1)
    loadings, taste_of = tests.judges("loadings"), tests.judges("taste")
    assert loadings["df"].tolist() == [2] * 6
    assert loadings["p_value"]["j0"] < taste_of["p_value"]["j0"]
    assert loadings["p_value"].idxmin() == "j0"


def test_judges_without_a_term_of_their_own_are_tested_too():
    """One who never ties has no propensity to; numbers of judges change where others are left out."""
    data = panel(np.random.default_rng(11))
    data = data.subset((data.judge_index != 1) | (np.arange(data.n_rows) < 100))
    is_tied = (data.judge_index != 2) & (np.random.default_rng(1).random(data.n_rows) < 0.2)
    tests = asked(data.with_outcome(np.where(is_tied, 0.5, data.outcome)), ties="davidson", tie="judge")
    assert tests.judges("taste").index.tolist() == ["j0", "j2", "j3"]
    assert (tests.judges("taste")["p_value"] > 0.01).all()


def test_changes_of_a_taste_are_those_that_were_made():
    data = panel(np.random.default_rng(13), n=12_000, likes=np.outer([0.4, -0.2, -0.2], LIKES))
    fit, observed, group, clusters = fitted(data)
    change, error = Tastes.of(fit, observed, group, clusters).changes(0)
    mu = np.linspace(1.0, -1.0, data.n_items)
    taste = LIKES - LIKES.mean()
    # Along the consensus it would be the sensitivity; what is common to all groups is none.
    beyond = taste - mu * (taste @ mu) / (mu @ mu)
    assert np.allclose(change[0] - change[1], 0.6 * beyond, atol=4.0 * np.hypot(error[0], error[1]).max())
    assert np.corrcoef(change[0], beyond)[0, 1] > 0.95


@pytest.mark.parametrize("ties", ["davidson", "drop"])
def test_ties_and_a_common_position_effect_have_tests_too(ties):
    data = panel(np.random.default_rng(10))
    tied = data.with_outcome(np.where(np.random.default_rng(0).random(data.n_rows) < 0.2, 0.5, data.outcome))
    tests = asked(tied, position="common", ties=ties) if ties == "davidson" else asked(data, position=None)
    assert tests.judges("taste")["df"].tolist() == [6] * 4
