"""Comparisons nobody has made yet, as a model sees them: their labels looked up, their terms worked out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..data.arrays import columns_of, covariate_rows, lookup, new_covariates, numbers, offset_series
from ..data.cells import Cells
from ..data.formulas import NO_ORIGIN, CovariateFormula, Origin
from ..data.labels import common_index
from ..errors import ComparisonError
from ..inference.apart import are_linked, check_pairs_linked
from ..model.design import Design, assemble
from ..model.layout import Layout
from ..model.response import Response
from ..words import quoted

# Names of columns that hold a role, unless the data of the model had others.
USUAL = {"judge": ("judge",), "item_a": ("item_a", "first", "model_a"), "item_b": ("item_b", "second", "model_b")}
# In place of a label: all of them.
EVERY = "*"


class LabelledRows(NamedTuple):
    """Comparisons, and what the user calls them; None where he does not."""

    rows: Design
    labels: pd.Index | None

    def series(self, values: np.ndarray) -> Any:
        """One value for each comparison, under their labels if they have any."""
        return values if self.labels is None else pd.Series(values, self.labels)


@dataclass(frozen=True)
class NewComparisons:
    """What it takes to make a design of new comparisons.

    Attributes
    ----------
    layout : Layout
    response : Response
    formula : CovariateFormula or None
        How covariates are made from a data frame.
    origin : Origin
        What the model remembers of the frame it was made from.
    offset_name : str or None
        Column of a data frame that holds the offset.
    """

    layout: Layout
    response: Response
    formula: CovariateFormula | None = None
    origin: Origin = NO_ORIGIN
    offset_name: str | None = None

    def of_labels(
        self, judge: Any, item_a: Any, item_b: Any, exog: Any = None, judge_exog: Any = None, offset: Any = None
    ) -> LabelledRows:
        """Comparisons given by labels, each a single one or as many as there are comparisons; of all labels for a star.

        Raises
        ------
        ComparisonError
        """
        if judge is None and not self.layout.has_judge_parameters:
            judge = "any"
        if judge is None or item_a is None or item_b is None:
            raise ComparisonError("new comparisons need judge, item_a and item_b.")
        index = common_index(
            {"judge": judge, "item_a": item_a, "item_b": item_b, "exog": exog, "judge_exog": judge_exog}
        )
        labels = {"judge": judge, "item_a": item_a, "item_b": item_b}
        if any(self._is_every(role, given) for role, given in labels.items()):
            return self._of_grid(labels, exog, judge_exog, offset)
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
        index = index if index is not None and len(index) == len(judges) else None
        return LabelledRows(design if offset is None else self.with_offset(design, offset), index)

    def _is_every(self, role: str, given: Any) -> bool:
        known = self.layout.judges if role == "judge" else self.layout.items
        return isinstance(given, str) and given == EVERY and EVERY not in known

    def _of_grid(self, labels: dict[str, Any], exog: Any, judge_exog: Any, offset: Any) -> LabelledRows:
        """Every judge on every pair of two different items that have one scale, under one and the same covariates."""
        every = {"judge": self.layout.judges, "item_a": self.layout.items, "item_b": self.layout.items}
        levels = [
            every[role] if self._is_every(role, given) else [*map(str, np.atleast_1d(np.asarray(given, dtype=object)))]
            for role, given in labels.items()
        ]
        grid = pd.MultiIndex.from_product(levels, names=list(labels))
        first, second = (
            lookup("item", grid.get_level_values(f"item_{side}").to_numpy(), self.layout.items) for side in "ab"
        )
        grid = grid[(first != second) & are_linked(self.layout, first, second)]
        if not len(grid):
            raise ComparisonError("the grid has no pair of two different items: pass others as item_a or item_b.")
        exog, judge_exog = _repeated(exog, len(grid)), _repeated(judge_exog, len(grid))
        judges, firsts, seconds = (grid.get_level_values(role).to_numpy(dtype=object) for role in labels)
        design = self._design(judges, firsts, seconds, exog, judge_exog, pd.DataFrame(index=range(len(grid))))
        return LabelledRows(design if offset is None else self.with_offset(design, offset), grid)

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

    def of_frame(self, frame: pd.DataFrame, offset: Any = None) -> LabelledRows:
        """Comparisons of a frame with the columns that the model was made from, or judge, item_a and item_b, and the covariates.

        Raises
        ------
        ComparisonError
        """
        found = {role: self.origin.column(role, usual, frame) for role, usual in USUAL.items()}
        needed = [role for role in USUAL if role != "judge" or self.layout.has_judge_parameters]
        if any(found[role] is None for role in needed):
            wanted = [self.origin.roles.get(role, role) for role in USUAL]
            raise ComparisonError(
                f"a frame of comparisons needs columns {wanted[0]}, {wanted[1]} and {wanted[2]}, got {quoted(frame.columns, 8)}."
            )
        judges, firsts, seconds = (
            np.full(len(frame), "any", dtype=object) if name is None else frame[name].to_numpy(dtype=object)
            for name in found.values()
        )
        exog = self._covariates_of(frame, "common", self.formula)
        judge_exog = self._covariates_of(frame, "judge", self.origin.judge)
        design = self._design(judges, firsts, seconds, exog, judge_exog, frame)
        known = self._offset_of(frame, offset)
        return LabelledRows(design if known is None else self.with_offset(design, known), frame.index)

    def _covariates_of(self, frame: pd.DataFrame, scope: str, formula: CovariateFormula | None) -> pd.DataFrame | None:
        """What a frame tells of the covariates: the columns of their names, or all it takes to make them."""
        names = self.layout.terms.covariates(scope)
        if not names:
            return None
        return frame if formula is not None else columns_of(frame, names)

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
        if isinstance(exog, pd.DataFrame) and self.formula is not None:
            exog = self.formula.columns(exog)
        if isinstance(judge_exog, pd.DataFrame) and self.origin.judge is not None:
            judge_exog = self.origin.judge.columns(judge_exog)
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
        check_pairs_linked(layout, cells.first, cells.second)
        covariates: dict[str, np.ndarray] = {}
        for name, given, scope in (("exog", exog, "common"), ("judge_exog", judge_exog, "judge")):
            names = layout.terms.covariates(scope)
            covariates |= dict(zip(names, new_covariates(name, given, n_rows, names).T, strict=True))
        return assemble(cells, np.zeros(n_rows), layout.terms, self.response, covariates, columns)


def _repeated(covariates: Any, n_rows: int) -> Any:
    """The covariates of all comparisons of a grid, given once.

    Raises
    ------
    ComparisonError
    """
    if covariates is None:
        return None
    if isinstance(covariates, pd.DataFrame):
        one = covariates.reset_index(drop=True)
    else:
        one = pd.DataFrame(np.atleast_2d(numbers("covariates", covariates)))
    if len(one) != 1:
        raise ComparisonError(f"all comparisons of a grid have the same covariates: pass one row, got {len(one)}.")
    one = one.loc[np.zeros(n_rows, dtype=int)].reset_index(drop=True)
    return one if isinstance(covariates, pd.DataFrame) else one.to_numpy()
