"""How well fits to a part of the data predict the rest: held-out log-loss along ridge weights and along score structures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..data.arrays import check_jobs
from ..data.cells import collapse, take
from ..model.design import Coefficients, Design
from ..model.likelihood import evaluate
from ..model.structures import ScoreStructure
from .existence import find_separation
from .precision import covariance_at
from .ridge import Ridge
from .search import no_terms, one_direction_more, search
from .starts import starting_scores
from .trust import Optimum

# Weights a cross-validation chooses from: from hardly any shrinkage to scores of a tenth of a log-odds.
ALPHAS = tuple(np.geomspace(0.003, 30.0, 9).tolist())
# Weight of the ridge that predicts a fold without maximum likelihood estimate: the default of fit_regularized.
FOLD_RIDGE = 0.1


@dataclass(frozen=True)
class CrossValidation:
    """Held-out log-loss per comparison for every ridge weight.

    Attributes
    ----------
    alphas : ndarray, shape (n_alphas,)
    loss : ndarray, shape (n_alphas, n_folds)
    """

    alphas: np.ndarray
    loss: np.ndarray

    @property
    def best(self) -> float:
        """The weight with the smallest mean loss."""
        return float(self.alphas[self.loss.mean(axis=1).argmin()])


@dataclass(frozen=True)
class Fold:
    """Cells to fit and cells to predict."""

    train: Design
    test: Design

    def loss(self, at: Coefficients) -> float:
        """Log-loss per comparison held out."""
        return evaluate(self.test, at).value / float(self.test.n.sum())


def split(rows: Design, group: np.ndarray, n_folds: int, rng: np.random.Generator) -> list[Fold]:
    """Divide the rows into folds, whole groups together.

    Parameters
    ----------
    rows : Design
        One cell per row of the data.
    group : ndarray of int, shape (n_rows,)
    """
    labels = np.unique(group)
    fold_of_label = rng.permutation(np.arange(len(labels)) % n_folds)
    fold = fold_of_label[np.searchsorted(labels, group)]
    return [
        Fold(collapse(take(rows, np.flatnonzero(fold != k))), collapse(take(rows, np.flatnonzero(fold == k))))
        for k in range(n_folds)
    ]


def split_comparisons(rows: Design, n_folds: int, rng: np.random.Generator) -> list[Fold]:
    """Divide single comparisons into folds, where a row stands for as many of them as it weighs.

    Whole rows would put every win of one item over another into one fold, and the fit to the others would only see losses.

    Examples
    --------
    >>> zero, one = np.zeros(1, dtype=int), np.ones(1, dtype=int)
    >>> rows = Design(zero, zero, one, np.array([90.0]), np.array([60.0]), 1, 2)
    >>> [float(fold.test.n.sum()) for fold in split_comparisons(rows, 3, np.random.default_rng(0))]
    [32.0, 27.0, 31.0]
    """
    whole = np.floor(rows.n)
    held_out = rng.multinomial(whole.astype(np.int64), np.full(n_folds, 1.0 / n_folds)).astype(float)
    # What is left of a weight that is not whole goes to one fold.
    held_out[np.arange(len(whole)), rng.integers(n_folds, size=len(whole))] += rows.n - whole
    return [Fold(_weighted(rows, rows.n - part), _weighted(rows, part)) for part in held_out.T]


def _weighted(rows: Design, weight: np.ndarray) -> Design:
    share = weight / rows.n
    some = replace(rows, n=weight, y=rows.y * share, counts=rows.counts * share[:, None])
    return collapse(take(some, np.flatnonzero(weight > 0)))


def ridge_losses(folds: Sequence[Fold], structure: ScoreStructure, *, penalise_terms: bool) -> CrossValidation:
    """Held-out loss of ridge fits for every weight."""
    loss = np.empty((len(ALPHAS), len(folds)))
    for k, fold in enumerate(folds):
        at: Coefficients | None = None
        # From strong shrinkage to weak: each fit starts where the last one ended.
        for i, alpha in reversed(list(enumerate(ALPHAS))):
            ridge = Ridge(alpha, alpha if penalise_terms else 0.0)
            starts = None if at is None else [at]
            at = search(fold.train, structure, starts=starts, n_random=0, ridge=ridge).best.at
            loss[i, k] = fold.loss(at)
    return CrossValidation(np.array(ALPHAS), loss)


@dataclass(frozen=True)
class HeldOut:
    """Held-out log-loss per comparison of several structures.

    Attributes
    ----------
    loss : ndarray, shape (n_structures, n_folds)
    is_ridge : ndarray of bool, shape (n_structures, n_folds)
        Where the maximum likelihood estimate does not exist, and a ridge was scored instead.
    """

    loss: np.ndarray
    is_ridge: np.ndarray


def held_out_losses(
    folds: Sequence[Fold], structures: Sequence[ScoreStructure], *, patience: int | None = None, n_jobs: int = 1
) -> HeldOut:
    """Held-out loss of structures, from the smallest up; of ranks, every fit also starts from the rank before it.

    Estimates that run to infinity predict with certainty, and lose without bound: where a fold has no maximum likelihood estimate,
    the ridge of weight ``FOLD_RIDGE`` predicts it.

    Parameters
    ----------
    patience : int, optional
        Stop after so many ranks in a row without a smaller mean loss; fewer rows are then returned.
    """
    from joblib import Parallel, delayed

    previous: list[Coefficients | None] = [None] * len(folds)
    rows: list[list[_Predicted]] = []
    means: list[float] = []
    check_jobs(n_jobs)
    with Parallel(n_jobs=n_jobs) as parallel:
        for structure in structures:
            fits = parallel(
                delayed(_predict)(fold, structure, near) for fold, near in zip(folds, previous, strict=True)
            )
            rows.append(fits)
            if not structure.has_sensitivities:
                continue
            previous = [fit.at for fit in fits]
            means.append(float(np.mean([fit.loss for fit in fits])))
            if patience is not None and len(means) - 1 - int(np.argmin(means)) >= patience:
                break
    return HeldOut(
        np.array([[fit.loss for fit in row] for row in rows]), np.array([[fit.is_ridge for fit in row] for row in rows])
    )


class _Predicted(NamedTuple):
    at: Coefficients
    loss: float
    is_ridge: bool


def _predict(fold: Fold, structure: ScoreStructure, near: Coefficients | None) -> _Predicted:
    cells = fold.train
    starts = [no_terms(cells, starting_scores(cells, structure, 0, np.random.default_rng(0))[0])]
    if near is not None and structure.rank > 0:
        starts.append(one_direction_more(cells, structure, near))
    found, is_ridge = search(cells, structure, starts=starts).best, False
    if not _exists(cells, structure, found):
        held = Ridge(FOLD_RIDGE, FOLD_RIDGE)
        found, is_ridge = search(cells, structure, starts=starts, ridge=held).best, True
    return _Predicted(found.at, fold.loss(found.at), is_ridge)


def _exists(cells: Design, structure: ScoreStructure, found: Optimum) -> bool:
    """Whether an optimum is finite, and the only one next to it."""
    if not found.converged:
        return False
    tangent = structure.tangent(found.at.scores)
    return find_separation(cells, found.at, tangent) is None and covariance_at(cells, found.at, tangent).is_identified
