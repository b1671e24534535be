"""Judges as a sample at the front door: whether they can be one, and which position effects and directions their population has."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .. import limits
from ..data.comparisons import Comparisons
from ..data.grades import number_of_grades
from ..diagnostics.tie_rates import tie_rates
from ..model.responses import RESPONSES
from ..models import HJAModel, PopulationHJAModel
from ..results import HJAResults
from ..selection import BTL
from ..words import percent, quoted
from .asked import AUTO, SAMPLE, Asked, Chosen
from .graded import say_grades
from .search import Candidate, Search

# Nodes for each effect of the candidates: their errors are alike, and differences of BIC exact to some tenths. What is chosen is
# fitted with all nodes.
NODES = 3
# Gain of a direction in BIC below which no further one is tried, since each gains less likelihood than the one before.
CLEAR = 10.0
# Standard deviation, in log-odds, beyond which judges of a population never contradict themselves: it is on its way to infinity.
RUNAWAY = 10.0


def why_no_sample(data: Comparisons, asked: Asked) -> str:
    """Why the judges are not taken to be a sample, in words; empty if they can be."""
    if asked.traits:
        return "judges who are a sample have free scores of all items"
    if data.n_judges < limits.SMALL_SAMPLE:
        return "too few judges for a sample"
    if data.n_rows > limits.SAMPLED_ROWS:
        return f"more than {limits.SAMPLED_ROWS:,} rows take long as those of a sample"
    is_graded = asked.ties == AUTO and number_of_grades(data.outcome) > 3
    if asked.judges == AUTO and is_graded and data.n_rows > limits.SAMPLED_GRADED_ROWS:
        return (
            f"more than {limits.SAMPLED_GRADED_ROWS:,} graded rows take minutes as those of a sample (judges='sample')"
        )
    if data.cluster is not None:
        return f"in a sample, what was judged together (by {str(data.cluster)!r}) would pass for taste"
    others = {
        "model": asked.model is not None,
        "ridge": asked.ridge not in (AUTO, None),
        "cov_type": asked.cov_type in ("HC0", "HC1"),
        "criterion": asked.criterion == "loglik-bootstrap",
        "ties": asked.ties != AUTO and RESPONSES[asked.ties].bend is None,
        "tie": asked.tie == "judge" and not RESPONSES[asked.ties].is_natural,
    }
    if taken := [name for name, is_taken in others.items() if is_taken]:
        return f"the {quoted(taken)} asked for is none of a sample"
    if len(data.connectivity.winning_groups) > 1:
        return "a sample needs every item to win and to lose"
    if np.bincount(data.judge_index, data.weight, data.n_judges).max() <= 1.0:
        return "judges with one verdict each do not show how they differ"
    return ""


class SampleSearch(Search):
    """Populations that the judges may be drawn from, and BTL, in which they are alike; BIC counts judges."""

    def __init__(self, data: Comparisons, asked: Asked, step: Callable[[str], None]) -> None:
        self.n_grades = number_of_grades(data.outcome) if asked.ties == AUTO else 0
        ties = asked.ties if asked.ties != AUTO else "ordinal" if self.n_grades > 3 else "half"
        super().__init__(data, asked, {"ties": ties, "tie": "common" if asked.tie == AUTO else asked.tie}, step)

    def best(self, chosen: Chosen) -> HJAResults:
        """The best population, fitted with all nodes; the next best where its estimate does not exist with all of them."""
        self._fit_all()
        result = self._full(best := self._smallest())
        while not result.converged and len(self.fits) > 1:
            del self.fits[best]
            result = self._full(best := self._smallest())
        self._say(best, best, chosen)
        self._say_ties(chosen)
        return result

    def _full(self, candidate: Candidate) -> HJAResults:
        """The fit with as many nodes as its effects need."""
        result = self.fits[candidate]
        if candidate[1] == BTL or self.losses:
            return result
        self.step("all nodes")
        return result.model.fit(result.params, rng=self.asked.seed, warn_convergence=False)

    # Candidates

    def _model(self, candidate: Candidate) -> HJAModel:
        return super()._model(candidate) if candidate[1] == BTL else self._population(candidate)

    def _population(self, candidate: Candidate) -> PopulationHJAModel:
        position, rank = candidate
        return PopulationHJAModel.from_comparisons(self.data, position=position, rank=int(rank), **self.terms)

    def _fit(self, candidate: Candidate) -> None:
        if candidate[1] == BTL:
            super()._fit(candidate)
            return
        self.step(f"population of rank {candidate[1]}, position {candidate[0] or 'none'}")
        # The direction along which judges differ most is a start that needs no others; two may be mixed.
        n_random = max(int(candidate[1]) - 1, 0)
        model = self._population(candidate)
        self.fits[candidate] = model.fit(
            n_quadrature=NODES, n_random=n_random, rng=self.asked.seed, warn_convergence=False
        )

    def _fit_all(self) -> None:
        asked = self.asked
        if asked.criterion == "cv":
            for position in self.positions:
                self._walk(position, judges=SAMPLE)
            return
        if asked.rank != AUTO:
            self._fit((self.positions[0], asked.rank))
        else:
            self._fit_ranks()
        self._fit_neighbours()

    def _fit_ranks(self) -> None:
        """Rank after rank with the position effect that is best without directions, until one gains little."""
        if self.asked.judges == AUTO:
            # Judges who are alike have the same position effect.
            for position in self.positions[:2]:
                if position != "judge":
                    self._fit((position, BTL))
        for position in self.positions:
            self._fit((position, 0))
        position = min(self.positions, key=lambda own: self._criterion((own, 0)))
        for rank in range(1, min(limits.SAMPLE_DIRECTIONS, self.data.n_items - 2) + 1):
            self._fit(wider := (position, rank))
            gain = self._criterion((position, rank - 1)) - self._criterion(wider)
            if gain < CLEAR or not self._exists(wider):
                return

    def _fit_neighbours(self) -> None:
        """One kind of position effect more and less than that of the best, until it is between two that are worse."""
        while True:
            position, rank = self._smallest()
            place = self.positions.index(position)
            near = [(other, rank) for other in self.positions[max(place - 1, 0) : place + 2]]
            new = [key for key in near if key not in self.fits and not (rank == BTL and key[0] == "judge")]
            if not new:
                return
            for candidate in new:
                self._fit(candidate)

    @property
    def _price(self) -> float:
        """What the criterion charges for a parameter: judges are what was drawn independently."""
        return 2.0 if self.asked.criterion == "aic" else math.log(self.data.n_judges)

    def _criterion(self, candidate: Candidate) -> float:
        if self.losses:
            return self.losses[candidate]
        result = self.fits[candidate]
        return -2.0 * result.llf + self._price * result.df_model

    def _exists(self, candidate: Candidate) -> bool:
        """Whether its maximum is one."""
        result = self.fits[candidate]
        return result.converged and not (result.params.filter(like="sd[") > RUNAWAY).any()

    def _say_ties(self, chosen: Chosen) -> None:
        if self.asked.ties != AUTO:
            chosen.say("ties", self.asked.ties, "asked for")
        elif self.n_grades > 3:
            say_grades(chosen, self.n_grades, "common", "thresholds drawn for each judge could cross")
        elif share := float(np.average(self.data.outcome == 0.5, weights=self.data.weight)):
            rates = tie_rates(self.data)
            reason = f"{percent(share)} of the verdicts, half a win for each"
            if rates is not None and rates.differ:
                reason += f"; judges tie in {rates.span}, which passes for a part of their sensitivity"
            chosen.say("ties", "half", reason, share)
