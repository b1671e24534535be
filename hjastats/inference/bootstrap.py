"""Refits to new data, and intervals from them for any contrast."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from .. import limits
from ..data.arrays import check_alpha, check_option, check_whole
from ..errors import ContrastError, IdentificationError
from ..fitted import Fit, Observations
from ..looks import Piece, Shown
from ..model.decomposition import AnchoringError, Decomposition, aligned
from ..model.design import Coefficients
from ..model.layout import Layout
from ..model.likelihood import evaluate
from ..model.quantities import Quantities
from ..model.response import Response
from ..model.structures import ScoreStructure
from ..solve.penalties import Penalty
from ..solve.trust import Optimum, maximise
from .clusters import Clusters, check_clusters
from .contrast_results import Contrast
from .contrasts import Spec, contrast_at
from .contributions import Contributions, single
from .covariances import Sandwich
from .resampling import ParametricDraw, RowDraw, replicate


@dataclass(frozen=True)
class _Refit:
    """One replication: draw, refit from the estimate with its penalty. A class, so that it travels to other processes."""

    source: ParametricDraw | RowDraw
    structure: ScoreStructure
    start: Coefficients
    penalty: Penalty | None

    def __call__(self, rng: np.random.Generator) -> Coefficients | None:
        design = self.source.draw(rng)
        if not len(design.n):
            return None
        if self.penalty is None:
            found: Optimum | None = maximise(design, self.structure, self.start)
        else:
            found = self.penalty.refit(design, self.structure, self.start)
        return found.at if found is not None and found.converged else None


@dataclass(frozen=True, repr=False)
class Bootstrap(Shown):
    """Estimates from resampled data.

    Attributes
    ----------
    n_failed : int
        Replications without a finite estimate; they are left out.
    kind : str
    """

    layout: Layout
    estimate: Coefficients
    replications: list[Coefficients]
    n_failed: int
    kind: str
    response: Response
    sandwich: Sandwich | None = None

    @property
    def params(self) -> pd.DataFrame:
        """Reported parameters, one row per replication that converged."""
        packed = [self.layout.pack(at, aligned(self.layout.decompose(at), self._parts)) for at in self.replications]
        return pd.DataFrame(packed, columns=self.layout.names)

    def contrast(self, spec: Spec, alpha: float = 0.05, method: str = "percentile") -> pd.DataFrame:
        """Bootstrap standard errors and intervals of any contrast.

        Parameters
        ----------
        spec : str, callable, dict or list
            As in ``HJAResults.contrast``.
        method : {"percentile", "bca"}
            BCa corrects for bias and acceleration; it needs resampled rows or clusters.

        Returns
        -------
        pandas.DataFrame
            estimate, std_err, bias, ci_lower, ci_upper.
        """
        check_option("method", method, ("percentile", "bca"))
        check_alpha(alpha)
        if method == "bca" and self.sandwich is None:
            raise ContrastError("BCa intervals need resampled data: bootstrap(kind='rows') or kind='cluster'.")
        here = self._evaluate(spec, self.estimate, with_gradient=method == "bca")
        found = [self._try(spec, at) for at in self.replications]
        draws = np.array([values for values in found if values is not None]).reshape(-1, len(here))
        if len(draws) < 2:
            raise ContrastError(
                f"the contrast exists in {len(draws)} of {len(self.replications)} replications: too few for an interval."
            )
        ends = [self._limits(draws[:, j], here.estimate[j], here.gradient[j], alpha, method) for j in range(len(here))]
        return pd.DataFrame(
            {
                "estimate": here.estimate,
                "std_err": draws.std(axis=0, ddof=1),
                "bias": draws.mean(axis=0) - here.estimate,
                "ci_lower": [low for low, _ in ends],
                "ci_upper": [high for _, high in ends],
            },
            index=pd.Index(here.names, name="contrast"),
        )

    def _try(self, spec: Spec, at: Coefficients) -> np.ndarray | None:
        """Value of the contrast at a replication; None where it is not defined, such as the log of a negative number."""
        try:
            return self._evaluate(spec, at).estimate
        except ContrastError:
            return None

    def _evaluate(self, spec: Spec, at: Coefficients, *, with_gradient: bool = False) -> Contrast:
        tangent = self.layout.structure.tangent(at.scores)
        quantities = Quantities(self.layout, at, tangent, self.response, self._parts)
        return contrast_at(spec, quantities, None, with_gradient=with_gradient)

    @cached_property
    def _parts(self) -> Decomposition:
        """Of the estimate: without its order and signs, directions of disagreement of the draws could not be compared."""
        return self.layout.decompose(self.estimate)

    def _limits(
        self, draws: np.ndarray, estimate: float, gradient: np.ndarray, alpha: float, method: str
    ) -> tuple[float, float]:
        tails = np.array([alpha / 2.0, 1.0 - alpha / 2.0])
        if method == "bca" and self.sandwich is not None:
            share = (np.sum(draws < estimate) + 0.5 * np.sum(draws == estimate)) / len(draws)
            bias = stats.norm.ppf(np.clip(share, 1.0 / (len(draws) + 1), len(draws) / (len(draws) + 1)))
            effect, count = self.sandwich.influence(gradient[None])[:, 0], self.sandwich.contributions.count
            # Of a penalised fit they do not sum to zero by themselves.
            effect = effect - count @ effect / count.sum()
            size = np.sum(count * effect**2) ** 1.5
            acceleration = np.sum(count * effect**3) / (6.0 * size) if size > 0 else 0.0
            z = bias + stats.norm.ppf(tails)
            tails = stats.norm.cdf(bias + z / (1.0 - acceleration * z))
        low, high = np.quantile(draws, tails)
        return float(low), float(high)

    def _shown(self) -> list[Piece]:
        failed = f", {self.n_failed} without a finite estimate" if self.n_failed else ""
        return [f"Bootstrap ({self.kind}): {len(self.replications)} replications{failed}"]


def bootstrap(
    fit: Fit,
    observations: Observations,
    *,
    n: int,
    kind: str,
    groups: Any = None,
    rng: int | np.random.Generator | None,
    n_jobs: int,
    progress: bool,
) -> Bootstrap:
    """Draw, refit, collect.

    Raises
    ------
    IdentificationError
        If there is no estimate to start from.
    """
    fit.need_free("resampling")
    fit.need_converged("the fit did not converge or is not identified: resampling it would repeat the failure.")
    source, contributions = _source(fit, observations, kind, groups)
    sandwich = None if contributions is None else Sandwich(fit.model_covariance, contributions, fit.tangent)
    if fit.penalty is not None and fit.penalty.why_no_errors:
        raise IdentificationError(fit.penalty.why_no_errors)
    task = _Refit(source, fit.layout.structure, fit.at, fit.penalty)
    found = replicate(task, n, rng=rng, n_jobs=n_jobs, progress=progress)
    usable = [at for at in found if at is not None and _can_be_anchored(fit.layout, at)]
    return Bootstrap(fit.layout, fit.at, usable, len(found) - len(usable), kind, fit.design.response, sandwich)


def _source(
    fit: Fit, observations: Observations, kind: str, groups: Any
) -> tuple[ParametricDraw | RowDraw, Contributions | None]:
    """Where new data come from, and what single comparisons or clusters contribute to the estimate."""
    rows, data = observations.rows, observations.data
    if kind == "parametric":
        return ParametricDraw.from_fit(fit.design, data, fit.at), None
    if kind == "rows":
        return RowDraw.from_data(rows, data), Contributions.of_comparisons(rows, data, fit.at)
    clusters = Clusters.of(groups, data)
    check_clusters(clusters, data, fit)
    each = evaluate(single(rows, data.outcome), fit.at)
    return RowDraw.from_data(rows, data, clusters.code), Contributions.of_clusters(rows, data, each, clusters)


def _can_be_anchored(layout: Layout, at: Coefficients) -> bool:
    try:
        layout.decompose(at)
    except AnchoringError:
        return False
    return True


def check_options(n: Any, kind: str) -> None:
    """Refuse impossible options before any work.

    Raises
    ------
    OptionError
    """
    check_whole("n", n, 2, limits.MOST_REPLICATIONS)
    check_option("kind", kind, ("parametric", "rows", "cluster"))
