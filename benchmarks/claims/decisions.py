"""How often items that are said to be best are best."""

from __future__ import annotations

from functools import partial

import numpy as np

import hjastats as hja

from .designs import plain_panel
from .registry import Told, claim

# What is said, from where to where it counts as said, and how far from that the share may lie.
SAID = {0.5: (0.4, 0.6), 0.8: (0.7, 0.9), 0.95: (0.9, 0.99)}
CLOSE = 0.03


def said_and_true(rng: np.random.Generator, prior: str = "normal") -> tuple[np.ndarray, np.ndarray]:
    """Chances to be the best of ten items, and which one is; scores are wide apart or closer than their errors, at random."""
    mu = rng.normal(0.0, rng.choice([0.15, 0.8]), 10)
    result = hja.BTLModel.from_comparisons(plain_panel(rng, np.ones(8), mu, 1000)).fit()
    return result.places(prior=prior).best.sort_index().to_numpy(), np.arange(10) == mu.argmax()


def _calibrated(said: float, rng: np.random.Generator) -> Told:
    chance, is_best = said_and_true(rng)
    low, high = SAID[said]
    some = (chance >= low) & (chance < high)
    # Against what was said of each, not against the middle of the range.
    return float((is_best - chance + said)[some].sum()), float(some.sum())


for _said in SAID:
    claim(
        "F7",
        "calibration",
        f"best of 10 items where that is said with probability {_said}: 8 judges, 1,000 verdicts, sd 0.15 or 0.8",
        n=2000,
        n_quick=250,
        band=(_said - CLOSE, _said + CLOSE),
    )(partial(_calibrated, _said))
