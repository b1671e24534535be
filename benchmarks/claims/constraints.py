"""Claims about likelihood ratios of hypotheses and profile intervals (U9)."""

from __future__ import annotations

import numpy as np

import hjastats as hja
from hjastats.simulation import near_balanced_design, simulate_comparisons

from .designs import plain_panel
from .registry import Told, claim

GAMMA, MU = np.array([0.6, 0.9, 1.1, 1.4]), np.linspace(-1.0, 1.0, 6)
# One direction beside the consensus: U sums to zero, V is orthogonal to the scores and to one.
U, V = np.array([0.5, -0.5, 0.5, -0.5]), np.array([1.0, -1.0, 0.0, 0.0, -1.0, 1.0])
PANEL = "4 judges, 6 items"


def _rejects(rng: np.random.Generator, rank: int, n_rows: int, hypothesis: str) -> Told:
    scores = np.outer(GAMMA, MU) + rank * np.outer(U, V)
    pairs = near_balanced_design(len(GAMMA), len(MU), n_rows, rng=rng)
    data = simulate_comparisons(scores, pairs, shuffle_order=True, rng=rng)
    result = hja.HJAModel.from_comparisons(data, rank=rank).fit(n_random=0, warn_convergence=False)
    if not result.converged:
        return 0.0, 0.0
    return float(result.lr_test(hypothesis).p_value < 0.05), 1.0


@claim("U9", "size", f"likelihood ratio of one sensitivity, JA, {PANEL}, 800 verdicts", n=2000, n_quick=150)
def one_sensitivity(rng: np.random.Generator) -> Told:
    return _rejects(rng, 0, 800, "gamma[judge-1] = 0.6")


@claim(
    "U9", "size", f"likelihood ratio of three equations of scores and sensitivities, JA, {PANEL}", n=2000, n_quick=150
)
def three_equations(rng: np.random.Generator) -> Told:
    return _rejects(
        rng, 0, 800, "gamma[judge-4] - gamma[judge-1] = 0.8, mu[item-6] - mu[item-1] = 2, mu[item-3] = -0.2"
    )


@claim(
    "U9", "size", f"likelihood ratio of a sensitivity and a score, HJA(1), {PANEL}, 2,400 verdicts", n=2000, n_quick=120
)
def with_disagreement(rng: np.random.Generator) -> Told:
    return _rejects(rng, 1, 2400, "gamma[judge-1] = 0.6, mu[item-1] = -1")


def _beside_a_reference(rng: np.random.Generator) -> hja.HJAResults:
    """A judge that flips coins, 40 verdicts, whose sensitivity is zero, beside one with 2,000 who follows the scores."""
    gamma, mu = np.array([0.0, 1.0]), 0.7 * np.linspace(-1.5, 1.5, 8)
    data = plain_panel(rng, gamma, mu, np.repeat([0, 1], [40, 2000]))
    return hja.JAModel.from_comparisons(data).fit(n_random=0, warn_convergence=False)


COIN = "gamma of a judge that flips coins, 40 verdicts on 8 items, beside one with 2,000"


@claim("U9", "coverage", f"profile interval of {COIN}", n=1000, n_quick=60)
def profile_covers(rng: np.random.Generator) -> Told:
    low, high = _beside_a_reference(rng).conf_int(cols=["gamma[j000]"], method="profile").iloc[0]
    return float(low <= 0.0 <= high), 1.0


@claim(
    "U9",
    "coverage",
    "the same by estimate and standard error, which does not hold",
    n=4000,
    n_quick=250,
    band=(0.85, 0.93),
)
def wald_does_not(rng: np.random.Generator) -> Told:
    low, high = _beside_a_reference(rng).conf_int(cols=["gamma[j000]"]).iloc[0]
    return float(low <= 0.0 <= high), 1.0
