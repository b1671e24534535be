"""What verdicts of the judges at hand, and of judges who are yet to be found, tell about the population they are drawn from.

Near the estimate every predictor is ``x . beta + l . z_k``: beta are scores and mean coefficients, z_k the judge's own effects,
which are integrated out. A verdict of weight w then adds ``w q q' / (1 + w l'D l)`` to the information about beta, where D is the
covariance of z_k given what the judge said, and q the part of x that z_k does not explain. Spreads and directions are held at
their estimates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .. import limits
from ..data.cells import take
from ..errors import OptionError
from ..model.design import Design
from ..model.population import Population, predictors
from ..model.response import typical
from ..model.tangent import from_centred_basis
from ..model.terms import LOG_ODDS
from ..population import PopulationFit
from ..solve.integrands import own_predictors, times
from .allocation import Allocation, Candidates, candidate_design
from .goals import Goal

# Multiples of the verdicts there are that leave nothing but the judges to err.
_NO_END = 1e9


def parameter_rows(fit: PopulationFit, rows: np.ndarray) -> np.ndarray:
    """Jacobians of contrasts (m, n_free) by scores of items, coefficients of all and means of own ones, shape (m, p).

    Raises
    ------
    OptionError
        For contrasts of what is held at its estimate.
    """
    where = fit.marginal.space.slices
    mu, *known = (np.r_[where[name]] for name in ("mu", "shared", "means"))
    linear = np.concatenate(known)
    told = np.concatenate([mu, linear[_moves_odds(fit.design)]])
    if np.abs(np.delete(rows, told, axis=1)).max(initial=0.0) > 0.0:
        raise OptionError(
            "goal must be about scores or mean coefficients: how judges spread is not planned for, but more judges tell it best."
        )
    return np.hstack([from_centred_basis(rows[:, mu]), rows[:, linear]])


def _moves_odds(design: Design) -> np.ndarray:
    """Which of the terms move the log-odds, not the propensity to tie: the common ones, then the own ones."""
    return np.array([*design.terms.shared_moves, *design.terms.own_moves], dtype=int) == LOG_ODDS


@dataclass
class _Panel:
    """What judges have told.

    Attributes
    ----------
    at : Population
    effects : ndarray, shape (n_judges, d)
        Around which everything is linear.
    shared : ndarray, shape (n_judges, p, d)
        Cross products of x and l by weight.
    within : ndarray, shape (n_judges, d, d)
        Covariances of the judges' effects given what they said.
    information : ndarray, shape (p, p)
    """

    at: Population
    effects: np.ndarray
    shared: np.ndarray
    within: np.ndarray
    information: np.ndarray

    @classmethod
    def of(cls, fit: PopulationFit, times_over: float = 1.0) -> _Panel:
        """Everything the judges of a fit said, as many times over."""
        at, effects, design = fit.population, fit.predicted[0], fit.design
        n_judges, d, p = *effects.shape, fit.design.n_items + len(fit.population.shared) + len(fit.population.means)
        whole = np.zeros((p, p))
        shared, within = np.zeros((n_judges, p, d)), np.tile(np.eye(d), (n_judges, 1, 1))
        step = max(limits.ENTRIES_AT_ONCE // (p * d), 1)
        for first in range(0, len(design.n), step):
            cells = take(design, np.arange(first, min(first + step, len(design.n))))
            x, loading, weight = _linear(cells, at, effects[cells.judge])
            weight = weight * times_over
            whole += np.asarray((x * weight[:, None]).T @ x)
            np.add.at(shared, cells.judge, x[:, :, None] * (weight[:, None] * loading)[:, None])
            np.add.at(within, cells.judge, loading[:, :, None] * (weight[:, None] * loading)[:, None])
        known = np.linalg.inv(within)
        explained = np.einsum("kpd,kde,kqe->pq", shared, known, shared, optimize=True)
        return cls(at, effects, shared, known, whole - explained)

    def covariance(self, n_items: int) -> np.ndarray:
        """Of scores and coefficients; the level of the scores, which means nothing, is held."""
        level = np.zeros(len(self.information))
        level[:n_items] = np.sqrt(np.trace(self.information)) / n_items
        untold = np.diag(1.0 * (np.diag(self.information) == 0.0))
        return np.linalg.inv(self.information + np.outer(level, level) + untold)

    def variances(self, rows: np.ndarray, n_items: int) -> np.ndarray:
        """Of contrasts with the given rows (m, p)."""
        return np.einsum("mp,pq,mq->m", rows, self.covariance(n_items), rows)

    def join(self) -> None:
        """One more judge, of whom nothing is known."""
        p, d = self.shared.shape[1:]
        self.effects = np.vstack([self.effects, np.zeros(d)])
        self.shared = np.concatenate([self.shared, np.zeros((1, p, d))])
        self.within = np.concatenate([self.within, np.eye(d)[None]])

    def telling(
        self, judge: np.ndarray, x: np.ndarray, loading: np.ndarray, weight: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows q (n, p) and weights (n,) such that a verdict adds ``w q q'`` to the information."""
        known = np.einsum("nde,ne->nd", self.within[judge], loading)
        left = x - np.einsum("npd,nd->np", self.shared[judge], known)
        return left, weight / (1.0 + weight * np.einsum("nd,nd->n", loading, known))

    def hear(self, judge: int, x: np.ndarray, loading: np.ndarray, weight: float) -> None:
        """Add a verdict (p,), (d,) to what its judge said."""
        known = self.within[judge] @ loading
        self.within[judge] -= np.outer(known, known) * (weight / (1.0 + weight * float(loading @ known)))
        self.shared[judge] += weight * np.outer(x, loading)


def _linear(design: Design, at: Population, effects: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Regressors x (n, p), loadings l (n, d) and weights (n,) of the log-odds of some cells, at effects (n, d) of their judges."""
    base, loading = predictors(design, at)
    here = base + times(loading, effects)
    found = design.response.derivatives(here[LOG_ODDS], own_predictors(here), design.n, design.y, design.counts)
    weight = typical(design.response, found, design.n).curvature
    n, cells = design.n_items, np.arange(len(design.n))
    x = np.zeros((len(cells), n + len(at.shared) + len(at.means)))
    gamma = 1.0 + at.sensitivity * effects[:, 0]
    x[cells, design.first], x[cells, design.second] = gamma, -gamma
    x[:, n:] = np.hstack([design.shared_terms, design.judge_terms]) * _moves_odds(design)
    return x, loading[LOG_ODDS], weight


def shares_of_judges(fit: PopulationFit, rows: np.ndarray) -> np.ndarray:
    """Share of the variances of contrasts (m, n_free) that no number of verdicts of the same judges makes smaller, shape (m,)."""
    wanted, n = parameter_rows(fit, rows), fit.design.n_items
    now, then = (_Panel.of(fit, often).variances(wanted, n) for often in (1.0, _NO_END))
    return np.clip(then / now, 0.0, 1.0)


class PanelAllocator:
    """Chooses comparisons one after the other, of judges at hand or of new ones; see ``Allocator``.

    Judge number ``n_judges`` of the candidates is whoever is found next.

    Parameters
    ----------
    per_judge : float, optional
        Verdicts that a new judge gives before another one is found; as many as the median judge at hand by default.
    """

    def __init__(
        self, fit: PopulationFit, goal: Goal, candidates: Candidates, ahead: float, per_judge: float | None = None
    ) -> None:
        self.fit, self.goal, self.candidates = fit, goal, candidates
        self.n_known = len(fit.layout.judges)
        self.rows = parameter_rows(fit, goal.rows)
        self.panel = _Panel.of(fit)
        self.covariance = self.panel.covariance(fit.design.n_items)
        self.variances = np.einsum("mp,pq,mq->m", self.rows, self.covariance, self.rows)
        self.left = candidates.left.astype(float)
        self.is_next_turned = np.zeros(len(candidates.judge), dtype=bool)
        heard = np.bincount(fit.design.judge, fit.design.n, self.n_known)
        self.per_judge = max(float(np.median(heard)), 1.0) if per_judge is None else float(per_judge)
        self._shrinks, self._heard, self._newest = fit.n_comparisons / (fit.n_comparisons + ahead), 0.0, self.n_known
        self.panel.join()

    def _directions(self) -> np.ndarray:
        """Rows whose summed variance is the goal's weighted one, shape (r, p)."""
        weight = self.goal.weights(np.maximum(self.variances * self._shrinks, 1e-300))
        of_goal = np.sqrt(weight)[:, None] * self.rows
        values, vectors = np.linalg.eigh(of_goal.T @ of_goal)
        kept = values > 1e-12 * values.max()
        return np.sqrt(values[kept])[:, None] * vectors[:, kept].T

    def _cells(self, some: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Judge, x, l and weight of some candidates as they would be asked next."""
        known, turned = self.candidates.take(some), self.is_next_turned[some]
        judge = np.where(known.judge == self.n_known, self._newest, known.judge)
        first, second = np.where(turned, known.second, known.first), np.where(turned, known.first, known.second)
        # Of which judge a candidate is matters to its effects only.
        design = candidate_design(self.fit, replace(known, judge=np.zeros_like(judge), first=first, second=second))
        return judge, *_linear(design, self.panel.at, self.panel.effects[judge])

    def _gains(self, some: np.ndarray, directions: np.ndarray, amount: float) -> np.ndarray:
        judge, x, loading, weight = self._cells(some)
        rows, weight = self.panel.telling(judge, x, loading, amount * weight)
        moved = rows @ self.covariance
        gain = np.sum((moved @ directions.T) ** 2, axis=1) * weight / (1.0 + weight * np.sum(moved * rows, axis=1))
        return gain / self.candidates.price[some]

    def run(
        self, budget: float, *, amount: float = 1.0, target: float | None = None, look: int = limits.ASKED_AT_A_LOOK
    ) -> Allocation:
        """Choose until the budget is spent, or until the largest of the goal's variances is small enough."""
        chosen: list[int] = []
        turned: list[bool] = []
        new: list[int] = []
        before, path, spent = self.variances, [float(self.variances.mean())], 0.0
        step = max(limits.ENTRIES_AT_ONCE // (self.rows.shape[1] * self.panel.effects.shape[1]), 1)
        everyone, price = np.arange(len(self.left)), self.candidates.price * amount
        while target is None or self.variances.max() > target:
            some = everyone[(self.left > 0) & (price <= (budget - spent) * (1.0 + 1e-12))]
            if not len(some):
                break
            directions = self._directions()
            seen = [self._gains(some[i : i + step], directions, amount) for i in range(0, len(some), step)]
            followed = some[np.argsort(-np.concatenate(seen), kind="stable")[: limits.FOLLOWED]]
            for _ in range(look):
                followed = followed[(self.left[followed] > 0) & (price[followed] <= (budget - spent) * (1.0 + 1e-12))]
                if not len(followed) or (target is not None and self.variances.max() <= target):
                    break
                index = int(followed[np.argmax(self._gains(followed, directions, amount))])
                chosen.append(index)
                turned.append(bool(self.is_next_turned[index]))
                new.append(self._newest - self.n_known + 1 if self.candidates.judge[index] == self.n_known else 0)
                spent += float(price[index])
                self._ask(index, amount)
                path.append(float(self.variances.mean()))
        return Allocation(
            np.array(chosen, dtype=int),
            np.array(turned, dtype=bool),
            self.variances,
            self.variances / before,
            np.array(path),
            amount,
            np.array(new, dtype=int),
        )

    def _ask(self, index: int, amount: float) -> None:
        """Update everything by what a verdict on a candidate is expected to tell."""
        sides = 2 if amount > 1.0 and self.candidates.can_turn else 1
        for _ in range(sides):
            judge, x, loading, weight = self._cells(np.array([index]))
            rows, told = self.panel.telling(judge, x, loading, amount / sides * weight)
            moved = self.covariance @ rows[0]
            size = float(told[0]) / (1.0 + float(told[0]) * float(rows[0] @ moved))
            self.variances = self.variances - size * (self.rows @ moved) ** 2
            self.covariance = self.covariance - size * np.outer(moved, moved)
            self.panel.hear(int(judge[0]), x[0], loading[0], float(weight[0]) * amount / sides)
            if self.candidates.can_turn:
                self.is_next_turned[index] = not self.is_next_turned[index]
        self.left[index] -= amount
        if self.candidates.judge[index] == self.n_known:
            self._heard += amount
            if self._heard >= self.per_judge:
                self._heard, self._newest = 0.0, self._newest + 1
                self.panel.join()
