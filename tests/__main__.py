"""Everything that must hold before a change lands: ``python -m tests``.

Lint, types, the one-way layout, then all tests with doctests, README, and the slow-marked statistics.
Arguments are passed on to pytest, and then only pytest runs: ``python -m tests -k oracles``.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = Path(sys.executable).parent
CHECKS = [
    [sys.executable, "-m", "ruff", "check", "."],
    [sys.executable, "-m", "ruff", "format", "--check", "."],
    [sys.executable, "-m", "mypy"],
    [str(SCRIPTS / "lint-imports")],
]
PYTEST = [sys.executable, "-m", "pytest", "-n", "2", "-q"]


def main(arguments: list[str]) -> int:
    commands = [[*PYTEST, *arguments]] if arguments else [*CHECKS, PYTEST]
    for command in commands:
        print("$", " ".join(Path(part).name if index == 0 else part for index, part in enumerate(command)), flush=True)
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
