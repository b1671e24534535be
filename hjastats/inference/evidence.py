"""What the verdicts of a target and those of other judges say about the same items, with the prompts that both have in common."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import OptionError
from ..fitted import Fit, Observations
from ..population import PopulationFit
from .anchor import Evidence
from .anchored_fit import Direct
from .auxiliary import Scores
from .clusters import Clusters
from .covariances import influence
from .rectified import Rectification, rectify

# Largest correlation that errors of direct and auxiliary scores may have in any direction: estimates beyond are chance.
LARGEST_CORRELATION = 0.95


@dataclass(frozen=True)
class Sources:
    """The two fits, their rows, and the prompts of these, numbered alike.

    Attributes
    ----------
    direct : Direct
    observed : Observations
        Of the target.
    other : Fit
    other_observed : Observations
    prompts, other_prompts : Clusters or None
    """

    direct: Direct
    observed: Observations
    other: Fit
    other_observed: Observations
    prompts: Clusters | None
    other_prompts: Clusters | None

    @property
    def n_labels(self) -> float:
        """Verdicts of the target."""
        return self.direct.fit.n_comparisons

    @property
    def is_sparse(self) -> bool:
        """Whether the target's verdicts alone leave some scores open."""
        return self.direct.fit.penalty is not None

    @cached_property
    def own(self) -> np.ndarray | None:
        """What every prompt contributes to the direct scores, shape (n_prompts, n_items); None where nothing ties rows together."""
        direct = self.direct
        if self.prompts is None or self.is_sparse or isinstance(direct.scored, PopulationFit):
            return None
        return influence(direct.scored, self.observed, self.prompts, direct.rows)

    def theirs(self, rows: np.ndarray) -> np.ndarray:
        """What every prompt contributes to auxiliary scores with such a Jacobian, shape (n_prompts, m)."""
        assert self.other_prompts is not None
        return influence(self.other, self.other_observed, self.other_prompts, rows)

    def with_other(self, fit: Fit, observed: Observations) -> Sources:
        """The same with another fit of the same rows of the others."""
        return Sources(self.direct, self.observed, fit, observed, self.prompts, self.other_prompts)

    def evidence(self, scores: Scores) -> Evidence:
        """Direct and auxiliary scores with their joint covariance.

        Raises
        ------
        OptionError
            For more auxiliary scores than the items can tell of.
        """
        values, rows = scores
        p, n_items = values.shape
        if n_items < p + 3:
            raise OptionError(
                f"{p} auxiliary scores need at least {p + 3} items to learn from, there are {n_items}: use "
                "auxiliary='consensus'."
            )
        centred = values - values.mean(axis=1, keepdims=True)
        errors = self.other.covariance.of(rows)
        if self.own is None:
            return Evidence.of_items(self.direct.scores, self.direct.errors, centred, errors)
        between = self.own.T @ self.theirs(rows)
        return _possible(Evidence.of_items(self.direct.scores, self.direct.errors, centred, errors, between))

    def rectification(self, scores: Scores) -> Rectification:
        """Direct scores, rectified by these.

        Raises
        ------
        OptionError
            Without prompts, or if they or the verdicts are too few.
        """
        if self.own is None:
            raise OptionError(
                "the rectified estimate compares the other judges on the target's prompts with all of theirs: it needs a column of "
                "prompts, and verdicts of the target that determine all scores."
            )
        assert self.prompts is not None
        assert self.other_prompts is not None
        counts = [np.bincount(way.code, minlength=way.n) > 0 for way in (self.prompts, self.other_prompts)]
        if not (counts[0] & counts[1]).any() or not (counts[1] & ~counts[0]).any():
            raise OptionError(
                "the rectified estimate needs prompts that both the target and the others judged, and further ones of the others."
            )
        values, rows = scores
        others = self.theirs(rows).reshape(-1, *values.shape).transpose(1, 0, 2)
        is_kept = counts[0] | counts[1]
        return rectify(self.direct.scores, self.own[is_kept], others[:, is_kept], counts[0][is_kept])


def _possible(seen: Evidence) -> Evidence:
    """Evidence whose joint covariance is one: correlations of the two kinds of errors are cut off."""
    roots = [_root(matrix) for matrix in (seen.direct_errors, seen.auxiliary_errors)]
    left, size, right = np.linalg.svd(
        np.linalg.solve(roots[0], np.linalg.solve(roots[1], seen.between.T).T), full_matrices=False
    )
    if size.max(initial=0.0) <= LARGEST_CORRELATION:
        return seen
    between = roots[0] @ (left * np.minimum(size, LARGEST_CORRELATION)) @ right @ roots[1].T
    return Evidence(seen.direct, seen.auxiliary, seen.direct_errors, seen.auxiliary_errors, between)


def _root(matrix: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrix)
    return vectors * np.sqrt(np.maximum(values, 1e-12 * max(float(values.max()), 1e-300)))
