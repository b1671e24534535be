"""A crowd of light judges, three models, one script: ``python benchmarks/light_judges.py``.

126 judges, most with about twenty verdicts on 59 items. Prints the time of each fit with everything that was said about it.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import pandas as pd

import hjastats as hja

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "llmfao"


def main() -> None:
    if not FOLDER.exists():
        print("the crowd data (llmfao) are not here: nothing to measure")
        return
    parts = [pd.read_csv(FOLDER / "crowd-comparisons.csv")]
    parts += [pd.read_csv(FOLDER / f"{name}-crowd-comparisons.csv").assign(worker=name) for name in ("gpt3", "gpt4")]
    crowd = hja.read_comparisons(pd.concat(parts).astype({"worker": str}), judge="worker")
    print(crowd)
    for name, fit in {
        "BTL": lambda: hja.BTLModel.from_comparisons(crowd).fit(),
        "JA": lambda: hja.JAModel.from_comparisons(crowd).fit(),
        "HJA(1) + position, ridge": lambda: hja.HJAModel.from_comparisons(
            crowd, rank=1, position="judge"
        ).fit_regularized(terms=True),
        "HJA(1) + position, light judges pooled": lambda: hja.HJAModel.from_comparisons(
            crowd.pool_rare_judges(60), rank=1, position="judge"
        ).fit_regularized(terms=True),
    }.items():
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            start = time.perf_counter()
            result = fit()
            elapsed = time.perf_counter() - start
        print(f"\n{name}: {elapsed:.2f} s, log-likelihood {result.llf:.1f}, converged {result.converged}")
        for warning in said:
            print(f"  {warning.category.__name__}: {warning.message}")


if __name__ == "__main__":
    main()
