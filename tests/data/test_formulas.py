import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.data.formulas import CovariateFormula, Names

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
    assert hja.check_formula(text) == text
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
        "x" * 30_000,
        None,
    ],
)
def test_everything_else_of_python_is_refused(text):
    with pytest.raises(hja.OptionError):
        hja.check_formula(text)
