"""Whether what a judge prefers beyond the consensus is the same in all groups.

All judges have scores of their own here, whatever the fit lacks: a taste that a judge has in all groups is no change, however
strong it is and whichever groups the judge is in. From there, in every group

    scores of judge k = its own + gamma_k (movement of the consensus) + a multiple of the consensus + a change of its taste,

and the last is tested, all else left free in every group. Where all judges move together it is the items that changed. By how much
a judge goes with them need not be gamma_k: a multiple of the movement of the others, once for all groups, is nearly free, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .. import limits
from ..data.cells import collapse, take
from ..fitted import Fit, Observations
from ..model.design import Design
from ..model.tangent import centred_basis
from .clusters import Clusters
from .fluctuation import Fluctuation, Movements
from .own_scores import Moved, OwnScores

# Ridge of how judges follow the consensus where it moves: towards their sensitivity.
_FOLLOWS = 10.0
# The largest share of a cluster in what a judge's estimate comes from; with more, its sign alone would decide.
_MOST = 0.5


@dataclass(frozen=True)
class Tastes:
    """Movements of what single judges prefer in every group, from which tests are made.

    Attributes
    ----------
    judges : ndarray of int, shape (n_judges,)
        Those with enough verdicts for scores of their own; others are left out.
    gamma : ndarray, shape (n_judges,)
    own : OwnScores
    moved : Moved
    found : Fluctuation
        Along the coordinates of these judges.
    count : ndarray, shape (n_judges, n_groups)
        Comparisons.
    share : ndarray, shape (n_judges, n_clusters)
        By what their estimates have made the part of a cluster smaller.
    """

    judges: np.ndarray
    gamma: np.ndarray
    own: OwnScores
    moved: Moved
    found: Fluctuation
    count: np.ndarray
    share: np.ndarray

    @classmethod
    def of(cls, fit: Fit, observed: Observations, group: np.ndarray, clusters: Clusters) -> Tastes | None:
        """Of groups (n_rows,) of the rows that a fit was made from; None where no judge could be tested."""
        data, n_groups, p = observed.data, int(group.max()) + 1, len(fit.layout.items) - 1
        width = p + len(fit.layout.terms.own)
        count = np.zeros((data.n_judges, n_groups))
        np.add.at(count, (data.judge_index, group), data.weight)
        judges = _largest(count.sum(axis=1), limits.OWN_PER_PARAMETER * p, limits.TASTE_COORDINATES // width)
        if len(judges) < 2 or p < 2 or 3 * (p + 1) * n_groups > limits.STACKED:
            return None
        some = np.flatnonzero(np.isin(data.judge_index, judges))
        rows, data, group, gamma = (
            _of_judges(observed.rows, judges, some),
            data.subset(some),
            group[some],
            fit.parts.gamma,
        )
        at, gamma = replace(fit.at, scores=fit.at.scores[judges], judge=fit.at.judge[judges]), gamma[judges]
        own = OwnScores.near(at, collapse(rows))
        moved = Moved.of(own, rows, group, n_groups, gamma)
        items = moved.together @ centred_basis(p + 1).T
        known = gamma[rows.judge] * (items[group, rows.first] - items[group, rows.second])
        rows = replace(rows, offset=(rows.known_odds + known)[:, None])
        own = OwnScores.near(own.at, collapse(rows))
        labels, code = np.unique(clusters.code[some], return_inverse=True)
        by_cluster = Clusters(code, len(labels))
        found = Fluctuation.of(fit, Observations(data, rows), group, by_cluster, own, n_groups=n_groups)
        share = np.zeros((len(judges), found.n_clusters))
        np.add.at(share, (rows.judge, found.of_row), data.weight)
        # A cluster of fewer verdicts than they estimate parameters has a larger part in each of these.
        share = np.where(share > 0, np.maximum(share, width), 0.0) / share.sum(axis=1, keepdims=True)
        return cls(judges, gamma, own, moved, found, count[judges], share)

    @property
    def _basis(self) -> np.ndarray:
        return centred_basis(len(self.found.fit.layout.items))

    @cached_property
    def _consensus(self) -> np.ndarray:
        return self.found.fit.parts.mu @ self._basis

    @cached_property
    def _beyond(self) -> np.ndarray:
        """Contrasts of the items that are no multiple of the consensus, shape (n_items - 1, q)."""
        mu, every = self._consensus, np.eye(len(self._consensus))
        return np.linalg.qr(np.column_stack([mu, every]))[0][:, 1:] if self.found.fit.has_consensus else every

    def of_judge(self, place: int) -> Movements | None:
        """What the judge at a place in ``judges`` prefers beyond the consensus; None where it has too few verdicts."""
        return self._along(place, self._beyond)

    def along_directions(self, place: int) -> Movements | None:
        """The same along the directions of disagreement that the fit has; None where it has none, or all there are."""
        directions = self.found.fit.parts.V
        has_some = 0 < directions.shape[1] < self._beyond.shape[1]
        return self._along(place, self._basis.T @ directions) if has_some else None

    def _along(self, place: int, directions: np.ndarray) -> Movements | None:
        """Of directions (n_items - 1, q), while consensus, sensitivity and position are each group's own."""
        fit, own = self.found.fit, self.own
        p, q = directions.shape
        some = self.count[place] >= limits.TASTE_PER_DIRECTION * q
        if some.sum() < 2 or self.share[place].max() > _MOST:
            return None
        free = [self._consensus[None] @ np.eye(p, own.width)]
        if fit.layout.terms.scope("position") == "judge":
            free.append(np.eye(1, own.width, p + fit.layout.terms.own_names.index("position")))
        everything = np.eye(p, own.width)
        rows = [
            own.of_judge(place, np.vstack([directions.T @ everything, everything, *free])),
            own.of_all(self.gamma),
        ]
        shared = [term.name for term in fit.layout.terms.shared]
        if "position" in shared:
            rows.append(own.of_shared(shared.index("position")))
        found = self.found.movements(np.vstack(rows), self.share[place])
        # What every group has for itself; and that the judge follows the consensus more or less than is thought.
        lines = np.kron(np.eye(found.n_groups), np.eye(found.p)[q + p :])
        follows = np.zeros((1, found.n_groups, found.p))
        follows[0, :, q : q + p] = self.moved.apart[place]
        ridge = np.append(np.zeros(len(lines)), _FOLLOWS)
        return found.beyond(np.vstack([lines, follows.reshape(1, -1)]), ridge).only(np.arange(q)).among(some)

    def changes(self, place: int) -> tuple[np.ndarray, np.ndarray] | None:
        """What a judge prefers in a group more than in all, one step from the scores that it has in all, (n_groups, n_items).

        With standard errors from the clusters; not a number for groups in which the judge has too few verdicts. None where the
        judge is not tested.
        """
        found = self.of_judge(place)
        if found is None:
            return None
        informed = np.repeat(np.einsum("gpp->g", found.information) > 0, len(self.found.fit.layout.items))
        to_items = np.kron(np.eye(found.n_groups), self._basis @ self._beyond)
        along = to_items @ np.linalg.pinv(found.variance, rcond=1e-6, hermitian=True)
        each = (found.parts / found.held[:, None]) @ along.T
        estimate, error = found.sums.ravel() @ along.T, np.sqrt(np.square(each).sum(axis=0))
        estimate, error = (np.where(informed, made, np.nan) for made in (estimate, error))
        return estimate.reshape(found.n_groups, -1), error.reshape(found.n_groups, -1)


def _largest(size: np.ndarray, least: float, most: int) -> np.ndarray:
    """Places of the largest sizes, in their order, each at least so large."""
    enough = np.flatnonzero(size >= least)
    return np.sort(enough[np.argsort(-size[enough], kind="stable")[:most]])


def _of_judges(rows: Design, judges: np.ndarray, some: np.ndarray) -> Design:
    """Some rows, all of them by certain judges, who are numbered anew."""
    place = {judge: new for new, judge in enumerate(judges.tolist())}
    # Coefficients of those without a parameter are among those at which all is taken.
    own = tuple(
        replace(term, held=tuple(place[k] for k in term.held if k in place), held_at=()) for term in rows.terms.own
    )
    kept = take(rows, some)
    return replace(
        kept,
        judge=np.searchsorted(judges, kept.judge),
        n_judges=len(judges),
        terms=replace(rows.terms, own=own),
    )
