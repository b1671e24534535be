"""What choosing questions by earlier answers does to estimates and intervals, simulated.

``python benchmarks/adaptive.py [--replications 240]``: coverage of intervals after five rounds of ``result.plan.next``; how often
equal items are said to differ by who looks after every round; and weights of one over the chance of being asked where the model is
wrong.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd
from scipy.special import expit

import hjastats as hja
from hjastats import limits
from hjastats.data.comparisons import Comparisons

N_ITEMS, FIRST, ROUND, N_ROUNDS = 8, 600, 100, 5
GAMMA = np.array([2.0, 1.5, 1.0, 0.8, 0.5, 0.2])


def scores(rng: np.random.Generator, taste: float) -> np.ndarray:
    """Judges that differ in sensitivity, and in taste."""
    mu = rng.normal(0.0, 0.6, N_ITEMS)
    own = rng.normal(0.0, taste, (len(GAMMA), N_ITEMS))
    return GAMMA[:, None] * (mu - mu.mean()) + own - own.mean(axis=1, keepdims=True)


def drawn(truth: np.ndarray, asked: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    """Verdicts about judges and items, shape (3, n)."""
    judge, first, second = asked
    wins = rng.random(len(judge)) < expit(truth[judge, first] - truth[judge, second])
    return pd.DataFrame({"judge": judge, "first": first, "second": second, "outcome": 1.0 * wins})


def uniform(rng: np.random.Generator, n: int) -> np.ndarray:
    """Any judge about any pair."""
    first = rng.integers(N_ITEMS, size=n)
    return np.array([rng.integers(len(GAMMA), size=n), first, (first + rng.integers(1, N_ITEMS, size=n)) % N_ITEMS])


def fitted(model: type[hja.HJAModel], rows: pd.DataFrame, weight: np.ndarray | None = None) -> hja.HJAResults:
    """The model fitted to rows with numbers for labels."""
    names = (rows[name].to_numpy().astype(str) for name in ("judge", "first", "second"))
    data = Comparisons.from_arrays(*names, rows["outcome"].to_numpy(), weight, counts=None if weight is None else False)
    made = model.from_comparisons(data)
    return made.fit() if model is hja.BTLModel else made.fit(n_random=0)


def planned(rows: pd.DataFrame, n: int, goal: str, rng: np.random.Generator) -> np.ndarray:
    """What the plan says, as numbers; anything where the judges tell too little for a plan."""
    try:
        table = fitted(hja.JAModel, rows).plan.next(n, goal).table
    except hja.IdentificationError:
        return uniform(rng, n)
    return table[["judge", "first", "second"]].astype(int).to_numpy().T


def covers(truth: np.ndarray, result: hja.HJAResults) -> tuple[float, bool]:
    """Share of the 95% intervals of differences that hold the truth, and whether all joint ranges of places do."""
    mu = truth.mean(axis=0) / GAMMA.mean()
    labels = list(result.model.items)
    estimate, covariance = result.fit.parts.mu, result.fit.covariance.of(result.fit.vector("mu", np.arange(N_ITEMS))[2])
    true = mu[[int(label) for label in labels]]
    low, high = np.triu_indices(N_ITEMS, 1)
    error = np.sqrt(np.diag(covariance)[low] + np.diag(covariance)[high] - 2.0 * covariance[low, high])
    off = np.abs((estimate[low] - estimate[high]) - (true[low] - true[high]))
    table = result.ranking()
    place = pd.Series(true, labels).rank(ascending=False).loc[table.index]
    holds = bool(((table["place_lower"] <= place) & (place <= table["place_upper"])).all())
    return float((off < 1.96 * error).mean()), holds


def coverage(n: int) -> None:
    """After five rounds for some goal, beside as many verdicts that were asked at random."""
    for goal in ("top2", "places", "uniform"):
        told = []
        for seed in range(n):
            rng = np.random.default_rng([seed, 61])
            truth = scores(rng, 0.0)
            rows = drawn(truth, uniform(rng, FIRST), rng)
            for _ in range(N_ROUNDS):
                asked = uniform(rng, ROUND) if goal == "uniform" else planned(rows, ROUND, goal, rng)
                rows = pd.concat([rows, drawn(truth, asked, rng)], ignore_index=True)
            last = fitted(hja.JAModel, rows)
            told += [] if last.fit.why_no_errors else [covers(truth, last)]
        share, joint = np.array(told, dtype=float).T
        root = np.sqrt(len(told))
        print(
            f"  {goal}: 95% intervals of differences hold {share.mean():.3f} ± {share.std() / root:.3f}, "
            f"joint ranges {joint.mean():.3f} ± {joint.std() / root:.3f} of {len(told)}",
            flush=True,
        )


def looks(n: int) -> None:
    """Two equal items, of three, tested after each of ten rounds: once at the end, at every look, and at a tenth of the level."""
    p_values = []
    for seed in range(n):
        rng = np.random.default_rng([seed, 62])
        truth = np.tile([0.3, 0.3, -0.6], (len(GAMMA), 1))
        first = rng.integers(3, size=1000)
        asked = np.array([np.arange(1000) % len(GAMMA), first, (first + rng.integers(1, 3, size=1000)) % 3])
        rows = drawn(truth, asked, rng)
        p_values.append(
            [fitted(hja.BTLModel, rows[:end]).head_to_head("0", "1").p_value for end in range(100, 1001, 100)]
        )
    p = np.array(p_values)
    for text, wrong in (
        ("once", p[:, -1] < 0.05),
        ("at every look", p.min(axis=1) < 0.05),
        ("at every look, level / 10", p.min(axis=1) < 0.005),
    ):
        print(f"  tested {text}: {wrong.mean():.3f} ± {np.sqrt(wrong.mean() * (1 - wrong.mean()) / n):.3f}", flush=True)


def weighted(n: int) -> None:
    """BTL where judges have tastes: a fifth of each round at random, the rest by the plan; the target is that of random ones."""
    cells = [(k, i, j) for k in range(len(GAMMA)) for i in range(N_ITEMS) for j in range(N_ITEMS) if i != j]
    errors: dict[str, list[np.ndarray]] = {"all at random": [], "by the plan": [], "by the plan, weighted": []}
    for seed in range(n):
        rng = np.random.default_rng([seed, 63])
        truth = scores(rng, 0.6)
        everything = pd.DataFrame(np.array(cells), columns=["judge", "first", "second"])
        judge, first, second = np.array(cells).T
        everything["outcome"] = expit(truth[judge, first] - truth[judge, second])
        target = fitted(hja.BTLModel, everything).fit.parts.mu
        rows, chance = drawn(truth, uniform(rng, FIRST), rng), np.full(FIRST, 1.0 / len(cells))
        for _ in range(N_ROUNDS):
            plan = planned(rows, ROUND, "places", rng)
            keys = pd.MultiIndex.from_arrays(plan)
            asked = np.where(rng.random(ROUND) < 0.2, uniform(rng, ROUND), plan[:, rng.integers(ROUND, size=ROUND)])
            share = keys.value_counts().reindex(pd.MultiIndex.from_arrays(asked), fill_value=0).to_numpy() / ROUND
            rows = pd.concat([rows, drawn(truth, asked, rng)], ignore_index=True)
            chance = np.append(chance, 0.2 / len(cells) + 0.8 * share)
        rest = pd.concat([rows[:FIRST], drawn(truth, uniform(rng, N_ROUNDS * ROUND), rng)], ignore_index=True)
        weight = 1.0 / (chance * len(cells))
        for name, result in zip(
            errors,
            (fitted(hja.BTLModel, rest), fitted(hja.BTLModel, rows), fitted(hja.BTLModel, rows, weight)),
            strict=True,
        ):
            errors[name].append(result.fit.parts.mu - target)
    for name, found in errors.items():
        size = np.sqrt(np.mean(np.square(found), axis=1))
        print(
            f"  {name}: root mean square error of scores {size.mean():.3f} ± {size.std() / np.sqrt(n):.3f}", flush=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=240)
    n = parser.parse_args().replications
    warnings.simplefilter("ignore")
    limits.DRAWS = 10_000
    print("coverage after five rounds of 100 verdicts, 600 to begin with, 6 judges, 8 items")
    coverage(n)
    print("equal items said to differ")
    looks(n)
    print("weights of one over the chance to be asked, where the model leaves out tastes")
    weighted(n)


if __name__ == "__main__":
    main()
