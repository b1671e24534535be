"""Rows that hang together: by prompt, by pair of items, or by any labels, in one way or in two."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .. import limits
from ..data.comparisons import Comparisons, check_rows
from ..data.labels import grouped
from ..data.roles import PROMPT_COLUMNS
from ..data.swaps import prompt_column
from ..errors import ComparisonError, CovarianceWarning, IdentificationError
from ..fitted import Fit
from ..words import counted, quoted

# Clusters that go by a name although they are no column of the data.
IMPLIED = ("judge", "pair", "row")
# What rounding may leave of the share of a trait that is not one judge's own.
_ALONE = 1e-9


@dataclass(frozen=True)
class Clusters:
    """One way in which rows hang together.

    Attributes
    ----------
    code : ndarray of int, shape (n_rows,)
    n : int
        Number of clusters.
    name : str or None
        Of the column they come from; None for labels that were passed.
    """

    code: np.ndarray
    n: int
    name: str | None = None

    @classmethod
    def of(cls, groups: Any, data: Comparisons) -> Clusters:
        """Read labels, or the name of a column.

        Raises
        ------
        ComparisonError
            When the column does not exist, or the labels do not match the rows.

        Examples
        --------
        >>> data = Comparisons.from_arrays("j", list("abca"), list("bcac"), [1, 0, 1, 1])
        >>> Clusters.of("pair", data).code.tolist()
        [0, 1, 2, 2]
        """
        name = groups if isinstance(groups, str) else None
        if name is not None:
            groups = _labels(name, data)
        code, labels = grouped(name or "groups", pd.Series(np.asarray(groups)))
        if len(code) != data.n_rows:
            raise ComparisonError(
                f"groups has {len(code)} labels but there are {data.n_rows} rows in the fit: name a column of the data instead, "
                "which follows when rows are left out."
            )
        if name is None:
            check_rows("groups", groups, data)
        if (code < 0).any():
            raise ComparisonError(f"groups has {int((code < 0).sum())} missing labels: every row needs its cluster.")
        return cls(code, len(labels), name)

    @classmethod
    def of_prompts(cls, data: Comparisons, prompt: str | None = None) -> Clusters | None:
        """By the column of prompts, or the data's own ``cluster`` unless it lies within prompts; None without such a column.

        Rows that miss a label are each by itself.

        Examples
        --------
        >>> columns = pd.DataFrame({"prompt": [7, None, 7, None]})
        >>> data = Comparisons.from_arrays("j", list("abca"), list("bcac"), [1, 0, 1, 1], columns=columns)
        >>> Clusters.of_prompts(data).code.tolist()
        [0, 1, 0, 2]
        """
        name: Any = prompt_column(data, prompt)
        if prompt is None and data.cluster is not None and not _contains(data, name, data.cluster):
            name = data.cluster
        if name is None:
            return None
        code, labels = grouped(name, data.columns[name])
        missing = np.flatnonzero(code < 0)
        code[missing] = len(labels) + np.arange(len(missing))
        return cls(code, len(labels) + len(missing), str(name))

    @property
    def noun(self) -> str:
        """What several of them are called."""
        known = {"judge": "judges", "ranking": "rankings"} | dict.fromkeys(PROMPT_COLUMNS, "prompts")
        return known.get(self.name or "", "groups")

    @property
    def has_repeats(self) -> bool:
        """Whether some rows hang together, but not all."""
        return 1 < self.n < len(self.code)

    def has_gaps(self, data: Comparisons) -> bool:
        """Whether some rows have no label in the column, each of them a cluster by itself."""
        return self.name in data.columns and bool(data.columns[self.name].isna().any())

    def within(self, other: Clusters) -> Clusters:
        """Rows that hang together in both ways."""
        labels, code = np.unique(self.code.astype(np.int64) * other.n + other.code, return_inverse=True)
        return Clusters(code, len(labels))

    def per_judge(self, data: Comparisons) -> np.ndarray:
        """Number of clusters each judge appears in, shape (n_judges,)."""
        pairs = np.unique(data.judge_index.astype(np.int64) * self.n + self.code)
        return np.bincount(pairs // self.n, minlength=data.n_judges)


def _contains(data: Comparisons, outer: str | None, inner: Hashable) -> bool:
    """Whether a column has fewer labels than another, each of which lies within one of them, as rankings within prompts."""
    if outer is None or outer == inner or data.columns[[outer, inner]].isna().to_numpy().any():
        return False
    coarse, fine = (pd.factorize(data.columns[name])[0].astype(np.int64) for name in (outer, inner))
    n_fine = int(fine.max()) + 1
    return int(coarse.max()) + 1 < n_fine == len(np.unique(coarse * n_fine + fine))


def _labels(name: str, data: Comparisons) -> Any:
    if name in data.columns:
        return data.columns[name]
    if name not in IMPLIED:
        raise ComparisonError(
            f"no column is called {name!r}; there are {quoted([*data.columns.columns, *IMPLIED], 10)}."
        )
    if name == "judge":
        return data.judge_index
    if name == "row":
        return np.arange(data.n_rows)
    return data.row_cells.pair


def read_clusters(groups: Any, data: Comparisons) -> tuple[Clusters, ...]:
    """The one or two ways in which rows hang together.

    Parameters
    ----------
    groups : str, array_like, or two of them
        A column, ``"pair"`` (of items, in either order), ``"judge"`` or ``"row"`` (each by itself, for importance weights);
        labels; or two of these as a list, or as two columns.
    """
    if groups is None:
        raise ComparisonError(
            "cov_type='cluster' needs cov_kwds={'groups': ...}: labels, or the name of a column of the data."
        )
    if isinstance(groups, pd.DataFrame):
        groups = [groups[name] for name in groups]
    elif isinstance(groups, np.ndarray) and groups.ndim == 2:
        groups = list(groups.T)
    elif not (isinstance(groups, list | tuple) and len(groups) <= 2 and data.n_rows > 2):
        groups = [groups]
    if len(groups) > 2:
        raise ComparisonError(f"clusters in {len(groups)} ways: expected labels, a column, or two of them.")
    return tuple(Clusters.of(way, data) for way in groups)


def without_variance(clusters: Clusters, data: Comparisons, fit: Fit) -> np.ndarray:
    """Judges to whom clusters would leave parameters without variance: each alone tells of them, within one cluster."""
    tells = np.ones(data.n_judges, dtype=bool)
    if not fit.layout.has_own_parameters:
        # A trait that nobody else has.
        tells = np.square(fit.tangent.shared_judges).sum(axis=1) > 1.0 - _ALONE
    return np.flatnonzero(tells & (clusters.per_judge(data) == 1))


def check_clusters(clusters: Clusters, data: Comparisons, fit: Fit) -> None:
    """Refuse clusters that leave a judge's parameters without variance, and warn of too few.

    Raises
    ------
    IdentificationError
    """
    if clusters.n < 2:
        raise IdentificationError("clustering needs at least two clusters, got one.")
    n_free, in_clusters = fit.layout.n_free, clusters.per_judge(data)
    if names := [data.judges[k] for k in without_variance(clusters, data, fit)]:
        if not fit.layout.has_own_parameters:
            raise IdentificationError(
                f"of {quoted(names, 3)} a trait tells what no other judge has, and all comparisons fall in one cluster: at the "
                "estimate scores sum to zero over such a judge, which would leave the trait no variance. Leave the trait out."
            )
        raise IdentificationError(
            f"all comparisons of {len(names)} judges ({quoted(names, 3)}) fall in one cluster each. At the estimate the "
            "scores of a judge's own parameters sum to zero over the judge, so these clusters would leave them no "
            "variance at all. Cluster by prompt instead, or leave these judges out."
        )
    if fit.layout.has_own_parameters:
        few = np.flatnonzero(in_clusters < limits.FEW_OF_A_JUDGE)
        if len(few) and clusters.n >= limits.FEW_CLUSTERS:
            names = [f"{data.judges[k]} ({in_clusters[k]})" for k in few]
            warnings.warn(
                f"{counted(len(few), 'judge')} with verdicts in fewer than {limits.FEW_OF_A_JUDGE} clusters: {quoted(names)}. "
                "Standard errors of their own parameters are too small.",
                CovarianceWarning,
                stacklevel=5,
            )
    if clusters.n < limits.FEW_CLUSTERS or clusters.n <= n_free:
        warnings.warn(
            f"{clusters.n} clusters for {n_free} free parameters: cluster-robust standard errors are too small with so few, "
            "and joint tests of many parameters are not available.",
            CovarianceWarning,
            stacklevel=5,
        )
