"""A fitted model as text: a JSON document of data, estimate and how it was found, nothing of which is ever executed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

SCHEMA = "hjastats-results"
VERSION = 1


def text_or_file(text: str, path: str | Path | None) -> str | None:
    """The text itself, or nothing once it has been written to a file.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.
    """
    if path is None:
        return text
    folder = Path(path).parent
    if not folder.is_dir():
        raise FileNotFoundError(f"the folder {str(folder)!r} does not exist: make it before writing {str(path)!r}.")
    Path(path).write_text(text, encoding="utf-8")
    return None


def to_document(results: Any) -> dict[str, Any]:
    """Everything needed to have the results again: data, options, coefficients, and how they were found."""
    model, estimate = results.model, results.estimate
    groups = results.cov_kwds.get("groups")
    document = {
        "schema": SCHEMA,
        "version": VERSION,
        "model": {
            "class": type(model).__name__,
            "rank": int(model.rank),
            "position": model.position,
            "ties": model.ties,
            "tie": model.tie or "common",
            "n_ties_dropped": float(getattr(model, "n_ties_dropped", 0.0)),
        },
        "data": _data(model),
        "estimate": {
            "scores": estimate.at.scores.tolist(),
            "judge_terms": estimate.at.judge.tolist(),
            "shared_terms": estimate.at.shared.tolist(),
            "loglike": -estimate.optimum.negative_loglike,
        },
        "fit": {
            "method": estimate.method,
            "information": estimate.information,
            "cov_type": results.cov_type,
            "groups": groups.tolist() if isinstance(groups, np.ndarray) else groups,
            "use_correction": results.cov_kwds.get("use_correction", True),
            "iterations": int(estimate.optimum.iterations),
            "diverges": bool(estimate.optimum.diverges),
            "objective": estimate.optimum.value,
            "optima": list(estimate.search.values),
            "starts": list(estimate.search.counts),
            "unfinished": estimate.search.n_unfinished,
            "penalty": _penalty(estimate.penalty),
        },
    }
    return document | {"checksum": checksum(document)}


def checksum(document: dict[str, Any]) -> str:
    """Digest of everything but the checksum itself, independent of the layout of the file."""
    content = {key: value for key, value in document.items() if key != "checksum"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _data(model: Any) -> dict[str, Any]:
    data = model.comparisons
    return {
        "judges": list(data.judges),
        "items": list(data.items),
        "judge": data.judge_index.tolist(),
        "first": data.first_index.tolist(),
        "second": data.second_index.tolist(),
        "outcome": data.outcome.tolist(),
        "weight": data.weight.tolist(),
        "columns": _columns(data.columns),
        "dropped": _columns(data.dropped),
        "exog": None if model.exog is None else _columns(pd.DataFrame(model.exog, columns=model.exog_names)),
        "judge_exog": None if model.judge_exog is None else _columns(model.judge_exog),
        "judge_metadata": None if data.judge_metadata is None else _columns(data.judge_metadata),
        "item_metadata": None if data.item_metadata is None else _columns(data.item_metadata),
    }


def _columns(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Columns in their order; what is neither a number nor text is written as text, missing values as null."""
    columns = []
    for name, column in frame.items():
        is_number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_complex_dtype(column)
        values = column.astype(object if is_number else str).where(column.notna(), None)
        columns.append({"name": str(name), "values": values.tolist()})
    return columns


def _penalty(penalty: Any) -> dict[str, Any] | None:
    if penalty is None:
        return None
    chosen = penalty.validation
    return {
        "kind": penalty.kind,
        "scores": penalty.ridge.scores,
        "terms": penalty.ridge.terms,
        "validation": None if chosen is None else {"alphas": chosen.alphas.tolist(), "loss": chosen.loss.tolist()},
    }
