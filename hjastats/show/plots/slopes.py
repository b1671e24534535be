"""How the places of items change from the consensus to every judge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .canvas import FONT_SIZE, LINE, axes, colours, label_inches
from .colours import Family, Style, families, family_legend, lettered, style
from .labels import LITERAL, label_columns, names, open_frame, write_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Items of which not all lines have a colour.
MANY_ITEMS = 12
_COLUMN = 0.42


def plot_slopes(
    places: pd.DataFrame,
    *,
    highlight: Sequence[str] = (),
    family: Family | None = None,
    title: str = "Places by the consensus and by every judge",
    ax: Axes | None = None,
) -> Axes:
    """A line for every item from column to column; where lines cross, rankings differ.

    Parameters
    ----------
    places : pandas.DataFrame
        Items by rankings, the one to compare with first; the best item has place 1.
    highlight : sequence of str
        Items in colour, the others in grey.
    family : pandas.Series or dict, optional
        Item to family, whose colours lines then have; of many items only those of ``highlight``.
    title : str
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> places = pd.DataFrame({"consensus": [1, 2, 3], "judge-1": [2, 1, 3]}, index=["a", "b", "c"])
    >>> [text.get_text() for text in plot_slopes(places, highlight=["a"]).texts]
    ['a', 'b', 'c', 'b', 'a', 'c']
    """
    n_items, n_columns = places.shape
    texts, heads = names(places.index), names(places.columns)
    room = 2.0 * label_inches(texts) + 0.3
    body = _COLUMN * max(n_columns - 1, 1)
    height = LINE * n_items + label_inches(heads) + 0.7
    ax = axes(ax, max(4.5, 1.6 * body) + room, height, least=body + room)
    styles, legend = _styles(places.index, list(highlight), family)
    ranks = places.rank(method="first", na_option="keep").to_numpy(float)
    for row, (item, look) in enumerate(zip(places.index, styles, strict=True)):
        is_high = item in set(highlight)
        ax.plot(
            range(n_columns),
            ranks[row],
            color=look.colour,
            linewidth=2.4 if is_high else 1.2,
            marker=look.marker,
            markersize=5.0 if is_high else 3.5,
            zorder=4 if is_high else 2,
        )
    for column, side in ((0, -1), (n_columns - 1, 1)):
        for row in np.argsort(ranks[:, column], kind="stable"):
            if np.isfinite(ranks[row, column]):
                is_high = places.index[row] in set(highlight)
                _name(
                    ax,
                    texts[row],
                    column,
                    ranks[row, column],
                    side,
                    lettered(styles[row].colour) if is_high else colours().ink,
                )
    label_columns(ax, places.columns)
    ax.set_xlim(-0.1, n_columns - 0.9)
    ax.set_ylim(n_items + 0.6, 0.4)
    ax.set_yticks([])
    write_title(ax, title)
    open_frame(ax)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.grid(axis="x", color=colours().grid, linewidth=0.8)
    ax.set_axisbelow(True)
    family_legend(ax, legend, shift=72.0 * (label_inches(texts) + 0.1))
    return ax


def _styles(items: pd.Index, highlight: list[str], family: Family | None) -> tuple[list[Style], dict[str, Style]]:
    if family is not None:
        styles, legend = families(items, family)
        is_grey = [len(items) > MANY_ITEMS and str(item) not in highlight for item in items]
        return [Style(colours().pale, "o") if grey else own for grey, own in zip(is_grey, styles, strict=True)], legend
    hues = {item: style(number) for number, item in enumerate(highlight)}
    return [hues.get(str(item), Style(colours().pale, "o")) for item in items], {}


def _name(ax: Axes, text: str, x: float, y: float, side: int, colour: str) -> None:
    ax.annotate(
        text,
        (x, y),
        xytext=(7 * side, 0),
        textcoords="offset points",
        ha="right" if side < 0 else "left",
        va="center",
        fontsize=FONT_SIZE,
        color=colour,
        annotation_clip=False,
        **LITERAL,
    )
