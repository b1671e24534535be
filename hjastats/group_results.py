"""What a user holds of groups: boards side by side, whether they differ and where, and boards that borrow strength."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from . import limits
from .data.arrays import check_alpha, check_flag, check_option
from .data.groups import Grouping
from .diagnostics.adjusted import holm
from .errors import OptionError
from .fitted import Fit, Observations
from .inference.clusters import Clusters
from .inference.fluctuation import Fluctuation
from .inference.group_scores import GroupScores, deviations, seldom
from .inference.group_starts import freed_positions, freed_scores
from .inference.group_tests import LEVEL, OF_JUDGES, QUESTIONS, GroupTests
from .inference.ranks import ranking_table
from .inference.tastes import Tastes
from .looks import Piece, Shown, Table, Title, Warned
from .model.tangent import from_centred_basis
from .results import HJAResults
from .show.groups import GroupPlots
from .show.report.groups import groups_page, groups_section
from .words import LINE_WIDTH, and_more, counted, p_value, quoted, shortened_apart, told_p
from .writing import text_or_file

_NAMED = limits.NAMED_MOVERS


@dataclass(frozen=True)
class Member:
    """One group.

    Attributes
    ----------
    label : str
    result : HJAResults or None
        None where its verdicts determine nothing.
    n_comparisons : float
    note : str
        How it was fitted, where that is not as all groups are.
    held : tuple of ndarray or None
        Scores and covariance in contrasts, where judges are held to what they are in all groups.
    """

    label: str
    result: HJAResults | None
    n_comparisons: float
    note: str
    held: tuple[np.ndarray, np.ndarray] | None = None


@dataclass(frozen=True)
class Working:
    """The fit of all groups that tests start from: its rows, their groups, and what they hang together by.

    Attributes
    ----------
    fit : Fit
    observed : Observations
    group : ndarray of int, shape (n_rows,)
    clusters : Clusters
    name : str
        What clusters are: prompts, judges or verdicts.
    is_dispersed : bool
        Whether verdicts hang together, or are tied or soft, so that variances of the model do not hold.
    is_of_judges : bool
        Whether every judge is in one group only.
    """

    fit: Fit
    observed: Observations
    group: np.ndarray
    clusters: Clusters
    name: str
    is_dispersed: bool
    is_of_judges: bool = False

    @property
    def present(self) -> np.ndarray:
        """Groups numbered without those that have no rows."""
        return np.unique(self.group, return_inverse=True)[1]


@dataclass(frozen=True, repr=False)
class Spread(Shown):
    """How far the scores of an item differ between groups.

    Attributes
    ----------
    sd : float
        Standard deviation over groups, in log-odds, beyond the errors: the posterior mean.
    ci_lower, ci_upper : float
        95% interval.
    mode : float
        By restricted likelihood.
    """

    sd: float
    ci_lower: float
    ci_upper: float
    mode: float

    @property
    def told(self) -> str:
        """In words; that nothing can be said where numbers are withheld."""
        if np.isnan(self.sd):
            return "How far scores of an item differ between groups is not known: groups have too few verdicts, or prompts."
        return (
            f"Scores of an item differ between groups by a standard deviation of {self.sd:.2f} "
            f"(95% interval {self.ci_lower:.2f} to {self.ci_upper:.2f}), in log-odds, beyond the errors."
        )

    def _shown(self) -> list[Piece]:
        return [self.told]


class GroupBoards(Shown):
    """Results of :func:`hjastats.by_group`.

    ``places`` and ``scores`` have the boards side by side, ``board(group)`` one of them with intervals, also shrunk to the common
    one. ``tests`` says whether groups differ, ``item_tests``, ``judge_tests`` and ``differences`` say where. ``results`` are the
    fits, ``overall`` that of all groups.

    Examples
    --------
    >>> import numpy as np
    >>> import hjastats as hja
    >>> data = hja.datasets.load_panel()
    >>> found = hja.by_group(data, by=np.arange(data.n_rows) // 1600)
    >>> round(found.heterogeneity.sd, 2), round(found.heterogeneity.ci_upper, 2)
    (0.06, 0.17)
    >>> found.groups[["verdicts", "judges", "leader"]]
           verdicts  judges   leader
    group
    0        1600.0       8  model-I
    1        1600.0       8  model-I
    """

    def __init__(
        self,
        overall: HJAResults,
        working: Working,
        members: list[Member],
        grouping: Grouping,
        evidence: GroupScores,
        n_left_out: int,
        seed: int,
    ) -> None:
        self.overall, self.grouping, self.n_left_out = overall, grouping, n_left_out
        self._working, self._members, self._evidence = working, members, evidence
        self._seed = seed

    # Who is in it

    @property
    def labels(self) -> list[str]:
        """Names of the groups."""
        return [member.label for member in self._members]

    @property
    def results(self) -> dict[str, HJAResults]:
        """The fit of every group that has one."""
        return {member.label: member.result for member in self._members if member.result is not None}

    @cached_property
    def groups(self) -> pd.DataFrame:
        """Every group: verdicts, judges, items, prompts (if there are any), leader, model and note (how it was fitted)."""
        lines = []
        for member in self._members:
            result = member.result
            n_verdicts, n_prompts = self._sizes.get(member.label, (0.0, 0))
            line: dict[str, Any] = {"verdicts": n_verdicts, "judges": 0, "items": 0}
            if result is not None:
                data = result.model.comparisons
                line |= {"judges": data.n_judges, "items": data.n_items}
            if self._working.name == "prompts":
                line["prompts"] = n_prompts
            placed = self.places[member.label].dropna() if member.label in self.places else pd.Series(dtype=float)
            line["leader"] = "" if placed.empty else str(placed.idxmin())
            line["model"] = "" if result is None else result.fit.layout.structure.name
            line["note"] = member.note
            lines.append(line)
        return pd.DataFrame(lines, pd.Index(self.labels, name="group"))

    @cached_property
    def _sizes(self) -> dict[str, tuple[float, int]]:
        """Verdicts and prompts of every group that is among those that are ranked."""
        working, weight = self._working, self._working.observed.data.weight
        return {
            self.labels[g]: (float(weight[is_in].sum()), len(np.unique(working.clusters.code[is_in])))
            for g in self._present
            for is_in in [working.group == g]
        }

    @cached_property
    def _present(self) -> np.ndarray:
        """Groups that have rows among those that are ranked."""
        return np.unique(self._working.group)

    @property
    def items(self) -> tuple[str, ...]:
        """Items that are ranked, sorted by name."""
        return self.overall.model.items

    # Boards

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Scores by item and group, best of all first; those of a group by itself, not shrunk.

        They are on the scale of all judges: of a group whose judges are more sensitive than all are on average, scores are smaller
        by as much.
        """
        table = {"all": pd.Series(self.overall.fit.parts.mu, self.items)}
        for member in self._members:
            if member.result is not None:
                board = self._direct(member)
                table[member.label] = pd.Series(board[1], board[0])
        frame = pd.DataFrame(table).reindex(self.items).rename_axis("item")
        return frame.sort_values("all", ascending=False, kind="stable")

    @cached_property
    def places(self) -> pd.DataFrame:
        """Places by item and group, best of all first."""
        ranks = self.scores.rank(ascending=False, method="first")
        return ranks.astype("Int64") if ranks.isna().any(axis=None) else ranks.astype(int)

    @cached_property
    def shrunken(self) -> pd.DataFrame:
        """Scores by item and group, shrunk to the common board ("all") as far as groups are alike and verdicts few."""
        found = self._evidence.shrunken
        table = {"all": from_centred_basis(found.mean[None])[0]}
        boards = from_centred_basis(found.scores)
        table |= {self.labels[g]: boards[i] for i, g in enumerate(self._present)}
        frame = pd.DataFrame(table, pd.Index(self.items, name="item"))
        return frame.sort_values("all", ascending=False, kind="stable")

    def board(self, group: str, *, shrunken: bool = False, level: float = 0.95) -> pd.DataFrame:
        """Places with intervals of one group, as :meth:`HJAResults.ranking` has them.

        Parameters
        ----------
        group : str
            Or "all", which is the common board if ``shrunken``.
        shrunken : bool
            Borrow strength from the other groups.

        Examples
        --------
        >>> import numpy as np
        >>> import hjastats as hja
        >>> data = hja.datasets.load_panel()
        >>> found = hja.by_group(data, by=np.where(np.arange(data.n_rows) < 200, "few", "many"))
        >>> found.board("few").loc["model-I", ["place_lower", "place_upper"]].tolist()
        [1, 6]
        >>> found.board("few", shrunken=True).loc["model-I", ["place_lower", "place_upper"]].tolist()
        [1, 3]
        """
        known = ["all", *self.labels]
        if not isinstance(group, str) or group not in known:
            raise OptionError(f"no group is called {group!r}; there are {quoted(known, 12)}.")
        check_flag("shrunken", shrunken)
        check_alpha(level, "level")
        if shrunken:
            found, place = self._evidence.shrunken, [*self._present].index
            if group == "all":
                mean, covariance = found.mean, found.covariance
            else:
                at = place(self.labels.index(group))
                mean, covariance = found.scores[at], found.errors[at]
            return ranking_table(self.items, from_centred_basis(mean[None])[0], _of_items(covariance), level=level)
        if group == "all":
            return self.overall.ranking(level=level)
        member = self._members[self.labels.index(group)]
        if member.result is None:
            raise OptionError(f"group {group!r} has no board of its own: {member.note}")
        return ranking_table(*self._direct(member), level=level)

    def _direct(self, member: Member) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
        """Items, scores and covariance of a group by itself."""
        assert member.result is not None
        at = [*self._present].index(self.labels.index(member.label))
        if self._evidence.is_own[at]:
            errors = _of_items(self._evidence.errors[at])
            return self.items, from_centred_basis(self._evidence.direct[[at]])[0], errors
        fit = member.result.fit
        if member.held is not None:
            scores, covariance = member.held
            some = [self.items.index(item) for item in fit.layout.items]
            centre = np.eye(len(some)) - 1.0 / len(some)
            board, errors = from_centred_basis(scores[None])[0][some], _of_items(covariance)[np.ix_(some, some)]
            return fit.layout.items, centre @ board, centre @ errors @ centre
        return fit.layout.items, fit.parts.mu, fit.covariance.of(fit.consensus_rows(np.eye(len(fit.layout.items))))

    # Whether they differ

    @cached_property
    def _own_positions(self) -> Fluctuation:
        working = self._working
        return freed_positions(working.fit, working.observed, working.present, working.clusters)

    @cached_property
    def _tests(self) -> GroupTests:
        working, group = self._working, self._working.present
        # What verdicts of a judge have in common is the judge's own scores here.
        is_by_judge = working.name == "judges"
        rows = Clusters(np.arange(len(group)), len(group)) if is_by_judge else working.clusters
        tastes = Tastes.of(working.fit, working.observed, group, rows)
        rare = seldom(working.observed, group)
        own_scores = freed_scores(working.fit, working.observed, group, working.clusters)
        return GroupTests(self._own_positions, own_scores, self.grouping.is_ordered, rare, self._seed, tastes)

    @cached_property
    def tests(self) -> pd.DataFrame:
        """Tests that groups are alike: statistic, df, p_value; of ordered groups a trend, too."""
        return self._tests.joint()

    @cached_property
    def item_tests(self) -> pd.DataFrame:
        """Tests that the score of each item is the same in all groups, the smallest p-value first (``p_holm`` is adjusted)."""
        return _adjusted(self._tests.items())

    @cached_property
    def judge_tests(self) -> pd.DataFrame:
        """Tests that sensitivity, position effect and taste of each judge are the same in all groups, the smallest p-value first.

        Sensitivities are relative to the other judges of a group, tastes to what all judges of it prefer. ``loadings`` are tastes
        along the directions of disagreement that the model has. ``p_holm`` is adjusted for all judges and kinds.
        """
        kinds = {kind: self._tests.judges(kind) for kind in OF_JUDGES}
        tables = [table.assign(kind=kind).reset_index() for kind, table in kinds.items() if len(table)]
        if not tables:
            return pd.DataFrame(columns=["judge", "kind", "statistic", "df", "p_value", "p_holm"])
        table = pd.concat(tables, ignore_index=True)
        return _adjusted(table[["judge", "kind", *table.columns.difference(["judge", "kind"], sort=False)]])

    @cached_property
    def differences(self) -> pd.DataFrame:
        """By how much every item differs in a group from all other groups, the clearest first: who moves where.

        Returns
        -------
        pandas.DataFrame
            Columns item, group, place_all, place, difference (in log-odds), std_err, t, df, p_value and p_holm.
        """
        working = self._working
        found = deviations(self._own_positions, working.observed, working.present, is_dispersed=working.is_dispersed)
        n_groups, n_items = found.estimate.shape
        names = [self.labels[g] for g in self._present]
        table = pd.DataFrame(
            {"item": np.tile(self._working.fit.layout.items, n_groups), "group": np.repeat(names, n_items)}
        )
        places = self.places.reindex(self._working.fit.layout.items)
        table["place_all"] = np.tile(places["all"].to_numpy(), n_groups)
        table["place"] = places.reindex(columns=names).to_numpy(dtype=float, na_value=np.nan).T.ravel()
        table["difference"], table["std_err"] = found.estimate.ravel(), found.std_err.ravel()
        table["t"] = table["difference"] / table["std_err"]
        table["df"] = found.df.ravel()
        table["p_value"] = 2.0 * stats.t.sf(table["t"].abs(), table["df"])
        # Of two groups one is the mirror of the other.
        some = slice(None) if n_groups > 2 else slice(0, n_items)
        adjusted = holm(table["p_value"].to_numpy()[some])
        table["p_holm"] = np.tile(adjusted, 1 if n_groups > 2 else n_groups)
        return table.sort_values("p_value", kind="stable").reset_index(drop=True)

    @property
    def moved(self) -> pd.DataFrame:
        """The differences that are beyond chance, all of them together."""
        return self.differences[self.differences["p_holm"] < LEVEL]

    @cached_property
    def heterogeneity(self) -> Spread:
        """How far the scores of an item differ between groups beyond the errors; not a number where that is not known."""
        found = self._evidence.shrunken
        if len(self._present) < 2 or not found.is_known or self._are_single:
            return Spread(*[np.nan] * 4)
        return Spread(found.sd, *found.interval(), found.mode)

    def judge_effects(self, kind: str) -> pd.DataFrame:
        """Estimates of "gamma" or "position" of every judge in every group.

        Returns
        -------
        pandas.DataFrame
            Columns judge, group, estimate, std_err.
        """
        check_option("kind", kind, ("gamma", "position"))
        tables = []
        for label, result in self.results.items():
            if kind in result.fit.layout.slices:
                table = result.estimates(kind)[["estimate", "std_err"]].rename_axis("judge").reset_index()
                tables.append(table.assign(group=label))
        if not tables:
            raise OptionError(f"the model has no {kind} of judges.")
        return pd.concat(tables, ignore_index=True)[["judge", "group", "estimate", "std_err"]]

    def taste_changes(self, judge: str) -> pd.DataFrame:
        """What a judge prefers in a group more, or less, than it does in all groups, beyond the consensus; the clearest first.

        Parameters
        ----------
        judge : str
            One that has a test of its taste in ``judge_tests``.

        Returns
        -------
        pandas.DataFrame
            Columns item, group, change (in log-odds, one step), std_err (from prompts, if there are any), z, p_value and p_holm.

        Examples
        --------
        >>> import numpy as np
        >>> import hjastats as hja
        >>> data = hja.datasets.load_panel()
        >>> found = hja.by_group(data, by=np.arange(data.n_rows) // 1600)
        >>> bool(found.taste_changes("judge-1")["p_holm"].min() > 0.05)
        True
        """
        tastes = self._tests.tastes
        known = [] if tastes is None else [self._working.fit.layout.judges[k] for k in tastes.judges]
        made = (
            tastes.changes(known.index(judge))
            if tastes is not None and isinstance(judge, str) and judge in known
            else None
        )
        if made is None:
            tested = list(self._tests.judges("taste").index)
            raise OptionError(f"the taste of {judge!r} is not tested; that of {quoted(tested, 12) or 'nobody'} is.")
        items, names = self._working.fit.layout.items, [self.labels[g] for g in self._present]
        table = pd.DataFrame({"item": np.tile(items, len(names)), "group": np.repeat(names, len(items))})
        table["change"], table["std_err"] = (values.ravel() for values in made)
        table["z"] = table["change"] / table["std_err"]
        table["p_value"] = 2.0 * stats.norm.sf(table["z"].abs())
        # Of two groups one is the mirror of the other.
        n_apart = len(items) if len(names) == 2 else len(table)
        table["p_holm"] = np.resize(holm(table["p_value"].to_numpy()[:n_apart]), len(table))
        return table.sort_values("p_value", kind="stable").reset_index(drop=True)

    # In words

    @cached_property
    def findings(self) -> list[str]:
        """What was found, in sentences."""
        return [text for _, text in self._found_in_words]

    @cached_property
    def _found_in_words(self) -> list[tuple[bool, str]]:
        told = [self._about_consensus(), *self._about_trends(), *self._about_untested()]
        told += [*self._about_judges(), *self._about_boards(), *self._about_scope()]
        if "items" in self.overall.choices.index:
            told.append(
                (True, f"Of all items {self.overall.choices['chosen']['items']} are ranked: see .overall.choices.")
            )
        if self.n_left_out:
            told.append(
                (False, f"{counted(self.n_left_out, 'verdict')} without a group {_are(self.n_left_out)} left out.")
            )
        if self.grouping.told:
            told.append((False, f"{self.grouping.told[0].upper()}{self.grouping.told[1:]}."))
        return told

    def _about_consensus(self) -> tuple[bool, str]:
        if "consensus" not in self.tests.index and (len(self.items) - 1) * len(self._present) > limits.STACKED:
            return (
                False,
                f"There are too many items and groups to test whether scores differ: {limits.STACKED:,} are the most.",
            )
        if "consensus" not in self.tests.index:
            return False, "Nothing can be said of whether groups differ: they have no items and judges in common."
        p, moved = float(self.tests["p_value"]["consensus"]), self.moved
        told = f"{told_p(p)}, {_by(self._working.name, self._working.clusters.n)}"
        differs = (
            f"Groups differ in their scores ({told})"
            if p < LEVEL
            else f"Scores taken together are not seen to differ between groups ({told})"
        )
        if self._is_scale_alone:
            return True, f"{differs}, and are seen to do so in their scale alone {self._scales_told}."
        if len(moved):
            # Of two groups one is the mirror of the other.
            named = moved.drop_duplicates("item") if len(self._present) == 2 else moved
            clearest = and_more([self._in_group(row) for _, row in named.head(_NAMED).iterrows()], _NAMED)
            if p < LEVEL:
                return True, f"{differs}. The clearest, relative to the mean of the items: {clearest}."
            return True, f"{differs}, but one by one do {clearest}."
        tests = self.item_tests[self.item_tests["p_holm"] < LEVEL]
        if p >= LEVEL and tests.empty:
            return False, f"Groups are not seen to differ in their scores ({told})."
        if self.item_tests["p_value"].isna().all():
            return True, f"{differs}, but no item can be tested by itself."
        if tests.empty:
            return True, f"{differs}, but no single item in one group does so clearly."
        changing = and_more([f"{item!r} ({told_p(own)})" for item, own in tests["p_holm"].items()], _NAMED)
        nearest = self.differences.iloc[0]
        return (
            True,
            f"{differs}. {'But not' if p >= LEVEL else 'Not'} the same in all groups, each tested by itself: {changing}. In a "
            f"single group none differs clearly; nearest, relative to the mean of the items: {self._in_group(nearest)}, "
            f"{told_p(nearest['p_holm'])} after adjustment.",
        )

    @property
    def _is_scale_alone(self) -> bool:
        """Whether groups are seen to differ in how decided their verdicts are, and in nothing else about the items."""
        p = self.tests["p_value"]
        is_tested = {"consensus", "scale", "proportionality"} <= {*p.index}
        return is_tested and bool(max(p["consensus"], p["scale"]) < LEVEL <= p["proportionality"])

    @property
    def _scales_told(self) -> str:
        """How strongly groups follow the scores of all, the most and the least of them."""
        scores = self.scores.drop(columns="all")
        mu = scores.notna().mul(self.scores["all"], axis=0).where(scores.notna())
        mu = mu - mu.mean()
        strength = ((scores * mu).sum() / (mu**2).sum()).sort_values()
        p = self.tests["p_value"]
        least = f"{strength.iloc[0]:.2f} times in {strength.index[0]}"
        if strength.iloc[0] < 0.0:
            least = f"the other way round in {strength.index[0]} ({strength.iloc[0]:.2f} times)"
        return (
            f"({told_p(float(p['scale']))}; but for it {told_p(float(p['proportionality']))}): one order of the items, followed "
            f"{strength.iloc[-1]:.2f} times as strongly as in all groups in {strength.index[-1]}, {least}"
        )

    @property
    def _are_single(self) -> bool:
        """Whether every group is a single cluster."""
        return len(self._single) == len(self._present)

    @cached_property
    def _single(self) -> list[str]:
        """Groups that are a single cluster, of verdicts that no other group shares with them."""
        working = self._working
        pairs = np.unique(np.column_stack([working.present, working.clusters.code]), axis=0)
        if not working.clusters.has_repeats or len(pairs) > working.clusters.n:
            return []
        alone = np.bincount(pairs[:, 0], minlength=len(self._present)) == 1
        return [self.labels[g] for g in self._present[alone]]

    def _about_scope(self) -> list[tuple[bool, str]]:
        """Whom or what tests are about, where groups are of judges, or single prompts."""
        working = self._working
        if self._are_single:
            one = working.name.removesuffix("s")
            return [(True, f"Every group is a single {one}: what differs between groups cannot be told from it.")]
        if self._single:
            one = working.name.removesuffix("s")
            told = f"A single {one} does not say how others are: {and_more(self._single, _NAMED)} cannot be told to differ."
            return [(True, told)]
        if not working.is_of_judges:
            return []
        n = counted(len(working.fit.layout.judges), "judge")
        told = "Every judge is in one group"
        if self.overall.fit.layout.structure.judges_differ:
            told += ", so that scores are compared as if all judges were equally sensitive to them"
        about = "judges like these" if working.name == "judges" else f"these {n}, not about others like them"
        return [(False, f"{told}; p-values are about {about}.")]

    def _in_group(self, row: pd.Series) -> str:
        """A row of ``differences`` in words."""
        return f"{row['item']!r} in {row['group']} ({row['difference']:+.2f}{_place(row['place'], row['place_all'])})"

    def _about_trends(self) -> list[tuple[bool, str]]:
        if (
            "trend_p_holm" not in self.item_tests
            or self.item_tests["trend_p_holm"].isna().all()
            or self._is_scale_alone
        ):
            return []
        rows = self.item_tests[self.item_tests["trend_p_holm"] < LEVEL]
        rows = rows.sort_values(["trend_p_value", "trend_statistic"], ascending=[True, False])
        if rows.empty:
            return [(False, "No item is seen to rise or fall from the first group to the last.")]
        first, last = self.labels[self._present[0]], self.labels[self._present[-1]]
        slopes = rows["trend_slope"]
        ways = [
            f"{'that' if len(some) == 1 else 'those'} of {quoted(some, _NAMED)} {verb if len(some) > 1 else verb + 's'}"
            for verb, some in (("rise", rows.index[slopes > 0]), ("fall", rows.index[slopes <= 0]))
            if len(some)
        ]
        return [(True, f"Scores from {first} to {last}: {', '.join(ways)}.")]

    def _about_untested(self) -> list[tuple[bool, str]]:
        """Items that too few groups have for a test of their own."""
        table = self.item_tests
        items = [] if table.empty else sorted(table.index[table["p_value"].isna()])
        if not items or "consensus" not in self.tests.index:
            return []
        return [
            (
                False,
                f"No test of {and_more([repr(item) for item in items], _NAMED)} by itself: that takes two groups with "
                f"{limits.FEW_SHARED} verdicts on the item, and as many on another item that all groups with the item have.",
            )
        ]

    def _about_judges(self) -> list[tuple[bool, str]]:
        table = self.judge_tests
        if table.empty or table["p_value"].isna().all():
            return []
        return [*self._about_single_judges(table), *self._about_position()]

    def _about_position(self) -> list[tuple[bool, str]]:
        """A position effect that all judges have in common, and what the model of all groups lacks to be tested of judges."""
        model = self.overall.model
        told: list[tuple[bool, str]] = []
        p = self.tests["p_value"]
        if model.position == "common" and "position" in p.index:
            if p["position"] < LEVEL:
                told = [
                    (
                        True,
                        f"The position effect of all judges differs between groups ({told_p(float(p['position']))}).",
                    )
                ]
            else:
                told = [
                    (
                        False,
                        f"The position effect of all judges is not seen to differ ({told_p(float(p['position']))}).",
                    )
                ]
        if len(model.judges) < 2 or self._working.is_of_judges:
            return told
        missing = {"sensitivities": "model='ja'"} if not self._working.fit.layout.structure.judges_differ else {}
        missing |= {"position effects": "position='judge'"} if model.position == "common" else {}
        if missing:
            how = ", ".join(missing.values())
            told.append((False, f"Not tested of single judges: {' and '.join(missing)}; by_group(..., {how}) does."))
        return told

    def _about_single_judges(self, table: pd.DataFrame) -> list[tuple[bool, str]]:
        changed = table[table["p_holm"] < LEVEL]
        if changed.empty:
            words = {"sensitivity": "sensitivity", "position": "position effect", "taste": "taste"}
            tested = set(table.loc[table["p_value"].notna(), "kind"])
            joint = [kind for kind in words if kind in tested and kind in self.tests.index]
            rejected = {kind: p for kind in joint if (p := float(self.tests["p_value"][kind])) < LEVEL}
            if rejected:
                plural = {"sensitivity": "sensitivities", "position": "position effects", "taste": "tastes"}
                what = " and ".join(f"{plural[kind]} ({told_p(p)})" for kind, p in rejected.items())
                near = table[table["kind"].isin(rejected)].iloc[0]
                return [
                    (
                        True,
                        f"Taken together the {what} of judges differ between groups, but those of no single judge do so after "
                        f"adjustment; nearest: {near['kind']} of {near['judge']!r} ({told_p(near['p_holm'])}).",
                    )
                ]
            *begin, last = [told for kind, told in words.items() if kind in tested]
            what = f"{', '.join(begin)} or {last}" if begin else last
            return [(False, f"No judge is seen to change its {what} between groups.")]
        lines = zip(changed["kind"], changed["judge"], changed["p_holm"], strict=True)
        named = [f"{kind} of {judge!r} ({self._change_of(judge, kind)}{told_p(p)})" for kind, judge, p in lines]
        return [(True, f"Judges that are not the same in all groups: {and_more(named, _NAMED)}.")]

    def _change_of(self, judge: str, kind: str) -> str:
        """From what to what a number of a judge changed, between the groups that are furthest apart."""
        name = {"sensitivity": "gamma"}.get(kind, kind)
        if name not in ("gamma", "position"):
            return ""
        try:
            table = self.judge_effects(name)
        except OptionError:
            return ""
        own = table[(table["judge"] == judge) & np.isfinite(table["std_err"])]
        if len(own) < 2:
            return ""
        # The smallest and the largest, in the order of the groups.
        extremes = own.iloc[np.sort(own["estimate"].to_numpy().argsort(kind="stable")[[0, -1]])]
        (start, begin), (end, last) = extremes[["group", "estimate"]].itertuples(index=False)
        return f"{begin:.2f} in {start}, {last:.2f} in {end}; "

    def _about_boards(self) -> list[tuple[bool, str]]:
        """Of boards whose judges are taken from all groups, where judges differ between groups."""
        held = [member.label for member in self._members if member.held is not None]
        words = {"sensitivity": "sensitivities", "position": "position effects", "taste": "tastes"}
        apart = [words[kind] for kind in words if kind in self.tests.index and self.tests["p_value"][kind] < LEVEL]
        if not held or not apart:
            return []
        board, take, its = ("Boards", "take", "their") if len(held) > 1 else ("The board", "takes", "its")
        return [
            (
                True,
                f"{board} of {and_more(held, _NAMED)} {take} judges as in all groups, although {' and '.join(apart)} differ: what "
                f"differs there is in {its} scores.",
            )
        ]

    def _shown(self) -> list[Piece]:
        n = len(self.labels)
        title = f"{counted(len(self.items), 'item')} in {counted(n, 'group')} by {self.grouping.by!r}"
        pieces: list[Piece] = [Title(title), self._model_told, self._table_of_places()]
        if n > limits.PRINTED_GROUPS:
            pieces.append(f"{counted(n - limits.PRINTED_GROUPS, 'further group')} in .places and .groups.")
        if len(self.tests):
            pieces += [Title("Are the groups alike?"), self._table_of_tests()]
        pieces += self.heterogeneity._shown()
        pieces += [Warned(text) if warns else text for warns, text in self._found_in_words]
        notes: dict[str, list[str]] = {}
        for member in self._members:
            if member.note:
                notes.setdefault(member.note, []).append(member.label)
        pieces += [f"{and_more(some, _NAMED)}: {note.rstrip('.')}." for note, some in notes.items()]
        return [*pieces, ".board(group), .shrunken, .differences, .item_tests, .judge_tests, .plot, .report()"]

    @property
    def _model_told(self) -> str:
        by = counted(len(self.overall.model.judges), "judge")
        return f"{self.overall.fit.name} for all groups; {self.overall.nobs:,.0f} verdicts by {by}"

    def _table_of_places(self) -> Table:
        moved = {(row.item, row.group) for row in self.moved.itertuples()}
        columns = list(self.places.columns)[: limits.PRINTED_GROUPS + 1]
        frame = self.places[columns].head(limits.PRINTED_ITEMS).astype(object)
        for column in columns[1:]:
            frame[column] = [
                "-" if pd.isna(place) else f"{place}*" if (item, column) in moved else f"{place}"
                for item, place in frame[column].items()
            ]
        frame.index = pd.Index(shortened_apart(list(frame.index), limits.ITEM_LETTERS), name="place (* differs)")
        room = LINE_WIDTH - max(len(str(name)) for name in [frame.index.name, *frame.index])
        widths = [width for width in range(4, LINE_WIDTH) if sum(min(len(name), width) + 1 for name in columns) <= room]
        frame.columns = _short(columns, max(widths, default=4))
        return Table(frame)

    def _table_of_tests(self) -> Table:
        frame = self.tests.copy()
        frame["df"] = frame["df"].astype(int)
        frame.index = pd.Index([QUESTIONS[name] for name in frame.index], name="same in all groups")
        shown = frame[["statistic", "df", "p_value", *(["trend_p_value"] if "trend_p_value" in frame else [])]]
        return Table(
            shown.rename(columns={"trend_p_value": "trend p"}),
            {"p_value": p_value, "trend p": p_value},
            "{:.1f}".format,
        )

    # Elsewhere

    @property
    def plot(self) -> GroupPlots:
        """Figures of groups."""
        return GroupPlots(
            self.places, self.differences, self.judge_effects, self.judge_tests, self.taste_changes, self.grouping.by
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as numbers and text, for JSON."""
        return {
            "by": self.grouping.by,
            "is_ordered": self.grouping.is_ordered,
            "model": self.overall.fit.name,
            "clusters": {"what": self._working.name, "number": self._working.clusters.n},
            "choices": _records(self.overall.choices, "what"),
            "groups": _records(self.groups, "group"),
            "places": _records(self.places, "item"),
            "scores": _records(self.scores, "item"),
            "shrunken": _records(self.shrunken, "item"),
            "heterogeneity": {
                "sd": _plain(self.heterogeneity.sd),
                "ci_lower": _plain(self.heterogeneity.ci_lower),
                "ci_upper": _plain(self.heterogeneity.ci_upper),
                "told": self.heterogeneity.told,
            },
            "tests": _records(self.tests, "question"),
            "items": _records(self.item_tests, "item"),
            "judges": _records(self.judge_tests, None),
            "differences": _records(self.differences, None),
            "findings": self.findings,
            "warns": [warns for warns, _ in self._found_in_words],
            "level": LEVEL,
        }

    def to_json(self, path: str | Path | None = None) -> str | None:
        """All of it as JSON: a text, or a file if a path is given."""
        return text_or_file(json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n", path)

    def report(self, path: str | Path | None = None, title: str | None = None) -> str | None:
        """One self-contained HTML page: boards in tabs, tests, differences, figures.

        Parameters
        ----------
        path : str or Path, optional
            Where to write it; without, the page is returned.
        title : str, optional
        """
        return text_or_file(groups_page(*self._for_pages, title), path)

    def section(self) -> str:
        """What is on that page as HTML that can stand in any other; it needs no script."""
        return groups_section(*self._for_pages)

    @property
    def _for_pages(self) -> tuple[dict[str, Any], dict[str, pd.DataFrame], dict[str, pd.DataFrame], GroupPlots]:
        boards = {label: self.board(label) for label in ["all", *self.results]}
        shrunk = {self.labels[g]: self.board(self.labels[g], shrunken=True) for g in self._present}
        return self.to_dict(), boards, shrunk, self.plot


def _short(labels: list[str], width: int) -> list[str]:
    """Beginnings of labels, if these tell them apart.

    Examples
    --------
    >>> _short(["writing", "math"], 5), _short(["2024-01", "2024-02"], 6)
    (['writi', 'math'], ['01', '02'])
    """
    begun = [label[:width] for label in labels]
    if len(set(begun)) == len(labels):
        return begun
    # Dates of one year, and the like.
    own = [label for label in labels if label != "all"]
    alike = next((i for i, letters in enumerate(zip(*own, strict=False)) if len(set(letters)) > 1), 0)
    shared = re.sub(r"\w*$", "", own[0][:alike])
    rest = [label if label == "all" else label.removeprefix(shared) for label in labels]
    return rest if max(map(len, rest)) <= width else shortened_apart(labels, width)


def _place(own: float, of_all: float) -> str:
    return "" if own == of_all or np.isnan(own) else f", place {own:.0f} instead of {of_all:.0f}"


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _by(name: str, n: int) -> str:
    return f"by {counted(n, name.removesuffix('s'))}"


def _of_items(covariance: np.ndarray) -> np.ndarray:
    return from_centred_basis(from_centred_basis(covariance).T)


def _adjusted(table: pd.DataFrame) -> pd.DataFrame:
    """With p-values adjusted by Holm, the smallest first."""
    for prefix in ("", "trend_"):
        if f"{prefix}p_value" in table:
            place = list(table.columns).index(f"{prefix}p_value") + 1
            table.insert(place, f"{prefix}p_holm", holm(table[f"{prefix}p_value"].to_numpy(float)))
    # Where no draw was as extreme, p-values are alike.
    return table.sort_values(["p_value", "statistic"], ascending=[True, False]) if "p_value" in table else table


def _records(frame: pd.DataFrame, name: str | None) -> list[dict[str, Any]]:
    """Rows as dicts of plain numbers and text; missing ones are None."""
    whole = frame if name is None else frame.rename_axis(name).reset_index()
    return [{str(key): _plain(value) for key, value in row.items()} for row in whole.to_dict("records")]


def _plain(value: Any) -> Any:
    if value is None or value is pd.NA or (isinstance(value, float | np.floating) and not np.isfinite(value)):
        return None
    return value.item() if isinstance(value, np.generic) else value
