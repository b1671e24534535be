"""The language of contrast strings: a whitelist grammar, evaluated with exact derivatives and never by Python.

    contrast   = sum [ "=" sum ]
    sum        = product { ("+" | "-") product }
    product    = unary { ("*" | "/") unary }
    unary      = [ "-" | "+" ] power
    power      = atom [ ("**" | "^") unary ]
    atom       = number | function "(" sum ")" | "(" sum ")" | name | kind "[" labels "]"

Labels may contain anything; those with commas, brackets or quotes that could be misread go in quotes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import limits
from ..errors import ContrastError
from ..model.quantities import Quantities
from .functions import FUNCTIONS
from .tokens import Token, excerpt, tokenize


@dataclass(frozen=True)
class Dual:
    """A value with its gradient in the free coordinates."""

    value: float
    gradient: np.ndarray

    @property
    def is_constant(self) -> bool:
        """Whether it mentions no parameter."""
        return self.gradient.size == 0


def constant(value: float) -> Dual:
    """A number; the empty gradient adds to any other."""
    return Dual(value, np.zeros(0))


def _combine(value: float, *parts: tuple[float, Dual]) -> Dual:
    """Value with the weighted sum of the gradients of its parts."""
    gradients = [weight * part.gradient for weight, part in parts if not part.is_constant]
    return Dual(value, np.sum(gradients, axis=0) if gradients else np.zeros(0))


@dataclass(frozen=True)
class ParsedContrast:
    """A contrast string after evaluation: estimate with gradient, and the value it is tested against."""

    text: str
    estimate: Dual
    null: float


def evaluate(text: str, quantities: Quantities) -> ParsedContrast:
    """Parse and evaluate one contrast string.

    ``left = number`` sets the null value; ``left = right`` with parameters on both sides is the contrast ``left - right``.

    Raises
    ------
    ContrastError
        With the place and, for labels, the nearest one known.
    """
    if not isinstance(text, str) or not text.strip():
        raise ContrastError("a contrast string must not be empty.")
    if len(text) > limits.CONTRAST_LENGTH:
        raise ContrastError(f"a contrast string may have {limits.CONTRAST_LENGTH:,} characters, got {len(text):,}.")
    parser = _Parser(text, tokenize(text, quantities), quantities)
    return parser.contrast()


class _Parser:
    """Recursive descent over the tokens, computing as it goes."""

    def __init__(self, text: str, tokens: list[Token], quantities: Quantities) -> None:
        self.text, self.tokens, self.quantities = text, tokens, quantities
        self.at, self.depth = 0, 0

    def contrast(self) -> ParsedContrast:
        left = self.sum()
        # A probability by itself is compared with a coin flip.
        null = 0.5 if self.at == 1 and self._names("p") else 0.0
        if self._accept("="):
            null = 0.0
            right = self.sum()
            if self.tokens[self.at].kind == "=":
                raise ContrastError(
                    f"only one '=' is allowed, {excerpt(self.text)} has more: pass a list of contrasts."
                )
            if right.is_constant:
                null = right.value
            else:
                left = _combine(left.value - right.value, (1.0, left), (-1.0, right))
        token = self.tokens[self.at]
        if token.kind != "end":
            raise ContrastError(f"unexpected {token.text!r} at position {token.start + 1} of {excerpt(self.text)}.")
        if left.is_constant:
            raise ContrastError(f"{excerpt(self.text)} mentions no parameter on its left side.")
        if not (math.isfinite(left.value) and math.isfinite(null) and np.isfinite(left.gradient).all()):
            raise ContrastError(f"{excerpt(self.text)} is not finite at the estimate.")
        return ParsedContrast(self.text.strip(), left, null)

    def _names(self, kind: str) -> bool:
        """Whether the first token is a quantity of a kind."""
        quantity = self.tokens[0].quantity
        return quantity is not None and quantity[0] == kind

    def _accept(self, *kinds: str) -> Token | None:
        token = self.tokens[self.at]
        if token.kind not in kinds:
            return None
        self.at += 1
        return token

    def sum(self) -> Dual:
        self.depth += 1
        if self.depth > limits.CONTRAST_DEPTH:
            raise ContrastError(f"{excerpt(self.text)} is nested more than {limits.CONTRAST_DEPTH} levels deep.")
        result = self.product()
        while operator := self._accept("+", "-"):
            other = self.product()
            sign = 1.0 if operator.kind == "+" else -1.0
            result = _combine(result.value + sign * other.value, (1.0, result), (sign, other))
        self.depth -= 1
        return result

    def product(self) -> Dual:
        result = self.unary()
        while operator := self._accept("*", "/"):
            other = self.unary()
            result = self._safely(self._times if operator.kind == "*" else self._over, result, other)
        return result

    def unary(self) -> Dual:
        sign = 1.0
        while operator := self._accept("+", "-"):
            sign = -sign if operator.kind == "-" else sign
        result = self.power()
        return result if sign > 0 else _combine(-result.value, (-1.0, result))

    def power(self) -> Dual:
        base = self.atom()
        if self._accept("**", "^"):
            self.depth += 1
            if self.depth > limits.CONTRAST_DEPTH:
                raise ContrastError(f"{excerpt(self.text)} is nested more than {limits.CONTRAST_DEPTH} levels deep.")
            exponent = self.unary()
            self.depth -= 1
            return self._safely(self._raise, base, exponent)
        return base

    def atom(self) -> Dual:
        token = self.tokens[self.at]
        self.at += 1
        if token.kind == "number":
            return constant(float(token.text))
        if token.kind == "quantity" and token.quantity is not None:
            kind, index = token.quantity
            return Dual(self.quantities.value(kind, index), self.quantities.gradient(kind, index))
        if token.kind == "(":
            return self._closed(self.sum())
        if token.kind == "function":
            if not self._accept("("):
                raise ContrastError(f"{token.text} needs an argument in parentheses in {excerpt(self.text)}.")
            return self._safely(self._apply, token.text, self._closed(self.sum()))
        what = "the end" if token.kind == "end" else repr(token.text)
        raise ContrastError(f"unexpected {what} at position {token.start + 1} of {excerpt(self.text)}.")

    def _closed(self, inner: Dual) -> Dual:
        if not self._accept(")"):
            token = self.tokens[self.at]
            raise ContrastError(f"a parenthesis is not closed at position {token.start + 1} of {excerpt(self.text)}.")
        return inner

    def _safely(self, operation: Callable[..., Dual], *arguments: object) -> Dual:
        try:
            return operation(*arguments)
        except (ValueError, ZeroDivisionError, OverflowError):
            raise ContrastError(
                f"{excerpt(self.text)} is not defined at the estimate (log of a negative number, division "
                "by zero, overflow)."
            ) from None

    @staticmethod
    def _times(left: Dual, right: Dual) -> Dual:
        return _combine(left.value * right.value, (right.value, left), (left.value, right))

    @staticmethod
    def _over(left: Dual, right: Dual) -> Dual:
        ratio = left.value / right.value
        return _combine(ratio, (1.0 / right.value, left), (-ratio / right.value, right))

    @staticmethod
    def _raise(base: Dual, exponent: Dual) -> Dual:
        value = math.pow(base.value, exponent.value)
        by_base = exponent.value * math.pow(base.value, exponent.value - 1.0)
        if exponent.is_constant:
            return _combine(value, (by_base, base))
        return _combine(value, (by_base, base), (value * math.log(base.value), exponent))

    @staticmethod
    def _apply(name: str, argument: Dual) -> Dual:
        function, slope = FUNCTIONS[name]
        return _combine(function(argument.value), (slope(argument.value), argument))
