"""Which standard errors the data ask for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import limits
from ..data.comparisons import Comparisons
from ..diagnostics.dependence import dependence
from ..inference.clusters import Clusters, without_variance
from ..mixed import MixedFit
from ..model.response import is_verdict
from ..model.structures import Sampled
from ..results import HJAResults
from .asked import AUTO, Asked, Chosen

# Kinds of parameters whose errors are compared with those of the model, in words.
_TOLD = {"mu": "scores", "beta": "traits", "B": "interactions"}


def with_errors(result: HJAResults, asked: Asked, chosen: Chosen) -> HJAResults:
    """The result with standard errors that the data ask for."""
    if isinstance(result.fit, MixedFit):
        result = result if asked.cov_type in (AUTO, "nonrobust") and asked.groups is None else result.with_covariance()
        chosen.say("errors", "nonrobust", "random effects have those of their distribution")
        return result
    if asked.groups is not None or asked.cov_type != AUTO:
        kind = "cluster" if asked.groups is not None else asked.cov_type
        chosen.say("errors", kind, "asked for")
        return result.with_covariance(kind, None if asked.groups is None else {"groups": asked.groups})
    if result.fit.penalty is not None:
        chosen.say("errors", "nonrobust", "of the posterior: robust ones are too small where verdicts are all one way")
        return result
    if result.fit.layout.structure.kind == Sampled.kind:
        return _of_a_sample(result, chosen)
    data, remark = result.model.comparisons, ""
    for clusters in _ways(result, data):
        if not are_enough(clusters, data):
            remark = remark or f"; {clusters.n} {clusters.noun} are too few to cluster by"
            continue
        return _clustered(result, clusters, remark, chosen)
    if not data.has_whole_weights:
        chosen.say("errors", "cluster", f"by row, since weights are no whole numbers{remark}")
        return result.with_covariance("cluster", {"groups": "row"})
    if undecided := _undecided(result, data):
        what = "ties or soft preferences, which vary less than the model says"
        chosen.say("errors", "HC0", f"{undecided:.1%} of the verdicts are {what}{remark}", undecided)
        return result.with_covariance("HC0")
    chosen.say(
        "errors", "nonrobust", f"verdicts are decided, and no prompt repeats{remark}" if not remark else remark[2:]
    )
    return result


def _of_a_sample(result: HJAResults, chosen: Chosen) -> HJAResults:
    """The result with errors that count the drawing of judges, and prompts or the ties that make judges vary less."""
    data = result.model.comparisons
    prompts, judges = Clusters.of_prompts(data), Clusters.of("judge", data)
    # Beside the judges even prompts fewer than the items leave no score without variance.
    if prompts is not None and prompts.has_repeats and prompts.n >= limits.FEWEST_PROMPTS:
        return _robust(result, prompts, f"{prompts.n:,} {prompts.noun} beside the judges", chosen)
    remark = (
        "" if prompts is None or not prompts.has_repeats else f"; {prompts.n} {prompts.noun} are too few to cluster by"
    )
    undecided = _undecided(result, data)
    if (undecided or not data.has_whole_weights) and are_enough(judges, data):
        reason = (
            f"{undecided:.1%} of the verdicts are ties or soft preferences"
            if undecided
            else "weights are no whole numbers"
        )
        return _robust(result, judges, reason + remark, chosen)
    chosen.say("errors", "nonrobust", f"they count the drawing of these judges{remark}")
    return result


def _robust(result: HJAResults, clusters: Clusters, reason: str, chosen: Chosen) -> HJAResults:
    """The population with clustered errors of its parameters; ratios are those of its scores."""
    robust = result.with_covariance("cluster", {"groups": _groups(clusters, result.model.comparisons)})
    ratios = (robust.bse / result.bse).filter(like="mu[")
    told = f"{reason}; errors of scores up to {ratios.max():.2f} times the model's, median {ratios.median():.2f}"
    chosen.say("errors", "cluster", f"by {clusters.name!r}: {told}", float(ratios.max()))
    return robust


def are_enough(clusters: Clusters, data: Comparisons) -> bool:
    """Whether errors that count them are worth having."""
    return clusters.n >= limits.FEW_CLUSTERS and clusters.n > data.n_items


def _undecided(result: HJAResults, data: Comparisons) -> float:
    """Share of the verdicts that are none of those of the model."""
    return float(np.average(~is_verdict(result.model.response, data.outcome), weights=data.weight))


def _groups(clusters: Clusters, data: Comparisons) -> Any:
    """The name of the column, which follows when rows are left out, or the codes where some rows miss a label."""
    return clusters.code if clusters.has_gaps(data) else clusters.name


def _ways(result: HJAResults, data: Comparisons) -> Iterator[Clusters]:
    """What rows may hang together by: prompts, rankings within them, and judges that the model takes to be alike."""
    prompts = Clusters.of_prompts(data)
    found = [] if prompts is None else [prompts]
    if prompts is not None and isinstance(data.cluster, str) and prompts.name != data.cluster:
        found.append(Clusters.of(data.cluster, data))
    for clusters in found:
        if clusters.has_repeats and not len(without_variance(clusters, data, result.fit)):
            yield clusters
    judges = _judges(result, data)
    if judges is not None:
        yield judges


def _judges(result: HJAResults, data: Comparisons) -> Clusters | None:
    """Judges as clusters, where the model takes them to be alike, or to differ by their traits alone."""
    judges = Clusters.of("judge", data)
    is_usable = judges.has_repeats and not result.fit.layout.has_own_parameters
    return judges if is_usable and not len(without_variance(judges, data, result.fit)) else None


def _compares_judges(result: HJAResults) -> bool:
    """Whether coefficients say how judges with some trait differ from others."""
    return "B" in result.fit.layout.slices


def _clustered(result: HJAResults, clusters: Clusters, remark: str, chosen: Chosen) -> HJAResults:
    data = result.model.comparisons
    judges = _judges(result, data) if _compares_judges(result) and clusters.name != "judge" else None
    if judges is not None and are_enough(judges, data):
        # Of judges who differ by their traits each has a taste besides, whatever prompts have in common: 41% of shuffled traits had
        # p < 0.05 with prompts alone, 4% with both.
        chosen.say(
            "errors",
            "cluster",
            f"by {clusters.name!r} and 'judge': {clusters.n:,} {clusters.noun}, {judges.n:,} judges",
        )
        return result.with_covariance("cluster", {"groups": [_groups(clusters, data), "judge"]})
    found = dependence(result.fit, result.model.observations, clusters)
    reason, ratio = f"{clusters.n:,} {clusters.noun}", 0.0
    known = {} if found is None else {kind: found.ratios[kind] for kind in _TOLD if kind in found.ratios}
    for kind, ratios in known.items():
        ratio, what = max(float(ratios.max()), ratio), _TOLD[kind]
        reason += f"; errors of {what} up to {ratios.max():.2f} times the model's, median {np.median(ratios):.2f}"
    chosen.say("errors", "cluster", f"by {clusters.name!r}: {reason}{remark}", ratio or math.nan)
    return result.with_covariance("cluster", {"groups": _groups(clusters, data)})
