"""Tables of the pages that no other command makes: ``python benchmarks/tables.py ridge``, ``best`` or ``rank``.

``ridge`` is that of ``docs/hard_data.md`` (200 panels), ``best`` that of ``docs/decisions.md`` (2,000), ``rank`` that of
``docs/inference.md`` (2,000); another number of panels may follow. Every one is printed as it stands on the page.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial

import numpy as np
from scipy import stats

import hjastats as hja
from benchmarks.claims.decisions import SAID, said_and_true
from hjastats.simulation import heterogeneous_panel, near_balanced_design, simulate_comparisons

Z = stats.norm.ppf(0.975)
WEIGHTS = (None, 0.05, 0.1, 0.2, 0.5)


def ridge(n_panels: int) -> None:
    """Squared errors and coverage of the paper's process by the weight of the ridge; None is maximum likelihood."""
    print(f"| comparisons | | maximum likelihood | {' | '.join(f'alpha = {weight}' for weight in WEIGHTS[1:])} |")
    print("|---|---|---|---|---|---|---|")
    for n in (400, 1600):
        told = {weight: _of_ridge(weight, n, n_panels) for weight in WEIGHTS}
        exists, errors, scores, largest = zip(*told.values(), strict=True)
        print(f"| {n} | estimate exists | {' | '.join(f'{value:.2f}' for value in exists)} |")
        print(f"| | mean squared error of a score | {' | '.join(f'{value:.3f}' for value in errors)} |")
        covered = [f"{one:.3f}, {other:.3f}" for one, other in zip(scores, largest, strict=True)]
        print(f"| | coverage of scores, of the largest difference | {' | '.join(covered)} |")


def _of_ridge(weight: float | None, n: int, n_panels: int) -> tuple[float, ...]:
    rows = []
    for seed in range(n_panels):
        rng = np.random.default_rng([seed, n])
        panel = heterogeneous_panel(rng=rng)
        data = simulate_comparisons(panel.scores, near_balanced_design(4, 8, n, rng=rng), rng=rng)
        model = hja.HJAModel.from_comparisons(data, rank=1)
        search = model.fit if weight is None else partial(model.fit_regularized, weight)
        result = search(warn_convergence=False)
        if not result.converged:
            rows.append((0.0, np.nan, np.nan, np.nan))
            continue
        errors = result.scores.to_numpy() - panel.scores
        inside = np.abs(errors) <= Z * result.judges.score_errors().to_numpy()
        truth = panel.scores.mean(axis=0)
        best, worst = truth.argmax(), truth.argmin()
        limits = result.conf_int(f"mu[{data.items[best]}] - mu[{data.items[worst]}]").to_numpy().ravel()
        held = limits[0] <= truth[best] - truth[worst] <= limits[1]
        rows.append((1.0, float((errors**2).mean()), float(inside.mean()), float(held)))
    exists, *others = np.array(rows).T
    return (exists.mean(), *(np.nanmean(one) for one in others))


def best(n_panels: int) -> None:
    """How often the item is best of which that is said."""
    print('| said | best, `prior="normal"` | best, `prior="flat"` |')
    print("|---|---|---|")
    shares = {prior: _of_best(prior, n_panels) for prior in ("normal", "flat")}
    for said in SAID:
        print(f"| {said} | {shares['normal'][said]} | {shares['flat'][said]} |")


def _of_best(prior: str, n_panels: int) -> dict[float, str]:
    told = [said_and_true(np.random.default_rng([seed, 7]), prior) for seed in range(n_panels)]
    chance, is_best = (np.concatenate(one) for one in zip(*told, strict=True))
    shares = {}
    for said, (low, high) in SAID.items():
        some = (chance >= low) & (chance < high)
        share = float((is_best - chance)[some].mean()) + said
        shares[said] = f"{share:.2f} ± {np.sqrt(said * (1 - said) / some.sum()):.2f}"
    return shares


def rank(n_panels: int) -> None:
    """How wrong a chi-squared p-value of one direction more is."""
    heads = (
        "true rank",
        "tested against",
        "degrees of freedom",
        "mean of the statistic",
        "rejected at a nominal 5%",
        "standard error",
    )
    print(f"| {' | '.join(heads)} |\n|---|---|---|---|---|---|")
    mu, gamma = np.linspace(-1.2, 1.2, 8), np.array([0.6, 0.9, 1.1, 1.4])
    loadings, directions = np.array([1, -1, 1, -1]) / 2, np.array([1, -1, -1, 1, 1, -1, -1, 1])
    for true in (0, 1):
        scores = np.outer(gamma, mu) + true * np.outer(loadings, directions)
        statistic = np.array([_of_rank(scores, true, seed) for seed in range(n_panels)])
        df = 4 + 8 - 3 - 2 * true - 1
        rejected = float((statistic > stats.chi2.ppf(0.95, df)).mean())
        error = np.sqrt(rejected * (1 - rejected) / n_panels)
        print(f"| {true} | {true + 1} | {df} | {statistic.mean():.1f} | {rejected:.1%} | {error:.1%} |")


def _of_rank(scores: np.ndarray, true: int, seed: int) -> float:
    rng = np.random.default_rng([seed, true])
    data = simulate_comparisons(scores, near_balanced_design(4, 8, 4000, rng=rng), rng=rng)
    model = hja.HJAModel.from_comparisons(data, rank=true)
    smaller, larger = (one.fit(warn_convergence=False) for one in (model, model.with_rank(true + 1)))
    return 2.0 * (larger.llf - smaller.llf)


TABLES = {"ridge": (ridge, 200), "best": (best, 2000), "rank": (rank, 2000)}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    make, usual = TABLES[sys.argv[1]]
    make(int(sys.argv[2]) if len(sys.argv) > 2 else usual)
