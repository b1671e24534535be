"""Groups of verdicts: tests that they are alike, differences, boards that borrow strength, and two rankings compared."""

from __future__ import annotations

from collections.abc import Callable

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
from .registry import Draw, Told, claim

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


def _no_prompts(rng: np.random.Generator, **options: object) -> hja.Comparisons:
    rows = np.arange(2400)
    return _panel(rng, rows % N_GROUPS, rows, together=0.0, **options)  # type: ignore[arg-type]


def _uneven(rng: np.random.Generator) -> hja.Comparisons:
    """Forty prompts, most of the first item's rows in one group."""
    data = _ten_prompts(rng)
    rows = (data.columns["group"] == 0) | ((data.first_index > 0) & (data.second_index > 0)) | (rng.random(4800) < 0.2)
    return data.subset(rows.to_numpy())


def _tests(
    data: hja.Comparisons, seed: int, *, has_tastes: bool = False
) -> tuple[GroupTests, Observations, np.ndarray]:
    result = hja.JAModel.from_comparisons(data, position="judge").fit(n_random=0, warn_convergence=False)
    observed, group = result.model.observations, data.columns["group"].to_numpy(int)
    is_repeated = len(np.unique(data.columns["prompt"])) < data.n_rows
    clusters = Clusters.of("prompt" if is_repeated else np.arange(data.n_rows), data)
    tastes = Tastes.of(result.fit, observed, group, clusters) if has_tastes else None
    starts = (freed(result.fit, observed, group, clusters) for freed in (freed_positions, freed_scores))
    return GroupTests(*starts, True, seldom(observed, group), seed, tastes), observed, group


def _rejects(panel: Callable[..., hja.Comparisons], question: str, column: str = "p_value") -> Draw:
    def draw(rng: np.random.Generator) -> Told:
        tests = _tests(panel(rng), int(rng.integers(1 << 31)), has_tastes=question == "taste")[0]
        return float(tests.joint()[column][question] < 0.05), 1.0

    return draw


for _question, _text in (
    ("consensus", "scores agree"),
    ("proportionality", "scores are proportional"),
    ("scale", "scales of the scores agree"),
    ("sensitivity", "sensitivities agree"),
    ("position", "position effects agree"),
):
    claim(
        "G1",
        "size",
        f"{_text} over {TEN}" if _question == "consensus" else f"{_text}, the same panels",
        n=2000,
        n_quick=20,
    )(_rejects(_ten_prompts, _question))
claim("G1", "size", "scores have no trend over the groups, the same panels", n=2000, n_quick=20)(
    _rejects(_ten_prompts, "consensus", "trend_p_value")
)
claim("G1", "size", "scores agree over 8 groups that share 60 prompts", n=2000, n_quick=20)(
    _rejects(_shared_prompts, "consensus")
)
claim("G1", "size", "scores agree over 8 groups of 300 verdicts without prompts", n=2000, n_quick=20)(
    _rejects(_no_prompts, "consensus")
)
claim("G1", "size", "scales of the scores agree, the same", n=2000, n_quick=20)(_rejects(_no_prompts, "scale"))
claim(
    "G1",
    "size",
    "scores agree over 8 groups of 10 prompts, one item mostly compared in one of them",
    n=2000,
    n_quick=20,
)(_rejects(_uneven, "consensus"))


# Twenty panels have too few rejections for an error of their share.
@claim("G2", "size", f"the score of an item agrees over {TEN}", n=2000, n_quick=60)
def items(rng: np.random.Generator) -> Told:
    tests = _tests(_ten_prompts(rng), int(rng.integers(1 << 31)))[0]
    p = tests.items()["p_value"].to_numpy()
    return float((p < 0.05).sum()), float(len(p))


@claim("G2", "size", "the sensitivity, and the position effect, of a judge agree, the same panels", n=2000, n_quick=20)
def judges(rng: np.random.Generator) -> Told:
    return _of_judges(_tests(_ten_prompts(rng), int(rng.integers(1 << 31)))[0])


def _of_judges(tests: GroupTests) -> Told:
    p = np.concatenate([tests.judges(kind)["p_value"].to_numpy() for kind in ("sensitivity", "position")])
    return float((p < 0.05).sum()), float(len(p))


def _p_values(data: hja.Comparisons) -> np.ndarray:
    """Of the differences of every item in every group."""
    tests, observed, group = _tests(data, 0)
    found = deviations(tests.own_positions, observed, group)
    return np.asarray(2.0 * t.sf(np.abs(found.estimate / found.std_err), found.df)).ravel()


@claim("G2", "size", "an item in a group is as in all other groups, the same panels", n=2000, n_quick=20)
def differences(rng: np.random.Generator) -> Told:
    p = _p_values(_ten_prompts(rng))
    return float((p < 0.05).sum()), float(len(p))


@claim("G2", "size", "the same with 60 prompts in all groups", n=1000, n_quick=20)
def shared_differences(rng: np.random.Generator) -> Told:
    p = _p_values(_shared_prompts(rng))
    return float((p < 0.05).sum()), float(len(p))


@claim("G2", "false alarms", "some item is said to differ in some group (Holm), panels of G1", n=2000, n_quick=20)
def movers(rng: np.random.Generator) -> Told:
    return float(holm(_p_values(_ten_prompts(rng))).min() < 0.05), 1.0


# The item that is first in the alphabet is shown first, and all judges take what is shown first more often from group 5 on. The
# order of the scores is not that of the alphabet.
SHUFFLED = MU[[3, 0, 4, 2, 5, 1]] - MU
CONFOUNDED = (
    "8 groups of 300 verdicts, the alphabet deciding what is shown first, position effects 1.5 higher from group 5 on"
)


def _confounded(rng: np.random.Generator) -> hja.Comparisons:
    return _no_prompts(rng, apart=SHUFFLED, bonus=1.5, is_sorted=True)


for _question, _text in (
    ("consensus", f"scores agree over {CONFOUNDED}"),
    ("proportionality", "scores are proportional, the same"),
):
    claim("G7", "size", _text, n=2000, n_quick=20)(_rejects(_confounded, _question))
claim("G7", "size", "position effects agree, there with the items and not the positions changing", n=2000, n_quick=20)(
    _rejects(lambda rng: _no_prompts(rng, apart=SHUFFLED + _apart(rng, 0.5), is_sorted=True), "position")
)


# Items that change by much, and one that is first in the alphabet and falls while the last one rises.
FALLS = np.outer(PLACES > 3, [1.0, 0.0, 0.0, 0.0, 0.0, -1.0])
MANY = "8 groups of 1,000 verdicts, the alphabet deciding what is shown first, its first item rising and its last falling by 1"


def _confounding(rng: np.random.Generator) -> hja.Comparisons:
    rows = np.arange(8000)
    return _panel(rng, rows % N_GROUPS, rows, together=0.0, apart=FALLS, is_sorted=True)


for _question, _text in (
    ("position", f"position effects agree over {MANY}"),
    ("sensitivity", "sensitivities agree, the same"),
):
    claim("G7", "size", _text, n=2000, n_quick=20)(_rejects(_confounding, _question))


@claim(
    "G7",
    "size",
    "the sensitivity, and the position effect, of a judge agree over 8 groups of 10 prompts, items that change with sd 1",
    n=2000,
    n_quick=20,
)
def judges_where_items_change(rng: np.random.Generator) -> Told:
    return _of_judges(_tests(_ten_prompts(rng, apart=_apart(rng, 1.0)), int(rng.integers(1 << 31)))[0])


@claim("G7", "size", "the score of an item agrees, where position effects change", n=2000, n_quick=20)
def items_of_the_alphabet(rng: np.random.Generator) -> Told:
    tests = _tests(_confounded(rng), int(rng.integers(1 << 31)))[0]
    p = tests.items()["p_value"].to_numpy()
    return float((p < 0.05).sum()), float(len(p))


@claim("G7", "size", "an item in a group is as in all other groups, the same", n=2000, n_quick=20)
def differences_of_the_alphabet(rng: np.random.Generator) -> Told:
    p = _p_values(_confounded(rng))
    return float((p < 0.05).sum()), float(len(p))


def _apart(rng: np.random.Generator, sd: float) -> np.ndarray:
    return rng.normal(0.0, sd, (N_GROUPS, len(MU)))


@claim("G3", "power", "scores that differ between groups with sd 0.5, panels of G1", n=500, n_quick=15)
def power_of_scores(rng: np.random.Generator) -> Told:
    return _rejects(lambda rng: _ten_prompts(rng, apart=_apart(rng, 0.5)), "consensus")(rng)


@claim("G3", "power", "an item that rises by 1.5 from the first group to the last: its trend", n=500, n_quick=15)
def power_of_trend(rng: np.random.Generator) -> Told:
    apart = np.outer(PLACES / (N_GROUPS - 1.0), 1.5 * (np.arange(len(MU)) == 2))
    tests = _tests(_ten_prompts(rng, apart=apart), int(rng.integers(1 << 31)))[0]
    return float(tests.items()["trend_p_value"].iloc[2] < 0.05), 1.0


@claim("G3", "power", "the one judge whose position effect is 1.5 higher from group 5 on (drift)", n=500, n_quick=15)
def power_of_drift(rng: np.random.Generator) -> Told:
    data = _ten_prompts(rng, position=1.5 * (PLACES > 3))
    p = _tests(data, int(rng.integers(1 << 31)))[0].judges("position")["p_value"].to_numpy()
    return float(holm(p)[0] < 0.05), 1.0


@claim("G3", "power", "the one judge that follows the items no longer from group 5 on (drift)", n=500, n_quick=15)
def power_of_sensitivity(rng: np.random.Generator) -> Told:
    data = _ten_prompts(rng, sensitivity=1.0 * (PLACES < 4))
    p = _tests(data, int(rng.integers(1 << 31)))[0].judges("sensitivity")["p_value"].to_numpy()
    return float(holm(p)[0] < 0.05), 1.0


# What the first judge likes beyond the consensus, by up to 1.5 log-odds; and tastes that turn in the second half of the groups.
STRONG = np.tile([1.5, -1.5, 0.0, 1.5, -1.5, 0.0], (N_GROUPS, 1))
TURNS = np.where(PLACES > 3, -0.5, 0.5)[:, None] * np.tile([1.0, -1.0], 3)


def _rejects_tastes(panel: Callable[..., hja.Comparisons], *, apart: float = 0.0, **options: object) -> Draw:
    """Of every judge."""

    def draw(rng: np.random.Generator) -> Told:
        changes = {"apart": _apart(rng, apart)} if apart else {}
        tests = _tests(panel(rng, **options, **changes), int(rng.integers(1 << 31)), has_tastes=True)[0]
        p = tests.judges("taste")["p_value"].to_numpy()
        return float((p < 0.05).sum()), float(len(p))

    return draw


def _trends_of_tastes(rng: np.random.Generator) -> Told:
    tests = _tests(_ten_prompts(rng), int(rng.integers(1 << 31)), has_tastes=True)[0]
    p = tests.judges("taste")["trend_p_value"].to_numpy()
    return float((p < 0.05).sum()), float(len(p))


claim("G6", "size", f"the taste of a judge agrees over {TEN}", n=2000, n_quick=20)(_rejects_tastes(_ten_prompts))
claim("G6", "size", "tastes of all judges agree, the same panels", n=2000, n_quick=20)(_rejects(_ten_prompts, "taste"))
claim("G6", "size", "the taste of a judge has no trend, the same panels", n=2000, n_quick=20)(_trends_of_tastes)
claim("G6", "size", "the taste of a judge agrees, one judge with a strong taste in all groups", n=2000, n_quick=20)(
    _rejects_tastes(_ten_prompts, taste=STRONG)
)
claim("G6", "size", "the taste of a judge agrees over 8 groups of 300 verdicts without prompts", n=2000, n_quick=20)(
    _rejects_tastes(_no_prompts)
)
claim("G6", "size", "the taste of a judge agrees, items that change between groups with sd 0.5", n=2000, n_quick=20)(
    _rejects_tastes(_ten_prompts, apart=0.5)
)
claim("G6", "size", "the same and one judge with a strong taste in all groups", n=2000, n_quick=20)(
    _rejects_tastes(_ten_prompts, taste=STRONG, apart=0.5)
)


@claim("G6", "power", "the one judge whose likes of 0.5 log-odds turn into dislikes from group 5 on", n=500, n_quick=15)
def power_of_taste(rng: np.random.Generator) -> Told:
    tests = _tests(_ten_prompts(rng, taste=TURNS), int(rng.integers(1 << 31)), has_tastes=True)[0]
    return float(holm(tests.judges("taste")["p_value"].to_numpy())[0] < 0.05), 1.0


@claim("G6", "false alarms", "there, of another judge (Holm)", n=2000, n_quick=20)
def alarms_of_others(rng: np.random.Generator) -> Told:
    tests = _tests(_ten_prompts(rng, taste=TURNS), int(rng.integers(1 << 31)), has_tastes=True)[0]
    return float(holm(tests.judges("taste")["p_value"].to_numpy())[1:].min() < 0.05), 1.0


def _sparse(rng: np.random.Generator, sd: float = 0.3) -> tuple[hja.Comparisons, np.ndarray, np.ndarray]:
    """Eight groups of 150 verdicts on 20 items."""
    mu = rng.standard_normal(20)
    scores = mu + rng.normal(0.0, sd, (N_GROUPS, 20))
    group = np.repeat(PLACES, 150)
    first, second = random_pairs(rng, len(group), 20)
    wins = rng.random(len(group)) < expit(scores[group, first] - scores[group, second])
    data = comparisons(np.zeros(len(group), dtype=int), first, second, wins, group=group)
    return data, group, in_centred_basis(scores) @ centred_basis(20).T


SPARSE = "8 groups of 150 verdicts on 20 items, sd of the scores 1, of groups 0.3"


def _boards(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[float, float]]:
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


@claim("G4", "coverage", f"shrunken scores of {SPARSE}", n=1000, n_quick=10)
def shrunken_coverage(rng: np.random.Generator) -> Told:
    error, std_err, _, _ = _boards(rng)
    return covered(error.ravel(), std_err.ravel(), 0.0)


@claim(
    "G4",
    "ratio",
    "their mean squared error, in that of separate fits (with ridge 0.1 where these have none)",
    n=500,
    n_quick=10,
    band=(0.0, 0.5),
)
def shrunken_error(rng: np.random.Generator) -> Told:
    error, _, apart, _ = _boards(rng)
    return float(np.square(error).mean()), float(apart.mean())


@claim("G4", "coverage", "the interval of the heterogeneity, the same panels", n=1000, n_quick=10)
def heterogeneity(rng: np.random.Generator) -> Told:
    low, high = _boards(rng)[3]
    return float(low <= 0.3 <= high), 1.0


def _two(rng: np.random.Generator, *, are_shared: bool) -> hja.Comparisons:
    """Two runs about 60 prompts each, the same or others."""
    half = np.repeat([0, 1], 1800)
    prompt = np.tile(np.repeat(np.arange(60), 30), 2) + (0 if are_shared else 60 * half)
    return _panel(rng, half, prompt)


def _moved(rng: np.random.Generator, *, are_shared: bool) -> np.ndarray:
    data = _two(rng, are_shared=are_shared)
    fits = [
        hja.JAModel.from_comparisons(data.subset((data.columns["group"] == half).to_numpy()), position="judge").fit(
            n_random=0, warn_convergence=False, cov_type="cluster", cov_kwds={"groups": "prompt"}
        )
        for half in (0, 1)
    ]
    found = hja.compare_rankings(*fits)
    return np.append(found.table["p_value"].to_numpy(), found.p_value)


@claim(
    "G5",
    "size",
    "an item did not move between two results about 60 prompts each (compare_rankings)",
    n=2000,
    n_quick=20,
)
def independent(rng: np.random.Generator) -> Told:
    p = _moved(rng, are_shared=False)[:-1]
    return float((p < 0.05).sum()), float(len(p))


@claim("G5", "size", "the same where both are about the same prompts", n=2000, n_quick=20)
def paired(rng: np.random.Generator) -> Told:
    p = _moved(rng, are_shared=True)[:-1]
    return float((p < 0.05).sum()), float(len(p))


@claim("G5", "size", "no item moved, the same prompts: the joint test", n=2000, n_quick=20)
def paired_jointly(rng: np.random.Generator) -> Told:
    return float(_moved(rng, are_shared=True)[-1] < 0.05), 1.0
