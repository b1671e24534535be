"""Groups side by side: places as lines, differences as a table in colours, judges over time."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .canvas import FONT_SIZE, LINE, axes, colours, is_narrow, label_inches, open_frame
from .colours import diverging, lettered, name_legend, style
from .labels import LITERAL, names, write_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inches for a group, and on narrow paper.
_COLUMN, _NARROW = 0.9, 0.45


def plot_places(
    table: pd.DataFrame, coloured: Collection[str] = (), *, xlabel: str = "group", ax: Axes | None = None
) -> Axes:
    """Places of items over groups, a line for each; those of some items are coloured.

    Parameters
    ----------
    table : pandas.DataFrame
        Places by item and group, in the order in which they are drawn.
    coloured : collection of str

    Examples
    --------
    >>> table = pd.DataFrame({"all": [1, 2], "math": [2, 1]}, ["x", "y"])
    >>> len(plot_places(table, ["x"]).lines)
    2
    """
    items, groups = names(table.index), names(table.columns)
    column = _NARROW if is_narrow() else _COLUMN
    inches = column * (len(groups) + 0.5) + 2.0 * label_inches(items)
    ax = axes(ax, inches, max(2.8, 1.3 + LINE * len(items)), inches)
    at, place = np.arange(len(groups)), table.to_numpy(dtype=float, na_value=np.nan)
    hues = {item: style(i).colour for i, item in enumerate(item for item in table.index if item in coloured)}
    for item, row in zip(table.index, place, strict=True):
        is_coloured = item in hues
        ax.plot(
            at,
            row,
            marker="o",
            markersize=5,
            color=hues.get(item, colours().pale),
            linewidth=1.8 if is_coloured else 1.0,
            zorder=3 if is_coloured else 2,
        )
    gap = 0.11 / column
    for side, number in (("left", 0), ("right", len(groups) - 1)):
        for name, item, row in zip(items, table.index, place, strict=True):
            if np.isfinite(row[number]):
                ax.text(
                    number + (-gap if side == "left" else gap),
                    row[number],
                    name,
                    ha="right" if side == "left" else "left",
                    va="center",
                    fontsize=FONT_SIZE,
                    color=lettered(hues.get(item, colours().ink)),
                    **LITERAL,
                )
    _group_axis(ax, groups, xlabel)
    write_title(ax, "Places" + (" (coloured: differs beyond chance)" if hues else ""))
    ax.set_ylim(len(table) + 0.6, 0.4)
    width = label_inches(items) / column
    ax.set_xlim(-0.3 - width, len(groups) - 0.7 + width)
    open_frame(ax)
    ax.spines["left"].set_visible(False)
    ax.set_yticks([])
    return ax


def _group_axis(ax: Axes, groups: list[str], xlabel: str) -> None:
    is_long = max(map(len, groups)) > (4 if is_narrow() else 9)
    ax.set_xticks(
        range(len(groups)),
        groups,
        fontsize=FONT_SIZE,
        rotation=35 if is_long else 0,
        ha="right" if is_long else "center",
        **LITERAL,
    )
    ax.set_xlabel(xlabel, **LITERAL)


def plot_differences(
    table: pd.DataFrame,
    is_clear: np.ndarray,
    *,
    title: str = "Difference from all other groups (coloured: beyond chance)",
    xlabel: str = "group",
    ax: Axes | None = None,
) -> Axes:
    """Differences by item and group as a table; only those that are clear are coloured.

    Parameters
    ----------
    table : pandas.DataFrame
    is_clear : ndarray of bool, of the same shape

    Examples
    --------
    >>> table = pd.DataFrame({"math": [1.0, -0.1]}, ["x", "y"])
    >>> [text.get_text() for text in plot_differences(table, table.to_numpy() > 0.5).texts]
    ['+1.00', '-0.10']
    """
    items, groups = names(table.index), names(table.columns)
    values = table.to_numpy(dtype=float)
    inches = 2.2 + 0.75 * len(groups) + label_inches(items)
    ax = axes(ax, inches, max(2.4, 1.5 + 0.26 * len(items)), inches)
    largest = max(float(np.nanmax(np.abs(np.where(is_clear, values, 0.0)), initial=0.0)), 1e-9)
    shown = np.ma.masked_invalid(np.where(is_clear, values, 0.0))
    image = ax.imshow(shown, cmap=diverging(), vmin=-largest, vmax=largest, aspect="auto")
    for i, j in np.ndindex(values.shape):
        if np.isfinite(values[i, j]):
            colour = colours().ink if is_clear[i, j] else colours().soft
            ax.text(j, i, f"{values[i, j]:+.2f}", ha="center", va="center", fontsize=FONT_SIZE - 1, color=colour)
    _group_axis(ax, groups, xlabel)
    ax.set_yticks(range(len(items)), items, **LITERAL)
    ax.tick_params(labelsize=FONT_SIZE, length=0)
    write_title(ax, title)
    if is_clear.any():
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.8)
        bar.ax.tick_params(labelsize=FONT_SIZE)
        bar.set_label("log-odds", fontsize=FONT_SIZE)
    return ax


def plot_monitor(
    table: pd.DataFrame,
    coloured: Collection[str] = (),
    *,
    xlabel: str = "group",
    ylabel: str = "position effect",
    ax: Axes | None = None,
) -> Axes:
    """Estimates of judges over groups with 95% intervals of those that are coloured.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns judge, group, estimate, std_err; groups in the order in which they are drawn.
    coloured : collection of str

    Examples
    --------
    >>> table = pd.DataFrame({"judge": ["a", "a"], "group": ["v1", "v2"], "estimate": [0.1, 0.9], "std_err": [0.1, 0.1]})
    >>> plot_monitor(table, ["a"]).get_legend().get_texts()[0].get_text()
    'a'
    """
    order = list(dict.fromkeys(table["group"]))
    ax = axes(ax, max(5.0, 2.6 + 0.8 * len(order)) + label_inches(names(coloured)), 3.6)
    hues = {judge: style(i).colour for i, judge in enumerate(coloured)}
    handles = {}
    for judge, own in table.groupby("judge", sort=False):
        at = [order.index(group) for group in own["group"]]
        colour = hues.get(str(judge), colours().pale)
        (line,) = ax.plot(at, own["estimate"], marker="o", markersize=4, color=colour, zorder=3 if judge in hues else 2)
        if judge in hues:
            ax.errorbar(at, own["estimate"], 1.96 * own["std_err"], fmt="none", color=colour, capsize=3, zorder=3)
            handles[str(judge)] = line
    _group_axis(ax, names(order), xlabel)
    ax.set_ylabel(ylabel)
    write_title(ax, "Judges over the groups" + (" (coloured: changes beyond chance)" if hues else ""))
    open_frame(ax)
    if handles:
        name_legend(ax, list(handles.values()), list(handles), "judge")
    return ax
