import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

import hjastats as hja
from hjastats.diagnostics.adjusted import holm
from hjastats.diagnostics.consistency import known_variances, mean_squares
from hjastats.diagnostics.misfit import misfit, two_tails
from hjastats.errors import ComparisonError, IdentificationError, OptionError
from hjastats.fitted import Restriction
from hjastats.model.design import Coefficients, Design
from hjastats.model.likelihood import evaluate

from ..panels import separated_panel, tied_panel


def panel(rng, n_judges, n_each, coins=(), n_items=6):
    """Judges alike, except for some who flip coins."""
    judge = np.repeat(np.arange(n_judges), n_each)
    first = rng.integers(n_items, size=len(judge))
    second = (first + rng.integers(1, n_items, size=len(judge))) % n_items
    mu = np.linspace(-1.5, 1.5, n_items)
    chance = np.where(np.isin(judge, coins), 0.5, expit(mu[first] - mu[second]))
    wins = (rng.random(len(judge)) < chance).astype(float)
    return hja.Comparisons.from_arrays([f"j{k:02d}" for k in judge], first, second, wins)


def test_mean_squares_are_those_of_erm():
    """A Rasch model is one judge comparing persons with items: infit and outfit by eRm (erm_oracle.R) at its estimates."""
    known = json.loads((Path(__file__).parent / "erm_oracle.json").read_text())
    solved = np.array(known["solved"])
    n_persons, n_items = solved.shape
    first, second = (index.ravel() for index in np.indices(solved.shape))
    zero = np.zeros(solved.size, dtype=int)
    rows = Design(zero, first, n_persons + second, np.ones(solved.size), solved.ravel() * 1.0, 1, n_persons + n_items)
    scores = np.concatenate([known["ability"], -np.array(known["easiness"])])[None]
    infit, outfit = mean_squares(rows, Coefficients(scores, np.zeros((1, 0)), np.zeros(0)), "items")
    # eRm's estimates are printed to 15 digits.
    np.testing.assert_allclose(infit, known["person_infit"] + known["item_infit"], rtol=1e-12)
    np.testing.assert_allclose(outfit, known["person_outfit"] + known["item_outfit"], rtol=1e-12)


@pytest.mark.parametrize("of", ["judges", "items"])
def test_known_variances_are_those_of_draws_at_the_truth(of):
    rng = np.random.default_rng(0)
    data = panel(rng, 3, 40)
    fit = hja.BTLModel.from_comparisons(data).fit().fit
    design, eta = fit.design, evaluate(fit.design, fit.at).eta
    n, p, n_draws = design.n.astype(int), expit(eta), 20_000
    wins = rng.binomial(n, p, size=(n_draws, len(n)))
    squares = wins * (1 - p) ** 2 + (n - wins) * p**2
    belongs = np.array([design.judge == k for k in range(3)])
    if of == "items":
        belongs = np.array([(design.first == i) | (design.second == i) for i in range(6)])
    v = p * (1 - p)
    infit = squares @ belongs.T / (belongs @ (n * v))
    outfit = (squares / v) @ belongs.T / (belongs @ n)
    for drawn, known in zip((infit, outfit), known_variances(design, evaluate(design, fit.at), of), strict=True):
        # Monte-Carlo errors of a variance: about sqrt(kurtosis / n_draws), at most 3%.
        np.testing.assert_allclose(drawn.var(axis=0), known, rtol=0.12)


def test_the_range_is_that_of_a_slow_bootstrap_through_the_public_interface():
    """Draw verdicts by the fitted probabilities, fit anew, take the mean squares of the rows."""
    data = panel(np.random.default_rng(1), 4, 60)
    model = hja.JAModel.from_comparisons(data)
    result = model.fit()
    found = result.judges.misfit(n=400).table
    rng, frame, chance, drawn = np.random.default_rng(2), data.to_frame(), result.predict(), []
    for _ in range(400):
        outcome = (rng.random(len(frame)) < chance).astype(float)
        again = hja.Comparisons.from_arrays(frame["judge"], frame["first"], frame["second"], outcome)
        refitted = hja.JAModel.from_comparisons(again).fit(warn_convergence=False)
        if refitted.converged:
            rows, at = refitted.model.row_design(), refitted.fit.at
            spread = np.sqrt(known_variances(rows, evaluate(rows, at), "judges"))
            drawn.append((np.array(mean_squares(rows, at)) - 1) / spread)
    rows = result.model.row_design()
    spread = np.sqrt(known_variances(rows, evaluate(rows, result.fit.at), "judges"))
    ends = 1 + spread * np.quantile(drawn, [0.1, 0.9], axis=0)
    # Quantiles at 2.5% of 400 draws are too noisy: the same draws have to lie on both sides of those at 10%.
    for which, name in enumerate(("infit", "outfit")):
        assert (found[f"{name}_lower"] < ends[0, which]).all()
        assert (found[f"{name}_upper"] > ends[1, which]).all()
        width = (found[f"{name}_upper"] - found[f"{name}_lower"]) / (ends[1, which] - ends[0, which])
        # Of a normal distribution 1.53; heavier tails have more.
        assert ((width > 1.2) & (width < 2.6)).all()


def test_coin_flippers_are_named_and_the_model_with_sensitivities_has_nothing_to_say():
    data = panel(np.random.default_rng(3), 20, 100, coins=[4, 11])
    found = hja.BTLModel.from_comparisons(data).fit().judges.misfit(n=300)
    worst = found.table[found.table["infit_holm"] < 0.05]
    assert worst.index.tolist() == ["j04", "j11"]
    assert (worst["infit"] > worst["infit_upper"]).all()
    assert found.is_warning
    assert found.text.startswith("Less predictable than the model says: ")
    assert "'j04' (" in found.text
    assert "Infit and outfit against 300 draws" in repr(found)
    freed = hja.JAModel.from_comparisons(data).fit().judges.misfit(n=300)
    assert not freed.is_warning
    assert freed.text == "Verdicts are as predictable as the model says, judge by judge."


def test_an_item_that_beats_and_loses_at_random_is_named():
    rng = np.random.default_rng(4)
    data = panel(rng, 8, 200)
    # What the odds of item 5 are depends on the judge: even for one half, by its score for the others.
    is_odd = ((data.first_index == 5) | (data.second_index == 5)) & (data.judge_index < 4)
    wins = np.where(is_odd, data.first_index != 5, data.outcome)
    changed = hja.Comparisons.from_arrays(data.to_frame()["judge"], data.first_index, data.second_index, wins * 1.0)
    table = hja.BTLModel.from_comparisons(changed).fit().judges.misfit("items", n=300).table
    assert table["infit_p"].idxmin() == "5"
    assert table.loc["5", "infit_holm"] < 0.05


def test_p_values_are_adjusted_over_both_statistics():
    table = hja.BTLModel.from_comparisons(panel(np.random.default_rng(5), 6, 50)).fit().judges.misfit(n=200).table
    together = np.concatenate([table["infit_p"], table["outfit_p"]])
    np.testing.assert_allclose(np.concatenate([table["infit_holm"], table["outfit_holm"]]), holm(together))


def test_rows_and_their_weights_have_the_same_table():
    data = panel(np.random.default_rng(6), 4, 80)
    frame = data.to_frame()
    counted = frame.groupby(["judge", "first", "second", "outcome"], as_index=False)["weight"].sum()
    once = hja.Comparisons.from_arrays(*(counted[name] for name in ("judge", "first", "second", "outcome", "weight")))
    tables = [hja.BTLModel.from_comparisons(each).fit().judges.misfit(n=150, rng=1).table for each in (data, once)]
    np.testing.assert_allclose(tables[0], tables[1], rtol=1e-6)


def test_ties_are_drawn_as_often_as_they_were_given():
    data = tied_panel()
    for ties in ("half", "davidson"):
        table = (
            hja.HJAModel.from_comparisons(data, rank=1, ties=ties, position="common").fit().judges.misfit(n=150).table
        )
        inside = (table["infit"] > table["infit_lower"] - 0.02) & (table["infit"] < table["infit_upper"] + 0.02)
        assert inside.all()
        # Half wins vary less than wins and losses: 1 is not what is expected.
        assert (table["infit_upper"] < 1).all() == (ties == "half")


def test_the_same_seed_gives_the_same_table_and_jobs_change_nothing():
    judges = hja.BTLModel.from_comparisons(panel(np.random.default_rng(7), 4, 50)).fit().judges
    tables = [judges.misfit(n=120, rng=3, n_jobs=n_jobs).table for n_jobs in (1, 1, 2)]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
    assert not tables[0].equals(judges.misfit(n=120, rng=4).table)


def test_crowds_have_it_by_bias_reduction_and_by_a_ridge():
    data = panel(np.random.default_rng(8), 40, 12)
    model = hja.JAModel.from_comparisons(data)
    for options in ({"penalty": "firth"}, {"alpha": 0.1}):
        found = model.fit_regularized(**options, warn_convergence=False).judges.misfit(n=150)
        assert found.n_draws == 150
        assert not found.is_warning


def test_tails_are_those_of_the_draws_and_go_on_beyond_them():
    rng = np.random.default_rng(9)
    draws = rng.gamma(50.0, 1 / 50.0, size=(20_000, 6))
    seen = stats.gamma(50.0, scale=1 / 50.0).ppf([0.01, 0.2, 0.5, 0.9, 0.999, 1 - 1e-6])
    p = two_tails(seen, draws)
    np.testing.assert_allclose(p[:4], [0.02, 0.4, 1.0, 0.2], rtol=0.1)
    assert 0.001 < p[4] < 0.005
    # Beyond all draws, and no shorter than the true tail.
    assert 2e-6 < p[5] < 1e-4
    assert two_tails(np.ones(1), np.ones((200, 1)))[0] == 1.0


@pytest.mark.parametrize(
    ("change", "error", "told"),
    [
        ({"n": 50}, OptionError, "a whole number from 100 to 1000000, got 50"),
        ({"n": 150.0}, OptionError, "a whole number from 100 to 1000000, got 150.0"),
        ({"of": "prompts"}, OptionError, "'judges'"),
    ],
)
def test_options_are_checked(change, error, told):
    judges = hja.BTLModel.from_comparisons(panel(np.random.default_rng(10), 3, 50)).fit().judges
    with pytest.raises(error, match=told):
        judges.misfit(**change)


def test_what_has_no_distribution_is_refused_in_a_sentence():
    data = panel(np.random.default_rng(11), 3, 50)
    frame = data.to_frame()
    soft = hja.Comparisons.from_arrays(frame["judge"], frame["first"], frame["second"], 0.2 + 0.6 * frame["outcome"])
    with pytest.raises(ComparisonError, match=r"soft preferences .* judges.cards\(\) has both"):
        hja.BTLModel.from_comparisons(soft).fit().judges.misfit()
    with pytest.raises(IdentificationError, match=r"use fit_regularized\(\)"):
        hja.BTLModel.from_comparisons(separated_panel()).fit(warn_convergence=False).judges.misfit()
    result = hja.BTLModel.from_comparisons(data).fit()
    n_free = result.fit.layout.n_free
    held = replace(result.fit, restriction=Restriction(["a = b"], np.eye(1, n_free), np.zeros((n_free, n_free))))
    with pytest.raises(OptionError, match="held to equations"):
        misfit(held, result.model.observations, "judges", n=100, rng=0)
