"""What to distrust, the gravest first, and what to do about each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from ...diagnostics.findings import Finding
from ...fitted import Fit

# Findings that say of the standard errors in use that they are too small.
TOO_NARROW = ("prompts", "bias", "sample")

_BOTH_ORDERS = "From now on show every pair in both orders."
_POSITION = "Fit position='judge', which keeps the order of presentation out of the scores."


def _first_share(fit: Fit) -> str:
    if fit.layout.terms.scope("position") == "judge":
        return f"Nothing for this ranking, which takes the preference out. {_BOTH_ORDERS}"
    return _POSITION


def _swaps(fit: Fit) -> str:
    return _first_share(fit).replace("the preference", "the position")


def _connectivity(fit: Fit) -> str:
    if fit.layout.has_judge_parameters:
        return "Ask these judges about more pairs, or take judges as a sample: judges='sample'."
    return "Ask for verdicts that link the groups of items; until then compare within a group only."


# What to do, by the topic of a finding: in the order of how much they matter.
TO_DO: dict[str, str | Callable[[Fit], str]] = {
    "separation": "Rank with fit_regularized(), which gives every item a finite score.",
    "identification": "Ask for more verdicts, or fit with fewer parameters, or with fit_regularized().",
    "convergence": "Do not use these numbers: fit again from more starts, n_starts=20.",
    "reading": "Say how the file is to be read, and rank again.",
    "errors": "Do not compare items by these numbers before there are standard errors.",
    "connectivity": _connectivity,
    "tracking": "Look at the items that are named: there only more verdicts of the target help.",
    "prompts": "Ask about more prompts, rather than more often about the same.",
    "sample": "Ask further judges, rather than the same ones again.",
    "position test": _POSITION,
    "camps": "Rank each camp by itself; one ranking for all may please nobody.",
    "bias": "Ask fewer judges more often, or take them as a sample: judges='sample'.",
    "redundancy": "Count near-copies once: leave out all but one with without_judges().",
    "goodness of fit": "Try another rank with select_rank(), and position='judge'.",
    "first share": _first_share,
    "swaps": _swaps,
    "tie rates": "Fit ties='davidson', tie='judge'.",
    "ties": "Take errors that do not rely on it: cov_type='HC0', or 'cluster' by prompt.",
    "scale": "Read the scale as wins, ties and losses, and see whether the ranking changes.",
    "stability": "Rank both halves by themselves before trusting the whole.",
    "sensitivity": "Look at these judges below; without_judges() ranks without them.",
    "leverage": "Rank without this judge, by without_judges(), and see what changes.",
    "taste": "Fit a lower rank.",
    "quadrature": "Raise n_quadrature.",
    "order": _BOTH_ORDERS,
    "optima": "Fit again from more starts, n_starts=20, and see whether the best optimum comes back.",
    "rectified": "Prefer the labels of the target to those of the others for these items.",
    "dropped": "Read some of the answers that were dropped: whether they depend on the items.",
    "weights": "Read the data with that column as weight, if rows stand for several verdicts.",
    "directions": "Take the disagreement as a whole, not its single directions.",
}


@dataclass(frozen=True)
class Doubt:
    """A reason for distrust.

    Attributes
    ----------
    topic, text, action : str
    """

    topic: str
    text: str
    action: str


def doubts(fit: Fit, findings: Iterable[Finding]) -> list[Doubt]:
    """The findings that warn, the gravest first."""
    order = {topic: number for number, topic in enumerate(TO_DO)}
    warned = [Doubt(found.topic, found.text, _action(fit, found.topic)) for found in findings if found.is_warning]
    # What the fit takes care of comes last.
    warned.sort(key=lambda doubt: (doubt.action.startswith("Nothing"), order.get(doubt.topic, len(order))))
    said = [doubt.action for doubt in warned]
    return [replace(doubt, action="As above.") if doubt.action in said[:i] else doubt for i, doubt in enumerate(warned)]


def _action(fit: Fit, topic: str) -> str:
    known = TO_DO.get(topic, "")
    return known(fit) if callable(known) else known
