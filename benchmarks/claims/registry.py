"""What the package claims about its intervals, tests and sentences, each with the simulation that shows it.

A claim draws one data set per replication and says how many of its statements came true. ``python -m benchmarks.claims`` runs
all of them in full and writes the table of docs/how_well.md; ``tests/test_claims.py`` runs them with fewer replications.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from joblib import Parallel, delayed

# True statements and statements made in one replication.
Told: TypeAlias = "tuple[float, float]"
Draw: TypeAlias = "Callable[[np.random.Generator], Told]"

# What each kind of claim has to keep.
BANDS = {
    "coverage": (0.93, 0.97),
    "size": (0.035, 0.065),
    "false alarms": (0.0, 0.05),
    "power": (0.80, 1.0),
}
# Monte-Carlo errors by which a share may leave its band before the claim counts as broken.
DOUBT = 3.0


@dataclass(frozen=True)
class Claim:
    """A statement about how often the package is right.

    Attributes
    ----------
    finding : str
        The defect it is about, as ``S1``.
    kind : str
        A key of ``BANDS``.
    text : str
        What is claimed, of which design.
    draw : callable
        One replication.
    n, n_quick : int
        Replications of the full run and of the test.
    band : pair of float
    """

    finding: str
    kind: str
    text: str
    draw: Draw
    n: int
    n_quick: int
    band: tuple[float, float]


@dataclass(frozen=True)
class Share:
    """How often a claim came true, and the Monte-Carlo error of that."""

    claim: Claim
    share: float
    error: float
    n: int

    @property
    def holds(self) -> bool:
        """Whether the share lies in the band of its claim, up to Monte-Carlo error."""
        low, high = self.claim.band
        return low - DOUBT * self.error <= self.share <= high + DOUBT * self.error


CLAIMS: list[Claim] = []


def claim(
    finding: str, kind: str, text: str, *, n: int, n_quick: int, band: tuple[float, float] | None = None
) -> Callable[[Draw], Draw]:
    """Enter a replication into the list of claims."""

    def enter(draw: Draw) -> Draw:
        CLAIMS.append(Claim(finding, kind, text, draw, n, n_quick, band or BANDS[kind]))
        return draw

    return enter


def run(what: Claim, n: int, n_jobs: int = 1) -> Share:
    """Repeat a claim with fixed seeds."""
    told = np.array(Parallel(n_jobs=n_jobs)(delayed(_quietly)(what.draw, seed) for seed in range(n)), dtype=float)
    true, made = told.T
    share = true.sum() / made.sum()
    # Statements of one replication hang together: the error is that of a ratio of sums over replications.
    spread = float(np.sqrt(np.sum((true - share * made) ** 2)) / made.sum())
    # Where all came out alike the spread says nothing: that of one replication that went the other way.
    return Share(what, float(share), max(spread, 1.0 / n) if share in (0.0, 1.0) else spread, n)


def _quietly(draw: Draw, seed: int) -> Told:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return draw(np.random.default_rng([seed, 18]))
