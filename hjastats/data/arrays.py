"""Arrays and columns as a user hands them to a model: aligned, typed, with missing rows dealt with."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ..errors import ComparisonError, Hint, OptionError
from ..words import either, quoted
from .comparisons import Comparisons
from .labels import TableRows, check_index, common_index
from .labels import weights as checked_weights
from .shares import check_outcomes, spread

# Numbers beyond it are no quantity of anything, and overflow where they are squared.
LARGEST = 1e150
REAL = int | float | np.integer | np.floating


class UserArrays:
    """The arrays a user hands to a model: one row per comparison, aligned, rows with missing values dealt with.

    Parameters
    ----------
    endog, exog, judge, item_a, item_b, weights, judge_exog, columns, offset
        As in :class:`hjastats.HJAModel`.
    left_out : ndarray of bool, optional
        Rows that a formula left out of ``endog`` and ``exog``, and that have to leave the other arrays as well.
    """

    def __init__(
        self,
        endog: Any,
        exog: Any,
        judge: Any,
        item_a: Any,
        item_b: Any,
        weights: Any,
        left_out: np.ndarray | None,
        judge_exog: Any = None,
        columns: pd.DataFrame | None = None,
        offset: Any = None,
    ) -> None:
        labels = {"judge": judge, "item_a": item_a, "item_b": item_b}
        absent = [name for name, values in labels.items() if values is None]
        if absent:
            raise ComparisonError(f"comparisons need {', '.join(absent)}: pass one label per row.")
        arrays = {name: _label_series(name, values) for name, values in (labels | {"weights": weights}).items()}
        arrays["offset"] = None if offset is None else offset_series(offset, len(outcome_series(endog)))
        frames = {"exog": numeric_frame(exog), "judge_exog": numeric_frame(judge_exog), "columns": columns}
        given = {"endog": endog, **labels, "weights": weights, "exog": exog, "judge_exog": judge_exog, "offset": offset}
        outcome = outcome_series(endog)
        self._n_empty = 0
        self._parts: dict[str, Any] = {"endog": outcome}
        for name, part in (arrays | frames).items():
            if part is None:
                continue
            if left_out is not None and len(part) == len(left_out):
                part = part[~np.asarray(left_out)]
            if len(part) != len(outcome):
                size = "{} rows" if name in frames else "length {}"
                sizes = f"{size.format(len(part))} but endog has {size.format(len(outcome))}"
                raise ComparisonError(f"{name} has {sizes}: pass one value per row.")
            self._parts[name] = part
        index = common_index({name: part for name, part in self._parts.items() if _is_pandas(given.get(name))})
        for name, part in self._parts.items():
            if index is not None and name in given and not _is_pandas(given[name]):
                part.index = index

    @property
    def endog(self) -> pd.Series:
        """The outcome."""
        return self._parts["endog"]

    @property
    def exog(self) -> pd.DataFrame | None:
        """Covariates."""
        return self._parts.get("exog")

    @property
    def offset(self) -> pd.Series | None:
        """What is known to be added to the log-odds."""
        return self._parts.get("offset")

    @property
    def judge_exog(self) -> pd.DataFrame | None:
        """Covariates with slopes per judge."""
        return self._parts.get("judge_exog")

    def checked(self, missing: str, counts: bool | None = None) -> UserArrays:
        """Leave out rows of weight zero, drop or refuse those with missing values, make shares of wins wins and losses."""
        check_option("missing", missing, ("none", "drop", "raise"))
        if "weights" in self._parts:
            is_empty = pd.to_numeric(self._parts["weights"], errors="coerce").to_numpy() == 0
            if not is_empty.all():
                self._n_empty = int(is_empty.sum())
                self._parts = {name: part[~is_empty] for name, part in self._parts.items()}
        gaps = {name: _gaps(part) for name, part in self._parts.items() if name != "columns"}
        gone = np.logical_or.reduce(list(gaps.values()))
        if gone.any():
            if missing != "drop":
                where = ", ".join(f"{int(gap.sum())} in {name}" for name, gap in gaps.items() if gap.any())
                hint = ("Pass ", Hint("missing", "drop"), " to leave those rows out.")
                raise ComparisonError(f"there are missing values: {where}. ", *hint)
            self._parts = {name: part[~gone] for name, part in self._parts.items()}
        if counts or "weights" in self._parts:
            self._divide(counts)
        return self

    def _divide(self, counts: bool | None) -> None:
        outcome, rows = self.endog.to_numpy(), TableRows()
        weight = checked_weights(self._parts.get("weights"), len(outcome), rows)
        check_outcomes(outcome, weight, rows)
        into = spread(outcome, weight, counts, rows)
        if into is not None:
            parts = {name: part.iloc[into.index].reset_index(drop=True) for name, part in self._parts.items()}
            won = pd.Series(into.outcome, name=self.endog.name)
            self._parts = parts | {"endog": won, "weights": pd.Series(into.weight)}

    def comparisons(self) -> Comparisons:
        """The arrays as checked comparisons."""
        parts = self._parts
        data = Comparisons.from_arrays(
            parts["judge"],
            parts["item_a"],
            parts["item_b"],
            parts["endog"],
            parts.get("weights"),
            counts=False,
            columns=parts.get("columns"),
        )
        return replace(data, n_empty=self._n_empty) if self._n_empty else data


def _label_series(name: str, values: Any) -> pd.Series | None:
    if values is None:
        return None
    if number_of_axes(values) != 1:
        raise ComparisonError(f"{name} must be one-dimensional.")
    return pd.Series(np.asarray(values, dtype=object), index=values.index if isinstance(values, pd.Series) else None)


def _is_pandas(values: Any) -> bool:
    return isinstance(values, (pd.Series, pd.DataFrame))


def _gaps(part: pd.Series | pd.DataFrame) -> np.ndarray:
    """Rows with missing values."""
    return part.isna().to_numpy().reshape(len(part), -1).max(axis=1, initial=False)


def outcome_series(endog: Any) -> pd.Series:
    """The outcome as one named column of numbers."""
    name = getattr(endog, "name", None)
    if isinstance(endog, pd.DataFrame):
        if endog.shape[1] != 1:
            raise ComparisonError(
                f"the outcome must be one numeric column, got {endog.shape[1]}: {quoted(endog.columns)}."
            )
        name, endog = endog.columns[0], endog.iloc[:, 0]
    try:
        values = np.asarray(endog, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ComparisonError("endog must be numbers in [0, 1]; read labels with hja.read_comparisons.") from None
    if values.ndim != 1:
        raise ComparisonError(f"endog must be one-dimensional, got shape {values.shape}.")
    index = endog.index if isinstance(endog, pd.Series) else None
    return pd.Series(values, index=index, name=name or "win")


def offset_series(offset: Any, n_rows: int) -> pd.Series:
    """An offset as one column of numbers; a single number is that of every row.

    Raises
    ------
    ComparisonError
    """
    name = getattr(offset, "name", None)
    try:
        values = np.asarray(offset, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ComparisonError(f"offset must be numbers on the scale of log-odds, got {quoted([offset])}.") from None
    if values.ndim > 1:
        raise ComparisonError(f"offset must be one-dimensional, got shape {values.shape}.")
    values = np.full(n_rows, values) if values.ndim == 0 else values
    return pd.Series(values, index=offset.index if isinstance(offset, pd.Series) else None, name=name)


def known_offset(offset: Any, data: Comparisons) -> pd.Series | None:
    """The offset of the rows of the data, given as numbers or as the name of one of its columns.

    Raises
    ------
    ComparisonError
    """
    if offset is None:
        return None
    offset = columns_of(data.columns, [offset])[offset] if isinstance(offset, str) else offset
    series = offset_series(offset, data.n_rows)
    if len(series) != data.n_rows:
        raise ComparisonError(f"offset has {len(series)} values but there are {data.n_rows} comparisons.")
    if not np.isfinite(series).all():
        raise ComparisonError("offset has missing or infinite values: leave those comparisons out or fill them in.")
    return series.reset_index(drop=True)


def number_of_axes(values: Any) -> int:
    """How many axes an array of the values would have; -1 for lists of several lengths, which are no array.

    Examples
    --------
    >>> number_of_axes([0.1, 0.2]), number_of_axes([[0.1], [0.2, 0.3]])
    (1, -1)
    """
    try:
        return np.ndim(values)
    except ValueError:
        return -1


def numeric_frame(exog: Any) -> pd.DataFrame | None:
    """Covariates as a frame of floats with names; None if there are none."""
    if exog is None:
        return None
    if isinstance(exog, pd.Series):
        exog = exog.to_frame(exog.name or "x1")
    if not isinstance(exog, pd.DataFrame):
        if number_of_axes(exog) not in (1, 2):
            raise ComparisonError("exog must have one row per comparison and one column per covariate.")
        exog = pd.DataFrame(np.asarray(exog)).rename(columns=lambda i: f"x{i + 1}")
    if exog.shape[1] == 0:
        return None
    try:
        return exog.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise ComparisonError("exog must be numeric: code categories with a formula, HJAModel.from_formula.") from None


def column(name: str, value: Any, data: pd.DataFrame) -> np.ndarray:
    """Resolve a column name or an array of one value per row of the data."""
    if isinstance(value, str):
        if value not in data.columns:
            raise ComparisonError(f"{name}={value!r} is not a column; the columns are {quoted(data.columns, 12)}.")
        return data[value].to_numpy(dtype=object)
    values = np.asarray(value, dtype=object)
    if values.ndim == 0:
        raise ComparisonError(f"{name} must be the name of a column or one value per row, got {value!r}.")
    if len(values) != len(data):
        raise ComparisonError(f"{name} has length {len(values)} but the data have {len(data)} rows.")
    check_index(name, value, data.index, "the data")
    return values


def lookup(kind: str, labels: np.ndarray, known: tuple[str, ...]) -> np.ndarray:
    """Codes of labels among the known ones."""
    codes = pd.Index(known).get_indexer(pd.Index([str(label) for label in labels]))
    if (codes < 0).any():
        raise ComparisonError(
            f"unknown {kind} {quoted(np.unique(labels[codes < 0].astype(str)))}; known are {quoted(known, 10)}."
        )
    return codes.astype(np.intp)


def check_option(name: str, value: Any, known: tuple[Any, ...]) -> None:
    """Refuse an option that is not one of the known ones.

    Raises
    ------
    OptionError
    """
    if not any(value is option or (isinstance(value, str) and value == option) for option in known):
        raise OptionError(f"{name} must be {either([*map(repr, known)])}, got {value!r}.")


def check_jobs(n_jobs: Any) -> None:
    """Refuse what is no number of processes for joblib.

    Raises
    ------
    OptionError
    """
    if n_jobs is not None and (not isinstance(n_jobs, int | np.integer) or isinstance(n_jobs, bool) or n_jobs == 0):
        raise OptionError(f"n_jobs must be a number of processes, or -1 for one on each processor, got {n_jobs!r}.")


def check_axes(ax: Any) -> Any:
    """Axes to draw in, if they are axes of matplotlib or look like them.

    Raises
    ------
    OptionError
    """
    if ax is not None and not hasattr(ax, "get_figure"):
        raise OptionError(f"ax must be axes of matplotlib, got {type(ax).__name__}.")
    return ax


def generator(rng: Any) -> np.random.Generator:
    """The generator of random numbers that ``rng`` is, or that begins with it.

    Raises
    ------
    OptionError
    """
    # numpy follows a list that holds itself until the stack ends, and the process with it.
    if not isinstance(rng, list | tuple):
        with suppress(TypeError, ValueError):
            return np.random.default_rng(rng)
    raise OptionError(
        f"rng must be a whole number from 0, a numpy.random.Generator, or None for another one every time, got {rng!r}."
    )


def check_alpha(alpha: Any, name: str = "alpha") -> None:
    """Refuse what is no probability of an error, nor a level or a power.

    Raises
    ------
    OptionError
    """
    if not isinstance(alpha, REAL) or not 0 < alpha < 1:
        raise OptionError(f"{name} must lie between 0 and 1, got {alpha!r}.")


def check_number(name: str, value: Any, low: float = -np.inf, high: float = np.inf) -> None:
    """Refuse what is no finite number from ``low`` to ``high``.

    Raises
    ------
    OptionError
    """
    is_number = isinstance(value, REAL) and not isinstance(value, bool)
    exact = value.item() if isinstance(value, np.generic) else value
    if not is_number or not (low <= exact <= high and abs(exact) < LARGEST):
        raise OptionError(f"{name} must be a number{_between(low, high)}, got {value!r}.")


def check_positive(name: str, value: Any, what: str = "a positive number") -> None:
    """Refuse what is no finite number above zero.

    Raises
    ------
    OptionError
    """
    is_number = isinstance(value, REAL) and not isinstance(value, bool)
    if not is_number or not 0 < (value.item() if isinstance(value, np.generic) else value) < LARGEST:
        raise OptionError(f"{name} must be {what}, got {value!r}.")


def check_flag(name: str, value: Any) -> None:
    """Refuse what is neither true nor false.

    Raises
    ------
    OptionError
    """
    if not isinstance(value, bool | np.bool_):
        raise OptionError(f"{name} must be True or False, got {value!r}.")


def check_whole(name: str, value: Any, low: int, high: int = 2**53) -> None:
    """Refuse what is no whole number from ``low`` to ``high``.

    Raises
    ------
    OptionError
    """
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not low <= value <= high:
        raise OptionError(f"{name} must be a whole number{_between(low, high)}, got {value!r}.")


def _between(low: float, high: float) -> str:
    if high >= 2**53:
        return "" if np.isinf(low) else f" from {low}"
    return f" from {low} to {high}"


def numbers(name: str, values: Any) -> np.ndarray:
    """Values as an array of floats.

    Raises
    ------
    OptionError
    """
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise OptionError(f"{name} must be numbers, got {type(values).__name__}.") from None


def check_type(name: str, value: Any, type_: type | tuple[type, ...], expected: str) -> None:
    """Refuse what is not of a type, in the words of users.

    Raises
    ------
    OptionError
    """
    if not isinstance(value, type_):
        raise OptionError(f"{name} must be {expected}, got {type(value).__name__}.")


def listed(name: str, values: Any, expected: str) -> list[Any]:
    """Several values as a list; a text is one value.

    Raises
    ------
    OptionError
    """
    try:
        return [values] if isinstance(values, str) else list(values)
    except TypeError:
        raise OptionError(f"{name} must be {expected}, got {type(values).__name__}.") from None


def covariate_frame(name: str, covariates: Any, data: Comparisons) -> pd.DataFrame | None:
    """Covariates of the rows of the data, given as numbers or as names of its columns.

    Raises
    ------
    ComparisonError
    """
    covariates = _named_columns(covariates, data.columns)
    frame = numeric_frame(covariates)
    if frame is None:
        return None
    if len(frame) != data.n_rows:
        raise ComparisonError(f"{name} has {len(frame)} rows but there are {data.n_rows} comparisons.")
    if not np.isfinite(frame.to_numpy()).all():
        raise ComparisonError(f"{name} has missing or infinite values: leave those comparisons out or fill them in.")
    return frame.reset_index(drop=True)


def _named_columns(covariates: Any, frame: pd.DataFrame) -> Any:
    """The columns of a frame that were named; anything but names as it is."""
    names = [covariates] if isinstance(covariates, str) else covariates
    if isinstance(names, list) and names and all(isinstance(name, str) for name in names):
        return columns_of(frame, names)
    return covariates


def columns_of(frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Columns by name.

    Raises
    ------
    ComparisonError
    """
    absent = [name for name in names if not isinstance(name, str | int) or name not in frame.columns]
    if absent:
        raise ComparisonError(f"no column is called {quoted(absent)}; there are {quoted(frame.columns, 10) or 'none'}.")
    return frame[names]


def covariate_rows(covariates: Any, known: list[str]) -> Any:
    """Covariates of new comparisons with a row for each: one-dimensional ones of several covariates are a single row.

    Examples
    --------
    >>> covariate_rows([0.1, 0.2], ["x1", "x2"]).shape, covariate_rows([0.1, 0.2], ["x1"]).shape
    ((1, 2), (2, 1))
    """
    if covariates is None or isinstance(covariates, pd.DataFrame):
        return covariates
    n_axes = number_of_axes(covariates)
    if n_axes == 1:
        return np.asarray(covariates).reshape((1, -1) if len(known) > 1 else (-1, 1))
    if n_axes != 2:
        raise ComparisonError("exog must have one row per comparison and one column per covariate.")
    return covariates


def new_covariates(name: str, covariates: Any, n_rows: int, known: list[str]) -> np.ndarray:
    """Covariates of new comparisons, shape (n_rows, number of covariates of the model).

    Raises
    ------
    ComparisonError
    """
    if isinstance(covariates, pd.DataFrame) and known:
        # A frame speaks by its names, whatever their order.
        covariates = columns_of(covariates, known)
    frame = numeric_frame(covariates)
    if not known:
        if frame is not None:
            raise ComparisonError(f"the model has no covariates: {name} is not used.")
        return np.zeros((n_rows, 0))
    if frame is None:
        raise ComparisonError(f"the model has covariates {quoted(known)}: pass {name}.")
    if frame.shape != (n_rows, len(known)):
        raise ComparisonError(f"{name} must have {n_rows} rows and {len(known)} columns, got shape {frame.shape}.")
    return frame.to_numpy()


def judge_columns(judge_exog: Any, data: pd.DataFrame) -> pd.DataFrame | None:
    """Covariates with judge-specific slopes, from columns of the data or as an array with one row for each of theirs.

    Raises
    ------
    ComparisonError
    """
    covariates = _named_columns(judge_exog, data)
    frame = numeric_frame(covariates)
    if frame is None:
        return None
    if len(frame) != len(data):
        raise ComparisonError(f"judge_exog has {len(frame)} rows but the data have {len(data)} rows.")
    check_index("judge_exog", covariates, data.index, "the data")
    return frame.set_axis(data.index)
