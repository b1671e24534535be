"""Traits of judges and items: tests of instability, trees, random effects, items that were never compared."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import expit

import hjastats as hja
from hjastats.data.comparisons import Comparisons
from hjastats.inference.instability import instability_tests

from .designs import comparisons, random_pairs
from .registry import Told, claim

N_ITEMS, N_VERDICTS = 6, 15


def _crowd(rng: np.random.Generator, n_judges: int, shift: np.ndarray | float = 0.0) -> Comparisons:
    """Judges who agree on six items, but for how much more some of them like the first one."""
    judge = np.repeat(np.arange(n_judges), N_VERDICTS)
    first, second = random_pairs(rng, len(judge), N_ITEMS)
    mu = np.linspace(-1.0, 1.0, N_ITEMS)
    own = np.broadcast_to(shift, n_judges)[judge] * ((first == 0).astype(float) - (second == 0))
    return comparisons(judge, first, second, rng.random(len(judge)) < expit(mu[first] - mu[second] + own))


def _rejects(data: Comparisons, trait: np.ndarray) -> Told:
    result = hja.BTLModel.from_comparisons(data).fit(warn_convergence=False)
    if not result.converged:
        return 0.0, 0.0
    table = instability_tests(result.fit, pd.DataFrame({"trait": trait}, index=data.judges))
    return float(table["p_value"].iloc[0] < 0.05), 1.0


@claim(
    "G8",
    "size",
    "instability over three groups of judges at 5%; 100 judges, 6 items, 15 verdicts each",
    n=2000,
    n_quick=300,
)
def instability_over_labels(rng: np.random.Generator) -> Told:
    return _rejects(_crowd(rng, 100), rng.choice(list("abc"), 100))


@claim(
    "G8", "size", "instability over age (whole years) at 5%; 200 judges, 6 items, 15 verdicts each", n=2000, n_quick=300
)
def instability_over_ages(rng: np.random.Generator) -> Told:
    return _rejects(_crowd(rng, 200), rng.integers(18, 80, 200))


@claim("G8", "size", "instability over a number at 5%; 60 judges, 6 items, 15 verdicts each", n=2000, n_quick=300)
def instability_over_numbers(rng: np.random.Generator) -> Told:
    return _rejects(_crowd(rng, 60), rng.standard_normal(60))


@claim(
    "G8",
    "power",
    "instability over age at 5%, beyond 45 one of 6 items 0.8 log-odds lower; 200 judges",
    n=500,
    n_quick=60,
)
def instability_is_found(rng: np.random.Generator) -> Told:
    age = rng.integers(18, 80, 200)
    return _rejects(_crowd(rng, 200, np.where(age > 45, -0.8, 0.0)), age)


@claim("G8", "size", "a tree of judges parts any at all, four traits, 5%; 100 judges, 6 items", n=1000, n_quick=100)
def tree_of_judges_alike(rng: np.random.Generator) -> Told:
    data = _crowd(rng, 100)
    traits = {"age": rng.integers(18, 80, 100), "sex": rng.choice(list("fm"), 100)}
    traits |= {"school": rng.choice(list("abc"), 100), "income": rng.lognormal(size=100)}
    tree = hja.partition(data, pd.DataFrame(traits, index=data.judges), max_depth=1)
    return float(len(tree.leaves) > 1), 1.0


def _leaderboard(
    rng: np.random.Generator, n_items: int, n: int, sd: float
) -> tuple[Comparisons, np.ndarray, np.ndarray]:
    """Items whose scores follow from two traits and an effect of their own; the last was never compared."""
    traits = rng.standard_normal((n_items + 1, 2))
    scores = traits @ np.array([0.8, -0.4]) + sd * rng.standard_normal(n_items + 1)
    first, second = random_pairs(rng, n, n_items)
    data = comparisons(np.zeros(n, dtype=int), first, second, rng.random(n) < expit(scores[first] - scores[second]))
    return data, traits, scores


@claim("G8", "coverage", "coefficients of traits of 30 random items, sd 0.5; 600 verdicts", n=500, n_quick=60)
def traits_of_random_items(rng: np.random.Generator) -> Told:
    result, _, _ = _random_items(rng, 30, 600, 0.5)
    table = result.traits
    inside = (table["ci_lower"] < [0.8, -0.4]) & (table["ci_upper"] > [0.8, -0.4])
    return float(inside.sum()), 2.0


@claim(
    "G8",
    "coverage",
    "difference of an item that was never compared from one that was; 30 random items, sd 0.5",
    n=500,
    n_quick=60,
)
def item_never_compared(rng: np.random.Generator) -> Told:
    result, traits, scores = _random_items(rng, 30, 600, 0.5)
    new = pd.DataFrame(traits[[-1]], columns=["x", "y"])
    told = result.predict_item(new, against="i000").iloc[0]
    return float(told["ci_lower"] < scores[-1] - scores[0] < told["ci_upper"]), 1.0


@claim("G8", "coverage", "standard deviation of 30 random items, 0.5; 600 verdicts", n=500, n_quick=60)
def spread_of_random_items(rng: np.random.Generator) -> Told:
    result, _, _ = _random_items(rng, 30, 600, 0.5)
    told = result.spread.iloc[0]
    return float(told["ci_lower"] < 0.5 < told["ci_upper"]), 1.0


_BETA, _GAMMA = np.array([0.8, -0.5]), np.array([1.6, 1.3, 1.0, 0.9, 0.8, 0.4])


def _weighing(rng: np.random.Generator, rank: int) -> tuple[hja.TraitResults, np.ndarray, np.ndarray]:
    """Six judges who weigh two traits of nine items, with 1,500 verdicts: a fit, the traits, and the judges' weights."""
    traits = rng.normal(size=(9, 2))
    weights = np.outer(_GAMMA, _BETA) + rank * np.outer([1, -1, 1, -1, 1, -1], [0.3, 0.5])
    scores, judge, (first, second) = weights @ traits.T, rng.integers(6, size=1500), random_pairs(rng, 1500, 9)
    odds = scores[judge, first] - scores[judge, second]
    data = comparisons(judge, first, second, rng.random(1500) < expit(odds))
    frame = pd.DataFrame(traits, columns=["x", "y"], index=data.items)
    return hja.HJAModel.from_comparisons(data, rank=rank, items=frame).fit(warn_convergence=False), traits, weights


@claim(
    "G8", "coverage", "coefficients of two traits that 6 judges weigh, JA; 9 items, 1,500 verdicts", n=1000, n_quick=100
)
def coefficients_of_weighed_traits(rng: np.random.Generator) -> Told:
    table = _weighing(rng, 0)[0].traits
    return float(((table["ci_lower"] < _BETA) & (table["ci_upper"] > _BETA)).sum()), 2.0


@claim("G8", "coverage", "weights of each judge, HJA(1); the same items and verdicts", n=1000, n_quick=100)
def weights_of_judges(rng: np.random.Generator) -> Told:
    result, _, weights = _weighing(rng, 1)
    table = result.judges.trait_weights()
    return float(((table["ci_lower"] < weights.ravel()) & (weights.ravel() < table["ci_upper"])).sum()), 12.0


@claim(
    "G8",
    "coverage",
    "difference of an item that was never compared from one that was; the same, JA",
    n=1000,
    n_quick=100,
)
def item_never_compared_of_judges(rng: np.random.Generator) -> Told:
    result, traits, _ = _weighing(rng, 0)
    told = result.predict_item({"x": 1.0, "y": -1.0}, against=result.model.items[0]).iloc[0]
    return float(told["ci_lower"] < (np.array([1.0, -1.0]) - traits[0]) @ _BETA < told["ci_upper"]), 1.0


@claim("G8", "size", "JA on two traits against free JA at 5%; the same", n=1000, n_quick=100)
def traits_against_free_scores(rng: np.random.Generator) -> Told:
    result = _weighing(rng, 0)[0]
    free = result.model.update(items=None).fit(warn_convergence=False)
    return float(free.compare_lr_test(result).pvalue < 0.05), 1.0


def _random_items(
    rng: np.random.Generator, n_items: int, n: int, sd: float
) -> tuple[hja.TraitResults, np.ndarray, np.ndarray]:
    data, traits, scores = _leaderboard(rng, n_items, n, sd)
    frame = pd.DataFrame(traits[:-1], columns=["x", "y"], index=data.items)
    return hja.BTLModel.from_comparisons(data, items=frame, random="items").fit(), traits, scores
