"""Values for arguments: those that a careful user passes, by the name of the argument, and nasty ones for any."""

import datetime
import decimal
import fractions
import pathlib
from functools import cache

import numpy as np
import pandas as pd

import hjastats as hja

ITEMS = ["a", "b [x]", "c,d", "é"]
JUDGES = ["j1", "j 2", "007"]


@cache
def panel():
    """Verdicts of three judges on four items, with columns of every kind."""
    rng = np.random.default_rng(5)
    rows = []
    for i in range(240):
        first, second = rng.choice(4, 2, replace=False)
        wins = rng.random() < 1 / (1 + np.exp(0.8 * (first - second) - 0.2))
        rows.append(
            [JUDGES[i % 3], ITEMS[first], ITEMS[second], "tie" if i % 9 == 0 else "first" if wins else "second"]
        )
    frame = pd.DataFrame(rows, columns=["judge", "first", "second", "winner"])
    frame["question_id"] = np.arange(240) // 4
    frame["x"] = rng.normal(size=240).round(3)
    frame["topic"] = ["code", "math", "text", "text"] * 60
    return hja.read_comparisons(frame, first="first", second="second", outcome="winner")


@cache
def frame():
    """The panel as a frame with an outcome of numbers."""
    return panel().to_frame()


def _endless():
    loop = []
    loop.append(loop)
    return loop


JSON = [
    None,
    True,
    False,
    -1,
    0,
    1,
    2,
    1.5,
    1e308,
    10**400,
    "",
    "a\0b",
    "\ud800",
    "judge",
    "a",
    "x" * 3000,
    [],
    {},
    [None],
    [[]],
    [1, 2],
    ["a"],
]
JSON += [{"a": 1}, float("nan"), float("inf"), "0.1", -0.0, 5e-324, [1e308] * 4, ["a", "a"], [["a"]]]
NASTY = [
    None,
    True,
    False,
    -1,
    0,
    1,
    1.5,
    1e308,
    float("nan"),
    float("inf"),
    -float("inf"),
    10**400,
    1j,
    np.float32(0.3),
    np.int8(3),
]
NASTY += [
    "",
    " ",
    "a\0b",
    "mu[",
    "\ud800",
    "*",
    "x" * 5000,
    "a, b",
    "1",
    "nan",
    b"x",
    "mu[a] -",
    "C(topic)",
    "~",
    "=",
    "(" * 200,
    "'",
]
NASTY += [
    [],
    {},
    (),
    set(),
    [None],
    [[]],
    [1, 2],
    ["a", "a"],
    {"a": None},
    {1: 2},
    {"a": {}},
    [[1.0], [2.0, 3.0]],
    range(3),
    [float("nan")],
]
NASTY += [
    object(),
    Ellipsis,
    NotImplemented,
    lambda view: view,
    iter([1]),
    (i for i in "ab"),
    slice(None),
]
NASTY += [
    np.array([]),
    np.array(5.0),
    np.zeros((2, 2, 2)),
    np.array(["a"]),
    np.array([None]),
    np.nan * np.ones(240),
    np.ones(240),
]
NASTY += [
    pd.Series(dtype=float),
    pd.Series([1.0], ["a"]),
    pd.DataFrame(),
    pd.DataFrame({"x": [1.0]}),
    pd.NA,
    pd.NaT,
    pd.Index(["a"]),
]
NASTY += [
    datetime.date(2026, 1, 1),
    decimal.Decimal("0.05"),
    fractions.Fraction(1, 3),
    pathlib.Path("/nowhere/x"),
    _endless(),
]

SPECS = [
    "mu[a]",
    "mu[a] - mu[é]",
    "gamma[j1] = 1",
    "gamma[j1] / gamma[007]",
    "p[j1, a, é]",
    "p[a, é]",
    "prob[tie, j1, a, é]",
    "mean(mu[*])",
]
SPECS += [
    "position",
    "position[j1]",
    "S[j1, a] - S[007, a]",
    "sd(gamma[*])",
    "log(gamma[j1])",
    "mu[c,d]",
    "mu[b [x]]",
    "max(mu[a, é])",
    "x",
]
SPECS += [
    ["mu[a]", "gamma[j1]"],
    {"one": "mu[a]"},
    {"mu[a]": 1, "mu[é]": -1},
    "mu[a] = mu[é] = 0",
    "mu[a] - mu[é] = 0, mu[a] = 0",
]
FORMULAS = [
    "outcome ~ 1",
    "outcome ~ x",
    "outcome ~ C(topic)",
    "x",
    "0 + x",
    "gamma ~ size",
    "mu ~ size",
    "h ~ size",
    "outcome ~ x + nothing",
]
LABELS = [ITEMS[0], ITEMS[1], JUDGES[0], JUDGES[2], ITEMS[:2], JUDGES[:2], "*", "j1 "]
LEVELS = [0.05, 0.1, 0.5, 0.95, np.float64(0.2)]
SMALL = [1, 2, 5, 10, np.int64(3)]

# By the name of the argument.
GOOD = {
    "alpha": [*LEVELS, "cv"],
    "level": LEVELS,
    "power": LEVELS,
    "n": SMALL,
    "n_random": [0, 1, 2],
    "n_folds": [2, 3, 5],
    "n_bins": SMALL,
    "n_jobs": [1],
    "n_groups": [None, 2, (2, 2)],
    "maxiter": [1, 5, 50],
    "max_rows": [1, 3, 60],
    "minimum": [1, 30, 41],
    "top": [1, 2, 3, 9],
    "k": [1, 2, 4],
    "budget": [1, 10, 500],
    "batch": [1, 5],
    "rank": [0, 1, 2, "auto", None],
    "ranks": [[0], [0, 1], range(2)],
    "patience": [1, 2],
    "seed": [0, 1],
    "rng": [0, 1, np.random.default_rng(0)],
    "effect": [0.3, 1.0],
    "low": [-1.0],
    "high": [1.0],
    "null": [0.0, 0.5, [0.0]],
    "dk_params": [0, 1],
    "simultaneous": [True, False],
    "position": [True, False, None, "judge", "common", "auto"],
    "progress": [False],
    "disp": [False],
    "full_output": [True, False],
    "retall": [True, False],
    "terms": [True, False],
    "warn_convergence": [False, True],
    "skip_single": [True, False],
    "use_t": [False],
    "judge": [*JUDGES, "judge", ["j1", "j1"], "*"],
    "judges": ["fixed", "sample", "auto", JUDGES[:1], JUDGES],
    "item_a": [ITEMS[0], [ITEMS[0], ITEMS[1]], "first", "*"],
    "item_b": [ITEMS[3], [ITEMS[2], ITEMS[3]], "second", "*"],
    "a": ITEMS,
    "b": ITEMS,
    "first": ["first", ITEMS[0]],
    "second": ["second", ITEMS[1]],
    "outcome": ["outcome", "winner"],
    "anchor": ITEMS,
    "items": [ITEMS[:2], ITEMS],
    "labels": [ITEMS[:2], JUDGES[:2]],
    "highlight": [JUDGES[:1]],
    "kind": ["mu", "gamma", "position", "x", "tie", "parametric", "rows", "cluster", "mcf"],
    "of": ["judges", "items", "disagreement", "scores"],
    "groups": ["question_id", "topic", "judge", "row", "pair"],
    "prompt": ["question_id"],
    "prompts": ["new", "same"],
    "time": ["question_id"],
    "keep": ["question_id", ["x", "topic"]],
    "cluster": ["question_id"],
    "cov_type": ["nonrobust", "HC0", "HC1", "cluster", "auto"],
    "cov_kwds": [{"groups": "question_id"}, {"groups": "judge"}, {}],
    "information": ["expected", "observed"],
    "penalty": ["ridge", "firth", "scad"],
    "ridge": ["auto", 0.1, None],
    "method": [
        "wald",
        "profile",
        "holm",
        "single-step",
        "none",
        "hs",
        "chi2",
        "saturated",
        "one-step",
        "percentile",
        "bca",
        "delta",
        "logit",
        "trust",
    ],
    "criterion": ["bic", "aic", "cv"],
    "crit": ["aic", "bic", "aicc", "hqic"],
    "scale": ["log-odds", "elo", "win-rate", "delta", "log", "logit"],
    "alternative": ["two-sided", "larger", "smaller"],
    "prior": ["normal", "flat"],
    "design": ["present", "uniform"],
    "goal": ["top2", "top1", "all", SPECS[1]],
    "which": ["mean", "decided", "linear", "first", "second", "tie", "probs"],
    "average": [True, False, "judge", ["item_a"]],
    "ties": ["half", "davidson", "drop", "ordinal", "adjacent", "auto"],
    "tie": ["common", "judge", "auto"],
    "missing": ["none", "drop", "raise"],
    "spec": SPECS,
    "contrast": SPECS,
    "hypothesis": SPECS,
    "constraints": SPECS,
    "r_matrix": SPECS,
    "formula": FORMULAS,
    "text": FORMULAS,
    "exog": [None, "x", ["x"]],
    "judge_exog": [None, "x"],
    "offset": [None, 0.0, "x"],
    "weights": [None],
    "weight": ["weight"],
    "cols": [[0], ["mu[a]"], None],
    "effect_name": ["gamma"],
    "term_name": ["C(topic)"],
    "name": ["position", "x"],
    "factor_labels": [["a", "b", "c"]],
    "yname": ["y"],
    "title": ["A title"],
    "float_format": ["%.3f"],
    "path": [None],
    "ax": [None],
    "clean": [True, False],
    "counts": [True, False],
    "codes": [{"first": "first", "second": "second", "tie": "tie"}, "unit"],
    "separator": [",", ";"],
    "format": ["csv", "json", "pairs", "wide"],
    "optimum": ["supremum", "finite"],
    "cost": [{"j1": 1.0, "j 2": 2.0, "007": 0.5}],
}


def value(rng, name, special):
    """A value for an argument: mostly one that it takes."""
    choices = special.get(name) or GOOD.get(name)
    if choices and rng.random() < 0.72:
        return rng.choice(choices)
    if rng.random() < 0.3:
        return rng.choice(rng.choice([*GOOD.values(), LABELS]))
    return rng.choice(NASTY)
