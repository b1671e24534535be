"""What a user should know before believing a fit, in words, each condition stated either way."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from ..data.cells import collapse
from ..data.comparisons import Comparisons
from ..data.swaps import prompt_column, swap_report
from ..errors import SizeError, spelled
from ..fit import Fit, Observations
from ..inference.contributions import Contributions
from ..inference.estimates import leverage, sensitivity
from ..inference.score_tests import judge_term_test
from ..model.responses import is_soft
from ..model.terms import POSITION, Term
from ..solve.precision import covariance_at
from ..words import quoted
from .ending import is_below_supremum, optima_text, separation_text

# A judge that prefers the same position this often deserves a sentence.
EXTREME_SHARE = 0.85
# Condition number of the information beyond which standard errors lose their meaning.
NEARLY_SINGULAR = 1e8
# A disagreement this many times the panel's median stands out (and at least as large as the judge's consensus part).
OUTLYING_LEVERAGE = 3.0


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


def find(fit: Fit, observed: Observations) -> list[Finding]:
    """Check everything that can be checked from a fit and its data."""
    data = observed.data
    return [
        _convergence(fit),
        Finding("optima", len(fit.search.values) > 1 or is_below_supremum(fit), optima_text(fit)),
        _connectivity(data),
        *_position(fit, observed),
        _ties(fit, observed),
        _dropped(data),
        *_swaps(data),
        *_sensitivities(fit),
        *_leverages(fit),
    ]


def _convergence(fit: Fit) -> Finding:
    if fit.separation is not None:
        return Finding("separation", True, _sentence(spelled(separation_text(fit))))
    if not fit.is_identified:
        text = (
            "The information matrix is singular: the data do not determine all parameters, standard errors are withheld."
            f"{_weakest(fit, ' Undetermined is a combination of {}.')}"
        )
        return Finding("identification", True, text)
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


def _connectivity(data: Comparisons) -> Finding:
    loose = data.connectivity.judge_groups
    if not loose:
        return Finding("connectivity", False, "Every judge links all items by its own comparisons.")
    text = (
        f"{len(loose)} of {data.n_judges} judges do not link all items by their own comparisons ({quoted(loose)}); their scores "
        "lean on the structure of the model."
    )
    return Finding("connectivity", True, text)


def _position(fit: Fit, observed: Observations) -> list[Finding]:
    data = observed.data
    if fit.layout.terms.scope("position") == "judge":
        return [_first_shares(data), _order(data)]
    return [_first_shares(data), _position_test(fit, observed), _order(data)]


def decided_shares(data: Comparisons) -> pd.DataFrame:
    """Per judge: comparisons, those decided, and the share of them won by the first item with its exact 95% interval."""
    table = data.first_share()
    decided = table["comparisons"] - table["ties"]
    wins = table["first_share"] * table["comparisons"] - 0.5 * table["ties"]
    low, high = proportion_confint(wins.round(), decided.round().clip(lower=1), method="beta")
    shares = pd.DataFrame({"share": wins / decided, "lower": low, "upper": high}).where(decided > 0)
    return pd.concat([table["comparisons"], decided.rename("decided"), shares], axis=1)


def _first_shares(data: Comparisons) -> Finding:
    first, shares = data.first_share()["first_share"], decided_shares(data)
    enough = shares["decided"] >= 10
    extreme = shares[enough & ((first - 0.5).abs() >= EXTREME_SHARE - 0.5)]
    if extreme.empty:
        known = first[enough]
        if known.empty:
            return Finding("first share", False, "No judge has ten decided verdicts: first-choice shares say nothing.")
        text = f"First item preferred by the judges in {known.min():.0%} to {known.max():.0%} of their comparisons: none extreme."
        return Finding("first share", False, text)
    sentences = []
    for judge, comparisons, decided, rate, low, high in extreme.itertuples():
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


def _position_test(fit: Fit, observed: Observations) -> Finding:
    data, contributions, scope = observed.data, None, fit.layout.terms.scope("position")
    rows = observed.rows.with_own_term(Term("position per judge", "judge", POSITION), np.ones(data.n_rows))
    at = replace(fit.at, judge=np.hstack([np.zeros((data.n_judges, 1)), fit.at.judge]))
    if not fit.design.response.parameters and not np.isin(data.outcome, (0.0, 1.0)).all():
        contributions = Contributions.of_comparisons(rows, data, at)
    others = covariance_at(fit.design, fit.at, fit.tangent)
    test = judge_term_test(collapse(rows), at, fit.tangent, others, contributions)
    if test is None:
        text = "A position effect per judge cannot be told from the item scores in these data."
        return Finding("position test", False, text)
    p_value = f"p = {test.p_value:.3g}" if test.p_value > 1e-300 else "p < 1e-300"
    told = f"chi2({test.df}) = {test.statistic:.1f}, {p_value}"
    if scope is None and test.df < data.n_judges:
        told += f"; {data.n_judges - test.df} of {data.n_judges} effects cannot be told from the other terms"
    if scope == "common":
        if test.p_value < 0.01:
            text = f"Judges differ in their position effects (score test: {told}): fit position='judge'."
            return Finding("position test", True, text)
        return Finding(
            "position test", False, f"No evidence that position effects differ between judges (score test: {told})."
        )
    if test.p_value < 0.01:
        text = (
            f"The order of presentation matters (score test of no position effects: {told}): scores and disagreement also "
            "absorb it. Fit position='judge' and compare."
        )
        return Finding("position test", True, text)
    return Finding("position test", False, f"No evidence of position effects (score test: {told}).")


def _order(data: Comparisons) -> Finding:
    low, high = np.minimum(data.first_index, data.second_index), np.maximum(data.first_index, data.second_index)
    pair = np.unique(low * data.n_items + high, return_inverse=True)[1]
    # A weight may stand for several comparisons, or for less than one.
    number = np.maximum(data.weight, 1.0)
    times, forward = np.bincount(pair, number), np.bincount(pair, number * (low == data.first_index))
    n_both = int(((forward > 0) & (forward < times)).sum())
    if n_both == 0:
        text = (
            "No pair of items was ever shown in both orders: a position effect is identified only through the consistency of "
            "the ranking, not by design."
        )
        return Finding("order", True, text)
    # Who is compared once has one order. Of pairs in random order, those compared m times miss one of them with 2^(1 - m).
    often = times >= 2
    expected = np.sum(1.0 - 2.0 ** (1.0 - times[often]))
    text = f"{n_both:,} of the {int(often.sum()):,} pairs compared more than once were shown in both orders."
    return Finding("order", bool(n_both < 0.5 * expected), text)


def _ties(fit: Fit, observed: Observations) -> Finding:
    data, terms = observed.data, fit.layout.terms
    share = float(np.average(data.outcome == 0.5, weights=data.weight))
    soft = float(np.average(is_soft(fit.design.response, data.outcome), weights=data.weight))
    robust = "" if fit.choice.kind != "nonrobust" else " Use cov_type='HC0' or 'cluster'."
    if soft > 0:
        text = f"{soft:.1%} of the verdicts are soft preferences: model-based standard errors do not hold for them.{robust}"
        return Finding("ties", bool(robust), text)
    if observed.n_ties_dropped:
        return Finding("ties", False, f"{observed.n_ties_dropped:,.0f} ties were left out, as asked for.")
    if fit.design.response.parameters:
        never = [data.judges[k] for k, _ in terms.held]
        note = f" Judges that never tie, without a tie propensity: {quoted(never)}." if never else ""
        return Finding("ties", False, f"Ties ({share:.1%} of the verdicts) are an outcome of their own.{note}")
    if share > 0.02:
        text = (
            f"{share:.1%} of the verdicts are ties, counted as half wins: they vary less than the model says, so model-based "
            f"standard errors are off.{robust or ' The robust ones in use are right.'}"
        )
        return Finding("ties", bool(robust) and share > 0.05, text)
    text = f"Ties are rare ({share:.1%}) and count as half wins." if share > 0 else "There are no ties."
    return Finding("ties", False, text)


def _swaps(data: Comparisons) -> list[Finding]:
    """How verdicts fare when the order is reversed, where the data show it."""
    if prompt_column(data, None) is None:
        return []
    table = swap_report(data)
    total = table[["swapped", "consistent", "first", "second"]].sum()
    if total["swapped"] == 0:
        return [Finding("swaps", False, "No prompt was judged in both orders by the same judge.")]
    rate = (total["first"] + total["second"]) / max(total[["consistent", "first", "second"]].sum(), 1)
    worst = table[table["swapped"] >= 10]["flip_rate"].nlargest(1)
    most = f", most by {worst.index[0]!r} ({worst.iloc[0]:.0%})" if len(worst) and worst.iloc[0] > 0 else ""
    text = f"Of {total['swapped']:,.0f} pairs judged in both orders, {rate:.0%} followed the position instead of the item{most}."
    return [Finding("swaps", bool(rate > 0.2), text)]


def _dropped(data: Comparisons) -> Finding:
    if not len(data.dropped):
        return Finding("dropped", False, "No verdict was dropped when reading the data.")
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
        return [Finding("sensitivity", True, "Sensitivities have no standard errors, so none can be told from zero.")]
    # Of many judges some intervals lie below zero by chance: a judge is accused only if that would be rare among all of them.
    is_against = (table["ci_upper"] < 0).to_numpy()
    if is_against.any():
        p_value = stats.norm.cdf(table["estimate"] / table["std_err"])
        # Asked for only here: it collects garbage, which takes longer than everything else in a summary.
        is_against = is_against & multipletests(p_value, method="holm")[0]
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
    if sentences:
        return [Finding("sensitivity", True, " ".join(sentences))]
    return [Finding("sensitivity", False, "All judges follow the consensus (all intervals of gamma lie above zero).")]


def _leverages(fit: Fit) -> list[Finding]:
    if fit.layout.rank == 0 or fit.is_withheld("U"):
        return []
    return [_dominance(fit)] if fit.layout.rank == 1 else [_directions(fit), _dominance(fit)]


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
        largest = dominating.sort_values("h", ascending=False, kind="stable").head(3)
        named = ", ".join(f"{judge!r} (h = {h:.2f})" for judge, h in largest["h"].items())
        named += f" and {len(dominating) - 3} more" * (len(dominating) > 3)
        text = f"Disagreement is dominated by {named}, against a median h of {table['h'].median():.2f}: refit without to see."
        return Finding("leverage", True, text)
    text = "No judge dominates the disagreement (h above 3 times the median and above its consensus part)."
    return Finding("leverage", False, text)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
