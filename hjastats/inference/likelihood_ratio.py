"""Likelihood-ratio tests, and which of them chi-squared does not describe."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy import stats
from statsmodels.regression.linear_model import CompareLRTestResult

from ..data.comparisons import Comparisons
from ..errors import ComparisonError, IdentificationError, NonRegularWarning
from ..fit import Fit
from ..model.decomposition import max_rank
from ..model.design import Coefficients
from ..model.structures import ScoreStructure
from ..solve.search import no_terms, search
from ..solve.starts import starting_scores
from .nesting import Candidate, check_same_data, is_nested, is_regular
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


def compare_lr_test(large: Candidate, restricted: Candidate) -> CompareLRTestResult:
    """Likelihood-ratio test of a restricted model against a larger one.

    Raises
    ------
    ComparisonError
        For different data, or models that are not nested.
    """
    check_same_data([large, restricted])
    if not is_nested(restricted, large) or restricted.fit.df >= large.fit.df:
        raise ComparisonError(f"{restricted.name} is not nested in {large.name}.")
    statistic, df = _ratio(restricted.fit, large.fit)
    if large.has_soft_preferences or not is_regular(restricted, large):
        soft = "soft preferences make the likelihood a quasi-likelihood"
        bound = "an added direction is undefined, or a parameter on the boundary, under the smaller model"
        warnings.warn(
            f"{restricted.name} against {large.name} is not a chi-squared test "
            f"({soft if large.has_soft_preferences else bound}): no p-value is given. For ranks use rank_test('bootstrap').",
            NonRegularWarning,
            stacklevel=3,
        )
        return CompareLRTestResult(statistic, np.nan, df)
    return CompareLRTestResult(statistic, float(stats.chi2.sf(statistic, df)), df)


def _ratio(small: Fit, large: Fit) -> tuple[float, int]:
    """Twice the difference of log-likelihoods, and of numbers of parameters."""
    return 2.0 * (large.loglike - small.loglike), int(large.df - small.df)


def saturated_rank_test(fit: Fit, unrestricted: Fit) -> RankTest:
    """The fitted rank against judge-wise BTL: regular, (K - 1 - r)(N - 2 - r) degrees of freedom."""
    statistic, df = _ratio(fit, unrestricted)
    p_value = float(stats.chi2.sf(statistic, df))
    note = (
        "" if unrestricted.converged else "judge-wise estimates do not exist for all judges: the p-value is approximate"
    )
    names = fit.layout.description, unrestricted.layout.description
    return RankTest(*names, statistic, p_value, df, "saturated", note=note)


def check_rank(fit: Fit, model: str) -> None:
    """Refuse to test a rank that there is none of, or none above.

    Raises
    ------
    IdentificationError
    """
    layout = fit.layout
    if not layout.structure.has_sensitivities:
        raise IdentificationError(f"{model} has no rank to test; compare models with compare_lr_test.")
    if layout.rank >= max_rank(len(layout.judges), len(layout.items)):
        raise IdentificationError(f"rank {layout.rank} is the largest possible: there is nothing to test it against.")


@dataclass(frozen=True)
class _LikelihoodRatio:
    """One replication under the smaller model: draw, fit both, take the ratio."""

    source: ParametricDraw
    smaller: ScoreStructure
    larger: ScoreStructure
    start: Coefficients

    def __call__(self, rng: np.random.Generator) -> float:
        cells = self.source.draw(rng)
        starts = [self.start, *(no_terms(cells, scores) for scores in starting_scores(cells, self.smaller, 0, rng))]
        small = search(cells, self.smaller, starts=starts).best
        large = search(cells, self.larger, n_random=0, rng=rng).best
        return 2.0 * (small.negative_loglike - large.negative_loglike)


def bootstrap_rank_test(
    fit: Fit,
    larger: Fit,
    data: Comparisons,
    *,
    n: int,
    rng: int | np.random.Generator | None,
    n_jobs: int,
    progress: bool,
) -> RankTest:
    """A fit against a larger structure, such as one direction more, by parametric bootstrap under the smaller."""
    statistic, _ = _ratio(fit, larger)
    source = ParametricDraw.from_fit(fit.design, data, fit.at)
    task = _LikelihoodRatio(source, fit.layout.structure, larger.layout.structure, fit.at)
    drawn = np.array(replicate(task, n, rng=rng, n_jobs=n_jobs, progress=progress, label="rank test"))
    p_value = (1.0 + float((drawn >= statistic).sum())) / (n + 1.0)
    error = float(np.sqrt(p_value * (1.0 - p_value) / n))
    names = fit.layout.description, larger.layout.description
    return RankTest(*names, statistic, p_value, None, "bootstrap", n, error, replications=drawn)
