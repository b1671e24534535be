"""Graded verdicts: what grades are worth beside soft codes, on drawn and on real data, and what they cost.

``python benchmarks/graded.py`` prints intervals of expected grades on drawn data, held-out log-scores on GLES and
WMT13, and the time of an ordinal HJA(1) beside a binary one on the same cells.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import xlogy

import hjastats as hja
from benchmarks.claims.graded import PAIRS, ROWS, SCALES, drawn, expected_grades, graded, softened
from hjastats.data.comparisons import Comparisons

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def intervals(n: int = 200) -> pd.DataFrame:
    """Coverage and width of 95% intervals of expected grades: thresholds, and soft codes with HC0."""
    told = {}
    for scale in SCALES:
        sums = np.zeros((2, 2))
        for seed in range(n):
            data = drawn(np.random.default_rng([seed, 25]), scale)
            for k, result in enumerate((graded(data), softened(data))):
                frame = result.get_prediction(**PAIRS).summary_frame()
                lower, upper = frame["ci_lower"].to_numpy(), frame["ci_upper"].to_numpy()
                truth = expected_grades(scale)
                sums[k] += np.mean((lower <= truth) & (truth <= upper)), np.mean(upper - lower)
        (here, width), (soft, wide) = sums / n
        told[scale] = {"coverage": here, "coverage (soft codes)": soft, "ratio of widths": width / wide}
    return pd.DataFrame(told).T


def held_out(data: Comparisons, name: str, n_folds: int = 5) -> pd.DataFrame:
    """Mean log-score of held-out grades by BTL: ordinal, adjacent, Davidson on three grades spread by overall shares, soft codes.

    Soft codes say nothing of grades. Their log-score is that of a binary verdict with the grade as its share; beside it stands the
    same of the expected grades of the ordinal fit.
    """
    fold = np.random.default_rng(0).integers(n_folds, size=data.n_rows)
    grades, frame = np.unique(data.outcome), data.to_frame()[["judge", "first", "second"]]
    scores: dict[str, list[float]] = {}

    def note(of: str, values: np.ndarray) -> None:
        scores.setdefault(of, []).append(float(values.sum()))

    for k in range(n_folds):
        seen, new = data.subset(fold != k), frame[fold == k].set_axis(["judge", "item_a", "item_b"], axis=1)
        outcome = data.outcome[fold == k]
        place = np.searchsorted(grades, outcome)
        where = {role: new[role].to_numpy() for role in ("item_a", "item_b")}
        for ties in ("ordinal", "adjacent"):
            result = hja.BTLModel.from_comparisons(seen, ties=ties, position="common").fit()
            chances = result.predict(**where, which="probs").to_numpy()[:, ::-1]
            note(f"{ties}: of the grade", np.log(chances[np.arange(len(place)), place]))
            note(f"{ties}: of the code", _of_code(chances @ grades, outcome))
        shares = np.array([np.mean(seen.outcome == grade) for grade in grades])
        note("shares alone: of the grade", np.log(shares)[place])
        soft = hja.BTLModel.from_comparisons(seen, position="common").fit()
        note("soft codes: of the code", _of_code(np.asarray(soft.predict(**where)), outcome))
        # Davidson's three outcomes, each spread over its grades as often as they were given.
        three = seen.with_outcome(np.where(seen.outcome == 0.5, 0.5, (seen.outcome > 0.5) * 1.0))
        davidson = hja.BTLModel.from_comparisons(three, ties="davidson", position="common").fit()
        coarse = davidson.predict(**where, which="probs").to_numpy()[:, ::-1]
        side = np.sign(grades - 0.5).astype(int) + 1
        within = shares / np.bincount(side, shares)[side]
        note("davidson and shares: of the grade", np.log((coarse[:, side] * within)[np.arange(len(place)), place]))
    return pd.DataFrame({name: {of: sum(values) / data.n_rows for of, values in scores.items()}})


def _of_code(mean: np.ndarray, outcome: np.ndarray) -> np.ndarray:
    return xlogy(outcome, mean) + xlogy(1.0 - outcome, 1.0 - mean)


def gles() -> Comparisons:
    """German parties on five points."""
    table = pd.read_csv(SHARED / "gles_graded" / "verdicts.csv").dropna()
    return hja.read_comparisons(table, outcome="response", codes={grade: (5 - grade) / 4 for grade in range(1, 6)})


def wmt13() -> Comparisons:
    """Pairs of five-way rankings, graded by how far apart they stand: 2 or more places, one, none."""
    table = pd.read_csv(SHARED / "wmt13_fren_rankings" / "rankings_long.csv")
    pairs = table.merge(table, on=["ranking", "judge"], suffixes=("_a", "_b")).query("shown_at_a < shown_at_b")
    steps = (pairs["rank_b"] - pairs["rank_a"]).clip(-2, 2)
    return Comparisons.from_arrays(pairs["judge"], pairs["system_a"], pairs["system_b"], (0.5 + steps / 4).to_numpy())


def times(n_rounds: int = 5) -> pd.DataFrame:
    """Processor seconds of HJA(1) with position effects, wins and losses or five grades on the same cells; medians."""
    told = {}
    for n_judges, n_items, n in ((6, 6, 4000), (10, 20, 8000), (10, 60, 20_000), (50, 20, 20_000)):
        rng = np.random.default_rng(1)
        scores = rng.uniform(0.6, 1.4, (n_judges, 1)) * rng.normal(size=n_items)
        scores += np.outer(0.6 * rng.normal(size=n_judges), rng.normal(size=n_items))
        judge, first = rng.integers(n_judges, size=n), rng.integers(n_items, size=n)
        second = (first + rng.integers(1, n_items, size=n)) % n_items
        noisy = scores[judge, first] - scores[judge, second] + rng.logistic(size=n)
        steps = np.sign(noisy) * (np.abs(noisy)[:, None] > [0.5, 2.0]).sum(axis=1)
        names = [[f"{letter}{k}" for k in codes] for letter, codes in zip("jii", (judge, first, second), strict=True)]
        row = {}
        for ties, outcome in (("half", (noisy > 0) * 1.0), ("ordinal", 0.5 + steps / 4)):
            model = hja.HJAModel.from_comparisons(
                Comparisons.from_arrays(*names, outcome), rank=1, ties=ties, position="judge"
            )
            row[ties] = float(np.median([_seconds(model) for _ in range(n_rounds)]))
        told[f"{n_judges} judges, {n_items} items, {n:,}"] = row | {"ratio": row["ordinal"] / row["half"]}
    return pd.DataFrame(told).T


def _seconds(model: hja.HJAModel) -> float:
    start = time.process_time()
    model.fit()
    return time.process_time() - start


def main() -> None:
    print(f"Expected grades of pairs, {ROWS:,} verdicts on five points\n{intervals().round(3)}\n")
    if SHARED.exists():
        print(f"Held-out log-score per verdict\n{held_out(gles(), 'GLES').join(held_out(wmt13(), 'WMT13')).round(4)}\n")
    print(f"Seconds of HJA(1)\n{times().round(3)}")


if __name__ == "__main__":
    main()
