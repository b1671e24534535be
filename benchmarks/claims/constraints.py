"""Claims about likelihood ratios of hypotheses and profile intervals (U9)."""

from __future__ import annotations

import numpy as np

import hjastats as hja
from hjastats.simulation import near_balanced_design, simulate_comparisons

from .designs import covered, plain_panel, spread
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


def _against_the_other(rng: np.random.Generator) -> tuple[hja.HJAResults, float]:
    """Two items, a judge and one that tends to the opposite, with 40 verdicts each; and the sensitivity of the latter."""
    gamma = np.array([-0.5, 2.0])
    data = plain_panel(rng, gamma, spread(2, 0.5), 80)
    return hja.JAModel.from_comparisons(data).fit(n_random=0, warn_convergence=False), float(gamma[0] / gamma.mean())


@claim(
    "U9",
    "coverage",
    "profile interval of gamma, where found, of a judge that goes against the other, 2 items, 40 verdicts each",
    n=1000,
    n_quick=150,
)
def profile_covers(rng: np.random.Generator) -> Told:
    result, truth = _against_the_other(rng)
    low, high = result.conf_int(cols=["gamma[j000]"], method="profile").iloc[0]
    # Where the consensus vanishes on the way out an end is not found, with a warning: no statement is made.
    return (0.0, 0.0) if np.isnan([low, high]).any() else (float(low <= truth <= high), 1.0)


@claim(
    "U9",
    "coverage",
    "the same by estimate and standard error, shown or withheld, which does not hold",
    n=2000,
    n_quick=250,
    band=(0.85, 0.93),
)
def wald_does_not(rng: np.random.Generator) -> Told:
    result, truth = _against_the_other(rng)
    if not result.converged:
        return 0.0, 0.0
    error = np.sqrt(result.fit.model_covariance.variances(result.fit.jacobian[:1]))
    return covered(result.params.to_numpy()[:1], error, truth)
