"""What the paper prints of real verdicts: its table (tab:dataset_comparison; mean and sd over 20 seeds), and of their data."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from ..data.comparisons import Comparisons

COLUMNS = ("low", "mid", "high", "accuracy", "closest", "middle", "farthest")

# Means, then standard deviations.
TABLE = {
    ("chatbot_arena", "HJA"): ((0.95, 0.85, 0.82, 0.65, 0.68, 0.69, 0.67), (0.07, 0.09, 0.07, 0.01, 0.05, 0.04, 0.06)),
    ("chatbot_arena", "JA"): ((0.77, 0.51, 0.46, 0.58, 0.58, 0.54, 0.50), (0.09, 0.12, 0.11, 0.01, 0.03, 0.05, 0.06)),
    ("chatbot_arena", "BTL"): ((0.47, 0.33, 0.21, 0.58, 0.57, 0.54, 0.51), (0.16, 0.13, 0.11, 0.01, 0.04, 0.05, 0.06)),
    ("mtbench", "HJA"): ((1.00, 1.00, 1.00, 0.76, 0.74, 0.84, 0.89), (0.00, 0.00, 0.00, 0.01, 0.02, 0.01, 0.01)),
    ("mtbench", "JA"): ((0.67, 0.67, 0.67, 0.70, 0.62, 0.78, 0.86), (0.00, 0.00, 0.00, 0.01, 0.02, 0.01, 0.01)),
    ("mtbench", "BTL"): ((0.92, 0.87, 0.85, 0.70, 0.62, 0.78, 0.86), (0.15, 0.17, 0.20, 0.01, 0.02, 0.01, 0.01)),
    ("ultrafeedback", "HJA"): ((0.81, 0.65, 0.67, 0.70, 0.69, 0.68, 0.71), (0.06, 0.11, 0.13, 0.01, 0.05, 0.04, 0.06)),
    ("ultrafeedback", "JA"): ((0.83, 0.63, 0.62, 0.62, 0.55, 0.58, 0.60), (0.11, 0.11, 0.16, 0.01, 0.06, 0.06, 0.04)),
    ("ultrafeedback", "BTL"): ((0.57, 0.32, 0.30, 0.61, 0.55, 0.58, 0.60), (0.09, 0.12, 0.10, 0.01, 0.06, 0.06, 0.04)),
}


@dataclass(frozen=True)
class Facts:
    """What a data set can be known by (app:subsec:real-evaluation).

    Attributes
    ----------
    comparisons, dropped, ties : int
        Usable records (ties among them), and those without a usable verdict.
    items, judges : int
    cells : int
        Judges with a pair of items that they compared, in either order.
    """

    comparisons: int
    dropped: int
    ties: int
    items: int
    judges: int
    cells: int

    @classmethod
    def of(cls, data: Comparisons) -> Facts:
        """Those of verdicts that were read.

        Examples
        --------
        >>> from hjastats.datasets import load_panel
        >>> Facts.of(load_panel())
        Facts(comparisons=3200, dropped=0, ties=0, items=10, judges=8, cells=360)
        """
        low, high = np.minimum(data.first_index, data.second_index), np.maximum(data.first_index, data.second_index)
        cells = np.unique(np.column_stack([data.judge_index, low, high]), axis=0)
        ties = data.weight[data.outcome == 0.5].sum()
        dropped = data.dropped["count"].sum()
        return cls(round(data.n_comparisons), int(dropped), round(ties), data.n_items, data.n_judges, len(cells))

    def differences(self, other: Facts) -> str:
        """In words, where others differ; empty if nowhere.

        Examples
        --------
        >>> Facts(10, 0, 1, 3, 2, 6).differences(Facts(12, 0, 1, 3, 2, 6))
        'comparisons 10 instead of 12'
        """
        mine, theirs = asdict(self), asdict(other)
        return ", ".join(
            f"{name} {mine[name]:,} instead of {theirs[name]:,}" for name in mine if mine[name] != theirs[name]
        )


# The fourth, collected in-house, is not public.
DATASETS = {
    "chatbot_arena": Facts(9_937, 63, 1_224, 20, 10, 1_737),
    "mtbench": Facts(9_706, 294, 756, 6, 20, 300),
    "ultrafeedback": Facts(9_726, 274, 761, 17, 20, 2_379),
}


def recognise(data: Comparisons) -> str | None:
    """Which of the paper's data sets these are, whatever the file is called; None for others.

    Examples
    --------
    >>> from hjastats.datasets import load_panel
    >>> recognise(load_panel()) is None
    True
    """
    facts = Facts.of(data)
    return next((name for name, described in DATASETS.items() if described == facts), None)


# The time the paper states for one repetition of the robustness experiment.
ROBUSTNESS_SECONDS, ROBUSTNESS_CORES = 45 * 60, 12


def beside(ours: pd.DataFrame) -> pd.DataFrame:
    """Our means beside the printed ones, for the data sets and methods the paper has.

    Parameters
    ----------
    ours : pandas.DataFrame
        Index (data, method), columns among ``COLUMNS``.

    Examples
    --------
    >>> mine = pd.DataFrame({"accuracy": [0.649]}, index=pd.MultiIndex.from_tuples([("mtbench", "HJA")]))
    >>> beside(mine)[["column", "ours", "printed"]].to_dict("records")
    [{'column': 'accuracy', 'ours': 0.649, 'printed': 0.76}]
    """
    rows = []
    for position, (data, method) in enumerate(ours.index):
        if (data, method) not in TABLE:
            continue
        values = ours.iloc[position]
        for column, mean, deviation in zip(COLUMNS, *TABLE[data, method], strict=True):
            if column in values:
                rows.append((data, method, column, values[column], mean, deviation, values[column] - mean))
    return pd.DataFrame(rows, columns=["data", "method", "column", "ours", "printed", "printed sd", "difference"])
