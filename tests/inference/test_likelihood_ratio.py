"""When a likelihood ratio has a p-value, and when it says why not."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

import hjastats as hja
from hjastats.data.comparisons import Comparisons
from hjastats.inference.likelihood_ratio import LARGEST_SIZE, _excess
from tests.panels import changed, finding


def bradley_terry(n_judges, n_items, n_rows, sd, seed=0):
    """All judges alike; scores evenly spaced."""
    rng = np.random.default_rng(seed)
    mu = np.linspace(-1.0, 1.0, n_items)
    mu *= sd / mu.std()
    first = rng.integers(n_items, size=n_rows)
    second = (first + rng.integers(1, n_items, size=n_rows)) % n_items
    wins = rng.random(n_rows) < expit(mu[first] - mu[second])
    judge = [f"j{k:03d}" for k in np.arange(n_rows) % n_judges]
    return Comparisons.from_arrays(judge, [f"i{i}" for i in first], [f"i{i}" for i in second], wins.astype(float))


@pytest.fixture(scope="module")
def weak():
    data = bradley_terry(8, 10, 800, 0.2)
    return hja.BTLModel.from_comparisons(data).fit(), hja.JAModel.from_comparisons(data).fit()


def test_a_clear_consensus_has_the_chi_squared_p_value():
    data = bradley_terry(8, 10, 4000, 0.8)
    small, large = hja.BTLModel.from_comparisons(data).fit(), hja.JAModel.from_comparisons(data).fit()
    test = large.compare_lr_test(small)
    assert test.pvalue == stats.chi2.sf(test.statistic, 7)
    assert hja.compare(small, large)["note"].iloc[1] == ""


def test_a_weak_consensus_has_none_and_the_bootstrap_that_is_offered_gives_one(weak):
    small, large = weak
    assert hja.compare(small, large)["note"].iloc[1] == "not chi-squared (weak consensus)"
    with pytest.warns(hja.NonRegularWarning, match="chi-squared would reject .* Use method='bootstrap'"):
        assert np.isnan(large.compare_lr_test(small).pvalue)
    test = large.compare_lr_test(small, "bootstrap", n=39, rng=1)
    assert 0.025 <= test.pvalue <= 1.0
    assert test.df_diff == 7


def test_what_is_beyond_doubt_has_a_bound_although_the_consensus_is_weak():
    """Half of the judges rank the other way round: no consensus is left, and no doubt that judges differ."""
    rng = np.random.default_rng(0)
    data = bradley_terry(8, 10, 800, 0.2)
    frame = data.to_frame()
    scores = dict(zip(data.items, rng.normal(0, 1.5, 10), strict=True))
    against = np.where(frame["judge"] < "j004", 1.0, -1.0)
    wins = rng.random(len(frame)) < expit(against * (frame["first"].map(scores) - frame["second"].map(scores)))
    data = changed(data, wins.astype(float))
    small, large = hja.BTLModel.from_comparisons(data).fit(), hja.JAModel.from_comparisons(data).fit()
    row = hja.compare(small, large).iloc[1]
    assert row["note"] == "at most (weak consensus)"
    assert row["p_value"] > stats.chi2.sf(row["lr"], 7)
    assert row["p_value"] < 1e-3


def test_light_judges_have_none_either():
    data = bradley_terry(192, 6, 192 * 15, 1.0)
    small = hja.BTLModel.from_comparisons(data).fit()
    large = hja.JAModel.from_comparisons(data).fit(n_random=0, warn_convergence=False)
    assert np.isnan(hja.compare(small, large)["p_value"].iloc[1])


def test_designs_whose_simulated_size_is_too_large_are_foretold_to_be():
    """Simulated sizes (300 panels each, error 0.02): 0.077, 0.160, 0.213, 0.330; and 0.053 and 0.047 where it may be used."""
    for design in ((8, 10, 2000, 0.33), (20, 10, 1000, 0.4), (60, 6, 900, 0.8), (192, 6, 2880, 1.0)):
        assert foretold(*design) > LARGEST_SIZE
    for design in ((8, 10, 2000, 0.8), (60, 6, 9000, 1.0)):
        assert foretold(*design) <= LARGEST_SIZE


def foretold(n_judges, *design):
    """Of the middle one of five panels."""
    fits = [hja.BTLModel.from_comparisons(bradley_terry(n_judges, *design, seed)).fit().fit for seed in range(5)]
    df = n_judges - 1
    return np.median([stats.chi2.sf(stats.chi2.isf(0.05, df) / (1.0 + _excess(fit)), df) for fit in fits])


def test_errors_of_a_weak_consensus_are_withheld_and_btl_has_some(weak):
    small, large = weak
    assert large.consensus["std_err"].isna().all()
    assert large.bse.isna().all()
    found = finding(large, "errors")
    assert found.is_warning
    assert "BTLModel" in found.text
    assert small.consensus["std_err"].notna().all()
    with pytest.raises(hja.IdentificationError, match="too little about the consensus"):
        large.ranking()


def test_position_effects_of_a_weak_consensus_keep_their_errors():
    data = bradley_terry(8, 10, 800, 0.2)
    result = hja.JAModel.from_comparisons(data, position="judge").fit()
    assert result.position["std_err"].notna().all()
    assert result.consensus["std_err"].isna().all()


def test_of_nested_models_of_one_size_the_best_is_the_one_to_beat(panel):
    frame = panel.to_frame()
    rng = np.random.default_rng(0)
    labels = {"judge": frame["judge"], "item_a": frame["first"], "item_b": frame["second"]}
    columns = frame.assign(noise=rng.normal(size=len(frame)), good=frame["outcome"] + rng.normal(size=len(frame)))
    fits = [
        hja.BTLModel(frame["outcome"], columns[names], **labels).fit()
        for names in (["noise"], ["good"], ["noise", "good"])
    ]
    table = hja.compare(*fits)
    assert table["lr"].iloc[-1] == pytest.approx(2 * (fits[2].llf - fits[1].llf))


@pytest.mark.parametrize("model", [hja.BTLModel, hja.JAModel])
def test_position_effects_are_compared_under_robust_errors(model, panel):
    """The larger model has a term that the smaller one lacks; p-values are near those of the robust score test."""
    frame = panel.to_frame()
    frame.loc[::7, "outcome"] = 0.5
    data = hja.read_comparisons(frame, codes="unit")
    none, common, own = (
        model.from_comparisons(data, position=p).fit(cov_type="HC0") for p in (None, "common", "judge")
    )
    table = hja.compare(none, common, own)
    assert table["note"].iloc[1].startswith("Rao-Scott")
    # Half wins vary less than the model says: by what the ratio is divided, the Wald test's covariance is smaller.
    inflation = float(table["note"].iloc[1].split(", ")[1].split()[0])
    wald = common.wald_test("position = 0").statistic
    assert float(table["lr"].iloc[1]) / inflation == pytest.approx(float(np.squeeze(wald)), rel=0.05)


def test_soft_preferences_have_no_p_values_of_ratios(small_panel):
    soft = changed(small_panel, np.where(small_panel.outcome > 0.5, 0.8, 0.2))
    result = hja.JAModel.from_comparisons(soft).fit()
    assert np.isnan(result.rank_test().p_value)
    assert np.isnan(hja.BTLModel.from_comparisons(soft).fit().llr_pvalue)


def test_the_bootstrap_compares_models_with_the_same_terms_only(panel):
    small = hja.BTLModel.from_comparisons(panel).fit()
    large = hja.JAModel.from_comparisons(panel, position="judge").fit()
    with pytest.raises(hja.ComparisonError, match="differ in them"):
        large.compare_lr_test(small, "bootstrap", n=3)


def test_a_foreign_result_is_refused_in_a_sentence(panel_fit):
    with pytest.raises(hja.ComparisonError, match="expected the result of a fit of this package, got int"):
        panel_fit.compare_lr_test(3)


def test_verdicts_without_any_consensus_have_no_p_value_and_a_report():
    first, second = np.triu_indices(4, 1)
    data = Comparisons.from_arrays(np.repeat(["j", "k"], 30), np.tile(first, 10), np.tile(second, 10), np.full(60, 0.5))
    alike = hja.BTLModel.from_comparisons(data).fit()
    table = hja.compare(alike, hja.JudgewiseBTLModel.from_comparisons(data).fit())
    assert table["note"].iloc[1] == "not chi-squared (weak consensus)"
    assert "judges" in alike.report()
