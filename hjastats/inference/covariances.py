"""Where standard errors come from: one entry for each ``cov_type`` in ``COVARIANCES``.

All but the model's own are sandwich estimators in the free coordinates, which do not trust the model's variance.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from .. import limits
from ..data.cells import take
from ..data.comparisons import Comparisons
from ..errors import ComparisonError, CovarianceWarning, IdentificationError
from ..fit import CovarianceChoice, Fit, Observations
from ..model.design import Coefficients, Design
from ..model.information import expected_information, free_information
from ..model.likelihood import evaluate, weighted
from ..model.responses import Derivatives
from ..model.tangent import TangentBasis
from ..solve.precision import Covariance, DenseCovariance, FreeCovariance, LargeCovariance
from ..words import quoted
from .contributions import Contributions, single, weighted_slopes


@dataclass(frozen=True)
class CovarianceType:
    """A kind of covariance: the options it takes, whether it needs the rows of the data, and how it is made."""

    options: tuple[str, ...]
    needs_rows: bool
    choose: Callable[[Fit, Observations | None, dict[str, Any]], CovarianceChoice]


def choose_covariance(
    fit: Fit, kind: str, options: dict[str, Any] | None, observations: Callable[[], Observations]
) -> Fit:
    """The fit with the standard errors asked for.

    Raises
    ------
    ValueError
        For a kind or options that do not exist.
    """
    if kind not in COVARIANCES:
        *others, last = COVARIANCES
        raise ValueError(f"cov_type must be {', '.join(map(repr, others))} or {last!r}, got {kind!r}.")
    how, given = COVARIANCES[kind], options or {}
    if not how.options and given:
        raise ValueError(f"cov_type={kind!r} takes no cov_kwds, got {sorted(given)}.")
    if unknown := sorted(set(given) - set(how.options)):
        raise ValueError(f"cov_kwds has unknown entries {quoted(unknown)}; known are {quoted(how.options)}.")
    choice = how.choose(fit, observations() if how.needs_rows else None, given)
    if fit.penalty is not None and fit.why_no_errors:
        choice = replace(choice, description=fit.penalty.description)
    return replace(fit, choice=choice)


def _of_the_model(fit: Fit, observations: Observations | None, options: dict[str, Any]) -> CovarianceChoice:
    descriptions = {
        "expected": "Standard errors from the expected information (eq. fisher-plugin).",
        "observed": "Standard errors from the observed information.",
    }
    description = descriptions[fit.information] if fit.penalty is None else fit.penalty.description
    return CovarianceChoice("nonrobust", description)


def _of_comparisons(fit: Fit, observations: Observations | None, options: dict[str, Any]) -> CovarianceChoice:
    assert observations is not None
    rows, data, at, tangent, bread = observations.rows, observations.data, fit.at, fit.tangent, fit.model_covariance
    covariance: Covariance
    if fit.layout.n_free > limits.LARGEST_SANDWICH:
        covariance = Sandwich(bread, Contributions.of_comparisons(rows, data, at), tangent)
    else:
        covariance = DenseCovariance(_sandwich(bread.covariance, single_meat(rows, data, at, tangent)))
    return CovarianceChoice("HC0", "Standard errors are heteroscedasticity robust (HC0).", covariance)


def _of_clusters(fit: Fit, observations: Observations | None, options: dict[str, Any]) -> CovarianceChoice:
    assert observations is not None
    rows, data, at, tangent, bread = observations.rows, observations.data, fit.at, fit.tangent, fit.model_covariance
    cluster, labels, name = cluster_codes(options.get("groups"), data)
    n, g, k = data.n_comparisons, len(labels), fit.layout.n_free
    check_clusters(cluster, g, data, k, has_judge_parameters=fit.layout.has_judge_parameters)
    use_correction = options.get("use_correction", True)
    correction = (g / (g - 1.0)) * ((n - 1.0) / (n - k)) if use_correction else 1.0
    covariance: Covariance
    if k > limits.LARGEST_SANDWICH:
        covariance = Sandwich(bread, Contributions.of_clusters(rows, data, at, cluster, g), tangent, correction)
    else:
        meat = cluster_meat(rows, data, at, tangent, cluster, g)
        covariance = DenseCovariance(correction * _sandwich(bread.covariance, meat))
    by = f" ({name})" if name else ""
    return CovarianceChoice(
        "cluster",
        f"Standard errors are robust to correlation within {g} clusters{by}.",
        covariance,
        {"n_groups": g, "groups": cluster if name is None else name, "use_correction": use_correction},
    )


COVARIANCES = {
    "nonrobust": CovarianceType((), False, _of_the_model),
    "HC0": CovarianceType((), True, _of_comparisons),
    "cluster": CovarianceType(("groups", "use_correction"), True, _of_clusters),
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
        return self.of(np.eye(self.contributions.rows.n_linear + self.tangent.n_free))

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


def _sandwich(bread: np.ndarray, meat: np.ndarray) -> np.ndarray:
    covariance = bread @ meat @ bread
    return 0.5 * (covariance + covariance.T)


def single_meat(rows: Design, data: Comparisons, at: Coefficients, tangent: TangentBasis) -> np.ndarray:
    """Sum over single comparisons of the squares of their gradients, shape (n_free, n_free).

    The gradient of a comparison is its slope times its design, so this is an information matrix with squared slopes in place of
    variances, and is worked out like one: without a row per comparison.
    """
    here = evaluate(single(rows, data.outcome), at)
    squares = here._replace(curvature=data.weight * here.slope**2)
    if here.own_slope is not None:
        products = here.own_slope[:, None] * here.own_slope
        squares = squares._replace(
            cross=data.weight * here.slope * here.own_slope, own_curvature=data.weight * products
        )
    return free_information(expected_information(rows, squares, tangent), rows)


def cluster_meat(
    rows: Design, data: Comparisons, at: Coefficients, tangent: TangentBasis, cluster: np.ndarray, n_clusters: int
) -> np.ndarray:
    """Sum over clusters of the squares of their gradients, shape (n_free, n_free); some clusters at a time."""
    here = weighted_slopes(rows, data, at)
    order = np.argsort(cluster, kind="stable")
    ends = np.searchsorted(cluster[order], np.arange(n_clusters + 1))
    n_free = rows.n_linear + tangent.n_free
    at_once = max(limits.ENTRIES_AT_ONCE // n_free, 1)
    meat = np.zeros((n_free, n_free))
    for start in range(0, n_clusters, at_once):
        stop = min(start + at_once, n_clusters)
        some = order[ends[start] : ends[stop]]
        slopes = here._replace(
            slope=here.slope[some], own_slope=None if here.own_slope is None else here.own_slope[:, some]
        )
        sums = cluster_scores(take(rows, some), slopes, tangent, cluster[some] - start, stop - start)
        meat += sums.T @ sums
    return meat


def cluster_scores(
    rows: Design, here: Derivatives, tangent: TangentBasis, cluster: np.ndarray, n_clusters: int
) -> np.ndarray:
    """Sums of the slopes of rows times their design, by cluster, shape (n_clusters, n_free).

    Nothing is larger than the rows or the result: a row touches its judge's own coordinates and, through two items, the shared.
    """
    n_rows, n_judges = len(rows.n), rows.n_judges
    each = np.arange(n_rows), np.ones(n_rows)
    by_judge = sparse.csr_array((each[1], (cluster * n_judges + rows.judge, each[0])), (n_clusters * n_judges, n_rows))
    by_cluster = sparse.csr_array((each[1], (cluster, each[0])), (n_clusters, n_rows))
    own_items = here.slope[:, None] * (tangent.judge_items[rows.first] - tangent.judge_items[rows.second])
    own_terms = weighted(rows.judge_terms, rows.terms.own_moves, here.slope, here.own_slope)
    all_terms = weighted(rows.shared_terms, rows.terms.shared_moves, here.slope, here.own_slope)
    linear = np.hstack([by_cluster @ all_terms, (by_judge @ own_terms).reshape(n_clusters, -1)])[:, rows.is_free]
    shared = []
    for weights in tangent.shared_judges.T:
        slope = here.slope * weights[rows.judge]
        places = np.concatenate([cluster, cluster]), np.concatenate([rows.first, rows.second])
        items = sparse.csr_array((np.concatenate([slope, -slope]), places), (n_clusters, rows.n_items))
        shared.append(tangent.along_shared(items.toarray()))
    return np.hstack([linear, (by_judge @ own_items).reshape(n_clusters, -1), *shared])


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
    if n_clusters < limits.FEW_CLUSTERS or n_clusters <= n_free:
        warnings.warn(
            f"{n_clusters} clusters for {n_free} free parameters: cluster-robust standard errors are too small with so few, "
            "and joint tests of many parameters are not available.",
            CovarianceWarning,
            stacklevel=5,
        )
