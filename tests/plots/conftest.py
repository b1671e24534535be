import warnings

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.simulation import heterogeneous_panel, near_balanced_design, simulate_comparisons


@pytest.fixture(scope="session")
def result():
    return hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()


@pytest.fixture(scope="session")
def crowd():
    """Twenty judges and fifty items, all with names of forty letters."""
    rng = np.random.default_rng(3)
    panel = heterogeneous_panel(20, 50, rank=1, heterogeneity=0.3, rng=rng)
    judges = [f"organisation-{k % 5}/Judge-Model-{k:02d}".ljust(40, "x") for k in range(20)]
    items = [f"provider-{i % 7}/Large-Model-{i:02d}-".ljust(40, "y") for i in range(50)]
    data = simulate_comparisons(
        panel.scores, near_balanced_design(20, 50, 25_000, rng=rng), judges=judges, items=items, rng=rng
    )
    return hja.HJAModel.from_comparisons(data, rank=1, position="judge").fit()


@pytest.fixture(scope="session")
def separated():
    """Item i4 wins all its comparisons: its score runs to infinity."""
    rng = np.random.default_rng(0)
    judge = np.repeat([f"j{k}" for k in range(4)], 150)
    pairs = np.array([rng.choice(5, 2, replace=False) for _ in judge])
    wins = rng.random(len(judge)) < 1 / (1 + np.exp(-0.5 * (pairs[:, 0] - pairs[:, 1])))
    wins = np.where(pairs[:, 0] == 4, True, np.where(pairs[:, 1] == 4, False, wins))
    names = np.array([f"i{i}" for i in range(5)])
    data = hja.Comparisons.from_arrays(judge, names[pairs[:, 0]], names[pairs[:, 1]], wins.astype(float))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hja.SeparationWarning)
        return hja.HJAModel.from_comparisons(data, rank=1).fit()


@pytest.fixture
def table():
    return pd.DataFrame(
        {"estimate": [0.8, np.nan, 1.4], "ci_lower": [0.6, np.nan, 1.1], "ci_upper": [1.0, np.nan, 1.7]},
        index=["j1", "j2", "j3"],
    )
