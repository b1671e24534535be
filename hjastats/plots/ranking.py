"""The ranking: scores with two kinds of intervals, and who cannot be told from whom."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .canvas import FONT_SIZE, beside, row_axes
from .colours import Family, families, family_legend
from .intervals import draw_dots, draw_intervals, finish_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Points between the lines of neighbouring groups.
_GROUP_STEP = 5.0


def plot_ranking(
    table: pd.DataFrame,
    *,
    xlabel: str = "consensus score (log-odds)",
    title: str = "Ranking",
    family: Family | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Items, best first, with the intervals of their scores, comparison intervals and tied groups.

    A thin line is the interval of a single score; a thick one is for comparing items: two that do not overlap differ.
    To the right, every vertical line joins items that cannot be told apart.

    Parameters
    ----------
    table : pandas.DataFrame
        Best item first: score, ci_lower, ci_upper; optionally comparison_lower and comparison_upper, and group (letters as
        of ``result.ranking()``). Rows without a score are shown as such.
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
    ax = row_axes(ax, len(table))
    styles, legend = families(table.index, family)
    draw_intervals(ax, table["ci_lower"], table["ci_upper"], styles)
    if "comparison_lower" in table:
        draw_intervals(ax, table["comparison_lower"], table["comparison_upper"], styles, width=6.0, alpha=0.35)
    draw_dots(ax, table["score"], styles)
    finish_rows(ax, table["score"], xlabel, title)
    n_groups = _draw_groups(ax, table["group"]) if "group" in table else 0
    family_legend(ax, legend, shift=_GROUP_STEP * n_groups + 6.0)
    return ax


def _draw_groups(ax: Axes, group: pd.Series) -> int:
    """A vertical line per letter with a dot for each of its items; returns the number of letters."""
    letters = [re.findall(r"\(\d+\)|[a-z]", str(text)) for text in group]
    # Letters with one item say only that it differs from all others.
    shared = [
        letter for letter in dict.fromkeys(chain.from_iterable(letters)) if sum(letter in own for own in letters) > 1
    ]
    for column, letter in enumerate(shared):
        rows = np.array([row for row, own in enumerate(letters) if letter in own])
        line = beside(ax, ax.get_yaxis_transform(), right=8.0 + _GROUP_STEP * column)
        ax.plot(
            np.ones(len(rows)),
            rows,
            color="0.35",
            linewidth=1.2,
            marker="o",
            markersize=3,
            transform=line,
            clip_on=False,
        )
    if shared:
        ax.text(
            1.0,
            1.0,
            "joined: cannot be told apart",
            transform=beside(ax, ax.transAxes, right=5.0, up=2.0),
            fontsize=FONT_SIZE - 1,
            color="0.35",
            va="bottom",
        )
    return len(shared)
