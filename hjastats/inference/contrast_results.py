"""Estimated contrasts: their tests, intervals and tables, on the scale that suits each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import expit, logit
from statsmodels.stats.contrast import ContrastResults

from ..data.arrays import check_alpha, check_number, check_option, check_type
from ..errors import ContrastError
from ..looks import Piece, Shown, Table
from ..words import quoted
from .expressions import FIXED
from .hypotheses import wald_statistic
from .simultaneous import adjusted_p_values, exceedance, largest_statistics

# Which side of the null value speaks against it: the names of statsmodels.
ALTERNATIVES = ("two-sided", "larger", "smaller")


class Scale(NamedTuple):
    """On which a contrast is tested: the way there and back, its slope, where it is defined, and the value tested by default."""

    to: Callable[[Any], Any]
    back: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    domain: str
    null: float


SCALES = {
    "delta": Scale(np.asarray, np.asarray, np.ones_like, "", 0.0),
    "log": Scale(np.log, np.exp, lambda x: 1.0 / x, "positive", 1.0),
    "logit": Scale(logit, expit, lambda x: 1.0 / (x * (1.0 - x)), "between 0 and 1", 0.5),
}
# What is printed of each, as attributes.
_COLUMNS = ("estimate", "std_err", "null", "z", "p_value", "p_adjusted")
# A quantity divided by is told from zero at this many standard errors.
CLEAR = 1.96


@dataclass(frozen=True)
class Ratio:
    """Numerator and denominator of a contrast that is a ratio, with covariance (2, 2) and gradients, for Fieller's method."""

    above: float
    below: float
    cov: np.ndarray
    gradient: np.ndarray = field(default_factory=lambda: np.zeros((2, 0)))

    def z(self, null: float) -> float:
        """How far ``above - null * below`` is from zero, in standard errors and with the sign of the ratio's distance."""
        weights = np.array([1.0, -null])
        error = np.sqrt(max(float(weights @ self.cov @ weights), 0.0))
        return float(np.sign(self.below) * (self.above - null * self.below) / error) if error > 0 else np.nan

    def limits(self, alpha: float) -> tuple[float, float]:
        """All values that the test does not reject; without an end where the denominator cannot be told from zero.

        Examples
        --------
        >>> [round(limit, 3) for limit in Ratio(1.0, 2.0, np.diag([0.01, 0.01])).limits(0.05)]
        [0.395, 0.615]
        >>> Ratio(1.0, 0.1, np.diag([0.01, 0.01])).limits(0.05)
        (-inf, inf)
        """
        squared = stats.norm.ppf(1.0 - alpha / 2.0) ** 2
        second = self.below**2 - squared * self.cov[1, 1]
        first = self.above * self.below - squared * self.cov[0, 1]
        third = self.above**2 - squared * self.cov[0, 0]
        if not np.isfinite(second):
            return np.nan, np.nan
        if second <= 0.0:
            return -np.inf, np.inf
        half = np.sqrt(max(first**2 - second * third, 0.0))
        return float((first - half) / second), float((first + half) / second)


@dataclass(frozen=True, repr=False)
class Contrast(Shown):
    """Estimates of one or several contrasts with their joint covariance.

    Attributes
    ----------
    names : list of str
    estimate, std_err, null : ndarray, shape (n_contrasts,)
    gradient : ndarray, shape (n_contrasts, n_free)
        In the free coordinates.
    cov : ndarray, shape (n_contrasts, n_contrasts)
    size : ndarray, shape (n_contrasts,)
        What the terms of each gradient would add up to if none cancelled another.
    scales : tuple of str
        On which each is tested and bounded: "delta" (its own), "log", or "logit" for probabilities.
    ratios : dict
        Numerators and denominators, by the position of the contrast: ratios are tested and bounded by Fieller's method.
    alternative : {"two-sided", "larger", "smaller"}
        What p-values and intervals are for.
    remarks : dict
        What has to be known to read the table, and of which contrasts, shape (n_contrasts,) of bool.

    Examples
    --------
    >>> import hjastats as hja
    >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
    >>> ahead = result.contrast("mu[model-I] - mu[model-H, model-A, model-B]", alternative="larger")
    >>> float(ahead["mu[model-I] - mu[model-H]"].p_value[0].round(4))
    0.0015
    >>> ahead.adjusted().p_adjusted.round(4).tolist()                # for asking three times
    [0.0046, 0.0, 0.0]
    """

    names: list[str]
    estimate: np.ndarray
    null: np.ndarray
    gradient: np.ndarray
    cov: np.ndarray
    note: str = ""
    size: np.ndarray | float = 1.0
    scales: tuple[str, ...] = ()
    ratios: dict[int, Ratio] = field(default_factory=dict)
    alternative: str = "two-sided"
    remarks: dict[str, np.ndarray] = field(default_factory=dict)
    is_length: np.ndarray | bool = False

    def without(self, is_open: np.ndarray) -> Contrast:
        """The same with the contrasts that have no finite, determined value left empty."""
        if not is_open.any():
            return self
        cov = np.where(is_open[:, None] | is_open, np.nan, self.cov)
        remarks = self.remarks | {"without a finite estimate, see the warning of the fit": is_open}
        ratios = {i: ratio for i, ratio in self.ratios.items() if not is_open[i]}
        return replace(self, estimate=np.where(is_open, np.nan, self.estimate), cov=cov, remarks=remarks, ratios=ratios)

    def __getitem__(self, key: Any) -> Contrast:
        """Some of the contrasts: by name, by position, by a slice or a list of these."""
        if isinstance(key, slice):
            at = list(range(len(self)))[key]
        elif isinstance(key, (str, int, np.integer)) and not isinstance(key, bool):
            at = [self._position(key)]
        elif np.asarray(key).dtype == bool and len(np.asarray(key)) == len(self):
            at = np.flatnonzero(key).tolist()
        else:
            at = [self._position(one) for one in np.atleast_1d(np.asarray(key, dtype=object)).tolist()]
        return replace(
            self,
            names=[self.names[i] for i in at],
            estimate=self.estimate[at],
            null=self.null[at],
            gradient=self.gradient[at],
            cov=self.cov[np.ix_(at, at)],
            size=np.broadcast_to(self.size, len(self))[at],
            scales=tuple(self._scales()[i] for i in at),
            ratios={new: self.ratios[old] for new, old in enumerate(at) if old in self.ratios},
            remarks={text: which[at] for text, which in self.remarks.items()},
            is_length=np.broadcast_to(self.is_length, len(self))[at],
        )

    def _position(self, key: Any) -> int:
        if isinstance(key, str) and key in self.names:
            return self.names.index(key)
        if isinstance(key, (int, np.integer)) and -len(self) <= key < len(self):
            return int(key) % len(self)
        columns = {"p-value": "p_value", "se": "std_err", "P>|z|": "p_value", "std err": "std_err"}
        name = columns.get(str(key), str(key))
        also = (
            f"; .{name}, or summary_frame(), has that of all of them"
            if name in _COLUMNS and hasattr(self, name)
            else ""
        )
        raise ContrastError(
            f"no contrast is called, or at, {key!r}: there are {len(self)}, {quoted(self.names, 3)}{also}."
        )

    def __iter__(self) -> Iterator[Contrast]:
        return (self[i] for i in range(len(self)))

    @property
    def std_err(self) -> np.ndarray:
        """Standard errors by the delta method; zero for what the constraints fix."""
        return np.where(self.is_fixed, 0.0, np.sqrt(np.maximum(np.diag(self.cov), 0.0)))

    @property
    def is_fixed(self) -> np.ndarray:
        """Which contrasts the constraints of the model fix, so that there is nothing to test."""
        return ~self._is_rounded & (np.abs(self.gradient).max(axis=1, initial=0.0) <= FIXED * self.size)

    @property
    def _open_ratios(self) -> dict[int, Ratio]:
        """Ratios that the constraints do not fix, as they do those of equals."""
        return {i: ratio for i, ratio in self.ratios.items() if not self.is_fixed[i]}

    @property
    def _is_rounded(self) -> np.ndarray:
        """Which probabilities are zero or one up to rounding error."""
        is_chance = np.array([scale == "logit" for scale in self._scales()])
        return is_chance & np.isin(self.estimate, (0.0, 1.0))

    def _scales(self, method: str | None = None) -> tuple[str, ...]:
        return (method,) * len(self.names) if method else self.scales or ("delta",) * len(self.names)

    def _carried(self, values: np.ndarray, way: str = "to", method: str | None = None) -> np.ndarray:
        """Values of the contrasts carried to their scales or back, or the slopes of the former there."""
        ways = [getattr(SCALES[scale], way) for scale in self._scales(method)]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.array([carry(value) for carry, value in zip(ways, values, strict=True)], dtype=float)

    def on_scales(self) -> tuple[np.ndarray, np.ndarray]:
        """Distances from the null values, shape (n_contrasts,), and gradients, each on the scale of its contrast."""
        return self._distance(self.null), self._carried(self.estimate, "slope")[:, None] * self.gradient

    def _distance(self, null: np.ndarray) -> np.ndarray:
        """From some values, each on its scale."""
        with np.errstate(invalid="ignore"):
            return self._carried(self.estimate) - self._carried(null)

    @property
    def z(self) -> np.ndarray:
        """Distance from the null value in standard errors, on the scale of each contrast; not a number for what is fixed."""
        return self._z(self.null)

    def _z(self, null: np.ndarray) -> np.ndarray:
        """The same from some values."""
        with np.errstate(divide="ignore", invalid="ignore"):
            error = self._carried(self.estimate, "slope") * self.std_err
            z = np.where(self.is_fixed, np.nan, self._distance(null) / error)
        for i, ratio in self._open_ratios.items():
            z[i] = ratio.z(null[i])
        return np.where(self._is_rounded | self._is_on_edge(null), np.nan, z)

    def _is_on_edge(self, null: np.ndarray) -> np.ndarray:
        """Which lengths and standard deviations would be tested to be zero."""
        return np.broadcast_to(self.is_length, len(self)) & (null == 0) & ~self.is_fixed

    @property
    def p_value(self) -> np.ndarray:
        """Normal p-values, two-sided or of the alternative."""
        return two_sided(self.z) if self.alternative == "two-sided" else stats.norm.sf(self._sign * self.z)

    @property
    def _sign(self) -> float:
        return -1.0 if self.alternative == "smaller" else 1.0

    def conf_int(self, alpha: float = 0.05, method: str | None = None) -> np.ndarray:
        """Confidence limits, shape (n_contrasts, 2); of a one-sided alternative, one limit and the end of the scale.

        Parameters
        ----------
        method : {"delta", "log", "logit"}, optional
            Scale on which the interval is symmetric: the contrast itself, its logarithm (positive contrasts such as
            ratios), or its logit (probabilities). By default probabilities have the logit, ratios Fieller's limits, and
            everything else its own scale.
        """
        check_option("method", method, (None, *SCALES))
        check_alpha(alpha)
        if self.alternative != "two-sided":
            return self._one_limit(alpha, method)
        centre = self._carried(self.estimate, "to", method)
        if method is not None and not np.isfinite(centre[np.isfinite(self.estimate)]).all():
            worst = np.nanmin(self.estimate)
            raise ContrastError(f"method={method!r} needs contrasts {SCALES[method].domain}, got {worst:.4g}.")
        with np.errstate(invalid="ignore"):
            limits = normal_limits(centre, self.std_err * self._carried(self.estimate, "slope", method), alpha)
        limits = np.column_stack([self._carried(limits[:, side], "back", method) for side in (0, 1)])
        for i, ratio in self._open_ratios.items() if method is None else ():
            limits[i] = ratio.limits(alpha)
        # What cannot be negative has no limit that is.
        is_length = np.broadcast_to(self.is_length, len(self))
        return np.where(is_length[:, None], np.maximum(limits, 0.0), limits)

    def _one_limit(self, alpha: float, method: str | None) -> np.ndarray:
        check_alpha(alpha)
        if alpha >= 0.5:
            raise ContrastError(f"alpha must lie between 0 and 0.5 for a one-sided limit, got {alpha!r}.")
        limits = replace(self, alternative="two-sided").conf_int(2.0 * alpha, method)
        side = 0 if self.alternative == "smaller" else 1
        ends = self._carried(np.full(len(self), self._sign * np.inf), "back", method)
        ends = np.where(self.is_length, np.maximum(ends, 0.0), ends)
        limits[:, side] = np.where(np.isnan(limits[:, side]), np.nan, ends)
        return limits

    def equivalence(self, low: float, high: float, alpha: float = 0.05) -> pd.DataFrame:
        """Two one-sided tests that each contrast lies between two values (TOST, Schuirmann 1987).

        Parameters
        ----------
        low, high : float
            Between which a contrast counts as equivalent to its null value, such as -0.1 and 0.1, or 0.8 and 1.25 of a ratio.
        alpha : float
            Level of the tests. The interval has one minus twice that: it lies between the two values where both tests reject.

        Returns
        -------
        pandas.DataFrame
            estimate, std_err, p_low (against lying below ``low``), p_high (above ``high``), p_value, the larger of both, and
            ci_lower, ci_upper.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> alike = result.contrast({"alike": "mu[model-B] - mu[model-F]"}).equivalence(-0.5, 0.5)
        >>> alike[["estimate", "p_low", "p_high", "p_value"]].round(4)
                  estimate   p_low  p_high  p_value
        contrast
        alike      -0.1292  0.0001     0.0   0.0001
        """
        check_number("low", low)
        check_number("high", high)
        if not low < high:
            raise ContrastError(f"equivalence needs two values, the lower first, got {low!r} and {high!r}.")
        ends = [np.full(len(self), float(end)) for end in (low, high)]
        for end in ends:
            check_domains(replace(self, null=end, scales=self._scales()), None)
        p_low, p_high = stats.norm.sf(self._z(ends[0])), stats.norm.cdf(self._z(ends[1]))
        limits = (
            replace(self, alternative="larger").conf_int(alpha)[:, 0],
            replace(self, alternative="smaller").conf_int(alpha)[:, 1],
        )
        columns = {"estimate": self.estimate, "std_err": self.std_err, "p_low": p_low, "p_high": p_high}
        columns |= {"p_value": np.maximum(p_low, p_high), "ci_lower": limits[0], "ci_upper": limits[1]}
        return pd.DataFrame(columns, pd.Index(self.names, name="contrast"))

    def adjusted(
        self, method: str = "single-step", alpha: float = 0.05, rng: int | np.random.Generator | None = 0
    ) -> pd.DataFrame:
        """P-values for asking all of these questions at once.

        Parameters
        ----------
        method : str
            "single-step" (distribution of the largest of all z statistics, simulated), "none", or any of
            :func:`statsmodels.stats.multitest.multipletests` ("holm", "fdr_bh", ...).
        alpha : float
            One minus the level of the intervals, which hold together for "single-step" and one by one otherwise.
        rng : int or numpy.random.Generator
            Randomness of the simulated distribution.

        Returns
        -------
        pandas.DataFrame
            estimate, std_err, z, p_value, p_adjusted, ci_lower, ci_upper. What cannot be tested does not count.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> result.contrast("gamma[judge-1, judge-2, judge-3] = 1").adjusted()[["p_value", "p_adjusted"]].round(3)
                            p_value  p_adjusted
        contrast
        gamma[judge-1] = 1    0.000       0.000
        gamma[judge-2] = 1    0.007       0.021
        gamma[judge-3] = 1    0.000       0.000
        """
        check_alpha(alpha)
        check_type("method", method, str, "the name of an adjustment")
        p_value, z = self.p_value, self._sign * self.z
        tested = np.flatnonzero(np.isfinite(z))
        p_adjusted, level = np.full(len(self), np.nan), alpha
        if method == "single-step" and len(tested):
            is_two_sided = self.alternative == "two-sided"
            draws = largest_statistics(self.cov[np.ix_(tested, tested)], two_sided=is_two_sided, rng=rng)
            p_adjusted[tested] = exceedance(draws, np.abs(z[tested]) if is_two_sided else z[tested])
            # One interval whose normal quantile is the critical value of the largest.
            level = float((1.0 + is_two_sided) * stats.norm.sf(np.quantile(draws, 1.0 - alpha)))
        elif len(tested):
            p_adjusted[tested] = adjusted_p_values(p_value[tested], method, alpha)
        table = self.summary_frame(level)
        table.insert(4, "p_adjusted", p_adjusted)
        return table

    def wald_test(self) -> ContrastResults:
        """Joint chi-squared test that all contrasts equal their null values, with the rank the contrasts have."""
        slope = self._carried(self.estimate, "slope")
        cov = np.outer(slope, slope) * self.cov
        distance = self._distance(self.null)
        return wald_statistic(slope[:, None] * self.gradient, cov, distance, self.names, slope * self.size)

    def summary_frame(self, alpha: float = 0.05, method: str | None = None) -> pd.DataFrame:
        """One row per contrast: estimate, std_err, z, p_value, ci_lower, ci_upper."""
        table = tests_table(self.estimate, self.std_err, self.z, self.conf_int(alpha, method))
        return table.assign(p_value=self.p_value).set_axis(pd.Index(self.names, name="contrast"))

    def __len__(self) -> int:
        return len(self.names)

    def _shown(self) -> list[Piece]:
        frame = self.summary_frame()
        if (self.null != 0).any():
            frame.insert(1, "null", self.null)
        return [Table(frame, {"p_value": "{:.3g}".format}, _printed, missing="NaN"), *self._remarks()]

    def _remarks(self) -> list[str]:
        """What has to be known to read the table."""

        def named(which: np.ndarray) -> str:
            return ", ".join(name for name, is_one in zip(self.names, which, strict=True) if is_one)

        lines = [f"{text}: {named(which)}" for text, which in self.remarks.items() if which.any()]
        if self.is_fixed.any():
            lines.insert(0, f"not testable, fixed by the constraints: {named(self.is_fixed)}")
        if self._is_rounded.any():
            lines.append(f"not testable, too close to 0 or 1: {named(self._is_rounded)}; ask for its log-odds instead")
        if (edge := self._is_on_edge(self.null)).any():
            lines.append(
                f"not testable to be zero, the least it can be: {named(edge)}; test its parts together by wald_test()"
            )
        lines += [
            f"{self.names[i]}: the denominator cannot be told from zero (z = {ratio.below / np.sqrt(ratio.cov[1, 1]):.2f}), so "
            "that the interval has no end"
            for i, ratio in self._open_ratios.items()
            if np.isinf(ratio.limits(0.05)).any()
        ]
        if self.alternative != "two-sided":
            lines.append(f"one-sided: the alternative is that the contrast is {self.alternative}")
        return [*lines, self.note] if self.note else lines


def _printed(value: float) -> str:
    """Four decimals, unless they would all be zero."""
    return f"{value:.4f}" if value == 0 or not abs(value) < 5e-5 else f"{value:.3g}"


def two_sided(z: np.ndarray) -> np.ndarray:
    """Two-sided normal p-values."""
    return 2.0 * stats.norm.sf(np.abs(z))


def normal_limits(estimate: np.ndarray, std_err: np.ndarray, alpha: float) -> np.ndarray:
    """Symmetric confidence limits, shape (n, 2).

    Raises
    ------
    OptionError
    """
    check_alpha(alpha)
    half = stats.norm.ppf(1.0 - alpha / 2.0) * std_err
    return np.column_stack([estimate - half, estimate + half])


def tests_table(estimate: np.ndarray, std_err: np.ndarray, z: np.ndarray, limits: np.ndarray) -> pd.DataFrame:
    """Columns estimate, std_err, z, p_value, ci_lower, ci_upper."""
    columns = {"estimate": estimate, "std_err": std_err, "z": z, "p_value": two_sided(z)}
    return pd.DataFrame(columns | {"ci_lower": limits[:, 0], "ci_upper": limits[:, 1]})


def check_domains(result: Contrast, scale: str | None) -> None:
    """Refuse values that a scale does not know: null values, and estimates where the user chose the scale."""
    with np.errstate(divide="ignore", invalid="ignore"):
        for name, own, null, value in zip(result.names, result.scales, result.null, result.estimate, strict=True):
            carry, domain = SCALES[own].to, SCALES[own].domain
            if not np.isfinite(carry(null)):
                raise ContrastError(f"{name!r} is tested against a value {domain}, got {null:.4g}.")
            if scale is not None and np.isnan(carry(value)):
                raise ContrastError(f"scale={scale!r} needs contrasts {domain}, {name!r} is {value:.4g}.")
