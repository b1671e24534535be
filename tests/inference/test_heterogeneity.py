"""Boards shrunk to a common one: closed forms, a slow and obvious way, and limits."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from hjastats.inference.heterogeneity import _Block, _Given, shrunken

# Of sums over a grid of 160 values of t, against one of 20,000.
GRID = 2e-3
EXACT = 1e-9


def drawn(seed=1, n_groups=5, p=3):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n_groups, p, p + 2))
    return rng.normal(size=(n_groups, p)), 0.3 * root @ root.transpose(0, 2, 1)


def given(scores, errors):
    return _Given([_Block.of(np.array([g]), scores[[g]], errors[g]) for g in range(len(scores))], len(scores))


def whole(errors, t):
    n_groups, p, _ = errors.shape
    matrix = t**2 * np.eye(n_groups * p)
    for g in range(n_groups):
        matrix[g * p : (g + 1) * p, g * p : (g + 1) * p] += errors[g]
    return matrix


def test_the_restricted_likelihood_is_that_of_contrasts_of_the_groups():
    """Differences from the last group do not know the common board: their density is the restricted likelihood."""
    scores, errors = drawn()
    apart = np.kron(np.column_stack([np.eye(4), -np.ones(4)]), np.eye(3))
    values = []
    for t in (0.1, 0.5, 2.0):
        density = multivariate_normal(np.zeros(12), apart @ whole(errors, t) @ apart.T).logpdf(apart @ scores.ravel())
        values.append(given(scores, errors).loglike(t) - density)
    assert np.ptp(values) < EXACT


def test_boards_given_t_are_the_best_linear_predictors():
    scores, errors = drawn(2)
    t2, repeated = 0.4, np.tile(np.eye(3), (5, 1))
    inverse = np.linalg.inv(whole(errors, np.sqrt(t2)))
    covariance = np.linalg.inv(repeated.T @ inverse @ repeated)
    mean = covariance @ repeated.T @ inverse @ scores.ravel()
    gain = t2 * inverse
    boards = repeated @ mean + gain @ (scores.ravel() - repeated @ mean)
    left = (np.eye(15) - gain) @ repeated
    spread = t2 * np.eye(15) - t2 * gain + left @ covariance @ left.T
    made = given(scores, errors)
    found_mean, found_covariance, _ = made.common(t2)
    found, found_spread = made.groups(t2, found_mean, found_covariance)
    assert np.allclose(found_mean, mean, atol=EXACT)
    assert np.allclose(found.ravel(), boards, atol=EXACT)
    for g in range(5):
        some = slice(3 * g, 3 * g + 3)
        assert np.allclose(found_spread[g], spread[some, some], atol=EXACT)


def test_equal_errors_have_the_mode_of_the_analysis_of_variance():
    scores = 2.0 * drawn(3, n_groups=12)[0]
    found = shrunken(scores, np.tile(0.25 * np.eye(3), (12, 1, 1)))
    between = np.square(scores - scores.mean(axis=0)).sum() / (11 * 3)
    assert found.mode == pytest.approx(np.sqrt(between - 0.25), abs=0.02)
    assert np.allclose(found.mean, scores.mean(axis=0))


def test_errors_count_that_t_is_estimated():
    """The mean of covariances given t plus the covariance of means given t, with the half-normal prior, by a finer grid."""
    scores, errors = drawn(4)
    found, made = shrunken(scores, errors), given(scores, errors)
    t = np.linspace(1e-4, 5.0, 20_000)
    weight = np.exp([made.loglike(x) - made.loglike(1.0) - 0.5 * x**2 for x in t])
    weight /= weight.sum()
    some = np.flatnonzero(weight > 1e-9)[::20]
    parts = []
    for x in t[some]:
        mean, covariance, _ = made.common(x**2)
        parts.append(made.groups(x**2, mean, covariance))
    share = weight[some] / weight[some].sum()
    boards = np.array([board for board, _ in parts])
    mean = np.tensordot(share, boards, 1)
    inside = np.tensordot(share, np.array([spread for _, spread in parts]), 1)
    between = np.einsum("n,ngp,ngq->gpq", share, boards - mean, boards - mean)
    assert np.allclose(found.scores, mean, atol=GRID)
    assert np.allclose(found.errors, inside + between, atol=3 * GRID)
    assert between[0].trace() > 3 * GRID


def test_groups_without_errors_of_their_own_keep_their_scores():
    scores, _ = drawn(5)
    found = shrunken(scores, np.tile(1e-8 * np.eye(3), (5, 1, 1)))
    assert np.allclose(found.scores, scores, atol=1e-6)


def test_a_group_that_knows_nothing_gets_the_common_board():
    scores, errors = drawn(6)
    errors[2] = 1e6 * np.eye(3)
    found = shrunken(scores, errors)
    assert np.allclose(found.scores[2], found.mean, atol=1e-2)
    assert (np.diag(found.errors[2]) > np.diag(found.covariance)).all()


def test_groups_that_share_prompts_say_less_of_the_common_board():
    scores, errors = drawn(7)
    joint = whole(errors, 0.0)
    apart = shrunken(scores, joint)
    assert np.allclose(apart.scores, shrunken(scores, errors).scores)
    shared = shrunken(scores, joint + np.kron(np.ones((5, 5)), 0.2 * np.eye(3)))
    assert shared.covariance.trace() > apart.covariance.trace()
