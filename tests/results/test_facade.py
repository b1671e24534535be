"""What an editor offers after a fit: few names, each of which can be read or called."""

import inspect

import numpy as np
import pandas as pd
import pytest
from statsmodels.base.model import GenericLikelihoodModelResults, LikelihoodModelResults

import hjastats as hja
from hjastats.judges import JudgeQuestions
from hjastats.show.figures import FitPlots

SIZES = pd.DataFrame({"size": np.arange(8.0)}, [f"judge-{name}" for name in [*"123456", "first", "noise"]])
# What cannot be called without arguments.
ARGUMENTS = {
    "bootstrap": (3,),
    "compare_lr_test": (),
    "contrast": ("mu[model-A] - mu[model-B]",),
    "contrast_formula": ("gamma ~ size", SIZES),
    "estimates": ("mu",),
    "head_to_head": ("model-A", "model-B"),
    "lr_test": ("mu[model-A] = 0",),
    "score_test": ("mu[model-A] = 0",),
    "t_test": ("mu[model-A] = 0",),
    "wald_test": ("mu[model-A] = 0",),
}


@pytest.fixture
def result(panel):
    return hja.HJAModel.from_comparisons(panel, rank=1, position="judge").fit()


def test_an_editor_offers_few_names(result):
    names = dir(result)
    assert names == sorted(set(names))
    assert len(names) <= 45
    assert not [name for name in names if name.startswith("_")]
    assert {"params", "bse", "consensus", "sensitivity", "position", "plot", "judges", "fit", "summary"} <= set(names)


def test_every_name_that_is_offered_can_be_read_or_called(result, tmp_path):
    arguments = ARGUMENTS | {
        "compare_lr_test": (result.model.with_position(None).fit(),),
        "save": (tmp_path / "fit.pickle",),
        "to_json": (tmp_path / "fit.json",),
        "report": (tmp_path / "fit.html",),
    }
    written = {"save", "to_json", "report", "remove_data"}
    # Those that work without being offered, too; what drops the data comes last.
    hidden = ["drop_terms", "fittedvalues", "get_prediction", "resid", "save", "score_test", "wald_test_terms"]
    for name in [*dir(result), *hidden, "remove_data"]:
        value = getattr(result, name)
        if inspect.ismethod(value):
            value = value(*arguments.get(name, ()))
        assert (value is None) == (name in written), name
    for path in ("fit.pickle", "fit.json", "fit.html"):
        assert (tmp_path / path).stat().st_size > 1000
    assert result.model.comparisons is None


@pytest.mark.parametrize("group", ["judges", "plot", "plan"])
def test_groups_of_questions_offer_only_what_they_answer(result, group):
    names = [name for name in dir(getattr(result, group)) if not name.startswith("_")]
    assert all(inspect.ismethod(getattr(getattr(result, group), name)) for name in names)
    assert len(names) <= 16
    if group == "judges":
        answers = {name: getattr(result.judges, name) for name in names}
        assert answers.pop("card")("judge-1").judge == "judge-1"
        families = (
            {judge: "x" if judge == "judge-1" else None for judge in result.model.judges},
            {item: "x" if item == "model-A" else "y" for item in result.model.items},
        )
        assert list(answers.pop("affinity")(*families).families.index) == ["x"]
        assert answers.pop("panel")(keep="ranking").n_reversed == 0
        assert all(answer() is not None for answer in answers.values())


def test_groups_are_of_the_fit_they_come_from(result):
    assert isinstance(result.plot, FitPlots)
    assert isinstance(result.judges, JudgeQuestions)
    robust = result.with_covariance("HC0")
    assert not np.allclose(robust.judges.score_errors(), result.judges.score_errors())


@pytest.mark.parametrize("cov_type", ["nonrobust", "HC0"])
def test_a_result_is_shown_in_three_lines(panel, cov_type):
    result = hja.HJAModel.from_comparisons(panel, rank=1, position="judge").fit(cov_type=cov_type)
    lines = repr(result).splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= 132
    n_warnings = sum(found.is_warning for found in result.findings)
    assert lines[0] == (
        "HJA(1) + position: 3,200 comparisons of 10 items by 8 judges, "
        f"log-likelihood {result.llf:.1f} with {result.df_model:g} parameters"
    )
    first, second, third = result.consensus.index[:3]
    assert lines[1] == f"{first} leads, then {second}, {third}; {n_warnings} warnings (see .findings)"
    assert lines[2].endswith("; .summary(), .ranking(), .plot, .judges")
    assert ("expected information" in lines[2]) == (cov_type == "nonrobust")


def test_a_result_without_a_finite_leader_is_shown_too(separated_fit):
    lines = repr(separated_fit).splitlines()
    assert len(lines) == 3
    assert lines[1].startswith("i4 (no finite score) leads, then i3, i2; ")


def test_results_are_results_of_statsmodels(panel, tmp_path):
    fitted = [
        hja.BTLModel.from_comparisons(panel).fit(),
        hja.JudgewiseBTLModel.from_comparisons(panel).fit(),
        hja.JAModel.from_comparisons(panel).fit_regularized(1.0),
        hja.JAModel.from_comparisons(panel).fit(cov_type="HC0"),
    ]
    fitted.append(hja.load_results(fitted[0].to_json()))
    for result in fitted:
        assert type(result) is hja.HJAResults
        assert isinstance(result, GenericLikelihoodModelResults)
        assert isinstance(result, LikelihoodModelResults)
        for values in (result.params, result.bse, result.tvalues, result.pvalues):
            assert isinstance(values, pd.Series)
            assert list(values.index) == result.model.param_names
        assert isinstance(result.conf_int(), pd.DataFrame)
        assert isinstance(result.cov_params(), pd.DataFrame)
    assert not hasattr(hja, "HJAResultsWrapper")
