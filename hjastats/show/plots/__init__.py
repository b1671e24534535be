"""Figures of frames: every function draws what it is given, computes no statistics, and returns the Axes.

matplotlib is imported when the first figure is drawn, and so are these modules: most analyses draw none.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .calibration import plot_calibration
    from .comparisons import plot_comparisons
    from .convergence import plot_convergence
    from .disagreement import plot_disagreement, plot_heatmap
    from .intervals import plot_intervals
    from .leverage import plot_leverage
    from .probabilities import plot_probabilities
    from .profiles import plot_profiles
    from .ranking import plot_ranking
    from .selection import plot_criteria, plot_criterion, plot_scree

__all__ = [
    "plot_calibration",
    "plot_comparisons",
    "plot_convergence",
    "plot_criteria",
    "plot_criterion",
    "plot_disagreement",
    "plot_heatmap",
    "plot_intervals",
    "plot_leverage",
    "plot_probabilities",
    "plot_profiles",
    "plot_ranking",
    "plot_scree",
]

_MODULES = {
    "plot_heatmap": "disagreement",
    "plot_criteria": "selection",
    "plot_criterion": "selection",
    "plot_scree": "selection",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES.get(name, name.removeprefix('plot_'))}", __name__), name)
