"""Rounds and chances with which rows were asked, as their table declares them."""

import numpy as np
import pytest

import hjastats as hja
from hjastats.data.asking import chances, n_rounds


@pytest.fixture
def frame(panel):
    return panel.to_frame().assign(batch=np.arange(3200) // 800, p=0.25)


def test_declared_columns_follow_the_rows(frame):
    data = hja.read_comparisons(frame, codes="unit", asked_in="batch", asked_with="p")
    assert n_rounds(data) == 4
    assert (chances(data) == 0.25).all()
    assert n_rounds(data.subset(np.arange(1600))) == 2
    assert n_rounds(data.pool_rare_judges(1000)) == 4
    assert "4 rounds by 'batch'" in repr(data)


def test_nothing_is_declared_by_a_name(frame):
    data = hja.read_comparisons(frame, codes="unit")
    assert (n_rounds(data), chances(data)) == (1, None)
    assert not [f for f in hja.BTLModel.from_comparisons(data).fit().findings if f.topic == "asking"]


def test_findings_say_what_asking_by_answers_does(frame, tmp_path):
    data = hja.read_comparisons(frame, codes="unit", asked_in="batch", asked_with="p")
    result = hja.BTLModel.from_comparisons(data).fit()
    told = [f for f in result.findings if f.topic == "asking"]
    assert [f.is_warning for f in told] == [False, False]
    assert "4 rounds ('batch')" in told[0].text
    assert "chances from 0.25 to 0.25 ('p')" in told[1].text
    result.to_json(tmp_path / "fit.json")
    again = hja.load_results(tmp_path / "fit.json")
    assert n_rounds(again.model.comparisons) == 4
    assert not again.plan.stopping("order all", looks=1)


@pytest.mark.parametrize(
    ("change", "given", "text"),
    [
        ({}, {"asked_in": "nothing"}, "no such column"),
        ({"batch": [1.0, np.nan] * 1600}, {"asked_in": "batch"}, "1,600 rows have no round"),
        ({"p": 0.0}, {"asked_with": "p"}, "chances lie above 0"),
        ({"p": "often"}, {"asked_with": "p"}, "chances lie above 0"),
    ],
)
def test_what_declares_nothing_is_refused(frame, change, given, text):
    with pytest.raises(hja.ComparisonError, match=text):
        hja.read_comparisons(frame.assign(**change), codes="unit", **given)
