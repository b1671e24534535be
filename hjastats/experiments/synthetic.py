"""Simulations with a known truth: recovery of scores and ranking, coverage, rank selection, convergence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ..data.comparisons import Comparisons
from ..model.decomposition import Decomposition
from ..models import HJAModel
from ..selection import select_rank
from ..simulation import heterogeneous_panel, near_balanced_design, simulate_comparisons
from . import metrics
from .methods import PAPER_TAU, PAPER_TOLERANCE, Fitted, fitted

N_JUDGES, N_ITEMS, RANK = 4, 8, 1
SIZES = (400, 800, 1200, 1600, 2000, 2500, 3000)
HETEROGENEITY = (0.0, 0.5, 1.0, 2.0)
BIC_SIZES = (400, 800, 1600, 3200, 6400, 12800)
MEASURES = ("mse", "spearman", "ndcg", "coverage", "sign accuracy")
MAIN = ("HJA", "HJA ridge", "JA", "BTL", "BTL+SVD", "BTL+SVD ridge")
# Without re-anchoring, and every judge by itself with truncation.
ABLATED = ("HJA", "BTL+SVD", "BTL+SVD ridge", "HJA without re-anchoring")
# One direction too many against the models that are right or too small.
WITHOUT_DISAGREEMENT = ("HJA", "HJA ridge", "JA", "BTL")


def draw(n: int, h: float, seed: int, rank: int = RANK) -> tuple[Decomposition, Comparisons]:
    """True parameters and verdicts of one repetition."""
    rng = np.random.default_rng([seed, n, round(1000 * h), rank])
    truth = heterogeneous_panel(N_JUDGES, N_ITEMS, rank, h, rng=rng)
    return truth, simulate_comparisons(truth.scores, near_balanced_design(N_JUDGES, N_ITEMS, n, rng=rng), rng=rng)


def judged(estimate: Fitted | None, truth: Decomposition) -> dict[str, float]:
    """All measures of one fit; what depends on the size of scores is missing where there is no finite estimate."""
    if estimate is None:
        return {"exists": 0.0}
    row = {
        "exists": float(estimate.exists),
        "spearman": metrics.spearman(estimate.consensus, truth.mu),
        "ndcg": metrics.ndcg(estimate.consensus, truth.mu),
        "sign accuracy": metrics.sign_accuracy(estimate.scores, truth.scores),
    }
    if estimate.exists:
        row["mse"] = metrics.score_error(estimate.scores, truth.scores)
        if estimate.errors is not None:
            row["coverage"] = metrics.coverage(estimate.scores, estimate.errors, truth.scores)
    return row


def recovery_tasks(sizes: tuple[int, ...], levels: tuple[float, ...], seeds: int) -> list[dict[str, Any]]:
    """Sample sizes at heterogeneity 1, and heterogeneities at 800 comparisons."""
    tasks = [{"sweep": "n", "n": n, "h": 1.0, "seed": seed} for n in sizes for seed in range(seeds)]
    return tasks + [{"sweep": "h", "n": 800, "h": h, "seed": seed} for h in levels for seed in range(seeds)]


def run_recovery(
    sweep: str, n: int, h: float, seed: int, *, methods: tuple[str, ...], rank: int = RANK
) -> list[dict[str, Any]]:
    """Some methods on one panel of the main process, which may have another rank than they are told."""
    truth, data = draw(n, h, seed, rank)
    return [{"method": method} | judged(fitted(method, data, RANK), truth) for method in methods]


def bic_tasks(sizes: tuple[int, ...], seeds: int) -> list[dict[str, Any]]:
    """True ranks 0, 1 and 2 at growing sample sizes."""
    return [{"rank": rank, "n": n, "seed": seed} for rank in (0, 1, 2) for n in sizes for seed in range(seeds)]


def run_bic(rank: int, n: int, seed: int) -> list[dict[str, Any]]:
    """The ranks BIC and AIC choose."""
    _, data = draw(n, 1.0, seed, rank=rank)
    table = select_rank(data, ranks=range(4)).table.loc[list(range(4))]
    return [{name: float(table[name].to_numpy().argmin()) for name in ("bic", "aic")}]


def convergence_tasks(seeds: int) -> list[dict[str, Any]]:
    """Repetitions at 800 comparisons."""
    return [{"n": 800, "seed": seed} for seed in range(seeds)]


def run_convergence(n: int, seed: int) -> list[dict[str, Any]]:
    """Paths of the alternating algorithm, as in the paper and freed of its strong proximal pull, and of the default solver."""
    _, data = draw(n, 1.0, seed)
    model = HJAModel.from_comparisons(data, rank=RANK)
    best = model.fit(warn_convergence=False)
    if not best.converged:
        return []
    paths = {}
    for tau in (PAPER_TAU, 0.01):
        run = model.fit(method="alternating", warn_convergence=False, tau=tau, tolerance=PAPER_TOLERANCE)
        paths[f"alternating, tau = {tau:g}"] = list(run.mle_retvals["history"].values)
    single = model.fit(model.start_params, warn_convergence=False)
    paths["default (Newton)"] = list(single.mle_retvals["path"])
    return [
        {"solver": solver, "iterations": len(path) - 1, "path": path, "best": -best.llf}
        for solver, path in paths.items()
    ]


def averages(frame: pd.DataFrame, by: list[str], measures: tuple[str, ...] = MEASURES) -> pd.DataFrame:
    """Means and standard errors over repetitions, with the share of estimates that exist.

    The squared error of maximum likelihood has no mean when estimates can be infinite: its median stands beside it.
    """
    present = [measure for measure in measures if measure in frame]
    grouped = frame.groupby(by, sort=False)
    table = grouped[["exists"]].mean().assign(**{"median mse": grouped["mse"].median()})
    return table.join(grouped[present].mean()).join(grouped[present].sem().add_suffix(" se")).reset_index()


def paired_errors(frame: pd.DataFrame, method: str, other: str) -> pd.DataFrame:
    """Squared errors of two methods on the repetitions in which both have an estimate, with the paired difference."""
    by = ["sweep", "n", "h"]
    wide = frame.pivot_table(index=[*by, "seed"], columns="method", values="mse", sort=False)[[method, other]].dropna()
    wide["difference"] = wide[method] - wide[other]
    grouped = wide.groupby(level=by, sort=False)
    errors = grouped[["difference"]].sem().rename(columns={"difference": "standard error"})
    return grouped.mean().join(errors).join(grouped.size().rename("repetitions")).reset_index()
