import numpy as np
import pytest
from statsmodels.tools.numdiff import approx_fprime

from hjastats.model.decomposition import canonical
from hjastats.model.design import Coefficients
from hjastats.model.jacobians import (
    anchor_jacobian,
    consensus_gradient,
    coordinate_gradient,
    decomposition_jacobian,
    loading_gradient,
    scores_jacobian,
    sensitivity_gradient,
)
from hjastats.model.layout import Layout
from hjastats.model.spanned import LowRankOnTraits
from hjastats.model.structures import LowRank, Pooled, Unrestricted
from hjastats.model.terms import gather

# Centred differences of functions of order one: the step error is about 1e-10, amplified by curvature.
FINITE_DIFFERENCE = 1e-6
SHAPES = [(4, 8, 0), (4, 8, 1), (6, 5, 2), (2, 6, 1), (3, 3, 1), (7, 9, 3), (1, 4, 0), (5, 2, 0)]


def on_traits(rank, n_items, p):
    """Judges who weigh p random traits of the items."""
    traits = np.random.default_rng(1).normal(size=(n_items, p))
    return LowRankOnTraits(rank, traits - traits.mean(axis=0), tuple(f"t{i}" for i in range(p)))


STRUCTURES = [
    pytest.param(structure, n_judges, n_items, id=f"{structure.name}-{n_judges}x{n_items}")
    for n_judges, n_items, rank in SHAPES
    for structure in (
        LowRank(rank),
        Pooled(),
        Unrestricted(),
        on_traits(rank, n_items, rank + 1),
        on_traits(rank, n_items, n_items - 1),
    )
]


@pytest.mark.parametrize(("structure", "n_judges", "n_items"), STRUCTURES)
def test_frame_directions_are_orthonormal_and_as_many_as_the_degrees_of_freedom(structure, n_judges, n_items):
    scores = structure.nearest(np.random.default_rng(0).normal(size=(n_judges, n_items)))
    tangent = structure.tangent(scores)
    basis = scores_jacobian(tangent)
    assert basis.shape == (n_judges * n_items, structure.n_free(n_judges, n_items))
    assert tangent.n_free == basis.shape[1]
    np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-12)
    np.testing.assert_allclose(tangent.coordinates(scores), basis.T @ scores.ravel(), atol=1e-12)


@pytest.mark.parametrize(("n_judges", "n_items", "rank"), SHAPES)
def test_low_rank_degrees_of_freedom_match_the_count_of_the_paper(n_judges, n_items, rank):
    counted = (n_items - 1) + (n_judges - 1) + rank * (n_judges + n_items - 3 - rank)
    assert LowRank(rank).n_free(n_judges, n_items) == counted


@pytest.mark.parametrize(("structure", "n_judges", "n_items"), STRUCTURES)
def test_charts_invert_and_their_derivative_is_the_frame(structure, n_judges, n_items):
    rng = np.random.default_rng(3)
    scores = structure.nearest(rng.normal(size=(n_judges, n_items)))
    tangent = structure.tangent(scores)
    free = tangent.coordinates(scores)
    np.testing.assert_allclose(structure.from_free(free, tangent), scores, atol=1e-12)
    elsewhere = free + 0.1 * rng.normal(size=len(free))
    reached = structure.from_free(elsewhere, tangent)
    np.testing.assert_allclose(tangent.coordinates(reached), elsewhere, atol=1e-11)
    np.testing.assert_allclose(structure.nearest(reached), reached, atol=1e-11)
    numerical = approx_fprime(free, lambda x: structure.from_free(x, tangent).ravel(), centered=True)
    np.testing.assert_allclose(scores_jacobian(tangent), numerical.reshape(-1, len(free)), atol=FINITE_DIFFERENCE)


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "factors"])
@pytest.mark.parametrize(("structure", "n_judges", "n_items"), STRUCTURES)
def test_moving_stays_in_the_structure_and_follows_the_frame_to_first_order(
    structure, n_judges, n_items, whole, set_limits
):
    set_limits(WHOLE_SCORES=1000 if whole else 0)
    rng = np.random.default_rng(4)
    scores = structure.nearest(rng.normal(size=(n_judges, n_items)))
    tangent = structure.tangent(scores)
    own = rng.normal(size=(n_judges, tangent.judge_items.shape[1]))
    shared = rng.normal(size=(tangent.shared_judges.shape[1], tangent.shared_items.shape[1]))
    direction = own @ tangent.judge_items.T + tangent.shared_judges @ shared @ tangent.shared_items.T
    for size in (1e-3, 1e-4):
        moved, new_frame = structure.move(scores, tangent, size * own, size * shared)
        np.testing.assert_allclose(structure.nearest(moved), moved, atol=1e-12)
        assert np.abs(moved - scores - size * direction).max() < 100 * size**2
        fresh = structure.tangent(moved)
        both = scores_jacobian(fresh).T @ scores_jacobian(new_frame)
        np.testing.assert_allclose(both @ both.T, np.eye(fresh.n_free), atol=1e-9)


@pytest.mark.parametrize(("n_judges", "n_items", "rank"), [s for s in SHAPES if s[0] > 1 and s[1] > 2])
def test_jacobian_of_the_decomposition_matches_finite_differences(n_judges, n_items, rank):
    structure = LowRank(rank)
    scores = structure.nearest(np.random.default_rng(6).normal(size=(n_judges, n_items)) + np.linspace(-1, 1, n_items))
    tangent = structure.tangent(scores)

    def reported(free):
        parts = canonical(structure.from_free(free, tangent), rank)
        return np.concatenate([parts.gamma, parts.mu, parts.U.T.ravel(), parts.V.T.ravel()])

    free = tangent.coordinates(scores)
    numerical = approx_fprime(free, reported, centered=True)
    exact = decomposition_jacobian(canonical(scores, rank), tangent)
    np.testing.assert_allclose(exact, numerical, atol=FINITE_DIFFERENCE * max(1.0, np.abs(exact).max()))


@pytest.mark.parametrize(("n_judges", "n_items", "rank"), SHAPES)
def test_gradients_one_by_one_are_the_rows_of_the_jacobian(n_judges, n_items, rank):
    scores = LowRank(rank).nearest(np.random.default_rng(3).normal(size=(n_judges, n_items)) + np.arange(n_items))
    tangent, parts = LowRank(rank).tangent(scores), canonical(scores, rank)
    directions = range(rank)
    gradients = [
        *(sensitivity_gradient(parts, parts.residual, k) for k in range(n_judges)),
        *(consensus_gradient(parts, i) for i in range(n_items)),
        *(loading_gradient(parts, k, d) for d in directions for k in range(n_judges)),
        *(coordinate_gradient(parts, i, d) for d in directions for i in range(n_items)),
    ]
    rows = np.array([tangent.coordinates(gradient) for gradient in gradients])
    jacobian = decomposition_jacobian(parts, tangent)
    np.testing.assert_allclose(rows, jacobian, atol=1e-9 * np.abs(jacobian).max())


def test_jacobian_of_consensus_and_sensitivity_holds_for_unrestricted_scores():
    structure = Unrestricted()
    scores = structure.nearest(np.random.default_rng(8).normal(size=(4, 5)) + np.linspace(-1, 1, 5))
    tangent = structure.tangent(scores)

    def reported(free):
        parts = canonical(structure.from_free(free, tangent), 0)
        return np.concatenate([parts.gamma, parts.mu])

    parts = canonical(scores, 0)
    exact = anchor_jacobian(parts.gamma, parts.mu, scores - parts.scores, tangent)
    numerical = approx_fprime(tangent.coordinates(scores), reported, centered=True)
    np.testing.assert_allclose(exact, numerical, atol=FINITE_DIFFERENCE)


PACKED = [LowRank(0), LowRank(2), Pooled(), Unrestricted(), on_traits(0, 6, 1), on_traits(1, 6, 3)]


@pytest.mark.parametrize("structure", PACKED, ids=lambda structure: structure.name)
def test_parameter_vectors_pack_unpack_and_differentiate(structure):
    rng = np.random.default_rng(9)
    terms = gather(["x1", "x2"], ["length"], {"position": "judge"}, [])
    layout = Layout(structure, tuple("abcde"), tuple("uvwxyz"), terms)
    scores = structure.nearest(rng.normal(size=(5, 6)) + np.linspace(-2, 2, 6))
    at = Coefficients(scores, rng.normal(size=(5, 2)), rng.normal(size=2))
    params = layout.pack(at)
    assert len(params) == len(layout.names) == len(set(layout.names))
    back = layout.unpack(params)
    for name in ("scores", "judge", "shared"):
        np.testing.assert_allclose(getattr(back, name), getattr(at, name), atol=1e-12)
    assert params[layout.names.index("length[c]")] == at.judge[2, 1]
    tangent = structure.tangent(scores)
    free = layout.to_free(at, tangent)
    assert len(free) == layout.n_free
    numerical = approx_fprime(free, lambda x: layout.pack(layout.from_free(x, tangent)), centered=True)
    np.testing.assert_allclose(layout.jacobian(at, tangent), numerical, atol=FINITE_DIFFERENCE)
    step = rng.normal(size=len(free))
    derivative = layout.derivative(step, tangent, layout.decompose(at))
    np.testing.assert_allclose(derivative, layout.jacobian(at, tangent) @ step, atol=1e-9)
    conditions = structure.normalisation(params[layout.n_linear :], 5, 6)
    inside = structure.jacobian(layout.decompose(at), tangent)
    np.testing.assert_allclose(conditions.jacobian @ inside, 0.0, atol=1e-9)


@pytest.mark.parametrize("structure", [Pooled(), LowRank(0), LowRank(2)])
def test_products_with_the_shared_directions_need_no_products_of_full_size(structure):
    rng = np.random.default_rng(0)
    scores = structure.nearest(rng.standard_normal((20, 70)))
    tangent = structure.tangent(scores)
    assert tangent.complement is None
    items = tangent.shared_items
    np.testing.assert_allclose(items.T @ items, np.eye(items.shape[1]), atol=1e-13)
    np.testing.assert_allclose(items.T @ np.hstack([tangent.judge_items, np.ones((70, 1))]), 0.0, atol=1e-13)
    rows, matrices = rng.standard_normal((5, 70)), rng.standard_normal((3, 70, 70))
    np.testing.assert_allclose(tangent.along_shared(rows), rows @ items, atol=1e-12)
    np.testing.assert_allclose(tangent.between_shared(matrices), items.T @ matrices @ items, atol=1e-12)
