import random

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import logit
from statsmodels.stats.weightstats import _zconfint_generic, _zstat_generic

import hjastats as hja
from hjastats.errors import ContrastError, OptionError, SizeError
from hjastats.inference.expressions import evaluate
from hjastats.model.quantities import Quantities

# Centred differences of a user's function against exact derivatives.
NUMERICAL = 1e-6
AWKWARD = {
    "model-A": "org/model 3.5 (v2)",
    "model-B": "a=b, c",
    "model-C": "with ] bracket",
    "model-D": "1e5",
    "model-E": 'quo"te',
    "model-F": "exp",
    "model-G": "mu[x]",
    "model-H": "été-模型",
    "model-I": "trailing, comma,",
    "model-J": "-minus",
}


@pytest.fixture(scope="module")
def result(panel):
    return hja.HJAModel.from_comparisons(panel, rank=2, position="judge").fit()


@pytest.fixture(scope="module")
def awkward(panel):
    frame = panel.to_frame()
    rows = {"judge": frame["judge"], "item_a": frame["first"].map(AWKWARD), "item_b": frame["second"].map(AWKWARD)}
    return hja.JAModel(frame["outcome"], **rows).fit()


def test_string_function_linear_test_and_formula_agree(result):
    text = result.contrast("mu[model-A] - mu[model-B]")
    function = result.contrast(lambda view: view.mu["model-A"] - view.mu["model-B"])
    linear = result.t_test("mu[model-A] - mu[model-B] = 0")
    metadata = pd.DataFrame({"is_a": [1] + [0] * 9, "is_b": [0, 1] + [0] * 8}, index=list(result.model.items))
    formula = result.contrast_formula("mu ~ is_a + is_b", metadata)
    difference = np.array([0.0, 1.0, -1.0])
    assert text.estimate[0] == pytest.approx(function.estimate[0], abs=1e-12)
    assert text.std_err[0] == pytest.approx(function.std_err[0], rel=NUMERICAL)
    assert text.estimate[0] == pytest.approx(float(linear.effect[0]))
    assert text.std_err[0] == pytest.approx(float(np.ravel(linear.sd)[0]), rel=1e-10)
    assert text.p_value[0] == pytest.approx(float(np.ravel(linear.pvalue)[0]), rel=1e-8)
    assert difference @ formula.estimate == pytest.approx(text.estimate[0])
    assert np.sqrt(difference @ formula.cov @ difference) == pytest.approx(text.std_err[0], rel=1e-10)


EXPRESSIONS = [
    ("gamma[judge-1] / gamma[judge-2]", lambda v: v.gamma["judge-1"] / v.gamma["judge-2"]),
    ("log(gamma[judge-1]) - log(gamma[judge-2])", lambda v: np.log(v.gamma["judge-1"] / v.gamma["judge-2"])),
    (
        "S[judge-3, model-A] - S[judge-3, model-B]",
        lambda v: v.S.loc["judge-3", "model-A"] - v.S.loc["judge-3", "model-B"],
    ),
    ("R[judge-5, model-A] * 2", lambda v: 2 * v.R.loc["judge-5", "model-A"]),
    ("p[judge-first, model-A, model-B]", lambda v: v.p("judge-first", "model-A", "model-B")),
    ("position[judge-first] - position[judge-1]", lambda v: v.position["judge-first"] - v.position["judge-1"]),
    ("U[judge-1, 1] + U[judge-1, 2]", lambda v: v.U.loc["judge-1"].sum()),
    ("V[model-A, 2] ** 2", lambda v: v.V.loc["model-A", 2] ** 2),
    ("exp(mu[model-A]) ^ 0.5", lambda v: np.exp(v.mu["model-A"]) ** 0.5),
    ("abs(mu[model-J])", lambda v: abs(v.mu["model-J"])),
    ("sqrt(gamma[judge-1] ** 2 + 1)", lambda v: np.sqrt(v.gamma["judge-1"] ** 2 + 1)),
    ("-(mu[model-A] - 2 * mu[model-B]) / 3", lambda v: -(v.mu["model-A"] - 2 * v.mu["model-B"]) / 3),
    (
        "logit(p[judge-1,model-A,model-B])",
        lambda v: np.log(v.p("judge-1", "model-A", "model-B") / (1 - v.p("judge-1", "model-A", "model-B"))),
    ),
    ("expit(mu[model-A])", lambda v: 1 / (1 + np.exp(-v.mu["model-A"]))),
    ("gamma[judge-1] ** gamma[judge-2]", lambda v: v.gamma["judge-1"] ** v.gamma["judge-2"]),
    ("2 ** -gamma[judge-1]", lambda v: 2 ** -v.gamma["judge-1"]),
]


@pytest.mark.parametrize(("text", "function"), EXPRESSIONS, ids=[text for text, _ in EXPRESSIONS])
def test_strings_have_the_value_and_derivative_of_the_function_they_spell(result, text, function):
    spelled, computed = result.contrast(text), result.contrast(function)
    assert spelled.estimate[0] == pytest.approx(computed.estimate[0], rel=1e-10)
    assert spelled.std_err[0] == pytest.approx(computed.std_err[0], rel=NUMERICAL)


def test_the_right_side_is_the_null_value_or_the_other_half_of_the_difference(result):
    tested = result.contrast("gamma[judge-1] / gamma[judge-2] = 2 * 0.5")
    plain = result.contrast("gamma[judge-1] / gamma[judge-2]")
    assert tested.null[0] == 1.0
    assert tested.estimate[0] == plain.estimate[0]
    assert tested.z[0] == pytest.approx(result.contrast("gamma[judge-1] - gamma[judge-2]").z[0])
    squared = result.contrast("gamma[judge-1] ** 2 = 2 * 0.5")
    assert squared.z[0] == pytest.approx((squared.estimate[0] - 1) / squared.std_err[0])
    both = result.contrast("mu[model-A] = mu[model-B]")
    assert both.estimate[0] == pytest.approx(result.contrast("mu[model-A] - mu[model-B]").estimate[0])
    assert result.contrast("mu[model-A]", null=0.5).null[0] == 0.5


def test_names_joint_covariance_and_wald_test(result):
    specs = {
        "first": "mu[model-A] - mu[model-B]",
        "second": "mu[model-A] - mu[model-C]",
        "both": lambda v: v.mu.iloc[:2],
    }
    contrasts = result.contrast(specs)
    assert contrasts.names == ["first", "second", "both[model-A]", "both[model-B]"]
    frame = contrasts.summary_frame()
    assert list(frame.columns) == ["estimate", "std_err", "z", "p_value", "ci_lower", "ci_upper"]
    np.testing.assert_allclose(np.sqrt(np.diag(contrasts.cov)), contrasts.std_err)
    joint = result.contrast(["mu[model-A] - mu[model-B]", "mu[model-A] - mu[model-C]"]).wald_test()
    linear = result.wald_test("mu[model-A] = mu[model-B], mu[model-A] = mu[model-C]")
    assert joint.statistic == pytest.approx(linear.statistic, rel=1e-9)
    assert joint.df_denom == linear.df_denom == 2
    assert "first" in repr(contrasts)


def test_intervals_on_other_scales(result):
    ratio = result.contrast("gamma[judge-1] / gamma[judge-2]")
    low, high = ratio.conf_int(method="log")[0]
    logged = result.contrast("log(gamma[judge-1] / gamma[judge-2])").conf_int()[0]
    np.testing.assert_allclose(np.log([low, high]), logged, rtol=1e-10)
    chance = result.contrast("p[judge-1, model-I, model-J]")
    low, high = chance.conf_int(method="logit")[0]
    assert 0 < low < chance.estimate[0] < high < 1
    prediction = result.get_prediction(judge="judge-1", item_a="model-I", item_b="model-J").summary_frame()
    np.testing.assert_allclose([low, high], prediction[["ci_lower", "ci_upper"]].to_numpy()[0], rtol=1e-8)
    with pytest.raises(ContrastError, match="needs contrasts positive"):
        result.contrast("mu[model-J]").conf_int(method="log")
    with pytest.raises(OptionError, match="method must be"):
        ratio.conf_int(method="profile")


def test_what_the_constraints_fix_is_said_not_to_be_testable(panel, result):
    total = " + ".join(f"mu[{item}]" for item in result.model.items)
    fixed = result.contrast(total)
    assert fixed.std_err[0] == 0
    assert np.isnan(fixed.p_value[0])
    assert "not testable" in repr(fixed)
    assert result.contrast(lambda view: view.gamma.mean()).std_err[0] == 0
    btl = hja.BTLModel.from_comparisons(panel).fit()
    assert btl.contrast("gamma[judge-1]").std_err[0] == 0


def test_p_values_stay_exact_in_the_far_tail(result):
    far = result.contrast("mu[model-I] - mu[model-J]")
    shifted = result.contrast("mu[model-I] - mu[model-J]", null=float(far.estimate[0] - 12 * far.std_err[0]))
    assert shifted.z[0] == pytest.approx(12)
    assert shifted.p_value[0] == pytest.approx(2 * stats.norm.sf(12), rel=1e-6)
    assert shifted.p_value[0] > 0


def test_labels_may_contain_anything(awkward):
    params = awkward.params
    for label in AWKWARD.values():
        quoted = '"' + label.replace('"', '""') + '"'
        assert awkward.contrast(f"mu[{quoted}]").estimate[0] == params[f"mu[{label}]"]
    for label in ("org/model 3.5 (v2)", "a=b, c", "with ] bracket", "1e5", "exp", "mu[x]", "été-模型", "-minus"):
        assert awkward.contrast(f"mu[{label}]").estimate[0] == params[f"mu[{label}]"]
    assert awkward.contrast("S[judge-1, a=b, c] - S['judge-1', 'a=b, c']").estimate[0] == 0
    assert awkward.contrast("S[judge-1, 'a=b, c'] - S['judge-1', \"a=b, c\"]").estimate[0] == 0
    assert awkward.contrast("mu[with ] bracket] - mu[a=b, c] = 0").null[0] == 0


def test_labels_that_can_be_read_in_two_ways_ask_for_quotes():
    rows = {"judge": ["a", "a, b"] * 30, "item_a": ["x", "b, x", "x"] * 20, "item_b": ["y", "x", "b, x"] * 20}
    result = hja.JAModel(np.tile([1, 0, 1, 0, 1], 12), **rows).fit()
    with pytest.raises(ContrastError, match="2 ways: put the labels in quotes"):
        result.contrast("S[a, b, x]")
    assert result.contrast("S['a, b', x]").estimate[0] == pytest.approx(result.scores.loc["a, b", "x"], rel=1e-12)


ERRORS = [
    ("", "must not be empty"),
    ("mu[modle-A]", "Did you mean 'model-A'"),
    ("S[judge-1]", r"S needs \[judge, item\]"),
    ("S[judge-1, model-Z9]", "no item is called 'model-Z9'"),
    ("U[judge-1, 3]", "directions 1 to 2"),
    ("nu[model-A]", "unknown name 'nu'"),
    ("mu[model-A] +", "unexpected the end"),
    ("mu[model-A", "not closed"),
    ("mu['model-A]", "quote opened at position 4"),
    ("(mu[model-A]", "parenthesis is not closed"),
    ("mu[model-A])", r"unexpected '\)'"),
    ("mu[model-A] mu[model-B]", "unexpected 'mu"),
    ("mu[model-A] = 1 = 2", "'1 = 2' mentions no parameter"),
    ("1 + 2", "mentions no parameter"),
    ("1 = mu[model-A]", None),
    ("log(mu[model-J])", "not defined at the estimate"),
    ("1 / (mu[model-A] - mu[model-A])", "not defined at the estimate"),
    ("exp(1000 * gamma[judge-1] + 1000)", "not defined at the estimate"),
    ("exp mu[model-A]", "needs an argument"),
    ("__import__('os').system('true')", "unknown name '__import__'"),
    ("mu[model-A].__class__", "unexpected '.'"),
    ("mu[model-A]; gamma[judge-1]", "unexpected ';'"),
    ("(" * 200 + "mu[model-A]" + ")" * 200, "levels deep"),
    ("mu[model-A] + " * 5000, "characters"),
]


@pytest.mark.parametrize(("text", "message"), ERRORS, ids=[text[:30] for text, _ in ERRORS])
def test_malformed_contrasts_are_refused_in_words(result, text, message):
    if message is None:
        assert result.contrast(text).estimate[0] == pytest.approx(1 - result.params["mu[model-A]"])
        return
    with pytest.raises(ContrastError, match=message):
        result.contrast(text)


@pytest.mark.parametrize(
    "spec", [None, 3, {}, [], {"a": 5}, [None], lambda v: "text", lambda v: np.nan, lambda v: np.eye(2)]
)
def test_specs_of_other_types_are_refused(result, spec):
    with pytest.raises(ContrastError):
        result.contrast(spec)


def test_a_thousand_random_strings_give_our_error_or_a_finite_number(result):
    """Mutations of valid contrasts and plain noise: nothing but ContrastError comes out, nothing is executed."""
    generator = random.Random(20260)
    pieces = [
        "mu[",
        "model-A",
        "]",
        "gamma[judge-1]",
        "S[judge-1, model-B]",
        "(",
        ")",
        "+",
        "-",
        "*",
        "/",
        "**",
        "=",
        "exp",
        "log",
    ]
    pieces += [
        "1e400",
        "0",
        ".5",
        "'",
        '"',
        ",",
        " ",
        "__import__",
        "lambda x: x",
        "\n",
        "é",
        "[",
        "{",
        "os.system",
        ";",
        "p[",
        "eval(",
    ]
    refused = 0
    for _ in range(1000):
        text = "".join(generator.choice(pieces) for _ in range(generator.randint(1, 14)))
        try:
            parsed = evaluate(text, result.fit.quantities)
        except ContrastError as error:
            refused += 1
            assert str(error)[-1] in ".?"  # noqa: PT017
        else:
            assert all(np.isfinite(one.estimate.value) for one in parsed)
    assert refused > 900


def test_relative_loadings_are_u_over_gamma_with_delta_errors(panel, result):
    table = result.judges.relative_loadings()
    direct = result.contrast("U[judge-1, 2] / gamma[judge-1]").summary_frame().iloc[0]
    np.testing.assert_allclose(table.loc[("judge-1", 2)], direct, rtol=1e-10)
    weak = hja.HJAModel.from_comparisons(panel, rank=1).fit(information="observed")
    unclear = weak.sensitivity.index[(weak.sensitivity["estimate"] / weak.sensitivity["std_err"]).abs() < 1.96]
    assert weak.judges.relative_loadings().loc[list(unclear)].isna().all().all()
    with pytest.raises(ContrastError, match="rank 1 or more"):
        hja.JAModel.from_comparisons(panel).fit().judges.relative_loadings()


def test_judgewise_models_answer_contrasts_of_consensus_and_sensitivity(panel):
    result = hja.JudgewiseBTLModel.from_comparisons(panel).fit()
    spelled = result.contrast(["gamma[judge-1]", "mu[model-A]", "R[judge-1, model-A]"])
    computed = result.contrast(
        [lambda v: v.gamma["judge-1"], lambda v: v.mu["model-A"], lambda v: v.R.loc["judge-1", "model-A"]]
    )
    np.testing.assert_allclose(spelled.std_err, computed.std_err, rtol=NUMERICAL)
    assert spelled.std_err[0] == pytest.approx(result.sensitivity.loc["judge-1", "std_err"], rel=1e-9)


SPELLINGS = [
    ("p[judge-1, model-I, model-H]", 1.0),
    ("(p[judge-1, model-I, model-H])", 1.0),
    ("1 - p[judge-1, model-I, model-H]", -1.0),
    ("expit(S[judge-1, model-I] - S[judge-1, model-H] + position[judge-1])", 1.0),
    ("1 / (1 + exp(S[judge-1, model-H] - S[judge-1, model-I] - position[judge-1]))", 1.0),
    ("p[judge-1, model-I, model-H] / 2 + 0.5 * p[judge-1, model-I, model-H]", 1.0),
    ("prob[second, judge-1, model-I, model-H]", -1.0),
    (lambda v: v.p("judge-1", "model-I", "model-H"), 1.0),
    (lambda v: 1 - v.p("judge-1", "model-I", "model-H"), -1.0),
]


@pytest.mark.parametrize(("spec", "sign"), SPELLINGS, ids=range(len(SPELLINGS)))
def test_a_probability_is_tested_on_the_logit_scale_however_it_is_written(result, spec, sign):
    odds = result.contrast("S[judge-1, model-I] - S[judge-1, model-H] + position[judge-1]")
    chance = result.contrast(spec)
    rel = NUMERICAL if callable(spec) else 1e-10
    assert chance.null[0] == 0.5
    assert chance.z[0] == pytest.approx(sign * odds.z[0], rel=rel)
    np.testing.assert_allclose(np.sort(sign * logit(chance.conf_int()[0])), odds.conf_int()[0], rtol=10 * rel)
    assert chance.wald_test().statistic == pytest.approx(odds.z[0] ** 2, rel=10 * rel)


def test_a_named_value_of_a_probability_is_carried_to_the_logit_scale(result):
    odds = result.contrast("S[judge-1, model-I] - S[judge-1, model-H] + position[judge-1]", null=float(logit(0.6)))
    assert result.contrast("p[judge-1, model-I, model-H] = 0.6").z[0] == pytest.approx(odds.z[0])
    mean = result.contrast(lambda v: 0.5 * (1 + np.tanh(v.mu["model-A"])), scale="logit")
    assert mean.z[0] == pytest.approx(result.contrast("2 * mu[model-A]").z[0], rel=NUMERICAL)
    ratio = result.contrast("gamma[judge-1] / gamma[judge-2]", scale="log")
    assert ratio.z[0] == pytest.approx(result.contrast("log(gamma[judge-1] / gamma[judge-2])").z[0])
    with pytest.raises(ContrastError, match="tested against a value between 0 and 1, got 0"):
        result.contrast("p[judge-1, model-I, model-H] = 0")
    with pytest.raises(ContrastError, match="scale='logit' needs contrasts between 0 and 1"):
        result.contrast("exp(mu[model-I])", scale="logit")
    with pytest.raises(ContrastError, match="scale must be"):
        result.contrast("mu[model-I]", scale="probit")


@pytest.mark.parametrize("text", ["p[judge-1, model-I, model-H] - p[judge-2, model-I, model-H]", "exp(-mu[model-I])"])
def test_what_is_no_probability_keeps_its_scale(result, text):
    other = result.contrast(text)
    assert other.null[0] == 0.0
    assert other.z[0] == pytest.approx(other.estimate[0] / other.std_err[0])


def test_small_units_do_not_make_a_contrast_fixed(result):
    plain = result.contrast(["mu[model-A]", "mu[model-B]"])
    small = result.contrast(["1e-11 * mu[model-A]", lambda v: 1e-11 * v.mu["model-B"]])
    np.testing.assert_allclose(small.z, plain.z, rtol=NUMERICAL)
    assert small.wald_test().statistic == pytest.approx(plain.wald_test().statistic, rel=NUMERICAL)
    assert result.contrast(["mu[model-A]", "1e-11 * mu[model-B]"]).wald_test().df_denom == 2
    assert "0.0000" not in repr(small)
    assert result.contrast("exp(-25 * gamma[judge-1])").z[0] == pytest.approx(
        result.contrast(lambda v: np.exp(-25 * v.gamma["judge-1"])).z[0], rel=NUMERICAL
    )
    assert result.wald_test("1e-11*mu[model-A] = 0").statistic == pytest.approx(plain.z[0] ** 2)
    sizes = pd.DataFrame({"n": np.arange(8) * 1e11}, index=list(result.model.judges))
    by_units = result.contrast_formula("gamma ~ n", sizes)
    assert by_units.terms.loc["n", "df"] == 1
    assert by_units.z[1] == pytest.approx(result.contrast_formula("gamma ~ n", sizes / 1e11).z[1])


@pytest.mark.parametrize(
    "function", [lambda v: v.mu.rank(), lambda v: v.mu["model-A"] > v.mu["model-B"], lambda v: v.gamma.round(1)]
)
def test_step_functions_have_no_standard_error_and_the_bootstrap_they_are_sent_to_takes_them(panel, function):
    result = hja.JAModel.from_comparisons(panel).fit()
    with pytest.raises(ContrastError, match=r"changes by steps.*result.bootstrap\(\)"):
        result.contrast(function)
    table = result.bootstrap(20, "rows").contrast(function)
    assert np.isfinite(table.to_numpy()).all()
    assert (table["ci_lower"] <= table["estimate"]).all()


def test_ratios_have_fieller_intervals_without_end_where_the_denominator_may_be_zero(result):
    ratio = result.contrast("gamma[judge-1] / gamma[judge-2]")
    for limit in ratio.conf_int()[0]:
        # A limit is a value that is just rejected.
        assert abs(result.contrast(f"gamma[judge-1] - {limit} * gamma[judge-2]").z[0]) == pytest.approx(
            stats.norm.ppf(0.975)
        )
    shifted = result.contrast("1 - 2 * gamma[judge-1] / gamma[judge-2]").conf_int()[0]
    np.testing.assert_allclose(np.sort((1 - shifted) / 2), ratio.conf_int()[0])
    weak = min(result.model.items, key=lambda item: abs(result.contrast(f"mu[{item}]").z[0]))
    unclear = result.contrast(f"mu[model-I] / mu[{weak}]")
    assert abs(result.contrast(f"mu[{weak}]").z[0]) < 1.96
    np.testing.assert_array_equal(unclear.conf_int()[0], [-np.inf, np.inf])
    assert "the denominator cannot be told from zero" in repr(unclear)
    assert np.isfinite(unclear.conf_int(method="delta")).all()
    inside = result.contrast(f"mu[model-I] / mu[{weak}] - mu[model-H] / mu[{weak}] ** 2")
    assert "divided by what cannot be told from zero, use result.bootstrap()" in repr(inside)
    assert "told from zero" not in repr(ratio)


def test_one_sided_tests_and_limits_are_those_of_statsmodels(result):
    text = "mu[model-A] - mu[model-B] = 0.3"
    for alternative in ("two-sided", "larger", "smaller"):
        found = result.contrast(text, alternative=alternative)
        estimate, error = found.estimate[0], found.std_err[0]
        _, p_value = _zstat_generic(estimate, 0.0, error, alternative, diff=0.3)
        assert found.p_value[0] == pytest.approx(p_value, rel=1e-10)
        assert found.summary_frame()["p_value"].iloc[0] == found.p_value[0]
        np.testing.assert_allclose(found.conf_int(0.1)[0], _zconfint_generic(estimate, error, 0.1, alternative))
    assert "one-sided: the alternative is that the contrast is smaller" in repr(found)
    np.testing.assert_array_equal(result.contrast("p[model-A, model-B]", alternative="larger").conf_int()[0, 1], 1.0)
    np.testing.assert_array_equal(result.contrast("p[model-A, model-B]", alternative="smaller").conf_int()[0, 0], 0.0)
    ratio = result.contrast("gamma[judge-1] / gamma[judge-2] = 1", alternative="larger")
    assert ratio.p_value[0] == pytest.approx(
        result.contrast("gamma[judge-1] - gamma[judge-2]", alternative="larger").p_value[0]
    )
    assert ratio.conf_int()[0, 0] == result.contrast("gamma[judge-1] / gamma[judge-2]").conf_int(0.1)[0, 0]
    with pytest.raises(OptionError, match="alternative must be"):
        result.contrast(text, alternative="greater")
    with pytest.raises(ContrastError, match=r"between 0 and 0\.5"):
        ratio.conf_int(0.6)


def test_two_contrasts_are_equivalent_where_the_interval_lies_between_the_limits(result):
    found = result.contrast(["mu[model-A] - mu[model-B]", "mu[model-I] - mu[model-J]"])
    low, high = found.conf_int(0.1)[0]
    for limits, is_equivalent in [((low - 1e-6, high + 1e-6), True), ((low + 1e-6, high + 1), False)]:
        table = found.equivalence(*limits)
        assert (table["p_value"].iloc[0] < 0.05) == is_equivalent
        np.testing.assert_allclose(table[["ci_lower", "ci_upper"]].iloc[0], [low, high])
    error = found.std_err[0]
    for side, alternative, end in [("p_low", "larger", -0.7), ("p_high", "smaller", 0.7)]:
        _, p_value = _zstat_generic(found.estimate[0], 0.0, error, alternative, diff=end)
        assert found.equivalence(-0.7, 0.7)[side].iloc[0] == pytest.approx(p_value, rel=1e-8)
    assert found.equivalence(-0.7, 0.7)["p_value"].iloc[1] > 0.99
    ratio = result.contrast("gamma[judge-1] / gamma[judge-2]").equivalence(0.8, 1.25)
    shifted = result.contrast("gamma[judge-1] - 1.25 * gamma[judge-2]", alternative="smaller")
    assert ratio["p_high"].iloc[0] == pytest.approx(shifted.p_value[0])
    with pytest.raises(ContrastError, match="the lower first"):
        found.equivalence(1, -1)
    with pytest.raises(ContrastError, match="against a value between 0 and 1"):
        result.contrast("p[model-A, model-B]").equivalence(-0.1, 0.1)


def test_single_step_adjustment_is_the_distribution_of_the_largest_z(result):
    found = result.contrast("mu[model-B, model-C, model-D] - mu[model-A]")
    errors = found.std_err
    joint = stats.multivariate_normal(np.zeros(3), found.cov / np.outer(errors, errors), seed=0)
    table = found.adjusted()
    for z, p_value in zip(found.z, table["p_adjusted"], strict=True):
        exact = 1 - joint.cdf(np.full(3, abs(z)), lower_limit=np.full(3, -abs(z)))
        # A hundred thousand draws.
        assert p_value == pytest.approx(exact, abs=4 * np.sqrt(exact / 1e5) + 2e-5)
    critical = ((table["ci_upper"] - table["ci_lower"]) / 2 / errors).to_numpy()
    np.testing.assert_allclose(critical, critical[0])
    covered = joint.cdf(critical, lower_limit=-critical)
    assert covered == pytest.approx(0.95, abs=0.003)
    one_sided = result.contrast("mu[model-B, model-C, model-D] - mu[model-A]", alternative="smaller")
    for z, p_value in zip(one_sided.z, one_sided.adjusted()["p_adjusted"], strict=True):
        exact = 1 - joint.cdf(np.full(3, -z))
        assert p_value == pytest.approx(exact, abs=4 * np.sqrt(exact / 1e5) + 2e-5)


def test_adjustments_of_all_differences_are_those_of_pairwise(result):
    pairs = result.pairwise("gamma", "holm", labels=["judge-1", "judge-2", "judge-3"])
    texts = [f"gamma[{first}] - gamma[{second}]" for first, second in pairs.index]
    found = result.contrast(texts)
    np.testing.assert_allclose(found.adjusted("holm"), pairs, rtol=1e-8)
    np.testing.assert_allclose(found.adjusted("none")["p_adjusted"], found.p_value)
    together = result.pairwise("gamma", "single-step", labels=["judge-1", "judge-2", "judge-3"])
    np.testing.assert_allclose(found.adjusted()["ci_lower"], together["ci_lower"], atol=0.01)
    with_fixed = result.contrast("gamma[judge-1, judge-2, judge-3] - gamma[judge-1]").adjusted("bonferroni")
    assert np.isnan(with_fixed["p_adjusted"].iloc[0])
    np.testing.assert_allclose(with_fixed["p_adjusted"].iloc[1:], np.minimum(2 * with_fixed["p_value"].iloc[1:], 1))
    with pytest.raises(ContrastError, match="one of multipletests, got 'tukey'"):
        found.adjusted("tukey")


def test_members_of_a_contrast_are_found_by_name_position_slice_and_list(result):
    found = result.contrast(["mu[model-A]", "gamma[judge-1] / gamma[judge-2]", "p[model-A, model-B]", "h[judge-1]"])
    for key in ("gamma[judge-1] / gamma[judge-2]", 1, np.int64(1), -3):
        pd.testing.assert_frame_equal(found[key].summary_frame(), found.summary_frame().iloc[[1]])
    for key, rows in [(slice(1, 3), [1, 2]), ([3, 0], [3, 0]), (["p[model-A, model-B]"], [2]), (found.z > 0, None)]:
        expected = found.summary_frame()
        expected = expected.iloc[rows] if rows is not None else expected[found.z > 0]
        pd.testing.assert_frame_equal(found[key].summary_frame(), expected)
    assert [one.names[0] for one in found] == found.names
    assert "not testable to be zero" in repr(found)
    assert "not testable to be zero" not in repr(found[:3])
    with pytest.raises(ContrastError, match=r"at, 'p_value': .*; .p_value, or summary_frame\(\), has that of all"):
        found["p_value"]
    with pytest.raises(ContrastError, match="no contrast is called, or at, 'mu'"):
        found["mu"]
    with pytest.raises(ContrastError, match="or at, 4: there are 4"):
        found[4]
    formula = result.contrast_formula("gamma ~ size", pd.DataFrame({"size": np.arange(8.0)}, list(result.model.judges)))
    assert formula["size"].estimate[0] == formula.estimate[1]
    assert "joint tests" not in repr(formula["size"])


def test_what_cannot_be_negative_is_neither_tested_to_be_zero_nor_bounded_below_it(result):
    found = result.contrast("h[*], sd(gamma[*]), 2 * rho[judge-5], h[judge-5] - h[judge-1], sd(gamma[*]) = 0.5")
    has_test = np.isfinite(found.p_value)
    assert list(has_test) == [False] * 10 + [True, True]
    assert (found.conf_int()[:10] >= 0).all()
    assert (found.conf_int()[:10, 0] == 0).any()
    assert "by wald_test()" in repr(found)


def test_extremes_that_are_hardly_ahead_are_said_to_be(result):
    near = result.consensus.index[-2:]
    assert "the largest or smallest cannot be told from the next" in repr(
        result.contrast(f"min(mu[{', '.join(near)}])")
    )
    assert "told from the next" not in repr(result.contrast("max(mu[model-I], mu[model-J])"))
    assert np.isfinite(result.bootstrap(10).contrast("min(mu[*])").to_numpy()).all()


def test_conf_int_takes_contrasts_and_their_level(result):
    text = "mu[model-A] - mu[model-B]"
    expected = result.contrast(text).conf_int(0.1)
    for table in (result.conf_int(text, 0.1), result.conf_int(0.1, text), result.conf_int(alpha=0.1, cols=text)):
        np.testing.assert_array_equal(table, expected)
        assert list(table.index) == [text]
    np.testing.assert_allclose(result.conf_int(lambda v: v.mu["model-A"] - v.mu["model-B"], 0.1), expected, rtol=1e-6)
    np.testing.assert_array_equal(result.conf_int({"ahead": text}).loc[["ahead"]], result.contrast(text).conf_int())
    np.testing.assert_allclose(result.conf_int([text, "gamma[judge-1]"], 0.1).iloc[:1], expected)
    np.testing.assert_allclose(result.conf_int(pd.Series({"mu[model-A]": 1, "mu[model-B]": -1}), 0.1), expected)
    np.testing.assert_allclose(result.conf_int("mu[model-A]"), result.conf_int().loc[["mu[model-A]"]], rtol=1e-8)
    assert result.conf_int(0.1, [0, 3]).shape == (2, 2)


def test_chains_are_read_as_patsy_reads_them(result):
    text = "gamma[judge-1] = gamma[judge-2] = 1, mu[model-A] = mu[model-B]"
    ours, theirs = result.contrast(text), result.t_test(text)
    np.testing.assert_allclose(ours.z, np.ravel(theirs.statistic), rtol=1e-10)
    assert ours.names == ["gamma[judge-1] = gamma[judge-2]", "gamma[judge-2] = 1", "mu[model-A] = mu[model-B]"]
    assert ours.wald_test().statistic == pytest.approx(result.wald_test(text).statistic, rel=1e-9)
    named = result.contrast({"same": "gamma[judge-1] = gamma[judge-2] = 1", "ahead": "mu[model-A] == mu[model-B]"})
    assert named.names == ["same: gamma[judge-1] = gamma[judge-2]", "same: gamma[judge-2] = 1", "ahead"]


def test_a_label_called_star_is_that_label_and_labels_with_commas_ask_for_quotes():
    rows = {"judge": ["x", "y"] * 30, "item_a": ["*", "b", "a, b"] * 20, "item_b": ["b", "a", "*"] * 20}
    result = hja.BTLModel(np.tile([1, 0, 1, 0, 1], 12), **rows).fit()
    assert result.contrast("mu[*]").names == ["mu[*]"]
    with pytest.raises(ContrastError, match="2 ways: put the labels in quotes"):
        result.contrast("mean(mu[a, b])")
    assert result.contrast('mean(mu["a", "b"])').estimate[0] == pytest.approx(result.params[["mu[a]", "mu[b]"]].mean())
    assert result.contrast('mu["a, b"]').estimate[0] == result.params["mu[a, b]"]


def test_reading_a_long_contrast_takes_time_in_proportion(result):
    """Ten times the terms take about ten times the lookups; labels that exist nowhere are refused at the first bracket."""
    calls = []

    class Counting(Quantities):
        def is_known(self, kind, labels):
            calls.append(sum(map(len, labels)))
            return super().is_known(kind, labels)

    fit = result.fit
    counting = Counting(fit.layout, fit.at, fit.tangent)
    work = []
    for n in (20, 200):
        calls.clear()
        evaluate(" + ".join(["mean(mu[model-A, model-B]) * p[judge-1, model-A, model-B]"] * n), counting)
        work.append(sum(calls))
    assert work[1] == 10 * work[0]
    calls.clear()
    with pytest.raises(ContrastError, match="no item is called 'nobody'"):
        evaluate("mu[nobody]" + " + mu[model-A]" * 500, counting)
    assert sum(calls) < 100


def test_groups_too_large_for_memory_are_refused(result, set_limits):
    set_limits(CONTRAST_NUMBERS=5 * result.fit.layout.n_free)
    with pytest.raises(SizeError, match="name those that matter"):
        result.contrast("mean(mu[*])")
    assert len(result.contrast("mean(mu[model-A, model-B])")) == 1
