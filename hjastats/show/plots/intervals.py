"""Estimates with intervals, one row each, against a value of reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .canvas import FONT_SIZE, colours, is_narrow, row_axes
from .colours import Family, Style, draw_markers, families, family_legend
from .labels import label_rows, mark_missing, names, write_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inches of an estimate with its interval in words.
_NUMBERS = 1.4


def plot_intervals(
    table: pd.DataFrame,
    *,
    reference: float | None = None,
    xlabel: str = "estimate",
    title: str = "",
    family: Family | None = None,
    sort: bool = True,
    in_words: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Dots with intervals, largest estimate first; dots are hollow where the interval holds the reference.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns estimate, ci_lower, ci_upper; one row per label. Rows without an estimate are shown as such, at the end.
    reference : float, optional
        Where to draw a vertical line.
    xlabel, title : str
    family : pandas.Series or dict, optional
        Label to family; families get colours.
    sort : bool
        Whether the largest comes first; otherwise rows keep their order.
    in_words : bool
        Whether the numbers stand beside the lines, too.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in; by default a new figure that grows with the number of rows.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> table = pd.DataFrame({"estimate": [0.8, 1.3], "ci_lower": [0.6, 1.1], "ci_upper": [1.0, 1.5]}, ["j1", "j2"])
    >>> [text.get_text() for text in plot_intervals(table, reference=1.0).get_yticklabels()]
    ['j2', 'j1']
    """
    table = table.sort_values("estimate", ascending=False, kind="stable") if sort else table
    ax = row_axes(ax, names(table.index), beside=_NUMBERS if in_words and not is_narrow() else 0.0)
    styles, legend = families(table.index, family)
    if reference is not None:
        ax.axvline(reference, color=colours().rule, linewidth=1.0, linestyle="--", zorder=1)
    draw_intervals(ax, table["ci_lower"], table["ci_upper"], styles)
    is_open = None if reference is None else table["ci_lower"].le(reference) & table["ci_upper"].ge(reference)
    draw_dots(ax, table["estimate"], styles, is_open)
    finish_rows(ax, table["estimate"], xlabel, title)
    if in_words and not is_narrow():
        _write_numbers(ax, table)
    family_legend(ax, legend, shift=72.0 * _NUMBERS if in_words else 0.0)
    return ax


def _write_numbers(ax: Axes, table: pd.DataFrame) -> None:
    """Estimate and interval of every row at the right."""
    for row, (estimate, low, high) in enumerate(table[["estimate", "ci_lower", "ci_upper"]].itertuples(index=False)):
        if np.isfinite(estimate):
            ax.text(
                1.02,
                row,
                f"{estimate:.2f} [{low:.2f}, {high:.2f}]",
                transform=ax.get_yaxis_transform(),
                va="center",
                fontsize=FONT_SIZE,
                color=colours().soft,
            )


def draw_intervals(
    ax: Axes, lower: pd.Series, upper: pd.Series, styles: list[Style], *, width: float = 1.4, alpha: float = 1.0
) -> None:
    """One horizontal line per row; rows without an interval get none."""
    colours = [style.colour for style in styles]
    ax.hlines(range(len(lower)), lower, upper, colors=colours, linewidth=width, alpha=alpha, zorder=2)


def draw_dots(ax: Axes, estimate: pd.Series, styles: list[Style], is_open: pd.Series | None = None) -> None:
    """One dot per row that has an estimate, some of them hollow."""
    draw_markers(ax, estimate, range(len(estimate)), styles, markersize=5, zorder=4)
    if is_open is not None:
        hollow = estimate.where(is_open)
        inner = [Style(colours().sheet, style.marker) for style in styles]
        draw_markers(ax, hollow, range(len(estimate)), inner, markersize=2.6, zorder=5)


def finish_rows(ax: Axes, estimate: pd.Series, xlabel: str, title: str) -> None:
    """Names of the rows, notes where there is no estimate, axis and title."""
    label_rows(ax, estimate.index)
    mark_missing(ax, np.flatnonzero(~np.isfinite(estimate.to_numpy(float))))
    write_words(ax, title, xlabel)
    ax.grid(axis="y", color=colours().grid, linewidth=0.6)
    ax.set_axisbelow(True)
