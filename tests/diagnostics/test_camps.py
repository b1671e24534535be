"""Panels without a consensus: what is said of them, and whether what is advised leads to the right ranking."""

import hjastats as hja
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


def test_judges_that_agree_are_one_camp(panel):
    assert not any(found.topic == "camps" for found in hja.JAModel.from_comparisons(panel).fit().findings)
