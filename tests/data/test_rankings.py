"""Rankings and ratings as comparisons: real ones against R and a bootstrap over rankings, drawn ones against what drew them."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import hjastats as hja

# Errors of a hundred draws vary by a fourteenth; of these the median over items by much less.
BOOTSTRAP, DRAWS = 0.1, 100


@pytest.fixture(scope="module")
def wmt13(shared_data):
    return hja.read_comparisons(shared_data / "wmt13_fren_rankings" / "rankings_long.csv")


def test_five_way_rankings_of_workers_are_read_in_one_call(wmt13):
    assert wmt13.n_rows == 10 * 10_196
    assert (wmt13.n_judges, wmt13.n_items, wmt13.cluster, wmt13.has_order) == (218, 13, "ranking", True)
    assert wmt13.made_of == "10,196 rankings: pairs within each 'judge' and 'ranking'"
    assert 0.1 < np.mean(wmt13.outcome == 0.5) < 0.5


def test_errors_clustered_by_ranking_are_those_of_a_bootstrap_over_rankings(wmt13):
    model = hja.BTLModel.from_comparisons(wmt13)
    naive, clustered = model.fit(), model.fit(cov_type="cluster", cov_kwds={"groups": "ranking"})
    rng = np.random.default_rng(0)
    codes, n = pd.factorize(wmt13.columns["ranking"])[0], wmt13.columns["ranking"].nunique()
    # How often a ranking is drawn is the weight of its pairs.
    drawn = [rng.multinomial(n, np.full(n, 1 / n))[codes].astype(float) for _ in range(DRAWS)]
    scores = [_scores(wmt13, weight) for weight in drawn]
    error = np.std(scores, axis=0, ddof=1)
    assert np.median(clustered.bse / error) == pytest.approx(1.0, abs=BOOTSTRAP)
    assert (np.abs(np.log(clustered.bse / error)) < 0.3).all()
    # Five items make ten pairs, as if they were independent.
    assert (clustered.bse / naive.bse).median() > 1.1
    finding = next(f for f in naive.findings if f.topic == "prompts")
    assert finding.is_warning
    assert "those shown are too small" in finding.text


def _scores(data, weight):
    """Bradley-Terry-Luce by Zermelo's algorithm, which shares nothing with ours: wins over what was to be won."""
    wins, games = np.zeros(data.n_items), np.zeros((data.n_items, data.n_items))
    np.add.at(wins, data.first_index, weight * data.outcome)
    np.add.at(wins, data.second_index, weight * (1 - data.outcome))
    np.add.at(games, (data.first_index, data.second_index), weight)
    games += games.T
    worth = np.ones(data.n_items)
    for _ in range(300):
        worth = wins / np.sum(games / (worth[:, None] + worth), axis=1)
        worth /= np.exp(np.log(worth).mean())
    return np.log(worth)


def test_the_best_and_the_worst_of_three_have_the_worths_of_plackett_luce(shared_data, oracles):
    oracle = json.loads((oracles / "r" / "plackettluce.json").read_text())["beans"]["full"]["coef"]
    table = pd.read_csv(shared_data / "beans_best_worst" / "beans.csv")
    data = hja.read_comparisons(table, single_judge="farms", item=["variety_a", "variety_b", "variety_c"])
    assert data.n_rows == 3 * len(table)
    local = _against_the_local_variety(table)
    items = [row["term"] for row in oracle]
    both = hja.Comparisons.from_arrays(
        "farms",
        np.concatenate([data.to_frame()["first"], local["first"]]),
        np.concatenate([data.to_frame()["second"], local["second"]]),
        np.concatenate([data.outcome, local["outcome"]]),
        columns=pd.DataFrame({"farm": np.concatenate([data.columns["farm"], local["farm"]])}),
    )
    model = hja.BTLModel.from_comparisons(both)
    theirs = np.array([[row["est"], row["se"]] for row in oracle[1:]], dtype=float)
    contrasts = [f"mu[{item}] - mu[{items[0]}]" for item in items[1:]]
    # To R a farm's ranking and its three comparisons with the local variety are four independent rankings.
    as_r = np.where(np.arange(both.n_rows) < data.n_rows, both.columns["farm"], np.arange(both.n_rows).astype(str))
    found, by_farm = (
        model.fit(cov_type="cluster", cov_kwds={"groups": groups}).contrast(contrasts).summary_frame()
        for groups in (as_r, "farm")
    )
    assert (np.abs(found["estimate"] - theirs[:, 0]) < 0.3 * theirs[:, 1]).all()
    # Pairs lose little of what whole rankings tell, and farms hang together.
    np.testing.assert_allclose(found["std_err"] / theirs[:, 1], 1.03, atol=0.03)
    assert (by_farm["std_err"] / found["std_err"]).min() > 1.1


def _against_the_local_variety(table):
    """What each farm said of its three varieties against its own."""
    parts = []
    for side in "abc":
        is_better = (table[f"var_{side}"] == "Better").to_numpy() * 1.0
        parts.append(
            pd.DataFrame(
                {"farm": table["farm"], "first": table[f"variety_{side}"], "second": "Local", "outcome": is_better}
            )
        )
    return pd.concat(parts, ignore_index=True)


def test_ratings_give_the_scores_that_made_them_and_all_of_their_strength():
    """Ratings with normal noise: grades tell more of the scores than signs, whose estimates are noisier."""
    rng, quality, n = np.random.default_rng(3), np.array([-0.8, -0.2, 0.1, 0.9]), 400
    rating = np.clip(np.round(5 + quality + 1.5 * rng.normal(size=(n, 1)) + rng.normal(size=(n, 4))), 1, 10)
    table = pd.DataFrame(
        {
            "judge": "ann",
            "question_id": np.repeat(np.arange(n), 4),
            "model": np.tile(list("abcd"), n),
            "score": rating.ravel(),
        }
    )
    data = hja.read_comparisons(table)
    assert data.n_rows == 6 * n
    result = hja.fit(data)
    assert result.model.ties == "ordinal"
    assert result.choices.loc["errors", "chosen"] == "cluster"
    assert stats.pearsonr(result.estimates("mu")["estimate"], quality)[0] > 0.99
    signs = data.with_outcome(0.5 + 0.5 * np.sign(data.outcome - 0.5))
    rough = hja.BTLModel.from_comparisons(signs, ties="ordinal").fit(
        cov_type="cluster", cov_kwds={"groups": "question_id"}
    )
    z = [np.abs(fit.contrast("mu[d] - mu[a]").z[0]) for fit in (result, rough)]
    assert z[0] > z[1]
