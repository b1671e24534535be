"""The residual as a heatmap, alone or with consensus, sensitivity and leverage at its margins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from .canvas import FONT_SIZE, LINE, axes, colours, is_narrow, label_inches, open_frame, pyplot
from .colours import Family, Style, diverging, families, family_legend, legend_inches, mark_families, plain
from .intervals import draw_dots, draw_intervals
from .labels import label_columns, label_rows, mark_missing, names, write_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

_BAR_LABEL = "disagreement with the consensus (log-odds)\norange: judge prefers the item more than the consensus does"
_COLUMN = 0.155
# Colours end at so many times what nine of ten cells stay below.
FAR = 2.0
# Points that the numbers beside a colour bar take, and a line of its words.
_BAR_NUMBERS, _BAR_LINE = 38.0, 12.0


def plot_heatmap(
    residual: pd.DataFrame, *, family: Family | None = None, title: str = "Disagreement", ax: Axes | None = None
) -> Axes:
    """Judges by items, in the order given, in colours symmetric around zero.

    Parameters
    ----------
    residual : pandas.DataFrame
        Judges by items; empty cells are grey, rows without any value say so.
    family : pandas.Series or dict, optional
        Judge or item to family.
    title : str
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> ax = plot_heatmap(pd.DataFrame([[0.5, -0.2], [-0.5, 0.2]], ["j1", "j2"], ["a", "b"]))
    >>> tuple(float(limit) for limit in ax.images[0].get_clim())
    (-0.5, 0.5)
    """
    width, height = _body_size(residual)
    extra = label_inches(names(residual.columns)), label_inches(names(residual.index))
    beside = extra[1] + 1.4 + legend_inches(family)
    ax = axes(ax, width + beside + 0.2, height + extra[0] + 0.8, least=_COLUMN * residual.shape[1] + beside)
    image = _draw_residual(ax, residual)
    # A bar as low as the rows has no room for a sentence.
    has_room = not is_narrow() and height > 0.8 * label_inches([_BAR_LABEL.partition("\n")[2]])
    finish_matrix(ax, residual, image, _BAR_LABEL if has_room else "log-odds", title, family)
    return ax


def plot_disagreement(
    residual: pd.DataFrame,
    *,
    consensus: pd.DataFrame,
    sensitivity: pd.DataFrame,
    leverage: pd.Series,
    family: Family | None = None,
    title: str = "What the consensus does not explain",
) -> Figure:
    """The heatmap with consensus scores above it, and sensitivity and size of the disagreement beside it.

    Parameters
    ----------
    residual : pandas.DataFrame
        Judges by items, in the order in which they are to be drawn.
    consensus, sensitivity : pandas.DataFrame
        Columns estimate, ci_lower, ci_upper, of the items and of the judges.
    leverage : pandas.Series
        Size h of each judge's disagreement.
    family : pandas.Series or dict, optional
        Judge or item to family.
    title : str

    Returns
    -------
    matplotlib.figure.Figure
        With axes "heatmap", "consensus", "sensitivity", "leverage" and "corner" (their labels), the last with the colour bar.

    Examples
    --------
    >>> import pandas as pd
    >>> residual = pd.DataFrame([[0.5, -0.5], [-0.5, 0.5]], index=["j1", "j2"], columns=["a", "b"])
    >>> frame = pd.DataFrame({"estimate": [0.3, -0.3, 1.2, 0.8]}, index=["a", "b", "j1", "j2"])
    >>> frame = frame.assign(ci_lower=frame["estimate"] - 0.2, ci_upper=frame["estimate"] + 0.2)
    >>> size = pd.Series({"j1": 0.7, "j2": 0.7})
    >>> figure = plot_disagreement(
    ...     residual, consensus=frame.loc[["a", "b"]], sensitivity=frame.loc[["j1", "j2"]], leverage=size
    ... )
    >>> sorted(ax.get_label() for ax in figure.axes)
    ['consensus', 'corner', 'heatmap', 'leverage', 'sensitivity']
    """
    width, height = _body_size(residual)
    label_width, label_height = label_inches(names(residual.index)), label_inches(names(residual.columns))
    margin, top = 1.25, 1.2
    figure = pyplot().figure(
        figsize=(width + label_width + 2 * margin + 0.6 + legend_inches(family), height + label_height + top + 0.7),
        layout="constrained",
    )
    grid = figure.add_gridspec(2, 3, width_ratios=[width, margin, margin], height_ratios=[top, height])
    heatmap = figure.add_subplot(grid[1, 0], label="heatmap")
    image = _draw_residual(heatmap, residual)
    legend = _draw_families(heatmap, residual, family)
    _draw_consensus(figure.add_subplot(grid[0, 0], label="consensus", sharex=heatmap), consensus.loc[residual.columns])
    _draw_sensitivity(
        figure.add_subplot(grid[1, 1], label="sensitivity", sharey=heatmap), sensitivity.loc[residual.index]
    )
    margin_axes = figure.add_subplot(grid[1, 2], label="leverage", sharey=heatmap)
    _draw_leverage(margin_axes, leverage.loc[residual.index])
    _draw_colour_bar(figure, figure.add_subplot(grid[0, 1:], label="corner"), image)
    family_legend(margin_axes, legend)
    figure.suptitle(title, fontsize=FONT_SIZE + 2, x=0.01, ha="left")
    return figure


def _body_size(residual: pd.DataFrame) -> tuple[float, float]:
    """Inches of the coloured cells."""
    n_rows, n_columns = residual.shape
    column = max(_COLUMN, min(0.3, 5.0 / n_columns))
    return max(3.5, column * n_columns), max(1.6, (LINE + 0.02) * n_rows)


def _draw_residual(ax: Axes, residual: pd.DataFrame) -> AxesImage:
    """The residual in colours symmetric around zero; a few judges far from all others do not make those pale."""
    size = residual.abs().to_numpy(float)
    size = size[np.isfinite(size)]
    largest = float(size.max(initial=0.0)) or 1.0
    typical = FAR * float(np.quantile(size, 0.9)) if size.size else 0.0
    shown = typical if 0.0 < typical < largest else largest
    image = draw_matrix(ax, residual, -shown, shown)
    colours_of: Any = image.cmap
    colours_of.colorbar_extend = "both" if shown < largest else "neither"
    return image


def draw_matrix(ax: Axes, table: pd.DataFrame, lowest: float, highest: float) -> AxesImage:
    """The values in colours from the lowest to the highest, under the names of rows and columns."""
    values = np.ma.masked_invalid(table.to_numpy(float))
    image = ax.imshow(values, cmap=diverging(), vmin=lowest, vmax=highest, aspect="auto", interpolation="nearest")
    label_rows(ax, table.index)
    label_columns(ax, table.columns)
    mark_missing(ax, np.flatnonzero(table.isna().all(axis=1)))
    return image


def finish_matrix(
    ax: Axes, table: pd.DataFrame, image: AxesImage, meaning: str, title: str, family: Family | None
) -> None:
    """A bar that says what the colours mean, if they need one, the title, and the families of rows and columns."""
    write_title(ax, title)
    legend = _draw_families(ax, table, family)
    if not meaning:
        family_legend(ax, legend)
        return
    figure: Any = ax.get_figure()
    bar = figure.colorbar(image, ax=ax, shrink=0.8, pad=0.02)
    bar.set_label(meaning, fontsize=FONT_SIZE)
    bar.ax.tick_params(labelsize=FONT_SIZE)
    width = _BAR_NUMBERS + _BAR_LINE * len(meaning.splitlines())
    family_legend(bar.ax, legend, shift=width)


def _draw_families(ax: Axes, table: pd.DataFrame, family: Family | None) -> dict[str, Style]:
    """Markers beside the labels of those sides that have families; judges and items share one set of colours."""
    if family is None:
        return {}
    known = set(pd.Series(family).index)
    sides: dict[Literal["x", "y"], pd.Index] = {"y": table.index, "x": table.columns}
    told = {axis: labels for axis, labels in sides.items() if known & set(labels)}
    styles, legend = families([label for labels in told.values() for label in labels], family)
    for axis, labels in told.items():
        mark_families(ax, styles[: len(labels)], axis)
        styles = styles[len(labels) :]
    return legend


def _draw_consensus(ax: Axes, consensus: pd.DataFrame) -> None:
    columns = np.arange(len(consensus))
    estimate = consensus["estimate"].to_numpy(float)
    ax.bar(columns, np.nan_to_num(estimate), color=colours().hues[0], alpha=0.5, width=0.7)
    ax.vlines(columns, consensus["ci_lower"], consensus["ci_upper"], color=colours().ink, linewidth=1.0)
    ax.axhline(0.0, color=colours().rule, linewidth=0.8)
    for column in columns[np.isnan(estimate)]:
        ax.text(column, 0.0, " none", rotation=90, ha="center", va="bottom", fontsize=FONT_SIZE - 1, style="italic")
    ax.tick_params(axis="x", labelbottom=False, length=0)
    ax.tick_params(axis="y", labelsize=FONT_SIZE)
    ax.set_ylabel("consensus\n(log-odds)", fontsize=FONT_SIZE)
    open_frame(ax)


def _draw_sensitivity(ax: Axes, sensitivity: pd.DataFrame) -> None:
    styles = [plain()] * len(sensitivity)
    ax.axvline(1.0, color=colours().rule, linewidth=1.0, linestyle="--")
    draw_intervals(ax, sensitivity["ci_lower"], sensitivity["ci_upper"], styles)
    draw_dots(ax, sensitivity["estimate"], styles)
    mark_missing(ax, np.flatnonzero(sensitivity["estimate"].isna()))
    _finish_margin(ax, "sensitivity\n(panel average 1)")


def _draw_leverage(ax: Axes, leverage: pd.Series) -> None:
    ax.barh(np.arange(len(leverage)), leverage.fillna(0.0), color=colours().hues[1], alpha=0.7, height=0.7)
    mark_missing(ax, np.flatnonzero(leverage.isna()))
    _finish_margin(ax, "disagreement\nh (log-odds)")


def _finish_margin(ax: Axes, xlabel: str) -> None:
    ax.tick_params(axis="y", labelleft=False, length=0)
    ax.tick_params(axis="x", labelsize=FONT_SIZE)
    ax.set_xlabel(xlabel, fontsize=FONT_SIZE)
    open_frame(ax)


def _draw_colour_bar(figure: Figure, corner: Axes, image: AxesImage) -> None:
    corner.axis("off")
    bar = figure.colorbar(
        image, cax=corner.inset_axes((0.05, 0.55, 0.9, 0.12), label="colours"), orientation="horizontal"
    )
    bar.set_label("disagreement with the consensus\norange: prefers the item more", fontsize=FONT_SIZE)
    bar.ax.tick_params(labelsize=FONT_SIZE)
