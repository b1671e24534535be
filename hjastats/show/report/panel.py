"""The judges by how much there is to do about them, the worst first."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ... import limits
from ...diagnostics.cards import DISTORTING, LEVEL, MISFIT, OFTEN, SLIGHT, judge_table
from ...diagnostics.findings import EXTREME_SHARE, weak_judges
from ...fitted import Fit, Observations
from ...inference.expressions import FIXED
from ...words import counted

# How grave, in words and signs: colour alone tells nobody.
GRAVITY = ("fine", "note", "look", "act")
# A position effect in log-odds that decides most verdicts: the first of two equal items wins three of four.
DECISIVE = 1.1


@dataclass(frozen=True)
class Rule:
    """What to do about a judge, where it applies.

    Attributes
    ----------
    gravity : int
        Place in ``GRAVITY``.
    applies : callable
        Of a row of ``judge_table``.
    action : str
    """

    gravity: int
    applies: Callable[[dict[str, Any]], bool]
    action: str


def _unmodelled(row: dict[str, Any]) -> bool:
    return not row["position_kind"] and row["p_first"] < LEVEL


def _extreme(row: dict[str, Any]) -> bool:
    share = row["first_share"]
    return _unmodelled(row) and (share >= EXTREME_SHARE or share <= 1.0 - EXTREME_SHARE)


def _is_pooled(row: dict[str, Any]) -> bool:
    """Whether the model takes all judges for equally sharp, and this one is not."""
    is_same = row["sensitivity_upper"] - row["sensitivity_lower"] <= FIXED
    calm = row["infit"] < MISFIT[0] and row["p_calm"] < LEVEL
    return bool(is_same and (calm or (row["infit"] > MISFIT[1] and row["p_erratic"] < LEVEL)))


def _prefers(row: dict[str, Any], least: float) -> bool:
    is_own = row["position_kind"] == "judge" and row["p_position"] < LEVEL
    return bool(is_own and abs(row["position"]) >= least)


_TWICE = "Ask some questions twice: does it agree with itself?"
_WITHOUT = "if not, rank without it: without_judges()."
_ORDERS = "The ranking takes this out; ask it in both orders, or its verdicts tell little."
# The first rule of the gravest that apply says what to do.
RULES = (
    Rule(3, lambda row: row["p_against"] < LEVEL, f"Check that its labels are not the wrong way round; {_WITHOUT}"),
    Rule(
        3,
        lambda row: row["sensitivity_lower"] <= 0 and row["p_average"] < LEVEL and row["sensitivity"] < 1,
        "Stop paying for it, or change its instructions: its verdicts tell next to nothing.",
    ),
    Rule(3, _extreme, "Fit position='judge': its preference for a position is taken for taste."),
    Rule(
        2,
        lambda row: row["dropped_rate"] > OFTEN["dropped_rate"],
        "Read some of its unusable answers: if they depend on the items, the rest is a biased sample.",
    ),
    Rule(2, _unmodelled, "Fit position='judge', and ask it in both orders."),
    Rule(2, _is_pooled, "Fit JAModel or HJAModel, in which judges differ in how sharply they follow the consensus."),
    Rule(2, lambda row: _prefers(row, DECISIVE), _ORDERS),
    Rule(2, lambda row: row["p_flips"] < LEVEL and row["flip_rate"] > OFTEN["flip_rate"], _ORDERS),
    Rule(
        2,
        lambda row: row["p_taste"] < LEVEL,
        "Decide whether its taste should count; without_judges() ranks without it.",
    ),
    Rule(
        2,
        lambda row: row["outfit"] > DISTORTING and row["p_impossible"] < LEVEL,
        "Read the verdicts that surprise most: slips, or a taste of its own?",
    ),
    Rule(2, lambda row: row["is_weak"], "Stop paying for it, or change its instructions: it counts for little here."),
    Rule(2, lambda row: row["infit"] > MISFIT[1] and row["p_erratic"] < LEVEL, _TWICE),
    Rule(
        2,
        lambda row: row["cycle_rate"] > OFTEN["cycle_rate"] and row["p_cycles"] < LEVEL,
        _TWICE,
    ),
    Rule(
        2,
        lambda row: row["infit"] < MISFIT[0] and row["p_calm"] < LEVEL and not row["has_halves"],
        "See whether its verdicts are copies of each other.",
    ),
    Rule(1, lambda row: row["sensitivity_lower"] <= 0, "Ask it more before judging it; it counts for little now."),
    Rule(1, lambda row: _prefers(row, SLIGHT), "Nothing: the ranking takes this out."),
    Rule(
        1,
        lambda row: row["tie_rate"] > OFTEN["tie_rate"] and row["p_ties"] < LEVEL,
        "Tell it to decide, if ties are not meant.",
    ),
    Rule(1, lambda row: row["p_average"] < LEVEL and row["sensitivity"] < 1, "Nothing: it counts for less already."),
    Rule(0, lambda row: row["p_average"] < LEVEL and row["sensitivity"] > 1, "Keep it: its verdicts tell most."),
)
KEEP = "Keep it."


def judges_by_gravity(fit: Fit, observed: Observations) -> pd.DataFrame:
    """Every judge with what was seen, what to do and how grave it is; the worst first, of equals who tells most."""
    table = judge_table(fit, observed)
    table["is_weak"] = table.index.isin(weak_judges(fit))
    found = [_rule(row) for row in table.to_dict("records")]
    table["gravity"], table["action"] = [rule[0] for rule in found], [rule[1] for rule in found]
    return table.sort_values(["gravity", "information_share"], ascending=False, kind="stable")


@dataclass(frozen=True)
class Measure:
    """A column of numbers; with ends, every number has a bar from its lower to its upper bound on one scale.

    Attributes
    ----------
    heading : str
    start, end, centre : float or None
    """

    heading: str
    start: float | None = None
    end: float | None = None
    centre: float | None = None


@dataclass(frozen=True)
class Number:
    """One of them.

    Attributes
    ----------
    text, order : str
    low, high : float or None
    """

    text: str
    order: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Row:
    """One judge.

    Attributes
    ----------
    judge, verdicts, word, seen, action : str
    gravity : int
    cells : list of (Number, Measure)
    """

    judge: str
    verdicts: str
    gravity: int
    word: str
    seen: str
    action: str
    cells: list[tuple[Number, Measure]]


@dataclass(frozen=True)
class Judges:
    """The table of a page."""

    caption: str
    measures: list[Measure]
    rows: list[Row]
    hidden: int


def judges_table(table: pd.DataFrame) -> Judges:
    """Judges in the order given, with bars for what has an interval."""
    shown = table.iloc[: limits.PAGE_ROWS]
    columns = [_bars(shown, "sensitivity", 1.0), _bars(shown, "position", 0.0)]
    columns.append(_plain(shown, "information_share", "information", lambda x: "<1%" if 0 < x < 0.005 else f"{x:.0%}"))
    kept = [column for column in columns if column is not None]
    rows = [
        Row(
            str(judge),
            counted(found["comparisons"], "verdict"),
            int(found["gravity"]),
            GRAVITY[int(found["gravity"])],
            found["sentence"],
            found["action"],
            list(cells),
        )
        for judge, found, *cells in zip(
            shown.index,
            shown.to_dict("records"),
            *[[(number, measure) for number in numbers] for measure, numbers in kept],
            strict=True,
        )
    ]
    told = "The worst first; of equals, who tells most about the ranking."
    if any(measure.centre is not None for measure, _ in kept):
        told += (
            " Bars are 95% intervals; the mark is what an average judge, or one without preference for a position, has."
        )
    return Judges(told, [measure for measure, _ in kept], rows, len(table) - len(shown))


def _plain(
    table: pd.DataFrame, name: str, heading: str, form: Callable[[float], str]
) -> tuple[Measure, list[Number]] | None:
    values = table[name].astype(float)
    if values.isna().all():
        return None
    return Measure(heading), [Number("–", "") if math.isnan(x) else Number(form(x), f"{x:.6g}") for x in values]


def _bars(table: pd.DataFrame, name: str, centre: float) -> tuple[Measure, list[Number]] | None:
    """Estimates with intervals, of which the longest may be cut; nothing where all judges are alike by definition."""
    value, error = table[name].astype(float), table[f"{name}_se"].astype(float)
    if not (error > 1e-10).any() or (value.nunique() < 2 and len(table) > 1):
        return None
    low, high = value - 1.96 * error, value + 1.96 * error
    start, end = min(float(low.quantile(0.02)), centre), max(float(high.quantile(0.98)), centre)
    room = 0.04 * (end - start)
    measure = Measure(name, start - room, end + room, centre)
    ends = zip(value, low.clip(start - room, end + room), high.clip(start - room, end + room), strict=True)
    return measure, [
        Number("–", "")
        if math.isnan(x)
        else Number(f"{x:+.2f}" if centre == 0 else f"{x:.2f}", f"{x:.6g}", *_known(a, b))
        for x, a, b in ends
    ]


def _known(low: float, high: float) -> tuple[float | None, float | None]:
    return (None, None) if math.isnan(low) else (low, high)


def _rule(row: dict[Any, Any]) -> tuple[int, str]:
    # Comparisons with what is not known are false.
    return next(((rule.gravity, rule.action) for rule in RULES if rule.applies(row)), (0, KEEP))
