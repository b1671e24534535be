"""The models: they hold data and structure together, and leave the computing to the modules below."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.base.model import GenericLikelihoodModel
from statsmodels.base.optimizer import Optimizer
from statsmodels.formula.formulatools import advance_eval_env
from statsmodels.tools.sm_exceptions import ConvergenceWarning, HessianInversionWarning

from .data.cells import Cells, aggregate
from .data.comparisons import Comparisons
from .errors import ComparisonError, IdentificationError, LocalOptimaWarning, SeparationWarning, shown
from .estimation.alternating import AlternatingRun, alternate
from .estimation.search import Search, no_terms, search
from .estimation.start import starting_scores
from .geometry.decomposition import max_rank
from .geometry.parameters import Coefficients, ParameterLayout
from .geometry.structures import Frame, LowRank, Pooled, ScoreStructure, Unrestricted
from .likelihood import (
    bernoulli,
    free_design,
    free_gradient,
    gradient,
    linear_predictor,
    probability,
    reported_bending,
    reported_design,
)
from .inference.covariance import information_at
from .inference.estimate import Estimate, assess
from .results import HJAResults, HJAResultsWrapper

Labels = Any
STATSMODELS_METHODS = ("newton", "nm", "bfgs", "lbfgs", "powell", "cg", "ncg", "basinhopping", "minimize")


class HJAModel(GenericLikelihoodModel):
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
        Frequency weights.
    rank : int
        Number of disagreement directions, between 0 (sensitivity only) and ``min(n_judges - 1, n_items - 2)``.
    position : {None, "common", "judge"}
        Log-odds bonus of the item shown first: none, one for all judges, or one per judge.
    ties : {"half"}
        Ties count as half a win for each item, as in the paper.
    missing : {"none", "drop", "raise"}
        What to do with rows in which something is missing; "none" and "raise" both refuse them.

    See Also
    --------
    JAModel : rank 0.
    BTLModel : all judges alike.
    JudgewiseBTLModel : a ranking of its own for every judge.

    Examples
    --------
    >>> import hjastats as hja
    >>> data = hja.datasets.load_panel()
    >>> result = hja.HJAModel.from_comparisons(data, rank=1).fit()
    >>> result.df_model
    33.0
    """

    results_class = HJAResults

    def __init__(
        self,
        endog: Any,
        exog: Any = None,
        *,
        judge: Labels = None,
        item_a: Labels = None,
        item_b: Labels = None,
        weights: Any = None,
        rank: int = 1,
        position: str | None = None,
        ties: str = "half",
        missing: str = "none",
        comparisons: Comparisons | None = None,
        **kwargs: Any,
    ) -> None:
        if position not in (None, "common", "judge"):
            raise ValueError(f"position must be None, 'common' or 'judge', got {position!r}.")
        if ties != "half":
            raise ValueError(f"ties must be 'half', got {ties!r}.")
        self.position, self.ties = position, ties
        formula_rows = kwargs.pop("missing_idx", None)
        kwargs.pop("model_spec", None)
        self.formula = kwargs.pop("formula", None)
        if kwargs:
            raise TypeError(f"{type(self).__name__} got unknown arguments: {shown(kwargs)}.")
        if comparisons is None:
            table = _Rows(endog, exog, judge, item_a, item_b, weights, formula_rows).checked(missing)
            endog, exog, comparisons = table.endog, table.exog, table.comparisons()
        elif exog is not None and len(exog) != comparisons.n_rows:
            raise ComparisonError(f"exog has {len(exog)} rows but there are {comparisons.n_rows} comparisons.")
        self.comparisons: Comparisons = comparisons
        endog = endog if isinstance(endog, pd.Series) else pd.Series(np.asarray(endog, dtype=float), name="win")
        super().__init__(endog, _numeric_frame(exog), missing="none", hasconst=False)
        self._init_keys = []
        self._set_up(rank)

    @classmethod
    def from_comparisons(cls, data: Comparisons, exog: Any = None, **options: Any) -> HJAModel:
        """Build the model from :func:`read_comparisons`.

        Parameters
        ----------
        data : Comparisons
        exog : array_like or list of str, optional
            Covariates, one row per comparison; a list of names takes them from ``data.columns``.
        **options
            ``rank``, ``position``, ``ties`` as in the class.
        """
        if not isinstance(data, Comparisons):
            raise ComparisonError(
                f"expected Comparisons, got {type(data).__name__}: read the table first, hja.read_comparisons(data)."
            )
        if isinstance(exog, list) and all(isinstance(name, str) for name in exog):
            unknown = [name for name in exog if name not in data.columns]
            if unknown:
                raise ComparisonError(
                    f"no column is called {shown(unknown)}; there are {shown(data.columns.columns, 10)}."
                )
            exog = data.columns[exog]
        return cls(data.outcome, exog, comparisons=data, **options)

    @classmethod
    def from_formula(  # type: ignore[override]
        cls,
        formula: str,
        data: pd.DataFrame,
        subset: Any = None,
        drop_cols: list[str] | None = None,
        *,
        judge: Any,
        item_a: Any,
        item_b: Any,
        weights: Any = None,
        **kwargs: Any,
    ) -> HJAModel:
        """Build the model from a formula such as ``"win ~ 0 + length_diff"``.

        The left side is the preference for the first item in [0, 1]; the right side holds covariates (``0`` for none; the
        intercept of ``1`` is a bonus for the first item, the same as ``position="common"``).

        Parameters
        ----------
        formula : str
        data : pandas.DataFrame
        subset : array_like, optional
            Rows to use, as index labels or a boolean mask.
        judge, item_a, item_b, weights : str or array_like
            Column names of ``data``, or arrays with one value per row of ``data``.
        **kwargs
            ``rank``, ``position``, ``ties``, ``missing`` as in the class, and ``eval_env``.

        Examples
        --------
        >>> import hjastats as hja
        >>> frame = hja.datasets.load_panel().to_frame()
        >>> model = hja.JAModel.from_formula("outcome ~ 0", frame, judge="judge", item_a="first", item_b="second")
        >>> model.df_model
        19.0
        """
        arrays = {"judge": judge, "item_a": item_a, "item_b": item_b}
        if weights is not None:
            arrays["weights"] = weights
        columns = pd.DataFrame({name: _column(name, value, data) for name, value in arrays.items()}, index=data.index)
        if subset is not None:
            data, columns = data.loc[subset], columns.loc[subset]
        advance_eval_env(kwargs)
        options = {name: columns[name] for name in columns}
        return super().from_formula(formula, data, None, drop_cols, **options, **kwargs)

    def initialize(self) -> None:
        """Skip the base class's guess of the degrees of freedom; see ``_set_up``."""

    def _set_up(self, rank: int) -> None:
        data = self.comparisons
        self.structure = self._make_structure(rank, data)
        shared = list(self.data.xnames or []) if self.exog is not None else []
        judge_terms: list[str] = []
        if self.position == "common":
            shared.append("position")
        elif self.position == "judge":
            judge_terms.append("position")
        self.layout = ParameterLayout(self.structure, data.judges, data.items, tuple(shared), tuple(judge_terms))
        rows = self._row_cells()
        self.cells: Cells = aggregate(
            rows.judge,
            rows.first,
            rows.second,
            data.outcome,
            data.weight,
            data.n_judges,
            data.n_items,
            rows.judge_terms,
            rows.shared_terms,
        )
        self.data.param_names = self.layout.names
        self.data.judge_names, self.data.item_names = list(data.judges), list(data.items)
        self.nobs = data.n_comparisons
        self.nparams, self.k_extra, self.k_params_free = len(self.layout.names), 0, self.layout.n_free
        self.df_model = float(self.k_params_free)
        self.df_resid = self.nobs - self.k_params_free
        self._data_attr += ["comparisons"]

    def _make_structure(self, rank: int, data: Comparisons) -> ScoreStructure:
        largest = max_rank(data.n_judges, data.n_items)
        if isinstance(rank, bool) or not isinstance(rank, (int, np.integer)) or not 0 <= rank <= largest:
            raise IdentificationError(
                f"rank must be an integer between 0 and min(n_judges - 1, n_items - 2) = {largest} for {data.n_judges} "
                f"judges and {data.n_items} items, got {rank!r}."
            )
        return LowRank(int(rank))

    def _row_cells(self) -> Cells:
        """The rows of the table as cells of their own."""
        data = self.comparisons
        shared = np.zeros((data.n_rows, 0)) if self.exog is None else np.asarray(self.exog, dtype=float)
        ones = np.ones((data.n_rows, 1))
        if self.position == "common":
            shared = np.hstack([shared, ones])
        return Cells(
            data.judge_index,
            data.first_index,
            data.second_index,
            data.weight,
            data.weight * data.outcome,
            data.n_judges,
            data.n_items,
            ones if self.position == "judge" else np.zeros((data.n_rows, 0)),
            shared,
        )

    @property
    def judges(self) -> tuple[str, ...]:
        """Judge labels in the order of the parameters."""
        return self.layout.judges

    @property
    def items(self) -> tuple[str, ...]:
        """Item labels in the order of the parameters."""
        return self.layout.items

    @property
    def rank(self) -> int:
        """Number of disagreement directions."""
        return self.layout.rank

    @property
    def start_params(self) -> np.ndarray:
        """Starting values in the reported parameters, the first of those ``fit`` uses."""
        return self.layout.pack(self._starts(0, np.random.default_rng(0))[0])

    def _starts(self, n_random: int, rng: np.random.Generator) -> list[Coefficients]:
        return [no_terms(self.cells, scores) for scores in starting_scores(self.cells, self.structure, n_random, rng)]

    # Reported and free parameters

    def _frame(self, at: np.ndarray | None) -> Frame:
        params = self.start_params if at is None else self._checked(at)
        return self.structure.frame(self.structure.nearest(self.layout.unpack(params).scores))

    def _checked(self, params: Any) -> np.ndarray:
        values = np.asarray(params, dtype=float)
        if values.shape != (self.nparams,):
            raise ValueError(f"expected {self.nparams} parameters (see model.param_names), got shape {values.shape}.")
        return values

    @property
    def param_names(self) -> list[str]:
        """Names of the reported parameters."""
        return self.layout.names

    def transform_params(self, unconstrained: Any, at: Any = None) -> np.ndarray:
        """Reported parameters of free coordinates.

        Parameters
        ----------
        unconstrained : array_like, shape (k_params_free,)
        at : array_like, optional
            Reported parameters at which the coordinates are anchored; the starting values by default. Coordinates
            anchored at different points differ, the model they describe does not.
        """
        return self.layout.pack(self.layout.from_free(np.asarray(unconstrained, dtype=float), self._frame(at)))

    def untransform_params(self, constrained: Any, at: Any = None) -> np.ndarray:
        """Free coordinates of reported parameters; inverse of :meth:`transform_params`."""
        return self.layout.to_free(self.layout.unpack(self._checked(constrained)), self._frame(at))

    def transform_jacobian(self, unconstrained: Any, at: Any = None) -> np.ndarray:
        """Derivative of :meth:`transform_params`, shape (n_params, k_params_free), in closed form."""
        anchor = self._frame(at)
        there = self.layout.from_free(np.asarray(unconstrained, dtype=float), anchor)
        frame = self.structure.frame(there.scores)
        # Both charts give coordinates to the same scores: change from the anchor's to those at the point itself.
        return self.layout.jacobian(there, frame) @ np.linalg.inv(self.layout.chart_change(anchor, frame))

    # Likelihood

    def loglike(self, params: Any) -> float:
        """Bernoulli log-likelihood of the individual comparisons at reported parameters."""
        at = self.layout.unpack(self._checked(params))
        return -bernoulli(linear_predictor(self.cells, at), self.cells.n, self.cells.y).value

    def loglikeobs(self, params: Any) -> np.ndarray:
        """Log-likelihood of each row, weights included."""
        rows = self._row_cells()
        eta = linear_predictor(rows, self.layout.unpack(self._checked(params)))
        wins, total = rows.y, rows.n
        return np.where(eta > 0, wins - total, wins) * eta - total * np.log1p(np.exp(-np.abs(eta)))

    def score(self, params: Any) -> np.ndarray:
        """Gradient of :meth:`loglike` in the reported parameters, their normalisation ignored."""
        return self._score_obs(self.cells, self._checked(params)).sum(axis=0)

    def score_obs(self, params: Any) -> np.ndarray:
        """Gradient of each row of :meth:`loglikeobs`, shape (n_rows, n_params)."""
        return self._score_obs(self._row_cells(), self._checked(params))

    def _score_obs(self, cells: Cells, params: np.ndarray) -> np.ndarray:
        slope = bernoulli(linear_predictor(cells, self.layout.unpack(params)), cells.n, cells.y).slope
        return -slope[:, None] * reported_design(cells, self.layout, params)

    def hessian(self, params: Any) -> np.ndarray:
        """Second derivatives of :meth:`loglike` in the reported parameters, their normalisation ignored.

        Singular along changes of the parameters that leave the scores alone: do not invert it, see :meth:`hessian_free`.
        """
        values = self._checked(params)
        here = bernoulli(linear_predictor(self.cells, self.layout.unpack(values)), self.cells.n, self.cells.y)
        design = reported_design(self.cells, self.layout, values)
        bending = reported_bending(self.layout, gradient(self.cells, here.slope).scores)
        return -(design.T @ (here.curvature[:, None] * design)) - bending

    def score_free(self, params: Any) -> np.ndarray:
        """Gradient in free coordinates anchored at ``params`` themselves, shape (k_params_free,)."""
        at, frame = self._anchored(params)
        here = bernoulli(linear_predictor(self.cells, at), self.cells.n, self.cells.y)
        return -free_gradient(gradient(self.cells, here.slope), frame)

    def score_obs_free(self, params: Any) -> np.ndarray:
        """Row-wise gradient in free coordinates anchored at ``params``, shape (n_rows, k_params_free)."""
        at, frame = self._anchored(params)
        rows = self._row_cells()
        slope = bernoulli(linear_predictor(rows, at), rows.n, rows.y).slope
        return -slope[:, None] * free_design(rows, frame)

    def hessian_free(self, params: Any, observed: bool = True) -> np.ndarray:
        """Second derivatives in free coordinates anchored at ``params``; minus the expected information if not observed."""
        at, frame = self._anchored(params)
        return -information_at(self.cells, at, frame, "observed" if observed else "expected")

    def information(self, params: Any) -> np.ndarray:
        """Expected information in free coordinates (eq. fisher-plugin, times the number of comparisons)."""
        return -self.hessian_free(params, observed=False)

    def _anchored(self, params: Any) -> tuple[Coefficients, Frame]:
        at = self.layout.unpack(self._checked(params))
        return at, self.structure.frame(at.scores)

    def predict(
        self,
        params: Any,
        exog: Any = None,
        *,
        judge: Labels = None,
        item_a: Labels = None,
        item_b: Labels = None,
        which: str = "mean",
    ) -> np.ndarray:
        """Probability that the first item is preferred.

        Parameters
        ----------
        params : array_like
        exog : array_like, optional
            Covariates of the new comparisons; needed if the model has any.
        judge, item_a, item_b : label or array_like of labels, optional
            New comparisons; the data themselves when left out.
        which : {"mean", "linear"}
            Probabilities or log-odds.
        """
        at = self.layout.unpack(self._checked(params))
        rows = self._row_cells() if judge is None else self._new_rows(exog, judge, item_a, item_b)
        eta = linear_predictor(rows, at)
        if which not in ("mean", "linear"):
            raise ValueError(f"which must be 'mean' or 'linear', got {which!r}.")
        return eta if which == "linear" else probability(eta)

    def _new_rows(self, exog: Any, judge: Labels, item_a: Labels, item_b: Labels) -> Cells:
        arrays = [np.atleast_1d(np.asarray(values, dtype=object)) for values in (judge, item_a, item_b)]
        judges, firsts, seconds = np.broadcast_arrays(*arrays)
        n_rows, m = len(judges), len(self.layout.shared_terms)
        shared = np.ones((n_rows, m))
        n_exog = m - (self.position == "common")
        if n_exog:
            if exog is None:
                raise ValueError(f"the model has covariates {shown(self.layout.shared_terms[:n_exog])}: pass exog.")
            shared[:, :n_exog] = np.asarray(exog, dtype=float).reshape(n_rows, n_exog)
        return Cells(
            _lookup("judge", judges, self.judges),
            _lookup("item", firsts, self.items),
            _lookup("item", seconds, self.items),
            np.ones(n_rows),
            np.zeros(n_rows),
            len(self.judges),
            len(self.items),
            np.ones((n_rows, len(self.layout.judge_terms))),
            shared,
        )

    # Fitting

    def check_estimable(self) -> None:
        """Refuse data that cannot determine the parameters, before any fitting.

        Raises
        ------
        IdentificationError
            When the pooled comparisons fall into groups of items that are never compared with each other.
        """
        graph = self.comparisons.connectivity
        if not graph.is_connected:
            small = graph.pooled_groups[1]
            raise IdentificationError(
                f"the items fall into {len(graph.pooled_groups)} groups that no judge ever compared with each other, so their "
                f"scores have no common scale. One group is {shown(small)}; add comparisons that link it, or fit each "
                "group by itself (data.connectivity lists them)."
            )

    def fit(
        self,
        start_params: Any = None,
        method: str = "trust",
        maxiter: int = 200,
        full_output: bool = True,
        disp: bool = False,
        callback: Callable[[np.ndarray], None] | None = None,
        retall: bool = False,
        *,
        cov_type: str = "nonrobust",
        cov_kwds: dict[str, Any] | None = None,
        use_t: bool = False,
        information: str = "expected",
        n_random: int = 2,
        rng: int | np.random.Generator | None = 0,
        warn_convergence: bool = True,
        **kwargs: Any,
    ) -> HJAResultsWrapper:
        """Maximum likelihood.

        Parameters
        ----------
        start_params : array_like, optional
            Reported parameters to start from, instead of the default starts.
        method : str
            "trust": damped Newton steps on the score matrix, from several starts. "alternating": the algorithm of the
            paper, its history in ``mle_retvals["history"]``. Or a statsmodels optimiser ("bfgs", "lbfgs", "newton", ...),
            run in free coordinates from each start. Both of the latter are polished by Newton steps.
        maxiter : int
            Iterations per start of "trust" and of the statsmodels optimisers; passes of "alternating".
        cov_type : {"nonrobust"}
        information : {"expected", "observed"}
            Which information standard errors come from; expected is the paper's.
        n_random : int
            Random starts beside the deterministic ones.
        rng : int or numpy.random.Generator
            Randomness of those starts.
        warn_convergence : bool
            Whether to warn when the fit did not converge, the estimate does not exist, or several optima were met.
        **kwargs
            Further options of "alternating" (``tau``, ``tolerance``) or of the statsmodels optimiser.

        Returns
        -------
        HJAResults
        """
        if cov_type != "nonrobust" or cov_kwds:
            raise ValueError(f"cov_type must be 'nonrobust', got {cov_type!r}.")
        if information not in ("expected", "observed"):
            raise ValueError(f"information must be 'expected' or 'observed', got {information!r}.")
        self.check_estimable()
        rng = np.random.default_rng(rng)
        starts = self._starts(n_random, rng) if start_params is None else [self._start_at(start_params)]
        history: AlternatingRun | None = None
        if method == "alternating":
            history = self._alternate(starts, maxiter=max(maxiter, 5000) if maxiter == 200 else maxiter, **kwargs)
            starts = [history.at]
        elif method in STATSMODELS_METHODS:
            starts = [self._delegate(start, method, maxiter, disp, callback, retall, kwargs) for start in starts]
        elif method != "trust":
            choices = ", ".join(repr(name) for name in ("trust", "alternating", *STATSMODELS_METHODS))
            raise ValueError(f"method must be one of {choices}; got {method!r}.")
        elif kwargs:
            raise TypeError(f"method 'trust' takes no option called {shown(kwargs)}.")
        found = search(self.cells, self.structure, starts=starts, maxiter=maxiter)
        estimate = assess(self.cells, self.structure, found, method=method, history=history, information=information)
        if warn_convergence:
            _warn(estimate, self)
        return HJAResultsWrapper(self.results_class(self, estimate, use_t=use_t))

    def _start_at(self, params: Any) -> Coefficients:
        at = self.layout.unpack(self._checked(params))
        if not np.isfinite(at.scores).all():
            raise ValueError("start_params must be finite.")
        return at

    def _alternate(self, starts: list[Coefficients], maxiter: int, **options: Any) -> AlternatingRun:
        if not isinstance(self.structure, LowRank):
            raise ValueError(
                f"method 'alternating' needs judge sensitivities; {type(self).__name__} is concave: use 'trust'."
            )
        # The paper's own initialisation stands second among the default starts.
        start = starts[min(1, len(starts) - 1)]
        return alternate(self.cells, self.rank, start, maxiter=maxiter, **options)

    def _delegate(
        self,
        start: Coefficients,
        method: str,
        maxiter: int,
        disp: bool,
        callback: Callable[[np.ndarray], None] | None,
        retall: bool,
        options: dict[str, Any],
    ) -> Coefficients:
        """Run a statsmodels optimiser in free coordinates anchored at the start."""
        scores = self.structure.nearest(start.scores)
        frame = self.structure.frame(scores)
        layout, cells, n = self.layout, self.cells, self.nobs

        def objective(free: np.ndarray, *_: Any) -> float:
            at = layout.from_free(free, frame)
            return bernoulli(linear_predictor(cells, at), cells.n, cells.y).value / n

        def slope(free: np.ndarray, *_: Any) -> np.ndarray:
            at, here = self._here(free, frame)
            slopes = free_gradient(gradient(cells, here.slope), self.structure.frame(at.scores))
            return np.linalg.solve(layout.chart_change(frame, self.structure.frame(at.scores)).T, slopes) / n

        def hess(free: np.ndarray, *_: Any) -> np.ndarray:
            at, _here = self._here(free, frame)
            local = self.structure.frame(at.scores)
            change = np.linalg.inv(layout.chart_change(frame, local))
            return change.T @ information_at(cells, at, local, "expected") @ change / n

        first = layout.to_free(Coefficients(scores, start.judge, start.shared), frame)
        with warnings.catch_warnings():
            # Whether the delegate converged does not matter: what counts is judged after the Newton steps that follow.
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", HessianInversionWarning)
            best, _, _ = Optimizer()._fit(
                objective,
                slope,
                first,
                (),
                options,
                hessian=hess,
                method=method,
                maxiter=maxiter,
                full_output=True,
                disp=disp,
                callback=callback,
                retall=retall,
            )
        return layout.from_free(np.asarray(best), frame)

    def _here(self, free: np.ndarray, frame: Frame) -> tuple[Coefficients, Any]:
        at = self.layout.from_free(free, frame)
        return at, bernoulli(linear_predictor(self.cells, at), self.cells.n, self.cells.y)


class JAModel(HJAModel):
    """Judge-aware ranking: one consensus, judges differ in their sensitivity to it (HJA of rank 0)."""

    def __init__(self, endog: Any, exog: Any = None, **kwargs: Any) -> None:
        super().__init__(endog, exog, rank=0, **kwargs)


class BTLModel(HJAModel):
    """Bradley-Terry-Luce: all judges share one score per item; there are no sensitivities among the parameters."""

    def __init__(self, endog: Any, exog: Any = None, **kwargs: Any) -> None:
        super().__init__(endog, exog, rank=0, **kwargs)

    def _make_structure(self, rank: int, data: Comparisons) -> ScoreStructure:
        return Pooled()


class JudgewiseBTLModel(HJAModel):
    """Bradley-Terry-Luce for every judge separately: the unrestricted score matrix all other models are nested in."""

    def __init__(self, endog: Any, exog: Any = None, **kwargs: Any) -> None:
        super().__init__(endog, exog, rank=0, **kwargs)

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
                f"{len(loose)} judges do not link all items by their own comparisons ({shown(loose)}); for {judge!r} the group "
                f"{shown(groups[-1])} stands apart. Leave these judges out (data.without_judges) or fit HJAModel, which "
                "borrows strength across judges."
            )


class _Rows:
    """The arrays a model is built from, aligned and with missing rows dealt with."""

    def __init__(
        self,
        endog: Any,
        exog: Any,
        judge: Labels,
        item_a: Labels,
        item_b: Labels,
        weights: Any,
        used: np.ndarray | None,
    ) -> None:
        labels = {"judge": judge, "item_a": item_a, "item_b": item_b}
        absent = [name for name, values in labels.items() if values is None]
        if absent:
            raise ComparisonError(
                f"{type(self).__name__.strip('_').lower()} need {', '.join(absent)}: pass one label per row."
            )
        self.endog = _outcome(endog)
        self.exog = _numeric_frame(exog)
        if weights is not None:
            labels["weights"] = weights
        self.columns: dict[str, pd.Series] = {}
        for name, values in labels.items():
            series = pd.Series(np.asarray(values, dtype=object))
            if used is not None and len(series) == len(used):
                series = series[~np.asarray(used)].reset_index(drop=True)
            if len(series) != len(self.endog):
                raise ComparisonError(
                    f"{name} has {len(series)} values but endog has {len(self.endog)}: pass one per row."
                )
            self.columns[name] = series
        if self.exog is not None and len(self.exog) != len(self.endog):
            raise ComparisonError(f"exog has {len(self.exog)} rows but endog has {len(self.endog)}: pass one per row.")

    def checked(self, missing: str) -> _Rows:
        """Drop or refuse rows with missing values."""
        if missing not in ("none", "drop", "raise"):
            raise ValueError(f"missing must be 'none', 'drop' or 'raise', got {missing!r}.")
        gaps = {"endog": self.endog.isna().to_numpy()}
        gaps |= {name: values.isna().to_numpy() for name, values in self.columns.items()}
        if self.exog is not None:
            gaps["exog"] = self.exog.isna().any(axis=1).to_numpy()
        gone = np.logical_or.reduce(list(gaps.values()))
        if gone.any():
            if missing != "drop":
                where = ", ".join(f"{int(gap.sum())} in {name}" for name, gap in gaps.items() if gap.any())
                raise ComparisonError(
                    f"there are missing values: {where}. Pass missing='drop' to leave those rows out."
                )
            self.endog = self.endog[~gone]
            self.columns = {name: values[~gone] for name, values in self.columns.items()}
            if self.exog is not None:
                self.exog = self.exog[~gone]
        return self

    def comparisons(self) -> Comparisons:
        columns = self.columns
        return Comparisons.from_arrays(
            columns["judge"], columns["item_a"], columns["item_b"], self.endog.to_numpy(), columns.get("weights")
        )


def _outcome(endog: Any) -> pd.Series:
    name = getattr(endog, "name", None)
    if isinstance(endog, pd.DataFrame):
        if endog.shape[1] != 1:
            raise ComparisonError(
                f"the outcome must be one numeric column, got {endog.shape[1]}: {shown(endog.columns)}."
            )
        name, endog = endog.columns[0], endog.iloc[:, 0]
    try:
        values = np.asarray(endog, dtype=float)
    except (TypeError, ValueError):
        raise ComparisonError("endog must be numbers in [0, 1]; read labels with hja.read_comparisons.") from None
    if values.ndim != 1:
        raise ComparisonError(f"endog must be one-dimensional, got shape {values.shape}.")
    index = endog.index if isinstance(endog, pd.Series) else None
    return pd.Series(values, index=index, name=name or "win")


def _numeric_frame(exog: Any) -> pd.DataFrame | None:
    if exog is None:
        return None
    frame = exog if isinstance(exog, pd.DataFrame) else pd.DataFrame(np.asarray(exog))
    if not isinstance(exog, pd.DataFrame):
        frame.columns = [f"x{i + 1}" for i in range(frame.shape[1])]
    if frame.shape[1] == 0:
        return None
    try:
        return frame.astype(float)
    except (TypeError, ValueError):
        raise ComparisonError("exog must be numeric: code categories with a formula, HJAModel.from_formula.") from None


def _column(name: str, value: Any, data: pd.DataFrame) -> np.ndarray:
    if isinstance(value, str):
        if value not in data.columns:
            raise ComparisonError(f"{name}={value!r} is not a column; the columns are {shown(data.columns, 12)}.")
        return data[value].to_numpy(dtype=object)
    values = np.asarray(value, dtype=object)
    if len(values) != len(data):
        raise ComparisonError(f"{name} has {len(values)} values but the data have {len(data)} rows.")
    return values


def _lookup(kind: str, labels: np.ndarray, known: tuple[str, ...]) -> np.ndarray:
    codes = pd.Index(known).get_indexer([str(label) for label in labels])
    if (codes < 0).any():
        raise ComparisonError(
            f"unknown {kind} {shown(np.unique(labels[codes < 0].astype(str)))}; known are {shown(known, 10)}."
        )
    return codes.astype(np.intp)


def _warn(estimate: Estimate, model: HJAModel) -> None:
    if estimate.separation is not None:
        warnings.warn(estimate.separation_text(model.layout), SeparationWarning, stacklevel=3)
    elif not estimate.free_covariance.is_identified:
        warnings.warn(
            "the information matrix is singular at the estimate: the data do not determine all parameters, standard errors "
            "are not available.",
            HessianInversionWarning,
            stacklevel=3,
        )
    elif not estimate.optimum.converged:
        warnings.warn(
            f"the fit did not converge in {estimate.optimum.iterations} iterations; raise maxiter.",
            ConvergenceWarning,
            stacklevel=3,
        )
    if len(estimate.search.values) > 1 and estimate.best_share < 0.5:
        warnings.warn(estimate.optima_text(), LocalOptimaWarning, stacklevel=3)
