import numpy as np
import pandas as pd

from hjastats.data.comparisons import Comparisons
from hjastats.diagnostics.ordering import clustered, leaf_order
from hjastats.diagnostics.preferences import comparison_counts, preference_probabilities


def test_blocks_come_together():
    rng = np.random.default_rng(0)
    judge, item = rng.permutation([0] * 5 + [1] * 5), rng.permutation([0] * 8 + [1] * 8)
    block = np.where(judge[:, None] == item[None, :], 1.0, -1.0) + 0.1 * rng.normal(size=(10, 16))
    frame = pd.DataFrame(block, [f"j{k}" for k in range(10)], [f"i{i}" for i in range(16)])
    ordered = clustered(frame)
    pd.testing.assert_frame_equal(ordered.loc[frame.index, frame.columns], frame)
    assert np.abs(np.diff(judge[[list(frame.index).index(name) for name in ordered.index]])).sum() == 1
    assert np.abs(np.diff(item[[list(frame.columns).index(name) for name in ordered.columns]])).sum() == 1


def test_points_on_a_line_are_put_in_its_order():
    place = np.random.default_rng(1).permutation(20).astype(float)
    order = place[leaf_order(place[:, None])]
    assert order.tolist() in (sorted(place), sorted(place, reverse=True))


def test_empty_cells_and_few_rows_are_no_obstacle():
    frame = pd.DataFrame([[np.nan, 1.0, 2.0], [0.0, np.nan, np.nan]], ["a", "b"], list("xyz"))
    assert clustered(frame).shape == (2, 3)


def test_probabilities_of_a_pair_add_up_to_one():
    table = preference_probabilities(pd.Series({"a": 0.3, "b": -1.0, "c": np.nan}))
    assert table.loc["a", "b"] + table.loc["b", "a"] == 1.0
    assert table["c"].isna().all()


def test_counts_are_symmetric_and_complete():
    data = Comparisons.from_arrays(["j", "j", "k"], ["a", "b", "c"], ["b", "a", "a"], [1, 0, 1], [2, 1, 4])
    counts = comparison_counts(data)
    pd.testing.assert_frame_equal(counts, counts.T)
    assert counts.to_numpy().sum() == 2 * data.n_comparisons
    assert counts.loc["a", "b"] == 3
