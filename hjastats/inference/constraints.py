"""Hypotheses as equations that an estimate can be held to: constrained fits, likelihood-ratio and score tests of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from .. import limits
from ..data.arrays import generator
from ..errors import ContrastError, IdentificationError, SizeError
from ..fitted import CovarianceChoice, Fit, Observations, Restriction
from ..looks import Piece, Shown, Title
from ..model.decomposition import aligned
from ..model.design import Coefficients
from ..model.likelihood import evaluate
from ..model.quantities import Quantities
from ..model.tangent import TangentBasis
from ..solve.constrained import ConstrainedOptimum, Equations, Stated, constrain
from ..solve.existence import find_separation
from ..solve.search import SAME_OPTIMUM, Search, no_terms
from ..solve.starts import starting_scores
from ..words import quoted
from .contrasts import contrast_at
from .covariances import COVARIANCES, choose_covariance
from .hypotheses import hypothesis_labels, independent, linear_hypotheses
from .likelihood_ratio import likelihood_ratio
from .nesting import Candidate

# Step of the differences that tell how a contrast bends.
_STEP = 1e-4
# Log-odds to go on for, to see whether the likelihood rises for ever.
_FAR = 5.0


@dataclass(frozen=True)
class Hypothesis:
    """What is claimed, in words and as equations that do not repeat each other.

    Attributes
    ----------
    labels : list of str
    equations : Equations
    bends : {"exactly", "by differences", "unknown"}
        Where the second derivatives of the equations come from; unknown ones would take too long.
    """

    labels: list[str]
    equations: Equations
    bends: str


@dataclass(frozen=True, repr=False)
class HypothesisTest(Shown):
    """Chi-squared test of a hypothesis about the parameters.

    Attributes
    ----------
    method : str
        "likelihood ratio" or "score".
    null : list of str
        What is tested.
    statistic : float
    df : int
    p_value : float
    note : str
        What the p-value takes for granted, or why there is none.
    """

    method: str
    null: list[str]
    statistic: float
    df: int
    p_value: float
    note: str = ""

    def _shown(self) -> list[Piece]:
        title = Title(f"{self.method.capitalize()} test of {', '.join(self.null)}")
        how = f"  chi2({self.df}) = {self.statistic:.4g}, p = {self.p_value:.4g}"
        return [title, how, *([f"  {self.note}"] if self.note else [])]


def check_free(fit: Fit) -> None:
    """Refuse fits that cannot be held to equations.

    Raises
    ------
    IdentificationError
        For penalised fits, and those that are held to something already.
    SizeError
    """
    if fit.penalty is not None:
        raise IdentificationError(
            "this fit is penalised, and ratios of penalised likelihoods are not chi-squared: fit without the penalty, or use "
            "wald_test and Wald intervals."
        )
    if fit.restriction is not None:
        raise IdentificationError(
            f"this fit is held to {quoted(fit.restriction.labels, 3)} already: begin with the fit that is not, and state all "
            "constraints together."
        )
    if fit.layout.n_free > limits.MANY_FREE:
        raise SizeError(
            f"estimates under constraints need matrices of all {fit.layout.n_free:,} parameters, which takes too long beyond "
            f"{limits.MANY_FREE:,}: use wald_test or contrast."
        )


def read_hypothesis(fit: Fit, hypothesis: Any) -> Hypothesis:
    """A hypothesis about reported parameters, linear as in ``wald_test``, or any smooth contrast with the value it has.

    Raises
    ------
    ContrastError
        For what cannot be read, is fixed by the constraints of the model, or contradicts itself.
    """
    try:
        matrix, values = linear_hypotheses(hypothesis, fit.layout.names)
    except ContrastError as error:
        return _smooth(fit, hypothesis, error)
    labels = hypothesis_labels(matrix, values, fit.layout.names)
    combined = independent(matrix @ fit.jacobian, matrix @ fit.params - values, labels, np.abs(matrix).max(axis=1))
    return Hypothesis(labels, linear_equations(fit, combined @ matrix, combined @ values), "exactly")


def linear_equations(fit: Fit, matrix: np.ndarray, values: np.ndarray) -> Equations:
    """That linear combinations of the reported parameters have given values."""
    layout = fit.layout

    def equations(at: Coefficients, tangent: TangentBasis) -> Stated:
        # Directions keep the order and the signs they have in the fit.
        parts = aligned(layout.decompose(at), fit.parts)
        return Stated(
            matrix @ layout.pack(at, parts) - values,
            matrix @ layout.jacobian(at, tangent, parts),
            lambda multipliers: layout.bending(parts, at, tangent, multipliers @ matrix),
        )

    return equations


def _smooth(fit: Fit, hypothesis: Any, unread: ContrastError) -> Hypothesis:
    is_text = isinstance(hypothesis, str)
    if not (is_text or callable(hypothesis) or isinstance(hypothesis, (list, Mapping))):
        raise unread
    try:
        stated = contrast_at(hypothesis, fit.quantities, None)
    except ContrastError:
        if is_text and hypothesis.count("=") > 1:
            # Chains are read as linear hypotheses only.
            raise unread from None
        raise
    labels = [
        name if "=" in name else f"{name} = {null:g}" for name, null in zip(stated.names, stated.null, strict=True)
    ]
    if len(independent(stated.gradient, stated.estimate - stated.null, labels, stated.size)) < len(labels):
        raise ContrastError(f"{quoted(labels, 3)} repeat each other: leave out what follows from the others.")
    parts = hypothesis.values() if isinstance(hypothesis, Mapping) else [hypothesis] if is_text else hypothesis
    has_functions = callable(parts) or any(callable(part) for part in parts)
    equations = smooth_equations(fit, hypothesis, stated.null)
    return Hypothesis(labels, equations, "unknown" if has_functions else "by differences")


def smooth_equations(fit: Fit, spec: Any, null: np.ndarray) -> Equations:
    """That contrasts have given values; how they bend is left out, which costs steps and changes nothing else."""
    layout, response = fit.layout, fit.design.response

    def equations(at: Coefficients, tangent: TangentBasis) -> Stated:
        there = contrast_at(spec, Quantities(layout, at, tangent, response, fit.parts), None, null=null.tolist())
        return Stated(*there.on_scales(), lambda _: np.zeros((layout.n_free,) * 2))

    return equations


def constrained_fit(fit: Fit, hypothesis: Any, n_random: int = 2, rng: int | np.random.Generator | None = 0) -> Fit:
    """The fit that fulfils a hypothesis: maximum likelihood under it, with the covariance along it.

    Raises
    ------
    ContrastError
        As :func:`read_hypothesis`; also where no parameters fulfil it.
    IdentificationError, SizeError
        As :func:`check_free`; also where the likelihood has no maximum under the hypothesis.
    """
    check_free(fit)
    stated = read_hypothesis(fit, hypothesis)
    starts = [fit.at]
    if stated.bends != "unknown":
        starts += _further_starts(fit, n_random, generator(rng))
    found = [constrain(fit.design, fit.layout, start, stated.equations) for start in starts]
    ended = sorted((one for one in found if one is not None), key=lambda one: one.optimum.value)
    if not ended:
        raise ContrastError(f"no parameters of this model were found at which {quoted(stated.labels, 3)} holds.")
    runs_away = ended[0].optimum.diverges or (fit.separation is not None and _rises_further(fit, ended[0]))
    if runs_away or not ended[0].optimum.converged:
        why = "scores run to infinity" if runs_away else "the search did not converge"
        raise IdentificationError(
            f"the likelihood has no finite maximum that was found under {quoted(stated.labels, 3)}: {why}."
        )
    return _packaged(fit, stated, ended, len(starts))


def _further_starts(fit: Fit, n_random: int, rng: np.random.Generator) -> list[Coefficients]:
    """Those of the model itself, with the linear coefficients of the estimate; none from a maximum that is the only one."""
    structure = fit.layout.structure
    if not structure.has_sensitivities and fit.separation is None:
        return []
    scores = starting_scores(fit.design, structure, n_random, rng)
    starts = [no_terms(fit.design, one) for one in scores]
    return starts if fit.separation else [replace(one, judge=fit.at.judge, shared=fit.at.shared) for one in starts]


def _rises_further(fit: Fit, found: ConstrainedOptimum) -> bool:
    """Whether the equations leave a direction in which the likelihood never falls."""
    here = found.member
    separation = find_separation(fit.design, here.at, here.tangent)
    if separation is None:
        return False
    step = (
        separation.step
        - here.stated.gradient.T @ np.linalg.lstsq(here.stated.gradient.T, separation.step, rcond=None)[0]
    )
    size = np.abs(step).max()
    if size <= _STEP * np.abs(separation.step).max():
        return False
    further, _ = fit.layout.moved(here.at, here.tangent, _FAR / size * step)
    return bool(evaluate(fit.design, further).value <= here.value + SAME_OPTIMUM)


def _packaged(fit: Fit, stated: Hypothesis, ended: Sequence[ConstrainedOptimum], n_starts: int) -> Fit:
    best, optima = ended[0], [one.optimum for one in ended if one.optimum.converged]
    values = [best.optimum.value]
    for optimum in optima:
        if optimum.value - values[-1] > SAME_OPTIMUM:
            values.append(optimum.value)
    nearest = [int(np.abs(np.array(values) - optimum.value).argmin()) for optimum in optima]
    counts = tuple(np.bincount(nearest, minlength=len(values)).tolist())
    at, tangent = best.optimum.at, fit.layout.structure.tangent(best.optimum.at.scores)
    there, multipliers = stated.equations(at, tangent), best.member.multipliers
    bending = {
        "exactly": there.bending,
        "by differences": lambda multipliers: _bent(fit, stated.equations, at, tangent, multipliers),
        "unknown": lambda _: None,
    }[stated.bends](multipliers)
    return replace(
        fit,
        search=Search(best.optimum, tuple(values), counts, n_starts - len(optima)),
        tangent=tangent,
        separation=None,
        method="constrained",
        history=None,
        choice=CovarianceChoice(),
        restriction=Restriction(stated.labels, there.gradient, bending, fit.parts),
    )


def _bent(
    fit: Fit, equations: Equations, at: Coefficients, tangent: TangentBasis, multipliers: np.ndarray
) -> np.ndarray:
    """Second derivatives of equations times multipliers, shape (n_free, n_free): differences of their gradients."""
    layout = fit.layout
    free = layout.to_free(at, tangent)

    def gradient(point: np.ndarray) -> np.ndarray:
        there = layout.from_free(point, tangent)
        local = layout.structure.tangent(there.scores)
        along = multipliers @ equations(there, local).gradient
        return np.linalg.solve(layout.chart_change(tangent, local).T, along)

    moves = _STEP * np.eye(len(free))
    rows = np.array([gradient(free + move) - gradient(free - move) for move in moves]) / (2.0 * _STEP)
    return 0.5 * (rows + rows.T)


def lr_test(fit: Fit, observed: Observations, hypothesis: Any) -> HypothesisTest:
    """Twice the log-likelihood that holding to a hypothesis costs, as :func:`likelihood_ratio` judges it.

    Raises
    ------
    ContrastError, IdentificationError, SizeError
        As :func:`constrained_fit`.
    """
    small = constrained_fit(fit, hypothesis)
    assert small.restriction is not None
    ratio = likelihood_ratio(Candidate(small, observed), Candidate(fit, observed))
    note = f"no p-value: {ratio.why or ratio.note}" if np.isnan(ratio.p_value) else ratio.note
    return HypothesisTest("likelihood ratio", small.restriction.labels, ratio.statistic, ratio.df, ratio.p_value, note)


def score_test(fit: Fit, observed: Callable[[], Observations], hypothesis: Any) -> HypothesisTest:
    """Rao's test: the slope of the likelihood at the estimate that fulfils the hypothesis, against its variance.

    With robust errors that variance is theirs, at the same estimate (Boos 1992).

    Raises
    ------
    ContrastError, IdentificationError, SizeError
        As :func:`constrained_fit`.
    """
    small, kind = constrained_fit(fit, hypothesis), fit.choice.kind
    held = small.restriction
    assert held is not None
    # Expected: the observed information need not be positive where the slope is not zero.
    free = replace(small, restriction=None, information="expected")
    options = {name: fit.choice.facts[name] for name in COVARIANCES[kind].options}
    chosen = choose_covariance(free, kind, options, observed).choice.covariance or free.model_covariance
    moved = held.gradient @ free.model_covariance.times(small.slope[None])[0]
    statistic = float(moved @ np.linalg.solve(chosen.of(held.gradient), moved))
    note = "" if kind == "nonrobust" else f"variance of the slope as for {kind} standard errors"
    return HypothesisTest("score", held.labels, statistic, held.df, float(stats.chi2.sf(statistic, held.df)), note)
