"""What a comparison model expects of comparisons, old or new, and verdicts drawn from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from patsy import PatsyError, build_design_matrices

from ..data.arrays import check_option, columns_of, lookup, new_covariates
from ..data.cells import Cells, take
from ..data.comparisons import Comparisons
from ..errors import ComparisonError
from ..model.layout import Layout
from ..model.likelihood import davidson_probabilities, linear_predictor, probability, tie_predictor
from ..words import quoted

Labels = Any


class PredictionMethods:
    """Methods of :class:`hjastats.HJAModel` that turn parameters into expected verdicts."""

    layout: Layout
    comparisons: Comparisons
    position: str | None
    tie: str
    formula: str | None
    data: Any
    judges: Any
    items: Any
    _checked: Any
    row_cells: Any
    _with_terms: Any

    def predict(
        self,
        params: Any,
        exog: Any = None,
        *,
        judge: Labels = None,
        item_a: Labels = None,
        item_b: Labels = None,
        judge_exog: Any = None,
        position: bool = True,
        which: str = "mean",
    ) -> Any:
        """What to expect of comparisons.

        Parameters
        ----------
        params : array_like
        exog : array_like or pandas.DataFrame, optional
            Covariates of the new comparisons. Without judge and items, a frame with columns judge, item_a (or first), item_b
            (or second) and the covariates.
        judge, item_a, item_b : label or array_like of labels, optional
            New comparisons; the data themselves when left out.
        judge_exog : array_like, optional
            Covariates with judge-specific slopes.
        position : bool
            Whether the item shown first has the advantage the model gives it; without, the order is taken out.
        which : {"mean", "linear", "probs"}
            Expected preference for the first item (ties counting one half), log-odds of the first item against the second, or
            a frame with the probabilities of all outcomes.

        Examples
        --------
        >>> import hjastats as hja
        >>> model = hja.JAModel.from_comparisons(hja.datasets.load_panel())
        >>> params = model.fit().params
        >>> model.predict(params, judge="judge-1", item_a="model-I", item_b="model-H").round(3)
        array([0.732])
        """
        check_option("which", which, ("mean", "linear", "probs"))
        at = self.layout.unpack(self._checked(params))
        rows = self.prediction_rows(exog, judge, item_a, item_b, judge_exog)
        if not position:
            rows = self.without_position(rows)
        eta = linear_predictor(rows, at)
        if which == "linear":
            return eta
        if self.tie:
            first, tie, second = davidson_probabilities(eta, tie_predictor(rows, at))
            return (
                first + 0.5 * tie if which == "mean" else pd.DataFrame({"first": first, "tie": tie, "second": second})
            )
        p = probability(eta)
        return p if which == "mean" else pd.DataFrame({"first": p, "second": 1.0 - p})

    def without_position(self, rows: Cells) -> Cells:
        """Comparisons in which neither item has the advantage of its position."""
        own, shared = rows.judge_terms.copy(), rows.shared_terms.copy()
        if self.position == "judge":
            own[:, self.layout.judge_terms.index("position")] = 0.0
        elif self.position == "common":
            shared[:, self.layout.shared_terms.index("position")] = 0.0
        return replace(rows, judge_terms=own, shared_terms=shared)

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
        rng = np.random.default_rng(rng)
        rows = self.prediction_rows(design, None, None, None)
        times = np.round(rows.n).astype(int)
        if np.abs(rows.n - times).max(initial=0.0) > 1e-9:
            raise ComparisonError("drawing verdicts for the data needs whole numbers as weights: pass a design.")
        index = np.repeat(np.arange(len(rows.n)), times)
        rows = take(rows, index)
        at = self.layout.unpack(self._checked(params))
        eta = linear_predictor(rows, at)
        if self.tie:
            first, tie, _ = davidson_probabilities(eta, tie_predictor(rows, at))
        else:
            first, tie = probability(eta), np.zeros(len(eta))
        draw = rng.random(len(eta))
        outcome = np.where(draw < first, 1.0, np.where(draw < first + tie, 0.5, 0.0))
        judges, items = np.asarray(self.judges, dtype=object), np.asarray(self.items, dtype=object)
        columns = (self.comparisons.columns if design is None else design.reset_index(drop=True)).iloc[index]
        return Comparisons.from_arrays(
            judges[rows.judge], items[rows.first], items[rows.second], outcome, columns=columns
        )

    def prediction_rows(
        self, exog: Any, judge: Labels, item_a: Labels, item_b: Labels, judge_exog: Any = None
    ) -> Cells:
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
        if any(array.ndim != 1 for array in arrays):
            raise ComparisonError("judge, item_a and item_b must be labels or one-dimensional collections of them.")
        if isinstance(exog, pd.DataFrame) and self._design_spec is not None:
            exog = self._design(exog)
        n_rows = len(judges)
        rows = Cells(
            lookup("judge", judges, self.judges),
            lookup("item", firsts, self.items),
            lookup("item", seconds, self.items),
            np.ones(n_rows),
            np.zeros(n_rows),
            len(self.judges),
            len(self.items),
        )
        shared = [new_covariates("exog", exog, n_rows, self._covariates)]
        own = [new_covariates("judge_exog", judge_exog, n_rows, self._judge_covariates)]
        return self._with_terms(rows, np.zeros(n_rows), own, shared)

    @property
    def _covariates(self) -> list[str]:
        """Names of the covariates common to all judges."""
        special = [name for name in ("position", "tie") if getattr(self, name) == "common"]
        return [name for name in self.layout.shared_terms if name not in special]

    @property
    def _judge_covariates(self) -> list[str]:
        """Names of the covariates with judge-specific slopes."""
        special = [name for name in ("position", "tie") if getattr(self, name) == "judge"]
        return [name for name in self.layout.judge_terms if name not in special]

    def _design(self, frame: pd.DataFrame) -> np.ndarray:
        """Covariates of new comparisons, made by the formula."""
        try:
            design = build_design_matrices([self._design_spec], frame, NA_action="raise")[0]
        except PatsyError as error:
            raise ComparisonError(
                f"cannot build {self.formula!r} for the new data: {str(error).splitlines()[0]}"
            ) from None
        names = design.design_info.column_names
        return np.asarray(design)[:, [i for i, name in enumerate(names) if name != "Intercept"]]

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
                f"a frame of comparisons needs columns judge, item_a and item_b, got {quoted(frame.columns, 8)}."
            )
        shared: Any = None
        if self._covariates:
            shared = frame if self._design_spec is not None else columns_of(frame, self._covariates)
        own = columns_of(frame, self._judge_covariates) if self._judge_covariates else None
        return self.prediction_rows(shared, frame["judge"], frame[first], frame[second], own)
