"""Comparisons as the front door needs them: the columns that were named, covariates, and items that hang together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..data.arrays import columns_of
from ..data.comparisons import Comparisons
from ..data.readers import read_comparisons
from ..data.roles import PROMPT_COLUMNS, Names
from ..data.sources import engine_columns
from ..data.style import style_difference
from ..data.traits import known_items
from ..data.weighting import weighted
from ..errors import ComparisonError, Hint, OptionError
from ..inference.clusters import IMPLIED
from ..model.spanned import random_effects
from ..words import quoted
from .asked import Asked, Chosen


def read(source: Any, needed: Sequence[tuple[str, str]] = (), **reading: Any) -> Comparisons:
    """Read comparisons; of a table that stays in its engine, prompts and the columns that are needed are kept.

    ``needed`` are arguments with the columns they name.
    """
    names = None
    if not isinstance(source, Comparisons):
        names = engine_columns(source, reading.get("format"), reading.get("separator"))
    if names is not None:
        _check_columns(names, needed)
        known = Names(list(names))
        prompts = [name for alias in PROMPT_COLUMNS if (name := known.find(alias)) is not None]
        wanted = [name for _, name in needed if name not in IMPLIED]
        kept = [*(reading.get("keep") or ()), *wanted, *prompts]
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


def read_as_asked(
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
    items, data = known_items(asked.items, data)
    data, shared = _with_covariates(data, "exog", exog)
    data, own = _with_covariates(data, "judge_exog", judge_exog)
    return data, replace(asked, exog=shared, judge_exog=own, items=items).with_outcomes(data)


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


def linked(data: Comparisons, chosen: Chosen, asked: Asked | None = None) -> Comparisons:
    """The comparisons of the largest group of items that hang together; all of them as a rule, or where traits link them."""
    links = data.connectivity
    if links.is_connected:
        if asked is not None and asked.unlinked == "apart":
            chosen.say("items", f"all {data.n_items}", "comparisons link them all: unlinked='apart' has no effect")
        return data
    if asked is not None and (why := _linked_by(asked)):
        n = len(links.pooled_groups)
        chosen.say("items", f"all {data.n_items}", f"no judge compared {n} groups of them with each other: {why}", n)
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
    kept = data.subset(members[data.first_index])
    return replace(kept, unlinked=tuple(left_out), n_unlinked=data.n_comparisons - kept.n_comparisons)


def _linked_by(asked: Asked) -> str:
    """What gives items that nobody compared a common scale, or does without; empty if nothing does."""
    if asked.unlinked == "apart":
        return "each has a zero of its own"
    if asked.items is not None:
        return "what links them is their traits"
    return (
        "what links them is the distribution of the items" if "items" in random_effects(asked.random, None, "") else ""
    )
