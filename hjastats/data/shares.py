"""Rows that stand for several verdicts: shares of wins, numbers of wins and losses, rows of weight zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import ComparisonError, Hint
from .labels import TableRows

# How far a share times its weight may be from a whole number: shares of up to 100 verdicts have three digits, or more.
_NEARLY = 0.05


@dataclass(frozen=True)
class Spread:
    """Rows that stand for those of a table: positions there, outcome and weight, each of shape (n_rows,)."""

    index: np.ndarray
    outcome: np.ndarray
    weight: np.ndarray


def check_outcomes(outcome: np.ndarray, weight: np.ndarray, rows: TableRows) -> None:
    """Refuse what is no preference for the first item, shares of nothing excepted.

    Raises
    ------
    ComparisonError
    """
    bad = ~((outcome >= 0) & (outcome <= 1)) & (weight > 0)
    if bad.any():
        raise ComparisonError(
            "outcome must lie in [0, 1] (1 = first item preferred, 0 = second, 0.5 = tie); "
            f"{rows.number(bad)} values do not, first {outcome[bad][0]:g}{rows.place(bad, ' at row {}')}."
        )


def spread(outcome: np.ndarray, weight: np.ndarray, counts: bool | None, rows: TableRows) -> Spread | None:
    """Shares of wins as wins and losses, rows of weight zero left out; None where the rows stay as they are.

    Parameters
    ----------
    outcome, weight : ndarray, shape (n_rows,)
    counts : bool, optional
        Whether an outcome is the share of wins among ``weight`` comparisons; otherwise it is one preference, given so many times.
    rows : TableRows
        Weights that only count equal rows of the table raise no question.

    Raises
    ------
    ComparisonError
        For shares with weights of which neither was said, and for shares that make no whole numbers of wins.

    Examples
    --------
    >>> spread(np.array([0.6, 1.0, 0.5]), np.array([90.0, 2.0, 0.0]), True, TableRows())
    Spread(index=array([0, 0, 1]), outcome=array([1., 0., 1.]), weight=array([54., 36.,  2.]))
    """
    if not isinstance(counts, bool | None):
        raise ComparisonError(f"counts must be True, False or None, got {counts!r}.")
    if counts is None:
        _refuse_unexplained(outcome, weight, rows)
    if counts:
        # The share of nothing is no number.
        won = np.where(weight > 0, outcome, 0.0) * weight
        wins = np.round(won)
        bad = (np.abs(won - wins) > _NEARLY) | (weight % 1 != 0)
        if bad.any():
            raise ComparisonError(
                f"{rows.number(bad)} shares times their weights are no whole numbers of wins{rows.place(bad)} "
                f"({outcome[bad][0]:g} of {weight[bad][0]:g}): pass shares with more digits, or ",
                *(Hint("first_wins"), ", ", Hint("second_wins"), " and ", Hint("tied"), ", columns of counts."),
            )
        return stacked([wins, weight - wins], (1.0, 0.0))
    if weight.all():
        return None
    kept = np.flatnonzero(weight)
    return Spread(kept, outcome[kept], weight[kept])


def _refuse_unexplained(outcome: np.ndarray, weight: np.ndarray, rows: TableRows) -> None:
    """Ask about shares whose weights may be the number of verdicts behind them."""
    own = weight if rows.counts is None else weight / rows.counts
    if own.max() <= 1:
        return
    is_open = (outcome > 0) & (outcome < 1) & (outcome != 0.5) & (own > 1)
    if is_open.any() and (is_open := is_open & (weight % 1 == 0)).any():
        y, n = outcome[is_open][0], own[is_open][0]
        raise ComparisonError(
            "an outcome between 0 and 1 with a weight above 1 may be a share of wins or a preference; there are "
            f"{rows.number(is_open)}{rows.place(is_open)} ({y:g} with weight {n:g}). Pass ",
            *(Hint("counts", True), f" if {y:g} is the share of {n:g} comparisons that the first item won, or "),
            *(Hint("counts", False), f" if one preference of strength {y:g} counts {n:g} times."),
        )


def stacked(numbers: Sequence[np.ndarray], outcomes: Sequence[float]) -> Spread:
    """Numbers of verdicts, one array for each outcome, as rows of that outcome; those without any are left out.

    Examples
    --------
    >>> stacked([np.array([4.0, 0.0]), np.array([3.0, 2.0])], (1.0, 0.0))
    Spread(index=array([0, 0, 1]), outcome=array([1., 0., 0.]), weight=array([4., 3., 2.]))
    """
    weight = np.column_stack(numbers)
    index, which = np.nonzero(weight)
    return Spread(index, np.array(outcomes)[which], weight[index, which])
