"""What statsmodels' base classes offer works here too, or says in a sentence what to use instead."""

import pickle

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from statsmodels.tools.eval_measures import aicc, hqic

import hjastats as hja
from hjastats.errors import ComparisonError, ContrastError, IdentificationError, OptionError
from tests.panels import separated_panel

LABELS = {"judge": "judge", "item_a": "first", "item_b": "second"}


@pytest.fixture(scope="module")
def length(panel):
    return pd.DataFrame({"length": np.random.default_rng(0).normal(size=panel.n_rows)})


@pytest.fixture
def result(panel, length):
    return hja.JAModel.from_comparisons(panel, length, position="common").fit()


def test_criteria_and_pseudo_r_squared_are_those_of_statsmodels(panel, length):
    result = hja.BTLModel.from_comparisons(panel, length).fit()
    rows, signed = np.arange(panel.n_rows), np.zeros((panel.n_rows, panel.n_items))
    signed[rows, panel.first_index], signed[rows, panel.second_index] = 1.0, -1.0
    theirs = sm.Logit(panel.outcome, np.column_stack([length, signed[:, 1:]])).fit(disp=0, method="newton")
    n, d = panel.n_rows, result.df_model
    assert result.info_criteria("aic") == pytest.approx(result.aic, rel=1e-12) == pytest.approx(theirs.aic, rel=1e-9)
    assert result.info_criteria("bic") == pytest.approx(result.bic, rel=1e-12) == pytest.approx(theirs.bic, rel=1e-9)
    assert result.info_criteria("aicc") == pytest.approx(aicc(theirs.llf, n, d), rel=1e-9)
    assert result.info_criteria("hqic") == pytest.approx(hqic(theirs.llf, n, d), rel=1e-9)
    assert result.info_criteria("aic", dk_params=2) == pytest.approx(result.aic + 4.0, rel=1e-12)
    flips = -n * np.log(2.0)
    assert result.pseudo_rsquared() == result.prsquared == pytest.approx(1.0 - theirs.llf / flips, rel=1e-9)
    for kind in ("cs", "lr"):
        assert result.pseudo_rsquared(kind) == pytest.approx(1.0 - np.exp(2.0 / n * (flips - theirs.llf)), rel=1e-9)
    with pytest.raises(OptionError, match="crit must be 'aic', 'bic', 'aicc' or 'hqic', got 'tic'"):
        result.info_criteria("tic")
    with pytest.raises(OptionError, match="kind must be 'mcf', 'cs' or 'lr', got 'mcfadden'"):
        result.pseudo_rsquared("mcfadden")


def test_summary2_shows_every_parameter_once(result):
    table = result.summary2().tables[1]
    assert list(table.index) == list(result.params.index)
    np.testing.assert_allclose(table["Coef."], result.params)
    np.testing.assert_allclose(table["P>|z|"], result.pvalues)
    narrow = result.summary2(alpha=0.5, title="Verdicts", float_format="%.1f")
    assert "Verdicts" in narrow.as_text()
    assert narrow.tables[1].columns[-1] == "0.75]"


@pytest.mark.parametrize(
    ("asked", "error", "said"),
    [
        (lambda r: r.get_nlfun(np.exp), NotImplementedError, r"contrast\(function\)"),
        (lambda r: r.model.expandparams(r.params), NotImplementedError, "transform_params"),
        (lambda r: r.model.reduceparams(r.params), NotImplementedError, "untransform_params"),
        (lambda r: r.model.hessian_factor(r.params), NotImplementedError, "hessian_free"),
        (lambda r: r.f_test("length = 0"), OptionError, "the test is chi-squared"),
        (lambda r: r.compare_lr_test(sm.OLS([1.0, 2.0, 4.0], [1.0, 1.0, 1.0]).fit()), ComparisonError, "got Reg"),
        (
            lambda r: r.t_test_pairwise("mu"),
            ContrastError,
            r"no term of the formula \(there is none\); pairwise\('mu'\)",
        ),
        (lambda r: r.covjac, NotImplementedError, "with_covariance"),
        (lambda r: r.bootstrap(nrep=5), TypeError, "nrep"),
    ],
)
def test_what_does_not_hold_here_is_refused_in_words(result, asked, error, said):
    with pytest.raises(error, match=said):
        asked(result)


def test_a_formula_has_a_tilde(panel):
    with pytest.raises(ComparisonError, match=r"'win ~ 0 \+ length', got 'outcome'"):
        hja.JAModel.from_formula("outcome", panel.to_frame(), **LABELS)


def test_two_ways_of_clusters_do_not_fall_over(panel):
    columns = pd.DataFrame({"prompt": np.arange(panel.n_rows) % 60, "day": np.arange(panel.n_rows) % 41})
    data = hja.Comparisons.from_arrays(
        *(panel.to_frame()[name] for name in ("judge", "first", "second", "outcome")), columns=columns
    )
    result = hja.BTLModel.from_comparisons(data).fit(cov_type="cluster", cov_kwds={"groups": ["prompt", "day"]})
    assert result.bse.notna().all()


def test_results_are_of_the_class_that_is_documented(result):
    assert isinstance(result, hja.HJAResults)
    assert "0x" not in repr(result)


# Without the data


def test_a_model_without_data_cannot_be_fitted_again_and_says_so(panel, length, result):
    result.remove_data()
    again = (
        result.model.fit,
        result.model.fit_regularized,
        lambda: result.model.fit_regularized(penalty="firth"),
        lambda: result.model.with_rank(1),
        result.model.pooled,
        result.model._get_init_kwds,
    )
    for action in again:
        with pytest.raises(IdentificationError, match="the data of this model were removed: it cannot be fitted again"):
            action()
    for action in (
        lambda: result.model.loglike(result.params),
        lambda: result.model.score_obs(result.params),
        lambda: result.model.simulate(result.params, rng=0),
        lambda: result.with_covariance(information="observed").bse,
        lambda: result.judges.cards(),
    ):
        with pytest.raises((IdentificationError, ComparisonError), match="removed"):
            action()


@pytest.mark.parametrize("cov_type", ["nonrobust", "HC0", "cluster"])
@pytest.mark.parametrize("penalised", [False, True])
def test_tables_and_tests_are_the_same_without_the_data(panel, length, cov_type, penalised):
    kwds = {"groups": np.arange(panel.n_rows) % 50} if cov_type == "cluster" else None
    models = [hja.HJAModel.from_comparisons(panel, length, rank=1, position="judge") for _ in range(2)]
    fits = [model.fit_regularized if penalised else model.fit for model in models]
    expected, light = (fit(cov_type=cov_type, cov_kwds=kwds) for fit in fits)
    texts = [str(expected.summary2().tables[1]), str(expected.summary().tables[1]), expected.findings]
    light.remove_data()
    for result in (light, pickle.loads(pickle.dumps(light))):
        assert [str(result.summary2().tables[1]), str(result.summary().tables[1]), result.findings] == texts
        pd.testing.assert_frame_equal(result.cov_params(), expected.cov_params())
        pd.testing.assert_frame_equal(result.consensus, expected.consensus)
        pd.testing.assert_frame_equal(result.ranking(), expected.ranking())
        pd.testing.assert_frame_equal(result.judges.score_errors(), expected.judges.score_errors())
        pd.testing.assert_frame_equal(
            result.contrast("gamma[judge-1] / gamma[judge-2]").summary_frame(),
            expected.contrast("gamma[judge-1] / gamma[judge-2]").summary_frame(),
        )
        assert result.wald_test("length = 0").statistic == expected.wald_test("length = 0").statistic
        assert (result.llf, result.llnull, result.aic, result.df_model, result.converged) == (
            expected.llf,
            expected.llnull,
            expected.aic,
            expected.df_model,
            expected.converged,
        )
        one = {"judge": "judge-1", "item_a": "model-A", "item_b": "model-B", "exog": [[0.3]]}
        np.testing.assert_array_equal(result.predict(**one), expected.predict(**one))


def _longest(value, seen):
    """Length of the longest array or frame reachable from an object."""
    if id(value) in seen:
        return 0
    seen.add(id(value))
    if isinstance(value, np.ndarray | pd.DataFrame | pd.Series | pd.Index):
        return len(value) if np.ndim(value) else 0
    inner = list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list | tuple) else []
    if type(value).__module__.startswith(("hjastats", "statsmodels")):
        inner += list(getattr(value, "__dict__", {}).values())
    return max((_longest(part, seen) for part in inner), default=0)


@pytest.mark.parametrize("options", [{}, {"position": "judge"}, {"offset": 0.1}, {"ties": "davidson", "tie": "judge"}])
@pytest.mark.parametrize("covariates", [False, True])
@pytest.mark.parametrize("cov_type", ["nonrobust", "HC1", "cluster"])
def test_nothing_as_long_as_the_data_is_left(tied_panel, options, covariates, cov_type):
    kwds = {"groups": np.arange(tied_panel.n_rows) % 50} if cov_type == "cluster" else None
    exog = np.random.default_rng(0).normal(size=tied_panel.n_rows) if covariates else None
    result = hja.JAModel.from_comparisons(tied_panel, exog, **options).fit(cov_type=cov_type, cov_kwds=kwds)
    result.summary()
    before = len(pickle.dumps(result))
    assert _longest(result, set()) >= tied_panel.n_rows
    result.remove_data()
    # Counts of the cells, where there are few.
    assert _longest(result, set()) < tied_panel.n_rows / 4
    assert len(pickle.dumps(result)) < before / 4


def test_of_a_formula_only_its_own_columns_are_left(panel, length):
    frame = panel.to_frame().join(length).assign(text="a long answer " * 20, prompt=np.arange(panel.n_rows))
    result = hja.JAModel.from_formula("outcome ~ 0 + center(length)", frame, **LABELS).fit()
    predicted = result.predict(frame.head(3))
    result.remove_data()
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again.predict(frame.head(3)), predicted)
    assert len(pickle.dumps(result)) < 120_000


def test_a_fit_without_a_maximum_keeps_its_cells():
    data = separated_panel()
    model = hja.BTLModel.from_comparisons(data, np.random.default_rng(0).normal(size=data.n_rows))
    result = model.fit(warn_convergence=False)
    shown = result.consensus
    result.remove_data()
    pd.testing.assert_frame_equal(result.consensus, shown)


def test_start_params_are_known_after_the_fit(panel):
    model = hja.JAModel.from_comparisons(panel)
    np.testing.assert_array_equal(model.fit().mle_settings["start_params"], model.start_params)
    begun = model.fit().params * 1.1
    np.testing.assert_array_equal(model.fit(start_params=begun).mle_settings["start_params"], begun)


def test_one_comparison_under_several_covariates(panel, length):
    two = length.assign(other=np.random.default_rng(1).normal(size=panel.n_rows))
    one = {"judge": "judge-1", "item_a": "model-A", "item_b": "model-B"}
    result = hja.JAModel.from_comparisons(panel, two).fit()
    rows = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    together = result.predict(rows, **one)
    np.testing.assert_array_equal(together, [result.predict(row, **one)[0] for row in rows])
    single = hja.JAModel.from_comparisons(panel, length).fit()
    assert single.predict([0.1, 0.2, 0.3], **one).shape == (3,)
    with pytest.raises(ComparisonError, match="exog must have 1 rows and 2 columns"):
        result.predict([0.1, 0.2, 0.3], **one)
