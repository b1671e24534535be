"""Commands killed at random moments, again and again, until one gets through: ``python benchmarks/kills.py [KILLS] [SEED]``.

What is written must be equal, byte for byte, to what an uninterrupted run writes; at no moment may a file be there that is not
whole, or anything else lie in the folder but the ledger of ``reproduce`` and parts of files that no reader takes for one.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = {
    "simulate": ["simulate", "-o", "{out}/panel.csv"],
    "fit": ["fit", "{panel}", "--model", "ja", "--save", "{out}/fit.json"],
    "report": ["report", "{panel}", "--model", "ja", "-o", "{out}/report.html"],
    "reproduce": ["reproduce", "bic", "--quick", "-o", "{out}"],
}
# What a run that was killed may leave beside whole files: parts, which begin with a dot, and the ledger, which grows by lines.
PASSING = (".part", ".jsonl")
# The page says when it was made, and so does the summary on it.
MADE = re.compile(rb"<dt>made</dt><dd>[^<]*</dd>|(Date|Time): +[^ ].{16}")


def command(name: str, panel: Path, out: Path) -> list[str]:
    filled = [part.format(panel=panel, out=out) for part in COMMANDS[name]]
    return [sys.executable, "-m", "hjastats", *filled]


def written(folder: Path) -> dict[str, bytes]:
    """Files by name, without what may pass and what says when it was made."""
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: MADE.sub(b"", path.read_bytes()) for name, path in files.items() if not name.endswith(PASSING)}


def run(line: list[str], seconds: float | None) -> bool:
    """Whether it ended by itself; killed after so many seconds otherwise."""
    process = subprocess.Popen(line, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return False
    if code:
        raise SystemExit(f"{' '.join(line)} ended with {code}")
    return True


def main(n_kills: int = 100, seed: int = 0) -> int:
    rng, counts = random.Random(seed), dict.fromkeys(COMMANDS, 0)
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        panel = folder / "panel.csv"
        run([sys.executable, "-m", "hjastats", "simulate", "-o", str(panel)], None)
        whole, needed = {}, {}
        for each in COMMANDS:
            (folder / each).mkdir()
            start = time.monotonic()
            run(command(each, panel, folder / each), None)
            whole[each], needed[each] = written(folder / each), time.monotonic() - start
        while sum(counts.values()) < n_kills:
            each = rng.choice([*COMMANDS])
            out = folder / "again"
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            # Late moments are those at which something is written.
            done = False
            while not done and sum(counts.values()) < n_kills:
                done = run(
                    command(each, panel, out),
                    needed[each] * rng.choice([rng.uniform(0.1, 1.1), rng.uniform(0.8, 1.05)]),
                )
                counts[each] += not done
                for file, content in written(out).items():
                    if content != whole[each].get(file):
                        wrong.append(
                            f"{each}: {file} is not what an undisturbed run writes ({'ended' if done else 'killed'})"
                        )
            if not done:
                run(command(each, panel, out), None)
            if written(out) != whole[each]:
                wrong.append(f"{each}: what was written in the end differs")
            print(json.dumps(counts), *wrong[-1:], flush=True)
    print(f"{sum(counts.values())} kills, {len(wrong)} wrong", *wrong, sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
