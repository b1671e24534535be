"""Sixty contrasts as a statistician would write them, against a delta method by finite differences, or refused in a sentence."""

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.errors import ContrastError
from hjastats.model.quantities import ParameterView, Quantities

# Standard errors and estimates against those of extrapolated differences.
TOLERANCE = 1e-6
STEP = 1e-3


class Neighbourhood:
    """A fit and the parameters around it: centred steps along every free coordinate, in three lengths."""

    def __init__(self, result):
        self.result, fit = result, result.fit
        layout, tangent = fit.layout, fit.tangent
        free = layout.to_free(fit.at, tangent)

        def view(point):
            there = Quantities(layout, layout.from_free(point, tangent), None, fit.design.response, fit.parts)
            return ParameterView(there)

        self.here, steps = view(free), [STEP, STEP / 2, STEP / 4]
        self.around = [
            (step, [(view(free + move), view(free - move)) for move in step * np.eye(len(free))]) for step in steps
        ]

    def delta(self, function):
        """Estimate and standard error by differences, extrapolated to steps of zero."""

        def value(view):
            return np.atleast_1d(np.asarray(function(view), dtype=float))

        coarse, middle, fine = (
            np.array([(value(ahead) - value(behind)) / (2 * step) for ahead, behind in views]).T
            for step, views in self.around
        )
        # Three steps cancel the errors of second and fourth order.
        first, second = (4 * middle - coarse) / 3, (4 * fine - middle) / 3
        jacobian = (16 * second - first) / 15
        covariance = self.result.fit.covariance.covariance
        return value(self.here), np.sqrt(np.diag(jacobian @ covariance @ jacobian.T))


@pytest.fixture(scope="module")
def around(panel):
    return Neighbourhood(hja.HJAModel.from_comparisons(panel, rank=2, position="judge").fit())


@pytest.fixture(scope="module")
def around_ties(tied_panel):
    return Neighbourhood(hja.JAModel.from_comparisons(tied_panel, ties="davidson", position="common").fit())


def expit(x):
    return 1 / (1 + np.exp(-x))


A, B, C, J = "model-A", "model-B", "model-C", "model-J"
J1, J2, J5 = "judge-1", "judge-2", "judge-5"

# Asked of the panel: what is written, and the same in Python.
ANSWERED = [
    # Differences and linear combinations
    ("mu[model-A] - mu[model-B]", lambda v: v.mu[A] - v.mu[B]),
    ("mu[model-A] = mu[model-B]", lambda v: v.mu[A] - v.mu[B]),
    ("mu[model-A] == mu[model-B]", lambda v: v.mu[A] - v.mu[B]),
    ("2*mu[model-A] - mu[model-B] - mu[model-C]", lambda v: 2 * v.mu[A] - v.mu[B] - v.mu[C]),
    ("(mu[model-A] + mu[model-B])/2 - mu[model-C]", lambda v: (v.mu[A] + v.mu[B]) / 2 - v.mu[C]),
    ("mu[model-A] - mean(mu[model-B, model-C])", lambda v: v.mu[A] - v.mu[[B, C]].mean()),
    ("mean(mu[model-A], mu[model-B]) - mu[model-C]", lambda v: v.mu[[A, B]].mean() - v.mu[C]),
    ("mean(mu[model-A, model-B]) - mean(mu[model-C, model-J])", lambda v: v.mu[[A, B]].mean() - v.mu[[C, J]].mean()),
    ("mu[*] - mu[model-A]", lambda v: v.mu - v.mu[A]),
    ("mu[*]", lambda v: v.mu),
    ("mu[model-A, model-B, model-C]", lambda v: v.mu[[A, B, C]]),
    ("mu[model-A] - mean(mu[*])", lambda v: v.mu[A] - v.mu.mean()),
    ("sum(mu[model-A, model-B])", lambda v: v.mu[A] + v.mu[B]),
    ("mu[model-A, model-B] - mu[model-C, model-J]", lambda v: v.mu[[A, B]].to_numpy() - v.mu[[C, J]].to_numpy()),
    # Spread and extremes
    ("max(mu[*]) - min(mu[*])", lambda v: v.mu.max() - v.mu.min()),
    ("max(mu[*]) - mu[model-A]", lambda v: v.mu.max() - v.mu[A]),
    ("min(gamma[judge-1, judge-2, judge-5])", lambda v: v.gamma[[J1, J2, J5]].min()),
    ("max(mu[model-A], 0)", lambda v: max(v.mu[A], 0)),
    ("sd(gamma[*])", lambda v: v.gamma.std()),
    ("sd(mu[*]) = 1", lambda v: v.mu.std()),
    ("sd(log(gamma[judge-1, judge-2, judge-5]))", lambda v: np.log(v.gamma[[J1, J2, J5]]).std()),
    ("sd(gamma[*]) / mean(gamma[*])", lambda v: v.gamma.std() / v.gamma.mean()),
    ("sqrt(mean(mu[*]^2))", lambda v: np.sqrt((v.mu**2).mean())),
    # Sensitivities
    ("gamma[judge-1] = 1", lambda v: v.gamma[J1]),
    ("gamma[judge-1] = gamma[judge-2] = 1", lambda v: [v.gamma[J1] - v.gamma[J2], v.gamma[J2]]),
    ("gamma[judge-1] = 1, gamma[judge-2] = 1", lambda v: v.gamma[[J1, J2]]),
    ("gamma[*] = 1", lambda v: v.gamma),
    ("gamma[judge-1] / gamma[judge-2]", lambda v: v.gamma[J1] / v.gamma[J2]),
    ("log(gamma[judge-1] / gamma[judge-2])", lambda v: np.log(v.gamma[J1] / v.gamma[J2])),
    ("gamma[judge-1]^2 - gamma[judge-2]^2", lambda v: v.gamma[J1] ** 2 - v.gamma[J2] ** 2),
    ("mean(log(gamma[judge-1, judge-2]))", lambda v: np.log(v.gamma[[J1, J2]]).mean()),
    ("exp(mean(log(gamma[judge-1, judge-2, judge-5])))", lambda v: np.exp(np.log(v.gamma[[J1, J2, J5]]).mean())),
    ("1/gamma[judge-1]", lambda v: 1 / v.gamma[J1]),
    ("gamma[judge-1] * (mu[model-A] - mu[model-B])", lambda v: v.gamma[J1] * (v.mu[A] - v.mu[B])),
    # Scores and disagreement
    ("S[judge-1, model-A] - S[judge-1, model-B]", lambda v: v.S.loc[J1, A] - v.S.loc[J1, B]),
    ("S[judge-1, model-A] = S[judge-2, model-A]", lambda v: v.S.loc[J1, A] - v.S.loc[J2, A]),
    ("mean(S[*, model-A])", lambda v: v.S[A].mean()),
    ("sd(S[*, model-A])", lambda v: v.S[A].std()),
    ("max(S[judge-1, *]) - S[judge-1, model-B]", lambda v: v.S.loc[J1].max() - v.S.loc[J1, B]),
    ("R[judge-5, *]", lambda v: v.R.loc[J5]),
    ("mean(R[judge-5, *]^2)^0.5", lambda v: (v.R.loc[J5] ** 2).mean() ** 0.5),
    ("sum(R[judge-1, *] * R[judge-5, *])", lambda v: (v.R.loc[J1] * v.R.loc[J5]).sum()),
    ("h[judge-5]", lambda v: np.linalg.norm(v.R.loc[J5])),
    ("h[judge-5] - h[judge-1]", lambda v: np.linalg.norm(v.R.loc[J5]) - np.linalg.norm(v.R.loc[J1])),
    ("rho[judge-5] = 1", lambda v: np.linalg.norm(v.R.loc[J5]) / abs(v.gamma[J5]) / np.linalg.norm(v.mu)),
    ("mean(rho[judge-1, judge-2]) / rho[judge-5]", lambda v: v.rho[[J1, J2]].mean() / v.rho[J5]),
    ("U[judge-1, 1] - U[judge-2, 1]", lambda v: v.U.loc[J1, 1] - v.U.loc[J2, 1]),
    ("V[model-A, 1] * U[judge-5, 1]", lambda v: v.V.loc[A, 1] * v.U.loc[J5, 1]),
    ("sum(U[judge-1, *]^2)", lambda v: (v.U.loc[J1] ** 2).sum()),
    # Probabilities, odds, positions
    ("p[model-A, model-B]", lambda v: expit(v.mu[A] - v.mu[B])),
    ("p[model-A, model-B] = 0.6", lambda v: expit(v.mu[A] - v.mu[B])),
    ("p[model-A, *]", lambda v: expit(v.mu[A] - v.mu.drop(A))),
    ("mean(p[model-A, *])", lambda v: expit(v.mu[A] - v.mu.drop(A)).mean()),
    (
        "p[judge-1, model-A, model-B] - p[model-A, model-B]",
        lambda v: expit(v.S.loc[J1, A] - v.S.loc[J1, B] + v.position[J1]) - expit(v.mu[A] - v.mu[B]),
    ),
    ("mean(p[*, model-A, model-B])", lambda v: expit(v.S[A] - v.S[B] + v.position).mean()),
    ("exp(mu[model-A] - mu[model-B])", lambda v: np.exp(v.mu[A] - v.mu[B])),
    ("logit(p[model-A, model-B])", lambda v: v.mu[A] - v.mu[B]),
    ("position[judge-1] = position[judge-2] = 0", lambda v: [v.position[J1] - v.position[J2], v.position[J2]]),
    ("mean(position[*])", lambda v: v.position.mean()),
    ("position[*] - mean(position[*])", lambda v: v.position - v.position.mean()),
    ("400/log(10) * (mu[model-A] - mu[model-B])", lambda v: 400 / np.log(10) * (v.mu[A] - v.mu[B])),
    # Weights
    ({"mu[model-A]": 1, "mu[model-B]": -0.5, "mu[model-C]": -0.5}, lambda v: v.mu[A] - v.mu[[B, C]].mean()),
    ({"mean(mu[model-A, model-B])": 1, "mu[model-C]": -1}, lambda v: v.mu[[A, B]].mean() - v.mu[C]),
    (pd.Series({"gamma[judge-1]": 1.0, "gamma[judge-2]": -1.0}), lambda v: v.gamma[J1] - v.gamma[J2]),
    (
        {"ahead": {"mu[model-A]": 1, "mu[model-B]": -1}, "sharp": "gamma[judge-1]"},
        lambda v: [v.mu[A] - v.mu[B], v.gamma[J1]],
    ),
]
# Asked of verdicts with ties as an outcome.
ANSWERED_WITH_TIES = [
    ("prob[tie, judge-1, item-1, item-2]", lambda v: v.prob("tie", J1, "item-1", "item-2")),
    (
        "prob[first, judge-1, item-1, item-2] + prob[tie, judge-1, item-1, item-2]/2",
        lambda v: v.prob("first", J1, "item-1", "item-2") + v.prob("tie", J1, "item-1", "item-2") / 2,
    ),
    (
        "max(prob[*, judge-1, item-1, item-6])",
        lambda v: max(v.prob(w, J1, "item-1", "item-6") for w in ("first", "second", "tie")),
    ),
    ("position", lambda v: v.position[J1]),
    ("exp(tie)", lambda v: np.exp(v.tie[J1])),
]
REFUSED = [
    ("mu[model-A] > mu[model-B]", "hypotheses are equations; one-sided tests are asked for by alternative='larger'"),
    ("mu[model-A] <= 0", "hypotheses are equations"),
    ("max(mu[model-A], mu[model-A])", "'max.* has a tie at the estimate, where it has no derivative"),
    ("max(mu[model-J], 0)", "is a number around the estimate"),
    ("sd(mu[model-A])", "needs two members or more"),
    ("sd(mu[model-A], mu[model-A])", "is zero at the estimate, where it has no derivative"),
    ("median(mu[*])", "unknown name 'median' at position 1"),
    ("rank(mu[model-A])", "unknown name 'rank'"),
    ("mu[*] - gamma[*]", "groups of 8 and 10, which do not go together"),
    ("mean(mu[model-A, model-Q])", "no item is called 'model-Q'. Did you mean"),
    ("mean(mu[model-A, model-A])", "a group names each label once"),
    ("S[judge-1, model-A, model-B]", r"S needs \[judge, item\]"),
    ("p[model-A]", r"p needs \[judge, item, item\] or \[item, item\]"),
    ("log(gamma[judge-1], 10)", "log takes one argument"),
    ("1 = 1", "mentions no parameter"),
    ("mean(1, 2)", "mentions no parameter"),
    ("mu[model-A] - mu[model-B],", "unexpected the end"),
    ("mu[model-A] if gamma[judge-1] else 0", "unexpected|unknown name 'if'"),
    ("log(mu[model-J])", "not defined at the estimate"),
    ({"mu[model-A]": np.nan}, "weights must be finite"),
    ({"mu[model-A]": 0}, "all weights are zero"),
    ({"mu[model-A] = 1": 2}, "weights are for single quantities"),
    ({"mu[*]": 2}, "weights are for single quantities"),
    (np.ones(3), "weights are one for each of the"),
    (pd.Series({"model-A": 1, "model-B": -1}), r"'model-A' .* is no number: its parameter is mu\[model-A\]"),
    (
        "model-A - model-B",
        r"'model-A' at position 1 of 'model-A - model-B' is no number: its parameter is mu\[model-A\]",
    ),
    ("judge-1 / judge-2", r"its parameter is gamma\[judge-1\]"),
]


def test_there_are_sixty():
    assert len(ANSWERED) >= 60
    assert len({str(spec) for spec, _ in ANSWERED + ANSWERED_WITH_TIES} | {str(spec) for spec, _ in REFUSED}) == len(
        ANSWERED + ANSWERED_WITH_TIES + REFUSED
    )


def check(around, spec, function):
    found = around.result.contrast(spec)
    estimate, errors = around.delta(function)
    assert len(found) == len(estimate)
    np.testing.assert_allclose(found.estimate, estimate, rtol=1e-9, atol=1e-12)
    # What the constraints fix, as the leader against itself, has no error at all.
    np.testing.assert_allclose(found.std_err, errors, rtol=TOLERANCE, atol=1e-9)


@pytest.mark.parametrize(("spec", "function"), ANSWERED, ids=[str(spec) for spec, _ in ANSWERED])
def test_what_is_answered_has_the_error_of_the_numerical_delta_method(around, spec, function):
    check(around, spec, function)


@pytest.mark.parametrize(("spec", "function"), ANSWERED_WITH_TIES, ids=[str(spec) for spec, _ in ANSWERED_WITH_TIES])
def test_the_same_with_ties_as_an_outcome(around_ties, spec, function):
    check(around_ties, spec, function)


@pytest.mark.parametrize(("spec", "sentence"), REFUSED, ids=[str(spec)[:40] for spec, _ in REFUSED])
def test_what_is_not_answered_is_refused_in_a_sentence(around, spec, sentence):
    with pytest.raises(ContrastError, match=sentence) as refused:
        around.result.contrast(spec)
    assert str(refused.value)[-1] in ".?"


def test_arrays_are_weights_of_the_parameters(around):
    result = around.result
    names = list(result.params.index)
    weights = np.zeros((2, len(names)))
    weights[0, [names.index("mu[model-A]"), names.index("mu[model-B]")]] = 1, -1
    weights[1, names.index("gamma[judge-1]")] = 2
    spelled = result.contrast(["mu[model-A] - mu[model-B]", "2*gamma[judge-1]"])
    for spec in (weights, pd.DataFrame(weights, columns=names), [list(weights[0]), weights[1]]):
        found = result.contrast(spec)
        assert found.names == ["mu[model-A] - mu[model-B]", "2*gamma[judge-1]"] or isinstance(spec, list)
        np.testing.assert_allclose(found.cov, spelled.cov, rtol=1e-12)
    assert result.contrast(pd.DataFrame(weights, ["ahead", "sharp"], names)).names == ["ahead", "sharp"]
    linear = result.t_test(weights)
    np.testing.assert_allclose(result.contrast(weights).std_err, np.ravel(linear.sd), rtol=1e-10)
