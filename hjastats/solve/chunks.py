"""Marginal likelihoods beyond one process: sums over chunks of judges, each of which joblib computes where it is told to.

Log-likelihoods, gradients and information of judges who are a sample are sums over judges. A chunk is the likelihood of some
judges; threads, processes or the workers of a dask cluster, joblib's backends, take one at a time.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from .. import limits
from ..data.cells import take
from ..model.design import Design
from ..model.population import Space
from .draws import Drawn, TasteMarginal
from .marginal import Curved, Marginal


def chunks_of(design: Design, n_jobs: int | None) -> list[tuple[Design, slice]]:
    """Cells of consecutive judges, who are numbered anew, and which judges they are; as many as there are workers or more.

    Examples
    --------
    >>> import hjastats as hja
    >>> design = hja.PopulationHJAModel.from_comparisons(hja.datasets.load_panel()).design
    >>> [(len(chunk.n), judges) for chunk, judges in chunks_of(design, 2)]
    [(180, slice(0, 4, None)), (180, slice(4, 8, None))]
    """
    n = max(effective_n_jobs(n_jobs), -(-len(design.n) // limits.CELLS_IN_CHUNK))
    ends = np.cumsum(np.bincount(design.judge, minlength=design.n_judges))
    cuts = np.searchsorted(ends, ends[-1] * np.arange(1, n) / n, side="left") + 1
    bounds = np.unique([0, *np.minimum(cuts, design.n_judges), design.n_judges]).tolist()
    result = []
    for first, last in pairwise(bounds):
        cells = np.arange(ends[first - 1] if first else 0, ends[last - 1])
        own = take(design, cells)
        result.append((replace(own, judge=own.judge - first, n_judges=last - first), slice(first, last)))
    return result


class _Chunks:
    """Some likelihoods, and how to ask all of them.

    What they remember, such as modes, comes back with every answer: a worker may be another one next time.
    """

    def __init__(self, chunks: list[Any], n_jobs: int | None) -> None:
        self.chunks, self.n_jobs = chunks, n_jobs

    def ask(self, method: str, values: np.ndarray) -> list[Any]:
        """Answers of all chunks."""
        asked = Parallel(n_jobs=self.n_jobs)(delayed(_answer)(chunk, method, values) for chunk in self.chunks)
        for chunk, (_, memory) in zip(self.chunks, asked, strict=True):
            chunk.memory = memory
        return [answer for answer, _ in asked]


def _answer(chunk: Marginal | TasteMarginal, method: str, values: np.ndarray) -> tuple[Any, Any]:
    return getattr(chunk, method)(values), chunk.memory


def _sums(answers: list[tuple[Any, ...]]) -> list[Any]:
    return [sum(parts[1:], start=parts[0]) for parts in zip(*answers, strict=True)]


class ChunkedMarginal(Marginal):
    """The marginal likelihood of one design in chunks."""

    def __init__(
        self, design: Design, rank: int, n_nodes: int, is_free: np.ndarray | None = None, n_jobs: int | None = None
    ) -> None:
        super().__init__(design, rank, n_nodes, is_free)
        pieces = chunks_of(design, n_jobs)
        self._chunks = _Chunks([Marginal(own, rank, n_nodes, self.is_free) for own, _ in pieces], n_jobs)

    def value(self, values: np.ndarray) -> tuple[float, np.ndarray]:
        """Log-likelihood at some coordinates, and its gradient by them."""
        total, gradient = _sums(self._chunks.ask("value", values))
        return total, gradient

    def curved(self, values: np.ndarray) -> Curved:
        """Log-likelihood, gradient and information in one go."""
        return Curved(*_sums(self._chunks.ask("curved", values)))


class ChunkedTaste(TasteMarginal):
    """The same with tastes of their own."""

    def __init__(
        self, design: Design, space: Space, n_nodes: int, is_free: np.ndarray | None = None, n_jobs: int | None = None
    ) -> None:
        super().__init__(design, space, n_nodes, is_free)
        pieces = chunks_of(design, n_jobs)
        chunks = [TasteMarginal(own, space, n_nodes, self.is_free, judges.start) for own, judges in pieces]
        self._chunks = _Chunks(chunks, n_jobs)

    def value(self, values: np.ndarray) -> tuple[float, np.ndarray]:
        """Log-likelihood at some coordinates, and its gradient by them."""
        total, gradient = _sums(self._chunks.ask("value", values))
        return total, gradient

    def complete_information(self, values: np.ndarray) -> np.ndarray:
        """Outer products of the judges' gradients."""
        return np.sum(self._chunks.ask("complete_information", values), axis=0)

    def drawn(self, values: np.ndarray) -> Drawn:
        """Weighted draws of the effects of every judge."""
        answers: list[Drawn] = self._chunks.ask("drawn", values)
        effective = np.concatenate([answer.effective for answer in answers])
        loglike, variance, gradient = _sums([(one.loglike, one.error**2, one.gradient) for one in answers])
        return Drawn(loglike, float(np.sqrt(variance)), effective, gradient)
