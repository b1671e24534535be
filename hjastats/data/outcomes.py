"""What the labels of an outcome column mean: the first item, the second, a tie, or nothing usable."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from types import NoneType
from typing import Any, Literal

import numpy as np
import pandas as pd

from .. import limits
from ..errors import ComparisonError, Hint
from ..words import and_more, counted
from .labels import Coding, Pairs, TableRows, label_text
from .spelling import look_alike
from .vocabulary import BOTH_BAD_LABELS, UNUSABLE_LABELS, graded, meanings

Codes = Mapping[Any, Any] | Literal["unit", "alpacaeval", "names"] | str
BothBad = Literal["tie", "drop", "error"]

# In the arrays of this module NaN is "leave this verdict out" and -1 is "not known".
_LEFT_OUT = np.nan
_UNKNOWN = -1.0
_SCALES = {"unit": (1.0, 0.0), "alpacaeval": (1.0, 2.0)}
_CODE_WORDS = {"first": 1.0, "second": 0.0, "tie": 0.5, "drop": _LEFT_OUT}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?")
_SCALE = re.compile(r"([+-]?\d+(?:\.\d+)?)\.\.([+-]?\d+(?:\.\d+)?)")
# In place of a meaning that only the user knows; passed as it is, it is refused.
_SAY = "first|second|tie"
_NUMERIC = (Real, np.bool_)
_TRUTH = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class Verdicts:
    """Outcomes of the rows of a table.

    Attributes
    ----------
    outcome : ndarray, shape (n_rows,)
        Preference for the first item in [0, 1]; NaN where the verdict is left out.
    label_index : ndarray of int, shape (n_rows,)
        Codes into ``labels``.
    labels : list, length n_labels
        The distinct labels of the table; NaN stands for missing values.
    """

    outcome: np.ndarray
    label_index: np.ndarray
    labels: list[object]

    @property
    def is_left_out(self) -> np.ndarray:
        """Rows without a usable verdict, shape (n_rows,)."""
        return np.isnan(self.outcome)

    @property
    def collapsed(self) -> tuple[str, ...]:
        """Labels for one side that differ in strength, by their signs or as numbers of a scale, and were read as one verdict.

        Examples
        --------
        >>> Verdicts(np.array([1.0, 1, 0, 1]), np.array([0, 1, 2, 3]), ["A>>B", "A>B", "B>A", "a"]).collapsed
        ('A>>B', 'A>B')
        """
        if len(self.labels) > limits.GRADES:
            return ()
        strengths = {k: own for k, label in enumerate(self.labels) if (own := _strength(label)) is not None}
        if len(strengths) < 2:
            return ()
        outcome = np.full(len(self.labels), np.nan)
        outcome[self.label_index] = self.outcome
        by_verdict: dict[float, dict[float | int, str]] = {}
        for k, strength in strengths.items():
            if outcome[k] != 0.5 and not np.isnan(outcome[k]):
                by_verdict.setdefault(float(outcome[k]), {})[strength] = _text(self.labels[k])
        return tuple(label for labels in by_verdict.values() if len(labels) > 1 for label in labels.values())

    def left_out(self, judges: np.ndarray, judge_index: np.ndarray, weight: np.ndarray) -> pd.DataFrame:
        """Total weight of the verdicts left out: columns judge, label, count, sorted by judge."""
        rows = self.is_left_out & (weight > 0)
        present, label = np.unique(self.label_index[rows], return_inverse=True)
        names = np.array([_text(self.labels[k]).strip() or "missing" for k in present], dtype=object)
        frame = pd.DataFrame({"judge": judges[judge_index[rows]], "label": names[label], "count": weight[rows]})
        counts = frame.groupby(["judge", "label"])["count"].sum().reset_index()
        if (counts["count"] % 1 == 0).all():
            counts["count"] = counts["count"].astype(int)
        return counts


def _strength(label: object) -> float | int | None:
    """How strong a verdict a label says, by its signs or as a number; None if it does not say."""
    key = _key(label)
    if isinstance(key, float):
        return key
    return graded(key) if set("<>") & set(key) else None


def read_outcomes(
    column: pd.Series,
    coding: Coding,
    pairs: Pairs,
    *,
    codes: Codes | None = None,
    drop: Iterable[object] = (),
    both_bad: BothBad = "tie",
    table_rows: np.ndarray | None = None,
    sides: tuple[Any, Any] = (None, None),
    clean: bool = False,
) -> Verdicts:
    """Translate an outcome column to preferences for the first item.

    Parameters
    ----------
    column : pandas.Series
        One label or number per row.
    coding : Coding
        Its codes.
    pairs : Pairs
        The compared items, for labels that name the preferred one.
    codes, drop, both_bad
        As in :func:`hjastats.data.readers.read_comparisons`.
    table_rows : ndarray of int, shape (n_rows,), optional
        The number of rows of the user's table behind each row, for messages.
    sides : tuple, optional
        The names of the item columns, first and second, which a verdict may say.
    clean : bool
        Whether a label may name an item that only looks alike.

    Raises
    ------
    ComparisonError
        For labels without a known meaning, labels with two meanings, and numbers without ``codes``.

    Examples
    --------
    >>> from hjastats.data.labels import code_columns, coded_pairs
    >>> labels = pd.Series(["A", "gpt-4", "tie", "unknown"])
    >>> first, second, outcome = code_columns([["claude"] * 4, ["gpt-4"] * 4, labels])
    >>> read_outcomes(labels, outcome, coded_pairs("j", first, second, TableRows())).outcome
    array([1. , 0. , 0.5, nan])
    """
    where = f"outcome column {str(column.name)!r}"
    index, labels = _coded(coding, where)
    rows = TableRows(table_rows)
    dropped = {_key(label) for label in drop}
    scale = codes if isinstance(codes, str) else None
    if both_bad not in ("tie", "drop", "error"):
        raise ComparisonError(f"both_bad must be 'tie', 'drop' or 'error', got {both_bad!r}.")
    if not isinstance(codes, str | Mapping | NoneType) or (scale not in (None, "names") and _ends(scale) is None):
        raise ComparisonError(
            "codes must be a dict such as {1: 'first', 2: 'second'}, 'unit', 'alpacaeval', 'names' or a scale such as '1..5'; "
            f"got {codes!r}."
        )
    if scale not in (None, "names"):
        number = _numbers(labels, column)
        outcome = _on_scale(labels, number, scale, dropped)
        if (outcome == _UNKNOWN).any():
            counts = np.where(outcome == _UNKNOWN, _label_counts(index, len(labels), rows), 0)
            _refuse_off_scale(labels, counts, scale, where)
        return Verdicts(outcome[index], index, labels)
    table = _LabelTable(labels, index, rows, _chosen_codes(codes, dropped), scale == "names", both_bad, where, sides)
    if codes is None:
        table.refuse_numbers(pairs.items)
    return Verdicts(table.outcome(pairs, clean), index, labels)


class _LabelTable:
    """The distinct labels of a column with the meaning of each.

    Meanings come from three places: the user's codes settle a label; a word of the vocabulary or the name of an item in
    the row decide otherwise, and must not contradict each other unless labels are known to be names.
    """

    def __init__(
        self,
        labels: list[object],
        index: np.ndarray,
        rows: TableRows,
        chosen: dict[float | str, float],
        only_names: bool,
        both_bad: BothBad,
        where: str,
        sides: tuple[Any, Any],
    ) -> None:
        keys = [_key(label) for label in labels]
        words = _vocabulary([str(key) for key in keys if key not in chosen], both_bad, sides, only_names)
        self.labels, self.index, self.rows, self.where, self.only_names = labels, index, rows, where, only_names
        self.is_settled = np.array([key in chosen for key in keys], dtype=bool)
        self.is_number = np.array([isinstance(key, float) for key in keys], dtype=bool)
        self.meaning = np.array([chosen.get(key, words.get(str(key), _UNKNOWN)) for key in keys], dtype=float)
        if both_bad == "error":
            self._refuse_both_bad(np.array([key in BOTH_BAD_LABELS for key in keys], dtype=bool) & ~self.is_settled)

    @cached_property
    def counts(self) -> np.ndarray:
        """Rows of the user's table with each label; only messages need them."""
        return _label_counts(self.index, len(self.labels), self.rows)

    def refuse_numbers(self, items: tuple[str, ...]) -> None:
        """Raise for numbers the user has not explained, with the explanations that are possible."""
        bad = self.is_number & ~self.is_settled
        if not bad.any():
            return
        found = [self.labels[k] for k in np.flatnonzero(bad)]
        is_only = bool((bad | np.isnan(self.meaning)).all())
        pieces = _possible_scales([float(_key(label)) for label in found]) if is_only else []
        if {_text(label) for label in found} <= set(items):
            pieces += [Hint("codes", "names"), " if they name the preferred item, "]
        if len(found) == 2:
            one, other = sorted((_text(label) for label in found), key=_key)
            own: list[object] = ["or " if pieces else "", Hint("codes", {one: "first", other: "second"}, is_whole=True)]
            own += [f" if {one} means the first item and {other} the second, and the other way round if not."]
        else:
            own = [
                "or say what each means with " if pieces else "",
                Hint("codes", {self._most_frequent(bad): _SAY}),
                ".",
            ]
        raise ComparisonError(
            f"{self.where} holds numbers or true/false values, whose meaning is never guessed: {self._listed(bad)}. Pass ",
            *(*pieces, *own),
        )

    def _refuse_both_bad(self, bad: np.ndarray) -> None:
        if bad.any():
            raise ComparisonError(
                f"{self.where} calls both items bad in {_rows(self.counts[bad].sum())}: {self._listed(bad)}. Pass ",
                *(Hint("both_bad", "tie"), " to count them as ties or "),
                *(Hint("both_bad", "drop"), " to leave them out."),
            )

    def outcome(self, pairs: Pairs, clean: bool) -> np.ndarray:
        """Preference for the first item per row, NaN where left out."""
        spelled = look_alike if clean else str
        item_index = {spelled(name): position for position, name in enumerate(pairs.items)}
        # A label that is no item, or that the user's codes settle, is item -2 and equals none of the row's items.
        label_item = np.array([item_index.get(spelled(_text(label)), -2) for label in self.labels], dtype=np.intp)
        label_item[self.is_settled] = -2
        outcome = self.meaning.take(self.index, mode="clip")
        if (label_item >= 0).any():
            row_item = label_item[self.index]
            named = np.where(row_item == pairs.second_index, 0.0, _UNKNOWN)
            named[row_item == pairs.first_index] = 1.0
            is_named = named != _UNKNOWN
            if not self.only_names:
                self._refuse_two_meanings(is_named & (outcome != _UNKNOWN) & (outcome != named), named)
            outcome = np.where(is_named, named, outcome)
        if (self.meaning == _UNKNOWN).any():
            self._refuse_unknown(outcome == _UNKNOWN, pairs.items)
        return outcome

    def _refuse_two_meanings(self, is_torn: np.ndarray, named: np.ndarray) -> None:
        if not is_torn.any():
            return
        row = int(np.flatnonzero(is_torn)[0])
        label = _text(self.labels[self.index[row]])
        side = "first" if named[row] == 1.0 else "second"
        usual = {1.0: "the first item", 0.0: "the second item", 0.5: "a tie"}
        meaning = usual.get(float(self.meaning[self.index[row]]), "no verdict")
        raise ComparisonError(
            f"{self.where} is ambiguous in {_rows(self.rows.number(is_torn))}: {self.rows.place(is_torn, 'at row {}, ')}the label "
            f"{label!r} is the name of the {side} item but as a word means {meaning}. Pass ",
            *(Hint("codes", "names"), " if the labels are names, or say what they mean with "),
            *(Hint("codes", {label: _SAY}), "."),
        )

    def _refuse_unknown(self, is_unknown: np.ndarray, items: tuple[str, ...]) -> None:
        if not is_unknown.any():
            return
        table_rows = None if self.rows.counts is None else self.rows.counts[is_unknown]
        counts = _label_counts(self.index[is_unknown], len(self.labels), TableRows(table_rows))
        example = _text(self.labels[int(counts.argmax())])
        similar = next((item for item in items if item != example and look_alike(item) == look_alike(example)), None)
        if similar is not None:
            raise ComparisonError(
                f"{self.where} has the label {example!r} in {_rows(counts.max())}, which is the item {similar!r} but for ",
                *(
                    "case, spaces or letters that look alike: pass ",
                    Hint("clean", True),
                    " to take such labels for one.",
                ),
            )
        number = self.rows.number(is_unknown)
        which = "1 value that is" if number == 1 else f"{number} values that are"
        raise ComparisonError(
            f"{self.where} has {which} neither first, second or tie codes nor the name of an item in their row: "
            f"{_listing(self.labels, counts)}. Pass ",
            *(Hint("codes", {example: _SAY}), " to say what they mean or "),
            *(Hint("drop", [example]), " to leave them out."),
        )

    def _most_frequent(self, chosen: np.ndarray) -> str:
        """The first by its text of several."""
        return min((-self.counts[k], _text(self.labels[k])) for k in np.flatnonzero(chosen))[1]

    def _listed(self, chosen: np.ndarray) -> str:
        return _listing(self.labels, np.where(chosen, self.counts, 0))


def _ends(scale: str | None) -> tuple[float, float] | None:
    """The numbers that mean the first and the second item; None for what is no scale."""
    if scale in _SCALES:
        return _SCALES[scale]
    found = None if scale is None else _SCALE.fullmatch(scale)
    ends = None if found is None else (float(found[1]), float(found[2]))
    return None if ends is None or ends[0] == ends[1] else ends


def _possible_scales(numbers: list[float]) -> list[object]:
    """What the numbers of a column may mean, as pieces of a message."""
    low, high = min(numbers), max(numbers)
    if low == high or not np.isfinite([low, high]).all():
        low, high = min(low, 0.0), max(high, 1.0)
    if not np.isfinite([low, high]).all() or max(-low, high) > 1000:
        return []
    if low >= 0 and high <= 1:
        return [
            *(Hint("codes", "unit"), " if 1 is a win of the first item and 0 of the second, "),
            *(Hint("codes", "0..1"), " if 0 is a win of the first item and 1 of the second, "),
        ]
    pieces: list[object] = []
    if (low, high) == (0, 2) and not any(0 < number < 1 for number in numbers):
        pieces = [Hint("codes", "alpacaeval"), " if 1 is a win of the first item, 2 of the second and 0 a tie, "]
    for first, second in ((low, high), (high, low)):
        pieces += [
            Hint("codes", f"{first:g}..{second:g}"),
            f" if {first:g} is the strongest preference for the first item and {second:g} for the second, ",
        ]
    return pieces


def _on_scale(labels: list[object], number: np.ndarray, scale: str, dropped: set[float | str]) -> np.ndarray:
    """Preference for the first item per distinct label; ``number`` holds their values, NaN for other text."""
    outcome = np.full(len(labels), _UNKNOWN)
    first, second = _ends(scale) or (1.0, 0.0)
    inside = (number >= min(first, second)) & (number <= max(first, second))
    # Zero is added so that it has no sign.
    outcome[inside] = (number[inside] - second) / (first - second) + 0.0
    if scale == "alpacaeval":
        outcome[number == 0] = 0.5
    outcome[np.isin(number, [key for key in dropped if isinstance(key, float)])] = _LEFT_OUT
    unusable = UNUSABLE_LABELS | dropped
    outcome[[k for k in np.flatnonzero(np.isnan(number)) if _key(labels[k]) in unusable]] = _LEFT_OUT
    return outcome


def _refuse_off_scale(labels: list[object], counts: np.ndarray, scale: str, where: str) -> None:
    ends = sorted(_ends(scale) or ())
    expected = f"{ends[0]:g} to {ends[1]:g}" + (" (or 0 for a tie)" if scale == "alpacaeval" else "")
    raise ComparisonError(
        *(f"{where} has {int(counts.sum())} values outside the scale {expected} of ", Hint("codes", scale)),
        f": {_listing(labels, counts)}. Pass another ",
        *(Hint("codes"), " or leave them out with ", Hint("drop", []), "."),
    )


def _vocabulary(words: list[str], both_bad: BothBad, sides: tuple[Any, Any], only_names: bool) -> dict[str, float]:
    """What words mean; among names of items, and where the user took two item columns in reverse, no position does."""
    named = (str(sides[0]).strip().casefold(), str(sides[1]).strip().casefold())
    is_reversed = (graded(named[0]) or 0) < 0 < (graded(named[1]) or 0)
    called = ("", "") if only_names or None in sides else named
    return meanings(words, 0.5 if both_bad == "tie" else _LEFT_OUT, called, not (only_names or is_reversed))


def _chosen_codes(codes: Codes | None, dropped: set[float | str]) -> dict[float | str, float]:
    """The user's decisions by label key; ``drop`` has the last word."""
    chosen: dict[float | str, float] = {}
    for label, code in codes.items() if isinstance(codes, Mapping) else ():
        key, value = _key(label), _code_value(label, code)
        if key in chosen and not np.array_equal(chosen[key], value, equal_nan=True):
            raise ComparisonError(f"codes gives two meanings to {_text(label)!r}, which is one label in the table.")
        chosen[key] = value
    return chosen | dict.fromkeys(dropped, _LEFT_OUT)


def _code_value(label: object, code: object) -> float:
    if isinstance(code, str) and code in _CODE_WORDS:
        return _CODE_WORDS[code]
    if isinstance(code, Real) and 0 <= float(code) <= 1:
        return float(code)
    raise ComparisonError(
        f"codes maps {_text(label)!r} to {code!r}: expected 'first', 'second', 'tie', 'drop' or a number from 0 to 1."
    )


def _coded(coding: Coding, where: str) -> tuple[np.ndarray, list[object]]:
    """Codes into the distinct labels; missing values are the label NaN."""
    try:
        index, labels = coding()
    except TypeError:
        raise ComparisonError(f"{where} must hold text or numbers, got lists or other containers.") from None
    if index.min(initial=0) < 0:
        index, labels = np.where(index < 0, len(labels), index), [*labels, np.nan]
    return index, labels


def _label_counts(index: np.ndarray, n_labels: int, rows: TableRows) -> np.ndarray:
    """The number of rows of the user's table that carry each label."""
    return np.bincount(index, rows.counts, minlength=n_labels).astype(np.int64)


def _numbers(labels: list[object], column: pd.Series) -> np.ndarray:
    """The distinct labels of a column as numbers, NaN where they are other text."""
    if pd.api.types.is_numeric_dtype(column):
        return np.array(labels, dtype=float)
    number = np.full(len(labels), np.nan)
    if isinstance(column.dtype, pd.StringDtype):
        number = pd.to_numeric(pd.Series(labels, dtype="str"), errors="coerce").to_numpy(dtype=float, copy=True)
        # Before pandas 3.1 a last digit was off by one.
        is_number = ~np.isnan(number)
        number[is_number] = np.array(labels, dtype=object)[is_number].astype(float)
    for k in np.flatnonzero(np.isnan(number)):
        key = _key(labels[k])
        number[k] = key if isinstance(key, float) else np.nan
    return number


def _key(label: object) -> float | str:
    """What makes two labels the same: 1, 1.0, '1' and True are one label, and so are 'Tie' and ' tie'."""
    if isinstance(label, _NUMERIC):
        try:
            number = float(label)
        except OverflowError:
            return str(label)
        return "" if np.isnan(number) else number
    text = _text(label).strip().casefold()
    if text in _TRUTH:
        return _TRUTH[text]
    return float(text) if text.isascii() and _NUMBER.fullmatch(text) else text


def _text(label: object) -> str:
    """The label as shown to the user, and as compared with item names."""
    return "" if label is None or label is pd.NA or label is pd.NaT or label != label else label_text(label)


def _listing(labels: list[object], counts: np.ndarray, limit: int = 5) -> str:
    """The most frequent labels with their counts."""
    order = [k for k in np.argsort(-counts, kind="stable") if counts[k]]
    return and_more([f"{_text(labels[k])!r} ({_rows(counts[k])})" for k in order], limit)


def _rows(count: int) -> str:
    return counted(count, "row")
