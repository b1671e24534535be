"""What items and judges are, and what was compared, as columns of numbers: formulas over metadata and over columns of the data."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd

from ..errors import ComparisonError, Hint, OptionError
from ..words import mentions, quoted
from .comparisons import Comparisons
from .formulas import SAFE_FUNCTIONS, SAFE_NAMES, CovariateFormula, Names, check_formula
from .metadata import aligned_metadata

# Of columns of zeros and ones nothing is left but rounding if they do not vary.
_CONSTANT = 1e-12
# Texts in a formula, and names that are no name there.
_QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")
_SEVERAL_WORDS = re.compile(r"[^\W\d]\w*([. ]+\w+)+")
# Labels that an advice lists.
_MOST_LISTED = 6
# Why a formula gives no number.
_POSITIVE = "what a logarithm or a root is taken of must be positive."


@dataclass(frozen=True, eq=False)
class ItemTraits:
    """Traits of items, as a formula makes them.

    Attributes
    ----------
    formula : CovariateFormula
    means : pandas.Series
        Over the items; scores are what traits are beyond them.
    values : ndarray, shape (n_items, p)
        Less their means.

    Examples
    --------
    >>> frame = pd.DataFrame({"size": [7.0, 13.0, 70.0], "open": ["yes", "no", "yes"]}, ["a", "b", "c"])
    >>> data = Comparisons.from_arrays("j", ["a", "b"], ["b", "c"], [1, 0]).with_metadata(items=frame)
    >>> traits = ItemTraits.of("~ size + open", data)
    >>> traits.names, traits.values[:, 0]
    (('open[T.yes]', 'size'), array([ 0.33333333, -0.66666667,  0.33333333]))
    """

    formula: CovariateFormula
    means: pd.Series
    values: np.ndarray

    @classmethod
    def of(cls, text: str, data: Comparisons) -> ItemTraits:
        """Traits from the metadata of the items.

        Raises
        ------
        ComparisonError
            Without metadata, for unknown columns, missing values, and traits that do not differ between items.
        """
        frame = data.item_metadata
        if frame is None:
            raise ComparisonError(
                "traits of items need a table of the items: ",
                Hint("data.with_metadata", "items=table", is_call=True),
                f", one row per item ({quoted(data.items, 4)}).",
            )
        right = right_side(text, "items", frame.columns)
        check_known(right, frame, "items=", "data.without_items")
        with np.errstate(divide="ignore", invalid="ignore"):
            formula = CovariateFormula.of(right, frame, Names(SAFE_NAMES), "items=")
            columns = formula.columns(frame).drop(columns="Intercept", errors="ignore")
        check_finite(columns, "items=")
        check_varies(columns, "items=", "items")
        return cls(formula, columns.mean(), (columns - columns.mean()).to_numpy())

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(map(str, self.means.index))

    def of_new(self, frame: Any) -> pd.DataFrame:
        """The same columns of items that may never have been compared, less the means of those that were.

        Raises
        ------
        ComparisonError
        """
        frame = pd.DataFrame([frame]) if isinstance(frame, dict) else frame
        if not isinstance(frame, pd.DataFrame):
            raise ComparisonError(
                f"traits of new items are a data frame with a row for each, or a dict of one, got {type(frame).__name__}."
            )
        frame = frame.set_index("item") if "item" in frame.columns else frame
        known = [] if self.formula.frame is None else list(self.formula.frame)
        if needed := [name for name in known if name not in frame.columns]:
            raise ComparisonError(f"traits of new items need the columns {quoted(known)}, {quoted(needed)} not found.")
        check_known(self.formula.text, frame, "traits of new items")
        frame = self._with_numbers(frame)
        with np.errstate(divide="ignore", invalid="ignore"):
            columns = self._columns_of(frame)[list(self.means.index)]
        check_finite(columns, "traits of new items")
        return columns - self.means

    def _with_numbers(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The frame with traits as numbers that were numbers of the items that were compared."""
        known = pd.DataFrame() if self.formula.frame is None else self.formula.frame
        found = {}
        for name in (name for name in known if is_numeric(known[name])):
            for item, value in frame[name].items():
                if not isinstance(value, Number):
                    raise ComparisonError(f"traits of the new item {item!r}: {name!r} must be a number, got {value!r}.")
            found[str(name)] = frame[name].astype(float)
        return frame.assign(**found)

    def _columns_of(self, frame: pd.DataFrame) -> pd.DataFrame:
        """What the formula makes of new items; of one that it cannot read the error knows the name."""
        try:
            return self.formula.columns(frame)
        except ComparisonError as error:
            if len(frame) > 1:
                # The first of them that is refused by itself.
                for k in range(len(frame)):
                    self._columns_of(frame.iloc[[k]])
                raise
            told = f"{self.formula.text!r} is no number: {_POSITIVE}" if "missing values" in str(error) else str(error)
            raise ComparisonError(f"traits of the new item {frame.index[0]!r}: {told}") from None


@dataclass(frozen=True, eq=False)
class Interactions:
    """Traits of judges, and of comparisons, by which scores differ.

    Attributes
    ----------
    judges : pandas.DataFrame, shape (n_judges, q)
        Columns that every judge has one value of, less their means over judges.
    rows : pandas.DataFrame, shape (n_rows, m)
        Those that differ between a judge's comparisons, less their means over comparisons.
    formula : CovariateFormula
    means : pandas.Series
        Of the latter.

    Examples
    --------
    >>> columns = pd.DataFrame({"topic": ["code", "law", "law"], "age": [20.0, 20.0, 40.0]})
    >>> data = Comparisons.from_arrays(["j", "j", "k"], ["a"] * 3, ["b"] * 3, [1, 0, 1], columns=columns)
    >>> found = Interactions.of("~ topic + age", data)
    >>> found.judges["age"].tolist(), found.rows.columns.tolist()
    ([-10.0, 10.0], ['topic[T.law]'])
    """

    judges: pd.DataFrame
    rows: pd.DataFrame
    formula: CovariateFormula
    means: pd.Series

    @classmethod
    def of(cls, text: str, data: Comparisons) -> Interactions:
        """Columns of the judges' metadata, or else of the data.

        Raises
        ------
        ComparisonError
        """
        known, frame = data.judge_metadata, data.columns.reset_index(drop=True)
        right = right_side(text, "interactions", [*frame.columns, *([] if known is None else known.columns)])
        if known is not None:
            own = {str(name): known[name].to_numpy() for name in known.columns if mentions(right, name)}
            check_known(right, known, "interactions=", "data.without_judges")
            frame = frame.assign(**{name: values[data.judge_index] for name, values in own.items()})
        others = [] if known is None else [str(name) for name in known.columns]
        formula = CovariateFormula.of(right, frame, Names(SAFE_NAMES), "interactions=", others)
        columns = formula.columns(frame).drop(columns="Intercept", errors="ignore").reset_index(drop=True)
        check_varies(columns, "interactions=", "comparisons")
        values = columns.to_numpy()
        low = np.full((data.n_judges, values.shape[1]), np.inf)
        high = -low
        np.minimum.at(low, data.judge_index, values)
        np.maximum.at(high, data.judge_index, values)
        is_trait = (low == high).all(axis=0)
        judges = pd.DataFrame(low[:, is_trait], pd.Index(data.judges, name="judge"), columns.columns[is_trait])
        rows = columns.loc[:, ~is_trait]
        means = pd.Series(data.weight @ rows.to_numpy() / data.weight.sum(), rows.columns)
        return cls(judges - judges.mean(), rows - means, formula, means)

    def of_new(self, frame: pd.DataFrame, known: pd.DataFrame | None, judges: np.ndarray | None) -> pd.DataFrame:
        """The columns of ``rows`` of new comparisons, by judges with known metadata.

        Raises
        ------
        ComparisonError
        """
        frame = frame.reset_index(drop=True)
        if known is not None and judges is not None:
            own = [name for name in known.columns if name not in frame.columns and mentions(self.formula.text, name)]
            frame = frame.assign(**{str(name): known[name].reindex(judges).to_numpy() for name in own})
        return self.formula.columns(frame)[list(self.means.index)] - self.means

    def regressors(
        self, rows: pd.DataFrame, first: np.ndarray, second: np.ndarray, n_items: int, on: np.ndarray | None = None
    ) -> np.ndarray:
        """Columns of the comparisons times differences of items, or of traits of items, shape (n_rows, m q).

        Coefficients of one column sum to zero over the items; that of the last item is minus the sum of the others, and has no
        column.
        """
        on = np.vstack([np.eye(n_items - 1), -np.ones(n_items - 1)]) if on is None else on
        differences = on[first] - on[second]
        return (rows.to_numpy()[:, :, None] * differences[:, None]).reshape(len(differences), -1)

    def names(self, labels: tuple[str, ...]) -> list[str]:
        """Names of these columns: those of the comparisons by items, or by traits of items."""
        return [f"{name}:{label}" for name in self.rows.columns for label in labels]


def right_side(text: Any, argument: str, columns: Iterable[Any] = ()) -> str:
    """The right side of a formula that has nothing on its left, or ``mu``; whatever it is, it executes nothing.

    Of ``columns`` whose names have dots or spaces, errors say how a formula names them.

    Raises
    ------
    OptionError
    """
    if not isinstance(text, str) or not text.strip():
        raise OptionError(f"{argument} is a formula such as '~ size', got {text!r}.")
    left, _, right = text.partition("~") if "~" in text else ("", "~", text)
    if left.strip() not in ("", "mu"):
        raise OptionError(f"{argument} is a formula of scores: '~ size', or 'mu ~ size', got {text!r}.")
    bare = _QUOTED.sub("", right)
    for name in columns:
        if _SEVERAL_WORDS.fullmatch(str(name)) and mentions(bare, name):
            raise OptionError(f"{argument}=: a formula names the column {str(name)!r} by Q({str(name)!r}).")
    return check_formula(right.strip(), (*SAFE_FUNCTIONS, "Q"))


def known_items(items: Any, data: Comparisons) -> tuple[str, Comparisons]:
    """The formula of the items' traits and the data with their table: of a table alone all its columns count.

    Raises
    ------
    ComparisonError
    """
    if not isinstance(items, pd.DataFrame | pd.Series):
        return items, data
    frame = aligned_metadata(items, "item", data.items)
    return " + ".join(name if name.isidentifier() else f"Q({name!r})" for name in frame.columns), data.with_metadata(
        items=frame
    )


def check_known(right: str, frame: pd.DataFrame, argument: str, leave_out: str = "") -> None:
    """Refuse traits that are missing for some, and say what leaves these out.

    Raises
    ------
    ComparisonError
    """
    for name in frame.columns:
        gaps = frame.index[frame[name].isna()]
        if mentions(right, name) and len(gaps):
            told = f"{argument}: {str(name)!r} is missing for {quoted(gaps)}: fill it in"
            if not leave_out:
                raise ComparisonError(f"{told}.")
            raise ComparisonError(
                f"{told}, or leave them out: ", Hint(leave_out, _named(gaps, name, leave_out), is_call=True), "."
            )


def _named(gaps: pd.Index, name: object, leave_out: str) -> str:
    """Labels as code: themselves, or of many where they stand."""
    if len(gaps) <= _MOST_LISTED:
        return repr(list(gaps))
    table = "data.item_metadata" if leave_out.endswith("items") else "data.judge_metadata"
    return f"{table}.index[{table}[{name!r}].isna()]"


def check_finite(columns: pd.DataFrame, argument: str) -> None:
    """Refuse traits that are infinite, or no number, after what a formula does to them.

    Raises
    ------
    ComparisonError
    """
    bad = ~np.isfinite(columns.to_numpy())
    if bad.any():
        names, labels = columns.columns[bad.any(axis=0)], columns.index[bad.any(axis=1)]
        raise ComparisonError(
            f"{argument}: {quoted(names, 3)} is infinite or no number for {quoted(labels, 4)}: {_POSITIVE}"
        )


def check_varies(columns: pd.DataFrame, argument: str, of: str) -> None:
    """Refuse columns that are the same everywhere: nothing can be told of them.

    Raises
    ------
    ComparisonError
    """
    if not columns.shape[1]:
        raise ComparisonError(f"{argument} names no trait: expected a formula such as '~ size'.")
    spread = np.ptp(columns.to_numpy(), axis=0)
    if constant := [str(name) for name, width in zip(columns, spread, strict=True) if width <= _CONSTANT]:
        raise ComparisonError(f"{argument}: {quoted(constant)} is the same for all {of}: leave it out.")


def judge_traits(data: Comparisons, traits: Any = None) -> pd.DataFrame:
    """Traits of the judges, labels as text.

    Raises
    ------
    ComparisonError
    """
    frame = data.judge_metadata
    if isinstance(traits, pd.DataFrame | pd.Series):
        frame, traits = aligned_metadata(traits, "judge", data.judges), None
    if frame is None:
        raise ComparisonError(
            "traits of the judges are needed: pass a table with a row for each, or ",
            Hint("data.with_metadata", "judges=table", is_call=True),
            ".",
        )
    names = list(frame.columns) if traits is None else [traits] if isinstance(traits, str) else list(traits)
    if unknown := [name for name in names if name not in frame.columns]:
        raise ComparisonError(f"no trait of the judges is called {quoted(unknown)}; there are {quoted(frame.columns)}.")
    if gaps := [name for name in names if frame[name].isna().any()]:
        raise ComparisonError(
            f"{quoted(gaps)} is missing for some judges: fill it in, leave those judges out (data.without_judges), or name "
            "other traits."
        )
    chosen = frame[names]
    return chosen.apply(lambda column: column if is_numeric(column) else column.astype(str))


def is_numeric(column: pd.Series) -> bool:
    """Whether a trait has an order in which it is cut."""
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
