"""statsmodels' own checks of its models, from the installed statsmodels and unmodified, run against ours.

What does not apply is in ``SKIPS``, by name and with its reason; ``pytest -ra tests/test_conformance.py`` prints the list.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from statsmodels.base.tests.test_generic_methods import CheckGenericMixin
from statsmodels.base.tests.test_shrink_pickle import RemoveDataPickle

import hjastats as hja
from hjastats.errors import ComparisonError
from hjastats.results import HJAResults

N_ROWS = 3000
JUDGES, ITEMS = np.array(["ann", "bob", "cyd"]), np.array(["a", "b", "c", "d", "e"])
LABELS = {"judge": "judge", "item_a": "first", "item_b": "second"}
NEW = {"judge": ["ann", "bob"], "item_a": ["a", "b"], "item_b": ["c", "d"]}


def _frame(*, ties: bool) -> pd.DataFrame:
    """Verdicts with two covariates, and ties if the model has them as an outcome."""
    rng = np.random.default_rng(20260101)
    frame = pd.DataFrame(
        {"judge": rng.choice(JUDGES, N_ROWS), "x1": rng.normal(size=N_ROWS), "x2": rng.normal(size=N_ROWS)}
    )
    first = rng.integers(5, size=N_ROWS)
    second = (first + rng.integers(1, 5, size=N_ROWS)) % 5
    frame["first"], frame["second"] = ITEMS[first], ITEMS[second]
    mu, taste = np.linspace(-1.0, 1.0, 5), np.array([0.5, -0.5, 0.0, -0.5, 0.5])
    gamma, own = np.array([0.7, 1.0, 1.4]), np.array([1.0, -1.0, 0.2])
    judge = frame["judge"].map({name: k for k, name in enumerate(JUDGES)}).to_numpy()
    eta = gamma[judge] * (mu[first] - mu[second]) + own[judge] * (taste[first] - taste[second])
    eta += 0.4 * frame["x1"].to_numpy() - 0.3 * frame["x2"].to_numpy()
    frame["win"] = (rng.random(N_ROWS) < 1.0 / (1.0 + np.exp(-eta))).astype(float)
    if ties:
        frame.loc[rng.random(N_ROWS) < 0.15, "win"] = 0.5
    return frame


class ByPosition(HJAResults):
    """Results with arrays that carry no names.

    The checks index parameters by position, ``params[0]``, which no named ones allow since pandas 3, those of statsmodels neither.
    """

    params = property(lambda self: HJAResults.params.__get__(self).to_numpy(), lambda self, value: None)
    bse = property(lambda self: self.fit.shown_errors())
    pvalues = property(lambda self: HJAResults.pvalues.func(self).to_numpy())


class HJA(hja.HJAModel):
    results_class = ByPosition


class JA(hja.JAModel):
    results_class = ByPosition


class BTL(hja.BTLModel):
    results_class = ByPosition


class JudgewiseBTL(hja.JudgewiseBTLModel):
    results_class = ByPosition


def _fit(model: hja.HJAModel) -> Any:
    return model.fit()


def _ridge(model: hja.HJAModel) -> Any:
    return model.fit_regularized(alpha=1.0)


# Name: the class for checks by position, the class, its options, and how it is fitted.
MODELS: dict[str, tuple[type, type, dict[str, Any], Callable[[Any], Any]]] = {
    "HJA": (HJA, hja.HJAModel, {"rank": 1}, _fit),
    "JA": (JA, hja.JAModel, {}, _fit),
    "BTL": (BTL, hja.BTLModel, {}, _fit),
    "JudgewiseBTL": (JudgewiseBTL, hja.JudgewiseBTLModel, {}, _fit),
    "Ridge": (HJA, hja.HJAModel, {"rank": 1}, _ridge),
    "Davidson": (JA, hja.JAModel, {"ties": "davidson", "tie": "judge"}, _fit),
}
FORMS = ("plain", "arrays", "formula", "position")

_NO_EXOG = "the model has no covariates, which this check leaves out, doubles or predicts from"
_MORE_THAN_EXOG = "covariates alone do not say who compared what: predict also needs judge, item_a and item_b"
_PENALISED = "the check fits again by fit(), which is another estimator than fit_regularized"
_NO_TEST = "the summary of scores alone has places and intervals, and no column P>|z|: no score is tested against the average item"
SKIPS: dict[str, str] = {f"{_name}-plain-test_ftest_pvalues": _NO_TEST for _name in ("BTL", "JudgewiseBTL")}
for _name in MODELS:
    for _form in FORMS:
        _has_exog = _form in ("arrays", "formula")
        SKIPS[f"{_name}-{_form}-test_predict_types"] = _MORE_THAN_EXOG if _has_exog else _NO_EXOG
        for _check in ("test_zero_collinear", "test_zero_constrained"):
            if not _has_exog:
                SKIPS[f"{_name}-{_form}-{_check}"] = _NO_EXOG
            elif _name == "Ridge":
                SKIPS[f"{_name}-{_form}-{_check}"] = _PENALISED


def _model(name: str, form: str, *, by_position: bool) -> hja.HJAModel:
    unnamed, named, options, _ = MODELS[name]
    cls, frame = unnamed if by_position else named, _frame(ties=name == "Davidson")
    if form == "formula":
        return cls.from_formula("win ~ 0 + x1 + x2", frame, **LABELS, **options)
    labels = {role: frame[column].to_numpy() for role, column in LABELS.items()}
    exog = frame[["x1", "x2"]].to_numpy() if form == "arrays" else None
    options = options | ({"position": "judge"} if form == "position" else {})
    return cls(frame["win"].to_numpy(), exog, **labels, **options)


class _Case:
    """One model in one form, fitted anew for each check, as statsmodels does it."""

    name: str
    form: str

    def setup_method(self, method: Callable[..., None]) -> None:
        if reason := SKIPS.get(f"{self.name}-{self.form}-{method.__name__}"):
            pytest.skip(f"{method.__name__}: {reason}")
        super().setup_method()  # type: ignore[misc]
        self.set_up()


class _Generic(_Case, CheckGenericMixin):
    def set_up(self) -> None:
        self.results = MODELS[self.name][3](_model(self.name, self.form, by_position=True))
        self.predict_kwds = {role: labels[0] for role, labels in NEW.items()}
        self.predict_kwds_5 = {role: [labels[0]] * 5 for role, labels in NEW.items()}


class _RemoveData(_Case, RemoveDataPickle):
    def set_up(self) -> None:
        self.results = self.estimate_model()
        self.predict_kwds, self.xf = NEW, None
        if self.form == "arrays":
            self.xf = np.full((2, 2), 0.25)
        if self.form == "formula":
            self.predict_kwds, self.xf = {}, pd.DataFrame(NEW).assign(x1=0.25, x2=0.25)
            # The columns of a formula stay, from which its design is made after unpickling; as in TestPickleFormula.
            self.reduction_factor = 0.5

    def estimate_model(self) -> Any:
        return MODELS[self.name][3](_model(self.name, self.form, by_position=False))


for _base in (_Generic, _RemoveData):
    for _name in MODELS:
        for _form in FORMS:
            _title = f"Test{_base.__name__}{_name}{_form.capitalize()}"
            globals()[_title] = type(_title, (_base,), {"name": _name, "form": _form, "__module__": __name__})


def test_the_list_of_skips_names_checks_that_exist():
    for name in SKIPS:
        model, form, check = name.split("-")
        assert model in MODELS
        assert form in FORMS
        assert any(hasattr(base, check) for base in (CheckGenericMixin, RemoveDataPickle)), check


@pytest.mark.parametrize("name", ["BTL", "JudgewiseBTL"])
def test_p_values_of_scores_alone_are_those_of_wald_tests(name):
    """The part of test_ftest_pvalues that is not about the columns of the summary."""
    result = MODELS[name][3](_model(name, "plain", by_position=False))
    tests = [result.wald_test(row, scalar=True).pvalue for row in np.eye(len(result.params))]
    np.testing.assert_allclose(tests, result.pvalues, rtol=5e-10, atol=1e-25)
    assert "P>|z|" in str(result.summary2())


def test_named_parameters_of_statsmodels_have_no_positions_either():
    frame = _frame(ties=False)
    result = sm.Logit(frame["win"], frame[["x1", "x2"]]).fit(disp=0)
    with pytest.raises(KeyError):
        result.pvalues[0]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_made_again_from_its_init_keywords(name, form):
    model = _model(name, form, by_position=False)
    again = model.__class__(model.endog, model.exog, **model._get_init_kwds())
    at = model.start_params
    assert again.loglike(at) == model.loglike(at)
    assert again.options == model.options
    assert again.comparisons is model.comparisons
    # Other outcomes are the ones that count.
    other = model.__class__(1.0 - model.endog, model.exog, **model._get_init_kwds())
    assert other.loglike(at) != model.loglike(at)
    np.testing.assert_array_equal(other.comparisons.outcome, 1.0 - model.comparisons.outcome)
    with pytest.raises(ComparisonError, match="there are 7 outcomes for 3000 comparisons"):
        model.__class__(model.endog[:7], model.exog, **model._get_init_kwds())


@pytest.mark.parametrize("name", [name for name in MODELS if name != "Ridge"])
def test_covariates_held_at_zero_count_for_nothing(name):
    """A fit without a covariate, reported as one of the model that has it."""
    model = _model(name, "formula", by_position=False)
    result = model._fit_zeros([0])
    small = result.results_constrained
    assert (result.params["x2"], result.bse["x2"], small.model.exog_names) == (0.0, 0.0, ["x1"])
    assert (result.llf, result.aic, result.bic, result.df_model) == (small.llf, small.aic, small.bic, small.df_model)
    assert result.converged
    np.testing.assert_allclose(result.fittedvalues, small.fittedvalues, rtol=1e-12)
    assert "x2" in str(result.summary2())
    both = model.fit()
    assert both.llf > result.llf
    assert both.compare_lr_test(small).df_diff == 1
    robust = model._fit_zeros([0], cov_type="HC0")
    np.testing.assert_allclose(robust.bse.drop("x2"), robust.results_constrained.bse, rtol=1e-12)
