"""Groups of items that nobody compared, each with a zero of its own: what cannot be asked of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import Hint, IdentificationError
from ..model.layout import Layout

# Step by which the zero of a group is moved, in log-odds, and what is left of a change that has none, of the largest there is.
_STEP, _NONE = 1e-4, 1e-6


def are_apart(layout: Layout) -> bool:
    """Whether scores are those of groups that nothing links, neither comparisons nor traits."""
    return bool(layout.structure.groups) and "beta" not in layout.slices


def group_of(layout: Layout, item: str) -> tuple[str, ...]:
    """The items of the group that an item is in; all where none are apart."""
    if not are_apart(layout):
        return layout.items
    position = layout.items.index(item)
    [members] = [group for group in layout.structure.groups if position in group]
    return tuple(layout.items[i] for i in members)


def are_linked(layout: Layout, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Whether two items are of one group."""
    if not are_apart(layout):
        return np.ones(len(first), dtype=bool)
    group = np.argmax(_members(layout), axis=0)
    return np.asarray(group[first] == group[second])


def check_pairs_linked(layout: Layout, first: np.ndarray, second: np.ndarray) -> None:
    """Refuse to compare items of different groups.

    Raises
    ------
    IdentificationError
    """
    across = np.flatnonzero(~are_linked(layout, first, second))
    if len(across):
        raise _not_one_scale(layout.items[first[across[0]]], layout.items[second[across[0]]])


def check_combinations(layout: Layout, matrix: np.ndarray) -> None:
    """Refuse linear combinations (m, n_params) that compare scores of different groups.

    Raises
    ------
    IdentificationError
    """
    if are_apart(layout):
        _check(layout, matrix[:, layout.slices["mu"]] @ _members(layout).T)


def check_functions(layout: Layout, values: Callable[[np.ndarray], np.ndarray], scores: np.ndarray) -> None:
    """Refuse functions of scores (n_judges, n_items), of m values, that compare those of different groups.

    Raises
    ------
    IdentificationError
    """
    if not are_apart(layout):
        return
    moved = [values(scores + _STEP * members) - values(scores - _STEP * members) for members in _members(layout)]
    _check(layout, np.transpose(moved) / (2.0 * _STEP))


def _members(layout: Layout) -> np.ndarray:
    """Which items a group has, shape (n_groups, n_items)."""
    return np.array(
        [np.isin(np.arange(len(layout.items)), members) for members in layout.structure.groups], dtype=float
    )


def _check(layout: Layout, slopes: np.ndarray) -> None:
    """Refuse what moves with the zeros of groups (m, n_groups), but not if all of them move together."""
    size = np.abs(slopes).max(axis=1, initial=0.0)
    compares = (size > _NONE) & (np.abs(slopes.sum(axis=1)) < _NONE * np.maximum(size, 1.0))
    if compares.any():
        some = np.argsort(-np.abs(slopes[np.argmax(compares)]), kind="stable")[:2]
        raise _not_one_scale(*(layout.items[layout.structure.groups[g][0]] for g in some))


def _not_one_scale(one: str, other: str) -> IdentificationError:
    return IdentificationError(
        f"nobody compared the group of {one!r} with that of {other!r}: each has a zero of its own, and differences between them "
        "mean nothing. Name items of one group: ",
        Hint("ranking", "items=[...]", is_call=True),
        " ranks it.",
    )
