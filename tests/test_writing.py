import json
import os
import stat
import subprocess
import sys
import threading

import pytest

import hjastats as hja
from hjastats import writing
from hjastats.cli import main
from hjastats.writing import check_target, write


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 64 kilobytes that is mounted for one test."""
    place = tmp_path / "disk"
    place.mkdir()
    try:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "none", place], capture_output=True, check=False
        )
    except FileNotFoundError:
        pytest.skip("there is no mount here: a full disk cannot be tried")
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here ({mounted.stderr.decode().strip()})")
    yield place
    subprocess.run(["mount", "-o", "remount,rw", place], check=True)
    subprocess.run(["umount", place], check=True)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_as_a_whole_with_its_permissions(tmp_path):
    path = tmp_path / "file.txt"
    write(path, "one")
    usual = os.open(tmp_path / "usual", os.O_CREAT | os.O_WRONLY, 0o666)
    os.close(usual)
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "usual").stat().st_mode)
    path.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(path)
    write(link, b"two")
    assert link.is_symlink()
    assert path.read_text() == "two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert names(tmp_path) == ["file.txt", "link", "usual"]


def test_a_writer_that_fails_half_way_leaves_the_older_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file.txt"
    write(path, "older")

    def fails(number):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(writing.os, "fsync", fails)
    with pytest.raises(
        OSError, match=r"file.txt' could not be written: Input/output error. The older file .* is as it was"
    ):
        write(path, "newer")
    monkeypatch.setattr(writing.os, "fsync", lambda number: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write(path, "newer")
    assert path.read_text() == "older"
    assert names(tmp_path) == ["file.txt"]


def test_pipes_and_devices_are_written_to_as_they_are(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_text()))
    reader.start()
    write(fifo, "through")
    reader.join(10)
    assert read == ["through"]
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    write("/dev/null", "gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_targets_that_cannot_be_written_are_refused_before_the_work(tmp_path, verdicts, capsys, monkeypatch):
    def work(*arguments):
        raise AssertionError("it should not come to this")

    monkeypatch.setattr("hjastats.cli.options.read", work)
    for command in (["fit", verdicts, "--save"], ["report", verdicts, "-o"], ["simulate", "-o"]):
        assert main([*command, str(tmp_path)]) == 2
        assert "is a folder: name a file in it" in capsys.readouterr().err
        assert main([*command, str(tmp_path / "nowhere" / "file")]) == 2
        assert "does not exist: make it before writing" in capsys.readouterr().err
    check_target(tmp_path / "file")


def test_a_full_disk_keeps_the_older_file_and_costs_no_result(small_disk, verdicts, capsys):
    older = (
        hja.BTLModel.from_comparisons(hja.Comparisons.from_arrays("j", list("ab"), list("ba"), [1, 1])).fit().to_json()
    )
    for command, option in ((["fit", verdicts], "--save"), (["report", verdicts], "-o"), (["simulate"], "-o")):
        path = small_disk / "kept"
        path.write_text(older)
        (small_disk / "filler").write_bytes(b"0" * 40_000)
        capsys.readouterr()
        assert main([*command, option, str(path)]) == 2
        shown = capsys.readouterr()
        assert f"{str(path)!r} could not be written: No space left on device. The older file" in shown.err
        assert command == ["simulate"] or "model-I" in shown.out
        assert path.read_text() == older
        assert hja.load_results(path).nobs == 2
        assert names(small_disk) == ["filler", "kept"]


def test_experiments_on_a_full_disk_go_on_when_there_is_room(small_disk, capsys):
    filler = small_disk / "filler"
    filler.write_bytes(b"0" * 60_000)
    arguments = ["reproduce", "convergence", "--quick", "-o", str(small_disk)]
    assert main(arguments) == 2
    assert "could not be written: No space left on device" in capsys.readouterr().err
    assert not list(small_disk.glob("*.png"))
    filler.unlink()
    subprocess.run(["mount", "-o", "remount,size=4m", small_disk], check=True)
    assert main(arguments) == 0
    assert len((small_disk / "convergence.jsonl").read_text().splitlines()) == 8
    assert not list(small_disk.glob(".*"))


def test_a_read_only_folder_is_named(small_disk, verdicts, capsys):
    older = small_disk / "kept"
    older.write_text("older")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    assert main(["fit", verdicts, "--save", str(older)]) == 2
    assert "cannot be written to: choose another for 'kept'" in capsys.readouterr().err
    with pytest.raises(PermissionError, match="cannot be written to"):
        write(older, "newer")
    assert older.read_text() == "older"


def test_a_reader_who_has_seen_enough_does_not_cost_the_file(verdicts, tmp_path):
    kept = tmp_path / "fit.json"
    command = f"{sys.executable} -m hjastats fit {verdicts} --model btl --json --save {kept} | head -c 10"
    assert subprocess.run(["bash", "-c", command], capture_output=True, check=True).stdout
    assert json.loads(kept.read_text())["schema"] == "hjastats-results"


def test_a_full_standard_output_is_one_sentence_and_exit_code_two(verdicts):
    command = [sys.executable, "-m", "hjastats", "fit", verdicts, "--model", "btl"]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    assert "No space left on device" in ended.stderr.splitlines()[-1]
