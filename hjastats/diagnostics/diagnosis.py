"""One look at data and fit together: what was found, and the facts of every judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from .. import limits
from ..data.comparisons import Comparisons
from ..data.swaps import prompt_column, swap_report
from ..looks import Piece, Shown, Table
from .findings import Findings
from .order import decided_shares, has_order


@dataclass(frozen=True, repr=False)
class Diagnosis(Shown):
    """What speaks for and against a fit.

    Attributes
    ----------
    findings : Findings
        Every condition that was checked, each stated either way.
    judges : pandas.DataFrame
        Per judge: comparisons, tie_rate, dropped, first_share with an exact 95% interval, position (from a fit with position
        effects per judge) with standard error, flip_rate where the data have swapped pairs.
    position_test : CompareLRTestResult or None
        Likelihood-ratio test of the position effects the model lacks; None if it has them or they cannot be fitted.
    """

    findings: Findings
    judges: pd.DataFrame
    position_test: Any

    @property
    def warnings(self) -> list[str]:
        """The findings that should make one hesitate."""
        return self.findings.warnings

    def _shown(self) -> list[Piece]:
        pieces: list[Piece] = [*self.findings._shown()]
        if self.position_test is not None:
            statistic, p_value, df = self.position_test
            pieces.append(
                f"  Likelihood ratio of position effects per judge: {statistic:.1f} on {df} df, p = {p_value:.3g}."
            )
        more = [f"and {len(self.judges) - limits.PRINTED_JUDGES:,} more in .judges"] * (
            len(self.judges) > limits.PRINTED_JUDGES
        )
        forms = dict.fromkeys(("comparisons", "dropped"), "{:,.10g}".format)
        return [*pieces, "", Table(self.judges.head(limits.PRINTED_JUDGES), forms), *more]


def judge_facts(data: Comparisons, position: pd.DataFrame | None) -> pd.DataFrame:
    """What the data say about each judge, and its position effect if one was fitted."""
    share, decided = data.first_share(), decided_shares(data)
    dropped = data.dropped.groupby("judge")["count"].sum().reindex(share.index).fillna(0.0)
    table = pd.DataFrame(
        {
            "comparisons": share["comparisons"],
            "tie_rate": share["ties"] / share["comparisons"],
            "dropped": dropped,
            "first_share": decided["share"],
            "first_lower": decided["lower"],
            "first_upper": decided["upper"],
        }
    )
    if position is not None:
        table["position"], table["position_se"] = position["estimate"], position["std_err"]
    if prompt_column(data, None) is not None and has_order(data):
        report = swap_report(data)
        if report["swapped"].sum():
            table["flip_rate"] = report["flip_rate"]
    return table
