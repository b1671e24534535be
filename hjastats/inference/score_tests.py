"""Tests of terms the model left out, from the fit without them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from ..model.design import Coefficients, Design
from ..model.likelihood import evaluate, weighted
from ..model.responses import Derivatives
from ..model.tangent import TangentBasis
from ..solve.precision import FreeCovariance, LargeCovariance
from .contributions import Contributions

# Share of a term's information that must be left after the other parameters, for the term to be told from them: more than rounding
# error, which is larger where these were solved for by products.
_LEFT, _LEFT_OF_MANY = 1e-8, 1e-6


@dataclass(frozen=True)
class ScoreTest:
    """Chi-squared score (Rao) test that the coefficients of left-out judge terms are all zero."""

    statistic: float
    df: int
    p_value: float


def judge_term_test(
    cells: Design,
    at: Coefficients,
    tangent: TangentBasis,
    others: FreeCovariance | LargeCovariance,
    contributions: Contributions | None = None,
) -> ScoreTest | None:
    """Score test of the first judge term of ``cells``, whose coefficients are zero in ``at``.

    Parameters
    ----------
    cells : Cells
        With the term under test as first column of ``judge_terms``.
    at : Coefficients
        Maximum likelihood estimate without the term, its coefficients filled in as zero.
    others : FreeCovariance or LargeCovariance
        Of the estimate without the term, by the expected information.
    contributions : Contributions, optional
        Of single comparisons with the term. Given, the variance of the gradient is estimated from them instead of from the
        model, which half wins and soft preferences do not follow.

    Returns
    -------
    ScoreTest or None
        None when the data cannot tell the term from the scores.
    """
    if not others.is_finite:
        return None
    left = _LEFT if isinstance(others, FreeCovariance) else _LEFT_OF_MANY
    here, term = evaluate(cells, at), cells.judge_terms[:, 0]
    slope = np.bincount(cells.judge, here.slope * term, cells.n_judges)
    information = np.bincount(cells.judge, here.curvature * term**2, cells.n_judges)
    is_tested, coupling = _coupling(cells, here, tangent)
    explained = others.times(coupling)
    effective = np.diag(information) - 0.5 * (explained @ coupling.T + coupling @ explained.T)
    known = np.diag(effective) > left * information
    if contributions is not None:
        # Along what is left of the tested coordinates after the others.
        movements = np.empty((cells.n_judges, len(is_tested)))
        movements[:, is_tested], movements[:, ~is_tested] = np.eye(cells.n_judges), -explained
        effective = np.where(np.outer(known, known), contributions.products(movements, tangent), 0.0)
    # Rescaled to a unit diagonal; what the other terms already explain, or no comparison informs, is left out of the test.
    scale = np.sqrt(np.maximum(information, 1e-300))
    values, vectors = np.linalg.eigh(effective / np.outer(scale, scale))
    informed = values > left
    if not informed.any():
        return None
    projected = vectors[:, informed].T @ (slope / scale)
    statistic, df = float(np.sum(projected**2 / values[informed])), int(informed.sum())
    return ScoreTest(statistic, df, float(stats.chi2.sf(statistic, df)))


def _coupling(cells: Design, here: Derivatives, tangent: TangentBasis) -> tuple[np.ndarray, np.ndarray]:
    """Which free coordinates are the first judge term's, and the information they share with the others, judge by judge.

    Returns
    -------
    is_tested : ndarray of bool, shape (n_free,)
    coupling : ndarray, shape (n_judges, n_free - n_judges)
    """
    n_judges, e, m, f = cells.n_judges, cells.n_judge_terms, cells.n_shared_terms, tangent.judge_items.shape[1]
    term, judges = cells.judge_terms[:, :1], np.arange(n_judges)
    own_terms = term * weighted(cells.judge_terms, cells.terms.own_moves, here.curvature, here.cross)
    all_terms = term * weighted(cells.shared_terms, cells.terms.shared_moves, here.curvature, here.cross)
    own = np.zeros((n_judges, n_judges, e))
    own[judges, judges] = cells.sum_by_judge(own_terms)
    linear = np.hstack([cells.sum_by_judge(all_terms), own.reshape(n_judges, n_judges * e)])
    by_score = cells.sum_by_score(here.curvature * term[:, 0])
    own_items = np.zeros((n_judges, n_judges, f))
    own_items[judges, judges] = by_score @ tangent.judge_items
    items = tangent.shared_judges[:, :, None] * tangent.along_shared(by_score)[:, None]
    is_tested = np.zeros(len(cells.is_free), dtype=bool)
    is_tested[m::e] = True
    scores = np.hstack([own_items.reshape(n_judges, n_judges * f), items.reshape(n_judges, -1)])
    coupling = np.hstack([linear[:, cells.is_free & ~is_tested], scores])
    return np.concatenate([is_tested[cells.is_free], np.zeros(tangent.n_free, dtype=bool)]), coupling
