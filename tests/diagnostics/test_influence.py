import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.diagnostics.deletion import one_step
from hjastats.errors import IdentificationError
from hjastats.simulation import heterogeneous_panel, near_balanced_design, simulate_comparisons
from hjastats.solve.ridge import NO_RIDGE

# A Newton step is wrong by the square of what it moves: halving the judge's weight must quarter its error. Cubic terms blur the
# factor 4 at the weights used, by less than this.
QUARTER = (3.4, 4.6)
# With twelve judges one of them moves the others by about a twelfth, and the step is wrong by that share of the change.
ONE_IN_TWELVE = 1 / 12


def weighted(data, judge, weight):
    """The data with all verdicts of one judge counted ``weight`` times."""
    frame = data.to_frame()
    return hja.Comparisons.from_arrays(
        frame["judge"],
        frame["first"],
        frame["second"],
        frame["outcome"],
        np.where(frame["judge"] == judge, weight, 1.0),
        columns=data.columns,
    )


@pytest.fixture(scope="module")
def tied(panel):
    frame = panel.to_frame()
    rng = np.random.default_rng(3)
    outcome = np.where(rng.random(len(frame)) < 0.15, 0.5, frame["outcome"])
    length = pd.DataFrame({"length": rng.standard_normal(len(frame))})
    return hja.Comparisons.from_arrays(frame["judge"], frame["first"], frame["second"], outcome, columns=length)


CASES = {
    "JA": (hja.JAModel, {"position": "judge"}, {}),
    "HJA 1": (hja.HJAModel, {"rank": 1, "position": "common"}, {}),
    "HJA 2": (hja.HJAModel, {"rank": 2, "position": "judge"}, {}),
    "BTL": (hja.BTLModel, {"position": "judge"}, {}),
    "HJA 1 ridge": (hja.HJAModel, {"rank": 1, "position": "judge"}, {"terms": True}),
    "BTL ridge": (hja.BTLModel, {"position": "judge"}, {"terms": True}),
    "Davidson": (hja.JAModel, {"ties": "davidson", "tie": "judge", "exog": ["length"]}, {}),
    "Davidson common": (hja.HJAModel, {"rank": 1, "ties": "davidson", "judge_exog": ["length"]}, {}),
}


@pytest.mark.parametrize("case", list(CASES))
@pytest.mark.filterwarnings("ignore:some weights are no whole numbers")
def test_the_step_misses_the_refit_by_the_square_of_the_judges_weight(panel, tied, case):
    cls, options, penalty = CASES[case]
    data = tied if "Davidson" in case else panel
    k = 4

    def fitted(comparisons, weight):
        model = cls.from_comparisons(comparisons, **options)
        # The judge's share of the ridge must vanish with its verdicts.
        how = {"warn_convergence": False}
        return model.fit_regularized(alpha=5 * weight, **penalty, **how) if penalty else model.fit(**how)

    errors = []
    for weight in (0.1, 0.05, 0.025):
        target = fitted(data.without_judges(data.judges[k]), weight).fit.at
        result = fitted(weighted(data, data.judges[k], weight), weight)
        estimate = result.fit
        ridge = estimate.penalty.ridge if penalty else NO_RIDGE
        step = one_step(result.model.design, estimate.at, estimate.tangent, k, ridge)
        missed = [
            np.delete(step.at.scores, k, axis=0) - target.scores,
            np.delete(step.at.judge, k, axis=0) - target.judge,
            step.at.shared - target.shared,
        ]
        errors.append(np.sqrt(sum(np.vdot(part, part) for part in missed)))
        assert step.note == ""
    ratios = np.array(errors[:-1]) / np.array(errors[1:])
    assert (ratios > QUARTER[0]).all()
    assert (ratios < QUARTER[1]).all()


def test_unrestricted_scores_of_the_others_do_not_move_at_all(panel):
    result = hja.JudgewiseBTLModel.from_comparisons(panel).fit()
    step, refit = result.judges.influence(), result.judges.influence("refit")
    np.testing.assert_allclose(step.consensus, refit.consensus.loc[step.consensus.index], atol=1e-8)
    others = result.scores.drop(index="judge-3").mean()
    np.testing.assert_allclose(step.consensus.loc["judge-3"], others, atol=1e-10)


def test_on_a_large_panel_the_step_is_as_good_as_the_refit():
    truth = heterogeneous_panel(12, 8, rank=1, heterogeneity=0.2, rng=4)
    data = simulate_comparisons(truth.scores, near_balanced_design(12, 8, 12_000, rng=5), rng=6)
    result = hja.JAModel.from_comparisons(data).fit()
    step, refit = result.judges.influence(), result.judges.influence("refit")
    table, exact = step.table, refit.table.loc[step.table.index]
    change = np.linalg.norm(refit.consensus.loc[table.index] - result.fit.parts.mu, axis=1)
    missed = np.linalg.norm(step.consensus - refit.consensus.loc[table.index], axis=1)
    assert (missed < ONE_IN_TWELVE * change).all()
    np.testing.assert_allclose(table["loglike_gain"], exact["loglike_gain"], rtol=ONE_IN_TWELVE)
    assert (exact["loglike_gain"] > 0).all()


@pytest.fixture(scope="module")
def outlier():
    """Five judges agree that a leads narrowly; the sixth turns the order round."""
    mu = np.array([1.0, 0.9, 0.2, -0.6, -1.5])
    scores = np.vstack([np.tile(mu, (5, 1)), [-1.5, 1.6, 0.3, -0.2, -0.2]])
    data = simulate_comparisons(
        scores, near_balanced_design(6, 5, 6_000, rng=1), judges=[*"pqrst", "odd"], items=list("abcde"), rng=2
    )
    return hja.BTLModel.from_comparisons(data).fit()


def test_both_methods_point_at_the_outlier_with_the_same_signs_and_the_same_new_leader(outlier):
    step, refit = outlier.judges.influence(), outlier.judges.influence("refit")
    assert step.table.index[0] == refit.table.index[0] == "odd"
    mu = outlier.fit.parts.mu
    change, exact = step.consensus.loc["odd"] - mu, refit.consensus.loc["odd"] - mu
    np.testing.assert_array_equal(np.sign(change), np.sign(exact))
    assert change["a"] > 0 > change["b"]
    for found in (step, refit):
        row = found.table.loc["odd"]
        assert (row["largest_item"], row["new_leader"], row["places_changed"]) == ("a", "a", 2)
        assert row["kendall"] == pytest.approx(0.8)
        assert row["spearman"] == pytest.approx(0.9)
        assert (found.table.drop(index="odd")["new_leader"] == "").all()
        assert row["rms_change"] == pytest.approx(np.sqrt(np.mean((found.consensus.loc["odd"] - mu) ** 2)))
        assert row["largest_change"] == pytest.approx((found.consensus.loc["odd"] - mu)["a"])


@pytest.mark.parametrize("method", ["one-step", "refit"])
def test_a_noise_judge_that_only_stretches_the_consensus_comes_last(method):
    """Without it mean(gamma) = 1 is one of the others alone: the consensus is 9/8 as long and has the same order."""
    scores = np.vstack([np.tile(np.linspace(-1, 1, 6), (8, 1)), np.zeros(6)])
    design = near_balanced_design(9, 6, 9_000, rng=1)
    data = simulate_comparisons(scores, design, judges=[*"abcdefgh", "noise"], rng=2)
    table = hja.JAModel.from_comparisons(data).fit().judges.influence(method).table
    assert table["rms_change"].idxmax() == "noise"
    assert table.index[-1] == "noise"
    assert table["relative_change"].is_monotonic_decreasing


def test_refits_are_those_of_the_data_without_the_judge(panel):
    covariate = pd.DataFrame({"length": np.linspace(-1, 1, panel.n_rows) ** 2})
    result = hja.HJAModel.from_comparisons(panel, covariate, rank=1, position="judge").fit()
    found = result.judges.influence("refit", n_jobs=2)
    kept = panel.judge_index != panel.judges.index("judge-2")
    by_hand = hja.HJAModel.from_comparisons(
        panel.subset(kept), covariate[kept].to_numpy(), rank=1, position="judge"
    ).fit()
    np.testing.assert_allclose(
        found.consensus.loc["judge-2"], by_hand.consensus.loc[list(panel.items), "estimate"], atol=1e-7
    )
    pd.testing.assert_frame_equal(found.table, result.judges.influence("refit").table)
    rest = -result.model.without_judges("judge-2").loglike(by_hand.params)
    full = -result.model.loglikeobs(result.params)[kept].sum()
    assert found.table.loc["judge-2", "loglike_gain"] == pytest.approx((full - rest) / kept.sum(), rel=1e-6)


def test_rows_that_cannot_be_had_are_empty_and_say_why(panel):
    frame = panel.to_frame()
    only = frame[frame["judge"] == "judge-1"].replace({"first": {"model-A": "own"}, "second": {"model-A": "own"}})
    frame = pd.concat([frame, only[(only["first"] == "own") | (only["second"] == "own")]])
    data = hja.Comparisons.from_arrays(*(frame[name] for name in ("judge", "first", "second", "outcome")))
    result = hja.BTLModel.from_comparisons(data).fit()
    for method in ("one-step", "refit"):
        row = result.judges.influence(method).table.loc["judge-1"]
        assert np.isnan(row["rms_change"])
        assert row["note"] == "No other judge compared 'own'."
        assert result.judges.influence(method).table["rms_change"].notna().sum() == 7
        assert "judge-1: No other judge" in repr(result.judges.influence(method))
    alone = hja.BTLModel.from_comparisons(panel.without_judges(panel.judges[1:])).fit()
    assert alone.judges.influence().table["note"].tolist() == ["There is no other judge."]
    two = hja.HJAModel.from_comparisons(panel.without_judges(panel.judges[2:]), rank=1).fit()
    assert two.judges.influence("refit").table["note"].tolist() == ["Rank 1 needs more than 1 judges."] * 2


def test_a_refit_whose_estimate_does_not_exist_is_an_empty_row():
    # Only the noisy judge ever lets c win.
    rows = [("sure", "a", "b", 1), ("sure", "b", "a", 1), ("sure", "a", "c", 1), ("sure", "b", "c", 1)] * 5
    rows += [("noisy", "a", "c", 1), ("noisy", "c", "a", 1), ("noisy", "b", "c", 1), ("noisy", "b", "a", 1)] * 5
    data = hja.Comparisons.from_arrays(*map(list, zip(*rows, strict=True)))
    result = hja.BTLModel.from_comparisons(data).fit()
    row = result.judges.influence("refit").table.loc["noisy"]
    assert np.isnan(row["rms_change"])
    assert row["note"] == "Without this judge the estimate does not exist: scores run to infinity."


def test_fits_without_an_estimate_are_refused(panel):
    sure = hja.Comparisons.from_arrays(["j"] * 4 + ["k"] * 4, list("abab") * 2, list("cccc") * 2, [1] * 8)
    separated = hja.BTLModel.from_comparisons(sure).fit(warn_convergence=False)
    with pytest.raises(IdentificationError, match="no finite, determined estimate"):
        separated.judges.influence()
    firth = hja.JAModel.from_comparisons(panel).fit_regularized(penalty="firth")
    with pytest.raises(IdentificationError, match="use method='refit'"):
        firth.judges.influence()
    with pytest.raises(ValueError, match="method must be"):
        firth.judges.influence("jackknife")
