"""Data and options on which careless software prints numbers: each must give the right words instead."""

import warnings

import numpy as np
import pandas as pd
import pytest
from statsmodels.tools.sm_exceptions import HessianInversionWarning

import hjastats as hja
from hjastats.data.comparisons import Comparisons
from hjastats.errors import ComparisonError, IdentificationError
from tests.panels import always_winning, changed, finding, warned

MODELS = [(hja.BTLModel, {}), (hja.JAModel, {}), (hja.HJAModel, {"rank": 1})]


@pytest.mark.parametrize("position", [None, "common", "judge"])
@pytest.mark.parametrize(("cls", "options"), MODELS)
def test_an_item_that_always_wins_is_said_to_rise(biased_panel, cls, options, position):
    model = cls.from_comparisons(always_winning(biased_panel, "item-1"), position=position, **options)
    result, text = warned(model.fit, hja.SeparationWarning)
    assert not result.converged
    assert "'item-1' rise" in text or ("rise" not in text and "fall" in text and "'item-1'" not in text)
    assert np.isfinite(result.fit.params).all()
    assert np.isnan(result.params.get("mu[item-1]", np.nan))
    assert "does not exist" in str(result.summary())


@pytest.mark.parametrize(("cls", "options"), MODELS)
def test_a_judge_that_always_picks_the_first_item_has_a_position_effect_that_grows(biased_panel, cls, options):
    outcome = np.where(biased_panel.judge_index == 0, 1.0, biased_panel.outcome)
    model = cls.from_comparisons(changed(biased_panel, outcome), position="judge", **options)
    _, text = warned(model.fit, hja.SeparationWarning)
    assert "position[judge-1] grows" in text


def test_a_covariate_that_predicts_every_verdict_is_named(biased_panel):
    covariate = pd.DataFrame({"oracle": biased_panel.outcome - 0.5})
    model = hja.JAModel.from_comparisons(biased_panel, exog=covariate)
    _, text = warned(model.fit, hja.SeparationWarning)
    assert "oracle grows" in text


@pytest.mark.parametrize("method", ["newton", "bfgs", "alternating"])
def test_other_optimisers_also_end_on_separated_data(biased_panel, method):
    model = hja.HJAModel.from_comparisons(always_winning(biased_panel, "item-1"), rank=1)
    options = {"maxiter": 20} if method == "alternating" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = model.fit(method=method, **options)
    assert not result.converged


@pytest.mark.parametrize("factor", [100.0, 1e6, 0.0])
def test_a_start_far_away_or_at_zero_does_not_matter(biased_panel, factor):
    model = hja.HJAModel.from_comparisons(biased_panel, rank=1, position="judge")
    reference = model.fit()
    again = model.fit(start_params=factor * reference.params)
    assert again.converged
    assert again.llf == pytest.approx(reference.llf, rel=1e-10)
    with pytest.raises(ValueError, match="must be finite"):
        model.fit(start_params=np.full(len(reference.params), np.nan))


@pytest.mark.parametrize("factor", [1e-9, 1e-3, 1e3, 1e12])
def test_the_scale_of_the_weights_does_not_change_the_estimate(biased_panel, factor):
    frame = biased_panel.to_frame()
    labels = {"judge": frame["judge"], "item_a": frame["first"], "item_b": frame["second"]}
    plain = hja.HJAModel(frame["outcome"], rank=1, **labels).fit()
    scaled = hja.HJAModel(frame["outcome"], weights=np.full(len(frame), factor), rank=1, **labels)
    scaled = scaled.fit(warn_convergence=False)
    assert scaled.converged
    assert len(scaled.mle_retvals["optima"]) == 1
    np.testing.assert_allclose(scaled.scores, plain.scores, atol=1e-6)
    np.testing.assert_allclose(scaled.bse * np.sqrt(factor), plain.bse, rtol=1e-5)


def test_identical_judges_have_no_disagreement_to_fit():
    frame = pd.DataFrame(
        {"first": list("aabbcc") * 20, "second": list("bcacab") * 20, "outcome": ([1, 1, 0, 1, 0, 1, 0] * 18)[:120]}
    )
    both = pd.concat([frame.assign(judge=name) for name in ("x", "y", "z")])
    labels = {
        "judge": both["judge"].to_numpy(),
        "item_a": both["first"].to_numpy(),
        "item_b": both["second"].to_numpy(),
    }
    with pytest.raises(IdentificationError, match="fit rank=0"):
        hja.HJAModel(both["outcome"].to_numpy(), rank=1, **labels).fit(warn_convergence=False)
    assert hja.JAModel(both["outcome"].to_numpy(), **labels).fit().converged


def test_opposite_judges_have_no_consensus_but_scores_of_their_own(biased_panel):
    frame = biased_panel.to_frame()[biased_panel.judge_index == 0]
    both = pd.concat([frame.assign(judge="for"), frame.assign(judge="against", outcome=1 - frame["outcome"])])
    opposite = Comparisons.from_arrays(both["judge"], both["first"], both["second"], both["outcome"])
    with pytest.raises(IdentificationError, match="no consensus"):
        hja.JAModel.from_comparisons(opposite).fit(warn_convergence=False)
    judgewise = hja.JudgewiseBTLModel.from_comparisons(opposite).fit()
    assert judgewise.converged
    np.testing.assert_allclose(judgewise.scores.loc["for"], -judgewise.scores.loc["against"], atol=1e-8)
    assert judgewise.sensitivity["estimate"].isna().all()
    assert "consensus" in str(judgewise.summary())


def test_all_ties_are_a_ranking_without_differences(biased_panel):
    tied = changed(biased_panel, np.full(biased_panel.n_rows, 0.5))
    pooled = hja.BTLModel.from_comparisons(tied).fit()
    assert np.abs(pooled.params).max() < 1e-12
    with pytest.raises(IdentificationError, match="no consensus"):
        hja.JAModel.from_comparisons(tied).fit(warn_convergence=False)


@pytest.mark.parametrize("name", ["position", "mu", "gamma", "S", "p"])
def test_covariates_named_like_parameters_are_refused(biased_panel, name):
    with pytest.raises(ComparisonError, match="rename the covariate"):
        hja.JAModel.from_comparisons(
            biased_panel, exog=pd.DataFrame({name: np.arange(biased_panel.n_rows)}), position="judge"
        )


def test_repeated_covariate_names_are_refused(biased_panel):
    twice = pd.DataFrame(np.ones((biased_panel.n_rows, 2)), columns=["x", "x"])
    with pytest.raises(ComparisonError, match="two parameters"):
        hja.JAModel.from_comparisons(biased_panel, exog=twice)


def test_an_uncentred_covariate_converges_from_every_start(biased_panel):
    rng = np.random.default_rng(0)
    result = hja.JAModel.from_comparisons(
        biased_panel, exog=pd.DataFrame({"year": rng.normal(size=biased_panel.n_rows) + 2020})
    ).fit()
    assert result.converged
    assert len(result.mle_retvals["optima"]) == 1


def test_undetermined_combinations_are_named(biased_panel):
    constant = pd.DataFrame({"one": np.ones(biased_panel.n_rows)})
    result, _ = warned(
        hja.JAModel.from_comparisons(biased_panel, exog=constant, position="common").fit, HessianInversionWarning
    )
    found = finding(result, "identification")
    assert "'one'" in found.text
    assert "'position'" in found.text
    assert result.bse.isna().all()
    assert "no standard errors" in str(result.summary())


def test_nearly_collinear_covariates_are_pointed_out(biased_panel):
    rng = np.random.default_rng(1)
    x = rng.normal(size=biased_panel.n_rows)
    frame = pd.DataFrame({"x": x, "nearly": x + 1e-5 * rng.normal(size=biased_panel.n_rows)})
    result = hja.BTLModel.from_comparisons(biased_panel, exog=frame).fit()
    assert any("nearly singular" in finding.text and "'nearly'" in finding.text for finding in result.findings)


def test_models_with_different_covariates_or_orders_are_not_taken_as_nested(biased_panel):
    rng = np.random.default_rng(0)
    one = hja.BTLModel.from_comparisons(biased_panel, exog=rng.normal(size=(biased_panel.n_rows, 1))).fit()
    two = hja.BTLModel.from_comparisons(biased_panel, exog=rng.normal(size=(biased_panel.n_rows, 2))).fit()
    with pytest.raises(ComparisonError, match="not nested"):
        two.compare_lr_test(one)
    frame = biased_panel.to_frame()
    swapped = np.arange(len(frame)) % 2 == 0
    other = Comparisons.from_arrays(
        frame["judge"],
        frame["first"].where(~swapped, frame["second"]),
        frame["second"].where(~swapped, frame["first"]),
        frame["outcome"].where(~swapped, 1 - frame["outcome"]),
    )
    plain = hja.BTLModel.from_comparisons(biased_panel).fit()
    assert len(hja.compare(plain, hja.JAModel.from_comparisons(other).fit())) == 2
    with pytest.raises(ComparisonError, match="different verdicts"):
        hja.compare(plain, hja.BTLModel.from_comparisons(other, position="common").fit())
    labels = {"judge": "judge", "item_a": "first", "item_b": "second"}
    intercept = hja.BTLModel.from_formula("outcome ~ 1", frame, **labels).fit()
    assert hja.BTLModel.from_comparisons(biased_panel, position="judge").fit().compare_lr_test(intercept).df_diff == 4


def test_series_with_other_indices_are_not_silently_matched_by_position(biased_panel):
    frame = biased_panel.to_frame()
    with pytest.raises(ComparisonError, match="different indices"):
        hja.BTLModel(
            frame["outcome"],
            judge=frame["judge"].sample(frac=1, random_state=0),
            item_a=frame["first"],
            item_b=frame["second"],
        )


def test_missing_rows_of_a_formula_are_refused_unless_dropping_is_asked_for(biased_panel):
    frame = biased_panel.to_frame()
    frame.loc[3, "outcome"] = np.nan
    frame.loc[5, "judge"] = None
    labels = {"judge": "judge", "item_a": "first", "item_b": "second"}
    with pytest.raises(ComparisonError, match="missing"):
        hja.BTLModel.from_formula("outcome ~ 0", frame, **labels)
    with pytest.raises(ComparisonError, match="missing"):
        hja.BTLModel.from_formula("outcome ~ 0", frame.fillna({"outcome": 1.0}), **labels)
    assert hja.BTLModel.from_formula("outcome ~ 0", frame, missing="drop", **labels).nobs == biased_panel.n_rows - 2


def test_options_without_meaning_are_refused(biased_panel):
    model = hja.JAModel.from_comparisons(biased_panel)
    with pytest.raises(ValueError, match="use_t is not available"):
        model.fit(use_t=True)
    with pytest.raises(ValueError, match="maxiter must be"):
        model.fit(maxiter=0)
    with pytest.raises(TypeError, match="JAModel has rank 0"):
        hja.JAModel.from_comparisons(biased_panel, rank=1)
    result = model.fit()
    with pytest.raises(NotImplementedError, match="with_covariance"):
        _ = result.bsejac
    with pytest.raises(ComparisonError, match="no covariates"):
        result.predict(np.ones((1, 1)), judge="judge-1", item_a="item-1", item_b="item-2")
    with pytest.raises(ComparisonError, match="needs columns judge"):
        result.predict(pd.DataFrame({"x": [1]}))


@pytest.mark.slow
def test_random_data_give_a_fit_or_one_of_our_errors():
    """Small, sparse, unbalanced panels: nothing but our errors and warnings, no missing number called converged."""
    outcomes = {"converged": 0, "flagged": 0, "refused": 0}
    for seed in range(400):
        rng = np.random.default_rng(seed)
        K, N, n = rng.integers(1, 7), rng.integers(2, 8), rng.integers(2, 150)
        judge, first = rng.integers(K, size=n), rng.integers(N, size=n)
        second = (first + rng.integers(1, N, size=n)) % N
        outcome = rng.choice([0.0, 0.5, 1.0], size=n, p=rng.dirichlet([1, 0.3, 1]))
        labels = {"judge": judge, "item_a": first, "item_b": second}
        cls, options = [(hja.BTLModel, {}), (hja.JAModel, {}), (hja.HJAModel, {"rank": int(rng.integers(1, 4))})][
            seed % 3
        ]
        position = [None, "common", "judge"][rng.integers(3)]
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            try:
                result = cls(outcome, position=position, **options, **labels).fit(warn_convergence=False)
                text = str(result.summary())
            except (IdentificationError, ComparisonError):
                outcomes["refused"] += 1
                continue
        assert "Warnings" in text
        if result.converged:
            outcomes["converged"] += 1
            assert np.isfinite(result.params).all()
            assert np.isfinite(result.bse).all() or result.fit.why_no_errors
            assert np.abs(result.model.score_free(result.params)).max() < 1e-4
        else:
            outcomes["flagged"] += 1
    assert min(outcomes.values()) > 20


def test_light_crowd_workers_can_be_fitted_with_a_ridge(shared_data):
    """124 crowd workers with a median of 21 comparisons, and two language models."""
    folder = shared_data / "llmfao"
    parts = [pd.read_csv(folder / "crowd-comparisons.csv")]
    parts += [pd.read_csv(folder / f"{name}-crowd-comparisons.csv").assign(worker=name) for name in ("gpt3", "gpt4")]
    crowd = hja.read_comparisons(pd.concat(parts).astype({"worker": str}), judge="worker")
    assert (crowd.n_judges, crowd.n_items, crowd.n_comparisons) == (126, 59, 13209)
    assert hja.BTLModel.from_comparisons(crowd).fit().converged
    result, text = warned(hja.JAModel.from_comparisons(crowd).fit, hja.SeparationWarning)
    assert "fit_regularized" in text
    assert not result.converged
    shrunk = hja.HJAModel.from_comparisons(crowd, rank=1, position="judge").fit_regularized(alpha=0.5, terms=True)
    assert shrunk.converged
    assert np.isfinite(shrunk.bse).all()


@pytest.fixture(scope="module")
def two_leagues():
    """Items a, b, c and x, y, z that nobody compared with each other; within both the first beats the second beats the third."""
    rng = np.random.default_rng(0)
    league, first = rng.integers(2, size=400), rng.integers(3, size=400)
    second = (first + 1 + rng.integers(2, size=400)) % 3
    items, scores = np.array([list("abc"), list("xyz")]), np.array([1.0, 0.0, -1.0])
    outcome = rng.random(400) < 1.0 / (1.0 + np.exp(scores[second] - scores[first]))
    judge = rng.choice(["j1", "j2", "j3"], 400)
    return Comparisons.from_arrays(judge, items[league, first], items[league, second], outcome.astype(float))


@pytest.mark.parametrize(("cls", "options"), [*MODELS, (hja.JudgewiseBTLModel, {})])
def test_a_ridge_fits_groups_that_were_never_compared_and_says_what_links_them(two_leagues, cls, options):
    model = cls.from_comparisons(two_leagues, **options)
    with pytest.raises(IdentificationError, match="2 groups"):
        model.fit()
    result, text = warned(model.fit_regularized, hja.CovarianceWarning)
    assert result.converged
    assert "2 groups that no judge ever compared with each other ('a', 'b', 'c'; 'x', 'y', 'z')" in text
    assert "rest on the prior alone" in text
    assert "rest on the prior alone" in finding(result, "connectivity").text
    within, between = result.contrast(["mu[a] - mu[b]", "mu[a] - mu[x]"]).std_err
    # Prior variance 10 of the two means of three scores: 10 / 3 for each of them, with little from the data.
    assert within < 0.5
    assert between == pytest.approx(np.sqrt(20 / 3), rel=0.1)


def test_bias_reduction_does_not_link_groups_that_were_never_compared(two_leagues):
    with pytest.raises(IdentificationError, match="2 groups"):
        hja.BTLModel.from_comparisons(two_leagues).fit_regularized(penalty="firth")


@pytest.mark.parametrize("cls", [hja.BTLModel, hja.JudgewiseBTLModel])
def test_a_covariate_that_is_a_property_of_the_items_is_called_one(panel, cls):
    table, size = panel.to_frame(), pd.Series(np.arange(10.0) ** 2, index=panel.items)
    covariates = pd.DataFrame(
        {
            "length": np.random.default_rng(0).normal(size=panel.n_rows),
            "size": table["first"].map(size) - table["second"].map(size),
        }
    )
    result, text = warned(cls.from_comparisons(panel, covariates).fit, HessianInversionWarning)
    assert "The covariate 'size' is a property of the items" in text
    assert "The covariate 'size' is a property of the items" in str(result.summary()).replace("\n    ", " ")
    assert "'length'" not in text
    assert "mu[" not in finding(result, "identification").text
    # What the message advises.
    without = cls.from_comparisons(panel, covariates[["length"]]).fit()
    assert np.isfinite(without.contrast_formula("mu ~ size", pd.DataFrame({"size": size})).terms.loc["size", "p_value"])


def test_sensitivities_leave_a_coefficient_for_a_property_of_the_items(panel):
    """Judges that follow the consensus to different degrees do not follow a common slope so."""
    table, size = panel.to_frame(), pd.Series(np.arange(10.0) ** 2, index=panel.items)
    covariate = pd.DataFrame({"size": table["first"].map(size) - table["second"].map(size)})
    assert hja.JAModel.from_comparisons(panel, covariate).fit().converged
