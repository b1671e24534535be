"""Tables of the command line: they fit a terminal of 80 columns."""

from __future__ import annotations

import shutil
import sys

import pandas as pd

from ..looks import short_ranking
from ..words import LINE_WIDTH, p_value, shortened_apart, told_apart, visible, wrapped

# Notes of a comparison of models as signs behind the p-value.
MARKS = ("*", "+", "#")


def say(text: str) -> None:
    """To standard error: on one line, for programs that read it, or folded to the width of a terminal."""
    if sys.stderr.isatty():
        text = "\n".join(wrapped(text, shutil.get_terminal_size().columns))
    print(text, file=sys.stderr)


def choices_text(choices: pd.DataFrame) -> str:
    """What was chosen, a line each with its reason.

    Examples
    --------
    >>> table = pd.DataFrame({"chosen": ["JA"], "reason": ["BIC is lower by 12"], "number": [12.0]}, index=["model"])
    >>> print(choices_text(table))
    Chosen
      model     JA: BIC is lower by 12
    """
    lines = ["Chosen"]
    for what, chosen, reason in zip(choices.index, choices["chosen"], choices["reason"], strict=True):
        lines += wrapped(visible(f"{chosen}: {reason}"), LINE_WIDTH, first=f"  {what:9s} ")
    return "\n".join(lines)


def ranking_text(ranking: pd.DataFrame, n_items: int) -> str:
    """Places with intervals, and letters of items that cannot be told apart; tiers where letters run out."""
    table = short_ranking(ranking)
    told = (
        "items that share a letter cannot be told apart"
        if "group" in table
        else "no item of a tier can be told from its first"
    )
    lines = wrapped(f"Ranking (possible places hold jointly with 95%; {told})", LINE_WIDTH)
    if len(ranking) < n_items:
        lines.insert(0, f"The leading {len(ranking)} of {n_items:,} items, compared among themselves:")
    return "\n".join([*lines, _fitting(table.rename_axis(None), 2)])


def models_text(table: pd.DataFrame) -> str:
    """Models for the same data, numbered, each with the number of the one it is tested against."""
    number = {name: str(i) for i, name in enumerate(table.index, start=1)}
    notes = dict(zip([note for note in table["note"].unique() if note], MARKS, strict=False))
    shown = table[["df", "llf", "aic", "bic"]].copy()
    shown.insert(0, "", list(number.values()))
    shown["vs"] = [number.get(name, "") for name in table["against"]]
    shown["lr"] = table["lr"]
    shown["lr_df"] = ["" if pd.isna(df) else str(df) for df in table["lr_df"]]
    tested = zip(table["p_value"], table["note"], strict=True)
    shown["p"] = [("" if pd.isna(p) else p_value(p)) + notes.get(note, "") for p, note in tested]
    # What all models have would take the room for what they differ in.
    parts, shared = [str(name).split(" + ") for name in shown.index], list[str]()
    while len({part[-1] for part in parts}) == 1 and min(map(len, parts)) > 1:
        shared, parts = [parts[0][-1], *shared], [part[:-1] for part in parts]
    shown.index = pd.Index([" + ".join(part) for part in parts])
    above = [f"All with {' + '.join(shared)}"] if shared else []
    lines = [*above, _fitting(shown, 1), "vs, lr, lr_df, p: likelihood ratio test against the model of that number"]
    return "\n".join([*lines, *(f"{mark} {note}" for note, mark in notes.items())])


def _fitting(table: pd.DataFrame, digits: int) -> str:
    """A table whose labels are shortened until it fits."""
    labels = list(table.index)

    def text(width: int) -> str:
        shown = table.set_axis(pd.Index(shortened_apart(labels, width)))
        return shown.to_string(float_format=lambda value: f"{value:.{digits}f}", na_rep="")

    width = max(map(len, told_apart(labels)))
    excess = max(map(len, text(width).splitlines())) - LINE_WIDTH
    return text(max(width - max(excess, 0), 12))
