"""Functions that contrast strings may call: one entry for each, with its derivative."""

from __future__ import annotations

import math
from collections.abc import Callable

FUNCTIONS: dict[str, tuple[Callable[[float], float], Callable[[float], float]]] = {
    "exp": (math.exp, math.exp),
    "log": (math.log, lambda x: 1.0 / x),
    "sqrt": (math.sqrt, lambda x: 0.5 / math.sqrt(x)),
    "abs": (abs, lambda x: math.copysign(1.0, x)),
    "logit": (lambda x: math.log(x) - math.log1p(-x), lambda x: 1.0 / (x * (1.0 - x))),
    "expit": (lambda x: 0.5 * (1.0 + math.tanh(0.5 * x)), lambda x: 0.25 / math.cosh(0.5 * x) ** 2),
}
