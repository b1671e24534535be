"""Whether what a judge prefers beyond the consensus is the same in all groups.

All judges have scores of their own here, whatever the fit lacks: a taste that a judge has in all groups is no change, however strong
it is and whichever groups the judge is in. From there, in every group

    scores of judge k = its own + gamma_k (movement of the consensus) + a multiple of the consensus + a change of its taste,

and the last is tested, all else left free in every group. The movement of the consensus is that of all judges: where they move
together it is the items that changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .. import limits
from ..data.cells import collapse, take
from ..fitted import Fit, Observations
from ..model.design import Coefficients, Design
from ..model.information import Arrow, expected_information
from ..model.likelihood import evaluate, gradient
from ..model.response import typical
from ..model.structures import Unrestricted
from ..model.tangent import TangentBasis, from_centred_basis, in_centred_basis
from ..model.terms import POSITION, Term
from .clusters import Clusters
from .contributions import Contributions
from .fluctuation import Drawn, Fluctuation, Movements

# Scores of a judge's own need not exist: this much of a ridge towards the fit holds them, and so many Newton steps find them, none
# of which is longer than that.
_HOLD, _STEPS, _STRIDE, _SETTLED = 0.1, 12, 2.0, 1e-5
# The same ridge of how judges follow the consensus where it moves: towards their sensitivity.
_FOLLOWS = 10.0


@dataclass(frozen=True)
class OwnScores:
    """Coordinates of judges who share nothing but the shared linear terms: contrasts of the scores and own terms of each judge.

    Attributes
    ----------
    at : Coefficients
    judges : ndarray of int, shape (n,)
        Who they are.
    tangent : TangentBasis
        That of judges with scores of their own.
    """

    at: Coefficients
    judges: np.ndarray
    tangent: TangentBasis

    @classmethod
    def near(cls, start: Coefficients, cells: Design, judges: np.ndarray, hold: np.ndarray) -> OwnScores:
        """As each judge's verdicts say; where these say little, near to where it starts.

        Parameters
        ----------
        hold : ndarray, shape (width,)
            Of a ridge.
        """
        tangent = Unrestricted().tangent(start.scores)
        found = cls(start, judges, tangent)
        n_items, p, is_held = cells.n_items, cells.n_items - 1, ~cells.is_own_parameter[judges]
        begin = np.hstack([in_centred_basis(start.scores[judges]), start.judge[judges]])
        own = begin.copy()
        for _ in range(_STEPS):
            slopes, arrow = gradient(cells, evaluate(cells, found.at)), found._arrow(cells)
            uphill = -np.hstack([in_centred_basis(slopes.scores[judges]), slopes.judge[judges]]) - hold * (own - begin)
            step = np.linalg.solve(arrow.judge[judges] + np.diag(hold), uphill[..., None])[..., 0]
            step[:, p:][is_held] = 0.0
            length = np.abs(step).max(axis=1, initial=0.0)
            own = own + step * np.minimum(1.0, _STRIDE / np.maximum(length, 1e-300))[:, None]
            scores, terms = start.scores.copy(), start.judge.copy()
            scores[judges], terms[judges] = from_centred_basis(own[:, :p]).reshape(-1, n_items), own[:, p:]
            found = cls(replace(start, scores=scores, judge=terms), judges, tangent)
            if length.max(initial=0.0) < _SETTLED:
                break
        return found

    def consensus_moved(self, cells: Design, gamma: np.ndarray) -> np.ndarray:
        """By how much the consensus is another one in some cells, shape (n_items,), if judges follow it with gamma (n_judges,)."""
        p = cells.n_items - 1
        moved, at = np.zeros((1, p)), self.at
        for _ in range(_STEPS):
            at = replace(self.at, scores=self.at.scores + np.outer(gamma, from_centred_basis(moved)[0]))
            slopes, arrow = gradient(cells, evaluate(cells, at)), replace(self, at=at)._arrow(cells)
            uphill = -gamma[self.judges] @ in_centred_basis(slopes.scores[self.judges]) - _HOLD * moved[0]
            block = np.einsum("k,kab->ab", gamma[self.judges] ** 2, arrow.judge[self.judges, :p, :p])
            step = np.linalg.solve(block + _HOLD * np.eye(p), uphill)
            length = float(np.abs(step).max(initial=0.0))
            moved = moved + step * min(1.0, _STRIDE / max(length, 1e-300))
            if length < _SETTLED:
                break
        return from_centred_basis(moved)[0]

    @property
    def width(self) -> int:
        """Number of coordinates of one judge."""
        return self.tangent.n_items - 1 + self.at.judge.shape[1]

    def of_judge(self, place: int, own: np.ndarray) -> np.ndarray:
        """Movements (p, width) of the judge at a place in ``judges``, shape (p, n_coordinates)."""
        rows = np.zeros((len(own), len(self.judges) * self.width + len(self.at.shared)))
        rows[:, place * self.width : (place + 1) * self.width] = own
        return rows

    def of_all(self, gamma: np.ndarray, items: np.ndarray) -> np.ndarray:
        """Movements of the items (p, n_items - 1), of each judge times its gamma (n,), shape (p, n_coordinates)."""
        rows = np.zeros((len(items), len(self.judges) * self.width + len(self.at.shared)))
        by_judge = rows[:, : len(self.judges) * self.width].reshape(len(items), len(self.judges), self.width)
        by_judge[:, :, : items.shape[1]] = gamma[:, None] * items[:, None]
        return rows

    def _arrow(self, cells: Design) -> Arrow:
        here = typical(cells.response, evaluate(cells, self.at), cells.n)
        return expected_information(cells, here, self.tangent)

    def information(self, cells: Design) -> np.ndarray:
        """Expected information of the judges, one after the other, then of the shared terms."""
        arrow, n, width = self._arrow(cells), len(self.judges), self.width
        dense = np.zeros((n * width + len(arrow.shared),) * 2)
        blocks = dense[: n * width, : n * width].reshape(n, width, n, width)
        blocks[np.arange(n), :, np.arange(n)] = arrow.judge[self.judges]
        dense[: n * width, n * width :] = arrow.coupling[self.judges].reshape(n * width, -1)
        dense[n * width :, : n * width] = dense[: n * width, n * width :].T
        dense[n * width :, n * width :] = arrow.shared
        return dense

    def gradients(self, contributions: Contributions) -> np.ndarray:
        """Of every unit, shape (n_units, n_coordinates)."""
        n_items, m, e = self.tangent.n_items, len(self.at.shared), self.at.judge.shape[1]
        made = []
        for judge in self.judges:
            scores = contributions.by_scores[:, judge * n_items : (judge + 1) * n_items]
            terms = contributions.by_terms[:, m + judge * e : m + (judge + 1) * e]
            made += [in_centred_basis(scores.toarray()), terms.toarray()]
        return np.hstack([*made, contributions.by_terms[:, :m].toarray()])


def _moving(
    fit: Fit, rows: Design, judges: np.ndarray, group: np.ndarray, n_groups: int
) -> tuple[Design, OwnScores]:
    """Rows with the movement of the consensus of their group as a term that each judge follows in its own way; and own scores."""
    gamma, p = fit.parts.gamma, rows.n_items - 1
    hold = np.full(p + rows.n_judge_terms, _HOLD)
    apart = OwnScores.near(fit.at, collapse(rows), judges, hold)
    cells = [collapse(take(rows, np.flatnonzero(group == g))) for g in range(n_groups)]
    moved = np.array([apart.consensus_moved(some, gamma) for some in cells])
    column = moved[group, rows.first] - moved[group, rows.second]
    rows = rows.with_own_term(Term("movement of the consensus", "judge", POSITION), column)
    start = replace(apart.at, judge=np.column_stack([gamma, apart.at.judge]))
    return rows, OwnScores.near(start, collapse(rows), judges, np.insert(hold, p, _FOLLOWS))


@dataclass(frozen=True)
class Tastes:
    """Movements of what single judges prefer in every group, from which tests are made.

    Attributes
    ----------
    own : OwnScores
        Of the judges with enough verdicts for scores of their own; others are left out.
    found : Fluctuation
        Along these.
    count : ndarray, shape (n_judges, n_groups)
        Comparisons of these judges.
    share : ndarray, shape (n_judges, n_clusters)
        Of the clusters in the comparisons of each.
    """

    own: OwnScores
    found: Fluctuation
    count: np.ndarray
    share: np.ndarray

    @classmethod
    def of(cls, fit: Fit, observed: Observations, group: np.ndarray, clusters: Clusters) -> Tastes | None:
        """Of groups (n_rows,) of the rows that a fit was made from; None where no judge could be tested."""
        data, n_groups, p = observed.data, int(group.max()) + 1, len(fit.layout.items) - 1
        count = np.zeros((data.n_judges, n_groups))
        np.add.at(count, (data.judge_index, group), data.weight)
        judges = np.flatnonzero(count.sum(axis=1) >= limits.OWN_PER_PARAMETER * p)
        width = p + 1 + len(fit.layout.terms.own)
        most = min(limits.TASTE_COORDINATES // width, len(judges))
        judges = np.sort(judges[np.argsort(-count[judges].sum(axis=1), kind="stable")[:most]])
        if len(judges) < 2 or p < 2 or 2 * (p + 1) * n_groups > limits.STACKED:
            return None
        some = np.flatnonzero(np.isin(data.judge_index, judges))
        rows, data = take(observed.rows, some), data.subset(some)
        rows, own = _moving(fit, rows, judges, group[some], n_groups)
        codes, code = np.unique(clusters.code[some], return_inverse=True)
        found = Fluctuation.of(
            fit, Observations(data, rows), group[some], Clusters(code, len(codes)), own, n_groups=n_groups
        )
        share = np.zeros((len(judges), found.n_clusters))
        np.add.at(share, (np.searchsorted(judges, rows.judge), found.of_row), data.weight)
        return cls(own, found, count[judges], share / share.sum(axis=1, keepdims=True))

    @property
    def judges(self) -> np.ndarray:
        """Who they are, shape (n_judges,)."""
        return self.own.judges

    @cached_property
    def _consensus(self) -> np.ndarray:
        return in_centred_basis(self.found.fit.parts.mu[None])[0]

    def of_judge(self, place: int) -> Movements | None:
        """What the judge at a place in ``judges`` prefers beyond the consensus; None where it has too few verdicts."""
        p = len(self._consensus)
        mu = self._consensus if self.found.fit.has_consensus else np.zeros(0)
        others = np.linalg.qr(np.column_stack([mu, np.eye(p)]))[0][:, 1:] if len(mu) else np.eye(p)
        return self._along(place, others)

    def along_directions(self, place: int) -> Movements | None:
        """The same along the directions of disagreement that the fit has; None where it has none."""
        along = self.found.fit.parts.V.T
        return self._along(place, in_centred_basis(along).T) if len(along) else None

    def _along(self, place: int, directions: np.ndarray) -> Movements | None:
        """Of directions (n_items - 1, q), while consensus, sensitivity and position are each group's own."""
        fit, own = self.found.fit, self.own
        p, q = directions.shape
        some = self.count[place] >= limits.TASTE_PER_DIRECTION * q
        if some.sum() < 2:
            return None
        free = [self._consensus[None] @ np.eye(p, own.width)]
        if fit.layout.terms.scope("position") == "judge":
            free.append(np.eye(1, own.width, p + 1 + fit.layout.terms.own_names.index("position")))
        rows = [own.of_judge(place, np.vstack([directions.T @ np.eye(p, own.width), *free]))]
        rows.append(own.of_all(own.at.judge[self.judges, 0], np.eye(p)))
        shared = [term.name for term in fit.layout.terms.shared]
        if "position" in shared:
            n = len(rows[0].T)
            rows.append(np.eye(1, n, n - len(shared) + shared.index("position")))
        stacked = np.vstack(rows)
        found = self.found.movements(stacked, self.share[place])
        return found.without(np.arange(q, len(stacked))).among(some)
