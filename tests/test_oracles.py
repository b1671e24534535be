"""Real data against R: gnm, BradleyTerry2 (recipes beside the numbers, in the folder of oracles)."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import hjastats as hja

# As required by the specification: likelihoods, scores, standard errors.
LIKELIHOOD = 1e-8
SCORES = 1e-6
STANDARD_ERRORS = 1e-5
# R's glm takes its standard errors from the weights before its last step. For the judge that nearly always picks the first item
# they are off by 3e-5, as a GLM iterated to the end shows, with which ours agree to rounding error.
R_GLM_WEIGHTS = 5e-5
DATA = ["chatbot_arena", "mtbench"]
MODELS = {
    "BTL": (hja.BTLModel, {}),
    "r0": (hja.JAModel, {}),
    "r1": (hja.HJAModel, {"rank": 1}),
    "r2": (hja.HJAModel, {"rank": 2}),
}


@pytest.fixture(scope="module", params=DATA)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def data(name, shared_data):
    return hja.read_comparisons(shared_data / f"{name}.json")


def expected(oracles, name, model):
    rows = json.loads((oracles / "summary.json").read_text()) + json.loads((oracles / "extra_summary.json").read_text())
    return next(row for row in rows if row["data"] == name and row["model"] == model)


def matrix(oracles, name):
    return pd.read_csv(oracles / f"{name}.csv", index_col=0)


@pytest.mark.parametrize("model", list(MODELS))
def test_likelihood_and_degrees_of_freedom_equal_those_of_r(data, name, oracles, model):
    cls, options = MODELS[model]
    result = cls.from_comparisons(data, **options).fit()
    row = expected(oracles, name, model)
    assert -result.llf == pytest.approx(row["nll"], rel=LIKELIHOOD)
    assert result.df_model == row["df"]
    assert result.converged


@pytest.mark.parametrize("model", list(MODELS))
def test_every_seed_reaches_the_same_likelihood(data, name, oracles, model):
    cls, options = MODELS[model]
    fitted = cls.from_comparisons(data, **options)
    row = expected(oracles, name, model)
    for seed in range(20):
        assert -fitted.fit(rng=seed).llf == pytest.approx(row["nll"], rel=LIKELIHOOD)


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_scores_and_their_standard_errors_equal_those_of_gnm(data, name, oracles, rank):
    result = hja.HJAModel.from_comparisons(data, rank=rank).fit()
    scores, errors = matrix(oracles, f"{name}_r{rank}_S"), matrix(oracles, f"{name}_r{rank}_seS")
    assert list(scores.index) == list(result.scores.index)
    assert list(scores.columns) == list(result.scores.columns)
    np.testing.assert_allclose(result.scores, scores, atol=SCORES, rtol=SCORES)
    np.testing.assert_allclose(result.judges.score_errors(), errors, rtol=STANDARD_ERRORS)


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_consensus_and_sensitivity_with_standard_errors_equal_those_of_gnm(data, name, oracles, rank):
    result = hja.HJAModel.from_comparisons(data, rank=rank).fit()
    for kind, table in (("mu", result.consensus), ("gamma", result.sensitivity)):
        reference = matrix(oracles, f"{name}_r{rank}_{kind}")
        table = table.loc[reference.index]
        np.testing.assert_allclose(table["estimate"], reference[kind], atol=SCORES, rtol=SCORES)
        np.testing.assert_allclose(table["std_err"], reference["se"], rtol=STANDARD_ERRORS)


def test_pooled_scores_equal_those_of_bradleyterry2(data, name, oracles):
    table, reference = hja.BTLModel.from_comparisons(data).fit().consensus, matrix(oracles, f"{name}_btl_mu")
    np.testing.assert_allclose(table.loc[reference.index, "estimate"], reference["mu"], atol=SCORES)
    np.testing.assert_allclose(table.loc[reference.index, "std_err"], reference["se"], rtol=STANDARD_ERRORS)


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_the_alternating_algorithm_ends_at_the_same_optimum(data, name, oracles, rank):
    result = hja.HJAModel.from_comparisons(data, rank=rank).fit(method="alternating")
    history = np.array(result.mle_retvals["history"].values)
    assert (np.diff(history) <= 1e-12 * history[0]).all()
    assert history[-1] == pytest.approx(expected(oracles, name, f"r{rank}")["nll"], rel=1e-7)


@pytest.mark.parametrize("rank", [0, 1])
def test_position_effects_equal_those_of_gnm(data, name, oracles, rank):
    result = hja.HJAModel.from_comparisons(data, rank=rank, position="judge").fit()
    row = expected(oracles, name, f"r{rank}+pos")
    assert -result.llf == pytest.approx(row["nll"], rel=LIKELIHOOD)
    assert result.df_model == row["df"]
    reference = matrix(oracles, f"{name}_r{rank}pos_pos")
    np.testing.assert_allclose(
        result.position.loc[reference.index, "estimate"], reference["pos"], rtol=STANDARD_ERRORS, atol=SCORES
    )
    np.testing.assert_allclose(result.position.loc[reference.index, "std_err"], reference["se"], rtol=STANDARD_ERRORS)
    np.testing.assert_allclose(result.scores, matrix(oracles, f"{name}_r{rank}pos_S"), atol=SCORES, rtol=SCORES)
    np.testing.assert_allclose(
        result.judges.score_errors(), matrix(oracles, f"{name}_r{rank}pos_seS"), rtol=STANDARD_ERRORS
    )


def test_the_plain_fit_names_the_judge_that_always_picks_the_first_item(data, name):
    text = str(hja.HJAModel.from_comparisons(data, rank=1).fit().summary())
    share = {"chatbot_arena": "98.5%", "mtbench": "99.0%"}[name]
    assert f"'zai-org/GLM-4.5-Air-FP8' picks the first item in {share} of its comparisons" in text.replace(
        "\n    ", " "
    )
    assert "The order of presentation seems to matter" in text


def test_contrasts_equal_those_of_r(data, name, oracles):
    table = pd.read_csv(oracles / "contrasts.csv")
    table = table[table["data"] == name]
    assert len(table) > 30
    for model, rows in table.groupby("model"):
        cls, options = MODELS[model]
        result = cls.from_comparisons(data, **options).fit()
        judges, items = result.model.judges, result.model.items
        specs = []
        for row in rows.itertuples():
            first, second = items[row.i - 1], items[row.j - 1]
            if row.contrast == "S_ki-S_kj":
                judge = judges[int(row.judge) - 1]
                specs.append(f"S[{judge}, {first}] - S[{judge}, {second}]")
            else:
                specs.append(f"mu[{first}] - mu[{second}]")
        contrasts = result.contrast(specs)
        np.testing.assert_allclose(contrasts.estimate, rows["est"], atol=SCORES, rtol=SCORES)
        np.testing.assert_allclose(contrasts.std_err, rows["se"], rtol=STANDARD_ERRORS)


def test_robust_errors_of_the_pooled_model_equal_those_of_the_sandwich_package(data, name, oracles):
    reference = matrix(oracles, f"{name}_btl_sandwich")
    model = hja.BTLModel.from_comparisons(data)
    plain = model.fit()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hja.CovarianceWarning)
        clustered = plain.with_covariance("cluster", {"groups": "judge", "use_correction": False})
    for column, result in (
        ("se_model", plain),
        ("se_sandwich", model.fit(cov_type="HC0")),
        ("se_cluster_judge", clustered),
    ):
        np.testing.assert_allclose(
            result.consensus.loc[reference.index, "std_err"], reference[column], rtol=STANDARD_ERRORS
        )


def fully_converged_glm(cells):
    design = np.zeros((len(cells.n), cells.n_judges + cells.n_items))
    rows = np.arange(len(cells.n))
    design[rows, cells.judge] = design[rows, cells.n_judges + cells.first] = 1
    design[rows, cells.n_judges + cells.second] = -1
    wins = np.column_stack([cells.y, cells.n - cells.y])
    return sm.GLM(wins, design[:, :-1], family=sm.families.Binomial()).fit(tol=1e-14)


def test_pooled_position_effects_equal_those_of_r(data, name, oracles):
    result = hja.BTLModel.from_comparisons(data, position="judge").fit()
    row = expected(oracles, name, "BTL+pos")
    assert -result.llf == pytest.approx(row["nll"], rel=LIKELIHOOD)
    assert result.df_model == row["df"]
    positions, scores = matrix(oracles, f"{name}_btlpos_pos"), matrix(oracles, f"{name}_btlpos_mu")
    np.testing.assert_allclose(result.position.loc[positions.index, "estimate"], positions["pos"], rtol=STANDARD_ERRORS)
    np.testing.assert_allclose(result.position.loc[positions.index, "std_err"], positions["se"], rtol=R_GLM_WEIGHTS)
    converged = fully_converged_glm(result.model.design)
    np.testing.assert_allclose(result.position["std_err"], converged.bse[: data.n_judges], rtol=1e-10)
    np.testing.assert_allclose(result.consensus.loc[scores.index, "estimate"], scores["mu"], atol=SCORES)
    np.testing.assert_allclose(result.consensus.loc[scores.index, "std_err"], scores["se"], rtol=STANDARD_ERRORS)


def test_davidson_ties_equal_those_of_r(data, name, oracles):
    result = hja.BTLModel.from_comparisons(data, ties="davidson").fit()
    row, reference = expected(oracles, name, "Davidson pooled"), matrix(oracles, f"{name}_davidson")
    assert -result.llf == pytest.approx(row["nll"], rel=LIKELIHOOD)
    assert result.df_model == row["df"]
    np.testing.assert_allclose(result.params, reference["est"], atol=SCORES)
    np.testing.assert_allclose(result.bse, reference["se"], rtol=STANDARD_ERRORS)


def test_bic_prefers_position_effects_to_disagreement_and_gpt_4_leads(data):
    fits = {}
    for position in (None, "judge"):
        fits["BTL", position] = hja.BTLModel.from_comparisons(data, position=position).fit()
        for rank in range(4):
            model = hja.HJAModel.from_comparisons(data, rank=rank, position=position)
            fits[rank, position] = model.fit(warn_convergence=False)
    best = min(fits, key=lambda key: fits[key].bic)
    assert best == (0, "judge")
    assert fits[best].consensus.index[0] == "gpt-4"
    assert fits[1, None].consensus.index[0] != "gpt-4"


# Graded verdicts: R's ordinal rounds to twelve digits and stops where a step gains less than 1e-6 of a log-likelihood.
CLM = 1e-6


@pytest.fixture(scope="module", params=["gles", "cems"])
def graded(request, shared_data, oracles):
    """Verdicts on a scale, their oracle, and the fit."""
    oracle = json.loads((oracles / f"ordinal_{request.param}.json").read_text())["symmetric"]
    table = pd.read_csv(shared_data / oracle["data"] / "verdicts.csv").dropna()
    if request.param == "gles":
        codes = {grade: (5 - grade) / 4 for grade in range(1, 6)}
        data = hja.read_comparisons(table, outcome="response", codes=codes)
    else:
        data = hja.read_comparisons(table)
    result = hja.BTLModel.from_comparisons(data, position="common", ties="ordinal").fit(information="observed")
    return result, oracle


def test_graded_verdicts_have_the_likelihood_of_ordinal_clm(graded):
    result, oracle = graded
    assert result.nobs == oracle["n"]
    assert result.llf == pytest.approx(oracle["logLik"], abs=CLM)
    assert result.df_model == oracle["df"]
    assert result.converged


def test_graded_scores_thresholds_and_errors_equal_those_of_ordinal_clm(graded):
    result, oracle = graded
    items, reference = oracle["items"], oracle["reference"]
    same = {"central.1": "-threshold1 - position", "central.2": "threshold1 - position"}
    same |= {"spacing.1": "threshold2 - threshold1"}
    same |= {f"x{i}": f"mu[{item}] - mu[{reference}]" for i, item in enumerate(items, start=1)}
    assert set(oracle["coef"]) <= set(same)
    found = {name: result.contrast(same[name]).summary_frame() for name in oracle["coef"]}
    for name, frame in found.items():
        assert frame["estimate"].iloc[0] == pytest.approx(oracle["coef"][name], abs=CLM)
        assert frame["std_err"].iloc[0] == pytest.approx(oracle["se"][name], abs=CLM)
