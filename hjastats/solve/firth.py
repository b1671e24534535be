"""Bias to first order, and its reduction by adjusted counts: estimates that exist when the likelihood has no maximum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from ..errors import IdentificationError
from ..model.design import Coefficients, Design
from ..model.information import expected_information, free_information
from ..model.likelihood import Gradient, evaluate, free_gradient, free_regressors, score_differences
from ..model.response import Derivatives
from ..model.structures import ScoreStructure
from ..model.tangent import TangentBasis
from .ridge import NO_RIDGE, Ridge
from .search import Search, no_terms, search
from .starts import pooled_scores
from .trust import Optimum, maximise


def firth(cells: Design, structure: ScoreStructure, *, maxiter: int = 200) -> Search:
    """Mean bias-reduced estimate (Firth 1993; Kosmidis and Firth 2009), by maximum likelihood for adjusted counts.

    A comparison with hat value h counts as h more comparisons won half of the time. A curved structure adds half the
    curvature's share, ``w tr(V d2 eta) / 2``, to the wins. Iterated until the adjustment no longer changes.

    Parameters
    ----------
    structure : Pooled or LowRank

    Raises
    ------
    IdentificationError
        Where the information cannot be inverted.
    """
    at = no_terms(cells, structure.nearest(np.tile(pooled_scores(cells), (cells.n_judges, 1))))
    adjusted = replace(cells, n=cells.n + 0.2, y=cells.y + 0.1)
    at = (search(adjusted, structure).best if structure.has_sensitivities else maximise(adjusted, structure, at)).at
    moved, rounds = np.inf, 0
    while True:
        rounds += 1
        here = evaluate(cells, at)
        try:
            more, won = adjustments(cells, structure, at)
            found = maximise(replace(cells, n=cells.n + more, y=cells.y + won), structure, at)
        except LinAlgError:
            raise IdentificationError(
                "bias reduction needs an information that can be inverted at every step, and here it became singular: the data "
                "determine some scores too weakly. Use fit_regularized(penalty='ridge')."
            ) from None
        moved = float(np.abs(evaluate(cells, found.at).eta - here.eta).max())
        at = found.at
        if moved < 1e-9 or found.diverges or rounds == maxiter:
            break
    value = evaluate(cells, at).value
    is_stable = found.converged and moved < 1e-7
    best = Optimum(at, found.value, value, found.distance, is_stable, rounds, found.path, found.diverges)
    return Search(best, (found.value,) if is_stable else (), (1,) if is_stable else (), 0 if is_stable else 1)


def adjustments(cells: Design, structure: ScoreStructure, at: Coefficients) -> tuple[np.ndarray, np.ndarray]:
    """Comparisons and wins that bias reduction adds to every cell near some coefficients, shapes (n_cells,)."""
    here, tangent = evaluate(cells, at), structure.tangent(at.scores)
    information = free_information(expected_information(cells, here, tangent), cells)
    covariance = cho_solve(cho_factor(information), np.eye(len(information)))
    hat, bent = _adjustments(cells, here, covariance, free_regressors(cells, tangent), _bending(tangent, covariance))
    return hat, 0.5 * hat + bent


def _adjustments(
    cells: Design, here: Derivatives, covariance: np.ndarray, regressors: np.ndarray, bending: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Hat values of the cells, and the wins that the bending of the scores adds, shapes (n_cells,)."""
    hat = here.curvature * np.einsum("cd,de,ce->c", regressors, covariance, regressors, optimize=True)
    return hat, 0.5 * here.curvature * score_differences(cells, bending)


def first_order_bias(
    cells: Design, at: Coefficients, tangent: TangentBasis, covariance: np.ndarray, ridge: Ridge = NO_RIDGE
) -> np.ndarray:
    """Bias of the scores of an estimate from verdicts that one side wins, shape (n_judges, n_items).

    In the free coordinates it is what Firth's adjustment would take away: minus the covariance times the adjustment of the
    gradient, and times the gradient of a penalty, if there is one. Scores that bend as their coordinates vary have half of that
    bending on top.
    """
    here, regressors, bending = evaluate(cells, at), free_regressors(cells, tangent), _bending(tangent, covariance)
    hat, bent = _adjustments(cells, here, covariance, regressors, bending)
    pull = regressors.T @ (hat * (0.5 - expit(here.eta)) + bent)
    if ridge:
        nothing = Gradient(np.zeros_like(at.scores), np.zeros_like(at.judge), np.zeros_like(at.shared))
        pull += free_gradient(ridge.add_to_gradient(cells, nothing, at), tangent, cells)
    own, shared = tangent.split(-(covariance @ pull)[cells.n_linear :])
    return own @ tangent.judge_items.T + tangent.shared_judges @ tangent.to_items(shared) + 0.5 * bending


def _bending(tangent: TangentBasis, covariance: np.ndarray) -> np.ndarray:
    """Trace of the covariance times the second derivatives of each score, shape (n_judges, n_items)."""
    f, n_judges, n_shared = len(tangent.strength), tangent.n_judges, tangent.n_shared
    if not f:
        return np.zeros((n_judges, tangent.n_items))
    first = len(covariance) - tangent.n_free
    own = first + np.arange(n_judges * f).reshape(n_judges, f)
    shared = first + n_judges * f + np.arange(f * n_shared).reshape(f, n_shared)
    total = np.zeros((n_judges, n_shared))
    for direction, strength in enumerate(tangent.strength):
        total += covariance[np.ix_(own[:, direction], shared[direction])] / strength
    total = 2.0 * (total - tangent.shared_judges @ (tangent.shared_judges.T @ total))
    return tangent.to_items(total)
