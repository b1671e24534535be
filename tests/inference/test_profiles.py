"""Intervals by the profile likelihood."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats
from scipy.optimize import brentq

import hjastats as hja
from hjastats.data.comparisons import Comparisons
from hjastats.errors import ContrastError, CovarianceWarning, IdentificationError, OptionError
from tests.panels import separated_panel

# Ends are found to this share of their distance from the estimate.
FOUND = 1e-5
CRITICAL = stats.chi2.isf(0.05, 1)


@pytest.fixture(scope="module")
def ja(small_panel):
    return hja.JAModel.from_comparisons(small_panel).fit()


def duel(wins, losses):
    """Two items, one judge."""
    outcome = np.repeat([1.0, 0.0], [wins, losses])
    return Comparisons.from_arrays(["j"] * len(outcome), ["a"] * len(outcome), ["b"] * len(outcome), outcome)


def test_two_items_have_the_interval_of_a_binomial_share():
    result = hja.BTLModel.from_comparisons(duel(9, 2)).fit()

    def excess(odds):
        return 2 * (9 * np.log(9 / 11) + 2 * np.log(2 / 11) + 11 * np.logaddexp(0, odds) - 9 * odds) - CRITICAL

    low, high = result.conf_int("mu[a] - mu[b]", method="profile").iloc[0]
    centre = np.log(9 / 2)
    assert low == pytest.approx(brentq(excess, centre - 10, centre, xtol=1e-12), abs=FOUND)
    assert high == pytest.approx(brentq(excess, centre, centre + 10, xtol=1e-12), abs=FOUND)


def test_an_item_that_always_wins_has_no_upper_end():
    result = hja.BTLModel.from_comparisons(duel(8, 0)).fit(warn_convergence=False)
    low, high = result.conf_int("mu[a] - mu[b]", method="profile").iloc[0]
    # 2 * 8 * log(1 + exp(-odds)) = 3.84.
    assert low == pytest.approx(-np.log(np.expm1(CRITICAL / 16)), abs=FOUND)
    assert high == np.inf
    low, high = result.conf_int("mu[b] - mu[a]", method="profile").iloc[0]
    assert low == -np.inf
    assert high == pytest.approx(np.log(np.expm1(CRITICAL / 16)), abs=FOUND)


def test_profiles_are_those_of_regressions_with_an_offset(biased_panel):
    """The position effect held at a value is an offset in a logistic regression of statsmodels."""
    result = hja.BTLModel.from_comparisons(biased_panel, position="common").fit()
    frame, items = biased_panel.to_frame(), biased_panel.items
    exog = pd.DataFrame({i: (frame["first"] == i).astype(float) - (frame["second"] == i) for i in items[:-1]})

    def excess(value):
        glm = sm.GLM(frame["outcome"], exog, sm.families.Binomial(), offset=np.full(len(frame), value)).fit()
        return 2 * (result.llf - glm.llf) - stats.chi2.isf(0.1, 1)

    table = result.conf_int(0.1, cols="position", method="profile")
    centre = result.params["position"]
    wanted = [brentq(excess, *ends, xtol=1e-10) for ends in ((centre - 1, centre), (centre, centre + 1))]
    np.testing.assert_allclose(table.loc["position"], wanted, atol=FOUND)


@pytest.mark.parametrize("name", ["gamma[judge-2]", "mu[item-3]", "U[judge-1,1]"])
def test_the_likelihood_ratio_at_the_ends_is_critical(small_panel, name):
    result = hja.HJAModel.from_comparisons(small_panel, rank=1).fit()
    ends = result.conf_int(cols=[name], method="profile").loc[name]
    assert ends[0] < result.params[name] < ends[1]
    for end in ends:
        assert result.lr_test(f"{name} = {end:.16g}").statistic == pytest.approx(CRITICAL, abs=1e-4)


def test_intervals_do_not_depend_on_how_a_contrast_is_written(ja):
    plain = ja.conf_int("gamma[judge-1]", method="profile").to_numpy()
    curved = ja.conf_int("exp(gamma[judge-1])", method="profile").to_numpy()
    function = ja.conf_int(lambda view: view.gamma["judge-1"], method="profile").to_numpy()
    np.testing.assert_allclose(curved, np.exp(plain), rtol=FOUND)
    np.testing.assert_allclose(function, plain, rtol=FOUND)
    odds = ja.conf_int("S[judge-1, item-1] - S[judge-1, item-2]", method="profile").to_numpy()
    chance = ja.conf_int("p[judge-1, item-1, item-2]", method="profile").to_numpy()
    np.testing.assert_allclose(chance, 1 / (1 + np.exp(-odds)), rtol=FOUND)


def test_several_contrasts_have_a_row_each(ja):
    table = ja.conf_int(
        {"apart": "mu[item-1] - mu[item-2]", "sharp": "gamma[judge-1] / gamma[judge-2]"}, method="profile"
    )
    assert list(table.index) == ["apart", "sharp"]
    assert table.loc["apart"].tolist() == pytest.approx(
        ja.conf_int("mu[item-1] - mu[item-2]", method="profile").iloc[0].tolist(), abs=FOUND
    )


def test_many_verdicts_make_profile_and_wald_the_same(small_panel):
    frame = small_panel.to_frame()
    many = Comparisons.from_arrays(
        frame["judge"], frame["first"], frame["second"], frame["outcome"], 400.0 * np.ones(len(frame)), counts=True
    )
    result = hja.JAModel.from_comparisons(many).fit(information="observed")
    error = result.bse["gamma[judge-1]"]
    ends = [result.conf_int(cols=["gamma[judge-1]"], method=how).to_numpy() for how in ("wald", "profile")]
    np.testing.assert_allclose(*ends, atol=0.05 * error)


def test_robust_errors_stretch_the_interval(small_panel):
    result = hja.JAModel.from_comparisons(small_panel).fit(information="observed")
    robust, name = result.with_covariance("HC0"), "gamma[judge-1]"
    ratio = robust.bse[name] / result.bse[name]
    # As wide as the plain interval at the level whose quantile is so much larger.
    alpha = 2 * stats.norm.sf(ratio * stats.norm.isf(0.025))
    ends = robust.conf_int(cols=[name], method="profile").to_numpy()
    np.testing.assert_allclose(ends, result.conf_int(alpha, cols=[name], method="profile"), atol=FOUND)


def test_scores_beside_one_without_a_maximum_are_those_without_it():
    data = separated_panel()
    result = hja.BTLModel.from_comparisons(data).fit(warn_convergence=False)
    frame = data.to_frame()
    rest = frame[(frame["first"] != "i4") & (frame["second"] != "i4")]
    other = hja.BTLModel.from_comparisons(hja.read_comparisons(rest, codes="unit")).fit()
    names = list(other.params.index)
    ours, theirs = (one.conf_int(cols=names, method="profile") for one in (result, other))
    np.testing.assert_allclose(ours, theirs, atol=1e-4)
    assert np.isinf(result.conf_int(cols=["mu[i4]"], method="profile").iloc[0, 1])
    assert np.isfinite(result.conf_int(cols=["mu[i4]"], method="profile").iloc[0, 0])


def test_weak_judges_have_a_profile_although_their_errors_are_withheld():
    rng = np.random.default_rng(3)
    n = 200
    first = rng.integers(5, size=n)
    second = (first + rng.integers(1, 5, size=n)) % 5
    wins = rng.random(n) < 1 / (1 + np.exp(-0.3 * (first - second)))
    data = Comparisons.from_arrays([f"j{k % 4}" for k in range(n)], first, second, wins.astype(float))
    result = hja.JAModel.from_comparisons(data).fit(warn_convergence=False)
    assert result.fit.is_weak
    assert result.conf_int(cols=["gamma[j0]"]).isna().all(axis=None)
    assert result.conf_int(cols=["gamma[j0]"], method="profile").notna().all(axis=None)


def test_parameters_are_chosen_by_position_and_by_name(ja):
    assert list(ja.conf_int(cols=[1]).index) == [ja.params.index[1]]
    assert ja.conf_int(cols="mu[item-2]").equals(ja.conf_int().loc[["mu[item-2]"]])
    with pytest.raises(ContrastError, match="unknown name 'mu'"):
        ja.conf_int(cols="mu")
    with pytest.raises(OptionError, match="method"):
        ja.conf_int(method="delta")
    with pytest.raises(OptionError, match="alpha must lie between 0 and 1"):
        ja.conf_int(2.0, cols=[1], method="profile")


def test_a_profile_above_the_fit_says_that_this_is_no_maximum(small_panel):
    model = hja.HJAModel.from_comparisons(small_panel, rank=1)
    result = model.fit()
    worse = hja.HJAResults(model, model.fit_constrained("gamma[judge-1] = 1.6").fit)
    lost = hja.HJAResults(model, replace(worse.fit, restriction=None))
    with pytest.warns(CovarianceWarning, match="the fit is a local optimum"):
        table = lost.conf_int(cols=["gamma[judge-1]"], method="profile")
    assert table.isna().any(axis=None)
    assert result.llf > lost.llf


def test_penalised_likelihoods_have_no_profile(ja):
    with pytest.raises(IdentificationError, match="penalised likelihoods are not chi-squared"):
        ja.model.fit_regularized(1.0).conf_int(method="profile")


def test_the_figure_shows_both_intervals_and_says_where_there_is_no_end(ja):
    ax = ja.plot.profile("gamma[judge-1]")
    low, high = ja.conf_int(cols="gamma[judge-1]", method="profile").iloc[0]
    profile, wald = [text.get_text() for text in ax.get_legend().get_texts()]
    assert profile == f"profile: {low:.4g} to {high:.4g}"
    assert wald.startswith("Wald: ")
    values, roots = ax.get_lines()[3].get_data()
    assert np.interp(0.0, roots, values) == pytest.approx(ja.params["gamma[judge-1]"], abs=1e-3)
    assert (np.diff(roots) > 0).all()
    ahead = hja.BTLModel.from_comparisons(duel(8, 0)).fit(warn_convergence=False).plot.profile("mu[a] - mu[b]")
    assert "no upper end" in [text.get_text() for text in ahead.texts]
    assert ahead.get_legend().get_texts()[0].get_text().endswith(" to infinity")
    with pytest.raises(OptionError, match="of one contrast, got 2"):
        ja.plot.profile(["mu[item-1]", "mu[item-2]"])
