"""Run it: every case in a process that is watched, with a seed of its own; a table of outcomes by class.

Files are bytes of a good one that were changed; stored results have values exchanged; calls and commands have arguments by
chance. An answer or a clear error is right; anything but an error of the package comes from inside. What a file says is
worked out by Python's csv module beside.
"""

import argparse
import sys

from .outcomes import BAD
from .running import WAYS, run, watched


def main(arguments):
    """Print the table; the exit code says whether anything bad was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1.0, help="for all ways together")
    parser.add_argument("--cases", type=int, default=10**9, help="at most, of every way")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=WAYS, action="append")
    parser.add_argument("--start", type=int, default=0, help="number of the first case")
    parser.add_argument("--case", type=int, help="only this one, in this process")
    chosen = parser.parse_args(arguments)
    # What is told may hold half a surrogate pair.
    sys.stdout.reconfigure(errors="backslashreplace")
    ways = chosen.only or [*WAYS]
    if chosen.case is not None:
        tables = {way: run(way, chosen.seed, [chosen.case]) for way in ways}
    else:
        share = 60.0 * chosen.minutes / len(ways)
        tables = {way: watched(way, chosen.seed, chosen.start, chosen.cases, share) for way in ways}
    words = ["right", "clear error", *BAD]
    print(" ".join([" " * 9, *(f"{word:>13s}" for word in ["cases", *words])]))
    for way, counts in tables.items():
        print(
            " ".join(
                [
                    f"{way:9s}",
                    *(f"{number:13,d}" for number in [counts.total(), *map(counts.get, words, [0] * len(words))]),
                ]
            )
        )
    return int(any(counts[word] for counts in tables.values() for word in BAD))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
