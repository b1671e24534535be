"""Judges with scores of their own, and by how much the consensus moves in groups of their verdicts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..data.cells import collapse, take
from ..model.design import Coefficients, Design
from ..model.information import Arrow, expected_information
from ..model.likelihood import evaluate, gradient
from ..model.response import typical
from ..model.structures import Unrestricted
from ..model.tangent import TangentBasis, centred_basis
from .contributions import Contributions

# Scores of a judge's own, or of a group's, need not exist: this much of a ridge towards the fit holds them, and so many Newton
# steps find them, none of which is longer than that.
_HOLD, _STEPS, _STRIDE, _SETTLED = 0.1, 12, 2.0, 1e-5


@dataclass(frozen=True)
class OwnScores:
    """Coordinates of judges who share nothing but the shared linear terms: contrasts of the scores and own terms of each judge.

    Attributes
    ----------
    at : Coefficients
        Of these judges.
    """

    at: Coefficients

    @classmethod
    def near(cls, start: Coefficients, cells: Design) -> OwnScores:
        """As each judge's verdicts say; where these say little, near to where it starts."""
        basis, p = centred_basis(cells.n_items), cells.n_items - 1
        begin = np.hstack([start.scores @ basis, start.judge])
        own, found = begin, cls(start)
        for _ in range(_STEPS):
            slopes, arrow = gradient(cells, evaluate(cells, found.at)), found.arrow(cells)
            uphill = -np.hstack([slopes.scores @ basis, slopes.judge]) - _HOLD * (own - begin)
            step = np.linalg.solve(arrow.judge + _HOLD * np.eye(own.shape[1]), uphill[..., None])[..., 0]
            step[:, p:][~cells.is_own_parameter] = 0.0
            length = np.abs(step).max(axis=1)
            own = own + step * np.minimum(1.0, _STRIDE / np.maximum(length, 1e-300))[:, None]
            found = cls(replace(start, scores=own[:, :p] @ basis.T, judge=own[:, p:]))
            if length.max() < _SETTLED:
                break
        return found

    @property
    def tangent(self) -> TangentBasis:
        """That of judges with scores of their own."""
        return Unrestricted().tangent(self.at.scores)

    @property
    def width(self) -> int:
        """Number of coordinates of one judge."""
        return self.at.scores.shape[1] - 1 + self.at.judge.shape[1]

    def of_judge(self, judge: int, own: np.ndarray) -> np.ndarray:
        """Movements (m, width) of a judge, shape (m, n_coordinates)."""
        rows = np.zeros((len(own), len(self.at.scores) * self.width + len(self.at.shared)))
        rows[:, judge * self.width : (judge + 1) * self.width] = own
        return rows

    def of_all(self, gamma: np.ndarray) -> np.ndarray:
        """Movements of the items that each judge makes times its gamma (n_judges,), shape (n_items - 1, n_coordinates)."""
        n_judges, p = len(gamma), self.at.scores.shape[1] - 1
        rows = np.zeros((p, n_judges * self.width + len(self.at.shared)))
        by_judge = rows[:, : n_judges * self.width].reshape(p, n_judges, self.width)
        by_judge[:, :, :p] = gamma[:, None] * np.eye(p)[:, None]
        return rows

    def of_shared(self, term: int) -> np.ndarray:
        """Movement of a shared term, shape (1, n_coordinates)."""
        n_own = len(self.at.scores) * self.width
        return np.eye(1, n_own + len(self.at.shared), n_own + term)

    def arrow(self, cells: Design) -> Arrow:
        """Expected information, judge by judge."""
        here = typical(cells.response, evaluate(cells, self.at), cells.n)
        return expected_information(cells, here, self.tangent)

    def information(self, cells: Design) -> np.ndarray:
        """Expected information of the judges, one after the other, then of the shared terms."""
        arrow, n, width = self.arrow(cells), cells.n_judges, self.width
        dense = np.zeros((n * width + len(arrow.shared),) * 2)
        blocks = dense[: n * width, : n * width].reshape(n, width, n, width)
        blocks[np.arange(n), :, np.arange(n)] = arrow.judge
        dense[: n * width, n * width :] = arrow.coupling.reshape(n * width, -1)
        dense[n * width :, : n * width] = dense[: n * width, n * width :].T
        dense[n * width :, n * width :] = arrow.shared
        return dense

    def gradients(self, contributions: Contributions) -> np.ndarray:
        """Of every unit, shape (n_units, n_coordinates)."""
        (n_judges, n_items), n_units = self.at.scores.shape, contributions.by_scores.shape[0]
        scores = contributions.by_scores.toarray().reshape(n_units, n_judges, n_items) @ centred_basis(n_items)
        shared, own = np.split(contributions.by_terms.toarray(), [len(self.at.shared)], axis=1)
        together = np.concatenate([scores, own.reshape(n_units, n_judges, -1)], axis=2)
        return np.hstack([together.reshape(n_units, -1), shared])


def moved_consensus(at: Coefficients, rows: Design, group: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    """By how much the consensus moves in every group (n_rows,) of the rows, shrunk by what is noise in it, (n_groups, n_items)."""
    cells = [collapse(take(rows, np.flatnonzero(group == g))) for g in range(int(group.max()) + 1)]
    moved = np.array([_moved(at, some, gamma) for some in cells])
    information = np.array(
        [
            _about(replace(at, scores=_moved_scores(at, gamma, m)), some, gamma)
            for some, m in zip(cells, moved, strict=True)
        ]
    )
    return _shrunken(moved, information) @ centred_basis(rows.n_items).T


def _moved_scores(at: Coefficients, gamma: np.ndarray, moved: np.ndarray) -> np.ndarray:
    return at.scores + np.outer(gamma, centred_basis(at.scores.shape[1]) @ moved)


def _about(at: Coefficients, cells: Design, gamma: np.ndarray) -> np.ndarray:
    """Expected information of some cells about movements of the consensus, shape (p, p)."""
    curvature = typical(cells.response, evaluate(cells, at), cells.n).curvature
    links = cells.sum_by_pair(curvature * np.square(gamma)[cells.judge])
    links, basis = links + links.T, centred_basis(cells.n_items)
    return basis.T @ (np.diag(links.sum(axis=1)) - links) @ basis


def _moved(at: Coefficients, cells: Design, gamma: np.ndarray) -> np.ndarray:
    """Movement of the consensus that some cells ask for, shape (p,)."""
    p, basis = cells.n_items - 1, centred_basis(cells.n_items)
    moved, hold = np.zeros(p), _HOLD * np.eye(p)
    for _ in range(_STEPS):
        here = replace(at, scores=_moved_scores(at, gamma, moved))
        uphill = -gamma @ gradient(cells, evaluate(cells, here)).scores @ basis - _HOLD * moved
        step = np.linalg.solve(_about(here, cells, gamma) + hold, uphill)
        length = float(np.abs(step).max())
        moved = moved + step * min(1.0, _STRIDE / max(length, 1e-300))
        if length < _SETTLED:
            break
    return moved


def _shrunken(moved: np.ndarray, information: np.ndarray) -> np.ndarray:
    """Movements (..., n_groups, p) from what all groups have in common, less what is noise by the information about them."""
    total = np.einsum("...gab,...gb->...a", information, moved)
    moved = moved - np.linalg.solve(information.sum(axis=-3), total[..., None])[..., None, :, 0]
    statistic = np.einsum("...ga,...gab,...gb->...", moved, information, moved)
    df = moved.shape[-1] * (moved.shape[-2] - 1)
    return moved * np.maximum(1.0 - df / np.maximum(statistic, 1e-300), 0.0)[..., None, None]


@dataclass(frozen=True)
class Moved:
    """By how much the consensus moves in every group, in contrasts of the items, shrunk by what is noise in it.

    Attributes
    ----------
    together : ndarray, shape (n_groups, n_items - 1)
        That of all judges.
    apart : ndarray, shape (n_judges, n_groups, n_items - 1)
        That of all others than the judge.
    """

    together: np.ndarray
    apart: np.ndarray

    @classmethod
    def of(cls, own: OwnScores, rows: Design, group: np.ndarray, n_groups: int, gamma: np.ndarray) -> Moved:
        """Of own scores, and of sensitivities gamma (n_judges,) to the consensus."""
        cells = [collapse(take(rows, np.flatnonzero(group == g))) for g in range(n_groups)]
        each = [_without_each(own, some, gamma) for some in cells]
        moved, information = (np.stack(made, axis=1) for made in zip(*each, strict=True))
        moved = _shrunken(moved, information)
        return cls(moved[0], moved[1:])


def _without_each(own: OwnScores, cells: Design, gamma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The consensus of all in some cells, then without each of the judges, (1 + n_judges, p), and information about it."""
    p, basis, moved = cells.n_items - 1, centred_basis(cells.n_items), _moved(own.at, cells, gamma)
    here = OwnScores(replace(own.at, scores=_moved_scores(own.at, gamma, moved)))
    uphill = -gamma[:, None] * (gradient(cells, evaluate(cells, here.at)).scores @ basis)
    blocks = np.square(gamma)[:, None, None] * here.arrow(cells).judge[:, :p, :p]
    without = np.concatenate([np.zeros((1, p)), uphill]), np.concatenate([np.zeros((1, p, p)), blocks])
    # One step from where all judges are to where the others are.
    others = blocks.sum(axis=0) - without[1] + _HOLD * np.eye(p)
    left = uphill.sum(axis=0) - without[0] - _HOLD * moved
    return moved + np.linalg.solve(others, left[..., None])[..., 0], others
