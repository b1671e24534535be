"""What it takes to know more: power, numbers of verdicts, what to ask next, and whether it is enough."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from .. import limits
from ..data.arrays import (
    check_alpha,
    check_number,
    check_option,
    check_positive,
    check_type,
    check_whole,
    generator,
    listed,
    lookup,
    numbers,
)
from ..data.comparisons import Comparisons
from ..data.labels import grouped
from ..data.swaps import prompt_column
from ..errors import ComparisonError, Hint, OptionError, spelled
from ..fitted import Fit, Observations
from ..looks import Piece, Shown, Table, Title, escaped_csv
from ..population import PopulationFit
from ..words import and_more, counted, percent, quoted, roughly, told_p
from ..writing import text_or_file
from .allocation import Allocation, Candidates, telling
from .foretelling import RANGE, foretold
from .goals import Goal, closest, pairs_told_apart, read_goal
from .shrinking import Errors, allocator, limiting, split_errors, verdicts_needed

DESIGNS = ("present", "best")
# Whoever is found next, in prices and candidates.
NEW_JUDGE = "new judge"


@dataclass(frozen=True, repr=False)
class Power(Shown):
    """Chance that a goal is reached.

    Attributes
    ----------
    power : float
    goal : str
    n : float
        Further verdicts.
    table : pandas.DataFrame
        By contrast: distance from the value tested against, std_err now and after.
    design : {"present", "best"}
    """

    power: float
    goal: str
    n: float
    table: pd.DataFrame
    design: str
    note: str = ""

    def __float__(self) -> float:
        return self.power

    def _shown(self) -> list[Piece]:
        mix = "in the present mix of judges and pairs" if self.design == "present" else "on what tells most"
        told = f"With {counted(self.n, 'further verdict')} {mix}, the chance to {self.goal} is {percent(self.power)}"
        pieces: list[Piece] = [f"{told}, if the estimates are true."]
        if len(self.table) <= limits.PRINTED_LABELS:
            pieces.append(Table(self.table))
        return [*pieces, *([self.note] if self.note else [])]


@dataclass(frozen=True, repr=False)
class SampleSize(Shown):
    """Verdicts that are needed to reach a goal.

    Attributes
    ----------
    goal : str
    power : float
        With which it is to be reached, if the estimates are true.
    verdicts : float
        Further verdicts in the present mix of judges and pairs; infinite if no number of them is enough.
    best : float
        The same where the comparisons that tell most are asked.
    clusters : float
        New prompts, other clusters of the errors, or judges who are a sample, over which these verdicts are spread as now; not a
        number without clusters.
    on_the_same : float
        Further verdicts in the present mix if all of them are on the clusters, or by the judges, there are.
    new, those : str
        The new clusters, and those there are, in words.
    best_is_new : bool
        Whether the comparisons that tell most are counted on new clusters.
    """

    goal: str
    power: float
    verdicts: float
    best: float
    clusters: float
    on_the_same: float
    new: str = ""
    those: str = ""
    hardest: str = ""
    best_is_new: bool = False

    @property
    def sentence(self) -> str:
        """All of it in words."""
        if self.verdicts == 0.0:
            return f"To {self.goal} with {percent(self.power, 0)} power no more verdicts are needed."
        if np.isinf(self.verdicts):
            return f"To {self.goal} is out of reach: {self.hardest} are as good as equal."
        more = f"{roughly(self.verdicts)} more verdict{'' if self.verdicts == 1 else 's'}"
        has_clusters = not np.isnan(self.clusters)
        told = f"To {self.goal} with {percent(self.power, 0)} power about {more} {self.new if has_clusters else ''}".rstrip()
        told += " are needed in the present mix of judges and pairs"
        if has_clusters and np.isfinite(self.on_the_same):
            told += f", or {roughly(self.on_the_same)} verdicts {self.those}"
        if self.best < self.verdicts:
            told += f"; about {roughly(self.best)} if those are asked that tell most"
            told += ", as new ones" if self.best_is_new else ""
        if has_clusters and np.isinf(self.on_the_same):
            return f"{told}. No number of verdicts {self.those} is enough: they limit the error."
        return f"{told}."

    def _shown(self) -> list[Piece]:
        return [self.sentence]


@dataclass(frozen=True, repr=False)
class Stopping(Shown):
    """Whether what is known is enough.

    Attributes
    ----------
    is_enough : bool
    told : tuple
        What there is to say, text and hints in turn.
    """

    is_enough: bool
    told: tuple[object, ...]

    @property
    def sentence(self) -> str:
        """All of it in words."""
        return spelled(self.told)

    def __bool__(self) -> bool:
        return self.is_enough

    def _shown(self) -> list[Piece]:
        return [self.sentence]


@dataclass(frozen=True, repr=False)
class NextQuestions(Shown):
    """What to ask next, in this order.

    Attributes
    ----------
    table : pandas.DataFrame
        judge, first, second; prompt where the data have one; row, of a frame of candidates; batch; cost_so_far; std_err that the
        goal is expected to have then (of several contrasts, the root of their mean variance).
    goal : str
    errors : pandas.DataFrame
        By contrast: std_err now; after all of them, as expected; and lower and upper, between which 8 of 10 are, the estimates
        being uncertain (not known for judges who are a sample, and of very many parameters).
    note : str
        What else limits the error.
    """

    table: pd.DataFrame
    goal: str
    errors: pd.DataFrame
    note: str = ""

    def __len__(self) -> int:
        return len(self.table)

    @property
    def _few(self) -> pd.DataFrame:
        """The first rows; without prices, whose sum the row tells."""
        few = self.table.head(10)
        is_counted = np.array_equal(few["cost_so_far"], np.arange(1, len(few) + 1))
        return few.drop(columns="cost_so_far") if is_counted else few

    def to_csv(self, path: str | Path | None = None) -> str | None:
        """The table as CSV, or to a file; labels that a spreadsheet would take for formulas begin with an apostrophe."""
        labels = [name for name, column in self.table.items() if not pd.api.types.is_numeric_dtype(column)]
        table = self.table.assign(**{str(name): self.table[name].map(escaped_csv) for name in labels})
        return text_or_file(table.to_csv(index=False), path)

    def to_jsonl(self, path: str | Path | None = None) -> str | None:
        """One JSON object per line, or to a file."""
        text = "".join(f"{json.dumps(row, default=_plain)}\n" for row in self.table.to_dict("records"))
        return text_or_file(text, path)

    def _shown(self) -> list[Piece]:
        now, then, low, high = np.sqrt((self.errors**2).mean())
        between = f" ({low:.4f} to {high:.4f})" if np.isfinite(low) else ""
        asked = self.table.groupby(["judge"]).size().sort_values(ascending=False)
        judges = and_more([f"{judge} {n}" for judge, n in asked.items()], 4)
        told = (
            f"{counted(len(self.table), 'comparison')} to {self.goal}: standard error {now:.4f} now, {then:.4f} expected after"
            f"{between}. "
            f"By judge: {judges}."
        )
        return [
            Title("What to ask next"),
            told,
            *([self.note] if self.note else []),
            Table(self._few, {"cost_so_far": "{:g}".format}, has_index=False, is_narrow=True),
        ]


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


# Power and numbers


def power(
    fit: Fit, goal: Any, n: float, *, design: str, prompts: str, alpha: float, effect: float | None = None
) -> Power:
    """Chance to reach a goal with n further verdicts."""
    check_option("design", design, DESIGNS)
    check_option("prompts", prompts, ("new", "same"))
    check_number("n", n, 0)
    wanted = with_effect(read_goal(fit, goal, alpha), effect)
    errors = split_errors(fit, wanted.rows)
    if design == "present":
        after = errors.after(float(n), are_new=prompts == "new")
    else:
        after = errors.after_plan(best_mix(fit, wanted, float(n)).left, n if prompts == "new" else 0.0)
    table = pd.DataFrame(
        {"distance": wanted.distance, "std_err": np.sqrt(errors.total), "after": np.sqrt(after)},
        index=pd.Index(wanted.names, name="contrast"),
    )
    return Power(wanted.power(after), wanted.text, float(n), table, design, limiting(errors))


def with_effect(goal: Goal, effect: float | None) -> Goal:
    """The goal with another distance of its contrasts, if one is given."""
    if effect is None:
        return goal
    check_number("effect", effect)
    return replace(goal, distance=np.full(len(goal.distance), float(effect)))


def sample_size(fit: Fit, goal: Any, *, power: float, alpha: float) -> SampleSize:
    """Verdicts that are needed to reach a goal with some power, in the present mix and in the best one."""
    check_alpha(power, "power")
    wanted = read_goal(fit, goal, alpha)
    if wanted.text.startswith("narrow"):
        raise OptionError("goal must be one that can be reached: a contrast, 'top2' or 'order all', got 'places'.")
    errors = split_errors(fit, wanted.rows)
    needed = verdicts_needed(wanted, errors, power, are_new=True)
    hardest = wanted.names[closest(wanted, errors.total)]
    best = _best_needed(fit, wanted, errors, power, needed)
    clusters = errors.clusters_of(needed) if errors.n_clusters > 0 and np.isfinite(needed) else None
    return SampleSize(
        wanted.text,
        power,
        needed,
        best,
        np.nan if clusters is None else float(clusters),
        verdicts_needed(wanted, errors, power, are_new=False),
        "" if clusters is None else f"{errors.word} about {errors.told(clusters, new=True)}",
        f"{errors.word} those there are",
        hardest,
        clusters is not None and errors.are_new,
    )


def _best_needed(fit: Fit, goal: Goal, errors: Errors, power: float, needed: float) -> float:
    """Verdicts that are enough where those are asked that tell most, at most as many as in the present mix."""
    if needed == 0.0 or np.isinf(needed):
        return needed
    amount = max(np.ceil(needed / limits.PARTS_OF_A_PLAN), 1.0)
    chooser = allocator(fit, goal, every_candidate(fit), needed)
    n, now = 0.0, chooser.variances
    while n < needed:
        asked = chooser.run(amount * 4, amount=amount, look=4)
        if not len(asked.chosen):
            return np.inf
        n += amount * len(asked.chosen)
        if goal.power(errors.after_plan(asked.variances / now, n * errors.are_new)) >= power:
            return n
    return needed


def best_mix(fit: Fit, goal: Goal, n: float) -> Allocation:
    """The comparisons that tell most, of about so many verdicts."""
    amount = max(np.ceil(n / limits.PARTS_OF_A_PLAN), 1.0)
    return allocator(fit, goal, every_candidate(fit), n).run(n, amount=amount, look=10)


def stopping(fit: Fit, goal: Any, *, alpha: float, power: float, looks: int) -> Stopping:
    """Whether a goal is reached at the last of some looks, each of which has its share of the level, and what is missing."""
    check_whole("looks", looks, 1)
    check_alpha(alpha)
    whole, alpha = alpha, alpha / looks
    wanted = read_goal(fit, goal, alpha)
    if wanted.text.startswith("narrow"):
        n_told, n = pairs_told_apart(fit, alpha)
        is_enough = n_told == n
        told = f"{'Enough' if is_enough else 'Not enough'}: {n_told} of {n} pairs of items are told apart."
        return Stopping(is_enough, (told,))
    variances = fit.covariance.variances(wanted.rows)
    hardest = closest(wanted, variances)
    z = abs(wanted.distance[hardest]) / np.sqrt(variances[hardest])
    p = float(2.0 * stats.norm.sf(z))
    is_enough = z > wanted.critical
    which = wanted.names[hardest]
    # A ranking, which compares all items at once, may not tell the same two apart.
    alone = ", tested alone; places of a ranking hold for all items at once" if wanted.is_pair_of_many else ""
    if is_enough:
        narrowest = "" if len(wanted.names) == 1 else f"; {which} differ most narrowly"
        told = f"Enough to {wanted.text}{narrowest} ({told_p(p)}{alone})."
    else:
        told = f"Not enough to {wanted.text}: {which} cannot be told apart ({told_p(p)}{alone}). "
        told += sample_size(fit, goal, power=power, alpha=alpha).sentence
    if looks > 1:
        return Stopping(bool(is_enough), (f"{told} Each of {looks} looks is held to {percent(whole, 0)} / {looks}.",))
    more = f"{told} Who looks again after further verdicts errs more often than {percent(alpha, 0)}: count the looks, "
    return Stopping(bool(is_enough), (more, Hint("looks", 2), " at the second."))


# What to ask next


def askable_judges(fit: Fit) -> tuple[str, ...]:
    """Judges who can be asked: those at hand, and where they are a sample, whoever is found next."""
    return (*fit.layout.judges, NEW_JUDGE) if isinstance(fit, PopulationFit) else fit.layout.judges


def every_candidate(fit: Fit, price: np.ndarray | None = None, pairs: np.ndarray | None = None) -> Candidates:
    """Every judge about every pair, or about some (n, 2), as often as one likes.

    Of judges that are alike one stands for all; of a sample of too many, those who follow the consensus most sharply.
    """
    judges, n_items = len(askable_judges(fit)), len(fit.layout.items)
    prices = np.ones(judges) if price is None else price
    some = np.arange(judges) if fit.layout.has_judge_parameters else np.argsort(prices, kind="stable")[:1]
    low, high = np.triu_indices(n_items, 1) if pairs is None else pairs.T
    if isinstance(fit, PopulationFit) and len(some) * len(low) > limits.CANDIDATES:
        sharpest = np.argsort(-fit.parts.gamma, kind="stable")[: max(limits.CANDIDATES // len(low) - 1, 1)]
        some = np.append(np.sort(sharpest), judges - 1)
    judge = np.repeat(some, len(low))
    return Candidates(
        judge, np.tile(low, len(some)), np.tile(high, len(some)), prices[judge], np.full(len(judge), np.inf)
    )


def next_questions(
    fit: Fit,
    observed: Observations | None,
    budget: float,
    *,
    goal: Any = "top2",
    cost: Mapping[str, float] | None = None,
    candidates: Any = None,
    batch: int | None = None,
    per_judge: float | None = None,
    alpha: float = 0.05,
    rng: int | np.random.Generator | None = 0,
) -> NextQuestions:
    """Which judge to ask about which pair in which order next.

    Raises
    ------
    OptionError, ComparisonError
    """
    check_positive("budget", budget, "a positive number of verdicts, or of money where cost is given")
    if batch is not None:
        check_whole("batch", batch, 1)
    if per_judge is not None:
        check_whole("per_judge", per_judge, 1)
    wanted, prices = read_goal(fit, goal, alpha), read_prices(fit, cost)
    known, rows = _read_candidates(fit, candidates, prices)
    data, rng = None if observed is None else observed.data, generator(rng)
    errors = split_errors(fit, wanted.rows)
    prompts = None if data is None or rows is not None else _Prompts.of(data, rng)
    are_new = prompts is not None and errors.name == prompts.name and errors.are_new
    if prompts is not None and fit.layout.has_judge_parameters and not are_new:
        known = prompts.limited(known, budget)
    chooser = allocator(fit, wanted, known, budget / float(prices.mean()), per_judge)
    if data is not None and known.can_turn:
        chooser.is_next_turned = _is_first_more_often(data, known)
    asked = chooser.run(float(budget), look=min(limits.ASKED_AT_A_LOOK, batch or limits.ASKED_AT_A_LOOK))
    left, drawn = _foretold(fit, wanted, known, asked, rng)
    # As the model has it, and from the first to the last more and more as it is foretold.
    path = (
        asked.path[1:] / asked.path[0] * (left.mean() / asked.left.mean()) ** np.linspace(0.0, 1.0, len(asked.chosen))
    )
    n_new = np.arange(1.0, len(path) + 1.0) * are_new
    table = _table(fit, known, asked, prices).assign(std_err=np.sqrt(errors.of_mean.after_plan(path, n_new)))
    if rows is not None:
        table.insert(0, "row", rows.index[asked.chosen])
        if "prompt" in rows:
            table["prompt"] = rows["prompt"].to_numpy()[asked.chosen]
    notes = [limiting(errors)]
    if prompts is not None:
        chosen = known.take(asked.chosen)
        if not fit.layout.has_judge_parameters:
            chosen = replace(chosen, judge=lookup("judge", table["judge"].to_numpy(), fit.layout.judges))
        chosen = replace(chosen, judge=chosen.judge + asked.new)
        if are_new:
            prompts = prompts.fresh(chosen, errors.clusters_of(len(chosen.judge)))
        assigned, n_made = prompts.assign(chosen)
        table.insert(3, prompts.name, assigned)
        notes.append(prompts.why_others(fit, wanted, known, asked.chosen))
        if n_made:
            notes.append(
                f"{n_made:,} of them need new values of {prompts.name}: the judge has seen the pair with all there are."
            )
    if batch is not None:
        table["batch"] = np.arange(len(table)) // batch + 1
    n = len(asked.chosen) * are_new
    ends = [errors.after_plan(np.quantile(drawn, end, axis=0), n) for end in RANGE]
    after = dict(
        zip(("now", "after", "lower", "upper"), (errors.total, errors.after_plan(left, n), *ends), strict=True)
    )
    shown = pd.DataFrame(
        {name: np.sqrt(values) for name, values in after.items()}, pd.Index(wanted.names, name="contrast")
    )
    return NextQuestions(table, wanted.text, shown, " ".join(filter(None, notes)))


def _foretold(
    fit: Fit, goal: Goal, known: Candidates, asked: Allocation, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Shares of the variances that all of the comparisons leave, as expected (m,) and at draws of the estimates (n_draws, m)."""
    if isinstance(fit, PopulationFit) or not len(asked.chosen):
        return asked.left, np.tile(np.nan, (1, len(asked.left)))
    chosen = known.take(asked.chosen)
    first, second = (
        np.where(asked.is_turned, a, b) for a, b in ((chosen.second, chosen.first), (chosen.first, chosen.second))
    )
    before = fit.model_covariance.variances(goal.rows)
    left, drawn = foretold(fit, goal, replace(chosen, first=first, second=second), rng)
    if not len(drawn):
        return left / before, np.tile(np.nan, (1, len(before)))
    return left / before, drawn / before


def read_prices(fit: Fit, cost: Mapping[str, float] | None) -> np.ndarray:
    """Price of a verdict of every judge who can be asked, shape (n,); one for each without prices.

    Raises
    ------
    OptionError
    """
    judges = askable_judges(fit)
    if cost is None:
        return np.ones(len(judges))
    check_type("cost", cost, Mapping, "a dict from every judge to the price of a verdict")
    given = dict(cost)
    if unknown := [name for name in given if name not in judges]:
        raise OptionError(f"cost names judges that are not there: {quoted(unknown)}; there are {quoted(judges)}.")
    if missing := [name for name in judges if name not in given]:
        raise OptionError(f"cost needs a price for every judge, and has none for {quoted(missing)}.")
    prices = numbers("cost", [given[name] for name in judges])
    if not (np.isfinite(prices) & (prices > 0)).all():
        raise OptionError(f"cost must be positive prices of a verdict, got {quoted(np.unique(prices[~(prices > 0)]))}.")
    return prices


def _read_candidates(fit: Fit, candidates: Any, prices: np.ndarray) -> tuple[Candidates, pd.DataFrame | None]:
    """What can be asked: every pair, some pairs, or the rows of a frame, each of them once and in its order."""
    if candidates is None:
        return every_candidate(fit, prices), None
    layout = fit.layout
    if isinstance(candidates, Comparisons):
        candidates = candidates.to_frame()
    if not isinstance(candidates, pd.DataFrame):
        each = listed("candidates", candidates, "pairs of items, or a frame with columns judge, first and second")
        pairs = [tuple(listed("candidates", pair, "pairs of items")) for pair in each]
        if not pairs or any(len(pair) != 2 for pair in pairs):
            raise OptionError("candidates must be pairs of items, or a frame with columns judge, first and second.")
        sides = [lookup("item", np.array(side, dtype=object), layout.items) for side in zip(*pairs, strict=True)]
        low, high = np.minimum(*sides), np.maximum(*sides)
        if (low == high).any():
            raise OptionError("candidates must be pairs of two different items.")
        return every_candidate(fit, prices, np.unique(np.column_stack([low, high]), axis=0)), None
    if missing := [name for name in ("judge", "first", "second") if name not in candidates]:
        raise ComparisonError(
            f"a frame of candidates needs columns judge, first and second, and lacks {quoted(missing)}."
        )
    names = ("judge", "item", "item")
    known = (askable_judges(fit), layout.items, layout.items)
    judge, first, second = (
        lookup(name, candidates[column].astype(str).to_numpy(dtype=object), labels)
        for name, column, labels in zip(names, ("judge", "first", "second"), known, strict=True)
    )
    return Candidates(judge, first, second, prices[judge], np.ones(len(judge)), can_turn=False), candidates


def _table(fit: Fit, known: Candidates, asked: Allocation, prices: np.ndarray) -> pd.DataFrame:
    layout, chosen = fit.layout, asked.chosen
    judge, items = known.judge[chosen], np.array(layout.items, dtype=object)
    if not layout.has_judge_parameters and known.can_turn:
        # All are alike: the cheapest in turn.
        cheapest = np.flatnonzero(prices == prices.min())
        judge = cheapest[np.arange(len(chosen)) % len(cheapest)]
    first, second = known.first[chosen], known.second[chosen]
    names = np.array(askable_judges(fit), dtype=object)[judge]
    names[asked.new > 0] = [f"{NEW_JUDGE} {number}" for number in asked.new[asked.new > 0]]
    return pd.DataFrame(
        {
            "judge": names,
            "first": items[np.where(asked.is_turned, second, first)],
            "second": items[np.where(asked.is_turned, first, second)],
            "cost_so_far": np.cumsum(prices[judge]),
        }
    )


def _codes(judge: np.ndarray, first: np.ndarray, second: np.ndarray, n_items: int) -> np.ndarray:
    return (judge.astype(np.int64) * n_items + first) * n_items + second


def _is_first_more_often(data: Comparisons, known: Candidates) -> np.ndarray:
    """Of which candidates the first item was shown first more often than second, shape (n,)."""
    n = data.n_items
    codes, places = np.unique(_codes(data.judge_index, data.first_index, data.second_index, n), return_inverse=True)
    counts = np.bincount(places, data.weight)

    def seen(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        wanted = _codes(known.judge, first, second, n)
        place = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
        return np.where(codes[place] == wanted, counts[place], 0.0)

    return seen(known.first, known.second) > seen(known.second, known.first)


@dataclass
class _Prompts:
    """Which prompts a judge has not seen with a pair yet."""

    name: str
    labels: np.ndarray
    # Judge and pair of every row with its prompt, each combination once, by judge and pair.
    cells: np.ndarray
    prompts: np.ndarray
    n_items: int
    # How much each is in use before; of those alike the one with the least is asked.
    used: np.ndarray

    @classmethod
    def of(cls, data: Comparisons, rng: np.random.Generator) -> _Prompts | None:
        """By the column of prompts; None where there is none, or one of something that cannot be asked again.

        A label that only one row has is the name of a vote, and what only one judge has seen may be the name of a ranking.
        """
        name = prompt_column(data, None)
        if name is None and data.cluster is not None:
            seen_by = pd.Series(data.judge_index).groupby(data.columns[data.cluster].to_numpy()).nunique()
            name = str(data.cluster) if (seen_by > 1).any() else None
        if name is None:
            return None
        code, labels = grouped(name, data.columns[name])
        if np.bincount(code[code >= 0]).max(initial=0) < 2:
            return None
        low, high = np.minimum(data.first_index, data.second_index), np.maximum(data.first_index, data.second_index)
        cells = _codes(data.judge_index, low, high, data.n_items)
        seen = np.unique(np.column_stack([cells, code])[code >= 0], axis=0)
        used = rng.random(len(labels))
        return cls(name, np.asarray(labels, dtype=object), seen[:, 0], seen[:, 1], data.n_items, used)

    def fresh(self, chosen: Candidates, at_least: int) -> _Prompts:
        """New prompts for some comparisons, at least so many, in their order."""
        again = np.unique(self._codes(chosen), return_counts=True)[1].max(initial=1)
        n = max(int(again), at_least)
        labels = np.array([_new_prompt(k) for k in range(1, n + 1)], dtype=object)
        return replace(self, labels=labels, cells=self.cells[:0], prompts=self.prompts[:0], used=np.arange(n) / n)

    def why_others(self, fit: Fit, goal: Goal, known: Candidates, chosen: np.ndarray) -> str:
        """A sentence where judges have seen pairs that tell more with all prompts there are, so that others are asked."""
        left = known.left - np.bincount(chosen, minlength=len(known.left))
        gone, asked = np.flatnonzero(left < 1.0)[: limits.FOLLOWED], np.unique(chosen)
        if isinstance(fit, PopulationFit) or not len(gone) or not len(asked):
            return ""
        rows, weight = telling(fit, known.take(np.concatenate([gone, asked])))
        moved = rows @ fit.model_covariance.covariance
        gain = weight * np.sum((moved @ goal.rows.T) ** 2, axis=1) / (1.0 + weight * np.sum(moved * rows, axis=1))
        n_better = int((gain[: len(gone)] > gain[len(gone) :].min()).sum())
        if not n_better:
            return ""
        which = (
            f"{counted(n_better, 'combination')} of a judge and a pair that {'tells' if n_better == 1 else 'tell'} more"
        )
        return f"By then {which} will have been asked on all {len(self.labels):,} values of {self.name}: others take their place."

    def limited(self, known: Candidates, budget: float) -> Candidates:
        """The candidates, each as often as there are prompts left for it; without a limit where new prompts are needed anyway."""
        start, end = (np.searchsorted(self.cells, self._codes(known), side) for side in ("left", "right"))
        left = len(self.labels) - (end - start)
        return replace(known, left=np.minimum(known.left, left)) if left @ known.price >= budget else known

    def _codes(self, known: Candidates) -> np.ndarray:
        return _codes(
            known.judge, np.minimum(known.first, known.second), np.maximum(known.first, known.second), self.n_items
        )

    def assign(self, chosen: Candidates) -> tuple[np.ndarray, int]:
        """A prompt for every comparison, and how many of them are new for want of others.

        It is one that the judge has not seen with the pair, of those the one least in use.
        """
        used, made = self.used.copy(), dict[int, int]()
        asked: dict[int, np.ndarray] = {}
        result: list[Any] = []
        for code in self._codes(chosen).tolist():
            if code not in asked:
                start, end = np.searchsorted(self.cells, [code, code + 1])
                asked[code] = np.zeros(len(self.labels), dtype=bool)
                asked[code][self.prompts[start:end]] = True
            if asked[code].all():
                made[code] = made.get(code, 0) + 1
                result.append(_new_prompt(made[code]))
                continue
            prompt = int(np.argmin(np.where(asked[code], np.inf, used)))
            asked[code][prompt] = True
            used[prompt] += 1.0
            result.append(self.labels[prompt])
        return np.array(result, dtype=object), sum(made.values())


def _new_prompt(number: int) -> str:
    return f"new prompt {number}"
