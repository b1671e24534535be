"""Colours that everybody can tell apart, and families of judges or items told by colour and marker."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pandas as pd

from .canvas import FONT_SIZE, LIGHT, LINE, beside, colours, is_narrow, label_inches, root_figure
from .labels import LITERAL, names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.legend import Legend

Family: TypeAlias = "pd.Series[Any] | Mapping[str, str]"
Where: TypeAlias = Literal["right", "corner"]

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
# Longest name in a legend, which must leave room for what it explains.
LEGEND_LETTERS = 30
UNKNOWN_FAMILY = "no family given"


@dataclass(frozen=True)
class Style:
    """How one judge or item is drawn."""

    colour: str
    marker: str


def style(number: int) -> Style:
    """A colour, and a marker that differs where colours come round again.

    Examples
    --------
    >>> style(0) != style(8), style(0).colour == style(8).colour
    (True, True)
    """
    hues = colours().hues
    return Style(hues[number % len(hues)], MARKERS[(number // len(hues)) % len(MARKERS)])


def lettered(colour: str) -> str:
    """The colour of a name of what is drawn in some colour.

    Examples
    --------
    >>> lettered("#cc79a7"), lettered("red")
    ('#9f5e82', 'red')
    """
    known = colours()
    return dict(zip(known.hues, known.letters, strict=True)).get(colour, colour)


def plain() -> Style:
    """How judges or items are drawn that have no family."""
    return Style(colours().hues[0], MARKERS[0])


def diverging() -> Colormap:
    """From blue over the paper to vermilion, which colour-blind readers can tell apart; grey without a value.

    No shade is so deep that words in ink would lose their contrast, on light or dark paper.
    """
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    low, high = LIGHT.hues[0], LIGHT.hues[1]
    shades = [to_rgba(low, 0.77), to_rgba(low, 0.0), to_rgba(high, 0.0), to_rgba(high, 0.77)]
    made = LinearSegmentedColormap.from_list("hjastats", list(zip((0.0, 0.5, 0.5, 1.0), shades, strict=True)))
    return made.with_extremes(bad=to_rgba(colours().pale, 0.45))


def families(labels: Iterable[object], family: Family | None) -> tuple[list[Style], dict[str, Style]]:
    """The style of every label, and of every family among them in alphabetical order; no families without ``family``.

    Examples
    --------
    >>> styles, legend = families(["a", "b", "c"], {"a": "x", "b": "y", "c": "x"})
    >>> styles[0] == styles[2] == legend["x"], list(legend)
    (True, ['x', 'y'])
    """
    labels = list(labels)
    if family is None:
        return [plain() for _ in labels], {}
    known = {label: str(name) for label, name in pd.Series(family).dropna().items()}
    member = [known.get(label, UNKNOWN_FAMILY) for label in labels]
    legend = {name: style(i) for i, name in enumerate(sorted(set(member) - {UNKNOWN_FAMILY}))}
    if UNKNOWN_FAMILY in member:
        legend[UNKNOWN_FAMILY] = Style(colours().rule, MARKERS[0])
    return [legend[name] for name in member], legend


def family_legend(ax: Axes, legend: dict[str, Style], where: Where = "right", shift: float = 0.0) -> Legend | None:
    """A legend of families; see :func:`name_legend`."""
    if not legend:
        return None
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], linestyle="none", marker=style.marker, color=style.colour, markersize=6)
        for style in legend.values()
    ]
    return name_legend(ax, handles, list(legend), "family", where, shift)


def name_legend(
    ax: Axes,
    handles: list[Any],
    labels: list[str],
    title: str | None = None,
    where: Where = "right",
    shift: float = 0.0,
) -> Legend:
    """A legend with names written literally: to the right of the axes or in their upper right corner.

    Parameters
    ----------
    shift : float
        Further to the right, in points.
    """
    texts = names(labels, LEGEND_LETTERS)
    if where == "right" and is_narrow():
        # There is no room beside the axes, and below them only as much as is added.
        n_columns, figure = 2 if max(map(len, texts)) <= LEGEND_LETTERS / 2 else 1, root_figure(ax)
        figure.set_figheight(figure.get_figheight() + LINE * (math.ceil(len(texts) / n_columns) + 1.7))
        how: dict[str, Any] = {"loc": "outside lower left", "ncols": n_columns}
        draw = figure.legend
    else:
        how = {
            "loc": "upper left" if where == "right" else "upper right",
            "bbox_to_anchor": (1.0, 1.0),
            "bbox_transform": beside(ax, ax.transAxes, 6.0 + shift if where == "right" else 0.0),
            "borderaxespad": 0.0,
        }
        draw = ax.legend
    # A legend leaves out entries that begin with an underscore, so the names are put in afterwards.
    legend: Legend = draw(
        handles,
        ["name"] * len(handles),
        title=title,
        alignment="left",
        frameon=False,
        fontsize=FONT_SIZE,
        title_fontsize=FONT_SIZE,
        **how,
    )
    for text, name in zip(legend.get_texts(), texts, strict=True):
        text.set(text=name, **LITERAL)
    return legend


def legend_inches(family: Family | None) -> float:
    """Room that a legend of these families needs beside the axes."""
    if family is None or is_narrow():
        return 0.0
    return 0.5 + label_inches(names([*pd.Series(family).dropna().unique(), UNKNOWN_FAMILY], LEGEND_LETTERS))


def mark_families(ax: Axes, styles: list[Style], axis: Literal["x", "y"]) -> None:
    """A marker of its family between every row ("y") or column ("x") and its label."""
    is_row = axis == "y"
    base = ax.get_yaxis_transform() if is_row else ax.get_xaxis_transform()
    transform = beside(ax, base, right=-6.0 if is_row else 0.0, up=0.0 if is_row else -6.0)
    along, across = range(len(styles)), [0.0] * len(styles)
    x, y = (across, along) if is_row else (along, across)
    draw_markers(ax, x, y, styles, markersize=5, transform=transform, clip_on=False)
    ax.tick_params(axis=axis, pad=11)


def draw_markers(ax: Axes, x: Iterable[float], y: Iterable[float], styles: list[Style], **how: Any) -> None:
    """A marker in its style at every point whose coordinates are known."""
    for point_x, point_y, style in zip(x, y, styles, strict=True):
        if math.isfinite(point_x) and math.isfinite(point_y):
            ax.plot(point_x, point_y, marker=style.marker, color=style.colour, linestyle="none", **how)
