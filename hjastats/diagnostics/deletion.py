"""What the other judges' scores would be without one judge, by a single Newton step from the full estimate."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..data.cells import take
from ..model.design import Coefficients, Design
from ..model.information import Arrow, bent, expected_information
from ..model.likelihood import Gradient, evaluate, gradient
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
    note = ""
    step = _newton_step(bent(expected, tangent, slopes.scores @ tangent.shared_items), slopes, tangent, rest, judge)
    if step is None:
        step = _newton_step(expected, slopes, tangent, rest, judge)
        note = "Step with the expected information, the observed one being indefinite."
    if step is None:
        return Deletion(None, np.nan, "The other judges alone do not determine the model.")
    there = _moved(at, tangent, step, cells)
    return Deletion(there, here.value - evaluate(rest, there).value, note)


def _newton_step(arrow: Arrow, slopes: Gradient, tangent: TangentBasis, rest: Design, judge: int) -> np.ndarray | None:
    """Step of the free coordinates, those of the judge left out at rest; None where the others do not determine it.

    The other judges' blocks are eliminated, which leaves a system of the items.
    """
    own, shared = coordinates(slopes, tangent)
    others = np.arange(rest.n_judges) != judge
    common = None if arrow.common is None else arrow.common[others]
    system = Arrow(arrow.judge[others], arrow.coupling[others], arrow.shared, common)
    solution = solve_arrow(system, own[others], shared)
    if solution is None or (len(shared) and not invert(remainder(system)).is_identified):
        return None
    moved = np.zeros_like(own)
    moved[others] = solution[0]
    return -in_free_order(moved, solution[1], rest)


def _moved(at: Coefficients, tangent: TangentBasis, step: np.ndarray, cells: Design) -> Coefficients:
    """Follow a step in the chart of ``one_step``."""
    judge_terms, shared_terms = cells.coefficients(step[: cells.n_linear])
    if tangent.strength.size:
        own, shared = tangent.split(step[cells.n_linear :])
        turned = tangent.judge_items.T + (shared / tangent.strength[:, None]) @ tangent.shared_items.T
        scores = (tangent.shared_judges * tangent.strength + own) @ turned
    else:
        scores = at.scores + tangent.scores(step[cells.n_linear :])
    return Coefficients(scores, at.judge + judge_terms, at.shared + shared_terms)
