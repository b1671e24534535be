"""Where measurements go: one JSON file per benchmark, with what they were taken on."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("results")


def record(name: str, rows: Any) -> None:
    """Write the rows of one benchmark."""
    FOLDER.mkdir(exist_ok=True)
    setting = {"python": platform.python_version(), "cores": os.cpu_count()}
    setting |= {package: version(package) for package in ("numpy", "scipy", "pandas", "statsmodels")}
    text = json.dumps({"setting": setting, "rows": rows}, indent=1, default=float)
    (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def recorded(name: str) -> Any:
    """The rows of a benchmark that has run; None if it has not."""
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else None
