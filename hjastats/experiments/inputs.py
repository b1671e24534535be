"""What a task was computed from: its data and the code that matters to the numbers; and short names of data files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1]
# Everything that numbers pass through; how they are shown is not part of it.
COMPUTING = (
    *("data", "model", "solve", "inference", "diagnostics", "models"),
    *("limits.py", "fitted.py", "population.py", "results.py", "population_results.py", "judges.py"),
    *("selection.py", "simulation.py"),
    *(f"experiments/{name}.py" for name in ("methods", "metrics", "synthetic", "real", "diagnostics")),
)


def origin(task: Mapping[str, Any]) -> dict[str, str]:
    """What the numbers of a task depend on beside its settings.

    Examples
    --------
    >>> list(origin({"seed": 3}))
    ['code']
    """
    made = {"code": code_digest()}
    if "file" in task:
        made["data"] = hashlib.sha256(Path(task["file"]).read_bytes()).hexdigest()
    return made


@cache
def code_digest() -> str:
    """Of the code that computes: releases differ in it if and only if numbers might."""
    found = hashlib.sha256()
    for part in COMPUTING:
        place = PACKAGE / part
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            found.update(file.relative_to(PACKAGE).as_posix().encode() + b"\0" + file.read_bytes())
    return found.hexdigest()


def distinct(files: Sequence[str]) -> list[str]:
    """Files without those that are named a second time."""
    found: dict[Path, str] = {}
    for file in files:
        found.setdefault(Path(file).resolve(), file)
    return list(found.values())


def short_names(files: Iterable[str]) -> dict[str, str]:
    """A name for every file, as short as it can be without being another's; usable in names of figures.

    Examples
    --------
    >>> short_names(["a/panel.csv", "a/votes.csv"])
    {'a/panel.csv': 'panel', 'a/votes.csv': 'votes'}
    >>> short_names(["a/panel.csv", "b/panel.csv", "b/panel.json"])
    {'a/panel.csv': 'a_panel.csv', 'b/panel.csv': 'b_panel.csv', 'b/panel.json': 'b_panel.json'}
    """
    paths = {file: Path(file).resolve() for file in files}
    deepest = max((len(path.parts) for path in paths.values()), default=0)
    for depth in range(deepest):
        names = {file: "_".join(path.parts[-depth:]) if depth else path.stem for file, path in paths.items()}
        # Some disks do not tell capitals from others.
        if len({name.casefold() for name in names.values()}) == len(names):
            return names
    return {file: f"{i}_{path.stem}" for i, (file, path) in enumerate(paths.items(), start=1)}
