"""New data like the old: drawn from a fitted model, or by resampling rows and clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import limits
from ..data.arrays import check_flag, check_jobs, check_whole, generator
from ..data.cells import collapse, distinct_rows, take
from ..data.comparisons import Comparisons
from ..errors import ComparisonError
from ..model.design import Coefficients, Design
from ..model.likelihood import log_odds, own_predictors
from ..model.response import is_soft


@dataclass(frozen=True)
class ParametricDraw:
    """Draws verdict counts of every cell from a fitted model.

    Attributes
    ----------
    cells : Design
    outcomes : ndarray, shape (n_outcomes,)
        What each verdict is worth to the first item; those next to a tie are drawn first.
    shares : ndarray, shape (n_outcomes, n_cells)
        Probability of each verdict among those not drawn before it.
    """

    cells: Design
    outcomes: np.ndarray
    shares: np.ndarray

    @classmethod
    def from_fit(cls, cells: Design, data: Comparisons, at: Coefficients) -> ParametricDraw:
        """Prepare draws from an estimate.

        Where ties count as half wins they are drawn as often as each judge gave them, as far as the model's win rates allow it.

        Raises
        ------
        ComparisonError
            For weights that are no counts, and for soft preferences.
        """
        count = np.round(cells.n)
        if np.abs(cells.n - count).max(initial=0.0) > 1e-9 * max(cells.n.max(initial=1.0), 1.0):
            raise ComparisonError(
                "drawing verdicts from the model needs whole numbers as weights; use kind='rows' instead."
            )
        if is_soft(cells.response, data.outcome).any():
            raise ComparisonError(
                "soft preferences have no model to be drawn from; resample them, kind='rows' or 'cluster'."
            )
        probabilities = cells.response.probabilities(log_odds(cells, at), own_predictors(cells, at))
        outcomes = np.array(list(cells.response.verdicts.values()))
        if not cells.response.parameters:
            outcomes, probabilities = _with_ties(outcomes, probabilities, cells, data)
        order = np.argsort(np.abs(outcomes - 0.5), kind="stable")
        left = 1.0 - np.cumsum(probabilities[order], axis=0) + probabilities[order]
        shares = np.clip(probabilities[order] / np.maximum(left, 1e-300), 0.0, 1.0)
        return cls(cells, outcomes[order], shares)

    def numbers(self, rng: np.random.Generator) -> np.ndarray:
        """How often each of the outcomes is drawn, shape (n_outcomes, n_cells)."""
        left, drawn = np.round(self.cells.n).astype(np.int64), []
        for share in self.shares[:-1]:
            drawn.append(rng.binomial(left, share))
            left = left - drawn[-1]
        return np.array([*drawn, left])

    def filled(self, numbers: np.ndarray) -> Design:
        """The cells with such numbers of outcomes."""
        counts = numbers.T @ self.cells.response.counts(self.outcomes)
        return replace(self.cells, y=self.outcomes @ numbers, counts=counts)

    def draw(self, rng: np.random.Generator) -> Design:
        """Cells with new counts."""
        return self.filled(self.numbers(rng))


def _with_ties(
    outcomes: np.ndarray, probabilities: np.ndarray, cells: Design, data: Comparisons
) -> tuple[np.ndarray, np.ndarray]:
    """Wins and losses with as many ties taken from both as the judges gave, where a tie is half of each."""
    share = data.first_share()
    ties = (share["ties"] / share["comparisons"]).to_numpy()[cells.judge]
    ties = np.minimum(ties, 2.0 * probabilities.min(axis=0))
    return np.append(outcomes, 0.5), np.vstack([probabilities - 0.5 * ties, ties])


@dataclass(frozen=True)
class RowDraw:
    """Resamples single comparisons, or whole clusters of them, with replacement."""

    rows: Design
    outcome: np.ndarray
    weight: np.ndarray
    cluster: np.ndarray | None = None

    @classmethod
    def from_data(cls, rows: Design, data: Comparisons, cluster: np.ndarray | None = None) -> RowDraw:
        """Prepare resampling; rows that cannot be told apart are kept once with their total weight."""
        terms = (*rows.judge_terms.T, *rows.shared_terms.T, *rows.offset.T)
        columns = [rows.judge, rows.first, rows.second, data.outcome, *terms]
        code, some = distinct_rows(columns if cluster is None else [cluster, *columns])
        weight = np.bincount(code, data.weight, minlength=len(some))
        return cls(take(rows, some), data.outcome[some], weight, None if cluster is None else cluster[some])

    def draw(self, rng: np.random.Generator) -> Design:
        """Cells of one resample."""
        if self.cluster is None:
            total = self.weight.sum()
            weight = rng.multinomial(round(total), self.weight / total).astype(float)
        else:
            n_clusters = int(self.cluster.max()) + 1
            weight = self.weight * rng.multinomial(n_clusters, np.full(n_clusters, 1.0 / n_clusters))[self.cluster]
        kept = np.flatnonzero(weight)
        rows, weight, outcome = take(self.rows, kept), weight[kept], self.outcome[kept]
        counts = weight[:, None] * rows.response.counts(outcome)
        return collapse(replace(rows, n=weight, y=weight * outcome, counts=counts))


def replicate(
    task: Callable[[np.random.Generator], Any],
    n: int,
    *,
    rng: int | np.random.Generator | None,
    n_jobs: int = 1,
    progress: bool = False,
    label: str = "bootstrap",
) -> list[Any]:
    """Run a task with ``n`` independent generators; the results do not depend on the number of jobs."""
    check_jobs(n_jobs)
    check_flag("progress", progress)
    check_whole("n", n, 1, limits.MOST_REPLICATIONS)
    generators = generator(rng).spawn(n)
    if n_jobs == 1:
        return [task(generator) for generator in _shown(generators, n, progress, label)]
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    # Ray and Spark cannot hand over results one by one, as a progress bar needs them.
    can_stream = get_active_backend()[0].supports_return_generator
    return_as = "generator" if progress and can_stream else "list"
    work = Parallel(n_jobs=n_jobs, return_as=return_as, batch_size=max(1, min(50, n // 20)))(
        delayed(_run)(task, generator) for generator in generators
    )
    return list(_shown(work, n, progress, label))


def _run(task: Callable[[np.random.Generator], Any], rng: np.random.Generator) -> Any:
    """The task as an argument: dask hashes the function it is to call, and a task that holds arrays has no hash."""
    return task(rng)


def _shown(work: Any, n: int, progress: bool, label: str) -> Iterator[Any]:
    if not progress:
        return iter(work)
    from tqdm.auto import tqdm

    return iter(tqdm(work, total=n, desc=label, leave=False))
