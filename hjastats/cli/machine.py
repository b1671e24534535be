"""Results as plain JSON for other programs: what cannot be estimated is null."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from ..data.comparisons import Comparisons
from ..inference.estimates import effects, leverage
from ..results import HJAResults
from ..trait_results import TraitResults

FACTS = ("converged", "llf", "llnull", "df_model", "df_resid", "nobs", "aic", "bic", "method")


def described(
    result: HJAResults, data: Comparisons, ranking: pd.DataFrame | None, contrasts: list[Any]
) -> dict[str, Any]:
    """The fit as nested dicts and lists: all that is printed as tables and notes."""
    model, layout = result.model, result.fit.layout
    directions = range(1, layout.rank + 1)
    V = pd.DataFrame(result.fit.directions("V"), pd.Index(layout.items), [f"V{d}" for d in directions])
    U = pd.DataFrame(result.fit.directions("U"), pd.Index(layout.judges), [f"U{d}" for d in directions])
    return {
        "data": facts(data),
        "choices": records(result.choices, "what"),
        "model": {
            "class": type(model).__name__,
            "name": layout.description,
            **model.options,
            "cov_type": result.cov_type,
        },
        "fit": {name: _plain(getattr(result, name)) for name in FACTS},
        "ranking": None if ranking is None else records(ranking, "item"),
        "consensus": records(result.consensus.join(V), "item"),
        "sensitivity": records(result.sensitivity, "judge"),
        "disagreement": records(leverage(result.fit).join(U), "judge") if layout.structure.judges_differ else [],
        "position": records(result.position, "judge"),
        "population": records(getattr(result, "population", pd.DataFrame()), "parameter"),
        "traits": _labelled(result.traits) if isinstance(result, TraitResults) else [],
        "terms": {
            term.name: records(effects(result.fit, term.name), "judge")
            for term in layout.terms
            if term.name != "position"
        },
        "findings": [
            {"topic": finding.topic, "is_warning": finding.is_warning, "text": finding.text}
            for finding in result.findings
        ],
        "standard_errors": result.fit.choice.description,
        "contrasts": [row for contrast in contrasts for row in records(contrast.summary_frame(), "contrast")],
    }


def _labelled(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as dicts, with all levels of their index."""
    rows = table.reset_index().to_dict("records")
    return [{str(name): _plain(value) for name, value in row.items()} for row in rows]


def facts(data: Comparisons) -> dict[str, Any]:
    """What was read."""
    return {
        "comparisons": data.n_comparisons,
        "judges": records(data.first_share(), "judge"),
        "items": list(data.items),
        "columns": [str(name) for name in data.columns.columns],
        "dropped": [
            {str(name): _plain(value) for name, value in row.items()} for row in data.dropped.to_dict("records")
        ],
    }


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
