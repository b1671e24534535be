"""Text files, records and columns as a data frame: what is in them as it stands there, or why it cannot be read."""

from __future__ import annotations

import gzip
import io
import json
import os
import warnings
import zlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TextIO

import pandas as pd

from ..errors import ComparisonError
from .roles import Roles

FORMATS = {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv"}
FindRoles = Callable[[list[Hashable]], Roles]


def from_columns(columns: Mapping[Any, Any]) -> pd.DataFrame:
    """A dict of equally long columns as a data frame."""
    # By position: pandas would align series of different index and leave holes that look like missing verdicts.
    plain = {name: values.array if isinstance(values, pd.Series) else values for name, values in columns.items()}
    try:
        return pd.DataFrame(plain)
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


def from_path(path: str, format: str | None, find: FindRoles) -> pd.DataFrame:
    """A text file, packed or not; ``find`` tells which columns of a delimited one hold labels."""
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
            "these with .gz), .parquet, or format=."
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


def from_open_file(file: Any, format: str | None, find: FindRoles) -> pd.DataFrame:
    """The rest of a file opened as text."""
    if format == "parquet":
        raise ComparisonError("parquet files are read by their path: pass the path instead of the open file.")
    if format is None:
        raise ComparisonError("an open file does not tell its format: pass format='json', 'jsonl', 'csv' or 'tsv'.")
    text = file.read()
    if not isinstance(text, str):
        raise ComparisonError("expected a file opened as text, got bytes: open it without 'b' in the mode.")
    return _parse(io.StringIO(text), format, "the open file", find)


def _parse(file: TextIO, format: str, where: str, find: FindRoles) -> pd.DataFrame:
    if format == "json":
        return from_records(_parse_json(file.read(), where), where)
    if format in ("jsonl", "ndjson"):
        return from_records(_parse_lines(list(file), where), where)
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


def _parse_delimited(file: TextIO, separator: str, where: str, find: FindRoles) -> pd.DataFrame:
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
