"""Linear terms: what moves a verdict beside the scores, declared once.

Packing, parameter names, tables, the summary, contrasts, comparison of models, files, the command line, prediction and simulation
read these declarations. A term with an option of its own is one more :class:`TermKind` in ``OPTIONS`` and one more argument of the
models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ..errors import ComparisonError
from ..words import quoted

# Whose coefficient it is: nobody's, one for all judges, or one for each.
SCOPES = (None, "common", "judge")
# Predictors that terms move: the log-odds, and from 1 on the parameters of the response.
LOG_ODDS = 0


@dataclass(frozen=True)
class TermKind:
    """What is known of a term before there are data.

    Attributes
    ----------
    name : str
        Of the option and of its parameters.
    label : str
        In the short name of a model.
    title : str
        Over its table in the summary.
    help : str
        On the command line.
    moves : int
        Predictor it adds to: the log-odds, or a parameter of the response, counted from 1.
    column : callable, optional
        Its regressor from the columns of a table of comparisons; by default one for every comparison.
    needs : tuple of str
        Columns that takes.
    null : float or None
        Value that says there is no such effect; None if no value does.
    absent : float
        Coefficient of judges who have no parameter because their verdicts put it at infinity.
    """

    name: str
    label: str
    title: str
    help: str = ""
    moves: int = LOG_ODDS
    column: Callable[[pd.DataFrame], Any] | None = None
    needs: tuple[str, ...] = ()
    null: float | None = 0.0
    absent: float = 0.0

    def of_table(self, columns: pd.DataFrame) -> np.ndarray:
        """Regressor of every comparison of a table, shape (n_rows, 1).

        Raises
        ------
        ComparisonError
            If the table lacks a column it takes.
        """
        if absent := [name for name in self.needs if name not in columns]:
            raise ComparisonError(
                f"{self.name} needs the columns {quoted(self.needs)} of the data, {quoted(absent)} not found."
            )
        values = np.ones(len(columns)) if self.column is None else np.asarray(self.column(columns), dtype=float)
        if not np.isfinite(values).all():
            raise ComparisonError(
                f"{self.name} has missing or infinite values, from the columns {quoted(self.needs)}: leave those "
                "comparisons out or fill them in."
            )
        return values.reshape(len(columns), 1)


POSITION = TermKind(
    name="position",
    label="position",
    title="position (log-odds bonus of the item shown first)",
    help="bonus of the item shown first",
)

# Terms that the models take as arguments under these names, in the order of their parameters.
OPTIONS = {kind.name: kind for kind in (POSITION,)}


@dataclass(frozen=True)
class Term:
    """A term of one model: a covariate, or a declared kind with its scope.

    Attributes
    ----------
    name : str
    scope : {"common", "judge"}
    kind : TermKind, optional
        None for covariates.
    held : tuple of int
        Judges without a parameter.
    held_at : tuple of float
        The coefficient of each of them; ``kind.absent`` by default.
    part_of : str
        The term of a formula that made this column, and perhaps others; itself by default.
    """

    name: str
    scope: str
    kind: TermKind | None = None
    held: tuple[int, ...] = ()
    held_at: tuple[float, ...] = ()
    part_of: str = ""

    @property
    def group(self) -> str:
        """The term of the formula that this is a column of, or itself."""
        return self.part_of or self.name

    @property
    def moves(self) -> int:
        """Predictor it adds to."""
        return LOG_ODDS if self.kind is None else self.kind.moves

    @property
    def title(self) -> str:
        """Over its table in the summary."""
        return self.name if self.kind is None else self.kind.title

    @property
    def label(self) -> str:
        """In the short name of a model: a kind is one per judge unless said otherwise, a covariate one for all."""
        if self.kind is None:
            return self.group if self.scope == "common" else f"{self.group} per judge"
        return self.kind.label if self.scope == "judge" else f"common {self.kind.label}"

    @property
    def is_constant(self) -> bool:
        """Whether every comparison has it, so that it is part of any log-odds, not only of those with covariates."""
        return self.kind is not None and self.kind.column is None and self.moves == LOG_ODDS


@dataclass(frozen=True)
class Terms:
    """All terms of a model, in the order of their coefficients.

    Examples
    --------
    >>> terms = Terms(shared=(Term("length", "common"),), own=(Term("position", "judge", POSITION),))
    >>> terms.scope("position"), terms.scope("length"), terms.scope("tie")
    ('judge', 'common', None)
    """

    shared: tuple[Term, ...] = ()
    own: tuple[Term, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.shared or self.own)

    def __iter__(self) -> Any:
        return iter((*self.shared, *self.own))

    @property
    def shared_names(self) -> tuple[str, ...]:
        """Names of the terms common to all judges."""
        return tuple(term.name for term in self.shared)

    @property
    def own_names(self) -> tuple[str, ...]:
        """Names of the terms each judge has for itself."""
        return tuple(term.name for term in self.own)

    def named(self, name: str) -> Term | None:
        """The term of a name; None if there is none."""
        return next((term for term in self if term.name == name), None)

    def scope(self, name: str) -> str | None:
        """Whose a term is; None if there is none of the name."""
        term = self.named(name)
        return None if term is None else term.scope

    def grouped(self) -> dict[str, list[str]]:
        """Names of the terms by the term of the formula that made them, those of judges and of all apart.

        Examples
        --------
        >>> gather(["C(x)[a]", "C(x)[b]"], ["x"], {}, [], {"C(x)[a]": "C(x)", "C(x)[b]": "C(x)"}).grouped()
        {'C(x)': ['C(x)[a]', 'C(x)[b]'], 'x': ['x']}
        """
        shared = {term.group for term in self.shared}
        result: dict[str, list[str]] = {}
        for term in self:
            is_both = term.scope == "judge" and term.group in shared
            result.setdefault(f"{term.group} per judge" if is_both else term.group, []).append(term.name)
        return result

    def covariates(self, scope: str) -> list[str]:
        """Names of the terms that are covariates."""
        return [term.name for term in self if term.kind is None and term.scope == scope]

    @cached_property
    def shared_moves(self) -> np.ndarray:
        """Predictor that each shared term moves, shape (m,)."""
        return np.array([term.moves for term in self.shared], dtype=int)

    @cached_property
    def own_moves(self) -> np.ndarray:
        """Predictor that each own term moves, shape (e,)."""
        return np.array([term.moves for term in self.own], dtype=int)

    @property
    def move_odds(self) -> bool:
        """Whether some term moves the log-odds, not only parameters of the response."""
        return any(term.moves == LOG_ODDS for term in self)

    def absent(self, n_judges: int) -> np.ndarray:
        """Coefficients of the own terms where there is no parameter, and zero elsewhere, shape (n_judges, e)."""
        result = np.zeros((n_judges, len(self.own)))
        for e, term in enumerate(self.own):
            if term.held:
                result[list(term.held), e] = term.held_at or (0.0 if term.kind is None else term.kind.absent)
        return result

    @cached_property
    def held(self) -> list[tuple[int, int]]:
        """Judges and own terms without a parameter, as pairs of positions."""
        return [(judge, e) for e, term in enumerate(self.own) for judge in term.held]

    def is_parameter(self, n_judges: int) -> np.ndarray:
        """Which own coefficients are parameters, shape (n_judges, e)."""
        result = np.ones((n_judges, len(self.own)), dtype=bool)
        for judge, e in self.held:
            result[judge, e] = False
        return result


NO_TERMS = Terms()


def gather(
    covariates: list[str],
    judge_covariates: list[str],
    scopes: dict[str, str | None],
    response: list[Term],
    parts: Mapping[str, str] | None = None,
) -> Terms:
    """The terms of a model: covariates, declared kinds with their scopes, and the parameters of the response.

    ``parts`` names the terms of a formula that covariates are columns of.

    Examples
    --------
    >>> gather(["x"], ["z"], {"position": "judge"}, []).own_names
    ('position', 'z')
    """
    made_by = parts or {}
    declared = [Term(name, scope, OPTIONS[name]) for name, scope in scopes.items() if scope is not None]
    everything = [
        *(Term(name, "common", part_of=made_by.get(name, "")) for name in covariates),
        *(term for term in declared if term.scope == "common"),
        *(term for term in declared if term.scope == "judge"),
        *(Term(name, "judge", part_of=made_by.get(name, "")) for name in judge_covariates),
        *response,
    ]
    return Terms(
        tuple(term for term in everything if term.scope == "common"),
        tuple(term for term in everything if term.scope == "judge"),
    )
