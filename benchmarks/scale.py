"""Time and memory against rows, judges, items and rank: ``python benchmarks/scale.py [curves] [large]``.

Every line is a process of its own, so that its peak memory is its own. Simulated verdicts on random pairs; seconds from read
comparisons to an estimate, from there to three contrasts, and on to the consensus with standard errors. Writes results/scale.json.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
import warnings

import numpy as np
from recording import record

import hjastats as hja
from hjastats.simulation import heterogeneous_panel

BASE = {"rows": 100_000, "judges": 10, "items": 100, "rank": 1}
CURVES = {
    "rows": (30_000, 100_000, 300_000, 1_000_000),
    "judges": (5, 20, 80, 320),
    "items": (50, 100, 200, 400, 800),
    "rank": (-1, 0, 1, 2, 3),
}
# Cells at fixed judges and items: all pairs of 400 items by 20 judges are 1.6 million cells.
CELLS = [{"rows": rows, "judges": 20, "items": 400, "rank": 1} for rows in (100_000, 200_000, 400_000, 800_000)]
LARGE = [
    {"rows": 2_000_000, "judges": 200, "items": 1000, "rank": 3},
    {"rows": 60_000, "judges": 2000, "items": 60, "rank": 1, "ridge": 0.1},
    {"rows": 500_000, "judges": 20, "items": 5000, "rank": -1},
    {"rows": 500_000, "judges": 20, "items": 5000, "rank": 0},
    {"rows": 500_000, "judges": 20, "items": 5000, "rank": 1},
    {"rows": 2_000_000, "judges": 20, "items": 20_000, "rank": 1, "table": False},
]


def simulated(rows: int, judges: int, items: int, rank: int) -> hja.Comparisons:
    rng = np.random.default_rng([rows, judges, items])
    scores = 0.3 * heterogeneous_panel(judges, items, max(rank, 0), heterogeneity=0.5, rng=rng).scores
    judge, first = rng.integers(judges, size=rows), rng.integers(items, size=rows)
    second = (first + rng.integers(1, items, size=rows)) % items
    wins = rng.random(rows) < 1.0 / (1.0 + np.exp(scores[judge, second] - scores[judge, first]))
    judge_names, item_names = (
        np.array([f"{kind}-{i:05d}" for i in range(n)]) for kind, n in (("judge", judges), ("item", items))
    )
    return hja.Comparisons.from_arrays(judge_names[judge], item_names[first], item_names[second], wins.astype(float))


def one(
    rows: int, judges: int, items: int, rank: int, ridge: float | None = None, table: bool = True
) -> dict[str, object]:
    warnings.simplefilter("ignore")
    data = simulated(rows, judges, items, rank)
    start = time.perf_counter()
    model = hja.BTLModel.from_comparisons(data) if rank < 0 else hja.HJAModel.from_comparisons(data, rank=rank)
    result = model.fit() if ridge is None else model.fit_regularized(alpha=ridge)
    fitted = time.perf_counter()
    first, second, *_ = model.items
    contrasts = result.contrast([f"mu[{first}] - mu[{second}]", f"S[{model.judges[0]}, {first}]", f"mu[{first}]"])
    asked = time.perf_counter()
    peak = _peak()
    errors = result.consensus.to_numpy() if table else contrasts.std_err
    done = time.perf_counter()
    return {
        "cells": len(model.design.n),
        "parameters": int(model.k_params_free),
        "fit": fitted - start,
        "contrasts": asked - fitted,
        "errors": done - asked,
        "peak_before_errors": peak,
        "peak": _peak(),
        "converged": bool(result.converged and np.isfinite(errors).all()),
    }


def _peak() -> float:
    """Largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_a_process(options: dict[str, float]) -> dict[str, object]:
    text = subprocess.run(
        [sys.executable, __file__, "--one", json.dumps(options)], check=True, capture_output=True, text=True
    ).stdout
    return options | json.loads(text.splitlines()[-1])


def show(row: dict[str, object]) -> None:
    name = {-1: "BTL", 0: "JA"}.get(int(row["rank"]), f"HJA({row['rank']})") + (" ridge" if row.get("ridge") else "")
    print(
        f"  {name:10s} {row['rows']:>10,} rows {row['cells']:>10,} cells {row['judges']:>5} judges {row['items']:>5} items "
        f"{row['parameters']:>6} parameters  {row['fit']:8.2f} s  {row['contrasts']:7.2f} s  {row['errors']:7.2f} s  "
        f"{row['peak_before_errors']:6.0f} MB  {row['peak']:6.0f} MB" + ("" if row["converged"] else "  not converged"),
        flush=True,
    )


def growth(rows: list[dict[str, object]], by: str) -> float:
    """Exponent of the time of a fit with its standard errors as a power of something."""
    x, seconds = [np.log([float(row[key]) for row in rows]) for key in (by, "total")]
    return float(np.polyfit(x, seconds, 1)[0])


def main() -> None:
    wanted = sys.argv[1:] or ["curves", "large"]
    results: dict[str, object] = {"growth": {}}
    print(
        "model, size, seconds of the fit, of three contrasts, of the consensus with standard errors, peak memory before and after"
    )
    tasks = {}
    if "curves" in wanted:
        tasks |= {name: [BASE | {name: value} for value in values] for name, values in CURVES.items()}
        tasks["cells"] = CELLS
    if "large" in wanted:
        tasks["large"] = LARGE
    for name, options in tasks.items():
        print(name)
        rows = results[name] = []
        for option in options:
            row = in_a_process(option)
            row["total"] = float(row["fit"]) + float(row["errors"])
            rows.append(row)
            show(row)
        if name in ("rows", "cells", "judges", "items"):
            power = results["growth"][name] = growth(rows, name)
            print(f"  time grows like {name} to the power {power:.2f}")
    record("scale", results)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(one(**json.loads(sys.argv[2]))))
    else:
        main()
