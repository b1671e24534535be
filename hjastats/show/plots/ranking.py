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
from .labels import names

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

    A thin line is the interval of a single score; a thick one is for comparing two items: where they part, the items differ.
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
    groups = _shared_groups(table["group"]) if "group" in table else []
    ax = row_axes(ax, names(table.index), beside=_GROUP_STEP * len(groups) / 72.0)
    styles, legend = families(table.index, family)
    draw_intervals(ax, table["ci_lower"], table["ci_upper"], styles)
    if "comparison_lower" in table:
        draw_intervals(ax, table["comparison_lower"], table["comparison_upper"], styles, width=6.0, alpha=0.35)
    draw_dots(ax, table["score"], styles)
    finish_rows(ax, table["score"], xlabel, title)
    _draw_groups(ax, groups)
    family_legend(ax, legend, shift=_GROUP_STEP * len(groups) + 6.0)
    return ax


def _shared_groups(group: pd.Series) -> list[np.ndarray]:
    """Rows of every letter that several items share; a letter of one item says only that it differs from all others."""
    letters = [group_letters(str(text)) for text in group]
    rows = [
        np.array([row for row, own in enumerate(letters) if letter in own])
        for letter in dict.fromkeys(chain.from_iterable(letters))
    ]
    return [members for members in rows if len(members) > 1]


def group_letters(text: str) -> list[str]:
    """Every letter or number of a text such as "yz(27-29)".

    Examples
    --------
    >>> group_letters("yz(27-29)(31)")
    ['y', 'z', '27', '28', '29', '31']
    """
    found: list[str] = []
    for letter, first, last in re.findall(r"([a-z])|\((\d+)(?:-(\d+))?\)", text):
        found += [letter] if letter else [str(number) for number in range(int(first), int(last or first) + 1)]
    return found


def _draw_groups(ax: Axes, groups: list[np.ndarray]) -> None:
    """A vertical line per group with a dot for each of its items."""
    for column, rows in enumerate(groups):
        where = beside(ax, ax.get_yaxis_transform(), right=8.0 + _GROUP_STEP * column)
        ax.plot(
            np.ones(len(rows)),
            rows,
            color="0.35",
            linewidth=1.2,
            marker="o",
            markersize=3,
            transform=where,
            clip_on=False,
        )
    if groups:
        ax.text(
            1.0,
            1.0,
            "joined: cannot be told apart",
            transform=beside(ax, ax.transAxes, right=5.0, up=2.0),
            fontsize=FONT_SIZE - 1,
            color="0.35",
            va="bottom",
        )
