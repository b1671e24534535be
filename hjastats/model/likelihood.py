"""The likelihood of the cells: value, gradient, and expected or observed information.

The information is kept in the arrow form the model gives it: one small block per judge, one block for what all judges share,
and the coupling between them. ``free_information`` lays it out in the free coordinates used for inference.

Value, gradient and information also take a stack of points: coefficients and tangent bases with one more axis in front. Small
panels are dominated by the calls, not by the arithmetic, and several starts then cost little more than one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import limits
from ..data.cells import Cells
from .layout import Coefficients
from .structures import TangentBasis


class Derivatives(NamedTuple):
    """Value and derivatives of the negative log-likelihood with respect to the predictors of each cell.

    Attributes
    ----------
    value : float
        In a stack, an array of them.
    slope, curvature : ndarray, shape (n_cells,)
        With respect to the log-odds ``eta``.
    eta : ndarray, shape (n_cells,)
    tie_slope, cross, tie_curvature : ndarray, shape (n_cells,), or None
        With respect to the log tie propensity ``tau``, and mixed, where a tie is an outcome of its own.
    tau : ndarray or None
    """

    value: Any
    slope: np.ndarray
    curvature: np.ndarray
    eta: np.ndarray
    tie_slope: np.ndarray | None = None
    cross: np.ndarray | None = None
    tie_curvature: np.ndarray | None = None
    tau: np.ndarray | None = None


class Gradient(NamedTuple):
    """Gradient of the negative log-likelihood: scores (n_judges, n_items), judge terms, shared terms."""

    scores: np.ndarray
    judge: np.ndarray
    shared: np.ndarray


class Arrow(NamedTuple):
    """Symmetric matrix with one block per judge, one shared block, and their coupling.

    Attributes
    ----------
    judge : ndarray, shape (n_judges, f + e, f + e)
        Own score coordinates, then own linear coefficients.
    coupling : ndarray, shape (n_judges, f + e, s)
    shared : ndarray, shape (s, s)
        Shared score coordinates (g * n_shared of them, direction by direction), then shared linear coefficients.
    """

    judge: np.ndarray
    coupling: np.ndarray
    shared: np.ndarray

    def quadratic_form(self, own: np.ndarray, shared: np.ndarray) -> Any:
        """``x' A x`` of vectors with judges' parts (..., n_judges, f + e) and shared parts (..., s)."""
        (*stack, n_shared), n_own = shared.shape, own.shape[-2] * own.shape[-1]
        within = (self.judge @ own[..., None]).reshape(*stack, n_own) * own.reshape(*stack, n_own)
        coupled = own.reshape(*stack, n_own) @ self.coupling.reshape(n_own, n_shared)
        return within.sum(axis=-1) + ((2.0 * coupled + shared @ self.shared) * shared).sum(axis=-1)


def score_differences(cells: Cells, scores: np.ndarray) -> np.ndarray:
    """By how much the first item of each cell stands above the second in its judge's scores, shape (n_cells,)."""
    stack = scores.shape[:-2]
    if cells.pairs is not None:
        return (scores @ cells.pairs.T).reshape(*stack, len(cells.n))
    flat = scores.reshape(*stack, -1)
    return flat.take(cells.first_entry, axis=-1) - flat.take(cells.second_entry, axis=-1)


def linear_predictor(cells: Cells, at: Coefficients) -> np.ndarray:
    """Log-odds that the first item of each cell beats the second, shape (n_cells,)."""
    eta = score_differences(cells, at.scores)
    judge_terms, shared_terms = cells.odds_judge_terms, cells.odds_shared_terms
    if judge_terms.shape[1]:
        eta = eta + np.einsum("ce,...ce->...c", judge_terms, at.judge[..., cells.judge, : judge_terms.shape[1]])
    if shared_terms.shape[1]:
        eta = eta + at.shared[..., : shared_terms.shape[1]] @ shared_terms.T
    return eta


def tie_predictor(cells: Cells, at: Coefficients) -> np.ndarray:
    """Log tie propensity of each cell, shape (n_cells,)."""
    if cells.tie == "judge":
        return at.judge[..., cells.judge, -1]
    return np.repeat(at.shared[..., -1:], len(cells.n), axis=-1)


def bernoulli(eta: np.ndarray, n: np.ndarray, y: np.ndarray) -> Derivatives:
    """Negative Bernoulli log-likelihood of ``y`` successes out of ``n`` at log-odds ``eta`` (eq. ll), without constants.

    Exact in both tails: nothing is formed as a difference of numbers close to each other.

    Examples
    --------
    >>> far = bernoulli(np.array([40.0]), np.ones(1), np.ones(1))
    >>> bool(np.isclose(far.value, np.exp(-40.0))), bool(np.isclose(far.slope[0], -np.exp(-40.0)))
    (True, True)
    """
    if eta.ndim == 1 and len(eta) > limits.LONG_ARRAY:
        return _in_parts(eta, n, y)
    size = np.abs(eta)
    small = np.exp(-size)
    rest = 1.0 / (1.0 + small)
    expected = n * small * rest
    # At positive log-odds losses are the rare outcome, at negative ones wins: count what is rare. By signs, which is quicker than
    # choosing, and exact where nothing rare was seen.
    sign, half = np.copysign(1.0, eta), 0.5 * n
    observed = half + sign * (half - y)
    value = _total(observed, size) + _total(np.log1p(small), n)
    return Derivatives(value, sign * (observed - expected), expected * rest, eta)


def _in_parts(eta: np.ndarray, n: np.ndarray, y: np.ndarray) -> Derivatives:
    """The same, a part at a time that stays in the processor's cache."""
    value, slope, curvature = 0.0, np.empty_like(eta), np.empty_like(eta)
    for start in range(0, len(eta), limits.ARRAY_PART):
        part = slice(start, start + limits.ARRAY_PART)
        here = bernoulli(eta[part], n[part], y[part])
        value, slope[part], curvature[part] = value + here.value, here.slope, here.curvature
    return Derivatives(value, slope, curvature, eta)


def _total(values: np.ndarray, weight: np.ndarray) -> Any:
    """Weighted sum over the cells: a number, or one for every member of a stack."""
    return float(np.dot(values, weight)) if values.ndim == 1 else np.einsum("...c,...c->...", values, weight)


def davidson(eta: np.ndarray, tau: np.ndarray, n: np.ndarray, y: np.ndarray, ties: np.ndarray) -> Derivatives:
    """Negative log-likelihood of Davidson's (1970) model of wins, ties and losses.

    Probabilities are proportional to ``exp(eta / 2)``, ``exp(tau)`` and ``exp(-eta / 2)``. ``y`` counts ties as half wins, so
    that wins minus losses are ``2 y - n``. Both predictors are natural parameters: observed and expected information agree.

    Examples
    --------
    >>> one = np.ones(1)
    >>> even = davidson(0 * one, 0 * one, 3 * one, 1.5 * one, one)
    >>> bool(np.isclose(even.value, 3 * np.log(3))), even.slope, even.tie_slope
    (True, array([0.]), array([0.]))
    """
    first, tie, second = davidson_probabilities(eta, tau)
    top = np.maximum(np.abs(eta) / 2.0, tau)
    small = np.abs(eta) / 2.0
    total = np.exp(small - top) + np.exp(-small - top) + np.exp(tau - top)
    # Wins and losses of the rarer side, ties, and the normaliser, each exact where the others vanish.
    rare = np.where(eta > 0, n - y, y) - 0.5 * ties
    value = (
        _total(np.log(total), n)
        + _total(top - small, n - ties - rare)
        + _total(top + small, rare)
        + _total(top - tau, ties)
    )
    difference = first - second
    slope = 0.5 * n * difference - (y - 0.5 * n)
    return Derivatives(
        value=value,
        slope=slope,
        curvature=0.25 * n * (first + second - difference**2),
        eta=eta,
        tie_slope=n * tie - ties,
        cross=-0.5 * n * difference * tie,
        tie_curvature=n * tie * (1.0 - tie),
        tau=tau,
    )


def davidson_probabilities(eta: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities that the first item wins, of a tie, and that the second wins."""
    top = np.maximum(np.abs(eta) / 2.0, tau)
    first, tie, second = np.exp(eta / 2.0 - top), np.exp(tau - top), np.exp(-eta / 2.0 - top)
    total = first + tie + second
    return first / total, tie / total, second / total


def evaluate(cells: Cells, at: Coefficients) -> Derivatives:
    """Negative log-likelihood of the cells at some coefficients, with its derivatives by their predictors."""
    eta = linear_predictor(cells, at)
    if cells.ties is None:
        return bernoulli(eta, cells.n, cells.y)
    return davidson(eta, tie_predictor(cells, at), cells.n, cells.y, cells.ties)


def even_odds(cells: Cells) -> Derivatives:
    """What the comparisons would tell if all verdicts were open: curvatures at their largest."""
    quarter, nothing = cells.n / 4.0, np.zeros(len(cells.n))
    if cells.ties is None:
        return Derivatives(0.0, nothing, quarter, nothing)
    return Derivatives(0.0, nothing, quarter, nothing, nothing, nothing, quarter, nothing)


def probability(eta: np.ndarray) -> np.ndarray:
    """Inverse logit, stable in both tails."""
    small = np.exp(-np.abs(eta))
    return np.where(eta > 0, 1.0, small) / (1.0 + small)


def gradient(cells: Cells, here: Derivatives) -> Gradient:
    """Chain rule from the cells' predictors to scores and linear coefficients."""
    slope, stack = here.slope, here.slope.shape[:-1]
    scores = cells.sum_by_score(slope)
    if not (cells.n_judge_terms or cells.n_shared_terms):
        return Gradient(scores, np.zeros((*stack, cells.n_judges, 0)), np.zeros((*stack, 0)))
    judge = cells.sum_by_judge(times_predictor(cells.judge_terms, slope, here.tie_slope, cells.tie == "judge"))
    shared = times_predictor(cells.shared_terms, slope, here.tie_slope, cells.tie == "common").sum(axis=-2)
    judge[..., list(cells.never_tie), -1:] = 0.0
    return Gradient(scores, judge, shared)


def times_predictor(terms: np.ndarray, odds: np.ndarray, tie: np.ndarray | None, has_tie: bool) -> np.ndarray:
    """Multiply the columns of the log-odds by one vector, and the tie column by another."""
    result = odds[..., None] * terms
    if has_tie and tie is not None:
        result[..., -1] = tie * terms[:, -1]
    return result


def expected_information(cells: Cells, here: Derivatives, tangent: TangentBasis) -> Arrow:
    """Expected information about the coordinates of ``tangent`` and the linear coefficients (eq. fisher-plugin, times n)."""
    if cells.pairs is not None and tangent.complement is not None:
        return _information_of_pairs(cells.pairs, here, tangent)
    own, weights = tangent.judge_items, tangent.shared_judges
    (*stack, n_judges, g), f, n_shared = weights.shape, own.shape[-1], tangent.n_shared
    laplacians = cells.laplacians(here.curvature) if cells.has_dense_laplacians else None
    if f == 0:
        rows = np.zeros((*stack, 0, cells.n_items))
    elif laplacians is None:
        features = np.take(own, cells.first, axis=0) - np.take(own, cells.second, axis=0)
        rows = _rows(cells, cells.incidence @ (here.curvature[:, None] * features))
    else:
        rows = _rows(cells, laplacians.reshape(*stack, n_judges * cells.n_items, cells.n_items) @ own)
    on_items = tangent.along_shared(rows).reshape(*stack, n_judges, f, 1, n_shared)
    arrow = Arrow(
        judge=(rows @ own).reshape(*stack, n_judges, f, f),
        coupling=(on_items * weights[..., None, :, None]).reshape(*stack, n_judges, f, g * n_shared),
        shared=_shared_block(cells, here.curvature, laplacians, tangent),
    )
    return _with_terms(arrow, cells, here, tangent) if cells.n_judge_terms or cells.n_shared_terms else arrow


def _information_of_pairs(pairs: np.ndarray, here: Derivatives, tangent: TangentBasis) -> Arrow:
    """The same where every judge has a cell for each of the pairs (n_pairs, n_items)."""
    weights = tangent.shared_judges
    (*stack, n_judges, g), f, n_shared = weights.shape, tangent.judge_items.shape[-1], tangent.n_shared
    moves = pairs @ np.concatenate([tangent.judge_items, tangent.complement], axis=-1)
    products = (moves[..., :, None] * moves[..., None, :]).reshape(*stack, len(pairs), -1)
    # What each judge alone would tell about its own coordinates and about movements of its own along the shared directions.
    by_judge = here.curvature.reshape(*stack, n_judges, len(pairs)) @ products
    by_judge = by_judge.reshape(*stack, n_judges, f + n_shared, f + n_shared)
    judges = (weights[..., :, None] * weights[..., None, :]).reshape(*stack, n_judges, g * g)
    block = judges.swapaxes(-1, -2) @ by_judge[..., f:, f:].reshape(*stack, n_judges, n_shared**2)
    block = block.reshape(*stack, g, g, n_shared, n_shared).swapaxes(-3, -2)
    on_items = by_judge[..., :f, None, f:]
    return Arrow(
        judge=by_judge[..., :f, :f],
        coupling=(on_items * weights[..., None, :, None]).reshape(*stack, n_judges, f, g * n_shared),
        shared=block.reshape(*stack, g * n_shared, g * n_shared),
    )


def _rows(cells: Cells, spread: np.ndarray) -> np.ndarray:
    """Turn columns of score vectors (n_judges * n_items, m) into item vectors in rows, shape (n_judges * m, n_items).

    In memory order, so that further products with item directions are single matrix products.
    """
    *stack, _, m = spread.shape
    columns = spread.reshape(*stack, cells.n_judges, cells.n_items, m)
    return np.ascontiguousarray(columns.swapaxes(-1, -2)).reshape(*stack, cells.n_judges * m, cells.n_items)


def _with_terms(scores: Arrow, cells: Cells, here: Derivatives, tangent: TangentBasis) -> Arrow:
    """Border the information about the scores with that about linear coefficients."""
    own, weights = tangent.judge_items, tangent.shared_judges
    e, m, (*stack, n_judges, f, moves) = cells.n_judge_terms, cells.n_shared_terms, scores.coupling.shape
    own_terms = times_predictor(cells.judge_terms, here.curvature, here.cross, cells.tie == "judge")
    all_terms = times_predictor(cells.shared_terms, here.curvature, here.cross, cells.tie == "common")
    rows = _rows(cells, cells.spread_to_scores(np.concatenate([own_terms, all_terms], axis=-1)))
    by_own = (rows @ own).reshape(*stack, n_judges, e + m, f)
    on_items = tangent.along_shared(rows).reshape(*stack, n_judges, e + m, tangent.n_shared)
    own_by_own, own_by_all, all_by_all = _term_blocks(cells, here, own_terms, all_terms)
    own_moves = on_items[..., :e, None, :] * weights[..., None, :, None]

    judge = np.empty((*stack, n_judges, f + e, f + e))
    judge[..., :f, :f] = scores.judge
    judge[..., f:, :f] = by_own[..., :e, :]
    judge[..., :f, f:] = by_own[..., :e, :].swapaxes(-1, -2)
    judge[..., f:, f:] = own_by_own
    coupling = np.empty((*stack, n_judges, f + e, moves + m))
    coupling[..., :f, :moves] = scores.coupling
    coupling[..., f:, :moves] = own_moves.reshape(*stack, n_judges, e, moves)
    coupling[..., :f, moves:] = by_own[..., e:, :].swapaxes(-1, -2)
    coupling[..., f:, moves:] = own_by_all
    shared = np.empty((*stack, moves + m, moves + m))
    shared[..., :moves, :moves] = scores.shared
    all_moves = np.einsum("...kms,...kg->...gsm", on_items[..., e:, :], weights)
    shared[..., :moves, moves:] = all_moves.reshape(*stack, moves, m)
    shared[..., moves:, :moves] = shared[..., :moves, moves:].swapaxes(-1, -2)
    shared[..., moves:, moves:] = all_by_all
    for k in cells.never_tie:
        # No parameter: a unit of its own that nothing else touches.
        judge[..., k, -1, :], judge[..., k, :, -1], coupling[..., k, -1, :] = 0.0, 0.0, 0.0
        judge[..., k, -1, -1] = 1.0
    return Arrow(judge, coupling, shared)


def observed_information(expected: Arrow, tangent: TangentBasis, scores_gradient: np.ndarray) -> Arrow:
    """Add the bending of a low-rank structure: second derivatives of the scores times the gradient (n_judges, n_items).

    Only pairs of an own and a shared coordinate of the same direction bend the scores, by 1 / strength; flat structures
    are returned unchanged.
    """
    if not tangent.strength.size:
        return expected
    weights = tangent.shared_judges
    outside = tangent.along_shared(scores_gradient - weights @ (weights.swapaxes(-1, -2) @ scores_gradient))
    coupling = expected.coupling.copy()
    n_shared = outside.shape[-1]
    for direction in range(tangent.strength.shape[-1]):
        moves = slice(direction * n_shared, (direction + 1) * n_shared)
        coupling[..., direction, moves] += outside / tangent.strength[..., direction, None, None]
    return Arrow(expected.judge, coupling, expected.shared)


def _term_blocks(
    cells: Cells, here: Derivatives, own: np.ndarray, shared: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Information about linear coefficients: judges' with judges', judges' with shared, shared with shared.

    ``own`` and ``shared`` are the terms weighted for products with terms of the log-odds; products with the tie column have
    weights of their own.
    """
    own_by_own = _sums_of_products(cells, cells.judge_terms, own)
    own_by_all = _sums_of_products(cells, cells.judge_terms, shared)
    all_by_all = cells.shared_terms.T @ shared
    if cells.tie and here.cross is not None:
        own_tie = times_predictor(cells.judge_terms, here.cross, here.tie_curvature, cells.tie == "judge")
        all_tie = times_predictor(cells.shared_terms, here.cross, here.tie_curvature, cells.tie == "common")
        if cells.tie == "judge":
            own_by_own[..., -1, :] = cells.sum_by_judge(cells.judge_terms[:, -1:] * own_tie)
            own_by_all[..., -1, :] = cells.sum_by_judge(cells.judge_terms[:, -1:] * all_tie)
        else:
            all_by_all[..., -1, :] = cells.shared_terms[:, -1] @ all_tie
    return own_by_own, own_by_all, all_by_all


def _sums_of_products(cells: Cells, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Per judge, the sum over its cells of the outer products of two sets of terms."""
    products = np.einsum("ce,...cm->...cem", left, right)
    *stack, n_cells, e, m = products.shape
    return cells.sum_by_judge(products.reshape(*stack, n_cells, e * m)).reshape(*stack, cells.n_judges, e, m)


def _shared_block(
    cells: Cells, curvature: np.ndarray, laplacians: np.ndarray | None, tangent: TangentBasis
) -> np.ndarray:
    """Information about the shared coordinates: a Laplacian of the items for every pair of judge weights."""
    weights = tangent.shared_judges
    (*stack, n_judges, g), n_items, n_shared = weights.shape, cells.n_items, tangent.n_shared
    if laplacians is not None:
        products = (weights[..., :, None] * weights[..., None, :]).reshape(*stack, n_judges, g * g)
        pooled = products.swapaxes(-1, -2) @ laplacians.reshape(*stack, n_judges, n_items**2)
        block = tangent.between_shared(pooled.reshape(*stack, g * g, n_items, n_items))
        block = block.reshape(*stack, g, g, n_shared, n_shared).swapaxes(-3, -2)
        return block.reshape(*stack, g * n_shared, g * n_shared)
    # One pair of directions after the other: with many items each is as large as everything else together.
    block = np.empty((g, n_shared, g, n_shared))
    diagonal = np.arange(n_items)
    for i in range(g):
        for j in range(i, g):
            links = cells.sum_by_pair(curvature * np.take(weights[:, i] * weights[:, j], cells.judge))
            links += links.T.copy()
            degree = links.sum(axis=1)
            np.negative(links, out=links)
            links[diagonal, diagonal] += degree
            block[i, :, j] = tangent.between_shared(links[None])[0]
            block[j, :, i] = block[i, :, j]
    return block.reshape(g * n_shared, g * n_shared)


def free_information(arrow: Arrow, cells: Cells) -> np.ndarray:
    """Dense information of (shared coefficients, judge coefficients, free score coordinates).

    Judge coefficients run judge by judge; score coordinates are those of ``TangentBasis.coordinates``.
    """
    n_judges, width = arrow.judge.shape[:2]
    n_judge_terms, n_shared_terms = cells.n_judge_terms, cells.n_shared_terms
    f, n_own, n_shared = width - n_judge_terms, n_judges * width, len(arrow.shared)
    judges = np.arange(n_judges)
    dense = np.zeros((n_own + n_shared, n_own + n_shared))
    dense[:n_own, :n_own].reshape(n_judges, width, n_judges, width)[judges, :, judges] = arrow.judge
    dense[:n_own, n_own:] = arrow.coupling.reshape(n_own, n_shared)
    dense[n_own:, :n_own] = dense[:n_own, n_own:].T
    dense[n_own:, n_own:] = arrow.shared
    if n_judge_terms == 0 and n_shared_terms == 0:
        return dense
    own = np.arange(n_own).reshape(n_judges, width)
    shared = n_own + np.arange(n_shared)
    n_moves = n_shared - n_shared_terms
    linear = np.concatenate([shared[n_moves:], own[:, f:].ravel()])[cells.is_free]
    order = np.concatenate([linear, own[:, :f].ravel(), shared[:n_moves]])
    return dense[np.ix_(order, order)]


def free_gradient(at: Gradient, tangent: TangentBasis, cells: Cells) -> np.ndarray:
    """Gradient in the coordinates of ``free_information``."""
    linear = np.concatenate([at.shared, at.judge.ravel()])[cells.is_free]
    return np.concatenate([linear, tangent.coordinates(at.scores)])


def cell_scores(cells: Cells, here: Derivatives, design: np.ndarray, is_tie: np.ndarray) -> np.ndarray:
    """Contribution of every cell to the gradient of the log-likelihood, shape (n_cells, n_parameters).

    Parameters
    ----------
    design : ndarray, shape (n_cells, n_parameters)
        Of ``free_design`` or ``reported_design``.
    is_tie : ndarray of bool, shape (n_parameters,)
        Which parameters are tie propensities.
    """
    scores = -here.slope[:, None] * design
    if here.tie_slope is not None:
        scores[:, is_tie] = -here.tie_slope[:, None] * design[:, is_tie]
    return scores


def free_ties(cells: Cells, tangent: TangentBasis) -> np.ndarray:
    """Which free coordinates are tie propensities, shape (n_free,)."""
    m, e = cells.n_shared_terms, cells.n_judge_terms
    linear = np.zeros(m + e * cells.n_judges, dtype=bool)
    if cells.tie == "common":
        linear[m - 1] = True
    elif cells.tie == "judge":
        linear[m + e - 1 :: e] = True
    return np.concatenate([linear[cells.is_free], np.zeros(tangent.n_free, dtype=bool)])


def free_design(cells: Cells, tangent: TangentBasis) -> np.ndarray:
    """Derivative of each predictor with respect to the free coordinates, shape (n_cells, n_free).

    Columns of tie propensities (``free_ties``) belong to the tie predictor, all others to the log-odds.
    """
    n_cells = len(cells.n)
    own = by_judge(tangent.judge_items[cells.first] - tangent.judge_items[cells.second], cells)
    if tangent.complement is not None:
        items = tangent.complement[cells.first] - tangent.complement[cells.second]
    else:
        # All directions of many items would be a matrix of items by items.
        signed, rows = np.zeros((n_cells, cells.n_items)), np.arange(n_cells)
        signed[rows, cells.first], signed[rows, cells.second] = 1.0, -1.0
        items = tangent.along_shared(signed)
    shared = np.einsum("cg,cs->cgs", tangent.shared_judges[cells.judge], items).reshape(n_cells, -1)
    terms = by_judge(cells.judge_terms, cells)
    linear = np.hstack([cells.shared_terms, terms.reshape(n_cells, -1)])[:, cells.is_free]
    return np.hstack([linear, own.reshape(n_cells, -1), shared])


def by_judge(columns: np.ndarray, cells: Cells) -> np.ndarray:
    """Spread columns over the judges, shape (n_cells, n_judges, n_columns): zero except for the cell's own judge."""
    spread = np.zeros((len(columns), cells.n_judges, columns.shape[1]))
    spread[np.arange(len(columns)), cells.judge] = columns
    return spread
