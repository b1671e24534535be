"""Groups of judges who differ, found by their traits: recursive partitioning, a tree whose leaves are fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from . import limits
from .data.arrays import check_type, check_whole
from .data.comparisons import Comparisons
from .data.readers import read_comparisons
from .data.traits import is_numeric, judge_traits
from .errors import ComparisonError, IdentificationError, OptionError
from .inference.instability import instability_tests
from .looks import Piece, Shown, Table, Title
from .models import BTLModel
from .results import HJAResults
from .words import counted, number, p_value, quoted, told_p


@dataclass(frozen=True, eq=False)
class Split:
    """How a group of judges is parted.

    Attributes
    ----------
    trait : str
    at : float or None
        The largest value of the first part, for a number.
    labels : tuple of tuple of str
        Labels of both parts, for labels.
    """

    trait: str
    at: float | None
    labels: tuple[tuple[str, ...], tuple[str, ...]]

    def first(self, traits: pd.DataFrame) -> np.ndarray:
        """Which judges belong to the first part."""
        column = traits[self.trait]
        return np.asarray(column <= self.at if self.at is not None else column.astype(str).isin(self.labels[0]))

    @property
    def rules(self) -> tuple[str, str]:
        """Both parts in words."""
        if self.at is not None:
            return f"{self.trait} <= {self.at:.6g}", f"{self.trait} > {self.at:.6g}"
        first, second = (", ".join(part) for part in self.labels)
        return f"{self.trait}: {first}", f"{self.trait}: {second}"


@dataclass(frozen=True, eq=False)
class Node:
    """A group of judges in the tree.

    Attributes
    ----------
    number : int
        Depth first, the root is 1.
    rule : str
        How it differs from its sibling.
    judges : tuple of str
    result : HJAResults
    tests : pandas.DataFrame or None
        Of the traits; None where the judges are too few.
    split : Split or None
    children : tuple of Node
    """

    number: int
    rule: str
    judges: tuple[str, ...]
    result: HJAResults
    tests: pd.DataFrame | None
    split: Split | None = None
    children: tuple[Node, ...] = ()

    def __iter__(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child

    def told(self, depth: int = 0) -> list[str]:
        """Lines of the tree."""
        first = f"{'|   ' * depth}[{self.number}] {self.rule}"
        if self.split is not None and self.tests is not None:
            p = float(self.tests["p_adjusted"][self.split.trait])
            text = f"{first}: {counted(len(self.judges), 'judge')}, parted by {self.split.trait} ({told_p(p)})"
            return [text, *(line for child in self.children for line in child.told(depth + 1))]
        best = ", ".join(self.result.consensus.index[:3])
        return [f"{first}: {counted(len(self.judges), 'judge')}, {best} lead"]


@dataclass(frozen=True, repr=False, eq=False)
class JudgeTree(Shown):
    """What :func:`hjastats.partition` found.

    Attributes
    ----------
    root : Node
        Iterating it gives all nodes, depth first.
    traits : pandas.DataFrame
        Of all judges.
    alpha : float

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import hjastats as hja
    >>> rng = np.random.default_rng(1)
    >>> first, second = rng.permuted(np.tile(list("abc"), (900, 1)), axis=1)[:, :2].T
    >>> likes_a = (first == "a") * 1.0 - (second == "a")                        # experts like a, laymen do not
    >>> judge = np.repeat(np.arange(60), 15)
    >>> chance = 1 / (1 + np.exp(-np.where(judge < 30, 1, -1) * likes_a))
    >>> data = hja.Comparisons.from_arrays(judge, first, second, rng.random(900) < chance)
    >>> kinds = np.where(np.array(data.judges, dtype=int) < 30, "expert", "layman")
    >>> tree = hja.partition(data, pd.DataFrame({"kind": kinds}, index=data.judges))
    >>> tree.rules, tree.consensus.idxmax().to_dict()
    ({2: 'kind: expert', 3: 'kind: layman'}, {2: 'a', 3: 'b'})
    >>> tree.tests["p_adjusted"].round(3).to_dict(), round(tree.llf, 1), tree.df, round(tree.bic, 1)
    ({(1, 'kind'): 0.0, (2, 'kind'): nan, (3, 'kind'): nan}, -546.9, 5.0, 1127.7)
    """

    root: Node
    traits: pd.DataFrame
    alpha: float

    @property
    def leaves(self) -> dict[int, HJAResults]:
        """Fits of the groups, by the number of the node."""
        return {node.number: node.result for node in self.root if not node.children}

    @property
    def rules(self) -> dict[int, str]:
        """Who belongs to each group, by the number of the node."""
        return dict(self._rules(self.root, []))

    def _rules(self, node: Node, so_far: list[str]) -> Iterator[tuple[int, str]]:
        if not node.children:
            yield node.number, " & ".join(so_far) or "all judges"
        for child in node.children:
            yield from self._rules(child, [*so_far, child.rule])

    @property
    def tests(self) -> pd.DataFrame:
        """Tests of all nodes that were tested, under (node, trait)."""
        tables = {node.number: node.tests for node in self.root if node.tests is not None}
        if not tables:
            return pd.DataFrame(columns=["statistic", "df", "kind", "p_value", "p_adjusted"])
        return pd.concat(tables, names=["node", "trait"])

    @property
    def llf(self) -> float:
        """Log-likelihood of all leaves together."""
        return sum(result.llf for result in self.leaves.values())

    @property
    def df(self) -> float:
        """Number of parameters of all leaves, and one for every split."""
        return sum(result.df_model for result in self.leaves.values()) + len(self.leaves) - 1

    @property
    def bic(self) -> float:
        """Schwarz's criterion."""
        return -2.0 * self.llf + float(np.log(self.root.result.nobs)) * self.df

    @property
    def consensus(self) -> pd.DataFrame:
        """Scores of the items, a column for each leaf."""
        return pd.DataFrame({number: result.consensus["estimate"] for number, result in self.leaves.items()})

    def leaf_of(self, traits: Any) -> pd.Series:
        """The leaf that judges belong to by their traits, which need not have been among the data.

        Parameters
        ----------
        traits : pandas.DataFrame
            A row for each judge.
        """
        check_type("traits", traits, pd.DataFrame, "a data frame with a row for each judge")
        if absent := sorted({n.split.trait for n in self.root if n.split is not None} - set(map(str, traits.columns))):
            raise ComparisonError(f"the judges' traits {quoted(absent)} are needed: add those columns.")
        found = pd.Series(0, traits.index, name="leaf")
        places = [(self.root, np.arange(len(traits)))]
        while places:
            node, some = places.pop()
            found.iloc[some] = node.number
            if node.split is not None:
                is_first = node.split.first(traits.iloc[some])
                places += [(node.children[0], some[is_first]), (node.children[1], some[~is_first])]
        return found

    def _shown(self) -> list[Piece]:
        n, leaves = len(self.root.judges), len(self.leaves)
        splits = ", splits among them" if leaves > 1 else ""
        end = f"Log-likelihood {number(self.llf, '.3f')} with {self.df:g} parameters{splits}, BIC {self.bic:,.1f}."
        if leaves == 1 and self.root.tests is None:
            n_free = self.root.result.df_model
            end = (
                f"Nothing was tested: {n} judges are too few for {n_free:g} parameters, or to be parted as asked. {end}"
            )
        elif leaves == 1:
            end = f"No trait of the judges changes the ranking at level {self.alpha:g}. {end}"
        pieces: list[Piece] = [
            Title(f"Tree of {n} judges, {leaves} group{'s' * (leaves > 1)}"),
            *self.root.told(),
            "",
            end,
        ]
        if leaves == 1 and self.root.tests is not None:
            pieces += [
                "",
                Table(self.root.tests, {"df": "{:.0f}".format, "p_value": p_value, "p_adjusted": p_value}, missing="-"),
            ]
        return pieces


def partition(
    data: Any,
    traits: Any = None,
    alpha: float = 0.05,
    min_size: int = 10,
    *,
    max_depth: int | None = None,
    position: str | None = None,
    ties: str = "half",
    items: Any = None,
) -> JudgeTree:
    """Part the judges where their traits change the ranking, and those parts again, until nothing changes.

    In every group a Bradley-Terry-Luce model is fitted, and a score-based test for each trait asks whether its parameters hold
    for all. The trait with the smallest p-value parts the group, if that is below alpha after adjustment for the number of traits,
    where the likelihood of two fits is highest.

    Parameters
    ----------
    data : Comparisons, or anything :func:`read_comparisons` reads
    traits : list of str or pandas.DataFrame, optional
        Which columns of the judges' metadata, or a table with a row for each judge; all of the metadata by default.
    alpha : float
    min_size : int
        Fewest judges of a group.
    max_depth : int, optional
        Most splits from the root to a leaf.
    position, ties, items
        Of the models, as in :class:`hjastats.BTLModel`; all parameters are common to the judges of a group.

    Returns
    -------
    JudgeTree

    Raises
    ------
    ComparisonError
        Without traits, or with missing ones.

    References
    ----------
    Strobl, Wickelmaier and Zeileis (2011); R's psychotree::bttree.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import hjastats as hja
    >>> rng = np.random.default_rng(0)
    >>> ages = rng.integers(18, 70, 120)
    >>> first, second = rng.permuted(np.tile(list("abc"), (1200, 1)), axis=1)[:, :2].T
    >>> judge = np.repeat(np.arange(120), 10)
    >>> taste = {"a": 1.0, "b": 0.0, "c": -1.0}                                    # which turns round at forty
    >>> odds = np.array([taste[i] - taste[j] for i, j in zip(first, second)]) * np.where(ages[judge] <= 40, 1, -1)
    >>> data = hja.Comparisons.from_arrays(judge, first, second, rng.random(1200) < 1 / (1 + np.exp(-odds)))
    >>> tree = hja.partition(data, pd.DataFrame({"age": ages, "coin": rng.choice(["heads", "tails"], 120)}))
    >>> tree
    Tree of 120 judges, 2 groups
    [1] all judges: 120 judges, parted by age (p = 4.3e-45)
    |   [2] age <= 39: 50 judges, a, b, c lead
    |   [3] age > 39: 70 judges, c, b, a lead
    <BLANKLINE>
    Log-likelihood -597.091 with 5 parameters, splits among them, BIC 1,229.6.
    >>> tree.leaf_of(pd.DataFrame({"age": [21, 66]}, index=["ann", "bob"])).to_dict(), tree.leaves[3].consensus.index[0]
    ({'ann': 2, 'bob': 3}, 'c')
    """
    data = data if isinstance(data, Comparisons) else read_comparisons(data)
    if not isinstance(alpha, float | int) or isinstance(alpha, bool) or not 0.0 < alpha < 1.0:
        raise OptionError(f"alpha must lie between 0 and 1, got {alpha!r}.")
    check_whole("min_size", min_size, 1)
    known = judge_traits(data, traits)
    options = {"position": position, "ties": ties, "items": items}
    grower = _Grower(data, known, alpha, min_size, np.inf if max_depth is None else max_depth, options)
    return JudgeTree(grower.grow(np.ones(data.n_judges, dtype=bool), "all judges", 0), known, float(alpha))


@dataclass
class _Grower:
    """Grows a tree, depth first."""

    data: Comparisons
    traits: pd.DataFrame
    alpha: float
    min_size: int
    max_depth: float
    options: dict[str, Any]
    n_nodes: int = 0

    def grow(self, member: np.ndarray, rule: str, depth: int) -> Node:
        """The node of some judges, with all below it."""
        self.n_nodes += 1
        place, judges = self.n_nodes, tuple(np.asarray(self.data.judges, dtype=object)[member])
        result = self._fit(member)
        if result is None:
            raise IdentificationError(f"the verdicts of {quoted(judges)} do not determine a ranking of their own.")
        leaf = Node(place, rule, judges, result, None)
        if len(judges) < 2 * self.min_size or depth >= self.max_depth:
            return leaf
        traits = self.traits[member]
        try:
            tests = instability_tests(result.fit, traits, self.min_size)
        except IdentificationError:
            return leaf
        node = Node(place, rule, judges, result, tests)
        p = tests["p_adjusted"].dropna()
        if not len(p) or p.min() >= self.alpha:
            return node
        split = self._best_split(member, str(p.idxmin()))
        if split is None:
            return node
        is_first = member.copy()
        is_first[member] = split.first(traits)
        parts = (is_first, member & ~is_first)
        children = tuple(self.grow(part, rule, depth + 1) for part, rule in zip(parts, split.rules, strict=True))
        return Node(place, rule, judges, result, tests, split, children)

    def _best_split(self, member: np.ndarray, trait: str) -> Split | None:
        """Where a trait parts the judges with the largest likelihood of both fits."""
        best, best_value = None, -np.inf
        for split in _candidates(self.traits[trait][member], trait):
            is_first = member.copy()
            is_first[member] = split.first(self.traits[member])
            parts = (is_first, member & ~is_first)
            if min(part.sum() for part in parts) < self.min_size:
                continue
            fits = [self._fit(part) for part in parts]
            if None in fits:
                continue
            value = sum(fit.llf for fit in fits if fit is not None)
            if value > best_value:
                best, best_value = split, value
        return best

    def _fit(self, member: np.ndarray) -> HJAResults | None:
        """The model of some judges; None if their verdicts do not link the items."""
        some = self.data.subset(member[self.data.judge_index])
        if some.n_items < self.data.n_items:
            return None
        try:
            return BTLModel.from_comparisons(some, **self.options).fit(warn_convergence=False)
        except IdentificationError:
            return None


def _candidates(column: pd.Series, trait: str) -> Iterator[Split]:
    """All ways to part judges by a trait."""
    if is_numeric(column):
        values = np.unique(column.to_numpy(float))
        yield from (Split(trait, float(value), ((), ())) for value in values[:-1])
        return
    labels = sorted(column.unique())
    if len(labels) > limits.PARTED_LABELS:
        raise OptionError(
            f"{trait!r} has {len(labels)} labels, too many to part in all ways: join some, or leave it out."
        )
    rest = labels[1:]
    for size in range(len(rest)):
        for with_first in combinations(rest, size):
            first = (labels[0], *with_first)
            yield Split(trait, None, (first, tuple(label for label in labels if label not in first)))
