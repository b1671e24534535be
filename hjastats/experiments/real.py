"""Real verdicts: prediction of held-out records, close pairs, and rankings under injected noise (tab:dataset_comparison)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd

from ..data.comparisons import Comparisons
from ..data.readers import read_comparisons
from ..model.decomposition import max_rank
from ..model.structures import LowRank
from ..models import BTLModel, HJAModel, JAModel
from ..results import HJAResults
from ..solve.validation import held_out_losses
from . import metrics

# Noisy judges in the paper's columns low, mid and high.
STEPS = {1: "low", 5: "mid", 10: "high"}
# Records of a noisy judge, in multiples of the mean judge: reproduces the printed BTL row on Chatbot Arena.
NOISE_VOLUME = 4.0
NEAR_TIE_PAIRS, NEAR_TIE_RECORDS = 20, 20
POSITIONS = {"": None, " + position": "judge"}


def tasks(files: list[str], seeds: int, steps: int, volume: float) -> list[dict[str, Any]]:
    """Held-out and robustness repetitions for every file."""
    parts: dict[str, dict[str, Any]] = {"held-out": {}, "robustness": {"steps": steps, "volume": volume}}
    return [
        {"part": part, "file": file, "seed": seed, **options}
        for part, options in parts.items()
        for file in files
        for seed in range(seeds)
    ]


def run(part: str, file: str, seed: int, steps: int = 0, volume: float = 0.0) -> list[dict[str, Any]]:
    """One repetition of one part of the table."""
    data = read_comparisons(file)
    rng = np.random.default_rng([seed, 2026])
    return held_out(data, rng) if part == "held-out" else robustness(data, rng, steps, volume)


def fits(data: Comparisons, rng: np.random.Generator) -> dict[str, HJAResults]:
    """The three methods, each without and with position effects; HJA with the rank of a 5-fold cross-validation."""
    results = {}
    for suffix, position in POSITIONS.items():
        results[f"BTL{suffix}"] = BTLModel.from_comparisons(data, position=position).fit(warn_convergence=False)
        results[f"JA{suffix}"] = JAModel.from_comparisons(data, position=position).fit(warn_convergence=False)
        model = HJAModel.from_comparisons(data, rank=0, position=position)
        rank = cross_validated_rank(model, rng)
        results[f"HJA{suffix}"] = (
            results[f"JA{suffix}"] if rank == 0 else model.with_rank(rank).fit(warn_convergence=False)
        )
    return results


def cross_validated_rank(model: HJAModel, rng: np.random.Generator) -> int:
    """The rank with the smallest held-out loss; ranks are tried upwards until two in a row do not improve."""
    ranks = range(max_rank(len(model.judges), len(model.items)) + 1)
    structures = [LowRank(rank) for rank in ranks]
    return int(held_out_losses(model.folds(None, 5, rng), structures, patience=2).loss.mean(axis=1).argmin())


def held_out(data: Comparisons, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Fit 80% of the records, predict the others."""
    train_rows, test_rows = _split(data.n_rows, rng)
    train, test = data.subset(train_rows), data.subset(test_rows)
    slices = near_ties(train, test)
    rows = []
    for method, result in fits(train, rng).items():
        p = _predict(result, test)
        row = {"method": method, "rank": int(result.model.rank), "exists": float(result.converged)}
        rows.append(
            row | _quality(p, test.outcome) | {name: _accuracy(p[s], test.outcome[s]) for name, s in slices.items()}
        )
    return rows


def _split(n_rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    order = rng.permutation(n_rows)
    n_train = round(0.8 * n_rows)
    return np.sort(order[:n_train]), np.sort(order[n_train:])


def _predict(result: HJAResults, test: Comparisons) -> np.ndarray:
    """Probability that the first item of every test record is preferred; labels are matched by name."""
    frame = test.to_frame()
    return np.asarray(result.predict(frame[["judge", "first", "second"]]))


def _quality(p: np.ndarray, outcome: np.ndarray) -> dict[str, float]:
    decided = outcome != 0.5
    return {
        # A tie is never predicted: with it the printed numbers are reproduced.
        "accuracy": float(np.mean((p > 0.5) & (outcome == 1.0) | (p < 0.5) & (outcome == 0.0))),
        "decided accuracy": _accuracy(p[decided], outcome[decided]),
        "log-loss": metrics.log_loss(p, outcome),
        "calibration error": metrics.calibration_error(p, outcome),
    }


def _accuracy(p: np.ndarray, outcome: np.ndarray) -> float:
    return float(np.mean((p > 0.5) == (outcome > 0.5))) if len(p) else float("nan")


def near_ties(train: Comparisons, test: Comparisons) -> dict[str, np.ndarray]:
    """Decided test records of the pairs closest to even in the training data, in thirds."""
    # Items are in the order of their names, so that the first of a pair is the same in both parts.
    share = np.where(train.first_index < train.second_index, train.outcome, 1.0 - train.outcome)
    pairs = pd.Series(share, _pairs(train)).groupby(level=["low", "high"]).agg(["mean", "size"])
    pairs = pairs[pairs["size"] >= NEAR_TIE_RECORDS]
    distance = (pairs["mean"] - 0.5).abs().sort_values(kind="stable").head(NEAR_TIE_PAIRS)
    thirds = np.array_split(np.arange(len(distance)), 3)
    return {
        name: np.flatnonzero(_pairs(test).isin(distance.index[third]) & (test.outcome != 0.5))
        for name, third in zip(("closest", "middle", "farthest"), thirds, strict=True)
    }


def _pairs(data: Comparisons) -> pd.MultiIndex:
    """The two items of every record, whichever was shown first."""
    frame = data.to_frame()
    low, high = np.minimum(frame["first"], frame["second"]), np.maximum(frame["first"], frame["second"])
    return pd.MultiIndex.from_arrays([low, high], names=["low", "high"])


def robustness(data: Comparisons, rng: np.random.Generator, steps: int, volume: float) -> list[dict[str, Any]]:
    """Share of items that keep their place as noisy judges are added one after another."""
    start = time.perf_counter()
    base = {method: result.fit.at.scores.mean(axis=0) for method, result in fits(data, rng).items()}
    rows, noisy = [], data
    for step in range(1, steps + 1):
        noisy = with_noisy_judge(noisy, f"noisy judge {step}", round(volume * data.n_rows / data.n_judges), rng)
        for method, result in fits(noisy, rng).items():
            consensus = result.fit.at.scores.mean(axis=0)
            kept = metrics.same_places(consensus, base[method])
            rows.append({"step": step, "method": method, "rank": int(result.model.rank), "same places": kept})
    seconds = time.perf_counter() - start
    return [row | {"seconds": seconds} for row in rows]


def with_noisy_judge(data: Comparisons, name: str, n_records: int, rng: np.random.Generator) -> Comparisons:
    """Add a judge who compares random pairs and tosses a coin."""
    items = np.asarray(data.items, dtype=object)
    first = rng.integers(data.n_items, size=n_records)
    second = (first + rng.integers(1, data.n_items, size=n_records)) % data.n_items
    coins = rng.integers(2, size=n_records)
    noise = pd.DataFrame(
        {"judge": name, "first": items[first], "second": items[second], "outcome": coins, "weight": 1.0}
    )
    frame = pd.concat([data.to_frame()[noise.columns], noise], ignore_index=True)
    columns = (frame[name] for name in ("judge", "first", "second", "outcome", "weight"))
    return Comparisons.from_arrays(*columns, counts=False)
