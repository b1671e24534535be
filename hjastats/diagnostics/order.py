"""What the order of presentation did to the verdicts, and whether the design can tell it from taste."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from ..data.cells import collapse
from ..data.comparisons import Comparisons
from ..fitted import Fit, Observations
from ..inference.clusters import Clusters
from ..inference.contrast_results import two_sided
from ..inference.contributions import Contributions, single
from ..inference.score_tests import ScoreTest, judge_term_test, order_within_judges
from ..model.design import Design
from ..model.likelihood import evaluate, log_odds, score_differences
from ..model.terms import POSITION, Term
from ..solve.precision import FreeCovariance, LargeCovariance, covariance_at
from .adjusted import holm

# Level of the tests that warn: below one in twenty, since these look at a panel, not at one judge.
LEVEL = 0.01


@dataclass(frozen=True)
class OrderEvidence:
    """Whether verdicts follow the position.

    Attributes
    ----------
    n_both, n_often : int
        Pairs of items shown in both orders, and pairs compared more than once.
    is_designed : bool
        Whether about as many were shown in both orders as chance would. Otherwise a taste along the order looks like a position
        effect in every model of the scores, and only what contradicts a judge's own scores, whatever they are, counts.
    test : ScoreTest or None
        Of the position effects the model lacks; None if it has one per judge, or the data cannot tell.
    p_first : ndarray, shape (n_judges,)
        Of each judge's choices of the first item, given its scores and no position effect, adjusted for the number of judges.
    """

    n_both: int
    n_often: int
    is_designed: bool
    test: ScoreTest | None
    p_first: np.ndarray


def has_order(data: Comparisons) -> bool:
    """Whether the table says what was shown first, and that was ever rejected; otherwise the columns name winners and losers."""
    return data.has_order and bool((data.outcome < 0.5).any())


def order_evidence(fit: Fit, observed: Observations) -> OrderEvidence:
    """Everything the verdicts say about the order, judge by judge and together."""
    data, scope = observed.data, fit.layout.terms.scope("position")
    n_both, n_often, is_designed = both_orders(data)
    unmoved = observed.rows.without("position") if scope else observed.rows
    within, test, p_first = None, None, np.ones(data.n_judges)
    # A model whose scores run to infinity is too certain to be asked.
    if not (is_designed and fit.separation is None) and unmoved.has_dense_laplacians:
        if not unmoved.is_plain:
            offset = log_odds(unmoved, fit.at) - score_differences(unmoved, fit.at.scores)
            within = order_within_judges(unmoved, offset)
        else:
            within = order_within_judges(data.ordered_cells)
    if is_designed:
        p_first = _two_sided(*_excess(unmoved, fit, data))
        if within is None and scope != "judge":
            test = _left_out(fit, observed)
    elif within is not None and (overall := _together(*within)) is not None and overall.p_value < LEVEL:
        p_first = _two_sided(*within)
    if within is not None and scope != "judge":
        test = _together(*within, differ=scope == "common")
    return OrderEvidence(n_both, n_often, is_designed, test, p_first)


def _excess(rows: Design, fit: Fit, data: Comparisons) -> tuple[np.ndarray, np.ndarray]:
    """Choices of the first item beyond what the scores explain, by half a verdict less, and their variance."""
    here, n_judges = evaluate(rows, fit.at), rows.n_judges
    excess = -np.bincount(rows.judge, here.slope, n_judges)
    # Where the scores miss a taste, verdicts vary more than by chance, and in random order about zero.
    variances = [np.bincount(rows.judge, values, n_judges) for values in (here.curvature, here.slope**2 / rows.n)]
    if (together := _made_together(data)) is not None:
        unit = together.within(Clusters(data.judge_index, n_judges))
        judge = np.zeros(unit.n, dtype=int)
        judge[unit.code] = data.judge_index
        variances.append(np.bincount(judge, np.bincount(unit.code, here.slope, unit.n) ** 2, n_judges))
    return np.sign(excess) * np.maximum(np.abs(excess) - 0.5, 0.0), np.max(variances, axis=0)


def _made_together(data: Comparisons) -> Clusters | None:
    """The rankings that pairs come from: what was placed early wins all of them."""
    return None if data.cluster is None else Clusters.of_prompts(data)


def both_orders(data: Comparisons) -> tuple[int, int, bool]:
    """Pairs shown in both orders, pairs compared more than once, and whether that is about what chance would do."""
    pair = np.unique(data.row_cells.pair, return_inverse=True)[1]
    # A weight may stand for several comparisons, or for less than one.
    number = np.maximum(data.weight, 1.0)
    times, forward = np.bincount(pair, number), np.bincount(pair, number * (data.first_index < data.second_index))
    n_both = int(((forward > 0) & (forward < times)).sum())
    # Who is compared once has one order. Of pairs in random order, those compared m times miss one of them with 2^(1 - m).
    often = times >= 2
    expected = np.sum(1.0 - 2.0 ** (1.0 - times[often]))
    return n_both, int(often.sum()), bool(n_both > 0 and n_both >= 0.5 * expected)


def _left_out(fit: Fit, observed: Observations) -> ScoreTest | None:
    """Score test of the position effects per judge that the model lacks."""
    data, contributions = observed.data, None
    rows = observed.rows.with_own_term(Term("position per judge", "judge", POSITION), np.ones(data.n_rows))
    at = fit.at.with_own_term()
    if (together := _made_together(data)) is not None:
        each = evaluate(single(rows, data.outcome), at)
        contributions = Contributions.of_clusters(rows, data, each, together)
    elif not fit.design.response.parameters and not np.isin(data.outcome, (0.0, 1.0)).all():
        contributions = Contributions.of_comparisons(rows, data, at)
    return judge_term_test(collapse(rows), at, fit.tangent, without_penalty(fit), contributions)


def without_penalty(fit: Fit) -> FreeCovariance | LargeCovariance:
    """Covariance of the estimate by the expected information alone."""
    if fit.penalty is None and fit.information == "expected":
        return fit.model_covariance
    return covariance_at(fit.design, fit.at, fit.tangent)


def _two_sided(excess: np.ndarray, information: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(information > 0, excess / np.sqrt(information), 0.0)
    return holm(two_sided(z))


def _together(excess: np.ndarray, information: np.ndarray, differ: bool = False) -> ScoreTest | None:
    """All judges at once: that none has an effect, or that all have the same."""
    known = information > 1e-8 * information.max(initial=0.0)
    excess, information, df = excess[known], information[known], int(known.sum()) - differ
    if df < 1:
        return None
    statistic = float(np.sum(excess**2 / information) - differ * excess.sum() ** 2 / information.sum())
    return ScoreTest(statistic, df)


def decided_shares(data: Comparisons) -> pd.DataFrame:
    """Per judge: comparisons, those decided, and the share of them won by the first item with its exact 95% interval.

    Shares are empty where the columns name winners and losers.
    """
    table = data.first_share()
    decided = table["comparisons"] - table["ties"]
    wins = table["first_share"] * table["comparisons"] - 0.5 * table["ties"]
    low, high = proportion_confint(wins.round(), decided.round().clip(lower=1), method="beta")
    shares = pd.DataFrame({"share": wins / decided, "lower": low, "upper": high}).where(decided > 0)
    if not has_order(data):
        shares[:] = np.nan
    return pd.concat([table["comparisons"], decided.rename("decided"), shares], axis=1)


def flip_p_values(swaps: pd.DataFrame) -> np.ndarray:
    """Of each judge's flips, from its row of ``swap_report``, adjusted for the number of judges, shape (n_judges,).

    A judge that would choose an item with probability p flips with 2 p (1 - p) by chance, to the first position as often as to
    the second, whatever p is. So a position shows in their difference: the exact sign test.

    Examples
    --------
    >>> swaps = pd.DataFrame({"first": [30, 16], "second": [5, 19]}, ["follows", "flips coins"])
    >>> flip_p_values(swaps).round(4)
    array([0.    , 0.7359])
    """
    first, second = swaps["first"].to_numpy(), swaps["second"].to_numpy()
    return holm(np.minimum(2.0 * stats.binom.cdf(np.minimum(first, second), first + second, 0.5), 1.0))
