import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.tools.numdiff import approx_fprime

import hjastats as hja
from hjastats.errors import ContrastError, OptionError
from hjastats.inference.ranks import letter_groups, quasi_variances, ranking_table
from hjastats.inference.simultaneous import exceedance, largest_differences, pairwise_differences


def test_the_largest_difference_has_the_studentised_range_distribution():
    """Independent equal variances: max |z_i - z_j| / sqrt(2) is the studentised range over sqrt(2)."""
    draws = largest_differences(np.eye(6))
    for level in (0.5, 0.9, 0.95, 0.99):
        # The standard error of a simulated quantile at 100,000 draws is below 0.01 for these levels.
        assert np.quantile(draws, level) == pytest.approx(
            stats.studentized_range.ppf(level, 6, np.inf) / np.sqrt(2), abs=0.03
        )


def test_adjusted_p_values_are_never_zero_and_ordered():
    draws = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(exceedance(draws, np.array([0.5, 2.0, 9.0])), [1.0, 0.75, 0.25])


def test_differences_without_variance_have_no_statistic():
    pairs = pairwise_differences(np.array([1.0, 1.0, 0.0]), np.zeros((3, 3)))
    assert (pairs.z == 0).all()


def test_places_follow_from_the_significant_differences():
    estimate, covariance = np.array([0.0, 5.0, 4.9, -5.0]), 0.01 * np.eye(4)
    table = ranking_table(tuple("abcd"), estimate, covariance)
    assert list(table.index) == ["b", "c", "a", "d"]
    assert list(table["place"]) == [1, 2, 3, 4]
    assert table[["place_lower", "place_upper"]].to_numpy().tolist() == [[1, 2], [1, 2], [3, 3], [4, 4]]
    assert list(table["group"]) == ["a", "a", "b", "c"]


def test_simultaneous_intervals_are_wider_than_single_ones(panel_fit):
    joint, single = panel_fit.ranking(), panel_fit.ranking(simultaneous=False)
    width = lambda table: (table["place_upper"] - table["place_lower"]).sum()  # noqa: E731
    assert width(joint) >= width(single)
    assert ((joint["place_lower"] <= joint["place"]) & (joint["place"] <= joint["place_upper"])).all()
    assert width(panel_fit.ranking(level=0.99)) >= width(joint)


def test_a_judges_own_ranking_uses_its_scores(panel_fit):
    table = panel_fit.ranking(judge="judge-5")
    np.testing.assert_allclose(table["score"], panel_fit.scores.loc["judge-5", table.index])
    np.testing.assert_allclose(table["std_err"], panel_fit.judges.score_errors().loc["judge-5", table.index], rtol=1e-9)
    with pytest.raises(ContrastError, match="Did you mean"):
        panel_fit.ranking(judge="jugde-5")
    with pytest.raises(OptionError, match="level must lie"):
        panel_fit.ranking(level=95)


def test_pairwise_methods(panel, panel_fit):
    plain, holm = panel_fit.pairwise("mu", "none"), panel_fit.pairwise("mu", "holm")
    single = panel_fit.pairwise("mu", "single-step")
    assert len(plain) == 45
    assert (holm["p_adjusted"] >= plain["p_value"]).all()
    # Single-step is never more conservative than Bonferroni, up to its simulation error.
    assert (single["p_adjusted"] <= np.minimum(45 * plain["p_value"], 1) + 0.005).all()
    assert ((single["ci_upper"] - single["ci_lower"]) > (plain["ci_upper"] - plain["ci_lower"])).all()
    direct = panel_fit.contrast("mu[model-A] - mu[model-B]").summary_frame().iloc[0]
    np.testing.assert_allclose(plain.loc[("model-A", "model-B"), direct.index].astype(float), direct, rtol=1e-8)
    assert len(panel_fit.pairwise("gamma")) == len(panel_fit.pairwise("position")) == 28
    for bad in ({"kind": "tau"}, {"method": "magic"}):
        with pytest.raises(ContrastError):
            panel_fit.pairwise(**bad)
    btl = hja.BTLModel.from_comparisons(panel).fit()
    with pytest.raises(ContrastError, match="fixed by the model"):
        btl.pairwise("gamma")


def test_letters_are_shared_exactly_by_items_that_do_not_differ():
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 9):
        for _ in range(20):
            differs = np.triu(rng.random((n, n)) < 0.4, 1)
            differs = differs | differs.T
            letters = letter_groups(differs)
            for i in range(n):
                assert letters[i]
                for j in range(n):
                    if i != j:
                        assert (not set(letters[i]) & set(letters[j])) == differs[i, j]


def test_quasi_variances_are_the_least_squares_fit_to_the_log_variances_of_differences(panel):
    result = hja.BTLModel.from_comparisons(panel).fit()
    covariance = result.cov_params().filter(like="mu[", axis=0).filter(like="mu[", axis=1).to_numpy()
    q = quasi_variances(covariance)
    errors = pairwise_differences(np.zeros(10), covariance).std_err
    low, high = np.triu_indices(10, 1)

    def misfit(log_q):
        return np.sum(np.log((np.exp(log_q[low]) + np.exp(log_q[high])) / errors[low, high] ** 2) ** 2)

    best = misfit(np.log(q))
    slope = approx_fprime(np.log(q), misfit, centered=True)
    assert np.abs(slope).max() < 1e-6
    rng = np.random.default_rng(0)
    assert all(misfit(np.log(q) + size * rng.normal(size=10)) > best for size in (0.01, 0.3, 2.0) for _ in range(20))
    np.testing.assert_allclose(result.ranking().loc[list(result.model.items), "quasi_se"], np.sqrt(q), rtol=1e-8)


def test_quasi_variances_of_independent_estimates_are_their_variances():
    np.testing.assert_allclose(quasi_variances(np.diag([1.0, 4.0, 0.25, 2.0])), [1.0, 4.0, 0.25, 2.0], rtol=1e-6)
    np.testing.assert_allclose(quasi_variances(np.diag([1.0, 3.0])), [2.0, 2.0])


def test_formula_contrasts_are_least_squares_of_the_estimates(panel_fit):
    metadata = pd.DataFrame({"family": list("xyxyzzxy"), "size": np.arange(8.0)}, index=list(panel_fit.model.judges))
    table = panel_fit.contrast_formula("gamma ~ C(family) + size", metadata)
    design = np.column_stack(
        [np.ones(8), metadata["family"] == "y", metadata["family"] == "z", metadata["size"]]
    ).astype(float)
    gamma = panel_fit.sensitivity["estimate"].to_numpy()
    np.testing.assert_allclose(table.estimate, np.linalg.lstsq(design, gamma, rcond=None)[0])
    projection = np.linalg.pinv(design)
    covariance = panel_fit.cov_params().filter(like="gamma[", axis=0).filter(like="gamma[", axis=1).to_numpy()
    np.testing.assert_allclose(table.cov, projection @ covariance @ projection.T, atol=1e-12)
    assert list(table.terms["df"]) == [2, 1]
    assert table.terms.loc["size", "chi2"] == pytest.approx(table.z[3] ** 2)
    assert "Fixed-panel inference" in repr(table)


def test_formula_contrasts_of_items_positions_and_pairs(panel_fit):
    items = pd.DataFrame({"item": panel_fit.model.items, "size": np.arange(10.0)})
    assert panel_fit.contrast_formula("mu ~ size", items).names == ["Intercept", "size"]
    judges = pd.DataFrame({"big": [0, 0, 0, 1, 1, 1, 0, 1]}, index=pd.Index(panel_fit.model.judges, name="judge"))
    assert panel_fit.contrast_formula("position ~ 0 + big", judges).names == ["big"]
    pairs = pd.MultiIndex.from_product(
        [panel_fit.model.judges, panel_fit.model.items], names=["judge", "item"]
    ).to_frame(index=False)
    pairs["same"] = (pairs["judge"] == "judge-5") & (pairs["item"] == "model-A")
    fitted = panel_fit.contrast_formula("disagreement ~ 0 + C(same)", pairs)
    direct = panel_fit.contrast("R[judge-5, model-A]")
    assert fitted.estimate[1] == pytest.approx(direct.estimate[0])
    assert fitted.std_err[1] == pytest.approx(direct.std_err[0])


def test_bad_metadata_is_refused_in_words(panel, panel_fit):
    good = pd.DataFrame({"family": list("xyxyzzxy")}, index=list(panel_fit.model.judges))
    for formula, metadata, message in [
        ("gamma family", good, "expected a formula"),
        ("tau ~ family", good, "expected a formula"),
        ("gamma ~ family", good.iloc[:-1], "no row for 'judge-noise'"),
        ("gamma ~ famly", good, "cannot build the design"),
        ("gamma ~ family", good.assign(family=None), "cannot build the design"),
        ("gamma ~ family + other", good.assign(other=good["family"]), "linearly dependent"),
        ("gamma ~ family", {"family": 1}, "must be a pandas.DataFrame"),
        ("gamma ~ family", pd.concat([good, good]), "several rows"),
        ("disagreement ~ family", good, "needs judge and item"),
    ]:
        with pytest.raises(ContrastError, match=message):
            panel_fit.contrast_formula(formula, metadata)
    plain = hja.JAModel.from_comparisons(panel).fit()
    with pytest.raises(ContrastError, match="no position effect"):
        plain.contrast_formula("position ~ family", good)


def inserted_and_absorbed(differs):
    """Piepho's algorithm as it is written: one difference after the other."""
    groups = [frozenset(range(len(differs)))]
    for i, j in zip(*np.nonzero(np.triu(differs, 1)), strict=True):
        parts = [g for g in groups if not (i in g and j in g)]
        parts += [g - {k} for g in groups if i in g and j in g for k in (i, j)]
        groups = [g for g in set(parts) if g and not any(g < other for other in parts)]
    return groups


@pytest.mark.parametrize("seed", range(40))
def test_letters_are_those_of_inserting_one_difference_after_the_other(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 14))
    score, error = np.sort(rng.normal(size=n)), rng.uniform(0.1, 1.0, n)
    differs = np.abs(score[:, None] - score) > rng.uniform(0.3, 2.0) * np.hypot(error[:, None], error)
    if seed % 2:
        differs = np.triu(rng.random((n, n)) < rng.uniform(0.0, 0.9), 1)
        differs |= differs.T
    letters = letter_groups(differs)
    members = {frozenset(i for i in range(n) if letter in letters[i]) for letter in set("".join(letters))}
    assert members == set(inserted_and_absorbed(differs))


def test_the_draws_do_not_depend_on_how_many_are_held_at_once(set_limits):
    covariance = np.diag(np.linspace(0.5, 2.0, 7)) + 0.2
    at_once = [largest_differences(covariance, per_item=per_item, n_draws=3000) for per_item in (False, True)]
    set_limits(DRAWS_AT_ONCE=500)
    for draws, per_item in zip(at_once, (False, True), strict=True):
        np.testing.assert_allclose(largest_differences(covariance, per_item=per_item, n_draws=3000), draws, rtol=1e-12)
    np.testing.assert_allclose(at_once[1].max(axis=1), at_once[0], rtol=1e-12)


def test_hundreds_of_items_have_places_and_pairs():
    # Nothing may grow with the square of the number of pairs: that would be 16 GB here.
    rng = np.random.default_rng(5)
    score = rng.normal(size=300)
    first = rng.integers(300, size=60_000)
    second = (first + rng.integers(1, 300, size=60_000)) % 300
    wins = rng.random(60_000) < 1.0 / (1.0 + np.exp(score[second] - score[first]))
    names = np.array([f"item-{i:03d}" for i in range(300)])
    data = hja.Comparisons.from_arrays("j", names[first], names[second], wins.astype(float))
    result = hja.BTLModel.from_comparisons(data).fit()
    pairs = result.pairwise()
    assert len(pairs) == 300 * 299 // 2
    table = result.ranking()
    best, worst = table.index[[0, -1]]
    low, high = sorted([best, worst])
    assert pairs.loc[(low, high), "p_adjusted"] < 0.01
    assert not set(table.loc[best, "group"]) & set(table.loc[worst, "group"]) - set("()0123456789")
    true_place = (-score).argsort().argsort() + 1
    places = table.loc[list(names), ["place_lower", "place_upper"]].to_numpy()
    assert ((places[:, 0] <= true_place) & (true_place <= places[:, 1])).all()


def test_a_formula_may_have_a_function_on_the_left_and_functions_of_the_caller(panel_fit):
    def halved(x):
        return x / 2

    judges = list(panel_fit.model.judges)
    sizes = pd.DataFrame({"size": np.arange(1.0, 9.0)}, index=judges)
    own = panel_fit.contrast_formula("gamma ~ halved(size) + np.log(size)", sizes)
    plain = panel_fit.contrast_formula("gamma ~ I(size / 2) + np.log(size)", sizes)
    np.testing.assert_allclose(own.estimate, plain.estimate)
    assert own.names == ["Intercept", "halved(size)", "np.log(size)"]
    logged = panel_fit.contrast_formula("log(gamma) ~ size", sizes)
    weights = np.linalg.pinv(np.column_stack([np.ones(8), sizes["size"]]))
    direct = panel_fit.contrast(lambda view: weights @ np.log(view.gamma.to_numpy()))
    np.testing.assert_allclose(logged.estimate, direct.estimate, rtol=1e-10)
    np.testing.assert_allclose(logged.cov, direct.cov, rtol=1e-5)
    sized = panel_fit.contrast_formula("h ~ size", sizes)
    np.testing.assert_allclose(sized.std_err, panel_fit.contrast(lambda view: weights @ view.h).std_err, rtol=1e-5)
    with pytest.raises(ContrastError, match=r"log is not defined at the estimate of 'position\[judge-3\]'"):
        panel_fit.contrast_formula("log(position) ~ size", sizes)


def test_every_direction_of_disagreement_is_regressed_and_tested_together(panel):
    result = hja.HJAModel.from_comparisons(panel, rank=2).fit()
    judges = pd.DataFrame({"family": list("xyxyzzxy")}, index=list(result.model.judges))
    both = result.contrast_formula("U ~ family", judges)
    assert both.names == [f"{name}[{d}]" for d in (1, 2) for name in ("Intercept", "family[T.y]", "family[T.z]")]
    assert both.terms.loc["family", "df"] == 4
    dummies = np.column_stack([np.ones(8), judges["family"] == "y", judges["family"] == "z"]).astype(float)
    weights = np.linalg.pinv(dummies)[1:]
    direct = result.contrast(lambda view: np.concatenate([weights @ view.U[1], weights @ view.U[2]]))
    np.testing.assert_allclose(both.estimate[[1, 2, 4, 5]], direct.estimate, rtol=1e-10)
    assert both.terms.loc["family", "chi2"] == pytest.approx(direct.wald_test().statistic, rel=1e-5)
    items = pd.DataFrame({"size": np.arange(10.0)}, index=list(result.model.items))
    assert result.contrast_formula("V ~ size", items).names[1] == "size[1]"
    with pytest.raises(ContrastError, match="rank 1 or more"):
        hja.JAModel.from_comparisons(panel).fit().contrast_formula("U ~ family", judges)


@pytest.mark.parametrize("target", ["gamma", "position", "log(gamma)", "U"])
def test_groups_without_an_intercept_are_tested_to_be_equal(panel_fit, target):
    judges = pd.DataFrame({"family": list("xyxyzzxy"), "size": np.arange(8.0)}, index=list(panel_fit.model.judges))
    with_one = panel_fit.contrast_formula(f"{target} ~ family", judges)
    without = panel_fit.contrast_formula(f"{target} ~ 0 + family", judges)
    pd.testing.assert_frame_equal(without.terms, with_one.terms, check_exact=False, rtol=1e-8)
    assert "that the groups are equal" in repr(without)
    assert "that the groups are equal" not in repr(with_one)
    both = panel_fit.contrast_formula(f"{target} ~ 0 + family + size", judges)
    other = panel_fit.contrast_formula(f"{target} ~ family + size", judges)
    pd.testing.assert_frame_equal(both.terms, other.terms, check_exact=False, rtol=1e-8)
    slope = panel_fit.contrast_formula(f"{target} ~ 0 + size", judges)
    assert slope.terms.loc["size", "chi2"] == pytest.approx(slope.z[0] ** 2)


def test_judges_without_metadata_are_left_out_if_that_is_asked_for_and_named(panel_fit):
    judges = pd.DataFrame({"family": list("xyxyzzxy"), "size": np.arange(8.0)}, index=list(panel_fit.model.judges))
    gaps = judges.assign(size=judges["size"].where(judges.index != "judge-2")).drop("judge-5")
    for metadata in (gaps, judges.iloc[:6]):
        with pytest.raises(ContrastError, match="missing='drop'"):
            panel_fit.contrast_formula("gamma ~ size", metadata)
    with pytest.raises(ContrastError, match="missing='drop'"):
        panel_fit.contrast_formula("gamma ~ size", judges.assign(size=gaps["size"]))
    found = panel_fit.contrast_formula("gamma ~ size", gaps, missing="drop")
    assert "Left out, without metadata: 'judge-5', 'judge-2'." in repr(found)
    kept = judges.drop(["judge-2", "judge-5"])
    weights = np.linalg.pinv(np.column_stack([np.ones(6), kept["size"]]))
    direct = panel_fit.contrast(lambda view: weights @ view.gamma[list(kept.index)])
    np.testing.assert_allclose(found.estimate, direct.estimate, rtol=1e-10)
    np.testing.assert_allclose(found.cov, direct.cov, rtol=1e-5)
    # A column the formula does not use may have gaps.
    assert "Left out" not in repr(
        panel_fit.contrast_formula("gamma ~ family", judges.assign(size=np.nan), missing="drop")
    )
    with pytest.raises(ContrastError, match="no row for"):
        panel_fit.contrast_formula("gamma ~ size", judges.rename(lambda name: name + "?"), missing="drop")
    with pytest.raises(OptionError, match="missing must be"):
        panel_fit.contrast_formula("gamma ~ size", judges, missing="none")
