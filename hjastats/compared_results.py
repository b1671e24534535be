"""Two results compared item by item: whether anyone really moved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from . import limits
from .data.arrays import check_type
from .diagnostics.adjusted import holm
from .errors import OptionError
from .fitted import Fit
from .inference.clusters import Clusters
from .inference.covariances import influence
from .inference.group_tests import LEVEL
from .inference.moves import Moves, moves
from .looks import Piece, Shown, Table
from .results import HJAResults
from .words import counted, p_value, quoted, told_p


@dataclass(frozen=True, repr=False)
class RankingMoves(Shown):
    """Two rankings item by item.

    Attributes
    ----------
    table : pandas.DataFrame
        Index item, the clearest difference first: old_place, new_place, old_score, new_score, difference, std_err, z, p_value and
        p_holm.
    statistic, df, p_value : float
        Of the test that no item moved.
    paired_by : str
        What both have in common; empty where they are taken to be independent.
    only_old, only_new : list of str
        Items of one of them, which are not compared.
    without : pandas.Series
        For each item the p-value of the test that the *others* did not move against each other.
    apart_p_value : float
        Of the test that no item moved but for a change of the scale of all scores.
    scale : float
        Of the new scores in the old ones, if that is all that changed.
    unlike : str
        What makes the scales differ: judges, models, or both; empty where nothing does.
    """

    table: pd.DataFrame
    statistic: float
    df: int
    p_value: float
    paired_by: str
    only_old: list[str]
    only_new: list[str]
    without: pd.Series
    apart_p_value: float = np.nan
    scale: float = np.nan
    unlike: str = ""

    @property
    def moved(self) -> list[str]:
        """Items that moved beyond chance, the clearest first."""
        return list(self.table.index[self.table["p_holm"] < LEVEL])

    @property
    def sentences(self) -> list[str]:
        """It in words."""
        joint = f"Wald statistic {self.statistic:.1f} for {self.df} differences, {told_p(self.p_value)}"
        shifted = int((self.table["old_place"] != self.table["new_place"]).sum())
        where = f"{shifted} of {len(self.table)} items change their place"
        if not shifted:
            where = "No item changes its place"
        if not shifted and not self.moved and self.p_value >= LEVEL:
            told = f"{where}, and nobody is seen to have moved ({joint})."
        elif self._is_scale_alone:
            told = (
                f"{where}; the scores differ ({joint} that none did), and are seen to do so in their scale alone: the new ones are "
                f"{self.scale:.2f} times the old ones (but for that {told_p(self.apart_p_value)})."
            )
        elif self.moved:
            told = f"{where}; beyond chance moved {quoted(self.moved, limits.NAMED_MOVERS)} ({joint} that none did)."
        elif self.p_value < LEVEL:
            told = f"{where}; something moved ({joint}), but no single item did so clearly."
        else:
            told = f"{where}, but nobody is seen to have moved ({joint})."
        how = (
            f"Both share {self.paired_by}, which is counted."
            if self.paired_by
            else "The two are taken to be independent."
        )
        rest = [
            f"Only in the {which}: {quoted(items)}."
            for which, items in (("old", self.only_old), ("new", self.only_new))
            if items
        ]
        scale = [
            f"The two differ in their {self.unlike}, and with these in the scale of the scores: apart from a change of scale "
            + ("something moved" if self.apart_p_value < LEVEL else "nobody is seen to have moved")
            + f" ({told_p(self.apart_p_value)})."
        ]
        return [told, *self._relative(), *(scale if self.unlike else []), how, *rest]

    @property
    def _is_scale_alone(self) -> bool:
        """Whether scores differ by a factor, and are not seen to differ otherwise."""
        return len(self.table) > 2 and not self.unlike and self.p_value < LEVEL <= self.apart_p_value

    def _relative(self) -> list[str]:
        """Of scores about their mean all others rise where one falls."""
        if len(self.moved) < 2 or self._is_scale_alone:
            return []
        told = "Scores are relative to the mean of the items: where one falls, the others rise"
        alone, p = str(self.without.idxmax()), float(self.without.max())
        if len(self.table) == 2 or p < LEVEL:
            return [f"{told}; differences of two items are free of that."]
        return [
            f"{told}. {alone!r} alone can explain it: the others are not seen to move against each other ({told_p(p)})."
        ]

    def _shown(self) -> list[Piece]:
        shown = self.table.head(limits.PRINTED_ITEMS)
        return [
            Table(
                shown, {"p_value": p_value, "p_holm": p_value}, "{:.2f}".format, spare=["z", "old_score", "new_score"]
            ),
            *self.sentences,
        ]


def compare_rankings(
    old: HJAResults, new: HJAResults, *, prompt: str | None = None, paired: bool | None = None
) -> RankingMoves:
    """Compare two results item by item: did anyone really move?

    Scores are relative to the mean of the items that both have.

    Parameters
    ----------
    old, new : HJAResults
    prompt : str, optional
        Column of prompts that both have in common; by default as :func:`swap_report` finds it.
    paired : bool, optional
        Whether to count that the two share prompts, or rows. By default they are counted if the data show them.

    Examples
    --------
    >>> import numpy as np
    >>> import hjastats as hja
    >>> data = hja.datasets.load_panel()
    >>> first, second = (hja.JAModel.from_comparisons(data.subset(np.arange(3200) % 2 == half)).fit() for half in (0, 1))
    >>> hja.compare_rankings(first, second).moved
    []
    """
    for name, result in (("old", old), ("new", new)):
        check_type(name, result, HJAResults, "a result")
    items = [item for item in old.model.items if item in new.model.items]
    if len(items) < 2:
        raise OptionError(f"the two results have {counted(len(items), 'item')} in common: expected at least two.")
    ways = None if paired is False else _in_common(old, new, prompt)
    if paired and ways is None:
        raise OptionError("paired=True needs prompts, or rows, that both results have: these have none in common.")
    sides = [_on_items(result.fit, items) for result in (old, new)]
    between = None
    if ways is not None:
        moved = [
            influence(result.fit, result.model.observations, own, rows)
            for result, own, (_, _, rows) in zip((old, new), ways[:2], sides, strict=True)
        ]
        between = moved[0].T @ moved[1]
    counts = [result.fit.choice.facts.get("n_groups", np.inf) - 1.0 for result in (old, new)]
    found = moves(
        sides[0][0], sides[1][0], sides[0][1], sides[1][1], between, df=sum(counts) if ways is None else min(counts)
    )
    table = _moves_table(items, sides[0][0], sides[1][0], found)
    only = [sorted(set(a.model.items) - set(b.model.items)) for a, b in ((old, new), (new, old))]
    told = {
        "judges": set(old.model.judges) != set(new.model.judges),
        "models": old.fit.layout.structure.name != new.fit.layout.structure.name,
    }
    unlike = " and ".join(name for name, differ in told.items() if differ)
    paired_by = "" if ways is None else ways[2]
    return RankingMoves(
        table,
        found.statistic,
        found.df,
        found.joint_p_value,
        paired_by,
        only_old=only[0],
        only_new=only[1],
        without=pd.Series(found.without, pd.Index(items, name="item")),
        apart_p_value=found.apart_p_value,
        scale=found.scale,
        unlike=unlike,
    )


def _on_items(fit: Fit, items: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores of some items about their mean, their covariance and their Jacobian."""
    chosen = np.zeros((len(items), len(fit.layout.items)))
    chosen[np.arange(len(items)), [fit.layout.items.index(item) for item in items]] = 1.0
    chosen -= chosen.mean(axis=0)
    rows = fit.consensus_rows(chosen)
    return chosen @ fit.parts.mu, fit.covariance.of(rows), rows


def _moves_table(items: list[str], old: np.ndarray, new: np.ndarray, found: Moves) -> pd.DataFrame:
    table = pd.DataFrame({"old_score": old, "new_score": new}, pd.Index(items, name="item"))
    places = table.rank(ascending=False, method="first").astype(int)
    table.insert(0, "old_place", places["old_score"])
    table.insert(1, "new_place", places["new_score"])
    table["difference"], table["std_err"], table["z"] = found.difference, found.std_err, found.z
    table["p_value"], table["p_holm"] = found.p_value, holm(found.p_value)
    return table.sort_values("p_value", kind="stable")


def _in_common(one: HJAResults, other: HJAResults, prompt: str | None) -> tuple[Clusters, Clusters, str] | None:
    """Clusters of the two, numbered alike, and what they are; None if they share nothing that can be seen.

    What a prompt contributes to a population, or to anchored scores, is not known.
    """
    old, new = one.model.comparisons, other.model.comparisons
    if old is None or new is None or {type(one.fit), type(other.fit)} != {Fit}:
        return None
    ways = [Clusters.of_prompts(data, prompt) for data in (old, new)]
    if all(
        way is not None and way.name is not None and way.name in data.columns
        for way, data in zip(ways, (old, new), strict=True)
    ):
        labels = [
            data.columns[way.name].astype(str) for way, data in zip(ways, (old, new), strict=True) if way is not None
        ]
        shared = set(labels[0]) & set(labels[1])
        if not shared:
            return None
        code = pd.factorize(pd.concat(labels))[0]
        parts = np.split(code, [old.n_rows])
        n = int(code.max()) + 1
        return Clusters(parts[0], n), Clusters(parts[1], n), counted(len(shared), "prompt")
    keys = ("judge_index", "first_index", "second_index")
    is_same = old.n_rows == new.n_rows and old.judges == new.judges and old.items == new.items
    if is_same and all(np.array_equal(getattr(old, key), getattr(new, key)) for key in keys):
        rows = Clusters(np.arange(old.n_rows), old.n_rows)
        return rows, rows, "all rows"
    return None
