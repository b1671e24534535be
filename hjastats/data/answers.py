"""Whether what stands in a column are names of items, or whole answers, which nobody wants ranked."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from .. import limits

# Words from which a text that hardly comes twice is a sentence.
_SENTENCE = 4


def hold_answers(pair: pd.DataFrame) -> bool:
    r"""Whether texts are answers: long ones, or so many different ones of sentences or lines that comparisons cannot link them.

    Examples
    --------
    >>> hold_answers(pd.DataFrame({"a": ["gpt-4", "claude"], "b": ["claude", "gpt-4"]}))
    False
    >>> hold_answers(pd.DataFrame({"a": ["Sure, here it is:\n1."], "b": ["No."]}))
    True
    """
    some = pair.head(1000)
    if any(is_answer(value) for name in some for value in some[name].dropna()):
        return True
    texts = pd.concat([some[name].dropna().astype(str) for name in some])
    if texts.nunique() <= len(some) + 1:
        return False
    return bool(texts.str.count(r"\S+").median() >= _SENTENCE) or bool(texts.map(_has_lines).any())


def is_answer(value: object) -> bool:
    """Whether a value is no name: a container, or a text that is long or has a sentence on several lines."""
    if not isinstance(value, str):
        return isinstance(value, list | dict)
    return len(value) > limits.LONGEST_NAME or (_has_lines(value) and len(value.split()) >= _SENTENCE)


def _has_lines(text: str) -> bool:
    return "\n" in text.strip()


def some_answer(labels: Iterable[str]) -> str | None:
    """The first label that is an answer, None without one."""
    return next((label for label in labels if is_answer(label)), None)
