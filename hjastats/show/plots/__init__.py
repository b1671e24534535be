"""Figures of frames: every function draws what it is given, computes no statistics, and returns the Axes.

matplotlib is imported when the first figure is drawn, and so are these modules: most analyses draw none.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# Every figure and the module that draws it.
FIGURES = {
    "plot_calibration": "calibration",
    "plot_comparisons": "comparisons",
    "plot_convergence": "convergence",
    "plot_criteria": "selection",
    "plot_criterion": "selection",
    "plot_differences": "groups",
    "plot_disagreement": "disagreement",
    "plot_heatmap": "disagreement",
    "plot_intervals": "intervals",
    "plot_leverage": "leverage",
    "plot_monitor": "groups",
    "plot_places": "groups",
    "plot_probabilities": "probabilities",
    "plot_profile": "likelihood",
    "plot_profiles": "profiles",
    "plot_ranking": "ranking",
    "plot_scree": "selection",
    "plot_slopes": "slopes",
}
# What else there is, and where.
OTHERS = {"paper": "canvas"}
__all__ = [*FIGURES, *OTHERS]


def __getattr__(name: str) -> Any:
    known = FIGURES | OTHERS
    if name not in known:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import_module("matplotlib")
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'hjastats[plots]'") from None
    return getattr(import_module(f".{known[name]}", __name__), name)
