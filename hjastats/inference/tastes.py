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
_FOLLOWS = 4.0


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
            slopes, arrow = gradient(cells, evaluate(cells, found.at)), found.arrow(cells)
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

    def place(self, rows: Design) -> np.ndarray:
        """Of the judge of every row in ``judges``; of others any."""
        return np.minimum(np.searchsorted(self.judges, rows.judge), len(self.judges) - 1)

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

    def arrow(self, cells: Design) -> Arrow:
        """Expected information, judge by judge."""
        here = typical(cells.response, evaluate(cells, self.at), cells.n)
        return expected_information(cells, here, self.tangent)

    def information(self, cells: Design) -> np.ndarray:
        """Expected information of the judges, one after the other, then of the shared terms."""
        arrow, n, width = self.arrow(cells), len(self.judges), self.width
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


@dataclass(frozen=True)
class Moved:
    """By how much the consensus moves in every group, in contrasts of the items, shrunk by what is noise in it.

    Attributes
    ----------
    together : ndarray, shape (n_groups, n_items - 1)
        That of all judges.
    apart : ndarray, shape (n_judges, n_groups, n_items - 1)
        That of all others than the judge.
    """

    together: np.ndarray
    apart: np.ndarray

    @classmethod
    def of(cls, own: OwnScores, rows: Design, group: np.ndarray, n_groups: int, gamma: np.ndarray) -> Moved:
        """Of own scores, and of sensitivities gamma (n_judges,) to the consensus."""
        cells = [collapse(take(rows, np.flatnonzero(group == g))) for g in range(n_groups)]
        each = [_moved(own, some, gamma) for some in cells]
        moved, information = (np.stack(made, axis=1) for made in zip(*each, strict=True))
        # Scores of judges are those of all groups together.
        total = np.einsum("kgab,kgb->ka", information, moved)
        moved = moved - np.linalg.solve(information.sum(axis=1), total[..., None])[:, None, :, 0]
        statistic = np.einsum("kga,kgab,kgb->k", moved, information, moved)
        df = moved.shape[2] * (n_groups - 1)
        moved *= np.maximum(1.0 - df / np.maximum(statistic, 1e-300), 0.0)[:, None, None]
        return cls(moved[0], moved[1:])


def _moved(own: OwnScores, cells: Design, gamma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The consensus of all in some cells, then without each of the judges, (1 + n_judges, p), and information about it."""
    p, judges = cells.n_items - 1, own.judges
    moved, hold = np.zeros(p), _HOLD * np.eye(p)
    for _ in range(_STEPS):
        scores = own.at.scores.copy()
        scores[judges] += np.outer(gamma, from_centred_basis(moved[None])[0])
        at = replace(own.at, scores=scores)
        slopes, arrow = gradient(cells, evaluate(cells, at)).scores, replace(own, at=at).arrow(cells)
        uphill = -gamma[:, None] * in_centred_basis(slopes[judges])
        blocks = np.square(gamma)[:, None, None] * arrow.judge[judges, :p, :p]
        step = np.linalg.solve(blocks.sum(axis=0) + hold, uphill.sum(axis=0) - _HOLD * moved)
        length = float(np.abs(step).max())
        if length < _SETTLED:
            break
        moved = moved + step * min(1.0, _STRIDE / length)
    without = np.concatenate([np.zeros((1, p)), uphill]), np.concatenate([np.zeros((1, p, p)), blocks])
    # One step from where all judges are to where the others are.
    others = blocks.sum(axis=0) - without[1] + hold
    left = uphill.sum(axis=0) - without[0] - _HOLD * moved
    return moved + np.linalg.solve(others, left[..., None])[..., 0], others


@dataclass(frozen=True)
class Tastes:
    """Movements of what single judges prefer in every group, from which tests are made.

    Attributes
    ----------
    own : OwnScores
        Of the judges with enough verdicts for scores of their own; others are left out.
    moved : Moved
    found : Fluctuation
        Along these coordinates.
    count : ndarray, shape (n_judges, n_groups)
        Comparisons of these judges.
    share : ndarray, shape (n_judges, n_clusters)
        Of the clusters in the comparisons of each.
    """

    own: OwnScores
    moved: Moved
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
        width = p + len(fit.layout.terms.own)
        most = min(limits.TASTE_COORDINATES // width, len(judges))
        judges = np.sort(judges[np.argsort(-count[judges].sum(axis=1), kind="stable")[:most]])
        if len(judges) < 2 or p < 2 or 2 * (p + 1) * n_groups > limits.STACKED:
            return None
        some = np.flatnonzero(np.isin(data.judge_index, judges))
        rows, data = take(observed.rows, some), data.subset(some)
        group, gamma = group[some], fit.parts.gamma[judges]
        hold = np.full(width, _HOLD)
        own = OwnScores.near(fit.at, collapse(rows), judges, hold)
        moved = Moved.of(own, rows, group, n_groups, gamma)
        items, place = from_centred_basis(moved.together), own.place(rows)
        column = gamma[place] * (items[group, rows.first] - items[group, rows.second])
        rows = replace(rows, offset=(rows.known_odds + column)[:, None])
        own = OwnScores.near(own.at, collapse(rows), judges, hold)
        codes, code = np.unique(clusters.code[some], return_inverse=True)
        found = Fluctuation.of(
            fit, Observations(data, rows), group, Clusters(code, len(codes)), own, n_groups=n_groups
        )
        share = np.zeros((len(judges), found.n_clusters))
        np.add.at(share, (own.place(rows), found.of_row), data.weight)
        # Verdicts of a cluster are fewer than what they help to estimate, or more.
        total = share.sum(axis=1, keepdims=True)
        share = np.where(share > 0, np.maximum(share, width) / total, 0.0)
        return cls(own, moved, found, count[judges], share)

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
            free.append(np.eye(1, own.width, p + fit.layout.terms.own_names.index("position")))
        everything = np.eye(p, own.width)
        rows = [
            own.of_judge(place, np.vstack([directions.T @ everything, everything, *free])),
            own.of_all(fit.parts.gamma[self.judges], np.eye(p)),
        ]
        shared = [term.name for term in fit.layout.terms.shared]
        if "position" in shared:
            n = len(rows[0].T)
            rows.append(np.eye(1, n, n - len(shared) + shared.index("position")))
        stacked = np.vstack(rows)
        found = self.found.movements(stacked, self.share[place])
        # What every group has for itself; and that the judge follows the consensus more or less than is thought.
        lines = np.kron(np.eye(found.n_groups), np.eye(found.p)[q + p :])
        follows = np.zeros((1, found.n_groups, found.p))
        follows[0, :, q : q + p] = self.moved.apart[place]
        ridge = np.append(np.zeros(len(lines)), _FOLLOWS)
        return found.beyond(np.vstack([lines, follows.reshape(1, -1)]), ridge).only(np.arange(q)).among(some)
