"""What a fit knows: estimates, their errors, and what is withheld."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.tools.numdiff import approx_fprime

import hjastats as hja
from hjastats.errors import CovarianceWarning, IdentificationError, LocalOptimaWarning, SeparationWarning
from hjastats.simulation import heterogeneous_panel, near_balanced_design, simulate_comparisons
from tests.panels import always_winning, changed, every_model


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


def test_one_weighted_sum_never_says_more_for_a_consensus_than_all_scores():
    """The quick test of a consensus is conservative, and decides where there is one."""
    rng = np.random.default_rng(2)
    n_quick = 0
    for size in (0.0, 0.1, 0.3, 1.0):
        truth = heterogeneous_panel(5, 7, 1, rng=rng)
        scores = size * np.outer(truth.gamma, truth.mu) + truth.U @ truth.V.T
        panel = simulate_comparisons(scores, near_balanced_design(5, 7, 1500, rng=rng), rng=rng)
        result = hja.HJAModel.from_comparisons(panel, rank=1).fit(warn_convergence=False)
        if not result.converged:
            continue
        where = result.model.layout.slices["mu"]
        cov, mu = result.cov_params().to_numpy()[where, where], result.params.to_numpy()[where]
        exact = float(mu @ np.linalg.pinv(cov, rcond=1e-10) @ mu)
        quick = result.fit._consensus_statistic()
        assert quick <= exact * (1 + 1e-8)
        assert result.fit.has_consensus == (stats.chi2.sf(exact, 6) < 0.05)
        n_quick += stats.chi2.sf(quick, 6) < 0.05
    assert n_quick >= 1


def fits_of_every_model(data, **options):
    return [model.fit().fit for model in every_model(data, **options)]


def test_a_fit_cannot_be_changed(panel_fit):
    fit = panel_fit.fit
    for name in ("layout", "design", "search", "information", "penalty", "choice"):
        with pytest.raises(FrozenInstanceError):
            setattr(fit, name, None)
    assert fit.information == "expected"


@pytest.mark.parametrize("entries", [20_000_000, 1], ids=["all at once", "one by one"])
def test_rows_are_those_of_the_jacobian(small_panel, entries, set_limits):
    rng = np.random.default_rng(0)
    for options in ({}, {"position": "judge"}, {"position": "common", "exog": rng.normal(size=(2400, 1))}):
        for fit in fits_of_every_model(small_panel, **options):
            jacobian = fit.jacobian
            assert jacobian.shape == (len(fit.params), fit.layout.n_free)
            some = rng.permutation(len(fit.params))[:17]
            set_limits(ENTRIES_AT_ONCE=entries)
            np.testing.assert_allclose(fit.rows(some), jacobian[some], atol=1e-10)
            np.testing.assert_allclose(fit.rows(np.arange(len(jacobian))), jacobian, atol=1e-10)
            assert fit.rows(some[:0]).shape == (0, fit.layout.n_free)
            set_limits.reset()


@pytest.mark.parametrize("entries", [20_000_000, 1], ids=["all at once", "one by one"])
@pytest.mark.parametrize("cov_type", ["nonrobust", "HC0"])
def test_errors_are_those_of_the_covariance(small_panel, cov_type, entries, set_limits):
    for model in every_model(small_panel, position="judge"):
        fit = model.fit(cov_type=cov_type).fit
        covariance = fit.covariance.of(fit.jacobian)
        expected = np.sqrt(np.diag(covariance))
        set_limits(ENTRIES_AT_ONCE=entries)
        # What constraints fix has a variance of zero up to the last digits of the others.
        close = {"rtol": 1e-7, "atol": 1e-7 * expected.max()}
        np.testing.assert_allclose(fit.errors(np.arange(len(fit.params))), expected, **close)
        some = np.array([4, 0, 7])
        np.testing.assert_allclose(fit.errors(some), expected[some], **close)
        # Of what parameters are beyond another.
        beyond = np.sqrt(np.diag(covariance)[some] + covariance[2, 2] - 2 * covariance[some, 2])
        np.testing.assert_allclose(fit.errors(some, less=fit.rows(np.array([2]))[0]), beyond, **close)
        set_limits.reset()


def test_errors_that_would_take_hours_are_not_a_number(small_panel, set_limits):
    fit = hja.JAModel.from_comparisons(small_panel).fit().fit
    set_limits(DENSE_SHARED=1, LARGEST_MATRIX=1, MOST_SOLUTIONS=2)
    large = replace(fit)
    with pytest.warns(CovarianceWarning, match="standard errors of 3 parameters of 6 items are left out"):
        assert np.isnan(large.errors(np.arange(3))).all()
    np.testing.assert_allclose(large.errors(np.arange(2)), fit.errors(np.arange(2)), rtol=1e-6)


def test_the_best_item_comes_first_also_if_its_score_has_no_limit(panel_fit, separated_fit):
    for fit in (panel_fit.fit, *fits_of_every_model(panel_fit.model.comparisons)[::2]):
        order, scores = fit.best_first
        np.testing.assert_array_equal(order, np.argsort(-fit.parts.mu))
        np.testing.assert_allclose(scores, fit.parts.mu[order], atol=1e-12)
        assert (np.diff(scores) <= 0).all()
        assert scores.sum() == pytest.approx(0.0, abs=1e-10)
    order, scores = separated_fit.fit.best_first
    assert separated_fit.model.items[order[0]] == "i4"
    assert np.isnan(scores[0])
    assert np.nansum(scores) == pytest.approx(0.0, abs=1e-10)
    assert list(separated_fit.consensus.index) == [separated_fit.model.items[i] for i in order]


def test_another_information_is_another_covariance_of_the_same_estimate(small_panel):
    model = hja.HJAModel.from_comparisons(small_panel, rank=1)
    fit = model.fit().fit
    assert fit.with_information("expected") is fit
    observed = fit.with_information("observed")
    assert (fit.information, observed.information) == ("expected", "observed")
    np.testing.assert_array_equal(observed.params, fit.params)
    numerical = np.linalg.inv(-model.hessian_free(fit.params))
    np.testing.assert_allclose(observed.covariance.covariance, numerical, atol=1e-10)
    assert np.abs(observed.errors(np.arange(5)) / fit.errors(np.arange(5)) - 1).max() > 1e-4
    # A robust covariance is left for that of the model, whichever information it is asked with.
    robust = model.fit(cov_type="HC0").fit
    assert (robust.choice.kind, robust.information) == ("HC0", "observed")
    plain = robust.with_information("observed")
    assert (plain.choice.kind, plain.choice.covariance) == ("nonrobust", None)
    np.testing.assert_allclose(plain.covariance.covariance, numerical, atol=1e-10)


def test_parameters_of_a_kind_are_found_by_label(panel_fit):
    fit, panel = panel_fit.fit, panel_fit.model
    assert fit.labels("mu") == (panel.items, "item")
    assert fit.labels("position") == (panel.judges, "judge")
    np.testing.assert_array_equal(fit.positions("gamma", ["judge-2", "judge-1"]), [1, 0])
    np.testing.assert_array_equal(fit.positions("mu"), np.arange(10))
    with pytest.raises(hja.ContrastError, match="kind must be one of 'mu', 'gamma', 'position', got 'tie'"):
        fit.labels("tie")
    with pytest.raises(hja.ContrastError, match="no judge is called 'judge-99'"):
        fit.positions("gamma", ["judge-99"])


@pytest.mark.parametrize("kind", ["mu", "gamma"])
def test_implied_parameters_have_the_errors_of_their_jacobian(small_panel, kind):
    """The judge-wise model reports scores; consensus and sensitivities are functions of them."""
    fit = hja.JudgewiseBTLModel.from_comparisons(small_panel).fit().fit
    some = np.array([2, 0])
    names, values, rows = fit.vector(kind, some)
    assert names == tuple(fit.labels(kind)[0][i] for i in some)
    estimates, errors = fit.estimates(kind, some)
    np.testing.assert_allclose(values, estimates)
    np.testing.assert_allclose(errors, np.sqrt(np.diag(fit.covariance.of(rows))), rtol=1e-10)

    def implied(free):
        at = fit.layout.from_free(free, fit.tangent)
        return getattr(fit.layout.decompose(at), kind)[some]

    np.testing.assert_allclose(rows, approx_fprime(fit.params_free, implied, centered=True), atol=1e-6)


# Far out, variances are differences of numbers a million times as large.
NEXT_TO_INFINITY = 1e-6


def _with_outcome(panel, item, wins):
    """The panel with all verdicts on one item the same."""
    frame = panel.to_frame()
    outcome = np.where(frame["first"] == item, wins, np.where(frame["second"] == item, not wins, frame["outcome"]))
    return changed(panel, outcome.astype(float))


def test_params_and_errors_are_empty_where_the_tables_are_and_agree_with_them_elsewhere(biased_panel):
    data = always_winning(biased_panel, "item-1")
    for model in every_model(data):
        result = model.fit(warn_convergence=False)
        if "mu[item-1]" in result.params:
            shown = pd.DataFrame({"estimate": result.params, "std_err": result.bse}).filter(like="mu[", axis=0)
            table = result.consensus.loc[list(model.items), ["estimate", "std_err"]]
            np.testing.assert_allclose(shown, table, rtol=1e-9)
        else:
            np.testing.assert_allclose(result.params.to_numpy().reshape(5, -1), result.scores, rtol=1e-9)
            np.testing.assert_allclose(
                result.bse.to_numpy().reshape(5, -1), _centred_errors(result), rtol=NEXT_TO_INFINITY
            )
        gone = result.params.isna()
        assert gone.any()
        for values in (result.bse, result.tvalues, result.pvalues, result.conf_int()[0], result.conf_int()[1]):
            pd.testing.assert_series_equal(values.isna(), gone, check_names=False)
        np.testing.assert_allclose(np.sqrt(np.diag(result.cov_params())), result.bse, rtol=1e-9)
        assert result.bse.max() < 2
        assert np.isfinite(result.predict()).all()
        assert result.consensus["std_err"].max() < 2
        assert np.isfinite(result.fit.params).all()


def _centred_errors(result):
    """Of a judge's finite scores among themselves."""
    table = pd.DataFrame(np.nan, index=result.scores.index, columns=result.scores.columns)
    for judge, row in result.scores.iterrows():
        finite = list(row.index[row.notna()])
        for item in finite:
            mean = " + ".join(f"S[{judge}, {other}]" for other in finite)
            contrast = result.contrast(f"S[{judge}, {item}] - ({mean}) / {len(finite)}")
            table.loc[judge, item] = contrast.std_err[0]
    return table


@pytest.mark.parametrize("cls", [hja.BTLModel, hja.JAModel, hja.JudgewiseBTLModel])
def test_an_unbeaten_item_is_first_and_one_that_lost_everything_last(biased_panel, cls):
    first = cls.from_comparisons(_with_outcome(biased_panel, "item-1", True)).fit(warn_convergence=False)
    assert first.consensus.index[0] == "item-1"
    assert repr(first).splitlines()[1].startswith("item-1 (no finite score) leads, then ")
    rows = [line.split() for line in str(first.summary()).splitlines() if line.startswith("item-")]
    places = {row[0]: row[1] for row in rows[-7:]} if cls is not hja.JudgewiseBTLModel else {}
    if places:
        assert places["item-1"] == "1"
        assert sorted(places.values()) == [str(place) for place in range(1, 8)]
    with pytest.raises(IdentificationError, match="intervals; 'item-1' above all others: use"):
        first.ranking()
    assert "item-1 stays ahead of all others." in first.report()
    last = cls.from_comparisons(_with_outcome(biased_panel, "item-2", False)).fit(warn_convergence=False)
    assert last.consensus.index[-1] == "item-2"
    assert "item-2" not in repr(last)
    with pytest.raises(IdentificationError, match="'item-2' below all others"):
        last.ranking()


def test_one_unbeaten_item_of_three_leaves_the_others_their_scores():
    first, second = np.tile(["a", "a", "b"], 30), np.tile(["b", "c", "c"], 30)
    outcome = np.where(first == "a", 1.0, np.arange(90) % 4 > 0)
    rows = {"judge": np.tile(["x", "y"], 45), "item_a": first, "item_b": second}
    result = hja.BTLModel(outcome, **rows).fit(warn_convergence=False)
    alone = hja.BTLModel(outcome[first == "b"], **{k: v[first == "b"] for k, v in rows.items()}).fit()
    assert result.params.isna().tolist() == [True, False, False]
    np.testing.assert_allclose(result.params[["mu[b]", "mu[c]"]], alone.params, rtol=1e-6)
    np.testing.assert_allclose(result.bse[["mu[b]", "mu[c]"]], alone.bse, rtol=1e-6)


# Eight of nine starts end at a finite optimum, 0.46 below what is reached on the way to infinity.
def _below_a_supremum():
    truth = heterogeneous_panel(5, 6, rank=1, heterogeneity=0.4, rng=158)
    data = simulate_comparisons(0.7 * truth.scores, near_balanced_design(5, 6, 900, rng=159), rng=160)
    return hja.HJAModel.from_comparisons(data, rank=1)


def test_a_finite_optimum_below_a_supremum_is_offered_by_name_and_can_be_had():
    model = _below_a_supremum()
    with pytest.warns(
        SeparationWarning, match=r"8 of 9 starts ended at a finite optimum, 0.46 lower.*optimum='finite'\) takes"
    ):
        separated = model.fit()
    optima = separated.mle_retvals["optima"]
    assert separated.mle_retvals["supremum"] == pytest.approx(separated.llf)
    with pytest.warns(LocalOptimaWarning, match="higher by 0.46 or more on the way to infinity"):
        finite = model.fit(optimum="finite")
    assert finite.converged
    assert finite.llf == pytest.approx(optima[0]["llf"])
    assert finite.mle_retvals["supremum"] - finite.llf == pytest.approx(0.46, abs=0.01)
    assert np.isfinite(finite.bse).all()
    assert len(finite.ranking()) == 6
    assert "higher by 0.46" in str(finite.summary())
    assert np.abs(model.score_free(finite.params)).max() < 1e-4
    again = hja.load_results(finite.to_json())
    assert again.mle_retvals["supremum"] == finite.mle_retvals["supremum"]
    assert "higher by 0.46" in str(again.summary())


def test_where_there_is_no_finite_optimum_the_fit_says_so(separated_fit):
    with pytest.raises(IdentificationError, match="none of the 23 starts ended at a finite optimum"):
        separated_fit.model.fit(optimum="finite", warn_convergence=False)
    with pytest.raises(ValueError, match="optimum"):
        separated_fit.model.fit(optimum="largest")


def test_a_converged_fit_is_its_own_finite_optimum(small_panel):
    model = hja.JAModel.from_comparisons(small_panel)
    assert model.fit(optimum="finite").llf == model.fit().llf
    assert model.fit().mle_retvals["supremum"] is None


def test_of_items_without_a_finite_score_only_those_that_beat_the_others_are_ahead():
    """Three items beat a fourth and never meet: it is last, and nothing tells the three apart."""
    data = hja.Comparisons.from_arrays("j", list("abc"), list("ddd"), [1, 1, 1])
    fit = hja.BTLModel.from_comparisons(data).fit(warn_convergence=False).fit
    assert fit.standing.tolist() == [0, 0, 0, -1]
    assert fit.ahead == []
    chain = hja.Comparisons.from_arrays("j", list("ab"), list("bc"), [1, 1])
    fit = hja.BTLModel.from_comparisons(chain).fit(warn_convergence=False).fit
    assert fit.standing.tolist() == [1, 0, -1]
