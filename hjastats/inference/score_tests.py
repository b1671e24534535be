"""Tests of terms the model left out, from the fit without them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..data.cells import Cells
from ..geometry.parameters import Coefficients
from ..geometry.structures import Frame
from ..likelihood import (
    evaluate,
    expected_information,
    free_gradient,
    free_information,
    gradient,
)


@dataclass(frozen=True)
class ScoreTest:
    """Chi-squared score (Rao) test that the coefficients of left-out judge terms are all zero."""

    statistic: float
    df: int
    p_value: float


def judge_term_test(cells: Cells, at: Coefficients, frame: Frame) -> ScoreTest | None:
    """Score test of the last judge term of ``cells``, whose coefficients are zero in ``at``.

    Parameters
    ----------
    cells : Cells
        With the term under test as last column of ``judge_terms``.
    at : Coefficients
        Maximum likelihood estimate without the term, its coefficients filled in as zero.

    Returns
    -------
    ScoreTest or None
        None when the data cannot tell the term from the scores.
    """
    here = evaluate(cells, at)
    slope = free_gradient(gradient(cells, here.slope), frame)
    arrow = expected_information(cells, here.curvature, frame)
    information = free_information(arrow, cells.n_judge_terms, cells.n_shared_terms)
    columns = np.arange(cells.n_judges * cells.n_judge_terms).reshape(cells.n_judges, -1)[:, -1]
    tested = np.zeros(len(slope), dtype=bool)
    tested[cells.n_shared_terms + columns] = True
    cross = information[np.ix_(~tested, tested)]
    try:
        nuisance = cho_factor(information[np.ix_(~tested, ~tested)])
        effective = information[np.ix_(tested, tested)] - cross.T @ cho_solve(nuisance, cross)
        scale = np.sqrt(np.diag(information)[tested])
        factor = cho_factor(effective / np.outer(scale, scale) - 1e-10 * np.eye(len(scale)))
    except LinAlgError:
        return None
    scaled = slope[tested] / scale
    statistic = float(scaled @ cho_solve(factor, scaled))
    return ScoreTest(statistic, cells.n_judges, float(stats.chi2.sf(statistic, cells.n_judges)))
