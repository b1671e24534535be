"""What used to end in an error of another package says in a sentence what was expected, or works."""

import numpy as np
import pytest
import statsmodels.api as sm

import hjastats as hja
from hjastats.simulation import near_balanced_design
from tests.panels import arguments


@pytest.fixture(scope="module")
def result(panel):
    return hja.JAModel.from_comparisons(panel).fit()


@pytest.mark.parametrize("formula", ["outcome", "x + judge", "~ x", " ~ 0", None, 3])
def test_a_formula_without_outcome_or_tilde_is_refused(panel, formula):
    frame = panel.to_frame()
    with pytest.raises(hja.ComparisonError, match="a formula has an outcome, a tilde and covariates"):
        hja.JAModel.from_formula(formula, frame, **arguments(frame))


def test_results_of_other_packages_are_refused(result):
    foreign = sm.GLM([0, 1, 1, 0, 1], np.ones(5), family=sm.families.Binomial()).fit()
    for compared in (result.compare_lr_test, lambda other: hja.compare(result, other)):
        with pytest.raises(hja.ComparisonError, match="expected the result of a fit of this package, got GLMResults"):
            compared(foreign)


def test_what_is_no_term_of_a_formula_is_sent_to_pairwise(result):
    with pytest.raises(hja.ContrastError, match=r"pairwise\('mu'\) compares items"):
        result.t_test_pairwise("mu")


def test_functions_are_sent_to_contrast(result):
    with pytest.raises(NotImplementedError, match=r"contrast\(function\)"):
        result.get_nlfun(np.sum)


def test_clusters_in_two_ways_are_columns(result):
    rows = np.arange(result.model.comparisons.n_rows)
    groups = np.column_stack([rows % 40, rows // 80])
    assert np.isfinite(result.with_covariance("cluster", {"groups": groups}).bse).all()


def test_a_model_without_its_rows_is_not_fitted_again(panel):
    gone = hja.JAModel.from_comparisons(panel).fit()
    gone.remove_data()
    with pytest.raises(hja.IdentificationError, match="were removed: it cannot be fitted again"):
        gone.model.fit()


@pytest.mark.parametrize("alpha", [0, 1, 1.5, np.nan, "0.05", None])
def test_levels_are_between_zero_and_one(result, alpha):
    for table in (result.summary, result.summary2):
        with pytest.raises(hja.OptionError, match="alpha must lie between 0 and 1, got"):
            table(alpha=alpha)


@pytest.mark.parametrize("max_rows", [-1, 2.5, "all", None])
def test_lengths_of_tables_are_whole_numbers(result, max_rows):
    with pytest.raises(hja.OptionError, match="max_rows must be a whole number from 0, got"):
        result.summary(max_rows=max_rows)


def test_ranks_are_whole_numbers(panel):
    with pytest.raises(hja.OptionError, match=r"ranks must be whole numbers, got \[1.9\]"):
        hja.select_rank(panel, ranks=[1.9])


DRAWS = {
    "fit": lambda result, rng: result.model.with_rank(1).fit(rng=rng),
    "fit_regularized": lambda result, rng: result.model.fit_regularized(rng=rng),
    "simulate": lambda result, rng: result.model.simulate(result.fit.params, rng=rng),
    "ranking": lambda result, rng: result.ranking(rng=rng),
    "plot.ranking": lambda result, rng: result.plot.ranking(rng=rng),
    "pairwise": lambda result, rng: result.pairwise(method="single-step", rng=rng),
    "bootstrap": lambda result, rng: result.bootstrap(2, rng=rng),
    "rank_test": lambda result, rng: result.rank_test("bootstrap", n=2, rng=rng),
    "compare_lr_test": lambda result, rng: result.compare_lr_test(
        result.model.pooled().fit(), "bootstrap", n=2, rng=rng
    ),
    "select_rank": lambda result, rng: hja.select_rank(result.model.comparisons, [0], "cv", rng=rng),
    "near_balanced_design": lambda result, rng: near_balanced_design(2, 3, 10, rng=rng),
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("rng", ["x", -1, 1.5])
def test_what_draws_says_what_its_rng_may_be(result, name, rng):
    with pytest.raises(hja.OptionError, match=r"rng must be a whole number from 0, a numpy.random.Generator, or None"):
        DRAWS[name](result, rng)
