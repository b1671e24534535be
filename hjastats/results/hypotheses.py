"""Hypotheses about a fit: linear ones about its parameters, and other models against it."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.regression.linear_model import CompareLRTestResult
from statsmodels.stats.contrast import ContrastResults, WaldTestResults

from .. import limits
from ..errors import ContrastError, CovarianceWarning, IdentificationError
from ..inference.bootstrap import check_options
from ..inference.covariance import Covariance
from ..inference.likelihood_ratio import (
    RankTest,
    bootstrap_rank_test,
    can_grow,
    compare_lr_test,
    saturated_rank_test,
)
from ..inference.wald import hypothesis_labels, linear_hypotheses, wald_statistic
from ..model.jacobians import mean_rows
from ..words import quoted


class HypothesisMethods:
    """Methods of :class:`hjastats.HJAResults` that test."""

    model: Any
    estimate: Any
    params: np.ndarray
    _covariance: Covariance
    _is_open: Any
    _quantities: Any
    decomposition: Any

    @property
    def _jacobian(self) -> np.ndarray:
        return self.model.layout.jacobian(self.estimate.at, self.estimate.tangent, self.decomposition)

    def _in_parts(self, n_rows: int) -> list[np.ndarray]:
        """Positions of rows over the free coordinates, as many at a time as fit."""
        everything, n_parts = np.arange(n_rows), math.ceil(n_rows * self.model.layout.n_free / limits.ENTRIES_AT_ONCE)
        return np.array_split(everything, min(n_parts, n_rows)) if n_parts > 1 else [everything]

    def _parameter_rows(self, positions: np.ndarray) -> np.ndarray:
        """The Jacobian of some of the parameters; row by row where that of all does not fit."""
        layout = self.model.layout
        if len(self.params) * layout.n_free <= limits.ENTRIES_AT_ONCE:
            return self._jacobian[positions]
        rows, quantities = np.zeros((len(positions), layout.n_free)), self._quantities
        mu = layout.slices.get("mu", slice(0, 0))
        is_mean = (positions >= mu.start) & (positions < mu.stop)
        if is_mean.any():
            # Most of the parameters, and the same for all judges.
            items = np.zeros((int(is_mean.sum()), len(layout.items)))
            items[np.arange(len(items)), positions[is_mean] - mu.start] = 1.0
            rows[is_mean, layout.n_linear :] = mean_rows(items, self.estimate.tangent)
        for i in np.flatnonzero(~is_mean):
            rows[i] = quantities.gradient(*layout.quantity(positions[i]))
        return rows

    def _errors(self, positions: np.ndarray, less: np.ndarray | None = None) -> np.ndarray:
        """Standard errors of some of the parameters, or of what they are beyond a quantity with gradient ``less``.

        Not a number, with a warning, where they are too many to be solved for.
        """
        if not self._covariance.can_solve(len(positions)):
            warnings.warn(
                f"standard errors of {len(positions):,} parameters of {len(self.model.items):,} items are left out: they would "
                "take hours. Ask for those you need, with estimates('mu', labels) or contrast; summary() shows the first and last.",
                CovarianceWarning,
                stacklevel=3,
            )
            return np.full(len(positions), np.nan)
        variances = []
        for some in self._in_parts(len(positions)):
            rows = self._parameter_rows(positions[some])
            variances.append(self._covariance.variances(rows if less is None else rows - less))
        return np.sqrt(np.concatenate([np.zeros(0), *variances]))

    def _combined_rows(self, matrix: np.ndarray) -> np.ndarray:
        """Derivative of linear combinations (m, n_params) of the parameters, shape (m, n_free)."""
        used = np.flatnonzero(matrix.any(axis=0))
        return matrix[:, used] @ self._parameter_rows(used)

    def _covariance_of(self, matrix: np.ndarray, jacobian: np.ndarray, cov_p: Any) -> np.ndarray:
        """Covariance of linear combinations, from the fit or from another covariance of the parameters."""
        if cov_p is None:
            return self._covariance.of(jacobian)
        other = np.asarray(cov_p, dtype=float)
        if other.shape != (matrix.shape[1], matrix.shape[1]):
            raise ContrastError(f"cov_p must be {matrix.shape[1]} by {matrix.shape[1]}, got shape {other.shape}.")
        return matrix @ other @ matrix.T

    # Linear hypotheses

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
        >>> test = result.t_test("mu[model-I] - mu[model-H] = 0")
        >>> test.effect.round(3), bool(test.pvalue < 0.01)
        (array([0.352]), True)
        """
        names = self.model.layout.names
        matrix, values = linear_hypotheses(r_matrix, names)
        labels = hypothesis_labels(matrix, values, names)
        jacobian = self._combined_rows(matrix)
        fixed = np.abs(jacobian).max(axis=1) < 1e-10 * np.maximum(np.abs(matrix).max(axis=1), 1e-300)
        if fixed.any():
            named = [label for label, is_fixed in zip(labels, fixed, strict=True) if is_fixed]
            raise ContrastError(f"not testable: the constraints of the model fix {quoted(named, 3)}.")
        covariance = self._covariance_of(matrix, jacobian, cov_p)
        error = np.sqrt(np.diag(covariance))
        effect = matrix @ self.params
        is_open = self._is_open(jacobian)
        error, effect = np.where(is_open, np.nan, error), np.where(is_open, np.nan, effect)
        if use_t:
            raise ValueError("use_t is not available: the tests are asymptotic.")
        statistic = (effect - values) / error
        result = ContrastResults(effect=effect, statistic=statistic, sd=error, df_denom=None, distribution="norm")
        result.c_names = labels
        return result

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
        constraints of the model, and a hypothesis that contradicts them is refused.

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
        if invcov is not None or use_f or df_constraints is not None:
            raise ValueError("wald_test supports neither invcov, use_f nor df_constraints: the test is chi-squared.")
        names = self.model.layout.names
        matrix, values = linear_hypotheses(r_matrix, names)
        labels = hypothesis_labels(matrix, values, names)
        jacobian = self._combined_rows(matrix)
        if (is_open := self._is_open(jacobian)).any():
            named = [label for label, bad in zip(labels, is_open, strict=True) if bad]
            raise ContrastError(f"not testable: there is no finite estimate of {quoted(named, 3)}.")
        covariance = self._covariance_of(matrix, jacobian, cov_p)
        return wald_statistic(jacobian, covariance, matrix @ self.params - values, labels)

    def wald_test_terms(
        self, skip_single: bool = False, extra_constraints: Any = None, combine_terms: Any = None, scalar: Any = None
    ) -> WaldTestResults:
        """Joint tests by kind of parameter: no item differs (mu), all judges are equally sensitive (gamma = 1), and so on.

        Parameters
        ----------
        skip_single : bool
            Leave out kinds with one parameter.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> result.wald_test_terms().table[["df_constraint"]]
               df_constraint
        gamma              7
        mu                 9
        """
        if extra_constraints is not None or combine_terms is not None:
            raise ValueError("wald_test_terms tests kinds of parameters; use wald_test for other combinations.")
        layout = self.model.layout
        rows = {}
        for kind, where in layout.slices.items():
            size = where.stop - where.start
            if kind in ("U", "V", "S", "tie") or (skip_single and size == 1):
                continue
            matrix = np.zeros((size, len(layout.names)))
            matrix[np.arange(size), np.arange(where.start, where.stop)] = 1.0
            test = self.wald_test((matrix, np.full(size, 1.0 if kind == "gamma" else 0.0)))
            rows[kind] = {
                "statistic": test.statistic,
                "pvalue": float(test.pvalue),
                "df_constraint": int(test.df_denom),
            }
        if not rows:
            raise ContrastError("this model has no kinds of parameters to test jointly; use wald_test.")
        table = pd.DataFrame.from_dict(rows, orient="index")
        return WaldTestResults(None, "chi2", None, table=table)

    # Comparison with other models

    def compare_lr_test(self, restricted: Any) -> CompareLRTestResult:
        """Likelihood-ratio test of a restricted model fitted to the same data against this one.

        Returns
        -------
        CompareLRTestResult
            statistic, pvalue, df_diff. Without p-value, and with a warning, when the models differ in the number of
            disagreement directions: that test is not chi-squared.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> btl = result.model.pooled().fit()
        >>> test = result.compare_lr_test(btl)
        >>> round(test.statistic, 1), test.df_diff
        (162.6, 7)
        """
        return compare_lr_test(self, restricted)

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
            "saturated": against judge-wise BTL, chi-squared. "bootstrap": against one direction more, whose likelihood ratio is
            not chi-squared, by parametric bootstrap.
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
        if "gamma" not in self.model.layout.slices:
            raise IdentificationError(
                f"{type(self.model).__name__} has no rank to test; compare models with compare_lr_test."
            )
        if not can_grow(self):
            raise IdentificationError(
                f"rank {self.model.rank} is the largest possible: there is nothing to test it against."
            )
        if method == "saturated":
            return saturated_rank_test(self, self.model.unrestricted().fit())
        if method == "bootstrap":
            check_options(n, "parametric")
            larger = self.model.with_rank(self.model.rank + 1).fit()
            return bootstrap_rank_test(self, larger, n=n, rng=rng, n_jobs=n_jobs, progress=progress)
        raise ValueError(f"method must be 'saturated' or 'bootstrap', got {method!r}.")
