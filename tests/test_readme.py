"""The README's commands and code are the ones that run."""

import doctest
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_every_example_in_the_readme_gives_the_output_it_shows():
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    outcome = doctest.testfile(str(ROOT / "README.md"), module_relative=False, optionflags=flags)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_ci_runs_the_test_command_of_the_readme():
    commands = re.findall(r"^python3 .* -m tests$", (ROOT / "README.md").read_text(), flags=re.MULTILINE)
    assert len(commands) == 1
    assert "grep -m1 -E '^python3 .* -m tests$' README.md" in (ROOT / ".ci" / "run").read_text()
