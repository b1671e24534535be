import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.diagnostics.biclustering import bicluster
from hjastats.errors import ContrastError


@pytest.fixture(scope="module")
def blocks():
    """Three kinds of judges and two kinds of items, hidden by shuffling."""
    rng = np.random.default_rng(0)
    kinds = np.array([[2.0, -2.0], [-2.0, 2.0], [0.0, 0.0]])
    judges, items = np.repeat([0, 1, 2], [4, 3, 5]), np.repeat([0, 1], [6, 4])
    values = kinds[np.ix_(judges, [0, 1])][:, items] + 0.1 * rng.standard_normal((12, 10))
    frame = pd.DataFrame(
        values, [f"j{k}-{i:02d}" for i, k in enumerate(judges)], [f"m{k}-{i}" for i, k in enumerate(items)]
    )
    return frame.sample(frac=1, random_state=1).sample(frac=1, random_state=2, axis=1)


def test_blocks_are_found_and_stand_together(blocks):
    found = bicluster(blocks)
    for order, groups, kinds in (
        (found.judge_order, found.judge_groups, 3),
        (found.item_order, found.item_groups, 2),
    ):
        assert groups.nunique() == kinds
        assert list(groups.index) == list(order)
        assert groups.is_monotonic_increasing
        # Each group holds one kind, and all of it.
        assert groups.groupby([label[:2] for label in groups.index]).nunique().eq(1).all()
    pd.testing.assert_frame_equal(found.frame, blocks.loc[list(found.judge_order), list(found.item_order)])
    assert found.judge_tree.shape == (11, 4)
    assert repr(found).startswith("judges by group\n  1  j0-")


def test_the_order_does_not_depend_on_the_order_of_the_labels(blocks):
    found, again = bicluster(blocks), bicluster(blocks.iloc[::-1, ::-1])
    assert (again.judge_order, again.item_order) == (found.judge_order, found.item_order)
    pd.testing.assert_series_equal(again.judge_groups, found.judge_groups)


def test_the_number_of_groups_can_be_set(blocks):
    assert bicluster(blocks, 4).judge_groups.nunique() == 4
    both = bicluster(blocks, (2, 5))
    assert (both.judge_groups.nunique(), both.item_groups.nunique()) == (2, 5)
    assert bicluster(blocks, 1).item_groups.eq(1).all()
    with pytest.raises(ContrastError, match="between 1 and 10, the number of items, got 11"):
        bicluster(blocks, (2, 11))


def test_results_cluster_disagreement_or_scores(panel, panel_fit):
    assert set(panel_fit.judges.bicluster().judge_order) == set(panel.judges)
    scores = panel_fit.judges.bicluster(of="scores").frame
    pd.testing.assert_frame_equal(
        scores.loc[list(panel.judges), list(panel.items)], panel_fit.scores, check_names=False
    )
    plain = hja.JAModel.from_comparisons(panel).fit()
    assert len(plain.judges.bicluster(of="scores").item_order) == 10
    with pytest.raises(ContrastError, match="no disagreement to cluster"):
        plain.judges.bicluster()
    with pytest.raises(ValueError, match="of must be"):
        plain.judges.bicluster(of="verdicts")


def test_one_judge_and_two_items_are_no_trouble():
    frame = pd.DataFrame([[1.0, -1.0]], index=["j"], columns=["a", "b"])
    found = bicluster(frame)
    assert (found.judge_order, found.item_order, found.item_groups.tolist()) == (("j",), ("a", "b"), [1, 2])
    with pytest.raises(ContrastError, match="withheld"):
        bicluster(frame * np.nan)
