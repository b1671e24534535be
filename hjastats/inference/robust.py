"""Covariances that do not trust the model's variance: sandwich estimators in the free coordinates."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from .. import limits
from ..data.cells import Cells, take
from ..data.comparisons import Comparisons
from ..errors import ComparisonError, CovarianceWarning, IdentificationError
from ..model.layout import Coefficients
from ..model.likelihood import Derivatives, evaluate, expected_information, free_information, times_predictor
from ..model.structures import TangentBasis
from ..words import quoted
from .contributions import Contributions, single, weighted_slopes
from .covariance import Covariance, DenseCovariance, FreeCovariance, LargeCovariance

FEW_CLUSTERS = 20
DESCRIPTIONS = {
    "expected": "Standard errors from the expected information (eq. fisher-plugin).",
    "observed": "Standard errors from the observed information.",
    "HC0": "Standard errors are heteroscedasticity robust (HC0).",
    "cluster": "Standard errors are robust to correlation within {n} clusters{by}.",
}


@dataclass(frozen=True)
class Sandwich:
    """A robust covariance worked out as far as it is asked for, where a matrix of all free coordinates would be too large."""

    bread: FreeCovariance | LargeCovariance
    contributions: Contributions
    tangent: TangentBasis
    correction: float = 1.0

    @property
    def is_finite(self) -> bool:
        """Whether there are standard errors."""
        return self.bread.is_finite

    @property
    def covariance(self) -> np.ndarray:
        """The whole matrix, shape (n_free, n_free)."""
        return self.of(np.eye(int(self.contributions.rows.is_free.sum()) + self.tangent.n_free))

    def can_solve(self, n: int) -> bool:
        """Whether so many quantities can be had in reasonable time."""
        return self.bread.can_solve(n)

    def influence(self, jacobian: np.ndarray) -> np.ndarray:
        """By how much every unit moves quantities with the given Jacobian (m, n_free), to first order, shape (n_units, m)."""
        return self.contributions.along(self.bread.times(jacobian), self.tangent)

    def of(self, jacobian: np.ndarray) -> np.ndarray:
        """Covariance of quantities with the given Jacobian (m, n_free)."""
        products = self.contributions.products(self.bread.times(jacobian), self.tangent)
        return 0.5 * self.correction * (products + products.T)

    def variances(self, jacobian: np.ndarray) -> np.ndarray:
        """Variances of quantities with the given Jacobian, shape (m,)."""
        parts = [jacobian[start : start + limits.BLOCK] for start in range(0, len(jacobian), limits.BLOCK)]
        squares = [self.contributions.squares(self.bread.times(part), self.tangent) for part in parts]
        return self.correction * np.concatenate([np.zeros(0), *squares])


def robust_covariance(
    cov_type: str,
    cov_kwds: dict[str, Any],
    rows: Cells,
    data: Comparisons,
    at: Coefficients,
    tangent: TangentBasis,
    bread: FreeCovariance | LargeCovariance,
    *,
    has_judge_parameters: bool,
) -> tuple[Covariance, dict[str, Any]]:
    """Sandwich covariance of the free coordinates and the facts to report about it.

    Parameters
    ----------
    cov_type : {"HC0", "cluster"}
    cov_kwds : dict
        ``groups`` (labels or the name of a column of the data) and ``use_correction`` (default True: the factor
        G/(G-1) (n-1)/(n-k)) for "cluster".
    bread : FreeCovariance or LargeCovariance
        Inverse information.
    """
    k = int(rows.is_free.sum()) + tangent.n_free
    if cov_type == "HC0":
        _no_further(cov_kwds, ())
        known = {"description": DESCRIPTIONS["HC0"]}
        if k > limits.LARGEST_SANDWICH:
            return Sandwich(bread, Contributions.of_comparisons(rows, data, at), tangent), known
        return DenseCovariance(_sandwich(bread.covariance, single_meat(rows, data, at, tangent))), known
    _no_further(cov_kwds, ("groups", "use_correction"))
    cluster, labels, name = cluster_codes(cov_kwds.get("groups"), data)
    n, g = data.n_comparisons, len(labels)
    check_clusters(cluster, g, data, k, has_judge_parameters=has_judge_parameters)
    correction = (g / (g - 1.0)) * ((n - 1.0) / (n - k)) if cov_kwds.get("use_correction", True) else 1.0
    covariance: Covariance
    if k > limits.LARGEST_SANDWICH:
        covariance = Sandwich(bread, Contributions.of_clusters(rows, data, at, cluster, g), tangent, correction)
    else:
        meat = cluster_meat(rows, data, at, tangent, cluster, g)
        covariance = DenseCovariance(correction * _sandwich(bread.covariance, meat))
    by = f" ({name})" if name else ""
    return covariance, {
        "description": DESCRIPTIONS["cluster"].format(n=g, by=by),
        "n_groups": g,
        "groups": cluster if name is None else name,
        "use_correction": cov_kwds.get("use_correction", True),
    }


def _sandwich(bread: np.ndarray, meat: np.ndarray) -> np.ndarray:
    covariance = bread @ meat @ bread
    return 0.5 * (covariance + covariance.T)


def single_meat(rows: Cells, data: Comparisons, at: Coefficients, tangent: TangentBasis) -> np.ndarray:
    """Sum over single comparisons of the squares of their gradients, shape (n_free, n_free).

    The gradient of a comparison is its slope times its design, so this is an information matrix with squared slopes in place of
    variances, and is worked out like one: without a row per comparison.
    """
    here = evaluate(single(rows, data.outcome), at)
    squares = here._replace(curvature=data.weight * here.slope**2)
    if here.tie_slope is not None:
        squares = squares._replace(
            cross=data.weight * here.slope * here.tie_slope, tie_curvature=data.weight * here.tie_slope**2
        )
    return free_information(expected_information(rows, squares, tangent), rows)


def cluster_meat(
    rows: Cells, data: Comparisons, at: Coefficients, tangent: TangentBasis, cluster: np.ndarray, n_clusters: int
) -> np.ndarray:
    """Sum over clusters of the squares of their gradients, shape (n_free, n_free); some clusters at a time."""
    here = weighted_slopes(rows, data, at)
    order = np.argsort(cluster, kind="stable")
    ends = np.searchsorted(cluster[order], np.arange(n_clusters + 1))
    n_free = int(rows.is_free.sum()) + tangent.n_free
    at_once = max(limits.ENTRIES_AT_ONCE // n_free, 1)
    meat = np.zeros((n_free, n_free))
    for start in range(0, n_clusters, at_once):
        stop = min(start + at_once, n_clusters)
        some = order[ends[start] : ends[stop]]
        slopes = here._replace(
            slope=here.slope[some], tie_slope=None if here.tie_slope is None else here.tie_slope[some]
        )
        sums = cluster_scores(take(rows, some), slopes, tangent, cluster[some] - start, stop - start)
        meat += sums.T @ sums
    return meat


def cluster_scores(
    rows: Cells, here: Derivatives, tangent: TangentBasis, cluster: np.ndarray, n_clusters: int
) -> np.ndarray:
    """Sums of the slopes of rows times their design, by cluster, shape (n_clusters, n_free).

    Nothing is larger than the rows or the result: a row touches its judge's own coordinates and, through two items, the shared.
    """
    n_rows, n_judges = len(rows.n), rows.n_judges
    each = np.arange(n_rows), np.ones(n_rows)
    by_judge = sparse.csr_array((each[1], (cluster * n_judges + rows.judge, each[0])), (n_clusters * n_judges, n_rows))
    by_cluster = sparse.csr_array((each[1], (cluster, each[0])), (n_clusters, n_rows))
    own_items = here.slope[:, None] * (tangent.judge_items[rows.first] - tangent.judge_items[rows.second])
    own_terms = times_predictor(rows.judge_terms, here.slope, here.tie_slope, rows.tie == "judge")
    all_terms = times_predictor(rows.shared_terms, here.slope, here.tie_slope, rows.tie == "common")
    linear = np.hstack([by_cluster @ all_terms, (by_judge @ own_terms).reshape(n_clusters, -1)])[:, rows.is_free]
    shared = []
    for weights in tangent.shared_judges.T:
        weighted = here.slope * weights[rows.judge]
        places = np.concatenate([cluster, cluster]), np.concatenate([rows.first, rows.second])
        items = sparse.csr_array((np.concatenate([weighted, -weighted]), places), (n_clusters, rows.n_items))
        shared.append(tangent.along_shared(items.toarray()))
    return np.hstack([linear, (by_judge @ own_items).reshape(n_clusters, -1), *shared])


def _no_further(cov_kwds: dict[str, Any], known: tuple[str, ...]) -> None:
    unknown = sorted(set(cov_kwds) - set(known))
    if unknown:
        raise ValueError(f"cov_kwds has unknown entries {quoted(unknown)}; known are {quoted(known) or 'none'}.")


def cluster_codes(groups: Any, data: Comparisons) -> tuple[np.ndarray, np.ndarray, str | None]:
    """Integer codes, labels and name (if a column was named) of the clusters.

    Raises
    ------
    ComparisonError
        When the column does not exist, or the labels do not match the rows.
    """
    name = None
    if groups is None:
        raise ValueError(
            "cov_type='cluster' needs cov_kwds={'groups': ...}: labels, or the name of a column of the data."
        )
    if isinstance(groups, str):
        name = groups
        known = {"judge": np.asarray(data.judges, dtype=object)[data.judge_index]}
        if groups not in data.columns and groups not in known:
            raise ComparisonError(
                f"no column is called {groups!r}; there are {quoted([*data.columns.columns, 'judge'], 10)}."
            )
        groups = data.columns[groups] if groups in data.columns else known[groups]
    codes, labels = pd.factorize(pd.Series(np.asarray(groups)))
    if len(codes) != data.n_rows:
        raise ComparisonError(
            f"groups has {len(codes)} labels but there are {data.n_rows} rows in the fit: name a column of the data instead, which "
            "follows when rows are left out."
        )
    if (codes < 0).any():
        raise ComparisonError(f"groups has {int((codes < 0).sum())} missing labels: every row needs its cluster.")
    return codes, np.asarray(labels), name


def check_clusters(
    cluster: np.ndarray, n_clusters: int, data: Comparisons, n_free: int, *, has_judge_parameters: bool
) -> None:
    """Refuse clusters that leave a judge's parameters without variance, and warn of too few.

    Raises
    ------
    IdentificationError
    """
    if n_clusters < 2:
        raise IdentificationError("clustering needs at least two clusters, got one.")
    if has_judge_parameters:
        pairs = np.unique(np.column_stack([data.judge_index, cluster]), axis=0)
        alone = np.flatnonzero(np.bincount(pairs[:, 0], minlength=data.n_judges) == 1)
        if len(alone):
            names = [data.judges[k] for k in alone]
            raise IdentificationError(
                f"all comparisons of {len(names)} judges ({quoted(names, 3)}) fall in one cluster each. At the estimate the "
                "scores of a judge's own parameters sum to zero over the judge, so these clusters would leave them no "
                "variance at all. Cluster by prompt instead, or leave these judges out."
            )
    if n_clusters < FEW_CLUSTERS or n_clusters <= n_free:
        warnings.warn(
            f"{n_clusters} clusters for {n_free} free parameters: cluster-robust standard errors are too small with so few, "
            "and joint tests of many parameters are not available.",
            CovarianceWarning,
            stacklevel=5,
        )
