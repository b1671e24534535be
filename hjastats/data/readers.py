"""Where a table of verdicts comes from and which of its columns is which: detected when certain, never guessed."""

from __future__ import annotations

import gzip
import io
import json
import os
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, TextIO

import numpy as np
import pandas as pd

from ..errors import ComparisonError, shown
from .comparisons import Comparisons
from .outcomes import BothBad, Codes, read_outcomes

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
FORMATS = {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv"}
ACCEPTED = (
    "a pandas DataFrame, a list of dicts, a dict of columns, Comparisons, a path to a .json, .jsonl, .csv or .tsv "
    "file, or an open text file with format="
)

Source = pd.DataFrame | Sequence[Mapping[Any, Any]] | Mapping[Any, Any] | Comparisons | str | os.PathLike[str] | TextIO


@dataclass(frozen=True)
class _Roles:
    """Column names by role; without an outcome column the first item won every row."""

    judge: Hashable | None = None
    first: Hashable | None = None
    second: Hashable | None = None
    outcome: Hashable | None = None
    weight: Hashable | None = None

    def taken(self) -> list[Hashable]:
        return [name for name in vars(self).values() if name is not None]


def read_comparisons(
    source: Source,
    *,
    judge: Hashable | None = None,
    first: Hashable | None = None,
    second: Hashable | None = None,
    outcome: Hashable | None = None,
    weight: Hashable | None = None,
    single_judge: str | None = None,
    codes: Codes | None = None,
    drop: Iterable[object] | str | None = None,
    both_bad: BothBad = "tie",
    keep: Iterable[Hashable] | str | None = None,
    format: str | None = None,
) -> Comparisons:
    """Read a table of verdicts: judge, first item, second item, outcome.

    Columns that are not named are looked up among the names in common use (LMArena, MT-Bench, AlpacaEval, evalica,
    crowd-kit, BradleyTerry2 and others); two candidates for one role are an error, and so is an outcome label without a
    known meaning.

    Parameters
    ----------
    source : DataFrame, list of dicts, dict of columns, path, text file or Comparisons
        Files are .json (an array of records), .jsonl or .ndjson, .csv or .tsv in UTF-8, each also with .gz. Comparisons
        are returned unchanged.
    judge, first, second, outcome, weight : column name, optional
        ``first`` and ``second`` are the items in the order shown to the judge. Without an outcome column, columns
        called winner and loser are read as first and second, the first preferred in every row. Lists that name a judge,
        such as ``["gpt-4", "pair-v2"]``, are joined to ``gpt-4/pair-v2``.
    single_judge : str, optional
        The name of the judge who gave all verdicts, for a table without a judge column.
    codes : dict, "unit", "alpacaeval" or "names", optional
        What outcome values mean. A dict maps them to "first", "second", "tie", "drop" or a preference for the first
        item in [0, 1]; 1, 1.0, "1" and True are the same value, and values it does not mention keep their usual meaning.
        "unit": numbers that already are the preference for the first item (0.5 a tie, soft preferences kept).
        "alpacaeval": numbers from 1 (first) to 2 (second), 1.5 and 0 a tie. "names": the preferred item's name.
        Numbers and true/false values are never interpreted without it.
    drop : list, optional
        Further outcome values to leave out, besides missing ones and unknown, error, inconclusive, invalid, n/a, none.
    both_bad : {"tie", "drop", "error"}
        How to take verdicts that call both items bad, such as "tie (bothbad)".
    keep : list of column names, optional
        Further columns to keep. By default all are kept except those that hold lists, dicts or other containers.
    format : {"json", "jsonl", "csv", "tsv"}, optional
        Format of an open file, or of a path with another ending.

    Returns
    -------
    Comparisons
        Rows in the order of the table, without those left out; ``dropped`` counts these by judge and label (rows of
        weight w count w times).

    Raises
    ------
    ComparisonError
        When the source cannot be read, a column is missing or ambiguous, or labels are missing or without a meaning.

    Notes
    -----
    Outcome labels are compared without regard to case and surrounding spaces: model_a, a, left, x, first, win, A>B,
    A>>B, ... are a win of the first item, model_b, b, right, ... of the second, and tie, c, draw, A=B, both_good are
    ties (the page on data lists all labels). A label may also be exactly the name of one of the two items in its row.
    Judges and items are compared as text, as they stand in the file; in .csv and .tsv files an empty field and NA, NaN,
    null, None and the like are missing values.

    Examples
    --------
    >>> records = [
    ...     {"judge": "j1", "model_a": "gpt", "model_b": "claude", "winner": "model_a"},
    ...     {"judge": "j1", "model_a": "gpt", "model_b": "llama", "winner": "tie"},
    ...     {"judge": "j2", "model_a": "llama", "model_b": "claude", "winner": "model_b"},
    ...     {"judge": "j2", "model_a": "gpt", "model_b": "claude", "winner": "unknown"},
    ... ]
    >>> data = read_comparisons(records)
    >>> data.outcome
    array([1. , 0.5, 0. ])
    >>> data.dropped
      judge    label  count
    0    j2  unknown      1

    Numbers need a statement of what they mean:

    >>> table = {"left": ["gpt", "gpt"], "right": ["llama", "claude"], "win": [1, 0]}
    >>> read_comparisons(table, single_judge="me", codes="unit").outcome
    array([1., 0.])
    >>> read_comparisons(table, single_judge="me", codes={1: "first", 0: "tie"}).outcome
    array([1. , 0.5])
    """
    asked = _Roles(judge, first, second, outcome, weight)
    if isinstance(source, Comparisons):
        if asked.taken() or both_bad != "tie" or any(x is not None for x in (single_judge, codes, drop, keep, format)):
            raise ComparisonError("these are Comparisons already: pass them alone, or their to_frame() with options.")
        return source
    if judge is not None and single_judge is not None:
        raise ComparisonError("got both judge= and single_judge=: pass the judge column or the name of the only judge.")
    has_judge = single_judge is None
    table = _read_table(source, format, lambda names: _find_roles(names, asked, has_judge))
    roles = _find_roles(list(table.columns), asked, has_judge)
    # Everything is coded before verdicts are left out, so that messages count the rows of the user's table.
    coded = Comparisons.from_arrays(
        _judge_labels(table[roles.judge]) if has_judge else np.full(len(table), single_judge, dtype=object),
        table[roles.first],
        table[roles.second],
        np.ones(len(table)),
        None if roles.weight is None else table[roles.weight],
        columns=table[_kept(table, roles, keep)],
    )
    if roles.outcome is None:
        return coded
    unwanted = [drop] if isinstance(drop, str) else () if drop is None else drop
    return _with_outcomes(coded, table[roles.outcome], codes, unwanted, both_bad)


def _with_outcomes(
    coded: Comparisons, column: pd.Series, codes: Codes | None, drop: Iterable[object], both_bad: BothBad
) -> Comparisons:
    verdicts = read_outcomes(
        column, coded.first_index, coded.second_index, coded.items, codes=codes, drop=drop, both_bad=both_bad
    )
    dropped = verdicts.left_out(np.asarray(coded.judges, dtype=object)[coded.judge_index], coded.weight)
    kept = ~verdicts.is_left_out
    if not kept.any():
        raise ComparisonError(
            f"all {len(kept)} verdicts of the outcome column {str(column.name)!r} are left out (labels "
            f"{shown(dropped['label'].unique())}): check outcome=, or say what the labels mean with codes={{...}}."
        )
    # Counted after the subset: a judge without any usable verdict vanishes from the judges, not from this table.
    return replace(replace(coded, outcome=verdicts.outcome).subset(kept), dropped=dropped)


def _judge_labels(column: pd.Series) -> pd.Series:
    """Judge labels with lists joined to text."""
    if column.dtype != object:
        return column
    return column.map(lambda label: "/".join(map(str, label)) if isinstance(label, list | tuple) else label)


def _kept(table: pd.DataFrame, roles: _Roles, keep: Iterable[Hashable] | str | None) -> list[Hashable]:
    if keep is not None:
        wanted = [keep] if isinstance(keep, str) else list(keep)
        return [_column(list(table.columns), name, "keep") for name in dict.fromkeys(wanted)]
    taken = set(roles.taken())
    return [name for name in table.columns if name not in taken and _is_scalar(table[name])]


def _is_scalar(column: pd.Series) -> bool:
    return column.dtype != object or bool(column.map(pd.api.types.is_scalar).all())


def _find_roles(names: list[Hashable], asked: _Roles, has_judge: bool) -> _Roles:
    """Complete the roles the user has asked for from the column names."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ComparisonError(f"column names must differ, but {shown(repeated)} occurs more than once: rename them.")
    found = {role: _column(names, name, role) for role, name in vars(asked).items() if name is not None}
    if len(set(found.values())) < len(found):
        listed = ", ".join(f"{role}={name!r}" for role, name in found.items())
        raise ComparisonError(f"one column was given two roles ({listed}): name a different column for each.")
    found |= _find_items(names, found)
    if has_judge:
        found |= _find_one(names, found, "judge", JUDGE_COLUMNS)
    found |= _find_one(names, found, "outcome", OUTCOME_COLUMNS)
    found |= _find_one(names, found, "weight", WEIGHT_COLUMNS)
    if has_judge and "judge" not in found:
        raise ComparisonError(
            f"no judge column found among {shown(names, 12)}: pass judge='column', or single_judge='GPT-4' if one judge "
            "of that name gave all verdicts."
        )
    if "outcome" not in found and [_folded(found["first"]), _folded(found["second"])] != ["winner", "loser"]:
        raise ComparisonError(
            f"no outcome column found among {shown(names, 12)}: pass outcome='column', the one that says which item was "
            "preferred."
        )
    return _Roles(**found)


def _find_items(names: list[Hashable], found: Mapping[str, Hashable]) -> dict[str, Hashable]:
    """The two item columns; winner and loser only when nothing else says who won."""
    if ("first" in found) != ("second" in found):
        raise ComparisonError("got only one of first= and second=: pass both item columns.")
    if "first" in found:
        return {}
    pairs = [pair for aliases in ITEM_COLUMNS if (pair := _find_pair(names, found, aliases))]
    if not pairs and "outcome" not in found and (pair := _find_pair(names, found, ("winner", "loser"))):
        others = [name for name in _matches(names, OUTCOME_COLUMNS) if name not in {*pair, *found.values()}]
        if others:
            raise ComparisonError(
                f"the columns {shown(pair)} say who won, but {shown(others)} may be an outcome too: pass first=, "
                "second= and outcome=, or remove the column that does not count."
            )
        pairs = [pair]
    if len(pairs) > 1:
        listed = " or ".join(f"{str(a)!r} and {str(b)!r}" for a, b in pairs)
        raise ComparisonError(f"the items may be in the columns {listed}: choose with first= and second=.")
    if not pairs:
        free = [name for name in names if name not in found.values()]
        known = ", ".join("/".join(pair) for pair in (*ITEM_COLUMNS, ("winner", "loser")))
        raise ComparisonError(
            f"no pair of item columns found among {shown(free, 12)}: pass first='column' and second='column'. "
            f"Known pairs are {known}."
        )
    return {"first": pairs[0][0], "second": pairs[0][1]}


def _find_pair(
    names: list[Hashable], found: Mapping[str, Hashable], aliases: tuple[str, str]
) -> tuple[Hashable, Hashable] | None:
    pair = [_find_one(names, found, "item", [alias]) for alias in aliases]
    return (pair[0]["item"], pair[1]["item"]) if all(pair) else None


def _find_one(
    names: list[Hashable], found: Mapping[str, Hashable], role: str, aliases: Sequence[str]
) -> dict[str, Hashable]:
    """The column for a role among those that have none yet; nothing when the role is taken or no name fits."""
    if role in found:
        return {}
    fitting = [name for name in _matches(names, aliases) if name not in found.values()]
    if len(fitting) > 1:
        option = "first= and second=" if role == "item" else f"{role}="
        raise ComparisonError(f"several columns may be the {role}: {shown(fitting, 12)}. Choose with {option}.")
    return {role: fitting[0]} if fitting else {}


def _matches(names: list[Hashable], aliases: Sequence[str]) -> list[Hashable]:
    """Columns that carry one of the names, exactly or, where there is none, in another case."""
    found: list[Hashable] = []
    for alias in aliases:
        found += [alias] if alias in names else [name for name in names if _folded(name) == alias]
    return found


def _column(names: list[Hashable], wanted: Hashable, role: str) -> Hashable:
    if not isinstance(wanted, Hashable):
        raise ComparisonError(f"{role} must be the name of a column, got {type(wanted).__name__}.")
    if wanted in names:
        return wanted
    folded = [name for name in names if _folded(name) == _folded(wanted)]
    if len(folded) == 1:
        return folded[0]
    by_text = {_folded(name): str(name) for name in names}
    near = [by_text[text] for text in get_close_matches(_folded(wanted), list(by_text), n=1)]
    hint = f"did you mean {near[0]!r}? The columns are" if near else "the columns are"
    raise ComparisonError(f"{role}={wanted!r} is not a column of the table; {hint} {shown(names, 12)}.")


def _folded(name: Hashable) -> str:
    return str(name).strip().casefold()


def _read_table(source: Source, format: str | None, find: Callable[[list[Hashable]], _Roles]) -> pd.DataFrame:
    """Any accepted source as a data frame with at least one row; ``find`` tells a text format its label columns."""
    if format is not None and format not in {*FORMATS.values(), "ndjson"}:
        raise ComparisonError(f"format must be 'json', 'jsonl', 'csv' or 'tsv', got {format!r}.")
    if isinstance(source, pd.DataFrame):
        table = source
    elif isinstance(source, Mapping):
        table = _from_columns(source)
    elif isinstance(source, list | tuple):
        table = _from_records(source, "the list")
    elif isinstance(source, str | os.PathLike):
        table = _from_path(os.fspath(source), format, find)
    elif hasattr(source, "read"):
        table = _from_open_file(source, format, find)
    else:
        hint = "; convert it with .to_pandas() first" if hasattr(source, "to_pandas") else ""
        raise ComparisonError(f"cannot read comparisons from {type(source).__name__}: expected {ACCEPTED}{hint}.")
    if isinstance(table.columns, pd.MultiIndex):
        raise ComparisonError("the data frame has several levels of column names: flatten them to one name per column.")
    if table.empty:
        raise ComparisonError("the table is empty: expected one row per verdict with a judge, two items, an outcome.")
    return table


def _from_columns(columns: Mapping[Any, Any]) -> pd.DataFrame:
    # By position: pandas would align series of different index and leave holes that look like missing verdicts.
    plain = {name: values.array if isinstance(values, pd.Series) else values for name, values in columns.items()}
    try:
        return pd.DataFrame(plain)
    except (TypeError, ValueError) as error:
        raise ComparisonError(f"expected a dict of equally long columns, one value per verdict ({error}).") from None


def _from_records(records: Sequence[Any], where: str) -> pd.DataFrame:
    wrong = next((k for k, record in enumerate(records) if not isinstance(record, Mapping)), None)
    if wrong is not None:
        raise ComparisonError(
            f"{where} must hold records (one dict per verdict), but element {wrong} is {type(records[wrong]).__name__}."
        )
    return pd.DataFrame(list(records))


def _from_path(path: str, format: str | None, find: Callable[[list[Hashable]], _Roles]) -> pd.DataFrame:
    where = repr(path if len(path) < 200 else path[:197] + "...")
    path = os.path.expanduser(path)
    stem, ending = os.path.splitext(path.lower())
    is_packed = ending == ".gz"
    format = format or FORMATS.get(os.path.splitext(stem)[1] if is_packed else ending)
    if not os.path.isfile(path):
        kind = "is a folder" if os.path.isdir(path) else "does not exist"
        raise ComparisonError(f"the file {where} {kind}: check the path (the current folder is {os.getcwd()!r}).")
    if format is None:
        raise ComparisonError(
            f"cannot tell the format of {where} from its ending: expected .json, .jsonl, .ndjson, .csv or .tsv (or "
            "these with .gz), or format=."
        )
    try:
        with (gzip.open if is_packed else open)(path, "rt", encoding="utf-8-sig", newline="") as file:
            return _parse(file, format, where, find)
    except UnicodeDecodeError as error:
        raise ComparisonError(
            f"{where} is not UTF-8 text ({error.reason} at byte {error.start}): convert it."
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise ComparisonError(f"{where} cannot be read: {error}.") from None


def _from_open_file(file: Any, format: str | None, find: Callable[[list[Hashable]], _Roles]) -> pd.DataFrame:
    if format is None:
        raise ComparisonError("an open file does not tell its format: pass format='json', 'jsonl', 'csv' or 'tsv'.")
    text = file.read()
    if not isinstance(text, str):
        raise ComparisonError("expected a file opened as text, got bytes: open it without 'b' in the mode.")
    return _parse(io.StringIO(text), format, "the open file", find)


def _parse(file: TextIO, format: str, where: str, find: Callable[[list[Hashable]], _Roles]) -> pd.DataFrame:
    if format == "json":
        return _from_records(_parse_json(file.read(), where), where)
    if format in ("jsonl", "ndjson"):
        return _from_records(_parse_lines(list(file), where), where)
    return _parse_delimited(file, "," if format == "csv" else "\t", where, find)


def _parse_json(text: str, where: str) -> list[Any]:
    if not text.strip():
        raise ComparisonError(f"{where} is empty: expected a JSON array of records.")
    try:
        records = json.loads(text)
    except (ValueError, RecursionError) as error:
        hint = ". If it holds one record per line, pass format='jsonl'" if "Extra data" in str(error) else ""
        raise ComparisonError(f"{where} is not valid JSON ({error}){hint}.") from None
    if not isinstance(records, list):
        raise ComparisonError(f"{where} must hold a JSON array of records, got {type(records).__name__}.")
    return records


def _parse_lines(lines: list[str], where: str) -> list[Any]:
    filled = [line for line in lines if line.strip()]
    if not filled:
        raise ComparisonError(f"{where} is empty: expected one JSON record per line.")
    try:
        records = json.loads("[" + ",".join(filled) + "]")
    except (ValueError, RecursionError):
        records = []
    if len(records) == len(filled):
        return records
    for number, line in enumerate(lines, start=1):
        try:
            if line.strip():
                json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ComparisonError(f"line {number} of {where} is not one JSON record ({error}).") from None
    raise ComparisonError(f"{where} does not hold one JSON record per line.")


def _parse_delimited(
    file: TextIO, separator: str, where: str, find: Callable[[list[Hashable]], _Roles]
) -> pd.DataFrame:
    """Labels are read as text: the items 3.1 and 3.10, or 7 and 007, are not the same."""
    try:
        with warnings.catch_warnings():
            # Rows longer than the header: pandas would shift or cut them with a warning only.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            header = pd.read_csv(file, sep=separator, nrows=0, index_col=False)
            if header.shape[1] == 1:
                raise ComparisonError(
                    f"{where} has the single column {header.columns[0]!r}: expected columns separated by {separator!r}. "
                    "Read a file with another separator with pandas.read_csv(..., sep=...) and pass the data frame."
                )
            roles = find(list(header.columns))
            labels = [name for name in roles.taken() if name != roles.weight]
            file.seek(0)
            return pd.read_csv(file, sep=separator, dtype=dict.fromkeys(labels, str), index_col=False, low_memory=False)
    except ComparisonError:
        raise
    except pd.errors.EmptyDataError:
        raise ComparisonError(f"{where} is empty: expected a header line with the column names.") from None
    except UnicodeDecodeError:
        raise
    except (ValueError, pd.errors.ParserWarning) as error:
        raise ComparisonError(
            f"{where} cannot be read as a table separated by {separator!r}: {str(error).strip()}"
        ) from None
