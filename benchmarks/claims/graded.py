"""Graded verdicts: intervals of scores, thresholds and expected grades, and judges that use a scale alike (F4)."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

import hjastats as hja
from hjastats.data.comparisons import Comparisons

from .designs import comparisons, covered, random_pairs
from .registry import Told, claim

JUDGES, ITEMS, ROWS = 6, 6, 2400
MU, GAMMA = np.linspace(-1.2, 1.2, ITEMS), np.linspace(0.7, 1.3, JUDGES)
# Thresholds of the judges, alike or each its own: shares of ties from a tenth to a half, of the ends from a fifth to two thirds.
SCALES = {
    "alike": np.tile([0.5, 1.8], (JUDGES, 1)),
    "each its own": np.column_stack([np.linspace(0.2, 1.1, JUDGES), np.linspace(3.0, 1.4, JUDGES)]),
}
PAIRS = {
    "judge": [f"j{k:03d}" for k in range(JUDGES) for _ in range(3)],
    "item_a": ["i000", "i002", "i005"] * JUDGES,
    "item_b": ["i001", "i003", "i000"] * JUDGES,
}


def drawn(rng: np.random.Generator, scale: str) -> Comparisons:
    """Log-odds with logistic noise, cut at the judges' thresholds."""
    judge = np.arange(ROWS) % JUDGES
    first, second = random_pairs(rng, ROWS, ITEMS)
    noisy = GAMMA[judge] * (MU[first] - MU[second]) + rng.logistic(size=ROWS)
    steps = np.sign(noisy) * (np.abs(noisy)[:, None] > SCALES[scale][judge]).sum(axis=1)
    return comparisons(judge, first, second, 0.5 + steps / 4.0)


def graded(data: Comparisons) -> hja.HJAResults:
    """Thresholds of every judge."""
    return hja.JAModel.from_comparisons(data, ties="ordinal", tie="judge").fit()


def softened(data: Comparisons) -> hja.HJAResults:
    """Grades as soft codes, with robust errors."""
    return hja.JAModel.from_comparisons(data).fit(cov_type="HC0")


def expected_grades(scale: str) -> np.ndarray:
    """What the verdicts on ``PAIRS`` are worth on average."""
    judge, first, second = (np.array([int(label[1:]) for label in labels]) for labels in PAIRS.values())
    eta, cuts = GAMMA[judge] * (MU[first] - MU[second]), SCALES[scale][judge].T
    return np.mean([expit(eta - sign * cut) for cut in cuts for sign in (1, -1)], axis=0)


TEXT = "6 judges that use five grades each in its own way, 6 items, 400 verdicts each"


@claim("F4", "coverage", f"thresholds of judges; {TEXT}", n=400, n_quick=40)
def thresholds_of_judges(rng: np.random.Generator) -> Told:
    result = graded(drawn(rng, "each its own"))
    found = [result.estimates(f"threshold{i}") for i in (1, 2)]
    truth = SCALES["each its own"].T.ravel()
    return covered(*(np.concatenate([each[name] for each in found]) for name in ("estimate", "std_err")), truth)


@claim("F4", "coverage", f"scores and sensitivities, thresholds per judge; {TEXT}", n=400, n_quick=40)
def scores_of_graded_verdicts(rng: np.random.Generator) -> Told:
    result = graded(drawn(rng, "each its own"))
    found = [result.estimates(kind) for kind in ("mu", "gamma")]
    return covered(
        *(np.concatenate([each[name] for each in found]) for name in ("estimate", "std_err")), np.r_[MU, GAMMA]
    )


@claim("F4", "coverage", f"expected grades of pairs, thresholds per judge; {TEXT}", n=400, n_quick=40)
def expected_grades_of_pairs(rng: np.random.Generator) -> Told:
    frame = graded(drawn(rng, "each its own")).get_prediction(**PAIRS).summary_frame()
    truth = expected_grades("each its own")
    return float(frame["ci_lower"].le(truth).mul(frame["ci_upper"].ge(truth)).sum()), float(len(truth))


@claim("F4", "power", f"judges are found to use the scale differently; {TEXT}", n=200, n_quick=20)
def scales_that_differ(rng: np.random.Generator) -> Told:
    return _alarm(drawn(rng, "each its own"))


@claim(
    "F4",
    "false alarms",
    "judges that use five grades alike are found to differ; 6 judges, 6 items, 400 verdicts each",
    n=400,
    n_quick=40,
)
def scales_alike(rng: np.random.Generator) -> Told:
    return _alarm(drawn(rng, "alike"))


def _alarm(data: Comparisons) -> Told:
    result = hja.JAModel.from_comparisons(data, ties="ordinal").fit()
    return float(any(f.is_warning for f in result.findings if f.topic == "tie rates")), 1.0
