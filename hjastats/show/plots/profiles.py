"""How each judge scores the items, beside the consensus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from .canvas import row_axes
from .colours import MARKERS, PALE, PALETTE, Family, families, name_legend
from .labels import label_rows, names, write_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# More lines than this cannot be told apart by colour, marker and dashes.
MAX_COLOURS = 8
_COLOURS = tuple(colour for colour in PALETTE if colour != "#000000")


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
    """One line per judge over the items, the consensus in bold.

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
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['consensus', 'j2', 'the other judge']
    """
    unknown = sorted(set(highlight or ()) - set(scores.index))
    if unknown:
        raise ValueError(f"no judge is called {', '.join(map(repr, unknown))}: highlight takes names of judges.")
    if highlight is None:
        highlight = list(scores.index) if len(scores) <= MAX_COLOURS or family is not None else []
    ax = row_axes(ax, names(consensus.index), beside=1.0)
    scores = scores[consensus.index]
    rows = range(len(consensus))
    entries = {
        "consensus": ax.plot(consensus, rows, color="black", linewidth=2.8, marker="o", markersize=4, zorder=5)[0]
    }
    if family is None:
        entries |= _draw_highlighted(ax, scores, list(highlight))
    else:
        entries |= _draw_families(ax, scores.loc[list(highlight)], family)
    entries |= _draw_others(ax, scores, list(highlight))
    ax.axvline(0.0, color="0.6", linewidth=0.8, linestyle=":", zorder=1)
    label_rows(ax, consensus.index)
    write_words(ax, title, xlabel)
    ax.grid(axis="y", color="0.92", linewidth=0.6)
    name_legend(ax, list(entries.values()), list(entries))
    return ax


def _draw_highlighted(ax: Axes, scores: pd.DataFrame, highlight: list[str]) -> dict[str, Line2D]:
    entries: dict[str, Line2D] = {}
    for number, judge in enumerate(highlight):
        entries[judge] = ax.plot(
            scores.loc[judge],
            range(scores.shape[1]),
            color=_COLOURS[number % len(_COLOURS)],
            marker=MARKERS[number % len(MARKERS)],
            markersize=4,
            linestyle="--" if number >= len(_COLOURS) else "-",
            linewidth=1.2,
            zorder=4,
        )[0]
    return entries


def _draw_others(ax: Axes, scores: pd.DataFrame, highlight: list[str]) -> dict[str, Line2D]:
    others = [judge for judge in scores.index if judge not in highlight]
    if not others:
        return {}
    lines = [
        ax.plot(scores.loc[judge], range(scores.shape[1]), color=PALE, linewidth=0.9, zorder=2)[0] for judge in others
    ]
    name = "the other judge" if len(others) == 1 else f"{len(others)} {'other ' if highlight else ''}judges"
    return {name: lines[0]}


def _draw_families(ax: Axes, scores: pd.DataFrame, family: Family) -> dict[str, Line2D]:
    styles, legend = families(scores.index, family)
    entries: dict[str, Line2D] = {}
    for judge, style in zip(scores.index, styles, strict=True):
        (line,) = ax.plot(
            scores.loc[judge],
            range(scores.shape[1]),
            color=style.colour,
            marker=style.marker,
            markersize=3,
            linewidth=1.0,
            alpha=0.8,
        )
        entries[next(name for name, other in legend.items() if other == style)] = line
    return {name: entries[name] for name in legend}
