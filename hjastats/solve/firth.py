"""Bias reduction by adjusted counts: estimates that exist when the likelihood has no maximum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg import cho_factor, cho_solve

from ..errors import IdentificationError
from ..model.design import Coefficients, Design
from ..model.information import expected_information, free_information
from ..model.likelihood import evaluate, free_regressors
from ..model.responses import Derivatives
from ..model.structures import ScoreStructure
from ..model.tangent import TangentBasis
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
            found = maximise(_adjusted(cells, structure, at, here), structure, at)
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


def _adjusted(cells: Design, structure: ScoreStructure, at: Coefficients, here: Derivatives) -> Design:
    tangent = structure.tangent(at.scores)
    information = free_information(expected_information(cells, here, tangent), cells)
    covariance = cho_solve(cho_factor(information), np.eye(len(information)))
    design = free_regressors(cells, tangent)
    hat = here.curvature * np.einsum("cd,de,ce->c", design, covariance, design, optimize=True)
    bending = _bending(cells, tangent, covariance)
    return replace(cells, n=cells.n + hat, y=cells.y + 0.5 * hat + 0.5 * here.curvature * bending)


def _bending(cells: Design, tangent: TangentBasis, covariance: np.ndarray) -> np.ndarray:
    """Trace of the covariance times the second derivatives of each log-odds, shape (n_cells,)."""
    f, n_judges, n_shared = len(tangent.strength), tangent.n_judges, tangent.n_shared
    if not f:
        return np.zeros(len(cells.n))
    first = len(covariance) - tangent.n_free
    own = first + np.arange(n_judges * f).reshape(n_judges, f)
    shared = first + n_judges * f + np.arange(f * n_shared).reshape(f, n_shared)
    total = np.zeros((n_judges, n_shared))
    for direction, strength in enumerate(tangent.strength):
        total += covariance[np.ix_(own[:, direction], shared[direction])] / strength
    total = 2.0 * (total - tangent.shared_judges @ (tangent.shared_judges.T @ total))
    shift = (total @ tangent.shared_items.T).ravel()
    return shift[cells.first_entry] - shift[cells.second_entry]
