"""Models of several judges beside R's gnm and the alternating algorithm, in one run: ``python benchmarks/judges.py [ROUNDS]``.

Each of our rows is the whole user-visible work: building the model from read comparisons, all starts, covariance. The others are
given less to do: one start of ``gnm`` on cells already counted, without covariance, and ``fit(method="alternating")`` from one
start. A start of theirs counts when its log-likelihood is within 1e-6 (relative) of ours. Everybody is timed in CPU seconds of one
thread, the best of several runs of the same work; gnm's random starts differ, and their median counts. Half of our rounds run
before R and half after it. R or gnm missing: their column is empty. Writes results/judges.json.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

# Before numpy: one thread for everybody, R among them.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from recording import record

import hjastats as hja

REAL_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
R_SCRIPT = Path(__file__).with_name("judges.R")
MODELS = ("JA", "HJA(1)", "HJA(2)")
ACCURACY = 1e-6
R_STARTS = 8

Times = dict[str, list[float]]


def model(data: hja.Comparisons, rank: int) -> hja.HJAModel:
    return hja.JAModel.from_comparisons(data) if rank == 0 else hja.HJAModel.from_comparisons(data, rank=rank)


def ours(data: hja.Comparisons, rank: int) -> float:
    result = model(data, rank).fit()
    return result.llf + 0.0 * float(result.bse.iloc[0])


def alternating(data: hja.Comparisons, rank: int) -> float:
    """The log-likelihood the algorithm reached by itself, before the Newton steps that polish it."""
    return -model(data, rank).fit(method="alternating").mle_retvals["history"].values[-1]


def measure(
    data: hja.Comparisons, run: Callable[[hja.Comparisons, int], float], rounds: int, into: Times
) -> list[float]:
    """CPU seconds of every model in turn, and the log-likelihoods reached."""
    reached = [run(data, rank) for rank in range(len(MODELS))]
    for _ in range(rounds):
        for rank, name in enumerate(MODELS):
            start = time.process_time()
            run(data, rank)
            into.setdefault(name, []).append(time.process_time() - start)
    return reached


def gnm_starts(data: hja.Comparisons) -> list[tuple[int, float, float]]:
    """Rank, CPU seconds and log-likelihood of every start of gnm; empty when it cannot be run."""
    if shutil.which("Rscript") is None:
        print("Rscript is not installed: gnm is left out.")
        return []
    cells = data.cells
    columns = np.column_stack([cells.judge + 1, cells.first + 1, cells.second + 1, cells.n, cells.y])
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "cells.csv"
        np.savetxt(table, columns, delimiter=",", header="judge,first,second,n,wins", comments="", fmt="%.17g")
        done = subprocess.run(["Rscript", str(R_SCRIPT), str(table), str(R_STARTS)], capture_output=True, text=True)
    if done.returncode:
        print(f"gnm is left out: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'R failed'}")
        return []
    fields = [line.split() for line in done.stdout.splitlines()]
    return [(int(rank), float(seconds), float(value.replace("NA", "nan"))) for rank, _, seconds, value in fields]


def compare(name: str, data: hja.Comparisons, rounds: int) -> list[dict[str, object]]:
    own: Times = {}
    reached = measure(data, ours, rounds, own)
    starts = gnm_starts(data)
    other: Times = {}
    alternating_reached = measure(data, alternating, max(rounds // 5, 2), other)
    measure(data, ours, rounds, own)
    rows = []
    for rank, label in enumerate(MODELS):
        good = [
            seconds
            for r, seconds, value in starts
            if r == rank and abs(value - reached[rank]) < ACCURACY * abs(reached[rank])
        ]
        mine = min(own[label])
        gap = (reached[rank] - alternating_reached[rank]) / abs(reached[rank])
        slow = min(other[label])
        rows.append(
            {
                "data": name,
                "model": label,
                "seconds": mine,
                "gnm_seconds": statistics.median(good) if good else None,
                "gnm_reached": f"{len(good)}/{sum(r == rank for r, _, _ in starts)}",
                "gnm_ratio": statistics.median(good) / mine if good else None,
                "alternating_seconds": slow,
                "alternating_gap": gap,
                "alternating_ratio": slow / mine,
            }
        )
    return rows


def shown(row: dict[str, object]) -> str:
    gnm = (
        "         -          -"
        if row["gnm_ratio"] is None
        else f"{1e3 * row['gnm_seconds']:10.1f} {row['gnm_ratio']:8.1f} x"
    )
    remark = (
        ""
        if abs(row["alternating_gap"]) < ACCURACY
        else f"  (another optimum or not converged: {row['alternating_gap']:.1e})"
    )
    return (
        f"  {row['model']:8s}{1e3 * row['seconds']:9.2f}{gnm}  {row['gnm_reached']:>6s}"
        f"{1e3 * row['alternating_seconds']:14.1f} {row['alternating_ratio']:8.1f} x{remark}"
    )


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    warnings.simplefilter("ignore")
    panels = {"embedded panel": hja.datasets.load_panel()}
    for path in (REAL_DATA / "chatbot_arena.json", REAL_DATA / "mtbench.json"):
        if path.exists():
            panels[path.stem] = hja.read_comparisons(path)
    if len(panels) == 1:
        print("shared/data is not beside the checkout: only the embedded panel is measured.")
    rows = []
    for name, data in panels.items():
        print(f"\n{name}: {data.n_judges} judges, {data.n_items} items, {len(data.cells.n)} cells; CPU milliseconds")
        print("             ours   gnm, one start   reached   alternating, one start")
        for row in compare(name, data, rounds):
            rows.append(row)
            print(shown(row))
    record("judges", rows)


if __name__ == "__main__":
    main()
