"""Whether there is one consensus or two camps, and what the majority of verdicts says beside the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.comparisons import Comparisons
from ..fit import Fit
from ..words import quoted

# Share of judges with a sensitivity below zero from which on a consensus of all of them is in doubt.
OPPOSED = 0.25


@dataclass(frozen=True)
class Majority:
    """Who wins more than half of the verdicts against whom.

    Attributes
    ----------
    beats : ndarray of int, shape (n_items,)
        Number of items that each one beats.
    loses : ndarray of int, shape (n_items,)
    """

    beats: np.ndarray
    loses: np.ndarray

    @classmethod
    def of(cls, data: Comparisons) -> Majority:
        """Count verdicts of all judges alike, ties as half.

        Examples
        --------
        >>> data = Comparisons.from_arrays(["j", "k", "k"], list("aab"), list("bcc"), [1, 1, 0])
        >>> Majority.of(data).beats.tolist()
        [2, 0, 1]
        """
        cells = data.cells
        margin = np.zeros((data.n_items, data.n_items))
        np.add.at(margin, (cells.first, cells.second), 2.0 * cells.y - cells.n)
        margin = margin - margin.T
        return cls((margin > 0).sum(axis=1), (margin < 0).sum(axis=1))


def camps_text(fit: Fit, data: Comparisons) -> str:
    """What to say of a panel in which many judges seem to rank against the others; nothing where they do not."""
    layout = fit.layout
    if not layout.structure.has_sensitivities or fit.is_withheld("gamma"):
        return ""
    opposed = float((fit.parts.gamma < 0).mean())
    if opposed < OPPOSED:
        return ""
    majority, (order, scores) = Majority.of(data), fit.best_first
    by_majority = np.argsort(majority.loses - majority.beats, kind="stable")
    listed = quoted([layout.items[i] for i in by_majority], 6)
    text = (
        f"{opposed:.0%} of the sensitivities are below zero: there may be two camps instead of a consensus, and a ranking that "
        f"neither shares. By the majority of verdicts the items are {listed}"
    )
    # The item that the model prefers most to what the majority makes of it.
    place = np.empty(len(order), dtype=int)
    place[order] = np.arange(len(order))
    known = order[np.isfinite(scores)]
    standing = np.empty(len(order), dtype=int)
    standing[by_majority] = np.arange(len(order))
    worst = known[np.argmax(standing[known] - place[known])] if len(known) else -1
    if worst >= 0 and majority.loses[worst] > majority.beats[worst] and standing[worst] > place[worst]:
        rivals = majority.loses[worst] + majority.beats[worst]
        text += f"; {layout.items[worst]!r}, place {place[worst] + 1} here, loses it against {majority.loses[worst]} of {rivals}"
    return f"{text}. Compare BTLModel, and HJAModel with a rank of 1 or more."
