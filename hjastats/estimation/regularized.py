"""Estimates that exist when the likelihood has no maximum: bias reduction by adjusted counts, ridge by cross-validation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..data.cells import Cells, collapse, take
from ..geometry.parameters import Coefficients
from ..geometry.structures import Frame, LowRank, ScoreStructure
from ..likelihood import Derivatives, evaluate, expected_information, free_design, free_information
from .search import Search, no_terms, search
from .start import pooled_scores
from .trust import Optimum, Ridge, maximise

# Weights a cross-validation chooses from: from hardly any shrinkage to scores of a tenth of a log-odds.
ALPHAS = tuple(np.geomspace(0.003, 30.0, 9).tolist())


def firth(cells: Cells, structure: ScoreStructure, *, maxiter: int = 200) -> Search:
    """Mean bias-reduced estimate (Firth 1993; Kosmidis and Firth 2009), by maximum likelihood for adjusted counts.

    A comparison with hat value h counts as h more comparisons won half of the time. A curved structure adds half the
    curvature's share, ``w tr(V d2 eta) / 2``, to the wins. Iterated until the adjustment no longer changes.

    Parameters
    ----------
    structure : Pooled or LowRank
    """
    at = no_terms(cells, structure.nearest(np.tile(pooled_scores(cells), (cells.n_judges, 1))))
    adjusted = replace(cells, n=cells.n + 0.2, y=cells.y + 0.1)
    at = (search(adjusted, structure).best if isinstance(structure, LowRank) else maximise(adjusted, structure, at)).at
    moved, rounds = np.inf, 0
    while True:
        rounds += 1
        here = evaluate(cells, at)
        found = maximise(_adjusted(cells, structure, at, here), structure, at)
        moved = float(np.abs(evaluate(cells, found.at).eta - here.eta).max())
        at = found.at
        if moved < 1e-9 or found.diverges or rounds == maxiter:
            break
    value = evaluate(cells, at).value
    is_stable = found.converged and moved < 1e-7
    best = Optimum(at, found.value, value, found.distance, is_stable, rounds, found.path, found.diverges)
    return Search(best, (found.value,) if is_stable else (), (1,) if is_stable else (), 0 if is_stable else 1)


def _adjusted(cells: Cells, structure: ScoreStructure, at: Coefficients, here: Derivatives) -> Cells:
    frame = structure.frame(at.scores)
    information = free_information(expected_information(cells, here, frame), cells)
    covariance = cho_solve(cho_factor(information), np.eye(len(information)))
    design = free_design(cells, frame)
    hat = here.curvature * np.einsum("cd,de,ce->c", design, covariance, design, optimize=True)
    bending = _bending(cells, frame, covariance)
    return replace(cells, n=cells.n + hat, y=cells.y + 0.5 * hat + 0.5 * here.curvature * bending)


def _bending(cells: Cells, frame: Frame, covariance: np.ndarray) -> np.ndarray:
    """Trace of the covariance times the second derivatives of each log-odds, shape (n_cells,)."""
    f, n_judges, n_shared = len(frame.strength), frame.n_judges, frame.shared_items.shape[1]
    if not f:
        return np.zeros(len(cells.n))
    first = len(covariance) - frame.n_free
    own = first + np.arange(n_judges * f).reshape(n_judges, f)
    shared = first + n_judges * f + np.arange(f * n_shared).reshape(f, n_shared)
    total = np.zeros((n_judges, n_shared))
    for direction, strength in enumerate(frame.strength):
        total += covariance[np.ix_(own[:, direction], shared[direction])] / strength
    total = 2.0 * (total - frame.shared_judges @ (frame.shared_judges.T @ total))
    shift = (total @ frame.shared_items.T).ravel()
    return shift[cells.first_entry] - shift[cells.second_entry]


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


def cross_validate(
    rows: Cells,
    structure: ScoreStructure,
    group: np.ndarray,
    *,
    penalise_terms: bool,
    n_folds: int,
    rng: np.random.Generator,
) -> CrossValidation:
    """Held-out loss of ridge fits, whole groups of rows left out together.

    Parameters
    ----------
    rows : Cells
        One cell per row of the data.
    group : ndarray of int, shape (n_rows,)
    """
    labels = np.unique(group)
    fold_of_label = rng.permutation(np.arange(len(labels)) % n_folds)
    fold = fold_of_label[np.searchsorted(labels, group)]
    loss = np.empty((len(ALPHAS), n_folds))
    for k in range(n_folds):
        train, test = collapse(take(rows, np.flatnonzero(fold != k))), collapse(take(rows, np.flatnonzero(fold == k)))
        at: Coefficients | None = None
        # From strong shrinkage to weak: each fit starts where the last one ended.
        for i, alpha in reversed(list(enumerate(ALPHAS))):
            ridge = Ridge(alpha, alpha if penalise_terms else 0.0)
            starts = None if at is None else [at]
            at = search(train, structure, starts=starts, n_random=0, ridge=ridge).best.at
            loss[i, k] = evaluate(test, at).value / test.n.sum()
    return CrossValidation(np.array(ALPHAS), loss)
