"""Direct scores less what chance did to the same prompts: the prediction-powered estimate, which assumes nothing of the others.

Prompts with verdicts of the target are a random sample of all prompts. What the other judges' scores of that sample differ from
those of all prompts is chance, and its regression on the direct scores is taken off (Angelopoulos, Duchi and Zrnic 2023), one
power for each auxiliary score, tuned (PPI++) on the other folds of prompts. Both are written in the contributions of prompts, so
that no sample is fitted again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Folds of prompts, in each of which the power is that of the others.
N_FOLDS = 5


@dataclass(frozen=True)
class Rectification:
    """Rectified scores of the items.

    Attributes
    ----------
    scores : ndarray, shape (n_items,)
    covariance : ndarray, shape (n_items, n_items)
    power : ndarray, shape (p,)
        Mean over the folds: 0 takes no notice of an auxiliary score, 1 trusts it wholly.
    """

    scores: np.ndarray
    covariance: np.ndarray
    power: np.ndarray


def rectify(
    direct: np.ndarray, own: np.ndarray, others: np.ndarray, is_labelled: np.ndarray, *, seed: int = 0
) -> Rectification:
    """The estimate, with errors from what every prompt contributes to both of its parts.

    Parameters
    ----------
    direct : ndarray, shape (n_items,)
    own : ndarray, shape (n_prompts, n_items)
        Contributions of the prompts to the direct scores.
    others : ndarray, shape (p, n_prompts, n_items)
        To auxiliary scores of all prompts.
    is_labelled : ndarray of bool, shape (n_prompts,)
        Prompts with verdicts of the target.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> many = rng.normal(size=(1, 1000, 1))
    >>> is_labelled = np.arange(1000) < 100
    >>> own = np.where(is_labelled[:, None], many[0] + 0.1 * rng.normal(size=(1000, 1)), 0.0) / 100
    >>> found = rectify(own.sum(axis=0), own - own.sum(axis=0) * is_labelled[:, None] / 100, many / 1000, is_labelled)
    >>> bool(abs(found.scores[0]) < 0.05), found.power.round(1)
    (True, array([1.]))
    """
    n, n_labelled = len(is_labelled), int(is_labelled.sum())
    others = others - others.mean(axis=1, keepdims=True)
    # What the labelled prompts have more than all of them: its sum is the difference of the two auxiliary scores.
    chance = np.where(is_labelled, n / n_labelled - 1.0, -1.0)[:, None] * others
    fold = np.random.default_rng(seed).permutation(n) % N_FOLDS
    left, scores, powers = own.copy(), direct.copy(), []
    for k in range(N_FOLDS):
        here, elsewhere = fold == k, fold != k
        # Both over the labellings that could have been: those of few unlabelled prompts would be chance.
        products = np.einsum("jgi,kgi->jk", others[:, elsewhere], others[:, elsewhere])
        power = np.linalg.lstsq(products, np.einsum("jgi,gi->j", others[:, elsewhere], own[elsewhere]), rcond=None)[0]
        taken = np.tensordot(power, chance[:, here], 1)
        scores -= taken.sum(axis=0)
        left[here] -= taken
        powers.append(power)
    # As many degrees of freedom as scores and their sum take up.
    covariance = left.T @ left * n_labelled / (n_labelled - len(direct))
    return Rectification(scores - scores.mean(), covariance, np.mean(powers, axis=0))
