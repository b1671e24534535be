"""Whether the comparisons link the items: connectivity per judge and pooled, and who never lost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from .. import limits
from ..looks import Shown
from ..words import quoted
from .cells import Cells


@dataclass(frozen=True, repr=False, eq=False)
class Connectivity(Shown):
    """What the comparison graphs allow to be estimated; each answer is worked out when asked for.

    Attributes
    ----------
    pooled_groups : tuple of tuple of str
        Items linked by somebody's comparisons; one group means the pooled graph is connected.
    judge_groups : dict of str to tuple of tuple of str
        For each judge whose own graph is not connected, its groups of linked items (items it never saw stand alone).
    winning_groups : tuple of tuple of str
        Strongly connected groups of the pooled graph of wins, ties counting in both directions. One group means that the
        maximum likelihood estimate of the pooled Bradley-Terry-Luce model exists.
    undefeated, winless : tuple of str
        Items no other item ever beat or tied with, and items that never beat or tied with another.

    Examples
    --------
    >>> one = np.ones(2)
    >>> cells = Cells(np.zeros(2, int), np.array([0, 1]), np.array([1, 2]), one, one, 1, 3)
    >>> report = Connectivity(cells, ("j",), ("a", "b", "c"))
    >>> report.is_connected, report.is_strongly_connected, report.undefeated
    (True, False, ('a',))
    """

    cells: Cells
    judges: tuple[str, ...]
    items: tuple[str, ...]

    @cached_property
    def pooled_groups(self) -> tuple[tuple[str, ...], ...]:
        """Items linked by somebody's comparisons."""
        return _named(_components(self.cells.first, self.cells.second, self.cells.n_items), self._names)

    @cached_property
    def judge_groups(self) -> dict[str, tuple[tuple[str, ...], ...]]:
        """Groups of linked items of the judges whose own graph is not connected."""
        cells, shape = self.cells, (len(self.judges), len(self.items))
        # All judges at once: their graphs are disjoint parts of one graph on (judge, item) nodes.
        labels = _components(cells.first_entry, cells.second_entry, math.prod(shape)).reshape(shape)
        is_split = (labels != labels[:, :1]).any(axis=1)
        return {self.judges[k]: _named(labels[k], self._names) for k in np.flatnonzero(is_split)}

    @cached_property
    def winning_groups(self) -> tuple[tuple[str, ...], ...]:
        """Strongly connected groups of the pooled graph of wins."""
        return _named(_components(*self._wins, self.cells.n_items, strong=True), self._names)

    @property
    def undefeated(self) -> tuple[str, ...]:
        """Items no other item ever beat or tied with."""
        winner, loser = self._wins
        return tuple(self._names[np.setdiff1d(winner, loser)])

    @property
    def winless(self) -> tuple[str, ...]:
        """Items that never beat or tied with another."""
        winner, loser = self._wins
        return tuple(self._names[np.setdiff1d(loser, winner)])

    @property
    def _names(self) -> np.ndarray:
        return np.asarray(self.items, dtype=object)

    @cached_property
    def _wins(self) -> tuple[np.ndarray, np.ndarray]:
        return _wins(self.cells, self.cells.first, self.cells.second)

    @cached_property
    def is_connected(self) -> bool:
        """Whether the pooled comparison graph is connected."""
        return _links_all(self.cells) if len(self.items) <= limits.DENSE_LINKS else len(self.pooled_groups) == 1

    @property
    def is_connected_for_every_judge(self) -> bool:
        """Whether each judge alone links all items (the paper's main assumption, asm:graph)."""
        return not self.judge_groups

    @property
    def is_strongly_connected(self) -> bool:
        """Whether the pooled Bradley-Terry-Luce estimate exists."""
        return len(self.winning_groups) == 1

    def _shown(self) -> list[str]:
        lines = [f"Connectivity of {len(self.items)} items and {len(self.judges)} judges: the pooled comparisons "]
        if self.is_connected:
            lines[0] += "link all items."
        else:
            lines[0] += f"fall into {len(self.pooled_groups)} groups that are never compared with each other:"
            lines += [f"  {quoted(group)}" for group in self.pooled_groups[:5]]
        if self.is_connected_for_every_judge:
            lines.append("Every judge links all items by itself.")
        else:
            lines.append(f"{len(self.judge_groups)} judges do not link all items by themselves:")
            for judge, groups in list(self.judge_groups.items())[:5]:
                lines.append(f"  '{judge}': {len(groups)} groups, the largest of {max(map(len, groups))} items")
            if len(self.judge_groups) > 5:
                lines.append(f"  and {len(self.judge_groups) - 5} more")
        if self.is_strongly_connected:
            lines.append("Wins run in both directions between all groups: the pooled estimate exists.")
        elif self.is_connected:
            lines.append(
                "Wins run in one direction only between some groups: the pooled maximum likelihood estimate does not exist."
            )
            if self.undefeated:
                lines.append(f"  never beaten: {quoted(self.undefeated)}")
            if self.winless:
                lines.append(f"  never won: {quoted(self.winless)}")
        return lines


def levels_of_wins(cells: Cells) -> np.ndarray:
    """How many steps each item stands above those it beat without ever losing to them, shape (n_judges, n_items).

    A judge whose levels are all zero contradicts itself enough for its own scores to exist. Otherwise no item below a level
    ever beat one above it, and the judge's own scores can move apart there without limit.

    Examples
    --------
    >>> cells = Cells(np.zeros(2, int), np.array([0, 1]), np.array([1, 2]), np.full(2, 2.0), np.array([2.0, 1.0]), 1, 3)
    >>> levels_of_wins(cells)
    array([[1, 0, 0]])
    """
    if not ((cells.n > 0) & ((cells.y <= 0) | (cells.y >= cells.n))).any():
        return np.zeros((cells.n_judges, cells.n_items), dtype=int)
    winner, loser = _wins(cells, cells.first_entry, cells.second_entry)
    group = groups_of_wins(cells).ravel()
    across = group[winner] != group[loser]
    above, below = group[winner[across]], group[loser[across]]
    level = np.zeros(group.max() + 1, dtype=int)
    while (level[above] <= level[below]).any():
        np.maximum.at(level, above, level[below] + 1)
    return level[group].reshape(cells.n_judges, cells.n_items)


def groups_of_wins(cells: Cells) -> np.ndarray:
    """Which items of each judge wins lead to and back from, as numbers of their groups, shape (n_judges, n_items).

    Examples
    --------
    >>> cells = Cells(np.zeros(2, int), np.array([0, 1]), np.array([1, 2]), np.full(2, 2.0), np.array([2.0, 1.0]), 1, 3)
    >>> group = groups_of_wins(cells)[0]
    >>> group == group[1]
    array([False,  True,  True])
    """
    winner, loser = _wins(cells, cells.first_entry, cells.second_entry)
    size = cells.n_judges * cells.n_items
    return _components(winner, loser, size, strong=True).reshape(cells.n_judges, cells.n_items)


def _wins(cells: Cells, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Winners and losers; a tie is a win in both directions."""
    won, lost = cells.y > 0, cells.y < cells.n
    return np.concatenate([first[won], second[lost]]), np.concatenate([second[won], first[lost]])


def _links_all(cells: Cells) -> bool:
    """Whether comparisons lead from the first item to all others."""
    links = np.eye(cells.n_items, dtype=bool)
    links[cells.first, cells.second] = links[cells.second, cells.first] = True
    reached = new = links[0]
    while new.any() and not reached.all():
        further = links[new].any(axis=0)
        new, reached = further & ~reached, further | reached
    return bool(reached.all())


def _components(tail: np.ndarray, head: np.ndarray, size: int, strong: bool = False) -> np.ndarray:
    edges = sparse.coo_array((np.ones(len(tail)), (tail, head)), shape=(size, size))
    connection = "strong" if strong else "weak"
    return connected_components(edges.tocsr(), directed=True, connection=connection)[1]


def _named(labels: np.ndarray, names: np.ndarray) -> tuple[tuple[str, ...], ...]:
    """Groups of names, largest first."""
    order = np.argsort(labels, kind="stable")
    ordered = names[order].tolist()
    cuts = [0, *(np.flatnonzero(np.diff(labels[order])) + 1).tolist(), len(ordered)]
    groups = [tuple(ordered[start:stop]) for start, stop in pairwise(cuts)]
    return tuple(sorted(groups, key=lambda group: (-len(group), group)))
