"""Infit and outfit of judges and items against draws from the model, for panels and crowds (U9)."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

import hjastats as hja
from hjastats.data.comparisons import Comparisons

from .designs import comparisons, random_pairs
from .registry import Told, claim

PANEL, CROWD = (8, 8, 400), (100, 6, 15)
DRAWS = 200


def _panel(
    rng: np.random.Generator, size: tuple[int, int, int], spread: float = 0.0, coins: float = 0.0, of: int = 1
) -> Comparisons:
    """Sensitivities 1 - spread to 1 + spread; the first judges follow a coin in a share of their verdicts."""
    n_judges, n_items, n = size
    judge = np.repeat(np.arange(n_judges), n)
    first, second = random_pairs(rng, len(judge), n_items)
    mu, gamma = rng.standard_normal(n_items), rng.uniform(1.0 - spread, 1.0 + spread, n_judges)
    chance = expit(gamma[judge] * (mu[first] - mu[second]))
    chance = np.where((judge < of) & (rng.random(len(judge)) < coins), 0.5, chance)
    return comparisons(judge, first, second, rng.random(len(judge)) < chance)


def _alarm(result: hja.HJAResults, of: str, rng: np.random.Generator) -> Told:
    if not result.converged:
        return 0.0, 0.0
    return float(result.judges.misfit(of, DRAWS, rng=rng).is_warning), 1.0


@claim("U9", "size", "infit of a judge at 5%, BTL; 8 judges, 8 items, 400 verdicts each", n=150, n_quick=30)
def infit_in_a_panel(rng: np.random.Generator) -> Told:
    return _rejected(hja.BTLModel.from_comparisons(_panel(rng, PANEL)).fit(), "judges", rng)


@claim("U9", "size", "infit of an item at 5%, JA; 8 judges, 8 items, 400 verdicts each", n=150, n_quick=30)
def infit_of_items(rng: np.random.Generator) -> Told:
    return _rejected(hja.JAModel.from_comparisons(_panel(rng, PANEL, 0.4)).fit(), "items", rng)


@claim("U9", "size", "infit of a judge at 5%, BTL; 100 judges, 6 items, 15 verdicts each", n=100, n_quick=8)
def infit_in_a_crowd(rng: np.random.Generator) -> Told:
    return _rejected(hja.BTLModel.from_comparisons(_panel(rng, CROWD)).fit(), "judges", rng)


def _rejected(result: hja.HJAResults, of: str, rng: np.random.Generator) -> Told:
    if not result.converged:
        return 0.0, 0.0
    p_value = result.judges.misfit(of, DRAWS, rng=rng).table["infit_p"]
    return float((p_value < 0.05).sum()), float(len(p_value))


@claim("U9", "false alarms", "some judge misfits, JA; 8 judges, 8 items, 400 verdicts each", n=200, n_quick=30)
def judges_of_a_panel(rng: np.random.Generator) -> Told:
    return _alarm(hja.JAModel.from_comparisons(_panel(rng, PANEL, 0.4)).fit(), "judges", rng)


@claim("U9", "false alarms", "some item misfits, JA; 8 judges, 8 items, 400 verdicts each", n=200, n_quick=30)
def items_of_a_panel(rng: np.random.Generator) -> Told:
    return _alarm(hja.JAModel.from_comparisons(_panel(rng, PANEL, 0.4)).fit(), "items", rng)


@claim("U9", "false alarms", "some judge misfits, BTL; 100 judges, 6 items, 15 verdicts each", n=200, n_quick=20)
def judges_of_a_crowd(rng: np.random.Generator) -> Told:
    return _alarm(hja.BTLModel.from_comparisons(_panel(rng, CROWD)).fit(), "judges", rng)


@claim(
    "U9", "false alarms", "some judge misfits, JA by bias reduction; 100 judges, 6 items, 15 verdicts", n=60, n_quick=3
)
def judges_of_a_reduced_crowd(rng: np.random.Generator) -> Told:
    model = hja.JAModel.from_comparisons(_panel(rng, CROWD, 0.4))
    return _alarm(model.fit_regularized(penalty="firth"), "judges", rng)


@claim(
    "U9", "power", "the one judge that flips coins is named, BTL; 8 judges, 8 items, 400 verdicts", n=100, n_quick=20
)
def coins_in_a_panel(rng: np.random.Generator) -> Told:
    return _named(_panel(rng, PANEL, coins=1.0), 1, rng)


@claim(
    "U9",
    "power",
    "judges that flip coins are named, 5 of 100, BTL; 6 items, 15 verdicts each (too few)",
    n=100,
    n_quick=8,
    band=(0.0, 1.0),
)
def coins_in_a_crowd(rng: np.random.Generator) -> Told:
    return _named(_panel(rng, CROWD, coins=1.0, of=5), 5, rng)


@claim("U9", "power", "the same with 60 verdicts each", n=60, n_quick=5)
def coins_in_a_busy_crowd(rng: np.random.Generator) -> Told:
    return _named(_panel(rng, (100, 6, 60), coins=1.0, of=5), 5, rng)


def _named(data: Comparisons, n: int, rng: np.random.Generator) -> Told:
    """How many of the first judges are said to be less predictable."""
    table = hja.BTLModel.from_comparisons(data).fit().judges.misfit(n=DRAWS, rng=rng).table
    is_named = ((table["infit_holm"] < 0.05) | (table["outfit_holm"] < 0.05)) & (table["infit"] > 1)
    return float(is_named.iloc[:n].sum()), float(n)
