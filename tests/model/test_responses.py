"""Each response against its definition, and one that is declared here and nowhere else."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from statsmodels.tools.numdiff import approx_fprime, approx_hess

from hjastats.data.cells import Cells, collapse
from hjastats.errors import ComparisonError, IdentificationError
from hjastats.model.design import Design
from hjastats.model.generalised import SCALED, SHIFTED
from hjastats.model.response import Derivatives, draw_outcomes, expected_outcome, typical
from hjastats.model.responses import ADJACENT, BINARY, DAVIDSON, ORDINAL, RESPONSES
from hjastats.model.structures import LowRank, Pooled
from hjastats.model.terms import Term, TermKind, Terms
from hjastats.solve.integrands import curvatures_of
from hjastats.solve.search import no_terms, search

# Central first and second differences of sums of a few terms of order one to ten.
FIRST, SECOND = 1e-6, 1e-4


class Threshold:
    """A win, a draw or a loss: a verdict is given where the log-odds are clearer than a threshold, cumulative logits.

    Unlike Davidson's its own predictor is not natural, and must be positive.
    """

    name = "threshold"
    is_natural = False
    verdicts = {"first": 1.0, "draw": 0.5, "second": 0.0}  # noqa: RUF012
    parameters = (TermKind(name="threshold", label="thresholds", title="threshold", moves=1, null=None, absent=0.0),)

    def check(self, outcome):
        assert np.isin(outcome, [0.0, 0.5, 1.0]).all()

    def terms(self, scope, judge_index, outcome, n_judges):
        return [Term("threshold", scope, self.parameters[0])]

    def counts(self, outcome):
        return (outcome == 0.5)[:, None] * 1.0

    def derivatives(self, eta, own, n, y, counts):
        theta, draws = own[..., 0, :], counts[..., 0]
        wins, losses = y - 0.5 * draws, n - y - 0.5 * draws
        is_possible = (theta > 0).all(axis=-1)
        theta = np.maximum(theta, 1e-3)
        win, loss = expit(eta - theta), expit(-eta - theta)
        loglike = self.loglike(eta, theta[..., None, :], n, y, counts)
        first, second = (wins + draws) * win * (1.0 - win), (losses + draws) * loss * (1.0 - loss)
        between = 2.0 / np.expm1(2.0 * theta)
        return Derivatives(
            value=np.where(is_possible, -loglike.sum(axis=-1), np.inf)[()],
            slope=losses * (1.0 - loss) - wins * (1.0 - win) - draws * (loss - win),
            curvature=first + second,
            eta=eta,
            own_slope=(wins * (1.0 - win) + losses * (1.0 - loss) - draws * (between + win + loss))[..., None, :],
            cross=(second - first)[..., None, :],
            own_curvature=(first + second + draws * between * (between + 2.0))[..., None, None, :],
            own=own,
        )

    def loglike(self, eta, own, n, y, counts):
        theta, draws = own[..., 0, :], counts[..., 0]
        within = np.log(-np.expm1(-2.0 * theta)) + log_expit(theta + eta) + log_expit(theta - eta)
        decided = (y - 0.5 * draws) * log_expit(eta - theta) + (n - y - 0.5 * draws) * log_expit(-eta - theta)
        return decided + draws * within

    def even_odds(self, n):
        nothing = np.zeros(len(n))
        return Derivatives(
            0.0, nothing, n / 2, nothing, nothing[None], nothing[None], (n / 2)[None, None], nothing[None]
        )

    def probabilities(self, eta, own):
        first, second = expit(eta - own[..., 0, :]), expit(-eta - own[..., 0, :])
        return np.stack([first, 1.0 - first - second, second], axis=-2)

    def null_loglike(self, n, counts):
        return DAVIDSON.null_loglike(n, counts)

    def start(self, n, counts):
        decided = 1.0 - counts.sum() / n.sum()
        return np.array([-np.log(decided / (2.0 - decided))])


THRESHOLD = Threshold()


def scale(n_grades):
    """The ordinal response of so many grades at equal steps."""
    return ORDINAL.check(np.linspace(0.0, 1.0, n_grades))


GRADED = [scale(n_grades) for n_grades in (3, 4, 5, 7)]
ADJACENTS = [ADJACENT.check(np.linspace(0.0, 1.0, n_grades)) for n_grades in (3, 4, 5)]


def named(response):
    return f"{response.name}{len(response.verdicts)}"


ALL = pytest.mark.parametrize(
    "response", [BINARY, DAVIDSON, SCALED, SHIFTED, THRESHOLD, *GRADED, *ADJACENTS], ids=named
)
OURS = pytest.mark.parametrize("response", [BINARY, DAVIDSON, *GRADED, *ADJACENTS], ids=named)
NATURAL = pytest.mark.parametrize("response", [BINARY, DAVIDSON], ids=named)
ORDINALS = pytest.mark.parametrize("response", GRADED, ids=named)
SCALES = pytest.mark.parametrize("response", [*GRADED, *ADJACENTS], ids=named)


def own_at(response, lowest, n_cells):
    """Own predictors of cells, equal and rising from the lowest; None if there are none."""
    p = len(response.parameters)
    return np.repeat(lowest + 0.7 * np.arange(p)[:, None], n_cells, axis=1) if p else None


def cells_of(response, seed=0, n_cells=5, reach=1.5):
    """Predictors and counts of some cells, with none, one or all of each verdict."""
    rng = np.random.default_rng(seed)
    eta = reach * rng.normal(size=n_cells)
    own = (0.5 + rng.random((len(response.parameters), n_cells))).cumsum(axis=0) if response.parameters else None
    n = rng.integers(4, 9, size=n_cells) * 1.0
    n[:2] = 3.0
    values = np.array(list(response.verdicts.values()))
    share = rng.dirichlet(np.ones(len(values)), size=n_cells)
    share[0] = np.eye(len(values))[0]
    chosen = np.array([rng.multinomial(int(m), p) for m, p in zip(n, share, strict=True)])
    counts = chosen @ response.counts(values)
    return eta, own, n, chosen @ values, counts


@ALL
@pytest.mark.parametrize("seed", range(3))
def test_derivatives_are_those_of_finite_differences_in_all_predictors(response, seed):
    eta, own, n, y, counts = cells_of(response, seed)
    n_cells, n_own = len(eta), len(response.parameters)

    def value(predictors):
        parts = predictors.reshape(1 + n_own, n_cells)
        return response.derivatives(parts[0], parts[1:] if n_own else None, n, y, counts).value

    at = np.concatenate([eta, *([] if own is None else own)])
    here = response.derivatives(eta, own, n, y, counts)
    slopes = [here.slope, *([] if here.own_slope is None else here.own_slope)]
    np.testing.assert_allclose(np.concatenate(slopes), approx_fprime(at, value, centered=True), atol=FIRST)
    # Cells do not depend on each other's predictors.
    hessian = np.zeros((1 + n_own, n_cells, 1 + n_own, n_cells))
    which = np.arange(n_cells)
    hessian[0, which, 0, which] = here.curvature
    for p in range(n_own):
        hessian[0, which, 1 + p, which] = hessian[1 + p, which, 0, which] = here.cross[p]
        for q in range(n_own):
            hessian[1 + p, which, 1 + q, which] = here.own_curvature[p, q]
    np.testing.assert_allclose(hessian.reshape(len(at), len(at)), approx_hess(at, value), atol=SECOND)


INTEGRATED = pytest.mark.parametrize(
    "response",
    [
        BINARY,
        DAVIDSON,
        *(kind.check(np.linspace(0.0, 1.0, points)) for kind in (ADJACENT, ORDINAL) for points in (3, 4, 5)),
    ],
    ids=named,
)


@INTEGRATED
def test_third_derivatives_are_those_of_finite_differences(response):
    eta, own, n, y, counts = cells_of(response, 4)
    p = len(response.parameters)
    at = np.concatenate([eta[None], *([] if own is None else [own])])

    def here(predictors):
        return response.derivatives(predictors[0], predictors[1:] if p else None, n, y, counts)

    step = 1e-5
    for i in range(1 + p):
        moved = step * (np.arange(1 + p) == i)[:, None]
        expected = (curvatures_of(here(at + moved)) - curvatures_of(here(at - moved))) / (2.0 * step)
        found = response.third_derivatives(here(at), n, counts)[i]
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8)


@INTEGRATED
def test_third_derivatives_are_bounded_by_second_ones(response):
    rng = np.random.default_rng(5)
    eta, own, n, y, counts = cells_of(response, 5, 200, reach=8.0)
    here = response.derivatives(eta, own, n, y, counts)
    # Thresholds are the same for all judges: effects move the log-odds alone.
    h = rng.standard_normal((1 if not response.is_natural else 1 + len(response.parameters), 200))
    second = np.einsum("pqr,pr,qr->r", curvatures_of(here)[: len(h), : len(h)], h, h)
    third = response.third_derivatives(here, n, counts)[: len(h), : len(h), : len(h)]
    bound = response.bend * np.sqrt(np.square(h).sum(axis=0)) * second
    assert (np.abs(np.einsum("pqsr,pr,qr,sr->r", third, h, h, h)) <= bound * (1.0 + 1e-9) + 1e-12).all()


def test_thresholds_that_cross_are_worse_the_further_they_do():
    response, one, far = ORDINAL.check(np.linspace(0.0, 1.0, 5)), np.ones(3), np.array([0.5, 0.4, 0.3])
    own, tie = np.stack([0.5 * one, far]), np.full(3, 0.75)
    loglike = response.loglike(0.0 * one, own, one, tie, response.counts(tie))
    assert np.isfinite(loglike).all()
    assert (np.diff(loglike) < -1e6).all()


@ALL
@pytest.mark.parametrize("reach", [1.5, 20.0])
def test_the_likelihoods_of_the_cells_add_up_to_that_of_all(response, reach):
    eta, own, n, y, counts = cells_of(response, 4, 50, reach)
    here = response.derivatives(eta, own, n, y, counts)
    each = response.loglike(eta, own, n, y, counts)
    assert each.shape == (50,)
    assert each.sum() == pytest.approx(-here.value, rel=1e-10)
    np.testing.assert_array_equal(here.eta, eta)


@ALL
def test_likelihoods_are_counts_times_log_probabilities(response):
    eta, own, *_ = cells_of(response, 5, 12)
    probabilities = response.probabilities(eta, own)
    assert probabilities.shape == (len(response.verdicts), 12)
    assert (probabilities > 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=0), 1.0, rtol=1e-14)
    for p, outcome in zip(probabilities, response.verdicts.values(), strict=True):
        verdict = np.full(12, outcome)
        each = response.loglike(eta, own, np.ones(12), verdict, response.counts(verdict))
        np.testing.assert_allclose(each, np.log(p), rtol=1e-10)


@OURS
def test_probabilities_are_exact_far_out(response):
    eta = np.array([-900.0, -60.0, 0.0, 60.0, 900.0])
    own = own_at(response, 0.4, 5)
    probabilities = response.probabilities(eta, own)
    np.testing.assert_allclose(probabilities.sum(axis=0), 1.0, rtol=1e-14)
    # Wins and losses change places with the sign, ties stay.
    np.testing.assert_allclose(probabilities[::-1], response.probabilities(-eta, own), rtol=1e-14, atol=1e-15)
    further = 0.0 if response.is_natural else own[-1, 1]
    np.testing.assert_allclose(probabilities[0, 1] / probabilities[-1, 1], np.exp(-60.0 - further), rtol=1e-12)


@ALL
def test_the_odds_of_a_win_against_a_loss_are_those_of_the_scores(response):
    eta, own, *_ = cells_of(response, 6, 12)
    probabilities = response.probabilities(eta, own)
    assert ((probabilities[0] > probabilities[-1]) == (eta > 0)).all()
    if response.is_natural:
        np.testing.assert_allclose(np.log(probabilities[0] / probabilities[-1]), eta, rtol=1e-12)
    value = expected_outcome(response, probabilities)
    np.testing.assert_allclose(
        value, sum(v * p for v, p in zip(response.verdicts.values(), probabilities, strict=True))
    )


@NATURAL
def test_curvatures_are_largest_at_even_odds(response):
    rng = np.random.default_rng(7)
    n_cells = 500
    eta, n = 3.0 * rng.normal(size=n_cells), rng.integers(1, 9, size=n_cells) * 1.0
    own = 3.0 * rng.normal(size=(1, n_cells)) if response.parameters else None
    outcome = np.full(n_cells, 1.0)
    here = response.derivatives(eta, own, n, n * outcome, n[:, None] * response.counts(outcome))
    most = response.even_odds(n)
    assert (here.curvature <= most.curvature * (1 + 1e-12)).all()
    assert (here.curvature > 0).all()
    if response.parameters:
        assert (here.own_curvature[0, 0] <= most.own_curvature[0, 0] * (1 + 1e-12)).all()
        assert not most.cross.any()
    # The bound is reached: by even log-odds without ties, and by ties in half of the comparisons.
    ones = np.ones(1)
    at = np.full((1, 1), -40.0) if response.parameters else None
    even = response.derivatives(0 * ones, at, ones, ones, response.counts(ones))
    np.testing.assert_allclose(even.curvature, response.even_odds(ones).curvature, rtol=1e-12)
    if response.parameters:
        half = response.derivatives(0 * ones, np.full((1, 1), np.log(2.0)), ones, ones, response.counts(ones))
        np.testing.assert_allclose(half.own_curvature, response.even_odds(ones).own_curvature, rtol=1e-12)


@ALL
def test_drawn_verdicts_have_their_probabilities(response):
    n = 40_000
    own = own_at(response, 0.4, n)
    for eta in (-1.2, 0.0, 0.7):
        probabilities = response.probabilities(np.full(n, eta), own)
        drawn = draw_outcomes(response, probabilities, np.random.default_rng(8))
        assert drawn.shape == (n,)
        for value, p in zip(response.verdicts.values(), probabilities[:, 0], strict=True):
            assert np.mean(drawn == value) == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / n))


def test_impossible_verdicts_are_not_drawn_and_certain_ones_always():
    certain = np.repeat([[0.0], [1.0], [0.0]], 1000, axis=1)
    np.testing.assert_array_equal(draw_outcomes(DAVIDSON, certain, np.random.default_rng(0)), 0.5)
    never = np.repeat([[0.5], [0.0], [0.5]], 1000, axis=1)
    assert set(draw_outcomes(DAVIDSON, never, np.random.default_rng(0))) == {0.0, 1.0}


@pytest.mark.parametrize("response", [DAVIDSON, SCALED, SHIFTED, THRESHOLD], ids=lambda response: response.name)
@pytest.mark.parametrize("share", [0.05, 0.4, 0.9])
def test_the_start_gives_the_overall_share_of_ties_among_equals(response, share):
    n = np.array([10.0, 30.0, 60.0])
    counts = 100.0 * share * np.array([[0.5], [0.3], [0.2]])
    own = np.repeat(response.start(n, counts)[:, None], 3, axis=1)
    probabilities = response.probabilities(np.zeros(3), own)
    np.testing.assert_allclose(probabilities[1], share, rtol=1e-12)
    # Coin flips with that share are the null model.
    each = response.loglike(np.zeros(3), own, n, 0.5 * n, counts)
    assert each.sum() == pytest.approx(response.null_loglike(n, counts), rel=1e-12)


def test_wins_and_losses_have_nothing_to_start_and_coins_as_null_model():
    n = np.array([3.0, 4.0])
    assert BINARY.start(n, np.zeros((2, 0))).shape == (0,)
    assert BINARY.null_loglike(n, np.zeros((2, 0))) == pytest.approx(-7 * np.log(2.0))
    assert np.isfinite(DAVIDSON.start(n, np.zeros((2, 1)))).all()
    assert np.isfinite(DAVIDSON.start(n, n[:, None])).all()


def test_what_is_no_verdict_is_refused():
    for outcome in ([0.0, 1.0], [0.0, 0.5, 1.0]):
        DAVIDSON.check(np.array(outcome))
    assert BINARY.check(np.array([0.0, 0.3, 1.0])) is BINARY
    with pytest.raises(ComparisonError, match="soft preferences need ties='half'"):
        DAVIDSON.check(np.array([0.0, 0.3]))


def test_judges_without_ties_have_no_tie_propensity():
    judge, outcome = np.array([0, 0, 1, 1, 2, 2]), np.array([0.5, 1.0, 1.0, 0.0, 0.5, 0.5])
    (term,) = DAVIDSON.terms("judge", judge, outcome, 3)
    assert (term.name, term.scope, term.held, term.moves) == ("tie", "judge", (1,), 1)
    (term,) = DAVIDSON.terms("common", judge, outcome, 3)
    assert term.held == ()
    assert BINARY.terms("judge", judge, outcome, 3) == []
    with pytest.raises(IdentificationError, match="no ties in the data"):
        DAVIDSON.terms("common", judge, np.ones(6), 3)


def test_only_ties_are_counted_beside_wins():
    outcome = np.array([0.0, 0.5, 1.0])
    assert BINARY.counts(outcome).shape == (3, 0)
    np.testing.assert_array_equal(DAVIDSON.counts(outcome), [[0.0], [1.0], [0.0]])
    assert {name: response.name for name, response in RESPONSES.items()} == {
        "half": "half",
        "drop": "half",
        "davidson": "davidson",
        "davidson-scaled": "davidson-scaled",
        "davidson-shifted": "davidson-shifted",
        "ordinal": "ordinal",
        "adjacent": "adjacent",
    }


@ALL
def test_a_stack_of_predictors_has_the_likelihoods_of_each(response):
    eta, own, n, y, counts = cells_of(response, 9, 8)
    others = [(eta + shift, None if own is None else own + shift) for shift in (0.0, 0.3, 0.9)]
    stack = response.derivatives(
        np.stack([e for e, _ in others]), None if own is None else np.stack([o for _, o in others]), n, y, counts
    )
    for k, (e, o) in enumerate(others):
        alone = response.derivatives(e, o, n, y, counts)
        for name, values in alone._asdict().items():
            if values is None:
                assert getattr(stack, name) is None
            else:
                np.testing.assert_allclose(getattr(stack, name)[k], values, rtol=1e-12, atol=1e-12)


def drawn_rows(scope, n=4000):
    """Verdicts of three judges on five items, drawn from cumulative logits."""
    rng = np.random.default_rng(10)
    gamma, mu, theta = np.array([0.7, 1.0, 1.3]), np.array([-1.0, -0.5, 0.1, 0.4, 1.0]), np.array([0.3, 0.6, 0.9])
    judge, first = rng.integers(3, size=n), rng.integers(5, size=n)
    second = (first + rng.integers(1, 5, size=n)) % 5
    eta = gamma[judge] * (mu[first] - mu[second])
    threshold = theta[judge] if scope == "judge" else np.full(n, 0.6)
    noisy = eta + rng.logistic(size=n)
    outcome = np.where(noisy > threshold, 1.0, np.where(noisy < -threshold, 0.0, 0.5))
    return judge, first, second, outcome


def independent_fit(judge, first, second, outcome, scope, *, pooled):
    """Log-likelihood, scores and thresholds from a general-purpose optimiser and the definition of cumulative logits."""

    def parts(x):
        mu, gamma = np.append(x[:4], -x[:4].sum()), np.ones(3)
        if not pooled:
            gamma = np.append(x[4:6], 3.0 - x[4:6].sum())
        theta = np.exp(x[-3:]) if scope == "judge" else np.full(3, np.exp(x[-1]))
        return gamma[:, None] * mu, theta

    def loss(x):
        scores, theta = parts(x)
        eta, limit = scores[judge, first] - scores[judge, second], theta[judge]
        lower = np.select([outcome == 1.0, outcome == 0.5], [limit, -limit], -np.inf)
        upper = np.select([outcome == 1.0, outcome == 0.5], [np.inf, limit], -limit)
        chance = stats.logistic.cdf(upper - eta) - stats.logistic.cdf(lower - eta)
        return -np.log(np.maximum(chance, 1e-300)).sum()

    start = np.concatenate([np.zeros(4), np.ones(0 if pooled else 2), np.zeros(3 if scope == "judge" else 1)])
    if not pooled:
        start[:4] = [-1.0, -0.5, 0.0, 0.5]
    found = minimize(loss, start, method="BFGS", options={"gtol": 1e-4})
    return found.fun, *parts(found.x)


@pytest.mark.parametrize("scope", ["common", "judge"])
@pytest.mark.parametrize("structure", [Pooled(), LowRank(0)], ids=["pooled", "judges"])
def test_a_response_declared_in_a_test_is_fitted_like_any_other(structure, scope):
    judge, first, second, outcome = drawn_rows(scope)
    (term,) = THRESHOLD.terms(scope, judge, outcome, 3)
    rows = Cells(judge, first, second, np.ones(len(judge)), outcome, 3, 5, counts=THRESHOLD.counts(outcome))
    ones, none = np.ones((len(judge), 1)), np.zeros((len(judge), 0))
    columns = {"judge_terms": ones, "shared_terms": none} if scope == "judge" else {"shared_terms": ones}
    terms = Terms(own=(term,)) if scope == "judge" else Terms(shared=(term,))
    design = collapse(Design.of(replace(rows, **columns), terms, THRESHOLD))
    start = no_terms(design, np.zeros((3, 5)))
    assert np.concatenate([start.judge.ravel(), start.shared]).tolist() == [
        *np.repeat(THRESHOLD.start(design.n, design.counts), 3 if scope == "judge" else 1)
    ]
    best = search(design, structure).best
    assert best.converged
    value, scores, theta = independent_fit(judge, first, second, outcome, scope, pooled=isinstance(structure, Pooled))
    assert best.value == pytest.approx(value, abs=1e-5)
    assert best.value <= value + 1e-8
    np.testing.assert_allclose(best.at.scores, scores, atol=1e-3)
    found = best.at.judge[:, 0] if scope == "judge" else np.full(3, best.at.shared[0])
    np.testing.assert_allclose(found, theta, atol=1e-3)


@ALL
def test_typical_curvatures_are_those_of_many_draws(response):
    rng = np.random.default_rng(8)
    n, eta = np.full(4, 50.0), np.array([-1.0, 0.0, 0.7, 2.0])
    own = own_at(response, 0.6, 4)
    probabilities = response.probabilities(eta, own)
    outcomes = np.array(list(response.verdicts.values()))
    drawn = []
    for _ in range(400):
        numbers = np.array([rng.multinomial(50, p) for p in probabilities.T])
        counts = numbers @ response.counts(outcomes)
        drawn.append(response.derivatives(eta, own, n, numbers @ outcomes, counts))
    expected = typical(response, drawn[0], n)
    for name in ("curvature", "cross", "own_curvature"):
        if getattr(expected, name) is not None:
            values = np.array([getattr(one, name) for one in drawn])
            error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
            assert (np.abs(values.mean(axis=0) - getattr(expected, name)) <= 4.5 * error + 1e-9).all()


# Grades


@pytest.mark.parametrize("response", [DAVIDSON, *GRADED, *ADJACENTS], ids=named)
def test_likelihoods_of_cells_take_stacks_with_predictors_first(response):
    eta, own, n, y, counts = cells_of(response, 9, 8)
    stack = response.loglike(np.stack([eta, eta + 0.5]), np.stack([own, own + 0.1], axis=1), n, y, counts)
    np.testing.assert_allclose(stack[0], response.loglike(eta, own, n, y, counts), rtol=1e-12)
    np.testing.assert_allclose(stack[1], response.loglike(eta + 0.5, own + 0.1, n, y, counts), rtol=1e-12)


def test_grades_are_the_coarsest_scale_of_equal_steps():
    for n_grades in (3, 4, 5, 7, 11, 21):
        response = scale(n_grades)
        np.testing.assert_allclose(response.grades, np.linspace(1.0, 0.0, n_grades), atol=1e-15)
        assert len(response.parameters) == (n_grades - 1) // 2
        assert response.never == []
    # One of a grade and its mirror image is enough for both.
    assert ORDINAL.check(np.array([0.25, 0.5, 1.0])).grades == (1.0, 0.75, 0.5, 0.25, 0.0)
    # Thirds need not be exact, as long as nothing else is meant.
    assert len(ORDINAL.check(np.array([0.0, 0.3333333, 2 / 3, 1.0])).grades) == 4
    assert list(scale(5).verdicts) == ["first", "0.75", "tie", "0.25", "second"]


def test_grades_that_nobody_gave_are_merged_and_named():
    no_middle = ORDINAL.check(np.array([0.0, 0.25, 0.75, 1.0]))
    assert no_middle.grades == (1.0, 0.75, 0.25, 0.0)
    assert no_middle.never == [0.5]
    no_ends = ORDINAL.check(np.array([0.25, 0.5, 0.75]))
    assert no_ends.grades == (0.75, 0.5, 0.25)
    assert no_ends.never == [1.0, 0.0]
    # Wins and losses are two grades of any scale.
    assert ORDINAL.check(np.array([0.0, 1.0])) is BINARY
    assert ORDINAL.check(np.array([1.0])) is BINARY
    for outcome in ([0.25, 0.75], [0.5]):
        with pytest.raises(ComparisonError, match="needs verdicts that differ in strength"):
            ORDINAL.check(np.array(outcome))


@pytest.mark.parametrize("outcome", [[0.0, 0.33, 0.67, 1.0], [0.0, 0.3, 0.51, 1.0], np.linspace(0, 1, 40)])
def test_outcomes_on_no_scale_are_refused_with_what_to_do(outcome):
    with pytest.raises(ComparisonError, match=r"equal steps from 0 to 1, at most 21.*different outcomes.*ties='half'"):
        ORDINAL.check(np.array(outcome))


@SCALES
def test_a_verdict_read_from_the_other_side_is_its_mirror_image(response):
    eta, own, *_ = cells_of(response, 3, 30)
    np.testing.assert_allclose(
        response.probabilities(eta, own), response.probabilities(-eta, own)[::-1], rtol=1e-12, atol=1e-300
    )


@ORDINALS
def test_grades_have_the_probabilities_of_cumulative_logits(response):
    eta, own, *_ = cells_of(response, 2, 9)
    middle = [] if len(response.grades) % 2 else [np.zeros_like(eta)]
    cuts = np.array([*own[::-1], *middle, *-own])
    above = np.vstack([np.zeros_like(eta), stats.logistic.sf(cuts - eta), np.ones_like(eta)])
    np.testing.assert_allclose(response.probabilities(eta, own), np.diff(above, axis=0), rtol=1e-10)


def test_three_grades_are_the_response_declared_above():
    eta, own, n, y, counts = cells_of(THRESHOLD, 1, 20)
    three, grades = scale(3), np.column_stack([y - 0.5 * counts[:, 0], counts[:, 0], n - y - 0.5 * counts[:, 0]])
    here, there = three.derivatives(eta, own, n, y, grades), THRESHOLD.derivatives(eta, own, n, y, counts)
    for name, values in there._asdict().items():
        np.testing.assert_allclose(getattr(here, name), values, rtol=1e-10, atol=1e-12)


def test_thresholds_out_of_order_are_impossible():
    response = scale(5)
    one, counts = np.ones(1), response.counts(np.array([0.75]))
    for own in ([[-0.1], [1.0]], [[1.0], [0.9]]):
        assert response.derivatives(0 * one, np.array(own), one, 0.75 * one, counts).value == np.inf


def test_thresholds_around_grades_that_a_judge_never_gave_are_no_parameters():
    response = scale(7)
    given = {0: [0, 1 / 6, 1 / 3, 0.5, 1], 1: [0.5, 1 / 3], 2: [0, 1], 3: [1 / 6, 0.5], 4: [1 / 3, 1]}
    judge = np.concatenate([np.full(len(some), k) for k, some in given.items()])
    outcome = np.concatenate([np.array(some, dtype=float) for some in given.values()])
    terms = response.terms("judge", judge, outcome, 5)
    held = [dict(zip(term.held, term.held_at, strict=True)) for term in terms]
    assert held == [
        {2: -50.0, 4: -50.0},
        # The first judge gave all, the second nothing beyond the first pair, the fourth nothing in it, nor beyond the second.
        {1: 50.0, 2: -50.0, 3: -50.0},
        {1: -50.0, 2: -50.0, 3: 50.0, 4: -50.0},
    ]
    assert all(term.held == () for term in response.terms("common", judge, outcome, 5))


@pytest.mark.parametrize("merged", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2)])
def test_merged_thresholds_have_the_likelihood_of_fewer_grades(merged):
    whole = scale(7)
    rng = np.random.default_rng(3)
    zones = np.array([[0.5, 0.5], [2 / 3, 1 / 3], [5 / 6, 1 / 6], [1.0, 0.0]])
    outcome = rng.permuted(np.repeat(np.delete(zones, merged, axis=0).ravel(), 8))
    eta, n, some = rng.normal(size=len(outcome)), np.ones(len(outcome)), [i for i in range(3) if i not in merged]
    free = np.cumsum(0.4 + rng.random((len(some), 1)), axis=0) + np.zeros(len(outcome))
    own = np.full((3, len(outcome)), -50.0)
    own[some] = free
    few = ORDINAL.check(outcome)
    assert len(few.parameters) == len(some)
    here = whole.derivatives(eta, own, n, outcome, whole.counts(outcome))
    there = few.derivatives(eta, free if some else None, n, outcome, few.counts(outcome))
    assert here.value == pytest.approx(there.value, rel=1e-12)
    np.testing.assert_allclose(here.slope, there.slope, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(here.curvature, there.curvature, rtol=1e-10)
    np.testing.assert_allclose(here.own_slope[some], there.own_slope, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(here.cross[some], there.cross, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(here.own_curvature[np.ix_(some, some)], there.own_curvature, rtol=1e-9, atol=1e-10)
    assert not here.own_slope[list(merged)].any()
    assert not here.own_curvature[list(merged)].any()


@SCALES
def test_own_parameters_start_at_the_overall_shares_of_grades(response):
    seen = np.arange(1.0, 1.0 + len(response.grades))
    n, counts = np.array([seen.sum()]), seen[None]
    own = response.start(n, counts)[:, None]
    probabilities = response.probabilities(np.zeros(1), own)
    np.testing.assert_allclose(probabilities[:, 0], 0.5 * (seen + seen[::-1]) / seen.sum(), rtol=1e-12)
    each = response.loglike(np.zeros(1), own, n, 0.5 * n, counts)
    assert each.sum() == pytest.approx(response.null_loglike(n, counts), rel=1e-12)


def test_three_adjacent_grades_are_davidsons_model():
    eta, own, n, y, ties = cells_of(DAVIDSON, 1, 20)
    three, grades = ADJACENTS[0], np.column_stack([y - 0.5 * ties[:, 0], ties[:, 0], n - y - 0.5 * ties[:, 0]])
    here, there = three.derivatives(eta, own, n, y, grades), DAVIDSON.derivatives(eta, own, n, y, ties)
    for name, values in there._asdict().items():
        np.testing.assert_allclose(getattr(here, name), values, rtol=1e-10, atol=1e-12)


def test_adjacent_grades_are_at_odds_that_rise_by_equal_parts():
    for response in ADJACENTS:
        eta, own, *_ = cells_of(response, 6, 12)
        logits = np.log(response.probabilities(eta, own))
        rise = np.diff(logits, axis=0) - np.diff(np.log(response.probabilities(0 * eta, own)), axis=0)
        np.testing.assert_allclose(rise, np.tile(-eta / (len(response.grades) - 1), (len(rise), 1)), rtol=1e-10)


def test_propensities_of_grades_that_a_judge_never_gave_are_no_parameters():
    judge, outcome = np.array([0, 0, 0, 1, 1]), np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    five = ADJACENTS[2]
    assert [term.held for term in five.terms("judge", judge, outcome, 2)] == [(1,), ()]
    assert [term.held for term in five.terms("common", judge, outcome, 2)] == [(), ()]
