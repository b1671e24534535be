"""A consensus that is weak, or that judges with few verdicts tell little about."""

from __future__ import annotations

import numpy as np

import hjastats as hja

from .designs import covered, plain_panel, spread
from .registry import Told, claim


def _fits(rng: np.random.Generator, n_judges: int, n_items: int, n_rows: int, sd: float) -> tuple[hja.HJAResults, ...]:
    """BTL, which is true, and JA."""
    mu = spread(n_items, sd) if sd else np.zeros(n_items)
    data = plain_panel(rng, np.ones(n_judges), mu, n_rows)
    return hja.BTLModel.from_comparisons(data).fit(), hja.JAModel.from_comparisons(data).fit(n_random=0)


def _rejects(rng: np.random.Generator, *design: float) -> Told:
    small, large = _fits(rng, *design)
    return float(large.compare_lr_test(small).pvalue < 0.05), 1.0


@claim(
    "S2",
    "false alarms",
    "JA preferred to true BTL without any consensus: 8 judges, 10 items, 2,000 verdicts",
    n=1000,
    n_quick=150,
)
def no_consensus(rng: np.random.Generator) -> Told:
    return _rejects(rng, 8, 10, 2000, 0.0)


@claim("S2", "false alarms", "the same with a weak consensus (sd 0.2, 800 verdicts)", n=1000, n_quick=150)
def weak_consensus(rng: np.random.Generator) -> Told:
    return _rejects(rng, 8, 10, 800, 0.2)


@claim("S2", "size", "BTL against JA with a clear consensus (sd 0.8, 2,000 verdicts)", n=3000, n_quick=400)
def clear_consensus(rng: np.random.Generator) -> Told:
    return _rejects(rng, 8, 10, 2000, 0.8)


@claim("S2", "size", "BTL against JA by bootstrap: 8 judges, 10 items, 800 verdicts, sd 0.3", n=1000, n_quick=80)
def bootstrapped(rng: np.random.Generator) -> Told:
    small, large = _fits(rng, 8, 10, 800, 0.3)
    # With 19 draws the p-value is at most 0.05 where the ratio exceeds all of them.
    return float(large.compare_lr_test(small, "bootstrap", n=19, rng=rng).pvalue <= 0.05), 1.0


@claim(
    "S22", "false alarms", "JA preferred to true BTL: 192 judges with 15 verdicts each on 6 items", n=300, n_quick=25
)
def light_judges(rng: np.random.Generator) -> Told:
    return _rejects(rng, 192, 6, 192 * 15, 1.0)


@claim("S3", "coverage", "mu of JA where shown: 8 judges, 10 items, 800 verdicts, sd 0.6", n=1000, n_quick=150)
def shown(rng: np.random.Generator) -> Told:
    table = _fits(rng, 8, 10, 800, 0.6)[1].consensus.sort_index()
    return covered(table["estimate"].to_numpy(), table["std_err"].to_numpy(), spread(10, 0.6))


@claim("S3", "false alarms", "intervals of mu shown by JA at a weak consensus (sd 0.2)", n=500, n_quick=100)
def not_shown(rng: np.random.Generator) -> Told:
    return float(_fits(rng, 8, 10, 800, 0.2)[1].consensus["std_err"].notna().any()), 1.0


@claim("S3", "coverage", "mu of BTL, which JA then points to", n=1000, n_quick=150)
def pointed_to(rng: np.random.Generator) -> Told:
    table = _fits(rng, 8, 10, 800, 0.2)[0].consensus.sort_index()
    return covered(table["estimate"].to_numpy(), table["std_err"].to_numpy(), spread(10, 0.2))


def _camps(rng: np.random.Generator, gamma: np.ndarray) -> Told:
    data = plain_panel(rng, gamma, spread(6, 1.0), 15 * len(gamma))
    result = hja.JAModel.from_comparisons(data).fit_regularized(n_random=0, warn_convergence=False)
    return float(any(found.topic == "camps" for found in result.findings)), 1.0


@claim("S19", "false alarms", "two camps among 100 judges alike, 15 verdicts each, ridge", n=300, n_quick=25)
def one_camp(rng: np.random.Generator) -> Told:
    return _camps(rng, np.ones(100))


@claim("S19", "power", "two camps, 60 judges for and 40 against", n=100, n_quick=20)
def two_camps(rng: np.random.Generator) -> Told:
    return _camps(rng, np.repeat([1.5, -1.5], [60, 40]))
