"""Numbers the paper prints, to compare with (tab:dataset_comparison): mean and standard deviation over 20 seeds."""

from __future__ import annotations

import pandas as pd

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
