"""Which models are nested, which of them were fitted to the same data, and where a likelihood ratio is regular."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..data.cells import Cells
from ..data.comparisons import Comparisons
from ..errors import ComparisonError
from ..fitted import Fit, Observations
from ..model.layout import Layout
from ..model.response import is_soft
from ..model.structures import largest_rank
from ..model.tangent import TangentBasis
from ..model.terms import LOG_ODDS, SCOPES, Term
from ..population import PopulationFit
from ..words import quoted

# Part of a regressor that least squares may leave by rounding.
_SPANNED = 1e-9


@dataclass(frozen=True)
class Candidate:
    """A fit to be compared with others, with what it was made from; None after that was removed."""

    fit: Fit
    observed: Observations | None

    @property
    def data(self) -> Comparisons | None:
        """The comparisons; None after they were removed."""
        return None if self.observed is None else self.observed.data

    @property
    def name(self) -> str:
        """Short name of the model, with what its estimate was held to."""
        return self.fit.name

    @property
    def has_soft_preferences(self) -> bool:
        """Whether the likelihood is a quasi-likelihood, whose ratios are not chi-squared."""
        return self.data is not None and bool(is_soft(self.fit.design.response, self.data.outcome).any())

    def has_same_terms(self, other: Candidate) -> bool:
        """Whether another model differs in nothing but its scores."""
        ours, theirs = ([(term.name, term.scope) for term in fit.layout.terms] for fit in (self.fit, other.fit))
        return ours == theirs


def level(layout: Layout) -> int:
    """Place of the score structure in the chain BTL < JA < HJA(1) < ... < judge-wise BTL."""
    return layout.structure.level(len(layout.judges), len(layout.items))


def is_nested(small: Candidate, large: Candidate) -> bool:
    """Whether the first model is a special case of the second."""
    return (
        level(small.fit.layout) <= level(large.fit.layout)
        and _has_scores(large.fit, small.fit)
        and _is_held(small.fit, large.fit)
        and has_same_offset(small, large)
        and all(_is_within(term, small, large) for term in small.fit.layout.terms)
    )


def _has_scores(large: Fit, small: Fit) -> bool:
    """Whether scores that follow from traits are among those of a larger model; of others their level says it."""
    below, above = small.layout.structure, large.layout.structure
    if not (below.own_kinds or above.own_kinds or above.groups):
        return True
    inner, outer = small.tangent, large.tangent
    if above.has_sensitivities and (below.has_sensitivities or not below.judges_differ):
        # Of low rank both: what matters is which items' scores there may be.
        outside = _beyond(_item_directions(inner), _item_directions(outer)) if above.own_kinds else np.zeros(0)
        return bool(np.abs(outside).max(initial=0.0) <= _SPANNED)
    if below.has_sensitivities or above.has_sensitivities:
        return not (above.has_sensitivities or above.own_kinds)
    left = _beyond(inner.shared_items, outer.judge_items)
    if np.abs(left).max(initial=0.0) <= _SPANNED:
        return True
    beyond = _beyond(inner.shared_judges, outer.shared_judges), _beyond(left, outer.shared_items)
    return not inner.judge_items.size and max(np.abs(part).max() for part in beyond) <= _SPANNED


def _item_directions(tangent: TangentBasis) -> np.ndarray:
    """All that items may move along, shape (n_items, p)."""
    return np.hstack([tangent.judge_items, tangent.shared_items])


def _is_held(small: Fit, large: Fit) -> bool:
    """Whether a fit is held to all that the larger one is held to."""
    held = set() if small.restriction is None else set(small.restriction.labels)
    return large.restriction is None or held >= set(large.restriction.labels)


def has_same_offset(small: Candidate, large: Candidate) -> bool:
    """Whether the same is known to be added to the log-odds, row by row, in both models."""
    assert small.observed is not None
    assert large.observed is not None
    return np.array_equal(small.observed.rows.offset, large.observed.rows.offset) or not (
        small.fit.design.has_offset or large.fit.design.has_offset
    )


def _is_within(term: Term, small: Candidate, large: Candidate) -> bool:
    """Whether the larger model has a term, by name and by value, or others that add up to it.

    A slope common to all judges is a special case of one for each.
    """
    column, other = _column(term, small), large.fit.layout.terms.named(term.name)
    if (
        other is not None
        and SCOPES.index(term.scope) <= SCOPES.index(other.scope)
        and (term.kind is None) == (other.kind is None)
        and np.array_equal(column, _column(other, large))
    ):
        return True
    return term.moves == LOG_ODDS and _is_spanned(column, term.scope, large)


def _is_spanned(column: np.ndarray, scope: str, large: Candidate) -> bool:
    """Whether a regressor of the log-odds is a combination of those of a model; one for each judge, of each judge's own."""
    assert large.observed is not None
    rows = large.observed.rows
    if len(rows.n) != len(column):
        return False
    own = rows.judge_terms[:, rows.terms.own_moves == LOG_ODDS]
    shared = (
        rows.shared_terms[:, rows.terms.shared_moves == LOG_ODDS] if scope == "common" else np.zeros((len(column), 0))
    )
    left = np.column_stack([column, shared])
    for k in range(rows.n_judges) if own.shape[1] else ():
        some = rows.judge == k
        left[some] = _beyond(left[some], own[some])
    return bool(np.abs(_beyond(left[:, 0], left[:, 1:])).max() <= _SPANNED * np.abs(column).max())


def _beyond(columns: np.ndarray, others: np.ndarray) -> np.ndarray:
    """What is left of columns after least squares on others."""
    return columns - others @ np.linalg.lstsq(others, columns, rcond=None)[0]


def _column(term: Term, candidate: Candidate) -> np.ndarray:
    """The regressor of a term, row by row."""
    assert candidate.observed is not None
    rows = candidate.observed.rows
    if term.scope == "common":
        return rows.shared_terms[:, rows.terms.shared_names.index(term.name)]
    return rows.judge_terms[:, rows.terms.own_names.index(term.name)]


def is_regular(small: Candidate, large: Candidate) -> bool:
    """Whether twice the log-likelihood difference of nested models is chi-squared under the smaller one.

    An added direction of disagreement has no sensible value under the smaller model, except where it makes the scores unrestricted.
    A parameter of the larger model on its boundary, such as the propensity of a judge that never ties, is not regular either.
    """
    layout = large.fit.layout
    low, high = level(small.fit.layout), level(layout)
    scopes = {term.name: term.scope for term in small.fit.layout.terms}
    if isinstance(large.fit, PopulationFit):
        # Variances against zero lie on the boundary: spread_test and rank_test are about them.
        if not isinstance(small.fit, PopulationFit):
            return False
        own = [fit.space_layout.effects[1 + fit.layout.rank :] for fit in (small.fit, large.fit)]
        return low == high and own[0] == own[1]
    if any(term.held and scopes.get(term.name) != term.scope for term in layout.terms):
        return False
    is_linear = not layout.structure.has_sensitivities
    largest = largest_rank(layout.structure, len(layout.judges), len(layout.items))
    return is_linear or low == high or (low < 0 and high == 0) or high == largest


def check_nested(small: Candidate, large: Candidate) -> None:
    """Refuse to test models of different data, or models of which the first is no special case of the second.

    Raises
    ------
    ComparisonError
    """
    check_same_data([large, small])
    if not is_nested(small, large) or small.fit.df >= large.fit.df:
        raise ComparisonError(f"{small.name} is not nested in {large.name}.")


def check_same_data(candidates: Sequence[Candidate]) -> None:
    """Refuse to compare fits to different data.

    Raises
    ------
    ComparisonError
    """
    penalised = [candidate.name for candidate in candidates if candidate.fit.penalty is not None]
    if penalised:
        raise ComparisonError(
            f"likelihoods of regularised fits are not maxima and do not compare: {quoted(penalised)}."
        )
    sampled = [candidate.name for candidate in candidates if isinstance(candidate.fit, PopulationFit)]
    fixed = [
        candidate.name
        for candidate in candidates
        if candidate.name not in sampled and candidate.fit.layout.has_judge_parameters
    ]
    if sampled and fixed:
        raise ComparisonError(
            f"{quoted(sampled)} is about a population these judges were drawn from, {quoted(fixed)} about these very judges: their "
            "likelihoods do not compare. Held-out verdicts do: predict them with both."
        )
    first, response = candidates[0].data, candidates[0].fit.design.response
    if first is None:
        raise ComparisonError("the data of these results were removed: compare models before remove_data().")
    for other in candidates[1:]:
        if other.fit.design.response.verdicts != response.verdicts:
            raise ComparisonError(
                "models with ties as an outcome and models without have different outcomes: their likelihoods do not compare."
            )
        data = other.data
        if data is first:
            continue
        if data is None or (data.judges, data.items) != (first.judges, first.items):
            raise ComparisonError(
                "the models were fitted to different judges or items: their likelihoods do not compare."
            )
        ordered = not all(candidate.fit.design.is_plain for candidate in candidates)
        if not _same_cells(_counts(data, ordered), _counts(first, ordered)):
            raise ComparisonError(
                f"the models were fitted to different verdicts ({first.n_comparisons:g} and {data.n_comparisons:g} "
                "comparisons): their likelihoods do not compare."
            )


def _counts(data: Comparisons, ordered: bool) -> Cells:
    """Cells of the data, with the order of presentation if any of the models uses it."""
    return data.ordered_cells if ordered else data.cells


def _same_cells(left: Cells, right: Cells) -> bool:
    same = len(left.n) == len(right.n) and all(
        np.array_equal(getattr(left, name), getattr(right, name)) for name in ("judge", "first", "second")
    )
    return same and np.allclose(left.n, right.n) and np.allclose(left.y, right.y)
