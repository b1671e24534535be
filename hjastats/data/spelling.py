"""Labels that look alike: spellings of one name that differ in case, white space or Unicode form."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

from ..words import and_more, exactly

# Control characters but white space, zero width (space, joiners, word joiner, byte order mark), soft hyphen, marks of direction.
_INVISIBLE = re.compile("[\\x00-\\x08\\x0e-\\x1b\\x7f\u200b-\u200f\u2060\ufeff\u00ad\u202a-\u202e]")


def tidy(label: str) -> str:
    r"""A label without what cannot be seen: in Unicode's composed form, with single spaces and none around it.

    Examples
    --------
    >>> tidy(" gpt-4\u200b  turbo\u00a0")
    'gpt-4 turbo'
    """
    if label.isascii() and "  " not in label and label.isprintable() and label[:1] != " " != label[-1:]:
        return label
    return " ".join(unicodedata.normalize("NFC", _INVISIBLE.sub("", label)).split())


def look_alike(label: str) -> str:
    """What labels have in common that look alike.

    Examples
    --------
    >>> look_alike("GPT-4 ") == look_alike("gpt-4")
    True
    """
    # Folding case may undo the composed form.
    return unicodedata.normalize("NFC", tidy(label).casefold())


def spellings(labels: Iterable[str]) -> list[list[str]]:
    """The labels that are written in several ways, each with all of them.

    Examples
    --------
    >>> spellings(["gpt-4", "claude", "GPT-4", "gpt-4 "])
    [['gpt-4', 'GPT-4', 'gpt-4 ']]
    """
    alike: dict[str, list[str]] = {}
    for label in labels:
        alike.setdefault(look_alike(label), []).append(label)
    return [same for same in alike.values() if len(same) > 1]


def joined(counts: Mapping[str, float]) -> dict[str, str]:
    """One spelling for each label: the most frequent of those that look alike, tidied.

    Examples
    --------
    >>> joined({"GPT-4": 2, "gpt-4 ": 5, "claude": 1})
    {'GPT-4': 'gpt-4', 'gpt-4 ': 'gpt-4', 'claude': 'claude'}
    """
    best: dict[str, str] = {}
    for label in sorted(counts, key=lambda label: (-counts[label], label)):
        best.setdefault(look_alike(label), tidy(label))
    return {label: best[look_alike(label)] for label in counts}


def listed(groups: list[list[str]], counts: Mapping[str, float], limit: int = 3) -> str:
    """The labels of some groups with the number of rows of each, what cannot be seen written out.

    Examples
    --------
    >>> print(listed([["gpt-4", "gpt-4 "]], {"gpt-4": 7, "gpt-4 ": 1}))
    'gpt-4' (7) and 'gpt-4 ' (1)
    """
    return and_more([" and ".join(f"{exactly(label)} ({counts[label]:g})" for label in same) for same in groups], limit)
