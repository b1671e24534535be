"""The members of the family, how they are fitted, and what they refuse."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.base.model import GenericLikelihoodModel
from statsmodels.tools.sm_exceptions import ConvergenceWarning

import hjastats as hja
from hjastats.errors import ComparisonError, IdentificationError
from tests.panels import every_model


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


@pytest.mark.parametrize("rank", [-1, 5, 1.5, True, "1"])
def test_impossible_ranks_are_refused(small_panel, rank):
    with pytest.raises(IdentificationError, match=r"rank must be an integer between 0 and .* = 4"):
        hja.HJAModel.from_comparisons(small_panel, rank=rank)


@pytest.mark.parametrize(
    ("cls", "rank"), [(hja.HJAModel, 1), (hja.JAModel, 0), (hja.BTLModel, 0), (hja.JudgewiseBTLModel, 0)]
)
def test_without_a_rank_a_model_has_that_of_its_class(small_panel, cls, rank):
    assert cls.from_comparisons(small_panel, rank=None).rank == cls.from_comparisons(small_panel).rank == rank


def test_a_model_reads_whatever_can_be_read(small_panel, tmp_path):
    expected = hja.JAModel.from_comparisons(small_panel).fit().params
    frame = small_panel.to_frame().rename(columns={"outcome": "winner"})
    frame["winner"] = np.where(frame["winner"] == 1.0, "first", "second")
    frame.to_csv(tmp_path / "verdicts.csv", index=False)
    for source in (frame, frame.to_dict("list"), frame.to_dict("records"), tmp_path / "verdicts.csv"):
        pd.testing.assert_series_equal(hja.JAModel.from_comparisons(source).fit().params, expected)


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


def test_unknown_options_are_refused(small_panel):
    with pytest.raises(ValueError, match="position must be"):
        hja.BTLModel.from_comparisons(small_panel, position="left")
    with pytest.raises(ValueError, match="ties must be"):
        hja.BTLModel.from_comparisons(small_panel, ties="ignore")
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        hja.BTLModel.from_comparisons(small_panel, colour="red")
    with pytest.raises(TypeError, match="unknown arguments: 'colour'"):
        hja.BTLModel([1, 0], judge=["j", "k"], item_a=["a", "a"], item_b=["b", "b"], colour="red")
    model = hja.BTLModel.from_comparisons(small_panel)
    with pytest.raises(ValueError, match="method must be one of"):
        model.fit(method="magic")
    with pytest.raises(ValueError, match="cov_type must be"):
        model.fit(cov_type="HC9")
    with pytest.raises(ValueError, match="information must be"):
        model.fit(information="guessed")
    with pytest.raises(ComparisonError, match="the table is empty: expected one row per verdict"):
        hja.BTLModel.from_comparisons(pd.DataFrame())
    with pytest.raises(ComparisonError, match="unknown item 'item-99'"):
        model.fit().predict(judge="judge-1", item_a="item-99", item_b="item-1")
