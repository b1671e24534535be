"""Who is preferred to whom, and how often."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .canvas import FONT_SIZE, LINE, axes, colours, label_inches
from .colours import Family, legend_inches
from .disagreement import draw_matrix, finish_matrix
from .labels import names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Up to this many items the numbers fit into the cells.
MAX_NUMBERS = 20


def plot_probabilities(
    probability: pd.DataFrame,
    *,
    family: Family | None = None,
    title: str = "Probability that the item of the row is preferred to that of the column",
    ax: Axes | None = None,
) -> Axes:
    """A square of probabilities in the order given, in colours symmetric around one half.

    Parameters
    ----------
    probability : pandas.DataFrame
        Items by items; cells without a value, such as the diagonal, are grey.
    family : pandas.Series or dict, optional
        Item to family.
    title : str
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> ax = plot_probabilities(pd.DataFrame([[np.nan, 0.8], [0.2, np.nan]], ["a", "b"], ["a", "b"]))
    >>> [text.get_text() for text in ax.texts]
    ['.80', '.20']
    """
    values = probability.to_numpy(float)
    n = len(values)
    room = label_inches(names(probability.index))
    cell = 0.34 if n <= MAX_NUMBERS else LINE - 0.02
    side = max(2.4, cell * n)
    has_numbers = n <= MAX_NUMBERS
    beside = (0.2 if has_numbers else 1.4) + legend_inches(family)
    ax = axes(ax, side + room + beside, side + room + 0.6, least=0.27 * n + room + beside)
    image = draw_matrix(ax, probability, 0.0, 1.0)
    if has_numbers:
        _write_numbers(ax, values)
    # Numbers say what colours mean.
    finish_matrix(ax, probability, image, "" if has_numbers else "probability of being preferred", title, family)
    return ax


def _write_numbers(ax: Axes, values: np.ndarray) -> None:
    for row, column in np.argwhere(np.isfinite(values)):
        value = values[row, column]
        text = f"{value:.2f}".removeprefix("0")
        ax.text(column, row, text, ha="center", va="center", fontsize=FONT_SIZE - 1, color=colours().ink)
