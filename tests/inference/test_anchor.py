"""Anchored scores against brute force, against Fay and Herriot's estimate, and under draws from their own model."""

import numpy as np
import pytest

from hjastats.inference.anchor import Evidence, anchored
from hjastats.model.tangent import centred_basis

# Of quasi-random averages over 1,024 values, in standard errors: those with half the values differ by a third of it.
AVERAGED = 0.05


def drawn(n_items, seed, departure=0.3, p=1):
    rng = np.random.default_rng(seed)
    d = n_items - 1
    noise = rng.normal(size=((p + 1) * d, 2 * (p + 1) * d)) * np.repeat([0.2, 0.1], [d, p * d])[:, None]
    errors = noise @ noise.T / (2 * (p + 1) * d)
    xi = rng.normal(size=(p, d))
    theta = xi.sum(axis=0) + departure * rng.normal(size=d)
    y = np.concatenate([theta, xi.ravel()]) + np.linalg.cholesky(errors) @ rng.normal(size=(p + 1) * d)
    return theta, Evidence(y[:d], y[d:].reshape(p, d), errors[:d, :d], errors[d:, d:], errors[:d, d:])


def by_brute_force(seen, slopes, log_t):
    """Mean and covariance of theta by a grid over (b, log t), every point conditioned in the joint normal distribution."""
    d = len(seen.direct)
    eye, spread = np.eye(d), float(seen.spread[0, 0])
    errors = np.block([[seen.direct_errors, seen.between], [seen.between.T, seen.auxiliary_errors]])
    y = np.concatenate([seen.direct, seen.auxiliary[0]])
    density, means, covariances = [], [], []
    for b in slopes:
        for one in log_t:
            t2 = np.exp(2 * one)
            truth = np.block([[(b * b * spread + t2) * eye, b * spread * eye], [b * spread * eye, spread * eye]])
            root = np.linalg.cholesky(truth + errors)
            scaled = np.linalg.solve(root, y)
            with_theta = np.linalg.solve(root, truth[:, :d])
            density.append(-0.5 * scaled @ scaled - np.log(np.diag(root)).sum() + one)
            means.append(with_theta.T @ scaled)
            covariances.append(truth[:d, :d] - with_theta.T @ with_theta)
    weight = np.exp(np.array(density) - max(density))
    weight /= weight.sum()
    mean = weight @ np.array(means)
    off = np.array(means) - mean
    return mean, np.tensordot(weight, covariances, 1) + (weight[:, None] * off).T @ off


@pytest.mark.parametrize("seed", [0, 1])
def test_four_items_agree_with_brute_force(seed):
    _, seen = drawn(4, seed)
    mean, covariance = by_brute_force(seen, np.linspace(-8, 10, 181), np.linspace(-7, 6, 105))
    basis, found = centred_basis(4), anchored(seen)
    se = np.sqrt(np.diag(covariance))
    assert (np.abs(found.scores @ basis - mean) < AVERAGED * se).all()
    np.testing.assert_allclose(basis.T @ found.covariance @ basis, covariance, atol=2 * AVERAGED * se.max() ** 2)


def test_without_errors_of_the_others_it_is_fay_and_herriots_estimate_averaged_over_t():
    """BLUP with its mean squared error g1 + g2 at every t, weighted by the restricted likelihood times t."""
    theta, seen = drawn(12, 3)
    d, x = len(theta), seen.auxiliary[0]
    seen = Evidence(seen.direct, seen.auxiliary, seen.direct_errors, 1e-10 * np.eye(d), np.zeros((d, d)))
    density, means, covariances = [], [], []
    for log_t in np.linspace(-6, 4, 400):
        t2 = np.exp(2 * log_t)
        precision = np.linalg.inv(seen.direct_errors + t2 * np.eye(d))
        b_variance = 1.0 / (x @ precision @ x)
        b = b_variance * x @ precision @ seen.direct
        residual = seen.direct - b * x
        left = np.eye(d) - t2 * precision
        means.append(b * x + t2 * precision @ residual)
        covariances.append(t2 * left + b_variance * np.outer(left @ x, left @ x))
        half = 0.5 * (np.linalg.slogdet(precision)[1] + np.log(b_variance))
        density.append(half - 0.5 * residual @ precision @ residual + log_t)
    weight = np.exp(np.array(density) - max(density))
    weight /= weight.sum()
    mean = weight @ np.array(means)
    off = np.array(means) - mean
    covariance = np.tensordot(weight, covariances, 1) + (weight[:, None] * off).T @ off
    basis, found = centred_basis(12), anchored(seen)
    se = np.sqrt(np.diag(covariance))
    assert (np.abs(found.scores @ basis - mean) < AVERAGED * se).all()
    np.testing.assert_allclose(basis.T @ found.covariance @ basis, covariance, atol=2 * AVERAGED * se.max() ** 2)


def of_items(seen, n_items, scale=1.0, order=None):
    basis = centred_basis(n_items)
    order = np.arange(n_items) if order is None else order
    pick = np.ix_(order, order)
    return Evidence.of_items(
        (basis @ seen.direct)[order],
        (basis @ seen.direct_errors @ basis.T)[pick],
        scale * (seen.auxiliary @ basis.T)[:, order],
        scale**2 * (basis @ seen.auxiliary_errors @ basis.T)[pick],
        scale * (basis @ seen.between @ basis.T)[pick],
    )


def test_neither_the_scale_of_the_others_nor_the_order_of_items_matters():
    _, seen = drawn(8, 5)
    plain, order = anchored(seen), np.random.default_rng(0).permutation(8)
    for other, back in ((of_items(seen, 8, scale=-3.0), np.arange(8)), (of_items(seen, 8, order=order), order)):
        found = anchored(other)
        se = np.sqrt(np.diag(plain.covariance))
        assert (np.abs(found.scores - plain.scores[back]) < AVERAGED * se[back]).all()
        assert found.gain == pytest.approx(plain.gain, rel=2 * AVERAGED)


def test_what_counts_is_what_helps():
    _, seen = drawn(20, 2, departure=0.05)
    helped = anchored(seen)
    order = np.random.default_rng(4).permutation(19)
    misled = anchored(
        Evidence(seen.direct, seen.auxiliary[:, order], seen.direct_errors, seen.auxiliary_errors, seen.between)
    )
    assert helped.weights.mean() < 0.5 < 0.9 < misled.weights.mean() < 1.001
    assert helped.gain > 1.5 > 1.1 > misled.gain > 0.9
    assert helped.correlation[1] > 0.9 > misled.correlation[2]


def test_two_kinds_of_others_have_slopes_of_their_own():
    _, seen = drawn(20, 1, departure=0.1, p=2)
    slope, covariance = anchored(seen).slope
    assert (np.abs(slope - 1.0) < 4 * np.sqrt(np.diag(covariance))).all()


@pytest.mark.slow
def test_intervals_hold_with_six_items():
    """200 draws of 5 contrasts: a standard error of at most 0.01, since those of a draw share b and t."""
    held = []
    for seed in range(200):
        theta, seen = drawn(6, 1000 + seed, departure=(0.0, 0.1, 0.3, 1.0)[seed % 4])
        found, basis = anchored(seen), centred_basis(6)
        se = np.sqrt(np.diag(basis.T @ found.covariance @ basis))
        held.append(np.abs(found.scores @ basis - theta) < 1.96 * se)
    assert 0.92 <= np.mean(held) <= 0.985
