"""Which figures stand on the page, and what there is to see in each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...errors import OptionError
from ...fitted import Fit, Observations
from ...inference.apart import are_apart
from ...inference.estimates import disagreement, leverage, scores
from ...words import counted
from ..figures import FitPlots, calibration_groups, places_by_judge
from .vector import Picture, picture

# Rows and columns of the tile of all pairs, in whose cells there is room for numbers.
TILE = 20
# Lines for each item up to which a graph of comparisons can be read.
READABLE = 2


# Figures that set all items beside each other, of which there is none where groups of them are apart.
ACROSS = ("probabilities", "slopes", "profiles")


@dataclass(frozen=True)
class Drawing:
    """A figure of the page.

    Attributes
    ----------
    heading : str
    caption : callable
        Of fit and data: what there is to see.
    families : tuple of str
        Whose families it shows in colour: items, judges.
    of_judges : bool
        Whether it is about the judges, who may be those of another fit than the ranking.
    options : mapping
    """

    heading: str
    caption: Callable[[Fit, Observations], str]
    families: tuple[str, ...] = ()
    of_judges: bool = True
    options: tuple[tuple[str, Any], ...] = ()


def _probabilities(fit: Fit, observed: Observations) -> str:
    order, values = fit.best_first
    n, best = len(order), fit.layout.items[order[0]]
    if np.isnan(values).any():
        return "Orange: the item of the row is preferred to that of the column; blue: the other way round."
    close = int((np.abs(values[:, None] - values)[np.triu_indices(n, 1)] < 0.2).sum())
    least = 1.0 / (1.0 + np.exp(-(values[0] - values[1])))
    return (
        f"How likely the item of the row is preferred to that of the column. {best} is preferred to every other with {least:.0%} "
        f"or more; {close:,} of {counted(n * (n - 1) // 2, 'pair')} are within 45% and 55%, where verdicts are close to coin flips."
    )


def _slopes(fit: Fit, observed: Observations) -> str:
    places = places_by_judge(fit)
    apart = (places.sub(np.arange(1.0, len(places) + 1.0), axis=0) ** 2).sum()
    judge = str(apart.idxmax())
    where = int(np.nanargmin(places[judge].to_numpy(float))) + 1
    first = places.index[where - 1]
    told = "the leader of the consensus" if where == 1 else f"which has place {where} by the consensus"
    return f"Where lines cross, rankings differ. {judge} ranks most unlike the consensus: first is {first}, {told}."


def _disagreement(fit: Fit, observed: Observations) -> str:
    residual = disagreement(fit)
    values = np.nan_to_num(residual.to_numpy(float))
    row, column = divmod(int(np.abs(values).argmax()), values.shape[1])
    judge, item, value = residual.index[row], residual.columns[column], values[row, column]
    how = "more" if value > 0 else "less"
    return (
        f"Orange: the judge likes the item more than its share of the consensus says; blue: less. {judge} likes {item} {how}, by "
        f"{abs(value):.1f} log-odds. Judges and items alike in this stand side by side."
    )


def _profiles(fit: Fit, observed: Observations) -> str:
    own = scores(fit)
    spread = own.std(axis=1)
    if spread.isna().all():
        return "Scores that run to infinity are left out."
    families = observed.data.judge_metadata
    has_families = families is not None and "family" in families
    told = f"A wide line tells the items apart sharply, an upright one hardly: {spread.idxmax()} most, {spread.idxmin()} least."
    return told if has_families else f"{told} In colour: who is furthest from the consensus."


def _leverage(fit: Fit, observed: Observations) -> str:
    size = leverage(fit)["h"]
    most = "" if size.isna().all() else f" {size.idxmax()} has the largest."
    return f"To the right: who follows the consensus more sharply. Upwards: who has a larger taste of its own.{most}"


def _calibration(fit: Fit, observed: Observations) -> str:
    table = calibration_groups(fit, observed)
    hit = int(((table["ci_lower"] <= table["predicted"]) & (table["predicted"] <= table["ci_upper"])).sum())
    told = (
        "predictions come true as often as they say"
        if hit >= len(table) - 1
        else "predictions are off where bars miss it"
    )
    return f"{hit} of {len(table)} bars (95% intervals of observed shares) touch the diagonal: {told}."


def _comparisons(fit: Fit, observed: Observations) -> str:
    groups = observed.data.connectivity.pooled_groups
    if len(groups) > 1:
        return f"The items fall into {len(groups)} groups that no line joins: between them there is no comparison."
    return "Few pairs were compared: scores of items far apart on the lines lean on all verdicts in between."


DRAWINGS = {
    "probabilities": Drawing(
        "How likely one is preferred to another", _probabilities, ("item",), False, (("max_rows", TILE),)
    ),
    "slopes": Drawing("Places by the consensus and by each judge", _slopes, ("item",)),
    "disagreement": Drawing(
        "What the consensus does not explain",
        _disagreement,
        ("judge", "item"),
        True,
        (("margins", False), ("max_rows", 30)),
    ),
    "profiles": Drawing("Scores by each judge", _profiles, ("judge",), True, (("max_rows", 30),)),
    "leverage": Drawing("Sensitivity and own taste of the judges", _leverage, ("judge",)),
    "calibration": Drawing("Do predictions come true?", _calibration, (), False),
    "comparisons": Drawing("Which items were compared", _comparisons, ("item",), False),
}


def pictures(ranked: tuple[Fit, Observations], judged: tuple[Fit, Observations]) -> dict[str, Picture]:
    """All figures that the fits have something for: of the one that ranks the items, and of the one with the judges."""
    found: dict[str, Picture] = {}
    for name, drawing in DRAWINGS.items():
        fit, observed = judged if drawing.of_judges else ranked
        if name == "comparisons" and not _is_sparse(observed):
            continue
        if name in ACROSS and are_apart(fit.layout):
            continue
        plots, data = FitPlots(fit, lambda observed=observed: observed), observed.data  # type: ignore[misc]
        known = {"item": data.item_metadata, "judge": data.judge_metadata}
        needed = [known[role] for role in drawing.families]
        has_families = bool(needed) and all(frame is not None and "family" in frame for frame in needed)
        options = dict(drawing.options) | ({"family": "family"} if has_families else {})
        try:
            draw = partial(getattr(plots, name), **options)
            found[name] = picture(draw, drawing.caption(fit, observed), name, drawing.heading)
        except OptionError:
            # The model has nothing to show here, and the methods say so.
            continue
    return found


def _is_sparse(observed: Observations) -> bool:
    """Whether a graph of the comparisons says more than that all were compared with all."""
    data = observed.data
    cells = data.cells
    low, high = np.minimum(cells.first, cells.second), np.maximum(cells.first, cells.second)
    n_pairs = len(np.unique(low * data.n_items + high))
    return (
        not data.connectivity.is_connected or n_pairs <= READABLE * data.n_items < data.n_items * (data.n_items - 1) / 2
    )
