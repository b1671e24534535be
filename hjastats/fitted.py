"""A fit as one record: what was assumed, where the estimate is, how it was found, and how precise it is.

Tables, tests, rankings, findings, figures and reports are functions of a :class:`Fit`, and of :class:`Observations` where they need
the rows of the data. Nothing below knows models or results.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from scipy import sparse, stats
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import csgraph
from scipy.sparse.linalg import lsqr

from . import limits
from .data.arrays import listed
from .data.comparisons import Comparisons
from .errors import ContrastError, CovarianceWarning, Hint, IdentificationError, OptionError, SizeError
from .model.decomposition import AnchoringError, Decomposition, aligned
from .model.design import Coefficients, Design, RemovedCells
from .model.jacobians import anchor_jacobian, mean_rows
from .model.layout import Layout
from .model.likelihood import evaluate, free_gradient, gradient, score_differences
from .model.quantities import Quantities
from .model.tangent import TangentBasis, in_centred_basis
from .solve.alternating import AlternatingRun
from .solve.existence import INVOLVED, Separation, find_separation
from .solve.penalties import Penalty
from .solve.precision import (
    SINGULAR_CONDITION,
    Covariance,
    DenseCovariance,
    FreeCovariance,
    LargeCovariance,
    NoCovariance,
    covariance_at,
    information_at,
    invert_along,
    score_rows,
)
from .solve.ridge import NO_RIDGE
from .solve.search import Search
from .solve.trust import Optimum
from .words import counted, quoted

# Standard errors by which the strengths of two directions must differ for their loadings to be told apart.
DISTINCT_STRENGTHS = 3.0
# Standard errors at even odds beyond which a quantity of a separated fit is not determined.
OPEN = 100.0
# Information of the average judge about its sensitivity, the square of a z value, below which standard errors do not hold.
WEAK = 10.0
# Level at which a consensus is told from none.
NO_CONSENSUS = 0.05
# Share of a gradient that rounding leaves of it along equations that fix its quantity.
FIXED_BY_EQUATIONS = 1e-9


@dataclass(frozen=True)
class Observations:
    """What a fit was made from, row by row.

    Attributes
    ----------
    data : Comparisons
    rows : Design
        The rows of the data with their terms, each a cell of its own.
    n_ties_dropped : float
        Ties that were left out on request.
    """

    data: Comparisons
    rows: Design
    n_ties_dropped: float = 0.0


@dataclass(frozen=True)
class CovarianceChoice:
    """Which covariance the standard errors come from.

    Attributes
    ----------
    kind : str
        As in ``cov_type``.
    description : str
        In a sentence.
    covariance : Covariance or None
        None for that of the model.
    facts : dict
        Options and what they came to, under the names statsmodels uses.
    """

    kind: str = "nonrobust"
    description: str = ""
    covariance: Covariance | None = None
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Restriction:
    """Equations that an estimate was held to.

    Attributes
    ----------
    labels : list of str
        In words.
    gradient : ndarray, shape (m, n_free)
        At the estimate; none of them repeats others.
    bending : ndarray, shape (n_free, n_free), or None
        Their second derivatives times the multipliers, which belong to the observed information along them; None for
        functions, of which these would take too long.
    like : Decomposition or None
        That of the estimate without equations: directions of disagreement keep its order and signs, which equations may be about.

    Examples
    --------
    >>> held = Restriction(["mu[a] = mu[b]"], np.array([[1.0, -1.0, 0.0]]), np.zeros((3, 3)))
    >>> held.along(np.array([[1.0, -1.0, 0.0], [1.0, 0.0, 1.0]])) + 0.0
    array([[0. , 0. , 0. ],
           [0.5, 0.5, 1. ]])
    """

    labels: list[str]
    gradient: np.ndarray
    bending: np.ndarray | None
    like: Decomposition | None = None

    @property
    def df(self) -> int:
        """Number of restrictions."""
        return len(self.gradient)

    def along(self, rows: np.ndarray) -> np.ndarray:
        """What is left of gradients (m, n_free) among the movements that fulfil the equations; nothing of what they fix."""
        left = rows - rows @ np.linalg.pinv(self.gradient) @ self.gradient
        size = FIXED_BY_EQUATIONS * np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
        return np.where(np.abs(left).max(axis=1, keepdims=True, initial=0.0) <= size, 0.0, left)


@dataclass(frozen=True, repr=False)
class Fit:
    """Everything that is known after a fit.

    Attributes
    ----------
    layout : Layout
    design : Design
        Cells the model was fitted to.
    search : Search
        All optima found; the best is ``optimum``.
    tangent : TangentBasis
        At the estimated scores; free coordinates are taken along it.
    separation : Separation or None
        What runs to infinity, if the estimate does not exist.
    method : str
    information : {"expected", "observed"}
        Behind the model-based covariance.
    penalty : Penalty or None
    history : AlternatingRun or None
    choice : CovarianceChoice
    restriction : Restriction or None
        What the estimate was held to.
    start_params : ndarray or None
        Where a user let the search begin.
    n_held : int
        Coefficients of covariates that are held at zero, and no parameters.
    """

    layout: Layout
    design: Design
    search: Search
    tangent: TangentBasis
    separation: Separation | None
    method: str
    information: str = "expected"
    penalty: Penalty | None = None
    history: AlternatingRun | None = None
    choice: CovarianceChoice = CovarianceChoice()
    restriction: Restriction | None = None
    start_params: np.ndarray | None = None
    n_held: int = 0

    @property
    def name(self) -> str:
        """Short name of the model, with what its estimate was held to."""
        held = self.restriction
        return self.layout.description + ("" if held is None else f" | {', '.join(held.labels)}")

    def __repr__(self) -> str:
        return (
            f"{self.name}: {self.n_comparisons:,.10g} comparisons of {len(self.layout.items)} items by "
            f"{counted(len(self.layout.judges), 'judge')}, log-likelihood {self.loglike:.1f} with {self.df:g} parameters"
        )

    # Where it is

    @property
    def optimum(self) -> Optimum:
        """The best optimum found."""
        return self.search.best

    @property
    def at(self) -> Coefficients:
        """Estimated scores and linear coefficients."""
        return self.search.best.at

    @cached_property
    def parts(self) -> Decomposition:
        """Consensus, sensitivity and disagreement as arrays."""
        parts = self.layout.decompose(self.at)
        return parts if self._like is None else aligned(parts, self._like)

    @property
    def _like(self) -> Decomposition | None:
        return None if self.restriction is None else self.restriction.like

    @property
    def residual(self) -> np.ndarray:
        """Scores beyond the consensus, shape (n_judges, n_items)."""
        return self.at.scores - np.outer(self.parts.gamma, self.parts.mu)

    @cached_property
    def params(self) -> np.ndarray:
        """Reported parameters, shape (n_params,)."""
        return self.layout.pack(self.at, self.parts)

    @property
    def params_free(self) -> np.ndarray:
        """The estimate in free coordinates, shape (n_free,)."""
        return self.layout.to_free(self.at, self.tangent)

    @property
    def slope(self) -> np.ndarray:
        """Gradient of the log-likelihood by the free coordinates; zero at a maximum that is not held to anything."""
        return -free_gradient(gradient(self.design, evaluate(self.design, self.at)), self.tangent, self.design)

    @property
    def quantities(self) -> Quantities:
        """Everything a contrast can mention."""
        return Quantities(self.layout, self.at, self.tangent, self.design.response, self._like)

    @property
    def loglike(self) -> float:
        """Log-likelihood of the individual comparisons, without binomial constants."""
        return -self.optimum.negative_loglike

    @cached_property
    def n_comparisons(self) -> float:
        """Total weight of the comparisons."""
        return float(self.design.n.sum())

    @property
    def n_worth(self) -> float:
        """Comparisons of these judges that would give such errors."""
        return self.n_comparisons

    @cached_property
    def null_loglike(self) -> float:
        """Log-likelihood of coin flips; with further verdicts, of coin flips and their overall shares.

        With an offset the coins are loaded as it says.
        """
        design = self.design
        if not design.has_offset:
            return design.response.null_loglike(design.n, design.counts)
        return -_null_value(design)

    @property
    def aic(self) -> float:
        """Akaike's information criterion."""
        return -2.0 * self.loglike + 2.0 * self.df

    @property
    def bic(self) -> float:
        """Schwarz's information criterion."""
        return -2.0 * self.loglike + math.log(self.n_comparisons) * self.df

    @cached_property
    def df(self) -> float:
        """Number of free parameters; of those a ridge holds, what is left of them."""
        ridge = NO_RIDGE if self.penalty is None else self.penalty.ridge
        if not ridge:
            return float(self.n_moving - self.n_held)
        # Trace of (information + ridge)^-1 information; the ridge is a diagonal less squared means over judges.
        held = np.repeat([ridge.terms, ridge.scores], [self.layout.n_linear, self.tangent.n_free])
        touched = np.flatnonzero(held)
        variances = self.model_covariance.variances(np.eye(len(held))[touched])
        means, weights = ridge.means(self.design, self.tangent)
        return float(len(held) - held[touched] @ variances + weights @ self.model_covariance.variances(means))

    @property
    def n_moving(self) -> int:
        """Number of free coordinates less that of the equations they are held to."""
        return self.layout.n_free - (0 if self.restriction is None else self.restriction.df)

    # Whether it is one

    @property
    def converged(self) -> bool:
        """Stationary, a minimum, identified, and finite."""
        return self.optimum.converged and self.is_identified and self.separation is None

    @cached_property
    def is_identified(self) -> bool:
        """Whether the data determine every free coordinate."""
        # Of scores without further terms that comparisons link, there is often no need for a covariance to tell.
        is_plain = self.penalty is None and self.separation is None and self.design.is_plain
        if is_plain and self.optimum.converged:
            if (
                self.tangent.n_free == self.design.n_items - 1
                and not self.tangent.judge_items.shape[1]
                and pooled_condition(self.design, self.at.scores[0]) < SINGULAR_CONDITION
            ):
                return True
            if not self.tangent.shared_judges.shape[1] and self.design.n_items > limits.DENSE_OWN_ITEMS:
                curvature = evaluate(self.design, self.at).curvature
                return bool(curvature.min() > curvature.max() / SINGULAR_CONDITION)
        return self.model_covariance.is_identified

    @cached_property
    def item_properties(self) -> list[str]:
        """Names of covariates that in every comparison are the difference of a value of the two items."""
        design, names = self.design, []
        for scope, columns, terms in (
            ("common", design.shared_terms, design.terms.shared),
            ("judge", design.judge_terms, design.terms.own),
        ):
            wanted = set(design.terms.covariates(scope))
            names += [
                term.name
                for term, column in zip(terms, columns.T, strict=True)
                if term.name in wanted and _is_potential(design, column)
            ]
        return names

    # How precise it is

    @cached_property
    def model_covariance(self) -> FreeCovariance | LargeCovariance:
        """Inverse information of the free coordinates; computed when first asked for."""
        if self.restriction is not None:
            information = information_at(self.design, self.at, self.tangent, self.information)
            if self.information == "observed":
                if self.restriction.bending is None:
                    raise OptionError(
                        "constraints given as functions have standard errors from the expected information only: write them as "
                        "strings, or pass ",
                        Hint("information", "expected"),
                        ".",
                    )
                information = information + self.restriction.bending
            return invert_along(information, self.restriction.gradient)
        ridge = NO_RIDGE if self.penalty is None else self.penalty.ridge
        return covariance_at(self.design, self.at, self.tangent, self.information, ridge)

    @property
    def covariance(self) -> Covariance:
        """Covariance of the free coordinates that standard errors come from; of none where they are withheld."""
        if self.why_no_errors:
            # A weak consensus says nothing against linear coefficients.
            return NoCovariance(self.layout.n_free, self._chosen if self.is_weak else None, self.layout.n_linear)
        return self._chosen

    @property
    def _chosen(self) -> Covariance:
        return self.model_covariance if self.choice.covariance is None else self.choice.covariance

    @property
    def why_no_errors(self) -> str:
        """Why standard errors, and all that follows from them, are withheld from an estimate that is determined; or nothing."""
        if self.penalty is not None and self.penalty.why_no_errors:
            return self.penalty.why_no_errors
        if not self.is_weak:
            return ""
        return (
            "the judges tell too little about the consensus for standard errors of scores and sensitivities to hold, which are "
            "withheld: BTLModel, in which all judges are alike, has some that do."
        )

    @cached_property
    def is_weak(self) -> bool:
        """Whether scores that are sensitivities times a consensus are so close together that their errors do not hold.

        With 8 judges and 10 items, intervals of the consensus covered 0.80 at an information of 4 per judge, 0.94 at 12. Estimates
        without bias need as much for every item only: those of 100 judges with 15 verdicts each covered 0.91 to 0.95.
        """
        structure, design = self.layout.structure, self.design
        is_free = self.penalty is None or not self.penalty.has_likelihood
        if not structure.has_sensitivities or structure.rank or design.n_judges == 1 or not is_free:
            return False
        differences = score_differences(design, self.at.scores)
        needed = design.n_judges if self.penalty is None else design.n_items - 1
        return float(evaluate(design, self.at).curvature @ differences**2) < WEAK * needed

    def widened(self, layout: Layout, design: Design, kept: np.ndarray) -> Fit:
        """The fit as one of a model with more covariates, in which the others have coefficient zero, known without error.

        Parameters
        ----------
        kept : ndarray of int
            Which covariates of the larger model, the first of its shared terms, this one has.
        """
        n_more = len(layout.terms.shared) - len(self.layout.terms.shared)
        n_covariates = len(kept) + n_more
        places = np.concatenate([kept, np.arange(n_covariates, layout.n_free)]).astype(int)
        shared = np.zeros(len(layout.terms.shared))
        shared[places[: len(self.at.shared)]] = self.at.shared
        wider = np.zeros((2, layout.n_free, layout.n_free))
        for matrix, own in zip(
            wider, (self.model_covariance.covariance, self.model_covariance.information), strict=True
        ):
            matrix[np.ix_(places, places)] = own
        of_model = FreeCovariance(wider[0], wider[1], self.model_covariance.condition)
        choice = self.choice
        if choice.covariance is not None:
            covariance = np.zeros_like(of_model.covariance)
            covariance[np.ix_(places, places)] = choice.covariance.covariance
            choice = replace(choice, covariance=DenseCovariance(covariance))
        best = replace(self.optimum, at=replace(self.at, shared=shared))
        found = replace(self.search, best=best)
        wide = replace(self, layout=layout, design=design, search=found, choice=choice, n_held=n_more)
        # Judged where it was fitted: covariates that are held determine nothing, and need not be determined.
        wide.__dict__.update(is_identified=self.is_identified, is_weak=self.is_weak, model_covariance=of_model)
        return wide

    def without_rows(self) -> Fit:
        """The fit without what is as long as the data: row by row covariances, and cells that are single rows.

        Cells are single rows where there are covariates or an offset. Estimates, the covariance and what was found out about them
        stay. Fits too large for a matrix, and those without a finite estimate, need their cells and keep them.
        """
        chosen, small = self.choice.covariance, self.layout.n_free <= limits.LARGEST_SANDWICH
        if chosen is not None and small and not isinstance(chosen, DenseCovariance):
            chosen = DenseCovariance(chosen.covariance)
        facts = {name: value for name, value in self.choice.facts.items() if not isinstance(value, list)}
        light = replace(self, choice=replace(self.choice, covariance=chosen, facts=facts))
        is_long = self.design.has_offset or any(term.kind is None for term in self.design.terms)
        if is_long and self.separation is None and isinstance(self.model_covariance, DenseCovariance):
            known = {name: getattr(self, name) for name, kind in vars(Fit).items() if isinstance(kind, cached_property)}
            known.pop("_expected")
            removed = RemovedCells(self.design.terms, self.design.response, has_offset=self.design.has_offset)
            light = replace(light, design=cast(Design, removed))
            light.__dict__.update(known)
        return light

    def with_information(self, information: str) -> Fit:
        """The fit with its covariance from another information."""
        if information == self.information and self.choice.covariance is None:
            return self
        return replace(self, information=information, choice=CovarianceChoice())

    @property
    def jacobian(self) -> np.ndarray:
        """Derivative of the reported parameters by the free coordinates, shape (n_params, n_free)."""
        return self.along(self.layout.jacobian(self.at, self.tangent, self.parts))

    def along(self, rows: np.ndarray) -> np.ndarray:
        """Gradients (m, n_free) along what the estimate is held to; as they are, if it is held to nothing."""
        return rows if self.restriction is None else self.restriction.along(rows)

    def rows(self, positions: np.ndarray) -> np.ndarray:
        """The Jacobian of some of the parameters, shape (m, n_free); row by row where that of all does not fit."""
        layout = self.layout
        if len(layout.names) * layout.n_free <= limits.ENTRIES_AT_ONCE:
            return self.jacobian[positions]
        rows, quantities = np.zeros((len(positions), layout.n_free)), self.quantities
        mu = layout.slices.get("mu", slice(0, 0))
        is_mean = (positions >= mu.start) & (positions < mu.stop)
        if is_mean.any():
            # Most of the parameters, and the same for all judges.
            items = np.zeros((int(is_mean.sum()), len(layout.items)))
            items[np.arange(len(items)), positions[is_mean] - mu.start] = 1.0
            rows[is_mean] = self.consensus_rows(items)
        for i in np.flatnonzero(~is_mean):
            rows[i] = quantities.gradient(*layout.quantity(positions[i]))
        return self.along(rows)

    def consensus_rows(self, items: np.ndarray) -> np.ndarray:
        """Derivative of item vectors (m, n_items) times the consensus by the free coordinates, shape (m, n_free)."""
        rows = np.zeros((len(items), self.layout.n_free))
        rows[:, self.layout.n_linear :] = mean_rows(items, self.tangent)
        return self.along(rows)

    def in_parts(self, n_rows: int) -> list[np.ndarray]:
        """Positions of rows over the free coordinates, as many at a time as fit."""
        everything, n_parts = np.arange(n_rows), math.ceil(n_rows * self.layout.n_free / limits.ENTRIES_AT_ONCE)
        return np.array_split(everything, min(n_parts, n_rows)) if n_parts > 1 else [everything]

    def errors(self, positions: np.ndarray, less: np.ndarray | None = None) -> np.ndarray:
        """Standard errors of some of the parameters, or of what they are beyond a quantity with gradient ``less``.

        Not a number, with a warning, where they would take hours.
        """
        if not self.covariance.can_solve(len(positions)):
            warnings.warn(
                f"standard errors of {len(positions):,} parameters of {len(self.layout.items):,} items are left out: they "
                "would take hours. Ask for those you need, with estimates('mu', labels) or contrast; summary() shows the "
                "first and last.",
                CovarianceWarning,
                stacklevel=3,
            )
            return np.full(len(positions), np.nan)
        variances = []
        for some in self.in_parts(len(positions)):
            rows = self.rows(positions[some])
            variances.append(self.covariance.variances(rows if less is None else rows - less))
        return np.sqrt(np.concatenate([np.zeros(0), *variances]))

    def check_matrix(self, n: int) -> None:
        """Refuse a covariance matrix of more parameters than fit in memory.

        Raises
        ------
        SizeError
        """
        if n > limits.LARGEST_MATRIX:
            raise SizeError(
                f"a covariance matrix of {n:,} parameters would take {8e-9 * n**2:,.0f} GB: ask for contrast, t_test, "
                "wald_test or estimates of those that matter."
            )

    # Kinds of parameters

    def labels(self, kind: str) -> tuple[tuple[str, ...], str]:
        """Whose parameters of a kind there are, and what they are called.

        Raises
        ------
        ContrastError
            If there are none of the kind.
        """
        layout = self.layout
        kinds = ["mu", "gamma", *layout.terms.own_names, *layout.terms.shared_names]
        if not isinstance(kind, str) or kind not in kinds:
            raise ContrastError(f"kind must be one of {quoted(kinds, len(kinds))}, got {kind!r}.")
        if kind in layout.terms.shared_names:
            return ("all judges",), "judge"
        return (layout.items, "item") if kind == "mu" else (layout.judges_with(kind), "judge")

    def positions(self, kind: str, labels: Sequence[str] | None = None) -> np.ndarray:
        """Positions of some judges or items among those that have a kind of parameter; of all by default.

        Raises
        ------
        ContrastError
            For labels that are not there.
        """
        known, name = self.labels(kind)
        if labels is None:
            return np.arange(len(known))
        place = {label: i for i, label in enumerate(known)}
        wanted = [str(label) for label in listed("labels", labels, "names")]
        if unknown := [label for label in wanted if label not in place]:
            raise ContrastError(f"no {name} is called {quoted(unknown)}; there are {quoted(known)}.")
        return np.array([place[label] for label in wanted], dtype=int)

    def vector(self, kind: str, some: np.ndarray) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
        """Labels, estimates and Jacobian of some of one kind of parameter, reported or implied by the scores."""
        layout = self.layout
        labels = layout.items if kind == "mu" else layout.judges_with(kind)
        names = tuple(labels[i] for i in some)
        if kind in layout.slices:
            positions = layout.slices[kind].start + some
            return names, self.params[positions], self.rows(positions)
        values = {"mu": self.parts.mu, "gamma": self.parts.gamma}[kind][some]
        if kind == "gamma" and not layout.structure.judges_differ:
            return names, values, np.zeros((len(some), layout.n_free))
        implied = anchor_jacobian(self.parts.gamma, self.parts.mu, self.residual, self.tangent)
        rows = (implied[: len(layout.judges)] if kind == "gamma" else implied[len(layout.judges) :])[some]
        return names, values, self.along(np.hstack([np.zeros((len(rows), layout.n_linear)), rows]))

    def estimates(self, kind: str, some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Some estimates and standard errors of a kind; not a number where they are withheld."""
        layout = self.layout
        if kind in layout.slices:
            where, runs_away = layout.slices[kind], self.is_separated[layout.slices[kind]]
            less = self._mean_row(kind, where.start + np.flatnonzero(~runs_away)) if runs_away.any() else None
            error = self.errors(where.start + some, less)
            return self.shown[where][some], np.where(runs_away[some], np.nan, error)
        is_gone = np.asarray(self.is_infinite.any(axis=0 if kind == "mu" else 1))
        _, values, rows = self.vector(kind, np.arange(len(is_gone)))
        if kind == "mu" and is_gone.any() and not is_gone.all():
            centred = among_themselves(~is_gone)
            values, rows = centred @ values, centred @ rows
        error = np.sqrt(self.covariance.variances(rows[some]))
        return np.where(is_gone, np.nan, values)[some], np.where(is_gone[some], np.nan, error)

    # Parameters as tables show them

    @cached_property
    def _families(self) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """Kinds with the positions of parameters that belong together, and which of them run to infinity."""
        found: list[tuple[str, np.ndarray, np.ndarray]] = []
        for kind, where in self.layout.slices.items():
            positions = np.arange(where.start, where.stop)
            if kind == "S":
                by_judge = positions.reshape(self.is_infinite.shape)
                found += [(kind, own, gone) for own, gone in zip(by_judge, self.is_infinite, strict=True)]
            elif kind in ("U", "V"):
                # Loadings on a direction whose coordinates are not all known mean nothing, nor do the coordinates.
                is_gone = [self.is_separated[self.layout.slices[part]].reshape(self.layout.rank, -1) for part in "UV"]
                lost = np.any([part.any(axis=1) for part in is_gone], axis=0)
                found.append((kind, positions, np.repeat(lost, len(positions) // self.layout.rank)))
            else:
                found.append((kind, positions, self.is_separated[where]))
        return found

    def _mean_row(self, kind: str, finite: np.ndarray) -> np.ndarray | None:
        """Gradient of the mean of the finite scores: an infinite one would carry all others with it through the sum to zero."""
        if kind not in ("mu", "S") or not len(finite):
            return None
        if kind == "S":
            return self.rows(finite).mean(axis=0)
        items = np.zeros(len(self.layout.items))
        items[finite - self.layout.slices["mu"].start] = 1.0 / len(finite)
        return self.consensus_rows(items[None])[0]

    @cached_property
    def shown(self) -> np.ndarray:
        """Reported parameters, not a number where they run to infinity; scores sum to zero over the finite ones."""
        if self.separation is None:
            return self.params
        result = np.full(len(self.params), np.nan)
        for kind, positions, runs_away in self._families:
            finite = positions[~runs_away]
            mean = self.params[finite].mean() if kind in ("mu", "S") and len(finite) else 0.0
            result[finite] = self.params[finite] - mean
        return result

    def directions(self, kind: str) -> np.ndarray:
        """Loadings U or coordinates V as they are shown, a column for each direction; empty where these can be rotated."""
        if not self.layout.rank:
            return np.zeros((len(self.layout.judges if kind == "U" else self.layout.items), 0))
        values = self.shown[self.layout.slices[kind]].reshape(self.layout.rank, -1).T
        return np.where(self.is_ambiguous, np.nan, values)

    def shown_errors(self) -> np.ndarray:
        """Standard errors of what is shown, shape (n_params,)."""
        everything = np.arange(len(self.params))
        if self.separation is None:
            return self.errors(everything)
        result = np.full(len(self.params), np.nan)
        for kind, positions, runs_away in self._families:
            finite = positions[~runs_away]
            result[finite] = self.errors(finite, self._mean_row(kind, finite))
        return result

    def shown_covariance(self) -> np.ndarray:
        """Covariance of what is shown, shape (n_params, n_params).

        Raises
        ------
        SizeError
        """
        self.check_matrix(len(self.layout.names))
        if self.separation is None:
            return self.covariance.of(self.jacobian)
        rows = self.jacobian.copy()
        for kind, positions, runs_away in self._families:
            less = self._mean_row(kind, positions[~runs_away])
            rows[positions] -= 0.0 if less is None else less
        gone = np.isnan(self.shown)
        return np.where(gone[:, None] | gone, np.nan, self.covariance.of(rows))

    # What is withheld

    @cached_property
    def is_separated(self) -> np.ndarray:
        """Which reported parameters have no finite estimate; their rows are empty in every table, shape (n_params,)."""
        separation, layout = self.separation, self.layout
        if separation is None:
            return np.zeros(len(layout.names), dtype=bool)
        movement = np.abs(layout.derivative(separation.step, self.tangent, self.parts))
        if "mu" in layout.slices:
            # One score that rises makes all others fall through the sum to zero: what most of them do is no movement.
            moves = layout.derivative(separation.step, self.tangent, self.parts)[layout.slices["mu"]]
            movement[layout.slices["mu"]] = np.abs(moves - np.median(moves))
        affected = movement >= INVOLVED * max(float(movement.max()), 1e-300)
        if "S" in layout.slices:
            affected[layout.slices["S"]] = separation.is_affected.ravel()
        change = np.abs(self._further_out(separation.step) - self.params)
        for kind in {"gamma", "U", "V"} & set(layout.slices):
            block = layout.slices[kind]
            moved, size = change[block], np.abs(self.params[block])
            # The leading judge's sensitivity may have settled at its largest possible value while the others still fall.
            leads = moved.max(initial=0.0) <= 0.1 * size.max(initial=0.0)
            affected[block] = not (leads and np.median(moved) <= 0.1 * np.median(size))
        if separation.even_odds.size:
            jacobian = self.jacobian
            for kind, block in layout.slices.items():
                rows = jacobian[block]
                affected[block] |= self.is_open(among_themselves(~affected[block]) @ rows if kind == "mu" else rows)
        if layout.rank and affected[layout.slices["U"]].all():
            # Coordinates of a disagreement nobody's share in is known.
            affected[layout.slices["V"]] = True
        return affected

    def _further_out(self, step: np.ndarray) -> np.ndarray:
        """Reported parameters twice as far along the direction of a separation."""
        length = float(np.abs(self.at.scores).max())
        try:
            return self.layout.pack(self.layout.from_free(self.params_free + length * step, self.tangent))
        except AnchoringError:
            return np.full(len(self.params), np.nan)

    def is_open(self, rows: np.ndarray) -> np.ndarray:
        """Which quantities with the given Jacobian the verdicts say nothing about because of a separation, shape (m,).

        Their expected information is next to nothing against what the same comparisons would tell at even odds.
        """
        separation = self.separation
        if separation is None or not separation.even_odds.size:
            return np.zeros(len(rows), dtype=bool)
        possible = DenseCovariance(separation.even_odds).variances(rows)
        known = self._expected.model_covariance.variances(rows)
        return ~(known <= OPEN**2 * possible + 1e-20)

    @cached_property
    def _expected(self) -> Fit:
        return self.with_information("expected")

    def is_withheld(self, kind: str) -> bool:
        """Whether a whole block of parameters, such as ``"gamma"``, has no finite estimate."""
        where = self.layout.slices.get(kind)
        return where is not None and bool(self.is_separated[where].all())

    @cached_property
    def is_infinite(self) -> np.ndarray:
        """Which scores run to infinity or are those of a judge that nothing is known about, shape (n_judges, n_items)."""
        separation, n_judges = self.separation, len(self.layout.judges)
        if separation is None:
            return np.zeros((n_judges, self.tangent.n_items), dtype=bool)
        result = separation.is_affected
        for k in range(n_judges):
            rows = among_themselves(~result[k]) @ score_rows(self.tangent, k, self.layout.n_linear)
            result[k] |= self.is_open(rows[~result[k]]).any()
        return result

    @cached_property
    def has_consensus(self) -> bool:
        """Whether the consensus can be told from none at all; without one, sensitivities to it mean nothing."""
        layout, kind = self.layout, "beta" if "beta" in self.layout.slices else "mu"
        where = layout.slices.get(kind, slice(0, 0))
        if not layout.structure.has_sensitivities or len(layout.judges) == 1 or not self._chosen.is_finite:
            return True
        if self.is_separated[where].all():
            # Not determined, which is another thing than none.
            return True
        # The Wald statistic of mu = 0 is the largest squared z value of any weighted sum of the scores. That of one sum, whose
        # weights would be the best if all else were known, nearly always suffices.
        mu = self.params[where]
        if stats.chi2.sf(self._consensus_statistic(), len(mu) - (kind == "mu")) < NO_CONSENSUS:
            return True
        if not self._chosen.can_solve(len(mu)):
            return True
        rows = self.rows(np.arange(where.start, where.stop))
        if kind == "mu":
            # In coordinates that know of the sum to zero, so that no rank has to be found.
            mu, rows = in_centred_basis(mu[None])[0], in_centred_basis(rows.T).T
        covariance = self._chosen.of(rows)
        try:
            statistic = mu @ cho_solve(cho_factor(covariance), mu)
        except LinAlgError:
            return True
        return bool(stats.chi2.sf(statistic, len(mu)) < NO_CONSENSUS)

    def _consensus_statistic(self) -> float:
        """Squared z value of the consensus weighted by the information about it, were sensitivities and disagreement known."""
        design, parts = self.design, self.parts
        curvature = evaluate(design, self.at).curvature
        differences = score_differences(design, np.outer(parts.gamma, parts.mu))
        weights = parts.gamma @ design.sum_by_score(curvature * differences)
        variance = float(self._chosen.variances(self.consensus_rows(weights[None]))[0])
        return float(weights @ parts.mu) ** 2 / variance if variance > 0.0 else 0.0

    @cached_property
    def is_ambiguous(self) -> np.ndarray:
        """Which directions are not clearly stronger or weaker than a neighbour, so that U and V can be rotated, shape (rank,)."""
        U, rank = self.parts.U, self.layout.rank
        result = np.zeros(rank, dtype=bool)
        if rank < 2 or not self.covariance.is_finite:
            return result
        strength = np.linalg.norm(U, axis=0)
        where = self.layout.slices["U"]
        loadings = self.rows(np.arange(where.start, where.stop)).reshape(rank, len(U), -1)
        gaps = np.diff(np.einsum("kr,rkd->rd", U / strength, loadings), axis=0)
        close = -np.diff(strength) < DISTINCT_STRENGTHS * np.sqrt(self.covariance.variances(gaps))
        result[:-1] |= close
        result[1:] |= close
        return result

    @cached_property
    def standing(self) -> np.ndarray:
        """Items without a finite score that are ahead of all finite ones (1) or behind them (-1), shape (n_items,); 0 for others.

        An item is ahead if it has beaten them, or others that have, and none of them has beaten it in this way: then every
        direction in which the likelihood rises moves it ahead. Where no score is finite, it must be ahead of all others.
        """
        result = np.zeros(len(self.layout.items))
        if self.separation is None:
            return result
        design, scores = self.design, self._consensus
        won = np.concatenate([design.y, design.n - design.y]) > 0
        pairs = np.concatenate([[design.first, design.second], [design.second, design.first]], axis=1)[:, won]
        beats = sparse.csr_array((np.ones(won.sum()), (pairs[0], pairs[1])), shape=(len(result), len(result)))
        is_target = np.isfinite(scores) if np.isfinite(scores).any() else np.ones(len(result), dtype=bool)
        for i in np.flatnonzero(np.isnan(scores)):
            others = np.setdiff1d(np.flatnonzero(is_target), [i])
            below, above = (
                csgraph.breadth_first_order(g, i, return_predecessors=False) for g in (beats, beats.T.tocsr())
            )
            is_ahead, is_behind = np.isin(others, below), np.isin(others, above)
            result[i] = float(is_ahead.all() and not is_behind.any()) - float(is_behind.all() and not is_ahead.any())
        return result

    @property
    def ahead(self) -> list[str]:
        """Items that are ahead of all finite ones, or of all others if none is finite."""
        return [item for item, where in zip(self.layout.items, self.standing, strict=True) if where > 0]

    @cached_property
    def _consensus(self) -> np.ndarray:
        """Consensus scores as they are shown."""
        if self.separation is None:
            return self.parts.mu
        mu = self.layout.slices.get("mu")
        if mu is not None:
            return self.shown[mu]
        runs_away = self.is_infinite.any(axis=0)
        scores = np.where(runs_away, np.nan, self.parts.mu)
        return scores - (np.nanmean(scores) if not runs_away.all() else 0.0)

    @cached_property
    def best_first(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the items, best first, and their scores, which sum to zero.

        Those without a finite score are first or last if they run ahead of all others or behind them; the rest of them come
        before the latter.
        """
        scores = self._consensus
        order = np.lexsort((-np.nan_to_num(scores), np.isnan(scores) & (self.standing == 0), -self.standing))
        return order, scores[order]

    def weakest_direction(self, n: int = 4) -> list[str]:
        """Names of the reported parameters that move most along the least determined direction.

        Raises
        ------
        SizeError
            For more parameters than fit in a matrix.
        """
        self.check_matrix(self.layout.n_free)
        information = self.model_covariance.information
        scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
        vector = np.linalg.eigh(information / np.outer(scale, scale))[1][:, 0] / scale
        movement = np.abs(self.jacobian @ (vector / np.linalg.norm(vector)))
        order = np.argsort(-movement, kind="stable")[:n]
        return [self.layout.names[i] for i in order if movement[i] > 0.1 * movement[order[0]]]

    def need_free(self, what: str) -> None:
        """Refuse what would fit again without what the estimate is held to.

        Raises
        ------
        IdentificationError
        """
        if self.restriction is not None:
            raise IdentificationError(
                f"{what} is not available for a fit that is held to {quoted(self.restriction.labels, 3)}: it would fit again "
                "without these constraints."
            )

    def need_converged(self, why: str) -> None:
        """Refuse what only makes sense at a finite, determined estimate.

        Raises
        ------
        IdentificationError
        """
        if not self.converged:
            raise IdentificationError(why)


def assess(
    layout: Layout,
    design: Design,
    found: Search,
    *,
    method: str,
    information: str,
    history: AlternatingRun | None = None,
    penalty: Penalty | None = None,
    start_params: np.ndarray | None = None,
) -> Fit:
    """The fit at the optimum of a search: its tangent basis, and whether the estimate exists."""
    at = found.best.at
    tangent = layout.structure.tangent(at.scores)
    # Under a penalty on everything no direction can run away.
    is_held = penalty is not None and not found.best.diverges
    separation = None if is_held else find_separation(design, at, tangent, diverges=found.best.diverges)
    fit = Fit(layout, design, found, tangent, separation, method, information, penalty, history)
    return fit if start_params is None else replace(fit, start_params=start_params)


def which_information(information: str | None, cov_type: str) -> str:
    """The information a covariance is made of.

    Raises
    ------
    OptionError
    """
    if information is None:
        return "expected" if isinstance(cov_type, str) and cov_type == "nonrobust" else "observed"
    if not isinstance(information, str) or information not in ("expected", "observed"):
        raise OptionError(f"information must be 'expected' or 'observed', got {information!r}.")
    return information


def _null_value(design: Design) -> float:
    """Negative log-likelihood of the offset alone, with the best common value of the response's own parameters."""
    response, eta = design.response, design.offset[:, 0]
    own = response.start(design.n, design.counts)
    # Newton steps of a concave function of a few parameters from a start nearby.
    for _ in range(20 if len(own) else 0):
        here = response.derivatives(eta, np.tile(own[:, None], len(eta)), design.n, design.y, design.counts)
        assert here.own_slope is not None
        assert here.own_curvature is not None
        own = own - np.linalg.solve(here.own_curvature.sum(axis=-1), here.own_slope.sum(axis=-1))
    predictors = np.tile(own[:, None], len(eta)) if len(own) else None
    return float(response.derivatives(eta, predictors, design.n, design.y, design.counts).value)


def _is_potential(design: Design, column: np.ndarray) -> bool:
    """Whether a column is the difference of a value of the items, first minus second."""
    signs = np.repeat([1.0, -1.0], len(column))
    places = np.tile(np.arange(len(column)), 2), np.concatenate([design.first, design.second])
    incidence = sparse.csr_array((signs, places), shape=(len(column), design.n_items))
    values = lsqr(incidence, column, atol=1e-13, btol=1e-13)[0]
    return bool(np.abs(incidence @ values - column).max(initial=0.0) <= 1e-8 * np.abs(column).max(initial=0.0))


def among_themselves(is_finite: np.ndarray) -> np.ndarray:
    """The matrix that subtracts from scores the mean of the finite ones."""
    return np.eye(len(is_finite)) - is_finite / max(is_finite.sum(), 1)


def pooled_condition(design: Design, scores: np.ndarray) -> float:
    """A bound on the condition number of the information about pooled scores of items that comparisons link.

    No item has more information than n_items times a pair's largest; and every direction has as much as the weakest pair's over
    the longest possible path between two items, 4 / n_items^2.
    """
    # Further out there is no bound worth the name.
    largest = min(float(np.ptp(scores)), 100.0)
    weakest = float(design.n.min()) / (2.0 + np.exp(largest) + np.exp(-largest))
    return design.n_judges * design.n_items**3 * float(design.n.max()) / (8.0 * max(weakest, 1e-300))
