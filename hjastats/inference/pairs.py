"""Differences of all pairs of items or judges, with p-values for looking at all of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from .. import limits
from ..data.arrays import check_type, listed
from ..errors import ContrastError, IdentificationError, SizeError
from ..fitted import Fit
from ..words import quoted
from .apart import check_pairs_linked
from .contrast_results import normal_limits, tests_table
from .simultaneous import adjusted_p_values, exceedance, largest_differences, pairwise_differences


def pairwise(
    fit: Fit,
    kind: str = "mu",
    *,
    method: str = "holm",
    alpha: float = 0.05,
    rng: int | np.random.Generator | None = 0,
    labels: Sequence[str] | None = None,
) -> pd.DataFrame:
    """All pairwise differences of consensus scores, sensitivities or effects of judges.

    Raises
    ------
    ContrastError
        For a kind, labels or a method that do not exist.
    IdentificationError
        Without finite values or standard errors.
    SizeError
        For too many pairs.
    """
    check_type("method", method, str, "the name of a method")
    some = compared_positions(fit, kind, labels)
    check_pairs(len(some), "differences of", "items" if kind == "mu" else "judges")
    names, estimate, rows = fit.vector(kind, some)
    index = _pair_index(names)
    if kind in fit.layout.slices and fit.separation is not None:
        # Differences with what has no finite value are empty, and do not count among those to adjust for.
        finite = np.flatnonzero(~fit.is_separated[fit.layout.slices[kind]][some])
        names, estimate, rows = tuple(names[i] for i in finite), estimate[finite], rows[finite]
        if len(names) < 2:
            raise IdentificationError(f"no two values of {kind} are finite: see the warning of the fit.")
    covariance = fit.covariance.of(rows)
    if not np.isfinite(covariance).all():
        raise IdentificationError(fit.why_no_errors or "standard errors are not available for this fit.")
    pairs, (low, high) = pairwise_differences(estimate, covariance), np.triu_indices(len(names), 1)
    difference, errors = pairs.estimate[low, high], pairs.std_err[low, high]
    if not (errors > 0).any():
        raise ContrastError(f"the differences of {kind} are fixed by the model: there is nothing to compare.")
    with np.errstate(divide="ignore", invalid="ignore"):
        z = difference / errors
    table = tests_table(difference, errors, z, normal_limits(difference, errors, alpha))
    if method == "single-step":
        draws = largest_differences(covariance, rng=rng)
        adjusted = exceedance(draws, np.abs(z))
        half = np.quantile(draws, 1 - alpha) * errors
        table["ci_lower"], table["ci_upper"] = difference - half, difference + half
    else:
        adjusted = adjusted_p_values(table["p_value"].to_numpy(), method, alpha)
    table.insert(4, "p_adjusted", adjusted)
    return table.set_axis(_pair_index(names)).reindex(index)


def _pair_index(names: Sequence[str]) -> pd.MultiIndex:
    return pd.MultiIndex.from_tuples(combinations(names, 2), names=["first", "second"])


def compared_positions(fit: Fit, kind: str, labels: Sequence[str] | None) -> np.ndarray:
    """Positions of two or more judges or items to compare; of all by default.

    Raises
    ------
    ContrastError
    """
    kinds = ["mu", "gamma", *(term.name for term in fit.layout.terms.own if term.kind is not None)]
    if not isinstance(kind, str) or kind not in kinds:
        raise ContrastError(f"kind must be one of {quoted(kinds)}, got {kind!r}.")
    wanted = None if labels is None else [str(label) for label in listed("labels", labels, "names")]
    if wanted is not None and len(set(wanted)) < max(len(wanted), 2):
        raise ContrastError(f"expected two or more different labels to compare, got {labels!r}.")
    some = fit.positions(kind, wanted)
    if kind == "mu":
        check_pairs_linked(fit.layout, some[:1].repeat(len(some)), some)
    return some


def check_pairs(n: int, what: str, of: str) -> None:
    """Refuse more pairs than anybody can wait for, or read.

    Raises
    ------
    SizeError
    """
    if n > limits.MOST_COMPARED:
        raise SizeError(
            f"{what} {n:,} {of} need all {n * (n - 1) // 2:,} differences between them: name at most "
            f"{limits.MOST_COMPARED:,}, such as the leading ones, or ask for contrasts."
        )
