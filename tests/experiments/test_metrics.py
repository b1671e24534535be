import numpy as np
import pytest

from hjastats.experiments import metrics


def test_measures_have_their_textbook_values():
    true, estimated = np.array([3.0, 2.0, 1.0, 0.0]), np.array([3.0, 1.0, 2.0, 0.0])
    # Two neighbours exchanged: 1 - 6 * 2 / (4 * 15).
    assert metrics.spearman(estimated, true) == pytest.approx(0.8)
    relevance = np.array([7.0, 3.0, 1.0, 0.0])
    discount = 1 / np.log2([2, 3, 4, 5])
    assert metrics.ndcg(estimated, true) == pytest.approx((relevance[[0, 2, 1, 3]] @ discount) / (relevance @ discount))
    assert metrics.same_places(estimated, true) == 0.5
    assert metrics.score_error(estimated, true) == 0.5
    assert metrics.sign_accuracy(estimated[None], true[None]) == pytest.approx(5 / 6)


def test_coverage_counts_scores_inside_their_intervals():
    assert metrics.coverage(np.zeros((1, 4)), np.ones((1, 4)), np.array([[0.0, 1.9, -1.95, 2.0]])) == 0.75


def test_calibration_error_is_zero_for_shares_that_come_true_and_their_distance_otherwise():
    p, y = np.repeat([0.2, 0.8], 10), np.r_[np.repeat([1, 0], [2, 8]), np.repeat([1, 0], [8, 2])].astype(float)
    assert metrics.calibration_error(p, y, 2) == pytest.approx(0.0)
    assert metrics.calibration_error(p, 1 - y, 2) == pytest.approx(0.6)
    assert metrics.log_loss(np.array([0.5, 0.25]), np.array([0.5, 1.0])) == pytest.approx((np.log(2) + np.log(4)) / 2)
