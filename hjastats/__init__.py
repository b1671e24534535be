"""Ranking from pairwise verdicts of several judges: consensus, sensitivity and structured disagreement."""

from . import datasets
from .anchored_results import AnchoredResults
from .compared_results import compare_rankings
from .data.comparisons import Comparisons
from .data.readers import read_comparisons
from .data.style import style_difference
from .data.swaps import swap_report
from .errors import (
    ComparisonError,
    ContrastError,
    CovarianceWarning,
    IdentificationError,
    InputError,
    LabelWarning,
    LocalOptimaWarning,
    NonRegularWarning,
    OptionError,
    SeparationWarning,
    SizeError,
)
from .front.door import fit
from .front.groups import by_group
from .group_results import GroupBoards
from .models import BTLModel, HJAModel, JAModel, JudgewiseBTLModel, PopulationHJAModel, anchor
from .partition import JudgeTree, partition
from .persistence import load_results
from .population_results import PopulationResults
from .results import HJAResults, compare
from .selection import RankSelection, select_rank
from .trait_results import TraitResults

__version__ = "0.2.0"

__all__ = [
    "AnchoredResults",
    "BTLModel",
    "ComparisonError",
    "Comparisons",
    "ContrastError",
    "CovarianceWarning",
    "GroupBoards",
    "HJAModel",
    "HJAResults",
    "IdentificationError",
    "InputError",
    "JAModel",
    "JudgeTree",
    "JudgewiseBTLModel",
    "LabelWarning",
    "LocalOptimaWarning",
    "NonRegularWarning",
    "OptionError",
    "PopulationHJAModel",
    "PopulationResults",
    "RankSelection",
    "SeparationWarning",
    "SizeError",
    "TraitResults",
    "anchor",
    "by_group",
    "compare",
    "compare_rankings",
    "datasets",
    "fit",
    "load_results",
    "partition",
    "read_comparisons",
    "select_rank",
    "style_difference",
    "swap_report",
]
