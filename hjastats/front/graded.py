"""Verdicts with more than three grades: taken as grades, on a scale that all judges share or each has for itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import limits
from ..data.comparisons import Comparisons
from ..data.grades import number_of_grades
from ..diagnostics.order import LEVEL
from ..diagnostics.scales import own_parameters_test
from ..results import HJAResults
from .asked import Asked, Chosen
from .search import Search, why_no_estimate


def say_grades(chosen: Chosen, n_grades: int, scope: str, reason: str, number: float = np.nan) -> None:
    """Lines about the grades and whose their thresholds are."""
    chosen.say("ties", "ordinal", f"{n_grades} grades at equal steps, which read the same from both sides", n_grades)
    chosen.say("scale", scope, reason, number)


def of_grades(data: Comparisons, asked: Asked, chosen: Chosen, step: Callable[[str], None]) -> HJAResults | None:
    """The model of graded verdicts, with lines about the scale; None where there are no more than three grades.

    Thresholds are common, unless judges have enough verdicts for their own, a score test says that they differ, and BIC agrees.
    """
    if (n_grades := number_of_grades(data.outcome)) <= 3:
        return None
    lines = len(chosen.lines)
    common = Search(data, asked, {"ties": "ordinal", "tie": "common"}, step).best(chosen)
    found = common
    test = own_parameters_test(common.fit) if data.n_judges > 1 and common.fit.penalty is None else None
    number = np.nan if test is None else test.statistic
    few = int(np.bincount(data.judge_index, data.weight, data.n_judges).min())
    if data.n_judges == 1:
        reason = "there is one judge, or one voice of all"
    elif test is None:
        told = "after a ridge" if common.fit.penalty is not None else "here"
        reason = f"whether judges differ cannot be tested {told}"
    elif test.p_value >= LEVEL:
        reason = f"judges do not differ beyond chance ({test.told})"
    elif few < limits.LIGHT_JUDGE:
        reason = f"judges differ ({test.told}), and some have too few verdicts for thresholds of their own"
    else:
        again = Chosen(chosen.lines[:lines])
        own = Search(data, asked, {"ties": "ordinal", "tie": "judge"}, step).best(again)
        if own.converged and own.fit.penalty is None:
            number = common.bic - own.bic
            reason = f"BIC is {'lower' if number > 0 else 'higher'} by {abs(number):,.4g} with one for each judge"
            if number > 0:
                chosen.lines[:], found = again.lines, own
        else:
            reason = f"judges differ ({test.told}), but with one for each {why_no_estimate(own, again)}"
    say_grades(chosen, n_grades, "common" if found is common else "judge", reason, number)
    return found
