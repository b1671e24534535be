"""Whether judges differ, and in how many directions: information criteria, held-out log-loss and bootstrap tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from .data.arrays import check_axes, check_flag, check_option, generator
from .data.comparisons import Comparisons
from .data.readers import read_comparisons
from .errors import IdentificationError, OptionError
from .inference.rank_tests import bootstrap_ratio_test
from .looks import Piece, Shown, Table, Title
from .model.decomposition import max_rank
from .model.structures import ScoreStructure, Unrestricted, largest_rank
from .models import HJAModel, PopulationHJAModel
from .results import HJAResults
from .show import plots
from .solve.ridge import Ridge
from .solve.search import one_direction_more, search
from .solve.validation import FOLD_RIDGE, held_out_losses

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CRITERIA = ("bic", "aic", "cv", "loglik-bootstrap")
# Without ranks to try, the search ends after so many in a row that did not improve the criterion.
PATIENCE = 2
# Judge-wise and consensus-only scores for the scree need not exist; this ridge keeps them finite and is otherwise hardly felt.
SCREE_RIDGE = 0.1
LEVEL = 0.05
# A rank, or the model in which judges do not differ.
Choice: TypeAlias = "int | str"
BTL = "BTL"


@dataclass(frozen=True, repr=False)
class RankSelection(Shown):
    """What each rank costs and gains, and BTL, in which all judges are alike.

    Attributes
    ----------
    criterion : str
    table : pandas.DataFrame
        Index ``"BTL"`` and the ranks; columns llf, df, aic, bic, converged, and with the criterion cv (held-out log-loss per
        comparison) with its standard error cv_se and the number cv_ridge of folds whose maximum likelihood estimate does not exist,
        so that a ridge was scored; or p_value (bootstrap test against the next larger model).
    best : int or "BTL"
    results : dict of int or "BTL" to HJAResults
        The fits behind the table.
    strengths : ndarray
        Singular values of the judges' own scores beyond the consensus-only fit: the scree.

    Examples
    --------
    >>> import hjastats as hja
    >>> selection = hja.select_rank(hja.datasets.load_panel(), ranks=range(3), position="judge")
    >>> selection.best, selection.result.consensus.index[0]
    (1, 'model-I')
    >>> selection.table["bic"].round(1).to_dict()
    {'BTL': 3739.0, 0: 3634.9, 1: 3492.6, 2: 3564.1}
    >>> selection.choices
    {'bic': 1, 'aic': 2}
    >>> selection.verdict
    'Rank 1 by BIC; the criteria disagree: AIC takes 2 or more. Look at what the further directions are.'
    """

    criterion: str
    table: pd.DataFrame
    best: Choice
    results: dict[Choice, HJAResults]
    strengths: np.ndarray

    @property
    def result(self) -> HJAResults:
        """The fit of the best rank, or of BTL."""
        return self.results[self.best]

    @property
    def choices(self) -> dict[str, Choice]:
        """The rank, or BTL, that each available criterion would take."""
        choices = {name: _smallest(self.table[name]) for name in ("bic", "aic", "cv") if name in self.table}
        if self.criterion == "loglik-bootstrap":
            choices[self.criterion] = self.best
        return choices

    @property
    def verdict(self) -> str:
        """One sentence on what was chosen and whether the criteria agree."""
        names = {"bic": "BIC", "aic": "AIC", "cv": "cross-validation", "loglik-bootstrap": "the bootstrap test"}
        name = self.best if self.best == BTL else f"rank {self.best}"
        text = f"{name[:1].upper()}{name[1:]} by {names[self.criterion]}"
        others = {names[name]: rank for name, rank in self.choices.items() if name != self.criterion}
        differing = [f"{name} takes {rank}{self._or_more(rank)}" for name, rank in others.items() if rank != self.best]
        if differing:
            text = f"{text}; the criteria disagree: {', '.join(differing)}. Look at what the further directions are."
        else:
            text = f"{text}; {' and '.join(others)} agree{'s' if len(others) == 1 else ''}."
        if not self.result.converged:
            # The largest likelihood is approached at infinity: the criterion still knows its value.
            text += (
                f" Its maximum likelihood estimate does not exist: fit {name} with fit_regularized(), with terms=True "
                "where position effects run away."
            )
        return text

    def _or_more(self, choice: Choice) -> str:
        """Whether a criterion's choice is the largest rank that was tried, and not the largest there is."""
        model = self.result.model
        largest = largest_rank(model.structure, len(model.judges), len(model.items))
        ranks = [rank for rank in self.results if not isinstance(rank, str)]
        return " or more" if choice == max(ranks) < largest else ""

    def plot(self) -> Figure:
        """Every criterion against the rank, its smallest value marked (matplotlib).

        Examples
        --------
        >>> import hjastats as hja
        >>> selection = hja.select_rank(hja.datasets.load_panel(), ranks=range(3), position="judge")
        >>> [ax.get_title(loc="left") for ax in selection.plot().axes]
        ['AIC: smallest at rank 2', 'BIC: smallest at rank 1']
        """
        return plots.plot_criteria(self.table)

    def plot_scree(self, ax: Axes | None = None) -> Axes:
        """Strengths of the judge-wise residual, with a line after the chosen rank (matplotlib).

        Examples
        --------
        >>> import hjastats as hja
        >>> selection = hja.select_rank(hja.datasets.load_panel(), ranks=range(3), position="judge")
        >>> selection.plot_scree().get_ylabel()
        'singular value (log-odds)'
        """
        rank = None if isinstance(self.best, str) else self.best
        return plots.plot_scree(self.strengths, rank=rank, ax=check_axes(ax))

    def _shown(self) -> list[Piece]:
        forms = dict.fromkeys(("cv", "cv_se", "p_value"), "{:.4f}".format)
        pieces: list[Piece] = [Title(self.verdict), Table(self.table, forms, "{:.2f}".format, missing="")]
        if "cv_ridge" in self.table and self.table["cv_ridge"].any():
            pieces.append(
                f"cv_ridge: folds without maximum likelihood estimate, predicted by a ridge of weight {FOLD_RIDGE:g} instead"
            )
        return [*pieces, f"strengths of the judge-wise residual: {_listed(self.strengths)}"]


def select_rank(
    data: Comparisons,
    ranks: Iterable[int] | None = None,
    criterion: str = "bic",
    *,
    exog: Any = None,
    judge_exog: Any = None,
    position: str | None = None,
    ties: str = "half",
    tie: str = "common",
    offset: Any = None,
    items: Any = None,
    judges: str = "fixed",
    groups: Any = None,
    n_folds: int = 5,
    n: int = 199,
    patience: int = PATIENCE,
    rng: int | np.random.Generator | None = 0,
    n_jobs: int = 1,
    progress: bool = False,
) -> RankSelection:
    """Choose the number of disagreement directions, or BTL, in which judges do not differ at all.

    Parameters
    ----------
    data : Comparisons
    ranks : iterable of int, optional
        Ranks to try beside BTL. By default all from 0 upwards, until the criterion has not improved ``patience`` times in a row.
    criterion : {"bic", "aic", "cv", "loglik-bootstrap"}
        BIC and AIC with all free parameters counted (eq. BIC up to a constant); held-out log-loss; or the smallest model that a
        parametric bootstrap does not reject at the 5% level, BTL against rank 0, each rank against one direction more.
    exog, judge_exog, position, ties, tie, offset, items
        As in :class:`HJAModel`; with traits of items all candidates have them.
    judges : {"fixed", "sample"}
        Whether judges have parameters of their own or are a sample, :class:`PopulationHJAModel`, whose BIC takes the number of
        judges; with "bic", "aic" and "cv", and ranks 0 to 2 by default.
    groups : str or array_like, optional
        Rows held out together, such as the verdicts on one prompt; single records by default. ``"judge"`` leaves out whole judges
        of a sample, which is the honest test of what holds for others.
    n_folds : int
        Folds of "cv".
    n : int
        Replications of "loglik-bootstrap".
    patience : int
        See ``ranks``.
    n_jobs : int
        Parallel jobs of cross-validation and bootstrap.

    Returns
    -------
    RankSelection

    Examples
    --------
    >>> import hjastats as hja
    >>> selection = hja.select_rank(hja.datasets.load_panel(), position="judge")
    >>> selection.best
    1
    >>> selection.verdict
    'Rank 1 by BIC; the criteria disagree: AIC takes 2. Look at what the further directions are.'
    """
    check_option("criterion", criterion, CRITERIA)
    check_option("judges", judges, ("fixed", "sample"))
    check_flag("progress", progress)
    data = data if isinstance(data, Comparisons) else read_comparisons(data)
    terms = {"position": position, "ties": ties, "tie": tie, "judge_exog": judge_exog, "offset": offset}
    if judges == "sample":
        check_option("criterion", criterion, ("bic", "aic", "cv"))
        model = PopulationHJAModel.from_comparisons(data, exog, items=items, **terms)
        sampled = _candidates((0, 1, 2) if ranks is None else ranks, max_rank(data.n_judges, data.n_items))
        return _of_a_sample(model, sampled, criterion, groups, n_folds, generator(rng))
    model = HJAModel.from_comparisons(data, exog, rank=0, items=items, **terms)
    candidates = _candidates(ranks, largest_rank(model.structure, data.n_judges, data.n_items))
    enough = patience if ranks is None else None
    rng = generator(rng)
    loss = None
    if criterion == "cv":
        structures: list[ScoreStructure] = [
            model.pooled().structure,
            *(model.structure.of_rank(rank) for rank in candidates),
        ]
        loss = held_out_losses(model.folds(groups, n_folds, rng), structures, patience=enough, n_jobs=n_jobs)
        candidates = candidates[: len(loss.loss) - 1]
    fits = _Fits(model, candidates, progress)
    if criterion == "loglik-bootstrap":
        p_values = fits.until_not_rejected(n, rng, n_jobs)
        table = fits.table().assign(p_value=pd.Series(p_values))
        accepted = [model for model, p in p_values.items() if not p < LEVEL]
        return RankSelection(criterion, table, accepted[0] if accepted else candidates[-1], fits.results, fits.scree())
    fits.until_worse("bic" if criterion == "cv" else criterion, None if criterion == "cv" else enough)
    table = fits.table()
    if loss is not None:
        n_folds, error = loss.loss.shape[1], loss.loss.std(axis=1, ddof=1)
        table = table.assign(
            cv=loss.loss.mean(axis=1), cv_se=error / np.sqrt(n_folds), cv_ridge=loss.is_ridge.sum(axis=1)
        )
    return RankSelection(criterion, table, _smallest(table[criterion]), fits.results, fits.scree())


def _of_a_sample(
    model: PopulationHJAModel, ranks: list[int], criterion: str, groups: Any, n_folds: int, rng: np.random.Generator
) -> RankSelection:
    """Fits of a population of increasing rank."""
    ranks = [rank for rank in ranks if rank <= max_rank(len(model.judges), len(model.items))]
    results: dict[Choice, HJAResults] = {rank: model.with_rank(rank).fit(warn_convergence=False) for rank in ranks}
    columns = {"llf": "llf", "df": "df_model", "aic": "aic", "bic": "bic", "converged": "converged"}
    values = {name: [getattr(result, own) for result in results.values()] for name, own in columns.items()}
    table = pd.DataFrame(values, index=pd.Index(list(results), name="rank"))
    if criterion == "cv":
        folds = model.row_folds(groups, n_folds, rng)
        losses = np.array([[model.with_rank(rank).held_out(fold) for fold in folds] for rank in ranks])
        table = table.assign(cv=losses.mean(axis=1), cv_se=losses.std(axis=1, ddof=1) / np.sqrt(n_folds))
    largest = results[ranks[-1]].fit
    strengths = np.asarray(largest.params[largest.layout.slices["sd"]][1 : 1 + ranks[-1]])
    return RankSelection(criterion, table, _smallest(table[criterion]), results, strengths)


def _smallest(values: pd.Series) -> Choice:
    """The rank with the smallest value, or BTL."""
    return list(values.index)[int(values.to_numpy().argmin())]


def _candidates(ranks: Iterable[int] | None, largest: int) -> list[int]:
    if ranks is None:
        return list(range(largest + 1))
    ranks = list(ranks)
    if not all(isinstance(rank, int | np.integer) for rank in ranks):
        raise OptionError(f"ranks must be whole numbers, got {ranks!r}.")
    candidates = sorted({int(rank) for rank in ranks})
    if not candidates or candidates[0] < 0 or candidates[-1] > largest:
        raise IdentificationError(
            f"ranks must lie between 0 and {largest}, which is the largest possible here, got {list(candidates)}."
        )
    return candidates


class _Fits:
    """BTL and fits of increasing rank, none worse than the one before."""

    def __init__(self, model: HJAModel, ranks: list[int], progress: bool) -> None:
        self.model, self.ranks, self.progress = model, ranks, progress
        self.results: dict[Choice, HJAResults] = {BTL: model.pooled().fit(warn_convergence=False)}

    @property
    def _largest(self) -> int:
        return largest_rank(self.model.structure, len(self.model.judges), len(self.model.items))

    @property
    def _fitted(self) -> list[int]:
        """Ranks that were fitted."""
        return [rank for rank in self.results if not isinstance(rank, str)]

    def until_worse(self, criterion: str, patience: int | None) -> None:
        """Fit rank after rank until the criterion has not improved for a while."""
        from tqdm.auto import tqdm

        for rank in tqdm(self.ranks, desc="ranks", disable=not self.progress):
            try:
                self.fit(rank)
            except IdentificationError:
                # The data show no further direction; whoever names the ranks is told, a walk upwards ends here.
                if patience is None or not self._fitted:
                    raise
                break
            values = [getattr(self.results[rank], criterion) for rank in self._fitted]
            if patience is not None and len(values) - 1 - int(np.argmin(values)) >= patience:
                break

    def until_not_rejected(self, n: int, rng: np.random.Generator, n_jobs: int) -> dict[Choice, float]:
        """Fit rank after rank until one is not rejected against one direction more; BTL against rank 0 before all of them."""
        how: dict[str, Any] = {"n": n, "rng": rng, "n_jobs": n_jobs, "progress": self.progress}
        alike, differing = self.results[BTL].fit, self.model.with_rank(0).fit(warn_convergence=False).fit
        test = bootstrap_ratio_test(alike, differing, self.model.comparisons, **how)
        p_values: dict[Choice, float] = {BTL: test.p_value}
        for rank in self.ranks if test.p_value < LEVEL else ():
            result = self.fit(rank)
            if rank == self._largest:
                break
            test = result.rank_test("bootstrap", **how)
            p_values[rank] = test.p_value
            if not test.p_value < LEVEL:
                break
        return p_values

    def fit(self, rank: int) -> HJAResults:
        """Fit one rank from the default starts and from the rank below."""
        model = self.model.with_rank(rank)
        result = model.fit(warn_convergence=False)
        if self._fitted and rank > 0:
            below = self.results[max(self._fitted)]
            near = one_direction_more(model.design, model.structure, below.fit.at)
            warm = model.fit(model.layout.pack(near), warn_convergence=False)
            result = warm if warm.llf > result.llf + 1e-6 else result
        self.results[rank] = result
        return result

    def table(self) -> pd.DataFrame:
        """One row for BTL and for every fitted rank."""
        columns = {
            "llf": [result.llf for result in self.results.values()],
            "df": [int(result.df_model) for result in self.results.values()],
            "aic": [result.aic for result in self.results.values()],
            "bic": [result.bic for result in self.results.values()],
            "converged": [result.converged for result in self.results.values()],
        }
        return pd.DataFrame(columns, index=pd.Index(list(self.results), name="rank", dtype=object))

    def scree(self) -> np.ndarray:
        """Singular values of the judges' own scores beyond the consensus."""
        cells = self.model.design
        own = search(cells, Unrestricted(), ridge=Ridge(SCREE_RIDGE)).best.at.scores
        consensus_only = self.results.get(0) or self.model.with_rank(0).fit(warn_convergence=False)
        scores = consensus_only.fit.at.scores
        if not consensus_only.converged:
            structure = self.model.structure.of_rank(0)
            scores = search(cells, structure, n_random=0, ridge=Ridge(SCREE_RIDGE, SCREE_RIDGE)).best.at.scores
        left, basis = own - scores, self.model.structure.item_basis
        values = np.linalg.svd(left if basis is None else left @ basis, compute_uv=False)
        return values[: self._largest]


def _listed(values: np.ndarray, limit: int = 8) -> str:
    more = ", ..." if len(values) > limit else ""
    return ", ".join(f"{value:.2f}" for value in values[:limit]) + more
