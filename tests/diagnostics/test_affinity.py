import gc

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

import hjastats as hja
from hjastats.errors import ContrastError, IdentificationError
from hjastats.simulation import near_balanced_design, simulate_comparisons

FAMILIES = {f"judge-{i}": family for i, family in enumerate("xxyyzz", 1)} | {"judge-first": "w", "judge-noise": "w"}
# Two items for each of five families, so that own and other items are equally many for every judge.
ITEMS = {f"model-{letter}": family for letter, family in zip("ABCDEFGHIJ", "xyzwvxyzwv", strict=True)}


@pytest.fixture(scope="module")
def families_panel(panel):
    judges = pd.DataFrame({"family": FAMILIES})
    return panel.with_metadata(judges=judges, items=pd.Series(ITEMS, name="family"))


@pytest.fixture(scope="module")
def result(families_panel):
    return hja.HJAModel.from_comparisons(families_panel, rank=1, position="judge").fit()


@pytest.mark.parametrize(
    ("cls", "options", "cov_type"),
    [
        (hja.HJAModel, {"rank": 1, "position": "judge"}, "nonrobust"),
        (hja.HJAModel, {"rank": 2}, "HC0"),
        (hja.JudgewiseBTLModel, {}, "nonrobust"),
    ],
)
def test_the_mean_over_judges_is_the_coefficient_of_same_family(families_panel, cls, options, cov_type):
    result = cls.from_comparisons(families_panel, **options).fit(cov_type=cov_type)
    found = result.judges.affinity()
    formula = result.contrast_formula("disagreement ~ same_family").summary_frame().loc["same_family"]
    np.testing.assert_allclose(found.overall[formula.index].astype(float), formula, rtol=1e-8)


def test_each_judge_is_the_contrast_one_would_write_down(result):
    found = result.judges.affinity("family", "family").judges
    own, other = ["model-A", "model-F"], [item for item in result.model.items if ITEMS[item] != "x"]
    text = " + ".join(f"R[judge-1, {item}] / 2" for item in own) + "".join(f" - R[judge-1, {i}] / 8" for i in other)
    by_hand = result.contrast(text).summary_frame().iloc[0]
    np.testing.assert_allclose(found.loc["judge-1", by_hand.index].astype(float), by_hand, rtol=1e-8)
    family = result.judges.affinity().families.loc["x"]
    assert family["estimate"] == pytest.approx(found.loc[["judge-1", "judge-2"], "estimate"].mean())
    assert (family["judges"], family["items"]) == (2, 2)


def test_p_values_are_adjusted_by_holm_and_the_joint_test_is_that_of_the_families(result):
    found = result.judges.affinity()
    for table in (found.families, found.judges):
        np.testing.assert_allclose(table["p_holm"], multipletests(table["p_value"], method="holm")[1])
    one = result.judges.affinity(
        {judge: family if family == "x" else None for judge, family in FAMILIES.items()}, ITEMS
    )
    assert float(one.joint_test.statistic) == pytest.approx(one.families.loc["x", "z"] ** 2)
    assert list(one.judges.index) == ["judge-1", "judge-2"]
    assert f"chi2(1) = {one.families.loc['x', 'z'] ** 2:.2f}" in repr(one)


def test_dicts_series_and_columns_say_the_same(result):
    expected = result.judges.affinity("family", "family").judges
    for judges, items in ((FAMILIES, pd.Series(ITEMS)), (pd.Series(FAMILIES), pd.DataFrame({"f": ITEMS})["f"])):
        pd.testing.assert_frame_equal(result.judges.affinity(judges, items).judges, expected)


def test_judges_without_own_items_are_left_out_and_named(result):
    found = result.judges.affinity(FAMILIES | {"judge-6": "nobody", "judge-5": None}, ITEMS)
    assert found.left_out == ("judge-6",)
    assert "z" not in found.families.index
    assert "No own or no other items to compare: 'judge-6'" in repr(found)


def test_questions_without_answer_are_refused(families_panel, result):
    with pytest.raises(ContrastError, match="rank 0, so there is no disagreement to contrast"):
        hja.JAModel.from_comparisons(families_panel).fit().judges.affinity()
    with pytest.raises(ContrastError, match="no disagreement to contrast"):
        hja.BTLModel.from_comparisons(families_panel).fit().judges.affinity()
    with pytest.raises(ContrastError, match="no metadata column of judges is called 'maker'"):
        result.judges.affinity("maker")
    with pytest.raises(ContrastError, match="item_family has no entry for 'model-A'"):
        result.judges.affinity("family", {item: "x" for item in ITEMS if item != "model-A"})
    with pytest.raises(ContrastError, match="no judge has items of its own family"):
        result.judges.affinity("family", dict.fromkeys(ITEMS, "other"))
    with pytest.raises(ContrastError, match="must be a column name, a dict or a pandas"):
        result.judges.affinity(["x"] * 8)
    sure = families_panel.subset(
        (families_panel.judge_index > 0)
        | (families_panel.outcome == 1) & (families_panel.first_index < families_panel.second_index)
    )
    separated = hja.JudgewiseBTLModel.from_comparisons(sure).fit(warn_convergence=False)
    assert separated.fit.separation is not None
    with pytest.raises(IdentificationError, match="withheld"):
        separated.judges.affinity()


OF_JUDGE = ["x", "x", "y", "y", None, None]
OF_ITEM = np.repeat(["x", "y", "other"], 3)
CONSENSUS = np.array([1.0, -0.2, 0.3, 0.4, -0.9, -0.6, 0.9, -0.5, -0.4])
SENSITIVITY = np.array([1.2, 0.8, 1.0, 1.1, 0.9, 1.0])


def rejections(residual, n, model, **options):
    scores = np.outer(SENSITIVITY, CONSENSUS) + residual
    rejected = []
    for seed in range(n):
        data = simulate_comparisons(scores, near_balanced_design(6, 9, 4_320, rng=seed), rng=10_000 + seed)
        result = model.from_comparisons(data, **options).fit(warn_convergence=False)
        families = dict(zip(data.judges, OF_JUDGE, strict=True)), dict(zip(data.items, OF_ITEM, strict=True))
        rejected.append(float(result.judges.affinity(*families).joint_test.pvalue) < 0.05)
    return np.mean(rejected)


def taste_within_families():
    """Disagreement about items of the same family only, and off the consensus: nobody favours a family."""
    within = CONSENSUS - np.repeat([CONSENSUS[family == OF_ITEM].mean() for family in ("x", "y", "other")], 3)
    v = np.array([1.0, -1, 0, -1, 0, 1, 0, 1, -1])
    v = v - within * (v @ within) / (within @ within)
    u = np.array([1.0, 0.8, -0.7, -0.9, 0.4, -0.6]) * 0.7
    return np.outer(u, v)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "options"), [(hja.HJAModel, {"rank": 1}), (hja.JudgewiseBTLModel, {})])
def test_without_self_preference_the_joint_test_rejects_at_its_level(model, options, monkeypatch):
    # multipletests collects garbage at every call, most of the time this would take.
    monkeypatch.setattr(gc, "collect", lambda *_: 0)
    n = 400
    # Three Monte-Carlo standard errors of a share of 5% in n replications.
    margin = 3 * np.sqrt(0.05 * 0.95 / n)
    assert rejections(taste_within_families(), n, model, **options) == pytest.approx(0.05, abs=margin)


@pytest.mark.slow
def test_planted_self_preference_is_found(monkeypatch):
    monkeypatch.setattr(gc, "collect", lambda *_: 0)
    own = np.array([[1.0 if family == of else -0.5 for of in OF_ITEM] if family else [0.0] * 9 for family in OF_JUDGE])
    # A third of a log-odds unit for own items: a coin that falls 58 to 42.
    assert rejections(own / 4.5, 40, hja.HJAModel, rank=1) > 0.9
