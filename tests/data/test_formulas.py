import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.data.formulas import CovariateFormula, Names, check_formula

FRAME = pd.DataFrame({"x": [1.0, 2.0, 4.0], "é_1": [0.5, 1.5, 2.5], "topic": ["a", "b", "a"]})


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "0 + x * C(topic)",
        "np.log(x) + é_1:x - 1",
        "C(topic, Treatment('b'))",
        "bs(x, df=4)",
        "center(x) ** 2",
        "1e-3 * x",
    ],
)
def test_formulas_of_names_arithmetic_and_listed_functions_pass_and_can_be_built(text):
    assert check_formula(text) == text
    if "df" not in text and not text.startswith("1e"):
        assert len(CovariateFormula.of(text, FRAME, Names({"np": np})).columns(FRAME)) == 3


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "x.__class__",
        "x.to_csv('f')",
        "C(x).real",
        "(lambda: 1)()",
        "lambda: 1",
        "[y for y in x]",
        "x[0]",
        "{x}",
        "`x`",
        "I(open('f'))",
        "Q('x')",
        "np.load('f')",
        "np.log.__call__(x)",
        "log (x) (x)",
        "(x)(x)",
        "'a'(x)",
        "eval\t('1')",
        "x; y",
        "x @ x",
        "x := 1",
        "f'{x}'",
        "x + rf'{x}'",
        "C(f'{x}')",
        "bs(x, df==4)",
        "'\\x41'",
        "x if y else z",
        "1(x)",
        "x # (",
        "(x + y) ** 99",
        "x ** 4 ** 4",
        "x" * 30_000,
        None,
    ],
)
def test_everything_else_of_python_is_refused(text):
    with pytest.raises(hja.OptionError):
        check_formula(text)


def test_formulas_that_are_not_trusted_run_nothing_and_see_no_names_of_the_caller(tmp_path):
    data = hja.datasets.load_panel().to_frame()
    data["x"] = np.arange(len(data)) / len(data)
    labels = {"judge": "judge", "item_a": "first", "item_b": "second", "trusted": False}
    target, secret = tmp_path / "made", data["x"] ** 2
    evil = f"x + open({str(target)!r}, 'w')"
    for formula, options in ((f"outcome ~ {evil}", {}), ("outcome ~ x", {"judge_exog": evil})):
        with pytest.raises(hja.OptionError, match="may not call 'open'"):
            hja.JAModel.from_formula(formula, data, **labels, **options)
    model = hja.JAModel.from_formula("outcome ~ np.log(x + 1) + sqrt(x)", data, **labels)
    with pytest.raises(hja.OptionError, match="may not call 'open'"):
        model.update(f"~ . + {evil}", trusted=False)
    result = model.fit()
    with pytest.raises(hja.OptionError, match="may not call 'open'"):
        result.contrast_formula(f"gamma ~ {evil}", pd.DataFrame({"x": 1.0}, model.judges), trusted=False)
    assert not target.exists()
    with pytest.raises(hja.ComparisonError, match="secret"):
        hja.JAModel.from_formula("outcome ~ x + secret", data, **labels)
    labels["trusted"] = True
    assert "secret" in hja.JAModel.from_formula("outcome ~ x + secret", data.assign(n=len(secret)), **labels).exog_names
    assert model.update("~ . + x", trusted=False).exog_names[-1] == "x"
