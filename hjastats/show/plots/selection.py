"""How many directions of disagreement: singular values, and criteria by rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .canvas import axes, colours, pyplot, whole_numbers
from .labels import write_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLES = {"aic": "AIC", "bic": "BIC", "cv": "cross-validated loss"}


def plot_scree(values: np.ndarray, *, rank: int | None = None, ax: Axes | None = None) -> Axes:
    """Singular values, largest first.

    Parameters
    ----------
    values : array_like, shape (n,)
        Singular values of the disagreement.
    rank : int, optional
        Directions kept; a line is drawn after the last of them.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> plot_scree([3.0, 1.0, 0.5], rank=1).get_xlabel()
    'direction'
    """
    values = np.asarray(values, dtype=float)
    ax = axes(ax, 6.0, 3.8)
    ax.plot(np.arange(1, len(values) + 1), values, marker="o", color=colours().hues[0])
    if rank is not None:
        ax.axvline(rank + 0.5, color=colours().rule, linewidth=1.0, linestyle="--")
    whole_numbers(ax.xaxis)
    ax.set_ylim(bottom=0.0)
    write_words(ax, "Strength of the directions of disagreement", "direction", "singular value (log-odds)")
    return ax


def plot_criterion(table: pd.DataFrame, criterion: str, *, ax: Axes | None = None) -> Axes:
    """One criterion against the rank, its smallest value marked.

    Parameters
    ----------
    table : pandas.DataFrame
        Indexed by rank, and ``"BTL"`` before the first of them, with the column ``criterion`` and optionally its standard error,
        ``criterion + "_se"``.
    criterion : str
        Smaller is better.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> ax = plot_criterion(pd.DataFrame({"bic": [3.0, 1.0, 2.0]}), "bic")
    >>> ax.get_title(loc="left")
    'BIC: smallest at rank 1'
    """
    if criterion not in table:
        raise ValueError(f"the table has no column {criterion!r}, only {', '.join(map(repr, table.columns))}.")
    ax = axes(ax, 6.0, 3.8)
    values = table[criterion]
    error = table.get(f"{criterion}_se")
    ranks = [label for label in table.index if not isinstance(label, str)]
    places = [min(ranks, default=0) - 1 if isinstance(label, str) else label for label in table.index]
    ax.errorbar(places, values, yerr=error, marker="o", color=colours().hues[0], capsize=3, linewidth=1.4)
    name = _TITLES.get(criterion, criterion)
    title = name
    if values.notna().any():
        position = int(np.nanargmin(values.to_numpy(float)))
        best = table.index[position]
        ax.plot(
            places[position],
            values.iloc[position],
            "o",
            markersize=12,
            markerfacecolor="none",
            markeredgecolor=colours().hues[1],
        )
        title = f"{name}: smallest {f'for {best}' if isinstance(best, str) else f'at rank {best}'}"
    whole_numbers(ax.xaxis)
    if len(ranks) < len(places):
        ax.set_xticks(places, [str(label) for label in table.index])
    write_words(ax, title, "rank of the disagreement", name)
    return ax


def plot_criteria(table: pd.DataFrame) -> Figure:
    """All criteria of a table beside each other, each on its own scale.

    Parameters
    ----------
    table : pandas.DataFrame
        Indexed by rank; those of aic, bic and cv (with cv_se) that are there.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> len(plot_criteria(pd.DataFrame({"aic": [3.0, 1.0], "bic": [3.0, 4.0]})).axes)
    2
    """
    present = [name for name in _TITLES if name in table]
    if not present:
        raise ValueError("the table has none of the columns aic, bic and cv.")
    figure = pyplot().figure(figsize=(max(5.0, 4.0 * len(present)), 3.6), layout="constrained")
    for number, criterion in enumerate(present, start=1):
        plot_criterion(table, criterion, ax=figure.add_subplot(1, len(present), number))
    return figure
