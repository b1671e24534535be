"""A penalty that pulls scores, and if asked for linear coefficients, towards zero."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model.design import Coefficients, Design
from ..model.information import Arrow
from ..model.likelihood import Gradient
from ..model.tangent import TangentBasis


@dataclass(frozen=True)
class Ridge:
    """Half these weights times the sum of squared scores and of squared linear coefficients, added to the objective."""

    scores: float = 0.0
    terms: float = 0.0

    def __bool__(self) -> bool:
        return self.scores > 0 or self.terms > 0

    def value(self, design: Design, at: Coefficients) -> float:
        """The penalty."""
        terms = np.square(self._own(design, at)).sum() + np.square(at.shared).sum()
        return 0.5 * self.scores * np.square(at.scores).sum() + 0.5 * self.terms * terms

    @staticmethod
    def _own(design: Design, at: Coefficients) -> np.ndarray:
        """The judges' coefficients, zero where there is no parameter."""
        return at.judge if design.is_own_parameter.all() else np.where(design.is_own_parameter, at.judge, 0.0)

    def add_to_gradient(self, design: Design, slopes: Gradient, at: Coefficients) -> Gradient:
        """Gradient of the penalised objective."""
        return Gradient(
            slopes.scores + self.scores * at.scores,
            slopes.judge + self.terms * self._own(design, at),
            slopes.shared + self.terms * at.shared,
        )

    def add_to_information(self, design: Design, arrow: Arrow, tangent: TangentBasis) -> Arrow:
        """Information of the penalised objective; score coordinates are orthonormal, so the ridge is the same for all."""
        judge, shared = arrow.judge.copy(), arrow.shared.copy()
        f, moves = tangent.judge_items.shape[1], tangent.shared_judges.shape[1] * tangent.n_shared
        own, all_own = np.arange(f), np.arange(f, judge.shape[2])
        judge[:, own, own] += self.scores
        judge[:, all_own, all_own] += self.terms
        diagonal = np.arange(len(shared))
        shared[diagonal, diagonal] += np.where(diagonal < moves, self.scores, self.terms)
        return Arrow(judge, arrow.coupling, shared)


NO_RIDGE = Ridge()
