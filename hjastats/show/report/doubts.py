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
    if fit.layout.has_own_parameters:
        return "Ask these judges about more pairs, or take judges as a sample: judges='sample'."
    return "Ask for verdicts that link the groups of items; until then compare within a group only."


# The gist for who decides, and what to do, by the topic of a finding: in the order of how much they matter.
TO_DO: dict[str, tuple[str, str | Callable[[Fit], str]]] = {
    "separation": (
        "Some items have no finite score.",
        "Rank with fit_regularized(), which gives every item a finite score.",
    ),
    "identification": (
        "The data do not determine the answer.",
        "Ask for more verdicts, or fit with fewer parameters, or with fit_regularized().",
    ),
    "left out": (
        "Not all verdicts are in this ranking.",
        "Rank all groups of items, each with a zero of its own, by unlinked='apart', or one group after the other.",
    ),
    "few verdicts": ("There are next to no verdicts.", "Ask for more verdicts before you rank."),
    "convergence": (
        "The search did not finish.",
        "Do not use these numbers: result.model.fit(n_random=20) tries more starts.",
    ),
    "reading": ("The file may have been misread.", "Say how the file is to be read, and rank again."),
    "errors": (
        "There are no standard errors.",
        "Do not compare items by these numbers before there are standard errors.",
    ),
    "connectivity": ("Comparisons do not link all items.", _connectivity),
    "tracking": (
        "The other judges do not follow the target everywhere.",
        "Look at the items that are named: there only more verdicts of the target help.",
    ),
    "prompts": ("There are few prompts.", "Ask about more prompts, rather than more often about the same."),
    "sample": ("There are few judges.", "Ask further judges, rather than the same ones again."),
    "position test": ("Judges go by the order of showing.", _POSITION),
    "traits": (
        "Items are more than their traits.",
        "Let every item have an effect of its own, random='items': intervals are wider, and hold for new items.",
    ),
    "camps": ("The judges fall into camps.", "Rank each camp by itself; one ranking for all may please nobody."),
    "bias": ("The intervals are too short.", "Ask fewer judges more often, or take them as a sample: judges='sample'."),
    "redundancy": (
        "Some judges are copies of others.",
        "Count near-copies once: leave out all but one with without_judges().",
    ),
    "goodness of fit": (
        "The model does not fit all the data.",
        "Try another rank with select_rank(), and position='judge'.",
    ),
    "first share": ("A judge goes by the order of showing.", _first_share),
    "swaps": ("Verdicts turn round with the order.", _swaps),
    "tie rates": ("Judges tie at different rates.", "Fit ties='davidson', tie='judge'."),
    "ties": (
        "Ties vary less than the model says.",
        "Take errors that do not rely on it: cov_type='HC0', or 'cluster' by prompt.",
    ),
    "scale": (
        "The scale of the verdicts is in doubt.",
        "Read the scale as wins, ties and losses, and see whether the ranking changes.",
    ),
    "stability": ("The ranking changes within the data.", "Rank both halves by themselves before trusting the whole."),
    "sensitivity": (
        "Some judges hardly follow the others.",
        "They count for little here already. Under Judges stands what to do about each.",
    ),
    "leverage": (
        "A single judge shapes the disagreement.",
        "Rank without this judge, by without_judges(), and see what changes.",
    ),
    "taste": ("Sensitivity and taste cannot be told apart.", "Fit a lower rank."),
    "quadrature": ("The numbers are not exact yet.", "Raise n_quadrature."),
    "order": ("Items were not shown in both orders.", _BOTH_ORDERS),
    "optima": (
        "There may be a better solution.",
        "See whether result.model.fit(n_random=20), from more starts, comes back to the best optimum.",
    ),
    "rectified": (
        "The target and the others disagree.",
        "Prefer the labels of the target to those of the others for these items.",
    ),
    "dropped": (
        "Some verdicts could not be used.",
        "Read some of the answers that were dropped: whether they depend on the items.",
    ),
    "weights": (
        "Rows may stand for several verdicts.",
        "Read the data with that column as weight, if rows stand for several verdicts.",
    ),
    "directions": (
        "Single directions of disagreement are unclear.",
        "Take the disagreement as a whole, not its single directions.",
    ),
}


@dataclass(frozen=True)
class Doubt:
    """A reason for distrust.

    Attributes
    ----------
    topic, gist, text, action : str
    """

    topic: str
    gist: str
    text: str
    action: str


def doubts(fit: Fit, findings: Iterable[Finding]) -> list[Doubt]:
    """The findings that warn, the gravest first."""
    order = {topic: number for number, topic in enumerate(TO_DO)}
    warned = [Doubt(found.topic, *_gist(fit, found.topic, found.text)) for found in findings if found.is_warning]
    # What the fit takes care of comes last.
    warned.sort(key=lambda doubt: (doubt.action.startswith("Nothing"), order.get(doubt.topic, len(order))))
    said = [doubt.action for doubt in warned]
    return [replace(doubt, action="As above.") if doubt.action in said[:i] else doubt for i, doubt in enumerate(warned)]


def _gist(fit: Fit, topic: str, text: str) -> tuple[str, str, str]:
    gist, action = TO_DO.get(topic, ("", ""))
    return gist, text, action(fit) if callable(action) else action
