"""What a user holds after a fit: a facade over :class:`~hjastats.fitted.Fit` under the names statsmodels users expect.

Only results and models fit again; everything else is a function of the fit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import NoneType, SimpleNamespace
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pandas as pd
from patsy import EvalEnvironment
from scipy import stats
from statsmodels.base.model import GenericLikelihoodModelResults, LikelihoodModelResults
from statsmodels.regression.linear_model import CompareLRTestResult
from statsmodels.stats.contrast import ContrastResults, WaldTestResults, t_test_pairwise
from statsmodels.tools.eval_measures import aic, aicc, bic, hqic

from .data.arrays import check_alpha, check_flag, check_option, check_type, check_whole
from .data.formulas import SAFE_NAMES, refuse_code
from .data.metadata import is_trait, judges_labelled
from .diagnostics.diagnosis import Diagnosis, judge_facts
from .diagnostics.findings import Findings, find
from .diagnostics.fragility import Fragility, fragility
from .diagnostics.order import has_order
from .diagnostics.residuals import deviance_residuals, pearson_residuals
from .diagnostics.scales import scale_table
from .errors import ComparisonError, ContrastError, Hint, IdentificationError, OptionError, SizeError
from .export import to_document
from .fitted import Fit, which_information
from .inference import estimates as tables
from .inference.apart import are_apart
from .inference.bootstrap import Bootstrap, bootstrap, check_options
from .inference.constraints import HypothesisTest, lr_test, score_test
from .inference.contrast_results import Contrast
from .inference.contrasts import Spec, contrast, is_contrast, wald_intervals
from .inference.covariances import choose_covariance
from .inference.decisions import HeadToHead, Places, board, head_to_head, places
from .inference.formula_contrasts import FormulaContrast, contrast_formula, stored_metadata
from .inference.hypotheses import t_test, wald_test, wald_test_kinds
from .inference.likelihood_ratio import compare_lr_test, comparison_table, drop_table, likelihood_ratio
from .inference.nesting import Candidate, check_nested
from .inference.pairs import pairwise
from .inference.predictions import predictions
from .inference.profiles import parameters, profile_limits, scalars
from .inference.rank_tests import RankTest, bootstrap_ratio_test, check_rank, saturated_rank_test
from .inference.ranks import ranking
from .judges import JudgeQuestions
from .looks import ModelTable, RankingTable, Summary, Summary2, TermTests, page
from .plan import PlanQuestions
from .show.figures import FitPlots
from .show.glance import at_a_glance
from .show.leaderboard import Leaderboard
from .show.report import Section, Subject, render
from .show.summary import Heading, summarise
from .solve.existence import INVOLVED
from .words import mentions, quoted, visible
from .writing import text_or_file

if TYPE_CHECKING:
    from statsmodels.base._prediction_inference import PredictionResultsMonotonic
    from statsmodels.stats.contrast import MultiCompResult

    from .data.comparisons import Comparisons
    from .models import HJAModel

# What is told of each choice of hjastats.fitted.
CHOICES = ("chosen", "reason", "number")
# What statsmodels' base classes give that holds here; the rest of theirs is not shown.
INHERITED = ("aic", "bic", "model", "nobs", "params", "tvalues")


class HJAResults(GenericLikelihoodModelResults):
    """Results of :meth:`hjastats.HJAModel.fit`.

    Arrays of parameters carry their names. Figures are under ``plot``, questions about judges under ``judges``; ``fit`` is the
    record behind all of it.

    Examples
    --------
    >>> import hjastats as hja
    >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
    >>> result
    HJA(1) + position: 3,200 comparisons of 10 items by 8 judges, log-likelihood -1592.9 with 38 parameters
    model-I leads, then model-H, model-A; 3 warnings (see .findings)
    standard errors from the expected information (eq. fisher-plugin); .summary(), .ranking(), .plot, .judges

    Everything about one judge, and how well the model fits against coin flips:

    >>> result.params.filter(like="judge-first").round(2).to_dict()
    {'position[judge-first]': 2.67, 'gamma[judge-first]': 1.17, 'U[judge-first,1]': -0.17}

    >>> result.converged, round(result.llf, 1), round(result.llnull, 1), round(result.prsquared, 3)
    (True, -1592.9, -2218.1, 0.282)
    >>> round(result.llr, 1), result.llr_pvalue            # coin flips leave sensitivities undefined
    (1250.3, nan)
    >>> float(result.fittedvalues.max().round(3)), float((abs(result.resid) < 0.5).mean().round(3))    # hits
    (0.999, 0.737)
    """

    # Where to look after the first three lines.
    _look = ".summary(), .ranking(), .plot, .judges"

    def __init__(self, model: HJAModel, fit: Fit, choices: pd.DataFrame | None = None) -> None:
        self.model, self.fit = model, fit
        self._choices = choices
        # Scores without a consensus, or with fewer directions than the rank, have no parameters: refused here, not later.
        _ = fit.parts
        LikelihoodModelResults.__init__(self, model, None, None, scale=1.0, use_t=False)
        self._cache: dict[str, Any] = {}
        self.nobs, self.df_model, self.df_resid = model.nobs, fit.df, model.nobs - fit.df
        self.k_constant, self.method = 0, fit.method
        self.cov_type = fit.choice.kind
        self.cov_kwds = {"description": fit.choice.description, **fit.choice.facts}
        if "n_groups" in self.cov_kwds:
            self.n_groups = self.cov_kwds["n_groups"]
        if fit.restriction is not None:
            self.constraints, self.k_constr = fit.restriction.labels, fit.restriction.df

    def __dir__(self) -> list[str]:
        own = [name for name in vars(HJAResults) if not name.startswith("_") and name not in HIDDEN]
        return sorted({*own, *INHERITED, "fit"})

    def __repr__(self) -> str:
        return visible(_in_three_lines(self))

    def _repr_html_(self) -> str:
        return page(at_a_glance(self.fit, self.findings, _in_three_lines(self).splitlines()))

    # Scalars the base class would count from len(params) or from exog

    @property
    def converged(self) -> bool:
        """Whether the estimate is stationary, a minimum, determined and finite."""
        return self.fit.converged

    @property
    def llf(self) -> float:
        """Log-likelihood of the individual comparisons, without binomial constants."""
        return self.fit.loglike

    @property
    def llnull(self) -> float:
        """Log-likelihood of coin flips; with ties as an outcome, of coin flips and the overall share of ties."""
        return self.fit.null_loglike

    @property
    def llr(self) -> float:
        """Likelihood ratio against every verdict being a coin flip."""
        return 2.0 * (self.llf - self.llnull)

    @property
    def llr_pvalue(self) -> float:
        """Chi-squared p-value of ``llr``; not a number with sensitivities, which coin flips leave undefined."""
        if self.fit.layout.structure.has_sensitivities or self._candidate.has_soft_preferences:
            return np.nan
        return float(stats.chi2.sf(self.llr, self.df_model))

    @property
    def prsquared(self) -> float:
        """McFadden's pseudo R-squared against coin flips."""
        return 1.0 - self.llf / self.llnull

    def pseudo_rsquared(self, kind: str = "mcf") -> float:
        """Pseudo R-squared against coin flips.

        Parameters
        ----------
        kind : {"mcf", "cs", "lr"}
            McFadden's, or that of Cox and Snell, which "lr" is another name of.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.BTLModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> round(result.pseudo_rsquared(), 3), round(result.pseudo_rsquared("cs"), 3)
        (0.118, 0.151)
        """
        check_option("kind", kind, ("mcf", "cs", "lr"))
        return self.prsquared if kind == "mcf" else float(-np.expm1(-self.llr / self.nobs))

    def info_criteria(self, crit: str, dk_params: float = 0) -> float:
        """An information criterion; smaller is better.

        Parameters
        ----------
        crit : {"aic", "bic", "aicc", "hqic"}
        dk_params : float
            Parameters to count beside those of the model.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.BTLModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> round(result.info_criteria("aic"), 1), round(result.info_criteria("bic"), 1)
        (3931.8, 3986.4)
        """
        check_option("crit", crit, tuple(CRITERIA))
        return float(CRITERIA[crit](self.llf, self.nobs, self.df_modelwc + dk_params))

    @property
    def df_modelwc(self) -> float:
        """Number of free parameters, the count behind AIC and BIC."""
        return float(self.df_model)

    @cached_property
    def mle_settings(self) -> dict[str, Any]:
        """What the maximisation was asked for: optimizer, n_starts and start_params, the first of those it had.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.BTLModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> result.mle_settings["optimizer"], len(result.mle_settings["start_params"])
        ('trust', 10)
        """
        start = self.model.start_params if self.fit.start_params is None else self.fit.start_params
        return {"optimizer": self.fit.method, "n_starts": self.fit.search.n_starts, "start_params": start}

    @property
    def _results(self) -> HJAResults:
        """The result itself, where statsmodels looks for what its wrappers wrap."""
        return self

    @cached_property
    def mle_retvals(self) -> dict[str, Any]:
        """How the maximisation went.

        ``optima`` are the finite ones that starts ended at; ``supremum`` is how far the log-likelihood was followed where it
        is higher on the way to infinity, None where it is not. See ``optimum`` of :meth:`hjastats.HJAModel.fit`.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.mle_retvals["converged"], result.mle_retvals["iterations"]
        (True, 7)
        >>> [round(optimum["llf"], 1) for optimum in result.mle_retvals["optima"]]       # all starts ended at one
        [-1592.9]
        """
        return _return_values(self.fit)

    # Arrays of the parameters; what is large, or takes longer than the fit of a small model, is made when it is asked for

    @cached_property
    def _names(self) -> pd.Index:
        return pd.Index(self.fit.layout.names)

    def _named(self, values: np.ndarray) -> pd.Series:
        return pd.Series(values, self._names)

    @property
    def params(self) -> pd.Series:
        """Estimates under their names; not a number where the likelihood has no maximum, as in the tables.

        Where the search for one stopped is in ``fit.params``.
        """
        return self._named(self.fit.shown)

    @params.setter
    def params(self, value: None) -> None:
        """Take no notice of the nothing the base class begins with."""

    @cached_property
    def bse(self) -> pd.Series:
        """Standard errors of the reported parameters.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.BTLModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> result.bse[["mu[model-A]", "mu[model-B]"]].round(3)
        mu[model-A]    0.076
        mu[model-B]    0.075
        dtype: float64
        """
        return self._named(self.fit.shown_errors())

    @cached_property
    def pvalues(self) -> pd.Series:
        """Two-sided p-values of parameters being zero.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.BTLModel.from_comparisons(hja.datasets.load_panel(), position="common").fit()
        >>> result.pvalues[["position", "mu[model-B]"]].round(3)
        position       0.000
        mu[model-B]    0.274
        dtype: float64
        """
        return self._named(2.0 * stats.norm.sf(np.abs(self.tvalues)))

    def conf_int(self, alpha: Any = 0.05, cols: Any = None, *, method: str = "wald") -> pd.DataFrame:
        """Confidence limits of the parameters, or of contrasts.

        Parameters
        ----------
        alpha : float, or a contrast
            One minus the level. A contrast, as in :meth:`contrast`, may come first; its alpha is then the second argument.
        cols : positions of parameters, or a contrast
            A contrast may be the name of a parameter, or a list of names.
        method : {"wald", "profile"}
            "profile": all values at which the likelihood-ratio test does not reject, which hold better where verdicts are few. An
            end is infinite where no value is too far out, as for an item that was never beaten. With robust errors the ratio is
            divided by the robust over the model's variance. Scores of a fit without a finite maximum are relative to the
            mean of the finite ones, as in the tables. Not for penalised fits, nor for more than 2,000 free parameters.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> result.conf_int(cols=["gamma[judge-1]"]).round(3)
                            0      1
        gamma[judge-1]  2.433  3.268
        >>> result.conf_int(cols=["gamma[judge-1]"], method="profile").round(3)
                            0      1
        gamma[judge-1]  2.406  3.322
        >>> result.conf_int("mu[model-I] - mu[model-H]", 0.1).round(3)
                                       0      1
        mu[model-I] - mu[model-H]  0.157  0.548
        """
        check_option("method", method, ("wald", "profile"))
        if is_contrast(alpha):
            alpha, cols = (0.05 if cols is None else cols), alpha
        check_alpha(alpha)
        if is_contrast(cols):
            if method == "wald":
                return wald_intervals(self.fit, cols, alpha)
            some = scalars(self.fit, cols)
            return pd.DataFrame(profile_limits(self.fit, some, alpha), [one.name for one in some])
        places = self._some(cols)
        if method == "wald":
            limits = np.asarray(super().conf_int(alpha))[places]
        else:
            limits = profile_limits(self.fit, parameters(self.fit, places), alpha)
        return pd.DataFrame(limits, self._names[places])

    def _some(self, cols: Any) -> np.ndarray:
        """Positions of the parameters asked for by position."""
        try:
            return np.arange(len(self._names))[slice(None) if cols is None else np.atleast_1d(cols)]
        except (IndexError, ValueError):
            raise OptionError(f"cols must be positions of parameters from 0, or a contrast, got {cols!r}.") from None

    @property
    def cov_params_default(self) -> np.ndarray:
        """Covariance of the reported parameters, shape (n_params, n_params); singular, since they obey constraints.

        Raises
        ------
        SizeError
        """
        return self.fit.shown_covariance()

    @property
    def normalized_cov_params(self) -> np.ndarray:
        """The covariance of the parameters, under the name the base class uses."""
        return self.cov_params_default

    @normalized_cov_params.setter
    def normalized_cov_params(self, value: None) -> None:
        """Take no notice of the nothing the base class begins with."""

    def cov_params(self, *args: Any, **kwargs: Any) -> Any:
        """Covariance of the parameters, or of linear combinations of them, as in statsmodels.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.BTLModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> float(result.cov_params().loc["mu[model-A]", "mu[model-B]"].round(6))
        -0.000561
        """
        try:
            result = super().cov_params(*args, **kwargs)
        except SizeError:
            raise
        except (ValueError, IndexError, TypeError) as error:
            # statsmodels multiplies what it is given.
            raise OptionError(
                f"cov_params takes a matrix with a column for each parameter, or positions: {error}."
            ) from None
        return pd.DataFrame(result, self._names, self._names) if not args and not kwargs else result

    def with_covariance(
        self, cov_type: str = "nonrobust", cov_kwds: dict[str, Any] | None = None, information: str | None = None
    ) -> HJAResults:
        """Take the standard errors from elsewhere, without fitting again; this result is left as it is.

        Parameters
        ----------
        cov_type : {"nonrobust", "HC0", "HC1", "cluster"}
        cov_kwds : dict, optional
            ``{"groups": ...}`` for "cluster".
        information : {"expected", "observed"}, optional
            Which information to use; by default expected for "nonrobust" and observed for robust covariances.

        Examples
        --------
        >>> import pandas as pd
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> robust = result.with_covariance("HC0")
        >>> pd.DataFrame({"model": result.bse, "HC0": robust.bse}).loc[["mu[model-A]", "mu[model-B]"]].round(3)
                     model    HC0
        mu[model-A]  0.074  0.089
        mu[model-B]  0.070  0.079
        """
        fit = self.fit.with_information(which_information(information, cov_type))
        chosen = choose_covariance(fit, cov_type, cov_kwds, lambda: self.model.observations)
        other = type(self)(self.model, chosen, self.choices.drop(index="errors", errors="ignore"))
        if self.model.comparisons is None:
            # What the removed data gave reason to say still holds.
            other.__dict__["findings"] = self.findings
        return other

    # Tables

    @property
    def choices(self) -> pd.DataFrame:
        """What :func:`hjastats.fit` has chosen, why, and the number behind it; empty for models that were fitted as they are.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.fit(hja.datasets.load_panel(), rank=1)
        >>> for what, line in result.choices.iterrows():
        ...     print(f"{what} {line.chosen}: {line.reason}")
        judges fixed: each has 400 verdicts or more
        position judge: BIC is lower by 186.8 than with one for all judges
        model HJA(1): asked for
        errors nonrobust: verdicts are decided, and no prompt repeats
        """
        if self._choices is None:
            return pd.DataFrame(columns=[*CHOICES], index=pd.Index([], name="what"))
        return self._choices

    @property
    def consensus(self) -> pd.DataFrame:
        """Consensus scores with standard errors and 95% intervals, best item first.

        They sum to zero over the items that have a finite score.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.consensus.head(2).round(3)
                 estimate  std_err  ci_lower  ci_upper
        item
        model-I     1.385    0.103     1.183     1.586
        model-H     0.888    0.089     0.714     1.063
        """
        return tables.consensus(self.fit)

    def estimates(self, kind: str, labels: Sequence[str] | None = None) -> pd.DataFrame:
        """Estimates with standard errors and 95% intervals of one kind of parameter, for all judges or items or for some.

        Of panels with thousands of items the standard errors take most of the time: name those that matter.

        Parameters
        ----------
        kind : str
            "mu" (of items), "gamma", "position" or another term of the judges.
        labels : sequence of str, optional
            Items or judges.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.estimates("mu", ["model-A", "model-B"]).round(3)
                 estimate  std_err  ci_lower  ci_upper
        item
        model-A     0.591    0.087     0.420     0.763
        model-B     0.109    0.083    -0.054     0.272
        """
        return tables.estimates(self.fit, kind, labels)

    @property
    def sensitivity(self) -> pd.DataFrame:
        """Sensitivity of each judge to the consensus, with the test of gamma = 1.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.sensitivity.head(2).round(3)
                 estimate  std_err      z  p_value  ci_lower  ci_upper
        judge
        judge-1     2.499    0.207  7.241    0.000     2.093     2.905
        judge-2     1.263    0.127  2.077    0.038     1.015     1.512
        """
        return tables.sensitivity(self.fit)

    @property
    def position(self) -> pd.DataFrame:
        """Log-odds bonus of the item shown first, with the test of no bonus; empty without position effects.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.position.loc[["judge-first"]].round(3)
                     estimate  std_err       z  p_value  ci_lower  ci_upper
        judge
        judge-first     2.673    0.251  10.664      0.0     2.182     3.165
        """
        return tables.effects(self.fit, "position")

    @property
    def scores(self) -> pd.DataFrame:
        """Judge-specific scores S, judges by items; empty where they run to infinity.

        They sum to zero over the items that have a finite score for the judge.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.scores.loc["judge-5", ["model-A", "model-I"]].round(2).to_dict()
        {'model-A': 1.39, 'model-I': 0.96}
        """
        return tables.scores(self.fit)

    @property
    def disagreement(self) -> pd.DataFrame:
        """Residual disagreement ``U V'``, judges by items: what the consensus does not explain.

        Empty where scores run to infinity.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.disagreement.loc["judge-5", ["model-A", "model-I"]].round(2).to_dict()
        {'model-A': 0.98, 'model-I': -0.01}
        """
        return tables.disagreement(self.fit)

    def ranking(
        self,
        judge: str | Mapping[str, float] | None = None,
        level: float = 0.95,
        simultaneous: bool = True,
        rng: int | np.random.Generator | None = 0,
        items: Sequence[str] | None = None,
        *,
        consensus: str | Mapping[str, Any] | None = None,
    ) -> pd.DataFrame:
        """Places with intervals and tied groups, of the consensus or of one judge.

        Parameters
        ----------
        judge : str or mapping, optional
            Rank by this judge's scores instead of the consensus, or by judges with weights, ``{"judge-1": 2, "judge-2": 1}``.
        level : float
        simultaneous : bool
            Whether all place intervals hold jointly with probability ``level``, or each one by itself.
        rng : int or numpy.random.Generator
            Randomness of the simulated critical value.
        items : sequence of str, optional
            Rank these among themselves; all items by default.
        consensus : str or mapping, optional
            Whose consensus: that of the judges who have this label in their metadata, ``"humans"``, in one column of it,
            ``{"kind": "humans"}`` or ``"kind=humans"``, or of judges with weights.

        Returns
        -------
        pandas.DataFrame
            Best item first: place, score, std_err, ci_lower, ci_upper, place_lower, place_upper, group, quasi_se, tier.

        Raises
        ------
        IdentificationError
            When scores run to infinity or are not determined.
        SizeError
            For more than 3,000 items.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), position="judge").fit()
        >>> result.ranking()[["place", "place_lower", "place_upper", "group"]].head(3)
                 place  place_lower  place_upper group
        item
        model-I      1            1            1     a
        model-H      2            2            3     b
        model-A      3            2            4    bc
        """
        judge = self._whose(judge, consensus)
        table = ranking(self.fit, judge, level=level, simultaneous=simultaneous, rng=rng, items=items)
        return RankingTable(table)

    def pairwise(
        self,
        kind: str = "mu",
        method: str = "holm",
        alpha: float = 0.05,
        rng: int | np.random.Generator | None = 0,
        labels: Sequence[str] | None = None,
    ) -> pd.DataFrame:
        """All pairwise differences of consensus scores, sensitivities or position effects.

        Parameters
        ----------
        kind : {"mu", "gamma", "position"}
        method : str
            Adjustment of the p-values: "single-step" (distribution of the largest of all z statistics, simulated), "none", or
            any of :func:`statsmodels.stats.multitest.multipletests` ("holm", "fdr_bh", ...).
        alpha : float
            Level of the intervals, which are simultaneous for "single-step" and individual otherwise.
        labels : sequence of str, optional
            Items or judges to compare; all of them by default.

        Returns
        -------
        pandas.DataFrame
            Indexed by the two labels: estimate (first minus second), std_err, z, p_value, p_adjusted, ci_lower, ci_upper.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> result.pairwise("gamma").loc[("judge-1", "judge-2"), ["estimate", "p_adjusted"]].round(4).to_dict()
        {'estimate': 1.4797, 'p_adjusted': 0.0}
        """
        return pairwise(self.fit, kind, method=method, alpha=alpha, rng=rng, labels=labels)

    # Decisions

    def leaderboard(
        self,
        scale: str = "log-odds",
        *,
        judge: str | None = None,
        consensus: str | Mapping[str, Any] | None = None,
        anchor: str | None = None,
        top: int = 3,
        level: float = 0.95,
        prior: str = "normal",
        rng: int | np.random.Generator | None = 0,
        items: Sequence[str] | None = None,
    ) -> Leaderboard:
        """Who is best and how sure that is, as a table to print, to hand on and to plot.

        Parameters
        ----------
        scale : {"log-odds", "elo", "win-rate"}
            Of the scores: as fitted, in Elo points (400 / log(10) for a unit of log-odds, 1,000 at the anchor), or the chance to
            be preferred to another item drawn at random, by a judge of average sensitivity and without the advantage of a position.
        judge : str, optional
            Rank by this judge's scores instead of the consensus.
        consensus : str or mapping, optional
            Whose consensus, as in :meth:`ranking`.
        anchor : str, optional
            Item from which scores count, itself without error; the mean of the items by default.
        top : int
            Of how many places the chance is shown beside that of the first.
        level : float
            Of intervals, and of the ranges of places, which hold jointly.
        prior : {"normal", "flat"}
            What is known about the items before, for the chances of places. "normal": they are drawn from a normal distribution
            whose spread the estimates tell. "flat": nothing, which is too sure where items lie closer than their errors.
        rng : int or numpy.random.Generator
        items : sequence of str, optional
            Rank these among themselves; all items by default. Groups that nobody compared have no board together.

        Returns
        -------
        Leaderboard
            ``table``, exact; ``to_csv``, ``to_dict`` (exact), ``to_latex``, ``to_markdown``, ``to_html`` (rounded), ``plot``.

        Raises
        ------
        IdentificationError
            When scores run to infinity or are not determined.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.leaderboard("elo", anchor="model-H").table[["score", "std_err", "p_best", "tier"]].head(3).round(2)
                   score  std_err  p_best  tier
        item
        model-I  1086.26    22.93     1.0     1
        model-H  1000.00     0.00     0.0     2
        model-A   948.39    21.43     0.0     2
        """
        table = board(
            self.fit,
            scale=scale,
            judge=self._whose(judge, consensus),
            anchor=anchor,
            top=top,
            level=level,
            prior=prior,
            rng=rng,
            items=items,
        )
        data = self.model.comparisons
        known = None if data is None else data.judge_metadata
        named = f"the consensus of {consensus}" if isinstance(consensus, str) else "a weighted consensus"
        if isinstance(consensus, Mapping) and is_trait(consensus, self.model.judges, known):
            named = "the consensus of " + "=".join(map(str, *consensus.items()))
        return Leaderboard(table, scale, judge if consensus is None else named, anchor, level, prior)

    def _whose(
        self, judge: str | Mapping[str, float] | None, consensus: str | Mapping[str, Any] | None
    ) -> str | Mapping[str, float] | None:
        """The judge, or the weights of judges, whose scores are ranked; None for the consensus of all."""
        if consensus is None:
            return judge
        if judge is not None:
            raise OptionError("pass a judge, or whose consensus it is to be, not both.")
        data = self.model.comparisons
        known = None if data is None else data.judge_metadata
        name = (
            next(iter(consensus), None) if isinstance(consensus, Mapping) else str(consensus).partition("=")[0].strip()
        )
        if (
            data is not None
            and name in data.columns
            and name not in (*self.model.judges, *(() if known is None else known))
        ):
            raise ComparisonError(
                f"{name!r} is a column of the comparisons and no trait of the judges: ",
                Hint("hja.by_group", f"data, by={name!r}", is_call=True),
                " ranks the items for each of its labels.",
            )
        return judges_labelled(consensus, self.model.judges, known)

    def places(
        self,
        judge: str | None = None,
        *,
        prior: str = "normal",
        bootstrap: Bootstrap | None = None,
        items: Sequence[str] | None = None,
        rng: int | np.random.Generator | None = 0,
    ) -> Places:
        """How likely every item is to have every place.

        Parameters
        ----------
        judge : str, optional
            By this judge's scores instead of the consensus.
        prior : {"normal", "flat"}
            As in :meth:`hjastats.HJAResults.leaderboard`.
        bootstrap : Bootstrap, optional
            Take the replications of :meth:`hjastats.HJAResults.bootstrap` for draws, instead of a normal distribution.
        items : sequence of str, optional
            Rank these among themselves.
        rng : int or numpy.random.Generator

        Returns
        -------
        Places
            ``probability`` of items by places, ``best``, ``top(k)``, ``expected``.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.places().top(3).iloc[1:5].round(2).to_dict()
        {'model-H': 1.0, 'model-A': 0.93, 'model-E': 0.07, 'model-B': 0.0}
        """
        return places(self.fit, judge, prior=prior, bootstrap=bootstrap, items=items, rng=rng)

    def head_to_head(self, a: str, b: str, judge: str | None = None, alpha: float = 0.05) -> HeadToHead:
        """How likely item a is preferred to item b, in a sentence.

        Parameters
        ----------
        a, b : str
        judge : str, optional
            By this judge; by default by one of average sensitivity, who follows the consensus. Position effects are left out.
        alpha : float
            One minus the level of the interval, which is made on the logit scale.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> found = result.head_to_head("model-A", "model-H", judge="judge-5")
        >>> print(found.sentence.partition(", which ")[0])
        judge-5 prefers model-A to model-H with probability 0.676 (95% interval 0.560 to 0.775)
        """
        return head_to_head(self.fit, a, b, judge, alpha)

    # Contrasts and tests

    def contrast(
        self,
        spec: Spec,
        *,
        null: float | Sequence[float] | None = None,
        scale: str | None = None,
        alternative: str = "two-sided",
    ) -> Contrast:
        """Any smooth function of the parameters, with standard errors by the delta method.

        Parameters
        ----------
        spec : str, callable, weights, or a dict or list of these
            A string with arithmetic and ``exp, log, sqrt, abs, logit, expit`` over ``mu[item]``, ``gamma[judge]``,
            ``S[judge, item]`` (scores), ``R[judge, item]`` (residual disagreement), ``h[judge]`` and ``rho[judge]`` (its size,
            and relative to the consensus part), ``p[judge, first, second]`` (probability
            that the item shown first wins a decided verdict, position effects included), ``p[first, second]`` (that of the
            consensus, which knows no position), ``prob[verdict, judge, first,
            second]`` (that the verdict is ``first``, ``second`` or, with ties as an outcome, ``tie``), ``position[judge]``,
            ``U[judge, 1]``, ``V[item, 1]`` and covariate names. Several labels, ``gamma[a, b, c]``, or all, ``mu[*]``,
            ``S[a, *]``, are a group: a contrast for each member, or one value by ``mean, sum, min, max, sd`` (n - 1 below).
            ``"... = value"`` sets the value tested against; ``"a = b = 1"`` is a chain, and commas separate contrasts.

            Or a function of a :class:`~hjastats.model.quantities.ParameterView`. Or weights: an array with one for each of
            ``params``, or a dict or Series from names to weights, ``{"mu[a]": 1, "mu[b]": -1}``; a data frame has a contrast in
            each row.
        null : float or sequence, optional
            Values to test against: one half for probabilities, zero for everything else, unless given.
        scale : {"delta", "log", "logit"}, optional
            On which the contrasts are tested and bounded. What strings spell as a probability has the logit; functions say
            ``scale="logit"`` if theirs is one (``view.p(...)`` and ``1 - view.p(...)`` say so themselves). "log" is for what
            is positive, against one.
        alternative : {"two-sided", "larger", "smaller"}
            Of p-values and intervals, which have one limit if it is one-sided.

        Returns
        -------
        Contrast
            With ``summary_frame()``, ``conf_int(alpha, method="delta" | "log" | "logit")``, ``wald_test()``,
            ``equivalence(low, high)``, ``adjusted(method)`` for many at once, and members by name or position, ``found["name"]``.
            Ratios are tested and bounded by Fieller's method, whose interval has no end where the denominator may be zero.

        Raises
        ------
        ContrastError
            When the string cannot be read or a label does not exist, where a minimum or maximum is tied, and for functions that
            change by steps, such as ranks: those are for :meth:`hjastats.HJAResults.bootstrap`.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> result.contrast("gamma[judge-1] / gamma[judge-2] = 1")
                                             estimate   null  std_err      z  p_value  ci_lower  ci_upper
        contrast
        gamma[judge-1] / gamma[judge-2] = 1    2.0795 1.0000   0.3025 5.0432 4.58e-07    1.5717    2.7994

        The leader against the mean of the two behind it, and whether it is ahead:

        >>> result.contrast({"lead": "mu[model-I] - mean(mu[model-H, model-A])"}, alternative="larger").summary_frame().round(3)
                  estimate  std_err      z  p_value  ci_lower  ci_upper
        contrast
        lead         0.453    0.106  4.278      0.0     0.279       inf

        Where the likelihood keeps rising without limit, contrasts that have no finite value are empty.
        """
        return contrast(self.fit, spec, null=null, scale=scale, alternative=alternative)

    def contrast_formula(
        self, formula: str, metadata: pd.DataFrame | None = None, *, missing: str = "raise", trusted: bool = True
    ) -> FormulaContrast:
        """Regress estimated parameters on metadata of judges or items, with the estimates' full covariance.

        Parameters
        ----------
        formula : str
            ``"gamma ~ provider"``, ``"log(gamma) ~ size"``, ``"mu ~ size"``, ``"position ~ provider"``, ``"U ~ family"`` (every
            direction), ``"h ~ size"`` or, on judge-item metadata, ``"disagreement ~ same_family"`` and ``"scores ~ ..."``; the
            right side is a patsy formula, which may call functions of yours.
        metadata : pandas.DataFrame, optional
            One row per judge or item (or per pair of both), labelled by the index or by columns ``judge`` and ``item``. By default
            that of the data (:meth:`Comparisons.with_metadata`); for pairs, a column ``family`` of judges and items is called
            ``judge_family``, ``item_family``, and ``same_family`` says where they agree.
        missing : {"raise", "drop"}
            What to do with judges or items without a row, or with missing values in one: refuse, or leave them out and say who.
        trusted : bool
            Whether the formula may be any Python, which is executed; see :meth:`hjastats.HJAModel.from_formula`.

        Returns
        -------
        FormulaContrast
            Coefficients as contrasts, and ``terms`` with a joint Wald test per term: that it changes nothing. Without an
            intercept, groups are tested to be equal. Inference is for this panel: the
            uncertainty is that of the parameters, not of having drawn these judges and items.

        Examples
        --------
        >>> import hjastats as hja
        >>> import pandas as pd
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> judges = pd.DataFrame({"size": [70, 34, 8, 13, 8, 34, 70, 2]}, index=result.model.judges)
        >>> result.contrast_formula("gamma ~ size", judges).terms.round(2)
              chi2  df  p_value
        size  64.9   1      0.0
        """
        refuse_code(trusted, [formula])
        if metadata is None:
            metadata = stored_metadata(formula, self.model.observations.data)
        caller = EvalEnvironment.capture(1) if trusted else EvalEnvironment([dict(SAFE_NAMES)])
        return contrast_formula(self.fit, formula, metadata, missing=missing, environment=caller)

    def t_test(self, r_matrix: Any, cov_p: Any = None, use_t: bool | None = None) -> ContrastResults:
        """Z tests of linear hypotheses about the reported parameters, one per row.

        Parameters
        ----------
        r_matrix : str, list of str, dict, array_like or tuple (R, q)
            ``"mu[a] - mu[b] = 0, gamma[x] = 1"`` as in patsy.
        cov_p : array_like, optional
            Another covariance of the parameters.

        Raises
        ------
        ContrastError
            When a row is fixed by the constraints ("not testable") or cannot be read.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> result.t_test("mu[model-I] - mu[model-H] = 0").summary_frame()[["coef", "std err", "z"]].round(3)
                                         coef  std err      z
        -mu[model-H] + mu[model-I] = 0  0.352    0.119  2.962
        """
        if not (use_t is None or use_t is False):
            raise OptionError("use_t is not available: the tests are asymptotic.")
        return t_test(self.fit, r_matrix, cov_p)

    def wald_test(
        self,
        r_matrix: Any,
        cov_p: Any = None,
        invcov: Any = None,
        use_f: bool | None = None,
        df_constraints: int | None = None,
        scalar: bool | None = None,
    ) -> ContrastResults:
        """Joint chi-squared test of linear hypotheses about the reported parameters.

        The hypotheses are carried to the free coordinates: the degrees of freedom are what is left to test after the
        constraints of the model, and a hypothesis that contradicts them is refused. With clusters the statistic is that of
        statsmodels, which warns where they are so few that it rejects true hypotheses too often.

        Parameters
        ----------
        r_matrix : str, list of str, dict, array_like or tuple (R, q)
        cov_p : array_like, optional
            Another covariance of the parameters.
        invcov, use_f, df_constraints, scalar
            Accepted for compatibility; only their defaults are supported.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> test = result.wald_test("gamma[judge-1] = 1, gamma[judge-2] = 1")
        >>> int(test.df_denom), round(float(test.statistic), 1)
        (2, 116.9)
        """
        if invcov is not None or df_constraints is not None or not (use_f is None or use_f is False):
            raise OptionError("wald_test supports neither invcov, use_f nor df_constraints: the test is chi-squared.")
        return wald_test(self.fit, r_matrix, cov_p)

    def wald_test_terms(
        self, skip_single: bool = False, extra_constraints: Any = None, combine_terms: Any = None, scalar: Any = None
    ) -> WaldTestResults:
        """Joint tests by term and kind of parameter: no item differs (mu), all judges are equally sensitive (gamma = 1), and so on.

        The columns that one term of a formula makes are tested together. Where errors count clusters, the statistic is made with
        the model's covariance, then scaled and shifted to the mean and variance that clusters give it (Rao and Scott 1984): few
        clusters make the usual one, which ``wald_test`` has, far too large.

        Parameters
        ----------
        skip_single : bool
            Leave out terms and kinds with one parameter.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> result.wald_test_terms().table[["statistic", "df_constraint"]].astype(float).round(1)
               statistic  df_constraint
        gamma      160.1            7.0
        mu         382.1            9.0
        """
        check_flag("skip_single", skip_single)
        if extra_constraints is not None or combine_terms is not None:
            raise OptionError("wald_test_terms tests kinds of parameters; use wald_test for other combinations.")
        return TermTests(None, "chi2", None, table=wald_test_kinds(self.fit, skip_single))

    def scale_tests(self) -> pd.DataFrame:
        """Score tests of the scale of graded verdicts: whether it is the same for judges, sides and steps.

        Judges: thresholds, or propensities, are the same for all of them; of several the one that says most, its p-value adjusted.
        Sides: a verdict for the second item is the mirror image of one for the first, but for a position effect that the model has;
        asked only where the table says what was shown first. Steps: the log-odds count alike at every step of the scale
        (proportional odds). Where verdicts hang together, by prompt or by ranking, sides and steps count clusters.

        Returns
        -------
        pandas.DataFrame
            Indexed by "judges", "sides" and "steps", as far as there is something to test: null, statistic, df, p_value.

        Raises
        ------
        OptionError
            Where verdicts are no grades.

        Examples
        --------
        >>> import hjastats as hja
        >>> panel = hja.datasets.load_panel()
        >>> strong = np.random.default_rng(0).random(panel.n_rows) < 0.5                         # made up for the example
        >>> graded = panel.with_outcome(np.where(strong, panel.outcome, 0.25 + 0.5 * panel.outcome))
        >>> result = hja.JAModel.from_comparisons(graded, ties="ordinal", position="judge").fit()
        >>> result.scale_tests()[["statistic", "df", "p_value"]].round(2)
                statistic  df  p_value
        test
        judges      60.78   7      0.0
        sides       11.24   1      0.0
        steps      193.48   1      0.0
        """
        return scale_table(self.fit, self.model.observations)

    def drop_terms(self) -> pd.DataFrame:
        """Likelihood-ratio tests of the terms, each against the fit without it, as R's ``drop1``.

        Terms are those of the formula, other covariates and the position effect; of interactions only the columns of the term
        itself are left out.

        Returns
        -------
        pandas.DataFrame
            Indexed by the term left out: df, llf, aic, bic of the fit without it, lr, lr_df, p_value, note; as in :func:`compare`.

        Raises
        ------
        ContrastError
            If there are none.

        Examples
        --------
        >>> import hjastats as hja
        >>> frame = hja.datasets.load_panel().to_frame()
        >>> frame["topic"] = ["code", "math", "text", "text"] * 800
        >>> labels = {"judge": "judge", "item_a": "first", "item_b": "second"}
        >>> result = hja.JAModel.from_formula("outcome ~ C(topic)", frame, **labels).fit()
        >>> result.drop_terms()[["lr", "lr_df", "p_value"]].round(3)
                      lr  lr_df  p_value
        C(topic)   0.326      2    0.849
        position  19.795      1    0.000
        """
        terms, droppable = self.fit.layout.terms, {None, *self.model.scopes}
        kinds = {term.name: None if term.kind is None else term.kind.name for term in terms}
        names = [name for name, columns in terms.grouped().items() if kinds[columns[0]] in droppable]
        if not names:
            raise ContrastError("there is no term to leave out: the model has neither covariates nor position effects.")
        others = {name: self.model.without_term(name).fit_like(self.fit)._candidate for name in names}
        return drop_table(self._candidate, others)

    def t_test_pairwise(
        self, term_name: str, method: str = "hs", alpha: float = 0.05, factor_labels: Sequence[str] | None = None
    ) -> MultiCompResult:
        """All pairs of levels of a categorical covariate of the formula, as in statsmodels.

        Parameters
        ----------
        term_name : str
            As in the formula, ``"C(topic)"``.
        method, alpha, factor_labels
            Adjustment of the p-values, its level, and other names of the levels.

        Raises
        ------
        ContrastError
            For what is no term of the formula; items and judges are compared by :meth:`hjastats.HJAResults.pairwise`.

        Examples
        --------
        >>> import hjastats as hja
        >>> frame = hja.datasets.load_panel().to_frame()
        >>> frame["topic"] = ["code", "math", "text", "text"] * 800
        >>> labels = {"judge": "judge", "item_a": "first", "item_b": "second"}
        >>> result = hja.BTLModel.from_formula("outcome ~ C(topic)", frame, **labels).fit()
        >>> result.t_test_pairwise("C(topic)").result_frame[["coef", "std err", "pvalue-hs"]].round(3)
                    coef  std err  pvalue-hs
        math-code  0.036    0.110      0.845
        text-code -0.049    0.096      0.845
        text-math -0.085    0.095      0.753
        """
        design = self.model._formula_design
        terms = [] if design is None else getattr(design, "term_names", None) or [str(term) for term in design.terms]
        if term_name not in terms:
            known = f"its terms are {quoted(terms)}" if terms else "there is none"
            raise ContrastError(
                f"{term_name!r} is no term of the formula ({known}); pairwise('mu') compares items, pairwise('gamma') judges."
            )
        # In the design the intercept comes first; among the parameters it is the position effect, after the covariates.
        names = ["position" if name == "Intercept" else name for name in design.column_names]
        place = np.array([[name == own for own in self._names] for name in names], dtype=float)
        as_designed = SimpleNamespace(params=names, model=self.model, t_test=lambda rows: self.t_test(rows @ place))
        found = t_test_pairwise(as_designed, term_name, method=method, alpha=alpha, factor_labels=factor_labels)
        found.contrasts = found.contrasts @ place
        return found

    def lr_test(self, hypothesis: Any) -> HypothesisTest:
        """Likelihood-ratio test of a hypothesis: the model is fitted again under it.

        Unlike a Wald test it does not depend on how the hypothesis is written, and holds better where verdicts are few. With robust
        or clustered errors the ratio is divided by the mean factor by which these change it (Rao and Scott 1984), which is right to
        first order for a single restriction.

        Parameters
        ----------
        hypothesis : str, list of str, dict, array_like, tuple (R, q) or callable
            As in :meth:`hjastats.HJAModel.fit_constrained`.

        Returns
        -------
        HypothesisTest
            null, statistic, df, p_value, note.

        Raises
        ------
        ContrastError
            For what cannot be read, or what the constraints of the model fix or contradict.
        IdentificationError
            For penalised fits, and where the likelihood has no maximum under the hypothesis.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> result.lr_test("gamma[judge-3] = gamma[judge-5]")
        Likelihood ratio test of gamma[judge-3] - gamma[judge-5] = 0
          chi2(1) = 2.099, p = 0.1474
        """
        return lr_test(self.fit, self.model.observations, hypothesis)

    def score_test(self, hypothesis: Any) -> HypothesisTest:
        """Rao's score test of a hypothesis: how steep the likelihood is at the estimate that fulfils it.

        With robust or clustered errors the variance of the slope is theirs.

        Parameters
        ----------
        hypothesis : str, list of str, dict, array_like, tuple (R, q) or callable
            As in :meth:`hjastats.HJAModel.fit_constrained`.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> result.score_test("gamma[judge-3] = gamma[judge-5]")
        Score test of gamma[judge-3] - gamma[judge-5] = 0
          chi2(1) = 1.78, p = 0.1821
        """
        return score_test(self.fit, lambda: self.model.observations, hypothesis)

    @property
    def _candidate(self) -> Candidate:
        """The fit as one to be compared with others."""
        return Candidate(self.fit, None if self.model.comparisons is None else self.model.observations)

    def compare_lr_test(
        self,
        restricted: HJAResults,
        method: str = "chi2",
        *,
        n: int = 199,
        rng: int | np.random.Generator | None = 0,
        n_jobs: int = 1,
        progress: bool = False,
    ) -> CompareLRTestResult:
        """Likelihood-ratio test of a restricted model fitted to the same data against this one.

        Parameters
        ----------
        restricted : HJAResults
        method : {"chi2", "bootstrap"}
            "chi2" counts the clusters of the fits' standard errors, if they have any, by the correction of Rao and Scott.
            "bootstrap" draws data from the restricted model.
        n, rng, n_jobs, progress
            Replications, randomness, parallel jobs and progress bar of the bootstrap.

        Returns
        -------
        CompareLRTestResult
            statistic, pvalue, df_diff. Without p-value, and with a warning, where chi-squared would reject too often: when the
            models differ in the number of disagreement directions, or when judges tell too little of the consensus.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> btl = result.model.pooled().fit()
        >>> test = result.compare_lr_test(btl)
        >>> round(test.statistic, 1), test.df_diff
        (162.6, 7)
        """
        check_option("method", method, ("chi2", "bootstrap"))
        candidate, other = self._candidate, _checked(restricted)._candidate
        if method == "chi2":
            return compare_lr_test(candidate, other)
        check_nested(other, candidate)
        if not other.has_same_terms(candidate):
            raise ComparisonError(
                "the bootstrap compares models with the same position effects, ties and covariates: "
                f"{other.name} and {candidate.name} differ in them."
            )
        check_options(n, "parametric")
        data = self.model.observations.data
        test = bootstrap_ratio_test(other.fit, self.fit, data, n=n, rng=rng, n_jobs=n_jobs, progress=progress)
        return CompareLRTestResult(test.statistic, test.p_value, int(self.fit.df - other.fit.df))

    def rank_test(
        self,
        method: str = "saturated",
        *,
        n: int = 199,
        rng: int | np.random.Generator | None = 0,
        n_jobs: int = 1,
        progress: bool = False,
    ) -> RankTest:
        """Test that the fitted number of disagreement directions is enough.

        Parameters
        ----------
        method : {"saturated", "bootstrap"}
            "saturated": against judge-wise BTL, or with traits of items the largest rank, chi-squared. "bootstrap": against one
            direction more, whose likelihood ratio is not chi-squared, by parametric bootstrap.
        n, rng, n_jobs, progress
            Replications, randomness, parallel jobs and progress bar of the bootstrap.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel(), position="judge").fit()
        >>> result.rank_test()
        Rank test (saturated): JA + position against judge-wise BTL + position
          LR = 310.252, chi2(56), p = 6.661e-37
        """
        check_option("method", method, ("saturated", "bootstrap"))
        check_rank(self.fit, type(self.model).__name__)
        if method == "saturated":
            return saturated_rank_test(self._candidate, self.model.saturated().fit()._candidate)
        check_options(n, "parametric")
        larger, data = self.model.with_rank(self.fit.layout.rank + 1).fit().fit, self.model.observations.data
        return bootstrap_ratio_test(self.fit, larger, data, n=n, rng=rng, n_jobs=n_jobs, progress=progress)

    def bootstrap(
        self,
        n: int = 999,
        kind: str = "parametric",
        *,
        groups: Any = None,
        rng: int | np.random.Generator | None = 0,
        n_jobs: int = 1,
        progress: bool = False,
    ) -> Bootstrap:
        """Refit to new data like these, with the same penalty if the fit had one.

        Parameters
        ----------
        n : int
            Replications.
        kind : {"parametric", "rows", "cluster"}
            Draw verdicts from the fitted model, or resample comparisons, or whole clusters of them.
        groups : str or array_like
            Column or labels of the clusters.
        rng : int or numpy.random.Generator
            The result does not depend on ``n_jobs``.
        n_jobs : int
            Parallel jobs (joblib).
        progress : bool
            Show a progress bar.

        Returns
        -------
        Bootstrap
            With ``params`` and ``contrast(spec, method="percentile" | "bca")``.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> draws = result.bootstrap(20, "parametric", rng=0)
        >>> draws.contrast("mu[model-I] - mu[model-H]")[["estimate", "std_err", "ci_lower", "ci_upper"]].round(2)
                                   estimate  std_err  ci_lower  ci_upper
        contrast
        mu[model-I] - mu[model-H]      0.35     0.12      0.09      0.52
        >>> float(draws.params["gamma[judge-1]"].std().round(2))
        0.28
        """
        check_options(n, kind)
        return bootstrap(
            self.fit,
            self.model.observations,
            n=n,
            kind=kind,
            groups=groups,
            rng=rng,
            n_jobs=n_jobs,
            progress=progress,
        )

    # Prediction

    def predict(self, exog: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Expected preference for the first item; see :meth:`hjastats.HJAModel.predict`.

        That is the probability that it wins, and half of that of a tie where ties are an outcome; ``which`` asks for others.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.predict(judge="judge-first", item_a="model-I", item_b="model-H").round(3)
        array([0.963])
        >>> result.predict(judge="judge-first", item_a="model-I", item_b="model-H", position=False).round(3)
        array([0.643])
        """
        return self.model.predict(self.fit.params, exog, *args, **kwargs)

    @property
    def fittedvalues(self) -> pd.Series:
        """Fitted values of the rows: the expected preference for the first item."""
        return self.model.predict(self.fit.params)

    @property
    def resid(self) -> pd.Series:
        """Outcome minus fitted probability of the rows."""
        return self.model.observations.data.outcome - self.fittedvalues

    @property
    def resid_pearson(self) -> pd.Series:
        """Residuals of the rows in standard deviations of their verdict, as of a GLM.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.BTLModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> result.resid_pearson.abs().nlargest(2).round(2).to_dict()      # the verdicts that surprise most
        {292: 2.74, 306: 2.74}
        """
        return pd.Series(pearson_residuals(self.fit, self.model.observations), self.model.data.row_labels)

    @property
    def resid_dev(self) -> pd.Series:
        """Deviance residuals of the rows: signed roots of twice the log-likelihood that each verdict lacks.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.BTLModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> bool(abs((result.resid_dev**2).sum() + 2 * result.llf) < 1e-8)
        True
        """
        return pd.Series(deviance_residuals(self.fit, self.model.observations), self.model.data.row_labels)

    def simulate(self, design: Any = None, *, rng: int | np.random.Generator | None = None) -> Comparisons:
        """Draw verdicts from the fit; see :meth:`hjastats.HJAModel.simulate`.

        Parameters
        ----------
        design : pandas.DataFrame, optional
            Comparisons to judge, as for :meth:`hjastats.HJAResults.predict`; those of the data when left out.
        rng : int or numpy.random.Generator

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> again = hja.JAModel.from_comparisons(result.simulate(rng=1)).fit()
        >>> list(again.consensus.index[:3])
        ['model-I', 'model-H', 'model-A']
        """
        return self.model.simulate(self.fit.params, design, rng=rng)

    def fragility(self) -> Fragility:
        """How few comparisons the lead hangs on: those without which another item would lead.

        Comparisons are ordered by their influence on the difference to the challenger that needs fewest of them (one Newton step
        each; Broderick, Giordano and Meager 2020). The shortest beginning of this order that changes the leader is found by
        fitting without it. It is a bound from above: other sets of the same size are not tried.

        Returns
        -------
        Fragility
            leader, challenger, n_comparisons, share, rows (which comparisons), challengers (the number for each, by influence).

        Raises
        ------
        IdentificationError
            If the estimate does not exist.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.BTLModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> found = result.fragility()
        >>> found
        model-I leads; without 45 of 3,200 comparisons (1.4%) model-H would, as fitting again confirms.
        >>> found.rows["judge"].value_counts().head(2).to_dict()
        {'judge-6': 8, 'judge-noise': 8}
        """

        def without(removed: np.ndarray) -> Fit | None:
            with suppress(IdentificationError, ComparisonError):
                return self.model.without_comparisons(removed).fit_like(self.fit).fit
            return None

        return fragility(self.fit, self.model.observations, without)

    def get_prediction(
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
        average: bool | str | Sequence[str] = False,
        row_labels: Any = None,
    ) -> PredictionResultsMonotonic:
        """What :meth:`hjastats.HJAResults.predict` gives, with intervals made on the logit scale.

        Parameters
        ----------
        exog, judge, item_a, item_b, judge_exog, offset
            New comparisons, as in :meth:`hjastats.HJAModel.predict`; the data themselves when left out. ``"*"`` stands for all
            judges or items: the grid of all of them, under the same covariates (one row of ``exog``).
        position : bool
            Whether the item shown first has the advantage the model gives it.
        which : {"mean", "decided", "linear", "first", "second", "tie", "probs"}
            Expected preference for the first item, ties counting one half; probability that it wins a decided verdict, ``p`` in
            contrasts; log-odds; probability of a verdict, or of all of them, one below the other.
        average : bool or {"judge", "item_a", "item_b"} or list of these
            Average the predictions over all comparisons, or over judges or items.
        row_labels : array_like, optional
            Index of the table; by default that of the frame, or the labels of the grid.

        Returns
        -------
        PredictionResultsMonotonic
            With ``summary_frame(alpha)``: predicted, se, ci_lower, ci_upper.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> prediction = result.get_prediction(judge="judge-1", item_a="model-I", item_b=["model-H", "model-J"])
        >>> prediction.summary_frame().round(3)
           predicted     se  ci_lower  ci_upper
        0      0.810  0.066     0.648     0.908
        1      0.999  0.001     0.997     1.000

        What the panel says on average, whichever item is shown first:

        >>> grid = {"judge": "*", "item_a": "model-I", "item_b": ["model-H", "model-A"], "position": False}
        >>> result.get_prediction(**grid, average="judge").summary_frame().round(3)
                         predicted     se  ci_lower  ci_upper
        item_a  item_b
        model-I model-H      0.618  0.029     0.561     0.673
                model-A      0.674  0.025     0.624     0.721
        """
        check_flag("position", position)
        new = self.model.labelled_rows(exog, judge, item_a, item_b, judge_exog, offset)
        rows = new.rows if position else new.rows.without("position")
        return predictions(self.fit, rows, which, average, new.labels, row_labels)

    # Words and figures

    @cached_property
    def findings(self) -> Findings:
        """What the data and the fit give reason to say, each checked condition either way.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> for text in result.findings.warnings:
        ...     print(text)
        'judge-first' picks the first item in 87.2% of its comparisons (87.2% of the decided ones, 95% interval 83.6% to 90.4%).
        Judges that follow the consensus far less than others, whose gamma is 0.89 in the median: 'judge-noise' (0.23).
        Disagreement is dominated by 'judge-5' (h = 2.65), against a median h of 0.88: refit without to see.
        """
        return find(self.fit, self.model.observations)

    def diagnose(self) -> Diagnosis:
        """Findings, the facts of every judge, and the likelihood-ratio test of position effects the model lacks.

        Fits the same model with position effects per judge, and the same penalty, unless it has them. Penalised fits have no
        likelihood-ratio test.

        Examples
        --------
        >>> import hjastats as hja
        >>> diagnosis = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit().diagnose()
        >>> diagnosis.judges.loc["judge-first", ["first_share", "position"]].astype(float).round(2).tolist()
        [0.87, 2.64]
        >>> diagnosis.position_test.df_diff
        8
        """
        data = self.model.observations.data
        if self.model.position == "judge" or not has_order(data) or self.fit.restriction is not None:
            return Diagnosis(self.findings, judge_facts(data, self.position if self.model.position else None), None)
        other = self.model.with_position("judge").fit_like(self.fit)
        position, separation = other.position, other.fit.separation
        if separation is not None:
            own = other.fit.layout.terms.own_names.index("position")
            moving = np.abs(separation.judge_terms[:, own]) >= INVOLVED
            position.loc[moving, ["estimate", "std_err"]] = np.nan
        test = None
        if self.fit.penalty is None and other.converged and other.fit.df > self.fit.df:
            ratio = likelihood_ratio(self._candidate, other._candidate)
            test = CompareLRTestResult(ratio.statistic, ratio.p_value, ratio.df)
        return Diagnosis(self.findings, judge_facts(data, position), test)

    def summary(
        self, yname: str | None = None, title: str | None = None, alpha: float = 0.05, max_rows: int = 60
    ) -> Summary:
        """Tables and notes, as statsmodels prints them.

        Parameters
        ----------
        alpha : float
            One minus the level of the intervals.
        max_rows : int
            Longest table printed in full; longer ones show their first and last rows.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.BTLModel.from_comparisons(hja.datasets.load_panel(), position="common").fit()
        >>> print(result.summary(max_rows=4).tables[2])
                           consensus mu (sums to zero)
        ==================================================================
                        place       coef    std err     [0.025      0.975]
        ------------------------------------------------------------------
        model-I             1     0.9681     0.0830     0.8055      1.1307
        model-H             2     0.6282     0.0784     0.4745      0.7819
        (6 more)          ...        ...        ...        ...         ...
        model-G             9    -0.9460     0.0833    -1.1093     -0.7827
        model-J            10    -1.1374     0.0870    -1.3078     -0.9669
        ==================================================================
        """
        check_type("yname", yname, (str, NoneType), "a text")
        check_type("title", title, (str, NoneType), "a text")
        check_alpha(alpha)
        check_whole("max_rows", max_rows, 0)
        heading = Heading(yname or self.model.endog_names, type(self.model).__name__, title)
        return summarise(self.fit, self.findings, heading, alpha=alpha, max_rows=max_rows)

    def summary2(
        self,
        yname: str | None = None,
        xname: list[str] | None = None,
        title: str | None = None,
        alpha: float = 0.05,
        float_format: str = "%.4f",
    ) -> Summary2:
        """One table of all parameters, as statsmodels' ``summary2`` prints it.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.BTLModel.from_comparisons(hja.datasets.load_panel(), position="common").fit()
        >>> result.summary2().tables[1].iloc[0].round(3).to_dict()
        {'Coef.': 0.313, 'Std.Err.': 0.039, 'z': 7.961, 'P>|z|': 0.0, '[0.025': 0.236, '0.975]': 0.39}
        """
        check_type("yname", yname, (str, NoneType), "a text")
        check_type("title", title, (str, NoneType), "a text")
        check_alpha(alpha)
        table = Summary2()
        table.add_base(self, alpha, float_format, title, xname or list(self._names), yname)
        return table

    @property
    def plot(self) -> FitPlots:
        """Figures of the fit, a method for each; see :class:`hjastats.show.figures.FitPlots`.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> result.plot.sensitivity().get_figure().savefig("sensitivity.svg")  # doctest: +SKIP
        """
        return FitPlots(self.fit, lambda: self.model.observations)

    @property
    def judges(self) -> JudgeQuestions:
        """Questions about the judges, a method for each; see :class:`hjastats.judges.JudgeQuestions`.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.judges.cards()["cycle_rate"].nlargest(2).round(2)
        judge
        judge-noise    0.24
        judge-first    0.09
        Name: cycle_rate, dtype: float64
        """
        return JudgeQuestions(self.model, self.fit)

    @property
    def plan(self) -> PlanQuestions:
        """Questions about further verdicts, a method for each; see :class:`hjastats.plan.PlanQuestions`.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.BTLModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> int(result.plan.sample_size("mu[model-A] - mu[model-H]", power=0.9).verdicts)
        3540
        """
        return PlanQuestions(self.model, self.fit)

    @overload
    def report(self, path: None = None, title: str | None = None, *, groups: Section | None = None) -> str: ...

    @overload
    def report(self, path: str | Path, title: str | None = None, *, groups: Section | None = None) -> None: ...

    def report(
        self, path: str | Path | None = None, title: str | None = None, *, groups: Section | None = None
    ) -> str | None:
        """Write one self-contained HTML page: who is best, what to distrust, any two items compared, judges, figures, files.

        Parameters
        ----------
        path : str or Path, optional
            File to write.
        title : str, optional
        groups : GroupBoards, optional
            What :func:`hjastats.by_group` returned: a section of the page.

        Returns
        -------
        str or None
            The page, if there is no path. It loads nothing from elsewhere. jinja2 and matplotlib are needed:
            ``pip install 'hjastats[report]'``.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel(), position="judge").fit()
        >>> "model-I leads" in result.report(title="Six judges and two others")
        True
        """
        if groups is not None and not hasattr(groups, "section"):
            raise OptionError(f"groups must be what hja.by_group returns, got {type(groups).__name__}.")
        section = "" if groups is None else groups.section()
        return text_or_file(render(replace(self._subject(), groups=section), title), path)

    def _subject(self) -> Subject:
        """What a report is about."""
        heading = Heading(self.model.endog_names, type(self.model).__name__)
        chosen = list(self.choices[["chosen", "reason"]].itertuples(name=None))
        return Subject(self.fit, self.model.observations, self.findings, heading, self._relatives(), chosen)

    def _relatives(self) -> pd.DataFrame | None:
        """The fitted model among its neighbours; None for fits whose likelihood is not a maximum, and with covariates."""
        model = self.model
        if self.fit.penalty is not None or model.exog is not None or model.judge_exog is not None:
            return None
        relatives = []
        for position in (None, "judge"):
            base = model.with_position(position)
            relatives += [base.pooled(), base.with_rank(0)] + ([base.with_rank(model.rank)] if model.rank else [])
        fitted = []
        for relative in relatives:
            # Verdicts without any consensus have no sensitivities to it.
            with suppress(IdentificationError):
                fitted.append(relative.fit(warn_convergence=False))
        # Nor have items that nothing links.
        return compare(*fitted) if len(fitted) > 1 else None

    @overload
    def to_json(self, path: None = None) -> str: ...

    @overload
    def to_json(self, path: str | Path) -> None: ...

    def to_json(self, path: str | Path | None = None) -> str | None:
        """Write the data, the estimate and how it was found as JSON, for :func:`hjastats.load_results`.

        Parameters
        ----------
        path : str or Path, optional
            File to write.

        Returns
        -------
        str or None
            The JSON text, if there is no path. A formula is not part of it: covariates are stored as the numbers they were.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> again = hja.load_results(result.to_json())
        >>> again.consensus.head(1).round(3)
                 estimate  std_err  ci_lower  ci_upper
        item
        model-I     1.113    0.091     0.934     1.291
        """
        model = self.model
        options = model.options | ({} if model.offset_name is None else {"offset_name": model.offset_name})
        document = to_document(type(model).__name__, options, self.fit, model.observations, self.choices)
        return text_or_file(json.dumps(document, allow_nan=False), path)

    def get_nlfun(self, fun: Any) -> Any:
        """Refuse what the base class leaves open."""
        raise NotImplementedError(
            "not available: contrast(function) gives the estimate of any smooth function of the parameters, its standard error "
            "and its test."
        )

    def _unavailable(self) -> Any:
        """Refuse what the base class would compute from a singular Hessian in reported coordinates."""
        raise NotImplementedError(
            "not available: use with_covariance('HC0') or with_covariance(information='observed')."
        )

    covjac = property(_unavailable)
    covjhj = property(_unavailable)
    bsejac = property(_unavailable)
    bsejhj = property(_unavailable)

    def remove_data(self) -> None:
        """Drop the rows of the data; tables, tests and predictions for new comparisons keep working.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> result.remove_data()
        >>> result.predict(judge="judge-1", item_a="model-I", item_b="model-H").round(2)
        array([0.73])
        """
        _ = self.findings, self.model.endog_names, self.mle_settings, self.mle_retvals
        super().remove_data()
        self.fit = self.fit.without_rows()
        self.cov_kwds = {"description": self.fit.choice.description, **self.fit.choice.facts}
        self.model.design = self.fit.design
        frame = getattr(self.model.data, "frame", None)
        if frame is not None and self.model.formula is not None:
            # Of which the design of the formula is made again after unpickling.
            mentioned = [name for name in frame.columns if mentions(self.model.formula, name)]
            self.model.data.frame = frame[mentioned].copy()


# By name: functions of log-likelihood, number of comparisons and number of parameters.
CRITERIA = {"aic": aic, "bic": bic, "aicc": aicc, "hqic": hqic}

# Names of the base class that work but are seldom asked for, or that it calls; editors do not offer them.
HIDDEN = {
    *("bsejac", "bsejhj", "covjac", "covjhj", "cov_params_default", "df_modelwc", "normalized_cov_params"),
    *("llnull", "llr", "llr_pvalue", "mle_retvals", "mle_settings", "prsquared", "t_test_pairwise"),
    *("drop_terms", "fittedvalues", "remove_data", "resid", "scale_tests", "score_test", "wald_test_terms"),
    *("get_nlfun", "get_prediction", "info_criteria", "pseudo_rsquared", "resid_dev", "resid_pearson", "summary2"),
}


def compare(*results: HJAResults) -> pd.DataFrame:
    """Analysis of deviance of models fitted to the same comparisons.

    Each row is tested against the closest smaller model above it that is nested in it. Where that test is not regular (one
    more direction of disagreement) no p-value is given: chi-squared would reject too often.

    Parameters
    ----------
    *results : HJAResults
        Fits to the same data.

    Returns
    -------
    pandas.DataFrame
        Ordered by degrees of freedom: df, llf, aic, bic, against, lr, lr_df, p_value, note.

    Raises
    ------
    ComparisonError
        If the data differ.

    Examples
    --------
    >>> import hjastats as hja
    >>> data = hja.datasets.load_panel()
    >>> btl = hja.BTLModel.from_comparisons(data).fit()
    >>> ja = hja.JAModel.from_comparisons(data).fit()
    >>> hja.compare(btl, ja)[["df", "bic", "against", "lr", "lr_df"]].round(1)
         df     bic against     lr  lr_df
    BTL   9  3986.4            NaN   <NA>
    JA   16  3880.3     BTL  162.6      7
    """
    if len(results) < 2:
        raise ComparisonError("pass at least two fitted models to compare.")
    return ModelTable(comparison_table([_checked(result)._candidate for result in results]))


def _checked(result: object) -> HJAResults:
    if not isinstance(result, HJAResults):
        raise ComparisonError(f"expected the result of a fit of this package, got {type(result).__name__}.")
    return result


def _return_values(fit: Fit) -> dict[str, Any]:
    """How the maximisation went, under the names statsmodels' optimisers use where they have one."""
    optimum, found = fit.optimum, fit.search
    values: dict[str, Any] = {
        "fopt": optimum.negative_loglike,
        "converged": fit.converged,
        "iterations": optimum.iterations,
        "distance": optimum.distance,
        "condition": fit.model_covariance.condition,
        "warnflag": 0 if fit.converged else 1,
        "path": optimum.path,
        "optima": [{"llf": -value, "starts": count} for value, count in zip(found.values, found.counts, strict=True)],
        "supremum": None if found.outermost is None else -found.outermost,
    }
    return values if fit.history is None else values | {"history": fit.history}


def _in_three_lines(results: HJAResults) -> str:
    """What was fitted, what came out, and where to look."""
    fit, layout = results.fit, results.fit.layout
    (order, scores), ahead = fit.best_first, fit.ahead
    first, *others = [layout.items[i] for i in order[np.isfinite(scores)][: 3 - bool(ahead)]] or ["no item"]
    if ahead:
        others = others if first == "no item" else [first, *others]
        first = f"{' and '.join(ahead[:2])}{' and others' if len(ahead) > 2 else ''} (no finite score)"
    n_warnings = len(results.findings.warnings)
    told = {0: "no warnings", 1: "1 warning"}.get(n_warnings, f"{n_warnings} warnings")
    errors = fit.choice.description.split(". The ")[0].rstrip(".")
    errors = errors[:1].lower() + errors[1:]
    leading = f"{first} lead{'' if len(ahead) > 1 else 's'}{', then ' if others else ''}{', '.join(others)}"
    if are_apart(fit.layout):
        leading = f"{len(layout.structure.groups)} groups of items, each with a zero of its own: .ranking(items=[...]) ranks one"
    return f"{fit}\n{leading}; {told} (see .findings)\n{errors}; {results._look}"
