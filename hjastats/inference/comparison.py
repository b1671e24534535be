"""Nested models side by side: which are nested, which likelihood-ratio tests are regular, and the table of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from ..data.cells import Cells
from ..data.comparisons import Comparisons
from ..errors import ComparisonError
from ..model.decomposition import max_rank
from ..model.layout import Layout
from ..model.structures import LowRank, Pooled
from ..words import quoted

_POSITIONS = [None, "common", "judge"]
_TIES = ["", "common", "judge"]


def structure_order(layout: Layout) -> int:
    """Place of the score structure in the chain BTL < JA < HJA(1) < ... < judge-wise BTL."""
    if isinstance(layout.structure, Pooled):
        return -1
    largest = max_rank(len(layout.judges), len(layout.items))
    return layout.structure.rank if isinstance(layout.structure, LowRank) else largest


def is_nested(small: Any, large: Any) -> bool:
    """Whether the first result's model is a special case of the second's."""
    positions = _POSITIONS.index(small.model.position) <= _POSITIONS.index(large.model.position)
    structures = structure_order(small.model.layout) <= structure_order(large.model.layout)
    ties = bool(small.model.tie) == bool(large.model.tie) and _TIES.index(small.model.tie) <= _TIES.index(
        large.model.tie
    )
    return positions and structures and ties and _covariates_within(small, large)


def _covariates_within(small: Any, large: Any) -> bool:
    """Whether every covariate of the smaller model, by name and by value, is in the larger one."""
    shared, own = _covariate_values(small)
    other_shared, other_own = _covariate_values(large)
    # A slope common to all judges is a special case of one slope per judge.
    pairs = [(shared, other_own | other_shared), (own, other_own)]
    return all(
        name in others and np.array_equal(values, others[name])
        for mine, others in pairs
        for name, values in mine.items()
    )


def _covariate_values(results: Any) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Covariates with a common slope and with one slope per judge, by name."""
    model = results.model
    shared = {} if model.exog is None else dict(zip(model.exog_names, np.asarray(model.exog).T, strict=True))
    own = (
        {} if model.judge_exog is None else {str(name): model.judge_exog[name].to_numpy() for name in model.judge_exog}
    )
    return shared, own


def is_regular(small: Any, large: Any) -> bool:
    """Whether twice the log-likelihood difference of nested models is chi-squared under the smaller one.

    Adding disagreement directions is not regular: under the smaller model the direction is undefined and the statistic is
    stochastically larger than chi-squared. Judge-wise BTL (and the largest rank, which is the same model) has no such
    direction, and JA extends BTL smoothly.
    """
    low, high = structure_order(small.model.layout), structure_order(large.model.layout)
    layout = large.model.layout
    if small.model.tie != large.model.tie and layout.never_tie:
        # Judges without ties sit on the boundary of the larger model.
        return False
    return low == high or (low, high) == (-1, 0) or high == max_rank(len(layout.judges), len(layout.items))


def _covariates(results: Any) -> list[str]:
    return [name for name in results.model.layout.shared_terms if name not in ("position", "tie")]


def has_soft_preferences(results: Any) -> bool:
    """Whether the likelihood is a quasi-likelihood, whose ratios are not chi-squared."""
    outcome = results.model.comparisons.outcome
    return bool(((outcome > 0) & (outcome < 1) & (outcome != 0.5)).any())


def check_same_data(results: Sequence[Any]) -> None:
    """Refuse to compare fits to different data.

    Raises
    ------
    ComparisonError
    """
    penalised = [describe(result) for result in results if result.estimate.penalty is not None]
    if penalised:
        raise ComparisonError(
            f"likelihoods of regularised fits are not maxima and do not compare: {quoted(penalised)}."
        )
    first: Comparisons = results[0].model.comparisons
    if first is None:
        raise ComparisonError("the data of these results were removed: compare models before remove_data().")
    for other in results[1:]:
        if (other.model.ties == "davidson") != (results[0].model.ties == "davidson"):
            raise ComparisonError(
                "models with ties as an outcome and models without have different outcomes: their likelihoods do not compare."
            )
        data: Comparisons = other.model.comparisons
        if data is first:
            continue
        if data is None or (data.judges, data.items) != (first.judges, first.items):
            raise ComparisonError(
                "the models were fitted to different judges or items: their likelihoods do not compare."
            )
        ordered = any(result.model.cells.n_judge_terms or result.model.cells.n_shared_terms for result in results)
        if not _same_cells(_counts(data, ordered), _counts(first, ordered)):
            raise ComparisonError(
                f"the models were fitted to different verdicts ({first.n_comparisons:g} and {data.n_comparisons:g} "
                "comparisons): their likelihoods do not compare."
            )


def _counts(data: Comparisons, ordered: bool) -> Cells:
    """Cells of the data, with the order of presentation if any of the models uses it."""
    return data.ordered_cells if ordered else data.cells


def _same_cells(left: Cells, right: Cells) -> bool:
    same = len(left.n) == len(right.n) and all(
        np.array_equal(getattr(left, name), getattr(right, name)) for name in ("judge", "first", "second")
    )
    return same and np.allclose(left.n, right.n) and np.allclose(left.y, right.y)


def describe(results: Any) -> str:
    """Short name of a fitted model: ``HJA(1) + position``."""
    layout, position = results.model.layout, results.model.position
    if isinstance(layout.structure, Pooled):
        name = "BTL"
    elif isinstance(layout.structure, LowRank):
        name = f"HJA({layout.rank})" if layout.rank else "JA"
    else:
        name = "judge-wise BTL"
    parts = [name]
    if position is not None:
        parts.append("position" if position == "judge" else "common position")
    if results.model.tie:
        parts.append("ties" if results.model.tie == "judge" else "common ties")
    own = [name for name in layout.judge_terms if name not in ("position", "tie")]
    return " + ".join([*parts, *_covariates(results), *(f"{name} per judge" for name in own)])


def compare(*results: Any) -> pd.DataFrame:
    """Analysis of deviance of models fitted to the same comparisons.

    Each row is tested against the closest smaller model above it that is nested in it. Where that test is not regular (one
    more direction of disagreement) no p-value is given: chi-squared would reject too often.

    Parameters
    ----------
    *results : HJAResults
        Fits to the same data.

    Returns
    -------
    pandas.DataFrame
        Ordered by degrees of freedom: df, llf, aic, bic, against, lr, lr_df, p_value, note.

    Raises
    ------
    ComparisonError
        If the data differ.

    Examples
    --------
    >>> import hjastats as hja
    >>> data = hja.datasets.load_panel()
    >>> btl = hja.BTLModel.from_comparisons(data).fit()
    >>> ja = hja.JAModel.from_comparisons(data).fit()
    >>> hja.compare(btl, ja)[["df", "lr_df", "against"]]
         df  lr_df against
    BTL   9   <NA>
    JA   16      7     BTL
    """
    if len(results) < 2 or not all(hasattr(result, "estimate") for result in results):
        raise ComparisonError("pass at least two fitted models to compare.")
    check_same_data(results)
    ordered = sorted(results, key=lambda result: (result.df_model, -result.llf))
    rows = [_row(result, ordered[:place]) for place, result in enumerate(ordered)]
    table = pd.DataFrame(rows, index=[describe(result) for result in ordered])
    return table.astype({"lr_df": "Int64"})


def _row(result: Any, smaller: list[Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"df": int(result.df_model), "llf": result.llf, "aic": result.aic, "bic": result.bic}
    row |= {"against": "", "lr": np.nan, "lr_df": None, "p_value": np.nan, "note": ""}
    nested = [other for other in smaller if is_nested(other, result) and other.df_model < result.df_model]
    if nested:
        against = nested[-1]
        lr, df = 2.0 * (result.llf - against.llf), int(result.df_model - against.df_model)
        row |= {"against": describe(against), "lr": lr, "lr_df": df}
        if lr < -1e-6:
            row["note"] = "worse than the nested model: a local optimum"
        elif has_soft_preferences(result):
            row["note"] = "not chi-squared (soft preferences)"
        elif is_regular(against, result):
            row["p_value"] = float(stats.chi2.sf(lr, df))
        else:
            row["note"] = "not chi-squared"
    elif smaller:
        row["note"] = "none above is nested"
    if not result.converged:
        row["note"] = "; ".join(filter(None, [row["note"], "not converged"]))
    return row
