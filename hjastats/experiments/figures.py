"""Figures of the experiments: means with error bars over a sweep, convergence paths, selection shares."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..show.plots.colours import MARKERS, style
from ..writing import write

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABELS = {
    "mse": "mean squared error of scores",
    "spearman": "Spearman correlation",
    "ndcg": "NDCG@N",
    "coverage": "coverage of 95% intervals",
    "sign accuracy": "sign accuracy per judge",
}


def sweep(table: pd.DataFrame, x: str, x_label: str, path: Path) -> None:
    """One panel per measure, one line per method, with 1.96 standard errors."""
    measures = [measure for measure in LABELS if measure in table]
    figure, axes = _axes(len(measures))
    for axis, measure in zip(axes, measures, strict=True):
        for i, (method, rows) in enumerate(table.groupby("method", sort=False)):
            if rows[measure].notna().any():
                _line(axis, rows[x], rows[measure], rows[f"{measure} se"], str(method), i)
        axis.set_xlabel(x_label)
        axis.set_title(LABELS[measure], fontsize=10)
        if measure == "mse":
            axis.set_yscale("log")
        if measure == "coverage":
            axis.axhline(0.95, color="0.5", linewidth=0.8, linestyle="--")
    _finish(figure, axes[0], path)


def selection(table: pd.DataFrame, path: Path) -> None:
    """Share of correct selections against the sample size, one line per true rank, one panel per criterion."""
    criteria = [name for name in ("bic", "aic") if name in table]
    figure, axes = _axes(len(criteria))
    for axis, criterion in zip(axes, criteria, strict=True):
        for i, (rank, rows) in enumerate(table.groupby("rank", sort=True)):
            _line(axis, rows["n"], rows[criterion], rows[f"{criterion} se"], f"true rank {rank}", i)
        axis.set_xscale("log")
        axis.set_ylim(-0.03, 1.03)
        axis.set_xlabel("comparisons")
        axis.set_title(f"share of correct ranks, {criterion.upper()}", fontsize=10)
    _finish(figure, axes[0], path)


def convergence(frame: pd.DataFrame, path: Path) -> None:
    """A typical path, the excess likelihood of all, and how many iterations each solver takes."""
    figure, axes = _axes(3)
    bins = list(range(0, int(frame["iterations"].max()) + 3, 2))
    for i, (solver, rows) in enumerate(frame.groupby("solver", sort=False)):
        first = rows.iloc[0]
        axes[0].plot(first["path"], color=style(i).colour, marker=MARKERS[i], markersize=3, label=str(solver))
        for _, row in rows.iterrows():
            excess = np.maximum(np.asarray(row["path"]) - row["best"], 1e-10) / max(row["path"][0] - row["best"], 1e-10)
            axes[1].plot(excess, color=style(i).colour, alpha=0.3, linewidth=0.8)
        axes[2].hist(rows["iterations"], bins=bins, color=style(i).colour, alpha=0.7)
    axes[1].set_yscale("log")
    titles = (
        "negative log-likelihood, one panel",
        "excess over the optimum, all panels",
        "iterations until convergence",
    )
    for axis, title, label in zip(axes, titles, ("iteration", "iteration", "iterations"), strict=True):
        axis.set_title(title, fontsize=10)
        axis.set_xlabel(label)
    _finish(figure, axes[0], path)


def _axes(n: int) -> tuple[Any, list[Axes]]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # A figure of its own, not pyplot's: nothing to close, no display needed.
    figure = Figure(figsize=(3.4 * n, 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, list(np.atleast_1d(figure.subplots(1, n)))


def _line(axis: Axes, x: pd.Series, y: pd.Series, error: pd.Series, label: str, i: int) -> None:
    axis.errorbar(
        x,
        y,
        yerr=1.96 * error,
        color=style(i).colour,
        marker=MARKERS[i % len(MARKERS)],
        markersize=4,
        linewidth=1.2,
        capsize=2,
        label=label,
    )


def _finish(figure: Any, axis: Axes, path: Path) -> None:
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=9)
    save(figure, path, dpi=150)


def save(figure: Any, path: Path, dpi: int) -> None:
    """Write a figure as a whole, or not at all."""
    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=dpi)
    write(path, drawn.getvalue())
