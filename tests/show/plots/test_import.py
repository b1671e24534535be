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


def test_without_matplotlib_every_figure_of_a_result_and_the_report_say_so():
    script = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(name, *where):\n"
        "        if name.split('.')[0] == 'matplotlib': raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Absent)\n"
        "import hjastats as hja\n"
        "result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position='judge').fit()\n"
        "plot = result.plot\n"
        "for draw in (plot.ranking, plot.sensitivity, plot.disagreement, plot.slopes, result.leaderboard().plot, result.report):\n"
        "    try:\n"
        "        draw()\n"
        "    except ImportError as error:\n"
        "        print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    figure = "plots need matplotlib: pip install 'hjastats[plots]'\n"
    assert done.stdout == 5 * figure + "reports need jinja2 and matplotlib: pip install 'hjastats[report]'.\n"


def test_every_figure_is_exported():
    assert all(callable(getattr(plots, name)) for name in plots.__all__)
