"""The printed summary: header, one table per kind of parameter, and the findings in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats
from statsmodels.iolib.summary import Summary
from statsmodels.iolib.table import SimpleTable
from statsmodels.iolib.tableformatting import fmt_params

from . import words


def summarise(
    results: Any, *, yname: str | None = None, title: str | None = None, alpha: float = 0.05, max_rows: int = 60
) -> Summary:
    """Assemble the summary of a fit."""
    summary = Summary()
    summary.add_table_2cols(
        results, gleft=_left(results), gright=_right(results), yname=yname, title=title or _title(results)
    )
    layout = results.model.layout
    tested = [name for name in layout.blocks if name not in ("gamma", "mu", "U", "V", "S")]
    for kind in tested:
        name = "position (log-odds bonus of the item shown first)" if kind == "position" else kind
        summary.tables.append(_parameters(results, kind, name, 0.0, alpha, max_rows))
    if "gamma" in layout.slices:
        name = "sensitivity gamma (z and p test gamma = 1)"
        summary.tables.append(_parameters(results, "gamma", name, 1.0, alpha, max_rows))
    summary.tables.append(_consensus(results, alpha, max_rows))
    if results.rank or "S" in layout.slices:
        summary.tables.append(_disagreement(results, max_rows))
    summary.add_extra_txt(_notes(results))
    return summary


def _title(results: Any) -> str:
    names = {
        "HJAModel": "Heterogeneous judge-aware ranking",
        "JAModel": "Judge-aware ranking",
        "BTLModel": "Bradley-Terry-Luce ranking",
        "JudgewiseBTLModel": "Judge-wise Bradley-Terry-Luce ranking",
    }
    name = type(results.model).__name__
    return names.get(name, name) + " results"


def _left(results: Any) -> list[tuple[str, list[str] | None]]:
    return [
        ("Dep. Variable:", None),
        ("Model:", None),
        ("Method:", [_method(results)]),
        ("Date:", None),
        ("Time:", None),
        ("No. Comparisons:", [f"{results.nobs:,.10g}"]),
        ("Df Residuals:", [f"{results.df_resid:,.1f}".removesuffix(".0")]),
        ("Df Model:", [f"{results.df_model:.1f}".removesuffix(".0")]),
        ("Position:", [str(results.model.position or "none")]),
    ]


def _method(results: Any) -> str:
    penalty = results.estimate.penalty
    return {"ridge": "Ridge", "firth": "Bias reduction"}[penalty.kind] if penalty else "Maximum likelihood"


def _right(results: Any) -> list[tuple[str, list[str]]]:
    return [
        ("No. Judges:", [f"{results.n_judges}"]),
        ("No. Items:", [f"{results.n_items}"]),
        ("Rank:", [f"{results.rank}" if "gamma" in results.model.layout.slices else "-"]),
        ("Log-Likelihood:", [f"{results.llf:.5g}" if abs(results.llf) < 1000 else f"{results.llf:.1f}"]),
        ("LL-Null (coin flips):", [f"{results.llnull:.1f}"]),
        ("AIC:", [f"{results.aic:.1f}"]),
        ("BIC:", [f"{results.bic:.1f}"]),
        ("Converged:", [str(results.converged)]),
        ("Covariance Type:", [results.cov_type]),
    ]


def _parameters(results: Any, kind: str, name: str, null: float, alpha: float, max_rows: int) -> SimpleTable:
    labels = _labels(results, kind)
    shown = None if len(labels) <= max_rows else [labels[i] for i in shown_rows(len(labels), max_rows)]
    table = results.estimates(kind, shown)
    if kind == "gamma" and not results.has_consensus:
        table[:] = np.nan
    rows = _rows(table["estimate"].to_numpy(), table["std_err"].to_numpy(), alpha, null)
    header = ["coef", "std err", "z", "P>|z|", f"[{alpha / 2:g}", f"{1 - alpha / 2:g}]"]
    return _table(list(labels), rows, header, name, max_rows)


def _labels(results: Any, kind: str) -> list[str]:
    layout = results.model.layout
    return layout.blocks[kind] if kind in layout.shared_terms else list(layout.judges_with(kind))


def _consensus(results: Any, alpha: float, max_rows: int) -> SimpleTable:
    scores = results._best_first
    labels, shown = list(scores.index), shown_rows(len(scores), max_rows)
    table = results.estimates("mu", [labels[i] for i in shown])
    half = stats.norm.ppf(1 - alpha / 2) * table["std_err"]
    V = np.where(results.is_ambiguous | results.is_withheld("V"), np.nan, results.decomposition.V)
    V = V[[results.model.items.index(label) for label in table.index]]
    rows = [
        [
            "-" if np.isnan(estimate) else str(place + 1),
            *map(words.number, (estimate, error, estimate - h, estimate + h, *coordinates)),
        ]
        for place, estimate, error, h, coordinates in zip(
            shown, table["estimate"], table["std_err"], half, V, strict=True
        )
    ]
    header = ["place", "coef", "std err", f"[{alpha / 2:g}", f"{1 - alpha / 2:g}]"]
    header += [f"V{d + 1}" for d in range(V.shape[1])]
    which = "over finite scores" if scores.isna().any() else ""
    name = f"consensus mu ({' '.join(['sums to zero', which]).strip()})" + (
        " and disagreement coordinates V" if results.rank else ""
    )
    return _table(labels, rows, header, name, max_rows)


def _disagreement(results: Any, max_rows: int) -> SimpleTable:
    table = results.leverage()
    n_directions = results.rank
    loadings = np.where(results.is_ambiguous | results.is_withheld("U"), np.nan, results.decomposition.U)
    rows = [[words.number(value) for value in (*table.iloc[k], *loadings[k])] for k in shown_rows(len(table), max_rows)]
    header = ["h", "rho", *(f"U{d + 1}" for d in range(n_directions))]
    name = "disagreement (h its size, rho relative to the judge's consensus part)"
    return _table(list(table.index), rows, header, name, max_rows)


def _rows(estimate: np.ndarray, error: np.ndarray, alpha: float, null: float) -> list[list[str]]:
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (estimate - null) / error
    p_value = 2.0 * stats.norm.sf(np.abs(z))
    half = stats.norm.ppf(1 - alpha / 2) * error
    columns = [
        [words.number(value) for value in estimate],
        [words.number(value) for value in error],
        ["-" if np.isnan(value) else f"{value:.3f}" for value in z],
        [words.p_value(value) for value in p_value],
        [words.number(value) for value in estimate - half],
        [words.number(value) for value in estimate + half],
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def shown_rows(n: int, max_rows: int) -> np.ndarray:
    """Positions of the rows of a table that are shown: its first and last, if they are many."""
    return np.arange(n) if n <= max_rows else np.r_[: (max_rows + 1) // 2, n - max_rows // 2 : n]


def _table(labels: list[str], rows: list[list[str]], header: list[str], name: str, max_rows: int) -> SimpleTable:
    """A table under all its labels, of which only some rows are shown."""
    labels, hidden = words.shortened_apart(labels), len(labels) - len(rows)
    if hidden:
        labels, first = [labels[i] for i in shown_rows(len(labels), max_rows)], (max_rows + 1) // 2
        labels.insert(first, f"({hidden:,} more)")
        rows = [*rows[:first], ["..."] * len(header), *rows[first:]]
    return SimpleTable(rows, header, labels, title=name, txt_fmt=fmt_params)


def _notes(results: Any) -> list[str]:
    warnings = [finding.text for finding in results.findings if finding.is_warning]
    fine = [finding.text for finding in results.findings if not finding.is_warning]
    lines = ["Warnings:"] if warnings else ["Warnings: none."]
    for number, text in enumerate(warnings, start=1):
        lines += words.wrapped(text, first=f"[{number}] ")
    lines.append("Notes:")
    for text in [*fine, results.cov_kwds["description"], _constraints(results)]:
        lines += words.wrapped(text, first="  - ")
    return lines


def _constraints(results: Any) -> str:
    if "gamma" not in results.model.layout.slices:
        return "Identified by scores that sum to zero over items."
    text = "Identified by sum(mu) = 0 and mean(gamma) = 1"
    if results.rank:
        text += "; U sums to zero over judges, V over items, V is orthogonal to mu"
    return text + " (Condition cond:norm)."
