"""The estimators that are compared: each gives a score matrix, a consensus, and intervals where it has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..data.comparisons import Comparisons
from ..errors import IdentificationError
from ..model.design import Design
from ..models import BTLModel, HJAModel, JAModel, JudgewiseBTLModel
from ..solve.alternating import alternate
from ..solve.search import no_terms
from ..solve.starts import initialise

# The paper's proximal weight, and a stopping rule of the same order as its relative likelihood decrease.
PAPER_TAU = 30.0
PAPER_TOLERANCE = 1e-8
# The default weight of fit_regularized.
RIDGE = 0.1


@dataclass(frozen=True)
class Fitted:
    """What an estimator says about a panel.

    Attributes
    ----------
    scores : ndarray, shape (n_judges, n_items)
    consensus : ndarray, shape (n_items,)
    errors : ndarray or None
        Standard errors of the scores.
    exists : bool
        Whether the estimate is a finite maximum.
    """

    scores: np.ndarray
    consensus: np.ndarray
    errors: np.ndarray | None
    exists: bool


def structured(model: HJAModel, ridge: float | None = None) -> Fitted:
    """A fit of the family, also one that does not exist."""
    fit = model.fit if ridge is None else partial(model.fit_regularized, ridge)
    result = fit(warn_convergence=False)
    scores = result.fit.at.scores
    errors = result.judges.score_errors().to_numpy() if result.converged else None
    return Fitted(scores, scores.mean(axis=0), errors, result.converged)


def judgewise_svd(data: Comparisons, rank: int, ridge: float | None = None) -> Fitted:
    """Every judge by itself, then the best approximation of rank r + 1."""
    fit = structured(JudgewiseBTLModel.from_comparisons(data), ridge)
    left, strength, right = np.linalg.svd(fit.scores, full_matrices=False)
    strength[rank + 1 :] = 0.0
    scores = (left * strength) @ right
    return Fitted(scores, scores.mean(axis=0), None, fit.exists)


def without_reanchoring(data: Comparisons, rank: int) -> Fitted:
    """The alternating algorithm with its re-anchoring left out (app:subsec:ablation)."""
    cells = Design.of(data.cells)
    start = no_terms(cells, initialise(cells, rank))
    run = alternate(cells, rank, start, tau=PAPER_TAU, tolerance=PAPER_TOLERANCE, maxiter=2000, anchored=False)
    return Fitted(run.at.scores, run.consensus, None, run.reached_tolerance)


METHODS: dict[str, Callable[[Comparisons, int], Fitted]] = {
    "HJA": lambda data, rank: structured(HJAModel.from_comparisons(data, rank=rank)),
    "HJA ridge": lambda data, rank: structured(HJAModel.from_comparisons(data, rank=rank), ridge=RIDGE),
    "JA": lambda data, rank: structured(JAModel.from_comparisons(data)),
    "BTL": lambda data, rank: structured(BTLModel.from_comparisons(data)),
    "BTL+SVD": judgewise_svd,
    "BTL+SVD ridge": lambda data, rank: judgewise_svd(data, rank, ridge=RIDGE),
    "HJA without re-anchoring": without_reanchoring,
}


def fitted(method: str, data: Comparisons, rank: int) -> Fitted | None:
    """Fit by a method; None where it refuses the data."""
    try:
        return METHODS[method](data, rank)
    except IdentificationError:
        return None
