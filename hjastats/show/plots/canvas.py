"""Where a figure is drawn: matplotlib on first use, light or dark paper, and axes large enough for the labels they carry."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.transforms import Transform

# Inches for one line of labels of FONT_SIZE points, so that neighbours never touch.
LINE = 0.2
FONT_SIZE = 9.0
# Inches for one letter of a label; capitals are wider, most names are not written in them.
LETTER = 0.069


@dataclass(frozen=True)
class Paper:
    """The colours of a figure; every one has a value of its own, so that a page can exchange them.

    Attributes
    ----------
    sheet, ink, soft, rule, grid, pale : str
        Background, words, words beside, lines of reference, lines behind, what is there for comparison only.
    hues : tuple of str
        Of judges, items and families, those that stand out first.
    letters : tuple of str
        The same for names, which need more contrast than lines: 4.5 to 1.
    """

    sheet: str
    ink: str
    soft: str
    rule: str
    grid: str
    pale: str
    hues: tuple[str, ...]
    letters: tuple[str, ...]


# Okabe and Ito (2008), those legible on white first; yellow is darker here, and black the ink.
LIGHT = Paper(
    "#ffffff",
    "#1b1b1d",
    "#5f6368",
    "#80868b",
    "#e4e7ea",
    "#c3c8cd",
    ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b87f00", "#56b4e9", "#000000", "#8f8a00"),
    ("#0071b0", "#be5400", "#00835f", "#9f5e82", "#996900", "#3a7a9e", "#010101", "#7a7500"),
)
_BRIGHT = ("#5db4ec", "#ff9044", "#2fc596", "#e6a1c6", "#ecb22e", "#a9dcfb", "#ffffff", "#ded94b")
DARK = Paper(
    "#16181b",
    "#e8e8ea",
    "#a5abb1",
    "#7b828a",
    "#2c3136",
    "#50575e",
    _BRIGHT,
    _BRIGHT,
)
# Inches that new figures are at most wide, if their labels allow it.
_WIDEST: ContextVar[float | None] = ContextVar("widest", default=None)


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


@contextmanager
def paper(*, dark: bool = False, width: float | None = None) -> Iterator[None]:
    """Draw figures on light or dark paper, and at most so wide.

    Without it the colours follow matplotlib: those for dark paper where its settings have a dark background.

    Parameters
    ----------
    dark : bool
    width : float, optional
        Inches that new figures are wide at most: 3.9 for a telephone. Figures with a column for every item or judge stay as wide
        as their names need.

    Examples
    --------
    >>> import hjastats as hja
    >>> from hjastats.show import plots
    >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
    >>> with plots.paper(dark=True, width=3.9):
    ...     figure = result.plot.sensitivity().get_figure()
    >>> figure.get_facecolor()[0] < 0.1, float(figure.get_figwidth())
    (True, 3.9)
    """
    chosen = DARK if dark else LIGHT
    settings: dict[Any, Any] = dict.fromkeys(
        ("figure.facecolor", "axes.facecolor", "savefig.facecolor", "legend.facecolor"), chosen.sheet
    )
    settings |= dict.fromkeys(("text.color", "axes.labelcolor", "axes.titlecolor"), chosen.ink)
    settings |= dict.fromkeys(("xtick.labelcolor", "ytick.labelcolor"), chosen.ink)
    settings |= dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), chosen.rule)
    token = _WIDEST.set(width)
    try:
        with pyplot().rc_context(settings):
            yield
    finally:
        _WIDEST.reset(token)


def colours() -> Paper:
    """The colours for the paper that matplotlib draws on now."""
    from matplotlib import rcParams
    from matplotlib.colors import to_rgb

    sheet = rcParams["axes.facecolor"]
    red, green, blue = to_rgb(sheet if sheet != "none" else "white")
    return DARK if 0.299 * red + 0.587 * green + 0.114 * blue < 0.5 else LIGHT


def axes(ax: Axes | None, width: float, height: float, least: float = 0.0) -> Axes:
    """The axes given, or new ones in a figure of this size in inches, not wider than the paper unless it takes ``least``."""
    if ax is not None:
        return ax
    figure = pyplot().figure(figsize=(fitting(width, least), height), layout="constrained")
    return figure.add_subplot()


def fitting(width: float, least: float = 0.0) -> float:
    """A width in inches that fits the paper, but for what has to be there."""
    widest = _WIDEST.get()
    return width if widest is None else max(min(width, widest), least)


def is_narrow() -> bool:
    """Whether the paper is too narrow for words beside a figure."""
    widest = _WIDEST.get()
    return widest is not None and widest < 6.0


def row_axes(ax: Axes | None, labels: list[str], beside: float = 0.0) -> Axes:
    """Axes with one line of text per row, and room for labels, title and axis, and for ``beside`` inches at the right."""
    names = label_inches(labels)
    return axes(ax, max(7.0, 5.0 + names) + beside, max(2.2, 1.2 + LINE * len(labels)), least=names + 1.6 + beside)


def label_inches(labels: list[str]) -> float:
    """Room that the longest of the labels needs."""
    return LETTER * max(map(len, labels), default=0)


def open_frame(ax: Axes) -> None:
    """Leave out the lines of the frame that carry no scale, and write the scales as small as the labels."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=FONT_SIZE)


def whole_numbers(axis: Axis, most: int = 9) -> None:
    """Ticks at whole numbers only, and at most so many."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(most, integer=True))


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
