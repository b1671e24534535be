"""How well each judge's verdicts agree with themselves and with the model's probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .. import limits
from ..data.cells import Cells
from ..model.design import Coefficients, Design
from ..model.likelihood import evaluate


def mean_squares(rows: Design, at: Coefficients) -> tuple[np.ndarray, np.ndarray]:
    """Infit and outfit mean squares of the judges, each of shape (n_judges,).

    As in Rasch measurement: with the outcome y, its expectation E and variance V under the model, outfit is the mean of
    ``(y - E)^2 / V`` over a judge's comparisons and infit is ``sum (y - E)^2 / sum V``, the same with each comparison counted by
    its information. Both are about 1 if the model holds (a little less, by the share of parameters to comparisons), larger for a
    judge less predictable than the model says and smaller for one more predictable. Outfit is moved most by surprises between
    unequal items, infit by verdicts on close pairs. A row of weight w counts as w comparisons.

    Ties that count as half wins, and soft preferences, vary less than the wins and losses V is made for and pull both below 1. With
    ties as an outcome (Davidson) V is the variance of win, half and loss, and the expectation is 1 again.

    Parameters
    ----------
    rows : Design
        One cell per row of the data.

    Examples
    --------
    >>> zero, one = np.zeros(4, dtype=int), np.ones(4, dtype=int)
    >>> rows = Design(zero, zero, one, np.ones(4), np.array([1.0, 1, 1, 0]), 1, 2)
    >>> at = Coefficients(np.log([[3.0, 1.0]]), np.zeros((1, 0)), np.zeros(0))
    >>> [value.round(6).tolist() for value in mean_squares(rows, at)]
    [[1.0], [1.0]]
    """
    here = evaluate(rows, at)
    squared = here.slope**2
    n_judges = rows.n_judges
    with np.errstate(divide="ignore", invalid="ignore"):
        # Where the model is certain beyond rounding error, an expected verdict is no surprise and any other an infinite one.
        surprise = np.where(squared > 0, squared / here.curvature, 0.0)
        outfit = np.bincount(rows.judge, surprise, n_judges) / np.bincount(rows.judge, rows.n, n_judges)
        infit = np.bincount(rows.judge, squared / rows.n, n_judges) / np.bincount(rows.judge, here.curvature, n_judges)
    return infit, outfit


def cycle_rates(cells: Cells) -> np.ndarray:
    """Share of intransitive triples among each judge's decided triples, shape (n_judges,).

    A pair is decided when the judge preferred one item to the other more often, over all prompts and orders; a triple when its
    three pairs are. It is intransitive when the preferences go round. Flipping coins gives one quarter; not a number without
    triples.

    Parameters
    ----------
    cells : Cells
        Of all comparisons, whatever their terms.

    Examples
    --------
    >>> judge, first, second = np.zeros(3, dtype=int), np.array([0, 1, 2]), np.array([1, 2, 0])
    >>> cycle_rates(Cells(judge, first, second, np.ones(3), np.ones(3), 1, 3))
    array([1.])
    >>> cycle_rates(Cells(judge, first, second, np.ones(3), np.array([1.0, 1, 0]), 1, 3))
    array([0.])
    """
    rates = np.full(cells.n_judges, np.nan)
    lead = 2.0 * cells.y - cells.n
    for k in range(cells.n_judges):
        own = np.flatnonzero(cells.judge == k)
        margin = sparse.coo_array((lead[own], (cells.first[own], cells.second[own])), shape=(cells.n_items,) * 2)
        # Most pairs of many items were never compared by one judge.
        margin = margin.tocsr() if cells.n_items > limits.DENSE_MARGINS else margin.toarray()
        prefers = (margin - margin.T > 0).astype(float)
        # Each triangle is counted six times, each directed cycle three times.
        triples = _closed_walks(prefers + prefers.T) / 6.0
        if triples > 0:
            rates[k] = _closed_walks(prefers) / 3.0 / triples
    return rates


def _closed_walks(links: Any) -> float:
    """Walks of length three that end where they began, in a dense or sparse matrix of links."""
    return float(((links @ links) * links.T).sum())
