import numpy as np
import pytest

import hjastats as hja
from hjastats.diagnostics.calibration import calibration_table


def test_groups_keep_all_comparisons_and_average_their_predictions():
    rng = np.random.default_rng(0)
    predicted, weight = rng.random(997), rng.integers(1, 4, 997).astype(float)
    outcome = (rng.random(997) < predicted).astype(float)
    table = calibration_table(predicted, outcome, weight, n_bins=7)
    assert len(table) == 7
    assert table["comparisons"].sum() == weight.sum()
    assert (table["comparisons"] * table["predicted"]).sum() == pytest.approx(weight @ predicted)
    assert (table["comparisons"] * table["observed"]).sum() == pytest.approx(weight @ outcome)
    assert table["predicted"].is_monotonic_increasing
    # Each group has its share up to one row of weight three on either side.
    assert (table["comparisons"] - weight.sum() / 7).abs().max() <= 6


def test_a_row_of_weight_three_is_three_rows():
    predicted, outcome = np.array([0.1, 0.4, 0.8]), np.array([0.0, 1.0, 1.0])
    once = calibration_table(predicted, outcome, np.array([3.0, 1.0, 2.0]), n_bins=2)
    again = calibration_table(np.repeat(predicted, [3, 1, 2]), np.repeat(outcome, [3, 1, 2]), n_bins=2)
    np.testing.assert_allclose(once, again)


def test_equal_predictions_are_one_group():
    table = calibration_table(np.full(50, 0.5), np.tile([0.0, 1.0], 25), n_bins=10)
    assert len(table) == 1
    # Wilson's interval of 25 out of 50.
    assert table.loc[0, ["ci_lower", "ci_upper"]].tolist() == pytest.approx([0.3664, 0.6336], abs=1e-4)


def test_no_group_is_refused():
    with pytest.raises(ValueError, match="n_bins must be a whole number from 1, got"):
        calibration_table(np.array([0.5]), np.array([1.0]), n_bins=0)


def test_a_fit_is_calibrated_on_average_over_its_own_data(panel):
    result = hja.HJAModel.from_comparisons(panel, position="judge").fit()
    table = calibration_table(result.fittedvalues, result.model.comparisons.outcome)
    # With a position effect per judge the expected and observed wins of the first item agree (score equation).
    expected = (table["comparisons"] * (table["predicted"] - table["observed"])).sum()
    assert expected == pytest.approx(0.0, abs=1e-4)
