"""Forests of contrasts."""

import numpy as np


def ends(ax):
    """Ends of the horizontal lines, shape (n, 2)."""
    return np.array([segment[:, 0] for segment in ax.collections[0].get_segments()])


def test_contrasts_keep_their_order_and_have_their_intervals(panel_fit):
    found = panel_fit.contrast(["gamma[judge-2] = 1", "gamma[judge-1] = 1"])
    ax = panel_fit.plot.contrast(found)
    assert [label.get_text() for label in ax.get_yticklabels()] == found.names
    np.testing.assert_allclose(ends(ax), found.conf_int())
    assert ax.get_lines()[0].get_xdata()[0] == 1.0
    wide = panel_fit.plot.contrast(found, simultaneous=True, alpha=0.1)
    np.testing.assert_allclose(ends(wide), found.adjusted(alpha=0.1)[["ci_lower", "ci_upper"]])
    assert "simultaneous 90% intervals" in wide.get_xlabel()


def test_intervals_without_an_end_run_to_the_edge(panel_fit):
    found = panel_fit.contrast("mu[model-A, model-B] - mu[model-C]", alternative="larger")
    drawn = ends(panel_fit.plot.contrast(found))
    np.testing.assert_allclose(drawn[:, 0], found.conf_int()[:, 0])
    assert np.isfinite(drawn).all()
    assert (drawn[:, 1] > found.estimate.max()).all()
