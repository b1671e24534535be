"""Records with string labels to cells, beside bare group-bys of polars and pandas: ``python benchmarks/reading.py [n_rows]``.

Every row but the first two is the whole user-visible work, ``read_comparisons(source).cells``: columns found, equal verdicts
counted, labels understood and sorted, cells made. The first two are what polars and pandas alone need to count the same keys.
Rounds are interleaved, so that a slow moment of the machine hits all rows alike; the smallest and the median times are printed
with their ratio to polars. Writes results/reading.json.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

if missing := [name for name in ("duckdb", "polars", "pyarrow") if find_spec(name) is None]:
    sys.exit(print(f"not installed, nothing to read from: {', '.join(missing)}. They come with hjastats[peers]."))

import duckdb
import numpy as np
import polars as pl
from recording import record

import hjastats as hja

N_ROWS, N_JUDGES, N_ITEMS, ROUNDS = 10_000_000, 10, 100, 3
KEYS = ["judge", "model_a", "model_b", "winner"]


def records(n_rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    judges = pl.Series([f"judge-model-{k}" for k in range(N_JUDGES)])
    items = pl.Series([f"vendor/model-{k:03d}" for k in range(N_ITEMS)])
    labels = pl.Series(["model_a", "model_b", "tie"])
    first = rng.integers(N_ITEMS, size=n_rows)
    second = (first + rng.integers(1, N_ITEMS, size=n_rows)) % N_ITEMS
    codes = [(judges, rng.integers(N_JUDGES, size=n_rows)), (items, first), (items, second)]
    codes.append((labels, rng.choice(3, size=n_rows, p=[0.5, 0.4, 0.1])))
    return pl.DataFrame({key: names.gather(index) for key, (names, index) in zip(KEYS, codes, strict=True)})


def tasks(frame: pl.DataFrame, folder: Path) -> dict[str, Callable[[], object]]:
    frame.write_parquet(folder / "records.parquet")
    pandas, arrow = frame.to_pandas(), frame.to_arrow()
    objects = pandas.astype(object)
    sources = {
        "pandas, text columns": lambda: pandas,
        "pandas, object columns": lambda: objects,
        "polars": lambda: frame,
        "polars lazy": lambda: frame.lazy(),
        "parquet (polars)": lambda: folder / "records.parquet",
        "pyarrow": lambda: arrow,
        "duckdb on parquet": lambda: duckdb.read_parquet(str(folder / "records.parquet")),
    }
    work: dict[str, Callable[[], object]] = {
        "polars' own group-by": lambda: frame.group_by(KEYS).len(),
        "pandas' own group-by": lambda: pandas.groupby(KEYS, sort=False).size(),
    }
    for name, source in sources.items():
        work[name] = lambda source=source: hja.read_comparisons(source()).cells
    return work


def measure(work: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(ROUNDS):
        for name, task in work.items():
            start = time.perf_counter()
            task()
            times[name].append(time.perf_counter() - start)
    return times


def main(n_rows: int) -> None:
    frame = records(n_rows)
    with tempfile.TemporaryDirectory() as folder:
        times = measure(tasks(frame, Path(folder)))
    own, *_ = times.values()
    print(f"{n_rows:,} records, {frame.n_unique(KEYS):,} distinct, {ROUNDS} interleaved rounds")
    print(f"{'':26}{'smallest':>10}{'ratio':>8}{'median':>10}{'ratio':>8}")
    rows = []
    for name, values in times.items():
        least, middle = min(values), statistics.median(values)
        rows.append({"source": name, "n_rows": n_rows, "smallest": least, "median": middle})
        print(
            f"{name:26}{least:9.2f}s{least / min(own):8.2f}{middle:9.2f}s{middle / statistics.median(own):8.2f}",
            flush=True,
        )
    record("reading", rows)


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else N_ROWS)
