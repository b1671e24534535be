"""Stored results with a value exchanged, signed anew as if nothing had happened."""

import json
from contextlib import suppress
from copy import deepcopy
from functools import cache

import hjastats as hja
from hjastats.export import checksum

from .values import JSON, panel


@cache
def texts():
    data = panel()
    fits = [
        hja.JAModel.from_comparisons(data, position="judge").fit(),
        hja.BTLModel.from_comparisons(data, ties="davidson").fit_regularized(0.1),
        hja.HJAModel.from_comparisons(data, rank=1).fit(cov_type="HC0", warn_convergence=False),
    ]
    return [fit.to_json() for fit in fits]


def places(value, path=()):
    """Every place in a document."""
    yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from places(inner, (*path, key))


def case(rng):
    """One document to be loaded."""
    document = json.loads(rng.choice(texts()))
    for _ in range(rng.randint(1, 2)):
        path = rng.choice([path for path in places(document) if path])
        *above, last = path
        inner = document
        for key in above:
            inner = inner[key]
        if rng.random() < 0.2:
            del inner[last]
        else:
            # A copy, for a second exchange may reach into it.
            inner[last] = deepcopy(rng.choice(JSON))
    with suppress(ValueError):
        # Not a number has no checksum, and must be refused without one.
        document["checksum"] = checksum(document)
    text = json.dumps(document)
    if rng.random() < 0.1:
        text = text[: rng.randrange(len(text))] + rng.choice(["", "}", "\0", "1e400", "[" * 3000])
    return lambda: hja.load_results(text).summary()
