"""Groups of verdicts: tests that they are alike, differences, boards that borrow strength, and two rankings compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np
from scipy.special import expit
from scipy.stats import t

import hjastats as hja
from hjastats.diagnostics.adjusted import holm
from hjastats.fitted import Observations
from hjastats.inference.clusters import Clusters
from hjastats.inference.group_scores import deviations, group_scores, seldom
from hjastats.inference.group_starts import freed_positions, freed_scores
from hjastats.inference.group_tests import GroupTests
from hjastats.inference.tastes import Tastes
from hjastats.model.tangent import centred_basis, in_centred_basis

from .designs import comparisons, covered, random_pairs, spread
from .registry import Draw, Tell, Told, claim

N_JUDGES, N_GROUPS = 6, 8
MU = spread(6, 0.8)
PLACES = np.arange(N_GROUPS)
TEN = "8 groups of 10 prompts with 60 verdicts each, which hang together; 6 judges, 6 items, JA with position"


def _panel(
    rng: np.random.Generator,
    group: np.ndarray,
    prompt: np.ndarray,
    *,
    apart: np.ndarray | float = 0.0,
    together: float = 0.6,
    position: np.ndarray | None = None,
    sensitivity: np.ndarray | None = None,
    taste: np.ndarray | None = None,
    bonus: float = 0.0,
    is_sorted: bool = False,
) -> hja.Comparisons:
    """Verdicts of judges with sensitivities and position effects on prompts that suit some items more.

    ``apart`` (n_groups, n_items) is added to the scores, ``position`` and ``sensitivity`` (n_groups,) to those of the first judge,
    and ``taste`` (n_groups, n_items) to its scores; ``bonus`` to the position effects of all judges in the second half of the
    groups. Where it ``is_sorted``, the item that is first in the alphabet is shown first.
    """
    n = len(group)
    judge = rng.integers(N_JUDGES, size=n)
    gamma, own = np.exp(rng.normal(0.0, 0.2, N_JUDGES))[judge], rng.normal(0.0, 0.5, N_JUDGES)[judge]
    own = own + bonus * (group >= N_GROUPS // 2)
    if position is not None:
        own = own + np.where(judge == 0, position[group], 0.0)
    if sensitivity is not None:
        gamma = gamma * np.where(judge == 0, sensitivity[group], 1.0)
    scores = MU + np.broadcast_to(apart, (N_GROUPS, len(MU)))[group]
    scores = scores + rng.normal(0.0, together, (int(prompt.max()) + 1, len(MU)))[prompt]
    first, second = random_pairs(rng, n, len(MU))
    if is_sorted:
        first, second = np.minimum(first, second), np.maximum(first, second)
    rows = np.arange(n)
    odds = gamma * (scores[rows, first] - scores[rows, second]) + own
    if taste is not None:
        odds = odds + np.where(judge == 0, taste[group, first] - taste[group, second], 0.0)
    return comparisons(judge, first, second, rng.random(n) < expit(odds), prompt=prompt, group=group)


def _ten_prompts(rng: np.random.Generator, **options: object) -> hja.Comparisons:
    prompt = np.repeat(np.arange(10 * N_GROUPS), 60)
    return _panel(rng, prompt // 10, prompt, **options)  # type: ignore[arg-type]


def _shared_prompts(rng: np.random.Generator, **options: object) -> hja.Comparisons:
    """Prompts with rows in all groups."""
    prompt = np.repeat(np.arange(60), 80)
    return _panel(rng, np.arange(len(prompt)) % N_GROUPS, prompt, **options)  # type: ignore[arg-type]


def _no_prompts(rng: np.random.Generator, n: int = 2400, **options: object) -> hja.Comparisons:
    rows = np.arange(n)
    return _panel(rng, rows % N_GROUPS, rows, together=0.0, **options)  # type: ignore[arg-type]


def _uneven(rng: np.random.Generator) -> hja.Comparisons:
    """Forty prompts, most of the first item's rows in one group."""
    data = _ten_prompts(rng)
    rows = (data.columns["group"] == 0) | ((data.first_index > 0) & (data.second_index > 0)) | (rng.random(4800) < 0.2)
    return data.subset(rows.to_numpy())


@dataclass(frozen=True)
class Tested:
    """A panel with its tests."""

    tests: GroupTests
    observed: Observations
    group: np.ndarray

    @cached_property
    def differences(self) -> np.ndarray:
        """P-values of every item in every group."""
        found = deviations(self.tests.own_positions, self.observed, self.group)
        return np.asarray(2.0 * t.sf(np.abs(found.estimate / found.std_err), found.df)).ravel()


def _tested(
    design: Callable[..., hja.Comparisons], *, sd: float = 0.0, has_tastes: bool = False, **options: object
) -> Draw:
    """Panels of a design whose items change between groups with a standard deviation."""

    def draw(rng: np.random.Generator) -> Tested:
        changes = {"apart": rng.normal(0.0, sd, (N_GROUPS, len(MU)))} if sd else {}
        data = design(rng, **options, **changes)
        result = hja.JAModel.from_comparisons(data, position="judge").fit(n_random=0, warn_convergence=False)
        observed, group = result.model.observations, data.columns["group"].to_numpy(int)
        is_repeated = len(np.unique(data.columns["prompt"])) < data.n_rows
        clusters = Clusters.of("prompt" if is_repeated else np.arange(data.n_rows), data)
        tastes = Tastes.of(result.fit, observed, group, clusters) if has_tastes else None
        starts = (freed(result.fit, observed, group, clusters) for freed in (freed_positions, freed_scores))
        tests = GroupTests(*starts, True, seldom(observed, group), int(rng.integers(1 << 31)), tastes)
        return Tested(tests, observed, group)

    return draw


def _rejected(p: np.ndarray) -> Told:
    return float((p < 0.05).sum()), float(len(p))


def _joint(question: str, column: str = "p_value") -> Tell:
    return lambda made: _rejected(made.tests.joint().loc[[question], column].to_numpy())


def _items(made: Tested) -> Told:
    return _rejected(made.tests.items()["p_value"].to_numpy())


def _judges(*kinds: str, column: str = "p_value") -> Tell:
    return lambda made: _rejected(np.concatenate([made.tests.judges(kind)[column].to_numpy() for kind in kinds]))


def _differences(made: Tested) -> Told:
    return _rejected(made.differences)


def _some_difference(made: Tested) -> Told:
    return _rejected(holm(made.differences).min(keepdims=True))


def _first_judge(kind: str) -> Tell:
    return lambda made: _rejected(holm(made.tests.judges(kind)["p_value"].to_numpy())[:1])


def _other_judge(kind: str) -> Tell:
    return lambda made: _rejected(holm(made.tests.judges(kind)["p_value"].to_numpy())[1:].min(keepdims=True))


_size = partial(claim, kind="size", n=2000, n_quick=20)
_power = partial(claim, kind="power", n=500, n_quick=15)
_alarms = partial(claim, kind="false alarms", n=2000, n_quick=20)

ALIKE, SHARED, PLAIN = _tested(_ten_prompts), _tested(_shared_prompts), _tested(_no_prompts)
_size("G1", text=f"scores agree over {TEN}", of=ALIKE)(_joint("consensus"))
_size("G1", text="scores are proportional, the same panels", of=ALIKE)(_joint("proportionality"))
_size("G1", text="scales of the scores agree, the same panels", of=ALIKE)(_joint("scale"))
_size("G1", text="sensitivities agree, the same panels", of=ALIKE)(_joint("sensitivity"))
_size("G1", text="position effects agree, the same panels", of=ALIKE)(_joint("position"))
_size("G1", text="scores have no trend over the groups, the same panels", of=ALIKE)(
    _joint("consensus", "trend_p_value")
)
_size("G1", text="scores agree over 8 groups that share 60 prompts", of=SHARED)(_joint("consensus"))
_size("G1", text="scores agree over 8 groups of 300 verdicts without prompts", of=PLAIN)(_joint("consensus"))
_size("G1", text="scales of the scores agree, the same", of=PLAIN)(_joint("scale"))
_size(
    "G1",
    text="scores agree over 8 groups of 10 prompts, one item mostly compared in one of them",
    of=_tested(_uneven),
)(_joint("consensus"))


# Judges of two kinds who are drawn from one population, each with a taste, on prompts that all share.
@claim(
    "G1",
    "size",
    "scores agree over two groups of 15 judges with tastes of sd 0.8, 60 verdicts each on 80 prompts that all share (by_group)",
    n=1000,
    n_quick=20,
)
def kinds_of_judges(rng: np.random.Generator) -> Told:
    judge = np.repeat(np.arange(30), 60)
    scores = (MU + rng.normal(0.0, 0.8, (30, len(MU))))[judge]
    first, second = random_pairs(rng, len(judge), len(MU))
    rows = np.arange(len(judge))
    wins = rng.random(len(judge)) < expit(scores[rows, first] - scores[rows, second])
    prompt = rng.integers(80, size=len(judge))
    data = comparisons(judge, first, second, wins, prompt=prompt, group=judge // 15)
    return _rejected(
        hja.by_group(data, "group", model="btl", position=None).tests.loc[["consensus"], "p_value"].to_numpy()
    )


# Twenty panels have too few rejections for an error of their share.
_size("G2", text=f"the score of an item agrees over {TEN}", of=ALIKE, n_quick=60)(_items)
_size("G2", text="the sensitivity, and the position effect, of a judge agree, the same panels", of=ALIKE)(
    _judges("sensitivity", "position")
)
_size("G2", text="an item in a group is as in all other groups, the same panels", of=ALIKE)(_differences)
_alarms("G2", text="some item is said to differ in some group (Holm), panels of G1", of=ALIKE)(_some_difference)
_size("G2", text="an item in a group is as in all other groups, 60 prompts in all groups", of=SHARED)(_differences)

_power("G3", text="scores that differ between groups with sd 0.5, panels of G1", of=_tested(_ten_prompts, sd=0.5))(
    _joint("consensus")
)
RISES = np.outer(PLACES / (N_GROUPS - 1.0), 1.5 * (np.arange(len(MU)) == 2))
_power(
    "G3",
    text="an item that rises by 1.5 from the first group to the last: its trend",
    of=_tested(_ten_prompts, apart=RISES),
)(lambda made: _rejected(made.tests.items()["trend_p_value"].to_numpy()[[2]]))
_power(
    "G3",
    text="the one judge whose position effect is 1.5 higher from group 5 on (drift)",
    of=_tested(_ten_prompts, position=1.5 * (PLACES > 3)),
)(_first_judge("position"))
_power(
    "G3",
    text="the one judge that follows the items no longer from group 5 on (drift)",
    of=_tested(_ten_prompts, sensitivity=1.0 * (PLACES < 4)),
)(_first_judge("sensitivity"))

# The item that is first in the alphabet is shown first, and all judges take what is shown first more often from group 5 on. The
# order of the scores is not that of the alphabet.
SHUFFLED = MU[[3, 0, 4, 2, 5, 1]] - MU
CONFOUNDED = _tested(_no_prompts, apart=SHUFFLED, bonus=1.5, is_sorted=True)
_size(
    "G7",
    text="scores agree over 8 groups of 300 verdicts, the alphabet deciding what is shown first, position effects 1.5 higher from "
    "group 5 on",
    of=CONFOUNDED,
)(_joint("consensus"))
_size("G7", text="scores are proportional, the same", of=CONFOUNDED)(_joint("proportionality"))
_size("G7", text="the score of an item agrees, the same", of=CONFOUNDED)(_items)
_size("G7", text="an item in a group is as in all other groups, the same", of=CONFOUNDED)(_differences)
# And items that change, the first in the alphabet rising and the last falling.
TURNED_ITEMS = np.outer(PLACES > 3, [1.0, 0.0, 0.0, 0.0, 0.0, -1.0])
TURNED = _tested(partial(_no_prompts, n=8000), apart=TURNED_ITEMS, is_sorted=True)
_size(
    "G7",
    text="position effects agree over 8 groups of 1,000 verdicts, the alphabet deciding what is shown first, its first item rising "
    "and its last falling by 1 in group 5",
    of=TURNED,
)(_joint("position"))
_size("G7", text="sensitivities agree, the same", of=TURNED)(_joint("sensitivity"))
_size(
    "G7",
    text="the sensitivity, and the position effect, of a judge agree over 8 groups of 10 prompts, items that change with sd 1",
    of=_tested(_ten_prompts, sd=1.0),
)(_judges("sensitivity", "position"))

# What the first judge likes beyond the consensus, by up to 1.5 log-odds; and tastes that turn in the second half of the groups.
STRONG = np.tile([1.5, -1.5, 0.0, 1.5, -1.5, 0.0], (N_GROUPS, 1))
TURNS = np.where(PLACES > 3, -0.5, 0.5)[:, None] * np.tile([1.0, -1.0], 3)
_tastes = partial(_tested, has_tastes=True)
TASTES, TURNING = _tastes(_ten_prompts), _tastes(_ten_prompts, taste=TURNS)
_size("G6", text=f"the taste of a judge agrees over {TEN}", of=TASTES)(_judges("taste"))
_size("G6", text="tastes of all judges agree, the same panels", of=TASTES)(_joint("taste"))
_size("G6", text="the taste of a judge has no trend, the same panels", of=TASTES)(
    _judges("taste", column="trend_p_value")
)
_size(
    "G6",
    text="the taste of a judge agrees, one judge with a strong taste in all groups",
    of=_tastes(_ten_prompts, taste=STRONG),
)(_judges("taste"))
_size("G6", text="the taste of a judge agrees over 8 groups of 300 verdicts without prompts", of=_tastes(_no_prompts))(
    _judges("taste")
)
_size(
    "G6",
    text="the taste of a judge agrees, items that change between groups with sd 0.5",
    of=_tastes(_ten_prompts, sd=0.5),
)(_judges("taste"))
_size(
    "G6",
    text="the same and one judge with a strong taste in all groups",
    of=_tastes(_ten_prompts, taste=STRONG, sd=0.5),
)(_judges("taste"))
_power("G6", text="the one judge whose likes of 0.5 log-odds turn into dislikes from group 5 on", of=TURNING, n=2000)(
    _first_judge("taste")
)
_alarms("G6", text="there, of another judge (Holm)", of=TURNING)(_other_judge("taste"))


def _sparse(rng: np.random.Generator, sd: float = 0.3) -> tuple[hja.Comparisons, np.ndarray, np.ndarray]:
    """Eight groups of 150 verdicts on 20 items."""
    mu = rng.standard_normal(20)
    scores = mu + rng.normal(0.0, sd, (N_GROUPS, 20))
    group = np.repeat(PLACES, 150)
    first, second = random_pairs(rng, len(group), 20)
    wins = rng.random(len(group)) < expit(scores[group, first] - scores[group, second])
    data = comparisons(np.zeros(len(group), dtype=int), first, second, wins, group=group)
    return data, group, in_centred_basis(scores) @ centred_basis(20).T


Boards: TypeAlias = "tuple[np.ndarray, np.ndarray, np.ndarray, tuple[float, float]]"
SPARSE = "8 groups of 150 verdicts on 20 items, sd of the scores 1, of groups 0.3"


def _boards(rng: np.random.Generator) -> Boards:
    """Errors and standard errors of shrunken scores, squared errors of separate fits, and the interval of the heterogeneity."""
    data, group, truth = _sparse(rng)
    result = hja.BTLModel.from_comparisons(data).fit(warn_convergence=False)
    rows = Clusters.of("row", data)
    observed = result.model.observations
    found = group_scores(result.fit, observed, group, [None] * N_GROUPS, rows, None, are_shared=False).shrunken
    basis = centred_basis(20)
    error = found.scores @ basis.T - truth
    std_err = np.sqrt(np.einsum("ip,gpq,iq->gi", basis, found.errors, basis))
    apart = []
    for g in PLACES:
        own = result.model.without_comparisons(np.where(group == g, 0.0, 1.0))
        separate = own.fit(warn_convergence=False)
        if not separate.converged:
            separate = own.fit_regularized(0.1, warn_convergence=False)
        apart.append(np.square(separate.fit.parts.mu - truth[g]).mean())
    return error, std_err, np.array(apart), found.interval()


@claim("G4", "coverage", f"shrunken scores of {SPARSE}", n=1000, n_quick=10, of=_boards)
def shrunken_coverage(made: Boards) -> Told:
    error, std_err, _, _ = made
    return covered(error.ravel(), std_err.ravel(), 0.0)


@claim(
    "G4",
    "ratio",
    "their mean squared error, in that of separate fits (with ridge 0.1 where these have none)",
    n=1000,
    n_quick=10,
    band=(0.0, 0.5),
    of=_boards,
)
def shrunken_error(made: Boards) -> Told:
    error, _, apart, _ = made
    return float(np.square(error).mean()), float(apart.mean())


@claim("G4", "coverage", "the interval of the heterogeneity, the same panels", n=1000, n_quick=10, of=_boards)
def heterogeneity(made: Boards) -> Told:
    low, high = made[3]
    return float(low <= 0.3 <= high), 1.0


def _two(rng: np.random.Generator, *, are_shared: bool) -> hja.Comparisons:
    """Two runs about 60 prompts each, the same or others."""
    half = np.repeat([0, 1], 1800)
    prompt = np.tile(np.repeat(np.arange(60), 30), 2) + (0 if are_shared else 60 * half)
    return _panel(rng, half, prompt)


def _moved(rng: np.random.Generator, *, are_shared: bool = False) -> np.ndarray:
    """P-values of the items, and of all of them together."""
    data = _two(rng, are_shared=are_shared)
    fits = [
        hja.JAModel.from_comparisons(data.subset((data.columns["group"] == half).to_numpy()), position="judge").fit(
            n_random=0, warn_convergence=False, cov_type="cluster", cov_kwds={"groups": "prompt"}
        )
        for half in (0, 1)
    ]
    found = hja.compare_rankings(*fits)
    return np.append(found.table["p_value"].to_numpy(), found.p_value)


_size("G5", text="an item did not move between two results about 60 prompts each (compare_rankings)", of=_moved)(
    lambda p: _rejected(p[:-1])
)
PAIRED = partial(_moved, are_shared=True)
_size("G5", text="the same where both are about the same prompts", of=PAIRED)(lambda p: _rejected(p[:-1]))
_size("G5", text="no item moved, the same prompts: the joint test", of=PAIRED)(lambda p: _rejected(p[-1:]))
