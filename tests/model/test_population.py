"""A population in its coordinates and in the terms of its report."""

import numpy as np
import pytest

from hjastats.model.population import PopulationLayout
from hjastats.model.structures import Sampled
from hjastats.model.terms import gather


def layout_and_values(rank, seed=0):
    terms = gather(["x"], [], {"position": "judge"}, [])
    layout = PopulationLayout(Sampled(rank), ("j", "k"), tuple("abcdef"), terms)
    return layout, np.random.default_rng(seed).standard_normal(layout.space.n)


@pytest.mark.parametrize("rank", range(4))
def test_coordinates_and_populations_are_inverse(rank):
    layout, values = layout_and_values(rank)
    np.testing.assert_allclose(layout.space.pack(layout.space.unpack(values)), values, atol=1e-12)


@pytest.mark.parametrize("rank", range(4))
def test_the_report_describes_the_same_distribution_of_scores(rank):
    layout, values = layout_and_values(rank)
    at = layout.space.unpack(values)
    again = layout.population(layout.report(at))

    def covariance(p):
        return p.sensitivity**2 * np.outer(p.mu, p.mu) + p.V @ p.V.T

    np.testing.assert_allclose(covariance(again), covariance(at), atol=1e-10)
    np.testing.assert_allclose(layout.report(again), layout.report(at), atol=1e-10)


@pytest.mark.parametrize("rank", range(4))
def test_derivatives_of_the_report_agree_with_differences(rank):
    layout, values = layout_and_values(rank)
    space, step = layout.space, 1e-6
    found = [
        (layout.report(space.unpack(values + step * unit)) - layout.report(space.unpack(values - step * unit)))
        / (2 * step)
        for unit in np.eye(space.n)
    ]
    np.testing.assert_allclose(layout.report_jacobian(space.unpack(values)), np.array(found).T, atol=1e-7)


def test_rotating_the_directions_reports_the_same():
    layout, values = layout_and_values(2)
    turned = values + 1e-6 * layout.space.rotations(values)[0]
    found = layout.report(layout.space.unpack(turned)) - layout.report(layout.space.unpack(values))
    np.testing.assert_allclose(found, 0.0, atol=1e-10)
