"""The leaderboard as rows of a page: bars of possible places, scores on every scale, chances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd

from ... import limits
from .standing import SCALES, Standing

_FORMS: dict[str, Callable[[float], str]] = {
    "elo": "{:.0f}".format,
    "win-rate": "{:.3f}".format,
    "log-odds": "{:.2f}".format,
}
# Colours that families have on a page.
HUES = 8


@dataclass(frozen=True)
class Row:
    """One item.

    Attributes
    ----------
    item : str
    place, low, high : int
    range, best, top : str
    scores : dict
        Scale to score and interval in words.
    order, best_order, top_order : float
        To sort by.
    hue : str
        Of its family.
    """

    item: str
    place: int
    low: int
    high: int
    range: str
    scores: dict[str, tuple[str, str]]
    order: float
    best: str
    best_order: float
    top: str
    top_order: float
    hue: str


def board(standing: Standing, hues: Sequence[str]) -> list[Row]:
    """The leading items, as many as a page has room for."""
    rows = []
    table = standing.table.iloc[: limits.PAGE_ROWS]
    for number, (item, found) in enumerate(zip(table.index, table.to_dict("records"), strict=True)):
        low, high = int(found["place_lower"]), int(found["place_upper"])
        rows.append(
            Row(
                item=str(item),
                place=int(found["place"]),
                low=low,
                high=high,
                range=f"{low}–{high}" if low < high else str(low),
                scores={scale: _score(standing, scale, number) for scale in SCALES},
                order=round(float(standing.estimate[number]), 6),
                best=chance(found["p_best"]),
                best_order=round(float(found["p_best"]), 6),
                top=chance(found["p_top_3"]),
                top_order=round(float(found["p_top_3"]), 6),
                hue=hues[number],
            )
        )
    return rows


def _score(standing: Standing, scale: str, number: int) -> tuple[str, str]:
    score, _, low, high = standing.scales[scale].iloc[number]
    form = _FORMS[scale]
    return form(score), f"{form(low)} to {form(high)}"


def chance(value: float) -> str:
    """A chance in percent that is not said to be certain.

    Examples
    --------
    >>> chance(0.123), chance(1.0), chance(0.0)
    ('12%', '>99%', '<1%')
    """
    return ">99%" if value > 0.995 else "<1%" if value < 0.005 else f"{value:.0%}"


def shown_scales() -> dict[str, str]:
    """Scales to choose from, the first one shown at first."""
    return dict(SCALES)


def family_hues(items: Sequence[str], metadata: pd.DataFrame | None) -> tuple[list[str], list[tuple[str, str]]]:
    """The hue of every item, and the families with theirs, as figures have them; one hue for all without families."""
    if metadata is None or "family" not in metadata:
        return ["0"] * len(items), []
    family = metadata["family"].reindex(list(items))
    known = sorted({str(name) for name in family.dropna()})
    hue = {name: str(number % HUES) for number, name in enumerate(known)}
    return [hue.get(str(name), "none") for name in family], list(hue.items())
