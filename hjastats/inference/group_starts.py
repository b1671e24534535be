"""Where tests over groups start from: what every group has beside what is tested, so that a change of that is no surprise.

Tests of scores start from the position effects of every group, tests of position effects and sensitivities from its scores. Where
the alphabet decides what is shown first the two are hard to tell apart, and from the fit of all rows each would be blamed for the
other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .. import limits
from ..fitted import Fit, Observations
from ..model.design import Coefficients, Design
from ..model.likelihood import evaluate
from ..model.response import typical
from ..model.terms import Term, TermKind
from ..solve.precision import information_at
from .clusters import Clusters
from .contributions import Contributions
from .fluctuation import Fluctuation
from .own_scores import moved_consensus

# Ridge of the effect of all judges in a group towards that in all groups, and of a judge's towards that; and of the Newton steps.
_HOLD_ALL, _HOLD_EACH = 0.1, 4.0
_STEPS, _STRIDE, _SETTLED = 20, 2.0, 1e-6
# How a judge follows what the scores of a group have more than those of all.
_FOLLOWS = Term("follows the group", "judge", TermKind("follows", "", ""))


def freed_positions(fit: Fit, observed: Observations, group: np.ndarray, clusters: Clusters) -> Fluctuation:
    """Gradients and information where every group (n_rows,) has its own position effects, as an offset of its rows.

    These need only be near: tests take off what moving them explains. Without position effects nothing changes.
    """
    scope, rows = fit.layout.terms.scope("position"), observed.rows
    if scope is None:
        return Fluctuation.of(fit, observed, group, clusters)
    bonus, lost = (made[group] for made in _found(fit, rows, group, np.zeros(len(group)), _HOLD_ALL))
    if scope == "judge":
        cell = group * rows.n_judges + rows.judge
        more, lost = (made[cell] for made in _found(fit, rows, cell, bonus, _HOLD_EACH))
        bonus, names = bonus + more, fit.layout.terms.own_names
        bonus[np.isin(rows.judge, [judge for judge, e in fit.layout.terms.held if names[e] == "position"])] = 0.0
    found = Fluctuation.of(fit, replace(observed, rows=_moved(rows, bonus)), group, clusters)
    return found.with_lost(lost, observed.data.weight)


def freed_scores(fit: Fit, observed: Observations, group: np.ndarray, clusters: Clusters) -> Fluctuation:
    """The same where every group has its own scores ``mu + m``, as an offset ``gamma_k m`` of its rows.

    These need only be near, too. The sensitivities are those of all groups: where one of them moves, so does what it makes of m.
    More scores than tests leave to every group are those of all.
    """
    rows, gamma = observed.rows, fit.parts.gamma
    if (rows.n_items - 1) * len(np.unique(group)) > limits.FREED:
        return Fluctuation.of(fit, observed, group, clusters)
    moved = moved_consensus(fit.at, rows, group, gamma)
    apart = moved[group, rows.first] - moved[group, rows.second]
    freed = _moved(rows, gamma[rows.judge] * apart)
    if not (fit.layout.structure.judges_differ and fit.has_consensus):
        return Fluctuation.of(fit, replace(observed, rows=freed), group, clusters)
    followed = freed.with_own_term(_FOLLOWS, apart)
    return Fluctuation.of(
        fit, replace(observed, rows=followed), group, clusters, FollowingCoordinates.of(fit, followed)
    )


@dataclass(frozen=True)
class FollowingCoordinates:
    """Those of the fit, whose movements ``dS`` are ``dS + dgamma m'`` in a group with the scores ``mu + m``.

    Attributes
    ----------
    fit : Fit
    rows : ndarray, shape (n_free, n_free + n_judges)
        Movements of coordinates that have what every judge makes of m beside those of the fit.
    """

    fit: Fit
    rows: np.ndarray

    @classmethod
    def of(cls, fit: Fit, followed: Design) -> FollowingCoordinates:
        """Of rows with the term that says what a judge makes of m, before its other terms."""
        n_judges, layout = len(fit.layout.judges), fit.layout
        is_first = np.zeros_like(followed.is_own_parameter)
        is_first[:, 0] = True
        follows = len(layout.terms.shared) + np.flatnonzero(is_first[followed.is_own_parameter])
        rows = np.zeros((layout.n_free, layout.n_free + n_judges))
        rows[:, np.delete(np.arange(rows.shape[1]), follows)] = np.eye(layout.n_free)
        rows[:, follows] = fit.vector("gamma", np.arange(n_judges))[2].T
        return cls(fit, rows)

    @property
    def at(self) -> Coefficients:
        """The estimate; what is made of m is among what is known."""
        return self.fit.at.with_own_term()

    def gradients(self, contributions: Contributions) -> np.ndarray:
        """Along each of them."""
        return contributions.along(self.rows, self.fit.tangent)

    def information(self, cells: Design) -> np.ndarray:
        """Expected information."""
        return self.rows @ information_at(cells, self.at, self.fit.tangent) @ self.rows.T


def _moved(rows: Design, bonus: np.ndarray) -> Design:
    return replace(rows, offset=(rows.known_odds + bonus)[:, None])


def _found(fit: Fit, rows: Design, cell: np.ndarray, known: np.ndarray, hold: float) -> tuple[np.ndarray, np.ndarray]:
    """What the effect of every cell (n_rows,) has more than is known, and the part of a row in it, shape (n_cells,) each."""
    n = int(cell.max()) + 1
    bonus, information = np.zeros(n), np.zeros(n)
    for _ in range(_STEPS):
        here = evaluate(_moved(rows, known + bonus[cell]), fit.at)
        uphill = -np.bincount(cell, here.slope, n) - hold * bonus
        information = np.bincount(cell, typical(rows.response, here, rows.n).curvature, n).astype(float)
        step = uphill / (information + hold)
        bonus = bonus + np.clip(step, -_STRIDE, _STRIDE)
        if np.abs(step).max() < _SETTLED:
            break
    return bonus, information / (information + hold) / np.maximum(np.bincount(cell, minlength=n), 1)
