"""Places with intervals: who is above whom, jointly for all items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import sparse, stats
from scipy.optimize import least_squares

from .. import limits
from ..data.arrays import check_alpha, check_flag
from ..errors import Hint, IdentificationError, OptionError, SizeError
from ..fitted import Fit
from ..words import quoted
from .apart import are_apart
from .auxiliary import weighted_scores
from .pairs import check_pairs, compared_positions
from .simultaneous import largest_differences, pairwise_differences


def ranking(
    fit: Fit,
    judge: str | Mapping[str, float] | None = None,
    *,
    level: float = 0.95,
    simultaneous: bool = True,
    rng: int | np.random.Generator | None = 0,
    items: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Places with intervals and tied groups, of the consensus or of one judge.

    Raises
    ------
    OptionError
        For a level that is none.
    ContrastError
        For labels that are none.
    IdentificationError
        Without a finite estimate or standard errors.
    SizeError
        For more items than pairs of them can be compared.
    """
    check_alpha(level, "level")
    return ranking_table(*compared_scores(fit, judge, items), level=level, simultaneous=simultaneous, rng=rng)


def compared_scores(
    fit: Fit, judge: str | Mapping[str, float] | None = None, items: Sequence[str] | None = None
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Labels, scores and their covariance, of the consensus or of one judge, for all items or for some.

    Raises
    ------
    ContrastError
        For labels that are none.
    IdentificationError
        Without a finite estimate or standard errors.
    SizeError
        For more items than pairs of them can be compared.
    """
    if fit.separation is not None:
        raise IdentificationError(
            "some scores or effects run to infinity, so there are no places with intervals",
            *_out_of_reach(fit),
            ": use ",
            Hint("fit_regularized", is_call=True),
            ", or ",
            Hint("fit_regularized", "terms=True", is_call=True),
            " if it is a position effect that runs away.",
        )
    some = compared_positions(fit, "mu", items)
    check_pairs(len(some), "places of", "items")
    labels, estimate, rows = score_vector(fit, judge, some)
    covariance = fit.covariance.of(rows)
    if not np.isfinite(covariance).all():
        why = fit.why_no_errors or "standard errors are not available for this fit, so places have no intervals."
        raise IdentificationError(why)
    return labels, estimate, covariance


def score_vector(
    fit: Fit, judge: str | Mapping[str, float] | None, some: np.ndarray
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Labels, scores and their Jacobian of some items, by the consensus, by one judge or by judges with weights."""
    if judge is None:
        return fit.vector("mu", some)
    quantities = fit.quantities
    if "gamma" not in quantities.kinds:
        raise OptionError(
            "judges are a sample here: leave judge out for the consensus; scores and score_errors have predictions of single ones."
        )
    if isinstance(judge, Mapping):
        values, rows = weighted_scores(fit, judge)
        return tuple(fit.layout.items[i] for i in some), values[some], rows[some]
    k = quantities.resolve("gamma", (str(judge),))[0]
    rows = np.array([quantities.gradient("S", (k, i)) for i in some])
    return tuple(fit.layout.items[i] for i in some), fit.at.scores[k, some], rows


def _out_of_reach(fit: Fit) -> list[str]:
    """Which items are above or below all others."""
    items, sides = np.asarray(fit.layout.items, dtype=object), ((1, "above"), (-1, "below"))
    return [f"; {quoted(items[fit.standing == s])} {w} all others" for s, w in sides if (fit.standing == s).any()]


def leading_places(fit: Fit) -> pd.DataFrame | None:
    """Places of all items, or of the leading ones among themselves if there are too many; None without any."""
    if not fit.converged or fit.why_no_errors or are_apart(fit.layout):
        return None
    return ranking_table(*leading_scores(fit))


def leading_scores(fit: Fit, items: Sequence[str] | None = None) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Labels, scores and their covariance, of all items or of some, or of the leading ones of these if there are too many.

    Raises
    ------
    IdentificationError
        Without a finite estimate or standard errors.
    """
    try:
        return compared_scores(fit, items=items)
    except SizeError:
        wanted = set(fit.layout.items if items is None else items)
        leading = [name for i in fit.best_first[0] if (name := fit.layout.items[i]) in wanted]
        return compared_scores(fit, items=leading[: limits.RANKED_OF_MANY])


def joint_critical(covariance: np.ndarray, level: float = 0.95, rng: int | np.random.Generator | None = 0) -> float:
    """Standard errors by which two items must differ to be told apart while all pairs are compared.

    Examples
    --------
    >>> round(joint_critical(np.eye(2)), 1), round(joint_critical(np.eye(10)), 1)
    (2.0, 3.2)
    """
    return float(np.quantile(largest_differences(covariance, rng=rng), float(level)))


def ranking_table(
    items: tuple[str, ...],
    estimate: np.ndarray,
    covariance: np.ndarray,
    *,
    level: float = 0.95,
    simultaneous: bool = True,
    rng: int | np.random.Generator | None = 0,
    critical: float | None = None,
) -> pd.DataFrame:
    """Places, place intervals and tied groups from pairwise differences.

    An item's best possible place is one plus the number of items that are significantly above it, its worst the number of
    items minus those significantly below it. With ``simultaneous`` the critical value is that of the largest of all pairwise
    z statistics, so that with probability ``level`` all true places lie in their intervals at once; without, it is that of
    the largest among the item's own pairs, and each interval holds its place with that probability. ``critical`` is the former, if
    it is known already.

    Returns
    -------
    pandas.DataFrame
        Best item first: place, score, std_err, ci_lower, ci_upper (of the single score), place_lower, place_upper, group
        (items that share a letter cannot be told apart), quasi_se (quasi-standard errors:
        two scores differ by about their root sum of squares), tier (whose items cannot be told from its first).
    """
    n = len(items)
    pairs = pairwise_differences(estimate, covariance)
    check_flag("simultaneous", simultaneous)
    if critical is None:
        draws = largest_differences(covariance, per_item=not simultaneous, rng=rng)
        beyond = np.broadcast_to(np.quantile(draws, float(level), axis=0), n)[:, None]
    else:
        beyond = np.full((n, 1), critical)
    n_above = (pairs.z < -beyond).sum(axis=1)
    n_below = (pairs.z > beyond).sum(axis=1)
    order = np.argsort(-estimate, kind="stable")
    error = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    half = stats.norm.ppf(0.5 + level / 2.0) * error
    differs = (np.abs(pairs.z) > beyond.max())[np.ix_(order, order)]
    table = pd.DataFrame(
        {
            "score": estimate,
            "std_err": error,
            "ci_lower": estimate - half,
            "ci_upper": estimate + half,
            "place_lower": 1 + n_above,
            "place_upper": n - n_below,
            "group": letter_groups(differs)[np.argsort(order)],
            "quasi_se": np.sqrt(quasi_variances(covariance)),
            "tier": tiers(differs)[np.argsort(order)],
        },
        index=pd.Index(items, name="item"),
    ).iloc[order]
    table.insert(0, "place", np.arange(1, n + 1))
    return table


def letter_groups(differs: np.ndarray) -> np.ndarray:
    """Letters such that two items share one exactly when they do not differ (insert and absorb, Piepho 2004).

    All differences of an item are inserted at once: a group it shares with some it differs from becomes one without the item and
    one without those.

    Parameters
    ----------
    differs : ndarray of bool, shape (n, n)
        Items in the order in which letters are to be given.

    Examples
    --------
    >>> differs = np.array([[False, False, True], [False, False, False], [True, False, False]])
    >>> letter_groups(differs).tolist()
    ['a', 'ab', 'b']
    """
    n = len(differs)
    # Groups and the items that differ from one as binary numbers, bit i for item i: thousands of them are compared.
    enemies = [sum(1 << j for j in np.flatnonzero(row).tolist()) for row in differs]
    groups = [(1 << n) - 1]
    for i, enemy in enumerate(enemies):
        torn = [group for group in groups if group >> i & 1 and group & enemy]
        if not torn:
            continue
        kept = [group for group in groups if not (group >> i & 1 and group & enemy)]
        parts = [part for group in torn for part in (group & ~(1 << i), group & ~enemy)]
        groups = kept + _not_within_others(parts, kept)
    members = sorted([i for i in range(n) if group >> i & 1] for group in groups)
    positions: list[list[int]] = [[] for _ in range(n)]
    for position, group in enumerate(members):
        for i in group:
            positions[i].append(position)
    return np.array([_letters(own) for own in positions], dtype=object)


def tiers(differs: np.ndarray) -> np.ndarray:
    """Numbers of tiers from the best item down: a new one begins with an item that differs from the first of the last.

    Readable for any number of items, where letters are not.

    Examples
    --------
    >>> differs = np.array([[False, False, True], [False, False, False], [True, False, False]])
    >>> tiers(differs).tolist()
    [1, 1, 2]
    """
    found, first = np.ones(len(differs), dtype=int), 0
    for i in range(1, len(differs)):
        found[i] = found[i - 1] + differs[first, i]
        first = i if differs[first, i] else first
    return found


def _not_within_others(parts: list[int], kept: list[int]) -> list[int]:
    """The parts that are contained neither in one another nor in what is kept."""
    result: list[int] = []
    # Larger ones first: only they can contain the others.
    for part in sorted(set(parts), key=int.bit_count, reverse=True):
        if part and not any(part & other == part for other in (*kept, *result)):
            result.append(part)
    return result


def _letters(positions: list[int]) -> str:
    """Letters of groups, numbers in brackets after the alphabet; numbers in a row are written from the first to the last.

    Examples
    --------
    >>> _letters([0, 25, 26, 27, 28, 30])
    'az(27-29)(31)'
    """
    text = "".join("abcdefghijklmnopqrstuvwxyz"[position] for position in positions if position < 26)
    numbers = np.array([position + 1 for position in positions if position >= 26], dtype=int)
    for run in np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1):
        if len(run):
            text += f"({run[0]})" if len(run) == 1 else f"({run[0]}-{run[-1]})"
    return text


def quasi_variances(covariance: np.ndarray) -> np.ndarray:
    """Numbers q with ``q_i + q_j`` close to the variance of every difference (Firth and de Menezes 2004).

    Least squares on the log scale. With two items only the sum is determined and is split evenly; negative quasi-variances,
    which can occur with three items or more, are not allowed and end at the smallest that fits.

    Examples
    --------
    >>> quasi_variances(np.diag([1.0, 2.0, 3.0])).round(6)
    array([1., 2., 3.])
    """
    n = len(covariance)
    low, high = np.triu_indices(n, 1)
    spread = pairwise_differences(np.zeros(n), covariance).std_err ** 2
    target = spread[low, high]
    if n < 3 or not np.isfinite(target).all() or (target <= 0).any():
        return np.full(n, target.mean() / 2.0 if np.isfinite(target).all() else np.nan)

    def residual(log_q: np.ndarray) -> np.ndarray:
        q = np.exp(log_q)
        return np.log(q[low] + q[high]) - np.log(target)

    places = np.tile(np.arange(len(low)), 2), np.concatenate([low, high])

    def jacobian(log_q: np.ndarray) -> sparse.csr_array:
        q = np.exp(log_q)
        shares = np.concatenate([q[low], q[high]]) / np.tile(q[low] + q[high], 2)
        return sparse.csr_array((shares, places), shape=(len(low), n))

    means = spread.sum(axis=1) / (n - 1)
    start = np.log(np.maximum(means - target.mean() / 2.0, 0.05 * target.mean()))
    fit = least_squares(
        residual,
        start,
        jac=jacobian,
        bounds=(start - 12.0, start + 12.0),
        xtol=1e-12,
        ftol=1e-12,
        gtol=1e-12,
        tr_solver="lsmr",
    )
    return np.exp(fit.x)
