import pytest

from hjastats import __version__
from hjastats.cli import main


def test_demo_prints_comparison_and_summary(capsys):
    assert main(["demo"]) == 0
    text = capsys.readouterr().out
    for expected in ("3,200 comparisons", "HJA(1) + position", "not chi-squared", "sensitivity gamma", "Warnings"):
        assert expected in text
    assert max(map(len, text.splitlines())) <= 120


def test_version_is_the_package_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert __version__ in capsys.readouterr().out


def test_an_unknown_command_is_refused_with_exit_code_two(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["dance"])
    assert stop.value.code == 2
    assert "invalid choice" in capsys.readouterr().err
