"""Figures of frames: every function draws what it is given, computes no statistics, and returns the Axes.

matplotlib is imported when the first figure is drawn.
"""

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
