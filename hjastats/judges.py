"""What a fit says about its judges: who carries the consensus, who departs from it, and how."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .data.arrays import check_alpha, check_jobs, check_option
from .data.traits import judge_traits
from .diagnostics.affinity import Affinity, affinity, family_labels
from .diagnostics.biclustering import Bicluster, bicluster
from .diagnostics.cards import JudgeCard, judge_card, judge_cards
from .diagnostics.effective import EffectiveJudges
from .diagnostics.goodness import Goodness, goodness_of_fit
from .diagnostics.influence import (
    Influence,
    Without,
    after_refitting,
    by_one_step,
    check_one_step,
    influence_table,
    unavailable,
)
from .diagnostics.misfit import Misfit, misfit
from .diagnostics.redundancy import Redundancy, redundancy
from .diagnostics.stability import Stability, stability
from .diagnostics.worth import JudgePanel, Panels, choose_panel, judge_panel, judge_values
from .errors import OptionError
from .fitted import Fit
from .inference import estimates as tables
from .inference.instability import instability_tests
from .inference.planning import read_prices
from .inference.traits import trait_weights
from .looks import Menu

if TYPE_CHECKING:
    from .models import HJAModel


class JudgeQuestions(Menu):
    """Questions about the judges of a fit, as ``result.judges``.

    Examples
    --------
    >>> import hjastats as hja
    >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel(), position="judge").fit()
    >>> result.judges.effective_number()
    Effective number of judges: 4.0 of 8. Largest shares of what is known about the consensus: judge-1 43%, judge-2 18%, ...
    """

    def __init__(self, model: HJAModel, fit: Fit) -> None:
        self._model, self._fit = model, fit

    def __dir__(self) -> list[str]:
        hidden = {"instability"} if self._fit.layout.has_own_parameters else set()
        hidden |= {"trait_weights"} if self._model.traits is None else set()
        return [name for name in super().__dir__() if name not in hidden]

    def cards(self) -> pd.DataFrame:
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
        card : one of them, to read.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.judges.cards().loc["judge-first", "sentence"]
        'Follows the consensus about as sharply as average (1.17, 0.86 to 1.47); prefers the first answer (+2.7 log-odds).'
        """
        return judge_cards(self._fit, self._model.observations)

    def card(self, judge: str) -> JudgeCard:
        """What the data and the fit say about one judge, on a card that prints itself.

        Raises
        ------
        ContrastError
            When there is no such judge.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.judges.card("judge-noise")
        judge-noise
        Follows the consensus less sharply than average (0.23, 0.08 to 0.38).
        <BLANKLINE>
          comparisons    400, 0.0% ties, 0.0% unusable
          sensitivity    0.23 (se 0.08, average judge 1)
          position       +0.03 (se 0.10), first in 50.2% of decided verdicts
          flips          no pair in both orders on one prompt by this judge
          cycles         23.7% of triples go round (coins: 25%)
          infit, outfit  1.00, 1.00 (1 is expected)
          disagreement   h = 0.05, 0.09 times its consensus part
          information    1.0% of that about the consensus
          fitted scores  most like judge-first (1.00), judge-2 (0.97)
        """
        return judge_card(self._fit, self._model.observations, judge)

    def instability(self, traits: Any = None, min_size: int = 10) -> pd.DataFrame:
        """Whether what these judges share is the same whatever they are: a score-based test for each trait.

        Parameters
        ----------
        traits : list of str or pandas.DataFrame, optional
            Which columns of the judges' metadata, or a table with a row for each; all of the metadata by default. Numbers are
            tested against a change at any value (supLM), labels against any differences between them (LM).
        min_size : int
            Fewest judges on either side of a change.

        Returns
        -------
        pandas.DataFrame
            statistic, df, kind, p_value, p_adjusted for the number of traits.

        See Also
        --------
        hjastats.partition : the groups of judges who differ.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> import hjastats as hja
        >>> rng = np.random.default_rng(0)
        >>> first, second = rng.permuted(np.tile(["a", "b", "c"], (900, 1)), axis=1)[:, :2].T
        >>> likes_a = (first == "a") * 1.0 - (second == "a")                  # the young like a, the old do not
        >>> judge = np.repeat(np.arange(60), 15)
        >>> chance = 1 / (1 + np.exp(-np.where(judge < 30, 1, -1) * likes_a))
        >>> data = hja.Comparisons.from_arrays(judge, first, second, rng.random(900) < chance)
        >>> people = pd.DataFrame({"age": 20 + np.arange(60), "coin": rng.choice(["heads", "tails"], 60)})
        >>> result = hja.BTLModel.from_comparisons(data).fit()
        >>> result.judges.instability(people)[["kind", "df", "p_value"]].round(3)
                kind   df  p_value
        trait
        age    supLM  2.0    0.000
        coin      LM  2.0    0.554
        """
        return instability_tests(self._fit, judge_traits(self._model.observations.data, traits), min_size)

    def leverage(self) -> pd.DataFrame:
        """Size of each judge's disagreement: h, the norm of its row of U V', and rho, h over the norm of its consensus part.

        Empty where the disagreement is still changing on the way to infinity.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.judges.leverage().loc[["judge-5", "judge-noise"]].round(2)
                        h   rho
        judge
        judge-5      2.65  1.39
        judge-noise  0.05  0.09
        """
        return tables.leverage(self._fit)

    def score_errors(self) -> pd.DataFrame:
        """Standard errors of :attr:`hjastats.HJAResults.scores`; empty for judges with a score that runs to infinity.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.judges.score_errors().loc["judge-5", ["model-A", "model-I"]].round(2).to_dict()
        {'model-A': 0.2, 'model-I': 0.2}
        """
        return tables.score_errors(self._fit)

    def relative_loadings(self, alpha: float = 0.05) -> pd.DataFrame:
        """Loadings W = U / gamma: how far a judge's taste departs from the consensus per unit of sensitivity.

        They belong to the other reading of the model in the paper's appendix, ``S = diag(gamma)(1 mu' + W V')``, in which gamma
        scales all of a judge's scores. A judge whose sensitivity cannot be told from zero has no W; its row is empty.

        Returns
        -------
        pandas.DataFrame
            Indexed by judge and direction: estimate, std_err, z, p_value, ci_lower, ci_upper.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.judges.relative_loadings().loc["judge-5", ["estimate", "std_err", "p_value"]].round(3)
                   estimate  std_err  p_value
        direction
        1             1.203      0.2      0.0
        """
        return tables.relative_loadings(self._fit, alpha)

    def influence(self, method: str = "one-step", n_jobs: int = 1) -> Influence:
        """What leaving out each judge does to the consensus.

        The consensus without a judge is the mean of the other judges' scores (the paper's normalisation). It changes for two
        reasons: the judge's own scores leave the mean, and its verdicts no longer pull on the others. The first alone stretches the
        consensus when a judge leaves whose sensitivity is small, and changes no order; so judges are ordered by what is left when
        the consensus is brought to the same length, ``relative_change``.

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
        >>> result.judges.influence().table["relative_change"].head(2).round(3)
        judge
        judge-1    0.446
        judge-2    0.151
        Name: relative_change, dtype: float64
        """
        check_option("method", method, ("one-step", "refit"))
        if method == "refit":
            self._fit.need_free("refitting")
        fit = self._fit
        fit.need_converged(
            "the fit has no finite, determined estimate whose change could be measured: use fit_regularized()."
        )
        judges = range(len(fit.layout.judges))
        if method == "refit":
            from joblib import Parallel, delayed

            _ = self._model.observations
            check_jobs(n_jobs)
            without = list(Parallel(n_jobs=n_jobs)(delayed(_refitted)(self._model, fit, k) for k in judges))
        else:
            check_one_step(fit)
            without = [by_one_step(fit, k) for k in judges]
        return influence_table(method, fit.layout.judges, fit.layout.items, fit.parts.mu, without)

    def affinity(self, judge_family: Any = "family", item_family: Any = "family", alpha: float = 0.05) -> Affinity:
        """Whether judges favour items of their own family beyond the consensus.

        Contrasts, for each judge, the mean residual disagreement ``(U V')[judge, item]`` over items of its own family with that
        over all other items, by the delta method with the full covariance of the fit.

        Parameters
        ----------
        judge_family, item_family : str, dict or pandas.Series
            Families by label, or the name of a column of the data's metadata (:meth:`hjastats.Comparisons.with_metadata`). None or
            a missing value for those without family.
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
        >>> result.judges.affinity(judges, items).families[["judges", "items", "estimate", "std_err"]].round(3)
                judges  items  estimate  std_err
        family
        x            1      2     0.243    0.128
        """
        data, layout = self._model.comparisons, self._fit.layout
        known = (None, None) if data is None else (data.judge_metadata, data.item_metadata)
        judges = family_labels(judge_family, "judge", layout.judges, known[0])
        items = family_labels(item_family, "item", layout.items, known[1])
        return affinity(self._fit, judges, items, alpha)

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
        >>> groups = result.judges.bicluster().judge_groups
        >>> [list(members) for _, members in groups.groupby(groups).groups.items()]
        [['judge-5', 'judge-1'], ['judge-4', 'judge-noise', 'judge-first', 'judge-3', 'judge-2', 'judge-6']]
        """
        check_option("of", of, ("disagreement", "scores"))
        return bicluster(tables.disagreement(self._fit) if of == "disagreement" else tables.scores(self._fit), n_groups)

    def effective_number(self) -> EffectiveJudges:
        """How many judges the consensus rests on.

        ``1 / (w'C w)``, with the judges' shares w of the information about the consensus
        (:func:`hjastats.diagnostics.effective.information_shares`) and the correlations C of what they say beyond the model, as far
        as these are told from none (:meth:`redundancy`). It is the number of judges if all tell equally much and independently, and
        one if a single judge tells everything or all repeat each other.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel(), position="judge").fit()
        >>> effective = result.judges.effective_number()
        >>> round(effective.number, 1), effective.shares.nlargest(2).round(2).to_dict()
        (4.0, {'judge-1': 0.43, 'judge-2': 0.18})
        """
        return self.redundancy().effective

    def redundancy(self, prompt: str | None = None) -> Redundancy:
        """Which judges repeat each other.

        Compares the residuals of every two judges on what both judged: the same two items on the same prompt or, without a column
        of prompts, the same two items (:func:`hjastats.diagnostics.redundancy.redundancy`).

        Parameters
        ----------
        prompt : str, optional
            Column that identifies the prompt; found as in :func:`hjastats.swap_report` by default.

        Returns
        -------
        Redundancy
            ``pairs`` with agreement, what independent judges would show, and residual correlations; ``copies``, groups of
            near-copies; ``panel_correlation`` of all pairs together; ``effective`` number of judges.

        Examples
        --------
        >>> import pandas as pd
        >>> import hjastats as hja
        >>> frame = hja.datasets.load_panel().to_frame()
        >>> copied = pd.concat([frame, frame[frame["judge"] == "judge-2"].assign(judge="copy")])
        >>> data = hja.read_comparisons(copied, codes="unit")
        >>> result = hja.JAModel.from_comparisons(data, position="judge").fit()
        >>> result.judges.redundancy().copies
        [('copy', 'judge-2')]
        """
        return redundancy(self._fit, self._model.observations, prompt)

    def value(self, cost: Mapping[str, float] | None = None) -> pd.DataFrame:
        """What each judge adds to what is known about the consensus, per verdict and per price.

        Parameters
        ----------
        cost : mapping, optional
            Price of a verdict, of every judge; one by default.

        Returns
        -------
        pandas.DataFrame
            Best value first: verdicts; share of the information about the consensus; not_repeated, the part of it that no other
            judge says, too (:meth:`redundancy`); per_verdict and per_price, of which the panel's mean is one.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel(), position="judge").fit()
        >>> result.judges.value()[["share", "per_verdict"]].round(2).head(2)
                 share  per_verdict
        judge
        judge-1   0.43         3.44
        judge-2   0.18         1.43
        """
        return judge_values(self._fit, self.redundancy().counted, read_prices(self._fit, cost))

    def panel(
        self,
        budget: float | None = None,
        *,
        keep: str | float | None = None,
        cost: Mapping[str, float] | None = None,
    ) -> JudgePanel:
        """The cheapest judges that are enough, or the best ones for a budget; the model is fitted again to check them.

        Parameters
        ----------
        budget : float, optional
            For the verdicts these judges gave.
        keep : "ranking" or float, optional
            The order of all items that are told apart now, each with probability 95%; or a standard error, the root mean square of
            those of all differences of the consensus, at most.
        cost : mapping, optional
            Price of a verdict, of every judge; one by default.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel(), position="judge").fit()
        >>> result.judges.panel(1000)
        2 judges of 8: 'judge-1', 'judge-2'. Cost: 25% of that of all; standard error of a difference: 0.171 instead of 0.127.
        Fitted again: 0 of 36 pairs of items that all judges tell apart are turned round.
        """
        fit, model = self._fit, self._model
        fit.need_converged("the fit has no finite, determined estimate to choose judges by: use fit_regularized().")
        panels = Panels.of(fit, self.redundancy().counted, read_prices(fit, cost))
        some = choose_panel(fit, panels, budget, keep)
        found = judge_panel(fit, panels, some, _of_some(model, fit, some))
        # What the algebra overlooks, such as a taste of one's own, fitting again brings to light.
        while keep is not None and found.n_reversed and not some.all():
            some = panels.enlarged(some)
            found = judge_panel(fit, panels, some, _of_some(model, fit, some))
        return found

    def goodness_of_fit(self) -> Goodness:
        """Whether the verdicts of all judges, and of each, vary as the model says.

        Tests the fit against free probabilities of every judge's pairs of items, and every judge against the best ranking and
        position effect of its own (:func:`hjastats.diagnostics.goodness.goodness_of_fit`). A judge whose preferences go round fails
        both; one whose taste the rank of the model does not cover only the first.

        Examples
        --------
        >>> import hjastats as hja
        >>> data = hja.datasets.load_panel()
        >>> result = hja.JAModel.from_comparisons(data, position="judge").fit()
        >>> result.judges.goodness_of_fit().table.loc["judge-5", ["dispersion", "circular"]].round(2).tolist()
        [2.95, 0.83]
        >>> richer = hja.HJAModel.from_comparisons(data, rank=1, position="judge").fit()
        >>> richer.judges.goodness_of_fit().table.loc["judge-5", ["dispersion", "circular"]].round(2).tolist()
        [0.87, 0.83]
        """
        return goodness_of_fit(self._fit, self._model.observations)

    def misfit(
        self, of: str = "judges", n: int = 1000, rng: int | np.random.Generator | None = 0, n_jobs: int = 1
    ) -> Misfit:
        """Infit and outfit of every judge or item, against what they would be if the model held.

        Mean squares of residuals, about 1 where verdicts are as predictable as the model says: outfit counts every comparison the
        same and is moved by surprises between unequal items, infit counts it by its information. How far from 1 they go by chance
        depends on the number of verdicts and, above all, on what was estimated from them: a sensitivity takes most of its judge's
        misfit. So verdicts are drawn from the fit, the model is fitted to each draw, and its mean squares are the measure
        (:func:`hjastats.diagnostics.misfit.misfit`).

        Parameters
        ----------
        of : {"judges", "items"}
        n : int
            Draws from the model.
        rng : int or numpy.random.Generator, optional
            Seed of the draws.
        n_jobs : int
            Parallel refits (joblib).

        Returns
        -------
        Misfit
            ``table`` with infit, outfit, the range of 95% of the draws and p-values, as they are and adjusted by Holm's method for
            all that are in the table.

        Raises
        ------
        IdentificationError
            Without a finite estimate, of the data or of most draws.
        ComparisonError
            For soft preferences and weights that are no counts.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.BTLModel.from_comparisons(hja.datasets.load_panel(), position="judge").fit()
        >>> found = result.judges.misfit(n=200)
        >>> found.table.loc["judge-noise", ["infit", "infit_lower", "infit_upper"]].round(1).tolist()
        [1.3, 0.9, 1.1]
        """
        check_option("of", of, ("judges", "items"))
        return misfit(self._fit, self._model.observations, of, n=n, rng=rng, n_jobs=n_jobs)

    def trait_weights(self, alpha: float = 0.05) -> pd.DataFrame:
        """What every judge makes of each trait of the items, where scores follow from them.

        Coefficients W of each judge's own scores, whose mean over judges is the consensus, ``beta``; with tests that they are zero.

        Returns
        -------
        pandas.DataFrame
            A row for each judge and trait.

        Raises
        ------
        OptionError
            Without traits of the items, or where scores are more than these say.

        Examples
        --------
        >>> import pandas as pd
        >>> import hjastats as hja
        >>> data = hja.datasets.load_panel()
        >>> sizes = pd.DataFrame({"size": [8, 7, 8, 4, 7, 3, 1, 13, 34, 2]}, index=data.items)
        >>> result = hja.JAModel.from_comparisons(data, items=sizes, position="judge").fit()
        >>> result.judges.trait_weights()[["estimate", "std_err"]].head(2).round(3)
                       estimate  std_err
        judge   trait
        judge-1 size      0.176    0.023
        judge-2 size      0.084    0.012
        """
        check_alpha(alpha)
        if self._model.traits is None:
            raise OptionError("weights of traits need traits of the items: fit a model with items='~ size'.")
        return trait_weights(self._fit, self._model.traits, alpha)

    def stability(self, time: str | None = None) -> Stability:
        """Whether judges and items stay the same from the first half of the verdicts to the second.

        Score tests that sensitivities, position effects and item scores do not change, adjusted for their number
        (:func:`hjastats.diagnostics.stability.stability`).

        Parameters
        ----------
        time : str, optional
            Column to take the halves by; the order of each judge's rows by default.

        Raises
        ------
        ComparisonError
            If there is no such column.

        Examples
        --------
        >>> import hjastats as hja
        >>> frame = hja.datasets.load_panel().to_frame()
        >>> turned = (frame["judge"] == "judge-1") & (frame.index >= 1600)
        >>> frame["outcome"] = frame["outcome"].where(~turned, 1 - frame["outcome"])
        >>> data = hja.read_comparisons(frame, codes="unit")
        >>> result = hja.JAModel.from_comparisons(data, position="judge").fit()
        >>> result.judges.stability().table.nsmallest(1, "p_value")[["kind", "name", "change"]].round(2)
                  kind     name  change
        0  sensitivity  judge-1   -2.83
        """
        return stability(self._fit, self._model.observations, time)


def _of_some(model: HJAModel, fit: Fit, some: np.ndarray) -> Fit:
    """The model fitted to the verdicts of some judges."""
    dropped = [judge for judge, is_kept in zip(fit.layout.judges, some, strict=True) if not is_kept]
    if not dropped:
        return fit
    # As many directions of disagreement as so few judges can have.
    most = int(some.sum()) - 1
    return (
        (model.with_rank(most) if model.takes_rank and model.rank > most else model)
        .without_judges(dropped)
        .fit_like(fit)
        .fit
    )


def _refitted(model: HJAModel, fit: Fit, judge: int) -> Without:
    """The consensus after fitting the model's kind to the other judges' comparisons."""
    if note := unavailable(fit, judge):
        return Without(None, note=note)
    try:
        smaller = model.without_judges([model.judges[judge]]).fit_like(fit)
    except ValueError as error:
        return Without(None, note=f"Cannot be fitted without: {error}")
    return after_refitting(fit, smaller.fit, judge)
