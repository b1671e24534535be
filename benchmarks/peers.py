"""Bradley-Terry-Luce from records to scores, beside other packages in one run: ``python benchmarks/peers.py [ROUNDS]``.

Everybody starts from the same data frame of string labels (model_a, model_b, winner) and ends with scores; hjastats a second time
with their standard errors, arena-rank and GLM always. A peer counts when its log-likelihood is within 1e-6 (relative) of the best.
Rounds are interleaved, with another package first in each, and the best time of each is kept; small tables have more rounds, of
those who are not far behind. Missing peers are skipped: ``pip install 'hjastats[peers]'``. Writes results/peers.json.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec

# Before numpy: threads without work must not wait in a loop, at the cost of the package that comes next.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import pandas as pd
from recording import record

import hjastats as hja

SIZES = (
    (20, 10_000),
    (20, 100_000),
    (20, 1_000_000),
    (100, 10_000),
    (100, 100_000),
    (100, 1_000_000),
    (1000, 100_000),
    (1000, 1_000_000),
)
ACCURACY = 1e-6
# Slower than this in the first round, a peer is not run again.
PATIENCE = 20.0
# A few milliseconds need more rounds than a second: five times as many up to so many rows, without those so many times slower.
SMALL = 100_000
FAR_BEHIND = 20.0

# Names, scores, and standard errors if there are any.
Scores = tuple[Sequence[str], np.ndarray | pd.Series, np.ndarray | pd.Series | None]


def records(n_items: int, n_rows: int) -> pd.DataFrame:
    rng = np.random.default_rng([n_items, n_rows])
    strength = 0.7 * rng.standard_normal(n_items)
    first = rng.integers(n_items, size=n_rows)
    second = (first + rng.integers(1, n_items, size=n_rows)) % n_items
    wins = rng.random(n_rows) < 1.0 / (1.0 + np.exp(strength[second] - strength[first]))
    names = np.array([f"model-{i:04d}" for i in range(n_items)])
    return pd.DataFrame(
        {"model_a": names[first], "model_b": names[second], "winner": np.where(wins, "model_a", "model_b")}
    )


def loglike(scores: pd.Series, data: pd.DataFrame) -> float:
    gap = scores.loc[data["model_a"]].to_numpy() - scores.loc[data["model_b"]].to_numpy()
    gap = np.where(data["winner"] == "model_a", gap, -gap)
    return float(-np.logaddexp(0.0, -gap).sum())


def coded(data: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Names, codes and wins as any careful user would make them."""
    codes, names = pd.factorize(pd.concat([data["model_a"], data["model_b"]]), sort=True)
    return np.asarray(names), codes[: len(data)], codes[len(data) :], (data["winner"] == "model_a").to_numpy()


def counted(data: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    names, first, second, wins = coded(data)
    winner, loser = np.where(wins, first, second), np.where(wins, second, first)
    n = len(names)
    return names, np.bincount(winner * n + loser, minlength=n * n).reshape(n, n).astype(float)


def hjastats_fit(data: pd.DataFrame) -> hja.HJAResults:
    return hja.BTLModel.from_comparisons(hja.read_comparisons(data, single_judge="all")).fit()


def hjastats_scores(data: pd.DataFrame) -> Scores:
    result = hjastats_fit(data)
    return result.model.items, result.params, None


def hjastats_errors(data: pd.DataFrame) -> Scores:
    table = hjastats_fit(data).consensus
    return table.index, table["estimate"], table["std_err"]


def choix_scores(data: pd.DataFrame) -> Scores:
    import choix

    names, wins = counted(data)
    return names, choix.ilsr_pairwise_dense(wins, tol=1e-9, max_iter=1000), None


def evalica_scores(data: pd.DataFrame) -> Scores:
    import evalica

    winners = data["winner"].map({"model_a": evalica.Winner.X, "model_b": evalica.Winner.Y})
    result = evalica.bradley_terry(
        data["model_a"].tolist(), data["model_b"].tolist(), winners.tolist(), tolerance=1e-9, limit=10_000
    )
    return result.scores.index, np.log(result.scores), None


def arena_rank_scores(data: pd.DataFrame) -> Scores:
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    dataset = PairDataset.from_pandas(data)
    model = BradleyTerry(n_competitors=len(dataset.competitors), hessian_reg=0.0)
    result = model.compute_ratings_and_cis(dataset)
    scale = model.alpha
    half = (np.asarray(result["rating_upper"]) - np.asarray(result["rating_lower"])) / 2.0 / scale / 1.959964
    return result["competitors"], np.asarray(result["ratings"]) / scale, half


def glm_scores(data: pd.DataFrame) -> Scores:
    import statsmodels.api as sm

    names, wins = counted(data)
    first, second = np.nonzero(np.triu(wins + wins.T, 1))
    design = np.zeros((len(first), len(names)))
    rows = np.arange(len(first))
    design[rows, first], design[rows, second] = 1.0, -1.0
    counts = np.column_stack([wins[first, second], wins[second, first]])
    fit = sm.GLM(counts, design[:, 1:], family=sm.families.Binomial()).fit()
    return names, np.r_[0.0, fit.params], np.r_[0.0, fit.bse]


def sklearn_scores(data: pd.DataFrame) -> Scores:
    from scipy import sparse
    from sklearn.linear_model import LogisticRegression

    names, wins = counted(data)
    winner, loser = np.nonzero(wins)
    rows = np.arange(len(winner))
    design = sparse.csr_array(
        (np.r_[np.ones(len(rows)), -np.ones(len(rows))], (np.r_[rows, rows], np.r_[winner, loser])),
        shape=(len(rows), len(names)),
    )
    # Each count twice, once from either side, since the solver wants two classes.
    both, outcome, weight = (
        sparse.vstack([design, -design]),
        np.r_[np.ones(len(rows)), np.zeros(len(rows))],
        wins[winner, loser],
    )
    model = LogisticRegression(C=np.inf, fit_intercept=False, solver="lbfgs", tol=1e-8, max_iter=1000)
    model.fit(both, outcome, sample_weight=np.r_[weight, weight])
    return names, model.coef_[0], None


PEERS: dict[str, tuple[str, Callable[[pd.DataFrame], Scores]]] = {
    "hjastats": ("hjastats", hjastats_scores),
    "hjastats, errors": ("hjastats", hjastats_errors),
    "choix": ("choix", choix_scores),
    "evalica": ("evalica", evalica_scores),
    "arena-rank": ("arena_rank", arena_rank_scores),
    "statsmodels GLM": ("statsmodels", glm_scores),
    "scikit-learn": ("sklearn", sklearn_scores),
}


def measure(n_items: int, n_rows: int, rounds: int) -> list[dict[str, object]]:
    data = records(n_items, n_rows)
    best: dict[str, float] = {}
    values: dict[str, float] = {}
    errors: dict[str, bool] = {}
    failed: dict[str, str] = {}
    for number in range(5 * rounds if n_rows <= SMALL else rounds):
        # Everybody comes first in turn: who follows the slowest finds the processor's caches full of somebody else's data.
        first = number % len(PEERS)
        for name, (module, run) in [*PEERS.items()][first:] + [*PEERS.items()][:first]:
            if find_spec(module) is None or name in failed or best.get(name, 0.0) > PATIENCE:
                continue
            if number >= rounds and best.get(name, 0.0) > FAR_BEHIND * best["hjastats"]:
                continue
            if name == "statsmodels GLM" and n_items > 500:
                continue  # a dense design of this size does not fit in memory
            start = time.perf_counter()
            try:
                names, scores, error = run(data)
            except Exception as reason:
                failed[name] = f"{type(reason).__name__}: {reason}"
                continue
            best[name] = min(best.get(name, np.inf), time.perf_counter() - start)
            if name not in values:
                values[name] = loglike(pd.Series(np.asarray(scores), list(names)), data)
                errors[name] = error is not None
    top = max(values.values())
    rows = []
    for name, seconds in best.items():
        gap = (top - values[name]) / abs(top)
        rows.append(
            {
                "items": n_items,
                "rows": n_rows,
                "package": name,
                "seconds": seconds,
                "ratio": seconds / best["hjastats"],
                "gap": gap,
                "accurate": bool(gap < ACCURACY),
                "errors": errors[name],
            }
        )
    for name, reason in failed.items():
        print(f"  {name} failed: {reason[:120]}")
    return rows


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    warnings.simplefilter("ignore")
    missing = [name for name, (module, _) in PEERS.items() if find_spec(module) is None]
    if missing:
        print(f"not installed, skipped: {', '.join(missing)}")
    rows = []
    for n_items, n_rows in SIZES:
        print(f"{n_items} items, {n_rows:,} rows")
        for row in measure(n_items, n_rows, rounds):
            rows.append(row)
            remark = "" if row["accurate"] else f"  not converged: {row['gap']:.1e} below the best likelihood"
            has = "with" if row["errors"] else "no"
            print(
                f"  {row['package']:16s} {1e3 * row['seconds']:10.1f} ms {row['ratio']:8.2f} x   {has} standard errors{remark}"
            )
    record("peers", rows)


if __name__ == "__main__":
    main()
