"""What a user holds after a fit of judges as a sample."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pandas as pd

from .data.arrays import check_flag, check_option, check_whole, generator
from .diagnostics.findings import Findings
from .diagnostics.population import find_population
from .errors import ComparisonError, OptionError
from .export import checksum, to_document
from .inference.population import (
    SpreadTest,
    check_spread,
    choose_population_covariance,
    new_judge_probabilities,
    new_judge_scores,
    population_table,
    predict_known,
    predict_new,
    share_of_judges,
    spread_test,
)
from .inference.rank_tests import RankTest
from .inference.ranks import ranking
from .model.design import Design
from .model.population import predictors
from .model.response import expected_outcome, probability
from .population import PopulationFit
from .results import HJAResults
from .writing import text_or_file

if TYPE_CHECKING:
    from .models.population import PopulationHJAModel

_NOT_OF_A_SAMPLE = (
    "not available for judges as a sample: single judges have predictions (scores, sensitivity, position), the "
    "population has parameters "
    "(population, consensus). HJAModel has parameters for each judge."
)


def _of_single_judges(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Refuse questions about single judges."""
    raise NotImplementedError(_NOT_OF_A_SAMPLE)


class PopulationResults(HJAResults):
    """Results of :meth:`hjastats.PopulationHJAModel.fit`.

    ``params``, ``consensus``, ``ranking``, ``pairwise``, ``contrast`` and tests are about the population that judges are drawn
    from; ``scores``, ``sensitivity``, ``position`` and ``disagreement`` are predictions of the judges at hand, shrunk to it, with
    conditional errors.

    Examples
    --------
    >>> import hjastats as hja
    >>> result = hja.PopulationHJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
    >>> result.contrast("mu[model-I] - mu[model-H]").summary_frame()[["estimate", "std_err"]].round(2)
                               estimate  std_err
    contrast
    mu[model-I] - mu[model-H]      0.48     0.17
    """

    _look = ".summary(), .population, .ranking(), .share(), .new_judge()"
    model: PopulationHJAModel
    fit: PopulationFit

    def __dir__(self) -> list[str]:
        members = vars(PopulationResults)
        own = [name for name in members if not name.startswith("_")]
        absent = {name for name in own if _of_single_judges in (members[name], getattr(members[name], "fget", None))}
        return sorted({*super().__dir__(), *own} - absent - {"model", "info_criteria", "llr_pvalue"})

    def _relatives(self) -> None:
        """None: neighbours are compared by their held-out verdicts."""

    # The population

    @property
    def population(self) -> pd.DataFrame:
        """Means and standard deviations of what judges differ in, with 95% intervals.

        Those of standard deviations are made on the log scale, of correlations on Fisher's.
        Loadings U are those on directions V of length sqrt(n_items), orthogonal to mu. A standard deviation of zero
        lies at the boundary and has no interval.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.PopulationHJAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> result.population.round(2)
                   estimate  std_err  ci_lower  ci_upper
        parameter
        sd[gamma]      0.71     0.26      0.35      1.47
        """
        return population_table(self.fit)

    def share(self, first: Any, second: Any, alpha: float = 0.05) -> pd.DataFrame:
        """Share of all judges like these whose own scores put one item above another, without position effects.

        Not the probability of a verdict: verdicts of one judge vary, its scores do not.

        Parameters
        ----------
        first, second : str or sequence of str

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.PopulationHJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.share("model-I", ["model-H", "model-J"]).round(2)
                         share  std_err  ci_lower  ci_upper
        first   second
        model-I model-H   0.95     0.06      0.76       1.0
                model-J   0.95     0.06      0.77       1.0
        """
        return share_of_judges(self.fit, first, second, alpha)

    def new_judge(self, alpha: float = 0.05) -> pd.DataFrame:
        """Scores of a judge nobody has seen yet, with prediction intervals.

        They hold the spread of judges and the error of the estimate together.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.PopulationHJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.new_judge().head(2).round(2)
                 estimate    sd  std_err  pi_lower  pi_upper
        item
        model-I      1.35  0.84     0.31     -0.40      3.10
        model-H      0.87  0.55     0.21     -0.28      2.02
        """
        return new_judge_scores(self.fit, alpha)

    def spread_test(self, effect: str) -> SpreadTest:
        """Whether judges differ in an effect: likelihood ratio of its standard deviation against zero, which lies at the boundary.

        Fits the model without that spread. Taste, and one direction more, are tested by :meth:`rank_test`.

        Parameters
        ----------
        effect : str
            "gamma" (with rank 0), "position" or another effect that judges have for themselves.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.PopulationHJAModel.from_comparisons(hja.datasets.load_panel(), position="judge").fit()
        >>> result.spread_test("position")
        Test that all judges have the same position: LR = 201.808, half chi2(0) and half chi2(1), p = 4.21e-46
        """
        place = check_spread(self.fit, effect)
        return spread_test(self.fit, self.model.without_spread(place, self.fit), effect)

    def rank_test(  # type: ignore[override]
        self,
        method: str = "bootstrap",
        *,
        n: int = 99,
        rng: int | np.random.Generator | None = 0,
    ) -> RankTest:
        """Test that the number of directions is enough, against one more, by parametric bootstrap.

        With rank 0, whether judges have tastes.

        Parameters
        ----------
        n : int
            Replications, each with two fits.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.PopulationHJAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> result.rank_test(n=4)
        Rank test (bootstrap): population JA against population HJA(1)
          LR = 229.613, p = 0.2 (Monte-Carlo error 0.2, 4 replications)
        """
        check_option("method", method, ("bootstrap",))
        check_whole("n", n, 1)
        draws, model = generator(rng), self.model
        larger = model.with_rank(model.rank + 1).fit(warn_convergence=False)
        ratios = np.array([self._drawn_ratio(draws) for _ in range(n)])
        statistic = 2.0 * (larger.llf - self.llf)
        p_value = (1.0 + float((ratios >= statistic).sum())) / (1.0 + n)
        error = float(np.sqrt(p_value * (1.0 - p_value) / n))
        names = self.fit.layout.description, larger.fit.layout.description
        return RankTest(*names, statistic, p_value, None, "bootstrap", n, error, ratios)

    def _drawn_ratio(self, rng: np.random.Generator) -> float:
        """Likelihood ratio of one direction more for judges and verdicts drawn from the fit."""
        drawn = self.model.simulate(self.fit.params, rng=rng)
        options = {name: value for name, value in self.model.options.items() if name != "ties"}
        small = type(self.model).from_comparisons(drawn, **options, ties=self.model.response.name)
        fits = [each.fit(n_random=0, warn_convergence=False) for each in (small, small.with_rank(small.rank + 1))]
        return 2.0 * (fits[1].llf - fits[0].llf)

    # Predictions

    @property
    def score_errors(self) -> pd.DataFrame:
        """Conditional standard errors of the predicted scores: those of the judges' effects at the estimated population.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.PopulationHJAModel.from_comparisons(hja.datasets.load_panel(), position="judge").fit()
        >>> result.score_errors.loc["judge-noise", ["model-I", "model-E"]].round(2).to_dict()
        {'model-I': 0.11, 'model-E': 0.02}
        """
        index = pd.Index(self.fit.layout.judges, name="judge")
        return pd.DataFrame(self.fit.score_errors, index, pd.Index(self.fit.layout.items, name="item"))

    def predict(
        self,
        exog: Any = None,
        *,
        judge: Any = None,
        item_a: Any = None,
        item_b: Any = None,
        judge_exog: Any = None,
        offset: Any = None,
        position: bool = True,
        which: str = "mean",
        of: str | None = None,
    ) -> Any:
        """Expected preference for the first item.

        Parameters
        ----------
        exog, judge_exog, offset, position, which
            As in :meth:`hjastats.HJAModel.predict`.
        judge, item_a, item_b : label or array_like of labels, optional
            New comparisons; the data themselves when left out. Without judge, those of a new one.
        of : {"known", "new", "average"}, optional
            Known judges, given what they said; judges nobody has seen yet; or one whose effects are all average, which is
            not what judges say on average.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.PopulationHJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> pair = {"item_a": "model-I", "item_b": "model-H", "position": False}
        >>> [float(result.predict(**pair, **who)[0].round(2)) for who in ({"judge": "judge-1"}, {"of": "new"}, {"of": "average"})]
        [0.75, 0.62, 0.62]
        """
        check_flag("position", position)
        check_option("of", of, (None, "known", "new", "average"))
        check_option("which", which, ("mean", "linear", "decided", "probs"))
        who = of or ("new" if judge is None and item_a is not None else "known")
        if judge is None and item_a is not None:
            if who == "known":
                raise ComparisonError("of='known' needs the judge.")
            judge = self.model.judges[0]
        new = self.model.labelled_rows(exog, judge, item_a, item_b, judge_exog, offset)
        values = self._expected(new.rows if position else new.rows.without("position"), who, which)
        if which == "probs":
            return pd.DataFrame(dict(zip(self.model.response.verdicts, values, strict=True)), new.labels)
        return new.series(values)

    def _expected(self, rows: Design, who: str, which: str) -> np.ndarray:
        response = self.model.response

        def summarise(at: np.ndarray) -> np.ndarray:
            if which == "linear":
                return at[0]
            if which == "decided":
                return probability(at[0])
            chances = response.probabilities(at[0], at[1:] if len(at) > 1 else None)
            return chances if which == "probs" else expected_outcome(response, chances)

        return _AVERAGES[who](self.fit, rows, summarise)

    def get_prediction(self, exog: Any = None, **kwargs: Any) -> Any:
        """Expected preference of a judge nobody has seen yet, with intervals made on the logit scale.

        Parameters
        ----------
        exog, item_a, item_b, judge_exog, offset, position
            As in :meth:`predict`.

        Returns
        -------
        pandas.DataFrame
            predicted, se, ci_lower, ci_upper.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.PopulationHJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.get_prediction(item_a="model-I", item_b="model-H", position=False).round(3)
           predicted     se  ci_lower  ci_upper
        0      0.615  0.038     0.539     0.686
        """
        position, alpha = kwargs.pop("position", True), kwargs.pop("alpha", 0.05)
        check_flag("position", position)
        if kwargs.get("judge") is not None:
            raise OptionError(
                "intervals are those of a new judge: leave judge out; predict(judge=...) has those at hand."
            )
        if kwargs.get("item_a") is not None:
            kwargs["judge"] = self.model.judges[0]
        new = self.model.labelled_rows(
            exog, kwargs.pop("judge", None), kwargs.pop("item_a", None), kwargs.pop("item_b", None), **kwargs
        )
        table = new_judge_probabilities(self.fit, new.rows if position else new.rows.without("position"), alpha)
        return table if new.labels is None else table.set_axis(new.labels)

    @property
    def fittedvalues(self) -> pd.Series:
        """Expected preference for the first item of the rows, given all that the judges said."""
        return self.predict()

    def ranking(self, judge: str | None = None, **kwargs: Any) -> pd.DataFrame:  # type: ignore[override]
        """Places of the consensus with intervals and tied groups; see :meth:`hjastats.HJAResults.ranking`."""
        return ranking(self.fit, judge, **kwargs)

    # What else is the fit's

    def with_covariance(  # type: ignore[override]
        self, cov_type: str = "nonrobust", cov_kwds: dict[str, Any] | None = None
    ) -> PopulationResults:
        """Take the standard errors from elsewhere, without fitting again.

        Parameters
        ----------
        cov_type : {"nonrobust", "cluster"}
        cov_kwds : dict, optional
            ``{"groups": "judge"}``, or another way in which rows hang together in addition to judges.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.PopulationHJAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> robust = result.with_covariance("cluster", {"groups": "judge"})
        >>> robust.consensus.head(1)[["estimate", "std_err"]].round(2)
                 estimate  std_err
        item
        model-I      1.09     0.33
        """
        fit = choose_population_covariance(replace(self.fit), cov_type, cov_kwds, lambda: self.model.observations)
        return type(self)(self.model, fit, self.choices.drop(index="errors", errors="ignore"))

    @cached_property
    def findings(self) -> Findings:
        """What to know before believing the fit, in words."""
        return find_population(self.fit, self.model.observations)

    @property
    def llr_pvalue(self) -> float:
        """Not a number: coin flips leave the spread of judges undefined."""
        return float("nan")

    def info_criteria(self, crit: str, dk_params: float = 0) -> float:
        """An information criterion of the marginal likelihood; BIC takes the number of judges."""
        check_option("crit", crit, ("aic", "bic"))
        weight = 2.0 if crit == "aic" else float(np.log(len(self.fit.layout.judges)))
        return -2.0 * self.llf + weight * (self.df_model + dk_params)

    @property
    def bic(self) -> float:
        """Schwarz's criterion with the number of judges."""
        return self.fit.bic

    @property
    def aic(self) -> float:
        """Akaike's criterion of the marginal likelihood."""
        return self.fit.aic

    def to_json(self, path: str | Path | None = None) -> str | None:  # type: ignore[override]
        """Write the data, the estimate and how it was found as JSON, for :func:`hjastats.load_results`."""
        model = self.model
        options = model.options | ({} if model.offset_name is None else {"offset_name": model.offset_name})
        document = to_document(type(model).__name__, options, self.fit, model.observations, self.choices)
        document["population"] = {
            "values": self.fit.found.values.tolist(),
            "n_quadrature": self.fit.marginal.n_nodes,
            "is_free": self.fit.found.is_free.tolist(),
        }
        document["checksum"] = checksum(document)
        return text_or_file(json.dumps(document, allow_nan=False), path)

    def compare_lr_test(self, restricted: HJAResults, method: str = "chi2", **kwargs: Any) -> Any:
        """Likelihood-ratio test of a restricted model of the same sample; see :meth:`hjastats.HJAResults.compare_lr_test`.

        Spreads and directions are no such test, but :meth:`spread_test` and :meth:`rank_test`.
        """
        check_option("method", method, ("chi2",))
        return super().compare_lr_test(restricted)

    def conf_int(self, alpha: Any = 0.05, cols: Any = None, *, method: str = "wald") -> pd.DataFrame:
        """Confidence limits of the parameters, or of contrasts, by standard errors; see :meth:`hjastats.HJAResults.conf_int`."""
        check_option("method", method, ("wald",))
        return super().conf_int(alpha, cols)

    judges = property(_of_single_judges)
    bootstrap = diagnose = contrast_formula = drop_terms = scale_tests = fragility = _of_single_judges
    resid_pearson = resid_dev = property(_of_single_judges)


# Over whom a prediction is taken.
_AVERAGES: dict[str, Callable[..., np.ndarray]] = {
    "known": predict_known,
    "new": predict_new,
    "average": lambda fit, rows, summarise: summarise(_average(fit, rows)),
}


def _average(fit: PopulationFit, rows: Design) -> np.ndarray:
    return predictors(rows, fit.population)[0]
