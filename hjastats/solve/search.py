"""Several starts, the best optimum, and an account of what the others found."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .. import limits
from ..data.graph import levels_of_wins
from ..model.design import Coefficients, Design
from ..model.likelihood import evaluate, gradient
from ..model.structures import LowRank, Pooled, ScoreStructure, Unrestricted
from .pooled import maximise_judgewise, maximise_pooled
from .ridge import NO_RIDGE, Ridge
from .starts import breakaway_scores, further_scores, starting_scores, unrestricted_gain
from .trust import Neighbourhood, Optimum, Place, Run, Runs, maximise, neighbourhood, part_of, stacked

# Two optima are the same when their log-likelihoods differ by less than this.
SAME_OPTIMUM = 1e-4
# Log-likelihood units around an optimum within which another run is recognised as heading for it: few, because a run may also pass
# by on its way to a better one; more with this many comparisons per parameter, where the likelihood is smooth. On 1,150 random
# panels none of 9,300 runs recognised so would have ended elsewhere.
NEAR = 0.3
NEAR_WITH_PLENTY = 3.0
PLENTY = 100.0
# Starts added when several optima are likely, and comparisons per parameter below which they are.
FURTHER_STARTS = 12
SPARSE = 20.0
# Starts added when the data are few: the likelihood surface is rough, and a run is cheap.
SPARSE_STARTS = 30
# Ridge that holds scores which would run to infinity some ten log-odds out.
HELD = 1e-4
# Share of a gain by which the quadratic model may err near an optimum.
_SURPRISE = 0.2


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
    paths : tuple of tuple of float
        Objective at every start and after each of its iterations, in the order of the starts; a start that came near an
        optimum already known ends there. Empty where they were not kept.
    """

    best: Optimum
    values: tuple[float, ...]
    counts: tuple[int, ...]
    n_unfinished: int
    paths: tuple[tuple[float, ...], ...] = ()

    @property
    def n_starts(self) -> int:
        """Number of starts."""
        return sum(self.counts) + self.n_unfinished


def no_terms(design: Design, scores: np.ndarray) -> Coefficients:
    """Start all linear coefficients at zero, and the response's own parameters where the overall shares of verdicts put them.

    ``scores`` may be a stack of score matrices, and the coefficients are then a stack, too.
    """
    stack, terms = scores.shape[:-2], design.terms
    judge, shared = np.zeros((*stack, design.n_judges, len(terms.own))), np.zeros((*stack, len(terms.shared)))
    for p, start in enumerate(design.response.start(design.n, design.counts), start=1):
        judge[..., terms.own_moves == p], shared[..., terms.shared_moves == p] = start, start
    for k, e in terms.held:
        judge[..., k, e] = terms.absent[e]
    return Coefficients(scores, judge, shared)


def search(
    cells: Design,
    structure: ScoreStructure,
    *,
    starts: list[Coefficients] | None = None,
    n_random: int = 2,
    rng: int | np.random.Generator | None = 0,
    ridge: Ridge = NO_RIDGE,
    maxiter: int = 200,
) -> Search:
    """Maximise from every start and keep the best.

    With the default starts, more are added when several optima are likely: when the judges' own scores fit much better than
    the structure does, so that different directions compete for the places in it, or when the data are few. When some judge's
    own scores have no limit, a finite optimum is not believed before starts in that judge's direction have been tried. Large
    problems have two starts only.

    Parameters
    ----------
    starts : list of Coefficients, optional
        Replace the default starts.
    n_random : int
        Random starts in addition to the deterministic ones.
    rng : int or numpy.random.Generator
        Their randomness.
    """
    has_terms = bool(cells.n_judge_terms or cells.n_shared_terms)
    if starts is None and isinstance(structure, Pooled) and not (ridge or has_terms):
        pooled = maximise_pooled(cells, maxiter)
        if pooled is not None:
            return Search(pooled, (pooled.value,), (1,), 0, (pooled.path,))
    if (
        starts is None
        and isinstance(structure, Unrestricted)
        and not has_terms
        and cells.n_items > limits.DENSE_OWN_ITEMS
    ):
        alone = maximise_judgewise(cells, ridge.scores, maxiter)
        if alone is not None:
            return Search(alone, (alone.value,), (1,), 0, (alone.path,))
        has_limit = ~levels_of_wins(cells).any(axis=1)
        is_large = structure.n_free(cells.n_judges, cells.n_items) > limits.MANY_STARTS_FREE and not (
            ridge or has_limit.all()
        )
        if is_large and (held := maximise_judgewise(cells, np.where(has_limit, 0.0, HELD), maxiter)) is not None:
            # The likelihood rises to infinity for some judges; how far out one stops does not matter.
            far = replace(held, value=held.negative_loglike, distance=np.inf, is_minimum=False, diverges=True)
            return Search(far, (), (), 1, (held.path,))
    cells = cells.completed()
    runs = _Optima(cells, structure, ridge, maxiter)
    if starts is not None:
        return runs.after(stacked(starts))
    rng = np.random.default_rng(rng)
    if structure.n_free(cells.n_judges, cells.n_items) > limits.MANY_STARTS_FREE:
        return runs.after(no_terms(cells, starting_scores(cells, structure, 0, rng)[:2]))
    found = runs.after(no_terms(cells, starting_scores(cells, structure, n_random, rng)))
    if isinstance(structure, LowRank) and (n := _n_further(cells, structure, found.best)):
        # The linear terms of the best optimum so far are better than none.
        scores = further_scores(cells, structure.rank, n, rng, anywhere=_is_sparse(cells, structure))
        more = [Coefficients(start, found.best.at.judge, found.best.at.shared) for start in scores]
        if structure.rank > 0:
            more.append(one_direction_more(cells, structure.rank, found.best.at))
        found = runs.after(stacked(more))
    if isinstance(structure, LowRank) and found.best.converged and not ridge:
        outward = breakaway_scores(cells, structure.rank, FURTHER_STARTS, rng)
        if outward:
            found = runs.after(no_terms(cells, np.array(outward)))
    return found


def one_direction_more(cells: Design, rank: int, near: Coefficients) -> Coefficients:
    """The optimum of one rank less, moved along the direction in which the likelihood rises fastest.

    A run from here ends no lower than that optimum: a larger rank never fits worse than a smaller one.
    """
    at = maximise(cells, LowRank(rank - 1), near).at
    here = evaluate(cells, at)
    left, _, right = np.linalg.svd(-gradient(cells, here).scores, full_matrices=False)
    direction = np.outer(left[:, 0], right[0])
    flat = direction.ravel()
    change = flat[cells.first_entry] - flat[cells.second_entry]
    length = -float(here.slope @ change) / max(float(here.curvature @ change**2), 1e-12)
    return Coefficients(at.scores + min(length, 3.0) * direction, at.judge, at.shared)


class _Optima:
    """What runs from several starts have found, and when a further run may stop because it is heading for something known."""

    def __init__(self, cells: Design, structure: ScoreStructure, ridge: Ridge, maxiter: int) -> None:
        self.cells, self.structure, self.ridge = cells, structure, ridge
        self.radius = NEAR_WITH_PLENTY if cells.n.sum() >= PLENTY * _n_parameters(cells, structure) else NEAR
        self.runs = Runs(cells, structure, ridge, maxiter)
        self.optima: list[Optimum] = []
        self.places: list[Place] = []
        self.hits: list[int] = []
        self.unfinished: list[Optimum] = []
        self.known: list[Neighbourhood] = []
        self.paths: list[tuple[float, ...]] = []

    def after(self, starts: Coefficients) -> Search:
        """Run a stack of further starts and sum up all so far."""
        at_once = max(limits.STACKED_CELLS // max(len(self.cells.n), 1), 1) if self.runs.can_stack else 1
        for first in range(0, len(starts.scores), at_once):
            self.runs.start(part_of(starts, slice(first, first + at_once)))
            self.paths += [tuple(run.path) for run in self._run_to_the_end()]
        order = sorted(range(len(self.optima)), key=lambda i: self.optima[i].value)
        return Search(
            best=min([*self.optima, *self.unfinished], key=lambda optimum: optimum.value),
            values=tuple(self.optima[i].value for i in order),
            counts=tuple(self.hits[i] for i in order),
            n_unfinished=len(self.unfinished),
            paths=tuple(self.paths),
        )

    def _run_to_the_end(self) -> list[Run]:
        """Move all runs until each has ended.

        A run that the quadratic model describes well is near some optimum. If it is also the best of all it leads, and others that
        are near one, or not much worse, wait until it has arrived: most of them turn out to be heading for the same place.
        """
        everybody, runs = self.runs.members, self.runs
        leader: Run | None = None
        waiting: list[tuple[Run, Place]] = []
        while runs.members:
            runs.advance()
            self._end_runs()
            if leader is not None and leader.ended:
                leader = None
                self._join(waiting)
                runs.enter([(run, place) for run, place in waiting if not run.ended])
                waiting = []
            best = min(runs.members, key=lambda run: run.value, default=None)
            if best is not None and self._is_close(best):
                leader = best
            if leader is not None:
                level = leader.value + self.radius
                others = [
                    i
                    for i, run in enumerate(runs.members)
                    if run is not leader and (run.value < level or self._is_close(run))
                ]
                waiting += runs.leave(others)
        return everybody

    def _is_close(self, run: Run) -> bool:
        """Whether the quadratic model describes the likelihood around a run."""
        return run.surprise[0] < self.radius and run.surprise[1] < _SURPRISE

    def _end_runs(self) -> None:
        """Record the runs that have ended, and those that are heading for an optimum already known."""
        runs = self.runs
        for run, place in runs.leave([i for i, run in enumerate(runs.members) if run.ended]):
            self._record(runs.outcome(run, place), place)
        self._join([(run, runs.place(i)) for i, run in enumerate(runs.members)])
        runs.leave([i for i, run in enumerate(runs.members) if run.ended])

    def _join(self, runs: list[tuple[Run, Place]]) -> None:
        """End the runs that are heading for an optimum already known."""
        if not (runs and self.places):
            return
        # Worked out only when another run may come by.
        for optimum in self.places[len(self.known) :]:
            self.known.append(neighbourhood(self.cells, optimum.alone(), self.radius, self.ridge))
        for k, other in enumerate(self.known):
            near = [
                (run, place) for run, place in runs if not run.ended and 0.0 <= run.value - other.value <= other.radius
            ]
            if not near:
                continue
            at = near[0][1].at if len(near) == 1 else stacked([place.at for _, place in near])
            is_inside = np.atleast_1d(other.contains(at, np.array([run.value for run, _ in near])))
            for (run, _), ended in zip(near, is_inside.tolist(), strict=True):
                run.ended = ended
                self.hits[k] += ended

    def _record(self, found: Optimum, place: Place) -> None:
        """Count an optimum, or a run that ended at none."""
        if not found.converged:
            self.unfinished.append(found)
        elif (same := _position(found, self.optima)) is not None:
            self.hits[same] += 1
        else:
            self.optima.append(found)
            self.places.append(place)
            self.hits.append(1)


def _n_parameters(cells: Design, structure: ScoreStructure) -> int:
    """Free parameters of the scores and linear coefficients."""
    n_terms = cells.n_judges * cells.n_judge_terms + cells.n_shared_terms
    return structure.n_free(cells.n_judges, cells.n_items) + n_terms


def _is_sparse(cells: Design, structure: ScoreStructure) -> bool:
    """Whether there are so few comparisons that the likelihood may have several optima, or none."""
    return bool(cells.n.sum() < SPARSE * _n_parameters(cells, structure))


def _n_further(cells: Design, structure: LowRank, best: Optimum) -> int:
    """Starts to add because the data are so few, or fit so much worse than unrestricted scores do, that optima may compete."""
    n_judges, n_items = cells.n_judges, cells.n_items
    n_free = structure.n_free(n_judges, n_items)
    df = n_judges * (n_items - 1) - n_free
    if df <= 0:
        return 0
    if _is_sparse(cells, structure):
        return SPARSE_STARTS
    gain = 2.0 * unrestricted_gain(cells, evaluate(cells, best.at))
    return FURTHER_STARTS if gain > df + 3.0 * np.sqrt(2.0 * df) else 0


def _position(found: Optimum, optima: list[Optimum]) -> int | None:
    """Which of the optima this is."""
    tolerance = SAME_OPTIMUM + 1e-10 * abs(found.value)
    return next((i for i, other in enumerate(optima) if abs(other.value - found.value) < tolerance), None)
