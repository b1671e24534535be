"""The fast tests with the lowest versions that pyproject.toml declares: ``python -m tests.floors [FOLDER]``.

Makes an environment in the folder (a temporary one by default), installs every dependency at its lower bound, prints the versions
and runs the tests without simulations. It takes some twenty minutes on two cores: run it before a release.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("report", "files")
# Engines that narwhals reads: those of its time.
ENGINES = ("pyarrow", "duckdb")
# What the tests import beside the package and its extras, and packages of the time of the floors that others leave open.
BESIDE = ["pytest", "pytest-xdist", "hypothesis", "pyparsing<3.2", "hatchling", "editables"]
# Tests of the documentation, of browsers and of engines that are no dependency need the newest versions of other packages.
LEFT_OUT = ["tests/test_docs.py", "tests/test_readme.py", "tests/test_site.py", "tests/test_claims.py"]
LEFT_OUT += ["tests/show/report/test_browser.py"]


def floors(project: dict) -> list[str]:
    """Every requirement with a lower bound, pinned to it."""
    extras = project["optional-dependencies"]
    wanted = project["dependencies"] + [one for extra in EXTRAS for one in extras[extra]]
    wanted += [one for one in extras["dev"] if one.startswith(ENGINES)]
    return sorted({re.sub(r">=", "==", requirement) for requirement in wanted})


def main(arguments: list[str]) -> int:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    folder = Path(arguments[0] if arguments else tempfile.mkdtemp(prefix="floors-"))
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", *floors(project), *BESIDE], check=True)
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "-e", str(ROOT)], check=True
    )
    subprocess.run([python, "-m", "pip", "list"], check=True)
    ignored = [f"--ignore={path}" for path in LEFT_OUT]
    tests = [python, "-m", "pytest", "-q", "-n", "2", "-m", "not slow", "tests", *ignored]
    return subprocess.run(tests, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
