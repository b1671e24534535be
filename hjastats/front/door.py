"""The front door: from the file a team has to the analysis an expert would make, every choice with its reason and number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Timer
from typing import Any

import numpy as np

from .. import limits
from ..data.arrays import check_flag
from ..data.comparisons import Comparisons
from ..data.readers import check_reading
from ..diagnostics.ending import warn
from ..diagnostics.tie_rates import tie_rates
from ..model.spanned import random_effects
from ..model.terms import OPTIONS
from ..models import BTLModel, HJAModel, JudgewiseBTLModel
from ..results import HJAResults
from .asked import AUTO, SAMPLE, Asked, Chosen
from .graded import of_grades
from .reading import linked, read_as_asked
from .sample import SampleSearch, why_no_sample
from .search import Search, why_no_estimate
from .standard_errors import with_errors


def fit(
    source: Any,
    *,
    rank: int | str = AUTO,
    position: str | None = AUTO,
    ties: str = AUTO,
    tie: str = AUTO,
    cov_type: str = AUTO,
    groups: Any = None,
    judges: str = AUTO,
    exog: Any = None,
    judge_exog: Any = None,
    weights: str | Mapping[str, Any] | None = None,
    items: Any = None,
    interactions: str | None = None,
    random: Any = None,
    unlinked: str = "refuse",
    model: str | None = None,
    criterion: str = "bic",
    ridge: float | str | None = AUTO,
    seed: int = 0,
    progress: bool = False,
    **reading: Any,
) -> HJAResults:
    """Read verdicts, choose a model by stated rules, and fit it: one call from a file to a ranking.

    What is "auto" is chosen; ``result.choices`` says what, why, and by which number. The rules are on the page about the front
    door. The result ranks all items that comparisons connect, whatever it takes. :class:`HJAModel` has the paper's defaults.

    Parameters
    ----------
    source : path, DataFrame, list of dicts, dict of columns or Comparisons
        Whatever :func:`read_comparisons` reads.
    rank : int or "auto"
        Directions of disagreement; 0 is JA. By default BTL, JA and HJA compete.
    position : {"auto", None, "common", "judge"}
        Bonus of the item shown first.
    ties : {"auto", "half", "drop", "davidson", "davidson-scaled", "davidson-shifted", "ordinal", "adjacent"}
    tie : {"auto", "common", "judge"}
        Whose the tie propensity is with ``ties="davidson"``, the thresholds or propensities of grades with the last two.
    cov_type : {"auto", "nonrobust", "HC0", "HC1", "cluster"}
    groups : str or array_like, optional
        The column to cluster by.
    judges : {"auto", "fixed", "pooled", "sample"}
        Every judge with parameters of its own, or those with few verdicts as one; or all of them drawn from a population, which
        is what is estimated (:class:`PopulationHJAModel`).
    exog, judge_exog : str, list of str, or dict, optional
        Columns that are covariates, with one coefficient or one per judge. A dict names differences of two columns,
        ``{"length": ("tokens_a", "tokens_b")}``, by :func:`style_difference`.
    weights : str or dict, optional
        A column of weights; ``{"question_id": "equal"}`` lets every prompt count the same, ``{"category": {"math": 2, "code":
        1}}`` says what labels count in total.
    items : str or pandas.DataFrame, optional
        Traits of the items that scores follow from, ``"~ size"``, as in :class:`HJAModel`: BTL, JA and HJA compete within them.
    interactions, random, unlinked
        As in :class:`BTLModel`, which they make the model.
    model : {None, "btl", "ja", "hja", "judgewise"}
    criterion : {"bic", "aic", "cv", "loglik-bootstrap"}
        What chooses rank and position; the last one the rank only.
    ridge : "auto", float or None
        Weight of a ridge on scores and terms. By default none where the likelihood has a maximum, and 0.1 where it has not; None
        is maximum likelihood whatever happens.
    seed : int
        Of folds and starts.
    progress : bool
        Show a bar for work beyond two seconds.
    **reading
        How to read the source: arguments of :func:`read_comparisons`. Declared terms that no rule chooses are taken from
        here, too.

    Returns
    -------
    HJAResults

    Examples
    --------
    >>> import hjastats as hja
    >>> result = hja.fit(hja.datasets.load_panel())
    >>> result
    HJA(1) + position: 3,200 comparisons of 10 items by 8 judges, log-likelihood -1592.9 with 38 parameters
    model-I leads, then model-H, model-A; 3 warnings (see .findings)
    standard errors from the expected information (eq. fisher-plugin); .summary(), .ranking(), .plot, .judges
    >>> result.choices[["chosen", "number"]].round(1)
                 chosen  number
    what
    judges        fixed   400.0
    position      judge   186.8
    model        HJA(1)    71.6
    errors    nonrobust     NaN
    """
    check_flag("progress", progress)
    declared = {name: reading.pop(name) for name in OPTIONS if name in reading}
    check_reading(reading, fit)
    traits = {"items": items, "interactions": interactions, "random": random, "unlinked": unlinked}
    asked = Asked(
        rank,
        position,
        ties,
        tie,
        cov_type,
        groups,
        judges,
        model,
        criterion,
        ridge,
        declared=declared,
        seed=seed,
        **traits,
    )
    data, asked = read_as_asked(source, asked, exog, judge_exog, weights, reading)
    chosen = Chosen()
    with _bar(progress) as step:
        data = linked(data, chosen, asked)
        result = (
            _judgewise(data, asked, chosen) if asked.model == "judgewise" else _of_judges(data, asked, chosen, step)
        )
        say_traits(result, asked, chosen, step)
        step("errors")
        result = with_errors(result, asked, chosen)
    warn(result.fit, result.model.comparisons.connectivity)
    return type(result)(result.model, result.fit, chosen.table)


@contextmanager
def _bar(progress: bool) -> Iterator[Callable[[str], None]]:
    """A function that tells of the next step, on a bar that is seen if it takes longer than two seconds."""
    if not progress:
        yield lambda text: None
        return
    from tqdm.auto import tqdm

    with tqdm(desc="fit", delay=limits.SILENT_SECONDS, unit=" fits", leave=False) as bar:

        def step(text: str) -> None:
            bar.set_description(text, refresh=False)
            bar.update()

        # A single step may take longer than that.
        clock = Timer(limits.SILENT_SECONDS, bar.refresh)
        clock.daemon = True
        clock.start()
        try:
            yield step
        finally:
            clock.cancel()


# Judges


def _as_they_are(data: Comparisons) -> Comparisons:
    return data


def _pooled(data: Comparisons) -> Comparisons:
    label = "others"
    while label in data.judges:
        label += "_"
    return data.pool_rare_judges(limits.LIGHT_JUDGE, label)


# The data to which a model is fitted.
ENTER: dict[str, Callable[[Comparisons], Comparisons]] = {
    "fixed": _as_they_are,
    "pooled": _pooled,
    SAMPLE: _as_they_are,
}


def of_judges(data: Comparisons, asked: Asked, chosen: Chosen) -> str:
    """How the judges enter the model, with a line about it."""
    if asked.judges != AUTO:
        chosen.say("judges", asked.judges, "asked for")
        return asked.judges
    number = np.bincount(data.judge_index, data.weight if data.has_whole_weights else None, data.n_judges)
    light = int((number < limits.LIGHT_JUDGE).sum())
    if light <= 1:
        reason = f"each has {number.min():,.0f} verdicts or more" if not light else "only one has few verdicts"
        chosen.say("judges", "fixed", reason, number.min())
        return "fixed"
    number_light = f"{light:,} of {data.n_judges:,} have fewer than {limits.LIGHT_JUDGE} verdicts"
    few = f"{number_light}, too few for parameters of their own"
    if why := why_no_sample(data, asked):
        if ENTER["pooled"](data).n_judges < asked.fewest_judges:
            chosen.say(
                "judges", "fixed", f"{number_light}, but the model that is asked for is about each of them", light
            )
            return "fixed"
        chosen.say("judges", "pooled", f"{few}: they speak with one voice ({why})", light)
        return "pooled"
    chosen.say("judges", SAMPLE, f"{few}: they are drawn from a population, which is estimated", light)
    return SAMPLE


def _judgewise(data: Comparisons, asked: Asked, chosen: Chosen) -> HJAResults:
    """Every judge by itself."""
    chosen.say("model", "judge-wise BTL", "asked for")
    terms = asked.covariates | {"position": None if asked.position == AUTO else asked.position}
    if asked.ties != AUTO:
        terms |= {"ties": asked.ties, "tie": "common" if asked.tie == AUTO else asked.tie}
    model = JudgewiseBTLModel.from_comparisons(data, **terms)
    if asked.ridge in (AUTO, None):
        return model.fit(warn_convergence=False)
    return model.fit_regularized(asked.ridge, terms=True, warn_convergence=False)


# Traits


def say_traits(result: HJAResults, asked: Asked, chosen: Chosen, step: Callable[[str], None]) -> None:
    """A line about the traits that were asked for: whether items differ by more."""
    if not asked.traits:
        return
    named = [str(asked.traits[name]) for name in ("items", "interactions") if name in asked.traits]
    named += [f"random {name}" for name in random_effects(asked.random, asked.items, asked.interactions)]
    told, less = "asked for", math.nan
    is_restricted = result.fit.layout.structure.item_basis is not None and "items" in asked.traits
    if is_restricted and result.converged and result.model.comparisons.connectivity.is_connected:
        step("free scores")
        free = result.model.update(items=None).fit(n_random=0, warn_convergence=False)
        if free.converged:
            less = result.bic - free.bic
            more = ": items differ by more than that" if less > 0 else ""
            told += f"; BIC of free scores is {'lower' if less > 0 else 'higher'} by {abs(less):,.4g}{more}"
    if named:
        chosen.say("traits", ", ".join(named), told, less)


# Model


def _of_judges(data: Comparisons, asked: Asked, chosen: Chosen, step: Callable[[str], None]) -> HJAResults:
    """The model that the data ask for, with position effects and ties."""
    lines = len(chosen.lines)
    judges = "fixed" if asked.is_alike else of_judges(data, asked, chosen)
    if judges == SAMPLE:
        result = SampleSearch(data, asked, step).best(chosen)
        if result.converged or asked.judges == SAMPLE:
            return result
        del chosen.lines[lines:]
        chosen.say("judges", judges := "pooled", "as a sample their population has no finite estimate")
    few = ENTER[judges](data)
    if asked.ties != AUTO:
        result = Search(few, asked, _ties_asked(few, asked), step).best(chosen)
        chosen.say("ties", result.model.ties, "asked for" if asked.tie == AUTO else f"asked for, tie {asked.tie}")
    else:
        result = _with_ties(few, asked, chosen, step)
    if result.fit.penalty is not None and asked.judges == AUTO and not why_no_sample(data, asked):
        del chosen.lines[lines:]
        chosen.say("judges", SAMPLE, "parameters of their own have no finite estimate: the population is estimated")
        return SampleSearch(data, asked, step).best(chosen)
    if few is data or result.fit.layout.has_own_parameters:
        return result
    # Judges that the model takes to be alike need no pooling, and errors may be clustered by all of them.
    options = {name: value for name, value in result.model.options.items() if name != "rank"}
    return _again(BTLModel.from_comparisons(data, **(asked.covariates | options)), result)


def _ties_asked(data: Comparisons, asked: Asked) -> dict[str, str]:
    rates = tie_rates(data)
    number = np.bincount(data.judge_index, data.weight, data.n_judges)
    # Light judges have no finite propensities of their own.
    has_own = (
        rates is not None and rates.differ and (number < limits.LIGHT_JUDGE).sum() <= 1 and asked.groups != "judge"
    )
    own = "judge" if has_own else "common"
    return {"ties": asked.ties, "tie": own if asked.tie == AUTO else asked.tie}


def _with_ties(data: Comparisons, asked: Asked, chosen: Chosen, step: Callable[[str], None]) -> HJAResults:
    """Ties as half wins, or as an outcome where judges tie so differently that sensitivities would show it."""
    if (graded := of_grades(data, asked, chosen, step)) is not None:
        return graded
    lines, rates = len(chosen.lines), tie_rates(data)
    result = Search(data, asked, {"ties": "half"}, step).best(chosen)
    if rates is None:
        if (data.outcome == 0.5).any():
            share = np.average(data.outcome == 0.5, weights=data.weight)
            chosen.say("ties", "half", f"{share:.1%} of the verdicts, half a win for each", share)
        return result
    told = f"judges tie in {rates.span} ({rates.test.told})"
    if not rates.differ:
        why = "they differ too little to matter"
    elif not result.fit.layout.structure.has_sensitivities:
        why = "no sensitivities that would show it"
    elif result.fit.penalty is not None:
        why = "beside a ridge they are not tried as an outcome"
    else:
        again = Chosen(chosen.lines[:lines])
        other = Search(data, asked, {"ties": "davidson", "tie": "judge"}, step).best(again)
        if other.converged and other.fit.penalty is None:
            chosen.lines[:] = again.lines
            chosen.say("ties", "davidson", f"{told}: half wins would make sensitivities of them", rates.test.statistic)
            return other
        why = f"as an outcome {why_no_estimate(other, again)}"
    chosen.say("ties", "half", f"{told}: {why}", rates.test.statistic)
    return result


def _again(model: HJAModel, like: HJAResults) -> HJAResults:
    return model.fit_like(like.fit)
