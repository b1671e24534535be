"""Ridge, bias reduction and choices by held-out loss."""

from __future__ import annotations

import numpy as np

import hjastats as hja
from hjastats.simulation import heterogeneous_panel, near_balanced_design, simulate_comparisons

from .registry import Told, claim

Z = 1.959964


def crowd(
    rng: np.random.Generator, n_judges: int, n_each: int, span: float, n_items: int, spread: float = 0.0
) -> hja.Comparisons:
    """Judges with as many verdicts on random pairs each, whose sensitivities have this standard deviation."""
    gamma = rng.normal(1.0, spread, n_judges)
    scores = np.outer(gamma / gamma.mean(), np.linspace(span / 2, -span / 2, n_items))
    judge, first = np.repeat(np.arange(n_judges), n_each), rng.integers(n_items, size=n_judges * n_each)
    second = (first + 1 + rng.integers(n_items - 1, size=len(first))) % n_items
    wins = rng.random(len(first)) < 1.0 / (1.0 + np.exp(scores[judge, second] - scores[judge, first]))
    names = [np.char.add(letter, values.astype(str)) for letter, values in (("j", judge), ("i", first), ("i", second))]
    return hja.Comparisons.from_arrays(*names, wins.astype(float))


def covers(result: hja.HJAResults, span: float, n_items: int) -> Told:
    """Whether the interval of the largest difference holds it."""
    table = result.contrast(f"mu[i0] - mu[i{n_items - 1}]").summary_frame()
    return float(table["ci_lower"].iloc[0] <= span <= table["ci_upper"].iloc[0]), 1


@claim(
    "S4",
    "coverage",
    "ridge 0.1, BTL, 500 judges with 2 verdicts each, 4 items: the largest difference, 2.4",
    n=1000,
    n_quick=150,
)
def many_labels(rng: np.random.Generator) -> Told:
    data = crowd(rng, 500, 2, 2.4, 4)
    return covers(hja.BTLModel.from_comparisons(data).fit_regularized(0.1), 2.4, 4)


@claim(
    "S4",
    "coverage",
    "ridge 0.1, HJA(1), 4 judges, 8 items, 400 comparisons of the paper's process: scores",
    n=500,
    n_quick=40,
)
def few_comparisons(rng: np.random.Generator) -> Told:
    panel = heterogeneous_panel(rng=rng)
    data = simulate_comparisons(panel.scores, near_balanced_design(4, 8, 400, rng=rng), rng=rng)
    result = hja.HJAModel.from_comparisons(data, rank=1).fit_regularized(0.1, n_random=0, warn_convergence=False)
    inside = np.abs(result.scores.to_numpy() - panel.scores) <= Z * result.judges.score_errors().to_numpy()
    return float(inside.sum()), inside.size


@claim(
    "S4",
    "coverage",
    "bias reduction, JA, 100 judges with 15 verdicts each, 6 items: the largest difference, 2.4",
    n=500,
    n_quick=40,
)
def light_judges_without_bias(rng: np.random.Generator) -> Told:
    model = hja.JAModel.from_comparisons(crowd(rng, 100, 15, 2.4, 6, 0.3))
    return covers(model.fit_regularized(penalty="firth", warn_convergence=False), 2.4, 6)


def is_warned_of_bias(result: hja.HJAResults) -> Told:
    """Whether the findings say that judges with few verdicts push the scores apart."""
    return float(any(found.topic == "bias" and found.is_warning for found in result.findings)), 1


@claim(
    "S4", "power", "said to be biased: ridge 0.1, JA, 100 judges with 15 verdicts each (covers 0.57)", n=100, n_quick=10
)
def light_judges(rng: np.random.Generator) -> Told:
    model = hja.JAModel.from_comparisons(crowd(rng, 100, 15, 2.4, 6, 0.3))
    return is_warned_of_bias(model.fit_regularized(0.1, n_random=0, warn_convergence=False))


@claim("S4", "false alarms", "said to be biased: JA, 30 judges with 200 verdicts each", n=200, n_quick=20)
def heavy_judges(rng: np.random.Generator) -> Told:
    model = hja.JAModel.from_comparisons(crowd(rng, 30, 200, 2.4, 6, 0.3))
    return is_warned_of_bias(model.fit(n_random=0, warn_convergence=False))


@claim(
    "S5",
    "coverage",
    "ridge 0.1 instead of alpha='cv', BTL, 200 comparisons of 8 items: the largest difference, 2",
    n=1000,
    n_quick=200,
)
def weight_fixed_beforehand(rng: np.random.Generator) -> Told:
    return covers(hja.BTLModel.from_comparisons(crowd(rng, 1, 200, 2.0, 8)).fit_regularized(0.1), 2.0, 8)


@claim(
    "S5",
    "coverage",
    "ridge 0.1 instead of alpha='cv', JA, 4 judges, 400 comparisons of 8 items: the largest difference, 3",
    n=1000,
    n_quick=60,
)
def weight_fixed_beforehand_for_judges(rng: np.random.Generator) -> Told:
    model = hja.JAModel.from_comparisons(crowd(rng, 4, 100, 3.0, 8, 0.3))
    return covers(model.fit_regularized(0.1, n_random=0, warn_convergence=False), 3.0, 8)


@claim(
    "S5", "false alarms", "alpha='cv', BTL, 200 comparisons: intervals of differences that are shown", n=200, n_quick=10
)
def weight_chosen(rng: np.random.Generator) -> Told:
    result = hja.BTLModel.from_comparisons(crowd(rng, 1, 200, 2.0, 8)).fit_regularized("cv")
    return float(np.isfinite(result.contrast("mu[i0] - mu[i7]").std_err[0])), 1


@claim(
    "S20",
    "power",
    "cross-validated losses of ranks 0 and 1 below that of a coin, 40 judges with 15 verdicts each",
    n=50,
    n_quick=3,
)
def losses_of_light_judges(rng: np.random.Generator) -> Told:
    table = hja.select_rank(crowd(rng, 40, 15, 4.0, 5, 0.3), ranks=[0, 1], criterion="cv", n_folds=3).table
    return float((table["cv"] < np.log(2)).sum()), len(table)


@claim("S20", "power", "BTL by BIC where 5 judges with 300 verdicts each are alike", n=200, n_quick=8)
def judges_alike(rng: np.random.Generator) -> Told:
    return float(hja.select_rank(crowd(rng, 5, 300, 2.0, 6), ranks=[0, 1]).best == "BTL"), 1
