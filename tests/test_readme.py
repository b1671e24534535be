"""The commands and code of README, docs and vignettes are the ones that run."""

import doctest
import re
from pathlib import Path

import pytest

from docs.making.pages import NEEDS, runnable

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("docs", "docs/api", "docs/questions", "vignettes")
DOCUMENTS = [ROOT / "README.md", *(path for folder in FOLDERS for path in sorted((ROOT / folder).glob("*.md")))]
WITH_CODE = [path for path in DOCUMENTS if ">>>" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", WITH_CODE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_example_gives_the_output_it_shows(path, monkeypatch):
    monkeypatch.chdir(ROOT)
    text = runnable(path.read_text(encoding="utf-8"))
    if text is None:
        pytest.skip("the real data are not beside the checkout; the document keeps its output")
    examples = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, path.name, str(path), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    outcome = runner.run(examples)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_sections_that_need_absent_data_are_left_out(monkeypatch):
    monkeypatch.setitem(NEEDS, "../shared/data", False)
    assert runnable("# T\n>>> 1\n## A\n../shared/data\n## B\nb\n") == "# T\n>>> 1\n## B\nb\n"
    assert runnable("# T\n../shared/data\n## B\nb\n") is None


def test_ci_runs_the_test_command_of_the_readme():
    commands = re.findall(r"^python3 .* -m tests$", (ROOT / "README.md").read_text(), flags=re.MULTILINE)
    assert len(commands) == 1
    assert "grep -m1 -E '^python3 .* -m tests$' README.md" in (ROOT / ".ci" / "run").read_text()


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_within_the_project_lead_somewhere(path):
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text(encoding="utf-8"))
    # The site puts vignettes below docs; in the sources they lie beside it.
    missing = [link for link in links if not link.startswith("http") and not _target(path, link).exists()]
    assert missing == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_of_the_project_that_are_named_exist(path):
    named = re.findall(r"`((?:tests|benchmarks|docs|hjastats)/[\w/]+(?:\.py|\.md)?)`", path.read_text(encoding="utf-8"))
    # Made by runs, not part of the project.
    made = {"docs/api/generated", "docs/figures", "docs/_build"}
    assert sorted(name for name in set(named) - made if not (ROOT / name).exists()) == []


def _target(path, link):
    return path.parent / re.sub(r"^vignettes/", "../vignettes/" if path.parent.name == "docs" else "vignettes/", link)
