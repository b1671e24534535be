"""Comparisons judged in both orders: how often a verdict follows the position instead of the item."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..errors import ComparisonError, Hint
from .arrays import columns_of
from .comparisons import Comparisons
from .labels import grouped
from .roles import PROMPT_COLUMNS, Names


def prompt_column(data: Comparisons, prompt: str | None) -> str | None:
    """The column that says which prompt a comparison was about; None if there is none."""
    if prompt is None:
        known = Names(list(data.columns))
        found = [name for alias in PROMPT_COLUMNS if (name := known.find(alias)) is not None]
        return next((str(name) for name in found if data.columns[name].notna().any()), None)
    columns_of(data.columns, [prompt])
    return prompt


def swap_report(data: Comparisons, prompt: str | None = None) -> pd.DataFrame:
    """Per judge, what happened to pairs judged in both orders on the same prompt.

    Parameters
    ----------
    data : Comparisons
    prompt : str, optional
        Column that identifies the prompt; a column called question_id, prompt_id, prompt, instruction or uid by default.

    Returns
    -------
    pandas.DataFrame
        Index judge: swapped (pairs of verdicts in opposite orders, where several in the same order count by their weighted
        mean), consistent, first (the item shown first won both times), second, tied (at least one of the
        two), flip_rate (first and second among the decided pairs).

    Raises
    ------
    ComparisonError
        If no prompt column is found.

    Examples
    --------
    >>> columns = pd.DataFrame({"prompt": [1, 1, 2, 2]})
    >>> data = Comparisons.from_arrays(["j"] * 4, list("abab"), list("baba"), [1, 1, 1, 0], columns=columns)
    >>> swap_report(data).loc["j", ["swapped", "consistent", "first", "flip_rate"]].tolist()
    [2.0, 1.0, 1.0, 0.5]
    """
    if not isinstance(data, Comparisons):
        raise ComparisonError(
            f"expected Comparisons, got {type(data).__name__}: read the table first, hja.read_comparisons(data)."
        )
    name = prompt_column(data, prompt)
    if name is None:
        raise ComparisonError(
            *("no prompt column was found: pass ", Hint("prompt", "column")),
            " to say which comparisons are about the same one.",
        )
    prompts = grouped(name, data.columns[name])[0]
    if (prompts < 0).any():
        # A verdict on nobody knows which prompt has no counterpart.
        data, prompts = data.subset(prompts >= 0), prompts[prompts >= 0]
    is_low_first = data.first_index < data.second_index
    preference = np.where(is_low_first, data.outcome, 1.0 - data.outcome)
    verdicts = pd.DataFrame(
        {
            "judge": data.judge_index,
            "pair": data.row_cells.pair,
            "prompt": prompts,
            "is_low_first": is_low_first,
            "weight": data.weight,
            "won": data.weight * preference,
        }
    )
    key = ["judge", "pair", "prompt"]
    sums = verdicts.pivot_table(["weight", "won"], key, "is_low_first", aggfunc="sum")
    # Rounded, so that a mean of ties is one whatever the weights.
    preferred = pd.DataFrame(sums["won"] / sums["weight"]).round(12)
    both = preferred.reindex(columns=[True, False]).dropna()
    when_low, when_high = both[True], both[False]
    kinds = {
        "consistent": (np.sign(when_low - 0.5) == np.sign(when_high - 0.5)) & (when_low != 0.5),
        "first": (when_low > 0.5) & (when_high < 0.5),
        "second": (when_low < 0.5) & (when_high > 0.5),
    }
    kinds["tied"] = ~(kinds["consistent"] | kinds["first"] | kinds["second"])
    counts = pd.DataFrame(kinds, index=both.index).groupby(level="judge").sum()
    table = counts.reindex(range(data.n_judges), fill_value=0).astype(float)
    table = table.set_axis(pd.Index(data.judges, name="judge"))
    table.insert(0, "swapped", table.sum(axis=1))
    decided = table["consistent"] + table["first"] + table["second"]
    table["flip_rate"] = (table["first"] + table["second"]) / decided.where(decided > 0)
    return table
