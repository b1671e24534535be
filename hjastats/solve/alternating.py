"""The paper's proximal alternating algorithm with re-anchoring (alg:mle), kept as a reference and for its history."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model.decomposition import AnchoringError, Decomposition, canonical, reanchor
from ..model.design import Coefficients, Design
from ..model.information import expected_information
from ..model.likelihood import evaluate, gradient
from ..model.response import Derivatives
from ..model.tangent import TangentBasis, centred_basis

# Newton steps inside a block stop when the next one promises less than this much log-likelihood.
_BLOCK_GAIN = 1e-11


@dataclass(frozen=True)
class AlternatingRun:
    """Result and history of the alternating algorithm.

    Attributes
    ----------
    at : Coefficients
    consensus : ndarray, shape (n_items,)
        The item block that multiplies gamma; the consensus mu when re-anchored.
    values : tuple of float
        Negative log-likelihood at the start and after every iteration; never increases.
    taus : tuple of float
        Proximal weight of every iteration; raised when re-anchoring fails.
    reached_tolerance : bool
    """

    at: Coefficients
    consensus: np.ndarray
    values: tuple[float, ...]
    taus: tuple[float, ...]
    reached_tolerance: bool


@dataclass(frozen=True)
class _Blocks:
    """Tentative parameters between two block updates: judges (gamma, U), items (mu, V), linear coefficients."""

    judges: np.ndarray
    items: np.ndarray
    judge_terms: np.ndarray
    shared_terms: np.ndarray

    def coefficients(self) -> Coefficients:
        return Coefficients(self.judges @ self.items.T, self.judge_terms, self.shared_terms)

    def evaluate(self, cells: Design) -> Derivatives:
        return evaluate(cells, self.coefficients())


def alternate(
    cells: Design,
    rank: int,
    start: Coefficients,
    *,
    tau: float = 1e-2,
    tolerance: float = 1e-11,
    maxiter: int = 5000,
    anchored: bool = True,
) -> AlternatingRun:
    """Alternate between judge and item blocks, each a convex problem solved to its minimum, and re-anchor.

    Parameters
    ----------
    tau : float
        Proximal weight. Raised tenfold and the iteration repeated when re-anchoring fails.
    tolerance : float
        Stop when the relative change of the negative log-likelihood falls below this.
    anchored : bool
        Whether every pass ends with re-anchoring (alg:reanchor); the paper's ablation leaves it out.
    """
    parts = canonical(start.scores, rank)
    here = _Blocks(
        np.column_stack([parts.gamma, parts.U]), np.column_stack([parts.mu, parts.V]), start.judge, start.shared
    )
    values = [here.evaluate(cells).value]
    taus: list[float] = []
    reached = False
    for _ in range(maxiter):
        tau, here = _iterate(cells, here, tau) if anchored else (tau, _pass(cells, here, tau))
        taus.append(tau)
        values.append(here.evaluate(cells).value)
        reached = abs(values[-1] - values[-2]) < tolerance * (1.0 + abs(values[-2]))
        if reached:
            break
    return AlternatingRun(here.coefficients(), here.items[:, 0], tuple(values), tuple(taus), reached)


def _pass(cells: Design, here: _Blocks, tau: float) -> _Blocks:
    """Update both blocks, the judges first."""
    return _update_items(cells, _update_judges(cells, here, tau), tau)


def _iterate(cells: Design, here: _Blocks, tau: float) -> tuple[float, _Blocks]:
    """One pass over both blocks; a failed re-anchoring repeats it with a stronger pull to the current point."""
    while True:
        tentative = _pass(cells, here, tau)
        try:
            anchored = _reanchored(tentative)
        except AnchoringError:
            if tau > 1e12:
                raise
            tau *= 10.0
            continue
        return tau, anchored


def _reanchored(blocks: _Blocks) -> _Blocks:
    parts: Decomposition = reanchor(blocks.judges[:, 0], blocks.items[:, 0], blocks.judges[:, 1:], blocks.items[:, 1:])
    return _Blocks(
        np.column_stack([parts.gamma, parts.U]),
        np.column_stack([parts.mu, parts.V]),
        blocks.judge_terms,
        blocks.shared_terms,
    )


def _update_judges(cells: Design, here: _Blocks, tau: float) -> _Blocks:
    """Minimise over (gamma, U) and the judges' own terms, holding their sums over judges (line argmin1)."""
    q, e = here.judges.shape[1], cells.n_judge_terms
    centre = np.hstack([here.judges, here.judge_terms])
    proximal = tau * np.eye(q + e)
    nobody, no_items = np.zeros((cells.n_judges, 0)), np.zeros((cells.n_items, 0))

    def system(x: np.ndarray, at: Derivatives) -> tuple[np.ndarray, np.ndarray]:
        slopes = gradient(cells, at)
        arrow = expected_information(cells, at, TangentBasis(here.items, nobody, np.zeros(0), no_items))
        slope = np.hstack([slopes.scores @ here.items, slopes.judge]) + tau * (x - centre)
        inverse = np.linalg.inv(arrow.judge + proximal)
        free = np.einsum("kab,kb->ka", inverse, slope)
        # The multiplier keeps the sums: sum(gamma) = K, sum(U) = 0.
        multiplier = np.linalg.solve(inverse[:, :q, :q].sum(axis=0), free[:, :q].sum(axis=0))
        return -(free - inverse[:, :, :q] @ multiplier), slope

    def rebuild(x: np.ndarray) -> _Blocks:
        return _Blocks(x[:, :q], here.items, x[:, q:], here.shared_terms)

    return rebuild(_minimise(cells, centre, tau, system, rebuild))


def _update_items(cells: Design, here: _Blocks, tau: float) -> _Blocks:
    """Minimise over (mu, V) and the shared terms, keeping the items centred (line argmin2)."""
    n_items, q = here.items.shape
    basis = centred_basis(n_items)
    size = q * (n_items - 1)
    centre = np.concatenate([(here.items.T @ basis).ravel(), here.shared_terms])

    def system(x: np.ndarray, at: Derivatives) -> tuple[np.ndarray, np.ndarray]:
        slopes = gradient(cells, at)
        tangent = TangentBasis(np.zeros((n_items, 0)), here.judges, np.zeros(0), basis)
        matrix = expected_information(cells, at, tangent).shared + tau * np.eye(len(x))
        moves = here.judges.T @ slopes.scores @ basis
        slope = np.concatenate([moves.ravel(), slopes.shared]) + tau * (x - centre)
        return -np.linalg.solve(matrix, slope), slope

    def rebuild(x: np.ndarray) -> _Blocks:
        return _Blocks(here.judges, basis @ x[:size].reshape(q, n_items - 1).T, here.judge_terms, x[size:])

    return rebuild(_minimise(cells, centre, tau, system, rebuild))


def _minimise(cells, centre, tau, system, rebuild):  # type: ignore[no-untyped-def]
    """Damped Newton on one convex block."""
    x = centre
    at = rebuild(x).evaluate(cells)
    value = at.value
    for _ in range(100):
        step, slope = system(x, at)
        gain = -float(np.vdot(slope, step))
        length = 1.0
        while True:
            moved = x + length * step
            new = rebuild(moved).evaluate(cells)
            new_value = new.value + 0.5 * tau * float(np.vdot(moved - centre, moved - centre))
            if new_value <= value - 1e-4 * length * gain or length < 1e-8:
                break
            length *= 0.5
        if new_value > value:
            return x
        x, at, value = moved, new, new_value
        if gain < _BLOCK_GAIN:
            break
    return x
