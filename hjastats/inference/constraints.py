"""Hypotheses as equations that an estimate can be held to: constrained fits, likelihood-ratio and score tests, profiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from .. import limits
from ..errors import ContrastError, IdentificationError, SizeError
from ..fit import CovarianceChoice, Fit, Restriction
from ..looks import Piece, Shown
from ..model.decomposition import aligned
from ..model.design import Coefficients
from ..model.quantities import Quantities
from ..model.tangent import TangentBasis
from ..solve.constrained import ConstrainedOptimum, Equations, Stated, constrain
from ..solve.search import SAME_OPTIMUM, Search, no_terms
from ..solve.starts import starting_scores
from ..words import quoted
from .contrasts import contrast_at
from .hypotheses import hypothesis_labels, independent, linear_hypotheses


@dataclass(frozen=True)
class Hypothesis:
    """What is claimed, in words and as equations that do not repeat each other."""

    labels: list[str]
    equations: Equations
    df: int


@dataclass(frozen=True, repr=False)
class HypothesisTest(Shown):
    """Chi-squared test of a hypothesis.

    Attributes
    ----------
    method : str
        "likelihood ratio" or "score".
    null : list of str
        What is tested.
    statistic, p_value : float
    df : int
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
        told = f"{self.method} test of {quoted(self.null, 3)}: chi2({self.df}) = {self.statistic:.4g}, p = {self.p_value:.4g}"
        return [told, self.note] if self.note else [told]


def read_hypothesis(fit: Fit, hypothesis: Any) -> Hypothesis:
    """A hypothesis about reported parameters, linear as in ``wald_test`` or any smooth contrast with the value it has.

    Raises
    ------
    ContrastError
        For what cannot be read, is fixed by the constraints of the model, or contradicts itself.
    SizeError
    """
    if fit.layout.n_free > limits.MANY_FREE:
        raise SizeError(
            f"estimates under constraints need matrices of all {fit.layout.n_free:,} parameters, which takes too long beyond "
            f"{limits.MANY_FREE:,}: use wald_test or contrast."
        )
    try:
        matrix, values = linear_hypotheses(hypothesis, fit.layout.names)
    except ContrastError as error:
        return _smooth(fit, hypothesis, error)
    labels = hypothesis_labels(matrix, values, fit.layout.names)
    combined = independent(matrix @ fit.jacobian, matrix @ fit.params - values, labels, np.abs(matrix).max(axis=1))
    return Hypothesis(labels, linear_equations(fit, combined @ matrix, combined @ values), len(combined))


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
    try:
        stated = contrast_at(hypothesis, fit.quantities, None)
    except ContrastError:
        if isinstance(hypothesis, str) and "/" not in hypothesis and "(" not in hypothesis:
            raise unread from None
        raise
    labels = [_with_null(name, null) for name, null in zip(stated.names, stated.null, strict=True)]
    combined = independent(stated.gradient, stated.estimate - stated.null, labels, stated.size)
    combined = combined / np.abs(combined).max(axis=1, keepdims=True)
    equations = smooth_equations(fit, hypothesis, stated.null)

    def some(at: Coefficients, tangent: TangentBasis) -> Stated:
        distance, gradient, bending = equations(at, tangent)
        return Stated(combined @ distance, combined @ gradient, bending)

    return Hypothesis(labels, some, len(combined))


def smooth_equations(fit: Fit, spec: Any, null: np.ndarray) -> Equations:
    """That contrasts have given values; how they bend is left out, which costs steps and changes nothing else."""
    layout, response = fit.layout, fit.design.response

    def equations(at: Coefficients, tangent: TangentBasis) -> Stated:
        there = contrast_at(spec, Quantities(layout, at, tangent, response, fit.parts), None, null=null.tolist())
        return Stated(*there.on_scales(), lambda _: np.zeros((layout.n_free,) * 2))

    return equations


def _with_null(name: str, null: float) -> str:
    return name if "=" in name else f"{name} = {null:g}"


def constrained_fit(fit: Fit, hypothesis: Any, n_random: int = 2, rng: int | np.random.Generator | None = 0) -> Fit:
    """The fit that fulfils a hypothesis: maximum likelihood under it, with the covariance along it.

    Raises
    ------
    ContrastError, SizeError
        As :func:`read_hypothesis`; also where no parameters fulfil it.
    IdentificationError
        For penalised fits, and where the likelihood has no maximum under the hypothesis.
    """
    if fit.penalty is not None:
        raise IdentificationError(
            "constraints are for maximum likelihood, this fit is penalised: fit without, or use wald_test."
        )
    stated = read_hypothesis(fit, hypothesis)
    starts = [fit.at, *_further_starts(fit, n_random, np.random.default_rng(rng))]
    found = [constrain(fit.design, fit.layout, start, stated.equations) for start in starts]
    ended = sorted((one for one in found if one is not None), key=lambda one: one.optimum.value)
    if not ended:
        raise ContrastError(f"no parameters of this model were found at which {quoted(stated.labels, 3)} holds.")
    best = ended[0]
    if not best.optimum.converged:
        raise IdentificationError(
            f"under {quoted(stated.labels, 3)} the likelihood has no finite maximum that was found: "
            f"{'scores run to infinity' if best.optimum.diverges else 'the search did not converge'}."
        )
    return _packaged(fit, stated, best, ended, len(starts))


def _further_starts(fit: Fit, n_random: int, rng: np.random.Generator) -> list[Coefficients]:
    """Those of the model itself, with the linear coefficients of the estimate; none for likelihoods that are concave."""
    structure = fit.layout.structure
    if not structure.has_sensitivities:
        return []
    scores = starting_scores(fit.design, structure, n_random, rng)
    return [replace(no_terms(fit.design, one), judge=fit.at.judge, shared=fit.at.shared) for one in scores]


def _packaged(
    fit: Fit, stated: Hypothesis, best: ConstrainedOptimum, ended: Sequence[ConstrainedOptimum], n_starts: int
) -> Fit:
    optima = [one.optimum for one in ended if one.optimum.converged]
    values = [best.optimum.value]
    for optimum in optima:
        if optimum.value - values[-1] > SAME_OPTIMUM:
            values.append(optimum.value)
    nearest = [int(np.abs(np.array(values) - optimum.value).argmin()) for optimum in optima]
    counts = tuple(np.bincount(nearest, minlength=len(values)).tolist())
    search = Search(best.optimum, tuple(values), counts, n_starts - len(optima))
    tangent = fit.layout.structure.tangent(best.optimum.at.scores)
    there = stated.equations(best.optimum.at, tangent)
    restriction = Restriction(stated.labels, there.gradient, there.bending(best.member.multipliers))
    return replace(
        fit,
        search=search,
        tangent=tangent,
        separation=None,
        method="constrained",
        history=None,
        choice=CovarianceChoice(),
        restriction=restriction,
    )


def likelihood_ratio_test(fit: Fit, hypothesis: Any, why_not: str = "") -> HypothesisTest:
    """Twice the log-likelihood that holding to a hypothesis costs.

    With robust errors the ratio is divided by the mean of the eigenvalues that the robust covariance of what is tested has
    against that of the model (Rao and Scott 1984), for which a single restriction is exact to first order.
    """
    small = constrained_fit(fit, hypothesis)
    restriction = small.restriction
    assert restriction is not None
    statistic, df = 2.0 * (fit.loglike - small.loglike), restriction.df
    if why_not:
        return HypothesisTest("likelihood ratio", restriction.labels, statistic, df, np.nan, f"no p-value: {why_not}.")
    if statistic < -1e-6:
        note = "no p-value: the constrained fit is better, so the fit itself is a local optimum; fit with more starts (n_random)."
        return HypothesisTest("likelihood ratio", restriction.labels, statistic, df, np.nan, note)
    inflation, note = 1.0, ""
    if fit.choice.covariance is not None:
        rows = read_hypothesis(fit, hypothesis).equations(fit.at, fit.tangent).gradient
        robust, plain = fit.covariance.of(rows), fit.model_covariance.of(rows)
        inflation = float(np.trace(np.linalg.solve(plain, robust))) / df
        note = f"Rao-Scott: the ratio is divided by {inflation:.3g}, for {fit.choice.kind} standard errors."
    p_value = float(stats.chi2.sf(max(statistic, 0.0) / inflation, df))
    return HypothesisTest("likelihood ratio", restriction.labels, statistic, df, p_value, note)


def score_test(fit: Fit, hypothesis: Any) -> HypothesisTest:
    """Rao's test: the slope of the likelihood at the estimate that fulfils the hypothesis, against its expected information."""
    small = constrained_fit(fit, hypothesis)
    restriction = small.restriction
    assert restriction is not None
    free = replace(small, restriction=None, information="expected").model_covariance
    slope = small.slope
    statistic = float(slope @ free.times(slope[None])[0])
    return HypothesisTest(
        "score", restriction.labels, statistic, restriction.df, float(stats.chi2.sf(statistic, restriction.df))
    )
