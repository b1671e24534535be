"""Data and options on which careless software prints numbers: each must give the right words instead."""

import warnings

import numpy as np
import pandas as pd
import pytest
from statsmodels.tools.sm_exceptions import HessianInversionWarning

import hjastats as hja
from hjastats.data.comparisons import Comparisons
from hjastats.errors import ComparisonError, IdentificationError
from hjastats.simulation import near_balanced_design, simulate_comparisons
from tests.panels import always_winning, changed, warned

MODELS = [(hja.BTLModel, {}), (hja.JAModel, {}), (hja.HJAModel, {"rank": 1})]


@pytest.mark.parametrize("position", [None, "common", "judge"])
@pytest.mark.parametrize(("cls", "options"), MODELS)
def test_an_item_that_always_wins_is_said_to_rise(biased_panel, cls, options, position):
    model = cls.from_comparisons(always_winning(biased_panel, "item-1"), position=position, **options)
    result, text = warned(model.fit, hja.SeparationWarning)
    assert not result.converged
    assert "'item-1' rise" in text or ("rise" not in text and "fall" in text and "'item-1'" not in text)
    assert np.isfinite(result.params).all()
    assert "does not exist" in str(result.summary())


@pytest.mark.parametrize(("cls", "options"), MODELS)
def test_a_judge_that_always_picks_the_first_item_has_a_position_effect_that_grows(biased_panel, cls, options):
    outcome = np.where(biased_panel.judge_index == 0, 1.0, biased_panel.outcome)
    model = cls.from_comparisons(changed(biased_panel, outcome), position="judge", **options)
    _, text = warned(model.fit, hja.SeparationWarning)
    assert "position[judge-1] grows" in text


def test_a_covariate_that_predicts_every_verdict_is_named(biased_panel):
    covariate = pd.DataFrame({"oracle": biased_panel.outcome - 0.5})
    model = hja.JAModel.from_comparisons(biased_panel, exog=covariate)
    _, text = warned(model.fit, hja.SeparationWarning)
    assert "oracle grows" in text


@pytest.mark.parametrize("method", ["newton", "bfgs", "alternating"])
def test_other_optimisers_also_end_on_separated_data(biased_panel, method):
    model = hja.HJAModel.from_comparisons(always_winning(biased_panel, "item-1"), rank=1)
    options = {"maxiter": 20} if method == "alternating" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = model.fit(method=method, **options)
    assert not result.converged


@pytest.mark.parametrize("factor", [100.0, 1e6, 0.0])
def test_a_start_far_away_or_at_zero_does_not_matter(biased_panel, factor):
    model = hja.HJAModel.from_comparisons(biased_panel, rank=1, position="judge")
    reference = model.fit()
    again = model.fit(start_params=factor * reference.params)
    assert again.converged
    assert again.llf == pytest.approx(reference.llf, rel=1e-10)
    with pytest.raises(ValueError, match="must be finite"):
        model.fit(start_params=np.full(len(reference.params), np.nan))


@pytest.mark.parametrize("factor", [1e-9, 1e-3, 1e3, 1e12])
def test_the_scale_of_the_weights_does_not_change_the_estimate(biased_panel, factor):
    frame = biased_panel.to_frame()
    labels = {"judge": frame["judge"], "item_a": frame["first"], "item_b": frame["second"]}
    plain = hja.HJAModel(frame["outcome"], rank=1, **labels).fit()
    scaled = hja.HJAModel(frame["outcome"], weights=np.full(len(frame), factor), rank=1, **labels).fit()
    assert scaled.converged
    assert len(scaled.mle_retvals["optima"]) == 1
    np.testing.assert_allclose(scaled.scores, plain.scores, atol=1e-6)
    np.testing.assert_allclose(scaled.bse * np.sqrt(factor), plain.bse, rtol=1e-5)


def test_identical_judges_have_no_disagreement_to_fit():
    frame = pd.DataFrame(
        {"first": list("aabbcc") * 20, "second": list("bcacab") * 20, "outcome": ([1, 1, 0, 1, 0, 1, 0] * 18)[:120]}
    )
    both = pd.concat([frame.assign(judge=name) for name in ("x", "y", "z")])
    labels = {
        "judge": both["judge"].to_numpy(),
        "item_a": both["first"].to_numpy(),
        "item_b": both["second"].to_numpy(),
    }
    with pytest.raises(IdentificationError, match="fit rank=0"):
        hja.HJAModel(both["outcome"].to_numpy(), rank=1, **labels).fit(warn_convergence=False)
    assert hja.JAModel(both["outcome"].to_numpy(), **labels).fit().converged


def test_opposite_judges_have_no_consensus_but_scores_of_their_own(biased_panel):
    frame = biased_panel.to_frame()[biased_panel.judge_index == 0]
    both = pd.concat([frame.assign(judge="for"), frame.assign(judge="against", outcome=1 - frame["outcome"])])
    opposite = Comparisons.from_arrays(both["judge"], both["first"], both["second"], both["outcome"])
    with pytest.raises(IdentificationError, match="no consensus"):
        hja.JAModel.from_comparisons(opposite).fit(warn_convergence=False)
    judgewise = hja.JudgewiseBTLModel.from_comparisons(opposite).fit()
    assert judgewise.converged
    np.testing.assert_allclose(judgewise.scores.loc["for"], -judgewise.scores.loc["against"], atol=1e-8)
    assert judgewise.sensitivity["estimate"].isna().all()
    assert "consensus" in str(judgewise.summary())


def test_all_ties_are_a_ranking_without_differences(biased_panel):
    tied = changed(biased_panel, np.full(biased_panel.n_rows, 0.5))
    pooled = hja.BTLModel.from_comparisons(tied).fit()
    assert np.abs(pooled.params).max() < 1e-12
    with pytest.raises(IdentificationError, match="no consensus"):
        hja.JAModel.from_comparisons(tied).fit(warn_convergence=False)


@pytest.mark.parametrize("name", ["position", "mu", "gamma", "S", "p"])
def test_covariates_named_like_parameters_are_refused(biased_panel, name):
    with pytest.raises(ComparisonError, match="rename the covariate"):
        hja.JAModel.from_comparisons(
            biased_panel, exog=pd.DataFrame({name: np.arange(biased_panel.n_rows)}), position="judge"
        )


def test_repeated_covariate_names_are_refused(biased_panel):
    twice = pd.DataFrame(np.ones((biased_panel.n_rows, 2)), columns=["x", "x"])
    with pytest.raises(ComparisonError, match="two parameters"):
        hja.JAModel.from_comparisons(biased_panel, exog=twice)


def test_an_uncentred_covariate_converges_from_every_start(biased_panel):
    rng = np.random.default_rng(0)
    result = hja.JAModel.from_comparisons(
        biased_panel, exog=pd.DataFrame({"year": rng.normal(size=biased_panel.n_rows) + 2020})
    ).fit()
    assert result.converged
    assert len(result.mle_retvals["optima"]) == 1


def test_undetermined_combinations_are_named(biased_panel):
    constant = pd.DataFrame({"one": np.ones(biased_panel.n_rows)})
    result, _ = warned(
        hja.JAModel.from_comparisons(biased_panel, exog=constant, position="common").fit, HessianInversionWarning
    )
    finding = next(finding for finding in result.findings if finding.topic == "identification")
    assert "'one'" in finding.text
    assert "'position'" in finding.text
    assert result.bse.isna().all()
    assert "no standard errors" in str(result.summary())


def test_nearly_collinear_covariates_are_pointed_out(biased_panel):
    rng = np.random.default_rng(1)
    x = rng.normal(size=biased_panel.n_rows)
    frame = pd.DataFrame({"x": x, "nearly": x + 1e-5 * rng.normal(size=biased_panel.n_rows)})
    result = hja.BTLModel.from_comparisons(biased_panel, exog=frame).fit()
    assert any("nearly singular" in finding.text and "'nearly'" in finding.text for finding in result.findings)


def test_the_position_test_leaves_out_what_other_terms_explain(biased_panel):
    frame = biased_panel.to_frame()
    labels = {"judge": "judge", "item_a": "first", "item_b": "second"}
    intercept = hja.BTLModel.from_formula("outcome ~ 1", frame, **labels).fit()
    common = hja.BTLModel.from_comparisons(biased_panel, position="common").fit()
    texts = [next(f.text for f in result.findings if f.topic == "position test") for result in (intercept, common)]
    assert all("chi2(4)" in text for text in texts)
    assert "differ between judges" in texts[1]


def test_models_with_different_covariates_or_orders_are_not_taken_as_nested(biased_panel):
    rng = np.random.default_rng(0)
    one = hja.BTLModel.from_comparisons(biased_panel, exog=rng.normal(size=(biased_panel.n_rows, 1))).fit()
    two = hja.BTLModel.from_comparisons(biased_panel, exog=rng.normal(size=(biased_panel.n_rows, 2))).fit()
    with pytest.raises(ComparisonError, match="not nested"):
        two.compare_lr_test(one)
    frame = biased_panel.to_frame()
    swapped = np.arange(len(frame)) % 2 == 0
    other = Comparisons.from_arrays(
        frame["judge"],
        frame["first"].where(~swapped, frame["second"]),
        frame["second"].where(~swapped, frame["first"]),
        frame["outcome"].where(~swapped, 1 - frame["outcome"]),
    )
    plain = hja.BTLModel.from_comparisons(biased_panel).fit()
    assert len(hja.compare(plain, hja.JAModel.from_comparisons(other).fit())) == 2
    with pytest.raises(ComparisonError, match="different verdicts"):
        hja.compare(plain, hja.BTLModel.from_comparisons(other, position="common").fit())
    labels = {"judge": "judge", "item_a": "first", "item_b": "second"}
    intercept = hja.BTLModel.from_formula("outcome ~ 1", frame, **labels).fit()
    assert hja.BTLModel.from_comparisons(biased_panel, position="judge").fit().compare_lr_test(intercept).df_diff == 4


def test_series_with_other_indices_are_not_silently_matched_by_position(biased_panel):
    frame = biased_panel.to_frame()
    with pytest.raises(ComparisonError, match="different indices"):
        hja.BTLModel(
            frame["outcome"],
            judge=frame["judge"].sample(frac=1, random_state=0),
            item_a=frame["first"],
            item_b=frame["second"],
        )


def test_missing_rows_of_a_formula_are_refused_unless_dropping_is_asked_for(biased_panel):
    frame = biased_panel.to_frame()
    frame.loc[3, "outcome"] = np.nan
    frame.loc[5, "judge"] = None
    labels = {"judge": "judge", "item_a": "first", "item_b": "second"}
    with pytest.raises(ComparisonError, match="missing"):
        hja.BTLModel.from_formula("outcome ~ 0", frame, **labels)
    with pytest.raises(ComparisonError, match="missing"):
        hja.BTLModel.from_formula("outcome ~ 0", frame.fillna({"outcome": 1.0}), **labels)
    assert hja.BTLModel.from_formula("outcome ~ 0", frame, missing="drop", **labels).nobs == biased_panel.n_rows - 2


def test_options_without_meaning_are_refused(biased_panel):
    model = hja.JAModel.from_comparisons(biased_panel)
    with pytest.raises(ValueError, match="use_t is not available"):
        model.fit(use_t=True)
    with pytest.raises(ValueError, match="maxiter must be"):
        model.fit(maxiter=0)
    with pytest.raises(TypeError, match="JAModel has rank 0"):
        hja.JAModel.from_comparisons(biased_panel, rank=1)
    result = model.fit()
    with pytest.raises(NotImplementedError, match="with_covariance"):
        _ = result.bsejac
    with pytest.raises(ComparisonError, match="no covariates"):
        result.predict(np.ones((1, 1)), judge="judge-1", item_a="item-1", item_b="item-2")
    with pytest.raises(ComparisonError, match="needs columns judge"):
        result.predict(pd.DataFrame({"x": [1]}))


def test_labels_with_line_breaks_do_not_break_tables(biased_panel):
    frame = biased_panel.to_frame()
    frame["first"], frame["second"] = (frame[c].replace("item-1", "item\n1") for c in ("first", "second"))
    result = hja.JAModel(frame["outcome"], judge=frame["judge"], item_a=frame["first"], item_b=frame["second"]).fit()
    assert "item 1 " in str(result.summary())


@pytest.mark.slow
def test_random_data_give_a_fit_or_one_of_our_errors():
    """Small, sparse, unbalanced panels: nothing but our errors and warnings, no missing number called converged."""
    outcomes = {"converged": 0, "flagged": 0, "refused": 0}
    for seed in range(400):
        rng = np.random.default_rng(seed)
        K, N, n = rng.integers(1, 7), rng.integers(2, 8), rng.integers(2, 150)
        judge, first = rng.integers(K, size=n), rng.integers(N, size=n)
        second = (first + rng.integers(1, N, size=n)) % N
        outcome = rng.choice([0.0, 0.5, 1.0], size=n, p=rng.dirichlet([1, 0.3, 1]))
        labels = {"judge": judge, "item_a": first, "item_b": second}
        cls, options = [(hja.BTLModel, {}), (hja.JAModel, {}), (hja.HJAModel, {"rank": int(rng.integers(1, 4))})][
            seed % 3
        ]
        position = [None, "common", "judge"][rng.integers(3)]
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            try:
                result = cls(outcome, position=position, **options, **labels).fit(warn_convergence=False)
                text = str(result.summary())
            except (IdentificationError, ComparisonError):
                outcomes["refused"] += 1
                continue
        assert "Warnings" in text
        if result.converged:
            outcomes["converged"] += 1
            assert np.isfinite(result.params).all()
            assert np.isfinite(result.bse).all()
            assert np.abs(result.model.score_free(result.params)).max() < 1e-4
        else:
            outcomes["flagged"] += 1
    assert min(outcomes.values()) > 20


def test_rows_that_run_to_infinity_are_left_empty_in_every_table(biased_panel):
    result = hja.BTLModel.from_comparisons(always_winning(biased_panel, "item-1")).fit(warn_convergence=False)
    assert np.isnan(result.consensus.loc["item-1", "estimate"])
    assert result.consensus["estimate"].notna().sum() == 6
    assert result.scores["item-1"].isna().all()
    assert result.judges.score_errors()["item-1"].isna().all()
    assert result.disagreement["item-1"].isna().all()
    with pytest.raises(IdentificationError, match="run to infinity"):
        result.ranking()
    line = next(line for line in str(result.summary()).splitlines() if line.startswith("item-1"))
    assert line.split()[2:] == ["-", "-", "-", "-"]
    outcome = np.where(biased_panel.judge_index == 0, 1.0, biased_panel.outcome)
    always = hja.JAModel.from_comparisons(changed(biased_panel, outcome), position="judge").fit(warn_convergence=False)
    assert always.position["estimate"].isna().tolist() == [True, False, False, False, False]
    shrunk = hja.BTLModel.from_comparisons(changed(biased_panel, outcome), position="judge").fit_regularized(terms=True)
    assert shrunk.converged
    assert shrunk.position["estimate"].notna().all()


def test_items_with_finite_scores_keep_their_differences_when_another_runs_to_infinity(biased_panel):
    frame = biased_panel.to_frame()
    involved = (frame["first"] == "item-1") | (frame["second"] == "item-1")
    outcome = np.where(frame["first"] == "item-1", 1.0, np.where(frame["second"] == "item-1", 0.0, frame["outcome"]))
    separated = hja.BTLModel.from_comparisons(changed(biased_panel, outcome)).fit(warn_convergence=False)
    # In the limit the comparisons with the undefeated item say nothing about the others.
    without = hja.BTLModel.from_comparisons(biased_panel.subset(~involved.to_numpy())).fit()
    np.testing.assert_allclose(
        separated.consensus.drop("item-1")[["estimate", "std_err"]],
        without.consensus[["estimate", "std_err"]],
        rtol=1e-5,
    )
    assert "sums to zero over finite scores" in str(separated.summary())
    np.testing.assert_allclose(separated.scores.sum(axis=1), 0.0, atol=1e-10)


def test_sensitivities_are_withheld_when_one_judge_carries_the_consensus_to_infinity():
    data = simulate_comparisons(np.zeros((10, 3)), near_balanced_design(10, 3, 540, rng=2), rng=3)
    # All prefer item 1, the first judge always; between items 2 and 3 everybody is undecided.
    share = np.where(data.judge_index == 0, 1.0, 0.7)
    outcome = np.where(data.first_index == 0, share, np.where(data.second_index == 0, 1.0 - share, 0.5))
    result = hja.JAModel.from_comparisons(changed(data, outcome)).fit(warn_convergence=False)
    assert not result.converged
    assert result.fit.is_withheld("gamma")
    assert result.sensitivity["estimate"].isna().all()
    assert result.judges.leverage()["rho"].isna().all()
    assert any("withheld" in finding.text for finding in result.findings if finding.topic == "sensitivity")


def test_what_is_withheld_does_not_depend_on_the_covariance():
    """Residuals vanish with the information: a sandwich is small where nothing is known."""
    data = simulate_comparisons(np.tile([0.0, 0.5, 1.0, 1.5], (3, 1)), near_balanced_design(3, 4, 600, rng=4), rng=5)
    always_first = changed(data, np.where(data.judge_index == 1, 1.0, data.outcome))
    result = hja.JAModel.from_comparisons(always_first, position="judge").fit(warn_convergence=False)
    robust = result.with_covariance("HC0")
    assert result.fit.is_separated.any()
    np.testing.assert_array_equal(robust.fit.is_separated, result.fit.is_separated)
    np.testing.assert_array_equal(robust.scores.isna(), result.scores.isna())
    spec = f"mu[{data.items[0]}] - mu[{data.items[1]}]"
    assert np.isnan(result.contrast(spec).estimate).all()
    assert np.isnan(robust.contrast(spec).estimate).all()


def test_an_undefeated_item_among_many_leaves_the_others_their_errors():
    """Its vanishing information must not make the whole panel look undetermined."""
    rng = np.random.default_rng(6)
    scores = np.outer([0.5, 1.0, 1.5], rng.normal(size=520))
    data = simulate_comparisons(scores, near_balanced_design(3, 520, 20000, rng=rng), rng=rng)
    outcome = np.where(data.first_index == 5, 1.0, np.where(data.second_index == 5, 0.0, data.outcome))
    result = hja.JAModel.from_comparisons(changed(data, outcome)).fit(warn_convergence=False)
    assert result.fit.separation is not None
    assert result.fit.model_covariance.is_identified
    assert result.consensus["std_err"].isna().sum() < 20


def test_light_crowd_workers_can_be_fitted_with_a_ridge(shared_data):
    """124 crowd workers with a median of 21 comparisons, and two language models."""
    folder = shared_data / "llmfao"
    parts = [pd.read_csv(folder / "crowd-comparisons.csv")]
    parts += [pd.read_csv(folder / f"{name}-crowd-comparisons.csv").assign(worker=name) for name in ("gpt3", "gpt4")]
    crowd = hja.read_comparisons(pd.concat(parts).astype({"worker": str}), judge="worker")
    assert (crowd.n_judges, crowd.n_items, crowd.n_comparisons) == (126, 59, 13209)
    assert hja.BTLModel.from_comparisons(crowd).fit().converged
    result, text = warned(hja.JAModel.from_comparisons(crowd).fit, hja.SeparationWarning)
    assert "fit_regularized" in text
    assert not result.converged
    shrunk = hja.HJAModel.from_comparisons(crowd, rank=1, position="judge").fit_regularized(alpha=0.5, terms=True)
    assert shrunk.converged
    assert np.isfinite(shrunk.bse).all()


def test_directions_of_equal_strength_are_withheld_but_not_the_disagreement():
    base = np.array([[1, -1, 0, 0], [1, 1, -2, 0], [1, 1, 1, -3]]) / np.sqrt([[2], [6], [12]])
    U = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]) * 1.0
    scores = np.outer(np.ones(4), 1.2 * base[0]) + U @ base[1:]
    data = simulate_comparisons(scores, near_balanced_design(4, 4, 40_000, rng=0), rng=1)
    result = hja.HJAModel.from_comparisons(data, rank=2).fit()
    assert result.fit.is_ambiguous.all()
    assert any("cannot be told apart by their strength" in finding.text for finding in result.findings)
    assert np.abs(result.disagreement.to_numpy() - U @ base[1:]).max() < 0.15
    line = next(
        line for line in str(result.summary()).splitlines() if line.startswith("judge-1") and line.endswith("-")
    )
    assert line.split()[-2:] == ["-", "-"]


def test_sensitivities_are_withheld_without_a_consensus_to_be_sensitive_to():
    mu = np.array([1.0, 0.2, -0.4, -0.8])
    data = simulate_comparisons(np.vstack([mu, -mu]), near_balanced_design(2, 4, 4000, rng=0), rng=1)
    result = hja.HJAModel.from_comparisons(data, rank=0).fit(warn_convergence=False)
    assert result.converged
    assert np.abs(result.params.filter(like="gamma[")).max() > 10
    assert not result.fit.has_consensus
    assert result.sensitivity["estimate"].isna().all()
    assert any("withheld" in finding.text for finding in result.findings)
    line = next(line for line in str(result.summary()).splitlines() if line.startswith("judge-1"))
    assert line.split()[1:] == ["-"] * 6


@pytest.mark.parametrize("rank", [0, 1])
def test_a_judge_that_always_says_first_leaves_nothing_of_its_scores(rank):
    panel = hja.datasets.load_panel().to_frame()[["judge", "first", "second", "outcome"]]
    blind = panel[panel["judge"] == "judge-2"].assign(judge="Bob", outcome=1.0)
    table = pd.concat([panel, blind])
    data = hja.Comparisons.from_arrays(*(table[name] for name in ("judge", "first", "second", "outcome")))
    with pytest.warns(hja.SeparationWarning, match="Bob"):
        result = hja.HJAModel.from_comparisons(data, rank=rank, position="judge").fit()
    # Bob has a part in the mean of the judges, so neither the consensus nor sensitivities to it have a value.
    assert result.consensus.isna().all(axis=None)
    assert result.sensitivity.isna().all(axis=None)
    assert result.scores.loc["Bob"].isna().all()
    assert result.judges.score_errors().loc["Bob"].isna().all()
    assert np.isnan(result.contrast("position[Bob]").estimate).all()
    assert not any("told from none" in finding.text for finding in result.findings)
    assert np.isnan(result.t_test("position[Bob] = 0").effect).all()
    with pytest.raises(hja.ContrastError, match=r"no finite estimate of 'position\[Bob\]"):
        result.wald_test("position[Bob] = 0")
    pairs = result.pairwise("position")
    assert pairs.loc["Bob"].isna().all(axis=None)
    assert pairs.drop("Bob").notna().all(axis=None)
    with pytest.raises(IdentificationError, match="no two values of mu are finite"):
        result.pairwise("mu")
    with pytest.raises(IdentificationError, match="no finite estimate"):
        result.contrast_formula("position ~ a", pd.DataFrame({"a": np.arange(9)}, index=list(data.judges)))
    # What the others say is what they say without Bob.
    others = hja.HJAModel.from_comparisons(data.without_judges("Bob"), rank=rank, position="judge").fit()
    np.testing.assert_allclose(result.position.drop("Bob"), others.position, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(result.scores.drop("Bob"), others.scores, atol=1e-3)
    np.testing.assert_allclose(result.judges.score_errors().drop("Bob"), others.judges.score_errors(), rtol=1e-3)
