"""Estimates with intervals, one row each, against a value of reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .canvas import row_axes
from .colours import Family, Style, draw_markers, families, family_legend
from .labels import label_rows, mark_missing, names, write_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_intervals(
    table: pd.DataFrame,
    *,
    reference: float | None = None,
    xlabel: str = "estimate",
    title: str = "",
    family: Family | None = None,
    sort: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Dots with intervals, largest estimate first.

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
    ax = row_axes(ax, names(table.index))
    styles, legend = families(table.index, family)
    if reference is not None:
        ax.axvline(reference, color="0.4", linewidth=1.0, linestyle="--", zorder=1)
    draw_intervals(ax, table["ci_lower"], table["ci_upper"], styles)
    draw_dots(ax, table["estimate"], styles)
    finish_rows(ax, table["estimate"], xlabel, title)
    family_legend(ax, legend)
    return ax


def draw_intervals(
    ax: Axes, lower: pd.Series, upper: pd.Series, styles: list[Style], *, width: float = 1.4, alpha: float = 1.0
) -> None:
    """One horizontal line per row; rows without an interval get none."""
    colours = [style.colour for style in styles]
    ax.hlines(range(len(lower)), lower, upper, colors=colours, linewidth=width, alpha=alpha, zorder=2)


def draw_dots(ax: Axes, estimate: pd.Series, styles: list[Style]) -> None:
    """One dot per row that has an estimate."""
    draw_markers(ax, estimate, range(len(estimate)), styles, markersize=5, zorder=4)


def finish_rows(ax: Axes, estimate: pd.Series, xlabel: str, title: str) -> None:
    """Names of the rows, notes where there is no estimate, axis and title."""
    label_rows(ax, estimate.index)
    mark_missing(ax, np.flatnonzero(~np.isfinite(estimate.to_numpy(float))))
    write_words(ax, title, xlabel)
    ax.grid(axis="y", color="0.92", linewidth=0.6)
    ax.set_axisbelow(True)
