import numpy as np
import pandas as pd
import pytest
from scipy import stats

import hjastats as hja
from hjastats.errors import ComparisonError
from hjastats.inference.nesting import is_nested, is_regular
from hjastats.solve.precision import invert


@pytest.fixture(scope="module")
def fits(panel):
    models = {
        "btl": hja.BTLModel.from_comparisons(panel),
        "ja": hja.JAModel.from_comparisons(panel),
        "hja": hja.HJAModel.from_comparisons(panel, rank=1),
        "hja_position": hja.HJAModel.from_comparisons(panel, rank=1, position="judge"),
        "btl_position": hja.BTLModel.from_comparisons(panel, position="judge"),
        "judgewise": hja.JudgewiseBTLModel.from_comparisons(panel),
    }
    return {name: model.fit() for name, model in models.items()}


def test_the_table_tests_each_model_against_the_closest_one_nested_in_it(fits):
    table = hja.compare(*fits.values())
    assert list(table.index) == ["BTL", "JA", "BTL + position", "HJA(1)", "HJA(1) + position", "judge-wise BTL"]
    row = table.loc["JA"]
    assert row["lr"] == pytest.approx(2 * (fits["ja"].llf - fits["btl"].llf))
    assert row["p_value"] == pytest.approx(stats.chi2.sf(row["lr"], 7))
    assert table.loc["BTL + position", "against"] == "BTL"
    assert table.loc["HJA(1) + position", "against"] == "HJA(1)"
    assert table.loc["judge-wise BTL", "against"] == "HJA(1)"
    assert table.loc["judge-wise BTL", "lr_df"] == 7 * 9 - 21


def test_adjacent_ranks_get_no_chi_squared_p_value(fits):
    table = hja.compare(fits["ja"], fits["hja"])
    assert np.isnan(table.loc["HJA(1)", "p_value"])
    assert table.loc["HJA(1)", "note"] == "not chi-squared"


def test_nesting_and_regularity(fits):
    candidates = {name: fit._candidate for name, fit in fits.items()}
    nested = [("btl", "ja"), ("ja", "judgewise"), ("btl_position", "hja_position")]
    assert all(is_nested(candidates[small], candidates[large]) for small, large in nested)
    others = [("btl_position", "judgewise"), ("hja", "ja")]
    assert not any(is_nested(candidates[small], candidates[large]) for small, large in others)
    assert is_regular(candidates["btl"], candidates["ja"])
    assert is_regular(candidates["hja"], candidates["judgewise"])
    assert not is_regular(candidates["ja"], candidates["hja"])
    assert candidates["hja_position"].name == "HJA(1) + position"


def test_fits_to_different_data_are_not_compared(panel, fits):
    other = hja.JAModel.from_comparisons(panel.subset(np.arange(3000))).fit()
    with pytest.raises(ComparisonError, match="different verdicts"):
        hja.compare(fits["btl"], other)
    fewer = hja.JAModel.from_comparisons(panel.without_judges("judge-noise")).fit()
    with pytest.raises(ComparisonError, match="different judges"):
        hja.compare(fits["btl"], fewer)
    with pytest.raises(ComparisonError, match="at least two"):
        hja.compare(fits["btl"])


def test_the_same_data_in_another_form_are_the_same_data(panel, fits):
    merged = panel.to_frame().groupby(["judge", "first", "second", "outcome"], as_index=False)["weight"].sum()
    rows = {
        "judge": merged["judge"],
        "item_a": merged["first"],
        "item_b": merged["second"],
        "weights": merged["weight"],
    }
    assert len(hja.compare(fits["btl"], hja.JAModel(merged["outcome"], **rows).fit())) == 2


def test_singular_information_has_no_covariance():
    singular = invert(np.array([[1.0, 1.0], [1.0, 1.0]]))
    assert not singular.is_identified
    assert np.isnan(singular.covariance).all()
    nearly = invert(np.array([[1.0, 1 - 1e-15], [1 - 1e-15, 1.0]]))
    assert not nearly.is_identified


def test_badly_scaled_but_regular_information_is_inverted():
    information = np.diag([1e12, 1e-6])
    information[0, 1] = information[1, 0] = 300.0
    result = invert(information)
    assert result.is_identified
    determinant = 1e12 * 1e-6 - 300.0**2
    exact = np.array([[1e-6, -300.0], [-300.0, 1e12]]) / determinant
    np.testing.assert_allclose(result.covariance, exact, rtol=1e-12)


def test_a_common_position_is_nested_in_terms_that_add_up_to_it(panel):
    """One dummy for each item that is shown first: their sum is the position."""
    table = panel.to_frame()
    home = pd.get_dummies(table["first"], dtype=float).add_prefix("home ")
    common = hja.BTLModel.from_comparisons(panel, position="common").fit()
    each = hja.BTLModel.from_comparisons(panel, home).fit()
    row = hja.compare(common, each).iloc[1]
    assert (row["against"], row["lr_df"], row["note"]) == ("BTL + common position", 9, "")
    assert row["p_value"] == pytest.approx(stats.chi2.sf(row["lr"], 9))
    # Without one of them they do not, unless every judge has a position of its own.
    fewer = hja.BTLModel.from_comparisons(panel, home.iloc[:, 1:]).fit()
    assert not is_nested(common._candidate, fewer._candidate)
    own = hja.BTLModel.from_comparisons(panel, judge_exog=home.iloc[:, :2].assign(one=1.0)).fit()
    assert is_nested(common._candidate, own._candidate)
    assert not is_nested(hja.BTLModel.from_comparisons(panel, position="judge").fit()._candidate, each._candidate)
    assert is_nested(hja.BTLModel.from_comparisons(panel, position="judge").fit()._candidate, own._candidate)
