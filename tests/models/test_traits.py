"""Scores that follow from traits of items and judges, against BradleyTerry2 and PlackettLuce, and against what must hold."""

import json
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats
from scipy.special import expit

import hjastats as hja
from hjastats.diagnostics.restriction import free_scores_test

# As required by the specification.
ORACLE = 1e-6
# R prints standard errors of its last step but one.
R_ERRORS = 1e-5
LIZARDS = "~ Q('throat.PC1') + Q('throat.PC3') + Q('head.length') + SVL"


@pytest.fixture
def frame(shared_data):
    return lambda name, **options: pd.read_csv(shared_data / "r" / f"{name}.csv", **options)


@pytest.fixture
def oracle(oracles):
    return lambda name: json.loads((oracles / "r" / f"{name}.json").read_text())


def agree(table, rows, estimate="estimate", error="se"):
    """Coefficients in the order of R's table."""
    np.testing.assert_allclose(table["estimate"], [row[estimate] for row in rows], atol=ORACLE)
    np.testing.assert_allclose(table["std_err"], [row[error] for row in rows], rtol=R_ERRORS, atol=ORACLE)


def lizards(frame):
    contests = frame("flatlizards_main")
    data = hja.Comparisons.from_arrays("all", contests["winner"], contests["loser"], np.ones(len(contests)))
    return data.with_metadata(items=frame("flatlizards_predictors").set_index("lizard"))


@pytest.fixture
def panel_with_traits(panel):
    rng = np.random.default_rng(3)
    items = pd.DataFrame({"size": np.arange(10.0) ** 1.5, "open": ["yes", "no"] * 5}, index=panel.items)
    items["gap"] = [1.0, np.nan, *np.arange(8.0)]
    judges = pd.DataFrame(
        {"kind": ["strict"] * 4 + ["lax"] * 4, "age": [20, 35, 50, 28, 61, 44, 39, 70]}, index=panel.judges
    )
    columns = pd.DataFrame({"topic": rng.choice(["code", "law", "maths"], panel.n_rows)})
    return replace(panel, columns=columns).with_metadata(items=items, judges=judges)


# Against R


def test_lizards_that_follow_from_their_traits_are_those_of_r(frame, oracle):
    result = hja.BTLModel.from_comparisons(lizards(frame), items=LIZARDS).fit()
    expected = oracle("flatlizards_main_btm")["fixed"]
    assert result.llf == pytest.approx(-40.510336, abs=ORACLE)
    agree(result.traits, expected["coef"], "Estimate", "Std..Error")


def test_a_response_surface_is_that_of_r(frame, oracle):
    table, samples = (
        frame(name, dtype={"row": str, "col": str, "sample": str}) for name in ("springall", "springall_samples")
    )
    outcome = table["winner"].map({"row": 1.0, "tie": 0.5, "col": 0.0})
    data = hja.Comparisons.from_arrays("all", table["row"], table["col"], outcome, table["n"].astype(float))
    formula = "~ flav + gel + I(flav ** 2) + I(gel ** 2) + flav:gel"
    result = hja.BTLModel.from_comparisons(data.with_metadata(items=samples.set_index("sample")), items=formula).fit()
    assert result.llf == pytest.approx(-457.196547, abs=ORACLE)
    agree(result.traits, oracle("springall_btm")["surface_fixed"]["coef"])


def test_covariates_of_the_contest_stand_beside_traits_as_in_r(frame, oracle):
    table = frame("chameleons")
    table["prev"] = table["prev.wins.2.winner"] - table["prev.wins.2.loser"]
    data = hja.Comparisons.from_arrays("all", table["winner"], table["loser"], np.ones(len(table)), columns=table)
    data = data.with_metadata(items=frame("chameleons_predictors").set_index("chameleon"))
    result = hja.BTLModel.from_comparisons(data, ["prev"], items="~ Q('ch.res') + Q('prop.main')").fit()
    assert result.llf == pytest.approx(-42.697833, abs=ORACLE)
    agree(pd.DataFrame({"estimate": result.params, "std_err": result.bse}), oracle("chameleons_btm")["fixed"]["coef"])


def test_main_effects_of_sound_fields_are_those_of_r(frame):
    table = frame("soundfields", dtype=str)
    table = table[table["instrument"] == "flute"]
    outcome = table["winner"].map({"field1": 1.0, "tie": 0.5, "field2": 0.0})
    data = hja.Comparisons.from_arrays("all", table["field1"], table["field2"], outcome, table["n"].astype(float))
    design = frame("soundfields_design", dtype=str).set_index("field")
    result = hja.BTLModel.from_comparisons(data.with_metadata(items=design), items="~ a + b + c").fit()
    assert result.llf == pytest.approx(-87.723966, abs=ORACLE)


def test_students_by_schools_are_table_6_of_dittrich_and_others(frame, oracle):
    table = frame("cems").dropna(subset=["outcome"]).reset_index(drop=True)
    outcome = table["outcome"].map({"school1": 1.0, "tie": 0.5, "school2": 0.0})
    students = table["student"].astype(str)
    data = hja.Comparisons.from_arrays(students, table["school1"], table["school2"], outcome, columns=table)
    traits = ["WOR", "DEG", "STUD", "ENG", "FRA", "SPA", "ITA", "SEX"]
    model = hja.BTLModel.from_comparisons(data, interactions="~ " + " + ".join(traits))
    levels = {"WOR": "yes", "DEG": "yes", "STUD": "other", "SEX": "male"}
    kept = [row["term"].split(":") for row in oracle("cems_table6_glm")["coef"] if ":" in row["term"]]
    held = [
        f"B[{trait}[T.{levels.get(trait, 'poor')}],{school}] = B[{trait}[T.{levels.get(trait, 'poor')}],Stockholm]"
        for trait in traits
        for school in ("Barcelona", "London", "Milano", "Paris", "St.Gallen")
        if [trait, school] not in kept
    ]
    result = model.fit_constrained(held)
    contrast = result.contrast("B[WOR[T.yes],Paris] - B[WOR[T.yes],Stockholm]")
    assert result.llf == pytest.approx(-2611.513746, abs=ORACLE)
    assert result.df_model == 18
    assert contrast.estimate[0] == pytest.approx(1.2557018, abs=ORACLE)
    assert contrast.std_err[0] == pytest.approx(0.3239567, rel=R_ERRORS)


def test_five_seasons_of_football_share_ties_and_home_advantage_as_in_r(frame, oracle):
    table = frame("football")
    teams = [table[where] + ":" + table["season"] for where in ("home", "away")]
    data = hja.Comparisons.from_arrays("all", *teams, table["result"].map({1: 1.0, 0: 0.5, -1: 0.0}))
    model = hja.BTLModel.from_comparisons(data, position="common", ties="davidson", unlinked="apart")
    with pytest.warns(hja.CovarianceWarning, match="differences between items of different groups mean nothing"):
        result = model.fit()
    expected = oracle("football_gendavidson")["Davidson"]
    scores = {row["term"]: row["est"] for row in expected["coef"]}
    assert result.llf == pytest.approx(-1781.784334, abs=ORACLE)
    assert result.params["position"] == pytest.approx(scores["home.adv"], abs=ORACLE)
    for season in ("2008-9", "2012-13"):
        ours = result.params[f"mu[Che:{season}]"] - result.params[f"mu[Ful:{season}]"]
        assert ours == pytest.approx(scores[f"Che:{season}"] - scores[f"Ful:{season}"], abs=ORACLE)
    assert "each of 5 groups" in str(result.summary())


def test_traits_of_students_explain_more_than_a_tree_with_fewer_parameters(frame):
    table = frame("cemschoice")
    data = hja.read_comparisons(table, judge="judge", first="first", second="second", outcome="winner")
    formula = "~ french + spanish + italian + study"
    result = hja.BTLModel.from_comparisons(data, ties="davidson", interactions=formula).fit()
    assert result.llf > -3786.467
    assert result.df_model == 26
    assert result.bic < -2 * -3786.467 + np.log(data.n_comparisons) * 34


# Against what must hold


def test_restricted_scores_are_a_logistic_regression_on_differences(panel_with_traits):
    data = panel_with_traits
    result = hja.BTLModel.from_comparisons(data, items="~ size + open", position="common").fit()
    traits = data.item_metadata[["size", "open"]].replace({"yes": 1.0, "no": 0.0}).to_numpy(float)
    design = np.column_stack([np.ones(data.n_rows), traits[data.first_index] - traits[data.second_index]])
    glm = sm.GLM(data.outcome, design, sm.families.Binomial()).fit(tol=1e-12)
    assert result.llf == pytest.approx(glm.llf, abs=1e-7)
    found = result.params[["position", "beta[size]", "beta[open[T.yes]]"]]
    np.testing.assert_allclose(found, glm.params, atol=1e-6)
    np.testing.assert_allclose(result.bse[found.index], glm.bse, rtol=1e-5)


def test_traits_of_judges_and_categories_are_a_logistic_regression_on_products(panel_with_traits):
    data = panel_with_traits
    result = hja.BTLModel.from_comparisons(data, interactions="~ age + topic").fit()
    items = np.zeros((data.n_rows, data.n_items))
    items[np.arange(data.n_rows), data.first_index] = 1.0
    items[np.arange(data.n_rows), data.second_index] = -1.0
    age = data.judge_metadata["age"].to_numpy()[data.judge_index]
    topic = data.columns["topic"].to_numpy()
    parts = [items[:, 1:] * x[:, None] for x in (np.ones(data.n_rows), age, topic == "law", topic == "maths")]
    glm = sm.GLM(data.outcome, np.hstack(parts), sm.families.Binomial()).fit(tol=1e-12)
    assert result.llf == pytest.approx(glm.llf, abs=1e-7)
    assert result.df_model == 4 * (data.n_items - 1)
    law = result.traits.loc["topic[T.law]"]["estimate"]
    np.testing.assert_allclose(law - law["model-A"], [0.0, *glm.params[18:27]], atol=1e-6)
    aged = result.traits.loc["age"]
    np.testing.assert_allclose(aged["estimate"] - aged["estimate"]["model-A"], [0.0, *glm.params[9:18]], atol=1e-6)
    contrast = result.contrast("B[age, model-C] - B[age, model-A]")
    assert contrast.std_err[0] == pytest.approx(glm.bse[10], rel=1e-5)


def test_interactions_with_traits_of_items_multiply_both(panel_with_traits):
    data = panel_with_traits
    result = hja.BTLModel.from_comparisons(data, items="~ size", interactions="~ age + topic").fit()
    size, age = data.item_metadata["size"].to_numpy(), data.judge_metadata["age"].to_numpy()[data.judge_index]
    difference, topic = size[data.first_index] - size[data.second_index], data.columns["topic"].to_numpy()
    design = np.column_stack([x * difference for x in (np.ones(data.n_rows), age, topic == "law", topic == "maths")])
    glm = sm.GLM(data.outcome, design, sm.families.Binomial()).fit(tol=1e-12)
    assert result.llf == pytest.approx(glm.llf, abs=1e-7)
    np.testing.assert_allclose(result.traits["estimate"].iloc[1:], glm.params[1:], atol=1e-7)
    assert list(result.traits.index.get_level_values("on").unique()) == ["size"]


@pytest.mark.parametrize(
    "options",
    [
        {"items": "~ size + open"},
        {"interactions": "~ kind + age"},
        {"items": "~ size", "interactions": "~ age", "position": "judge"},
        {"interactions": "~ kind", "ties": "davidson", "tie": "common"},
    ],
)
def test_gradients_of_the_reported_parameters_are_finite_differences(panel_with_traits, options):
    data = panel_with_traits
    if "ties" in options:
        data = data.with_outcome(np.where(np.arange(data.n_rows) % 9 == 0, 0.5, data.outcome))
    model = hja.BTLModel.from_comparisons(data, **options)
    params = model.fit().params.to_numpy() + np.random.default_rng(0).normal(size=model.nparams) * 0.05
    steps = 1e-6 * np.eye(model.nparams)
    numeric = [(model.loglike(params + step) - model.loglike(params - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(model.score(params), numeric, atol=1e-3)
    np.testing.assert_allclose(model.score_obs(params).sum(axis=0), model.score(params), atol=1e-8)
    free = model.untransform_params(model.fit().params)
    jacobian = model.transform_jacobian(free)
    moved = [
        (model.transform_params(free + s) - model.transform_params(free - s)) / 2e-6 for s in 1e-6 * np.eye(len(free))
    ]
    np.testing.assert_allclose(jacobian, np.transpose(moved), atol=1e-7)


@pytest.mark.parametrize("items", [None, "~ size"])
def test_predictions_of_a_frame_know_its_topics(panel_with_traits, items):
    data = panel_with_traits
    result = hja.BTLModel.from_comparisons(data, items=items, interactions="~ kind * topic", position="common").fit()
    frame = data.to_frame()
    np.testing.assert_allclose(
        result.predict(frame[["judge", "first", "second", "topic"]]), result.fittedvalues, atol=1e-9
    )
    with pytest.raises(hja.ComparisonError, match="topic"):
        result.predict(frame[["judge", "first", "second"]])


def test_contrasts_of_coefficients_and_of_scores_agree(panel_with_traits):
    data = panel_with_traits
    result = hja.BTLModel.from_comparisons(data, items="~ size").fit()
    a, b = data.item_metadata["size"][["model-B", "model-A"]]
    by_scores = result.contrast("mu[model-B] - mu[model-A]")
    by_slope = result.contrast(f"{a - b} * beta[size]")
    assert by_scores.estimate[0] == pytest.approx(by_slope.estimate[0])
    assert by_scores.std_err[0] == pytest.approx(by_slope.std_err[0])


def test_an_item_that_was_compared_is_predicted_where_it_is(panel_with_traits):
    result = hja.BTLModel.from_comparisons(panel_with_traits, items="~ size + open").fit()
    told = result.predict_item(panel_with_traits.item_metadata, against="model-A")
    np.testing.assert_allclose(result.predict_item(panel_with_traits.item_metadata)["estimate"], result.fit.parts.mu)
    assert told.loc["model-C", "p"] == pytest.approx(result.contrast("p[model-C, model-A]").estimate[0])
    assert told.loc["model-C", "std_err"] == pytest.approx(result.contrast("mu[model-C] - mu[model-A]").std_err[0])


def test_traits_may_come_as_a_table(panel_with_traits):
    table = panel_with_traits.item_metadata[["size"]]
    plain = replace(panel_with_traits, item_metadata=None)
    given = hja.BTLModel.from_comparisons(plain, items=table).fit()
    known = hja.BTLModel.from_comparisons(panel_with_traits, items="mu ~ size").fit()
    assert given.params.to_dict() == known.params.to_dict()


def test_models_with_traits_are_nested_where_their_scores_are(panel_with_traits):
    def fit(**options):
        return hja.BTLModel.from_comparisons(panel_with_traits, **options).fit()

    free, one, two, by_kind = fit(), fit(items="~ size"), fit(items="~ size + open"), fit(interactions="~ kind")
    other = fit(items="~ open")
    assert free.compare_lr_test(one).df_diff == 8
    assert two.compare_lr_test(other).df_diff == 1
    assert by_kind.compare_lr_test(free).df_diff == 9
    assert hja.JudgewiseBTLModel.from_comparisons(panel_with_traits).fit().compare_lr_test(by_kind).df_diff == 54
    assert hja.JAModel.from_comparisons(panel_with_traits).fit().compare_lr_test(one).df_diff == 15
    for large, small in ((one, other), (two, free), (by_kind, hja.JAModel.from_comparisons(panel_with_traits).fit())):
        with pytest.raises(hja.ComparisonError, match="is not nested"):
            large.compare_lr_test(small)


def test_groups_that_share_terms_fit_as_each_by_itself_without_terms():
    rng = np.random.default_rng(1)
    first, second = (np.array([*"abc", *"xyz"])[i] for i in (rng.integers(0, 3, 400), rng.integers(0, 3, 400)))
    second = np.where(first == second, np.roll(["a", "b", "c"], 1)[rng.integers(0, 3, 400)], second)
    keep = first != second
    leagues = [hja.Comparisons.from_arrays(["j"] * keep.sum(), first[keep], second[keep], rng.random(keep.sum()) < 0.6)]
    names = dict(zip("abc", "xyz", strict=True))
    others = [pd.Series(side[keep]).map(names) for side in (first, second)]
    leagues.append(hja.Comparisons.from_arrays(["j"] * keep.sum(), *others, rng.random(keep.sum()) < 0.4))
    frame = pd.concat([league.to_frame() for league in leagues])
    both = hja.Comparisons.from_arrays(*(frame[name].to_numpy() for name in ("judge", "first", "second", "outcome")))
    with pytest.raises(hja.IdentificationError, match="fall into 2 groups"):
        hja.BTLModel.from_comparisons(both).fit()
    with pytest.warns(hja.CovarianceWarning, match="2 groups"):
        result = hja.BTLModel.from_comparisons(both, unlinked="apart").fit()
    alone = [hja.BTLModel.from_comparisons(league).fit() for league in leagues]
    assert result.llf == pytest.approx(sum(fit.llf for fit in alone))
    for fit in alone:
        np.testing.assert_allclose(result.params[fit.params.index], fit.params, atol=1e-6)
        np.testing.assert_allclose(result.bse[fit.params.index], fit.bse, rtol=1e-6)


def test_traits_link_items_that_nobody_compared_with_each_other():
    data = hja.Comparisons.from_arrays(["j"] * 4, [*"aabb"], [*"cddc"], [1, 0, 1, 0])
    data = data.subset(np.array([True, False, True, False]))
    sizes = pd.DataFrame({"size": [1.0, 2.0, 4.0, 3.0]}, index=[*"abcd"])
    with pytest.raises(hja.IdentificationError, match="fall into 2 groups"):
        hja.BTLModel.from_comparisons(data).fit()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hja.SeparationWarning)
        result = hja.BTLModel.from_comparisons(data, items=sizes).fit()
    assert "their traits do" in " ".join(finding.text for finding in result.findings)


@pytest.mark.parametrize(
    "options",
    [
        {"items": "~ size + open", "position": "common"},
        {"interactions": "~ kind + topic"},
        {"items": "~ size", "interactions": "~ age"},
        {"items": "~ size", "random": "items"},
    ],
    ids=str,
)
def test_fits_come_back_from_files_and_pickles(panel_with_traits, options):
    result = hja.BTLModel.from_comparisons(panel_with_traits, **options).fit()
    again = hja.load_results(result.to_json())
    assert type(again) is hja.TraitResults
    assert again.model.options == result.model.options
    pd.testing.assert_frame_equal(again.traits, result.traits, rtol=1e-6)
    assert pickle.loads(pickle.dumps(result)).llf == result.llf
    assert result.model.without_judges(["judge-1"]).fit(warn_convergence=False).model.options == result.model.options


def test_an_editor_offers_no_more_names_than_of_other_results(panel_with_traits):
    result = hja.BTLModel.from_comparisons(panel_with_traits, items="~ size").fit()
    names = dir(result)
    assert {"traits", "predict_item", "spread"} <= set(names)
    assert len(names) <= 46


def test_the_summary_and_the_page_show_the_traits(panel_with_traits):
    result = hja.BTLModel.from_comparisons(panel_with_traits, items="~ size", interactions="~ kind").fit()
    text = str(result.summary())
    assert "traits of items (scores are linear in them)" in text
    assert "kind[T.strict],size" in text
    assert "traits of judges" in result.report()


# What is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"items": "~ sise"}, "sise"),
        ({"items": "~ 1"}, "names no trait"),
        ({"items": "beta ~ size"}, "a formula of scores"),
        ({"items": "~ __import__('os').getpid()"}, "may not call '__import__'"),
        ({"items": "~ 0 + open"}, "'open\\[yes\\]' says nothing about the items"),
        ({"interactions": "~ 0 + kind"}, "says nothing about the judges"),
        ({"interactions": "~ nobody"}, "nobody"),
        ({"items": "~ gap"}, "'gap' is missing for 'model-B': fill it in"),
        ({"random": "interactions"}, "needs interactions"),
        ({"random": "judges"}, "random must be 'items', 'interactions' or both"),
        ({"unlinked": "together"}, "unlinked"),
    ],
    ids=str,
)
def test_bad_traits_get_a_sentence(panel_with_traits, options, message):
    with pytest.raises(hja.InputError, match=message):
        hja.BTLModel.from_comparisons(panel_with_traits, **options)


def test_new_items_without_a_trait_are_told_which(panel_with_traits):
    result = hja.BTLModel.from_comparisons(panel_with_traits, items="~ size + open").fit()
    with pytest.raises(hja.ComparisonError, match="need the columns 'size', 'open', 'open' not found"):
        result.predict_item({"size": 3.0})


def test_other_interactions_take_the_place_of_those_there_were(panel_with_traits):
    model = hja.BTLModel.from_comparisons(panel_with_traits, interactions="~ topic")
    by_kind = hja.BTLModel.from_comparisons(panel_with_traits, interactions="~ kind")
    assert model.update(interactions="~ kind").param_names == by_kind.param_names
    assert model.pooled().param_names == hja.BTLModel.from_comparisons(panel_with_traits).param_names
    with pytest.raises(hja.OptionError, match=r"update\(interactions='~ ...'\) leaves it out"):
        model.without_term("topic[T.law] by item")


def test_traits_without_a_table_say_where_it_goes(panel):
    with pytest.raises(hja.ComparisonError, match=r"data.with_metadata\(items=table\)"):
        hja.BTLModel.from_comparisons(panel, items="~ size")


def test_other_models_say_whose_argument_it_is(panel_with_traits):
    with pytest.raises(hja.OptionError, match=r"takes no 'interactions': .* are those of BTLModel"):
        hja.JAModel.from_comparisons(panel_with_traits, items="~ size", interactions="~ kind")


def test_traits_that_the_comparisons_cannot_tell_are_refused(panel_with_traits):
    data = hja.Comparisons.from_arrays(["j"] * 4, [*"abab"], [*"cdcd"], [1, 0, 1, 0])
    table = pd.DataFrame({"x": [1.0, 2.0, 1.0, 2.0]}, index=[*"abcd"])
    with pytest.raises(hja.IdentificationError, match=r"beta\[x\].*could be anything"):
        hja.BTLModel.from_comparisons(data, items=table).fit()


# Random effects


def test_random_items_are_close_to_an_integral_by_importance_sampling(frame):
    """Two hundred thousand draws around the mean: the logarithm of the integral is off by some hundredths."""
    data = lizards(frame)
    result = hja.BTLModel.from_comparisons(data, items=LIZARDS, random="items").fit()
    sd, at = float(result.spread["estimate"].iloc[0]), result.fit.parts.mu
    traits = result.model.traits.values
    known = np.column_stack([np.ones(len(traits)), traits])
    left = np.eye(len(traits)) - known @ np.linalg.pinv(known)
    values, vectors = np.linalg.eigh(left)
    basis = vectors[:, values > 0.5]
    design = np.zeros((data.n_rows, data.n_items))
    design[np.arange(data.n_rows), data.first_index] = 1.0
    design[np.arange(data.n_rows), data.second_index] = -1.0
    fixed, rows = design @ (at - left @ at), design @ basis
    mean = basis.T @ at
    weight = expit(design @ at) * expit(-design @ at)
    precision = rows.T @ ((0.7 * weight)[:, None] * rows) + np.eye(len(mean)) / sd**2
    rng, n = np.random.default_rng(0), 200_000
    root = np.linalg.cholesky(np.linalg.inv(precision))
    z = rng.standard_normal((n, len(mean)))
    draws = mean + z @ root.T
    log_weight = -np.logaddexp(0.0, -(draws @ rows.T + fixed)).sum(axis=1) - 0.5 * (draws**2).sum(axis=1) / sd**2
    log_weight += 0.5 * (z**2).sum(axis=1) - len(mean) * np.log(sd) + np.log(np.diag(root)).sum()
    top = log_weight.max()
    assert result.llf == pytest.approx(top + np.log(np.exp(log_weight - top).mean()), abs=0.15)


def test_many_verdicts_on_random_items_leave_the_fixed_scores(panel_with_traits):
    """With a thousand verdicts on each item a distribution of sd 1 moves scores by little."""
    fixed = hja.BTLModel.from_comparisons(panel_with_traits).fit()
    drawn = hja.BTLModel.from_comparisons(panel_with_traits, random="items").fit()
    assert np.abs(drawn.fit.parts.mu - fixed.fit.parts.mu).max() < 0.03
    assert (drawn.bse / fixed.bse).between(0.95, 1.01).all()
    assert drawn.spread.loc["sd[items]", "estimate"] == pytest.approx(fixed.fit.parts.mu.std(), rel=0.15)


def test_interactions_that_are_noise_are_shrunk_to_little(panel_with_traits):
    plain = hja.BTLModel.from_comparisons(panel_with_traits, interactions="~ topic").fit()
    shrunk = hja.BTLModel.from_comparisons(panel_with_traits, interactions="~ topic", random="interactions").fit()
    sizes = [np.square(result.traits["estimate"]).sum() for result in (shrunk, plain)]
    assert sizes[0] < 0.3 * sizes[1]


def test_a_new_random_item_has_a_wider_interval_than_one_that_follows_from_its_traits(panel_with_traits):
    new = {"size": 12.0, "open": "yes"}
    restricted = hja.BTLModel.from_comparisons(panel_with_traits, items="~ size + open").fit().predict_item(new)
    drawn = hja.BTLModel.from_comparisons(panel_with_traits, items="~ size + open", random="items").fit()
    assert drawn.predict_item(new)["std_err"].iloc[0] > drawn.spread["estimate"].iloc[0]
    assert drawn.predict_item(new)["std_err"].iloc[0] > 3 * restricted["std_err"].iloc[0]


def test_random_effects_refuse_what_does_not_fit_them(panel_with_traits):
    model = hja.BTLModel.from_comparisons(panel_with_traits, items="~ size", random="items")
    with pytest.raises(hja.OptionError, match="those of the model"):
        model.fit(cov_type="HC0")
    with pytest.raises(hja.OptionError, match="those of the model"):
        model.fit().with_covariance("HC0")
    with pytest.raises(hja.OptionError, match="a distribution of their own"):
        model.fit_regularized()
    with pytest.raises(hja.ComparisonError, match="do not compare"):
        model.fit().compare_lr_test(hja.BTLModel.from_comparisons(panel_with_traits, items="~ size").fit())


# Judges who hang together with themselves


@pytest.fixture(scope="module")
def students(shared_data):
    data = hja.read_comparisons(str(shared_data / "cems_students" / "verdicts.csv"))
    return data.with_metadata(judges=pd.read_csv(shared_data / "cems_students" / "judges.csv", index_col=0))


def shuffled(data, rng):
    return data.with_metadata(
        judges=pd.DataFrame({"x": rng.permutation(data.judge_metadata["italian"].to_numpy(copy=True))}, data.judges)
    )


def test_the_front_door_clusters_interactions_by_judge(students):
    result = hja.fit(students, interactions="~ italian")
    assert result.choices.loc["errors", "chosen"] == "cluster"
    assert "errors of interactions up to" in result.choices.loc["errors", "reason"]
    assert not any("hang together" in text for text in result.findings.warnings)
    plain = hja.BTLModel.from_comparisons(students, interactions="~ italian").fit()
    assert any("hang together" in text for text in plain.findings.warnings)
    with pytest.warns(hja.NonRegularWarning, match="does not count judge"):
        plain.compare_lr_test(hja.BTLModel.from_comparisons(students).fit())


def test_a_trait_that_was_shuffled_is_found_in_a_twentieth_of_all_cases(students):
    """The coefficients of a shuffle hang together: of 100 shuffles the share has a standard error of 0.012."""
    rng, coefficients, ratios, terms = np.random.default_rng(1), [], [], []
    alike = hja.BTLModel.from_comparisons(students).fit()
    for _ in range(100):
        model = hja.BTLModel.from_comparisons(shuffled(students, rng), interactions="~ x")
        result = model.fit(cov_type="cluster", cov_kwds={"groups": "judge"})
        coefficients.append((result.traits["p_value"] < 0.05).mean())
        ratios.append(result.compare_lr_test(alike).pvalue < 0.05)
        terms.append(result.wald_test_terms().table.loc["x", "pvalue"] < 0.05)
    assert 0.02 < np.mean(coefficients) < 0.09
    assert np.mean(ratios) < 0.12
    assert np.mean(terms) < 0.12


def test_coefficients_of_judges_traits_count_judges_beside_prompts():
    """With prompts alone 41 of 100 shuffled traits had p < 0.05, with both 4; of 30 the share has a standard error of 0.04."""
    rejected = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        judge, prompt = np.repeat(np.arange(40), 60), rng.integers(60, size=2400)
        tastes, suits = rng.normal(0.0, 0.6, (40, 5)), rng.normal(0.0, 0.5, (60, 5))
        scores = np.linspace(1.0, -1.0, 5) + tastes[judge] + suits[prompt]
        first, rows = rng.integers(5, size=2400), np.arange(2400)
        second = (first + rng.integers(1, 5, size=2400)) % 5
        wins = rng.random(2400) < 1.0 / (1.0 + np.exp(scores[rows, second] - scores[rows, first]))
        names = [
            np.array([f"{x}{c:02d}" for c in codes]) for x, codes in zip("jii", (judge, first, second), strict=True)
        ]
        data = hja.Comparisons.from_arrays(
            *names, wins.astype(float), columns=pd.DataFrame({"question_id": prompt})
        ).with_metadata(judges=pd.DataFrame({"x": rng.permutation(np.repeat([0.0, 1.0], 20))}, np.unique(names[0])))
        result = hja.fit(data, interactions="~ x", position=None)
        assert result.choices.loc["errors", "reason"].startswith("by 'question_id' and 'judge'")
        rejected.append(result.wald_test_terms().table.loc["x", "pvalue"] < 0.05)
    assert np.mean(rejected) < 0.17


def test_a_trait_of_one_judge_alone_has_no_clustered_variance(students):
    judges = pd.DataFrame({"x": ["only", *["others"] * 302]}, students.judges)
    model = hja.BTLModel.from_comparisons(students.with_metadata(judges=judges), interactions="~ x")
    with pytest.raises(hja.IdentificationError, match="no other judge has"):
        model.fit(cov_type="cluster", cov_kwds={"groups": "judge"})
    result = hja.fit(students.with_metadata(judges=judges), interactions="~ x")
    assert result.choices.loc["errors", "chosen"] != "cluster"


def test_a_likelihood_ratio_of_interactions_is_that_of_logits_however_weak_the_consensus():
    rng = np.random.default_rng(0)
    judge, first = np.repeat(np.arange(8), 30), rng.integers(0, 5, 240)
    second = (first + rng.integers(1, 5, 240)) % 5
    data = hja.Comparisons.from_arrays(judge, first, second, rng.integers(0, 2, 240).astype(float))
    data = data.with_metadata(judges=pd.DataFrame({"kind": list("aabbabab")}, data.judges))
    small = hja.BTLModel.from_comparisons(data).fit()
    row = hja.compare(small, hja.BTLModel.from_comparisons(data, interactions="~ kind").fit()).iloc[1]
    assert row["note"] == ""
    assert row["p_value"] == stats.chi2.sf(row["lr"], 4)


def test_terms_of_traits_are_tested_jointly(panel_with_traits):
    result = hja.BTLModel.from_comparisons(
        panel_with_traits, items="~ size + open", interactions="~ kind + C(topic)"
    ).fit(cov_type="HC0")
    table = result.wald_test_terms().table
    assert table["df_constraint"].to_dict() == {"open": 1, "size": 1, "kind": 2, "C(topic)": 4}
    size = result.traits.loc[("", "size"), "z"]
    assert table.loc["size", "statistic"] == pytest.approx(size**2)
    names = [f"B[kind[T.strict],{on}]" for on in ("open[T.yes]", "size")]
    assert table.loc["kind", "statistic"] == pytest.approx(result.wald_test(dict.fromkeys(names, 0.0)).statistic)
    drawn = hja.BTLModel.from_comparisons(panel_with_traits, items="~ size", random="items").fit()
    assert drawn.wald_test_terms().table.loc["size", "statistic"] == pytest.approx(drawn.traits.loc["size", "z"] ** 2)


@pytest.mark.parametrize("whose", [{"italian": "good"}, "italian=good"])
def test_judges_with_a_trait_have_a_ranking(students, whose):
    result = hja.BTLModel.from_comparisons(students, interactions="~ italian").fit()
    some = students.judge_metadata["italian"].to_numpy() == "good"
    expected = result.scores.to_numpy()[some].mean(axis=0)
    found = result.ranking(consensus=whose)["score"].loc[list(students.items)]
    np.testing.assert_allclose(found, expected, atol=1e-10)
    assert "italian=good" in str(result.leaderboard(consensus=whose))
    with pytest.raises(hja.ComparisonError, match=r"which of them\? Say"):
        result.ranking(consensus="good")
    with pytest.raises(hja.ComparisonError, match="no judge has 'god' in 'italian'; there are 'poor', 'good'"):
        result.ranking(consensus={"italian": "god"})
    with pytest.raises(hja.ComparisonError, match="no trait of the judges is called 'italien'"):
        result.ranking(consensus={"italien": "good"})


# What is said of such fits


def test_items_that_are_more_than_their_traits_are_a_warning_whose_advice_helps(panel_with_traits):
    result = hja.fit(panel_with_traits, items="~ size + open")
    (text,) = [text for text in result.findings.warnings if "more than their traits" in text]
    assert "random='items'" in text
    assert not any("taste that the rank" in finding.text for finding in result.findings)
    drawn = hja.fit(panel_with_traits, items="~ size + open", random="items")
    assert drawn.choices.loc["model", "reason"].startswith("random effects are those of judges who are alike")
    assert not any("more than their traits" in finding.text for finding in drawn.findings)
    new = {"size": 20.0, "open": "yes"}
    assert drawn.predict_item(new)["std_err"].iloc[0] > 2 * result.predict_item(new)["std_err"].iloc[0]


def test_the_score_test_of_free_scores_is_close_to_their_likelihood_ratio(panel_with_traits):
    traits = panel_with_traits.item_metadata.assign(**{f"x{i}": np.eye(10)[i] for i in range(6)})
    result = hja.BTLModel.from_comparisons(
        panel_with_traits.with_metadata(items=traits), items="~ size + x0 + x1 + x2 + x3 + x4"
    ).fit()
    ratio = hja.BTLModel.from_comparisons(panel_with_traits).fit().compare_lr_test(result)
    found = free_scores_test(result.fit, result.model.observations)
    assert found.df == ratio.df_diff
    assert found.statistic == pytest.approx(ratio.statistic, rel=0.15)
    weighed = hja.JAModel.from_comparisons(result.model.comparisons, items="~ size + open").fit()
    assert free_scores_test(weighed.fit, weighed.model.observations).df == 7
    assert free_scores_test(weighed.model.update(items=None).fit().fit, weighed.model.observations) is None


def test_groups_that_are_apart_are_ranked_each_by_itself_only(panel):
    apart = panel.subset((panel.first_index < 4) == (panel.second_index < 4))
    with pytest.warns(hja.CovarianceWarning, match="2 groups"):
        result = hja.fit(apart, unlinked="apart")
    assert "traits" not in result.choices.index
    assert "leads" not in repr(result)
    assert " leads: " not in result.report()
    for ask in (
        lambda: result.head_to_head("model-A", "model-J"),
        lambda: result.pairwise(),
        lambda: result.leaderboard(),
        lambda: result.places(),
        lambda: result.ranking(),
    ):
        with pytest.raises(hja.IdentificationError, match="each has a zero of its own"):
            ask()
    some = list(panel.items[:4])
    assert len(result.ranking(items=some)) == len(result.pairwise(labels=some)) - 2 == 4
    assert 0 < result.head_to_head("model-A", "model-B").probability < 1
    linked = hja.fit(panel, unlinked="apart")
    assert "has no effect" in linked.choices.loc["items", "reason"]


def test_traits_that_a_formula_makes_infinite_are_named(panel_with_traits):
    size = panel_with_traits.item_metadata[["size"]] + 1
    data = panel_with_traits.with_metadata(items=size)
    result = hja.BTLModel.from_comparisons(data, items="~ np.log(size)").fit()
    with pytest.raises(hja.ComparisonError, match=r"'np.log\(size\)' is infinite or no number for 'new'"):
        result.predict_item(pd.DataFrame({"size": [0.0]}, ["new"]))
    with pytest.raises(hja.ComparisonError, match=r"the new item 'y': .* is no number: what a logarithm"):
        result.predict_item(pd.DataFrame({"size": [2.0, -3.0]}, ["x", "y"]))
    with pytest.raises(hja.ComparisonError, match="traits of new items: 'size' is missing for 'z'"):
        result.predict_item(pd.DataFrame({"size": [2.0, np.nan]}, ["x", "z"]))
    with pytest.raises(hja.ComparisonError, match="is infinite or no number for 'model-A'"):
        hja.BTLModel.from_comparisons(data.with_metadata(items=size - 1), items="~ np.log(size)")


def test_misspelt_names_are_told_from_what_there_is(students, panel_with_traits):
    with pytest.raises(hja.ComparisonError, match=r"'italien'; there are 'study', .* Did you mean 'italian'"):
        hja.fit(students, interactions="~ italien")
    with pytest.raises(hja.ComparisonError, match=r"there are 'size', 'open', 'gap'\. Did you mean 'size'"):
        hja.fit(panel_with_traits, items="~ sise")
    table = panel_with_traits.item_metadata
    with pytest.raises(hja.ComparisonError, match="The row 'modelA' fits no item: did you mean 'model-A'"):
        panel_with_traits.with_metadata(items=table.rename(index={"model-A": "modelA"}))
    with pytest.raises(hja.ComparisonError, match="Rows that fit no item: 'x'"):
        panel_with_traits.with_metadata(items=table.rename(index={"model-A": "x"}))


def test_advice_about_errors_is_followed_as_it_stands(students):
    result = hja.BTLModel.from_comparisons(students, ties="davidson").fit()
    (text,) = [text for text in result.findings.warnings if "hang together" in text]
    assert "result.with_covariance('cluster', {'groups': 'judge'})" in text
    clustered = result.with_covariance("cluster", {"groups": "judge"})
    assert not any("hang together" in text or "propensity" in text for text in clustered.findings.warnings)
    assert not any("tie='judge'" in finding.text for finding in result.findings)
    assert hja.fit(students, model="btl", ties="davidson", groups="judge").model.tie == "common"
    with pytest.raises(TypeError, match="groups is an entry of cov_kwds"):
        result.model.fit(cov_type="cluster", groups="judge")
    drawn = hja.BTLModel.from_comparisons(students, interactions="~ italian", random="interactions").fit()
    (text,) = [text for text in drawn.findings.warnings if "hang together" in text]
    advised = "result.model.update(random=None).fit(cov_type='cluster', cov_kwds={'groups': 'judge'})"
    assert advised in text
    assert eval(advised, {"result": drawn}).fit.choice.kind == "cluster"


def test_text_for_a_number_is_refused_by_name_item_and_value(panel_with_traits):
    data = panel_with_traits.with_metadata(
        items=panel_with_traits.item_metadata[["size", "open"]].assign(size=range(1, 11))
    )
    for text in ("~ size", "~ np.log(size)"):
        result = hja.BTLModel.from_comparisons(data, items=text).fit()
        with pytest.raises(hja.ComparisonError, match="the new item 'new': 'size' must be a number, got 'big'"):
            result.predict_item(pd.DataFrame({"size": [2.0, "big"]}, ["old", "new"]))
        numbers = pd.DataFrame({"size": [7]}, dtype=object)
        assert result.predict_item(numbers)["estimate"].iloc[0] == result.predict_item({"size": 7})["estimate"].iloc[0]


def test_items_without_a_trait_are_left_out_as_the_message_says(panel_with_traits):
    data = panel_with_traits
    with pytest.raises(hja.ComparisonError, match="'gap' is missing for 'model-B': fill it in") as raised:
        hja.fit(data, items="~ gap")
    advice = str(raised.value).partition("leave them out: ")[2].rstrip(".")
    kept = eval(advice, {"data": data})
    assert kept.items == tuple(item for item in data.items if item != "model-B")
    assert hja.BTLModel.from_comparisons(kept, items="~ gap").fit().converged
    many = data.with_metadata(items=data.item_metadata.assign(gap=[1.0, *[np.nan] * 7, 2.0, 3.0]))
    with pytest.raises(
        hja.ComparisonError, match=r"leave them out: data\.without_items\(data\.item_metadata"
    ) as raised:
        hja.fit(many, items="~ gap")
    kept = eval(str(raised.value).partition("leave them out: ")[2].rstrip("."), {"data": many})
    assert kept.items == ("model-A", "model-I", "model-J")
    with pytest.raises(hja.ComparisonError, match="no item is called 'model-Z'"):
        data.without_items(["model-Z"])


@pytest.mark.parametrize("name", ["head.length", "head length"])
def test_columns_with_dots_and_spaces_have_a_name_in_formulas(panel_with_traits, name):
    data = panel_with_traits.with_metadata(items=panel_with_traits.item_metadata[["size"]].set_axis([name], axis=1))
    with pytest.raises(hja.OptionError, match=rf"items=: a formula names the column '{name}' by Q\('{name}'\)"):
        hja.BTLModel.from_comparisons(data, items=f"~ {name}")
    assert hja.BTLModel.from_comparisons(data, items=f"~ Q('{name}')").fit().converged


def test_items_that_nothing_links_rest_on_traits_and_what_is_not_tested_is_said(panel_with_traits):
    data = panel_with_traits.subset((panel_with_traits.first_index < 4) == (panel_with_traits.second_index < 4))
    drawn = hja.BTLModel.from_comparisons(data, items="~ size", random="items")
    with pytest.warns(
        hja.CovarianceWarning, match="rest on their traits and the distribution of what items have beyond"
    ):
        drawn.fit()
    with pytest.warns(hja.CovarianceWarning, match="rest on the prior alone"):
        hja.BTLModel.from_comparisons(data, random="items").fit()
    result = hja.BTLModel.from_comparisons(data, items="~ size").fit()
    assert any("is not tested, since no comparisons link all items" in text for text in result.findings.warnings)
    linked = hja.BTLModel.from_comparisons(panel_with_traits, items="~ size").fit()
    assert not any("is not tested" in text for text in linked.findings.warnings)


def test_too_many_items_to_test_them_is_said(panel_with_traits, set_limits):
    set_limits(TESTED_PARAMETERS=5)
    result = hja.BTLModel.from_comparisons(panel_with_traits, items="~ size").fit()
    assert any("is not tested, since there are too many parameters" in text for text in result.findings.warnings)


@pytest.mark.parametrize("whose", [{"topic": "code"}, "topic=code"])
def test_a_ranking_by_a_column_of_comparisons_points_to_groups(panel_with_traits, whose):
    result = hja.BTLModel.from_comparisons(panel_with_traits, interactions="~ topic").fit()
    with pytest.raises(
        hja.ComparisonError, match=r"'topic' is a column of the .*: hja\.by_group\(data, by='topic'\) ranks"
    ):
        result.ranking(consensus=whose)
