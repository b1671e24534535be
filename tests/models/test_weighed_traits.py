"""Judges who weigh traits of the items each in its own way: JA and HJA with ``items``, against direct ways to the same."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_expit

import hjastats as hja

# The same model in other coordinates: what is left is where the search stops.
SAME = 1e-8
# As required by the specification.
CONSTRAINED = 1e-6
# BFGS with differences of the gradient stops a little earlier.
BFGS = 1e-5

N_JUDGES, N_ITEMS = 6, 9
BETA, GAMMA = np.array([0.8, -0.5]), np.array([1.6, 1.3, 1.0, 0.9, 0.8, 0.4])


def weighing(n=3000, taste=0.0, gamma=GAMMA, seed=0):
    """Verdicts of judges who weigh size and price, and the table of the items."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {"size": rng.normal(size=N_ITEMS), "price": rng.normal(size=N_ITEMS), "noise": rng.normal(size=N_ITEMS)},
        index=[f"item-{i}" for i in range(N_ITEMS)],
    )
    weights = np.outer(gamma, BETA) + taste * np.outer([1, -1, 1, -1, 1, -1], [0.5, 0.8])
    scores = weights @ (table[["size", "price"]] - table[["size", "price"]].mean()).to_numpy().T
    judge, first = rng.integers(N_JUDGES, size=n), rng.integers(N_ITEMS, size=n)
    second = (first + rng.integers(1, N_ITEMS, size=n)) % N_ITEMS
    outcome = (rng.random(n) < expit(scores[judge, first] - scores[judge, second])).astype(float)
    names = np.array([f"judge-{k}" for k in range(N_JUDGES)])
    data = hja.Comparisons.from_arrays(names[judge], table.index[first], table.index[second], outcome)
    return data.with_metadata(items=table)


@pytest.fixture(scope="module")
def data():
    return weighing(taste=1.0)


def in_span(model, traits):
    """Equations that say the consensus of a free model lies in the span of traits of its items."""
    known = np.hstack([np.ones((len(traits), 1)), traits])
    outside = np.linalg.qr(known, mode="complete")[0][:, known.shape[1] :].T
    matrix = np.zeros((len(outside), model.nparams))
    matrix[:, model.layout.slices["mu"]] = outside
    return matrix, np.zeros(len(outside))


# Against other ways to the same


@pytest.mark.parametrize("rank", [0, 1, 2])
@pytest.mark.parametrize("options", [{}, {"position": "judge"}], ids=str)
def test_traits_that_span_everything_leave_the_model_free(panel, rank, options):
    values = np.random.default_rng(5).normal(size=(panel.n_items, panel.n_items - 1))
    items = pd.DataFrame(values, panel.items).add_prefix("t")
    free = hja.HJAModel.from_comparisons(panel, rank=rank, **options).fit()
    spanned = hja.HJAModel.from_comparisons(panel, rank=rank, items=items, **options).fit()
    assert spanned.df_model == free.df_model
    assert spanned.llf == pytest.approx(free.llf, abs=SAME)
    np.testing.assert_allclose(spanned.scores, free.scores, atol=SAME)
    for table in ("consensus", "sensitivity"):
        ours, theirs = getattr(spanned, table), getattr(free, table)
        np.testing.assert_allclose(ours[["estimate", "std_err"]], theirs[["estimate", "std_err"]], atol=SAME)
    shared = [name for name in free.params.index if name in spanned.params.index]
    np.testing.assert_allclose(spanned.params[shared], free.params[shared], atol=10 * SAME)
    np.testing.assert_allclose(spanned.bse[shared], free.bse[shared], atol=10 * SAME)


@pytest.mark.parametrize("information", ["expected", "observed"])
@pytest.mark.parametrize("position", [None, "judge"])
def test_ja_is_free_ja_held_to_a_consensus_in_the_span(data, position, information):
    result = hja.JAModel.from_comparisons(data, items="~ size + noise", position=position).fit(information=information)
    free = hja.JAModel.from_comparisons(data, position=position)
    held = free.fit_constrained(in_span(free, result.model.traits.values), information=information)
    assert result.df_model == held.df_model
    assert result.llf == pytest.approx(held.llf, abs=CONSTRAINED)
    for table in ("consensus", "sensitivity"):
        ours, theirs = getattr(result, table), getattr(held, table)
        np.testing.assert_allclose(ours[["estimate", "std_err"]], theirs[["estimate", "std_err"]], atol=CONSTRAINED)


def by_bfgs(data, traits, rank, start):
    """Weights of the judges ``M = A B'`` with factors of full size, by BFGS; the value does not depend on the gauge."""
    K, p, q = data.n_judges, traits.shape[1], rank + 1
    difference = traits[data.first_index] - traits[data.second_index]

    def value(x):
        a, b = x[: K * q].reshape(K, q), x[K * q :].reshape(p, q)
        by_trait = a[data.judge_index] @ b.T
        eta = (by_trait * difference).sum(axis=1)
        slope = expit(eta) - data.outcome
        to_weights = np.zeros((K, p))
        np.add.at(to_weights, data.judge_index, slope[:, None] * difference)
        loss = -(data.outcome * log_expit(eta) + (1 - data.outcome) * log_expit(-eta)).sum()
        return loss / len(eta), np.concatenate([(to_weights @ b).ravel(), (to_weights.T @ a).ravel()]) / len(eta)

    found = minimize(value, start, jac=True, method="BFGS", options={"gtol": 1e-10, "maxiter": 2000})
    a, b = found.x[: K * q].reshape(K, q), found.x[K * q :].reshape(p, q)
    return -found.fun * len(difference), a @ b.T @ traits.T


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_the_estimate_is_what_bfgs_finds_with_factors(data, rank):
    model = hja.HJAModel.from_comparisons(data, rank=rank, items="~ size + price + noise")
    result = model.fit()
    size = (rank + 1) * (data.n_judges + 3)
    starts = np.random.default_rng(1).normal(size=(8, size))
    found = max((by_bfgs(data, model.traits.values, rank, start) for start in starts), key=lambda one: one[0])
    assert result.llf == pytest.approx(found[0], abs=BFGS)
    np.testing.assert_allclose(result.scores, found[1], atol=100 * BFGS)
    assert result.df_model == (rank + 1) * (data.n_judges + 3 - 1 - rank)


def test_with_one_judge_it_is_btl_on_traits(data):
    one = data.subset(data.judge_index == 0)
    alone = hja.JAModel.from_comparisons(one, items="~ size + price").fit()
    pooled = hja.BTLModel.from_comparisons(one, items="~ size + price").fit()
    assert alone.llf == pytest.approx(pooled.llf, abs=SAME)
    np.testing.assert_allclose(alone.traits, pooled.traits, atol=SAME)


def test_judges_that_are_alike_have_the_coefficients_of_btl():
    alike = weighing(n=40_000, gamma=np.ones(N_JUDGES), seed=3)
    ja = hja.JAModel.from_comparisons(alike, items="~ size + price").fit()
    btl = ja.model.pooled().fit()
    # Each within its errors of the other: sensitivities cost next to nothing.
    difference = np.abs(ja.traits["estimate"] - btl.traits["estimate"])
    assert (difference < 0.5 * btl.traits["std_err"]).all()
    test = ja.compare_lr_test(btl)
    assert test.df_diff == N_JUDGES - 1
    assert test.pvalue > 0.01


# What must not matter


@pytest.mark.parametrize("rank", [0, 1])
def test_swapping_sides_and_relabelling_change_nothing_else(data, rank):
    result = hja.HJAModel.from_comparisons(data, rank=rank, items="~ size + price + noise").fit()
    swapped = hja.Comparisons.from_arrays(
        np.array(data.judges, dtype=object)[data.judge_index],
        np.array(data.items, dtype=object)[data.second_index],
        np.array(data.items, dtype=object)[data.first_index],
        1.0 - data.outcome,
    ).with_metadata(items=data.item_metadata)
    names = {item: f"x{i}" for i, item in enumerate(reversed(data.items))}
    renamed = hja.Comparisons.from_arrays(
        np.array(data.judges, dtype=object)[data.judge_index],
        np.array([names[item] for item in data.items], dtype=object)[data.first_index],
        np.array([names[item] for item in data.items], dtype=object)[data.second_index],
        data.outcome,
    ).with_metadata(items=data.item_metadata.rename(index=names))
    for other in (swapped, renamed):
        again = hja.HJAModel.from_comparisons(other, rank=rank, items="~ size + price + noise").fit()
        assert again.llf == pytest.approx(result.llf, abs=SAME)
        np.testing.assert_allclose(again.traits, result.traits, atol=CONSTRAINED)
        np.testing.assert_allclose(again.sensitivity, result.sensitivity, atol=CONSTRAINED)


@pytest.mark.parametrize("rank", [0, 1])
def test_other_traits_of_the_same_span_are_the_same_model(data, rank):
    one = hja.HJAModel.from_comparisons(data, rank=rank, items="~ size + price").fit()
    other = hja.HJAModel.from_comparisons(data, rank=rank, items="~ I(size + price) + I(100 * size)").fit()
    np.testing.assert_allclose(other.scores, one.scores, atol=CONSTRAINED)
    np.testing.assert_allclose(other.consensus, one.consensus, atol=CONSTRAINED)
    price = other.contrast("beta[I(size + price)]")
    assert price.estimate[0] == pytest.approx(one.params["beta[price]"], abs=CONSTRAINED)
    assert price.std_err[0] == pytest.approx(one.bse["beta[price]"], abs=CONSTRAINED)


@pytest.mark.parametrize(
    "limit", [{"WHOLE_SCORES": 0}, {"DENSE_START": 0}, {"DENSE_SHARED": 0}, {"MANY_STARTS_FREE": 0}], ids=str
)
def test_large_panels_take_other_ways_to_the_same(data, set_limits, limit):
    options = {"rank": 1, "items": "~ size + price + noise", "position": "common"}
    small = hja.HJAModel.from_comparisons(data, **options).fit()
    set_limits(**limit)
    large = hja.HJAModel.from_comparisons(data, **options).fit()
    assert large.llf == pytest.approx(small.llf, abs=CONSTRAINED)
    np.testing.assert_allclose(large.params, small.params, atol=1e-4)
    np.testing.assert_allclose(large.bse, small.bse, rtol=1e-4)


@pytest.mark.parametrize(
    "options",
    [{}, {"position": "judge"}, {"ties": "davidson", "tie": "judge"}, {"ties": "ordinal", "position": "common"}],
    ids=str,
)
@pytest.mark.parametrize("rank", [0, 1])
def test_gradients_of_the_reported_parameters_are_finite_differences(data, rank, options):
    if "ties" in options:
        data = data.with_outcome(np.where(np.arange(data.n_rows) % 9 == 0, 0.5, data.outcome))
    model = hja.HJAModel.from_comparisons(data, rank=rank, items="~ size + price + noise", **options)
    fitted = model.fit()
    params = fitted.params.to_numpy() + np.random.default_rng(0).normal(size=model.nparams) * 0.05
    steps = 1e-5 * np.eye(model.nparams)
    numeric = [(model.loglike(params + step) - model.loglike(params - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(model.score(params), numeric, atol=1e-3)
    np.testing.assert_allclose(model.score_obs(params).sum(axis=0), model.score(params), atol=1e-8)
    bent = [(model.score(params + step) - model.score(params - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(model.hessian(params), bent, atol=1e-3 * np.abs(bent).max())
    free = model.untransform_params(fitted.params)
    np.testing.assert_allclose(model.transform_params(free), fitted.params, atol=1e-9)
    moved = [
        (model.transform_params(free + s) - model.transform_params(free - s)) / 2e-6 for s in 1e-6 * np.eye(len(free))
    ]
    np.testing.assert_allclose(model.transform_jacobian(free), np.transpose(moved), atol=1e-6)


# What a user does with it


def test_models_are_nested_where_their_traits_are(data):
    def fit(model=hja.JAModel, **options):
        return model.from_comparisons(data, **options).fit()

    one, two, free = fit(items="~ size"), fit(items="~ size + price"), fit()
    pooled, hja1 = fit(hja.BTLModel, items="~ size"), fit(hja.HJAModel, rank=1, items="~ size + price")
    judgewise = fit(hja.JudgewiseBTLModel)
    assert two.compare_lr_test(one).df_diff == 1
    assert free.compare_lr_test(two).df_diff == N_ITEMS - 1 - 2
    assert one.compare_lr_test(pooled).df_diff == N_JUDGES - 1
    assert two.compare_lr_test(pooled).df_diff == N_JUDGES
    assert judgewise.compare_lr_test(hja1).df_diff == N_JUDGES * (N_ITEMS - 1) - 2 * N_JUDGES
    # With as many directions as traits, judges weigh them freely.
    assert hja1.compare_lr_test(two).df_diff == N_JUDGES - 1
    for large, small in (
        (one, fit(items="~ price")),
        (two, free),
        (one, fit(hja.BTLModel)),
        (pooled, one),
        (free, hja1),
        (fit(hja.BTLModel), one),
    ):
        with pytest.raises(hja.ComparisonError, match="is not nested"):
            large.compare_lr_test(small)


def test_the_rank_is_tested_against_judges_who_weigh_all_traits_freely(data):
    result = hja.JAModel.from_comparisons(data, items="~ size + price + noise").fit()
    test = result.rank_test()
    assert test.df == (N_JUDGES - 1) * 2
    assert "HJA(2) on size, price, noise" in str(test)
    with pytest.raises(hja.IdentificationError, match="rank 2 is the largest possible"):
        result.model.saturated().fit().rank_test()
    boot = result.rank_test("bootstrap", n=9)
    assert boot.p_value == pytest.approx(0.1)


def test_judges_of_one_direction_are_found_by_the_rank(data):
    selection = hja.select_rank(data, items="~ size + price + noise")
    assert selection.best == 1
    assert list(selection.table.index) == ["BTL", 0, 1, 2]
    assert {result.model.items_formula for result in selection.results.values()} == {"~ size + price + noise"}
    by_folds = hja.select_rank(data, criterion="cv", items="~ size + price + noise", n_folds=3)
    assert by_folds.best in (1, 2)
    assert len(selection.strengths) == 2


def test_an_item_that_was_compared_is_predicted_where_it_is(data):
    result = hja.HJAModel.from_comparisons(data, rank=1, items="~ size + price").fit()
    told = result.predict_item(data.item_metadata, against="item-0")
    np.testing.assert_allclose(result.predict_item(data.item_metadata)["estimate"], result.fit.parts.mu, atol=1e-12)
    assert told.loc["item-2", "p"] == pytest.approx(result.contrast("p[item-2, item-0]").estimate[0])
    assert told.loc["item-2", "std_err"] == pytest.approx(result.contrast("mu[item-2] - mu[item-0]").std_err[0])


def test_contrasts_of_coefficients_and_of_scores_agree(data):
    result = hja.JAModel.from_comparisons(data, items="~ size").fit()
    a, b = data.item_metadata["size"][["item-1", "item-0"]]
    by_scores = result.contrast("mu[item-1] - mu[item-0]")
    by_slope = result.contrast(f"{a - b} * beta[size]")
    assert by_scores.estimate[0] == pytest.approx(by_slope.estimate[0])
    assert by_scores.std_err[0] == pytest.approx(by_slope.std_err[0])
    assert result.wald_test("beta[size] = 0", scalar=True).pvalue < 1e-6


@pytest.mark.parametrize("rank", [0, 1])
def test_weights_of_judges_make_up_their_scores_and_their_mean_is_the_consensus(data, rank):
    result = hja.HJAModel.from_comparisons(data, rank=rank, items="~ size + price + noise").fit()
    table = result.judges.trait_weights()
    weights = table["estimate"].to_numpy().reshape(N_JUDGES, 3)
    np.testing.assert_allclose(weights @ result.model.traits.values.T, result.scores, atol=1e-12)
    np.testing.assert_allclose(weights.mean(axis=0), result.traits["estimate"], atol=1e-12)
    contrast = result.contrast("W[judge-2, size]")
    assert table.loc[("judge-2", "size"), "estimate"] == pytest.approx(contrast.estimate[0])
    assert table.loc[("judge-2", "size"), "std_err"] == pytest.approx(contrast.std_err[0])
    assert result.contrast("W[judge-0, price] - W[judge-1, price]").std_err[0] > 0.0


def test_shares_of_judges_are_of_what_is_known_of_the_traits(data):
    result = hja.JAModel.from_comparisons(data, items="~ size").fit()
    size, p = data.item_metadata["size"].to_numpy(), result.fittedvalues
    slope = result.sensitivity["estimate"].to_numpy()[data.judge_index] * (
        size[data.first_index] - size[data.second_index]
    )
    known = np.bincount(data.judge_index, p * (1.0 - p) * slope**2)
    shares = result.judges.effective_number().shares[list(data.judges)]
    np.testing.assert_allclose(shares, known / known.sum(), rtol=1e-9)
    np.testing.assert_allclose(result.judges.value()["share"][list(data.judges)], shares, rtol=1e-6)


def test_weights_of_judges_need_traits_that_say_all(data):
    free = hja.JAModel.from_comparisons(data).fit()
    assert "trait_weights" not in dir(free.judges)
    with pytest.raises(hja.OptionError, match="need traits of the items"):
        free.judges.trait_weights()
    drawn = hja.BTLModel.from_comparisons(data, items="~ size", random="items").fit()
    with pytest.raises(hja.OptionError, match="without random='items'"):
        drawn.judges.trait_weights()


def test_a_coefficient_may_be_held(data):
    model = hja.HJAModel.from_comparisons(data, rank=1, items="~ size + price + noise")
    held = model.fit_constrained("beta[noise] = 0")
    assert held.bse["beta[noise]"] == 0.0
    assert held.df_model == model.df_model - 1
    profile = model.fit().conf_int(method="profile").loc["beta[size]"]
    wald = model.fit().conf_int().loc["beta[size]"]
    np.testing.assert_allclose(profile, wald, atol=0.05)


def test_robust_errors_shrinkage_and_bias_reduction_are_available():
    data = weighing()
    model = hja.JAModel.from_comparisons(data, items="~ size + price", position="judge")
    plain, robust = model.fit(), model.fit(cov_type="HC0")
    np.testing.assert_allclose(robust.bse, plain.bse, rtol=0.3)
    shrunk = model.fit_regularized(1.0)
    assert abs(shrunk.params["beta[size]"]) < abs(plain.params["beta[size]"])
    assert shrunk.scores.to_numpy() == pytest.approx(model.structure.nearest(shrunk.scores.to_numpy()))
    less_biased = hja.JAModel.from_comparisons(data, items="~ size + price").fit_regularized(penalty="firth")
    assert less_biased.converged
    drawn = plain.bootstrap(n=50).params[["beta[size]", "beta[price]"]].std()
    np.testing.assert_allclose(drawn, plain.bse[drawn.index], rtol=0.4)


def test_newton_of_statsmodels_ends_where_ours_does(data):
    model = hja.HJAModel.from_comparisons(data, rank=1, items="~ size + price + noise")
    assert model.fit(method="bfgs").llf == pytest.approx(model.fit().llf, abs=SAME)


def test_items_that_nobody_compared_are_linked_by_their_traits():
    panel = weighing(n=2000)
    low = panel.first_index < 4
    apart = panel.subset(low == (panel.second_index < 4))
    with pytest.raises(hja.IdentificationError, match="fall into 2 groups"):
        hja.JAModel.from_comparisons(apart).fit()
    result = hja.JAModel.from_comparisons(apart, items="~ size + price").fit()
    assert (np.abs(result.traits["estimate"] - BETA[[0, 1]]) < 4 * result.traits["std_err"]).all()
    assert "their traits do" in " ".join(finding.text for finding in result.findings)


@pytest.mark.parametrize("options", [{"rank": 0}, {"rank": 1, "position": "common"}], ids=str)
def test_fits_come_back_from_files(data, options):
    result = hja.HJAModel.from_comparisons(data, items="~ size + price", **options).fit()
    again = hja.load_results(result.to_json())
    assert type(again) is hja.TraitResults
    assert again.model.options == result.model.options
    pd.testing.assert_frame_equal(again.traits, result.traits)
    fewer = result.model.without_judges(["judge-1"])
    assert fewer.options == result.model.options
    assert result.model.with_position("judge").options["items"] == "~ size + price"


def test_the_summary_and_the_page_show_traits_and_judges(data):
    result = hja.HJAModel.from_comparisons(data, rank=1, items="~ size + price").fit()
    text = str(result.summary())
    for part in ("on size, price", "traits of items", "sensitivity gamma", "disagreement (h its size"):
        assert part in text
    assert "traits of items" in result.report()
    assert {"traits", "predict_item", "sensitivity", "rank_test"} <= set(dir(result))
    own = {"traits", "predict_item", "wald_test_terms"}
    assert set(dir(result)) - set(dir(hja.HJAModel.from_comparisons(data).fit())) == own
    assert "instability" not in dir(result.judges)


@pytest.mark.parametrize("model", [hja.BTLModel, hja.JAModel])
def test_a_coefficient_that_runs_to_infinity_is_not_shown(data, model):
    outcome = np.where(data.first_index == 0, 1.0, np.where(data.second_index == 0, 0.0, data.outcome))
    table = pd.DataFrame({"first": np.arange(N_ITEMS) == 0, "place": np.arange(N_ITEMS) * 1.0}, list(data.items))
    with pytest.warns(hja.SeparationWarning, match="item-0"):
        result = model.from_comparisons(data.with_outcome(outcome), items=table.astype(float)).fit()
    assert np.isnan(result.traits.loc["first", "estimate"])
    assert not np.isnan(result.traits.loc["place", "estimate"])
    assert result.predict_item({"first": 1.0, "place": 3.0})["estimate"].isna().all()
    chosen = hja.fit(data.with_outcome(outcome).with_metadata(items=table), items="~ first + place")
    assert "'item-0' without limit" in chosen.choices.loc["penalty", "reason"]
    assert chosen.traits["std_err"].notna().all()


# What is refused


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (
            hja.HJAModel,
            {"rank": 1, "items": "~ size"},
            r"min\(n_judges - 1, n_traits - 1\) = 0 for 6 judges who weigh 1 trait",
        ),
        (hja.HJAModel, {"rank": 2, "items": "~ size + price"}, "between 0 and .* = 1 for 6 judges who weigh 2 traits"),
        (hja.JAModel, {"items": "~ sise"}, "sise"),
        (hja.JAModel, {"items": "~ size + I(2 * size)"}, "says nothing about the items"),
        (hja.JAModel, {"items": "~ size", "random": "items"}, "takes no 'random': .* are those of BTLModel"),
        (hja.HJAModel, {"interactions": "~ size"}, "takes no 'interactions': .* are those of BTLModel"),
        (hja.JAModel, {"unlinked": "apart"}, "takes no 'unlinked'"),
        (hja.JudgewiseBTLModel, {"items": "~ size"}, "fit HJAModel"),
        (hja.PopulationHJAModel, {"items": "~ size"}, "judges who are a sample have free scores"),
    ],
    ids=str,
)
def test_what_judges_who_weigh_traits_do_not_have_gets_a_sentence(data, model, options, message):
    with pytest.raises(hja.InputError, match=message):
        model.from_comparisons(data, **options)


def test_the_algorithm_of_the_paper_is_that_of_free_scores(data):
    with pytest.raises(hja.OptionError, match="use 'trust'"):
        hja.JAModel.from_comparisons(data, items="~ size").fit(method="alternating")


def test_arrays_have_no_table_of_the_items():
    with pytest.raises(hja.OptionError, match=r"JAModel.from_comparisons\(data, items=...\)"):
        hja.JAModel([1, 0], judge=["j", "j"], item_a=["a", "b"], item_b=["b", "a"], items="~ size")


def test_traits_that_the_comparisons_cannot_tell_are_refused():
    data = hja.Comparisons.from_arrays(["j"] * 4 + ["k"] * 4, [*"abababab"], [*"cdcdcdcd"], [1, 0, 1, 0] * 2)
    table = pd.DataFrame({"x": [1.0, 2.0, 1.0, 2.0]}, index=[*"abcd"])
    with pytest.raises(hja.IdentificationError, match=r"beta\[x\].*could be anything"):
        hja.JAModel.from_comparisons(data, items=table).fit()
