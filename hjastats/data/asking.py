"""How rows came to be asked, as their table declares it: in rounds, or with known chances."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd

from ..errors import ComparisonError, Hint
from ..words import quoted
from .comparisons import Comparisons


def declared(columns: pd.DataFrame, asked_in: Hashable | None, asked_with: Hashable | None) -> dict[str, Any]:
    """The columns of rounds and of chances, checked.

    Raises
    ------
    ComparisonError
        For columns that are not there or not kept, rows without a round, and chances that are none.
    """
    for role, name in (("asked_in", asked_in), ("asked_with", asked_with)):
        if name is not None and not (isinstance(name, Hashable) and name in columns):
            there = f"no such column is kept; there are {quoted(columns.columns, 12) or 'none'}."
            raise ComparisonError(Hint(role, str(name)), f": {there}")
    if asked_in is not None and columns[asked_in].isna().any():
        n = int(columns[asked_in].isna().sum())
        raise ComparisonError(
            Hint("asked_in", str(asked_in)), f": {n:,} rows have no round; number the first one, too."
        )
    if asked_with is not None:
        chance = pd.to_numeric(columns[asked_with], errors="coerce").to_numpy(dtype=float)
        wrong = ~((chance > 0) & (chance <= 1))
        if wrong.any():
            shown = quoted(columns[asked_with][wrong].unique())
            raise ComparisonError(
                Hint("asked_with", str(asked_with)), f": chances lie above 0 and at most at 1, got {shown}."
            )
    return {"asked_in": asked_in, "asked_with": asked_with}


def n_rounds(data: Comparisons | None) -> int:
    """In how many rounds the rows were asked; one unless they say otherwise.

    Examples
    --------
    >>> import hjastats as hja
    >>> table = {"judge": "j", "left": list("aab"), "right": list("bcc"), "winner": list("aac"), "batch": [1, 1, 2]}
    >>> n_rounds(hja.read_comparisons(table, asked_in="batch", codes="names"))
    2
    """
    return 1 if data is None or data.asked_in is None else int(data.columns[data.asked_in].nunique())


def chances(data: Comparisons) -> np.ndarray | None:
    """Chances with which the rows were asked, shape (n_rows,); None where they are not declared."""
    return None if data.asked_with is None else data.columns[data.asked_with].to_numpy(dtype=float)
