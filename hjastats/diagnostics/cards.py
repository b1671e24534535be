"""Everything a fit and its data say about one judge, on one card."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from ..data.swaps import swap_report
from ..fitted import Fit, Observations
from ..inference.contrast_results import two_sided
from ..inference.estimates import effects, leverage, scores, sensitivity
from ..inference.expressions import FIXED
from ..looks import Facts, Piece, Shown, Title
from ..words import LINE_WIDTH, number, shortened
from .adjusted import holm
from .consistency import (
    average_p_values,
    cycle_p_values,
    cycle_rates,
    mean_squares,
    misfit_p_values,
    taste_p_values,
)
from .diagnosis import judge_facts
from .effective import effective_judges
from .findings import EXTREME_SHARE, outlying
from .order import flip_p_values, has_order, order_evidence

# Shares beyond which a habit is worth a clause: ties, verdicts lost when reading, flips and cycles (coins give 1/4), the latter two
# if the judge's own scores do not make them likely.
OFTEN = {"tie_rate": 0.2, "dropped_rate": 0.1, "flip_rate": 0.2, "cycle_rate": 0.1}
# A judge ties often only if it does so this much more often than the others.
MORE_TIES = 1.25
# Infit outside these bounds is worth a clause (Wright and Linacre 1994, for high stakes), and outfit that distorts the measure.
MISFIT = (0.8, 1.2)
DISTORTING = 2.0
# Log-odds below which a position effect is slight: less than 55% against 45%.
SLIGHT = 0.2
# Level, after adjustment for the number of judges, below which a clause accuses.
LEVEL = 0.05


def judge_table(fit: Fit, observed: Observations) -> pd.DataFrame:
    """What the data and the fit say about every judge, one row each, with what their sentences need besides."""
    data, position = observed.data, fit.layout.terms.scope("position") or ""
    known, follows = judge_facts(data, None), sensitivity(fit)
    table = known[["comparisons"]].copy()
    table["sensitivity"], table["sensitivity_se"] = follows["estimate"], follows["std_err"]
    table["sensitivity_lower"], table["sensitivity_upper"] = follows["ci_lower"], follows["ci_upper"]
    table["position_kind"], table["position"], table["position_se"] = position, np.nan, np.nan
    if position:
        effect = effects(fit, "position").reindex(data.judges if position == "judge" else ["all judges"] * len(table))
        table["position"], table["position_se"] = effect["estimate"].to_numpy(), effect["std_err"].to_numpy()
    table["first_share"] = known["first_share"]
    table["tie_rate"] = np.nan if observed.n_ties_dropped else known["tie_rate"]
    table["dropped_rate"] = known["dropped"] / (known["dropped"] + known["comparisons"])
    table["flip_rate"] = known.get("flip_rate", np.nan)
    table["cycle_rate"] = cycle_rates(data.cells)
    halves = (data.outcome > 0) & (data.outcome < 1) & (not fit.design.response.parameters)
    table["has_halves"] = np.bincount(data.judge_index, halves, data.n_judges) > 0
    table["infit"], table["outfit"] = mean_squares(observed.rows, fit.at)
    if fit.separation is not None:
        # Certainty that grows without limit fits whatever it is certain of.
        affected = fit.separation.is_affected.any(axis=1) | np.isnan(table["position"]) & bool(position)
        table.loc[affected, ["infit", "outfit"]] = np.nan
    table[["h", "rho"]] = leverage(fit)
    table = table.join(_p_values(fit, observed, table))
    table["information_share"] = effective_judges(fit).shares.loc[table.index]
    nearest = nearest_judges(scores(fit), 1)
    table["nearest"] = [nearest[judge][0][0] if nearest[judge] else "" for judge in table.index]
    table["sentence"] = [judge_sentence(row) for row in table.to_dict("records")]
    return table


def judge_cards(fit: Fit, observed: Observations) -> pd.DataFrame:
    """The table without what only its sentences need."""
    table = judge_table(fit, observed)
    unsaid = [name for name in map(str, table) if name.startswith("p_") or name.endswith(("_lower", "_upper"))]
    return table.drop(columns=["position_kind", "has_halves", *unsaid])


def _p_values(fit: Fit, observed: Observations, table: pd.DataFrame) -> pd.DataFrame:
    """Of everything a sentence may accuse a judge of, if there is nothing to it; each adjusted for the number of judges."""
    data, p = observed.data, pd.DataFrame(index=table.index)
    error = table["sensitivity_se"].where(table["sensitivity_se"] > 0).to_numpy()
    p["p_average"] = average_p_values(fit, error)
    p["p_against"] = holm(stats.norm.cdf(table["sensitivity"] / error))
    p["p_first"] = p["p_position"] = p["p_flips"] = 1.0
    if has_order(data):
        order = order_evidence(fit, observed)
        p["p_first"] = order.p_first
        p["p_position"] = holm(two_sided((table["position"] / table["position_se"]).to_numpy()))
        if not order.is_designed:
            # An effect that only a model without enough taste has is none.
            p["p_position"] = p[["p_position", "p_first"]].max(axis=1, skipna=False)
        if table["flip_rate"].notna().any():
            swaps = swap_report(data)
            p["p_flips"] = pd.Series(flip_p_values(swaps), swaps.index)
    p["p_ties"] = _tie_p_values(table)
    p["p_cycles"] = cycle_p_values(observed.rows, fit.at)
    p["p_calm"], p["p_erratic"], p["p_impossible"] = misfit_p_values(observed.rows, fit.at)
    p["p_taste"] = 1.0
    alone = outlying(table)
    if len(alone):
        p.loc[alone.index, "p_taste"] = taste_p_values(fit)[table.index.get_indexer(alone.index)]
    return p


def _tie_p_values(table: pd.DataFrame) -> np.ndarray:
    """Of each judge's ties, if it tied as often as the others (Fisher's exact test); one if it hardly does more often."""
    n, ties = table["comparisons"].to_numpy(), (table["tie_rate"] * table["comparisons"]).fillna(0.0).to_numpy()
    if len(table) == 1:
        return np.zeros(1)
    often = ties / n > MORE_TIES * (ties.sum() - ties) / (n.sum() - n)
    p_value = stats.hypergeom.sf(np.rint(ties) - 1, np.rint(n.sum()), np.rint(ties.sum()), np.rint(n))
    return np.where(often, holm(p_value), 1.0)


def judge_card(fit: Fit, observed: Observations, judge: str) -> JudgeCard:
    """The row of one judge, on a card that prints itself.

    Raises
    ------
    ContrastError
        When there is no such judge.
    """
    label = fit.layout.judges[fit.quantities.resolve("gamma", (str(judge),))[0]]
    facts: pd.Series = judge_table(fit, observed).T[label]
    return JudgeCard(label, facts, str(facts["sentence"]), nearest_judges(scores(fit))[label])


@dataclass(frozen=True, repr=False, eq=False)
class JudgeCard(Shown):
    """One judge, in numbers and in a sentence.

    Attributes
    ----------
    judge : str
    facts : pandas.Series
        The judge's row of ``judge_cards()``.
    sentence : str
        The facts that matter, in words.
    nearest : tuple of (str, float)
        Judges with the most similar scores, and the correlation.
    """

    judge: str
    facts: pd.Series
    sentence: str
    nearest: tuple[tuple[str, float], ...]

    def _shown(self) -> list[Piece]:
        facts = self.facts
        unswapped = "no pair in both orders on one prompt by this judge"
        told = [
            ("comparisons", f"{facts['comparisons']:,.0f}, {_tied(facts)}, {facts['dropped_rate']:.1%} unusable"),
            ("sensitivity", _with_error(facts["sensitivity"], facts["sensitivity_se"])),
            ("position", _position(facts)),
            (
                "flips",
                number(facts["flip_rate"], ".1%", unswapped)
                + _if(facts["flip_rate"], " of those decided in both orders"),
            ),
            ("cycles", _cycles(facts["cycle_rate"])),
            ("infit, outfit", f"{_rounded(facts['infit'])}, {_rounded(facts['outfit'])} (1 is expected)"),
            ("disagreement", _disagreement(facts)),
            ("information", _information(facts["information_share"])),
        ]
        near = ", ".join(f"{shortened(name, 20)} ({r:.2f})" for name, r in self.nearest[:2])
        near = f"most like {near}" if near else ""
        otherwise = "withheld" if np.isnan(facts["h"]) else "all judges rank alike in this model"
        told.append(("fitted scores", near or otherwise))
        sentence = textwrap.fill(self.sentence, LINE_WIDTH, max_lines=4, placeholder=" …")
        return [Title(shortened(self.judge, LINE_WIDTH)), sentence, "", Facts(told, width=15, is_cut=True)]


def _if(value: float, text: str) -> str:
    return "" if np.isnan(value) else text


def _tied(facts: pd.Series) -> str:
    return "ties left out" if np.isnan(facts["tie_rate"]) else f"{facts['tie_rate']:.1%} ties"


def _with_error(value: float, error: float) -> str:
    if np.isnan(value):
        return "withheld, it has no finite estimate or there is no consensus"
    if error == 0 or np.isnan(error):
        return f"{value:.2f} " + ("by definition of the model" if error == 0 else "without standard error")
    return f"{value:.2f} (se {error:.2f}, average judge 1)"


def _rounded(value: float) -> str:
    return number(value, ".2f", "withheld")


def _position(facts: pd.Series) -> str:
    share = "no share of first choices"
    if pd.notna(facts["first_share"]):
        share = f"first in {facts['first_share']:.1%} of decided verdicts"
    if not facts["position_kind"]:
        return f"not modelled, {share}"
    if np.isnan(facts["position"]):
        return f"withheld, {share}"
    whose = " for all" if facts["position_kind"] == "common" else ""
    return f"{facts['position']:+.2f} (se {_rounded(facts['position_se'])}){whose}, {share}"


def _information(share: float) -> str:
    return "withheld, some scores run to infinity" if np.isnan(share) else f"{share:.1%} of that about the consensus"


def _cycles(rate: float) -> str:
    return "no triple of items decided" if np.isnan(rate) else f"{rate:.1%} of triples go round (coins: 25%)"


def _disagreement(facts: pd.Series) -> str:
    if np.isnan(facts["h"]):
        return "withheld, it runs to infinity"
    if facts["h"] < 1e-12:
        return "none in this model"
    return f"h = {facts['h']:.2f}, {_rounded(facts['rho'])} times its consensus part"


def judge_sentence(facts: Mapping[Any, Any]) -> str:
    """What the row of a judge amounts to, in words.

    Parameters
    ----------
    facts : mapping
        A row of ``judge_table()``.
    """
    clauses = [_follows(facts), _prefers(facts), *_habits(facts), _fits(facts), _departs(facts)]
    text = "; ".join(clause for clause in clauses if clause)
    return f"{text[:1].upper()}{text[1:]}."


def _follows(facts: Mapping[str, Any]) -> str:
    value, low, high = facts["sensitivity"], facts["sensitivity_lower"], facts["sensitivity_upper"]
    if np.isnan(value):
        return "how closely it follows the consensus is withheld"
    if np.isnan(low):
        return f"its sensitivity of {value:.2f} has no standard error"
    if high - low <= FIXED * abs(value):
        return "follows the consensus like every judge in this model"
    told, differs = f"({value:.2f}, {low:.2f} to {high:.2f})", facts["p_average"] < LEVEL
    if facts["p_against"] < LEVEL:
        return f"ranks against the consensus {told}"
    if low <= 0:
        doubt = (
            "may not follow the consensus at all" if differs and value < 1 else "its sensitivity is hardly determined"
        )
        return f"{doubt} {told}"
    if differs:
        return f"follows the consensus {'more' if value > 1 else 'less'} sharply than average {told}"
    # An interval of one judge that leaves out the average may be chance among so many judges.
    chance = ", as far as the judges can be told apart" if low > 1 or high < 1 else ""
    return f"follows the consensus about as sharply as average{chance} {told}"


def _prefers(facts: Mapping[str, Any]) -> str:
    """The position effect if the judge has one, the share of first choices if none is modelled."""
    if facts["position_kind"] == "judge":
        effect = facts["position"]
        if np.isnan(effect):
            return "its position effect has no finite estimate"
        if not facts["p_position"] < LEVEL:
            return ""
        how = "slightly prefers" if abs(effect) < SLIGHT else "prefers"
        return f"{how} the {'first' if effect > 0 else 'second'} answer ({effect:+.1f} log-odds)"
    share = facts["first_share"]
    if np.isnan(share) or not facts["p_first"] < LEVEL or facts["position_kind"] == "common":
        return ""
    rate = max(share, 1.0 - share)
    read = ", which this model takes for taste" if rate >= EXTREME_SHARE else ""
    return f"picks the {'first' if share > 0.5 else 'second'} answer in {rate:.1%} of its decided verdicts{read}"


def _habits(facts: Mapping[str, Any]) -> list[str]:
    """What it does often; flips and cycles are everybody's, and count beyond what the model expects of this judge."""
    words = {
        "tie_rate": "ties often ({:.0%})",
        "dropped_rate": "{:.0%} of its verdicts were unusable",
        "flip_rate": "follows the position in {:.0%} of swapped pairs",
        "cycle_rate": "contradicts itself in {:.0%} of triples",
    }
    doubt = {"tie_rate": facts["p_ties"], "flip_rate": facts["p_flips"], "cycle_rate": facts["p_cycles"]}
    return [
        text.format(facts[name])
        for name, text in words.items()
        if facts[name] > OFTEN[name] and doubt.get(name, 0.0) < LEVEL
    ]


def _fits(facts: Mapping[str, Any]) -> str:
    """Misfit, unless ties as half wins are what makes the verdicts vary less than the model says."""
    if facts["outfit"] > DISTORTING and facts["p_impossible"] < LEVEL:
        return f"gives verdicts the model thinks next to impossible (outfit {facts['outfit']:.0f})"
    if facts["infit"] > MISFIT[1] and facts["p_erratic"] < LEVEL:
        return f"is less predictable than the model says (infit {facts['infit']:.1f})"
    if facts["infit"] < MISFIT[0] and facts["p_calm"] < LEVEL and not facts["has_halves"]:
        return f"is more predictable than the model says (infit {facts['infit']:.1f})"
    return ""


def _departs(facts: Mapping[str, Any]) -> str:
    return "has a strong taste of its own" if facts["p_taste"] < LEVEL else ""


def nearest_judges(by_judge: pd.DataFrame, n: int = 3) -> dict[str, tuple[tuple[str, float], ...]]:
    """For each judge the others with the most similar scores, and the correlation.

    Scores that run to infinity are left out, judge by judge. Where all correlations are one up to sign, as in models without
    disagreement, nobody is nearer than anybody else and nothing is returned.

    Examples
    --------
    >>> scores = pd.DataFrame([[1.0, 0, -1], [2, 0.1, -2.1], [0, 1, -1]], index=list("abc"))
    >>> nearest_judges(scores, 1)["a"][0][0]
    'b'
    """
    centred = by_judge.sub(by_judge.mean(axis=1), axis=0)
    flat = centred.abs().max(axis=1) < 1e-12
    correlation = by_judge[~flat].T.corr().reindex(index=by_judge.index, columns=by_judge.index)
    others = correlation.mask(np.eye(len(by_judge), dtype=bool))
    if not (others.abs() < 1.0 - 1e-9).to_numpy().any():
        return {str(judge): () for judge in by_judge.index}
    nearest: dict[str, tuple[tuple[str, float], ...]] = {}
    for judge, row in others.iterrows():
        best = row.dropna().nlargest(n)
        nearest[str(judge)] = tuple((str(name), float(r)) for name, r in best.items())
    return nearest
