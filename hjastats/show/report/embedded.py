"""What the page's own script works with: scores, errors of all pairs, and the judges' own scores."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ... import limits
from ...fitted import Fit
from ...inference.estimates import scores
from ...inference.ranks import score_vector
from ...inference.simultaneous import pairwise_differences
from ...population import PopulationFit
from .standing import Standing


def embedded(standing: Standing, panel: Fit) -> str | None:
    """The numbers as JSON that can stand in a page; None for more items than a page holds pairs of.

    Parameters
    ----------
    panel : Fit
        Whose judges have scores of their own.
    """
    if len(standing.items) > limits.PAGE_ITEMS:
        return None
    numbers: dict[str, Any] = {
        "items": list(standing.items),
        "scores": _rounded(standing.estimate, 9),
        "errors": _rounded(np.sqrt(np.maximum(np.diag(standing.covariance), 0.0))),
        "pairs": _upper(standing.pairs.std_err),
        "critical": round(standing.critical, 4),
        "judges": _judges(standing, panel),
    }
    # No label can end the element that holds it.
    text = json.dumps(numbers, allow_nan=False, separators=(",", ":"), ensure_ascii=True)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _judges(standing: Standing, fit: Fit) -> list[dict[str, Any]]:
    """Scores of every judge, with the errors of its pairs where there is room and the model has them."""
    n = len(standing.items)
    is_same = set(standing.items) <= set(fit.layout.items)
    if not fit.layout.structure.judges_differ or not is_same or len(fit.layout.judges) * n > limits.PAGE_NUMBERS:
        return []
    own = scores(fit)[list(standing.items)].to_numpy(float)
    judges = fit.layout.judges
    told: list[dict[str, Any]] = [
        {"name": judge, "scores": _rounded(row, 9)} for judge, row in zip(judges, own, strict=True)
    ]
    if len(told) * n * (n + 1) / 2 <= limits.PAGE_NUMBERS and _has_errors(fit, len(told) * n):
        some = fit.positions("mu", list(standing.items))
        for name, judge in zip(judges, told, strict=True):
            covariance = fit.covariance.of(score_vector(fit, name, some)[2])
            judge["errors"] = _rounded(np.sqrt(np.maximum(np.diag(covariance), 0.0)))
            judge["pairs"] = _upper(pairwise_differences(np.zeros(n), covariance).std_err)
    return told


def _has_errors(fit: Fit, n_scores: int) -> bool:
    is_sample = isinstance(fit, PopulationFit) or fit.separation is not None or fit.why_no_errors
    return not is_sample and fit.covariance.can_solve(n_scores)


def _upper(matrix: np.ndarray) -> list[float | None]:
    return _rounded(matrix[np.triu_indices(len(matrix), 1)])


def _rounded(values: np.ndarray, digits: int = 6) -> list[float | None]:
    # So many digits that the page rounds as everything else does.
    return [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in values.tolist()]
