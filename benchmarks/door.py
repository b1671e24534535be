"""What it takes from a file to a ranking: ``python benchmarks/door.py``, and ``--files`` for the real data beside the checkout.

Processor time in fresh processes: ``hjastats fit`` on 10^4 rows against ``import statsmodels.api``, and where the rest goes.
Writes results/door.json. With ``--files`` one row per table, or per table named after it: what was chosen, seconds, first three.
"""

from __future__ import annotations

import json
import os
import resource
import shlex
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from recording import record

ROUNDS = 7
# Times of the import of statsmodels, and seconds beyond, that a fit may take.
TIMES, SECONDS = 1.3, 0.5
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
PARTS = """
import time, sys, io, contextlib
start = time.process_time()
{first}
imported = time.process_time()
import hjastats.cli
ours = time.process_time()
with contextlib.redirect_stdout(io.StringIO()):
    hjastats.cli.main(["fit", sys.argv[1]])
print(imported - start, ours - imported, time.process_time() - ours)
"""
# Options that the message of a first try asks for.
FILES = {
    "chatbot_arena.json": "",
    "mtbench.json": "",
    "llmfao/crowd-comparisons.csv": "--first left --second right",
    "llmfao/gpt4-crowd-comparisons.csv": "--first left --second right --single-judge GPT-4",
    "llmfao/gpt3-crowd-comparisons.csv": "--first left --second right --single-judge GPT-3.5",
    "ppr_chatbot_arena/verdicts.csv": "",
    "mtbench_human/verdicts.csv": "--codes 'tie (inconsistent)=tie'",
    "position_bias_mtbench/verdicts.csv": "",
    "position_bias_mtbench/repetitions.csv": "",
    "cems_students/verdicts.csv": "",
    "gles_graded/verdicts.csv": "--outcome response --codes 1=1 2=0.75 3=tie 4=0.25 5=0",
    "beans_best_worst/beans.csv": "--judge farm",
    "wmt13_fren_rankings/rankings_long.csv": "",
    "r/baseball.csv": "--first home --second away --weight n --single-judge all --codes home=first away=second",
    "r/baseball_wide.csv": "--first home.team --second away.team --first-wins home.wins --second-wins away.wins"
    " --single-judge all",
    "r/cems.csv": "--judge student --first school1 --second school2 --codes school1=first school2=second",
    "r/cemschoice.csv": "--codes names",
    "r/cemschoice1998.csv": "--codes names",
    "r/chameleons.csv": "--single-judge all",
    "r/citations.csv": "--weight n --single-judge all",
    "r/citations_wide.csv": "--first player1 --second player2 --first-wins win1 --second-wins win2 --single-judge all",
    "r/cv_germanparties.csv": "--outcome y --codes unit",
    "r/flatlizards.csv": "--single-judge all",
    "r/flatlizards_main.csv": "--single-judge all",
    "r/football.csv": "--single-judge all --codes 1..-1",
    "r/germanparties.csv": "--codes names",
    "r/germanparties_ordered.csv": "--codes names",
    "r/icehockey.csv": "--first visitor --second opponent --outcome result --codes unit --single-judge all",
    "r/pudding.csv": "--first i --second j --weight n --single-judge all --codes i=first j=second",
    "r/salad.csv": "--codes names",
    "r/soundfields.csv": "--judge instrument --first field1 --second field2 --weight n"
    " --codes field1=first field2=second",
    "r/soundfields_wide.csv": "--judge instrument --first field1 --second field2 --first-wins win1 --second-wins win2"
    " --tied tie",
    "r/soundquality.csv": "--codes names",
    "r/springall.csv": "--first row --second col --weight n --single-judge all --codes row=first col=second",
    "r/springall_wide.csv": "--first col --second row --first-wins win --second-wins loss --tied tie"
    " --single-judge all",
}


def run(arguments: list[str], folder: str) -> subprocess.CompletedProcess[str]:
    # Byte code is kept, as it is for every installed package, also where the environment says otherwise.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = folder
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment)


def processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def whole(arguments: list[str], folder: str) -> float:
    before = processor_time()
    done = run(arguments, folder)
    assert done.returncode == 0, done.stderr
    return processor_time() - before


def speed() -> None:
    with TemporaryDirectory() as folder:
        path = str(Path(folder) / "verdicts.csv")
        size = ["--judges", "8", "--items", "15", "--comparisons", "10000"]
        run(["-m", "hjastats", "simulate", *size, "-o", path], folder)
        fit, base = ["-m", "hjastats", "fit", path], ["-c", "import statsmodels.api"]
        whole(fit, folder), whole(base, folder)
        pairs = [(whole(base, folder), whole(fit, folder)) for _ in range(ROUNDS)]
        parts = [
            [
                float(text)
                for text in run(
                    ["-c", PARTS.format(first="import statsmodels.base.model"), path], folder
                ).stdout.split()
            ]
            for _ in range(ROUNDS)
        ]
    imported, fitted = (min(values) for values in zip(*pairs, strict=True))
    allowed = TIMES * imported + SECONDS
    print(f"import statsmodels.api {imported:.2f} s; hjastats fit of 10^4 rows {fitted:.2f} s; allowed {allowed:.2f} s")
    names = ("import of statsmodels' base class", "import of hjastats", "read, choose, fit, findings, print")
    rows = [{"what": "hjastats fit", "best": fitted, "allowed": allowed}]
    for name, values in zip(names, zip(*parts, strict=True), strict=True):
        rows.append({"what": name, "best": min(values), "median": statistics.median(values)})
        print(f"  {name:36s} best {min(values):.2f} s, median {statistics.median(values):.2f} s")
    record("door", rows)


def files() -> None:
    with TemporaryDirectory() as folder:
        wanted = [name for name in sys.argv[1:] if not name.startswith("-")]
        for name, options in FILES.items():
            if wanted and name not in wanted:
                continue
            before = processor_time()
            done = run(["-m", "hjastats", "fit", str(DATA / name), *shlex.split(options), "--json"], folder)
            seconds = processor_time() - before
            if done.returncode:
                print(f"| {name} | {done.stderr.strip()[:160]} | {seconds:.1f} | |", flush=True)
                continue
            document = json.loads(done.stdout)
            chosen = "; ".join(f"{line['what']} {line['chosen']}" for line in document["choices"])
            first = ", ".join(row["item"] for row in (document["ranking"] or [])[:3])
            print(f"| {name} | {chosen} | {seconds:.1f} | {first} |", flush=True)


if __name__ == "__main__":
    files() if "--files" in sys.argv[1:] else speed()
