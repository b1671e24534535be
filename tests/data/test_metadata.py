import json

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.errors import ComparisonError, ContrastError
from hjastats.export import checksum

JUDGES = [f"judge-{i}" for i in range(1, 7)] + ["judge-first", "judge-noise"]


@pytest.fixture(scope="module")
def judges():
    return pd.DataFrame({"family": list("xxyyzzww"), "size": np.arange(8.0)}, index=JUDGES)


@pytest.fixture(scope="module")
def items():
    return pd.DataFrame({"item": [f"model-{c}" for c in "ABCDEFGHIJ"], "family": list("xxyyzzwwvv")})


@pytest.fixture(scope="module")
def labelled_panel(panel, judges, items):
    return panel.with_metadata(judges=judges, items=items)


def test_labels_are_taken_from_the_index_or_from_the_column_of_their_role(panel, labelled_panel, judges, items):
    assert labelled_panel.judge_metadata.loc["judge-first", "family"] == "w"
    assert labelled_panel.item_metadata.loc["model-J"].to_dict() == {"family": "v"}
    assert "metadata    of judges: 'family', 'size'" in repr(labelled_panel)
    other = panel.with_metadata(items=items.set_index("item")["family"])
    pd.testing.assert_frame_equal(other.item_metadata, labelled_panel.item_metadata)


def test_the_order_of_the_table_and_rows_of_other_labels_do_not_matter(labelled_panel, judges):
    stranger = pd.DataFrame({"family": ["q"], "size": [1.0]}, index=["stranger"])
    shuffled = pd.concat([judges.iloc[::-1], stranger])
    again = labelled_panel.with_metadata(judges=shuffled)
    pd.testing.assert_frame_equal(again.judge_metadata, labelled_panel.judge_metadata)


def test_a_label_without_a_row_is_named(labelled_panel, judges):
    with pytest.raises(ComparisonError, match=r"no row for judge 'judge-2', 'judge-5'"):
        labelled_panel.with_metadata(judges=judges.drop(["judge-2", "judge-5"]))
    with pytest.raises(ComparisonError, match=r"several rows for judge 'judge-1'"):
        labelled_panel.with_metadata(judges=pd.concat([judges, judges.iloc[:1]]))


def test_labels_in_a_column_of_another_name_are_pointed_at(labelled_panel, judges):
    with pytest.raises(ComparisonError, match=r"Column 'name' has them all: pass frame.set_index\('name'\)"):
        labelled_panel.with_metadata(judges=judges.rename_axis("name").reset_index())


def test_metadata_follow_their_labels_through_subsets_and_pools(labelled_panel):
    fewer = labelled_panel.without_judges(["judge-1"])
    assert list(fewer.judge_metadata.index) == list(fewer.judges)
    assert fewer.judge_metadata.loc["judge-3", "family"] == "y"
    light = labelled_panel.subset((labelled_panel.judge_index > 1) | (np.arange(labelled_panel.n_rows) < 100))
    pooled = light.pool_rare_judges(100)
    assert pooled.judges == (*JUDGES[2:], "others")
    assert pooled.judge_metadata.loc["others"].isna().all()
    assert pooled.judge_metadata.loc["judge-3", "family"] == "y"
    pd.testing.assert_frame_equal(pooled.item_metadata, labelled_panel.item_metadata)
    assert "family" not in labelled_panel.to_frame().columns


def test_what_is_not_given_stays(labelled_panel):
    again = labelled_panel.with_metadata(items=labelled_panel.item_metadata.assign(size=1))
    pd.testing.assert_frame_equal(again.judge_metadata, labelled_panel.judge_metadata)


def test_formulas_find_the_metadata_of_the_data(panel, labelled_panel, judges):
    result = hja.HJAModel.from_comparisons(labelled_panel, rank=1).fit()
    explicit, stored = result.contrast_formula("gamma ~ size", judges), result.contrast_formula("gamma ~ size")
    np.testing.assert_array_equal(stored.estimate, explicit.estimate)
    pairs = labelled_panel.judge_metadata.merge(
        labelled_panel.item_metadata.reset_index(), how="cross", suffixes=("_judge", "")
    )
    pairs["judge"] = np.repeat(labelled_panel.judges, labelled_panel.n_items)
    pairs["same"] = (pairs["family_judge"] == pairs["family"]).astype(float)
    np.testing.assert_allclose(
        result.contrast_formula("disagreement ~ same_family").estimate,
        result.contrast_formula("disagreement ~ same", pairs).estimate,
    )
    bare = hja.JAModel.from_comparisons(panel).fit()
    with pytest.raises(ContrastError, match="no metadata of items"):
        bare.contrast_formula("mu ~ family")


def test_metadata_survive_the_file_and_old_files_have_none(labelled_panel):
    missing = labelled_panel.with_metadata(judges=labelled_panel.judge_metadata.assign(size=[np.nan, *range(7)]))
    result = hja.JAModel.from_comparisons(missing).fit()
    again = hja.load_results(result.to_json()).model.comparisons
    pd.testing.assert_frame_equal(again.judge_metadata, missing.judge_metadata, check_dtype=False)
    pd.testing.assert_frame_equal(again.item_metadata, missing.item_metadata, check_dtype=False)
    document = json.loads(result.to_json())
    del document["data"]["judge_metadata"], document["data"]["item_metadata"]
    document["checksum"] = checksum(document)
    old = hja.load_results(json.dumps(document)).model.comparisons
    assert old.judge_metadata is None
    assert old.item_metadata is None
