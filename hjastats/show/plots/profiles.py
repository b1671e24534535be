"""How each judge scores the items, beside the consensus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .canvas import colours, row_axes
from .colours import MARKERS, Family, families, family_legend, lettered, name_legend
from .labels import label_points, label_rows, names, write_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# More lines than this cannot be told apart by colour, marker and dashes.
MAX_COLOURS = 8


def plot_profiles(
    scores: pd.DataFrame,
    consensus: pd.Series,
    *,
    highlight: Sequence[str] | None = None,
    family: Family | None = None,
    xlabel: str = "score (log-odds)",
    title: str = "Scores of each judge, items in the order of the consensus",
    ax: Axes | None = None,
) -> Axes:
    """One line per judge over the items, the consensus in bold; names stand where judges are furthest from it.

    Parameters
    ----------
    scores : pandas.DataFrame
        Judges by items.
    consensus : pandas.Series
        Consensus scores, best item first: the order of the rows. Items without one come last.
    highlight : sequence of str, optional
        Judges drawn in colour, the others in grey; by default all of up to eight judges, of more none.
    family : pandas.Series or dict, optional
        Judge to family; lines then have the colours of the families, those of ``highlight`` if given, else all.
    xlabel, title : str
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> scores = pd.DataFrame([[1.0, -1.0], [0.2, -0.2]], ["j1", "j2"], ["a", "b"])
    >>> ax = plot_profiles(scores, pd.Series({"a": 0.6, "b": -0.6}), highlight=["j2"])
    >>> [text.get_text() for text in ax.texts], ax.get_xlabel()
    (['j2'], 'score (log-odds); bold: the consensus; grey: the other judge')
    """
    unknown = sorted(set(highlight or ()) - set(scores.index))
    if unknown:
        raise ValueError(f"no judge is called {', '.join(map(repr, unknown))}: highlight takes names of judges.")
    if highlight is None:
        highlight = list(scores.index) if len(scores) <= MAX_COLOURS or family is not None else []
    ax = row_axes(ax, names(consensus.index))
    scores = scores[consensus.index]
    ax.plot(consensus, range(len(consensus)), color=colours().ink, linewidth=2.8, marker="o", markersize=4, zorder=5)
    told = f"{xlabel}; bold: the consensus{_draw_others(ax, scores, list(highlight))}"
    ax.axvline(0.0, color=colours().rule, linewidth=0.8, linestyle=":", zorder=1)
    label_rows(ax, consensus.index)
    write_words(ax, title, told)
    ax.grid(axis="y", color=colours().grid, linewidth=0.6)
    some = scores.loc[list(highlight)]
    if family is None:
        lines = _draw_highlighted(ax, some)
        if not _name_furthest(ax, some, consensus, [lettered(str(line.get_color())) for line in lines]):
            name_legend(ax, lines, list(map(str, some.index)))
    else:
        _draw_families(ax, some, family)
    return ax


def _draw_highlighted(ax: Axes, scores: pd.DataFrame) -> list[Line2D]:
    """A line for every judge."""
    known = [hue for hue in colours().hues if hue not in ("#000000", "#ffffff")]
    return [
        ax.plot(
            scores.loc[judge],
            range(scores.shape[1]),
            color=known[number % len(known)],
            marker=MARKERS[number % len(MARKERS)],
            markersize=4,
            linestyle="--" if number >= len(known) else "-",
            linewidth=1.2,
            zorder=4,
        )[0]
        for number, judge in enumerate(scores.index)
    ]


def _name_furthest(ax: Axes, scores: pd.DataFrame, consensus: pd.Series, hues: list[str]) -> bool:
    """The name of every judge at the item that it scores furthest from the consensus, in the colour of its line.

    Returns whether there was room; without it for all, none is written.
    """
    distance = np.nan_to_num((scores - consensus).abs().to_numpy(float), nan=-1.0)
    if not distance.size:
        return True
    rows = distance.argmax(axis=1)
    x = np.nan_to_num(scores.to_numpy(float)[np.arange(len(scores)), rows])
    # Kept off all that is drawn in colour, and off the consensus: points along the lines stand for them.
    lines, ends = np.vstack([scores.to_numpy(float), consensus.to_numpy(float)]), np.arange(len(consensus))
    along = np.linspace(0.0, len(consensus) - 1.0, 4 * len(consensus) - 3)
    drawn = np.array([np.interp(along, ends, line) for line in lines])
    known = np.isfinite(drawn)
    x, y = np.concatenate([x, drawn[known]]), np.concatenate([rows, np.broadcast_to(along, drawn.shape)[known]])
    before = list(ax.texts)
    written = label_points(ax, x, y, list(scores.index), [True] * len(scores), hues)
    has_room = len(written) == len(scores)
    for text in [] if has_room else [text for text in ax.texts if text not in before]:
        text.remove()
    return has_room


def _draw_others(ax: Axes, scores: pd.DataFrame, highlight: list[str]) -> str:
    others = [judge for judge in scores.index if judge not in highlight]
    for judge in others:
        ax.plot(scores.loc[judge], range(scores.shape[1]), color=colours().pale, linewidth=0.9, zorder=2)
    if not others:
        return ""
    if len(others) == 1:
        return "; grey: the other judge"
    return f"; grey: {len(others)} {'other ' if highlight else ''}judges"


def _draw_families(ax: Axes, scores: pd.DataFrame, family: Family) -> None:
    styles, legend = families(scores.index, family)
    for judge, style in zip(scores.index, styles, strict=True):
        ax.plot(
            scores.loc[judge],
            range(scores.shape[1]),
            color=style.colour,
            marker=style.marker,
            markersize=3,
            linewidth=1.0,
            alpha=0.8,
        )
    family_legend(ax, legend)
