import numpy as np
import pytest

import hjastats as hja
from hjastats.diagnostics.effective import herfindahl, information_shares
from hjastats.model.likelihood import evaluate
from hjastats.model.tangent import centred_basis
from hjastats.simulation import simulate_comparisons


def repeated(weights):
    """The same verdicts by every judge, each counted with the judge's weight."""
    rng = np.random.default_rng(0)
    first, second = np.triu_indices(5, 1)
    mu = np.array([1.0, 0.5, 0.0, -0.5, -1.0])
    wins = rng.binomial(20, 1 / (1 + np.exp(mu[second] - mu[first]))) / 20
    n_judges = len(weights)
    return hja.Comparisons.from_arrays(
        np.repeat([f"j{k}" for k in range(n_judges)], len(first)),
        np.tile(first, n_judges),
        np.tile(second, n_judges),
        np.tile(wins, n_judges),
        np.repeat(weights, len(first)) * 20.0,
        counts=False,
    )


@pytest.mark.parametrize("model", [hja.BTLModel, hja.JAModel, hja.JudgewiseBTLModel])
@pytest.mark.parametrize("n_judges", [1, 2, 7])
def test_equal_judges_count_fully(model, n_judges):
    found = model.from_comparisons(repeated(np.ones(n_judges))).fit().judges.effective_number()
    assert found.independent == pytest.approx(n_judges, rel=1e-9)
    # They are copies of each other: see the tests of redundancy.
    assert found.number == pytest.approx(1.0, rel=1e-9)
    np.testing.assert_allclose(found.shares, 1 / n_judges, rtol=1e-9)


def test_a_judge_that_tells_everything_is_one_judge():
    found = hja.BTLModel.from_comparisons(repeated([1e6, 1.0, 1.0])).fit().judges.effective_number()
    # The others hold two millionths of the information, and each share enters twice in the square of the first.
    assert found.number == pytest.approx(1.0, abs=5e-6)
    assert found.shares.index[0] == "j0"


def test_shares_are_those_of_the_comparisons_when_judges_differ_in_nothing_else():
    weights = np.array([1.0, 2.0, 5.0])
    found = hja.BTLModel.from_comparisons(repeated(weights)).fit().judges.effective_number()
    np.testing.assert_allclose(found.shares.sort_index(), weights / 8, rtol=1e-9)
    assert found.independent == pytest.approx(64 / 30)


def test_a_judge_counts_by_the_square_of_its_sensitivity_whatever_its_sign():
    data = repeated(np.ones(3))
    cells, gamma = data.cells, np.array([1.0, -1.0, 0.0])
    np.testing.assert_allclose(information_shares(cells, cells.n / 4, gamma), [0.5, 0.5, 0.0], atol=1e-12)
    np.testing.assert_allclose(information_shares(cells, cells.n / 4, 3 * gamma), [0.5, 0.5, 0.0], atol=1e-12)


def test_a_judge_that_alone_compared_an_item_holds_all_that_is_known_of_it():
    # Judge 0 compares a and b, judge 1 links c: two directions, one known by each judge.
    data = hja.Comparisons.from_arrays(["j", "j", "k", "k"], list("abbc"), list("bacb"), [1, 1, 1, 1])
    np.testing.assert_allclose(information_shares(data.cells, data.cells.n / 4, np.ones(2)), [0.5, 0.5], rtol=1e-12)


def test_a_noise_judge_adds_next_to_nothing():
    scores = np.vstack([np.tile([1.0, 0.3, -0.3, -1.0], (4, 1)), np.zeros(4)])
    judge, first, second = np.meshgrid(np.arange(5), np.arange(4), np.arange(4), indexing="ij")
    design = tuple(np.repeat(part[first != second].ravel(), 100) for part in (judge, first, second))
    result = hja.JAModel.from_comparisons(simulate_comparisons(scores, design, rng=1)).fit()
    assert 3.5 < result.judges.effective_number().number < 4.2


def test_what_is_withheld_is_said_in_words():
    sure = hja.Comparisons.from_arrays(["j"] * 4 + ["k"] * 4, list("abab") * 2, list("cccc") * 2, [1] * 8)
    found = hja.BTLModel.from_comparisons(sure).fit(warn_convergence=False).judges.effective_number()
    assert np.isnan(found.number)
    assert repr(found).startswith("Effective number of judges: not available.")
    assert "no information" in repr(herfindahl(np.array([np.nan]), ("a",)))


def test_shares_of_the_information_are_those_of_the_matrices(panel):
    result = hja.JAModel.from_comparisons(panel).fit()
    cells, gamma = result.model.design, result.fit.parts.gamma
    curvature = evaluate(cells, result.fit.at).curvature
    basis = centred_basis(cells.n_items)
    each = gamma[:, None, None] ** 2 * (basis.T @ cells.laplacians(curvature) @ basis)
    expected = np.einsum("ab,kba->k", np.linalg.inv(each.sum(axis=0)), each) / (cells.n_items - 1)
    np.testing.assert_allclose(information_shares(cells, curvature, gamma), expected, rtol=1e-9)
