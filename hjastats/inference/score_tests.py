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


def judge_term_test(cells: Cells, at: Coefficients, frame: Frame, meat: np.ndarray | None = None) -> ScoreTest | None:
    """Score test of the first judge term of ``cells``, whose coefficients are zero in ``at``.

    Parameters
    ----------
    cells : Cells
        With the term under test as first column of ``judge_terms``.
    at : Coefficients
        Maximum likelihood estimate without the term, its coefficients filled in as zero.
    meat : ndarray, shape (n_free, n_free), optional
        Sum of the squared gradients of single comparisons. Given, the variance of the gradient is estimated from them instead
        of from the model, which half wins and soft preferences do not follow.

    Returns
    -------
    ScoreTest or None
        None when the data cannot tell the term from the scores.
    """
    here = evaluate(cells, at)
    slope = free_gradient(gradient(cells, here), frame, cells)
    arrow = expected_information(cells, here, frame)
    information = free_information(arrow, cells)
    columns = np.arange(cells.n_judges * cells.n_judge_terms).reshape(cells.n_judges, -1)[:, 0]
    linear = np.zeros(len(cells.is_free), dtype=bool)
    linear[cells.n_shared_terms + columns] = True
    tested = np.concatenate([linear[cells.is_free], np.zeros(frame.n_free, dtype=bool)])
    cross = information[np.ix_(~tested, tested)]
    # Rescaled to a unit diagonal; what the other terms already explain, or no comparison informs, is left out of the test.
    scale = np.sqrt(np.maximum(np.diag(information)[tested], 1e-300))
    try:
        nuisance = cho_factor(information[np.ix_(~tested, ~tested)])
    except LinAlgError:
        return None
    projection = cho_solve(nuisance, cross)
    effective = information[np.ix_(tested, tested)] - cross.T @ projection
    if meat is not None:
        # What is left of the tested coordinates after the others.
        rest = np.zeros((len(information), len(projection.T)))
        rest[tested], rest[~tested] = np.eye(len(rest.T)), -projection
        known = np.diag(effective) > 1e-8 * np.diag(information)[tested]
        effective = np.where(np.outer(known, known), rest.T @ meat @ rest, 0.0)
    effective = effective / np.outer(scale, scale)
    values, vectors = np.linalg.eigh(effective)
    informed = values > 1e-8
    if not informed.any():
        return None
    projected = vectors[:, informed].T @ (slope[tested] / scale)
    statistic, df = float(np.sum(projected**2 / values[informed])), int(informed.sum())
    return ScoreTest(statistic, df, float(stats.chi2.sf(statistic, df)))
