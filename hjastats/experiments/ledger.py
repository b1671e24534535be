"""Finished work that survives interruption: one line per task, written when it is done."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import Parallel, delayed
from tqdm.auto import tqdm

Task = Mapping[str, Any]
Rows = list[dict[str, Any]]


class Ledger:
    """Tasks and their rows in a file of JSON lines.

    A line that an interruption cut short is dropped: its task is done again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: dict[str, Rows] = {}
        if path.exists():
            self._read()

    def _read(self) -> None:
        text = self.path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            self.path.write_text(whole, encoding="utf-8")
        for line in whole.splitlines():
            entry = json.loads(line)
            self.entries[key(entry["task"])] = entry["rows"]

    def append(self, task: Task, rows: Rows) -> None:
        """Write a finished task."""
        line = json.dumps({"task": dict(task), "rows": rows})
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
        self.entries[key(task)] = rows

    def frame(self, tasks: Iterable[Task]) -> pd.DataFrame:
        """Rows of these tasks, in their order, with the settings of the task as columns."""
        return pd.DataFrame([dict(task) | row for task in tasks for row in self.entries[key(task)]])


def key(task: Task) -> str:
    """What makes a task the same task."""
    return json.dumps(dict(task), sort_keys=True)


def work_off(
    tasks: list[dict[str, Any]], run: Callable[..., Rows], ledger: Ledger, *, jobs: int, label: str, progress: bool
) -> pd.DataFrame:
    """Run the tasks that are not in the ledger yet, writing each as it ends."""
    todo = [task for task in tasks if key(task) not in ledger.entries]
    work = Parallel(n_jobs=jobs, return_as="generator_unordered")(delayed(_run)(run, task) for task in todo)
    bar = tqdm(work, total=len(tasks), initial=len(tasks) - len(todo), desc=label, disable=not progress)
    for task, rows in bar:
        ledger.append(task, rows)
    return ledger.frame(tasks)


def _run(run: Callable[..., Rows], task: dict[str, Any]) -> tuple[dict[str, Any], Rows]:
    return task, run(**task)
