"""Whether consensus, sensitivities and position effects are the same in all groups: tests of all, of single ones, and of trends."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from .. import limits
from ..model.tangent import centred_basis, in_centred_basis
from .fluctuation import Fluctuation, FluctuationTest, Movements, movements_of

# What is tested, in words.
QUESTIONS = {
    "consensus": "scores of the items",
    "proportionality": "scores but for their scale",
    "scale": "scale of the scores",
    "sensitivity": "sensitivities of judges",
    "position": "position effects",
}


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
    """

    found: Fluctuation
    is_ordered: bool
    seldom: np.ndarray
    seed: int = 0

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
        frame = pd.DataFrame.from_dict(table, orient="index").rename_axis("question")
        return frame[frame["df"] > 0] if len(frame) else frame

    def _line(self, found: Movements) -> dict[str, float]:
        line = _told(found.test(self._signs), "")
        return line | (_told(found.trend(self._places).test(self._signs), "trend_") if self.is_ordered else {})

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
        """Of the ``sensitivity`` or the ``position`` of every judge: a judge that changed; as :meth:`items`."""
        fit = self.found.fit
        labels = fit.layout.judges
        if kind == "position" and fit.layout.terms.scope("position") != "judge":
            return pd.DataFrame()
        if kind == "sensitivity" and not (fit.layout.structure.judges_differ and fit.has_consensus):
            return pd.DataFrame()
        rows = self._rows("position") if kind == "position" else None
        made = (
            self._relative(np.array([k])) if rows is None else self.found.movements(rows[[k]])
            for k in range(len(labels))
        )
        return pd.DataFrame(map(self._line, made), pd.Index(labels, name="judge"))


def _told(test: FluctuationTest, prefix: str) -> dict[str, float]:
    return {f"{prefix}statistic": test.statistic, f"{prefix}df": test.df, f"{prefix}p_value": test.p_value}
