"""Hostile input, by chance: ``python -m tests.fuzz --minutes 5 --seed 0``; prints a table of outcomes by class.

Files are bytes of a good one that were changed, stored results have one value exchanged, calls have arguments from a list of nasty
ones. Right is an answer or a clear error; anything but an error of the package is an error from inside. Where a file was changed
only in ways that keep its meaning (order of rows, line ends), the answer is known.
"""

import argparse
import collections
import io
import json
import random
import sys
import time
import traceback
import warnings

import numpy as np

import hjastats as hja
from hjastats.export import checksum

NASTY = [
    None,
    True,
    -1,
    0,
    1.5,
    1e308,
    1e400,
    float("nan"),
    10**400,
    "",
    "a\0b",
    "mu[",
    "\ud800",
    "*",
    [],
    {},
    [None],
    b"x",
    object(),
]
NASTY += [
    "mu[model-A]",
    "gamma[judge-1] = 1",
    0.05,
    2,
    "judge",
    "cluster",
    np.array([]),
    ["mu[model-A]", "mu[model-B]"],
]
CALLS = [
    "contrast",
    "conf_int",
    "summary",
    "t_test",
    "wald_test",
    "with_covariance",
    "predict",
    "estimates",
    "ranking",
    "lr_test",
]
SLOW_SECONDS = 20.0


def file_case(rng, base):
    """A changed file, and the wins of the first item if they are known."""
    lines = base.decode().splitlines()
    if rng.random() < 0.3:
        body = lines[1:]
        rng.shuffle(body)
        end = rng.choice(["\n", "\r\n"])
        content = (rng.choice(["", "\ufeff"]) + end.join([lines[0], *body]) + end).encode()
        return content, sum(line.endswith("model_a") for line in body)
    content = bytearray(base)
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(content))
        content[at : at + rng.randint(0, 6)] = bytes(
            rng.choice([0, 10, 34, 44, 65, 200, 255]) for _ in range(rng.randint(0, 4))
        )
    return bytes(content), None


def try_file(rng, base, result):
    content, wins = file_case(rng, base)
    data = hja.read_comparisons(io.BytesIO(content), format="csv")
    return wins is None or (data.outcome == 1.0).sum() == wins


def try_call(rng, base, result):
    arguments = [rng.choice(NASTY) for _ in range(rng.randint(0, 2))]
    getattr(result, rng.choice(CALLS))(*arguments)
    return True


def try_stored(rng, base, result):
    document = json.loads(result.to_json())
    part = document[rng.choice(["model", "data", "estimate", "fit"])]
    part[rng.choice(list(part))] = rng.choice(
        [value for value in NASTY if value is None or isinstance(value, int | str | list)]
    )
    try:
        text = json.dumps(document | {"checksum": checksum(document)})
    except ValueError:
        return True
    hja.load_results(text).summary()
    return True


WAYS = {"files": try_file, "calls": try_call, "stored": try_stored}


def outcome(way, rng, base, result, show):
    """How one case ended, in a word."""
    start = time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ended = "right" if WAYS[way](rng, base, result) else "silent wrong"
    except hja.InputError:
        ended = "clear error"
    except Exception as error:
        # Python's own sentence about a wrong number of arguments is clear.
        ended = "clear error" if isinstance(error, TypeError) and "argument" in str(error) else "inside error"
        if ended == "inside error" and show:
            traceback.print_exc(limit=-2)
    return "hang" if time.monotonic() - start > SLOW_SECONDS else ended


def run(seed, cases=None, minutes=None, show=True):
    """Counts of outcomes by way; every case has a seed of its own."""
    pairs = [("a", "b"), ("b", "c"), ("c", "a")]
    rows = [f"j{i % 2},{pairs[i % 3][0]},{pairs[i % 3][1]},{'model_b' if i % 4 else 'model_a'}" for i in range(60)]
    base = "\n".join(["judge,model_a,model_b,winner", *rows, ""]).encode()
    result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
    counts, end = {way: collections.Counter() for way in WAYS}, time.monotonic() + 60 * (minutes or 1e9)
    for number in range(cases or 10**9):
        for way in WAYS:
            ended = outcome(way, random.Random(f"{seed} {number} {way}"), base, result, show)
            counts[way][ended] += 1
            if show and ended in ("inside error", "silent wrong", "hang"):
                print(f"{ended}: seed {seed}, case {number}, {way}", flush=True)
        if time.monotonic() > end:
            break
    return counts


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    counts = run(chosen.seed, minutes=chosen.minutes)
    bad = 0
    for way, found in counts.items():
        print(f"{way:8s} {dict(found)}")
        bad += sum(number for word, number in found.items() if word in ("inside error", "silent wrong", "hang"))
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
