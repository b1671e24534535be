"""The profile likelihood of one quantity, as a signed root."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .canvas import FONT_SIZE, axes, colours
from .colours import name_legend
from .labels import write_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_profile(
    points: pd.DataFrame,
    limits: tuple[float, float],
    *,
    wald: tuple[float, float] = (np.nan, np.nan),
    critical: float = 1.96,
    xlabel: str = "value",
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Signed root of the likelihood ratio over the values of a quantity; a straight line is what a Wald interval takes it for.

    Parameters
    ----------
    points : pandas.DataFrame
        value, root; in the order of the values.
    limits : tuple of float
        Interval of the profile; an infinite end is said to be one.
    wald : tuple of float
        The other interval.
    critical : float
        Between plus and minus this are the roots inside of the interval.
    xlabel, title : str
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> points = pd.DataFrame({"value": [0.2, 1.0, 3.0], "root": [-1.96, 0.0, 1.96]})
    >>> [text.get_text() for text in plot_profile(points, (0.2, 3.0), wald=(0.0, 2.0)).get_legend().get_texts()]
    ['profile: 0.2 to 3', 'Wald: 0 to 2']
    """
    ax, known = axes(ax, 6.4, 4.2), colours()
    for level in (-critical, 0.0, critical):
        ax.axhline(level, color=known.grid if level else known.rule, linewidth=0.8, zorder=1)
    (curve,) = ax.plot(points["value"], points["root"], color=known.hues[0], linewidth=1.6, zorder=3)
    handles, labels = [curve], [f"profile: {_told(limits)}"]
    ax.vlines([end for end in limits if np.isfinite(end)], -critical, critical, colors=known.hues[0], linewidth=1.0)
    if np.isfinite(wald).all():
        (line,) = ax.plot(wald, [-critical, critical], color=known.hues[1], linewidth=1.2, linestyle="--", zorder=2)
        handles.append(line)
        labels.append(f"Wald: {_told(wald)}")
    for end, side in zip(limits, (0.02, 0.98), strict=True):
        if np.isinf(end):
            says = f"no {'lower' if side < 0.5 else 'upper'} end"
            ax.text(
                side,
                0.9,
                says,
                transform=ax.transAxes,
                ha="left" if side < 0.5 else "right",
                fontsize=FONT_SIZE,
                style="italic",
                color=known.soft,
            )
    write_words(ax, title, xlabel, "signed root of the likelihood ratio")
    name_legend(ax, handles, labels)
    return ax


def _told(limits: tuple[float, float]) -> str:
    ends = ["not found" if np.isnan(end) else "infinity" if np.isinf(end) else f"{end:.4g}" for end in limits]
    return f"{'minus ' if np.isinf(limits[0]) else ''}{ends[0]} to {ends[1]}"
