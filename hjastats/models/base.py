"""A comparison model in statsmodels' terms: data, parameters, likelihood and its derivatives, prediction."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
from patsy import PatsyError, build_design_matrices
from statsmodels.base.model import GenericLikelihoodModel
from statsmodels.formula.formulatools import advance_eval_env

from ..data.cells import Cells, aggregate
from ..data.comparisons import Comparisons
from ..data.rows import Rows, column, lookup, numeric_frame
from ..errors import ComparisonError, IdentificationError, shown
from ..estimation.search import no_terms
from ..estimation.start import starting_scores
from ..geometry.decomposition import max_rank
from ..geometry.parameters import Coefficients, ParameterLayout
from ..geometry.structures import Frame, LowRank, ScoreStructure
from ..inference.covariance import information_at
from ..likelihood import (
    evaluate,
    free_design,
    free_gradient,
    gradient,
    linear_predictor,
    probability,
    reported_bending,
    reported_design,
)

Labels = Any


class ComparisonModel(GenericLikelihoodModel):
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
        spec = {name: kwargs.pop(name) for name in ("model_spec", "formula") if name in kwargs}
        if kwargs:
            raise TypeError(f"{type(self).__name__} got unknown arguments: {shown(kwargs)}.")
        if comparisons is None:
            table = Rows(endog, exog, judge, item_a, item_b, weights, formula_rows).checked(missing)
            endog, exog, comparisons = table.endog, table.exog, table.comparisons()
        elif exog is not None and len(exog) != comparisons.n_rows:
            raise ComparisonError(f"exog has {len(exog)} rows but there are {comparisons.n_rows} comparisons.")
        self.comparisons: Comparisons = comparisons
        endog = endog if isinstance(endog, pd.Series) else pd.Series(np.asarray(endog, dtype=float), name="win")
        exog = numeric_frame(exog)
        if exog is not None and len(exog) == len(endog):
            exog = exog.set_axis(endog.index)
        if exog is not None and not np.isfinite(exog.to_numpy()).all():
            raise ComparisonError("exog has missing or infinite values: leave those comparisons out or fill them in.")
        super().__init__(endog, exog, missing="none", hasconst=False, **spec)
        # The design of a formula stays with the data, which know how to restore it after pickling.
        self.__dict__.pop("model_spec", None)
        self.formula: str | None = spec.get("formula")
        self._init_keys: list[str] = []
        self._set_up(rank)

    @classmethod
    def from_comparisons(cls, data: Comparisons, exog: Any = None, **options: Any) -> Self:
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
        **kwargs: Any,
    ) -> Self:
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
        16.0
        """
        arrays = {"judge": judge, "item_a": item_a, "item_b": item_b}
        if weights is not None:
            arrays["weights"] = weights
        columns = pd.DataFrame({name: column(name, value, data) for name, value in arrays.items()}, index=data.index)
        if subset is not None:
            data, columns = data.loc[subset], columns.loc[subset]
        advance_eval_env(kwargs)
        kwargs.setdefault("missing", "raise")
        options = {name: columns[name] for name in arrays}
        try:
            return super().from_formula(formula, data, None, drop_cols, **options, **kwargs)
        except PatsyError as error:
            reason = str(error).splitlines()[0]
            raise ComparisonError(
                f"cannot build {formula!r}: {reason} (missing='drop' leaves out incomplete rows)."
            ) from None

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
        rows = self.row_cells()
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

    def row_cells(self) -> Cells:
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
        return -evaluate(self.cells, at).value

    def loglikeobs(self, params: Any) -> np.ndarray:
        """Log-likelihood of each row, weights included."""
        rows = self.row_cells()
        eta = linear_predictor(rows, self.layout.unpack(self._checked(params)))
        wins, total = rows.y, rows.n
        return np.where(eta > 0, wins - total, wins) * eta - total * np.log1p(np.exp(-np.abs(eta)))

    def score(self, params: Any) -> np.ndarray:
        """Gradient of :meth:`loglike` in the reported parameters, their normalisation ignored."""
        return self._score_obs(self.cells, self._checked(params)).sum(axis=0)

    def score_obs(self, params: Any) -> np.ndarray:
        """Gradient of each row of :meth:`loglikeobs`, shape (n_rows, n_params)."""
        return self._score_obs(self.row_cells(), self._checked(params))

    def _score_obs(self, cells: Cells, params: np.ndarray) -> np.ndarray:
        slope = evaluate(cells, self.layout.unpack(params)).slope
        return -slope[:, None] * reported_design(cells, self.layout, params)

    def hessian(self, params: Any) -> np.ndarray:
        """Second derivatives of :meth:`loglike` in the reported parameters, their normalisation ignored.

        Singular along changes of the parameters that leave the scores alone: do not invert it, see :meth:`hessian_free`.
        """
        values = self._checked(params)
        here = evaluate(self.cells, self.layout.unpack(values))
        design = reported_design(self.cells, self.layout, values)
        bending = reported_bending(self.layout, gradient(self.cells, here.slope).scores)
        return -(design.T @ (here.curvature[:, None] * design)) - bending

    def score_free(self, params: Any) -> np.ndarray:
        """Gradient in free coordinates anchored at ``params`` themselves, shape (k_params_free,)."""
        at, frame = self._anchored(params)
        here = evaluate(self.cells, at)
        return -free_gradient(gradient(self.cells, here.slope), frame)

    def score_obs_free(self, params: Any) -> np.ndarray:
        """Row-wise gradient in free coordinates anchored at ``params``, shape (n_rows, k_params_free)."""
        at, frame = self._anchored(params)
        rows = self.row_cells()
        slope = evaluate(rows, at).slope
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
        eta = linear_predictor(self.prediction_rows(exog, judge, item_a, item_b), at)
        if which not in ("mean", "linear"):
            raise ValueError(f"which must be 'mean' or 'linear', got {which!r}.")
        return eta if which == "linear" else probability(eta)

    def prediction_rows(self, exog: Any, judge: Labels, item_a: Labels, item_b: Labels) -> Cells:
        """New comparisons as cells; those of the data when none are given."""
        if judge is None and isinstance(exog, pd.DataFrame):
            return self._rows_of_frame(exog)
        if judge is None and item_a is None and item_b is None and exog is None:
            if self.comparisons is None:
                raise ComparisonError("the data were removed: pass judge, item_a and item_b.")
            return self.row_cells()
        if judge is None or item_a is None or item_b is None:
            raise ComparisonError("new comparisons need judge, item_a and item_b.")
        arrays = [np.atleast_1d(np.asarray(values, dtype=object)) for values in (judge, item_a, item_b)]
        try:
            judges, firsts, seconds = np.broadcast_arrays(*arrays)
        except ValueError:
            raise ComparisonError(
                f"judge, item_a and item_b have {', '.join(str(len(a)) for a in arrays)} labels."
            ) from None
        if self.formula is not None and isinstance(exog, pd.DataFrame) and self._design_spec is not None:
            exog = np.asarray(build_design_matrices([self._design_spec], exog)[0])
        n_rows, m = len(judges), len(self.layout.shared_terms)
        shared = np.ones((n_rows, m))
        n_exog = m - (self.position == "common")
        if n_exog:
            if exog is None:
                raise ValueError(f"the model has covariates {shown(self.layout.shared_terms[:n_exog])}: pass exog.")
            values = numeric_frame(exog)
            if values is None or values.shape != (n_rows, n_exog):
                got = "nothing" if values is None else f"shape {values.shape}"
                raise ComparisonError(f"exog must have {n_rows} rows and {n_exog} columns, got {got}.")
            shared[:, :n_exog] = values.to_numpy()
        elif exog is not None:
            raise ComparisonError("the model has no covariates: exog is not used.")
        return Cells(
            lookup("judge", judges, self.judges),
            lookup("item", firsts, self.items),
            lookup("item", seconds, self.items),
            np.ones(n_rows),
            np.zeros(n_rows),
            len(self.judges),
            len(self.items),
            np.ones((n_rows, len(self.layout.judge_terms))),
            shared,
        )

    @property
    def _design_spec(self) -> Any:
        """The design of the formula, None without one."""
        return getattr(self.data, "model_spec", None) if self.formula is not None else None

    def _rows_of_frame(self, frame: pd.DataFrame) -> Cells:
        """Comparisons of a frame with columns judge, item_a or first, item_b or second, and the covariates."""
        first = next((name for name in ("item_a", "first", "model_a") if name in frame.columns), None)
        second = next((name for name in ("item_b", "second", "model_b") if name in frame.columns), None)
        if "judge" not in frame.columns or first is None or second is None:
            raise ComparisonError(
                f"a frame of comparisons needs columns judge, item_a and item_b, got {shown(frame.columns, 8)}."
            )
        names = [name for name in self.layout.shared_terms if name != "position" or self.position != "common"]
        covariates: Any = None
        if names and self._design_spec is not None:
            covariates = frame
        elif names:
            absent = [name for name in names if name not in frame.columns]
            if absent:
                raise ComparisonError(f"the frame has no covariate column {shown(absent)}.")
            covariates = frame[names].to_numpy(dtype=float)
        return self.prediction_rows(covariates, frame["judge"], frame[first], frame[second])
