"""Labels and numbers of a table as coded arrays, and where in the table the ones stand that cannot be coded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..errors import ComparisonError, shown


@dataclass(frozen=True)
class TableRows:
    """How messages speak of the rows of the user's table.

    Attributes
    ----------
    counts : ndarray of int, shape (n_rows,), optional
        How many rows of the table stand behind each row here, when equal ones have been counted. Such rows have a number
        but no place.

    Examples
    --------
    >>> is_bad = np.array([False, True, True])
    >>> TableRows().number(is_bad), TableRows().place(is_bad)
    (2, ', first at row 1')
    >>> TableRows(np.array([5, 1, 3])).number(is_bad), TableRows(np.array([5, 1, 3])).place(is_bad)
    (4, '')
    """

    counts: np.ndarray | None = None

    def number(self, is_bad: np.ndarray) -> int:
        """How many rows of the table are meant; the last axis of ``is_bad`` runs over the rows here."""
        return int(is_bad.sum() if self.counts is None else (is_bad * self.counts).sum())

    def place(self, is_bad: np.ndarray, text: str = ", first at row {}") -> str:
        """Where the first of them is."""
        if self.counts is not None:
            return ""
        return text.format(int(np.flatnonzero(is_bad.reshape(-1, is_bad.shape[-1]).any(axis=0))[0]))


def coded_labels(name: str, columns: list[object], rows: TableRows) -> tuple[list[np.ndarray], tuple[str, ...]]:
    """Integer codes of each column into the sorted text labels of all of them.

    Raises
    ------
    ComparisonError
        For missing or empty labels, containers, broken text, and fewer than two items.
    """
    try:
        series = [_series(column) for column in columns]
        codes, uniques = pd.factorize(series[0] if len(series) == 1 else pd.concat(series, ignore_index=True))
        "".join(label for label in uniques if isinstance(label, str)).encode()
    except TypeError:
        raise ComparisonError(f"{name} labels must be text or numbers, got lists or other containers.") from None
    except UnicodeEncodeError as error:
        raise ComparisonError(
            f"{name} labels must be valid text, got {error.object[error.start : error.end]!a}, half of a character: read the "
            "file with its right encoding."
        ) from None
    if (codes < 0).any():
        is_missing = (codes < 0).reshape(len(series), -1)
        raise ComparisonError(
            f"{rows.number(is_missing)} {name} labels are missing{rows.place(is_missing)}: fill them in or drop those rows."
        )
    texts = np.array([label if isinstance(label, str) else _as_text(name, label) for label in uniques], dtype=object)
    if any(not text.strip() for text in texts):
        raise ComparisonError(f"some {name} labels are empty text: fill them in or drop those rows.")
    # As objects: fixed-width numpy text would lose trailing null characters.
    labels, rank = np.unique(texts, return_inverse=True)
    if name == "item" and len(labels) < 2:
        raise ComparisonError(f"expected at least two items, got only {shown(labels)}.")
    index = rank.reshape(-1).astype(np.intp)[codes]
    return np.split(index, len(series)), tuple(str(label) for label in labels)


def present_labels(columns: list[np.ndarray], labels: tuple[str, ...]) -> tuple[list[np.ndarray], tuple[str, ...]]:
    """The same codes without the labels that do not occur.

    Examples
    --------
    >>> present_labels([np.array([2, 0])], ("a", "b", "c"))
    ([array([1, 0])], ('a', 'c'))
    """
    count = np.sum([np.bincount(column, minlength=len(labels)) for column in columns], axis=0)
    if count.all():
        return columns, labels
    code = np.cumsum(count > 0) - 1
    return [code[column] for column in columns], tuple(labels[k] for k in np.flatnonzero(count))


def numbers(name: str, values: object) -> np.ndarray:
    """A column of numbers as an array of its own.

    Raises
    ------
    ComparisonError
    """
    try:
        result = np.array(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        hint = "; map labels with read_comparisons(..., codes={...})" if name == "outcome" else ""
        raise ComparisonError(f"{name} must be numbers{hint}.") from None
    if result.ndim != 1:
        raise ComparisonError(f"{name} must be one-dimensional, got {result.ndim} dimensions.")
    return result


def _series(values: object) -> pd.Series:
    if isinstance(values, pd.Series):
        return values.reset_index(drop=True)
    return pd.Series(values)


def _as_text(name: str, label: object) -> str:
    if isinstance(label, (list, tuple, set, dict)):
        raise ComparisonError(f"{name} labels must be text or numbers, got {type(label).__name__}: {label!r}.")
    if isinstance(label, float) and label.is_integer():
        # A numeric id column with a missing value is read as float: 58.0 is the id 58.
        return str(int(label))
    return str(label)
