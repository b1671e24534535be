"""How often sentences about judges, order and ties accuse a clean panel, and how often one that earned it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import hjastats as hja

from .registry import Told, claim


def panel(
    rng: np.random.Generator,
    scores: np.ndarray,
    n: int,
    *,
    position: np.ndarray | float = 0.0,
    tie: np.ndarray | float | None = None,
    canonical: bool = False,
    swaps: bool = False,
) -> hja.Comparisons:
    """So many verdicts of each judge on random pairs, in random order, in that of the items, or each prompt in both orders."""
    n_judges, n_items = scores.shape
    judge = np.repeat(np.arange(n_judges), n)
    first = rng.integers(n_items, size=len(judge))
    second = (first + rng.integers(1, n_items, size=len(judge))) % n_items
    if canonical:
        first, second = np.minimum(first, second), np.maximum(first, second)
    if swaps:
        first[1::2], second[1::2] = second[::2].copy(), first[::2].copy()
    eta = scores[judge, first] - scores[judge, second] + np.broadcast_to(position, n_judges)[judge]
    weight = np.exp(0.5 * np.stack([eta, -eta]))
    tied = np.zeros(len(judge)) if tie is None else np.exp(np.broadcast_to(tie, n_judges)[judge])
    draw = rng.random(len(judge)) * (weight.sum(axis=0) + tied)
    outcome = np.where(draw < weight[0], 1.0, np.where(draw < weight.sum(axis=0), 0.0, 0.5))
    labels = (np.char.add(name, codes.astype(str)) for name, codes in (("j", judge), ("i", first), ("i", second)))
    columns = pd.DataFrame({"prompt": np.arange(len(judge)) // (1 + swaps)})
    return hja.Comparisons.from_arrays(*labels, outcome, columns=columns)


def consensus(rng: np.random.Generator, n_judges: int, n_items: int, spread: float = 1.0) -> np.ndarray:
    """Scores of judges who all agree."""
    return np.tile(spread * rng.normal(size=n_items), (n_judges, 1))


def says(result: Any, *clauses: str) -> bool:
    """Whether any card has one of the clauses."""
    sentences = result.judges.cards()["sentence"].str.lower().str.replace("about as sharply", "")
    return bool(sentences.str.contains("|".join(clauses)).any())


def warns(result: Any, topic: str, word: str = "") -> bool:
    """Whether a finding of the topic is a warning, and has a word."""
    return any(found.is_warning and word in found.text for found in result.findings if found.topic == topic)


def clean(design: str, clauses: tuple[str, ...], fit: Callable[[np.random.Generator], Any], n: int = 400) -> None:
    """Enter the share of clean panels of which a card has one of the clauses."""

    def draw(rng: np.random.Generator) -> Told:
        return float(says(fit(rng), *clauses)), 1.0

    text = f"a clean panel has a card that says {' or '.join(repr(clause) for clause in clauses)}; {design}"
    claim("S14", "false alarms", text, n=n, n_quick=40)(draw)


def ja(n_judges: int, n_items: int, n: int, **options: Any) -> Callable[[np.random.Generator], Any]:
    """JA fits of clean panels, every prompt in both orders."""
    return lambda rng: hja.JAModel.from_comparisons(
        panel(rng, consensus(rng, n_judges, n_items), n, swaps=True), **options
    ).fit()


def rank_one(rng: np.random.Generator) -> Any:
    """HJA(1) fits of panels without disagreement."""
    return hja.HJAModel.from_comparisons(panel(rng, consensus(rng, 20, 10, 0.4), 100), rank=1).fit()


def light(rng: np.random.Generator) -> Any:
    """BTL fits of 100 judges with 10 verdicts each."""
    return hja.BTLModel.from_comparisons(panel(rng, consensus(rng, 100, 10), 10)).fit()


MISFIT = ("less predictable", "more predictable", "next to impossible")
clean("8 judges, 10 items, 100 verdicts each", ("contradicts itself",), ja(8, 10, 100))
clean("8 judges, 20 items, 400 verdicts each", ("contradicts itself",), ja(8, 20, 400))
clean("8 judges, 10 items, 100 verdicts each", ("follows the position",), ja(8, 10, 100))
clean("8 judges, 10 items, 100 verdicts each", ("picks the",), ja(8, 10, 100))
clean("8 judges, 10 items, 100 verdicts each", ("prefers the",), ja(8, 10, 100, position="judge"))
clean("8 judges, 10 items, 100 verdicts each", ("sharply than", "may not follow", "ranks against"), ja(8, 10, 100))
clean("40 judges, 8 items, 60 verdicts each", ("sharply than", "may not follow", "ranks against"), ja(40, 8, 60))
clean("8 judges, 10 items, 100 verdicts each", MISFIT, ja(8, 10, 100))
clean("rank 1 fitted to rank 0, 20 judges, 10 items, 100 verdicts each", ("strong taste",), rank_one)
clean("100 judges, 10 verdicts each", ("picks the", *MISFIT), light)


@claim(
    "S14",
    "false alarms",
    "swaps warn of a panel without position effects; 8 judges, 50 swapped pairs each",
    n=400,
    n_quick=40,
)
def swaps_of_clean_panels(rng: np.random.Generator) -> Told:
    """Flips are chance."""
    return float(warns(ja(8, 10, 100)(rng), "swaps")), 1.0


@claim(
    "S14", "power", "swaps name one judge of 8 with a position effect of 1; 100 swapped pairs each", n=400, n_quick=40
)
def swaps_of_a_follower(rng: np.random.Generator) -> Told:
    """Flips of one judge are not."""
    data = panel(rng, consensus(rng, 8, 10), 200, position=np.r_[1.0, np.zeros(7)], swaps=True)
    return float(warns(hja.JAModel.from_comparisons(data).fit(), "swaps", "'j0'")), 1.0


@claim(
    "S14",
    "false alarms",
    "extreme first shares in a panel without position effects; 100 judges, 10 verdicts each",
    n=400,
    n_quick=40,
)
def first_shares_of_light_judges(rng: np.random.Generator) -> Told:
    """Nine of ten is no rarity among a hundred."""
    return float(warns(light(rng), "first share")), 1.0


@claim(
    "S14",
    "false alarms",
    "disagreement is dominated by a judge, rank 1 fitted to rank 0; 20 judges, 10 items, 100 verdicts each",
    n=400,
    n_quick=40,
)
def dominance_of_nobody(rng: np.random.Generator) -> Told:
    """A direction is always found."""
    return float(warns(rank_one(rng), "leverage")), 1.0


@claim(
    "S14",
    "power",
    "disagreement is dominated by the one judge of 8 with a taste of its own; 10 items, 200 verdicts each",
    n=400,
    n_quick=40,
)
def dominance_of_one(rng: np.random.Generator) -> Told:
    """Its taste is as wide as the consensus."""
    scores = consensus(rng, 8, 10)
    scores[0] = 1.5 * rng.normal(size=10)
    result = hja.HJAModel.from_comparisons(panel(rng, scores, 200), rank=1).fit()
    return float(warns(result, "leverage", "'j0'")), 1.0


@claim(
    "S14",
    "power",
    "a card says that the one judge of 8 that flips coins contradicts itself, in BTL; 20 items, 400 verdicts each",
    n=400,
    n_quick=40,
)
def cycles_of_one(rng: np.random.Generator) -> Told:
    """The model takes it for as sharp as the others; one that knows better has nothing to be surprised at."""
    scores = consensus(rng, 8, 20, 1.5)
    scores[0] = 0.0
    sentence = hja.BTLModel.from_comparisons(panel(rng, scores, 400)).fit().judges.cards().loc["j0", "sentence"]
    return float("contradicts itself" in str(sentence)), 1.0


def position_warning(data: hja.Comparisons) -> Told:
    result = hja.JAModel.from_comparisons(data).fit()
    return float(warns(result, "position test") or warns(result, "first share") or says(result, "picks the")), 1.0


@claim(
    "S21",
    "false alarms",
    "any word of a position effect in the order of the items, tastes differ; 20 judges, 6 items, 100 verdicts each",
    n=400,
    n_quick=40,
)
def taste_along_the_order(rng: np.random.Generator) -> Told:
    """Every judge has scores of its own."""
    return position_warning(panel(rng, rng.normal(size=(20, 6)), 100, canonical=True))


@claim(
    "S21",
    "false alarms",
    "any word of a position effect in the order of the items; 150 judges, 6 items, 15 verdicts each",
    n=400,
    n_quick=40,
)
def taste_of_light_judges(rng: np.random.Generator) -> Told:
    """As German parties."""
    return position_warning(panel(rng, 1.5 * rng.normal(size=(150, 6)), 15, canonical=True))


@claim(
    "S21",
    "power",
    "the position test warns in the order of the items; 10 judges, 10 items, 400 verdicts each, position effects of sd 1",
    n=400,
    n_quick=40,
)
def position_along_the_order(rng: np.random.Generator) -> Told:
    """As Chatbot Arena."""
    scores = consensus(rng, 10, 10) + 0.3 * rng.normal(size=(10, 10))
    data = panel(rng, scores, 400, position=rng.normal(size=10), canonical=True)
    return float(warns(hja.JAModel.from_comparisons(data).fit(), "position test")), 1.0


@claim(
    "S12",
    "false alarms",
    "tie rates said to differ where they do not, half wins; 8 judges, 8 items, 150 verdicts each",
    n=400,
    n_quick=60,
)
def equal_ties_as_half_wins(rng: np.random.Generator) -> Told:
    """One propensity for all."""
    data = panel(rng, consensus(rng, 8, 8), 150, tie=-0.5)
    return float(warns(hja.JAModel.from_comparisons(data).fit(), "tie rates")), 1.0


@claim(
    "S12",
    "size",
    "score test of one tie propensity for all at 5%; 8 judges, 8 items, 150 verdicts each",
    n=400,
    n_quick=100,
)
def equal_ties_as_an_outcome(rng: np.random.Generator) -> Told:
    """The p-value of the finding."""
    data = panel(rng, consensus(rng, 8, 8), 150, tie=-0.5)
    result = hja.JAModel.from_comparisons(data, ties="davidson").fit()
    text = next(found.text for found in result.findings if found.topic == "tie rates")
    return float(float(text.split("p = ")[1].split(")")[0]) < 0.05), 1.0


@claim(
    "S12",
    "power",
    "tie rates of 7% to 50% are found, as half wins and as an outcome; 8 judges, 8 items, 150 verdicts each",
    n=400,
    n_quick=40,
)
def unequal_ties(rng: np.random.Generator) -> Told:
    """Propensities from -2 to 1."""
    data = panel(rng, consensus(rng, 8, 8), 150, tie=np.linspace(-2, 1, 8))
    models = (hja.JAModel.from_comparisons(data, ties=ties) for ties in ("half", "davidson"))
    return float(all(warns(model.fit(), "tie rates") for model in models)), 1.0


@claim(
    "S14",
    "false alarms",
    "a judge is said to follow far less than others in a clean panel; 8 judges, 10 items, 100 verdicts each",
    n=400,
    n_quick=40,
)
def far_less_than_equals(rng: np.random.Generator) -> Told:
    """All are of the same sensitivity."""
    return float(warns(ja(8, 10, 100)(rng), "sensitivity", "far less")), 1.0


@claim(
    "S14",
    "false alarms",
    "a judge is said to follow far less than others in a clean panel; 40 judges, 8 items, 60 verdicts each",
    n=400,
    n_quick=40,
)
def far_less_than_many_equals(rng: np.random.Generator) -> Told:
    """Of many light judges some estimates are below half of the others."""
    return float(warns(ja(40, 8, 60)(rng), "sensitivity", "far less")), 1.0


@claim(
    "S14",
    "power",
    "the one judge of 8 with a quarter of the others' sensitivity is named, as far less or as none; 10 items, 200 verdicts each",
    n=400,
    n_quick=40,
)
def far_less_of_one(rng: np.random.Generator) -> Told:
    """Either its sensitivity is above zero, or it cannot be told from zero."""
    scores = consensus(rng, 8, 10)
    scores[0] *= 0.25
    return float(warns(hja.JAModel.from_comparisons(panel(rng, scores, 200)).fit(), "sensitivity", "'j0'")), 1.0


def ties(rng: np.random.Generator) -> Any:
    """JA fits of panels whose judges tie alike, in about a fifth of their verdicts."""
    return hja.JAModel.from_comparisons(panel(rng, consensus(rng, 8, 8), 150, tie=-0.4)).fit()


clean("8 judges who tie alike, 8 items, 150 verdicts each", ("ties often",), ties)
