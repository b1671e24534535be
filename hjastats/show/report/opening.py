"""The first sentences of a report: who leads, who is tied, what to distrust."""

from __future__ import annotations

import re

import pandas as pd

from ...data.comparisons import Comparisons
from ...words import and_more, counted

# Items named in a sentence before the rest is counted.
NAMED = 5


def verdict(data: Comparisons, ranking: pd.DataFrame | None, ahead: list[str], doubts: list[str]) -> list[str]:
    """What a reader in a hurry should take away.

    ``ahead`` are items that no finite score can reach, ``doubts`` what makes the intervals too narrow.
    """
    who = f"{counted(data.n_judges, 'judge')} on {counted(data.n_items, 'item')}"
    size = f"{counted(data.n_comparisons, 'verdict')} of {who}."
    if ranking is None:
        return [
            *([f"{_listed(ahead)} stay{'s' if len(ahead) == 1 else ''} ahead of all others."] if ahead else []),
            "There is no ranking to report: the maximum likelihood estimate does not exist or is not determined. "
            "What follows shows what can be said; a regularised fit ranks all items.",
            size,
        ]
    narrow = [f"But these intervals are too narrow. {doubt}" for doubt in doubts[:1]]
    sentences = [leadership(ranking), resolution(ranking), *narrow, size]
    if len(ranking) < data.n_items:
        sentences.insert(-1, f"These are the {len(ranking)} items with the highest scores, compared among themselves.")
    return sentences


def leadership(ranking: pd.DataFrame) -> str:
    """Who leads, and who might as well.

    Examples
    --------
    >>> table = pd.DataFrame({"place_lower": [1, 2], "place_upper": [1, 2]}, index=["a", "b"])
    >>> leadership(table)
    'a leads: no other item can be first (95%, all comparisons at once).'
    """
    first = str(ranking.index[0])
    candidates = [str(item) for item in ranking.index[ranking["place_lower"] == 1]]
    if len(candidates) == 1:
        return f"{first} leads: no other item can be first (95%, all comparisons at once)."
    others = _listed([item for item in candidates if item != first])
    return f"{first} has the highest score, but {others} may be first as well (95%, all comparisons at once)."


def resolution(ranking: pd.DataFrame) -> str:
    """How many pairs of items the data can order.

    Examples
    --------
    >>> table = pd.DataFrame({"place_lower": [1, 2], "place_upper": [1, 2], "group": ["(27-28)", "(29)"]}, index=["a", "b"])
    >>> resolution(table)
    '1 of 1 pairs of items can be ordered; 2 of 2 places are certain.'
    """
    n = len(ranking)
    groups = [set(group_letters(str(letters))) for letters in ranking["group"]]
    told = sum(not groups[i] & groups[j] for i in range(n) for j in range(i))
    pairs = n * (n - 1) // 2
    certain = int((ranking["place_lower"] == ranking["place_upper"]).sum())
    return f"{told:,} of {pairs:,} pairs of items can be ordered; {certain:,} of {n:,} places are certain."


def _listed(names: list[str]) -> str:
    if len(names) > NAMED:
        return and_more(names, NAMED)
    return " and ".join(", ".join(names).rsplit(", ", 1))


def group_letters(text: str) -> list[str]:
    """Every letter or number of a text such as "yz(27-29)".

    Examples
    --------
    >>> group_letters("yz(27-29)(31)")
    ['y', 'z', '27', '28', '29', '31']
    """
    found: list[str] = []
    for letter, first, last in re.findall(r"([a-z])|\((\d+)(?:-(\d+))?\)", text):
        found += [letter] if letter else [str(number) for number in range(int(first), int(last or first) + 1)]
    return found
