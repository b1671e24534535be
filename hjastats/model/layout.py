"""The parameter vector users see: its names, its order, and its link to scores and free coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import ComparisonError
from ..words import quoted
from .decomposition import Decomposition
from .design import Coefficients, Design
from .jacobians import scores_jacobian
from .likelihood import Gradient, by_judge
from .structures import ScoreStructure
from .tangent import TangentBasis, centred
from .terms import NO_TERMS, Terms


@dataclass(frozen=True)
class Layout:
    """Order and names of the reported parameters of one model.

    Shared terms come first, then the judges' own terms, then the scores in the form the structure reports them: ``mu`` for
    pooled scores; ``gamma, mu, U, V`` for low rank; ``S`` itself for unrestricted scores.

    Examples
    --------
    >>> from hjastats.model.structures import LowRank
    >>> from hjastats.model.terms import gather
    >>> layout = Layout(LowRank(0), ("j1", "j2"), ("a", "b", "c"), gather([], [], {"position": "judge"}, []))
    >>> layout.names[:4]
    ['position[j1]', 'position[j2]', 'gamma[j1]', 'gamma[j2]']
    >>> layout.slices["mu"]
    slice(4, 7, None)
    """

    structure: ScoreStructure
    judges: tuple[str, ...]
    items: tuple[str, ...]
    terms: Terms = NO_TERMS

    def __post_init__(self) -> None:
        taken = {"mu", "gamma", "U", "V", "S", "R", "p", "sd", "corr", *self.structure.own_kinds}
        linear = [term.name for term in self.terms]
        clash = [name for name in linear if name.partition("[")[0] in taken or linear.count(name) > 1]
        names = self.names
        if clash or len(set(names)) < len(names):
            repeated = clash or sorted({name for name in names if names.count(name) > 1})
            raise ComparisonError(
                f"{quoted(repeated)} would name two parameters: rename the covariate, or labels whose commas make names equal."
            )

    # Names

    @property
    def rank(self) -> int:
        """Number of disagreement directions among the parameters."""
        return self.structure.rank

    @property
    def description(self) -> str:
        """Short name of the model: ``HJA(1) + position``."""
        return " + ".join([self.structure.name, *self._labels_of_terms])

    @property
    def _labels_of_terms(self) -> list[str]:
        """Labels of declared terms, then of covariates."""
        terms = list(self.terms)
        return list(dict.fromkeys(t.label for t in sorted(terms, key=lambda term: (term.kind is None, term.moves))))

    @property
    def has_judge_parameters(self) -> bool:
        """Whether judges have scores or terms of their own."""
        return bool(self.terms.own) or self.structure.judges_differ

    @property
    def has_own_parameters(self) -> bool:
        """Whether judges have parameters of their own, beyond what their traits say."""
        return self.has_judge_parameters and (bool(self.terms.own) or self.has_own_scores)

    @property
    def has_own_scores(self) -> bool:
        """Whether judges may have different scores, beyond what their traits say."""
        structure = self.structure
        return structure.judges_differ and (structure.has_sensitivities or not structure.own_kinds)

    @cached_property
    def blocks(self) -> dict[str, list[str]]:
        """Parameter names by kind, in order."""
        blocks = {name: [name] for name in self.terms.shared_names}
        for name in self.terms.own_names:
            blocks[name] = [f"{name}[{judge}]" for judge in self.judges_with(name)]
        return blocks | self.structure.blocks(self.judges, self.items)

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

    @cached_property
    def moves(self) -> np.ndarray:
        """Which predictor each reported parameter moves, shape (n_params,)."""
        result = np.zeros(len(self.names), dtype=int)
        for term in self.terms:
            result[self.slices[term.name]] = term.moves
        return result

    def quantity(self, position: int) -> tuple[str, tuple[int, ...]]:
        """Kind and indices of the parameter at a position of the vector.

        Examples
        --------
        >>> from hjastats.model.structures import LowRank
        >>> layout = Layout(LowRank(1), ("j1", "j2"), ("a", "b", "c"))
        >>> layout.names[9], layout.quantity(9)
        ('V[c,1]', ('V', (2, 0)))
        """
        kind, where = next((kind, where) for kind, where in self.slices.items() if position < where.stop)
        place = position - where.start
        if kind in self.terms.shared_names:
            return kind, ()
        if kind in self.terms.own_names:
            return kind, (self.judges.index(self.judges_with(kind)[place]),)
        return kind, self.structure.index(kind, place, len(self.judges), len(self.items))

    def judges_with(self, kind: str) -> tuple[str, ...]:
        """Judges that have a parameter of a kind; of some terms not all have one."""
        term = self.terms.named(kind)
        held = () if term is None else term.held
        return tuple(judge for k, judge in enumerate(self.judges) if k not in held)

    # Numbers of parameters

    @cached_property
    def _own_is_free(self) -> np.ndarray:
        """Which judge coefficients are parameters, shape (n_judges, e)."""
        return self.terms.is_parameter(len(self.judges))

    @cached_property
    def own_by_term(self) -> np.ndarray:
        """Positions of the parameters among the judge coefficients laid out term by term."""
        return np.flatnonzero(self._own_is_free.T.ravel())

    @cached_property
    def n_linear(self) -> int:
        """Number of linear coefficients."""
        return len(self.terms.shared) + int(self._own_is_free.sum())

    def free_position(self, term: str, judge: int) -> int:
        """Free coordinate of a judge's own coefficient."""
        position = np.cumsum(self._own_is_free.ravel()) - 1
        place = judge * len(self.terms.own) + self.terms.own_names.index(term)
        return len(self.terms.shared) + int(position[place])

    @property
    def n_free(self) -> int:
        """Number of free parameters: the model's degrees of freedom."""
        return self.n_linear + self.structure.n_free(len(self.judges), len(self.items))

    # Reported parameters

    def decompose(self, at: Coefficients) -> Decomposition:
        """Consensus, sensitivity and disagreement of the scores."""
        return self.structure.decompose(at.scores)

    def pack(self, at: Coefficients, parts: Decomposition | None = None) -> np.ndarray:
        """Reported parameter vector of some coefficients, with the decomposition of their scores if it is known."""
        linear = [at.shared, at.judge.T.ravel()[self.own_by_term]]
        return np.concatenate([*linear, self.structure.pack(parts or self.decompose(at), at.scores)])

    def unpack(self, params: np.ndarray) -> Coefficients:
        """Coefficients of a reported parameter vector; the normalisation need not hold."""
        n_judges, n_items, m = len(self.judges), len(self.items), len(self.terms.shared)
        by_term = self.terms.absent(n_judges).T.ravel()
        by_term[self.own_by_term] = params[m : self.n_linear]
        scores = self.structure.unpack(params[self.n_linear :], n_judges, n_items)
        return Coefficients(scores, by_term.reshape(len(self.terms.own), n_judges).T, params[:m])

    def jacobian(self, at: Coefficients, tangent: TangentBasis, parts: Decomposition | None = None) -> np.ndarray:
        """Derivative of the reported parameters with respect to the free coordinates, shape (n_params, n_free).

        Tie propensities of judges that never tie are neither.
        """
        block = self.structure.jacobian(parts or self.decompose(at), tangent)
        n_linear, m = self.n_linear, len(self.terms.shared)
        if not n_linear:
            return block
        result = np.zeros((n_linear + block.shape[0], n_linear + block.shape[1]))
        result[:m, :m] = np.eye(m)
        # Reported term by term, free judge by judge.
        position = (np.cumsum(self._own_is_free.ravel()) - 1).reshape(self._own_is_free.shape)
        by_judge = position.T.ravel()[self.own_by_term]
        result[m + np.arange(len(by_judge)), m + by_judge] = 1.0
        result[n_linear:, n_linear:] = block
        return result

    def derivative(self, free: np.ndarray, tangent: TangentBasis, parts: Decomposition) -> np.ndarray:
        """Change of the reported parameters along one movement of the free coordinates, to first order: ``jacobian`` times it."""
        change = tangent.scores(free[self.n_linear :])
        judge = self._own_coefficients(free)
        linear = [free[: len(self.terms.shared)], judge.T.ravel()[self.own_by_term]]
        return np.concatenate([*linear, self.structure.derivative(parts, change)])

    # Free coordinates

    def to_free(self, at: Coefficients, tangent: TangentBasis) -> np.ndarray:
        """Free coordinates in the chart of a tangent basis."""
        return np.concatenate([at.shared, at.judge[self._own_is_free], tangent.coordinates(centred(at.scores))])

    def from_free(self, free: np.ndarray, tangent: TangentBasis) -> Coefficients:
        """Coefficients at free coordinates; inverse of ``to_free``."""
        scores = self.structure.from_free(free[self.n_linear :], tangent)
        judge = self.terms.absent(len(self.judges)) + self._own_coefficients(free)
        return Coefficients(scores, judge, free[: len(self.terms.shared)])

    def moved(self, at: Coefficients, tangent: TangentBasis, step: np.ndarray) -> tuple[Coefficients, TangentBasis]:
        """Follow a step of the free coordinates to other coefficients, with the tangent basis there."""
        scores, there = self.structure.move(at.scores, tangent, *tangent.split(step[self.n_linear :]))
        judge = at.judge + self._own_coefficients(step)
        return Coefficients(scores, judge, at.shared + step[: len(self.terms.shared)]), there

    def bending(self, parts: Decomposition, at: Coefficients, tangent: TangentBasis, weights: np.ndarray) -> np.ndarray:
        """Second derivative of a weighted sum of the reported parameters by the free coordinates, shape (n_free, n_free).

        Parameters describe the scores and fulfil conditions; both are differentiated twice. Of the scores only movements inside the
        structure count, since what leads out of it is in the information already.
        """
        values, weights = self.structure.pack(parts, at.scores), weights[self.n_linear :]
        directions = self.structure.jacobian(parts, tangent)
        by_scores = tangent.scores(weights @ directions)
        conditions = self.structure.normalisation(values, len(self.judges), len(self.items))
        left_over = weights - self.structure.chain(values, by_scores)
        multipliers = np.linalg.lstsq(conditions.jacobian.T, left_over, rcond=None)[0]
        bending = conditions.bending(multipliers) + self.structure.bending(by_scores)
        result = np.zeros((self.n_free, self.n_free))
        result[self.n_linear :, self.n_linear :] = -directions.T @ bending @ directions
        return result

    def _own_coefficients(self, free: np.ndarray) -> np.ndarray:
        """The judges' own coefficients, shape (n_judges, e), zero where they are no parameters."""
        judge = np.zeros((len(self.judges), len(self.terms.own)))
        judge[self._own_is_free] = free[len(self.terms.shared) : self.n_linear]
        return judge

    def chart_change(self, anchor: TangentBasis, local: TangentBasis) -> np.ndarray:
        """Derivative of the coordinates anchored at one tangent basis along movements of another, shape (n_free, n_free).

        The other is that of scores the first one's coordinates also describe.
        """
        overlap = scores_jacobian(anchor).T @ scores_jacobian(local)
        result = np.eye(self.n_linear + len(overlap))
        result[self.n_linear :, self.n_linear :] = overlap
        return result

    # Derivatives in reported parameters, their normalisation ignored, which statsmodels' methods of a model are stated in

    def reported_regressors(self, params: np.ndarray, design: Design) -> np.ndarray:
        """Derivative of the predictor that each reported parameter moves (``moves``), shape (n_cells, n_params)."""
        # Reported term by term, so the judge axis runs fastest.
        own = by_judge(design.judge_terms, design).transpose(0, 2, 1).reshape(len(design.n), -1)
        scores = self.structure.regressors(params[self.n_linear :], design)
        return np.hstack([design.shared_terms, own[:, self.own_by_term], scores])

    def reported_gradient(self, params: np.ndarray, slopes: Gradient) -> np.ndarray:
        """Gradient by the reported parameters of one by scores and linear coefficients."""
        linear = [slopes.shared, slopes.judge.T.ravel()[self.own_by_term]]
        return np.concatenate([*linear, self.structure.chain(params[self.n_linear :], slopes.scores)])

    def reported_bending(self, scores_gradient: np.ndarray) -> np.ndarray:
        """Second derivatives of the scores in the reported parameters times a gradient (n_judges, n_items)."""
        result = np.zeros((len(self.names), len(self.names)))
        result[self.n_linear :, self.n_linear :] = self.structure.bending(scores_gradient)
        return result
