"""What a user should know before believing a fit of judges as a sample, in words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .. import limits
from ..data.graph import levels_of_wins
from ..fitted import Observations
from ..inference.clusters import Clusters
from ..inference.population import choose_population_covariance
from ..population import PopulationFit
from ..solve.draws import Drawn
from ..words import counted, quoted
from .dependence import Dependence
from .findings import (
    NEARLY_SINGULAR,
    Finding,
    Findings,
    dependence_findings,
    findings_of_data,
    ties_finding,
)

# Standard deviation of a loading, in log-odds, below which a direction is hardly one.
SLIGHT = 0.05
# Number of equally weighted draws below which a judge's likelihood is little more than noise.
FEW_DRAWS = 10.0
# Spread of sensitivities, whose mean is one, at which that mean is next to zero.
LARGE = 10.0


def find_population(fit: PopulationFit, observed: Observations) -> Findings:
    """Check everything that can be checked of a sample of judges."""
    of_fit = [_convergence(fit), _quadrature(fit), _sample(fit, observed), *_zero(fit), *_taste(fit), *_separated(fit)]
    together = dependence_findings(fit, observed, _dependence(fit, observed))
    # Errors of a sample are the model's or clustered, never those of rows by themselves.
    ties = ties_finding(fit, observed, hangs_together=True)
    return Findings([*of_fit, *together, ties, *findings_of_data(observed.data)])


def _dependence(fit: PopulationFit, observed: Observations) -> Dependence | None:
    """What counting the prompts, in addition to the judges, does to the errors of the scores."""
    clusters = Clusters.of_prompts(observed.data)
    if clusters is None or not clusters.has_repeats or clusters.has_gaps(observed.data):
        return None
    if not fit.is_identified or fit.marginal.n_nodes == 1 or fit.found.drawn is not None:
        return None
    together = choose_population_covariance(fit, "cluster", {"groups": clusters.name}, lambda: observed)
    where = fit.layout.slices["mu"]
    positions = np.arange(where.start, where.stop)
    model = replace(fit, choice=replace(fit.choice, covariance=None)).errors(positions)
    return Dependence(str(clusters.name), clusters.n, clusters.noun, {"mu": together.errors(positions) / model})


def _convergence(fit: PopulationFit) -> Finding:
    if not fit.is_identified and _has_no_consensus(fit):
        text = (
            "There is no consensus to speak of: the average sensitivity, which is one by definition, cannot be told "
            "from zero, so that scores of "
            "the average judge run to zero and the spread of sensitivities to infinity. Standard errors are withheld."
        )
        return Finding("identification", True, text)
    if not fit.is_identified:
        text = "The information is singular: the data do not determine the population, standard errors are withheld."
        return Finding("identification", True, text)
    if not fit.optimum.converged:
        return Finding("convergence", True, f"The fit did not converge in {fit.optimum.iterations} iterations.")
    condition = fit.model_covariance.condition
    if condition > NEARLY_SINGULAR:
        return Finding(
            "identification", True, f"The information is nearly singular (condition number {condition:.2g})."
        )
    return Finding(
        "convergence", False, f"Converged; information positive definite (condition number {condition:.2g})."
    )


def _has_no_consensus(fit: PopulationFit) -> bool:
    return fit.reported.sensitivity > LARGE or float(np.abs(fit.population.mu).max()) < 1.0 / LARGE


def _quadrature(fit: PopulationFit) -> Finding:
    if fit.found.drawn is not None:
        return _draws(fit, fit.found.drawn)
    nodes, effects = fit.marginal.n_nodes, int(fit.found.is_free.sum())
    if nodes == 1:
        text = "Judges are integrated out by Laplace's method (one node), which is biased where they have few verdicts."
        return Finding("quadrature", True, text)
    what = f"{nodes} nodes for each of {counted(effects, 'effect')}"
    return Finding("quadrature", False, f"Judges are integrated out by adaptive Gauss-Hermite quadrature with {what}.")


def _draws(fit: PopulationFit, drawn: Drawn) -> Finding:
    n, least = fit.marginal.n_nodes, float(drawn.effective.min())
    text = (
        f"Judges are integrated out by {n:,} draws each around expectation propagation; the Monte-Carlo error of the "
        f"log-likelihood is {drawn.error:.2g}"
    )
    if least < FEW_DRAWS:
        judge = fit.layout.judges[int(drawn.effective.argmin())]
        return Finding(
            "quadrature", True, f"{text}, those of {quoted([judge])} are worth {least:.2g} only: raise n_quadrature."
        )
    return Finding("quadrature", False, f"{text}, every judge's draws are worth {least:,.0f} or more.")


def _sample(fit: PopulationFit, observed: Observations) -> Finding:
    n, per_judge = len(fit.layout.judges), observed.data.n_comparisons / len(fit.layout.judges)
    told = f"{n:,} judges with {per_judge:.3g} verdicts each on average"
    if n < limits.SMALL_SAMPLE:
        text = (
            f"{told}: so few say little about how judges differ, and intervals that count their drawing are too short."
        )
        return Finding("sample", True, text)
    return Finding("sample", False, f"{told}; errors count the drawing of these judges.")


def _zero(fit: PopulationFit) -> list[Finding]:
    """Standard deviations at the boundary."""
    if fit.layout.rank and not fit.found.is_free[0]:
        text = "Sensitivities vary with taste only (the boundary): what they vary beyond it is estimated as zero."
        return [Finding("boundary", False, text)]
    if not fit.absent:
        return []
    text = (
        f"Judges do not differ in {quoted(fit.absent)}: the standard deviation is estimated as zero, the boundary, and "
        f"has no error. All judges "
        "may be alike there, or differ too little for these data to tell."
    )
    return [Finding("boundary", False, text)]


def _taste(fit: PopulationFit) -> list[Finding]:
    weak = np.flatnonzero(fit.reported.loadings < SLIGHT)
    if not len(weak):
        return []
    text = f"Direction {weak[0] + 1} has next to no size (sd {fit.reported.loadings[weak[0]]:.2g}): a lower rank says the same."
    return [Finding("taste", True, text)]


def _separated(fit: PopulationFit) -> list[Finding]:
    """Judges whose own scores would not exist."""
    apart = int(levels_of_wins(fit.design).any(axis=1).sum())
    if not apart:
        return []
    text = (
        f"{apart:,} of {len(fit.layout.judges):,} judges contradict themselves so little that scores of their own would "
        f"have no finite "
        "estimate. That is no problem here: theirs are shrunk to the population."
    )
    return [Finding("separation", False, text)]
