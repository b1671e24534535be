"""Finished work that survives interruption: one line per task, written when it is done, with what it was computed from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import Parallel, delayed
from tqdm.auto import tqdm

from ..errors import ComparisonError
from ..words import counted
from ..writing import append, write
from .inputs import origin

Task = Mapping[str, Any]
Rows = list[dict[str, Any]]
# What has changed, by the part of the origin that is different.
REASONS = {"data": "the data have changed since", "code": "the code has changed since"}


class Ledger:
    """Tasks and their rows in a file of JSON lines.

    Rows are found again by the settings of their task, the content of its data and the code that computed them. A line that an
    interruption cut short is dropped, one that cannot be read is set aside in ``<name>.damaged``: their tasks are done again.

    Attributes
    ----------
    notes : list of str
        What a user should know about the lines that were not used.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: dict[str, Rows] = {}
        self.origins: dict[str, dict[str, str]] = {}
        self.notes: list[str] = []
        if path.exists():
            self._read()

    def _read(self) -> None:
        content = self.path.read_bytes()
        *lines, torn = content.split(b"\n")
        kept, damaged = [], []
        for number, line in enumerate(lines, start=1):
            try:
                entry = json.loads(line.decode("utf-8"))
                self._enter(entry["task"], entry.get("origin", {}), [dict(row) for row in entry["rows"]])
                kept.append(line)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                reason = "it lacks " + str(error) if isinstance(error, KeyError) else str(error)
                self.notes.append(f"line {number} of {self.path.name} cannot be read ({reason})")
                damaged.append(line)
        if damaged:
            aside = self.path.with_name(f"{self.path.name}.damaged")
            earlier = aside.read_bytes() if aside.exists() else b""
            write(aside, earlier + b"".join(line + b"\n" for line in damaged))
            self.notes.append(f"what cannot be read is in {aside.name}, and its tasks were computed again")
        if torn or damaged:
            write(self.path, b"".join(line + b"\n" for line in kept))

    def _enter(self, task: Task, made: Mapping[str, str], rows: Rows) -> None:
        self.entries[key(task, made)] = rows
        self.origins[key(task)] = dict(made)

    def append(self, task: Task, made: Mapping[str, str], rows: Rows) -> None:
        """Write a finished task with what it was computed from."""
        append(self.path, json.dumps({"task": dict(task), "origin": dict(made), "rows": rows}))
        self._enter(task, made, rows)

    def changed(self, task: Task, made: Mapping[str, str]) -> str | None:
        """Why a task that was done before is not done; None if it was not done before."""
        before = self.origins.get(key(task))
        if before is None or before == made:
            return None
        return next((reason for part, reason in REASONS.items() if before.get(part) != made.get(part)), None)


def key(task: Task, made: Mapping[str, str] | None = None) -> str:
    """What makes a task the same task: its settings; with an origin, the content of its data in place of their path."""
    settings = dict(task)
    if made is not None and "data" in made:
        del settings["file"]
    return json.dumps([settings, made], sort_keys=True)


def work_off(
    tasks: list[dict[str, Any]], run: Callable[..., Rows], ledger: Ledger, *, jobs: int, label: str, progress: bool
) -> pd.DataFrame:
    """Run the tasks that are not in the ledger yet, writing each as it ends; rows in the order of the tasks.

    Raises
    ------
    ComparisonError
        If a file of data changes while it is worked on.
    """
    made = _origins(tasks)
    todo = [task for task in tasks if key(task, made[key(task)]) not in ledger.entries]
    reasons = pd.Series([ledger.changed(task, made[key(task)]) for task in todo], dtype=object).dropna()
    for reason, number in reasons.value_counts().items():
        ledger.notes.append(f"{counted(number, 'task')} of {label} computed again: {reason}")
    work = Parallel(n_jobs=jobs, return_as="generator_unordered")(delayed(_run)(run, task) for task in todo)
    bar = tqdm(work, total=len(tasks), initial=len(tasks) - len(todo), desc=label, disable=not progress)
    for task, now, rows in bar:
        if now != made[key(task)]:
            raise ComparisonError(f"{task['file']} was changed while it was worked on: run again.")
        ledger.append(task, now, rows)
    found = [dict(task) | row for task in tasks for row in ledger.entries[key(task, made[key(task)])]]
    return pd.DataFrame(found)


def _origins(tasks: Iterable[Task]) -> dict[str, dict[str, str]]:
    """By task; every file is read once."""
    files: dict[Any, dict[str, str]] = {}
    for task in tasks:
        if task.get("file") not in files:
            files[task.get("file")] = origin(task)
    return {key(task): files[task.get("file")] for task in tasks}


def _run(run: Callable[..., Rows], task: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str], Rows]:
    rows = run(**task)
    return task, origin(task), rows
