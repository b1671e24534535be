"""Tables that live in an engine: equal verdicts are counted where the data are, and only the counts come back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from .. import limits
from ..errors import ComparisonError

EngineFrame = nw.DataFrame[Any] | nw.LazyFrame[Any]
_USUAL = 1.0


@dataclass(frozen=True)
class CountedRows:
    """The distinct rows of a table.

    Attributes
    ----------
    frame : pandas.DataFrame
        One row per distinct row, in the order of their text, so that no engine and no partition changes what follows.
    weight : str
        The column of ``frame`` with the total weight.
    n_rows : ndarray of int, shape (n_distinct,)
        How many rows of the table each one stands for.
    """

    frame: pd.DataFrame
    weight: str
    n_rows: np.ndarray


def engine_frame(source: object) -> EngineFrame | None:
    """The source as a frame whose engine can count, or None if it is not one."""
    frame = nw.from_native(source, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame | nw.LazyFrame) else None


def pandas_frame(source: Any) -> Any:
    """A frame of any engine, or a dict of columns, as one of pandas; anything else as it is.

    Examples
    --------
    >>> pandas_frame({"x": [1, 2]})["x"].tolist()
    [1, 2]
    """
    if isinstance(source, dict):
        try:
            return pd.DataFrame(source)
        except (TypeError, ValueError, OverflowError) as error:
            raise ComparisonError(f"expected a dict of equally long columns ({error}).") from None
    if source is None or isinstance(source, pd.DataFrame | pd.Series | np.ndarray | list | tuple | str):
        return source
    frame = engine_frame(source)
    if frame is None:
        return source
    frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    # Value by value: no engine's own way to pandas is needed.
    return pd.DataFrame({column.name: pd.Series(column.to_list()) for column in frame.iter_columns()})


def count_rows(frame: EngineFrame, keys: Sequence[Any], weight: Any) -> CountedRows:
    """Count the distinct rows inside the engine of the frame.

    Parameters
    ----------
    frame : narwhals DataFrame or LazyFrame
    keys : sequence of str
        The columns that make two rows the same.
    weight : str, optional
        The column with the weight of a row, summed over equal rows; without it every row weighs one.

    Returns
    -------
    CountedRows

    Examples
    --------
    >>> verdicts = nw.from_native(pd.DataFrame({"judge": ["j", "k", "j"], "winner": ["a", "b", "a"]}))
    >>> count_rows(verdicts, ["judge", "winner"], None).frame
      judge winner  weight
    0     j      a     2.0
    1     k      b     1.0
    """
    names = list(dict.fromkeys(keys))
    n_rows, total, odd = _free_names(("n_rows", "weight", "odd_weight"), names)
    if weight is None:
        counted = _counted_codes(frame.select(names), n_rows)
        if counted is None:
            groups = _fast_to_group(frame.select(names)).group_by(names)
            counted = collected(groups.agg(nw.len().alias(n_rows)))
        counted[total] = counted[n_rows].astype(float)
    else:
        frame = _fast_to_group(frame.select(*names, nw.col(weight).alias(total)))
        counted = _with_weights(frame, names, total, n_rows, odd)
    counts = counted.pop(n_rows).to_numpy(dtype=np.int64)
    order = _text_order(counted[names])
    return CountedRows(counted.take(order).reset_index(drop=True), total, counts[order])


def _with_weights(frame: EngineFrame, names: list[str], weight: str, n_rows: str, odd: str) -> pd.DataFrame:
    """Distinct rows with their total weight; a weight that is no positive whole number keeps a row of its own.

    Importance weights are no counts: what their sum says about the errors of estimates depends on how many they were.
    """
    if not frame.collect_schema()[weight].is_numeric():
        # Text, truth values: whether they are numbers is for the reader to say.
        counted = collected(frame.group_by(*names, weight).agg(nw.len().alias(n_rows)))
        numbers = pd.to_numeric(counted[weight], errors="coerce").astype(float)
        is_odd = ~((numbers > 0) & (numbers % 1 == 0))
        counted[weight] = np.where(is_odd, counted[weight].astype(object), numbers * counted[n_rows])
        return _single(counted, is_odd, weight, n_rows)
    value = nw.col(weight)
    is_usual = (value > 0) & (value < float("inf")) & (value % 1 == 0)
    frame = frame.with_columns(value.cast(nw.Float64)).with_columns(
        nw.when(is_usual).then(nw.lit(_USUAL)).otherwise(value.fill_null(float("nan"))).alias(odd)
    )
    counted = collected(frame.group_by(*names, odd).agg(nw.len().alias(n_rows), value.sum()))
    own = counted.pop(odd)
    counted[weight] = counted[weight].where(own == _USUAL, own)
    return _single(counted, own != _USUAL, weight, n_rows)


def _single(counted: pd.DataFrame, is_odd: pd.Series, weight: str, n_rows: str) -> pd.DataFrame:
    """Odd rows as often as they stand in the table, in an order that no engine changes."""
    if not is_odd.any():
        return counted
    counted = counted.loc[counted.index.repeat(counted[n_rows].where(is_odd, 1))]
    counted.loc[is_odd[is_odd].index, n_rows] = 1
    return counted.sort_values(weight, kind="stable", key=lambda column: column.map(str), ignore_index=True)


def _counted_codes(frame: EngineFrame, n_rows: str) -> pd.DataFrame | None:
    """Distinct rows of an arrow table of few distinct texts, counted by their codes; None for any other table.

    Arrow's own grouping takes three times as long.
    """
    if not frame.implementation.is_pyarrow():
        return None
    table, labels = frame.to_native(), {}
    if not len(table):
        return None
    key: np.ndarray = np.zeros(len(table), dtype=np.int64)
    size = 1
    for name, dtype in frame.collect_schema().items():
        if dtype != nw.String or table[name].null_count:
            return None
        coded = table[name].dictionary_encode().combine_chunks()
        labels[name] = coded.dictionary.to_pylist()
        size *= len(labels[name])
        if size > limits.DISTINCT_CODES:
            return None
        key *= len(labels[name])
        key += coded.indices.to_numpy()
    counts = np.bincount(key, minlength=size)
    present = np.flatnonzero(counts)
    codes = np.unravel_index(present, [len(names) for names in labels.values()])
    columns = {
        name: np.array(names, dtype=object)[code] for (name, names), code in zip(labels.items(), codes, strict=True)
    }
    return pd.DataFrame({**columns, n_rows: counts[present]})


def with_fields(frame: EngineFrame, names: Sequence[Any]) -> tuple[EngineFrame, list[Any]]:
    """The frame with columns for entries of nested ones, ``conv_metadata.turns``, and the names that could be found so."""
    schema, found, fields = frame.collect_schema(), [], []
    for name in names:
        outer, *inner = str(name).split(".")
        if not inner or outer not in schema or not schema[outer].is_nested():
            continue
        value = nw.col(outer)
        for field in inner:
            value = value.struct.field(field)
        fields.append(value.alias(name))
        found.append(name)
    return (frame.with_columns(*fields) if fields else frame), found


def _fast_to_group(frame: EngineFrame) -> EngineFrame:
    """Arrow groups coded text several times as fast as plain text, once its pieces share their codes."""
    if not frame.implementation.is_pyarrow():
        return frame
    table = frame.to_native()
    for position, (name, dtype) in enumerate(frame.collect_schema().items()):
        if dtype.is_nested():
            raise ComparisonError(
                f"the column {name!r} holds lists or other containers, which pyarrow cannot count: make it text first."
            )
        if dtype == nw.String:
            table = table.set_column(position, name, table[name].dictionary_encode())
    return nw.from_native(table.unify_dictionaries())


def collected(counted: EngineFrame) -> pd.DataFrame:
    """Counts out of their engine, value by value: no engine's own way to pandas is needed."""
    if isinstance(counted, nw.LazyFrame):
        # Polars would load the columns as a whole otherwise, of files that may be larger than the memory.
        options: dict[str, Any] = {"engine": "streaming"} if counted.implementation.is_polars() else {}
        counted = counted.collect(**options)
    return pd.DataFrame({column.name: _values(column) for column in counted.iter_columns()})


def _values(column: Any) -> pd.Series:
    values = column.to_list()
    # pandas would turn whole numbers beside a missing one into floats, and long ids into other ids; and text is only
    # passed on to be coded.
    as_is = column.dtype in (nw.String, nw.Categorical, nw.Enum) or (column.dtype.is_integer() and None in values)
    return pd.Series(values, dtype=object if as_is else None)


def _text_order(frame: pd.DataFrame) -> np.ndarray:
    """The positions that sort the rows by the text of their values, missing ones first."""
    ranks = []
    for _, column in frame.items():
        try:
            codes, values = pd.factorize(column)
        except TypeError:
            codes, values = pd.factorize(column.map(str))
        _, rank = np.unique(np.array([str(value) for value in values], dtype=object), return_inverse=True)
        # Missing values have the code -1, the last entry.
        ranks.append(np.append(rank, -1)[codes])
    return np.lexsort(ranks[::-1])


def _free_names(wanted: Sequence[str], taken: Sequence[str]) -> list[str]:
    """Column names that are not taken yet."""
    free = []
    for name in wanted:
        while name in taken:
            name += "_"
        free.append(name)
    return free
