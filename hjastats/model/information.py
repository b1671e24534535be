"""Expected and observed information about the free coordinates.

It is kept in the arrow form the model gives it: one small block per judge, one block for what all judges share, and the coupling
between them. ``free_information`` lays it out in the free coordinates used for inference.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .design import Design
from .likelihood import weighted
from .response import Derivatives
from .tangent import TangentBasis


class Arrow(NamedTuple):
    """Symmetric matrix with one block per judge, one shared block, and their coupling.

    Attributes
    ----------
    judge : ndarray, shape (n_judges, f + e, f + e)
        Own score coordinates, then own linear coefficients.
    coupling : ndarray, shape (n_judges, f + e, s)
    shared : ndarray, shape (s, s)
        Shared score coordinates (g * n_shared of them, direction by direction), then shared linear coefficients.
    common : ndarray, shape (n_judges, f + e), optional
        Weights of a sum over judges, one for every own coordinate; its square is taken off. A penalty that counts the judges' mean
        once couples them so.
    """

    judge: np.ndarray
    coupling: np.ndarray
    shared: np.ndarray
    common: np.ndarray | None = None

    def quadratic_form(self, own: np.ndarray, shared: np.ndarray) -> float:
        """``x' A x`` of a vector with judges' parts (n_judges, f + e) and a shared part (s,)."""
        within = np.einsum("ka,kab,kb->", own, self.judge, own)
        coupled = own.ravel() @ self.coupling.reshape(own.size, len(shared))
        if self.common is not None:
            within -= np.square((self.common * own).sum(axis=0)).sum()
        return float(within + (2.0 * coupled + shared @ self.shared) @ shared)

    def bordered(self) -> Arrow:
        """The same without ``common``: further shared coordinates t, with ``t^2 - 2 t (sum over judges)``, stand in for it.

        Eliminated again they leave ``- (sum over judges)^2``. So solutions whose right side is zero for t, and the covariance of
        all other coordinates, are those of this matrix.
        """
        if self.common is None:
            return self
        some, (n_judges, width, s) = np.flatnonzero(self.common.any(axis=0)), self.coupling.shape
        coupling, shared = np.zeros((n_judges, width, s + len(some))), np.eye(s + len(some))
        coupling[:, :, :s], shared[:s, :s] = self.coupling, self.shared
        coupling[:, some, s + np.arange(len(some))] = -self.common[:, some]
        return Arrow(self.judge, coupling, shared)


def expected_information(design: Design, here: Derivatives, tangent: TangentBasis) -> Arrow:
    """Expected information about the coordinates of ``tangent`` and the linear coefficients (eq. fisher-plugin, times n)."""
    own, weights = tangent.judge_items, tangent.shared_judges
    (n_judges, g), f, n_shared = weights.shape, own.shape[1], tangent.n_shared
    laplacians = design.laplacians(here.curvature) if design.has_dense_laplacians else None
    if f == 0:
        rows = np.zeros((0, design.n_items))
    elif laplacians is None:
        features = np.take(own, design.first, axis=0) - np.take(own, design.second, axis=0)
        rows = _rows(design, design.incidence @ (here.curvature[:, None] * features))
    else:
        rows = _rows(design, laplacians.reshape(n_judges * design.n_items, design.n_items) @ own)
    on_items = tangent.along_shared(rows).reshape(n_judges, f, 1, n_shared)
    arrow = Arrow(
        judge=(rows @ own).reshape(n_judges, f, f),
        coupling=(on_items * weights[:, None, :, None]).reshape(n_judges, f, g * n_shared),
        shared=_shared_block(design, here.curvature, laplacians, tangent),
    )
    return _with_terms(arrow, design, here, tangent) if design.terms else arrow


def _rows(design: Design, spread: np.ndarray) -> np.ndarray:
    """Turn columns of score vectors (n_judges * n_items, m) into item vectors in rows, shape (n_judges * m, n_items).

    In memory order, so that further products with item directions are single matrix products.
    """
    m = spread.shape[1]
    columns = spread.reshape(design.n_judges, design.n_items, m)
    return np.ascontiguousarray(columns.swapaxes(1, 2)).reshape(design.n_judges * m, design.n_items)


def _with_terms(scores: Arrow, design: Design, here: Derivatives, tangent: TangentBasis) -> Arrow:
    """Border the information about the scores with that about linear coefficients."""
    weights, (n_judges, f, moves) = tangent.shared_judges, scores.coupling.shape
    e, m = design.n_judge_terms, design.n_shared_terms
    own_terms = weighted(design.judge_terms, design.terms.own_moves, here.curvature, here.cross)
    all_terms = weighted(design.shared_terms, design.terms.shared_moves, here.curvature, here.cross)
    rows = _rows(design, design.incidence @ np.concatenate([own_terms, all_terms], axis=1))
    by_own = (rows @ tangent.judge_items).reshape(n_judges, e + m, f)
    on_items = tangent.along_shared(rows).reshape(n_judges, e + m, tangent.n_shared)
    own_by_own, own_by_all, all_by_all = _term_blocks(design, here, own_terms, all_terms)
    own_moves = (on_items[:, :e, None] * weights[:, None, :, None]).reshape(n_judges, e, moves)
    all_moves = np.einsum("kms,kg->gsm", on_items[:, e:], weights).reshape(moves, m)
    judge = np.block([[scores.judge, by_own[:, :e].swapaxes(1, 2)], [by_own[:, :e], own_by_own]])
    coupling = np.block([[scores.coupling, by_own[:, e:].swapaxes(1, 2)], [own_moves, own_by_all]])
    shared = np.block([[scores.shared, all_moves], [all_moves.T, all_by_all]])
    for k, term in design.terms.held:
        # No parameter: a unit of its own that nothing else touches.
        judge[k, f + term], judge[k, :, f + term], coupling[k, f + term] = 0.0, 0.0, 0.0
        judge[k, f + term, f + term] = 1.0
    return Arrow(judge, coupling, shared)


def observed_information(expected: Arrow, tangent: TangentBasis, scores_gradient: np.ndarray) -> Arrow:
    """Add the bending of a low-rank structure: second derivatives of the scores times the gradient (n_judges, n_items).

    Only pairs of an own and a shared coordinate of the same direction bend the scores, by 1 / strength; flat structures
    are returned unchanged.
    """
    return bent(expected, tangent, outside(tangent, scores_gradient)) if tangent.strength.size else expected


def outside(tangent: TangentBasis, scores_gradient: np.ndarray) -> np.ndarray:
    """The gradient by the scores outside the structure's own directions, shape (n_judges, n_shared)."""
    weights = tangent.shared_judges
    return tangent.along_shared(scores_gradient - weights @ (weights.T @ scores_gradient))


def bent(arrow: Arrow, tangent: TangentBasis, along: np.ndarray) -> Arrow:
    """Add second derivatives of the scores times their gradient along shared directions (n_judges, n_shared)."""
    coupling, n_shared = arrow.coupling.copy(), along.shape[1]
    for direction, strength in enumerate(tangent.strength):
        coupling[:, direction, direction * n_shared : (direction + 1) * n_shared] += along / strength
    return arrow._replace(coupling=coupling)


def _term_blocks(
    design: Design, here: Derivatives, own: np.ndarray, shared: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Information about linear coefficients: judges' with judges', judges' with shared, shared with shared.

    ``own`` and ``shared`` are the columns weighted for products with terms of the log-odds; products with terms of the response's
    own predictors have other weights.
    """
    terms = design.terms
    own_by_own = _sums_of_products(design, design.judge_terms, own)
    own_by_all = _sums_of_products(design, design.judge_terms, shared)
    all_by_all = design.shared_terms.T @ shared
    if here.cross is None or here.own_curvature is None:
        return own_by_own, own_by_all, all_by_all
    for p in range(len(here.cross)):
        weights = here.cross[p], here.own_curvature[p]
        own_there = weighted(design.judge_terms, terms.own_moves, *weights)
        all_there = weighted(design.shared_terms, terms.shared_moves, *weights)
        for e in np.flatnonzero(terms.own_moves == 1 + p):
            own_by_own[:, e] = design.sum_by_judge(design.judge_terms[:, e, None] * own_there)
            own_by_all[:, e] = design.sum_by_judge(design.judge_terms[:, e, None] * all_there)
        for m in np.flatnonzero(terms.shared_moves == 1 + p):
            all_by_all[m] = design.shared_terms[:, m] @ all_there
    return own_by_own, own_by_all, all_by_all


def _sums_of_products(design: Design, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Per judge, the sum over its cells of the outer products of two sets of terms."""
    products = (left[:, :, None] * right[:, None]).reshape(len(left), -1)
    return design.sum_by_judge(products).reshape(design.n_judges, left.shape[1], right.shape[1])


def _shared_block(
    design: Design, curvature: np.ndarray, laplacians: np.ndarray | None, tangent: TangentBasis
) -> np.ndarray:
    """Information about the shared coordinates: a Laplacian of the items for every pair of judge weights."""
    weights, n_items, n_shared = tangent.shared_judges, design.n_items, tangent.n_shared
    n_judges, g = weights.shape
    if laplacians is not None:
        products = (weights[:, :, None] * weights[:, None]).reshape(n_judges, g * g)
        pooled = products.T @ laplacians.reshape(n_judges, n_items**2)
        block = tangent.between_shared(pooled.reshape(g * g, n_items, n_items))
        return block.reshape(g, g, n_shared, n_shared).swapaxes(1, 2).reshape(g * n_shared, g * n_shared)
    block = np.empty((g, n_shared, g, n_shared))
    if len(curvature) * n_shared**2 < n_items**2:
        # Of many items few directions, as of traits: cells cost less than a matrix of all pairs of items.
        features = np.take(tangent.shared_items, design.first, axis=0)
        features -= np.take(tangent.shared_items, design.second, axis=0)
        for i, j in np.ndindex(g, g):
            weight = curvature * np.take(weights[:, i] * weights[:, j], design.judge)
            block[i, :, j] = features.T @ (weight[:, None] * features)
        return block.reshape(g * n_shared, g * n_shared)
    # One pair of directions after the other: with many items each is as large as everything else together.
    diagonal = np.arange(n_items)
    for i in range(g):
        for j in range(i, g):
            links = design.sum_by_pair(curvature * np.take(weights[:, i] * weights[:, j], design.judge))
            links += links.T.copy()
            degree = links.sum(axis=1)
            np.negative(links, out=links)
            links[diagonal, diagonal] += degree
            block[i, :, j] = tangent.between_shared(links[None])[0]
            block[j, :, i] = block[i, :, j]
    return block.reshape(g * n_shared, g * n_shared)


def free_information(arrow: Arrow, design: Design) -> np.ndarray:
    """Dense information of (shared coefficients, judge coefficients, free score coordinates).

    Judge coefficients run judge by judge; score coordinates are those of ``TangentBasis.coordinates``.
    """
    n_judges, width = arrow.judge.shape[:2]
    n_judge_terms, n_shared_terms = design.n_judge_terms, design.n_shared_terms
    f, n_own, n_shared = width - n_judge_terms, n_judges * width, len(arrow.shared)
    judges = np.arange(n_judges)
    dense = np.zeros((n_own + n_shared, n_own + n_shared))
    own_by_own = dense[:n_own, :n_own].reshape(n_judges, width, n_judges, width)
    own_by_own[judges, :, judges] = arrow.judge
    if arrow.common is not None:
        for j, weights in enumerate(arrow.common.T):
            own_by_own[:, j, :, j] -= np.outer(weights, weights)
    dense[:n_own, n_own:] = arrow.coupling.reshape(n_own, n_shared)
    dense[n_own:, :n_own] = dense[:n_own, n_own:].T
    dense[n_own:, n_own:] = arrow.shared
    if n_judge_terms == 0 and n_shared_terms == 0:
        return dense
    own = np.arange(n_own).reshape(n_judges, width)
    shared = n_own + np.arange(n_shared)
    n_moves = n_shared - n_shared_terms
    linear = np.concatenate([shared[n_moves:], own[:, f:].ravel()])[design.is_free]
    order = np.concatenate([linear, own[:, :f].ravel(), shared[:n_moves]])
    return dense[np.ix_(order, order)]
