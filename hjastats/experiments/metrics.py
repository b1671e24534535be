"""How good a ranking or a prediction is, in the measures of the paper's appendix (app:sim-protocol, app:subsec:real-evaluation)."""

from __future__ import annotations

import numpy as np
from scipy import stats


def score_error(estimated: np.ndarray, true: np.ndarray) -> float:
    """Mean squared error of a score matrix."""
    return float(np.mean((estimated - true) ** 2))


def spearman(estimated: np.ndarray, true: np.ndarray) -> float:
    """Rank correlation of two consensus rankings."""
    return float(stats.spearmanr(estimated, true).statistic)


def ndcg(estimated: np.ndarray, true: np.ndarray) -> float:
    """Normalised discounted cumulative gain over all items, relevance ``2^(N - place) - 1``.

    Examples
    --------
    >>> ndcg(np.array([3.0, 2.0, 1.0]), np.array([0.3, 0.2, 0.1]))
    1.0
    """
    n_items = len(true)
    relevance = 2.0 ** (n_items - places(true)) - 1.0
    discount = 1.0 / np.log2(np.arange(n_items) + 2.0)
    gain = float(relevance[np.argsort(-estimated, kind="stable")] @ discount)
    return gain / float(np.sort(relevance)[::-1] @ discount)


def coverage(estimated: np.ndarray, error: np.ndarray, true: np.ndarray, level: float = 0.95) -> float:
    """Share of scores inside their intervals."""
    return float(np.mean(np.abs(estimated - true) <= stats.norm.ppf(0.5 + level / 2.0) * error))


def sign_accuracy(estimated: np.ndarray, true: np.ndarray) -> float:
    """Share of item pairs a judge's scores put in the right order."""
    low, high = np.triu_indices(true.shape[1], 1)
    return float(np.mean(np.sign(estimated[:, low] - estimated[:, high]) == np.sign(true[:, low] - true[:, high])))


def places(scores: np.ndarray) -> np.ndarray:
    """Places from 1, the largest score first."""
    return stats.rankdata(-scores, method="ordinal")


def same_places(estimated: np.ndarray, base: np.ndarray) -> float:
    """Share of items that keep their place."""
    return float(np.mean(places(estimated) == places(base)))


def log_loss(probability: np.ndarray, outcome: np.ndarray) -> float:
    """Mean negative log-likelihood, ties as half wins."""
    p = np.clip(probability, 1e-300, 1.0 - 1e-16)
    return float(-np.mean(outcome * np.log(p) + (1.0 - outcome) * np.log1p(-p)))


def calibration_error(probability: np.ndarray, outcome: np.ndarray, n_bins: int = 10) -> float:
    """Mean distance of predicted and observed shares over bins with equally many predictions."""
    order = np.argsort(probability, kind="stable")
    bins = np.array_split(order, n_bins)
    gaps = [abs(probability[b].mean() - outcome[b].mean()) * len(b) for b in bins if len(b)]
    return float(sum(gaps) / len(probability))
