"""The printed summary: header, one table per kind of parameter, and the findings in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats
from statsmodels.iolib.summary import summary_top
from statsmodels.iolib.table import SimpleTable
from statsmodels.iolib.tableformatting import fmt_params

from .. import words
from ..diagnostics.findings import Findings
from ..fitted import Fit
from ..inference.apart import are_apart
from ..inference.estimates import estimates, leverage
from ..inference.population import population_table
from ..looks import Summary
from ..mixed import MixedFit
from ..population import PopulationFit

# Characters of a column, and of one in a table that would not fit a terminal otherwise.
WIDE, NARROW = 11, 9
NARROW_LOOK = fmt_params | {"data_fmts": ["%s"], "colwidths": NARROW - 1}


@dataclass(frozen=True)
class Heading:
    """What a summary says about a fit that the fit itself does not know.

    Attributes
    ----------
    outcome : str
        Name of the verdicts.
    model : str
        Name of the class.
    title : str or None
    """

    outcome: str
    model: str
    title: str | None = None


def summarise(fit: Fit, findings: Findings, heading: Heading, *, alpha: float = 0.05, max_rows: int = 60) -> Summary:
    """Header, one table for every block of ``BLOCKS``, and the findings in words."""
    title = heading.title or f"{fit.layout.structure.title} results"
    # No results object is needed: everything is given.
    header = summary_top(None, title, _left(fit, heading), _right(fit), yname=heading.outcome, xname=[])
    blocks = [table for block in BLOCKS for table in block(fit, alpha, max_rows)]
    return Summary([header, *blocks], _notes(fit, findings))


def _left(fit: Fit, heading: Heading) -> list[tuple[str, list[str] | None]]:
    return [
        ("Dep. Variable:", None),
        ("Model:", [heading.model]),
        ("Method:", [_method(fit)]),
        ("Date:", None),
        ("Time:", None),
        ("No. Comparisons:", [f"{fit.n_comparisons:,.10g}"]),
        ("Df Residuals:", [f"{fit.n_comparisons - fit.df:,.1f}".removesuffix(".0")]),
        ("Df Model:", [f"{fit.df:.1f}".removesuffix(".0")]),
        ("Position:", [fit.layout.terms.scope("position") or "none"]),
    ]


def _method(fit: Fit) -> str:
    if fit.penalty is not None:
        return fit.penalty.title
    if isinstance(fit, PopulationFit):
        return "Marginal likelihood"
    return "Maximum likelihood" if fit.restriction is None else "Constrained ML"


def _right(fit: Fit) -> list[tuple[str, list[str]]]:
    layout, loglike = fit.layout, fit.loglike
    return [
        ("No. Judges:", [f"{len(layout.judges)}"]),
        ("No. Items:", [f"{len(layout.items)}"]),
        ("Rank:", [f"{layout.rank}" if layout.structure.has_sensitivities or isinstance(fit, PopulationFit) else "-"]),
        ("Log-Likelihood:", [f"{loglike:.5g}" if abs(loglike) < 1000 else f"{loglike:.1f}"]),
        ("LL-Null (offset):" if fit.design.has_offset else "LL-Null (coin flips):", [f"{fit.null_loglike:.1f}"]),
        ("AIC:", [f"{fit.aic:.1f}"]),
        ("BIC:", [f"{fit.bic:.1f}"]),
        ("Converged:", [str(fit.converged)]),
        ("Covariance Type:", [fit.choice.kind]),
    ]


def _terms(fit: Fit, alpha: float, max_rows: int) -> list[SimpleTable]:
    """One table for every declared term and for covariates of judges, and one for all others.

    What judges who are a sample have for themselves is part of the population.
    """
    shared, terms = fit.layout.terms.covariates("common"), fit.layout.terms
    tables = [_together(fit, shared, "covariates", alpha, max_rows)] if shared else []
    rest = [term for term in (terms.shared if isinstance(fit, PopulationFit) else terms) if term.name not in shared]
    titles, under = [term.title for term in rest], dict[str, list[str]]()
    for term in rest:
        # Several of one title, such as thresholds, are one table if they are one for all judges.
        is_one_of_many = term.scope == "judge" and titles.count(term.title) > 1
        under.setdefault(f"{term.name}: {term.title}" if is_one_of_many else term.title, []).append(term.name)
    for title, names in under.items():
        is_one = len(names) == 1
        tables.append(
            _parameters(fit, names[0], title, 0.0, alpha, max_rows)
            if is_one
            else _together(fit, names, title, alpha, max_rows)
        )
    return tables


def _together(fit: Fit, names: list[str], title: str, alpha: float, max_rows: int) -> SimpleTable:
    """Coefficients that are one for all judges, in one table."""
    shown = [names[i] for i in shown_rows(len(names), max_rows)]
    each = [estimates(fit, name)[["estimate", "std_err"]].to_numpy() for name in shown]
    values = np.vstack([np.empty((0, 2)), *each])
    return _table(names, _rows(values[:, 0], values[:, 1], alpha, 0.0), _tested(alpha), title, max_rows)


def _tested(alpha: float) -> list[str]:
    """Columns of tables with a test."""
    return ["coef", "std err", "z", "P>|z|", f"[{alpha / 2:g}", f"{1 - alpha / 2:g}]"]


def _population(fit: Fit, alpha: float, max_rows: int) -> list[SimpleTable]:
    if not isinstance(fit, PopulationFit):
        return []
    table = population_table(fit, alpha)
    rows = [[words.number(value) for value in row] for row in table.to_numpy()]
    header = ["coef", "std err", f"[{alpha / 2:g}", f"{1 - alpha / 2:g}]"]
    name = "population of judges (intervals of sd on the log scale, of corr on Fisher's)"
    return [_table(list(table.index), rows, header, name, max_rows)]


def _traits(fit: Fit, alpha: float, max_rows: int) -> list[SimpleTable]:
    """Coefficients of traits of items and of judges, and the spread of random effects."""
    tables = []
    titles = {"beta": "traits of items (scores are linear in them)", "B": "traits of judges (what they add to scores)"}
    for kind in fit.layout.structure.own_kinds:
        if kind not in fit.layout.slices:
            continue
        where = fit.layout.slices[kind]
        labels = [name[len(kind) + 1 : -1] for name in fit.layout.blocks[kind]]
        shown = where.start + shown_rows(len(labels), max_rows)
        rows = _rows(fit.shown[shown], fit.errors(shown), alpha, 0.0)
        tables.append(_table(labels, rows, _tested(alpha), titles[kind], max_rows))
    if isinstance(fit, MixedFit):
        table = fit.spread(alpha)
        rows = [[words.number(value) for value in row] for row in table.to_numpy()]
        header = ["coef", "std err", f"[{alpha / 2:g}", f"{1 - alpha / 2:g}]"]
        tables.append(_table(list(table.index), rows, header, "random effects (intervals on the log scale)", max_rows))
    return tables


def _sensitivities(fit: Fit, alpha: float, max_rows: int) -> list[SimpleTable]:
    if not fit.layout.structure.has_sensitivities:
        return []
    return [_parameters(fit, "gamma", "sensitivity gamma (z and p test gamma = 1)", 1.0, alpha, max_rows)]


def _parameters(fit: Fit, kind: str, name: str, null: float, alpha: float, max_rows: int) -> SimpleTable:
    is_shared = kind in fit.layout.terms.shared_names
    labels = fit.layout.blocks[kind] if is_shared else list(fit.layout.judges_with(kind))
    shown = None if len(labels) <= max_rows else [labels[i] for i in shown_rows(len(labels), max_rows)]
    table = estimates(fit, kind, shown)
    if kind == "gamma" and not fit.has_consensus:
        table[:] = np.nan
    rows = _rows(table["estimate"].to_numpy(), table["std_err"].to_numpy(), alpha, null)
    return _table(list(labels), rows, _tested(alpha), name, max_rows)


def _consensus(fit: Fit, alpha: float, max_rows: int) -> list[SimpleTable]:
    order, scores = fit.best_first
    if not are_apart(fit.layout):
        return [_ranked(fit, order, scores, alpha, max_rows, "consensus mu")]
    groups = fit.layout.structure.groups
    own = [np.isin(order, members) for members in groups]
    names = [f"consensus mu, group {number} of {len(groups)}" for number in range(1, len(groups) + 1)]
    return [
        _ranked(fit, order[some], scores[some], alpha, max_rows, name) for some, name in zip(own, names, strict=True)
    ]


def _ranked(fit: Fit, order: np.ndarray, scores: np.ndarray, alpha: float, max_rows: int, name: str) -> SimpleTable:
    """A table of items that have one scale, best first."""
    labels, shown = [fit.layout.items[i] for i in order], shown_rows(len(order), max_rows)
    table = estimates(fit, "mu", [labels[i] for i in shown])
    half = stats.norm.ppf(1 - alpha / 2) * table["std_err"]
    V = fit.directions("V")[order[shown]]
    places = _places(fit, order, scores)
    rows = [
        [places[i], *map(words.number, (estimate, error, estimate - h, estimate + h, *coordinates))]
        for i, estimate, error, h, coordinates in zip(shown, table["estimate"], table["std_err"], half, V, strict=True)
    ]
    header = ["place", "coef", "std err", f"[{alpha / 2:g}", f"{1 - alpha / 2:g}]"]
    header += [f"V{d + 1}" for d in range(V.shape[1])]
    which = " over finite scores" if np.isnan(scores).any() else ""
    name += f" (sums to zero{which})" + (" and disagreement coordinates V" if fit.layout.rank else "")
    return _table(labels, rows, header, name, max_rows)


def _places(fit: Fit, order: np.ndarray, scores: np.ndarray) -> list[str]:
    """Places of the items, best first: several that run ahead or behind share theirs, others without a score have none."""
    standing = fit.standing[order]
    known = np.flatnonzero(np.isfinite(scores) | (standing != 0))
    place = dict(zip(known.tolist(), range(1, len(known) + 1), strict=True))
    # Those behind all others are counted from the end, past items whose place is not known.
    place |= {i: i + 1 for i in np.flatnonzero(standing < 0).tolist()}
    result = []
    for i, where in enumerate(standing):
        shared = (
            [place[j] for j in np.flatnonzero(standing == where).tolist()]
            if where and i in place
            else [place.get(i, 0)]
        )
        result.append("-" if not shared[0] else "-".join(map(str, sorted({shared[0], shared[-1]}))))
    return result


def _disagreement(fit: Fit, alpha: float, max_rows: int) -> list[SimpleTable]:
    structure = fit.layout.structure
    if isinstance(fit, PopulationFit) or (structure.own_kinds and not structure.has_sensitivities):
        # Judges differ by their traits alone, which have a table.
        return []
    if not structure.rank and (structure.has_sensitivities or not structure.judges_differ):
        return []
    table = leverage(fit)
    loadings = fit.directions("U")
    rows = [[words.number(value) for value in (*table.iloc[k], *loadings[k])] for k in shown_rows(len(table), max_rows)]
    header = ["h", "rho", *(f"U{d + 1}" for d in range(structure.rank))]
    name = "disagreement (h its size, rho relative to the judge's consensus part)"
    return [_table(list(table.index), rows, header, name, max_rows)]


# What stands between header and notes, in this order.
BLOCKS: list[Callable[[Fit, float, int], list[SimpleTable]]] = [
    _terms,
    _population,
    _traits,
    _sensitivities,
    _consensus,
    _disagreement,
]


def _rows(estimate: np.ndarray, error: np.ndarray, alpha: float, null: float) -> list[list[str]]:
    # What is fixed is not tested.
    z = (estimate - null) / np.where(error > 1e-10, error, np.nan)
    p_value = 2.0 * stats.norm.sf(np.abs(z))
    half = stats.norm.ppf(1 - alpha / 2) * error
    return [
        [*map(words.number, (b, se)), words.number(ratio, ".3f"), words.p_value(p), *map(words.number, (b - h, b + h))]
        for b, se, ratio, p, h in zip(estimate, error, z, p_value, half, strict=True)
    ]


def shown_rows(n: int, max_rows: int) -> np.ndarray:
    """Positions of the rows of a table that are shown: its first and last, if they are many."""
    return np.arange(n) if n <= max_rows else np.r_[: (max_rows + 1) // 2, n - max_rows // 2 : n]


def _table(labels: list[str], rows: list[list[str]], header: list[str], name: str, max_rows: int) -> SimpleTable:
    """A table under all its labels, of which only some rows are shown."""
    labels, hidden, look = words.shortened_apart(labels), len(labels) - len(rows), fmt_params
    # Of every six columns the ends of intervals are wider by one.
    if max(map(len, labels)) + WIDE * len(header) + sum(i % 6 > 3 for i in range(len(header))) > words.LINE_WIDTH:
        labels, look = words.shortened_apart(labels, max(words.LINE_WIDTH - NARROW * len(header), 12)), NARROW_LOOK
    if hidden:
        labels, first = [labels[i] for i in shown_rows(len(labels), max_rows)], (max_rows + 1) // 2
        labels.insert(first, f"({hidden:,} more)")
        rows = [*rows[:first], ["..."] * len(header), *rows[first:]]
    return SimpleTable(rows, header, labels, title=name, txt_fmt=look)


def _notes(fit: Fit, findings: Findings) -> dict[str, list[str]]:
    held = [] if fit.restriction is None else [f"Fitted under the constraints {', '.join(fit.restriction.labels)}."]
    heading = "Warnings:" if findings.warnings else "Warnings: none."
    return {heading: findings.warnings, "Notes:": [*findings.notes, *held, fit.choice.description, _constraints(fit)]}


def _constraints(fit: Fit) -> str:
    if isinstance(fit, PopulationFit):
        text = "Identified by sum(mu) = 0 and a mean sensitivity of one"
        return text + ("; V is orthogonal to mu, its columns have length sqrt(n_items)." if fit.layout.rank else ".")
    if not fit.layout.structure.has_sensitivities:
        return f"Identified by scores that sum to zero over {fit.layout.structure.zero_over}."
    text = "Identified by sum(mu) = 0 and mean(gamma) = 1"
    if fit.layout.rank:
        text += "; U sums to zero over judges, V over items, V is orthogonal to mu"
    return text + " (Condition cond:norm)."
