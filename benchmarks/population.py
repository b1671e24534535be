"""Judges as a sample against fixed judges: held-out log-loss on four data sets, speed, coverage.

    python benchmarks/population.py heldout [llmfao mtbench cems germanparties]
    python benchmarks/population.py speed
    python benchmarks/population.py coverage 500     (so many panels; intervals of fixed panels beside)
    python benchmarks/population.py tmb [CppAD]      (R with TMB; processor time, by turns)
    python benchmarks/population.py cluster 100000   (so many judges on a local dask cluster, and in one process)

    python benchmarks/population.py heldout llmfao fixed(1)     (only labels that contain the last word)

Data and folds as in ``../shared/reference/folds.py``; fixed judges have every ridge of a list, and the best of them is shown.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import gettempdir

import joblib
import numpy as np
import pandas as pd

import hjastats as hja

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.claims import population as panels

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
# Of automatic differentiation, TMB's default of version 1.9.2 first.
FRAMEWORKS = ("CppAD", "TMBad")
RIDGES = (0.05, 0.1, 0.2, 0.5, 1.0)


def _llmfao() -> pd.DataFrame:
    d = pd.read_csv(DATA / "llmfao/crowd-comparisons.csv")
    d = d[d.winner.isin(["left", "right", "tie"])]
    y = d.winner.map({"left": 1.0, "right": 0.0, "tie": 0.5})
    return pd.DataFrame({"judge": d.worker, "first": d.left, "second": d.right, "y": y})


def _mtbench() -> pd.DataFrame:
    d = pd.read_csv(DATA / "mtbench_human/verdicts.csv")
    d = d[~d.judge.str.contains("gpt") & d.winner.isin(["model_a", "model_b"])]
    return pd.DataFrame({"judge": d.judge, "first": d.model_a, "second": d.model_b, "y": (d.winner == "model_a") * 1.0})


def _cems() -> pd.DataFrame:
    d = pd.read_csv(DATA / "cems_students/verdicts.csv").dropna()
    y = d.winner.map({"item_a": 1.0, "item_b": 0.0}).fillna(0.5)
    return pd.DataFrame({"judge": d.judge, "first": d.item_a, "second": d.item_b, "y": y})


def _germanparties() -> pd.DataFrame:
    d = pd.read_csv(DATA / "r/cv_germanparties.csv", keep_default_na=False)
    return pd.DataFrame({"judge": d.judge, "first": d["first"], "second": d["second"], "y": d.y, "fold": d.fold})


# Data, ranks of the population, further fixed ranks, number of folds, position.
SETS: dict[str, tuple[Callable[[], pd.DataFrame], tuple[int, ...], int, int, str | None]] = {
    "mtbench": (_mtbench, (0, 1), 1, 3, "judge"),
    "germanparties": (_germanparties, (0, 1, 2), 4, 5, None),
    "llmfao": (_llmfao, (0, 1), 1, 5, "judge"),
    "cems": (_cems, (0, 1, 2), 3, 3, "judge"),
}


def loss(p: np.ndarray, y: np.ndarray) -> float:
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return float(-np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)))


def comparisons(rows: pd.DataFrame) -> hja.Comparisons:
    return hja.Comparisons.from_arrays(
        rows.judge.astype(str).tolist(), rows["first"].tolist(), rows["second"].tolist(), rows.y.to_numpy(float)
    )


def predicted(result: hja.HJAResults, test: pd.DataFrame, known: np.ndarray) -> np.ndarray:
    """Of known judges; of others that of a new one, or of the average judge of a fixed panel."""
    p = np.full(len(test), np.nan)
    pair = {"item_a": test["first"].to_numpy(), "item_b": test["second"].to_numpy()}
    if known.any():
        some = {name: values[known] for name, values in pair.items()}
        p[known] = result.predict(judge=test.judge.astype(str).to_numpy()[known], **some)
    if not known.all():
        others = {name: values[~known] for name, values in pair.items()}
        if isinstance(result, hja.PopulationResults):
            p[~known] = result.predict(**others)
        else:
            mu = result.consensus["estimate"]
            position = result.position["estimate"].mean() if len(result.position) else 0.0
            gap = mu[others["item_a"]].to_numpy() - mu[others["item_b"]].to_numpy() + position
            p[~known] = 1.0 / (1.0 + np.exp(-gap))
    return p


def candidates(
    ranks: tuple[int, ...], highest: int, position: str | None
) -> dict[str, Callable[[hja.Comparisons], hja.HJAResults]]:
    """What is compared, under its label."""

    def population(data: hja.Comparisons, rank: int, taste: bool = False) -> hja.HJAResults:
        model = hja.PopulationHJAModel.from_comparisons(data, rank=rank, position=position, taste=taste)
        return model.fit(warn_convergence=False)

    def fixed(data: hja.Comparisons, rank: int, alpha: float, terms: bool) -> hja.HJAResults:
        model = hja.HJAModel.from_comparisons(data, rank=rank, position=position)
        return model.fit_regularized(alpha, terms=terms, warn_convergence=False)

    def pooled(data: hja.Comparisons) -> hja.HJAResults:
        return hja.BTLModel.from_comparisons(data, position=position and "common").fit(warn_convergence=False)

    fits: dict[str, Callable[[hja.Comparisons], hja.HJAResults]] = {"BTL": pooled}
    fits |= {f"population({r})": partial(population, rank=r) for r in ranks}
    fits |= {f"taste({r})": partial(population, rank=r, taste=True) for r in ranks[:2]}
    for r, terms, alpha in product(range(highest + 1), (False, True) if position else (False,), RIDGES):
        label = f"fixed({r}) ridge {alpha}" + (" with terms" if terms else "")
        fits[label] = partial(fixed, rank=r, alpha=alpha, terms=terms)
    return fits


def heldout(names: list[str]) -> None:
    wanted = [word for word in names if word not in SETS]
    for name in [word for word in names if word in SETS] or list(SETS):
        load, ranks, highest, n_folds, position = SETS[name]
        data = load().reset_index(drop=True)
        fold = data.fold.to_numpy() if "fold" in data else np.random.default_rng(1).integers(0, 5, len(data))
        for label, make in candidates(ranks, highest, position).items():
            if wanted and not any(word in label for word in wanted):
                continue
            start, losses = time.process_time(), []
            for f in range(n_folds):
                train, test = data[fold != f], data[fold == f]
                result = make(comparisons(train))
                known = test.judge.astype(str).isin(train.judge.astype(str)).to_numpy()
                losses.append(loss(predicted(result, test, known), test.y.to_numpy(float)))
            print(
                f"{name:14s} {label:30s} log-loss {np.mean(losses):.4f}  {time.process_time() - start:.0f} s",
                flush=True,
            )


def many_judges(n_judges: int, n_each: int = 20, n_items: int = 50, seed: int = 0) -> hja.Comparisons:
    """Judges with a sensitivity and one taste, drawn from a population."""
    rng = np.random.default_rng(seed)
    mu, taste = rng.standard_normal(n_items), 0.8 * rng.standard_normal(n_items)
    gamma, loading = 1.0 + 0.4 * rng.standard_normal(n_judges), rng.standard_normal(n_judges)
    k, n = np.repeat(np.arange(n_judges), n_each), n_judges * n_each
    a = rng.integers(0, n_items, n)
    b = (a + 1 + rng.integers(0, n_items - 1, n)) % n_items
    odds = gamma[k] * (mu[a] - mu[b]) + loading[k] * (taste[a] - taste[b])
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-odds))).astype(float)
    labels = [np.char.add(prefix, code.astype(str)) for prefix, code in (("j", k), ("i", a), ("i", b))]
    return hja.Comparisons.from_arrays(*labels, y)


def gles() -> hja.Comparisons:
    """Grades as wins and halves: 1 and 2 are for the first item, 3 is a tie."""
    d = pd.read_csv(DATA / "gles_graded/verdicts.csv").dropna()
    y = d.response.map({1: 1.0, 2: 1.0, 3: 0.5, 4: 0.0, 5: 0.0})
    return hja.Comparisons.from_arrays(d.judge.tolist(), d.item_a.tolist(), d.item_b.tolist(), y.to_numpy(float))


def speed() -> None:
    for label, data in (
        ("German parties", comparisons(_germanparties())),
        ("gles_graded", gles()),
        ("20,000 judges", many_judges(20_000)),
    ):
        model = hja.PopulationHJAModel.from_comparisons(data, rank=1)
        wall, cpu = time.perf_counter(), time.process_time()
        result = model.fit()
        _ = result.bse
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(
            f"{label:16s} {len(model.judges):6,d} judges, rank 1 with errors: {cpu:.1f} s of CPU, {wall:.1f} s; peak "
            f"{memory:.2f} GB; "
            f"log-likelihood {result.llf:.3f}, converged {result.converged}",
            flush=True,
        )


def cluster(n_judges: str = "100000") -> None:
    from distributed import Client

    found = {}
    for taste, n in ((False, int(n_judges)), (True, int(n_judges) // 50)):
        model = hja.PopulationHJAModel.from_comparisons(many_judges(n, n_each=10, n_items=10), taste=taste)
        for where in ("one process", "dask"):
            wall, cpu = time.perf_counter(), time.process_time()
            if where == "dask":
                with (
                    Client(n_workers=2, threads_per_worker=1, dashboard_address=None),
                    joblib.parallel_config("dask"),
                ):
                    found[where] = model.fit(n_random=0)
            else:
                found[where] = model.fit(n_random=0)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            print(
                f"{n:,d} judges, {model.layout.description:28s} {where:12s} {wall:5.0f} s, {cpu:5.0f} s of CPU here",
                flush=True,
            )
        one, other = found["one process"], found["dask"]
        print(
            f"log-likelihoods {one.llf:.6f} and {other.llf:.6f}, parameters differ by "
            f"{np.abs(one.params - other.params).max():.1e}, errors by {np.abs(one.bse - other.bse).max():.1e}",
            flush=True,
        )


def covered_by_all(seed: int) -> dict[str, tuple[float, float]]:
    """Intervals of one panel that hold the truth, of how many: those of a population, and of models with fixed judges."""
    data = panels.draw(np.random.default_rng(seed))
    result = hja.PopulationHJAModel.from_comparisons(data).fit(warn_convergence=False)
    told = {
        "population: differences of mu": panels.differences(result),
        "population: sd of sensitivity": panels.spread_of(result),
        "population: new judge's probability": panels.probability_of(result),
        "population: share of judges": panels.share_of(result),
        "fixed BTL: differences of mu": panels.differences(hja.BTLModel.from_comparisons(data).fit()),
    }
    clustered = hja.BTLModel.from_comparisons(data).fit(cov_type="cluster", cov_kwds={"groups": "judge"})
    told["fixed BTL, clustered by judge: differences of mu"] = panels.differences(clustered)
    ridge = hja.JAModel.from_comparisons(data).fit_regularized(0.2, warn_convergence=False)
    try:
        told["fixed JA, ridge 0.2: differences of mu"] = panels.differences(ridge)
    except hja.CovarianceError:
        told["fixed JA, ridge 0.2: errors withheld"] = (1.0, 1.0)
    return told


def coverage(n: str) -> None:
    """60 judges with 15 verdicts each on 8 items, drawn anew n times."""
    total: dict[str, np.ndarray] = {}
    for seed in range(int(n)):
        for name, (inside, known) in covered_by_all(seed).items():
            share = inside / max(known, 1.0)
            total[name] = total.get(name, np.zeros(3)) + np.array([share, known > 0, share**2])
    for name, (inside, panels_known, squares) in total.items():
        share = inside / panels_known
        error = np.sqrt(max(squares / panels_known - share**2, 0.0) / panels_known)
        print(f"{name:50s} {share:.3f} +- {error:.3f} of {panels_known:.0f} panels", flush=True)


def tmb(*frameworks: str, turns: int = 5) -> None:
    """German parties by R's TMB and by us, in turns: the best processor time of each with errors, after compilation."""
    frameworks = frameworks or FRAMEWORKS
    scripts, table = DATA.parent / "oracles" / "r" / "scripts", DATA / "r" / "cv_germanparties.csv"
    model = hja.PopulationHJAModel.from_comparisons(comparisons(_germanparties()))
    # As TMB does: one node, one start. Then with the nodes of the default, and with its further starts.
    ours: dict[str, dict[str, int | None]] = {
        "one node, one start": {"n_quadrature": 1, "n_random": 0},
        "default nodes, one start": {"n_random": 0},
        "default": {},
    }
    seconds: dict[tuple[int, str], list[float]] = {}
    for _, framework in product(range(turns), frameworks):
        # Where it stays compiled.
        folder = Path(gettempdir()) / "hjastats-tmb" / framework
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(scripts / "btre.cpp", folder)
        command = ["Rscript", Path(__file__).with_name("tmb_judges.R"), folder, table, "2", framework]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        for mode, spent, _loglike in (line.split() for line in lines if line[:1] in ("1", "4")):
            seconds.setdefault((int(mode == "4"), f"TMB {framework}"), []).append(float(spent))
        for rank, (label, how) in product((0, 1), ours.items()):
            start = time.process_time()
            _ = model.with_rank(rank).fit(**how, warn_convergence=False).bse  # type: ignore[arg-type]
            seconds.setdefault((rank, label), []).append(time.process_time() - start)
    for (rank, label), spent in sorted(seconds.items()):
        best = {framework: min(seconds[rank, f"TMB {framework}"]) / min(spent) for framework in frameworks}
        middle = {
            framework: np.median(seconds[rank, f"TMB {framework}"]) / np.median(spent) for framework in frameworks
        }
        ratios = ", ".join(f"{name} {best[name]:.1f} (medians {middle[name]:.1f})" for name in frameworks)
        print(f"rank {rank} {label:26s} best {1e3 * min(spent):5.0f} ms, as fast as TMB times: {ratios}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    task, *rest = sys.argv[1:] or ["heldout"]
    if task == "heldout":
        heldout(rest)
    else:
        {"speed": speed, "tmb": tmb, "coverage": coverage, "cluster": cluster}[task](*rest)
