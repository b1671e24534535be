import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.errors import ComparisonError, IdentificationError
from hjastats.model.structures import LowRank
from hjastats.simulation import heterogeneous_panel, near_balanced_design, simulate_comparisons
from hjastats.solve.validation import held_out_losses, split


@pytest.fixture(scope="module")
def rank_one_panel():
    panel = heterogeneous_panel(6, 8, 1, heterogeneity=0.8, rng=3)
    return simulate_comparisons(0.7 * panel.scores, near_balanced_design(6, 8, 4000, rng=4), rng=5)


@pytest.mark.parametrize("criterion", ["bic", "aic", "cv"])
def test_the_true_rank_is_found(rank_one_panel, criterion):
    selection = hja.select_rank(rank_one_panel, criterion=criterion)
    assert selection.best == 1
    assert selection.result.model.rank == 1
    assert str(selection).startswith(f"Rank 1 by {'cross-validation' if criterion == 'cv' else criterion.upper()}")
    assert selection.strengths[0] > 3 * selection.strengths[1]


def test_the_bootstrap_stops_at_the_first_rank_that_is_not_rejected(rank_one_panel):
    selection = hja.select_rank(rank_one_panel, criterion="loglik-bootstrap", n=39, rng=1)
    assert selection.best == 1
    assert selection.table["p_value"].tolist()[:2] == pytest.approx([1 / 40] * 2)
    assert selection.table["p_value"].tolist()[2] > 0.05
    assert selection.choices["loglik-bootstrap"] == 1


def test_the_table_holds_ordinary_fits_and_likelihoods_never_fall(rank_one_panel):
    selection = hja.select_rank(rank_one_panel, ranks=range(5))
    assert selection.table.index.tolist() == ["BTL", 0, 1, 2, 3, 4]
    assert (np.diff(selection.table["llf"]) > -1e-8).all()
    alike = hja.BTLModel.from_comparisons(rank_one_panel).fit()
    assert selection.table.loc["BTL", ["llf", "df"]].tolist() == pytest.approx([alike.llf, 7])
    for rank, row in selection.table.iloc[1:].iterrows():
        fit = hja.HJAModel.from_comparisons(rank_one_panel, rank=rank).fit(warn_convergence=False)
        assert row["llf"] >= fit.llf - 1e-6
        # The full number of free parameters: (r + 1)(K + N - 2 - r).
        assert row["df"] == (rank + 1) * (6 + 8 - 2 - rank)
        assert row["bic"] == pytest.approx(-2 * row["llf"] + row["df"] * np.log(4000))


def test_the_search_ends_after_two_ranks_without_improvement_unless_ranks_are_given(rank_one_panel):
    assert hja.select_rank(rank_one_panel).table.index.tolist() == ["BTL", 0, 1, 2, 3]
    assert hja.select_rank(rank_one_panel, ranks=[4, 0]).table.index.tolist() == ["BTL", 0, 4]


@pytest.fixture(scope="module")
def judges_alike():
    scores = np.tile(np.linspace(1.0, -1.0, 6), (5, 1))
    return simulate_comparisons(scores, near_balanced_design(5, 6, 1500, rng=0), rng=1)


@pytest.mark.parametrize("criterion", ["bic", "cv", "loglik-bootstrap"])
def test_judges_that_do_not_differ_are_found_to_be_alike(judges_alike, criterion):
    selection = hja.select_rank(judges_alike, ranks=[0, 1], criterion=criterion, n=19)
    assert selection.best == "BTL"
    assert isinstance(selection.result.model, hja.BTLModel)
    assert selection.verdict.startswith("BTL by ")
    assert selection.plot_scree().lines
    assert "smallest for BTL" in selection.plot().axes[1].get_title(loc="left")


@pytest.fixture(scope="module")
def light_judges():
    """Forty judges with fifteen verdicts each, who follow the consensus closely: many of them contradict nothing."""
    rng = np.random.default_rng(0)
    scores = np.outer(rng.normal(2.0, 0.5, 40), np.linspace(1.0, -1.0, 5))
    return simulate_comparisons(scores, near_balanced_design(40, 5, 600, rng=0), rng=1)


def test_folds_without_an_estimate_are_predicted_by_a_ridge(light_judges):
    selection = hja.select_rank(light_judges, ranks=[0, 1], criterion="cv", n_folds=3)
    table = selection.table
    assert table["cv_ridge"].tolist() == [0, 3, 3]
    # Better than a coin: maximum likelihood estimates on their way to infinity lose several times as much.
    assert (table["cv"] < np.log(2)).all()
    assert "cv_ridge: folds without maximum likelihood estimate, predicted by a ridge of weight 0.1" in str(selection)


def test_strengths_are_finite_where_the_consensus_only_fit_does_not_exist(light_judges):
    selection = hja.select_rank(light_judges, ranks=[0])
    assert not selection.results[0].converged
    assert selection.strengths[0] < 50.0


def test_disagreeing_criteria_are_named():
    # Two weak directions: enough for AIC, not for BIC.
    panel = heterogeneous_panel(6, 8, 2, heterogeneity=0.12, rng=12)
    weak = simulate_comparisons(panel.scores, near_balanced_design(6, 8, 1500, rng=2), rng=1)
    selection = hja.select_rank(weak, ranks=range(4))
    assert selection.choices["aic"] > selection.choices["bic"]
    assert "the criteria disagree: AIC takes" in selection.verdict


def test_a_criterion_that_takes_the_largest_rank_tried_may_take_more():
    panel = heterogeneous_panel(6, 8, 2, heterogeneity=0.12, rng=12)
    weak = simulate_comparisons(panel.scores, near_balanced_design(6, 8, 1500, rng=2), rng=1)
    aic = hja.select_rank(weak, ranks=range(5)).choices["aic"]
    assert f"AIC takes {aic} or more." in hja.select_rank(weak, ranks=range(aic + 1)).verdict
    assert f"AIC takes {aic}." in hja.select_rank(weak, ranks=range(aic + 2)).verdict


def test_a_rank_whose_estimate_does_not_exist_can_be_best_and_is_said_not_to():
    panel = heterogeneous_panel(4, 8, 2, rng=np.random.default_rng([4, 12800, 1000, 2]))
    data = simulate_comparisons(3 * panel.scores, near_balanced_design(4, 8, 1500, rng=2), rng=1)
    selection = hja.select_rank(data, ranks=range(3))
    assert not selection.result.converged
    assert "fit_regularized()" in selection.verdict


def test_cross_validation_holds_groups_out_together_and_jobs_do_not_matter(rank_one_panel):
    prompt = np.arange(rank_one_panel.n_rows) // 8
    model = hja.HJAModel.from_comparisons(rank_one_panel, rank=0)
    folds = split(model.row_design(), prompt, 5, np.random.default_rng(0))
    assert sum(fold.test.n.sum() for fold in folds) == rank_one_panel.n_rows
    assert all(fold.test.n.sum() % 8 == 0 for fold in folds)
    one, two = (held_out_losses(folds, [LowRank(0), LowRank(1)], n_jobs=jobs).loss for jobs in (1, 2))
    np.testing.assert_allclose(one, two, rtol=1e-12)
    assert hja.select_rank(rank_one_panel, criterion="cv", groups=prompt, n_folds=4).best == 1


def test_held_out_loss_is_that_of_fresh_fits(rank_one_panel):
    model = hja.HJAModel.from_comparisons(rank_one_panel, rank=1)
    rng = np.random.default_rng(0)
    fold = model.folds(None, 5, rng)[0]
    loss = held_out_losses([fold], [LowRank(0), LowRank(1)]).loss[1, 0]
    order = np.random.default_rng(0).permutation(np.arange(rank_one_panel.n_rows) % 5)
    train = hja.HJAModel.from_comparisons(rank_one_panel.subset(order != 0), rank=1).fit()
    test = rank_one_panel.subset(order == 0)
    p = np.asarray(train.predict(test.to_frame()[["judge", "first", "second"]]))
    expected = -np.mean(test.outcome * np.log(p) + (1 - test.outcome) * np.log1p(-p))
    assert loss == pytest.approx(expected, rel=1e-6)


def test_wrong_requests_are_refused(rank_one_panel):
    with pytest.raises(ValueError, match="criterion"):
        hja.select_rank(rank_one_panel, criterion="waic")
    with pytest.raises(IdentificationError, match="between 0 and"):
        hja.select_rank(rank_one_panel, ranks=[9])
    with pytest.raises(ComparisonError, match="the table is empty: expected one row per verdict"):
        hja.select_rank(pd.DataFrame())
    with pytest.raises(ValueError, match="n_folds"):
        hja.select_rank(rank_one_panel, criterion="cv", n_folds=1)


def test_position_effects_are_not_mistaken_for_disagreement(shared_data):
    for name in ("chatbot_arena", "mtbench"):
        data = hja.read_comparisons(shared_data / f"{name}.json")
        for criterion in ("bic", "cv"):
            assert hja.select_rank(data, criterion=criterion).best == 1
            assert hja.select_rank(data, criterion=criterion, position="judge").best == 0
