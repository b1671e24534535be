"""Whether verdicts vary as the model says, against free probabilities of pairs of items and against a judge's own ranking."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import special

from .. import limits
from ..data.cells import collapse, distinct_rows, take
from ..fitted import Fit, Observations
from ..looks import Piece, Shown, Table, Title
from ..model.design import Coefficients, Design
from ..model.likelihood import evaluate
from ..model.response import is_soft
from ..model.responses import BINARY
from ..model.terms import LOG_ODDS, POSITION, Term
from ..solve.precision import FreeCovariance, LargeCovariance
from ..words import and_more, counted, p_value, told_p
from .adjusted import holm
from .order import has_order, without_penalty
from .restriction import is_restricted

# Level of the adjusted tests, at which false alarms stay below 5% also with few verdicts; and the share of ties from which half
# wins vary visibly less than wins and losses.
LEVEL, MANY_TIES = 0.01, 0.02
# Newton steps to a judge's own scores, the longest of them and one short enough to end with, and a ridge that keeps the scores of a
# judge that is certain finite.
_STEPS, _LONGEST, _CLOSE, _RIDGE = 8, 2.0, 1e-3, 1e-3
# Degrees of freedom from which a chi-squared variable is normal; variance of the verdicts on a pair below which one surprise would
# decide, so that the pair takes no part; leverage from which on the estimate follows the pair whatever was seen, which takes none
# either; degrees of freedom below which the lower end of that variable is too near.
_NORMAL, _SURE, _FOLLOWED, _MANY = 1e6, 0.2, 0.99, 10.0


@dataclass(frozen=True, repr=False, eq=False)
class Goodness(Shown):
    """Goodness of fit, of all judges and of each.

    Attributes
    ----------
    table : pandas.DataFrame
        Index judge, "all judges" first: ``pairs`` of items that were compared more than once; ``dispersion``, the squared residuals
        of pairs over what the model expects, with ``p_value`` (two-sided) and ``p_holm``; ``circular``, the same against the
        judge's own best ranking, with ``p_circular`` (one-sided) and ``p_circular_holm``. A judge whose preferences go round has
        both above 1, one whose taste the model lacks only the first.
    note : str
        Why there is no test; empty if there is one.
    lacking : str
        What the model may lack where pairs depart from it.
    """

    table: pd.DataFrame
    note: str = ""
    lacking: str = ""

    @property
    def is_warning(self) -> bool:
        """Whether the model is rejected for some judge or all of them."""
        return not self.note and bool((self.table[["p_holm", "p_circular_holm"]] < LEVEL).to_numpy().any())

    @property
    def text(self) -> str:
        """In words."""
        if self.note:
            return self.note
        table, told = self.table, []
        round_ = table[table["p_circular_holm"] < LEVEL]
        if len(round_):
            named = [f"{name!r}" if name != ALL else "the panel as a whole" for name in round_.index]
            told.append(f"Preferences go round beyond chance, so that no ranking describes them: {and_more(named, 3)}.")
        misfit = table[(table["p_holm"] < LEVEL) & ~(table["p_circular_holm"] < LEVEL)].sort_values(
            "p_holm", kind="stable"
        )
        over = f"Pairs of items depart from the model more than chance allows ({self.lacking})"
        for is_over, words in ((True, over), (False, "Verdicts on a pair vary less than the model says")):
            some = misfit[(misfit["dispersion"] > 1) == is_over]
            if len(some):
                named = [_named(name, row["dispersion"], row["p_holm"]) for name, row in some.iterrows()]
                told.append(f"{words}: {and_more(named, 3)}.")
        if told:
            return " ".join(told)
        whole = {name: float(value) for name, value in zip(table.columns, table.iloc[0], strict=True)}
        every, circles = (self._tested(column) for column in ("p_value", "p_circular"))
        return (
            f"Pairs of items vary as the model says (dispersion {whole['dispersion']:.2f}, {told_p(whole['p_value'])}; tested of "
            f"{every}); preferences that go round beyond chance: none (tested of {circles})."
        )

    def _tested(self, column: str) -> str:
        """Of how many judges there is a test."""
        n_tested, n_judges = int(self.table[column].iloc[1:].notna().sum()), len(self.table) - 1
        return "every judge" if n_tested == n_judges else f"{n_tested} of {counted(n_judges, 'judge')}"

    def _shown(self) -> list[Piece]:
        if self.note:
            return [self.note]
        forms = dict.fromkeys(("p_value", "p_holm", "p_circular", "p_circular_holm"), p_value)
        shown = self.table.head(limits.PRINTED_JUDGES + 1)
        title = Title("Goodness of fit on pairs of items (1 is expected)")
        return [title, Table(shown, forms, "{:.2f}".format), self.text]


ALL = "all judges"


def _named(name: object, dispersion: float, p: float) -> str:
    return f"{'all judges together' if name == ALL else repr(name)} ({dispersion:.2f} times, {told_p(p)})"


@dataclass(frozen=True)
class _Pairs:
    """What is seen of every judge's pair of items: sums over its cells.

    Attributes
    ----------
    judge : ndarray of int, shape (n_pairs,)
    residual, variance : ndarray, shape (n_pairs,)
    bend : ndarray, shape (n_pairs,)
        ``(k4 - k3^2 / k2) / k2`` of the cumulants of the residual: minus 2 p (1 - p) for wins and losses of one probability.
    skew : ndarray, shape (n_pairs,)
        ``k3 / k2``.
    """

    judge: np.ndarray
    residual: np.ndarray
    variance: np.ndarray
    bend: np.ndarray
    skew: np.ndarray

    def tested(self, leverage: np.ndarray, n_judges: int) -> pd.DataFrame:
        """Dispersion and the two tails for all judges and each, shape (n_judges + 1, 3).

        ``r^2 - (k3 / k2) r - k2`` has mean zero and variance ``k2 (2 k2 + b)``, and its derivative by the log-odds has mean zero:
        so far Farrington's statistic with a pair counted by its variance. Of estimated probabilities the mean is ``-(k2 + b / 2)
        h`` with the pair's leverage h. The third moment is ``4 k2 (k2 + b / 2) (2 (k2 + b) + (k3 / k2)^2)``: that of the sum over
        all two verdicts on the pair of the product of their residuals, which the statistic is. The sum is referred to a chi-squared
        variable, moved and stretched, of the same three moments; of few degrees of freedom the lower tail to a normal one, which is
        longer.
        """
        k2, free = self.variance, np.maximum(self.variance + 0.5 * self.bend, 0.0)
        excess = self.residual**2 - self.skew * self.residual - k2 + free * leverage
        left = free * (1.0 - np.minimum(leverage, 1.0))
        third = 4.0 * k2 * left * (2.0 * np.maximum(k2 + self.bend, 0.0) + self.skew**2)
        takes_part = (k2 > _SURE) & (leverage < _FOLLOWED)
        values = [np.where(takes_part, each, 0.0) for each in (excess, left, 2.0 * k2 * left, third)]
        sums = [np.bincount(self.judge, each, n_judges) for each in values]
        excess, mean, variance, third = (np.concatenate([[each.sum()], each]) for each in sums)
        with np.errstate(divide="ignore", invalid="ignore"):
            df = np.minimum(8.0 * variance**3 / third**2, _NORMAL)
            at = np.maximum(df + excess * np.sqrt(2.0 * df / variance), 0.0)
            over = special.chdtrc(df, at)
            under = np.where(df >= _MANY, special.chdtr(df, at), special.ndtr(excess / np.sqrt(variance)))
        table = {
            "dispersion": np.maximum(1.0 + excess / np.where(mean > 0, mean, np.nan), 0.0),
            "over": over,
            "under": under,
        }
        return pd.DataFrame(table).where(pd.Series(mean > 0), axis=0)


def goodness_of_fit(fit: Fit, observed: Observations) -> Goodness:
    """Test the fit against free probabilities of every judge's pairs of items, and each judge against any ranking of its own.

    Farrington (1996): On assessing goodness of fit of generalized linear models to sparse data. JRSS B 58, 349-360. A pair judged
    once carries no information and takes no part.
    """
    if note := _unavailable(fit, observed):
        return Goodness(pd.DataFrame(), note)
    design, n_judges = _decided(fit, observed), fit.design.n_judges
    code, some = _pair_codes(design)
    pairs, times = _pairs(design, fit.at, code, some), np.bincount(code, design.n, len(some))
    again = np.where(pairs.variance > _SURE, np.maximum(times - 1.0, 0.0), 0.0)
    n_pairs, repeated = (np.bincount(pairs.judge, values, n_judges) for values in (again > 0, again))
    is_few = np.concatenate([[repeated.sum()], repeated]) < limits.FEW_REPEATED
    if is_few.all():
        note = f"Goodness of fit is not tested: nobody gave {limits.FEW_REPEATED} verdicts on pairs of items judged before."
        return Goodness(pd.DataFrame(), note)
    if len(some) * design.n_items**2 > limits.TESTED_PAIRS:
        return Goodness(pd.DataFrame(), "Goodness of fit is not tested for so many pairs of items.")
    whole = pairs.tested(_leverages(design, fit, without_penalty(fit), code, len(some)), n_judges)
    alone = _alone(fit, observed)
    n_scores = (design.n_items - 1) * np.concatenate([[n_judges], np.ones(n_judges)])
    whole[is_few] = np.nan
    if whole["dispersion"].isna().all():
        return Goodness(
            pd.DataFrame(), "Goodness of fit is not tested: the model leaves the probabilities of pairs free."
        )
    alone[is_few | (np.concatenate([[repeated.sum()], repeated]) < limits.FEW_PER_SCORE * n_scores)] = np.nan
    table = pd.DataFrame({"pairs": np.concatenate([[n_pairs.sum()], n_pairs]).astype(int)})
    table["dispersion"] = whole["dispersion"]
    table["p_value"] = np.minimum(2.0 * np.minimum(whole["over"], whole["under"]), 1.0)
    table["circular"], table["p_circular"] = alone["dispersion"], alone["over"]
    table["p_holm"], table["p_circular_holm"] = np.split(
        holm(np.concatenate([table["p_value"], table["p_circular"]])), 2
    )
    table.index = pd.Index([ALL, *fit.layout.judges], name="judge")
    order = ["pairs", "dispersion", "p_value", "p_holm", "circular", "p_circular", "p_circular_holm"]
    is_lacking = has_order(observed.data) and fit.layout.terms.scope("position") != "judge"
    position = ", or a position effect that it lacks" if is_lacking else ""
    what = "what items have beyond their traits" if is_restricted(fit) else "a taste that the rank does not cover"
    return Goodness(table[order], lacking=f"{what}{position}")


def _unavailable(fit: Fit, observed: Observations) -> str:
    """Why verdicts of this kind have no test; empty if they have."""
    data, response = observed.data, fit.design.response
    if fit.penalty is not None:
        return "Goodness of fit is not tested for penalised estimates."
    if fit.layout.n_free > limits.TESTED_PARAMETERS:
        return f"Goodness of fit is not tested for more than {limits.TESTED_PARAMETERS:,} parameters."
    if not fit.converged:
        return "Goodness of fit is not tested: there is no finite, determined estimate."
    if is_soft(response, data.outcome).any() or (np.abs(data.weight - np.round(data.weight)) > 1e-9).any():
        return "Goodness of fit is not tested: soft preferences and weights that are no counts have no variance of their own."
    if not response.is_natural:
        return f"Goodness of fit is not tested on pairs of items with ties={response.name!r}."
    ties = float(np.average(data.outcome == 0.5, weights=data.weight))
    if ties > MANY_TIES and not response.parameters:
        return (
            "Goodness of fit is not tested: ties that count as half wins vary less than the model says. ties='davidson' and "
            "ties='drop' have a test."
        )
    return ""


def _decided(fit: Fit, observed: Observations) -> Design:
    """Wins and losses only: among these the odds are those of the log-odds, whatever a judge's ties."""
    is_decided = np.isin(observed.data.outcome, (0.0, 1.0))
    return fit.design if is_decided.all() else collapse(_rows(observed, is_decided))


def _rows(observed: Observations, is_decided: np.ndarray) -> Design:
    return replace(take(observed.rows, np.flatnonzero(is_decided)), response=BINARY)


def _pair_codes(design: Design) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of (judge, pair of items), whatever their order and terms, and a cell of each."""
    return distinct_rows([design.judge * design.n_items**2 + design.pair])


def _pairs(design: Design, at: Coefficients, code: np.ndarray, some: np.ndarray) -> _Pairs:
    here = evaluate(design, at)
    sign = np.where(design.first < design.second, 1.0, -1.0)
    p = special.expit(here.eta)
    spread = here.curvature * (1.0 - 2.0 * p)
    cumulants = (here.curvature, sign * spread, here.curvature * (1.0 - 6.0 * p * (1.0 - p)))
    residual, k2, k3, k4 = (np.bincount(code, v, len(some)) for v in (-sign * here.slope, *cumulants))
    k2 = np.maximum(k2, 1e-300)
    return _Pairs(design.judge[some], residual, k2, (k4 - k3**2 / k2) / k2, k3 / k2)


def _leverages(
    design: Design, fit: Fit, covariance: FreeCovariance | LargeCovariance, code: np.ndarray, n_pairs: int
) -> np.ndarray:
    """Share of each pair's variance that the estimate takes up, shape (n_pairs,).

    Judge by judge: a pair moves with the judge's own coordinates and the shared ones only.
    """
    tangent, terms = fit.tangent, design.terms
    m, e, f = design.n_shared_terms, design.n_judge_terms, tangent.judge_items.shape[1]
    weight = evaluate(design, fit.at).curvature
    signed = np.where(design.first < design.second, weight, -weight)[:, None]
    moved = [
        design.shared_terms * (terms.shared_moves == LOG_ODDS),
        design.judge_terms * (terms.own_moves == LOG_ODDS),
        tangent.judge_items[design.first] - tangent.judge_items[design.second],
        tangent.shared_items[design.first] - tangent.shared_items[design.second],
    ]
    blocks = np.hstack([signed * block for block in moved])
    sums = np.stack([np.bincount(code, column, n_pairs) for column in blocks.T], axis=1)
    judge = np.empty(n_pairs, dtype=int)
    judge[code] = design.judge
    place = np.where(design.is_free, np.cumsum(design.is_free) - 1, -1)
    together = np.arange(design.n_linear + tangent.n_judges * f, design.n_linear + tangent.n_free)
    result, whole = np.zeros(n_pairs), covariance.covariance
    for k in range(design.n_judges):
        own = place[m + k * e : m + (k + 1) * e]
        index = np.concatenate([np.arange(m), own[own >= 0], design.n_linear + k * f + np.arange(f), together])
        pairs = np.flatnonzero(judge == k)
        linear, own_items, items = np.split(sums[pairs], [m + e, m + e + f], axis=1)
        linear = linear[:, np.concatenate([np.ones(m, dtype=bool), own >= 0])]
        shared = (tangent.shared_judges[k][None, :, None] * items[:, None, :]).reshape(len(pairs), -1)
        rows = np.hstack([linear, own_items, shared])
        result[pairs] = np.einsum("pd,pd->p", rows @ whole[np.ix_(index, index)], rows)
    return result / np.maximum(np.bincount(code, weight, n_pairs), 1e-300)


def _alone(fit: Fit, observed: Observations) -> pd.DataFrame:
    """As ``_Pairs.tested``, against every judge's own best ranking and position effect; empty where items are too many."""
    n_judges, n_items = fit.at.scores.shape
    if n_judges * n_items**2 > limits.OWN_LAPLACIANS:
        return pd.DataFrame(np.nan, range(n_judges + 1), ["dispersion", "over", "under"])
    rows = _rows(observed, np.isin(observed.data.outcome, (0.0, 1.0)))
    # Where the order goes with the items, a position effect would go round. Where there is no order, there is none.
    column = np.full(len(rows.n), float(has_order(observed.data)))
    design = collapse(rows.with_own_term(Term("own position", "judge", POSITION), column))
    at, covariance = _own_fit(design, fit.at.with_own_term())
    code, some = _pair_codes(design)
    pairs, weight = _pairs(design, at, code, some), evaluate(design, at).curvature
    judge, low, high = pairs.judge, *np.sort([design.first[some], design.second[some]], axis=0)
    both = covariance[judge, low, low] + covariance[judge, high, high] - 2.0 * covariance[judge, low, high]
    weight = weight * design.judge_terms[:, 0]
    turned = np.bincount(code, np.where(design.first < design.second, weight, -weight), len(some)) / pairs.variance
    both += 2.0 * turned * (covariance[judge, low, n_items] - covariance[judge, high, n_items])
    both += turned**2 * covariance[judge, n_items, n_items]
    return pairs.tested(pairs.variance * both, n_judges)


def _own_fit(design: Design, at: Coefficients) -> tuple[Coefficients, np.ndarray]:
    """Every judge's own best scores and first term, other terms held; their covariances (n_judges, n_items + 1, n_items + 1)."""
    n_items = design.n_items
    for _ in range(_STEPS):
        here = evaluate(design, at)
        first = here.slope * design.judge_terms[:, 0]
        slope = np.hstack([design.sum_by_score(here.slope), design.sum_by_judge(first[:, None])])
        slope += _RIDGE * np.hstack([at.scores, at.judge[:, :1]])
        step = -np.einsum("kij,kj->ki", _own_covariance(design, here.curvature), slope)
        longest = np.abs(step).max(axis=1, keepdims=True)
        step *= np.minimum(1.0, _LONGEST / np.maximum(longest, 1e-300))
        terms = np.hstack([at.judge[:, :1] + step[:, n_items:], at.judge[:, 1:]])
        at = replace(at, scores=at.scores + step[:, :n_items], judge=terms)
        if longest.max() < _CLOSE:
            break
    return at, _own_covariance(design, evaluate(design, at).curvature)


def _own_covariance(design: Design, weight: np.ndarray) -> np.ndarray:
    n_items = design.n_items
    information = np.zeros((design.n_judges, n_items + 1, n_items + 1))
    information[:, :n_items, :n_items] = design.laplacians(weight) + 1.0 / n_items**2
    first = weight * design.judge_terms[:, 0]
    information[:, :n_items, n_items] = information[:, n_items, :n_items] = design.sum_by_score(first)
    information[:, n_items, n_items] = np.bincount(design.judge, first * design.judge_terms[:, 0], design.n_judges)
    return np.linalg.inv(information + _RIDGE * np.eye(n_items + 1))
