"""Files in every format we read, records and columns: what is in them as it stands there, or why it cannot be read."""

from __future__ import annotations

import glob
import gzip
import io
import json
import os
import warnings
import zlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TextIO

import pandas as pd

from ..errors import ComparisonError, Hint
from ..words import either
from .labels import common_index
from .roles import Roles

FindRoles = Callable[[list[Hashable]], Roles]


@dataclass(frozen=True)
class Format:
    """One entry of ``FORMATS``, which is all there is to a format.

    Attributes
    ----------
    endings : tuple of str
        Of its files, the usual one first.
    read : callable
        Makes a data frame of an open text file, or a table that stays in its engine of a path.
    is_text : bool
        Which of the two; text may also be packed, with a further ending .gz.
    """

    endings: tuple[str, ...]
    read: Callable[..., Any]
    is_text: bool = True


def format_of(path: str, named: str | None, separator: str | None = None) -> Format | None:
    """The format that was named, or that the ending of a path tells; None if neither does.

    Raises
    ------
    ComparisonError
        For a name that is none.
    """
    if named is not None and named not in FORMATS:
        raise ComparisonError(f"format must be {either([*map(repr, FORMATS)])}, got {named!r}.")
    if separator is not None:
        return Format((), partial(_read_delimited, separator=separator))
    if named is not None:
        return FORMATS[named]
    stem = path.lower().rstrip("/\\")
    ending = os.path.splitext(stem.removesuffix(".gz"))[1]
    found = next((format for format in FORMATS.values() if ending in format.endings), None)
    return found if found is None or found.is_text or not stem.endswith(".gz") else None


def from_columns(columns: Mapping[Any, Any]) -> pd.DataFrame:
    """A dict of equally long columns as a data frame."""
    index = common_index(dict(columns))
    # By position: pandas would align series of different index and leave holes that look like missing verdicts.
    plain = {name: values.array if isinstance(values, pd.Series) else values for name, values in columns.items()}
    try:
        return pd.DataFrame(plain, index=index)
    except (TypeError, ValueError) as error:
        raise ComparisonError(f"expected a dict of equally long columns, one value per verdict ({error}).") from None


def from_records(records: Sequence[Any], where: str) -> pd.DataFrame:
    """A list of dicts as a data frame."""
    wrong = next((k for k, record in enumerate(records) if not isinstance(record, Mapping)), None)
    if wrong is not None:
        raise ComparisonError(
            f"{where} must hold records (one dict per verdict), but element {wrong} is {type(records[wrong]).__name__}."
        )
    return pd.DataFrame(list(records))


def from_path(path: str, format: Format | None, find: FindRoles) -> pd.DataFrame:
    """A text file, packed or not; ``find`` tells which columns of a delimited one hold labels."""
    where = repr(path if len(path) < 200 else path[:197] + "...")
    path = os.path.expanduser(path)
    if os.path.isdir(path) or not os.path.exists(path):
        kind = "is a folder" if os.path.isdir(path) else "does not exist"
        raise ComparisonError(f"the file {where} {kind}: check the path (the current folder is {os.getcwd()!r}).")
    if format is None:
        texts = [ending for known in FORMATS.values() if known.is_text for ending in known.endings]
        expected = f"expected {either(texts)} (or these with .gz), .parquet, or "
        raise ComparisonError(f"cannot tell the format of {where} from its ending: {expected}", Hint("format"), ".")
    try:
        with (gzip.open if path.lower().endswith(".gz") else open)(
            path, "rt", encoding="utf-8-sig", newline=""
        ) as file:
            return format.read(file if file.seekable() else io.StringIO(file.read()), where, find)
    except UnicodeDecodeError as error:
        raise ComparisonError(
            f"{where} is not UTF-8 text ({error.reason} at byte {error.start}): convert it."
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise ComparisonError(f"{where} cannot be read: {error}.") from None


def from_open_file(file: Any, format: Format | None, find: FindRoles) -> pd.DataFrame:
    """The rest of a file opened as text."""
    if format is None:
        first, *others = [name for name, known in FORMATS.items() if known.is_text]
        hint = (Hint("format", first), f", {either([*map(repr, others)])}.")
        raise ComparisonError("an open file does not tell its format: pass ", *hint)
    if not format.is_text:
        raise ComparisonError("parquet files are read by their path: pass the path instead of the open file.")
    text = file.read()
    if not isinstance(text, str):
        raise ComparisonError("expected a file opened as text, got bytes: open it without 'b' in the mode.")
    return format.read(io.StringIO(text), "the open file", find)


def _read_json(file: TextIO, where: str, find: FindRoles) -> pd.DataFrame:
    text = file.read()
    if not text.strip():
        raise ComparisonError(f"{where} is empty: expected a JSON array of records.")
    try:
        records = json.loads(text)
    except (ValueError, RecursionError) as error:
        hint = (
            [". If it holds one record per line, pass ", Hint("format", "jsonl")] if "Extra data" in str(error) else []
        )
        raise ComparisonError(f"{where} is not valid JSON ({error})", *hint, ".") from None
    if not isinstance(records, list):
        raise ComparisonError(f"{where} must hold a JSON array of records, got {type(records).__name__}.")
    return from_records(records, where)


def _read_json_lines(file: TextIO, where: str, find: FindRoles) -> pd.DataFrame:
    lines = list(file)
    filled = [line for line in lines if line.strip()]
    if not filled:
        raise ComparisonError(f"{where} is empty: expected one JSON record per line.")
    try:
        records = json.loads("[" + ",".join(filled) + "]")
    except (ValueError, RecursionError):
        records = []
    if len(records) == len(filled):
        return from_records(records, where)
    for number, line in enumerate(lines, start=1):
        try:
            if line.strip():
                json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ComparisonError(f"line {number} of {where} is not one JSON record ({error}).") from None
    raise ComparisonError(f"{where} does not hold one JSON record per line.")


def _read_delimited(file: TextIO, where: str, find: FindRoles, separator: str) -> pd.DataFrame:
    """Labels are read as text: the items 3.1 and 3.10, or 7 and 007, are not the same."""
    # Only pandas' own engine knows separators of several letters, only the other reads a column as a whole.
    engine: dict[str, Any] = {"engine": "python"} if len(separator) > 1 else {"low_memory": False}
    try:
        with warnings.catch_warnings():
            # Rows longer than the header: pandas would shift or cut them with a warning only.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            header = pd.read_csv(file, sep=separator, nrows=0, index_col=False, **engine)
            if header.shape[1] == 1:
                [name] = header.columns
                likely = next((other for other in ";\t|," if other in name and other != separator), ";")
                raise ComparisonError(
                    f"{where} has the single column {name!r}: expected columns separated by {separator!r}. ",
                    *("Pass ", Hint("separator", likely), " or whatever it is."),
                )
            roles = find(list(header.columns))
            labels = [name for name in roles.taken() if name not in roles.numbers.values()]
            file.seek(0)
            return pd.read_csv(file, sep=separator, dtype=dict.fromkeys(labels, str), index_col=False, **engine)
    except (ComparisonError, UnicodeDecodeError):
        raise
    except pd.errors.EmptyDataError:
        raise ComparisonError(f"{where} is empty: expected a header line with the column names.") from None
    except (ValueError, pd.errors.ParserWarning) as error:
        raise ComparisonError(
            f"{where} cannot be read as a table separated by {separator!r}: {str(error).strip()}"
        ) from None


def _scan_parquet(path: str) -> Any:
    """A file, a folder of parts as Spark and Dask write them, or a glob, as a frame of the first engine at hand."""
    path = os.path.expanduser(path)
    files = sorted(glob.glob(os.path.join(glob.escape(path), "*") if os.path.isdir(path) else path))
    endings = FORMATS["parquet"].endings
    files = [file for file in files if file.lower().endswith(endings)] or ([path] if os.path.isfile(path) else [])
    if not files:
        raise ComparisonError(
            f"no parquet file is at {path!r}: check the path (the current folder is {os.getcwd()!r})."
        )
    engine = next((name for name in PARQUET_READERS if find_spec(name)), None)
    if engine is None:
        raise ComparisonError(
            f"parquet files are read by one of {', '.join(PARQUET_READERS)}, and none is installed: pip install polars."
        )
    return PARQUET_READERS[engine](import_module(engine), files)


def _whole_tables(pyarrow: Any, files: list[str]) -> Any:
    return pyarrow.concat_tables([import_module("pyarrow.parquet").read_table(file) for file in files])


# In the order of preference: the first two read a file piece by piece, the last as a whole.
PARQUET_READERS: dict[str, Callable[[Any, list[str]], Any]] = {
    "polars": lambda polars, files: polars.scan_parquet(files),
    "duckdb": lambda duckdb, files: duckdb.read_parquet(files),
    "pyarrow": _whole_tables,
}
FORMATS = {
    "json": Format((".json",), _read_json),
    "jsonl": Format((".jsonl", ".ndjson"), _read_json_lines),
    "csv": Format((".csv",), partial(_read_delimited, separator=",")),
    "tsv": Format((".tsv",), partial(_read_delimited, separator="\t")),
    "parquet": Format((".parquet", ".pq"), _scan_parquet, is_text=False),
}
