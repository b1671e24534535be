"""Scores of the items that a panel of judges gives, with their Jacobian: the consensus, any weights, each judge, or directions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ..errors import ContrastError, OptionError
from ..fitted import Fit
from ..solve.precision import score_rows
from ..words import quoted

# Scores of p kinds (p, n_items), and their derivatives by the free coordinates (p n_items, n_free).
Scores = tuple[np.ndarray, np.ndarray]


def consensus_scores(fit: Fit) -> Scores:
    """The mean of the judges."""
    return fit.parts.mu[None], fit.consensus_rows(np.eye(len(fit.layout.items)))


def judge_scores(fit: Fit) -> Scores:
    """Every judge's own."""
    rows = [score_rows(fit.tangent, k, fit.layout.n_linear) for k in range(len(fit.layout.judges))]
    return fit.at.scores, np.concatenate(rows)


def direction_scores(fit: Fit) -> Scores:
    """The consensus and the directions of disagreement."""
    where = fit.layout.slices.get("V", slice(0, 0))
    mu, rows = consensus_scores(fit)
    return np.vstack([mu, fit.parts.V.T]), np.vstack([rows, fit.rows(np.arange(where.start, where.stop))])


SCORES: dict[str, Callable[[Fit], Scores]] = {
    "consensus": consensus_scores,
    "judges": judge_scores,
    "directions": direction_scores,
}


def weighted_scores(fit: Fit, weights: Mapping[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """Scores of a panel in which judges count by weights that are brought to a sum of one; shapes (n_items,), (n_items, n_free).

    Raises
    ------
    ContrastError
        For judges that are none.
    OptionError
        For weights that have no positive sum.
    """
    judges = fit.layout.judges
    if unknown := [name for name in weights if name not in judges]:
        raise ContrastError(f"no judge is called {quoted(unknown)}; the judges are {quoted(judges, 10)}.")
    given = np.array([float(weights.get(name, 0.0)) for name in judges])
    if not (np.isfinite(given).all() and given.sum() > 0):
        raise OptionError(f"weights of judges must be numbers with a positive sum, got {dict(weights)!r}.")
    scores, rows = judge_scores(fit)
    share = given / given.sum()
    return share @ scores, np.tensordot(share, rows.reshape(len(judges), scores.shape[1], -1), 1)
