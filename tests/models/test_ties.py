"""Ties as half wins, left out, or an outcome of their own; soft preferences."""

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.errors import ComparisonError, ContrastError, IdentificationError
from hjastats.simulation import near_balanced_design
from tests.panels import arguments, finding, mild_scores, swapped

CLASSES = [(hja.BTLModel, {}), (hja.JAModel, {}), (hja.HJAModel, {"rank": 1}), (hja.JudgewiseBTLModel, {})]


@pytest.mark.parametrize(("cls", "options"), CLASSES)
@pytest.mark.parametrize("tie", ["common", "judge"])
def test_swapping_sides_flips_position_and_leaves_ties_and_scores(tied_panel, cls, options, tie):
    frame = tied_panel.to_frame()
    kind = options | {"ties": "davidson", "tie": tie, "position": "judge"}
    one, two = cls(frame["outcome"], **arguments(frame), **kind).fit(), cls(**model_of(swapped(frame)), **kind).fit()
    assert one.llf == pytest.approx(two.llf, rel=1e-12)
    np.testing.assert_allclose(one.position["estimate"], -two.position["estimate"], atol=1e-7)
    np.testing.assert_allclose(one.params.filter(like="tie"), two.params.filter(like="tie"), atol=1e-7)
    np.testing.assert_allclose(one.scores, two.scores, atol=1e-7)


def model_of(frame):
    return {"endog": frame["outcome"], **arguments(frame)}


@pytest.mark.parametrize(("cls", "options"), CLASSES)
def test_davidson_fits_are_stationary_and_their_rows_add_up(tied_panel, cls, options):
    for tie in ("common", "judge"):
        result = cls.from_comparisons(tied_panel, ties="davidson", tie=tie, position="common", **options).fit()
        model, params = result.model, result.params.to_numpy()
        assert result.converged
        assert np.abs(model.score_free(params)).max() < 1e-6
        assert model.loglikeobs(params).sum() == pytest.approx(result.llf, rel=1e-12)
        np.testing.assert_allclose(model.score_obs_free(params).sum(axis=0), model.score_free(params), atol=1e-8)
        np.testing.assert_allclose(model.score_obs(params).sum(axis=0), model.score(params), atol=1e-8)
        np.testing.assert_allclose(-model.hessian_free(params, observed=False), model.information(params))


def test_merging_rows_changes_no_davidson_fit(tied_panel):
    frame = tied_panel.to_frame()
    merged = frame.groupby(["judge", "first", "second", "outcome"], as_index=False)["weight"].sum()
    one = hja.JAModel.from_comparisons(tied_panel, ties="davidson", tie="judge").fit()
    two = hja.JAModel(
        merged["outcome"], weights=merged["weight"], ties="davidson", tie="judge", **arguments(merged)
    ).fit()
    assert one.llf == pytest.approx(two.llf, rel=1e-12)
    np.testing.assert_allclose(one.bse, two.bse, rtol=1e-6)
    np.testing.assert_allclose(one.with_covariance("HC0").bse, two.with_covariance("HC0").bse, rtol=1e-6)


def test_without_item_differences_tie_propensities_are_the_tie_shares(tied_panel):
    """Two items of equal strength: the odds of a tie against either win are exp(tie) exactly."""
    rng = np.random.default_rng(0)
    outcome = rng.choice([0, 0.5, 1], size=400, p=[0.3, 0.4, 0.3])
    outcome = np.concatenate([outcome, 1 - outcome])
    rows = {"judge": ["j"] * 800, "item_a": ["a"] * 800, "item_b": ["b"] * 800}
    result = hja.BTLModel(outcome, ties="davidson", **rows).fit()
    share = np.mean(outcome == 0.5)
    assert result.params["tie"] == pytest.approx(np.log(2 * share / (1 - share)), abs=1e-8)
    assert result.params["mu[a]"] == pytest.approx(0, abs=1e-8)


def test_judges_that_never_tie_have_no_tie_propensity(tied_panel):
    outcome = np.where((tied_panel.judge_index == 1) & (tied_panel.outcome == 0.5), 1.0, tied_panel.outcome)
    frame = tied_panel.to_frame()
    result = hja.JAModel(
        outcome, ties="davidson", tie="judge", **{k: v.to_numpy() for k, v in arguments(frame).items()}
    ).fit()
    assert result.converged
    assert list(result.params.filter(like="tie").index) == ["tie[judge-1]", "tie[judge-3]", "tie[judge-4]"]
    assert result.df_model == 3 + 3 + 5
    probabilities = result.predict(judge="judge-2", item_a="item-1", item_b="item-2", which="probs")
    assert probabilities["tie"].iloc[0] < 1e-15
    assert any("never tie" in finding.text for finding in result.findings)
    with pytest.raises(ContrastError, match="has no tie to ask about"):
        result.contrast("tie[judge-2]")
    assert result.contrast("tie[judge-3] - tie[judge-1]").std_err[0] > 0
    metadata = pd.DataFrame({"big": [0, 1, 0, 1]}, index=list(tied_panel.judges))
    assert len(result.contrast_formula("tie ~ big", metadata)) == 2
    assert result.bootstrap(3).params.shape == (3, len(result.params))
    table = next(table for table in result.summary().tables if "tie" in str(table.title))
    assert [row[0].data for row in table[1:]] == ["judge-1", "judge-3", "judge-4"]


def test_dropping_ties_is_leaving_them_out(tied_panel):
    dropped = hja.HJAModel.from_comparisons(tied_panel, rank=1, ties="drop", exog=["length"]).fit()
    decided = tied_panel.subset(tied_panel.outcome != 0.5)
    direct = hja.HJAModel.from_comparisons(decided, rank=1, exog=["length"]).fit()
    assert dropped.llf == pytest.approx(direct.llf, rel=1e-12)
    assert dropped.nobs == decided.n_comparisons
    assert any("ties were left out" in finding.text for finding in dropped.findings)


def test_ties_as_an_outcome_are_not_compared_with_half_wins(tied_panel):
    half, davidson = (hja.BTLModel.from_comparisons(tied_panel, ties=ties).fit() for ties in ("half", "davidson"))
    with pytest.raises(ComparisonError, match="different outcomes"):
        hja.compare(half, davidson)
    judge = hja.BTLModel.from_comparisons(tied_panel, ties="davidson", tie="judge").fit()
    assert judge.compare_lr_test(davidson).df_diff == 3


def test_davidson_refuses_soft_preferences_and_data_without_ties(tied_panel):
    frame = tied_panel.to_frame()
    with pytest.raises(ComparisonError, match="soft preferences need ties='half'"):
        hja.BTLModel(frame["outcome"] * 0.7, ties="davidson", **arguments(frame))
    with pytest.raises(IdentificationError, match="no ties in the data"):
        hja.BTLModel.from_comparisons(tied_panel.subset(tied_panel.outcome != 0.5), ties="davidson")


def test_soft_preferences_call_for_robust_errors(tied_panel):
    frame = tied_panel.to_frame()
    soft = hja.BTLModel(0.2 + 0.6 * frame["outcome"], **arguments(frame)).fit()
    found = finding(soft, "ties")
    assert found.is_warning
    assert "HC0" in found.text
    robust = soft.with_covariance("HC0")
    assert not finding(robust, "ties").is_warning
    assert (robust.bse < soft.bse).all()


@pytest.mark.parametrize("option", [{"position": "left"}, {"ties": "win"}, {"tie": "both", "ties": "davidson"}])
def test_unknown_options_are_refused(tied_panel, option):
    with pytest.raises(ValueError, match="must be"):
        hja.BTLModel.from_comparisons(tied_panel, **option)


@pytest.mark.slow
def test_position_tie_and_covariate_intervals_cover_at_their_nominal_level():
    """300 replications of 3,000 verdicts, 4 judges: the share of 1,200 intervals per kind has standard error 0.006.

    Limits are three of them around 0.95, rounded outwards.
    """
    rng = np.random.default_rng(7)
    scores, position = mild_scores(seed=5), np.array([0.8, -0.5, 0.0, 0.3])
    tie, slope = np.array([-0.5, -1.0, 0.2, -1.5]), np.array([0.3, 0.0, -0.2, 0.1])
    judge, first, second = near_balanced_design(4, 6, 3000, rng=rng)
    flip = rng.random(3000) < 0.5
    first, second = np.where(flip, second, first), np.where(flip, first, second)
    length = rng.normal(size=3000)
    eta = scores[judge, first] - scores[judge, second] + position[judge] + slope[judge] * length
    weights = np.column_stack([np.exp(eta / 2), np.exp(tie[judge]), np.exp(-eta / 2)])
    chance = (weights / weights.sum(axis=1, keepdims=True)).cumsum(axis=1)
    inside = {"position": [], "tie": [], "length": []}
    for _ in range(300):
        draw = rng.random((3000, 1))
        outcome = np.array([1.0, 0.5, 0.0])[(draw > chance).sum(axis=1)]
        options = {
            "position": "judge",
            "ties": "davidson",
            "tie": "judge",
            "judge_exog": pd.DataFrame({"length": length}),
        }
        model = hja.HJAModel(outcome, judge=judge, item_a=first, item_b=second, rank=1, **options)
        result = model.fit(n_random=0, warn_convergence=False)
        for kind, value in (("position", position), ("tie", tie), ("length", slope)):
            where = model.layout.slices[kind]
            error = np.abs(result.params.to_numpy()[where] - value)
            inside[kind].append(error < 1.959964 * result.bse.to_numpy()[where])
    for kind, hits in inside.items():
        assert 0.93 <= np.mean(hits) <= 0.97, kind


def test_tie_propensities_can_be_compared_and_explained(tied_panel):
    result = hja.JAModel.from_comparisons(tied_panel, ties="davidson", tie="judge").fit()
    assert len(result.pairwise("tie")) == 6
    metadata = pd.DataFrame({"big": [0, 1, 0, 1]}, index=list(tied_panel.judges))
    assert result.contrast_formula("tie ~ big", metadata).names == ["Intercept", "big"]
    text, function = result.contrast("tie[judge-1]"), result.contrast(lambda view: view.tie["judge-1"])
    assert text.std_err[0] == pytest.approx(function.std_err[0], rel=1e-6)


def test_what_quasi_likelihoods_do_not_support_is_refused(tied_panel):
    frame = tied_panel.to_frame()
    soft = 0.2 + 0.6 * frame["outcome"]
    btl, ja = (model(soft, **arguments(frame)).fit() for model in (hja.BTLModel, hja.JAModel))
    with pytest.warns(hja.NonRegularWarning, match="soft preferences"):
        assert np.isnan(ja.compare_lr_test(btl).pvalue)
    assert "soft preferences" in hja.compare(btl, ja).loc["JA", "note"]
    with pytest.raises(ComparisonError, match="resample them"):
        ja.bootstrap(5)
    assert ja.bootstrap(5, "rows").params.shape[0] == 5


def test_judges_without_ties_make_the_test_of_common_ties_irregular(tied_panel):
    outcome = np.where((tied_panel.judge_index == 1) & (tied_panel.outcome == 0.5), 1.0, tied_panel.outcome)
    labels = {name: values.to_numpy() for name, values in arguments(tied_panel.to_frame()).items()}
    common, judge = (hja.BTLModel(outcome, ties="davidson", tie=tie, **labels).fit() for tie in ("common", "judge"))
    with pytest.warns(hja.NonRegularWarning, match="boundary"):
        assert np.isnan(judge.compare_lr_test(common).pvalue)


VERDICTS = ("first", "tie", "second")


@pytest.mark.parametrize("tie", ["common", "judge"])
def test_every_verdict_has_its_probability_with_errors_and_p_is_among_decided_ones(tied_panel, tie):
    result = hja.JAModel.from_comparisons(tied_panel, position="judge", ties="davidson", tie=tie).fit()
    judge, pair = result.model.judges[0], result.model.items[:2]
    asked = {"judge": judge, "item_a": pair[0], "item_b": pair[1]}
    labels = ", ".join((judge, *pair))
    told = result.contrast([f"prob[{verdict}, {labels}]" for verdict in VERDICTS])
    numeric = result.contrast([lambda v, verdict=verdict: v.prob(verdict, judge, *pair) for verdict in VERDICTS])
    np.testing.assert_allclose(told.estimate, result.predict(**asked, which="probs").to_numpy()[0], rtol=1e-12)
    np.testing.assert_allclose(told.std_err, numeric.std_err, rtol=1e-6)
    np.testing.assert_allclose(told.gradient.sum(axis=0), 0.0, atol=1e-12)
    for i, verdict in enumerate(VERDICTS):
        table = result.get_prediction(**asked, which=verdict).summary_frame()
        np.testing.assert_allclose(table.iloc[0, 1:], [told.std_err[i], *told.conf_int()[i]], rtol=1e-9)
    wins, ties, losses = told.estimate
    decided = result.contrast(f"p[{labels}]")
    assert decided.estimate[0] == pytest.approx(wins / (wins + losses))
    assert result.predict(**asked, which="decided")[0] == pytest.approx(decided.estimate[0])
    table = result.get_prediction(**asked, which="decided").summary_frame()
    np.testing.assert_allclose(table.iloc[0, 2:], decided.conf_int()[0], rtol=1e-9)
    mean = result.get_prediction(**asked).summary_frame()
    assert mean["predicted"][0] == pytest.approx(result.predict(**asked)[0]) == pytest.approx(wins + ties / 2)
    by_hand = result.contrast(lambda v: v.prob("first", judge, *pair) + v.prob("tie", judge, *pair) / 2, scale="logit")
    np.testing.assert_allclose(mean.iloc[0, 1:], [by_hand.std_err[0], *by_hand.conf_int()[0]], rtol=1e-6)
    assert len({round(value, 3) for value in (wins, decided.estimate[0], mean["predicted"][0])}) == 3


def test_asking_for_a_verdict_there_is_not_names_those_there_are(tied_panel):
    result = hja.BTLModel.from_comparisons(tied_panel).fit()
    asked = dict(zip(("judge", "item_a", "item_b"), (result.model.judges[0], *result.model.items[:2]), strict=True))
    with pytest.raises(ContrastError, match="needs a verdict, 'first', 'second', got 'tie'"):
        result.contrast(f"prob[tie, {', '.join(asked.values())}]")
    with pytest.raises(
        ContrastError, match="which must be one of 'mean', 'decided', 'linear', 'probs', 'first', 'second', got 'tie'"
    ):
        result.get_prediction(**asked, which="tie")
