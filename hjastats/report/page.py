"""What stands on the page, and in which order."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Callable
from datetime import datetime
from functools import partial
from importlib import metadata, resources
from typing import Any

import pandas as pd

from .. import limits
from ..errors import IdentificationError, SizeError
from ..inference.comparison import compare
from .pictures import Picture, picture
from .tables import Table, table
from .verdict import verdict

RANKING = {
    "place": ("place", "d"),
    "places": ("possible places", ""),
    "score": ("score", ".3f"),
    "std_err": ("std. error", ".3f"),
    "interval": ("95% interval", ""),
    "group": ("tied group", ""),
}
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


# Whose families a figure shows in colour.
COLOURED = {
    "ranking": ("item",),
    "sensitivity": ("judge",),
    "position": ("judge",),
    "disagreement": ("judge", "item"),
    "leverage": ("judge",),
    "profiles": ("judge",),
    "probabilities": ("item",),
    "comparisons": ("item",),
}


def render(results: Any, title: str | None = None) -> str:
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
    return template.render(**_content(results, title), style=parts["page.css"], script=parts["page.js"])


def _content(results: Any, title: str | None) -> dict[str, Any]:
    ranking = places(results)
    findings = results.findings
    cards = results.judge_cards()
    return {
        "title": title or "Ranking report",
        "verdict": verdict(results, ranking),
        "warnings": [finding.text for finding in findings if finding.is_warning],
        "checks": [finding.text for finding in findings if not finding.is_warning],
        "ranking": _ranking_table(results, ranking),
        "judges": table(cards, "What the data and the model say about each judge", JUDGES, "judge"),
        "sentences": list(cards["sentence"].items()),
        "models": _model_table(results),
        "summary": str(results.summary()),
        "pictures": _pictures(results),
        "facts": _facts(results),
        "citation": _citation(),
    }


def places(results: Any) -> pd.DataFrame | None:
    """Places of all items, or of the leading ones among themselves if there are too many; None if the fit has none."""
    if not results.converged:
        return None
    try:
        return results.ranking()
    except SizeError:
        return results.ranking(items=list(results._best_first.index[: limits.RANKED_OF_MANY]))


def _ranking_table(results: Any, ranking: pd.DataFrame | None) -> Table:
    n = len(results.model.items)
    if ranking is None:
        shown = results.consensus.head(limits.LISTED_OF_MANY)
        shown = shown.assign(interval=_interval(shown))
        return table(shown, "Consensus scores; items without one run to infinity", SCORES, "item")
    places = [_range(low, high) for low, high in zip(ranking["place_lower"], ranking["place_upper"], strict=True)]
    shown = ranking.assign(interval=_interval(ranking), places=places)
    caption = "Possible places hold for all items at once with 95%; items that share a letter cannot be told apart"
    if len(ranking) < n:
        caption = f"The {len(ranking)} items of {n:,} with the highest scores, ranked among themselves. {caption}"
    return table(shown, caption, RANKING, "item")


def _interval(frame: pd.DataFrame) -> list[str]:
    return [
        "–" if pd.isna(low) else f"{low:.2f} to {high:.2f}"
        for low, high in zip(frame["ci_lower"], frame["ci_upper"], strict=True)
    ]


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"


def _model_table(results: Any) -> Table | None:
    """The fitted model among its neighbours; None for fits whose likelihood is not a maximum."""
    model = results.model
    if results.estimate.penalty is not None or model.exog is not None or model.judge_exog is not None:
        return None
    relatives = []
    for position in (None, "judge"):
        base = model.with_position(position)
        relatives += [base.pooled(), base.with_rank(0)] + ([base.with_rank(model.rank)] if model.rank else [])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits = [relative.fit(warn_convergence=False) for relative in relatives]
        frame = compare(*fits)
    caption = "Models for the same data, from the smallest up; smaller AIC and BIC are better"
    return table(frame, caption, MODELS, "model")


def _pictures(results: Any) -> dict[str, Picture]:
    """All figures the model has something for."""
    wanted: dict[str, tuple[Callable[..., Any], str]] = {
        "ranking": (results.plot_ranking, "Consensus scores, best item first."),
        "sensitivity": (results.plot_sensitivity, "How sharply each judge follows the consensus; the average is one."),
        "position": (results.plot_position, "Bonus each judge gives to whatever is shown first."),
        "disagreement": (
            results.plot_disagreement,
            "What the consensus does not explain: judges in rows, items in columns, similar ones side by side.",
        ),
        "leverage": (results.plot_leverage, "Size of the disagreement against the sensitivity."),
        "profiles": (results.plot_profiles, "Scores of every judge over the items in the order of the consensus."),
        "probabilities": (
            results.plot_probabilities,
            "Probability that the item of the row is preferred to that of the column.",
        ),
        "calibration": (results.plot_calibration, "Predicted against observed shares."),
        "comparisons": (results.plot_comparisons, "How often items were compared."),
    }
    pictures = {}
    for name, (draw, caption) in wanted.items():
        family = _families(results, name)
        try:
            pictures[name] = picture(partial(draw, family=family) if family else draw, caption, name)
        except (ValueError, IdentificationError):
            # The model has nothing to show here, and the methods say so.
            continue
    return pictures


def _families(results: Any, name: str) -> str | None:
    """The metadata column that gives this figure its colours, if the data have one."""
    data = results.model.comparisons
    known = {"item": data.item_metadata, "judge": data.judge_metadata}
    needed = [known[role] for role in COLOURED.get(name, ())]
    return "family" if needed and all(frame is not None and "family" in frame for frame in needed) else None


def _facts(results: Any) -> list[tuple[str, str]]:
    """Data, model and session."""
    model, data = results.model, results.model.comparisons
    dropped = int(data.dropped["count"].sum()) if len(data.dropped) else 0
    packages = ("hjastats", "numpy", "scipy", "pandas", "statsmodels")
    return [
        ("comparisons", f"{data.n_comparisons:,.0f}"),
        ("judges", f"{data.n_judges}"),
        ("items", f"{data.n_items}"),
        ("ties", f"{float(data.weight[data.outcome == 0.5].sum()):,.0f}, {model.ties}"),
        ("verdicts left out when reading", f"{dropped:,}"),
        ("model", f"{type(model).__name__}, rank {model.rank}, position effects: {model.position or 'none'}"),
        ("log-likelihood", f"{results.llf:,.2f} with {results.df_model:g} parameters"),
        ("AIC, BIC", f"{results.aic:,.1f}, {results.bic:,.1f}"),
        ("converged", "yes" if results.converged else "no"),
        ("standard errors", results.cov_kwds["description"]),
        ("made", f"{datetime.now():%Y-%m-%d %H:%M}, Python {platform.python_version()}"),
        ("versions", ", ".join(f"{name} {metadata.version(name)}" for name in packages)),
    ]


def _citation() -> str:
    software = f"hjastats: ranking from pairwise verdicts of several judges, version {metadata.version('hjastats')}"
    return f"The hjastats developers ({datetime.now():%Y}). {software}."
