"""What a user has decided at the front door, and what was chosen for them, with reasons."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ..data.arrays import check_option, check_positive
from ..data.comparisons import Comparisons
from ..data.grades import number_of_grades
from ..errors import Hint, OptionError
from ..inference.covariances import COVARIANCES
from ..model.responses import RESPONSES
from ..model.terms import SCOPES
from ..models import BTLModel, HJAModel, JAModel, JudgewiseBTLModel
from ..models.base import TRAITLESS
from ..results import CHOICES
from ..selection import CRITERIA

AUTO = "auto"
SAMPLE = "sample"
# How judges enter: with parameters of their own, the rare ones as one, or as a sample of a population.
JUDGES = ("fixed", "pooled", SAMPLE)
MODELS: dict[str, type[HJAModel]] = {"btl": BTLModel, "ja": JAModel, "hja": HJAModel, "judgewise": JudgewiseBTLModel}


@dataclass
class Chosen:
    """The lines of ``result.choices`` as they come about."""

    lines: list[tuple[str, str, str, float]] = field(default_factory=list)

    def say(self, what: str, chosen: object, reason: str, number: float = math.nan) -> None:
        """Add a line."""
        self.lines.append((what, str(chosen), reason, float(number)))

    @property
    def table(self) -> pd.DataFrame:
        """What was chosen, why, and the number behind it."""
        return pd.DataFrame(self.lines, columns=["what", *CHOICES]).set_index("what")


@dataclass(frozen=True)
class Asked:
    """What the user has decided; "auto" is left to the rules."""

    rank: int | str = AUTO
    position: str | None = AUTO
    ties: str = AUTO
    tie: str = AUTO
    cov_type: str = AUTO
    groups: Any = None
    judges: str = AUTO
    model: str | None = None
    criterion: str = "bic"
    ridge: float | str | None = AUTO
    exog: list[str] | None = None
    judge_exog: list[str] | None = None
    # Declared terms that no rule chooses, by their names.
    declared: Mapping[str, str | None] = field(default_factory=dict)
    items: Any = None
    interactions: str | None = None
    random: Any = None
    unlinked: str = "refuse"
    seed: int = 0

    def __post_init__(self) -> None:
        for term, scope in {"position": self.position, **self.declared}.items():
            check_option(term, scope, (AUTO, *SCOPES))
        check_option("ties", self.ties, (AUTO, *RESPONSES))
        check_option("tie", self.tie, (AUTO, *SCOPES[1:]))
        check_option("cov_type", self.cov_type, (AUTO, *COVARIANCES))
        check_option("judges", self.judges, (AUTO, *JUDGES))
        check_option("model", self.model, (None, *MODELS))
        check_option("criterion", self.criterion, CRITERIA)
        if not _is_auto(self.rank) and (isinstance(self.rank, bool) or not isinstance(self.rank, int | np.integer)):
            raise OptionError(f"rank must be a whole number or 'auto', got {self.rank!r}.")
        if self.ridge is not None and not _is_auto(self.ridge):
            check_positive("ridge", self.ridge, "a positive number, 'auto' or None")
        for name, *why in self._without_effect():
            raise OptionError(Hint(str(name), getattr(self, str(name))), " has no effect ", *why, ".")

    def _without_effect(self) -> Iterator[list[str | Hint]]:
        """Options that would be ignored, and why."""
        if self.needs_alike and self.model not in (None, "btl"):
            yield [
                "model",
                "with ",
                *self._told(),
                ", which are those of judges who are alike but for traits: leave it out",
            ]
        if self.needs_alike and self.rank != AUTO:
            yield [
                "rank",
                "with ",
                *self._told(),
                ", which are those of judges who are alike but for traits: leave it out",
            ]
        if self.traits and self.judges == SAMPLE:
            yield ["judges", "with ", *self._told(), ", where judges are fixed, or alike: leave one of them out"]
        if self.traits and self.model == "judgewise":
            yield ["model", "with ", *self._told(), ": leave one of them out, or use ", Hint("model", "hja")]
        if self.random is not None and self.ridge not in (AUTO, None):
            yield ["ridge", "with ", *self._told(), ", which are shrunk by a distribution of their own: leave it out"]
        if self.rank != AUTO and self.model not in (None, "hja"):
            yield ["rank", "with ", Hint("model", self.model), ": leave it out, or use ", Hint("model", "hja")]
        if self.criterion != "bic" and (self.rank != AUTO or self.is_alike or self.model in ("ja", "judgewise")):
            yield ["criterion", "where the rank is not chosen: leave it out, or use ", Hint("rank", AUTO)]
        if self.judges not in (AUTO, "fixed") and self.is_alike:
            with_what = [Hint("model", "btl")] if self.model == "btl" else self._told()
            yield ["judges", "with ", *with_what, ", where judges are alike: leave it out"]
        if self.judges == SAMPLE and self.model is not None:
            yield [
                "model",
                "with ",
                Hint("judges", SAMPLE),
                ", which has a model of its own: leave it out and give a rank",
            ]
        if self.judges == SAMPLE and self.ridge not in (AUTO, None):
            yield ["ridge", "with ", Hint("judges", SAMPLE), ", which shrinks judges to their population: leave it out"]
        if self.tie != AUTO and self.ties != AUTO and not RESPONSES[self.ties].parameters:
            yield ["tie", "with ", Hint("ties", self.ties), ", which has no parameters of ties: leave one of them out"]
        if isinstance(self.groups, str) and self.cov_type not in (AUTO, "cluster"):
            yield ["groups", "with ", Hint("cov_type", self.cov_type), ": leave one of them out"]

    @property
    def traits(self) -> dict[str, Any]:
        """Arguments about traits that were given."""
        given = {name: getattr(self, name) for name in TRAITLESS}
        is_default = {
            name: value is None or (isinstance(value, str) and value == TRAITLESS[name])
            for name, value in given.items()
        }
        return {name: value for name, value in given.items() if not is_default[name]}

    @property
    def needs_alike(self) -> bool:
        """Whether what was asked for is only there where judges are alike but for their traits."""
        return bool(self.traits.keys() - {"items"})

    @property
    def why_alike(self) -> str:
        """What is only there where judges are alike but for their traits, in words; empty if nothing is."""
        told = {"interactions": "interactions", "random": "random effects", "unlinked": "groups that are apart"}
        named = [what for name, what in told.items() if name in self.traits]
        return f"{' and '.join(named)} are those of judges who are alike but for their traits" if named else ""

    @property
    def is_alike(self) -> bool:
        """Whether judges are alike by what was asked for."""
        return self.model == "btl" or self.needs_alike

    def _told(self) -> list[str | Hint]:
        """The first argument about traits."""
        name = next(iter(self.traits.keys() - {"items"} or self.traits))
        value = self.traits[name]
        return [Hint(name, value if isinstance(value, str) else None)]

    def with_outcomes(self, data: Comparisons) -> Asked:
        """The same with the ties, or the grades, whose parameters were asked for, where nothing was said of these."""
        if self.tie == AUTO or self.ties != AUTO:
            return self
        if number_of_grades(data.outcome) > 3:
            return replace(self, ties="ordinal")
        if not np.isin(data.outcome, (0.0, 0.5, 1.0)).all() or not (data.outcome == 0.5).any():
            raise OptionError(
                Hint("tie", self.tie), " has no effect: no verdict is a tie or one of several grades. Leave it out."
            )
        return replace(self, ties="davidson")

    @property
    def fewest_judges(self) -> int:
        """How many judges the model that is asked for must have."""
        if self.rank != AUTO:
            return int(self.rank) + 1
        return 2 if self.model == "hja" else 1

    @property
    def covariates(self) -> dict[str, Any]:
        """Covariates, traits, and declared terms that no rule chooses, as arguments of a model."""
        declared = {name: scope for name, scope in self.declared.items() if scope not in (AUTO, None)}
        return {"exog": self.exog, "judge_exog": self.judge_exog, **declared, **self.traits}


def _is_auto(value: Any) -> bool:
    """Whether it is to be chosen; tables and arrays are refused later, instead of being compared."""
    return isinstance(value, str) and value == AUTO
