"""What runs elsewhere says the same as what runs here: the workflow, the hooks before a commit, the floors."""

import re
import tomllib
from pathlib import Path

import pytest

from tests.__main__ import CHECKS
from tests.floors import floors

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_workflow_runs_the_command_of_the_readme_from_the_lowest_python_on_and_at_the_floors():
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    jobs = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())["jobs"]
    command = re.search(r"^python3 .* -m tests$", (ROOT / "README.md").read_text(), re.MULTILINE)[0]
    assert [step["run"] for step in jobs["newest"]["steps"] if "run" in step] == [command]
    assert [step["run"] for step in jobs["floors"]["steps"] if "run" in step] == ["python3 -m tests.floors"]
    pythons = jobs["newest"]["strategy"]["matrix"]["python"]
    assert PROJECT["requires-python"] == f">={pythons[0]}"
    assert jobs["floors"]["steps"][1]["with"]["python-version"] == pythons[0]


def test_the_hooks_before_a_commit_are_the_linters_of_the_tests():
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    named = [hook["entry"].removeprefix("python -m ").split() for hook in hooks]
    assert named == [[Path(check[0]).name, *check[1:]] if len(check) == 1 else check[2:] for check in CHECKS]


def test_every_dependency_has_a_floor_of_one_version():
    pins = floors(PROJECT)
    assert {re.split("==", pin)[0] for pin in pins} >= {re.split(">=", one)[0] for one in PROJECT["dependencies"]}
    assert all(re.fullmatch(r"[\w\[\]-]+==[\d.]+", pin) for pin in pins)
