import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from hjastats.show import plots
from hjastats.show.plots.canvas import DARK, LIGHT
from hjastats.show.plots.colours import UNKNOWN_FAMILY, diverging, families, lettered
from hjastats.show.plots.labels import NO_ESTIMATE

from .reading import column_names, contrast, is_inside, legend_names, n_overlaps, row_names, words


def test_rows_are_in_order_with_a_dot_an_interval_and_the_reference(table):
    ax = plots.plot_intervals(table, reference=1.0, xlabel="sensitivity")
    assert row_names(ax) == ["j3", "j1", "j2"]
    reference, *dots = ax.lines
    assert set(reference.get_xdata()) == {1.0}
    # The second interval holds the reference, which makes its dot a ring: a dot in the colour of the paper within another.
    assert [float(dot.get_xdata()[0]) for dot in dots] == [1.4, 0.8, 0.8]
    assert dots[-1].get_color() == LIGHT.sheet
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
    assert [dot.get_color() for dot in ax.lines] == [LIGHT.hues[1], LIGHT.hues[0]]


def test_more_families_than_colours_differ_by_marker():
    labels = [f"f{i:02d}" for i in range(30)]
    styles, legend = families(labels, dict(zip(labels, labels, strict=True)))
    assert len(set(styles)) == len(legend) == 30


@pytest.mark.parametrize("is_given", [False, True])
def test_ranking_has_a_bar_over_the_possible_places_of_every_item(is_given):
    table = pd.DataFrame(
        {
            "score": [2.0, 1.0, 0.0],
            "ci_lower": [1.0, 0.0, -1.0],
            "ci_upper": [3.0, 2.0, 1.0],
            "place": [1, 2, 3],
            "place_lower": [1, 1, 3],
            "place_upper": [2, 2, 3],
        },
        index=list("xyz"),
    )
    ax = plots.plot_ranking(table, ax=plt.subplot() if is_given else None)
    strip = ax.child_axes[0] if is_given else ax.get_figure().axes[1]
    ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in strip.patches]
    assert ends == [(0.5, 2.5), (0.5, 2.5), (2.5, 3.5)]
    assert words(strip) == ["1–2", "1–2", "3"]
    assert row_names(ax) == ["x", "y", "z"]
    assert strip.get_ylim() == ax.get_ylim()


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
    assert words(ax) == ["j2"]
    assert ax.texts[0].get_color() == lettered(ax.lines[-1].get_color())
    assert ax.get_xlabel() == "score (log-odds); bold: the consensus; grey: 9 other judges"
    assert ax.lines[0].get_linewidth() > max(line.get_linewidth() for line in ax.lines[1:])
    assert ax.lines[-1].get_xdata().tolist() == [8.0, 7.0, 6.0]
    assert len({line.get_color() for line in ax.lines[1:10]}) == 1


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


def test_lines_of_places_cross_where_rankings_differ():
    places = pd.DataFrame({"consensus": [1, 2, 3], "j1": [2, 1, 3], "j2": [1, 2, np.nan]}, index=list("abc"))
    ax = plots.plot_slopes(places, highlight=["b"])
    assert column_names(ax) == ["consensus", "j1", "j2"]
    np.testing.assert_array_equal([line.get_ydata() for line in ax.lines], places.to_numpy())
    assert [line.get_color() for line in ax.lines] == [LIGHT.pale, LIGHT.hues[0], LIGHT.pale]
    # Names stand at both ends, of the items that have a place there.
    assert words(ax) == ["a", "b", "c", "a", "b"]


def test_of_many_items_only_the_highlighted_have_the_colours_of_their_families():
    items = [f"i{k:02d}" for k in range(14)]
    places = pd.DataFrame({"consensus": range(1, 15), "j": range(14, 0, -1)}, index=items)
    ax = plots.plot_slopes(places, highlight=["i03"], family=dict.fromkeys(items, "one"))
    coloured = [number for number, line in enumerate(ax.lines) if line.get_color() != LIGHT.pale]
    assert coloured == [3]
    assert legend_names(ax) == ["one"]


def test_numbers_stand_beside_intervals_that_are_asked_for_in_words(table):
    ax = plots.plot_intervals(table, reference=1.0, in_words=True)
    assert words(ax) == [NO_ESTIMATE, "1.40 [1.10, 1.70]", "0.80 [0.60, 1.00]"]


def test_figures_have_dark_colours_on_dark_paper_only(table):
    with plots.paper(dark=True):
        dark = plots.plot_intervals(table, reference=1.0)
    assert dark.get_figure().get_facecolor()[:3] == mpl.colors.to_rgb(DARK.sheet)
    assert dark.lines[1].get_color() == DARK.hues[0]
    assert dark.xaxis.label.get_color() == DARK.ink
    assert plots.plot_intervals(table).lines[0].get_color() == LIGHT.hues[0]
    with plt.style.context("dark_background"):
        assert plots.plot_intervals(table).lines[0].get_color() == DARK.hues[0]


def test_the_colours_of_a_paper_are_all_different():
    for paper in (LIGHT, DARK):
        every = [paper.ink, paper.soft, paper.rule, paper.grid, paper.pale, *paper.hues]
        assert len(set(every)) == len(every)
    of_light = [LIGHT.sheet, LIGHT.ink, LIGHT.soft, LIGHT.rule, LIGHT.grid, LIGHT.pale, *LIGHT.hues, *LIGHT.letters]
    assert len(set(of_light)) == len(of_light)


def test_words_stand_out_from_their_paper_and_from_the_colours_they_are_written_on():
    for dark, paper in ((False, LIGHT), (True, DARK)):
        assert min(contrast(colour, paper.sheet) for colour in (paper.ink, paper.soft, *paper.letters)) >= 4.5
        with plots.paper(dark=dark):
            shades = diverging()(np.linspace(0.0, 1.0, 21))
        sheet = np.array(mpl.colors.to_rgb(paper.sheet))
        for red, green, blue, alpha in shades:
            assert contrast(paper.ink, alpha * np.array([red, green, blue]) + (1.0 - alpha) * sheet) >= 4.5


@pytest.mark.parametrize(
    "name", ["ranking", "sensitivity", "position", "profiles", "calibration", "leverage", "contrast"]
)
def test_figures_fit_narrow_paper_with_all_their_words(panel_fit, name):
    with plots.paper(width=3.9):
        ax = getattr(panel_fit.plot, name)(*(["mu[*] - mu[model-A]"] if name == "contrast" else []))
        figure = ax.get_figure()
        figure.canvas.draw()
    assert figure.get_figwidth() <= 3.9
    texts = [*ax.get_yticklabels(), ax.xaxis.label, ax.yaxis.label, ax.title, ax._left_title]
    assert is_inside(figure, [text for text in texts if text.get_text()])
    assert min(text.get_fontsize() for text in ax.get_yticklabels()) >= 8


def test_a_legend_below_narrow_figures_takes_no_room_from_them():
    items = [f"item {k}" for k in range(6)]
    places = pd.DataFrame({"consensus": range(1, 7), "j": range(6, 0, -1)}, index=items)
    with plots.paper(width=3.9):
        heights = []
        for family in (None, {item: f"a family with a long name {item}" for item in items}):
            ax = plots.plot_slopes(places, family=family)
            ax.get_figure().canvas.draw()
            heights.append(ax.get_window_extent().height)
    assert heights[1] == pytest.approx(heights[0], rel=0.1)


def test_a_few_judges_far_from_all_others_do_not_make_those_pale():
    residual = pd.DataFrame(np.full((20, 10), 0.1), map(str, range(20)), list("abcdefghij"))
    residual.iloc[0] = 3.0
    ax = plots.plot_heatmap(residual)
    assert ax.images[0].get_clim() == pytest.approx((-0.2, 0.2))
    assert ax.images[0].cmap.colorbar_extend == "both"


def test_names_of_profiles_without_room_stand_in_a_legend_and_leave_nothing_behind():
    items, judges = [f"item {k}" for k in range(20)], [f"a judge with a long name {k}" for k in range(8)]
    consensus = pd.Series(np.linspace(1.0, -1.0, 20), items)
    scores = pd.DataFrame([consensus * (1 + k / 100) for k in range(8)], judges)
    with plots.paper(width=3.9):
        ax = plots.plot_profiles(scores, consensus)
    assert list(ax.texts) == []
    assert [text.get_text() for text in ax.get_figure().legends[0].get_texts()] == judges
