"""What a user holds of scores that are anchored to a target's verdicts: how much they owe to whom, and whether to believe it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pandas as pd
from scipy import stats

from .data.arrays import check_type, numbers
from .data.comparisons import Comparisons
from .diagnostics.adjusted import holm
from .diagnostics.findings import Finding, Findings
from .diagnostics.gold import agreement, calibration_slope, family_bonus
from .errors import OptionError
from .export import SCHEMA, VERSION, checksum, comparisons_document
from .fitted import Fit
from .inference.anchor import Anchored, anchored
from .inference.anchored_fit import AnchoredFit
from .inference.auxiliary import SCORES, Scores, weighted_scores
from .inference.clusters import Clusters
from .inference.evidence import Sources
from .inference.rectified import Rectification
from .judges import JudgeQuestions
from .looks import Piece, Shown, Table
from .results import CHOICES, HJAResults
from .words import counted, quoted
from .writing import text_or_file

if TYPE_CHECKING:
    from .models import HJAModel
    from .show.report import Subject

# Level at which items and estimates are said to disagree, all of them together.
LEVEL = 0.05
# Share of the rectified variance that the anchored one must save for their difference to have an error.
_SAVED = 0.01


@dataclass(frozen=True, repr=False)
class Worth(Shown):
    """How many verdicts of the target alone would do as well.

    Attributes
    ----------
    labels : float
        Verdicts of the target.
    equivalent : float
        By the mean variance of differences of two items, without and with the others; not a number where those of the target alone
        leave some scores open.
    n_judges : int
        Others.
    """

    labels: float
    equivalent: float
    n_judges: int

    def _shown(self) -> list[Piece]:
        given = (
            f"{counted(self.labels, 'verdict')} of the target, with those of {counted(self.n_judges, 'other judge')},"
        )
        if np.isnan(self.equivalent):
            return [f"{given} rank all items, which those of the target alone cannot."]
        return [f"{given} are as good as {self.equivalent:,.0f} of the target alone."]


@dataclass(frozen=True, repr=False)
class Tracking(Shown):
    """Whether the other judges track the target.

    Attributes
    ----------
    correlation, ci_lower, ci_upper : float
        Of the true scores of target and others over the items.
    departure : float
        By how much they differ per item, in log-odds, beyond the errors.
    table : pandas.DataFrame
        Of each item: departure (the target's own score less what the others make one expect), std_err, z, p_adjusted (Holm).
    """

    correlation: float
    ci_lower: float
    ci_upper: float
    departure: float
    table: pd.DataFrame

    @property
    def items(self) -> list[str]:
        """Items about which they disagree beyond chance."""
        return list(self.table.index[self.table["p_adjusted"] < LEVEL])

    def _shown(self) -> list[Piece]:
        return [self.sentence]

    @property
    def sentence(self) -> str:
        """It in words."""
        about = f"they disagree beyond chance about {quoted(self.items, 5)}" if self.items else "no item stands out"
        return (
            f"Scores of the others correlate {self.correlation:.2f} with those of the target (95% interval {self.ci_lower:.2f} to "
            f"{self.ci_upper:.2f}) and differ by {self.departure:.2f} per item; {about}."
        )


@dataclass(frozen=True, repr=False)
class Rectified(Shown):
    """The rectified estimate beside the anchored one.

    Attributes
    ----------
    table : pandas.DataFrame
        Of each item: anchored, anchored_se, rectified, rectified_se, direct, direct_se, p_adjusted (that anchored and rectified
        scores are the same, Holm).
    power : pandas.Series
        Of each auxiliary score: 0 takes no notice of it.
    covariance : ndarray, shape (n_items, n_items)
        Of the rectified scores, items in the order of the data.
    gain : float
        Mean variance of differences of the direct scores over the rectified ones.
    """

    table: pd.DataFrame
    power: pd.Series
    covariance: np.ndarray
    gain: float

    @property
    def items(self) -> list[str]:
        """Items whose two estimates differ beyond chance."""
        return list(self.table.index[self.table["p_adjusted"] < LEVEL])

    @property
    def sentence(self) -> str:
        """Whether the two agree."""
        if self.items:
            return (
                f"The anchored and the rectified scores of {quoted(self.items, 5)} disagree beyond chance: judges see these items "
                "otherwise than one would expect of the target, so trust the rectified scores there."
            )
        return "The anchored and the rectified scores, which assume nothing of the others, agree."

    def _shown(self) -> list[Piece]:
        return [Table(self.table.drop(columns=["direct", "direct_se"])), self.sentence]


def _not_anchored(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError(
        "not available for anchored scores, which are no maximum of a likelihood of the target's verdicts alone: "
        "result.direct has the fit of these, result.others that of the other judges."
    )


class AnchoredResults(HJAResults):
    """Results of :func:`hjastats.anchor`: what the target thinks of the items, with the help of the others.

    Ranking, leaderboard, contrasts, pairwise differences, plans, figures and report are those of any result. ``others`` are the
    results of the other judges, ``judges`` questions about them.

    Examples
    --------
    >>> import hjastats as hja
    >>> result = hja.anchor(hja.datasets.load_panel(), "judge-2")
    >>> result
    anchored BTL: 400 verdicts of the target about 10 items
    model-I leads, then model-H, model-E; 1 warning (see .findings)
    scores of the target anchored to those of 7 other judges; .worth, .tracking, .ranking(), .rectified(), .gold()
    """

    _look = ".worth, .tracking, .ranking(), .rectified(), .gold()"
    fit: AnchoredFit

    def __init__(
        self,
        model: HJAModel,
        others: HJAResults,
        sources: Sources,
        options: Mapping[str, Any],
        data: Comparisons,
        is_target: np.ndarray,
    ) -> None:
        self.others, self.sources, self.options = others, sources, dict(options)
        self.data, self.is_target = data, is_target
        found = anchored(sources.evidence(self._auxiliary(sources.other)), seed=self.options["seed"])
        super().__init__(model, sources.direct.anchored(found, self._told(found)), self._chosen())

    def _auxiliary(self, fit: Fit) -> Scores:
        kind = self.options["auxiliary"]
        if isinstance(kind, Mapping):
            scores, rows = weighted_scores(fit, kind)
            return scores[None], rows
        return SCORES[kind if isinstance(kind, str) else "directions"](fit)

    def _told(self, found: Anchored) -> str:
        sparse = (
            " The target's verdicts alone leave some scores open: the quadratic of their likelihood at a ridge's mode counts."
            if self.sources.is_sparse
            else ""
        )
        return (
            f"Scores of the target anchored to those of {counted(len(self.others.model.judges), 'other judge')}. The standard "
            f"errors count that the slope on them and the departure from them are estimated.{sparse}"
        )

    def _chosen(self) -> pd.DataFrame:
        lines = [
            (
                "target",
                self.sources.direct.scored.name,
                self.sources.direct.scored.choice.description,
                self.sources.n_labels,
            ),
            ("others", self.others.fit.name, self.others.fit.choice.description, self.others.nobs),
        ]
        return pd.DataFrame(lines, columns=["what", *CHOICES]).set_index("what")

    def __dir__(self) -> list[str]:
        own = [name for name, member in vars(AnchoredResults).items() if not name.startswith("_")]
        refused = {name for name in own if vars(AnchoredResults)[name] is _not_anchored}
        return sorted({*super().__dir__(), *own, "others"} - refused - {"aic", "bic"})

    # Of no maximum.
    aic = bic = property(lambda self: np.nan)

    @property
    def anchor(self) -> Anchored:
        """The estimate as arrays."""
        return self.fit.anchor

    def _by_item(self, columns: dict[str, np.ndarray]) -> pd.DataFrame:
        table = pd.DataFrame(columns, pd.Index(self.model.items, name="item"))
        return table.iloc[self.fit.best_first[0]]

    @property
    def weights(self) -> pd.DataFrame:
        """How much of each score comes from the target's own verdicts, and how much from the others.

        Returns
        -------
        pandas.DataFrame
            Best item first: score, direct (from the target's verdicts alone), expected (from the others), weight (by how much the
            score moves with the direct one; 1 where the others have no say).

        Examples
        --------
        >>> import hjastats as hja
        >>> hja.anchor(hja.datasets.load_panel(), "judge-2").weights.head(2).round(2)
                 score  direct  expected  weight
        item
        model-I   1.68    1.73      1.59    0.86
        model-H   1.53    1.68      0.93    0.85
        """
        departure = self.anchor.departures[0]
        direct = self.sources.direct.scores
        columns = {"score": self.anchor.scores, "direct": direct, "expected": direct - departure}
        return self._by_item(columns | {"weight": self.anchor.weights})

    @property
    def slopes(self) -> pd.DataFrame:
        """By how much the target's scores move with each auxiliary score: of judges, the weights that track the target best.

        Examples
        --------
        >>> import hjastats as hja
        >>> data = hja.datasets.load_panel()
        >>> result = hja.anchor(data.subset(data.judge_index < 5), "judge-2", auxiliary="judges")
        >>> weights = dict(result.slopes["estimate"])
        >>> result.others.ranking(judge=weights).index[0]
        'model-I'
        """
        slope, covariance = self.anchor.slope
        table = {"estimate": slope, "std_err": np.sqrt(np.diag(covariance))}
        return pd.DataFrame(table, pd.Index(self._kinds(len(slope)), name="auxiliary"))

    def _kinds(self, p: int) -> list[str]:
        """Names of the auxiliary scores."""
        if self.options["auxiliary"] == "judges":
            return list(self.others.model.judges)
        return ["consensus", *(f"direction {r}" for r in range(1, p))]

    @property
    def worth(self) -> Worth:
        """How many verdicts of the target alone would be as good.

        Examples
        --------
        >>> import hjastats as hja
        >>> hja.anchor(hja.datasets.load_panel(), "judge-2").worth
        400 verdicts of the target, with those of 7 other judges, are as good as 429 of the target alone.
        """
        gain = np.nan if self.sources.is_sparse else self.anchor.gain
        n = self.sources.n_labels
        return Worth(n, n * gain, len(self.others.model.judges))

    @cached_property
    def tracking(self) -> Tracking:
        """Whether the others track the target, and where they do not.

        Examples
        --------
        >>> import hjastats as hja
        >>> print(hja.anchor(hja.datasets.load_panel(), "judge-2").tracking.items)
        ['model-E', 'model-C']
        """
        departure, covariance = self.anchor.departures
        error = np.sqrt(np.diag(covariance))
        z = departure / error
        table = self._by_item(
            {"departure": departure, "std_err": error, "z": z, "p_adjusted": holm(2.0 * stats.norm.sf(abs(z)))}
        )
        return Tracking(*self.anchor.correlation, self.anchor.departure, table)

    @cached_property
    def _rectification(self) -> Rectification:
        return self.sources.rectification(self._auxiliary(self.sources.other))

    def rectified(self) -> Rectified:
        """The prediction-powered estimate, which assumes nothing of the others, beside the anchored one.

        It takes the prompts of the target for a random sample of all. It gains little where verdicts on a prompt agree little.

        Raises
        ------
        OptionError
            Without prompts that both judged, and further ones of the others.

        Examples
        --------
        >>> from dataclasses import replace
        >>> import numpy as np
        >>> import hjastats as hja
        >>> panel = hja.datasets.load_panel()
        >>> panel = replace(panel, columns=panel.columns.assign(prompt=np.arange(panel.n_rows) // 4))
        >>> few = panel.subset((panel.judge_index != panel.judges.index("judge-2")) | (np.arange(panel.n_rows) < 1600))
        >>> hja.anchor(few, "judge-2").rectified().items        # of which the others think otherwise than judge-2
        ['model-E', 'model-C', 'model-J']
        """
        found, errors = self._rectification, self.sources.direct.errors
        own = np.diag(found.covariance)
        saved = own - np.diag(self.anchor.covariance)
        z = np.where(
            saved > _SAVED * own, (found.scores - self.anchor.scores) / np.sqrt(np.maximum(saved, 1e-300)), np.nan
        )
        table = self._by_item(
            {
                "anchored": self.anchor.scores,
                "anchored_se": np.sqrt(np.diag(self.anchor.covariance)),
                "rectified": found.scores,
                "rectified_se": np.sqrt(own),
                "direct": self.sources.direct.scores,
                "direct_se": np.sqrt(np.diag(errors)),
                "p_adjusted": holm(2.0 * stats.norm.sf(abs(z))),
            }
        )
        gain = float(np.trace(errors) / np.trace(found.covariance))
        return Rectified(
            table, pd.Series(found.power, self._kinds(len(found.power)), name="power"), found.covariance, gain
        )

    def gold(self, cost: Mapping[str, float] | None = None) -> pd.DataFrame:
        """Every other judge held against the target.

        Parameters
        ----------
        cost : mapping, optional
            Price of a verdict of each judge.

        Returns
        -------
        pandas.DataFrame
            Index judge: verdicts; shared, agreement and kappa (on what the target judged, too); correlation with its interval (of
            the true scores over the items); calibration (by what its log-odds must be multiplied to be the target's) with
            calibration_se; position and position_se; family and family_se (bonus for items of its own family, against the target,
            if judges and items have one); labels (verdicts of the target that it replaces by itself);
            price (of one such label: in verdicts, or in what these cost).

        Examples
        --------
        >>> import hjastats as hja
        >>> gold = hja.anchor(hja.datasets.load_panel(), "judge-2").gold()
        >>> gold.loc[["judge-3", "judge-5"], ["correlation", "calibration", "labels"]].round(1)
                 correlation  calibration  labels
        judge
        judge-3          0.9          1.8    34.9
        judge-5          0.2          0.2     5.2
        """
        # As many scores as verdicts of a judge allow, from the others' rows.
        alone = self.others.model.unrestricted().fit(warn_convergence=False)
        sources = self.sources.with_other(alone.fit, alone.model.observations)
        rows = [self._against(alone, sources, name) for name in alone.model.judges]
        table = pd.DataFrame(rows, pd.Index(alone.model.judges, name="judge"))
        prompts = Clusters.of_prompts(self.data, self.options["prompt"])
        if prompts is not None:
            table = agreement(self.data, self.is_target, prompts.code).reindex(table.index).join(table)
        if alone.position.size:
            table = table.join(alone.position[["estimate", "std_err"]].set_axis(["position", "position_se"], axis=1))
        check_type("cost", cost, (Mapping, type(None)), "a dict from judges to the price of a verdict")
        of_one = dict.fromkeys(table.index, 1.0) if cost is None else cost
        price = table["verdicts"] * numbers("cost", [of_one.get(name, np.nan) for name in table.index])
        return table.assign(price=(price / table["labels"]).where(table["labels"] >= 1.0))

    def _against(self, alone: HJAResults, sources: Sources, judge: str) -> dict[str, float]:
        """What a judge by itself is worth."""
        fit, k = alone.fit, alone.model.judges.index(judge)
        observed = self.model.observations
        verdicts = float(np.bincount(fit.design.judge, fit.design.n, len(alone.model.judges))[k])
        scores = fit.at.scores[k]
        log_odds = scores[observed.data.first_index] - scores[observed.data.second_index]
        slope, slope_error = calibration_slope(log_odds, observed.data.outcome, observed.data.weight)
        own, rows = weighted_scores(fit, {judge: 1.0})
        if fit.is_infinite[k].any() or not fit.covariance.is_finite:
            return {"verdicts": verdicts}
        found = anchored(sources.evidence((own[None], rows)), seed=self.options["seed"])
        middle, low, high = found.correlation
        labels = np.nan if self.sources.is_sparse else max(found.gain - 1.0, 0.0) * self.sources.n_labels
        return {
            "verdicts": verdicts,
            "correlation": middle,
            "corr_lower": low,
            "corr_upper": high,
            "calibration": slope,
            "calibration_se": slope_error,
            **self._family(judge, found),
            "labels": labels,
        }

    def _family(self, judge: str, found: Anchored) -> dict[str, float]:
        known = self.data.judge_metadata, self.data.item_metadata
        if any(frame is None or "family" not in frame for frame in known):
            return {}
        of_judges, of_items = (frame["family"] for frame in known if frame is not None)
        is_own = of_items.reindex(self.model.items).to_numpy() == of_judges[judge]
        bonus, error = family_bonus(-found.departures[0], found.departures[1], is_own)
        return {"family": bonus, "family_se": error}

    @property
    def judges(self) -> JudgeQuestions:
        """Questions about the other judges; see :class:`hjastats.judges.JudgeQuestions`."""
        return self.others.judges

    def _subject(self) -> Subject:
        return replace(super()._subject(), panel=(self.others.fit, self.others.model.observations))

    @cached_property
    def findings(self) -> Findings:
        """What to know before believing the scores: whether the others track the target, and what its verdicts look like."""
        own = [
            Finding("tracking", bool(self.tracking.items), self.tracking.sentence),
            Finding("worth", False, repr(self.worth)),
        ]
        try:
            rectified = self.rectified()
            own.append(Finding("rectified", bool(rectified.items), rectified.sentence))
        except OptionError as error:
            own.append(Finding("rectified", False, f"Not rectified: {error}"))
        about = {"connectivity", "dropped", "weights", "ties"}
        return Findings([*own, *(finding for finding in self.direct.findings if finding.topic in about)])

    @cached_property
    def direct(self) -> HJAResults:
        """Results of the target's verdicts alone, as one voice.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.anchor(hja.datasets.load_panel(), "judge-2")
        >>> round(result.direct.aic, 1), float(result.direct.bse.mean().round(2)), float(result.bse.mean().round(2))
        (388.2, 0.27, 0.26)
        """
        return HJAResults(self.model, self.sources.direct.fit)

    def to_json(self, path: str | Path | None = None) -> str | None:  # type: ignore[override]
        """Write the data and how they were anchored as JSON, for :func:`hjastats.load_results`, which anchors again."""
        if self.options["target"] is None:
            raise OptionError(
                "files keep targets that are judges: name them, instead of a mask of rows, to write this result."
            )
        document = {
            "schema": SCHEMA,
            "version": VERSION,
            "model": {"class": "AnchoredResults", **self.options},
            "data": comparisons_document(self.data),
            "estimate": {"scores": self.anchor.scores.tolist()},
        }
        return text_or_file(json.dumps(document | {"checksum": checksum(document)}, allow_nan=False), path)

    with_covariance = bootstrap = fragility = diagnose = info_criteria = rank_test = compare_lr_test = _not_anchored
    lr_test = score_test = drop_terms = _not_anchored
