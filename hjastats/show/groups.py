"""Figures of groups: who stands where, what differs beyond chance, and judges over time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd

from .. import limits
from ..data.arrays import check_axes, check_whole
from ..inference.group_tests import LEVEL
from ..looks import Menu
from . import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class GroupPlots(Menu):
    """Figures of groups, as ``found.plot``.

    Every one takes ``ax``, the matplotlib axes to draw in (a new figure by default), and returns the axes.

    Examples
    --------
    >>> import numpy as np
    >>> import hjastats as hja
    >>> data = hja.datasets.load_panel()
    >>> found = hja.by_group(data, by=np.arange(data.n_rows) // 1600)
    >>> [label.get_text() for label in found.plot.differences().get_yticklabels()][:2]
    ['model-I', 'model-H']
    """

    def __init__(
        self,
        places: pd.DataFrame,
        differences: pd.DataFrame,
        effects: Callable[[str], pd.DataFrame],
        tests: pd.DataFrame,
        tastes: Callable[[str], pd.DataFrame],
        by: str,
    ) -> None:
        self._places, self._differences, self._effects = places, differences, effects
        self._tests, self._tastes, self._by = tests, tastes, by

    def places(self, *, max_rows: int = limits.FIGURE_ROWS, ax: Axes | None = None) -> Axes:
        """Places over the groups, a line for every item; lines of items that differ beyond chance are coloured."""
        check_whole("max_rows", max_rows, 1)
        moved = set(self._differences.loc[self._differences["p_holm"] < LEVEL, "item"])
        return plots.plot_places(self._places.head(max_rows), moved, xlabel=self._by, ax=check_axes(ax))

    def differences(self, *, max_rows: int = limits.FIGURE_ROWS, ax: Axes | None = None) -> Axes:
        """Differences of a group from all others; only those beyond chance are coloured."""
        values, p_holm = self._side_by_side(self._differences, "difference", max_rows)
        return plots.plot_differences(values, p_holm.to_numpy() < LEVEL, xlabel=self._by, ax=check_axes(ax))

    def taste(self, judge: str, *, max_rows: int = limits.FIGURE_ROWS, ax: Axes | None = None) -> Axes:
        """What a judge prefers in a group more than in all groups, beyond the consensus; only what is beyond chance is coloured."""
        values, p_holm = self._side_by_side(self._tastes(judge), "change", max_rows)
        title = f"What {judge} prefers more than in all groups (coloured: beyond chance)"
        return plots.plot_differences(
            values, p_holm.to_numpy() < LEVEL, title=title, xlabel=self._by, ax=check_axes(ax)
        )

    @property
    def tastes_changed(self) -> list[str]:
        """Judges whose taste changes, the clearest first."""
        if "kind" not in self._tests:
            return []
        changed = self._tests["kind"].isin(["taste", "loadings"]) & (self._tests["p_holm"] < LEVEL)
        return list(dict.fromkeys(self._tests.loc[changed, "judge"]))

    def _side_by_side(self, table: pd.DataFrame, name: str, max_rows: int) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Values by item and group, and their adjusted p-values."""
        check_whole("max_rows", max_rows, 1)
        groups = [group for group in self._places.columns if group in set(table["group"])]
        items = list(self._places.index[:max_rows])
        values, p_holm = (
            table.pivot_table(column, "item", "group").reindex(index=items, columns=groups)
            for column in (name, "p_holm")
        )
        return values, p_holm

    def judges(self, kind: str = "position", *, max_rows: int = limits.FIGURE_ROWS, ax: Axes | None = None) -> Axes:
        """Monitor of judges: their ``position`` or sensitivity (``gamma``) over the groups; those that change are coloured."""
        check_whole("max_rows", max_rows, 1)
        table = self._effects(kind)
        name = "sensitivity" if kind == "gamma" else "position"
        tests = self._tests[self._tests["kind"] == name] if "kind" in self._tests else self._tests
        changed = list(tests.loc[tests["p_holm"] < LEVEL, "judge"]) if len(tests) else []
        judges = list(dict.fromkeys([*changed, *table["judge"]]))[:max_rows]
        some = table[table["judge"].isin(judges)]
        label = "sensitivity" if kind == "gamma" else "position effect (log-odds)"
        return plots.plot_monitor(some, changed, xlabel=self._by, ylabel=label, ax=check_axes(ax))
