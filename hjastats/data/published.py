"""Files that benchmarks of language models publish: FastChat, Arena-Hard, LMArena, AlpacaEval."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd

from ..errors import ComparisonError, Hint
from ..words import quoted
from .labels import TableRows
from .roles import ITEM_COLUMNS, Names, Roles
from .shape import Found, Given, Laid, Shape, column_of, find_judge, find_weight, names_pairs, with_roles
from .vocabulary import is_no_side

# Arena-Hard's five grades, as equal steps.
_GRADES = {"A>>B": 1.0, "A>B": 0.75, "A=B": 0.5, "B>A": 0.25, "B>>A": 0.0}


def _found(names: Names, given: Given, **needed: Any) -> Found | None:
    """The needed columns with judge and weight; None unless all are there, and where the user names items or verdicts."""
    if names_pairs(given):
        return None
    columns: Found = {}
    for role, aliases in needed.items():
        columns[role] = names.find(*((aliases,) if isinstance(aliases, str) else aliases))
        if columns[role] is None:
            return None
    return columns | {"judge": find_judge(names, given), "weight": find_weight(names, given)}


def _find_fastchat(names: Names, given: Given) -> Found | None:
    return _found(names, given, one="model_1", two="model_2", g1="g1_winner", g2="g2_winner")


def _lay_fastchat(frame: pd.DataFrame, found: Found, given: Given) -> Laid:
    """Two games: the first model is shown first, then the second; verdicts name the model in both."""
    others = _others(frame, found)
    game = pd.Series(np.repeat([1, 2], len(frame)), name="game")
    twice = pd.concat([frame, frame], ignore_index=True)
    is_first = (game == 1).to_numpy()
    one, two = twice[found["one"]], twice[found["two"]]
    verdict = twice[found["g1"]].where(is_first, twice[found["g2"]])
    swap = {"model_1": "model_2", "model_2": "model_1"}
    table, roles = with_roles(
        twice,
        pd.concat([others, others], ignore_index=True).assign(game=game),
        judge=None if found["judge"] is None else twice[found["judge"]],
        first=one.where(is_first, two),
        second=two.where(is_first, one),
        outcome=verdict.where(is_first, verdict.map(lambda label: swap.get(label, label))),
        weight=None if found["weight"] is None else twice[found["weight"]],
    )
    return Laid(table, roles, made_of=f"{len(frame):,} pairs judged in both orders", is_own=False)


def _find_arena_hard(names: Names, given: Given) -> Found | None:
    found = _found(names, given, model=("model", "model_id"), games="games")
    return None if found is None else found | {"baseline": names.find("baseline", "baseline_model")}


def _lay_arena_hard(frame: pd.DataFrame, found: Found, given: Given) -> Laid:
    """Games against a baseline, which is shown first in the first game, second in the next, and so on."""
    if found["baseline"] is None and given.baseline is None:
        raise ComparisonError(
            "the games do not say which baseline the models were compared with: pass ",
            *(Hint("baseline", "gpt-4-0314"), " if it was that of Arena-Hard 0.1, or the name of yours."),
        )
    games = column_of(frame, found["games"]).map(lambda games: games if isinstance(games, list) else [])
    number = games.map(len).to_numpy()
    row = np.repeat(np.arange(len(frame)), number)
    turn = np.concatenate([np.arange(n) for n in number]) if len(number) else row
    score = [game.get("score") if isinstance(game, dict) else game for own in games for game in own]
    long = frame.iloc[row].reset_index(drop=True)
    model = column_of(long, found["model"])
    baseline = column_of(long, found["baseline"]) if given.baseline is None else pd.Series(given.baseline, long.index)
    is_itself = (model == baseline).to_numpy()
    if not (~is_itself).any():
        raise ComparisonError(
            f"every game is of the baseline {quoted(baseline.unique())} against itself, or there is none."
        )
    is_first = turn % 2 == 0
    table, roles = with_roles(
        long,
        _others(long, found).assign(game=turn + 1),
        judge=None if found["judge"] is None else long[found["judge"]],
        first=baseline.where(is_first, model),
        second=model.where(is_first, baseline),
        outcome=pd.Series(score, long.index, dtype=object),
        weight=None if found["weight"] is None else long[found["weight"]],
    )
    made_of = f"{int((~is_itself).sum()):,} games against {quoted(baseline.unique())}, in both orders"
    return Laid(table[~is_itself].reset_index(drop=True), roles, codes=_GRADES, made_of=made_of, is_own=False)


def _find_one_hot(names: Names, given: Given) -> Found | None:
    for first, second in ITEM_COLUMNS:
        short = (first[-1], second[-1])
        found = _found(
            names,
            given,
            first=first,
            second=second,
            first_won=(f"winner_{first}", f"winner_{short[0]}"),
            second_won=(f"winner_{second}", f"winner_{short[1]}"),
        )
        if found is not None:
            return found | {"neither": [name for name in names.all if is_no_side(_said(name))]}
    return None


def _said(name: Hashable) -> str:
    """The verdict for which a column of zeros and ones stands."""
    text = str(name).strip().casefold()
    return text.removeprefix("winner_") if text.startswith("winner_") else "?"


def _lay_one_hot(frame: pd.DataFrame, found: Found, given: Given) -> Laid:
    """One column of zeros and a one for each verdict."""
    columns = {"first": found["first_won"], "second": found["second_won"]}
    columns |= {_said(name): name for name in found["neither"]}
    text = frame[list(columns.values())].astype(str).apply(lambda column: column.str.strip().str.lower())
    is_one = text.isin(["1", "1.0", "true"]).to_numpy()
    is_known = (is_one | text.isin(["0", "0.0", "false"]).to_numpy()).all(axis=1)
    bad = ~is_known | (is_one.sum(axis=1) != 1)
    if bad.any():
        raise ComparisonError(
            f"exactly one of the columns {quoted(columns.values())} should be 1 in every row, the others 0; {int(bad.sum())} rows "
            f"are different, {TableRows().place(bad, 'first at row {}')}: correct them or leave them out."
        )
    verdict = np.array(list(columns), dtype=object)[is_one.argmax(axis=1)]
    table = frame.drop(columns=list(columns.values())).assign(outcome=verdict)
    roles = Roles(found["judge"], found["first"], found["second"], "outcome", found["weight"])
    return Laid(table, roles, judge="human")


def _find_alpaca(names: Names, given: Given) -> Found | None:
    return _found(names, given, first="generator_1", second="generator_2", outcome="preference")


def _lay_alpaca(frame: pd.DataFrame, found: Found, given: Given) -> Laid:
    """Preferences from 1 to 2. The order was drawn anew for every annotation and is not in the file."""
    number = pd.to_numeric(column_of(frame, found["outcome"]), errors="coerce").dropna()
    is_scale = bool((number > 1).any()) and bool(((number == 0) | number.between(1, 2)).all())
    roles = Roles(found["judge"], found["first"], found["second"], found["outcome"], found["weight"])
    return Laid(frame, roles, codes="alpacaeval" if is_scale else None, has_order=False)


def _find_lmarena(names: Names, given: Given) -> Found | None:
    tagged = names.find("conv_metadata", "evaluation_session_id", "category_tag")
    found = None if tagged is None else _found(names, given, first="model_a", second="model_b", outcome="winner")
    return None if found is None else found | {"session": names.find("evaluation_session_id")}


def _lay_lmarena(frame: pd.DataFrame, found: Found, given: Given) -> Laid:
    """Votes of visitors, who are not told apart; properties of the conversation lie in nested columns."""
    frame = flattened(frame)
    roles = Roles(found["judge"], found["first"], found["second"], found["outcome"], found["weight"])
    session = found["session"]
    repeats = session is not None and bool(frame[session].duplicated().any())
    return Laid(frame, roles, judge="human", cluster=session if repeats else None)


def flattened(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns of dicts as a column for each entry, ``conv_metadata.turns``.

    Examples
    --------
    >>> flattened(pd.DataFrame({"meta": [{"turns": 1, "bold": {"a": 0}}, {"turns": 2, "bold": {"a": 3}}]}))
       meta.turns  meta.bold.a
    0           1            0
    1           2            3
    """
    parts = []
    for name, column in frame.items():
        known = column.dropna() if column.dtype == object else column.iloc[:0]
        if known.empty or not known.map(lambda value: isinstance(value, dict)).all():
            parts.append(column.to_frame())
            continue
        records = [value if isinstance(value, dict) else {} for value in column]
        inner = pd.json_normalize(records, sep=".").set_axis(frame.index)
        parts.append(inner.set_axis([f"{name}.{entry}" for entry in inner.columns], axis=1))
    return pd.concat(parts, axis=1)


def _others(frame: pd.DataFrame, found: Found) -> pd.DataFrame:
    """The columns that have no part in the verdicts."""
    return frame.drop(columns=[name for name in found.values() if name is not None])


PUBLISHED = {
    "fastchat": Shape(_find_fastchat, _lay_fastchat, ("weight",)),
    "arena_hard": Shape(_find_arena_hard, _lay_arena_hard, ("weight",)),
    "one_hot": Shape(_find_one_hot, _lay_one_hot, ("weight",)),
    "alpaca_eval": Shape(_find_alpaca, _lay_alpaca, ("weight",)),
    "lmarena": Shape(_find_lmarena, _lay_lmarena, ("weight",)),
}
