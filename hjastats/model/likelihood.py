"""The likelihood of a design: predictors of its cells, value and gradient.

Predictors and value also take a stack of coefficients, one more axis in front: candidates for starts are compared all at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..data.cells import Cells
from .design import Coefficients, Design
from .response import Derivatives
from .tangent import TangentBasis


class Gradient(NamedTuple):
    """Gradient of the negative log-likelihood: scores (n_judges, n_items), judge terms, shared terms."""

    scores: np.ndarray
    judge: np.ndarray
    shared: np.ndarray


def score_differences(cells: Cells, scores: np.ndarray) -> np.ndarray:
    """By how much the first item of each cell stands above the second in its judge's scores, shape (n_cells,)."""
    stack = scores.shape[:-2]
    flat = scores.reshape(*stack, -1)
    return flat.take(cells.first_entry, axis=-1) - flat.take(cells.second_entry, axis=-1)


def log_odds(design: Design, at: Coefficients) -> np.ndarray:
    """Log-odds that the first item of each cell beats the second, shape (n_cells,)."""
    return log_odds_change(design, at) + design.known_odds if design.has_offset else log_odds_change(design, at)


def log_odds_change(design: Design, change: Coefficients) -> np.ndarray:
    """What a change of the coefficients adds to the log-odds of each cell, shape (n_cells,); an offset stays as it is."""
    eta = score_differences(design, change.scores)
    return eta + _from_terms(design, change, 0) if design.terms else eta


def own_predictors(design: Design, at: Coefficients) -> np.ndarray | None:
    """Predictors of the response's own parameters, shape (p, n_cells); None if it has none."""
    parameters = design.response.parameters
    if not parameters:
        return None
    return np.stack([_from_terms(design, at, 1 + p) for p in range(len(parameters))], axis=-2)


def _from_terms(design: Design, at: Coefficients, predictor: int) -> np.ndarray:
    """What the terms add to a predictor, shape (n_cells,)."""
    own, own_columns = design.judge_terms_by_predictor[predictor]
    shared, shared_columns = design.shared_terms_by_predictor[predictor]
    total = at.shared[..., shared] @ shared_columns.T
    if own_columns.shape[1]:
        total = total + np.einsum("ce,...ce->...c", own_columns, at.judge[..., own][..., design.judge, :])
    return total


def evaluate(design: Design, at: Coefficients) -> Derivatives:
    """Negative log-likelihood of the cells at some coefficients, with its derivatives by their predictors."""
    return design.response.derivatives(
        log_odds(design, at), own_predictors(design, at), design.n, design.y, design.counts
    )


def gradient(design: Design, here: Derivatives) -> Gradient:
    """Chain rule from the cells' predictors to scores and linear coefficients."""
    scores = design.sum_by_score(here.slope)
    if not design.terms:
        return Gradient(scores, np.zeros((design.n_judges, 0)), np.zeros(0))
    judge = design.sum_by_judge(weighted(design.judge_terms, design.terms.own_moves, here.slope, here.own_slope))
    shared = weighted(design.shared_terms, design.terms.shared_moves, here.slope, here.own_slope).sum(axis=0)
    for k, e in design.terms.held:
        judge[k, e] = 0.0
    return Gradient(scores, judge, shared)


def weighted(columns: np.ndarray, moves: np.ndarray, odds: np.ndarray, own: np.ndarray | None) -> np.ndarray:
    """Columns (n_cells, m) times a vector for the log-odds, or times that of the predictor they move, shape (n_cells, m)."""
    result = odds[:, None] * columns
    if own is not None:
        for column in np.flatnonzero(moves):
            result[:, column] = own[moves[column] - 1] * columns[:, column]
    return result


def free_gradient(at: Gradient, tangent: TangentBasis, design: Design) -> np.ndarray:
    """Gradient in the coordinates of ``free_information``."""
    linear = np.concatenate([at.shared, at.judge.ravel()])[design.is_free]
    return np.concatenate([linear, tangent.coordinates(at.scores)])


def cell_scores(here: Derivatives, regressors: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Contribution of every cell to the gradient of the log-likelihood, shape (n_cells, n_parameters).

    Parameters
    ----------
    regressors : ndarray, shape (n_cells, n_parameters)
        Derivative of the predictor that each parameter moves.
    moves : ndarray of int, shape (n_parameters,)
        Which predictor that is.
    """
    return -weighted(regressors, moves, here.slope, here.own_slope)


def free_moves(design: Design, tangent: TangentBasis) -> np.ndarray:
    """Which predictor each free coordinate moves, shape (n_free,)."""
    terms = design.terms
    linear = np.concatenate([terms.shared_moves, np.tile(terms.own_moves, design.n_judges)])
    return np.concatenate([linear[design.is_free], np.zeros(tangent.n_free, dtype=int)])


def free_regressors(design: Design, tangent: TangentBasis) -> np.ndarray:
    """Derivative of the predictor that each free coordinate moves (``free_moves``), shape (n_cells, n_free)."""
    n_cells = len(design.n)
    own = by_judge(tangent.judge_items[design.first] - tangent.judge_items[design.second], design)
    items = tangent.along_shared(signed_items(design))
    shared = np.einsum("cg,cs->cgs", tangent.shared_judges[design.judge], items).reshape(n_cells, -1)
    terms = by_judge(design.judge_terms, design)
    linear = np.hstack([design.shared_terms, terms.reshape(n_cells, -1)])[:, design.is_free]
    return np.hstack([linear, own.reshape(n_cells, -1), shared])


def signed_items(cells: Cells) -> np.ndarray:
    """One for the first item of each cell and minus one for the second, shape (n_cells, n_items)."""
    signed, rows = np.zeros((len(cells.n), cells.n_items)), np.arange(len(cells.n))
    signed[rows, cells.first], signed[rows, cells.second] = 1.0, -1.0
    return signed


def by_judge(columns: np.ndarray, cells: Cells) -> np.ndarray:
    """Spread columns over the judges, shape (n_cells, n_judges, n_columns): zero except for the cell's own judge."""
    spread = np.zeros((len(columns), cells.n_judges, columns.shape[1]))
    spread[np.arange(len(columns)), cells.judge] = columns
    return spread
