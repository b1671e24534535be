"""Whether consensus, sensitivities, position effects and tastes are the same in all groups: of all, of single ones, and trends."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from .. import limits
from ..model.tangent import centred_basis, in_centred_basis
from .fluctuation import Drawn, Fluctuation, FluctuationTest, Movements, movements_of
from .tastes import Tastes

# Level of the adjusted tests.
LEVEL = 0.05
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
    found : Fluctuation
    is_ordered : bool
        Whether trends over the groups make sense.
    seldom : ndarray of bool, shape (n_groups, n_items)
        Items that a group compares too seldom for a test.
    seed : int
        Of the signs.
    tastes : Tastes or None
        None where those of no judge can be tested.
    """

    found: Fluctuation
    is_ordered: bool
    seldom: np.ndarray
    seed: int = 0
    tastes: Tastes | None = None

    @cached_property
    def _signs(self) -> np.ndarray:
        return self.found.signs(self.seed)

    @property
    def _places(self) -> np.ndarray:
        return np.arange(self.found.n_groups, dtype=float)

    def _rows(self, kind: str) -> np.ndarray:
        return movements_of(self.found.fit, kind)[1]

    @cached_property
    def _consensus(self) -> Movements | None:
        p = len(self.found.fit.layout.items) - 1
        return None if p * self.found.n_groups > limits.STACKED else self.found.movements(self._rows("mu"))

    def _proportional(self) -> Movements | None:
        """Contrasts of scores that are no change of scale, which every group has for itself."""
        fit, along = self.found.fit, self._rows("mu")
        mu = in_centred_basis(fit.parts.mu[None])[0]
        if self._consensus is None or len(along) < 2 or not fit.has_consensus:
            return None
        others = np.linalg.qr(np.column_stack([mu, np.eye(len(mu))]))[0][:, 1:]
        stacked = np.vstack([others.T @ along, mu[None] @ along])
        return self.found.movements(stacked).without(np.array([len(mu) - 1]))

    def _scale(self) -> Movements | None:
        return self.found.movements(self._rows("scale")) if self.found.fit.has_consensus else None

    def _sensitivity(self) -> Movements | None:
        structure, n_judges = self.found.fit.layout.structure, len(self.found.fit.layout.judges)
        if not structure.judges_differ or n_judges * self.found.n_groups > limits.STACKED:
            return None
        return self._relative(np.arange(n_judges))

    def _relative(self, some: np.ndarray) -> Movements:
        """Sensitivities of some judges, where every group has its own scale."""
        rows = np.vstack([self._rows("gamma")[some], self._rows("scale")])
        return self.found.movements(rows).without(np.array([len(some)]))

    def _position(self) -> Movements | None:
        if not self._has_position:
            return None
        rows = self._rows("position")
        return None if len(rows) * self.found.n_groups > limits.STACKED else self.found.movements(rows)

    @property
    def _has_position(self) -> bool:
        return self.found.fit.layout.terms.scope("position") is not None

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
            "sensitivity": self._sensitivity(),
            "position": self._position(),
        }
        table = {name: self._line(found) for name, found in kinds.items() if found is not None}
        if some := [made for _, made in self._of_tastes["taste"].values() if made[0].df]:
            table["taste"] = self._told(*(_total(list(each)) for each in zip(*some, strict=True)))
        frame = pd.DataFrame.from_dict(table, orient="index").rename_axis("question")
        return frame[frame["df"] > 0] if len(frame) else frame

    def _line(self, found: Movements) -> dict[str, float]:
        return self._told(*self._drawn(found, self._signs))

    def _drawn(self, found: Movements, signs: np.ndarray) -> tuple[Drawn, ...]:
        """Of any change, and of ordered groups of a trend."""
        return tuple(made.drawn(signs) for made in (found, *([found.trend(self._places)] if self.is_ordered else [])))

    def _told(self, *made: Drawn) -> dict[str, float]:
        told = zip(made, ("", "trend_"), strict=False)
        return {name: value for one, prefix in told for name, value in _told(one.test, prefix).items()}

    def _of_one(self, found: Movements, of: Fluctuation, made: tuple[Drawn, ...]) -> dict[str, float]:
        """Of one of many judges: where no draw is as large, more of them, so that adjustment for all judges leaves something."""
        n_tests = len(OF_JUDGES) * len(self.found.fit.layout.judges)
        if n_tests > LEVEL * limits.SIGNS / 2 and any(one.df and not one.as_large for one in made):
            more = [self._drawn(found, of.signs((self.seed, again))) for again in range(1, limits.MORE_SIGNS)]
            made = tuple(one.with_more(others) for one, *others in zip(made, *more, strict=True))
        return self._told(*made)

    @cached_property
    def _of_tastes(self) -> dict[str, dict[int, tuple[Movements, tuple[Drawn, ...]]]]:
        """Of every judge that can be tested: its taste in all directions, and along those of the fit."""
        made: dict[str, dict[int, tuple[Movements, tuple[Drawn, ...]]]] = {"taste": {}, "loadings": {}}
        if self.tastes is None:
            return made
        signs = self.tastes.found.signs(self.seed)
        for place, judge in enumerate(self.tastes.judges.tolist()):
            for kind, found in (
                ("taste", self.tastes.of_judge(place)),
                ("loadings", self.tastes.along_directions(place)),
            ):
                if found is not None:
                    made[kind][judge] = found, self._drawn(found, signs)
        return made

    def items(self) -> pd.DataFrame:
        """Of every item, others left free: statistic, df, p_value, and of ordered groups the same of a trend."""
        items, mu = self.found.fit.layout.items, self._consensus
        if mu is None:
            return pd.DataFrame(columns=["statistic", "df", "p_value"], index=pd.Index([], name="item"))
        inverse = np.linalg.pinv(mu.variance, rcond=1e-9, hermitian=True)
        basis, seldom = in_centred_basis(np.eye(len(items))), self.seldom
        lines = []
        for i in range(len(items)):
            # Differences between groups that compare the item.
            some = np.flatnonzero(~seldom[:, i])
            apart = np.zeros((max(len(some) - 1, 0), mu.n_groups))
            apart[:, some] = centred_basis(len(some)).T if len(some) > 1 else 0.0
            along = np.kron(apart, basis[i]) @ inverse
            along = np.vstack([along, np.zeros((mu.n_groups - len(along), along.shape[1]))])
            variance = along @ mu.variance @ along.T
            information = np.maximum(np.diag(variance), 0.0)[:, None, None]
            line = _told(Movements(mu.parts @ along.T, mu.held, variance, information).test(self._signs), "")
            if self.is_ordered and len(some) > 1:
                places = np.where(seldom[:, i], 0.0, self._places - self._places[some].mean())
                row = np.kron(places[None], basis[i]) @ inverse
                own = row @ mu.variance @ row.T
                trend = Movements(mu.parts @ row.T, mu.held, own, own[None]).test(self._signs)
                line |= _told(trend, "trend_")
            lines.append(line)
        return pd.DataFrame(lines, pd.Index(items, name="item"))

    def judges(self, kind: str) -> pd.DataFrame:
        """Of one of ``OF_JUDGES`` of every judge: a judge that changed; as :meth:`items`."""
        fit = self.found.fit
        labels = fit.layout.judges
        if kind in self._of_tastes:
            some = self._of_tastes[kind]
            of = self.found if self.tastes is None else self.tastes.found
            lines = [self._of_one(found, of, made) for found, made in some.values()]
            return pd.DataFrame(lines, pd.Index([labels[k] for k in some], name="judge"))
        if kind == "position" and fit.layout.terms.scope("position") != "judge":
            return pd.DataFrame()
        if kind == "sensitivity" and not (fit.layout.structure.judges_differ and fit.has_consensus):
            return pd.DataFrame()
        rows = self._rows("position") if kind == "position" else None
        made = (
            self._relative(np.array([k])) if rows is None else self.found.movements(rows[[k]])
            for k in range(len(labels))
        )
        lines = [self._of_one(found, self.found, self._drawn(found, self._signs)) for found in made]
        return pd.DataFrame(lines, pd.Index(labels, name="judge"))


def _total(parts: list[Drawn]) -> Drawn:
    """Statistics that have their signs in common, added up."""
    total, *others = parts
    for other in others:
        total = total + other
    return total


def _told(test: FluctuationTest, prefix: str) -> dict[str, float]:
    return {f"{prefix}statistic": test.statistic, f"{prefix}df": test.df, f"{prefix}p_value": test.p_value}
