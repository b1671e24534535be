"""Which shape a table has: recognised by its columns, or named."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from ..errors import ComparisonError, Hint
from ..words import quoted
from .everyday import EVERYDAY
from .published import PUBLISHED
from .roles import Names, refuse_repeated
from .shape import Found, Given, Shape
from .within import WITHIN

# One row per comparison, which is read as it is.
PAIRS = "pairs"
# Tried in this order.
SHAPES: dict[str, Shape] = {**PUBLISHED, **EVERYDAY, **WITHIN}


def recognise(names: list[Hashable], given: Given, named: str | None) -> tuple[Shape, Found] | None:
    """The shape of a table with its columns; None for one row per comparison.

    Raises
    ------
    ComparisonError
        For a table that is not of the shape the user named, and where a name occurs twice.

    Examples
    --------
    >>> _, found = recognise(["model_1", "model_2", "judge", "g1_winner", "g2_winner"], Given(), None)
    >>> found["g1"]
    'g1_winner'
    >>> recognise(["judge", "model_a", "model_b", "winner"], Given(), None) is None
    True
    """
    refuse_repeated(names)
    columns = Names(names)
    if named == PAIRS:
        return None
    if named is not None:
        found = SHAPES[named].find(columns, replace(given, is_named=True))
        if found is None:
            raise ComparisonError(
                *("the table is not of ", Hint("format", named), f": its columns are {quoted(names, 12)}. "),
                "The page 'From your file to a ranking' lists the columns of every format.",
            )
        return SHAPES[named], found
    tried = ((shape, shape.find(columns, given)) for shape in SHAPES.values())
    return next(((shape, found) for shape, found in tried if found is not None), None)
