"""Verdicts with more than three grades: taken as grades, on a scale that all judges share or each has for itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import limits
from ..data.comparisons import Comparisons
from ..data.grades import points_of_scale
from ..diagnostics.order import LEVEL
from ..diagnostics.scales import own_parameters_test
from ..model.responses import ORDINAL
from ..results import HJAResults
from .asked import Asked, Chosen
from .search import Search


def number_of_grades(data: Comparisons) -> int:
    """How many grades the verdicts have, with mirror images; none where they lie on no scale.

    Examples
    --------
    >>> data = Comparisons.from_arrays("j", ["a"] * 3, ["b"] * 3, [0.25, 0.5, 1.0])
    >>> number_of_grades(data), number_of_grades(data.with_outcome([0.1, 0.77, 0.345]))
    (5, 0)
    """
    return 0 if points_of_scale(data.outcome) is None else len(ORDINAL.check(data.outcome).verdicts)


def say_grades(chosen: Chosen, n_grades: int, scope: str, reason: str, number: float = np.nan) -> None:
    """Lines about the grades and whose their thresholds are."""
    chosen.say("ties", "ordinal", f"{n_grades} grades at equal steps, which read the same from both sides", n_grades)
    chosen.say("scale", scope, reason, number)


def of_grades(data: Comparisons, asked: Asked, chosen: Chosen, step: Callable[[str], None]) -> HJAResults | None:
    """The model of graded verdicts, with lines about the scale; None where there are no more than three grades.

    Thresholds are common, unless judges have enough verdicts for their own, a score test says that they differ, and BIC agrees.
    """
    if (n_grades := number_of_grades(data)) <= 3:
        return None
    lines = len(chosen.lines)
    common = Search(data, asked, {"ties": "ordinal", "tie": "common"}, step).best(chosen)
    found = common
    reason, number = "there is one judge, or one voice of all", np.nan
    if data.n_judges > 1:
        test = own_parameters_test(common.fit) if common.fit.penalty is None else None
        reason = (
            "cannot be told from judge to judge"
            if test is None
            else f"judges do not differ beyond chance ({test.told})"
        )
        number = np.nan if test is None else test.statistic
        few = int(np.bincount(data.judge_index, data.weight, data.n_judges).min())
        if test is not None and test.p_value < LEVEL and few >= limits.LIGHT_JUDGE:
            again = Chosen(chosen.lines[:lines])
            own = Search(data, asked, {"ties": "ordinal", "tie": "judge"}, step).best(again)
            gain = common.bic - own.bic
            has_own = own.converged and own.fit.penalty is None and gain > 0
            reason, number = (
                f"BIC is {'lower' if gain > 0 else 'higher'} by {abs(gain):,.4g} with one for each judge",
                gain,
            )
            if has_own:
                chosen.lines[:], found = again.lines, own
        elif test is not None and test.p_value < LEVEL:
            reason = f"judges differ ({test.told}), and some have too few verdicts for thresholds of their own"
    say_grades(chosen, n_grades, "common" if found is common else "judge", reason, number)
    return found
