"""Whether one set of parameters holds for all judges: score-based tests over their traits (M-fluctuation tests).

The judges' contributions to the gradient of the log-likelihood sum to zero. If the parameters are the same for everybody, no way to
sort or to group the judges shows a pattern in them.

References
----------
Zeileis and Hornik (2007), Generalized M-fluctuation tests for parameter instability, Statistica Neerlandica 61;
Strobl, Wickelmaier and Zeileis (2011), Accounting for individual differences in Bradley-Terry models by means of recursive
partitioning, JEBS 36.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import pandas as pd
from scipy import special, stats
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from .. import limits
from ..data.traits import is_numeric
from ..errors import IdentificationError
from ..fitted import Fit
from ..model.likelihood import cell_scores, evaluate, free_moves, free_regressors

# Share of the judges on each side of the first and the last cut of a numeric trait that is tried.
TRIM = 0.1
# P-values up to here are adjusted by Bonferroni's bound, which does not round; others by Sidak's.
SMALL = 0.001
# How far a random walk is beyond a boundary when it is first seen there, in standard deviations of a step.
_OVERSHOOT = 0.5826
# Where a single cut has a smaller p-value, the leading term of the tail is exact to a per cent.
_TAIL = 1e-9


def judge_scores(fit: Fit) -> np.ndarray:
    """Contribution of every judge to the gradient of the log-likelihood, in units in which they are uncorrelated.

    Returns
    -------
    ndarray, shape (n_judges, n_free)
        Times its transpose the unit matrix.

    Raises
    ------
    IdentificationError
        Where judges are too few, or parameters are each judge's own.
    """
    if fit.layout.has_own_parameters:
        raise IdentificationError(
            "tests of instability are about parameters that all judges share: fit BTLModel with position='common' or None "
            "and tie='common'."
        )
    design, tangent = fit.design, fit.tangent
    cells = cell_scores(evaluate(design, fit.at), free_regressors(design, tangent), free_moves(design, tangent))
    scores = np.zeros((design.n_judges, cells.shape[1]))
    np.add.at(scores, design.judge, cells)
    try:
        root = cholesky(scores.T @ scores, lower=True)
    except LinAlgError:
        raise IdentificationError(
            f"{design.n_judges} judges are too few to tell of {cells.shape[1]} parameters whether they are stable, or the "
            "estimate does not exist."
        ) from None
    return solve_triangular(root, scores.T, lower=True).T


def instability_tests(fit: Fit, traits: pd.DataFrame, min_size: int = 10) -> pd.DataFrame:
    """Tests that all parameters are the same whatever the trait.

    Parameters
    ----------
    traits : pandas.DataFrame
        A row for every judge of the fit, in their order. Numbers are tested against a change at any value (supLM), labels against
        any differences between them (LM, chi-squared).
    min_size : int
        Fewest judges on either side of a change.

    Returns
    -------
    pandas.DataFrame
        Index trait; statistic, df, kind, p_value, p_adjusted for the number of traits (Bonferroni, Sidak beyond 0.001). A trait
        that does not vary has no test.
    """
    scores, lines = judge_scores(fit), {}
    for name, column in traits.items():
        is_number = is_numeric(column)
        test = _largest(scores, column.to_numpy(float), min_size) if is_number else _between(scores, column)
        lines[name] = (*test[:1], scores.shape[1] if is_number else test[2], "supLM" if is_number else "LM", test[1])
    table = pd.DataFrame.from_dict(lines, orient="index", columns=["statistic", "df", "kind", "p_value"])
    table.index.name = "trait"
    p, n = table["p_value"], int(table["p_value"].notna().sum())
    # As partykit does.
    table["p_adjusted"] = np.where(p > SMALL, 1.0 - (1.0 - p) ** n, n * p)
    return table


def _between(scores: np.ndarray, labels: pd.Series) -> tuple[float, float, float]:
    """LM statistic of differences between groups, its p-value and degrees of freedom."""
    code, known = pd.factorize(labels)
    if len(known) < 2:
        return 0.0, math.nan, 0.0
    sums = np.zeros((len(known), scores.shape[1]))
    np.add.at(sums, code, scores)
    share = np.bincount(code) / len(code)
    statistic, df = float((np.square(sums) / share[:, None]).sum()), scores.shape[1] * (len(known) - 1)
    return statistic, float(stats.chi2.sf(statistic, df)), float(df)


def _largest(scores: np.ndarray, values: np.ndarray, min_size: int) -> tuple[float, float, float]:
    """Largest LM statistic of a change at some value, its p-value and number of parameters."""
    n, k = scores.shape
    order = np.argsort(values, kind="stable")
    process = np.cumsum(scores[order], axis=0)[:-1]
    first, place = max(math.ceil(n * TRIM), min_size), np.arange(1, n)
    # Equal values do not say in which order they come: cuts lie between different ones.
    is_cut = (place >= first) & (place <= n - first) & (np.diff(values[order]) > 0)
    if not is_cut.any():
        return 0.0, math.nan, float(k)
    share = place[is_cut] / n
    statistic = float((np.square(process[is_cut]).sum(axis=1) / (share * (1.0 - share))).max())
    return statistic, largest_bridge_sf(_as_of_many(statistic, n, k), k, share), float(k)


def _as_of_many(statistic: float, n: int, k: int) -> float:
    """What a statistic of n judges would be if their scores had been scaled by a known covariance instead of their own.

    Their own bounds it by n: of normal scores its share of n has a beta distribution, not quite a chi-squared one.
    """
    if n - 1 <= k:
        return statistic
    alone = stats.beta.sf(min(statistic / n, 1.0), k / 2.0, (n - 1.0 - k) / 2.0)
    return float(stats.chi2.isf(max(alone, np.finfo(float).tiny), k))


def largest_bridge_sf(x: float, k: int, shares: np.ndarray) -> float:
    """P-value of the largest LM statistic: how often a tied-down Bessel process of k dimensions is above x at one of the cuts.

    Parameters
    ----------
    shares : ndarray, shape (n_cuts,)
        Shares of the judges before each cut, rising.

    Notes
    -----
    ``B(t)'B(t) / (t (1 - t))`` is the squared length of a stationary Ornstein-Uhlenbeck process in time ``log(t / (1 - t)) / 2``.
    Its chance of staying inside the ball of radius sqrt(x) is a sum of exponentials, whose rates are the eigenvalues of the
    generator with an absorbing boundary. Between cuts the process may leave and come back unseen: Siegmund (1985) moves the
    boundary outwards, by 0.5826 standard deviations of a step. A few cuts are integrated over one after the other. Hansen's (1997)
    table, which others use, knows of no cuts.

    Examples
    --------
    >>> cuts = np.arange(15, 86) / 100
    >>> [round(largest_bridge_sf(x, 1, cuts), 3) for x in (3.84, 8.85)]
    [0.359, 0.036]
    >>> round(largest_bridge_sf(3.84, 1, np.array([0.5])), 3)           # a single cut, chi-squared
    0.05
    """
    if x <= 0.0:
        return 1.0
    alone, steps = float(stats.chi2.sf(x, k)), np.diff(0.5 * np.log(shares / (1.0 - shares)))
    if not len(steps):
        return alone
    if len(steps) < limits.FEW_CUTS:
        return min(alone + _crossings(x, k, steps), 1.0)
    length = float(steps.sum())
    outwards = _OVERSHOOT * float(steps @ np.sqrt(2.0 * steps)) / length
    boundary = (math.sqrt(x) + outwards) ** 2
    if stats.chi2.sf(boundary, k) > _TAIL:
        mean, rates = _spectrum(boundary, k)
        leaves = float(mean @ -np.expm1(-rates * length))
    else:
        # Rate of crossing far out.
        log_density = -special.gammaln(k / 2) + k / 2 * math.log(boundary / 2) - boundary / 2
        leaves = math.exp(log_density) * 2.0 * length * max(1.0 - k / boundary, 0.0)
    return min(alone + leaves, 1.0)


def _crossings(x: float, k: int, steps: np.ndarray) -> float:
    """How often the process is inside the ball of squared radius x at the first cut, and outside at a later one.

    Backwards from the last cut, by Gaussian quadrature over the radius.
    """
    nodes, weights = np.polynomial.legendre.leggauss(limits.BRIDGE_RADII)
    radius, weights = 0.5 * math.sqrt(x) * (1.0 + nodes), 0.5 * math.sqrt(x) * weights
    later = np.zeros(len(radius))
    for step in steps[::-1]:
        spread = -math.expm1(-2.0 * step)
        away = (1.0 - spread) * radius**2 / spread
        density = stats.ncx2.pdf(radius**2 / spread, k, away[:, None]) * 2.0 * radius / spread
        later = stats.ncx2.sf(x / spread, k, away) + density @ (weights * later)
    return float(weights @ (stats.chi2.pdf(radius**2, k) * 2.0 * radius * later))


@lru_cache(maxsize=256)
def _spectrum(x: float, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Squared means of the eigenfunctions, and their rates, of the radial process inside the ball of squared radius x.

    In ``u = r^2 / x``: Galerkin's method with polynomials times ``1 - u``, weighted by the density ``u^(k/2-1) exp(-x u / 2)``.
    """
    m = limits.BRIDGE_POLYNOMIALS
    nodes, weights = special.roots_jacobi(2 * m + 20, 0.0, k / 2 - 1.0)
    u = (1.0 + nodes) / 2.0
    weights = weights * np.exp(-x * u / 2.0)
    # Probability of the ball, so that masses are probabilities.
    weights *= float(stats.chi2.cdf(x, k)) / weights.sum()
    values = np.array([special.eval_legendre(j, nodes) for j in range(m)])
    slopes = np.zeros_like(values)
    for j in range(1, m):
        # (z^2 - 1) P' = j (z P - P_{j-1}), in u twice that.
        slopes[j] = 2.0 * j * (nodes * values[j] - values[j - 1]) / (nodes**2 - 1.0)
    basis = (1.0 - u) * values
    change = (1.0 - u) * slopes - values
    # Orthonormal combinations of these, as far as they can be told apart.
    _, size, mix = np.linalg.svd((basis * np.sqrt(weights)).T, full_matrices=False)
    mix = mix[size > 1e-11 * size[0]] / size[size > 1e-11 * size[0], None]
    # The rate is the integral of f'(r)^2: du/dr = 2 r / x.
    flow = (mix @ change) * np.sqrt(weights * 4.0 * u / x)
    functions, roots, _ = np.linalg.svd(flow, full_matrices=False)
    means, rates = functions.T @ (mix @ (basis @ weights)), roots**2
    return means**2, rates
