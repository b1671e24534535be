"""What scores follow from: coefficients of traits as a table, and the scores of items that were never compared."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import ndtri

from ..fitted import Fit
from ..model.response import probability
from .contrast_results import two_sided

_TESTED = ["estimate", "std_err", "z", "p_value", "ci_lower", "ci_upper"]


def trait_table(fit: Fit, categories: tuple[str, ...] = (), alpha: float = 0.05) -> pd.DataFrame:
    """Coefficients of all traits, with tests that they are zero and intervals.

    Parameters
    ----------
    categories : tuple of str
        Columns of the comparisons that have a coefficient for each item.
    """
    labels, values, rows = [], [], []
    for kind in fit.layout.structure.own_kinds:
        where = fit.layout.slices[kind]
        for position in range(where.start, where.stop):
            labels.append(_label(fit, *fit.layout.quantity(position)))
            values.append(fit.params[position])
        rows.append(fit.rows(np.arange(where.start, where.stop)))
    for name in categories:
        own = [f"{name}:{item}" for item in fit.layout.items[:-1]]
        known = np.concatenate([np.arange(fit.layout.slices[term].start, fit.layout.slices[term].stop) for term in own])
        # Coefficients of one column sum to zero over the items.
        weights = np.vstack([np.eye(len(own)), -np.ones(len(own))])
        values += (weights @ fit.params[known]).tolist()
        rows.append(weights @ fit.rows(known))
        labels += [(name, item) for item in fit.layout.items]
    error = np.sqrt(fit.covariance.variances(np.vstack(rows)))
    return tested(np.array(values), error, labels, alpha)


def tested(estimate: np.ndarray, error: np.ndarray, labels: list[tuple[str, str]], alpha: float) -> pd.DataFrame:
    """A table of coefficients under (trait of judges or comparisons, trait or item); the first left out where it is empty."""
    z, half = estimate / error, ndtri(1.0 - alpha / 2.0) * error
    columns = [estimate, error, z, two_sided(z), estimate - half, estimate + half]
    index: pd.Index = pd.MultiIndex.from_tuples(labels, names=["moved_by", "on"])
    if not any(first for first, _ in labels):
        index = pd.Index([second for _, second in labels], name="trait")
    return pd.DataFrame(np.column_stack(columns), index, _TESTED)


def _label(fit: Fit, kind: str, index: tuple[int, ...]) -> tuple[str, str]:
    structure = fit.layout.structure
    if kind == "beta":
        return "", structure.own_labels["trait"][index[0]]
    on = structure.own_labels["trait"] or fit.layout.items
    return structure.own_labels["judge trait"][index[0]], on[index[1]]


def new_items(
    fit: Fit,
    traits: pd.DataFrame,
    values: np.ndarray,
    gradient: np.ndarray,
    more: np.ndarray,
    against: int | None,
    alpha: float,
) -> pd.DataFrame:
    """Consensus scores of items by their traits, with intervals.

    Parameters
    ----------
    traits : pandas.DataFrame, shape (m, p)
    values, gradient : ndarray, shapes (p,) and (p, n_free)
        The coefficients of the traits.
    more : ndarray, shape (m,)
        Variance of a new item's score beyond that of the estimated coefficients.
    against : int, optional
        Item that probabilities are of beating.
    """
    weights = traits.to_numpy()
    estimate, rows = weights @ values, weights @ gradient
    if against is not None:
        unit = np.eye(len(fit.layout.items))[[against]]
        estimate, rows = estimate - fit.parts.mu[against], rows - fit.consensus_rows(unit)
    error = np.sqrt(fit.covariance.variances(rows) + more)
    half = ndtri(1.0 - alpha / 2.0) * error
    columns = {"estimate": estimate, "std_err": error, "ci_lower": estimate - half, "ci_upper": estimate + half}
    if against is not None:
        bounds = {"p": estimate, "p_lower": estimate - half, "p_upper": estimate + half}
        columns |= {name: probability(bound) for name, bound in bounds.items()}
    return pd.DataFrame(columns, traits.index)
