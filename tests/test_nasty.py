"""The forty nasty files of benchmarks/nasty.py, of which the package must get every one right; peers are tried by the benchmark."""

import pytest

from benchmarks.nasty import CASES, verdict


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_nasty_file_is_read_rightly_or_refused_in_a_sentence(case, tmp_path):
    path = tmp_path / "verdicts.csv"
    path.write_bytes(case.content)
    assert verdict("hjastats", path, case) == "right"
