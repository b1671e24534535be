"""Judges as a sample, from the data to what a user holds."""

from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, ndtr

import hjastats as hja
from hjastats.model.population import Space
from hjastats.solve.marginal import Marginal

# A maximum is found to a millionth of a standard error.
SAME = 1e-5


def panel(n_judges=40, n_each=20, n_items=5, *, sd=0.5, taste=0.0, position=0.0, seed=0):
    rng = np.random.default_rng(seed)
    judge, n = np.repeat(np.arange(n_judges), n_each), n_judges * n_each
    first = rng.integers(0, n_items, n)
    second = (first + 1 + rng.integers(0, n_items - 1, n)) % n_items
    mu, V = np.linspace(-1.2, 1.2, n_items), taste * np.cos(2.0 * np.arange(n_items))
    gamma, loading, own = (
        1.0 + sd * rng.standard_normal(n_judges),
        rng.standard_normal((2, n_judges))[0],
        rng.standard_normal(n_judges),
    )
    odds = (
        gamma[judge] * (mu[first] - mu[second]) + loading[judge] * (V[first] - V[second]) + position * (1 + own[judge])
    )
    wins = (rng.random(n) < expit(odds)).astype(float)
    prompt = rng.integers(0, 30, n)
    names = ([f"{name}{i}" for i in code] for name, code in (("j", judge), ("i", first), ("i", second)))
    return hja.Comparisons.from_arrays(*names, wins, columns=pd.DataFrame({"prompt": prompt}))


@pytest.fixture(scope="module")
def data():
    return panel(taste=1.0, position=0.4)


@pytest.fixture(scope="module")
def result(data):
    return hja.PopulationHJAModel.from_comparisons(data, rank=1, position="judge").fit()


def test_the_fit_is_a_maximum_of_the_marginal_likelihood(result):
    fit = result.fit
    assert result.converged
    for unit in np.eye(len(fit.found.values)):
        for side in (-0.02, 0.02):
            assert fit.marginal.value(fit.found.values + side * unit)[0] <= fit.loglike + 1e-9


def test_the_first_line_says_what_was_fitted(data, result):
    assert repr(result).splitlines()[0].startswith(f"population HJA(1) + position: {len(data):,} comparisons of ")


def test_swapping_the_two_items_turns_the_position_effect_only(data, result):
    frame = data.to_frame()
    swapped = hja.Comparisons.from_arrays(frame.judge, frame["second"], frame["first"], 1.0 - frame.outcome)
    other = hja.PopulationHJAModel.from_comparisons(swapped, rank=1, position="judge").fit()
    assert other.llf == pytest.approx(result.llf, abs=SAME)
    assert other.params["position"] == pytest.approx(-result.params["position"], abs=1e-4)
    pd.testing.assert_series_equal(other.params.filter(like="mu["), result.params.filter(like="mu["), atol=1e-4)


def test_the_order_of_rows_and_names_of_judges_change_nothing(data, result):
    frame = data.to_frame().sample(frac=1.0, random_state=1)
    renamed = hja.Comparisons.from_arrays("x" + frame.judge.str[::-1], frame["first"], frame["second"], frame.outcome)
    other = hja.PopulationHJAModel.from_comparisons(renamed, rank=1, position="judge").fit()
    assert other.llf == pytest.approx(result.llf, abs=SAME)


def test_rows_with_weights_are_as_many_rows():
    data = panel(20, 10)
    frame = data.to_frame()
    twice = hja.Comparisons.from_arrays(
        *(pd.concat([frame[c], frame[c]]) for c in ("judge", "first", "second", "outcome"))
    )
    weighted = hja.Comparisons.from_arrays(
        frame.judge, frame["first"], frame["second"], frame.outcome, weight=np.full(len(frame), 2.0), counts=False
    )
    fits = [hja.PopulationHJAModel.from_comparisons(d).fit() for d in (twice, weighted)]
    assert fits[0].llf == pytest.approx(fits[1].llf, abs=SAME)


def test_reported_parameters_lead_back_to_the_likelihood(result):
    assert result.model.loglike(result.params) == pytest.approx(result.llf, abs=1e-8)


def test_light_judges_shrink_to_the_consensus_and_heavy_ones_do_not():
    light, heavy = (hja.PopulationHJAModel.from_comparisons(panel(40, n)).fit() for n in (4, 80))
    spreads = [
        fit.sensitivity["estimate"].std() / fit.population.loc["sd[gamma]", "estimate"] for fit in (light, heavy)
    ]
    assert spreads[0] < 0.75 < spreads[1]


def test_predictions_of_known_judges_are_means_over_their_posterior(result):
    # Against a fine grid that knows nothing of modes.
    at, fit = result.fit.population, result.fit
    fine = Marginal(fit.design, 1, 15)
    means, covariances = fine.posterior(fit.found.values)
    np.testing.assert_allclose(fit.predicted[0], means, atol=0.02)
    np.testing.assert_allclose(fit.predicted[1], covariances, atol=0.02)
    np.testing.assert_allclose(result.scores.to_numpy(), at.scores(fit.predicted[0]), atol=1e-12)


def test_a_new_judge_is_the_mean_over_the_population(result):
    at, rng = result.fit.population, np.random.default_rng(0)
    z = rng.standard_normal((200_000, 3))
    scores, position = at.scores(z), at.coefficients(z)[:, 0]
    items = {item: i for i, item in enumerate(result.model.items)}
    drawn = expit(scores[:, items["i4"]] - scores[:, items["i3"]] + position).mean()
    table = result.get_prediction(item_a="i4", item_b="i3")
    assert result.predict(item_a="i4", item_b="i3")[0] == pytest.approx(drawn, abs=0.004)
    assert table["predicted"][0] == pytest.approx(result.predict(item_a="i4", item_b="i3")[0], abs=1e-4)
    assert table["ci_lower"][0] < table["predicted"][0] < table["ci_upper"][0]
    without = scores[:, items["i4"]] > scores[:, items["i3"]]
    assert result.share("i4", "i3")["share"].iloc[0] == pytest.approx(without.mean(), abs=0.004)


@pytest.mark.parametrize("what", ["share", "probability", "score"])
def test_errors_of_derived_quantities_agree_with_differences(result, what):
    fit, space = result.fit, result.fit.marginal.space

    def value(values):
        at = space.unpack(values)
        a, b = result.model.items.index("i4"), result.model.items.index("i2")
        gap, V = at.mu[a] - at.mu[b], at.V[a] - at.V[b]
        spread = np.sqrt((at.sensitivity * gap) ** 2 + V @ V)
        if what == "share":
            return ndtr(gap / spread)
        if what == "score":
            return at.mu[a]
        x, weight = np.polynomial.hermite_e.hermegauss(61)
        return expit(gap + at.means[0] + np.hypot(spread, at.sds[0]) * x) @ weight / weight.sum()

    slope = np.array(
        [
            (value(fit.found.values + 1e-5 * unit) - value(fit.found.values - 1e-5 * unit)) / 2e-5
            for unit in np.eye(space.n)
        ]
    )
    expected = np.sqrt(slope @ fit.covariance.covariance @ slope)
    found = {
        "share": lambda: result.share("i4", "i2")["std_err"].iloc[0],
        "probability": lambda: result.get_prediction(item_a="i4", item_b="i2")["se"].iloc[0],
        "score": lambda: result.consensus.loc["i4", "std_err"],
    }[what]()
    assert found == pytest.approx(expected, rel=1e-3)


def test_clusters_by_judge_are_outer_products_of_the_judges_gradients(data):
    result = hja.PopulationHJAModel.from_comparisons(data, rank=1, position="judge").fit(n_quadrature=9)
    fit, K = result.fit, len(result.model.judges)
    gradients = np.array(
        [
            (
                fit.marginal.loglike(fit.found.values + 1e-5 * unit)
                - fit.marginal.loglike(fit.found.values - 1e-5 * unit)
            )
            / 2e-5
            for unit in np.eye(len(fit.found.values))
        ]
    ).T
    bread = fit.model_covariance.covariance
    expected = K / (K - 1) * bread @ gradients.T @ gradients @ bread
    found = result.with_covariance("cluster", {"groups": "judge"}).fit.covariance.covariance
    np.testing.assert_allclose(found, expected, atol=2e-3 * np.abs(expected).max())


@pytest.mark.parametrize(("rank", "terms", "n_nodes"), [(0, {}, 31), (1, {}, 25), (0, {"ties": "davidson"}, 31)])
def test_what_a_cluster_contributes_is_how_its_weight_moves_the_gradient(data, rank, terms, n_nodes):
    """Of the integral: the nodes' own movement, which gradients have besides, vanishes with their number."""
    outcome = np.where(np.arange(data.n_rows) % 4 == 0, 0.5, data.outcome)
    tied = data.with_outcome(outcome) if terms.get("ties") else data
    fit = hja.PopulationHJAModel.from_comparisons(tied, rank=rank, **terms).fit(n_quadrature=n_nodes).fit
    design, at, step = fit.marginal.design, fit.found.values, 1e-4
    code = np.random.default_rng(5).integers(6, size=len(design.n))
    found = fit.marginal.influences(at, code, 6)

    def gradient(change):
        weight = 1.0 + change * (code == 2)
        moved = replace(design, n=design.n * weight, y=design.y * weight, counts=design.counts * weight[:, None])
        return fit.marginal.of(moved).value(at)[1]

    expected = (gradient(step) - gradient(-step)) / (2 * step)
    np.testing.assert_allclose(found[2], expected, atol=1e-5 * np.abs(expected).max())


def test_a_prompt_that_sharpens_all_verdicts_moves_judges_more_than_their_mean():
    """Of shared scales, judges take up most: errors by what rows add to gradients would be several times too large."""
    rng = np.random.default_rng(8)
    n_judges, n_each, n_items, n_prompts = 60, 40, 6, 24
    judge, prompt = np.repeat(np.arange(n_judges), n_each), rng.integers(n_prompts, size=n_judges * n_each)
    first = rng.integers(n_items, size=len(judge))
    second = (first + rng.integers(1, n_items, size=len(judge))) % n_items
    mu, sharp = np.linspace(-1.5, 1.5, n_items), np.exp(0.7 * rng.standard_normal(n_prompts))
    wins = rng.random(len(judge)) < expit(sharp[prompt] * (mu[first] - mu[second]))
    names = ([f"{name}{i:02d}" for i in code] for name, code in (("j", judge), ("i", first), ("i", second)))
    data = hja.Comparisons.from_arrays(*names, wins.astype(float), columns=pd.DataFrame({"prompt": prompt}))
    result = hja.PopulationHJAModel.from_comparisons(data).fit()
    error = result.with_covariance("cluster", {"groups": "prompt"}).consensus.std_err.reindex(data.items)
    drawn = []
    for _ in range(40):
        rows = np.concatenate([np.flatnonzero(prompt == g) for g in rng.integers(n_prompts, size=n_prompts)])
        again = hja.PopulationHJAModel.from_comparisons(data.subset(rows)).fit(warn_convergence=False)
        drawn.append(again.consensus.estimate.reindex(data.items))
    # A standard deviation of 40 draws is known to 11%.
    np.testing.assert_allclose(error, np.std(drawn, axis=0, ddof=1), rtol=0.4)


def test_clusters_by_prompt_are_in_addition_to_judges(result):
    robust = result.with_covariance("cluster", {"groups": "prompt"})
    assert "40 clusters (judge) and 30 clusters (prompt)" in robust.fit.choice.description
    ratio = robust.bse.filter(like="mu[") / result.bse.filter(like="mu[")
    assert ratio.between(0.5, 2.0).all()
    with pytest.raises(hja.OptionError, match="cov_type must be"):
        result.with_covariance("HC0")


def test_findings_say_what_prompts_ties_and_reading_do(result, data):
    told = {finding.topic: finding for finding in result.findings}
    assert {"prompts", "ties", "dropped", "swaps"} <= set(told)
    assert "by no more than chance" in told["prompts"].text
    few = replace(data, columns=data.columns.assign(prompt=np.arange(data.n_rows) % 9))
    clustered = hja.PopulationHJAModel.from_comparisons(few).fit(cov_type="cluster", cov_kwds={"groups": "prompt"})
    found = next(finding for finding in clustered.findings if finding.topic == "prompts")
    assert found.is_warning
    assert "(9 prompts)" in found.text
    assert "With so few prompts" in found.text


def test_a_file_gives_the_same_results(result, tmp_path):
    result.with_covariance("cluster", {"groups": "judge"}).to_json(tmp_path / "fit.json")
    again = hja.load_results(tmp_path / "fit.json")
    assert isinstance(again, hja.PopulationResults)
    pd.testing.assert_series_equal(again.params, result.params, atol=1e-9)
    pd.testing.assert_frame_equal(
        again.share("i4", "i0"), result.with_covariance("cluster").share("i4", "i0"), atol=1e-9
    )


def test_a_changed_file_is_refused(result):
    text = result.to_json().replace('"n_quadrature": 5', '"n_quadrature": 3')
    with pytest.raises(hja.ComparisonError, match="checksum"):
        hja.load_results(text)


def test_drawn_judges_have_the_spread_they_are_drawn_from():
    model = hja.PopulationHJAModel.from_comparisons(panel(300, 20, position=0.4), position="judge")
    params = model.fit().params
    again = hja.PopulationHJAModel.from_comparisons(model.simulate(params, rng=2), position="judge").fit()
    z = (again.params - params) / again.bse
    assert z.abs().max() < 4.0


def test_davidson_ties_have_a_propensity_for_each_judge():
    rng = np.random.default_rng(3)
    frame = panel(60, 20).to_frame()
    outcome = np.where(rng.random(len(frame)) < 0.2, 0.5, frame.outcome)
    tied = hja.Comparisons.from_arrays(frame.judge, frame["first"], frame["second"], outcome)
    result = hja.PopulationHJAModel.from_comparisons(tied, ties="davidson", tie="judge").fit()
    assert result.converged
    shares = result.predict(item_a="i4", item_b="i3", which="probs")
    assert shares.sum(axis=1)[0] == pytest.approx(1.0)
    assert shares["tie"][0] == pytest.approx(0.2, abs=0.06)


# Boundaries, in words


def test_judges_who_are_alike_have_no_spread_and_the_fit_says_so():
    result = hja.PopulationHJAModel.from_comparisons(panel(60, 40, 6, sd=0.0, seed=2), position="judge").fit()
    btl = hja.BTLModel.from_comparisons(panel(60, 40, 6, sd=0.0, seed=2), position="common").fit()
    assert result.fit.absent == ["gamma", "position"]
    assert result.llf == pytest.approx(btl.llf, abs=1e-6)
    np.testing.assert_allclose(result.consensus["std_err"], btl.consensus["std_err"], rtol=1e-5)
    assert np.isnan(result.population.loc["sd[gamma]", "std_err"])
    assert any("Judges do not differ in 'gamma', 'position'" in str(finding) for finding in result.findings)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (panel(1, 40), "one judge is no sample"),
        (panel(200, 1), "every judge gave one verdict"),
    ],
)
def test_no_sample_is_refused(data, words):
    with pytest.raises(hja.IdentificationError, match=words):
        hja.PopulationHJAModel.from_comparisons(data).fit()


def test_an_item_nobody_prefers_is_named():
    frame = panel().to_frame()
    outcome = frame.outcome.mask(frame["first"] == "i0", 0.0).mask(frame["second"] == "i0", 1.0)
    beaten = hja.Comparisons.from_arrays(frame.judge, frame["first"], frame["second"], outcome)
    with pytest.raises(hja.IdentificationError, match="above 'i0' without exception"):
        hja.PopulationHJAModel.from_comparisons(beaten).fit()
    rest = beaten.to_frame()
    kept = rest[(rest["first"] != "i0") & (rest["second"] != "i0")]
    fine = hja.Comparisons.from_arrays(kept.judge, kept["first"], kept["second"], kept.outcome)
    assert hja.PopulationHJAModel.from_comparisons(fine).fit().converged


def test_separated_judges_are_no_problem():
    result = hja.PopulationHJAModel.from_comparisons(panel(80, 5)).fit()
    assert result.converged
    assert np.isfinite(result.scores.to_numpy()).all()
    assert any("no problem here" in str(finding) for finding in result.findings)


def test_questions_about_single_judges_are_refused(result):
    with pytest.raises(NotImplementedError, match="judges as a sample"):
        _ = result.judges
    with pytest.raises(hja.ContrastError, match="judges are a sample"):
        result.pairwise("gamma")
    with pytest.raises(hja.OptionError, match="n_quadrature"):
        result.model.fit(n_quadrature=0)
    with pytest.raises(hja.OptionError, match="more than 20,000"):
        result.model.with_rank(3).fit(n_quadrature=9)


def test_fixed_and_sampled_judges_are_not_compared_by_likelihood(data, result):
    ja = hja.JAModel.from_comparisons(data, position="judge").fit(warn_convergence=False)
    with pytest.raises(hja.ComparisonError, match="do not compare"):
        hja.compare(result, ja)


# Tests of spreads


def test_a_spread_is_found_where_there_is_one_and_not_where_there_is_none():
    there = hja.PopulationHJAModel.from_comparisons(panel(60, 20, sd=0.7, position=0.5), position="judge").fit()
    assert there.spread_test("gamma").p_value < 0.01
    assert there.spread_test("position").p_value < 0.01
    none = hja.PopulationHJAModel.from_comparisons(panel(60, 20, sd=0.0, seed=5), position="judge").fit()
    assert none.spread_test("position").p_value > 0.05


def test_sensitivity_to_no_consensus_is_not_tested(result):
    with pytest.raises(hja.ContrastError, match="rank 0"):
        result.spread_test("gamma")
    rng = np.random.default_rng(2)
    frame = panel(40, 10).to_frame()
    noise = hja.Comparisons.from_arrays(
        frame.judge, frame["first"], frame["second"], rng.integers(0, 2, len(frame)) * 1.0
    )
    fit = hja.PopulationHJAModel.from_comparisons(noise).fit()
    with pytest.raises(hja.ContrastError, match="consensus cannot be told from none"):
        fit.spread_test("gamma")


def test_taste_is_found_by_the_bootstrap():
    result = hja.PopulationHJAModel.from_comparisons(panel(40, 20, taste=1.2)).fit()
    test = result.rank_test(n=9, rng=0)
    assert test.p_value == pytest.approx(0.1)
    assert "population JA against population HJA(1)" in repr(test)


def test_the_criterion_counts_judges(result):
    n_free = Space(5, 1, 0, 1).n
    assert result.df_model == n_free
    assert result.bic == pytest.approx(-2 * result.llf + np.log(40) * n_free)


def test_the_report_and_the_summary_speak_of_the_population(result):
    text = str(result.summary())
    assert "population of judges" in text
    assert "sd[gamma]" in text
    assert "adaptive Gauss-Hermite" in " ".join(text.split())
    assert "sd[gamma]" in result.report()


def test_the_steps_of_the_search_are_shown(result):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    path = np.array(result.fit.found.path)
    assert len(path) == 1 + result.fit.found.iterations
    assert (np.diff(path) > -1e-9 * abs(path[-1])).all()
    assert path[-1] == result.llf
    assert len(result.plot.convergence().get_lines()[0].get_ydata()) > 1


# Selection


def test_held_out_rows_of_known_judges_are_predicted_as_results_predict_them(data):
    model = hja.PopulationHJAModel.from_comparisons(data, rank=1, position="judge")
    held = model.row_folds(None, 5, np.random.default_rng(0))[0]
    trained = hja.PopulationHJAModel.from_comparisons(data.subset(~held), rank=1, position="judge").fit(n_random=0)
    rows = data.to_frame()[held]
    p = trained.predict(judge=rows.judge.to_numpy(), item_a=rows["first"].to_numpy(), item_b=rows["second"].to_numpy())
    expected = -np.mean(rows.outcome * np.log(p) + (1 - rows.outcome) * np.log1p(-p))
    assert model.held_out(held) == pytest.approx(expected, abs=1e-8)


def test_judges_held_out_whole_are_scored_by_their_marginal_likelihood(data):
    model = hja.PopulationHJAModel.from_comparisons(data, position="judge")
    held = model.row_folds("judge", 4, np.random.default_rng(0))[1]
    assert set(data.to_frame()[held].judge).isdisjoint(data.to_frame()[~held].judge)
    trained = hja.PopulationHJAModel.from_comparisons(data.subset(~held), position="judge").fit()
    others = hja.PopulationHJAModel.from_comparisons(data.subset(held), position="judge")
    expected = -others.loglike(trained.params) / held.sum()
    assert model.held_out(held) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("criterion", "groups"), [("bic", None), ("cv", None), ("cv", "judge")])
def test_the_rank_of_a_sample_is_found(criterion, groups):
    data = panel(60, 20, taste=1.0)
    selection = hja.select_rank(data, (0, 1), criterion, judges="sample", groups=groups, n_folds=3)
    assert selection.best == 1
    assert isinstance(selection.result, hja.PopulationResults)


def test_a_sample_has_no_bootstrap_of_ranks_in_selection(data):
    with pytest.raises(hja.OptionError, match="criterion"):
        hja.select_rank(data, criterion="loglik-bootstrap", judges="sample")


# Contrasts


def test_contrasts_may_mention_every_parameter_of_the_population(result):
    names = ["sd[gamma]", "corr[gamma, U1]", "V[i1, 1]", "position", "mu[i0] - mu[i1]"]
    found = result.contrast(names)
    assert found.estimate[0] == pytest.approx(result.params["sd[gamma]"])
    assert found.estimate[1] == pytest.approx(result.params["corr[gamma,U1]"])
    np.testing.assert_allclose(found.std_err[:4], result.bse[["sd[gamma]", "corr[gamma,U1]", "V[i1,1]", "position"]])
    assert len(result.contrast("mu[*]")) == 5
    by_function = result.contrast(lambda view: view.mu["i4"] / view.sd["gamma"])
    by_text = result.contrast("mu[i4] / sd[gamma]")
    assert by_function.std_err[0] == pytest.approx(by_text.std_err[0], rel=1e-5)


def test_what_is_no_parameter_of_the_population_is_refused_by_name(result):
    with pytest.raises(hja.ContrastError, match="gamma"):
        result.contrast("sd[taste]")
    with pytest.raises(hja.ContrastError):
        result.contrast("gamma[j1]")


# The front door


def test_the_front_door_takes_judges_as_a_sample(data):
    result = hja.fit(data, judges="sample")
    assert isinstance(result, hja.PopulationResults)
    assert result.choices.loc["judges", "chosen"] == "sample"
    assert result.model.rank == 1
    assert hja.fit(data, judges="sample", rank=0, position=None).model.position is None
    with pytest.raises(hja.OptionError, match="no effect"):
        hja.fit(data, judges="sample", model="ja")


# Individual taste


@pytest.fixture(scope="module")
def tasteful():
    """Each judge sees every pair twice; tastes of standard deviation one."""
    rng = np.random.default_rng(3)
    pairs = np.array([(a, b) for a in range(5) for b in range(5) if a != b])
    judge = np.repeat(np.arange(60), len(pairs))
    first, second = np.tile(pairs, (60, 1)).T
    scores = np.linspace(-1.0, 1.0, 5) + rng.standard_normal((60, 5))
    wins = (rng.random(len(judge)) < expit(scores[judge, first] - scores[judge, second])).astype(float)
    names = ([f"{name}{i:02d}" for i in code] for name, code in (("j", judge), ("i", first), ("i", second)))
    data = hja.Comparisons.from_arrays(*names, wins)
    return hja.PopulationHJAModel.from_comparisons(data, taste=True).fit(n_quadrature=256), scores


def test_taste_is_estimated_and_judges_are_predicted_by_it(tasteful):
    result, scores = tasteful
    assert result.converged
    row = result.population.loc["sd[taste]"]
    assert row.ci_lower < 1.0 < row.ci_upper
    assert row.std_err < 0.2
    own = (scores - scores.mean(axis=1, keepdims=True)).ravel()
    without = result.model.with_taste(False).fit()
    near, far = (np.square(each.scores.to_numpy().ravel() - own).mean() for each in (result, without))
    assert near < 0.5 * far
    # Most of the prediction errors of single scores lie within two conditional standard errors.
    inside = np.abs(result.scores.to_numpy().ravel() - own) < 1.96 * result.score_errors.to_numpy().ravel()
    assert 0.9 < inside.mean() < 0.99


def test_shares_and_new_judges_count_taste(tasteful):
    result, _ = tasteful
    at = result.fit.population
    order = list(result.fit.layout.items)
    gap = at.mu[order.index("i04")] - at.mu[order.index("i03")]
    spread = np.sqrt((at.sensitivity * gap) ** 2 + 2.0 * at.taste**2)
    assert result.share("i04", "i03").share.iloc[0] == pytest.approx(ndtr(gap / spread), abs=1e-12)
    sd = np.sqrt((at.sensitivity * at.mu) ** 2 + 0.8 * at.taste**2)
    np.testing.assert_allclose(result.new_judge().sd[order], sd, atol=1e-12)
    nodes, weights = np.polynomial.hermite_e.hermegauss(61)
    chance = weights @ expit(gap + spread * nodes) / weights.sum()
    found = result.get_prediction(item_a="i04", item_b="i03")
    assert found.predicted.iloc[0] == pytest.approx(chance, abs=1e-8)
    assert result.predict(item_a="i04", item_b="i03")[0] == pytest.approx(chance, abs=1e-8)


@pytest.mark.parametrize("what", ["share", "chance"])
def test_errors_with_taste_agree_with_differences(tasteful, what):
    result, _ = tasteful
    fit = result.fit

    def value(free):
        at = fit.marginal.space.unpack(free)
        gap = at.mu[4] - at.mu[1]
        spread = np.sqrt((at.sensitivity * gap) ** 2 + 2.0 * at.taste**2)
        nodes, weights = np.polynomial.hermite_e.hermegauss(61)
        return ndtr(gap / spread) if what == "share" else weights @ expit(gap + spread * nodes) / weights.sum()

    free = fit.found.values
    gradient = np.array([(value(free + 1e-5 * u) - value(free - 1e-5 * u)) / 2e-5 for u in np.eye(len(free))])
    expected = np.sqrt(fit.covariance.variances(gradient[None])[0])
    table = result.share("i04", "i01") if what == "share" else result.get_prediction(item_a="i04", item_b="i01")
    assert table[{"share": "std_err", "chance": "se"}[what]].iloc[0] == pytest.approx(expected, rel=1e-5)


def test_a_file_with_taste_gives_the_same_results(tasteful, tmp_path):
    result, _ = tasteful
    result.to_json(tmp_path / "fit.json")
    again = hja.load_results(tmp_path / "fit.json")
    assert again.model.taste
    assert again.llf == pytest.approx(result.llf, abs=1e-7)
    np.testing.assert_allclose(again.bse, result.bse, atol=1e-8)


def test_summary_and_report_speak_of_draws(tasteful):
    result, _ = tasteful
    text = str(result.summary())
    assert "sd[taste]" in text
    assert "tastes of their own" in text
    assert "expectation propagation" in text
    assert "sd[taste]" in result.report()


def test_judges_drawn_with_taste_have_it(tasteful):
    result, _ = tasteful
    model = result.model
    params = result.params.copy()
    params["sd[taste]"] = 2.0
    drawn = hja.PopulationHJAModel.from_comparisons(model.simulate(params, rng=1), taste=True).fit(n_quadrature=64)
    row = drawn.population.loc["sd[taste]"]
    assert abs(row.estimate - 2.0) < 3.0 * row.std_err


def test_taste_is_zero_where_judges_are_alike():
    data = panel(n_judges=40, sd=0.0, seed=4)
    result = hja.PopulationHJAModel.from_comparisons(data, taste=True).fit()
    assert result.population.loc["sd[taste]", "estimate"] < 0.3


def test_chunks_of_judges_give_the_serial_result(tasteful):
    result, _ = tasteful
    with joblib.parallel_config("threading", n_jobs=2):
        chunked = result.model.fit(n_quadrature=256)
    np.testing.assert_allclose(chunked.params, result.params, atol=1e-8)
    np.testing.assert_allclose(chunked.bse, result.bse, atol=1e-8)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_a_population_in_chunks_is_that_of_one_process(result, backend):
    with joblib.parallel_config(backend, n_jobs=3):
        chunked = result.model.fit()
    assert chunked.llf == pytest.approx(result.llf, abs=1e-9)
    np.testing.assert_allclose(chunked.params, result.params, atol=1e-7)


def test_a_dask_cluster_gives_the_serial_result(result):
    distributed = pytest.importorskip("distributed", reason="the cluster of this test is dask's")
    with (
        distributed.Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None),
        joblib.parallel_config("dask"),
    ):
        chunked = result.model.fit()
    np.testing.assert_allclose(chunked.params, result.params, atol=1e-7)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ties": "davidson"}, "taste is not available with ties='davidson'"),
        ({"rank": 3}, "a taste of their own cannot be told from the rest"),
    ],
)
def test_where_taste_cannot_be_it_is_refused(tasteful, change, words):
    data = tasteful[0].model.comparisons
    with_a_tie = data.with_outcome(np.r_[0.5, data.outcome[1:]])
    with pytest.raises(ValueError, match=words):
        hja.PopulationHJAModel.from_comparisons(with_a_tie, taste=True, **change)


def test_likelihood_ratios_of_noisy_likelihoods_are_refused(tasteful):
    with pytest.raises(hja.ContrastError, match="noise of draws"):
        tasteful[0].spread_test("gamma")
    with pytest.raises(hja.OptionError, match="number of draws"):
        tasteful[0].model.fit(n_quadrature=7)
