"""Where a table of verdicts comes from: frames, records, files, engines; and how it is laid out as pairs."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from ..errors import ComparisonError, Hint
from ..words import either, quoted
from .arrays import listed
from .engines import EngineFrame, collected, count_rows, engine_frame, with_fields
from .everyday import verdict_columns
from .files import (
    FORMATS,
    SHEETS,
    Format,
    format_of,
    from_columns,
    from_open_file,
    from_path,
    from_records,
    read_binary,
    several,
)
from .roles import (
    COUNT_COLUMNS,
    FILE,
    OUTCOME_COLUMNS,
    Names,
    NoJudge,
    ask_count,
    find_roles,
    named_column,
    refuse_no_judge,
)
from .shape import Given, Laid, find_judge, find_pair, names_pairs
from .shapes import PAIRS, SHAPES, recognise

ACCEPTED = (
    "a pandas DataFrame, a list of dicts, a dict of columns, Comparisons, a polars, pyarrow, duckdb, dask or pyspark "
    f"frame, a path or a list of paths to {either([format.endings[0] for format in FORMATS.values()])} files, or an open file, "
    "named with "
)
Keep: TypeAlias = Iterable[Hashable] | str | None


@dataclass(frozen=True)
class Table:
    """A table of pairs before its labels are understood.

    Attributes
    ----------
    laid : Laid
        The rows and what is known about them.
    kept : list of column names
        Further columns to keep.
    table_rows : ndarray of int, optional
        How many rows of the user's table stand behind each row, None when the rows are that table's own.
    """

    laid: Laid
    kept: list[Hashable]
    table_rows: np.ndarray | None = None


@dataclass(frozen=True)
class Reader:
    """What the user said about a source.

    Attributes
    ----------
    given : Given
        About columns.
    keep : list of column names, optional
    syntax, shape : str, optional
        How the file is written, and how the table is laid out.
    separator, sheet : str, optional
    """

    given: Given
    keep: Keep = None
    syntax: str | None = None
    shape: str | None = None
    separator: str | None = None
    sheet: str | None = None

    @classmethod
    def of(
        cls, given: Given, keep: Keep, format: str | None, separator: str | None, sheet: str | None = None
    ) -> Reader:
        """From the arguments of ``read_comparisons``.

        Raises
        ------
        ComparisonError
            For a format that is none.
        """
        if keep is not None:
            keep = listed("keep", keep, "names of columns")
            if other := [name for name in keep if not isinstance(name, Hashable)]:
                raise ComparisonError(f"keep must be names of columns, got {type(other[0]).__name__} among them.")
        if separator is not None:
            _check_separator(separator)
        if format is None or (isinstance(format, str) and format in FORMATS):
            return cls(given, keep, format, None, separator, sheet)
        if not isinstance(format, str) or (format != PAIRS and format not in SHAPES):
            known = either([repr(name) for name in (*FORMATS, PAIRS, *SHAPES)])
            raise ComparisonError(f"format must be {known}, got {format!r}.")
        return cls(given, keep, None, format, separator, sheet)

    def labels(self, names: list[Hashable]) -> list[Hashable]:
        """The columns of a text table that must stay text. What is missing is said when the rows are there."""
        try:
            if (recognised := recognise(names, self.given, self.shape)) is not None:
                shape, found = recognised
                return shape.labels(found)
            roles = find_roles(names, self.given.roles, self.given.has_judge)
            return [name for name in roles.taken() if name not in roles.numbers.values()]
        except ComparisonError:
            known = Names(names)
            pair = find_pair(known) or ()
            return [name for name in (*pair, known.find("judge"), *self._named(names)) if name is not None]

    def _named(self, names: list[Hashable]) -> list[Hashable]:
        roles = self.given.roles
        return [name for name in (roles.judge, roles.first, roles.second) if name is not None and name in names]

    def read(self, source: Any) -> Table:
        """Any accepted source as a table with at least one row."""
        paths = _paths(source)
        if paths is not None:
            frame = self._from_paths(paths)
        elif isinstance(source, pd.DataFrame):
            frame = source
        elif (engine := engine_frame(source)) is not None:
            return self._from_engine(engine)
        elif isinstance(source, Mapping):
            frame = from_columns(source)
        elif isinstance(source, list | tuple):
            frame = from_records(source, "the list")
        elif isinstance(source, bytes) or hasattr(source, "read"):
            file = io.BytesIO(source) if isinstance(source, bytes) else source
            frame = from_open_file(file, self._format(""), self.labels)
        else:
            other = "; convert it with .to_pandas() first" if hasattr(source, "to_pandas") else ""
            raise ComparisonError(
                f"cannot read comparisons from {type(source).__name__}: expected {ACCEPTED}",
                Hint("format"),
                f"{other}.",
            )
        if not isinstance(frame, pd.DataFrame):
            with _named_errors(paths[0] if paths else "the open file"):
                return self._from_engine(nw.from_native(frame))
        if isinstance(frame.columns, pd.MultiIndex):
            raise ComparisonError(
                "the data frame has several levels of column names: flatten them to one name per column."
            )
        sheets = frame.attrs.get(SHEETS)
        try:
            _refuse_empty(frame)
            table = self._of_frame(frame)
        except ComparisonError as error:
            if sheets is None:
                raise
            first = f"{sheets[0]!r} is the first of {len(sheets)} sheets, {quoted(sheets, 12)}: pass "
            raise type(error)(
                first, Hint("sheet", sheets[1]), " to read another. In the first, ", *error.args
            ) from None
        if sheets is None or table.laid.made_of:
            return table
        made_of = f"{sheets[0]!r}, the first of {len(sheets)} sheets"
        return replace(table, laid=replace(table.laid, made_of=made_of))

    def _format(self, path: str) -> Format | None:
        return format_of(path, self.syntax, self.separator, self.sheet)

    def _from_paths(self, paths: list[str]) -> Any:
        """One table of all files; those of an engine stay there if all are."""
        formats = [self._format(path) for path in paths]
        binary = {id(format) for format in formats}
        if len(paths) > 1 and len(binary) == 1 and (format := formats[0]) is not None and not format.is_text:
            return read_binary(format, list(paths), f"{paths[0]!r} and others", self.labels)
        if len(paths) == 1:
            return from_path(paths[0], formats[0], self.labels)
        return pd.concat(
            [self._one(path, format) for path, format in zip(paths, formats, strict=True)], ignore_index=True
        )

    def _one(self, path: str, format: Format | None) -> pd.DataFrame:
        """One of several files, with a column that says which."""
        try:
            table = from_path(path, format, self.labels)
        except ComparisonError as error:
            raise ComparisonError(f"{path}: ", *error.args) from None
        if not isinstance(table, pd.DataFrame):
            with _named_errors(path):
                table = collected(nw.from_native(table))
        name = os.path.basename(path).split(".")[0]
        return table if FILE in table.columns else table.assign(**{FILE: name})

    def _of_frame(self, frame: pd.DataFrame) -> Table:
        names: list[Hashable] = [*frame.columns]
        recognised = recognise(names, self.given, self.shape) or self._by_content(frame, Names(names))
        if recognised is not None:
            shape, found = recognised
            laid = shape.lay(frame, found, self.given)
        else:
            count = self._count_column(frame, names)
            roles = find_roles(
                names, self.given.roles, self.given.has_judge, count, lambda pair: frame[pair].head(1000)
            )
            laid = Laid(frame, roles)
            laid = replace(laid, has_order=laid.roles.outcome is not None or laid.roles.first_wins is not None)
        if self.given.cluster is not None and laid.cluster is None:
            laid = replace(laid, cluster=named_column(names, self.given.cluster, "cluster"))
        if self.given.has_judge and laid.roles.judge is None and laid.judge is None:
            refuse_no_judge(names)
        if recognised is not None and laid.is_own and laid.roles.weight is None:
            count = self._count_column(frame, names)
            if count is not None:
                raise ComparisonError("pass ", *ask_count(count)[1], ".")
        kept = _kept(laid, self.keep)
        return Table(laid, kept, None if laid.is_own else np.ones(len(laid.frame), dtype=np.int64))

    def _by_content(self, frame: pd.DataFrame, names: Names) -> Any:
        """A table with a column for each judge, known by the verdicts in them."""
        roles = self.given.roles
        if self.shape == PAIRS or not (roles.outcome is roles.first_wins is None):
            return None
        # Labels of every row are no names.
        is_named = all(isinstance(side, Hashable) and side in names.all for side in (roles.first, roles.second))
        pair = (roles.first, roles.second) if is_named else find_pair(names)
        if pair is None or names.find(*OUTCOME_COLUMNS) is not None or (names_pairs(self.given) and not is_named):
            return None
        columns = verdict_columns(frame, [*pair])
        if not columns:
            return None
        judge = find_judge(names, self.given)
        if len(columns) == 1 or judge is not None:
            hints = [piece for name in columns[:4] for piece in (" or ", Hint("outcome", name))][1:]
            raise ComparisonError(
                f"no outcome column found among {quoted(names.all, 12)}: pass ", *hints, ", which hold verdicts."
            )
        return SHAPES["wide"], {"first": pair[0], "second": pair[1], "verdicts": columns, "weight": None}

    def _count_column(self, frame: pd.DataFrame, names: list[Hashable]) -> Hashable | None:
        """A column that may say how often each verdict was given, if nothing was said of weights."""
        roles = self.given.roles
        name = Names(names).find(*COUNT_COLUMNS)
        if name is None or name in roles.taken() or roles.weight is not None or roles.first_wins is not None:
            return None
        if frame[name].dtype.kind not in "iuf":
            return None
        number = frame[name].to_numpy(dtype=float)
        return name if ((number >= 0) & (number % 1 == 0)).all() and (number > 1).any() else None

    def _from_engine(self, engine: EngineFrame) -> Table:
        """The distinct rows of a table that stays in its engine; one of another shape leaves it with the columns it needs."""
        names: list[Hashable] = [*engine.collect_schema().names()]
        wanted = [self.keep] if isinstance(self.keep, str) else list(self.keep or ())
        wanted += [] if self.given.cluster is None else [self.given.cluster]
        engine, fields = with_fields(engine, [name for name in wanted if name not in names])
        names += fields
        recognised = recognise(names, self.given, self.shape)
        kept = _named(names, wanted)
        if recognised is not None:
            shape, found = recognised
            needed: list[Any] = list(dict.fromkeys([*shape.used(found), *kept]))
            frame = collected(engine.select(needed))
            _refuse_empty(frame)
            try:
                return replace(self, keep=None)._of_frame(frame)
            except NoJudge:
                # Of all columns, not only of those that were taken from the engine.
                refuse_no_judge(names)
        may_count = Names(names).find(*COUNT_COLUMNS)
        is_number = may_count is not None and engine.collect_schema()[str(may_count)].is_integer()
        is_said = may_count in kept or may_count in self.given.roles.taken()
        count = may_count if is_number and not is_said else None
        roles = find_roles(
            names,
            self.given.roles,
            self.given.has_judge,
            count,
            lambda pair: collected(engine.select([str(name) for name in pair]).head(1000)),
        )
        labels = [name for name in roles.taken() if name != roles.weight]
        counted = count_rows(engine, [*labels, *kept], roles.weight)
        _refuse_empty(counted.frame)
        laid = Laid(counted.frame, replace(roles, weight=counted.weight), cluster=self.given.cluster)
        laid = replace(laid, has_order=roles.outcome is not None or roles.first_wins is not None)
        return Table(laid, kept, counted.n_rows)


def _check_separator(separator: Any) -> None:
    """Refuse what separates no columns: several letters are a regular expression, as for pandas."""
    try:
        re.compile(separator if len(separator) > 1 else "")
        is_known = isinstance(separator, str) and separator not in ("", "\n", "\r", '"')
    except (TypeError, re.error, RecursionError, OverflowError):
        is_known = False
    if not is_known:
        raise ComparisonError(f"separator must be what stands between columns, such as ';', got {separator!r}.")


@contextmanager
def _named_errors(where: str) -> Iterator[None]:
    """Files that an engine reads late: every engine has exceptions of its own for what it cannot read."""
    try:
        yield
    except ComparisonError:
        raise
    except Exception as error:
        format = format_of(where, None)
        kind = "" if format is None else f" as {format.endings[0][1:]}"
        raise ComparisonError(f"{where!r} cannot be read{kind}: {str(error).strip()}") from None


def engine_columns(source: Any, format: str | None = None, separator: str | None = None) -> list[str] | None:
    """The columns of a table that is counted inside its engine, where only those of ``keep`` are kept; None for any other."""
    try:
        paths = _paths(source)
        if paths is not None:
            read = Reader.of(Given(), None, format, separator)
            formats = [format_of(path, read.syntax, separator) for path in paths]
            if any(known is None or not known.in_engine for known in formats):
                return None
            source = read_binary(formats[0], list(paths), paths[0], read.labels)  # type: ignore[arg-type]
        elif isinstance(source, pd.DataFrame):
            return None
        engine = engine_frame(source)
        with _named_errors(paths[0] if paths else "the frame"):
            return None if engine is None else [*engine.collect_schema().names()]
    except ComparisonError:
        # Whoever reads it says what is wrong.
        return None


def _paths(source: Any) -> list[str] | None:
    """The files that a path or a list of paths stands for; None for any other source."""
    if isinstance(source, str | os.PathLike):
        return several(os.fspath(source))
    if isinstance(source, list | tuple) and source and all(isinstance(path, str | os.PathLike) for path in source):
        return [file for path in source for file in several(os.fspath(path))]
    return None


def _refuse_empty(frame: pd.DataFrame) -> None:
    if frame.empty:
        raise ComparisonError("the table is empty: expected one row per verdict with a judge, two items, an outcome.")


def _kept(laid: Laid, keep: Keep) -> list[Hashable]:
    names = [*laid.frame.columns]
    taken = set(laid.roles.taken())
    if keep is None:
        kept = [name for name in names if name not in taken and _is_scalar(laid.frame[name])]
    else:
        kept = _named(names, [keep] if isinstance(keep, str) else keep)
    return kept if laid.cluster is None or laid.cluster in kept else [*kept, laid.cluster]


def _named(names: list[Hashable], keep: Iterable[Hashable]) -> list[Hashable]:
    return [named_column(names, name, "keep") for name in dict.fromkeys(keep)]


def may_hold_containers(column: pd.Series) -> bool:
    """Whether the values of a column may be lists or dicts."""
    return column.dtype == object and pd.api.types.infer_dtype(column, skipna=True).startswith("mixed")


def _is_scalar(column: pd.Series) -> bool:
    return not may_hold_containers(column) or bool(column.map(pd.api.types.is_scalar).all())
