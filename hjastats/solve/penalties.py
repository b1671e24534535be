"""What may be added to the likelihood: one class for each entry of ``PENALTIES``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..errors import IdentificationError, OptionError
from ..model.design import Coefficients, Design
from ..model.structures import ScoreStructure
from .firth import adjustments, firth
from .ridge import NO_RIDGE, Ridge
from .search import Search, search
from .trust import Optimum, maximise
from .validation import CrossValidation

Seed = int | np.random.Generator | None


@dataclass(frozen=True)
class Penalty:
    """A ridge on scores, and if asked for on linear coefficients: a Gaussian prior.

    Attributes
    ----------
    ridge : Ridge
        Its weights.
    validation : CrossValidation or None
        How the weight was chosen, if it was.
    """

    ridge: Ridge = NO_RIDGE
    validation: CrossValidation | None = None

    kind: ClassVar[str] = "ridge"
    # As the method of a fit.
    title: ClassVar[str] = "Ridge"
    # Whether the estimate is the maximum of a penalised likelihood.
    has_likelihood: ClassVar[bool] = True
    # Whether it determines differences between items that no comparisons link.
    links_items: ClassVar[bool] = True

    @property
    def description(self) -> str:
        """How the standard errors came about."""
        on, weight = "scores and linear coefficients" if self.ridge.terms else "scores", self.ridge.scores
        if self.validation is not None:
            return (
                f"Ridge with weight {weight:.3g} on the {on}, chosen by cross-validation; there are no standard errors."
            )
        return (
            f"Ridge with weight {weight:.3g} on the {on}: a Gaussian prior of variance {1 / weight:.3g} on the consensus and on "
            "every judge's departure from it; standard errors are those of the posterior, from the information plus the ridge."
        )

    @property
    def why_no_errors(self) -> str:
        """Why standard errors would not be true, and what to do; empty if they are."""
        if self.validation is None:
            return ""
        return (
            "the weight of the ridge was chosen by cross-validation, for prediction: intervals around what it shrinks cover the "
            "largest difference far less often than they claim, so standard errors, intervals, p-values and places are withheld. "
            "For those fix the weight beforehand, fit_regularized(alpha=0.1), or maximise the likelihood, fit()."
        )

    def search(self, design: Design, structure: ScoreStructure, n_random: int, rng: Seed) -> Search:
        """The penalised optimum from several starts."""
        return search(design, structure, n_random=n_random, rng=rng, ridge=self.ridge)

    def refit(self, design: Design, structure: ScoreStructure, near: Coefficients) -> Optimum | None:
        """The penalised optimum of data like those of an estimate; None if there is none."""
        return maximise(design, structure, near, ridge=self.ridge)

    def added(self, design: Design, structure: ScoreStructure, at: Coefficients) -> tuple[np.ndarray, np.ndarray]:
        """Comparisons and wins that every cell counts for more near an estimate, shapes (n_cells,): none under a ridge."""
        return np.zeros(len(design.n)), np.zeros(len(design.n))


class BiasReduction(Penalty):
    """Firth's adjustment, for models in which every judge has one number to each item's one."""

    kind, title, has_likelihood, links_items = "firth", "Bias reduction", False, False
    description = "Bias-reduced estimates (Firth); standard errors from the expected information."

    def search(self, design: Design, structure: ScoreStructure, n_random: int, rng: Seed) -> Search:
        """The bias-reduced estimate.

        Raises
        ------
        OptionError
            For other models.
        """
        is_plain = structure.has_sensitivities or not structure.judges_differ
        if design.response.parameters or structure.rank or not is_plain:
            raise OptionError("penalty='firth' is available for BTL and JA with ties as half wins.")
        return firth(design, structure)

    def refit(self, design: Design, structure: ScoreStructure, near: Coefficients) -> Optimum | None:
        """The bias-reduced estimate of data like those of another; None if there is none."""
        try:
            return firth(design, structure).best
        except IdentificationError:
            # An item may have got lost among the draws.
            return None

    def added(self, design: Design, structure: ScoreStructure, at: Coefficients) -> tuple[np.ndarray, np.ndarray]:
        """Comparisons and wins that every cell counts for more near an estimate, shapes (n_cells,)."""
        return adjustments(design, structure, at)


@dataclass(frozen=True)
class Anchoring(Penalty):
    """Scores of other judges: a prior that other data have made, not a term of an objective.

    Attributes
    ----------
    told : str
        How the scores and their errors came about.
    """

    told: str = ""

    kind, title, has_likelihood = "anchored", "Anchored", False

    @property
    def description(self) -> str:
        """How the standard errors came about."""
        return self.told

    def refit(self, design: Design, structure: ScoreStructure, near: Coefficients) -> Optimum | None:
        """Refuse data drawn for the target alone.

        Raises
        ------
        IdentificationError
        """
        raise IdentificationError(
            "anchored scores rest on the verdicts of other judges, too, which draws from this fit do not contain: "
            "resample all the data and anchor again."
        )


PENALTIES = {penalty.kind: penalty for penalty in (Penalty, BiasReduction)}
