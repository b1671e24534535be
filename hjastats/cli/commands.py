"""What each command does: read, fit, print."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import util
from pathlib import PurePath
from typing import Any

import numpy as np

from .. import datasets
from ..data.arrays import generator
from ..data.comparisons import Comparisons
from ..data.grades import number_of_grades
from ..data.groups import PERIODS
from ..diagnostics.findings import left_out_finding
from ..errors import IdentificationError, spelled
from ..front.asked import AUTO, SAMPLE, Asked, Chosen
from ..front.door import ENTER, of_judges
from ..front.graded import say_grades
from ..front.groups import by_group
from ..front.reading import linked
from ..front.search import possible_positions
from ..group_results import GroupBoards
from ..inference.apart import group_of
from ..inference.decisions import SCALES, places
from ..inference.ranks import leading_places
from ..model.decomposition import max_rank
from ..models import BTLModel, HJAModel, JAModel, PopulationHJAModel
from ..results import HJAResults, compare
from ..show.leaderboard import chance
from ..simulation import heterogeneous_panel, near_balanced_design, simulate_comparisons
from ..words import LINE_WIDTH, counted, either, quoted, wrapped
from ..writing import check_target, text_or_file, write
from . import options
from .hints import as_option, told
from .machine import described, facts, records
from .text import choices_text, models_text, ranking_text, say


@dataclass(frozen=True)
class Command:
    """One command with its words and options."""

    help: str
    description: str
    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]
    epilog: str = ""


@contextmanager
def said(chosen: argparse.Namespace) -> Iterator[list[str]]:
    """Collect warnings as sentences and print them to standard error, one line each."""
    sentences: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield sentences
    for warning in caught:
        sentence = told(warning.message, vars(chosen))
        if sentence not in sentences:
            sentences.append(sentence)
            say(f"warning: {sentence}")


# demo


def run_demo(chosen: argparse.Namespace) -> None:
    """Print the data, the comparison of the nested models, and the summary of HJA with position effects."""
    data = datasets.load_panel()
    print(data, end="\n\n")
    fits = _nested(data, ranks=[1], groups=None)
    print(
        "Nested models (simulated data: six judges with one direction of disagreement, one position-biased, one noisy)"
    )
    print(models_text(compare(*fits)), end="\n\n")
    print(fits[-1].summary())


def _nested(
    data: Comparisons,
    ranks: list[int],
    positions: Sequence[str | None] = (None, "judge"),
    groups: str | None = None,
    judges: str = "fixed",
    **terms: Any,
) -> list[HJAResults]:
    """BTL, JA and HJA without and with position effects; for a single judge, JA is BTL; of a sample, its populations."""
    covariance: dict[str, Any] = {} if groups is None else {"cov_type": "cluster", "cov_kwds": {"groups": groups}}
    kinds: list[tuple[type[HJAModel], dict[str, Any]]] = [(BTLModel, {})]
    kinds += [(JAModel, {})] if data.n_judges > 1 else []
    kinds += [(HJAModel, {"rank": rank}) for rank in ranks]
    if judges == SAMPLE:
        kinds = [(PopulationHJAModel, {"rank": rank}) for rank in (0, *ranks)]
    return [
        model.from_comparisons(data, **rank, position=position, **terms).fit(warn_convergence=False, **covariance)
        for position in positions
        for model, rank in kinds
    ]


# fit


def add_fit(parser: argparse.ArgumentParser) -> None:
    """Data, model and output."""
    options.add_data(parser)
    options.add_model(parser)
    group = parser.add_argument_group("output")
    group.add_argument(
        "--contrast",
        action="append",
        default=[],
        metavar="TEXT",
        help='estimate and test, such as "mu[a] - mu[b]"; repeatable',
    )
    group.add_argument("--save", metavar="FILE", help="keep the fit as JSON, for hjastats.load_results")
    group.add_argument("--json", action="store_true", help="print one JSON object instead of tables")


def run_fit(chosen: argparse.Namespace) -> None:
    """Fit, and print choices, ranking, summary and the contrasts asked for."""
    if chosen.save is not None:
        check_target(chosen.save)
    with said(chosen) as sentences:
        data = options.read(chosen)
        result = options.fit(chosen, data)
        ranking = leading_places(result.fit)
        contrasts = [result.contrast(text) for text in chosen.contrast]
        summary = str(result.summary())
    hints = options.advice(result)
    for hint in hints:
        say(f"hint: {hint}")
    try:
        # Printed before it is kept: neither a full disk nor a reader who has seen enough costs the other.
        if chosen.json:
            document = described(result, data, ranking, contrasts)
            print(json.dumps(document | {"warnings": sentences, "hints": hints}, indent=1, allow_nan=False))
        else:
            print(data, end="\n\n")
            print(choices_text(result.choices), end="\n\n")
            if ranking is not None:
                print(ranking_text(ranking, len(result.model.items)))
                print(_leader(result, list(ranking.index)), end="\n\n")
            print("\n\n".join([summary, *map(str, contrasts)]))
        sys.stdout.flush()
    finally:
        if chosen.save is not None:
            result.to_json(chosen.save)


def _leader(result: HJAResults, items: list[str]) -> str:
    """How likely the first is the best, and which commands tell more."""
    best = places(result.fit, items=items).best
    told = f"P(best) of {quoted(best.index[:1])}: {chance(best.iloc[0])}. "
    return "\n".join(wrapped(f"{told}All chances: hjastats leaderboard; what to ask next: hjastats plan.", LINE_WIDTH))


# compare


def add_compare(parser: argparse.ArgumentParser) -> None:
    """Data and ranks."""
    options.add_data(parser)
    parser.add_argument("--ranks", nargs="+", action="extend", type=int, metavar="N", help="ranks of HJA (default 1)")
    # Positions are what it compares; whose tie propensities are is for fit to choose.
    options.add_terms(parser, [name for name in options.TERM_OPTIONS if name not in ("position", "tie")])
    options.add_judges(parser)
    parser.add_argument("--cluster", metavar="COLUMN", help="p-values that count correlation within this column")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run_compare(chosen: argparse.Namespace) -> None:
    """Fit the nested models and print their comparison."""
    told = Chosen()
    with said(chosen) as sentences:
        read = options.read(chosen)
        data = linked(read, told)
        for finding in left_out_finding(data):
            say(f"{'warning' if finding.is_warning else 'note'}: {finding.text}")
        judges = of_judges(data, Asked(judges=chosen.judges, ties=chosen.ties), told)
        data = ENTER[judges](data)
        positions = possible_positions(data)
        asked = {name: value for name, value in options.terms(chosen).items() if value != AUTO}
        n_grades = number_of_grades(data.outcome)
        terms = {"ties": "ordinal" if n_grades > 3 else "half"} | asked
        if "ties" in asked:
            told.say("ties", terms["ties"], "asked for")
        elif n_grades > 3:
            say_grades(told, n_grades, "common", "one set of thresholds for all; fit may take one for each judge")
        elif (data.outcome == 0.5).any():
            other = "; as an outcome of their own, which fit may take, with --ties davidson" if n_grades else ""
            told.say("ties", "half", f"half a win for each{other}")
        largest = max_rank(data.n_judges, data.n_items)
        ranks = sorted(set(chosen.ranks or ([1] if largest else [])))
        if not all(0 < rank <= largest for rank in ranks):
            possible = f"must lie between 1 and {largest}" if largest else "leaves no choice: only rank 0 is possible"
            raise options.UsageError(f"--ranks {possible} for these data, got {chosen.ranks}.")
        try:
            fits = _nested(data, ranks, positions, chosen.cluster, judges, **terms)
        except IdentificationError:
            # The data may show no direction of disagreement; only who asked for one by its rank is told so.
            if chosen.ranks is not None:
                raise
            fits = _nested(data, [], positions, chosen.cluster, judges, **terms)
        table = compare(*fits) if len(fits) > 1 else None
    if chosen.json:
        models = [] if table is None else records(table, "model")
        document = {"data": facts(read), "choices": records(told.table, "what"), "models": models}
        print(json.dumps(document | {"warnings": sentences}, indent=1, allow_nan=False))
        return
    print(read, end="\n\n")
    print(choices_text(told.table), end="\n\n")
    if table is None:
        print(f"There is nothing to compare {fits[0].fit.layout.description} with: one judge, and no order of items.")
        return
    print(models_text(table))
    smallest = f"Smallest BIC: {table['bic'].idxmin()}; smallest AIC: {table['aic'].idxmin()}."
    print("\n" + "\n".join(wrapped(smallest, LINE_WIDTH)))


# report


def add_report(parser: argparse.ArgumentParser) -> None:
    """Data, model and the page to write."""
    options.add_data(parser)
    options.add_model(parser)
    parser.add_argument(
        "-o", "--output", default="report.html", metavar="FILE", help="page to write (default report.html)"
    )
    parser.add_argument("--title", metavar="TEXT", help="heading of the page")


def run_report(chosen: argparse.Namespace) -> None:
    """Fit and write the page."""
    missing = [name for name in ("jinja2", "matplotlib") if util.find_spec(name) is None]
    if missing:
        raise options.UsageError(f"reports need {' and '.join(missing)}: pip install 'hjastats[report]'.")
    check_target(chosen.output)
    with said(chosen):
        data = options.read(chosen)
        result = options.fit(chosen, data)
        size = f"{len(result.model.items)} items by {counted(data.n_judges, 'judge')}"
        page = result.report(title=chosen.title or f"Ranking of {size}")
    print(choices_text(result.choices))
    try:
        write(chosen.output, page)
    except OSError:
        # The page is lost, the result is not.
        print(f"\n{result.summary()}", flush=True)
        raise
    print(f"wrote {chosen.output}")
    for hint in options.advice(result):
        say(f"hint: {hint}")


# leaderboard


def add_leaderboard(parser: argparse.ArgumentParser) -> None:
    """Data, model and the board."""
    options.add_data(parser)
    options.add_model(parser)
    group = parser.add_argument_group("board")
    group.add_argument("--scale", choices=SCALES, default=SCALES[0], help=f"of the scores (default {SCALES[0]})")
    group.add_argument("--anchor", metavar="ITEM", help="item from which scores count (default: the mean)")
    group.add_argument(
        "--top", type=int, default=3, metavar="K", help="show the chance of the first K places (default 3)"
    )
    group.add_argument(
        "--group-of", metavar="ITEM", help="with --unlinked apart: rank the items that are linked with this one"
    )
    group.add_argument("-o", "--output", metavar="FILE", help=f"write it as {', '.join(BOARDS)}, by the ending")


def run_leaderboard(chosen: argparse.Namespace) -> None:
    """Fit and print the board, or write it."""
    write = _by_ending(BOARDS, chosen.output)
    with said(chosen):
        result = options.fit(chosen, options.read(chosen))
        board = result.leaderboard(
            chosen.scale, anchor=chosen.anchor, top=chosen.top, rng=chosen.seed, items=_group(chosen, result)
        )
    print(choices_text(result.choices), end="\n\n")
    print(board)
    if write is not None:
        _write(write(board), chosen.output)


def _group(chosen: argparse.Namespace, result: HJAResults) -> tuple[str, ...] | None:
    """The items to rank among themselves; None for all."""
    if chosen.group_of is None:
        return None
    if chosen.unlinked != "apart":
        raise options.UsageError("--group-of has no effect without --unlinked apart: leave it out, or add that.")
    if chosen.group_of not in result.model.items:
        raise options.UsageError(
            f"--group-of takes an item, one of {quoted(result.model.items)}; got {chosen.group_of!r}."
        )
    return group_of(result.fit.layout, chosen.group_of)


def _by_ending(known: dict[str, Callable[[Any], str]], path: str | None) -> Callable[[Any], str] | None:
    """How to write a file, by its ending; None without a file."""
    if path is None:
        return None
    ending = PurePath(path).suffix
    if ending not in known:
        raise options.UsageError(f"--output must end in {either([*known])}, got {path!r}.")
    return known[ending]


def _write(text: str, path: str) -> None:
    text_or_file(text, path)
    print(f"wrote {path}")


# groups


def add_groups(parser: argparse.ArgumentParser) -> None:
    """Data, groups, model and output."""
    options.add_data(parser)
    group = parser.add_argument_group("groups")
    group.add_argument(
        "--by",
        nargs="+",
        required=True,
        metavar="COLUMN",
        help="columns, or metadata of judges or items, whose labels are groups",
    )
    group.add_argument(
        "--breaks", nargs="+", type=options.finite, metavar="X", help="cut a number: a group begins at each"
    )
    group.add_argument("--quantiles", type=int, metavar="N", help="cut a number into N equal parts")
    group.add_argument("--period", choices=tuple(PERIODS), help="cut times")
    group.add_argument("--labels", nargs="+", metavar="NAME", help="names of the groups that --breaks makes")
    group.add_argument(
        "--shrunken", action="store_true", help="boards that borrow strength from the other groups, in place of tests"
    )
    options.add_model(parser)
    group = parser.add_argument_group("output")
    group.add_argument("--jobs", type=options.processes, default=1, metavar="N", help="parallel processes (default 1)")
    group.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    group.add_argument("-o", "--output", metavar="FILE", help=f"write it as {', '.join(GROUPS)}, by the ending")


def run_groups(chosen: argparse.Namespace) -> None:
    """Fit the groups, and print boards side by side and whether they differ."""
    write = _by_ending(GROUPS, chosen.output)
    if chosen.output is not None:
        check_target(chosen.output)
    if chosen.target:
        raise options.UsageError("--target anchors one ranking; groups takes none.")
    cuts = {name: getattr(chosen, name) for name in ("breaks", "quantiles", "period", "labels")}
    with said(chosen) as sentences:
        found = by_group(
            options.read(chosen),
            chosen.by[0] if len(chosen.by) == 1 else chosen.by,
            **cuts,
            **options.door(chosen),
            n_jobs=chosen.jobs,
            progress=sys.stderr.isatty(),
        )
        # The last line says what to ask from Python.
        shown = _shrunken_boards(found) if chosen.shrunken else _folded(str(found).rpartition("\n")[0])
        document = found.to_dict() if chosen.json else {}
    if chosen.json:
        print(json.dumps(document | {"warnings": sentences}, indent=1, allow_nan=False))
    else:
        print(choices_text(found.overall.choices), end="\n\n")
        print(shown)
    if write is not None:
        _write(write(found), chosen.output)


def _shrunken_boards(found: GroupBoards) -> str:
    boards = {label: found.board(label, shrunken=True) for label in map(str, found.shrunken)}
    return "\n\n".join(f"{label}\n{ranking_text(board, len(board))}" for label, board in boards.items())


# plan


def add_plan(parser: argparse.ArgumentParser) -> None:
    """Data, model, goal, budget and prices."""
    options.add_data(parser)
    options.add_model(parser)
    group = parser.add_argument_group("plan")
    group.add_argument(
        "--goal",
        default="top2",
        metavar="TEXT",
        help='top2 (default), "order all", places, or a contrast such as "mu[a] - mu[b]"',
    )
    group.add_argument("--budget", type=float, default=100.0, metavar="N", help="comparisons, or money (default 100)")
    group.add_argument(
        "--cost",
        nargs="+",
        action="extend",
        default=[],
        metavar="JUDGE=PRICE",
        help="price of a verdict of every judge",
    )
    group.add_argument(
        "--looks", type=int, metavar="N", help="how often this was asked while verdicts came in, this time included"
    )
    group.add_argument("--batch", type=int, metavar="N", help="number the comparisons by batches of this size")
    group.add_argument("-o", "--output", metavar="FILE", help=f"write all of them as {', '.join(PLANS)}, by the ending")


def run_plan(chosen: argparse.Namespace) -> None:
    """Fit, and print whether it is enough and what to ask next."""
    write = _by_ending(PLANS, chosen.output)
    with said(chosen):
        result = options.fit(chosen, options.read(chosen))
        enough = result.plan.stopping(chosen.goal, looks=chosen.looks)
        asked = result.plan.next(
            chosen.budget, chosen.goal, cost=_prices(chosen.cost), batch=chosen.batch, rng=chosen.seed
        )
    print(choices_text(result.choices), end="\n\n")
    answer = spelled(enough.told, lambda hint: as_option(hint, vars(chosen)))
    surer = "\n\nThat is enough. Who wants to be surer still:" if enough else ""
    print(_folded(answer) + surer, _folded(asked), sep="\n\n")
    if write is not None:
        _write(write(asked), chosen.output)


def _folded(shown: object) -> str:
    """Text whose sentences are folded; tables stay as they are."""
    lines = str(shown).splitlines()
    return "\n".join(
        line for text in lines for line in ([text] if len(text) <= LINE_WIDTH else wrapped(text, LINE_WIDTH))
    )


def _prices(given: list[str]) -> dict[str, float] | None:
    """Prices by judge, of texts such as gpt-4=0.03."""
    pairs = [text.rpartition("=") for text in given]
    try:
        return {judge: float(price) for judge, _, price in pairs} if pairs else None
    except ValueError:
        raise options.UsageError(f"--cost takes pairs such as gpt-4=0.03, got {given}.") from None


# By the ending of the file to write.
BOARDS: dict[str, Callable[[Any], str]] = {
    ".csv": lambda board: board.to_csv(),
    ".json": lambda board: json.dumps(board.to_dict(), indent=1) + "\n",
    ".md": lambda board: board.to_markdown(),
    ".tex": lambda board: board.to_latex(),
    ".html": lambda board: board.to_html(),
}
GROUPS: dict[str, Callable[[Any], str]] = {
    ".html": lambda found: found.report(),
    ".json": lambda found: found.to_json(),
    ".csv": lambda found: found.differences.to_csv(index=False),
}
PLANS: dict[str, Callable[[Any], str]] = {
    ".csv": lambda asked: asked.to_csv(),
    ".jsonl": lambda asked: asked.to_jsonl(),
}


# simulate


def add_simulate(parser: argparse.ArgumentParser) -> None:
    """Size and kind of the panel."""
    parser.add_argument("--judges", type=int, default=4, metavar="K", help="number of judges (default 4)")
    parser.add_argument("--items", type=int, default=8, metavar="N", help="number of items (default 8)")
    parser.add_argument("--rank", type=int, default=1, metavar="R", help="disagreement directions (default 1)")
    parser.add_argument(
        "--heterogeneity", type=options.amount, default=1.0, metavar="H", help="their strength (default 1)"
    )
    parser.add_argument("--comparisons", type=int, default=2000, metavar="T", help="number of verdicts (default 2000)")
    parser.add_argument(
        "--position", type=options.finite, default=0.0, metavar="X", help="bonus of the item shown first"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers (default 0)")
    parser.add_argument("-o", "--output", metavar="FILE", help="CSV file to write; standard output by default")


def run_simulate(chosen: argparse.Namespace) -> None:
    """Write the verdicts of a simulated panel."""
    if chosen.output is not None:
        check_target(chosen.output)
    rng = generator(chosen.seed)
    if min(chosen.judges, chosen.comparisons) < 1 or chosen.items < 2:
        raise options.UsageError("a panel needs at least one judge, two items and one comparison.")
    truth = heterogeneous_panel(chosen.judges, chosen.items, chosen.rank, chosen.heterogeneity, rng=rng)
    design = near_balanced_design(chosen.judges, chosen.items, chosen.comparisons, rng=rng)
    data = simulate_comparisons(truth.scores, design, position=chosen.position, shuffle_order=True, rng=rng)
    frame = data.to_frame()
    table = frame[["judge", "first", "second"]].rename(columns={"first": "item_a", "second": "item_b"})
    table["winner"] = np.where(data.outcome == 1.0, "a", "b")
    if chosen.output is None:
        table.to_csv(sys.stdout, index=False)
    else:
        write(chosen.output, table.to_csv(index=False))


# reproduce


def add_reproduce(parser: argparse.ArgumentParser) -> None:
    """Experiment, data and folder."""
    from ..experiments import EXPERIMENTS, Settings

    titles = "\n".join(f"  {name:12s} {experiment.title}" for name, experiment in EXPERIMENTS.items())
    parser.description = (
        f"Regenerate the experiments of the paper, with tables and figures in a folder:\n\n{titles}\n"
        "  all          all of them, one after the other"
    )
    parser.add_argument("name", choices=[*EXPERIMENTS, "all"], metavar="NAME", help="one of the above")
    parser.add_argument(
        "--data",
        nargs="+",
        default=[],
        metavar="FILE",
        help="verdicts for table1 and diagnostics; by default the embedded panel",
    )
    parser.add_argument("-o", "--output", default="reproduction", metavar="FOLDER", help="where tables and figures go")
    parser.add_argument("--jobs", type=options.processes, default=1, metavar="N", help="parallel processes (default 1)")
    parser.add_argument("--quick", action="store_true", help="a few repetitions, to see that everything works")
    parser.add_argument(
        "--noise-volume",
        type=options.amount,
        default=Settings.volume,
        metavar="X",
        help="records of a noisy judge, in multiples of the mean judge (default %(default)g)",
    )


def run_reproduce(chosen: argparse.Namespace) -> None:
    """Run the experiments and print what they found."""
    from ..experiments import EXPERIMENTS, Settings, reproduce

    settings = Settings(chosen.quick, tuple(chosen.data), chosen.noise_volume)
    for number, name in enumerate(EXPERIMENTS if chosen.name == "all" else [chosen.name]):
        text = reproduce(name, chosen.output, settings, jobs=chosen.jobs, progress=sys.stderr.isatty())
        print("\n" * (number > 0) + text, flush=True)


COMMANDS = {
    "demo": Command(
        "fit BTL, JA and HJA to the embedded simulated panel, compare them and print the summary",
        "Fits Bradley-Terry-Luce, judge-aware and heterogeneous judge-aware models to the simulated panel that comes\n"
        "with the package, with and without position effects, and prints their comparison and a summary.",
        lambda parser: None,
        run_demo,
    ),
    "fit": Command(
        "rank the items of a file",
        "Choose and fit a model for a file of verdicts: what was chosen and why, the ranking, the summary, what to distrust.",
        add_fit,
        run_fit,
        "Examples:\n"
        "  hjastats fit verdicts.csv\n"
        "  hjastats fit verdicts.csv --model btl --contrast 'mu[gpt-4] - mu[claude]'\n"
        "  hjastats fit table.csv --judge rater --first left --second right --outcome choice --codes 1=first 2=second\n"
        "  cat verdicts.jsonl | hjastats fit - --json",
    ),
    "compare": Command(
        "compare BTL, JA and HJA with and without position effects",
        "Fit the nested models with every position effect the data can show, and print their analysis of deviance.",
        add_compare,
        run_compare,
    ),
    "report": Command(
        "write one HTML page about a file of verdicts",
        "Fit a model and write one self-contained HTML page: who leads, who is tied, what to distrust, tables that sort,\n"
        "figures, model comparison and diagnostics. Nothing on it is loaded from elsewhere.",
        add_report,
        run_report,
        "Example:\n  hjastats report verdicts.csv -o report.html",
    ),
    "leaderboard": Command(
        "who is best, and how sure that is",
        "Fit a model and print places with joint ranges, scores, chances of the first places, win rates and tiers.",
        add_leaderboard,
        run_leaderboard,
        "Example:\n  hjastats leaderboard verdicts.csv --scale elo -o board.md",
    ),
    "groups": Command(
        "rankings by category, version or month, and whether they really differ",
        "Choose one model for all verdicts, fit it to every group, and say whether groups differ, where, and who moves.",
        add_groups,
        run_groups,
        "Examples:\n"
        "  hjastats groups verdicts.csv --by category\n"
        "  hjastats groups verdicts.csv --by time --period month -o months.html\n"
        "  hjastats groups verdicts.csv --by length --quantiles 4 --shrunken",
    ),
    "plan": Command(
        "what to ask next, and whether it is enough",
        "Fit a model and say whether a goal is reached, how many verdicts are missing, and which to ask for next.",
        add_plan,
        run_plan,
        "Example:\n  hjastats plan verdicts.csv --budget 500 --goal top2 -o next.csv",
    ),
    "simulate": Command(
        "write a simulated panel as CSV",
        "Draw a panel from the paper's process and write its verdicts as CSV (judge, item_a, item_b, winner).",
        add_simulate,
        run_simulate,
        "Example:\n  hjastats simulate --judges 6 --items 10 --comparisons 3000 | hjastats fit -",
    ),
    "reproduce": Command(
        "regenerate the experiments of the paper",
        "",
        add_reproduce,
        run_reproduce,
        "An interrupted run goes on where it was when started again with the same folder.",
    ),
}
