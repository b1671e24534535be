"""Tables of pairs that say who won in another way: winner and loser, chosen and rejected, a column for each judge."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import pandas as pd

from ..errors import ComparisonError, Hint
from ..words import quoted
from .answers import hold_answers
from .roles import OUTCOME_COLUMNS, Names, Roles, named_column
from .shape import Found, Given, Laid, Shape, find_judge, find_pair, find_weight, names_pairs, with_roles
from .vocabulary import BOTH_BAD_LABELS, UNUSABLE_LABELS, graded

# Pairs of names for the item that was preferred and the other one.
_PREFERRED = (
    ("chosen_model", "rejected_model"),
    ("winner_model", "loser_model"),
    ("winning_model", "losing_model"),
    ("model_chosen", "model_rejected"),
    ("chosen", "rejected"),
    ("preferred", "other"),
)


def _find_preferred(pairs: tuple[tuple[str, str], ...]) -> Shape:
    def find(names: Names, given: Given) -> Found | None:
        if names_pairs(given):
            return None
        found = ([a, b] for one, other in pairs if (a := names.find(one)) and (b := names.find(other)))
        pair = next(found, None)
        if pair is None or (not given.is_named and find_pair(names)):
            return None
        others = [name for alias in OUTCOME_COLUMNS if (name := names.find(alias)) is not None and name not in pair]
        if others and not given.is_named:
            raise ComparisonError(
                f"the columns {quoted(pair)} say who won, but {quoted(others)} may be an outcome too: pass ",
                *(Hint("first", pair[0]), ", ", Hint("second", pair[1]), " and ", Hint("outcome", others[0])),
                *(" if it is one, or ", Hint("format", "winner_loser"), " if it is not."),
            )
        return {
            "first": pair[0],
            "second": pair[1],
            "judge": find_judge(names, given),
            "weight": find_weight(names, given),
        }

    return Shape(find, _lay_preferred, ("weight",))


def _lay_preferred(frame: pd.DataFrame, found: Found, given: Given) -> Laid:
    """The first won every row; what was shown first is not known."""
    pair = [found["first"], found["second"]]
    if hold_answers(frame[pair]):
        raise ComparisonError(
            *(f"the columns {quoted(pair)} hold answers, not the names of items: pass ", Hint("first", "column")),
            *(" and ", Hint("second", "column"), ", which name the model whose answer was chosen and the one whose "),
            *(
                "was rejected, with ",
                Hint("format", "winner_loser"),
                "; without such columns there is nothing to rank.",
            ),
        )
    roles = Roles(found["judge"], found["first"], found["second"], None, found["weight"])
    return Laid(frame, roles, has_order=False)


def _find_named_preferred(names: Names, given: Given) -> Found | None:
    """Columns the user has named, in a format the user has named."""
    roles = given.roles
    if not given.is_named or roles.first is None or roles.second is None:
        return _WINNER_LOSER.find(names, given)
    return {
        "first": named_column(names.all, roles.first, "first"),
        "second": named_column(names.all, roles.second, "second"),
        "judge": find_judge(names, given),
        "weight": find_weight(names, given),
    }


def _find_wide(names: Names, given: Given) -> Found | None:
    """Two items, and verdicts in several columns, which the user names or :func:`verdict_columns` finds."""
    roles = given.roles
    if not isinstance(roles.outcome, list | tuple) and not given.is_named:
        return None
    pair = find_pair(names)
    if roles.first is not None and roles.second is not None:
        pair = (named_column(names.all, roles.first, "first"), named_column(names.all, roles.second, "second"))
    if pair is None:
        raise ComparisonError(
            f"no pair of item columns found among {quoted(names.all, 12)}: pass ",
            *(Hint("first", "column"), " and ", Hint("second", "column"), " to name the items that were compared."),
        )
    wanted = roles.outcome if isinstance(roles.outcome, list | tuple) else []
    verdicts = [named_column(names.all, name, "outcome") for name in wanted]
    return {"first": pair[0], "second": pair[1], "verdicts": verdicts, "weight": find_weight(names, given)}


def _lay_wide(frame: pd.DataFrame, found: Found, given: Given) -> Laid:
    """One row for each judge that said something; the column names the judge."""
    verdicts = found["verdicts"] or verdict_columns(frame, [found["first"], found["second"], found["weight"]])
    if not verdicts:
        raise ComparisonError(
            "no columns of verdicts were found: pass ", Hint("outcome", ["column"]), " to name one for each judge."
        )
    _refuse_one_hot(frame, verdicts)
    others = frame.drop(columns=[found["first"], found["second"], *verdicts])
    n = len(frame)
    row = np.tile(np.arange(n), len(verdicts))
    long = frame.iloc[row].reset_index(drop=True)
    table, roles = with_roles(
        long,
        others.iloc[row].reset_index(drop=True),
        judge=np.repeat(np.array([str(name) for name in verdicts], dtype=object), n),
        first=long[found["first"]],
        second=long[found["second"]],
        outcome=pd.concat([frame[name] for name in verdicts], ignore_index=True),
        weight=None if found["weight"] is None else long[found["weight"]],
    )
    made_of = f"{n:,} rows with a column for each of {quoted(verdicts)}"
    return Laid(table, roles, made_of=made_of, is_own=False)


def _refuse_one_hot(frame: pd.DataFrame, verdicts: list[Hashable]) -> None:
    """Refuse columns of which each stands for a verdict, with a one in the rows that have it, instead of for a judge."""
    text = [frame[name].astype(str).str.strip().str.lower() for name in verdicts]
    is_one = np.column_stack([column.isin(["1", "1.0", "true"]) for column in text])
    is_zero = np.column_stack([column.isin(["0", "0.0", "false"]) for column in text])
    if (
        len(verdicts) < 2
        or not (is_one | is_zero).all()
        or (is_one.sum(axis=1) > 1).any()
        or len(frame) < len(verdicts)
    ):
        return
    one, other, *ties = verdicts
    raise ComparisonError(
        f"the columns {quoted(verdicts)} hold zeros and at most a single one in every row: each seems to stand for a verdict, "
        "not for a judge. Pass ",
        *(Hint("first_wins", one), " and ", Hint("second_wins", other)),
        *(" and ", Hint("tied", ties[0])) * bool(ties),
        ", if that is what they say, or ",
        *(Hint("format", "one_hot"), " if all are called winner_ and the verdict."),
    )


def verdict_columns(frame: pd.DataFrame, taken: list[Hashable]) -> list[Hashable]:
    """The columns of text that say nothing but verdicts, and at least one that is not left out.

    Examples
    --------
    >>> table = pd.DataFrame({"model_a": ["x"], "model_b": ["y"], "gpt-4": ["[[A]]"], "claude": ["tie"], "note": ["fine"]})
    >>> verdict_columns(table, ["model_a", "model_b"])
    ['gpt-4', 'claude']
    """
    found: list[Hashable] = []
    try:
        items = {str(label) for name in taken[:2] for label in frame[name].unique()}
    except TypeError:
        return found
    for name, column in frame.items():
        if name in taken or column.dtype.kind in "ifubcmM":
            continue
        try:
            values = column.dropna().unique()
        except TypeError:
            continue
        if not 0 < len(values) <= len(items) + 50 or not all(isinstance(value, str) for value in values):
            continue
        words = {value.strip().casefold() for value in values if value not in items}
        useful = {word for word in words if word not in UNUSABLE_LABELS}
        is_known = all(graded(word) is not None or word in BOTH_BAD_LABELS for word in useful)
        if is_known and (useful or any(value in items for value in values)):
            found.append(name)
    return found


_WINNER_LOSER = _find_preferred((("winner", "loser"), *_PREFERRED))
EVERYDAY = {
    "winner_loser": Shape(_find_named_preferred, _lay_preferred, ("weight",)),
    "chosen_rejected": _find_preferred(_PREFERRED),
    "wide": Shape(_find_wide, _lay_wide, ("weight",)),
}
