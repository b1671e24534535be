import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.limits import FEW_SHARED
from tests.panels import finding


def shared_prompts(seed=0, n_judges=8, n_items=8, n=400, copied=0.0, prompt_effect=0.0, with_prompts=True):
    """Judges of the same prompts. Judge j1 repeats each verdict of j0 with probability ``copied``; at 2 everybody repeats all."""
    rng = np.random.default_rng(seed)
    mu = rng.standard_normal(n_items)
    first = rng.integers(n_items, size=n)
    second = (first + rng.integers(1, n_items, size=n)) % n_items
    odds = mu[first] - mu[second] + prompt_effect * rng.standard_normal(n)
    wins = rng.random((n_judges, n)) < 1 / (1 + np.exp(-odds))
    wins[1] = np.where(rng.random(n) < copied, wins[0], wins[1])
    wins = np.tile(wins[0], (n_judges, 1)) if copied == 2 else wins
    shuffled = rng.permutation(n_judges * n)
    judge, row = np.divmod(shuffled, n)
    columns = pd.DataFrame({"prompt_id": row}) if with_prompts else None
    names = np.array([f"j{k}" for k in range(n_judges)])
    return hja.Comparisons.from_arrays(
        names[judge], first[row], second[row], wins[judge, row].astype(float), columns=columns
    )


def fitted(**options):
    return hja.JAModel.from_comparisons(shared_prompts(**options)).fit()


@pytest.mark.parametrize("with_prompts", [True, False])
def test_eight_exact_copies_are_one_judge(with_prompts):
    result = fitted(copied=2, with_prompts=with_prompts)
    found = result.judges.redundancy()
    assert found.copies == [tuple(f"j{k}" for k in range(8))]
    assert result.judges.effective_number().number == pytest.approx(1.0, rel=1e-6)
    assert result.judges.effective_number().independent == pytest.approx(8.0, rel=1e-6)
    warned = finding(result, "redundancy")
    assert warned.is_warning
    assert "counts as 1.0 independent judges instead of 8.0" in warned.text
    # Eight times the same verdicts: errors of one judge are the square root of eight as large.
    assert "2.83 times as large" in warned.text


@pytest.mark.parametrize("with_prompts", [True, False])
def test_a_copy_of_nine_verdicts_in_ten_is_named_and_nobody_else(with_prompts):
    found = fitted(copied=0.9, with_prompts=with_prompts).judges.redundancy()
    assert found.copies == [("j0", "j1")]
    assert found.panel_p > 0.01
    assert found.effective.number < found.effective.independent - 0.5


@pytest.mark.parametrize("with_prompts", [True, False])
def test_independent_judges_are_said_to_be_and_count_as_before(with_prompts):
    result = fitted(with_prompts=with_prompts)
    found = finding(result, "redundancy")
    assert not found.is_warning
    assert found.text.startswith("No two judges are near-copies on shared ")
    assert result.judges.effective_number().number == result.judges.effective_number().independent


def test_what_a_prompt_does_to_everybody_makes_no_copies():
    result = fitted(prompt_effect=2.0)
    found = result.judges.redundancy()
    assert found.copies == []
    assert found.panel_p < 1e-10
    assert "cluster by prompt" in found.text
    clustered = result.with_covariance("cluster", {"groups": "prompt_id"}).judges.redundancy()
    assert not clustered.is_warning
    assert "clustered standard errors in use are made for that" in clustered.text


def test_clusters_that_tear_prompts_apart_do_not_count_them():
    result = fitted(prompt_effect=2.0)
    torn = result.with_covariance("cluster", {"groups": np.arange(len(result.model.comparisons)) // 40})
    assert torn.judges.redundancy().is_warning
    whole = result.with_covariance("cluster", {"groups": result.model.comparisons.columns["prompt_id"] // 2})
    assert not whole.judges.redundancy().is_warning


def test_a_few_surprises_in_common_make_no_copies():
    """Two judges who pick the first item but for four verdicts each, three of them on the same prompts."""
    data = shared_prompts(n=300)
    frame = data.to_frame().sort_values(["judge", "prompt_id"], ignore_index=True)
    for judge, second in (("j0", [3, 50, 120, 200]), ("j1", [3, 50, 120, 250])):
        rows = frame["judge"] == judge
        frame.loc[rows, "outcome"] = np.where(frame.loc[rows, "prompt_id"].isin(second), 0.0, 1.0)
    biased = hja.Comparisons.from_arrays(
        *(frame[name] for name in ("judge", "first", "second", "outcome")), columns=frame[["prompt_id"]]
    )
    found = hja.JAModel.from_comparisons(biased, position="judge").fit().judges.redundancy()
    assert found.pairs.set_index(["judge", "other"]).loc[("j0", "j1"), "correlation"] > 0.7
    assert found.copies == []


def test_the_correlation_tells_by_how_much_clustered_errors_are_larger():
    """Advice is followed: errors clustered by prompt against those of the model, here with one pair of items for a prompt."""
    result = fitted(prompt_effect=2.0, n=1500)
    found = result.judges.redundancy().effective
    clustered = result.with_covariance("cluster", {"groups": "prompt_id"})
    ratio = np.mean(clustered.consensus["std_err"] / result.consensus["std_err"])
    # Both are estimates from 1,500 prompts.
    assert np.sqrt(found.independent / found.number) == pytest.approx(ratio, rel=0.1)


def test_agreement_and_correlation_are_those_of_the_verdicts_on_the_same_prompts():
    data = shared_prompts(copied=0.9)
    result = hja.JAModel.from_comparisons(data).fit()
    frame = data.to_frame()
    frame["p"] = result.predict()
    one, other = (frame[frame["judge"] == name].set_index("prompt_id").sort_index() for name in ("j0", "j1"))
    row = result.judges.redundancy().pairs.iloc[0]
    assert (row["judge"], row["other"], row["shared"]) == ("j0", "j1", 400)
    assert row["agreement"] == pytest.approx((one["outcome"] == other["outcome"]).mean())
    assert row["expected"] == pytest.approx((one["p"] * other["p"] + (1 - one["p"]) * (1 - other["p"])).mean())
    left, right = one["outcome"] - one["p"], other["outcome"] - other["p"]
    assert row["correlation"] == pytest.approx((left @ right) / np.sqrt((left @ left) * (right @ right)))


def test_the_order_of_presentation_and_of_rows_changes_nothing():
    data = shared_prompts(copied=0.9)
    frame, rng = data.to_frame(), np.random.default_rng(1)
    flip = rng.random(len(frame)) < 0.5
    swapped = hja.Comparisons.from_arrays(
        frame["judge"],
        np.where(flip, frame["second"], frame["first"]),
        np.where(flip, frame["first"], frame["second"]),
        np.where(flip, 1 - frame["outcome"], frame["outcome"]),
        columns=data.columns,
    ).subset(rng.permutation(len(frame)))
    found, other = (hja.JAModel.from_comparisons(each).fit().judges.redundancy() for each in (data, swapped))
    np.testing.assert_allclose(found.correlation, other.correlation, atol=1e-6)
    np.testing.assert_allclose(found.agreement, other.agreement, atol=1e-12)
    assert found.effective.number == pytest.approx(other.effective.number, rel=1e-5)


def test_nothing_is_said_of_judges_who_share_nothing():
    data = shared_prompts()
    own = hja.Comparisons.from_arrays(
        data.judge_index,
        data.first_index,
        data.second_index,
        data.outcome,
        columns=pd.DataFrame({"uid": range(len(data))}),
    )
    found = hja.JAModel.from_comparisons(own).fit().judges.redundancy()
    assert repr(found) == f"No two judges share {FEW_SHARED} prompt-pairs: whether some repeat others cannot be told."
    assert not found.is_warning
    alone = hja.BTLModel.from_comparisons(data.subset(data.judge_index == 0)).fit()
    assert finding(alone, "redundancy").text == "There is one judge: nobody was compared with others."


def test_many_judges_are_not_compared(set_limits):
    set_limits(COMPARED_JUDGES=5)
    assert "More than 5 judges" in fitted().judges.redundancy().text


def test_verdicts_on_unknown_prompts_and_ties_take_no_part_in_agreement():
    data = shared_prompts(copied=0.9)
    columns = data.columns.astype(float)
    columns.loc[::7, "prompt_id"] = np.nan
    outcome = np.where(np.arange(len(data)) % 5 == 0, 0.5, data.outcome)
    other = hja.Comparisons.from_arrays(
        np.array(data.judges)[data.judge_index], data.first_index, data.second_index, outcome, columns=columns
    )
    found = hja.JAModel.from_comparisons(other, ties="davidson").fit().judges.redundancy()
    row = found.pairs.set_index(["judge", "other"]).loc[("j0", "j1")]
    assert 0.9 < row["agreement"] < 1
    assert 200 < row["shared"] < 400
    assert "and 8 more in .pairs" in repr(found)


def test_the_four_judges_of_one_vendor_in_mt_bench_are_named(shared_data):
    data = hja.read_comparisons(shared_data / "mtbench.json")
    result = hja.JAModel.from_comparisons(data, position="judge").fit()
    found = result.judges.redundancy()
    vendor = ("kimi-k2-0905-preview", "kimi-k2-thinking-turbo", "moonshot-v1-128k", "moonshot-v1-32k")
    assert found.copies == [vendor]
    assert found.panel_p < 1e-10
    # Errors clustered by question are 2.1 times those of the model.
    assert 1.8 < np.sqrt(found.effective.independent / found.effective.number) < 2.3


def test_the_closest_of_judges_that_differ_are_two():
    rng = np.random.default_rng(0)
    first = rng.integers(5, size=400)
    second = (first + rng.integers(1, 5, size=400)) % 5
    wins = (rng.random(400) < 1 / (1 + np.exp((first - second) / 2.0))).astype(float)
    # Two judges of the same prompts who differ in nine verdicts of ten where the model expects them to agree.
    other = np.where(rng.random(400) < 0.9, 1 - wins, wins)
    columns = pd.DataFrame({"prompt_id": np.tile(np.arange(400), 2)})
    judge = np.repeat(["ann", "bob"], 400)
    data = hja.Comparisons.from_arrays(judge, np.tile(first, 2), np.tile(second, 2), [*wins, *other], columns=columns)
    found = hja.BTLModel.from_comparisons(data).fit().judges.redundancy()
    assert "(closest: 'ann' and 'bob', residuals correlate -0." in found.text
