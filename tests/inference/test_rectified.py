"""The rectified estimate of means, whose formulas are known."""

import numpy as np

from hjastats.inference.rectified import rectify


def means(rng, n=4000, n_labelled=400, agreement=0.8):
    """A mean of few labels, with predictions of them for all: contributions of both."""
    others = rng.normal(size=(n, 2))
    labels = agreement * others + rng.normal(size=(n, 2))
    is_labelled = np.zeros(n, dtype=bool)
    is_labelled[rng.choice(n, n_labelled, replace=False)] = True
    direct = labels[is_labelled].mean(axis=0)
    own = np.where(is_labelled[:, None], (labels - direct) / n_labelled, 0.0)
    return direct, own, (others - others.mean(axis=0))[None] / n, is_labelled, others


def test_it_is_the_estimate_of_a_mean_with_a_tuned_power():
    direct, own, others, is_labelled, predicted = means(np.random.default_rng(0))
    found = rectify(direct, own, others, is_labelled)
    assert abs(found.power[0] - 0.8) < 0.1
    expected = direct - found.power[0] * (predicted[is_labelled].mean(axis=0) - predicted.mean(axis=0))
    np.testing.assert_allclose(found.scores, expected - expected.mean(), atol=0.003)


def test_errors_are_those_of_draws():
    """500 draws: the spread is known to 3.2%."""
    rng = np.random.default_rng(1)
    found = [rectify(*means(rng, 1000, 100)[:4]) for _ in range(500)]
    spread = np.array([one.scores[0] for one in found]).std()
    contrast = np.array([0.5, -0.5])
    told = np.sqrt(np.mean([contrast @ one.covariance @ contrast for one in found]))
    assert abs(told / spread - 1.0) < 0.1


def test_what_says_nothing_gets_no_power():
    direct, own, others, is_labelled, *_ = means(np.random.default_rng(2), agreement=0.0)
    found = rectify(direct, own, others, is_labelled)
    assert abs(found.power[0]) < 0.15
    np.testing.assert_allclose(np.diag(found.covariance), np.diag(own.T @ own), rtol=0.05)
