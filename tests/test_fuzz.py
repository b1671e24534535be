import pytest

from tests.fuzz.outcomes import BAD
from tests.fuzz.running import run


@pytest.mark.parametrize(("way", "cases"), [("files", 150), ("calls", 250), ("stored", 60), ("commands", 15)])
def test_hostile_input_ends_right_or_with_a_clear_error(way, cases):
    told = []
    counts = run(way, 0, range(cases), show=lambda text, flush: told.append(text))
    assert not told, "\n".join(told)
    assert not set(counts) & set(BAD)
    assert counts["right"]
    assert counts["clear error"]
