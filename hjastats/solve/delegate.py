"""statsmodels' optimisers, run in free coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
from statsmodels.base.optimizer import Optimizer

from ..model.design import Coefficients, Design
from ..model.information import expected_information, free_information
from ..model.layout import Layout
from ..model.likelihood import evaluate, free_gradient, gradient
from ..model.tangent import TangentBasis

STATSMODELS_METHODS = ("newton", "nm", "bfgs", "lbfgs", "powell", "cg", "ncg", "basinhopping", "minimize")


def delegate(
    cells: Design,
    layout: Layout,
    start: Coefficients,
    method: str,
    settings: dict[str, Any],
    options: dict[str, Any],
) -> Coefficients:
    """Minimise the mean negative log-likelihood with a statsmodels optimiser, in the chart anchored at the start.

    Parameters
    ----------
    settings : dict
        ``maxiter``, ``disp``, ``callback``, ``retall`` as in statsmodels.
    options : dict
        Further options of the optimiser.

    Returns
    -------
    Coefficients
        Where it stopped. Whether it converged does not matter: that is judged after the Newton steps that follow.
    """
    chart = _Chart(cells, layout, layout.structure.nearest(start.scores))
    first = layout.to_free(Coefficients(chart.scores, start.judge, start.shared), chart.tangent)
    found, _, _ = Optimizer()._fit(
        chart.value,
        chart.slope,
        first,
        (),
        options,
        hessian=chart.hessian,
        method=method,
        full_output=True,
        **settings,
    )
    return layout.from_free(np.asarray(found), chart.tangent)


class _Chart:
    """The objective and its derivatives as functions of free coordinates anchored at one score matrix."""

    def __init__(self, cells: Design, layout: Layout, scores: np.ndarray) -> None:
        self.cells, self.layout, self.scores = cells, layout, scores
        self.tangent = layout.structure.tangent(scores)
        self.total = float(cells.n.sum())

    def value(self, free: np.ndarray, *_: Any) -> float:
        at = self.layout.from_free(free, self.tangent)
        return evaluate(self.cells, at).value / self.total

    def slope(self, free: np.ndarray, *_: Any) -> np.ndarray:
        at, local, change = self._local(free)
        here = evaluate(self.cells, at)
        return change.T @ free_gradient(gradient(self.cells, here), local, self.cells) / self.total

    def hessian(self, free: np.ndarray, *_: Any) -> np.ndarray:
        """Expected information: positive definite everywhere, so that Newton steps always lead downhill."""
        at, local, change = self._local(free)
        here = evaluate(self.cells, at)
        arrow = expected_information(self.cells, here, local)
        information = free_information(arrow, self.cells)
        return change.T @ information @ change / self.total

    def _local(self, free: np.ndarray) -> tuple[Coefficients, TangentBasis, np.ndarray]:
        """The point, its own tangent, and the derivative of its coordinates by those of the chart."""
        at = self.layout.from_free(free, self.tangent)
        local = self.layout.structure.tangent(at.scores)
        return at, local, np.linalg.inv(self.layout.chart_change(self.tangent, local))
