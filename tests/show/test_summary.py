"""Summaries as they are printed."""

import numpy as np
import pytest
from statsmodels.iolib.summary2 import summary_col

import hjastats as hja


def test_labels_with_line_breaks_do_not_break_tables(biased_panel):
    frame = biased_panel.to_frame()
    frame["first"], frame["second"] = (frame[c].replace("item-1", "item\n1") for c in ("first", "second"))
    result = hja.JAModel(frame["outcome"], judge=frame["judge"], item_a=frame["first"], item_b=frame["second"]).fit()
    assert "item 1 " in str(result.summary())


@pytest.fixture(scope="module")
def result(panel):
    return hja.HJAModel.from_comparisons(panel, rank=1).fit()


def test_summaries_print_in_every_format(result):
    summary = result.summary()
    for text in (summary.as_text(), summary.as_html(), summary.as_csv(), summary.as_latex()):
        assert "judge-noise" in text
    assert "gamma = 1" in summary.as_text()


def test_summary_columns_stand_side_by_side(panel, result):
    ja = hja.JAModel.from_comparisons(panel).fit()
    assert "gamma[judge-noise]" in str(summary_col([ja, result], model_names=["JA", "HJA"]))


def test_wide_panels_are_cut_in_the_middle(result):
    text = str(result.summary(max_rows=4))
    assert "(4 more)" in text
    assert "(6 more)" in text
    assert "judge-1" in text
    assert "model-E" not in text


def test_long_labels_stay_within_a_hundred_and_ten_columns(panel):
    frame = panel.to_frame()
    frame["judge"] = "organisation-with-a-long-name/" + frame["judge"] + "-instruct-turbo-preview-2026"
    rows = {"judge": frame["judge"], "item_a": frame["first"], "item_b": frame["second"]}
    text = str(hja.HJAModel(frame["outcome"], rank=1, **rows).fit().summary())
    assert max(map(len, text.splitlines())) <= 110
    assert "...first..." in text


@pytest.mark.parametrize("max_rows", [0, 1, 2, 5])
def test_summaries_are_as_short_as_wanted(panel_fit, max_rows):
    lines = str(panel_fit.summary(max_rows=max_rows)).splitlines()
    best = list(panel_fit.consensus.index)
    start = next(i for i, line in enumerate(lines) if "consensus mu" in line)
    names = [line.split()[0] for line in lines[start + 4 : start + 5 + max_rows]]
    first = (max_rows + 1) // 2
    assert names == [*best[:first], f"({10 - max_rows}", *best[10 - max_rows // 2 :]]


@pytest.mark.parametrize("width", range(8, 18))
def test_tables_are_no_wider_than_a_terminal(panel, width):
    """Labels of every length around the one from which columns are narrow."""
    frame = panel.to_frame()
    frame["judge"], frame["first"], frame["second"] = (
        frame[c].str.ljust(width, "-").str[-width:] for c in ("judge", "first", "second")
    )
    rows = {"judge": frame["judge"], "item_a": frame["first"], "item_b": frame["second"]}
    for rank in (0, 2):
        tables = (
            hja.HJAModel(frame["outcome"], rank=rank, position="judge", **rows)
            .fit(warn_convergence=False)
            .summary()
            .tables
        )
        assert max(len(line) for table in tables for line in str(table).splitlines()) <= 80


def test_a_summary_without_rows_has_tables_of_covariates_all_the_same(panel):
    frame = panel.to_frame().assign(x=np.arange(panel.n_rows) % 7)
    data = hja.read_comparisons(frame, codes="unit", keep=["x"])
    result = hja.BTLModel.from_comparisons(data, exog=["x"]).fit()
    assert "covariates" in str(result.summary(max_rows=0))
    with pytest.raises(hja.OptionError, match="max_rows must be a whole number from 0, got False"):
        result.summary(max_rows=False)
