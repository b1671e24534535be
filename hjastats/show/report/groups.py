"""A section about groups: boards in tabs that need no script, tests, differences, figures; and a page of its own around it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib import import_module, resources
from typing import Any

import pandas as pd

from ... import limits
from ...inference.group_tests import QUESTIONS
from ..groups import GroupPlots
from .html_tables import Table, table
from .vector import Picture, picture

_BOARD = {
    "place": ("place", "d"),
    "places": ("possible places", ""),
    "score": ("score", ".2f"),
    "interval": ("95% interval", ""),
    "group": ("tied group", ""),
    "shrunk_place": ("shrunk: place", "d"),
    "shrunk_places": ("possible places", ""),
    "shrunk_score": ("score", ".2f"),
    "shrunk_interval": ("95% interval", ""),
}
_TESTS = {
    "statistic": ("statistic", ".1f"),
    "df": ("df", ".0f"),
    "p_value": ("p", "p"),
    "trend_p_value": ("p of a trend", "p"),
}
_DIFFERENCES = {
    "group": ("group", ""),
    "place_all": ("place in all", ".0f"),
    "place": ("in the group", ".0f"),
    "difference": ("difference", "+.2f"),
    "std_err": ("std. error", ".2f"),
    "p_value": ("p", "p"),
    "p_holm": ("p adjusted", "p"),
}
_ITEMS = {
    "statistic": ("statistic", ".1f"),
    "df": ("df", ".0f"),
    "p_value": ("p", "p"),
    "p_holm": ("p adjusted", "p"),
    "trend_p_value": ("p of a trend", "p"),
    "trend_p_holm": ("adjusted", "p"),
}
_JUDGES = {
    "kind": ("what", ""),
    "statistic": ("statistic", ".1f"),
    "df": ("df", ".0f"),
    "p_value": ("p", "p"),
    "p_holm": ("p adjusted", "p"),
    "trend_p_value": ("p of a trend", "p"),
}
_GROUPS = {
    "verdicts": ("verdicts", ",.0f"),
    "prompts": ("prompts", ",.0f"),
    "judges": ("judges", ".0f"),
    "items": ("items", ".0f"),
    "leader": ("leader", ""),
    "note": ("how it was fitted", ""),
}
# Rows of tables of differences, and judges whose changed taste is drawn.
_MOST, _TASTES = 40, 3


def groups_section(
    told: Mapping[str, Any],
    boards: Mapping[str, pd.DataFrame],
    shrunken: Mapping[str, pd.DataFrame],
    plots: GroupPlots,
) -> str:
    """The section as HTML, to stand in any page.

    Parameters
    ----------
    told : mapping
        ``GroupBoards.to_dict()``.
    boards, shrunken : mapping of str to DataFrame
        Boards of "all" and of every group, by itself and shrunk to the common one.
    plots : GroupPlots

    Raises
    ------
    ImportError
        When jinja2 or matplotlib are missing.
    """
    try:
        import_module("matplotlib")
        from jinja2 import Environment, StrictUndefined
    except ImportError:
        raise ImportError("reports need jinja2 and matplotlib: pip install 'hjastats[report]'.") from None
    folder = resources.files(__name__.rpartition(".")[0])
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string((folder / "groups.html.j2").read_text(encoding="utf-8"))
    return template.render(**_content(told, boards, shrunken, plots))


def groups_page(
    told: Mapping[str, Any],
    boards: Mapping[str, pd.DataFrame],
    shrunken: Mapping[str, pd.DataFrame],
    plots: GroupPlots,
    title: str | None = None,
) -> str:
    """A page that holds the section and nothing else."""
    from markupsafe import escape

    heading = escape(title or f"Rankings by {told['by']}")
    style = (resources.files(__name__.rpartition(".")[0]) / "page.css").read_text(encoding="utf-8")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{heading}</title>'
        f"<style>{style}</style></head>\n<body><header><h1>{heading}</h1></header>\n"
        f"<main>{groups_section(told, boards, shrunken, plots)}</main>\n</body></html>\n"
    )


def _content(
    told: Mapping[str, Any],
    boards: Mapping[str, pd.DataFrame],
    shrunken: Mapping[str, pd.DataFrame],
    plots: GroupPlots,
) -> dict[str, Any]:
    groups = _frame(told["groups"], "group")
    notes = dict(zip(groups.index, groups["note"], strict=True))
    clusters = f"by {told['clusters']['number']:,} {told['clusters']['what']}"
    return {
        "heading": f"{len(groups)} groups by {told['by']}",
        "findings": [
            {"told": text, "warns": warns} for text, warns in zip(told["findings"], told["warns"], strict=True)
        ],
        "spread": told["heterogeneity"]["told"],
        "tests": _optional(
            [{"same in all groups": QUESTIONS[line["question"]], **line} for line in told["tests"]],
            "same in all groups",
            f"Are the groups alike? Tests {clusters}",
            _TESTS,
        ),
        "places": _places(told, boards),
        "pictures": _pictures(plots),
        "tabs": [
            {"label": label, "note": notes.get(label, ""), "board": _board(board, shrunken.get(label))}
            for label, board in boards.items()
        ],
        "differences": _optional(
            told["differences"][:_MOST],
            "item",
            f"Score in a group less that in all other groups, in log-odds{_cut(told['differences'])}",
            _DIFFERENCES,
        ),
        "items": _optional(
            told["items"][:_MOST], "item", "The score of each item over all groups, others free", _ITEMS
        ),
        "judges": _optional(
            told["judges"][:_MOST],
            "judge",
            f"Sensitivities and tastes are relative to the other judges of a group{_cut(told['judges'])}",
            _JUDGES,
        ),
        "groups": table(groups, f"Groups; model of all: {told['model']}", _GROUPS, "group"),
    }


def _frame(records: list[dict[str, Any]], index: str) -> pd.DataFrame:
    return pd.DataFrame(records).set_index(index) if records else pd.DataFrame()


def _cut(records: list[dict[str, Any]]) -> str:
    """That a table has only the first of them."""
    return f"; the first {_MOST} of {len(records):,}" if len(records) > _MOST else ""


def _optional(
    records: list[dict[str, Any]], index: str, caption: str, columns: Mapping[str, tuple[str, str]]
) -> Table | None:
    return table(_frame(records, index), caption, columns, index) if records else None


def _places(told: Mapping[str, Any], boards: Mapping[str, pd.DataFrame]) -> Table:
    frame = _frame(told["places"], "item").head(limits.RANKED_OF_MANY)
    clear = {(line["item"], line["group"]) for line in told["differences"] if (line["p_holm"] or 1.0) < told["level"]}
    for label in frame.columns:
        frame[label] = [
            "–" if pd.isna(place) else f"{place:.0f}{'*' if (item, label) in clear else ''}"
            for item, place in frame[label].items()
        ]
    columns = {label: (label, "") for label in boards if label in frame}
    return table(frame, "Places side by side (* differs from all other groups beyond chance)", columns, "item")


def _board(board: pd.DataFrame, shrunken: pd.DataFrame | None) -> Table:
    shown = board.assign(places=_ranges(board), interval=_intervals(board))
    if not board["group"].str.fullmatch("[a-z]+").all():
        shown = shown.drop(columns="group")
    if shrunken is not None:
        other = shrunken.reindex(board.index)
        shown = shown.assign(
            shrunk_place=other["place"],
            shrunk_places=_ranges(other),
            shrunk_score=other["score"],
            shrunk_interval=_intervals(other),
        )
    caption = "Possible places hold for all items at once with 95%"
    if shrunken is not None:
        caption += "; shrunk: borrowing strength from the other groups"
    return table(shown, caption, _BOARD, "item")


def _ranges(board: pd.DataFrame) -> list[str]:
    bounds = zip(board["place_lower"], board["place_upper"], strict=True)
    return [f"{low}" if low == high else f"{low} to {high}" for low, high in bounds]


def _intervals(board: pd.DataFrame) -> list[str]:
    bounds = zip(board["ci_lower"], board["ci_upper"], strict=True)
    return [f"{low:.2f} to {high:.2f}" for low, high in bounds]


def _pictures(plots: GroupPlots) -> list[tuple[str, Picture]]:
    """Figures for which the model has something to show."""
    made = []
    for name, draw, caption in (
        ("group-places", plots.places, "A line that rises or falls is an item that has another place there."),
        ("group-differences", plots.differences, "Above (orange) or below (blue) the scores in all other groups."),
        ("group-position", partial(plots.judges, "position"), "Position effects: above zero, whatever is shown first."),
        ("group-gamma", partial(plots.judges, "gamma"), "Sensitivities: above one, sharper than the average judge."),
        *(
            (
                f"group-taste-{place}",
                partial(plots.taste, judge),
                f"What {judge} prefers more (orange) or less (blue) than in all groups.",
            )
            for place, judge in enumerate(plots.tastes_changed[:_TASTES])
        ),
    ):
        try:
            made.append((name, picture(draw, caption, name)))
        except ValueError:
            continue
    return made
