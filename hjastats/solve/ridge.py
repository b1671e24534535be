"""A penalty that pulls judges towards their mean and the mean towards zero: scores, and if asked for linear coefficients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model.design import Coefficients, Design
from ..model.information import Arrow
from ..model.jacobians import mean_rows
from ..model.likelihood import Gradient
from ..model.tangent import TangentBasis


@dataclass(frozen=True)
class Ridge:
    """Half these weights times ``|m|^2 + sum_k |x_k - m|^2``, added to the objective.

    ``x_k`` are a judge's scores, or its coefficient of a term, and m is their mean over the K judges. So the consensus counts once,
    however many judges there are, and a judge counts by how far it is from the consensus. The sum is ``|x|^2 - (K - 1) |m|^2``.
    Coefficients that all judges share count once.

    Attributes
    ----------
    scores, terms : float
    without : int, optional
        A judge that is left out.
    """

    scores: float = 0.0
    terms: float = 0.0
    without: int | None = None

    def __bool__(self) -> bool:
        return self.scores > 0 or self.terms > 0

    def value(self, design: Design, at: Coefficients) -> float:
        """The penalty."""
        scores, own = self._squares(at.scores, self._judges(design)), self._squares(at.judge, self._owners(design))
        return 0.5 * self.scores * scores + 0.5 * self.terms * (own + float(np.square(at.shared).sum()))

    def _judges(self, design: Design) -> np.ndarray:
        """Which judges count, shape (n_judges, 1)."""
        return (np.arange(design.n_judges) != self.without)[:, None]

    def _owners(self, design: Design) -> np.ndarray:
        """Which coefficients of the judges do, shape (n_judges, e)."""
        return design.is_own_parameter & self._judges(design)

    @staticmethod
    def _squares(values: np.ndarray, counted: np.ndarray) -> float:
        mean = _mean(values, counted)
        return float(np.square(mean).sum() + np.square(np.where(counted, values - mean, 0.0)).sum())

    def add_to_gradient(self, design: Design, slopes: Gradient, at: Coefficients) -> Gradient:
        """Gradient of the penalised objective."""
        return Gradient(
            slopes.scores + self.scores * _less_of_mean(at.scores, self._judges(design)),
            slopes.judge + self.terms * _less_of_mean(at.judge, self._owners(design)),
            slopes.shared + self.terms * at.shared,
        )

    def of_own(self, design: Design, f: int) -> tuple[np.ndarray, np.ndarray]:
        """Second derivatives by the judges' own coordinates, f scores and e coefficients, shapes (n_judges, f + e).

        They are a diagonal, less the square of the second array's sum over judges: the :attr:`Arrow.common` of an information.
        """
        counted = np.hstack([np.repeat(self._judges(design), f, axis=1), self._owners(design)])
        weight = np.repeat([self.scores, self.terms], [f, counted.shape[1] - f])
        n = np.maximum(counted.sum(axis=0), 1)
        return weight * counted, np.sqrt(weight * (n - 1.0)) / n * counted

    def of_shared(self, tangent: TangentBasis) -> np.ndarray:
        """Second derivatives by the shared movements of any one item direction, shape (g, g)."""
        weights = np.delete(tangent.shared_judges, [] if self.without is None else [self.without], axis=0)
        n, total = max(len(weights), 1), weights.sum(axis=0)
        return self.scores * (weights.T @ weights - (n - 1.0) / n**2 * np.outer(total, total))

    def add_to_information(self, design: Design, arrow: Arrow, tangent: TangentBasis) -> Arrow:
        """Information of the penalised objective: item directions of own and of shared movements are orthogonal."""
        judge, shared = arrow.judge.copy(), arrow.shared.copy()
        (g, n_shared), width = (tangent.shared_judges.shape[1], tangent.n_shared), np.arange(judge.shape[2])
        diagonal, common = self.of_own(design, tangent.judge_items.shape[1])
        judge[:, width, width] += diagonal
        item, block = np.arange(n_shared), self.of_shared(tangent)
        for a, b in np.ndindex(g, g):
            shared[a * n_shared + item, b * n_shared + item] += block[a, b]
        terms = np.arange(g * n_shared, len(shared))
        shared[terms, terms] += self.terms
        return Arrow(judge, arrow.coupling, shared, common)

    def means(self, design: Design, tangent: TangentBasis) -> tuple[np.ndarray, np.ndarray]:
        """Means over judges by the free coordinates, shape (n_items + e, n_free), and how much of their squares is taken off."""
        (n_items, n_judges), owners = (design.n_items, design.n_judges), self._owners(design)
        (_, e), n = owners.shape, np.maximum(owners.sum(axis=0), 1)
        linear = np.zeros((e, len(design.is_free)))
        for j in range(e):
            linear[j, design.n_shared_terms + j :: e] = owners[:, j] / n[j]
        rows = np.zeros((n_items + e, design.n_linear + tangent.n_free))
        rows[:n_items, design.n_linear :] = mean_rows(np.eye(n_items), tangent)
        rows[n_items:, : design.n_linear] = linear[:, design.is_free]
        return rows, np.concatenate([np.full(n_items, self.scores * (n_judges - 1.0)), self.terms * (n - 1.0)])


def _mean(values: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Mean over the judges that count."""
    return np.where(counted, values, 0.0).sum(axis=0) / np.maximum(counted.sum(axis=0), 1)


def _less_of_mean(values: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Values (n_judges, m) less all of their mean but what counts once."""
    n = np.maximum(counted.sum(axis=0), 1)
    return np.where(counted, values - (n - 1.0) / n * _mean(values, counted), 0.0)


NO_RIDGE = Ridge()
