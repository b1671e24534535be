"""Whether a scale of grades is what a response takes it for: the same for all judges, from both sides, and at every step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from .. import limits
from ..errors import Hint, OptionError
from ..fitted import Fit, Observations
from ..inference.clusters import Clusters
from ..inference.contributions import Contributions, single
from ..inference.score_tests import ScoreTest, judge_term_test
from ..model.likelihood import evaluate, free_gradient, gradient, log_odds, own_predictors
from ..model.response import verdict_slopes
from ..model.terms import Term
from .order import has_order, without_penalty

# What is tested, by its name in tables and in ``Response.departures``.
NULLS = {
    "judges": "all judges use the same scale",
    "sides": "verdicts for the first item and for the second are mirror images",
    "steps": "log-odds count alike at every step of the scale",
}
# Share of the information on a departure that must be left after the other parameters.
_LEFT = 1e-8


def scale_tests(fit: Fit, observed: Observations) -> dict[str, ScoreTest]:
    """Score tests of what a response rules out, by the keys of ``NULLS``; only those that the data can answer.

    Where rows hang together, by prompt or by ranking, the variance of the scores is estimated from these clusters.
    """
    tests = dict(_of_departures(fit, observed))
    parameters = fit.design.response.parameters
    if len(fit.layout.judges) > 1 and parameters and fit.layout.terms.scope(parameters[0].name) == "common":
        tests["judges"] = own_parameters_test(fit)
    return {name: test for name in NULLS if (test := tests.get(name)) is not None}


def own_parameters_test(fit: Fit) -> ScoreTest | None:
    """Score test of own parameters per judge where there is one for all; of several the one that speaks most against it.

    None where nothing can be tested, and for more judges than a summary has the time for.
    """
    tests = []
    if len(fit.layout.judges) > limits.TESTED_PARAMETERS:
        return None
    for kind in fit.design.response.parameters:
        cells = fit.design.with_own_term(Term(f"{kind.name} per judge", "judge", kind), np.ones(len(fit.design.n)))
        tests.append(judge_term_test(cells, fit.at.with_own_term(), fit.tangent, without_penalty(fit)))
    known = [test for test in tests if test is not None]
    return replace(min(known, key=lambda test: test.p_value), n_tests=len(known)) if known else None


def _of_departures(fit: Fit, observed: Observations) -> Iterator[tuple[str, ScoreTest | None]]:
    design, others = fit.design, without_penalty(fit)
    if not others.is_finite:
        return
    eta, own = log_odds(design, fit.at), own_predictors(design, fit.at)
    for name, departing in design.response.departures(eta, own).items():
        if name == "sides" and not has_order(observed.data):
            continue
        # Judges that left out grades have steps of width zero, which say nothing.
        departing = departing * ~np.isin(design.judge, [k for k, _ in design.terms.held])
        yield name, _departure_test(fit, observed, name, departing)


def _departure_test(fit: Fit, observed: Observations, name: str, departing: np.ndarray) -> ScoreTest | None:
    """Test of parameters by which log-probabilities would move so (m, n_verdicts, n_cells), from the fit without them."""
    design, others = fit.design, without_penalty(fit)
    here = evaluate(design, fit.at)
    chances, by_odds, by_own = verdict_slopes(design.response, here.eta, here.own)
    slope = np.einsum("mvc,cv->m", departing, design.counts)
    information = np.einsum("lvc,mvc,vc->lm", departing, departing, chances * design.n)
    # What departures share with the predictors goes the way of a gradient to the free coordinates.
    odds = np.einsum("mvc,vc->mc", departing, by_odds * design.n)
    own = np.einsum("mvc,pvc->mpc", departing, by_own * design.n)
    together = np.array(
        [
            free_gradient(gradient(design, here._replace(slope=a, own_slope=b)), fit.tangent, design)
            for a, b in zip(odds, own, strict=True)
        ]
    )
    explained = others.times(together)
    scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
    left = (information - 0.5 * (explained @ together.T + together @ explained.T)) / np.outer(scale, scale)
    values, vectors = np.linalg.eigh(left)
    informed = vectors[:, values > _LEFT] / scale[:, None]
    if not informed.size:
        return None
    variance = informed.T @ (left * np.outer(scale, scale)) @ informed
    clusters = Clusters.of_prompts(observed.data)
    if clusters is not None and clusters.has_repeats:
        variance = _clustered(fit, observed, clusters, name, informed, explained)
    projected = slope @ informed
    return ScoreTest(float(projected @ np.linalg.solve(variance, projected)), len(projected))


def _clustered(
    fit: Fit, observed: Observations, clusters: Clusters, name: str, informed: np.ndarray, explained: np.ndarray
) -> np.ndarray:
    """Variance of scores by what clusters of rows add to them, less what the free parameters take of it."""
    rows, data = observed.rows, observed.data
    eta, own = log_odds(rows, fit.at), own_predictors(rows, fit.at)
    given = rows.response.counts(data.outcome)
    each = np.einsum("mvc,cv->cm", rows.response.departures(eta, own)[name], given)
    each *= ~np.isin(rows.judge, [k for k, _ in rows.terms.held])[:, None] * data.weight[:, None]
    together = np.column_stack([np.bincount(clusters.code, column, clusters.n) for column in each.T])
    contributions = Contributions.of_clusters(rows, data, evaluate(single(rows, data.outcome), fit.at), clusters)
    total = (together - contributions.along(explained, fit.tangent)) @ informed
    return total.T @ total * clusters.n / (clusters.n - 1.0)


def scale_table(fit: Fit, observed: Observations) -> pd.DataFrame:
    """The tests as a table, with the null hypothesis of each.

    Raises
    ------
    OptionError
        Where verdicts are no grades.
    """
    response = fit.design.response
    if not response.departures(np.zeros(1), np.zeros((len(response.parameters), 1))):
        raise OptionError(
            f"scale_tests is about grades, and verdicts with ties={response.name!r} have none: use ",
            *(Hint("ties", "ordinal"), " where they differ in strength."),
        )
    tests = scale_tests(fit, observed)
    columns = {
        "null": [NULLS[name] for name in tests],
        "statistic": [test.statistic for test in tests.values()],
        "df": [test.df for test in tests.values()],
        "p_value": [test.p_value for test in tests.values()],
    }
    return pd.DataFrame(columns, index=pd.Index(list(tests), name="test"))
