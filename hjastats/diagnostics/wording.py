"""How labels and numbers read in a line of text: short enough, and words where there is no number."""

from __future__ import annotations

import numpy as np


def shortened(label: object, width: int = 32) -> str:
    r"""A label that fits, its middle left out, on one line.

    Examples
    --------
    >>> shortened("meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8", 24)
    'meta-llama/L…nstruct-FP8'
    >>> shortened("two\nlines")
    'two lines'
    """
    text = " ".join(str(label).split())
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def number(value: object, form: str = ".2f", otherwise: str = "withheld") -> str:
    """A number as text, or words where it is missing.

    Examples
    --------
    >>> number(0.5), number(float("nan")), number(0.125, ".1%")
    ('0.50', 'withheld', '12.5%')
    """
    if not isinstance(value, (int, float, np.number)) or np.isnan(value):
        return otherwise
    return format(float(value), form)
