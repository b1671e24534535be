import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from hjastats.show import plots
from hjastats.show.plots.colours import PALETTE, UNKNOWN_FAMILY, families
from hjastats.show.plots.labels import NO_ESTIMATE

from .reading import column_names, legend_names, n_overlaps, row_names, words


def test_rows_are_in_order_with_a_dot_an_interval_and_the_reference(table):
    ax = plots.plot_intervals(table, reference=1.0, xlabel="sensitivity")
    assert row_names(ax) == ["j3", "j1", "j2"]
    reference, *dots = ax.lines
    assert set(reference.get_xdata()) == {1.0}
    assert [float(dot.get_xdata()[0]) for dot in dots] == [1.4, 0.8]
    drawn = [segment[:, 0].tolist() for segment in ax.collections[0].get_segments() if len(segment)]
    assert drawn == [[1.1, 1.7], [0.6, 1.0]]
    assert ax.get_xlabel() == "sensitivity"
    assert ax.get_ylim()[0] > ax.get_ylim()[1]


def test_a_row_without_an_estimate_says_so(table):
    ax = plots.plot_intervals(table)
    assert words(ax) == [NO_ESTIMATE]
    assert ax.texts[0].get_position()[1] == row_names(ax).index("j2")


def test_given_axes_are_used(table):
    figure, (left, right) = plt.subplots(1, 2)
    assert plots.plot_intervals(table, ax=right) is right
    assert not left.lines
    assert len(figure.axes) == 2


def test_families_have_colours_and_a_legend(table):
    ax = plots.plot_intervals(table, family={"j1": "x", "j3": "y"})
    assert legend_names(ax) == ["x", "y", UNKNOWN_FAMILY]
    assert [dot.get_color() for dot in ax.lines] == [PALETTE[1], PALETTE[0]]


def test_more_families_than_colours_differ_by_marker():
    labels = [f"f{i:02d}" for i in range(30)]
    styles, legend = families(labels, dict(zip(labels, labels, strict=True)))
    assert len(set(styles)) == len(legend) == 30


def test_ranking_joins_items_that_share_a_letter():
    table = pd.DataFrame(
        {
            "score": [2.0, 1.0, 0.0],
            "ci_lower": [1.0, 0.0, -1.0],
            "ci_upper": [3.0, 2.0, 1.0],
            "group": ["a", "ab(27)", "b(27)"],
        },
        index=list("xyz"),
    )
    table = table.assign(comparison_lower=table["score"] - 0.4, comparison_upper=table["score"] + 0.4)
    ax = plots.plot_ranking(table)
    groups = [line.get_ydata().tolist() for line in ax.lines if len(line.get_ydata()) > 1]
    assert groups == [[0, 1], [1, 2], [1, 2]]
    assert len(ax.collections) == 2
    assert row_names(ax) == ["x", "y", "z"]


def test_heatmap_is_symmetric_around_zero_and_keeps_the_order():
    residual = pd.DataFrame([[0.1, -0.7], [np.nan, np.nan]], ["j1", "j2"], ["a", "b"])
    ax = plots.plot_heatmap(residual)
    assert ax.images[0].get_clim() == (-0.7, 0.7)
    assert (row_names(ax), column_names(ax)) == (["j1", "j2"], ["a", "b"])
    assert words(ax) == [NO_ESTIMATE]


def test_heatmap_without_any_value_can_be_drawn():
    ax = plots.plot_heatmap(pd.DataFrame(np.nan, ["j1", "j2"], ["a", "b"]))
    ax.get_figure().canvas.draw()
    assert words(ax) == [NO_ESTIMATE] * 2


def test_profiles_highlight_the_given_judges():
    scores = pd.DataFrame(np.arange(30.0).reshape(10, 3), [f"j{k}" for k in range(10)], list("abc"))
    consensus = pd.Series({"c": 1.0, "b": 0.0, "a": -1.0})
    ax = plots.plot_profiles(scores, consensus, highlight=["j2"])
    assert row_names(ax) == ["c", "b", "a"]
    assert legend_names(ax) == ["consensus", "j2", "9 other judges"]
    assert ax.lines[0].get_linewidth() > max(line.get_linewidth() for line in ax.lines[1:])
    assert ax.lines[1].get_xdata().tolist() == [8.0, 7.0, 6.0]
    assert len({line.get_color() for line in ax.lines[2:11]}) == 1


def test_profiles_refuse_unknown_judges():
    scores = pd.DataFrame([[1.0, -1.0]], ["j"], ["a", "b"])
    with pytest.raises(ValueError, match="no judge is called 'k'"):
        plots.plot_profiles(scores, scores.loc["j"], highlight=["k"])


def test_leverage_names_outliers_and_lists_judges_without_estimate():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"sensitivity": 1 + 0.1 * rng.random(30), "h": rng.random(30)}, [f"judge {k}" for k in range(30)]
    )
    table.loc["judge 3", "h"] = 9.0
    table.loc["judge 4", "h"] = np.nan
    ax = plots.plot_leverage(table, outliers=["judge 3"])
    missing, first, *others = ax.texts
    assert missing.get_text() == f"{NO_ESTIMATE}: judge 4"
    assert (first.get_text(), first.get_fontweight()) == ("judge 3", "bold")
    assert {text.get_fontweight() for text in others} == {"normal"}
    assert n_overlaps([first, *others]) == 0


def test_probabilities_have_a_fixed_scale_and_numbers():
    ax = plots.plot_probabilities(pd.DataFrame([[np.nan, 0.75], [0.25, np.nan]], ["a", "b"], ["a", "b"]))
    assert ax.images[0].get_clim() == (0.0, 1.0)
    assert words(ax) == [".75", ".25"]


def test_criteria_mark_the_best_rank():
    table = pd.DataFrame({"aic": [3.0, 1.0, 2.0], "bic": [1.0, 2.0, 3.0], "cv": [0.6, 0.5, 0.4], "cv_se": 0.01})
    figure = plots.plot_criteria(table)
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles == ["AIC: smallest at rank 1", "BIC: smallest at rank 0", "cross-validated loss: smallest at rank 2"]
    assert len(figure.axes[2].collections) == 1  # the error bars


def test_criteria_say_what_is_missing():
    with pytest.raises(ValueError, match="no column 'cv', only 'aic'"):
        plots.plot_criterion(pd.DataFrame({"aic": [1.0]}), "cv")
    with pytest.raises(ValueError, match="none of the columns aic, bic and cv"):
        plots.plot_criteria(pd.DataFrame({"llf": [1.0]}))


def test_scree_starts_at_zero_and_shows_the_rank():
    ax = plots.plot_scree([3.0, 1.0, 0.5], rank=2)
    assert ax.lines[0].get_ydata().tolist() == [3.0, 1.0, 0.5]
    assert set(ax.lines[1].get_xdata()) == {2.5}
    assert ax.get_ylim()[0] == 0.0


def test_convergence_shows_every_start_and_names_seven():
    ax = plots.plot_convergence({f"start {i}": [10.0, 2.0, 1.0] for i in range(12)})
    assert len(ax.lines) == 12
    assert legend_names(ax)[-1] == "5 more starts"
    assert ax.get_yscale() == "log"


def test_calibration_draws_the_diagonal_and_one_interval_per_group():
    frame = pd.DataFrame(
        {
            "predicted": [0.2, 0.7],
            "observed": [0.3, 0.6],
            "ci_lower": [0.1, 0.5],
            "ci_upper": [0.5, 0.7],
            "comparisons": [5, 9],
        }
    )
    ax = plots.plot_calibration(frame)
    assert ax.lines[0].get_xdata().tolist() == ax.lines[0].get_ydata().tolist() == [0.0, 1.0]
    assert len(ax.collections[0].get_segments()) == len(ax.collections[1].get_offsets()) == 2


def test_comparisons_are_lines_as_wide_as_their_number():
    counts = pd.DataFrame([[0, 9, 3], [9, 0, 0], [3, 0, 0]], list("abc"), list("abc"))
    ax = plots.plot_comparisons(counts)
    widths = ax.collections[0].get_linewidths()
    assert len(widths) == 2
    assert widths[0] > widths[1]
    assert legend_names(ax) == ["3", "6", "9"]
    assert sorted(words(ax)) == ["a", "b", "c"]
