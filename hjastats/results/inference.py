"""What can be asked of a fit: contrasts, tests, rankings, resampling, prediction."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from statsmodels.base._prediction_inference import PredictionResultsMonotonic

from .. import limits
from ..data.cells import Cells, take
from ..errors import ContrastError, IdentificationError, SizeError
from ..inference.bootstrap import Bootstrap, bootstrap, check_options
from ..inference.contrasts import Contrast, Spec, contrast, normal_limits, tests_table
from ..inference.contributions import Contributions
from ..inference.covariance import Covariance
from ..inference.formula_contrasts import FormulaContrast, contrast_formula, stored_metadata
from ..inference.quantities import Quantities
from ..inference.ranks import ranking_table
from ..inference.resampling import ParametricDraw, RowDraw
from ..inference.robust import Sandwich, check_clusters, cluster_codes
from ..inference.simultaneous import exceedance, largest_differences, pairwise_differences
from ..model.likelihood import free_design, free_ties, linear_predictor
from ..model.structures import Pooled
from ..words import quoted
from .hypotheses import HypothesisMethods


class InferenceMethods(HypothesisMethods):
    """Methods of :class:`hjastats.HJAResults` that need its covariance but not its tables."""

    model: Any
    estimate: Any
    params: np.ndarray
    _covariance: Covariance
    _is_open: Any
    _positions_of: Any
    is_separated: Any
    cov_params_default: np.ndarray
    df_resid: float

    @property
    def _quantities(self) -> Quantities:
        return Quantities(self.model.layout, self.estimate.at, self.estimate.tangent)

    @property
    def _has_judge_parameters(self) -> bool:
        layout = self.model.layout
        return bool(layout.judge_terms) or not isinstance(layout.structure, Pooled)

    # Contrasts

    def contrast(self, spec: Spec, *, null: float | Sequence[float] | None = None) -> Contrast:
        """Any smooth function of the parameters, with standard errors by the delta method.

        Parameters
        ----------
        spec : str, callable, dict or list
            A string with arithmetic and ``exp, log, sqrt, abs, logit, expit`` over ``mu[item]``, ``gamma[judge]``,
            ``S[judge, item]`` (scores), ``R[judge, item]`` (residual disagreement), ``p[judge, first, second]`` (probability
            that the item shown first wins, position effects included), ``position[judge]``, ``U[judge, 1]``, ``V[item, 1]`` and
            covariate names; ``"... = value"`` sets the value tested against. Or a function of a
            :class:`~hjastats.inference.quantities.ParameterView`. Or a dict or list of these.
        null : float or sequence, optional
            Values to test against.

        Returns
        -------
        Contrast
            With ``summary_frame()``, ``conf_int(alpha, method="delta" | "log" | "logit")``, ``wald_test()``.

        Raises
        ------
        ContrastError
            When the string cannot be read or a label does not exist.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> result.contrast("gamma[judge-1] / gamma[judge-2] = 1")
                                             estimate   null  std_err      z  p_value  ci_lower  ci_upper
        contrast
        gamma[judge-1] / gamma[judge-2] = 1    2.0795 1.0000   0.3025 3.5681 0.00036    1.4865    2.6725

        Where the likelihood keeps rising without limit, contrasts that have no finite value are empty.
        """
        result = contrast(spec, self.model.layout, self.estimate.at, self.estimate.tangent, self._covariance, null=null)
        return result.without(self._is_open(result.gradient))

    def contrast_formula(self, formula: str, metadata: pd.DataFrame | None = None) -> FormulaContrast:
        """Regress estimated parameters on metadata of judges or items, with the estimates' full covariance.

        Parameters
        ----------
        formula : str
            ``"gamma ~ provider"``, ``"mu ~ size"``, ``"position ~ provider"`` or, on judge-item metadata,
            ``"disagreement ~ same_family"`` and ``"scores ~ ..."``; the right side is a patsy formula.
        metadata : pandas.DataFrame, optional
            One row per judge or item (or per pair of both), labelled by the index or by columns ``judge`` and ``item``. By default
            that of the data (:meth:`Comparisons.with_metadata`); for pairs, a column ``family`` of judges and items is called
            ``judge_family``, ``item_family``, and ``same_family`` says where they agree.

        Returns
        -------
        FormulaContrast
            Coefficients as contrasts, and ``terms`` with a joint Wald test per term. Inference is for this panel: the
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
        if metadata is None:
            self._need_data()
            metadata = stored_metadata(formula, self.model.comparisons)
        result = contrast_formula(formula, metadata, self._quantities, self._covariance)
        if self._is_open(result.gradient).any():
            raise IdentificationError(
                f"some of the parameters in {formula!r} have no finite estimate: use fit_regularized(), or a fit without the "
                "judges or items concerned."
            )
        return result

    def relative_loadings(self, alpha: float = 0.05) -> pd.DataFrame:
        """The appendix's other reading of the model, ``S = diag(gamma)(1 mu' + W V')``: loadings W = U / gamma.

        In it gamma scales all of a judge's scores, and W says how far its taste departs from the consensus per unit of
        sensitivity. Where the sensitivity cannot be told from zero W is not defined and its row is left empty.

        Returns
        -------
        pandas.DataFrame
            Indexed by judge and direction: estimate, std_err, z, p_value, ci_lower, ci_upper.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.relative_loadings()["estimate"].head(2).round(3).to_dict()
        {('judge-1', 1): 0.23, ('judge-2', 1): -0.294}
        """
        layout = self.model.layout
        if not layout.rank:
            raise ContrastError("relative loadings need disagreement directions: fit HJAModel with rank 1 or more.")
        quantities = self._quantities
        index = [(judge, d) for d in range(1, layout.rank + 1) for judge in layout.judges]
        rows, values = [], []
        for judge, d in index:
            k = layout.judges.index(judge)
            loading, gamma = quantities.value("U", (k, d - 1)), quantities.value("gamma", (k,))
            values.append(loading / gamma)
            rows.append(
                (quantities.gradient("U", (k, d - 1)) - loading / gamma * quantities.gradient("gamma", (k,))) / gamma
            )
        gradient = np.array(rows)
        cov = self._covariance.of(gradient)
        table = Contrast([str(i) for i in range(len(index))], np.array(values), np.zeros(len(index)), gradient, cov)
        frame = table.summary_frame(alpha)
        frame.index = pd.MultiIndex.from_tuples(index, names=["judge", "direction"])
        sensitivity = self.contrast([f'gamma["{judge.replace(chr(34), chr(34) * 2)}"]' for judge in layout.judges])
        unclear = ~(np.abs(sensitivity.z) >= 1.96)
        frame.loc[np.tile(unclear, layout.rank)] = np.nan
        return frame

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
        some = self._places(kind, labels)
        _check_pairs(len(some), "differences of", "items" if kind == "mu" else "judges")
        names, estimate, rows = self._vector(kind, some)
        all_pairs = pd.MultiIndex.from_tuples(combinations(names, 2), names=["first", "second"])
        if kind in self.model.layout.slices and self.estimate.separation is not None:
            # Differences with what has no finite value are empty, and do not count among those to adjust for.
            finite = np.flatnonzero(~self.is_separated[self.model.layout.slices[kind]][some])
            names, estimate, rows = tuple(names[i] for i in finite), estimate[finite], rows[finite]
            if len(names) < 2:
                raise IdentificationError(f"no two values of {kind} are finite: see the warning of the fit.")
        covariance = self._covariance.of(rows)
        pairs = pairwise_differences(estimate, covariance)
        low, high = np.triu_indices(len(names), 1)
        errors = pairs.std_err[low, high]
        if np.isnan(errors).any():
            raise IdentificationError("standard errors are not available for this fit.")
        if not (errors > 0).any():
            raise ContrastError(f"the differences of {kind} are fixed by the model: there is nothing to compare.")
        difference = pairs.estimate[low, high]
        with np.errstate(divide="ignore", invalid="ignore"):
            z = difference / errors
        frame = tests_table(difference, errors, z, normal_limits(difference, errors, alpha))
        if method == "single-step":
            draws = largest_differences(covariance, rng=rng)
            adjusted = exceedance(draws, np.abs(frame["z"].to_numpy()))
            half = np.quantile(draws, 1 - alpha) * errors
            frame["ci_lower"], frame["ci_upper"] = frame["estimate"] - half, frame["estimate"] + half
        elif method == "none":
            adjusted = frame["p_value"].to_numpy()
        else:
            try:
                from statsmodels.stats.multitest import multipletests

                adjusted = multipletests(frame["p_value"], alpha=alpha, method=method)[1]
            except ValueError:
                raise ContrastError(
                    f"method must be 'single-step', 'none' or one of multipletests, got {method!r}."
                ) from None
        frame.insert(4, "p_adjusted", adjusted)
        if len(frame) == len(all_pairs):
            return frame.set_axis(all_pairs)
        frame.index = pd.MultiIndex.from_tuples(combinations(names, 2), names=["first", "second"])
        return frame.reindex(all_pairs)

    def ranking(
        self,
        judge: str | None = None,
        level: float = 0.95,
        simultaneous: bool = True,
        rng: int | np.random.Generator | None = 0,
        items: Sequence[str] | None = None,
    ) -> pd.DataFrame:
        """Places with intervals and tied groups, of the consensus or of one judge.

        Parameters
        ----------
        judge : str, optional
            Rank by this judge's scores instead of the consensus.
        level : float
        simultaneous : bool
            Whether all place intervals hold jointly with probability ``level``, or each one by itself.
        rng : int or numpy.random.Generator
            Randomness of the simulated critical value.
        items : sequence of str, optional
            Rank these among themselves; all items by default.

        Returns
        -------
        pandas.DataFrame
            Best item first: place, score, std_err, ci_lower, ci_upper, place_lower, place_upper, group, quasi_se.

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
        if not 0 < level < 1:
            raise ContrastError(f"level must lie between 0 and 1, got {level!r}.")
        if self.estimate.separation is not None:
            raise IdentificationError(
                "some scores or effects run to infinity, so there are no places with intervals: use fit_regularized(), with "
                "terms=True if it is a position effect that runs away."
            )
        some = self._places("mu", items)
        _check_pairs(len(some), "places of", "items")
        if judge is None:
            labels, estimate, rows = self._vector("mu", some)
        else:
            k = self._quantities.resolve("gamma", (str(judge),))[0]
            labels, estimate = tuple(self.model.items[i] for i in some), self.estimate.at.scores[k, some]
            rows = np.array([self._quantities.gradient("S", (k, i)) for i in some])
        covariance = self._covariance.of(rows)
        if not np.isfinite(covariance).all():
            raise IdentificationError("standard errors are not available for this fit, so places have no intervals.")
        return ranking_table(labels, estimate, covariance, level=level, simultaneous=simultaneous, rng=rng)

    def _places(self, kind: str, labels: Sequence[str] | None) -> np.ndarray:
        """Positions of some judges or items among those that have a kind of parameter; of all by default."""
        quantities = self._quantities
        known = {"mu": self.model.items, "gamma": self.model.judges, "position": self.model.judges}
        if "tie" in quantities.kinds:
            known["tie"] = self.model.layout.judges_with("tie")
        if kind not in known or kind not in quantities.kinds:
            raise ContrastError(
                f"kind must be one of {quoted([k for k in known if k in quantities.kinds])}, got {kind!r}."
            )
        if labels is not None and (isinstance(labels, str) or len(set(labels)) < max(len(labels), 2)):
            raise ContrastError(f"expected two or more different labels to compare, got {labels!r}.")
        return self._positions_of(kind, labels)

    def _vector(self, kind: str, some: np.ndarray) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
        """Labels, estimates and Jacobian of some of one kind of parameter."""
        layout, quantities = self.model.layout, self._quantities
        labels = layout.items if kind == "mu" else layout.judges_with(kind)
        names = tuple(labels[i] for i in some)
        if kind in layout.slices:
            positions = layout.slices[kind].start + some
            return names, self.params[positions], self._parameter_rows(positions)
        index = [quantities.resolve(kind, (name,)) for name in names]
        estimate = np.array([quantities.value(kind, place) for place in index])
        return names, estimate, np.array([quantities.gradient(kind, place) for place in index])

    # Resampling

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
        >>> draws.params.shape
        (20, 18)
        >>> bool(draws.contrast("mu[model-I] - mu[model-H]")["std_err"].iloc[0] > 0)
        True
        """
        check_options(n, kind)
        model, at = self.model, self.estimate.at
        self._need_data()
        if not self.estimate.converged:
            raise IdentificationError(
                "the fit did not converge or is not identified: resampling it would repeat the failure."
            )
        sandwich = None
        source: ParametricDraw | RowDraw
        if kind == "parametric":
            source = ParametricDraw.from_fit(model.cells, model.comparisons, at)
        else:
            rows, data = model.row_cells(), model.comparisons
            if kind == "cluster":
                cluster, labels, _ = cluster_codes(groups, data)
                n_free, has_own = model.layout.n_free, self._has_judge_parameters
                check_clusters(cluster, len(labels), data, n_free, has_judge_parameters=has_own)
                source = RowDraw.from_data(rows, data, cluster)
                contributions = Contributions.of_clusters(rows, data, at, cluster, len(labels))
            else:
                source = RowDraw.from_data(rows, data)
                contributions = Contributions.of_comparisons(rows, data, at)
            sandwich = Sandwich(self.estimate.free_covariance, contributions, self.estimate.tangent)
        return bootstrap(
            source,
            model.layout,
            at,
            n=n,
            kind=kind,
            penalty=self.estimate.penalty,
            sandwich=sandwich,
            rng=rng,
            n_jobs=n_jobs,
            progress=progress,
        )

    def _variances_of_log_odds(self, rows: Cells) -> np.ndarray:
        """Variances of the fitted log-odds of some rows, shape (n_rows,); of many, some rows at a time."""
        tangent, result = self.estimate.tangent, np.empty(len(rows.n))
        for some in self._in_parts(len(rows.n)):
            part = take(rows, some)
            design = np.where(free_ties(part, tangent), 0.0, free_design(part, tangent))
            result[some] = self._covariance.variances(design)
        return result

    def _need_data(self) -> None:
        if self.model.comparisons is None:
            raise IdentificationError("the data of these results were removed: this needs them.")

    # Prediction

    def get_prediction(
        self,
        exog: Any = None,
        *,
        judge: Any = None,
        item_a: Any = None,
        item_b: Any = None,
        judge_exog: Any = None,
        position: bool = True,
    ) -> PredictionResultsMonotonic:
        """Probability that the first item beats the second, with intervals made on the logit scale.

        With ties as an outcome of their own it is the probability among decided verdicts; ``predict(which="probs")`` gives
        all three.

        Parameters
        ----------
        exog : array_like or pandas.DataFrame, optional
            Covariates of the new comparisons. Without judge and items, a frame with columns judge, item_a (or first), item_b
            (or second) and the covariates.
        judge, item_a, item_b : label or array_like of labels, optional
            New comparisons; the data themselves when left out.
        judge_exog : array_like, optional
            Covariates with judge-specific slopes.
        position : bool
            Whether the item shown first has the advantage the model gives it.

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
        """
        rows = self.model.prediction_rows(exog, judge, item_a, item_b, judge_exog)
        if not position:
            rows = self.model.without_position(rows)
        eta = linear_predictor(rows, self.estimate.at)
        variance = self._variances_of_log_odds(rows)
        p = expit(eta)
        return PredictionResultsMonotonic(
            p,
            variance * (p * (1.0 - p)) ** 2,
            linpred=eta,
            linpred_se=np.sqrt(variance),
            func=expit,
            deriv=lambda x: expit(x) * expit(-x),
        )


def _check_pairs(n: int, what: str, of: str) -> None:
    """Refuse more pairs than anybody can wait for, or read.

    Raises
    ------
    SizeError
    """
    if n > limits.MOST_COMPARED:
        raise SizeError(
            f"{what} {n:,} {of} need all {n * (n - 1) // 2:,} differences between them: name at most {limits.MOST_COMPARED:,}, "
            "such as the leading ones, or ask for contrasts."
        )
