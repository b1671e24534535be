"""Frames as cells of an HTML table: formatted text beside the number to sort by."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes
    ----------
    text : str
    order : str
        What to sort by; numbers as numbers, empty for missing values, which stand last.
    is_number : bool
    """

    text: str
    order: str
    is_number: bool


@dataclass(frozen=True)
class Table:
    """A table ready to be written."""

    caption: str
    header: list[str]
    rows: list[list[Cell]]


def table(frame: pd.DataFrame, caption: str, columns: Mapping[str, tuple[str, str]], label: str) -> Table:
    """Choose, name and format columns.

    Parameters
    ----------
    columns : mapping
        Column to its heading and format; columns the frame does not have are left out, as are those without any value.
    label : str
        Heading of the index.

    Examples
    --------
    >>> made = table(pd.DataFrame({"x": [1.234]}, index=["a"]), "caption", {"x": ("X", ".1f")}, "item")
    >>> made.header, [cell.text for cell in made.rows[0]]
    (['item', 'X'], ['a', '1.2'])
    """
    kept = {name: how for name, how in columns.items() if name in frame and frame[name].notna().any()}
    rows = []
    for position, name in enumerate(frame.index):
        row = frame.iloc[position]
        rows.append([_cell(name, ""), *(_cell(row[column], style) for column, (_, style) in kept.items())])
    return Table(caption, [label, *(heading for heading, _ in kept.values())], rows)


def _cell(value: Any, style: str) -> Cell:
    if isinstance(value, str):
        return Cell(value, value, False)
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return Cell("–", "", True)
    if style == "p":
        return Cell("< 0.0001" if value < 1e-4 else f"{value:.4f}", repr(float(value)), True)
    return Cell(format(value, style) if style else str(value), repr(float(value)), True)
