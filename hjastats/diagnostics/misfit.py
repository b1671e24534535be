"""Infit and outfit of judges and items, against what both would be if the model held."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from .. import limits
from ..data.arrays import check_whole
from ..data.comparisons import Comparisons
from ..errors import ComparisonError, IdentificationError, OptionError
from ..fitted import Fit, Observations
from ..inference.resampling import ParametricDraw, replicate
from ..looks import Piece, Shown, Table, Title
from ..model.design import Coefficients
from ..model.likelihood import evaluate
from ..model.response import expected_outcome, is_soft
from ..model.structures import ScoreStructure
from ..solve.penalties import Penalty
from ..solve.ridge import Ridge
from ..solve.trust import maximise
from ..words import and_more, p_value, told_p
from .adjusted import holm
from .consistency import known_variances, mean_squares, ratios, summed, variances

# Level of the adjusted tests.
LEVEL = 0.05
# Share of the draws on either side beyond which their tail is extrapolated.
_TAIL = 0.02
# Smallest mean square of a draw.
_LEAST = 1e-3
STATISTICS = ("infit", "outfit")


@dataclass(frozen=True, repr=False, eq=False)
class Misfit(Shown):
    """Infit and outfit, and how they are distributed if the model holds.

    Attributes
    ----------
    table : pandas.DataFrame
        Index judge or item: ``comparisons``; ``infit`` and ``outfit``, each followed by ``_lower`` and ``_upper``, between which
        95% of the draws lie, a two-sided ``_p``, and ``_holm``, that p-value adjusted for the number of judges or items and
        for there being two statistics.
    n_draws : int
        Panels that were drawn from the model.
    """

    table: pd.DataFrame
    n_draws: int

    @property
    def is_warning(self) -> bool:
        """Whether the model is rejected for some judge or item."""
        return bool((self.table[["infit_holm", "outfit_holm"]] < LEVEL).to_numpy().any())

    @property
    def text(self) -> str:
        """In words."""
        told = [f"{words}: {and_more(named, 3)}." for words, named in self._named().items() if named]
        whose = str(self.table.index.name)
        return " ".join(told) or f"Verdicts are as predictable as the model says, {whose} by {whose}."

    def _named(self) -> dict[str, list[str]]:
        """Those the model is rejected for, the clearest first, by what they do."""
        less, more = "Less predictable than the model says", "More predictable than the model says"
        named: dict[str, list[str]] = {less: [], more: []}
        p = self.table[["infit_holm", "outfit_holm"]]
        for name in p.min(axis=1)[p.min(axis=1) < LEVEL].sort_values(kind="stable").index:
            row = self.table.loc[name]
            which = "infit" if not row["infit_holm"] > row["outfit_holm"] else "outfit"
            seen, low, high = (float(row[which + end]) for end in ("", "_lower", "_upper"))
            words = f"{name!r} ({which} {seen:.2f}, expected {low:.2f} to {high:.2f}, {told_p(float(row[which + '_holm']))})"
            named[less if seen > high else more].append(words)
        return named

    def _shown(self) -> list[Piece]:
        forms = {f"{name}_{end}": p_value for name in STATISTICS for end in ("p", "holm")}
        title = Title(f"Infit and outfit against {self.n_draws:,} draws from the model")
        return [title, Table(self.table.head(limits.PRINTED_JUDGES), forms, "{:.2f}".format), self.text]


def misfit(
    fit: Fit,
    observed: Observations,
    of: str,
    *,
    n: int,
    rng: int | np.random.Generator | None,
    n_jobs: int = 1,
) -> Misfit:
    """Infit and outfit of judges or items with their distribution under the model, estimated parameters included.

    Verdicts are drawn from the fit, and the model is fitted to each draw from there, with the fit's penalty: the observed mean
    squares are taken at an estimate that has followed the same verdicts, and so must these be. What is compared is the departure
    from 1 in units of its standard deviation were the parameters known, which takes care of most of what they do to it. Draws
    without a finite estimate are left out, as the data would have been. Bias reduction keeps the adjustments of the fit. Ties that
    count as half wins are drawn as often as each judge gave them.

    Raises
    ------
    IdentificationError
        Without a finite estimate, of the data or of most draws.
    ComparisonError
        For soft preferences and weights that are no counts.
    OptionError
    """
    check_whole("n", n, limits.FEWEST_DRAWS, limits.MOST_REPLICATIONS)
    if fit.restriction is not None:
        raise OptionError("infit and outfit of an estimate held to equations have no known distribution: use fit().")
    fit.need_converged("the fit has no finite, determined estimate to draw verdicts from: use fit_regularized().")
    data, rows = observed.data, observed.rows
    if is_soft(fit.design.response, data.outcome).any() or (np.abs(data.weight - np.round(data.weight)) > 1e-9).any():
        raise ComparisonError(
            "soft preferences and weights that are no counts have no distribution that infit and outfit could be held against; "
            "judges.cards() has both without it."
        )
    found = replicate(_Drawn.of(fit, data, of), int(n), rng=rng, n_jobs=n_jobs)
    drawn = np.array([each for each in found if each is not None])
    if len(drawn) < max(limits.FEWEST_DRAWS, n // 2):
        raise IdentificationError(
            f"{n - len(drawn)} of {n} panels drawn from the fit have no finite estimate: use fit_regularized()."
        )
    labels = fit.layout.judges if of == "judges" else fit.layout.items
    table = pd.DataFrame({"comparisons": summed(rows, rows.n, of)}, index=pd.Index(labels, name=of[:-1]))
    spread = np.sqrt(known_variances(fit.design, evaluate(fit.design, fit.at), of))
    # As mean squares of the same spread as the observed ones; those of one row may fall below zero.
    like = np.maximum(1.0 + spread * drawn, _LEAST)
    for name, seen, draws in zip(STATISTICS, mean_squares(rows, fit.at, of), like.transpose(1, 0, 2), strict=True):
        table[name] = seen
        table[f"{name}_lower"], table[f"{name}_upper"] = np.quantile(draws, [0.025, 0.975], axis=0)
        table[f"{name}_p"], table[f"{name}_holm"] = two_tails(seen, draws), np.nan
    adjusted = holm(np.concatenate([table["infit_p"], table["outfit_p"]]))
    table["infit_holm"], table["outfit_holm"] = np.split(adjusted, 2)
    return Misfit(table, len(drawn))


@dataclass(frozen=True)
class _Drawn:
    """Mean squares of one draw less 1, over their spread there, shape (2, n_judges) or (2, n_items).

    A class, so that it travels to other processes.
    """

    source: ParametricDraw
    structure: ScoreStructure
    start: Coefficients
    ridge: Ridge
    # Comparisons and wins that bias reduction adds to every cell.
    more: np.ndarray
    won: np.ndarray
    of_whom: str

    @classmethod
    def of(cls, fit: Fit, data: Comparisons, of_whom: str) -> _Drawn:
        source, structure = ParametricDraw.from_fit(fit.design, data, fit.at), fit.layout.structure
        penalty = Penalty() if fit.penalty is None else fit.penalty
        return cls(source, structure, fit.at, penalty.ridge, *penalty.added(fit.design, structure, fit.at), of_whom)

    def __call__(self, rng: np.random.Generator) -> np.ndarray | None:
        numbers = self.source.numbers(rng)
        design = self.source.filled(numbers)
        adjusted = replace(design, n=design.n + self.more, y=design.y + self.won)
        found = maximise(adjusted, self.structure, self.start, ridge=self.ridge)
        if not found.converged:
            return None
        here = evaluate(design, found.at)
        mean = expected_outcome(design.response, design.response.probabilities(here.eta, here.own))
        squares = np.sum(numbers * (self.source.outcomes[:, None] - mean) ** 2, axis=0)
        spread = np.sqrt(known_variances(design, here, self.of_whom))
        with np.errstate(divide="ignore", invalid="ignore"):
            z = (np.array(ratios(design, squares, variances(design, here), self.of_whom)) - 1.0) / spread
        # Even odds surprise nobody: no spread, no departure.
        return np.where(spread > 0, z, 0.0)


def two_tails(seen: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Two-sided p-values of values (m,) among draws (n, m) of positive numbers.

    Where few draws are as extreme, their logarithm is taken to fall off exponentially beyond the most extreme fiftieth of them
    (Hill's estimator): a tail no shorter than those of sums of squares, so that panels of any size can be adjusted for.
    """
    with np.errstate(divide="ignore"):
        value, draws = np.log(seen), np.log(drawn)
    return np.minimum(2.0 * np.minimum(_upper_tail(value, draws), _upper_tail(-value, -draws)), 1.0)


def _upper_tail(value: np.ndarray, draws: np.ndarray) -> np.ndarray:
    n = len(draws)
    k = max(int(_TAIL * n), 1)
    share = (np.sum(draws >= value, axis=0) + 1.0) / (n + 1.0)
    top = np.partition(draws, n - k - 1, axis=0)[n - k - 1 :]
    threshold, length = top.min(axis=0), (top - top.min(axis=0)).sum(axis=0) / k
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        beyond = k / n * np.exp(-(value - threshold) / length)
    # Where the draws repeat a few values, length may be nothing, and the share is all there is.
    few = (value > threshold) & np.isfinite(beyond) & (length > 0)
    return np.where(few, np.maximum(beyond, share - 1.0 / (n + 1.0)), share)
