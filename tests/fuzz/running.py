"""Cases one after the other, in a process that is watched: one that hangs or dies is counted, and the next goes on."""

import collections
import contextlib
import faulthandler
import multiprocessing
import random
import resource
import signal
import tempfile
import time
import traceback

from . import calls, commands, files, stored
from .outcomes import BAD, CRASH, HANG, INSIDE, ended

WAYS = {"files": files.case, "calls": calls.case, "stored": stored.case, "commands": commands.case}
# Of processor time: a machine that is busy with something else is no hang. Waiting for nothing at all takes no such time.
SLOW_SECONDS = 60.0
STUCK_SECONDS = 1200.0
MEMORY = 6 << 30


def outcome(way, seed, number):
    """How one case ended, and what to say of it."""
    case = WAYS[way](random.Random(f"{seed} {number} {way}"))
    # A path by chance may be one that can be written to.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        word, error = ended(case)
    if word not in BAD:
        return word, ""
    told = "".join(traceback.format_exception(error, limit=-12)) if word == INSIDE else repr(error)[:600]
    return word, f"{getattr(case, 'told', str)()[:600]}\n{told}"


def run(way, seed, numbers, show=print):
    """Counts of outcomes; ``show`` is told of the bad ones."""
    counts = collections.Counter()
    for number in numbers:
        word, told = outcome(way, seed, number)
        counts[word] += 1
        if told:
            show(f"{word}: python -m tests.fuzz --seed {seed} --only {way} --case {number}\n{told}", flush=True)
    return counts


def _work(way, seed, start, pipe):
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    faulthandler.enable()
    number = start
    while True:
        # Its signal ends the process, wherever it is.
        signal.setitimer(signal.ITIMER_PROF, SLOW_SECONDS)
        pipe.send((number, *outcome(way, seed, number)))
        number += 1


def watched(way, seed, start, cases, seconds):
    """The same in a process of its own."""
    counts, end, number = collections.Counter(), time.monotonic() + seconds, start
    context = multiprocessing.get_context("spawn")
    while number < start + cases and time.monotonic() < end:
        mine, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(way, seed, number, theirs), daemon=True)
        process.start()
        theirs.close()
        word = told = ""
        while word not in (HANG, CRASH) and number < start + cases and time.monotonic() < end:
            try:
                word, told = mine.recv()[1:] if mine.poll(STUCK_SECONDS) else (HANG, "no answer")
            except EOFError:
                process.join()
                is_slow = process.exitcode == -signal.SIGPROF
                word, told = (HANG, "no answer") if is_slow else (CRASH, f"the process died ({process.exitcode})")
            counts[word] += 1
            if told:
                print(f"{word}: python -m tests.fuzz --seed {seed} --only {way} --case {number}\n{told}", flush=True)
            number += 1
        process.kill()
        process.join()
    return counts
