"""Which comparisons tell most about a goal: rank-one updates of the covariance, for all candidates at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .. import limits
from ..data.cells import Cells
from ..fitted import Fit
from ..model.design import Design
from ..model.likelihood import evaluate, free_moves, free_regressors
from ..model.response import typical
from ..solve.precision import score_rows
from .goals import Goal


@dataclass(frozen=True)
class Candidates:
    """Comparisons that can be asked for.

    Attributes
    ----------
    judge, first, second : ndarray of int, shape (n,)
    price : ndarray, shape (n,)
        Of one verdict.
    left : ndarray, shape (n,)
        How often each can be asked.
    can_turn : bool
        Whether the items can be shown in the other order, too.
    """

    judge: np.ndarray
    first: np.ndarray
    second: np.ndarray
    price: np.ndarray
    left: np.ndarray
    can_turn: bool = True

    def take(self, some: np.ndarray) -> Candidates:
        """Some of them."""
        return replace(
            self, **{name: getattr(self, name)[some] for name in ("judge", "first", "second", "price", "left")}
        )

    @property
    def turned(self) -> Candidates:
        """The same with the other item first."""
        return replace(self, first=self.second, second=self.first)


@dataclass(frozen=True)
class Allocation:
    """Comparisons in the order in which they are to be asked.

    Attributes
    ----------
    chosen : ndarray of int, shape (n,)
        Positions among the candidates.
    is_turned : ndarray of bool, shape (n,)
        Which of them show the second item first.
    variances, left : ndarray, shape (m,)
        Of the goal's contrasts by the model, after all of them; and as a share of what they were.
    path : ndarray, shape (n + 1,)
        Mean of these variances before and after each.
    amount : float
        Verdicts that each of them stands for.
    new : ndarray of int, shape (n,)
        Number of the new judge who is asked, from one; zero for judges at hand.
    """

    chosen: np.ndarray
    is_turned: np.ndarray
    variances: np.ndarray
    left: np.ndarray
    path: np.ndarray
    amount: float
    new: np.ndarray


def candidate_design(fit: Fit, some: Candidates) -> Design:
    """The candidates as a model sees them, one verdict each; covariates and offsets are zero."""
    n, terms, response = len(some.judge), fit.layout.terms, fit.design.response
    cells = Cells(
        some.judge, some.first, some.second, np.ones(n), np.zeros(n), len(fit.layout.judges), len(fit.layout.items)
    )

    def columns(declared: tuple) -> np.ndarray:
        is_there = [term.kind is not None and term.kind.column is None for term in declared]
        return np.tile(np.array(is_there, dtype=float), (n, 1))

    cells = replace(
        cells, judge_terms=columns(terms.own), shared_terms=columns(terms.shared), counts=response.counts(np.zeros(n))
    )
    return Design.of(cells, terms, response)


def telling(fit: Fit, some: Candidates) -> tuple[np.ndarray, np.ndarray]:
    """Regressors (n, n_free) and weights (n,) such that a verdict on a candidate adds ``w x x'`` to the information.

    Where verdicts also depend on a parameter of the response, such as a tie propensity, this is what they tell about log-odds.
    """
    design = candidate_design(fit, some)
    here = typical(design.response, evaluate(design, fit.at), design.n)
    rows = free_regressors(design, fit.tangent)
    if here.cross is not None:
        moves = free_moves(design, fit.tangent)
        for p, cross in enumerate(here.cross, start=1):
            rows[:, moves == p] *= (cross / np.maximum(here.curvature, 1e-300))[:, None]
    return rows, here.curvature


def weights_of(fit: Fit, some: Candidates) -> np.ndarray:
    """Information of a verdict on each candidate about its log-odds, the mean of both orders, shape (n,)."""
    sides = [some, some.turned] if some.can_turn else [some]
    designs = [candidate_design(fit, side) for side in sides]
    each = [typical(design.response, evaluate(design, fit.at), design.n).curvature for design in designs]
    return np.mean(each, axis=0)


class Allocator:
    """Chooses comparisons one after the other, each the one that makes the goal's weighted variance per price smallest.

    A verdict with regressors x and weight w lowers the variance of a contrast c by ``w (c'C x)^2 / (1 + w x'C x)``. All candidates
    are looked at from time to time; in between, those that then looked best are followed exactly.

    Parameters
    ----------
    fit : Fit
    goal : Goal
    candidates : Candidates
    ahead : float
        Verdicts that will be asked in all: weights of the contrasts are those of the errors then.
    """

    def __init__(self, fit: Fit, goal: Goal, candidates: Candidates, ahead: float) -> None:
        fit.check_matrix(fit.layout.n_free)
        self.fit, self.goal, self.candidates = fit, goal, candidates
        self.covariance = np.array(fit.model_covariance.covariance)
        self.variances = np.einsum("md,md->m", goal.rows @ self.covariance, goal.rows)
        self.left, self.n_asked = candidates.left.astype(float), np.zeros(len(fit.layout.judges))
        self.is_next_turned = np.zeros(len(candidates.judge), dtype=bool)
        self._weight = weights_of(fit, candidates)
        self._shrinks = fit.n_worth / (fit.n_worth + ahead)
        self._damping = 1.0 + self._weight * self._spread()

    def _spread(self) -> np.ndarray:
        """Variance of the score difference of every candidate, shape (n,)."""
        fit, some, result = self.fit, self.candidates, np.zeros(len(self.candidates.judge))
        n_linear = fit.layout.n_linear
        order = np.argsort(some.judge, kind="stable")
        ends = np.searchsorted(some.judge[order], np.arange(len(fit.layout.judges) + 1))
        for k in range(len(fit.layout.judges)):
            own = order[ends[k] : ends[k + 1]]
            if not len(own):
                continue
            rows = score_rows(fit.tangent, k, n_linear)
            moved = np.flatnonzero(rows.any(axis=0))
            of_scores = rows[:, moved] @ self.covariance[np.ix_(moved, moved)] @ rows[:, moved].T
            i, j, diagonal = some.first[own], some.second[own], np.diag(of_scores)
            result[own] = diagonal[i] + diagonal[j] - 2.0 * of_scores[i, j]
        return np.maximum(result, 0.0)

    def _directions(self) -> np.ndarray:
        """Rows whose summed variance is the goal's weighted one, shape (r, n_free)."""
        weight = self.goal.weights(np.maximum(self.variances * self._shrinks, 1e-300))
        return self.goal.directions(weight)

    def _look(self, directions: np.ndarray, budget: float, amount: float) -> np.ndarray:
        """About how much every candidate that can be had would lower the goal's variance per price, shape (n,)."""
        fit, some = self.fit, self.candidates
        moved = directions @ self.covariance
        scores = np.array([fit.tangent.scores(row[fit.layout.n_linear :]) for row in moved])
        own, shared = fit.design.coefficients(moved[:, : fit.layout.n_linear])
        terms = fit.layout.terms
        linear = own[:, :, [term.is_constant for term in terms.own]].sum(axis=2)
        linear = linear + shared[:, [term.is_constant for term in terms.shared]].sum(axis=1)[:, None]
        if len(directions) == 1:
            flat = scores[0].ravel()
            n_items = scores.shape[2]
            gain = (flat[some.judge * n_items + some.first] - flat[some.judge * n_items + some.second]) ** 2
        else:
            by_judge = np.ascontiguousarray(scores.transpose(1, 2, 0))
            squares = by_judge @ by_judge.transpose(0, 2, 1)
            diagonal = np.einsum("kii->ki", squares)
            gain = diagonal[some.judge, some.first] + diagonal[some.judge, some.second]
            gain = gain - 2.0 * squares[some.judge, some.first, some.second]
        gain = gain + np.sum(linear**2, axis=0)[some.judge]
        is_there = (self.left > 0) & (some.price * amount <= budget * (1.0 + 1e-12))
        return np.where(is_there, gain * self._weight / self._damping / some.price, -np.inf)

    def run(
        self, budget: float, *, amount: float = 1.0, target: float | None = None, look: int = limits.ASKED_AT_A_LOOK
    ) -> Allocation:
        """Choose until the budget is spent, or until the largest of the goal's variances is small enough.

        Parameters
        ----------
        budget : float
            In the units of the prices.
        amount : float
            Verdicts on the same comparison to ask for at a time, half of them in each order.
        """
        chosen: list[int] = []
        turned: list[bool] = []
        before, path, spent = self.variances, [float(self.variances.mean())], 0.0
        while target is None or self.variances.max() > target:
            directions = self._directions()
            seen = self._look(directions, budget - spent, amount)
            some = np.argpartition(-seen, min(limits.FOLLOWED, len(seen)) - 1)[: limits.FOLLOWED]
            some = some[np.isfinite(seen[some])]
            if not len(some):
                break
            following = _Followed(self, some, directions, amount)
            for _ in range(look):
                best = following.best(budget - spent)
                if best is None or (target is not None and self.variances.max() <= target):
                    break
                index = int(some[best])
                chosen.append(index)
                turned.append(bool(self.is_next_turned[index]))
                spent += float(self.candidates.price[index]) * amount
                following.ask(best)
                path.append(float(self.variances.mean()))
        which, is_turned, new = (
            np.array(chosen, dtype=int),
            np.array(turned, dtype=bool),
            np.zeros(len(chosen), dtype=int),
        )
        return Allocation(which, is_turned, self.variances, self.variances / before, np.array(path), amount, new)


class _Followed:
    """The most promising candidates, with their gains kept exact while some of them are asked."""

    def __init__(self, parent: Allocator, some: np.ndarray, directions: np.ndarray, amount: float) -> None:
        self.parent, self.some, self.directions, self.amount = parent, some, directions, amount
        candidates = parent.candidates.take(some)
        self.price = candidates.price
        self.judge = candidates.judge
        # Both orders, of which each candidate is in one at a time.
        self.both = [telling(parent.fit, candidates), telling(parent.fit, candidates.turned)]
        is_turned = parent.is_next_turned[some]
        self.rows = np.where(is_turned[:, None], self.both[1][0], self.both[0][0])
        self.weight = amount * np.where(is_turned, self.both[1][1], self.both[0][1])
        self.along = self.rows @ (parent.covariance @ directions.T)
        self.spread = np.einsum("cd,cd->c", self.rows @ parent.covariance, self.rows)

    def best(self, left: float) -> int | None:
        """The candidate that gains most per price, the judge asked least among equals; None if nothing can be had."""
        parent = self.parent
        gain = np.sum(self.along**2, axis=1) * self.weight / (1.0 + self.weight * self.spread) / self.price
        gain = gain * (1.0 - 1e-9 * parent.n_asked[self.judge])
        is_there = (parent.left[self.some] > 0) & (self.price * self.amount <= left * (1.0 + 1e-12))
        gain = np.where(is_there, gain, -np.inf)
        best = int(np.argmax(gain))
        return best if np.isfinite(gain[best]) else None

    def ask(self, best: int) -> None:
        """Update everything by what a verdict on a candidate is expected to tell."""
        parent, index = self.parent, int(self.some[best])
        sides = (0, 1) if self.amount > 1.0 and parent.candidates.can_turn else (int(parent.is_next_turned[index]),)
        for side in sides:
            rows, weights = self.both[side]
            self._update(rows[best], weights[best] * self.amount / len(sides))
        parent.left[index] -= self.amount
        parent.n_asked[self.judge[best]] += 1.0
        if parent.candidates.can_turn:
            parent.is_next_turned[index] = not parent.is_next_turned[index]
            side = int(parent.is_next_turned[index])
            self.rows[best], self.weight[best] = self.both[side][0][best], self.amount * self.both[side][1][best]
            moved = parent.covariance @ self.rows[best]
            self.along[best], self.spread[best] = self.directions @ moved, self.rows[best] @ moved

    def _update(self, row: np.ndarray, weight: float) -> None:
        parent = self.parent
        moved = parent.covariance @ row
        size = weight / (1.0 + weight * float(row @ moved))
        of_candidates = self.rows @ moved
        self.along -= size * of_candidates[:, None] * (self.directions @ moved)
        self.spread -= size * of_candidates**2
        parent.variances = parent.variances - size * parent.goal.along(moved) ** 2
        parent.covariance -= (size * moved)[:, None] * moved
