"""What importing the package costs beyond statsmodels' own base class: ``python benchmarks/imports.py``.

Processor time in fresh processes that import the base class first. Writes results/imports.json.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from tempfile import TemporaryDirectory

from recording import record

ROUNDS = 15
PROGRAM = """
import time
start = time.process_time()
from statsmodels.base.model import GenericLikelihoodModel
between = time.process_time()
import hjastats
print(between - start, time.process_time() - between)
"""


def seconds(folder: str) -> tuple[float, float]:
    # Byte code is kept, as it is for every installed package, also where the environment says otherwise.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = folder
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    base, ours = done.stdout.split()
    return float(base), float(ours)


def main() -> None:
    with TemporaryDirectory() as folder:
        seconds(folder)
        times = [seconds(folder) for _ in range(ROUNDS)]
    rows = []
    for name, values in zip(("statsmodels' base class", "hjastats after it"), zip(*times, strict=True), strict=True):
        rows.append({"what": f"import of {name}", "best": min(values), "median": statistics.median(values)})
        print(f"{name:28s} best {min(values):.3f} s, median {statistics.median(values):.3f} s")
    record("imports", rows)


if __name__ == "__main__":
    main()
