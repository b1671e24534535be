"""Everything a contrast can mention, by name: values and exact gradients in the free coordinates."""

from __future__ import annotations

import difflib
from dataclasses import replace
from functools import cached_property
from itertools import product

import numpy as np
import pandas as pd

from ..errors import ContrastError
from ..words import quoted
from .decomposition import Decomposition, aligned
from .design import Coefficients
from .jacobians import (
    consensus_gradient,
    coordinate_gradient,
    disagreement_gradient,
    loading_gradient,
    sensitivity_gradient,
)
from .layout import Layout
from .response import Response, probability, verdict_slopes
from .responses import BINARY, KINDS
from .tangent import TangentBasis
from .terms import LOG_ODDS, OPTIONS

# kind: what its indices are. A number of a direction counts from one.
INDICES = {
    "mu": ("item",),
    "gamma": ("judge",),
    "S": ("judge", "item"),
    "R": ("judge", "item"),
    "U": ("judge", "direction"),
    "V": ("item", "direction"),
    "p": ("judge", "item", "item"),
    "prob": ("verdict", "judge", "item", "item"),
    "h": ("judge",),
    "rho": ("judge",),
}
# Kinds that may do without their first index: a probability without a judge is that of the consensus.
SHORTER = {"p": ("item", "item")}
# Kinds that lie between zero and one, and those that are zero only where all their parts are.
PROBABILITIES, LENGTHS = ("p", "prob"), ("h", "rho")
# All labels of an index.
ALL = "*"
# A disagreement this small against the scores is rounding error of models that have none.
_NO_DISAGREEMENT = 1e-10


class Quantities:
    """Named functions of an estimate.

    Parameters
    ----------
    layout : Layout
    at : Coefficients
    tangent : TangentBasis
        Free directions at the scores; needed for gradients only.
    response : Response
        Which verdicts there are.
    like : Decomposition, optional
        Directions of disagreement take their order and their signs from these.
    """

    def __init__(
        self,
        layout: Layout,
        at: Coefficients,
        tangent: TangentBasis | None = None,
        response: Response = BINARY,
        like: Decomposition | None = None,
    ) -> None:
        self.layout, self.at, self._tangent, self.response, self._like = layout, at, tangent, response, like

    # Names

    @cached_property
    def kinds(self) -> dict[str, tuple[str, ...]]:
        """Indexed kinds of this model and what indexes them."""
        kinds = {name: index for name, index in INDICES.items() if name not in ("U", "V") or self.layout.rank}
        return kinds | dict.fromkeys(self.layout.terms.own_names, ("judge",)) | dict(self.layout.structure.own_kinds)

    @property
    def plain_names(self) -> tuple[str, ...]:
        """Quantities without index: coefficients common to all judges."""
        return self.layout.terms.shared_names

    def forms(self, kind: str) -> list[tuple[str, ...]]:
        """What may index a kind, the longest form first."""
        own = self.kinds[kind]
        return [own, SHORTER[kind]] if own == INDICES.get(kind) and kind in SHORTER else [own]

    def resolve(self, kind: str, labels: tuple[str, ...]) -> tuple[int, ...]:
        """Positions of the labels of one quantity.

        Raises
        ------
        ContrastError
            With the nearest known label when one is unknown.
        """
        roles = self._form(kind, labels)
        return tuple(self._position(kind, role, label) for role, label in zip(roles, labels, strict=True))

    def select(self, kind: str, labels: tuple[str, ...]) -> list[tuple[int, ...]]:
        """Positions of the quantities that labels name: ``*`` is all of an index, and one index may have several labels.

        An item is not compared with itself.

        Raises
        ------
        ContrastError
        """
        if len(self.kinds[kind]) == 1 and len(labels) > 1:
            found = [self.resolve(kind, (label,)) for label in labels]
            if len(set(found)) < len(found):
                raise ContrastError(f"a group names each label once, got {kind}[{', '.join(labels)}].")
            return found
        roles = self._form(kind, labels)
        choices = [
            list(known.values()) if label == ALL and ALL not in known else [self._position(kind, role, label)]
            for role, label, known in zip(roles, labels, (self._known(kind, role) for role in roles), strict=True)
        ]
        if ALL in labels and roles[-2:] == ("item", "item"):
            return [index for index in product(*choices) if index[-1] != index[-2]]
        return list(product(*choices))

    def is_known(self, kind: str, labels: tuple[str, ...]) -> bool:
        """Whether all labels of a quantity, or of a group of quantities, exist."""
        own = self.kinds[kind]
        if len(own) == 1 and len(labels) > 1:
            return all(label in self._known(kind, own[0]) for label in labels)
        roles = next((form for form in self.forms(kind) if len(form) == len(labels)), None)
        return roles is not None and all(
            label == ALL or label in self._known(kind, role) for role, label in zip(roles, labels, strict=True)
        )

    def label(self, kind: str, index: tuple[int, ...]) -> str:
        """The name of one quantity.

        Examples
        --------
        >>> from hjastats.model.structures import LowRank
        >>> scores = np.array([[1.0, -1.0], [2.0, -2.0]])
        >>> layout = Layout(LowRank(0), ("j1", "j2"), ("a", "b"))
        >>> Quantities(layout, Coefficients(scores, np.zeros((2, 0)), np.zeros(0))).label("S", (1, 0))
        'S[j2, a]'
        """
        roles = next(form for form in self.forms(kind) if len(form) == len(index))
        labels = {"judge": self.layout.judges, "item": self.layout.items, "verdict": tuple(self.response.verdicts)}
        labels |= self.layout.structure.own_labels
        named = [str(i + 1) if role == "direction" else labels[role][i] for role, i in zip(roles, index, strict=True)]
        return f"{kind}[{', '.join(named)}]"

    @cached_property
    def most_brackets(self) -> int:
        """How many closing brackets the labels of one quantity can have."""
        own = [label for labels in self.layout.structure.own_labels.values() for label in labels]
        return max(label.count("]") for label in (*self.layout.judges, *self.layout.items, *own)) * 4

    def _form(self, kind: str, labels: tuple[str, ...]) -> tuple[str, ...]:
        for form in self.forms(kind):
            if len(form) == len(labels):
                return form
        needed = " or ".join(f"[{', '.join(form)}]" for form in self.forms(kind))
        raise ContrastError(f"{kind} needs {needed}, got {len(labels)} label(s): {quoted(labels)}.")

    def _known(self, kind: str, role: str) -> dict[str, int]:
        """Labels of one index of a kind."""
        if role == "direction":
            return {str(d + 1): d for d in range(self.layout.rank)}
        if role == "verdict":
            return {name: v for v, name in enumerate(self.response.verdicts)}
        if role == "judge" and kind in self.layout.terms.own_names:
            return {judge: self._positions["judge"][judge] for judge in self.layout.judges_with(kind)}
        return self._positions[role]

    def _position(self, kind: str, role: str, label: str) -> int:
        known = self._known(kind, role)
        if label in known:
            return known[label]
        if role == "direction":
            raise ContrastError(f"{kind} has directions 1 to {self.layout.rank}, got {label!r}.")
        if role == "verdict":
            raise ContrastError(f"{kind} needs a verdict, {quoted(known)}, got {label!r}.")
        if label in self._positions[role]:
            raise ContrastError(
                f"judge {label!r} has no {kind} to ask about: it never gave the verdicts that need one."
            )
        near = difflib.get_close_matches(label, known, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else f" Known are {quoted(known, 8)}."
        raise ContrastError(f"no {role} is called {label!r}.{hint}")

    @cached_property
    def _positions(self) -> dict[str, dict[str, int]]:
        return {
            "judge": {name: k for k, name in enumerate(self.layout.judges)},
            "item": {name: i for i, name in enumerate(self.layout.items)},
        } | {role: {name: i for i, name in enumerate(own)} for role, own in self.layout.structure.own_labels.items()}

    # Values and gradients

    @property
    def n_free(self) -> int:
        """Number of free coordinates, the length of a gradient."""
        return self.layout.n_free

    @property
    def free(self) -> np.ndarray:
        """The estimate in free coordinates."""
        return self.layout.to_free(self.at, self.tangent)

    def moved(self, free: np.ndarray) -> Quantities:
        """The same quantities at other free coordinates."""
        return Quantities(self.layout, self.layout.from_free(free, self.tangent), None, self.response, self.parts)

    def with_scores(self, scores: np.ndarray) -> Quantities:
        """The same quantities of other scores, whether the structure allows them or not."""
        return Quantities(self.layout, replace(self.at, scores=scores), self._tangent, self.response, self._like)

    def view(self) -> ParameterView:
        """As a user's function sees them."""
        return ParameterView(self)

    @cached_property
    def parts(self) -> Decomposition:
        """Consensus, sensitivity and disagreement of the scores."""
        parts = self.layout.decompose(self.at)
        return parts if self._like is None else aligned(parts, self._like)

    @cached_property
    def residual(self) -> np.ndarray:
        """Scores without their consensus part, shape (n_judges, n_items)."""
        return self.at.scores - np.outer(self.parts.gamma, self.parts.mu)

    def value(self, kind: str, index: tuple[int, ...] = ()) -> float:
        """Value of one quantity."""
        terms = self.layout.terms
        if kind in terms.shared_names:
            return float(self.at.shared[terms.shared_names.index(kind)])
        if kind in terms.own_names:
            return float(self.at.judge[index[0], terms.own_names.index(kind)])
        if kind == "p":
            return float(probability(np.array([self._log_odds(*index)]))[0])
        if kind == "prob":
            return float(self._verdicts(*index[1:])[0][index[0], 0])
        if kind in LENGTHS:
            return self._disagreement(kind, index[0])
        if kind in self.layout.structure.own_kinds:
            return float(np.vdot(self._weights(kind, index), self.at.scores))
        source = {"mu": self.parts.mu, "gamma": self.parts.gamma, "S": self.at.scores, "R": self.residual}
        if kind in source:
            return float(source[kind][index])
        return float(getattr(self.parts, kind)[index])

    def _weights(self, kind: str, index: tuple[int, ...]) -> np.ndarray:
        """Of a parameter of the structure's own, which is a sum over the scores."""
        return self.layout.structure.weights(kind, index, len(self.layout.judges))

    def _disagreement(self, kind: str, judge: int) -> float:
        """Size of a judge's disagreement, h, or relative to its consensus part, rho; zero in models that have none."""
        size = float(np.linalg.norm(self.residual[judge]))
        if size <= _NO_DISAGREEMENT * np.linalg.norm(self.at.scores[judge]):
            return 0.0
        part = abs(float(self.parts.gamma[judge])) * float(np.linalg.norm(self.parts.mu)) if kind == "rho" else 1.0
        return size / part if part else np.inf

    def _log_odds(self, *index: int) -> float:
        """Of the item shown first, by a judge, or by the consensus, which knows no position."""
        if len(index) == 2:
            return float(self.parts.mu[index[0]] - self.parts.mu[index[1]])
        judge, first, second = index
        constant = [self.value(kind, index) for kind, index in self._in_every_comparison(judge)]
        return float(self.at.scores[judge, first] - self.at.scores[judge, second]) + sum(constant)

    def _in_every_comparison(self, judge: int, moves: int = LOG_ODDS) -> list[tuple[str, tuple[int, ...]]]:
        """Terms that are part of the log-odds, or of another predictor, of any comparison by a judge."""
        kinds = [(term, term.kind) for term in self.layout.terms if term.moves == moves]
        constant = [term for term, kind in kinds if kind is not None and kind.column is None]
        return [(term.name, (judge,) if term.scope == "judge" else ()) for term in constant]

    def _verdicts(self, judge: int, first: int, second: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Probabilities of the verdicts on a comparison and their derivatives by its predictors, as verdict_slopes does."""
        predictors = range(1, 1 + len(self.response.parameters))
        own = [[sum(self.value(*term) for term in self._in_every_comparison(judge, p))] for p in predictors]
        eta = np.array([self._log_odds(judge, first, second)])
        return verdict_slopes(self.response, eta, np.array(own) if own else None)

    def gradient(self, kind: str, index: tuple[int, ...] = ()) -> np.ndarray:
        """Gradient of one quantity in the free coordinates, shape (n_free,)."""
        layout = self.layout
        result = np.zeros(self.n_free)
        if kind in layout.terms.shared_names:
            result[layout.terms.shared_names.index(kind)] = 1.0
        elif kind in layout.terms.own_names:
            result[layout.free_position(kind, index[0])] = 1.0
        elif kind == "p":
            p = self.value(kind, index)
            result = p * (1.0 - p) * self._log_odds_gradient(*index)
        elif kind == "prob":
            verdict, judge, first, second = index
            _, by_odds, by_own = self._verdicts(judge, first, second)
            result = by_odds[verdict, 0] * self._log_odds_gradient(judge, first, second)
            for p, slopes in enumerate(by_own, start=1):
                for term in self._in_every_comparison(judge, p):
                    result = result + slopes[verdict, 0] * self._own_gradient(*term)
        elif kind not in LENGTHS or self.value(kind, index) > 0:
            result[layout.n_linear :] = self.tangent.coordinates(self._by_scores(kind, index))
        return result

    def _by_scores(self, kind: str, index: tuple[int, ...]) -> np.ndarray:
        """Derivative of one quantity by the scores, shape (n_judges, n_items).

        One at a time: of many items the derivatives of all would not fit in memory.
        """
        parts = self.parts
        if kind == "mu":
            return consensus_gradient(parts, *index)
        if kind == "gamma":
            if not self.layout.structure.judges_differ:
                return np.zeros_like(self.at.scores)
            return sensitivity_gradient(parts, self.residual, *index)
        if kind in self.layout.structure.own_kinds:
            return self._weights(kind, index)
        if kind == "U":
            return loading_gradient(parts, *index)
        if kind == "V":
            return coordinate_gradient(parts, *index)
        result = np.zeros_like(self.at.scores)
        if kind in LENGTHS:
            return disagreement_gradient(parts, self.residual, *index) if kind == "h" else self._relative(*index)
        result[index] = 1.0
        if kind == "R":
            judge, item = index
            result -= parts.mu[item] * self._by_scores("gamma", (judge,))
            result -= parts.gamma[judge] * self._by_scores("mu", (item,))
        return result

    def _relative(self, judge: int) -> np.ndarray:
        """Derivative of rho: that of h over the norm of gamma mu."""
        parts = self.parts
        by_consensus = parts.mu / (parts.mu @ parts.mu) / len(parts.gamma)
        by_size = disagreement_gradient(parts, self.residual, judge) / self._disagreement("h", judge)
        by_gamma = sensitivity_gradient(parts, self.residual, judge) / parts.gamma[judge]
        return self._disagreement("rho", judge) * (by_size - by_gamma - by_consensus)

    def _log_odds_gradient(self, *index: int) -> np.ndarray:
        if len(index) == 2:
            return self.gradient("mu", index[:1]) - self.gradient("mu", index[1:])
        judge, first, second = index
        result = self.gradient("S", (judge, first)) - self.gradient("S", (judge, second))
        for term in self._in_every_comparison(judge):
            result = result + self.gradient(*term)
        return result

    def _own_gradient(self, kind: str, index: tuple[int, ...]) -> np.ndarray:
        """Gradient of a response's own parameter; zero for a judge that has none."""
        has_one = not index or self.layout.judges[index[0]] in self.layout.judges_with(kind)
        return self.gradient(kind, index) if has_one else np.zeros(self.n_free)

    @property
    def tangent(self) -> TangentBasis:
        """Free directions at the scores."""
        if self._tangent is None:
            raise ValueError("gradients need the tangent basis at the scores.")
        return self._tangent


class Probability(float):
    """A number that is known to be a probability, and so is what is left of one."""

    def __rsub__(self, other: float) -> float:
        rest = float(other) - float(self)
        return Probability(rest) if other == 1 else rest


class ParameterView:
    """Labelled parameters handed to a user's contrast function.

    Attributes
    ----------
    mu, gamma, position, tie : pandas.Series
        ``tie`` is empty unless ties are an outcome.
    S, R : pandas.DataFrame
        Scores and residual disagreement, judges by items.
    h, rho : pandas.Series
        Size of each judge's disagreement, and relative to its consensus part.
    U, V : pandas.DataFrame
        Loadings by judge and coordinates by item; columns 1, 2, ...
    params : pandas.Series
        The reported parameters under their names.
    """

    def __init__(self, quantities: Quantities) -> None:
        layout, parts = quantities.layout, quantities.parts
        judges, items = pd.Index(layout.judges, name="judge"), pd.Index(layout.items, name="item")
        self._quantities = quantities
        self.mu = pd.Series(parts.mu, items, name="mu")
        self.gamma = pd.Series(parts.gamma, judges, name="gamma")
        self.S = pd.DataFrame(quantities.at.scores, judges, items)
        self.R = pd.DataFrame(quantities.residual, judges, items)
        directions = range(1, layout.rank + 1)
        self.U = pd.DataFrame(parts.U, judges, directions)
        self.V = pd.DataFrame(parts.V, items, directions)
        self.params = pd.Series(layout.pack(quantities.at, parts), layout.names)
        for name in KINDS:
            setattr(self, name, self._term(name, judges))

    @property
    def h(self) -> pd.Series:
        """Size of each judge's disagreement, the norm of its row of R."""
        return self._lengths("h")

    @property
    def rho(self) -> pd.Series:
        """Size of each judge's disagreement relative to that of its consensus part."""
        return self._lengths("rho")

    def _lengths(self, kind: str) -> pd.Series:
        values = [self._quantities.value(kind, (k,)) for k in range(len(self.gamma))]
        return pd.Series(values, self.gamma.index, name=kind)

    def _term(self, name: str, judges: pd.Index) -> pd.Series:
        """Coefficients of a term for the judges that have one; zero if nobody has, where that means no effect."""
        layout, at = self._quantities.layout, self._quantities.at
        scope = layout.terms.scope(name)
        if scope is None:
            return pd.Series(0.0, judges) if name in OPTIONS else pd.Series(dtype=float)
        if scope == "common":
            return pd.Series(at.shared[layout.terms.shared_names.index(name)], judges)
        own = pd.Series(at.judge[:, layout.terms.own_names.index(name)], judges)
        return own.loc[list(layout.judges_with(name))]

    def p(self, *labels: str) -> Probability:
        """Probability that a judge prefers the item shown first, among decided verdicts: ``p(judge, first, second)``.

        Without a judge, ``p(first, second)``, that of the consensus.
        """
        return Probability(self._quantities.value("p", self._quantities.resolve("p", labels)))

    def prob(self, verdict: str, judge: str, first: str, second: str) -> Probability:
        """Probability of a verdict: ``"first"``, ``"second"``, and ``"tie"`` where ties are an outcome."""
        index = self._quantities.resolve("prob", (verdict, judge, first, second))
        return Probability(self._quantities.value("prob", index))
