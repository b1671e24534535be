"""The way of every start to its optimum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .canvas import axes, colours, whole_numbers
from .colours import MARKERS, name_legend
from .labels import write_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Differences of log-likelihoods below this are rounding.
_SMALLEST = 1e-9
MAX_COLOURS = 7


def plot_convergence(
    paths: Mapping[str, Sequence[float]], *, title: str = "Convergence of every start", ax: Axes | None = None
) -> Axes:
    """How far each start was from the best value reached, by iteration, on a logarithmic scale.

    Parameters
    ----------
    paths : dict of str to sequence of float
        Name of the start to the objective (smaller is better) at the start and after every iteration.
    title : str
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> ax = plot_convergence({"start 1": [10.0, 5.0, 4.0], "start 2": [9.0, 6.0]})
    >>> len(ax.lines), ax.get_yscale()
    (2, 'log')
    """
    best = min(min(path) for path in paths.values())
    ax, known = axes(ax, 7.5, 4.2), colours()
    lines = {}
    # Those that end where they begin come last, and share one name.
    ordered = sorted(paths, key=lambda name: len(paths[name]) < 2)
    n_coloured = min(MAX_COLOURS, sum(len(path) > 1 for path in paths.values()) or MAX_COLOURS)
    for number, name in enumerate(ordered):
        path, is_coloured = paths[name], number < n_coloured
        (lines[name],) = ax.plot(
            np.arange(len(path)),
            np.maximum(np.asarray(path, dtype=float) - best, _SMALLEST),
            color=known.hues[number] if is_coloured else known.pale,
            marker=MARKERS[number % len(MARKERS)] if is_coloured else "o",
            markersize=4,
            linewidth=1.2,
            zorder=3 if is_coloured else 2,
        )
    ax.set_yscale("log")
    write_words(ax, title, "iteration", "distance from the best log-likelihood reached")
    whole_numbers(ax.xaxis)
    named, hidden = ordered[: n_coloured + 1], len(lines) - n_coloured
    labels = [*named[:n_coloured], f"{hidden} more starts"] if hidden > 1 else named
    name_legend(ax, [lines[name] for name in named], labels)
    return ax
