"""An independent, slow solver: the bilinear likelihood written row by row in its factors, maximised by BFGS from random points.

It shares nothing with the package but the definition of the model: no cells, no constraint, no manifold, no analytic information.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit


def loglike(judge, first, second, outcome, weight, scores, position):
    eta = scores[judge, first] - scores[judge, second] + position[judge]
    return -float(weight @ (np.logaddexp(0.0, eta) - outcome * eta))


def best_loglike(
    judge, first, second, outcome, weight, n_judges, n_items, *, rank, has_position=False, n_starts=5, rng=0
):
    """Largest log-likelihood reached over random starts.

    ``rank`` is -1 for one score per item (BTL), otherwise the scores are a product of rank + 1 unconstrained factors.
    """
    rng = np.random.default_rng(rng)
    width = rank + 1
    weight = np.asarray(weight, dtype=float)
    scale = weight.mean()

    def split(x):
        position = x[:n_judges] if has_position else np.zeros(n_judges)
        rest = x[n_judges:] if has_position else x
        if rank < 0:
            return position, None, rest
        return (
            position,
            rest[: n_judges * width].reshape(n_judges, width),
            rest[n_judges * width :].reshape(n_items, width),
        )

    def objective(x):
        position, left, right = split(x)
        scores = np.tile(right, (n_judges, 1)) if left is None else left @ right.T
        eta = scores[judge, first] - scores[judge, second] + position[judge]
        slope = weight * (expit(eta) - outcome) / scale
        by_score = np.zeros((n_judges, n_items))
        np.add.at(by_score, (judge, first), slope)
        np.add.at(by_score, (judge, second), -slope)
        parts = [np.bincount(judge, slope, n_judges)] if has_position else []
        parts += [by_score.sum(axis=0)] if left is None else [(by_score @ right).ravel(), (by_score.T @ left).ravel()]
        value = float(weight @ (np.logaddexp(0.0, eta) - outcome * eta)) / scale
        return value, np.concatenate(parts)

    size = n_judges * has_position + (n_items if rank < 0 else (n_judges + n_items) * width)
    best = -np.inf
    for _ in range(n_starts):
        found = minimize(
            objective,
            rng.normal(scale=0.7, size=size),
            jac=True,
            method="BFGS",
            options={"maxiter": 2000, "gtol": 1e-7},
        )
        best = max(best, -found.fun * scale)
    return best
