"""Formulas, covariates, slopes of the judges, and the order of presentation."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import hjastats as hja
from hjastats.errors import ComparisonError, ContrastError
from tests.panels import arguments


@pytest.fixture(scope="module")
def small_frame(small_panel):
    return small_panel.to_frame()


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


def test_judge_slopes_survive_dropping_ties_and_changing_the_model(panel):
    frame = panel.to_frame()
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
    with pytest.raises(ComparisonError, match="exog and the data have different indices"):
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


@pytest.mark.parametrize("formula", ["outcome ~ C(topic) + length", "outcome ~ 0 + length + C(topic, Sum)"])
def test_pairs_of_levels_are_those_of_a_glm_with_the_same_formula(small_frame, formula):
    """The intercept of the design is the position effect, which comes after the covariates among the parameters."""
    rng = np.random.default_rng(0)
    frame = small_frame.assign(topic=rng.choice(["code", "math", "text"], 2400), length=rng.normal(size=2400))
    term = formula.split(" + ")[-1] if "Sum" in formula else "C(topic)"
    labels = {"judge": "judge", "item_a": "first", "item_b": "second"}
    result = hja.BTLModel.from_formula(formula, frame, **labels).fit()
    items = result.model.items[1:]
    differences = pd.DataFrame(
        {f"x{i}": (frame["first"] == item) * 1.0 - (frame["second"] == item) for i, item in enumerate(items)}
    )
    right = f"{formula} + {' + '.join(differences.columns)}"
    glm = sm.GLM.from_formula(right, frame.join(differences), family=sm.families.Binomial()).fit(tol=1e-12)
    columns = ["coef", "std err", "z", "pvalue-hs"]
    found, expected = (fit.t_test_pairwise(term).result_frame[columns].astype(float) for fit in (result, glm))
    pd.testing.assert_frame_equal(found, expected, rtol=1e-6)


def test_pairs_of_what_is_no_term_are_refused_with_the_terms_there_are(small_frame):
    labels = {"judge": "judge", "item_a": "first", "item_b": "second"}
    result = hja.BTLModel.from_formula("outcome ~ C(judge)", small_frame, **labels).fit()
    with pytest.raises(
        ContrastError, match=r"its terms are 'Intercept', 'C\(judge\)'\); pairwise\('mu'\) compares items"
    ):
        result.t_test_pairwise("mu")
