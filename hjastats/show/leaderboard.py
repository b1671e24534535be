"""A leaderboard: rounded for people to read, exact for machines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from .. import limits
from ..data.arrays import check_axes, check_whole
from ..inference.decisions import DRAWN_FROM
from ..looks import Piece, Shown, Table, Title, escaped_csv, escaped_latex
from ..words import LINE_WIDTH, visible, wrapped
from ..writing import text_or_file
from . import plots

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

# What a score is, and how it is rounded.
_SCORES = {"log-odds": ("log-odds", "{:.2f}"), "elo": ("Elo points", "{:.0f}"), "win-rate": ("win rate", "{:.3f}")}


@dataclass(frozen=True, repr=False)
class Leaderboard(Shown):
    """Who is best, and how sure that is.

    Attributes
    ----------
    table : pandas.DataFrame
        Best item first: place; place_lower and place_upper, which hold jointly for all items; score, std_err, ci_lower,
        ci_upper on the scale; p_best, p_top_k; win_rate against the other items; tier; comparisons.
    scale : {"log-odds", "elo", "win-rate"}
    judge : str or None
        Whose scores these are; None for the consensus.
    anchor : str or None
        Item from which scores count; None for the mean.
    level : float
    prior : {"normal", "flat"}
        Behind the chances of places.
    """

    table: pd.DataFrame
    scale: str
    judge: str | None
    anchor: str | None
    level: float
    prior: str

    @property
    def rounded(self) -> pd.DataFrame:
        """The table as people read it: text, in few columns."""
        table, (_, form) = self.table, _SCORES[self.scale]
        top = next(str(name) for name in table if str(name).startswith("p_top_"))
        ranges = zip(table["place_lower"], table["place_upper"], strict=True)
        ends = zip(table["ci_lower"], table["ci_upper"], strict=True)
        columns: dict[str, Any] = {
            "place": table["place"].astype(str),
            "range": [f"{low}-{high}" if low < high else str(low) for low, high in ranges],
            "score": table["score"].map(form.format),
            f"{self.level:.0%} interval": [f"{form.format(low)} to {form.format(high)}" for low, high in ends],
            "P(best)": table["p_best"].map(chance),
            f"P(top {top.removeprefix('p_top_')})": table[top].map(chance),
            "win rate": table["win_rate"].map("{:.3f}".format),
            "tier": table["tier"].astype(str),
            "n": table["comparisons"].map("{:,.0f}".format),
        }
        if self.scale == "win-rate":
            del columns["win rate"]
        return pd.DataFrame(columns, index=table.index)

    def _shown(self) -> list[Piece]:
        frame = self.rounded.iloc[: limits.PRINTED_ITEMS]
        hidden = len(self.table) - len(frame)
        more = [f"... and {hidden} more, in .table"] if hidden else []
        spare = [name for name in ("n", "place", "win rate", "tier") if name in frame]
        table = Table(frame.rename_axis(None), spare=spare)
        return [Title(self.title), table, *more, *self._notes("tier" not in table.left_out)]

    @property
    def title(self) -> str:
        """What is ranked, on which scale."""
        counted = "" if self.scale == "win-rate" else f" from {self.anchor or 'the mean'}"
        return f"Leaderboard by {self.judge or 'the consensus'}: {_SCORES[self.scale][0]}{counted}"

    @property
    def notes(self) -> list[str]:
        """How to read it."""
        return self._notes(has_tiers=True)

    def _notes(self, has_tiers: bool) -> list[str]:
        tiers = "; a tier ends where an item differs from its first" if has_tiers else ""
        told = [
            f"All ranges of places hold at once with probability {self.level:.0%}{tiers}.",
            DRAWN_FROM[self.prior],
        ]
        return ["\n".join(wrapped(text, LINE_WIDTH)) for text in told]

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Exact numbers by item."""
        return {
            str(item): {str(name): value.item() if hasattr(value, "item") else value for name, value in row.items()}
            for item, row in zip(self.table.index, self.table.to_dict("records"), strict=True)
        }

    def to_csv(self, path: str | Path | None = None) -> str | None:
        """Exact numbers as CSV, or to a file; labels that a spreadsheet would take for formulas begin with an apostrophe."""
        return text_or_file(self._with_labels(self.table, escaped_csv).to_csv(), path)

    def to_html(self) -> str:
        """Rounded numbers as a table of a page."""
        return Table(self.rounded).as_html()

    def to_markdown(self) -> str:
        """Rounded numbers as a table of Markdown."""
        frame = self._with_labels(self.rounded, _escaped_markdown)
        lines = [["item", *map(str, frame.columns)], ["---", *["---:"] * frame.shape[1]]]
        lines += [[str(item), *row] for item, row in zip(frame.index, frame.to_numpy(), strict=True)]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"

    def to_latex(self) -> str:
        """Rounded numbers as LaTeX with booktabs."""
        frame = self._with_labels(self.rounded, escaped_latex)
        rows = [["item", *map(escaped_latex, frame.columns)]]
        rows += [
            [
                item,
                *(escaped_latex(text).replace("-", "--" if name == "range" else "$-$") for name, text in row.items()),
            ]
            for item, row in zip(frame.index, frame.to_dict("records"), strict=True)
        ]
        head, *body = [" & ".join(row) + r" \\" for row in rows]
        return "\n".join(
            [
                rf"\begin{{tabular}}{{l{'r' * frame.shape[1]}}}",
                *(r"\toprule", head, r"\midrule", *body, r"\bottomrule"),
                r"\end{tabular}",
                "",
            ]
        )

    def plot(self, *, max_rows: int = limits.FIGURE_ROWS, ax: Axes | None = None) -> Axes:
        """Scores with their intervals, the leading items first.

        Parameters
        ----------
        max_rows : int
            Items to show.
        ax : matplotlib.axes.Axes, optional
        """
        check_whole("max_rows", max_rows, 1)
        shown = self.table.iloc[:max_rows]
        unit = f"{_SCORES[self.scale][0]} with {self.level:.0%} intervals"
        return plots.plot_ranking(shown, xlabel=unit, title=self.title, ax=check_axes(ax))

    @staticmethod
    def _with_labels(frame: pd.DataFrame, escaped: Callable[[object], str]) -> pd.DataFrame:
        return frame.set_axis(pd.Index([escaped(label) for label in frame.index], name="item"), axis=0)


def chance(value: float) -> str:
    """A probability that is not said to be certain.

    Examples
    --------
    >>> chance(0.123), chance(1.0), chance(0.0)
    ('0.12', '>.99', '<.01')
    """
    return ">.99" if value > 0.995 else "<.01" if value < 0.005 else f"{value:.2f}"


def _escaped_markdown(label: object) -> str:
    r"""Text that Markdown shows as it is.

    Examples
    --------
    >>> print(_escaped_markdown("a|b_*<i>"))
    a\|b\_\*&lt;i>
    """
    text = visible(" ".join(str(label).split())).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{letter}" if letter in "\\`*_[]|#!~$" else letter for letter in text)
