"""Whether judges and items stay the same from the first half of the verdicts to the second."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import sparse, special

from .. import limits
from ..data.arrays import columns_of
from ..data.cells import collapse
from ..data.comparisons import Comparisons
from ..fitted import Fit, Observations
from ..inference.clusters import Clusters
from ..inference.contributions import Contributions, single
from ..inference.score_tests import coupling, moved
from ..looks import Piece, Shown, Table, Title
from ..model.design import Design
from ..model.likelihood import evaluate, log_odds, own_predictors, weighted
from ..model.response import Derivatives
from ..model.terms import LOG_ODDS, POSITION, Term
from ..words import counted, p_value, told_p
from .adjusted import holm
from .order import has_order, without_penalty

# Level of the adjusted tests.
LEVEL = 0.05
# Share of a term's information that must be left after the other parameters.
_LEFT = 1e-6
# Steps within which the value of a term in one half is found if there is one, and the last one, which no rounding shows.
_STEPS, _SMALL = 20, 1e-6


@dataclass(frozen=True, repr=False, eq=False)
class Stability(Shown):
    """Score tests that nothing changed half-way.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per tested quantity: ``kind`` (sensitivity or position of a judge, score of an item), ``name``, ``change`` (second
        half minus first, one Newton step), ``std_err``, ``z``, ``p_value``, ``p_holm`` over all rows. Empty where the halves cannot
        be compared.
    halves : str
        What the halves are.
    note : str
        Why there is no test; empty if there is one.
    size : float
        The change of what rejects most, of which one step says too little or too much if it is large: each half with its own
        value, all else as fitted. Not a number where nothing rejects or a half has no finite value.
    """

    table: pd.DataFrame
    halves: str
    note: str = ""
    size: float = np.nan

    @property
    def is_warning(self) -> bool:
        """Whether something changed."""
        return not self.note and bool((self.table["p_holm"] < LEVEL).any())

    @property
    def text(self) -> str:
        """In words."""
        if self.note:
            return self.note
        if (worst := self.worst) is None:
            return (
                f"No judge or item is seen to change between the halves of {self.halves} ({self._n_tests} score tests)."
            )
        kind, name, change = worst["kind"], worst["name"], worst["change"]
        error = f"{told_p(worst['p_holm'])} after adjustment for {self._n_tests} tests"
        further = int((self.table["p_holm"] < LEVEL).sum()) - 1
        more = f" {counted(further, 'further test')} reject{'s' * (further == 1)}, which this alone may cause." * (
            further > 0
        )
        # Of a single judge there is but one.
        of = f" of {name!r}" if (self.table["kind"] == kind).sum() > 1 else ""
        moves = f"changes by {self.size:+.2f}" if np.isfinite(self.size) else "rises" if change > 0 else "falls"
        return f"Not the same in both halves of {self.halves}: the {kind}{of} {moves} ({error}).{more}"

    @property
    def worst(self) -> pd.Series | None:
        """The row of the table that rejects most; None if nothing changed."""
        return self.table.iloc[int(np.nanargmin(self.table["p_value"]))] if self.is_warning else None

    @property
    def _n_tests(self) -> int:
        return int(self.table["p_value"].notna().sum())

    def _shown(self) -> list[Piece]:
        if self.note:
            return [self.note]
        shown = self.table.sort_values("p_value", kind="stable").head(limits.PRINTED_LABELS)
        forms = {"p_value": p_value, "p_holm": p_value}
        more = [f"and {len(self.table) - len(shown):,} more in .table"] * (len(self.table) > len(shown))
        title = Title(f"Change from the first to the second half of {self.halves}")
        return [title, Table(shown, forms, has_index=False), *more, self.text]


def stability(fit: Fit, observed: Observations, time: str | None = None) -> Stability:
    """Score tests that sensitivities, position effects and scores of items are those of the first half.

    The terms ``(mu_i - mu_j) x half`` and ``1 x half`` of every judge and ``(1[first = i] - 1[second = i]) x half`` of every item
    are tested one at a time from the fit without them. That is valid whatever the order of the rows, which only decides what is
    found. Without a column of times the halves are those of each judge's rows, so that a table sorted by judges has them, too.
    Times are cut between two different ones, the same for all judges, as near to half of the rows as there is a cut.

    Prompts that several verdicts are about are clusters; ties as half wins and soft preferences have the variance they show.
    """
    halves = "the rows of each judge" if time is None else _halves(observed.data, time)
    if fit.penalty is not None or not fit.converged:
        why = "for penalised estimates" if fit.penalty is not None else "without a finite, determined estimate"
        return Stability(pd.DataFrame(), halves, f"Changes over time are not tested {why}.")
    if fit.layout.n_free > limits.TESTED_PARAMETERS:
        note = f"Changes over time are not tested for more than {limits.TESTED_PARAMETERS:,} parameters."
        return Stability(pd.DataFrame(), halves, note)
    data = observed.data
    half = second_half(data, time)
    rows = observed.rows.with_own_term(Term("second half", "judge", POSITION), _centred(observed, fit, half))
    slope, explained, information, coupling = _tests(collapse(rows), fit)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = information - np.einsum("mf,mf->m", explained, coupling)
        left[left <= _LEFT * information] = np.nan
        left[2 * data.n_judges :][_in_one_half(data, half)] = np.nan
        if not has_order(data):
            left[data.n_judges : 2 * data.n_judges] = np.nan
        variance, df = _variance(rows, observed, fit, explained, left)
        z = np.where(np.isnan(left), np.nan, slope / np.sqrt(variance))
        change, error = slope / left, np.sqrt(variance) / left
    kinds = np.repeat(["sensitivity", "position", "score"], [data.n_judges, data.n_judges, data.n_items])
    p = 2.0 * (special.ndtr(-np.abs(z)) if np.isinf(df) else special.stdtr(df, -np.abs(z)))
    table = pd.DataFrame({"kind": kinds, "name": [*data.judges * 2, *data.items], "change": change, "std_err": error})
    table["z"], table["p_value"], table["p_holm"] = z, p, holm(p)
    if not has_order(data):
        table = table[table["kind"] != "position"].reset_index(drop=True)
    if np.isnan(p).all():
        return Stability(table, halves, "Changes over time cannot be told from the other parameters.")
    found = Stability(table, halves)
    return found if found.worst is None else replace(found, size=_size(observed, fit, half, found.worst))


def _centred(observed: Observations, fit: Fit, half: np.ndarray) -> np.ndarray:
    """The halves around their mean for every judge, shape (n_rows,): what the model lacks in both halves alike is no change."""
    judge = observed.data.judge_index
    weight = np.where(np.isnan(half), 0.0, evaluate(observed.rows, fit.at).curvature)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.bincount(judge, weight * np.nan_to_num(half)) / np.bincount(judge, weight)
    # A row of unknown time belongs to neither.
    return np.nan_to_num(half - mean[judge])


def _in_one_half(data: Comparisons, half: np.ndarray) -> np.ndarray:
    """Items with too few verdicts in one of the halves for a change to be told, shape (n_items,)."""
    counts = [
        np.bincount(data.first_index, weight, data.n_items) + np.bincount(data.second_index, weight, data.n_items)
        for weight in (data.weight * (half == 0), data.weight * (half == 1))
    ]
    return np.minimum(*counts) < limits.FEW_SHARED


def second_half(data: Comparisons, time: str | None = None) -> np.ndarray:
    """One for rows of the second half, otherwise zero, shape (n_rows,): of times as they are best cut, or of each judge's rows.

    Not a number where the time is missing.

    Raises
    ------
    ComparisonError
        If there is no such column.

    Examples
    --------
    >>> data = Comparisons.from_arrays(["j", "k", "j", "k"], list("abab"), list("baba"), [1, 0, 1, 0])
    >>> second_half(data)
    array([0., 0., 1., 1.])
    """
    if time is not None:
        rank = columns_of(data.columns, [time])[time].rank()
        return np.where(rank.isna(), np.nan, rank >= _cut(rank))
    order = np.argsort(data.judge_index, kind="stable")
    count = np.bincount(data.judge_index, minlength=data.n_judges)
    place = np.empty(data.n_rows)
    place[order] = np.arange(data.n_rows) - np.repeat(np.cumsum(count) - count, count)
    return (place >= count[data.judge_index] / 2.0).astype(float)


def _cut(rank: pd.Series) -> float:
    """The rank of the time at which the second half begins; infinite if all are the same, or missing.

    Between two different times and never behind the last, as that after the median would be where more than half have the last.

    Examples
    --------
    >>> _cut(pd.Series([1.0, 2, 2, 2])), _cut(pd.Series([1.0, 1, 1, 2, 3])), _cut(pd.Series([1.0, 1]))
    (2.0, 2.0, inf)
    """
    counts = rank.value_counts().sort_index()
    if len(counts) < 2:
        return np.inf
    before = counts.cumsum().to_numpy()[:-1]
    return float(counts.index[1 + int(np.abs(2 * before - counts.sum()).argmin())])


def _halves(data: Comparisons, time: str) -> str:
    """What the halves of a column of times are."""
    times = columns_of(data.columns, [time])[time]
    rank = times.rank()
    after = times[rank == _cut(rank)]
    return f"the time {time!r}" + (f", cut before {str(after.iloc[0]).removesuffix(' 00:00:00')}" if len(after) else "")


def _size(observed: Observations, fit: Fit, half: np.ndarray, term: pd.Series) -> float:
    """How much a term differs between the halves, each with its own value and all else as fitted; nan if one has none."""
    data, rows = observed.data, observed.rows
    if term["kind"] == "score":
        item = data.items.index(term["name"])
        column = (data.first_index == item) * 1.0 - (data.second_index == item)
    else:
        column = (data.judge_index == data.judges.index(term["name"])) * 1.0
        if term["kind"] == "sensitivity":
            column *= fit.parts.mu[data.first_index] - fit.parts.mu[data.second_index]
    some = (column != 0.0) & ~np.isnan(half)
    column, side, value = column[some], half[some].astype(int), np.zeros(2)
    eta, own = log_odds(rows, fit.at)[some], own_predictors(rows, fit.at)
    cells = None if own is None else own[:, some], rows.n[some], rows.y[some], rows.counts[some]
    for _ in range(_STEPS):
        here = rows.response.derivatives(eta + column * value[side], *cells)
        slope, curvature = (np.bincount(side, x, 2) for x in (here.slope * column, here.curvature * column**2))
        if not (curvature > 0.0).all():
            break
        step = slope / curvature
        value -= np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < _SMALL:
            return float(value[1] - value[0])
    return np.nan


def _tests(cells: Design, fit: Fit) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Slope, what the others explain of it (m, n_free), information, and coupling with the others (m, n_free) of all terms."""
    half = cells.judge_terms[:, 0]
    here = evaluate(cells, fit.at.with_own_term())
    residual, weight, square = -here.slope * half, here.curvature * half, here.curvature * half**2
    consensus = fit.parts.mu[cells.first] - fit.parts.mu[cells.second]
    own = [consensus, np.ones_like(consensus)]
    slope = [np.bincount(cells.judge, residual * column, cells.n_judges) for column in own]
    slope.append(cells.sum_by_score(residual).sum(axis=0))
    information = [np.bincount(cells.judge, square * column**2, cells.n_judges) for column in own]
    links = cells.sum_by_pair(square)
    information.append((links + links.T).sum(axis=0))
    by_odds = moved(here, LOG_ODDS)
    judge_terms = [np.column_stack([half * column, cells.judge_terms[:, 1:]]) for column in own]
    couplings = [coupling(replace(cells, judge_terms=terms), by_odds, fit.tangent)[1] for terms in judge_terms]
    together = np.vstack([*couplings, _item_coupling(cells, fit, weight, here)])
    return np.concatenate(slope), without_penalty(fit).times(together), np.concatenate(information), together


def _item_coupling(cells: Design, fit: Fit, weight: np.ndarray, here: Derivatives) -> np.ndarray:
    """Information that an item's term shares with the free coordinates, shape (n_items, n_free)."""
    n_items, tangent, half = cells.n_items, fit.tangent, cells.judge_terms[:, :1]
    own_terms = half * weighted(cells.judge_terms[:, 1:], cells.terms.own_moves[1:], here.curvature, here.cross)
    all_terms = half * weighted(cells.shared_terms, cells.terms.shared_moves, here.curvature, here.cross)
    of_judges = [cells.sum_by_score(column).T[:, :, None] for column in own_terms.T]
    own = np.concatenate([np.zeros((n_items, cells.n_judges, 0)), *of_judges], axis=2).reshape(n_items, -1)
    shared = [cells.sum_by_score(column).sum(axis=0)[:, None] for column in all_terms.T]
    linear = np.hstack([np.zeros((n_items, 0)), *shared, own])[:, fit.design.is_free]
    differences = tangent.judge_items[cells.first] - tangent.judge_items[cells.second]
    items = [cells.sum_by_score(weight * column).T[:, :, None] for column in differences.T]
    scores = np.concatenate([np.zeros((n_items, cells.n_judges, 0)), *items], axis=2).reshape(n_items, -1)
    together = []
    for judge_weight in tangent.shared_judges.T:
        links = cells.sum_by_pair(weight * judge_weight[cells.judge])
        links = links + links.T
        together.append(tangent.along_shared(np.diag(links.sum(axis=0)) - links))
    return np.hstack([linear, scores, *together])


def _variance(
    rows: Design, observed: Observations, fit: Fit, explained: np.ndarray, left: np.ndarray
) -> tuple[np.ndarray, float]:
    """Variance of the slopes (m,) and its degrees of freedom: the model's, or as the data show where clustered, tied or soft."""
    data = observed.data
    clusters, each_row = Clusters.of_prompts(data), Clusters(np.arange(data.n_rows), data.n_rows)
    if clusters is None and not fit.layout.has_own_scores:
        # Of judges that the model takes to be alike, each may still have a taste.
        clusters = Clusters.of("judge", data)
    is_clustered = clusters is not None and limits.FEW_CLUSTERS <= clusters.n < data.n_rows
    if not is_clustered and (fit.design.response.parameters or np.isin(data.outcome, (0.0, 1.0)).all()):
        return left, np.inf
    each = evaluate(single(observed.rows, data.outcome), fit.at)
    if clusters is None or not is_clustered:
        # A row of weight w is w comparisons, whose squares add up.
        clusters, each = each_row, _scaled(each, data.weight**-0.5)
    # A half that lies within few prompts is known from as many.
    df = float(clusters.n - 1) if is_clustered else np.inf
    rest = Contributions.of_clusters(observed.rows, data, each, clusters).along(explained, fit.tangent)
    slope = -data.weight * each.slope * rows.judge_terms[:, 0]
    slopes = _own_slopes(observed.rows, slope, fit.parts.mu, clusters) - rest
    return np.square(slopes).sum(axis=0) * (1.0 if np.isinf(df) else clusters.n / df), df


def _scaled(each: Derivatives, factor: np.ndarray) -> Derivatives:
    own_slope = None if each.own_slope is None else factor * each.own_slope
    return each._replace(slope=factor * each.slope, own_slope=own_slope)


def _own_slopes(rows: Design, slope: np.ndarray, mu: np.ndarray, clusters: Clusters) -> np.ndarray:
    """What every cluster adds to the slopes of the tested terms, shape (n_clusters, m), from the slope of each row."""
    k, n_judges, n_rows = rows.judge, rows.n_judges, len(slope)
    places = np.column_stack([k, n_judges + k, 2 * n_judges + rows.first, 2 * n_judges + rows.second])
    values = np.column_stack([slope * (mu[rows.first] - mu[rows.second]), slope, slope, -slope])
    size, starts = 2 * n_judges + rows.n_items, 4 * np.arange(n_rows + 1)
    each = sparse.csr_array((values.ravel(), places.ravel(), starts), shape=(n_rows, size))
    together = sparse.csr_array((np.ones(n_rows), (clusters.code, np.arange(n_rows))), shape=(clusters.n, n_rows))
    return (together @ each).toarray()
