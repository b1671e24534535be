"""Terms are declared once; their columns, their order and their absence follow from the declaration."""

from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest

from hjastats.data.cells import Cells, collapse
from hjastats.errors import ComparisonError
from hjastats.model import terms as declarations
from hjastats.model.design import Coefficients, Design, assemble
from hjastats.model.likelihood import evaluate, log_odds, own_predictors
from hjastats.model.responses import BINARY, DAVIDSON, KINDS
from hjastats.model.structures import LowRank
from hjastats.model.terms import LOG_ODDS, NO_TERMS, POSITION, Term, TermKind, Terms, gather
from hjastats.solve.search import search

LONGER = TermKind(
    name="longer",
    label="length",
    title="longer (log-odds bonus of the longer answer)",
    column=lambda columns: np.sign(columns["tokens_a"] - columns["tokens_b"]),
)
TIE = DAVIDSON.parameters[0]
EVERYTHING = Terms(
    shared=(Term("x", "common"), Term("longer", "common", LONGER)),
    own=(Term("position", "judge", POSITION), Term("z", "judge"), Term("tie", "judge", TIE, held=(2, 0))),
)


def test_terms_are_found_by_name_and_know_whose_they_are():
    assert [term.name for term in EVERYTHING] == ["x", "longer", "position", "z", "tie"]
    assert EVERYTHING.shared_names == ("x", "longer")
    assert EVERYTHING.own_names == ("position", "z", "tie")
    scopes = {name: EVERYTHING.scope(name) for name in ("x", "longer", "position", "tie", "nothing")}
    assert scopes == {"x": "common", "longer": "common", "position": "judge", "tie": "judge", "nothing": None}
    assert EVERYTHING.named("z") == Term("z", "judge")
    assert EVERYTHING.named("nothing") is None
    assert bool(EVERYTHING)
    assert not NO_TERMS


def test_covariates_are_the_terms_without_a_declaration():
    assert EVERYTHING.covariates("common") == ["x"]
    assert EVERYTHING.covariates("judge") == ["z"]
    assert NO_TERMS.covariates("judge") == []


def test_only_parameters_of_the_response_move_another_predictor_than_the_log_odds():
    np.testing.assert_array_equal(EVERYTHING.shared_moves, [LOG_ODDS, LOG_ODDS])
    np.testing.assert_array_equal(EVERYTHING.own_moves, [LOG_ODDS, LOG_ODDS, 1])
    assert EVERYTHING.move_odds
    assert not Terms(own=(Term("tie", "judge", TIE),)).move_odds


def test_held_judges_have_no_parameter_and_the_coefficient_that_says_so():
    assert sorted(EVERYTHING.held) == [(0, 2), (2, 2)]
    absent = np.zeros((4, 3))
    absent[[0, 2], 2] = TIE.absent
    np.testing.assert_array_equal(EVERYTHING.absent(4), absent)
    apart = Terms(own=(Term("tie", "judge", TIE, held=(2, 0), held_at=(-50.0, 50.0)),))
    np.testing.assert_array_equal(apart.absent(3), [[50.0], [0.0], [-50.0]])
    expected = np.ones((4, 3), dtype=bool)
    expected[[0, 2], 2] = False
    np.testing.assert_array_equal(EVERYTHING.is_parameter(4), expected)
    assert NO_TERMS.is_parameter(4).shape == (4, 0)


@pytest.mark.parametrize(
    ("term", "label", "title", "is_constant"),
    [
        (Term("x", "common"), "x", "x", False),
        (Term("x", "judge"), "x per judge", "x", False),
        (Term("position", "judge", POSITION), "position", POSITION.title, True),
        (Term("position", "common", POSITION), "common position", POSITION.title, True),
        (Term("longer", "judge", LONGER), "length", LONGER.title, False),
        (Term("tie", "common", TIE), "common ties", "tie", False),
    ],
)
def test_words_of_a_term(term, label, title, is_constant):
    assert (term.label, term.title, term.is_constant) == (label, title, is_constant)


def test_declarations_cannot_be_changed():
    for record in (POSITION, Term("x", "common"), EVERYTHING):
        with pytest.raises(FrozenInstanceError):
            record.name = "other"


def test_terms_are_gathered_in_one_order(monkeypatch):
    """Shared: covariates, declared kinds, the response's. Own: declared kinds, covariates, the response's."""
    monkeypatch.setitem(declarations.OPTIONS, "longer", LONGER)
    for tie in ("common", "judge"):
        found = gather(["x", "y"], ["z"], {"position": "judge", "longer": "common"}, [Term("tie", tie, TIE)])
        assert found.shared_names == ("x", "y", "longer", *["tie"] * (tie == "common"))
        assert found.own_names == ("position", "z", *["tie"] * (tie == "judge"))
        assert found.named("longer").kind is LONGER
        assert found.named("x").kind is None
    both = gather([], [], {"position": "judge", "longer": "judge"}, [])
    assert both.own_names == ("position", "longer")
    assert gather([], [], {"position": None}, []) == NO_TERMS


def test_every_declared_kind_is_known_under_its_name():
    assert KINDS["position"] is POSITION
    assert KINDS["tie"] is TIE
    assert all(name == kind.name for name, kind in KINDS.items())


def test_the_regressor_of_a_kind_comes_from_the_columns_of_the_table():
    columns = pd.DataFrame({"tokens_a": [10, 20, 30], "tokens_b": [30, 20, 10]}, index=[7, 3, 5])
    np.testing.assert_array_equal(LONGER.of_table(columns), [[-1.0], [0.0], [1.0]])
    np.testing.assert_array_equal(POSITION.of_table(columns), np.ones((3, 1)))
    # Whatever the function gives: a list, truth values, a column of a table.
    for column in (lambda c: [1, 0, 1], lambda c: c["tokens_a"] != 20, lambda c: c[["tokens_a"]] != 20):
        made = TermKind("t", "t", "t", column=column).of_table(columns)
        assert made.dtype == float
        np.testing.assert_array_equal(made, [[1.0], [0.0], [1.0]])
    assert POSITION.of_table(pd.DataFrame(index=range(0))).shape == (0, 1)


def test_missing_values_of_a_declared_term_are_refused_by_its_name():
    columns = pd.DataFrame({"tokens_a": [10.0, np.nan], "tokens_b": [30.0, 20.0]})
    with pytest.raises(ComparisonError, match="longer has missing or infinite values"):
        LONGER.of_table(columns)


@pytest.fixture
def rows():
    """Forty rows of three judges and four items, with columns, covariates and outcomes."""
    rng = np.random.default_rng(0)
    n = 40
    judge, first = np.arange(n) % 3, rng.integers(4, size=n)
    second = (first + rng.integers(1, 4, size=n)) % 4
    weight, outcome = rng.integers(1, 4, n) * 1.0, rng.choice([0.0, 0.5, 1.0], n)
    columns = pd.DataFrame({"tokens_a": rng.integers(50, size=n), "tokens_b": rng.integers(50, size=n)})
    covariates = {"x": rng.normal(size=n), "z": rng.normal(size=n)}
    return Cells(judge, first, second, weight, weight * outcome, 3, 4), outcome, covariates, columns


def test_a_design_has_a_column_for_each_term_and_the_counts_of_its_response(rows):
    cells, outcome, covariates, columns = rows
    design = assemble(cells, outcome, EVERYTHING, DAVIDSON, covariates, columns)
    longer = np.sign(columns["tokens_a"] - columns["tokens_b"])
    np.testing.assert_array_equal(design.shared_terms, np.column_stack([covariates["x"], longer]))
    np.testing.assert_array_equal(design.judge_terms, np.column_stack([np.ones(40), covariates["z"], np.ones(40)]))
    np.testing.assert_array_equal(design.counts, (cells.n * (outcome == 0.5))[:, None])
    assert (design.terms, design.response) == (EVERYTHING, DAVIDSON)
    for name in ("judge", "first", "second", "n", "y"):
        np.testing.assert_array_equal(getattr(design, name), getattr(cells, name))
    # Two shared coefficients, three of each of three judges, two of them held.
    assert design.n_linear == design.is_free.sum() == 2 + 3 * 3 - 2
    plain = assemble(cells, outcome, NO_TERMS, BINARY, {}, columns)
    assert (plain.shared_terms.shape, plain.judge_terms.shape, plain.counts.shape) == ((40, 0), (40, 0), (40, 0))


def test_terms_add_to_the_predictor_they_move(rows):
    cells, outcome, covariates, columns = rows
    design = assemble(cells, outcome, EVERYTHING, DAVIDSON, covariates, columns)
    rng = np.random.default_rng(1)
    at = Coefficients(rng.normal(size=(3, 4)), rng.normal(size=(3, 3)), rng.normal(size=2))
    judge = at.judge[cells.judge]
    longer = np.sign(columns["tokens_a"] - columns["tokens_b"])
    expected = at.scores[cells.judge, cells.first] - at.scores[cells.judge, cells.second]
    expected = expected + judge[:, 0] + judge[:, 1] * covariates["z"] + at.shared @ [covariates["x"], longer]
    np.testing.assert_allclose(log_odds(design, at), expected)
    np.testing.assert_allclose(own_predictors(design, at), judge[None, :, 2])
    assert own_predictors(Design.of(cells), Coefficients(at.scores, at.judge[:, :0], at.shared[:0])) is None


def test_without_a_term_nobody_has_its_advantage(rows):
    cells, outcome, covariates, columns = rows
    design = assemble(cells, outcome, EVERYTHING, DAVIDSON, covariates, columns)
    rng = np.random.default_rng(2)
    at = Coefficients(rng.normal(size=(3, 4)), rng.normal(size=(3, 3)), rng.normal(size=2))
    for name, block, column in (
        ("position", "judge_terms", 0),
        ("x", "shared_terms", 0),
        ("longer", "shared_terms", 1),
    ):
        less = design.without(name)
        assert less.terms == design.terms
        coefficient = at.judge[cells.judge, column] if block == "judge_terms" else at.shared[column]
        change = coefficient * getattr(design, block)[:, column]
        np.testing.assert_allclose(log_odds(less, at), log_odds(design, at) - change)
        np.testing.assert_array_equal(own_predictors(less, at), own_predictors(design, at))
    same = design.without("nothing of the kind")
    np.testing.assert_array_equal(same.judge_terms, design.judge_terms)
    np.testing.assert_array_equal(same.shared_terms, design.shared_terms)


def test_a_term_of_every_judge_is_added_before_all_others(rows):
    cells, outcome, covariates, columns = rows
    design = assemble(cells, outcome, EVERYTHING, DAVIDSON, covariates, columns)
    column = np.random.default_rng(3).normal(size=40)
    more = design.with_own_term(Term("slope", "judge"), column)
    assert more.terms.own_names == ("slope", *EVERYTHING.own_names)
    assert more.terms.shared == EVERYTHING.shared
    np.testing.assert_array_equal(more.judge_terms, np.column_stack([column, design.judge_terms]))
    assert sorted(more.terms.held) == [(0, 3), (2, 3)]
    assert more.n_linear == design.n_linear + 3
    # At a coefficient of zero nothing changes.
    at = Coefficients(np.ones((3, 4)), np.full((3, 3), 0.3), np.zeros(2))
    wider = Coefficients(at.scores, np.column_stack([np.zeros(3), at.judge]), at.shared)
    assert evaluate(more, wider).value == pytest.approx(evaluate(design, at).value, rel=1e-14)


def test_a_declared_kind_is_fitted_as_a_covariate_with_the_same_column(rows):
    cells, outcome, _, columns = rows
    longer = LONGER.of_table(columns)[:, 0]
    fits = []
    for term in (Term("longer", "common", LONGER), Term("longer", "common")):
        design = assemble(cells, outcome, Terms((term,)), BINARY, {"longer": longer}, columns)
        fits.append(search(collapse(design), LowRank(0)).best)
    assert fits[0].converged
    assert fits[0].value == pytest.approx(fits[1].value, rel=1e-12)
    np.testing.assert_allclose(fits[0].at.shared, fits[1].at.shared, atol=1e-8)
