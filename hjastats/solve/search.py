"""Several starts, the best optimum, and an account of what the others found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .. import limits
from ..data.arrays import generator
from ..data.graph import levels_of_wins
from ..errors import Hint, IdentificationError
from ..model.design import Coefficients, Design
from ..model.likelihood import evaluate, gradient, log_odds
from ..model.response import Derivatives
from ..model.structures import ScoreStructure, largest_rank
from .pooled import maximise_judgewise, maximise_pooled
from .ridge import NO_RIDGE, Ridge
from .starts import breakaway_scores, can_alternate, n_parameters, nearness, scattered_scores, starting_scores
from .trust import Neighbourhood, Optimum, Run, maximise, neighbourhood

# Two optima are the same when their log-likelihoods differ by less than this.
SAME_OPTIMUM = 1e-4
# Comparisons per parameter below which the likelihood surface is rough.
SPARSE = 20.0
# Ridge that holds scores which would run to infinity some ten log-odds out.
HELD = 1e-4


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
        Objective at every start and after each of its iterations, in the order in which they were run; a start that came near
        an optimum already known ends there, and one next to another start where it is. Empty where they were not kept.
    finite : Optimum or None
        The best finite optimum, where the largest likelihood was met on the way to infinity.
    outermost : float or None
        The smallest objective met on the way to infinity, where that is smaller than at all finite optima.
    """

    best: Optimum
    values: tuple[float, ...]
    counts: tuple[int, ...]
    n_unfinished: int
    paths: tuple[tuple[float, ...], ...] = ()
    finite: Optimum | None = None
    outermost: float | None = None

    def at_finite(self) -> Search:
        """The same with the best finite optimum, though the likelihood is larger on the way to infinity.

        Raises
        ------
        IdentificationError
            If no start ended at one.
        """
        if self.best.converged:
            return self
        if self.finite is None:
            raise IdentificationError(
                f"none of the {self.n_starts} starts ended at a finite optimum: use ",
                Hint("fit_regularized", is_call=True),
                ".",
            )
        return replace(self, best=self.finite)

    @property
    def n_starts(self) -> int:
        """Number of starts."""
        return sum(self.counts) + self.n_unfinished


def no_terms(design: Design, scores: np.ndarray) -> Coefficients:
    """Start all linear coefficients at zero, and the response's own parameters where the overall shares of verdicts put them.

    Of a stack of scores (..., n_judges, n_items), a stack.
    """
    stack, terms = scores.shape[:-2], design.terms
    judge, shared = np.zeros((*stack, design.n_judges, len(terms.own))), np.zeros((*stack, len(terms.shared)))
    for p, start in enumerate(design.response.start(design.n, design.counts), start=1):
        judge[..., terms.own_moves == p], shared[..., terms.shared_moves == p] = start, start
    judge = np.where(design.is_own_parameter, judge, terms.absent(design.n_judges))
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

    Default starts of a low-rank structure are many, and few of them are run: those that fitting judges and items in turn leads
    apart. More are added where the data are few or nothing converged. When some judges' own scores have no limit, a finite
    optimum is not believed before starts in those judges' directions have been tried. Large problems have two starts only.

    Parameters
    ----------
    starts : list of Coefficients, optional
        Replace the default starts.
    n_random : int
        Random starts in addition to the deterministic ones.
    rng : int or numpy.random.Generator
        Their randomness.
    """
    plain = PLAIN.get(structure.kind)
    if starts is None and plain and cells.is_plain and (found := plain(cells, ridge, maxiter)) is not None:
        return found
    optima = _Optima(cells, structure, ridge, maxiter)
    if starts is not None:
        return optima.after(stacked(starts))
    rng = generator(rng)
    n_free = structure.n_free(cells.n_judges, cells.n_items)
    if not structure.has_sensitivities or n_free > limits.MANY_STARTS_FREE:
        return optima.after(no_terms(cells, starting_scores(cells, structure, 0, rng)[:2]))
    return _best_of_many(optima, structure, n_random, rng)


def _plain_pooled(cells: Design, ridge: Ridge, maxiter: int) -> Search | None:
    """One score vector for all judges; None where plain Newton steps are not enough."""
    return _alone(None if ridge else maximise_pooled(cells, maxiter))


def _plain_judgewise(cells: Design, ridge: Ridge, maxiter: int) -> Search | None:
    """A score vector for every judge of many items; None where plain Newton steps are not enough."""
    if cells.n_items <= limits.DENSE_OWN_ITEMS:
        return None
    common = ridge.scores * (cells.n_judges - 1) / cells.n_judges**2
    found = maximise_judgewise(cells, ridge.scores, maxiter, common=common)
    return _held(cells, maxiter) if found is None and not ridge else _alone(found)


def _alone(found: Optimum | None) -> Search | None:
    return None if found is None else Search(found, (found.value,), (1,), 0, (found.path,))


# Structures whose scores, without further terms, have a shorter way to their only optimum.
PLAIN = {"pooled": _plain_pooled, "unrestricted": _plain_judgewise}


def _held(cells: Design, maxiter: int) -> Search | None:
    """Judge-wise scores some of which run to infinity, stopped some way out: how far out does not matter."""
    has_limit = ~levels_of_wins(cells).any(axis=1)
    is_large = cells.n_judges * (cells.n_items - 1) > limits.MANY_STARTS_FREE
    held = (
        maximise_judgewise(cells, np.where(has_limit, 0.0, HELD), maxiter) if is_large and not has_limit.all() else None
    )
    if held is None:
        return None
    far = replace(held, value=held.negative_loglike, distance=np.inf, is_minimum=False, diverges=True)
    return Search(far, (), (), 1, (held.path,))


def _best_of_many(optima: _Optima, structure: ScoreStructure, n_random: int, rng: np.random.Generator) -> Search:
    """The best optimum of a low-rank structure from starts of several kinds, each where the ones before leave a doubt."""
    cells = optima.cells
    n_affordable = limits.SCREENED_CELLS // max(len(cells.n), 1)
    n_random += min(limits.SCREENED, n_affordable) if can_alternate(cells, structure) else 0
    found = optima.after(no_terms(cells, starting_scores(cells, structure, n_random, rng)))
    if cells.terms.move_odds:
        # Starts that know the linear terms of the best optimum so far are better than those that know none.
        best = found.best.at
        offset = log_odds(cells, replace(best, scores=np.zeros_like(best.scores)))
        found = optima.after(_with_scores(best, starting_scores(cells, structure, n_random, rng, offset)))
    is_saturated = structure.rank >= largest_rank(structure, cells.n_judges, cells.n_items)
    if not is_saturated and (_is_sparse(cells, structure) or not found.best.converged):
        best = found.best.at
        scattered = scattered_scores(cells, structure, min(limits.SCATTERED, max(limits.FEWEST, n_affordable)), rng)
        found = optima.after(_with_scores(best, scattered))
        if structure.rank > 0:
            found = optima.after(stacked([one_direction_more(cells, structure, best)]))
    if found.best.converged and not optima.ridge:
        outward = breakaway_scores(cells, structure, min(limits.BREAKAWAYS, max(limits.FEWEST, n_affordable)), rng)
        found = optima.after(no_terms(cells, outward)) if len(outward) else found
    return found


def _with_scores(at: Coefficients, scores: np.ndarray) -> Coefficients:
    """A stack of coefficients with other scores (m, n_judges, n_items)."""
    return stacked([replace(at, scores=own) for own in scores])


def one_direction_more(cells: Design, structure: ScoreStructure, near: Coefficients) -> Coefficients:
    """The optimum of one rank less than a structure's, moved along the direction in which the likelihood rises fastest.

    A run from here ends no lower than that optimum: a larger rank never fits worse than a smaller one.
    """
    at, basis = maximise(cells, structure.of_rank(structure.rank - 1), near).at, structure.item_basis
    here = evaluate(cells, at)
    uphill = -gradient(cells, here).scores
    left, _, right = np.linalg.svd(uphill if basis is None else uphill @ basis @ basis.T, full_matrices=False)
    direction = np.outer(left[:, 0], right[0])
    flat = direction.ravel()
    change = flat[cells.first_entry] - flat[cells.second_entry]
    length = -float(here.slope @ change) / max(float(here.curvature @ change**2), 1e-12)
    return Coefficients(at.scores + min(length, 3.0) * direction, at.judge, at.shared)


class _End:
    """Where at least one run has ended."""

    def __init__(self, run: Run, radius: float) -> None:
        self.optimum, self.hits = run.outcome(), 1
        self._run, self._radius = run, radius

    @cached_property
    def neighbourhood(self) -> Neighbourhood:
        """Worked out only when another run may come by."""
        run = self._run
        return neighbourhood(run.cells, run.state, self._radius, run.ridge)

    def attracts(self, run: Run) -> bool:
        """Whether a run is heading for this optimum."""
        return (
            self.optimum.converged
            and 0.0 <= run.state.value - self.optimum.value <= self._radius
            and self.neighbourhood.contains(run.state.at, run.state.value)
        )

    def is_same(self, found: Optimum) -> bool:
        """Whether an optimum is this one."""
        tolerance = SAME_OPTIMUM + 1e-10 * abs(found.value)
        return self.optimum.converged and abs(self.optimum.value - found.value) < tolerance


class _Optima:
    """What runs from several starts have found."""

    def __init__(self, cells: Design, structure: ScoreStructure, ridge: Ridge, maxiter: int) -> None:
        self.cells, self.structure, self.ridge, self.maxiter = cells, structure, ridge, maxiter
        self.radius = nearness(cells, structure)
        self.ends: list[_End] = []
        self.paths: list[tuple[float, ...]] = []

    def after(self, starts: Coefficients) -> Search:
        """Run a stack of further starts, the best first, and sum up all so far.

        A start so close to one before that verdicts can hardly tell them apart ends where that one does.
        """
        here = evaluate(self.cells, starts)
        distance = _distances(here)
        ran: dict[int, _End] = {}
        for i in np.argsort(here.value).tolist():
            twin = min(ran, key=lambda j: distance[i, j], default=None)
            if twin is not None and distance[i, twin] < self.radius:
                ran[twin].hits += 1
                self.paths.append((float(here.value[i]),))
            else:
                ran[i] = self._follow(part_of(starts, i))
        return self._summary()

    def _follow(self, start: Coefficients) -> _End:
        """Run to the end, or until it is clear where that is."""
        run = Run(self.cells, self.structure, start, self.ridge, self.maxiter)
        while (end := self._ahead_of(run)) is None and not run.ended:
            run.advance()
        self.paths.append(tuple(run.path))
        if end is None:
            new = _End(run, self.radius)
            end = next((end for end in self.ends if new.optimum.converged and end.is_same(new.optimum)), None)
            if end is None:
                self.ends.append(new)
                return new
        end.hits += 1
        return end

    def _ahead_of(self, run: Run) -> _End | None:
        return next((end for end in self.ends if end.attracts(run)), None)

    def _summary(self) -> Search:
        optima = sorted((end for end in self.ends if end.optimum.converged), key=lambda end: end.optimum.value)
        best = min((end.optimum for end in self.ends), key=lambda optimum: optimum.value)
        return Search(
            best=best,
            finite=optima[0].optimum if optima and best.diverges else None,
            outermost=best.value if best.diverges else None,
            values=tuple(end.optimum.value for end in optima),
            counts=tuple(end.hits for end in optima),
            n_unfinished=sum(end.hits for end in self.ends if not end.optimum.converged),
            paths=tuple(self.paths),
        )


def _distances(here: Derivatives) -> np.ndarray:
    """Log-likelihood units by which verdicts tell the members of a stack apart, shape (m, m), on average information."""
    root = np.sqrt(here.curvature.mean(axis=0)) * here.eta
    products = root @ root.T
    length = np.diag(products)
    return 0.5 * (length[:, None] + length - 2.0 * products)


def stacked(members: Sequence[Coefficients]) -> Coefficients:
    """Coefficients along a new first axis of all arrays."""
    parts = zip(*((member.scores, member.judge, member.shared) for member in members), strict=True)
    return Coefficients(*(np.stack(part) for part in parts))


def part_of(stack: Coefficients, i: int) -> Coefficients:
    """One member of a stack."""
    return Coefficients(stack.scores[i], stack.judge[i], stack.shared[i])


def _is_sparse(cells: Design, structure: ScoreStructure) -> bool:
    """Whether there are so few comparisons that the likelihood may have several optima, or none."""
    return bool(cells.n.sum() < SPARSE * n_parameters(cells, structure))
