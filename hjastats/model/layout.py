"""The parameter vector users see: its names, its order, and its link to scores and free coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import ComparisonError
from ..words import quoted
from .decomposition import AnchoringError, Decomposition, canonical
from .jacobians import consensus_jacobian, decomposition_derivative, decomposition_jacobian, scores_jacobian
from .structures import LowRank, Pooled, ScoreStructure, TangentBasis, centred

# Log tie propensity of judges that never tie: small enough to leave the other outcomes' probabilities exact.
NEVER = -50.0


@dataclass(frozen=True)
class Coefficients:
    """Everything the linear predictor depends on.

    Attributes
    ----------
    scores : ndarray, shape (n_judges, n_items)
    judge : ndarray, shape (n_judges, e)
        Coefficients of the terms each judge has for itself.
    shared : ndarray, shape (m,)
        Coefficients of the terms common to all judges.
    """

    scores: np.ndarray
    judge: np.ndarray
    shared: np.ndarray


@dataclass(frozen=True)
class Layout:
    """Order and names of the reported parameters of one model.

    Shared terms come first, then the judges' own terms, then the scores in the form the structure reports them: ``mu`` for
    pooled scores; ``gamma, mu, U, V`` for low rank; ``S`` itself for unrestricted scores.

    Examples
    --------
    >>> layout = Layout(LowRank(0), ("j1", "j2"), ("a", "b", "c"), judge_terms=("position",))
    >>> layout.names[:4]
    ['position[j1]', 'position[j2]', 'gamma[j1]', 'gamma[j2]']
    >>> layout.slices["mu"]
    slice(4, 7, None)
    """

    structure: ScoreStructure
    judges: tuple[str, ...]
    items: tuple[str, ...]
    shared_terms: tuple[str, ...] = ()
    judge_terms: tuple[str, ...] = ()
    never_tie: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        taken = {"mu", "gamma", "U", "V", "S", "R", "p"}
        linear = [*self.shared_terms, *self.judge_terms]
        clash = [name for name in linear if name.partition("[")[0] in taken or linear.count(name) > 1]
        names = self.names
        if clash or len(set(names)) < len(names):
            repeated = clash or sorted({name for name in names if names.count(name) > 1})
            raise ComparisonError(
                f"{quoted(repeated)} would name two parameters: rename the covariate, or labels whose commas make names equal."
            )

    @property
    def rank(self) -> int:
        """Number of disagreement directions among the parameters."""
        return self.structure.rank if isinstance(self.structure, LowRank) else 0

    @cached_property
    def blocks(self) -> dict[str, list[str]]:
        """Parameter names by kind, in order."""
        judges, items = self.judges, self.items
        blocks: dict[str, list[str]] = {}
        for name in self.shared_terms:
            blocks.setdefault(name, []).append(name)
        for term in self.judge_terms:
            blocks[term] = [f"{term}[{judge}]" for judge in self.judges_with(term)]
        if isinstance(self.structure, Pooled):
            blocks["mu"] = [f"mu[{item}]" for item in items]
        elif isinstance(self.structure, LowRank):
            directions = range(1, self.rank + 1)
            blocks["gamma"] = [f"gamma[{judge}]" for judge in judges]
            blocks["mu"] = [f"mu[{item}]" for item in items]
            if self.rank:
                blocks["U"] = [f"U[{judge},{d}]" for d in directions for judge in judges]
                blocks["V"] = [f"V[{item},{d}]" for d in directions for item in items]
        else:
            blocks["S"] = [f"S[{judge},{item}]" for judge in judges for item in items]
        return blocks

    @cached_property
    def names(self) -> list[str]:
        """All parameter names."""
        return [name for block in self.blocks.values() for name in block]

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Where each kind stands in the parameter vector."""
        ends = np.cumsum([len(block) for block in self.blocks.values()]).tolist()
        starts = [0, *ends[:-1]]
        return {kind: slice(a, b) for kind, a, b in zip(self.blocks, starts, ends, strict=True)}

    def quantity(self, position: int) -> tuple[str, tuple[int, ...]]:
        """Kind and indices of the parameter at a position of the vector.

        Examples
        --------
        >>> layout = Layout(LowRank(1), ("j1", "j2"), ("a", "b", "c"), judge_terms=("position",))
        >>> layout.names[11], layout.quantity(11)
        ('V[c,1]', ('V', (2, 0)))
        """
        kind, where = next((kind, where) for kind, where in self.slices.items() if position < where.stop)
        place = position - where.start
        if kind in self.shared_terms:
            return kind, ()
        if kind in self.judge_terms:
            return kind, (self.judges.index(self.judges_with(kind)[place]),)
        if kind in ("U", "V"):
            direction, place = divmod(place, len(self.judges if kind == "U" else self.items))
            return kind, (place, direction)
        return kind, divmod(place, len(self.items)) if kind == "S" else (place,)

    def judges_with(self, term: str) -> tuple[str, ...]:
        """Judges that have a parameter for a term; those that never tie have none for ties."""
        if term != "tie":
            return self.judges
        return tuple(judge for k, judge in enumerate(self.judges) if k not in self.never_tie)

    @cached_property
    def _own_is_free(self) -> np.ndarray:
        """Which judge coefficients are parameters, shape (n_judges, e)."""
        result = np.ones((len(self.judges), len(self.judge_terms)), dtype=bool)
        if self.never_tie:
            result[list(self.never_tie), -1] = False
        return result

    @cached_property
    def own_by_term(self) -> np.ndarray:
        """Positions of the parameters among the judge coefficients laid out term by term."""
        return np.flatnonzero(self._own_is_free.T.ravel())

    @property
    def n_linear(self) -> int:
        """Number of linear coefficients."""
        return len(self.shared_terms) + int(self._own_is_free.sum())

    def free_position(self, term: str, judge: int) -> int:
        """Free coordinate of a judge's own coefficient."""
        position = np.cumsum(self._own_is_free.ravel()) - 1
        return len(self.shared_terms) + int(position[judge * len(self.judge_terms) + self.judge_terms.index(term)])

    @property
    def n_free(self) -> int:
        """Number of free parameters: the model's degrees of freedom."""
        return self.n_linear + self.structure.n_free(len(self.judges), len(self.items))

    def decompose(self, at: Coefficients) -> Decomposition:
        """Consensus, sensitivity and disagreement of the scores."""
        if isinstance(self.structure, Pooled):
            n_judges, n_items = at.scores.shape
            return Decomposition(np.ones(n_judges), at.scores[0], np.zeros((n_judges, 0)), np.zeros((n_items, 0)))
        if isinstance(self.structure, LowRank):
            return canonical(at.scores, self.rank)
        try:
            return canonical(at.scores, 0)
        except AnchoringError:
            # Unrestricted scores need no consensus; what depends on one is then not a number.
            n_judges, n_items = at.scores.shape
            nothing = np.zeros((n_judges, 0)), np.zeros((n_items, 0))
            return Decomposition(np.full(n_judges, np.nan), at.scores.mean(axis=0), *nothing)

    def pack(self, at: Coefficients, parts: Decomposition | None = None) -> np.ndarray:
        """Reported parameter vector of some coefficients, with the decomposition of their scores if it is known."""
        linear = np.concatenate([at.shared, at.judge.T.ravel()[self.own_by_term]])
        if isinstance(self.structure, Pooled):
            return np.concatenate([linear, at.scores[0]])
        if isinstance(self.structure, LowRank):
            parts = parts or self.decompose(at)
            return np.concatenate([linear, parts.gamma, parts.mu, parts.U.T.ravel(), parts.V.T.ravel()])
        return np.concatenate([linear, at.scores.ravel()])

    def unpack(self, params: np.ndarray) -> Coefficients:
        """Coefficients of a reported parameter vector; the normalisation need not hold."""
        n_judges, n_items, m = len(self.judges), len(self.items), len(self.shared_terms)
        by_term = np.full(len(self.judge_terms) * n_judges, NEVER)
        by_term[self.own_by_term] = params[m : self.n_linear]
        judge = by_term.reshape(len(self.judge_terms), n_judges).T
        rest = params[self.n_linear :]
        if isinstance(self.structure, Pooled):
            scores = np.tile(rest, (n_judges, 1))
        elif isinstance(self.structure, LowRank):
            gamma, mu, loadings = rest[:n_judges], rest[n_judges : n_judges + n_items], rest[n_judges + n_items :]
            U = loadings[: self.rank * n_judges].reshape(self.rank, n_judges)
            V = loadings[self.rank * n_judges :].reshape(self.rank, n_items)
            scores = np.outer(gamma, mu) + U.T @ V
        else:
            scores = rest.reshape(n_judges, n_items)
        return Coefficients(scores, judge, params[:m])

    def to_free(self, at: Coefficients, tangent: TangentBasis) -> np.ndarray:
        """Free coordinates in the chart of a tangent."""
        return np.concatenate([at.shared, at.judge[self._own_is_free], tangent.coordinates(centred(at.scores))])

    def from_free(self, free: np.ndarray, tangent: TangentBasis) -> Coefficients:
        """Coefficients at free coordinates; inverse of ``to_free``."""
        m = len(self.shared_terms)
        judge = np.full((len(self.judges), len(self.judge_terms)), NEVER)
        judge[self._own_is_free] = free[m : self.n_linear]
        return Coefficients(self.structure.from_free(free[self.n_linear :], tangent), judge, free[:m])

    def jacobian(self, at: Coefficients, tangent: TangentBasis, parts: Decomposition | None = None) -> np.ndarray:
        """Derivative of the reported parameters with respect to the free coordinates, shape (n_params, n_free).

        ``tangent`` must be the one at the scores themselves, and ``parts`` their decomposition if it is known.
        """
        if isinstance(self.structure, Pooled):
            return self._with_linear(consensus_jacobian(tangent))
        if isinstance(self.structure, LowRank):
            return self._with_linear(decomposition_jacobian(parts or self.decompose(at), tangent))
        return self._with_linear(scores_jacobian(tangent))

    def derivative(self, free: np.ndarray, tangent: TangentBasis, parts: Decomposition) -> np.ndarray:
        """Change of the reported parameters along one movement of the free coordinates, to first order: ``jacobian`` times it."""
        m = len(self.shared_terms)
        judge = np.zeros((len(self.judges), len(self.judge_terms)))
        judge[self._own_is_free] = free[m : self.n_linear]
        own, shared = tangent.split(free[self.n_linear :])
        change = own @ tangent.judge_items.T + tangent.shared_judges @ tangent.to_items(shared)
        if isinstance(self.structure, Pooled):
            scores = change[0]
        elif isinstance(self.structure, LowRank):
            scores = decomposition_derivative(parts, change)
        else:
            scores = change.ravel()
        return np.concatenate([free[:m], judge.T.ravel()[self.own_by_term], scores])

    def _with_linear(self, block: np.ndarray) -> np.ndarray:
        """The Jacobian of the score parameters, with that of the linear coefficients before it."""
        n_linear, m = self.n_linear, len(self.shared_terms)
        if not n_linear:
            return block
        result = np.zeros((n_linear + block.shape[0], n_linear + block.shape[1]))
        result[:m, :m] = np.eye(m)
        # Reported term by term, free judge by judge.
        by_judge = (
            (np.cumsum(self._own_is_free.ravel()) - 1).reshape(self._own_is_free.shape).T.ravel()[self.own_by_term]
        )
        result[m + np.arange(len(by_judge)), m + by_judge] = 1.0
        result[n_linear:, n_linear:] = block
        return result

    def chart_change(self, anchor: TangentBasis, local: TangentBasis) -> np.ndarray:
        """Derivative of the coordinates anchored at one tangent along movements of another, shape (n_free, n_free).

        Coordinates are inner products of the scores with a tangent's directions, so this is the overlap of the two bases.
        """
        overlap = scores_jacobian(anchor).T @ scores_jacobian(local)
        result = np.eye(self.n_linear + len(overlap))
        result[self.n_linear :, self.n_linear :] = overlap
        return result
