"""The ranking: scores with their intervals, and the places that cannot be ruled out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from .canvas import FONT_SIZE, colours, is_narrow, label_inches, open_frame, row_axes, whole_numbers
from .colours import Family, Style, families, family_legend
from .intervals import draw_dots, draw_intervals, finish_rows
from .labels import in_lines, names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inches of the strip of places, and of the text at its end.
_STRIP, _TEXT = 1.7, 0.5


def plot_ranking(
    table: pd.DataFrame,
    *,
    xlabel: str = "consensus score (log-odds)",
    title: str = "Ranking",
    family: Family | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Items, best first, with the intervals of their scores, and beside them the places that cannot be ruled out.

    Lines are intervals of single scores. Bars are joint: where those of two items do not overlap, their order is known.

    Parameters
    ----------
    table : pandas.DataFrame
        Best item first: score, ci_lower, ci_upper; optionally place, place_lower and place_upper (as of ``result.ranking()``).
        Rows without a score are shown as such.
    xlabel, title : str
    family : pandas.Series or dict, optional
        Item to family; families get colours.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> table = pd.DataFrame({"score": [1.0, -1.0], "ci_lower": [0.5, -1.5], "ci_upper": [1.5, -0.5]}, ["x", "y"])
    >>> [text.get_text() for text in plot_ranking(table).get_yticklabels()]
    ['x', 'y']
    """
    has_places = "place_lower" in table
    strip = None
    if has_places and ax is None:
        beside = (1.0 if is_narrow() else _STRIP) + _TEXT
        ax, strip = _two_axes(names(table.index), beside)
    else:
        ax = row_axes(ax, names(table.index))
        strip = ax.inset_axes((1.03, 0.0, 0.3, 1.0)) if has_places else None
    styles, legend = families(table.index, family)
    draw_intervals(ax, table["ci_lower"], table["ci_upper"], styles)
    draw_dots(ax, table["score"], styles)
    finish_rows(ax, table["score"], in_lines(xlabel, 17), title)
    if strip is not None:
        _draw_places(strip, table, styles)
    family_legend(ax if strip is None else strip, legend, shift=72.0 * _TEXT if strip is not None else 0.0)
    return ax


def _two_axes(labels: list[str], beside: float) -> tuple[Axes, Axes]:
    """Axes with a line of text per row, and others of the same height beside them."""
    one = row_axes(None, labels, beside)
    figure: Any = one.get_figure()
    one.remove()
    scores = figure.get_figwidth() - beside - label_inches(labels)
    grid = figure.add_gridspec(1, 2, width_ratios=[max(scores, 1.2), beside])
    return figure.add_subplot(grid[0]), figure.add_subplot(grid[1], label="places")


def _draw_places(strip: Axes, table: pd.DataFrame, styles: list[Style]) -> None:
    """A bar from the best to the worst possible place of every item, with both in words at its end."""
    low, high = table["place_lower"].to_numpy(int), table["place_upper"].to_numpy(int)
    rows = range(len(table))
    strip.barh(rows, high - low + 1, left=low - 0.5, color=[style.colour for style in styles], alpha=0.45, height=0.62)
    strip.plot(table["place"], rows, "|", color=colours().ink, markersize=7)
    largest = int(high.max())
    for row in rows:
        text = f"{low[row]}–{high[row]}" if low[row] < high[row] else str(low[row])
        where = strip.get_yaxis_transform()
        strip.text(1.03, row, text, transform=where, va="center", fontsize=FONT_SIZE, color=colours().soft)
    strip.set_xlim(0.5, largest + 0.5)
    strip.set_ylim(len(table) - 0.5, -0.5)
    strip.set_yticks([])
    whole_numbers(strip.xaxis, 4 if is_narrow() else 8)
    strip.set_xlabel(in_lines("possible places", 8), fontsize=FONT_SIZE + 1)
    strip.grid(axis="y", color=colours().grid, linewidth=0.6)
    strip.set_axisbelow(True)
    open_frame(strip)
    strip.spines["left"].set_visible(False)
