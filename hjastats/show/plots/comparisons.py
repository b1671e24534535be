"""Which items were compared, and how often."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .canvas import FONT_SIZE, LINE, axes, colours, fitting, is_narrow, label_inches
from .colours import Family, draw_markers, families, family_legend, name_legend
from .labels import LITERAL, names, write_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDEST = 5.0


def plot_comparisons(
    counts: pd.DataFrame,
    *,
    family: Family | None = None,
    title: str = "Comparisons between items",
    ax: Axes | None = None,
) -> Axes:
    """Items on a circle, in the order given, joined by lines as wide as the number of their comparisons.

    Parameters
    ----------
    counts : pandas.DataFrame
        Items by items, symmetric: number of comparisons. Pairs never compared have no line.
    family : pandas.Series or dict, optional
        Item to family; families get colours.
    title : str
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> counts = pd.DataFrame([[0, 5, 1], [5, 0, 0], [1, 0, 0]], list("abc"), list("abc"))
    >>> ax = plot_comparisons(counts)
    >>> len(ax.collections[0].get_segments()), sorted(text.get_text() for text in ax.texts)
    (2, ['a', 'b', 'c'])
    """
    texts = names(counts.index)
    n = len(texts)
    radius = max(1.8, LINE * n / (2.0 * np.pi) * 1.1)
    # Nothing makes room here for names wider than expected, such as those in capitals.
    reach = radius + 1.25 * label_inches(texts) + 0.3
    ax = axes(ax, 2.0 * reach + 0.2, fitting(2.0 * reach) + 0.5)
    angle = np.pi / 2.0 - 2.0 * np.pi * np.arange(n) / n
    place = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    styles, legend = families(counts.index, family)
    _draw_lines(ax, counts.to_numpy(float), place, has_legend=not legend)
    draw_markers(ax, place[:, 0], place[:, 1], styles, markersize=6, zorder=3)
    _write_names(ax, texts, angle, radius + 0.12)
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    ax.axis("off")
    write_title(ax, title)
    family_legend(ax, legend, "corner")
    return ax


def _draw_lines(ax: Axes, counts: np.ndarray, place: np.ndarray, *, has_legend: bool) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgba
    from matplotlib.lines import Line2D

    low, high = np.triu_indices(len(counts), 1)
    number = counts[low, high]
    low, high, number = low[number > 0], high[number > 0], number[number > 0]
    largest = number.max(initial=1.0)
    # Many lines through the middle need to be thinner and paler to stay lines.
    widest = _WIDEST * min(1.0, 12.0 / len(counts))
    segments = np.stack([place[low], place[high]], axis=1)
    share = number / largest
    strength = (0.15 + 0.55 * share) * min(1.0, (200.0 / max(len(share), 1)) ** 0.8)
    soft = colours().soft
    shades = [to_rgba(soft, alpha) for alpha in strength]
    ax.add_collection(LineCollection(list(segments), linewidths=0.3 + widest * share, colors=shades, zorder=1))
    if has_legend and len(number):
        shown = sorted({float(number.min()), float(np.median(number)), float(largest)})
        handles = [Line2D([], [], color=soft, linewidth=0.3 + widest * n / largest) for n in shown]
        name_legend(ax, handles, [f"{n:,.0f}" for n in shown], "comparisons", "right" if is_narrow() else "corner")


def _write_names(ax: Axes, texts: list[str], angle: np.ndarray, radius: float) -> None:
    """Names along the rays of the circle, turned so that none stands on its head."""
    for text, turn in zip(texts, angle, strict=True):
        is_left = np.cos(turn) < -1e-9
        ax.text(
            radius * np.cos(turn),
            radius * np.sin(turn),
            text,
            rotation=np.degrees(turn) + (180.0 if is_left else 0.0),
            rotation_mode="anchor",
            ha="right" if is_left else "left",
            va="center",
            fontsize=FONT_SIZE,
            **LITERAL,
        )
