"""Whether parameters that one fit takes to be the same in all groups of rows are: score tests of their fluctuation over groups.

At the fit of all rows the gradient of every group says where that group would move the parameters. With ``I_g`` the information of
a group, ``A`` the sum of these and ``G_cg`` the gradient of the rows of cluster c in group g,

    z_cg = G_cg - I_g A^-1 sum_h G_ch,

is what the cluster adds to the gradient of the group beyond what all groups have in common, whatever judges, items and prompts a
group has. Rao's statistic ``z' V^-1 z`` weighs the sums over clusters by their covariance under the model. Without any difference
it has the distribution that random signs of the clusters give it (a wild score bootstrap, Kline and Santos 2012). That holds where
rows of a prompt hang together, where prompts have rows in several groups, and where clusters are few and scores are many, which is
where Wald tests fail.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from .. import limits
from ..data.cells import collapse, take
from ..fitted import Fit, Observations
from ..model.design import Coefficients, Design
from ..model.likelihood import evaluate
from ..model.tangent import in_centred_basis
from ..solve.precision import information_at
from .clusters import Clusters
from .contributions import Contributions, single

# Share of a direction's information that must be left after what all groups have in common, for it to be tested.
_LEFT = 1e-6


@dataclass(frozen=True)
class FluctuationTest:
    """Test that some movements are none in any group.

    Attributes
    ----------
    statistic : float
        Rao's, by the covariance of the model.
    df : int
        Directions that the data inform; 0 if there is nothing to test.
    p_value : float
        By random signs of the clusters; not a number if there is nothing to test.
    n_clusters : int
    """

    statistic: float
    df: int
    p_value: float
    n_clusters: int


@dataclass(frozen=True)
class Drawn:
    """A statistic with those that random signs of the clusters give; sums of them have those of the same signs.

    Attributes
    ----------
    statistic : float
    df : int
    drawn : ndarray, shape (n_draws,)
    n_clusters : int
    """

    statistic: float
    df: int
    drawn: np.ndarray
    n_clusters: int

    def __add__(self, other: Drawn) -> Drawn:
        return Drawn(
            self.statistic + other.statistic,
            self.df + other.df,
            self.drawn + other.drawn,
            max(self.n_clusters, other.n_clusters),
        )

    def with_more(self, others: Iterable[Drawn]) -> Drawn:
        """The same statistic with the draws of others of it, too."""
        return replace(self, drawn=np.concatenate([self.drawn, *(other.drawn for other in others)]))

    @property
    def as_large(self) -> int:
        """Number of draws that are."""
        return int((self.drawn >= self.statistic * (1.0 - 1e-9)).sum())

    @property
    def test(self) -> FluctuationTest:
        """How often draws are as large."""
        if not self.df:
            return FluctuationTest(np.nan, 0, np.nan, 0)
        p_value = (1.0 + self.as_large) / (1.0 + len(self.drawn))
        return FluctuationTest(self.statistic, self.df, p_value, self.n_clusters)


@dataclass(frozen=True)
class Movements:
    """Scores of p movements of the parameters in every group, stacked group by group.

    Attributes
    ----------
    parts : ndarray, shape (n_clusters, n_groups * p)
        What every cluster adds to them.
    held : ndarray, shape (n_clusters,)
        By what the estimate has made the part of a cluster smaller: one less its share of the comparisons.
    variance : ndarray, shape (n_groups * p, n_groups * p)
        Of their sums, under the model.
    information : ndarray, shape (n_groups, p, p)
        About each group's own movement, if all else were known.
    """

    parts: np.ndarray
    held: np.ndarray
    variance: np.ndarray
    information: np.ndarray

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.information)

    @property
    def p(self) -> int:
        """Number of movements."""
        return self.information.shape[1]

    @property
    def sums(self) -> np.ndarray:
        """Scores of the groups, shape (n_groups, p)."""
        return self.parts.sum(axis=0).reshape(self.n_groups, self.p)

    def only(self, some: np.ndarray) -> Movements:
        """Some of the p movements."""
        every = (np.arange(self.n_groups)[:, None] * self.p + some).ravel()
        return Movements(
            self.parts[:, every],
            self.held,
            self.variance[np.ix_(every, every)],
            self.information[:, some[:, None], some],
        )

    def without(self, others: np.ndarray) -> Movements:
        """All but some of the p movements, which every group has for itself."""
        lines = np.kron(np.eye(self.n_groups), np.eye(self.p)[others])
        return self.beyond(lines, np.zeros(len(lines))).only(np.setdiff1d(np.arange(self.p), others))

    def beyond(self, lines: np.ndarray, ridge: np.ndarray) -> Movements:
        """What is left of them after combinations (m, n_groups * p), each of which may move; by as little as a ridge (m,) says."""
        along = self.variance @ lines.T
        explained = along @ np.linalg.pinv(lines @ along + np.diag(ridge), rcond=_LEFT, hermitian=True)
        variance = self.variance - explained @ along.T
        return Movements(self.parts - (self.parts @ lines.T) @ explained.T, self.held, variance, self.information)

    def among(self, some: np.ndarray) -> Movements:
        """In some of the groups (n_groups,) only."""
        kept = np.repeat(some, self.p).astype(float)
        information = np.where(some[:, None, None], self.information, 0.0)
        return Movements(self.parts * kept, self.held, self.variance * np.outer(kept, kept), information)

    def combined(self, lines: np.ndarray) -> Movements:
        """Combinations (m, n_groups * p) of them, as if each were a group with one movement."""
        variance = lines @ self.variance @ lines.T
        information = np.maximum(np.diag(variance), 0.0)[:, None, None]
        return Movements(self.parts @ lines.T, self.held, variance, information)

    def trend(self, places: np.ndarray) -> Movements:
        """Of a line over places (n_groups,) of the groups, as if there were one group."""
        line = np.kron(places - places.mean(), np.eye(self.p))
        information = np.tensordot((places - places.mean()) ** 2, self.information, 1)
        return Movements(self.parts @ line.T, self.held, line @ self.variance @ line.T, information[None])

    def test(self, signs: np.ndarray) -> FluctuationTest:
        """That none of them moves in any group, by signs (n_draws, n_clusters)."""
        return self.drawn(signs).test

    def drawn(self, signs: np.ndarray) -> Drawn:
        """The statistic, and what it is with these signs of the clusters."""
        root = self._root
        whitened = self.parts @ root
        is_seen = (np.abs(whitened) > 0).any(axis=1)
        statistic = float(np.square(whitened.sum(axis=0)).sum())
        # As in the jackknife (HC3), so that few clusters do not reject too often.
        signed = (signs, whitened) if is_seen.all() else (signs[:, is_seen], whitened[is_seen])
        drawn = np.square(signed[0] @ (signed[1] / self.held[is_seen, None])).sum(axis=1)
        return Drawn(statistic, root.shape[1], drawn, int(is_seen.sum()))

    @cached_property
    def _root(self) -> np.ndarray:
        """A matrix R such that R R' inverts the variance along directions that the data inform."""
        own = np.einsum("gpp->gp", self.information).ravel()
        scale = np.where(own > 0, np.sqrt(np.maximum(own, 1e-300)), np.inf)
        values, vectors = np.linalg.eigh(self.variance / np.outer(scale, scale))
        some = values > _LEFT
        return vectors[:, some] / np.sqrt(values[some]) / scale[:, None]


class Coordinates(Protocol):
    """What moves: coordinates that all groups have in common, and along which each may move by itself."""

    @property
    def at(self) -> Coefficients:
        """Where gradients and information are taken."""

    def gradients(self, contributions: Contributions) -> np.ndarray:
        """Of every unit, shape (n_units, n_coordinates)."""

    def information(self, cells: Design) -> np.ndarray:
        """About them, shape (n_coordinates, n_coordinates)."""


@dataclass(frozen=True)
class FreeCoordinates:
    """Those of the fit itself."""

    fit: Fit

    @property
    def at(self) -> Coefficients:
        """The estimate."""
        return self.fit.at

    def gradients(self, contributions: Contributions) -> np.ndarray:
        """Along each of them."""
        return contributions.along(np.eye(self.fit.layout.n_free), self.fit.tangent)

    def information(self, cells: Design) -> np.ndarray:
        """Expected information."""
        return information_at(cells, self.fit.at, self.fit.tangent)


@dataclass(frozen=True)
class Fluctuation:
    """Gradients of clusters and information of groups at one fit, from which tests of any movements are made.

    Attributes
    ----------
    fit : Fit
    parts : ndarray, shape (n_units, n_free)
        Gradient of the rows that a cluster has in a group, by the free coordinates of the fit or by others.
    cluster, group : ndarray of int, shape (n_units,)
    weight : ndarray, shape (n_units,)
        Comparisons.
    n_clusters : int
    information : ndarray, shape (n_groups, n_free, n_free)
    of_row : ndarray of int, shape (n_rows,)
        Cluster of every row.
    kept : ndarray, shape (n_clusters,), or float
        Share of the variance of a cluster that effects of its group, taken from the same rows, have left.
    """

    fit: Fit
    parts: np.ndarray
    cluster: np.ndarray
    group: np.ndarray
    weight: np.ndarray
    n_clusters: int
    information: np.ndarray
    of_row: np.ndarray
    kept: np.ndarray | float = 1.0

    @classmethod
    def of(
        cls,
        fit: Fit,
        observed: Observations,
        group: np.ndarray,
        clusters: Clusters,
        coordinates: Coordinates | None = None,
        n_groups: int | None = None,
    ) -> Fluctuation:
        """Of groups (n_rows,) of the rows that a fit was made from, along its free coordinates or others."""
        rows, data = observed.rows, observed.data
        n_groups = int(group.max()) + 1 if n_groups is None else n_groups
        moving = FreeCoordinates(fit) if coordinates is None else coordinates
        cluster = _few(clusters.code, group, n_groups)
        code, unit = np.unique(cluster.astype(np.int64) * n_groups + group, return_inverse=True)
        each = evaluate(single(rows, data.outcome), moving.at)
        gradients = Contributions.of_clusters(rows, data, each, Clusters(unit, len(code)))
        some = [np.flatnonzero(group == g) for g in range(n_groups)]
        labels, of_unit = np.unique(code // n_groups, return_inverse=True)
        return cls(
            fit,
            moving.gradients(gradients),
            of_unit,
            code % n_groups,
            np.bincount(unit, data.weight, len(code)),
            len(labels),
            np.array([moving.information(collapse(take(rows, own))) for own in some]),
            of_unit[unit],
        )

    def with_lost(self, lost: np.ndarray, weight: np.ndarray) -> Fluctuation:
        """The same where effects of groups took so much (n_rows,) of the variance of each of the rows."""
        taken = np.bincount(self.of_row, lost * weight) / np.bincount(self.of_row, weight)
        return replace(self, kept=np.maximum(1.0 - taken, 0.5))

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.information)

    @property
    def is_nested(self) -> bool:
        """Whether every cluster has rows in one group only."""
        return self.n_clusters == len(self.cluster)

    @property
    def has_repeats(self) -> bool:
        """Whether clusters have more than one comparison."""
        return bool(self.weight.max(initial=0.0) > 1.0)

    def signs(self, seed: int | tuple[int, ...] = 0) -> np.ndarray:
        """Random signs of the clusters, shape (n_draws, n_clusters)."""
        drawn = np.random.default_rng(seed).integers(0, 2, (limits.SIGNS, self.n_clusters), dtype=np.int8)
        return 2.0 * drawn - 1.0

    @cached_property
    def _whole(self) -> np.ndarray:
        """Gradients of the clusters in all groups together, shape (n_clusters, n_free)."""
        whole = np.zeros((self.n_clusters, self.parts.shape[1]))
        np.add.at(whole, self.cluster, self.parts)
        return whole

    @cached_property
    def _inverse(self) -> np.ndarray:
        return np.linalg.pinv(self.information.sum(axis=0), rcond=1e-11, hermitian=True)

    def movements(self, rows: np.ndarray, share: np.ndarray | None = None) -> Movements:
        """Of movements (p, n_free) of the coordinates in every group.

        ``share`` of the clusters in the comparisons that they are estimated from is that in all, unless it is given.
        """
        n_groups, p, inverse = self.n_groups, len(rows), self._inverse
        along = (self.information @ rows.T).transpose(1, 0, 2).reshape(-1, n_groups * p)
        stacked = np.zeros((self.n_clusters, n_groups, p))
        stacked[self.cluster, self.group] = self.parts @ rows.T
        parts = stacked.reshape(self.n_clusters, -1) - self._whole @ (inverse @ along)
        variance = -along.T @ inverse @ along
        own = rows @ self.information @ rows.T
        for g in range(n_groups):
            some = slice(g * p, (g + 1) * p)
            variance[some, some] += own[g]
        if share is None:
            share = np.bincount(self.cluster, self.weight) / self.weight.sum()
        return Movements(parts, (1.0 - share) * np.sqrt(self.kept), 0.5 * (variance + variance.T), own)

    def beside(self, rows: np.ndarray, others: np.ndarray) -> Movements:
        """Of movements (p, n_free), while every group has others (m, n_free) for itself: their effective scores."""
        if not len(others):
            return self.movements(rows)
        return self.movements(np.vstack([rows, others])).without(len(rows) + np.arange(len(others)))


def _few(code: np.ndarray, group: np.ndarray, n_groups: int) -> np.ndarray:
    """Clusters, of which independent ones are put together where they are many; those within a group with others of it."""
    labels, some, code = np.unique(code, return_index=True, return_inverse=True)
    if len(labels) <= limits.SIGNED_CLUSTERS:
        return code
    order = np.random.default_rng(0).permutation(len(labels))
    if len(np.unique(code.astype(np.int64) * n_groups + group)) > len(labels):
        return order[code] % limits.SIGNED_CLUSTERS
    own = group[some]
    size = np.bincount(own, minlength=n_groups)
    bins = np.maximum(size * limits.SIGNED_CLUSTERS // len(labels), 1)
    starts = np.cumsum(bins) - bins
    return (starts[own] + order % bins[own])[code]


def movements_of(fit: Fit, kind: str) -> tuple[tuple[str, ...], np.ndarray]:
    """Labels of the parameters of a kind, and how the free coordinates move with each while all others stay, (p, n_free).

    ``scale`` is a multiple of the consensus of all judges.
    """
    layout, parts = fit.layout, fit.parts
    n_judges, n_items = len(layout.judges), len(layout.items)
    if kind in ("mu", "scale"):
        items = parts.mu[None] if kind == "scale" else in_centred_basis(np.eye(n_items)).T
        labels = ("scale",) if kind == "scale" else layout.items
        return labels, _of_scores(fit, [np.outer(parts.gamma, item) for item in items])
    if kind == "gamma":
        return layout.judges, _of_scores(fit, [np.outer(row, parts.mu) for row in np.eye(n_judges)])
    shared = [term.name for term in layout.terms.shared]
    if kind in shared:
        return (kind,), np.eye(1, layout.n_free, shared.index(kind))
    held = {judge for judge, e in layout.terms.held if layout.terms.own_names[e] == kind}
    rows = np.zeros((n_judges, layout.n_free))
    for k in range(n_judges):
        if k not in held:
            rows[k, layout.free_position(kind, k)] = 1.0
    return layout.judges, rows


def terms_of(fit: Fit, n_most: int) -> np.ndarray:
    """Movements of the linear terms, shape (m, n_free): of each judge, or beyond so many of all judges at once."""
    each = [movements_of(fit, term.name)[1] for term in fit.layout.terms]
    if sum(map(len, each)) > n_most:
        each = [rows.sum(axis=0, keepdims=True) for rows in each]
    return np.vstack([np.zeros((0, fit.layout.n_free)), *each]) if sum(map(len, each)) <= n_most else each[0][:0]


def _of_scores(fit: Fit, changes: list[np.ndarray]) -> np.ndarray:
    rows = np.zeros((len(changes), fit.layout.n_free))
    rows[:, fit.layout.n_linear :] = [fit.tangent.coordinates(change) for change in changes]
    return rows
