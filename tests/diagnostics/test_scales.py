"""Tests of a scale of grades: against differences, R's free thresholds, drawn departures, and rows that hang together."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logsumexp
from scipy.stats import binom, chi2

import hjastats as hja
from hjastats.diagnostics.scales import scale_tests
from hjastats.errors import OptionError
from hjastats.model.responses import ADJACENT, ORDINAL

MU, GAMMA = np.array([-1.0, -0.4, 0.0, 0.5, 0.9]), np.array([0.7, 0.9, 1.1, 1.3])
# Central differences of sums of logarithms of order one.
STEP, DIFFERENCES = 1e-5, 1e-8


def drawn(seed, n=1500, side=0.0, steep=1.0, apart=0.0):
    """Five grades: the outer cuts of both sides may be shifted, or steeper; judges may be apart in all thresholds."""
    rng = np.random.default_rng(seed)
    judge, first = rng.integers(4, size=n), rng.integers(5, size=n)
    second = (first + rng.integers(1, 5, size=n)) % 5
    eta = 0.2 + GAMMA[judge] * (MU[first] - MU[second])
    inner, outer = 0.5 + apart * judge, 1.8 + apart * judge
    cuts = np.column_stack([side - outer, -inner, inner, side + outer])
    above = expit(np.array([steep, 1.0, 1.0, steep]) * eta[:, None] - cuts)
    grade = (rng.random(n)[:, None] < above).sum(axis=1)
    names = [[f"{kind}{k}" for k in codes] for kind, codes in (("j", judge), ("i", first), ("i", second))]
    return hja.Comparisons.from_arrays(*names, grade / 4)


def test_the_p_value_of_the_clearest_of_several_tests_says_what_it_is_adjusted_for():
    result = fitted(drawn(3))
    test = scale_tests(result.fit, result.model.observations)["judges"]
    assert test.n_tests == 2
    assert test.told == f"chi2({test.df}) = {test.statistic:.1f} in one of 2 tests, adjusted p = {test.p_value:.3g}"
    assert test.p_value == pytest.approx(2 * chi2.sf(test.statistic, test.df))
    alone = fitted(drawn(3, n=300).with_outcome(np.random.default_rng(0).choice([0.0, 0.5, 1.0], 300)), "davidson")
    assert "adjusted" not in scale_tests(alone.fit, alone.model.observations)["judges"].told


def fitted(data, ties="ordinal"):
    return hja.JAModel.from_comparisons(data, ties=ties, position="common").fit()


@pytest.mark.parametrize("n_grades", [4, 5, 7])
def test_departures_of_cumulative_logits_are_derivatives_by_cuts_and_their_mirror_images(n_grades):
    response, rng = ORDINAL.check(np.linspace(0, 1, n_grades)), np.random.default_rng(0)
    eta, own = rng.normal(size=6), np.cumsum(0.3 + rng.random((len(response.parameters), 6)), axis=0)
    middle = [] if n_grades % 2 else [0 * eta]
    cuts = np.array([*own[::-1], *middle, *-own])

    def logs(push):
        above = expit(eta - cuts + push)
        return np.log(np.diff(np.vstack([0 * eta, above, 1 + 0 * eta]), axis=0))

    found, last = response.departures(eta, own), n_grades - 2
    pairs = [(last // 2 - i, last - last // 2 + i) for i in range(last // 2 + 1)]
    assert found["sides"].shape == (len(pairs), n_grades, 6)
    for m, pair in enumerate(pairs):
        for name, by in (("sides", 1 + 0 * eta), ("steps", eta)):
            push = np.zeros((n_grades - 1, 6))
            push[list(pair)] = by
            slope = (logs(STEP * push) - logs(-STEP * push)) / (2 * STEP)
            np.testing.assert_allclose(found[name][m], slope, atol=DIFFERENCES)


def test_departures_of_adjacent_categories_are_derivatives_by_propensities_of_one_side():
    response, rng = ADJACENT.check(np.linspace(0, 1, 5)), np.random.default_rng(1)
    eta, own = rng.normal(size=6), rng.normal(size=(2, 6))
    weights = np.linspace(0.5, -0.5, 5)[:, None] * eta + np.array([0 * eta, own[1], own[0], own[1], 0 * eta])

    def logs(push):
        return weights + push - logsumexp(weights + push, axis=0)

    found = response.departures(eta, own)
    for m, (high, low) in enumerate(((1, 3), (0, 4))):
        for name, by in (("sides", 1 + 0 * eta), ("steps", eta)):
            push = np.zeros((5, 6))
            push[high], push[low] = by, -by
            slope = (logs(STEP * push) - logs(-STEP * push)) / (2 * STEP)
            np.testing.assert_allclose(found[name][m], slope, atol=DIFFERENCES)


def test_the_test_of_sides_is_near_the_likelihood_ratio_of_free_thresholds_in_r(shared_data, oracles):
    oracle = json.loads((oracles / "ordinal_gles.json").read_text())
    ratio = 2 * (oracle["flexible"]["logLik"] - oracle["symmetric"]["logLik"])
    table = pd.read_csv(shared_data / "gles_graded" / "verdicts.csv").dropna()
    data = hja.read_comparisons(table, outcome="response", codes={grade: (5 - grade) / 4 for grade in range(1, 6)})
    result = hja.BTLModel.from_comparisons(data, ties="ordinal", position="common").fit()
    found = result.scale_tests()
    assert found.loc["sides", "df"] == oracle["flexible"]["df"] - oracle["symmetric"]["df"]
    # Score and likelihood ratio differ by a term of third order.
    assert found.loc["sides", "statistic"] == pytest.approx(ratio, rel=0.01)
    # More judges than are tested one against the other.
    assert "judges" not in found.index


@pytest.mark.parametrize("ties", ["ordinal", "adjacent"])
@pytest.mark.parametrize(
    ("name", "departure"), [("sides", {"side": 0.4}), ("steps", {"steep": 0.6}), ("judges", {"apart": 0.25})]
)
def test_what_departs_from_the_scale_is_found_and_told(ties, name, departure):
    result = fitted(drawn(1, 2500, **departure), ties)
    table = result.scale_tests()
    assert table["p_value"].idxmin() == name
    assert table.loc[name, "p_value"] < 1e-4
    topic = "tie rates" if name == "judges" else "scale"
    finding = next(f for f in result.findings if f.topic == topic)
    assert finding.is_warning
    if name != "judges":
        assert table.loc[name, "null"] in finding.text


def test_a_scale_that_holds_is_called_so():
    result = fitted(drawn(1, 2500))
    finding = next(f for f in result.findings if f.topic == "scale")
    assert not finding.is_warning
    assert finding.text.startswith("Nothing speaks against the scale")
    with pytest.raises(OptionError, match="verdicts with ties='half' have none: use ties='ordinal'"):
        hja.JAModel.from_comparisons(drawn(1)).fit().scale_tests()


@pytest.mark.slow
def test_scale_tests_keep_their_size():
    n = 120
    p_values = [
        [test.p_value for test in scale_tests(result.fit, result.model.observations).values()]
        for result in (fitted(drawn(1000 + seed, 900)) for seed in range(n))
    ]
    # Rejections at 10% of so many independent panels: within bounds that chance leaves in one of a thousand, three tests.
    low, high = binom.ppf([0.0005, 0.9995], n, 0.1)
    rejected = np.sum(np.array(p_values) < 0.1, axis=0)
    assert ((low <= rejected) & (rejected <= high)).all(), rejected


def test_verdicts_that_hang_together_are_counted_once():
    data = drawn(5, 1000, steep=0.75)
    times = np.repeat(np.arange(data.n_rows), 3)
    frame = data.to_frame().iloc[times].assign(question_id=times)
    again = hja.read_comparisons(frame, codes="unit")
    once, thrice = (fitted(some).scale_tests() for some in (data, again))
    # A robust variance in place of the model's.
    assert thrice.loc["steps", "statistic"] == pytest.approx(once.loc["steps", "statistic"], rel=0.25)
    assert thrice.loc["sides", "df"] == once.loc["sides", "df"]


def test_tables_without_an_order_have_no_sides():
    data = drawn(6)
    frame = data.to_frame()
    swap = frame["outcome"] < 0.5
    winner, loser = (np.where(swap, frame[a], frame[b]) for a, b in (("second", "first"), ("first", "second")))
    facts = hja.Comparisons.from_arrays(frame["judge"], winner, loser, np.maximum(data.outcome, 1 - data.outcome))
    tests = hja.JAModel.from_comparisons(facts, ties="ordinal").fit().scale_tests()
    assert list(tests.index) == ["judges", "steps"]


def test_strength_that_was_set_aside_when_reading_is_told():
    table = pd.DataFrame(
        {
            "judge": "j",
            "model_a": ["a", "b", "a", "b"] * 10,
            "model_b": ["b", "c", "c", "a"] * 10,
            "winner": ["A>>B", "A>B", "B>A", "A=B"] * 10,
        }
    )
    coarse = hja.read_comparisons(table, codes={"A>>B": "first", "A>B": "first", "B>A": "second"})
    assert coarse.collapsed == ("A>>B", "A>B")
    result = hja.BTLModel.from_comparisons(coarse).fit()
    finding = next(f for f in result.findings if f.topic == "strength")
    assert "'A>>B', 'A>B'" in finding.text
    assert hja.load_results(result.to_json()).model.comparisons.collapsed == coarse.collapsed
    # Its advice is followed.
    fine = hja.read_comparisons(table)
    assert fine.collapsed == ()
    assert "strength" not in {f.topic for f in hja.BTLModel.from_comparisons(fine, ties="ordinal").fit().findings}
    numbers = table.assign(winner=[1, 2, 4, 5] * 10)
    assert hja.read_comparisons(numbers, codes={1: "first", 2: "first", 4: "second", 5: "tie"}).collapsed == ("1", "2")
    assert hja.read_comparisons(numbers, codes="1..5").collapsed == ()
