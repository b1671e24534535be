"""Likelihood-ratio tests, and which of them chi-squared does not describe."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from statsmodels.regression.linear_model import CompareLRTestResult

from ..errors import ComparisonError, NonRegularWarning
from ..model.decomposition import max_rank
from ..model.layout import Coefficients
from ..model.structures import LowRank
from ..solve.search import no_terms, search
from ..solve.starts import starting_scores
from .comparison import check_same_data, describe, has_soft_preferences, is_nested, is_regular
from .resampling import ParametricDraw, replicate


@dataclass(frozen=True)
class RankTest:
    """Test that a number of disagreement directions is enough.

    Attributes
    ----------
    null, alternative : str
    statistic : float
        Likelihood ratio.
    p_value : float
    df : int or None
        Of the chi-squared distribution; None for the bootstrap.
    method : str
    n_replications : int
    mc_error : float
        Monte-Carlo standard error of a bootstrap p-value.
    replications : ndarray
        Bootstrap likelihood ratios.
    note : str
    """

    null: str
    alternative: str
    statistic: float
    p_value: float
    df: int | None
    method: str
    n_replications: int = 0
    mc_error: float = 0.0
    replications: np.ndarray | None = None
    note: str = ""

    def __repr__(self) -> str:
        if self.df is not None:
            how = f"chi2({self.df}), p = {self.p_value:.4g}"
        else:
            how = f"p = {self.p_value:.4g} (Monte-Carlo error {self.mc_error:.2g}, {self.n_replications} replications)"
        text = f"Rank test ({self.method}): {self.null} against {self.alternative}\n  LR = {self.statistic:.3f}, {how}"
        return f"{text}\n  {self.note}" if self.note else text


def compare_lr_test(large: Any, restricted: Any) -> CompareLRTestResult:
    """Likelihood-ratio test of a restricted model against a larger one.

    Raises
    ------
    ComparisonError
        If the data differ or the models are not nested.
    """
    check_same_data([large, restricted])
    if not is_nested(restricted, large) or restricted.df_model >= large.df_model:
        raise ComparisonError(f"{describe(restricted)} is not nested in {describe(large)}.")
    statistic, df = 2.0 * (large.llf - restricted.llf), int(large.df_model - restricted.df_model)
    if has_soft_preferences(large) or not is_regular(restricted, large):
        soft = "soft preferences make the likelihood a quasi-likelihood"
        bound = "an added direction is undefined, or a parameter on the boundary, under the smaller model"
        warnings.warn(
            f"{describe(restricted)} against {describe(large)} is not a chi-squared test "
            f"({soft if has_soft_preferences(large) else bound}): no p-value is given. For ranks use rank_test('bootstrap').",
            NonRegularWarning,
            stacklevel=4,
        )
        return CompareLRTestResult(statistic, np.nan, df)
    return CompareLRTestResult(statistic, float(stats.chi2.sf(statistic, df)), df)


def saturated_rank_test(results: Any, unrestricted: Any) -> RankTest:
    """The fitted rank against judge-wise BTL: regular, (K - 1 - r)(N - 2 - r) degrees of freedom."""
    statistic, df = 2.0 * (unrestricted.llf - results.llf), int(unrestricted.df_model - results.df_model)
    p_value = float(stats.chi2.sf(statistic, df))
    note = (
        "" if unrestricted.converged else "judge-wise estimates do not exist for all judges: the p-value is approximate"
    )
    return RankTest(describe(results), describe(unrestricted), statistic, p_value, df, "saturated", note=note)


def can_grow(results: Any) -> bool:
    """Whether there is a model with one more direction."""
    layout = results.model.layout
    return layout.rank < max_rank(len(layout.judges), len(layout.items))


@dataclass(frozen=True)
class _LikelihoodRatio:
    """One replication under the smaller model: draw, fit both, take the ratio."""

    source: ParametricDraw
    rank: int
    start: Coefficients

    def __call__(self, rng: np.random.Generator) -> float:
        cells = self.source.draw(rng)
        structure = LowRank(self.rank)
        starts = [self.start, *(no_terms(cells, scores) for scores in starting_scores(cells, structure, 0, rng))]
        small = search(cells, structure, starts=starts).best
        large = search(cells, LowRank(self.rank + 1), n_random=0, rng=rng).best
        return 2.0 * (small.negative_loglike - large.negative_loglike)


def bootstrap_rank_test(
    results: Any,
    larger: Any,
    *,
    n: int,
    rng: int | np.random.Generator | None,
    n_jobs: int,
    progress: bool,
) -> RankTest:
    """The fitted rank against one direction more, by parametric bootstrap under the fitted rank."""
    statistic = 2.0 * (larger.llf - results.llf)
    model = results.model
    source = ParametricDraw.from_fit(model.cells, model.comparisons, results.estimate.at)
    task = _LikelihoodRatio(source, model.rank, results.estimate.at)
    drawn = np.array(replicate(task, n, rng=rng, n_jobs=n_jobs, progress=progress, label="rank test"))
    p_value = (1.0 + float((drawn >= statistic).sum())) / (n + 1.0)
    error = float(np.sqrt(p_value * (1.0 - p_value) / n))
    return RankTest(
        describe(results), describe(larger), statistic, p_value, None, "bootstrap", n, error, replications=drawn
    )
