"""Estimated parameters regressed on metadata, with the estimates' full covariance."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from patsy import EvalEnvironment, NAAction, PatsyError, dmatrix
from scipy import stats

from ..data.arrays import check_option
from ..data.comparisons import Comparisons
from ..data.metadata import pair_metadata
from ..errors import ContrastError, Hint, IdentificationError
from ..fitted import Fit
from ..looks import Piece, Table, Title
from ..model.quantities import Quantities
from ..model.responses import KINDS
from ..words import quoted
from .contrast_results import Contrast
from .functions import FUNCTIONS
from .hypotheses import joint_test

NOTE = (
    "Fixed-panel inference: standard errors say how far the coefficients are from those of the true parameters of these very "
    "judges and items, not of a population they were drawn from."
)
EQUALITY = "Joint tests without an intercept: that the groups are equal."
# What may stand on the left: whose it is.
_ROLES: dict[str, tuple[str, ...]] = {
    "mu": ("item",),
    "gamma": ("judge",),
    "h": ("judge",),
    "rho": ("judge",),
    "U": ("judge",),
    "V": ("item",),
    **dict.fromkeys(KINDS, ("judge",)),
    "disagreement": ("judge", "item"),
    "scores": ("judge", "item"),
}
_QUANTITIES = {"disagreement": "R", "scores": "S"}
_LEFT = re.compile(rf"\s*(?:({'|'.join(FUNCTIONS)})\s*\(\s*(\w+)\s*\)|(\w+))\s*")


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

    def __getitem__(self, key: Any) -> Contrast:
        """Some of the coefficients; the joint tests are of all."""
        return super(FormulaContrast, replace(self, terms=None)).__getitem__(key)

    def _shown(self) -> list[Piece]:
        pieces: list[Piece] = [Title(self.formula), *super()._shown()]
        if self.terms is not None and len(self.terms):
            tests = Table(self.terms, {"p_value": "{:.3g}".format}, missing="NaN")
            place = pieces.index(self.note)
            pieces[place:place] = ["", Title("joint tests"), tests, ""]
        return pieces


def contrast_formula(
    fit: Fit,
    formula: str,
    metadata: Any,
    *,
    missing: str = "raise",
    environment: EvalEnvironment | None = None,
) -> FormulaContrast:
    """Least squares of estimated parameters on a design made from metadata.

    The coefficients are linear functions ``(X'X)^-1 X' theta`` of the parameters, so their covariance is exact given that
    of the parameters; of a function of the parameters, such as ``log(gamma)``, it is that of the delta method.

    Parameters
    ----------
    formula : str
        ``"gamma ~ provider"``, ``"log(gamma) ~ size"``, ``"position ~ ..."``, ``"U ~ ..."``, ``"disagreement ~ same_family"``
        or ``"scores ~ ..."``.
    metadata : pandas.DataFrame
        One row per judge or item, in the index or a column called judge or item; for disagreement and scores one row per
        judge and item, with both.
    missing : {"raise", "drop"}
        What to do with judges or items that have no row, or missing values in one.
    environment : EvalEnvironment, optional
        Where the functions of the formula are looked up, next to those of numpy, ``np``.

    Raises
    ------
    ContrastError
    IdentificationError
        If some of the parameters have no finite estimate.
    """
    check_option("missing", missing, ("raise", "drop"))
    quantities, right = fit.quantities, str(formula).partition("~")[2].strip()
    function, target = _left(formula)
    kind = _QUANTITIES.get(target, target)
    if kind not in quantities.kinds:
        needed = f"fit {kind}='judge'" if kind in KINDS else "fit HJAModel with rank 1 or more"
        raise ContrastError(f"the model has no {kind} effect per judge: {needed}.")
    frame, left_out = _aligned(metadata, target, quantities, missing)
    design, slices, is_complete = _design(right, frame, missing, environment)
    left_out += ["/".join(labels) for labels, is_one in zip(frame.index, is_complete, strict=True) if not is_one]
    labels = [label for label, is_one in zip(frame.index, is_complete, strict=True) if is_one]
    directions = range(fit.layout.rank) if target in ("U", "V") else (None,)
    theta, jacobian = _parameters(kind, labels, directions, function, quantities)
    n_directions = len(directions)
    weights = np.kron(np.eye(n_directions), np.linalg.pinv(design.to_numpy()))
    gradient = weights @ jacobian
    if fit.is_open(gradient).any():
        raise IdentificationError(
            f"some of the parameters in {formula!r} have no finite estimate: use ",
            Hint("fit_regularized", is_call=True),
            ", or a fit without the judges or items concerned.",
        )
    columns = [str(name) for name in design.columns]
    names = columns if n_directions == 1 else [f"{name}[{d + 1}]" for d in range(n_directions) for name in columns]
    found = FormulaContrast(
        names=names,
        estimate=weights @ theta,
        null=np.zeros(len(names)),
        gradient=gradient,
        cov=fit.covariance.of(gradient),
        note=NOTE if not left_out else f"Left out, without metadata: {quoted(left_out, 9)}.\n{NOTE}",
        size=np.abs(weights) @ np.abs(jacobian).max(axis=1),
        formula=str(formula).strip(),
    )
    return _with_term_tests(fit, found, design, slices, n_directions)


def _left(formula: str) -> tuple[str | None, str]:
    """The function on the left side of a formula, if there is one, and what it is of."""
    left, separator, _ = str(formula).partition("~")
    match = _LEFT.fullmatch(left)
    function, inner, plain = match.groups() if match else (None, None, None)
    target = inner or plain
    if not separator or target not in _ROLES:
        raise ContrastError(
            f"expected a formula such as 'gamma ~ provider' or 'log(gamma) ~ provider' with one of {quoted(_ROLES, 12)} on the "
            f"left, got {formula!r}."
        )
    return function, target


def _parameters(
    kind: str,
    labels: list[tuple[str, ...]],
    directions: Iterable[int | None],
    function: str | None,
    quantities: Quantities,
) -> tuple[np.ndarray, np.ndarray]:
    """Values on the left side, direction by direction, with their gradients, shape (n, n_free)."""
    of = [
        quantities.resolve(kind, (*label, *(() if d is None else (str(d + 1),))))
        for d in directions
        for label in labels
    ]
    theta = np.array([quantities.value(kind, place) for place in of])
    jacobian = np.array([quantities.gradient(kind, place) for place in of])
    if function is None:
        return theta, jacobian
    value, slope, _ = FUNCTIONS[function]
    carried, bad = np.full(len(of), np.nan), []
    for i, (place, x) in enumerate(zip(of, theta.tolist(), strict=True)):
        try:
            carried[i], jacobian[i] = value(x), slope(x) * jacobian[i]
        except (ValueError, ZeroDivisionError, OverflowError):
            bad.append(quantities.label(kind, place))
    if bad:
        raise ContrastError(f"{function} is not defined at the estimate of {quoted(bad, 4)}.")
    return carried, jacobian


def stored_metadata(formula: str, data: Comparisons) -> pd.DataFrame:
    """The metadata of the data that the left side of a formula needs.

    Raises
    ------
    ContrastError
        When the data have none.
    """
    roles = _ROLES[_left(formula)[1]]
    known = {"judge": data.judge_metadata, "item": data.item_metadata}
    absent = [f"{role}s" for role in roles if known[role] is None]
    if absent:
        raise ContrastError(
            f"the data have no metadata of {' and '.join(absent)}: pass it, or fit to data.with_metadata({absent[0]}=frame)."
        )
    frames = [frame for role in roles if (frame := known[role]) is not None]
    return frames[0] if len(frames) == 1 else pair_metadata(*frames)


def _aligned(metadata: Any, target: str, quantities: Quantities, missing: str) -> tuple[pd.DataFrame, list[str]]:
    """Metadata with one row per parameter, indexed by tuples of labels, and who has none."""
    roles = _ROLES[target]
    if not isinstance(metadata, pd.DataFrame):
        raise ContrastError(f"metadata must be a pandas.DataFrame, got {type(metadata).__name__}.")
    frame = metadata.copy()
    not_found = [role for role in roles if role not in frame.columns and role not in frame.index.names]
    if not_found == list(roles) and len(roles) == 1:
        frame.index = pd.Index([str(label) for label in frame.index], name=roles[0])
        not_found = []
    if not_found:
        raise ContrastError(
            f"metadata for {target} needs {' and '.join(roles)} as index or columns, {quoted(not_found)} not found."
        )
    frame = frame.reset_index() if any(role in frame.index.names for role in roles) else frame
    labels: list[tuple[str, ...]] = list(zip(*(frame[role].astype(str) for role in roles), strict=True))
    # Judges that never tie have no tie propensity to explain.
    known = {"judge": quantities.layout.judges_with(target), "item": quantities.layout.items}
    wanted: list[tuple[str, ...]] = (
        [(a,) for a in known[roles[0]]] if len(roles) == 1 else [(a, b) for a in known["judge"] for b in known["item"]]
    )
    repeated = sorted({label for label in labels if labels.count(label) > 1}) if len(set(labels)) < len(labels) else []
    if repeated:
        raise ContrastError(f"metadata has several rows for {quoted(['/'.join(label) for label in repeated])}.")
    position = {label: row for row, label in enumerate(labels)}
    absent = ["/".join(label) for label in wanted if label not in position]
    if absent and (missing == "raise" or len(absent) == len(wanted)):
        raise ContrastError(
            f"metadata has no row for {quoted(absent)}: {target} needs one per {' and '.join(roles)}, or ",
            Hint("missing", "drop"),
            ".",
        )
    wanted = [label for label in wanted if label in position]
    frame = frame.iloc[[position[label] for label in wanted]]
    frame.index = pd.Index(wanted, tupleize_cols=False)
    return frame, absent


def _design(
    right: str, frame: pd.DataFrame, missing: str, environment: EvalEnvironment | None
) -> tuple[pd.DataFrame, dict[str, slice], np.ndarray]:
    """Design with a row per complete row of the metadata, where its terms stand, and which rows are complete."""
    data = frame.reset_index(drop=True)
    # Metadata before the caller's names before these.
    functions = (environment or EvalEnvironment([])).with_outer_namespace({"np": np})
    try:
        design = dmatrix(
            right or "1",
            data,
            functions,
            return_type="dataframe",
            NA_action=NAAction(on_NA=missing, NA_types=["None", "NaN"]),
        )
    except (PatsyError, ValueError, TypeError, KeyError, AttributeError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        if "missing values" in reason:
            raise ContrastError(
                f"cannot build the design of {right!r}: {reason}. Fill them in, for example with metadata.fillna('none'), or "
                "leave those rows out: ",
                Hint("missing", "drop"),
                ".",
            ) from None
        raise ContrastError(f"cannot build the design of {right!r}: {reason}.") from None
    is_complete: np.ndarray = np.isin(np.arange(len(data)), design.index)
    if (missing == "raise" and not is_complete.all()) or len(design) != is_complete.sum():
        raise ContrastError(f"the design of {right!r} has {len(design)} rows for {len(frame)} parameters.")
    if np.linalg.matrix_rank(design) < design.shape[1]:
        raise ContrastError(f"the terms of {right!r} are linearly dependent in the metadata: leave some out.")
    return design, dict(design.design_info.term_name_slices), is_complete


def _with_term_tests(
    fit: Fit, found: FormulaContrast, design: pd.DataFrame, slices: dict[str, slice], n_directions: int
) -> FormulaContrast:
    """The same with a joint Wald test of each term: that it changes nothing, wherever there is an intercept."""
    rows, note = {}, found.note
    for term, where in slices.items():
        if term == "Intercept":
            continue
        block = design.to_numpy()[:, where]
        # The differences a term makes; what they leave of columns that add up to a constant is one restriction less.
        _, strength, directions = np.linalg.svd(block - block.mean(axis=0), full_matrices=False)
        n_tested = int((strength > 1e-9 * max(float(np.linalg.norm(block)), 1e-300)).sum())
        is_whole = n_tested == block.shape[1] or "Intercept" in slices
        if not is_whole and EQUALITY not in note:
            note = f"{EQUALITY}\n{note}"
        tested = np.eye(block.shape[1]) if is_whole else directions[:n_tested]
        at = (np.arange(n_directions)[:, None] * design.shape[1] + np.arange(design.shape[1])[where]).ravel()
        rows[term] = _joint_test(fit, found, np.kron(np.eye(n_directions), tested), at)
    terms = pd.DataFrame.from_dict(rows, orient="index", columns=["chi2", "df", "p_value"])
    return replace(found, terms=terms, note=note)


def _joint_test(fit: Fit, found: FormulaContrast, combined: np.ndarray, at: np.ndarray) -> dict[str, float]:
    """Wald test that combinations of some coefficients are zero; not a number where nothing can be tested."""
    size = np.abs(combined) @ np.broadcast_to(found.size, len(found))[at]
    names = [found.names[i] for i in at][: len(combined)]
    try:
        test = joint_test(fit, combined @ found.gradient[at], combined @ found.estimate[at], names, size)
    except ContrastError:
        return {"chi2": np.nan, "df": 0, "p_value": np.nan}
    chi2, df = float(test.statistic), int(test.df_denom)
    return {"chi2": chi2, "df": df, "p_value": float(stats.chi2.sf(chi2, df))}
