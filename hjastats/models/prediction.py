"""Comparisons nobody has made yet, as a model sees them: their labels looked up, their terms worked out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from patsy import PatsyError, build_design_matrices

from ..data.arrays import columns_of, covariate_rows, lookup, new_covariates, offset_series
from ..data.cells import Cells
from ..data.labels import common_index
from ..errors import ComparisonError
from ..model.design import Design, assemble
from ..model.layout import Layout
from ..model.responses import Response
from ..words import quoted

FIRST, SECOND = ("item_a", "first", "model_a"), ("item_b", "second", "model_b")


@dataclass(frozen=True)
class NewComparisons:
    """What it takes to make a design of new comparisons.

    Attributes
    ----------
    layout : Layout
    response : Response
    formula : str or None
    formula_design : patsy.DesignInfo or None
        How the formula makes covariates from a data frame.
    offset_name : str or None
        Column of a data frame that holds the offset.
    """

    layout: Layout
    response: Response
    formula: str | None
    formula_design: Any
    offset_name: str | None = None

    def of_labels(
        self, judge: Any, item_a: Any, item_b: Any, exog: Any = None, judge_exog: Any = None, offset: Any = None
    ) -> Design:
        """Comparisons given by labels, each a single one or as many as there are comparisons.

        Raises
        ------
        ComparisonError
        """
        if judge is None and not self.layout.has_judge_parameters:
            judge = "any"
        if judge is None or item_a is None or item_b is None:
            raise ComparisonError("new comparisons need judge, item_a and item_b.")
        common_index({"judge": judge, "item_a": item_a, "item_b": item_b, "exog": exog, "judge_exog": judge_exog})
        arrays = [np.atleast_1d(np.asarray(values, dtype=object)) for values in (judge, item_a, item_b)]
        exog, judge_exog = (
            covariate_rows(values, self.layout.terms.covariates(scope))
            for values, scope in ((exog, "common"), (judge_exog, "judge"))
        )
        # A single comparison may be made under several values of the covariates.
        longest = max((len(values) for values in (exog, judge_exog) if values is not None), default=1)
        n_rows = longest if all(len(array) == 1 for array in arrays) else 1
        try:
            judges, firsts, seconds, _ = np.broadcast_arrays(*arrays, np.empty(n_rows))
        except ValueError:
            raise ComparisonError(
                f"judge, item_a and item_b have {', '.join(str(len(a)) for a in arrays)} labels."
            ) from None
        if any(array.ndim != 1 for array in arrays):
            raise ComparisonError("judge, item_a and item_b must be labels or one-dimensional collections of them.")
        design = self._design(judges, firsts, seconds, exog, judge_exog, pd.DataFrame(index=range(len(judges))))
        return design if offset is None else self.with_offset(design, offset)

    def with_offset(self, rows: Design, offset: Any) -> Design:
        """New comparisons with what is known to be added to their log-odds: a number for all, or one for each.

        Raises
        ------
        ComparisonError
        """
        values = offset_series(offset, len(rows.n)).to_numpy()
        if len(values) != len(rows.n) or not np.isfinite(values).all():
            raise ComparisonError(
                f"offset must be {len(rows.n)} finite numbers, one for each comparison, or a single one."
            )
        return replace(rows, offset=values[:, None])

    def _offset_of(self, frame: pd.DataFrame, offset: Any) -> Any:
        """The offset of a frame: of the column named, or of that which the model took it from."""
        name = offset if isinstance(offset, str) else self.offset_name
        if name is None or (offset is not None and not isinstance(offset, str)):
            return offset
        if name not in frame.columns:
            raise ComparisonError(
                f"the frame has no column {name!r} with the offset: add it, or pass offset=0 to predict without."
            )
        return frame[name]

    def of_frame(self, frame: pd.DataFrame, offset: Any = None) -> Design:
        """Comparisons of a frame with columns judge, item_a or first, item_b or second, and the covariates.

        Raises
        ------
        ComparisonError
        """
        first = next((name for name in FIRST if name in frame.columns), None)
        second = next((name for name in SECOND if name in frame.columns), None)
        if "judge" not in frame.columns and not self.layout.has_judge_parameters:
            frame = frame.assign(judge="any")
        if "judge" not in frame.columns or first is None or second is None:
            raise ComparisonError(
                f"a frame of comparisons needs columns judge, item_a and item_b, got {quoted(frame.columns, 8)}."
            )
        shared, own = (self.layout.terms.covariates(scope) for scope in ("common", "judge"))
        exog: Any = None
        if shared:
            exog = frame if self.formula_design is not None else columns_of(frame, shared)
        judges, firsts, seconds = (frame[name].to_numpy(dtype=object) for name in ("judge", first, second))
        design = self._design(judges, firsts, seconds, exog, columns_of(frame, own) if own else None, frame)
        known = self._offset_of(frame, offset)
        return design if known is None else self.with_offset(design, known)

    def _design(
        self,
        judges: np.ndarray,
        firsts: np.ndarray,
        seconds: np.ndarray,
        exog: Any,
        judge_exog: Any,
        columns: pd.DataFrame,
    ) -> Design:
        layout, n_rows = self.layout, len(judges)
        if isinstance(exog, pd.DataFrame) and self.formula_design is not None:
            exog = self._from_formula(exog)
        cells = Cells(
            # Where all are alike the first speaks for any.
            lookup("judge", judges, layout.judges) if layout.has_judge_parameters else np.zeros(n_rows, dtype=np.intp),
            lookup("item", firsts, layout.items),
            lookup("item", seconds, layout.items),
            np.ones(n_rows),
            np.zeros(n_rows),
            len(layout.judges),
            len(layout.items),
        )
        covariates: dict[str, np.ndarray] = {}
        for name, given, scope in (("exog", exog, "common"), ("judge_exog", judge_exog, "judge")):
            names = layout.terms.covariates(scope)
            covariates |= dict(zip(names, new_covariates(name, given, n_rows, names).T, strict=True))
        return assemble(cells, np.zeros(n_rows), layout.terms, self.response, covariates, columns)

    def _from_formula(self, frame: pd.DataFrame) -> np.ndarray:
        """Covariates of new comparisons, made by the formula."""
        try:
            design = build_design_matrices([self.formula_design], frame, NA_action="raise")[0]
        except PatsyError as error:
            raise ComparisonError(
                f"cannot build {self.formula!r} for the new data: {str(error).splitlines()[0]}"
            ) from None
        names = design.design_info.column_names
        return np.asarray(design)[:, [i for i, name in enumerate(names) if name != "Intercept"]]
