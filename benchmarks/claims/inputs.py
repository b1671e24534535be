"""Data that can be read in several ways: importance weights, shares of wins."""

from __future__ import annotations

import numpy as np
import pandas as pd

import hjastats as hja

from .registry import Told, claim

_TRUTH = pd.Series([0.8, 0.4, 0.0, -0.4, -0.8], index=[f"mu[{item}]" for item in "abcde"])
_SENSITIVITY = pd.Series([0.6, 0.9, 1.1, 1.4], index=[f"gamma[{judge}]" for judge in "jklm"])


def _drawn(
    rng: np.random.Generator, n_rows: int, n_verdicts: np.ndarray, sensitivity: np.ndarray | float = 1.0
) -> pd.DataFrame:
    """Pairs of five items with the number of verdicts on each and how many the first item won."""
    first = rng.integers(5, size=n_rows)
    second = (first + rng.integers(1, 5, size=n_rows)) % 5
    scores, names = _TRUTH.to_numpy(), np.array(list("abcde"))
    wins = rng.binomial(n_verdicts, 1 / (1 + np.exp(sensitivity * (scores[second] - scores[first]))))
    return pd.DataFrame({"first": names[first], "second": names[second], "n": n_verdicts, "wins": wins})


def _covered(result: hja.HJAResults, truth: pd.Series = _TRUTH) -> Told:
    low, high = result.conf_int().loc[truth.index].to_numpy().T
    return float(np.sum((low <= truth) & (high >= truth))), float(len(truth))


@claim(
    "S7",
    "coverage",
    "scores from 1,500 verdicts with lognormal weights, errors clustered by row (the advice)",
    n=2000,
    n_quick=300,
)
def _importance_weights(rng: np.random.Generator) -> Told:
    rows = _drawn(rng, 1500, np.ones(1500, dtype=int))
    weight = rng.lognormal(size=len(rows))
    data = hja.Comparisons.from_arrays("j", rows["first"], rows["second"], rows["wins"], weight)
    model = hja.BTLModel.from_comparisons(data)
    return _covered(model.fit(cov_type="cluster", cov_kwds={"groups": "row"}))


@claim(
    "S7",
    "coverage",
    "scores and sensitivities of four judges from 4,000 verdicts with lognormal weights, errors clustered by row",
    n=2000,
    n_quick=150,
)
def _importance_weights_of_judges(rng: np.random.Generator) -> Told:
    judge = rng.integers(4, size=4000)
    rows = _drawn(rng, 4000, np.ones(4000, dtype=int), _SENSITIVITY.to_numpy()[judge])
    weight = rng.lognormal(size=len(rows))
    names = np.array(list("jklm"))[judge]
    data = hja.Comparisons.from_arrays(names, rows["first"], rows["second"], rows["wins"], weight)
    result = hja.JAModel.from_comparisons(data).fit(cov_type="cluster", cov_kwds={"groups": "row"})
    return _covered(result, pd.concat([_SENSITIVITY, _TRUTH]))


def _shares(rng: np.random.Generator) -> hja.BTLModel:
    rows = _drawn(rng, 30, rng.integers(20, 90, size=30))
    data = hja.Comparisons.from_arrays(
        "j", rows["first"], rows["second"], rows["wins"] / rows["n"], rows["n"], counts=True
    )
    return hja.BTLModel.from_comparisons(data)


@claim("S6", "coverage", "scores from 30 win rates of 20 to 90 comparisons, counts=True, HC0", n=2000, n_quick=300)
def _win_rates(rng: np.random.Generator) -> Told:
    return _covered(_shares(rng).fit(cov_type="HC0"))


@claim("S6", "size", "test of a position effect that is not there, same design, counts=True", n=4000, n_quick=400)
def _no_position_effect(rng: np.random.Generator) -> Told:
    result = _shares(rng).with_position("common").fit(cov_type="HC0")
    return float(result.pvalues["position"] < 0.05), 1.0
