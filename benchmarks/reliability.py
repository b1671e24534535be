"""How often the default fit reaches the best optimum: ``python benchmarks/reliability.py [N [JOBS [FILE]]]``.

Random panels of all sizes, balanced and sparse, some with position effects and ties, separated or disconnected. Each is fitted
as a user would; the reference is the best of 40 further random starts. Nothing may escape but our own errors, no number that is not
finite may be called converged, and an optimum counts as reached when its log-likelihood is within 0.001 of the reference.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

import hjastats as hja
from hjastats.experiments.ledger import Ledger, work_off
from hjastats.simulation import heterogeneous_panel, near_balanced_design, simulate_comparisons
from hjastats.solve.search import no_terms, search
from hjastats.solve.starts import judgewise_scores

REFERENCE_STARTS = 40
REACHED = 1e-3
BATCH = 50


def panel(rng: np.random.Generator) -> hja.Comparisons:
    n_judges, n_items = int(rng.integers(2, 13)), int(rng.integers(3, 13))
    rank = int(rng.integers(0, min(n_judges - 1, n_items - 2, 3) + 1))
    truth = heterogeneous_panel(n_judges, n_items, rank, heterogeneity=rng.uniform(0.1, 1.5), rng=rng)
    cells = n_judges * n_items * (n_items - 1) // 2
    n = int(rng.integers(max(20, cells // 4), 20 * cells))
    position = rng.normal(scale=1.5, size=n_judges) if rng.random() < 0.3 else 0.0
    scores = rng.uniform(0.3, 1.2) * truth.scores
    return simulate_comparisons(scores, near_balanced_design(n_judges, n_items, n, rng=rng), position=position, rng=rng)


def with_ties(data: hja.Comparisons, rng: np.random.Generator) -> hja.Comparisons:
    """The same panel with a random share of verdicts turned into ties."""
    outcome = np.where(rng.random(data.n_rows) < rng.uniform(0.02, 0.4), 0.5, data.outcome)
    return replace(data, outcome=outcome)


def random_starts(cells, structure, rng):
    size = np.linalg.norm(judgewise_scores(cells)) or 1.0
    for _ in range(REFERENCE_STARTS):
        scores = structure.nearest(rng.standard_normal((cells.n_judges, cells.n_items)))
        yield no_terms(cells, scores * (size / np.linalg.norm(scores)))


def one(seed: int) -> tuple[str, str]:
    """Outcome of the fit and whether the reference optimum was reached."""
    rng = np.random.default_rng(seed)
    warnings.simplefilter("ignore")
    try:
        data = panel(rng)
        rank = int(rng.integers(0, min(data.n_judges - 1, data.n_items - 2, 3) + 1))
        position = [None, "judge"][rng.integers(2)]
        options = {}
        if rng.random() < 0.25:
            # A quarter of the panels has ties, modelled by propensities of all judges or of each.
            data = with_ties(data, rng)
            options = {"ties": "davidson", "tie": ["common", "judge"][rng.integers(2)]}
        model = hja.HJAModel.from_comparisons(data, rank=rank, position=position, **options)
        result = model.fit(warn_convergence=False)
    except (hja.IdentificationError, hja.ComparisonError):
        return "refused", "-"
    except Exception as error:
        return f"EXCEPTION {type(error).__name__}: {error} (seed {seed})", "-"
    if not result.converged:
        if result.fit.separation is not None:
            return "separated", "-"
        return (
            "not identified" if not result.fit.model_covariance.is_identified else f"not converged (seed {seed})"
        ), "-"
    if not (np.isfinite(result.params).all() and np.isfinite(result.bse).all()):
        return f"SILENT (seed {seed})", "-"
    best = search(model.design, model.structure, starts=list(random_starts(model.design, model.structure, rng))).best
    if best.negative_loglike < -result.llf - REACHED:
        if not best.converged:
            return "converged", f"MISSED, the reference runs to infinity (seed {seed}, rank {rank})"
        return "converged", f"MISSED by {-result.llf - best.negative_loglike:.3f} (seed {seed}, rank {rank})"
    return "converged", "reached"


def batch(first: int, size: int) -> list[dict[str, str]]:
    rows = [one(seed) for seed in range(first, first + size)]
    return [{"outcome": outcome, "reached": reached} for outcome, reached in rows]


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    jobs = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    # Finished batches are kept, so that a long run can be interrupted.
    ledger = Ledger(Path(sys.argv[3] if len(sys.argv) > 3 else "benchmark_reliability.jsonl"))
    tasks = [{"first": first, "size": BATCH} for first in range(0, n, BATCH)]
    rows = work_off(tasks, batch, ledger, jobs=jobs, label="panels", progress=sys.stderr.isatty())
    print(f"{len(rows)} random panels")
    for outcome, count in Counter(rows["outcome"]).most_common():
        print(f"  {outcome:60s} {count:7d}")
    reached = Counter(rows["reached"][rows["reached"] != "-"])
    total = sum(reached.values())
    print(
        f"reference optimum reached in {reached['reached']} of {total} converged fits ({reached['reached'] / total:.2%})"
    )
    for hit in reached:
        if hit.startswith("MISSED"):
            print("  ", hit)


if __name__ == "__main__":
    main()
