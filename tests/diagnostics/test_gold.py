"""Judges against trusted verdicts, counted by hand."""

import numpy as np
import pytest

from hjastats.data.comparisons import Comparisons
from hjastats.diagnostics.gold import agreement, calibration_slope, family_bonus


def test_agreement_is_counted_on_the_same_pair_and_prompt_in_either_order():
    rows = [
        ("h", "a", "b", 1.0, 1),
        ("j", "b", "a", 0.0, 1),  # agrees, in the other order
        ("j", "a", "b", 0.0, 1),  # does not
        ("j", "a", "b", 1.0, 2),  # another prompt
        ("h", "a", "c", 0.5, 3),
        ("j", "a", "c", 1.0, 3),  # against a tie
        ("k", "a", "c", 1.0, 9),
    ]
    judge, first, second, outcome, prompt = map(list, zip(*rows, strict=True))
    data = Comparisons.from_arrays(judge, first, second, outcome)
    is_target = np.array([name == "h" for name in judge])
    found = agreement(data, is_target, np.array(prompt))
    assert list(found.index) == ["j"]
    assert found.loc["j", "shared"] == 3
    assert found.loc["j", "agreement"] == 0.5


def test_kappa_is_zero_for_chance():
    n = 4
    data = Comparisons.from_arrays(["h"] * n + ["j"] * n, ["a"] * 2 * n, ["b"] * 2 * n, [1, 1, 0, 0, 1, 0, 1, 0])
    found = agreement(data, np.arange(2 * n) < n, np.tile(np.arange(n), 2))
    assert found.loc["j", ["agreement", "kappa"]].tolist() == [0.5, 0.0]


def test_a_judge_who_is_always_right_has_no_calibration():
    assert np.isnan(calibration_slope(np.array([1.0, -1.0]), np.array([1.0, 0.0]), np.ones(2))).all()


def test_a_family_of_all_or_no_items_has_no_bonus():
    for is_own in (np.ones(3, dtype=bool), np.zeros(3, dtype=bool)):
        assert np.isnan(family_bonus(np.zeros(3), np.eye(3), is_own)).all()
    assert family_bonus(np.array([1.0, 0.0, 0.5]), np.eye(3), np.array([True, False, False])) == pytest.approx(
        (0.75, 1.5**0.5)
    )
