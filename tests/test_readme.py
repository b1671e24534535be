"""The commands and code of README, docs and vignettes are the ones that run."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "vignettes").glob("*.md"))]
WITH_CODE = [path for path in DOCUMENTS if ">>>" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", WITH_CODE, ids=lambda path: path.name)
def test_every_example_gives_the_output_it_shows(path, monkeypatch):
    monkeypatch.chdir(ROOT)
    if "../shared/data" in path.read_text(encoding="utf-8") and not (ROOT.parent / "shared" / "data").is_dir():
        pytest.skip("the real data are not beside the checkout; the document keeps its output")
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    outcome = doctest.testfile(str(path), module_relative=False, optionflags=flags, encoding="utf-8")
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_ci_runs_the_test_command_of_the_readme():
    commands = re.findall(r"^python3 .* -m tests$", (ROOT / "README.md").read_text(), flags=re.MULTILINE)
    assert len(commands) == 1
    assert "grep -m1 -E '^python3 .* -m tests$' README.md" in (ROOT / ".ci" / "run").read_text()
