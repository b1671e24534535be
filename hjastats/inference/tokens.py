"""The pieces of a contrast string: numbers, operators, functions, and quantities with their labels."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..errors import ContrastError
from ..model.quantities import Quantities
from .functions import FUNCTIONS

_NUMBER = re.compile(r"\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?")
_NAME = re.compile(r"[^\W\d]\w*")
_QUOTED = re.compile(r"""\s*(['"])((?:(?!\1).|\1\1)*)\1(?!\1)\s*""", re.DOTALL)
_OPERATORS = ("**", "+", "-", "*", "/", "^", "(", ")", "=")


@dataclass(frozen=True)
class Token:
    """A piece of a contrast string: its kind, its text, where it starts, and the quantity it names."""

    kind: str
    text: str
    start: int
    quantity: tuple[str, tuple[int, ...]] | None = None


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
        return Token("quantity", named, at, (named, ())), at + len(named)
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
        if name in FUNCTIONS:
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
    fitting = [
        kind
        for kind in quantities.kinds
        if text.startswith(kind, at) and text[at + len(kind) :].lstrip().startswith("[")
    ]
    return max(fitting, key=len, default=None)


def _ends_a_name(text: str, end: int, name: str) -> bool:
    """A covariate's name must not be the beginning of a longer word; names that end in a bracket end there."""
    return (
        end >= len(text)
        or not (text[end].isalnum() or text[end] in "_[")
        or not (name[-1].isalnum() or name[-1] == "_")
    )


def _unknown_name(text: str, name: str, at: int, quantities: Quantities) -> str:
    known = [*(f"{kind}[{', '.join(roles)}]" for kind, roles in quantities.kinds.items()), *quantities.plain_names]
    listed = ", ".join([*known, *FUNCTIONS])
    return f"unknown name {name!r} at position {at + 1} of {excerpt(text)}; known are {listed}."


def _indexed(text: str, at: int, kind: str, quantities: Quantities) -> tuple[Token, int]:
    """A quantity with labels. Labels may contain brackets and commas: the first reading that names existing ones counts."""
    opening = text.index("[", at)
    if text[opening + 1 :].lstrip()[:1] in ("'", '"'):
        labels, end = _quoted_labels(text, opening + 1)
        return Token("quantity", text[at:end], at, (kind, quantities.resolve(kind, labels))), end
    closing = text.find("]", opening)
    if closing < 0:
        raise ContrastError(f"the bracket opened at position {opening + 1} of {excerpt(text)} is not closed.")
    end = closing
    while end >= 0:
        readings = _readings(text[opening + 1 : end], len(quantities.kinds[kind]))
        fitting = [labels for labels in readings if quantities.is_known(kind, labels)]
        if len(fitting) > 1:
            raise ContrastError(f"{text[at : end + 1]!r} can be read in {len(fitting)} ways: put the labels in quotes.")
        if fitting:
            return Token("quantity", text[at : end + 1], at, (kind, quantities.resolve(kind, fitting[0]))), end + 1
        end = text.find("]", end + 1)
    if "'" in text[opening:] or '"' in text[opening:]:
        # Some labels in quotes, the first one not.
        labels, end = _quoted_labels(text, opening + 1)
        if quantities.is_known(kind, labels):
            return Token("quantity", text[at:end], at, (kind, quantities.resolve(kind, labels))), end
    raise _unknown_labels(kind, text[opening + 1 : closing], quantities)


def _unknown_labels(kind: str, content: str, quantities: Quantities) -> ContrastError:
    """Why no reading of the labels exists."""
    roles, labels = quantities.kinds[kind], tuple(part.strip() for part in content.split(","))
    if len(labels) != len(roles):
        hint = "; put a label with a comma or a bracket in quotes"
        return ContrastError(f"{kind} needs [{', '.join(roles)}], got {content!r}{hint}.")
    try:
        quantities.resolve(kind, labels)
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
            at += len(text[at:]) - len(text[at:].lstrip())
            if text[at : at + 1] in ("'", '"'):
                raise ContrastError(f"the quote opened at position {at + 1} of {excerpt(text)} is not closed.")
            label = text[at:].partition("]")[0].partition(",")[0]
            label, at = label.strip(), at + len(label)
        labels.append(label)
        if text[at : at + 1] == "]":
            return tuple(labels), at + 1
        if text[at : at + 1] != ",":
            raise ContrastError(f"expected ',' or ']' after {label!r} at position {at + 1} of {excerpt(text)}.")
        at += 1


def excerpt(text: str) -> str:
    """The text in quotes, cut when long."""
    return repr(text if len(text) <= 80 else text[:77] + "...")
