"""Generalised Davidson models: R's on five seasons of football, their special case, and what a user asks of them."""

import json

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.errors import ComparisonError

# Log-likelihoods have converged in both programs; R's gnm stops where estimates still move by a millionth.
LIKELIHOOD, GNM = 1e-9, 2e-6
KEYS = {"davidson": "Davidson", "davidson-scaled": "scaled", "davidson-shifted": "shifted_scaled"}
ANCHOR = "Ars"


@pytest.fixture(scope="module")
def football(shared_data):
    """Teams of each season apart, but for one that is the same in all: nothing else links the seasons, so that it only says where
    the scale of each begins."""
    table = pd.read_csv(shared_data / "r" / "football.csv")
    home, away = (
        np.where(table[side] == ANCHOR, ANCHOR, table[side] + ":" + table["season"]) for side in ("home", "away")
    )
    return hja.Comparisons.from_arrays(["all"] * len(table), home, away, (table["result"].to_numpy() + 1) / 2)


@pytest.mark.parametrize("ties", list(KEYS))
def test_football_has_the_estimates_of_generalised_davidson_models_in_r(football, oracles, ties):
    oracle = json.loads((oracles / "r" / "football_gendavidson.json").read_text())[KEYS[ties]]
    there = {row["term"]: row["est"] for row in oracle["coef"] if row["est"] is not None}
    result = hja.BTLModel.from_comparisons(football, ties=ties, position="common").fit()
    assert result.converged
    assert result.llf == pytest.approx(oracle["multinomial_logLik"], rel=LIKELIHOOD)
    here = result.params
    own = {"home.adv": here["position"], "tie.max": here["tie"] - np.log(2)}
    if "tie_scale" in here:
        own["tie.scale"] = np.log(here["tie_scale"])
    if "tie_mode" in here:
        own["tie.mode"] = here["tie_mode"]
    for name, value in own.items():
        assert value == pytest.approx(there[name], abs=GNM)
    teams = [name for name in there if ":" in name and not name.startswith(ANCHOR)]
    ours = [here[f"mu[{name}]"] - here[f"mu[{ANCHOR}]"] for name in teams]
    theirs = [there[name] - there[f"{ANCHOR}:{name.split(':')[1]}"] for name in teams]
    np.testing.assert_allclose(ours, theirs, atol=GNM)
    assert len(teams) == 95


@pytest.fixture(scope="module")
def panel():
    """Ties of four judges, most likely where the second item is a little better, and rarer away from there than Davidson says."""
    rng = np.random.default_rng(2)
    n, mu = 4000, np.array([-1.2, -0.4, 0.1, 0.5, 1.0])
    judge, first = rng.integers(4, size=n), rng.integers(5, size=n)
    second = (first + rng.integers(1, 5, size=n)) % 5
    model = hja.BTLModel.from_comparisons(
        named(judge, first, second, np.resize([1, 0.5, 0], n)), ties="davidson-shifted"
    )
    return model.simulate([*[0.1, 2.5, -0.3], *mu], rng=3)


def named(judge, first, second, outcome):
    labels = [[f"{kind}{k}" for k in codes] for kind, codes in (("j", judge), ("i", first), ("i", second))]
    return hja.Comparisons.from_arrays(*labels, outcome)


@pytest.mark.parametrize("cls", [hja.BTLModel, hja.JAModel, hja.HJAModel, hja.JudgewiseBTLModel])
@pytest.mark.parametrize("tie", ["common", "judge"])
def test_davidsons_model_is_the_one_with_scale_one_and_mode_zero(panel, cls, tie):
    plain, *others = (cls.from_comparisons(panel, ties=ties, tie=tie).fit() for ties in KEYS)
    names, at = plain.params.index, plain.params
    for result in others:
        assert result.converged
        assert result.llf > plain.llf
        there = pd.Series({"tie_scale": 1.0, "tie_mode": 0.0, **at}).reindex(result.params.index)
        assert result.model.loglike(there) == pytest.approx(plain.llf, rel=1e-12)
        assert set(result.params.index) - set(names) <= {"tie_scale", "tie_mode"}
        assert result.compare_lr_test(plain).df_diff == len(result.params) - len(names)


def test_reading_verdicts_from_the_other_side_turns_the_mode_round(panel):
    here = hja.BTLModel.from_comparisons(panel, ties="davidson-shifted", position="common").fit()
    swapped = named(panel.judge_index, panel.second_index, panel.first_index, 1 - panel.outcome)
    there = hja.BTLModel.from_comparisons(swapped, ties="davidson-shifted", position="common").fit()
    assert here.llf == pytest.approx(there.llf, rel=1e-12)
    for name, sign in {"tie": 1, "tie_scale": 1, "tie_mode": -1, "position": -1}.items():
        assert here.params[name] == pytest.approx(sign * there.params[name], abs=1e-6)


def test_what_was_drawn_is_found_again_and_asked_about(panel):
    result = hja.BTLModel.from_comparisons(panel, ties="davidson-shifted").fit()
    z = (result.params[["tie", "tie_scale", "tie_mode"]] - [0.1, 2.5, -0.3]) / result.bse
    assert (z.dropna().abs() < 3).all()
    assert result.contrast("tie_scale = 1").p_value[0] < 0.01
    probabilities = result.predict(judge="j0", item_a="i0", item_b="i4", which="probs")
    assert list(probabilities) == ["first", "tie", "second"]
    assert result.predict(which="probs")["tie"].sum() == pytest.approx(np.sum(panel.outcome == 0.5), rel=1e-6)
    titles = [str(table.title) for table in result.summary().tables]
    assert any("tie mode" in title for title in titles)
    again = hja.load_results(result.to_json())
    np.testing.assert_array_equal(again.params, result.params)
    assert [f.text for f in again.findings] == [f.text for f in result.findings]
    step, at = 1e-5, result.params.to_numpy()
    slopes = [
        (result.model.loglike(at + step * e) - result.model.loglike(at - step * e)) / (2 * step)
        for e in np.eye(len(at))
    ]
    np.testing.assert_allclose(result.model.score(at), slopes, atol=1e-4)
    with pytest.raises(ComparisonError, match="grades of a scale ties='ordinal'"):
        hja.BTLModel.from_comparisons(panel.with_outcome(panel.outcome / 2), ties="davidson-scaled")
