"""From bytes to text: how a file is packed, how its letters are encoded, and what its beginning says about its format."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import json
import lzma
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, BinaryIO

from ..errors import ComparisonError

_HEAD = 4096


def _open_zst(file: BinaryIO) -> Any:
    if find_spec("zstandard"):
        return import_module("zstandard").ZstdDecompressor().stream_reader(file, read_across_frames=True)
    if find_spec("pyarrow"):
        return import_module("pyarrow").CompressedInputStream(file, "zstd")
    raise ComparisonError("files packed with zst are read by zstandard, which is not installed: pip install zstandard.")


# By the bytes they begin with: the ending of a file, and how it is opened.
PACKINGS: dict[bytes, tuple[str, Callable[[Any], Any]]] = {
    b"\x1f\x8b": (".gz", gzip.open),
    b"BZh": (".bz2", bz2.open),
    b"\xfd7zXZ\x00": (".xz", lzma.open),
    b"\x28\xb5\x2f\xfd": (".zst", _open_zst),
}
# Files that are no text, by the bytes they begin with.
_MAGIC = {b"PAR1": "parquet", b"ARROW1": "feather", b"PK\x03\x04": "xlsx"}
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def unpacked(file: Any) -> Any:
    """A file of bytes that can be read from its beginning, unpacked if it was packed."""
    file = _from_start(file)
    head = file.read(8)
    file.seek(0)
    opened = next((open_it for magic, (_, open_it) in PACKINGS.items() if head.startswith(magic)), None)
    return file if opened is None else _from_start(opened(file))


def _from_start(file: Any) -> Any:
    """A file that can be read twice; pipes, and packings that only run forward, are read at once."""
    try:
        if file.seekable():
            file.seek(0)
            return file
    except (OSError, io.UnsupportedOperation):
        pass
    return io.BytesIO(file.read())


def peeked(file: Any) -> bytes:
    """The first bytes of a file that stays where it was."""
    head = file.read(_HEAD)
    file.seek(0)
    return bytes(head)


def encoding_of(head: bytes) -> str:
    """The encoding that a byte order mark tells, or the zeros of UTF-16; UTF-8 otherwise.

    Examples
    --------
    >>> encoding_of("judge".encode("utf-16")), encoding_of("judge".encode("utf-16-be")), encoding_of(b"judge")
    ('utf-16', 'utf-16-be', 'utf-8')
    """
    marked = next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)
    if marked is not None:
        return marked
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) * 4 > len(head):
        return "utf-16-le" if odd > even else "utf-16-be"
    return "utf-8"


def binary_format(head: bytes) -> str | None:
    """The format of a file that is no text; None for text."""
    return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)


def text_format(head: str) -> str:
    r"""The format of a text by its beginning.

    Examples
    --------
    >>> [text_format(head) for head in ('[{"judge": 1}]', '{"judge": 1}\n{"judge": 2}', '{"judge":\n [1]}', "judge\twinner")]
    ['json', 'jsonl', 'json', 'tsv']
    """
    line = head.lstrip().split("\n", 1)[0].strip()
    if line.startswith("["):
        return "json"
    if line.startswith("{"):
        try:
            json.loads(line)
        except ValueError:
            # A line that is whole and no record goes on in the next; one that is longer than what was read of it may be one.
            return "json" if "\n" in head.lstrip() else "jsonl"
        return "jsonl"
    return "tsv" if "\t" in line and line.count("\t") >= line.count(",") else "csv"
