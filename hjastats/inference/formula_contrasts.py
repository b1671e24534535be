"""Estimated parameters regressed on metadata, with the estimates' full covariance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from patsy import PatsyError, dmatrix
from scipy import stats

from ..data.comparisons import Comparisons
from ..data.metadata import pair_metadata
from ..errors import ContrastError, Hint, IdentificationError
from ..fit import Fit
from ..looks import Piece, Table, Title
from ..model.quantities import Quantities
from ..model.responses import KINDS
from ..words import quoted
from .contrasts import Contrast
from .hypotheses import wald_statistic

NOTE = (
    "Fixed-panel inference: standard errors say how far the coefficients are from those of the true parameters of these very "
    "judges and items, not of a population they were drawn from."
)
# What may stand on the left: whose it is.
_ROLES: dict[str, tuple[str, ...]] = {
    "mu": ("item",),
    "gamma": ("judge",),
    **dict.fromkeys(KINDS, ("judge",)),
    "disagreement": ("judge", "item"),
    "scores": ("judge", "item"),
}
_QUANTITIES = {"disagreement": "R", "scores": "S"}


@dataclass(frozen=True, repr=False)
class FormulaContrast(Contrast):
    """Coefficients of a regression of estimated parameters on metadata.

    Attributes
    ----------
    formula : str
    terms : pandas.DataFrame
        Joint Wald test of each term: chi2, df, p_value.
    """

    formula: str = ""
    terms: pd.DataFrame | None = None

    def _shown(self) -> list[Piece]:
        pieces: list[Piece] = [Title(self.formula), *super()._shown()]
        if self.terms is not None and len(self.terms):
            tests = Table(self.terms, {"p_value": "{:.3g}".format}, missing="NaN")
            place = pieces.index(self.note)
            pieces[place:place] = ["", Title("joint tests"), tests, ""]
        return pieces


def contrast_formula(fit: Fit, formula: str, metadata: Any) -> FormulaContrast:
    """Least squares of estimated parameters on a design made from metadata.

    The coefficients are linear functions ``(X'X)^-1 X' theta`` of the parameters, so their covariance is exact given that
    of the parameters.

    Parameters
    ----------
    formula : str
        ``"gamma ~ provider"``, ``"mu ~ size + open_weights"``, ``"position ~ ..."``, ``"disagreement ~ same_family"`` or
        ``"scores ~ ..."``.
    metadata : pandas.DataFrame
        One row per judge or item, in the index or a column called judge or item; for disagreement and scores one row per
        judge and item, with both.

    Raises
    ------
    ContrastError
    IdentificationError
        If some of the parameters have no finite estimate.
    """
    left, separator, right = str(formula).partition("~")
    target = left.strip()
    if not separator or target not in _ROLES:
        raise ContrastError(
            f"expected a formula such as 'gamma ~ provider' with one of {quoted(_ROLES, 9)} on the left, got {formula!r}."
        )
    kind, quantities = _QUANTITIES.get(target, target), fit.quantities
    if kind not in quantities.kinds:
        raise ContrastError(f"the model has no {kind} effect per judge: fit {kind}='judge'.")
    frame = _aligned(metadata, target, quantities)
    design, slices = _design(right.strip(), frame)
    index = [quantities.resolve(kind, labels) for labels in frame.index]
    theta = np.array([quantities.value(kind, place) for place in index])
    jacobian = np.array([quantities.gradient(kind, place) for place in index])
    weights = np.linalg.pinv(design.to_numpy())
    gradient = weights @ jacobian
    if fit.is_open(gradient).any():
        raise IdentificationError(
            f"some of the parameters in {formula!r} have no finite estimate: use ",
            Hint("fit_regularized", is_call=True),
            ", or a fit without the judges or items concerned.",
        )
    cov = fit.covariance.of(gradient)
    names = [str(name) for name in design.columns]
    estimate = weights @ theta
    size = np.abs(weights) @ np.abs(jacobian).max(axis=1)
    return FormulaContrast(
        names=names,
        estimate=estimate,
        null=np.zeros(len(names)),
        gradient=gradient,
        cov=cov,
        note=NOTE,
        size=size,
        formula=str(formula).strip(),
        terms=_term_tests(slices, estimate, gradient, cov, names, size),
    )


def stored_metadata(formula: str, data: Comparisons) -> pd.DataFrame:
    """The metadata of the data that the left side of a formula needs.

    Raises
    ------
    ContrastError
        When the data have none.
    """
    roles = _ROLES.get(str(formula).partition("~")[0].strip(), ("judge",))
    known = {"judge": data.judge_metadata, "item": data.item_metadata}
    absent = [f"{role}s" for role in roles if known[role] is None]
    if absent:
        raise ContrastError(
            f"the data have no metadata of {' and '.join(absent)}: pass it, or fit to data.with_metadata({absent[0]}=frame)."
        )
    frames = [frame for role in roles if (frame := known[role]) is not None]
    return frames[0] if len(frames) == 1 else pair_metadata(*frames)


def _aligned(metadata: Any, target: str, quantities: Quantities) -> pd.DataFrame:
    """Metadata with one row per parameter, indexed by tuples of labels."""
    roles = _ROLES[target]
    if not isinstance(metadata, pd.DataFrame):
        raise ContrastError(f"metadata must be a pandas.DataFrame, got {type(metadata).__name__}.")
    frame = metadata.copy()
    missing = [role for role in roles if role not in frame.columns and role not in frame.index.names]
    if missing == list(roles) and len(roles) == 1:
        frame.index = pd.Index([str(label) for label in frame.index], name=roles[0])
        missing = []
    if missing:
        raise ContrastError(
            f"metadata for {target} needs {' and '.join(roles)} as index or columns, {quoted(missing)} not found."
        )
    frame = frame.reset_index() if any(role in frame.index.names for role in roles) else frame
    labels = list(zip(*(frame[role].astype(str) for role in roles), strict=True))
    # Judges that never tie have no tie propensity to explain.
    known = {"judge": quantities.layout.judges_with(target), "item": quantities.layout.items}
    wanted = (
        [(a,) for a in known[roles[0]]] if len(roles) == 1 else [(a, b) for a in known["judge"] for b in known["item"]]
    )
    repeated = sorted({label for label in labels if labels.count(label) > 1}) if len(set(labels)) < len(labels) else []
    if repeated:
        raise ContrastError(f"metadata has several rows for {quoted(['/'.join(label) for label in repeated])}.")
    position = {label: row for row, label in enumerate(labels)}
    absent = ["/".join(label) for label in wanted if label not in position]
    if absent:
        raise ContrastError(f"metadata has no row for {quoted(absent)}: {target} needs one per {' and '.join(roles)}.")
    frame = frame.iloc[[position[label] for label in wanted]]
    frame.index = pd.Index(wanted, tupleize_cols=False)
    return frame


def _design(right: str, frame: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, slice]]:
    data = frame.reset_index(drop=True)
    try:
        design = dmatrix(right or "1", data, return_type="dataframe", NA_action="raise")
    except (PatsyError, ValueError, TypeError, KeyError, AttributeError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        hint = " Fill them in, for example with metadata.fillna('none')." if "missing values" in reason else ""
        raise ContrastError(f"cannot build the design of {right!r}: {reason}.{hint}") from None
    if len(design) != len(frame):
        raise ContrastError(f"the design of {right!r} has {len(design)} rows for {len(frame)} parameters.")
    if np.linalg.matrix_rank(design) < design.shape[1]:
        raise ContrastError(f"the terms of {right!r} are linearly dependent in the metadata: leave some out.")
    return design, dict(design.design_info.term_name_slices)


def _term_tests(
    slices: dict[str, slice],
    estimate: np.ndarray,
    gradient: np.ndarray,
    cov: np.ndarray,
    names: list[str],
    size: np.ndarray,
) -> pd.DataFrame:
    rows = {}
    for term, where in slices.items():
        if term == "Intercept":
            continue
        try:
            test = wald_statistic(gradient[where], cov[where, where], estimate[where], names[where], size[where])
        except ContrastError:
            rows[term] = {"chi2": np.nan, "df": 0, "p_value": np.nan}
            continue
        chi2, df = float(test.statistic), int(test.df_denom)
        rows[term] = {"chi2": chi2, "df": df, "p_value": float(stats.chi2.sf(chi2, df))}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["chi2", "df", "p_value"])
