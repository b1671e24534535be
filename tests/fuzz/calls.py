"""Calls of everything public, with arguments by chance: what a user holds, and what can be asked of it."""

import inspect
import warnings
from functools import cache

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import hjastats as hja

from .outcomes import Wrong
from .values import ITEMS, JUDGES, frame, panel, value

mpl.use("agg")

# Not called: what belongs to statsmodels' base classes, pickles and files, and what would change the objects of other cases.
LEFT_OUT = {
    "initialize",
    "load",
    "save",
    "remove_data",
    "results_class",
    "get_nlfun",
    "folds",
    "labelled_rows",
    "hessian_factor",
}
LEFT_OUT |= {
    "fit_like",
    "row_design",
    "nloglike",
    "check_estimable",
    "without",
    "on_scales",
    "add_extra_txt",
    "add_table_2cols",
}
LEFT_OUT |= {"add_table_params", "index", "count", "covariance", "report", "style_difference"}
# Calls that take long even on a small panel are made less often.
SELDOM = {
    "misfit": 0.02,
    "fragility": 0.05,
    "bootstrap": 0.1,
    "rank_test": 0.1,
    "fit": 0.1,
    "select_rank": 0.05,
    "stopping": 0.1,
}
SELDOM |= {
    "compare_lr_test": 0.3,
    "lr_test": 0.1,
    "diagnose": 0.2,
    "profile": 0.1,
    "summary": 0.3,
    "summary2": 0.3,
    "plan": 0.2,
    "drop_terms": 0.2,
}
SELDOM |= {
    "plot": 0.1,
    "comparisons": 0.05,
    "fit_constrained": 0.2,
    "fit_regularized": 0.2,
    "sample_size": 0.2,
    "next": 0.1,
}


@cache
def subjects():
    """What is called: objects, with a name for each."""
    data = panel()
    meta = pd.DataFrame({"size": [1.0, 2.0, 4.0], "family": ["p", "p", "q"]}, JUDGES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ja = hja.JAModel.from_comparisons(data, position="judge").fit()
        hja1 = hja.HJAModel.from_comparisons(data, rank=1, ties="davidson", exog=["x"]).fit(cov_type="HC0")
        btl = hja.BTLModel.from_comparisons(data.with_metadata(meta), ties="ordinal").fit()
        ridge = hja.JAModel.from_comparisons(data, judge_exog=["x"]).fit_regularized(0.1)
        labels = {"judge": "judge", "item_a": "first", "item_b": "second"}
        formula = hja.JAModel.from_formula("outcome ~ C(topic) + x", frame(), **labels).fit()
        apart = hja.JAModel.from_comparisons(
            data.with_outcome(np.where(data.first_index == 0, 1.0, data.outcome))
        ).fit()
        sample = hja.PopulationHJAModel.from_comparisons(data, rank=0).fit()
        bare = hja.BTLModel.from_comparisons(data).fit()
        bare.remove_data()
    found = {
        "ja": ja,
        "hja1": hja1,
        "btl": btl,
        "ridge": ridge,
        "formula": formula,
        "apart": apart,
        "sample": sample,
        "bare": bare,
    }
    for name in ("ja", "hja1", "ridge", "apart"):
        found |= {f"{name}.judges": found[name].judges, f"{name}.plan": found[name].plan}
    for name in ("ja", "hja1", "formula"):
        found[f"{name}.model"] = found[name].model
    found |= {
        "ja.plot": ja.plot,
        "contrast": ja.contrast(["mu[a]", "gamma[j1]"]),
        "ratio": ja.contrast("gamma[j1] / gamma[007]"),
    }
    found |= {"bootstrap": ja.bootstrap(10), "places": ja.places(), "board": ja.leaderboard(), "data": data, "hja": hja}
    found |= new_subjects(data, meta)
    found |= {"datasets": hja.datasets, "class": hja.HJAModel, "JA": hja.JAModel}
    return found


def new_subjects(data, meta):
    """Boards of groups, scores anchored to few labels, traits, trees, and judges as a sample."""
    items = pd.DataFrame({"size": [1.0, 2.0, 3.0, 5.0]}, ITEMS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        groups = hja.by_group(data, "topic", model="btl")
        traits = hja.BTLModel.from_comparisons(data.with_metadata(items=items), items="~ size").fit()
        drawn = hja.BTLModel.from_comparisons(data.with_metadata(items=items), items="~ size", random="items").fit()
        weighed = hja.JAModel.from_comparisons(data.with_metadata(items=items), items="~ size").fit()
        anchored = hja.anchor(data, target="j1")
        sample = hja.PopulationHJAModel.from_comparisons(data, rank=1).fit()
        found = {"selection": hja.select_rank(data, ranks=[0, 1]), "tree": hja.partition(data, meta, min_size=1)}
    found |= {"groups": groups, "groups.plot": groups.plot, "traits": traits, "drawn": drawn, "anchored": anchored}
    found |= {"weighed": weighed, "weighed.judges": weighed.judges}
    found |= {"traits.judges": traits.judges, "anchored.judges": anchored.judges}
    return found | {"sample1": sample, "sample.plan": sample.plan}


@cache
def methods(name):
    """Names of what can be called."""
    subject = subjects()[name]
    if subject is hja:
        names = [name for name in hja.__all__ if inspect.isfunction(getattr(hja, name))]
    elif subject is hja.datasets:
        names = ["heterogeneous_panel", "near_balanced_design", "simulate_comparisons"]
    elif inspect.isclass(subject):
        names = ["from_comparisons", "from_formula", "__call__"]
    else:
        names = [one for one in dir(subject) if not one.startswith("_")]
        kinds = {one: getattr(type(subject), one, None) for one in names}
        names = [one for one in names if inspect.isfunction(kinds[one]) or isinstance(kinds[one], classmethod)]
    return sorted(set(names) - LEFT_OUT)


@cache
def special():
    """Values by the name of the argument that are no constants: objects of the package."""
    these = subjects()
    results = [these[one] for one in ("ja", "hja1", "btl", "bare")]
    return {
        "data": [these["data"], frame()],
        "source": [these["data"], frame(), frame().to_dict("list"), frame().to_dict("records")],
        "restricted": results,
        "results": results,
        "params": [these["ja"].params, np.zeros(len(these["ja"].params))],
        "start_params": [these["ja"].params],
        "rows": [np.arange(60), np.arange(240) < 90],
        "removed": [np.arange(240) < 5],
        "metadata": [pd.DataFrame({"size": [1.0, 2.0, 4.0]}, JUDGES), pd.DataFrame({"size": [1.0, 2, 3, 4]}, ITEMS)],
        "bootstrap": [these["bootstrap"]],
        "model": ["JA", "BTL", "HJA"],
        "columns": [frame()[["x"]]],
        "endog": [frame()["outcome"]],
    }


def arguments(rng, function):
    """By position and by name, as the signature has them."""
    known, by_position, by_name = special(), [], {}
    for one in inspect.signature(function).parameters.values():
        if one.kind is one.VAR_POSITIONAL:
            by_position += [value(rng, one.name, known) for _ in range(rng.choice([0, 1, 2]))]
        elif one.kind is one.VAR_KEYWORD:
            if rng.random() < 0.2:
                by_name[rng.choice(["rank", "position", "ties", "nothing"])] = value(rng, "rank", known)
        # By default there are a thousand replications, which take the time that they take.
        elif one.default is one.empty or one.name == "n" or rng.random() < 0.3:
            by_name[one.name] = value(rng, one.name, known)
    return by_position, by_name


def affordable(by_name):
    """Sizes that a user may well ask for, and that would take the time that they take."""
    return (
        by_name.get("n_jobs", 1) in (1, 0, None, "") if isinstance(by_name.get("n_jobs", 1), int | str | None) else True
    )


def case(rng):
    """One call, and what must hold of any answer."""
    while True:
        subject = rng.choice(list(subjects()))
        method = rng.choice(methods(subject))
        if rng.random() < SELDOM.get(method, 1.0):
            break
    function = getattr(subjects()[subject], method)
    by_position, by_name = arguments(rng, function)
    if not affordable(by_name):
        by_name.pop("n_jobs")

    def call():
        try:
            look(function(*by_position, **by_name))
        finally:
            plt.close("all")

    call.told = lambda: f"{subject}.{method}(*{by_position!r}, **{by_name!r})"
    return call


def look(answer):
    """Show it, as a user would; limits, places and probabilities must be in order."""
    if type(answer).__module__.startswith("hjastats"):
        repr(answer)
    table = answer.summary_frame() if isinstance(answer, type(subjects()["contrast"])) else answer
    if not isinstance(table, pd.DataFrame):
        return
    for low, high in (
        ("ci_lower", "ci_upper"),
        ("ci_lower", "estimate"),
        ("estimate", "ci_upper"),
        ("place_lower", "place_upper"),
    ):
        # A bootstrap's percentiles need not hold the estimate.
        if {low, high} <= set(table.columns) and "bias" not in table.columns:
            pair = table[[low, high]].astype(float).dropna()
            if (pair[low] > pair[high] + 1e-9 * pair.abs().max(axis=1)).any():
                raise Wrong(f"{low} above {high}: {pair}")
    for name in ("p_value", "p_adjusted", "p_best"):
        if name in table.columns and not table[name].astype(float).dropna().between(0, 1).all():
            raise Wrong(f"{name} is no probability: {table[name]}")
