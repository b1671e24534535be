"""Judges as a sample: intervals of the population, and those of fixed panels on the same data beside them."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, ndtr

import hjastats as hja

from .registry import Told, claim

MU = np.linspace(-1.4, 1.4, 8)
SD, PAIRS = 0.5, [(0, 1), (2, 5), (7, 0), (4, 3)]


def draw(rng: np.random.Generator, n_judges: int = 60, n_each: int = 15) -> hja.Comparisons:
    """Light judges of eight items who differ in their sensitivity."""
    judge = np.repeat(np.arange(n_judges), n_each)
    first = rng.integers(0, 8, len(judge))
    second = (first + 1 + rng.integers(0, 7, len(judge))) % 8
    gamma = 1.0 + SD * rng.standard_normal(n_judges)
    wins = rng.random(len(judge)) < expit(gamma[judge] * (MU[first] - MU[second]))
    names = [np.char.add(name, code.astype(str)).tolist() for name, code in (("j", judge), ("i", first), ("i", second))]
    return hja.Comparisons.from_arrays(*names, wins.astype(float))


def _covered(lower: np.ndarray, truth: np.ndarray, upper: np.ndarray) -> Told:
    inside = (np.asarray(lower) <= truth) & (truth <= np.asarray(upper))
    known = np.isfinite(np.asarray(upper))
    return float(inside[known].sum()), float(known.sum())


def differences(result: hja.HJAResults) -> Told:
    found = result.contrast([f"mu[i{a}] - mu[i{b}]" for a, b in PAIRS]).conf_int()
    return _covered(found[:, 0], np.array([MU[a] - MU[b] for a, b in PAIRS]), found[:, 1])


def _fit(rng: np.random.Generator) -> hja.PopulationResults:
    return hja.PopulationHJAModel.from_comparisons(draw(rng)).fit(warn_convergence=False)


@claim(
    "P1",
    "coverage",
    "differences of mu of a population: 60 judges with 15 verdicts each on 8 items",
    n=2000,
    n_quick=100,
)
def consensus(rng: np.random.Generator) -> Told:
    return differences(_fit(rng))


def spread_of(result: hja.PopulationResults) -> Told:
    """The standard deviation of the sensitivities."""
    table = result.population
    return _covered(table["ci_lower"], SD, table["ci_upper"])


@claim("P1", "coverage", "the spread of the sensitivities, on the log scale", n=2000, n_quick=150)
def spread(rng: np.random.Generator) -> Told:
    return spread_of(_fit(rng))


def probability_of(result: hja.PopulationResults) -> Told:
    """A new judge's probability to prefer items."""
    table = result.get_prediction(item_a=[f"i{a}" for a, _ in PAIRS], item_b=[f"i{b}" for _, b in PAIRS])
    x, weight = np.polynomial.hermite_e.hermegauss(41)
    gaps = np.array([MU[a] - MU[b] for a, b in PAIRS])
    truth = expit(np.outer(gaps, 1.0 + SD * x)) @ weight / weight.sum()
    return _covered(table["ci_lower"], truth, table["ci_upper"])


@claim("P1", "coverage", "the probability that a new judge prefers an item", n=2000, n_quick=100)
def new_judge(rng: np.random.Generator) -> Told:
    return probability_of(_fit(rng))


def share_of(result: hja.PopulationResults) -> Told:
    """The share of judges who prefer an item; with rank 0 it is the same for all pairs."""
    table = result.share("i7", "i0")
    return _covered(table["ci_lower"], ndtr(1.0 / SD), table["ci_upper"])


@claim("P1", "coverage", "the share of judges who prefer an item", n=2000, n_quick=150)
def share(rng: np.random.Generator) -> Told:
    return share_of(_fit(rng))


@claim(
    "P2", "size", "judges said to differ in position who do not: 60 judges with 15 verdicts each", n=2000, n_quick=300
)
def no_spread_of_position(rng: np.random.Generator) -> Told:
    result = hja.PopulationHJAModel.from_comparisons(draw(rng), position="judge").fit(warn_convergence=False)
    return float(result.spread_test("position").p_value < 0.05), 1.0
