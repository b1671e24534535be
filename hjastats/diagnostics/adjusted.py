"""P-values adjusted for their number."""

from __future__ import annotations

import numpy as np


def holm(p_value: np.ndarray) -> np.ndarray:
    """Holm's step-down adjustment; what is not a number is no test and does not count.

    As ``multipletests(p_value, method="holm")`` of statsmodels, which collects garbage every time: on every summary that would take
    longer than the fit.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, np.nan, 0.03])).round(4).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    adjusted = np.full(len(p_value), np.nan)
    tested = np.flatnonzero(~np.isnan(p_value))
    order = tested[np.argsort(p_value[tested], kind="stable")]
    steps = np.arange(len(order), 0, -1) * p_value[order]
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
