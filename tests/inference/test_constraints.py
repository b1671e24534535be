"""Estimates that are held to equations, and tests of these."""

import pickle

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats
from scipy.optimize import minimize
from scipy.special import expit
from statsmodels.tools.numdiff import approx_fprime_cs

import hjastats as hja
from hjastats.data.comparisons import Comparisons
from hjastats.errors import ContrastError, IdentificationError, OptionError, SizeError
from hjastats.model.decomposition import aligned
from tests.panels import changed, separated_panel

# Two programs that both solve to machine precision.
SOLVED = 1e-8
# What SLSQP reaches with exact gradients.
SLSQP = 1e-6
# Differences of fourth order with this step leave so much of a second derivative.
STEP, DIFFERENCES = 1e-3, 1e-7
# Two ways to write a constraint, one of which bends and is differentiated by differences.
REWRITTEN = 1e-6


@pytest.fixture(scope="module")
def ja(small_panel):
    return hja.JAModel.from_comparisons(small_panel).fit()


@pytest.fixture(scope="module")
def hja1(small_panel):
    return hja.HJAModel.from_comparisons(small_panel, rank=1).fit()


def logistic_regression(data, with_position=True):
    """Verdicts on differences of items, of which the last is zero, and on who was shown first."""
    frame = data.to_frame()
    columns = {i: (frame["first"] == i).astype(float) - (frame["second"] == i) for i in data.items[:-1]}
    exog = pd.DataFrame(columns).assign(**({"position": 1.0} if with_position else {}))
    return sm.GLM(frame["outcome"], exog, sm.families.Binomial())


@pytest.mark.parametrize("n", [1, 2])
def test_bradley_terry_under_constraints_is_the_logistic_regression_of_statsmodels(biased_panel, n):
    items = biased_panel.items
    texts = [f"mu[{items[0]}] - mu[{items[1]}] = 0.5", f"mu[{items[2]}] - mu[{items[-1]}] = 2*position"][:n]
    result = hja.BTLModel.from_comparisons(biased_panel, position="common").fit_constrained(texts)
    matrix = np.zeros((2, len(items)))
    matrix[0, [0, 1]], matrix[1, [2, -1]] = [1, -1], [1, -2]
    glm = logistic_regression(biased_panel).fit_constrained((matrix[:n], np.array([0.5, 0.0])[:n]), tol=1e-15)
    # Position, and scores that sum to zero, of those of which the last is zero, and position.
    centred = np.eye(len(items))[:, :-1] - 1.0 / len(items)
    to_ours = np.block([[np.zeros((1, len(items) - 1)), np.ones((1, 1))], [centred, np.zeros((len(items), 1))]])
    np.testing.assert_allclose(result.params, to_ours @ glm.params, rtol=0, atol=SOLVED)
    errors = np.sqrt(np.diag(to_ours @ np.asarray(glm.cov_params()) @ to_ours.T))
    np.testing.assert_allclose(result.bse, errors, rtol=0, atol=SOLVED)
    assert abs(result.llf - glm.llf) < SOLVED
    assert (result.df_model, result.k_constr) == (len(items) - n, n)


def test_a_score_test_of_position_is_that_of_statsmodels(biased_panel):
    result = hja.BTLModel.from_comparisons(biased_panel, position="common").fit()
    without = logistic_regression(biased_panel, with_position=False).fit(tol=1e-14)
    theirs, test = (
        without.score_test(exog_extra=np.ones((len(biased_panel.outcome), 1))),
        result.score_test("position = 0"),
    )
    assert (test.df, test.null) == (1, ["position = 0"])
    np.testing.assert_allclose([test.statistic, test.p_value], [theirs.statistic[0], theirs.pvalue[0]], rtol=1e-7)
    assert result.lr_test("position = 0").statistic == pytest.approx(2 * (result.llf - without.llf))


def by_slsqp(data, start, hypothesis):
    """HJA(1) by scipy in reported parameters, under the normalisation and further equations of them."""
    K, N = len(data.judges), len(data.items)
    judge, first, second, wins = data.judge_index, data.first_index, data.second_index, data.outcome
    ends = np.cumsum([K, N, K])

    def value(params):
        gamma, mu, u, v = np.split(params, ends)
        d, e = mu[first] - mu[second], v[first] - v[second]
        eta = gamma[judge] * d + u[judge] * e
        slope = expit(eta) - wins
        by = [np.bincount(judge, slope * d, K), np.zeros(N), np.bincount(judge, slope * e, K), np.zeros(N)]
        for place, weight in ((1, slope * gamma[judge]), (3, slope * u[judge])):
            by[place] = np.bincount(first, weight, N) - np.bincount(second, weight, N)
        return np.sum(np.logaddexp(0, eta) - wins * eta) / len(wins), np.concatenate(by) / len(wins)

    def normalised(params):
        gamma, mu, u, v = np.split(params, ends)
        return np.array([gamma.mean() - 1, mu.sum(), u.sum(), v.sum(), mu @ v, v @ v / N - 1, *hypothesis(params)])

    equations = {"type": "eq", "fun": normalised, "jac": lambda params: approx_fprime_cs(params, normalised)}
    # Begun anew where it stopped, with a fresh guess of the curvature.
    for _ in range(5):
        found = minimize(
            value, start, jac=True, method="SLSQP", constraints=equations, options={"ftol": 1e-16, "maxiter": 100}
        )
        start = found.x
    return found.x, -found.fun * len(wins)


def test_hja_under_constraints_is_what_slsqp_finds(small_panel, hja1):
    names = list(hja1.params.index)
    i, j, k = (names.index(name) for name in ("gamma[judge-1]", "gamma[judge-2]", "mu[item-1]"))
    result = hja1.model.fit_constrained("gamma[judge-1] = gamma[judge-2] = 1, mu[item-1] = 0.3")
    begin = hja1.params.to_numpy() + np.random.default_rng(0).normal(scale=0.01, size=len(names))
    params, loglike = by_slsqp(small_panel, begin, lambda p: [p[i] - 1, p[j] - 1, p[k] - 0.3])
    np.testing.assert_allclose(result.params, params, atol=SLSQP)
    assert abs(result.llf - loglike) < SLSQP
    assert (result.bse.iloc[[i, j, k]] == 0).all()


def test_a_nonlinear_constraint_is_what_slsqp_finds(small_panel, hja1):
    a, b = (list(hja1.params.index).index(name) for name in ("mu[item-1]", "mu[item-3]"))
    result = hja1.model.fit_constrained("exp(mu[item-1]) * mu[item-3] = 0.4")
    params, loglike = by_slsqp(small_panel, hja1.params.to_numpy(), lambda p: [np.exp(p[a]) * p[b] - 0.4])
    np.testing.assert_allclose(result.params, params, atol=SLSQP)
    assert abs(result.llf - loglike) < SLSQP


@pytest.mark.parametrize(("rank", "on"), [(0, None), (1, None), (2, None), (0, 2), (1, 3)])
def test_how_reported_parameters_bend_agrees_with_differences(small_panel, rank, on):
    traits = np.random.default_rng(4).normal(size=(small_panel.n_items, on or 1))
    items = pd.DataFrame(traits, small_panel.items).add_prefix("t") if on else None
    fit = hja.HJAModel.from_comparisons(small_panel, rank=rank, position="judge", items=items).fit().fit
    rng, layout = np.random.default_rng(rank), fit.layout
    weights, move = rng.normal(size=len(layout.names)), rng.normal(size=layout.n_free)
    move /= np.linalg.norm(move)

    def value(share):
        at, _ = layout.moved(fit.at, fit.tangent, share * STEP * move)
        return weights @ layout.pack(at, aligned(layout.decompose(at), fit.parts))

    differences = -value(2) + 16 * value(1) - 30 * value(0) + 16 * value(-1) - value(-2)
    bent = move @ layout.bending(fit.parts, fit.at, fit.tangent, weights) @ move
    assert abs(bent - differences / (12 * STEP**2)) < DIFFERENCES


@pytest.mark.parametrize("information", ["expected", "observed"])
def test_a_ratio_and_the_line_it_is_are_the_same_constraint(hja1, information):
    line = hja1.model.fit_constrained("mu[item-1] - 2*mu[item-2] = 0", information=information)
    ratio = hja1.model.fit_constrained("mu[item-1] / mu[item-2] = 2", information=information)
    np.testing.assert_allclose(ratio.params, line.params, atol=REWRITTEN)
    np.testing.assert_allclose(ratio.bse, line.bse, atol=REWRITTEN)
    assert line.constraints == ["mu[item-1] - 2*mu[item-2] = 0"]


def test_observed_information_is_the_second_derivative_along_the_constraint(ja):
    """Errors of a constrained fit against the curvature of profiles of another parameter, by differences."""
    model, text = ja.model, "gamma[judge-1] = 1.1"
    held = model.fit_constrained(text, information="observed")
    centre, h = held.params["mu[item-2]"], 0.02
    down, here, up = (
        model.fit_constrained(f"{text}, mu[item-2] = {value:.16g}").llf for value in (centre - h, centre, centre + h)
    )
    error = np.sqrt(-(h**2) / (up - 2 * here + down))
    assert held.bse["mu[item-2]"] == pytest.approx(error, rel=1e-3)
    assert here == pytest.approx(held.llf, abs=1e-8)


def test_a_function_is_a_constraint_with_errors_from_the_expected_information(ja):
    held = ja.model.fit_constrained(lambda view: view.gamma["judge-1"] ** 2 - 1.44)
    text = ja.model.fit_constrained("gamma[judge-1] = 1.2")
    np.testing.assert_allclose(held.params, text.params, atol=REWRITTEN)
    np.testing.assert_allclose(held.bse, text.bse, atol=REWRITTEN)
    with pytest.raises(
        OptionError, match=r"expected information only: write them as strings, or pass information='exp"
    ):
        held.with_covariance("HC0")


def test_all_sensitivities_at_one_are_bradley_terry(ja):
    btl = ja.model.pooled().fit()
    texts = [f"gamma[{judge}] = 1" for judge in ja.model.judges]
    held = ja.model.fit_constrained(texts)
    assert held.k_constr == len(texts) - 1
    np.testing.assert_allclose(held.params[btl.params.index], btl.params, rtol=0, atol=SOLVED)
    np.testing.assert_allclose(held.bse[btl.params.index], btl.bse, rtol=0, atol=SOLVED)
    assert held.aic == pytest.approx(btl.aic)
    assert held.bic == pytest.approx(btl.bic)
    test, ratio = ja.lr_test(texts), ja.compare_lr_test(btl)
    np.testing.assert_allclose([test.statistic, test.p_value], [ratio.statistic, ratio.pvalue], rtol=1e-6)
    robust = held.with_covariance("HC0").bse[btl.params.index]
    np.testing.assert_allclose(robust, btl.with_covariance("HC0").bse, rtol=0, atol=SOLVED)


def test_directions_keep_the_signs_that_constraints_are_about(hja1):
    for value in (-0.2, 0.2):
        held = hja1.model.fit_constrained(f"U[judge-1,1] = {value}")
        assert held.params["U[judge-1,1]"] == pytest.approx(value)
        assert held.contrast("U[judge-1, 1]").estimate[0] == pytest.approx(value)


def test_matrices_tuples_and_dicts_say_the_same_as_strings(ja):
    row = (ja.params.index == "gamma[judge-1]").astype(float)
    values = [ja.lr_test(one).statistic for one in ("gamma[judge-1] = 1.2", (row, 1.2), {"gamma[judge-1]": 1.2})]
    np.testing.assert_allclose(values, values[0])
    differences = row - (ja.params.index == "gamma[judge-2]")
    assert ja.lr_test(differences).statistic == pytest.approx(ja.lr_test("gamma[judge-1] = gamma[judge-2]").statistic)


def test_wald_ratio_and_score_agree_where_the_hypothesis_is_nearly_true(small_panel):
    """In Bradley-Terry-Luce, where observed and expected information are the same."""
    result = hja.BTLModel.from_comparisons(small_panel).fit()
    text = f"mu[item-1] = {result.params['mu[item-1]'] + 0.01 * result.bse['mu[item-1]']:.16g}"
    for test in (result.lr_test(text), result.score_test(text)):
        assert test.statistic == pytest.approx(float(result.wald_test(text).statistic), rel=1e-3)
    assert repr(result.score_test(text)).startswith("Score test of mu[item-1] = ")


def thrice(data):
    """Every verdict three times, in clusters."""
    frame = data.to_frame()
    rows = np.repeat(np.arange(len(frame)), 3)
    taken = frame.iloc[rows]
    columns = pd.DataFrame({"origin": rows})
    return Comparisons.from_arrays(taken["judge"], taken["first"], taken["second"], taken["outcome"], columns=columns)


def test_copies_in_clusters_tell_no_more_than_one_of_them(clustered_panel):
    text, options = "gamma[judge-1] = gamma[judge-2]", {"groups": "origin", "use_correction": False}
    once = hja.JAModel.from_comparisons(clustered_panel).fit(cov_type="HC0")
    more = hja.JAModel.from_comparisons(thrice(clustered_panel)).fit(cov_type="cluster", cov_kwds=options)
    n = len(clustered_panel.outcome)
    single, copied = once.lr_test(text), more.lr_test(text)
    assert copied.statistic == pytest.approx(3 * single.statistic)
    assert copied.p_value == pytest.approx(single.p_value, rel=10 / n)
    assert (single.note, copied.note) == ("Rao-Scott, 0.87 by HC0", "Rao-Scott, 2.62 by origin")
    assert more.score_test(text).statistic == pytest.approx(once.score_test(text).statistic)


def test_soft_preferences_have_ratios_with_robust_errors_only(small_panel):
    soft = changed(small_panel, np.where(small_panel.outcome > 0.5, 0.8, 0.2))
    result = hja.JAModel.from_comparisons(soft).fit()
    assert np.isnan(result.lr_test("gamma[judge-1] = 1").p_value)
    assert "no p-value: not chi-squared (soft" in repr(result.lr_test("gamma[judge-1] = 1"))
    robust = result.with_covariance("HC0")
    wald = float(robust.wald_test("gamma[judge-1] = 1").pvalue)
    assert robust.lr_test("gamma[judge-1] = 1").p_value == pytest.approx(wald, rel=0.2)


def test_a_constrained_fit_is_a_result_like_others(ja):
    held = ja.model.fit_constrained("mu[item-1] = mu[item-2]")
    assert "Fitted under the constraints mu[item-1] - mu[item-2] = 0." in str(held.summary())
    assert repr(held).startswith("JA | mu[item-1] - mu[item-2] = 0: ")
    assert held.converged
    assert held.contrast("mu[item-1] - mu[item-2]").is_fixed.all()
    ranking = held.ranking()
    assert ranking.loc["item-1", "std_err"] == pytest.approx(ranking.loc["item-2", "std_err"])
    assert ja.compare_lr_test(held).df_diff == 1
    assert hja.compare(ja, held)["against"].iloc[1] == "JA | mu[item-1] - mu[item-2] = 0"
    assert np.isfinite(held.pairwise().loc[("item-1", "item-3"), "z"])
    assert pickle.loads(pickle.dumps(held)).llf == held.llf
    with pytest.raises(ContrastError, match="not testable"):
        held.wald_test("mu[item-1] = mu[item-2]")


def test_fixed_parameters_have_no_error_and_no_test(ja):
    held = ja.model.fit_constrained("gamma[judge-1] = 1.5")
    assert held.bse["gamma[judge-1]"] == 0
    row = held.sensitivity.loc["judge-1"]
    assert row["std_err"] == 0
    assert np.isnan(row["p_value"])
    assert "inf" not in str(held.summary().tables[1])


def test_hc1_counts_the_parameters_that_are_left(ja):
    held = ja.model.fit_constrained("gamma[judge-1] = 1.5", cov_type="HC1")
    n, ratio = held.nobs, (held.bse / held.with_covariance("HC0").bse)["mu[item-1]"]
    assert ratio**2 == pytest.approx(n / (n - held.df_model))


@pytest.mark.parametrize(
    ("ask", "error", "says"),
    [
        (lambda held: held.bootstrap(5), IdentificationError, "would fit again without these constraints"),
        (lambda held: held.rank_test("bootstrap"), IdentificationError, "would fit again without these constraints"),
        (lambda held: held.judges.influence(method="refit"), IdentificationError, "refitting is not available"),
        (lambda held: held.to_json(), OptionError, "files do not keep constraints"),
        (lambda held: held.lr_test("gamma[judge-2] = 1"), IdentificationError, "state all constraints together"),
        (lambda held: held.conf_int(method="profile"), IdentificationError, "state all constraints together"),
    ],
)
def test_what_would_forget_the_constraints_is_refused(ja, ask, error, says):
    with pytest.raises(error, match=says):
        ask(ja.model.fit_constrained("gamma[judge-1] = 1"))


@pytest.mark.parametrize(
    ("hypothesis", "says"),
    [
        ("gamma[judge-1] = 0, gamma[judge-1] = 1", "cannot all hold"),
        ("gamma[judge-9] = 0", "no judge is called 'judge-9'"),
        ("gamma[judge-9] = gamma[judge-1] = 0", "did you mean 'gamma"),
        (np.ones((1, 3)), "3 columns but there are 11"),
        (["exp(gamma[judge-1]) = 2", "2 * exp(gamma[judge-1]) = 4"], "repeat each other"),
        ("mu[item-1] + mu[item-2] + mu[item-3] + mu[item-4] + mu[item-5] + mu[item-6] = 0", "not testable"),
        ("p[judge-1, item-1, item-2] = 2", "between 0 and 1"),
        (object(), "a hypothesis is a string, a dict or a matrix, got object"),
    ],
)
def test_what_cannot_be_a_constraint_is_told_why(ja, hypothesis, says):
    with pytest.raises(ContrastError, match=says):
        ja.model.fit_constrained(hypothesis)


def test_a_fit_in_place_of_a_hypothesis_is_told_where_fits_are_compared(ja):
    with pytest.raises(ContrastError, match=r"got HJAResults; two fits are compared by compare_lr_test\."):
        ja.lr_test(ja)


def test_penalised_and_large_fits_are_refused(ja, set_limits):
    with pytest.raises(IdentificationError, match="this fit is penalised"):
        ja.model.fit_regularized(1.0).lr_test("gamma[judge-1] = 1")
    set_limits(MANY_FREE=3)
    with pytest.raises(SizeError, match="takes too long beyond 3"):
        ja.lr_test("gamma[judge-1] = 1")


def test_an_item_that_is_never_beaten_can_be_held():
    data = separated_panel()
    model = hja.BTLModel.from_comparisons(data)
    result = model.fit(warn_convergence=False)
    held = model.fit_constrained("mu[i4] - mu[i0] = 3")
    assert held.converged
    glm = logistic_regression(data, with_position=False)
    # The last item of the regression is i4, at zero.
    other = glm.fit_constrained((np.eye(4)[:1], np.array([-3.0])))
    assert abs(held.llf - other.llf) < SOLVED
    test = result.lr_test("mu[i4] - mu[i0] = 3")
    assert test.p_value == pytest.approx(stats.chi2.sf(2 * (result.llf - other.llf), 1))
    with pytest.raises(IdentificationError, match="scores run to infinity"):
        model.fit_constrained("mu[i0] = mu[i1] + 0.1")
