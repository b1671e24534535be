"""Whether judges favour items of their own family beyond what the consensus says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..errors import ContrastError, Hint, IdentificationError
from ..fitted import Fit
from ..inference.contrast_results import Contrast
from ..inference.hypotheses import joint_test
from ..looks import Piece, Shown, Table, Title
from ..solve.precision import Covariance
from ..words import quoted, shortened


@dataclass(frozen=True, repr=False, eq=False)
class Affinity(Shown):
    """Residual disagreement on items of the own family minus that on other items.

    Attributes
    ----------
    families : pandas.DataFrame
        Per family, the mean over its judges: judges, items, estimate, std_err, z, p_value, p_holm, ci_lower, ci_upper.
    judges : pandas.DataFrame
        The same per judge, with its family.
    overall : pandas.Series
        Mean over all these judges.
    joint_test : ContrastResults
        Wald test that no family favours its own; None when nothing can be tested.
    left_out : tuple of str
        Judges without items of their family, or without other items.
    """

    families: pd.DataFrame
    judges: pd.DataFrame
    overall: pd.Series
    joint_test: Any
    left_out: tuple[str, ...] = ()

    def _shown(self) -> list[Piece]:
        def table(frame: pd.DataFrame) -> Table:
            forms = dict.fromkeys(("p_value", "p_holm"), "{:.3g}".format)
            return Table(frame.rename(index=shortened), forms, missing="NaN")

        title = Title("Own-family items minus other items, in residual disagreement (log-odds)")
        pieces: list[Piece] = [title, table(self.families)]
        if self.joint_test is None:
            pieces.append("No joint test: the model fixes these contrasts or they have no standard errors.")
        else:
            test = self.joint_test
            pieces.append(
                f"Test that no family favours its own: chi2({int(test.df_denom)}) = {float(test.statistic):.2f}, "
                f"p = {float(test.pvalue):.3g}"
            )
        mean = self.overall
        pieces.append(f"Mean over {len(self.judges)} judges: {mean['estimate']:.3f} (se {mean['std_err']:.3f})")
        if self.left_out:
            pieces.append(f"No own or no other items to compare: {quoted(self.left_out)}")
        return [*pieces, "", table(self.judges)]


def family_labels(family: Any, role: str, labels: Sequence[str], known: pd.DataFrame | None) -> list[str | None]:
    """The family of each label; None where it is missing.

    Parameters
    ----------
    family : str, mapping or pandas.Series
        A column of the data's metadata, or families by label.
    role : {"judge", "item"}
    known : pandas.DataFrame or None
        The metadata of the data.

    Raises
    ------
    ContrastError

    Examples
    --------
    >>> family_labels({"a": "x", "b": None, "z": "y"}, "item", ["a", "b"], None)
    ['x', None]
    """
    if isinstance(family, str):
        if known is None or family not in known.columns:
            there = "none" if known is None else quoted(known.columns, 8)
            raise ContrastError(
                f"no metadata column of {role}s is called {family!r} (there are: {there}): pass a dict or Series of families, or "
                f"fit to data.with_metadata({role}s=frame)."
            )
        family = known[family]
    if not isinstance(family, (Mapping, pd.Series)):
        raise ContrastError(
            f"{role}_family must be a column name, a dict or a pandas.Series, got {type(family).__name__}."
        )
    given = {str(label): value for label, value in family.items()}
    absent = [label for label in labels if label not in given]
    if absent:
        raise ContrastError(f"{role}_family has no entry for {quoted(absent)}; give None where there is no family.")
    return [None if pd.isna(given[label]) else str(given[label]) for label in labels]


def affinity(
    fit: Fit,
    judge_family: Sequence[str | None],
    item_family: Sequence[str | None],
    alpha: float = 0.05,
) -> Affinity:
    """Contrast the residual of own-family items with that of all other items, judge by judge.

    The joint test has one restriction per family, not per judge: a disagreement of rank r gives the judges of one family only r
    ways to favour it, so restrictions per judge depend on each other where the hypothesis holds.

    A low-rank contrast is a product, of how the judges load on a direction and of what the direction says about their family. Where
    both vanish (judges without a taste, items without a difference), or where the families together are all items so that one
    family's gain is the others' loss, the test rejects less often than its level says. It does not reject too often. The contrasts
    of judge-wise BTL are no products and keep the level everywhere, at the price of more parameters.

    Parameters
    ----------
    quantities : Quantities
        Of the fit.
    covariance : Covariance
        Of the free coordinates.
    judge_family, item_family : sequence of str or None
        In the order of the labels. Items without family count among the others.
    alpha : float
        One minus the level of the intervals.

    Raises
    ------
    ContrastError
        When no judge has both own-family and other items.
    """
    if (not fit.layout.rank and fit.layout.structure.has_sensitivities) or not fit.layout.structure.judges_differ:
        raise ContrastError(
            "the model has rank 0, so there is no disagreement to contrast: fit again with ", Hint("rank", 1), "."
        )
    if fit.is_withheld("U") or fit.separation is not None:
        raise IdentificationError("some scores run to infinity, so disagreement is withheld: use fit_regularized().")
    quantities, covariance = fit.quantities, fit.covariance
    judges, items = fit.layout.judges, fit.layout.items
    of_item = np.array(item_family, dtype=object)
    included, weights = [], []
    for k, family in enumerate(judge_family):
        own = of_item == family
        if family is not None and own.any() and not own.all():
            included.append(k)
            weights.append(np.where(own, 1.0 / own.sum(), -1.0 / (~own).sum()))
    left_out = tuple(judge for k, judge in enumerate(judges) if judge_family[k] is not None and k not in included)
    if not included:
        raise ContrastError(
            "no judge has items of its own family beside others: the families of judges are "
            f"{quoted(sorted({f for f in judge_family if f is not None}))}, those of items "
            f"{quoted(sorted({f for f in item_family if f is not None}))}."
        )
    estimate = np.array([w @ quantities.residual[k] for k, w in zip(included, weights, strict=True)])
    gradient = np.array(
        [
            w @ np.array([quantities.gradient("R", (k, i)) for i in range(len(items))])
            for k, w in zip(included, weights, strict=True)
        ]
    )
    of_judge = np.array([judge_family[k] for k in included], dtype=object)
    names = sorted(set(of_judge))
    pooling = np.array([(of_judge == name) / (of_judge == name).sum() for name in names])
    by_judge = _contrast([judges[k] for k in included], estimate, gradient, covariance)
    by_family = _contrast(names, pooling @ estimate, pooling @ gradient, covariance)
    mean = np.full((1, len(included)), 1.0 / len(included))
    overall = _contrast(["overall"], mean @ estimate, mean @ gradient, covariance)
    families = _table(by_family, "family", alpha)
    families.insert(0, "judges", [int((of_judge == name).sum()) for name in names])
    families.insert(1, "items", [int((of_item == name).sum()) for name in names])
    table = _table(by_judge, "judge", alpha)
    table.insert(0, "family", of_judge)
    return Affinity(families, table, overall.summary_frame(alpha).iloc[0], _joint_test(fit, by_family), left_out)


def _contrast(names: list[str], estimate: np.ndarray, gradient: np.ndarray, covariance: Covariance) -> Contrast:
    return Contrast(names, estimate, np.zeros(len(names)), gradient, covariance.of(gradient))


def _table(contrast: Contrast, index_name: str, alpha: float) -> pd.DataFrame:
    frame = contrast.summary_frame(alpha).rename_axis(index_name)
    p_values = frame["p_value"].to_numpy()
    known = np.isfinite(p_values)
    adjusted = np.full(len(p_values), np.nan)
    if known.any():
        from statsmodels.stats.multitest import multipletests

        adjusted[known] = multipletests(p_values[known], method="holm")[1]
    frame.insert(4, "p_holm", adjusted)
    return frame


def _joint_test(fit: Fit, contrast: Contrast) -> Any:
    """Wald test of the contrasts in units of their standard errors: preferences of very different size are tested alike."""
    errors = contrast.std_err
    tested = np.flatnonzero(errors > 0)
    if not len(tested) or not np.isfinite(contrast.cov).all():
        return None
    scale = errors[tested]
    gradient = contrast.gradient[tested] / scale[:, None]
    names = [contrast.names[i] for i in tested]
    try:
        return joint_test(fit, gradient, contrast.estimate[tested] / scale, names)
    except ContrastError:
        return None
