"""New data like the old: drawn from a fitted model, or by resampling rows and clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data.cells import Cells, collapse, distinct_rows, take
from ..data.comparisons import Comparisons
from ..errors import ComparisonError
from ..model.layout import Coefficients
from ..model.likelihood import davidson_probabilities, linear_predictor, probability, tie_predictor


@dataclass(frozen=True)
class ParametricDraw:
    """Draws verdict counts of every cell from a fitted model: ties with ``tie_share``, the rest wins with ``win_share``.

    A half-tie likelihood says nothing about how ties arise. They are drawn with each judge's observed share (at most twice the
    smaller of the two win probabilities), and the remaining verdicts so that the expected preference is the model's: the
    mean is kept exactly and the dispersion of the data approximately.
    """

    cells: Cells
    win_share: np.ndarray
    tie_share: np.ndarray

    @classmethod
    def from_fit(cls, cells: Cells, data: Comparisons, at: Coefficients) -> ParametricDraw:
        """Prepare draws from an estimate."""
        count = np.round(cells.n)
        if np.abs(cells.n - count).max(initial=0.0) > 1e-9 * max(cells.n.max(initial=1.0), 1.0):
            raise ComparisonError(
                "drawing verdicts from the model needs whole numbers as weights; use kind='rows' instead."
            )
        if not np.isin(data.outcome, (0.0, 0.5, 1.0)).all():
            raise ComparisonError(
                "soft preferences have no model to be drawn from; resample them, kind='rows' or 'cluster'."
            )
        eta = linear_predictor(cells, at)
        if cells.ties is not None:
            first, tie, second = davidson_probabilities(eta, tie_predictor(cells, at))
            return cls(cells, first / (first + second), tie)
        p = probability(eta)
        share = data.first_share()
        tie = (share["ties"] / share["comparisons"]).to_numpy()[cells.judge]
        tie = np.minimum(tie, 2.0 * np.minimum(p, 1.0 - p))
        return cls(cells, np.clip((p - 0.5 * tie) / np.maximum(1.0 - tie, 1e-300), 0.0, 1.0), tie)

    def draw(self, rng: np.random.Generator) -> Cells:
        """Cells with new counts."""
        n = np.round(self.cells.n).astype(np.int64)
        ties = rng.binomial(n, self.tie_share)
        wins = rng.binomial(n - ties, self.win_share)
        return replace(self.cells, y=wins + 0.5 * ties, ties=None if self.cells.ties is None else ties.astype(float))


@dataclass(frozen=True)
class RowDraw:
    """Resamples single comparisons, or whole clusters of them, with replacement."""

    rows: Cells
    outcome: np.ndarray
    weight: np.ndarray
    cluster: np.ndarray | None = None

    @classmethod
    def from_data(cls, rows: Cells, data: Comparisons, cluster: np.ndarray | None = None) -> RowDraw:
        """Prepare resampling; rows that cannot be told apart are kept once with their total weight."""
        columns = [rows.judge, rows.first, rows.second, data.outcome, *rows.judge_terms.T, *rows.shared_terms.T]
        code, some = distinct_rows(columns if cluster is None else [cluster, *columns])
        weight = np.bincount(code, data.weight, minlength=len(some))
        return cls(take(rows, some), data.outcome[some], weight, None if cluster is None else cluster[some])

    def draw(self, rng: np.random.Generator) -> Cells:
        """Cells of one resample."""
        if self.cluster is None:
            total = self.weight.sum()
            weight = rng.multinomial(round(total), self.weight / total).astype(float)
        else:
            n_clusters = int(self.cluster.max()) + 1
            weight = self.weight * rng.multinomial(n_clusters, np.full(n_clusters, 1.0 / n_clusters))[self.cluster]
        kept = np.flatnonzero(weight)
        rows, weight, outcome = take(self.rows, kept), weight[kept], self.outcome[kept]
        ties = None if rows.ties is None else weight * (outcome == 0.5)
        return collapse(replace(rows, n=weight, y=weight * outcome, ties=ties))


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
    generators = np.random.default_rng(rng).spawn(n)
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
