"""The model of judges as a sample: a population of judges is what is estimated."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn, Self

import numpy as np
import pandas as pd
from joblib import effective_n_jobs
from statsmodels.tools.sm_exceptions import ConvergenceWarning

from .. import limits
from ..data.arrays import check_flag, check_jobs, check_option, check_whole, generator
from ..data.cells import take
from ..data.comparisons import Comparisons
from ..errors import CovarianceWarning, IdentificationError, OptionError
from ..fitted import Fit
from ..inference.clusters import Clusters
from ..inference.population import choose_population_covariance, simulate_population
from ..model.design import Design
from ..model.layout import Layout
from ..model.population import PopulationLayout, Space
from ..model.response import draw_outcomes
from ..model.structures import Sampled, ScoreStructure
from ..model.terms import Terms
from ..population import PopulationFit, assess_population
from ..population_results import PopulationResults
from ..solve.chunks import ChunkedMarginal, ChunkedTaste
from ..solve.draws import TasteMarginal
from ..solve.marginal import Marginal
from ..solve.population import PopulationOptimum, held_out_loss, optimum_at, search_population
from ..solve.taste import n_draws_for, search_taste, taste_optimum
from ..words import quoted
from .family import HJAModel

# Nodes of the quadrature for each effect, by the number of effects; more effects have the last.
NODES = {0: 1, 1: 11, 2: 7, 3: 5, 4: 5, 5: 3}


class PopulationHJAModel(HJAModel):
    """Judges as a sample: crowds, experts, students, voters, of whom there are many with few verdicts each.

    ``S_k = gamma_k mu + V U_k`` as in :class:`HJAModel`, but sensitivities ``gamma_k ~ N(1, sd^2)``, loadings U_k and effects
    that judges have for themselves are drawn from a population. They are integrated out; mu, V and the standard deviations are
    estimated by maximum marginal likelihood. Light judges shrink to the consensus, standard errors count the drawing of these
    judges, and there are predictions for judges nobody has seen yet.

    Parameters
    ----------
    endog, exog, judge, item_a, item_b, weights, counts, ties, judge_exog, offset, missing
        As in :class:`HJAModel`; coefficients of ``judge_exog`` are drawn, too.
    rank : int
        Number of disagreement directions; with 0 judges differ in their sensitivity only.
    position : {None, "common", "judge"}
        Log-odds bonus of the item shown first: none, the same for all judges, or drawn for each.
    tie : {"common", "judge"}
        The tie propensity of ``ties="davidson"``, and those of ``ties="adjacent"``, are the same for all judges, or drawn for
        each; thresholds of ``ties="ordinal"`` are the same.
    taste : bool
        Every judge has a taste of its own beyond the directions: ``e_k`` is added to its scores, independent over items with one
        standard deviation, sd[taste]. Predicts best where each judge compared everything. With ties as half wins or dropped.

    See Also
    --------
    HJAModel : parameters for each judge, for few judges with many verdicts each.

    Examples
    --------
    >>> import hjastats as hja
    >>> model = hja.PopulationHJAModel.from_comparisons(hja.datasets.load_panel(), rank=0, position="judge")
    >>> result = model.fit()
    >>> result.population[["estimate", "ci_lower", "ci_upper"]].round(2)
                  estimate  ci_lower  ci_upper
    parameter
    position          0.43     -0.12      0.99
    sd[gamma]         0.63      0.32      1.25
    sd[position]      0.80      0.47      1.34
    """

    takes_traits = ()
    no_traits = (
        "judges who are a sample have free scores; with traits of items they are fixed, HJAModel, or alike, BTLModel"
    )
    results_class = PopulationResults

    def __init__(self, endog: Any, exog: Any = None, *, rank: int = 0, taste: bool = False, **kwargs: Any) -> None:
        check_option("taste", taste, (False, True))
        self.taste = bool(taste)
        super().__init__(endog, exog, rank=rank, **kwargs)

    @classmethod
    def from_comparisons(cls, data: Any, exog: Any = None, *, taste: bool = False, **options: Any) -> Self:
        """Build the model from comparisons, or from anything :func:`read_comparisons` reads.

        Parameters
        ----------
        data, exog
            As of :meth:`HJAModel.from_comparisons`.
        taste : bool
        **options
            Its others: ``rank``, ``position``, ``ties``, ``tie``, ``judge_exog``, ``offset``.

        Examples
        --------
        >>> import hjastats as hja
        >>> hja.PopulationHJAModel.from_comparisons(hja.datasets.load_panel(), position="common").param_names[:2]
        ['position', 'mu[model-A]']
        """
        model = super().from_comparisons(data, exog, **options)
        return model if taste is False else cls(**model._same_data(), rank=model.rank, taste=taste)

    def _make_structure(self, rank: int, data: Comparisons) -> ScoreStructure:
        if data.n_judges < 2:
            raise IdentificationError(
                "one judge is no sample: how judges differ takes two or more. BTLModel ranks the items for this one."
            )
        if self.response.bend is None:
            raise OptionError(
                f"judges as a sample are not available with ties={self.ties!r}: use 'half', 'drop', 'davidson', 'ordinal' or "
                "'adjacent'."
            )
        if not self.response.is_natural and self.tie == "judge":
            raise OptionError(
                f"drawn thresholds of judges could cross: judges as a sample have those of all with ties={self.ties!r}, "
                "tie='common'. ties='adjacent' takes tie='judge'."
            )
        structure = Sampled(super()._make_structure(rank, data).rank, self.taste)
        if self.taste and self.response.parameters:
            raise OptionError(f"taste is not available with ties={self.ties!r}: use 'half' or 'drop'.")
        if self.taste and data.n_items - 2 <= structure.rank:
            raise IdentificationError(
                f"with {data.n_items} items and rank {structure.rank} a taste of their own cannot be told from the rest: "
                f"use taste=False, or a rank below {data.n_items - 2}."
            )
        return structure

    def _make_layout(self, terms: Terms) -> Layout:
        # Judges who never tie have a propensity like any other: low, not none.
        drawn = Terms(terms.shared, tuple(replace(term, held=()) for term in terms.own))
        return PopulationLayout(self.structure, self.comparisons.judges, self.comparisons.items, drawn)

    @property
    def population_layout(self) -> PopulationLayout:
        """Names and order of the parameters."""
        assert isinstance(self.layout, PopulationLayout)
        return self.layout

    def check_estimable(self) -> None:
        """Refuse data that cannot determine the population, before any fitting.

        Raises
        ------
        IdentificationError
            When items are not linked, an item is never preferred or always, or no judge gave two verdicts.

        Examples
        --------
        >>> import hjastats as hja
        >>> winner = ["first", "first", "second", "first"]
        >>> beaten = {"judge": list("jjkk"), "first": list("abab"), "second": list("bcbc"), "winner": winner}
        >>> model = hja.PopulationHJAModel.from_comparisons(hja.read_comparisons(beaten, first="first", second="second"))
        >>> model.check_estimable()
        Traceback (most recent call last):
            ...
        hjastats.errors.IdentificationError: all verdicts of all judges together put 'a', 'b' above 'c' without...
        """
        super().check_estimable()
        data = self.comparisons
        groups = data.connectivity.winning_groups
        if len(groups) > 1:
            low = min(groups, key=len)
            rest = [item for item in self.items if item not in low]
            up, down = (low, rest) if _beats(data, low) else (rest, low)
            raise IdentificationError(
                f"all verdicts of all judges together put {quoted(up)} above {quoted(down)} without exception, so the "
                f"average judge's "
                "scores have no finite estimate (a single judge who never contradicts itself is no problem here). Leave "
                "out the items "
                "that always win or lose, or use BTLModel(...).fit_regularized()."
            )
        if np.bincount(data.judge_index, data.weight, data.n_judges).max() <= 1.0:
            raise IdentificationError(
                "every judge gave one verdict: how judges differ cannot be told from chance. Use BTLModel, which is "
                "about the average "
                "verdict."
            )

    def fit(  # type: ignore[override]
        self,
        start_params: Any = None,
        *,
        n_quadrature: int | None = None,
        maxiter: int | None = None,
        cov_type: str = "nonrobust",
        cov_kwds: dict[str, Any] | None = None,
        n_random: int = 2,
        rng: int | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        warn_convergence: bool = True,
        **kwargs: Any,
    ) -> PopulationResults:
        """Maximum marginal likelihood.

        Parameters
        ----------
        start_params : array_like, optional
            Reported parameters to start from.
        n_quadrature : int, optional
            Nodes of the adaptive Gauss-Hermite quadrature for each effect of a judge; by default 11 for one effect, 7 for two, 5
            for three and four, 3 for more. One is Laplace's method, which is quick and, with few verdicts, biased.
            With individual taste, draws for each judge; by default 1,024, fewer for large data.
        maxiter : int, optional
            Steps of each start (default 200).
        cov_type : {"nonrobust", "cluster"}
        cov_kwds : dict, optional
            ``{"groups": "judge"}`` for standard errors that hold when the model of a judge's verdicts does not;
            ``{"groups": "prompt"}`` for clusters by prompt, in addition to judges.
        n_random : int
            Random starts beside the one that looks for the strongest direction, with rank 1 or more.
        rng : int or numpy.random.Generator
            Their randomness.
        n_jobs : int, optional
            Workers that take chunks of judges, -1 for one per processor; within ``joblib.parallel_config``, those of its backend:
            threads, processes, or the machines of a dask cluster. In this process by default.
        warn_convergence : bool

        Returns
        -------
        PopulationResults

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.PopulationHJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge")
        >>> result = model.fit()
        >>> result.converged, round(result.llf, 1), result.df_model
        (True, -1647.2, 21.0)
        """
        if kwargs:
            raise TypeError(f"{type(self).__name__}.fit takes no option called {quoted(kwargs)}.")
        check_whole("n_random", n_random, 0)
        check_jobs(n_jobs)
        check_flag("warn_convergence", warn_convergence)
        self.check_estimable()
        n_nodes = self._nodes(n_quadrature)
        start = None if start_params is None else self._coordinates(start_params)
        found = self._search(
            self.design,
            n_nodes,
            start=start,
            n_random=n_random,
            rng=rng,
            maxiter=200 if maxiter is None else maxiter,
            **({} if effective_n_jobs(n_jobs) == 1 else {"n_jobs": n_jobs}),
        )
        fit = assess_population(self.population_layout, self._likelihood(self.design, n_nodes, found.is_free), found)
        if n_nodes == 1 and warn_convergence:
            warnings.warn(
                CovarianceWarning(
                    "one node is Laplace's method, whose estimates are biased where judges have few verdicts."
                ),
                stacklevel=2,
            )
        return self.with_errors(fit, cov_type, cov_kwds, warn_convergence=warn_convergence)

    def _nodes(self, n_quadrature: int | None) -> int:
        if self.taste:
            return self._draws(n_quadrature)
        n_effects = self.population_layout.space.n_effects
        chosen = NODES[min(n_effects, max(NODES))] if n_quadrature is None else n_quadrature
        if isinstance(chosen, bool) or not isinstance(chosen, (int, np.integer)) or chosen < 1:
            raise OptionError(f"n_quadrature must be a positive integer, got {n_quadrature!r}.")
        if chosen**n_effects > limits.MOST_NODES:
            raise OptionError(
                f"{chosen} nodes for each of {n_effects} effects of a judge are {chosen**n_effects:,}, more than "
                f"{limits.MOST_NODES:,}: take a "
                "lower rank, position='common', or a smaller n_quadrature (1 is Laplace's method)."
            )
        return int(chosen)

    def _draws(self, n_quadrature: int | None) -> int:
        chosen = n_draws_for(self.design) if n_quadrature is None else n_quadrature
        if isinstance(chosen, bool) or not isinstance(chosen, (int, np.integer)) or chosen < limits.FEWEST_TASTE_DRAWS:
            raise OptionError(
                f"n_quadrature must be a number of draws, {limits.FEWEST_TASTE_DRAWS} or more, with taste=True, "
                f"got {n_quadrature!r}."
            )
        return int(chosen)

    def _search(self, design: Design, n_nodes: int, **options: Any) -> PopulationOptimum:
        """The largest marginal likelihood of some cells."""
        if "n_jobs" in options:
            options["make"] = partial(ChunkedTaste if self.taste else ChunkedMarginal, n_jobs=options.pop("n_jobs"))
        search = search_taste if self.taste else search_population
        return search(design, self.rank, n_nodes, **options)

    def _likelihood(self, design: Design, n_nodes: int, is_free: np.ndarray | None = None) -> Marginal | TasteMarginal:
        if self.taste:
            return TasteMarginal(design, Space.of(design, self.rank, has_taste=True), n_nodes, is_free)
        return Marginal(design, self.rank, n_nodes, is_free)

    def _coordinates(self, params: Any) -> np.ndarray:
        layout = self.population_layout
        return layout.space.pack(layout.population(self._checked(params)))

    def fit_at(self, values: np.ndarray, is_free: np.ndarray, n_quadrature: int, iterations: int = 0) -> PopulationFit:
        """The record of a fit whose coordinates are known."""
        marginal = self._likelihood(self.design, n_quadrature, is_free)
        found = (
            taste_optimum(marginal, values, iterations)
            if isinstance(marginal, TasteMarginal)
            else optimum_at(marginal, values, iterations)
        )
        return assess_population(self.population_layout, marginal, found)

    def with_errors(
        self, fit: PopulationFit, cov_type: str, cov_kwds: dict[str, Any] | None, *, warn_convergence: bool = False
    ) -> PopulationResults:
        """The fit with the covariance asked for, as the user holds it."""
        fit = choose_population_covariance(fit, cov_type, cov_kwds, lambda: self.observations)
        if warn_convergence and not fit.converged:
            why = (
                "the information is singular"
                if not fit.is_identified
                else f"not stationary after {fit.optimum.iterations} steps"
            )
            warnings.warn(f"the fit did not converge ({why}); summary() tells more.", ConvergenceWarning, stacklevel=3)
        return PopulationResults(self, fit)

    def without_spread(self, effect: int, fit: PopulationFit) -> PopulationFit:
        """The fit in which judges do not differ in one of their effects, for a test of it."""
        is_free = np.ones(self.population_layout.space.n_effects, dtype=bool)
        is_free[effect] = False
        n_nodes = fit.marginal.n_nodes
        found = self._search(self.design, n_nodes, is_free=is_free)
        return assess_population(self.population_layout, self._likelihood(self.design, n_nodes, found.is_free), found)

    def with_rank(self, rank: int) -> PopulationHJAModel:
        """The model of another rank for the same data and terms.

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.PopulationHJAModel.from_comparisons(hja.datasets.load_panel())
        >>> [round(model.with_rank(rank).fit().bic) for rank in (0, 1)]
        [3809, 3598]
        """
        return PopulationHJAModel(**self._same_data(), rank=rank, taste=self.taste)

    def with_taste(self, taste: bool = True) -> PopulationHJAModel:
        """The model of the same data and terms in which judges have tastes of their own, or none.

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.PopulationHJAModel.from_comparisons(hja.datasets.load_panel())
        >>> model.with_taste().fit().population["estimate"].round(1).to_dict()
        {'sd[gamma]': 0.7, 'sd[taste]': 0.5}
        """
        return PopulationHJAModel(**self._same_data(), rank=self.rank, taste=taste)

    def _own_rank(self) -> dict[str, Any]:
        return super()._own_rank() | {"taste": self.taste}

    @property
    def options(self) -> dict[str, Any]:
        """What the model was made with beside the data, under the names of its arguments."""
        return super().options | {"taste": self.taste}

    def row_folds(self, groups: Any, n_folds: int, rng: np.random.Generator) -> list[np.ndarray]:
        """Rows to hold out, fold by fold, as masks; what hangs together is held out together."""
        code = np.arange(self.comparisons.n_rows) if groups is None else Clusters.of(groups, self.comparisons).code
        n = int(code.max()) + 1
        check_whole("n_folds", n_folds, 2)
        if n_folds > n:
            raise OptionError(f"n_folds must lie between 2 and the number of groups, got {n_folds!r}.")
        fold = rng.permutation(np.arange(n) % n_folds)[code]
        return [fold == f for f in range(n_folds)]

    def held_out(self, is_test: np.ndarray) -> float:
        """Log-loss per comparison of some rows, predicted from the others; whole judges by their joint likelihood."""
        n_nodes = self._nodes(None)

        def search(design: Design) -> PopulationOptimum:
            return self._search(design, n_nodes, n_random=0)

        def likelihood(design: Design, found: PopulationOptimum) -> Marginal | TasteMarginal:
            return self._likelihood(design, n_nodes, found.is_free)

        return held_out_loss(self.row_design(), is_test, search, likelihood)

    def fit_like(self, fit: Fit) -> PopulationResults:
        """Fit with as many nodes as another fit, without warnings."""
        assert isinstance(fit, PopulationFit)
        return self.fit(n_quadrature=fit.marginal.n_nodes, warn_convergence=False)

    def fit_regularized(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse a penalty: the population is what shrinks its judges."""
        raise NotImplementedError(
            "not available: judges shrink to the population already, by as much as the data tell."
        )

    # Likelihood in the reported parameters

    @property
    def start_params(self) -> np.ndarray:
        """Reported parameters of a population whose scores are the pooled ones and whose spreads are 0.5."""
        layout, space = self.population_layout, self.population_layout.space
        values = np.zeros(space.n)
        values[space.spreads] = 0.5
        mu = HJAModel.pooled(self).fit(warn_convergence=False).fit.parts.mu
        at = replace(space.unpack(values), mu=mu)
        if self.rank:
            steps = np.linspace(-1.0, 1.0, len(mu))[:, None] ** np.arange(2, 2 + self.rank)
            at = replace(at, V=0.5 * (steps - steps.mean(axis=0)))
        return layout.report(at)

    def loglike(self, params: Any) -> float:
        """Marginal log-likelihood at reported parameters.

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.PopulationHJAModel.from_comparisons(hja.datasets.load_panel())
        >>> result = model.fit()
        >>> bool(abs(model.loglike(result.params) - result.llf) < 1e-6)
        True
        """
        marginal, at = self._likelihood(self.design, self._nodes(None)), self._coordinates(params)
        if isinstance(marginal, TasteMarginal):
            return marginal.drawn(at).loglike
        return float(marginal.loglike(at).sum())

    def _no_such(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            "not available for judges as a sample: loglike(params) is the marginal likelihood; its gradient and "
            "information are in result.fit."
        )

    loglikeobs = score = score_obs = hessian = score_free = score_obs_free = hessian_free = information = _no_such
    transform_params = untransform_params = transform_jacobian = _no_such

    def predict(self, params: Any, exog: Any = None, **kwargs: Any) -> Any:
        """What to expect of comparisons at other parameters; see :meth:`PopulationResults.predict`."""
        values = self._coordinates(params)
        is_free = np.ones(self.population_layout.space.n_effects, dtype=bool)
        return PopulationResults(self, self.fit_at(values, is_free, self._nodes(None))).predict(exog, **kwargs)

    def simulate(
        self, params: Any, design: pd.DataFrame | None = None, *, rng: int | np.random.Generator | None = None
    ) -> Comparisons:
        """Draw new judges from the population, and their verdicts on the comparisons of the old ones.

        Parameters
        ----------
        params : array_like
            Reported parameters, of a fit or of your own.
        design : pandas.DataFrame, optional
            Comparisons to judge; those of the data when left out, each as often as its weight.
        rng : int or numpy.random.Generator

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.PopulationHJAModel.from_comparisons(hja.datasets.load_panel())
        >>> model.simulate(model.fit().params, rng=0).n_comparisons
        3200.0
        """
        rng = generator(rng)
        rows = self.labelled_rows(design, None, None, None).rows
        index = np.repeat(np.arange(len(rows.n)), np.round(rows.n).astype(int))
        rows = take(rows, index)
        there = simulate_population(rows, self.population_layout.population(self._checked(params)), rng)
        chances = self.response.probabilities(there[0], there[1:] if len(there) > 1 else None)
        judges, items = np.asarray(self.judges, dtype=object), np.asarray(self.items, dtype=object)
        columns = (self.comparisons.columns if design is None else design.reset_index(drop=True)).iloc[index]
        outcome = draw_outcomes(self.response, chances, rng)
        return Comparisons.from_arrays(
            judges[rows.judge], items[rows.first], items[rows.second], outcome, columns=columns
        )


def _beats(data: Comparisons, items: Any) -> bool:
    """Whether some of the items have beaten one that is none of them."""
    inside = np.isin(np.asarray(data.items, dtype=object), list(items))
    first, second = inside[data.first_index], inside[data.second_index]
    return bool(((first & ~second & (data.outcome > 0)) | (second & ~first & (data.outcome < 1))).any())
