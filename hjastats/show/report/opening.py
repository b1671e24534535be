"""The first sentences of a report: who leads, how sure that is, and what more data would buy."""

from __future__ import annotations

import pandas as pd

from ...data.comparisons import Comparisons
from ...errors import OptionError
from ...fitted import Fit
from ...inference.decisions import HeadToHead, head_to_head
from ...inference.planning import sample_size
from ...words import and_more, counted
from .standing import Standing

# Items named in a sentence before the rest is counted.
NAMED = 3
# So many times the present verdicts are more than anybody gives.
TOO_MANY = 10.0


def size(data: Comparisons) -> str:
    """What was seen.

    Examples
    --------
    >>> size(Comparisons.from_arrays(["j"], ["a"], ["b"], [1]))
    '1 verdict of 1 judge on 2 items'
    """
    who = f"{counted(data.n_judges, 'judge')} on {counted(data.n_items, 'item')}"
    return f"{counted(data.n_comparisons, 'verdict')} of {who}"


def no_ranking(ahead: list[str], why_no_errors: str = "") -> list[str]:
    """What to say without a ranking; ``ahead`` are items that no finite score can reach.

    Of an estimate that exists, why it has no standard errors.
    """
    if why_no_errors:
        return [f"There is no ranking to report: {why_no_errors} What follows shows what can be said."]
    first = [f"{_listed(ahead)} stay{'s' if len(ahead) == 1 else ''} ahead of all others."] if ahead else []
    return [
        *first,
        "There is no ranking to report: the maximum likelihood estimate does not exist or is not determined. "
        "What follows shows what can be said; a regularised fit ranks all items.",
    ]


def leadership(ranking: pd.DataFrame) -> str:
    """Who leads, and who might as well.

    Examples
    --------
    >>> table = pd.DataFrame({"place_lower": [1, 2], "place_upper": [1, 2]}, index=["a", "b"])
    >>> leadership(table)
    'a leads: no other item can be first (95%, all comparisons at once).'
    """
    first = str(ranking.index[0])
    candidates = [str(item) for item in ranking.index[ranking["place_lower"] == 1]]
    if len(candidates) == 1:
        return f"{first} leads: no other item can be first (95%, all comparisons at once)."
    others = _listed([item for item in candidates if item != first])
    return f"{first} has the highest score, but {others} may be first as well (95%, all comparisons at once)."


def resolution(standing: Standing) -> str:
    """How many orders and places are known."""
    n = len(standing.items)
    known = int((standing.table["place_lower"] == standing.table["place_upper"]).sum())
    return f"pairs of items in a known order, all at once with 95%; {known:,} of {n:,} places known"


def runner_up(fit: Fit, standing: Standing) -> HeadToHead | None:
    """The leader against the second."""
    return head_to_head(fit, standing.items[0], standing.items[1]) if len(standing.items) > 1 else None


def what_more_buys(fit: Fit, standing: Standing, n_verdicts: float) -> list[str]:
    """How many further verdicts settle the first place, or the first place below it that is open."""
    try:
        top = sample_size(fit, "top2", power=0.8, alpha=0.05)
        told = [top.sentence]
        pair = standing.undecided
        if top.verdicts == 0.0 and pair is not None:
            top = sample_size(fit, pair, power=0.8, alpha=0.05)
            is_settled = (standing.table["place_lower"] == 1).sum() == 1
            told = ["The first place is settled." if is_settled else told[0], f"Next below: {top.sentence}"]
        if top.verdicts > TOO_MANY * n_verdicts and top.best > n_verdicts:
            told.append("That is far more than there are: take the two for equal, or decide by price.")
    except (OptionError, ArithmeticError):
        return []
    return told


def _listed(names: list[str]) -> str:
    if len(names) > NAMED:
        return and_more(names, NAMED)
    return " and ".join(", ".join(names).rsplit(", ", 1))
