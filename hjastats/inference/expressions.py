"""The language of contrast strings: a whitelist grammar, evaluated with exact derivatives and never by Python.

    contrasts  = equation { "," equation }
    equation   = sum { ("=" | "==") sum }
    sum        = product { ("+" | "-") product }
    product    = unary { ("*" | "/") unary }
    unary      = [ "-" | "+" ] power
    power      = atom [ ("**" | "^") unary ]
    atom       = number | function "(" sum { "," sum } ")" | "(" sum ")" | name | kind "[" labels "]"

Labels may contain anything; those with commas, brackets or quotes that could be misread go in quotes. Several labels, or ``*``,
name a group: arithmetic works member by member, and mean, sum, min, max and sd make one value of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from .. import limits
from ..errors import ContrastError, SizeError
from ..model.quantities import LENGTHS, PROBABILITIES, Quantities
from .functions import ANYTHING, FUNCTIONS, GROUP_FUNCTIONS, PROBABILITY
from .tokens import Token, excerpt, tokenize

# A gradient this small against the terms it is the sum of means that the constraints fix the contrast.
FIXED = 1e-10
# Members of a group closer than this, for their size, are tied.
_TIED = 1e-9
# What must not be zero for derivatives to describe a contrast, and what to say where that is not clear.
DIVISOR = "divided by what cannot be told from zero, use result.bootstrap()"
NEAR_TIE = "the largest or smallest cannot be told from the next, use result.bootstrap()"


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
    margins : tuple of pairs (str, Dual)
        What must not be zero, though it could be: divisors, and what the largest is ahead by. The texts say which.
    is_length : bool
        Whether it is zero only where several things are, as a standard deviation, so that no z value tests that.
    """

    value: float
    gradient: np.ndarray
    size: float = 0.0
    bounds: tuple[float, float] = ANYTHING
    ratio: tuple[Dual, Dual] | None = None
    margins: tuple[tuple[str, Dual], ...] = ()
    is_length: bool = False

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
    margins = tuple(margin for _, part in parts for margin in part.margins)
    return Dual(value, gradient, size, bounds, margins=margins)


def _linear(value: float, *parts: tuple[float, Dual], bounds: tuple[float, float] = ANYTHING) -> Dual:
    """The same of what is linear in its parts: a ratio plus or times a number is a ratio with the same denominator."""
    result = _combine(value, *parts, bounds=bounds)
    moving = [(weight, part) for weight, part in parts if not part.is_constant]
    if len(moving) != 1:
        return result
    weight, part = moving[0]
    rest = value - weight * part.value
    if part.is_length and abs(rest) <= FIXED * abs(value):
        result = replace(result, is_length=True)
    if part.ratio is None:
        return result
    above, below = part.ratio
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
    """A contrast after evaluation: its name, estimate with gradient, and the value it is tested against if it names one."""

    text: str
    estimate: Dual
    null: float | None


def evaluate(text: str, quantities: Quantities) -> list[ParsedContrast]:
    """Parse and evaluate the contrasts of one string, one for each equation and each member of a group.

    ``left = number`` sets the null value; ``left = right`` with parameters on both sides is the contrast ``left - right``. Of a
    chain every two neighbours are equated, as patsy does.

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
    return parser.contrasts()


@dataclass(frozen=True)
class _Side:
    """One side of an equation: its members, one unless it is a group, and their names."""

    members: list[Dual]
    names: list[str]


class _Parser:
    """Recursive descent over the tokens, computing as it goes. A value is a list: of one, or of the members of a group."""

    def __init__(self, text: str, tokens: list[Token], quantities: Quantities) -> None:
        self.text, self.tokens, self.quantities = text, tokens, quantities
        self.at, self.depth, self.n_numbers = 0, 0, 0
        # Groups of the side that is read which no function has made one value of.
        self.groups: list[Token] = []

    def contrasts(self) -> list[ParsedContrast]:
        found = self.equation()
        while self._accept(","):
            found += self.equation()
        token = self.tokens[self.at]
        if token.kind != "end":
            raise ContrastError(f"unexpected {token.text!r} at position {token.start + 1} of {excerpt(self.text)}.")
        return found

    def equation(self) -> list[ParsedContrast]:
        start = self.tokens[self.at].start
        sides = [self.side()]
        while self._accept("=", "=="):
            sides.append(self.side())
        if len(sides) == 1:
            return [self._checked(*one, None) for one in zip(sides[0].names, sides[0].members, strict=True)]
        found = [one for left, right in pairwise(sides) for one in self._equated(left, right)]
        if len(found) == 1:
            # As it was typed.
            found = [replace(found[0], text=self.text[start : self.tokens[self.at].start].strip())]
        return found

    def side(self) -> _Side:
        self.groups, start = [], self.tokens[self.at].start
        members = self.sum()
        end = self.tokens[self.at].start
        if not self.groups:
            return _Side(members, [self.text[start:end].strip()])
        labels = {
            group.start: [self.quantities.label(group.quantity, i) for i in group.indices] for group in self.groups
        }
        names = []
        for member in range(len(members)):
            pieces, done = [], start
            for group in self.groups:
                pieces += [self.text[done : group.start], labels[group.start][member if len(group.indices) > 1 else 0]]
                done = group.start + len(group.text)
            names.append("".join([*pieces, self.text[done:end]]).strip())
        return _Side(members, names)

    def _equated(self, left: _Side, right: _Side) -> list[ParsedContrast]:
        names = self._each(lambda a, b: f"{a} = {b}", left.names, right.names)
        equated = self._each(
            lambda a, b: (a, b.value) if b.is_constant else (_difference(a, b), 0.0), left.members, right.members
        )
        return [self._checked(name, *one) for name, one in zip(names, equated, strict=True)]

    def _checked(self, name: str, estimate: Dual, null: float | None) -> ParsedContrast:
        if estimate.is_constant:
            raise ContrastError(f"{excerpt(name)} mentions no parameter on its left side.")
        if not (math.isfinite(estimate.value) and math.isfinite(null or 0.0) and np.isfinite(estimate.gradient).all()):
            raise ContrastError(f"{excerpt(name)} is not finite at the estimate.")
        return ParsedContrast(name, estimate, null)

    def _each(self, operation: Callable[..., Any], *values: Sequence[Any]) -> list[Any]:
        """An operation member by member; what has one member goes with every other.

        Raises
        ------
        ContrastError
        """
        lengths = {len(value) for value in values} - {1}
        if len(lengths) > 1:
            sizes = " and ".join(str(length) for length in sorted(lengths))
            raise ContrastError(f"{excerpt(self.text)} has groups of {sizes}, which do not go together one by one.")
        n = lengths.pop() if lengths else 1
        return [operation(*(value[i if len(value) > 1 else 0] for value in values)) for i in range(n)]

    def _accept(self, *kinds: str) -> Token | None:
        token = self.tokens[self.at]
        if token.kind not in kinds:
            return None
        self.at += 1
        return token

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > limits.CONTRAST_DEPTH:
            raise ContrastError(f"{excerpt(self.text)} is nested more than {limits.CONTRAST_DEPTH} levels deep.")

    def sum(self) -> list[Dual]:
        self._deeper()
        result = self.product()
        while operator := self._accept("+", "-"):
            result = self._each(_sum if operator.kind == "+" else _difference, result, self.product())
        self.depth -= 1
        return result

    def product(self) -> list[Dual]:
        result = self.unary()
        while operator := self._accept("*", "/"):
            other = self.unary()
            result = self._each(self._safely(self._times if operator.kind == "*" else self._over), result, other)
        return result

    def unary(self) -> list[Dual]:
        sign = 1.0
        while operator := self._accept("+", "-"):
            sign = -sign if operator.kind == "-" else sign
        result = self.power()
        return result if sign > 0 else [_difference(constant(0.0), member) for member in result]

    def power(self) -> list[Dual]:
        base = self.atom()
        if self._accept("**", "^"):
            self._deeper()
            exponent = self.unary()
            self.depth -= 1
            return self._each(self._safely(self._raise), base, exponent)
        return base

    def atom(self) -> list[Dual]:
        token = self.tokens[self.at]
        self.at += 1
        if token.kind == "number":
            return [constant(float(token.text))]
        if token.kind == "quantity":
            return self._quantities(token)
        if token.kind == "(":
            return self._closed(self.sum())
        if token.kind == "function":
            if not self._accept("("):
                raise ContrastError(f"{token.text} needs an argument in parentheses in {excerpt(self.text)}.")
            return self._group_function(token) if token.text in GROUP_FUNCTIONS else self._function(token)
        what = "the end" if token.kind == "end" else repr(token.text)
        raise ContrastError(f"unexpected {what} at position {token.start + 1} of {excerpt(self.text)}.")

    def _quantities(self, token: Token) -> list[Dual]:
        self.n_numbers += len(token.indices) * self.quantities.n_free
        if self.n_numbers > limits.CONTRAST_NUMBERS:
            raise SizeError(
                f"the groups of {excerpt(self.text)} have too many members for a model of {self.quantities.n_free:,} parameters: "
                "name those that matter."
            )
        if token.is_group:
            self.groups.append(token)
        return [quantity(self.quantities, token.quantity, index) for index in token.indices]

    def _function(self, token: Token) -> list[Dual]:
        argument = self.sum()
        if self.tokens[self.at].kind == ",":
            raise ContrastError(f"{token.text} takes one argument in {excerpt(self.text)}.")
        apply = self._safely(self._apply)
        return [apply(token.text, member) for member in self._closed(argument)]

    def _group_function(self, token: Token) -> list[Dual]:
        n_outside = len(self.groups)
        members = self.sum()
        while self._accept(","):
            members = members + self.sum()
        del self.groups[n_outside:]
        where = self.text[token.start : self.tokens[self.at].start + 1]
        return [_of_group(token.text, self._closed(members), where)]

    def _closed(self, inner: list[Dual]) -> list[Dual]:
        if not self._accept(")"):
            token = self.tokens[self.at]
            raise ContrastError(f"a parenthesis is not closed at position {token.start + 1} of {excerpt(self.text)}.")
        return inner

    def _safely(self, operation: Callable[..., Dual]) -> Callable[..., Dual]:
        def checked(*arguments: object) -> Dual:
            try:
                return operation(*arguments)
            except (ValueError, ZeroDivisionError, OverflowError):
                raise ContrastError(
                    f"{excerpt(self.text)} is not defined at the estimate (log of a negative number, division "
                    "by zero, overflow)."
                ) from None

        return checked

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
        return replace(result, ratio=(left, right), margins=(*result.margins, (DIVISOR, right)))

    @staticmethod
    def _raise(base: Dual, exponent: Dual) -> Dual:
        value = math.pow(base.value, exponent.value)
        by_base = exponent.value * math.pow(base.value, exponent.value - 1.0)
        if not exponent.is_constant:
            return _combine(value, (by_base, base), (value * math.log(base.value), exponent))
        if exponent.value < 0.0 and base.can_be_zero:
            base = replace(base, margins=(*base.margins, (DIVISOR, base)))
        is_monotone = exponent.value > 0.0 and base.bounds[0] >= 0.0
        low, high = (end**exponent.value for end in base.bounds) if is_monotone else ANYTHING
        return _combine(value, (by_base, base), bounds=(low, high))

    @staticmethod
    def _apply(name: str, argument: Dual) -> Dual:
        function, slope, bounds = FUNCTIONS[name]
        return _combine(function(argument.value), (slope(argument.value), argument), bounds=bounds)


def _of_group(name: str, members: list[Dual], where: str) -> Dual:
    """Mean, sum, minimum, maximum or standard deviation of the members.

    Raises
    ------
    ContrastError
        Where there is no derivative.
    """
    values = np.array([member.value for member in members])
    unit = max(1.0, float(np.abs(values).max()))
    if name == "sd" and len(values) < 2:
        raise ContrastError(f"{excerpt(where)} needs two members or more.")
    function, slopes = GROUP_FUNCTIONS[name]
    value = function(values)
    if name == "sd" and value <= _TIED * unit:
        raise ContrastError(f"{excerpt(where)} is zero at the estimate, where it has no derivative.")
    parts = list(zip(slopes(values).tolist(), members, strict=True))
    if name == "sd":
        is_moving = any(not member.is_constant for member in members)
        return replace(_combine(value, *parts), is_length=is_moving)
    if name in ("min", "max"):
        return _extreme(values, parts, _TIED * unit, where)
    bounds = tuple(function(np.array([member.bounds[end] for member in members])) for end in (0, 1))
    return _linear(value, *parts, bounds=(bounds[0], bounds[1]))


def _extreme(values: np.ndarray, parts: list[tuple[float, Dual]], tie: float, where: str) -> Dual:
    """The member with slope one, and what it is ahead of the next by."""
    best = next(member for slope, member in parts if slope)
    others = [member for slope, member in parts if not slope]
    if not others:
        return best
    nearest = min(others, key=lambda member: abs(member.value - best.value))
    if abs(nearest.value - best.value) <= tie:
        raise ContrastError(f"{excerpt(where)} has a tie at the estimate, where it has no derivative.")
    if best.is_constant and any(not member.is_constant for member in others):
        raise ContrastError(f"{excerpt(where)} is a number around the estimate: there is nothing to test.")
    lead = _difference(best, nearest)
    return best if lead.is_constant else replace(best, margins=(*best.margins, (NEAR_TIE, lead)))


def quantity(quantities: Quantities, kind: str, index: tuple[int, ...]) -> Dual:
    """A named quantity."""
    value, gradient = quantities.value(kind, index), quantities.gradient(kind, index)
    size = float(np.abs(gradient).max(initial=0.0))
    is_declared = kind not in quantities.layout.terms.own_names
    if is_declared and kind in PROBABILITIES:
        return Dual(value, gradient, size, PROBABILITY)
    if is_declared and kind in LENGTHS:
        margins = ((DIVISOR, quantity(quantities, "gamma", index)),) if kind == "rho" else ()
        return Dual(value, gradient, size, margins=margins, is_length=size > 0)
    # What the model fixes, as the sensitivity of a single judge, leaves rounding error where others have about one.
    return Dual(value, gradient, size) if size > FIXED else Dual(value, np.zeros_like(gradient))


def weighted(parts: Iterable[tuple[float, Dual]]) -> Dual:
    """A linear combination; weights of zero count for nothing."""
    result = constant(0.0)
    for weight, part in parts:
        if weight:
            result = _sum(result, _Parser._times(constant(weight), part))
    return result


def _sum(left: Dual, right: Dual) -> Dual:
    bounds = left.bounds[0] + right.bounds[0], left.bounds[1] + right.bounds[1]
    return _linear(left.value + right.value, (1.0, left), (1.0, right), bounds=bounds)


def _difference(left: Dual, right: Dual) -> Dual:
    bounds = left.bounds[0] - right.bounds[1], left.bounds[1] - right.bounds[0]
    return _linear(left.value - right.value, (1.0, left), (-1.0, right), bounds=bounds)
