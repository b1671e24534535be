"""Facts and tests of a diagnosis."""

import numpy as np
import pytest
from scipy import stats

import hjastats as hja
from hjastats.data.comparisons import Comparisons


def test_a_diagnosis_states_tests_and_facts(tied_panel):
    diagnosis = hja.JAModel.from_comparisons(tied_panel).fit().diagnose()
    position = hja.JAModel.from_comparisons(tied_panel, position="judge").fit()
    assert diagnosis.position_test.statistic == pytest.approx(
        2 * (position.llf - hja.JAModel.from_comparisons(tied_panel).fit().llf)
    )
    np.testing.assert_allclose(diagnosis.judges["position"], position.position["estimate"])
    share = tied_panel.first_share()
    wins, decided = (
        share["first_share"] * share["comparisons"] - share["ties"] / 2,
        share["comparisons"] - share["ties"],
    )
    exact = stats.binomtest(int(wins.iloc[0]), int(decided.iloc[0])).proportion_ci(method="exact")
    np.testing.assert_allclose(
        diagnosis.judges.iloc[0][["first_lower", "first_upper"]].astype(float), [exact.low, exact.high]
    )
    assert "Likelihood ratio of position effects" in repr(diagnosis)
    assert len(diagnosis.warnings) + sum(not f.is_warning for f in diagnosis.findings) == len(diagnosis.findings)
    assert position.diagnose().position_test is None


def test_diagnosis_of_dropped_ties_and_of_a_judge_that_always_picks_first(tied_panel):
    assert hja.JAModel.from_comparisons(tied_panel, ties="drop").fit().diagnose().position_test.df_diff == 4
    frame = tied_panel.to_frame()
    outcome = np.where(tied_panel.judge_index == 0, 1.0, tied_panel.outcome)
    always = Comparisons.from_arrays(frame["judge"], frame["first"], frame["second"], outcome)
    judges = hja.BTLModel.from_comparisons(always).fit().diagnose().judges
    assert np.isnan(judges.loc["judge-1", "position"])
    assert judges["position"].notna().sum() == 3


def test_what_a_penalised_fit_says_of_positions_is_penalised_too(panel):
    few = panel.subset(np.arange(panel.n_rows) % 16 == 0)
    result = hja.JAModel.from_comparisons(few).fit_regularized(alpha=1.0, terms=True)
    diagnosis = result.diagnose()
    other = result.model.with_position("judge").fit_regularized(alpha=1.0, terms=True)
    np.testing.assert_allclose(diagnosis.judges["position"].astype(float), other.position["estimate"], rtol=1e-6)
    assert diagnosis.position_test is None


def test_one_judge_has_the_position_effect_of_all_judges(clustered_panel):
    data = clustered_panel.subset(clustered_panel.judge_index == 0)
    assert hja.BTLModel.from_comparisons(data, position="common").fit().diagnose().position_test is None
