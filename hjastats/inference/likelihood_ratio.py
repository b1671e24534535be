"""Likelihood ratios of nested fits: which of them chi-squared describes, what clusters do to them, and the table of all."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.regression.linear_model import CompareLRTestResult

from .. import limits
from ..errors import NonRegularWarning
from ..fitted import Fit, Restriction
from ..model.design import Design
from ..model.information import expected_information, free_information
from ..model.likelihood import evaluate
from ..model.tangent import TangentBasis
from ..solve.precision import directions_left
from .clusters import Clusters, read_clusters
from .contributions import Contributions, single
from .nesting import Candidate, check_nested, check_same_data, is_nested, is_regular

# Size that a test at 5% may have by what is known of its likelihood ratio, for its p-value to be given.
LARGEST_SIZE = 0.065
# P-value that is given although the size is larger, because three times the correction leaves it.
BEYOND_DOUBT = 0.001
# Inflation by clusters beyond which a p-value that does not count them says so.
NOTEWORTHY = 1.2
NOT_COUNTED = "does not count"
# What a table says of one fit alone.
_OWN = ("df", "llf", "aic", "bic")


@dataclass(frozen=True)
class Ratio:
    """A likelihood ratio, and its p-value where a chi-squared distribution gives one.

    Attributes
    ----------
    statistic : float
    df : int
    p_value : float
        Not a number where chi-squared would reject too often; an upper bound where the note says so.
    note : str
        Why there is none, or what the one there is takes for granted; short, for a table.
    why : str
        The same at length, where there is more to say.
    """

    statistic: float
    df: int
    p_value: float = np.nan
    note: str = ""
    why: str = ""


def likelihood_ratio(small: Candidate, large: Candidate) -> Ratio:
    """Test a model against a larger one that it is nested in."""
    statistic, df = 2.0 * (large.fit.loglike - small.fit.loglike), int(large.fit.df - small.fit.df)
    if statistic < -1e-6:
        return Ratio(statistic, df, note="worse than the nested model: a local optimum")
    is_robust = large.fit.choice.kind.startswith("HC")
    if large.has_soft_preferences and not is_robust:
        return Ratio(statistic, df, note="not chi-squared (soft preferences)")
    if not is_regular(small, large):
        return Ratio(statistic, df, note="not chi-squared")
    excess = _excess(small.fit) if _adds_sensitivities(small, large) else 0.0
    size = stats.chi2.sf(stats.chi2.isf(0.05, df) / (1.0 + excess), df)
    if size > LARGEST_SIZE:
        # The excess is known to first order only: three times as much leaves a bound.
        p_value = float(stats.chi2.sf(statistic / (1.0 + 3.0 * excess), df))
        if p_value < BEYOND_DOUBT:
            return Ratio(statistic, df, p_value, "at most (weak consensus)")
        why = f"judges tell too little of the consensus: chi-squared would reject {size:.0%} of true hypotheses at 5%"
        return Ratio(statistic, df, note="not chi-squared (weak consensus)", why=why)
    clusters = _in_use(large) or _in_use(small)
    if clusters is not None or is_robust:
        inflation = _inflation(small, large, clusters, df)
        by = large.fit.choice.kind if clusters is None else clusters.name or f"{clusters.n} clusters"
        p_value = float(stats.chi2.sf(statistic / inflation, df))
        return Ratio(statistic, df, p_value, f"Rao-Scott, {inflation:.2f} by {by}")
    return Ratio(statistic, df, float(stats.chi2.sf(statistic, df)), _not_counted(small, large, df))


def _adds_sensitivities(small: Candidate, large: Candidate) -> bool:
    # Scores that differ by traits alone make an ordinary logit.
    return large.fit.layout.has_own_scores and not small.fit.layout.structure.judges_differ


def _excess(fit: Fit) -> float:
    """By how much the likelihood ratio of a pooled fit against sensitivities of the judges is too large, as a share.

    For two reasons. The consensus is estimated, so that sensitivities can lean on its errors: in the singular values of scores
    plus noise their sum of squares is (N - 2) / W larger to second order, where W is the Wald statistic of the consensus.
    And each judge's part is chi-squared only up to Lawley's factor, whose cumulants are those of a logistic regression on the
    consensus.
    """
    design, mu = fit.design, fit.parts.mu
    here, differences = evaluate(design, fit.at), mu[design.first] - mu[design.second]
    share = here.curvature / design.n
    skewness = np.sqrt(np.maximum(1.0 - 4.0 * np.minimum(share, 0.25), 0.0)) * np.sign(here.eta)

    def by_judge(values: np.ndarray) -> np.ndarray:
        return np.bincount(design.judge, here.curvature * values, design.n_judges)

    # Without any consensus it is a bound that can be cubed.
    second = np.maximum(by_judge(differences**2), 1e-100)
    third, fourth = by_judge(differences**3 * skewness), by_judge(differences**4 * (1.0 - 6.0 * share))
    judges = np.mean(5.0 * third**2 / second**3 - 3.0 * fourth / second**2) / 12.0
    return max(float((design.n_items - 2) / second.sum() + judges), 0.0)


def _in_use(candidate: Candidate) -> Clusters | None:
    """The clusters that a fit's standard errors count; of two ways the first."""
    choice = candidate.fit.choice
    if choice.kind != "cluster" or candidate.data is None:
        return None
    return read_clusters(choice.facts["groups"], candidate.data)[0]


def _not_counted(small: Candidate, large: Candidate, df: int) -> str:
    """What to say of a p-value that takes verdicts on one prompt for independent."""
    assert large.data is not None
    clusters = Clusters.of_prompts(large.data)
    if clusters is None and not large.fit.layout.has_own_parameters:
        # Of judges who are alike but for their traits, each may still have a taste.
        judges = Clusters.of("judge", large.data)
        clusters = judges if judges.n >= limits.FEW_CLUSTERS else None
    if clusters is None or not clusters.has_repeats or large.fit.layout.n_free > limits.LARGEST_SANDWICH:
        return ""
    inflation = _inflation(small, large, clusters, df)
    return f"{NOT_COUNTED} {clusters.name} ({inflation:.1f} times)" if inflation > NOTEWORTHY else ""


def _inflation(small: Candidate, large: Candidate, clusters: Clusters | None, df: int) -> float:
    """By how much correlation within clusters, or verdicts that vary as the model does not say, inflate a ratio (Rao, Scott 1984).

    The ratio is a sum of squares that the information makes independent; their variances under the clusters have as mean the
    trace of the inverse information times the clusters' squared gradients, in the larger model less in the smaller. Both are
    taken at the estimate of the smaller one: at their own estimates the test rejected up to 9.5% at 5%.
    """
    assert small.observed is not None
    assert large.observed is not None
    data, rows = small.observed.data, small.observed.rows
    each, all_of_them = evaluate(single(rows, data.outcome), small.fit.at), evaluate(rows, small.fit.at)

    def trace(rows: Design, tangent: TangentBasis, held: Restriction | None) -> float:
        contributions = (
            Contributions.of_rows(rows, data, each)
            if clusters is None
            else Contributions.of_clusters(rows, data, each, clusters)
        )
        information = free_information(expected_information(rows, all_of_them, tangent), rows)
        along = np.eye(len(information)) if held is None else directions_left(held.gradient)
        squares = contributions.products(along.T, tangent)
        return float(np.trace(np.linalg.solve(along.T @ information @ along, squares)))

    tangent = large.fit.layout.structure.tangent(small.fit.at.scores)
    added = trace(large.observed.rows, tangent, None) - trace(rows, small.fit.tangent, small.fit.restriction)
    if clusters is None:
        return added / df
    # Ties as half wins vary less than the model says; a ratio is not enlarged for that by clusters, of which there may be few.
    return max(added / df * clusters.n / (clusters.n - 1.0), 1.0)


def compare_lr_test(large: Candidate, restricted: Candidate) -> CompareLRTestResult:
    """Likelihood-ratio test of a restricted model against a larger one.

    Raises
    ------
    ComparisonError
        For different data, or models that are not nested.
    """
    check_nested(restricted, large)
    ratio = likelihood_ratio(restricted, large)
    if np.isnan(ratio.p_value):
        is_bound = " because an added direction is undefined, or a parameter on the boundary, under the smaller model"
        why = ratio.why or f"{ratio.note}{'' if is_regular(restricted, large) else is_bound}"
        advice = " Use method='bootstrap'." if restricted.has_same_terms(large) else ""
        warnings.warn(
            f"{restricted.name} against {large.name}: no p-value is given, {why}.{advice}",
            NonRegularWarning,
            stacklevel=3,
        )
    elif ratio.note.startswith(NOT_COUNTED):
        told = f"the p-value {ratio.note}, which inflate the likelihood ratio: use with_covariance('cluster', {{'groups': ...}})."
        warnings.warn(told, NonRegularWarning, stacklevel=3)
    return CompareLRTestResult(ratio.statistic, ratio.p_value, ratio.df)


def comparison_table(candidates: Sequence[Candidate]) -> pd.DataFrame:
    """Analysis of deviance of models fitted to the same comparisons, from the smallest up.

    Raises
    ------
    ComparisonError
        For different data.
    """
    check_same_data(candidates)
    ordered = sorted(candidates, key=lambda candidate: (candidate.fit.df, candidate.fit.loglike))
    rows = [_row(candidate, ordered[:place]) for place, candidate in enumerate(ordered)]
    table = pd.DataFrame(rows, index=[candidate.name for candidate in ordered])
    return table.astype({"lr_df": "Int64"})


def drop_table(full: Candidate, without: Mapping[str, Candidate]) -> pd.DataFrame:
    """Tests of a fit against others that each lack one of its terms.

    Raises
    ------
    ComparisonError
        For fits that have no likelihood ratio.
    """
    rows = {}
    for name, small in without.items():
        check_nested(small, full)
        rows[name] = _row(full, [small]) | {key: value for key, value in _row(small, []).items() if key in _OWN}
    return pd.DataFrame.from_dict(rows, orient="index").drop(columns="against").astype({"lr_df": "Int64"})


def _row(candidate: Candidate, smaller: list[Candidate]) -> dict[str, Any]:
    fit = candidate.fit
    row: dict[str, Any] = {"df": int(fit.df), "llf": fit.loglike, "aic": fit.aic, "bic": fit.bic}
    row |= {"against": "", "lr": np.nan, "lr_df": None, "p_value": np.nan, "note": ""}
    nested = [other for other in smaller if is_nested(other, candidate) and other.fit.df < fit.df]
    if nested:
        # Of several of the same size the best: it comes last.
        ratio = likelihood_ratio(nested[-1], candidate)
        row |= {"against": nested[-1].name, "lr": ratio.statistic, "lr_df": ratio.df}
        row |= {"p_value": ratio.p_value, "note": ratio.note}
    elif smaller:
        row["note"] = "none above is nested"
    if not fit.converged:
        row["note"] = "; ".join(filter(None, [row["note"], "not converged"]))
    return row
