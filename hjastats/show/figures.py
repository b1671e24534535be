"""Figures of a fit: which of its tables each one shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import stats

from .. import limits
from ..data.arrays import check_axes, check_flag, check_type, check_whole, listed
from ..diagnostics.affinity import family_labels
from ..diagnostics.biclustering import bicluster
from ..diagnostics.calibration import calibration_table
from ..diagnostics.findings import outlying
from ..diagnostics.preferences import comparison_counts, preference_probabilities
from ..errors import OptionError
from ..fitted import Fit, Observations
from ..inference.apart import are_apart, are_linked
from ..inference.contrast_results import Contrast
from ..inference.contrasts import Spec, contrast
from ..inference.estimates import disagreement, effects, estimates, leverage, scores, sensitivity
from ..inference.pairs import compared_positions
from ..inference.profiles import profile, scalars
from ..inference.ranks import ranking
from ..looks import Menu
from ..model.likelihood import log_odds, own_predictors
from ..model.response import expected_outcome
from ..words import quoted
from . import plots
from .summary import shown_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .plots.colours import Family

# Share of the largest score below which a residual is rounding.
NO_DISAGREEMENT = 1e-9
# Judges shown in colour when there are too many to show all.
N_HIGHLIGHTED = 4
# Judges whose rankings a slope chart has room for.
N_COLUMNS = 12
# Items whose lines can be followed from column to column.
N_LINES = 25


class FitPlots(Menu):
    """Figures of a fit, as ``result.plot``.

    Every one takes ``ax``, the matplotlib axes to draw in (a new figure by default), and returns the axes. Where it takes
    ``family``, families get colours: a Series or dict from judge or item to family, or the name of a metadata column
    (:meth:`hjastats.Comparisons.with_metadata`). ``max_rows`` is the number of items, or judges, to show: of more, the first and
    last, or those that stand out. matplotlib is needed: ``pip install 'hjastats[plots]'``.

    Examples
    --------
    >>> import hjastats as hja
    >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
    >>> [label.get_text() for label in result.plot.ranking().get_yticklabels()][:2]
    ['model-I', 'model-H']
    """

    def __init__(self, fit: Fit, observed: Callable[[], Observations]) -> None:
        self._fit, self._observed = fit, observed

    def ranking(
        self,
        judge: str | None = None,
        *,
        level: float = 0.95,
        family: Family | str | None = None,
        max_rows: int = limits.FIGURE_ROWS,
        ax: Axes | None = None,
        rng: int | np.random.Generator | None = 0,
        items: Sequence[str] | None = None,
    ) -> Axes:
        """Items, best first: scores with their own intervals, and the places that cannot be ruled out, jointly for all items.

        Where the bars of two items do not overlap, their order is known, for all such pairs at once at this level, as in
        :meth:`hjastats.HJAResults.ranking`.

        Parameters
        ----------
        judge : str, optional
            Rank by this judge's scores instead of the consensus.
        level : float
        family : pandas.Series or dict, optional
            Item to family.
        max_rows : int
            Of more items the first and last are shown.
        ax : matplotlib.axes.Axes, optional
        rng : int or numpy.random.Generator
            Randomness of the simulated critical value.
        items : sequence of str, optional
            Rank these among themselves; all items by default.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> [label.get_text() for label in result.plot.ranking("judge-5").get_yticklabels()[:3]]
        ['model-A', 'model-F', 'model-I']
        """
        table, title = self._ranking_table(judge, items, level, max_rows, rng)
        xlabel = f"{'score' if judge is not None else 'consensus score'} (log-odds) with {level:.0%} intervals"
        return plots.plot_ranking(
            table,
            xlabel=xlabel,
            title=("Ranking by the consensus" if judge is None else f"Ranking by {judge}") + title,
            family=self._family(family, "item"),
            ax=check_axes(ax),
        )

    def contrast(
        self,
        spec: Spec | Contrast,
        *,
        alpha: float = 0.05,
        simultaneous: bool = False,
        ax: Axes | None = None,
    ) -> Axes:
        """Contrasts with their intervals, in the order they were asked for, against what they are tested for.

        Dots are hollow where the interval holds that value. The numbers stand beside them.

        Parameters
        ----------
        spec : str, callable, dict or list, or Contrast
            As in :meth:`hjastats.HJAResults.contrast`, or what it returned.
        alpha : float
            One minus the level of the intervals.
        simultaneous : bool
            Whether all intervals hold at once, as those of ``Contrast.adjusted()``.
        ax : matplotlib.axes.Axes, optional

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> ax = result.plot.contrast("mu[*] - mu[model-A]", simultaneous=True)
        >>> [label.get_text() for label in ax.get_yticklabels()][:2]
        ['mu[model-A] - mu[model-A]', 'mu[model-B] - mu[model-A]']
        """
        check_flag("simultaneous", simultaneous)
        found = spec if isinstance(spec, Contrast) else contrast(self._fit, spec)
        table = found.adjusted(alpha=alpha) if simultaneous else found.summary_frame(alpha)
        nulls, shown = np.unique(found.null), table[["estimate", "ci_lower", "ci_upper"]].to_numpy()
        finite = shown[np.isfinite(shown)]
        if len(finite):
            # An interval without an end runs to the edge of the picture.
            room = 0.05 * (np.ptp(finite) or 1.0)
            columns = ["ci_lower", "ci_upper"]
            table[columns] = table[columns].clip(finite.min() - room, finite.max() + room)
        return plots.plot_intervals(
            table,
            reference=float(nulls[0]) if len(nulls) == 1 else None,
            xlabel=f"estimate with {'simultaneous ' if simultaneous else ''}{100 * (1 - alpha):g}% intervals",
            title="Contrasts",
            sort=False,
            in_words=True,
            ax=check_axes(ax),
        )

    def sensitivity(
        self, *, family: Family | str | None = None, max_rows: int = limits.FIGURE_ROWS, ax: Axes | None = None
    ) -> Axes:
        """Sensitivity of each judge with 95% intervals, against one, the panel's average.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> [label.get_text() for label in result.plot.sensitivity().get_yticklabels()[:2]]
        ['judge-1', 'judge-2']
        """
        self._need_sensitivity()
        table, title = _ends(sensitivity(self._fit), max_rows, "judges")
        return plots.plot_intervals(
            table,
            reference=1.0,
            xlabel="sensitivity to the consensus (panel average 1) with 95% intervals",
            title="Sensitivity of the judges" + title,
            family=self._family(family, "judge"),
            ax=check_axes(ax),
        )

    def position(
        self, *, family: Family | str | None = None, max_rows: int = limits.FIGURE_ROWS, ax: Axes | None = None
    ) -> Axes:
        """Position effects with 95% intervals, against zero.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> [label.get_text() for label in result.plot.position().get_yticklabels()[:2]]
        ['judge-first', 'judge-1']
        """
        if self._fit.layout.terms.named("position") is None:
            raise OptionError("this model has no position effects: fit it with position='judge' or position='common'.")
        table, title = _ends(effects(self._fit, "position"), max_rows, "judges")
        return plots.plot_intervals(
            table,
            reference=0.0,
            xlabel="bonus of the item shown first (log-odds) with 95% intervals",
            title="Position effects of the judges" + title,
            family=self._family(family, "judge"),
            ax=check_axes(ax),
        )

    def disagreement(
        self,
        *,
        family: Family | str | None = None,
        max_rows: int = limits.FIGURE_ROWS,
        margins: bool = True,
        ax: Axes | None = None,
    ) -> Figure | Axes:
        """Residual heatmap, similar judges and items side by side, with consensus, sensitivity and leverage at the margins.

        Returns
        -------
        matplotlib.figure.Figure
            With ``ax``, or without ``margins``, only the heatmap is drawn, and its axes are returned.

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> heatmap = result.plot.disagreement(ax=plt.subplot())
        >>> [label.get_text() for label in heatmap.get_yticklabels()]
        ['judge-5', 'judge-1', 'judge-4', 'judge-noise', 'judge-first', 'judge-3', 'judge-2', 'judge-6']
        """
        self._need_disagreement()
        residual, title = _largest(disagreement(self._fit), max_rows)
        # Withheld cells have no disagreement to be alike in.
        alike = bicluster(residual.fillna(0.0))
        residual = residual.loc[list(alike.judge_order), list(alike.item_order)]
        if ax is not None or not margins:
            told, groups = "What the consensus does not explain" + title, self._family(family, "judge", "item")
            return plots.plot_heatmap(residual, family=groups, title=told, ax=check_axes(ax))
        return plots.plot_disagreement(
            residual,
            consensus=estimates(self._fit, "mu", list(residual.columns)),
            sensitivity=sensitivity(self._fit).loc[residual.index],
            leverage=leverage(self._fit)["h"].loc[residual.index],
            title="What the consensus does not explain" + title,
            family=self._family(family, "judge", "item"),
        )

    def profiles(
        self,
        *,
        highlight: Sequence[str] | None = None,
        family: Family | str | None = None,
        max_rows: int = limits.FIGURE_ROWS,
        ax: Axes | None = None,
    ) -> Axes:
        """Scores of every judge over the items in the order of the consensus.

        Parameters
        ----------
        highlight : sequence of str, optional
            Judges in colour; by default the four furthest from the consensus.
        family : pandas.Series or dict, optional
            Judge to family.
        max_rows : int
            Of more items the first and last are shown.
        ax : matplotlib.axes.Axes, optional

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> [label.get_text() for label in result.plot.profiles(highlight=["judge-5"]).get_yticklabels()[:2]]
        ['model-I', 'model-H']
        """
        self._need_sensitivity()
        everything, by_judge = self._best_first, scores(self._fit)
        if highlight is not None:
            highlight = [str(name) for name in listed("highlight", highlight, "names of judges")]
            if unknown := [name for name in highlight if name not in by_judge.index]:
                raise OptionError(f"highlight takes names of judges: there is no {quoted(unknown)}.")
        if highlight is None and family is None:
            distance = by_judge.sub(everything).pow(2).sum(axis=1)
            highlight = list(distance.nlargest(N_HIGHLIGHTED).index)
        consensus, title = _ends(everything, max_rows, "items")
        return plots.plot_profiles(
            by_judge[consensus.index],
            consensus,
            highlight=highlight,
            title="Scores of each judge, items in the order of the consensus" + title,
            family=self._family(family, "judge"),
            ax=check_axes(ax),
        )

    def slopes(
        self,
        judges: Sequence[str] | None = None,
        *,
        highlight: Sequence[str] | None = None,
        family: Family | str | None = None,
        max_rows: int = N_LINES,
        ax: Axes | None = None,
    ) -> Axes:
        """Places of the items by the consensus and by every judge's own scores, a line for each item.

        Parameters
        ----------
        judges : sequence of str, optional
            Judges to show; by default up to twelve, those whose rankings are furthest from the consensus, furthest first.
        highlight : sequence of str, optional
            Items in colour; by default the four on whose places these judges differ most.
        family : pandas.Series or dict, optional
            Item to family.
        max_rows : int
            Of more items the first and last are shown.
        ax : matplotlib.axes.Axes, optional

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> [label.get_text() for label in result.plot.slopes().get_xticklabels()][:3]
        ['consensus', 'judge-5', 'judge-6']
        """
        self._need_disagreement()
        best, everybody = self._best_first, self._fit.layout.judges
        places = places_by_judge(self._fit)
        shift = places.sub(np.arange(1.0, len(places) + 1.0), axis=0)
        left_out = 0
        if judges is None:
            apart = (shift**2).sum().sort_values(ascending=False, kind="stable")
            judges = [str(judge) for judge in apart.index[:N_COLUMNS]]
            left_out = len(everybody) - len(judges)
        else:
            judges = [self._judge(str(name)) for name in listed("judges", judges, "names of judges")]
        if highlight is None:
            differ = shift[judges].abs().max(axis=1).sort_values(ascending=False, kind="stable")
            highlight = [str(item) for item in differ.index[differ > 0][:N_HIGHLIGHTED]]
        some, title = _ends(best, max_rows, "items")
        if left_out:
            title += f"{';' if title else ':'} {left_out:,} nearer judges left out"
        table = places[judges]
        # A judge may have the same name.
        table.insert(0, "consensus", np.arange(1.0, len(table) + 1.0), allow_duplicates=True)
        return plots.plot_slopes(
            table.loc[some.index],
            highlight=highlight,
            title="Places by consensus and judges" + title,
            family=self._family(family, "item"),
            ax=check_axes(ax),
        )

    def leverage(self, *, family: Family | str | None = None, ax: Axes | None = None) -> Axes:
        """Size of each judge's disagreement against its sensitivity; those that dominate the panel are named.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> [text.get_text() for text in result.plot.leverage().texts][:2]          # the largest first
        ['judge-5', 'judge-6']
        """
        self._need_disagreement()
        sizes = leverage(self._fit)
        table = pd.DataFrame({"sensitivity": sensitivity(self._fit)["estimate"], "h": sizes["h"]})
        return plots.plot_leverage(
            table, outliers=list(outlying(sizes).index), family=self._family(family, "judge"), ax=check_axes(ax)
        )

    def probabilities(
        self,
        judge: str | None = None,
        *,
        family: Family | str | None = None,
        max_rows: int = limits.FIGURE_ROWS,
        ax: Axes | None = None,
    ) -> Axes:
        """Probability that one item is preferred to another, position left aside, by the consensus or one judge.

        With ties as an outcome of their own, it is the probability among decided verdicts.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.plot.probabilities("judge-1").get_title(loc="left")
        'P(row preferred to column), judge-1'
        """
        order, some = _ends(self._best_first, max_rows, "items")
        values = order if judge is None else scores(self._fit).loc[self._judge(judge), order.index]
        title = "P(row preferred to column), " + ("consensus" if judge is None else judge) + some
        shown, positions = preference_probabilities(values), self._fit.positions("mu", list(order.index))
        # Of two groups that nobody compared there is none.
        pairs = np.meshgrid(positions, positions, indexing="ij")
        is_known = are_linked(self._fit.layout, *(side.ravel() for side in pairs)).reshape(shown.shape)
        shown = shown.where(is_known)
        return plots.plot_probabilities(shown, title=title, family=self._family(family, "item"), ax=check_axes(ax))

    def convergence(self, *, ax: Axes | None = None) -> Axes:
        """How every start came to its optimum, and the paper's alternating algorithm where it was used.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> [text.get_text() for text in result.plot.convergence().get_legend().get_texts()]
        ['start 1', '15 more starts']
        """
        paths = {f"start {i}": path for i, path in enumerate(self._fit.search.paths, start=1)}
        if not paths and len(self._fit.optimum.path) > 1:
            paths = {self._fit.method: self._fit.optimum.path}
        if self._fit.history is not None:
            paths = {"alternating": self._fit.history.values, **paths}
        if not paths:
            raise OptionError("the steps of this fit were not kept: fit the model again to see them.")
        title = "Convergence of every start; one that comes near an optimum already found ends there"
        return plots.plot_convergence(paths, title=title, ax=check_axes(ax))

    def calibration(self, n_bins: int = 10, *, ax: Axes | None = None) -> Axes:
        """Predicted probabilities against observed shares of the data the model was fitted to, in groups of equal size.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.plot.calibration(n_bins=3).collections[-1].get_offsets().round(2).tolist()     # predicted, observed
        [[0.23, 0.24], [0.56, 0.56], [0.88, 0.88]]
        """
        return plots.plot_calibration(calibration_groups(self._fit, self._observed(), n_bins), ax=check_axes(ax))

    def profile(self, spec: Spec, alpha: float = 0.05, *, ax: Axes | None = None) -> Axes:
        """Profile likelihood of a parameter or contrast, as a signed root, with its interval and the Wald interval.

        Where the curve is straight the two agree. It is bent where verdicts are few, and levels off below the line of the
        interval where this has no end.

        Parameters
        ----------
        spec : str or callable
            One contrast, as in :meth:`hjastats.HJAResults.contrast`.
        alpha : float
            One minus the level.
        ax : matplotlib.axes.Axes, optional

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> [text.get_text() for text in result.plot.profile("gamma[judge-1]").get_legend().get_texts()]
        ['profile: 2.406 to 3.322', 'Wald: 2.433 to 3.268']
        """
        fit = self._fit
        one, *others = scalars(fit, spec)
        if others:
            raise OptionError(f"a profile is drawn of one contrast, got {len(others) + 1}.")
        found = profile(fit, one, alpha, n_points=12)
        return plots.plot_profile(
            found.points,
            (found.lower, found.upper),
            wald=found.wald,
            critical=float(stats.norm.isf(alpha / 2.0)),
            xlabel=one.name,
            title=f"Profile likelihood of {one.name} with {1 - alpha:.0%} intervals",
            ax=check_axes(ax),
        )

    def comparisons(
        self, *, family: Family | str | None = None, max_rows: int = limits.FIGURE_ROWS, ax: Axes | None = None
    ) -> Axes:
        """Which items were compared how often, items in the order of the consensus.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.plot.comparisons().get_title(loc="left")
        'Comparisons between items'
        """
        data = self._observed().data
        order, some = _ends(self._best_first, max_rows, "items")
        return plots.plot_comparisons(
            comparison_counts(data, tuple(order.index)),
            title="Comparisons between items" + some,
            family=self._family(family, "item"),
            ax=check_axes(ax),
        )

    @property
    def _best_first(self) -> pd.Series:
        """Consensus scores, best item first; of groups that are apart one after the other."""
        order, values = self._fit.best_first
        if are_apart(self._fit.layout):
            groups = self._fit.layout.structure.groups
            by_group = np.argsort(np.argmax([np.isin(order, group) for group in groups], axis=0), kind="stable")
            order, values = order[by_group], values[by_group]
        return pd.Series(values, pd.Index([self._fit.layout.items[i] for i in order], name="item"))

    def _ranking_table(
        self,
        judge: str | None,
        items: Sequence[str] | None,
        level: float,
        max_rows: int,
        rng: int | np.random.Generator | None,
    ) -> tuple[pd.DataFrame, str]:
        fit, values = self._fit, self._best_first
        if judge is not None:
            values = scores(fit).T[self._judge(judge)].sort_values(ascending=False, kind="stable")
        if items is not None:
            wanted = [fit.layout.items[i] for i in compared_positions(fit, "mu", items)]
            values = values[values.index.isin(wanted)]
        some, title = _ends(values, max_rows, "items")
        is_ranked = not values.isna().any() and len(values) <= limits.MOST_COMPARED and fit.covariance.is_finite
        if not is_ranked and judge is not None:
            return pd.DataFrame({"score": some, "ci_lower": np.nan, "ci_upper": np.nan}), title
        if not is_ranked:
            # Places and groups are those of all items; without a finite score for each there are none.
            return estimates(fit, "mu", list(some.index)).rename(columns={"estimate": "score"}), title
        return ranking(fit, judge, level=level, rng=rng, items=items).loc[some.index], title

    def _judge(self, judge: str) -> str:
        if not isinstance(judge, str) or judge not in self._fit.layout.judges:
            raise OptionError(f"no judge is called {judge!r}; the judges are {quoted(self._fit.layout.judges, 10)}.")
        return judge

    def _family(self, family: Family | str | None, *roles: str) -> Family | None:
        """Families by label, taken from the metadata where a column is named."""
        if family is None:
            return None
        if isinstance(family, Mapping | pd.Series):
            return pd.Series(family, dtype=object).map(str, na_action="ignore")
        check_type("family", family, str, "a dict or Series from labels to families, or the name of a metadata column")
        data = self._observed().data
        known = {"judge": (data.judges, data.judge_metadata), "item": (data.items, data.item_metadata)}
        named: dict[str, str] = {}
        for role in roles:
            labels, metadata = known[role]
            given = family_labels(family, role, labels, metadata)
            named |= {label: group for label, group in zip(labels, given, strict=True) if group is not None}
        return named

    def _need_sensitivity(self) -> None:
        if not self._fit.layout.structure.judges_differ:
            raise OptionError(
                "all judges of this model have the same scores: fit JAModel or HJAModel to tell them apart."
            )

    def _need_disagreement(self) -> None:
        self._need_sensitivity()
        largest = np.abs(np.nan_to_num(self._fit.residual)).max(initial=0.0)
        if not self._fit.layout.rank and largest <= NO_DISAGREEMENT * np.abs(np.nan_to_num(self._fit.at.scores)).max(
            initial=1.0
        ):
            raise OptionError("this model has no disagreement: fit HJAModel with rank 1 or more.")


def calibration_groups(fit: Fit, observed: Observations, n_bins: int = 10) -> pd.DataFrame:
    """Predicted and observed shares of the comparisons the model was fitted to, in groups of equal size."""
    rows, data, response = observed.rows, observed.data, observed.rows.response
    predicted = expected_outcome(response, response.probabilities(log_odds(rows, fit.at), own_predictors(rows, fit.at)))
    return calibration_table(predicted, data.outcome, data.weight, n_bins=n_bins)


def places_by_judge(fit: Fit) -> pd.DataFrame:
    """Items, best first, by judges: their places by every judge's own scores; none where a score is not finite."""
    return scores(fit).T.iloc[fit.best_first[0]].rank(ascending=False, method="first")


def _ends(table: Any, max_rows: int, what: str) -> tuple[Any, str]:
    """The first and last rows of a table that is longer than a figure, and what to add to the title.

    Tables that are not in the order of their estimates are put in it, for there to be a first and a last.
    """
    check_whole("max_rows", max_rows, 1)
    n = len(table)
    if n <= max_rows:
        return table, ""
    if isinstance(table, pd.DataFrame):
        table = table.sort_values("estimate", ascending=False, kind="stable")
    first, last = (max_rows + 1) // 2, max_rows // 2
    return table.iloc[shown_rows(n, max_rows)], f": the first {first} and last {last} of {n:,} {what}"


def _largest(residual: pd.DataFrame, max_rows: int) -> tuple[pd.DataFrame, str]:
    """The judges and items that disagree most, where there are more than a figure has room for, and what to add to the title."""
    check_whole("max_rows", max_rows, 1)
    squares = np.nan_to_num(residual.to_numpy(float)) ** 2
    kept, texts = [], []
    for labels, size, what in ((residual.index, squares.sum(1), "judges"), (residual.columns, squares.sum(0), "items")):
        some = np.sort(np.argsort(-size, kind="stable")[:max_rows])
        kept.append(labels[some])
        if len(labels) > max_rows:
            texts.append(f"{max_rows} of {len(labels):,} {what}")
    return residual.loc[kept[0], kept[1]], f": {' and '.join(texts)}, where it is largest" if texts else ""
