"""The front door: from the file a team has to the analysis an expert would make, every choice with its reason and number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import product
from threading import Timer
from typing import Any

import numpy as np
import pandas as pd

from . import limits
from .data.arrays import check_option, columns_of
from .data.comparisons import Comparisons
from .data.readers import read_comparisons
from .data.sources import engine_columns
from .data.style import style_difference
from .data.swaps import PROMPT_COLUMNS
from .data.weighting import weighted
from .diagnostics.dependence import dependence
from .diagnostics.ending import warn
from .diagnostics.order import both_orders, has_order
from .diagnostics.tie_rates import tie_rates
from .errors import ComparisonError, Hint, IdentificationError, OptionError
from .inference.clusters import IMPLIED, Clusters
from .inference.covariances import COVARIANCES
from .model.responses import RESPONSES
from .model.terms import SCOPES
from .models import BTLModel, HJAModel, JAModel, JudgewiseBTLModel, PopulationHJAModel
from .population_results import PopulationResults
from .results import CHOICES, HJAResults
from .selection import BTL, CRITERIA, select_rank
from .solve.validation import held_out_losses
from .words import quoted

AUTO = "auto"
MODELS: dict[str, type[HJAModel]] = {"btl": BTLModel, "ja": JAModel, "hja": HJAModel, "judgewise": JudgewiseBTLModel}
# Weight of the ridge where the likelihood has no maximum: a prior of variance ten, the default of fit_regularized.
RIDGE = 0.1
# Folds of whole prompts that confirm a choice.
FOLDS = 5
# Ranks in a row without a smaller criterion after which no larger one is tried: each direction gains less than the one before.
PATIENCE = 1
# What a candidate is called: whose its position effect is, and its rank, or BTL.
Candidate = tuple[str | None, "int | str"]


@dataclass
class Chosen:
    """The lines of ``result.choices`` as they come about."""

    lines: list[tuple[str, str, str, float]] = field(default_factory=list)

    def say(self, what: str, chosen: object, reason: str, number: float = math.nan) -> None:
        """Add a line."""
        self.lines.append((what, str(chosen), reason, float(number)))

    @property
    def table(self) -> pd.DataFrame:
        """What was chosen, why, and the number behind it."""
        return pd.DataFrame(self.lines, columns=["what", *CHOICES]).set_index("what")


@dataclass(frozen=True)
class Asked:
    """What the user has decided; "auto" is left to the rules."""

    rank: int | str = AUTO
    position: str | None = AUTO
    ties: str = AUTO
    tie: str = AUTO
    cov_type: str = AUTO
    groups: Any = None
    judges: str = AUTO
    model: str | None = None
    criterion: str = "bic"
    ridge: float | str | None = AUTO
    exog: list[str] | None = None
    judge_exog: list[str] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_option("position", self.position, (AUTO, *SCOPES))
        check_option("ties", self.ties, (AUTO, *RESPONSES))
        check_option("tie", self.tie, (AUTO, *SCOPES[1:]))
        check_option("cov_type", self.cov_type, (AUTO, *COVARIANCES))
        check_option("judges", self.judges, (AUTO, *JUDGES, SAMPLE))
        check_option("model", self.model, (None, *MODELS))
        check_option("criterion", self.criterion, CRITERIA)
        if self.rank != AUTO and (isinstance(self.rank, bool) or not isinstance(self.rank, int | np.integer)):
            raise OptionError(f"rank must be a whole number or 'auto', got {self.rank!r}.")
        for name, *why in self._without_effect():
            raise OptionError(Hint(str(name), getattr(self, str(name))), " has no effect ", *why, ".")

    def _without_effect(self) -> Iterator[list[str | Hint]]:
        """Options that would be ignored, and why."""
        if self.rank != AUTO and self.model not in (None, "hja"):
            yield ["rank", "with ", Hint("model", self.model), ": leave it out, or use ", Hint("model", "hja")]
        if self.criterion != "bic" and (self.rank != AUTO or self.model in ("btl", "ja", "judgewise")):
            yield ["criterion", "where the rank is not chosen: leave it out, or use ", Hint("rank", AUTO)]
        if self.judges not in (AUTO, "fixed") and self.model == "btl":
            yield ["judges", "with ", Hint("model", "btl"), ", in which judges are alike: leave it out"]
        if self.judges == SAMPLE and self.model is not None:
            yield [
                "model",
                "with ",
                Hint("judges", SAMPLE),
                ", which has a model of its own: leave it out and give a rank",
            ]
        if self.judges == SAMPLE and self.ridge not in (AUTO, None):
            yield ["ridge", "with ", Hint("judges", SAMPLE), ", which shrinks judges to their population: leave it out"]
        if self.tie != AUTO and (self.ties == AUTO or not RESPONSES[self.ties].parameters):
            yield ["tie", "unless ties are an outcome: use ", Hint("ties", "davidson"), " with it"]
        if isinstance(self.groups, str) and self.cov_type not in (AUTO, "cluster"):
            yield ["groups", "with ", Hint("cov_type", self.cov_type), ": leave one of them out"]

    @property
    def covariates(self) -> dict[str, Any]:
        """Covariates, as arguments of a model."""
        return {"exog": self.exog, "judge_exog": self.judge_exog}


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
    ties : {"auto", "half", "drop", "davidson", "ordinal", "adjacent"}
    tie : {"auto", "common", "judge"}
        Whose the tie propensity is with ``ties="davidson"``, the thresholds or propensities of grades with the last two.
    cov_type : {"auto", "nonrobust", "HC0", "HC1", "cluster"}
    groups : str or array_like, optional
        The column to cluster by.
    judges : {"auto", "fixed", "pooled", "sample"}
        Every judge with parameters of its own, or those with few verdicts as one; or all of them drawn from a population, which
        is what is estimated (:class:`PopulationHJAModel`, never chosen by itself).
    exog, judge_exog : str, list of str, or dict, optional
        Columns that are covariates, with one coefficient or one per judge. A dict names differences of two columns,
        ``{"length": ("tokens_a", "tokens_b")}``, by :func:`style_difference`.
    weights : str or dict, optional
        A column of weights; ``{"question_id": "equal"}`` lets every prompt count the same, ``{"category": {"math": 2, "code":
        1}}`` says what labels count in total.
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
        How to read the source: arguments of :func:`read_comparisons`.

    Returns
    -------
    HJAResults

    Examples
    --------
    >>> import hjastats as hja
    >>> result = hja.fit(hja.datasets.load_panel())
    >>> result
    HJA(1) + position: 3,200 comparisons of 10 items by 8 judges, log-likelihood -1592.9 with 38 parameters
    model-I leads, then model-H, model-A; 2 warnings (see .findings)
    standard errors from the expected information (eq. fisher-plugin); .summary(), .ranking(), .plot, .judges
    >>> result.choices[["chosen", "number"]].round(1)
                 chosen  number
    what
    judges        fixed   400.0
    position      judge   186.8
    model        HJA(1)    71.6
    errors    nonrobust     NaN
    """
    asked = Asked(rank, position, ties, tie, cov_type, groups, judges, model, criterion, ridge, seed=seed)
    data, asked = _read(source, asked, exog, judge_exog, weights, reading)
    chosen = Chosen()
    with _bar(progress) as step:
        data = linked(data, chosen)
        if asked.judges == SAMPLE:
            return _of_a_sample(data, asked, chosen)
        result = (
            _judgewise(data, asked, chosen) if asked.model == "judgewise" else _of_judges(data, asked, chosen, step)
        )
        step("errors")
        result = _with_errors(result, asked, chosen)
    warn(result.fit, result.model.comparisons.connectivity)
    return HJAResults(result.model, result.fit, chosen.table)


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


# Data


def read(source: Any, needed: Sequence[tuple[str, str]] = (), **reading: Any) -> Comparisons:
    """Read comparisons; of a table that stays in its engine, prompts and the columns that are needed are kept.

    ``needed`` are arguments with the columns they name.
    """
    names = None
    if not isinstance(source, Comparisons):
        names = engine_columns(source, reading.get("format"), reading.get("separator"))
    if names is not None:
        _check_columns(names, needed)
        wanted = [name for _, name in needed if name not in IMPLIED]
        kept = [*(reading.get("keep") or ()), *wanted, *(name for name in PROMPT_COLUMNS if name in names)]
        reading["keep"] = list(dict.fromkeys(kept))
    data = read_comparisons(source, **reading)
    _check_columns(data.columns.columns, needed)
    return data


def _check_columns(names: Iterable[Any], needed: Sequence[tuple[str, str]]) -> None:
    """Refuse columns that are not there, all of them in one message."""
    known = list(names)
    absent = [(argument, name) for argument, name in needed if name not in known and name not in IMPLIED]
    if absent:
        given = [piece for argument, name in absent for piece in (", ", Hint(argument, name))][1:]
        raise ComparisonError(*given, f": no such column; there are {quoted(known, 12) or 'none'}.")


def _read(
    source: Any, asked: Asked, exog: Any, judge_exog: Any, weights: Any, reading: dict[str, Any]
) -> tuple[Comparisons, Asked]:
    """The comparisons with covariates among their columns, weighted as asked for."""
    if isinstance(weights, str) and not isinstance(source, Comparisons):
        reading["weight"], weights = weights, None
    needed = [("groups", asked.groups)] if isinstance(asked.groups, str) else []
    needed += [("weights", str(name)) for name in weights] if isinstance(weights, Mapping) else []
    needed += [("exog", name) for name in _columns(exog)] + [("judge_exog", name) for name in _columns(judge_exog)]
    data = read(source, needed, **reading)
    data = data if weights is None else weighted(data, weights)
    data, shared = _with_covariates(data, "exog", exog)
    data, own = _with_covariates(data, "judge_exog", judge_exog)
    return data, replace(asked, exog=shared, judge_exog=own)


def _columns(covariates: Any) -> list[str]:
    """The columns that covariates are made of."""
    if isinstance(covariates, Mapping):
        return [column for pair in covariates.values() for column in pair]
    if isinstance(covariates, str):
        return [covariates]
    return [name for name in covariates if isinstance(name, str)] if isinstance(covariates, Sequence) else []


def _with_covariates(data: Comparisons, name: str, given: Any) -> tuple[Comparisons, list[str] | None]:
    """Covariates among the columns of the data, where they follow when rows are left out, and their names."""
    if given is None:
        return data, None
    if isinstance(given, str):
        given = [given]
    if isinstance(given, Mapping):
        pairs = {str(new): columns_of(data.columns, list(pair)).to_numpy() for new, pair in given.items()}
        made = {new: style_difference(*values.T) for new, values in pairs.items()}
        return replace(data, columns=data.columns.assign(**made)), list(made)
    if not isinstance(given, Sequence) or not all(isinstance(column, str) for column in given):
        raise OptionError(
            f"{name} must name columns of the data, ['length_diff'], or pairs of them, {{'length': ('tokens_a', 'tokens_b')}}, "
            f"got {type(given).__name__}."
        )
    return data, list(given)


def linked(data: Comparisons, chosen: Chosen) -> Comparisons:
    """The comparisons of the largest group of items that hang together; all of them as a rule."""
    links = data.connectivity
    if links.is_connected:
        return data
    largest, *others = links.pooled_groups
    left_out = [item for group in others for item in group]
    chosen.say(
        "items",
        f"{len(largest)} of {data.n_items}",
        f"no judge compared them with {quoted(left_out)}: {len(others) + 1} groups without a common scale, the largest is ranked",
        len(largest),
    )
    members = np.isin(np.asarray(data.items, dtype=object), largest)
    return data.subset(members[data.first_index])


# Judges


def _fixed(data: Comparisons) -> Comparisons:
    return data


def _pooled(data: Comparisons) -> Comparisons:
    label = "others"
    while label in data.judges:
        label += "_"
    return data.pool_rare_judges(limits.LIGHT_JUDGE, label)


# How judges enter a model that has parameters for them: the data it is fitted to.
SAMPLE = "sample"
JUDGES: dict[str, Callable[[Comparisons], Comparisons]] = {"fixed": _fixed, "pooled": _pooled}


def _of_a_sample(data: Comparisons, asked: Asked, chosen: Chosen) -> PopulationResults:
    """The population judges are drawn from."""
    chosen.say("judges", SAMPLE, "asked for: the population they are drawn from is what is estimated")
    position = asked.position if asked.position != AUTO else ("judge" if data.has_order else None)
    reason = (
        "asked for" if asked.position != AUTO else "judges may differ in it" if position else "the data have no order"
    )
    chosen.say("position", position or "none", reason)
    ties = "half" if asked.ties == AUTO else asked.ties
    terms = asked.covariates | {"position": position, "ties": ties, "tie": "common" if asked.tie == AUTO else asked.tie}
    if asked.rank == AUTO:
        found = select_rank(data, criterion=asked.criterion, judges=SAMPLE, rng=asked.seed, **terms)
        model = found.result.model
        chosen.say("model", found.result.fit.layout.description, found.verdict)
    else:
        model = PopulationHJAModel.from_comparisons(data, rank=int(asked.rank), **terms)
        chosen.say("model", model.layout.description, "asked for")
    kind = "cluster" if asked.groups is not None else "nonrobust" if asked.cov_type == AUTO else asked.cov_type
    chosen.say("errors", kind, "asked for" if kind != "nonrobust" else "they count the drawing of these judges")
    result = model.fit(cov_type=kind, cov_kwds=None if asked.groups is None else {"groups": asked.groups})
    return PopulationResults(model, result.fit, chosen.table)


def of_judges(data: Comparisons, judges: str, chosen: Chosen) -> Comparisons:
    """The comparisons as the judges enter the model, with a line about it."""
    number = np.bincount(data.judge_index, data.weight if data.has_whole_weights else None, data.n_judges)
    light = int((number < limits.LIGHT_JUDGE).sum())
    if judges != AUTO:
        chosen.say("judges", judges, "asked for")
    elif light <= 1:
        reason = f"each has {number.min():,.0f} verdicts or more" if not light else "only one has few verdicts"
        chosen.say("judges", judges := "fixed", reason, number.min())
    else:
        judges, few = "pooled", f"fewer than {limits.LIGHT_JUDGE} verdicts"
        reason = (
            f"{light:,} of {data.n_judges:,} have {few}, too few for parameters of their own: they speak with one voice"
        )
        chosen.say("judges", judges, reason, light)
    return JUDGES[judges](data)


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


# Model


def _of_judges(data: Comparisons, asked: Asked, chosen: Chosen, step: Callable[[str], None]) -> HJAResults:
    """The model that the data ask for, with position effects and ties."""
    few = data if asked.model == "btl" else of_judges(data, asked.judges, chosen)
    if asked.ties != AUTO:
        result = _Search(few, asked, _ties_asked(few, asked), step).best(chosen)
        chosen.say("ties", result.model.ties, "asked for")
    else:
        result = _with_ties(few, asked, chosen, step)
    if few is data or result.fit.layout.has_judge_parameters:
        return result
    # Judges that the model takes to be alike need no pooling, and errors may be clustered by all of them.
    options = {name: value for name, value in result.model.options.items() if name != "rank"}
    return _again(BTLModel.from_comparisons(data, **asked.covariates, **options), result)


def _ties_asked(data: Comparisons, asked: Asked) -> dict[str, str]:
    rates = tie_rates(data)
    own = "judge" if rates is not None and rates.differ else "common"
    return {"ties": asked.ties, "tie": own if asked.tie == AUTO else asked.tie}


def _with_ties(data: Comparisons, asked: Asked, chosen: Chosen, step: Callable[[str], None]) -> HJAResults:
    """Ties as half wins, or as an outcome where judges tie so differently that sensitivities would show it."""
    lines, rates = len(chosen.lines), tie_rates(data)
    result = _Search(data, asked, {"ties": "half"}, step).best(chosen)
    if rates is None:
        if (data.outcome == 0.5).any():
            share = np.average(data.outcome == 0.5, weights=data.weight)
            chosen.say("ties", "half", f"{share:.1%} of the verdicts, half a win for each", share)
        return result
    told = f"judges tie in {rates.span} ({rates.test.told})"
    if rates.differ and result.fit.layout.structure.has_sensitivities and result.fit.penalty is None:
        again = Chosen(chosen.lines[:lines])
        other = _Search(data, asked, {"ties": "davidson", "tie": "judge"}, step).best(again)
        if other.converged and other.fit.penalty is None:
            chosen.lines[:] = again.lines
            chosen.say("ties", "davidson", f"{told}: half wins would make sensitivities of them", rates.test.statistic)
            return other
    why = "they differ too little to matter" if not rates.differ else "no sensitivities that would show it"
    chosen.say("ties", "half", f"{told}: {why}", rates.test.statistic)
    return result


def positions(data: Comparisons) -> tuple[str | None, ...]:
    """Position effects that the data can show, the largest last."""
    if not has_order(data):
        return (None,)
    return SCOPES if data.n_judges > 1 else SCOPES[:2]


def _again(model: HJAModel, like: HJAResults) -> HJAResults:
    return model.fit_like(like.fit)


class _Search:
    """Candidates for one set of data and ties: which were fitted, and which is best."""

    def __init__(self, data: Comparisons, asked: Asked, ties: dict[str, str], step: Callable[[str], None]) -> None:
        self.data, self.asked, self.step = data, asked, step
        self.terms = asked.covariates | ties
        self.positions = positions(data) if asked.position == AUTO else (asked.position,)
        self.fits: dict[Candidate, HJAResults] = {}
        self.losses: dict[Candidate, float] = {}

    def best(self, chosen: Chosen) -> HJAResults:
        """The best candidate, with lines about position and model."""
        self._fit_all()
        smallest = self._smallest()
        best, line = self._confirmed(smallest)
        self._say(smallest, best, chosen)
        if line:
            chosen.say(*line)
        return self._existing(best, chosen)

    # Candidates

    def _model(self, candidate: Candidate) -> HJAModel:
        position, rank = candidate
        if rank == BTL:
            return BTLModel.from_comparisons(self.data, position=position, **self.terms)
        return HJAModel.from_comparisons(self.data, position=position, rank=int(rank), **self.terms)

    def _fit(self, candidate: Candidate) -> None:
        self.step(f"{'BTL' if candidate[1] == BTL else f'rank {candidate[1]}'}, position {candidate[0] or 'none'}")
        self.fits[candidate] = self._model(candidate).fit(rng=self.asked.seed, warn_convergence=False)

    @property
    def _ranks(self) -> set[int | str]:
        """Ranks that were fitted with some position effect."""
        return {rank for _, rank in self.fits}

    def _fit_all(self) -> None:
        asked, largest = self.asked, self.positions[-1]
        if asked.model in ("btl", "ja") or asked.rank != AUTO or (asked.model is None and self.data.n_judges == 1):
            rank: int | str = asked.rank
            if rank == AUTO:
                rank = 0 if asked.model == "ja" else BTL
            for position in self.positions:
                self._fit((position, rank))
        elif asked.criterion in ("bic", "aic"):
            if asked.model is None:
                for position in self.positions:
                    self._fit((position, BTL))
            self._walk(largest, patience=PATIENCE)
            while (candidate := self._worth_fitting()) is not None:
                self._fit(candidate)
        else:
            if asked.criterion == "loglik-bootstrap" and len(self.positions) > 1:
                raise OptionError("criterion='loglik-bootstrap' chooses the rank only: pass position=, too.")
            for position in self.positions:
                self._walk(position)

    def _walk(self, position: str | None, **options: Any) -> None:
        """Fit rank after rank."""
        self.step(f"ranks, position {position or 'none'}")
        asked, prompts = self.asked, Clusters.of_prompts(self.data)
        if asked.criterion == "cv" and prompts is not None and prompts.has_repeats:
            options["groups"] = prompts.code
        try:
            selection = select_rank(
                self.data, criterion=asked.criterion, position=position, rng=asked.seed, **self.terms, **options
            )
        except IdentificationError:
            # Verdicts without any consensus have no sensitivities to it.
            if not self.fits:
                raise
            return
        is_wanted = [rank for rank in selection.results if asked.model is None or rank not in (BTL, 0)]
        self.fits |= {(position, rank): selection.results[rank] for rank in is_wanted}
        if asked.criterion == "cv":
            self.losses |= {(position, rank): loss for rank, loss in selection.table["cv"].items() if rank in is_wanted}
        elif asked.criterion == "loglik-bootstrap":
            self.losses |= {(position, rank): float(rank != selection.best) for rank in is_wanted}

    def _worth_fitting(self) -> Candidate | None:
        """A candidate that could still be best, or next to it in position or rank; None if there is none.

        Its likelihood is at most that of the same rank with the largest position effects.
        """
        best = self._smallest()
        ahead = [
            min((self._criterion(k) for k in self.fits if k[part] != best[part]), default=math.inf) for part in (0, 1)
        ]
        bounds = {}
        for rank, position in product(self._ranks, self.positions[:-1]):
            key, larger = (position, rank), self.fits.get((self.positions[-1], rank))
            if key in self.fits or larger is None:
                continue
            bounds[key] = self._price * self._model(key).df_model - 2.0 * larger.llf
            next_best = max(ahead[part] for part in (0, 1) if key[part] != best[part])
            if bounds[key] >= next_best:
                del bounds[key]
        return min(bounds, key=lambda key: bounds[key]) if bounds else None

    @property
    def _price(self) -> float:
        """What the criterion charges for a parameter."""
        return 2.0 if self.asked.criterion == "aic" else math.log(self.data.n_comparisons)

    def _criterion(self, candidate: Candidate) -> float:
        if self.losses:
            return self.losses[candidate]
        return self.fits[candidate].aic if self.asked.criterion == "aic" else self.fits[candidate].bic

    def _smallest(self) -> Candidate:
        """The smallest criterion among candidates that exist; one that does not only if it is BTL or JA, for which a ridge does."""
        some = [key for key, result in self.fits.items() if result.converged or key[1] in (BTL, 0)] or list(self.fits)
        return min(some, key=self._criterion)

    # Reasons

    def _say(self, by_criterion: Candidate, best: Candidate, chosen: Chosen) -> None:
        """Lines about position and model, as the criterion has it, or as prompts that were held out have it."""
        if self.asked.position != AUTO:
            chosen.say("position", best[0] or "none", "asked for")
        elif not has_order(self.data):
            chosen.say("position", "none", "the table does not say what was shown first")
        else:
            reason, number = self._against_next(by_criterion, best, 0)
            if best[0] is not None and not both_orders(self.data)[0]:
                reason += "; no pair was shown both ways: only the model tells it from taste"
            chosen.say("position", best[0] or "none", reason, number)
        name = self.fits[best].fit.layout.structure.name
        if len(self._ranks) > 1:
            chosen.say("model", name, *self._against_next(by_criterion, best, 1))
        else:
            is_asked = self.asked.model is not None or self.asked.rank != AUTO
            chosen.say("model", name, "asked for" if is_asked else "there is one judge, or one voice of all")

    def _against_next(self, by_criterion: Candidate, best: Candidate, part: int) -> tuple[str, float]:
        """By how much the choice is ahead of the next that differs from it in position (0) or rank (1)."""
        name = {"aic": "AIC", "cv": "held-out log-loss", "loglik-bootstrap": "the bootstrap"}.get(
            self.asked.criterion, "BIC"
        )
        if best[part] != by_criterion[part]:
            taken = self._told(by_criterion, part).removeprefix("with ")
            return f"{name} takes {taken}, which prompts held out speak against", math.nan
        if self.asked.criterion == "loglik-bootstrap":
            return f"by {name}", math.nan
        own = self._criterion(by_criterion)
        others = {key: self._criterion(key) - own for key in self.fits if key[part] != best[part]}
        next_best = min(others, key=lambda key: others[key])
        less = others[next_best]
        return f"{name} is lower by {less:,.4g} than {'for ' if part else ''}{self._told(next_best, part)}", less

    def _told(self, candidate: Candidate, part: int) -> str:
        if part:
            return self.fits[candidate].fit.layout.structure.name
        return {None: "without", "common": "with one for all judges", "judge": "with one per judge"}[candidate[0]]

    # Prompts held out

    def _confirmed(self, best: Candidate) -> tuple[Candidate, list[Any]]:
        """The candidate, or a smaller one that predicts prompts it has not seen better: BIC takes rows to be independent.

        With a line about it, if prompts repeat.
        """
        prompts = Clusters.of_prompts(self.data)
        if self.losses or prompts is None or not prompts.has_repeats or prompts.n < FOLDS or len(self.fits) < 2:
            return best, []
        if (prompts.per_judge(self.data) < 2).any():
            # Whoever is held out whole has no parameters to be predicted by.
            return best, []
        first, loss, better = best, {best: self._held_out(best, prompts)}, None
        while smaller := self._smaller(best):
            loss |= {key: self._held_out(key, prompts) for key in smaller if key not in loss}
            better = min(smaller, key=lambda key: loss[key])
            if loss[best] < loss[better]:
                break
            best = better
        if better is None:
            return best, []
        by = f"{prompts.n:,} prompts held out in {FOLDS} parts: log-loss {loss[best]:.4f}"
        if best == first:
            gain = loss[better] - loss[best]
            return best, ["confirmed", "yes", f"{by}, {gain:.4f} less than for {self._name(better)}", gain]
        gain = loss[first] - loss[best]
        return best, [
            "confirmed",
            "no",
            f"{by}, {gain:.4f} more for {self._name(first)}, what the criterion takes",
            gain,
        ]

    def _smaller(self, candidate: Candidate) -> list[Candidate]:
        """One direction less, one kind of position effect less."""
        position, rank = candidate
        found: list[Candidate] = []
        if rank != BTL:
            found.append((position, BTL if rank == 0 else int(rank) - 1))
        if position in self.positions[1:]:
            found.append((self.positions[self.positions.index(position) - 1], rank))
        found = [key for key in found if key[1] in self._ranks]
        for key in found:
            # What could not be best by BIC was not fitted; it may still predict better.
            if key not in self.fits:
                self._fit(key)
        return [key for key in found if self.fits[key].converged]

    def _held_out(self, candidate: Candidate, prompts: Clusters) -> float:
        self.step("prompts held out")
        model = self._model(candidate)
        folds = model.folds(prompts.code, FOLDS, np.random.default_rng(self.asked.seed))
        return float(held_out_losses(folds, [model.structure]).loss.mean())

    def _name(self, candidate: Candidate) -> str:
        layout = self.fits[candidate].fit.layout
        return f"{layout.structure.name}, position {candidate[0] or 'none'}"

    # Estimates that exist

    def _existing(self, best: Candidate, chosen: Chosen) -> HJAResults:
        """The fit, by a ridge where the likelihood has no maximum."""
        result, ridge = self.fits[best], self.asked.ridge
        if ridge is None or (ridge == AUTO and result.converged):
            return result
        weight = RIDGE if ridge == AUTO else float(ridge)
        reason = "asked for" if ridge != AUTO else f"the likelihood has no maximum: {_runaway(result)}"
        chosen.say("penalty", f"ridge {weight:g}", reason, weight)
        self.step("ridge")
        return result.model.fit_regularized(weight, terms=True, rng=self.asked.seed, warn_convergence=False)


def _runaway(result: HJAResults) -> str:
    """What has no finite value, in a few words."""
    fit = result.fit
    if fit.separation is None:
        return "the data leave some parameters open"
    layout, found = fit.layout, fit.separation
    terms = found.moving_terms(layout.terms.own_names, layout.terms.shared_names, layout.judges)
    items = [layout.items[i] for i in (*found.rising, *found.falling)] if len(found.judges) else []
    return f"{', '.join([*([quoted(items, 3)] if items else []), *terms[:3]]) or 'scores'} without limit"


# Standard errors


def _with_errors(result: HJAResults, asked: Asked, chosen: Chosen) -> HJAResults:
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
    verdicts = list(result.model.response.verdicts.values())
    undecided = float(np.average(~np.isin(data.outcome, verdicts), weights=data.weight))
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
