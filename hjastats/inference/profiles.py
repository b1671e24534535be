"""Profile likelihoods: intervals of all values at which holding a parameter or contrast does not cost too much likelihood."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import brentq

from .. import limits
from ..data.arrays import check_alpha
from ..errors import ContrastError, CovarianceWarning
from ..fitted import Fit, among_themselves
from ..model.design import Coefficients
from ..model.quantities import Quantities
from ..model.tangent import TangentBasis
from ..solve.constrained import Equations, Stated, constrain
from ..solve.existence import INVOLVED
from ..words import quoted
from .constraints import check_free, linear_equations, smooth_equations
from .contrast_results import normal_limits
from .contrasts import contrast, contrast_at
from .hypotheses import linear_hypotheses

# How many times as far as all before a step outwards may lead.
_FURTHER = 4.0
# Change of the signed root from one estimate to the next beyond which the latter is lost, and not the constrained maximum.
_LEAP = 4.0
# Times the Wald distance from which on the signed root is expected to have a limit, if it has one.
_FAR = 16.0
# By how much a profile may lie above the likelihood of the fit, which then is no maximum.
_ABOVE = 1e-6


@dataclass(frozen=True)
class Profile:
    """Profile likelihood of one quantity.

    Attributes
    ----------
    name : str
    estimate : float
        Infinite where the quantity has no finite estimate.
    lower, upper : float
        Ends of the interval; infinite where no value is too far out, not a number where they were not found.
    wald : tuple of float
        The interval of estimate and standard error.
    points : pandas.DataFrame
        value, root: the signed root of the likelihood ratio, which is standard normal at the true value.
    note : str
        What went wrong, or nothing.
    """

    name: str
    estimate: float
    lower: float
    upper: float
    wald: tuple[float, float]
    points: pd.DataFrame
    note: str = ""


@dataclass(frozen=True)
class Scalar:
    """One function of the parameters, with equations that hold it at a distance from its estimate.

    Attributes
    ----------
    name : str
    value : callable
        Of coefficients.
    equations : Equations
        That it is where it is in the fit.
    gradient : ndarray, shape (n_free,)
        At the fit, on the scale of the equations.
    wald : callable
        Interval of estimate and standard error at a level alpha.
    bounds : tuple of float
        Between which all values lie.
    """

    name: str
    value: Callable[[Coefficients], float]
    equations: Equations
    gradient: np.ndarray
    wald: Callable[[float], np.ndarray]
    bounds: tuple[float, float] = (-np.inf, np.inf)

    def at_distance(self, distance: float) -> Equations:
        """That it is elsewhere, on the scale of its equations."""

        def equations(at: Coefficients, tangent: TangentBasis) -> Stated:
            missed, gradient, bending = self.equations(at, tangent)
            return Stated(missed - distance, gradient, bending)

        return equations


def parameters(fit: Fit, positions: np.ndarray) -> list[Scalar]:
    """Reported parameters as tables show them: scores are relative to the mean of those that are finite."""
    matrix = np.eye(len(fit.layout.names))
    if fit.separation is not None and "mu" in fit.layout.slices:
        where = fit.layout.slices["mu"]
        matrix[where, where] = among_themselves(~fit.is_separated[where])
    return [_linear(fit, fit.layout.names[i], matrix[i]) for i in positions]


def _linear(fit: Fit, name: str, row: np.ndarray) -> Scalar:
    here = row[None] @ fit.params
    equations = linear_equations(fit, row[None], here)
    gradient = equations(fit.at, fit.tangent).gradient

    def value(at: Coefficients) -> float:
        return float((equations(at, fit.tangent).distance + here)[0])

    def wald(alpha: float) -> np.ndarray:
        return normal_limits(here, np.sqrt(fit.covariance.variances(gradient)), alpha)[0]

    return Scalar(name, value, equations, gradient[0], wald)


def scalars(fit: Fit, spec: Any) -> list[Scalar]:
    """Parameters by name, or contrasts, one by one; those that are linear in reported parameters as such.

    Raises
    ------
    ContrastError
    """
    names = [spec] if isinstance(spec, str) else spec
    if isinstance(names, list) and names and all(name in fit.layout.names for name in names):
        return parameters(fit, np.array([fit.layout.names.index(name) for name in names]))
    stated = contrast_at(spec, fit.quantities, None)
    try:
        matrix, _ = linear_hypotheses(spec, fit.layout.names)
        return [_linear(fit, name, row) for name, row in zip(stated.names, matrix, strict=True)]
    except (ContrastError, ValueError):
        return [_smooth(fit, spec, i) for i in range(len(stated.names))]


def _smooth(fit: Fit, spec: Any, i: int) -> Scalar:
    here = contrast_at(spec, fit.quantities, None)
    everything = smooth_equations(fit, spec, here.estimate)

    def value(at: Coefficients) -> float:
        tangent = fit.layout.structure.tangent(at.scores)
        there = Quantities(fit.layout, at, tangent, fit.design.response, fit.parts)
        return float(contrast_at(spec, there, None, with_gradient=False).estimate[i])

    def equations(at: Coefficients, tangent: TangentBasis) -> Stated:
        distance, gradient, bending = everything(at, tangent)
        return Stated(distance[[i]], gradient[[i]], bending)

    bounds = {"delta": (-np.inf, np.inf), "log": (0.0, np.inf), "logit": (0.0, 1.0)}[here.scales[i]]
    gradient = equations(fit.at, fit.tangent).gradient[0]
    return Scalar(
        here.names[i], value, equations, gradient, lambda alpha: contrast(fit, spec).conf_int(alpha)[i], bounds
    )


@dataclass
class _Tracer:
    """Constrained fits at growing distances from an estimate, each begun at the nearest one before.

    The signed root is divided by ``inflation``, the square root of the robust variance over the model's.
    """

    fit: Fit
    scalar: Scalar
    inflation: float
    ends: dict[float, Coefficients] = field(default_factory=dict)
    roots: dict[float, float] = field(default_factory=dict)
    note: str = ""

    def root(self, distance: float) -> float:
        """The signed root of the likelihood ratio at a distance; not a number where no estimate was found."""
        if distance in self.roots:
            return self.roots[distance]
        nearest = min(self.ends, key=lambda other: abs(other - distance))
        found = constrain(self.fit.design, self.fit.layout, self.ends[nearest], self.scalar.at_distance(distance))
        if found is None or not (found.optimum.converged or found.optimum.diverges):
            return np.nan
        cost = found.optimum.value - self.fit.optimum.value
        if cost < -_ABOVE:
            self.note = (
                "the likelihood is higher elsewhere: the fit is a local optimum, fit with more starts (n_random)"
            )
            return np.nan
        root = float(np.sign(distance) * np.sqrt(2.0 * max(cost, 0.0)) / self.inflation)
        if abs(root - self.roots[nearest]) > _LEAP:
            return np.nan
        self.ends[distance], self.roots[distance] = found.optimum.at, root
        return root

    def end(self, side: float, step: float, z: float) -> float:
        """Distance at which the signed root is as large as a normal quantile, infinite if there is none; else not a number."""
        inside, before, outside, halvings, limit = 0.0, 0.0, step, 0, np.inf
        for _ in range(limits.PROFILE_STEPS):
            root = side * self.root(side * outside)
            end = self._between(side, inside, outside, z) if root >= z else np.nan
            if not np.isnan(end):
                return end
            if not root < z:
                halvings += 1
                if self.note or halvings > limits.PROFILE_HALVINGS:
                    break
                outside = 0.5 * (inside + outside)
                continue
            if inside:
                # What is left to gain if the root nears its limit as one over the distance does, which is how a sensitivity
                # goes to infinity while the consensus vanishes; where a score does, there is less.
                limit = root + (root - before) * inside / (outside - inside)
            if outside >= _FAR * step and limit < z and not halvings:
                return side * np.inf
            further = min(max(1.05 * z / max(root, 1e-300), 1.2), outside / inside if halvings and inside else _FURTHER)
            inside, before, halvings, outside = outside, root, 0, outside * further
        # No way further out, and the likelihood has fallen by far less than it would if it were a parabola.
        if not self.note and inside >= step and (limit < z or before < 0.5 * z):
            return side * np.inf
        self.note = self.note or "no estimate was found further out"
        return np.nan

    def _between(self, side: float, inside: float, outside: float, z: float) -> float:
        """Where the signed root passes z; not a number where an estimate on the way is lost."""

        def excess(distance: float) -> float:
            root = side * self.root(side * distance)
            if np.isnan(root):
                raise FloatingPointError
            return root - z

        try:
            return side * float(brentq(excess, inside, outside, xtol=1e-6 * outside, rtol=1e-6))
        except FloatingPointError:
            return np.nan


def profile(fit: Fit, scalar: Scalar, alpha: float = 0.05, n_points: int = 0) -> Profile:
    """The profile likelihood of one quantity.

    Parameters
    ----------
    n_points : int
        How many points to add on each side of the estimate, up to the ends and a little beyond.

    Raises
    ------
    ContrastError, IdentificationError, SizeError
        As :func:`check_free`.
    """
    check_free(fit)
    check_alpha(alpha)
    estimate, z = scalar.value(fit.at), float(stats.norm.isf(alpha / 2.0))
    row = scalar.gradient[None]
    plain = float(fit.model_covariance.variances(row)[0])
    robust = plain if fit.choice.covariance is None else float(fit.choice.covariance.variances(row)[0])
    if not row.any():
        return Profile(scalar.name, estimate, estimate, estimate, (estimate, estimate), pd.DataFrame())
    tracer = _Tracer(
        fit, scalar, np.sqrt(robust / plain) if plain > 0 and robust > 0 else 1.0, {0.0: fit.at}, {0.0: 0.0}
    )
    runs = _runs_away(fit, scalar)
    step = z * np.sqrt(robust) if not runs and np.isfinite(robust) and robust > 0 else 1.0
    ends = [side * np.inf if runs == side else tracer.end(side, step, z) for side in (-1.0, 1.0)]
    for end in ends if n_points else []:
        furthest = 1.2 * end if np.isfinite(end) else max(tracer.ends) if end > 0 else min(tracer.ends)
        for distance in np.linspace(0.0, furthest, n_points + 1)[1:].tolist():
            tracer.root(distance)
    limits = []
    for end, bound in zip(ends, scalar.bounds, strict=True):
        limits.append(scalar.value(tracer.ends[end]) if end in tracer.ends else bound if np.isinf(end) else np.nan)
    known = sorted(tracer.roots)
    points = pd.DataFrame(
        {"value": [scalar.value(tracer.ends[one]) for one in known], "root": [tracer.roots[one] for one in known]}
    )
    low, high = (np.nan, np.nan) if runs else scalar.wald(alpha)
    estimate = scalar.bounds[int(runs > 0)] if runs else estimate
    return Profile(scalar.name, estimate, limits[0], limits[1], (float(low), float(high)), points, tracer.note)


def _runs_away(fit: Fit, scalar: Scalar) -> float:
    """The sign with which a quantity runs to infinity in a fit without a maximum; 0 if it does not."""
    if fit.separation is None:
        return 0.0
    movement = float(scalar.gradient @ fit.separation.step)
    largest = np.abs(fit.layout.derivative(fit.separation.step, fit.tangent, fit.parts)).max()
    return float(np.sign(movement)) if abs(movement) >= INVOLVED * largest else 0.0


def profile_limits(fit: Fit, some: list[Scalar], alpha: float = 0.05) -> np.ndarray:
    """Ends of profile intervals, shape (n, 2), with a warning of those that were not found.

    Raises
    ------
    ContrastError, IdentificationError, SizeError
    """
    found = [profile(fit, scalar, alpha) for scalar in some]
    if lost := [one for one in found if one.note]:
        told = f"profile intervals of {quoted([one.name for one in lost], 3)} lack an end: {lost[0].note}."
        warnings.warn(told, CovarianceWarning, stacklevel=3)
    return np.array([[one.lower, one.upper] for one in found]).reshape(len(found), 2)
