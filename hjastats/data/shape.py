"""What a table of another shape than one row per comparison is turned into, and what the user said about it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pandas as pd

from .roles import ITEM_COLUMNS, JUDGE_COLUMNS, WEIGHT_COLUMNS, Names, Roles, named_column

# The columns of a shape by what they are to it.
Found: TypeAlias = "dict[str, Any]"


@dataclass(frozen=True)
class Given:
    """What the user has named, None where nothing.

    Attributes
    ----------
    roles : Roles
        Columns of a table of pairs.
    item : column name or list of them
        Of the items that were rated or ranked; several hold one item each.
    score, place, cluster : column name
        A rating, a place, and what was judged together.
    baseline : str
        The item that all others were compared with.
    has_judge : bool
        Whether a column should say who judged.
    is_named : bool
        Whether the user named the shape.
    """

    roles: Roles = field(default_factory=Roles)
    item: Any = None
    score: Hashable | None = None
    place: Hashable | None = None
    cluster: Hashable | None = None
    baseline: str | None = None
    has_judge: bool = True
    is_named: bool = False


@dataclass(frozen=True)
class Laid:
    """Pairs made of a table of another shape.

    Attributes
    ----------
    frame : pandas.DataFrame
        One row per comparison, with columns for ``roles`` and others.
    roles : Roles
        Without an outcome column the first item won every row.
    codes : dict, optional
        What the verdicts mean where the user says nothing else; a scale by name.
    judge : str, optional
        Who judged, where no column says it and the format does.
    has_order, cluster, made_of
        As in :class:`hjastats.Comparisons`.
    is_own : bool
        Whether the rows are those of the table.
    left_out : pandas.DataFrame, optional
        Columns judge and label: one row for everything that became no pair.
    doubts : tuple of str
        As in :class:`hjastats.Comparisons`.
    """

    frame: pd.DataFrame
    roles: Roles
    codes: Mapping[Any, Any] | str | None = None
    judge: str | None = None
    has_order: bool = True
    cluster: Any = None
    made_of: str = ""
    is_own: bool = True
    left_out: pd.DataFrame | None = None
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shape:
    """One entry of ``SHAPES``, which is all there is to a shape.

    Attributes
    ----------
    find : callable
        The columns by which it is recognised, by what they are; None for a table of another shape.
    lay : callable
        Makes pairs of a frame, given these columns and what the user said.
    numbers : tuple of str
        Which of the columns stay numbers when a text table is read.
    """

    find: Callable[[Names, Given], Found | None]
    lay: Callable[[pd.DataFrame, Found, Given], Laid]
    numbers: tuple[str, ...] = ()

    def used(self, found: Found) -> list[Hashable]:
        """All columns it needs."""
        flat = (name if isinstance(name, list) else [name] for name in found.values() if name is not None)
        return [name for names in flat for name in names]

    def labels(self, found: Found) -> list[Hashable]:
        """Those that must stay text."""
        return self.used({role: name for role, name in found.items() if role not in self.numbers})


def column_of(frame: pd.DataFrame, name: Any) -> pd.Series:
    """One column, whatever its name is."""
    column: pd.Series = frame[name]
    return column


def find_pair(names: Names) -> tuple[Hashable, Hashable] | None:
    """Columns for the two items of a pair under a usual name."""
    known = ((names.find(a), names.find(b)) for a, b in ITEM_COLUMNS)
    return next(((a, b) for a, b in known if a is not None and b is not None), None)


def names_pairs(given: Given) -> bool:
    """Whether the user has named columns that only a table of pairs has."""
    roles = given.roles
    return not (roles.first is roles.second is roles.outcome is roles.first_wins is None)


def find_judge(names: Names, given: Given) -> Hashable | None:
    """The judge column, None if there is none or one name stands for all."""
    if not given.has_judge:
        return None
    if given.roles.judge is not None:
        return named_column(names.all, given.roles.judge, "judge")
    return names.find(*JUDGE_COLUMNS)


def find_weight(names: Names, given: Given) -> Hashable | None:
    """The weight column, if there is one."""
    weight = given.roles.weight
    if weight is None or weight is False:
        return names.find(*WEIGHT_COLUMNS) if weight is None else None
    return named_column(names.all, weight, "weight")


def with_roles(frame: pd.DataFrame, others: pd.DataFrame, **roles: Any) -> tuple[pd.DataFrame, Roles]:
    """A frame of role columns beside those others whose names are free."""
    table = pd.DataFrame({role: values for role, values in roles.items() if values is not None}, index=frame.index)
    further = others[[name for name in others.columns if name not in table.columns]]
    return pd.concat([table, further], axis=1), Roles(**{role: role for role in table.columns})
