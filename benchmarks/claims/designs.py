"""Panels that several claims draw."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import norm

from hjastats.data.comparisons import Comparisons


def spread(n_items: int, sd: float) -> np.ndarray:
    """Evenly spaced scores with mean zero and a standard deviation."""
    scores = np.linspace(-1.0, 1.0, n_items)
    return scores * (sd / scores.std())


def random_pairs(rng: np.random.Generator, n_rows: int, n_items: int) -> tuple[np.ndarray, np.ndarray]:
    """Two different items for every row."""
    first = rng.integers(n_items, size=n_rows)
    return first, (first + rng.integers(1, n_items, size=n_rows)) % n_items


def comparisons(
    judge: np.ndarray, first: np.ndarray, second: np.ndarray, outcome: np.ndarray, **columns: object
) -> Comparisons:
    """Coded rows with labels that keep their order."""
    names = [
        np.array([f"{letter}{code:03d}" for code in codes], dtype=object)
        for letter, codes in zip("jii", (judge, first, second), strict=True)
    ]
    return Comparisons.from_arrays(*names, outcome.astype(float), columns=pd.DataFrame(columns) if columns else None)


def plain_panel(rng: np.random.Generator, gamma: np.ndarray, mu: np.ndarray, rows: int | np.ndarray) -> Comparisons:
    """Sensitivities only; ``rows`` says who judges each, or how many there are in which judges take turns."""
    judge = rows if isinstance(rows, np.ndarray) else np.arange(rows) % len(gamma)
    first, second = random_pairs(rng, len(judge), len(mu))
    wins = rng.random(len(judge)) < expit(gamma[judge] * (mu[first] - mu[second]))
    return comparisons(judge, first, second, wins)


def prompted_panel(
    rng: np.random.Generator,
    judge: np.ndarray,
    prompt: np.ndarray,
    mu: np.ndarray,
    correlation: float,
) -> Comparisons:
    """Bradley-Terry-Luce verdicts with exact probabilities, correlated within prompts: each prompt suits some items more."""
    first, second = random_pairs(rng, len(judge), len(mu))
    suits = rng.standard_normal((prompt.max() + 1, len(mu)))
    shared = (suits[prompt, first] - suits[prompt, second]) / np.sqrt(2.0)
    latent = np.sqrt(correlation) * shared + np.sqrt(1.0 - correlation) * rng.standard_normal(len(judge))
    wins = norm.cdf(latent) > expit(mu[second] - mu[first])
    return comparisons(judge, first, second, wins, prompt=prompt)


def covered(estimate: np.ndarray, error: np.ndarray, truth: np.ndarray | float) -> tuple[float, float]:
    """How many 95% intervals hold the truth, of how many that are shown."""
    shown = np.isfinite(error)
    return float((np.abs(estimate - truth)[shown] <= norm.ppf(0.975) * error[shown]).sum()), float(shown.sum())
