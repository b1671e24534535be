"""Any smooth function of the parameters with its delta-method inference: what a user writes is read, valued and differentiated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.tools.numdiff import approx_fprime

from ..data.arrays import LARGEST, check_option, numbers
from ..errors import ContrastError
from ..fitted import Fit
from ..model.decomposition import AnchoringError
from ..model.quantities import ParameterView, Probability, Quantities
from ..solve.precision import Covariance
from .apart import check_functions
from .contrast_results import ALTERNATIVES, CLEAR, SCALES, Contrast, Ratio, check_domains
from .expressions import Dual, evaluate, quantity, weighted
from .functions import ANYTHING, PROBABILITY
from .hypotheses import linear_text

Spec = str | Callable[[ParameterView], Any] | Mapping[str, Any] | Sequence[Any] | np.ndarray | pd.Series | pd.DataFrame
# Slopes of a function this small against its value are looked at twice, with this step in units of score.
_FLAT = 1e-6
_WIDE_STEP = 1e-3


def contrast(
    fit: Fit,
    spec: Spec,
    *,
    null: float | Sequence[float] | None = None,
    scale: str | None = None,
    alternative: str = "two-sided",
) -> Contrast:
    """Contrasts of a fit given as strings, functions of the labelled parameters, weights, or named collections of these.

    Raises
    ------
    ContrastError
    """
    check_option("alternative", alternative, ALTERNATIVES)
    result = contrast_at(spec, fit.quantities, fit.covariance, null=null, scale=scale)
    check_functions(
        fit.layout,
        lambda scores: contrast_at(spec, fit.quantities.with_scores(scores), None, with_gradient=False).estimate,
        fit.at.scores,
    )
    result = replace(result, gradient=fit.along(result.gradient))
    # Two that run away together may have a ratio, of which their own errors say nothing.
    ratios = {i: ratio for i, ratio in result.ratios.items() if not fit.is_open(ratio.gradient).any()}
    return replace(result, ratios=ratios, alternative=alternative).without(fit.is_open(result.gradient))


def wald_intervals(fit: Fit, spec: Spec, alpha: float = 0.05) -> pd.DataFrame:
    """Confidence limits of contrasts, in columns 0 and 1 as statsmodels has them."""
    found = contrast(fit, spec)
    return pd.DataFrame(found.conf_int(alpha), pd.Index(found.names))


def is_contrast(spec: Any) -> bool:
    """Whether it is one, and not a number or positions of parameters."""
    several = spec if isinstance(spec, Sequence) and not isinstance(spec, str) and len(spec) else [spec]
    return all(isinstance(one, (str, Mapping, pd.Series, pd.DataFrame)) or callable(one) for one in several)


def contrast_at(
    spec: Spec,
    quantities: Quantities,
    covariance: Covariance | None,
    *,
    null: float | Sequence[float] | None = None,
    scale: str | None = None,
    with_gradient: bool = True,
) -> Contrast:
    """Contrasts of any parameter values; without a covariance they have no standard errors.

    Raises
    ------
    ContrastError
    """
    if scale is not None and not (isinstance(scale, str) and scale in SCALES):
        raise ContrastError(f"scale must be 'delta', 'log' or 'logit', got {scale!r}.")
    found = [each for name, single in _named(spec) for each in _single(name, single, quantities, with_gradient)]
    names, duals = [each.name for each in found], [each.dual for each in found]
    scales = tuple(scale or ("logit" if dual.is_probability else "delta") for dual in duals)
    given = [each.null for each in found] if null is None else _spread(null, len(names))
    nulls = [SCALES[own].null if value is None else value for own, value in zip(scales, given, strict=True)]
    jacobian = np.array([dual.gradient for dual in duals]).reshape(len(names), quantities.n_free)
    whole = [i for i, dual in enumerate(duals) if dual.ratio is not None and scales[i] == "delta"]
    result = Contrast(
        names,
        np.array([dual.value for dual in duals]),
        np.array(nulls, dtype=float),
        jacobian,
        np.full((len(names), len(names)), np.nan),
        size=np.array([dual.size for dual in duals]),
        scales=scales,
        is_length=np.array([dual.is_length for dual in duals]),
    )
    check_domains(result, scale)
    if covariance is None:
        return result
    parts = [part.gradient for i in whole for part in duals[i].ratio or ()]
    rows = np.vstack([jacobian, *(part if part.size else np.zeros(quantities.n_free) for part in parts)])
    joint = covariance.of(rows)
    n, ratios = len(names), {}
    for number, i in enumerate(whole):
        above, below = duals[i].ratio or (duals[i], duals[i])
        at = slice(n + 2 * number, n + 2 * number + 2)
        ratios[i] = Ratio(above.value, below.value, joint[at, at], rows[at])
    # Fieller's method needs no clear denominator.
    margins = [() if i in whole else dual.margins for i, dual in enumerate(duals)]
    return replace(result, cov=joint[:n, :n], ratios=ratios, remarks=_unclear(margins, covariance))


def _spread(null: Any, n: int) -> list[float]:
    try:
        values = np.broadcast_to(np.asarray(null, dtype=float), n)
    except (TypeError, ValueError, OverflowError):
        raise ContrastError(f"null must be a number or one per contrast ({n}), got {null!r}.") from None
    if (np.abs(values) > LARGEST).any():
        raise ContrastError(f"null must be numbers up to {LARGEST:g}, got {null!r}.")
    return values.tolist()


def _unclear(margins: list[tuple[tuple[str, Dual], ...]], covariance: Covariance) -> dict[str, np.ndarray]:
    """What to say of contrasts that rest, somewhere inside, on something not being zero which cannot be told from it."""
    remarks: dict[str, np.ndarray] = {}
    for i, some in enumerate(margins):
        errors = np.sqrt(covariance.variances(np.array([margin.gradient for _, margin in some]))) if some else []
        for (text, margin), error in zip(some, errors, strict=True):
            if abs(margin.value) < CLEAR * error:
                remarks.setdefault(text, np.zeros(len(margins), dtype=bool))[i] = True
    return remarks


def _named(spec: Any) -> list[tuple[str | None, Any]]:
    """Single contrasts with their names, if they have any."""
    if isinstance(spec, str) or callable(spec) or _is_weights(spec):
        return [(None, spec)]
    pairs: list[tuple[str | None, Any]]
    if isinstance(spec, pd.DataFrame):
        # One contrast per row, one parameter per column; rows that are only numbered have no name.
        has_names = not isinstance(spec.index, pd.RangeIndex)
        pairs = [(str(name) if has_names else None, row) for name, row in spec.iterrows()]
    elif isinstance(spec, (Mapping, pd.Series)):
        pairs = [(str(name), single) for name, single in spec.items()]
    elif isinstance(spec, Sequence) or (isinstance(spec, np.ndarray) and spec.ndim):
        pairs = [(None, single) for single in spec]
    else:
        raise ContrastError(
            f"a contrast is a string, a function, weights, or a dict or list of these, got {type(spec).__name__}."
        )
    if not pairs:
        raise ContrastError("there is no contrast to evaluate: the collection is empty.")
    for _, single in pairs:
        if not isinstance(single, str) and not callable(single) and not _is_weights(single):
            raise ContrastError(
                f"a contrast is a string, a function or weights, got {type(single).__name__}: {single!r}."
            )
    return pairs


def _is_weights(single: Any) -> bool:
    """Whether it is a number for each parameter, or for each of those it names."""
    if isinstance(single, Mapping):
        single = list(single.values())
    is_list = isinstance(single, (Sequence, pd.Series)) or (isinstance(single, np.ndarray) and single.ndim > 0)
    if not is_list or isinstance(single, str) or not len(single):
        return False
    return all(isinstance(weight, (int, float, np.number)) and not isinstance(weight, bool) for weight in single)


@dataclass(frozen=True)
class _Found:
    """One contrast: its name, its value, and what it is tested against if that was said."""

    name: str
    dual: Dual
    null: float | None = None


def _single(name: str | None, spec: Any, quantities: Quantities, with_gradient: bool) -> list[_Found]:
    if isinstance(spec, str):
        parsed = evaluate(spec, quantities)
        prefix = f"{name}: " if name and len(parsed) > 1 else ""
        return [_Found(prefix + one.text if prefix or not name else name, one.estimate, one.null) for one in parsed]
    if callable(spec):
        return _function(name, spec, quantities, with_gradient)
    return [_combination(name, spec, quantities)]


def _combination(name: str | None, weights: Any, quantities: Quantities) -> _Found:
    """A linear combination: weights by name of a parameter or anything a string can ask for, or one for each parameter."""
    layout = quantities.layout
    known = layout.names
    if isinstance(weights, (Mapping, pd.Series)):
        terms = [(str(key), float(weight)) for key, weight in weights.items()]
    elif len(weights) == len(known):
        terms = list(zip(known, numbers("weights", weights).tolist(), strict=True))
    else:
        raise ContrastError(f"weights are one for each of the {len(known)} parameters, got {len(weights)}.")
    if not np.isfinite([weight for _, weight in terms]).all():
        raise ContrastError("weights must be finite numbers.")
    terms = [(key, weight) for key, weight in terms if weight]
    if not terms:
        raise ContrastError("there is no contrast to evaluate: all weights are zero.")
    places = {key: place for place, key in enumerate(known)}
    dual = weighted(
        (weight, quantity(quantities, *layout.quantity(places[key])) if key in places else _one(key, quantities))
        for key, weight in terms
    )
    return _Found(name or linear_text([weight for _, weight in terms], [key for key, _ in terms]), dual)


def _one(text: str, quantities: Quantities) -> Dual:
    """What has a weight: a string that asks for one thing.

    Raises
    ------
    ContrastError
    """
    found = evaluate(text, quantities)
    if len(found) != 1 or found[0].null is not None:
        raise ContrastError(f"weights are for single quantities without '=', got {text!r}.")
    return found[0].estimate


def _function(
    name: str | None, function: Callable[[ParameterView], Any], quantities: Quantities, with_gradient: bool
) -> list[_Found]:
    """Centred differences along the free coordinates: the function only ever sees parameters the model allows."""
    result = function(quantities.view())
    try:
        estimate = np.atleast_1d(np.asarray(result, dtype=float))
    except (TypeError, ValueError, OverflowError):
        raise ContrastError(f"a contrast function must return numbers, got {type(result).__name__}.") from None
    if estimate.ndim != 1 or not np.isfinite(estimate).all():
        raise ContrastError("a contrast function must return finite numbers, one or a one-dimensional collection.")
    base = name or getattr(function, "__name__", "contrast").replace("<lambda>", "contrast")
    labels = [str(label) for label in result.index] if isinstance(result, pd.Series) else _numbered(base, len(estimate))
    if name and isinstance(result, pd.Series):
        labels = [f"{name}[{label}]" for label in labels]
    jacobian = np.zeros((len(estimate), quantities.n_free))
    if with_gradient:
        jacobian = _differences(base, function, quantities, estimate, is_logical=np.asarray(result).dtype == bool)
    members = result if isinstance(result, (list, tuple)) else [result] * len(estimate)
    bounds = [PROBABILITY if isinstance(member, Probability) else ANYTHING for member in members]
    size = np.abs(jacobian).max(axis=1, initial=0.0)
    duals = [Dual(*one) for one in zip(estimate.tolist(), jacobian, size.tolist(), bounds, strict=True)]
    return [_Found(label, dual) for label, dual in zip(labels, duals, strict=True)]


def _differences(
    name: str,
    function: Callable[[ParameterView], Any],
    quantities: Quantities,
    estimate: np.ndarray,
    *,
    is_logical: bool,
) -> np.ndarray:
    """Derivatives of a function, shape (n_contrasts, n_free); zero for what the constraints fix.

    Raises
    ------
    ContrastError
        Of a step function, which has none.
    """
    free = quantities.free

    def values(point: np.ndarray) -> np.ndarray:
        return np.atleast_1d(np.asarray(function(quantities.moved(point).view()), dtype=float))

    def slopes(step: float | None) -> np.ndarray:
        found = approx_fprime(free, values, epsilon=step, centered=True)
        return np.asarray(found).reshape(len(estimate), len(free))

    jacobian = np.zeros((len(estimate), len(free))) if is_logical else slopes(None)
    size = np.abs(jacobian).max(axis=1, initial=0.0)
    flat = np.flatnonzero(size < _FLAT * np.maximum(1.0, np.abs(estimate)))
    if not len(flat):
        return jacobian
    # A slope is the same whatever the step; rounding error is not, nor is anything left of a step function.
    wide = jacobian if is_logical else slopes(_WIDE_STEP)
    is_slope = (size > 0) & (np.abs(wide - jacobian).max(axis=1, initial=0.0) < 0.5 * size)
    for i in flat[~is_slope[flat]]:
        if is_logical or _changes_far_away(values, free, estimate[i], i):
            raise ContrastError(
                f"{name!r} changes by steps and has no derivative, so that the delta method gives no standard error: use "
                "result.bootstrap().contrast(...) with the same function."
            )
        jacobian[i] = 0.0
    return jacobian


def _changes_far_away(values: Callable[[np.ndarray], np.ndarray], free: np.ndarray, here: float, i: int) -> bool:
    """Whether a function that is flat around the estimate takes other values elsewhere."""
    rng, reach = np.random.default_rng(0), max(float(np.linalg.norm(free)), 1.0)
    for direction in rng.normal(size=(12, len(free))):
        try:
            there = values(free + reach * direction / np.linalg.norm(direction))[i]
        except AnchoringError:
            continue
        if abs(there - here) > 1e-9 * max(1.0, abs(here)):
            return True
    return False


def _numbered(base: str, n: int) -> list[str]:
    return [base] if n == 1 else [f"{base}[{i}]" for i in range(n)]
