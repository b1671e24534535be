"""What the package claims about its intervals, tests and sentences, each with the simulation that shows it.

A claim draws one data set per replication and says how many of its statements came true; several may be about the same draws.
``python -m benchmarks.claims`` runs all of them in full and writes the table of docs/how_well.md; ``tests/test_claims.py`` runs
them with fewer replications.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np
from joblib import Parallel, delayed

# True statements and statements made in one replication; of what was drawn for it.
Told: TypeAlias = "tuple[float, float]"
Draw: TypeAlias = "Callable[[np.random.Generator], Any]"
Tell: TypeAlias = "Callable[[Any], Told]"

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
        What one replication is about, from a generator.
    tell : callable
        What came true of it.
    n, n_quick : int
        Replications of the full run and of the test.
    band : pair of float
    """

    finding: str
    kind: str
    text: str
    draw: Draw
    tell: Tell
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


def _itself(rng: np.random.Generator) -> np.random.Generator:
    return rng


def claim(
    finding: str,
    kind: str,
    text: str,
    *,
    n: int,
    n_quick: int,
    band: tuple[float, float] | None = None,
    of: Draw = _itself,
) -> Callable[[Tell], Tell]:
    """Enter a replication into the list of claims: what it tells of a generator, or ``of`` what is drawn by one."""

    def enter(tell: Tell) -> Tell:
        CLAIMS.append(Claim(finding, kind, text, of, tell, n, n_quick, band or BANDS[kind]))
        return tell

    return enter


def run_all(some: Sequence[Claim], size: Callable[[Claim], int], n_jobs: int = 1) -> Iterator[Share]:
    """Claims in their order, each repeated as often as its ``size`` says; neighbours about the same draws together."""
    for (draw, n), group in groupby(some, key=lambda what: (what.draw, size(what))):
        claims = list(group)
        # A generator tells something else to everyone who asks it.
        for together in [claims] if draw is not _itself else [[what] for what in claims]:
            yield from _run(together, n, n_jobs)


def run(what: Claim, n: int) -> Share:
    """Repeat a claim with fixed seeds."""
    [share] = _run([what], n, 1)
    return share


def _run(claims: list[Claim], n: int, n_jobs: int) -> list[Share]:
    tells = [what.tell for what in claims]
    told = Parallel(n_jobs=n_jobs)(delayed(_quietly)(claims[0].draw, tells, seed) for seed in range(n))
    return [
        _share(what, each) for what, each in zip(claims, np.array(told, dtype=float).transpose(1, 2, 0), strict=True)
    ]


def _share(what: Claim, told: np.ndarray) -> Share:
    true, made = told
    share = true.sum() / made.sum()
    # Statements of one replication hang together: the error is that of a ratio of sums over replications.
    spread = float(np.sqrt(np.sum((true - share * made) ** 2)) / made.sum())
    # Where all came out alike the spread says nothing: that of one replication that went the other way.
    n = len(true)
    return Share(what, float(share), max(spread, 1.0 / n) if share in (0.0, 1.0) else spread, n)


def _quietly(draw: Draw, tells: list[Tell], seed: int) -> list[Told]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = draw(np.random.default_rng([seed, 18]))
        return [tell(drawn) for tell in tells]
