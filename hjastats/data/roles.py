"""Which column of a table plays which role: found by the names in common use when certain, never guessed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from itertools import takewhile
from typing import Any, NoReturn, TypeAlias

import pandas as pd

from ..errors import ComparisonError, Hint
from ..words import quoted
from .answers import hold_answers

ITEM_COLUMNS = (
    ("model_a", "model_b"),
    ("item_a", "item_b"),
    ("left", "right"),
    ("model_1", "model_2"),
    ("generator_1", "generator_2"),
    ("player1", "player2"),
    ("player_1", "player_2"),
    ("first", "second"),
    ("home", "away"),
    ("home_team", "away_team"),
)
JUDGE_COLUMNS = (
    *(
        "judge",
        "judge_model",
        "judge_name",
        "judge_id",
        "judge_hash",
        "annotator",
        "annotator_id",
        "worker",
        "worker_id",
    ),
    *("performer", "rater", "rater_id", "user", "user_id"),
)
OUTCOME_COLUMNS = (
    *("winner", "judge_preferred_model", "outcome", "preference", "label", "verdict"),
    *("vote", "choice", "win", "winner_side", "p_a"),
)
# Taken for the outcome where no column has one of the names above.
OTHER_OUTCOME_COLUMNS = ("result", "response", "y")
# Suggested, but not taken: names that others have used.
LIKELY_JUDGES = (
    *("student", "respondent", "subject", "participant", "person", "reviewer", "voter", "labeler", "evaluator", "farm"),
    *("expert", "grader", "session"),
)
LIKELY_ITEMS = (("row", "col"), ("i", "j"), ("visitor", "opponent"), ("model_x", "model_y"))
LIKELY_OUTCOMES = ("preferred", "overall_preference", "preferred_response", "better", "selected", "decision")
# What names of columns say that hold names of items, and what tells two of them apart.
_ITEM_WORDS = ("model", "item", "system", "generator", "player", "team", "candidate")
_TWINS = (("a", "b"), ("1", "2"), ("left", "right"), ("first", "second"))
WEIGHT_COLUMNS = ("weight", "weights")
# May say how often a verdict was given, or something else: never guessed, but asked.
COUNT_COLUMNS = ("n", "count", "counts", "freq", "frequency", "times")
WINS_COLUMNS = (
    *((f"{what}{sep}1", f"{what}{sep}2") for what in ("win", "wins") for sep in ("", "_")),
    *((f"{what}_a", f"{what}_b") for what in ("win", "wins")),
    *((f"{a}{sep}wins", f"{b}{sep}wins") for a, b in (("first", "second"), ("home", "away")) for sep in "_"),
    *(("win", "loss"), ("wins", "losses"), ("won", "lost")),
)
PROMPT_COLUMNS = ("question_id", "prompt_id", "prompt", "instruction", "uid")
# Says when a verdict was given.
TIME_COLUMNS = ("time", "timestamp", "tstamp", "datetime", "date", "created_at", "judged_at", "month")
# Says from which of several files a row is.
FILE = "file"
_NUMBERED = re.compile(r"(.*?)[\s_.-]?([a-p]|\d)")
_BETWEEN = re.compile(r"[\s_.-]+|(?<=[a-z])(?=[A-Z])")
_BOTH_ITEMS = (Hint("first"), " and ", Hint("second"))
# Columns by their name without regard to case and to what stands between words, in the order of the table.
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


def refuse_repeated(names: Sequence[Hashable]) -> None:
    """Refuse a header that has a name twice.

    Raises
    ------
    ComparisonError
    """
    if len(set(names)) < len(names):
        repeated = [name for name, count in Counter(names).items() if count > 1]
        raise ComparisonError(f"column names must differ, but {quoted(repeated)} occurs more than once: rename them.")


class Names:
    """The columns of a table, found by a name in any case, whatever stands between its words."""

    def __init__(self, names: Sequence[Hashable]) -> None:
        self.all = list(names)
        self.folded: Folded = {}
        for name in names:
            self.folded.setdefault(_folded(name), []).append(name)

    def find(self, *aliases: str) -> Hashable | None:
        """The first of some names that one column has, and no other."""
        for alias in aliases:
            same = self.folded.get(alias, [])
            if alias in same:
                return alias
            if len(same) == 1:
                return same[0]
        return None

    def numbered(self) -> dict[str, list[Hashable]]:
        """Columns whose names differ in a last letter or number only, by what they share: ``model_a``, ``model_b``, ...

        Examples
        --------
        >>> Names(["variety_a", "variety_b", "variety_c", "n1", "x"]).numbered()
        {'variety': ['variety_a', 'variety_b', 'variety_c']}
        """
        series: dict[str, dict[str, Hashable]] = {}
        for text, same in self.folded.items():
            if found := _NUMBERED.fullmatch(text):
                series.setdefault(found[1], {})[found[2]] = same[0]
        runs = {}
        for stem, columns in series.items():
            for letters in ("abcdefghijklmnop", "123456789"):
                run = [columns[letter] for letter in takewhile(columns.__contains__, letters)]
                if len(run) > 1:
                    runs[stem] = run
        return runs

    def twins(self) -> list[tuple[Hashable, Hashable]]:
        """Columns whose names differ in a letter, number or word for a side only; those first whose names speak of items.

        Examples
        --------
        >>> Names(["answer_1", "answer_2", "answer_1_model", "answer_2_model", "score_a"]).twins()
        [('answer_1_model', 'answer_2_model'), ('answer_1', 'answer_2')]
        """
        found: dict[str, tuple[Hashable, Hashable]] = {}
        for text, same in self.folded.items():
            for one, other in _TWINS:
                places = [k for k in range(len(text)) if text.startswith(one, k)]
                others = [text[:k] + other + text[k + len(one) :] for k in places]
                if twin := next((name for name in others if name in self.folded), None):
                    found[text] = (same[0], self.folded[twin][0])
        speak = {text: any(word in text for word in _ITEM_WORDS) for text in found}
        return [found[text] for text in sorted(found, key=lambda text: not speak[text])]


# Some rows of two columns, for what their names do not tell.
Look: TypeAlias = Callable[[list[Hashable]], pd.DataFrame]


def find_roles(
    names: list[Hashable], asked: Roles, has_judge: bool, count: Hashable | None = None, look: Look | None = None
) -> Roles:
    """Complete the roles the user has asked for from the column names.

    Parameters
    ----------
    count : column name, optional
        A column that may say how often each verdict was given: asked about.
    look : callable, optional
        Gives some rows of columns, so that none that hold whole answers are suggested for items.

    Raises
    ------
    ComparisonError
        For roles with several candidates; and one for all roles that no column has.
    """
    refuse_repeated(names)
    found: dict[str, Hashable] = {}
    wrong: list[object] = []
    for role, name in vars(asked).items():
        if name is not None and name is not False:
            try:
                found[role] = named_column(names, name, role)
            except ComparisonError as error:
                if name is pd.NA or not isinstance(name, Hashable):
                    raise
                found[role] = name
                wrong += [*error.args, " "]
    if len(set(found.values())) < len(found):
        given = [piece for role, name in found.items() for piece in (", ", Hint(role, name))][1:]
        raise ComparisonError("one column was given two roles (", *given, "): name a different column for each.")
    has_counts = _has_counts(found)
    folded = Names(names).folded
    found |= _find_items(folded, found)
    if has_judge:
        found |= _find_one(folded, found, "judge", JUDGE_COLUMNS)
    wins = None if has_counts or "outcome" in found else _find_wins(names)
    if not has_counts and wins is None:
        found |= _find_one(folded, found, "outcome", OUTCOME_COLUMNS)
        found |= _find_one(folded, found, "outcome", OTHER_OUTCOME_COLUMNS)
        found |= {} if asked.weight is False else _find_one(folded, found, "weight", WEIGHT_COLUMNS)
    questions = []
    if "first" not in found:
        questions.append(_ask_items(names, found, wins, look))
    if has_judge and "judge" not in found:
        questions.append(_ask_judge(names, found))
    if not (has_counts or "outcome" in found or _is_winner_loser(found)):
        questions.append(_ask_outcome(names, found, wins))
    if count is not None and asked.weight is None and "weight" not in found and not has_counts:
        questions.append(ask_count(count))
    if questions or wrong:
        # All that is missing at once, not one thing in every run.
        kind = NoJudge if [what for what, _ in questions] == [_JUDGE] and not wrong else ComparisonError
        raise kind(*(wrong[:-1] if not questions else [*wrong, *_together(questions, names)]))
    return Roles(**found)


class NoJudge(ComparisonError):
    """Only the judge is missing: what else there is to ask shows when the rest is read."""


# What is missing, and the pieces that say what to pass.
_JUDGE = "judge column"
Question: TypeAlias = "tuple[str, list[object]]"


def _together(questions: list[Question], names: Sequence[Hashable]) -> list[object]:
    """All questions in one message."""
    missing = [what for what, _ in questions if what]
    lacking = f"no {' and no '.join(missing)} found among {quoted(names, 12)}: " if missing else ""
    pieces: list[object] = [f"{lacking}pass "]
    for k, (_, own) in enumerate(questions):
        pieces += ["; and " if k else "", *own]
    return [*pieces, "."]


def ask_count(name: Hashable) -> Question:
    """About a column that may say how often each verdict was given."""
    says = f" if the column {str(name)!r} says how often each verdict was given, or "
    return "", [Hint("weight", name), says, Hint("weight", False), " if every row is one verdict"]


def likely_items(names: Sequence[Hashable], look: Look | None) -> tuple[Hashable, Hashable] | None:
    """Columns that may hold the two items of a pair; none that hold whole answers."""
    free = Names(names)
    known = [pair for aliases in LIKELY_ITEMS if None not in (pair := tuple(map(free.find, aliases)))]
    twins = [pair for pair in free.twins() if not _folded(pair[0]).startswith(("win", "score", "prev"))]
    return next(
        ((one, two) for one, two in [*known, *twins] if look is None or not hold_answers(look([one, two]))), None
    )


def _ask_items(names: Sequence[Hashable], found: Mapping[str, Hashable], wins: Any, look: Look | None) -> Question:
    free = [name for name in names if name not in found.values()]
    one, other = likely_items(free, look) or ("column", "column")
    pieces: list[object] = [Hint("first", one), " and ", Hint("second", other)]
    if "outcome" not in found and wins is None and one == "column":
        pieces += [
            ", or ",
            Hint("format", "ratings"),
            " or ",
            Hint("format", "rankings"),
            " where items were rated or ranked",
        ]
    known = ", ".join("/".join(pair) for pair in (*ITEM_COLUMNS, ("winner", "loser")))
    return "pair of item columns", [*pieces, f" (known pairs are {known})"]


def _ask_judge(names: Sequence[Hashable], found: Mapping[str, Hashable]) -> Question:
    free = Names([name for name in names if name not in found.values()])
    likely = free.find(*LIKELY_JUDGES)
    # Several files were read: each may be a judge's own.
    files = [Hint("judge", FILE), " if each file is one judge's, "] if FILE in names else []
    hint = Hint("judge", "column" if likely is None else likely)
    only = [", or ", Hint("single_judge", "GPT-4"), " if one judge of that name gave all verdicts"]
    return _JUDGE, [*files, hint, *only]


def _ask_outcome(
    names: Sequence[Hashable], found: Mapping[str, Hashable], wins: tuple[list[Hashable], Hashable | None] | None
) -> Question:
    likely = Names([name for name in names if name not in found.values()]).find(*LIKELY_OUTCOMES)
    which = (
        ", the one that says which item was preferred" if likely is None else ", if it says which item was preferred"
    )
    one: list[object] = [Hint("outcome", "column" if likely is None else likely), which]
    pair, tie = wins or (["column", "column"], None)
    numbers: list[object] = [Hint("first_wins", pair[0]), " and ", Hint("second_wins", pair[1])]
    numbers += [] if tie is None else [" and ", Hint("tied", tie)]
    if wins is None:
        return "outcome column", [*one, ", or ", *numbers, " if there are numbers of wins"]
    # Whose wins they are is not in the names: springall of BradleyTerry2 counts those of the second.
    whose = f" if {str(pair[0])!r} counts how often the first item won and {str(pair[1])!r} how often the second, or "
    return "outcome column", [*numbers, whose, *one]


def _is_winner_loser(found: Mapping[str, Hashable]) -> bool:
    return [_folded(found.get(role)) for role in ("first", "second")] == ["winner", "loser"]


def _find_wins(names: list[Hashable]) -> tuple[list[Hashable], Hashable | None] | None:
    """Columns that may be numbers of wins, and of ties."""
    known = Names(names)
    for aliases in WINS_COLUMNS:
        one, other = known.find(aliases[0]), known.find(aliases[1])
        if one is not None and other is not None:
            return [one, other], known.find("tie", "ties", "tied", "draw", "draws", "drawn")
    return None


def refuse_no_judge(names: list[Hashable]) -> NoReturn:
    """Ask who judged.

    Raises
    ------
    NoJudge
    """
    raise NoJudge(*_together([_ask_judge(names, {})], names))


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
    """The two item columns."""
    if ("first" in found) != ("second" in found):
        raise ComparisonError("got only one of ", Hint("first"), " and ", Hint("second"), ": pass both item columns.")
    if "first" in found:
        return {}
    pairs = [pair for aliases in ITEM_COLUMNS if (pair := _find_pair(folded, found, aliases))]
    if len(pairs) > 1:
        listed = " or ".join(f"{str(a)!r} and {str(b)!r}" for a, b in pairs)
        raise ComparisonError(f"the items may be in the columns {listed}: choose with ", *_BOTH_ITEMS, ".")
    if not pairs:
        return {}
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
    """The column the user has named, exactly or with other case and spaces.

    Raises
    ------
    ComparisonError
    """
    if wanted is pd.NA or not isinstance(wanted, Hashable):
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
    """Words in lower case with _ between them: Model A, model-a, Model.A and modelA are model_a."""
    return _BETWEEN.sub("_", str(name).strip()).casefold()
