"""What a fit of judges as a sample says beyond its parameters: spreads, shares of judges, new judges, clusters, tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import ndtr

from .. import words
from ..data.arrays import check_alpha, check_type, listed
from ..data.cells import take
from ..errors import ContrastError, IdentificationError, OptionError
from ..fitted import NO_CONSENSUS, CovarianceChoice, Observations
from ..model.design import Design
from ..model.population import Population, predictors
from ..model.response import expected_outcome, verdict_slopes
from ..population import PopulationFit
from ..solve.marginal import Gradients, Marginal, cluster_scores, nodes, parts_of_gradient
from ..solve.precision import DenseCovariance
from .clusters import Clusters, read_clusters
from .hypotheses import kind_test

# Nodes for a judge nobody has seen yet, whose predictor is normal.
_NODES_OF_NEW = 31


def population_table(fit: PopulationFit, alpha: float = 0.05) -> pd.DataFrame:
    """Means and standard deviations of what judges differ in, and correlations.

    Intervals of standard deviations are made on the log scale, of correlations on Fisher's.

    A standard deviation of zero, or a correlation of one, lies at the boundary and has neither error nor interval.
    """
    layout = fit.layout
    names = [name for kind in (*layout.terms.own_names, "sd", "corr") for name in layout.blocks.get(kind, [])]
    positions = np.array([layout.names.index(name) for name in names])
    estimate, error = fit.params[positions], fit.errors(positions)
    kinds = np.array([name.partition("[")[0] for name in names])
    half = stats.norm.ppf(1.0 - alpha / 2.0) * error
    lower, upper = estimate - half, estimate + half
    is_sd, is_corr = kinds == "sd", kinds == "corr"
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # Where an error is as large as what it belongs to, the log scale has no ends worth the name: that of the variance,
        # from zero.
        is_clear = is_sd & (error < estimate)
        lower[is_clear], upper[is_clear] = (
            estimate[is_clear] * np.exp(s * half[is_clear] / estimate[is_clear]) for s in (-1.0, 1.0)
        )
        unclear = is_sd & ~is_clear
        lower[unclear], upper[unclear] = 0.0, np.sqrt(estimate[unclear] ** 2 + 2.0 * half[unclear] * estimate[unclear])
        middle, width = np.arctanh(estimate[is_corr]), half[is_corr] / (1.0 - estimate[is_corr] ** 2)
        lower[is_corr], upper[is_corr] = np.tanh(middle - width), np.tanh(middle + width)
    is_zero = (is_sd & (estimate == 0.0)) | (is_corr & (np.abs(estimate) > 1.0 - 1e-9))
    table = pd.DataFrame(
        {"estimate": estimate, "std_err": error, "ci_lower": lower, "ci_upper": upper},
        index=pd.Index(names, name="parameter"),
    )
    table.loc[is_zero, ["std_err", "ci_lower", "ci_upper"]] = np.nan
    return table


def _item_positions(fit: PopulationFit, labels: Any) -> np.ndarray:
    return fit.positions("mu", listed("items", labels, "names of items"))


def _pairs(fit: PopulationFit, first: Any, second: Any) -> tuple[np.ndarray, np.ndarray]:
    a, b = _item_positions(fit, first), _item_positions(fit, second)
    if len(a) != len(b) and 1 not in (len(a), len(b)):
        raise ContrastError(f"expected as many first as second items, or one of either, got {len(a)} and {len(b)}.")
    a, b = np.broadcast_arrays(a, b)
    if (a == b).any():
        raise ContrastError("expected two different items to compare.")
    return a, b


def share_of_judges(fit: PopulationFit, first: Any, second: Any, alpha: float = 0.05) -> pd.DataFrame:
    """Share of all judges like these whose scores put the first item above the second.

    That is ``Phi(gap / spread)``. The interval is made on a scale that is the log of the ratio where that is large, and its own
    where the gap is small (asinh); where the spread cannot be told from zero, on that of the angle whose tangent is the ratio.

    Judges who differ in sensitivity alone all follow the sign of the gap, however small it is: a jump that no derivative knows of.
    So the ends of the interval of the gap are carried over as they are, and joined with what the rest adds (MOVER, Zou and Donner
    2008, doi:10.1002/sim.3095).
    """
    check_alpha(alpha)
    (a, b), at, space = _pairs(fit, first, second), fit.population, fit.marginal.space
    gap, taste = at.mu[a] - at.mu[b], at.V[a] - at.V[b]
    spread = np.sqrt(np.square(at.score_loading[a] - at.score_loading[b]).sum(axis=1))
    table = pd.DataFrame(index=_pair_index(fit, a, b))
    with np.errstate(divide="ignore", invalid="ignore"):
        probit = np.where(spread > 0, gap / spread, np.inf * np.sign(gap))
    errors, of_gap, by_gaps = np.full((3, len(a)), np.nan)
    for i in np.flatnonzero(spread > 0):
        by_gap = 1.0 / spread[i] - gap[i] ** 2 * at.sensitivity**2 / spread[i] ** 3
        items = np.zeros(len(at.mu))
        items[a[i]], items[b[i]] = 1.0, -1.0
        by = replace(
            _nothing(at),
            mu=by_gap * items,
            V=-gap[i] / spread[i] ** 3 * np.outer(items, taste[i]),
            sensitivity=-at.sensitivity * gap[i] ** 3 / spread[i] ** 3,
            taste=None if at.taste is None else -2.0 * at.taste * gap[i] / spread[i] ** 3,
        )
        rows = np.array([space.gradient(by), space.gradient(replace(_nothing(at), mu=items))])
        (errors[i], of_gap[i]), by_gaps[i] = np.sqrt(fit.covariance.variances(rows)), by_gap
    table["share"], table["std_err"] = ndtr(probit), stats.norm.pdf(probit) * errors
    quantile, size = stats.norm.ppf(1.0 - alpha / 2.0), np.hypot(1.0, probit)
    is_clear = errors < size
    own = spread**2 - np.square(at.sensitivity * gap)
    rest = np.sqrt(np.maximum(errors**2 - np.square(by_gaps * of_gap), 0.0))
    for name, side in (("ci_lower", -quantile), ("ci_upper", quantile)):
        with np.errstate(divide="ignore", invalid="ignore"):
            end = gap + side * of_gap
            there = end / np.sqrt(np.maximum(own, 0.0) + np.square(at.sensitivity * end))
            far = np.arcsinh(there) - np.arcsinh(probit), quantile * rest / size
            near = np.arctan(there) - np.arctan(probit), quantile * rest / size**2
            angle = np.arctan(probit) + np.sign(side) * np.hypot(*near)
            table[name] = ndtr(
                np.where(
                    is_clear,
                    np.sinh(np.arcsinh(probit) + np.sign(side) * np.hypot(*far)),
                    np.tan(np.clip(angle, -np.pi / 2, np.pi / 2)),
                )
            )
    return table


def _pair_index(fit: PopulationFit, a: np.ndarray, b: np.ndarray) -> pd.MultiIndex:
    items = np.asarray(fit.layout.items, dtype=object)
    return pd.MultiIndex.from_arrays([items[a], items[b]], names=["first", "second"])


def _nothing(at: Population) -> Population:
    return Population(
        np.zeros_like(at.mu),
        np.zeros_like(at.V),
        0.0,
        np.zeros_like(at.shared),
        np.zeros_like(at.means),
        np.zeros_like(at.sds),
        None if at.taste is None else 0.0,
    )


def new_judge_scores(fit: PopulationFit, alpha: float = 0.05) -> pd.DataFrame:
    """Prediction intervals of the scores of a judge nobody has seen yet: spread of judges and error of the estimate together."""
    check_alpha(alpha)
    at, layout = fit.population, fit.layout
    spread = np.square(at.score_loading).sum(axis=1)
    where = layout.slices["mu"]
    error = fit.errors(np.arange(where.start, where.stop))
    half = stats.norm.ppf(1.0 - alpha / 2.0) * np.sqrt(spread + error**2)
    columns = {
        "estimate": at.mu,
        "sd": np.sqrt(spread),
        "std_err": error,
        "pi_lower": at.mu - half,
        "pi_upper": at.mu + half,
    }
    return pd.DataFrame(columns, index=pd.Index(layout.items, name="item")).iloc[fit.best_first[0]]


# Predictions


def predict_known(fit: PopulationFit, rows: Design, summarise: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """What known judges are expected to say, given all they have said: averages over their effects, not values at the averages.

    Parameters
    ----------
    summarise : callable
        Of the predictors (p, n_cells), such as probabilities of verdicts; the last axis is that of the cells.
    """
    return fit.marginal.average(fit.found.values, rows, rows.judge, summarise)


def predict_new(fit: PopulationFit, rows: Design, summarise: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """The same of judges nobody has seen yet, all of them together."""
    new = _New(*predictors(rows, fit.population))
    return np.asarray(sum(weight * summarise(there) for there, weight, _ in new.nodes()))


class _New:
    """Predictors of a judge nobody has seen yet: normal, those that effects move; the others are what they are."""

    def __init__(self, base: np.ndarray, loading: np.ndarray) -> None:
        self.base, self.is_drawn = base, loading.any(axis=(1, 2))
        self.loading = loading[self.is_drawn]
        self.root = _root(np.einsum("prd,qrd->rpq", self.loading, self.loading))

    def nodes(self) -> Iterator[tuple[np.ndarray, float, np.ndarray]]:
        """Predictors (p, n), weight, and the standard normal vector that the drawn ones come from."""
        x, log_weight = nodes(_NODES_OF_NEW, len(self.loading))
        for point, weight in zip(x, np.exp(log_weight), strict=True):
            there = self.base.copy()
            there[self.is_drawn] += (self.root @ point).T
            yield there, weight, point


def _root(matrices: np.ndarray) -> np.ndarray:
    """Factors of positive semi-definite matrices (m, p, p)."""
    values, vectors = np.linalg.eigh(matrices)
    return vectors * np.sqrt(np.maximum(values, 0.0))[:, None]


def new_judge_probabilities(fit: PopulationFit, rows: Design, alpha: float = 0.05) -> pd.DataFrame:
    """Expected preference of a judge nobody has seen yet for the first item, with intervals on the logit scale.

    By Stein's identity the expectation moves with the covariance of the predictors by half its expected second derivatives, and
    with their loadings by those derivatives times the loading.
    """
    check_alpha(alpha)
    at, response = fit.population, rows.response
    worth = np.array(list(response.verdicts.values()))
    base, loading = predictors(rows, at)
    new = _New(base, loading)
    mean: Any = 0.0
    by_base, by_root = np.zeros_like(base), np.zeros_like(new.root)
    for there, w, point in new.nodes():
        chances, by_odds, by_own = verdict_slopes(response, there[0], there[1:] if len(there) > 1 else None)
        mean = mean + w * expected_outcome(response, chances)
        slopes = np.stack([worth @ by_odds, *(worth @ own for own in by_own)])
        by_base += w * slopes
        by_root += w * slopes[new.is_drawn].T[:, :, None] * point
    # Expected slopes times the root's normal vector are the second derivatives times the root.
    second, by_loading = np.matmul(by_root, np.linalg.pinv(new.root)), np.zeros_like(loading)
    by_loading[new.is_drawn] = np.einsum("rpq,qrd->prd", second, new.loading)
    p = np.asarray(mean)
    gradients = np.array(
        [
            fit.marginal.space.gradient(
                parts_of_gradient(take(rows, np.array([i])), at, Gradients(by_base[:, [i]], by_loading[:, [i]]))
            )
            for i in range(len(p))
        ]
    )
    error = np.sqrt(fit.covariance.variances(gradients))
    slope = p * (1.0 - p)
    logit, half = np.log(p) - np.log1p(-p), stats.norm.ppf(1.0 - alpha / 2.0) * error / slope
    lower, upper = (1.0 / (1.0 + np.exp(-(logit + s * half))) for s in (-1.0, 1.0))
    return pd.DataFrame({"predicted": p, "se": error, "ci_lower": lower, "ci_upper": upper})


# Clusters


def choose_population_covariance(
    fit: PopulationFit, cov_type: str, cov_kwds: dict[str, Any] | None, observations: Callable[[], Observations]
) -> PopulationFit:
    """The fit with the covariance asked for.

    Raises
    ------
    OptionError
    """
    given = {} if cov_kwds is None else cov_kwds
    check_type("cov_kwds", given, dict, "a dict of options")
    check_type("cov_type", cov_type, str, "'nonrobust' or 'cluster'")
    if cov_type == "nonrobust" and not given:
        said = "Standard errors from the observed information of the marginal likelihood; they count the drawing of these judges."
        return replace(fit, choice=CovarianceChoice("nonrobust", said))
    if cov_type != "cluster" or set(given) - {"groups", "use_correction"}:
        raise OptionError(
            f"cov_type must be 'nonrobust', or 'cluster' with cov_kwds={{'groups': ..., 'use_correction': True}}, got "
            f"{cov_type!r} and "
            f"{words.quoted(given)}."
        )
    corrects = bool(given.get("use_correction", True))
    observed = observations()
    data = observed.data
    ways = read_clusters(given.get("groups", "judge"), data)
    judges = Clusters(data.judge_index, data.n_judges, "judge")
    # What a judge says hangs together whatever else does, unless the clusters hold whole judges.
    others = [way for way in ways if way.name != "judge"]
    if len(others) == 1 and (others[0].per_judge(data) == 1).all():
        judges, others = others[0], []
    if len(others) > 1:
        raise OptionError("judges are clusters already: name one other way in which rows hang together.")
    if judges.n < 2:
        raise IdentificationError("clustering needs at least two clusters, got one.")
    if others and fit.space_layout.has_taste:
        raise OptionError("with individual taste errors are clustered by judge only: leave groups out.")
    meat = _meat(fit, observed, judges, corrects)
    if others:
        both = judges.within(others[0])
        meat = meat + _meat(fit, observed, others[0], corrects) - _meat(fit, observed, both, corrects)
        values, vectors = np.linalg.eigh(meat)
        meat = (vectors * np.maximum(values, 0.0)) @ vectors.T
    bread = fit.model_covariance.covariance
    by = " and ".join(f"{way.n:,} clusters ({way.name or 'labels'})" for way in (judges, *others))
    named: list[Any] = [way.code.tolist() if way.name is None else way.name for way in ways]
    facts = {
        "groups": named[0] if len(named) == 1 else named,
        "use_correction": corrects,
        "n_groups": min(way.n for way in (judges, *others)),
    }
    choice = CovarianceChoice(
        "cluster",
        f"Standard errors are robust to dependence within {by}.",
        DenseCovariance(bread @ meat @ bread),
        facts,
    )
    return replace(fit, choice=choice)


def _meat(fit: PopulationFit, observed: Observations, clusters: Clusters, corrects: bool) -> np.ndarray:
    """Outer products of what clusters contribute to the gradient; corrected, times n / (n - 1).

    A whole judge contributes its gradient. Some of its verdicts contribute the derivative of that by their weight.
    """
    order = np.argsort(observed.rows.judge, kind="stable")
    rows, code = take(observed.rows, order), clusters.code[order]
    marginal, at = fit.marginal.of(rows), fit.found.values
    if (clusters.per_judge(observed.data) == 1).all():
        scores = cluster_scores(rows, marginal.space, fit.population, marginal.rows(at), code, clusters.n)
    else:
        assert isinstance(marginal, Marginal)  # with taste, prompts have been refused
        scores = marginal.influences(at, code, clusters.n)
    return (clusters.n / (clusters.n - 1.0) if corrects else 1.0) * scores.T @ scores


# Tests


@dataclass(frozen=True, repr=False)
class SpreadTest:
    """Whether judges differ in something: its standard deviation against zero.

    Attributes
    ----------
    effect : str
        "gamma", or a term such as "position".
    statistic : float
        Likelihood ratio.
    p_value : float
        Half of the chi-squared one: a variance at the boundary is zero in half of all samples (Self and Liang 1987).
    """

    effect: str
    statistic: float
    p_value: float

    def __repr__(self) -> str:
        return (
            f"Test that all judges have the same {self.effect}: LR = {self.statistic:.3f}, half chi2(0) and half chi2(1), "
            f"p = {self.p_value:.3g}"
        )


def spread_test(fit: PopulationFit, restricted: PopulationFit, effect: str) -> SpreadTest:
    """The test from a fit and one in which the effect has no spread."""
    statistic = max(2.0 * (fit.loglike - restricted.loglike), 0.0)
    p_value = 0.5 * float(stats.chi2.sf(statistic, 1)) if statistic > 1e-6 else 1.0
    return SpreadTest(effect, statistic, p_value)


def check_spread(fit: PopulationFit, effect: str) -> int:
    """Position of the effect among all, if its spread can be tested.

    Raises
    ------
    ContrastError
        For what is no effect, or for sensitivities where there is no consensus, or with directions that take part in them.
    """
    layout = fit.space_layout
    if layout.has_taste:
        raise ContrastError(
            "with individual taste the likelihood is known up to the noise of draws, which a likelihood ratio does not stand: test "
            "without it, .with_taste(False)."
        )
    testable = ["gamma", *layout.terms.own_names]
    if not isinstance(effect, str) or effect not in testable:
        raise ContrastError(
            f"effect must be one of {words.quoted(testable)}, got {effect!r}; taste is tested by rank_test, a bootstrap."
        )
    if effect != "gamma":
        return layout.effects.index(effect)
    if layout.rank:
        raise ContrastError("with directions of disagreement sensitivities vary along them, too: test rank 0.")
    where = layout.slices["mu"]
    # The last score follows from the others.
    test = kind_test(fit, np.eye(len(layout.names))[where.start : where.stop - 1])
    if float(test.pvalue) > NO_CONSENSUS:
        raise ContrastError(
            "the consensus cannot be told from none, and sensitivities to none mean nothing: not testable."
        )
    return 0


def simulate_population(fit_design: Design, at: Population, rng: np.random.Generator) -> np.ndarray:
    """Predictors (p, n_cells) of new judges with the comparisons of the old ones."""
    base, loading = predictors(fit_design, at)
    z = rng.standard_normal((fit_design.n_judges, loading.shape[2]))
    return base + np.einsum("prd,rd->pr", loading, z[fit_design.judge])
