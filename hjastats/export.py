"""A fitted model as text: a JSON document of data, estimate and how it was found, nothing of which is ever executed."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pandas as pd

from .data.comparisons import Comparisons
from .errors import OptionError
from .fitted import Fit, Observations
from .inference.covariances import COVARIANCES
from .solve.penalties import Penalty
from .words import quoted

SCHEMA = "hjastats-results"
VERSION = 3


def to_document(
    model: str, options: dict[str, Any], fit: Fit, observed: Observations, choices: pd.DataFrame
) -> dict[str, Any]:
    """Everything needed to have the results again: data, options, coefficients, and how they were found.

    Parameters
    ----------
    model : str
        Name of the class.
    options : dict
        What it was made with beside the data.
    choices : pandas.DataFrame
        What was chosen for the user.

    Raises
    ------
    OptionError
        For constrained fits.
    """
    if fit.restriction is not None:
        raise OptionError(
            f"files do not keep constraints ({quoted(fit.restriction.labels, 3)}): write the fit without them, and call "
            "fit_constrained of its model after loading."
        )
    found, chosen = fit.search, fit.choice
    options_of_covariance = {name: chosen.facts[name] for name in COVARIANCES[chosen.kind].options}
    document = {
        "schema": SCHEMA,
        "version": VERSION,
        "model": {"class": model, **options, "n_ties_dropped": observed.n_ties_dropped},
        "choices": _records(choices.reset_index()),
        "data": _data(observed),
        "estimate": {
            "scores": fit.at.scores.tolist(),
            "judge_terms": fit.at.judge.tolist(),
            "shared_terms": fit.at.shared.tolist(),
            "loglike": fit.loglike,
        },
        "fit": {
            "method": fit.method,
            "information": fit.information,
            "cov_type": chosen.kind,
            "cov_kwds": options_of_covariance,
            "iterations": int(fit.optimum.iterations),
            "diverges": bool(fit.optimum.diverges),
            "objective": fit.optimum.value,
            "optima": list(found.values),
            "starts": list(found.counts),
            "unfinished": found.n_unfinished,
            "outermost": found.outermost,
            "penalty": None if fit.penalty is None else _penalty(fit.penalty),
        },
    }
    return document | {"checksum": checksum(document)}


def checksum(document: dict[str, Any]) -> str:
    """Digest of everything but the checksum itself, independent of the layout of the file."""
    content = {key: value for key, value in document.items() if key != "checksum"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _data(observed: Observations) -> dict[str, Any]:
    data, rows = observed.data, observed.rows
    shared = pd.DataFrame(rows.shared_terms, columns=rows.terms.shared_names)[rows.terms.covariates("common")]
    own = pd.DataFrame(rows.judge_terms, columns=rows.terms.own_names)[rows.terms.covariates("judge")]
    return comparisons_document(data) | {
        "exog": _columns(shared) if shared.shape[1] else None,
        "judge_exog": _columns(own) if own.shape[1] else None,
        "offset": rows.offset[:, 0].tolist() if rows.has_offset else None,
    }


def comparisons_document(data: Comparisons) -> dict[str, Any]:
    """The comparisons as lists of numbers and labels."""
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
        "judge_metadata": None if data.judge_metadata is None else _columns(data.judge_metadata),
        "item_metadata": None if data.item_metadata is None else _columns(data.item_metadata),
        "has_order": data.has_order,
        "cluster": data.cluster,
        "made_of": data.made_of,
        "collapsed": list(data.collapsed),
        "doubts": list(data.doubts),
        "unlinked": list(data.unlinked),
        "n_unlinked": data.n_unlinked,
        "asked_in": data.asked_in,
        "asked_with": data.asked_with,
    }


def _columns(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Columns in their order; what is neither a number nor text is written as text, missing values as null."""
    columns = []
    for name, column in frame.items():
        is_number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_complex_dtype(column)
        values = column.astype(object if is_number else str).tolist()
        known = [value if is_there else None for value, is_there in zip(values, column.notna(), strict=True)]
        columns.append({"name": str(name), "values": known})
    return columns


def _penalty(penalty: Penalty) -> dict[str, Any]:
    chosen = penalty.validation
    return {
        "kind": penalty.kind,
        "scores": penalty.ridge.scores,
        "terms": penalty.ridge.terms,
        "validation": None if chosen is None else {"alphas": chosen.alphas.tolist(), "loss": chosen.loss.tolist()},
    }


def _records(table: pd.DataFrame) -> list[dict[Any, Any]]:
    """Rows as dicts, without numbers that are none."""
    rows = table.astype(object).to_dict("records")
    return [{name: None if pd.isna(value) else value for name, value in row.items()} for row in rows]
