"""Settings and fixtures shared by all tests."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

import hjastats as hja
from hjastats import limits
from tests import panels

# The same examples in every run, and no test depends on the time it took.
settings.register_profile("hjastats", deadline=None, derandomize=True)
settings.load_profile("hjastats")


def _beside_the_checkout(name: str) -> Path:
    folder = Path(__file__).resolve().parents[1].parent / "shared" / name
    if not folder.is_dir():
        pytest.skip(f"shared/{name} is not beside the checkout")
    return folder


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data beside the checkout; they are not part of the project."""
    return _beside_the_checkout("data")


@pytest.fixture(scope="session")
def oracles() -> Path:
    """The folder of results from R on the real data, with the scripts that made them."""
    return _beside_the_checkout("oracles")


class SetLimits:
    """Change names of ``hjastats.limits`` until the end of a test, or until ``reset``."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch

    def __call__(self, **values: float) -> None:
        """Set some limits; one that does not exist is an error."""
        for name, value in values.items():
            self._patch.setattr(limits, name, value, raising=True)

    def reset(self) -> None:
        """Make all limits what they were."""
        self._patch.undo()


@pytest.fixture
def set_limits():
    with pytest.MonkeyPatch.context() as patch:
        yield SetLimits(patch)


# Data; none of them can be changed by a test.


@pytest.fixture(scope="session")
def panel():
    """The panel that comes with the package."""
    return hja.datasets.load_panel()


@pytest.fixture(scope="session")
def small_panel():
    return panels.small_panel()


@pytest.fixture(scope="session")
def biased_panel():
    return panels.biased_panel()


@pytest.fixture(scope="session")
def tied_panel():
    return panels.tied_panel()


@pytest.fixture(scope="session")
def clustered_panel():
    return panels.clustered_panel(1500)


# Fits


@pytest.fixture(scope="session")
def panel_fit(panel):
    """The model of the README, fitted to the panel that comes with the package."""
    return hja.HJAModel.from_comparisons(panel, rank=1, position="judge").fit()


@pytest.fixture(scope="session")
def separated_fit():
    """A fit with a score that runs to infinity."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hja.SeparationWarning)
        return hja.HJAModel.from_comparisons(panels.separated_panel(), rank=1).fit()


@pytest.fixture
def verdicts(tmp_path):
    path = tmp_path / "verdicts.csv"
    frame = hja.datasets.load_panel().to_frame()
    frame["winner"] = np.where(frame["outcome"] == 1, "a", "b")
    frame.rename(columns={"first": "model_a", "second": "model_b"})[["judge", "model_a", "model_b", "winner"]].to_csv(
        path, index=False
    )
    return str(path)
