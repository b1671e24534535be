import subprocess
import sys

import pandas as pd
import pytest

from hjastats.show import plots


def test_importing_the_package_does_not_import_matplotlib():
    code = (
        "import sys, hjastats, hjastats.show.plots; print([m for m in sys.modules if m.split('.')[0] == 'matplotlib'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_without_matplotlib_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    table = pd.DataFrame({"estimate": [1.0], "ci_lower": [0.5], "ci_upper": [1.5]}, ["j"])
    with pytest.raises(ImportError, match=r"^plots need matplotlib: pip install 'hjastats\[plots\]'$"):
        plots.plot_intervals(table)


def test_every_figure_is_exported():
    assert all(callable(getattr(plots, name)) for name in plots.__all__)
