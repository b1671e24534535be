"""Chances of places, boards on three scales, one item against another."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit
from statsmodels.genmod.families.links import Logit

import hjastats as hja
from hjastats.inference.decisions import relied_on, score_draws, win_rates

# Of a share of 20,000 draws, three times.
DRAWN = 3 * 0.5 / np.sqrt(20_000)


@pytest.fixture(scope="module")
def btl(panel):
    return hja.BTLModel.from_comparisons(panel).fit()


def test_two_items_are_best_as_often_as_the_normal_distribution_says():
    drawn = score_draws(np.array([0.2, -0.2]), 0.25 * np.array([[1.0, -1.0], [-1.0, 1.0]]), "flat")
    assert (drawn.argmax(axis=1) == 0).mean() == pytest.approx(stats.norm.cdf(0.4 / 1.0), abs=DRAWN)


def test_draws_under_a_normal_prior_are_those_of_a_known_spread_where_items_are_many():
    """With 400 items the spread is all but known, and the posterior is that of independent normals."""
    rng = np.random.default_rng(0)
    truth = rng.normal(0.0, 0.5, 400)
    estimate = truth + rng.normal(0.0, 0.5, 400)
    drawn = score_draws(estimate - estimate.mean(), 0.25 * (np.eye(400) - 1 / 400), n=4000)
    shrunk = np.polyfit(estimate, drawn.mean(axis=0), 1)[0]
    assert shrunk == pytest.approx(0.5, abs=0.06)  # two errors of an estimated variance of 400 items
    assert drawn.std(axis=0).mean() == pytest.approx(np.sqrt(0.125), rel=0.08)


def test_errors_of_the_scale_of_all_scores_say_nothing_against_the_best():
    scores = np.linspace(1.0, -1.0, 9)
    covariance = 0.01 * (np.eye(9) - 1 / 9) + 0.1 * np.outer(scores, scores)
    flat, normal = ((score_draws(scores, covariance, prior).argmax(axis=1) == 0).mean() for prior in ("flat", "normal"))
    assert normal == pytest.approx(flat, abs=0.03)


def test_a_normal_prior_is_less_sure_of_the_best_where_items_are_close(btl):
    close = hja.BTLModel.from_comparisons(
        hja.simulation.simulate_comparisons(
            np.zeros((2, 6)), hja.simulation.near_balanced_design(2, 6, 120, rng=0), rng=1
        )
    ).fit()
    assert close.places().best.max() < close.places(prior="flat").best.max() - 0.05
    # Items wide apart are told apart under either.
    assert btl.places().best.max() == pytest.approx(btl.places(prior="flat").best.max(), abs=0.01)


def _on_few_prompts(seed, n=1500, n_items=12, n_prompts=8):
    """Items of which every prompt suits some more: the true best, and the fit clustered by prompt."""
    rng = np.random.default_rng(seed)
    first, prompt = rng.integers(n_items, size=n), rng.integers(n_prompts, size=n)
    second = (first + rng.integers(1, n_items, size=n)) % n_items
    mu = rng.normal(0.0, 0.5, n_items)
    scores = mu[:, None] + rng.normal(0.0, 0.6, (n_items, n_prompts))
    wins = rng.random(n) < expit(scores[first, prompt] - scores[second, prompt])
    columns = {"first": first.astype(str), "second": second.astype(str), "prompt": prompt, "outcome": wins * 1.0}
    data = hja.read_comparisons(pd.DataFrame(columns), codes="unit", single_judge="ann")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hja.CovarianceWarning)
        model = hja.BTLModel.from_comparisons(data)
        return str(mu.argmax()), model.fit(cov_type="cluster", cov_kwds={"groups": "prompt"}).fit


def test_fewer_clusters_than_items_do_not_make_the_best_look_certain():
    """Of 200 panels with eight prompts: what is said with 0.75 or more comes true, and the true best is given better chances."""
    told = {"all": [], "relied on": []}
    for seed in range(200):
        best, fit = _on_few_prompts(seed)
        labels, mu, rows = fit.vector("mu", np.arange(12))
        for name, covariance in (("all", fit.covariance.of(rows)), ("relied on", relied_on(fit, rows))):
            share = np.bincount(score_draws(mu, covariance, n=4000).argmax(axis=1), minlength=12) / 4000
            told[name].append((share.max(), labels[share.argmax()] == best, max(share[labels.index(best)], 1 / 4000)))
    chance, is_true, of_best = np.array(told["relied on"]).T
    sure = chance > 0.75
    error = np.sqrt(np.sum(chance[sure] * (1 - chance[sure]))) / sure.sum()
    assert chance[sure].mean() - is_true[sure].mean() < 2 * error
    assert np.log(of_best).mean() > np.log(np.array(told["all"])[:, 2]).mean()
    # The standard errors are those of the clusters all the same.
    np.testing.assert_allclose(np.diag(relied_on(fit, rows)), fit.covariance.variances(rows), rtol=1e-8)


def test_chances_of_places_add_up_both_ways(btl):
    places = btl.places()
    np.testing.assert_allclose(places.probability.sum(axis=0), 1.0)
    np.testing.assert_allclose(places.probability.sum(axis=1), 1.0)
    assert places.expected.sum() == pytest.approx(55.0)
    assert list(places.probability.index) == list(btl.ranking().index)


def test_places_from_a_bootstrap_agree_with_those_from_the_errors(btl):
    flat, drawn = btl.places(prior="flat"), btl.places(bootstrap=btl.bootstrap(400))
    assert (flat.probability - drawn.probability).abs().to_numpy().max() < 3 * 0.5 / np.sqrt(400)
    assert drawn.prior == "bootstrap"
    assert "bootstrap" in repr(drawn)


def test_a_bootstrap_of_other_items_is_refused(btl, small_panel):
    other = hja.BTLModel.from_comparisons(small_panel).fit().bootstrap(2)
    with pytest.raises(hja.errors.OptionError, match="one of this fit"):
        btl.places(bootstrap=other)


def test_win_rates_have_the_derivatives_of_finite_differences():
    scores = np.array([0.8, 0.1, -0.4, -0.5])
    rates, slopes = win_rates(scores)
    assert rates.mean() == pytest.approx(0.5)
    for j, step in enumerate(1e-6 * np.eye(4)):
        numeric = (win_rates(scores + step)[0] - win_rates(scores - step)[0]) / 2e-6
        np.testing.assert_allclose(slopes[:, j], numeric, atol=1e-9)


def test_elo_is_the_log_odds_scale_times_400_over_log_10(btl):
    plain, elo = btl.leaderboard().table, btl.leaderboard("elo").table
    np.testing.assert_allclose(elo["score"], 1000 + 400 / np.log(10) * plain["score"])
    np.testing.assert_allclose(elo["std_err"], 400 / np.log(10) * plain["std_err"])
    # 400 points are odds of ten to one.
    assert 10 ** ((elo["score"].iloc[0] - elo["score"].iloc[1]) / 400) == pytest.approx(
        np.exp(plain["score"].iloc[0] - plain["score"].iloc[1])
    )


def test_errors_of_an_anchored_board_are_those_of_the_differences(btl):
    table = btl.leaderboard(anchor="model-B").table
    pairs = btl.pairwise().xs("model-B", level="first")
    np.testing.assert_allclose(table.loc[pairs.index, "std_err"], pairs["std_err"])
    np.testing.assert_allclose(table.loc[pairs.index, "score"], -pairs["estimate"])
    assert table.loc["model-B", ["score", "std_err", "ci_lower", "ci_upper"]].tolist() == [0.0] * 4


def test_a_board_keeps_the_places_of_the_ranking(panel_fit):
    table, ranking = panel_fit.leaderboard().table, panel_fit.ranking()
    shared = ["place", "place_lower", "place_upper", "score", "std_err", "ci_lower", "ci_upper", "tier"]
    pd.testing.assert_frame_equal(table[shared], ranking[shared])
    assert table["comparisons"].sum() == 2 * panel_fit.nobs
    own = panel_fit.leaderboard(judge="judge-5").table
    pd.testing.assert_frame_equal(own[shared], panel_fit.ranking("judge-5")[shared])


def test_win_rates_lie_within_their_intervals_which_are_made_on_the_logit_scale(btl):
    table = btl.leaderboard("win-rate").table
    logit = Logit()
    middle = 0.5 * (logit(table["ci_lower"].to_numpy()) + logit(table["ci_upper"].to_numpy()))
    np.testing.assert_allclose(middle, logit(table["score"].to_numpy()), atol=1e-10)


def test_one_item_against_another_is_the_contrast_of_their_scores(btl):
    found = btl.head_to_head("model-I", "model-H")
    expected = btl.contrast("mu[model-I] - mu[model-H]").summary_frame().iloc[0]
    assert (found.log_odds, found.std_err, found.p_value) == pytest.approx(
        tuple(expected[["estimate", "std_err", "p_value"]])
    )
    assert found.probability == pytest.approx(1 / (1 + np.exp(-expected["estimate"])))
    turned = btl.head_to_head("model-H", "model-I")
    assert (turned.ci_lower, turned.ci_upper) == pytest.approx((1 - found.ci_upper, 1 - found.ci_lower))


def test_one_item_against_another_by_one_judge_is_its_probability_without_position(panel):
    result = hja.JAModel.from_comparisons(panel).fit()
    found = result.head_to_head("model-A", "model-B", judge="judge-1")
    table = result.contrast("p[judge-1, model-A, model-B]").summary_frame().iloc[0]
    assert (found.probability, found.ci_lower, found.ci_upper) == pytest.approx(
        tuple(table[["estimate", "ci_lower", "ci_upper"]])
    )


def test_ties_are_told_where_they_are_modelled(tied_panel):
    result = hja.BTLModel.from_comparisons(tied_panel, ties="davidson").fit()
    first, second = result.model.items[:2]
    found = result.head_to_head(first, second)
    expected = result.contrast(
        [f"prob[{verdict}, {result.model.judges[0]}, {first}, {second}]" for verdict in found.ties]
    )
    np.testing.assert_allclose(list(found.ties.values()), expected.estimate)
    assert f"Of their comparisons the model expects {found.ties['tie']:.1%} to be ties" in found.sentence
    by_judge = hja.JAModel.from_comparisons(tied_panel, ties="davidson", tie="judge").fit()
    assert sum(by_judge.head_to_head(first, second).ties.values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda r: r.leaderboard("points"), "scale must be"),
        (lambda r: r.leaderboard(top=0), "top must be"),
        (lambda r: r.leaderboard(anchor="nobody"), "anchor must be an item"),
        (lambda r: r.leaderboard("win-rate", anchor="model-A"), "anchor"),
        (lambda r: r.leaderboard(prior="vague"), "prior must be"),
        (lambda r: r.leaderboard(level=2), "between 0 and 1"),
        (lambda r: r.head_to_head("model-A", "model-A"), "two different"),
        (lambda r: r.head_to_head("model-A", "nobody"), "no item is called 'nobody'"),
        (lambda r: r.head_to_head("model-A", "model-B", judge="nobody"), "no judge is called 'nobody'"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_what_can(btl, call, text):
    with pytest.raises(ValueError, match=text):
        call(btl)


def test_scores_that_run_to_infinity_have_no_board(separated_fit):
    for call in (separated_fit.leaderboard, separated_fit.places):
        with pytest.raises(hja.IdentificationError, match="fit_regularized"):
            call()


def test_judges_who_differ_in_sensitivity_alone_are_not_counted_for_an_item(panel):
    """All of them follow, or turn round, one and the same order: that ten of ten do is no evidence."""
    alike = hja.JAModel.from_comparisons(panel).fit().head_to_head("model-I", "model-H")
    own = hja.HJAModel.from_comparisons(panel, rank=1).fit().head_to_head("model-I", "model-H")
    assert "ahead by their own scores" not in alike.sentence
    assert own.sentence.endswith("8 of 8 judges have it ahead by their own scores.")
