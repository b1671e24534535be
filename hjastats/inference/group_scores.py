"""What the verdicts of every group say about the scores: normal evidence, also where a group by itself has no estimate.

A group with many verdicts for each parameter has its own estimate. Of others the likelihood of the scores is taken where judges are
what they are in all groups, as a quadratic about the board that all groups agree on: gradient and information averaged over what is
known of the board (Gaussian variational inference), found by turns. At an estimate of the group's own, or at a ridge's mode, a few
verdicts per item make no quadratic worth having.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .. import limits
from ..data.cells import collapse, take
from ..errors import ComparisonError
from ..fitted import Fit, Observations
from ..model.design import Coefficients, Design
from ..model.likelihood import evaluate
from ..model.response import typical
from ..model.tangent import from_centred_basis, in_centred_basis
from .clusters import Clusters
from .covariances import influence
from .fluctuation import Fluctuation, movements_of, terms_of
from .heterogeneity import Heterogeneity, shrunken

# Nodes and weights of an average over a normal variable.
_NODES = ((-np.sqrt(3.0), 1.0 / 6.0), (0.0, 4.0 / 6.0), (np.sqrt(3.0), 1.0 / 6.0))
# Information about every contrast that is added where verdicts leave some open: a standard deviation of 100.
_BARELY = 1e-4
# The longest Newton step to a group's own scores, and the information below which one of these runs to infinity.
_STRIDE, _OPEN = 2.0, 1e-2
# Share of a direction's information that must be left by terms of the group, and of a score that may be lost to them.
_LEFT, _LOST = 1e-6, 1e-3
# The largest change of a score, in log-odds, that ends the turns.
_SETTLED = 3e-3


@dataclass(frozen=True)
class Own:
    """A group's own fit, with a cluster for each of its rows; ``scale`` is the mean sensitivity its judges have in all groups."""

    fit: Fit
    observed: Observations
    clusters: Clusters
    scale: float
    is_robust: bool


def is_enough(fit: Fit, n_items: int) -> bool:
    """Whether a group's own estimate is near enough to normal to be combined with others."""
    is_finite = fit.converged and fit.penalty is None and not fit.why_no_errors
    return (
        is_finite
        and len(fit.layout.items) == n_items
        and fit.n_comparisons >= limits.OWN_PER_PARAMETER * fit.layout.n_free
    )


@dataclass(frozen=True)
class Dispersion:
    """By how much scores vary beyond what the model says, since rows of a cluster hang together or verdicts are tied.

    Attributes
    ----------
    matrix : ndarray, shape (p, p)
        Of whitened scores; the identity where the model is right.
    """

    matrix: np.ndarray

    @classmethod
    def of(cls, found: Fluctuation) -> Dispersion:
        """From what clusters add to the scores of their group, about the group's mean."""
        rows = movements_of(found.fit, "mu")[1]
        parts, own = found.parts @ rows.T, rows @ found.information @ rows.T
        p, n_left = len(rows), 0
        squares, information = np.zeros((2, p, p))
        for g in range(found.n_groups):
            some = found.group == g
            n = int(some.sum())
            if n < 2:
                continue
            share = found.weight[some] / found.weight[some].sum()
            left = parts[some] - np.outer(share, parts[some].sum(axis=0))
            squares += left.T @ left * (n / (n - 1.0))
            information += own[g]
            n_left += n - 1
        values, vectors = np.linalg.eigh(information)
        some = values > 1e-8 * values.max(initial=1e-300)
        whiten = vectors[:, some] / np.sqrt(values[some])
        ratios = whiten.T @ squares @ whiten
        if n_left < 2 * p:
            # Too few to tell directions apart.
            return cls(np.eye(p) * float(np.trace(ratios) / max(some.sum(), 1)))
        matrix = vectors[:, some] @ ratios @ vectors[:, some].T + vectors[:, ~some] @ vectors[:, ~some].T
        return cls(matrix)

    def of_errors(self, covariance: np.ndarray) -> np.ndarray:
        """A covariance of the model, made larger."""
        values, vectors = np.linalg.eigh(covariance)
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        return root @ self.matrix @ root


@dataclass(frozen=True)
class GroupScores:
    """Direct evidence of the groups about scores in contrasts, and boards shrunk by it.

    Attributes
    ----------
    direct : ndarray, shape (n_groups, p)
    errors : ndarray, shape (n_groups, p, p)
    is_own : ndarray of bool, shape (n_groups,)
        Whether it comes from an estimate of the group's own.
    shrunken : Heterogeneity
    """

    direct: np.ndarray
    errors: np.ndarray
    is_own: np.ndarray
    shrunken: Heterogeneity


def group_scores(
    common: Fit,
    observed: Observations,
    group: np.ndarray,
    own: list[Own | None],
    clusters: Clusters,
    dispersion: Dispersion | None,
    *,
    are_shared: bool,
) -> GroupScores:
    """Evidence of every group, and boards.

    Parameters
    ----------
    common : Fit
        Of all groups, with its rows in ``observed``.
    group : ndarray of int, shape (n_rows,)
    own : list
        Of groups whose own estimate counts; None for others.
    clusters : Clusters
        Of the rows of ``observed``.
    dispersion : Dispersion or None
        None where the errors of the model hold.
    are_shared : bool
        Whether clusters have rows in several groups.
    """
    n_groups, n_items = len(own), len(common.layout.items)
    p = n_items - 1
    direct, errors = np.zeros((n_groups, p)), np.zeros((n_groups, p, p))
    moves: list[np.ndarray | None] = [None] * n_groups
    cells: dict[int, Design] = {}
    for g, found in enumerate(own):
        if found is None:
            cells[g] = collapse(take(observed.rows, np.flatnonzero(group == g)))
            continue
        rows = found.fit.consensus_rows(np.eye(n_items)) / found.scale
        direct[g] = in_centred_basis(found.fit.parts.mu[None] / found.scale)[0]
        covariance = found.fit.covariance.of(rows) if found.is_robust else found.fit.model_covariance.of(rows)
        errors[g] = in_centred_basis(in_centred_basis(covariance).T)
        if dispersion is not None and not found.is_robust:
            errors[g] = dispersion.of_errors(errors[g])
        if are_shared:
            moves[g] = in_centred_basis(influence(found.fit, found.observed, found.clusters, rows))
    boards = np.tile(in_centred_basis(common.parts.mu[None])[0], (n_groups, 1))
    spread = np.zeros((n_groups, p, p))
    count = clusters if are_shared and n_groups * p <= limits.JOINT_SCORES else None
    result = None
    for _ in range(limits.BOARD_TURNS if cells else 1):
        for g, some in cells.items():
            gradient, information = _averaged(common, some, boards[g], spread[g])
            covariance = np.linalg.inv(information + _BARELY * np.eye(p))
            direct[g] = boards[g] + covariance @ (gradient - _BARELY * boards[g])
            errors[g] = covariance if dispersion is None else dispersion.of_errors(covariance)
            if count is not None:
                moves[g] = _gradients(common, observed, group == g, boards[g], count) @ covariance
        joint = errors if count is None else _joint(errors, moves)
        result = shrunken(direct, joint)
        change = float(np.abs(result.scores - boards).max())
        boards, spread = result.scores, result.errors
        if change < _SETTLED:
            break
    assert result is not None
    return GroupScores(direct, errors, np.array([found is not None for found in own]), result)


def held_scores(
    common: Fit, observed: Observations, is_in: np.ndarray, ridge: float, dispersion: Dispersion | None
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Scores in contrasts (p,) of some rows where judges are what they are in all, with their covariance (p, p).

    Where the likelihood has no maximum, with a ridge; and whether that is so.
    """
    cells = collapse(take(observed.rows, np.flatnonzero(is_in)))
    p = len(common.layout.items) - 1
    for hold in (0.0, ridge):
        board = in_centred_basis(common.parts.mu[None])[0]
        for _ in range(limits.BOARD_STEPS):
            gradient, information = _averaged(common, cells, board, np.zeros((p, p)))
            information = information + hold * np.eye(p)
            if np.linalg.eigvalsh(information)[0] < _OPEN:
                break
            step = np.linalg.solve(information, gradient - hold * board)
            board = board + step * min(1.0, _STRIDE / max(float(np.abs(step).max()), 1e-300))
            if np.abs(step).max() < 1e-8:
                covariance = np.linalg.inv(information)
                return board, covariance if dispersion is None else dispersion.of_errors(covariance), hold > 0.0
    raise ComparisonError("these verdicts determine no scores, even with a ridge")


def _at(common: Fit, board: np.ndarray) -> Coefficients:
    """Judges as in all groups, about another board."""
    mu = from_centred_basis(board[None])[0]
    return replace(common.at, scores=np.outer(common.parts.gamma, mu) + common.residual)


def _averaged(common: Fit, cells: Design, board: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradient (p,) and information (p, p) by the board, averaged over what is known of it."""
    gamma, at = common.parts.gamma, _at(common, board)
    covariance = from_centred_basis(from_centred_basis(spread).T)
    i, j = cells.first, cells.second
    variance = covariance[i, i] + covariance[j, j] - 2.0 * covariance[i, j]
    width = gamma[cells.judge] * np.sqrt(np.maximum(variance, 0.0))
    p = len(board)
    gradient, information = np.zeros(p), np.zeros((p, p))
    for node, weight in _NODES if spread.any() else ((0.0, 1.0),):
        moved = replace(cells, offset=(cells.known_odds + node * width)[:, None])
        here = typical(cells.response, evaluate(moved, at), cells.n)
        slope = gamma @ cells.sum_by_score(-here.slope)
        links = cells.sum_by_pair(here.curvature * gamma[cells.judge] ** 2)
        links = links + links.T
        gradient += weight * in_centred_basis(slope[None])[0]
        information += weight * in_centred_basis(in_centred_basis(np.diag(links.sum(axis=0)) - links).T)
    return gradient, information


def _gradients(
    common: Fit, observed: Observations, is_in: np.ndarray, board: np.ndarray, clusters: Clusters
) -> np.ndarray:
    """What every cluster adds to the gradient of a group by the board, shape (n_clusters, p)."""
    rows = take(observed.rows, np.flatnonzero(is_in))
    slope = -common.parts.gamma[rows.judge] * evaluate(rows, _at(common, board)).slope
    code, n = clusters.code[is_in], len(common.layout.items)
    total = np.bincount(code * n + rows.first, slope, clusters.n * n)
    total = total - np.bincount(code * n + rows.second, slope, clusters.n * n)
    return in_centred_basis(total.reshape(clusters.n, n))


def _joint(errors: np.ndarray, moves: list[np.ndarray | None]) -> np.ndarray:
    """Covariance of the scores of all groups, shape (n_groups * p, n_groups * p)."""
    n_groups, p, _ = errors.shape
    stacked = np.hstack([np.asarray(move) for move in moves])
    joint = stacked.T @ stacked
    for g in range(n_groups):
        some = slice(g * p, (g + 1) * p)
        joint[some, some] = errors[g]
    values, vectors = np.linalg.eigh(joint)
    return (vectors * np.maximum(values, 1e-10)) @ vectors.T


@dataclass(frozen=True)
class Deviations:
    """By how much scores of a group differ from those of all other groups: one step from the fit of all.

    Attributes
    ----------
    estimate, std_err, df : ndarray, shape (n_groups, n_items)
        Not a number where the group says too little about the item.
    """

    estimate: np.ndarray
    std_err: np.ndarray
    df: np.ndarray


def deviations(
    found: Fluctuation, observed: Observations, group: np.ndarray, *, is_dispersed: bool = True
) -> Deviations:
    """Of every item in every group, relative to the mean of the items that both the group and the others have.

    Clusters that lie in one group each give the dispersion: of the group, or of all where the group has few. Clusters with rows in
    several groups give the variance of the difference itself. Without dispersion it is that of the model.
    """
    rows, terms = movements_of(found.fit, "mu")[1], terms_of(found.fit, limits.FREED // found.n_groups)
    mu, n_groups = found.beside(rows, terms), found.n_groups
    p, n_items = mu.p, len(found.fit.layout.items)
    count_of = _verdicts(observed, group)
    has = (count_of >= limits.FEW_SHARED) & (count_of.sum(axis=0) - count_of >= limits.FEW_SHARED)
    estimate, variance, ratio = np.full((3, n_groups, n_items), np.nan)
    count = np.bincount(found.group, minlength=n_groups)
    for g in range(n_groups):
        some = slice(g * p, (g + 1) * p)
        own = mu.variance[some, some]
        inverse = np.linalg.pinv(own, rcond=_LEFT, hermitian=True)
        basis = relative_to(has[g])
        movement = basis @ inverse
        estimate[g] = movement @ mu.sums[g]
        variance[g] = np.einsum("ip,pq,iq->i", movement, own, movement)
        # What terms of the group explain as well is nobody's.
        is_lost = ~basis.any(axis=1) | (np.abs(basis - movement @ own).max(axis=1) > _LOST)
        estimate[g, is_lost] = np.nan
        is_in = found.group == g
        if found.is_nested:
            effective = _beside_terms(rows, terms, found.information[g])
            raw, share = found.parts[is_in] @ effective.T, found.weight[is_in] / found.weight[is_in].sum()
            left = raw - np.outer(share, raw.sum(axis=0))
            squares = np.square(left @ movement.T).sum(axis=0) * (count[g] / max(count[g] - 1.0, 1.0))
            of_model = np.einsum("ip,pq,iq->i", movement, effective @ found.information[g] @ effective.T, movement)
            ratio[g] = squares / np.where(of_model > 0, of_model, np.nan)
        else:
            squares = np.square(mu.parts[:, some] @ movement.T).sum(axis=0)
            ratio[g] = squares * (found.n_clusters / (found.n_clusters - 1.0)) / variance[g]
    df = np.full((n_groups, n_items), found.n_clusters - 1.0)
    if not is_dispersed:
        ratio, df = np.ones_like(ratio), np.full_like(df, np.inf)
    elif found.is_nested:
        free = np.maximum(count - 1.0, 0.0)
        together = np.nansum(free[:, None] * ratio, axis=0) / max(free.sum(), 1.0)
        few = count < limits.OWN_DISPERSION
        # Of larger clusters more hangs together: by how much more is as uncertain as what smaller ones say of it.
        size = _cluster_size(found)
        more = (size / ((free * size).sum() / free.sum()) - 1.0 if free.any() else np.zeros(n_groups))[:, None]
        beyond = np.maximum(together - 1.0, 0.0) + np.where(
            more > 0.0, 2.0 * together * np.sqrt(2.0 / max(free.sum(), 1.0)), 0.0
        )
        ratio = _of_differences(found, np.where(few[:, None], together + more * beyond, ratio))
        # A single cluster does not say how others like it would be.
        ratio[(count == 1.0) & found.has_repeats] = np.nan
        df = np.where(few, free.sum(), free)[:, None] * np.ones(n_items)
    variance = np.where(variance > 0.0, ratio * variance, np.nan)
    error = np.sqrt(np.where(variance > 0.0, variance, np.nan))
    return Deviations(estimate, np.where(np.isnan(estimate), np.nan, error), df)


def _cluster_size(found: Fluctuation) -> np.ndarray:
    """Comparisons of the cluster that a comparison of a group is in, on average, shape (n_groups,)."""
    total, squares = (np.bincount(found.group, found.weight**power, found.n_groups) for power in (1, 2))
    return squares / np.maximum(total, 1e-300)


def _of_differences(found: Fluctuation, ratio: np.ndarray) -> np.ndarray:
    """Dispersion of the difference of a group from all others, by those of the groups themselves (n_groups, n_items).

    With a share s of the information a group makes 1 - s of its variance, and all others make s.
    """
    share = np.bincount(found.group, found.weight, found.n_groups)[:, None] / found.weight.sum()
    known = np.where(np.isnan(ratio), 0.0, ratio)
    others = (share * known).sum(axis=0) - share * known
    return np.asarray((1.0 - share) * ratio + share * others / np.maximum(1.0 - share, 1e-12))


def _beside_terms(rows: np.ndarray, terms: np.ndarray, information: np.ndarray) -> np.ndarray:
    """Movements (p, n_free) of a group less what moving its terms (m, n_free) explains of them."""
    along = information @ terms.T
    return rows - (rows @ along) @ np.linalg.pinv(terms @ along, rcond=_LEFT, hermitian=True) @ terms


def relative_to(shared: np.ndarray) -> np.ndarray:
    """Score of every item relative to the mean of some (n_items,), in contrasts, shape (n_items, n_items - 1).

    Zero for items that are not among them, and where there are fewer than two.
    """
    rows = np.diag(shared.astype(float)) - np.outer(shared, shared) / max(int(shared.sum()), 1)
    return in_centred_basis(rows)


def seldom(observed: Observations, group: np.ndarray) -> np.ndarray:
    """Items that groups compare too seldom to say how they differ, or not at all, shape (n_groups, n_items)."""
    return _verdicts(observed, group) < limits.FEW_SHARED


def _verdicts(observed: Observations, group: np.ndarray) -> np.ndarray:
    """On every item in every group, shape (n_groups, n_items)."""
    data, n_groups = observed.data, int(group.max()) + 1
    count = np.zeros((n_groups, data.n_items))
    for index in (data.first_index, data.second_index):
        count += np.bincount(group * data.n_items + index, data.weight, count.size).reshape(count.shape)
    return count
