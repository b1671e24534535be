"""Files in every format we read, records and columns: what is in them as it stands there, or why it cannot be read."""

from __future__ import annotations

import glob
import io
import json
import lzma
import os
import zlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TextIO

import pandas as pd

from .. import limits
from ..errors import ComparisonError, Hint
from ..words import either, quoted
from .labels import common_index
from .opening import PACKINGS, binary_format, encoding_of, peeked, text_format, unpacked
from .roles import refuse_repeated

# What a table of a workbook of several sheets, of which nobody has named one, remembers their names by.
SHEETS = "sheets"
# Says which columns of a text table hold labels, which must stay text.
FindLabels = Callable[[list[Hashable]], list[Hashable]]


@dataclass(frozen=True)
class Format:
    """One entry of ``FORMATS``, which is all there is to a format.

    Attributes
    ----------
    endings : tuple of str
        Of its files, the usual one first.
    read : callable
        Makes a data frame of an open text file, its name for messages and ``find``; or a table, which may stay in its engine, of a
        list of paths or open files of bytes and ``find``.
    is_text : bool
        Which of the two.
    in_engine : bool
        Whether the table stays in its engine, where only the columns that are asked for are kept.
    """

    endings: tuple[str, ...]
    read: Callable[..., Any]
    is_text: bool = True
    in_engine: bool = False


def format_of(path: str, named: str | None, separator: str | None = None, sheet: str | None = None) -> Format | None:
    """The format that was named, or that the ending of a path tells; None if neither does."""
    if sheet is not None:
        return replace(FORMATS["xlsx"], read=partial(_read_excel, sheet=sheet))
    if separator is not None:
        return Format((), partial(_read_delimited, separator=separator))
    if named is not None:
        return FORMATS[named]
    stem = path.lower().rstrip("/\\")
    packing = next((ending for ending, _ in PACKINGS.values() if stem.endswith(ending)), "")
    ending = os.path.splitext(stem.removesuffix(packing))[1]
    return next((format for format in FORMATS.values() if ending in format.endings), None)


def several(path: str) -> list[str]:
    """The files that a path stands for: itself, those that match a pattern, or all in a folder that have a known format.

    Raises
    ------
    ComparisonError
        Where there are none.
    """
    path = os.path.expanduser(path)
    if os.path.isdir(path):
        inside = sorted(glob.glob(os.path.join(glob.escape(path), "**", "*"), recursive=True))
        files = [file for file in inside if os.path.isfile(file) and format_of(file, None) is not None]
        if not files:
            raise ComparisonError(f"the folder {_where(path)} has no file of a known format: {_known_endings()}.")
        return files
    if os.path.exists(path) or not glob.has_magic(path):
        return [path]
    if files := sorted(file for file in glob.glob(path, recursive=True) if os.path.isfile(file)):
        return files
    raise ComparisonError(f"no file matches {_where(path)}: check it (the current folder is {os.getcwd()!r}).")


def _where(path: str) -> str:
    return repr(path if len(path) < 200 else path[:197] + "...")


def _known_endings() -> str:
    endings = [ending for known in FORMATS.values() for ending in known.endings]
    return f"expected {either(endings)}, text also packed as {either([ending for ending, _ in PACKINGS.values()])}"


def from_columns(columns: Mapping[Any, Any]) -> pd.DataFrame:
    """A dict of equally long columns as a data frame."""
    index = common_index(dict(columns))
    # By position: pandas would align series of different index and leave holes that look like missing verdicts.
    plain = {name: values.array if isinstance(values, pd.Series) else values for name, values in columns.items()}
    try:
        return pd.DataFrame(plain, index=index)
    except (TypeError, ValueError, OverflowError) as error:
        raise ComparisonError(f"expected a dict of equally long columns, one value per verdict ({error}).") from None


def from_records(records: Sequence[Any], where: str) -> pd.DataFrame:
    """A list of dicts as a data frame."""
    wrong = next((k for k, record in enumerate(records) if not isinstance(record, Mapping)), None)
    if wrong is not None:
        raise ComparisonError(
            f"{where} must hold records (one dict per verdict), but element {wrong} is {type(records[wrong]).__name__}."
        )
    return pd.DataFrame(list(records))


def from_path(path: str, format: Format | None, find: FindLabels) -> Any:
    """A file, packed or not, as a table; ``find`` tells which columns of a text table hold labels."""
    where = _where(path)
    if not os.path.exists(path):
        raise ComparisonError(
            f"the file {where} does not exist: check the path (the current folder is {os.getcwd()!r})."
        )
    try:
        with open(path, "rb") as file:
            return _from_bytes(file, format, find, where, path)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise ComparisonError(f"{where} cannot be read: {error}.") from None


def from_open_file(file: Any, format: Format | None, find: FindLabels) -> Any:
    """The rest of an open file, of text or of bytes."""
    where, content = "the open file", file.read()
    if isinstance(content, bytes):
        try:
            return _from_bytes(io.BytesIO(content), format, find, where)
        except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            raise ComparisonError(f"{where} cannot be read: {error}.") from None
    content = content.removeprefix("\ufeff")
    format = format or FORMATS[text_format(content[:4096])]
    if not format.is_text:
        raise ComparisonError(f"{format.endings[0]} files are no text: open them in mode 'rb', or pass the path.")
    return format.read(io.StringIO(content), where, find)


def _from_bytes(file: Any, format: Format | None, find: FindLabels, where: str, path: str | None = None) -> Any:
    """A table from bytes; a format that is no text is read by its path where there is one."""
    file = unpacked(file)
    head = peeked(file)
    binary = binary_format(head)
    if binary is not None and (format is None or not (format.is_text or format.endings == FORMATS[binary].endings)):
        format = FORMATS[binary]
    if format is not None and not format.is_text:
        is_plain = path is not None and isinstance(file, io.BufferedReader)
        return read_binary(format, [path if is_plain else io.BytesIO(file.read())], where, find)
    encoding = encoding_of(head)
    if format is None:
        if b"\x00" in head and encoding == "utf-8":
            raise ComparisonError(f"cannot tell the format of {where}: {_known_endings()}, or ", Hint("format"), ".")
        format = FORMATS[text_format(head.decode(encoding, errors="ignore"))]
    try:
        with io.TextIOWrapper(file, encoding=encoding, newline="") as text:
            return format.read(text, where, find)
    except UnicodeDecodeError as error:
        name = encoding.removesuffix("-sig").upper()
        raise ComparisonError(
            f"{where} is not {name} text ({error.reason} at byte {error.start}): convert it, or pass the file opened with its "
            "encoding, such as open(path, encoding='cp1252')."
        ) from None


def read_binary(format: Format, sources: list[Any], where: str, find: FindLabels) -> Any:
    """Files that are no text, given by path or as open files."""
    try:
        return format.read(sources, find)
    except ComparisonError:
        raise
    except Exception as error:
        # Every engine has exceptions of its own for a file it cannot read.
        raise ComparisonError(f"{where} cannot be read as {format.endings[0][1:]}: {str(error).strip()}") from None


def _read_json(file: TextIO, where: str, find: FindLabels) -> pd.DataFrame:
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
    return _from_document(records, where)


def _from_document(document: Any, where: str) -> pd.DataFrame:
    """A JSON document: records, or one of the ways in which pandas writes columns."""
    if isinstance(document, list):
        return from_records(document, where)
    if isinstance(document, dict) and document:
        if isinstance(document.get("columns"), list) and isinstance(document.get("data"), list):
            refuse_repeated(document["columns"])
            return from_records([dict(zip(document["columns"], row, strict=False)) for row in document["data"]], where)
        if all(isinstance(column, dict) for column in document.values()):
            rows = list(dict.fromkeys(row for column in document.values() for row in column))
            return from_columns({name: [column.get(row) for row in rows] for name, column in document.items()})
        if all(isinstance(column, list) for column in document.values()):
            [only, *others] = document.values()
            is_records = not others and all(isinstance(row, dict) for row in only)
            return from_records(only, where) if is_records else from_columns(document)
    raise ComparisonError(f"{where} must hold a JSON array of records, or columns, got {type(document).__name__}.")


def _read_json_lines(file: TextIO, where: str, find: FindLabels) -> pd.DataFrame:
    lines = list(file)
    filled = [line for line in lines if line.strip()]
    if not filled:
        raise ComparisonError(f"{where} is empty: expected one JSON record per line.")
    try:
        records = json.loads("[" + ",".join(filled) + "]")
    except (ValueError, RecursionError):
        records = []
    if len(records) == 1 and len(filled) == 1 and isinstance(records[0], dict | list):
        is_table = isinstance(records[0], list) or all(isinstance(v, dict | list) for v in records[0].values())
        return _from_document(records[0], where) if is_table else from_records(records, where)
    if len(records) == len(filled):
        return from_records(records, where)
    for number, line in enumerate(lines, start=1):
        try:
            if line.strip():
                json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ComparisonError(f"line {number} of {where} is not one JSON record ({error}).") from None
    raise ComparisonError(f"{where} does not hold one JSON record per line.")


def _read_delimited(file: TextIO, where: str, find: FindLabels, separator: str) -> pd.DataFrame:
    """Labels are read as text: the items 3.1 and 3.10, or 7 and 007, are not the same."""
    try:
        # Only the engine in Python knows separators of several letters and, before pandas 3.1, NULs, at which a value ends in C;
        # only the other reads a column as a whole.
        is_special = len(separator) > 1 or any("\0" in part for part in iter(partial(file.read, 1 << 20), ""))
        engine: dict[str, Any] = {"engine": "python"} if is_special else {"low_memory": False}
        file.seek(0)
        # Read as a row: pandas would rename what occurs twice in a header.
        top = pd.read_csv(file, sep=separator, nrows=1, header=None, dtype=str, index_col=False, **engine)
        refuse_repeated(top.iloc[0].dropna().tolist())
        file.seek(0)
        header = pd.read_csv(file, sep=separator, nrows=0, **engine)
        if header.shape[1] == 1:
            [name] = header.columns
            likely = next((other for other in ";\t|," if other in name and other != separator), ";")
            raise ComparisonError(
                f"{where} has the single column {name!r}: expected columns separated by {separator!r}. ",
                *("Pass ", Hint("separator", likely), " or whatever it is."),
            )
        labels = find(list(header.columns))
        file.seek(0)
        options: dict[str, Any] = {"sep": separator, "dtype": dict.fromkeys(labels, str), **engine}
        frame = pd.read_csv(file, **options)
        if isinstance(frame.index, pd.RangeIndex) or not len(frame):
            return frame
        # Rows are longer than the header, and pandas took their first values for an index. A separator at their ends does no harm.
        if frame.index.nlevels > 1 or frame.iloc[:, -1].notna().any():
            raise ComparisonError(
                f"{where} cannot be read as a table separated by {separator!r}: rows have "
                f"{header.shape[1] + frame.index.nlevels} values for {header.shape[1]} columns of the header."
            )
        file.seek(0)
        return pd.read_csv(file, index_col=False, **options)
    except (ComparisonError, UnicodeDecodeError):
        raise
    except pd.errors.EmptyDataError:
        raise ComparisonError(f"{where} is empty: expected a header line with the column names.") from None
    except ValueError as error:
        raise ComparisonError(
            f"{where} cannot be read as a table separated by {separator!r}: {str(error).strip()}"
        ) from None


def _read_excel(sources: list[Any], find: FindLabels, sheet: str | None = None) -> pd.DataFrame:
    """A sheet of each workbook, the first by default, from its first row that is not empty."""
    if not find_spec("openpyxl"):
        raise ComparisonError("xlsx files are read by openpyxl, which is not installed: pip install openpyxl.")
    frames = []
    for source in sources:
        with pd.ExcelFile(source) as book:
            names = [str(name) for name in book.sheet_names]
            if sheet is not None and sheet not in names:
                raise ComparisonError(
                    Hint("sheet", sheet), f" is not in the workbook: its sheets are {quoted(names, 12)}."
                )
            one = names[0] if sheet is None else sheet
            head = pd.read_excel(book, one, nrows=limits.ROWS_ABOVE, header=None, dtype=str)
            above = int(head.notna().any(axis=1).to_numpy().argmax()) if len(head) else 0
            refuse_repeated(head.iloc[above].dropna().tolist() if len(head) else [])
            read: dict[str, Any] = {"sheet_name": one, "skiprows": above}
            labels = find(list(pd.read_excel(book, **read, nrows=0).columns))
            frames.append(pd.read_excel(book, **read, dtype={str(name): str for name in labels}))
        if sheet is None and len(names) > 1:
            frames[-1].attrs[SHEETS] = names
    table = pd.concat(frames, ignore_index=True)
    table.attrs = frames[0].attrs
    return table


def _scan(kind: str, sources: list[Any], find: FindLabels) -> Any:
    """Files of an engine's own format as a frame of the first engine at hand."""
    is_path = all(isinstance(source, str) for source in sources)
    engines = [name for name in ENGINE_READERS[kind] if is_path or name != "duckdb"]
    engine = next((name for name in engines if find_spec(name)), None)
    if engine is None:
        raise ComparisonError(
            f"{kind} files are read by one of {', '.join(engines)}, and none is installed: pip install polars."
        )
    sources = sources if is_path else [source.read() for source in sources] if engine == "polars" else sources
    return ENGINE_READERS[kind][engine](import_module(engine), sources)


def _arrow_tables(kind: str) -> Callable[[Any, list[Any]], Any]:
    return lambda pyarrow, files: pyarrow.concat_tables(
        [import_module(f"pyarrow.{kind}").read_table(file) for file in files]
    )


# In the order of preference: polars and duckdb read a file piece by piece, pyarrow as a whole.
ENGINE_READERS: dict[str, dict[str, Callable[[Any, list[Any]], Any]]] = {
    "parquet": {
        "polars": lambda polars, files: polars.scan_parquet(files),
        "duckdb": lambda duckdb, files: duckdb.read_parquet(files),
        "pyarrow": _arrow_tables("parquet"),
    },
    "feather": {"polars": lambda polars, files: polars.scan_ipc(files), "pyarrow": _arrow_tables("feather")},
}
FORMATS = {
    "json": Format((".json",), _read_json),
    "jsonl": Format((".jsonl", ".ndjson"), _read_json_lines),
    "csv": Format((".csv",), partial(_read_delimited, separator=",")),
    "tsv": Format((".tsv",), partial(_read_delimited, separator="\t")),
    "parquet": Format((".parquet", ".pq"), partial(_scan, "parquet"), is_text=False, in_engine=True),
    "feather": Format((".feather", ".arrow"), partial(_scan, "feather"), is_text=False, in_engine=True),
    "xlsx": Format((".xlsx",), _read_excel, is_text=False),
}
