import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.simulation import heterogeneous_panel, near_balanced_design, simulate_comparisons


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


@pytest.fixture
def table():
    return pd.DataFrame(
        {"estimate": [0.8, np.nan, 1.4], "ci_lower": [0.6, np.nan, 1.1], "ci_upper": [1.0, np.nan, 1.7]},
        index=["j1", "j2", "j3"],
    )
