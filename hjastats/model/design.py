"""Cells with what a model assumes about them: the terms their columns belong to, and the response that gave the verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ..data.cells import Cells
from ..errors import REMOVED, IdentificationError
from .response import Response
from .responses import BINARY
from .terms import LOG_ODDS, NO_TERMS, Term, Terms


@dataclass(frozen=True)
class Coefficients:
    """Everything the linear predictor depends on.

    Attributes
    ----------
    scores : ndarray, shape (n_judges, n_items)
    judge : ndarray, shape (n_judges, e)
        Coefficients of the terms each judge has for itself.
    shared : ndarray, shape (m,)
        Coefficients of the terms common to all judges.
    """

    scores: np.ndarray
    judge: np.ndarray
    shared: np.ndarray

    def with_own_term(self) -> Coefficients:
        """With a coefficient of zero for one more term of every judge, before all others."""
        return replace(self, judge=np.hstack([np.zeros((len(self.judge), 1)), self.judge]))


@dataclass(frozen=True)
class Design(Cells):
    """Counts of one model.

    Attributes
    ----------
    terms : Terms
        Of the columns ``judge_terms`` and ``shared_terms``, in their order.
    response : Response
        Which verdicts there are; its ``counts`` are those of the cells.
    """

    terms: Terms = NO_TERMS
    response: Response = BINARY

    @classmethod
    def of(cls, cells: Cells, terms: Terms = NO_TERMS, response: Response = BINARY) -> Design:
        """Some cells with their columns, as a model sees them."""
        return cls(
            **{field.name: getattr(cells, field.name) for field in fields(Cells)}, terms=terms, response=response
        )

    @property
    def is_plain(self) -> bool:
        """Whether scores alone move the verdicts."""
        return not self.terms and not self.has_offset

    @cached_property
    def is_free(self) -> np.ndarray:
        """Which of the linear coefficients (shared, then judge by judge) are parameters, shape (m + n_judges * e,)."""
        return np.concatenate([np.ones(self.n_shared_terms, dtype=bool), self.is_own_parameter.ravel()])

    @cached_property
    def n_linear(self) -> int:
        """Number of linear coefficients that are parameters."""
        return int(self.is_free.sum())

    @cached_property
    def is_own_parameter(self) -> np.ndarray:
        """Which of the judges' own coefficients are parameters, shape (n_judges, e)."""
        return self.terms.is_parameter(self.n_judges)

    def coefficients(self, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Linear coefficients (..., n_linear) as those of the judges (..., n_judges, e), zero where held, and shared (..., m)."""
        linear = np.zeros((*free.shape[:-1], len(self.is_free)))
        linear[..., self.is_free] = free
        shared, own = np.split(linear, [self.n_shared_terms], axis=-1)
        return own.reshape(*free.shape[:-1], self.n_judges, self.n_judge_terms), shared

    @cached_property
    def judge_terms_by_predictor(self) -> list[tuple[np.ndarray | slice, np.ndarray]]:
        """For the log-odds and every parameter of the response: which own terms move it, and their columns."""
        return _by_predictor(self.terms.own_moves, self.judge_terms, self.response)

    @cached_property
    def shared_terms_by_predictor(self) -> list[tuple[np.ndarray | slice, np.ndarray]]:
        """For the log-odds and every parameter of the response: which shared terms move it, and their columns."""
        return _by_predictor(self.terms.shared_moves, self.shared_terms, self.response)

    def with_own_term(self, term: Term, column: np.ndarray) -> Design:
        """The design with one more term of every judge, before all others."""
        terms = replace(self.terms, own=(term, *self.terms.own))
        return replace(self, terms=terms, judge_terms=np.hstack([column[:, None], self.judge_terms]))

    def without(self, name: str) -> Design:
        """The design with the columns of a term set to zero, as if nobody had its advantage."""
        return replace(
            self,
            judge_terms=np.where([term.name == name for term in self.terms.own], 0.0, self.judge_terms),
            shared_terms=np.where([term.name == name for term in self.terms.shared], 0.0, self.shared_terms),
        )


class RemovedCells:
    """Stands where the cells of a fit were before they were removed; whoever asks for them is told so.

    Examples
    --------
    >>> RemovedCells(NO_TERMS, BINARY, has_offset=False).n
    Traceback (most recent call last):
        ...
    hjastats.errors.IdentificationError: the data of these results were removed: this needs them.
    """

    def __init__(self, terms: Terms, response: Response, *, has_offset: bool) -> None:
        self.terms, self.response, self.has_offset = terms, response, has_offset

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise IdentificationError(REMOVED)


def _by_predictor(
    moves: np.ndarray, columns: np.ndarray, response: Response
) -> list[tuple[np.ndarray | slice, np.ndarray]]:
    if (moves == LOG_ODDS).all():
        return [(slice(None), columns), *[(np.zeros(0, dtype=int), columns[:, :0])] * len(response.parameters)]
    which = [np.flatnonzero(moves == p) for p in range(1 + len(response.parameters))]
    return [(some, columns[:, some]) for some in which]


def assemble(
    cells: Cells,
    outcome: np.ndarray,
    terms: Terms,
    response: Response,
    covariates: Mapping[str, np.ndarray],
    columns: pd.DataFrame,
    offset: np.ndarray | None = None,
) -> Design:
    """Rows of a table with a regressor for each term and the counts of the response.

    Parameters
    ----------
    cells : Cells
        The rows, each a cell of its own.
    outcome : ndarray, shape (n_rows,)
    covariates : mapping of str to ndarray
        Regressors of the terms that are covariates.
    columns : pandas.DataFrame
        Further columns of the table, from which declared terms take theirs.
    offset : ndarray, shape (n_rows,), optional
        What is known to be added to the log-odds.
    """

    def regressors(some: tuple[Term, ...]) -> np.ndarray:
        made = [covariates[t.name][:, None] if t.kind is None else t.kind.of_table(columns) for t in some]
        return np.hstack([np.zeros((len(outcome), 0)), *made])

    plain = replace(
        cells,
        judge_terms=regressors(terms.own),
        shared_terms=regressors(terms.shared),
        counts=cells.n[:, None] * response.counts(outcome),
        offset=np.zeros((len(outcome), 0)) if offset is None else offset[:, None],
    )
    return Design.of(plain, terms, response)
