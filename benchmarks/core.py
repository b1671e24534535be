"""Time of the core fits beside statsmodels' GLM, measured in one run: ``python benchmarks/core.py``.

Each of our rows is the whole user-visible work: building the model from read comparisons, all starts, covariance. The GLM row is
pooled Bradley-Terry-Luce on the same cells with its design matrix already built. Rounds are interleaved, so that a slow moment
of the machine hits all rows alike; medians are printed with their ratio to the GLM.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import statsmodels.api as sm

import hjastats as hja
from hjastats.data.cells import Cells

ROUNDS = 25
REAL_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def glm(cells: Cells) -> Callable[[], object]:
    design = np.zeros((len(cells.n), cells.n_items))
    rows = np.arange(len(cells.n))
    design[rows, cells.first], design[rows, cells.second] = 1.0, -1.0
    wins = np.column_stack([cells.y, cells.n - cells.y])
    return lambda: sm.GLM(wins, design[:, 1:], family=sm.families.Binomial()).fit().bse


def fits(data: hja.Comparisons) -> dict[str, Callable[[], object]]:
    tasks: dict[str, Callable[[], object]] = {
        "statsmodels GLM (BTL)": glm(data.cells),
        "BTL": lambda: hja.BTLModel.from_comparisons(data).fit().bse,
        "JA": lambda: hja.JAModel.from_comparisons(data).fit().bse,
        "HJA(1)": lambda: hja.HJAModel.from_comparisons(data, rank=1).fit().bse,
        "HJA(2)": lambda: hja.HJAModel.from_comparisons(data, rank=2).fit().bse,
        "JA + position": lambda: hja.JAModel.from_comparisons(data, position="judge").fit().bse,
        "JA + ties per judge": lambda: hja.JAModel.from_comparisons(data, ties="davidson", tie="judge").fit().bse,
    }
    if not (data.outcome == 0.5).any():
        del tasks["JA + ties per judge"]
    return tasks


def measure(tasks: dict[str, Callable[[], object]]) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for round_number in range(ROUNDS + 1):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            if round_number:  # the first round warms up
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    sources = {
        path.stem: path for path in (REAL_DATA / "chatbot_arena.json", REAL_DATA / "mtbench.json") if path.exists()
    }
    if not sources:
        print("shared/data is not beside the checkout: only the embedded panel is measured.")
    panels = {"embedded panel": hja.datasets.load_panel()}
    panels |= {name: hja.read_comparisons(path) for name, path in sources.items()}
    warnings.simplefilter("ignore")
    for name, data in panels.items():
        print(f"\n{name}: {data.n_judges} judges, {data.n_items} items, {len(data.cells.n)} cells")
        medians = measure(fits(data))
        reference = medians["statsmodels GLM (BTL)"]
        for label, value in medians.items():
            print(f"  {label:24s}{1e3 * value:9.2f} ms {value / reference:8.2f} x GLM")


if __name__ == "__main__":
    main()
