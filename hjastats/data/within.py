"""Items that were judged together, more than two at a time: ratings, rankings, the best and the worst. They become pairs.

Every pairwise margin of Plackett-Luce's model is Bradley-Terry's, so all pairs that a ranking decides are consistent; they are not
independent, and hang together by ranking. Of a list that stops after its first places, an item that has a place beats one that
was there and has none. The best of several beats the others; what the worst loses to does not follow the model unless there are
three. Pairs made of ratings, and ties within a ranking, are approximations. Of ratings the difference is kept, as a grade.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ..errors import ComparisonError, Hint
from ..words import counted, quoted
from .grades import grades_of
from .labels import label_text
from .roles import COUNT_COLUMNS, PROMPT_COLUMNS, WEIGHT_COLUMNS, Names, named_column
from .shape import Found, Given, Laid, Shape, column_of, find_judge, find_pair, names_pairs, with_roles

ITEM_NAMES = ("item", "model", "system", "generator", "model_id", "candidate", "answer", "option", "product")
SCORE_NAMES = ("score", "rating", "grade", "stars", "points")
PLACE_NAMES = ("rank", "place", "ranking_position")
RANKING_NAMES = ("ranking", "ranking_id", "ballot", "ballot_id", "list_id", "race")
# Where an item stood when it was shown; of two the one before the other is the first.
SHOWN_NAMES = ("shown_at", "shown_position", "position_shown", "display_position", "display_order")
_ORDERED_NAMES = ("ranking", "order", "ranked", "ranked_items")
# What tells ratings of one item by one judge on one prompt apart.
_REPEATED = ("turn", "repetition", "round", "trial", "run")

# Numbers that are neither.
_NO_ITEMS = (*_REPEATED, *PROMPT_COLUMNS, *WEIGHT_COLUMNS, *COUNT_COLUMNS, "id", "index", "row", "unnamed: 0", "tstamp")


def _find_one(names: Names, asked: Hashable | None, role: str, aliases: tuple[str, ...]) -> Hashable | None:
    return names.find(*aliases) if asked is None else named_column(names.all, asked, role)


def _find_long(
    names: Names, given: Given, role: str, aliases: tuple[str, ...], groups: tuple[str, ...]
) -> Found | None:
    if names_pairs(given) or (not given.is_named and find_pair(names) is not None):
        return None
    columns = given.item if isinstance(given.item, list | tuple) else None
    if columns is not None:
        items: Any = [named_column(names.all, name, "item") for name in columns]
        value = None
    else:
        items = _find_one(names, given.item, "item", ITEM_NAMES)
        value = _find_one(names, getattr(given, role), role, aliases)
        if items is None or value is None:
            if not given.is_named:
                return None
            items, value = [], None
    cluster = _find_one(names, given.cluster, "cluster", groups)
    again = [name for alias in _REPEATED if (name := names.find(alias)) is not None] if value is not None else []
    shown = names.find(*SHOWN_NAMES) if value is not None else None
    found: Found = {"item": items, role: value, "cluster": cluster, "again": again, "shown": shown}
    return found | {"judge": find_judge(names, given)}


def _find_ratings(names: Names, given: Given) -> Found | None:
    if not given.is_named and (given.place is not None or _is_best_worst(names)):
        return None
    found = _find_long(names, given, "score", SCORE_NAMES, PROMPT_COLUMNS)
    if found is None or given.is_named or given.score is not None:
        return found
    if (place := names.find(*PLACE_NAMES)) is not None:
        raise ComparisonError(
            f"the columns {quoted([found['score'], place])} may be a rating or a place: pass ",
            *(Hint("format", "ratings"), f" to rank by {str(found['score'])!r}, the higher the better, or "),
            *(Hint("format", "rankings"), f" to rank by {str(place)!r}, the lower the better."),
        )
    return found


def _lay_ratings(frame: pd.DataFrame, found: Found, given: Given) -> Laid:
    """Of two items that a judge rated on the same prompt, the one with the higher rating won."""
    if found["score"] is None:
        return _lay_columns(frame, found, best_is_high=True)
    rating = _numbers(column_of(frame, found["score"]))
    # FastChat writes -1 where it could not read the judge's answer.
    is_failed = (rating == -1) & ("judgment" in frame.columns)
    is_used = (rating.notna() & ~is_failed).to_numpy()
    n_alike, doubts = 0, tuple[str, ...]()
    keys = [name for name in (found["judge"], found["cluster"], *found["again"]) if name is not None]
    frame, score = frame[is_used].reset_index(drop=True), np.asarray(rating[is_used], dtype=float)
    group = _codes(frame, keys)
    item = _codes(frame, [found["item"]])
    once, back = np.unique(np.column_stack([group, item]), axis=0, return_inverse=True)
    if len(once) < len(frame):
        if found["cluster"] is None:
            raise ComparisonError(
                "items were rated several times, and no column says on which prompt: pass ",
                *(Hint("cluster", "column"), " to name what was rated together."),
            )
        # Repeated ratings of one item count as their mean.
        back = back.reshape(-1)
        n_alike, doubts = _repeats(frame[found["item"]].to_numpy(), score, back, keys)
        score = np.bincount(back, score) / np.bincount(back)
        first = np.unique(back, return_index=True)[1]
        frame, group = frame.iloc[first].reset_index(drop=True), group[first]
    made_of = f"{counted(len(frame), 'rating')}: pairs within each {_what(keys)}, graded by their difference"
    if n_alike:
        made_of += f"; {counted(n_alike, 'rating')} given again, the same, count once"
    if not is_used.all():
        made_of += f"; {counted((~is_used).sum(), 'rating')} missing"
    return replace(_laid(frame, found | {"is_graded": True}, group, score, made_of), doubts=doubts)


def _repeats(
    item: np.ndarray, score: np.ndarray, same: np.ndarray, keys: list[Hashable]
) -> tuple[int, tuple[str, ...]]:
    """How many ratings were given again alike, and what is doubtful about others."""
    low, high = np.full(same.max() + 1, np.inf), np.full(same.max() + 1, -np.inf)
    np.minimum.at(low, same, score)
    np.maximum.at(high, same, score)
    n_alike = int((np.bincount(same) - 1)[low == high].sum())
    if (low == high).all():
        return n_alike, ()
    worst = int(np.argmax(high - low))
    text = (
        f"{counted((low < high).sum(), 'item')} had several ratings within one {_what(keys)} that differ, such as "
        f"{high[worst]:g} and {low[worst]:g} for {label_text(item[same == worst][0])!r}: their mean counts. Correct them, or call "
        f"the column that tells them apart {_REPEATED[-1]!r}."
    )
    return n_alike, (text,)


def _find_rankings(names: Names, given: Given) -> Found | None:
    if names_pairs(given) or (not given.is_named and (given.score is not None or _is_best_worst(names))):
        return None
    ordered = names.find(*_ORDERED_NAMES)
    found = _find_long(names, given, "place", PLACE_NAMES, (*RANKING_NAMES, *PROMPT_COLUMNS))
    if found is not None and found["place"] is not None:
        return found
    runs = {stem: run for stem, run in names.numbered().items() if stem in ("rank", "place", "choice")}
    if not isinstance(given.item, list | tuple) and (ordered is not None or runs):
        judge = find_judge(names, given)
        lists = [ordered] if ordered is not None else next(iter(runs.values()))
        if len(lists) == 1 or len(lists) > 2:
            return {"lists": lists, "item": [], "place": None, "cluster": None, "judge": judge, "again": []}
    return found


def _lay_rankings(frame: pd.DataFrame, found: Found, given: Given) -> Laid:
    """Of two items in one ranking, the one with the better place won."""
    if "lists" in found:
        return _lay_lists(frame, found)
    if found["place"] is None:
        return _lay_columns(frame, found, best_is_high=False)
    place = _numbers(column_of(frame, found["place"]))
    keys = [name for name in (found["judge"], found["cluster"]) if name is not None]
    if not keys:
        raise ComparisonError(
            "no column says which places belong to one ranking: pass ", Hint("cluster", "column"), " to name it."
        )
    group = _codes(frame, keys)
    if len(np.unique(np.column_stack([group, _codes(frame, [found["item"]])]), axis=0)) < len(frame):
        raise ComparisonError(
            f"an item has several places within one {_what(keys)}: pass ",
            *(Hint("cluster", "column"), " to name what tells the rankings apart."),
        )
    made_of = f"{counted(group.max() + 1, 'ranking')}: pairs within each {_what(keys)}"
    return _laid(frame, found, group, -place.to_numpy(dtype=float), made_of)


def _lay_columns(frame: pd.DataFrame, found: Found, best_is_high: bool) -> Laid:
    """A column for each item, one row for everything that was judged together."""
    judge, cluster = found["judge"], found["cluster"]
    items = list(found["item"])
    if len(items) < 2:
        names = Names(list(frame.columns))
        taken = {judge, cluster, *map(names.find, _NO_ITEMS)}
        likely = [str(name) for name, column in frame.items() if column.dtype.kind in "ifu" and name not in taken]
        raise ComparisonError(
            f"no item and no {'rating' if best_is_high else 'place'} column found among {quoted(frame.columns, 12)}: pass ",
            *(Hint("item", "column"), " and ", Hint("score" if best_is_high else "place", "column"), ", or "),
            *(Hint("item", likely or ["column"]), " where each of these columns is an item."),
        )
    values = np.column_stack([_numbers(frame[name]) for name in items])
    n, k = values.shape
    row = np.repeat(np.arange(n), k)
    long = frame.drop(columns=items).iloc[row].reset_index(drop=True)
    long["item"] = np.tile(np.array([str(name) for name in items], dtype=object), n)
    found = found | {"item": "item"}
    if cluster is None:
        long["ranking"] = row + 1
        found["cluster"] = "ranking"
    value = values.reshape(-1)
    what = "row of ratings" if best_is_high else "ranking"
    made_of = (
        f"{n:,} {what if n == 1 else what.replace('row', 'rows').replace('ranking', 'rankings')}: pairs within each row"
    )
    if best_is_high:
        is_rated = np.isfinite(value)
        long, row, value, made_of = (
            long[is_rated].reset_index(drop=True),
            row[is_rated],
            value[is_rated],
            f"{made_of}, graded by their difference",
        )
    return _laid(long, found | {"is_graded": best_is_high}, row, value if best_is_high else -value, made_of)


def _lay_lists(frame: pd.DataFrame, found: Found) -> Laid:
    """Items in their order, from the best: a list, a text such as ``a > b = c``, or a column for each place."""
    columns = found["lists"]
    if len(columns) > 1:
        ranked = [
            [[label] for label in row if isinstance(label, str) and label.strip()]
            for row in frame[columns].to_numpy(object)
        ]
    else:
        ranked = [_ordered(value, number) for number, value in enumerate(frame[columns[0]], start=1)]
    _refuse_twice(ranked)
    sizes = np.array([sum(map(len, places)) for places in ranked])
    left_out = _left_out(frame, found, [(sizes == 0, "missing"), (sizes == 1, "a single item")])
    row = np.repeat(np.arange(len(frame)), sizes)
    place = np.array([number for places in ranked for number, same in enumerate(places, 1) for _ in same], dtype=float)
    long: pd.DataFrame = frame.drop(columns=columns).iloc[row].reset_index(drop=True)
    long["item"] = [label for places in ranked for same in places for label in same]
    long["ranking"] = row + 1
    made_of = f"{counted((sizes > 1).sum(), 'ranking')}: pairs within each row"
    laid = _laid(long, found | {"item": "item", "cluster": "ranking"}, row, -place, made_of)
    return replace(laid, left_out=left_out)


def _left_out(frame: pd.DataFrame, found: Found, why: list[tuple[np.ndarray, str]]) -> pd.DataFrame | None:
    """Judge and label of the rows that make no pair; None without such rows."""
    rows = [(row, label) for is_out, label in why for row in np.flatnonzero(is_out)]
    if not rows:
        return None
    judges = [None] * len(frame) if found["judge"] is None else list(frame[found["judge"]])
    return pd.DataFrame([(judges[row], label) for row, label in rows], columns=["judge", "label"], dtype=object)


def _refuse_twice(ranked: list[list[list[str]]]) -> None:
    """Refuse rankings that have an item at two places."""
    flat = [[label for same in places for label in same] for places in ranked]
    bad = [row for row, labels in enumerate(flat) if len(set(labels)) < len(labels)]
    if bad:
        twice = next(label for k, label in enumerate(flat[bad[0]]) if label in flat[bad[0]][:k])
        raise ComparisonError(
            f"{counted(len(bad), 'ranking')} {'has' if len(bad) == 1 else 'have'} an item at several places, first at row "
            f"{bad[0] + 1}, counted from 1 ({twice!r}): correct such rankings or leave their rows out."
        )


def _ordered(value: Any, row: int) -> list[list[str]]:
    """One ranking as its places, each with the items that share it; none where it is missing."""
    if isinstance(value, list | tuple | np.ndarray):
        return [
            [label_text(label) for label in place] if isinstance(place, list | tuple) else [label_text(place)]
            for place in value
        ]
    if isinstance(value, str) and ">" in value:
        return [[label.strip() for label in place.split("=")] for place in value.split(">")]
    if (
        value is None
        or (pd.api.types.is_scalar(value) and pd.isna(value))
        or (isinstance(value, str) and not value.strip())
    ):
        return []
    raise ComparisonError(
        f"a ranking must be a list of items or a text such as 'a > b = c', got {value!r} at row {row}, counted from 1: correct "
        "it or leave its row out."
    )


def _is_best_worst(names: Names) -> bool:
    return names.find("best") is not None and names.find("worst") is not None


def _find_best_worst(names: Names, given: Given) -> Found | None:
    if not _is_best_worst(names) or names_pairs(given):
        return None
    if given.item is not None:
        runs = [[named_column(names.all, name, "item") for name in given.item]]
    else:
        runs = [run for run in names.numbered().values() if len(run) > 2]
    if not runs:
        if not given.is_named:
            return None
        raise ComparisonError(
            "no columns of the items to choose from were found: pass ", Hint("item", ["column"]), " to name them all."
        )
    return {
        "runs": [name for run in runs for name in run],
        "sets": None,
        "best": names.find("best"),
        "worst": names.find("worst"),
    } | {
        "judge": find_judge(names, given),
        "cluster": None if given.cluster is None else named_column(names.all, given.cluster, "cluster"),
    }


def _lay_best_worst(frame: pd.DataFrame, found: Found, given: Given) -> Laid:
    """The best beats all others; of three, the one in the middle beats the worst."""
    runs = (
        [found["runs"]]
        if given.item is not None
        else [run for run in Names(found["runs"]).numbered().values() if len(run) > 2]
    )
    # Other columns may be numbered alike; items to choose from are all different.
    fitting = [run for run in runs if (frame[run].nunique(axis=1) == frame[run].notna().sum(axis=1)).all()]
    if len(fitting) != 1:
        raise ComparisonError(
            f"the items to choose from may be in {' or '.join(quoted(run) for run in fitting or runs)}: pass ",
            *(Hint("item", [str(name) for name in (fitting or runs)[0]]), " to name them all."),
        )
    [items] = fitting
    k = len(items)
    labels = frame[items].to_numpy(dtype=object)
    best, worst = (_chosen(column_of(frame, found[end]), labels, items) for end in ("best", "worst"))
    is_torn, is_missing = (best == worst) & (best >= 0), best < 0
    left_out = _left_out(frame, found, [(is_missing, "missing"), (is_torn, "best is worst")])
    place = np.where(np.arange(k) == np.where(is_torn, -1, best)[:, None], 1.0, np.nan)
    if k == 3:
        is_full = (~is_torn & ~is_missing & (worst >= 0))[:, None]
        place[is_full & (np.arange(k) != best[:, None]) & (np.arange(k) != worst[:, None])] = 2.0
        place[is_full & (np.arange(k) == worst[:, None])] = 3.0
    row = np.repeat(np.arange(len(frame)), k)
    long = frame.drop(columns=[*items, found["best"], found["worst"]]).iloc[row].reset_index(drop=True)
    long["item"] = labels.reshape(-1)
    long["ranking"] = row + 1
    is_there = pd.notna(labels.reshape(-1))
    how = "full rankings of three" if k == 3 else f"the best of {k} against the others"
    made_of = f"{counted((~is_torn & ~is_missing).sum(), 'choice')} of the best and the worst: {how}"
    new = found | {"item": "item", "cluster": found["cluster"] or "ranking"}
    laid = _laid(long[is_there].reset_index(drop=True), new, row[is_there], -place.reshape(-1)[is_there], made_of)
    return replace(laid, left_out=left_out)


def _chosen(column: pd.Series, labels: np.ndarray, items: list[Hashable]) -> np.ndarray:
    """Which of the items of its row each label names: by name, by its column, or by the last letter of that."""
    codes = {str(name).strip().casefold(): k for k, name in enumerate(items)}
    codes |= {str(name).strip().casefold()[-1:]: k for k, name in enumerate(items)}
    chosen = np.full(len(labels), -1)
    for row, label in enumerate(column):
        same = [k for k, item in enumerate(labels[row]) if label_text(item) == label_text(label)]
        chosen[row] = same[0] if same else codes.get(label_text(label).strip().casefold(), -1)
    bad = (chosen < 0) & column.notna().to_numpy()
    if bad.any():
        raise ComparisonError(
            f"the column {str(column.name)!r} names none of the items of its row in {counted(bad.sum(), 'row')} "
            f"({quoted(column[bad].unique())}): it should hold the name of one, or the name of its column."
        )
    return chosen


def _laid(frame: pd.DataFrame, found: Found, group: np.ndarray, value: np.ndarray, made_of: str) -> Laid:
    """All pairs within each group; the higher value wins, one that has none loses, and two without one are no pair."""
    one, two = _pairs_within(group)
    if (shown := found.get("shown")) is not None:
        place = _numbers(column_of(frame, shown)).to_numpy()
        is_later = place[one] > place[two]
        one, two = np.where(is_later, two, one), np.where(is_later, one, two)
    high, low = np.nan_to_num(value[one], nan=-np.inf), np.nan_to_num(value[two], nan=-np.inf)
    is_decided = np.isfinite(value[one]) | np.isfinite(value[two])
    one, two, high, low = one[is_decided], two[is_decided], high[is_decided], low[is_decided]
    if not len(one):
        raise ComparisonError("nothing was judged together with anything else: there are no pairs.")
    outcome = 0.5 + 0.5 * np.sign(high - low)
    if found.get("is_graded"):
        outcome = grades_of(high - low)
    taken = {found["item"], found["judge"], found.get("score"), found.get("place")}
    others = [name for name in frame.columns if name not in taken and _is_constant(frame[name], group)]
    item = frame[found["item"]].to_numpy()
    here = frame.iloc[one].reset_index(drop=True)
    table, roles = with_roles(
        here,
        here[others],
        judge=None if found["judge"] is None else here[found["judge"]],
        first=item[one],
        second=item[two],
        outcome=outcome,
    )
    cluster = found["cluster"] if found["cluster"] in table.columns else None
    return Laid(table, roles, codes="unit", has_order=shown is not None, cluster=cluster, made_of=made_of, is_own=False)


def _pairs_within(group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions of every two rows of the same group, in their order.

    Examples
    --------
    >>> _pairs_within(np.array([0, 1, 0, 1, 0]))
    (array([0, 0, 1, 2]), array([2, 4, 3, 4]))
    """
    order = np.argsort(group, kind="stable")
    start = np.flatnonzero(np.r_[True, np.diff(group[order]) != 0]) if len(order) else order
    size = np.diff(np.r_[start, len(order)])
    ones, twos = [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype=np.intp)]
    for k in np.unique(size):
        a, b = np.triu_indices(k, 1)
        rows = order[start[size == k][:, None] + np.arange(k)]
        ones.append(rows[:, a].reshape(-1))
        twos.append(rows[:, b].reshape(-1))
    one, two = np.concatenate(ones), np.concatenate(twos)
    sort = np.lexsort([two, one])
    return one[sort], two[sort]


def _is_constant(column: pd.Series, group: np.ndarray) -> bool:
    try:
        code = pd.factorize(column)[0]
    except TypeError:
        return False
    _, first, back = np.unique(group, return_index=True, return_inverse=True)
    return bool((code == code[first][back.reshape(-1)]).all())


def _codes(frame: pd.DataFrame, keys: list[Hashable]) -> np.ndarray:
    """Which rows agree in all keys; lists that name a judge count as their text."""
    if not keys:
        return np.zeros(len(frame), dtype=np.intp)
    texts = [pd.factorize(frame[key].map(lambda v: str(v) if isinstance(v, list) else v))[0] for key in keys]
    if missing := [str(key) for key, code in zip(keys, texts, strict=True) if (code < 0).any()]:
        raise ComparisonError(f"the column {quoted(missing)} has missing labels: fill them in or drop those rows.")
    return np.unique(np.column_stack(texts), axis=0, return_inverse=True)[1].reshape(-1)


def _numbers(column: pd.Series) -> pd.Series:
    """Ratings or places, NaN where there is none.

    Raises
    ------
    ComparisonError
        For text.
    """
    number = pd.to_numeric(column, errors="coerce")
    bad = number.isna() & column.notna()
    if bad.any():
        raise ComparisonError(
            f"the column {str(column.name)!r} must hold numbers, got {quoted(column[bad].unique())}: correct them or leave "
            "those rows out."
        )
    return number.astype(float)


def _what(keys: list[Hashable]) -> str:
    return " and ".join(repr(str(key)) for key in keys) or "table"


WITHIN = {
    "ratings": Shape(_find_ratings, _lay_ratings, ("score", "cluster", "again", "shown")),
    "rankings": Shape(_find_rankings, _lay_rankings, ("place", "cluster", "again", "shown")),
    "best_worst": Shape(_find_best_worst, _lay_best_worst, ("cluster",)),
}
