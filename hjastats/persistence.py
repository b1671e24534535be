"""Fitted models back from their JSON documents: checked field by field, rebuilt from the numbers, compared with what they claim."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from . import limits
from .anchored_results import AnchoredResults
from .data.arrays import LARGEST
from .data.asking import declared
from .data.comparisons import Comparisons
from .errors import ComparisonError, IdentificationError
from .export import SCHEMA, VERSION, checksum
from .fitted import assess
from .inference.covariances import choose_covariance
from .model.design import Coefficients
from .model.likelihood import evaluate
from .model.terms import OPTIONS
from .models import BTLModel, HJAModel, JAModel, JudgewiseBTLModel, PopulationHJAModel, anchor
from .models.base import TRAITLESS
from .population_results import PopulationResults
from .results import HJAResults
from .solve.penalties import PENALTIES, Penalty
from .solve.precision import stationarity
from .solve.ridge import NO_RIDGE, Ridge
from .solve.search import Search
from .solve.trust import Optimum
from .solve.validation import CrossValidation
from .words import quoted, shortened

MODELS = {cls.__name__: cls for cls in (HJAModel, JAModel, BTLModel, JudgewiseBTLModel, PopulationHJAModel)}


def load_results(source: str | Path) -> HJAResults:
    """Read the results :meth:`HJAResults.to_json` wrote; nothing in the file is executed.

    The model is rebuilt from the data in the file, and the likelihood of the stored estimate is computed anew: a file that does not
    agree with itself is refused.

    Parameters
    ----------
    source : str or Path
        A path, or the JSON text itself.

    Raises
    ------
    ComparisonError
        For a file that is not ours, of a later version, incomplete or changed.

    Examples
    --------
    >>> import hjastats as hja
    >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
    >>> again = hja.load_results(result.to_json())
    >>> bool(abs(again.llf - result.llf) < 1e-9), again.converged
    (True, True)
    """
    document = _read(source)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            # What cannot be is infinite, and refused.
            return _rebuild(document)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, OverflowError, np.linalg.LinAlgError) as error:
        if isinstance(error, ComparisonError):
            raise
        raise ComparisonError(
            f"the file is not a complete hjastats result ({type(error).__name__}: {error}): write it again with to_json()."
        ) from None


def _read(source: str | Path) -> dict[str, Any]:
    if not isinstance(source, str | Path):
        raise ComparisonError(f"expected a path or the text that to_json() wrote, got {type(source).__name__}.")
    # Editors may put a mark of the encoding in front.
    text = str(source).removeprefix("\ufeff")
    if isinstance(source, Path) or not text.lstrip().startswith("{"):
        text = _file_text(source)
    try:
        document = json.loads(text, parse_constant=_refuse, parse_float=_number, parse_int=_whole)
    except json.JSONDecodeError as error:
        raise ComparisonError(f"expected JSON written by to_json(): {error}.") from None
    except RecursionError:
        raise ComparisonError("expected JSON written by to_json(): the file is nested too deeply.") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ComparisonError(f"expected a file with schema {SCHEMA!r}, as written by to_json().")
    if document.get("version") != VERSION:
        raise ComparisonError(
            f"the file has version {document.get('version')!r} of the format, this package reads version {VERSION} (before 3 a "
            "ridge meant another penalty): fit again and write it with to_json()."
        )
    if document.get("checksum") != checksum(document):
        raise ComparisonError("the file was changed after it was written (its checksum does not match): not loaded.")
    return document


def _file_text(source: str | Path) -> str:
    try:
        return Path(source).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ComparisonError(f"the file {shortened(str(source), 200)!r} does not exist.") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ComparisonError(f"{shortened(str(source), 200)!r} cannot be read: {reason}.") from None


def _refuse(text: str) -> float:
    raise ComparisonError(f"the file holds {shortened(text)}, which to_json() never writes: not loaded.")


def _number(text: str) -> float:
    value = float(text)
    return value if np.isfinite(value) else _refuse(text)


def _whole(text: str) -> int:
    # The largest that an array can hold.
    return int(text) if len(text) < 19 else int(_refuse(text))


def _rebuild(document: dict[str, Any]) -> HJAResults:
    if document["model"]["class"] == AnchoredResults.__name__:
        return _anchored(document)
    model = _model(document["model"], document["data"])
    stored, fit = document["estimate"], document["fit"]
    if isinstance(model, PopulationHJAModel):
        return _population(model, document)
    if document["model"].get("random"):
        return _drawn(model, document)
    at = Coefficients(
        np.array(stored["scores"], dtype=float),
        np.array(stored["judge_terms"], dtype=float).reshape(len(model.judges), -1),
        np.array(stored["shared_terms"], dtype=float),
    )
    layout, design = model.layout, model.design
    shape = (len(layout.judges), len(layout.terms.own)), (len(layout.terms.shared),)
    if at.scores.shape != (len(layout.judges), len(layout.items)) or (at.judge.shape, at.shared.shape) != shape:
        raise ComparisonError("the estimate in the file does not have the shape of its model: not loaded.")
    if not all(np.abs(part).max(initial=0.0) < LARGEST for part in (at.scores, at.judge, at.shared)):
        raise ComparisonError(f"the estimate in the file has values beyond {LARGEST:g}: not loaded.")
    loglike = -evaluate(design, at).value
    if not abs(loglike - stored["loglike"]) <= 1e-8 * max(1.0, abs(loglike)):
        raise ComparisonError(
            f"the file claims a log-likelihood of {stored['loglike']:.6f}, its data and estimate give {loglike:.6f}: not loaded."
        )
    penalty = _penalty(fit["penalty"])
    _check_facts(document["model"], fit, model, penalty)
    best = _optimum(model, at, fit, penalty)
    counts = tuple(fit["optima"]), tuple(fit["starts"]), int(fit["unfinished"])
    found = Search(best, *counts, outermost=fit.get("outermost"))
    record = assess(layout, design, found, method=fit["method"], information=fit["information"], penalty=penalty)
    chosen = choose_covariance(record, fit["cov_type"], dict(fit["cov_kwds"]), lambda: model.observations)
    return model.results_class(model, chosen, _choices(document))


def _choices(document: dict[str, Any]) -> pd.DataFrame | None:
    """What the front door chose; files written before there were choices have none."""
    lines = document.get("choices")
    return pd.DataFrame(lines).set_index("what").astype({"number": float}) if lines else None


def _population(model: PopulationHJAModel, document: dict[str, Any]) -> PopulationResults:
    """A population is where it was stored, if its data say so."""
    stored, fit = document["population"], document["fit"]
    values, is_free = np.array(stored["values"], dtype=float), np.array(stored["is_free"], dtype=bool)
    record = model.fit_at(values, is_free, int(stored["n_quadrature"]), int(fit["iterations"]))
    loglike = document["estimate"]["loglike"]
    if not abs(record.loglike - loglike) <= 1e-8 * max(1.0, abs(loglike)):
        raise ComparisonError(
            f"the file claims a log-likelihood of {loglike:.6f}, its data and estimate give {record.loglike:.6f}: not loaded."
        )
    found = model.with_errors(record, fit["cov_type"], dict(fit["cov_kwds"]))
    return PopulationResults(model, found.fit, _choices(document))


def _drawn(model: HJAModel, document: dict[str, Any]) -> HJAResults:
    """A fit with random effects, fitted again: there is one maximum."""
    found, loglike = model.fit(warn_convergence=False), document["estimate"]["loglike"]
    if not abs(found.fit.loglike - loglike) <= 1e-6 * max(1.0, abs(loglike)):
        raise ComparisonError(
            f"the file claims a log-likelihood of {loglike:.6f}, its data give {found.fit.loglike:.6f}: not loaded."
        )
    return model.results_class(model, found.fit, _choices(document))


def _anchored(document: dict[str, Any]) -> AnchoredResults:
    """Anchored again, as it was asked for."""
    asked = {name: value for name, value in document["model"].items() if name != "class"}
    result = anchor(_comparisons(document["data"]), asked.pop("target"), **asked)
    if not np.abs(result.anchor.scores - np.array(document["estimate"]["scores"])).max() <= 1e-6:
        raise ComparisonError("the scores in the file are not those that its data give: not loaded.")
    return result


def _check_facts(options: dict[str, Any], fit: dict[str, Any], model: HJAModel, penalty: Penalty | None) -> None:
    """What is said of the search, which nothing else is computed from."""
    optima, starts, outermost = fit["optima"], fit["starts"], fit.get("outermost")
    can_be = {
        "rank": options["rank"] == model.rank,
        "n_ties_dropped": _is_number(options.get("n_ties_dropped", 0)),
        "method": isinstance(fit["method"], str),
        "information": fit["information"] in ("expected", "observed"),
        "diverges": isinstance(fit["diverges"], bool),
        "optima": len(optima) == len(starts) and all(_is_number(value, -np.inf) for value in optima),
        "starts": all(_is_number(n) and isinstance(n, int) for n in [*starts, fit["unfinished"], fit["iterations"]]),
        "outermost": outermost is None or _is_number(outermost, -np.inf),
        "penalty": penalty is None or penalty.has_likelihood == bool(penalty.ridge),
    }
    if wrong := [name for name, holds in can_be.items() if not holds]:
        raise ComparisonError(f"{quoted(wrong)} in the file cannot be what a fit gives: not loaded.")


def _is_number(value: Any, least: float = 0.0) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= least


def _optimum(model: HJAModel, at: Coefficients, fit: dict[str, Any], penalty: Penalty | None) -> Optimum:
    """The stored optimum, its convergence judged again from where it lies."""
    value, negative_loglike = float(fit["objective"]), evaluate(model.design, at).value
    ridge = NO_RIDGE if penalty is None else penalty.ridge
    has_objective = penalty is None or penalty.has_likelihood
    minimised = negative_loglike + ridge.value(model.design, at)
    if has_objective and not abs(value - minimised) <= 1e-8 * max(1.0, abs(minimised)):
        raise ComparisonError(
            f"the file claims that {value:.6f} was minimised, its data, estimate and penalty give {minimised:.6f}: not loaded."
        )
    if not has_objective:
        # Stationary for a different objective than ours; the bias-reduced fit said whether it had settled.
        return Optimum(at, value, negative_loglike, 0.0, True, int(fit["iterations"]), (value,))
    if fit["diverges"]:
        return Optimum(at, value, negative_loglike, np.inf, False, int(fit["iterations"]), (value,), diverges=True)
    distance, is_minimum = stationarity(model.design, at, model.structure.tangent(at.scores), ridge)
    return Optimum(at, value, negative_loglike, distance, is_minimum, int(fit["iterations"]), (value,))


def _model(options: dict[str, Any], stored: dict[str, Any]) -> HJAModel:
    cls = MODELS.get(options["class"])
    if cls is None:
        raise ComparisonError(f"the file holds a model called {options['class']!r}; known are {', '.join(MODELS)}.")
    data = _comparisons(stored)
    terms = {name: _frame(stored[name], pd.RangeIndex(data.n_rows)) for name in ("exog", "judge_exog")}
    # Ties that were dropped are not in the file; terms that a file does not know were not there.
    arguments: dict[str, Any] = {name: options.get(name) for name in OPTIONS} | {"tie": options["tie"]}
    arguments["ties"] = "half" if options["ties"] == "drop" else options["ties"]
    if cls.takes_rank:
        arguments["rank"] = int(options["rank"])
    if options.get("taste"):
        arguments["taste"] = True
    # Files written before there were traits have none.
    arguments |= {name: options[name] for name in TRAITLESS if name in cls.takes_traits and name in options}
    # Files written before there were offsets have none.
    offset = stored.get("offset")
    arguments["offset"] = None if offset is None else pd.Series(offset, name=options.get("offset_name"))
    model = cls(data.outcome, terms["exog"], comparisons=data, judge_exog=terms["judge_exog"], **arguments)
    if options["ties"] == "drop":
        model.ties, model.n_ties_dropped = "drop", float(options["n_ties_dropped"])
    return model


def _comparisons(stored: dict[str, Any]) -> Comparisons:
    judges, items = np.asarray(stored["judges"], dtype=object), np.asarray(stored["items"], dtype=object)
    codes = {}
    for name, labels in (("judge", judges), ("first", items), ("second", items)):
        codes[name] = np.asarray(stored[name])
        if codes[name].dtype.kind != "i" or not ((codes[name] >= 0) & (codes[name] < len(labels))).all():
            raise ComparisonError(f"the {name} codes in the file do not belong to its labels: not loaded.")
    data = Comparisons.from_arrays(
        judges[codes["judge"]],
        items[codes["first"]],
        items[codes["second"]],
        np.asarray(stored["outcome"], dtype=float),
        np.asarray(stored["weight"], dtype=float),
        counts=False,
        columns=_frame(stored["columns"], pd.RangeIndex(len(stored["outcome"]))),
        dropped=_frame(stored["dropped"]),
    )
    if (data.judges, data.items) != (tuple(stored["judges"]), tuple(stored["items"])):
        raise IdentificationError("the labels in the file are not those of its comparisons")
    # Files written before there was metadata have none, nor do they say what the rows were made of.
    cluster = stored.get("cluster")
    if cluster is not None and (data.columns is None or cluster not in data.columns):
        raise ComparisonError(
            f"the file has no column {shortened(cluster)!r}, which it says was judged together: not loaded."
        )
    roles = (stored.get("asked_in"), stored.get("asked_with"))
    asked = [None if role is None else str(role) for role in roles]
    data = replace(
        data,
        has_order=bool(stored.get("has_order", True)),
        cluster=cluster,
        made_of=str(stored.get("made_of", "")),
        collapsed=tuple(map(str, stored.get("collapsed", ()))),
        doubts=tuple(map(str, stored.get("doubts", ()))),
        unlinked=tuple(map(str, stored.get("unlinked", ()))),
        n_unlinked=float(stored.get("n_unlinked", 0.0)),
        **declared(pd.DataFrame() if data.columns is None else data.columns, *asked),
    )
    return data.with_metadata(
        judges=_frame(stored.get("judge_metadata"), data.judges), items=_frame(stored.get("item_metadata"), data.items)
    )


def _frame(columns: list[dict[str, Any]] | None, index: Any = None) -> pd.DataFrame | None:
    if columns is None:
        return None
    if any(isinstance(value, list | dict) for column in columns for value in (column["name"], *column["values"])):
        raise ComparisonError("a column in the file holds lists or other containers: not loaded.")
    return pd.DataFrame({column["name"]: column["values"] for column in columns}, index=index)


def _penalty(stored: dict[str, Any] | None) -> Penalty | None:
    if stored is None:
        return None
    chosen = stored["validation"]
    validation = None if chosen is None else CrossValidation(np.array(chosen["alphas"]), np.array(chosen["loss"]))
    weights = stored["scores"], stored["terms"]
    if not all(_is_number(weight) and weight <= limits.LARGEST_AMOUNT for weight in weights):
        raise ComparisonError(f"the file has penalties of {weights}, which must be numbers from 0: not loaded.")
    return PENALTIES[stored["kind"]](Ridge(float(weights[0]), float(weights[1])), validation)
