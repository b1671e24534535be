"""What must hold before a release, in this order: ``python -m tests.release``. It publishes nothing."""

import re
import subprocess
import sys
from pathlib import Path

import hjastats

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = [
    ["-m", "tests"],
    ["-m", "tests.floors"],
    ["-m", "sphinx", "-W", "-q", "-b", "html", "docs", "docs/_build"],
    ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", "dist", "."],
]


def main() -> int:
    version = hjastats.__version__
    changes = (ROOT / "CHANGELOG.md").read_text()
    heading = re.search(rf"^## {re.escape(version)} \((.*)\)$", changes, re.MULTILINE)
    if heading is None or heading[1] == "unreleased":
        print(f"CHANGELOG.md has no date for {version}")
        return 1
    if version not in (ROOT / "CITATION.cff").read_text():
        print(f"CITATION.cff does not name {version}")
        return 1
    if subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, check=True).stdout:
        print("there are changes that are not committed")
        return 1
    for command in COMMANDS:
        print("$ python", *command, flush=True)
        if code := subprocess.run([sys.executable, *command], cwd=ROOT, check=False).returncode:
            return code
    print(f"ready: git tag v{version}, push the tag, upload dist/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
