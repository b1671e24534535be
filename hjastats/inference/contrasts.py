"""Any smooth function of the parameters with its delta-method inference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import expit, logit
from statsmodels.stats.contrast import ContrastResults
from statsmodels.tools.numdiff import approx_fprime

from ..errors import ContrastError
from ..fit import Fit
from ..model.decomposition import AnchoringError
from ..model.quantities import ParameterView, Probability, Quantities
from ..solve.precision import Covariance
from .expressions import FIXED, Dual, evaluate
from .functions import ANYTHING, PROBABILITY
from .hypotheses import wald_statistic

Spec = str | Callable[[ParameterView], Any] | Mapping[str, Any] | Sequence[Any]


class _Scale(NamedTuple):
    """On which a contrast is tested: the way there and back, its slope, where it is defined, and the value tested by default."""

    to: Callable[[Any], Any]
    back: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    domain: str
    null: float


_SCALES = {
    "delta": _Scale(np.asarray, np.asarray, np.ones_like, "", 0.0),
    "log": _Scale(np.log, np.exp, lambda x: 1.0 / x, "positive", 1.0),
    "logit": _Scale(logit, expit, lambda x: 1.0 / (x * (1.0 - x)), "between 0 and 1", 0.5),
}
# A quantity divided by is told from zero at this many standard errors.
CLEAR = 1.96
# Slopes of a function this small against its value are looked at twice, with this step in units of score.
_FLAT = 1e-6
_WIDE_STEP = 1e-3


@dataclass(frozen=True)
class Ratio:
    """Numerator and denominator of a contrast that is a ratio, with covariance (2, 2) and gradients, for Fieller's method."""

    above: float
    below: float
    cov: np.ndarray
    gradient: np.ndarray = field(default_factory=lambda: np.zeros((2, 0)))

    def z(self, null: float) -> float:
        """How far ``above - null * below`` is from zero, in standard errors and with the sign of the ratio's distance."""
        weights = np.array([1.0, -null])
        error = np.sqrt(max(float(weights @ self.cov @ weights), 0.0))
        return float(np.sign(self.below) * (self.above - null * self.below) / error) if error > 0 else np.nan

    def limits(self, alpha: float) -> tuple[float, float]:
        """All values that the test does not reject; without an end where the denominator cannot be told from zero.

        Examples
        --------
        >>> [round(limit, 3) for limit in Ratio(1.0, 2.0, np.diag([0.01, 0.01])).limits(0.05)]
        [0.395, 0.615]
        >>> Ratio(1.0, 0.1, np.diag([0.01, 0.01])).limits(0.05)
        (-inf, inf)
        """
        squared = stats.norm.ppf(1.0 - alpha / 2.0) ** 2
        second = self.below**2 - squared * self.cov[1, 1]
        first = self.above * self.below - squared * self.cov[0, 1]
        third = self.above**2 - squared * self.cov[0, 0]
        if not np.isfinite(second):
            return np.nan, np.nan
        if second <= 0.0:
            return -np.inf, np.inf
        half = np.sqrt(max(first**2 - second * third, 0.0))
        return float((first - half) / second), float((first + half) / second)


@dataclass(frozen=True, repr=False)
class Contrast:
    """Estimates of one or several contrasts with their joint covariance.

    Attributes
    ----------
    names : list of str
    estimate, std_err, null : ndarray, shape (n_contrasts,)
    gradient : ndarray, shape (n_contrasts, n_free)
        In the free coordinates.
    cov : ndarray, shape (n_contrasts, n_contrasts)
    size : ndarray, shape (n_contrasts,)
        What the terms of each gradient would add up to if none cancelled another.
    scales : tuple of str
        On which each is tested and bounded: "delta" (its own), "log", or "logit" for probabilities.
    ratios : dict
        Numerators and denominators, by the position of the contrast: ratios are tested and bounded by Fieller's method.
    """

    names: list[str]
    estimate: np.ndarray
    null: np.ndarray
    gradient: np.ndarray
    cov: np.ndarray
    note: str = ""
    size: np.ndarray | float = 1.0
    scales: tuple[str, ...] = ()
    ratios: dict[int, Ratio] = field(default_factory=dict)

    def without(self, is_open: np.ndarray) -> Contrast:
        """The same with the contrasts that have no finite, determined value left empty."""
        if not is_open.any():
            return self
        cov = np.where(is_open[:, None] | is_open, np.nan, self.cov)
        names = ", ".join(name for name, bad in zip(self.names, is_open, strict=True) if bad)
        note = f"without a finite estimate, see the warning of the fit: {names}"
        ratios = {i: ratio for i, ratio in self.ratios.items() if not is_open[i]}
        return replace(self, estimate=np.where(is_open, np.nan, self.estimate), cov=cov, note=note, ratios=ratios)

    @property
    def std_err(self) -> np.ndarray:
        """Standard errors by the delta method; zero for what the constraints fix."""
        return np.where(self.is_fixed, 0.0, np.sqrt(np.maximum(np.diag(self.cov), 0.0)))

    @property
    def is_fixed(self) -> np.ndarray:
        """Which contrasts the constraints of the model fix, so that there is nothing to test."""
        return ~self._is_rounded & (np.abs(self.gradient).max(axis=1, initial=0.0) <= FIXED * self.size)

    @property
    def _is_rounded(self) -> np.ndarray:
        """Which probabilities are zero or one up to rounding error."""
        is_chance = np.array([scale == "logit" for scale in self._scales()])
        return is_chance & np.isin(self.estimate, (0.0, 1.0))

    def _scales(self, method: str | None = None) -> tuple[str, ...]:
        return (method,) * len(self.names) if method else self.scales or ("delta",) * len(self.names)

    def _carried(self, values: np.ndarray, way: str = "to", method: str | None = None) -> np.ndarray:
        """Values of the contrasts carried to their scales or back, or the slopes of the former there."""
        ways = [getattr(_SCALES[scale], way) for scale in self._scales(method)]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.array([carry(value) for carry, value in zip(ways, values, strict=True)], dtype=float)

    @property
    def _distance(self) -> np.ndarray:
        """From the null values, each on its scale."""
        with np.errstate(invalid="ignore"):
            return self._carried(self.estimate) - self._carried(self.null)

    def on_scales(self) -> tuple[np.ndarray, np.ndarray]:
        """Distances from the null values, shape (n_contrasts,), and gradients, each on the scale of its contrast."""
        return self._distance, self._carried(self.estimate, "slope")[:, None] * self.gradient

    @property
    def z(self) -> np.ndarray:
        """Distance from the null value in standard errors, on the scale of each contrast; not a number for what is fixed."""
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(self.is_fixed, np.nan, self._distance / (self._carried(self.estimate, "slope") * self.std_err))
        for i, ratio in self.ratios.items():
            z[i] = ratio.z(self.null[i])
        return np.where(self._is_rounded, np.nan, z)

    @property
    def p_value(self) -> np.ndarray:
        """Two-sided normal p-values."""
        return two_sided(self.z)

    def conf_int(self, alpha: float = 0.05, method: str | None = None) -> np.ndarray:
        """Confidence limits, shape (n_contrasts, 2).

        Parameters
        ----------
        method : {"delta", "log", "logit"}, optional
            Scale on which the interval is symmetric: the contrast itself, its logarithm (positive contrasts such as
            ratios), or its logit (probabilities). By default probabilities have the logit, ratios Fieller's limits, and
            everything else its own scale.
        """
        if method is not None and method not in _SCALES:
            raise ContrastError(f"method must be 'delta', 'log' or 'logit', got {method!r}.")
        centre = self._carried(self.estimate, "to", method)
        if method is not None and not np.isfinite(centre[np.isfinite(self.estimate)]).all():
            worst = np.nanmin(self.estimate)
            raise ContrastError(f"method={method!r} needs contrasts {_SCALES[method].domain}, got {worst:.4g}.")
        with np.errstate(invalid="ignore"):
            limits = normal_limits(centre, self.std_err * self._carried(self.estimate, "slope", method), alpha)
        limits = np.column_stack([self._carried(limits[:, side], "back", method) for side in (0, 1)])
        for i, ratio in self.ratios.items() if method is None else ():
            limits[i] = ratio.limits(alpha)
        return limits

    def wald_test(self) -> ContrastResults:
        """Joint chi-squared test that all contrasts equal their null values, with the rank the contrasts have."""
        slope = self._carried(self.estimate, "slope")
        cov = np.outer(slope, slope) * self.cov
        return wald_statistic(slope[:, None] * self.gradient, cov, self._distance, self.names, slope * self.size)

    def summary_frame(self, alpha: float = 0.05, method: str | None = None) -> pd.DataFrame:
        """One row per contrast: estimate, std_err, z, p_value, ci_lower, ci_upper."""
        return tests_table(self.estimate, self.std_err, self.z, self.conf_int(alpha, method)).set_axis(
            pd.Index(self.names, name="contrast")
        )

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        frame = self.summary_frame()
        if (self.null != 0).any():
            frame.insert(1, "null", self.null)
        text = frame.to_string(float_format=_printed, formatters={"p_value": lambda p: f"{p:.3g}"})
        return "\n".join([text, *self._remarks()])

    def _remarks(self) -> list[str]:
        """What has to be known to read the table."""

        def named(which: np.ndarray) -> str:
            return ", ".join(name for name, is_one in zip(self.names, which, strict=True) if is_one)

        lines = [self.note] if self.note else []
        if self.is_fixed.any():
            lines.insert(0, f"not testable, fixed by the constraints: {named(self.is_fixed)}")
        if self._is_rounded.any():
            lines.append(f"not testable, too close to 0 or 1: {named(self._is_rounded)}; ask for its log-odds instead")
        lines += [
            f"{self.names[i]}: the denominator cannot be told from zero (z = {ratio.below / np.sqrt(ratio.cov[1, 1]):.2f}), so "
            "that the interval has no end"
            for i, ratio in self.ratios.items()
            if np.isinf(ratio.limits(0.05)).any()
        ]
        return lines


def _printed(value: float) -> str:
    """Four decimals, unless they would all be zero."""
    return f"{value:.4f}" if value == 0 or not abs(value) < 5e-5 else f"{value:.3g}"


def two_sided(z: np.ndarray) -> np.ndarray:
    """Two-sided normal p-values."""
    return 2.0 * stats.norm.sf(np.abs(z))


def normal_limits(estimate: np.ndarray, std_err: np.ndarray, alpha: float) -> np.ndarray:
    """Symmetric confidence limits, shape (n, 2).

    Raises
    ------
    ContrastError
    """
    if not 0 < alpha < 1:
        raise ContrastError(f"alpha must lie between 0 and 1, got {alpha!r}.")
    half = stats.norm.ppf(1.0 - alpha / 2.0) * std_err
    return np.column_stack([estimate - half, estimate + half])


def tests_table(estimate: np.ndarray, std_err: np.ndarray, z: np.ndarray, limits: np.ndarray) -> pd.DataFrame:
    """Columns estimate, std_err, z, p_value, ci_lower, ci_upper."""
    columns = {"estimate": estimate, "std_err": std_err, "z": z, "p_value": two_sided(z)}
    return pd.DataFrame(columns | {"ci_lower": limits[:, 0], "ci_upper": limits[:, 1]})


def contrast(
    fit: Fit, spec: Spec, *, null: float | Sequence[float] | None = None, scale: str | None = None
) -> Contrast:
    """Contrasts of a fit given as strings, functions of the labelled parameters, or named collections of both.

    Raises
    ------
    ContrastError
    """
    result = contrast_at(spec, fit.quantities, fit.covariance, null=null, scale=scale)
    # Two that run away together may have a ratio, of which their own errors say nothing.
    ratios = {i: ratio for i, ratio in result.ratios.items() if not fit.is_open(ratio.gradient).any()}
    return replace(result, ratios=ratios).without(fit.is_open(result.gradient))


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
    if scale is not None and scale not in _SCALES:
        raise ContrastError(f"scale must be 'delta', 'log' or 'logit', got {scale!r}.")
    found = [each for name, single in _named(spec) for each in _single(name, single, quantities, with_gradient)]
    names, duals = [each.name for each in found], [each.dual for each in found]
    scales = tuple(scale or ("logit" if dual.is_probability else "delta") for dual in duals)
    given = [each.null for each in found] if null is None else _spread(null, len(names))
    nulls = [_SCALES[own].null if value is None else value for own, value in zip(scales, given, strict=True)]
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
    )
    _check_domains(result, scale)
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
    note = _unclear_divisors(names, [() if i in whole else dual.divisors for i, dual in enumerate(duals)], covariance)
    return replace(result, cov=joint[:n, :n], ratios=ratios, note=note)


def _spread(null: Any, n: int) -> list[float]:
    try:
        return np.broadcast_to(np.asarray(null, dtype=float), n).tolist()
    except (TypeError, ValueError):
        raise ContrastError(f"null must be a number or one per contrast ({n}), got {null!r}.") from None


def _check_domains(result: Contrast, scale: str | None) -> None:
    """Refuse values that a scale does not know: null values, and estimates where the user chose the scale."""
    with np.errstate(divide="ignore", invalid="ignore"):
        for name, own, null, value in zip(result.names, result.scales, result.null, result.estimate, strict=True):
            carry, domain = _SCALES[own].to, _SCALES[own].domain
            if not np.isfinite(carry(null)):
                raise ContrastError(f"{name!r} is tested against a value {domain}, got {null:.4g}.")
            if scale is not None and np.isnan(carry(value)):
                raise ContrastError(f"scale={scale!r} needs contrasts {domain}, {name!r} is {value:.4g}.")


def _unclear_divisors(names: list[str], divisors: list[tuple[Dual, ...]], covariance: Covariance) -> str:
    """Which contrasts divide, somewhere inside, by what cannot be told from zero."""
    unclear = []
    for name, some in zip(names, divisors, strict=True):
        errors = np.sqrt(covariance.variances(np.array([divisor.gradient for divisor in some]))) if some else []
        if any(abs(divisor.value) < CLEAR * error for divisor, error in zip(some, errors, strict=True)):
            unclear.append(name)
    if not unclear:
        return ""
    return f"divided by what cannot be told from zero, use result.bootstrap(): {', '.join(unclear)}"


def _named(spec: Any) -> list[tuple[str | None, Any]]:
    if isinstance(spec, str) or callable(spec):
        return [(None, spec)]
    pairs: list[tuple[str | None, Any]]
    if isinstance(spec, Mapping):
        pairs = [(str(name), single) for name, single in spec.items()]
    elif isinstance(spec, Sequence):
        pairs = [(None, single) for single in spec]
    else:
        raise ContrastError(
            f"a contrast is a string, a function, or a dict or list of these, got {type(spec).__name__}."
        )
    if not pairs:
        raise ContrastError("there is no contrast to evaluate: the collection is empty.")
    for _, single in pairs:
        if not isinstance(single, str) and not callable(single):
            raise ContrastError(f"a contrast is a string or a function, got {type(single).__name__}: {single!r}.")
    return pairs


@dataclass(frozen=True)
class _Found:
    """One contrast: its name, its value, and what it is tested against if that was said."""

    name: str
    dual: Dual
    null: float | None = None


def _single(name: str | None, spec: Any, quantities: Quantities, with_gradient: bool) -> list[_Found]:
    if isinstance(spec, str):
        parsed = evaluate(spec, quantities)
        return [_Found(name or parsed.text, parsed.estimate, parsed.null)]
    return _function(name, spec, quantities, with_gradient)


def _function(
    name: str | None, function: Callable[[ParameterView], Any], quantities: Quantities, with_gradient: bool
) -> list[_Found]:
    """Centred differences along the free coordinates: the function only ever sees parameters the model allows."""
    result = function(quantities.view())
    try:
        estimate = np.atleast_1d(np.asarray(result, dtype=float))
    except (TypeError, ValueError):
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
