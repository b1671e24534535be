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
from dataclasses import dataclass, replace

import numpy as np

from .. import limits
from ..errors import ContrastError
from ..model.quantities import PROBABILITIES, Quantities
from .functions import ANYTHING, FUNCTIONS, PROBABILITY
from .tokens import Token, excerpt, tokenize

# A gradient this small against the terms it is the sum of means that the constraints fix the contrast.
FIXED = 1e-10


@dataclass(frozen=True)
class Dual:
    """A value with its gradient in the free coordinates, and what is known of it wherever the parameters are.

    Attributes
    ----------
    value : float
    gradient : ndarray, shape (n_free,)
    size : float
        What the terms of the gradient would add up to if none cancelled another.
    bounds : pair of float
        Between which it always lies.
    ratio : pair of Dual, optional
        Numerator and denominator, of a ratio and its multiples.
    divisors : tuple of Dual
        What is divided by, where that could be zero.
    """

    value: float
    gradient: np.ndarray
    size: float = 0.0
    bounds: tuple[float, float] = ANYTHING
    ratio: tuple[Dual, Dual] | None = None
    divisors: tuple[Dual, ...] = ()

    @property
    def is_constant(self) -> bool:
        """Whether it mentions no parameter."""
        return self.gradient.size == 0

    @property
    def is_fixed(self) -> bool:
        """Whether the constraints of the model fix it."""
        return bool(np.abs(self.gradient).max(initial=0.0) <= FIXED * self.size)

    @property
    def is_probability(self) -> bool:
        """Whether it lies between zero and one, and can be anything there."""
        return not self.is_constant and bool(np.allclose(self.bounds, PROBABILITY, rtol=0.0, atol=1e-9))

    @property
    def can_be_zero(self) -> bool:
        """Whether it can change its sign."""
        return self.bounds[0] < 0.0 < self.bounds[1]


def constant(value: float) -> Dual:
    """A number; the empty gradient adds to any other."""
    return Dual(value, np.zeros(0), bounds=(value, value))


def _combine(value: float, *parts: tuple[float, Dual], bounds: tuple[float, float] = ANYTHING) -> Dual:
    """Value with the weighted sum of the gradients of its parts."""
    moving = [(weight, part) for weight, part in parts if not part.is_constant]
    gradient = np.sum([weight * part.gradient for weight, part in moving], axis=0) if moving else np.zeros(0)
    size = sum(abs(weight) * part.size for weight, part in moving)
    divisors = tuple(divisor for _, part in parts for divisor in part.divisors)
    return Dual(value, gradient, size, bounds, divisors=divisors)


def _linear(value: float, *parts: tuple[float, Dual], bounds: tuple[float, float] = ANYTHING) -> Dual:
    """The same of what is linear in its parts: a ratio plus or times a number is a ratio with the same denominator."""
    result = _combine(value, *parts, bounds=bounds)
    moving = [(weight, part) for weight, part in parts if not part.is_constant]
    if len(moving) != 1 or moving[0][1].ratio is None:
        return result
    (weight, part), (above, below) = moving[0], moving[0][1].ratio
    rest = value - weight * part.value
    return replace(
        result, ratio=(_combine(weight * above.value + rest * below.value, (weight, above), (rest, below)), below)
    )


def _product_bounds(left: tuple[float, float], right: tuple[float, float]) -> tuple[float, float]:
    ends = [0.0 if 0.0 in (a, b) else a * b for a in left for b in right]
    return min(ends), max(ends)


def _inverse_bounds(bounds: tuple[float, float]) -> tuple[float, float]:
    """Of what never changes its sign."""
    low, high = bounds
    return (1.0 / high if high else -math.inf), (1.0 / low if low else math.inf)


@dataclass(frozen=True)
class ParsedContrast:
    """A contrast string after evaluation: estimate with gradient, and the value it is tested against if it names one."""

    text: str
    estimate: Dual
    null: float | None


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
        null = None
        if self._accept("="):
            right = self.sum()
            if self.tokens[self.at].kind == "=":
                raise ContrastError(
                    f"only one '=' is allowed, {excerpt(self.text)} has more: pass a list of contrasts."
                )
            if right.is_constant:
                null = right.value
            else:
                left, null = _difference(left, right), 0.0
        token = self.tokens[self.at]
        if token.kind != "end":
            raise ContrastError(f"unexpected {token.text!r} at position {token.start + 1} of {excerpt(self.text)}.")
        if left.is_constant:
            raise ContrastError(f"{excerpt(self.text)} mentions no parameter on its left side.")
        if not (math.isfinite(left.value) and math.isfinite(null or 0.0) and np.isfinite(left.gradient).all()):
            raise ContrastError(f"{excerpt(self.text)} is not finite at the estimate.")
        return ParsedContrast(self.text.strip(), left, null)

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
            result = _sum(result, other) if operator.kind == "+" else _difference(result, other)
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
        return result if sign > 0 else _difference(constant(0.0), result)

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
            return _quantity(self.quantities, kind, index)
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
        bounds = _product_bounds(left.bounds, right.bounds)
        return _linear(left.value * right.value, (right.value, left), (left.value, right), bounds=bounds)

    @staticmethod
    def _over(left: Dual, right: Dual) -> Dual:
        ratio, bounds = left.value / right.value, ANYTHING
        if not right.can_be_zero:
            bounds = _product_bounds(left.bounds, _inverse_bounds(right.bounds))
        result = _linear(ratio, (1.0 / right.value, left), (-ratio / right.value, right), bounds=bounds)
        if right.is_constant or not right.can_be_zero:
            return result
        return replace(result, ratio=(left, right), divisors=(*result.divisors, right))

    @staticmethod
    def _raise(base: Dual, exponent: Dual) -> Dual:
        value = math.pow(base.value, exponent.value)
        by_base = exponent.value * math.pow(base.value, exponent.value - 1.0)
        if not exponent.is_constant:
            return _combine(value, (by_base, base), (value * math.log(base.value), exponent))
        if exponent.value < 0.0 and base.can_be_zero:
            base = replace(base, divisors=(*base.divisors, base))
        is_monotone = exponent.value > 0.0 and base.bounds[0] >= 0.0
        low, high = (end**exponent.value for end in base.bounds) if is_monotone else ANYTHING
        return _combine(value, (by_base, base), bounds=(low, high))

    @staticmethod
    def _apply(name: str, argument: Dual) -> Dual:
        function, slope, bounds = FUNCTIONS[name]
        return _combine(function(argument.value), (slope(argument.value), argument), bounds=bounds)


def _quantity(quantities: Quantities, kind: str, index: tuple[int, ...]) -> Dual:
    """A named quantity."""
    value, gradient = quantities.value(kind, index), quantities.gradient(kind, index)
    size = float(np.abs(gradient).max(initial=0.0))
    if kind in PROBABILITIES:
        return Dual(value, gradient, size, PROBABILITY)
    # What the model fixes, as the sensitivity of a single judge, leaves rounding error where others have about one.
    return Dual(value, gradient, size) if size > FIXED else Dual(value, np.zeros_like(gradient))


def _sum(left: Dual, right: Dual) -> Dual:
    bounds = left.bounds[0] + right.bounds[0], left.bounds[1] + right.bounds[1]
    return _linear(left.value + right.value, (1.0, left), (1.0, right), bounds=bounds)


def _difference(left: Dual, right: Dual) -> Dual:
    bounds = left.bounds[0] - right.bounds[1], left.bounds[1] - right.bounds[0]
    return _linear(left.value - right.value, (1.0, left), (-1.0, right), bounds=bounds)
