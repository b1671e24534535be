"""Verdicts on one prompt: what is said of them, and what follows for errors and tests."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.inference.clusters import Clusters
from tests.panels import finding


@pytest.fixture(scope="module")
def mtbench(shared_data):
    return hja.JAModel.from_comparisons(hja.read_comparisons(shared_data / "mtbench.json"), position="judge").fit()


def test_mtbench_is_said_to_hang_together_within_its_80_questions(mtbench):
    found = finding(mtbench, "prompts")
    assert found.is_warning
    assert "'question_id' (80 prompts)" in found.text
    assert "mu 2.4 times (median 2.2)" in found.text
    assert finding(mtbench, "ties").text.endswith("Use cov_type='cluster'.")
    robust = mtbench.with_covariance("HC0")
    assert finding(robust, "prompts").is_warning
    assert "right" not in finding(robust, "ties").text


def test_following_the_advice_ends_the_warning_and_the_certainty(mtbench):
    clustered = mtbench.with_covariance("cluster", {"groups": "question_id"})
    assert not finding(clustered, "prompts").is_warning
    difference = "mu[gpt-4] - mu[claude-v1]"
    assert mtbench.contrast(difference).p_value[0] < 0.001
    assert clustered.contrast(difference).p_value[0] > 0.05


def test_arena_prompts_do_no_harm(shared_data):
    data = hja.read_comparisons(shared_data / "chatbot_arena.json")
    assert not finding(hja.JAModel.from_comparisons(data, position="judge").fit(), "prompts").is_warning


def test_without_prompts_that_repeat_nothing_is_said(panel):
    assert not any(found.topic == "prompts" for found in hja.JAModel.from_comparisons(panel).fit().findings)


def test_comparisons_of_models_count_the_clusters_in_use(mtbench):
    smaller = mtbench.model.pooled().fit()
    plain = hja.compare(smaller, mtbench)
    assert "does not count question_id" in plain["note"].iloc[1]
    kwds = {"groups": "question_id"}
    counted = hja.compare(smaller.with_covariance("cluster", kwds), mtbench.with_covariance("cluster", kwds))
    assert counted["note"].iloc[1] == "Rao-Scott, 1.65 by question_id"


def test_clusters_in_two_ways_are_inclusion_and_exclusion(clustered_panel):
    result = hja.BTLModel.from_comparisons(clustered_panel).fit()
    ways = "prompt", np.arange(clustered_panel.n_rows) // 10
    single = [result.with_covariance("cluster", {"groups": way, "use_correction": False}) for way in ways]
    both = Clusters.of(ways[0], clustered_panel).within(Clusters.of(ways[1], clustered_panel)).code
    crossed = result.with_covariance("cluster", {"groups": both, "use_correction": False})
    two = result.with_covariance("cluster", {"groups": list(ways), "use_correction": False})
    expected = single[0].cov_params() + single[1].cov_params() - crossed.cov_params()
    np.testing.assert_allclose(two.cov_params(), expected, atol=1e-12)
    again = hja.load_results(two.to_json())
    np.testing.assert_array_equal(again.bse, two.bse)


def test_a_two_way_covariance_is_positive_semi_definite(clustered_panel):
    result = hja.JAModel.from_comparisons(clustered_panel, position="judge").fit()
    with pytest.warns(hja.CovarianceWarning):
        two = result.with_covariance("cluster", {"groups": ["prompt", "pair"]})
    values = np.linalg.eigvalsh(two.cov_params().to_numpy())
    assert values.min() > -1e-12


def test_judges_in_few_clusters_are_named(clustered_panel):
    prompt = np.where(
        clustered_panel.judge_index == 0, np.arange(clustered_panel.n_rows) % 3, clustered_panel.columns["prompt"]
    )
    model = hja.JAModel.from_comparisons(clustered_panel)
    with pytest.warns(hja.CovarianceWarning, match=r"1 judge with verdicts in fewer than 10 clusters: 'judge-1 \(3\)'"):
        model.fit(cov_type="cluster", cov_kwds={"groups": prompt})


def test_the_correction_by_judge_is_the_factor_of_each_judges_clusters(clustered_panel):
    """All judges appear in all sixty prompts: one factor for all, on the scale of gradients."""
    result = hja.JAModel.from_comparisons(clustered_panel).fit()
    prompt = pd.Series(clustered_panel.judge_index).groupby(clustered_panel.judge_index).cumcount() % 60
    plain, own, whole = (
        result.with_covariance("cluster", {"groups": prompt, "use_correction": how}).bse
        for how in (False, "judge", True)
    )
    n, k = clustered_panel.n_comparisons, result.df_model
    np.testing.assert_allclose(own / plain, 60 / 59 * np.sqrt((n - 1) / (n - k)), rtol=1e-9)
    np.testing.assert_allclose(own / whole, np.sqrt(60 / 59), rtol=1e-9)


def test_errors_of_a_nearly_certain_judge_are_not_smaller_than_the_models(mtbench):
    name = "zai-org/GLM-4.5-Air-FP8"
    model = mtbench.with_covariance(information="observed")
    for robust in (mtbench.with_covariance("HC0"), mtbench.with_covariance("cluster", {"groups": "question_id"})):
        assert name in robust.cov_kwds["description"]
        for kind in ("gamma", "position"):
            # The model's own by the expected information, inflated through the observed bread of the sandwich.
            assert robust.bse[f"{kind}[{name}]"] >= 0.98 * mtbench.bse[f"{kind}[{name}]"]
    assert model.bse[f"gamma[{name}]"] > 0.3


def with_prompts(data, prompts):
    return hja.Comparisons.from_arrays(
        np.array(data.judges)[data.judge_index],
        np.array(data.items)[data.first_index],
        np.array(data.items)[data.second_index],
        data.outcome,
        columns=pd.DataFrame({"prompt": prompts}),
    )


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_rows_that_miss_their_prompt_are_by_themselves(panel, share):
    rng = np.random.default_rng(0)
    prompts = np.where(rng.random(len(panel)) < share, np.nan, rng.integers(40, size=len(panel)))
    result = hja.JAModel.from_comparisons(with_prompts(panel, prompts)).fit()
    assert not [found for found in result.findings if found.topic == "prompts"]
    assert result.diagnose().position_test.df_diff == 8
    assert not result.judges.stability().note
    assert result.judges.redundancy().unit == ("pairs of items" if share == 1.0 else "prompt-pairs")


def test_clusters_in_two_ways_may_keep_prompts_whole(panel):
    prompts = np.random.default_rng(0).integers(400, size=len(panel))
    result = hja.BTLModel.from_comparisons(with_prompts(panel, prompts)).fit()
    for groups, is_clustered in ((["prompt", "pair"], True), ("pair", False), ((prompts // 4).tolist(), True)):
        other = result.with_covariance("cluster", {"groups": groups})
        assert other.judges.redundancy().is_clustered == is_clustered


def test_a_ridge_may_know_what_a_judges_few_verdicts_do_not():
    rng = np.random.default_rng(6)
    columns = pd.DataFrame({"prompt": rng.integers(3, size=14)})
    judge, first = rng.integers(3, size=14), rng.integers(3, size=14)
    second, outcome = (first + rng.integers(1, 3, size=14)) % 3, rng.integers(2, size=14)
    data = hja.Comparisons.from_arrays(judge, first, second, outcome, columns=columns)
    result = hja.HJAModel.from_comparisons(data, rank=0, position="judge").fit_regularized(warn_convergence=False)
    assert "prompt" in finding(result, "prompts").text


def test_errors_that_clusters_make_smaller_are_not_said_to_be_larger(panel):
    """Half preferences vary less than verdicts."""
    columns = pd.DataFrame({"prompt_id": np.arange(panel.n_rows) // 4})
    soft = replace(panel.with_outcome(0.25 + 0.5 * panel.outcome), columns=columns)
    result = hja.BTLModel.from_comparisons(soft).fit(cov_type="cluster", cov_kwds={"groups": "prompt_id"})
    text = finding(result, "prompts").text
    assert re.search(r"over those of the model: mu 0\.\d times \(median 0\.\d\)\.", text)
    assert "larger than" not in text


# Rankings within prompts


def rankings(n_prompts, n=240):
    """So many rankings of four items of six by three judges, on so many prompts."""
    rng = np.random.default_rng(3)
    rows = []
    for k in range(n):
        items = rng.choice(6, 4, replace=False)
        judge = rng.integers(3)
        order = items[np.argsort(-((1.5, 0.8, 0.1)[judge] * items + rng.gumbel(size=4)))]
        rows.append({"judge": f"j{judge}", "prompt_id": k % n_prompts, "ranking": [f"i{i}" for i in order]})
    return hja.read_comparisons(pd.DataFrame(rows))


def test_prompts_that_contain_rankings_are_what_hangs_together():
    data = rankings(40)
    assert data.cluster == "ranking"
    clusters = Clusters.of_prompts(data)
    assert (clusters.name, clusters.n, clusters.noun) == ("prompt_id", 40, "prompts")
    result = hja.fit(data)
    assert result.cov_kwds["groups"] == "prompt_id"
    assert result.choices.loc["errors", "reason"].startswith("by 'prompt_id': 40 prompts")
    assert result.choices.loc["confirmed", "reason"].startswith("40 prompts held out")
    assert "'prompt_id' (40 prompts)" in finding(result, "prompts").text


@pytest.mark.parametrize("n_prompts", [240, 300])
def test_rankings_on_a_prompt_each_are_called_rankings(n_prompts):
    result = hja.fit(rankings(n_prompts))
    assert result.choices.loc["errors", "reason"].startswith("by 'ranking': 240 rankings")
    assert result.choices.loc["confirmed", "reason"].startswith("240 rankings held out")
    assert "'ranking' (240 rankings)" in finding(result, "prompts").text


def test_rankings_on_too_few_prompts_are_clustered_by_ranking_with_a_word():
    result = hja.fit(rankings(8))
    assert result.cov_kwds["groups"] == "ranking"
    reason = result.choices.loc["errors", "reason"]
    assert reason.startswith("by 'ranking': 240 rankings")
    assert reason.endswith("; 8 prompts are too few to cluster by")


def test_prompts_that_cut_through_what_was_judged_together_do_not_replace_it():
    data = rankings(40)
    torn = replace(data, columns=data.columns.assign(prompt_id=np.arange(data.n_rows) % 7))
    assert Clusters.of_prompts(torn).name == "ranking"
    missing = replace(data, columns=data.columns.assign(prompt_id=data.columns["prompt_id"].replace(3, np.nan)))
    assert Clusters.of_prompts(missing).name == "ranking"
