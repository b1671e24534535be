"""Likelihood, derivatives, coordinates and input of every model."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from statsmodels.tools.numdiff import approx_fprime, approx_hess

import hjastats as hja
from hjastats.errors import ComparisonError
from tests.panels import every_model, swapped


@pytest.fixture(scope="module")
def small_frame(small_panel):
    return small_panel.to_frame()


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


def assert_same(left, right):
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
    for counts in (True, False):
        assert_same(refit(small_frame), refit(averaged, counts=counts))


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
    with pytest.warns(hja.CovarianceWarning, match="no whole numbers"):
        halves = refit(small_frame.assign(weight=0.5))
    assert halves.llf == pytest.approx(0.5 * refit(small_frame).llf, rel=1e-12)


BAD_INPUT = [
    ({"endog": [0, 2]}, r"outcome must lie in \[0, 1\]"),
    ({"endog": ["win", "loss"]}, "endog must be numbers"),
    ({"judge": ["j"]}, "judge has length 1 but endog has length 2"),
    ({"judge": None}, "need judge"),
    ({"item_b": ["a", "b"]}, "compare an item with itself"),
    ({"weights": [0, 0]}, "all weights are zero"),
    (
        {"weights": [1, -2]},
        "weight must be finite and not negative; 1 values are not, first -2 at row 2, counted from 1",
    ),
    ({"endog": [1, 1.5], "weights": [2, 2], "counts": True}, r"outcome must lie in \[0, 1\]"),
    ({"weights": [2, 2], "counts": "yes"}, "counts must be True, False or None"),
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


def test_formula_arrays_and_comparisons_give_the_same_fit(small_panel, small_frame):
    columns = {"judge": "judge", "item_a": "first", "item_b": "second", "weights": "weight"}
    formula = hja.HJAModel.from_formula("outcome ~ 0", small_frame, rank=1, **columns).fit()
    assert_same(formula, hja.HJAModel.from_comparisons(small_panel, rank=1).fit())
    assert_same(formula, refit(small_frame))
    assert formula.model.endog_names == "outcome"


def test_a_series_of_another_index_is_refused_everywhere(small_frame):
    frame = small_frame.assign(x=np.linspace(-1, 1, len(small_frame)), prompt=np.arange(len(small_frame)) // 4)
    mixed = frame.sample(frac=1, random_state=0)
    names = {"judge": "judge", "item_a": "first", "item_b": "second"}
    labels = {name: frame[column] for name, column in names.items()}
    for name, column in (names | {"weights": "weight", "judge_exog": "x"}).items():
        with pytest.raises(ComparisonError, match=f"{name} and the data have different indices"):
            hja.JAModel.from_formula("outcome ~ 0", frame, **names | {name: mixed[column]})
        with pytest.raises(ComparisonError, match="have different indices"):
            hja.JAModel(frame["outcome"].to_numpy(), **labels | {name: mixed[column]})
    for data in (frame, mixed):
        comparisons, other = hja.read_comparisons(data, codes="unit"), mixed if data is frame else frame
        for name in ("exog", "judge_exog"):
            with pytest.raises(ComparisonError, match=f"{name} and the data have different indices"):
                hja.JAModel.from_comparisons(comparisons, **{name: other[["x"]]})
        model = hja.JAModel.from_comparisons(comparisons, exog=data[["x"]])
        clustered = [model.fit(cov_type="cluster", cov_kwds={"groups": g}).bse for g in (data["prompt"], "prompt")]
        pd.testing.assert_series_equal(*clustered)
        for groups in (other["prompt"], other[["prompt", "judge"]]):
            with pytest.raises(ComparisonError, match="groups and the data have different indices"):
                model.fit(cov_type="cluster", cov_kwds={"groups": groups})


def test_models_of_a_mixed_frame_are_refitted(small_frame):
    mixed = small_frame.assign(x=np.linspace(-1, 1, len(small_frame))).sample(frac=1, random_state=0)
    model = hja.JAModel(
        mixed["outcome"], mixed["x"], judge=mixed["judge"], item_a=mixed["first"], item_b=mixed["second"]
    )
    assert model.with_position("judge").fit().llf > model.fit().llf
    assert len(model.without_judges([model.judges[0]]).judges) == len(model.judges) - 1
    again = hja.load_results(model.fit(cov_type="cluster", cov_kwds={"groups": mixed["x"].round(2)}).to_json())
    assert again.llf == pytest.approx(model.fit().llf)


def test_importance_weights_are_told_and_clustered_by_row(small_panel):
    rng = np.random.default_rng(0)
    weight = rng.lognormal(0, 1, small_panel.n_rows)
    data = dataclasses.replace(small_panel, weight=weight)
    assert "no whole numbers: importance, not frequencies" in repr(data)
    model = hja.BTLModel.from_comparisons(data)
    by_row = {"cov_type": "cluster", "cov_kwds": {"groups": "row"}}
    with pytest.warns(hja.CovarianceWarning, match="taken as importance weights, .* Use fit.cov_type='cluster'"):
        model.fit()
    result = model.fit(**by_row)
    # Their scale carries no information.
    other = hja.BTLModel.from_comparisons(dataclasses.replace(small_panel, weight=weight / weight.sum())).fit(**by_row)
    np.testing.assert_allclose(other.bse, result.bse, rtol=1e-5)
    # Of single comparisons these are the errors of HC0, but for the correction.
    by_row["cov_kwds"]["use_correction"] = False
    single = hja.BTLModel.from_comparisons(small_panel)
    np.testing.assert_allclose(single.fit(**by_row).bse, single.fit(cov_type="HC0").bse, rtol=1e-10)
