"""How much the consensus hangs on each single judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from .. import limits
from ..data.cells import take
from ..errors import IdentificationError, SizeError
from ..fitted import Fit
from ..looks import Piece, Shown, Table, Title
from ..model.decomposition import max_rank
from ..model.likelihood import evaluate
from ..solve.ridge import NO_RIDGE
from ..words import quoted, shortened
from .deletion import one_step

# Log-likelihood units by which a refit may miss what the old estimate already reaches on the remaining data.
_WORSE = 1e-4
COLUMNS = [
    "relative_change",
    "rms_change",
    "largest_change",
    "largest_item",
    "kendall",
    "spearman",
    "places_changed",
    "new_leader",
    "loglike_gain",
    "note",
]


@dataclass(frozen=True)
class Without:
    """The consensus without one judge.

    Attributes
    ----------
    consensus : ndarray, shape (n_items,), or None
        Mean of the remaining judges' scores; None where it is not available.
    gain : float
        Log-likelihood the remaining comparisons gain when the judge no longer pulls, per comparison.
    note : str
    """

    consensus: np.ndarray | None
    gain: float = np.nan
    note: str = ""


@dataclass(frozen=True, repr=False, eq=False)
class Influence(Shown):
    """What leaving out each judge does to the consensus.

    Attributes
    ----------
    method : {"one-step", "refit"}
    table : pandas.DataFrame
        One row per judge, the most influential first: ``relative_change``, the length by which the consensus moves when it has
        length one with and without the judge, by which the rows are ordered; ``rms_change`` and ``largest_change`` (with its item)
        of the consensus itself, which is stretched when a judge of small sensitivity leaves, because those of the others average to
        1 then; ``kendall`` and ``spearman`` correlation of the consensus with and without the judge, ``places_changed``,
        ``new_leader`` (empty if the same item leads), ``loglike_gain`` per remaining comparison, ``note``.
    consensus : pandas.DataFrame
        Consensus without each judge, judges by items.
    """

    method: str
    table: pd.DataFrame
    consensus: pd.DataFrame

    def _shown(self) -> list[Piece]:
        how = "one Newton step" if self.method == "one-step" else "refitting"
        table = self.table.drop(columns=["spearman", "note"]).rename(index=shortened)
        table["largest_item"] = table["largest_item"].map(lambda item: shortened(item, 20))
        table["new_leader"] = table["new_leader"].map(lambda item: shortened(item, 20))
        table.columns = ["relative", "rms", "largest", "of", "kendall", "places", "new leader", "gain"]
        forms = {"gain": "{:.2g}".format, "places": "{:.0f}".format}
        notes = [f"{shortened(judge)}: {note}" for judge, note in self.table["note"].items() if note]
        title = Title(f"Consensus without each judge, by {how}")
        return [title, Table(table, forms, missing="NaN"), *notes]


def influence_table(
    method: str, judges: Sequence[str], items: Sequence[str], before: np.ndarray, without: Sequence[Without]
) -> Influence:
    """Compare the consensus with all judges to those without one.

    Parameters
    ----------
    before : ndarray, shape (n_items,)
    without : sequence of Without, one per judge
    """
    rows = [_changes(before, one, items) for one in without]
    table = pd.DataFrame(rows, index=pd.Index(judges, name="judge"), columns=COLUMNS)
    after = [np.full(len(items), np.nan) if one.consensus is None else one.consensus for one in without]
    consensus = pd.DataFrame(after, index=table.index, columns=pd.Index(items, name="item"))
    order = table["relative_change"].sort_values(ascending=False, kind="stable").index
    return Influence(method, table.loc[order], consensus.loc[order])


def _changes(before: np.ndarray, one: Without, items: Sequence[str]) -> dict[str, Any]:
    if one.consensus is None:
        return dict.fromkeys(COLUMNS, np.nan) | {"largest_item": "", "new_leader": "", "note": one.note}
    before, after = before - before.mean(), one.consensus - one.consensus.mean()
    change = after - before
    largest = int(np.abs(change).argmax())
    leader = int(after.argmax())
    is_flat = np.ptp(before) == 0 or np.ptp(after) == 0
    places = stats.rankdata(-before) != stats.rankdata(-after)
    with np.errstate(invalid="ignore", divide="ignore"):
        turned = after / np.linalg.norm(after) - before / np.linalg.norm(before)
    return {
        "relative_change": float(np.linalg.norm(turned)),
        "rms_change": float(np.sqrt(np.mean(change**2))),
        "largest_change": float(change[largest]),
        "largest_item": items[largest],
        "kendall": np.nan if is_flat else float(stats.kendalltau(before, after).statistic),
        "spearman": np.nan if is_flat else float(stats.spearmanr(before, after).statistic),
        "places_changed": int(places.sum()),
        "new_leader": "" if leader == int(before.argmax()) else items[leader],
        "loglike_gain": one.gain,
        "note": one.note,
    }


def unavailable(fit: Fit, judge: int) -> str:
    """Why a model of this kind cannot do without a judge; empty if it can."""
    design, layout = fit.design, fit.layout
    if len(layout.judges) == 1:
        return "There is no other judge."
    others = design.judge != judge
    seen = np.zeros(len(layout.items), dtype=bool)
    seen[design.first[others]] = seen[design.second[others]] = True
    if not seen.all():
        lost = [item for item, is_seen in zip(layout.items, seen, strict=True) if not is_seen]
        return f"No other judge compared {quoted(lost)}."
    if layout.rank > max_rank(len(layout.judges) - 1, len(layout.items)):
        return f"Rank {layout.rank} needs more than {len(layout.judges) - 1} judges."
    return ""


def by_one_step(fit: Fit, judge: int) -> Without:
    """The consensus without a judge after one Newton step, see :func:`~hjastats.diagnostics.deletion.one_step`."""
    if note := unavailable(fit, judge):
        return Without(None, note=note)
    ridge = NO_RIDGE if fit.penalty is None else fit.penalty.ridge
    found = one_step(fit.design, fit.at, fit.tangent, judge, ridge)
    if found.at is None:
        return Without(None, note=found.note)
    n_rest = float(fit.design.n[fit.design.judge != judge].sum())
    note = found.note
    if found.gain < -_WORSE and not ridge:
        note = f"{note} The step went too far, the others fit worse after it: refit.".strip()
    # The paper's consensus is the mean over the judges there are.
    return Without(np.delete(found.at.scores, judge, axis=0).mean(axis=0), found.gain / n_rest, note)


def check_one_step(fit: Fit) -> None:
    """Refuse a step that there is nothing to step on for, or that takes too large a matrix.

    Raises
    ------
    IdentificationError, SizeError
    """
    if fit.penalty is not None and not fit.penalty.has_likelihood:
        raise IdentificationError(
            f"estimates by {fit.penalty.title.lower()} maximise no likelihood to step on: use method='refit'."
        )
    if (n_free := fit.layout.n_free) > limits.LARGEST_MATRIX:
        raise SizeError(
            f"a step of {n_free:,} parameters without each judge takes a matrix of all of them: use method='refit'."
        )


def after_refitting(fit: Fit, refitted: Fit, judge: int) -> Without:
    """The consensus of a fit of the same kind to the other judges' comparisons."""
    if not refitted.converged:
        return Without(None, note=_failure(refitted))
    rest = take(fit.design, np.flatnonzero(fit.design.judge != judge))
    gain = refitted.loglike + evaluate(rest, fit.at).value
    is_worse = gain < -_WORSE and fit.penalty is None
    note = "The refit ended at a lower optimum than the full fit implies." if is_worse else ""
    return Without(refitted.parts.mu, gain / float(rest.n.sum()), note)


def _failure(fit: Fit) -> str:
    if fit.separation is not None:
        return "Without this judge the estimate does not exist: scores run to infinity."
    if not fit.is_identified:
        return "The other judges alone do not determine the model."
    return "The fit without this judge did not converge."
