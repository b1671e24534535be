import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.datasets import simulate_panel
from hjastats.errors import IdentificationError
from hjastats.model.decomposition import canonical
from hjastats.model.response import probability
from hjastats.simulation import heterogeneous_panel, near_balanced_design, simulate_comparisons


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_the_papers_process_satisfies_its_constraints(rank):
    panel = heterogeneous_panel(5, 8, rank=rank, rng=rank)
    assert panel.mu.sum() == pytest.approx(0, abs=1e-12)
    assert panel.gamma.sum() == pytest.approx(5)
    assert (panel.gamma > 0).all()
    assert np.abs(panel.U.sum(axis=0)).max(initial=0) < 1e-12
    assert np.abs(panel.V.sum(axis=0)).max(initial=0) < 1e-12
    assert np.abs(panel.mu @ panel.V).max(initial=0) < 1e-12
    strength = np.arange(rank, 0, -1)
    np.testing.assert_allclose(panel.V.T @ panel.V / 8, np.diag(strength**2), atol=1e-10)
    np.testing.assert_allclose(panel.U.T @ panel.U / 5, np.diag(strength**2), atol=1e-10)
    np.testing.assert_allclose(canonical(panel.scores, rank).gamma, panel.gamma, atol=1e-10)


def test_heterogeneity_scales_the_disagreement():
    plain, double = (heterogeneous_panel(rng=0, heterogeneity=h) for h in (1.0, 2.0))
    np.testing.assert_allclose(double.residual, 2 * plain.residual, atol=1e-12)
    np.testing.assert_allclose(double.mu, plain.mu)
    assert np.abs(heterogeneous_panel(rng=0, heterogeneity=0.0).residual).max() == 0


def test_impossible_ranks_are_refused():
    with pytest.raises(IdentificationError, match="between 0 and 3"):
        heterogeneous_panel(4, 8, rank=4)


def test_designs_are_balanced_up_to_one():
    judge, first, second = near_balanced_design(4, 8, 400, rng=0)
    counts = pd.Series(zip(judge, first, second, strict=True)).value_counts()
    assert len(judge) == 400
    assert len(counts) == 4 * 28
    assert set(counts) == {3, 4}
    assert (first < second).all()


def test_verdicts_have_the_probabilities_of_the_model():
    scores = np.array([[0.8, -0.8], [0.0, 0.0]])
    judge = np.repeat([0, 1], 40_000)
    design = (judge, np.zeros(80_000, int), np.ones(80_000, int))
    data = simulate_comparisons(scores, design, position=np.array([0.0, 1.0]), rng=1)
    share = data.first_share()["first_share"].to_numpy()
    # Three binomial standard errors of a share of 40,000.
    np.testing.assert_allclose(share, probability(np.array([1.6, 1.0])), atol=3 * 0.0025)


def test_the_embedded_panel_is_what_its_generator_makes(panel):
    shipped, made = panel.to_frame(), simulate_panel().to_frame()
    pd.testing.assert_frame_equal(shipped, made)


def test_the_embedded_panel_shows_what_it_was_made_to_show(panel_fit):
    assert panel_fit.position["p_value"].idxmin() == "judge-first"
    assert panel_fit.sensitivity["estimate"].idxmin() == "judge-noise"


@pytest.mark.slow
def test_score_intervals_cover_at_their_nominal_level():
    """The paper's process, N=8, K=4, r=1, 1,600 comparisons, 300 replications.

    The coverage of one replication varies by about 0.048, so the Monte-Carlo error of the mean is 0.003: the limits are
    more than three standard errors wide on the side that could fail by chance.
    """
    inside = []
    for seed in range(300):
        panel = heterogeneous_panel(rng=seed)
        design = near_balanced_design(4, 8, 1600, rng=1000 + seed)
        data = simulate_comparisons(panel.scores, design, rng=2000 + seed)
        result = hja.HJAModel.from_comparisons(data, rank=1).fit(warn_convergence=False)
        if result.converged:
            error = np.abs(result.scores.to_numpy() - panel.scores)
            inside.append((error <= 1.959964 * result.judges.score_errors().to_numpy()).mean())
    assert len(inside) >= 290
    assert 0.94 <= np.mean(inside) <= 0.965
