"""Position, ties, covariates and soft preferences: what real verdicts bring along."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats

import hjastats as hja
from hjastats.data.comparisons import Comparisons
from hjastats.errors import ComparisonError, ContrastError, IdentificationError
from hjastats.simulation import near_balanced_design
from tests.panels import arguments, mild_scores, swapped

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
    with pytest.raises(ContrastError, match="never ties"):
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


def test_judge_slopes_of_the_pooled_model_are_those_of_a_logistic_regression(tied_panel):
    decided = tied_panel.subset(tied_panel.outcome != 0.5)
    result = hja.BTLModel.from_comparisons(decided, judge_exog=["length"], position="judge").fit()
    frame = decided.to_frame()
    items = pd.get_dummies(frame["first"]).astype(float) - pd.get_dummies(frame["second"]).astype(float)
    judges = pd.get_dummies(frame["judge"]).astype(float)
    design = np.hstack([judges, judges.mul(frame["length"], axis=0), items.iloc[:, 1:]])
    logit = sm.Logit(frame["outcome"], design).fit(disp=0)
    names = [*(f"position[{judge}]" for judge in decided.judges), *(f"length[{judge}]" for judge in decided.judges)]
    np.testing.assert_allclose(result.params[names], logit.params[:8], atol=1e-6)
    np.testing.assert_allclose(result.bse[names], logit.bse[:8], rtol=1e-5)
    assert result.contrast("length[judge-1] - length[judge-2]").std_err[0] > 0
    assert "length" in str(result.summary())
    common = hja.BTLModel.from_comparisons(decided, exog=["length"], position="judge").fit()
    assert result.compare_lr_test(common).df_diff == 3


def test_covariates_can_be_named_or_given_and_style_control_is_one_line(tied_panel):
    by_name = hja.JAModel.from_comparisons(tied_panel, exog=["length"]).fit()
    given = hja.JAModel.from_comparisons(tied_panel, exog=tied_panel.columns[["length"]]).fit()
    np.testing.assert_allclose(by_name.params, given.params)
    with pytest.raises(ComparisonError, match="no column is called 'lenght'"):
        hja.JAModel.from_comparisons(tied_panel, exog=["lenght"])
    frame = tied_panel.to_frame().assign(tokens_a=lambda f: 100 + 20 * f["length"], tokens_b=100)
    from hjastats import style_difference  # noqa: F401  (used inside the formula)

    names = {"judge": "judge", "item_a": "first", "item_b": "second"}
    style = hja.JAModel.from_formula("outcome ~ 0 + style_difference(tokens_a, tokens_b)", frame, **names).fit()
    assert style.params.index[0] == "style_difference(tokens_a, tokens_b)"
    with pytest.raises(ComparisonError, match="non-negative"):
        hja.style_difference([-1.0], [1.0])


def test_predictions_with_and_without_the_advantage_of_position(tied_panel):
    result = hja.HJAModel.from_comparisons(tied_panel, rank=1, position="judge", ties="davidson").fit()
    new = {"judge": "judge-1", "item_a": "item-1", "item_b": "item-2"}
    with_it, without = result.predict(which="linear", **new), result.predict(which="linear", position=False, **new)
    assert with_it - without == pytest.approx(result.position.loc["judge-1", "estimate"])
    reverse = {"judge": "judge-1", "item_a": "item-2", "item_b": "item-1"}
    assert result.predict(position=False, **new) == pytest.approx(1 - result.predict(position=False, **reverse))
    probabilities = result.predict(which="probs", **new)
    assert list(probabilities.columns) == ["first", "tie", "second"]
    assert probabilities.sum(axis=1).iloc[0] == pytest.approx(1)
    assert result.predict(**new)[0] == pytest.approx((probabilities["first"] + probabilities["tie"] / 2).iloc[0])
    with pytest.raises(ValueError, match="which must be"):
        result.predict(which="median", **new)


def test_predictions_need_the_covariates_of_the_model(tied_panel):
    result = hja.JAModel.from_comparisons(tied_panel, exog=["length"], judge_exog=tied_panel.columns[["prompt"]]).fit()
    frame = tied_panel.to_frame().head(4)
    np.testing.assert_allclose(result.predict(frame), result.fittedvalues[:4])
    new = {"judge": "judge-1", "item_a": "item-1", "item_b": "item-2"}
    with pytest.raises(ComparisonError, match="pass exog"):
        result.predict(**new)
    with pytest.raises(ComparisonError, match="pass judge_exog"):
        result.predict([[1.0]], **new)
    with pytest.raises(ComparisonError, match="1 rows and 1 columns"):
        result.predict([[1.0, 2.0]], judge_exog=[[1.0]], **new)


def test_simulated_verdicts_follow_the_model(tied_panel):
    model = hja.JAModel.from_comparisons(tied_panel, ties="davidson", tie="judge", position="judge")
    result = model.fit()
    drawn = model.simulate(result.params, rng=0)
    assert drawn.n_comparisons == tied_panel.n_comparisons
    again = hja.JAModel.from_comparisons(drawn, ties="davidson", tie="judge", position="judge").fit()
    # Differences between two fits to independent panels from the same model, in their standard errors.
    assert np.abs((again.params - result.params) / (np.sqrt(2) * result.bse)).max() < 4
    design = pd.DataFrame({"judge": ["judge-1"] * 4000, "item_a": "item-1", "item_b": "item-2"})
    shares = model.simulate(result.params, design, rng=1).outcome
    expected = result.predict(judge="judge-1", item_a="item-1", item_b="item-2", which="probs").iloc[0]
    # Four standard errors of a share of 4,000.
    assert np.mean(shares == 0.5) == pytest.approx(expected["tie"], abs=0.032)
    assert np.mean(shares == 1) == pytest.approx(expected["first"], abs=0.032)
    plain = hja.BTLModel.from_comparisons(tied_panel)
    assert set(plain.simulate(plain.fit().params, rng=0).outcome) == {0.0, 1.0}


def test_soft_preferences_call_for_robust_errors(tied_panel):
    frame = tied_panel.to_frame()
    soft = hja.BTLModel(0.2 + 0.6 * frame["outcome"], **arguments(frame)).fit()
    finding = next(finding for finding in soft.findings if finding.topic == "ties")
    assert finding.is_warning
    assert "HC0" in finding.text
    robust = soft.with_covariance("HC0")
    assert not next(finding for finding in robust.findings if finding.topic == "ties").is_warning
    assert (robust.bse < soft.bse).all()


def test_swapped_pairs_show_who_follows_the_position():
    rng = np.random.default_rng(0)
    prompts = np.repeat(np.arange(200), 2)
    first = np.tile(["a", "b"], 200)
    second = np.tile(["b", "a"], 200)
    steady = np.tile([1.0, 0.0], 200)
    data = Comparisons.from_arrays(
        ["steady"] * 400 + ["first"] * 400 + ["random"] * 400,
        np.tile(first, 3),
        np.tile(second, 3),
        np.concatenate([steady, np.ones(400), rng.integers(2, size=400)]),
        columns=pd.DataFrame({"question_id": np.tile(prompts, 3)}),
    )
    table = hja.swap_report(data)
    assert table.loc["steady", "flip_rate"] == 0
    assert table.loc["first", ["first", "second", "flip_rate"]].tolist() == [200, 0, 1]
    assert table.loc["random", "flip_rate"] == pytest.approx(0.5, abs=4 * np.sqrt(0.25 / 200))
    assert (table["swapped"] == 200).all()
    result = hja.BTLModel.from_comparisons(data.without_judges(["first"]), position="judge").fit()
    assert "flip_rate" in result.diagnose().judges
    assert any("judged in both orders" in finding.text for finding in result.findings)
    with pytest.raises(ComparisonError, match="no column is called"):
        hja.swap_report(data, "prompt_id")
    with pytest.raises(ComparisonError, match="no prompt column"):
        hja.swap_report(hja.datasets.load_panel())


def test_a_diagnosis_states_tests_and_facts(tied_panel):
    diagnosis = hja.JAModel.from_comparisons(tied_panel).fit().diagnose()
    position = hja.JAModel.from_comparisons(tied_panel, position="judge").fit()
    assert diagnosis.position_test.statistic == pytest.approx(
        2 * (position.llf - hja.JAModel.from_comparisons(tied_panel).fit().llf)
    )
    np.testing.assert_allclose(diagnosis.judges["position"], position.position["estimate"])
    share = tied_panel.first_share()
    wins, decided = (
        share["first_share"] * share["comparisons"] - share["ties"] / 2,
        share["comparisons"] - share["ties"],
    )
    exact = stats.binomtest(int(wins.iloc[0]), int(decided.iloc[0])).proportion_ci(method="exact")
    np.testing.assert_allclose(
        diagnosis.judges.iloc[0][["first_lower", "first_upper"]].astype(float), [exact.low, exact.high]
    )
    assert "Likelihood ratio of position effects" in repr(diagnosis)
    assert len(diagnosis.warnings) + sum(not f.is_warning for f in diagnosis.findings) == len(diagnosis.findings)
    assert position.diagnose().position_test is None


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


def test_style_differences_keep_the_scale_of_the_data_in_predictions(tied_panel):
    from hjastats import style_difference  # noqa: F401  (used inside the formula)

    frame = tied_panel.to_frame().assign(a=lambda f: 100 + 20 * f["length"], b=100)
    names = {"judge": "judge", "item_a": "first", "item_b": "second"}
    result = hja.BTLModel.from_formula("outcome ~ 0 + style_difference(a, b)", frame, **names).fit()
    np.testing.assert_allclose(result.predict(frame.iloc[[7]]), result.fittedvalues[[7]])


def test_covariate_frames_are_matched_by_name_and_index(tied_panel):
    frame = tied_panel.to_frame().assign(other=np.arange(tied_panel.n_rows) % 3)
    labels = arguments(frame)
    result = hja.BTLModel(frame["outcome"], frame[["length", "other"]], **labels).fit()
    new = frame[["other", "length"]].head(3)
    expected = result.fittedvalues[:3]
    first = {name: values.head(3) for name, values in labels.items()}
    np.testing.assert_allclose(result.predict(new, **first), expected)
    with pytest.raises(ComparisonError, match="different indices"):
        hja.BTLModel(frame["outcome"], frame[["length"]].sample(frac=1, random_state=0), **labels)
    with pytest.raises(ComparisonError, match="index of exog"):
        hja.BTLModel.from_comparisons(tied_panel, exog=tied_panel.columns[["length"]].sample(frac=1, random_state=0))


def test_an_intercept_is_the_common_position_effect_everywhere(tied_panel):
    frame = tied_panel.to_frame()
    names = {"judge": "judge", "item_a": "first", "item_b": "second"}
    formula = hja.JAModel.from_formula("outcome ~ length", frame, **names).fit()
    direct = hja.JAModel.from_comparisons(tied_panel, exog=["length"], position="common").fit()
    assert list(formula.params.index) == list(direct.params.index)
    np.testing.assert_allclose(formula.params, direct.params, atol=1e-8)
    np.testing.assert_allclose(formula.predict(frame.head(3)), direct.fittedvalues[:3])
    with pytest.raises(ComparisonError, match="the intercept is a position effect"):
        hja.JAModel.from_formula("outcome ~ length", frame, position="judge", **names)


def test_formulas_give_judge_slopes_and_keep_columns_for_clusters(tied_panel):
    frame = tied_panel.to_frame()
    names = {"judge": "judge", "item_a": "first", "item_b": "second"}
    direct = hja.JAModel.from_comparisons(tied_panel, judge_exog=["length"]).fit()
    for judge_exog in ("length", ["length"], "0 + length"):
        result = hja.JAModel.from_formula("outcome ~ 0", frame, judge_exog=judge_exog, **names).fit()
        np.testing.assert_allclose(result.params, direct.params, atol=1e-8)
    robust = result.with_covariance("cluster", {"groups": "prompt"})
    assert robust.n_groups == 50
    with pytest.raises(ComparisonError, match="cannot build judge_exog"):
        hja.JAModel.from_formula("outcome ~ 0", frame, judge_exog="0 + lenght", **names)


def test_reserved_names_are_refused_for_judge_slopes(tied_panel):
    for name in ("gamma", "p", "mu"):
        with pytest.raises(ComparisonError, match="rename the covariate"):
            hja.JAModel.from_comparisons(tied_panel, judge_exog=pd.DataFrame({name: np.ones(tied_panel.n_rows)}))


def test_tie_propensities_can_be_compared_and_explained(tied_panel):
    result = hja.JAModel.from_comparisons(tied_panel, ties="davidson", tie="judge").fit()
    assert len(result.pairwise("tie")) == 6
    metadata = pd.DataFrame({"big": [0, 1, 0, 1]}, index=list(tied_panel.judges))
    assert result.contrast_formula("tie ~ big", metadata).names == ["Intercept", "big"]
    text, function = result.contrast("tie[judge-1]"), result.contrast(lambda view: view.tie["judge-1"])
    assert text.std_err[0] == pytest.approx(function.std_err[0], rel=1e-6)


def test_prediction_intervals_know_position_and_judge_slopes(tied_panel):
    result = hja.JAModel.from_comparisons(tied_panel, judge_exog=["length"], position="judge").fit()
    new = {"judge": "judge-1", "item_a": "item-1", "item_b": "item-2", "judge_exog": [[2.0]]}
    for position in (True, False):
        table = result.get_prediction(position=position, **new).summary_frame()
        assert table["predicted"].iloc[0] == pytest.approx(result.predict(position=position, **new)[0])


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


def test_diagnosis_of_dropped_ties_and_of_a_judge_that_always_picks_first(tied_panel):
    assert hja.JAModel.from_comparisons(tied_panel, ties="drop").fit().diagnose().position_test.df_diff == 4
    frame = tied_panel.to_frame()
    outcome = np.where(tied_panel.judge_index == 0, 1.0, tied_panel.outcome)
    always = Comparisons.from_arrays(frame["judge"], frame["first"], frame["second"], outcome)
    judges = hja.BTLModel.from_comparisons(always).fit().diagnose().judges
    assert np.isnan(judges.loc["judge-1", "position"])
    assert judges["position"].notna().sum() == 3


def test_simulated_verdicts_keep_the_columns_and_refuse_fractions(tied_panel):
    model = hja.JAModel.from_comparisons(tied_panel, exog=["length"])
    drawn = model.simulate(model.fit().params, rng=0)
    assert list(drawn.columns["length"]) == list(tied_panel.columns["length"])
    frame = tied_panel.to_frame()
    halves = hja.BTLModel(frame["outcome"], weights=np.full(len(frame), 1.4), **arguments(frame))
    with pytest.raises(ComparisonError, match="whole numbers"):
        halves.simulate(halves.fit().params)


def test_swaps_without_a_prompt_do_not_count_and_two_ties_decide_nothing():
    columns = pd.DataFrame({"prompt": [None, None, "x", "x"]})
    data = Comparisons.from_arrays(["j"] * 4, list("abab"), list("baba"), [1, 1, 0.5, 0.5], columns=columns)
    table = hja.swap_report(data)
    assert table.loc["j", ["swapped", "tied", "consistent"]].tolist() == [1, 1, 0]
    assert np.isnan(table.loc["j", "flip_rate"])


@pytest.mark.slow
def test_the_score_test_of_position_keeps_its_level_with_half_ties():
    """No position effects, a quarter of ties. 1,500 replications: standard error 0.006."""
    scores, p_values = mild_scores(seed=3), []
    judge, first, second = near_balanced_design(4, 6, 1200, rng=0)
    for seed in range(1500):
        rng = np.random.default_rng(seed)
        chance = 1 / (1 + np.exp(scores[judge, second] - scores[judge, first]))
        tied = rng.random(1200) < 0.5 * np.minimum(chance, 1 - chance) * 2
        decided = rng.random(1200) < np.where(
            chance > 0.5, 1 - (1 - chance) / 2 / (1 - (1 - chance)), chance / 2 / (1 - chance)
        )
        outcome = np.where(tied, 0.5, decided)
        flip = rng.random(1200) < 0.5
        model = hja.HJAModel(
            np.where(flip, 1 - outcome, outcome),
            judge=judge,
            item_a=np.where(flip, second, first),
            item_b=np.where(flip, first, second),
            rank=1,
        )
        result = model.fit(n_random=0, warn_convergence=False)
        text = next(finding.text for finding in result.findings if finding.topic == "position test")
        p_values.append(float(text.split("p = ")[1].split(")")[0]))
    assert 0.032 <= np.mean(np.array(p_values) < 0.05) <= 0.068
