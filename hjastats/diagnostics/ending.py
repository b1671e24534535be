"""How a fit ended, in words: what runs to infinity, and which optima the starts found."""

from __future__ import annotations

import warnings

import numpy as np
from statsmodels.tools.sm_exceptions import ConvergenceWarning, HessianInversionWarning

from .. import limits
from ..data.graph import Connectivity
from ..errors import CovarianceWarning, Hint, LocalOptimaWarning, SeparationWarning
from ..fitted import Fit
from ..mixed import MixedFit
from ..words import counted, quoted


def warn(fit: Fit, links: Connectivity) -> None:
    """Warn of what a user of the fit must know before reading on."""
    if not links.is_connected and (told := apart_text(fit, links)):
        warnings.warn(CovarianceWarning(told), stacklevel=4)
    if fit.separation is not None:
        warnings.warn(SeparationWarning(*separation_text(fit)), stacklevel=4)
    elif not fit.is_identified:
        what = properties_text(fit) or "summary() names the undetermined combination."
        warnings.warn(
            "the information matrix is singular at the estimate: the data do not determine all parameters, standard errors "
            f"are not available. {what}",
            HessianInversionWarning,
            stacklevel=4,
        )
    elif not fit.optimum.converged:
        warnings.warn(
            f"the fit did not converge in {fit.optimum.iterations} iterations; raise maxiter.",
            ConvergenceWarning,
            stacklevel=4,
        )
    if (len(fit.search.values) > 1 and best_share(fit) < 0.5) or is_below_supremum(fit):
        warnings.warn(optima_text(fit), LocalOptimaWarning, stacklevel=4)


def apart_text(fit: Fit, links: Connectivity) -> str:
    """What stands in where no comparisons link the items; nothing where traits do."""
    if not fit.layout.structure.groups and fit.penalty is not None:
        return unlinked_text(links, isinstance(fit, MixedFit) and fit.has_item_traits)
    if "beta" in fit.layout.slices:
        return ""
    return (
        f"{_groups_text(links)}: scores sum to zero within each group, and differences between items of different groups mean "
        "nothing."
    )


def unlinked_text(links: Connectivity, have_traits: bool = False) -> str:
    """What a prior, or traits and a prior, stand in for where no comparisons link the items."""
    basis = "their traits and the distribution of what items have beyond these" if have_traits else "the prior alone"
    return f"{_groups_text(links)}: differences between items of different groups rest on {basis}."


def _groups_text(links: Connectivity) -> str:
    groups = links.pooled_groups
    named = "; ".join(quoted(group) for group in groups[:3]) + (
        f"; and {len(groups) - 3} more" if len(groups) > 3 else ""
    )
    return f"the items fall into {len(groups)} groups that no judge ever compared with each other ({named})"


def properties_text(fit: Fit) -> str:
    """Which covariates are properties of the items, and what to do about it; nothing if none are."""
    names = fit.item_properties
    if not names:
        return ""
    who, verb = ("covariate", "is a property") if len(names) == 1 else ("covariates", "are properties")
    return (
        f"The {who} {quoted(names)} {verb} of the items (in every comparison the difference of a value of the two items): the "
        "items' scores, which are free, take it up, and no coefficient is left. Leave it out, and make the scores follow from it, "
        "items='~ ...', or regress them on it, contrast_formula('mu ~ ...', metadata of the items)."
    )


def best_share(fit: Fit) -> float:
    """Share of the starts that ended at the best optimum."""
    found = fit.search
    if not found.values or found.values[0] > fit.optimum.value:
        return 0.0
    return found.counts[0] / found.n_starts


def is_below_supremum(fit: Fit) -> bool:
    """Whether the fit is at a finite optimum though the likelihood is larger on the way to infinity."""
    return fit.search.outermost is not None and fit.optimum.converged


def optima_text(fit: Fit) -> str:
    """Which optima the starts ended at."""
    values, counts, total = fit.search.values, fit.search.counts, fit.search.n_starts
    lost, outermost = fit.search.n_unfinished, fit.search.outermost
    if outermost is not None and is_below_supremum(fit):
        return (
            f"The log-likelihood is higher by {fit.optimum.value - outermost:.3g} or more on the way to infinity than at the "
            f"finite optimum that was asked for, where {counts[0]} of {total} starts ended."
        )
    rest = f" {lost} of {total} starts ended at no optimum." if lost else ""
    if not values:
        who = "The only start did not end" if total == 1 else f"None of the {total} starts ended"
        return f"{who} at an optimum."
    if len(values) > 1:
        listed = ", ".join(f"{-value:.3f} ({count})" for value, count in zip(values, counts, strict=True))
        return f"The starts ended at {len(values)} optima with log-likelihoods {listed}; the best was kept.{rest}"
    if lost:
        return f"One optimum was found.{rest}"
    return "The only start ended at an optimum." if total == 1 else f"All {total} starts ended at the same optimum."


def separation_text(fit: Fit) -> list[object]:
    """What runs to infinity, with names, and what to do about it: the pieces of a sentence."""
    found, layout = fit.separation, fit.layout
    if found is None:
        return ["All scores are finite."]
    names = layout.terms.own_names, layout.terms.shared_names
    terms = found.moving_terms(*names, layout.judges)[:5]
    moves = [_moving_scores(fit), *terms] if len(found.judges) else terms
    return [
        "the maximum likelihood estimate does not exist: the likelihood keeps improving while "
        f"{'; '.join(moves) or 'the scores grow'}, without limit. Rows along this direction are left empty; ",
        Hint("fit_regularized", "terms=True" if terms else None, is_call=True),
        " gives estimates that exist",
        *_light_judges(fit),
        *_finite_optimum(fit),
        ".",
    ]


def _finite_optimum(fit: Fit) -> list[object]:
    """Where starts ended before infinity, and how much lower that is."""
    found = fit.search
    if found.finite is None:
        return []
    lower = found.finite.value - fit.optimum.value
    return [
        f"; {found.counts[0]} of {found.n_starts} starts ended at a finite optimum, {lower:.3g} lower in log-likelihood: ",
        Hint("fit", "optimum='finite'", is_call=True),
        " takes it",
    ]


def _moving_scores(fit: Fit) -> str:
    """Which items rise and fall, and for whom."""
    found, layout = fit.separation, fit.layout
    assert found is not None
    items, judges = np.asarray(layout.items, dtype=object), np.asarray(layout.judges, dtype=object)[found.judges]
    who = "all judges"
    if len(judges) < len(layout.judges):
        who = f"judge{'s' if len(judges) > 1 else ''} {quoted(judges)}"
    moves = [
        f"{quoted(items[some])} {verb}{'s' if len(some) == 1 else ''}"
        for some, verb in ((found.rising, "rise"), (found.falling, "fall"))
        if len(some)
    ]
    return f"for {who} {' and '.join(moves)}"


def _light_judges(fit: Fit) -> list[object]:
    """Advice for judges that gave too few verdicts to score the items: those of a sample need none of their own."""
    layout, design, found = fit.layout, fit.design, fit.separation
    assert found is not None
    verdicts = np.bincount(design.judge, design.n, minlength=design.n_judges)
    are_many = len(layout.judges) >= limits.SMALL_SAMPLE
    light = found.judges[verdicts[found.judges] < (limits.LIGHT_JUDGE if are_many else len(layout.items))]
    if not len(light) or len(light) == len(layout.judges):
        return []
    who = f"judge {layout.judges[light[0]]!r} gave only {counted(verdicts[light[0]], 'verdict')}"
    if are_many:
        return [
            f", and since {who}, ",
            Hint("hja.fit", "..., judges='sample'", is_call=True),
            " estimates the population of judges",
        ]
    return [
        f", and since {who}, ",
        Hint("data.pool_rare_judges", len(layout.items), is_call=True),
        " would join judges as light as that",
    ]
