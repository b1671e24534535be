"""Labels and numbers of a table as coded arrays, and where in the table the ones stand that cannot be coded."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from .. import limits
from ..errors import ComparisonError, Hint, LabelWarning
from ..words import quoted
from .spelling import joined, listed, spellings

Labels: TypeAlias = "Sequence[object] | np.ndarray | pd.Series[Any] | pd.Categorical[Any]"
# Gives the codes of a column and its distinct values.
Coding: TypeAlias = Callable[[], tuple[np.ndarray, list[object]]]


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
    (2, ', first at row 2, counted from 1')
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
        first = int(np.flatnonzero(is_bad.reshape(-1, is_bad.shape[-1]).any(axis=0))[0])
        return text.format(f"{first + 1}, counted from 1")


def factorized(column: Any) -> tuple[np.ndarray, list[object]]:
    """Codes of a column into its distinct values in order of appearance; -1 where a value is missing.

    Raises
    ------
    TypeError
        For values that are containers.
    """
    series: pd.Series[Any] = column if isinstance(column, pd.Series) else pd.Series(column)
    if isinstance(series.dtype, pd.StringDtype) and series.dtype.storage == "pyarrow":
        text: Any = series.array
        # pandas would widen arrow's codes and fill their gaps, which takes a third of the time.
        coded = text.__arrow_array__().dictionary_encode()
        if not coded.null_count:
            coded = coded.combine_chunks()
            return coded.indices.to_numpy(), coded.dictionary.to_pylist()
    codes, values = pd.factorize(series)
    return codes, list(values)


def grouped(name: object, labels: Any) -> tuple[np.ndarray, Any]:
    """Codes of rows that belong together by a label each, and the labels; -1 where one is missing.

    Raises
    ------
    ComparisonError
        For labels that are containers.
    """
    try:
        return pd.factorize(labels)
    except TypeError:
        raise ComparisonError(f"{str(name)!r} holds lists or other containers: make it text first.") from None


def code_columns(columns: Sequence[Labels]) -> list[Coding]:
    """How to get the codes of every column; what is wrong with one is said when they are asked for."""
    if len(columns[0]) <= limits.LONG_COLUMN:
        return [partial(factorized, column) for column in columns]
    with ThreadPoolExecutor() as pool:
        # The outcome stands last. Few values in random order take longest, so it goes first.
        codings = [pool.submit(factorized, column) for column in reversed(columns)]
        return [coding.result for coding in reversed(codings)]


def coded_labels(
    name: str, columns: list[Coding], rows: TableRows, clean: bool | None = False
) -> tuple[list[np.ndarray], tuple[str, ...], list[str]]:
    """Integer codes of each column into the sorted text labels of all of them, and what is doubtful about these.

    Labels that look alike are joined if ``clean``, stay apart if it is False, and stay apart with a warning if it is None.

    Raises
    ------
    ComparisonError
        For missing or empty labels, containers, broken text, and fewer than two items.
    """
    try:
        coded = [column() for column in columns]
    except TypeError:
        raise ComparisonError(f"{name} labels must be text or numbers, got lists or other containers.") from None
    except UnicodeEncodeError as error:
        raise broken_text(name, error) from None
    if any(codes.min(initial=0) < 0 for codes, _ in coded):
        is_missing = np.stack([codes < 0 for codes, _ in coded])
        raise ComparisonError(
            f"{rows.number(is_missing)} {name} labels are missing{rows.place(is_missing)}: fill them in or drop those rows."
        )
    texts, doubts = [[_as_text(name, label) for label in values] for _, values in coded], list[str]()
    if clean is not False:
        texts, doubts = _one_spelling(name, texts, [codes for codes, _ in coded], rows, bool(clean))
    labels = _sorted_labels(name, {text for own in texts for text in own})
    rank = {label: position for position, label in enumerate(labels)}
    ranks = [np.array([rank[text] for text in own], dtype=np.intp) for own in texts]
    # Codes are within bounds: not to check that takes half the time.
    return [own.take(codes, mode="clip") for own, (codes, _) in zip(ranks, coded, strict=True)], labels, doubts


def _one_spelling(
    name: str, texts: list[list[str]], codes: list[np.ndarray], rows: TableRows, clean: bool
) -> tuple[list[list[str]], list[str]]:
    """The texts with those that look alike written alike, if ``clean``; otherwise themselves, after a warning."""
    groups = spellings({text: None for own in texts for text in own})
    if not (groups or clean):
        return texts, []
    counts: dict[str, float] = {}
    for own, code in zip(texts, codes, strict=True):
        for text, count in zip(own, np.bincount(code, rows.counts, len(own)), strict=True):
            counts[text] = counts.get(text, 0.0) + float(count)
    if clean:
        spelled = joined(counts)
        return [[spelled[text] for text in own] for own in texts], []
    doubt = LabelWarning(
        f"some {name} labels look alike and are taken for different {name}s (rows): {listed(groups, counts)}. Pass ",
        *(Hint("clean", True), " to join them, or ", Hint("clean", False), " if they are different."),
    )
    warnings.warn(doubt, stacklevel=4)
    return texts, [str(doubt)]


def _sorted_labels(name: str, texts: Iterable[str]) -> tuple[str, ...]:
    """Labels in the order of their text.

    Raises
    ------
    ComparisonError
        For empty labels, broken text, and fewer than two items.
    """
    labels = tuple(sorted(texts))
    try:
        "".join(labels).encode()
    except UnicodeEncodeError as error:
        raise broken_text(name, error) from None
    if not all(label.strip() for label in labels):
        raise ComparisonError(f"some {name} labels are empty text: fill them in or drop those rows.")
    if name == "item" and len(labels) < 2:
        raise ComparisonError(f"expected at least two items, got only {quoted(labels)}.")
    return labels


def broken_text(name: str, error: UnicodeEncodeError) -> ComparisonError:
    """What is said of labels with half a character."""
    return ComparisonError(
        f"{name} labels must be valid text, got {error.object[error.start : error.end]!a}, half of a character: read the "
        "file with its right encoding."
    )


@dataclass(frozen=True)
class Pairs:
    """Who compared what: codes of every row into sorted labels."""

    judge_index: np.ndarray
    first_index: np.ndarray
    second_index: np.ndarray
    judges: tuple[str, ...]
    items: tuple[str, ...]
    doubts: tuple[str, ...] = ()


def coded_pairs(
    judge: Coding | str, first: Coding, second: Coding, rows: TableRows, clean: bool | None = False
) -> Pairs:
    """Code the labels of every row; a text in place of the judges is the only judge, and ``clean`` as in :func:`coded_labels`.

    Raises
    ------
    ComparisonError
        As :func:`coded_labels`, and for items compared with themselves.
    """
    doubts: list[str] = []
    if isinstance(judge, str):
        only = _sorted_labels("judge", [judge])
    else:
        (judge_index,), judges, doubts = coded_labels("judge", [judge], rows, clean)
    (first_index, second_index), items, others = coded_labels("item", [first, second], rows, clean)
    if isinstance(judge, str):
        judge_index, judges = np.zeros(len(first_index), dtype=np.intp), only
    is_same = first_index == second_index
    if is_same.any():
        raise ComparisonError(
            f"{rows.number(is_same)} rows compare an item with itself{rows.place(is_same)} "
            f"('{items[first_index[is_same][0]]}'): remove them, such a verdict says nothing about the ranking."
        )
    return Pairs(judge_index, first_index, second_index, judges, items, (*doubts, *others))


def present_labels(columns: list[np.ndarray], labels: tuple[str, ...]) -> tuple[list[np.ndarray], tuple[str, ...]]:
    """Codes into the labels that occur, and these labels.

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


def weights(values: object | None, n_rows: int, rows: TableRows) -> np.ndarray:
    """Weights of the rows, all 1 without values.

    Raises
    ------
    ComparisonError
        For weights that are negative or not finite, and where all are zero.
    """
    if values is None:
        return np.ones(n_rows)
    weight = amounts("weight", values, rows)
    if not weight.any():
        raise ComparisonError("there are no comparisons: all weights are zero.")
    return weight


def amounts(name: str, values: object, rows: TableRows) -> np.ndarray:
    """A column that says how many, or how much.

    Raises
    ------
    ComparisonError
        For numbers that are negative, not finite, or too large to be counted.
    """
    amount = numbers(name, values)
    bad = ~((amount >= 0) & (amount <= limits.LARGEST_AMOUNT))
    if bad.any():
        most = f" and at most {limits.LARGEST_AMOUNT:g}" if np.isfinite(amount[bad][0]) and amount[bad][0] > 0 else ""
        raise ComparisonError(
            f"{name} must be finite and not negative{most}; {rows.number(bad)} values are not, first "
            f"{amount[bad][0]:g}{rows.place(bad, ' at row {}')}: correct them or leave those rows out."
        )
    return amount


def check_index(name: str, values: object, index: pd.Index | None, other: str) -> None:
    """Refuse pandas objects whose rows are labelled otherwise; anything else goes by position.

    Raises
    ------
    ComparisonError
    """
    if isinstance(values, pd.Series | pd.DataFrame) and index is not None and not values.index.equals(index):
        raise ComparisonError(
            f"{name} and {other} have different indices: align them, or pass arrays to go by position."
        )


def common_index(given: dict[str, Any]) -> pd.Index | None:
    """The index of all pandas objects that were given, None without any.

    Raises
    ------
    ComparisonError
        When they differ.
    """
    labelled = [(name, values) for name, values in given.items() if isinstance(values, pd.Series | pd.DataFrame)]
    for name, values in labelled[1:]:
        check_index(name, values, labelled[0][1].index, labelled[0][0])
    return labelled[0][1].index if labelled else None


def numbers(name: str, values: object) -> np.ndarray:
    """A column of numbers as an array of its own.

    Raises
    ------
    ComparisonError
    """
    try:
        result = np.array(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        advice = "; map labels with read_comparisons(..., codes={...})" if name == "outcome" else ""
        raise ComparisonError(f"{name} must be numbers{advice}.") from None
    if result.ndim != 1:
        raise ComparisonError(f"{name} must be one-dimensional, got {result.ndim} dimensions.")
    return result


def label_text(label: object) -> str:
    """A label as text. A numeric id column with a missing value is read as float: 58.0 is the id 58.

    Examples
    --------
    >>> label_text(58.0), label_text(3.5), label_text("58.0"), label_text(b"gpt-4")
    ('58', '3.5', '58.0', 'gpt-4')
    """
    if isinstance(label, bytes):
        # What is no text keeps a mark by which it is refused.
        return label.decode(errors="surrogateescape")
    return str(int(label)) if isinstance(label, float | np.floating) and label.is_integer() else str(label)


def _as_text(name: str, label: object) -> str:
    if isinstance(label, (list, tuple, set, dict)):
        raise ComparisonError(f"{name} labels must be text or numbers, got {type(label).__name__}: {label!r}.")
    return label_text(label)
