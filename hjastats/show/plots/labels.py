"""Names as a reader can take them in: short, distinct, drawn literally, and not on top of each other."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...words import shortened
from .canvas import FONT_SIZE, colours, is_narrow, open_frame, root_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation, Text
    from matplotlib.transforms import Bbox

# Of names beside rows and columns, and of those on narrow paper.
MAX_LETTERS, NARROW_LETTERS = 40, 24
# A name beside a point has less room than one beside a row.
POINT_LETTERS = 28
NO_ESTIMATE = "no finite estimate"
MISSING_GLYPH = "□"
# Names are text: neither formulas nor TeX, whatever characters they contain.
LITERAL: dict[str, Any] = {"parse_math": False, "usetex": False}


def drawable(text: str) -> str:
    """The text without invisible controls, and with a box for what no font in use can draw.

    matplotlib would draw the same box, but only after a warning for every character and every draw.
    """
    from matplotlib import rcParams

    known = _characters(tuple(rcParams["font.family"]))
    visible = (letter for letter in text if unicodedata.category(letter) not in ("Cc", "Cf") and letter != "\ufe0f")
    return "".join(letter if ord(letter) in known else MISSING_GLYPH for letter in visible)


def names(labels: Iterable[object], width: int | None = None) -> list[str]:
    """Labels as they are drawn: shortened, drawable, and still distinct where the labels are.

    Examples
    --------
    >>> names(["judge-1", "x" * 30 + "1" + "x" * 30, "x" * 30 + "2" + "x" * 30], width=12)
    ['judge-1', 'xxxxxx…x (2)', 'xxxxxx…x (3)']
    """
    labels = list(labels)
    if width is None and is_narrow():
        texts = [drawable(shortened(label, NARROW_LETTERS)) for label in labels]
        if len(set(texts)) == len(set(map(str, labels))):
            return texts
    width = width or MAX_LETTERS
    texts = [drawable(shortened(label, width)) for label in labels]
    for text in {text for text in texts if texts.count(text) > 1}:
        for position in [i for i, other in enumerate(texts) if other == text]:
            number = f" ({position + 1})"
            texts[position] = text[: width - len(number)].rstrip("…") + number
    return texts


def label_rows(ax: Axes, labels: Iterable[object]) -> None:
    """Name the rows 0, 1, ... of the vertical axis, the first one at the top."""
    texts = names(labels)
    ax.set_yticks(range(len(texts)), labels=texts, fontsize=FONT_SIZE, **LITERAL)
    ax.set_ylim(len(texts) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)


def label_columns(ax: Axes, labels: Iterable[object]) -> None:
    """Name the columns 0, 1, ... of the horizontal axis, upright so that many fit."""
    texts = names(labels)
    ax.set_xticks(range(len(texts)), labels=texts, fontsize=FONT_SIZE, rotation=90, **LITERAL)
    ax.set_xlim(-0.5, len(texts) - 0.5)
    ax.tick_params(axis="x", length=0)


def write_title(ax: Axes, text: str) -> None:
    """A title over the left end of the axes; it may contain names."""
    title = in_lines(drawable(shortened(text, 140 if is_narrow() else 100)), 26)
    ax.set_title(title, fontsize=FONT_SIZE + (1 if is_narrow() else 2), loc="left", **LITERAL)


def in_lines(text: str, letters: int) -> str:
    """The text, in lines of so many letters where the paper is narrow."""
    lines = textwrap.wrap(text, letters, break_on_hyphens=False)
    return "\n".join(lines) if is_narrow() and "\n" not in text else text


def write_words(ax: Axes, title: str, xlabel: str, ylabel: str = "") -> None:
    """Title and names of the axes, in an open frame."""
    ax.set_xlabel(in_lines(xlabel, 28), fontsize=FONT_SIZE + 1)
    ax.set_ylabel(in_lines(ylabel, 36), fontsize=FONT_SIZE + 1)
    write_title(ax, title)
    open_frame(ax)


def mark_missing(ax: Axes, rows: Iterable[int]) -> None:
    """Say in every row without an estimate that there is none, instead of leaving it out."""
    for row in rows:
        ax.text(
            0.02,
            row,
            NO_ESTIMATE,
            transform=ax.get_yaxis_transform(),
            va="center",
            fontsize=FONT_SIZE,
            style="italic",
            color=colours().soft,
        )


def label_points(
    ax: Axes,
    x: np.ndarray,
    y: np.ndarray,
    labels: Sequence[object],
    must: Sequence[bool],
    hues: Sequence[str] | None = None,
) -> list[Text]:
    """Write names beside points, each where it covers neither another name nor a point.

    Parameters
    ----------
    x, y : ndarray, shape (n_points,)
        All points; names are kept off all of them.
    labels : sequence
        Names of the first points; the rest get none.
    must : sequence of bool, at least as long as labels
        Names to be written in any case, in bold, if need be further away with a line; the others only where there is room.
    hues : sequence of str, optional
        Colours of the names.

    Returns
    -------
    list of Text
        The names written.
    """
    if not len(x):
        return []
    from matplotlib.transforms import Bbox

    figure = root_figure(ax)
    # The margins must be settled before distances on paper mean anything.
    figure.draw_without_rendering()
    half = 5.0 * figure.dpi / 72.0
    points = ax.transData.transform(np.column_stack([x, y]))
    taken = [Bbox([point - half, point + half]) for point in points]
    written: list[Text] = []
    texts = names(labels, POINT_LETTERS)
    for i in sorted(range(len(texts)), key=lambda i: not must[i]):
        text = _place(ax, (float(x[i]), float(y[i])), texts[i], taken, points, is_needed=bool(must[i]))
        if text is not None:
            if hues is not None:
                # Over lines, words need paper of their own.
                text.set(
                    color=hues[i],
                    zorder=6,
                    bbox={"facecolor": colours().sheet, "alpha": 0.8, "pad": 0.6, "linewidth": 0.0},
                )
            written.append(text)
            taken.append(text.get_window_extent())
    return written


def _place(
    ax: Axes, point: tuple[float, float], text: str, taken: list[Bbox], points: np.ndarray, *, is_needed: bool
) -> Text | None:
    annotation = ax.annotate(
        text,
        point,
        xytext=(0, 0),
        textcoords="offset points",
        fontsize=FONT_SIZE,
        fontweight="bold" if is_needed else "normal",
        annotation_clip=False,
        **LITERAL,
    )
    # Otherwise the margins would move with the name and the name with the margins.
    annotation.set_in_layout(False)
    inside, own = ax.get_window_extent(), ax.transData.transform(point)
    # Needed names stand clear of the ring around their point, and go further to find room.
    for distance in (9.0, 16.0, 26.0, 40.0, 60.0, 90.0) if is_needed else (6.0, 14.0):
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)):
            _move(annotation, dx, dy, distance)
            box = annotation.get_window_extent()
            is_far = distance > 16.0
            is_clear = is_far or _is_nearest(box, own, points)
            is_inside = np.all(box.min >= inside.min) and np.all(box.max <= inside.max)
            if is_clear and is_inside and not box.count_overlaps(taken):
                if is_far:
                    _draw_leader(ax, point, annotation)
                return annotation
    annotation.remove()
    return None


def _move(annotation: Annotation, dx: int, dy: int, distance: float) -> None:
    annotation.set_position((dx * distance, dy * distance))
    annotation.set_horizontalalignment({1: "left", -1: "right", 0: "center"}[dx])  # type: ignore[arg-type]
    annotation.set_verticalalignment({1: "bottom", -1: "top", 0: "center"}[dy])  # type: ignore[arg-type]


def _draw_leader(ax: Axes, point: tuple[float, float], annotation: Annotation) -> None:
    line = ax.annotate(
        "",
        point,
        xytext=annotation.get_position(),
        textcoords="offset points",
        arrowprops={"arrowstyle": "-", "color": colours().rule, "linewidth": 0.6},
    )
    line.set_in_layout(False)


def _is_nearest(box: Bbox, own: np.ndarray, points: np.ndarray) -> bool:
    """Whether no other point is nearer to the name than its own: without a line it would be read as the other's."""
    own_and_all = np.vstack([own, points])
    gap = np.maximum(np.maximum(box.min - own_and_all, own_and_all - box.max), 0.0)
    distance = np.hypot(gap[:, 0], gap[:, 1])
    return bool(distance[0] <= distance[1:].min() + 1e-6)


@cache
def _characters(families: tuple[str, ...]) -> frozenset[int]:
    """Code points that the fonts in use can draw."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    paths = {findfont(FontProperties(family=[family])) for family in families}
    return frozenset().union(*(get_font(path).get_charmap() for path in paths))
