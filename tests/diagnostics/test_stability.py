import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.diagnostics.stability import _tests, second_half
from hjastats.errors import ComparisonError
from hjastats.model.likelihood import evaluate, free_regressors
from hjastats.model.terms import POSITION, Term
from tests.panels import finding


def changing(seed=0, flip=None, item=None, n_judges=8, n_items=8, n=400, prompts=None):
    """Verdicts in random order; from half of the rows on one judge is reversed, or one item better by 2."""
    rng = np.random.default_rng(seed)
    mu, gamma = rng.standard_normal(n_items), rng.uniform(0.6, 1.4, n_judges)
    judge = rng.permutation(np.tile(np.arange(n_judges), n))
    first = rng.integers(n_items, size=len(judge))
    second = (first + rng.integers(1, n_items, size=len(judge))) % n_items
    late = np.arange(len(judge)) >= len(judge) / 2
    odds = mu[first] - mu[second]
    if item is not None:
        odds = odds + 2.0 * late * ((first == item) * 1.0 - (second == item))
    sign = np.where((judge == flip) & late, -1.0, 1.0)
    outcome = rng.random(len(judge)) < 1 / (1 + np.exp(-sign * gamma[judge] * odds))
    columns = pd.DataFrame({"day": np.arange(len(judge)) // 100})
    if prompts:
        columns["prompt_id"] = rng.integers(prompts, size=len(judge))
    names, items = np.array([f"j{k}" for k in range(n_judges)]), np.array([f"i{i}" for i in range(n_items)])
    return hja.Comparisons.from_arrays(
        names[judge], items[first], items[second], outcome.astype(float), columns=columns
    )


@pytest.mark.parametrize("position", [None, "judge"])
def test_a_judge_that_turns_round_is_named(position):
    result = hja.JAModel.from_comparisons(changing(flip=3), position=position).fit()
    worst = result.judges.stability().table.nsmallest(1, "p_value").iloc[0]
    assert (worst["kind"], worst["name"]) == ("sensitivity", "j3")
    assert worst["change"] < 0
    warned = finding(result, "stability")
    assert warned.is_warning
    assert "the sensitivity of 'j3' changes by -" in warned.text


def test_an_item_that_moves_is_named_and_by_how_much_about():
    result = hja.JAModel.from_comparisons(changing(item=2)).fit()
    found = result.judges.stability()
    worst = found.table.nsmallest(1, "p_value").iloc[0]
    assert (worst["kind"], worst["name"]) == ("score", "i2")
    assert worst["change"] == pytest.approx(2.0, abs=4 * worst["std_err"])
    assert "which this alone may cause" in found.text


def test_where_nothing_changes_that_is_said():
    result = hja.JAModel.from_comparisons(changing()).fit()
    found = finding(result, "stability")
    assert not found.is_warning
    assert found.text == (
        "No judge or item is seen to change between the halves of the rows of each judge (24 score tests)."
    )
    assert "and 4 more in .table" in repr(result.judges.stability())


def test_what_the_model_lacks_in_both_halves_is_no_change(panel):
    """One judge has a position effect of 2.7, which this model does not have."""
    table = hja.JAModel.from_comparisons(panel).fit().judges.stability().table
    assert (table["p_holm"] > 0.05).all()


def test_a_table_sorted_by_judges_has_halves_too():
    data = changing(flip=3)
    order = np.argsort(data.judge_index, kind="stable")
    one, other = (
        hja.JAModel.from_comparisons(each).fit().judges.stability().table for each in (data, data.subset(order))
    )
    pd.testing.assert_frame_equal(one, other, rtol=1e-5, atol=1e-7)


def test_halves_by_a_column_of_times():
    data = changing(flip=3)
    rng = np.random.default_rng(2)
    shuffled = data.subset(rng.permutation(len(data)))
    result = hja.JAModel.from_comparisons(shuffled).fit()
    assert not result.judges.stability().is_warning
    found = result.judges.stability(time="day")
    assert "both halves of the time 'day', cut before 16: the sensitivity of 'j3'" in found.text
    with pytest.raises(ComparisonError, match="no column is called 'month'; there are 'day'"):
        result.judges.stability(time="month")


def test_times_that_are_all_missing_make_no_halves():
    data = changing(n_judges=3, n_items=5, n=200)
    unknown = replace(data, columns=pd.DataFrame({"day": np.full(len(data), np.nan)}))
    found = hja.JAModel.from_comparisons(unknown).fit().judges.stability(time="day")
    assert found.note == "Changes over time cannot be told from the other parameters."


@pytest.mark.parametrize("model", [hja.BTLModel, hja.JAModel, hja.JudgewiseBTLModel])
@pytest.mark.parametrize("options", [{}, {"position": "judge"}, {"position": "common"}])
def test_slopes_and_information_are_those_of_the_whole_matrix(model, options):
    result = model.from_comparisons(changing(n_judges=3, n_items=5, n=200), **options).fit()
    fit, observed = result.fit, result.model.observations
    data, half = observed.data, second_half(observed.data) - 0.4
    rows = observed.rows.with_own_term(Term("half", "judge", POSITION), half)
    slope, explained, information, coupling = _tests(rows, fit)
    here, mu = evaluate(observed.rows, fit.at), fit.parts.mu
    is_judge = data.judge_index[:, None] == np.arange(data.n_judges)
    items = np.arange(data.n_items)
    signed = (data.first_index[:, None] == items) * 1.0 - (data.second_index[:, None] == items)
    columns = half[:, None] * np.hstack(
        [is_judge * (mu[data.first_index] - mu[data.second_index])[:, None], is_judge, signed]
    )
    others = free_regressors(observed.rows, fit.tangent)
    np.testing.assert_allclose(slope, -columns.T @ here.slope, atol=1e-8)
    np.testing.assert_allclose(information, (columns**2).T @ here.curvature, rtol=1e-10)
    np.testing.assert_allclose(coupling, columns.T @ (here.curvature[:, None] * others), atol=1e-8)
    np.testing.assert_allclose(explained, coupling @ fit.covariance.covariance, atol=1e-8)


def test_score_tests_agree_with_a_fit_that_has_the_term():
    """A covariate of one judge, close to the null: the squared score statistic against the likelihood ratio."""
    data = changing(seed=5)
    plain = hja.JAModel.from_comparisons(data, position="judge").fit()
    half = second_half(data) * (data.judge_index == 2)
    larger = hja.JAModel.from_comparisons(data, pd.DataFrame({"late": half}), position="judge").fit()
    table = plain.judges.stability().table.set_index(["kind", "name"])
    row = table.loc[("position", "j2")]
    assert row["z"] ** 2 == pytest.approx(2 * (larger.llf - plain.llf), rel=0.05)
    assert row["change"] == pytest.approx(larger.params.iloc[0], rel=0.05)


def test_prompts_are_clusters_and_ties_vary_as_they_do():
    data = changing(prompts=60)
    model = hja.JAModel.from_comparisons(data)
    clustered = model.fit().judges.stability().table
    plain = hja.JAModel.from_comparisons(
        hja.Comparisons.from_arrays(*(data.to_frame()[name] for name in ("judge", "first", "second", "outcome")))
    )
    independent = plain.fit().judges.stability().table
    np.testing.assert_allclose(clustered["change"], independent["change"], rtol=1e-6)
    # Prompts that do nothing: the same errors, known from 60 of them.
    ratio = clustered["std_err"] / independent["std_err"]
    assert ratio.mean() == pytest.approx(1.0, abs=0.06)
    assert ratio.std() > 0.02
    tied = hja.Comparisons.from_arrays(
        data.judge_index, data.first_index, data.second_index, np.where(np.arange(len(data)) % 3, data.outcome, 0.5)
    )
    half = hja.JAModel.from_comparisons(tied).fit()
    model_based = half.judges.stability().table["std_err"]
    # A third of the verdicts are ties, which vary not at all.
    assert (model_based < 0.95 * independent["std_err"].mean() * 2).all()


def test_verdicts_of_unknown_time_take_no_part():
    data = changing(flip=3)
    day = data.columns["day"].astype(float)
    unknown = np.arange(len(data)) % 4 == 0
    some = replace(data, columns=pd.DataFrame({"day": day.where(~unknown)}))
    found = hja.JAModel.from_comparisons(some).fit().judges.stability(time="day")
    assert "the sensitivity of 'j3' changes by -" in found.text
    assert np.isnan(second_half(some, "day")).sum() == unknown.sum()


def test_what_cannot_be_tested_is_said(panel, separated_fit):
    ridge = hja.JAModel.from_comparisons(panel).fit_regularized(0.1)
    assert finding(ridge, "stability").text == "Changes over time are not tested for penalised estimates."
    assert "without a finite" in finding(separated_fit, "stability").text


def test_a_single_judge_is_not_named():
    rng = np.random.default_rng(0)
    first, second = np.array([*"ab"] * 400), np.array([*"ba"] * 400)
    wins = (rng.random(800) < np.where(np.arange(800) < 400, 0.9, 0.1)) == (first == "a")
    data = hja.Comparisons.from_arrays(["all"] * 800, first, second, wins.astype(float))
    text = hja.BTLModel.from_comparisons(data).fit().judges.stability().text
    assert "all" not in text.split(":")[1]
    assert "Not the same" in text


def dated(shares, gamma=None, position=None, seed=4, n=4000):
    """A table of months with shares of the rows; judge j4 has sensitivities, j2 position effects, by month."""
    rng = np.random.default_rng(seed)
    names = [f"2024-{month + 1:02d}-05" for month in range(len(shares))]
    month, judge, first = rng.choice(len(shares), size=n, p=shares), rng.integers(6, size=n), rng.integers(6, size=n)
    second = (first + rng.integers(1, 6, size=n)) % 6
    follows = np.where(judge == 4, np.array(gamma or np.ones(len(shares)))[month], 1.0)
    odds = follows * 0.48 * (second - first)
    odds += np.where(judge == 2, np.array(position or np.zeros(len(shares)))[month], 0.0)
    wins = rng.random(n) < 1 / (1 + np.exp(-odds))
    return pd.DataFrame(
        {
            "judge": [f"j{k}" for k in judge],
            "first": [f"i{i}" for i in first],
            "second": [f"i{i}" for i in second],
            "winner": np.where(wins, "first", "second"),
            "date": np.array(names)[month],
        }
    )


@pytest.mark.parametrize("share", [0.1, 0.49, 0.51, 0.9])
def test_two_dates_are_cut_between_them_whichever_has_more_rows(share):
    result = hja.fit(dated([share, 1 - share], gamma=[1, -1]))
    told = finding(result, "stability").text
    assert "both halves of the time 'date', cut before 2024-02-05: the sensitivity of 'j4' changes by -" in told


@pytest.mark.parametrize("gamma", [(1, 1, 0.3, 0), (1, 1, -1, 1), (0.3, 0.3, 1.2, 1.2)])
@pytest.mark.parametrize("model", ["btl", "ja"])
def test_the_change_is_that_between_fits_of_both_sides_of_the_cut(gamma, model):
    table = dated([0.24, 0.25, 0.24, 0.27], gamma=list(gamma))
    found = hja.fit(table, model=model).judges.stability(time="date")
    assert found.halves == "the time 'date', cut before 2024-03-05"
    late = table["date"] >= "2024-03"
    sides = [
        hja.JAModel.from_comparisons(hja.read_comparisons(table[late == side].drop(columns="date"))).fit().sensitivity
        for side in (False, True)
    ]
    # Sensitivities are relative to the mean, which the judge that changes moves: here to the others, there to all of both sides.
    before, after = (side.loc["j4", "estimate"] / side["estimate"].drop("j4").mean() for side in sides)
    average = (5 + (before + after) / 2) / 6
    error = np.hypot(*(side.loc["j4", "std_err"] for side in sides))
    assert (found.worst["kind"], found.worst["name"]) == ("sensitivity", "j4")
    # Within a standard error: the scores of the items are those of both sides.
    assert abs(found.size - (after - before) / average) < error
    assert f"changes by {found.size:+.2f}" in found.text


def test_times_are_cut_wherever_they_are_kept():
    table = dated([0.3, 0.3, 0.4], gamma=[1, 1, -1])
    table["date"] = pd.to_datetime(table["date"])
    table.loc[::50, "date"] = pd.NaT
    assert "cut before 2024-03-05: the sensitivity of 'j4'" in finding(hja.fit(table), "stability").text


@pytest.mark.parametrize(
    ("changes", "kind", "option"),
    [
        ({"gamma": [1, 1, -1, -1]}, "sensitivity", "model='ja'"),
        ({"position": [0, 0, 1.5, 1.5]}, "position", "position='judge'"),
    ],
)
def test_groups_by_the_advice_test_the_judge_that_changed(changes, kind, option):
    table = dated([0.25] * 4, **changes)
    told = finding(hja.fit(table), "stability").text
    [advice] = re.findall(r"hja\.by_group\(data, .*?\)", told)
    assert option in advice
    found = eval(advice, {"hja": hja, "data": table})
    tested = found.judge_tests
    worst = tested.loc[tested["p_value"].idxmin()]
    assert (worst["kind"], worst["judge"]) == (kind, "j4" if kind == "sensitivity" else "j2")
