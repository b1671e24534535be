"""Panels without a consensus: what is said of them, and whether what is advised leads to the right ranking."""

import numpy as np
import pytest

import hjastats as hja
from benchmarks.claims.alarms import panel
from tests.panels import finding


def test_a_party_that_loses_every_majority_is_named_and_the_advice_puts_it_last(shared_data):
    """German parties: the ridge puts Linke third, which loses the majority against all five others."""
    data = hja.read_comparisons(shared_data / "r" / "germanparties.csv", codes="names")
    found = finding(hja.JAModel.from_comparisons(data).fit_regularized(0.1), "camps")
    assert found.is_warning
    assert "'Linke', place 3 here, loses it against 5 of 5" in found.text
    assert "Compare BTLModel, and HJAModel with a rank of 1 or more." in found.text
    larger = hja.HJAModel.from_comparisons(data, rank=1).fit_regularized(0.1)
    for advised in (hja.BTLModel.from_comparisons(data).fit(), larger):
        assert advised.consensus.index[-1] == "Linke"
        assert not any(found.topic == "camps" for found in advised.findings)


@pytest.mark.parametrize(("gamma", "are_camps"), [((1.2, 1.3, 0.9, 0.0), False), ((1.2, 1.3, 1.1, -0.9, -0.8), True)])
def test_a_judge_that_flips_coins_is_no_camp_and_two_that_turn_everything_around_are(gamma, are_camps):
    told = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        data = panel(rng, np.outer(gamma, np.linspace(-1.5, 1.5, 6)), 300)
        result = hja.JAModel.from_comparisons(data).fit()
        told.append(any(found.topic == "camps" for found in result.findings))
        below = (result.sensitivity["estimate"] < 0).sum()
        if not are_camps and below:
            # The case of the report: a quarter of the estimates lies below zero.
            assert below == 1
    assert told == [are_camps] * 8


def test_judges_that_agree_are_one_camp(biased_panel):
    assert not any(found.topic == "camps" for found in hja.JAModel.from_comparisons(biased_panel).fit().findings)
