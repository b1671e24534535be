"""A comparison model in statsmodels' terms: data, parameters, likelihood and its derivatives, prediction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd
from patsy import PatsyError
from scipy.special import xlogy
from statsmodels.base.model import GenericLikelihoodModel
from statsmodels.formula.formulatools import advance_eval_env

from ..data.arrays import UserArrays, check_option, column, covariate_frame, judge_columns
from ..data.cells import Cells, collapse
from ..data.comparisons import Comparisons
from ..errors import ComparisonError, IdentificationError
from ..inference.covariance import information_at
from ..model.decomposition import max_rank
from ..model.layout import Coefficients, Layout
from ..model.likelihood import (
    cell_scores,
    davidson_probabilities,
    evaluate,
    free_design,
    free_gradient,
    free_ties,
    gradient,
    linear_predictor,
    tie_predictor,
)
from ..model.structures import LowRank, ScoreStructure, TangentBasis
from ..solve.search import no_terms
from ..solve.starts import starting_scores
from ..words import quoted
from .derivatives import reported_bending, reported_design, reported_gradient
from .prediction import PredictionMethods

Labels = Any


class ComparisonModel(PredictionMethods, GenericLikelihoodModel):
    """Likelihood of pairwise verdicts under a low-rank score structure; :class:`HJAModel` adds the fitting."""

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
        tie: str = "common",
        judge_exog: Any = None,
        missing: str = "none",
        columns: pd.DataFrame | None = None,
        comparisons: Comparisons | None = None,
        **kwargs: Any,
    ) -> None:
        check_option("position", position, (None, "common", "judge"))
        check_option("ties", ties, ("half", "drop", "davidson"))
        check_option("tie", tie, ("common", "judge"))
        self.position, self.ties, self.tie = position, ties, tie if ties == "davidson" else ""
        formula_rows = kwargs.pop("missing_idx", None)
        spec = {name: kwargs.pop(name) for name in ("model_spec", "formula") if name in kwargs}
        if kwargs:
            raise TypeError(f"{type(self).__name__} got unknown arguments: {quoted(kwargs)}.")
        if comparisons is None:
            table = UserArrays(endog, exog, judge, item_a, item_b, weights, formula_rows, judge_exog, columns).checked(
                missing
            )
            endog, comparisons = table.endog, table.comparisons()
            exog, judge_exog = (
                None if frame is None else frame.reset_index(drop=True) for frame in (table.exog, table.judge_exog)
            )
        exog = covariate_frame("exog", exog, comparisons)
        judge_exog = covariate_frame("judge_exog", judge_exog, comparisons)
        endog = endog if isinstance(endog, pd.Series) else pd.Series(np.asarray(endog, dtype=float), name="win")
        if exog is not None and "Intercept" in exog.columns:
            exog = self._take_intercept(exog)
        if ties == "drop":
            kept = comparisons.outcome != 0.5
            self.n_ties_dropped = float(comparisons.weight[~kept].sum())
            comparisons, endog = comparisons.subset(kept), endog[kept]
            exog, judge_exog = (f if f is None else f[kept].reset_index(drop=True) for f in (exog, judge_exog))
        if ties == "davidson" and not np.isin(comparisons.outcome, (0.0, 0.5, 1.0)).all():
            raise ComparisonError(
                "ties='davidson' needs wins, ties and losses (1, 0.5, 0); soft preferences need ties='half'."
            )
        self.comparisons: Comparisons = comparisons
        self.judge_exog = judge_exog
        if exog is not None:
            exog = exog.set_axis(endog.index)
        super().__init__(endog, exog, missing="none", hasconst=False, **spec)
        # The design of a formula stays with the data, which know how to restore it after pickling.
        self.__dict__.pop("model_spec", None)
        self.formula: str | None = spec.get("formula")
        self._init_keys: list[str] = []
        self._set_up(rank)

    def _take_intercept(self, exog: pd.DataFrame) -> pd.DataFrame | None:
        """An intercept is a bonus for the item shown first: make it the position effect it is."""
        if self.position is not None:
            raise ComparisonError(
                f"the intercept is a position effect, as is position={self.position!r}: write '0 + ...' in the formula."
            )
        self.position = "common"
        exog = exog.drop(columns="Intercept")
        return exog if exog.shape[1] else None

    @classmethod
    def from_comparisons(cls, data: Comparisons, exog: Any = None, **options: Any) -> Self:
        """Build the model from :func:`read_comparisons`.

        Parameters
        ----------
        data : Comparisons
        exog : array_like or list of str, optional
            Covariates, one row per comparison; a list of names takes them from ``data.columns``. Likewise ``judge_exog``.
        **options
            ``rank``, ``position``, ``ties``, ``tie``, ``judge_exog`` as in the class.

        Examples
        --------
        >>> import hjastats as hja
        >>> data = hja.datasets.load_panel()
        >>> hja.HJAModel.from_comparisons(data, rank=1, position="judge").rank
        1
        """
        if not isinstance(data, Comparisons):
            raise ComparisonError(
                f"expected Comparisons, got {type(data).__name__}: read the table first, hja.read_comparisons(data)."
            )
        return cls(data.outcome, exog, comparisons=data, **options)

    @classmethod
    def from_formula(
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
        judge_exog: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Build the model from a formula such as ``"win ~ 0 + length_diff"``.

        The left side is the preference for the first item in [0, 1]; the right side holds covariates, ``0`` for none. An
        intercept is a bonus for the first item and becomes ``position="common"``.

        Parameters
        ----------
        formula : str
        data : pandas.DataFrame
        subset : array_like, optional
            Rows to use, as index labels or a boolean mask.
        judge, item_a, item_b, weights : str or array_like
            Column names of ``data``, or arrays with one value per row of ``data``.
        judge_exog : str, list of str or array_like, optional
            Covariates with judge-specific slopes: columns of ``data``, or the right side of a formula such as ``"0 + length"``.
        **kwargs
            ``rank``, ``position``, ``ties``, ``missing`` as in the class, and ``eval_env``.

        Examples
        --------
        >>> import hjastats as hja
        >>> frame = hja.datasets.load_panel().to_frame()
        >>> model = hja.JAModel.from_formula("outcome ~ 0", frame, judge="judge", item_a="first", item_b="second")
        >>> model.df_model
        16.0
        """
        arrays = {"judge": judge, "item_a": item_a, "item_b": item_b}
        if weights is not None:
            arrays["weights"] = weights
        columns = pd.DataFrame({name: column(name, value, data) for name, value in arrays.items()}, index=data.index)
        own = judge_columns(judge_exog, data)
        if subset is not None:
            data, columns = data.loc[subset], columns.loc[subset]
            own = None if own is None else own.loc[subset]
        advance_eval_env(kwargs)
        kwargs.setdefault("missing", "raise")
        options = {name: columns[name] for name in arrays} | {"judge_exog": own, "columns": data}
        try:
            return super().from_formula(formula, data, None, drop_cols, **options, **kwargs)
        except PatsyError as error:
            reason = str(error).splitlines()[0]
            raise ComparisonError(
                f"cannot build {formula!r}: {reason} (missing='drop' leaves out incomplete rows)."
            ) from None
        except ValueError as error:
            # statsmodels' own words for a left side of labels, which it expands to dummies.
            if "endog has evaluated to an array with multiple columns" not in str(error):
                raise
            raise ComparisonError(
                f"the left side of {formula!r} holds labels: expected 1 if the first item was preferred, 0 if the second, "
                "0.5 for a tie. read_comparisons(..., codes={...}) understands labels; from_comparisons(data, exog=[...]) takes "
                "covariates."
            ) from None

    def initialize(self) -> None:
        """Skip the base class's guess of the degrees of freedom; see ``_set_up``."""

    def _set_up(self, rank: int) -> None:
        data = self.comparisons
        self.structure = self._make_structure(rank, data)
        shared = list(self.data.xnames or []) if self.exog is not None else []
        own = [] if self.judge_exog is None else [str(name) for name in self.judge_exog.columns]
        shared += ["position"] * (self.position == "common") + ["tie"] * (self.tie == "common")
        own = ["position"] * (self.position == "judge") + own + ["tie"] * (self.tie == "judge")
        self.never_tie = self._judges_without_ties() if self.tie else ()
        self.layout = Layout(
            self.structure, data.judges, data.items, tuple(shared), tuple(own), never_tie=self.never_tie
        )
        # Without terms the counts are those of the data, which other models of the same data use too.
        self.cells: Cells = collapse(self.row_cells()) if shared or own else data.cells
        self.data.param_names = self.layout.names
        self.data.judge_names, self.data.item_names = list(data.judges), list(data.items)
        self.nobs = data.n_comparisons
        self.nparams, self.k_extra, self.k_params_free = len(self.layout.names), 0, self.layout.n_free
        self.df_model = float(self.k_params_free)
        self.df_resid = self.nobs - self.k_params_free
        self._data_attr += ["comparisons", "judge_exog"]

    def _make_structure(self, rank: int, data: Comparisons) -> ScoreStructure:
        largest = max_rank(data.n_judges, data.n_items)
        if isinstance(rank, bool) or not isinstance(rank, (int, np.integer)) or not 0 <= rank <= largest:
            raise IdentificationError(
                f"rank must be an integer between 0 and min(n_judges - 1, n_items - 2) = {largest} for {data.n_judges} "
                f"judges and {data.n_items} items, got {rank!r}."
            )
        return LowRank(int(rank))

    def _judges_without_ties(self) -> tuple[int, ...]:
        """Judges that never tie: their tie propensity is zero, on the boundary, and not estimated."""
        ties = self.comparisons.first_share()["ties"].to_numpy()
        if not ties.any():
            raise IdentificationError(
                "there are no ties in the data: ties='davidson' has nothing to estimate, use ties='half'."
            )
        return tuple(np.flatnonzero(ties == 0).tolist()) if self.tie == "judge" else ()

    def row_cells(self) -> Cells:
        """The rows of the data with their terms, as cells of their own."""
        data = self.comparisons
        own = [] if self.judge_exog is None else [self.judge_exog.to_numpy(dtype=float)]
        shared = [] if self.exog is None else [np.asarray(self.exog, dtype=float)]
        return self._with_terms(data.row_cells, data.outcome, own, shared)

    def _with_terms(self, rows: Cells, outcome: np.ndarray, own: list[np.ndarray], shared: list[np.ndarray]) -> Cells:
        """Put covariates, position and tie columns in the order of the parameters."""
        n_rows = len(rows.n)
        ones = [np.ones((n_rows, 1))]
        own = ones * (self.position == "judge") + own + ones * (self.tie == "judge")
        shared = shared + ones * (self.position == "common") + ones * (self.tie == "common")
        ties = rows.n * (outcome == 0.5) if self.tie else None
        nothing = np.zeros((n_rows, 0))
        return replace(
            rows,
            judge_terms=np.hstack([nothing, *own]),
            shared_terms=np.hstack([nothing, *shared]),
            ties=ties,
            tie=self.tie,
            never_tie=self.never_tie,
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

    def _tangent(self, at: np.ndarray | None) -> TangentBasis:
        params = self.start_params if at is None else self._checked(at)
        return self.structure.tangent(self.structure.nearest(self.layout.unpack(params).scores))

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

        Examples
        --------
        >>> import numpy as np
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> free = model.untransform_params(model.start_params)
        >>> bool(np.allclose(model.transform_params(free), model.start_params))
        True
        """
        return self.layout.pack(self.layout.from_free(np.asarray(unconstrained, dtype=float), self._tangent(at)))

    def untransform_params(self, constrained: Any, at: Any = None) -> np.ndarray:
        """Free coordinates of reported parameters; inverse of :meth:`HJAModel.transform_params`.

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> len(model.start_params), len(model.untransform_params(model.start_params))
        (18, 16)
        """
        return self.layout.to_free(self.layout.unpack(self._checked(constrained)), self._tangent(at))

    def transform_jacobian(self, unconstrained: Any, at: Any = None) -> np.ndarray:
        """Derivative of :meth:`HJAModel.transform_params`, shape (n_params, k_params_free), in closed form.

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> model.transform_jacobian(model.untransform_params(model.start_params)).shape
        (18, 16)
        """
        anchor = self._tangent(at)
        there = self.layout.from_free(np.asarray(unconstrained, dtype=float), anchor)
        tangent = self.structure.tangent(there.scores)
        # Both charts give coordinates to the same scores: change from the anchor's to those at the point itself.
        return self.layout.jacobian(there, tangent) @ np.linalg.inv(self.layout.chart_change(anchor, tangent))

    # Likelihood

    def loglike(self, params: Any) -> float:
        """Bernoulli log-likelihood of the individual comparisons at reported parameters.

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> params = model.fit().params
        >>> round(model.loglike(params), 1)
        -1875.6
        """
        at = self.layout.unpack(self._checked(params))
        return -evaluate(self.cells, at).value

    def loglikeobs(self, params: Any) -> np.ndarray:
        """Log-likelihood of each row, weights included.

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> params = model.fit().params
        >>> round(float(model.loglikeobs(params).sum()), 1)
        -1875.6
        """
        rows, at = self.row_cells(), self.layout.unpack(self._checked(params))
        eta = linear_predictor(rows, at)
        if rows.ties is None:
            return np.where(eta > 0, rows.y - rows.n, rows.y) * eta - rows.n * np.log1p(np.exp(-np.abs(eta)))
        first, tie, second = davidson_probabilities(eta, tie_predictor(rows, at))
        wins = rows.y - 0.5 * rows.ties
        return xlogy(wins, first) + xlogy(rows.ties, tie) + xlogy(rows.n - wins - rows.ties, second)

    def score(self, params: Any) -> np.ndarray:
        """Gradient of :meth:`HJAModel.loglike` in the reported parameters, their normalisation ignored.

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> params = model.fit().params
        >>> model.score(params).shape
        (18,)
        """
        values = self._checked(params)
        here = evaluate(self.cells, self.layout.unpack(values))
        return -reported_gradient(gradient(self.cells, here), self.layout, values)

    def score_obs(self, params: Any) -> np.ndarray:
        """Gradient of each row of :meth:`HJAModel.loglikeobs`, shape (n_rows, n_params).

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> params = model.fit().params
        >>> model.score_obs(params).shape
        (3200, 18)
        """
        rows, values = self.row_cells(), self._checked(params)
        here = evaluate(rows, self.layout.unpack(values))
        return cell_scores(rows, here, reported_design(rows, self.layout, values), self._is_tie)

    @property
    def _is_tie(self) -> np.ndarray:
        """Which reported parameters are tie propensities."""
        result = np.zeros(self.nparams, dtype=bool)
        if self.tie:
            result[self.layout.slices["tie"]] = True
        return result

    def hessian(self, params: Any) -> np.ndarray:
        """Second derivatives of :meth:`HJAModel.loglike` in the reported parameters, their normalisation ignored.

        Singular along changes of the parameters that leave the scores alone: do not invert it, see :meth:`HJAModel.hessian_free`.

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> params = model.fit().params
        >>> model.hessian(params).shape
        (18, 18)
        """
        values = self._checked(params)
        here = evaluate(self.cells, self.layout.unpack(values))
        design = reported_design(self.cells, self.layout, values)
        odds, ties = np.where(self._is_tie, 0.0, design), np.where(self._is_tie, design, 0.0)
        result = odds.T @ (here.curvature[:, None] * odds)
        if here.cross is not None and here.tie_curvature is not None:
            mixed = odds.T @ (here.cross[:, None] * ties)
            result = result + mixed + mixed.T + ties.T @ (here.tie_curvature[:, None] * ties)
        return -result - reported_bending(self.layout, gradient(self.cells, here).scores)

    def score_free(self, params: Any) -> np.ndarray:
        """Gradient in free coordinates anchored at ``params`` themselves, shape (k_params_free,).

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> params = model.fit().params
        >>> bool(abs(model.score_free(params)).max() < 1e-4)
        True
        """
        at, tangent = self._anchored(params)
        return -free_gradient(gradient(self.cells, evaluate(self.cells, at)), tangent, self.cells)

    def score_obs_free(self, params: Any) -> np.ndarray:
        """Row-wise gradient in free coordinates anchored at ``params``, shape (n_rows, k_params_free).

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> params = model.fit().params
        >>> model.score_obs_free(params).shape
        (3200, 16)
        """
        at, tangent = self._anchored(params)
        rows = self.row_cells()
        return cell_scores(rows, evaluate(rows, at), free_design(rows, tangent), free_ties(rows, tangent))

    def hessian_free(self, params: Any, observed: bool = True) -> np.ndarray:
        """Second derivatives in free coordinates anchored at ``params``; minus the expected information if not observed.

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> params = model.fit().params
        >>> import numpy as np
        >>> bool(np.linalg.eigvalsh(model.hessian_free(params)).max() < 0)
        True
        """
        at, tangent = self._anchored(params)
        return -information_at(self.cells, at, tangent, "observed" if observed else "expected")

    def information(self, params: Any) -> np.ndarray:
        """Expected information in free coordinates (eq. fisher-plugin, times the number of comparisons).

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> params = model.fit().params
        >>> model.information(params).shape
        (16, 16)
        """
        return -self.hessian_free(params, observed=False)

    def _anchored(self, params: Any) -> tuple[Coefficients, TangentBasis]:
        at = self.layout.unpack(self._checked(params))
        return at, self.structure.tangent(at.scores)
