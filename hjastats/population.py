"""A fit of judges as a sample: a :class:`~hjastats.fitted.Fit` whose parameters are those of the population judges are drawn from.

Scores and coefficients of single judges (``at``, ``parts``) are predictions: means given their verdicts, at the estimated
population.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from .errors import ContrastError
from .fitted import DISTINCT_STRENGTHS, CovarianceChoice, Fit
from .model.decomposition import Decomposition
from .model.design import Coefficients
from .model.population import Population, PopulationLayout, Reported
from .model.quantities import LENGTHS, ParameterView, Quantities
from .model.response import Response
from .model.structures import Pooled
from .solve.draws import TasteMarginal
from .solve.marginal import Marginal
from .solve.population import PopulationOptimum
from .solve.precision import FreeCovariance, invert_along
from .solve.search import Search
from .solve.trust import Optimum

_NO_CONTRASTS = "judges are a sample here, and single ones have predictions, no parameters to compare: "


class PopulationQuantities(Quantities):
    """Everything a contrast can mention about a population: its parameters.

    Parameters
    ----------
    at : Coefficients
        Predictions of the judges at hand, of which tables show sizes; contrasts do not know them.
    told : Decomposition
        The same in parts.
    """

    def __init__(
        self,
        layout: PopulationLayout,
        population: Population,
        response: Response,
        at: Coefficients,
        told: Decomposition,
    ) -> None:
        super().__init__(layout, at, None, response)
        self.population_layout, self.population, self._told = layout, population, told
        self.params = layout.report(population)

    @cached_property
    def kinds(self) -> dict[str, tuple[str, ...]]:
        """Indexed kinds and what indexes them."""
        kinds: dict[str, tuple[str, ...]] = {"mu": ("item",), "sd": ("effect",)}
        return kinds | ({"V": ("item", "direction"), "corr": ("sensitivity", "loading")} if self.layout.rank else {})

    @property
    def parts(self) -> Decomposition:
        """Consensus and directions of the population, predicted sensitivities and loadings of the judges."""
        return self._told

    @property
    def plain_names(self) -> tuple[str, ...]:
        """Coefficients of all judges, and means of those judges have for themselves."""
        return (*self.layout.terms.shared_names, *self.layout.terms.own_names)

    @cached_property
    def _positions(self) -> dict[str, dict[str, int]]:
        effects = {name: i for i, name in enumerate(self.population_layout.effects)}
        loadings = {name: i for name, i in effects.items() if 1 <= i <= self.layout.rank}
        return {**super()._positions, "effect": effects, "sensitivity": {"gamma": 0}, "loading": loadings}

    def label(self, kind: str, index: tuple[int, ...]) -> str:
        """The name of one parameter."""
        return self.layout.names[self._place(kind, index)]

    def _place(self, kind: str, index: tuple[int, ...]) -> int:
        start = self.layout.slices[kind].start
        if kind == "V":
            return start + index[1] * len(self.layout.items) + index[0]
        if kind == "corr":
            return start + index[1] - 1
        return start + (index[0] if index else 0)

    def value(self, kind: str, index: tuple[int, ...] = ()) -> float:
        """Value of one parameter, or size of a judge's predicted disagreement."""
        if kind in LENGTHS:
            return super().value(kind, index)
        return float(self.params[self._place(kind, index)])

    @cached_property
    def _jacobian(self) -> np.ndarray:
        return self.population_layout.report_jacobian(self.population)

    def gradient(self, kind: str, index: tuple[int, ...] = ()) -> np.ndarray:
        """Gradient of one parameter by the coordinates, shape (n_free,)."""
        return self._jacobian[self._place(kind, index)]

    @property
    def free(self) -> np.ndarray:
        """The population in its coordinates."""
        return self.population_layout.space.pack(self.population)

    def moved(self, free: np.ndarray) -> PopulationQuantities:
        """The same at other coordinates."""
        there = self.population_layout.space.unpack(free)
        return PopulationQuantities(self.population_layout, there, self.response, self.at, self._told)

    def view(self) -> ParameterView:
        """As a user's function sees them."""
        return PopulationView(self)


class PopulationView(ParameterView):
    """Labelled parameters of a population handed to a user's contrast function.

    Attributes
    ----------
    mu, sd : pandas.Series
    V : pandas.DataFrame
    params : pandas.Series
        All reported parameters under their names.
    """

    def __init__(self, quantities: PopulationQuantities) -> None:
        layout, params = quantities.population_layout, quantities.params
        self.params = pd.Series(params, layout.names)
        self.mu = pd.Series(params[layout.slices["mu"]], pd.Index(layout.items, name="item"), name="mu")
        self.sd = pd.Series(params[layout.slices["sd"]], list(layout.effects), name="sd")
        directions = (
            params[layout.slices["V"]].reshape(layout.rank, -1).T if layout.rank else np.zeros((len(self.mu), 0))
        )
        self.V = pd.DataFrame(directions, self.mu.index, range(1, layout.rank + 1))


@dataclass(frozen=True, repr=False)
class PopulationFit(Fit):
    """Everything that is known after a fit of judges as a sample.

    Free coordinates are those of :class:`~hjastats.model.population.Space`; the covariance is zero along movements that are none.

    Attributes
    ----------
    found : PopulationOptimum
    marginal : Marginal or TasteMarginal
        The likelihood, with the nodes of its quadrature, or its draws.
    """

    found: PopulationOptimum = None  # type: ignore[assignment]
    marginal: Marginal | TasteMarginal = None  # type: ignore[assignment]

    # Where it is

    @property
    def space_layout(self) -> PopulationLayout:
        """The layout as that of a population."""
        assert isinstance(self.layout, PopulationLayout)
        return self.layout

    @cached_property
    def population(self) -> Population:
        """The estimated population."""
        return self.marginal.space.unpack(self.found.values)

    @cached_property
    def reported(self) -> Reported:
        """It in the terms of the report."""
        return Reported.of(self.population)

    @cached_property
    def predicted(self) -> tuple[np.ndarray, np.ndarray]:
        """Means (n_judges, n_effects) and covariances of the judges' effects given their verdicts."""
        return self.marginal.posterior(self.found.values)

    @property
    def at(self) -> Coefficients:
        """Predicted scores and coefficients of the judges."""
        means, at = self.predicted[0], self.population
        return Coefficients(at.scores(means), at.coefficients(means), at.shared)

    @cached_property
    def parts(self) -> Decomposition:
        """Consensus and directions of the population, predicted sensitivities and loadings of the judges."""
        means, at, told = self.predicted[0], self.population, self.reported
        return Decomposition(told.gamma(at, means), told.mu, told.U(at, means), told.V)

    @cached_property
    def params(self) -> np.ndarray:
        """Reported parameters."""
        return self.space_layout.report(self.population)

    @property
    def params_free(self) -> np.ndarray:
        """The estimate in its coordinates."""
        return self.found.values

    @property
    def slope(self) -> np.ndarray:
        """Gradient of the log-likelihood by the coordinates."""
        return self.found.gradient

    @property
    def quantities(self) -> Quantities:
        """Everything a contrast can mention."""
        return PopulationQuantities(self.space_layout, self.population, self.design.response, self.at, self.parts)

    @property
    def bic(self) -> float:
        """Schwarz's criterion with the number of judges, which are what was drawn independently."""
        return -2.0 * self.loglike + math.log(len(self.layout.judges)) * self.df

    @cached_property
    def df(self) -> float:
        """Number of free parameters; variances that are zero count, too."""
        rank = self.layout.rank
        return float(self.marginal.space.n - rank * (rank - 1) // 2)

    @property
    def is_weak(self) -> bool:
        """No: sensitivities are integrated out, whatever the consensus."""
        return False

    @cached_property
    def is_identified(self) -> bool:
        """Whether the data determine the population."""
        return self.model_covariance.is_identified

    @property
    def absent(self) -> list[str]:
        """What judges do not differ in: standard deviations that are estimated as zero; sensitivities may still vary with taste."""
        names = self.space_layout.effects
        absent = [name for name, free in zip(names, self.found.is_free, strict=True) if not free]
        return [name for name in absent if name != "gamma" or not self.layout.rank]

    # How precise it is

    @cached_property
    def model_covariance(self) -> FreeCovariance:
        """Inverse of the observed information."""
        return invert_along(self.found.information, self.found.fixed)

    @property
    def _expected(self) -> Fit:
        return self

    def with_information(self, information: str) -> Fit:
        """The fit with the covariance of the model; there is but the observed information."""
        return replace(self, choice=CovarianceChoice())

    def without_rows(self) -> Fit:
        """The fit itself: what it knows about its judges rests on their cells."""
        return self

    @cached_property
    def jacobian(self) -> np.ndarray:
        """Derivative of the reported parameters by the coordinates."""
        return self.space_layout.report_jacobian(self.population)

    def rows(self, positions: np.ndarray) -> np.ndarray:
        """The Jacobian of some of the parameters."""
        return self.jacobian[positions]

    def consensus_rows(self, items: np.ndarray) -> np.ndarray:
        """Derivative of item vectors (m, n_items) times the consensus."""
        return items @ self.jacobian[self.layout.slices["mu"]]

    # Kinds of parameters

    def vector(self, kind: str, some: np.ndarray) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
        """Labels, estimates and Jacobian of the consensus."""
        if kind != "mu":
            raise ContrastError(
                _NO_CONTRASTS, f"the spread of {kind} is in .population, the judges' predictions in .scores."
            )
        return super().vector(kind, some)

    def estimates(self, kind: str, some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Estimates with standard errors of the population, or predictions of judges with their conditional errors."""
        own = self.layout.terms.own_names
        if kind != "gamma" and kind not in own:
            return super().estimates(kind, some)
        (means, covariances), at = self.predicted, self.population
        if kind == "gamma":
            weights = np.zeros(means.shape[1])
            weights[0], weights[1 : 1 + at.rank] = at.sensitivity, self.reported.along
            values = self.parts.gamma
        else:
            t = own.index(kind)
            weights = np.zeros(means.shape[1])
            weights[1 + at.rank + t] = at.sds[t]
            values = at.coefficients(means)[:, t]
        errors = np.sqrt(np.einsum("d,kde,e->k", weights, covariances, weights))
        return values[some], errors[some]

    @property
    def score_errors(self) -> np.ndarray:
        """Conditional standard errors of the judges' predicted scores, shape (n_judges, n_items)."""
        at = self.population
        weights = at.score_loading
        return np.sqrt(np.einsum("id,kde,ie->ki", weights, self.predicted[1], weights, optimize=True))

    @cached_property
    def is_ambiguous(self) -> np.ndarray:
        """Which directions are not clearly stronger or weaker than a neighbour."""
        rank, result = self.layout.rank, np.zeros(self.layout.rank, dtype=bool)
        if rank < 2 or not self.covariance.is_finite:
            return result
        start = self.layout.slices["sd"].start + 1
        gaps = np.diff(self.jacobian[start : start + rank], axis=0)
        close = -np.diff(self.reported.loadings) < DISTINCT_STRENGTHS * np.sqrt(self.covariance.variances(gaps))
        result[:-1] |= close
        result[1:] |= close
        return result

    def directions(self, kind: str) -> np.ndarray:
        """Predicted loadings U or coordinates V, a column for each direction; empty where these can be rotated."""
        return np.where(self.is_ambiguous, np.nan, self.parts.U if kind == "U" else self.parts.V)


def assess_population(
    layout: PopulationLayout, marginal: Marginal | TasteMarginal, found: PopulationOptimum
) -> PopulationFit:
    """The fit at the optimum of a search."""
    empty = Coefficients(np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0))
    value, path = -found.loglike, tuple(-loglike for loglike in found.path or (found.loglike,))
    best = Optimum(empty, value, value, found.distance, found.is_maximum, found.iterations, path)
    n_starts = 1 + len(found.others)
    search = Search(best, (value,), (n_starts,), 0)
    tangent = Pooled().tangent(np.zeros((len(layout.judges), len(layout.items))))
    method = "draws" if layout.has_taste else "quadrature"
    return PopulationFit(
        layout, marginal.design, search, tangent, None, method, "observed", found=found, marginal=marginal
    )
