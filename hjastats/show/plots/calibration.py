"""Predicted against observed shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from .canvas import axes, colours
from .labels import write_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_calibration(
    table: pd.DataFrame,
    *,
    title: str = "Do predictions come true? (95% intervals)",
    ax: Axes | None = None,
) -> Axes:
    """A point per group of comparisons; on the diagonal, predictions come true as often as they say.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per group: predicted, observed, ci_lower, ci_upper, comparisons.
    title : str
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> table = pd.DataFrame({"predicted": [0.2], "observed": [0.25], "ci_lower": [0.1], "ci_upper": [0.4], "comparisons": [30]})
    >>> plot_calibration(table).get_xlim()
    (np.float64(0.0), np.float64(1.0))
    """
    ax, known = axes(ax, 4.4, 4.4), colours()
    ax.plot([0.0, 1.0], [0.0, 1.0], color=known.rule, linewidth=1.0, linestyle="--", zorder=1)
    ax.vlines(table["predicted"], table["ci_lower"], table["ci_upper"], color=known.hues[0], linewidth=1.4, zorder=2)
    share = table["comparisons"] / table["comparisons"].max()
    ax.scatter(
        table["predicted"], table["observed"], s=12.0 + 48.0 * share, color=known.hues[0], zorder=3, clip_on=False
    )
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), aspect="equal")
    write_words(ax, title, "predicted probability that the first is preferred", "observed share (ties count half)")
    return ax
