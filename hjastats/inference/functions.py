"""Functions that contrast strings may call: one entry for each, with its derivative and the range of its values."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

ANYTHING, POSITIVE, PROBABILITY = (-math.inf, math.inf), (0.0, math.inf), (0.0, 1.0)

FUNCTIONS: dict[str, tuple[Callable[[float], float], Callable[[float], float], tuple[float, float]]] = {
    "exp": (math.exp, math.exp, POSITIVE),
    "log": (math.log, lambda x: 1.0 / x, ANYTHING),
    "sqrt": (math.sqrt, lambda x: 0.5 / math.sqrt(x), POSITIVE),
    "abs": (abs, lambda x: math.copysign(1.0, x), POSITIVE),
    "logit": (lambda x: math.log(x) - math.log1p(-x), lambda x: 1.0 / (x * (1.0 - x)), ANYTHING),
    "expit": (lambda x: 0.5 * (1.0 + math.tanh(0.5 * x)), lambda x: 0.25 / math.cosh(0.5 * x) ** 2, PROBABILITY),
}

# Of groups: the value and its derivatives by the members. All but sd rise with every member.
GROUP_FUNCTIONS: dict[str, tuple[Callable[[np.ndarray], float], Callable[[np.ndarray], np.ndarray]]] = {
    "mean": (lambda x: float(x.mean()), lambda x: np.full(len(x), 1.0 / len(x))),
    "sum": (lambda x: float(x.sum()), np.ones_like),
    "min": (lambda x: float(x.min()), lambda x: 1.0 * (np.arange(len(x)) == x.argmin())),
    "max": (lambda x: float(x.max()), lambda x: 1.0 * (np.arange(len(x)) == x.argmax())),
    "sd": (lambda x: float(x.std(ddof=1)), lambda x: (x - x.mean()) / ((len(x) - 1) * x.std(ddof=1))),
}
