import numpy as np
import pandas as pd
import pytest
from scipy import stats

import hjastats as hja
from hjastats.diagnostics.goodness import ALL
from hjastats.limits import FEW_REPEATED
from hjastats.model.likelihood import evaluate, free_regressors
from hjastats.simulation import simulate_comparisons
from tests.panels import finding


def cells_of(n_judges, n_items, times):
    judge, first, second = np.meshgrid(np.arange(n_judges), np.arange(n_items), np.arange(n_items), indexing="ij")
    return tuple(np.repeat(part[first < second], times) for part in (judge, first, second))


def cyclic(seed=0, n_judges=8, n_items=8, n=400):
    """One judge of eight whose preferences go round, 90 to 10."""
    rng = np.random.default_rng(seed)
    mu, gamma = rng.standard_normal(n_items), rng.uniform(0.6, 1.4, n_judges)
    judge = np.tile(np.arange(n_judges), n)
    first = rng.integers(n_items, size=len(judge))
    second = (first + rng.integers(1, n_items, size=len(judge))) % n_items
    ahead = (second - first) % n_items
    forward = np.where(2 * ahead == n_items, first < second, 2 * ahead < n_items)
    chance = 1 / (1 + np.exp(-gamma[judge] * (mu[first] - mu[second])))
    chance = np.where(judge == 0, np.where(forward, 0.9, 0.1), chance)
    names = np.array([f"j{k}" for k in range(n_judges)])
    return hja.Comparisons.from_arrays(names[judge], first, second, (rng.random(len(judge)) < chance).astype(float))


def test_a_judge_whose_preferences_go_round_is_named():
    result = hja.JAModel.from_comparisons(cyclic()).fit()
    table = result.judges.goodness_of_fit().table
    assert list(table.index[table["p_circular_holm"] < 0.05]) == [ALL, "j0"]
    found = finding(result, "goodness of fit")
    assert found.is_warning
    assert "no ranking describes them: the panel as a whole, 'j0'." in found.text


def test_a_taste_the_model_lacks_is_no_circle_and_the_advice_to_raise_the_rank_helps(panel):
    poor = hja.JAModel.from_comparisons(panel, position="judge").fit()
    table = poor.judges.goodness_of_fit().table
    assert table.loc["judge-5", "p_holm"] < 1e-6
    assert (table["p_circular_holm"] > 0.05).all()
    assert "a taste that the rank does not cover" in finding(poor, "goodness of fit").text
    rich = hja.HJAModel.from_comparisons(panel, rank=1, position="judge").fit()
    assert not finding(rich, "goodness of fit").is_warning
    assert finding(rich, "goodness of fit").text.startswith("Pairs of items vary as the model says (dispersion 0.93")


def test_a_position_effect_that_goes_with_the_items_is_no_circle():
    """The lower of two items is always shown first, and one judge prefers what it sees first: no order of its own has that."""
    mu = np.linspace(-1, 1, 7)
    judge, first, second = cells_of(5, 7, 30)
    odds = mu[first] - mu[second] + np.where(judge == 0, 2.0, 0.0)
    outcome = np.random.default_rng(3).random(len(judge)) < 1 / (1 + np.exp(-odds))
    data = hja.Comparisons.from_arrays(judge.astype(str), first, second, outcome.astype(float))
    without = hja.JAModel.from_comparisons(data).fit()
    assert without.judges.goodness_of_fit().table["p_circular_holm"].min() > 0.05
    assert "or a position effect that it lacks): " in finding(without, "goodness of fit").text
    # The advice is followed.
    assert not finding(hja.JAModel.from_comparisons(data, position="judge").fit(), "goodness of fit").is_warning


def test_verdicts_that_are_too_regular_are_said_to_be():
    """Exactly as many wins as expected: less than chance would give."""
    mu = np.linspace(-1, 1, 6)
    judge, first, second = cells_of(4, 6, 1)
    wins = np.round(40 / (1 + np.exp(mu[second] - mu[first])))
    rows = np.repeat(np.arange(len(judge)), 40)
    outcome = (np.tile(np.arange(40), len(judge)) < wins[rows]).astype(float)
    data = hja.Comparisons.from_arrays(judge[rows].astype(str), first[rows], second[rows], outcome)
    found = hja.JAModel.from_comparisons(data).fit().judges.goodness_of_fit()
    assert found.table.loc[ALL, "dispersion"] < 0.1
    assert "vary less than the model says: all judges together (0.0" in found.text


def test_with_many_verdicts_the_statistic_is_pearsons_counted_by_variance():
    """Pooled scores of one judge, 2,000 verdicts a pair: against a closed form with leverages from the whole matrix."""
    data = simulate_comparisons(np.array([[1.0, 0.4, -0.1, -0.5, -0.8]]), cells_of(1, 5, 2000), rng=4)
    result = hja.BTLModel.from_comparisons(data).fit()
    design, here = result.fit.design, evaluate(result.fit.design, result.fit.at)
    regressors = free_regressors(design, result.fit.tangent)
    spread = np.einsum("cd,de,ce->c", regressors, result.fit.covariance.covariance, regressors)
    weight = here.curvature
    expected = np.sum(weight * (1 - weight * spread))
    row = result.judges.goodness_of_fit().table.loc[ALL]
    # Skewness and the finite number of verdicts are of the order of one in 2,000.
    assert row["dispersion"] == pytest.approx(np.sum(here.slope**2) / expected, rel=5e-3)


def test_leverages_add_up_to_the_parameters(panel):
    from hjastats.diagnostics import goodness

    for model in (
        hja.BTLModel.from_comparisons(panel),
        hja.JAModel.from_comparisons(panel),
        hja.HJAModel.from_comparisons(panel, rank=2),
        hja.JudgewiseBTLModel.from_comparisons(panel),
    ):
        fit = model.fit().fit
        code, some = goodness._pair_codes(fit.design)
        leverage = goodness._leverages(fit.design, fit, fit.model_covariance, code, len(some))
        assert leverage.sum() == pytest.approx(fit.layout.n_free, rel=1e-6)


def test_terms_take_up_their_share(panel):
    """A position effect per judge: cells of both orders of a pair move together."""
    from hjastats.diagnostics import goodness

    fit = hja.JAModel.from_comparisons(panel, position="judge").fit().fit
    design, weight = fit.design, evaluate(fit.design, fit.at).curvature
    code, some = goodness._pair_codes(design)
    sign = np.where(design.first < design.second, weight, -weight)
    rows = free_regressors(design, fit.tangent) * sign[:, None]
    sums = np.array([np.bincount(code, column, len(some)) for column in rows.T]).T
    by_hand = np.einsum("pd,de,pe->p", sums, fit.covariance.covariance, sums) / np.bincount(code, weight, len(some))
    found = goodness._leverages(design, fit, fit.model_covariance, code, len(some))
    np.testing.assert_allclose(found, by_hand, rtol=1e-8)


def test_the_order_of_a_pair_and_weights_in_place_of_rows_change_nothing(panel):
    frame = panel.to_frame()
    labels, dispersion = ["judge", "first", "second", "outcome"], ["pairs", "dispersion", "p_value"]
    flip = np.arange(len(frame)) % 2 == 0
    turned = frame.assign(
        first=np.where(flip, frame["second"], frame["first"]),
        second=np.where(flip, frame["first"], frame["second"]),
        outcome=np.where(flip, 1 - frame["outcome"], frame["outcome"]),
    )
    rows, counts, swaps = (
        hja.JAModel.from_comparisons(hja.Comparisons.from_arrays(*(each[name] for name in [*labels, "count"])))
        .fit()
        .judges.goodness_of_fit()
        .table
        for each in (frame.assign(count=1), frame[labels].value_counts().reset_index(), turned.assign(count=1))
    )
    pd.testing.assert_frame_equal(rows, counts, rtol=1e-4)
    # A ranking of a judge's own comes with a position effect, for which the order counts.
    pd.testing.assert_frame_equal(rows[dispersion], swaps[dispersion], rtol=1e-4)


def test_what_cannot_be_tested_is_said(panel, tied_panel, separated_fit):
    def said(result):
        return finding(result, "goodness of fit").text

    assert "ties='davidson' and ties='drop' have a test" in said(hja.JAModel.from_comparisons(tied_panel).fit())
    for ties in ("davidson", "drop"):
        followed = said(hja.HJAModel.from_comparisons(tied_panel, rank=1, position="judge", ties=ties).fit())
        assert followed.startswith("Pairs of items vary as the model says")
    assert "penalised" in said(hja.JAModel.from_comparisons(panel).fit_regularized(0.1))
    assert "no finite" in said(separated_fit)
    soft = hja.Comparisons.from_arrays(
        panel.judge_index, panel.first_index, panel.second_index, 0.1 + 0.8 * panel.outcome
    )
    assert "soft preferences" in said(hja.JAModel.from_comparisons(soft).fit())
    few = panel.subset(np.arange(150))
    assert f"nobody gave {FEW_REPEATED} verdicts" in said(hja.BTLModel.from_comparisons(few).fit())


def test_rankings_of_many_items_are_not_looked_for(panel, set_limits):
    set_limits(OWN_LAPLACIANS=10)
    table = hja.JAModel.from_comparisons(panel).fit().judges.goodness_of_fit().table
    assert table["p_circular"].isna().all()
    assert table["p_holm"].notna().all()


@pytest.mark.slow
def test_the_third_moment_is_that_of_the_statistic():
    """Pairs of three verdicts, 80 to 20: 400,000 draws, of which the third moment is known to about two percent."""
    rng, n, p = np.random.default_rng(0), 3, 0.8
    residual = rng.binomial(n, p, 400_000) - n * p
    statistic = residual**2 - (1 - 2 * p) * residual - n * p * (1 - p)
    k2, bend, skew = n * p * (1 - p), -2 * p * (1 - p), 1 - 2 * p
    free = k2 + bend / 2
    assert np.var(statistic) == pytest.approx(2 * k2 * free, rel=0.02)
    assert stats.moment(statistic, 3) == pytest.approx(4 * k2 * free * (2 * (k2 + bend) + skew**2), rel=0.05)


@pytest.mark.parametrize(
    ("model", "n_items"), [(hja.JudgewiseBTLModel, 5), (hja.JudgewiseBTLModel, 2), (hja.JAModel, 2)]
)
def test_pairs_that_the_scores_follow_whatever_was_seen_are_not_tested(model, n_items):
    """Along a chain of items every pair has a score of its own: residuals of zero are no surprise."""
    rng = np.random.default_rng(0)
    judge, first = (index.ravel() for index in np.indices((4, n_items - 1)).repeat(60, axis=2))
    data = hja.Comparisons.from_arrays(judge, first, first + 1, rng.integers(2, size=len(judge)))
    found = model.from_comparisons(data).fit().judges.goodness_of_fit()
    assert found.note == "Goodness of fit is not tested: the model leaves the probabilities of pairs free."
    assert not found.is_warning
