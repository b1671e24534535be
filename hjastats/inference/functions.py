"""Functions that contrast strings may call: one entry for each, with its derivative and the range of its values."""

from __future__ import annotations

import math
from collections.abc import Callable

ANYTHING, POSITIVE, PROBABILITY = (-math.inf, math.inf), (0.0, math.inf), (0.0, 1.0)

FUNCTIONS: dict[str, tuple[Callable[[float], float], Callable[[float], float], tuple[float, float]]] = {
    "exp": (math.exp, math.exp, POSITIVE),
    "log": (math.log, lambda x: 1.0 / x, ANYTHING),
    "sqrt": (math.sqrt, lambda x: 0.5 / math.sqrt(x), POSITIVE),
    "abs": (abs, lambda x: math.copysign(1.0, x), POSITIVE),
    "logit": (lambda x: math.log(x) - math.log1p(-x), lambda x: 1.0 / (x * (1.0 - x)), ANYTHING),
    "expit": (lambda x: 0.5 * (1.0 + math.tanh(0.5 * x)), lambda x: 0.25 / math.cosh(0.5 * x) ** 2, PROBABILITY),
}
