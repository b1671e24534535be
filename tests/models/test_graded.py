"""Graded verdicts in the models: fits, parameters, predictions, files, findings."""

import json

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

import hjastats as hja
from hjastats.errors import ComparisonError, ContrastError, OptionError

ITEMS, JUDGES = 5, 4
MU = np.array([-1.0, -0.4, 0.0, 0.5, 0.9])
GAMMA = np.array([0.7, 0.9, 1.1, 1.3])
THRESHOLDS = np.array([[0.3, 1.8], [0.5, 1.5], [0.8, 2.5], [0.2, 2.0]])
# A general-purpose optimiser without derivatives of ours, on sums of thousands of terms.
OPTIMISER = 1e-3


def graded(n=3000, seed=0, n_points=5, position=0.0):
    """Verdicts of judges with thresholds of their own."""
    rng = np.random.default_rng(seed)
    judge, first = rng.integers(JUDGES, size=n), rng.integers(ITEMS, size=n)
    second = (first + rng.integers(1, ITEMS, size=n)) % ITEMS
    noisy = position + GAMMA[judge] * (MU[first] - MU[second]) + rng.logistic(size=n)
    steps = (np.abs(noisy)[:, None] > THRESHOLDS[judge]).sum(axis=1) * np.sign(noisy)
    return made(judge, first, second, 0.5 + steps / (n_points - 1))


def made(judge, first, second, outcome):
    names = [[f"{kind}{k}" for k in index] for kind, index in (("j", judge), ("i", first), ("i", second))]
    return hja.Comparisons.from_arrays(*names, outcome)


@pytest.fixture(scope="module")
def panel():
    return graded()


@pytest.fixture(scope="module")
def own(panel):
    return hja.JAModel.from_comparisons(panel, ties="ordinal", tie="judge").fit()


@pytest.mark.parametrize("tie", ["common", "judge"])
def test_the_fit_is_that_of_the_definition_and_a_general_optimiser(panel, tie):
    n_sets = JUDGES if tie == "judge" else 1

    def loss(x):
        mu, gamma = np.append(x[:4], -x[:4].sum()), np.append(x[4:7], JUDGES - x[4:7].sum())
        own = np.cumsum(np.exp(x[7:].reshape(n_sets, 2)), axis=1)[panel.judge_index if tie == "judge" else 0]
        own = np.broadcast_to(own, (panel.n_rows, 2))
        eta = gamma[panel.judge_index] * (mu[panel.first_index] - mu[panel.second_index])
        cuts = np.column_stack([np.full(len(eta), -np.inf), -own[:, ::-1], own, np.full(len(eta), np.inf)])
        grade = np.round(4 * panel.outcome).astype(int)
        rows = np.arange(len(eta))
        upper, lower = (stats.logistic.cdf(cuts[rows, grade + k] - eta) for k in (1, 0))
        return -np.log(upper - lower).sum()

    start = np.concatenate([MU[:4], np.ones(3), np.zeros(2 * n_sets)])
    found = minimize(loss, start, method="BFGS", options={"gtol": 1e-4})
    result = hja.JAModel.from_comparisons(panel, ties="ordinal", tie=tie).fit()
    assert result.converged
    assert -result.llf == pytest.approx(found.fun, abs=1e-5)
    thresholds = np.cumsum(np.exp(found.x[7:].reshape(n_sets, 2)), axis=1)
    np.testing.assert_allclose(result.params.filter(like="threshold"), thresholds.T.ravel(), atol=OPTIMISER)
    np.testing.assert_allclose(result.params.filter(like="mu").iloc[:4], found.x[:4], atol=OPTIMISER)


@pytest.mark.parametrize("tie", ["common", "judge"])
@pytest.mark.parametrize("cls", [hja.BTLModel, hja.JAModel, hja.HJAModel, hja.JudgewiseBTLModel])
def test_reading_every_verdict_from_the_other_side_changes_nothing(panel, cls, tie):
    other = made_again(panel, 1.0 - panel.outcome, swap=True)
    here, there = (
        cls.from_comparisons(data, ties="ordinal", tie=tie, position="common").fit() for data in (panel, other)
    )
    assert here.converged
    assert here.llf == pytest.approx(there.llf, rel=1e-12)
    assert here.params["position"] == pytest.approx(-there.params["position"], abs=1e-6)
    np.testing.assert_allclose(here.params.filter(like="threshold"), there.params.filter(like="threshold"), atol=1e-6)


def made_again(data, outcome, *, swap=False):
    sides = (data.second_index, data.first_index) if swap else (data.first_index, data.second_index)
    return made(data.judge_index, *sides, outcome)


def test_the_model_answers_with_derivatives_of_its_likelihood(own):
    model, params = own.model, own.params.to_numpy() + 0.05
    step = 1e-6
    slopes = [
        (model.loglike(params + step * e) - model.loglike(params - step * e)) / (2 * step) for e in np.eye(len(params))
    ]
    np.testing.assert_allclose(model.score(params), slopes, atol=1e-4)


def test_two_grades_are_bradley_terry_and_an_empty_middle_is_one_less(panel):
    decided = made_again(panel, np.where(panel.outcome >= 0.5, 1.0, 0.0))
    plain, two = (hja.JAModel.from_comparisons(decided, ties=ties).fit() for ties in ("half", "ordinal"))
    assert two.llf == plain.llf
    assert list(two.params.index) == list(plain.params.index)
    forced = np.where(panel.outcome == 0.5, 0.25, panel.outcome)
    four = hja.JAModel.from_comparisons(made_again(panel, forced), ties="ordinal").fit()
    assert list(four.params.filter(like="threshold").index) == ["threshold1"]
    text = next(finding.text for finding in four.findings if finding.topic == "ties")
    assert "4 grades (1, 0.75, 0.25, 0); 0.5 of the scale, never given, merged with the next." in text


def test_more_grades_than_the_judge_told_apart_tell_nothing_more(panel):
    # The same verdicts on a scale of nine points, of which five were used.
    coarse = hja.BTLModel.from_comparisons(panel, ties="ordinal").fit()
    fine = np.select([panel.outcome == 0.25, panel.outcome == 0.75], [0.375, 0.625], panel.outcome)
    nine = hja.BTLModel.from_comparisons(made_again(panel, fine), ties="ordinal").fit()
    assert nine.llf == pytest.approx(coarse.llf, rel=1e-12)
    np.testing.assert_allclose(nine.params, coarse.params, rtol=1e-8)


def test_judges_that_left_out_grades_have_fewer_thresholds(panel):
    judge, outcome = panel.judge_index, panel.outcome.copy()
    # One never says a tie, one never goes to the ends, one only goes there.
    outcome = np.where((judge == 0) & (outcome == 0.5), 0.75, outcome)
    outcome = np.where(judge == 1, np.clip(outcome, 0.25, 0.75), outcome)
    outcome = np.where(judge == 2, np.where(outcome >= 0.5, 1.0, 0.0), outcome)
    data = made_again(panel, outcome)
    result = hja.JAModel.from_comparisons(data, ties="ordinal", tie="judge").fit()
    assert result.converged
    assert list(result.params.filter(like="threshold").index) == [
        "threshold1[j1]",
        "threshold1[j3]",
        "threshold2[j0]",
        "threshold2[j3]",
    ]
    assert np.isfinite(result.bse).all()
    probabilities = result.predict(judge=["j0", "j1", "j2"], item_a="i0", item_b="i1", which="probs")
    assert (probabilities.to_numpy()[[0, 1, 1, 2, 2, 2], [2, 0, 4, 1, 2, 3]] < 1e-15).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    with pytest.raises(ContrastError, match="'j2' has no threshold1 to ask about"):
        result.contrast("threshold1[j2]")
    assert "fewer parameters: 'j0', 'j1', 'j2'" in next(f.text for f in result.findings if f.topic == "ties")
    again = hja.load_results(result.to_json())
    np.testing.assert_array_equal(again.params, result.params)
    # A judge of two grades is one that wins and losses describe: its likelihood is theirs.
    rows = judge == 2
    share = result.model.loglikeobs(result.params)[rows].sum()
    odds = result.predict(which="linear")[rows]
    binary = stats.bernoulli.logpmf(data.outcome[rows].astype(int), 1 / (1 + np.exp(-odds))).sum()
    assert share == pytest.approx(binary, rel=1e-10)


def test_predictions_are_probabilities_of_grades_and_their_mean(own):
    where = {"judge": "j1", "item_a": "i4", "item_b": "i0"}
    probabilities = own.predict(**where, which="probs").iloc[0]
    assert list(probabilities.index) == ["first", "0.75", "tie", "0.25", "second"]
    worth = np.array([1.0, 0.75, 0.5, 0.25, 0.0])
    assert own.predict(**where)[0] == pytest.approx(probabilities @ worth, rel=1e-12)
    frame = own.get_prediction(**where, which="probs").summary_frame()
    assert (frame["se"] > 0).all()
    # The error of a probability is that of a contrast of the same name, and of finite differences.
    contrast = own.contrast("prob[0.75, j1, i4, i0]").summary_frame().iloc[0]
    assert contrast["std_err"] == pytest.approx(frame["se"].iloc[1], rel=1e-8)
    assert contrast["estimate"] == pytest.approx(probabilities["0.75"], rel=1e-12)
    step, params = 1e-6, own.params.to_numpy()
    slopes = [
        np.subtract(
            *(own.model.predict(params + sign * step * e, **where, which="probs")["0.75"][0] for sign in (1, -1))
        )
        / (2 * step)
        for e in np.eye(len(params))
    ]
    error = np.sqrt(np.array(slopes) @ own.cov_params().to_numpy() @ np.array(slopes))
    assert frame["se"].iloc[1] == pytest.approx(error, rel=1e-5)


def test_thresholds_have_contrasts_tests_and_a_table(panel, own):
    result = hja.JAModel.from_comparisons(panel, ties="ordinal", position="common").fit()
    assert result.contrast("threshold2 - threshold1").estimate[0] == pytest.approx(
        result.params["threshold2"] - result.params["threshold1"]
    )
    table = next(table for table in result.summary().tables if "thresholds" in str(table.title))
    assert [row[0].data for row in table[1:]] == ["threshold1", "threshold2"]
    titles = [str(table.title) for table in own.summary().tables]
    assert sum("threshold" in title for title in titles) == 2
    assert "threshold1" not in result.wald_test_terms().summary_frame().index
    test = own.compare_lr_test(hja.JAModel.from_comparisons(panel, ties="ordinal").fit())
    assert test.df_diff == 2 * (JUDGES - 1)
    assert test.pvalue < 1e-6


def test_soft_codes_on_a_scale_are_told_that_they_may_be_grades(panel):
    def text(data):
        return next(
            finding.text for finding in hja.JAModel.from_comparisons(data).fit().findings if finding.topic == "ties"
        )

    assert "They lie on a scale of 5 points: ties='ordinal' takes them as grades." in text(panel)
    rng = np.random.default_rng(0)
    assert "ordinal" not in text(made_again(panel, rng.random(panel.n_rows)))


def test_findings_tell_when_judges_use_the_scale_differently(panel, own):
    common = hja.JAModel.from_comparisons(panel, ties="ordinal").fit()
    found = next(finding for finding in common.findings if finding.topic == "tie rates")
    assert found.is_warning
    assert found.text.endswith("sensitivities absorb the difference. Fit tie='judge'.")
    assert "tie rates" not in {finding.topic for finding in own.findings}
    drawn = common.model.simulate(common.params, rng=3)
    alike = hja.JAModel.from_comparisons(drawn, ties="ordinal").fit()
    assert not next(finding for finding in alike.findings if finding.topic == "tie rates").is_warning
    assert any("not tested on pairs of items with ties='ordinal'" in finding.text for finding in alike.findings)


def test_mean_squares_of_graded_verdicts_are_about_one():
    data = graded(8000, seed=5)
    cards = hja.JAModel.from_comparisons(data, ties="ordinal", tie="judge").fit().judges.cards()
    # Sums over 2000 verdicts of a judge: three standard errors.
    np.testing.assert_allclose(cards[["infit", "outfit"]], 1.0, atol=0.08)


def test_drawn_verdicts_are_grades_in_their_proportions(own):
    drawn = own.model.simulate(own.params, rng=0)
    assert set(drawn.outcome) == {0.0, 0.25, 0.5, 0.75, 1.0}
    expected = own.predict(which="probs").mean()
    for name, worth in own.model.response.verdicts.items():
        share = np.mean(drawn.outcome == worth)
        assert share == pytest.approx(expected[name], abs=4 * np.sqrt(expected[name] / drawn.n_rows))


def test_files_and_resampling_keep_the_grades(own):
    again = hja.load_results(own.to_json())
    assert again.llf == pytest.approx(own.llf, rel=1e-12)
    np.testing.assert_array_equal(again.params, own.params)
    assert json.loads(own.to_json())["model"]["ties"] == "ordinal"
    assert own.bootstrap(3, rng=0).params.shape == (3, len(own.params))
    assert own.bootstrap(3, kind="rows", rng=0).params.shape == (3, len(own.params))


def test_robust_errors_are_near_those_of_the_model_where_it_holds(own):
    np.testing.assert_allclose(own.with_covariance("HC0").bse / own.bse, 1.0, atol=0.25)


def test_what_is_no_grade_is_refused_with_what_to_do(panel):
    with pytest.raises(ComparisonError, match="needs grades at equal steps from 0 to 1"):
        hja.BTLModel.from_comparisons(made_again(panel, 0.1 + 0.77 * panel.outcome), ties="ordinal")


# Two ways to the same optimum, each to a step of 1e-6 standard errors, the next of which would be its square.
DAVIDSON = 1e-8


@pytest.mark.parametrize("tie", ["common", "judge"])
@pytest.mark.parametrize("cls", [hja.BTLModel, hja.JAModel, hja.HJAModel, hja.JudgewiseBTLModel])
def test_adjacent_categories_of_three_grades_are_davidsons_model(panel, cls, tie):
    three = made_again(panel, np.clip(2 * panel.outcome - 0.5, 0.0, 1.0))
    davidson, adjacent = (
        cls.from_comparisons(three, ties=ties, tie=tie, position="judge").fit() for ties in ("davidson", "adjacent")
    )
    assert adjacent.llf == pytest.approx(davidson.llf, abs=DAVIDSON)
    np.testing.assert_allclose(adjacent.params, davidson.params, atol=DAVIDSON)
    np.testing.assert_allclose(adjacent.bse, davidson.bse, atol=DAVIDSON)
    assert [name.replace("grade1", "tie") for name in adjacent.params.index] == list(davidson.params.index)


def test_adjacent_categories_of_five_grades_are_fitted_as_any_multinomial(panel):
    result = hja.BTLModel.from_comparisons(panel, ties="adjacent").fit()

    def loss(x):
        mu = np.append(x[:4], -x[:4].sum())
        eta = mu[panel.first_index] - mu[panel.second_index]
        weights = np.linspace(-0.5, 0.5, 5) * eta[:, None] + np.array([0.0, x[5], x[4], x[5], 0.0])
        chosen = weights[np.arange(len(eta)), np.round(4 * panel.outcome).astype(int)]
        return (np.log(np.exp(weights).sum(axis=1)) - chosen).sum()

    found = minimize(loss, np.zeros(6), method="BFGS", options={"gtol": 1e-4})
    assert -result.llf == pytest.approx(found.fun, abs=1e-5)
    np.testing.assert_allclose(result.params[["grade1", "grade2"]], found.x[4:], atol=OPTIMISER)
    np.testing.assert_allclose(result.params.filter(like="mu").iloc[:4], found.x[:4], atol=OPTIMISER)
    assert list(result.predict(judge="j0", item_a="i0", item_b="i1", which="probs")) == list(
        result.model.response.verdicts
    )


def test_grades_pass_the_front_door(panel):
    result = hja.fit(panel, ties="ordinal", tie="judge")
    assert result.model.ties == "ordinal"
    assert "threshold2[j3]" in result.params.index


def test_the_front_door_takes_grades_as_grades_with_thresholds_per_judge_where_these_differ(panel):
    result = hja.fit(panel)
    assert result.choices.loc["ties", ["chosen", "number"]].tolist() == ["ordinal", 5.0]
    assert result.choices.loc["scale", "chosen"] == "judge"
    common = hja.fit(panel, ties="ordinal", tie="common")
    # The number is by how much thresholds per judge lower BIC.
    assert result.choices.loc["scale", "number"] == pytest.approx(common.bic - result.bic, rel=1e-6)
    words = {1.0: "A>>B", 0.75: "A>B", 0.5: "A=B", 0.25: "B>A", 0.0: "B>>A"}
    table = panel.to_frame().assign(outcome=panel.to_frame()["outcome"].map(words))
    assert hja.fit(table).llf == pytest.approx(result.llf, rel=1e-10)
    three = made_again(panel, np.clip(2 * panel.outcome - 0.5, 0.0, 1.0))
    assert hja.fit(three).model.ties in ("half", "davidson")


def missing_some(panel):
    """The verdicts with a judge that never ties, and one that never goes to the ends."""
    outcome = np.where((panel.judge_index == 0) & (panel.outcome == 0.5), 0.75, panel.outcome)
    return made_again(panel, np.where(panel.judge_index == 1, np.clip(outcome, 0.25, 0.75), outcome))


@pytest.mark.parametrize("tie", ["common", "judge"])
def test_large_panels_are_fitted_as_small_ones(panel, set_limits, tie):
    options = {"rank": 1, "ties": "ordinal", "tie": tie, "position": "judge"}
    data = missing_some(panel)
    small = hja.HJAModel.from_comparisons(data, **options).fit()
    set_limits(DENSE_SHARED=3, LARGEST_MATRIX=3, MANY_FREE=3, ENTRIES_AT_ONCE=50)
    large = hja.HJAModel.from_comparisons(data, **options).fit()
    assert large.llf == pytest.approx(small.llf, abs=1e-8)
    np.testing.assert_allclose(large.params, small.params, atol=1e-5)
    for kind in ("threshold1", "threshold2", "mu"):
        np.testing.assert_allclose(
            large.estimates(kind)["std_err"], small.estimates(kind)["std_err"], rtol=1e-4, err_msg=kind
        )


def test_robust_errors_are_sandwiches_of_the_rows_scores(panel):
    data = missing_some(panel)
    model = hja.BTLModel.from_comparisons(data, ties="ordinal", tie="judge")
    result = model.fit(cov_type="HC0")
    names = list(result.params.index)
    # Scores that sum to zero: the last one is minus the sum of the others.
    free = np.eye(len(names))[:, :-1]
    free[-1, [k for k, name in enumerate(names[:-1]) if name.startswith("mu")]] = -1.0
    at, step = result.params.to_numpy(), 1e-5

    def moved(k, by):
        return model.loglikeobs(at + by * free[:, k])

    each = np.array([(moved(k, step) - moved(k, -step)) / (2 * step) for k in range(free.shape[1])])
    slopes = [
        (model.score(at + step * free[:, k]) - model.score(at - step * free[:, k])) @ free / (2 * step)
        for k in range(free.shape[1])
    ]
    bread = np.linalg.inv(-np.array(slopes))
    covariance = free @ bread @ (each @ each.T) @ bread @ free.T
    np.testing.assert_allclose(result.bse, np.sqrt(np.diag(covariance)), rtol=1e-5)


def test_observed_information_is_the_curvature_of_the_likelihood(panel):
    model = hja.BTLModel.from_comparisons(missing_some(panel), ties="ordinal", tie="judge", position="common")
    observed, expected = (model.fit(information=kind) for kind in ("observed", "expected"))
    at, step = observed.params.to_numpy(), 1e-5
    slopes = [(model.score(at + step * e) - model.score(at - step * e)) / (2 * step) for e in np.eye(len(at))]
    np.testing.assert_allclose(model.hessian(at), np.array(slopes), atol=1e-4)
    np.testing.assert_allclose(expected.bse / observed.bse, 1.0, atol=0.05)
    assert not np.allclose(expected.bse, observed.bse, rtol=1e-6)


def test_weights_count_as_so_many_equal_verdicts(panel):
    twice = hja.Comparisons.from_arrays(
        *(panel.to_frame()[role].to_numpy() for role in ("judge", "first", "second")),
        panel.outcome,
        np.full(panel.n_rows, 2.0),
        counts=False,
    )
    one, two = (
        hja.HJAModel.from_comparisons(data, rank=1, ties="ordinal", tie="judge").fit() for data in (panel, twice)
    )
    assert two.llf == pytest.approx(2 * one.llf, rel=1e-10)
    np.testing.assert_allclose(two.params, one.params, atol=1e-6)
    np.testing.assert_allclose(two.bse, one.bse / np.sqrt(2), rtol=1e-5)


def test_a_judge_of_ties_alone_says_nothing(panel):
    outcome = np.where(panel.judge_index == 3, 0.5, panel.outcome)
    data = made_again(panel, outcome)
    result = hja.BTLModel.from_comparisons(data, ties="ordinal", tie="judge").fit()
    assert result.converged
    others = data.subset(data.judge_index != 3)
    without = hja.BTLModel.from_comparisons(others, ties="ordinal", tie="judge").fit()
    assert result.llf == pytest.approx(without.llf, abs=1e-8)
    np.testing.assert_allclose(result.params, without.params, atol=1e-8)


def test_covariates_offsets_and_penalties_stand_beside_thresholds(panel):
    rng = np.random.default_rng(4)
    x, offset = rng.normal(size=panel.n_rows), 0.1 * rng.normal(size=panel.n_rows)
    model = hja.JAModel.from_comparisons(panel, exog=x[:, None], offset=offset, ties="ordinal")
    result = model.fit()
    assert result.converged
    assert np.isfinite(result.llnull)
    assert result.llf > result.llnull
    ridge = model.fit_regularized(1.0)
    assert ridge.llf < result.llf
    assert (np.diff(ridge.params[["threshold1", "threshold2"]]) > 0).all()


def test_judges_as_a_sample_take_adjacent_categories(panel):
    three = made_again(panel, np.clip(2 * panel.outcome - 0.5, 0.0, 1.0))
    davidson, adjacent = (
        hja.PopulationHJAModel.from_comparisons(three, rank=0, ties=ties).fit() for ties in ("davidson", "adjacent")
    )
    assert adjacent.llf == pytest.approx(davidson.llf, abs=DAVIDSON)
    np.testing.assert_allclose(adjacent.params, davidson.params, atol=DAVIDSON)
    assert hja.PopulationHJAModel.from_comparisons(panel, rank=0, ties="adjacent").fit().converged
    with pytest.raises(OptionError, match=r"thresholds of judges could cross.*tie='common'"):
        hja.PopulationHJAModel.from_comparisons(panel, rank=0, ties="ordinal", tie="judge")
    with pytest.raises(OptionError, match="not available with ties='davidson-scaled'"):
        hja.PopulationHJAModel.from_comparisons(three, rank=0, ties="davidson-scaled")
