"""What is known about judges and items besides their verdicts: one row per label, checked once."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ..errors import ComparisonError
from ..words import quoted
from .labels import label_text

# Rows of other labels that are named beside a label without a row; tables that serve many data sets have more of them.
_FEW_STRANGERS = 3


def aligned_metadata(frame: Any, role: str, labels: Sequence[str]) -> pd.DataFrame:
    """Metadata with one row per label, in the order of the labels.

    Rows of other labels are left out without a word: one table of models serves many data sets. A label without a row is an error,
    because a forgotten judge would silently belong to no family.

    Parameters
    ----------
    frame : pandas.DataFrame or pandas.Series
        Labels in a column called like the role, or in the index.
    role : {"judge", "item"}
    labels : sequence of str

    Returns
    -------
    pandas.DataFrame
        Indexed by the labels; a row may hold missing values.

    Raises
    ------
    ComparisonError
        For labels without a row, or with several.

    Examples
    --------
    >>> table = pd.DataFrame({"item": ["b", "a", "z"], "family": ["y", "x", "x"]})
    >>> aligned_metadata(table, "item", ("a", "b"))["family"].tolist()
    ['x', 'y']
    """
    if isinstance(frame, pd.Series):
        frame = frame.to_frame(name=frame.name if frame.name is not None else "family")
    if not isinstance(frame, pd.DataFrame):
        raise ComparisonError(
            f"metadata must be a pandas.DataFrame with one row per {role}, got {type(frame).__name__}."
        )
    if role in frame.columns:
        frame = frame.set_index(role)
    names = pd.Index([str(name) for name in frame.columns], dtype=object)
    if names.has_duplicates:
        repeated = sorted(names[names.duplicated()].unique())
        raise ComparisonError(f"metadata of {role}s has several columns called {quoted(repeated)}: rename them.")
    index = pd.Index([label_text(label) for label in frame.index], dtype=object)
    frame = frame.set_axis(index, axis=0).set_axis(names, axis=1)
    absent = [label for label in labels if label not in index]
    if absent:
        strangers = [label for label in index if label not in labels]
        meant = [(near[0], label) for label in absent[:1] if (near := difflib.get_close_matches(label, strangers, n=1))]
        told = "".join(f" The row {stranger!r} fits no {role}: did you mean {label!r}?" for stranger, label in meant)
        if not told and 0 < len(strangers) <= _FEW_STRANGERS:
            told = f" Rows that fit no {role}: {quoted(strangers)}."
        raise ComparisonError(f"metadata has no row for {role} {quoted(absent)}.{told or _hint(frame, role, labels)}")
    several = [label for label in labels if label in index[index.duplicated()]]
    if several:
        raise ComparisonError(f"metadata has several rows for {role} {quoted(several)}: keep one of each.")
    return frame.loc[list(labels)].set_axis(pd.Index(labels, name=role), axis=0)


def _hint(frame: pd.DataFrame, role: str, labels: Sequence[str]) -> str:
    for name in frame.columns:
        if set(labels) <= set(frame[name].astype(str)):
            return f" Column {name!r} has them all: pass frame.set_index({name!r}), or call it {role!r}."
    return f" Give every {role} a row, with missing values where nothing is known."


def judges_labelled(label: Any, judges: Sequence[str], metadata: pd.DataFrame | None) -> dict[str, float]:
    """The judges whom a label of their metadata stands for, or the judge of that name, with equal weights.

    Raises
    ------
    ComparisonError
        For a label that nobody has, or that stands in several columns.

    Examples
    --------
    >>> known = pd.DataFrame({"kind": ["humans", "LLM", "humans"]}, index=["ann", "gpt", "bob"])
    >>> judges_labelled("humans", known.index, known)
    {'ann': 1.0, 'bob': 1.0}
    >>> judges_labelled({"kind": "LLM"}, known.index, known), judges_labelled("kind=LLM", known.index, known)
    ({'gpt': 1.0}, {'gpt': 1.0})
    """
    if isinstance(label, str) and label in judges:
        return {label: 1.0}
    columns = pd.DataFrame(index=list(judges)) if metadata is None else metadata
    if isinstance(label, Mapping):
        if not is_trait(label, judges, columns):
            return dict(label)
        ((column, label),) = label.items()
        return _of_column(str(column), label, columns)
    name, is_given, value = str(label).partition("=")
    if is_given and name.strip() in columns.columns:
        return _of_column(name.strip(), value.strip(), columns)
    # As Python's texts: those of pyarrow cannot be compared with half a surrogate pair.
    named = columns.map(str).astype(object) == str(label)
    found = list(columns.columns[named.any()])
    if len(found) != 1:
        if found:
            raise ComparisonError(
                f"{label!r} is a label of {quoted(found)}: which of them? Say {{{str(found[0])!r}: {label!r}}}."
            )
        raise ComparisonError(
            f"{label!r} is no judge, and no label of their metadata. Give weights by name instead, {{judge: weight}}."
        )
    return dict.fromkeys([str(name) for name in columns.index[named[found[0]]]], 1.0)


def is_trait(whose: Any, judges: Sequence[str], metadata: pd.DataFrame | None) -> bool:
    """Whether a mapping is a column of the judges' metadata with a label, rather than judges with weights.

    Examples
    --------
    >>> known = pd.DataFrame({"kind": ["humans", "LLM"]}, index=["ann", "gpt"])
    >>> is_trait({"kind": "LLM"}, known.index, known), is_trait({"gpt": 2.0}, known.index, known)
    (True, False)
    """
    if not isinstance(whose, Mapping) or len(whose) != 1:
        return False
    ((name, value),) = whose.items()
    is_column = metadata is not None and str(name) in metadata.columns
    return name not in judges and (is_column or isinstance(value, str))


def _of_column(name: str, label: Any, columns: pd.DataFrame) -> dict[str, float]:
    """The judges with a label in one column."""
    if name not in columns.columns:
        known = quoted(columns.columns) if columns.shape[1] else "none, pass them with data.with_metadata(judges=table)"
        raise ComparisonError(f"no trait of the judges is called {name!r}; there are {known}.")
    own = columns[name]
    found = columns.index[own.map(str).astype(object) == str(label)]
    if not len(found):
        raise ComparisonError(
            f"no judge has {label!r} in {name!r}; there are {quoted(own.dropna().map(str).unique(), 10)}."
        )
    return dict.fromkeys(map(str, found), 1.0)


def restricted_metadata(frame: pd.DataFrame | None, role: str, labels: Sequence[str]) -> pd.DataFrame | None:
    """Metadata for a changed set of labels; new ones, such as a pool of judges, get missing values.

    Examples
    --------
    >>> known = pd.DataFrame({"family": ["x", "y"]}, index=["a", "b"])
    >>> restricted_metadata(known, "judge", ("b", "others"))["family"].isna().tolist()
    [False, True]
    """
    return None if frame is None else frame.reindex(pd.Index(labels, name=role))


def pair_metadata(judges: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """One row per judge and item: columns ``judge_x`` and ``item_x``, and ``same_x`` where both have an ``x``.

    ``same_x`` is missing where either is missing.

    Examples
    --------
    >>> judges, items = pd.DataFrame({"family": ["x"]}, index=["j"]), pd.DataFrame({"family": ["x", "y"]}, index=["a", "b"])
    >>> pair_metadata(judges, items)["same_family"].tolist()
    [1.0, 0.0]
    """
    index = pd.MultiIndex.from_product([judges.index, items.index], names=["judge", "item"])
    columns: dict[str, Any] = {}
    for role, frame in (("judge", judges), ("item", items)):
        rows = frame.reindex(index.get_level_values(role))
        columns |= {f"{role}_{name}": rows[name].to_numpy() for name in frame.columns}
    pairs = pd.DataFrame(columns, index=index)
    for name in judges.columns.intersection(items.columns):
        first, second = pairs[f"judge_{name}"], pairs[f"item_{name}"]
        pairs[f"same_{name}"] = (first == second).astype(float).where(first.notna() & second.notna())
    return pairs
