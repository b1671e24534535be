import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hjastats.errors import IdentificationError
from hjastats.model.decomposition import AnchoringError, Decomposition, canonical, max_rank, reanchor
from hjastats.model.structures import LowRank

# The constraints of Condition cond:norm hold to this; required by the specification of the package.
CONSTRAINT = 1e-10


def random_scores(rng, n_judges, n_items, rank):
    return LowRank(rank).nearest(rng.normal(size=(n_judges, n_items)))


def assert_normalised(parts: Decomposition):
    n_judges, n_items = len(parts.gamma), len(parts.mu)
    assert abs(parts.mu.sum()) < CONSTRAINT
    assert abs(parts.gamma.sum() - n_judges) < CONSTRAINT * n_judges
    if parts.rank == 0:
        return
    assert np.abs(parts.V.sum(axis=0)).max() < CONSTRAINT * n_items
    assert np.abs(parts.U.sum(axis=0)).max() < CONSTRAINT * n_judges
    assert np.abs(parts.mu @ parts.V).max() < CONSTRAINT * n_items
    assert np.abs(parts.V.T @ parts.V / n_items - np.eye(parts.rank)).max() < CONSTRAINT
    D = parts.U.T @ parts.U / n_judges
    assert np.abs(D - np.diag(np.diag(D))).max() < CONSTRAINT
    assert (np.diff(np.diag(D)) < 0).all()
    assert (np.diag(D) > 0).all()
    assert (parts.U[0] > 0).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 9), st.integers(3, 9), st.data())
def test_decomposition_satisfies_the_normalisation_and_gives_the_scores_back(seed, n_judges, n_items, data):
    rank = data.draw(st.integers(0, max_rank(n_judges, n_items)))
    scores = random_scores(np.random.default_rng(seed), n_judges, n_items, rank)
    parts = canonical(scores, rank)
    assert_normalised(parts)
    np.testing.assert_allclose(parts.scores, scores, atol=1e-12)


def test_reanchoring_agrees_with_the_closed_form_and_keeps_the_scores():
    rng = np.random.default_rng(1)
    K, N, r = 6, 7, 2
    gamma = rng.normal(size=K)
    gamma += 1 - gamma.mean()
    U = rng.normal(size=(K, r))
    U -= U.mean(axis=0)
    mu = rng.normal(size=N)
    mu -= mu.mean()
    V = rng.normal(size=(N, r))
    V -= V.mean(axis=0)
    scores = np.outer(gamma, mu) + U @ V.T
    anchored, direct = reanchor(gamma, mu, U, V), canonical(scores, r)
    assert_normalised(anchored)
    np.testing.assert_allclose(anchored.scores, scores, atol=1e-12)
    for name in ("gamma", "mu", "U", "V"):
        np.testing.assert_allclose(getattr(anchored, name), getattr(direct, name), atol=1e-11)


def test_reanchoring_fails_without_consensus():
    rng = np.random.default_rng(0)
    U = rng.normal(size=(4, 1))
    V = rng.normal(size=(5, 1))
    with pytest.raises(AnchoringError, match="consensus"):
        reanchor(np.ones(4), np.zeros(5), U - U.mean(), V - V.mean())


def test_reanchoring_fails_when_a_direction_is_missing():
    mu = np.array([1.0, 0.0, -1.0, 0.0])
    U = np.array([[1.0], [-1.0], [0.0]])
    with pytest.raises(AnchoringError, match="0 disagreement"):
        reanchor(np.ones(3), mu, U, 2 * mu[:, None])


def test_scores_that_average_to_zero_have_no_consensus():
    half = np.array([[1.0, -1.0, 0.0]])
    with pytest.raises(IdentificationError, match="no consensus"):
        canonical(np.vstack([half, -half]), 0)


def test_asking_for_more_directions_than_there_are_is_refused():
    scores = np.outer([0.5, 1.0, 1.5], [1.0, -1.0, 0.0, 0.0])
    with pytest.raises(AnchoringError, match="rank=1 was asked for"):
        canonical(scores, 1)


def test_relabelling_judges_and_items_relabels_the_parameters():
    rng = np.random.default_rng(5)
    scores = random_scores(rng, 5, 6, 1)
    judges, items = rng.permutation(5), rng.permutation(6)
    parts, moved = canonical(scores, 1), canonical(scores[np.ix_(judges, items)], 1)
    np.testing.assert_allclose(moved.gamma, parts.gamma[judges], atol=1e-12)
    np.testing.assert_allclose(moved.mu, parts.mu[items], atol=1e-12)
    np.testing.assert_allclose(moved.residual, parts.residual[np.ix_(judges, items)], atol=1e-12)
