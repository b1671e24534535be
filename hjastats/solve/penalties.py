"""What may be added to the likelihood, one entry for each kind in ``PENALTIES``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import IdentificationError
from ..model.design import Coefficients, Design
from ..model.structures import ScoreStructure
from .firth import firth
from .ridge import NO_RIDGE, Ridge
from .search import Search, search
from .trust import Optimum, maximise
from .validation import CrossValidation


@dataclass(frozen=True)
class Penalty:
    """A penalty with its weights.

    Attributes
    ----------
    kind : str
        As in ``fit_regularized``.
    ridge : Ridge
        Weights on scores and linear coefficients.
    validation : CrossValidation or None
        How the weight was chosen, if it was.
    """

    kind: str
    ridge: Ridge = NO_RIDGE
    validation: CrossValidation | None = None

    @property
    def title(self) -> str:
        """As the method of a fit."""
        return PENALTIES[self.kind].title

    @property
    def description(self) -> str:
        """How the standard errors came about."""
        return PENALTIES[self.kind].describe(self)

    @property
    def has_likelihood(self) -> bool:
        """Whether the estimate is the maximum of a penalised likelihood."""
        return PENALTIES[self.kind].has_likelihood

    def search(
        self, design: Design, structure: ScoreStructure, n_random: int, rng: int | np.random.Generator | None
    ) -> Search:
        """The penalised optimum from several starts."""
        return PENALTIES[self.kind].search(self, design, structure, n_random, rng)

    def refit(self, design: Design, structure: ScoreStructure, near: Coefficients) -> Optimum | None:
        """The penalised optimum of data like those of an estimate; None if there is none."""
        return PENALTIES[self.kind].refit(self, design, structure, near)


@dataclass(frozen=True)
class PenaltyKind:
    """What a kind of penalty does."""

    title: str
    describe: Callable[[Penalty], str]
    search: Callable[[Penalty, Design, ScoreStructure, int, int | np.random.Generator | None], Search]
    refit: Callable[[Penalty, Design, ScoreStructure, Coefficients], Optimum | None]
    has_likelihood: bool = True


def _describe_ridge(penalty: Penalty) -> str:
    on, weight = "scores and linear coefficients" if penalty.ridge.terms else "scores", penalty.ridge.scores
    return (
        f"Ridge with weight {weight:.3g} on the {on}, a Gaussian prior of variance {1 / weight:.3g}; "
        "standard errors are those of the posterior, from the information plus the ridge."
    )


def _search_ridge(
    penalty: Penalty,
    design: Design,
    structure: ScoreStructure,
    n_random: int,
    rng: int | np.random.Generator | None,
) -> Search:
    return search(design, structure, n_random=n_random, rng=rng, ridge=penalty.ridge)


def _refit_ridge(penalty: Penalty, design: Design, structure: ScoreStructure, near: Coefficients) -> Optimum:
    return maximise(design, structure, near, ridge=penalty.ridge)


def _search_firth(
    penalty: Penalty,
    design: Design,
    structure: ScoreStructure,
    n_random: int,
    rng: int | np.random.Generator | None,
) -> Search:
    if design.response.parameters or not _is_scalar(structure):
        raise ValueError("penalty='firth' is available for BTL and JA with ties as half wins.")
    return firth(design, structure)


def _is_scalar(structure: ScoreStructure) -> bool:
    """Whether every judge has one number to each item's one."""
    return structure.rank == 0 and (structure.has_sensitivities or not structure.judges_differ)


def _refit_firth(penalty: Penalty, design: Design, structure: ScoreStructure, near: Coefficients) -> Optimum | None:
    try:
        return firth(design, structure).best
    except IdentificationError:
        # An item may have got lost among the draws.
        return None


PENALTIES = {
    "ridge": PenaltyKind("Ridge", _describe_ridge, _search_ridge, _refit_ridge),
    "firth": PenaltyKind(
        "Bias reduction",
        lambda penalty: "Bias-reduced estimates (Firth); standard errors from the expected information.",
        _search_firth,
        _refit_firth,
        has_likelihood=False,
    ),
}
