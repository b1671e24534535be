"""Simulated panels: the paper's data-generating process, its comparison design, and verdicts from any scores."""

from __future__ import annotations

import numpy as np

from .data.arrays import check_number, check_whole, generator, listed, numbers
from .data.comparisons import Comparisons
from .errors import IdentificationError, OptionError
from .model.decomposition import Decomposition, first_nonzero_sign, max_rank
from .model.response import probability
from .words import quoted


def heterogeneous_panel(
    n_judges: int = 4,
    n_items: int = 8,
    rank: int = 1,
    heterogeneity: float = 1.0,
    *,
    rng: int | np.random.Generator | None = None,
) -> Decomposition:
    """Draw parameters from the paper's main process (section app:sim-main-dgp).

    Normal centred consensus scores, Dirichlet sensitivities that sum to ``n_judges``, orthogonal factors of strengths
    ``rank, ..., 1``, the disagreement scaled by ``heterogeneity``.

    Examples
    --------
    >>> panel = heterogeneous_panel(rng=0)
    >>> panel.scores.shape, bool(np.isclose(panel.gamma.sum(), 4))
    ((4, 8), True)
    """
    check_whole("n_judges", n_judges, 1)
    check_whole("n_items", n_items, 2)
    check_whole("rank", rank, 0)
    check_number("heterogeneity", heterogeneity, 0.0)
    if rank > max_rank(n_judges, n_items):
        raise IdentificationError(f"rank must lie between 0 and {max_rank(n_judges, n_items)}, got {rank}.")
    rng = generator(rng)
    mu = rng.standard_normal(n_items)
    mu = mu - mu.mean()
    gamma = n_judges * rng.dirichlet(np.ones(n_judges))
    items = rng.standard_normal((n_items, rank))
    judges = rng.standard_normal((n_judges, rank))
    V = np.linalg.qr(_off_consensus(items, mu))[0]
    U = np.linalg.qr(judges - judges.mean(axis=0))[0]
    strength = np.arange(rank, 0, -1, dtype=float)
    V = _off_consensus(V * np.sqrt(n_items) * strength, mu) * np.sqrt(heterogeneity)
    U = U * np.sqrt(n_judges) * strength * np.sqrt(heterogeneity)
    sign = first_nonzero_sign(U) if rank and heterogeneity > 0 else np.ones(rank)
    return Decomposition(gamma, mu, U * sign, V * sign)


def _off_consensus(items: np.ndarray, mu: np.ndarray) -> np.ndarray:
    items = items - items.mean(axis=0)
    return items - np.outer(mu, mu @ items) / max(float(mu @ mu), 1e-12)


def near_balanced_design(
    n_judges: int, n_items: int, n_comparisons: int, *, rng: int | np.random.Generator | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Spread comparisons over all (judge, item, item) cells, each getting the same number up to one (app:sim-protocol).

    Returns
    -------
    judge, first, second : ndarray of int, shape (n_comparisons,)
        With first < second; see ``simulate_comparisons`` for the order of presentation.

    Examples
    --------
    >>> judge, first, second = near_balanced_design(2, 3, 9, rng=0)
    >>> np.bincount(judge).sum(), bool((first < second).all())
    (np.int64(9), True)
    """
    for name, value, least in (("n_judges", n_judges, 1), ("n_items", n_items, 2), ("n_comparisons", n_comparisons, 0)):
        check_whole(name, value, least)
    rng = generator(rng)
    low, high = np.triu_indices(n_items, 1)
    n_cells = n_judges * len(low)
    count = np.full(n_cells, n_comparisons // n_cells)
    count[rng.choice(n_cells, n_comparisons % n_cells, replace=False)] += 1
    cell = np.repeat(np.arange(n_cells), count)
    judge, pair = np.divmod(cell, len(low))
    return judge, low[pair], high[pair]


def simulate_comparisons(
    scores: np.ndarray,
    design: tuple[np.ndarray, np.ndarray, np.ndarray],
    *,
    position: np.ndarray | float = 0.0,
    shuffle_order: bool = False,
    judges: list[str] | None = None,
    items: list[str] | None = None,
    rng: int | np.random.Generator | None = None,
) -> Comparisons:
    """Draw verdicts from a score matrix.

    Parameters
    ----------
    scores : ndarray, shape (n_judges, n_items)
    design : tuple of ndarray
        Judge, first and second item of every comparison.
    position : ndarray, shape (n_judges,), or float
        Log-odds bonus of the item shown first.
    shuffle_order : bool
        Show the two items in random order instead of the design's.
    judges, items : list of str, optional
        Names; numbered by default.

    Examples
    --------
    >>> panel = heterogeneous_panel(rng=0)
    >>> simulate_comparisons(panel.scores, near_balanced_design(4, 8, 400, rng=1), rng=2).n_comparisons
    400.0
    """
    rng, scores = generator(rng), numbers("scores", scores)
    judge, first, second = _checked_design(design, scores)
    if shuffle_order:
        swap = rng.random(len(judge)) < 0.5
        first, second = np.where(swap, second, first), np.where(swap, first, second)
    bonus = numbers("position", position)
    if bonus.shape not in ((), (len(scores),)):
        raise OptionError(
            f"position must be a number, or one for each of the {len(scores)} judges, got shape {bonus.shape}."
        )
    bonus = np.broadcast_to(bonus, len(scores))[judge]
    wins = rng.random(len(judge)) < probability(scores[judge, first] - scores[judge, second] + bonus)
    judge_names, item_names = _names("judge", judges, scores.shape[0]), _names("item", items, scores.shape[1])
    return Comparisons.from_arrays(judge_names[judge], item_names[first], item_names[second], wins.astype(float))


def _checked_design(design: object, scores: np.ndarray) -> list[np.ndarray]:
    """Judge, first and second item of every comparison, as indices of a matrix of scores."""
    parts = listed("design", design, "three arrays of indices")
    if scores.ndim != 2 or len(parts) != 3:
        raise OptionError("expected scores of judges by items, and a design of three arrays: judge, first and second.")
    indices = [numbers("design", part) for part in parts]
    sizes = (len(scores), scores.shape[1], scores.shape[1])
    for index, size in zip(indices, sizes, strict=True):
        is_index = index.shape == indices[0].shape and index.ndim == 1 and (index % 1 == 0).all()
        if not is_index or (index < 0).any() or (index >= size).any():
            raise OptionError(
                "design must be three arrays of equal length, with whole numbers that point into the scores."
            )
    return [index.astype(np.intp) for index in indices]


def _names(word: str, names: object, n: int) -> np.ndarray:
    found = _numbered(word, n) if names is None else listed(f"{word}s", names, "names")
    if len(found) != n or not all(isinstance(name, str) for name in found):
        raise OptionError(f"{word}s must be {n} names, got {quoted(found)}.")
    return np.array(found, dtype=object)


def _numbered(word: str, n: int) -> list[str]:
    width = len(str(n))
    return [f"{word}-{i:0{width}d}" for i in range(1, n + 1)]
