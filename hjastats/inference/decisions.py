"""Who is best, and how sure that is: chances of places, win rates, and one item against another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from .. import limits
from ..data.arrays import check_alpha, check_option, check_type, check_whole, generator
from ..errors import ContrastError, IdentificationError, OptionError
from ..fitted import Fit
from ..looks import Piece, Shown, Table, Title
from ..model.response import probability, verdict_slopes
from ..model.tangent import from_centred_basis, in_centred_basis
from ..population import PopulationFit
from ..words import counted, percent, quoted, shortened_apart, told_p
from .bootstrap import Bootstrap
from .population import share_of_judges
from .ranks import compared_scores, ranking_table, score_vector

# Points of Elo's scale for one unit of log-odds, and where its mean, or the item it is anchored at, stands.
ELO, ELO_BASE = 400.0 / np.log(10.0), 1000.0
SCALES = ("log-odds", "elo", "win-rate")
PRIORS = ("normal", "flat")
# The widest spread that is tried, in sizes of the estimates.
_WIDEST = 10.0
DRAWN_FROM = {
    "normal": "Chances of places take the items as drawn from a normal distribution, of a spread that the estimates tell.",
    "flat": "Chances of places are from the errors alone (flat prior): too sure where items lie closer than their errors.",
    "bootstrap": "Chances of places are shares of bootstrap replications: too sure where items lie closer than their errors.",
}


# Draws


def score_draws(
    estimate: np.ndarray,
    covariance: np.ndarray,
    prior: str = "normal",
    *,
    n: int = limits.PLACE_DRAWS,
    rng: int | np.random.Generator | None = 0,
) -> np.ndarray:
    """Scores as they may be after what was seen, shape (n, n_items).

    With ``prior="flat"`` they are normal about the estimate. That is too sure of the first place where items lie closer than their
    errors: the highest of many estimates is high by chance, too. With ``"normal"`` items are drawn from a normal distribution; its
    standard deviation is averaged over, from zero to ten times the size of the estimates, by how likely these are under it.

    Examples
    --------
    >>> estimate, covariance = np.array([0.3, 0.0, -0.3]), 0.3 * (np.eye(3) - 1 / 3)
    >>> for prior in ("flat", "normal"):
    ...     print(prior, np.bincount(score_draws(estimate, covariance, prior).argmax(axis=1)).round(-3))
    flat [11000  6000  3000]
    normal [10000  6000  4000]
    """
    check_option("prior", prior, PRIORS)
    rng = generator(rng)
    seen, spread_of = in_centred_basis(estimate[None])[0], in_centred_basis(in_centred_basis(covariance).T)
    values, vectors = np.linalg.eigh(spread_of if prior == "flat" else _without_scale(seen, spread_of))
    values = np.maximum(values, 1e-12 * max(values.max(initial=0.0), 1e-300))
    seen = seen @ vectors
    noise = rng.standard_normal((n, len(seen))) * np.sqrt(values)
    if prior == "flat":
        drawn = seen + noise
    else:
        spread, weight = _spreads(seen, values)
        squared = rng.choice(spread, n, p=weight)[:, None] ** 2
        kept = squared / (squared + values)
        drawn = kept * seen + np.sqrt(kept) * noise
    return from_centred_basis(drawn @ vectors.T)


def relied_on(fit: Fit, rows: np.ndarray) -> np.ndarray:
    """Covariance of scores with the given Jacobian (n_items, n_free), of which the correlations may be relied on, too.

    Clusters tell each standard error, but fewer of them than scores do not tell how errors go together: some combinations of the
    scores look certain, and whatever is inferred from them is wrong. The fewer clusters there are for each contrast, the
    more are correlations those of the model.
    """
    chosen, n_clusters = fit.covariance.of(rows), fit.choice.facts.get("n_groups")
    if fit.choice.kind != "cluster" or n_clusters is None:
        return chosen
    of_model = fit.model_covariance.of(rows)
    scale = np.sqrt(np.diag(chosen) / np.diag(of_model))
    share = min((len(rows) - 1) / n_clusters, 1.0)
    return (1.0 - share) * chosen + share * of_model * np.outer(scale, scale)


def _without_scale(seen: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """The covariance without what it has more along the estimates than in other directions.

    That is an error of the scale of all scores, as judges who are a sample leave it. It changes no place, and estimates that it
    moves are not to be shrunk for it.
    """
    size = float(np.linalg.norm(seen))
    if len(seen) < 2 or size == 0.0:
        return covariance
    along = seen / size
    own = float(along @ covariance @ along)
    more = own - (np.trace(covariance) - own) / (len(seen) - 1)
    possible = 1.0 / float(along @ np.linalg.pinv(covariance, hermitian=True) @ along)
    return covariance - np.clip(more, 0.0, 0.99 * possible) * np.outer(along, along)


def _spreads(seen: np.ndarray, variances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Standard deviations of the items with their chances, given independent coordinates of the estimates.

    By the likelihood of the estimates, all standard deviations alike beforehand (Gelman 2006): what is known badly says little.
    """
    widest = _WIDEST * np.sqrt(np.mean(seen**2 + variances))
    spread = (np.arange(limits.TRIED_SPREADS) + 0.5) * widest / limits.TRIED_SPREADS
    total = spread[:, None] ** 2 + variances
    loglike = -0.5 * np.sum(np.log(total) + seen**2 / total, axis=1)
    weight = np.exp(loglike - loglike.max())
    return spread, weight / weight.sum()


@dataclass(frozen=True, repr=False)
class Places(Shown):
    """How likely every item is to have every place.

    Attributes
    ----------
    probability : pandas.DataFrame
        Items, best first, by places 1, 2, ...
    prior : {"normal", "flat", "bootstrap"}
        Where the draws come from.
    """

    probability: pd.DataFrame
    prior: str

    @property
    def best(self) -> pd.Series:
        """Probability of the first place."""
        return self.top(1).rename("p_best")

    @property
    def expected(self) -> pd.Series:
        """Expected place."""
        return pd.Series(self.probability.to_numpy() @ self.probability.columns.to_numpy(), self.probability.index)

    def top(self, k: int) -> pd.Series:
        """Probability of one of the first k places."""
        check_whole("k", k, 1)
        return self.probability.iloc[:, :k].sum(axis=1).rename(f"p_top_{k}")

    def _shown(self) -> list[Piece]:
        shown = self.probability.iloc[: limits.PRINTED_ITEMS, :6]
        shown = shown.set_axis(shortened_apart(list(shown.index), 28), axis=0)
        rest = len(self.probability) - 6
        more = [f"Places 7 to {len(self.probability)}, and items, are in .probability."] if rest > 0 else []
        return [Title("Chances of places"), Table(shown, others="{:.2f}".format), DRAWN_FROM[self.prior], *more]


def places(
    fit: Fit,
    judge: str | Mapping[str, float] | None = None,
    *,
    prior: str = "normal",
    bootstrap: Bootstrap | None = None,
    items: Sequence[str] | None = None,
    rng: int | np.random.Generator | None = 0,
) -> Places:
    """The distribution of places by draws from the joint distribution of the scores, or from a bootstrap of the fit.

    Raises
    ------
    OptionError
        For a prior that is none, and a bootstrap of other items.
    """
    if bootstrap is None:
        labels, estimate, _ = compared_scores(fit, judge, items)
        rows = score_vector(fit, judge, fit.positions("mu", items))[2]
        return chances(labels, estimate, score_draws(estimate, relied_on(fit, rows), prior, rng=rng), prior)
    layout = fit.layout
    check_type("bootstrap", bootstrap, Bootstrap, "a bootstrap of this fit")
    if bootstrap.layout.names != layout.names:
        raise OptionError("bootstrap must be one of this fit: its parameters are others.")
    some = fit.positions("mu", items)
    if judge is None:
        drawn = np.array([layout.decompose(at).mu[some] for at in bootstrap.replications])
        estimate = fit.parts.mu[some]
    else:
        k = fit.quantities.resolve("gamma", (str(judge),))[0]
        drawn = np.array([at.scores[k, some] for at in bootstrap.replications])
        estimate = fit.at.scores[k, some]
    if len(drawn) < 2:
        raise IdentificationError(f"the bootstrap has {len(drawn)} replications with an estimate: too few for places.")
    return chances(tuple(layout.items[i] for i in some), estimate, drawn, "bootstrap")


def chances(labels: tuple[str, ...], estimate: np.ndarray, drawn: np.ndarray, prior: str) -> Places:
    """Shares of the draws (n_draws, n_items) in which every item has every place."""
    n = len(labels)
    place = np.argsort(np.argsort(-drawn, axis=1, kind="stable"), axis=1)
    code = (np.arange(n) * n + place).ravel()
    share = np.bincount(code, minlength=n * n).reshape(n, n) / len(drawn)
    order = np.argsort(-estimate, kind="stable")
    index = pd.Index([labels[i] for i in order], name="item")
    return Places(pd.DataFrame(share[order], index, pd.RangeIndex(1, n + 1, name="place")), prior)


# Boards


def win_rates(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Chance of every item to be preferred to another one drawn at random, and its derivatives by the scores.

    Examples
    --------
    >>> win_rates(np.array([0.0, 0.0, 0.0]))[0]
    array([0.5, 0.5, 0.5])
    """
    n = len(scores)
    wins = probability(scores[:, None] - scores)
    slopes = wins * (1.0 - wins)
    np.fill_diagonal(slopes, 0.0)
    rates = (wins.sum(axis=1) - 0.5) / (n - 1)
    return rates, (np.diag(slopes.sum(axis=1)) - slopes) / (n - 1)


def board(
    fit: Fit,
    *,
    scale: str,
    judge: str | Mapping[str, float] | None,
    anchor: str | None,
    top: int,
    level: float,
    prior: str,
    rng: int | np.random.Generator | None,
    items: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Everything a leaderboard shows, exact, best item first; of some items, what they are among themselves."""
    check_option("scale", scale, SCALES)
    check_alpha(level, "level")
    labels, estimate, covariance = compared_scores(fit, judge, items)
    n = len(labels)
    check_whole("top", top, 1)
    top = min(top, n)
    if anchor is not None and (scale == "win-rate" or not isinstance(anchor, str) or anchor not in labels):
        where = "no scale of win rates has an anchor" if scale == "win-rate" else f"there are {quoted(labels)}"
        raise OptionError(f"anchor must be an item to count scores from, got {anchor!r}: {where}.")
    ranked = ranking_table(labels, estimate, covariance, level=level, rng=rng)
    shown = scaled_scores(labels, estimate, covariance, scale, None if anchor is None else labels.index(anchor), level)
    share = places(fit, judge, prior=prior, items=items, rng=rng)
    table = pd.concat([ranked[["place", "place_lower", "place_upper"]], shown.loc[ranked.index]], axis=1)
    table["p_best"], table[f"p_top_{top}"] = share.best, share.top(top)
    table["win_rate"] = pd.Series(win_rates(estimate)[0], labels)
    table["tier"] = ranked["tier"]
    table["comparisons"] = pd.Series(comparisons_of_items(fit), fit.layout.items)
    return table


def scaled_scores(
    labels: Sequence[str],
    estimate: np.ndarray,
    covariance: np.ndarray,
    scale: str,
    anchor: int | None = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Scores with errors and intervals on a scale, counted from an item or from the mean; those of win rates by their logits.

    Examples
    --------
    >>> scaled_scores(["a", "b"], np.array([0.5, -0.5]), 0.01 * np.eye(2), "elo").round().astype(int)
          score  std_err  ci_lower  ci_upper
    item
    a      1087       17      1053      1121
    b       913       17       879       947
    """
    n, half_width = len(labels), stats.norm.ppf(0.5 + level / 2)
    if scale == "win-rate":
        score, slopes = win_rates(estimate)
        error = np.sqrt(np.einsum("ij,jk,ik->i", slopes, covariance, slopes))
        half = half_width * error / (score * (1.0 - score))
        lower, upper = (probability(np.log(score / (1.0 - score)) + sign * half) for sign in (-1.0, 1.0))
    else:
        unit, base = (ELO, ELO_BASE) if scale == "elo" else (1.0, 0.0)
        score, variance = estimate, np.diag(covariance)
        if anchor is not None:
            score = estimate - estimate[anchor]
            spread = variance + covariance[anchor, anchor] - 2.0 * covariance[anchor]
            variance = np.where(np.arange(n) == anchor, 0.0, spread)
        score, error = base + unit * score, unit * np.sqrt(np.maximum(variance, 0.0))
        lower, upper = score - half_width * error, score + half_width * error
    columns = {"score": score, "std_err": error, "ci_lower": lower, "ci_upper": upper}
    return pd.DataFrame(columns, index=pd.Index(labels, name="item"))


def comparisons_of_items(fit: Fit) -> np.ndarray:
    """Total weight of the comparisons of every item, shape (n_items,)."""
    design = fit.design
    return np.bincount(
        np.concatenate([design.first, design.second]), np.tile(design.n, 2), minlength=len(fit.layout.items)
    )


# One against another


@dataclass(frozen=True, repr=False)
class HeadToHead(Shown):
    """One item against another.

    Attributes
    ----------
    first, second : str
    judge : str or None
        None for the consensus: a judge of average sensitivity.
    probability : float
        That the first item is preferred, among decided verdicts and without the advantage of a position.
    ci_lower, ci_upper : float
        Made on the logit scale.
    log_odds, std_err, z, p_value : float
        The same on the logit scale, tested against even odds.
    ties : dict
        With ties as an outcome: chances of ``first``, ``tie`` and ``second``; otherwise empty.
    n_for, n_judges : int
        Judges of the panel whose own scores have the first item ahead, of how many; -1 where judges have no order of their own.
    share, share_lower, share_upper : float
        Where judges are a sample: share of all judges like these whose own scores do, with an interval; otherwise not a number.
    """

    first: str
    second: str
    judge: str | None
    probability: float
    ci_lower: float
    ci_upper: float
    log_odds: float
    std_err: float
    z: float
    p_value: float
    alpha: float
    ties: dict[str, float]
    n_for: int
    n_judges: int
    share: float = np.nan
    share_lower: float = np.nan
    share_upper: float = np.nan

    @property
    def sentence(self) -> str:
        """All of it in words."""
        who = "A judge of average sensitivity" if self.judge is None else self.judge
        verdict = "differs from" if self.p_value < self.alpha else "cannot be told from"
        told = (
            f"{who} prefers {self.first} to {self.second} with probability {self.probability:.3f} "
            f"({1 - self.alpha:.0%} interval {self.ci_lower:.3f} to {self.ci_upper:.3f}), which {verdict} one half "
            f"({told_p(self.p_value)})."
        )
        if self.ties:
            tied = percent(self.ties.get("tie", 0.0))
            told += f" Of their comparisons the model expects {tied} to be ties; the probability is of those decided."
        if np.isfinite(self.share):
            told += f" {percent(self.share, 0)} of all judges like these have it ahead by their own scores"
            if np.isfinite(self.share_lower):
                told += (
                    f" ({1 - self.alpha:.0%} interval {percent(self.share_lower, 0)} to {percent(self.share_upper, 0)})"
                )
            told += f"; of those at hand, by prediction, {self.n_for} of {self.n_judges}."
        elif self.judge is None and self.n_judges > 1 and self.n_for >= 0:
            told += f" {self.n_for} of {counted(self.n_judges, 'judge')} have it ahead by their own scores."
        return told

    def _shown(self) -> list[Piece]:
        return [self.sentence]


def head_to_head(fit: Fit, first: str, second: str, judge: str | None = None, alpha: float = 0.05) -> HeadToHead:
    """Probability that one item is preferred to another, with an interval made on the logit scale.

    Raises
    ------
    ContrastError
        For items or a judge that are not there.
    IdentificationError
        Without a finite estimate or standard errors.
    """
    check_alpha(alpha)
    first, second = str(first), str(second)
    if first == second:
        raise ContrastError(f"expected two different items to compare, got {first!r} twice.")
    labels, scores, covariance = compared_scores(fit, judge, [first, second])
    eta = float(scores[0] - scores[1])
    error = float(np.sqrt(covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1]))
    half = stats.norm.ppf(1.0 - alpha / 2.0) * error
    z = eta / error
    own = fit.at.scores[:, fit.positions("mu", labels)]
    lower, middle, upper = probability(np.array([eta - half, eta, eta + half]))
    share = [np.nan, np.nan, np.nan]
    if isinstance(fit, PopulationFit):
        share = share_of_judges(fit, first, second, alpha)[["share", "ci_lower", "ci_upper"]].iloc[0].tolist()
    return HeadToHead(
        *(first, second, judge, float(middle), float(lower), float(upper), eta, error, z),
        p_value=float(2.0 * stats.norm.sf(abs(z))),
        alpha=alpha,
        ties=_verdicts(fit, eta, judge),
        n_for=int((own[:, 0] > own[:, 1]).sum()) if _have_own_order(fit) else -1,
        n_judges=len(own),
        share=share[0],
        share_lower=share[1],
        share_upper=share[2],
    )


def _have_own_order(fit: Fit) -> bool:
    """Whether judges can order items each in its own way; by sensitivities alone they all follow, or turn round, one order."""
    structure = fit.layout.structure
    is_one_order = structure.has_sensitivities and structure.rank == 0 and not isinstance(fit, PopulationFit)
    return structure.judges_differ and not is_one_order


def _verdicts(fit: Fit, eta: float, judge: str | None) -> dict[str, float]:
    """Chances of all verdicts at some log-odds where there are more than two; those of the consensus at the mean propensity."""
    response, quantities = fit.design.response, fit.quantities
    if not response.parameters:
        return {}
    own = []
    for kind in response.parameters:
        if kind.name in quantities.plain_names:
            own.append([quantities.value(kind.name)])
        else:
            judges = [judge] if judge is not None else fit.layout.judges_with(kind.name)
            place = [fit.layout.judges.index(name) for name in judges]
            own.append([float(np.mean([quantities.value(kind.name, (k,)) for k in place]))])
    chances_of, _, _ = verdict_slopes(response, np.array([eta]), np.array(own))
    return dict(zip(response.verdicts, chances_of[:, 0].tolist(), strict=True))
