"""What ``result.plan.next`` saves against uniform pairs and judges, and whether the errors it predicts come true.

``python benchmarks/planning.py [--replications 40]``: predicted and realised standard errors, replayed on records of two data sets
beside the checkout and simulated; verdicts needed for the same error of the first two places, and for the same mean width of
joint places, against uniform choice and a plain rule of uncertainty; joint coverage after adaptive selection.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit

import hjastats as hja
from hjastats import limits
from hjastats.data.comparisons import Comparisons

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
FIRST, BATCH, MORE = 1000, 100, 500


class Truth(NamedTuple):
    """A panel to draw verdicts from, and the model to fit to them."""

    model: type[hja.HJAModel]
    scores: np.ndarray
    judges: tuple[str, ...]
    items: tuple[str, ...]


def arena(*, are_equal: bool = False) -> Truth:
    """What was fitted to Chatbot Arena: 10 judges, 20 items; or the same items by judges who are all alike."""
    records = hja.read_comparisons(DATA / "chatbot_arena.json")
    model = hja.BTLModel if are_equal else hja.JAModel
    fit = model.from_comparisons(records).fit().fit
    return Truth(model, fit.at.scores, fit.layout.judges, fit.layout.items)


def drawn(
    truth: Truth, judge: np.ndarray, first: np.ndarray, second: np.ndarray, rng: np.random.Generator
) -> pd.DataFrame:
    """Verdicts of the truth."""
    wins = rng.random(len(judge)) < expit(truth.scores[judge, first] - truth.scores[judge, second])
    names, items = np.array(truth.judges, dtype=object), np.array(truth.items, dtype=object)
    return pd.DataFrame({"judge": names[judge], "first": items[first], "second": items[second], "outcome": wins * 1.0})


def fitted(truth: Truth, rows: pd.DataFrame) -> hja.HJAResults:
    """The model fitted to some rows."""
    data = Comparisons.from_arrays(*(rows[name].to_numpy() for name in ("judge", "first", "second", "outcome")))
    model = truth.model.from_comparisons(data)
    return model.fit() if truth.model is hja.BTLModel else model.fit(n_random=0)


def uniform(truth: Truth, result: hja.HJAResults | None, n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Any judge about any pair."""
    n_judges, n_items = truth.scores.shape
    first = rng.integers(n_items, size=n)
    second = (first + rng.integers(1, n_items, size=n)) % n_items
    return drawn(truth, rng.integers(n_judges, size=n), first, second, rng)


def uncertain(truth: Truth, result: hja.HJAResults, n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Any judge about the pair, of twenty at random, that its verdict is least certain about."""
    n_judges, n_items = truth.scores.shape
    scores = result.scores.loc[list(truth.judges), list(truth.items)].to_numpy()
    judge = rng.integers(n_judges, size=n)
    first = rng.integers(n_items, size=(n, 20))
    second = (first + rng.integers(1, n_items, size=(n, 20))) % n_items
    best = np.abs(scores[judge[:, None], first] - scores[judge[:, None], second]).argmin(axis=1)
    some = np.arange(n), best
    return drawn(truth, judge, first[some], second[some], rng)


def located(truth: Truth, asked: pd.DataFrame) -> list[np.ndarray]:
    """Judge, first and second item of a plan, as numbers."""
    labels = {"judge": truth.judges, "first": truth.items, "second": truth.items}
    return [pd.Index(known).get_indexer(asked[name]) for name, known in labels.items()]


def planned(goal: str) -> Callable[..., pd.DataFrame]:
    """What the plan says."""

    def ask(truth: Truth, result: hja.HJAResults, n: int, rng: np.random.Generator) -> pd.DataFrame:
        return drawn(truth, *located(truth, result.plan.next(n, goal).table), rng)

    return ask


def leading_error(truth: Truth, result: hja.HJAResults) -> float:
    """Standard error of the difference between the first two places."""
    leading = result.consensus.index[:2]
    return result.head_to_head(*leading).std_err


def mean_width(truth: Truth, result: hja.HJAResults) -> float:
    """Mean number of places that the joint ranges hold."""
    table = result.ranking()
    return float((table["place_upper"] - table["place_lower"]).mean())


def holds(truth: Truth, result: hja.HJAResults) -> bool:
    """Whether all joint ranges hold the true places."""
    mean = pd.Series(truth.scores.mean(axis=0), truth.items)
    true, table = mean.rank(ascending=False), result.ranking()
    true = true.loc[table.index]
    return bool(((table["place_lower"] <= true) & (true <= table["place_upper"])).all())


def run(
    truth: Truth,
    ask: Callable[..., pd.DataFrame],
    measure: Callable[[Truth, hja.HJAResults], float],
    start: pd.DataFrame,
    steps: list[int],
    rng: np.random.Generator,
) -> tuple[np.ndarray, hja.HJAResults]:
    """The measure after each of some numbers of further verdicts, fitted again after every batch."""
    rows, n, result, found = start, 0, fitted(truth, start), []
    for step in steps:
        while n < step:
            size = min(BATCH, step - n) if ask is not uniform else step - n
            rows = pd.concat([rows, ask(truth, result, size, rng)], ignore_index=True)
            result, n = fitted(truth, rows), n + size
        found.append(measure(truth, result))
    return np.array(found), result


def needed(values: np.ndarray, steps: np.ndarray, target: float) -> float:
    """Further verdicts after which a measure that falls has fallen to a target, interpolated on logarithmic scales.

    Infinite if none of the steps is enough.
    """
    below = np.flatnonzero(values <= target)
    if not len(below):
        return np.inf
    at = int(below[0])
    if at == 0:
        return float(steps[0])
    x, y = np.log(steps[at - 1 : at + 1] + FIRST), np.log(values[at - 1 : at + 1])
    return float(np.exp(np.interp(-np.log(target), -y, x)) - FIRST)


def savings(truth: Truth, goal: str, measure: Callable[..., float], n: int) -> None:
    """Verdicts that the plan and the rule of uncertainty need of those that uniform choice needs."""
    far = np.array([0, 250, 500, 1000, 2000, 4000, 8000, 16000, 32000, 64000])
    near = np.array([100, 200, 300, 400, MORE])
    curves: dict[str, list[np.ndarray]] = {"uniform": [], "uncertain": [], "next": []}
    covered = 0
    for seed in range(n):
        rng = np.random.default_rng([seed, 23])
        start = uniform(truth, None, FIRST, rng)
        curves["uniform"].append(run(truth, uniform, measure, start, far.tolist(), rng)[0])
        curves["uncertain"].append(run(truth, uncertain, measure, start, near.tolist(), rng)[0])
        path, result = run(truth, planned(goal), measure, start, near.tolist(), rng)
        curves["next"].append(path)
        covered += holds(truth, result)
    mean = {name: np.mean(values, axis=0) for name, values in curves.items()}
    print(f"  {measure.__name__}: uniform {dict(zip(far.tolist(), mean['uniform'].round(3).tolist(), strict=True))}")
    for name in ("next", "uncertain"):
        each = [
            f"{step} instead of {needed(mean['uniform'], far, value):.0f} ({step / needed(mean['uniform'], far, value):.0%})"
            for step, value in zip(near, mean[name], strict=True)
        ]
        print(f"  {name}: {mean[name].round(3).tolist()}; {', '.join(each)}")
    print(
        f"  joint coverage of places after next: {covered / n:.3f} ± {np.sqrt(0.05 * 0.95 / n):.3f} of {n}", flush=True
    )


def replayed(name: str, model: type[hja.HJAModel], options: dict, goal: str) -> None:
    """Ask for 500 of the records that 2,000 others leave, and compare the error that was predicted with that of the new fit."""
    data = hja.read_comparisons(DATA / name / "verdicts.csv")
    rng = np.random.default_rng(0)
    order = rng.permutation(data.n_rows)
    first, rest = data.subset(np.sort(order[:2000])), data.subset(np.sort(order[2000:20000]))
    result = model.from_comparisons(first, **options).fit()
    frame = rest.to_frame()
    frame = frame[
        frame["judge"].isin(result.model.judges) & frame[["first", "second"]].isin(result.model.items).all(axis=1)
    ]
    asked = result.plan.next(MORE, goal, candidates=frame)
    columns = ["judge", "first", "second", "outcome"]
    rows = pd.concat([first.to_frame()[columns], frame.loc[asked.table["row"], columns]], ignore_index=True)
    after = model.from_comparisons(
        Comparisons.from_arrays(*(rows[name].to_numpy() for name in columns)), **options
    ).fit()
    leading = result.consensus.index[:2]
    predicted, real = asked.errors["after"].iloc[0], after.head_to_head(*leading).std_err
    now = asked.errors["now"].iloc[0]
    print(
        f"  {name}: {now:.4f} now, {predicted:.4f} predicted, {real:.4f} realised ({predicted / real - 1:+.1%})",
        flush=True,
    )


def drawn_anew(truth: Truth, rng: np.random.Generator) -> Truth:
    """Other items for the same judges, from a normal distribution as wide."""
    mean = truth.scores.mean(axis=0)
    items = rng.normal(0.0, mean.std(), len(mean))
    return truth._replace(scores=np.outer(truth.scores @ mean / (mean @ mean), items - items.mean()))


def simulated(truth: Truth, n: int, *, anew: bool) -> None:
    """The same with verdicts of a known truth; realised is what two further fits, to other verdicts on the same plan, have."""
    found = []
    for seed in range(n):
        rng = np.random.default_rng([seed, 38 if anew else 37])
        here = drawn_anew(truth, rng) if anew else truth
        rows = uniform(here, None, FIRST, rng)
        result = fitted(here, rows)
        if result.fit.why_no_errors:
            continue
        asked, leading = result.plan.next(MORE, "top2"), result.consensus.index[:2]
        judge, first, second = located(here, asked.table)
        after = [
            fitted(here, pd.concat([rows, drawn(here, judge, first, second, rng)], ignore_index=True)) for _ in range(2)
        ]
        realised = np.sqrt(np.mean([np.square(fit.head_to_head(*leading).std_err) for fit in after]))
        found.append([*asked.errors[["after", "lower", "upper"]].iloc[0], realised])
    after, lower, upper, realised = np.array(found).T
    ratio, inside = after / realised, np.mean((lower <= realised) & (realised <= upper))
    low, middle, high = np.quantile(ratio, [0.1, 0.5, 0.9])
    squares = np.sqrt(np.mean(after**2) / np.mean(realised**2))
    print(
        f"  simulated, {'items drawn anew' if anew else 'Arena'}: predicted / realised {ratio.mean():.3f} ± "
        f"{ratio.std() / np.sqrt(len(ratio)):.3f} (root mean squares {squares:.3f}, median "
        f"{middle:.3f}, 8 of 10 from {low:.2f} to {high:.2f}); {inside:.0%} of {len(ratio)} within the range",
        flush=True,
    )


def separated(n: int) -> None:
    """How often as many verdicts as are said to be needed separate two items of Chatbot Arena."""
    data, pair = hja.read_comparisons(DATA / "chatbot_arena.json"), ("gpt-4", "claude-v1")
    result = hja.BTLModel.from_comparisons(data).fit()
    said = result.plan.sample_size(pair)
    mu, items = result.fit.parts.mu, np.array(data.items, dtype=object)
    rng, told = np.random.default_rng(0), 0
    for _ in range(4 * n):
        rows = rng.integers(data.n_rows, size=int(data.n_comparisons + said.verdicts))
        first, second = data.first_index[rows], data.second_index[rows]
        wins = (rng.random(len(rows)) < expit(mu[first] - mu[second])) * 1.0
        drawn_again = Comparisons.from_arrays("any", items[first], items[second], wins)
        told += hja.BTLModel.from_comparisons(drawn_again).fit().head_to_head(*pair).p_value < 0.05
    print(f"{said.sentence} Simulated: {told / (4 * n):.1%} of {4 * n}.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=40)
    n = parser.parse_args().replications
    warnings.simplefilter("ignore")
    limits.DRAWS = 10_000
    print("standard error after next(500)")
    replayed("ppr_chatbot_arena", hja.BTLModel, {}, "top2")
    replayed("position_bias_mtbench", hja.BTLModel, {"position": "common"}, "top2")
    judges = arena()
    for anew in (False, True):
        simulated(judges, n, anew=anew)
    for name, truth in (("judges as in Chatbot Arena", judges), ("equal judges", arena(are_equal=True))):
        print(name)
        savings(truth, "top2", leading_error, n)
        savings(truth, "places", mean_width, n)
    separated(n)


if __name__ == "__main__":
    main()
