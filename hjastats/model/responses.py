"""The responses there are, by the option ``ties``: each is one class with the methods of ``Response``."""

from __future__ import annotations

from .generalised import SCALED, SHIFTED
from .grades import Adjacent, Ordinal
from .response import Response
from .terms import OPTIONS
from .ties import BINARY, DAVIDSON

ORDINAL, ADJACENT = Ordinal(), Adjacent()
# By the option ``ties``; ties that are dropped leave wins and losses.
RESPONSES: dict[str, Response] = {
    "half": BINARY,
    "drop": BINARY,
    "davidson": DAVIDSON,
    SCALED.name: SCALED,
    SHIFTED.name: SHIFTED,
    "ordinal": ORDINAL,
    "adjacent": ADJACENT,
}
# All terms that are declared: those with an option of their own, and the parameters of the responses.
KINDS = OPTIONS | {kind.name: kind for response in RESPONSES.values() for kind in response.parameters}
