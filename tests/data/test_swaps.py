"""Pairs that were judged in both orders."""

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.data.comparisons import Comparisons
from hjastats.errors import ComparisonError


def test_swapped_pairs_show_who_follows_the_position(panel):
    rng = np.random.default_rng(0)
    prompts = np.repeat(np.arange(200), 2)
    first = np.tile(["a", "b"], 200)
    second = np.tile(["b", "a"], 200)
    steady = np.tile([1.0, 0.0], 200)
    data = Comparisons.from_arrays(
        ["steady"] * 400 + ["first"] * 400 + ["random"] * 400,
        np.tile(first, 3),
        np.tile(second, 3),
        np.concatenate([steady, np.ones(400), rng.integers(2, size=400)]),
        columns=pd.DataFrame({"question_id": np.tile(prompts, 3)}),
    )
    table = hja.swap_report(data)
    assert table.loc["steady", "flip_rate"] == 0
    assert table.loc["first", ["first", "second", "flip_rate"]].tolist() == [200, 0, 1]
    assert table.loc["random", "flip_rate"] == pytest.approx(0.5, abs=4 * np.sqrt(0.25 / 200))
    assert (table["swapped"] == 200).all()
    result = hja.BTLModel.from_comparisons(data.without_judges(["first"]), position="judge").fit()
    assert "flip_rate" in result.diagnose().judges
    assert any("judged in both orders" in finding.text for finding in result.findings)
    with pytest.raises(ComparisonError, match="no column is called"):
        hja.swap_report(data, "prompt_id")
    with pytest.raises(ComparisonError, match="no prompt column"):
        hja.swap_report(panel)


def test_swaps_without_a_prompt_do_not_count_and_two_ties_decide_nothing():
    columns = pd.DataFrame({"prompt": [None, None, "x", "x"]})
    data = Comparisons.from_arrays(["j"] * 4, list("abab"), list("baba"), [1, 1, 0.5, 0.5], columns=columns)
    table = hja.swap_report(data)
    assert table.loc["j", ["swapped", "tied", "consistent"]].tolist() == [1, 1, 0]
    assert np.isnan(table.loc["j", "flip_rate"])


def test_weights_are_repetitions():
    """Two of three verdicts in one order are for the lower item, whether they are three rows or two with weights."""
    prompts = {"first": list("aaab"), "second": list("bbba"), "outcome": [1, 1, 0, 1.0]}
    rows = Comparisons.from_arrays("j", *prompts.values(), columns=pd.DataFrame({"prompt": [1] * 4}))
    weighted = Comparisons.from_arrays(
        "j", list("aab"), list("bba"), [1, 0, 1.0], [2.0, 1, 1], columns=pd.DataFrame({"prompt": [1] * 3})
    )
    assert hja.swap_report(rows).loc["j", "first"] == 1
    pd.testing.assert_frame_equal(hja.swap_report(weighted), hja.swap_report(rows))
    tied = Comparisons.from_arrays(
        "j", list("aab"), list("bba"), [0.5, 0.5, 1.0], [0.1, 0.2, 1], columns=pd.DataFrame({"prompt": [1] * 3})
    )
    assert hja.swap_report(tied).loc["j", "tied"] == 1
