"""What a fit says about its judges: who carries the consensus, who departs from it, and how."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from .. import limits
from ..data.arrays import check_option
from ..diagnostics.affinity import Affinity, affinity, family_labels
from ..diagnostics.biclustering import Bicluster, bicluster
from ..diagnostics.cards import JudgeCard, judge_sentence, nearest_judges
from ..diagnostics.consistency import cycle_rates, mean_squares
from ..diagnostics.diagnosis import judge_facts
from ..diagnostics.effective import EffectiveJudges, effective_judges, information_shares
from ..diagnostics.influence import Influence, by_one_step, by_refitting, influence_table
from ..errors import ContrastError, IdentificationError, SizeError
from ..inference.covariance import Covariance
from ..model.likelihood import evaluate
from ..model.structures import Unrestricted
from ..solve.ridge import NO_RIDGE


class ExaminationMethods:
    """Methods of :class:`hjastats.HJAResults` that examine its judges."""

    model: Any
    estimate: Any
    decomposition: Any
    disagreement: Any
    scores: Any
    sensitivity: Any
    position: Any
    leverage: Any
    _covariance: Covariance
    is_withheld: Any
    _need_data: Any
    _quantities: Any

    def influence(self, method: str = "one-step", n_jobs: int = 1) -> Influence:
        """What leaving out each judge does to the consensus.

        The consensus without a judge is the mean of the remaining judges' scores, as the paper's normalisation has it: part of the
        change is the judge's own row leaving the mean, the rest is that it no longer pulls on the others.

        Parameters
        ----------
        method : {"one-step", "refit"}
            One Newton step from the full estimate with the judge's comparisons and parameters removed
            (:func:`hjastats.diagnostics.deletion.one_step`), or the same model fitted to the other judges. The step is good while
            changes are small against the scores; confirm the judges it points at by refitting.
        n_jobs : int
            Parallel refits (joblib).

        Returns
        -------
        Influence
            ``table`` with one row per judge and ``consensus`` without each. Where the others do not determine the model, or their
            estimate does not exist, the row is empty and ``note`` says why.

        Raises
        ------
        IdentificationError
            When the fit itself has no finite estimate to start from.
        SizeError
            For a step of more than 12,000 parameters.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel(), position="judge").fit()
        >>> result.influence().table["rms_change"].head(2).round(3)
        judge
        judge-1    0.361
        judge-2    0.126
        Name: rms_change, dtype: float64
        """
        check_option("method", method, ("one-step", "refit"))
        if not self.estimate.converged:
            raise IdentificationError(
                "the fit has no finite, determined estimate whose change could be measured: use fit_regularized()."
            )
        model, at, penalty = self.model, self.estimate.at, self.estimate.penalty
        if method == "refit":
            self._need_data()
            without = by_refitting(model, at, penalty, n_jobs)
        elif penalty is not None and penalty.kind == "firth":
            raise IdentificationError("bias-reduced estimates maximise no likelihood to step on: use method='refit'.")
        elif (n_free := model.layout.n_free) > limits.LARGEST_MATRIX:
            raise SizeError(
                f"a step of {n_free:,} parameters without each judge takes a matrix of all of them: use method='refit'."
            )
        else:
            ridge = NO_RIDGE if penalty is None else penalty.ridge
            tangent, judges = self.estimate.tangent, range(len(model.judges))
            without = [by_one_step(model.cells, model.layout, at, tangent, ridge, k) for k in judges]
        return influence_table(method, model.judges, model.items, self.decomposition.mu, without)

    def affinity(self, judge_family: Any = "family", item_family: Any = "family", alpha: float = 0.05) -> Affinity:
        """Whether judges favour items of their own family beyond the consensus.

        Contrasts, for each judge, the mean residual disagreement ``(U V')[judge, item]`` over items of its own family with that
        over all other items, by the delta method with the full covariance of the fit.

        Parameters
        ----------
        judge_family, item_family : str, dict or pandas.Series
            Families by label, or the name of a column of the data's metadata (:meth:`Comparisons.with_metadata`). None or a missing
            value for those without family.
        alpha : float
            One minus the level of the intervals.

        Returns
        -------
        Affinity
            ``families`` and ``judges`` with Holm-adjusted p-values, ``overall``, and ``joint_test`` that no family favours its own.

        Raises
        ------
        ContrastError
            When the model has no disagreement, or no judge has items of its own family.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> judges = {judge: "x" if judge == "judge-5" else None for judge in result.model.judges}
        >>> items = {item: "x" if item in ("model-A", "model-D") else "y" for item in result.model.items}
        >>> result.affinity(judges, items).families[["judges", "items", "estimate", "std_err"]].round(3)
                judges  items  estimate  std_err
        family
        x            1      2     0.243    0.128
        """
        if not self.model.rank and not isinstance(self.model.structure, Unrestricted):
            raise ContrastError(
                "the model has rank 0, so there is no disagreement to contrast: fit HJAModel with rank 1."
            )
        if self.is_withheld("U") or self.estimate.separation is not None:
            raise IdentificationError(
                "some scores run to infinity, so disagreement is withheld: use fit_regularized()."
            )
        data, model = self.model.comparisons, self.model
        known = (None, None) if data is None else (data.judge_metadata, data.item_metadata)
        judges = family_labels(judge_family, "judge", model.judges, known[0])
        items = family_labels(item_family, "item", model.items, known[1])
        return affinity(self._quantities, self._covariance, judges, items, alpha)

    def bicluster(self, n_groups: int | tuple[int, int] | None = None, of: str = "disagreement") -> Bicluster:
        """Order and groups of judges and items by hierarchical clustering.

        Parameters
        ----------
        n_groups : int or pair of int, optional
            Groups of judges and of items; by default where the trees leave the widest gap.
        of : {"disagreement", "scores"}
            The residual ``U V'``, or the judge-specific scores as in the paper's figures.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.bicluster().judge_groups.to_dict()["judge-5"]
        1
        """
        check_option("of", of, ("disagreement", "scores"))
        return bicluster(self.disagreement if of == "disagreement" else self.scores, n_groups)

    def effective_judges(self) -> EffectiveJudges:
        """How many judges the consensus really rests on: the inverse Herfindahl index of their shares of the information about it.

        See :func:`hjastats.diagnostics.effective.information_shares` for the formula. It is the number of judges when all tell
        equally much, and one when a single judge tells everything.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel(), position="judge").fit()
        >>> round(result.effective_judges().number, 1)
        4.0
        """
        model, at = self.model, self.estimate.at
        nothing = np.full(len(model.judges), np.nan)
        if self.estimate.separation is not None:
            return effective_judges(nothing, model.judges, "Some scores run to infinity, where verdicts tell nothing.")
        if len(model.items) > limits.INVERTED_ITEMS:
            reason = f"It takes the inverse of a matrix of all pairs, of at most {limits.INVERTED_ITEMS:,} items."
            return effective_judges(nothing, model.judges, reason)
        shares = information_shares(model.cells, evaluate(model.cells, at).curvature, self.decomposition.gamma)
        return effective_judges(shares, model.judges)

    def judge_cards(self) -> pd.DataFrame:
        """What the data and the fit say about every judge, one row each.

        Returns
        -------
        pandas.DataFrame
            comparisons; sensitivity and position with standard errors (position is empty if not modelled); first_share of the
            decided verdicts; tie_rate (empty if ties were left out); dropped_rate of verdicts that could not be used; flip_rate of
            pairs judged in both orders (empty without such pairs); cycle_rate, the share of intransitive among decided triples;
            infit and outfit mean squares, expected to be 1 (below with ties as half wins); leverage h and rho; information_share
            about the consensus; the nearest judge by the correlation of scores; a sentence. What is withheld is empty.

        See Also
        --------
        judge_card : one of them, to read.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.judge_cards().loc["judge-first", "sentence"]
        'Follows the consensus about as sharply as average (1.17, 0.86 to 1.47); prefers the first answer (+2.7 log-odds).'
        """
        table = self._judge_facts()
        bounds = [f"{name}_{end}" for name in ("sensitivity", "first") for end in ("lower", "upper")]
        return table.drop(columns=["position_kind", "has_halves", "median_h", *bounds])

    def judge_card(self, judge: str) -> JudgeCard:
        """What the data and the fit say about one judge, on a card that prints itself.

        Raises
        ------
        ContrastError
            When there is no such judge.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.judge_card("judge-noise")
        judge-noise
        Follows the consensus less sharply than average (0.23, 0.08 to 0.38);
        contradicts itself in 24% of triples.
        <BLANKLINE>
          comparisons    400, 0.0% ties, 0.0% unusable
          sensitivity    0.23 (se 0.08, average judge 1)
          position       +0.03 (se 0.10), first in 50.2% of decided verdicts
          flips          no pair judged in both orders
          cycles         23.7% of triples go round (coins: 25%)
          infit, outfit  1.00, 1.00 (1 is expected)
          disagreement   h = 0.05, 0.09 times its consensus part
          information    1.0% of that about the consensus
          judges like    judge-first (1.00), judge-2 (0.97)
        """
        k = self._quantities.resolve("gamma", (str(judge),))[0]
        label = self.model.judges[k]
        facts = self._judge_facts().loc[label]
        return JudgeCard(label, facts, facts["sentence"], nearest_judges(self.scores)[label])

    def _judge_facts(self) -> pd.DataFrame:
        """The rows of the cards, with what their sentences need besides."""
        self._need_data()
        model, data = self.model, self.model.comparisons
        known, sensitivity = judge_facts(data, None), self.sensitivity
        table = known[["comparisons"]].copy()
        table["sensitivity"], table["sensitivity_se"] = sensitivity["estimate"], sensitivity["std_err"]
        table["sensitivity_lower"], table["sensitivity_upper"] = sensitivity["ci_lower"], sensitivity["ci_upper"]
        table["position_kind"] = model.position or ""
        table["position"], table["position_se"] = np.nan, np.nan
        if model.position is not None:
            effect = self.position if model.position == "judge" else self.position.iloc[np.zeros(len(table), dtype=int)]
            table["position"], table["position_se"] = effect["estimate"].to_numpy(), effect["std_err"].to_numpy()
        table[["first_share", "first_lower", "first_upper"]] = known[["first_share", "first_lower", "first_upper"]]
        table["tie_rate"] = np.nan if model.ties == "drop" else known["tie_rate"]
        table["dropped_rate"] = known["dropped"] / (known["dropped"] + known["comparisons"])
        table["flip_rate"] = known.get("flip_rate", np.nan)
        table["cycle_rate"] = cycle_rates(data.cells)
        halves = (data.outcome > 0) & (data.outcome < 1) & (model.tie == "")
        table["has_halves"] = np.bincount(data.judge_index, halves, data.n_judges) > 0
        table["infit"], table["outfit"] = mean_squares(model.row_cells(), self.estimate.at)
        if self.estimate.separation is not None:
            # Certainty that grows without limit fits whatever it is certain of.
            affected = self.estimate.separation.is_affected.any(axis=1) | np.isnan(table["position"]) & bool(
                model.position
            )
            table.loc[affected, ["infit", "outfit"]] = np.nan
        table[["h", "rho"]] = self.leverage()
        table["median_h"] = table["h"].median()
        table["information_share"] = self.effective_judges().shares.loc[table.index]
        nearest = nearest_judges(self.scores, 1)
        table["nearest"] = [nearest[judge][0][0] if nearest[judge] else "" for judge in table.index]
        table["sentence"] = [judge_sentence(row) for row in table.to_dict("records")]
        return table
