import numpy as np
import pandas as pd
import pytest
from statsmodels.base.model import GenericLikelihoodModel
from statsmodels.tools.numdiff import approx_fprime, approx_hess
from statsmodels.tools.sm_exceptions import ConvergenceWarning

import hjastats as hja
from hjastats.errors import ComparisonError, IdentificationError
from tests.panels import every_model, swapped

# Rearranging the same data changes sums only in their last digits.
UNCHANGED = 1e-9


@pytest.fixture(scope="module")
def small_frame(small_panel):
    return small_panel.to_frame()


def test_models_are_statsmodels_models(small_panel):
    for model in every_model(small_panel):
        assert isinstance(model, GenericLikelihoodModel)


def test_nested_models_have_increasing_likelihoods_and_the_right_degrees_of_freedom(small_panel):
    fits = [model.fit() for model in every_model(small_panel)]
    assert (np.diff([fit.llf for fit in fits]) > 0).all()
    K, N = 5, 6
    counts = [N - 1, N + K - 2, 2 * (K + N - 3), 3 * (K + N - 4), K * (N - 1)]
    assert [fit.df_model for fit in fits] == counts
    for fit in fits:
        assert fit.aic == pytest.approx(-2 * fit.llf + 2 * fit.df_model)
        assert fit.bic == pytest.approx(-2 * fit.llf + np.log(fit.nobs) * fit.df_model)


@pytest.mark.parametrize("options", [{}, {"position": "judge"}, {"position": "common", "exog": "random"}], ids=str)
def test_reported_derivatives_match_finite_differences(small_panel, options):
    rng = np.random.default_rng(0)
    if options.get("exog"):
        options = options | {"exog": rng.integers(-1, 2, size=(small_panel.n_rows, 2))}
    for model in every_model(small_panel, **options):
        params = model.start_params + 0.1 * rng.normal(size=model.nparams)
        np.testing.assert_allclose(model.score(params), approx_fprime(params, model.loglike, centered=True), atol=1e-4)
        hessian = model.hessian(params)
        np.testing.assert_allclose(hessian, approx_hess(params, model.loglike), atol=1e-3 * np.abs(hessian).max())
        np.testing.assert_allclose(model.score_obs(params).sum(axis=0), model.score(params), atol=1e-8)
        assert model.loglikeobs(params).sum() == pytest.approx(model.loglike(params), rel=1e-12)


def test_free_derivatives_match_finite_differences_in_the_chart(small_panel):
    for model in every_model(small_panel, position="judge"):
        params = model.start_params
        free = model.untransform_params(params, at=params)
        objective = lambda x: model.loglike(model.transform_params(x, at=params))  # noqa: B023, E731
        np.testing.assert_allclose(model.score_free(params), approx_fprime(free, objective, centered=True), atol=1e-4)
        hessian = model.hessian_free(params)
        np.testing.assert_allclose(hessian, approx_hess(free, objective), atol=1e-3 * np.abs(hessian).max())
        np.testing.assert_allclose(model.score_obs_free(params).sum(axis=0), model.score_free(params), atol=1e-8)


def test_free_and_reported_parameters_are_inverse_to_each_other(small_panel):
    rng = np.random.default_rng(0)
    for model in every_model(small_panel, position="judge"):
        free = model.untransform_params(model.start_params)
        assert len(free) == model.k_params_free
        free = free + 0.05 * rng.normal(size=len(free))
        params = model.transform_params(free)
        np.testing.assert_allclose(model.untransform_params(params), free, atol=1e-10)
        numerical = approx_fprime(free, model.transform_params, centered=True)
        np.testing.assert_allclose(
            model.transform_jacobian(free), numerical, atol=1e-5 * max(1, np.abs(numerical).max())
        )


def refit(frame, **options):
    labels = {"judge": frame["judge"], "item_a": frame["first"], "item_b": frame["second"], "weights": frame["weight"]}
    return hja.HJAModel(frame["outcome"], rank=1, **labels, **options).fit()


def assert_same(left, right, tolerance=UNCHANGED):
    assert left.llf == pytest.approx(right.llf, rel=1e-12)
    assert left.df_model == right.df_model
    assert left.nobs == right.nobs
    pd.testing.assert_frame_equal(left.scores, right.scores, atol=1e-7, rtol=0)
    pd.testing.assert_frame_equal(left.judges.score_errors(), right.judges.score_errors(), atol=1e-7, rtol=0)
    np.testing.assert_allclose(left.bse, right.bse, atol=1e-6)


def test_order_of_the_rows_does_not_matter(small_frame):
    assert_same(refit(small_frame), refit(small_frame.sample(frac=1, random_state=1)))


def test_swapping_the_two_items_changes_nothing(small_frame):
    assert_same(refit(small_frame), refit(swapped(small_frame)))


def test_swapping_sides_flips_the_sign_of_position_effects_only(small_frame):
    one, two = refit(small_frame, position="judge"), refit(swapped(small_frame), position="judge")
    assert one.llf == pytest.approx(two.llf, rel=1e-12)
    np.testing.assert_allclose(one.position["estimate"], -two.position["estimate"], atol=1e-7)
    np.testing.assert_allclose(one.scores, two.scores, atol=1e-7)


def test_merging_rows_into_weights_changes_nothing(small_frame):
    merged = small_frame.groupby(["judge", "first", "second", "outcome"], as_index=False)["weight"].sum()
    assert len(merged) < len(small_frame)
    assert_same(refit(small_frame), refit(merged))


def test_soft_outcomes_equal_the_wins_they_average(small_frame):
    keys = ["judge", "first", "second"]
    averaged = small_frame.groupby(keys, as_index=False).agg(outcome=("outcome", "mean"), weight=("weight", "sum"))
    assert_same(refit(small_frame), refit(averaged))


def test_relabelling_judges_and_items_relabels_the_result(small_frame):
    judges = dict(zip(sorted(small_frame["judge"].unique()), ["z", "b", "y", "a", "m"], strict=True))
    items = dict(zip(sorted(small_frame["first"].unique()), "rqxabc", strict=True))
    renamed = small_frame.assign(
        judge=small_frame["judge"].map(judges),
        first=small_frame["first"].map(items),
        second=small_frame["second"].map(items),
    )
    one, two = refit(small_frame), refit(renamed)
    assert one.llf == pytest.approx(two.llf, rel=1e-12)
    expected = one.scores.rename(index=judges, columns=items)
    pd.testing.assert_frame_equal(expected.loc[two.scores.index, two.scores.columns], two.scores, atol=1e-7, rtol=0)


def test_hidden_constants_do_not_enter_the_likelihood(small_frame):
    """Half the weights, half the log-likelihood."""
    assert refit(small_frame.assign(weight=0.5)).llf == pytest.approx(0.5 * refit(small_frame).llf, rel=1e-12)


@pytest.mark.parametrize("method", ["alternating", "bfgs", "lbfgs", "newton", "ncg", "cg"])
def test_other_optimisers_end_at_the_same_estimate(small_panel, method):
    model = hja.HJAModel.from_comparisons(small_panel, rank=1)
    reference, other = model.fit(), model.fit(method=method)
    assert other.converged
    np.testing.assert_allclose(other.params, reference.params, atol=1e-6)
    assert other.mle_settings["optimizer"] == method


def test_start_params_are_used_and_checked(small_panel):
    model = hja.HJAModel.from_comparisons(small_panel, rank=1)
    result = model.fit()
    again = model.fit(start_params=result.params)
    assert again.mle_retvals["iterations"] <= 2
    with pytest.raises(ValueError, match="expected 22 parameters"):
        model.fit(start_params=np.ones(3))


def test_too_few_iterations_are_reported(small_panel):
    with pytest.warns(ConvergenceWarning, match="did not converge in 1 iterations"):
        result = hja.HJAModel.from_comparisons(small_panel, rank=1).fit(maxiter=1)
    assert not result.converged
    assert not result.mle_retvals["converged"]


def test_formula_arrays_and_comparisons_give_the_same_fit(small_panel, small_frame):
    columns = {"judge": "judge", "item_a": "first", "item_b": "second", "weights": "weight"}
    formula = hja.HJAModel.from_formula("outcome ~ 0", small_frame, rank=1, **columns).fit()
    assert_same(formula, hja.HJAModel.from_comparisons(small_panel, rank=1).fit())
    assert_same(formula, refit(small_frame))
    assert formula.model.endog_names == "outcome"


def test_labels_on_the_left_of_a_formula_are_refused_with_what_to_do(small_frame):
    labelled = small_frame.assign(winner=np.where(small_frame["outcome"] == 1, "a", "b"))
    with pytest.raises(ComparisonError, match=r"holds labels: expected 1 if the first item was preferred.*codes"):
        hja.JAModel.from_formula("winner ~ 0", labelled, judge="judge", item_a="first", item_b="second")


def test_an_intercept_is_a_common_position_effect(small_panel, small_frame):
    columns = {"judge": "judge", "item_a": "first", "item_b": "second"}
    formula = hja.JAModel.from_formula("outcome ~ 1", small_frame, **columns).fit()
    position = hja.JAModel.from_comparisons(small_panel, position="common").fit()
    assert formula.llf == pytest.approx(position.llf, rel=1e-12)
    assert formula.params["position"] == pytest.approx(position.params["position"], abs=1e-8)


def test_covariates_come_first_and_are_estimated(small_frame):
    rng = np.random.default_rng(5)
    small_frame = small_frame.assign(length=rng.integers(-2, 3, len(small_frame)))
    longer = rng.random(len(small_frame)) < 1 / (1 + np.exp(-small_frame["length"]))
    small_frame["outcome"] = np.where(rng.random(len(small_frame)) < 0.5, longer, small_frame["outcome"])
    columns = {"judge": "judge", "item_a": "first", "item_b": "second"}
    result = hja.JAModel.from_formula("outcome ~ 0 + length", small_frame, **columns).fit()
    assert result.params.index[0] == "length"
    assert result.params["length"] > 5 * result.bse["length"]
    assert "length" in str(result.summary())


def test_formula_respects_subset_missing_rows_and_local_functions(small_frame):
    broken = small_frame.copy()
    broken.loc[broken.index[:7], "outcome"] = np.nan
    broken.loc[broken.index[7:10], "judge"] = None
    double = lambda x: x  # noqa: E731, F841
    keep = broken["first"] != "item-1"
    columns = {"judge": "judge", "item_a": "first", "item_b": "second"}
    result = hja.JAModel.from_formula("double(outcome) ~ 0", broken, subset=keep, missing="drop", **columns).fit()
    complete = broken[keep].dropna(subset=["outcome", "judge"])
    assert result.nobs == len(complete)
    assert result.llf == pytest.approx(
        hja.JAModel(complete["outcome"], judge=complete["judge"], item_a=complete["first"], item_b=complete["second"])
        .fit()
        .llf
    )


def test_predictions_follow_the_scores(small_panel):
    result = hja.HJAModel.from_comparisons(small_panel, rank=1, position="judge").fit()
    eta = result.predict(judge="judge-2", item_a="item-1", item_b="item-4", which="linear")[0]
    expected = result.scores.loc["judge-2", "item-1"] - result.scores.loc["judge-2", "item-4"]
    assert eta == pytest.approx(expected + result.position.loc["judge-2", "estimate"])
    many = result.predict(judge=["judge-1", "judge-2"], item_a="item-1", item_b="item-4")
    assert many.shape == (2,)
    assert ((many > 0) & (many < 1)).all()
    np.testing.assert_allclose(result.fittedvalues.sum(), small_panel.outcome.sum(), rtol=1e-7)


def test_one_judge_is_bradley_terry():
    rng = np.random.default_rng(0)
    first = rng.integers(4, size=300)
    second = (first + rng.integers(1, 4, size=300)) % 4
    rows = {"judge": ["only"] * 300, "item_a": first, "item_b": second}
    outcome = (rng.random(300) < 0.6) * 1.0
    ja, btl = hja.JAModel(outcome, **rows).fit(), hja.BTLModel(outcome, **rows).fit()
    assert ja.llf == pytest.approx(btl.llf, rel=1e-12)
    assert ja.df_model == btl.df_model == 3
    assert ja.sensitivity.loc["only", "estimate"] == pytest.approx(1.0)
    with pytest.raises(IdentificationError, match="between 0 and"):
        hja.HJAModel(outcome, rank=1, **rows)


def test_two_items_have_one_contrast():
    outcome = np.array([1.0, 1.0, 0.0, 1.0, 0.0, 1.0])
    result = hja.BTLModel(outcome, judge=["j"] * 6, item_a=["a"] * 6, item_b=["b"] * 6).fit()
    assert result.params["mu[a]"] - result.params["mu[b]"] == pytest.approx(np.log(2))


@pytest.mark.parametrize("rank", [-1, 5, 1.5, True, "1", None])
def test_impossible_ranks_are_refused(small_panel, rank):
    with pytest.raises(IdentificationError, match=r"rank must be an integer between 0 and .* = 4"):
        hja.HJAModel.from_comparisons(small_panel, rank=rank)


def test_unlinked_items_are_refused_with_their_names():
    rows = {"judge": ["j"] * 4, "item_a": ["a", "b", "c", "d"], "item_b": ["b", "a", "d", "c"]}
    with pytest.raises(IdentificationError, match="no judge ever compared"):
        hja.BTLModel([1, 1, 0, 0], **rows).fit()


def test_judgewise_fits_refuse_judges_that_do_not_link_all_items():
    rows = {"judge": list("jjjjkk"), "item_a": list("abcacb"), "item_b": list("bcabbc")}
    with pytest.raises(IdentificationError, match="'k'"):
        hja.JudgewiseBTLModel([1, 0, 1, 0, 1, 0], **rows).fit()


def test_an_undefeated_item_warns_and_is_not_called_converged():
    outcome = [1, 1, 1, 1, 0, 1, 0, 1]
    rows = {"judge": ["j"] * 8, "item_a": list("aaaabbcc"), "item_b": list("bbcc") + list("ccbb")}
    with pytest.warns(hja.SeparationWarning, match="does not exist"):
        result = hja.BTLModel(outcome, **rows).fit()
    assert not result.converged
    assert "does not exist" in str(result.summary())


BAD_INPUT = [
    ({"endog": [0, 2]}, r"outcome must lie in \[0, 1\]"),
    ({"endog": ["win", "loss"]}, "endog must be numbers"),
    ({"judge": ["j"]}, "judge has length 1 but endog has length 2"),
    ({"judge": None}, "need judge"),
    ({"item_b": ["a", "b"]}, "compare an item with itself"),
    ({"weights": [1, 0]}, "weights must be positive"),
    ({"weights": [1, -2]}, "weights must be positive"),
    ({"weights": [1, "x"]}, "weight must be numbers"),
    ({"judge": ["j", None]}, "missing values: 1 in judge"),
    ({"endog": [1, np.nan]}, "missing values: 1 in endog"),
    ({"endog": []}, "judge has length 2 but endog has length 0"),
    ({"exog": [["u"], ["v"]]}, "exog must be numeric"),
    ({"exog": [[1.0]]}, "exog has 1 rows"),
    ({"endog": [[1, 0], [0, 1]]}, "one-dimensional"),
]


@pytest.mark.parametrize(("change", "message"), BAD_INPUT, ids=[message for _, message in BAD_INPUT])
def test_bad_input_is_refused_in_words(change, message):
    good = {"endog": [1, 0], "judge": ["j", "k"], "item_a": ["a", "a"], "item_b": ["b", "b"]}
    with pytest.raises(ComparisonError, match=message):
        hja.BTLModel(**(good | change))


def test_unknown_options_are_refused(small_panel):
    with pytest.raises(ValueError, match="position must be"):
        hja.BTLModel.from_comparisons(small_panel, position="left")
    with pytest.raises(ValueError, match="ties must be"):
        hja.BTLModel.from_comparisons(small_panel, ties="ignore")
    with pytest.raises(TypeError, match="unknown arguments: 'colour'"):
        hja.BTLModel.from_comparisons(small_panel, colour="red")
    model = hja.BTLModel.from_comparisons(small_panel)
    with pytest.raises(ValueError, match="method must be one of"):
        model.fit(method="magic")
    with pytest.raises(ValueError, match="cov_type must be"):
        model.fit(cov_type="HC9")
    with pytest.raises(ValueError, match="information must be"):
        model.fit(information="guessed")
    with pytest.raises(ComparisonError, match="read the table first"):
        hja.BTLModel.from_comparisons(pd.DataFrame())
    with pytest.raises(ComparisonError, match="unknown item 'item-99'"):
        model.fit().predict(judge="judge-1", item_a="item-99", item_b="item-1")


def test_judge_slopes_survive_dropping_ties_and_changing_the_model():
    frame = hja.datasets.load_panel().to_frame()
    outcome = np.where(np.arange(len(frame)) % 7 == 0, 0.5, frame["outcome"])
    data = hja.Comparisons.from_arrays(frame["judge"], frame["first"], frame["second"], outcome)
    slopes = pd.DataFrame({"length": np.linspace(-1, 1, len(frame))})
    model = hja.HJAModel.from_comparisons(data, judge_exog=slopes, rank=1, ties="drop")
    kept = outcome != 0.5
    for other in (model.with_rank(0), model.with_position("judge"), model.unrestricted()):
        np.testing.assert_array_equal(other.judge_exog["length"], slopes.loc[kept, "length"])
    fewer = model.without_judges(["judge-1"])
    np.testing.assert_array_equal(
        fewer.judge_exog["length"], slopes.loc[kept & (frame["judge"] != "judge-1"), "length"]
    )
    assert "judge-1" not in fewer.judges
