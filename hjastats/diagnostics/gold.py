"""Judges held against verdicts that are trusted: on single verdicts, on the items, and in their probabilities."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit

from ..data.comparisons import Comparisons

# Slopes within which the calibration is looked for.
STEEPEST = 50.0


def agreement(data: Comparisons, is_target: np.ndarray, prompt: np.ndarray) -> pd.DataFrame:
    """How often each other judge agrees with the target about the same pair on the same prompt.

    Parameters
    ----------
    is_target : ndarray of bool, shape (n_rows,)
    prompt : ndarray of int, shape (n_rows,)

    Returns
    -------
    pandas.DataFrame
        Index judge: shared (verdicts on what the target judged, too), agreement (share among those that both decided), kappa
        (Cohen's, on decided ones: 0 for chance, 1 for always).

    Examples
    --------
    >>> data = Comparisons.from_arrays(list("hjhj"), list("aaab"), list("bbba"), [1, 1, 0, 1])
    >>> agreement(data, np.array([True, False, True, False]), np.array([1, 1, 2, 2])).loc["j", ["shared", "agreement"]].tolist()
    [2.0, 1.0]
    """
    is_low_first = data.first_index < data.second_index
    table = pd.DataFrame(
        {
            "judge": data.judge_index,
            "pair": data.row_cells.pair,
            "prompt": prompt,
            "side": np.where(is_low_first, data.outcome, 1.0 - data.outcome),
            "weight": data.weight,
        }
    )
    trusted = table[is_target].groupby(["pair", "prompt"])["side"].mean().rename("gold")
    shared = table[~is_target].join(trusted, on=["pair", "prompt"], how="inner")
    found: dict[str, tuple[float, float, float]] = {}
    for k in np.unique(shared["judge"]):
        rows = shared[shared["judge"] == k]
        decided = rows[(rows["side"] != 0.5) & (rows["gold"] != 0.5)]
        first, second, weight = decided["side"] > 0.5, decided["gold"] > 0.5, decided["weight"]
        total = weight.sum()
        if not total:
            found[data.judges[k]] = (rows["weight"].sum(), np.nan, np.nan)
            continue
        share = float(weight[first == second].sum() / total)
        p, q = float(weight[first].sum() / total), float(weight[second].sum() / total)
        chance = p * q + (1.0 - p) * (1.0 - q)
        found[data.judges[k]] = (
            rows["weight"].sum(),
            share,
            (share - chance) / (1.0 - chance) if chance < 1 else np.nan,
        )
    frame = pd.DataFrame.from_dict(found, orient="index", columns=["shared", "agreement", "kappa"], dtype=float)
    return frame.rename_axis("judge")


def calibration_slope(log_odds: np.ndarray, outcome: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """By what a judge's log-odds must be multiplied to be those of the verdicts, with its robust standard error.

    Below one, the judge is surer than it is right.

    Examples
    --------
    >>> log_odds = np.repeat([-2.0, 2.0], 100)
    >>> outcome = np.r_[np.repeat([0.0, 1.0], [73, 27]), np.repeat([1.0, 0.0], [73, 27])]
    >>> [round(value, 2) for value in calibration_slope(log_odds, outcome, np.ones(200))]
    [0.5, 0.08]
    """

    def slope(c: float) -> float:
        return float(weight @ (log_odds * (outcome - expit(c * log_odds))))

    if not slope(-STEEPEST) > 0 > slope(STEEPEST):
        return np.nan, np.nan
    best = float(brentq(slope, -STEEPEST, STEEPEST))
    p = expit(best * log_odds)
    information = float(weight @ (log_odds**2 * p * (1.0 - p)))
    return best, float(np.sqrt(weight @ (log_odds * (outcome - p)) ** 2)) / information


def family_bonus(departure: np.ndarray, covariance: np.ndarray, is_own: np.ndarray) -> tuple[float, float]:
    """By how much a judge puts items of its own family above others, against the target, with its standard error.

    Examples
    --------
    >>> family_bonus(np.array([0.4, -0.1, -0.3]), np.eye(3) / 100, np.array([True, False, False]))
    (0.6..., 0.12...)
    """
    if not is_own.any() or is_own.all():
        return np.nan, np.nan
    weights = is_own / is_own.sum() - ~is_own / (~is_own).sum()
    return float(weights @ departure), float(np.sqrt(weights @ covariance @ weights))
