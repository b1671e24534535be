"""Data that several tests use. Those that never change are fixtures of the same names in conftest.py."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import hjastats as hja
from hjastats.data.comparisons import Comparisons
from hjastats.simulation import heterogeneous_panel, near_balanced_design, simulate_comparisons


def small_panel():
    """Five judges, six items, 2,400 verdicts in random order of presentation, one direction of disagreement."""
    truth = heterogeneous_panel(5, 6, rank=1, heterogeneity=0.4, rng=1)
    return simulate_comparisons(0.7 * truth.scores, near_balanced_design(5, 6, 2400, rng=2), shuffle_order=True, rng=3)


def biased_panel():
    """Five judges who prefer the item shown first, seven items, 1,500 verdicts."""
    truth = heterogeneous_panel(5, 7, 1, heterogeneity=0.4, rng=0)
    design = near_balanced_design(5, 7, 1500, rng=1)
    return simulate_comparisons(0.7 * truth.scores, design, position=0.3, shuffle_order=True, rng=2)


def mild_scores(n_judges=4, n_items=6, seed=0):
    """Scores close enough for all verdicts to occur."""
    return 0.6 * heterogeneous_panel(n_judges, n_items, 1, heterogeneity=0.4, rng=seed).scores


def tied_panel():
    """Four judges, six items, a fifth of the verdicts ties, and columns with a length difference and a prompt."""
    rng = np.random.default_rng(1)
    plain = simulate_comparisons(
        mild_scores(), near_balanced_design(4, 6, 3000, rng=2), position=0.3, shuffle_order=True, rng=3
    )
    frame = plain.to_frame()
    outcome = np.where(rng.random(len(frame)) < 0.2, 0.5, frame["outcome"])
    columns = pd.DataFrame({"length": rng.integers(-3, 4, len(frame)), "prompt": np.arange(len(frame)) % 50})
    return Comparisons.from_arrays(frame["judge"], frame["first"], frame["second"], outcome, columns=columns)


def clustered_panel(n):
    """Four judges, six items, so many verdicts on sixty prompts, some of them ties."""
    truth = heterogeneous_panel(4, 6, rank=1, heterogeneity=0.4, rng=5)
    plain = simulate_comparisons(0.6 * truth.scores, near_balanced_design(4, 6, n, rng=6), shuffle_order=True, rng=7)
    rng = np.random.default_rng(8)
    outcome = np.where(rng.random(n) < 0.15, 0.5, plain.outcome)
    frame = plain.to_frame()
    prompt = pd.DataFrame({"prompt": rng.integers(60, size=n)})
    return Comparisons.from_arrays(frame["judge"], frame["first"], frame["second"], outcome, columns=prompt)


def separated_panel():
    """Four judges and five items, of which i4 wins all its comparisons: its score runs to infinity."""
    rng = np.random.default_rng(0)
    judge = np.repeat([f"j{k}" for k in range(4)], 150)
    pairs = np.array([rng.choice(5, 2, replace=False) for _ in judge])
    wins = rng.random(len(judge)) < 1 / (1 + np.exp(-0.5 * (pairs[:, 0] - pairs[:, 1])))
    wins = np.where(pairs[:, 0] == 4, True, np.where(pairs[:, 1] == 4, False, wins))
    names = np.array([f"i{i}" for i in range(5)])
    return Comparisons.from_arrays(judge, names[pairs[:, 0]], names[pairs[:, 1]], wins.astype(float))


def graded_panel(n=300):
    """Four judges, six items, so many verdicts each on a scale of seven points; the last prefers whatever is shown first."""
    rng = np.random.default_rng(12)
    judge = np.repeat(np.arange(4), n)
    first = rng.integers(6, size=len(judge))
    second = (first + rng.integers(1, 6, size=len(judge))) % 6
    sharp = np.array([1.3, 1.2, 0.8, 0.0])[judge]
    grade = np.digitize(0.6 * sharp * (first - second) + rng.logistic(size=len(judge)), [-3, -1.6, -0.4, 0.4, 1.6, 3])
    grade = np.where(judge == 3, rng.choice([4, 5, 6], size=len(judge), p=[0.3, 0.5, 0.2]), grade)
    names = np.array(["anna", "ben", "carl", "lazy"])
    return Comparisons.from_arrays(
        names[judge], np.char.add("i", first.astype(str)), np.char.add("i", second.astype(str)), grade / 6
    )


def every_model(data, **options):
    """All models of the family, the larger ones last."""
    return [
        hja.BTLModel.from_comparisons(data, **options),
        hja.JAModel.from_comparisons(data, **options),
        hja.HJAModel.from_comparisons(data, rank=1, **options),
        hja.HJAModel.from_comparisons(data, rank=2, **options),
        hja.JudgewiseBTLModel.from_comparisons(data, **options),
    ]


def arguments(frame):
    """Labels of the rows of a table, as the models take them."""
    return {"judge": frame["judge"], "item_a": frame["first"], "item_b": frame["second"]}


def swapped(frame):
    """The same verdicts told from the other side."""
    return frame.rename(columns={"first": "second", "second": "first"}).assign(outcome=1 - frame["outcome"])


def changed(data, outcome):
    """The same comparisons with other verdicts."""
    frame = data.to_frame()
    return Comparisons.from_arrays(frame["judge"], frame["first"], frame["second"], outcome, frame["weight"])


def always_winning(data, item):
    """The same comparisons, except that one item wins all of its own."""
    frame = data.to_frame()
    return changed(
        data, np.where(frame["first"] == item, 1.0, np.where(frame["second"] == item, 0.0, frame["outcome"]))
    )


def warned(fit, category):
    """What a function returns, and the text of its warnings."""
    with pytest.warns(category) as caught:
        result = fit()
    return result, " ".join(str(warning.message) for warning in caught)


def finding(result, topic):
    """What a fit says about a topic."""
    return next(found for found in result.findings if found.topic == topic)


def seasons(names=("2023", "2024", "2025"), n_clubs=4, n=600, seed=0):
    """A table of seasons whose clubs, called by club and season, only met within one, with one advantage of the first."""
    rng = np.random.default_rng(seed)
    season, first = rng.integers(len(names), size=n), rng.integers(n_clubs, size=n)
    second = (first + rng.integers(1, n_clubs, size=n)) % n_clubs
    wins = rng.random(n) < expit(0.7 * (second - first) + 0.3)
    clubs = np.array([[f"club-{club}@{name}" for club in range(n_clubs)] for name in names])
    return pd.DataFrame(
        {
            "judge": "score",
            "first": clubs[season, first],
            "second": clubs[season, second],
            "winner": np.where(wins, "first", "second"),
        }
    )
