"""The models a user fits: how they are estimated, and how they differ in the scores they allow."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from .. import limits
from ..data.arrays import (
    check_flag,
    check_option,
    check_type,
    check_whole,
    covariate_frame,
    generator,
    listed,
    lookup,
    numbers,
)
from ..data.comparisons import Comparisons
from ..data.engines import pandas_frame
from ..data.formulas import SAFE_NAMES, CovariateFormula, Names, refuse_code
from ..data.traits import Interactions, ItemTraits, known_items
from ..diagnostics.ending import warn
from ..errors import CovarianceWarning, Hint, IdentificationError, OptionError, SizeError
from ..fitted import Fit, assess, which_information
from ..inference.clusters import Clusters
from ..inference.constraints import constrained_fit
from ..inference.covariances import check_kind, choose_covariance
from ..mixed import assess_mixture
from ..model.design import Coefficients
from ..model.jacobians import mean_rows
from ..model.layout import Layout
from ..model.spanned import on_traits, random_effects, spanned, undetermined
from ..model.structures import Pooled, ScoreStructure, Unrestricted, largest_rank
from ..results import HJAResults
from ..solve.alternating import AlternatingRun, alternate
from ..solve.delegate import STATSMODELS_METHODS, delegate
from ..solve.penalties import PENALTIES, Penalty
from ..solve.ridge import Ridge
from ..solve.search import no_terms, search
from ..solve.starts import initialise
from ..solve.validation import Fold, ridge_losses, split, split_comparisons
from ..trait_results import TraitResults
from ..words import quoted
from .base import TRAITLESS, ComparisonModel
from .prediction import USUAL, LabelledRows


class HJAModel(ComparisonModel):
    """Heterogeneous judge-aware ranking.

    ``logit P(judge k prefers i to j) = gamma_k (mu_i - mu_j) + U_k (V_i - V_j)'`` plus, where asked for, a bonus for the item
    shown first and covariates: a consensus ranking mu, each judge's sensitivity gamma to it, and ``rank`` directions of
    disagreement, identified by the paper's Condition cond:norm and estimated by maximum likelihood.

    Parameters
    ----------
    endog : array_like
        Preference for the first item: 1 win, 0 loss, 0.5 tie, or anything between.
    exog : array_like, optional
        Covariates of the comparison with one coefficient for all judges. They add to the log-odds that the first item
        wins, so a covariate that describes the items should be a difference, first minus second.
    judge, item_a, item_b : array_like of labels
        Who judged, the item shown first, the item shown second.
    weights : array_like, optional
        How many comparisons a row is; rows of weight zero are left out. Weights that are no whole numbers are importance weights,
        which need ``cov_type="cluster", cov_kwds={"groups": "row"}``.
    counts : bool, optional
        Whether ``endog`` is the share of wins among ``weights`` comparisons, or (False) a preference that was given so many times.
        An error asks where both are possible.
    rank : int
        Number of disagreement directions, between 0 (sensitivity only) and ``min(n_judges - 1, n_items - 2)``.
    position : {None, "common", "judge"}
        Log-odds bonus of the item shown first: none, one for all judges, or one per judge.
    ties : {"half", "drop", "davidson", "davidson-scaled", "davidson-shifted", "ordinal", "adjacent"}
        Ties count as half a win for each item (as in the paper), are left out, or are an outcome of their own: Davidson's model,
        in which the odds of a tie against the geometric mean of the two wins are ``exp(tie)``; scaled, and also shifted, ties get
        rarer among unequal items at a rate of their own, from log-odds of their own. ``"ordinal"`` takes outcomes at
        equal steps (0, 0.25, 0.5, 0.75, 1) as grades: the log-odds are cut at thresholds around zero (cumulative logit).
        ``"adjacent"`` gives each grade a propensity, and neighbours equal parts of the log-odds (adjacent-category logit).
    tie : {"common", "judge"}
        One tie propensity, or one set of thresholds, for all judges or for each.
    judge_exog : array_like, optional
        Covariates whose coefficients differ between judges, such as a length difference.
    offset : array_like, optional
        Known addition to the log-odds that the first item wins, such as the handicap of an item or the prediction of another
        model: a covariate whose coefficient is one.
    missing : {"none", "drop", "raise"}
        What to do with rows in which something is missing; "none" and "raise" both refuse them.
    items : str or pandas.DataFrame, optional
        Traits of the items, as a formula over ``data.item_metadata`` ("~ size + open_weights"), or a table of them: all scores are
        linear functions of these. Judges weigh the traits each in its own way, of which there are ``rank`` directions beside the
        consensus, ``mu = Y beta``; at most ``min(n_judges, n_traits) - 1``.

    See Also
    --------
    JAModel : rank 0.
    BTLModel : all judges alike.
    JudgewiseBTLModel : a ranking of its own for every judge.

    Examples
    --------
    >>> import hjastats as hja
    >>> data = hja.datasets.load_panel()
    >>> model = hja.HJAModel.from_comparisons(data, rank=1)
    >>> model.judges[:2], model.items[:2], model.rank
    (('judge-1', 'judge-2'), ('model-A', 'model-B'), 1)
    >>> model.options
    {'rank': 1, 'position': None, 'ties': 'half', 'tie': 'common'}
    >>> model.with_position("judge").position
    'judge'
    >>> float(dict(zip(model.param_names, model.start_params.round(2)))["mu[model-I]"])
    1.18
    >>> result = model.fit()
    >>> float(result.params["mu[model-I]"].round(2))
    1.2

    From arrays, as other statsmodels models are made:

    >>> table = data.to_frame()
    >>> again = hja.HJAModel(table["outcome"], judge=table["judge"], item_a=table["first"], item_b=table["second"], rank=1)
    >>> bool(abs(again.fit().llf - result.llf) < 1e-6)
    True
    """

    results_class = HJAResults
    takes_traits: tuple[str, ...] = ("items",)
    no_traits = (
        "judges who have sensitivities of their own weigh traits of the items, items='~ ...', and nothing else; random effects, "
        "interactions with traits of judges, and groups that are apart are those of BTLModel"
    )
    # Columns of the comparisons that scores differ by.
    categories: tuple[str, ...] = ()

    def __init__(
        self, endog: Any, exog: Any = None, *, items: Any = None, comparisons: Comparisons | None = None, **kwargs: Any
    ) -> None:
        if items is not None:
            if "items" not in self.takes_traits:
                raise OptionError(f"{type(self).__name__} takes no 'items': {self.no_traits}.")
            items, comparisons = known_items(items, self._with_table(comparisons))
        self.items_formula: str | None = items
        self.traits: ItemTraits | None = None
        super().__init__(endog, exog, comparisons=comparisons, **kwargs)
        if items is not None:
            self.results_class = TraitResults

    @classmethod
    def _with_table(cls, comparisons: Comparisons | None) -> Comparisons:
        if comparisons is None:
            raise OptionError(
                "traits come with comparisons: ",
                Hint(f"{cls.__name__}.from_comparisons", "data, items=...", is_call=True),
                ", where data.with_metadata(items=..., judges=...) knows them.",
            )
        return comparisons

    def _make_structure(self, rank: int, data: Comparisons) -> ScoreStructure:
        if self.items_formula is None:
            return super()._make_structure(rank, data)
        self.traits = ItemTraits.of(self.items_formula, data)
        return on_traits(rank, data.n_judges, self.traits)

    def _own_rank(self) -> dict[str, Any]:
        return super()._own_rank() | self._same_traits()

    def _same_traits(self) -> dict[str, Any]:
        """Traits of items as an argument of the other models that have them."""
        return {} if self.items_formula is None else {"items": self.items_formula}

    @property
    def options(self) -> dict[str, Any]:
        """What the model was made with beside the data, under the names of its arguments."""
        return super().options | self._same_traits()

    def check_estimable(self) -> None:
        """Refuse data that cannot determine the parameters, before any fitting.

        Raises
        ------
        IdentificationError
            When the pooled comparisons fall into groups of items that are never compared with each other.

        Examples
        --------
        >>> import hjastats as hja
        >>> apart = {"judge": ["j", "j"], "first": ["a", "x"], "second": ["b", "y"], "winner": ["first", "first"]}
        >>> model = hja.JAModel.from_comparisons(hja.read_comparisons(apart, first="first", second="second"))
        >>> model.check_estimable()
        Traceback (most recent call last):
            ...
        hjastats.errors.IdentificationError: the items fall into 2 groups that no judge ever compared with...
        """
        self._need_data()
        if self.traits is not None:
            # What judges who are all alike do not determine, those who differ do not either.
            alike = spanned(len(self.judges), self.items, self.traits, None)
            self._check_determined(Layout(alike, self.judges, self.items, self.layout.terms))
            return
        graph = self.comparisons.connectivity
        if not graph.is_connected:
            small = graph.pooled_groups[1]
            raise IdentificationError(
                f"the items fall into {len(graph.pooled_groups)} groups that no judge ever compared with each other, so their "
                f"scores have no common scale. One group is {quoted(small)}; add comparisons that link it, or fit each "
                "group by itself (data.connectivity lists them)."
            )

    def _check_determined(self, layout: Layout) -> None:
        if unknown := undetermined(self.design, layout):
            raise IdentificationError(
                f"the comparisons do not determine the coefficients: {quoted(unknown)} could be anything. Leave some of the "
                "traits out, add comparisons, or fit them with ",
                Hint("fit_regularized", is_call=True),
                ".",
            )

    def _need_data(self) -> None:
        if self.comparisons is None:
            raise IdentificationError("the data of this model were removed: it cannot be fitted again.")

    def fit(
        self,
        start_params: Any = None,
        method: str = "trust",
        maxiter: int | None = None,
        full_output: bool = True,
        disp: bool = False,
        callback: Callable[[np.ndarray], None] | None = None,
        retall: bool = False,
        *,
        cov_type: str = "nonrobust",
        cov_kwds: dict[str, Any] | None = None,
        use_t: bool = False,
        information: str | None = None,
        n_random: int = 2,
        rng: int | np.random.Generator | None = 0,
        optimum: str = "best",
        warn_convergence: bool = True,
        **kwargs: Any,
    ) -> HJAResults:
        """Maximum likelihood.

        Parameters
        ----------
        start_params : array_like, optional
            Reported parameters to start from, instead of the default starts.
        method : str
            "trust": damped Newton steps on the score matrix, from several starts. "alternating": the algorithm of the
            paper, its history in ``mle_retvals["history"]``. Or a statsmodels optimiser ("bfgs", "lbfgs", "newton", ...),
            run in free coordinates from each start. Both of the latter are polished by Newton steps.
        maxiter : int, optional
            Iterations per start of "trust" and of the statsmodels optimisers (default 200); passes of "alternating" (5000).
        full_output, disp, callback, retall
            Passed on to the statsmodels optimisers.
        cov_type : {"nonrobust", "HC0", "HC1", "cluster"}
            Model-based, heteroscedasticity robust (HC1: times n / (n - d) for d free parameters), or robust to correlation
            within clusters.
        cov_kwds : dict, optional
            ``{"groups": labels or column name}`` for "cluster", or a list of two of them; ``"pair"`` is the pair of items. And
            ``use_correction``: ``"judge"`` (default with parameters of judges), True (as statsmodels) or False.
        information : {"expected", "observed"}, optional
            Which information standard errors come from. By default the expected one (the paper's) for "nonrobust", and the
            observed one for robust covariances, which must hold when the model does not.
        n_random : int
            Random starts beside the deterministic ones; more are added by themselves where several optima are likely.
        rng : int or numpy.random.Generator
            Randomness of those starts.
        optimum : {"best", "finite"}
            "finite": where the likelihood is highest on the way to infinity, take the best finite optimum that starts ended at
            instead. ``mle_retvals["supremum"]`` tells how much higher it is out there, and so does the summary.
        warn_convergence : bool
            Whether to warn when the fit did not converge, the estimate does not exist, or several optima were met.
        **kwargs
            Further options of "alternating" (``tau``, ``tolerance``) or of the statsmodels optimiser.

        Returns
        -------
        HJAResults

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge")
        >>> result = model.fit()
        >>> result.converged, round(result.llf, 1)
        (True, -1592.9)
        >>> robust = model.fit(cov_type="HC0")
        >>> tuple(float(fit.bse["mu[model-I]"].round(4)) for fit in (result, robust))
        (0.1028, 0.1009)
        """
        information = which_information(information, cov_type)
        check_option("optimum", optimum, ("best", "finite"))
        _check_fit_options(use_t, maxiter, n_random, warn_convergence)
        check_type("method", method, str, "the name of a method")
        check_kind(cov_type)
        self.check_estimable()
        if (drawn := self._drawn(cov_type)) is not None:
            return self._results(drawn, cov_type, cov_kwds, warn_convergence)
        optimiser = {"disp": disp, "callback": callback, "retall": retall}
        starts, history = self._starts_of(method, start_params, maxiter, n_random, rng, optimiser, kwargs)
        iterations = 200 if maxiter is None else maxiter
        found = search(self.design, self.structure, starts=starts, n_random=n_random, rng=rng, maxiter=iterations)
        found = found.at_finite() if optimum == "finite" else found
        begun = None if start_params is None else self._checked(start_params)
        fit = assess(
            self.layout,
            self.design,
            found,
            method=method,
            history=history,
            information=information,
            start_params=begun,
        )
        return self._results(fit, cov_type, cov_kwds, warn_convergence)

    def _drawn(self, cov_type: str) -> Fit | None:
        """The fit with random effects; None of models that have none."""
        return None

    def fit_constrained(
        self,
        constraints: Any,
        start_params: Any = None,
        *,
        cov_type: str = "nonrobust",
        cov_kwds: dict[str, Any] | None = None,
        information: str | None = None,
        n_random: int = 2,
        rng: int | np.random.Generator | None = 0,
        warn_convergence: bool = True,
    ) -> HJAResults:
        """Maximum likelihood among the parameters that fulfil constraints.

        Parameters
        ----------
        constraints : str, list of str, dict, array_like, tuple (R, q) or callable
            Linear in the reported parameters, as :meth:`hjastats.HJAResults.wald_test` takes them: ``"gamma[x] = gamma[y] = 1"``.
            Or anything smooth that :meth:`hjastats.HJAResults.contrast` takes: ``"mu[a] / mu[b] = 2"``, or a function that is
            to be zero. Functions are slow, and have no errors from the observed information, nor robust ones unless
            ``information="expected"``.
        start_params : array_like, optional
            Reported parameters where the fit without constraints starts; the constrained one starts at its estimate, and at the
            default starts.
        cov_type, cov_kwds, information, n_random, rng, warn_convergence
            As in :meth:`fit`.

        Returns
        -------
        HJAResults
            ``df_model`` is smaller by the number of constraints, ``k_constr``; what they fix has standard error zero. What fits
            again, as ``bootstrap`` does, is refused.

        Raises
        ------
        ContrastError
            For constraints that cannot be read, contradict the model or each other, or that nothing fulfils.
        IdentificationError
            Where the likelihood has no maximum under the constraints.

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> held = model.fit_constrained("gamma[judge-4] = gamma[judge-6] = 1")
        >>> held.params[["gamma[judge-4]", "gamma[judge-6]"]].round(3).tolist(), held.df_model, model.fit().df_model
        ([1.0, 1.0], 14.0, 16.0)
        >>> held.bse[["gamma[judge-4]", "gamma[judge-1]"]].round(3).tolist()
        [0.0, 0.182]
        """
        check_whole("n_random", n_random, 0)
        check_flag("warn_convergence", warn_convergence)
        information = which_information(information, cov_type)
        free = self.fit(start_params, information=information, n_random=n_random, rng=rng, warn_convergence=False)
        fit = constrained_fit(free.fit, constraints, n_random, rng)
        return self._results(fit, cov_type, cov_kwds, warn_convergence)

    def _fit_zeros(
        self,
        keep_index: Any = None,
        start_params: Any = None,
        return_auxiliary: bool = False,
        k_params: int | None = None,
        **fit_kwds: Any,
    ) -> HJAResults:
        """Fit without some of the covariates, reported with their coefficients as zeros; as the base class has it."""
        options = self._same_data() | self._own_rank()
        exog = options["exog"]
        kept = np.arange(exog.shape[1])[slice(None) if keep_index is None else keep_index]
        options["exog"] = exog.iloc[:, kept] if len(kept) else None
        if start_params is not None:
            others = np.arange(exog.shape[1], self.nparams)
            fit_kwds["start_params"] = np.asarray(start_params, dtype=float)[np.concatenate([kept, others])]
        small = type(self)(**options).fit(**fit_kwds)
        result = type(small)(self, small.fit.widened(self.layout, self.design, kept))
        result.results_constrained, result.mle_settings = small, small.mle_settings
        return result

    def _starts_of(
        self,
        method: str,
        start_params: Any,
        maxiter: int | None,
        n_random: int,
        rng: int | np.random.Generator | None,
        optimiser: dict[str, Any],
        options: dict[str, Any],
    ) -> tuple[list[Coefficients] | None, AlternatingRun | None]:
        """Where a method lets the final Newton steps begin, and its history if it keeps one; None for the default starts."""
        starts = None if start_params is None else [self._start_at(start_params)]
        if method == "alternating":
            run = self._alternate(starts, maxiter=5000 if maxiter is None else maxiter, **options)
            return [run.at], run
        if method in STATSMODELS_METHODS:
            settings = optimiser | {"maxiter": 200 if maxiter is None else maxiter}
            begin = starts or self._starts(n_random, generator(rng))
            return [delegate(self.design, self.layout, start, method, settings, options) for start in begin], None
        if method != "trust":
            choices = ", ".join(repr(name) for name in ("trust", "alternating", *STATSMODELS_METHODS))
            raise OptionError(f"method must be one of {choices}; got {method!r}.")
        if "groups" in options:
            raise TypeError(f"groups is an entry of cov_kwds: cov_kwds={{'groups': {options['groups']!r}}}.")
        if options:
            raise TypeError(f"method 'trust' takes no option called {quoted(options)}.")
        return starts, None

    def _results(
        self, fit: Fit, cov_type: str, cov_kwds: dict[str, Any] | None, warn_convergence: bool = False
    ) -> HJAResults:
        """The fit with the covariance asked for, as the user holds it."""
        fit = choose_covariance(fit, cov_type, cov_kwds, lambda: self.observations)
        if warn_convergence:
            warn(fit, self.comparisons.connectivity)
            if cov_type != "cluster" and not self.comparisons.has_whole_weights:
                by_row = Hint("fit", "cov_type='cluster', cov_kwds={'groups': 'row'}", is_call=True)
                told = "some weights are no whole numbers: they are taken as importance weights, for which these standard errors"
                warnings.warn(CovarianceWarning(told, " do not hold. Use ", by_row, "."), stacklevel=3)
        return self.results_class(self, fit)

    def fit_regularized(
        self,
        alpha: float | str = 0.1,
        penalty: str = "ridge",
        *,
        terms: bool = False,
        groups: Any = None,
        n_folds: int = 5,
        n_random: int = 2,
        rng: int | np.random.Generator | None = 0,
        cov_type: str = "nonrobust",
        cov_kwds: dict[str, Any] | None = None,
        information: str | None = None,
        warn_convergence: bool = True,
    ) -> HJAResults:
        """Estimates that exist when maximum likelihood estimates do not, and are better where they hardly do.

        The ridge also determines what no comparisons link, such as the difference between two groups of items; a warning says
        that it rests on the prior alone.

        Parameters
        ----------
        alpha : float or "cv"
            Weight of the ridge: ``alpha / 2`` times ``|mu|^2 + sum_k |S_k - mu|^2``, a Gaussian prior of variance ``1 / alpha`` on
            the consensus mu, whatever the number of judges, and on how far the scores ``S_k`` of judge k are from it. "cv" takes
            the weight with the smallest held-out log-loss.
        penalty : {"ridge", "firth"}
            "firth" reduces the bias of BTL and JA instead (``alpha`` is not used); it also keeps estimates finite.
        terms : bool
            Whether the ridge also shrinks position effects, tie propensities and covariate coefficients: those of single judges
            towards their mean, and what is common towards zero.
        groups : str or array_like, optional
            Rows that are held out together, such as the verdicts on one prompt; single rows by default.
        n_folds : int
            Folds of the cross-validation.

        Returns
        -------
        HJAResults
            ``df_model`` is the effective number of parameters; likelihood-ratio tests are not available.

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1)
        >>> shrunk = model.fit_regularized(alpha=1.0)
        >>> round(shrunk.df_model, 1), model.df_model
        (28.3, 30.0)
        """
        check_option("penalty", penalty, tuple(PENALTIES))
        check_flag("terms", terms)
        check_whole("n_random", n_random, 0)
        check_flag("warn_convergence", warn_convergence)
        check_kind(cov_type)
        information = which_information(information, cov_type)
        rng = generator(rng)
        what = PENALTIES[penalty]()
        if penalty == "ridge":
            validation = None
            if isinstance(alpha, str) and alpha == "cv":
                validation = ridge_losses(self.folds(groups, n_folds, rng), self.structure, penalise_terms=terms)
            weight = self._ridge_weight(alpha) if validation is None else validation.best
            what = PENALTIES[penalty](Ridge(weight, weight if terms else 0.0), validation)
        fit = self._penalised(what, n_random, rng, information)
        return self._results(fit, cov_type, cov_kwds, warn_convergence)

    def _penalised(self, what: Penalty, n_random: int, rng: np.random.Generator, information: str) -> Fit:
        self._need_data()
        if not what.links_items:
            self.check_estimable()
        found = what.search(self.design, self.structure, n_random, rng)
        return assess(self.layout, self.design, found, method=what.kind, information=information, penalty=what)

    def fit_like(self, fit: Fit) -> HJAResults:
        """Fit with the penalty of another fit, or without any, and without warnings.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit_regularized(alpha=1.0)
        >>> result.model.without_judges(["judge-noise"]).fit_like(result.fit).fit.penalty.ridge.scores
        1.0
        """
        fit.need_free("fitting another model in the same way")
        if fit.penalty is None:
            return self.fit(warn_convergence=False)
        again = self._penalised(fit.penalty, 2, np.random.default_rng(0), "expected")
        return self._results(again, "nonrobust", None)

    @staticmethod
    def _ridge_weight(alpha: Any) -> float:
        if (
            isinstance(alpha, bool)
            or not isinstance(alpha, (int, float, np.number))
            or not 0 < alpha <= limits.LARGEST_AMOUNT
        ):
            raise OptionError(f"alpha must be a positive number or 'cv', got {alpha!r}.")
        return float(alpha)

    def folds(self, groups: Any, n_folds: int, rng: np.random.Generator) -> list[Fold]:
        """Divide the comparisons for cross-validation.

        Parameters
        ----------
        groups : str or array_like, or None
            Rows that stay together, such as the verdicts on one prompt; None for single comparisons.
        """
        data = self.comparisons
        if data is None:
            raise IdentificationError("the data of this model were removed: cross-validation needs them.")
        check_whole("n_folds", n_folds, 2)
        if groups is None and (data.weight != 1.0).any():
            if n_folds > data.n_comparisons:
                raise OptionError(f"n_folds must lie between 2 and the number of comparisons, got {n_folds!r}.")
            return split_comparisons(self.row_design(), n_folds, rng)
        code = np.arange(data.n_rows) if groups is None else Clusters.of(groups, data).code
        if n_folds > len(np.unique(code)):
            raise OptionError(f"n_folds must lie between 2 and the number of groups, got {n_folds!r}.")
        return split(self.row_design(), code, n_folds, rng)

    def with_rank(self, rank: int) -> HJAModel:
        """The HJA model of another rank for the same data and terms, and traits of items.

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> [round(model.with_rank(rank).fit().bic) for rank in (0, 1, 2)]
        [3880, 3727, 3800]
        """
        return HJAModel(**self._same_data(), rank=rank, **self._same_traits())

    def pooled(self) -> BTLModel:
        """Pooled BTL for the same data and terms, and traits of items.

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> test = model.fit().compare_lr_test(model.pooled().fit())        # are all judges equally sensitive?
        >>> round(test.statistic, 1), test.df_diff
        (162.6, 7)
        """
        return BTLModel(**self._same_data(), **self._same_traits())

    def saturated(self) -> HJAModel:
        """The model in which judges differ in all that the items may: judge-wise BTL, or of traits HJA of the largest rank.

        Examples
        --------
        >>> import hjastats as hja
        >>> data = hja.datasets.load_panel()
        >>> sizes = pd.DataFrame({"size": range(10), "even": [0, 1] * 5}, index=data.items)
        >>> hja.JAModel.from_comparisons(data, items=sizes).saturated().layout.description
        'HJA(1) on size, even'
        """
        if self.traits is None:
            return self.unrestricted()
        return self.with_rank(largest_rank(self.structure, len(self.judges), len(self.items)))

    def unrestricted(self) -> JudgewiseBTLModel:
        """Judge-wise BTL for the same data and terms, with free scores of all items.

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> model.unrestricted().fit().scores.idxmax(axis=1).value_counts().to_dict()      # whom judges put first
        {'model-I': 3, 'model-E': 3, 'model-H': 1, 'model-A': 1}
        """
        return JudgewiseBTLModel(**self._same_data())

    def with_position(self, position: str | None) -> HJAModel:
        """The model with another position effect, for the same data and terms.

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> model.with_position("judge").fit().position["estimate"].nlargest(1).round(2)
        judge
        judge-first    2.64
        Name: estimate, dtype: float64
        """
        return type(self)(**self._same_data() | self._own_rank() | {"position": position})

    def without_judges(self, judges: Iterable[str]) -> HJAModel:
        """The model without the comparisons of some judges.

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> list(model.without_judges(["judge-first", "judge-noise"]).fit().consensus.index[:3])
        ['model-I', 'model-H', 'model-A']
        """
        unwanted = [str(name) for name in listed("judges", judges, "names")]
        kept = ~np.isin(self.comparisons.judge_index, [k for k, name in enumerate(self.judges) if name in unwanted])
        return self._of_rows(kept, self._needed().without_judges(unwanted))

    def without_comparisons(self, removed: np.ndarray) -> HJAModel:
        """The model with so many comparisons of each row removed.

        Parameters
        ----------
        removed : ndarray, shape (n_rows,)
            At most the weight of the row.

        Examples
        --------
        >>> import numpy as np
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> model.without_comparisons(np.arange(3200) < 100).nobs
        3100.0
        """
        data = self._needed()
        gone = numbers("removed", removed)
        if gone.shape != data.weight.shape:
            raise OptionError(f"removed must be a number for each of the {data.n_rows} rows, got shape {gone.shape}.")
        left = data.weight - gone
        return self._of_rows(left > 0, replace(data, weight=left).subset(left > 0))

    def _needed(self) -> Comparisons:
        self._need_data()
        return self.comparisons

    def _of_rows(self, kept: np.ndarray, data: Comparisons) -> HJAModel:
        """The model of some of the rows, which ``data`` are."""
        options = self._same_data()
        options |= {"comparisons": data, "endog": options["endog"][kept]}
        for name in ("exog", "judge_exog", "offset"):
            options[name] = None if options[name] is None else options[name].loc[kept].reset_index(drop=True)
        return type(self)(**options, **self._own_rank())

    def without_term(self, name: str) -> HJAModel:
        """The model without a term of the formula, a covariate or the position effect, for the same data.

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel(), position="judge")
        >>> model.without_term("position").position is None
        True
        """
        columns = self.layout.terms.grouped().get(str(name))
        kinds = [term.kind for term in self.layout.terms if columns and term.name in columns]
        if not columns or any(kind is not None and kind.name not in self.scopes for kind in kinds):
            own = [kind.name for kind in self.response.parameters]
            known = [term for term in self.layout.terms.grouped() if term not in own]
            raise OptionError(f"no term to leave out is called {name!r}; there are {quoted(known) or 'none'}.")
        options = self._same_data() | self._own_rank()
        for scope in self.scopes:
            options[scope] = None if scope in columns else options[scope]
        for covariates in ("exog", "judge_exog"):
            if options[covariates] is not None:
                left = options[covariates].drop(columns=columns, errors="ignore")
                options[covariates] = left if left.shape[1] else None
        return type(self)(**options)

    def update(self, formula: str | None = None, *, trusted: bool = True, **options: Any) -> HJAModel:
        """The model with other covariates or options, for the same data, as R's ``update``.

        Parameters
        ----------
        formula : str, optional
            ``"~ . + x"`` or ``"~ . - x"``: a dot stands for the covariates there are. Columns are those of the data.
        trusted : bool
            Whether the formula may be any Python; see :meth:`hjastats.HJAModel.from_formula`.
        **options
            Arguments of the class that change: ``position``, ``ties``, ``rank`` of HJA, ...

        Raises
        ------
        ComparisonError
            For columns that are not there or have missing values.
        OptionError
            For a formula that changes the verdicts.

        Examples
        --------
        >>> import numpy as np
        >>> import hjastats as hja
        >>> frame = hja.datasets.load_panel().to_frame()
        >>> frame["length"], frame["tone"] = np.random.default_rng(0).normal(size=(2, len(frame)))
        >>> labels = {"judge": "judge", "item_a": "first", "item_b": "second"}
        >>> model = hja.JAModel.from_formula("outcome ~ 0 + length", frame, **labels)
        >>> model.update("~ . + tone", position="judge").exog_names
        ['length', 'tone']
        """
        arguments = self._same_data() | self._own_rank() | options
        if formula is not None:
            refuse_code(trusted, [formula])
            known = None if trusted else SAFE_NAMES
            arguments |= self._updated(formula, Names.of_caller(known, 1, [formula], self.comparisons.columns), options)
        return type(self)(**arguments)

    def _updated(self, change: str, names: Names, options: dict[str, Any]) -> dict[str, Any]:
        """Arguments of the class that a change of the formula changes."""
        old = self.covariate_formula
        if old is None:
            exog = self._same_data()["exog"]
            covariates = [] if exog is None else [str(name) for name in exog.columns]
            table, left = self.comparisons.to_frame(), "outcome"
            table = table if exog is None else table.assign(**dict(zip(covariates, exog.to_numpy().T, strict=True)))
            terms = [name if name.isidentifier() else f"Q({name!r})" for name in covariates]
            old = CovariateFormula.of(" + ".join(["0", *terms]), table)
        else:
            table, left = self.comparisons.columns, str(self.formula).partition("~")[0].strip()
        names = Names({**self.origin.names.values, **names.values})
        new = CovariateFormula.of(old.updated(change), table, names)
        made = new.columns(table).reset_index(drop=True)
        changed: dict[str, Any] = {}
        if old.has_intercept and new.has_intercept:
            # The position effect that it became, or what took its place, stays.
            made = made.drop(columns="Intercept")
        elif old.has_intercept and self.position == "common" and "position" not in options:
            changed["position"] = None
        formula = {"formula": f"{left} ~ {new.text}", "model_spec": new.design, "frame": table}
        return (
            {"exog": made if made.shape[1] else None, "origin": replace(self.origin, names=names)} | formula | changed
        )

    def _start_at(self, params: Any) -> Coefficients:
        values = self._checked(params)
        if not np.isfinite(values).all():
            raise OptionError("start_params must be finite.")
        return self.layout.unpack(values)

    def _alternate(self, starts: list[Coefficients] | None, maxiter: int, **options: Any) -> AlternatingRun:
        if self.traits is not None:
            raise OptionError(
                "method 'alternating' is that of the paper, of free scores: use 'trust' with items='~ ...'."
            )
        if not self.structure.has_sensitivities:
            raise OptionError(
                f"method 'alternating' needs judge sensitivities; {type(self).__name__} is concave: use 'trust'."
            )
        start = starts[0] if starts else no_terms(self.design, initialise(self.design, self.rank))
        return alternate(self.design, self.rank, start, maxiter=maxiter, **options)


class _RankByDefinition(HJAModel):
    """A model whose rank is no argument."""

    takes_rank = False
    rank_by_definition = "no rank"

    def __init__(self, endog: Any, exog: Any = None, **kwargs: Any) -> None:
        if "rank" in kwargs:
            has = f"{type(self).__name__} has {self.rank_by_definition}"
            raise TypeError(f"{has}: use HJAModel(..., rank={kwargs['rank']!r}).")
        super().__init__(endog, exog, rank=0, **kwargs)


class JAModel(_RankByDefinition):
    """Judge-aware ranking: one consensus, judges differ in their sensitivity to it (HJA of rank 0).

    Examples
    --------
    >>> import hjastats as hja
    >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel(), position="judge").fit()
    >>> result.sensitivity["estimate"].nsmallest(2).round(2)
    judge
    judge-noise    0.24
    judge-3        0.49
    Name: estimate, dtype: float64
    """

    rank_by_definition = "rank 0"


class BTLModel(_RankByDefinition):
    """Bradley-Terry-Luce: all judges share one score per item; there are no sensitivities among the parameters.

    With ``items`` and ``interactions`` scores follow from what items and judges are. All but the first of these arguments are of
    this class alone, beside those of :class:`hjastats.HJAModel`.

    Parameters
    ----------
    items : str or pandas.DataFrame, optional
        Traits of the items, as a formula over ``data.item_metadata`` ("~ size + open_weights"), or a table of them: the scores are
        a linear function of these, ``beta``, and nothing else; with ``random="items"`` also an effect of each item.
    interactions : str, optional
        Traits of the judges and columns of the comparisons by which scores differ, ``"~ gender + category"``: a coefficient for
        each trait and item, ``B``. The consensus is that of average judges and comparisons.
    unlinked : {"refuse", "apart"}
        What to do with groups of items that nobody compared with each other. "apart" fits them together, each with a zero
        of its own: they share position effects, ties and covariates, as seasons of a league do.
    random : {"items", "interactions"} or list of them, optional
        Effects that are drawn from a normal distribution whose variance is estimated.

    Examples
    --------
    >>> import hjastats as hja
    >>> result = hja.BTLModel.from_comparisons(hja.datasets.load_panel()).fit()
    >>> result.consensus["estimate"].head(2).round(3).to_dict()
    {'model-I': 0.923, 'model-H': 0.627}

    Scores that follow from the size of a model, and the score of a model that nobody has seen:

    >>> import pandas as pd
    >>> data = hja.datasets.load_panel()
    >>> sizes = pd.DataFrame({"size": [8, 7, 8, 4, 7, 3, 1, 13, 34, 2]}, index=data.items)
    >>> result = hja.BTLModel.from_comparisons(data.with_metadata(items=sizes), items="~ size").fit()
    >>> result.traits[["estimate", "std_err"]].round(3).values.tolist()
    [[0.048, 0.003]]
    >>> result.predict_item({"size": 70})[["estimate", "ci_lower", "ci_upper"]].round(2).values.tolist()
    [[2.96, 2.57, 3.34]]
    """

    takes_traits = tuple(TRAITLESS)

    def __init__(
        self,
        endog: Any,
        exog: Any = None,
        *,
        items: Any = None,
        interactions: str | None = None,
        unlinked: str = "refuse",
        random: Any = None,
        comparisons: Comparisons | None = None,
        **kwargs: Any,
    ) -> None:
        check_option("unlinked", unlinked, ("refuse", "apart"))
        self.unlinked, self.random = unlinked, random_effects(random, items, interactions)
        self.by_comparison: Interactions | None = None
        if items is not None or interactions is not None:
            comparisons = self._with_table(comparisons)
            items, comparisons = known_items(items, comparisons)
            made = None if interactions is None else Interactions.of(interactions, comparisons)
            if made is not None and made.rows.shape[1]:
                traits = None if items is None or "items" in self.random else ItemTraits.of(items, comparisons)
                self.by_comparison, self.categories = made, tuple(map(str, made.rows.columns))
                labels = comparisons.items[:-1] if traits is None else traits.names
                columns = made.regressors(
                    made.rows,
                    comparisons.first_index,
                    comparisons.second_index,
                    comparisons.n_items,
                    None if traits is None else traits.values,
                )
                by_item = pd.DataFrame(columns, columns=made.names(labels))
                exog = _joined(covariate_frame("exog", exog, comparisons), by_item)
        self.interactions = interactions
        super().__init__(endog, exog, items=items, comparisons=comparisons, **kwargs)
        if self.has_traits or self.random:
            self.results_class = TraitResults

    @property
    def has_traits(self) -> bool:
        """Whether scores follow from traits of items or judges."""
        return self.items_formula is not None or self.interactions is not None

    def _make_structure(self, rank: int, data: Comparisons) -> ScoreStructure:
        judges = None if self.interactions is None else Interactions.of(self.interactions, data).judges
        self.traits = None if self.items_formula is None else ItemTraits.of(self.items_formula, data)
        groups = data.connectivity.pooled_groups if self.unlinked == "apart" and "items" not in self.random else ()
        is_free = self.traits is None or "items" in self.random
        if is_free and len(groups) < 2 and (judges is None or not judges.shape[1]):
            return Pooled()
        return spanned(data.n_judges, data.items, None if is_free else self.traits, judges, groups)

    def check_estimable(self) -> None:
        """Refuse data that cannot determine the parameters: items that neither comparisons nor traits link.

        Raises
        ------
        IdentificationError
        """
        self._need_data()
        is_linked = self.unlinked == "apart" or "items" in self.random or self.structure.kind == "spanned"
        if not is_linked:
            super().check_estimable()
        elif self.structure.kind == "spanned":
            self._check_determined(self.layout)

    def labelled_rows(
        self, exog: Any, judge: Any, item_a: Any, item_b: Any, judge_exog: Any = None, offset: Any = None
    ) -> LabelledRows:
        """New comparisons as cells; of a frame, interactions with its columns are worked out."""
        exog = pandas_frame(exog)
        if self.by_comparison is not None and isinstance(exog, pd.DataFrame) and judge is item_a is item_b is None:
            exog = self._with_interactions(exog, self.by_comparison)
        return super().labelled_rows(exog, judge, item_a, item_b, judge_exog, offset)

    def _with_interactions(self, frame: pd.DataFrame, made: Interactions) -> pd.DataFrame:
        found = {role: self.origin.column(role, usual, frame) for role, usual in USUAL.items()}
        if found["item_a"] is None or found["item_b"] is None:
            return frame
        first, second = (
            lookup("item", frame[found[role]].to_numpy(object), self.items) for role in ("item_a", "item_b")
        )
        judges = None if found["judge"] is None else frame[found["judge"]].astype(str).to_numpy()
        traits = None if self.traits is None or "items" in self.random else self.traits
        rows = made.of_new(frame, None if self.comparisons is None else self.comparisons.judge_metadata, judges)
        columns = made.regressors(rows, first, second, len(self.items), None if traits is None else traits.values)
        names = made.names(self.items[:-1] if traits is None else traits.names)
        return frame.drop(columns=names, errors="ignore").join(pd.DataFrame(columns, frame.index, names))

    def _drawn(self, cov_type: str) -> Fit | None:
        if not self.random:
            return None
        if cov_type != "nonrobust":
            raise OptionError("standard errors with random effects are those of the model: cov_type='nonrobust'.")
        self._check_size()
        priors = {name: self._prior(name) for name in self.random}
        fit = assess_mixture(self.layout, self.design, priors, self._starts(0, np.random.default_rng(0))[0])
        return replace(fit, has_item_traits="items" in self.random and self.traits is not None)

    def _check_size(self) -> None:
        if self.layout.n_free > limits.DENSE_SHARED:
            raise SizeError(
                f"random effects of {self.layout.n_free:,} coefficients would take too long (at most {limits.DENSE_SHARED:,}): "
                "use fit_regularized."
            )

    def _prior(self, name: str) -> np.ndarray:
        """Precision of the free coordinates, for random effects of a standard deviation of one.

        Effects of interactions are per standard deviation of the trait.
        """
        layout, scores = self.layout, np.zeros((len(self.judges), len(self.items)))
        tangent = self.structure.tangent(scores)
        on = self.traits if self.traits is not None and "items" not in self.random else None
        if name == "items":
            rows = np.hstack(
                [np.zeros((len(self.items), layout.n_linear)), mean_rows(np.eye(len(self.items)), tangent)]
            )
            ones = np.ones((len(self.items), 1))
            known = np.hstack([ones, self.traits.values]) if self.traits is not None else ones
            rows = rows - known @ (np.linalg.pinv(known) @ rows)
            return rows.T @ rows
        found, precision = Interactions.of(str(self.interactions), self.comparisons), np.zeros((layout.n_free,) * 2)
        spreads = found.judges.std(ddof=0).to_numpy()
        if len(spreads):
            at = no_terms(self.design, scores)
            rows = layout.jacobian(at, tangent)[layout.slices["B"]]
            rows = rows * np.repeat(spreads, len(rows) // len(spreads))[:, None]
            precision += rows.T @ rows
        for category in self.categories:
            labels = self.items[:-1] if on is None else on.names
            own = [layout.terms.shared_names.index(f"{category}:{label}") for label in labels]
            size = np.average(np.square(found.rows[category]), weights=self.comparisons.weight)
            # Effects sum to zero over the items.
            precision[np.ix_(own, own)] += size * (np.eye(len(own)) + (1.0 if on is None else 0.0))
        return precision

    def fit_like(self, fit: Fit) -> HJAResults:
        """Fit with the penalty or the random effects of another fit, or without any, and without warnings."""
        return self.fit(warn_convergence=False) if self.random else super().fit_like(fit)

    def _penalised(self, what: Penalty, n_random: int, rng: np.random.Generator, information: str) -> Fit:
        if self.random:
            raise OptionError(
                "random effects are shrunk by a distribution of their own: fit(), or random=None for a ridge."
            )
        return super()._penalised(what, n_random, rng, information)

    def without_term(self, name: str) -> HJAModel:
        """The model without a term, for the same data; interactions are an argument of their own."""
        if any(name in (f"{category} by item", f"{category} by trait") for category in self.categories):
            raise OptionError(f"{name!r} is an interaction: update(interactions='~ ...') leaves it out.")
        return super().without_term(name)

    def _same_data(self) -> dict[str, Any]:
        options = super()._same_data()
        if options["exog"] is not None and self.categories:
            made = [term for term, part in self._parts().items() if part.endswith((" by item", " by trait"))]
            left = options["exog"].drop(columns=made, errors="ignore")
            options["exog"] = left if left.shape[1] else None
        return options

    def _own_rank(self) -> dict[str, Any]:
        return {
            "items": self.items_formula,
            "interactions": self.interactions,
            "unlinked": self.unlinked,
            "random": list(self.random) or None,
        }

    def _same_traits(self) -> dict[str, Any]:
        """Traits that say all about the items; other models have no random effects and no interactions."""
        return {} if self.random or self.interactions is not None else super()._same_traits()

    def _parts(self) -> dict[str, str]:
        items = self.comparisons.items
        on = items[:-1] if self.traits is None or "items" in self.random else self.traits.names
        by = "by item" if on == items[:-1] else "by trait"
        return super()._parts() | {f"{name}:{label}": f"{name} {by}" for name in self.categories for label in on}

    @property
    def options(self) -> dict[str, Any]:
        """What the model was made with beside the data, under the names of its arguments."""
        own = self._own_rank()
        return super().options | (own if own != TRAITLESS else {})


def _joined(exog: Any, made: Any) -> Any:
    """Covariates with those that interactions make, which take the place of any of the same names."""
    return made if exog is None else exog.drop(columns=made.columns, errors="ignore").join(made)


class JudgewiseBTLModel(_RankByDefinition):
    """Bradley-Terry-Luce for every judge separately: the unrestricted score matrix all other models are nested in.

    Examples
    --------
    >>> import hjastats as hja
    >>> result = hja.JudgewiseBTLModel.from_comparisons(hja.datasets.load_panel()).fit()
    >>> result.scores.loc["judge-1", ["model-A", "model-B"]].round(3).to_dict()
    {'model-A': 2.418, 'model-B': -0.348}
    >>> result.df_model
    72.0
    """

    takes_traits = ()
    no_traits = (
        "every judge has free scores; fit HJAModel(items='~ ...') of the largest rank, or model.saturated() of JA"
    )

    def _make_structure(self, rank: int, data: Comparisons) -> ScoreStructure:
        return Unrestricted()

    def check_estimable(self) -> None:
        """Refuse judges whose own comparisons do not link all items.

        Raises
        ------
        IdentificationError
        """
        super().check_estimable()
        loose = self.comparisons.connectivity.judge_groups
        if loose:
            judge, groups = next(iter(loose.items()))
            raise IdentificationError(
                f"{len(loose)} judges do not link all items by their own comparisons ({quoted(loose)}); for {judge!r} the group "
                f"{quoted(groups[-1])} stands apart. Leave these judges out (data.without_judges) or fit HJAModel, which "
                "borrows strength across judges."
            )


def _check_fit_options(use_t: bool | None, maxiter: int | None, n_random: int, warn_convergence: bool) -> None:
    check_whole("n_random", n_random, 0)
    check_flag("warn_convergence", warn_convergence)
    if not (use_t is None or use_t is False):
        raise OptionError(
            "use_t is not available: the inference is asymptotic, with normal and chi-squared distributions."
        )
    if maxiter is not None and (isinstance(maxiter, bool) or not isinstance(maxiter, (int, np.integer)) or maxiter < 1):
        raise OptionError(f"maxiter must be a positive integer, got {maxiter!r}.")
