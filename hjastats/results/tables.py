"""The model's own terms as labelled tables, and which of their rows have no finite or determined estimate."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import ndtri

from ..errors import ContrastError, SizeError
from ..inference.covariance import Covariance, DenseCovariance, score_rows, score_standard_errors
from ..inference.estimate import reassess
from ..model.decomposition import AnchoringError, Decomposition
from ..model.jacobians import anchor_jacobian, mean_rows
from ..model.likelihood import evaluate, score_differences
from ..model.structures import in_centred_basis
from ..words import quoted

# Standard errors by which the strengths of two directions must differ for their loadings to be told apart.
DISTINCT_STRENGTHS = 3.0
# Built once: a frame of one block under given columns takes a sixth of the time of one made from a dictionary.
_COLUMNS = pd.Index(["estimate", "std_err", "ci_lower", "ci_upper"])
# Standard errors at even odds beyond which a quantity of a separated fit is not determined.
OPEN = 100.0


class TableMethods:
    """Tables of :class:`hjastats.HJAResults`."""

    model: Any
    estimate: Any
    params: np.ndarray
    _covariance: Covariance
    n_judges: Any
    rank: Any
    _jacobian: np.ndarray
    _errors: Any
    _parameter_rows: Any

    @cached_property
    def decomposition(self) -> Decomposition:
        """Consensus, sensitivity and disagreement as arrays."""
        return self.model.layout.decompose(self.estimate.at)

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
        table = self.estimates("mu")
        return table.iloc[np.argsort(-table["estimate"].to_numpy(), kind="stable")]

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
        (known, name), some = self._labels_of(kind), self._positions_of(kind, labels)
        estimate, error = self._derived(kind, some)
        return _intervals(estimate, error, [known[i] for i in some], name)

    def _positions_of(self, kind: str, labels: Sequence[str] | None) -> np.ndarray:
        """Positions of some judges or items among those that have a kind of parameter; of all by default."""
        known, name = self._labels_of(kind)
        if labels is None:
            return np.arange(len(known))
        place = {label: i for i, label in enumerate(known)}
        wanted = [labels] if isinstance(labels, str) else [str(label) for label in labels]
        if unknown := [label for label in wanted if label not in place]:
            raise ContrastError(f"no {name} is called {quoted(unknown)}; there are {quoted(known)}.")
        return np.array([place[label] for label in wanted], dtype=int)

    def _labels_of(self, kind: str) -> tuple[tuple[str, ...], str]:
        """Whose parameters of a kind there are, and what they are called."""
        layout = self.model.layout
        kinds = ["mu", "gamma", *layout.judge_terms, *layout.shared_terms]
        if kind not in kinds:
            raise ContrastError(f"kind must be one of {quoted(kinds, len(kinds))}, got {kind!r}.")
        if kind in layout.shared_terms:
            return ("all judges",) * len(layout.blocks[kind]), "judge"
        return (layout.items, "item") if kind == "mu" else (layout.judges_with(kind), "judge")

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
        table = self.estimates("gamma")
        # With one judge, and in BTL, gamma is one by definition: there is nothing to test.
        z = (table["estimate"] - 1.0) / table["std_err"].where(table["std_err"] > 1e-10)
        if not self.has_consensus:
            table[:], z = np.nan, z * np.nan
        table.insert(2, "z", z)
        table.insert(3, "p_value", 2.0 * stats.norm.sf(np.abs(z)))
        return table

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
        if self.model.position is None:
            return pd.DataFrame(columns=["estimate", "std_err", "z", "p_value", "ci_lower", "ci_upper"])
        table = self.estimates("position")
        z = table["estimate"] / table["std_err"]
        table.insert(2, "z", z)
        table.insert(3, "p_value", 2.0 * stats.norm.sf(np.abs(z)))
        return table

    @cached_property
    def is_separated(self) -> np.ndarray:
        """Which reported parameters have no finite estimate; their rows are empty in every table, shape (n_params,).

        Coefficients and consensus scores are those that move with the separation. Sensitivities and disagreement are
        relative to the consensus and to each other: a block of them counts as one, and is affected when it is still
        changing on the way to infinity. Whatever the verdicts no longer tell anything about is affected, too.
        """
        separation = self.estimate.separation
        if separation is None:
            return np.zeros(len(self.params), dtype=bool)
        layout = self.model.layout
        movement = np.abs(layout.derivative(separation.step, self.estimate.tangent, self.decomposition))
        affected = movement >= 0.3 * max(float(movement.max()), 1e-300)
        if "S" in layout.slices:
            affected[layout.slices["S"]] = separation.is_affected.ravel()
        change = np.abs(self._further_out(separation.step) - self.params)
        for kind in {"gamma", "U", "V"} & set(layout.slices):
            block = layout.slices[kind]
            moved, size = change[block], np.abs(self.params[block])
            # The leading judge's sensitivity may have settled at its largest possible value while the others still fall.
            settled = moved.max(initial=0.0) <= 0.1 * size.max(initial=0.0) and np.median(moved) <= 0.1 * np.median(
                size
            )
            affected[block] = not settled
        if separation.even_odds.size:
            jacobian = self._jacobian
            for kind, block in layout.slices.items():
                rows = jacobian[block]
                affected[block] |= self._is_open(_among_themselves(~affected[block]) @ rows if kind == "mu" else rows)
        if self.rank and affected[layout.slices["U"]].all():
            # Coordinates of a disagreement nobody's share in is known.
            affected[layout.slices["V"]] = True
        return affected

    def _is_open(self, rows: np.ndarray) -> np.ndarray:
        """Which quantities with the given Jacobian the verdicts say nothing about because of a separation, shape (m,).

        A judge whose position effect is infinite has no scores any more, and a consensus that includes them has no value. Such
        quantities are known a hundred times less precisely than the same comparisons would allow at even odds.
        """
        separation = self.estimate.separation
        if separation is None or not separation.even_odds.size:
            return np.zeros(len(rows), dtype=bool)
        possible = DenseCovariance(separation.even_odds).variances(rows)
        return ~(self._model_covariance.variances(rows) <= OPEN**2 * possible + 1e-20)

    @cached_property
    def _model_covariance(self) -> Covariance:
        """Covariance by the expected information, whichever was asked for.

        Robust ones do not show what has run away: residuals vanish there as fast as the information does.
        """
        return reassess(self.estimate, "expected").free_covariance

    def is_withheld(self, kind: str) -> bool:
        """Whether a whole block of parameters, such as ``"gamma"``, has no finite estimate.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.is_withheld("gamma")
        False
        """
        where = self.model.layout.slices.get(kind)
        return where is not None and bool(self.is_separated[where].all())

    def _further_out(self, step: np.ndarray) -> np.ndarray:
        """Reported parameters twice as far along the direction of a separation."""
        layout, estimate = self.model.layout, self.estimate
        length = float(np.abs(estimate.at.scores).max())
        free = layout.to_free(estimate.at, estimate.tangent)
        try:
            return layout.pack(layout.from_free(free + length * step, estimate.tangent))
        except AnchoringError:
            return np.full(len(self.params), np.nan)

    @cached_property
    def has_consensus(self) -> bool:
        """Whether the consensus can be told from none at all; without one, sensitivities to it mean nothing."""
        if "gamma" not in self.model.layout.slices or self.n_judges == 1 or not self._covariance.is_finite:
            return True
        if self.is_separated[self.model.layout.slices["mu"]].all():
            # Not determined, which is another thing than none.
            return True
        # The Wald statistic of mu = 0 is the largest squared z value of any weighted sum of the scores. That of one sum, whose
        # weights would be the best if all else were known, nearly always suffices.
        where, level = self.model.layout.slices["mu"], 0.05
        mu = self.params[where]
        if stats.chi2.sf(self._consensus_statistic(), len(mu) - 1) < level:
            return True
        if not self._covariance.can_solve(len(mu)):
            # Not determined here, which is another thing than none.
            return True
        # In coordinates that know of the sum to zero, so that no rank has to be found.
        rows = self._parameter_rows(np.arange(where.start, where.stop))
        mu, covariance = in_centred_basis(mu[None])[0], self._covariance.of(in_centred_basis(rows.T).T)
        try:
            statistic = mu @ cho_solve(cho_factor(covariance), mu)
        except LinAlgError:
            return True
        return bool(stats.chi2.sf(statistic, len(mu)) < level)

    def _consensus_statistic(self) -> float:
        """Squared z value of the consensus weighted by the information about it, were sensitivities and disagreement known."""
        cells, parts, layout = self.model.cells, self.decomposition, self.model.layout
        curvature = evaluate(cells, self.estimate.at).curvature
        differences = score_differences(cells, np.outer(parts.gamma, parts.mu))
        weights = parts.gamma @ cells.sum_by_score(curvature * differences)
        row = np.zeros((1, layout.n_free))
        row[:, layout.n_linear :] = mean_rows(weights[None], self.estimate.tangent)
        variance = float(self._covariance.variances(row)[0])
        return float(weights @ parts.mu) ** 2 / variance if variance > 0.0 else 0.0

    @property
    def is_ambiguous(self) -> np.ndarray:
        """Which directions are not clearly stronger or weaker than a neighbour, so that U and V can be rotated, shape (rank,)."""
        U = self.decomposition.U
        result = np.zeros(self.rank, dtype=bool)
        if self.rank < 2 or not self._covariance.is_finite:
            return result
        strength = np.linalg.norm(U, axis=0)
        where = self.model.layout.slices["U"]
        loadings = self._parameter_rows(np.arange(where.start, where.stop)).reshape(self.rank, self.n_judges, -1)
        gradient = np.einsum("kr,rkd->rd", U / strength, loadings)
        gaps = np.diff(gradient, axis=0)
        error = np.sqrt(self._covariance.variances(gaps))
        close = -np.diff(strength) < DISTINCT_STRENGTHS * error
        result[:-1] |= close
        result[1:] |= close
        return result

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
        finite = self._matrix(self._finite(self.estimate.at.scores))
        return finite.sub(finite.mean(axis=1), axis=0)

    @property
    def scores_se(self) -> pd.DataFrame:
        """Standard errors of :attr:`HJAResults.scores`; empty for judges with a score that runs to infinity.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.scores_se.loc["judge-5", ["model-A", "model-I"]].round(2).to_dict()
        {'model-A': 0.2, 'model-I': 0.2}
        """
        if not self._covariance.can_solve(self.estimate.at.scores.size):
            raise SizeError(
                f"standard errors of {self.estimate.at.scores.size:,} scores would take hours: ask for contrast('S[judge, item]') "
                "of those that matter."
            )
        errors = score_standard_errors(self.estimate.tangent, self._covariance, self.model.layout.n_linear)
        return self._matrix(np.where(self._is_infinite.any(axis=1, keepdims=True), np.nan, errors))

    def _finite(self, values: np.ndarray) -> np.ndarray:
        return np.where(self._is_infinite, np.nan, values)

    @cached_property
    def _is_infinite(self) -> np.ndarray:
        """Which scores run to infinity or are those of a judge that nothing is known about, shape (n_judges, n_items)."""
        separation, tangent = self.estimate.separation, self.estimate.tangent
        if separation is None:
            return np.zeros((self.n_judges, tangent.n_items), dtype=bool)
        result = separation.is_affected
        for k in range(self.n_judges):
            rows = _among_themselves(~result[k]) @ score_rows(tangent, k, self.model.layout.n_linear)
            result[k] |= self._is_open(rows[~result[k]]).any()
        return result

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
        residual = self._residual
        return self._matrix(np.full_like(residual, np.nan) if self.is_withheld("U") else self._finite(residual))

    @property
    def _residual(self) -> np.ndarray:
        parts = self.decomposition
        return self.estimate.at.scores - np.outer(parts.gamma, parts.mu)

    def leverage(self) -> pd.DataFrame:
        """Size of each judge's disagreement, h = norm of its row of U V', and relative to its consensus part, rho.

        Empty where the disagreement is still changing on the way to infinity.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
        >>> result.leverage().loc[["judge-5", "judge-noise"]].round(2)
                        h   rho
        judge
        judge-5      2.65  1.39
        judge-noise  0.05  0.09
        """
        parts = self.decomposition
        size = np.linalg.norm(self._residual, axis=1)
        consensus = np.abs(parts.gamma) * np.linalg.norm(parts.mu)
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = np.where(consensus > 0, size / consensus, np.inf)
        if self.is_withheld("U"):
            size = np.full_like(size, np.nan)
        if self.is_withheld("gamma") or self.is_withheld("U"):
            relative = np.full_like(size, np.nan)
        return pd.DataFrame({"h": size, "rho": relative}, index=pd.Index(self.model.judges, name="judge"))

    def _derived(self, kind: str, some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Some estimates and standard errors of a kind, reported by the model or implied by its scores."""
        layout = self.model.layout
        if kind in layout.slices:
            where = layout.slices[kind]
            runs_away, estimate, less = self.is_separated[where], self.params[where], None
            if kind == "mu" and runs_away.any() and not runs_away.all():
                # An infinite score would carry all others with it through the sum to zero.
                finite = np.where(runs_away, 0.0, 1.0 / (~runs_away).sum())
                estimate, less = estimate - finite @ estimate, np.zeros(layout.n_free)
                less[layout.n_linear :] = mean_rows(finite[None], self.estimate.tangent)[0]
            error = self._errors(where.start + some, less)
            return np.where(runs_away, np.nan, estimate)[some], np.where(runs_away[some], np.nan, error)
        parts = self.decomposition
        if kind == "gamma" and "S" not in layout.slices:
            return parts.gamma[some], np.zeros(len(some))
        jacobian = anchor_jacobian(parts.gamma, parts.mu, self._residual, self.estimate.tangent)
        rows = (jacobian[: self.n_judges] if kind == "gamma" else jacobian[self.n_judges :])[some]
        rows = np.hstack([np.zeros((len(rows), layout.n_linear)), rows])
        return getattr(parts, kind)[some], np.sqrt(self._covariance.variances(rows))

    def _matrix(self, values: np.ndarray) -> pd.DataFrame:
        return pd.DataFrame(
            values, index=pd.Index(self.model.judges, name="judge"), columns=pd.Index(self.model.items, name="item")
        )


def _intervals(estimate: np.ndarray, error: np.ndarray, labels: Sequence[str], index_name: str) -> pd.DataFrame:
    """Estimates, standard errors and 95% intervals under their labels."""
    half = ndtri(0.975) * error
    values = np.column_stack([estimate, error, estimate - half, estimate + half])
    return pd.DataFrame(values, index=pd.Index(labels, name=index_name), columns=_COLUMNS.copy())


def _among_themselves(is_finite: np.ndarray) -> np.ndarray:
    """The matrix that subtracts from scores the mean of the finite ones."""
    return np.eye(len(is_finite)) - is_finite / max(is_finite.sum(), 1)
