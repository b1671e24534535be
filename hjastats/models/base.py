"""A comparison model in statsmodels' terms: data, parameters, likelihood and its derivatives, prediction."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
from statsmodels.base.model import GenericLikelihoodModel
from statsmodels.formula.formulatools import advance_eval_env

from ..data.arrays import (
    UserArrays,
    check_flag,
    check_option,
    check_type,
    column,
    covariate_frame,
    generator,
    judge_columns,
    known_offset,
    numbers,
)
from ..data.cells import collapse, take
from ..data.comparisons import Comparisons, check_rows
from ..data.engines import pandas_frame
from ..data.formulas import NO_ORIGIN, SAFE_NAMES, UNREADABLE, CovariateFormula, Names, Origin, design_of, refuse_code
from ..data.readers import read_comparisons
from ..errors import REMOVED, ComparisonError, IdentificationError, OptionError
from ..fitted import Observations
from ..model.decomposition import max_rank
from ..model.design import Coefficients, Design, assemble
from ..model.layout import Layout
from ..model.likelihood import (
    cell_scores,
    evaluate,
    free_gradient,
    free_moves,
    free_regressors,
    gradient,
    log_odds,
    own_predictors,
)
from ..model.response import draw_outcomes, expected_outcome, probability
from ..model.responses import RESPONSES
from ..model.structures import LowRank, ScoreStructure
from ..model.tangent import TangentBasis
from ..model.terms import SCOPES, Terms, gather
from ..solve.precision import information_at
from ..solve.search import no_terms
from ..solve.starts import starting_scores
from ..words import counted, quoted
from .prediction import LabelledRows, NewComparisons

Labels = Any
# Arguments about traits of items and judges, as they are without any.
TRAITLESS: dict[str, Any] = {"items": None, "interactions": None, "unlinked": "refuse", "random": None}


class ComparisonModel(GenericLikelihoodModel):
    """Likelihood of pairwise verdicts under a low-rank score structure; :class:`HJAModel` adds the fitting."""

    # Whether the rank is an argument; other classes have one, or none, by definition.
    takes_rank = True
    # Which arguments about traits of items and judges it has.
    takes_traits: tuple[str, ...] = ()
    # Why it has no others, and what to do.
    no_traits = "their scores are free"

    def __init__(
        self,
        endog: Any,
        exog: Any = None,
        *,
        judge: Labels = None,
        item_a: Labels = None,
        item_b: Labels = None,
        weights: Any = None,
        counts: bool | None = None,
        rank: int = 1,
        position: str | None = None,
        ties: str = "half",
        tie: str = "common",
        judge_exog: Any = None,
        offset: Any = None,
        missing: str = "none",
        columns: pd.DataFrame | None = None,
        comparisons: Comparisons | None = None,
        origin: Origin | None = None,
        **kwargs: Any,
    ) -> None:
        self.origin = NO_ORIGIN if origin is None else origin
        self.scopes: dict[str, str | None] = {"position": position}
        for name, scope in self.scopes.items():
            check_option(name, scope, SCOPES)
        check_option("ties", ties, tuple(RESPONSES))
        check_option("tie", tie, SCOPES[1:])
        self.ties, self.tie, self.response = ties, tie, RESPONSES[ties]
        formula_rows = kwargs.pop("missing_idx", None)
        spec = {name: kwargs.pop(name) for name in ("model_spec", "formula") if name in kwargs}
        frame = kwargs.pop("frame", None)
        if kwargs:
            raise TypeError(f"{type(self).__name__} got unknown arguments: {quoted(kwargs)}.")
        if comparisons is None:
            table = UserArrays(endog, exog, judge, item_a, item_b, weights, formula_rows, judge_exog, columns, offset)
            table = table.checked(missing, counts)
            endog, comparisons, offset = table.endog, table.comparisons(), table.offset
            exog, judge_exog = (
                None if frame is None else frame.reset_index(drop=True) for frame in (table.exog, table.judge_exog)
            )
        exog = covariate_frame("exog", exog, comparisons)
        judge_exog = covariate_frame("judge_exog", judge_exog, comparisons)
        offset = known_offset(offset, comparisons)
        if endog is not comparisons.outcome:
            comparisons = comparisons.with_outcome(endog)
        endog = endog if isinstance(endog, pd.Series) else pd.Series(np.asarray(endog, dtype=float), name="win")
        if exog is not None and "Intercept" in exog.columns:
            exog = self._take_intercept(exog)
        self.n_ties_dropped = 0.0
        if ties == "drop":
            kept = comparisons.outcome != 0.5
            self.n_ties_dropped = float(comparisons.weight[~kept].sum())
            comparisons, endog = comparisons.subset(kept), endog[kept]
            exog, judge_exog, offset = (
                f if f is None else f[kept].reset_index(drop=True) for f in (exog, judge_exog, offset)
            )
        self.response = self.response.check(comparisons.outcome)
        self.comparisons: Comparisons = comparisons
        self.judge_exog = judge_exog
        self.offset: np.ndarray | None = None if offset is None else offset.to_numpy()
        self.offset_name: str | None = None if offset is None or offset.name is None else str(offset.name)
        if exog is not None:
            exog = exog.set_axis(endog.index)
        super().__init__(endog, exog, missing="none", hasconst=False, **spec)
        # The design of a formula stays with the data, which know how to restore it after pickling.
        self.__dict__.pop("model_spec", None)
        self.formula: str | None = spec.get("formula")
        if frame is not None:
            # Of which statsmodels makes the design of the formula again after unpickling.
            self.data.frame = frame
        self._set_up(rank)

    def __getstate__(self) -> dict[str, Any]:
        """Without the design of the formula: patsy refuses to be pickled, and statsmodels guesses where its functions are."""
        state = dict(self.__dict__)
        if self.formula is not None:
            state["data"] = object.__new__(type(self.data))
            state["data"].__dict__.update({name: x for name, x in vars(self.data).items() if name != "model_spec"})
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.formula is not None:
            self.data.model_spec = design_of(self.formula, self.data.frame, self.origin.names)

    def _take_intercept(self, exog: pd.DataFrame) -> pd.DataFrame | None:
        """An intercept is a bonus for the item shown first: make it the position effect it is."""
        if self.position is not None:
            raise ComparisonError(
                f"the intercept is a position effect, as is position={self.position!r}: write '0 + ...' in the formula."
            )
        self.scopes["position"] = "common"
        exog = exog.drop(columns="Intercept")
        return exog if exog.shape[1] else None

    @classmethod
    def from_comparisons(
        cls,
        data: Any,
        exog: Any = None,
        *,
        rank: int | None = None,
        position: str | None = None,
        ties: str = "half",
        tie: str = "common",
        judge_exog: Any = None,
        offset: Any = None,
        items: Any = None,
        interactions: str | None = None,
        unlinked: str = "refuse",
        random: Any = None,
    ) -> Self:
        """Build the model from comparisons, or from anything :func:`read_comparisons` reads.

        Parameters
        ----------
        data : Comparisons, path, data frame, dict of columns or list of records
            What needs further arguments to be read is passed through :func:`read_comparisons` first.
        exog : array_like or list of str, optional
            Covariates, one row per comparison; a list of names takes them from ``data.columns``. Likewise ``judge_exog``.
        rank : int, optional
            Number of disagreement directions of HJA, 1 by default.
        offset : str or array_like, optional
            Known addition to the log-odds of the first item: a column of ``data.columns``, or one number per comparison.
        position, ties, tie, judge_exog
            As in the class.
        items
            Traits of items; an argument of BTL, JA and HJA.
        interactions, unlinked, random
            More about traits; arguments of :class:`hjastats.BTLModel` alone.

        Examples
        --------
        >>> import hjastats as hja
        >>> table = {"judge": ["ann", "bob"], "first": ["a", "b"], "second": ["b", "a"], "winner": ["first", "first"]}
        >>> hja.BTLModel.from_comparisons(table, position="common").param_names
        ['position', 'mu[a]', 'mu[b]']
        """
        data = data if isinstance(data, Comparisons) else read_comparisons(data)
        for name, covariates in (("exog", exog), ("judge_exog", judge_exog), ("offset", offset)):
            check_rows(name, covariates, data)
        options: dict[str, Any] = {} if rank is None else {"rank": rank}
        asked = {"items": items, "interactions": interactions, "unlinked": unlinked, "random": random}
        asked = {name: value for name, value in asked.items() if value is not None and value is not TRAITLESS[name]}
        if refused := [name for name in asked if name not in cls.takes_traits]:
            raise OptionError(f"{cls.__name__} takes no {quoted(refused)}: {cls.no_traits}.")
        return cls(
            data.outcome,
            exog,
            comparisons=data,
            position=position,
            ties=ties,
            tie=tie,
            judge_exog=judge_exog,
            offset=offset,
            **options,
            **asked,
        )

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
        offset: Any = None,
        trusted: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Build the model from a formula such as ``"win ~ 0 + length_diff"``.

        The left side is the preference for the first item in [0, 1], or whether it was preferred; the right side holds
        covariates, ``0`` for none. An intercept is a bonus for the first item and becomes ``position="common"``. The names of
        the columns are remembered: predictions read the same frame.

        Parameters
        ----------
        formula : str
        data : pandas.DataFrame
            Or a frame of polars or of any other engine that narwhals knows, or a dict of columns.
        subset : array_like, optional
            Rows to use, as index labels or a boolean mask.
        judge, item_a, item_b, weights, offset : str or array_like
            Column names of ``data``, or arrays with one value per row of ``data``; a Series has the index of ``data``.
        judge_exog : str, list of str or array_like, optional
            Covariates with judge-specific slopes: columns of ``data``, or the right side of a formula such as ``"0 + length"``.
        trusted : bool
            Formulas are Python, as in statsmodels: whatever they say is executed. False refuses, before anything is, all but names
            of columns, numbers, arithmetic, ``C()`` and functions such as ``log`` and ``bs``, and looks up no names of yours.
        **kwargs
            ``counts``, ``rank``, ``position``, ``ties``, ``missing`` as in the class, and ``eval_env``.

        Examples
        --------
        >>> import hjastats as hja
        >>> frame = hja.datasets.load_panel().to_frame()
        >>> model = hja.JAModel.from_formula("outcome ~ 1", frame, judge="judge", item_a="first", item_b="second")
        >>> model.fit().position[["estimate", "std_err"]].round(3)
                    estimate  std_err
        judge
        all judges     0.336     0.04

        A formula that somebody else has sent:

        >>> roles = {"judge": "judge", "item_a": "first", "item_b": "second"}
        >>> hja.JAModel.from_formula("outcome ~ open('f').read()", frame, **roles, trusted=False)
        Traceback (most recent call last):
            ...
        hjastats.errors.OptionError: the formula may not call 'open': allowed are 'C', 'I', 'Treatment', 'Sum', 'Poly' and 23 more.
        """
        if not isinstance(formula, str) or not formula.partition("~")[0].strip() or "~" not in formula:
            raise ComparisonError(
                f"a formula has an outcome, a tilde and covariates, 'win ~ 0 + length', got {formula!r}."
            )
        data = pandas_frame(data)
        check_type("data", data, pd.DataFrame, "a data frame")
        refuse_code(trusted, [formula, judge_exog])
        if not trusted:
            kwargs["eval_env"] = dict(SAFE_NAMES)
        names = Names.of_caller(kwargs.get("eval_env"), 1, [formula, judge_exog], data.columns)
        arrays = {"judge": judge, "item_a": item_a, "item_b": item_b}
        roles = {name: value for name, value in arrays.items() if isinstance(value, str)}
        arrays |= {name: given for name, given in (("weights", weights), ("offset", offset)) if given is not None}
        columns = pd.DataFrame({name: column(name, value, data) for name, value in arrays.items()}, index=data.index)
        by_judge = None
        if isinstance(judge_exog, str) and judge_exog not in data.columns:
            by_judge = CovariateFormula.of(judge_exog, data, names, "judge_exog=")
            judge_exog = by_judge.columns(data)
        own = judge_columns(judge_exog, data)
        if subset is not None:
            try:
                data.loc[subset]
            except (KeyError, IndexError, TypeError, ValueError) as error:
                raise ComparisonError(f"subset must be a mask or labels of rows: {error}.") from None
            data, columns = data.loc[subset], columns.loc[subset]
            own = None if own is None else own.loc[subset]
        advance_eval_env(kwargs)
        kwargs.setdefault("missing", "raise")
        options: dict[str, Any] = {name: columns[name] for name in arrays}
        options |= {"judge_exog": own, "columns": data, "origin": Origin(roles, names, by_judge)}
        if offset is not None:
            options["offset"] = columns["offset"].rename(
                offset if isinstance(offset, str) else getattr(offset, "name", None)
            )
        left, _, right = formula.partition("~")
        # Engines make two columns of what is true or false: as a number it is one.
        texts = [formula, f"I(({left.strip()}) * 1.0) ~ {right}"]
        for text in texts:
            try:
                model = super().from_formula(text, data, None, drop_cols, **options, **kwargs)
            except UNREADABLE as error:
                if text != formula:
                    break
                reason = str(error).splitlines()[0]
                raise ComparisonError(
                    f"cannot build {formula!r}: {reason} (missing='drop' leaves out incomplete rows)."
                ) from None
            except ValueError as error:
                # formulaic has no error of its own for gaps.
                if "contains null values" in str(error):
                    raise ComparisonError(
                        f"cannot build {formula!r}: {error} (missing='drop' leaves those rows out)."
                    ) from None
                # statsmodels' own words for a left side of labels, which it expands to dummies.
                if "endog has evaluated to an array with multiple columns" not in str(error):
                    raise
            else:
                if text != formula:
                    model.data.ynames = left.strip()
                return model
        raise ComparisonError(
            f"the left side of {formula!r} holds labels: expected 1 if the first item was preferred, 0 if the second, "
            "0.5 for a tie. read_comparisons(..., codes={...}) understands labels; from_comparisons(data, exog=[...]) takes "
            "covariates."
        )

    def initialize(self) -> None:
        """Skip the base class's guess of the degrees of freedom; see ``_set_up``."""

    def _set_up(self, rank: int) -> None:
        data = self.comparisons
        self.structure = self._make_structure(rank, data)
        covariates = list(self.data.xnames or []) if self.exog is not None else []
        own = [] if self.judge_exog is None else [str(name) for name in self.judge_exog.columns]
        by_response = self.response.terms(self.tie, data.judge_index, data.outcome, data.n_judges)
        self.layout = self._make_layout(gather(covariates, own, self.scopes, by_response, self._parts()))
        # Without terms the counts are those of the data, which other models of the same data use too.
        is_plain = not self.layout.terms and self.offset is None
        self.design = Design.of(data.cells) if is_plain else collapse(self.row_design())
        self.data.param_names = self.layout.names
        self.data.judge_names, self.data.item_names = list(data.judges), list(data.items)
        self.nobs = data.n_comparisons
        self.nparams, self.k_params_free = len(self.layout.names), self.layout.n_free
        self.k_extra = self.nparams - len(covariates)
        self.df_model = float(self.k_params_free)
        self.df_resid = self.nobs - self.k_params_free
        self._data_attr += ["comparisons", "judge_exog", "offset", "data.missing_row_idx", "data.row_labels"]

    def _parts(self) -> dict[str, str]:
        """Which term made a column."""
        formulas = [formula for formula in (self.covariate_formula, self.origin.judge) if formula is not None]
        return {made: term for formula in formulas for term, columns in formula.terms.items() for made in columns}

    def _make_layout(self, terms: Terms) -> Layout:
        return Layout(self.structure, self.comparisons.judges, self.comparisons.items, terms)

    def _make_structure(self, rank: int, data: Comparisons) -> ScoreStructure:
        largest = max_rank(data.n_judges, data.n_items)
        if isinstance(rank, bool) or not isinstance(rank, (int, np.integer)) or not 0 <= rank <= largest:
            raise IdentificationError(
                f"rank must be an integer between 0 and min(n_judges - 1, n_items - 2) = {largest} for "
                f"{counted(data.n_judges, 'judge')} and {counted(data.n_items, 'item')}, got {rank!r}."
            )
        return LowRank(int(rank))

    def row_design(self) -> Design:
        """The rows of the data with their terms, as cells of their own.

        Raises
        ------
        IdentificationError
            After the data were removed.
        """
        data = self.comparisons
        if data is None:
            raise IdentificationError(REMOVED)
        covariates = (
            {} if self.exog is None else dict(zip(self.exog_names, np.asarray(self.exog, float).T, strict=True))
        )
        if self.judge_exog is not None:
            covariates |= {str(name): self.judge_exog[name].to_numpy(dtype=float) for name in self.judge_exog}
        terms, response = self.layout.terms, self.response
        return assemble(data.row_cells, data.outcome, terms, response, covariates, data.columns, self.offset)

    @property
    def observations(self) -> Observations:
        """What the model was given, row by row.

        Raises
        ------
        IdentificationError
            After the data were removed.
        """
        return Observations(self.comparisons, self.row_design(), self.n_ties_dropped)

    @property
    def options(self) -> dict[str, Any]:
        """What the model was made with beside the data, under the names of its arguments."""
        return {"rank": int(self.rank), **self.scopes, "ties": self.ties, "tie": self.tie}

    def _get_init_kwds(self) -> dict[str, Any]:
        """What makes this model again, beside endog and exog, under the names of the arguments."""
        options = self._same_data()
        return {name: value for name, value in options.items() if name not in ("endog", "exog")} | self._own_rank()

    def _same_data(self) -> dict[str, Any]:
        """Arguments that make a model of the same data and terms."""
        if self.comparisons is None:
            raise IdentificationError("the data of this model were removed: it cannot be fitted again.")
        exog = None if self.exog is None else pd.DataFrame(self.exog, columns=self.exog_names)
        return {
            "endog": pd.Series(self.comparisons.outcome, self.data.row_labels, name=self.endog_names),
            "exog": exog,
            "comparisons": self.comparisons,
            "judge_exog": self.judge_exog,
            "offset": None if self.offset is None else pd.Series(self.offset, name=self.offset_name),
            **self.scopes,
            "ties": "half" if self.ties == "drop" else self.ties,
            "tie": self.tie,
            "origin": self.origin,
            **self._formula_options(),
        }

    def _formula_options(self) -> dict[str, Any]:
        """What makes a model remember the formula of this one."""
        if self.formula is None:
            return {}
        frame = getattr(self.data, "frame", None)
        return {"formula": self.formula, "model_spec": self._formula_design, "frame": frame}

    def _own_rank(self) -> dict[str, Any]:
        """The rank, if it is an argument of the class."""
        return {"rank": self.rank} if self.takes_rank else {}

    @property
    def position(self) -> str | None:
        """Whose the position effect is."""
        return self.scopes["position"]

    def __repr__(self) -> str:
        sizes = f"{self.nobs:,.10g} comparisons of {len(self.items)} items by {counted(len(self.judges), 'judge')}"
        return f"{type(self).__name__} of {sizes}: {self.layout.description}; .fit()"

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
        return [no_terms(self.design, scores) for scores in starting_scores(self.design, self.structure, n_random, rng)]

    # Reported and free parameters

    def _tangent(self, at: np.ndarray | None) -> TangentBasis:
        params = self.start_params if at is None else self._checked(at)
        return self.structure.tangent(self.structure.nearest(self.layout.unpack(params).scores))

    def _checked(self, params: Any) -> np.ndarray:
        values = numbers("params", params)
        if values.shape != (self.nparams,):
            raise OptionError(f"expected {self.nparams} parameters (see model.param_names), got shape {values.shape}.")
        return values

    def _free(self, unconstrained: Any) -> np.ndarray:
        values = numbers("unconstrained", unconstrained)
        if values.shape != (self.k_params_free,):
            raise OptionError(f"expected {self.k_params_free} free coordinates, got shape {values.shape}.")
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
        return self.layout.pack(self.layout.from_free(self._free(unconstrained), self._tangent(at)))

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
        >>> import numpy as np
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> jacobian = model.transform_jacobian(model.untransform_params(model.start_params))
        >>> items = [name.startswith("mu") for name in model.param_names]
        >>> np.allclose(jacobian[items].sum(axis=0), 0)         # the consensus sums to zero, whatever the free coordinates do
        True
        """
        anchor = self._tangent(at)
        there = self.layout.from_free(self._free(unconstrained), anchor)
        tangent = self.structure.tangent(there.scores)
        # Both charts give coordinates to the same scores: change from the anchor's to those at the point itself.
        return self.layout.jacobian(there, tangent) @ np.linalg.inv(self.layout.chart_change(anchor, tangent))

    def expandparams(self, params: Any) -> Any:
        """Refuse what the base class does with parameters that were fixed before the fit."""
        raise NotImplementedError(
            "not available: no parameters are fixed beforehand; transform_params makes reported parameters of free ones."
        )

    def reduceparams(self, params: Any) -> Any:
        """Refuse what the base class does with parameters that were fixed before the fit."""
        raise NotImplementedError(
            "not available: no parameters are fixed beforehand; untransform_params makes free parameters of reported ones."
        )

    def hessian_factor(self, params: Any, scale: Any = None, observed: bool = True) -> Any:
        """Refuse what holds for models that are linear in their parameters."""
        raise NotImplementedError(
            "not available: log-odds are products of sensitivities and scores, so the Hessian has no factor for each row; see "
            "hessian and hessian_free."
        )

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
        return -evaluate(self.design, at).value

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
        rows, at = self.row_design(), self.layout.unpack(self._checked(params))
        return self.response.loglike(log_odds(rows, at), own_predictors(rows, at), rows.n, rows.y, rows.counts)

    def score(self, params: Any) -> np.ndarray:
        """Gradient of :meth:`HJAModel.loglike` in the reported parameters, their normalisation ignored.

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> params = model.fit().params
        >>> bool(abs(model.score(params)).max() < 1e-4)
        True
        """
        values = self._checked(params)
        here = evaluate(self.design, self.layout.unpack(values))
        return -self.layout.reported_gradient(values, gradient(self.design, here))

    def score_obs(self, params: Any) -> np.ndarray:
        """Gradient of each row of :meth:`HJAModel.loglikeobs`, shape (n_rows, n_params).

        Examples
        --------
        >>> import numpy as np
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> params = model.fit().params
        >>> np.allclose(model.score_obs(params).sum(axis=0), model.score(params))
        True
        """
        rows, values = self.row_design(), self._checked(params)
        here = evaluate(rows, self.layout.unpack(values))
        return cell_scores(here, self.layout.reported_regressors(values, rows), self.layout.moves)

    def hessian(self, params: Any) -> np.ndarray:
        """Second derivatives of :meth:`HJAModel.loglike` in the reported parameters, their normalisation ignored.

        Singular along changes of the parameters that leave the scores alone: do not invert it, see :meth:`HJAModel.hessian_free`.

        Examples
        --------
        >>> import numpy as np
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> params = model.fit().params
        >>> model.nparams, int(np.linalg.matrix_rank(model.hessian(params), rtol=1e-9))
        (18, 16)
        """
        values = self._checked(params)
        here = evaluate(self.design, self.layout.unpack(values))
        regressors, moves = self.layout.reported_regressors(values, self.design), self.layout.moves
        odds = np.where(moves == 0, regressors, 0.0)
        result = odds.T @ (here.curvature[:, None] * odds)
        if here.cross is not None and here.own_curvature is not None:
            own = [np.where(moves == p, regressors, 0.0) for p in range(1, 1 + len(here.cross))]
            for p, by_own in enumerate(own):
                mixed = odds.T @ (here.cross[p][:, None] * by_own)
                result = result + mixed + mixed.T
                for q, other in enumerate(own):
                    result = result + by_own.T @ (here.own_curvature[p, q][:, None] * other)
        return -result - self.layout.reported_bending(gradient(self.design, here).scores)

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
        return -free_gradient(gradient(self.design, evaluate(self.design, at)), tangent, self.design)

    def score_obs_free(self, params: Any) -> np.ndarray:
        """Row-wise gradient in free coordinates anchored at ``params``, shape (n_rows, k_params_free).

        Examples
        --------
        >>> import numpy as np
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> params = model.fit().params
        >>> rows, bread = model.score_obs_free(params), np.linalg.inv(-model.hessian_free(params))
        >>> np.allclose(bread @ rows.T @ rows @ bread, model.fit(cov_type="HC0").fit.covariance.covariance, rtol=1e-3)
        True
        """
        at, tangent = self._anchored(params)
        rows = self.row_design()
        return cell_scores(evaluate(rows, at), free_regressors(rows, tangent), free_moves(rows, tangent))

    def hessian_free(self, params: Any, observed: bool = True) -> np.ndarray:
        """Second derivatives in free coordinates anchored at ``params``; minus the expected information if not observed.

        Examples
        --------
        >>> import numpy as np
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> params = model.fit().params
        >>> bool(np.linalg.eigvalsh(model.hessian_free(params)).max() < 0)
        True
        """
        check_flag("observed", observed)
        at, tangent = self._anchored(params)
        if not tangent.strength.all():
            raise IdentificationError("without any consensus the scores have no second derivatives: pass other params.")
        return -information_at(self.design, at, tangent, "observed" if observed else "expected")

    def information(self, params: Any) -> np.ndarray:
        """Expected information in free coordinates (eq. fisher-plugin, times the number of comparisons).

        Examples
        --------
        >>> import numpy as np
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> params = model.fit().params
        >>> jacobian = model.transform_jacobian(model.untransform_params(params, at=params), at=params)
        >>> variances = np.diag(jacobian @ np.linalg.inv(model.information(params)) @ jacobian.T)
        >>> np.allclose(variances**0.5, model.fit().bse)
        True
        """
        return -self.hessian_free(params, observed=False)

    def _anchored(self, params: Any) -> tuple[Coefficients, TangentBasis]:
        at = self.layout.unpack(self._checked(params))
        return at, self.structure.tangent(at.scores)

    # Prediction

    def predict(
        self,
        params: Any,
        exog: Any = None,
        *,
        judge: Labels = None,
        item_a: Labels = None,
        item_b: Labels = None,
        judge_exog: Any = None,
        offset: Any = None,
        position: bool = True,
        which: str = "mean",
    ) -> Any:
        """What to expect of comparisons.

        Parameters
        ----------
        params : array_like
        exog : array_like or pandas.DataFrame, optional
            Covariates of the new comparisons. Without judge and items, a frame with the columns that :meth:`from_formula` took
            them from, or judge, item_a (or first) and item_b (or second), and the covariates; of pandas or any other engine.
        judge, item_a, item_b : label or array_like of labels, optional
            New comparisons; the data themselves when left out. A model in which all judges are alike needs no judge, and
            takes any. ``"*"`` stands for all judges or items, on every pair of two different ones.
        judge_exog : array_like, optional
            Covariates with judge-specific slopes.
        offset : float, array_like or str, optional
            What is known to be added to the log-odds of the new comparisons; zero by default. A frame has it in the column
            that the model took it from, or in the one named here.
        position : bool
            Whether the item shown first has the advantage the model gives it; without, the order is taken out.
        which : {"mean", "linear", "decided", "probs"}
            Expected preference for the first item (ties counting one half), log-odds of the first item against the second,
            probability that the first wins a decided verdict (``p`` in contrasts), or a frame with the probabilities of all
            verdicts.

        Returns
        -------
        pandas.Series, numpy.ndarray or pandas.DataFrame
            Under the index of the frame, or of the labels; an array where these have none.

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> params = model.fit().params
        >>> model.predict(params, judge="judge-1", item_a="model-I", item_b="model-H").round(3)
        array([0.732])
        """
        check_option("which", which, ("mean", "linear", "decided", "probs"))
        check_flag("position", position)
        at = self.layout.unpack(self._checked(params))
        new = self.labelled_rows(exog, judge, item_a, item_b, judge_exog, offset)
        rows = new.rows if position else new.rows.without("position")
        eta = log_odds(rows, at)
        if which in ("linear", "decided"):
            return new.series(eta if which == "linear" else probability(eta))
        probabilities = self.response.probabilities(eta, own_predictors(rows, at))
        if which == "probs":
            return pd.DataFrame(dict(zip(self.response.verdicts, probabilities, strict=True)), new.labels)
        return new.series(expected_outcome(self.response, probabilities))

    def labelled_rows(
        self, exog: Any, judge: Any, item_a: Any, item_b: Any, judge_exog: Any = None, offset: Any = None
    ) -> LabelledRows:
        """New comparisons as cells with the labels of the user's frame; those of the data when none are given."""
        exog, judge_exog = pandas_frame(exog), pandas_frame(judge_exog)
        reader = NewComparisons(self.layout, self.response, self.covariate_formula, self.origin, self.offset_name)
        if judge is None and item_a is None and item_b is None and isinstance(exog, pd.DataFrame):
            return reader.of_frame(exog, offset)
        if judge is None and item_a is None and item_b is None and exog is None:
            if self.comparisons is None:
                raise ComparisonError("the data were removed: pass judge, item_a and item_b.")
            rows = self.row_design()
            return LabelledRows(rows if offset is None else reader.with_offset(rows, offset), self.data.row_labels)
        return reader.of_labels(judge, item_a, item_b, exog, judge_exog, offset)

    @property
    def covariate_formula(self) -> CovariateFormula | None:
        """The right side of the formula and how it makes covariates; None without one."""
        if self.formula is None:
            return None
        return CovariateFormula(self.formula.partition("~")[2].strip(), self._formula_design, self.origin.names)

    @property
    def _formula_design(self) -> Any:
        """How the formula makes covariates; None without one."""
        return getattr(self.data, "model_spec", None) if self.formula is not None else None

    def simulate(
        self, params: Any, design: pd.DataFrame | None = None, *, rng: int | np.random.Generator | None = None
    ) -> Comparisons:
        """Draw verdicts from the model.

        Parameters
        ----------
        params : array_like
            Reported parameters, of a fit or of your own.
        design : pandas.DataFrame, optional
            Comparisons to judge, as for :meth:`predict`; those of the data when left out, each as often as its weight.
        rng : int or numpy.random.Generator

        Returns
        -------
        Comparisons
            Wins and losses, and ties if the model has them as an outcome.

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> model.simulate(model.fit().params, rng=0).n_comparisons
        3200.0
        """
        rng = generator(rng)
        design = pandas_frame(design)
        rows = self.labelled_rows(design, None, None, None).rows
        times = np.round(rows.n).astype(int)
        if np.abs(rows.n - times).max(initial=0.0) > 1e-9:
            raise ComparisonError("drawing verdicts for the data needs whole numbers as weights: pass a design.")
        index = np.repeat(np.arange(len(rows.n)), times)
        rows = take(rows, index)
        at = self.layout.unpack(self._checked(params))
        probabilities = self.response.probabilities(log_odds(rows, at), own_predictors(rows, at))
        outcome = draw_outcomes(self.response, probabilities, rng)
        judges, items = np.asarray(self.judges, dtype=object), np.asarray(self.items, dtype=object)
        columns = (self.comparisons.columns if design is None else design.reset_index(drop=True)).iloc[index]
        return Comparisons.from_arrays(
            judges[rows.judge], items[rows.first], items[rows.second], outcome, columns=columns
        )
