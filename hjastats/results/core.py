"""What a fitted model knows, under the names statsmodels users expect."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from scipy import stats
from scipy.special import xlogy
from statsmodels.base.model import GenericLikelihoodModelResults, LikelihoodModelResults, LikelihoodResultsWrapper
from statsmodels.base.wrapper import populate_wrapper

from .. import limits
from ..diagnostics.diagnosis import Diagnosis, judge_facts
from ..diagnostics.findings import Finding, find
from ..diagnostics.influence import fitted_alike
from ..errors import SizeError
from ..inference.covariance import Covariance
from ..inference.estimate import Estimate, reassess, which_information
from ..inference.robust import DESCRIPTIONS, robust_covariance
from ..report import render
from ..summary import summarise
from ..words import quoted
from .examination import ExaminationMethods
from .export import text_or_file, to_document
from .inference import InferenceMethods
from .pictures import PictureMethods
from .tables import TableMethods

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary


class HJAResults(TableMethods, InferenceMethods, ExaminationMethods, PictureMethods, GenericLikelihoodModelResults):
    """Results of :meth:`hjastats.HJAModel.fit`.

    ``params``, ``bse``, ``tvalues``, ``pvalues``, ``conf_int()``, ``cov_params()``, ``llf``, ``aic``, ``bic`` and the rest keep
    their statsmodels meaning: parameters on the natural scale, z statistics against zero. ``df_model`` counts free parameters,
    ``nobs`` comparisons. The tables below say the same in the terms of the model.

    Attributes
    ----------
    consensus : pandas.DataFrame
        Consensus scores mu, best item first.
    sensitivity : pandas.DataFrame
        Sensitivities gamma, tested against one.
    position : pandas.DataFrame
        Log-odds bonus of the item shown first.
    scores, scores_se : pandas.DataFrame
        Judge-specific scores and standard errors, judges by items.
    disagreement : pandas.DataFrame
        Residual ``U V'``, judges by items.
    converged : bool
        Small gradient, positive definite information, finite estimates.

    Examples
    --------
    >>> import hjastats as hja
    >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
    >>> result.n_judges, result.n_items, result.rank, result.converged
    (8, 10, 1, True)
    >>> result.consensus.head(2).round(2)
             estimate  std_err  ci_lower  ci_upper
    item
    model-I      1.38     0.10      1.18      1.59
    model-H      0.89     0.09      0.71      1.06
    >>> round(result.llf, 1), round(result.llnull, 1), round(result.llr, 1), round(result.prsquared, 3)
    (-1592.9, -2218.1, 1250.3, 0.282)
    >>> result.llr_pvalue
    nan
    >>> result.df_modelwc, len(result.params)
    (38.0, 44)
    >>> result.has_consensus, bool(result.is_separated.any()), bool(result.is_ambiguous.any())
    (True, False, False)
    >>> result.decomposition.U.shape, result.fittedvalues.shape, result.resid.shape
    ((8, 1), (3200,), (3200,))
    """

    def __init__(
        self,
        model: Any,
        estimate: Estimate,
        cov_type: str = "nonrobust",
        cov_kwds: dict[str, Any] | None = None,
        use_t: bool = False,
    ) -> None:
        layout = model.layout
        self.model, self.estimate = model, estimate
        params = layout.pack(estimate.at, self.decomposition)
        LikelihoodModelResults.__init__(self, model, params, None, scale=1.0, use_t=use_t)
        self._cache: dict[str, Any] = {}
        self.nobs, self.df_model, self.df_resid = model.nobs, model.df_model, model.df_resid
        if estimate.penalty is not None and estimate.penalty.kind == "ridge":
            self.df_model, self.df_resid = estimate.penalty.df, model.nobs - estimate.penalty.df
        self.k_constant = 0
        self.cov_type = cov_type
        self.cov_kwds = self._choose_covariance(cov_kwds or {})
        if "n_groups" in self.cov_kwds:
            self.n_groups = self.cov_kwds["n_groups"]
        self.converged = estimate.converged
        self.mle_settings = {"optimizer": estimate.method, "n_starts": estimate.search.n_starts}
        self.method = estimate.method

    @cached_property
    def _covariance(self) -> Covariance:  # type: ignore[override]
        """Of the free coordinates; the model-based one is worked out when it is asked for."""
        return self.estimate.free_covariance

    @cached_property
    def params_free(self) -> np.ndarray:
        """The estimate in free coordinates, shape (n_free,).

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> len(result.params_free) == result.df_model
        True
        """
        return self.model.layout.to_free(self.estimate.at, self.estimate.tangent)

    @cached_property
    def mle_retvals(self) -> dict[str, Any]:
        """How the maximisation went.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.BTLModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> result.mle_retvals["converged"], result.mle_retvals["iterations"] < 10
        (True, True)
        """
        return self.estimate.return_values()

    def _choose_covariance(self, cov_kwds: dict[str, Any]) -> dict[str, Any]:
        """Set the covariance, and tell what it is."""
        if self.cov_type == "nonrobust":
            if cov_kwds:
                raise ValueError(f"cov_type='nonrobust' takes no cov_kwds, got {sorted(cov_kwds)}.")
            penalty = self.estimate.penalty
            return {"description": penalty.description if penalty else DESCRIPTIONS[self.estimate.information]}
        if self.cov_type not in ("HC0", "cluster"):
            raise ValueError(f"cov_type must be 'nonrobust', 'HC0' or 'cluster', got {self.cov_type!r}.")
        self._need_data()
        model = self.model
        self._covariance, known = robust_covariance(
            self.cov_type,
            cov_kwds,
            model.row_cells(),
            model.comparisons,
            self.estimate.at,
            self.estimate.tangent,
            self.estimate.free_covariance,
            has_judge_parameters=self._has_judge_parameters,
        )
        return known

    # Matrices the base class would keep; with many items they are large, so they are made when asked for

    @cached_property
    def cov_params_free(self) -> np.ndarray:
        """Covariance of the free coordinates, shape (n_free, n_free).

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> result.cov_params_free.shape == (result.df_model, result.df_model)
        True
        """
        self._check_matrix(self.model.layout.n_free)
        return self._covariance.covariance

    def _check_matrix(self, n: int) -> None:
        """Refuse a covariance matrix of more parameters than fit in memory.

        Raises
        ------
        SizeError
        """
        if n > limits.LARGEST_MATRIX:
            raise SizeError(
                f"a covariance matrix of {n:,} parameters would take {8e-9 * n**2:,.0f} GB: ask for contrast, t_test, wald_test or "
                "estimates of those that matter."
            )

    @cached_property
    def cov_params_default(self) -> np.ndarray:  # type: ignore[override]
        """Covariance of the reported parameters, shape (n_params, n_params); singular, since they obey constraints.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.BTLModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> bool(abs(result.cov_params_default.sum()) < 1e-12)      # the scores sum to zero
        True
        """
        self._check_matrix(len(self.params))
        return self._covariance.of(self._jacobian)

    @property
    def normalized_cov_params(self) -> np.ndarray:
        """The same as ``cov_params_default``, under the name the base class uses.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.BTLModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> result.normalized_cov_params.shape
        (10, 10)
        """
        return self.cov_params_default

    @normalized_cov_params.setter
    def normalized_cov_params(self, value: None) -> None:
        """Take no notice of the nothing the base class begins with."""

    @cached_property
    def bse(self) -> np.ndarray:
        """Standard errors of the reported parameters.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.BTLModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> result.bse["mu[model-A]"].round(3)
        np.float64(0.076)
        """
        return self._errors(np.arange(len(self.params)))

    def with_covariance(
        self, cov_type: str = "nonrobust", cov_kwds: dict[str, Any] | None = None, information: str | None = None
    ) -> HJAResultsWrapper:
        """The same fit with another covariance; this result is left as it is.

        Parameters
        ----------
        cov_type : {"nonrobust", "HC0", "cluster"}
        cov_kwds : dict, optional
            ``{"groups": ...}`` for "cluster".
        information : {"expected", "observed"}, optional
            Which information to use; by default expected for "nonrobust" and observed for robust covariances.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> robust = result.with_covariance("HC0")
        >>> robust.cov_type, result.cov_type
        ('HC0', 'nonrobust')
        """
        estimate = reassess(self.estimate, which_information(information, cov_type))
        other = type(self)(self.model, estimate, cov_type, cov_kwds, use_t=self.use_t)
        if self.model.comparisons is None:
            # What the removed data gave reason to say still holds.
            other.__dict__["findings"] = self.findings
        return HJAResultsWrapper(other)

    # Scalars the base class would count from len(params) or from exog

    @property
    def df_modelwc(self) -> float:
        """Number of free parameters, the count behind AIC and BIC."""
        return float(self.df_model)

    @property
    def llf(self) -> float:
        """Bernoulli log-likelihood of the individual comparisons, without binomial constants."""
        return -self.estimate.optimum.negative_loglike

    @property
    def llnull(self) -> float:
        """Log-likelihood of coin flips; with ties as an outcome, of coin flips and the overall share of ties."""
        cells = self.model.cells
        if cells.ties is None:
            return -float(np.log(2.0) * self.nobs)
        ties = float(cells.ties.sum())
        decided = self.nobs - ties
        return float(xlogy(ties, ties / self.nobs) + xlogy(decided, 0.5 * decided / self.nobs))

    @property
    def llr(self) -> float:
        """Likelihood ratio against every verdict being a coin flip."""
        return 2.0 * (self.llf - self.llnull)

    @property
    def llr_pvalue(self) -> float:
        """Chi-squared p-value of ``llr``; not a number with sensitivities, which coin flips leave undefined."""
        if "gamma" in self.model.layout.slices:
            return np.nan
        return float(stats.chi2.sf(self.llr, self.df_model))

    @property
    def prsquared(self) -> float:
        """McFadden's pseudo R-squared against coin flips."""
        return 1.0 - self.llf / self.llnull

    @property
    def n_judges(self) -> int:
        """Number of judges."""
        return len(self.model.judges)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.model.items)

    @property
    def rank(self) -> int:
        """Number of disagreement directions."""
        return self.model.rank

    # Prediction and fit

    def predict(self, exog: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Probability that the first item is preferred; see :meth:`hjastats.HJAModel.predict`.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.predict(judge="judge-first", item_a="model-I", item_b="model-H").round(3)
        array([0.963])
        >>> result.predict(judge="judge-first", item_a="model-I", item_b="model-H", position=False).round(3)
        array([0.643])
        """
        return self.model.predict(self.params, exog, *args, **kwargs)

    @property
    def fittedvalues(self) -> np.ndarray:
        """Fitted probabilities of the rows."""
        return self.model.predict(self.params)

    @property
    def resid(self) -> np.ndarray:
        """Outcome minus fitted probability of the rows."""
        self._need_data()
        return self.model.comparisons.outcome - self.fittedvalues

    # Words

    @cached_property
    def findings(self) -> list[Finding]:
        """What the data and the fit give reason to say, each checked condition either way.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> [str(finding) for finding in result.findings if finding.is_warning][0][:40]
        "'judge-first' picks the first item in 87"
        """
        return find(self)

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
        self._need_data()
        if self.model.position == "judge":
            return Diagnosis(self.findings, judge_facts(self.model.comparisons, self.position), None)
        penalty = self.estimate.penalty
        other = fitted_alike(self.model.with_position("judge"), penalty)
        position = other.position
        if other.estimate.separation is not None:
            moving = np.abs(other.estimate.separation.judge_terms[:, 0]) >= 0.3
            position.loc[moving, ["estimate", "std_err"]] = np.nan
        facts = judge_facts(self.model.comparisons, position)
        can_test = penalty is None and other.converged
        return Diagnosis(self.findings, facts, other.compare_lr_test(self) if can_test else None)

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
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> text = str(result.summary())
        >>> "sensitivity gamma (z and p test gamma = 1)" in text
        True
        """
        return summarise(self, yname=yname, title=title, alpha=alpha, max_rows=max_rows)

    def weakest_direction(self, n: int = 4) -> str:
        """Names of the reported parameters that move most along the least determined direction.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.weakest_direction(2)
        "'position[judge-first]', 'gamma[judge-first]'"
        """
        self._check_matrix(self.model.layout.n_free)
        information = self.estimate.free_covariance.information
        scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
        vector = np.linalg.eigh(information / np.outer(scale, scale))[1][:, 0] / scale
        movement = np.abs(self._jacobian @ (vector / np.linalg.norm(vector)))
        order = np.argsort(-movement, kind="stable")[:n]
        return quoted([self.model.layout.names[i] for i in order if movement[i] > 0.1 * movement[order[0]]], n)

    @overload
    def report(self, path: None = None, title: str | None = None) -> str: ...

    @overload
    def report(self, path: str | Path, title: str | None = None) -> None: ...

    def report(self, path: str | Path | None = None, title: str | None = None) -> str | None:
        """Write one self-contained HTML page: the verdict, tables that sort, figures, and what to distrust.

        Parameters
        ----------
        path : str or Path, optional
            File to write.
        title : str, optional

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
        self._need_data()
        return text_or_file(render(self, title), path)

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
        >>> again.n_judges, again.converged
        (8, True)
        """
        self._need_data()
        return text_or_file(json.dumps(to_document(self), allow_nan=False), path)

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
        _ = self.findings
        super().remove_data()


class HJAResultsWrapper(LikelihoodResultsWrapper):
    """Attaches labels to the arrays of :class:`HJAResults`."""


populate_wrapper(HJAResultsWrapper, HJAResults)
