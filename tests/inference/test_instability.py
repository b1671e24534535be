"""Score-based tests over judges' traits: against psychotree, simulation of the limiting process, and what must hold."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import hjastats as hja
from hjastats.inference.instability import instability_tests, judge_scores, largest_bridge_sf

ORACLE = 1e-6
PERMUTATIONS = 10_000


@pytest.fixture
def bttree(oracles):
    return json.loads((oracles / "r" / "bttree.json").read_text())


@pytest.fixture
def respondents(shared_data):
    def read(name, **options):
        table = pd.read_csv(shared_data / "r" / f"{name}.csv")
        judges = pd.read_csv(shared_data / "r" / f"{name}_judges.csv").set_index("judge")
        names = {"judge": "judge", "first": "first", "second": "second", "outcome": "winner"}
        return hja.read_comparisons(table, **names, **options).with_metadata(judges=judges)

    return read


@pytest.fixture
def crowd():
    rng = np.random.default_rng(2)
    judge = np.repeat(np.arange(80), 12)
    first = rng.integers(0, 4, len(judge))
    second = (first + rng.integers(1, 4, len(judge))) % 4
    labels = np.array([*"abcd"])
    return hja.Comparisons.from_arrays(
        [f"j{k:02d}" for k in judge], labels[first], labels[second], (rng.random(len(judge)) < 0.5).astype(float)
    )


def rows(oracle):
    names = [name for name in oracle[0] if name not in ("stat", "_row")]
    return pd.DataFrame([[line[name] for line in oracle] for name in names], names, ["statistic", "p_adjusted"])


def test_root_tests_of_students_are_those_of_psychotree(respondents, bttree):
    data = respondents("cemschoice")
    expected = rows(bttree["cems"]["tests"]["1"])
    result = hja.BTLModel.from_comparisons(data, ties="davidson").fit()
    found = result.judges.instability(list(expected.index), min_size=5)
    np.testing.assert_allclose(found[expected.columns], expected, atol=ORACLE)


def test_root_tests_of_voters_are_those_of_psychotree(respondents, bttree):
    """psychotree also cuts between voters of the same age, in the order of the file: of ages made different in this order the
    statistic is the same. The p-value is that of permuted ages, which is exact, and smaller than that of Hansen's table, which
    knows neither how many cuts nor how many judges there are.
    """
    data = respondents("germanparties", codes="names")
    expected = rows(bttree["germanparties"]["root_test"])
    traits = data.judge_metadata[list(expected.index)].astype({"education": str})
    result = hja.BTLModel.from_comparisons(data).fit()
    in_order = instability_tests(result.fit, traits.assign(age=traits["age"] + 1e-6 * np.arange(len(traits))), 20)
    np.testing.assert_allclose(in_order["statistic"], expected["statistic"], atol=ORACLE)
    labels = ["gender", "education", "crisis"]
    np.testing.assert_allclose(in_order.loc[labels, "p_adjusted"], expected.loc[labels, "p_adjusted"], atol=ORACLE)
    rng, scores, order = np.random.default_rng(0), judge_scores(result.fit), np.argsort(traits["age"], kind="stable")
    n = len(scores)
    cuts = np.arange(20, n - 19)
    process = (np.cumsum(scores[rng.permutation(order)], axis=0)[cuts - 1] for _ in range(PERMUTATIONS))
    weight = 1.0 / (cuts / n * (1.0 - cuts / n))
    largest = np.array([(np.square(one).sum(axis=1) * weight).max() for one in process])
    permuted = float((largest >= expected.loc["age", "statistic"]).mean())
    table = 1.0 - (1.0 - expected.loc["age", "p_adjusted"]) ** 0.25
    error = np.sqrt(permuted * (1.0 - permuted) / PERMUTATIONS)
    assert in_order.loc["age", "p_value"] == pytest.approx(permuted, abs=3.0 * error)
    assert table > permuted + 3.0 * error
    found = instability_tests(result.fit, traits, 20)
    assert found.loc["age", "statistic"] < in_order.loc["age", "statistic"]
    again = result.judges.instability(traits[::-1], min_size=20)
    np.testing.assert_allclose(again["statistic"], found["statistic"], atol=1e-8)


@pytest.mark.parametrize(("k", "cuts"), [(1, 1), (1, 4), (5, 3), (5, 17), (5, 152), (12, 80)])
def test_p_values_of_the_largest_statistic_are_those_of_simulated_processes(k, cuts):
    shares = np.array([0.4]) if cuts == 1 else np.linspace(0.1, 0.9, cuts)
    rng, n = np.random.default_rng(k), 40_000
    at = 0.5 * np.log(shares / (1.0 - shares))
    walk = rng.standard_normal((n, k))
    largest = np.square(walk).sum(axis=1)
    for step in np.diff(at):
        keep = np.exp(-step)
        walk = keep * walk + np.sqrt(1.0 - keep**2) * rng.standard_normal((n, k))
        np.maximum(largest, np.square(walk).sum(axis=1), out=largest)
    for level in (0.2, 0.05, 0.01):
        p = largest_bridge_sf(float(np.quantile(largest, 1.0 - level)), k, shares)
        # The correction for discrete times is good to some per cent; beside it the Monte-Carlo error.
        assert p == pytest.approx(level, rel=0.07, abs=3.0 * np.sqrt(level / n))


def test_p_values_fall_smoothly_into_the_far_tail():
    shares = np.arange(20, 181) / 200
    for k in (1, 5, 40):
        x = stats.chi2.isf(np.geomspace(0.5, 1e-14, 60), k)
        p = np.log([largest_bridge_sf(float(value), k, shares) for value in x])
        slopes = np.diff(p) / np.diff(x)
        assert (slopes <= 0).all()
        assert (np.abs(np.diff(slopes[20:])) < 0.02).all()


def test_judges_who_are_of_two_minds_have_a_p_value_that_is_a_number():
    """Two camps that always contradict each other: the statistic is as large as it can be."""
    judge = np.repeat(np.arange(40), 20)
    wins = np.where(judge < 20, 1.0, 0.0) * (np.arange(800) % 20 > 0) + (judge >= 20) * (np.arange(800) % 20 == 0)
    data = hja.Comparisons.from_arrays([f"j{k:02d}" for k in judge], ["a"] * 800, ["b"] * 800, wins)
    found = (
        hja.BTLModel.from_comparisons(data).fit().judges.instability(pd.DataFrame({"x": np.arange(40.0)}, data.judges))
    )
    assert found.loc["x", "statistic"] == pytest.approx(40.0)
    assert 0.0 <= found.loc["x", "p_value"] < 1e-12


def test_scores_of_judges_are_uncorrelated_and_sum_to_zero(crowd):
    scores = judge_scores(hja.BTLModel.from_comparisons(crowd).fit().fit)
    np.testing.assert_allclose(scores.T @ scores, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(scores.sum(axis=0), 0.0, atol=1e-6)


def test_the_test_of_two_groups_is_the_change_at_their_border(crowd):
    """A number with two values has one cut: both kinds of test are the same, but for the number of judges."""
    result = hja.BTLModel.from_comparisons(crowd).fit()
    is_late = np.arange(80) >= 30
    table = pd.DataFrame({"number": is_late.astype(float), "label": np.where(is_late, "late", "early")}, crowd.judges)
    found = result.judges.instability(table)
    assert np.ptp(found["statistic"]) < 1e-9
    assert found.loc["number", "p_value"] == pytest.approx(found.loc["label", "p_value"], abs=0.02)


def test_order_scale_and_names_of_a_trait_do_not_matter(crowd):
    result = hja.BTLModel.from_comparisons(crowd).fit()
    rng = np.random.default_rng(0)
    age, school = rng.integers(18, 60, 80), rng.choice([*"xyz"], 80)
    found = result.judges.instability(pd.DataFrame({"age": age, "school": school}, crowd.judges))
    other = pd.DataFrame(
        {"age": np.exp(-age / 10.0), "school": pd.Series(school).map({"x": "c", "y": "a", "z": "b"}).array},
        crowd.judges,
    )
    again = result.judges.instability(other.sample(frac=1.0, random_state=1))
    np.testing.assert_allclose(again["statistic"], found["statistic"])


def test_what_cannot_be_tested_is_empty(crowd):
    result = hja.BTLModel.from_comparisons(crowd).fit()
    table = pd.DataFrame({"same": 1.0, "alike": "yes", "few": [1.0] * 5 + [0.0] * 75}, crowd.judges)
    found = result.judges.instability(table)
    assert found["p_value"].isna().all()


def test_parameters_of_single_judges_have_no_such_test(panel_fit, panel):
    table = pd.DataFrame({"age": range(8)}, panel.judges)
    with pytest.raises(hja.IdentificationError, match="parameters that all judges share: fit BTLModel"):
        panel_fit.judges.instability(table)
    with pytest.raises(hja.IdentificationError, match="8 judges are too few"):
        hja.BTLModel.from_comparisons(panel).fit().judges.instability(table)


def test_missing_and_unknown_traits_get_a_sentence(crowd):
    result = hja.BTLModel.from_comparisons(crowd).fit()
    with pytest.raises(hja.ComparisonError, match="pass a table with a row for each"):
        result.judges.instability()
    gaps = pd.DataFrame({"age": [np.nan] + [1.0] * 79}, crowd.judges)
    with pytest.raises(hja.ComparisonError, match="'age' is missing for some judges"):
        result.judges.instability(gaps)
    known = hja.BTLModel.from_comparisons(crowd.with_metadata(judges=gaps)).fit()
    with pytest.raises(hja.ComparisonError, match="no trait of the judges is called 'sex'"):
        known.judges.instability(["sex"])
