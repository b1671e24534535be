"""Where tests of scores start from: position effects as every group has them, so that a change of these is no surprise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..fitted import Fit, Observations
from ..model.design import Design
from ..model.likelihood import evaluate
from ..model.response import typical
from .clusters import Clusters
from .fluctuation import Fluctuation

# Ridge of the effect of all judges in a group towards that in all groups, and of a judge's towards that; and of the Newton steps.
_HOLD_ALL, _HOLD_EACH = 0.1, 4.0
_STEPS, _STRIDE, _SETTLED = 20, 2.0, 1e-6


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
