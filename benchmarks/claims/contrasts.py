"""Claims about contrasts: probabilities, ratios, and errors of loadings by resampling."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

import hjastats as hja
from hjastats.inference.contrast_results import Contrast
from hjastats.simulation import heterogeneous_panel, near_balanced_design, simulate_comparisons

from .registry import Told, claim

JUDGES, ITEMS = 4, 6
SCORES = np.outer([0.6, 0.9, 1.1, 1.4], np.linspace(-1.0, 1.0, ITEMS))


def _fit(rng: np.random.Generator, n: int) -> hja.HJAResults:
    data = simulate_comparisons(SCORES, near_balanced_design(JUDGES, ITEMS, n, rng=rng), shuffle_order=True, rng=rng)
    return hja.JAModel.from_comparisons(data).fit(warn_convergence=False)


# Probabilities of 0.86, 0.90 and 0.94, where the two scales differ.
PAIRS = [(judge, 5, 0) for judge in (1, 2, 3)]


def _name(judge: int, first: int, second: int) -> str:
    return f"judge-{judge + 1}, item-{first + 1}, item-{second + 1}"


@claim(
    "S11",
    "size",
    "p[judge, a, b] = its true value, 4 judges, 6 items, 800 verdicts, probabilities of 0.86 to 0.94",
    n=2000,
    n_quick=250,
)
def probability_is_its_true_value(rng: np.random.Generator) -> Told:
    result = _fit(rng, 800)
    if not result.converged:
        return 0.0, 0.0
    texts = [f"p[{_name(*pair)}] = {expit(SCORES[pair[0], pair[1]] - SCORES[pair[0], pair[2]])}" for pair in PAIRS]
    return float((result.contrast(texts).p_value < 0.05).sum()), len(texts)


@claim(
    "S11", "coverage", "interval of 1 - p[judge, a, b], the same panels; all of it between 0 and 1", n=2000, n_quick=250
)
def probability_is_covered(rng: np.random.Generator) -> Told:
    result = _fit(rng, 800)
    if not result.converged:
        return 0.0, 0.0
    low, high = result.contrast([f"1 - p[{_name(*pair)}]" for pair in PAIRS]).conf_int().T
    true = np.array([expit(SCORES[judge, second] - SCORES[judge, first]) for judge, first, second in PAIRS])
    return float(((low > 0) & (low <= true) & (true <= high) & (high < 1)).sum()), len(true)


# The smaller is often not told from zero.
RATIO = np.array([0.15, 1.0, 1.25, 1.6])


def _ratio(rng: np.random.Generator) -> Contrast | None:
    """Of two sensitivities, against its true value."""
    scores = np.outer(RATIO, np.linspace(-1.0, 1.0, ITEMS))
    data = simulate_comparisons(scores, near_balanced_design(JUDGES, ITEMS, 800, rng=rng), shuffle_order=True, rng=rng)
    result = hja.JAModel.from_comparisons(data).fit(warn_convergence=False)
    return result.contrast(f"gamma[judge-3] / gamma[judge-1] = {RATIO[2] / RATIO[0]}") if result.converged else None


@claim(
    "S16",
    "size",
    "ratio of two sensitivities, the smaller (0.15) often not told from zero, at its true value: Fieller, 800 verdicts",
    n=2000,
    n_quick=250,
)
def ratio_is_its_true_value(rng: np.random.Generator) -> Told:
    found = _ratio(rng)
    return (0.0, 0.0) if found is None else (float(found.p_value[0] < 0.05), 1.0)


@claim(
    "S16",
    "coverage",
    "the interval of that ratio, without an end where the set of values not rejected has a hole",
    n=2000,
    n_quick=250,
    band=(0.93, 1.0),
)
def ratio_is_covered(rng: np.random.Generator) -> Told:
    found = _ratio(rng)
    if found is None:
        return 0.0, 0.0
    low, high = found.conf_int()[0]
    return float(low <= RATIO[2] / RATIO[0] <= high), 1.0


@claim(
    "U9",
    "coverage",
    "all five differences from the first item at once, simultaneous intervals, 4 judges, 6 items, 1,600 verdicts",
    n=2000,
    n_quick=250,
)
def contrasts_are_covered_at_once(rng: np.random.Generator) -> Told:
    result = _fit(rng, 1600)
    if not result.converged:
        return 0.0, 0.0
    others = ", ".join(f"item-{i}" for i in range(2, ITEMS + 1))
    table = result.contrast(f"mu[{others}] - mu[item-1]").adjusted()
    true = SCORES.mean(axis=0)[1:] - SCORES.mean(axis=0)[0]
    return float(((table["ci_lower"] <= true) & (true <= table["ci_upper"])).all()), 1.0


@claim(
    "U9",
    "size",
    "mean(gamma[a, b]) is said to be larger than its true value, one-sided, the same panels",
    n=2000,
    n_quick=250,
)
def one_sided_test(rng: np.random.Generator) -> Told:
    result = _fit(rng, 1600)
    if not result.converged:
        return 0.0, 0.0
    p_value = result.contrast("mean(gamma[judge-1, judge-4]) = 1", alternative="larger").p_value
    return float(p_value[0] < 0.05), 1.0


@claim(
    "U9",
    "size",
    "two items are said to be equivalent, their difference being the margin itself (0.8), the same panels",
    n=2000,
    n_quick=250,
)
def equivalence_at_the_margin(rng: np.random.Generator) -> Told:
    result = _fit(rng, 1600)
    if not result.converged:
        return 0.0, 0.0
    margin = float(SCORES.mean(axis=0)[2] - SCORES.mean(axis=0)[0])
    p_value = result.contrast("mu[item-3] - mu[item-1]").equivalence(-margin, margin)["p_value"]
    return float(p_value.iloc[0] < 0.05), 1.0


@claim(
    "S13",
    "power",
    "bootstrap error of a loading within 40% of the delta method's, the first judge's loading near zero, 3,000 verdicts",
    n=200,
    n_quick=12,
    band=(0.9, 1.0),
)
def loadings_are_aligned(rng: np.random.Generator) -> Told:
    mu = heterogeneous_panel(JUDGES, ITEMS, rank=0, rng=rng).mu
    direction = np.linalg.qr(np.column_stack([np.ones(ITEMS), mu, rng.normal(size=ITEMS)]))[0][:, 2]
    scores = np.outer(np.ones(JUDGES), mu) + 2.0 * np.outer([0.05, 0.6, -0.7, 0.05], direction)
    data = simulate_comparisons(scores, near_balanced_design(JUDGES, ITEMS, 3000, rng=rng), rng=rng)
    result = hja.HJAModel.from_comparisons(data, rank=1).fit(warn_convergence=False)
    if not result.converged:
        return 0.0, 0.0
    names = [f"U[{judge},1]" for judge in result.model.judges]
    ratio = result.bootstrap(60, rng=rng).params[names].std() / result.bse[names]
    return float(((ratio > 0.6) & (ratio < 1.4)).sum()), len(names)
