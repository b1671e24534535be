"""A table of verdicts becomes comparisons: labels are coded, verdicts understood, what cannot be used is counted."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from types import NoneType
from typing import Any

import numpy as np
import pandas as pd

from ..errors import ComparisonError, Hint, OptionError
from ..words import quoted, shortened
from .answers import some_answer
from .arrays import listed
from .asking import declared
from .comparisons import Comparisons, checked_comparisons, divided
from .labels import TableRows, amounts, broken_text, code_columns, coded_pairs, label_text, weights
from .outcomes import BothBad, Codes, read_outcomes
from .roles import NoJudge, Roles, likely_items
from .shape import Given, Laid
from .shares import Spread, spread, stacked
from .sources import Keep, Reader, may_hold_containers

Source = pd.DataFrame | Sequence[Mapping[Any, Any]] | Mapping[Any, Any] | Comparisons | str | os.PathLike[str] | Any


def read_comparisons(
    source: Source,
    *,
    judge: Hashable | None = None,
    first: Hashable | None = None,
    second: Hashable | None = None,
    outcome: Hashable | Sequence[Hashable] | None = None,
    weight: Hashable | None = None,
    first_wins: Hashable | None = None,
    second_wins: Hashable | None = None,
    tied: Hashable | None = None,
    item: Hashable | Sequence[Hashable] | None = None,
    score: Hashable | None = None,
    place: Hashable | None = None,
    cluster: Hashable | None = None,
    asked_in: Hashable | None = None,
    asked_with: Hashable | None = None,
    baseline: str | None = None,
    counts: bool | None = None,
    single_judge: str | None = None,
    codes: Codes | None = None,
    drop: Iterable[object] | str | None = None,
    both_bad: BothBad = "tie",
    clean: bool | None = None,
    keep: Keep = None,
    format: str | None = None,
    separator: str | None = None,
    sheet: str | None = None,
) -> Comparisons:
    """Read a table of verdicts: judge, first item, second item, outcome.

    Columns that are not named are looked up among the names in common use (LMArena, MT-Bench, AlpacaEval, evalica,
    crowd-kit, BradleyTerry2 and others); two candidates for one role are an error, and so is an outcome label without a
    known meaning. Tables of other shapes (both games in one row, a column for each judge, ratings, rankings, ...) are recognised by
    their columns: see the page "From your file to a ranking".

    Parameters
    ----------
    source : DataFrame, list of dicts, dict of columns, path, list of paths, bytes, open file or Comparisons
        Files are .json (records, or columns), .jsonl or .ndjson, .csv or .tsv, in UTF-8 or UTF-16 and also packed (.gz, .bz2, .xz,
        .zst), .parquet, .feather or .xlsx. Several files, globs and folders are one table, with a column ``file``. Comparisons
        are returned unchanged. Frames of polars (eager or lazy), pyarrow, duckdb, dask, pyspark and whatever else narwhals
        knows are counted inside their engine, and so are .parquet and .feather files: see the notes.
    judge, first, second, outcome, weight : column name, optional
        ``first`` and ``second`` are the items in the order shown to the judge. Columns called winner and loser, or chosen and
        rejected, are read as first and second, the first preferred in every row and the order not known. Lists that name a judge,
        such as ``["gpt-4", "pair-v2"]``, are joined to ``gpt-4/pair-v2``. Several outcome columns, in a list, are one for each
        judge. Rows of weight zero are left out; ``weight=False`` says that no column is one.
    first_wins, second_wins, tied : column name, optional
        Numbers of verdicts in place of ``outcome`` and ``weight``: how often the first item won, how often the second, and how
        often neither. They have to be named.
    item, score, place : column name, optional
        In place of pairs: what was rated or ranked, its rating (the higher the better) or place (the lower). A list of columns as
        ``item`` holds the ratings or places of one item each; with ``format="best_worst"``, the items to choose from.
    cluster : column name, optional
        What was judged together, such as the prompt or the ranking. Ratings and rankings become pairs within it, and later steps
        cluster by it.
    asked_in, asked_with : column name, optional
        The round in which, or the chance with which, each row was asked, where earlier verdicts decided what to ask next (a plan
        numbers its rounds in ``batch``). Findings say what that does, and ``plan.stopping`` counts the rounds.
    baseline : str, optional
        The item that all others played against, for games that do not say it.
    counts : bool, optional
        Whether an outcome between 0 and 1 is the share of wins among ``weight`` comparisons, which become a row of wins and one
        of losses, or (False) a soft preference that was given so many times. An error asks where both are possible.
    single_judge : str, optional
        The name of the judge who gave all verdicts, for a table without a judge column.
    codes : dict, "unit", "alpacaeval", "names" or a scale, optional
        What outcome values mean. A dict maps them to "first", "second", "tie", "drop" or a preference for the first
        item in [0, 1]; 1, 1.0, "1" and True are the same value, and values it does not mention keep their usual meaning.
        "unit": numbers that already are the preference for the first item (0.5 a tie, soft preferences kept). "1..5": numbers from
        1, the first item is much preferred, to 5, the second is; any two ends. "alpacaeval": the same as "1..2", and 0 a tie.
        "names": the preferred item's name. Numbers and true/false values are never interpreted without it.
    drop : list, optional
        Further outcome values to leave out, besides missing ones and unknown, error, inconclusive, invalid, n/a, none.
    both_bad : {"tie", "drop", "error"}
        How to take verdicts that call both items bad, such as "tie (bothbad)".
    clean : bool, optional
        Whether labels that differ only in case, white space or Unicode form are the same. By default they are different, with a
        warning that names them.
    keep : list of column names, optional
        Further columns to keep. By default all are kept except those that hold lists, dicts or other containers, and none
        from a table that is counted inside its engine.
    format : str, optional
        How an open file, or a path with another ending, is written: "json", "jsonl", "csv", "tsv", "parquet", "feather", "xlsx". Or
        how the table is laid out: "pairs" (one row per verdict), "fastchat", "arena_hard", "one_hot", "alpaca_eval", "lmarena",
        "winner_loser", "chosen_rejected", "wide", "ratings", "rankings", "best_worst".
    separator : str, optional
        What stands between the columns of a text table, whatever its ending; by default a comma, in .tsv files a tab.
    sheet : str, optional
        The sheet of an .xlsx workbook, by default the first.

    Returns
    -------
    Comparisons
        Rows in the order of the table, or distinct rows in the order of their text where the engine counted them, without
        those left out; ``dropped`` counts these by judge and label (rows of weight w count w times).

    Raises
    ------
    ComparisonError
        When the source cannot be read, a column is missing or ambiguous, or labels are missing or without a meaning.

    Warns
    -----
    LabelWarning
        For labels that look alike, unless ``clean`` says what they are.

    Notes
    -----
    Outcome labels are compared without regard to case and surrounding spaces: model_a, a, left, x, first, win, A>B,
    [[A]], Assistant A, ... are a win of the first item, model_b, b, right, ... of the second, and tie, c, draw, A=B, both_good are
    ties (the page on data lists all labels). Beside A>>B, A>B is 0.75: strength is kept, as grades. A label may also be
    exactly the name of one of the two items in its row.
    Judges and items are compared as text, as they stand in the file; in .csv and .tsv files an empty field and NA, NaN,
    null, None and the like are missing values.

    A table in an engine other than pandas stays there: the engine groups it by judge, items, outcome label and the columns of
    ``keep``, and only the distinct rows come back, weighted by their number (or their total weight). Fits, cluster and HC0
    covariances are those of the single rows; the rows themselves, their order and other columns are gone. Keep the column to
    cluster by, ``keep=["question_id"]``, and no more than needed: a column that differs in every row leaves nothing to count.

    Examples
    --------
    >>> records = [
    ...     {"judge": "j1", "model_a": "gpt", "model_b": "claude", "winner": "model_a"},
    ...     {"judge": "j1", "model_a": "gpt", "model_b": "llama", "winner": "tie"},
    ...     {"judge": "j2", "model_a": "llama", "model_b": "claude", "winner": "model_b"},
    ...     {"judge": "j2", "model_a": "gpt", "model_b": "claude", "winner": "unknown"},
    ... ]
    >>> data = read_comparisons(records)
    >>> data.outcome
    array([1. , 0.5, 0. ])
    >>> data.dropped
      judge    label  count
    0    j2  unknown      1

    Numbers need a statement of what they mean:

    >>> table = {"left": ["gpt", "gpt"], "right": ["llama", "claude"], "win": [1, 0]}
    >>> read_comparisons(table, single_judge="me", codes="unit").outcome
    array([1., 0.])
    >>> read_comparisons(table, single_judge="me", codes={1: "first", 0: "tie"}).outcome
    array([1. , 0.5])

    So do shares of wins; numbers of wins are named:

    >>> table = {"left": ["gpt", "gpt"], "right": ["llama", "claude"], "p_a": [0.6, 0.5], "weight": [90, 8]}
    >>> read_comparisons(table, single_judge="me", codes="unit", counts=True).weight
    array([54., 36.,  4.,  4.])
    >>> table = {"left": ["gpt", "gpt"], "right": ["llama", "claude"], "won": [54, 3], "lost": [36, 4], "drawn": [0, 1]}
    >>> data = read_comparisons(table, single_judge="me", first_wins="won", second_wins="lost", tied="drawn")
    >>> data.outcome, data.weight
    (array([1. , 0. , 1. , 0. , 0.5]), array([54., 36.,  3.,  4.,  1.]))
    """
    asked = Roles(judge, first, second, outcome, weight, first_wins, second_wins, tied)
    others = (item, score, place, cluster, baseline)
    if isinstance(source, Comparisons):
        options = (
            *others,
            asked_in,
            asked_with,
            counts,
            single_judge,
            codes,
            drop,
            clean,
            keep,
            format,
            separator,
            sheet,
        )
        if asked.taken() or both_bad != "tie" or any(option is not None for option in options):
            raise ComparisonError("these are Comparisons already: pass them alone, or their to_frame() with options.")
        return source
    if judge is not None and single_judge is not None:
        both = ("got both ", Hint("judge"), " and ", Hint("single_judge"))
        raise ComparisonError(*both, ": pass the judge column or the name of the only judge.")
    if not isinstance(single_judge, str | NoneType):
        raise ComparisonError(f"single_judge must be the name of the only judge, a text, got {single_judge!r}.")
    if not isinstance(sheet, str | NoneType):
        raise ComparisonError(f"sheet must be the name of a sheet, a text, got {sheet!r}.")
    given = Given(asked, *others, has_judge=single_judge is None)
    read = partial(
        _read, source, keep, format, separator, sheet, codes, drop, both_bad, counts, clean, (asked_in, asked_with)
    )
    try:
        return read(given, single_judge)
    except NoJudge as error:
        raise ComparisonError(*error.args[:-1], *_further_faults(source, read, given), ".") from None


def check_reading(reading: Iterable[str], *callers: Callable[..., Any]) -> None:
    """Refuse options that neither the callers nor reading have, with the nearest one that there is.

    Raises
    ------
    OptionError

    Examples
    --------
    >>> import hjastats as hja
    >>> try:
    ...     check_reading({"modle": "ja"}, hja.fit)
    ... except hja.OptionError as error:
    ...     print(error)
    no option is called 'modle': did you mean model=?
    """
    signatures = [inspect.signature(function) for function in (*callers, read_comparisons)]
    known = [name for each in signatures for name, one in each.parameters.items() if one.kind is one.KEYWORD_ONLY]
    for name in reading:
        if name not in known:
            near = get_close_matches(name, known, 1)
            meant = (": did you mean ", Hint(near[0]), "?") if near else (f"; there are {quoted(known, len(known))}.",)
            raise OptionError(f"no option is called {name!r}", *meant)


def _further_faults(source: Source, read: Callable[[Given, str], Comparisons], given: Given) -> list[object]:
    """What there is to ask beside who judged, so that one message is enough."""
    if isinstance(source, bytes) or hasattr(source, "read"):
        return []
    try:
        read(replace(given, has_judge=False), "all")
    except ComparisonError as error:
        return ["; and ", *error.args[:-1], str(error.args[-1]).removesuffix(".")]
    return []


def _read(
    source: Source,
    keep: Keep,
    format: str | None,
    separator: str | None,
    sheet: str | None,
    codes: Codes | None,
    drop: Iterable[object] | str | None,
    both_bad: BothBad,
    counts: bool | None,
    clean: bool | None,
    asking: tuple[Hashable | None, Hashable | None],
    given: Given,
    single_judge: str | None,
) -> Comparisons:
    """The comparisons of a source whose columns are named."""
    try:
        table = Reader.of(given, keep, format, separator, sheet).read(source)
    except UnicodeEncodeError as error:
        raise broken_text("the", error) from None
    laid, frame, roles = table.laid, table.laid.frame, table.laid.roles
    # Everything is coded before verdicts are left out, so that messages count the rows of the user's table.
    rows = TableRows(table.table_rows)
    labels = {role: frame[name] for role, name in vars(roles).items() if name is not None and role not in roles.numbers}
    if "judge" in labels:
        labels["judge"] = _judge_labels(labels["judge"])
    codings = dict(zip(labels, code_columns(list(labels.values())), strict=True))
    judges = codings.get("judge", single_judge or laid.judge or "")
    pairs = coded_pairs(judges, codings["first"], codings["second"], rows, clean)
    if laid.is_own:
        _refuse_answers(pairs.items, laid)
    columns = frame[table.kept] if table.kept else None
    asked = declared(pd.DataFrame() if columns is None else columns, *asking)
    # Rows that an engine has counted, or that were made of others, have no label.
    row_labels = frame.index if table.table_rows is None else None
    row_weight = weights(None if roles.weight is None else frame[roles.weight], len(frame), rows)
    facts: dict[str, Any] = {"doubts": (*pairs.doubts, *laid.doubts)}
    facts |= {"has_order": laid.has_order, "cluster": laid.cluster, "made_of": laid.made_of, **asked}
    if roles.outcome is None:
        if roles.first_wins is not None:
            counted = _numbers(frame, roles, row_weight, rows)
            row_weight = np.bincount(counted.index, counted.weight, len(frame))
            data = checked_comparisons(pairs, np.ones(len(frame)), row_weight, columns, None, row_labels, facts)
            return divided(data, counted, rows)
        data = checked_comparisons(pairs, np.ones(len(frame)), row_weight, columns, None, row_labels, facts)
        return divided(data, spread(data.outcome, row_weight, counts, rows), rows)
    verdicts = read_outcomes(
        labels["outcome"],
        codings["outcome"],
        pairs,
        codes=_codes(codes, laid),
        drop=() if drop is None else listed("drop", drop, "labels of verdicts"),
        both_bad=both_bad,
        table_rows=table.table_rows,
        sides=(roles.first, roles.second),
        clean=bool(clean),
    )
    facts["collapsed"] = verdicts.collapsed
    before = None if laid.left_out is None else _counts(laid.left_out, single_judge or laid.judge or "")
    data = checked_comparisons(pairs, verdicts.outcome, row_weight, columns, before, row_labels, facts)
    is_left_out = verdicts.is_left_out & (row_weight > 0)
    if not is_left_out.any():
        if roles.weight is None and not counts:
            return data
        return divided(data, spread(verdicts.outcome, row_weight, counts, rows), rows)
    dropped = verdicts.left_out(np.asarray(pairs.judges, dtype=object), pairs.judge_index, row_weight)
    if (is_left_out | (row_weight == 0)).all():
        raise ComparisonError(
            f"all {rows.number(is_left_out)} verdicts of the outcome column {str(roles.outcome)!r} are left "
            f"out (labels {quoted(dropped['label'].unique())}): check ",
            *(Hint("outcome"), ", or say what the labels mean with ", Hint("codes", {}), "."),
        )
    usable = divided(data, spread(verdicts.outcome, np.where(is_left_out, 0.0, row_weight), counts, rows), rows)
    # Counted before: a judge without any usable verdict vanishes from the judges, not from this table.
    return replace(usable, dropped=dropped if before is None else pd.concat([before, dropped], ignore_index=True))


def _counts(left_out: pd.DataFrame, judge: str) -> pd.DataFrame:
    """How much was left out by judge and label, of one row for each; ``judge`` is who gave what no column tells."""
    named = left_out.assign(judge=[judge if label is None else label_text(label) for label in left_out["judge"]])
    return named.groupby(["judge", "label"]).size().rename("count").reset_index()


def _codes(codes: Codes | None, laid: Laid) -> Codes | None:
    """What the user says verdicts mean, before what the format says."""
    if codes is None or not (isinstance(codes, Mapping) and isinstance(laid.codes, Mapping)):
        return laid.codes if codes is None else codes
    told = {str(label).strip().casefold() for label in codes}
    return {**{label: code for label, code in laid.codes.items() if label.casefold() not in told}, **codes}


def _refuse_answers(items: tuple[str, ...], laid: Laid) -> None:
    """Refuse to rank answers where their models were meant."""
    answer = some_answer(items)
    if answer is None:
        return
    frame, roles = laid.frame, laid.roles
    pair = [roles.first, roles.second]
    likely = likely_items([name for name in frame.columns if name not in roles.taken()], lambda two: frame[two])
    raise ComparisonError(
        f"the columns {quoted(pair)} hold answers ({shortened(answer)!r}), not the names of items: pass ",
        *(Hint("first", (likely or ["column"])[0]), " and ", Hint("second", (likely or ["", "column"])[1])),
        ", which name the models that gave them.",
    )


def _numbers(frame: pd.DataFrame, roles: Roles, times: np.ndarray, rows: TableRows) -> Spread:
    """Numbers of wins, losses and ties as rows; equal rows of the table have been counted ``times``."""
    meaning = {"first_wins": 1.0, "second_wins": 0.0, "tied": 0.5}
    named = {role: name for role, name in roles.numbers.items() if role in meaning}
    found = [amounts(str(name), frame[name], rows) * times for name in named.values()]
    return stacked(found, [meaning[role] for role in named])


def _judge_labels(column: pd.Series) -> pd.Series:
    """Judge labels with lists joined to text."""
    if not may_hold_containers(column):
        return column
    return column.map(lambda label: "/".join(map(str, label)) if isinstance(label, list | tuple) else label)
