"""Verdicts that hang together within prompts, and judges whose verdicts are nearly certain."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

import hjastats as hja

from .designs import comparisons, covered, prompted_panel, random_pairs, spread
from .registry import Told, claim

MU = spread(8, 0.8)


def _clustered(data: hja.Comparisons, **options: object) -> hja.HJAResults:
    model = hja.JAModel.from_comparisons(data, position="judge")
    return model.fit(n_random=0, cov_type="cluster", cov_kwds={"groups": "prompt"} | options)


def _all_judges(rng: np.random.Generator, n_prompts: int, correlation: float = 0.4) -> hja.Comparisons:
    """Six judges with verdicts on all prompts, 2,400 verdicts in all."""
    judge, prompt = np.arange(2400) % 6, np.arange(2400) // 6 % n_prompts
    return prompted_panel(rng, judge, prompt, MU, correlation)


@claim(
    "S1",
    "coverage",
    "mu of JA with position, clustered: 6 judges, 8 items, 2,400 verdicts on 100 prompts",
    n=1000,
    n_quick=150,
)
def mu_100(rng: np.random.Generator) -> Told:
    table = _clustered(_all_judges(rng, 100)).consensus.sort_index()
    return covered(table["estimate"].to_numpy(), table["std_err"].to_numpy(), MU)


@claim("S1", "coverage", "the same on 25 prompts", n=1000, n_quick=150)
def mu_25(rng: np.random.Generator) -> Told:
    table = _clustered(_all_judges(rng, 25)).consensus.sort_index()
    return covered(table["estimate"].to_numpy(), table["std_err"].to_numpy(), MU)


def _warns(data: hja.Comparisons) -> bool:
    result = hja.JAModel.from_comparisons(data, position="judge").fit(n_random=0)
    return any(found.is_warning for found in result.findings if found.topic == "prompts")


@claim("S1", "false alarms", "verdicts hang together within 100 prompts, when they do not", n=500, n_quick=100)
def prompts_alarm(rng: np.random.Generator) -> Told:
    return float(_warns(_all_judges(rng, 100, correlation=0.0))), 1.0


@claim("S1", "false alarms", "the same with 25 prompts", n=500, n_quick=100)
def few_prompts_alarm(rng: np.random.Generator) -> Told:
    return float(_warns(_all_judges(rng, 25, correlation=0.0))), 1.0


@claim("S1", "power", "verdicts hang together within 25 prompts, when they do", n=200, n_quick=40)
def prompts_power(rng: np.random.Generator) -> Told:
    return float(_warns(_all_judges(rng, 25))), 1.0


def _own_prompts(rng: np.random.Generator) -> hja.Comparisons:
    """True BTL, six judges with 25 prompts of their own and 12 verdicts on each."""
    judge = np.repeat(np.arange(6), 300)
    return prompted_panel(rng, judge, np.arange(1800) // 12, MU, 0.4)


@claim(
    "S1",
    "size",
    "BTL against JA, counting clusters (Rao-Scott): 6 judges, 25 prompts each, 12 verdicts on each",
    n=2000,
    n_quick=300,
)
def rao_scott(rng: np.random.Generator) -> Told:
    options = {"cov_type": "cluster", "cov_kwds": {"groups": "prompt"}}
    data = _own_prompts(rng)
    small = hja.BTLModel.from_comparisons(data).fit(**options)
    large = hja.JAModel.from_comparisons(data).fit(n_random=0, **options)
    return float(large.compare_lr_test(small).pvalue < 0.05), 1.0


@claim("S1", "size", "JA against judge-wise BTL on the same panels", n=1000, n_quick=200)
def rao_scott_saturated(rng: np.random.Generator) -> Told:
    options = {"cov_type": "cluster", "cov_kwds": {"groups": "prompt"}}
    result = hja.JAModel.from_comparisons(_own_prompts(rng)).fit(n_random=0, **options)
    return float(result.rank_test().p_value < 0.05), 1.0


def _few(rng: np.random.Generator, n_prompts: int) -> tuple[float, float]:
    """One of six judges has verdicts on so many of 100 prompts, the others on all."""
    some = rng.choice(100, n_prompts, replace=False)
    prompt = np.concatenate([np.repeat(some, 100 // n_prompts + 5), np.tile(np.arange(100), 25)])
    judge = np.repeat([0, 1], [len(prompt) - 2500, 2500])
    judge[judge == 1] += np.arange(2500) % 5
    result = _clustered(prompted_panel(rng, judge, prompt, MU, 0.3))
    gamma, position = result.estimates("gamma", ["j000"]), result.estimates("position", ["j000"])
    hits = [
        covered(table["estimate"].to_numpy(), table["std_err"].to_numpy(), truth)
        for table, truth in ((gamma, 1.0), (position, 0.0))
    ]
    return sum(hit for hit, _ in hits), sum(n for _, n in hits)


@claim("S10", "coverage", "gamma and position of a judge in 10 of 100 prompts, clustered", n=1000, n_quick=150)
def ten_prompts(rng: np.random.Generator) -> Told:
    return _few(rng, 10)


def _certain(rng: np.random.Generator, cov_type: str) -> tuple[float, float]:
    """One of five judges has 500 verdicts and a position effect of 5: some six verdicts are not for the first item."""
    judge = np.repeat(np.arange(5), [500, 400, 400, 400, 400])
    first, second = random_pairs(rng, len(judge), 8)
    wins = rng.random(len(judge)) < expit(MU[first] - MU[second] + 5.0 * (judge == 0))
    data = comparisons(judge, first, second, wins, prompt=rng.integers(60, size=len(judge)))
    options = {"groups": "prompt"} if cov_type == "cluster" else None
    result = hja.JAModel.from_comparisons(data, position="judge").fit(n_random=0, cov_type=cov_type, cov_kwds=options)
    table = result.estimates("gamma", ["j000"])
    return covered(table["estimate"].to_numpy(), table["std_err"].to_numpy(), 1.0)


# The larger of two variances may cover too much, never too little.
@claim(
    "S9",
    "coverage",
    "gamma of a judge with position effect 5 and 500 verdicts, HC0",
    n=1000,
    n_quick=150,
    band=(0.93, 0.99),
)
def certain_robust(rng: np.random.Generator) -> Told:
    return _certain(rng, "HC0")


@claim("S9", "coverage", "the same, clustered by 60 prompts", n=1000, n_quick=150, band=(0.93, 0.99))
def certain_clustered(rng: np.random.Generator) -> Told:
    return _certain(rng, "cluster")
