"""The table of verdicts in the one form the rest of the package works with."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from .. import limits
from ..errors import ComparisonError
from ..looks import Facts, Piece, Shown, Title
from ..words import counted, percent, quoted, wrapped
from .cells import Cells, collapse
from .grades import number_of_grades, preferred
from .graph import Connectivity
from .labels import (
    Labels,
    Pairs,
    TableRows,
    check_index,
    code_columns,
    coded_pairs,
    common_index,
    numbers,
    present_labels,
    weights,
)
from .metadata import aligned_metadata, restricted_metadata
from .shares import Spread, check_outcomes, spread

Numbers: TypeAlias = "Sequence[float] | np.ndarray | pd.Series[Any]"
# Made once: they would take a third of the time of fitting a small BTL model.
_NO_COLUMNS = pd.DataFrame()
_NOTHING_DROPPED = pd.DataFrame({"judge": [], "label": [], "count": []}).astype({"count": int})


@dataclass(frozen=True, repr=False, eq=False)
class Comparisons(Shown):
    """Pairwise verdicts of several judges, coded and checked.

    One row is one verdict (or ``weight`` identical ones): a judge saw ``first`` and ``second``, in this order, and
    preferred the first with strength ``outcome``: 1 a win of the first item, 0 of the second, 1/2 a tie, anything
    between a soft preference. Build it with :func:`hjastats.read_comparisons` or :meth:`from_arrays`.

    Attributes
    ----------
    judge_index, first_index, second_index : ndarray of int, shape (n_rows,)
        Codes into ``judges`` and ``items``.
    outcome : ndarray, shape (n_rows,)
    weight : ndarray, shape (n_rows,)
        Frequencies: a row of weight 3 is three comparisons. Where some are no whole numbers they are importance weights, which
        need standard errors of their own (``groups="row"``).
    judges, items : tuple of str
        Labels in sorted order.
    columns : pandas.DataFrame
        Further columns of the table, aligned with the rows (a prompt id, response lengths).
    dropped : pandas.DataFrame
        Verdicts left out when reading: columns judge, label, count.
    judge_metadata, item_metadata : pandas.DataFrame or None
        What is known about judges and items (family, provider, size), one row per label; see :meth:`with_metadata`.
    row_labels : pandas.Index or None
        How the user's table labels the rows, None where it counts them 0, 1, ...
    n_empty : int
        Rows that were left out when reading since they count no verdict: of weight zero, or without wins, losses and ties.
    has_order : bool
        Whether ``first`` was shown first. Tables of winners and losers, ratings and rankings do not say what was.
    cluster : column name or None
        The column of ``columns`` whose rows were judged together, such as the ranking they were made of, when the format says so.
    made_of : str
        What the rows were made of, where they are not those of the table.
    collapsed : tuple of str
        Labels of different strength that were read as one verdict, such as ``A>>B`` and ``A>B``.
    doubts : tuple of str
        What was doubtful when reading, in sentences.
    asked_in, asked_with : column name or None
        The columns of ``columns`` that say in which round, or with which chance, a row was asked.
    unlinked : tuple of str
        Items that were left out since no comparisons link them with the others.
    n_unlinked : float
        Comparisons that were left out with them.

    Examples
    --------
    >>> data = Comparisons.from_arrays(["j1", "j1", "j2"], ["a", "b", "a"], ["b", "c", "c"], [1, 0.5, 0])
    >>> data
    Comparisons: 3 comparisons of 3 items by 2 judges (1 tie)
      judges      'j1', 'j2'
      items       'a', 'b', 'c'
      per judge   1 to 2 comparisons (median 1.5)
      first item preferred in 50.0% of the decided comparisons
    >>> data.n_judges, data.n_items, data.n_rows, data.n_comparisons
    (2, 3, 3, 3.0)
    """

    judge_index: np.ndarray
    first_index: np.ndarray
    second_index: np.ndarray
    outcome: np.ndarray
    weight: np.ndarray
    judges: tuple[str, ...]
    items: tuple[str, ...]
    columns: pd.DataFrame
    dropped: pd.DataFrame
    judge_metadata: pd.DataFrame | None = None
    item_metadata: pd.DataFrame | None = None
    row_labels: pd.Index | None = None
    n_empty: int = 0
    has_order: bool = True
    cluster: Hashable | None = None
    made_of: str = ""
    collapsed: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    asked_in: Hashable | None = None
    asked_with: Hashable | None = None
    unlinked: tuple[str, ...] = ()
    n_unlinked: float = 0.0

    @classmethod
    def from_arrays(
        cls,
        judge: Labels | str,
        first: Labels,
        second: Labels,
        outcome: Numbers,
        weight: Numbers | None = None,
        *,
        counts: bool | None = None,
        columns: pd.DataFrame | None = None,
        dropped: pd.DataFrame | None = None,
    ) -> Comparisons:
        """Code and check one array per field; labels are compared as text and sorted.

        A text in place of the judges is the only judge. Rows of weight zero are left out.

        Parameters
        ----------
        counts : bool, optional
            Whether an outcome between 0 and 1 is the share of wins among ``weight`` comparisons, which become a row of wins and
            one of losses, or (False) a soft preference that was given so many times. Needed where both are possible.

        Raises
        ------
        ComparisonError
            For arrays of different length or index, missing labels, an item compared with itself, outcomes outside [0, 1],
            weights that are negative or not finite, shares with weights that ``counts`` does not explain, or fewer than two items.

        Examples
        --------
        >>> data = Comparisons.from_arrays(["j1", "j2"], ["a", "a"], ["b", "c"], [1, 0.5])
        >>> data.items
        ('a', 'b', 'c')
        >>> shares = Comparisons.from_arrays("j1", ["a", "a"], ["b", "c"], [0.6, 0.25], [90, 8], counts=True)
        >>> shares.to_frame()
          judge first second  outcome  weight
        0    j1     a      b      1.0    54.0
        1    j1     a      b      0.0    36.0
        2    j1     a      c      1.0     2.0
        3    j1     a      c      0.0     6.0
        """
        n_rows = len(outcome)
        for name, values in (("judge", judge), ("first", first), ("second", second), ("weight", weight)):
            if isinstance(values, str):
                if name == "judge":
                    continue
                raise ComparisonError(f"{name} is the text {values!r}: pass one value per comparison.")
            if values is not None and len(values) != n_rows:
                raise ComparisonError(
                    f"{name} has length {len(values)} but outcome has length {n_rows}: pass one value per comparison."
                )
        if n_rows == 0:
            raise ComparisonError(
                "there are no comparisons: expected at least one row with a judge, two items and an outcome."
            )
        if columns is not None and len(columns) != n_rows:
            raise ComparisonError(f"columns has {len(columns)} rows but outcome has {n_rows}: pass one per comparison.")
        given = {"outcome": outcome, "judge": judge, "first": first, "second": second, "weight": weight}
        index = common_index(given)
        rows = TableRows()
        labels = [first, second] if isinstance(judge, str) else [first, second, judge]
        first_code, second_code, *judge_code = code_columns(labels)
        pairs = coded_pairs(judge if isinstance(judge, str) else judge_code[0], first_code, second_code, rows)
        outcome, weight = numbers("outcome", outcome), weights(weight, n_rows, rows)
        check_outcomes(outcome, weight, rows)
        data = checked_comparisons(pairs, outcome, weight, columns, dropped, index)
        return divided(data, spread(outcome, weight, counts, rows), rows)

    @property
    def n_judges(self) -> int:
        """Number of judges."""
        return len(self.judges)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        return len(self.outcome)

    @cached_property
    def n_comparisons(self) -> float:
        """Number of comparisons: the sum of the weights."""
        return float(self.weight.sum())

    @cached_property
    def has_whole_weights(self) -> bool:
        """Whether weights can be frequencies; otherwise they are importance weights.

        Examples
        --------
        >>> Comparisons.from_arrays("j", ["a", "b"], ["b", "c"], [1, 0], [2.5, 1]).has_whole_weights
        False
        """
        # Compared with rounded ones: a remainder takes ten times as long.
        return bool((np.rint(self.weight) == self.weight).all())

    @cached_property
    def row_cells(self) -> Cells:
        """A cell for every row, without terms."""
        return Cells(
            self.judge_index,
            self.first_index,
            self.second_index,
            self.weight,
            self.weight * self.outcome,
            self.n_judges,
            self.n_items,
        )

    @cached_property
    def cells(self) -> Cells:
        """Counts per (judge, item, item), presentation order ignored."""
        return collapse(self.row_cells)

    @cached_property
    def ordered_cells(self) -> Cells:
        """Counts per (judge, first item, second item)."""
        return collapse(replace(self.row_cells, judge_terms=np.ones((self.n_rows, 1))))

    @cached_property
    def connectivity(self) -> Connectivity:
        """Which items are linked by whose comparisons; see :class:`hjastats.data.graph.Connectivity`.

        Examples
        --------
        >>> data = Comparisons.from_arrays(["j", "j"], ["a", "x"], ["b", "y"], [1, 0])
        >>> data.connectivity.is_connected, data.connectivity.pooled_groups
        (False, (('a', 'b'), ('x', 'y')))
        """
        return Connectivity(self.cells, self.judges, self.items)

    def first_share(self) -> pd.DataFrame:
        """How often each judge preferred the item shown first.

        Returns
        -------
        pandas.DataFrame
            Index judge; columns comparisons, ties, first_share (ties counting one half, however strong the others are).

        Examples
        --------
        >>> import hjastats as hja
        >>> data = hja.datasets.load_panel()
        >>> data.first_share().loc[["judge-first"]]
                     comparisons  ties  first_share
        judge
        judge-first        400.0   0.0       0.8725
        """
        count = np.bincount(self.judge_index, self.weight, minlength=self.n_judges)
        first = np.bincount(self.judge_index, self.weight * preferred(self.outcome), minlength=self.n_judges)
        ties = np.bincount(self.judge_index, self.weight * (self.outcome == 0.5), minlength=self.n_judges)
        return pd.DataFrame(
            {"comparisons": count, "ties": ties, "first_share": first / count},
            index=pd.Index(self.judges, name="judge"),
        )

    def with_metadata(self, judges: Any = None, items: Any = None) -> Comparisons:
        """Add what is known about judges and items.

        Parameters
        ----------
        judges, items : pandas.DataFrame or pandas.Series, optional
            One row per label, in the index or in a column called judge or item. Rows of other labels are left out; what is not
            given stays as it was.

        Raises
        ------
        ComparisonError
            For labels without a row, or with several.

        Examples
        --------
        >>> data = Comparisons.from_arrays(["j1", "j2"], ["a", "a"], ["b", "b"], [1, 0])
        >>> known = data.with_metadata(judges=pd.DataFrame({"family": ["x", "y"]}, index=["j1", "j2"]))
        >>> known.without_judges("j1").judge_metadata["family"].tolist()
        ['y']
        """
        return replace(
            self,
            judge_metadata=self.judge_metadata if judges is None else aligned_metadata(judges, "judge", self.judges),
            item_metadata=self.item_metadata if items is None else aligned_metadata(items, "item", self.items),
        )

    def with_outcome(self, outcome: Any) -> Comparisons:
        """The comparisons with other verdicts; themselves if these are the same.

        Raises
        ------
        ComparisonError
            For another number of them, or numbers outside 0 to 1.

        Examples
        --------
        >>> Comparisons.from_arrays("j", ["a", "b"], ["b", "c"], [1, 0]).with_outcome([0, 1]).outcome
        array([0., 1.])
        """
        try:
            values = np.array(outcome, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise ComparisonError(f"outcomes must be numbers from 0 to 1, got {type(outcome).__name__}.") from None
        if values.shape != self.outcome.shape:
            raise ComparisonError(f"there are {values.size} outcomes for {self.n_rows} comparisons: pass one for each.")
        if np.array_equal(values, self.outcome):
            return self
        check_outcomes(values, self.weight, TableRows())
        return replace(self, outcome=_fixed(values), collapsed=())

    def _with_metadata_of(self, other: Comparisons) -> Comparisons:
        return replace(
            self,
            judge_metadata=restricted_metadata(other.judge_metadata, "judge", self.judges),
            item_metadata=restricted_metadata(other.item_metadata, "item", self.items),
        )

    def subset(self, rows: np.ndarray) -> Comparisons:
        """The comparisons selected by a boolean mask or positions; judges and items that vanish lose their label.

        Examples
        --------
        >>> data = Comparisons.from_arrays(["j1", "j2", "j2"], ["a", "b", "a"], ["b", "c", "c"], [1, 0, 0])
        >>> data.subset(data.judge_index == 1).judges
        ('j2',)
        """
        try:
            mask, rows = rows, np.asarray(rows)
        except ValueError:
            raise ComparisonError("expected a mask, or positions of rows as whole numbers.") from None
        if rows.dtype == bool and rows.ndim == 1:
            check_rows("the mask", mask, self)
            if len(rows) != self.n_rows:
                raise ComparisonError(
                    f"the mask has {len(rows)} values for {self.n_rows} comparisons: pass one for each."
                )
            rows = np.flatnonzero(rows)
        if rows.ndim != 1 or rows.dtype.kind not in "iu":
            # An empty list has the type of a number.
            if rows.shape != (0,):
                raise ComparisonError("expected a mask, or positions of rows as whole numbers.")
        elif (np.abs(rows) > self.n_rows - (rows >= 0)).any():
            raise ComparisonError(f"there are {self.n_rows} rows: positions lie between 0 and {self.n_rows - 1}.")
        rows = rows.astype(int)
        if not rows.size:
            raise ComparisonError("there are no comparisons left: the mask or the positions select none.")
        (judge_index,), judges = present_labels([self.judge_index[rows]], self.judges)
        (first_index, second_index), items = present_labels(
            [self.first_index[rows], self.second_index[rows]], self.items
        )
        vanished = set(self.judges) - set(judges)
        return replace(
            self,
            judge_index=_fixed(judge_index),
            first_index=_fixed(first_index),
            second_index=_fixed(second_index),
            outcome=_fixed(self.outcome[rows]),
            weight=_fixed(self.weight[rows]),
            judges=judges,
            items=items,
            columns=self.columns.iloc[rows].reset_index(drop=True),
            dropped=self.dropped[~self.dropped["judge"].isin(vanished)].reset_index(drop=True),
            row_labels=None if self.row_labels is None else self.row_labels[rows],
        )._with_metadata_of(self)

    def pool_rare_judges(self, minimum: float = 30, label: str = "others") -> Comparisons:
        """Let judges with few comparisons speak with one voice.

        Parameters
        ----------
        minimum : float
            Judges with fewer comparisons are pooled.
        label : str
            The name of the pooled judge.

        Examples
        --------
        >>> data = Comparisons.from_arrays(["j1"] * 2 + ["j2", "j3"], list("abab"), list("baba"), [1, 0, 1, 0])
        >>> data.pool_rare_judges(2).judges
        ('j1', 'others')
        """
        is_number = isinstance(minimum, int | float | np.number) and abs(minimum) <= limits.LARGEST_AMOUNT
        if not isinstance(label, str) or not is_number:
            raise ComparisonError(f"expected a number of comparisons and a name, got {minimum!r} and {label!r}.")
        if label in self.judges:
            raise ComparisonError(f"a judge is called {label!r} already: choose another label.")
        count = np.bincount(self.judge_index, self.weight, minlength=self.n_judges)
        names = np.where(count < minimum, label, np.asarray(self.judges, dtype=object))
        pooled = Comparisons.from_arrays(
            names[self.judge_index],
            pd.Categorical.from_codes(self.first_index, pd.Index(self.items)),
            pd.Categorical.from_codes(self.second_index, pd.Index(self.items)),
            self.outcome,
            self.weight,
            counts=False,
            columns=self.columns,
            dropped=self.dropped,
        )
        kept = (
            "row_labels",
            "n_empty",
            "has_order",
            "cluster",
            "made_of",
            "collapsed",
            "doubts",
            "asked_in",
            "asked_with",
            "unlinked",
            "n_unlinked",
        )
        return replace(pooled, **{name: getattr(self, name) for name in kept})._with_metadata_of(self)

    def without_judges(self, judges: Iterable[str]) -> Comparisons:
        """Leave out judges by name.

        Examples
        --------
        >>> import hjastats as hja
        >>> data = hja.datasets.load_panel()
        >>> data.without_judges(["judge-first", "judge-noise"]).n_judges
        6
        """
        return self.subset(~np.isin(self.judge_index, _places(judges, self.judges, "judge")))

    def without_items(self, items: Iterable[str]) -> Comparisons:
        """Leave out items by name, and the comparisons with them.

        Examples
        --------
        >>> import hjastats as hja
        >>> data = hja.datasets.load_panel()
        >>> data.without_items(["model-A", "model-B"]).n_items
        8
        """
        unwanted = _places(items, self.items, "item")
        return self.subset(~(np.isin(self.first_index, unwanted) | np.isin(self.second_index, unwanted)))

    def to_frame(self) -> pd.DataFrame:
        """The table with labels: judge, first, second, outcome, weight, and the further columns not called like these.

        Examples
        --------
        >>> import hjastats as hja
        >>> data = hja.datasets.load_panel()
        >>> data.to_frame().head(2)
                 judge    first   second  outcome  weight
        0      judge-5  model-I  model-D      1.0     1.0
        1  judge-first  model-H  model-B      1.0     1.0
        """
        labels = pd.DataFrame(
            {
                "judge": np.asarray(self.judges, dtype=object)[self.judge_index],
                "first": np.asarray(self.items, dtype=object)[self.first_index],
                "second": np.asarray(self.items, dtype=object)[self.second_index],
                "outcome": self.outcome,
                "weight": self.weight,
            }
        )
        return pd.concat([labels, self.columns.drop(columns=labels.columns, errors="ignore")], axis=1)

    def __len__(self) -> int:
        return self.n_rows

    def _shown(self) -> list[Piece]:
        ties = float(self.weight[self.outcome == 0.5].sum())
        soft = int((self.outcome != preferred(self.outcome)).sum())
        per_judge = np.bincount(self.judge_index, self.weight, minlength=self.n_judges)
        remarks = [counted(ties, "tie") if ties else "no ties"]
        if soft:
            n_grades = number_of_grades(self.outcome)
            remarks.append(f"{n_grades} grades" if n_grades > 3 else f"{soft:,} soft preferences")
        title = (
            f"Comparisons: {self.n_comparisons:,.0f} comparisons of {self.n_items} items by "
            f"{counted(self.n_judges, 'judge')} ({', '.join(remarks)})"
        )
        decided = self.n_comparisons - ties
        first = percent(self.weight[self.outcome > 0.5].sum() / decided) if decided else "none"
        among = "decided comparisons" if ties else "comparisons"
        told = [
            ("judges", quoted(self.judges)),
            ("items", quoted(self.items)),
            (
                "per judge",
                f"{per_judge.min():,.0f} to {per_judge.max():,.0f} comparisons (median {np.median(per_judge):,.6g})",
            ),
            ("first item", f"preferred in {first} of the {among}")
            if self.has_order
            else ("order", "not known: nothing can be said of position effects"),
        ]
        if self.made_of:
            told.append(("made of", self.made_of))
        if self.collapsed:
            told.append(("strength", f"set aside: {quoted(self.collapsed)} differ in it"))
        if self.cluster is not None:
            told.append(("clusters", f"{self.columns[self.cluster].nunique():,} by {self.cluster!r}"))
        if self.asked_in is not None:
            told.append(("asked in", f"{counted(self.columns[self.asked_in].nunique(), 'round')} by {self.asked_in!r}"))
        if self.asked_with is not None:
            told.append(("asked with", f"chances in {self.asked_with!r}"))
        if not self.has_whole_weights:
            told.append(("weights", "no whole numbers: importance, not frequencies"))
        if not self.columns.empty:
            told.append(("columns", quoted(self.columns.columns)))
        for role, known in (("judges", self.judge_metadata), ("items", self.item_metadata)):
            if known is not None:
                told.append(("metadata", f"of {role}: {quoted(known.columns)}"))
        if len(self.dropped):
            worst = self.dropped.groupby("judge")["count"].sum().sort_values(ascending=False)
            listed = ", ".join(f"'{name}' {count}" for name, count in worst.head(3).items())
            more = f" and {counted(len(worst) - 3, 'more judge')}" if len(worst) > 3 else ""
            labels, total = quoted(self.dropped["label"].unique()), int(worst.sum())
            told.append(("dropped", f"{counted(total, 'verdict')} labelled {labels}: {listed}{more}"))
        if self.n_empty:
            left_out = f"{counted(self.n_empty, 'row')} without a verdict: of weight 0, or counting none"
            told.append(("left out", left_out))
        return [Title("\n".join(wrapped(title, 100, indent=14))), Facts(told, width=12)]


def checked_comparisons(
    pairs: Pairs,
    outcome: np.ndarray,
    weight: np.ndarray,
    columns: pd.DataFrame | None = None,
    dropped: pd.DataFrame | None = None,
    row_labels: pd.Index | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Comparisons:
    """Put together what has been coded and checked; columns and dropped verdicts are none if not given, ``facts`` are fields."""
    return Comparisons(
        _fixed(pairs.judge_index),
        _fixed(pairs.first_index),
        _fixed(pairs.second_index),
        _fixed(outcome),
        _fixed(weight),
        pairs.judges,
        pairs.items,
        _NO_COLUMNS.set_axis(pd.RangeIndex(len(outcome))) if columns is None else columns.reset_index(drop=True),
        _NOTHING_DROPPED.copy(deep=False) if dropped is None else dropped,
        row_labels=None if row_labels is None or row_labels.equals(pd.RangeIndex(len(outcome))) else row_labels,
        **{"doubts": pairs.doubts, **(facts or {})},
    )


def _fixed(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def divided(data: Comparisons, into: Spread | None, rows: TableRows) -> Comparisons:
    """The comparisons with other rows in place of their own; unchanged for None."""
    if into is None:
        return data
    n_empty = rows.number(data.weight == 0)
    # Rows that were split have no label of their own.
    is_split = data.row_labels is not None and not np.diff(into.index).all()
    data = replace(data, row_labels=None) if is_split else data
    return replace(data.subset(into.index), outcome=_fixed(into.outcome), weight=_fixed(into.weight), n_empty=n_empty)


def check_rows(name: str, values: Any, data: Comparisons) -> None:
    """Refuse a Series or frame that does not label the rows as the user's table or, counting them, ``data.columns`` does.

    Raises
    ------
    ComparisonError
    """
    if not isinstance(values, pd.Series | pd.DataFrame):
        return
    counted, own = pd.RangeIndex(data.n_rows), data.row_labels
    if own is None or (values.index.equals(counted) and not counted.isin(own).all()):
        own = counted
    # Where the table has the same numbers in another order, who counts the rows may mean either.
    check_index(name, values, own, "the data")


def _places(names: Any, known: tuple[str, ...], what: str) -> list[int]:
    """Where one name, or several, stand among those there are.

    Raises
    ------
    ComparisonError
    """
    try:
        wanted = [names] if isinstance(names, str) else [str(name) for name in names]
    except TypeError:
        raise ComparisonError(f"{what}s must be names, got {type(names).__name__}.") from None
    if unknown := sorted(set(wanted) - set(known)):
        raise ComparisonError(f"no {what} is called {quoted(unknown)}; the {what}s are {quoted(known, 10)}.")
    return [known.index(name) for name in wanted]
