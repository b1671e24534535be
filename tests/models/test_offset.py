"""A known addition to the log-odds, against statsmodels' GLM and against covariates whose coefficient is one."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.optimize import minimize
from statsmodels.stats.sandwich_covariance import cov_white_simple

import hjastats as hja
from hjastats.data.cells import collapse
from hjastats.errors import ComparisonError, IdentificationError, OptionError
from hjastats.model.likelihood import evaluate

# Two programs that iterate to the same maximum.
SAME = 1e-8
LABELS = {"judge": "judge", "item_a": "first", "item_b": "second"}
FAMILY = [
    (hja.HJAModel, {"rank": 1}),
    (hja.HJAModel, {"rank": 1, "position": "judge"}),
    (hja.JAModel, {}),
    (hja.BTLModel, {"position": "common"}),
    (hja.JudgewiseBTLModel, {}),
]


@pytest.fixture(scope="module")
def offset(panel):
    return np.random.default_rng(3).normal(0.2, 0.7, panel.n_rows)


@pytest.fixture(scope="module")
def covariates(panel):
    return np.random.default_rng(4).normal(size=(panel.n_rows, 2))


def glm(data, offset, covariates, **options):
    """BTL as a logistic regression on signed items, the first of which is the reference."""
    rows, signed = np.arange(data.n_rows), np.zeros((data.n_rows, data.n_items))
    signed[rows, data.first_index], signed[rows, data.second_index] = 1.0, -1.0
    exog = np.hstack([covariates, signed[:, 1:]])
    model = sm.GLM(data.outcome, exog, family=sm.families.Binomial(), offset=offset)
    return model.fit(tol=1e-14, **options)


def test_btl_with_an_offset_is_the_glm_with_it(panel, offset, covariates):
    result, theirs = (
        hja.BTLModel.from_comparisons(panel, covariates, offset=offset).fit(),
        glm(panel, offset, covariates),
    )
    assert abs(result.llf - theirs.llf) < SAME
    np.testing.assert_allclose(result.params[:2], theirs.params[:2], atol=SAME)
    np.testing.assert_allclose(result.bse[:2], theirs.bse[:2], atol=SAME)
    differences = [f"mu[{item}] - mu[{panel.items[0]}]" for item in panel.items[1:]]
    contrast = result.contrast(differences)
    np.testing.assert_allclose(contrast.estimate, theirs.params[2:], atol=SAME)
    np.testing.assert_allclose(contrast.std_err, theirs.bse[2:], atol=SAME)
    np.testing.assert_allclose(result.fittedvalues, theirs.fittedvalues, atol=SAME)
    robust = glm(panel, offset, covariates, cov_type="HC0")
    np.testing.assert_allclose(result.with_covariance("HC0").bse[:2], robust.bse[:2], atol=SAME)


def test_hc1_is_hc0_for_the_residuals_that_are_left(panel, offset, covariates):
    """statsmodels calls HC0 of a GLM HC1 as well; its function with the correction is the oracle."""
    result, theirs = (
        hja.BTLModel.from_comparisons(panel, covariates, offset=offset).fit(),
        glm(panel, offset, covariates),
    )
    corrected = np.sqrt(np.diag(cov_white_simple(theirs, use_correction=True)))
    robust = result.with_covariance("HC1")
    np.testing.assert_allclose(robust.bse[:2], corrected[:2], atol=SAME)
    assert robust.cov_type == "HC1"
    assert "(HC1)" in str(robust.summary())
    again = hja.load_results(robust.to_json())
    pd.testing.assert_series_equal(again.bse, robust.bse)


@pytest.mark.parametrize(("cls", "options"), FAMILY)
def test_hc1_grows_with_the_share_of_parameters(panel, cls, options):
    result = cls.from_comparisons(panel, **options).fit()
    n, d = panel.n_comparisons, result.df_model
    ratio = result.with_covariance("HC1").bse / result.with_covariance("HC0").bse
    np.testing.assert_allclose(ratio, np.sqrt(n / (n - d)), rtol=1e-10)


def test_hc1_needs_more_comparisons_than_parameters():
    data = hja.Comparisons.from_arrays(["j"] * 2, ["a", "b"], ["b", "c"], [0.4, 0.6])
    model = hja.BTLModel.from_comparisons(data)
    with pytest.raises(OptionError, match="HC1' needs more comparisons than parameters, got 2 and 2"):
        model.fit(cov_type="HC1")


@pytest.mark.parametrize(("cls", "options"), FAMILY)
def test_an_offset_that_scores_explain_only_moves_the_scores(panel, cls, options):
    """Differences of known item values: the fit is the same, with these values taken from the scores."""
    value = np.linspace(-0.4, 0.5, panel.n_items)
    known = value[panel.first_index] - value[panel.second_index]
    plain, moved = (
        cls.from_comparisons(panel, **options).fit(),
        cls.from_comparisons(panel, offset=known, **options).fit(),
    )
    if cls in (hja.BTLModel, hja.JudgewiseBTLModel):
        assert abs(plain.llf - moved.llf) < 1e-7
        np.testing.assert_allclose(plain.scores - (value - value.mean()), moved.scores, atol=1e-5)
        np.testing.assert_allclose(plain.fittedvalues, moved.fittedvalues, atol=1e-6)
    else:
        # Sensitivities do not act on what is known: another model.
        assert abs(plain.llf - moved.llf) > 1.0


@pytest.mark.parametrize(("cls", "options"), FAMILY)
def test_an_offset_is_a_covariate_whose_coefficient_is_one(panel, offset, cls, options):
    result = cls.from_comparisons(panel, offset=offset, **options).fit()
    free = cls.from_comparisons(panel, offset, **options)
    at = np.concatenate([[1.0], result.params])
    assert result.converged
    assert result.llf == pytest.approx(free.loglike(at), abs=1e-8)
    # Stationary in everything but that coefficient.
    assert np.abs(free.score(at)[1:]).max() < 1e-4
    np.testing.assert_allclose(free.score_obs(at)[:, 1:], result.model.score_obs(result.params), atol=1e-12)
    np.testing.assert_allclose(free.hessian(at)[1:, 1:], result.model.hessian(result.params), atol=1e-9)
    # And no other start of another program ends higher.
    model, tangent = result.model, result.params.to_numpy()
    lower = minimize(
        lambda x: -model.loglike(model.transform_params(x, at=tangent)) / panel.n_rows,
        model.untransform_params(tangent, at=tangent) + 0.1,
        method="L-BFGS-B",
    )
    assert -lower.fun * panel.n_rows < result.llf + 1e-6


def test_the_gradient_is_that_of_the_likelihood(panel, offset):
    model = hja.JAModel.from_comparisons(panel, offset=offset, position="judge")
    at = model.start_params
    step = 1e-6 * np.eye(len(at))
    numeric = [(model.loglike(at + h) - model.loglike(at - h)) / 2e-6 for h in step]
    np.testing.assert_allclose(model.score(at), numeric, rtol=1e-5, atol=1e-4)


def test_cells_keep_the_likelihood_of_the_rows(panel, offset):
    coarse = np.round(offset)
    model = hja.JAModel.from_comparisons(panel, offset=coarse)
    rows, cells = model.row_design(), collapse(model.row_design())
    assert len(cells.n) < len(rows.n)
    at = model.layout.unpack(model.start_params)
    assert evaluate(rows, at).value == pytest.approx(evaluate(cells, at).value, rel=1e-12)


def test_ties_have_an_offset_too(tied_panel):
    known = tied_panel.columns["length"] / 10
    result = hja.BTLModel.from_comparisons(tied_panel, offset=known, ties="davidson").fit()
    free = hja.BTLModel.from_comparisons(tied_panel, known, ties="davidson")
    at = np.concatenate([[1.0], result.params])
    assert result.llf == pytest.approx(free.loglike(at), abs=1e-8)
    assert np.abs(free.score(at)[1:]).max() < 1e-4
    # Loaded coins with the best common propensity to tie: no score, the rest is fitted by hand.
    n = tied_panel.n_comparisons
    null = minimize(lambda x: -free.loglike(np.concatenate([[1.0], x, np.zeros(6)])) / n, [0.0], tol=1e-12)
    assert result.llnull == pytest.approx(-null.fun * n, abs=1e-6)
    dropped = hja.BTLModel.from_comparisons(tied_panel, offset=known, ties="drop")
    assert len(dropped.offset) == dropped.comparisons.n_rows < tied_panel.n_rows
    assert dropped.fit().converged


def test_coins_are_loaded_as_the_offset_says(panel, offset):
    result = hja.BTLModel.from_comparisons(panel, offset=offset).fit()
    p = 1.0 / (1.0 + np.exp(-offset))
    by_hand = panel.outcome @ np.log(p) + (1.0 - panel.outcome) @ np.log1p(-p)
    assert result.llnull == pytest.approx(by_hand, abs=1e-8)
    assert result.llr_pvalue < 1e-10


def test_every_way_to_a_model_takes_an_offset(panel, offset):
    frame = panel.to_frame().assign(known=offset)
    with_column = hja.read_comparisons(frame, codes="unit")
    made = [
        hja.JAModel.from_comparisons(panel, offset=offset),
        hja.JAModel.from_comparisons(with_column, offset="known"),
        hja.JAModel(panel.outcome, offset=offset, judge=frame["judge"], item_a=frame["first"], item_b=frame["second"]),
        hja.JAModel.from_formula("outcome ~ 0", frame, offset="known", **LABELS),
        hja.JAModel.from_formula("outcome ~ 0", frame, offset=frame["known"], **LABELS),
        hja.JAModel.from_formula("outcome ~ 0", frame, offset=offset, **LABELS),
    ]
    at = made[0].start_params
    assert len({round(model.loglike(at), 9) for model in made}) == 1
    assert [model.offset_name for model in made] == [None, "known", None, "known", "known", None]
    constant = hja.BTLModel.from_comparisons(panel, offset=0.3).fit()
    assert constant.llf < hja.BTLModel.from_comparisons(panel, position="common").fit().llf


def test_rows_that_leave_take_their_offset_along(panel, offset):
    frame = panel.to_frame().assign(known=offset)
    gaps = frame.assign(known=frame["known"].where(frame.index % 7 > 0))
    kept = frame[frame.index % 7 > 0]
    options = {"offset": "known", **LABELS}
    dropped = hja.BTLModel.from_formula("outcome ~ 0", gaps, missing="drop", **options)
    alone = hja.BTLModel.from_formula("outcome ~ 0", kept, **options)
    subset = hja.BTLModel.from_formula("outcome ~ 0", frame, subset=frame.index % 7 > 0, **options)
    for model in (dropped, subset):
        np.testing.assert_array_equal(model.offset, alone.offset)
    with pytest.raises(ComparisonError, match="in offset"):
        hja.BTLModel.from_formula("outcome ~ 0", gaps, **options)
    model = hja.JAModel.from_comparisons(panel, offset=offset)
    without = model.without_judges(["judge-noise"])
    np.testing.assert_array_equal(without.offset, offset[panel.judge_index != panel.judges.index("judge-noise")])
    others = [model.with_rank(1), model.pooled(), model.unrestricted(), model.with_position("judge")]
    assert all(np.array_equal(other.offset, offset) for other in others)
    # Shares of wins become wins and losses with the offset of their row.
    shares = hja.BTLModel(
        [0.25, 0.5],
        judge=["j", "j"],
        item_a=["a", "b"],
        item_b=["b", "c"],
        weights=[4, 2],
        offset=[0.1, 0.2],
        counts=True,
    )
    assert sorted(shares.offset) == [0.1, 0.1, 0.2, 0.2]


def test_predictions_know_the_offset(panel, offset):
    frame = panel.to_frame().assign(known=offset)
    result = hja.JAModel.from_formula("outcome ~ 0", frame, offset="known", **LABELS).fit()
    for fitted in (result, result.model.with_rank(1).fit()):
        np.testing.assert_allclose(fitted.predict(frame), fitted.fittedvalues, rtol=1e-12)
    one = {"judge": "judge-1", "item_a": "model-A", "item_b": "model-B"}
    plain, more = result.predict(**one, which="linear"), result.predict(**one, offset=0.5, which="linear")
    np.testing.assert_allclose(more - plain, 0.5)
    np.testing.assert_allclose(result.get_prediction(**one, offset=0.5).predicted, result.predict(**one, offset=[0.5]))
    np.testing.assert_allclose(result.predict(frame.rename(columns={"known": "k"}), offset="k"), result.fittedvalues)
    np.testing.assert_allclose(result.predict(frame, offset=0), result.predict(offset=0.0))
    with pytest.raises(ComparisonError, match="no column 'known' with the offset: add it, or pass offset=0"):
        result.predict(frame.drop(columns="known"))
    with pytest.raises(ComparisonError, match="offset must be 1 finite numbers"):
        result.predict(**one, offset=[0.5, 0.1])
    drawn = result.model.simulate(result.params, rng=0)
    again = hja.JAModel.from_comparisons(drawn, offset=offset).fit()
    assert np.abs(again.params - result.params).max() < 6 * result.bse.max()


def test_files_hold_the_offset(panel, offset, tmp_path):
    frame = panel.to_frame().assign(known=offset)
    result = hja.HJAModel.from_formula("outcome ~ 1", frame, offset="known", **LABELS).fit()
    result.to_json(tmp_path / "fit.json")
    again = hja.load_results(tmp_path / "fit.json")
    assert again.llf == pytest.approx(result.llf, abs=1e-9)
    assert again.model.offset_name == "known"
    np.testing.assert_allclose(again.predict(frame), result.fittedvalues, rtol=1e-9)


@pytest.mark.parametrize("kind", ["parametric", "rows"])
def test_resampled_data_have_the_offset(panel, offset, kind):
    """Without it the offset would pull every replicate to one side."""
    result = hja.BTLModel.from_comparisons(panel, offset=3.0 * offset, position="common").fit()
    boot = result.bootstrap(40, kind, rng=1)
    errors = (result.bse if kind == "parametric" else result.with_covariance("HC0").bse).to_numpy()
    # The mean of 40 replicates, within four of its standard errors.
    assert (np.abs(boot.params.mean() - result.params) < 4.0 * errors / np.sqrt(40) + 0.02).all()


def test_cross_validation_and_selection_have_the_offset(panel, offset):
    value = 2.0 * np.random.default_rng(0).normal(size=(panel.n_judges, panel.n_items))
    known = value[panel.judge_index, panel.first_index] - value[panel.judge_index, panel.second_index]
    wins = np.random.default_rng(1).random(panel.n_rows) < 1.0 / (1.0 + np.exp(-known))
    data = panel.with_outcome(wins.astype(float))
    with_offset = hja.select_rank(data, ranks=[0], criterion="cv", offset=known, rng=0).table["cv"]
    without = hja.select_rank(data, ranks=[0], criterion="cv", rng=0).table["cv"]
    assert (with_offset < 0.7 * without).all()
    # Nothing is left for the scores to explain, and held-out verdicts say so.
    model = hja.BTLModel.from_comparisons(data, offset=known)
    losses = [
        m.fit_regularized(alpha="cv", rng=0).fit.penalty.validation.loss.min()
        for m in (model, hja.BTLModel.from_comparisons(data))
    ]
    assert losses[0] < 0.7 * losses[1]
    assert np.abs(model.fit().tvalues).max() < 4.0


def test_models_with_another_offset_are_not_nested(panel, offset):
    small = hja.BTLModel.from_comparisons(panel).fit()
    large = hja.JAModel.from_comparisons(panel, offset=offset)
    with pytest.raises(ComparisonError, match="not nested"):
        large.fit().compare_lr_test(small)
    test = large.fit().compare_lr_test(large.pooled().fit())
    assert test.df_diff == panel.n_judges - 1


def test_findings_summary_and_report_stand_an_offset(panel, offset):
    result = hja.HJAModel.from_comparisons(panel, offset=offset, rank=1).fit()
    assert "offset" in str(result.summary()).lower()
    assert result.findings
    assert result.judges.cards().shape[0] == panel.n_judges
    assert "<html" in result.report()


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("nowhere", "no column is called 'nowhere'"),
        ([1.0, 2.0], "offset has 2 values but there are"),
        ([np.nan] * 3200, "offset has missing or infinite values"),
        (np.zeros((3200, 2)), "offset must be one-dimensional"),
        ([["x"]], "offset must be numbers"),
    ],
)
def test_a_bad_offset_is_refused_in_words(panel, bad, said):
    with pytest.raises(ComparisonError, match=said):
        hja.BTLModel.from_comparisons(panel, offset=bad)


def test_an_offset_does_not_hide_what_is_not_determined(panel, offset):
    apart = hja.Comparisons.from_arrays(["j"] * 4, list("abxy"), list("bayx"), [1, 0, 1, 0])
    with pytest.raises(IdentificationError, match="2 groups"):
        hja.BTLModel.from_comparisons(apart, offset=np.ones(4)).fit()
