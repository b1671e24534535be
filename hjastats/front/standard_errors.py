"""Which standard errors the data ask for."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from .. import limits
from ..data.comparisons import Comparisons
from ..diagnostics.dependence import dependence
from ..inference.clusters import Clusters
from ..model.response import is_verdict
from ..results import HJAResults
from .asked import AUTO, Asked, Chosen


def with_errors(result: HJAResults, asked: Asked, chosen: Chosen) -> HJAResults:
    """The result with standard errors that the data ask for."""
    if asked.groups is not None or asked.cov_type != AUTO:
        kind = "cluster" if asked.groups is not None else asked.cov_type
        chosen.say("errors", kind, "asked for")
        return result.with_covariance(kind, None if asked.groups is None else {"groups": asked.groups})
    if result.fit.penalty is not None:
        chosen.say("errors", "nonrobust", "of the posterior: robust ones are too small where verdicts are all one way")
        return result
    data, remark = result.model.comparisons, ""
    for clusters in _ways(result, data):
        kind = "prompts" if clusters.name != "judge" else "judges"
        if clusters.n < limits.FEW_CLUSTERS or clusters.n <= data.n_items:
            remark = remark or f"; {clusters.n} {kind} are too few to cluster by"
            continue
        return _clustered(result, clusters, kind, chosen)
    if not data.has_whole_weights:
        chosen.say("errors", "cluster", f"by row, since weights are no whole numbers{remark}")
        return result.with_covariance("cluster", {"groups": "row"})
    undecided = float(np.average(~is_verdict(result.model.response, data.outcome), weights=data.weight))
    if undecided:
        what = "ties or soft preferences, which vary less than the model says"
        chosen.say("errors", "HC0", f"{undecided:.1%} of the verdicts are {what}{remark}", undecided)
        return result.with_covariance("HC0")
    chosen.say(
        "errors", "nonrobust", f"verdicts are decided, and no prompt repeats{remark}" if not remark else remark[2:]
    )
    return result


def _ways(result: HJAResults, data: Comparisons) -> Iterator[Clusters]:
    """What rows may hang together by: prompts, and judges that the model takes to be alike."""
    prompts, has_own = Clusters.of_prompts(data), result.fit.layout.has_judge_parameters
    if prompts is not None and prompts.has_repeats and not (has_own and (prompts.per_judge(data) == 1).any()):
        yield prompts
    if not has_own and (judges := Clusters.of("judge", data)).has_repeats:
        yield judges


def _clustered(result: HJAResults, clusters: Clusters, kind: str, chosen: Chosen) -> HJAResults:
    data = result.model.comparisons
    found = dependence(result.fit, result.model.observations, clusters)
    reason, ratio = f"{clusters.n:,} {kind}", math.nan
    if found is not None and "mu" in found.ratios:
        ratio = float(found.ratios["mu"].max())
        reason += f"; errors of scores up to {ratio:.2f} times the model's, median {np.median(found.ratios['mu']):.2f}"
    chosen.say("errors", "cluster", f"by {clusters.name!r}: {reason}", ratio)
    has_gaps = clusters.name in data.columns and bool(data.columns[clusters.name].isna().any())
    return result.with_covariance("cluster", {"groups": clusters.code if has_gaps else clusters.name})
