"""Plans for judges who are a sample: what new judges tell, and what those at hand still can."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import hjastats as hja
from hjastats.data.comparisons import Comparisons
from hjastats.inference.goals import read_goal
from hjastats.inference.planning import every_candidate
from hjastats.inference.recruiting import PanelAllocator, _Panel, parameter_rows
from hjastats.inference.shrinking import split_errors

N_ITEMS, PAIR = 6, ("i0", "i1")


def crowd(rng, judge, first, second, *, taste=1.2):
    """Verdicts of judges drawn from one population: the number of a judge says who it is, whatever the draw."""
    own = np.random.default_rng(5)
    mu, direction = np.linspace(0.7, -0.7, N_ITEMS), own.normal(0.0, taste, N_ITEMS)
    z = own.standard_normal((200, 2))
    scores = (1.0 + 0.3 * z[:, :1]) * mu + z[:, 1:] * (direction - direction.mean())
    wins = rng.random(len(judge)) < expit(scores[judge, first] - scores[judge, second])
    names = [
        np.array([f"{letter}{code}" for code in codes])
        for letter, codes in zip("jii", (judge, first, second), strict=True)
    ]
    return Comparisons.from_arrays(*names, wins * 1.0)


def anybody(rng, n_judges, per_judge):
    judge = np.repeat(np.arange(n_judges), per_judge)
    first = rng.integers(N_ITEMS, size=len(judge))
    return judge, first, (first + rng.integers(1, N_ITEMS, size=len(judge))) % N_ITEMS


def sampled(data, **options):
    return hja.PopulationHJAModel.from_comparisons(data, rank=1, **options).fit(n_random=0)


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(0)
    return sampled(crowd(rng, *anybody(rng, 30, 25)))


def test_the_linear_model_has_the_errors_of_the_marginal_likelihood(result):
    """Up to what spreads and directions are uncertain by, which it leaves out."""
    fit = result.fit
    rows = read_goal(fit, "places").rows
    found = _Panel.of(fit).variances(parameter_rows(fit, rows), N_ITEMS)
    ratio = np.sqrt(found / fit.model_covariance.variances(rows))
    # What is left out can only add: the linear model is never less sure, and by a tenth more at most on average.
    assert (ratio < 1.02).all()
    assert ratio.mean() > 0.9


def test_more_verdicts_of_the_same_judges_leave_what_judges_contribute(result):
    rows = read_goal(result.fit, PAIR).rows
    wanted, errors = parameter_rows(result.fit, rows), split_errors(result.fit, rows)
    now, then = (_Panel.of(result.fit, often).variances(wanted, N_ITEMS)[0] for often in (1.0, 10.0))
    foretold = errors.after(9.0 * errors.n_verdicts, are_new=False)[0]
    # Verdicts that are not spread evenly over the judges shrink a little less than their number says.
    assert 0.9 < foretold / (errors.total[0] * then / now) <= 1.0 + 1e-9
    assert errors.after(1e12, are_new=False)[0] == pytest.approx(errors.clusters[0], rel=1e-6)
    # Ten times the judges, too.
    assert errors.after(9.0 * errors.n_verdicts, are_new=True)[0] == pytest.approx(errors.total[0] / 10.0)


@pytest.mark.parametrize("goal", [PAIR, "places", "order all"])
def test_updates_are_those_of_a_panel_that_has_heard_it_all(result, goal):
    """One after the other, or all at once: joined with the verdicts of the judges at hand, judges' effects integrated out."""
    fit, wanted = result.fit, read_goal(result.fit, goal)
    candidates = every_candidate(fit)
    chooser = PanelAllocator(fit, wanted, candidates, 60, per_judge=4)
    asked = chooser.run(60)
    known = candidates.take(asked.chosen)
    judge = np.where(asked.new > 0, len(fit.layout.judges) + asked.new - 1, known.judge)
    again = _Panel.of(fit)
    for _ in range(asked.new.max()):
        again.join()
    for k, i, j, turned in zip(judge, known.first, known.second, asked.is_turned, strict=True):
        x, loading, weight = linear_row(fit, again, k, *((j, i) if turned else (i, j)))
        rows, weights = again.telling(np.array([k]), x, loading, weight)
        again.information += weights[0] * np.outer(rows[0], rows[0])
        again.hear(k, x[0], loading[0], weight[0])
    np.testing.assert_allclose(chooser.variances, again.variances(chooser.rows, N_ITEMS), rtol=1e-8)


def linear_row(fit, panel, judge, first, second):
    """What a verdict looks like near the estimate, written out."""
    at, z = fit.population, panel.effects[judge]
    gap = at.mu[first] - at.mu[second]
    x = np.zeros((1, N_ITEMS))
    gamma = 1.0 + at.sensitivity * z[0]
    x[0, first], x[0, second] = gamma, -gamma
    loading = np.array([[at.sensitivity * gap, at.V[first, 0] - at.V[second, 0]]])
    p = expit(gap + loading[0] @ z)
    return x, loading, np.array([p * (1.0 - p)])


def test_information_of_the_panel_is_the_schur_complement(result):
    """Judges' effects as further parameters with a unit prior, then eliminated."""
    fit = result.fit
    design, z = fit.design, fit.predicted[0]
    n_judges, d = z.shape
    whole = np.zeros((N_ITEMS + n_judges * d,) * 2)
    whole[N_ITEMS:, N_ITEMS:] = np.eye(n_judges * d)
    for k, i, j, n in zip(design.judge, design.first, design.second, design.n, strict=True):
        x, loading, weight = linear_row(fit, _Panel.of(fit), k, i, j)
        row = np.zeros(len(whole))
        row[:N_ITEMS], row[N_ITEMS + k * d : N_ITEMS + (k + 1) * d] = x[0], loading[0]
        whole += n * weight[0] * np.outer(row, row)
    inside = np.linalg.solve(whole[N_ITEMS:, N_ITEMS:], whole[N_ITEMS:, :N_ITEMS])
    np.testing.assert_allclose(
        _Panel.of(fit).information, whole[:N_ITEMS, :N_ITEMS] - whole[:N_ITEMS, N_ITEMS:] @ inside, atol=1e-9
    )


def test_new_judges_are_asked_who_give_so_many_verdicts_each(result):
    asked = result.plan.next(60, PAIR, per_judge=5, cost=dict.fromkeys(result.model.judges, 50.0) | {"new judge": 1.0})
    by_judge = asked.table["judge"].value_counts()
    assert (by_judge == 5).all()
    assert by_judge.index.str.startswith("new judge ").all()
    dear = result.plan.next(60, PAIR, cost=dict.fromkeys(result.model.judges, 1.0) | {"new judge": 50.0})
    assert not dear.table["judge"].str.startswith("new").any()


def test_new_judges_make_the_error_smaller_as_foretold(result):
    rng = np.random.default_rng(3)
    asked = result.plan.next(500, PAIR, per_judge=25)
    table = asked.table
    judge = [int(name[1:]) if name[0] == "j" else 29 + int(name.split()[-1]) for name in table["judge"]]
    items = [table[side].str[1:].astype(int).to_numpy() for side in ("first", "second")]
    more = crowd(rng, np.array(judge), *items).to_frame()
    old = result.model.comparisons.to_frame()
    rows = pd.concat([old, more], ignore_index=True)
    data = Comparisons.from_arrays(*(rows[name] for name in ("judge", "first", "second", "outcome")))
    realised = sampled(data).head_to_head(*PAIR).std_err
    # A single panel: its spread of tastes is estimated anew.
    assert asked.errors["after"].iloc[0] == pytest.approx(realised, rel=0.25)
    assert asked.errors["lower"].isna().all()


def test_sample_size_answers_in_judges(result):
    found = result.plan.sample_size(PAIR, power=0.999)
    assert found.clusters == np.ceil(found.verdicts / 25)
    assert f"by about {found.clusters:,.0f} new judge" in found.sentence
    assert "those there are" in found.sentence
    assert float(result.plan.power(PAIR, found.verdicts)) == pytest.approx(0.999, abs=1e-3)


def test_shares_of_judges_stand_in_the_sentence(result):
    found = result.head_to_head(*PAIR)
    share = result.share(*PAIR).iloc[0]
    assert (found.share, found.share_lower, found.share_upper) == pytest.approx(
        tuple(share[["share", "ci_lower", "ci_upper"]])
    )
    assert f"{found.share:.0%} of all judges like these have it ahead" in found.sentence


def test_positions_are_planned_for(panel):
    result = hja.PopulationHJAModel.from_comparisons(panel, position="judge").fit(n_random=0)
    asked = result.plan.next(30)
    assert asked.errors["after"].iloc[0] < asked.errors["now"].iloc[0]
    assert result.plan.stopping("top2").sentence


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda r: r.plan.next(5, "sd[gamma] = 1"), "scores or mean coefficients"),
        (lambda r: r.plan.next(5, cost={"j0": 1.0}), "has none for"),
        (lambda r: r.head_to_head(*PAIR, judge="j0"), "leave judge out"),
        (lambda r: r.leaderboard(judge="j0"), "leave judge out"),
    ],
)
def test_what_single_judges_would_have_to_answer_is_refused(result, call, text):
    with pytest.raises(hja.errors.OptionError, match=text):
        call(result)


def test_judges_too_many_to_look_at_are_those_who_are_sharpest(result, set_limits):
    set_limits(CANDIDATES=100)
    judge = np.unique(every_candidate(result.fit).judge)
    gamma = result.fit.parts.gamma
    assert judge[-1] == len(gamma)
    assert set(judge[:-1]) == set(np.argsort(-gamma)[: 100 // 15 - 1])
