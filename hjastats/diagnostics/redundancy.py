"""Which judges repeat each other, and what the consensus then rests on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy import sparse, special
from scipy.sparse.csgraph import connected_components

from .. import limits
from ..data.cells import distinct_rows
from ..data.comparisons import Comparisons
from ..data.labels import grouped
from ..data.swaps import prompt_column
from ..fitted import Fit, Observations
from ..inference.clusters import Clusters, read_clusters
from ..looks import Piece, Shown, Table, Title
from ..model.likelihood import evaluate
from ..words import p_value, percent, quoted, shortened, told_p
from .adjusted import holm
from .effective import EffectiveJudges, effective_judges, herfindahl
from .order import has_order

# A near-copy shares more than half of what the model leaves open: a correlation that large, and told from COMMON.
NEAR_COPY, COMMON = 0.75, 0.5
# Levels of the tests of near-copies (Holm-adjusted) and of the whole panel.
_COPIES, _PANEL = 0.05, 0.01


@dataclass(frozen=True, repr=False, eq=False)
class Redundancy(Shown):
    """How far judges say the same, beyond what the model expects of independent ones.

    Attributes
    ----------
    judges : tuple of str
    unit : str
        What two judges share: prompt-pairs (the same prompt and the same two items), or pairs of items where there is no prompt.
    shared : ndarray, shape (n_judges, n_judges)
        Number of units both judged.
    agreement, expected : ndarray, shape (n_judges, n_judges)
        Share of decided verdicts on the same unit that agree, and what independent judges of the fitted probabilities would show.
    correlation : ndarray, shape (n_judges, n_judges)
        Of the residuals of the verdicts on shared units.
    z : ndarray, shape (n_judges, n_judges)
        The same in standard errors, if the judges were independent.
    p_copy : ndarray, shape (n_judges, n_judges)
        Holm-adjusted p-values that the correlation is at most one half.
    panel_correlation, panel_p : float
        Over all pairs of judges together that are no near-copies.
    effective : EffectiveJudges
        What the consensus rests on, redundancy counted.
    is_clustered : bool
        Whether the errors of the fit are clustered by prompt, or by something that holds whole prompts.
    note : str
        Why nothing can be said; empty if something can.
    counted : ndarray, shape (n_judges, n_judges), or None
        Correlations of all that judges said about the consensus, as far as they are told from none.
    """

    judges: tuple[str, ...]
    unit: str
    shared: np.ndarray
    agreement: np.ndarray
    expected: np.ndarray
    correlation: np.ndarray
    z: np.ndarray
    p_copy: np.ndarray
    panel_correlation: float
    panel_p: float
    effective: EffectiveJudges
    is_clustered: bool
    note: str = ""
    counted: np.ndarray | None = None

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """One row per two judges that share enough: the most alike first."""
        some = np.triu(self.shared >= limits.FEW_SHARED, 1)
        first, second = np.nonzero(some)
        table = pd.DataFrame(
            {
                "judge": [self.judges[k] for k in first],
                "other": [self.judges[k] for k in second],
                "shared": self.shared[some].astype(int),
                "agreement": self.agreement[some],
                "expected": self.expected[some],
                "correlation": self.correlation[some],
                "p_value": special.ndtr(-self.z[some]),
                "p_copy": self.p_copy[some],
            }
        )
        return table.sort_values("correlation", ascending=False, kind="stable", ignore_index=True)

    @property
    def is_copy(self) -> np.ndarray:
        """Which two judges are near-copies, shape (n_judges, n_judges)."""
        return near_copies(self.correlation, self.p_copy)

    @cached_property
    def copies(self) -> list[tuple[str, ...]]:
        """Groups of judges linked by near-copies."""
        group = connected_components(sparse.csr_array(self.is_copy), directed=False)[1]
        members = [np.flatnonzero(group == g) for g in np.flatnonzero(np.bincount(group) > 1)]
        return [tuple(self.judges[k] for k in some) for some in members]

    @property
    def is_warning(self) -> bool:
        """Whether there are near-copies, or a panel that goes together without errors that count it."""
        return bool(self.copies) or (self.panel_p < _PANEL and self._factor > 1.1 and not self.is_clustered)

    @property
    def _factor(self) -> float:
        """By how much errors that take judges for independent are too small."""
        return float(np.sqrt(self.effective.independent / self.effective.number))

    @property
    def text(self) -> str:
        """In words."""
        if self.note:
            return self.note
        told = [self._group(names) for names in self.copies]
        if told:
            what = "Near-copies" if self.unit == "prompt-pairs" else "Near-copies, or of one taste that the model lacks"
            told = [f"{what}: {'; '.join(told)}."]
        else:
            judge, other, correlation = self.pairs.loc[0, ["judge", "other", "correlation"]]
            closest = f"{judge!r} and {other!r}, residuals correlate {correlation:.2f}"
            told = [f"No two judges are near-copies on shared {self.unit} (closest: {closest})."]
        if self.panel_p < _PANEL:
            told.append(
                f"Beyond the model, verdicts on the same {self.unit} go together in the {'rest of the ' * bool(self.copies)}"
                f"panel as a whole (mean residual correlation {self.panel_correlation:.2f}, {told_p(self.panel_p)})."
            )
        return " ".join([*told, *self._errors()])

    def _group(self, names: tuple[str, ...]) -> str:
        some = np.ix_(*[[self.judges.index(name) for name in names]] * 2)
        alike = np.triu(self.is_copy[some], 1)
        ranges = [_range(values[some][alike]) for values in (self.agreement, self.expected)]
        low, high = self.correlation[some][alike].min(), self.correlation[some][alike].max()
        correlation = f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"
        agree = f"agree in {ranges[0]} of shared {self.unit}, {ranges[1]} expected; "
        return f"{quoted(names)} ({agree if self.unit == 'prompt-pairs' else ''}residuals correlate {correlation})"

    def _errors(self) -> list[str]:
        effective = self.effective
        if not effective.number < effective.independent:
            return []
        number = f"{effective.number:.1f} independent judges instead of {effective.independent:.1f}"
        if self.is_clustered:
            return [f"So the panel counts as {number}; the clustered standard errors in use are made for that."]
        how = ": cluster by prompt." if self.unit == "prompt-pairs" else "."
        error = f"model-based standard errors of the consensus should be about {self._factor:.2f} times as large"
        return [f"So the panel counts as {number}, and {error}{how}"]

    def _shown(self) -> list[Piece]:
        if self.note:
            return [self.note]
        table = self.pairs.head(limits.PRINTED_LABELS).copy()
        for column in ("judge", "other"):
            table[column] = table[column].map(lambda name: shortened(name, 28))
        forms: dict[str, Callable[[float], str]] = {
            "p_value": p_value,
            "p_copy": p_value,
            "agreement": percent,
            "expected": percent,
        }
        more = [f"and {len(self.pairs) - len(table):,} more in .pairs"] * (len(self.pairs) > len(table))
        shown = Table(table, forms, has_index=False)
        return [Title(f"Judges on shared {self.unit}"), shown, *more, self.text, *self.effective._shown()]


def near_copies(correlation: np.ndarray, p_copy: np.ndarray) -> np.ndarray:
    """Which two judges are near-copies."""
    return (correlation >= NEAR_COPY) & (p_copy < _COPIES)


def _range(shares: np.ndarray) -> str:
    low, high = percent(shares.min()), percent(shares.max())
    return low if low == high else f"{low} to {high}"


def redundancy(fit: Fit, observed: Observations, prompt: str | None = None) -> Redundancy:
    """Compare the residuals of every two judges on what both judged.

    With residuals ``r = y - E(y)`` and variances v of the verdicts on unit u, oriented to the same item, the correlation of judges
    k and l is ``sum r_ku r_lu / sqrt(sum r_ku^2 sum r_lu^2)`` over the units both judged. If they are independent the numerator has
    mean zero and variance ``sum v_ku v_lu``, that of all pairs together the sum of these. Near-copies have a correlation of at
    least 0.75, told from 0.5 by Fisher's transformation (Holm-adjusted).

    Effects that a prompt has on everybody correlate all judges, which is a fact about prompts; near-copies stand out from that.
    """
    data, name = observed.data, prompt_column(observed.data, prompt)
    unit, code = "pairs of items" if name is None else "prompt-pairs", _units(data, name)
    n_judges, plain = data.n_judges, effective_judges(fit)
    is_clustered = name is not None and _keeps_prompts(fit, data, name)
    if n_judges == 1 or n_judges > limits.COMPARED_JUDGES:
        what = "There is one judge" if n_judges == 1 else f"More than {limits.COMPARED_JUDGES:,} judges"
        return _nothing(data.judges, unit, f"{what}: nobody was compared with others.", plain, is_clustered)
    here, sign = evaluate(observed.rows, fit.at), np.where(data.first_index < data.second_index, 1.0, -1.0)
    # Most units of many prompts were judged once: these have nobody to be compared with.
    is_single = np.bincount(code[code >= 0], minlength=1)[code] == 1
    several = np.flatnonzero((code >= 0) & ~is_single)
    shared_code = np.unique(code[several], return_inverse=True)[1]

    def table(values: np.ndarray) -> sparse.csr_array:
        shape = (int(shared_code.max(initial=-1)) + 1, n_judges)
        return sparse.coo_array((values[several], (shared_code, data.judge_index[several])), shape=shape).tocsr()

    residual, variance = table(-sign * here.slope), table(here.curvature)
    sums, spread, squares = _products(residual, residual), _products(variance, variance), residual.power(2)
    judged = _indicator(table(data.weight))
    shared, own = _products(judged, judged), _products(squares, judged)
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation, z = sums / np.sqrt(own * own.T), sums / np.sqrt(spread)
        # As many units of equal weight as there are of unequal ones: a few surprises among many sure verdicts count as few. By
        # chance alone products of normal residuals are so unequal that they would count as 0.33 to 0.41 of their number.
        n_equal = np.minimum(
            spread**2 / _products(variance.power(2), variance.power(2)),
            2.0 * _products(abs(residual), abs(residual)) ** 2 / _products(squares, squares),
        )
        agreement, expected = _agreement(table, data, sign, here.eta)
    is_pair = np.triu(np.ones_like(shared, dtype=bool), 1) & (shared >= limits.FEW_SHARED) & np.isfinite(correlation)
    if not is_pair.any():
        note = f"No two judges share {limits.FEW_SHARED} {unit}: whether some repeat others cannot be told."
        return _nothing(data.judges, unit, note, plain, is_clustered)
    p_copy = _told_from_common(correlation, n_equal, is_pair)
    above = np.triu(~near_copies(correlation, p_copy), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        panel = float(np.sum(sums[above]) / np.sum(np.sqrt(own * own.T)[above]))
        panel_p = float(special.ndtr(-np.sum(sums[above]) / np.sqrt(np.sum(spread[above]))))
    total = np.diag(own) + np.bincount(data.judge_index, np.where(is_single, here.slope**2, 0.0), n_judges)
    counted = _counted(sums / np.sqrt(np.maximum(np.outer(total, total), 1e-300)), correlation, p_copy, panel_p)
    signs = np.sign(fit.parts.gamma)
    shares = plain.shares.reindex(list(data.judges)).to_numpy()
    counted = counted * np.outer(signs, signs)
    effective = herfindahl(shares, data.judges, plain.note, counted)
    arrays = (shared, agreement, expected, correlation, z, p_copy)
    return Redundancy(data.judges, unit, *arrays, panel, panel_p, effective, is_clustered, counted=counted)


def _keeps_prompts(fit: Fit, data: Comparisons, prompt: str) -> bool:
    """Whether the errors of a fit are clustered such that all verdicts on a prompt are in one cluster."""
    if fit.choice.kind != "cluster":
        return False
    prompts = Clusters.of_prompts(data, prompt)
    assert prompts is not None
    return any(prompts.within(way).n == prompts.n for way in read_clusters(fit.choice.facts["groups"], data))


def _units(data: Comparisons, prompt: str | None) -> np.ndarray:
    """Number of the unit each row is about; below zero for nobody knows which."""
    if prompt is None:
        # In the same order: whoever repeats another judge repeats that, too, and there is more to compare. Not of winners and
        # losers, of whom all judges who name the same two in the same order agree.
        pair = data.first_index * data.n_items + data.second_index if has_order(data) else data.row_cells.pair
        return distinct_rows([pair])[0]
    prompts = grouped(prompt, data.columns[prompt])[0]
    return np.where(prompts < 0, -1, distinct_rows([data.row_cells.pair, prompts])[0])


def _products(left: sparse.csr_array, right: sparse.csr_array) -> np.ndarray:
    return (left.T @ right).toarray()


def _indicator(counts: sparse.csr_array) -> sparse.csr_array:
    return (counts > 0).astype(float)


def _agreement(
    table: Callable[[np.ndarray], sparse.csr_array], data: Comparisons, sign: np.ndarray, eta: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Shares of decided verdicts on the same unit that agree, as seen and as independent judges would show."""
    decided = data.weight * (np.abs(data.outcome - 0.5) > 0)
    count = table(decided)
    count.eliminate_zeros()
    both = _products(_indicator(count), _indicator(count))
    inverse = count.power(-1)
    seen = table(decided * sign * np.sign(data.outcome - 0.5)).multiply(inverse).tocsr()
    made = table(decided * sign * np.tanh(eta / 2.0)).multiply(inverse).tocsr()
    return 0.5 + 0.5 * _products(seen, seen) / both, 0.5 + 0.5 * _products(made, made) / both


def _told_from_common(correlation: np.ndarray, n: np.ndarray, is_pair: np.ndarray) -> np.ndarray:
    """Holm-adjusted p-values that correlations are at most ``COMMON``, shape (n_judges, n_judges)."""
    # Of few units even the largest correlation is not much.
    largest = 1.0 - 1.0 / np.maximum(n[is_pair], 2.0)
    inside = np.clip(correlation[is_pair], -largest, largest)
    z = (np.arctanh(inside) - np.arctanh(COMMON)) * np.sqrt(np.maximum(n[is_pair] - 3.0, 0.0))
    p_copy = np.full(correlation.shape, np.nan)
    p_copy[is_pair] = holm(special.ndtr(-z))
    return np.fmin(p_copy, p_copy.T)


def _counted(overlap: np.ndarray, correlation: np.ndarray, p_copy: np.ndarray, panel_p: float) -> np.ndarray:
    """The correlations of all that judges said, as far as they are told from none: of the panel, or of near-copies."""
    is_told = np.ones_like(overlap, dtype=bool) if panel_p < _PANEL else near_copies(correlation, p_copy)
    return np.where(np.eye(len(overlap), dtype=bool), 1.0, np.where(is_told, overlap, 0.0))


def _nothing(judges: Sequence[str], unit: str, note: str, effective: EffectiveJudges, is_clustered: bool) -> Redundancy:
    none = np.full((len(judges), len(judges)), np.nan)
    nan = float("nan")
    return Redundancy(tuple(judges), unit, none, none, none, none, none, none, nan, nan, effective, is_clustered, note)
