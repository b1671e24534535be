"""Maximum likelihood among the parameters that fulfil equations: Newton steps along these, each followed back to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, nan, sqrt
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .. import limits
from ..model.decomposition import AnchoringError
from ..model.design import Coefficients, Design
from ..model.layout import Layout
from ..model.likelihood import evaluate, free_gradient, gradient
from ..model.tangent import TangentBasis
from .precision import directions_left, information_at
from .trust import STATIONARY, Optimum, likelihood_unit

# Distance from the equations that is rounding error; they are about parameters, whose sizes are of order one.
_MET = 1e-10
# Log-odds that one step may change, and beyond which an estimate that is not stationary runs to infinity.
_STRIDE = _BEYOND = 30.0
# Share of the average information that is added where directions may have none.
_HOLD = 1e-6


class Stated(NamedTuple):
    """What equations say at some coefficients.

    Attributes
    ----------
    distance : ndarray, shape (m,)
        By how much each is missed.
    gradient : ndarray, shape (m, n_free)
    bending : callable
        Their second derivatives times multipliers (m,), shape (n_free, n_free), as far as they are known.
    """

    distance: np.ndarray
    gradient: np.ndarray
    bending: Callable[[np.ndarray], np.ndarray]


Equations = Callable[[Coefficients, TangentBasis], Stated]


@dataclass(frozen=True)
class Member:
    """Coefficients that fulfil equations, with the objective and its slope there."""

    design: Design
    at: Coefficients
    tangent: TangentBasis
    stated: Stated
    value: float
    eta: np.ndarray
    slope: np.ndarray

    @property
    def multipliers(self) -> np.ndarray:
        """Change of the largest likelihood with the right-hand side of each equation, shape (m,)."""
        return np.linalg.lstsq(self.stated.gradient.T, -self.slope, rcond=None)[0]

    @property
    def information(self) -> np.ndarray:
        """Observed information together with the bending of the equations, shape (n_free, n_free)."""
        observed = information_at(self.design, self.at, self.tangent, "observed")
        return observed + self.stated.bending(self.multipliers)

    def step(self) -> tuple[np.ndarray, bool]:
        """A step along the equations, and whether it is Newton's: whether the likelihood is concave along them."""
        along = directions_left(self.stated.gradient)
        if not along.shape[1]:
            return np.zeros(len(self.slope)), True
        right = along.T @ self.slope
        try:
            return -along @ cho_solve(cho_factor(along.T @ self.information @ along), right), True
        except LinAlgError:
            expected = held(information_at(self.design, self.at, self.tangent, "expected"))
            return -along @ cho_solve(cho_factor(along.T @ expected @ along), right), False


@dataclass(frozen=True)
class ConstrainedOptimum:
    """Where a maximisation under equations ended."""

    optimum: Optimum
    member: Member


def constrain(
    design: Design, layout: Layout, start: Coefficients, equations: Equations, maxiter: int = 100
) -> ConstrainedOptimum | None:
    """Maximise the likelihood among the coefficients that fulfil equations, from one start.

    Newton steps with the observed information and the bending of the equations where these are positive definite along them, steps
    with the expected information elsewhere. The likelihood is looked at after each step has been followed back to the equations.

    Returns
    -------
    ConstrainedOptimum or None
        None where no way leads from the start to the equations.
    """
    scores, tangent = layout.structure.member(start.scores)
    here = _returned(design, layout, equations, Coefficients(scores, start.judge, start.shared), tangent)
    if here is None:
        return None
    unit, path, distance, is_newton = likelihood_unit(design), [here.value], inf, False
    for _ in range(maxiter):
        step, is_newton = here.step()
        distance = sqrt(max(-float(here.slope @ step), 0.0) / unit) if is_newton else nan
        # Where the likelihood is nearly flat along the equations, a step can be beyond all numbers.
        is_done = distance <= 0.1 * STATIONARY or not np.isfinite(step).all()
        longest = float(np.abs(step[layout.n_linear :]).max(initial=0.0)) / _STRIDE
        there = None if is_done else _along(layout, equations, here, step / max(longest, 1.0))
        if there is None:
            break
        here = there
        path.append(here.value)
    diverges = not distance <= STATIONARY and float(np.abs(here.eta).max(initial=0.0)) > _BEYOND
    optimum = Optimum(here.at, here.value, here.value, distance, is_newton, len(path) - 1, tuple(path), diverges)
    return ConstrainedOptimum(optimum, here)


def held(information: np.ndarray) -> np.ndarray:
    """An information that can be inverted."""
    return information + _HOLD * max(np.trace(information) / len(information), 1e-300) * np.eye(len(information))


def _along(layout: Layout, equations: Equations, here: Member, step: np.ndarray) -> Member | None:
    """The first of ever shorter steps that gains what it should; None where none does."""
    slope = float(here.slope @ step)
    for share in 0.5 ** np.arange(limits.RETURN_HALVINGS):
        there = _returned(here.design, layout, equations, *layout.moved(here.at, here.tangent, share * step))
        if there is None or np.abs(there.eta - here.eta).max(initial=0.0) >= _STRIDE:
            continue
        # Below rounding error of the objective the gain is noise: a step so small is simply taken.
        if here.value - there.value >= -1e-4 * share * slope or -slope <= 1e-12 * abs(here.value):
            return there
    return None


def _returned(
    design: Design, layout: Layout, equations: Equations, at: Coefficients, tangent: TangentBasis
) -> Member | None:
    """Coefficients that fulfil the equations, close by in the metric of the information; None where there are none."""
    try:
        stated = equations(at, tangent)
        for _ in range(limits.RETURNS):
            if np.abs(stated.distance).max(initial=0.0) <= _MET:
                here = evaluate(design, at)
                slope = free_gradient(gradient(design, here), tangent, design)
                return Member(design, at, tangent, stated, float(here.value), here.eta, slope)
            metric = cho_factor(held(information_at(design, at, tangent, "expected")))
            weighted = cho_solve(metric, stated.gradient.T)
            inner = stated.gradient @ weighted
            if not np.isfinite(inner).all():
                return None
            step = -weighted @ np.linalg.lstsq(inner, stated.distance, rcond=None)[0]
            found = _closer(layout, equations, at, tangent, step, stated) if np.isfinite(step).all() else None
            if found is None:
                return None
            at, tangent, stated = found
    except (AnchoringError, LinAlgError):
        # Without a consensus, or without one of the directions, there are no parameters for equations to be about.
        return None
    return None


def _closer(
    layout: Layout, equations: Equations, at: Coefficients, tangent: TangentBasis, step: np.ndarray, stated: Stated
) -> tuple[Coefficients, TangentBasis, Stated] | None:
    """The first of ever shorter steps that brings the equations closer."""
    missed = np.abs(stated.distance).max()
    for share in 0.5 ** np.arange(limits.RETURN_HALVINGS):
        near, basis = layout.moved(at, tangent, share * step)
        try:
            there = equations(near, basis)
        except AnchoringError:
            continue
        if np.abs(there.distance).max() < (1.0 - 0.1 * share) * missed:
            return near, basis, there
    return None
