"""Scores of groups shrunk to a common board: random-effects meta-analysis of vectors with full covariances.

In an orthonormal basis of the p = n_items - 1 contrasts

    m_g = mu + v_g + e_g,   v_g ~ N(0, t^2 I),   (e_1, ..., e_G) ~ N(0, D),

where D has the covariances of the groups' scores, and those between groups that share prompts. mu has a flat prior and is
integrated out, which leaves the restricted likelihood of t. t has a half-normal prior of scale 1, which is weakly informative of
log-odds (Roever et al. 2021, doi:10.1002/jrsm.1475): with a flat one, groups that say next to nothing have boards that differ by
the largest t that is thought of. It is integrated over numerically, so that covariances are the mean of those given t plus the
covariance of the means given t: they count that t is estimated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .. import limits

# Largest standard deviation of a score over groups, in log-odds, that is thought of.
LARGEST = 5.0
# Scale of its prior, and the share of the largest beyond which an interval without a prior says that nothing is known of it.
_PRIOR, _EDGE = 1.0, 0.5
# Fall of the log-likelihood beyond which values of t are ruled out.
_FALL = 12.0


@dataclass(frozen=True)
class _Block:
    """Groups whose errors are correlated with each other and with no others, D in its eigenvectors."""

    groups: np.ndarray
    values: np.ndarray
    vectors: np.ndarray
    scores: np.ndarray
    common: np.ndarray

    @classmethod
    def of(cls, groups: np.ndarray, scores: np.ndarray, errors: np.ndarray) -> _Block:
        values, vectors = np.linalg.eigh(errors)
        p = scores.shape[1]
        repeated = np.tile(np.eye(p), (len(groups), 1))
        return cls(groups, np.maximum(values, 0.0), vectors, vectors.T @ scores.ravel(), vectors.T @ repeated)


@dataclass(frozen=True)
class Heterogeneity:
    """Boards of groups, the common one, and how far groups differ.

    Attributes
    ----------
    mean : ndarray, shape (p,)
        Of the common board.
    covariance : ndarray, shape (p, p)
    scores : ndarray, shape (n_groups, p)
        Shrunken.
    errors : ndarray, shape (n_groups, p, p)
        Their covariances.
    grid, chances : ndarray, shape (n,)
        Values of t with the posterior's weights.
    loglike : ndarray, shape (n,)
        Restricted, at these.
    """

    mean: np.ndarray
    covariance: np.ndarray
    scores: np.ndarray
    errors: np.ndarray
    grid: np.ndarray
    chances: np.ndarray
    loglike: np.ndarray

    @property
    def sd(self) -> float:
        """Posterior mean of t."""
        return float(self.chances @ self.grid)

    @property
    def mode(self) -> float:
        """Where the restricted likelihood is largest."""
        return float(self.grid[int(np.argmax(self.loglike))])

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Between quantiles of t."""
        return _between(self.grid, self.chances, level)

    @property
    def is_known(self) -> bool:
        """Whether the data say how large t is, without the prior."""
        return _between(self.grid, _chances(self.loglike), 0.95)[1] <= _EDGE * LARGEST


def _chances(weight: np.ndarray) -> np.ndarray:
    """From their logarithms up to a constant."""
    chances = np.exp(weight - weight.max())
    return np.asarray(chances / chances.sum())


def _between(values: np.ndarray, chances: np.ndarray, level: float) -> tuple[float, float]:
    low, high = np.interp([0.5 - level / 2.0, 0.5 + level / 2.0], np.cumsum(chances), values)
    return float(low), float(high)


@dataclass(frozen=True)
class _Given:
    """Scores and their covariances, and what they say at any t."""

    blocks: Sequence[_Block]
    n_groups: int

    @cached_property
    def p(self) -> int:
        return self.blocks[0].common.shape[1]

    def common(self, t2: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Mean and covariance of mu, and the restricted log-likelihood."""
        precision, linear, value = np.zeros((self.p, self.p)), np.zeros(self.p), 0.0
        for block in self.blocks:
            total = t2 + block.values
            weighed = block.common / total[:, None]
            precision += weighed.T @ block.common
            linear += weighed.T @ block.scores
            value -= 0.5 * (np.log(total).sum() + block.scores @ (block.scores / total))
        covariance = np.linalg.inv(precision)
        mean = covariance @ linear
        value += 0.5 * float(linear @ mean) - 0.5 * float(np.linalg.slogdet(precision)[1])
        return mean, covariance, float(value)

    def loglike(self, t: float) -> float:
        return self.common(max(t, 1e-6) ** 2)[2]

    def grid(self) -> np.ndarray:
        """Values of t that are not ruled out: at equal steps from zero."""
        rough = np.concatenate([[0.0], np.geomspace(1e-3, LARGEST, 50)])
        value = np.array([self.loglike(t) for t in rough])
        possible = np.flatnonzero(value > value.max() - _FALL)
        low, high = rough[max(possible[0] - 1, 0)], rough[min(possible[-1] + 1, len(rough) - 1)]
        step = (high - low) / limits.HETEROGENEITY_GRID
        return low + step * (0.5 + np.arange(limits.HETEROGENEITY_GRID))

    def groups(self, t2: float, mean: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means (n_groups, p) and covariances (n_groups, p, p) of the boards at a t."""
        p = self.p
        scores, errors = np.zeros((self.n_groups, p)), np.zeros((self.n_groups, p, p))
        for block in self.blocks:
            left = block.values / (t2 + block.values)
            moved = block.scores * (1.0 - left) + left * (block.common @ mean)
            own = block.vectors.reshape(len(block.groups), p, -1)
            scores[block.groups] = own @ moved
            by_mean = own @ (left[:, None] * block.common)
            errors[block.groups] = (own * (t2 * left)) @ own.transpose(
                0, 2, 1
            ) + by_mean @ covariance @ by_mean.transpose(0, 2, 1)
        return scores, errors


def shrunken(scores: np.ndarray, errors: np.ndarray) -> Heterogeneity:
    """Shrink the scores of groups to a common board.

    Parameters
    ----------
    scores : ndarray, shape (n_groups, p)
        In an orthonormal basis of contrasts.
    errors : ndarray, shape (n_groups, p, p) or (n_groups * p, n_groups * p)
        Covariances; of all groups together where they hang together.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.standard_normal(6) + 0.5 * rng.standard_normal((20, 6))
    >>> found = shrunken(truth + 0.5 * rng.standard_normal((20, 6)), np.tile(0.25 * np.eye(6), (20, 1, 1)))
    >>> round(found.sd, 1), [round(end, 1) for end in found.interval()]
    (0.4, [0.2, 0.5])
    """
    n_groups = len(scores)
    if errors.ndim == 3:
        blocks = [_Block.of(np.array([g]), scores[[g]], errors[g]) for g in range(n_groups)]
    else:
        blocks = [_Block.of(np.arange(n_groups), scores, errors)]
    given = _Given(blocks, n_groups)
    grid = given.grid()
    loglike = np.array([given.loglike(t) for t in grid])
    chances = _chances(loglike - 0.5 * np.square(grid / _PRIOR))
    some = chances > 1e-7
    means, at = [], []
    covariance, group_errors = 0.0, 0.0
    for t, w in zip(grid[some], chances[some], strict=True):
        mean, own, _ = given.common(t**2)
        boards, spread = given.groups(t**2, mean, own)
        means.append(mean)
        at.append(boards)
        covariance = covariance + w * own
        group_errors = group_errors + w * spread
    weight = chances[some] / chances[some].sum()
    mean, boards = np.tensordot(weight, np.array(means), 1), np.tensordot(weight, np.array(at), 1)
    away, apart = np.array(means) - mean, np.array(at) - boards
    covariance = covariance + (weight[:, None] * away).T @ away
    group_errors = group_errors + np.einsum("n,ngp,ngq->gpq", weight, apart, apart)
    return Heterogeneity(mean, np.asarray(covariance), boards, np.asarray(group_errors), grid, chances, loglike)
