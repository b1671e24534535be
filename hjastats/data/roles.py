"""Which column of a table plays which role: found by the names in common use when certain, never guessed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import TypeAlias

from ..errors import ComparisonError, Hint
from ..words import quoted

ITEM_COLUMNS = (
    ("model_a", "model_b"),
    ("item_a", "item_b"),
    ("left", "right"),
    ("model_1", "model_2"),
    ("generator_1", "generator_2"),
    ("player1", "player2"),
    ("first", "second"),
)
JUDGE_COLUMNS = ("judge", "judge_model", "judge_name", "annotator", "worker", "performer", "rater", "user", "user_id")
OUTCOME_COLUMNS = (
    *("winner", "judge_preferred_model", "outcome", "preference", "label", "verdict"),
    *("vote", "choice", "win", "winner_side", "p_a"),
)
WEIGHT_COLUMNS = ("weight", "weights")
_BOTH_ITEMS = (Hint("first"), " and ", Hint("second"))
# Columns by their name without regard to case, in the order of the table.
Folded: TypeAlias = "dict[str, list[Hashable]]"


@dataclass(frozen=True)
class Roles:
    """Column names by role; without an outcome column the first item won every row."""

    judge: Hashable | None = None
    first: Hashable | None = None
    second: Hashable | None = None
    outcome: Hashable | None = None
    weight: Hashable | None = None
    first_wins: Hashable | None = None
    second_wins: Hashable | None = None
    tied: Hashable | None = None

    @property
    def numbers(self) -> dict[str, Hashable]:
        """The columns that count verdicts, by role."""
        roles = ("weight", "first_wins", "second_wins", "tied")
        return {role: name for role in roles if (name := getattr(self, role)) is not None}

    def taken(self) -> list[Hashable]:
        """The columns that have a role."""
        return [name for name in vars(self).values() if name is not None]


def find_roles(names: list[Hashable], asked: Roles, has_judge: bool) -> Roles:
    """Complete the roles the user has asked for from the column names."""
    if len(set(names)) < len(names):
        repeated = [name for name, count in Counter(names).items() if count > 1]
        raise ComparisonError(f"column names must differ, but {quoted(repeated)} occurs more than once: rename them.")
    problems: list[ComparisonError] = []
    found: dict[str, Hashable] = {}
    for role, name in vars(asked).items():
        if name is not None:
            # In place of a column that is not there, so that the role counts as taken.
            found[role] = f"({role})"
            with _collected(problems):
                found[role] = named_column(names, name, role)
    if len(set(found.values())) < len(found):
        given = [piece for role, name in found.items() for piece in (", ", Hint(role, name))][1:]
        raise ComparisonError("one column was given two roles (", *given, "): name a different column for each.")
    has_counts = _has_counts(found)
    folded: Folded = {}
    for name in names:
        folded.setdefault(_folded(name), []).append(name)
    with _collected(problems):
        found |= _find_items(folded, found)
    wanted: list[tuple[str, Sequence[str]]] = [("judge", JUDGE_COLUMNS)] if has_judge else []
    wanted += [] if has_counts else [("outcome", OUTCOME_COLUMNS), ("weight", WEIGHT_COLUMNS)]
    asked_about = set()
    for role, aliases in wanted:
        try:
            found |= _find_one(folded, found, role, aliases)
        except ComparisonError as error:
            problems.append(error)
            asked_about.add(role)
    if has_judge and "judge" not in found and "judge" not in asked_about:
        problems.append(_no_judge([] if problems else names))
    has_winner = [_folded(found.get(role)) for role in ("first", "second")] == ["winner", "loser"]
    if not (has_counts or "outcome" in found or has_winner or "outcome" in asked_about):
        problems.append(_no_outcome([] if problems else names))
    if problems:
        # All that is missing at once, not one thing in every run.
        raise ComparisonError(*[piece for error in problems for piece in (" ", *error.args)][1:])
    return Roles(**found)


@contextmanager
def _collected(problems: list[ComparisonError]) -> Iterator[None]:
    """Go on after an error, and remember it."""
    try:
        yield
    except ComparisonError as error:
        problems.append(error)


def _not_found(role: str, names: list[Hashable]) -> str:
    """That a column is missing, and among which names, if these have not been told."""
    return f"no {role} column found among {quoted(names, 12)}" if names else f"No {role} column was found"


def _no_judge(names: list[Hashable]) -> ComparisonError:
    return ComparisonError(
        f"{_not_found('judge', names)}: pass ",
        *(Hint("judge", "column"), ", or ", Hint("single_judge", "GPT-4")),
        " if one judge of that name gave all verdicts.",
    )


def _no_outcome(names: list[Hashable]) -> ComparisonError:
    return ComparisonError(
        f"{_not_found('outcome', names)}: pass ",
        *(Hint("outcome", "column"), ", the one that says which item was preferred, or ", Hint("first_wins", "column")),
        *(" and ", Hint("second_wins", "column"), " if there are numbers of wins."),
    )


def _has_counts(found: Mapping[str, Hashable]) -> bool:
    """Whether columns count the wins of either item, in place of an outcome."""
    given = [role for role in ("first_wins", "second_wins", "tied") if role in found]
    if given and not {"first_wins", "second_wins"} <= found.keys():
        raise ComparisonError(
            *("got only ", Hint(given[0]), ": numbers of verdicts need both ", Hint("first_wins"), " and "),
            *(Hint("second_wins"), "."),
        )
    if given and (other := [role for role in ("outcome", "weight") if role in found]):
        raise ComparisonError(
            *(
                "got both ",
                Hint("first_wins"),
                " and ",
                Hint(other[0]),
                ": numbers of wins are outcome and weight in one.",
            )
        )
    return bool(given)


def _find_items(folded: Folded, found: Mapping[str, Hashable]) -> dict[str, Hashable]:
    """The two item columns; winner and loser only when nothing else says who won."""
    if ("first" in found) != ("second" in found):
        raise ComparisonError("got only one of ", Hint("first"), " and ", Hint("second"), ": pass both item columns.")
    if "first" in found:
        return {}
    pairs = [pair for aliases in ITEM_COLUMNS if (pair := _find_pair(folded, found, aliases))]
    if not pairs and "outcome" not in found and (pair := _find_pair(folded, found, ("winner", "loser"))):
        others = [name for name in _matches(folded, OUTCOME_COLUMNS) if name not in {*pair, *found.values()}]
        if others:
            raise ComparisonError(
                f"the columns {quoted(pair)} say who won, but {quoted(others)} may be an outcome too: pass ",
                *(Hint("first"), ", ", Hint("second"), " and ", Hint("outcome")),
                ", or remove the column that does not count.",
            )
        pairs = [pair]
    if len(pairs) > 1:
        listed = " or ".join(f"{str(a)!r} and {str(b)!r}" for a, b in pairs)
        raise ComparisonError(f"the items may be in the columns {listed}: choose with ", *_BOTH_ITEMS, ".")
    if not pairs:
        free = [name for same in folded.values() for name in same if name not in found.values()]
        known = ", ".join("/".join(pair) for pair in (*ITEM_COLUMNS, ("winner", "loser")))
        raise ComparisonError(
            f"no pair of item columns found among {quoted(free, 12)}: pass ",
            *(Hint("first", "column"), " and ", Hint("second", "column")),
            f". Known pairs are {known}.",
        )
    return {"first": pairs[0][0], "second": pairs[0][1]}


def _find_pair(
    folded: Folded, found: Mapping[str, Hashable], aliases: tuple[str, str]
) -> tuple[Hashable, Hashable] | None:
    pair = [_find_one(folded, found, "item", [alias]) for alias in aliases]
    return (pair[0]["item"], pair[1]["item"]) if all(pair) else None


def _find_one(folded: Folded, found: Mapping[str, Hashable], role: str, aliases: Sequence[str]) -> dict[str, Hashable]:
    """The column for a role among those that have none yet; nothing when the role is taken or no name fits."""
    if role in found:
        return {}
    fitting = [name for name in _matches(folded, aliases) if name not in found.values()]
    if len(fitting) > 1:
        choice = _BOTH_ITEMS if role == "item" else (Hint(role),)
        raise ComparisonError(f"several columns may be the {role}: {quoted(fitting, 12)}. Choose with ", *choice, ".")
    return {role: fitting[0]} if fitting else {}


def _matches(folded: Folded, aliases: Sequence[str]) -> list[Hashable]:
    """Columns that carry one of the names, exactly or, where there is none, in another case."""
    found: list[Hashable] = []
    for alias in aliases:
        if same := folded.get(alias):
            found += [alias] if alias in same else same
    return found


def named_column(names: list[Hashable], wanted: Hashable, role: str) -> Hashable:
    """The column the user has named, exactly or in another case.

    Raises
    ------
    ComparisonError
    """
    if not isinstance(wanted, Hashable):
        raise ComparisonError(f"{role} must be the name of a column, got {type(wanted).__name__}.")
    if wanted in names:
        return wanted
    folded = [name for name in names if _folded(name) == _folded(wanted)]
    if len(folded) == 1:
        return folded[0]
    by_text = {_folded(name): str(name) for name in names}
    near = [by_text[text] for text in get_close_matches(_folded(wanted), list(by_text), n=1)]
    those = f"did you mean {near[0]!r}? The columns are" if near else "the columns are"
    raise ComparisonError(Hint(role, wanted), f" is not a column of the table; {those} {quoted(names, 12)}.")


@lru_cache(maxsize=1024, typed=True)
def _folded(name: Hashable) -> str:
    return str(name).strip().casefold()
