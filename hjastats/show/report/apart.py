"""Groups of items that nobody compared with each other, on a page: a board for each, and nothing across."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ... import limits
from ...fitted import Fit
from ...inference.estimates import consensus
from ...words import counted
from .board import Row, board, family_hues
from .opening import leadership
from .standing import SCALES, Standing


@dataclass(frozen=True)
class Board:
    """The leaderboard of a group.

    Attributes
    ----------
    caption : str
    rows : list of Row
    n_places : int
    """

    caption: str
    rows: list[Row]
    n_places: int

    @property
    def n_rows(self) -> int:
        """How many items it shows."""
        return len(self.rows)


def standings(fit: Fit) -> list[Standing]:
    """Who stands where in each group; none without a finite estimate and standard errors."""
    found = [Standing.of(fit, tuple(fit.layout.items[i] for i in group)) for group in fit.layout.structure.groups]
    return [standing for standing in found if standing is not None]


def sentences(fit: Fit) -> list[str]:
    """What it means that groups are apart, and what they share."""
    shared = [*fit.layout.terms.shared_names, *fit.layout.terms.own_names]
    common = f"Fitted together, they have in common: {', '.join(shared)}." if shared else "They share no parameters."
    groups = counted(len(fit.layout.structure.groups), "group")
    return [
        f"{counted(len(fit.layout.items), 'item')} are in {groups} that nobody compared with each other, each with a zero of its "
        f"own: places, scores and chances are those within a group, and no item is above one of another group. {common}"
    ]


def boards(found: list[Standing], metadata: pd.DataFrame | None) -> list[Board]:
    """The leaderboards of as many groups as a page has room for."""
    made: list[Board] = []
    n_rows = 0
    for number, standing in enumerate(found, start=1):
        rows = board(standing, family_hues(standing.items, metadata)[0])
        n_rows += len(rows)
        if made and n_rows > limits.PAGE_ROWS:
            break
        caption = (
            f"Group {number} of {len(found)}, {counted(len(standing.items), 'item')}: {leadership(standing.table)}"
        )
        made.append(Board(caption, rows, int(standing.table["place_upper"].max())))
    return made


def leaderboards(found: list[Standing]) -> pd.DataFrame:
    """Places, chances and scores of all groups, one after the other, with the number of the group."""
    frames = []
    for number, standing in enumerate(found, start=1):
        scales = [standing.scales[scale].add_prefix(f"{scale}_") for scale in SCALES]
        frames.append(pd.concat([standing.table, *scales], axis=1).assign(group=number))
    together = pd.concat(frames)
    return together[["group", *together.columns.drop("group")]]


def scores_by_group(fit: Fit) -> pd.DataFrame:
    """Consensus scores, of groups that are apart one after the other with the number of each."""
    table = consensus(fit)
    if not (groups := fit.layout.structure.groups):
        return table
    number = {fit.layout.items[i]: k for k, group in enumerate(groups, start=1) for i in group}
    own = np.array([number[str(item)] for item in table.index])
    return table.assign(group=own).iloc[np.argsort(own, kind="stable")]
