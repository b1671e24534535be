"""Whether consensus, sensitivities, position effects and tastes are the same in all groups: of all, of single ones, and trends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from .. import limits
from ..fitted import Fit
from ..model.tangent import centred_basis, in_centred_basis
from .fluctuation import Drawn, Fluctuation, FluctuationTest, Movements, movements_of, terms_of
from .group_scores import relative_to
from .tastes import Tastes

# Level at which groups, items and judges are said to differ, all of a kind together.
LEVEL = 0.05
# Share of the largest information below which a direction has none, and of a score that may lie there.
_LEFT, _LOST = 1e-9, 1e-6
# What is tested, in words.
QUESTIONS = {
    "consensus": "scores of the items",
    "proportionality": "scores but for their scale",
    "scale": "scale of the scores",
    "sensitivity": "sensitivities of judges",
    "position": "position effects",
    "taste": "tastes of judges",
}
# What is tested of every judge: the row of ``joint`` it belongs to, or the same along the directions of the fit.
OF_JUDGES = ("sensitivity", "position", "taste", "loadings")


@dataclass(frozen=True)
class GroupTests:
    """Tests that groups are alike, from the fit of all rows.

    Attributes
    ----------
    own_positions : Fluctuation
        At the fit of all rows with the position effects that every group has, from which scores are tested.
    own_scores : Fluctuation
        The same with the scores that every group has, from which sensitivities and position effects are tested.
    is_ordered : bool
        Whether trends over the groups make sense.
    seldom : ndarray of bool, shape (n_groups, n_items)
        Items that a group compares too seldom for a test, or not at all.
    seed : int
        Of the signs.
    tastes : Tastes or None
        None where those of no judge can be tested.
    """

    own_positions: Fluctuation
    own_scores: Fluctuation
    is_ordered: bool
    seldom: np.ndarray
    seed: int = 0
    tastes: Tastes | None = None

    @property
    def _fit(self) -> Fit:
        return self.own_scores.fit

    @property
    def _n_groups(self) -> int:
        return self.own_scores.n_groups

    @cached_property
    def _signs(self) -> np.ndarray:
        return self.own_scores.signs(self.seed)

    @property
    def _places(self) -> np.ndarray:
        return np.arange(self._n_groups, dtype=float)

    @property
    def _trend_places(self) -> np.ndarray | None:
        return self._places if self.is_ordered else None

    def _rows(self, kind: str) -> np.ndarray:
        return movements_of(self._fit, kind)[1]

    @cached_property
    def _terms(self) -> np.ndarray:
        """Movements of position effects and other terms, shape (m, n_free), which tests of scores leave to every group."""
        return terms_of(self._fit, self._n_freed)

    @property
    def _n_freed(self) -> int:
        return limits.FREED // self._n_groups

    @cached_property
    def _others(self) -> np.ndarray:
        """What tests of judges leave to every group: its scores, or of many items their scale."""
        rows = self._rows("mu")
        return rows if len(rows) <= self._n_freed else self._rows("scale")

    @cached_property
    def _consensus(self) -> Movements | None:
        rows = self._rows("mu")
        return None if len(rows) * self._n_groups > limits.STACKED else self.own_positions.beside(rows, self._terms)

    def _proportional(self) -> Movements | None:
        """Contrasts of scores that are no change of scale, which every group has for itself."""
        fit, along = self._fit, self._rows("mu")
        mu = in_centred_basis(fit.parts.mu[None])[0]
        if self._consensus is None or len(along) < 2 or not fit.has_consensus:
            return None
        others = np.linalg.qr(np.column_stack([mu, np.eye(len(mu))]))[0][:, 1:]
        stacked = np.vstack([others.T @ along, mu[None] @ along])
        return self.own_positions.beside(stacked[:-1], np.vstack([stacked[-1:], self._terms]))

    def _scale(self) -> Movements | None:
        return self.own_positions.beside(self._rows("scale"), self._terms) if self._fit.has_consensus else None

    @cached_property
    def _sensitivity(self) -> Movements | None:
        """Sensitivities of judges, where every group has its own scores and position effects."""
        structure, n_judges = self._fit.layout.structure, len(self._fit.layout.judges)
        if not structure.judges_differ or n_judges * self._n_groups > limits.STACKED:
            return None
        return self.own_scores.beside(self._rows("gamma"), np.vstack([self._others, self._terms]))

    @cached_property
    def _position(self) -> Movements | None:
        """Position effects, where every group has its own scores."""
        if not self._has_position:
            return None
        rows = self._rows("position")
        is_large = len(rows) * self._n_groups > limits.STACKED
        return None if is_large else self.own_scores.beside(rows, self._others)

    @property
    def _has_position(self) -> bool:
        return self._fit.layout.terms.scope("position") is not None

    def joint(self) -> pd.DataFrame:
        """Of all parameters of a kind.

        Returns
        -------
        pandas.DataFrame
            Index question; columns statistic, df, p_value, and of ordered groups trend_df, trend_p_value.
        """
        kinds = {
            "consensus": self._consensus,
            "proportionality": self._proportional(),
            "scale": self._scale(),
            "sensitivity": self._sensitivity,
            "position": self._position,
        }
        table = {name: self._line(found) for name, found in kinds.items() if found is not None}
        if some := [made for _, made in self._of_tastes["taste"].values() if made[0].df]:
            table["taste"] = self._told(*(_total(list(each)) for each in zip(*some, strict=True)))
        frame = pd.DataFrame.from_dict(table, orient="index").rename_axis("question")
        return frame[frame["df"] > 0] if len(frame) else frame

    def _line(self, found: Movements) -> dict[str, float]:
        return self._told(*self._drawn(self._both(found), self._signs))

    def _both(self, found: Movements) -> tuple[Movements, ...]:
        """Any change, and of ordered groups a trend."""
        return (found, found.trend(self._places)) if self.is_ordered else (found,)

    def _drawn(self, found: tuple[Movements, ...], signs: np.ndarray) -> tuple[Drawn, ...]:
        return tuple(made.drawn(signs) for made in found)

    def _told(self, *made: Drawn) -> dict[str, float]:
        told = zip(made, ("", "trend_"), strict=False)
        return {name: value for one, prefix in told for name, value in _told(one.test, prefix).items()}

    def _of_one(self, found: tuple[Movements, ...], of: Fluctuation, made: tuple[Drawn, ...]) -> dict[str, float]:
        """Of one of many judges: where few draws are as large, more of them, so that adjustment for all judges leaves something."""
        n_tests = len(OF_JUDGES) * len(self._fit.layout.judges)
        if n_tests > LEVEL * limits.SIGNS / 2 and any(one.df and one.as_large < limits.FEW_AS_LARGE for one in made):
            more = [self._drawn(found, of.signs((self.seed, again))) for again in range(1, limits.MORE_SIGNS)]
            made = tuple(one.with_more(others) for one, *others in zip(made, *more, strict=True))
        return self._told(*made)

    @cached_property
    def _of_tastes(self) -> dict[str, dict[int, tuple[tuple[Movements, ...], tuple[Drawn, ...]]]]:
        """Of every judge that can be tested: its taste in all directions, and along those of the fit."""
        made: dict[str, dict[int, tuple[tuple[Movements, ...], tuple[Drawn, ...]]]] = {"taste": {}, "loadings": {}}
        if self.tastes is None:
            return made
        signs = self.tastes.found.signs(self.seed)
        for place, judge in enumerate(self.tastes.judges.tolist()):
            for kind, found in (
                ("taste", self.tastes.of_judge(place)),
                ("loadings", self.tastes.along_directions(place)),
            ):
                if found is not None:
                    both = self._both(found)
                    made[kind][judge] = both, self._drawn(both, signs)
        return made

    def items(self) -> pd.DataFrame:
        """Of every item, others left free: statistic, df, p_value, and of ordered groups the same of a trend, with its slope.

        The slope of a line through the groups is in log-odds from one group to the next.
        """
        items, mu = self._fit.layout.items, self._consensus
        if mu is None:
            return pd.DataFrame(columns=["statistic", "df", "p_value"], index=pd.Index([], name="item"))
        each = _one_by_one(mu, _relative(self.seldom), self._trend_places)
        lines = []
        for change, *trend in each:
            lines.append(self._told(*self._drawn((change, *trend), self._signs)))
            for line in trend:
                lines[-1]["trend_slope"] = float(line.sums[0, 0]) if line.variance.any() else np.nan
        return pd.DataFrame(lines, pd.Index(items, name="item"))

    def judges(self, kind: str) -> pd.DataFrame:
        """Of one of ``OF_JUDGES`` of every judge: a judge that changed; as :meth:`items`."""
        fit = self._fit
        labels = fit.layout.judges
        if kind in self._of_tastes:
            some = self._of_tastes[kind]
            of = self.own_scores if self.tastes is None else self.tastes.found
            lines = [self._of_one(found, of, made) for found, made in some.values()]
            return pd.DataFrame(lines, pd.Index([labels[k] for k in some], name="judge"))
        if kind == "position" and fit.layout.terms.scope("position") != "judge":
            return pd.DataFrame()
        if kind == "sensitivity" and not (fit.layout.structure.judges_differ and fit.has_consensus):
            return pd.DataFrame()
        every = self._of_each(kind)
        lines = [self._of_one(found, self.own_scores, self._drawn(found, self._signs)) for found in every]
        return pd.DataFrame(lines, pd.Index(labels, name="judge"))

    def _of_each(self, kind: str) -> Iterator[tuple[Movements, ...]]:
        """Change, and trend, of the position effect or sensitivity of every judge."""
        n_judges, n_groups = len(self._fit.layout.judges), self._n_groups
        if kind == "position" and self._position is not None:
            # Where many judges changed, the scores of a group must not take up what the others did.
            yield from _one_by_one(self._position, _own(n_judges, n_groups), self._trend_places)
            return
        rows = self._rows("position" if kind == "position" else "gamma")
        others = self._others if kind == "position" else np.vstack([self._others, self._terms])
        n_some = max(limits.STACKED // n_groups, 1)
        for begin in range(0, n_judges, n_some):
            some = rows[begin : begin + n_some]
            made = self.own_scores.beside(some, others)
            yield from (self._both(made.only(np.array([k]))) for k in range(len(some)))


@dataclass(frozen=True)
class _Compared:
    """What is asked of one parameter: a combination (p,) of the movements, in some of the groups."""

    row: np.ndarray
    groups: np.ndarray


def _own(n: int, n_groups: int) -> Iterator[_Compared]:
    """Each of n movements, in all groups."""
    return (_Compared(row, np.arange(n_groups)) for row in np.eye(n))


def _relative(seldom: np.ndarray) -> Iterator[_Compared]:
    """Of each item the groups that have it, and its score relative to the mean of the items that all of these have.

    Of items that a group lacks, ``seldom`` (n_groups, n_items), its scores say nothing, nor does the mean of all items.
    """
    for item, few in enumerate(seldom.T):
        groups = np.flatnonzero(~few)
        yield _Compared(relative_to(np.all(~seldom[groups], axis=0))[item], groups)


def _one_by_one(
    found: Movements, each: Iterable[_Compared], places: np.ndarray | None
) -> Iterator[tuple[Movements, ...]]:
    """Change of each parameter between groups, and a trend over places (n_groups,), all others left free.

    Groups whose terms explain a parameter as well are left out.
    """
    n_groups = found.n_groups
    values, vectors = np.linalg.eigh(found.variance)
    is_left = values > _LEFT * values.max(initial=1e-300)
    inverse = (vectors[:, is_left] / values[is_left]) @ vectors[:, is_left].T
    unknown = vectors[:, ~is_left].reshape(n_groups, found.p, -1)
    for one in each:
        some = one.groups[_alike(one.row @ unknown[one.groups])]
        # Differences between groups that say something.
        is_asked = len(some) > 1 and one.row.any()
        apart = np.zeros((n_groups, n_groups))
        if is_asked:
            apart[: len(some) - 1, some] = centred_basis(len(some)).T
        made = found.combined(np.kron(apart, one.row) @ inverse)
        if places is None:
            yield (made,)
            continue
        line = np.zeros((1, n_groups))
        if is_asked:
            away = places[some] - places[some].mean()
            line[0, some] = away / np.square(away).sum()
        yield made, found.combined(np.kron(line, one.row) @ inverse)


def _alike(unknown: np.ndarray) -> np.ndarray:
    """The largest part of some groups between which the data tell a parameter apart, as a mask.

    ``unknown`` (n_some, m) is the parameter along directions without information: the same where groups only move together.
    """
    if not len(unknown):
        return np.zeros(0, dtype=bool)
    apart = np.square(unknown[:, None] - unknown[None]).sum(axis=2) <= _LOST
    return apart[int(apart.sum(axis=1).argmax())]


def _total(parts: list[Drawn]) -> Drawn:
    """Statistics that have their signs in common, added up."""
    total, *others = parts
    for other in others:
        total = total + other
    return total


def _told(test: FluctuationTest, prefix: str) -> dict[str, float]:
    return {f"{prefix}statistic": test.statistic, f"{prefix}df": test.df, f"{prefix}p_value": test.p_value}
