"""Groups of verdicts at the front door: one model for all of them, chosen once, and a fit of each."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from .. import limits
from ..data.arrays import check_flag, check_type
from ..data.comparisons import Comparisons
from ..data.groups import Grouping, group_rows
from ..data.readers import check_reading
from ..errors import ComparisonError, Hint, InputError, OptionError
from ..fitted import Fit
from ..group_results import GroupBoards, Member, Working
from ..inference.clusters import Clusters
from ..inference.fluctuation import Fluctuation
from ..inference.group_scores import Dispersion, Own, group_scores, held_scores, is_enough
from ..model.structures import Sampled
from ..model.terms import OPTIONS
from ..models import BTLModel, HJAModel
from ..models.base import TRAITLESS
from ..results import HJAResults
from ..words import quoted
from .asked import AUTO, Asked, Chosen
from .door import ENTER, fit
from .reading import read
from .search import RIDGE, possible_positions
from .standard_errors import are_enough, with_errors

# Columns that say of the rows of a fit which group and which cluster they are in.
_GROUP, _CLUSTER = "<group>", "<cluster>"
_NO_MAXIMUM = "judges are as in all groups, since not all of their parameters have a finite estimate here"
_NO_TIES = "nobody ties here, so that ties have no parameter"
# Arguments of the front door; all others are about reading.
_DOOR = frozenset(inspect.signature(fit).parameters) - {"source", "progress", "reading"} | set(OPTIONS)


def by_group(
    source: Any,
    by: Any,
    *,
    breaks: float | Sequence[float] | None = None,
    quantiles: int | None = None,
    period: str | None = None,
    labels: Sequence[str] | None = None,
    model: str | None = "auto",
    prompt: str | None = None,
    n_jobs: int = 1,
    seed: int = 0,
    progress: bool = False,
    **options: Any,
) -> GroupBoards:
    """Rankings of groups of verdicts (category, language, version, month, trait of judges), and whether they really differ.

    One model is chosen for all verdicts, by the rules of :func:`fit` or as asked for, and fitted to every group. A group in which
    it has no estimate is fitted more simply, and ``groups`` says how. See docs/groups.md.

    Parameters
    ----------
    source : path, DataFrame, list of dicts, dict of columns or Comparisons
        Whatever :func:`read_comparisons` reads.
    by : str, sequence of str, mapping, or array_like
        A column, or one of the metadata of judges or items; several, whose combinations are groups; a mapping from judges, items
        or the labels of a column to groups; or a label for each row.
    breaks : float or sequence of float, optional
        Where a numeric column is cut: a group begins at each.
    quantiles : int, optional
        Number of equal parts into which it is cut.
    period : {"day", "week", "month", "quarter", "year"}, optional
        Into which times are cut.
    labels : sequence of str, optional
        Names of the groups that breaks make.
    model : {"auto", "btl", "ja", "hja"}
        Of all groups.
    prompt : str, optional
        Column of prompts, which rows have in common; by default as :func:`swap_report` finds it.
    n_jobs : int
        Parallel processes.
    seed : int
        Of folds, starts and the signs of clusters.
    progress : bool
        Show a bar for work beyond two seconds.
    **options
        Further arguments of :func:`fit`, and of reading.

    Returns
    -------
    GroupBoards

    Raises
    ------
    ComparisonError
        For a column that does not exist, or groups that are none.

    Examples
    --------
    >>> import numpy as np
    >>> import hjastats as hja
    >>> data = hja.datasets.load_panel()
    >>> found = hja.by_group(data, by=np.arange(data.n_rows) % 3)       # groups that do not differ
    >>> found.places.head(2)
             all  0  1  2
    item
    model-I    1  1  1  1
    model-H    2  2  2  2
    >>> found.tests["p_value"].round(2).to_dict()["consensus"]
    0.66
    """
    check_type("model", model, (str, type(None)), "'auto', 'btl', 'ja' or 'hja'")
    check_flag("progress", progress)
    if model == "judgewise":
        raise OptionError(
            "model='judgewise' has no consensus that groups could share: use 'auto', 'btl', 'ja' or 'hja'."
        )
    asked = {name: value for name, value in options.items() if name in _DOOR}
    if traits := Asked(**{name: asked[name] for name in TRAITLESS if name in asked}).traits:
        given = [piece for name in traits for piece in (", ", Hint(name))][1:]
        raise OptionError(
            "groups are compared item by item, by free scores: leave out ", *given, ", or fit each by itself."
        )
    reading = {name: value for name, value in options.items() if name not in _DOOR}
    check_reading(reading, by_group, fit)
    data = _read(source, by, asked, reading)
    data = _one_by_one(data) if Clusters.of_prompts(data, prompt) is None else data
    grouping = group_rows(data, by, breaks=breaks, quantiles=quantiles, period=period, labels=labels)
    clusters = Clusters.of_prompts(data, prompt)
    marks = {_GROUP: grouping.code, _CLUSTER: np.arange(data.n_rows) if clusters is None else clusters.code}
    kept = grouping.code >= 0
    marked = replace(data, columns=data.columns.assign(**marks))
    marked = marked if kept.all() else marked.subset(kept)
    options_of_fit: dict[str, Any] = {"model": None if model == AUTO else model, "seed": seed, "progress": progress}
    overall = fit(marked, **options_of_fit, **asked)
    if (
        overall.model.position is None
        and "position" not in asked
        and len(possible_positions(overall.model.comparisons)) > 1
    ):
        # Over all groups it may be none; where it changes between them, scores would take it up.
        overall = fit(marked, **options_of_fit, **asked, position="common")
    working = _working(overall, clusters)
    with _bar(len(grouping.labels), progress) as done:
        jobs = (
            delayed(_member)(overall, label, g, asked.get("groups"), asked.get("cov_type", AUTO))
            for g, label in enumerate(grouping.labels)
        )
        members = list(done(Parallel(n_jobs, return_as="generator")(jobs)))
    return _boards(overall, working, members, grouping, int((~kept).sum()), seed)


def _read(source: Any, by: Any, asked: dict[str, Any], reading: dict[str, Any]) -> Comparisons:
    weights = asked.get("weights")
    if isinstance(weights, str) and not isinstance(source, Comparisons):
        reading["weight"] = asked.pop("weights")
    names = [by] if isinstance(by, str) else [name for name in by if isinstance(name, str)] if _is_names(by) else []
    if isinstance(source, Comparisons) or not names:
        return read(source, **reading)
    # A table that stays in its engine brings only the columns that are named.
    try:
        return read(source, [("by", name) for name in names], **reading)
    except ComparisonError:
        # It may be one of the metadata of the judges or items, or the judges.
        return read(source, **reading)


def _one_by_one(data: Comparisons) -> Comparisons:
    """A row for every comparison, which is independent of all others where there are no prompts."""
    if not data.has_whole_weights or not data.n_rows < data.n_comparisons <= limits.REPEATED_ROWS:
        return data
    rows = data.subset(np.repeat(np.arange(data.n_rows), data.weight.astype(int)))
    return replace(rows, weight=np.ones(rows.n_rows))


def _is_names(by: Any) -> bool:
    return isinstance(by, list | tuple) and len(by) < 10


@contextmanager
def _bar(total: int, progress: bool) -> Iterator[Any]:
    """A function that follows results as they come, on a bar that is seen if they take longer than two seconds."""
    if not progress:
        yield iter
        return
    from tqdm.auto import tqdm

    with tqdm(total=total, desc="groups", delay=limits.SILENT_SECONDS, leave=False) as bar:

        def follow(made: Iterable[Member]) -> Iterator[Member]:
            for member in made:
                bar.update()
                yield member

        yield follow


# Groups


def _member(overall: HJAResults, label: str, group: int, groups: Any, cov_type: str) -> Member:
    """The fit of one group."""
    data = overall.model.comparisons
    mask = data.columns[_GROUP].to_numpy() == group
    if not mask.any():
        return Member(label, None, 0.0, "none of its verdicts are among those that are ranked")
    some = data.subset(mask)
    mask, notes = _largest(data, mask, some)
    if mask.sum() < len(some):
        some = data.subset(mask)
    try:
        result, note = _fitted(overall, mask, some)
    except InputError as error:
        return Member(label, None, some.n_comparisons, str(error).rstrip("."))
    told = [*notes, *([note] if note else [])]
    # Errors of too few prompts are made larger by what verdicts of all groups have in common; judges know nothing of prompts.
    prompts = Clusters.of_prompts(some)
    is_few = prompts is not None and prompts.has_repeats and not are_enough(prompts, some)
    cov_type = "HC0" if is_few and cov_type == AUTO and groups is None else cov_type
    asked = Asked(groups=groups if isinstance(groups, str) else None, cov_type=cov_type)
    chosen = Chosen()
    result = with_errors(result, asked, chosen)
    return Member(label, result, some.n_comparisons, "; ".join(told))


def _largest(data: Comparisons, mask: np.ndarray, some: Comparisons) -> tuple[np.ndarray, list[str]]:
    """Rows of the items that comparisons of the group connect, and which items are left out."""
    links = some.connectivity
    if links.is_connected:
        return mask, []
    largest, *others = links.pooled_groups
    members = np.isin(np.asarray(data.items, dtype=object), largest)
    left_out = [item for group in others for item in group]
    return mask & members[data.first_index], [f"not compared with the others: {quoted(left_out, 3)}"]


def _fitted(overall: HJAResults, mask: np.ndarray, some: Comparisons) -> tuple[HJAResults, str]:
    """The model of all groups; where it has no estimate, with light judges as one, and then with a ridge."""
    if list(overall.model.response.verdicts) == ["first", "tie", "second"] and not (some.outcome == 0.5).any():
        half = _with_half_ties(overall.model)
        result, note = _fitted_with(half, None, mask, some)
        return result, "; ".join(filter(None, [_NO_TIES, note]))
    return _fitted_with(overall.model, overall.fit, mask, some)


def _with_half_ties(model: HJAModel) -> HJAModel:
    """The model with ties as half wins, which is the same where nobody ties."""
    return type(model)(**{**model._same_data(), **model._own_rank(), "ties": "half", "tie": "common"})


def _fitted_with(model: HJAModel, like: Fit | None, mask: np.ndarray, some: Comparisons) -> tuple[HJAResults, str]:
    same, note = _same_model(model, mask)
    if note:
        result = _tried(same)
        return (result, note) if result is not None else (_with_ridge(same), f"{note}, ridge {RIDGE:g}")
    if like is not None and like.penalty is not None:
        return same.fit_like(like), ""
    result = _tried(same)
    if result is not None:
        return result, ""
    if same.layout.structure.kind == Sampled.kind:
        # The population is its penalty already.
        return _as_one(same.pooled())
    pooled = ENTER["pooled"](some)
    n_light = some.n_judges - pooled.n_judges + 1
    if n_light > 1 and same.layout.has_judge_parameters and pooled.n_judges > 1:
        options = same._same_data() | same._own_rank() | {"comparisons": pooled}
        result = _tried(type(same)(**options))
        if result is not None:
            return result, f"{n_light} judges with fewer than {limits.LIGHT_JUDGE} verdicts speak with one voice"
    return _with_ridge(same), _NO_MAXIMUM


def _same_model(model: HJAModel, mask: np.ndarray) -> tuple[HJAModel, str]:
    """The model for some of the rows; a smaller one, with its name, where these have too few judges or items for it."""
    for smaller in (model, model.with_rank(0), model.pooled()) if model.takes_rank else (model, model.pooled()):
        try:
            made = smaller.without_comparisons(np.where(mask, 0.0, smaller.comparisons.weight))
        except InputError:
            continue
        if len(made.judges) > 1 or not made.layout.structure.judges_differ:
            return made, "" if smaller is model else made.layout.structure.name
    raise ComparisonError("these verdicts determine no scores")


def _as_one(pooled: HJAModel) -> tuple[HJAResults, str]:
    """Judges who are alike, where nothing is found of their population."""
    note, result = "judges speak with one voice, since their population has no maximum here", _tried(pooled)
    return (result, note) if result is not None else (_with_ridge(pooled), f"{note}, ridge {RIDGE:g}")


def _with_ridge(same: HJAModel) -> HJAResults:
    for model in (same, same.pooled()):
        try:
            return model.fit_regularized(RIDGE, terms=True, warn_convergence=False)
        except InputError:
            continue
    raise ComparisonError("these verdicts determine no scores, even with a ridge")


def _tried(model: HJAModel) -> HJAResults | None:
    try:
        result = model.fit(n_random=0, warn_convergence=False)
    except InputError:
        return None
    return result if result.converged else None


# Tests and shrunken boards


def _working(overall: HJAResults, prompts: Clusters | None) -> Working:
    """The fit whose scores are tested, and what its rows hang together by.

    Of judges who are a sample, and of more parameters than can be tested, it is BTL: its consensus is that of all verdicts. So it
    is where every judge is in one group: its sensitivity would take up what differs between groups.
    """
    fit, model = overall.fit, overall.model
    is_of_judges, structure = _is_of_judges(model.comparisons), fit.layout.structure
    if structure.kind == Sampled.kind or fit.layout.n_free > limits.TESTED_PARAMETERS:
        position = None if model.position is None else "common"
        model = BTLModel.from_comparisons(model.comparisons, position=position)
    elif is_of_judges and structure.judges_differ:
        model = model.pooled()
    if model is not overall.model:
        result = model.fit(warn_convergence=False)
        if not result.converged:
            result = model.fit_regularized(RIDGE, terms=True, warn_convergence=False)
        fit, model = result.fit, result.model
    data = model.comparisons
    own, judges = Clusters.of(data.columns[_CLUSTER].to_numpy(), data), Clusters.of("judge", data)
    # Of judges that the model takes to be alike, each may still have a taste; so groups of them differ by whom they consist of.
    are_drawn = is_of_judges or (prompts is None and not fit.layout.has_judge_parameters)
    if are_drawn and judges.has_repeats and judges.n >= limits.FEW_CLUSTERS and _fewest_judges(data) > 1:
        own = judges
    name = "verdicts" if own.n == data.n_rows else "judges" if own.name == "judge" else "prompts"
    is_dispersed = overall.cov_type != "nonrobust" or own.has_repeats
    group = data.columns[_GROUP].to_numpy(int)
    return Working(fit, model.observations, group, own, name, is_dispersed, is_of_judges)


def _judges_and_groups(data: Comparisons) -> tuple[np.ndarray, np.ndarray]:
    """Judge and group of every two that have verdicts together."""
    pairs = np.unique(np.column_stack([data.judge_index, data.columns[_GROUP].to_numpy(int)]), axis=0)
    return pairs[:, 0], pairs[:, 1]


def _fewest_judges(data: Comparisons) -> int:
    """Of a group: a single one cannot be told from others like it."""
    return int(np.unique(_judges_and_groups(data)[1], return_counts=True)[1].min())


def _is_of_judges(data: Comparisons) -> bool:
    """Whether every judge has verdicts in one group only."""
    return len(_judges_and_groups(data)[0]) == data.n_judges > 1


@dataclass(frozen=True)
class _Scaled:
    """By how much judges of a group are more sensitive than all judges are on average, in the fit of all."""

    gamma: Mapping[str, float]

    @classmethod
    def of(cls, fit: Fit) -> _Scaled:
        return cls(dict(zip(fit.layout.judges, fit.parts.gamma, strict=True)))

    def among(self, judges: Sequence[str]) -> float:
        if not all(judge in self.gamma for judge in judges):
            return 1.0
        scale = float(np.mean([self.gamma[judge] for judge in judges]))
        return scale if scale > 0.0 else 1.0


def _boards(
    overall: HJAResults, working: Working, members: list[Member], grouping: Grouping, n_left_out: int, seed: int
) -> GroupBoards:
    found = Fluctuation.of(working.fit, working.observed, working.present, working.clusters)
    present = np.unique(working.group)
    # Of groups without a judge in common nobody knows how decided they are.
    scale = _Scaled({}) if working.is_of_judges else _Scaled.of(overall.fit)
    n_items = len(overall.model.items)
    labels = working.observed.data.columns[_CLUSTER].to_numpy()
    codes_of = pd.Series(working.clusters.code, labels)[~pd.Index(labels).duplicated()]
    own: list[Own | None] = []
    for g in present:
        result = members[g].result
        if result is None or not is_enough(result.fit, n_items):
            own.append(None)
            continue
        codes = codes_of.loc[result.model.comparisons.columns[_CLUSTER]].to_numpy(int)
        clusters = Clusters(codes, working.clusters.n)
        kind = result.cov_type
        own.append(
            Own(
                result.fit,
                result.model.observations,
                clusters,
                scale.among(result.model.judges),
                kind == "cluster" or (kind != "nonrobust" and not working.clusters.has_repeats),
            )
        )
    # What a cluster contributes to a population is its judges' business.
    is_sample = overall.fit.layout.structure.kind == Sampled.kind
    are_shared = not found.is_nested and working.name == "prompts" and not is_sample
    dispersion = Dispersion.of(found) if working.is_dispersed else None
    evidence = group_scores(
        working.fit,
        working.observed,
        working.present,
        own,
        working.clusters,
        dispersion,
        are_shared=are_shared,
    )
    members = [
        _held(member, working, g, dispersion) if member.note.endswith(_NO_MAXIMUM) and g in present else member
        for g, member in enumerate(members)
    ]
    return GroupBoards(overall, working, members, grouping, evidence, n_left_out, seed)


def _held(member: Member, working: Working, group: int, dispersion: Dispersion | None) -> Member:
    """The member with scores where judges are held to what they are in all groups."""
    assert member.result is not None
    try:
        *held, has_ridge = held_scores(working.fit, working.observed, working.group == group, RIDGE, dispersion)
    except ComparisonError:
        return replace(member, note=member.note.replace(_NO_MAXIMUM, f"ridge {RIDGE:g}"))
    ridge = f"; ridge {RIDGE:g}, since some scores have none either" if has_ridge else ""
    return replace(member, held=(held[0], held[1]), note=member.note + ridge)
