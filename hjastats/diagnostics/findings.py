"""What a user should know before believing a fit, in words, each condition stated either way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from .. import limits
from ..data.asking import chances, n_rounds
from ..data.comparisons import Comparisons
from ..data.grades import points_of_scale
from ..data.groups import time_column
from ..data.swaps import prompt_column, swap_report
from ..errors import SizeError, spelled
from ..fitted import Fit, Observations
from ..inference.apart import are_apart
from ..inference.estimates import leverage, sensitivity
from ..looks import Piece, Shown, Warned
from ..mixed import MixedFit
from ..model.response import Response, is_soft
from ..words import and_more, counted, quoted
from .adjusted import holm
from .bias import bias_of_largest_difference, may_be_biased
from .camps import camps_text
from .consistency import average_p_values, taste_p_values
from .dependence import Dependence, dependence
from .ending import apart_text, is_below_supremum, optima_text, properties_text, separation_text
from .goodness import goodness_of_fit
from .order import LEVEL, OrderEvidence, decided_shares, flip_p_values, has_order, order_evidence
from .redundancy import redundancy
from .restriction import free_scores_test, why_untested
from .scales import NULLS, own_parameters_test, scale_tests
from .stability import Stability, stability
from .tie_rates import tie_rates

# A judge that prefers the same position this often deserves a sentence.
EXTREME_SHARE = 0.85
# Names of columns that often say how many comparisons a row stands for.
COUNT_COLUMNS = ("n", "count", "counts", "freq", "frequency", "times", "n_comparisons")
# Clustered by prompt, standard errors this many times those of the model are worth a warning.
HANGS_TOGETHER = 1.2
# Condition number of the information beyond which standard errors lose their meaning.
NEARLY_SINGULAR = 1e8
# A disagreement this many times the panel's median stands out (and at least as large as the judge's consensus part).
OUTLYING_LEVERAGE = 3.0
# A sensitivity below this share of the median is far from it: what the typical judge decides at 3 to 1 is decided at 7 to 4.
WEAK = 0.5
# A share of the verdicts, or of the items, whose loss makes another ranking of it.
LEFT_OUT = 0.05
# What follows if a scale of grades is not what the response takes it for.
_SCALE_TOLD = {
    "sides": "grades are given more freely to one side, and thresholds are between those of both.",
    "steps": "strong verdicts follow the items more, or less, than mild ones, and scores are between those of both.",
}
# Below so many verdicts for each parameter, or so many in all, estimates hang on single ones and errors are those of many.
FEW_FOR_EACH, FEW = 2, 10
# Standard errors of bias worth a warning: 95% intervals then cover 92% and less.
BIASED = 0.5


@dataclass(frozen=True)
class Finding:
    """One checked condition.

    Attributes
    ----------
    topic : str
    is_warning : bool
    text : str
    """

    topic: str
    is_warning: bool
    text: str

    def __str__(self) -> str:
        return self.text


class Findings(Shown, list[Finding]):
    """Everything that was checked, which prints what warns first."""

    @property
    def warnings(self) -> list[str]:
        """What should make one hesitate."""
        return [finding.text for finding in self if finding.is_warning]

    @property
    def notes(self) -> list[str]:
        """What was checked and found fine, or is as it should be."""
        return [finding.text for finding in self if not finding.is_warning]

    def _shown(self) -> list[Piece]:
        warned: list[Piece] = [Warned(text) for text in self.warnings]
        return [*(warned or ["Nothing was found that speaks against the fit."]), *(f"  {text}" for text in self.notes)]


def find(fit: Fit, observed: Observations) -> Findings:
    """Check everything that can be checked from a fit and its data."""
    data, together = observed.data, dependence_findings(fit, observed, dependence(fit, observed))
    found = [
        _convergence(fit),
        Finding("optima", len(fit.search.values) != 1 or is_below_supremum(fit), optima_text(fit)),
        *([Finding("errors", True, _sentence(fit.why_no_errors))] if fit.why_no_errors else []),
        *_few(fit),
        _connectivity(fit, data),
        *_position(fit, observed),
        *together,
        ties_finding(fit, observed, hangs_together=any(found.is_warning for found in together)),
        *_tie_rates(fit, observed),
        *_scale(fit, observed),
        *findings_of_data(data),
        *_sensitivities(fit),
        *([Finding("camps", True, opposed)] if (opposed := camps_text(fit, data)) else []),
        *_bias(fit),
        *_leverages(fit),
        *_restriction(fit, observed),
        *_misfit(fit, observed),
    ]
    return Findings(found)


def _when(fit: Fit, found: Stability, time: str | None) -> str:
    """Where to see when something changed, with what makes groups test it: a model that is chosen may not have it."""
    if time is None or found.worst is None:
        return ""
    model = "hja" if fit.layout.rank else "ja"
    options = {"sensitivity": f", model={model!r}", "position": ", position='judge'", "score": ""}
    # Of one judge, and beside what only BTL has, there are no sensitivities.
    has_none = len(fit.layout.judges) == 1 or isinstance(fit, MixedFit) or are_apart(fit.layout)
    kind = "score" if has_none else found.worst["kind"]
    return f" hja.by_group(data, by={time!r}, period='month'{options[kind]}) shows when."


def findings_of_data(data: Comparisons) -> list[Finding]:
    """What the data say, whatever the model."""
    doubts = [Finding("reading", True, f"When reading, {doubt}") for doubt in data.doubts]
    left_out = left_out_finding(data)
    return [*left_out, *doubts, *_collapsed(data), _dropped(data), *_swaps(data), *_uncounted(data), *_asked(data)]


def left_out_finding(data: Comparisons) -> list[Finding]:
    """What the ranking says nothing of, where only the largest group of linked items is ranked."""
    if not data.unlinked:
        return []
    n_items, n_verdicts = len(data.unlinked) + data.n_items, data.n_unlinked + data.n_comparisons
    share = max(len(data.unlinked) / n_items, data.n_unlinked / n_verdicts)
    text = (
        f"Left out are {data.n_unlinked:,.0f} of {n_verdicts:,.0f} verdicts and {len(data.unlinked):,} of {n_items:,} items "
        f"({quoted(data.unlinked, 4)}), which no comparison links with the {data.n_items:,} that are ranked. "
        "hja.fit(..., unlinked='apart') fits all groups of items together, by BTL, each with a zero of its own; hja.fit of the "
        "verdicts of another group ranks that one."
    )
    return [Finding("left out", share > LEFT_OUT, text)]


def _restriction(fit: Fit, observed: Observations) -> list[Finding]:
    """Whether items are what their traits say, where scores are made of these alone."""
    if why := why_untested(fit, observed):
        text = (
            f"Whether items differ by more than their traits say is not tested, since {why}: if they do, errors of beta, and "
            "intervals of predict_item, leave that out and are far too narrow. Fit with random='items': .spread says how much."
        )
        return [Finding("traits", True, text)]
    test = free_scores_test(fit, observed)
    if test is None:
        return []
    if test.p_value >= LEVEL:
        return [
            Finding(
                "traits", False, f"Items are not seen to differ by more than their traits (score test: {test.told})."
            )
        ]
    text = (
        f"Items differ by more than their traits say (score test of free scores: {test.told}): errors of beta, and intervals of "
        "predict_item, leave out what items have for themselves and are far too narrow. Fit with random='items'."
    )
    return [Finding("traits", True, text)]


def _misfit(fit: Fit, observed: Observations) -> list[Finding]:
    """What the model takes for granted: independent judges, verdicts that vary as it says, nothing that changes."""
    time = time_column(observed.data)
    alike, fitting, stable = redundancy(fit, observed), goodness_of_fit(fit, observed), stability(fit, observed, time)
    return [
        Finding("redundancy", alike.is_warning, alike.text),
        Finding("goodness of fit", fitting.is_warning, fitting.text),
        Finding("stability", stable.is_warning, stable.text + _when(fit, stable, time)),
    ]


def _asked(data: Comparisons) -> list[Finding]:
    """What it means that earlier verdicts decided what to ask."""
    found, chance = [], chances(data)
    if (n := n_rounds(data)) > 1:
        found.append(
            f"Comparisons were asked in {n:,} rounds ({data.asked_in!r}). That earlier verdicts decided what to ask leaves "
            "estimates and intervals as they are while the model holds; testing after every round does not: plan.stopping counts "
            "them."
        )
    if chance is not None:
        found.append(
            f"Comparisons were asked with chances from {chance.min():.2g} to {chance.max():.2g} ({data.asked_with!r}), which "
            "estimates and intervals do not need while the model holds."
        )
    return [Finding("asking", False, text) for text in found]


def _convergence(fit: Fit) -> Finding:
    if fit.separation is not None:
        return Finding("separation", True, _sentence(spelled(separation_text(fit))))
    if not fit.is_identified:
        what = properties_text(fit) or _weakest(fit, "Undetermined is a combination of {}.")
        text = "The information matrix is singular: the data do not determine all parameters, standard errors are withheld."
        return Finding("identification", True, f"{text} {what}".rstrip())
    if not fit.optimum.converged:
        return Finding("convergence", True, f"The fit did not converge in {fit.optimum.iterations} iterations.")
    condition = fit.model_covariance.condition
    if condition > NEARLY_SINGULAR:
        text = (
            f"The information is nearly singular (condition number {condition:.2g}): some combination of parameters is hardly "
            f"determined{_weakest(fit, ', mostly of {}')}."
        )
        return Finding("identification", True, text)
    text = f"Converged; information positive definite (condition number {condition:.2g}), no sign of separation."
    return Finding("convergence", False, text)


def _weakest(fit: Fit, text: str) -> str:
    """The text with the names of what is least determined; nothing where there are too many parameters to find out."""
    try:
        return text.format(quoted(fit.weakest_direction(), 4))
    except SizeError:
        return ""


def _few(fit: Fit) -> list[Finding]:
    n, free = fit.n_comparisons, fit.n_moving
    if n >= max(FEW, FEW_FOR_EACH * free):
        return []
    text = (
        f"There are {counted(n, 'verdict')} for {counted(free, 'parameter')}: scores hang on single verdicts, and errors and "
        "places, which are those of many, say too little."
    )
    return [Finding("few verdicts", True, text)]


def _connectivity(fit: Fit, data: Comparisons) -> Finding:
    if not data.connectivity.is_connected:
        if told := apart_text(fit, data.connectivity):
            return Finding("connectivity", True, _sentence(told))
        text = "No comparisons link all items; their traits do, on which their scores rest."
        return Finding("connectivity", False, text)
    loose = data.connectivity.judge_groups
    if not loose:
        return Finding("connectivity", False, "Every judge links all items by its own comparisons.")
    if not fit.layout.has_own_parameters:
        text = (
            f"{len(loose)} of {data.n_judges} judges link all items only together with others, as the model takes them."
        )
        return Finding("connectivity", False, text)
    on_what = "structure of the model" if fit.tangent.shared_judges.shape[1] else "prior"
    text = (
        f"{len(loose)} of {data.n_judges} judges do not link all items by their own comparisons ({quoted(loose)}); their scores "
        f"lean on the {on_what}."
    )
    return Finding("connectivity", True, text)


def _position(fit: Fit, observed: Observations) -> list[Finding]:
    data, scope = observed.data, fit.layout.terms.scope("position")
    if not has_order(data):
        why = "No verdict is for the second item: the columns name winner and loser, and there is"
        text = f"{why if data.has_order else 'The table does not say what was shown first: there is'} no order to speak of."
        return [Finding("order", False, text)]
    known = order_evidence(fit, observed)
    shares = _first_shares(data, known)
    return [shares, _order(known)] if scope == "judge" else [shares, _position_test(scope, known), _order(known)]


def _first_shares(data: Comparisons, known: OrderEvidence) -> Finding:
    table = decided_shares(data)
    shares = table[table["decided"] >= 10]
    extreme = shares[(shares["share"] - 0.5).abs() >= EXTREME_SHARE - 0.5]
    accused = extreme[known.p_first[table.index.get_indexer(extreme.index)] < 0.05]
    if accused.empty:
        if shares.empty:
            return Finding("first share", False, "No judge has ten decided verdicts: first-choice shares say nothing.")
        none = "none extreme" if extreme.empty else "none beyond what chance and taste can do"
        low, high = shares["share"].min(), shares["share"].max()
        text = f"First item preferred by the judges in {low:.0%} to {high:.0%} of their decided comparisons: {none}."
        return Finding("first share", False, text)
    sentences = []
    for judge, comparisons, decided, rate, low, high in accused.itertuples():
        which = "first"
        if rate < 0.5:
            which, rate, low, high = "second", 1.0 - rate, 1.0 - high, 1.0 - low
        of_all = rate * decided / comparisons
        sentences.append(
            f"{judge!r} picks the {which} item in {of_all:.1%} of its comparisons ({rate:.1%} of the decided ones, 95% interval "
            f"{low:.1%} to {high:.1%})"
        )
    more = f"; and {len(sentences) - 3} more judges" if len(sentences) > 3 else ""
    return Finding("first share", True, "; ".join(sentences[:3]) + more + ".")


def _position_test(scope: str | None, known: OrderEvidence) -> Finding:
    test = known.test
    if test is None and scope == "common" and len(known.p_first) == 1:
        return Finding("position test", False, "There is one judge: the position effect is its own.")
    if test is None:
        whom = "the item scores" if known.is_designed else "the taste of a judge"
        return Finding("position test", False, f"A position effect per judge cannot be told from {whom} in these data.")
    n_judges, is_found = len(known.p_first), test.p_value < LEVEL
    told = test.told
    if scope is None and test.df < n_judges:
        told += f"; {n_judges - test.df} of {n_judges} effects cannot be told from the other terms"
    if not known.is_designed:
        return _undesigned(scope, told, is_found)
    if scope == "common":
        if is_found:
            text = f"Judges differ in their position effects (score test: {told}): fit position='judge'."
            return Finding("position test", True, text)
        return Finding(
            "position test", False, f"No evidence that position effects differ between judges (score test: {told})."
        )
    if is_found:
        text = (
            f"The order of presentation matters (score test of no position effects: {told}): scores and disagreement also "
            "absorb it. Fit position='judge' and compare."
        )
        return Finding("position test", True, text)
    return Finding("position test", False, f"No evidence of position effects (score test: {told}).")


def _undesigned(scope: str | None, told: str, is_found: bool) -> Finding:
    """Where the order goes with the items, a position effect is only what no scores of a judge, whatever its taste, explain."""
    effects = "position effects" if scope is None else "different position effects"
    test = f"score test within judges: {told}"
    if not is_found:
        text = f"By design {effects} cannot be told from taste, and nothing else speaks for them ({test})."
        return Finding("position test", False, text)
    text = (
        f"The order of presentation seems to matter: {effects} explain what no taste of a judge does ({test}). By design only "
        "the model tells the two apart. Fit position='judge' and compare."
    )
    return Finding("position test", True, text)


def _order(known: OrderEvidence) -> Finding:
    if known.n_both == 0:
        text = (
            "No pair of items was ever shown in both orders: a position effect is identified only through the consistency of "
            "the ranking, not by design."
        )
    else:
        text = f"{known.n_both:,} of the {known.n_often:,} pairs compared more than once were shown in both orders"
        text += "." if known.is_designed else ": so few that a position effect is hardly told from taste."
    return Finding("order", not known.is_designed, text)


def dependence_findings(fit: Fit, observed: Observations, found: Dependence | None) -> list[Finding]:
    """Whether verdicts on one prompt hang together, where prompts repeat."""
    if found is None:
        return []
    told = ", ".join(
        f"{kind} {values.max():.1f} times (median {np.median(values):.1f})" for kind, values in found.ratios.items()
    )
    by = f"{found.column!r} ({found.n_prompts:,} {found.noun})"
    groups = fit.choice.facts.get("groups")
    # Labels that were passed are taken at their word.
    if fit.choice.kind == "cluster" and (not isinstance(groups, str) or groups == found.column):
        text = f"Clustered by {by}. The largest standard errors, over those of the model: {told}."
        is_few = found.n_prompts < limits.FEW_CLUSTERS
        few = (
            f" With so few {found.noun} even these are too small: they say little about further ones." if is_few else ""
        )
        return [Finding("prompts", is_few, text + few)]
    if found.largest <= max(HANGS_TOGETHER, found.by_chance):
        text = f"Clustering by {by} would change standard errors by no more than chance, at most {found.largest:.1f} times."
        return [Finding("prompts", False, text)]
    few = ", and with so few of them so are those" if found.n_prompts < limits.FEW_CLUSTERS else ""
    use = f"Use result.with_covariance('cluster', {{'groups': {found.column!r}}})"
    if isinstance(fit, MixedFit):
        without = "items=None, random=None" if "items" in fit.effects else "random=None"
        use = (
            f"Random effects have no such errors: result.model.update({without}).fit(cov_type='cluster', "
            f"cov_kwds={{'groups': {found.column!r}}}) has them"
        )
    text = (
        f"Verdicts on the same {by} hang together: clustered by it, standard errors are larger, of {told}. {use}; those shown "
        f"are too small{few}."
    )
    return [Finding("prompts", True, text)]


def ties_finding(fit: Fit, observed: Observations, *, hangs_together: bool) -> Finding:
    """What ties and soft preferences do to standard errors; where verdicts hang together, only clusters help."""
    data = observed.data
    share = float(np.average(data.outcome == 0.5, weights=data.weight))
    soft = float(np.average(is_soft(fit.design.response, data.outcome), weights=data.weight))
    advice = " Use cov_type='cluster'." if hangs_together else " Use cov_type='HC0' or 'cluster'."
    if isinstance(fit, MixedFit):
        advice = " Robust ones are not available with random effects."
    elif fit.penalty is not None:
        advice = (
            " Beside a ridge robust ones are too small where verdicts are all one way; elsewhere use cov_type='HC0'."
        )
    robust, is_advised = "" if fit.choice.kind != "nonrobust" else advice, fit.penalty is None
    if soft > 0:
        text = f"{soft:.1%} of the verdicts are soft preferences: model-based standard errors do not hold for them.{robust}"
        if n_points := points_of_scale(data.outcome):
            text += f" They lie on a scale of {n_points} points: ties='ordinal' takes them as grades."
        return Finding("ties", bool(robust) and is_advised, text)
    if observed.n_ties_dropped:
        return Finding("ties", False, f"{observed.n_ties_dropped:,.0f} ties were left out, as asked for.")
    if fit.design.response.parameters:
        return Finding("ties", False, _outcomes_text(fit, share))
    if share > 0.02:
        text = (
            f"{share:.1%} of the verdicts are ties, counted as half wins: they vary less than the model says, so model-based "
            f"standard errors are off.{robust or ' The robust ones in use do not rely on it.'}"
        )
        return Finding("ties", bool(robust) and is_advised and share > 0.05, text)
    text = f"Ties are rare ({share:.1%}) and count as half wins." if share > 0 else "There are no ties."
    return Finding("ties", False, text)


def _outcomes_text(fit: Fit, share: float) -> str:
    """Which verdicts are outcomes of their own, and whose parameters are none."""
    response, judges = fit.design.response, fit.layout.judges
    never = list(dict.fromkeys(judges[k] for k, _ in sorted(fit.layout.terms.held)))
    if not _is_graded(response):
        note = f" Judges that never tie, without a parameter of ties: {quoted(never)}." if never else ""
        return f"Ties ({share:.1%} of the verdicts) are an outcome of their own.{note}"
    merged = [f"{grade:.3g}" for grade in response.never]
    text = (
        f"Verdicts have {len(response.verdicts)} grades ({', '.join(f'{x:.3g}' for x in response.verdicts.values())})"
    )
    text += f"; {and_more(merged, 4)} of the scale, never given, merged with the next." if merged else "."
    return text + (f" Judges that left out some of them, with fewer parameters: {quoted(never)}." if never else "")


def _collapsed(data: Comparisons) -> list[Finding]:
    """Whether verdicts were read without the strength that they have."""
    if not data.collapsed:
        return []
    text = (
        f"Verdicts of different strength were read as one ({quoted(data.collapsed, 6)}): give each a code of its own, from 1 to 0 "
        "in equal steps, and ties='ordinal' takes them as grades, which tell more of the same scores."
    )
    return [Finding("strength", False, text)]


def _is_graded(response: Response) -> bool:
    """Whether there is more than a win, a tie and a loss."""
    return not set(response.verdicts.values()) <= {1.0, 0.5, 0.0}


def _tie_rates(fit: Fit, observed: Observations) -> list[Finding]:
    """Whether judges tie, or use grades, alike; otherwise what is not said of ties is said of sensitivities."""
    data, response = observed.data, fit.design.response
    if data.n_judges == 1 or is_soft(response, data.outcome).any():
        return []
    if _is_graded(response):
        ends = np.bincount(data.judge_index, data.weight * np.isin(data.outcome, (0.0, 1.0)), data.n_judges)
        rates = ends / np.bincount(data.judge_index, data.weight, data.n_judges)
        seen = f"Judges go to the ends of the scale in {rates.min():.0%} to {rates.max():.0%} of their verdicts"
        return _one_for_all(fit, data, seen, "one set of parameters for all")
    found = tie_rates(data)
    if found is None:
        return []
    span = found.span
    if response.parameters:
        return _one_for_all(fit, data, f"Judges tie in {span}", "one propensity for all")
    if not fit.layout.structure.has_sensitivities:
        return []
    if found.differ:
        use = "" if _n_light(data) else "ties='davidson', tie='judge', or "
        text = (
            f"Judges tie in {span} ({found.test.told}): counted as half wins, ties make a judge look insensitive, and gamma says "
            f"who ties. Fit {use}ties='drop'."
        )
        return [Finding("tie rates", True, text)]
    return [
        Finding("tie rates", False, f"Judges tie in {span}: they differ too little to show in their sensitivities.")
    ]


def _one_for_all(fit: Fit, data: Comparisons, seen: str, same: str) -> list[Finding]:
    """Whether the own parameters of the response can be the same for all judges, where they are."""
    parameters = fit.design.response.parameters
    if fit.layout.terms.scope(parameters[0].name) != "common":
        return []
    test = own_parameters_test(fit)
    if test is None or test.p_value >= LEVEL:
        told = "cannot be tested here" if test is None else f"is not rejected ({test.told})"
        return [Finding("tie rates", False, f"{seen}; {same} {told}.")]
    text = (
        f"{seen}, {same} does not do (score test: {test.told}): "
        f"{'sensitivities' if fit.layout.structure.has_sensitivities else 'scores'} absorb the difference. "
    )
    if n_light := _n_light(data):
        what = "" if _is_graded(fit.design.response) else " ties='drop' does without."
        text += f"{n_light:,} judges have fewer than {limits.LIGHT_JUDGE} verdicts, too few for one each.{what}"
        return [Finding("tie rates", fit.choice.kind != "cluster" or fit.layout.has_own_parameters, text)]
    return [Finding("tie rates", True, text + "Fit tie='judge'.")]


def _n_light(data: Comparisons) -> int:
    """Number of judges with too few verdicts for parameters of their own; nothing for a single one."""
    n_light = int((np.bincount(data.judge_index, data.weight, data.n_judges) < limits.LIGHT_JUDGE).sum())
    return n_light if n_light > 1 else 0


def _scale(fit: Fit, observed: Observations) -> list[Finding]:
    """Whether the two sides of a scale of grades, and its steps, are what the response takes them for."""
    tests = {name: test for name, test in scale_tests(fit, observed).items() if name in _SCALE_TOLD}
    if not tests:
        return []
    against = holm(np.array([test.p_value for test in tests.values()])) < LEVEL
    if not against.any():
        told = "; ".join(f"{NULLS[name]} ({test.told})" for name, test in tests.items())
        return [Finding("scale", False, f"Nothing speaks against the scale: {told}.")]
    against_it = [
        f"Not true that {NULLS[name]} (score test: {test.told}): {_SCALE_TOLD[name]}"
        for (name, test), is_against in zip(tests.items(), against, strict=True)
        if is_against
    ]
    if "sides" in tests and against[0] and fit.layout.terms.scope("position") is None:
        against_it.append("Fit position='common' first, without which any advantage of a side counts as that.")
    return [Finding("scale", True, " ".join(against_it))]


def _swaps(data: Comparisons) -> list[Finding]:
    """How verdicts fare when the order is reversed, where the data show it."""
    if prompt_column(data, None) is None or not has_order(data):
        return []
    table = swap_report(data)
    total = table[["swapped", "consistent", "first", "second"]].sum()
    if total["swapped"] == 0:
        return [Finding("swaps", False, "No prompt was judged in both orders by the same judge.")]
    flips = total["first"] + total["second"]
    decided = flips + total["consistent"]
    among = "" if decided == total["swapped"] else f" {decided:,.0f} were decided in both, and of these"
    text = (
        f"Of {total['swapped']:,.0f} pairs judged in both orders,{among} {flips / max(decided, 1):.0%} got another winner with the "
        f"other order: the first shown {total['first']:,.0f} times, the second {total['second']:,.0f} times"
    )
    accused = table[flip_p_values(table) < 0.05].sort_values("flip_rate", ascending=False, kind="stable")
    if accused.empty:
        return [Finding("swaps", False, f"{text}, no more one-sided than chance for any judge.")]
    told = []
    for which, other in (("first", "second"), ("second", "first")):
        rates = accused["flip_rate"][accused[which] > accused[other]]
        named = [f"{judge!r} ({rate:.0%})" for judge, rate in rates.items()]
        told += [f"the {which}: {and_more(named, 3)}"] if named else []
    return [
        Finding("swaps", True, f"{text}. Judges that follow the position (sign test, adjusted), {'; '.join(told)}.")
    ]


def _uncounted(data: Comparisons) -> list[Finding]:
    """A column that may say how often each row was seen, where all rows count once."""
    if not (data.weight == 1.0).all():
        return []
    for name, column in data.columns.items():
        is_named = str(name).casefold() in COUNT_COLUMNS
        if is_named and pd.api.types.is_integer_dtype(column) and column.min() >= 0 and column.max() > 1:
            text = (
                f"Every row counts as one comparison, and column {str(name)!r} holds whole numbers up to {column.max():,}: if they "
                f"say how often a row was seen, read the data with weight={str(name)!r}."
            )
            return [Finding("weights", True, text)]
    return []


def _dropped(data: Comparisons) -> Finding:
    if not len(data.dropped):
        empty = f"; {counted(data.n_empty, 'row')} without a verdict were left out" if data.n_empty else ""
        return Finding("dropped", False, f"No verdict was dropped when reading the data{empty}.")
    lost = data.dropped.groupby("judge")["count"].sum()
    kept = data.first_share()["comparisons"].reindex(lost.index).fillna(0.0)
    share = (lost / (lost + kept)).sort_values(ascending=False)
    worst = ", ".join(f"{name!r} {value:.1%}" for name, value in share.head(3).items())
    text = f"{int(lost.sum()):,} verdicts were dropped when reading ({quoted(data.dropped['label'].unique())}); most from {worst}."
    return Finding("dropped", bool(share.iloc[0] > 0.1), text)


def _sensitivities(fit: Fit) -> list[Finding]:
    if not fit.layout.structure.has_sensitivities:
        return []
    if not fit.has_consensus:
        text = "The consensus cannot be told from none (all mu = 0, p > 0.05): sensitivities to it are withheld."
        return [Finding("sensitivity", True, text)]
    if fit.is_withheld("gamma"):
        text = "Sensitivities are still changing where the likelihood rises to infinity: they are withheld."
        return [Finding("sensitivity", True, text)]
    table = sensitivity(fit)
    if table["std_err"].isna().any():
        text = "Sensitivities have no standard errors, so none can be told from zero."
        return [] if fit.why_no_errors else [Finding("sensitivity", True, text)]
    # Of many judges some intervals lie below zero by chance: a judge is accused only if that would be rare among all of them.
    is_against = (table["ci_upper"] < 0).to_numpy()
    if is_against.any():
        is_against = is_against & (holm(stats.norm.cdf(table["estimate"] / table["std_err"])) < 0.05)
    against, unclear = table[is_against], table[(table["ci_lower"] <= 0) & ~is_against]
    sentences = []
    if len(against):
        all_of_them = f", adjusted for {len(table)} judges" if len(table) > 1 else ""
        sentences.append(
            f"Judges that rank against the consensus (gamma below zero{all_of_them}): {quoted(against.index)}."
        )
    if len(unclear):
        count = f" ({len(unclear):,} of {len(table):,})" if len(unclear) > 5 else ""
        sentences.append(f"Judges whose sensitivity cannot be told from zero{count}: {quoted(unclear.index)}.")
    clear = (table["ci_lower"] > 0).to_numpy()
    if (weak := _weak(fit, table, clear)).any():
        told = [f"{judge!r} ({value:.2f})" for judge, value in table["estimate"][weak].sort_values().items()]
        others = float(table["estimate"][clear & ~weak].median())
        sentences.append(
            f"Judges that follow the consensus far less than others, whose gamma is {others:.2f} in the median: "
            f"{and_more(told, 5)}."
        )
    if sentences:
        return [Finding("sensitivity", True, " ".join(sentences))]
    return [Finding("sensitivity", False, "All judges follow the consensus (all intervals of gamma lie above zero).")]


def _weak(fit: Fit, table: pd.DataFrame, clear: np.ndarray) -> np.ndarray:
    """Who of those clearly above zero is less sensitive than average beyond chance, and than most by far, shape (n_judges,)."""
    estimate = table["estimate"].to_numpy()
    far = clear & (estimate < WEAK * np.median(estimate[clear])) if clear.any() else clear
    return far if not far.any() else far & (average_p_values(fit, table["std_err"].to_numpy()) < 0.05)


def weak_judges(fit: Fit) -> pd.Index:
    """The judges that follow the consensus far less than others."""
    if not fit.layout.structure.has_sensitivities or not fit.has_consensus or fit.is_withheld("gamma"):
        return pd.Index([])
    table = sensitivity(fit)
    return table.index[_weak(fit, table, (table["ci_lower"] > 0).to_numpy())]


def _bias(fit: Fit) -> list[Finding]:
    if not may_be_biased(fit):
        return []
    n_judges, per_judge, found = (
        fit.design.n_judges,
        fit.n_comparisons / fit.design.n_judges,
        bias_of_largest_difference(fit),
    )
    crowd = f"{n_judges:,} judges with {per_judge:.0f} verdicts each on average"
    if found is None and n_judges < per_judge:
        return []
    if found is not None and abs(found[1]) < BIASED:
        text = f"The parameters of {crowd} hardly bias the largest difference: by {found[1]:.1f} standard errors."
        return [Finding("bias", False, text)]
    if found is not None and found[0] < 0:
        text = (
            f"The ridge shrinks the largest difference by about {-found[0]:.2f}, {-found[1]:.1f} standard errors: intervals cover "
            "less than they say. Take a smaller alpha."
        )
        return [Finding("bias", True, text)]
    by = "" if found is None else f", the largest difference by about {found[0]:.2f}, {found[1]:.1f} standard errors"
    # Where judges disagree, sensitivities without bias are sensitivities to the wrong thing.
    cure = (
        "It takes more verdicts per judge."
        if fit.layout.rank
        else "If select_rank(criterion='cv') takes no rank above 0, fit_regularized(penalty='firth') takes that bias away."
    )
    if n_judges >= limits.SMALL_SAMPLE:
        cure = f"hja.fit(..., judges='sample') asks what judges like these say instead. {cure}"
    text = f"{crowd}, every one with parameters of its own, push the scores apart{by}: intervals cover less than they say. {cure}"
    return [Finding("bias", True, text)]


def _leverages(fit: Fit) -> list[Finding]:
    if fit.layout.rank == 0 or fit.is_withheld("U"):
        return []
    # Without standard errors nobody knows whether strengths differ.
    has_directions = fit.layout.rank > 1 and fit.covariance.is_finite
    return [_directions(fit), _dominance(fit)] if has_directions else [_dominance(fit)]


def _directions(fit: Fit) -> Finding:
    close = np.flatnonzero(fit.is_ambiguous) + 1
    if len(close):
        text = (
            f"Disagreement directions {', '.join(map(str, close))} cannot be told apart by their strength: their U and V could "
            "be rotated into each other and are withheld. The disagreement U V' itself is determined."
        )
        return Finding("directions", True, text)
    return Finding(
        "directions", False, "The disagreement directions differ in strength, so that U and V are determined."
    )


def outlying(table: pd.DataFrame) -> pd.DataFrame:
    """The judges whose disagreement dominates the panel's: far above its median and larger than their consensus part.

    Examples
    --------
    >>> list(outlying(pd.DataFrame({"h": [0.2, 0.3, 4.0], "rho": [0.1, 0.2, 1.5]}, ["j1", "j2", "j3"])).index)
    ['j3']
    """
    return table[(table["h"] > OUTLYING_LEVERAGE * table["h"].median()) & (table["rho"] > 1)]


def _dominance(fit: Fit) -> Finding:
    table = leverage(fit)
    dominating = outlying(table)
    if len(dominating):
        dominating = dominating[taste_p_values(fit)[table.index.get_indexer(dominating.index)] < 0.05]
    if len(dominating):
        largest = dominating.sort_values("h", ascending=False, kind="stable")
        named = and_more([f"{judge!r} (h = {h:.2f})" for judge, h in largest["h"].items()], 3)
        text = f"Disagreement is dominated by {named}, against a median h of {table['h'].median():.2f}: refit without to see."
        return Finding("leverage", True, text)
    text = (
        "No judge dominates the disagreement (h above 3 times the median and above its consensus part, beyond chance)."
    )
    return Finding("leverage", False, text)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
