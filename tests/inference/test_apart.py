"""Groups of items that nobody compared: what is a difference between two zeros is refused, whatever it is asked by."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import hjastats as hja
from hjastats.errors import CovarianceWarning

NO_SCALE = "nobody compared the group of 'a1' with that of 'b1'"


@pytest.fixture(scope="module")
def apart():
    """Two seasons of three clubs each, with one home advantage."""
    rng, n = np.random.default_rng(0), 600
    season, first = rng.integers(2, size=n), rng.integers(3, size=n)
    second = (first + rng.integers(1, 3, size=n)) % 3
    names = np.array([["a1", "a2", "a3"], ["b1", "b2", "b3"]])
    wins = (rng.random(n) < expit(0.7 * (second - first) + 0.3)).astype(float)
    data = hja.Comparisons.from_arrays("j", names[season, first], names[season, second], wins)
    with pytest.warns(CovarianceWarning, match="differences between items of different groups"):
        return hja.BTLModel.from_comparisons(data, position="common", unlinked="apart").fit()


@pytest.mark.parametrize(
    "spec",
    [
        "mu[a1] - mu[b1]",
        "mu[a1] = mu[b2]",
        "S[j, a1] - S[j, b3]",
        "p[j, a1, b1]",
        "p[a2, b1]",
        "exp(mu[a1]) / exp(mu[b1])",
        {"one": "mu[a1] - mu[a2]", "other": "mu[a2] - mu[b2]"},
        lambda view: view.mu["a1"] - view.mu["b1"],
        {"mu[a1]": 1.0, "mu[b1]": -1.0},
    ],
)
def test_a_contrast_of_two_groups_is_refused(apart, spec):
    with pytest.raises(hja.IdentificationError, match="nobody compared the group of 'a1' with that of 'b1'"):
        apart.contrast(spec)


@pytest.mark.parametrize(
    "spec",
    [
        "mu[a1]",
        "mu[a1] - mu[a2]",
        "p[j, a1, a3]",
        "position",
        # A lead in one season against a lead in the other.
        "(mu[a1] - mu[a2]) - (mu[b1] - mu[b2])",
        lambda view: view.mu["a1"] - view.mu["a3"],
    ],
)
def test_a_contrast_within_groups_is_answered(apart, spec):
    assert (apart.contrast(spec).std_err > 0).all()


@pytest.mark.parametrize("test", ["wald_test", "t_test"])
def test_hypotheses_are_refused_alike(apart, test):
    with pytest.raises(hja.IdentificationError, match=NO_SCALE):
        getattr(apart, test)("mu[a1] = mu[b1]")
    assert getattr(apart, test)("mu[a1] = mu[a2]").pvalue < 0.05
    assert np.isfinite(apart.wald_test_terms().table["pvalue"].astype(float)).all()


def test_pairs_of_two_groups_are_not_predicted_and_a_grid_leaves_them_out(apart):
    with pytest.raises(hja.IdentificationError, match=NO_SCALE.replace("'a1'", "'a2'").replace("'b1'", "'b3'")):
        apart.predict(judge="j", item_a=["a1", "a2"], item_b=["a2", "b3"])
    grid = apart.predict(judge="j", item_a="*", item_b="*")
    assert len(grid) == 12
    assert all(a[0] == b[0] for _, a, b in grid.index)
    assert len(apart.predict()) == 600


def test_every_group_has_places_of_its_own(apart):
    text = str(apart.summary())
    assert "consensus mu, group 1 of 2 (sums to zero)" in text
    places = [line.split()[1] for line in text.splitlines() if line[:2] in ("a1", "a2", "a3", "b1", "b2", "b3")]
    assert places == ["1", "2", "3", "1", "2", "3"]
    drawn = apart.plot.ranking(items=["b1", "b2", "b3"])
    assert [label.get_text() for label in drawn.get_yticklabels()] == ["b1", "b2", "b3"]
    pd.testing.assert_index_equal(
        apart.ranking(items=["b3", "b1", "b2"]).index, pd.Index(["b1", "b2", "b3"], name="item")
    )
    with pytest.raises(hja.IdentificationError, match=NO_SCALE):
        apart.plot.ranking()


def test_a_leaderboard_of_one_group_is_its_ranking(apart):
    items = ["b1", "b2", "b3"]
    board, ranking = apart.leaderboard(items=items).table, apart.ranking(items=items)
    assert list(board.index) == list(ranking.index)
    assert board[["place_lower", "place_upper"]].equals(ranking[["place_lower", "place_upper"]])
    assert board["p_best"].sum() == pytest.approx(1.0)
    with pytest.raises(
        hja.IdentificationError, match=r"Name items of one group: ranking\(items=\[\.\.\.\]\) ranks it\."
    ):
        apart.leaderboard()


@pytest.mark.parametrize("goal", ["top2", "order all", "places"])
def test_plans_are_made_for_items_of_one_group(apart, goal):
    refused = f"goal {goal!r} is about all items, and they are in 2 groups that nobody compared"
    with pytest.raises(hja.OptionError, match=refused) as caught:
        apart.plan.next(10, goal)
    [advised] = caught.value.hints
    asked = apart.plan.next(10, advised.value)
    assert set(asked.table["first"]) | set(asked.table["second"]) <= {"a1", "a2", "a3"}
    with pytest.raises(hja.IdentificationError, match=NO_SCALE):
        apart.plan.next(10, ("a1", "b1"))


def test_probabilities_are_drawn_within_groups_one_after_the_other(apart):
    plt = pytest.importorskip("matplotlib.pyplot")
    ax = apart.plot.probabilities()
    shown = [label.get_text()[0] for label in ax.get_yticklabels()]
    assert shown in (list("aaabbb"), list("bbbaaa"))
    drawn = [text.get_text() for text in ax.texts if text.get_text().strip()]
    # Three items of a group have six ordered pairs.
    assert len(drawn) == 12
    plt.close("all")
