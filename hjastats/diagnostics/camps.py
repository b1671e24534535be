"""Whether there is one consensus or two camps, and what the majority of verdicts says beside the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.comparisons import Comparisons
from ..fitted import Fit
from ..inference.estimates import sensitivity
from ..words import quoted

# Shares of judges with a sensitivity below zero, and with one that cannot be told from zero, from which on a consensus of all of
# them is in doubt.
OPPOSED = 0.25
UNCLEAR = 0.5
# Who may lie this far below zero, in median sensitivities of those above it, may be of another camp; others only make noise.
TURNED = 0.5


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
    """What to say of a panel in which many judges do not follow the others; nothing where they do."""
    layout = fit.layout
    if not layout.structure.has_sensitivities or fit.is_withheld("gamma") or not fit.covariance.is_finite:
        return ""
    table, majority, (order, scores) = sensitivity(fit), Majority.of(data), fit.best_first
    is_below, unclear = table["estimate"] < 0, float((table["ci_lower"] <= 0).mean())
    typical = table["estimate"][~is_below].median()
    opposed = float((is_below & (table["ci_lower"] < -TURNED * typical)).mean())
    by_majority = np.argsort(majority.loses - majority.beats, kind="stable")
    place, standing = np.argsort(order), np.argsort(by_majority)
    known = order[np.isfinite(scores)]
    # Items that stand higher here than with the majority, which they lose against most others.
    raised = known[(standing[known] > place[known]) & (majority.loses[known] > majority.beats[known])]
    if opposed < OPPOSED and not (unclear >= UNCLEAR and len(raised)):
        return ""
    told = ""
    if len(raised):
        most = raised[np.argmax(standing[raised] - place[raised])]
        rivals = majority.loses[most] + majority.beats[most]
        told = f"; {layout.items[most]!r}, place {place[most] + 1} here, loses it against {majority.loses[most]} of {rivals}"
    further = ", and HJAModel with a rank of 1 or more" if not layout.rank else ""
    return (
        f"{unclear:.0%} of the sensitivities cannot be told from zero or lie below it ({is_below.mean():.0%} of the estimates do): "
        "there may be two camps instead of a consensus, and a ranking that neither shares. By the majority of verdicts the items "
        f"are {quoted([layout.items[i] for i in by_majority], 6)}{told}. Compare BTLModel{further}."
    )
