"""Few human labels and many LLM verdicts, resampled: errors, coverage, places, labels' worth, the rectified estimate.

    python benchmarks/anchor.py arena [300]      1,000 labels at a time of ../shared/data/ppr_chatbot_arena
    python benchmarks/anchor.py mtbench [300]    300 expert verdicts at a time of ../shared/data/mtbench_human
    python benchmarks/anchor.py normal [1000]    evidence drawn from the model itself, 6 and 20 items

The truth of the first two is the fit to all labels there are. "permuted" gives the LLM scores to other items, "raised" adds 1 to
the scores that all LLM judges give to one family.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd

import hjastats as hja
from hjastats.inference.anchor import Anchored, Evidence, anchored
from hjastats.inference.auxiliary import SCORES, Scores
from hjastats.inference.clusters import Clusters
from hjastats.inference.evidence import Sources
from hjastats.inference.simultaneous import largest_differences, pairwise_differences
from hjastats.models.anchored import _auxiliary, _direct, _some, rows_of

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
Z = 1.959964


class Study:
    """The labels that are resampled, the other judges' fit, and the truth."""

    def __init__(self, name: str, is_target: Callable[[hja.Comparisons], np.ndarray], n_labels: int) -> None:
        self.data = hja.read_comparisons(DATA / name / "verdicts.csv")
        self.rows = np.flatnonzero(is_target(self.data))
        self.n_labels, self.prompts = n_labels, Clusters.of_prompts(self.data)
        assert self.prompts is not None
        others = np.setdiff1d(np.arange(self.data.n_rows), self.rows)
        self.theirs = _some(self.prompts, others)
        self.panel = _auxiliary(self.data.subset(others), "consensus", "judge", self.theirs)
        self.scores = SCORES["consensus"](self.panel.fit)
        self.truth = hja.BTLModel.from_comparisons(self.data.subset(self.rows)).fit().fit.parts.mu

    def drawn(self, rng: np.random.Generator) -> Sources:
        """Both fits with some of the labels."""
        rows = np.sort(rng.choice(self.rows, self.n_labels, replace=False))
        own = _some(self.prompts, rows)
        base, direct = _direct(rows_of(self.data, rows), "btl", None, own)
        return Sources(direct, base.model.observations, self.panel.fit, self.panel.model.observations, own, self.theirs)

    def measured(self, scores: np.ndarray, covariance: np.ndarray, *, places: bool = True) -> dict[str, float]:
        """Squared error, coverage, whether all places hold, and how wide they are."""
        error, truth = scores - self.truth, np.argsort(np.argsort(-self.truth)) + 1
        se = np.sqrt(np.diag(covariance))
        found = {"mse": float(np.mean(error**2)), "coverage": float(np.mean(np.abs(error) < Z * se))}
        if places:
            # Places as in ranking(), without the rest of its table.
            z = pairwise_differences(scores, covariance).z
            critical = np.quantile(largest_differences(covariance), 0.95)
            low, high = 1 + (z < -critical).sum(axis=1), len(truth) - (z > critical).sum(axis=1)
            found |= {"joint": float(((low <= truth) & (truth <= high)).all()), "width": float((high - low).mean() + 1)}
        return found


def _others(study: Study, family: str, rng: np.random.Generator) -> dict[str, Scores]:
    """The auxiliary scores as they are, and misleading ones."""
    values, rows = study.scores
    order = rng.permutation(len(study.data.items))
    is_raised = np.array([family in item for item in study.data.items])
    raised = values + is_raised
    return {
        "anchored": study.scores,
        "permuted": (values[:, order], rows[order]),
        f"raised {family}": (raised - raised.mean(), rows),
    }


def resampled(study: Study, family: str, n: int, seed: int = 1) -> None:
    """Print what was measured for each kind of auxiliary scores."""
    rng = np.random.default_rng(seed)
    variants, found, rectified = _others(study, family, rng), [], []
    is_raised = np.array([family in item for item in study.data.items])
    start = time.process_time()
    for k in range(n):
        sources = study.drawn(rng)
        alone = study.measured(sources.direct.scores, sources.direct.errors)
        found.append({"replication": k, "kind": "humans alone", "sparse": sources.is_sparse} | alone)
        for kind, scores in variants.items():
            one: Anchored = anchored(sources.evidence(scores))
            row = study.measured(one.scores, one.covariance, places=kind == "anchored")
            held = np.abs(one.scores - study.truth) < Z * np.sqrt(np.diag(one.covariance))
            row |= {"gain": one.gain, "departure": one.departure, "raised": float(held[is_raised].mean())}
            found.append({"replication": k, "kind": kind, "sparse": sources.is_sparse} | row)
        with suppress(hja.OptionError):
            fixed = sources.rectification(study.scores)
            rectified.append((fixed.scores, np.diag(fixed.covariance), fixed.power.mean()))
            row = study.measured(fixed.scores, fixed.covariance, places=False)
            found.append({"replication": k, "kind": "rectified", "sparse": False} | row)
    table = pd.DataFrame(found).drop(columns="replication").groupby("kind", sort=False).mean()
    table.insert(0, "rmse", np.sqrt(table.pop("mse")))
    table.insert(1, "ratio", table["rmse"] / table.loc["humans alone", "rmse"])
    table.insert(2, "realised", table["ratio"] ** -2)
    print(table.round(3).to_string())
    print(f"{n} resamples, {(time.process_time() - start) / n:.2f} s of processor time each")
    if not rectified:
        return
    scores, variances, power = (np.array([row[i] for row in rectified]) for i in range(3))
    spread = scores.std(axis=0, ddof=1)
    ratio = np.sqrt(variances.mean(axis=0)) / spread
    print(f"rectified: errors over resampled ones {np.sqrt(variances.mean() / np.mean(spread**2)):.3f}", end="")
    print(f" (items {ratio.min():.3f} to {ratio.max():.3f}), mean power {power.mean():.2f}")


def normal(n: int) -> None:
    """Coverage and error of evidence that is drawn from the model."""
    rng = np.random.default_rng(0)
    rows = []
    for n_items in (6, 20):
        for departure in (0.0, 0.1, 0.3, 1.0):
            d, errors = n_items - 1, 0.04
            for _ in range(n):
                xi = rng.normal(size=d)
                theta = 1.1 * xi + departure * rng.normal(size=d)
                m = theta + np.sqrt(errors) * rng.normal(size=d)
                x = xi + 0.1 * rng.normal(size=d)
                seen = Evidence(m, x[None], errors * np.eye(d), 0.01 * np.eye(d), np.zeros((d, d)))
                one = anchored(seen)
                truth = Evidence.of_items(one.scores, one.covariance, np.zeros((1, n_items)), np.eye(n_items))
                z = (truth.direct - theta) / np.sqrt(np.diag(truth.direct_errors))
                saved = np.mean((truth.direct - theta) ** 2) / np.mean((m - theta) ** 2)
                rows.append((n_items, departure, np.mean(np.abs(z) < Z), saved, 1.0 / one.gain))
    columns = ["items", "departure", "coverage", "mse", "said"]
    print(pd.DataFrame(rows, columns=columns).groupby(["items", "departure"]).mean().round(3))


def main() -> None:
    """Run what was asked for."""
    warnings.simplefilter("ignore")
    what, n = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 300
    if what == "arena":
        study = Study("ppr_chatbot_arena", lambda data: data.judge_index == data.judges.index("human"), 1000)
        resampled(study, "vicuna", n)
    elif what == "mtbench":
        study = Study("mtbench_human", lambda data: ~np.char.startswith(_judges(data), "gpt"), 300)
        resampled(study, "claude", n)
    else:
        normal(n)


def _judges(data: hja.Comparisons) -> np.ndarray:
    return np.asarray(data.judges, dtype=str)[data.judge_index]


if __name__ == "__main__":
    main()
