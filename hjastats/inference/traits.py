"""What scores follow from: coefficients of traits as a table, and the scores of items that were never compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtri

from ..data.traits import ItemTraits
from ..errors import OptionError
from ..fitted import Fit
from ..mixed import MixedFit
from ..model.response import probability
from ..solve.precision import score_rows
from .contrast_results import two_sided
from .hypotheses import joint_test

_TESTED = ["estimate", "std_err", "z", "p_value", "ci_lower", "ci_upper"]


@dataclass(frozen=True)
class Slopes:
    """How scores follow from traits of items.

    Attributes
    ----------
    names : tuple of str
    values : ndarray, shape (p,)
    gradient : ndarray, shape (p, n_free)
    more : ndarray, shape (p, p)
        Covariance beyond that of the free coordinates: what traits of all items there could be tell beyond those at hand.
    own : float
        Variance of what a new item has for itself.
    """

    names: tuple[str, ...]
    values: np.ndarray
    gradient: np.ndarray
    more: np.ndarray
    own: float


def slopes(fit: Fit, traits: ItemTraits) -> Slopes:
    """Coefficients of the traits of items: parameters, or of random items their regression on the traits."""
    n, p = traits.values.shape
    if "beta" in fit.layout.slices:
        where = fit.layout.slices["beta"]
        positions = np.arange(where.start, where.stop)
        return Slopes(traits.names, fit.shown[positions], fit.rows(positions), np.zeros((p, p)), 0.0)
    weights = np.linalg.pinv(traits.values)
    sd = fit.mixture.sd[fit.effects.index("items")] if isinstance(fit, MixedFit) else 0.0
    more = sd**2 * np.linalg.inv(traits.values.T @ traits.values)
    return Slopes(traits.names, weights @ fit.parts.mu, fit.consensus_rows(weights), more, sd**2 * (1.0 + 1.0 / n))


@dataclass(frozen=True)
class TraitCoefficients:
    """Coefficients of all traits.

    Attributes
    ----------
    labels : list of tuple
        Trait of judges or comparisons, or nothing, and trait of items or item.
    values : ndarray, shape (m,)
    gradient : ndarray, shape (m, n_free)
    more : ndarray, shape (m, m)
        Covariance beyond that of the free coordinates.
    """

    labels: list[tuple[str, str]]
    values: np.ndarray
    gradient: np.ndarray
    more: np.ndarray

    @classmethod
    def of(cls, fit: Fit, traits: ItemTraits | None, categories: tuple[str, ...] = ()) -> TraitCoefficients:
        """Those of a fit; ``categories`` are columns of the comparisons that have a coefficient for each item."""
        labels: list[tuple[str, str]] = []
        values, gradients, known = [np.zeros(0)], [np.zeros((0, fit.layout.n_free))], np.zeros((0, 0))
        if traits is not None:
            main = slopes(fit, traits)
            labels += [("", name) for name in main.names]
            values.append(main.values)
            gradients.append(main.gradient)
            known = main.more
        if "B" in fit.layout.slices:
            where, structure = fit.layout.slices["B"], fit.layout.structure
            on = structure.own_labels["trait"] or fit.layout.items
            labels += [(trait, label) for trait in structure.own_labels["judge trait"] for label in on]
            values.append(fit.shown[where])
            gradients.append(fit.rows(np.arange(where.start, where.stop)))
        for name in categories:
            is_free = "beta" not in fit.layout.slices
            on = fit.layout.items if is_free or traits is None else traits.names
            own = [fit.layout.slices[f"{name}:{label}"].start for label in (on[:-1] if is_free else on)]
            # Coefficients of one column sum to zero over the items.
            weights = np.vstack([np.eye(len(own)), -np.ones((int(is_free), len(own)))])
            labels += [(name, label) for label in on]
            values.append(weights @ fit.params[own])
            gradients.append(weights @ fit.rows(np.array(own)))
        more = np.zeros((len(labels), len(labels)))
        more[: len(known), : len(known)] = known
        return cls(labels, np.concatenate(values), np.concatenate(gradients), more)


def trait_table(
    fit: Fit, traits: ItemTraits | None, categories: tuple[str, ...] = (), alpha: float = 0.05
) -> pd.DataFrame:
    """Coefficients of all traits, with tests that they are zero and intervals.

    Parameters
    ----------
    categories : tuple of str
        Columns of the comparisons that have a coefficient for each item.
    """
    found = TraitCoefficients.of(fit, traits, categories)
    error = np.sqrt(fit.covariance.variances(found.gradient) + np.diag(found.more))
    return tested(found.values, error, found.labels, alpha)


def trait_tests(
    fit: Fit, found: TraitCoefficients, of_items: Mapping[str, list[str]], interactions: Mapping[str, list[str]]
) -> pd.DataFrame:
    """Joint tests that all coefficients of a term of the formulas are zero.

    Parameters
    ----------
    of_items, interactions : mapping of str to list of str
        Columns by the term that made them.
    """
    rows = {}
    for place, terms in enumerate((of_items, interactions)):
        for term, columns in terms.items():
            # Of main effects nothing is named beside the trait of the items.
            some = [
                i for i, (by, on) in enumerate(found.labels) if (by if place else on) in columns and bool(by) == place
            ]
            if not some:
                continue
            gradient, names = found.gradient[some], [": ".join(filter(None, found.labels[i])) for i in some]
            test = joint_test(fit, gradient, found.values[some], names, more=found.more[np.ix_(some, some)])
            name = f"{term} (interactions)" if term in rows else term
            rows[name] = {
                "statistic": test.statistic,
                "pvalue": float(test.pvalue),
                "df_constraint": int(test.df_denom),
            }
    return pd.DataFrame.from_dict(rows, orient="index", columns=["statistic", "pvalue", "df_constraint"])


def trait_weights(fit: Fit, traits: ItemTraits, alpha: float = 0.05) -> pd.DataFrame:
    """What every judge makes of each trait of the items: the coefficients of its own scores, which the traits span.

    Raises
    ------
    OptionError
        Where scores are more than the traits say.
    """
    if "beta" not in fit.layout.slices:
        raise OptionError(
            "with an effect of every item scores do not follow from the traits alone: fit without random='items'."
        )
    inverse = np.linalg.pinv(traits.values)
    rows = [inverse @ score_rows(fit.tangent, k, fit.layout.n_linear) for k in range(len(fit.layout.judges))]
    error = np.sqrt(fit.covariance.variances(fit.along(np.concatenate(rows))))
    estimate = (fit.at.scores @ inverse.T).ravel()
    gone = np.repeat(fit.is_infinite.any(axis=1), len(inverse))
    labels = [(judge, name) for judge in fit.layout.judges for name in traits.names]
    table = tested(np.where(gone, np.nan, estimate), np.where(gone, np.nan, error), labels, alpha)
    return table.rename_axis(["judge", "trait"])


def tested(estimate: np.ndarray, error: np.ndarray, labels: list[tuple[str, str]], alpha: float) -> pd.DataFrame:
    """A table of coefficients under (trait of judges or comparisons, trait or item); the first left out where it is empty."""
    z, half = estimate / error, ndtri(1.0 - alpha / 2.0) * error
    columns = [estimate, error, z, two_sided(z), estimate - half, estimate + half]
    index: pd.Index = pd.MultiIndex.from_tuples(labels, names=["moved_by", "on"])
    if not any(first for first, _ in labels):
        index = pd.Index([second for _, second in labels], name="trait")
    return pd.DataFrame(np.column_stack(columns), index, _TESTED)


def new_items(fit: Fit, main: Slopes, traits: pd.DataFrame, against: int | None, alpha: float) -> pd.DataFrame:
    """Consensus scores of items by their traits, with intervals.

    Parameters
    ----------
    traits : pandas.DataFrame, shape (m, p)
        Less their means over the items that were compared.
    against : int, optional
        Item that probabilities are of beating.
    """
    weights = traits.to_numpy()
    estimate, rows = weights @ main.values, weights @ main.gradient
    more = np.einsum("mp,pq,mq->m", weights, main.more, weights) + main.own
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
