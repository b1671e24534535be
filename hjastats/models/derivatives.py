"""Derivatives with respect to the reported parameters, which statsmodels' methods of a model are stated in."""

from __future__ import annotations

import numpy as np

from ..data.cells import Cells
from ..model.layout import Layout
from ..model.likelihood import Gradient, by_judge
from ..model.structures import LowRank, Pooled


def reported_design(cells: Cells, layout: Layout, params: np.ndarray) -> np.ndarray:
    """Derivative of each linear predictor with respect to the reported parameters, the normalisation ignored."""
    rest = params[layout.n_linear :]
    n_judges, n_items, rank = cells.n_judges, cells.n_items, layout.rank
    signed = np.zeros((len(cells.n), n_items))
    rows = np.arange(len(cells.n))
    signed[rows, cells.first] = 1.0
    signed[rows, cells.second] = -1.0
    # Reported term by term, so the judge axis runs fastest.
    terms = by_judge(cells.judge_terms, cells).transpose(0, 2, 1).reshape(len(rows), -1)
    blocks = [cells.shared_terms, terms[:, layout.own_by_term]]
    if isinstance(layout.structure, Pooled):
        blocks.append(signed)
    elif isinstance(layout.structure, LowRank):
        loadings = rest[n_judges + n_items :]
        judges = [rest[:n_judges], *loadings[: rank * n_judges].reshape(rank, n_judges)]
        items = [rest[n_judges : n_judges + n_items], *loadings[rank * n_judges :].reshape(rank, n_items)]
        to_judges = [by_judge((signed @ item)[:, None], cells)[:, :, 0] for item in items]
        to_items = [judge[cells.judge][:, None] * signed for judge in judges]
        blocks += [to_judges[0], to_items[0], *to_judges[1:], *to_items[1:]]
    else:
        blocks.append(by_judge(signed, cells).reshape(len(rows), -1))
    return np.hstack(blocks)


def reported_gradient(slopes: Gradient, layout: Layout, params: np.ndarray) -> np.ndarray:
    """Gradient by the reported parameters of one by scores and linear coefficients, the normalisation ignored."""
    linear = np.concatenate([slopes.shared, slopes.judge.T.ravel()[layout.own_by_term]])
    scores, rest = slopes.scores, params[layout.n_linear :]
    if isinstance(layout.structure, Pooled):
        return np.concatenate([linear, scores.sum(axis=0)])
    if not isinstance(layout.structure, LowRank):
        return np.concatenate([linear, scores.ravel()])
    (n_judges, n_items), rank = scores.shape, layout.rank
    gamma, mu, loadings = rest[:n_judges], rest[n_judges : n_judges + n_items], rest[n_judges + n_items :]
    U, V = loadings[: rank * n_judges].reshape(rank, n_judges), loadings[rank * n_judges :].reshape(rank, n_items)
    return np.concatenate([linear, scores @ mu, gamma @ scores, (V @ scores.T).ravel(), (U @ scores).ravel()])


def reported_bending(layout: Layout, scores_gradient: np.ndarray) -> np.ndarray:
    """Second derivatives of the scores in the reported parameters times a gradient (n_judges, n_items)."""
    result = np.zeros((len(layout.names), len(layout.names)))
    if isinstance(layout.structure, LowRank):
        n_judges, n_items = scores_gradient.shape
        starts = [(layout.slices["gamma"].start, layout.slices["mu"].start)]
        if layout.rank:
            u, v = layout.slices["U"].start, layout.slices["V"].start
            starts += [(u + d * n_judges, v + d * n_items) for d in range(layout.rank)]
        for judge, item in starts:
            result[judge : judge + n_judges, item : item + n_items] = scores_gradient
            result[item : item + n_items, judge : judge + n_judges] = scores_gradient.T
    return result
