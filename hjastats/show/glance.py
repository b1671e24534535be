"""What a notebook shows of a result: who leads, how sure that is, and what to distrust."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from .. import limits
from ..diagnostics.findings import Findings
from ..fitted import Fit
from ..inference.estimates import estimates
from ..inference.ranks import leading_places
from ..looks import Piece, Table, Title, Warned
from ..words import number


def at_a_glance(fit: Fit, findings: Findings, told: Sequence[str]) -> list[Piece]:
    """Its lines of text, with the leading items and the warnings between them.

    Places are worked out where that is quick; further items have scores and standard errors.
    """
    n = len(fit.layout.items)
    places = leading_places(fit) if n <= limits.RANKED_OF_MANY else None
    table = _scores(fit) if places is None else _places(places)
    more = [f"and {n - len(table):,} more items in .consensus"] if len(table) < n else []
    warned = [Warned(text) for text in findings.warnings]
    return [Title(told[0]), told[1], Table(table, missing="–"), *more, *warned, *told[2:]]


def _places(ranking: pd.DataFrame) -> pd.DataFrame:
    shown = ranking.head(limits.PRINTED_LABELS)
    between = [
        f"{low}" if low == high else f"{low} to {high}"
        for low, high in zip(shown["place_lower"], shown["place_upper"], strict=True)
    ]
    return pd.DataFrame(
        {
            "place": shown["place"],
            "possible places": between,
            "score": shown["score"],
            "std. error": shown["std_err"],
            "95% interval": _intervals(shown),
            "tied group": shown["group"],
        }
    )


def _scores(fit: Fit) -> pd.DataFrame:
    """Scores of the leading items, without their places; those without a finite score have none."""
    best = [fit.layout.items[i] for i in fit.best_first[0][: limits.PRINTED_LABELS]]
    shown = estimates(fit, "mu", best)
    return pd.DataFrame({"score": shown["estimate"], "std. error": shown["std_err"], "95% interval": _intervals(shown)})


def _intervals(frame: pd.DataFrame) -> list[str]:
    return [
        "–" if pd.isna(low) else f"{number(low, '.3f')} to {number(high, '.3f')}"
        for low, high in zip(frame["ci_lower"], frame["ci_upper"], strict=True)
    ]
