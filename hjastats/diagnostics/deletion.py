"""What the other judges' scores would be without one judge, by a single Newton step from the full estimate."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .. import limits
from ..data.cells import take
from ..model.design import Coefficients, Design
from ..model.information import Arrow, expected_information, free_information
from ..model.likelihood import Gradient, evaluate, free_gradient, gradient
from ..model.tangent import TangentBasis
from ..solve.precision import invert
from ..solve.products import coordinates, in_free_order
from ..solve.quadratic import remainder, solve_arrow
from ..solve.ridge import NO_RIDGE, Ridge


@dataclass(frozen=True)
class Deletion:
    """Where the others go when one judge is left out.

    Attributes
    ----------
    at : Coefficients or None
        Coefficients after the step, the row of the judge left out unchanged and without meaning; None if there is no step.
    gain : float
        Log-likelihood of the others' comparisons after minus before.
    note : str
        Why there is no step, or what to know about it; empty if nothing.
    """

    at: Coefficients | None
    gain: float
    note: str = ""


def one_step(cells: Design, at: Coefficients, tangent: TangentBasis, judge: int, ridge: Ridge = NO_RIDGE) -> Deletion:
    """One Newton step of the likelihood without a judge, started at the estimate with it.

    At the estimate the scores are ``S = P diag(s) B'``, with judge weights P, strengths s and item directions B of the tangent. The
    rows of the others are a member of the same family, ``S_l = a_l (B' + E C')``, with ``a_l = P_l diag(s)``, E = 0 and C the
    shared item directions. Free are the ``a_l`` of the others and ``D = diag(s) E``, as many parameters as a panel with one judge
    less has. So dropping the judge's own coordinates, and its rows from the shared sums, leaves gradient g and expected information
    J of the smaller problem. Newton's matrix H adds to J what the chart's second derivatives ``d a_l diag(1/s) D C'`` make of the
    gradient G by the scores: ``(G C)_l / s`` between an own and a shared coordinate of the same direction. The step is ``-H^-1 g``.
    Since the full gradient vanishes, g is minus the judge's own part of it: the pull that ends.

    Flat structures (pooled or unrestricted scores) have no second derivatives; for unrestricted scores without shared terms nothing
    moves. Where H is not positive definite J takes its place.

    Parameters
    ----------
    cells : Cells
        All of them, with their terms.
    at : Coefficients
        The estimate.
    tangent : TangentBasis
        Free directions at the estimate.
    judge : int
        Which judge to leave out.
    ridge : Ridge
        The penalty of the fit.
    """
    rest = take(cells, np.flatnonzero(cells.judge != judge))
    here = evaluate(rest, at)
    slopes, expected = gradient(rest, here), expected_information(rest, here, tangent)
    if ridge:
        of_others = replace(ridge, without=judge)
        slopes = of_others.add_to_gradient(rest, slopes, at)
        expected = of_others.add_to_information(rest, expected, tangent)
    kept = np.flatnonzero(~_belongs_to(judge, cells, tangent))
    note, solve = "", _solved_by_elimination if len(kept) > limits.MANY_FREE else _solved_by_inverse
    found = solve(_bent(expected, tangent, slopes), slopes, tangent, rest, kept, judge)
    if found is None:
        found = solve(expected, slopes, tangent, rest, kept, judge)
        note = "Step with the expected information, the observed one being indefinite."
    if found is None:
        return Deletion(None, np.nan, "The other judges alone do not determine the model.")
    step = np.zeros(cells.n_linear + tangent.n_free)
    step[kept] = -found
    there = _moved(at, tangent, step, cells)
    return Deletion(there, here.value - evaluate(rest, there).value, note)


def _solved_by_inverse(
    arrow: Arrow, slopes: Gradient, tangent: TangentBasis, rest: Design, kept: np.ndarray, judge: int
) -> np.ndarray | None:
    """Newton step of the coordinates kept; None where the information is singular."""
    inverse = invert(free_information(arrow, rest)[np.ix_(kept, kept)])
    return inverse.covariance @ free_gradient(slopes, tangent, rest)[kept] if inverse.is_identified else None


def _solved_by_elimination(
    arrow: Arrow, slopes: Gradient, tangent: TangentBasis, rest: Design, kept: np.ndarray, judge: int
) -> np.ndarray | None:
    """The step for many judges: their blocks are eliminated, which leaves a system of the items."""
    own, shared = coordinates(slopes, tangent)
    others = np.arange(rest.n_judges) != judge
    common = None if arrow.common is None else arrow.common[others]
    system = Arrow(arrow.judge[others], arrow.coupling[others], arrow.shared, common)
    solution = solve_arrow(system, own[others], shared)
    if solution is None or not invert(remainder(system)).is_identified:
        return None
    moved = np.zeros_like(own)
    moved[others] = solution[0]
    return in_free_order(moved, solution[1], rest)[kept]


def _belongs_to(judge: int, cells: Design, tangent: TangentBasis) -> np.ndarray:
    """Which free coordinates are the judge's own, shape (n_free,)."""
    m, e, f = cells.n_shared_terms, cells.n_judge_terms, tangent.judge_items.shape[1]
    linear = np.zeros(m + e * cells.n_judges, dtype=bool)
    linear[m + e * judge : m + e * (judge + 1)] = True
    scores = np.zeros(tangent.n_free, dtype=bool)
    scores[f * judge : f * (judge + 1)] = True
    return np.concatenate([linear[cells.is_free], scores])


def _bent(arrow: Arrow, tangent: TangentBasis, slopes: Gradient) -> Arrow:
    """Add the second derivatives of the chart times the gradient by the scores."""
    if not tangent.strength.size:
        return arrow
    along = slopes.scores @ tangent.shared_items
    coupling, n_shared = arrow.coupling.copy(), along.shape[1]
    for direction, strength in enumerate(tangent.strength):
        coupling[:, direction, direction * n_shared : (direction + 1) * n_shared] += along / strength
    return arrow._replace(coupling=coupling)


def _moved(at: Coefficients, tangent: TangentBasis, step: np.ndarray, cells: Design) -> Coefficients:
    """Follow a step in the chart of ``one_step``."""
    m, n_linear = cells.n_shared_terms, cells.n_linear
    linear = np.zeros(len(cells.is_free))
    linear[cells.is_free] = step[:n_linear]
    own, shared = tangent.split(step[n_linear:])
    if tangent.strength.size:
        turned = tangent.judge_items.T + (shared / tangent.strength[:, None]) @ tangent.shared_items.T
        scores = (tangent.shared_judges * tangent.strength + own) @ turned
    else:
        scores = at.scores + own @ tangent.judge_items.T + tangent.shared_judges @ (shared @ tangent.shared_items.T)
    return Coefficients(scores, at.judge + linear[m:].reshape(at.judge.shape), at.shared + linear[:m])
