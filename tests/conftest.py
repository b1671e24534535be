"""Settings and fixtures shared by all tests."""

from pathlib import Path

import pytest
from hypothesis import settings

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
