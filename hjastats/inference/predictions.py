"""Predicted verdicts with intervals: of single comparisons, and averages of them over judges or items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from statsmodels.base._prediction_inference import PredictionResultsMonotonic
from statsmodels.genmod.families.links import Identity, Logit

from ..data.arrays import listed
from ..data.cells import distinct_rows, take
from ..errors import ContrastError, OptionError
from ..fitted import Fit
from ..model.design import Design
from ..model.likelihood import free_moves, free_regressors, log_odds, own_predictors
from ..model.response import probability, verdict_slopes
from ..words import quoted

ROLES = ("judge", "item_a", "item_b")


class _Predicted(NamedTuple):
    """A quantity of every comparison: its value, what is left of one, and its slopes by the predictors, shape (1 + p, n)."""

    value: np.ndarray
    rest: np.ndarray
    slopes: np.ndarray


class _Groups(NamedTuple):
    """Comparisons that are averaged: the number of the group and the share in it of each, and the labels of the groups."""

    code: np.ndarray
    share: np.ndarray
    labels: pd.Index | None

    @property
    def n(self) -> int:
        """Number of groups."""
        return int(self.code.max(initial=-1)) + 1

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Averages of the groups, shape (n_groups,)."""
        return np.bincount(self.code, self.share * values, minlength=self.n)


def predictions(
    fit: Fit,
    rows: Design,
    which: str = "mean",
    average: bool | str | Sequence[str] = False,
    labels: pd.Index | None = None,
    row_labels: Any = None,
) -> PredictionResultsMonotonic:
    """What to expect of some comparisons, or of averages of them, with intervals on the logit scale.

    Averages are those of the predictions, whose standard errors come from the mean of the gradients. Rows of the data count as
    often as their weight.

    Parameters
    ----------
    rows : Design
    which : str
        "mean", "decided", "linear", a verdict, or "probs" for all verdicts.
    average : bool, str or sequence of str
        Over everything, or over judge, item_a or item_b.
    labels : Index, optional
        Of the rows.
    row_labels : array_like, optional
        Of the rows or averages, instead of theirs.

    Raises
    ------
    ContrastError
        For what is no verdict.
    OptionError
    """
    groups = _grouped(fit, rows, average, labels)
    found = _predicted(fit, rows, which)
    is_linear, parts = which == "linear", []
    for each in found.values():
        value, rest = groups.mean(each.value), groups.mean(each.rest)
        with np.errstate(divide="ignore", invalid="ignore"):
            linear = value if is_linear else np.log(value) - np.log(rest)
            scale = np.ones_like(value) if is_linear else value * rest
            slopes = each.slopes * (groups.share / scale[groups.code])
        parts.append((value, linear, _variances(fit, rows, slopes, groups), scale))
    # Comparison by comparison, with all its verdicts.
    predicted, linear, variance, scale = (np.stack(some, axis=-1).ravel() for some in zip(*parts, strict=True))
    index = groups.labels
    if row_labels is not None:
        index = row_labels if isinstance(row_labels, pd.Index) else pd.Index(listed("row_labels", row_labels, "labels"))
        if len(index) != groups.n:
            raise OptionError(f"row_labels must be one for each of the {groups.n} predictions, got {len(index)}.")
    if which == "probs":
        index = _with_verdicts(pd.RangeIndex(groups.n) if index is None else index, list(found))
    link = Identity() if is_linear else Logit()
    return PredictionResultsMonotonic(
        predicted,
        variance * scale**2,
        linpred=linear,
        linpred_se=np.sqrt(variance),
        func=link.inverse,
        deriv=link.inverse_deriv,
        row_labels=index,
    )


def _predicted(fit: Fit, rows: Design, which: str) -> dict[str, _Predicted]:
    """The quantity asked for, or one for each verdict."""
    eta, own, verdicts = log_odds(rows, fit.at), own_predictors(rows, fit.at), rows.response.verdicts
    if which in ("linear", "decided"):
        p, rest = probability(eta), probability(-eta)
        slopes = np.zeros((1 + len(rows.response.parameters), len(eta)))
        slopes[0] = 1.0 if which == "linear" else p * rest
        return {which: _Predicted(eta if which == "linear" else p, rest, slopes)}
    if which not in ("mean", "probs") and which not in verdicts:
        known = ["mean", "decided", "linear", "probs", *verdicts]
        raise ContrastError(f"which must be one of {quoted(known, 9)}, got {which!r}.")
    chances, by_odds, by_own = verdict_slopes(rows.response, eta, own)
    worth = {
        name: np.array([worth if name == "mean" else float(other == name) for other, worth in verdicts.items()])
        for name in (verdicts if which == "probs" else [which])
    }
    # What is left of one is added up, too: it would be lost next to one.
    return {
        name: _Predicted(some @ chances, (1.0 - some) @ chances, np.vstack([(some @ by_odds)[None], some @ by_own]))
        for name, some in worth.items()
    }


def _variances(fit: Fit, rows: Design, slopes: np.ndarray, groups: _Groups) -> np.ndarray:
    """Variances of sums over the groups of what has the given slopes by the predictors of each row, shape (n_groups,)."""
    is_single = groups.n == len(groups.code)
    variance = np.empty(groups.n)
    together = np.zeros((0 if is_single else groups.n, fit.layout.n_free))
    for some in fit.in_parts(len(groups.code)):
        part = take(rows, some)
        gradient = slopes[:, some][free_moves(part, fit.tangent)].T * free_regressors(part, fit.tangent)
        if is_single:
            variance[groups.code[some]] = fit.covariance.variances(gradient)
        else:
            np.add.at(together, groups.code[some], gradient)
    return variance if is_single else fit.covariance.variances(together)


def _grouped(fit: Fit, rows: Design, average: bool | str | Sequence[str], labels: pd.Index | None) -> _Groups:
    """Which rows are averaged."""
    n_rows = len(rows.n)
    if average is False or average is None:
        return _Groups(np.arange(n_rows), np.ones(n_rows), labels)
    if average is True:
        code, index = np.zeros(n_rows, dtype=int), pd.Index(["average"])
    else:
        over = [average] if isinstance(average, str) else list(average)
        if unknown := [role for role in over if role not in ROLES]:
            raise OptionError(f"average must be True, False or some of {quoted(ROLES)}, got {quoted(unknown)}.")
        kept = [role for role in ROLES if role not in over]
        code, index = _by_labels(fit, rows, kept)
    total = np.bincount(code, rows.n)
    return _Groups(code, rows.n / total[code], index)


def _by_labels(fit: Fit, rows: Design, kept: list[str]) -> tuple[np.ndarray, pd.Index]:
    """Groups of rows that share some labels, in the order in which these first appear."""
    if not kept:
        return np.zeros(len(rows.n), dtype=int), pd.Index(["average"])
    layout = fit.layout
    columns = {"judge": rows.judge, "item_a": rows.first, "item_b": rows.second}
    known = {"judge": layout.judges, "item_a": layout.items, "item_b": layout.items}
    code, some = distinct_rows([columns[role] for role in kept])
    order = np.argsort(some, kind="stable")
    code, some = np.argsort(order, kind="stable")[code], some[order]
    names = [[known[role][i] for i in columns[role][some]] for role in kept]
    index = pd.Index(names[0], name=kept[0]) if len(kept) == 1 else pd.MultiIndex.from_arrays(names, names=kept)
    return code, index


def _with_verdicts(index: pd.Index, verdicts: list[str]) -> pd.MultiIndex:
    """Every label with every verdict."""
    repeated = index.repeat(len(verdicts))
    levels = [repeated.get_level_values(i) for i in range(repeated.nlevels)]
    return pd.MultiIndex.from_arrays(
        [*levels, np.tile(np.array(verdicts, dtype=object), len(index))], names=[*index.names, "verdict"]
    )
