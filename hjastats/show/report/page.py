"""What stands on the page, and in which order."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from importlib import metadata, resources
from typing import Any

import pandas as pd

from ... import limits
from ...diagnostics.cards import judge_cards
from ...diagnostics.findings import Findings
from ...fitted import Fit, Observations
from ...inference.estimates import consensus
from ...inference.ranks import leading_places
from ..figures import FitPlots
from ..summary import Heading, summarise
from .html_tables import Table, table
from .opening import verdict
from .vector import Picture, picture

# Findings that say of the standard errors in use that they are too small.
TOO_NARROW = ("prompts", "bias")

RANKING = {
    "place": ("place", "d"),
    "places": ("possible places", ""),
    "score": ("score", ".3f"),
    "std_err": ("std. error", ".3f"),
    "interval": ("95% interval", ""),
    "group": ("tied group", ""),
}
# In place of the tied group, where letters run out.
TIER = {"tier": ("tier", "d")}
SCORES = {"estimate": ("score", ".3f"), "std_err": ("std. error", ".3f"), "interval": ("95% interval", "")}
JUDGES = {
    "comparisons": ("verdicts", ",.0f"),
    "sensitivity": ("sensitivity", ".2f"),
    "sensitivity_se": ("s.e.", ".2f"),
    "position": ("position", "+.2f"),
    "position_se": ("s.e.", ".2f"),
    "first_share": ("first preferred", ".1%"),
    "tie_rate": ("ties", ".1%"),
    "dropped_rate": ("unusable", ".1%"),
    "flip_rate": ("flips", ".1%"),
    "cycle_rate": ("cycles", ".1%"),
    "infit": ("infit", ".2f"),
    "outfit": ("outfit", ".2f"),
    "h": ("disagreement h", ".2f"),
    "information_share": ("information", ".1%"),
}
MODELS = {
    "df": ("parameters", "d"),
    "llf": ("log-likelihood", ",.1f"),
    "aic": ("AIC", ",.1f"),
    "bic": ("BIC", ",.1f"),
    "against": ("tested against", ""),
    "lr": ("likelihood ratio", ",.1f"),
    "lr_df": ("df", "d"),
    "p_value": ("p", "p"),
    "note": ("note", ""),
}


@dataclass(frozen=True)
class Subject:
    """What a page is about: a fit with its data, what was found, and what was worked out elsewhere.

    Attributes
    ----------
    fit : Fit
    observed : Observations
    findings : Findings
    heading : Heading
    relatives : pandas.DataFrame or None
        The comparison with neighbouring models, if they were fitted.
    choices : sequence of (what, chosen, reason)
        What was chosen for the user.
    """

    fit: Fit
    observed: Observations
    findings: Findings
    heading: Heading
    relatives: pd.DataFrame | None
    choices: Sequence[tuple[str, str, str]] = ()


def render(subject: Subject, title: str | None = None) -> str:
    """The page as HTML.

    Raises
    ------
    ImportError
        When jinja2 or matplotlib are missing.
    """
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError:
        raise ImportError("reports need jinja2 and matplotlib: pip install 'hjastats[report]'.") from None
    folder = resources.files(__name__.rpartition(".")[0])
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string((folder / "page.html.j2").read_text(encoding="utf-8"))
    parts = {name: (folder / name).read_text(encoding="utf-8") for name in ("page.css", "page.js")}
    return template.render(**_content(subject, title), style=parts["page.css"], script=parts["page.js"])


def _content(subject: Subject, title: str | None) -> dict[str, Any]:
    fit, observed, findings = subject.fit, subject.observed, subject.findings
    ranking, cards = leading_places(fit), judge_cards(fit, observed)
    doubts = [finding.text for finding in findings if finding.is_warning and finding.topic in TOO_NARROW]
    caption = "Models for the same data, from the smallest up; smaller AIC and BIC are better"
    return {
        "title": title or "Ranking report",
        "verdict": verdict(observed.data, ranking, fit.ahead, doubts),
        "warnings": findings.warnings,
        "checks": findings.notes,
        "choices": list(subject.choices),
        "ranking": _ranking_table(fit, ranking),
        "judges": table(cards, "What the data and the model say about each judge", JUDGES, "judge"),
        "sentences": list(cards["sentence"].items()),
        "models": None if subject.relatives is None else table(subject.relatives, caption, MODELS, "model"),
        "summary": str(summarise(fit, findings, subject.heading)),
        "pictures": _pictures(fit, observed),
        "facts": _facts(subject),
        "citation": _citation(),
    }


def _ranking_table(fit: Fit, ranking: pd.DataFrame | None) -> Table:
    n = len(fit.layout.items)
    if ranking is None:
        shown = consensus(fit).head(limits.LISTED_OF_MANY)
        shown = shown.assign(interval=_interval(shown))
        return table(shown, "Consensus scores; items without one run to infinity", SCORES, "item")
    places = [_range(low, high) for low, high in zip(ranking["place_lower"], ranking["place_upper"], strict=True)]
    shown = ranking.assign(interval=_interval(ranking), places=places)
    has_letters = ranking["group"].str.fullmatch("[a-z]+").all()
    told = (
        "items that share a letter cannot be told apart"
        if has_letters
        else "no item of a tier can be told from its first"
    )
    caption = f"Possible places hold for all items at once with 95%; {told}"
    if len(ranking) < n:
        caption = f"The {len(ranking)} items of {n:,} with the highest scores, ranked among themselves. {caption}"
    columns = RANKING if has_letters else {name: RANKING[name] for name in RANKING if name != "group"} | TIER
    return table(shown, caption, columns, "item")


def _interval(frame: pd.DataFrame) -> list[str]:
    return [
        "–" if pd.isna(low) else f"{low:.2f} to {high:.2f}"
        for low, high in zip(frame["ci_lower"], frame["ci_upper"], strict=True)
    ]


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"


def _pictures(fit: Fit, observed: Observations) -> dict[str, Picture]:
    """All figures the model has something for."""
    figures, pictures = FitPlots(fit, lambda: observed), {}
    known = {"item": observed.data.item_metadata, "judge": observed.data.judge_metadata}
    for name, method in vars(FitPlots).items():
        if not hasattr(method, "caption"):
            continue
        # The metadata column that gives a figure its colours, if the data have one.
        needed = [known[role] for role in method.coloured]
        has_families = bool(needed) and all(frame is not None and "family" in frame for frame in needed)
        draw = partial(getattr(figures, name), **({"family": "family"} if has_families else {}))
        try:
            pictures[name] = picture(draw, method.caption, name)
        except ValueError:
            # The model has nothing to show here, and the methods say so.
            continue
    return pictures


def _facts(subject: Subject) -> list[tuple[str, str]]:
    """Data, model and session."""
    fit, data = subject.fit, subject.observed.data
    ties = float(data.weight[data.outcome == 0.5].sum())
    how = "dropped" if subject.observed.n_ties_dropped else fit.design.response.name
    dropped = int(data.dropped["count"].sum()) if len(data.dropped) else 0
    position = fit.layout.terms.scope("position") or "none"
    packages = ("hjastats", "numpy", "scipy", "pandas", "statsmodels")
    return [
        ("comparisons", f"{data.n_comparisons:,.0f}"),
        ("judges", f"{data.n_judges}"),
        ("items", f"{data.n_items}"),
        ("ties", f"{ties:,.0f}, {how}"),
        ("verdicts left out when reading", f"{dropped:,}"),
        ("model", f"{subject.heading.model}, rank {fit.layout.rank}, position effects: {position}"),
        ("log-likelihood", f"{fit.loglike:,.2f} with {fit.df:g} parameters"),
        ("AIC, BIC", f"{fit.aic:,.1f}, {fit.bic:,.1f}"),
        ("converged", "yes" if fit.converged else "no"),
        ("standard errors", fit.choice.description),
        ("made", f"{datetime.now():%Y-%m-%d %H:%M}, Python {platform.python_version()}"),
        ("versions", ", ".join(f"{name} {metadata.version(name)}" for name in packages)),
    ]


def _citation() -> str:
    software = f"hjastats: ranking from pairwise verdicts of several judges, version {metadata.version('hjastats')}"
    return f"The hjastats developers ({datetime.now():%Y}). {software}."
