"""Tests of the rank: against judge-wise scores by chi-squared, against one direction more by parametric bootstrap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.comparisons import Comparisons
from ..errors import IdentificationError
from ..fitted import Fit
from ..looks import Piece, Shown, Title
from ..model.design import Coefficients
from ..model.structures import ScoreStructure, largest_rank
from ..solve.search import no_terms, search
from ..solve.starts import starting_scores
from .likelihood_ratio import likelihood_ratio
from .nesting import Candidate
from .resampling import ParametricDraw, replicate


@dataclass(frozen=True, repr=False)
class RankTest(Shown):
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

    def _shown(self) -> list[Piece]:
        if self.df is not None:
            how = f"chi2({self.df}), p = {self.p_value:.4g}"
        else:
            how = f"p = {self.p_value:.4g} (Monte-Carlo error {self.mc_error:.2g}, {self.n_replications} replications)"
        title = Title(f"Rank test ({self.method}): {self.null} against {self.alternative}")
        return [title, f"  LR = {self.statistic:.3f}, {how}", *([f"  {self.note}"] if self.note else [])]


def saturated_rank_test(small: Candidate, unrestricted: Candidate) -> RankTest:
    """The fitted rank against judge-wise BTL: regular, (K - 1 - r)(N - 2 - r) degrees of freedom.

    Of p traits of items against the largest rank, (K - 1 - r)(p - 1 - r).
    """
    ratio = likelihood_ratio(small, unrestricted)
    note, p_value = ratio.note, ratio.p_value
    if not unrestricted.fit.converged:
        note, p_value = "judge-wise estimates do not exist for all judges: chi-squared would not hold", np.nan
    return RankTest(small.name, unrestricted.name, ratio.statistic, p_value, ratio.df, "saturated", note=note)


def check_rank(fit: Fit, model: str) -> None:
    """Refuse to test a rank that there is none of, or none above.

    Raises
    ------
    IdentificationError
    """
    layout = fit.layout
    if not layout.structure.has_sensitivities:
        raise IdentificationError(f"{model} has no rank to test; compare models with compare_lr_test.")
    if layout.rank >= largest_rank(layout.structure, len(layout.judges), len(layout.items)):
        raise IdentificationError(f"rank {layout.rank} is the largest possible: there is nothing to test it against.")


@dataclass(frozen=True)
class _LikelihoodRatio:
    """One replication under the smaller model: draw, fit both, take the ratio."""

    source: ParametricDraw
    small: ScoreStructure
    large: ScoreStructure
    start: Coefficients

    def __call__(self, rng: np.random.Generator) -> float:
        cells = self.source.draw(rng)
        starts = [self.start, *(no_terms(cells, scores) for scores in starting_scores(cells, self.small, 0, rng))]
        small = search(cells, self.small, starts=starts).best
        large = search(cells, self.large, n_random=0, rng=rng).best
        return 2.0 * (small.negative_loglike - large.negative_loglike)


def bootstrap_ratio_test(
    small: Fit,
    large: Fit,
    data: Comparisons,
    *,
    n: int,
    rng: int | np.random.Generator | None,
    n_jobs: int,
    progress: bool,
) -> RankTest:
    """A fit against one with more freedom in its scores and the same terms, by parametric bootstrap under the smaller one."""
    small.need_free("the bootstrap")
    statistic = 2.0 * (large.loglike - small.loglike)
    source = ParametricDraw.from_fit(small.design, data, small.at)
    task = _LikelihoodRatio(source, small.layout.structure, large.layout.structure, small.at)
    drawn = np.array(replicate(task, n, rng=rng, n_jobs=n_jobs, progress=progress, label="likelihood ratios"))
    p_value = (1.0 + float((drawn >= statistic).sum())) / (n + 1.0)
    error = float(np.sqrt(p_value * (1.0 - p_value) / n))
    names = small.layout.description, large.layout.description
    return RankTest(*names, statistic, p_value, None, "bootstrap", n, error, replications=drawn)
