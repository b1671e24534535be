"""Size of each judge's disagreement against its sensitivity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...words import and_more, shortened
from .canvas import FONT_SIZE, axes, colours, is_narrow
from .colours import Family, draw_markers, families, family_legend
from .labels import LITERAL, NO_ESTIMATE, drawable, label_points, write_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# So many names, those of the largest disagreement, are written where there is room; those of outliers always.
MAX_NAMES = 20


def plot_leverage(
    table: pd.DataFrame,
    *,
    outliers: Sequence[str] = (),
    family: Family | None = None,
    title: str = "Sensitivity and disagreement of the judges",
    ax: Axes | None = None,
) -> Axes:
    """A point per judge, named where there is room; outliers are ringed and named in any case.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per judge: sensitivity and h. Judges without one of them are listed below the title.
    outliers : sequence of str
        Judges to be named in any case.
    family : pandas.Series or dict, optional
        Judge to family; families get colours.
    title : str
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> table = pd.DataFrame({"sensitivity": [1.0, 0.9, 2.1], "h": [0.2, 0.3, 3.0]}, ["j1", "j2", "j3"])
    >>> ax = plot_leverage(table, outliers=["j3"])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('sensitivity to the consensus', 'size of the disagreement h (log-odds)')
    """
    ax = axes(ax, 7.0, 3.6 if is_narrow() else 4.8)
    is_known = np.isfinite(table[["sensitivity", "h"]].to_numpy(float)).all(axis=1)
    known = table[is_known]
    styles, legend = families(known.index, family)
    x, y = known["sensitivity"].to_numpy(float), known["h"].to_numpy(float)
    draw_markers(ax, x, y, styles, markersize=6, clip_on=False, zorder=3)
    is_outlier = known.index.isin(list(outliers))
    ax.plot(x[is_outlier], y[is_outlier], "o", markersize=13, markerfacecolor="none", markeredgecolor=colours().hues[1])
    ax.axvline(1.0, color=colours().rule, linewidth=1.0, linestyle="--", zorder=1)
    ax.margins(x=0.12, y=0.12)
    # Room for the names of those without disagreement.
    ax.set_ylim(bottom=-0.04 * ax.get_ylim()[1])
    write_words(ax, title, "sensitivity to the consensus", "size of the disagreement h (log-odds)")
    family_legend(ax, legend)
    _list_missing(ax, list(table.index[~is_known]))
    order = np.lexsort([-y, ~is_outlier])
    n_named = max(MAX_NAMES, int(is_outlier.sum()))
    label_points(ax, x[order], y[order], list(known.index[order][:n_named]), list(is_outlier[order]))
    return ax


def _list_missing(ax: Axes, judges: list[str]) -> None:
    if judges:
        listed = and_more([drawable(shortened(judge, 25)) for judge in judges], 4)
        note: dict[str, Any] = {"fontsize": FONT_SIZE, "style": "italic", "color": colours().soft, **LITERAL}
        ax.text(0.0, -0.16, f"{NO_ESTIMATE}: {listed}", transform=ax.transAxes, va="top", **note)
