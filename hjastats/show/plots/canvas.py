"""Where a figure is drawn: matplotlib on first use, and axes large enough for the labels they carry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.transforms import Transform

# Inches for one line of labels of FONT_SIZE points, so that neighbours never touch.
LINE = 0.2
FONT_SIZE = 8.0
# Inches for one letter of a label; capitals are wider, most names are not written in them.
LETTER = 0.062


def pyplot() -> Any:
    """The plotting interface of matplotlib, imported when the first figure is drawn.

    Raises
    ------
    ImportError
        Without matplotlib, which is an optional dependency.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'hjastats[plots]'") from None
    return plt


def axes(ax: Axes | None, width: float, height: float) -> Axes:
    """The axes given, or new ones in a figure of this size in inches whose margins fit its labels."""
    if ax is not None:
        return ax
    figure = pyplot().figure(figsize=(width, height), layout="constrained")
    return figure.add_subplot()


def row_axes(ax: Axes | None, labels: list[str], beside: float = 0.0) -> Axes:
    """Axes with one line of text per row, and room for labels, title and axis, and for ``beside`` inches at the right."""
    return axes(ax, max(8.0, 5.5 + label_inches(labels)) + beside, max(2.4, 1.3 + LINE * len(labels)))


def label_inches(labels: list[str]) -> float:
    """Room that the longest of the labels needs."""
    return LETTER * max(map(len, labels), default=0)


def open_frame(ax: Axes) -> None:
    """Leave out the lines of the frame that carry no scale, and write the scales as small as the labels."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=FONT_SIZE)


def whole_numbers(axis: Axis) -> None:
    """Ticks at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True))


def beside(ax: Axes, base: Transform, right: float = 0.0, up: float = 0.0) -> Transform:
    """The transform shifted on paper by so many points, whatever the size of the axes becomes."""
    from matplotlib.transforms import ScaledTranslation

    return base + ScaledTranslation(right / 72.0, up / 72.0, root_figure(ax).dpi_scale_trans)


def root_figure(ax: Axes) -> Any:
    """The whole figure, also of axes in a part of it; ``get_figure(root=True)`` needs matplotlib 3.10."""
    figure: Any = ax.get_figure()
    while figure.figure is not figure:
        figure = figure.figure
    return figure
