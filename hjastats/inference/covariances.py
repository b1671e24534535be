"""Where standard errors come from: one entry for each ``cov_type`` in ``COVARIANCES``.

All but the model's own are sandwich estimators in the free coordinates, which do not trust the model's variance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import limits
from ..data.arrays import check_type
from ..data.comparisons import Comparisons
from ..errors import OptionError
from ..fitted import CovarianceChoice, Fit, Observations
from ..model.design import Coefficients, Design
from ..model.information import expected_information, free_information
from ..model.likelihood import evaluate
from ..model.tangent import TangentBasis
from ..solve.precision import Covariance, DenseCovariance, FreeCovariance, LargeCovariance
from ..words import quoted
from .clusters import Clusters, check_clusters, read_clusters
from .contributions import Contributions, single

# Sum of p (1 - p) over a judge's comparisons, about the number of verdicts that surprise, below which robust variances are too
# small: with 500 verdicts and a position effect of 5 they covered 0.89, with one of 4 (15 surprises) 0.95.
FEW_SURPRISES = 10.0
# Share of a judge's largest information below which a direction is not known from verdicts at all.
_KNOWN = 1e-10


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
    OptionError
        For a kind or options that do not exist.
    """
    check_kind(kind)
    how, given = COVARIANCES[kind], {} if options is None else options
    check_type("cov_kwds", given, dict, "a dict of options")
    if not how.options and given:
        raise OptionError(f"cov_type={kind!r} takes no cov_kwds, got {sorted(given)}.")
    if unknown := sorted(set(given) - set(how.options)):
        raise OptionError(f"cov_kwds has unknown entries {quoted(unknown)}; known are {quoted(how.options)}.")
    choice = how.choose(fit, observations() if how.needs_rows else None, given)
    if fit.penalty is not None and fit.why_no_errors:
        choice = replace(choice, description=fit.penalty.description)
    return replace(fit, choice=choice)


def check_kind(kind: Any) -> None:
    """Refuse a covariance that does not exist.

    Raises
    ------
    OptionError
    """
    if not isinstance(kind, str) or kind not in COVARIANCES:
        *others, last = COVARIANCES
        raise OptionError(f"cov_type must be {', '.join(map(repr, others))} or {last!r}, got {kind!r}.")


def _of_the_model(fit: Fit, observations: Observations | None, options: dict[str, Any]) -> CovarianceChoice:
    descriptions = {
        "expected": "Standard errors from the expected information (eq. fisher-plugin).",
        "observed": "Standard errors from the observed information.",
    }
    description = descriptions[fit.information] if fit.penalty is None else fit.penalty.description
    return CovarianceChoice("nonrobust", description)


def _hc0(fit: Fit, observations: Observations | None, options: dict[str, Any]) -> CovarianceChoice:
    return _of_comparisons(fit, observations, "HC0", 1.0)


def _hc1(fit: Fit, observations: Observations | None, options: dict[str, Any]) -> CovarianceChoice:
    """HC0 times n / (n - d), for the d residuals that the estimate takes up (MacKinnon and White 1985)."""
    assert observations is not None
    size, n_free = _size(observations.data), fit.n_moving
    if size <= n_free:
        raise OptionError(
            f"cov_type='HC1' needs more comparisons than parameters, got {size:g} and {n_free}: use 'nonrobust' or 'HC0'."
        )
    return _of_comparisons(fit, observations, "HC1", size / (size - n_free))


def _size(data: Comparisons) -> float:
    """Number of comparisons; importance weights sum to whatever their scale is, and their rows are counted."""
    return data.n_comparisons if data.has_whole_weights else float(data.n_rows)


def _of_comparisons(fit: Fit, observations: Observations | None, kind: str, correction: float) -> CovarianceChoice:
    assert observations is not None
    rows, data, at, tangent, bread = observations.rows, observations.data, fit.at, fit.tangent, fit.model_covariance
    sparse_judges = nearly_certain(fit)
    covariance: Covariance
    if fit.layout.n_free > limits.LARGEST_SANDWICH or len(sparse_judges):
        contributions = Contributions.of_comparisons(rows, data, at)
        covariance = Sandwich.held_up(fit, contributions, sparse_judges, correction)
    else:
        meat = DenseCovariance(correction * single_meat(rows, data, at, tangent))
        covariance = DenseCovariance(meat.of(bread.covariance))
    description = f"Standard errors are heteroscedasticity robust ({kind}).{_held_up(fit, sparse_judges)}"
    return CovarianceChoice(kind, description, covariance)


def _of_clusters(fit: Fit, observations: Observations | None, options: dict[str, Any]) -> CovarianceChoice:
    assert observations is not None
    data, n_free = observations.data, fit.layout.n_free
    ways = read_clusters(options.get("groups"), data)
    for way in ways:
        check_clusters(way, data, fit)
    use_correction = options.get("use_correction", _default_correction(fit))
    if use_correction not in (True, False, "judge"):
        raise OptionError(f"use_correction must be True, False or 'judge', got {use_correction!r}.")
    one, *others = [clustered(fit, observations, way, use_correction) for way in ways]
    covariance: Covariance = one
    if others:
        # Inclusion and exclusion; what is not positive semi-definite by chance is cut off.
        fit.check_matrix(n_free)
        both = clustered(fit, observations, ways[0].within(ways[1]), use_correction)
        values, vectors = np.linalg.eigh(one.covariance + others[0].covariance - both.covariance)
        covariance = DenseCovariance((vectors * np.maximum(values, 0.0)) @ vectors.T)
    by = " and ".join(f"{way.n} clusters" + (f" ({way.name})" if way.name else "") for way in ways)
    named = [way.code.tolist() if way.name is None else way.name for way in ways]
    return CovarianceChoice(
        "cluster",
        f"Standard errors are robust to correlation within {by}.{_held_up(fit, nearly_certain(fit))}",
        covariance,
        {
            "n_groups": min(way.n for way in ways),
            "groups": named[0] if len(named) == 1 else named,
            "use_correction": use_correction,
        },
    )


def clustered(
    fit: Fit, observed: Observations, clusters: Clusters, use_correction: bool | str | None = None
) -> Covariance:
    """The covariance that counts what the rows of a cluster have in common.

    With ``use_correction="judge"`` a judge's part of a cluster's gradient is enlarged by G / (G - 1), where G is the number of
    clusters the judge appears in: what the jackknife over clusters does to parameters that only these clusters inform. ``True`` is
    the factor of statsmodels, which knows the number of all clusters only.
    """
    use_correction = _default_correction(fit) if use_correction is None else use_correction
    data, g, k = observed.data, float(clusters.n), fit.n_moving
    size = _size(data)
    correction = 1.0 if use_correction is False else (size - 1.0) / (size - k)
    scale = None
    if use_correction == "judge":
        in_clusters = clusters.per_judge(data).astype(float)
        scale = in_clusters / np.maximum(in_clusters - 1.0, 1.0)
    elif use_correction:
        correction *= g / (g - 1.0)
    each = evaluate(single(observed.rows, data.outcome), fit.at)
    contributions = Contributions.of_clusters(observed.rows, data, each, clusters, scale)
    covariance = Sandwich.held_up(fit, contributions, nearly_certain(fit), correction)
    return DenseCovariance(covariance.covariance) if fit.layout.n_free <= limits.LARGEST_SANDWICH else covariance


def influence(fit: Fit, observed: Observations, clusters: Clusters, jacobian: np.ndarray) -> np.ndarray:
    """By how much every cluster moves quantities with the given Jacobian (m, n_free), to first order, shape (n_clusters, m).

    Of fits to other rows of the same clusters, products of these are covariances between the fits.
    """
    each = evaluate(single(observed.rows, observed.data.outcome), fit.at)
    contributions = Contributions.of_clusters(observed.rows, observed.data, each, clusters)
    return Sandwich(fit.model_covariance, contributions, fit.tangent).influence(jacobian)


def _default_correction(fit: Fit) -> bool | str:
    return "judge" if fit.layout.has_own_parameters else True


def nearly_certain(fit: Fit) -> np.ndarray:
    """Judges whose verdicts the fit finds next to certain, so that few surprises are left to estimate a variance from."""
    if not fit.layout.has_own_parameters or not fit.model_covariance.is_finite:
        return np.zeros(0, dtype=int)
    design = fit.design
    return np.flatnonzero(
        np.bincount(design.judge, evaluate(design, fit.at).curvature, design.n_judges) < FEW_SURPRISES
    )


def _own_coordinates(design: Design, tangent: TangentBasis, judge: int) -> np.ndarray:
    """Free coordinates of a judge's scores and linear coefficients, in the order of its information; -1 for one that is held."""
    f, e = tangent.judge_items.shape[1], design.n_judge_terms
    terms = np.arange(e) + design.n_shared_terms + judge * e
    linear = np.where(design.is_free[terms], np.cumsum(design.is_free)[terms] - 1, -1)
    return np.concatenate([design.n_linear + judge * f + np.arange(f), linear])


def _held_up(fit: Fit, judges: np.ndarray) -> str:
    if not len(judges):
        return ""
    names, whom = quoted([fit.layout.judges[k] for k in judges], 3), "it" if len(judges) == 1 else "them"
    return (
        f" The verdicts of {names} are nearly certain, which leaves too few surprises for that: for {whom} the larger of robust "
        "and model-based variances counts."
    )


COVARIANCES = {
    "nonrobust": CovarianceType((), False, _of_the_model),
    "HC0": CovarianceType((), True, _hc0),
    "HC1": CovarianceType((), True, _hc1),
    "cluster": CovarianceType(("groups", "use_correction"), True, _of_clusters),
}


@dataclass(frozen=True)
class Sandwich:
    """A robust covariance worked out as far as it is asked for, where a matrix of all free coordinates would be too large."""

    bread: FreeCovariance | LargeCovariance
    contributions: Contributions
    tangent: TangentBasis
    correction: float = 1.0
    # Movements whose squares are added, shape (m, n_free): what robust variances of some judges lack.
    added: np.ndarray | None = None

    @classmethod
    def held_up(cls, fit: Fit, contributions: Contributions, judges: np.ndarray, correction: float = 1.0) -> Sandwich:
        """With variances of some judges' own coordinates that are nowhere smaller than those of the model."""
        bread, tangent, added = fit.model_covariance, fit.tangent, []
        if not len(judges):
            return cls(bread, contributions, tangent, correction)
        information = expected_information(fit.design, evaluate(fit.design, fit.at), tangent).judge
        for k in judges:
            own = _own_coordinates(fit.design, tangent, k)
            is_free, movements = own >= 0, np.zeros(((own >= 0).sum(), fit.layout.n_free))
            movements[np.arange(len(movements)), own[is_free]] = 1.0
            # Under a penalty some of these may be known from it alone.
            values, vectors = np.linalg.eigh(information[k][np.ix_(is_free, is_free)])
            some = values > _KNOWN * values.max(initial=0.0)
            root, whiten = vectors[:, some] * np.sqrt(values[some]), vectors[:, some] / np.sqrt(values[some])
            squares = whiten.T @ contributions.products(movements, tangent) @ whiten
            shares, directions = np.linalg.eigh(correction * squares)
            missing = root @ directions * np.sqrt(np.maximum(1.0 - shares, 0.0))
            added.append(missing.T @ bread.times(movements))
        return cls(bread, contributions, tangent, correction, np.vstack(added))

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
        covariance = 0.5 * self.correction * (products + products.T)
        if self.added is None:
            return covariance
        moved = jacobian @ self.added.T
        return covariance + moved @ moved.T

    def variances(self, jacobian: np.ndarray) -> np.ndarray:
        """Variances of quantities with the given Jacobian, shape (m,)."""
        parts = [jacobian[start : start + limits.BLOCK] for start in range(0, len(jacobian), limits.BLOCK)]
        squares = [self.contributions.squares(self.bread.times(part), self.tangent) for part in parts]
        variances = self.correction * np.concatenate([np.zeros(0), *squares])
        return variances if self.added is None else variances + np.square(jacobian @ self.added.T).sum(axis=1)


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
