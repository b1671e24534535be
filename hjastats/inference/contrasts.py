"""Any smooth function of the parameters with its delta-method inference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import expit, logit
from statsmodels.stats.contrast import ContrastResults
from statsmodels.tools.numdiff import approx_fprime

from ..errors import ContrastError
from ..fit import Fit
from ..model.quantities import ParameterView, Quantities
from ..solve.precision import Covariance
from .expressions import evaluate
from .hypotheses import wald_statistic

Spec = str | Callable[[ParameterView], Any] | Mapping[str, Any] | Sequence[Any]

# A gradient this small against its own terms means that the constraints fix the contrast.
FIXED = 1e-10

_SCALES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], Callable[[Any], Any], str]] = {
    "log": (np.log, np.exp, lambda x: 1.0 / x, "positive"),
    "logit": (logit, expit, lambda x: 1.0 / (x * (1.0 - x)), "between 0 and 1"),
}


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
    """

    names: list[str]
    estimate: np.ndarray
    null: np.ndarray
    gradient: np.ndarray
    cov: np.ndarray
    note: str = ""

    def without(self, is_open: np.ndarray) -> Contrast:
        """The same with the contrasts that have no finite, determined value left empty."""
        if not is_open.any():
            return self
        cov = np.where(is_open[:, None] | is_open, np.nan, self.cov)
        names = ", ".join(name for name, bad in zip(self.names, is_open, strict=True) if bad)
        note = f"without a finite estimate, see the warning of the fit: {names}"
        return replace(self, estimate=np.where(is_open, np.nan, self.estimate), cov=cov, note=note)

    @property
    def std_err(self) -> np.ndarray:
        """Standard errors; zero for what the constraints fix."""
        return np.where(self.is_fixed, 0.0, np.sqrt(np.maximum(np.diag(self.cov), 0.0)))

    @property
    def is_fixed(self) -> np.ndarray:
        """Which contrasts the constraints of the model fix, so that there is nothing to test."""
        return np.abs(self.gradient).max(axis=1, initial=0.0) < FIXED

    @property
    def z(self) -> np.ndarray:
        """Distance from the null value in standard errors; not a number for what is fixed."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.is_fixed, np.nan, (self.estimate - self.null) / self.std_err)

    @property
    def p_value(self) -> np.ndarray:
        """Two-sided normal p-values."""
        return two_sided(self.z)

    def conf_int(self, alpha: float = 0.05, method: str = "delta") -> np.ndarray:
        """Confidence limits, shape (n_contrasts, 2).

        Parameters
        ----------
        method : {"delta", "log", "logit"}
            Scale on which the interval is symmetric: the contrast itself, its logarithm (positive contrasts such as
            ratios), or its logit (probabilities).
        """
        limits = normal_limits(self.estimate, self.std_err, alpha)
        if method == "delta":
            return limits
        if method not in _SCALES:
            raise ContrastError(f"method must be 'delta', 'log' or 'logit', got {method!r}.")
        forward, backward, slope, domain = _SCALES[method]
        with np.errstate(divide="ignore", invalid="ignore"):
            centre = forward(self.estimate)
        if not np.isfinite(centre).all():
            raise ContrastError(f"method={method!r} needs contrasts {domain}, got {self.estimate.min():.4g}.")
        return backward(normal_limits(centre, self.std_err * slope(self.estimate), alpha))

    def wald_test(self) -> ContrastResults:
        """Joint chi-squared test that all contrasts equal their null values, with the rank the contrasts have."""
        return wald_statistic(self.gradient, self.cov, self.estimate - self.null, self.names)

    def summary_frame(self, alpha: float = 0.05, method: str = "delta") -> pd.DataFrame:
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
        text = frame.to_string(float_format=lambda value: f"{value:.4f}", formatters={"p_value": lambda p: f"{p:.3g}"})
        fixed = [name for name, is_fixed in zip(self.names, self.is_fixed, strict=True) if is_fixed]
        lines = [text]
        if fixed:
            lines.append(f"not testable, fixed by the constraints: {', '.join(fixed)}")
        if self.note:
            lines.append(self.note)
        return "\n".join(lines)


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


def contrast(fit: Fit, spec: Spec, *, null: float | Sequence[float] | None = None) -> Contrast:
    """Contrasts of a fit given as strings, functions of the labelled parameters, or named collections of both.

    Raises
    ------
    ContrastError
    """
    result = contrast_at(spec, fit.quantities, fit.covariance, null=null)
    return result.without(fit.is_open(result.gradient))


def contrast_at(
    spec: Spec,
    quantities: Quantities,
    covariance: Covariance | None,
    *,
    null: float | Sequence[float] | None = None,
) -> Contrast:
    """Contrasts of any parameter values; without a covariance they have no standard errors.

    Raises
    ------
    ContrastError
    """
    found = [each for name, single in _named(spec) for each in _single(name, single, quantities)]
    names, estimates, gradients, nulls = (list(part) for part in zip(*found, strict=True))
    jacobian = np.array(gradients).reshape(len(names), quantities.n_free)
    values = np.asarray(nulls, dtype=float)
    if null is not None:
        try:
            values = np.broadcast_to(np.asarray(null, dtype=float), len(names)).copy()
        except (TypeError, ValueError):
            raise ContrastError(f"null must be a number or one per contrast ({len(names)}), got {null!r}.") from None
    unknown = np.full((len(names), len(names)), np.nan)
    joint = unknown if covariance is None else covariance.of(jacobian)
    return Contrast(names, np.asarray(estimates), values, jacobian, joint)


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


def _single(name: str | None, spec: Any, quantities: Quantities) -> list[tuple[str, float, np.ndarray, float]]:
    if isinstance(spec, str):
        parsed = evaluate(spec, quantities)
        return [(name or parsed.text, parsed.estimate.value, parsed.estimate.gradient, parsed.null)]
    return _function(name, spec, quantities)


def _function(
    name: str | None, function: Callable[[ParameterView], Any], quantities: Quantities
) -> list[tuple[str, float, np.ndarray, float]]:
    """Centred differences along the free coordinates: the function only ever sees parameters the model allows."""
    layout, tangent = quantities.layout, quantities.tangent
    free = layout.to_free(quantities.at, tangent)

    def values(point: np.ndarray) -> np.ndarray:
        view = ParameterView(Quantities(layout, layout.from_free(point, tangent)))
        return np.atleast_1d(np.asarray(function(view), dtype=float))

    result = function(ParameterView(quantities))
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
    jacobian = np.asarray(approx_fprime(free, values, centered=True)).reshape(len(estimate), len(free))
    # What is left of an exact zero after differencing is rounding error, not sensitivity.
    jacobian[np.abs(jacobian) < 1e-8 * np.maximum(1.0, np.abs(estimate))[:, None]] = 0.0
    return list(zip(labels, estimate.tolist(), jacobian, np.zeros(len(labels)), strict=True))


def _numbered(base: str, n: int) -> list[str]:
    return [base] if n == 1 else [f"{base}[{i}]" for i in range(n)]
