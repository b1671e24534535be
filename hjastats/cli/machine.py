"""Results as plain JSON for other programs: what cannot be estimated is null."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from ..results import HJAResults
from ..selection import RankSelection

FACTS = ("converged", "llf", "df_model", "nobs", "aic", "bic")


def described(
    result: HJAResults, ranking: pd.DataFrame | None, selection: RankSelection | None, contrasts: list[Any]
) -> dict[str, Any]:
    """The fit as nested dicts and lists."""
    model = result.model
    document = {
        "model": {"class": type(model).__name__, **model.options, "cov_type": result.cov_type},
        "fit": {name: _plain(getattr(result, name)) for name in FACTS},
        "consensus": records(result.consensus, "item"),
        "ranking": None if ranking is None else records(ranking, "item"),
        "sensitivity": records(result.sensitivity, "judge"),
        "position": records(result.position, "judge"),
        "findings": [
            {"topic": finding.topic, "is_warning": finding.is_warning, "text": finding.text}
            for finding in result.findings
        ],
        "contrasts": [row for contrast in contrasts for row in records(contrast.summary_frame(), "contrast")],
    }
    if selection is not None:
        document["selection"] = {
            "best": selection.best,
            "verdict": selection.verdict,
            "table": records(selection.table, "rank"),
        }
    return document


def records(table: pd.DataFrame, index: str) -> list[dict[str, Any]]:
    """Rows as dicts with their label under the name of the index.

    Examples
    --------
    >>> records(pd.DataFrame({"x": [1.0, np.nan]}, index=["a", "b"]), "item")
    [{'item': 'a', 'x': 1.0}, {'item': 'b', 'x': None}]
    """
    columns = [str(column) for column in table.columns]
    return [
        {index: _plain(label)} | {column: _plain(value) for column, value in zip(columns, row, strict=True)}
        for label, row in zip(table.index, table.itertuples(index=False, name=None), strict=True)
    ]


def _plain(value: Any) -> Any:
    """A value JSON knows."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or value is pd.NA or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value if isinstance(value, (bool, int, float)) else str(value)
