"""The largest of many correlated z statistics: critical values and p-values for many questions at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import limits
from ..data.arrays import check_alpha, generator
from ..errors import ContrastError


@dataclass(frozen=True)
class PairwiseDifferences:
    """All differences of a vector of estimates.

    Attributes
    ----------
    estimate, std_err : ndarray, shape (n, n)
        Row minus column.
    """

    estimate: np.ndarray
    std_err: np.ndarray

    @property
    def z(self) -> np.ndarray:
        """Differences in standard errors, zero on the diagonal and where there is no variance."""
        return np.divide(self.estimate, self.std_err, out=np.zeros_like(self.estimate), where=self.std_err > 0)


def pairwise_differences(estimate: np.ndarray, covariance: np.ndarray) -> PairwiseDifferences:
    """Differences of every pair with their standard errors.

    Examples
    --------
    >>> pairwise_differences(np.array([1.0, 0.0]), np.eye(2)).std_err[0, 1].round(4)
    np.float64(1.4142)
    """
    variance = np.diag(covariance)
    spread = variance[:, None] + variance[None, :] - 2.0 * covariance
    # Differences of sums that cancel exactly leave rounding error, not variance.
    spread = np.where(spread > 1e-12 * max(variance.max(initial=0.0), 1e-300), spread, 0.0)
    return PairwiseDifferences(estimate[:, None] - estimate[None, :], np.sqrt(spread))


def largest_differences(
    covariance: np.ndarray,
    *,
    per_item: bool = False,
    n_draws: int = limits.DRAWS,
    rng: int | np.random.Generator | None = 0,
) -> np.ndarray:
    """Draws of the largest absolute z among all pairs under equality of all estimates.

    Parameters
    ----------
    covariance : ndarray, shape (n, n)
    per_item : bool
        The largest among the pairs of each item, shape (n_draws, n), instead of over all pairs, shape (n_draws,).

    Returns
    -------
    ndarray
    """
    rng = generator(rng)
    n = len(covariance)
    errors = pairwise_differences(np.zeros(n), covariance).std_err
    inverse = np.divide(1.0, errors, out=np.zeros_like(errors), where=errors > 0)
    root = _root(covariance)
    # Maxima over half a million pairs need fewer draws for the same work; their distribution is also tighter.
    n_draws = max(2_000, min(n_draws, int(limits.DRAWN_DIFFERENCES / max(n * n, 1))))
    size = max(limits.DRAWS_AT_ONCE // n, 1)
    largest = np.zeros((n if per_item else 1, n_draws))
    for start in range(0, n_draws, size):
        draw = root @ rng.standard_normal((min(size, n_draws - start), root.shape[1])).T
        here = largest[:, start : start + size]
        for i in range(n - 1):
            z = np.abs(draw[i + 1 :] - draw[i])
            z *= inverse[i + 1 :, i, None]
            np.maximum(here[i if per_item else 0], z.max(axis=0), out=here[i if per_item else 0])
            if per_item:
                np.maximum(here[i + 1 :], z, out=here[i + 1 :])
    return largest.T if per_item else largest[0]


def _root(covariance: np.ndarray) -> np.ndarray:
    """Matrix whose product with independent normal variables has a covariance, shape (n, rank)."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > 1e-12 * max(values.max(initial=0.0), 1e-300)
    return vectors[:, kept] * np.sqrt(values[kept])


def largest_statistics(
    covariance: np.ndarray,
    *,
    two_sided: bool = True,
    n_draws: int = limits.DRAWS,
    rng: int | np.random.Generator | None = 0,
) -> np.ndarray:
    """Draws of the largest z, or absolute z, of estimates with some covariance, shape (n_draws,).

    Examples
    --------
    >>> float(np.quantile(largest_statistics(np.eye(3)), 0.95).round(1))            # 2.39 by independence
    2.4
    """
    rng, n = generator(rng), len(covariance)
    errors = np.sqrt(np.diag(covariance))
    root = _root(covariance / np.outer(errors, errors))
    n_draws = max(2_000, min(n_draws, int(limits.DRAWN_DIFFERENCES / n)))
    size, result = max(limits.DRAWS_AT_ONCE // n, 1), []
    for start in range(0, n_draws, size):
        z = rng.standard_normal((min(size, n_draws - start), root.shape[1])) @ root.T
        result.append((np.abs(z) if two_sided else z).max(axis=1))
    return np.concatenate(result)


def adjusted_p_values(p_values: np.ndarray, method: str, alpha: float = 0.05) -> np.ndarray:
    """P-values adjusted for looking at all of them.

    Raises
    ------
    ContrastError
    """
    check_alpha(alpha)
    if not isinstance(method, str):
        raise ContrastError(f"method must be 'single-step', 'none' or one of multipletests, got {method!r}.")
    if method == "none":
        return p_values
    from statsmodels.stats.multitest import multipletests

    try:
        return multipletests(p_values, alpha=alpha, method=method)[1]
    except ValueError:
        raise ContrastError(f"method must be 'single-step', 'none' or one of multipletests, got {method!r}.") from None


def exceedance(draws: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Share of the draws at least as large as each observed value, never zero: (1 + count) / (1 + n)."""
    ordered = np.sort(draws)
    above = len(ordered) - np.searchsorted(ordered, observed, side="left")
    return (1.0 + above) / (1.0 + len(ordered))
