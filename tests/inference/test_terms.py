"""Tests by term of the formula: together, and each left out."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats

import hjastats as hja
from hjastats.errors import ComparisonError, ContrastError, OptionError

ROLES = {"judge": "judge", "item_a": "first", "item_b": "second"}
FORMULA = "outcome ~ bs(length, df=4) + C(topic)"


@pytest.fixture(scope="module")
def frame(tied_panel):
    rng = np.random.default_rng(3)
    frame = tied_panel.to_frame().drop(columns=["weight", "prompt"])
    frame["length"] = frame["length"] + rng.random(len(frame))
    return frame[frame["outcome"] != 0.5].assign(topic=lambda f: rng.choice(["code", "math", "text"], len(f)))


@pytest.fixture(scope="module")
def result(frame):
    return hja.BTLModel.from_formula(FORMULA, frame, **ROLES).fit()


def _glm(frame, formula):
    """The same as a generalised linear model, an item left out."""
    import patsy

    items = sorted(set(frame["first"]))[1:]
    x = np.asarray(patsy.dmatrix(formula, frame))
    scores = [(frame["first"] == item) * 1.0 - (frame["second"] == item) for item in items]
    return sm.GLM(frame["outcome"], np.column_stack([x, *scores]), family=sm.families.Binomial()).fit(tol=1e-13)


def test_a_term_has_one_row_whatever_its_columns(result, frame):
    table = result.wald_test_terms().table
    assert table.index.tolist() == ["C(topic)", "bs(length, df=4)", "position", "mu"]
    assert table["df_constraint"].tolist() == [2, 4, 1, 5]
    glm = _glm(frame, "C(topic) + bs(length, df=4)")
    for name, columns in {"C(topic)": range(1, 3), "bs(length, df=4)": range(3, 7)}.items():
        there = glm.wald_test(np.eye(len(glm.params))[list(columns)], scalar=True)
        assert table.loc[name, "statistic"] == pytest.approx(there.statistic, rel=1e-6)
    assert result.wald_test_terms(skip_single=True).table.index.tolist() == ["C(topic)", "bs(length, df=4)", "mu"]


def test_terms_left_out_one_by_one_are_tested_as_in_a_glm(result, frame):
    table = result.drop_terms()
    full = _glm(frame, "C(topic) + bs(length, df=4)")
    smaller = {"C(topic)": "bs(length, df=4)", "bs(length, df=4)": "C(topic)"}
    assert set(table.index) == {*smaller, "position"}
    for name, formula in smaller.items():
        small = _glm(frame, formula)
        assert table.loc[name, "lr"] == pytest.approx(2 * (full.llf - small.llf), abs=1e-6)
        assert table.loc[name, "llf"] == pytest.approx(small.llf, abs=1e-6)
        assert table.loc[name, "p_value"] == pytest.approx(
            stats.chi2.sf(table.loc[name, "lr"], table.loc[name, "lr_df"])
        )
    without = result.model.with_position(None).fit()
    assert table.loc["position", "lr"] == pytest.approx(result.compare_lr_test(without).statistic)
    assert table.loc["position", ["df", "aic"]].tolist() == pytest.approx([without.df_model, without.aic])


def test_terms_of_judges_are_tested_and_left_out_together(frame):
    result = hja.JAModel.from_formula("outcome ~ 0 + C(topic)", frame, judge_exog="0 + bs(length, df=3)", **ROLES).fit()
    table = result.wald_test_terms().table
    assert table.index.tolist() == ["C(topic)", "bs(length, df=3)", "gamma", "mu"]
    assert table.loc["bs(length, df=3)", "df_constraint"] == 3 * 4
    dropped = result.drop_terms()
    assert dropped["lr_df"].tolist() == [3, 12]
    matrix = np.eye(len(result.params))[[i for i, name in enumerate(result.params.index) if name.startswith("bs(")]]
    assert table.loc["bs(length, df=3)", "statistic"] == pytest.approx(float(result.wald_test(matrix).statistic))


def test_covariates_share_one_table_of_the_summary(result):
    tables = result.summary().tables
    titles = [str(table.title) for table in tables]
    assert titles.count("covariates") == 1
    names = result.model.exog_names
    table = tables[titles.index("covariates")]
    assert [row[0].data.strip() for row in list(table)[1:]] == names
    shown = np.array([[float(cell.data) for cell in row[1:3]] for row in list(table)[1:]])
    np.testing.assert_allclose(shown, pd.concat([result.params, result.bse], axis=1).loc[names], atol=6e-5)
    assert result.fit.layout.description == "BTL + common position + C(topic) + bs(length, df=4)"


def test_what_cannot_be_left_out_is_said(result, frame, tied_panel):
    with pytest.raises(ContrastError, match="no term to leave out"):
        hja.BTLModel.from_comparisons(tied_panel, ties="davidson").fit().drop_terms()
    with pytest.raises(OptionError, match=r"no term to leave out is called 'topic'; there are 'C\(topic\)'"):
        result.model.without_term("topic")
    ties = hja.BTLModel.from_comparisons(tied_panel, ties="davidson", position="judge")
    assert ties.fit().drop_terms().index.tolist() == ["position"]
    with pytest.raises(OptionError, match="called 'tie'; there are 'position'"):
        ties.without_term("tie")
    with pytest.raises(ComparisonError):
        hja.BTLModel.from_formula(FORMULA, frame, **ROLES).fit_regularized(alpha=1.0).drop_terms()
