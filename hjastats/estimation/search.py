"""Several starts, the best optimum, and an account of what the others found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.cells import Cells
from ..geometry.parameters import NEVER, Coefficients
from ..geometry.structures import ScoreStructure
from ..likelihood import evaluate
from .start import starting_scores
from .trust import Neighbourhood, Optimum, maximise

# Two optima are the same when their log-likelihoods differ by less than this.
SAME_OPTIMUM = 1e-4


@dataclass(frozen=True)
class Search:
    """Outcome of a multi-start maximisation.

    Attributes
    ----------
    best : Optimum
        The largest likelihood met, converged or not.
    values : tuple of float
        Distinct negative log-likelihoods of the optima reached, best first.
    counts : tuple of int
        How many starts ended at each of them.
    n_unfinished : int
        Starts that ended at no optimum: out of iterations, or running to infinity.
    """

    best: Optimum
    values: tuple[float, ...]
    counts: tuple[int, ...]
    n_unfinished: int

    @property
    def n_starts(self) -> int:
        """Number of starts."""
        return sum(self.counts) + self.n_unfinished


def no_terms(cells: Cells, scores: np.ndarray) -> Coefficients:
    """Start all linear coefficients at zero, and tie propensities where they give the overall share of ties."""
    judge, shared = np.zeros((cells.n_judges, cells.n_judge_terms)), np.zeros(cells.n_shared_terms)
    if cells.ties is not None:
        share = np.clip(cells.ties.sum() / cells.n.sum(), 1e-3, 1 - 1e-3)
        start = np.log(2.0 * share / (1.0 - share))
        if cells.tie == "judge":
            judge[:, -1] = start
            judge[list(cells.never_tie), -1] = NEVER
        else:
            shared[-1] = start
    return Coefficients(scores, judge, shared)


def search(
    cells: Cells,
    structure: ScoreStructure,
    *,
    starts: list[Coefficients] | None = None,
    n_random: int = 2,
    rng: np.random.Generator | None = None,
    ridge: float = 0.0,
    maxiter: int = 200,
) -> Search:
    """Maximise from every start and keep the best.

    Parameters
    ----------
    starts : list of Coefficients, optional
        Replace the default starts.
    n_random : int
        Random starts in addition to the deterministic ones.
    """
    if starts is None:
        rng = np.random.default_rng(0) if rng is None else rng
        starts = [no_terms(cells, scores) for scores in starting_scores(cells, structure, n_random, rng)]
    optima: list[Optimum] = []
    hits: list[int] = []
    unfinished: list[Optimum] = []
    known: list[Neighbourhood] = []
    for start in starts:
        found = maximise(cells, structure, start, ridge=ridge, maxiter=maxiter, known=known)
        if found.joined is not None:
            hits[found.joined] += 1
        elif not found.converged:
            unfinished.append(found)
        elif (same := _position(found, optima)) is not None:
            hits[same] += 1
        else:
            known.append(Neighbourhood(evaluate(cells, found.at), found.value))
            optima.append(found)
            hits.append(1)
    order = np.argsort([optimum.value for optimum in optima], kind="stable")
    return Search(
        best=min([*optima, *unfinished], key=lambda optimum: optimum.value),
        values=tuple(optima[i].value for i in order),
        counts=tuple(hits[i] for i in order),
        n_unfinished=len(unfinished),
    )


def _position(found: Optimum, optima: list[Optimum]) -> int | None:
    """Which of the optima this is."""
    tolerance = SAME_OPTIMUM + 1e-10 * abs(found.value)
    return next((i for i, other in enumerate(optima) if abs(other.value - found.value) < tolerance), None)
