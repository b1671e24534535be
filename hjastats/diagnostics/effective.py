"""How many judges the consensus really rests on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from .. import limits
from ..data.cells import Cells
from ..fitted import Fit
from ..looks import Piece, Shown
from ..model.likelihood import evaluate
from ..solve.precision import invert
from ..words import shortened


@dataclass(frozen=True, repr=False, eq=False)
class EffectiveJudges(Shown):
    """Effective number of judges.

    Attributes
    ----------
    number : float
        ``1 / (w'C w)`` of shares w and correlations C of what judges say beyond the model: the number of judges if all tell equally
        much and are independent, one if a single judge tells everything or all repeat each other.
    shares : pandas.Series
        Each judge's share of the information about the consensus, largest first; they sum to one.
    note : str
        Why the number is missing; empty if it is not.
    independent : float
        The number if the judges were independent, ``1 / sum w^2``.
    """

    number: float
    shares: pd.Series
    note: str = ""
    independent: float = np.nan

    def _shown(self) -> list[Piece]:
        if self.note:
            return [f"Effective number of judges: not available. {self.note}"]
        digits = 0 if self.shares.iloc[0] >= 0.1 else 1 if self.shares.iloc[0] >= 0.01 else 2
        top = ", ".join(f"{shortened(judge, 28)} {share:.{digits}%}" for judge, share in self.shares.head(3).items())
        repeated = f" ({self.independent:.1f} if they were independent)" * (self.number < self.independent)
        return [
            f"Effective number of judges: {self.number:.1f} of {len(self.shares)}{repeated}. "
            f"Largest shares of what is known about the consensus: {top}."
        ]


def information_shares(
    cells: Cells, curvature: np.ndarray, gamma: np.ndarray, basis: np.ndarray | None = None
) -> np.ndarray:
    """Share of each judge in the information about the consensus, shape (n_judges,).

    When the consensus moves by ``d`` the scores of judge k move by ``gamma_k d``, so its verdicts carry information
    ``I_k = gamma_k^2 L_k`` about the consensus, L_k the Laplacian of its comparisons weighted by their curvature ``n p (1 - p)``;
    sensitivities, disagreement and linear terms are held at their estimates. With ``I = sum I_k`` the share is
    ``w_k = trace(I^-1 I_k) / (n_items - 1)``: averaged over all directions of the consensus, whatever their scale. A judge that
    ranks against the consensus counts as much as one that ranks with it, and one that ignores it counts nothing.

    Disagreement between judges does not enter as a correlation: ``U V'`` sums to zero over the judges by its definition, so the
    correlations it implies are negative on average and would make any panel look larger than it is.

    Parameters
    ----------
    curvature : ndarray, shape (n_cells,)
    gamma : ndarray, shape (n_judges,)
    basis : ndarray, shape (n_items, p), optional
        Of what the consensus may be, where it follows from traits: averages are over its p directions.

    Returns
    -------
    ndarray
        Not a number throughout when the information is singular.

    Examples
    --------
    >>> zero, two = np.zeros(2, dtype=int), np.arange(2)
    >>> cells = Cells(two, zero, zero + 1, np.array([10.0, 30.0]), np.array([6.0, 20.0]), 2, 2)
    >>> information_shares(cells, cells.n / 4, np.ones(2))
    array([0.25, 0.75])
    """
    weight = curvature * gamma[cells.judge] ** 2
    if basis is not None:
        along = basis[cells.first] - basis[cells.second]
        inverse = invert(along.T @ (weight[:, None] * along)).covariance
        difference = np.einsum("cp,pq,cq->c", along, inverse, along)
        return np.bincount(cells.judge, weight * difference, cells.n_judges) / basis.shape[1]
    links = cells.sum_by_pair(weight)
    links = links + links.T
    # The consensus has no level: information about it, as much as there is about an item, takes no part in differences.
    total = np.diag(links.sum(axis=0)) - links + links.sum() / cells.n_items**2
    inverse = invert(total).covariance
    variance = np.diag(inverse)
    difference = variance[cells.first] + variance[cells.second] - 2.0 * inverse[cells.first, cells.second]
    return np.bincount(cells.judge, weight * difference, cells.n_judges) / (cells.n_items - 1)


def effective_judges(fit: Fit) -> EffectiveJudges:
    """Inverse Herfindahl index of the judges' shares of the information about the consensus."""
    judges, nothing = fit.layout.judges, np.full(len(fit.layout.judges), np.nan)
    if fit.separation is not None:
        return herfindahl(nothing, judges, "Some scores run to infinity, where verdicts tell nothing.")
    basis = fit.layout.structure.item_basis if "beta" in fit.layout.slices else None
    if basis is None and len(fit.layout.items) > limits.INVERTED_ITEMS:
        reason = f"It takes the inverse of a matrix of all pairs, of at most {limits.INVERTED_ITEMS:,} items."
        return herfindahl(nothing, judges, reason)
    shares = information_shares(fit.design, evaluate(fit.design, fit.at).curvature, fit.parts.gamma, basis)
    return herfindahl(shares, judges)


def herfindahl(
    shares: np.ndarray, judges: tuple[str, ...], note: str = "", correlation: np.ndarray | None = None
) -> EffectiveJudges:
    """Inverse Herfindahl index of the shares, or less if judges are correlated (n_judges, n_judges).

    Examples
    --------
    >>> herfindahl(np.array([0.5, 0.5, 0.0]), ("a", "b", "c"))
    Effective number of judges: 2.0 of 3. Largest shares of what is known about the consensus: a 50%, b 50%, c 0%.
    >>> herfindahl(np.array([0.5, 0.5]), ("a", "copy of a"), correlation=np.ones((2, 2))).number
    1.0
    """
    labelled = pd.Series(shares, index=pd.Index(judges, name="judge"), name="share")
    if not note and np.isnan(shares).any():
        note = "The comparisons carry no information about some part of the consensus."
    independent = np.nan if note else float(1.0 / np.sum(shares**2))
    # Correlations that cancel do not make a panel larger.
    number = (
        independent if note or correlation is None else min(independent, float(1.0 / (shares @ correlation @ shares)))
    )
    # Not because of rounding.
    number = independent if number > independent * (1.0 - 1e-9) else number
    return EffectiveJudges(number, labelled.sort_values(ascending=False, kind="stable"), note, independent)
