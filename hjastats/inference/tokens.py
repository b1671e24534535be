"""The pieces of a contrast string: numbers, operators, functions, and quantities with their labels."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..errors import ContrastError
from ..model.quantities import ALL, Quantities
from .functions import FUNCTIONS, GROUP_FUNCTIONS

_NUMBER = re.compile(r"\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?")
_NAME = re.compile(r"[^\W\d]\w*")
_QUOTED = re.compile(r"""\s*(['"])((?:(?!\1).|\1\1)*)\1(?!\1)\s*""", re.DOTALL)
_OPENING = re.compile(r"\s*\[\s*")
_SPACE = re.compile(r"\s*")
_OPERATORS = ("**", "+", "-", "*", "/", "^", "(", ")", "==", "=", ",")
_INEQUALITY = re.compile(r"[<>]=?|!=|[≤≥≠]")


@dataclass(frozen=True)
class Token:
    """A piece of a contrast string: its kind, its text, where it starts, and the quantities it names.

    Attributes
    ----------
    quantity : str
        What is named, such as "mu".
    indices : tuple of tuple of int
        Of each of them, one unless it is a group.
    is_group : bool
    """

    kind: str
    text: str
    start: int
    quantity: str = ""
    indices: tuple[tuple[int, ...], ...] = ()
    is_group: bool = False


def tokenize(text: str, quantities: Quantities) -> list[Token]:
    """Split a contrast string into tokens, labels looked up."""
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        token, at = _next_token(text, at, quantities)
        tokens.append(token)
    return [*tokens, Token("end", "", len(text))]


def _next_token(text: str, at: int, quantities: Quantities) -> tuple[Token, int]:
    named = _longest_plain_name(text, at, quantities)
    if named is not None:
        return Token("quantity", named, at, named, ((),)), at + len(named)
    if match := _INEQUALITY.match(text, at):
        raise ContrastError(
            f"{match.group()!r} at position {at + 1} of {excerpt(text)}: hypotheses are equations; one-sided tests are asked "
            "for by alternative='larger' or 'smaller'."
        )
    if match := _NUMBER.match(text, at):
        return Token("number", match.group(), at), match.end()
    for operator in _OPERATORS:
        if text.startswith(operator, at):
            return Token(operator, operator, at), at + len(operator)
    kind = _longest_kind(text, at, quantities)
    if kind is not None:
        return _indexed(text, at, kind, quantities)
    if match := _NAME.match(text, at):
        name = match.group()
        if name in FUNCTIONS or name in GROUP_FUNCTIONS:
            return Token("function", name, at), match.end()
        raise ContrastError(_unknown_name(text, name, at, quantities))
    raise ContrastError(f"unexpected {text[at]!r} at position {at + 1} of {excerpt(text)}.")


def _longest_plain_name(text: str, at: int, quantities: Quantities) -> str | None:
    fitting = [
        name
        for name in quantities.plain_names
        if text.startswith(name, at) and _ends_a_name(text, at + len(name), name)
    ]
    return max(fitting, key=len, default=None)


def _longest_kind(text: str, at: int, quantities: Quantities) -> str | None:
    fitting = [kind for kind in quantities.kinds if text.startswith(kind, at) and _OPENING.match(text, at + len(kind))]
    return max(fitting, key=len, default=None)


def _ends_a_name(text: str, end: int, name: str) -> bool:
    """A covariate's name must not be the beginning of a longer word; names that end in a bracket end there."""
    return (
        end >= len(text)
        or not (text[end].isalnum() or text[end] in "_[")
        or not (name[-1].isalnum() or name[-1] == "_")
    )


def _unknown_name(text: str, name: str, at: int, quantities: Quantities) -> str:
    layout = quantities.layout
    for kind, labels in (("mu", layout.items), ("gamma", layout.judges)):
        fitting = [
            label for label in labels if text.startswith(label, at) and _ends_a_name(text, at + len(label), label)
        ]
        if fitting:
            label = max(fitting, key=len)
            return f"{label!r} at position {at + 1} of {excerpt(text)} is no number: its parameter is {kind}[{label}]."
    known = [*(f"{kind}[{', '.join(roles)}]" for kind, roles in quantities.kinds.items()), *quantities.plain_names]
    listed = ", ".join([*known, *FUNCTIONS, *GROUP_FUNCTIONS])
    return f"unknown name {name!r} at position {at + 1} of {excerpt(text)}; known are {listed}."


def _indexed(text: str, at: int, kind: str, quantities: Quantities) -> tuple[Token, int]:
    """Quantities with labels. Labels may contain brackets and commas: the first reading that names existing ones counts."""
    opening = text.index("[", at)
    start = _SPACE.match(text, opening + 1).end()  # type: ignore[union-attr]
    if text[start : start + 1] in ("'", '"'):
        labels, end = _quoted_labels(text, opening + 1)
        return _named(text, at, end, kind, labels, quantities), end
    closing = end = text.find("]", opening)
    if closing < 0:
        raise ContrastError(f"the bracket opened at position {opening + 1} of {excerpt(text)} is not closed.")
    for _ in range(1 + quantities.most_brackets):
        fitting = _fitting(text[opening + 1 : end], kind, quantities)
        if len(fitting) > 1:
            raise ContrastError(f"{text[at : end + 1]!r} can be read in {len(fitting)} ways: put the labels in quotes.")
        if fitting:
            return _named(text, at, end + 1, kind, fitting[0], quantities), end + 1
        end = text.find("]", end + 1)
        if end < 0:
            break
    if any(quote in text[opening:closing] for quote in ("'", '"')):
        # Some labels in quotes, the first one not.
        labels, end = _quoted_labels(text, opening + 1)
        if quantities.is_known(kind, labels):
            return _named(text, at, end, kind, labels, quantities), end
    raise _unknown_labels(kind, text[opening + 1 : closing], quantities)


def _named(text: str, at: int, end: int, kind: str, labels: tuple[str, ...], quantities: Quantities) -> Token:
    indices = tuple(quantities.select(kind, labels))
    is_group = len(indices) != 1 or ALL in labels
    return Token("quantity", text[at:end], at, kind, indices, is_group)


def _fitting(content: str, kind: str, quantities: Quantities) -> list[tuple[str, ...]]:
    """The ways to read what stands in brackets as labels that exist: of one quantity, or of a group."""
    forms = quantities.forms(kind)
    readings = [labels for form in forms for labels in _readings(content, len(form))]
    if len(forms[0]) == 1 and "," in content:
        readings.append(tuple(part.strip() for part in content.split(",")))
    return [labels for labels in readings if quantities.is_known(kind, labels)]


def _unknown_labels(kind: str, content: str, quantities: Quantities) -> ContrastError:
    """Why no reading of the labels exists."""
    forms, labels = quantities.forms(kind), tuple(part.strip() for part in content.split(","))
    if len(forms[0]) == 1 and not any(quantities.is_known(kind, (label,)) for label in labels):
        labels = (content.strip(),)
    elif len(forms[0]) > 1 and len(labels) not in map(len, forms):
        needed = " or ".join(f"[{', '.join(form)}]" for form in forms)
        hint = "; put a label with a comma or a bracket in quotes, and write * for all"
        return ContrastError(f"{kind} needs {needed}, got {content!r}{hint}.")
    try:
        quantities.select(kind, labels)
    except ContrastError as error:
        return error
    return ContrastError(f"cannot read the labels {content!r} of {kind}.")


def _readings(content: str, n_labels: int) -> list[tuple[str, ...]]:
    """All ways to cut a text at commas into so many labels."""
    pieces = content.split(",")
    if n_labels == 1:
        return [(content.strip(),)]
    if len(pieces) < n_labels or len(pieces) > 12:
        return []
    cuts: list[tuple[str, ...]] = []
    for first in range(1, len(pieces) - n_labels + 2):
        head = ",".join(pieces[:first]).strip()
        cuts += [(head, *rest) for rest in _readings(",".join(pieces[first:]), n_labels - 1)]
    return cuts


def _quoted_labels(text: str, at: int) -> tuple[tuple[str, ...], int]:
    """Labels in single or double quotes (a doubled quote stands for itself), or plain up to the next comma."""
    labels: list[str] = []
    while True:
        found = _QUOTED.match(text, at)
        if found is not None:
            quote, inner = found.groups()
            label, at = inner.replace(2 * quote, quote), found.end()
        else:
            at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
            if text[at : at + 1] in ("'", '"'):
                raise ContrastError(f"the quote opened at position {at + 1} of {excerpt(text)} is not closed.")
            end = min((place for sign in "]," if (place := text.find(sign, at)) >= 0), default=len(text))
            label, at = text[at:end].strip(), end
        labels.append(label)
        if text[at : at + 1] == "]":
            return tuple(labels), at + 1
        if text[at : at + 1] != ",":
            raise ContrastError(f"expected ',' or ']' after {label!r} at position {at + 1} of {excerpt(text)}.")
        at += 1


def excerpt(text: str) -> str:
    """The text in quotes, cut when long."""
    return repr(text if len(text) <= 80 else text[:77] + "...")
