"""Which position effects and which rank: the candidates that could be best, fitted, compared and confirmed."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..diagnostics.order import both_orders, has_order
from ..errors import IdentificationError, OptionError
from ..inference.clusters import Clusters
from ..model.terms import SCOPES
from ..models import BTLModel, HJAModel
from ..results import HJAResults
from ..selection import BTL, select_rank
from ..solve.validation import held_out_losses
from ..words import quoted
from .asked import AUTO, Asked, Chosen

# Weight of the ridge where the likelihood has no maximum: a prior of variance ten, the default of fit_regularized.
RIDGE = 0.1
# Folds of whole prompts that confirm a choice.
FOLDS = 5
# Ranks in a row without a smaller criterion after which no larger one is tried: each direction gains less than the one before.
PATIENCE = 1
# What a candidate is called: whose its position effect is, and its rank, or BTL.
Candidate = tuple[str | None, "int | str"]


def possible_positions(data: Comparisons) -> tuple[str | None, ...]:
    """Position effects that the data can show, the largest last."""
    if not has_order(data):
        return (None,)
    return SCOPES if data.n_judges > 1 else SCOPES[:2]


class Search:
    """Candidates for one set of data and ties: which were fitted, and which is best."""

    def __init__(self, data: Comparisons, asked: Asked, ties: dict[str, str], step: Callable[[str], None]) -> None:
        self.data, self.asked, self.step = data, asked, step
        self.terms = asked.covariates | ties
        self.positions = possible_positions(data) if asked.position == AUTO else (asked.position,)
        self.fits: dict[Candidate, HJAResults] = {}
        self.losses: dict[Candidate, float] = {}

    def best(self, chosen: Chosen) -> HJAResults:
        """The best candidate, with lines about position and model."""
        self._fit_all()
        smallest = self._smallest()
        best, line = self._confirmed(smallest)
        self._say(smallest, best, chosen)
        if line:
            chosen.say(*line)
        return self._existing(best, chosen)

    # Candidates

    def _model(self, candidate: Candidate) -> HJAModel:
        position, rank = candidate
        if rank == BTL:
            return BTLModel.from_comparisons(self.data, position=position, **self.terms)
        return HJAModel.from_comparisons(self.data, position=position, rank=int(rank), **self.terms)

    def _fit(self, candidate: Candidate) -> None:
        self.step(f"{'BTL' if candidate[1] == BTL else f'rank {candidate[1]}'}, position {candidate[0] or 'none'}")
        self.fits[candidate] = self._model(candidate).fit(rng=self.asked.seed, warn_convergence=False)

    @property
    def _ranks(self) -> set[int | str]:
        """Ranks that were fitted with some position effect."""
        return {rank for _, rank in self.fits}

    def _fit_all(self) -> None:
        asked, largest = self.asked, self.positions[-1]
        is_one = asked.is_alike or asked.model == "ja" or asked.rank != AUTO
        if is_one or (asked.model is None and self.data.n_judges == 1):
            rank: int | str = asked.rank
            if rank == AUTO:
                rank = 0 if asked.model == "ja" else BTL
            for position in self.positions:
                self._fit((position, rank))
        elif asked.criterion in ("bic", "aic"):
            if asked.model is None:
                for position in self.positions:
                    self._fit((position, BTL))
            self._walk(largest, patience=PATIENCE)
            while (candidate := self._worth_fitting()) is not None:
                self._fit(candidate)
        else:
            if asked.criterion == "loglik-bootstrap" and len(self.positions) > 1:
                raise OptionError("criterion='loglik-bootstrap' chooses the rank only: pass position=, too.")
            for position in self.positions:
                self._walk(position)

    def _walk(self, position: str | None, **options: Any) -> None:
        """Fit rank after rank."""
        self.step(f"ranks, position {position or 'none'}")
        asked, prompts = self.asked, Clusters.of_prompts(self.data)
        if asked.criterion == "cv" and prompts is not None and prompts.has_repeats:
            options["groups"] = prompts.code
        try:
            selection = select_rank(
                self.data, criterion=asked.criterion, position=position, rng=asked.seed, **self.terms, **options
            )
        except IdentificationError:
            # Verdicts without any consensus have no sensitivities to it.
            if not self.fits:
                raise
            return
        is_wanted = [rank for rank in selection.results if asked.model is None or rank not in (BTL, 0)]
        self.fits |= {(position, rank): selection.results[rank] for rank in is_wanted}
        if not is_wanted:
            # The walk ended before the first direction, which is asked for all the same.
            self._fit((position, 1))
            self.losses |= {} if asked.criterion in ("bic", "aic") else {(position, 1): math.inf}
        elif asked.criterion == "cv":
            self.losses |= {(position, rank): loss for rank, loss in selection.table["cv"].items() if rank in is_wanted}
        elif asked.criterion == "loglik-bootstrap":
            self.losses |= {(position, rank): float(rank != selection.best) for rank in is_wanted}

    def _worth_fitting(self) -> Candidate | None:
        """A candidate that could still be best, or next to it in position or rank; None if there is none.

        Its likelihood is at most that of the same rank with the largest position effects.
        """
        best = self._smallest()
        ahead = [
            min((self._criterion(k) for k in self.fits if k[part] != best[part]), default=math.inf) for part in (0, 1)
        ]
        bounds = {}
        for rank, position in product(self._ranks, self.positions[:-1]):
            key, larger = (position, rank), self.fits.get((self.positions[-1], rank))
            if key in self.fits or larger is None:
                continue
            bounds[key] = self._price * self._model(key).df_model - 2.0 * larger.llf
            next_best = max(ahead[part] for part in (0, 1) if key[part] != best[part])
            if bounds[key] >= next_best:
                del bounds[key]
        return min(bounds, key=lambda key: bounds[key]) if bounds else None

    @property
    def _price(self) -> float:
        """What the criterion charges for a parameter."""
        return 2.0 if self.asked.criterion == "aic" else math.log(self.data.n_comparisons)

    def _criterion(self, candidate: Candidate) -> float:
        if self.losses:
            return self.losses[candidate]
        return self.fits[candidate].aic if self.asked.criterion == "aic" else self.fits[candidate].bic

    def _exists(self, candidate: Candidate) -> bool:
        """Whether its estimate does; that of BTL or JA does with a ridge."""
        return self.fits[candidate].converged or candidate[1] in (BTL, 0)

    def _smallest(self) -> Candidate:
        """The smallest criterion among candidates that exist."""
        return min(list(filter(self._exists, self.fits)) or list(self.fits), key=self._criterion)

    # Reasons

    def _say(self, by_criterion: Candidate, best: Candidate, chosen: Chosen) -> None:
        """Lines about position and model, as the criterion has it, or as prompts that were held out have it."""
        if self.asked.position != AUTO:
            chosen.say("position", best[0] or "none", "asked for")
        elif not has_order(self.data):
            chosen.say("position", "none", "the table does not say what was shown first")
        else:
            reason, number = self._against_next(by_criterion, best, 0)
            if best[0] is not None and not both_orders(self.data)[0]:
                reason += "; no pair was shown both ways: only the model tells it from taste"
            chosen.say("position", best[0] or "none", reason, number)
        name = self.fits[best].fit.layout.structure.name
        if len(self._ranks) > 1:
            chosen.say("model", name, *self._against_next(by_criterion, best, 1))
        else:
            is_asked = self.asked.model is not None or self.asked.rank != AUTO
            reason = self.asked.why_alike or "there is one judge, or one voice of all"
            chosen.say("model", name, "asked for" if is_asked else reason)

    def _against_next(self, by_criterion: Candidate, best: Candidate, part: int) -> tuple[str, float]:
        """By how much the choice is ahead of the next that differs from it in position (0) or rank (1)."""
        name = {"aic": "AIC", "cv": "held-out log-loss", "loglik-bootstrap": "the bootstrap"}.get(
            self.asked.criterion, "BIC"
        )
        if best[part] != by_criterion[part]:
            taken = self._told(by_criterion, part).removeprefix("with ")
            return f"{name} takes {taken}, which verdicts held out speak against", math.nan
        if self.asked.criterion == "loglik-bootstrap":
            return f"by {name}", math.nan
        own = self._criterion(by_criterion)
        others = {key: self._criterion(key) - own for key in self.fits if key[part] != best[part] and self._exists(key)}
        if not others:
            return "no other has an estimate", math.nan
        next_best = min(others, key=lambda key: others[key])
        less = others[next_best]
        return f"{name} is lower by {less:,.4g} than {'for ' if part else ''}{self._told(next_best, part)}", less

    def _told(self, candidate: Candidate, part: int) -> str:
        if part:
            return self.fits[candidate].fit.layout.structure.name
        return {None: "without", "common": "with one for all judges", "judge": "with one per judge"}[candidate[0]]

    # Prompts held out

    def _confirmed(self, best: Candidate) -> tuple[Candidate, list[Any]]:
        """The candidate, or a smaller one that predicts prompts it has not seen better: BIC takes rows to be independent.

        With a line about it, if prompts repeat.
        """
        prompts = Clusters.of_prompts(self.data)
        if (
            self.asked.random is not None
            or self.losses
            or prompts is None
            or not prompts.has_repeats
            or prompts.n < FOLDS
            or len(self.fits) < 2
        ):
            return best, []
        if (prompts.per_judge(self.data) < 2).any():
            # Whoever is held out whole has no parameters to be predicted by.
            return best, []
        first, loss, better = best, {best: self._held_out(best, prompts)}, None
        while smaller := self._smaller(best):
            loss |= {key: self._held_out(key, prompts) for key in smaller if key not in loss}
            better = min(smaller, key=lambda key: loss[key])
            if loss[best] < loss[better]:
                break
            best = better
        if better is None:
            return best, []
        by = f"{prompts.n:,} {prompts.noun} held out in {FOLDS} parts: log-loss {loss[best]:.4f}"
        if best == first:
            gain = loss[better] - loss[best]
            return best, ["confirmed", "yes", f"{by}, {gain:.4f} less than for {self._name(better)}", gain]
        gain = loss[first] - loss[best]
        return best, [
            "confirmed",
            "no",
            f"{by}, {gain:.4f} more for {self._name(first)}, what the criterion takes",
            gain,
        ]

    def _smaller(self, candidate: Candidate) -> list[Candidate]:
        """One direction less, one kind of position effect less."""
        position, rank = candidate
        found: list[Candidate] = []
        if rank != BTL:
            found.append((position, BTL if rank == 0 else int(rank) - 1))
        if position in self.positions[1:]:
            found.append((self.positions[self.positions.index(position) - 1], rank))
        found = [key for key in found if key[1] in self._ranks]
        for key in found:
            # What could not be best by BIC was not fitted; it may still predict better.
            if key not in self.fits:
                self._fit(key)
        return [key for key in found if self.fits[key].converged]

    def _held_out(self, candidate: Candidate, prompts: Clusters) -> float:
        self.step("prompts held out")
        model = self._model(candidate)
        folds = model.folds(prompts.code, FOLDS, np.random.default_rng(self.asked.seed))
        return float(held_out_losses(folds, [model.structure]).loss.mean())

    def _name(self, candidate: Candidate) -> str:
        layout = self.fits[candidate].fit.layout
        return f"{layout.structure.name}, position {candidate[0] or 'none'}"

    # Estimates that exist

    def _existing(self, best: Candidate, chosen: Chosen) -> HJAResults:
        """The fit, by a ridge where the likelihood has no maximum."""
        result, ridge = self.fits[best], self.asked.ridge
        if ridge is None or (ridge == AUTO and result.converged):
            return result
        weight = RIDGE if ridge == AUTO else float(ridge)
        reason = "asked for" if ridge != AUTO else no_maximum(result)
        chosen.say("penalty", f"ridge {weight:g}", reason, weight)
        self.step("ridge")
        return result.model.fit_regularized(weight, terms=True, rng=self.asked.seed, warn_convergence=False)


def why_no_estimate(result: HJAResults, chosen: Chosen) -> str:
    """Why there is none without a ridge, from the line about it if one was asked for."""
    return next((reason for what, _, reason, _ in chosen.lines if what == "penalty"), "") or no_maximum(result)


def no_maximum(result: HJAResults) -> str:
    """Why maximum likelihood has no estimate, in a few words."""
    fit = result.fit
    if fit.separation is None:
        return "the likelihood has no maximum: the data leave some parameters open"
    layout, found = fit.layout, fit.separation
    terms = found.moving_terms(layout.terms.own_names, layout.terms.shared_names, layout.judges)
    items = [layout.items[i] for i in (*found.rising, *found.falling)] if len(found.judges) else []
    moving = ", ".join([*([quoted(items, 3)] if items else []), *terms[:3]]) or "scores"
    return f"the likelihood has no maximum: {moving} without limit"
