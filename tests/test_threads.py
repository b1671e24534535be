"""Threads that fit, report and read at once get what one alone gets, and leave the process as it was."""

import io
import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import matplotlib as mpl

import hjastats as hja

PACKAGE = Path(hja.__file__).parent
# Each under a lock of its own: formulaic speaks of levels it does not know only in a warning.
MAY_FILTER = {"data/formulas.py", "cli/commands.py", "errors.py"}


def test_library_code_does_not_change_the_filters_of_warnings():
    changing = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if "catch_warnings" in path.read_text() or "simplefilter" in path.read_text()
    }
    assert changing == MAY_FILTER


def timeless(page):
    """The page without the moment at which it was made."""
    return re.sub(r"\d\d:\d\d(:\d\d)?", "", page)


def test_eight_threads_fit_report_and_read(panel, tmp_path):
    text = "judge,model_a,model_b,winner\n" + "".join(
        f"j{i % 3},{'abc'[i % 3]},{'bca'[i % 3]},{'model_a' if i % 5 else 'model_b'}\n" for i in range(300)
    )
    expected = hja.JAModel.from_comparisons(panel, position="judge").fit()
    page = timeless(expected.report())
    filters, settings = list(warnings.filters), dict(mpl.rcParams)

    def work(number):
        result = hja.JAModel.from_comparisons(panel, position="judge").fit()
        other = hja.BTLModel.from_comparisons(panel).fit(method="bfgs", disp=False)
        data = hja.read_comparisons(io.StringIO(text), format="csv")
        path = tmp_path / "shared.json"
        result.to_json(path)
        again = hja.load_results(path)
        fragile = other.fragility().n_comparisons
        return result.llf, again.llf, other.llf, data.n_rows, fragile, timeless(result.report())

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(8)))
    assert len(set(found)) == 1
    assert found[0][0] == expected.llf
    assert found[0][5] == page
    assert list(warnings.filters) == filters
    assert dict(mpl.rcParams) == settings
    assert [path.name for path in tmp_path.iterdir()] == ["shared.json"]
