"""What importing the package costs beyond statsmodels' own base class: ``python benchmarks/imports.py``.

Processor time of fresh processes, interleaved, best of several: whatever is slower than the best is the machine's doing.
"""

from __future__ import annotations

import subprocess
import sys

ROUNDS = 15
PROGRAMS = {
    "statsmodels GenericLikelihoodModel": "from statsmodels.base.model import GenericLikelihoodModel",
    "hjastats": "import hjastats",
}
TIMED = "import time; start = time.process_time(); {code}; print(time.process_time() - start)"


def seconds(code: str) -> float:
    done = subprocess.run([sys.executable, "-c", TIMED.format(code=code)], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    times: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for _ in range(ROUNDS):
        for name, code in PROGRAMS.items():
            times[name].append(seconds(code))
    best = {name: min(values) for name, values in times.items()}
    for name, value in best.items():
        print(f"{name:40s} {value:.3f} s")
    base, ours = best.values()
    print(f"{'beyond the base class':40s} {ours - base:.3f} s ({ours / base:.2f} times)")


if __name__ == "__main__":
    main()
