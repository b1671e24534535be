"""How well each judge's verdicts agree with themselves and with the model's probabilities."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse, stats

from .. import limits
from ..data.cells import Cells, collapse
from ..fitted import Fit
from ..inference.contrast_results import two_sided
from ..inference.score_tests import moved
from ..model.design import Coefficients, Design
from ..model.likelihood import evaluate, log_odds, own_predictors, weighted
from ..model.response import Derivatives, expected_outcome, worth_variance
from ..model.terms import LOG_ODDS
from .adjusted import holm


def mean_squares(rows: Design, at: Coefficients, of: str = "judges") -> tuple[np.ndarray, np.ndarray]:
    """Infit and outfit mean squares of the judges or the items, each of shape (n_judges,) or (n_items,).

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
    of : {"judges", "items"}
        A comparison belongs to one judge and to two items.

    Examples
    --------
    >>> zero, one = np.zeros(4, dtype=int), np.ones(4, dtype=int)
    >>> rows = Design(zero, zero, one, np.ones(4), np.array([1.0, 1, 1, 0]), 1, 2)
    >>> at = Coefficients(np.log([[3.0, 1.0]]), np.zeros((1, 0)), np.zeros(0))
    >>> [value.round(6).tolist() for value in mean_squares(rows, at)]
    [[1.0], [1.0]]
    """
    here = evaluate(rows, at)
    residual = here.slope
    if not rows.response.is_natural:
        residual = rows.y - rows.n * expected_outcome(rows.response, rows.response.probabilities(here.eta, here.own))
    return ratios(rows, residual**2 / rows.n, variances(rows, here), of)


def variances(cells: Design, here: Derivatives) -> np.ndarray:
    """Variance of what the verdicts of each cell are worth together: the curvature where predictors are natural parameters."""
    if cells.response.is_natural:
        return here.curvature
    return cells.n * worth_variance(cells.response, cells.response.probabilities(here.eta, here.own))


def ratios(cells: Cells, squares: np.ndarray, variance: np.ndarray, of: str) -> tuple[np.ndarray, np.ndarray]:
    """Infit and outfit from the squared residuals of every cell and what is expected of them, shape (n_cells,) each."""
    with np.errstate(divide="ignore", invalid="ignore"):
        # Where the model is certain beyond rounding error, an expected verdict is no surprise and any other an infinite one.
        surprise = np.where(squares > 0, cells.n * squares / variance, 0.0)
        infit = summed(cells, squares, of) / summed(cells, variance, of)
        outfit = summed(cells, surprise, of) / summed(cells, cells.n, of)
    return infit, outfit


def summed(cells: Cells, values: np.ndarray, of: str) -> np.ndarray:
    """Sums of values of the cells over every judge's, shape (n_judges,), or over every item's, shape (n_items,)."""
    if of == "judges":
        return np.bincount(cells.judge, values, cells.n_judges)
    return np.bincount(cells.first, values, cells.n_items) + np.bincount(cells.second, values, cells.n_items)


def known_variances(cells: Design, here: Derivatives, of: str) -> tuple[np.ndarray, np.ndarray]:
    """Variances of infit and outfit if the parameters were known, each of shape (n_judges,) or (n_items,)."""
    probabilities = cells.response.probabilities(here.eta, here.own)
    values = np.array(list(cells.response.verdicts.values()))[:, None]
    variance = variances(cells, here) / cells.n
    fourth = np.sum(probabilities * ((values - np.sum(values * probabilities, axis=0)) ** 2 - variance) ** 2, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        infit = summed(cells, cells.n * fourth, of) / summed(cells, cells.n * variance, of) ** 2
        outfit = summed(cells, cells.n * fourth / variance**2, of) / summed(cells, cells.n, of) ** 2
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
    merged = collapse(_plain(cells, cells.y))
    lead = 2.0 * merged.y - merged.n
    for k, prefers in enumerate(_by_pair(merged, (lead > 0).astype(float), (lead < 0).astype(float))):
        # Each triangle is counted six times, each directed cycle three times.
        triples = _closed_walks(prefers + prefers.T) / 6.0
        if triples > 0:
            rates[k] = _closed_walks(prefers) / 3.0 / triples
    return rates


def cycle_p_values(rows: Design, at: Coefficients) -> np.ndarray:
    """Of at least as many cycles as each judge has, if the model holds; adjusted for the number of judges, shape (n_judges,).

    Pairs are decided independently of each other. With A the probabilities that one item leads another, the expected number of
    cycles is that of closed walks in A. It varies more than a Poisson number because triples share pairs: its variance is at most
    the mean plus the variance of what each pair does to all triples it is part of. The p-value is that of the negative binomial
    distribution with this mean and variance. Ties make for fewer cycles than these probabilities say.
    """
    expected = expected_outcome(
        rows.response, rows.response.probabilities(log_odds(rows, at), own_predictors(rows, at))
    )
    merged, wins = (collapse(_plain(rows, y)) for y in (rows.y, rows.n * expected))
    lead, share = 2.0 * merged.y - merged.n, np.clip(wins.y / wins.n, 0.0, 1.0)
    ahead = [stats.binom.sf(np.floor(merged.n / 2.0), np.ceil(merged.n), p) for p in (share, 1.0 - share)]
    p_values = np.full(rows.n_judges, np.nan)
    for k, (prefers, leads) in enumerate(
        zip(_by_pair(merged, (lead > 0) * 1.0, (lead < 0) * 1.0), _by_pair(merged, *ahead), strict=True)
    ):
        mean = _closed_walks(leads) / 3.0
        if mean <= 0:
            continue
        # What a pair adds to the expected number when it is decided one way: the ways on from the second item to the first.
        adds = (leads @ leads).T
        either = leads * adds + (leads * adds).T
        spread = float((leads * adds * adds).sum() - 0.5 * (either * either).sum())
        size = mean**2 / max(spread, 1e-9 * mean)
        p_values[k] = stats.nbinom.sf(round(_closed_walks(prefers) / 3.0) - 1, size, size / (size + mean))
    return holm(p_values)


def _plain(rows: Cells, y: np.ndarray) -> Cells:
    """The rows without terms, with other wins."""
    return Cells(rows.judge, rows.first, rows.second, rows.n, y, rows.n_judges, rows.n_items)


def _by_pair(cells: Cells, first: np.ndarray, second: np.ndarray) -> Iterator[Any]:
    """For every judge a matrix, dense or sparse, of values for the first item over the second and for the second over the first."""
    ends = np.searchsorted(cells.judge, np.arange(cells.n_judges + 1))
    for start, end in itertools.pairwise(ends):
        i, j = cells.first[start:end], cells.second[start:end]
        entries = np.concatenate([first[start:end], second[start:end]]), (np.r_[i, j], np.r_[j, i])
        matrix = sparse.coo_array(entries, shape=(cells.n_items,) * 2)
        # Most pairs of many items were never compared by one judge.
        yield matrix.tocsr() if cells.n_items > limits.DENSE_MARGINS else matrix.toarray()


def misfit_p_values(rows: Design, at: Coefficients) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of an infit as small as each judge's, an infit and an outfit as large; adjusted for the number of judges, shape (n_judges,).

    Mean squares are sums of independent terms whose mean and variance the model knows. Gamma distributions with the same mean and
    variance stand for that of infit. A judge's parameters, at most one for each of its items and terms, take from its expectation.
    """
    infit, outfit = mean_squares(rows, at)
    number = np.bincount(rows.judge, rows.n, rows.n_judges)
    by_information, by_number = known_variances(rows, evaluate(rows, at), "judges")
    with np.errstate(divide="ignore", invalid="ignore"):
        compared = np.count_nonzero(_seen(rows), axis=1)
        less = np.clip(1.0 - (compared - 1 + rows.n_judge_terms) / number, 0.0, 1.0)
        small = stats.gamma.cdf(infit, less**2 / by_information, scale=by_information / less)
        large = stats.gamma.sf(infit, 1.0 / by_information, scale=by_information)
        # Of verdicts next to impossible nobody knows the distribution: Cantelli's inequality holds for all.
        surprising = np.where(outfit > 1.0, by_number / (by_number + (outfit - 1.0) ** 2), 1.0)
    return holm(small), holm(large), holm(surprising)


def _seen(cells: Cells) -> np.ndarray:
    """How often a judge saw an item, shape (n_judges, n_items)."""
    size = cells.n_judges * cells.n_items
    times = np.bincount(cells.first_entry, minlength=size) + np.bincount(cells.second_entry, minlength=size)
    return times.reshape(cells.n_judges, cells.n_items)


def average_p_values(fit: Fit, error: np.ndarray) -> np.ndarray:
    """Of each judge's sensitivity, if it is that of the average judge; adjusted for the number of judges, shape (n_judges,).

    Standard errors (n_judges,) of insensitive judges are small: even odds tell most. For this test they are not taken smaller than
    they would be with the sensitivity of the average judge.
    """
    design, at, parts = fit.design, fit.at, fit.parts
    along = (parts.mu[design.first] - parts.mu[design.second]) ** 2
    average = replace(at, scores=at.scores + np.outer(1.0 - parts.gamma, parts.mu))
    here, there = (
        np.bincount(design.judge, along * evaluate(design, each).curvature, design.n_judges) for each in (at, average)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (parts.gamma - 1.0) / (error * np.sqrt(np.maximum(here / there, 1.0)))
    return holm(two_sided(z))


def taste_p_values(fit: Fit) -> np.ndarray:
    """Of each judge's disagreement, if it only follows the others with a sensitivity of its own, shape (n_judges,).

    The judge's own likelihood ratio of its scores against the best multiple of a common direction, its own terms fitted again,
    referred to chi-squared with a degree of freedom for every item but two, as if its scores were free; times the number of
    judges. The consensus, a plain mean over judges, is mostly noise where some are light, so that the direction along which most
    information lies may serve instead: the smaller ratio counts.
    """
    design, at = fit.design, fit.at
    information = np.bincount(design.judge, evaluate(design, at).curvature, design.n_judges)
    size = np.linalg.norm(at.scores, axis=1)
    # No judge's scores count for more than the median's, however far out they are.
    weight = np.sqrt(information) * np.minimum(1.0, np.median(size) / np.maximum(size, 1e-12))
    leading = np.linalg.svd(weight[:, None] * at.scores, full_matrices=False)[2][0]
    here, there = _loglikes(design, at), [_best_multiple(design, at, along) for along in (fit.parts.mu, leading)]
    ratio = 2.0 * np.min([np.bincount(design.judge, here - worse, design.n_judges) for worse in there], axis=0)
    return np.minimum(design.n_judges * stats.chi2.sf(ratio, max(design.n_items - 2, 1)), 1.0)


def _best_multiple(design: Design, at: Coefficients, direction: np.ndarray) -> np.ndarray:
    """Log-likelihood of every cell with each judge's best multiple of a direction as its scores and its own terms fitted again."""
    moves = np.append(LOG_ODDS, design.terms.own_moves)
    columns = np.column_stack([direction[design.first] - direction[design.second], design.judge_terms])
    longest = 2.0 / np.maximum(np.abs(columns).max(axis=0), 1e-12)
    values = np.column_stack([at.scores @ direction / (direction @ direction), at.judge])
    for _ in range(limits.SENSITIVITY_STEPS):
        here = evaluate(design, _along(values, direction, at))
        slope = design.sum_by_judge(weighted(columns, moves, here.slope, here.own_slope))
        by = [moved(here, int(predictor)) for predictor in moves]
        bends = [
            design.sum_by_judge(column[:, None] * weighted(columns, moves, m.odds, m.own))
            for column, m in zip(columns.T, by, strict=True)
        ]
        bend = np.stack(bends, axis=2) + 1e-9 * np.eye(len(moves))
        values = values - np.clip(np.linalg.solve(bend, slope[..., None])[..., 0], -longest, longest)
    return _loglikes(design, _along(values, direction, at))


def _along(values: np.ndarray, direction: np.ndarray, at: Coefficients) -> Coefficients:
    return Coefficients(np.outer(values[:, 0], direction), values[:, 1:], at.shared)


def _loglikes(design: Design, at: Coefficients) -> np.ndarray:
    """Log-likelihood of every cell, shape (n_cells,)."""
    return design.response.loglike(log_odds(design, at), own_predictors(design, at), design.n, design.y, design.counts)


def _closed_walks(links: Any) -> float:
    """Walks of length three that end where they began, in a dense or sparse matrix of links."""
    return float(((links @ links) * links.T).sum())
