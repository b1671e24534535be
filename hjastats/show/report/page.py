"""What stands on the page, and in which order."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from importlib import import_module, metadata, resources
from typing import Any, Protocol

import pandas as pd

from ... import limits
from ...diagnostics.findings import Findings
from ...fitted import Fit, Observations
from ...inference.apart import are_apart
from ...inference.estimates import scores
from ...words import counted, percent
from ..summary import Heading, summarise
from .apart import boards, leaderboards, scores_by_group, standings
from .apart import sentences as apart_sentences
from .board import board, family_hues, shown_scales
from .doubts import TOO_NARROW, Doubt, doubts
from .downloads import Download, download
from .embedded import embedded
from .html_tables import table
from .opening import leadership, no_ranking, resolution, runner_up, size, what_more_buys
from .panel import GRAVITY, judges_by_gravity, judges_table
from .pictures import pictures
from .standing import SCALES, Standing

SCORES = {
    "group": ("group", "d"),
    "estimate": ("score", ".3f"),
    "std_err": ("std. error", ".3f"),
    "interval": ("95% interval", ""),
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
TABS = {
    "slopes": "Rankings",
    "disagreement": "What the consensus misses",
    "profiles": "Profiles",
    "leverage": "Who departs",
}


# Letters of a name beyond which the leaderboard makes room for it.
LONG = 22


class Section(Protocol):
    """What has a part of a page of its own."""

    def section(self) -> str:
        """The part, as HTML."""
        ...


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
    panel : tuple of Fit and Observations, optional
        Where the judges are those of another fit than the ranking.
    groups : str
        A section about groups, as HTML in which labels are only text.
    """

    fit: Fit
    observed: Observations
    findings: Findings
    heading: Heading
    relatives: pd.DataFrame | None
    choices: Sequence[tuple[str, str, str]] = ()
    panel: tuple[Fit, Observations] | None = None
    groups: str = ""

    @property
    def judged(self) -> tuple[Fit, Observations]:
        """The fit and the data with the judges."""
        return self.panel or (self.fit, self.observed)

    @cached_property
    def standing(self) -> Standing | None:
        """Who stands where, if there is a ranking."""
        return Standing.of(self.fit)

    @cached_property
    def apart(self) -> list[Standing]:
        """Who stands where in each group of items, where these are apart."""
        return standings(self.fit) if are_apart(self.fit.layout) else []


def render(subject: Subject, title: str | None = None) -> str:
    """The page as HTML.

    Raises
    ------
    ImportError
        When jinja2 or matplotlib are missing.
    """
    try:
        import_module("matplotlib")
        from jinja2 import Environment, StrictUndefined
    except ImportError:
        raise ImportError("reports need jinja2 and matplotlib: pip install 'hjastats[report]'.") from None
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(_part("page.html.j2"))
    return template.render(**_content(subject, title), style=_part("page.css"), script=_part("page.js"))


def _part(name: str) -> str:
    """A file of this folder."""
    return (resources.files(__name__.rpartition(".")[0]) / name).read_text(encoding="utf-8")


def _content(subject: Subject, title: str | None) -> dict[str, Any]:
    fit, observed, findings = subject.fit, subject.observed, subject.findings
    standing, warned = subject.standing, doubts(fit, findings)
    judges = judges_by_gravity(*subject.judged)
    drawn = pictures((fit, observed), subject.judged)
    caption = "Models for the same data, from the smallest up; smaller AIC and BIC are better"
    files = _files(subject, judges, warned)
    numbers = None if standing is None else embedded(standing, subject.judged[0])
    return {
        "title": title or "Ranking report",
        "size": size(observed.data),
        "model": f"{'anchored ' if subject.panel else ''}{fit.layout.description}",
        "n_items": len(fit.layout.items),
        "doubts": warned,
        "checks": findings.notes,
        "choices": list(subject.choices),
        "judges": judges_table(judges),
        "models": None if subject.relatives is None else table(subject.relatives, caption, MODELS, "model"),
        "summary": str(summarise(fit, findings, subject.heading)),
        "pictures": drawn,
        "tabs": TABS,
        "has_disagreement": bool(TABS.keys() & drawn.keys()),
        "groups": subject.groups,
        "facts": _facts(subject),
        "files": files,
        "numbers": numbers,
        "gists": _gists(subject, judges, warned, ranks_differ="slopes" in drawn),
        "citation": _citation(),
        "boards": [],
        **_first_screen(subject, warned),
    }


def _first_screen(subject: Subject, warned: list[Doubt]) -> dict[str, Any]:
    """A ranking, those of groups that are apart, or why there is none."""
    if subject.standing is not None:
        return _with_ranking(subject, subject.standing, warned)
    return _with_boards(subject, warned) if subject.apart else _without_ranking(subject.fit)


def _with_ranking(subject: Subject, standing: Standing, warned: list[Doubt]) -> dict[str, Any]:
    """The first screen."""
    fit, data = subject.fit, subject.observed.data
    sentences = [leadership(standing.table), *_narrow(warned)]
    if len(standing.items) < data.n_items:
        among = f"These are the {len(standing.items)} items with the highest scores, compared among themselves."
        sentences.insert(1, among)
    hues, families = family_hues(standing.items, data.item_metadata)
    rows, against = board(standing, hues), runner_up(fit, standing)
    tiles = [
        {
            "what": f"chance that {standing.items[0]} is the best",
            "value": rows[0].best.replace(">", "> ").replace("<", "< "),
        }
    ]
    if against is not None:
        between = f"{percent(against.ci_lower, 0)} to {percent(against.ci_upper, 0)}"
        what = f"preferred to {against.second}, second by score ({between})"
        tiles.append({"what": what, "value": percent(against.probability, 0)})
    ordered, pairs = standing.told_apart
    tiles.append({"what": resolution(standing), "value": f"{ordered:,} of {pairs:,}"})
    return {
        "verdict": sentences,
        "board": rows,
        "n_places": int(standing.table["place_upper"].max()),
        "n_ranked": len(standing.items),
        "scales": shown_scales(),
        "has_long_names": max(map(len, standing.items)) > LONG,
        "families": families,
        "tiles": tiles,
        "against": against.sentence if against is not None else "",
        "buys": what_more_buys(fit, standing, data.n_comparisons),
    }


def _narrow(warned: list[Doubt]) -> list[str]:
    """What to think of ranges and intervals, where they are too narrow."""
    narrow = [number for number, doubt in enumerate(warned, start=1) if doubt.topic in TOO_NARROW]
    return [f"But all ranges and intervals are too narrow: see reason {narrow[0]} to distrust."] if narrow else []


def _with_boards(subject: Subject, warned: list[Doubt]) -> dict[str, Any]:
    """The first screen, where every group of items is ranked by itself."""
    metadata = subject.observed.data.item_metadata
    made = boards(subject.apart, metadata)
    return {
        "verdict": [*apart_sentences(subject.fit), *_narrow(warned)],
        "board": None,
        "boards": made,
        "scales": shown_scales(),
        "has_long_names": max(len(row.item) for each in made for row in each.rows) > LONG,
        "families": family_hues(subject.fit.layout.items, metadata)[1],
        "n_ranked": sum(len(standing.items) for standing in subject.apart),
        "buys": [],
    }


def _without_ranking(fit: Fit) -> dict[str, Any]:
    shown = scores_by_group(fit).head(limits.PAGE_ROWS)
    shown = shown.assign(interval=_interval(shown))
    caption = "Consensus scores" + ("; items without one run to infinity" if shown["estimate"].isna().any() else "")
    caption += "; each group of items has a zero of its own" if are_apart(fit.layout) else ""
    verdict = no_ranking(fit.ahead, fit.why_no_errors if fit.converged else "")
    return {"verdict": verdict, "scores": table(shown, caption, SCORES, "item"), "board": None, "buys": []}


def _interval(frame: pd.DataFrame) -> list[str]:
    return [
        "–" if pd.isna(low) else f"{low:.2f} to {high:.2f}"
        for low, high in zip(frame["ci_lower"], frame["ci_upper"], strict=True)
    ]


def _files(subject: Subject, judges: pd.DataFrame, warned: list[Doubt]) -> dict[str, Download]:
    """Every table of the page, and those too long for it, with exact numbers."""
    standing, (fit, _) = subject.standing, subject.judged
    made = []
    if subject.apart:
        told = "places, chances, and scores on every scale, within every group of items"
        made.append(download("leaderboard", told, leaderboards(subject.apart)))
    elif standing is None:
        made.append(download("scores", "consensus scores with standard errors", scores_by_group(subject.fit)))
    else:
        shown = [standing.scales[scale].add_prefix(f"{scale}_") for scale in SCALES]
        made.append(
            download(
                "leaderboard", "places, chances, and scores on every scale", pd.concat([standing.table, *shown], axis=1)
            )
        )
        if len(standing.items) <= limits.RANKED_OF_MANY:
            made.append(download("places", "how likely every item has every place", standing.probability))
        if (pairs := standing.listed_pairs(limits.PAGE_PAIRS)) is not None:
            made.append(download("pairs", "every pair of items: probability, difference, interval", pairs, index=False))
    numbers = judges.drop(columns=["position_kind", "has_halves", "is_weak"])
    made.append(download("judges", "all that is known of every judge", numbers))
    if fit.layout.structure.judges_differ and len(fit.layout.judges) * len(fit.layout.items) <= limits.PAGE_NUMBERS / 2:
        made.append(download("scores_by_judge", "scores of every judge", scores(fit)))
    if subject.relatives is not None:
        made.append(download("models", "models for the same data", subject.relatives))
    if subject.choices:
        chosen = pd.DataFrame(subject.choices, columns=["what", "chosen", "reason"])
        made.append(download("choices", "what was chosen, and why", chosen, index=False))
    actions = {doubt.text: doubt.action for doubt in warned}
    found = [(f.topic, f.is_warning, f.text, actions.get(f.text, "")) for f in subject.findings]
    checks = pd.DataFrame(found, columns=["topic", "is_warning", "finding", "what_to_do"])
    made.append(download("checks", "everything that was checked", checks, index=False))
    return {file.name: file for file in made}


def _gists(subject: Subject, judges: pd.DataFrame, warned: list[Doubt], *, ranks_differ: bool) -> dict[str, str]:
    """A line beside the heading of every folded section."""
    fit, (judged, _) = subject.fit, subject.judged
    grave = judges["gravity"].to_numpy(int)
    told = [f"{int((grave == level).sum())} to {GRAVITY[level]}" for level in (3, 2) if (grave == level).any()]
    of_them = f"{', '.join(told)} of {counted(len(grave), 'judge')}".replace("to look", "to look at").replace(
        "to act", "to act on"
    )
    n_warned = len(warned)
    return {
        "judges": of_them if told else f"nothing to do about {counted(len(grave), 'judge')}",
        "disagreement": "who ranks differently, and on what" if ranks_differ else "how sharply judges tell items apart",
        "choices": f"{len(subject.choices)} chosen by rules" if subject.choices else "named, not chosen",
        "checks": f"{n_warned} to distrust, {len(subject.findings.notes)} without concern",
        "facts": f"{fit.n_comparisons:,.0f} verdicts, {judged.df:g} parameters",
    }


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
        # Of no maximum.
        *([] if subject.panel else [("AIC, BIC", f"{fit.aic:,.1f}, {fit.bic:,.1f}")]),
        ("converged", "yes" if fit.converged else "no"),
        ("standard errors", fit.choice.description),
        ("made", f"{datetime.now():%Y-%m-%d %H:%M}, Python {platform.python_version()}"),
        ("versions", ", ".join(f"{name} {metadata.version(name)}" for name in packages)),
    ]


def _citation() -> str:
    software = f"hjastats: ranking from pairwise verdicts of several judges, version {metadata.version('hjastats')}"
    return f"The hjastats developers ({datetime.now():%Y}). {software}."
