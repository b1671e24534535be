"""What a verdict means as a word, whatever is compared: a side, how strongly, a tie, or nothing usable."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import numpy as np

_POSITION_LABELS = (
    ("a", "b"),
    ("x", "y"),
    ("left", "right"),
    ("first", "second"),
    ("win", "loss"),
    ("leftvote", "rightvote"),
    ("player1", "player2"),
    *((f"{what}_a", f"{what}_b") for what in ("model", "item")),
    *((f"{what}_1", f"{what}_2") for what in ("model", "item", "generator", "player")),
)
FIRST_LABELS, SECOND_LABELS = (frozenset(labels) for labels in zip(*_POSITION_LABELS, strict=True))
TIE_LABELS = frozenset(["tie", "c", "draw", "both_good", "tievote", "tie (inconsistent)"])
BOTH_BAD_LABELS = frozenset(
    ["tie (bothbad)", "tie (both bad)", "tie_bothbad", "both_bad", "both bad", "bothbad", "bothbad_vote"]
)
UNUSABLE_LABELS = frozenset(["", "unknown", "error", "inconclusive", "invalid", "n/a", "na", "none", "null", "nan"])

_MARKED = re.compile(r"\[\[\s*(.*?)\s*\]\]|\[\s*(.*?)\s*\]")
_CALLED = re.compile(
    r"(?:assistant|response|answer|model|item|option|output|candidate|system|completion)[\s_-]*\(?([ab12xy])\)?"
)
_PRAISED = re.compile(r"(.*?)\s+(?:wins|won|is better)")
_GRADED = re.compile(r"(.*?[^<>=~≈\s])\s*(<+|>+|=+|~|≈)\s*([^<>=~≈\s].*)")


def is_no_side(word: str) -> bool:
    """Whether a label, in lower case, is a verdict for neither item.

    Examples
    --------
    >>> [is_no_side(word) for word in ("tie", "tie (bothbad)", "unknown", "model_a", "id")]
    [True, True, True, False, False]
    """
    return word in BOTH_BAD_LABELS or word in UNUSABLE_LABELS or graded(word) == 0


@lru_cache(maxsize=1024)
def graded(word: str) -> int | None:
    """How strongly a label speaks for the first item, below zero for the second and zero for a tie; None if it says neither.

    Examples
    --------
    >>> [graded(word) for word in ("a>>b", "assistant b", "[[c]]", "b > a", "a=b", "perhaps")]
    [2, -1, 0, -1, 0, None]
    """
    word = _unmarked(word)
    if word in TIE_LABELS:
        return 0
    if sides := _GRADED.fullmatch(word):
        one, sign, other = sides.groups()
        if (side := _side(one)) is None or _side(other) != -side:
            return None
        return 0 if sign[0] in "=~≈" else side * len(sign) * (1 if sign[0] == ">" else -1)
    if praised := _PRAISED.fullmatch(word):
        word = praised[1]
    return _side(word)


def _unmarked(word: str) -> str:
    """Without the brackets by which judges are told to mark their verdict."""
    found = _MARKED.fullmatch(word)
    return word if found is None else found[1] if found[1] is not None else found[2]


def _side(word: str) -> int | None:
    called = _CALLED.fullmatch(word)
    if called:
        return 1 if called[1] in "a1x" else -1
    return 1 if word in FIRST_LABELS else -1 if word in SECOND_LABELS else None


def meanings(words: Iterable[str], both_bad: float, sides: tuple[str, str], with_positions: bool) -> dict[str, float]:
    """Preference for the first item by label, NaN for what is left out; words without a meaning are not in it.

    Where some verdicts are stronger than others, ``a>>b`` beside ``a>b``, they are equal steps from 1/2 to the strongest.

    Parameters
    ----------
    words : iterable of str
        The labels of a column, in lower case and without spaces around them.
    both_bad : float
        The meaning of labels that call both items bad.
    sides : tuple of str
        The names of the two item columns: a verdict may say these.
    with_positions : bool
        Whether words for a position mean anything; names of columns always do, and come first.

    Examples
    --------
    >>> meanings(["a>>b", "a>b", "b>a", "home", "perhaps"], 0.5, ("home", "away"), True)
    {'a>>b': 1.0, 'a>b': 0.75, 'b>a': 0.25, 'home': 1.0}
    """
    words = list(words)
    grades = {word: grade for word in words if (grade := graded(word)) is not None and (grade == 0 or with_positions)}
    strongest = max(map(abs, grades.values()), default=1) or 1
    # A word that names a side without a sign is as sure as a verdict can be.
    signs = {word for word in grades if _GRADED.fullmatch(_unmarked(word))}
    meaning = {}
    for word in words:
        if word and word in sides:
            meaning[word] = 1.0 if word == sides[0] else 0.0
        elif word in BOTH_BAD_LABELS:
            meaning[word] = both_bad
        elif word in grades:
            grade = grades[word]
            meaning[word] = 0.5 + 0.5 * (grade / strongest if word in signs else np.sign(grade))
        elif word in UNUSABLE_LABELS:
            meaning[word] = np.nan
    return meaning
