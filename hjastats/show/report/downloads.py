"""Tables as files inside of the page."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

import pandas as pd

from ...looks import escaped_csv

# What an address in an attribute may hold as it is: fewer letters than percent signs need.
_SAFE = "()*,-./:;=_~!@"


@dataclass(frozen=True)
class Download:
    """A file that is part of the page.

    Attributes
    ----------
    name : str
        Of the file, without its ending, and of the link.
    what : str
    address : str
        With all of the file in it.
    """

    name: str
    what: str
    address: str


def download(name: str, what: str, frame: pd.DataFrame, *, index: bool = True) -> Download:
    """A frame as CSV with exact numbers; labels that a spreadsheet would take for formulas begin with an apostrophe.

    Examples
    --------
    >>> download("x", "A table", pd.DataFrame({"a": [1.5]}, index=["=b"])).address
    "data:text/csv;charset=utf-8,,a%0A'=b,1.5%0A"
    """
    texts = {
        str(column): frame[column].map(_cell) for column in frame if not pd.api.types.is_numeric_dtype(frame[column])
    }
    told = frame.rename(columns=str).assign(**texts)
    if index:
        told.index = told.index.map(escaped_csv)
        told.index.name = frame.index.name
    text = told.to_csv(index=index, float_format="%.6g")
    return Download(name, what, f"data:text/csv;charset=utf-8,{quote(text, safe=_SAFE + chr(39))}")


def _cell(value: object) -> object:
    return escaped_csv(value) if isinstance(value, str) else value
