"""Where tests of scores start from: position effects as every group has them, so that a change of these is no surprise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..fitted import Fit, Observations
from ..model.design import Design
from ..model.likelihood import evaluate
from ..model.response import typical

# Ridge of the effect of all judges in a group towards that in all groups, and of a judge's towards that; and of the Newton steps.
_HOLD_ALL, _HOLD_EACH = 0.1, 4.0
_STEPS, _STRIDE, _SETTLED = 20, 2.0, 1e-6


def with_own_positions(fit: Fit, observed: Observations, group: np.ndarray) -> Observations:
    """Rows with what the position effects of their group (n_rows,) and judge add to those of all groups as an offset.

    It need only be near: tests take off what moving the effects explains. Without position effects nothing changes.
    """
    scope, rows = fit.layout.terms.scope("position"), observed.rows
    if scope is None:
        return observed
    bonus = _found(fit, rows, group, np.zeros(len(group)), _HOLD_ALL)[group]
    if scope == "judge":
        cell = group * rows.n_judges + rows.judge
        bonus = bonus + _found(fit, rows, cell, bonus, _HOLD_EACH)[cell]
        names = fit.layout.terms.own_names
        bonus[np.isin(rows.judge, [judge for judge, e in fit.layout.terms.held if names[e] == "position"])] = 0.0
    return replace(observed, rows=_moved(rows, bonus))


def _moved(rows: Design, bonus: np.ndarray) -> Design:
    return replace(rows, offset=(rows.known_odds + bonus)[:, None])


def _found(fit: Fit, rows: Design, cell: np.ndarray, known: np.ndarray, hold: float) -> np.ndarray:
    """What the effect of every cell (n_rows,) has more than is known, shape (n_cells,)."""
    n = int(cell.max()) + 1
    bonus = np.zeros(n)
    for _ in range(_STEPS):
        here = evaluate(_moved(rows, known + bonus[cell]), fit.at)
        uphill = -np.bincount(cell, here.slope, n) - hold * bonus
        curvature = typical(rows.response, here, rows.n).curvature
        step = uphill / (np.bincount(cell, curvature, n) + hold)
        bonus = bonus + np.clip(step, -_STRIDE, _STRIDE)
        if np.abs(step).max() < _SETTLED:
            break
    return bonus
