"""How things read: names listed, labels shortened, sentences wrapped, numbers and p-values formatted."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Real

LABEL_WIDTH = 32
SENTENCE_WIDTH = 96
LINE_WIDTH = 80
# Below this a p-value has underflown, or has no digit that means anything.
SMALLEST_P = 1e-300


# Of terminals and of the direction of writing: letters that change what is seen of others.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


# Letters of no width: spaces, joiners, soft hyphens.
_UNSEEN = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")


def visible(text: str) -> str:
    r"""The text with control characters spelt out; lines and tabs stay.

    Examples
    --------
    >>> visible("red \x1b[31m ink")
    'red \\x1b[31m ink'
    """
    return _CONTROLS.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def quoted(names: Iterable[object], limit: int = 5) -> str:
    """Quote the first few names, and count the others.

    Examples
    --------
    >>> print(quoted(["gpt-4", "claude"]))
    'gpt-4', 'claude'
    >>> print(quoted("abcdefg", limit=2))
    'a', 'b' and 5 more
    """
    return and_more([repr(str(name)) for name in names], limit)


def and_more(texts: Sequence[str], limit: int) -> str:
    """Join the first few texts by commas, and count the others.

    Examples
    --------
    >>> and_more(["3 of a", "2 of b", "1 of c"], limit=1)
    '3 of a and 2 more'
    """
    shown = ", ".join(texts[:limit])
    return shown if len(texts) <= limit else f"{shown} and {len(texts) - limit} more"


def either(texts: Sequence[str]) -> str:
    """Join what there is to choose from.

    Examples
    --------
    >>> either([".csv", ".tsv", ".json"])
    '.csv, .tsv or .json'
    """
    return " or ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def counted(number: float, noun: str) -> str:
    """A number of things.

    Examples
    --------
    >>> counted(1, "judge"), counted(3200, "verdict")
    ('1 judge', '3,200 verdicts')
    """
    return f"{number:,.0f} {noun}{'' if number == 1 else 's'}"


def roughly(number: float) -> str:
    """A number that is not known better than to two digits.

    Examples
    --------
    >>> roughly(8953), roughly(23_908_524), roughly(96), roughly(1e13)
    ('9,000', '24 million', '96', '10,000 billion')
    """
    from math import floor, isfinite, log10

    if not isfinite(number) or number < 100:
        return f"{number:,.0f}"
    rounded = round(number, 1 - floor(log10(number)))
    for size, word in ((1e9, " billion"), (1e6, " million")):
        if rounded >= size:
            return f"{rounded / size:,.3g}{word}" if rounded < 1000 * size else f"{rounded / size:,.0f}{word}"
    return f"{rounded:,.0f}"


def shortened(label: object, width: int = LABEL_WIDTH, gap: str = "…") -> str:
    r"""A label on one line that fits, its middle left out.

    Examples
    --------
    >>> shortened("meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8", 24)
    'meta-llama/L…nstruct-FP8'
    >>> shortened("two\nlines")
    'two lines'
    """
    return _cut(visible(" ".join(str(label).split())), width, gap)


def _cut(text: str, width: int, gap: str) -> str:
    if len(text) <= width:
        return text
    tail = (width - len(gap)) // 2
    return f"{text[: width - len(gap) - tail]}{gap}{text[len(text) - tail :]}"


def exactly(label: str) -> str:
    r"""In quotes; what cannot be seen, and letters that are made of others, as their code.

    Examples
    --------
    >>> print(exactly("gpt-4 "), exactly("gpt\u200b"))
    'gpt-4 ' 'gpt\u200b'
    """
    return repr(label) if unicodedata.is_normalized("NFC", label) else ascii(label)


def told_apart(labels: Sequence[object]) -> list[str]:
    """Labels on one line each; those that would look the same exactly as they are written.

    Examples
    --------
    >>> told_apart(["gpt-4", "gpt-4 ", "claude  3"])
    ["'gpt-4'", "'gpt-4 '", 'claude 3']
    """
    plain = [visible(" ".join(str(label).split())) for label in labels]
    look = [unicodedata.normalize("NFC", _UNSEEN.sub("", text)) for text in plain]
    written: dict[str, set[str]] = {}
    for label, text in zip(labels, look, strict=True):
        written.setdefault(text, set()).add(str(label))
    return [
        exactly(str(label)) if len(written[seen]) > 1 else text
        for label, text, seen in zip(labels, plain, look, strict=True)
    ]


def shortened_apart(labels: Sequence[object], width: int = LABEL_WIDTH, gap: str = "...") -> list[str]:
    """Labels that fit and are still told apart: without their middle, else without what they share, else by number.

    Examples
    --------
    >>> shortened_apart(["a", "x" * 20 + "1", "x" * 20 + "2"], width=12)
    ['a', 'xxxxx...xxx1', 'xxxxx...xxx2']
    >>> shortened_apart(["a" * 10 + "1" + "b" * 10, "a" * 10 + "2" + "b" * 10], width=12)
    ['...1...', '...2...']
    """
    texts = told_apart(labels)
    short = [_cut(text, width, gap) for text in texts]
    if len(set(short)) == len(set(texts)):
        return short
    head = _n_shared(texts)
    foot = _n_shared([text[head:][::-1] for text in texts])
    middles = [f"{gap}{text[head : len(text) - foot]}{gap}" for text in texts]
    if max(map(len, middles)) <= width:
        return middles
    return [f"{text[: width - 5]}~{number}" for number, text in enumerate(texts, start=1)]


def _n_shared(texts: list[str]) -> int:
    """Length of the beginning that all texts share."""
    columns = enumerate(zip(*texts, strict=False))
    return next((i for i, letters in columns if len(set(letters)) > 1), min(map(len, texts)))


# The most that lines of sentences may have where they are shown.
_WIDEST = ContextVar("widest", default=1000)


@contextmanager
def no_wider(width: int) -> Iterator[None]:
    """Fold sentences to lines of at most so many letters.

    Examples
    --------
    >>> with no_wider(20):
    ...     wrapped("Judges agree about as much as chance.")
    ['Judges agree about', 'as much as chance.']
    """
    token = _WIDEST.set(width)
    try:
        yield
    finally:
        _WIDEST.reset(token)


def wrapped(text: str, width: int = SENTENCE_WIDTH, first: str = "", indent: int | None = None) -> list[str]:
    """Lines of a text, names kept whole, with ``first`` before it; further lines are indented, by default as far as that.

    Examples
    --------
    >>> wrapped("Judge 'gpt-4' gave only 3 verdicts.", 28, first="[1] ")
    ["[1] Judge 'gpt-4' gave only", '    3 verdicts.']
    """
    return textwrap.wrap(
        text,
        min(width, _WIDEST.get()),
        initial_indent=first,
        subsequent_indent=" " * (len(first) if indent is None else indent),
        break_long_words=False,
        break_on_hyphens=False,
    )


def number(value: object, form: str = "", missing: str = "-") -> str:
    """A number as text: four decimals, three digits when large, or a form of its own; words where there is none.

    Examples
    --------
    >>> number(0.5), number(123456.0), number(0.125, ".1%"), number(float("nan"), missing="withheld")
    ('0.5000', '1.23e+05', '12.5%', 'withheld')
    """
    if not isinstance(value, Real) or value != value:
        return missing
    value = float(value)
    return format(value, form or (".4f" if abs(value) < 1000 else ".3g"))


def percent(share: float, digits: int = 1) -> str:
    """A share in percent.

    Examples
    --------
    >>> percent(0.8725), percent(1 / 3, 0)
    ('87.2%', '33%')
    """
    return number(share, f".{digits}%")


def p_value(value: float) -> str:
    """A p-value, readable in the far tail.

    Examples
    --------
    >>> p_value(0.0312), p_value(3.1e-9), p_value(0.0)
    ('0.031', '3.1e-09', '<1e-300')
    """
    return "<1e-300" if value < SMALLEST_P else number(value, ".3f" if value >= 0.001 else ".1e")


def told_p(value: float) -> str:
    """A p-value in a sentence.

    Examples
    --------
    >>> told_p(0.0312), told_p(0.0)
    ('p = 0.031', 'p < 1e-300')
    """
    return "p < 1e-300" if value < SMALLEST_P else f"p = {p_value(value)}"


def mentions(text: str, name: object) -> bool:
    """Whether a formula names a column.

    Examples
    --------
    >>> mentions("win ~ np.log(length)", "length"), mentions("win ~ length_diff", "length")
    (True, False)
    """
    return re.search(rf"(?<!\w){re.escape(str(name))}(?!\w)", text) is not None
