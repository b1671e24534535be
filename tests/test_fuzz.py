from tests.fuzz import run


def test_changed_files_and_stored_results_end_right_or_with_a_clear_error():
    counts = run(0, cases=40, show=False)
    for way in ("files", "stored"):
        assert set(counts[way]) <= {"right", "clear error"}
        assert counts[way]["right"]
        assert counts[way]["clear error"]
