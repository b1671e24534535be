"""Estimates with their errors as labelled tables; empty where they are withheld."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import ndtri

from ..errors import ContrastError, SizeError
from ..fitted import Fit
from ..solve.precision import score_standard_errors
from .contrast_results import two_sided
from .contrasts import contrast

# Built once: a frame of one block under given columns takes a sixth of the time of one made from a dictionary.
_COLUMNS = pd.Index(["estimate", "std_err", "ci_lower", "ci_upper"])
_TESTED = ["estimate", "std_err", "z", "p_value", "ci_lower", "ci_upper"]


def estimates(fit: Fit, kind: str, labels: Sequence[str] | None = None) -> pd.DataFrame:
    """Estimates with standard errors and 95% intervals of one kind of parameter, for all judges or items or for some.

    Raises
    ------
    ContrastError
        For a kind or labels that are not there.
    """
    (known, name), some = fit.labels(kind), fit.positions(kind, labels)
    estimate, error = fit.estimates(kind, some)
    half = ndtri(0.975) * error
    values = np.column_stack([estimate, error, estimate - half, estimate + half])
    return pd.DataFrame(values, index=pd.Index([known[i] for i in some], name=name), columns=_COLUMNS.copy())


def consensus(fit: Fit) -> pd.DataFrame:
    """Consensus scores, best item first: one that runs ahead of all others is, though it has no score."""
    return estimates(fit, "mu").iloc[fit.best_first[0]]


def sensitivity(fit: Fit) -> pd.DataFrame:
    """Sensitivities with the test of gamma = 1; empty where there is no consensus to be sensitive to."""
    table = estimates(fit, "gamma")
    if not fit.has_consensus:
        table[:] = np.nan
    return _tested(table, 1.0)


def effects(fit: Fit, term: str) -> pd.DataFrame:
    """Coefficients of a term with the test of no effect; no rows without the term."""
    if fit.layout.terms.named(term) is None:
        return pd.DataFrame(columns=_TESTED)
    table = estimates(fit, term)
    return _tested(table, 0.0)


def _tested(table: pd.DataFrame, null: float) -> pd.DataFrame:
    """A table with z and p-values of a null value; none of what is fixed, as gamma of a single judge or by constraints."""
    z = (table["estimate"] - null) / table["std_err"].where(table["std_err"] > 1e-10)
    table.insert(2, "z", z)
    table.insert(3, "p_value", two_sided(z.to_numpy()))
    return table


def scores(fit: Fit) -> pd.DataFrame:
    """Judge-specific scores S, judges by items; empty where they run to infinity, and centred over the others."""
    finite = _matrix(fit, np.where(fit.is_infinite, np.nan, fit.at.scores))
    return finite.sub(finite.mean(axis=1), axis=0)


def score_errors(fit: Fit) -> pd.DataFrame:
    """Standard errors of the scores; empty for judges with a score that runs to infinity.

    Raises
    ------
    SizeError
        Where they would take hours.
    """
    if not fit.covariance.can_solve(fit.at.scores.size):
        raise SizeError(
            f"standard errors of {fit.at.scores.size:,} scores would take hours: ask for contrast('S[judge, item]') "
            "of those that matter."
        )
    errors = score_standard_errors(fit.tangent, fit.covariance, fit.layout.n_linear)
    return _matrix(fit, np.where(fit.is_infinite.any(axis=1, keepdims=True), np.nan, errors))


def disagreement(fit: Fit) -> pd.DataFrame:
    """Residual disagreement ``U V'``, judges by items: what the consensus does not explain."""
    residual = fit.residual
    is_empty = fit.is_infinite | fit.is_withheld("U")
    return _matrix(fit, np.where(is_empty, np.nan, residual))


def leverage(fit: Fit) -> pd.DataFrame:
    """Size of each judge's disagreement, h = norm of its row of U V', and relative to its consensus part, rho."""
    judges, quantities = range(len(fit.layout.judges)), fit.quantities
    size, relative = (np.array([quantities.value(kind, (k,)) for k in judges]) for kind in ("h", "rho"))
    if fit.is_withheld("U"):
        size = np.full_like(size, np.nan)
    if fit.is_withheld("gamma") or fit.is_withheld("U"):
        relative = np.full_like(size, np.nan)
    return pd.DataFrame({"h": size, "rho": relative}, index=pd.Index(fit.layout.judges, name="judge"))


def relative_loadings(fit: Fit, alpha: float = 0.05) -> pd.DataFrame:
    """Loadings relative to sensitivities, W = U / gamma; empty where the sensitivity cannot be told from zero.

    Raises
    ------
    ContrastError
        Without disagreement directions.
    """
    layout = fit.layout
    if not layout.rank:
        raise ContrastError("relative loadings need disagreement directions: fit HJAModel with rank 1 or more.")
    index = pd.MultiIndex.from_product([range(1, layout.rank + 1), layout.judges], names=["direction", "judge"])
    in_quotes = {judge: '"' + judge.replace('"', '""') + '"' for judge in layout.judges}
    ratios = [f"U[{in_quotes[judge]}, {d}] / gamma[{in_quotes[judge]}]" for d, judge in index]
    table = contrast(fit, ratios).summary_frame(alpha).set_axis(index.swaplevel())
    unclear = ~(np.abs(contrast(fit, [f"gamma[{name}]" for name in in_quotes.values()]).z) >= 1.96)
    table.loc[np.tile(unclear, layout.rank)] = np.nan
    return table


def _matrix(fit: Fit, values: np.ndarray) -> pd.DataFrame:
    judges, items = pd.Index(fit.layout.judges, name="judge"), pd.Index(fit.layout.items, name="item")
    return pd.DataFrame(values, index=judges, columns=items)
