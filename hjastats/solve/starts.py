"""Starting values: item directions from several sides, and every judge fitted on them."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from .. import limits
from ..data.cells import Cells
from ..data.graph import levels_of_wins
from ..model.likelihood import score_differences
from ..model.response import bernoulli
from ..model.structures import ScoreStructure
from ..model.tangent import centred

# Pseudo-information per score that makes judge-wise estimates exist for separated or disconnected judges.
START_RIDGE = 0.1
# The least ridge that is felt beside information as large as this.
_LEAST_RIDGE = 1e-12
# Newton steps from zero; a starting value needs the direction of the estimate, not its last digits.
START_STEPS = 3
# Log-odds beyond which no start lies: a verdict tells nothing there.
FARTHEST = 12.0
# Log-likelihood units around an optimum within which another run is recognised as heading for it: few, because a run may also pass
# by on its way to a better one; more with this many comparisons per parameter, where the likelihood is smooth. On 1,150 random
# panels none of 9,300 runs recognised so would have ended elsewhere.
NEAR = 0.3
NEAR_WITH_PLENTY = 3.0
PLENTY = 100.0
# Judges and items are fitted in turn while that explains more than this share of those units.
SETTLED = 1.0 / 3.0
# A judge that breaks away starts at this many log-odds, and weighs so much more than the others that its scores become the
# leading direction of the panel.
BREAKAWAY = 12.0
BREAKAWAY_WEIGHT = 100.0


def pooled_scores(cells: Cells, offset: np.ndarray | float | None = None, n_steps: int = START_STEPS) -> np.ndarray:
    """Approximate pooled scores, shape (n_items,): a few ridge-penalised Newton steps from zero."""
    everybody = Cells(np.zeros_like(cells.judge), cells.first, cells.second, cells.n, cells.y, 1, cells.n_items)
    return _newton_scores(everybody, cells.known_odds if offset is None else offset, n_steps)[0]


def win_share_scores(first: np.ndarray, second: np.ndarray, n: np.ndarray, y: np.ndarray, n_items: int) -> np.ndarray:
    """Pooled scores from shares of wins alone, shape (n_items,): close where everybody meets everybody, and only there.

    An item's share of wins is an average over opponents, whose spread pulls it towards one half. For normal scores of variance v
    the log-odds of the average are smaller than those against an average opponent by sqrt(1 + 0.346 v).

    Examples
    --------
    >>> first, second = np.array([0, 0, 1]), np.array([1, 2, 2])
    >>> win_share_scores(first, second, np.full(3, 4.0), np.array([3.0, 2.0, 1.0]), 3).round(2)
    array([ 0.51, -1.02,  0.51])
    """
    total = np.bincount(first, n, n_items) + np.bincount(second, n, n_items)
    wins = np.bincount(first, y, n_items) + np.bincount(second, n - y, n_items)
    scores = np.log((wins + 0.5) / (total - wins + 0.5))
    scores -= scores.mean()
    # Not further out than that: Newton steps lead back from within, not always from beyond.
    return scores / np.sqrt(max(1.0 - 0.346 * float(scores @ scores) / n_items, 0.75))


def judgewise_scores(cells: Cells, offset: np.ndarray | float | None = None) -> np.ndarray:
    """Approximate scores of every judge by itself, shape (n_judges, n_items).

    Parameters
    ----------
    offset : ndarray, shape (n_cells,), optional
        What else moves the log-odds; the offset of the cells by default.
    """
    return _newton_scores(cells, cells.known_odds if offset is None else offset)


def _pooled_and_judgewise(cells: Cells, offset: np.ndarray | float | None) -> tuple[np.ndarray, np.ndarray]:
    """Both of the above in one computation: everybody is one judge more."""
    known = cells.known_odds if offset is None else offset
    judge = np.concatenate([cells.judge, np.full_like(cells.judge, cells.n_judges)])
    first, second, n, y = (np.concatenate([values] * 2) for values in (cells.first, cells.second, cells.n, cells.y))
    everybody = Cells(judge, first, second, n, y, cells.n_judges + 1, cells.n_items)
    scores = _newton_scores(everybody, known if np.ndim(known) == 0 else np.concatenate([known] * 2))
    return scores[-1], scores[:-1]


class Quadratic:
    """What every judge's comparisons tell about its scores: a quadratic function around scores of its own.

    Parameters
    ----------
    judgewise : ndarray, shape (n_judges, n_items)
    basis : ndarray, shape (n_items, p), optional
        Orthonormal, where item vectors are its coordinates.

    Attributes
    ----------
    curvature : ndarray, shape (n_cells,)
    pull : ndarray, shape (n_judges, n_items)
        The information times where it points to.
    """

    def __init__(
        self,
        cells: Cells,
        judgewise: np.ndarray,
        offset: np.ndarray | float | None = None,
        basis: np.ndarray | None = None,
    ) -> None:
        differences = score_differences(cells, judgewise)
        here = bernoulli(differences + (cells.known_odds if offset is None else offset), cells.n, cells.y)
        self.cells, self.curvature, self.basis = cells, here.curvature, basis
        self.pull = _into(cells.sum_by_score(here.curvature * differences - here.slope), basis)
        self.n_items = self.pull.shape[1]

    @cached_property
    def _laplacians(self) -> np.ndarray:
        whole = self.cells.laplacians(self.curvature)
        return whole if self.basis is None else self.basis.T @ whole @ self.basis

    @cached_property
    def _side_by_side(self) -> np.ndarray:
        """The Laplacians beside one another, shape (n_items, n_judges * n_items): few large products instead of many small ones."""
        return self._laplacians.swapaxes(0, 1).reshape(self.n_items, -1)

    def judges_on(self, directions: np.ndarray) -> np.ndarray:
        """The best coordinates of every judge on item directions (..., q, n_items), shape (..., n_judges, q)."""
        blocks = _with_ridge(self._blocks(directions), START_RIDGE)
        pull = self.pull @ directions.swapaxes(-1, -2)
        return np.linalg.solve(blocks, pull[..., None])[..., 0]

    def items_for(self, judges: np.ndarray) -> np.ndarray:
        """The best item directions for coordinates of the judges (..., n_judges, q), shape (..., q, n_items).

        One dense system for all items and directions.
        """
        (*stack, n_judges, q), n_items = judges.shape, self.n_items
        products = (judges[..., :, None] * judges[..., None, :]).reshape(*stack, n_judges, q * q)
        blocks = products.swapaxes(-1, -2).reshape(-1, n_judges) @ self._laplacians.reshape(n_judges, -1)
        system = blocks.reshape(*stack, q, q, n_items, n_items).swapaxes(-3, -2).reshape(*stack, q * n_items, -1)
        pull = (judges.swapaxes(-1, -2) @ self.pull).reshape(*stack, q * n_items, 1)
        return np.linalg.solve(_with_ridge(system, START_RIDGE), pull).reshape(*stack, q, n_items)

    def alternated(self, directions: np.ndarray, settled: float) -> np.ndarray:
        """Scores (m, n_judges, n_items) after fitting judges and items in turn, from several item directions (m, q, n_items).

        Ends when a turn explains less than ``settled`` log-likelihood units more.
        """
        explained = np.full(len(directions), -np.inf)
        for _ in range(limits.MOST_PASSES):
            judges = self.judges_on(directions)
            directions = self.items_for(judges)
            before = explained
            explained = 0.5 * ((judges.swapaxes(-1, -2) @ self.pull) * directions).sum(axis=(-1, -2))
            # All of them, until the last has settled: one that gains little may be passing a saddle.
            if (explained - before < settled).all():
                break
        return judges @ directions

    def _blocks(self, directions: np.ndarray) -> np.ndarray:
        """Information of every judge about its coordinates on the directions, shape (..., n_judges, q, q)."""
        cells = self.cells
        *stack, q, n_items = directions.shape
        if is_dense(cells):
            blocks = (directions.reshape(-1, n_items) @ self._side_by_side).reshape(
                *stack, -1, n_items
            ) @ directions.swapaxes(-1, -2)
            return blocks.reshape(*stack, q, cells.n_judges, q).swapaxes(-2, -3)
        blocks = np.empty((*stack, cells.n_judges, q, q))
        directions = _out_of(directions, self.basis)
        # One number per cell at a time: tables of all of them would be larger than the cells themselves.
        for which in np.ndindex(*stack):
            features = directions[which][:, cells.first] - directions[which][:, cells.second]
            for i in range(q):
                weighted = self.curvature * features[i]
                for j in range(i + 1):
                    sums = np.bincount(cells.judge, weighted * features[j], cells.n_judges)
                    blocks[which][:, i, j] = blocks[which][:, j, i] = sums
        return blocks


def _into(rows: np.ndarray, basis: np.ndarray | None) -> np.ndarray:
    """Item vectors (..., n_items) in coordinates of an orthonormal basis; as they are where there is none."""
    return rows if basis is None else rows @ basis


def _out_of(rows: np.ndarray, basis: np.ndarray | None) -> np.ndarray:
    """Item vectors of their coordinates."""
    return rows if basis is None else rows @ basis.T


def is_dense(cells: Cells) -> bool:
    """Whether the judges' Laplacians are solved as dense matrices."""
    return cells.n_judges * cells.n_items**2 <= limits.DENSE_START


def can_alternate(cells: Cells, structure: ScoreStructure) -> bool:
    """Whether fitting judges and items in turn takes less time than the Newton steps it saves."""
    return is_dense(cells) and (structure.rank + 1) * cells.n_items <= limits.ALTERNATED


def nearness(cells: Cells, structure: ScoreStructure) -> float:
    """Log-likelihood units within which two runs are taken to be heading for the same optimum."""
    return NEAR_WITH_PLENTY if cells.n.sum() >= PLENTY * n_parameters(cells, structure) else NEAR


def n_parameters(cells: Cells, structure: ScoreStructure) -> int:
    """Free parameters of the scores and linear coefficients."""
    n_terms = cells.n_judges * cells.n_judge_terms + cells.n_shared_terms
    return structure.n_free(cells.n_judges, cells.n_items) + n_terms


def _newton_scores(cells: Cells, offset: np.ndarray | float, n_steps: int = START_STEPS) -> np.ndarray:
    scores = np.zeros((cells.n_judges, cells.n_items))
    for _ in range(n_steps):
        here = bernoulli(score_differences(cells, scores) + offset, cells.n, cells.y)
        slope = cells.sum_by_score(here.slope) + START_RIDGE * scores
        scores = scores - _solve_laplacians(cells, here.curvature, slope, START_RIDGE)
        # A step from where other terms leave verdicts nearly certain may lead anywhere.
        scores = np.clip(scores, -FARTHEST, FARTHEST)
    return centred(scores)


def _solve_laplacians(cells: Cells, weight: np.ndarray, right: np.ndarray, ridge: float) -> np.ndarray:
    """Solve the judges' weighted graph Laplacians, plus a ridge, for one right side each, shape (n_judges, n_items).

    Dense while the matrices are small; beyond that by conjugate gradients on all of them at once, since most pairs of many items
    are never compared by one judge.
    """
    size = right.size
    if is_dense(cells):
        return np.linalg.solve(_with_ridge(cells.laplacians(weight), ridge), right[..., None])[..., 0]
    links = sparse.coo_array((weight, (cells.first_entry, cells.second_entry)), shape=(size, size)).tocsr()
    degree = links.sum(axis=0) + links.sum(axis=1) + ridge
    inverse_root = 1.0 / np.sqrt(degree)

    def times(x: np.ndarray) -> np.ndarray:
        y = inverse_root * x
        return x - inverse_root * (links @ y + links.T @ y)

    scaled = LinearOperator((size, size), matvec=times, dtype=float)
    return (inverse_root * cg(scaled, inverse_root * right.ravel(), rtol=1e-4, maxiter=300)[0]).reshape(right.shape)


def _with_ridge(blocks: np.ndarray, ridge: float) -> np.ndarray:
    """Information matrices (..., m, m) with a ridge added in place, of as much as it takes to solve them."""
    least = _LEAST_RIDGE * float(blocks.max(initial=0.0))
    np.einsum("...ii->...i", blocks)[...] += max(ridge, least)
    return blocks


def initialise(cells: Cells, rank: int) -> np.ndarray:
    """Scores of alg:initialize: pooled consensus plus the strongest judge-centred residual directions."""
    pooled, judgewise = _pooled_and_judgewise(cells, None)
    residual = _residual(pooled, judgewise)
    directions = leading_directions(residual, rank)
    return pooled + residual @ directions.T @ directions


def _residual(pooled: np.ndarray, judgewise: np.ndarray) -> np.ndarray:
    """What the judges' scores have beyond the pooled ones, with mean zero over the judges."""
    residual = judgewise - pooled
    return residual - residual.mean(axis=0)


def leading_directions(panel: np.ndarray, n_directions: int) -> np.ndarray:
    """Orthonormal item directions along which a panel, or each of a stack of them, varies most, shape (..., q, n_items)."""
    n_judges, n_items = panel.shape[-2:]
    if n_items > n_judges:
        return np.linalg.svd(panel, full_matrices=False)[2][..., :n_directions, :]
    # Half of the work; what squaring costs the weak directions does not matter to a start.
    vectors = np.linalg.eigh(panel.swapaxes(-1, -2) @ panel)[1]
    return vectors[..., : -n_directions - 1 : -1].swapaxes(-1, -2)


def scattered_scores(cells: Cells, structure: ScoreStructure, n: int, rng: np.random.Generator) -> np.ndarray:
    """Starts that are not drawn to where the data fit, shape (n, n_judges, n_items).

    Few data may let the likelihood rise to infinity in several ways, or have a finite optimum beside. Every second start is the
    panel on the leading directions of judges with random weights; the others have nothing in common with the data but their size.
    """
    judgewise, basis = judgewise_scores(cells), structure.item_basis
    quadratic = Quadratic(cells, judgewise, None, basis)
    judgewise = _fitted(quadratic, judgewise)
    panels = _random_panels(judgewise, n, rng)
    directions = leading_directions(panels, structure.rank + 1)
    scores = quadratic.judges_on(directions) @ directions
    random = (panels @ directions.swapaxes(-1, -2) @ directions)[1::2]
    scores[1::2] = random * (np.linalg.norm(judgewise) / np.linalg.norm(random, axis=(1, 2), keepdims=True))
    return _out_of(scores, basis)


def _fitted(quadratic: Quadratic, judgewise: np.ndarray) -> np.ndarray:
    """Every judge's own scores as the item vectors of a basis fit them best, in its coordinates; without one as they are."""
    return judgewise if quadratic.basis is None else quadratic.judges_on(np.eye(quadratic.n_items))


def _random_panels(judgewise: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Judges with random weights and random numbers in turn, shape (n, n_judges, n_items)."""
    panels = rng.standard_normal((n, *judgewise.shape))
    weights = equal_strength(judgewise) * rng.exponential(size=((n + 1) // 2, len(judgewise)))
    panels[::2] = weights[:, :, None] * judgewise
    return panels


def breakaway_scores(cells: Cells, structure: ScoreStructure, n: int, rng: np.random.Generator) -> np.ndarray:
    """Starts far out along directions in which judges' own scores have no limit, shape (at most n, n_judges, n_items).

    From there the likelihood may rise to infinity above every finite optimum. Ordinary starts rarely come near, because such
    judges, each by itself or all that agree, have to lead a direction of their own.
    """
    cuts, sides = _cuts(levels_of_wins(cells))
    if not len(cuts):
        return np.zeros((0, cells.n_judges, cells.n_items))
    if len(cuts) > n:
        some = rng.choice(len(cuts), n, replace=False)
        cuts, sides = cuts[some], sides[some]
    panels = judgewise_scores(cells) + 2.0 * BREAKAWAY * sides[:, :, None] * centred(cuts)[:, None]
    panels = _into(panels, structure.item_basis)
    weights = equal_strength(panels) * np.where(sides == 0.0, 1.0, BREAKAWAY_WEIGHT)
    directions = leading_directions(weights[:, :, None] * panels, structure.rank + 1)
    return _out_of(panels @ directions.swapaxes(-1, -2) @ directions, structure.item_basis)


def _cuts(levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ways to part the items such that some judges never put one of the lower part above one of the upper.

    Returns
    -------
    cuts : ndarray, shape (n_cuts, n_items)
        One for items of the upper part, zero for the others.
    sides : ndarray, shape (n_cuts, n_judges)
        One for judges who part the items so, minus one for those who part them the other way round. Every judge's own cuts come
        first, then those that several judges share.
    """
    own = [(k, row >= level) for k, row in enumerate(levels) for level in range(1, int(row.max()) + 1)]
    if not own:
        return np.zeros((0, levels.shape[1])), np.zeros((0, len(levels)))
    judge, cuts = np.array([k for k, _ in own]), np.array([cut for _, cut in own])
    # The same cut whichever part is the upper one: the first item's part is the lower.
    distinct, which = np.unique(cuts ^ cuts[:, :1], axis=0, return_inverse=True)
    sides = np.zeros((len(distinct), len(levels)))
    sides[which.ravel(), judge] = np.where(cuts[:, 0], -1.0, 1.0)
    is_shared = np.count_nonzero(sides, axis=1) > 1
    alone = np.eye(len(levels))[judge]
    return np.concatenate([cuts, distinct[is_shared]]).astype(float), np.concatenate([alone, sides[is_shared]])


def equal_strength(judgewise: np.ndarray) -> np.ndarray:
    """Weights that make all judges' scores equally long, for a panel or each of a stack, shape (..., n_judges)."""
    length = np.linalg.norm(judgewise, axis=-1)
    return 1.0 / np.maximum(length, 1e-3 * length.max(axis=-1, keepdims=True, initial=1e-300))


def starting_scores(
    cells: Cells,
    structure: ScoreStructure,
    n_random: int,
    rng: np.random.Generator,
    offset: np.ndarray | float | None = None,
) -> np.ndarray:
    """Starting score matrices for a structure, shape (n_starts, n_judges, n_items), the most promising first.

    Flat structures have one optimum and one start.

    The optima of a low-rank structure differ in which judges dominate the leading directions, so the starts do too: the
    pooled consensus first (alg:initialize), all judges at equal strength, all judges as they are, then random weights of the
    judges and random directions in turn. On each of these the judges' coordinates are fitted, not projected: what a judge says
    nothing about should not decide where it starts. While that is cheap, items and judges are then fitted in turn.

    Parameters
    ----------
    offset : ndarray, shape (n_cells,), optional
        What else moves the log-odds; the offset of the cells by default.
    """
    return STARTS[structure.kind](cells, structure, n_random, rng, offset)


def _pooled_starts(
    cells: Cells, structure: ScoreStructure, n_random: int, rng: np.random.Generator, offset: np.ndarray | float | None
) -> np.ndarray:
    """The first step of the maximisation itself: the likelihood has one optimum, and a start near zero is safe."""
    return np.tile(pooled_scores(cells, offset, n_steps=1), (1, cells.n_judges, 1))


def _judgewise_starts(
    cells: Cells, structure: ScoreStructure, n_random: int, rng: np.random.Generator, offset: np.ndarray | float | None
) -> np.ndarray:
    return structure.nearest(judgewise_scores(cells, offset))[None]


def _low_rank_starts(
    cells: Cells, structure: ScoreStructure, n_random: int, rng: np.random.Generator, offset: np.ndarray | float | None
) -> np.ndarray:
    (pooled, judgewise), basis = _pooled_and_judgewise(cells, offset), structure.item_basis
    quadratic = Quadratic(cells, judgewise, offset, basis)
    pooled, judgewise = _into(pooled, basis), _fitted(quadratic, judgewise)
    panels = np.stack([_residual(pooled, judgewise), equal_strength(judgewise)[:, None] * judgewise, judgewise])
    panels = np.concatenate([panels, _random_panels(judgewise, n_random, rng)])
    directions = leading_directions(panels, structure.rank + 1)
    # Of the residual all but one: the first direction is the pooled consensus itself.
    directions[0] = np.vstack([pooled, directions[0, :-1]])
    if can_alternate(cells, structure):
        return _out_of(quadratic.alternated(directions, SETTLED * nearness(cells, structure)), basis)
    return _out_of(quadratic.judges_on(directions) @ directions, basis)


# How each kind of structure begins.
STARTS = {
    "pooled": _pooled_starts,
    "unrestricted": _judgewise_starts,
    "spanned": _judgewise_starts,
    "low rank": _low_rank_starts,
}
