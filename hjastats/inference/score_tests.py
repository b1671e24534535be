"""Tests of terms the model left out, from the fit without them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from ..data.cells import Cells
from ..model.design import Coefficients, Design
from ..model.likelihood import evaluate, score_differences, weighted
from ..model.response import Derivatives, probability, typical
from ..model.tangent import TangentBasis
from ..model.terms import LOG_ODDS
from ..solve.precision import FreeCovariance, LargeCovariance
from .contributions import Contributions

# Share of a term's information that must be left after the other parameters, for the term to be told from them: more than rounding
# error, which is larger where these were solved for by products.
_LEFT, _LEFT_OF_MANY = 1e-8, 1e-6
# A judge's own scores need not exist: this much of a ridge holds them, and so many Newton steps find them.
_HOLD, _STEPS = 0.1, 6


@dataclass(frozen=True)
class ScoreTest:
    """Chi-squared test that the coefficients of left-out terms are all zero; perhaps the one of several that says most."""

    statistic: float
    df: int
    n_tests: int = 1

    @property
    def p_value(self) -> float:
        """Of a chi-squared variable as large, times the number of tests."""
        return min(float(stats.chi2.sf(self.statistic, self.df)) * self.n_tests, 1.0)

    @property
    def told(self) -> str:
        """Statistic and p-value in words, with the number of tests that it is adjusted for."""
        p_value = f"p = {self.p_value:.3g}" if self.p_value > 1e-300 else "p < 1e-300"
        of = f" in one of {self.n_tests} tests, adjusted" if self.n_tests > 1 else ","
        return f"chi2({self.df}) = {self.statistic:.1f}{of} {p_value}"


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
    # Expected curvatures, as in the covariance of the others.
    here, term = typical(cells.response, evaluate(cells, at), cells.n), cells.judge_terms[:, 0]
    by_term = moved(here, int(cells.terms.own_moves[0]))
    slope = np.bincount(cells.judge, by_term.slope * term, cells.n_judges)
    information = np.bincount(cells.judge, by_term.curvature * term**2, cells.n_judges)
    is_tested, together = coupling(cells, by_term, tangent)
    explained = others.times(together)
    effective = np.diag(information) - 0.5 * (explained @ together.T + together @ explained.T)
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
    return ScoreTest(float(np.sum(projected**2 / values[informed])), int(informed.sum()))


@dataclass(frozen=True)
class Moved:
    """Slope by the predictor that a term moves, and curvatures by it and itself, the log-odds, and the response's parameters."""

    slope: np.ndarray
    curvature: np.ndarray
    odds: np.ndarray
    own: np.ndarray | None


def moved(here: Derivatives, predictor: int) -> Moved:
    """What of the derivatives concerns a term that moves a predictor, the log-odds or a parameter of the response."""
    if predictor == LOG_ODDS:
        return Moved(here.slope, here.curvature, here.curvature, here.cross)
    assert here.own_slope is not None
    assert here.cross is not None
    assert here.own_curvature is not None
    own = here.own_curvature[predictor - 1]
    return Moved(here.own_slope[predictor - 1], own[predictor - 1], here.cross[predictor - 1], own)


def coupling(cells: Design, here: Moved, tangent: TangentBasis) -> tuple[np.ndarray, np.ndarray]:
    """Which free coordinates are the first judge term's, and the information they share with the others, judge by judge.

    Returns
    -------
    is_tested : ndarray of bool, shape (n_free,)
    coupling : ndarray, shape (n_judges, n_free - n_judges)
    """
    n_judges, e, m, f = cells.n_judges, cells.n_judge_terms, cells.n_shared_terms, tangent.judge_items.shape[1]
    term, judges = cells.judge_terms[:, :1], np.arange(n_judges)
    own_terms = term * weighted(cells.judge_terms, cells.terms.own_moves, here.odds, here.own)
    all_terms = term * weighted(cells.shared_terms, cells.terms.shared_moves, here.odds, here.own)
    own = np.zeros((n_judges, n_judges, e))
    own[judges, judges] = cells.sum_by_judge(own_terms)
    linear = np.hstack([cells.sum_by_judge(all_terms), own.reshape(n_judges, n_judges * e)])
    by_score = cells.sum_by_score(here.odds * term[:, 0])
    own_items = np.zeros((n_judges, n_judges, f))
    own_items[judges, judges] = by_score @ tangent.judge_items
    items = tangent.shared_judges[:, :, None] * tangent.along_shared(by_score)[:, None]
    is_tested = np.zeros(len(cells.is_free), dtype=bool)
    is_tested[m::e] = True
    scores = np.hstack([own_items.reshape(n_judges, n_judges * f), items.reshape(n_judges, -1)])
    together = np.hstack([linear[:, cells.is_free & ~is_tested], scores])
    return np.concatenate([is_tested[cells.is_free], np.zeros(tangent.n_free, dtype=bool)]), together


def order_within_judges(cells: Cells, offset: np.ndarray | float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Score of a position effect of every judge against scores of its own, and its variance, each of shape (n_judges,).

    The scores of the model are not asked: a taste that they lack would pass for a position effect wherever the order goes with the
    items. What is left are choices of the first item that no scores of that judge explain. Outcomes between 0 and 1 vary less than
    wins and losses, so that the variance is never too small for them.

    Parameters
    ----------
    cells : Cells
        Counts per (judge, first item, second item).
    offset : ndarray, shape (n_cells,), optional
        Log-odds from other terms.

    Examples
    --------
    A circle: whoever comes first wins.

    >>> judge, first, second = np.zeros(3, dtype=int), np.array([0, 1, 2]), np.array([1, 2, 0])
    >>> order_within_judges(Cells(judge, first, second, np.full(3, 8.0), np.full(3, 8.0), 1, 3))
    (array([12.]), array([6.]))
    """
    hold = _HOLD * np.eye(cells.n_items)
    scores = np.zeros((cells.n_judges, cells.n_items))
    for _ in range(_STEPS):
        p = probability(offset + score_differences(cells, scores))
        uphill = cells.sum_by_score(cells.y - cells.n * p) - _HOLD * scores
        scores += np.linalg.solve(cells.laplacians(cells.n * p * (1.0 - p)) + hold, uphill[..., None])[..., 0]
    p = probability(offset + score_differences(cells, scores))
    weight = cells.n * p * (1.0 - p)
    explained = np.linalg.solve(cells.laplacians(weight) + hold, cells.sum_by_score(weight)[..., None])[..., 0]
    left = 1.0 - score_differences(cells, explained)
    score = np.bincount(cells.judge, left * (cells.y - cells.n * p), cells.n_judges)
    return score, np.bincount(cells.judge, left**2 * weight, cells.n_judges)


def homogeneity_test(count: np.ndarray, total: np.ndarray) -> ScoreTest:
    """Pearson's test that a share is the same for all judges, from counts and totals of shape (n_judges,).

    Examples
    --------
    >>> homogeneity_test(np.array([10.0, 30]), np.array([100.0, 100])).told
    'chi2(1) = 12.5, p = 0.000407'
    """
    share = count.sum() / total.sum()
    statistic = float(np.sum((count - share * total) ** 2 / (share * (1.0 - share) * total))) if 0 < share < 1 else 0.0
    return ScoreTest(statistic, len(total) - 1)
