import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.errors import ComparisonError, IdentificationError
from hjastats.model.likelihood import evaluate, gradient
from hjastats.model.structures import Pooled
from hjastats.simulation import heterogeneous_panel, near_balanced_design, simulate_comparisons
from hjastats.solve.firth import first_order_bias, firth
from hjastats.solve.precision import covariance_at
from hjastats.solve.ridge import Ridge
from hjastats.solve.search import search
from tests.counting import aggregate


def undefeated():
    rows = {"judge": ["j"] * 8, "item_a": list("aaaabbcc"), "item_b": list("bbcc") + list("ccbb")}
    return hja.BTLModel([1, 1, 1, 1, 0, 1, 0, 1], **rows)


@pytest.mark.parametrize("name", ["chatbot_arena", "mtbench"])
def test_firth_equals_brglm2(name, shared_data, oracles):
    data = hja.read_comparisons(shared_data / f"{name}.json")
    table = hja.BTLModel.from_comparisons(data).fit_regularized(penalty="firth").consensus
    reference = pd.read_csv(oracles / f"{name}_btl_brglm2.csv", index_col=0)
    np.testing.assert_allclose(table.loc[reference.index, "estimate"], reference["mu"], atol=1e-6)
    np.testing.assert_allclose(table.loc[reference.index, "std_err"], reference["se"], rtol=1e-6)


def test_firth_of_one_comparison_is_the_logit_with_half_a_success_added():
    """Two items: bias reduction adds one half to wins and losses."""
    cells = aggregate(
        np.zeros(10, int), np.zeros(10, int), np.ones(10, int), np.array([1.0] * 8 + [0.0] * 2), np.ones(10), 1, 2
    )
    best = firth(cells, Pooled()).best
    assert np.ptp(best.at.scores) == pytest.approx(np.log(8.5 / 2.5), abs=1e-9)


def test_firth_keeps_undefeated_items_finite():
    result = undefeated().fit_regularized(penalty="firth")
    assert result.converged
    assert np.abs(result.params).max() < 5
    assert "Bias-reduced" in str(result.summary())


@pytest.mark.slow
def test_firth_says_what_to_do_where_its_information_cannot_be_inverted(panel, monkeypatch):
    def singular(*_):
        raise np.linalg.LinAlgError("not positive definite")

    monkeypatch.setattr("hjastats.solve.firth._adjustments", singular)
    with pytest.raises(IdentificationError, match="penalty='ridge'"):
        hja.JAModel.from_comparisons(panel).fit_regularized(penalty="firth")


def test_firth_reduces_the_bias_of_sensitivity_models():
    """Small panels, 400 replications: the mean bias of the scores falls to less than half of that of maximum likelihood."""
    scores = np.outer([0.6, 1.0, 1.4], [1.0, 0.3, -0.4, -0.9])
    plain, reduced = [], []
    for seed in range(400):
        drawn = simulate_comparisons(scores, near_balanced_design(3, 4, 360, rng=seed), rng=1000 + seed)
        model = hja.JAModel.from_comparisons(drawn)
        likelihood, firth_fit = (
            model.fit(warn_convergence=False),
            model.fit_regularized(penalty="firth", warn_convergence=False),
        )
        if likelihood.converged and firth_fit.converged:
            plain.append(likelihood.scores.to_numpy())
            reduced.append(firth_fit.scores.to_numpy())
    assert len(plain) > 380
    bias = [np.abs(np.mean(estimates, axis=0) - scores).mean() for estimates in (plain, reduced)]
    assert bias[1] < 0.5 * bias[0]


def test_ridge_satisfies_its_first_order_conditions_with_and_without_terms(panel):
    model = hja.HJAModel.from_comparisons(panel, rank=1, position="judge")
    for terms in (False, True):
        result = model.fit_regularized(alpha=2.0, terms=terms)
        at, tangent = result.fit.at, result.fit.tangent
        slopes = gradient(model.design, evaluate(model.design, at))
        slopes = Ridge(2.0, 2.0 if terms else 0.0).add_to_gradient(model.design, slopes, at)
        assert np.abs(tangent.coordinates(slopes.scores)).max() < 1e-6
        assert np.abs(slopes.judge).max() < 1e-6
        assert result.converged
        assert result.df_model < model.df_model
    assert "Gaussian prior of variance 0.5" in str(result.summary()).replace("\n    ", " ")


def test_weaker_ridges_approach_maximum_likelihood(panel):
    model = hja.JAModel.from_comparisons(panel)
    plain = model.fit()
    distances = [np.abs(model.fit_regularized(alpha=alpha).params - plain.params).max() for alpha in (10.0, 0.1, 1e-6)]
    assert distances[0] > distances[1] > distances[2]
    assert distances[2] < 1e-6


def test_ridge_exists_where_maximum_likelihood_does_not():
    result = undefeated().fit_regularized(alpha=0.1)
    assert result.converged
    assert result.fit.separation is None
    assert np.isfinite(result.bse).all()


def test_cross_validation_prefers_some_shrinkage_for_few_data():
    panel = heterogeneous_panel(4, 8, 1, rng=2)
    few = simulate_comparisons(panel.scores, near_balanced_design(4, 8, 400, rng=3), rng=4)
    columns = pd.DataFrame({"prompt": np.arange(400) % 40})
    frame = few.to_frame()
    grouped = hja.Comparisons.from_arrays(
        frame["judge"], frame["first"], frame["second"], frame["outcome"], columns=columns
    )
    result = hja.HJAModel.from_comparisons(grouped, rank=1).fit_regularized(alpha="cv", groups="prompt")
    validation = result.fit.penalty.validation
    assert validation.loss.shape == (len(validation.alphas), 5)
    assert validation.best == result.fit.penalty.ridge.scores
    assert 0.003 < validation.best < 30
    # Better than a coin flip on verdicts it has not seen.
    assert validation.loss.mean(axis=1).min() < np.log(2)


@pytest.fixture(scope="module")
def chosen_by_validation(panel):
    return hja.JAModel.from_comparisons(panel, position="judge").fit_regularized(alpha="cv", n_folds=3)


def test_a_weight_chosen_by_cross_validation_leaves_no_standard_errors(chosen_by_validation):
    """Intervals around such estimates covered the largest difference in 76 to 81% of simulated panels."""
    result = chosen_by_validation
    for fit in (result, result.with_covariance("HC0"), hja.load_results(result.to_json())):
        assert fit.converged
        assert np.isfinite(fit.params).all()
        assert fit.bse.isna().all()
        assert fit.pvalues.isna().all()
        assert fit.conf_int().isna().all(axis=None)
        assert fit.consensus[["std_err", "ci_lower", "ci_upper"]].isna().all(axis=None)
        assert fit.sensitivity["std_err"].isna().all()
        assert np.isnan(fit.contrast("mu[model-A] - mu[model-B]").std_err).all()
        assert np.isnan(fit.wald_test("mu[model-A] = 0").pvalue)
        assert fit.df_model < fit.model.df_model
        for refused in (fit.ranking, fit.pairwise, lambda fit=fit: fit.bootstrap(9)):
            with pytest.raises(IdentificationError, match=r"chosen by cross-validation.*fit_regularized\(alpha=0.1\)"):
                refused()
    text = " ".join(str(result.summary()).split())
    assert text.count("was chosen by cross-validation, for prediction") == 1
    assert "For those fix the weight beforehand, fit_regularized(alpha=0.1), or maximise the likelihood, fit()" in text


def test_the_advice_for_standard_errors_gives_some(chosen_by_validation):
    model = chosen_by_validation.model
    for result in (model.fit_regularized(alpha=0.1), model.fit()):
        assert np.isfinite(result.bse).all()
        assert result.ranking()["place_lower"].iloc[0] == 1


def test_a_fit_like_one_whose_weight_was_chosen_has_no_standard_errors_either(chosen_by_validation):
    again = chosen_by_validation.model.fit_like(chosen_by_validation.fit)
    np.testing.assert_allclose(again.params, chosen_by_validation.params, atol=1e-6)
    assert again.bse.isna().all()


def test_regularised_likelihoods_are_not_compared(panel):
    model = hja.JAModel.from_comparisons(panel)
    shrunk = model.fit_regularized()
    with pytest.raises(ComparisonError, match="do not compare"):
        shrunk.compare_lr_test(hja.BTLModel.from_comparisons(panel).fit())
    with pytest.raises(ComparisonError, match="do not compare"):
        hja.compare(shrunk, model.fit())


def test_options_of_regularisation_are_checked(panel):
    model = hja.HJAModel.from_comparisons(panel, rank=1)
    for alpha in (0, -1, "auto", np.inf, True):
        with pytest.raises(ValueError, match="alpha must be"):
            model.fit_regularized(alpha=alpha)
    with pytest.raises(ValueError, match="penalty must be"):
        model.fit_regularized(penalty="lasso")
    with pytest.raises(ValueError, match="BTL and JA"):
        model.fit_regularized(penalty="firth")
    with pytest.raises(ValueError, match="n_folds"):
        model.fit_regularized(alpha="cv", n_folds=1)


@pytest.mark.slow
def test_ridge_intervals_cover_and_its_error_is_small_where_estimates_often_do_not_exist():
    """The paper's process with 400 comparisons, 300 replications: standard error of the coverage 0.003."""
    errors, inside, missing = [], [], 0
    for seed in range(300):
        panel = heterogeneous_panel(rng=seed)
        drawn = simulate_comparisons(panel.scores, near_balanced_design(4, 8, 400, rng=1000 + seed), rng=2000 + seed)
        model = hja.HJAModel.from_comparisons(drawn, rank=1)
        missing += not model.fit(n_random=0, warn_convergence=False).converged
        result = model.fit_regularized(n_random=0)
        error = result.scores.to_numpy() - panel.scores
        errors.append((error**2).mean())
        inside.append((np.abs(error) <= 1.959964 * result.judges.score_errors().to_numpy()).mean())
    assert np.mean(errors) <= 0.3
    assert 0.93 <= np.mean(inside) <= 0.97
    assert missing > 15


def test_the_bias_of_one_log_odds_is_the_known_one():
    """Two items: (2 p - 1) / (2 n p (1 - p)) to first order."""
    n, wins = 50, 35
    rows = np.zeros(n, int)
    cells = aggregate(rows, rows, rows + 1, (np.arange(n) < wins).astype(float), np.ones(n), 1, 2)
    at = search(cells, Pooled()).best.at
    tangent = Pooled().tangent(at.scores)
    bias = first_order_bias(cells, at, tangent, covariance_at(cells, at, tangent).covariance)
    p = wins / n
    assert bias[0, 0] - bias[0, 1] == pytest.approx((2 * p - 1) / (2 * n * p * (1 - p)), rel=1e-6)


@pytest.mark.parametrize(
    ("model", "options"), [(hja.BTLModel, {}), (hja.JAModel, {}), (hja.JAModel, {"position": "judge"})]
)
def test_the_bias_is_what_bias_reduction_takes_away(model, options):
    """To first order, and where the model holds: with 3,000 verdicts per judge the rest is some percent of the bias."""
    scores = np.outer([0.6, 0.9, 1.1, 1.4] if model is hja.JAModel else np.ones(4), np.linspace(1.0, -1.0, 6))
    data = simulate_comparisons(scores, near_balanced_design(4, 6, 12_000, rng=0), rng=1)
    model = model.from_comparisons(data, **options)
    fit, reduced = model.fit().fit, model.fit_regularized(penalty="firth").fit
    bias = fit.tangent.coordinates(first_order_bias(fit.design, fit.at, fit.tangent, fit.covariance.covariance))
    taken = fit.tangent.coordinates(fit.at.scores - reduced.at.scores)
    assert np.linalg.norm(bias - taken) < 0.1 * np.linalg.norm(taken)
