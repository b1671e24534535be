"""New data like the old: drawn from a fitted model, or by resampling rows and clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from tqdm.auto import tqdm

from ..data.cells import Cells, aggregate, distinct_rows
from ..data.comparisons import Comparisons
from ..errors import ComparisonError
from ..geometry.parameters import Coefficients
from ..likelihood import linear_predictor, probability


@dataclass(frozen=True)
class ParametricDraw:
    """Draws verdict counts of every cell from a fitted model.

    A half-tie likelihood says nothing about how ties arise. They are drawn with each judge's observed share (at most twice the
    smaller of the two win probabilities), and the remaining verdicts so that the expected preference is the model's: the
    mean is kept exactly and the dispersion of the data approximately.
    """

    cells: Cells
    probability: np.ndarray
    tie_share: np.ndarray

    @classmethod
    def from_fit(cls, cells: Cells, data: Comparisons, at: Coefficients) -> ParametricDraw:
        """Prepare draws from an estimate."""
        count = np.round(cells.n)
        if np.abs(cells.n - count).max(initial=0.0) > 1e-9 * max(cells.n.max(initial=1.0), 1.0):
            raise ComparisonError(
                "drawing verdicts from the model needs whole numbers as weights; use kind='rows' instead."
            )
        p = probability(linear_predictor(cells, at))
        share = data.first_share()
        tie = (share["ties"] / share["comparisons"]).to_numpy()[cells.judge]
        return cls(cells, p, np.minimum(tie, 2.0 * np.minimum(p, 1.0 - p)))

    def draw(self, rng: np.random.Generator) -> Cells:
        """Cells with new counts."""
        n = np.round(self.cells.n).astype(np.int64)
        ties = rng.binomial(n, self.tie_share)
        decided = np.clip(
            (self.probability - 0.5 * self.tie_share) / np.maximum(1.0 - self.tie_share, 1e-300), 0.0, 1.0
        )
        wins = rng.binomial(n - ties, decided)
        return replace(self.cells, y=wins + 0.5 * ties)


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
        kept = replace(
            rows,
            judge=rows.judge[some],
            first=rows.first[some],
            second=rows.second[some],
            n=rows.n[some],
            y=rows.y[some],
            judge_terms=rows.judge_terms[some],
            shared_terms=rows.shared_terms[some],
        )
        weight = np.bincount(code, data.weight, minlength=len(some))
        return cls(kept, data.outcome[some], weight, None if cluster is None else cluster[some])

    def draw(self, rng: np.random.Generator) -> Cells:
        """Cells of one resample."""
        if self.cluster is None:
            total = self.weight.sum()
            weight = rng.multinomial(round(total), self.weight / total).astype(float)
        else:
            n_clusters = int(self.cluster.max()) + 1
            weight = self.weight * rng.multinomial(n_clusters, np.full(n_clusters, 1.0 / n_clusters))[self.cluster]
        kept = weight > 0
        rows = self.rows
        return aggregate(
            rows.judge[kept],
            rows.first[kept],
            rows.second[kept],
            self.outcome[kept],
            weight[kept],
            rows.n_judges,
            rows.n_items,
            rows.judge_terms[kept],
            rows.shared_terms[kept],
        )


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
    work = Parallel(n_jobs=n_jobs, return_as="generator", batch_size=max(1, min(50, n // 20)))(
        delayed(task)(generator) for generator in generators
    )
    return list(_shown(work, n, progress, label))


def _shown(work: Any, n: int, progress: bool, label: str) -> Iterator[Any]:
    return iter(tqdm(work, total=n, desc=label, leave=False) if progress else work)
