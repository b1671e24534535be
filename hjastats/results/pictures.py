"""Figures of a fit: which of its tables each one shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import stats

from .. import limits, plots
from ..diagnostics.affinity import family_labels
from ..diagnostics.biclustering import bicluster
from ..diagnostics.calibration import calibration_table
from ..diagnostics.findings import outlying
from ..diagnostics.preferences import comparison_counts, preference_probabilities
from ..inference.covariance import Covariance
from ..summary import shown_rows
from ..words import quoted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..plots.colours import Family


# Judges shown in colour when there are too many to show all.
N_HIGHLIGHTED = 4


class PictureMethods:
    """Methods of :class:`hjastats.HJAResults` that draw its tables.

    Every one takes ``ax``, the matplotlib axes to draw in (a new figure by default), and returns the axes. Where it takes
    ``family``, families get colours: a Series or dict from judge or item to family, or the name of a metadata column
    (:meth:`Comparisons.with_metadata`). ``max_rows`` is the number of items, or judges, to show: of more, the first and last, or
    those that stand out. matplotlib is needed: ``pip install 'hjastats[plots]'``.
    """

    model: Any
    estimate: Any
    consensus: Any
    decomposition: Any
    estimates: Any
    is_separated: Any
    sensitivity: Any
    position: Any
    scores: Any
    disagreement: Any
    leverage: Any
    ranking: Any
    is_withheld: Any
    fittedvalues: Any
    _covariance: Covariance
    _need_data: Any

    def plot_ranking(
        self,
        judge: str | None = None,
        *,
        level: float = 0.95,
        family: Family | str | None = None,
        max_rows: int = limits.FIGURE_ROWS,
        ax: Axes | None = None,
    ) -> Axes:
        """Items, best first, with intervals, comparison intervals and tied groups.

        Two items whose comparison intervals (thick, from quasi-standard errors) do not overlap differ at about this level, one
        pair at a time; items joined at the right
        cannot be told apart in the simultaneous comparison of :meth:`ranking`.

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

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> result.plot_ranking().get_yticklabels()[0].get_text()
        'model-I'
        """
        table, title = self._ranking_table(judge, level, max_rows)
        xlabel = "score (log-odds)" if judge is not None else "consensus score (log-odds)"
        if "comparison_lower" in table:
            xlabel += f"; thin lines: {level:.0%} intervals, thick lines: for comparing two items"
        return plots.plot_ranking(
            table,
            xlabel=xlabel,
            title=("Ranking by the consensus" if judge is None else f"Ranking by {judge}") + title,
            family=self._family(family, "item"),
            ax=ax,
        )

    def plot_sensitivity(
        self, *, family: Family | str | None = None, max_rows: int = limits.FIGURE_ROWS, ax: Axes | None = None
    ) -> Axes:
        """Sensitivity of each judge with 95% intervals, against one, the panel's average.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.plot_sensitivity().get_title(loc="left")
        'Sensitivity of the judges'
        """
        self._need_sensitivity()
        table, title = _ends(self.sensitivity, max_rows, "judges")
        return plots.plot_intervals(
            table,
            reference=1.0,
            xlabel="sensitivity to the consensus (panel average 1) with 95% intervals",
            title="Sensitivity of the judges" + title,
            family=self._family(family, "judge"),
            ax=ax,
        )

    def plot_position(
        self, *, family: Family | str | None = None, max_rows: int = limits.FIGURE_ROWS, ax: Axes | None = None
    ) -> Axes:
        """Position effects with 95% intervals, against zero.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.plot_position().get_title(loc="left")
        'Position effects of the judges'
        """
        if self.model.position is None:
            raise ValueError("this model has no position effects: fit it with position='judge' or position='common'.")
        table, title = _ends(self.position, max_rows, "judges")
        return plots.plot_intervals(
            table,
            reference=0.0,
            xlabel="bonus of the item shown first (log-odds) with 95% intervals",
            title="Position effects of the judges" + title,
            family=self._family(family, "judge"),
            ax=ax,
        )

    def plot_disagreement(
        self, *, family: Family | str | None = None, max_rows: int = limits.FIGURE_ROWS, ax: Axes | None = None
    ) -> Figure | Axes:
        """Residual heatmap, similar judges and items side by side, with consensus, sensitivity and leverage at the margins.

        Returns
        -------
        matplotlib.figure.Figure
            With ``ax``, only the heatmap is drawn, and its axes are returned.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> type(result.plot_disagreement()).__name__
        'Figure'
        """
        self._need_disagreement()
        residual, title = _largest(self.disagreement, max_rows)
        # Withheld cells have no disagreement to be alike in.
        alike = bicluster(residual.fillna(0.0))
        residual = residual.loc[list(alike.judge_order), list(alike.item_order)]
        if ax is not None:
            return plots.plot_heatmap(residual, family=self._family(family, "judge", "item"), ax=ax)
        return plots.plot_disagreement(
            residual,
            consensus=self.estimates("mu", list(residual.columns)),
            sensitivity=self.sensitivity.loc[residual.index],
            leverage=self.leverage()["h"].loc[residual.index],
            title="What the consensus does not explain" + title,
            family=self._family(family, "judge", "item"),
        )

    def plot_profiles(
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
            Judges in colour; by default all of up to eight, of more the four furthest from the consensus.
        family : pandas.Series or dict, optional
            Judge to family.
        max_rows : int
            Of more items the first and last are shown.
        ax : matplotlib.axes.Axes, optional

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> [label.get_text() for label in result.plot_profiles(highlight=["judge-5"]).get_yticklabels()[:2]]
        ['model-I', 'model-H']
        """
        self._need_sensitivity()
        from ..plots.profiles import MAX_COLOURS

        everything = self._best_first
        if highlight is None and family is None and len(self.model.judges) > MAX_COLOURS:
            distance = self.scores.sub(everything).pow(2).sum(axis=1)
            highlight = list(distance.nlargest(N_HIGHLIGHTED).index)
        consensus, title = _ends(everything, max_rows, "items")
        return plots.plot_profiles(
            self.scores[consensus.index],
            consensus,
            highlight=highlight,
            title="Scores of each judge, items in the order of the consensus" + title,
            family=self._family(family, "judge"),
            ax=ax,
        )

    def plot_leverage(self, *, family: Family | str | None = None, ax: Axes | None = None) -> Axes:
        """Size of each judge's disagreement against its sensitivity; those that dominate the panel are named.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.plot_leverage().get_xlabel()
        'sensitivity to the consensus'
        """
        self._need_disagreement()
        leverage = self.leverage()
        table = pd.DataFrame({"sensitivity": self.sensitivity["estimate"], "h": leverage["h"]})
        return plots.plot_leverage(
            table, outliers=list(outlying(leverage).index), family=self._family(family, "judge"), ax=ax
        )

    def plot_probabilities(
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
        >>> result.plot_probabilities("judge-1").get_title(loc="left")
        'P(row preferred to column), judge-1'
        """
        order, some = _ends(self._best_first, max_rows, "items")
        scores = order if judge is None else self.scores.loc[self._judge(judge), order.index]
        title = "P(row preferred to column), " + ("consensus" if judge is None else judge) + some
        return plots.plot_probabilities(
            preference_probabilities(scores), title=title, family=self._family(family, "item"), ax=ax
        )

    def plot_convergence(self, *, ax: Axes | None = None) -> Axes:
        """How every start came to its optimum, and the paper's alternating algorithm where it was used.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.plot_convergence().get_xlabel()
        'iteration'
        """
        paths = {f"start {i}": path for i, path in enumerate(self.estimate.search.paths, start=1)}
        if not paths and len(self.estimate.optimum.path) > 1:
            paths = {self.estimate.method: self.estimate.optimum.path}
        if self.estimate.history is not None:
            paths = {"alternating": self.estimate.history.values, **paths}
        if not paths:
            raise ValueError("the steps of this fit were not kept: fit the model again to see them.")
        title = "Convergence of every start; one that comes near an optimum already found ends there"
        return plots.plot_convergence(paths, title=title, ax=ax)

    def plot_calibration(self, n_bins: int = 10, *, ax: Axes | None = None) -> Axes:
        """Predicted probabilities against observed shares of the data the model was fitted to, in groups of equal size.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.plot_calibration(n_bins=5).get_xlabel()
        'predicted probability that the first item is preferred'
        """
        self._need_data()
        data = self.model.comparisons
        return plots.plot_calibration(
            calibration_table(self.fittedvalues, data.outcome, data.weight, n_bins=n_bins), ax=ax
        )

    def plot_comparisons(
        self, *, family: Family | str | None = None, max_rows: int = limits.FIGURE_ROWS, ax: Axes | None = None
    ) -> Axes:
        """Which items were compared how often, items in the order of the consensus.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.plot_comparisons().get_title(loc="left")
        'Comparisons between items'
        """
        self._need_data()
        order, some = _ends(self._best_first, max_rows, "items")
        return plots.plot_comparisons(
            comparison_counts(self.model.comparisons, tuple(order.index)),
            title="Comparisons between items" + some,
            family=self._family(family, "item"),
            ax=ax,
        )

    @property
    def _best_first(self) -> pd.Series:
        """Consensus scores, best item first, those without a finite one last."""
        runs_away = self.is_separated[self.model.layout.slices["mu"]] if "mu" in self.model.layout.slices else False
        scores = np.where(runs_away, np.nan, self.decomposition.mu)
        order = np.argsort(-scores, kind="stable")
        index = pd.Index([self.model.items[i] for i in order], name="item")
        return pd.Series(scores[order], index).sub(pd.Series(scores).mean())

    def _ranking_table(self, judge: str | None, level: float, max_rows: int) -> tuple[pd.DataFrame, str]:
        scores = self._best_first
        if judge is not None:
            scores = self.scores.loc[self._judge(judge)].sort_values(ascending=False, kind="stable")
        some, title = _ends(scores, max_rows, "items")
        is_ranked = not scores.isna().any() and len(scores) <= limits.MOST_COMPARED and self._covariance.is_finite
        if not is_ranked and judge is not None:
            return pd.DataFrame({"score": some, "ci_lower": np.nan, "ci_upper": np.nan}), title
        if not is_ranked:
            # Places and groups are those of all items; without a finite score for each there are none.
            return self.estimates("mu", list(some.index)).rename(columns={"estimate": "score"}), title
        table = self.ranking(judge, level=level).loc[some.index]
        # A difference has about the root sum of squares of two quasi-standard errors. With equal ones, half the critical difference
        # is z / sqrt(2) of them: lines of this length part where a pair differs at this level.
        half = stats.norm.ppf(0.5 + level / 2.0) / np.sqrt(2.0) * table["quasi_se"]
        return table.assign(comparison_lower=table["score"] - half, comparison_upper=table["score"] + half), title

    def _judge(self, judge: str) -> str:
        if judge not in self.model.judges:
            raise ValueError(f"no judge is called {judge!r}; the judges are {quoted(self.model.judges, 10)}.")
        return judge

    def _family(self, family: Family | str | None, *roles: str) -> Family | None:
        """Families by label, taken from the metadata where a column is named."""
        if not isinstance(family, str):
            return family
        self._need_data()
        data = self.model.comparisons
        known = {"judge": (data.judges, data.judge_metadata), "item": (data.items, data.item_metadata)}
        named: dict[str, str] = {}
        for role in roles:
            labels, metadata = known[role]
            given = family_labels(family, role, labels, metadata)
            named |= {label: group for label, group in zip(labels, given, strict=True) if group is not None}
        return named

    def _need_sensitivity(self) -> None:
        if not {"gamma", "S"} & set(self.model.layout.slices):
            raise ValueError(
                "all judges of this model have the same scores: fit JAModel or HJAModel to tell them apart."
            )

    def _need_disagreement(self) -> None:
        self._need_sensitivity()
        if not self.model.rank and "S" not in self.model.layout.slices:
            raise ValueError("this model has no disagreement: fit HJAModel with rank 1 or more.")


def _ends(table: Any, max_rows: int, what: str) -> tuple[Any, str]:
    """The first and last rows of a table that is longer than a figure, and what to add to the title.

    Tables that are not in the order of their estimates are put in it, for there to be a first and a last.
    """
    n = len(table)
    if n <= max_rows:
        return table, ""
    if isinstance(table, pd.DataFrame):
        table = table.sort_values("estimate", ascending=False, kind="stable")
    first, last = (max_rows + 1) // 2, max_rows // 2
    return table.iloc[shown_rows(n, max_rows)], f": the first {first} and last {last} of {n:,} {what}"


def _largest(residual: pd.DataFrame, max_rows: int) -> tuple[pd.DataFrame, str]:
    """The judges and items that disagree most, where there are more than a figure has room for, and what to add to the title."""
    squares = np.nan_to_num(residual.to_numpy(float)) ** 2
    kept, texts = [], []
    for labels, size, what in ((residual.index, squares.sum(1), "judges"), (residual.columns, squares.sum(0), "items")):
        some = np.sort(np.argsort(-size, kind="stable")[:max_rows])
        kept.append(labels[some])
        if len(labels) > max_rows:
            texts.append(f"{max_rows} of {len(labels):,} {what}")
    return residual.loc[kept[0], kept[1]], f": {' and '.join(texts)}, where it is largest" if texts else ""
