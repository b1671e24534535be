"""Which fits make anchored scores: of the target's verdicts, of the others', and what prompts have to do with both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import limits
from ..anchored_results import AnchoredResults
from ..data.arrays import check_option
from ..data.comparisons import Comparisons
from ..data.readers import check_reading, read_comparisons
from ..errors import ComparisonError, IdentificationError, OptionError
from ..inference.anchored_fit import Direct
from ..inference.auxiliary import SCORES
from ..inference.clusters import Clusters
from ..inference.evidence import Sources
from ..model.terms import SCOPES
from ..population import PopulationFit
from ..results import HJAResults
from ..words import counted, quoted
from .family import BTLModel, HJAModel, JAModel, JudgewiseBTLModel
from .population import PopulationHJAModel

# What the target's own scores come from.
TARGETS: dict[str, type[HJAModel]] = {"btl": BTLModel, "ja": JAModel, "sample": PopulationHJAModel}
# Ridge at whose mode the likelihood is taken where it has no maximum.
RIDGE = 0.1


def anchor(
    source: Any,
    target: Any,
    *,
    auxiliary: str | int | Mapping[str, float] = "consensus",
    model: str = "btl",
    position: str | None = None,
    auxiliary_position: str | None = "judge",
    prompt: str | None = None,
    seed: int = 0,
    **reading: Any,
) -> AnchoredResults:
    """Rank items as a few trusted judges would, with the help of many verdicts of others.

    The scores of the others count as far as they have proved to track the target: an empirical Bayes estimate whose errors count
    everything that is estimated. Judges that mislead cost next to nothing. See docs/anchor.md.

    Parameters
    ----------
    source : path, DataFrame, list of dicts, dict of columns or Comparisons
        Whatever :func:`read_comparisons` reads.
    target : str, sequence of str, or mask
        The judge, or judges, whose view is asked for; or a boolean for each row.
    auxiliary : {"consensus", "judges", "directions"}, int or mapping
        What of the others counts: their consensus (JA), each of them by itself, or the consensus with directions of disagreement
        (an int says how many); or weights of judges.
    model : {"btl", "ja", "sample"}
        Of the target's own verdicts: as one voice, with sensitivities, or judges as a sample.
    position, auxiliary_position : {None, "common", "judge"}
        Bonus of the item shown first, in the target's and in the others' verdicts.
    prompt : str, optional
        Column of prompts, which rows have in common; by default as :func:`swap_report` finds it.
    seed : int
        Of quasi-random integration.
    **reading
        How to read the source.

    Returns
    -------
    AnchoredResults

    Examples
    --------
    >>> import hjastats as hja
    >>> result = hja.anchor(hja.datasets.load_panel(), "judge-2")
    >>> result.worth
    400 verdicts of the target, with those of 7 other judges, are as good as 429 of the target alone.
    >>> result.ranking()[["place", "place_lower", "place_upper"]].head(2)
             place  place_lower  place_upper
    item
    model-I      1            1            3
    model-H      2            1            3
    """
    check_reading(reading, anchor)
    check_option("model", model, tuple(TARGETS))
    check_option("position", position, SCOPES)
    if position == "judge" and model == "btl":
        raise OptionError("position='judge' needs model='ja': the target speaks with one voice, position='common'.")
    data = source if isinstance(source, Comparisons) else read_comparisons(source, **reading)
    is_target = target_rows(data, target)
    prompts = Clusters.of_prompts(data, prompt)
    mine, others = rows_of(data, is_target), data.subset(~is_target)
    if missing := sorted(set(data.items) - set(others.items)):
        raise ComparisonError(f"the other judges never saw {quoted(missing, 5)}: leave these items out.")
    own, theirs = (None if prompts is None else _some(prompts, rows) for rows in (is_target, ~is_target))
    base, direct = _direct(mine, model, position, own)
    panel = _auxiliary(others, auxiliary, auxiliary_position, theirs)
    sources = Sources(direct, base.model.observations, panel.fit, panel.model.observations, own, theirs)
    options = {
        "target": None if _is_mask(target, data) else [target] if isinstance(target, str) else list(target),
        "auxiliary": dict(auxiliary) if isinstance(auxiliary, Mapping) else auxiliary,
        "model": model,
        "position": position,
        "auxiliary_position": auxiliary_position,
        "prompt": prompt,
        "seed": seed,
    }
    return AnchoredResults(base.model, panel, sources, options, data, is_target)


def _is_mask(target: Any, data: Comparisons) -> bool:
    try:
        values = np.asarray(target)
    except ValueError:
        # Lists of several lengths.
        return False
    return values.dtype == bool and values.shape == (data.n_rows,)


def target_rows(data: Comparisons, target: Any) -> np.ndarray:
    """Which rows are the target's, shape (n_rows,).

    Raises
    ------
    OptionError
        For judges that do not exist, or if nobody else is left.
    """
    if _is_mask(target, data):
        rows = np.asarray(target)
    else:
        names = [target] if isinstance(target, str) else list(target) if isinstance(target, Sequence) else [target]
        if unknown := [name for name in names if not isinstance(name, str) or name not in data.judges]:
            raise OptionError(f"target must name judges: {quoted(unknown, 3)} is none of {quoted(data.judges, 10)}.")
        rows = np.isin(data.judge_index, [data.judges.index(name) for name in names])
    if rows.all() or not rows.any():
        raise OptionError(
            "the target needs verdicts of its own, and so do the other judges: both are needed to anchor."
        )
    return rows


def rows_of(data: Comparisons, rows: np.ndarray) -> Comparisons:
    """Some rows with all items, compared in them or not."""
    some = data.subset(rows)
    return replace(
        some,
        items=data.items,
        first_index=data.first_index[rows],
        second_index=data.second_index[rows],
        item_metadata=data.item_metadata,
    )


def _some(clusters: Clusters, rows: np.ndarray) -> Clusters:
    return replace(clusters, code=clusters.code[rows])


def _direct(data: Comparisons, model: str, position: str | None, prompts: Clusters | None) -> tuple[HJAResults, Direct]:
    """The target's own fit, and its scores as normal evidence."""
    pooled = BTLModel.from_comparisons(data, position=position if position != "judge" else None)
    base = pooled.fit(warn_convergence=False) if data.connectivity.is_connected else None
    if base is None or base.fit.separation is not None:
        base = pooled.fit_regularized(RIDGE, terms=True, warn_convergence=False)
        return base, Direct.of(base.fit)
    base = _with_errors(base, prompts)
    if model == "btl":
        return base, Direct.of(base.fit)
    other = TARGETS[model].from_comparisons(data, position=position).fit(warn_convergence=False)
    if not other.converged:
        raise IdentificationError(f"model={model!r} has no finite estimate for these verdicts: use model='btl'.")
    other = other if isinstance(other.fit, PopulationFit) else _with_errors(other, prompts)
    return base, replace(Direct.of(base.fit), source=other.fit)


def _with_errors(result: HJAResults, prompts: Clusters | None) -> HJAResults:
    """With errors clustered by prompt, or of pooled judges by judge, where these are many enough; else HC0."""
    data, has_own = result.model.observations.data, result.fit.layout.has_judge_parameters
    ways = [] if prompts is None else [Clusters.of(prompts.code, data)]
    ways += [] if has_own else [Clusters.of("judge", data)]
    for way in ways:
        is_alone = has_own and bool((way.per_judge(data) == 1).any())
        if way.has_repeats and way.n >= limits.FEW_CLUSTERS and way.n > data.n_items and not is_alone:
            return result.with_covariance("cluster", {"groups": way.code})
    return result.with_covariance("HC0")


def _auxiliary(
    data: Comparisons, auxiliary: str | int | Mapping[str, float], position: str | None, prompts: Clusters | None
) -> HJAResults:
    """The fit of the other judges."""
    terms: dict[str, Any] = {"position": position if data.has_order else None}
    model: HJAModel
    if isinstance(auxiliary, Mapping) or auxiliary == "judges":
        model = JudgewiseBTLModel.from_comparisons(data, **terms)
    elif auxiliary == "consensus":
        model = (JAModel if data.n_judges > 1 else BTLModel).from_comparisons(data, **terms)
    elif auxiliary == "directions" or (isinstance(auxiliary, int) and not isinstance(auxiliary, bool)):
        model = HJAModel.from_comparisons(data, rank=1 if auxiliary == "directions" else int(auxiliary), **terms)
    else:
        raise OptionError(f"auxiliary must be {quoted(SCORES)}, a number of directions or weights, got {auxiliary!r}.")
    result = model.fit(warn_convergence=False)
    if auxiliary == "consensus" and (result.fit.why_no_errors or not result.converged):
        result = BTLModel.from_comparisons(data, **terms).fit(warn_convergence=False)
    if not result.converged:
        raise IdentificationError(
            f"the {counted(data.n_judges, 'other judge')} have no finite estimate with auxiliary={auxiliary!r}: use "
            "auxiliary='consensus', or leave out judges with few verdicts."
        )
    return _with_errors(result, prompts)
