"""Data that come with the package; all of it simulated."""

from __future__ import annotations

from importlib import resources

import numpy as np

from ..data.comparisons import Comparisons
from ..data.readers import read_comparisons
from ..simulation import heterogeneous_panel, near_balanced_design, simulate_comparisons

PANEL_SEED = 20260
PANEL_ITEMS = [f"model-{letter}" for letter in "ABCDEFGHIJ"]
PANEL_JUDGES = ["judge-1", "judge-2", "judge-3", "judge-4", "judge-5", "judge-6", "judge-first", "judge-noise"]


def load_panel() -> Comparisons:
    """A simulated panel of eight judges and ten items, 3,200 comparisons in random order.

    Six judges follow the paper's main process with one direction of disagreement. ``judge-first`` agrees with the consensus
    but adds 2.5 log-odds to whatever is shown first; ``judge-noise`` hardly looks at the items. No real model or judge is
    described: the names are invented, and :func:`simulate_panel` makes the same data again.

    Examples
    --------
    >>> load_panel()
    Comparisons: 3,200 comparisons of 10 items by 8 judges (no ties)
      judges      'judge-1', 'judge-2', 'judge-3', 'judge-4', 'judge-5' and 3 more
      items       'model-A', 'model-B', 'model-C', 'model-D', 'model-E' and 5 more
      per judge   400 to 400 comparisons (median 400)
      first item preferred in 55.8% of the comparisons
    """
    with resources.as_file(resources.files(__name__) / "panel.csv") as path:
        return read_comparisons(path)


def simulate_panel(seed: int = PANEL_SEED) -> Comparisons:
    """Generate the panel of :func:`load_panel`, or another one like it from another seed.

    Examples
    --------
    >>> simulate_panel(seed=1).n_comparisons
    3200.0
    """
    rng = np.random.default_rng(seed)
    n_items, n_judges = len(PANEL_ITEMS), len(PANEL_JUDGES)
    core = heterogeneous_panel(6, n_items, rank=1, heterogeneity=0.6, rng=rng)
    scores = np.vstack([core.scores, core.mu, 0.1 * core.mu])
    position = np.array([0.0] * 6 + [2.5, 0.0])
    # Every cell is filled evenly so that each judge gives the same number of verdicts.
    parts = [near_balanced_design(1, n_items, 400, rng=rng) for _ in range(n_judges)]
    judge = np.repeat(np.arange(n_judges), 400)
    order = rng.permutation(len(judge))
    first = np.concatenate([part[1] for part in parts])[order]
    second = np.concatenate([part[2] for part in parts])[order]
    return simulate_comparisons(
        scores,
        (judge[order], first, second),
        position=position,
        shuffle_order=True,
        judges=PANEL_JUDGES,
        items=PANEL_ITEMS,
        rng=rng,
    )
