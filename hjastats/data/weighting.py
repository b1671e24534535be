"""How much each row counts beside its number of verdicts: importance by a column, or equal shares of its labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ..errors import ComparisonError, OptionError
from ..words import quoted
from .arrays import columns_of
from .comparisons import Comparisons
from .labels import grouped

# In place of what each label weighs: all the same.
EQUAL = "equal"


def weighted(data: Comparisons, weights: str | Mapping[str, Any]) -> Comparisons:
    """The comparisons with other weights; rows of weight zero are left out.

    Parameters
    ----------
    data : Comparisons
    weights : str or mapping
        A column of numbers by which the weights are multiplied. Or what the labels of a column count in total,
        ``{"category": {"math": 2, "code": 1}}``, or ``{"question_id": "equal"}``: every prompt as much as any other, however
        many verdicts it has. The total is that of the data.

    Raises
    ------
    ComparisonError, OptionError
        For columns that are not there, numbers that are no weights, and labels without one.

    Examples
    --------
    >>> columns = pd.DataFrame({"prompt": [7, 7, 7, 8]})
    >>> data = Comparisons.from_arrays("j", list("abca"), list("bcac"), [1, 0, 1, 1], columns=columns)
    >>> weighted(data, {"prompt": "equal"}).weight.round(3)
    array([0.667, 0.667, 0.667, 2.   ])
    >>> weighted(data, {"prompt": {7: 3, 8: 0}}).weight.round(3)
    array([1.333, 1.333, 1.333])
    """
    if isinstance(weights, str):
        return _times(data, weights, _numbers(weights, columns_of(data.columns, [weights])[weights]))
    if not isinstance(weights, Mapping) or len(weights) != 1:
        raise OptionError(
            "weights must be a column, or what its labels count in total, {'question_id': 'equal'} or {'category': {'math': "
            f"2, 'code': 1}}, got {weights!r}."
        )
    ((name, shares),) = weights.items()
    code, labels = grouped(name, columns_of(data.columns, [name])[name])
    if (code < 0).any():
        raise ComparisonError(f"{int((code < 0).sum())} rows miss their {str(name)!r}: without it they have no weight.")
    share = np.ones(len(labels)) if isinstance(shares, str) and shares == EQUAL else _shares(name, shares, labels)
    total = np.bincount(code, data.weight, len(labels))
    factor = share / total
    return _times(data, str(name), factor[code] * data.n_comparisons / (factor * total).sum())


def _times(data: Comparisons, name: str, factor: np.ndarray) -> Comparisons:
    if not factor.any():
        raise ComparisonError(f"all weights of {name!r} are zero: no comparison is left.")
    data = replace(data, weight=data.weight * factor)
    return data if factor.all() else data.subset(factor > 0)


def _shares(name: Any, shares: Any, labels: pd.Index) -> np.ndarray:
    if not isinstance(shares, Mapping):
        raise OptionError(f"weights of {str(name)!r} must be 'equal' or a number for each label, got {shares!r}.")
    by_text = {str(label): share for label, share in shares.items()}
    if unknown := sorted(set(by_text) - {str(label) for label in labels}):
        raise OptionError(f"{quoted(unknown)} is no label of {str(name)!r}; those are {quoted(labels, 10)}.")
    if missing := [label for label in labels if str(label) not in by_text]:
        raise OptionError(
            f"{quoted(missing)} of {str(name)!r} has no weight: give one for each label, 0 to leave it out."
        )
    return _numbers(str(name), pd.Series([by_text[str(label)] for label in labels]))


def _numbers(name: str, values: pd.Series) -> np.ndarray:
    found = pd.to_numeric(values, errors="coerce").to_numpy(dtype=float)
    if not np.isfinite(found).all() or (found < 0).any():
        raise ComparisonError(f"weights of {name!r} must be numbers that are not negative, and some are not.")
    return found
