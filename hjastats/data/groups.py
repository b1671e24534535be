"""Groups of rows: by a column, several of them, pieces of a number or of time, or what is known about judges or items."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from .. import limits
from ..errors import ComparisonError, Hint, OptionError
from ..words import counted, quoted
from .arrays import check_option, numbers
from .comparisons import Comparisons, check_rows
from .roles import TIME_COLUMNS

# What the board of all groups is called beside those of each.
ALL = "all"
# Lengths of time, with the names pandas has for them, the shortest first.
PERIODS = {"day": "D", "week": "W", "month": "M", "quarter": "Q", "year": "Y"}
# Periods that are tried in turn where none is asked for.
_TRIED = ("month", "quarter", "year")
# Parts into which a number of many values is cut.
_PARTS = 4
# Seconds since 1970 up to the year 5138; beyond, they are milliseconds.
_SECONDS = 1e11
# Dates in digits: with the year first, and with the year last, where the first number may be the month or the day.
_ISO = "2024-03-31"
_YEAR_FIRST = r"^(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})(?!\d)(?P<rest>.*)$"
_YEAR_LAST = r"^(?P<month>\d{1,2})(?P<mark>[-/.])(?P<day>\d{1,2})(?P=mark)(?P<year>\d{4})(?!\d)(?P<rest>.*)$"


@dataclass(frozen=True)
class Grouping:
    """Which group every row belongs to.

    Attributes
    ----------
    code : ndarray of int, shape (n_rows,)
        Into ``labels``; -1 for rows without a group.
    labels : tuple of str
    by : str
        What the groups are groups of.
    is_ordered : bool
        Whether their order means something: numbers, time, versions.
    told : str
        How they were made, where they are not the labels of a column.
    """

    code: np.ndarray
    labels: tuple[str, ...]
    by: str
    is_ordered: bool = False
    told: str = ""


def group_rows(
    data: Comparisons,
    by: Any,
    *,
    breaks: float | Sequence[float] | None = None,
    quantiles: int | None = None,
    period: str | None = None,
    labels: Sequence[str] | None = None,
) -> Grouping:
    """Divide the rows into groups.

    Parameters
    ----------
    by : str, sequence of str, mapping, or array_like
        A column, or one of the metadata of judges or items; several, whose combinations are groups; a mapping from judges, items
        or the labels of a column to groups; or a label for each row. Of a trait of items, pairs across it are a group by
        themselves.
    breaks : float or sequence of float, optional
        Where a numeric column is cut: a group begins at each.
    quantiles : int, optional
        Number of equal parts into which it is cut.
    period : {"day", "week", "month", "quarter", "year"}, optional
        Into which times are cut.
    labels : sequence of str, optional
        Names of the groups that breaks make.

    Raises
    ------
    ComparisonError, OptionError

    Examples
    --------
    >>> columns = pd.DataFrame({"length": [10, 250, 900], "day": ["2024-01-30", "2024-02-01", "2024-02-28"]})
    >>> data = Comparisons.from_arrays("j", list("aba"), list("bcc"), [1, 0, 1], columns=columns)
    >>> group_rows(data, "length", breaks=[100]).labels
    ('below 100', 'from 100')
    >>> group_rows(data, "day", period="month").labels
    ('2024-01', '2024-02')
    """
    given = {"breaks": breaks, "quantiles": quantiles, "period": period}
    asked = [name for name, value in given.items() if value is not None]
    if len(asked) > 1:
        raise OptionError(f"{quoted(asked)} were given: a column is cut in one way.")
    if labels is not None and breaks is None:
        raise OptionError("labels name the groups that breaks make: pass ", Hint("breaks", [0]), ", too.")
    if isinstance(by, list | tuple) and all(isinstance(name, str) for name in by) and not _is_rows(by, data):
        if not by:
            raise OptionError("by must name a column, got an empty list.")
        if asked and len(by) > 1:
            raise OptionError(f"{asked[0]} cuts one column, and by names {len(by)}.")
        ways = [_one(data, name, breaks, quantiles, period, labels) for name in by]
        return ways[0] if len(ways) == 1 else _checked(reduce(_combined, ways))
    return _checked(_one(data, by, breaks, quantiles, period, labels))


def time_column(data: Comparisons) -> str | None:
    """The column that says when a verdict was given, by its name; None without one whose values can be put in order.

    Examples
    --------
    >>> columns = pd.DataFrame({"date": ["2024-05-01", "2024-04-30"]})
    >>> time_column(Comparisons.from_arrays("j", ["a", "a"], ["b", "c"], [1, 0], columns=columns))
    'date'
    """
    for name in TIME_COLUMNS:
        if name in data.columns:
            values = data.columns[name].dropna()
            is_text = not (pd.api.types.is_numeric_dtype(values) or pd.api.types.is_datetime64_any_dtype(values))
            if is_text and not values.astype(str).str.match(r"\d{4}-\d{2}").all():
                continue
            if len(values) and (values != values.iloc[0]).any():
                return name
    return None


def _is_rows(by: Sequence[Any], data: Comparisons) -> bool:
    return len(by) == data.n_rows and not all(name in data.columns for name in by)


def _one(data: Comparisons, by: Any, breaks: Any, quantiles: Any, period: Any, labels: Any) -> Grouping:
    values, name = _values(data, by)
    if not pd.api.types.is_numeric_dtype(values):
        values = values.mask(values.astype(str).str.strip() == "")
    if breaks is not None or quantiles is not None:
        return _cut(_as_numbers(values, name), name, breaks, quantiles, labels)
    if period is not None:
        check_option("period", period, tuple(PERIODS))
        return _periods(_as_times(values, name), name, period)
    if values.nunique() > limits.MOST_GROUPS:
        return _fewer(values, name)
    return _labelled(values, name)


def _values(data: Comparisons, by: Any) -> tuple[pd.Series, str]:
    """A value for each row, and what these are called."""
    if isinstance(by, str):
        return _named(data, by), by
    is_sequence = isinstance(by, pd.Series | np.ndarray | list | tuple | pd.Categorical | pd.Index)
    is_sequence = is_sequence and getattr(by, "ndim", 1) > 0
    if is_sequence and len(by) == data.n_rows:
        check_rows("by", by, data)
        name = str(by.name) if isinstance(by, pd.Series) and by.name is not None else "group"
        return pd.Series(by).reset_index(drop=True), name
    if isinstance(by, pd.Series):
        by = by.to_dict()
    if isinstance(by, Mapping):
        return _mapped(data, {str(key): value for key, value in by.items()}), "group"
    size = f" of {len(by)}" if is_sequence else ""
    raise OptionError(
        f"by must name columns, map judges, items or labels of a column to groups, or have a label for each of the {data.n_rows:,} "
        f"rows; got {type(by).__name__}{size}."
    )


def _named(data: Comparisons, name: str) -> pd.Series:
    if name in data.columns:
        return data.columns[name].reset_index(drop=True)
    if name == "judge":
        return pd.Series(np.asarray(data.judges, dtype=object)[data.judge_index])
    judges, items = data.judge_metadata, data.item_metadata
    if judges is not None and name in judges:
        return judges[name].iloc[data.judge_index].reset_index(drop=True)
    if items is not None and name in items:
        return _of_items(data, items[name].to_numpy())
    known = [*data.columns.columns, "judge", *(() if judges is None else judges), *(() if items is None else items)]
    raise ComparisonError(Hint("by", name), f": no column is called so; there are {quoted(known, 12)}.")


def _of_items(data: Comparisons, trait: np.ndarray) -> pd.Series:
    """The trait of the two items of a row, or both."""
    pair = pd.DataFrame({"a": trait[data.first_index], "b": trait[data.second_index]})
    low, high = np.sort(pair.astype(str).to_numpy(), axis=1).T
    label = np.where(low == high, low, low + " against " + high)
    return pd.Series(label).where(pair.notna().all(axis=1))


def _mapped(data: Comparisons, groups: dict[str, Any]) -> pd.Series:
    if set(data.judges) <= set(groups):
        return pd.Series([groups[judge] for judge in data.judges])[data.judge_index].reset_index(drop=True)
    if set(data.items) <= set(groups):
        return _of_items(data, np.array([groups[item] for item in data.items], dtype=object))
    for name in data.columns:
        labels = data.columns[name].astype(str)
        if set(labels.unique()) <= set(groups):
            return labels.map(groups).reset_index(drop=True)
    raise ComparisonError(
        f"by maps {quoted(groups, 3)}: these are neither all judges, nor all items, nor all labels of a column of the data."
    )


def _labelled(values: pd.Series, name: str) -> Grouping:
    """The labels as they are: in the order of their categories, of their numbers, or of the alphabet."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        used = values.cat.remove_unused_categories()
        return Grouping(
            used.cat.codes.to_numpy(int), tuple(map(str, used.cat.categories)), name, bool(used.cat.ordered)
        )
    seen = values.dropna().unique()
    order, is_ordered = _in_order(list(map(str, seen)))
    text = values.astype(str).where(values.notna())
    code = pd.Index(order).get_indexer(pd.Index(text))
    return Grouping(np.where(values.isna(), -1, code), tuple(order), name, is_ordered and len(order) > 1)


def _in_order(labels: list[str]) -> tuple[list[str], bool]:
    """Labels sorted, and whether their order means something: numbers, times, seasons, or versions with the same beginning.

    Examples
    --------
    >>> _in_order(["v10", "v9"]), _in_order(["math", "code"])
    ((['v9', 'v10'], True), (['code', 'math'], False))
    >>> _in_order(["2009-10", "2008-9"])
    (['2008-9', '2009-10'], True)
    """
    numbers = pd.to_numeric(pd.Series(labels, dtype=object), errors="coerce")
    if len(labels) and numbers.notna().all():
        return [labels[i] for i in np.argsort(numbers.to_numpy(float), kind="stable")], True
    if all(re.fullmatch(r"\d{4}-\d{2}(-\d{2}.*)?|\d{4}Q\d", label) for label in labels):
        return sorted(labels), True
    if all(re.fullmatch(r"\d{4}[-/](\d{1,2}|\d{4})", label) for label in labels):
        return sorted(labels, key=lambda label: [int(part) for part in re.split("[-/]", label)]), True
    found = [re.fullmatch(r"(\D*)(\d+(?:\.\d+)*)", label) for label in labels]
    if all(found) and len({match[1] for match in found if match}) == 1:
        versions = {match[0]: tuple(map(int, match[2].split("."))) for match in found if match}
        return sorted(labels, key=lambda label: versions[label]), True
    return sorted(labels), False


def _as_numbers(values: pd.Series, name: str) -> np.ndarray:
    numbers = pd.to_numeric(values, errors="coerce")
    if numbers.isna().sum() > values.isna().sum():
        bad = values[numbers.isna() & values.notna()].iloc[0]
        raise ComparisonError(f"{name!r} is cut as a number, but {str(bad)!r} is none.")
    return np.asarray(numbers, dtype=float)


def _cut(values: np.ndarray, name: str, breaks: Any, quantiles: Any, labels: Any) -> Grouping:
    finite = values[np.isfinite(values)]
    if breaks is None:
        if isinstance(quantiles, bool) or not isinstance(quantiles, int | np.integer) or quantiles < 2:
            raise OptionError(f"quantiles must be a whole number from 2, got {quantiles!r}.")
        # The smallest number of every part but the first, so that every group has rows.
        ends = np.unique(np.quantile(finite, np.arange(1, quantiles) / quantiles, method="higher"))
        ends = ends[ends > finite.min()]
        how = f"{counted(len(ends) + 1, 'part')} of about as many rows"
    else:
        ends = np.ravel(numbers("breaks", breaks))
        if (np.diff(ends) <= 0).any():
            raise OptionError(
                f"breaks must rise, got {np.ravel(ends).tolist()}: labels name the groups between them in order."
            )
        how = ""
    if not len(ends) or not np.isfinite(ends).all():
        raise OptionError(f"{name!r} cannot be cut at {np.ravel(ends).tolist()}: pass finite numbers within its range.")
    # As few digits as tell them apart.
    told = next(
        texts for form in (".3g", ".6g", ".17g") if len(set(texts := [f"{end:{form}}" for end in ends])) == len(ends)
    )
    names = [f"below {told[0]}", *(f"{a} to {b}" for a, b in pairwise(told)), f"from {told[-1]}"]
    if labels is not None:
        names = _names_of(labels, names, finite, ends)
    code = np.where(np.isfinite(values), np.searchsorted(ends, values, side="right"), -1)
    return Grouping(code, tuple(names), name, True, how)


def _names_of(labels: Sequence[str], names: list[str], numbers: np.ndarray, ends: np.ndarray) -> list[str]:
    """Names of the pieces, of which one that is empty needs none."""
    count = np.bincount(np.searchsorted(ends, numbers, side="right"), minlength=len(names))
    wanted = np.arange(len(names)) if len(labels) == len(names) else np.flatnonzero(count)
    if len(labels) != len(wanted) or len(set(labels)) < len(labels):
        raise OptionError(f"{len(wanted)} groups need as many different labels, got {len(labels)}: {quoted(labels)}.")
    given = dict(zip(wanted.tolist(), labels, strict=True))
    return [str(given.get(i, name)) for i, name in enumerate(names)]


def _as_times(values: pd.Series, name: str) -> pd.Series:
    if pd.api.types.is_datetime64_any_dtype(values):
        return values.dt.tz_localize(None) if values.dt.tz is not None else values
    numbers = pd.to_numeric(values, errors="coerce")
    if numbers.notna().any() and numbers.isna().sum() == values.isna().sum() and numbers.min() > 1e8:
        return pd.to_datetime(numbers, unit="s" if numbers.max() < _SECONDS else "ms")
    text = values.dropna().astype(str).str.strip()
    spelled = _in_iso(text, name)
    times = pd.to_datetime(spelled, errors="coerce", format="ISO8601", utc=True)
    # Names of months leave nothing to guess; digits alone would be read row by row.
    has_words = times.isna() & spelled.str.contains(r"[A-Za-z]{2,}")
    times[has_words] = pd.to_datetime(spelled[has_words], errors="coerce", format="mixed", utc=True)
    if times.isna().any():
        bad = text[times.isna()].iloc[0]
        raise ComparisonError(f"{name!r} is cut as a time, but {bad!r} is none: write {_ISO}, or pass times of pandas.")
    return times.dt.tz_localize(None).reindex(values.index)


def _in_iso(text: pd.Series, name: str) -> pd.Series:
    """Dates with the year first; where it is last, the whole column has the day first, or the whole column the month.

    Examples
    --------
    >>> _in_iso(pd.Series(["3/4/2024 9:00", "20/4/2024 8:30"]), "when").tolist()
    ['2024-04-03 9:00', '2024-04-20 8:30']
    """
    first = text.str.extract(_YEAR_FIRST)
    begins = first["year"].notna()
    parts = first.where(begins, text.str.extract(_YEAR_LAST)[first.columns])
    is_last = parts["year"].notna() & ~begins
    if is_last.any():
        if not is_last.all():
            bad = text[~is_last].iloc[0]
            raise ComparisonError(
                f"{name!r} is cut as a time, but {bad!r} is not written as {text[is_last].iloc[0]!r} is: write all as {_ISO}."
            )
        if _has_day_first(parts, text, name):
            parts = parts.rename(columns={"day": "month", "month": "day"})
    made = parts["year"] + "-" + parts["month"].str.zfill(2) + "-" + parts["day"].str.zfill(2) + parts["rest"]
    return made.where(parts["year"].notna(), text)


def _has_day_first(parts: pd.DataFrame, text: pd.Series, name: str) -> bool:
    """Whether dates whose first number is taken for the month begin with the day, where only one of the two reads all of them."""
    begin, then = parts["month"].astype(int), parts["day"].astype(int)
    day_first, month_first = begin.max() <= 31 and then.max() <= 12, begin.max() <= 12 and then.max() <= 31
    if day_first and month_first and (begin != then).any():
        raise ComparisonError(
            f"{name!r} has dates such as {text[begin != then].iloc[0]!r}, which may have the day or the month first: pass times, "
            f"pd.to_datetime(data[{name!r}], dayfirst=True) or dayfirst=False, or write {_ISO}."
        )
    return bool(day_first)


def _periods(times: pd.Series, name: str, period: str) -> Grouping:
    pieces = times.dt.to_period(PERIODS[period])
    labels = pieces.dt.start_time.dt.strftime("%Y-%m-%d") if period == "week" else pieces.astype(str)
    return _labelled(labels.where(times.notna()), name)


def _fewer(values: pd.Series, name: str) -> Grouping:
    """Groups of a column with many labels: parts of numbers, periods of times."""
    many = f"{name!r} has {values.nunique():,} labels, and {limits.MOST_GROUPS} groups are the most"
    if pd.api.types.is_numeric_dtype(values) and not values.min() > 1e8:
        made = _cut(np.asarray(values, dtype=float), name, None, _PARTS, None)
        return Grouping(made.code, made.labels, name, True, f"{many}: cut into {made.told}")
    try:
        times = _as_times(values, name)
    except ComparisonError:
        if values.dropna().astype(str).str.match(_YEAR_LAST).any():
            raise
        raise ComparisonError(
            f"{many}: cut a number with ",
            Hint("quantiles", 4),
            " or ",
            Hint("breaks", [0]),
            ", map labels to groups, or name another column.",
        ) from None
    for period in _TRIED:
        made = _periods(times, name, period)
        if len(made.labels) <= limits.FEW_PERIODS:
            break
    return Grouping(made.code, made.labels, name, True, f"{many}: cut by {period}")


def _combined(one: Grouping, other: Grouping) -> Grouping:
    code = np.where((one.code < 0) | (other.code < 0), -1, one.code * len(other.labels) + other.code)
    labels = [f"{a} / {b}" for a in one.labels for b in other.labels]
    told = "; ".join(text for text in (one.told, other.told) if text)
    return Grouping(code, tuple(labels), f"{one.by}, {other.by}", False, told)


def _checked(found: Grouping) -> Grouping:
    """Without groups that have no rows."""
    used = np.unique(found.code[found.code >= 0])
    if len(used) < 2:
        label = found.labels[used[0]] if len(used) else "none"
        raise ComparisonError(f"by {found.by!r} there is one group ({label}): expected at least two.")
    if len(used) > limits.MOST_GROUPS:
        raise ComparisonError(f"by {found.by!r} there are {len(used):,} groups: {limits.MOST_GROUPS} are the most.")
    code = np.where(found.code < 0, -1, np.searchsorted(used, found.code))
    return _without_all(replace(found, code=code, labels=tuple(found.labels[i] for i in used)))


def _without_all(found: Grouping) -> Grouping:
    """With another name for a group that is called as the board of all groups is."""
    if ALL not in found.labels:
        return found
    name = f"{ALL} ({found.by})"
    labels = tuple(name if label == ALL else label for label in found.labels)
    told = f"the group {ALL!r} is called {name!r} here, since {ALL!r} is the board of all groups"
    return replace(found, labels=labels, told="; ".join(filter(None, [found.told, told])))
