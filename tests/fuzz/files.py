"""Files that were changed by chance, and what must be read from them, worked out with nothing but Python's csv module."""

import bz2
import collections
import csv
import gzip
import io
import json
import lzma

import hjastats as hja

from .outcomes import Wrong

HEADER = ["judge", "model_a", "model_b", "winner"]
VERDICTS = ("model_a", "model_b", "tie")
PAIRS = [("gpt-4", "claude-1"), ("claude-1", "llama é"), ("llama é", "gpt-4"), ("gpt-4", "007")]
ROWS = [[f"j{i % 3}", *PAIRS[i % 4][:: 1 if i % 2 else -1], VERDICTS[(i * i) % 7 % 3]] for i in range(48)]
SNIPPETS = [
    b"",
    b"\0",
    b"\n",
    b'"',
    b",",
    b"A",
    b"\xc3",
    b"\xff",
    b"\xfe\xff",
    b"\xef\xbb\xbf",
    b"\r",
    b";",
    b"\t",
    b"nan",
    b"1e999",
]
SNIPPETS += [
    b"model_a",
    b"judge",
    b"=cmd|'x'",
    b"\x1b[2J",
    b"\xe2\x80\x8b",
    b"{",
    b"[",
    b"\\",
    b"tie",
    b"\x1a",
    b" " * 50,
    b"9" * 400,
]


def expected(rows):
    """How often each judge gave each verdict on two items, whichever was shown first."""
    counts = collections.Counter()
    for judge, a, b, winner in rows:
        won = {"model_a": a, "model_b": b, "tie": None}[winner]
        counts[judge, frozenset((a, b)), won] += 1
    return counts


def found(data):
    """The same of what was read."""
    counts = collections.Counter()
    frame = data.to_frame()
    for judge, a, b, outcome, weight in zip(
        frame["judge"], frame["first"], frame["second"], frame["outcome"], frame["weight"], strict=True
    ):
        counts[judge, frozenset((a, b)), {1.0: a, 0.0: b, 0.5: None}[outcome]] += int(weight)
    return counts


def known(text):
    """What a text says if it is a plain table of verdicts: None where any of it is unusual."""
    try:
        header, *rows = csv.reader(io.StringIO(text), strict=True)
    except (csv.Error, ValueError):
        return None
    rows = [row for row in rows if row]
    plain = all(
        len(row) == 4
        and row[3] in VERDICTS
        and row[1] != row[2]
        and all(cell.isprintable() and cell == cell.strip() and cell for cell in row)
        for row in rows
    )
    missing = {"na", "nan", "null", "none", "n/a", "<na>", "-nan", "#n/a", "-"}
    plain = plain and not any(cell.lower() in missing for row in rows for cell in row)
    return expected(rows) if header == HEADER and rows and plain else None


def as_csv(rows, header=HEADER, separator=",", end="\n", quoting=csv.QUOTE_MINIMAL):
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator=end, quoting=quoting)
    writer.writerows([header, *rows])
    return out.getvalue()


def same_meaning(rng):
    """Bytes that say the same as ROWS, written in another way."""
    rows = [list(row) for row in ROWS]
    rng.shuffle(rows)
    for row in rows:
        if rng.random() < 0.5:
            row[1], row[2], row[3] = row[2], row[1], {"model_a": "model_b", "model_b": "model_a"}.get(row[3], row[3])
    order = rng.sample(range(4), 4)
    header = [HEADER[i] for i in order]
    shuffled = [[row[i] for i in order] for row in rows]
    records = [dict(zip(header, row, strict=True)) for row in shuffled]
    kind = rng.choice(["csv", "csv", "csv", "tsv", "json", "jsonl"])
    end = rng.choice(["\n", "\r\n"])
    if kind == "json":
        text = json.dumps(records, ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, 1]))
    elif kind == "jsonl":
        text = end.join(json.dumps(record, ensure_ascii=rng.random() < 0.5) for record in records) + end
    else:
        quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
        text = as_csv(shuffled, header, "\t" if kind == "tsv" else ",", end, quoting) + rng.choice(["", end])
    content = text.encode(rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"]))
    return rng.choice([bytes, bytes, gzip.compress, bz2.compress, lzma.compress])(content)


def broken_meaning(rng):
    """Bytes of which a row says nothing, and what the others say: refused, or read with that row among those left out."""
    rows = [list(row) for row in ROWS]
    at, way = rng.randrange(len(rows)), rng.randrange(6)
    header = HEADER
    if way == 0:
        rows[at][3] = rng.choice(["perhaps", "model_c", "gpt-5", "modela?", "1.7"])
    elif way == 1:
        rows[at][rng.randrange(4)] = rng.choice(["", " ", "nan", "NA"])
    elif way == 2:
        rows[at].append("more")
    elif way == 3:
        del rows[at][rng.randrange(1, 4) :]
    elif way == 4:
        rows[at][2] = rows[at][1]
    else:
        header, rows = [*HEADER, "winner"], [[*row, rng.choice(VERDICTS)] for row in rows]
    return as_csv(rows, header).encode(), expected(ROWS[:at] + ROWS[at + 1 :])


def damaged(rng):
    """Bytes of ROWS with some of them exchanged, and what they say if that can be told."""
    content = bytearray(as_csv(ROWS).encode() if rng.random() < 0.7 else same_meaning(rng))
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(content) + 1)
        content[at : at + rng.choice([0, 0, 1, 3, 8])] = rng.choice(SNIPPETS)
        if rng.random() < 0.05:
            del content[rng.randrange(len(content) + 1) :]
    try:
        return bytes(content), known(bytes(content).decode("utf-8-sig"))
    except UnicodeDecodeError:
        return bytes(content), None


def case(rng):
    """One file to be read."""
    share = rng.random()
    if share < 0.25:
        content, answer = same_meaning(rng), expected(ROWS)
    elif share < 0.45:
        content, answer = broken_meaning(rng)
    else:
        content, answer = damaged(rng)

    def read():
        try:
            data = hja.read_comparisons(io.BytesIO(content))
        except hja.InputError:
            if share < 0.25:
                raise Wrong(f"a good file was refused: {content[:200]!r}") from None
            raise
        if answer is not None and found(data) != answer:
            raise Wrong(f"read as something else: {content!r}")
        if 0.25 <= share < 0.45 and len(data.dropped) != 1:
            raise Wrong(f"read without a word: {content!r}")

    return read
