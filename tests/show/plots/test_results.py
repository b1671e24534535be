import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import hjastats as hja
from hjastats.show.plots.labels import NO_ESTIMATE

from .reading import column_names, extents, is_inside, legend_names, n_overlaps, row_names, words

ON_AXES = ["ranking", "sensitivity", "position", "profiles", "leverage", "probabilities", "comparisons"]


@pytest.mark.parametrize("name", [*ON_AXES, "convergence", "calibration"])
def test_every_figure_is_returned_as_axes_that_explain_themselves(panel_fit, name):
    ax = getattr(panel_fit.plot, name)()
    assert isinstance(ax, Axes)
    assert ax.get_title(loc="left")
    if name not in ("probabilities", "comparisons"):
        assert ax.get_xlabel()


def test_ranking_follows_the_table(panel_fit):
    ax = panel_fit.plot.ranking()
    assert row_names(ax) == list(panel_fit.ranking().index)
    assert row_names(panel_fit.plot.ranking("judge-1")) == list(panel_fit.ranking("judge-1").index)


def test_sensitivity_is_against_one_and_position_against_zero(panel_fit):
    assert set(panel_fit.plot.sensitivity().lines[0].get_xdata()) == {1.0}
    ax = panel_fit.plot.position()
    assert set(ax.lines[0].get_xdata()) == {0.0}
    assert row_names(ax)[0] == "judge-first"


def test_the_composite_figure_shows_the_same_order_in_all_its_parts(panel_fit):
    figure = panel_fit.plot.disagreement(family={"judge-1": "one", "model-A": "two"})
    assert isinstance(figure, Figure)
    parts = {ax.get_label(): ax for ax in figure.axes}
    heatmap = parts["heatmap"]
    residual = panel_fit.disagreement.loc[row_names(heatmap), column_names(heatmap)]
    np.testing.assert_allclose(heatmap.images[0].get_array(), residual)
    low, high = heatmap.images[0].get_clim()
    assert -low == high == np.abs(residual.to_numpy()).max()
    heights = [bar.get_height() for bar in parts["consensus"].patches]
    np.testing.assert_allclose(heights, panel_fit.consensus.loc[residual.columns, "estimate"])
    widths = [bar.get_width() for bar in parts["leverage"].patches]
    np.testing.assert_allclose(widths, panel_fit.judges.leverage().loc[residual.index, "h"])
    assert legend_names(parts["leverage"]) == ["one", "two", "no family given"]


def test_with_axes_only_the_heatmap_is_drawn(panel_fit):
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    assert panel_fit.plot.disagreement(ax=ax) is ax


def test_probabilities_are_those_of_the_model_without_position(panel_fit):
    ax = panel_fit.plot.probabilities("judge-2")
    items = row_names(ax)
    expected = panel_fit.predict(judge="judge-2", item_a=items[0], item_b=items[1], position=False)
    assert ax.images[0].get_array()[0, 1] == pytest.approx(float(expected[0]))


def test_convergence_shows_every_start(panel, panel_fit):
    assert len(panel_fit.plot.convergence().lines) == panel_fit.fit.search.n_starts
    alternating = hja.HJAModel.from_comparisons(panel).fit(method="alternating")
    assert "alternating" in legend_names(alternating.plot.convergence())


def test_models_without_the_quantity_say_so(panel):
    btl, ja = hja.BTLModel.from_comparisons(panel).fit(), hja.JAModel.from_comparisons(panel).fit()
    for name in ("sensitivity", "profiles", "disagreement", "leverage"):
        with pytest.raises(ValueError, match="all judges of this model have the same scores"):
            getattr(btl.plot, name)()
    for name in ("disagreement", "leverage"):
        with pytest.raises(ValueError, match="no disagreement: fit HJAModel with rank 1"):
            getattr(ja.plot, name)()
    with pytest.raises(ValueError, match="no position effects"):
        ja.plot.position()
    with pytest.raises(ValueError, match="no judge is called 'nobody'"):
        ja.plot.probabilities("nobody")
    assert ja.plot.sensitivity().get_yticklabels()


def test_the_judge_wise_model_has_all_figures(panel):
    result = hja.JudgewiseBTLModel.from_comparisons(panel).fit()
    assert row_names(result.plot.ranking()) == list(result.consensus.index)
    best = list(result.sensitivity.sort_values("estimate", ascending=False).index)
    assert row_names(result.plot.sensitivity()) == best
    heatmap = next(ax for ax in result.plot.disagreement().axes if ax.get_label() == "heatmap")
    shown = result.disagreement.loc[row_names(heatmap), column_names(heatmap)]
    np.testing.assert_allclose(heatmap.images[0].get_array(), shown)
    assert row_names(result.plot.profiles()) == list(result.consensus.index)
    assert set(words(result.plot.leverage())) <= set(panel.judges)
    assert set(words(result.plot.leverage())) >= {"judge-1", "judge-5"}


def test_results_read_from_a_file_have_figures(panel_fit, tmp_path):
    path = tmp_path / "result.json"
    panel_fit.to_json(path)
    loaded = hja.load_results(path)
    assert row_names(loaded.plot.ranking()) == row_names(panel_fit.plot.ranking())
    with pytest.raises(ValueError, match="the steps of this fit were not kept"):
        loaded.plot.convergence()


def test_items_that_run_to_infinity_are_shown_as_such(separated_fit):
    ax = separated_fit.plot.ranking()
    assert row_names(ax)[0] == "i4"
    assert words(ax) == [NO_ESTIMATE]
    ax = separated_fit.plot.probabilities()
    assert NO_ESTIMATE in words(ax)
    figure = separated_fit.plot.disagreement()
    figure.canvas.draw()
    heatmap = next(ax for ax in figure.axes if ax.get_label() == "heatmap")
    assert np.ma.getmaskarray(heatmap.images[0].get_array())[:, column_names(heatmap).index("i4")].all()
    for name in ("sensitivity", "profiles", "leverage", "comparisons"):
        getattr(separated_fit.plot, name)().get_figure().canvas.draw()


@pytest.mark.parametrize("name", ["ranking", "sensitivity", "position", "profiles", "probabilities"])
@pytest.mark.parametrize("has_family", [False, True])
def test_twenty_judges_and_fifty_items_with_long_names_stay_legible(crowd, name, has_family):
    ax = getattr(crowd.plot, name)(family=_families(crowd) if has_family else None)
    figure = ax.get_figure()
    figure.canvas.draw()
    low, high = sorted(ax.get_xlim())
    on_scale = [text for text in ax.get_xticklabels() if low <= text.get_position()[0] <= high]
    for labels in (ax.get_yticklabels(), on_scale):
        assert n_overlaps(labels) == 0
        assert is_inside(figure, labels)
    legend = ax.get_legend()
    if legend is not None:
        assert n_overlaps(legend.get_texts()) == 0
        assert is_inside(figure, legend.get_texts())
        assert n_overlaps([*legend.get_texts(), *ax.get_yticklabels()]) == 0


def test_the_composite_figure_of_a_crowd_stays_legible(crowd):
    figure = crowd.plot.disagreement(family=_families(crowd))
    figure.canvas.draw()
    parts = {ax.get_label(): ax for ax in figure.axes}
    heatmap, legend = parts["heatmap"], parts["leverage"].get_legend().get_texts()
    assert len(heatmap.get_yticklabels()) == 20
    assert len(heatmap.get_xticklabels()) == 50
    labels = [*heatmap.get_yticklabels(), *heatmap.get_xticklabels(), *legend]
    assert n_overlaps(labels) == 0
    assert is_inside(figure, labels)


def test_names_around_the_circle_leave_room_for_each_other(crowd):
    ax = crowd.plot.comparisons()
    figure = ax.get_figure()
    figure.canvas.draw()
    assert len(ax.texts) == 50
    assert is_inside(figure, ax.texts)
    place = ax.transData.transform([text.get_position() for text in ax.texts])
    gap = np.linalg.norm(np.diff(place, axis=0), axis=1).min() * 72 / figure.dpi
    assert gap > ax.texts[0].get_fontsize()


def test_names_of_outliers_do_not_cover_each_other(crowd):
    ax = crowd.plot.leverage(family=_families(crowd))
    ax.get_figure().canvas.draw()
    assert len(ax.texts) > 10
    assert n_overlaps(ax.texts) == 0
    assert (extents(ax.texts)[:, 2] <= ax.get_window_extent().x1 + 1).all()


def _families(fit):
    labels = [*fit.model.judges, *fit.model.items]
    return pd.Series([label.split("/")[0] for label in labels], index=labels)


@pytest.mark.parametrize("name", ["ranking", "profiles", "probabilities", "comparisons", "sensitivity", "position"])
def test_figures_of_many_rows_show_the_first_and_last_and_say_so(panel_fit, name):
    ax = getattr(panel_fit.plot, name)(max_rows=5)
    what = "8 judges" if name in ("sensitivity", "position") else "10 items"
    assert ax.get_title(loc="left").endswith(f": the first 3 and last 2 of {what}")
    texts = [text.get_text() for text in (ax.texts if name == "comparisons" else ax.get_yticklabels())]
    best = (
        list(panel_fit.consensus.index)
        if what == "10 items"
        else list(getattr(panel_fit, name).sort_values("estimate", ascending=False).index)
    )
    assert [text for text in texts if text in best] == [*best[:3], *best[-2:]]


def test_a_heatmap_of_many_rows_shows_where_the_disagreement_is(panel_fit):
    figure = panel_fit.plot.disagreement(max_rows=4)
    heatmap = next(ax for ax in figure.axes if ax.get_label() == "heatmap")
    size = panel_fit.disagreement.pow(2).sum(axis=1)
    assert {text.get_text() for text in heatmap.get_yticklabels()} == set(size.nlargest(4).index)
