"""Options several commands share, and what they mean in the package's own terms."""

from __future__ import annotations

import argparse
import math
import re
import sys
from typing import Any

import pandas as pd

from .. import limits
from ..data.comparisons import Comparisons
from ..data.files import FORMATS
from ..data.shapes import PAIRS, SHAPES
from ..errors import InputError
from ..front.asked import AUTO, JUDGES, MODELS
from ..front.door import fit as fit_by_rules
from ..front.reading import read as read_source
from ..model.responses import RESPONSES
from ..model.spanned import RANDOM
from ..model.terms import OPTIONS, SCOPES
from ..models import anchor
from ..results import HJAResults
from ..selection import CRITERIA
from ..words import either


class UsageError(InputError):
    """Options that contradict each other or cannot be read."""


# Options of the model that take one of a few words: the words and the help. None means that the model goes without.
TERM_OPTIONS = {
    kind.name: (("none", *SCOPES[1:]), f"{kind.help}: none, the same for all judges, or one per judge")
    for kind in OPTIONS.values()
} | {
    "ties": (
        tuple(RESPONSES),
        "ties are half a win for each, left out, an outcome of their own, or one of several grades",
    ),
    "tie": (SCOPES[1:], "tie propensity, or thresholds of grades: the same for all judges, or one per judge"),
}
# Arguments of read_comparisons that are one text.
TEXT_OPTIONS = {
    "judge": ("COLUMN", "who judged"),
    "first": ("COLUMN", "the item shown first"),
    "second": ("COLUMN", "the item shown second"),
    "outcome": ("COLUMN", "the verdict"),
    "weight": ("COLUMN", "how many times the row counts"),
    "first_wins": ("COLUMN", "how often the first item won, in place of the verdict"),
    "second_wins": ("COLUMN", "how often the second item won"),
    "tied": ("COLUMN", "how often neither won"),
    "asked_in": ("COLUMN", "the round in which the row was asked"),
    "asked_with": ("COLUMN", "the chance with which the row was asked"),
    "item": ("COLUMN", "the item that was rated or ranked"),
    "score": ("COLUMN", "the rating of the item"),
    "place": ("COLUMN", "the place of the item in a ranking"),
    "baseline": ("NAME", "the item that all others were compared with"),
    "single_judge": ("NAME", "all verdicts are by this judge; there is no judge column"),
    "sheet": ("NAME", "the sheet of a workbook (default: the first)"),
    "separator": ("TEXT", "between the columns of a text table, such as ';'"),
}


class _Once(argparse.Action):
    """An option that is refused the second time, instead of forgetting the first."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: str | None = None) -> None:
        if getattr(namespace, self.dest) is not None:
            parser.error(f"{option} was given twice")
        setattr(namespace, self.dest, values)


def add_data(parser: argparse.ArgumentParser) -> None:
    """Where the verdicts are and what their columns are called."""
    endings = either([format.endings[0] for format in FORMATS.values()])
    parser.add_argument(
        "file", nargs="+", metavar="FILE", help=f"verdicts as {endings}, in one file or several; - reads standard input"
    )
    group = parser.add_argument_group("data", "Columns are recognised by their usual names; these options name others.")
    for name, (metavar, meaning) in TEXT_OPTIONS.items():
        group.add_argument("--" + name.replace("_", "-"), metavar=metavar, action=_Once, help=meaning)
    group.add_argument(
        "--no-weight",
        dest="weight",
        action="store_const",
        const=False,
        help="every row is one verdict, whatever is counted",
    )
    group.add_argument(
        "--counts",
        action=argparse.BooleanOptionalAction,
        help="whether a verdict between 0 and 1 is the share of wins among as many comparisons as its weight, or one preference",
    )
    group.add_argument(
        "--codes",
        nargs="+",
        action="extend",
        metavar="CODE",
        help="what outcome values mean: unit (1 first to 0 second), a scale such as 1..5, alpacaeval, names, or pairs such as "
        "1=first 2=second 3=tie; "
        "a value that begins with a dash is written --codes=-1=second",
    )
    group.add_argument(
        "--clean",
        action=argparse.BooleanOptionalAction,
        help="whether labels that differ in case, spaces or Unicode form only are one",
    )
    group.add_argument("--drop", nargs="+", action="extend", metavar="VALUE", help="outcome values to leave out")
    group.add_argument(
        "--keep",
        nargs="+",
        action="extend",
        metavar="COLUMN",
        help="further columns of a parquet file, such as the prompt",
    )
    group.add_argument(
        "--without-judges", nargs="+", action="extend", default=[], metavar="NAME", help="judges to leave out"
    )
    for role in ("judge", "item"):
        group.add_argument(
            f"--{role}-metadata",
            metavar="FILE",
            help=f"CSV with a column of {role} names and further columns; one called family colours the figures",
        )
    group.add_argument("--pool-judges", type=int, metavar="N", help="join judges with fewer than N verdicts into one")
    formats = (*FORMATS, PAIRS, *SHAPES)
    group.add_argument(
        "--format",
        choices=formats,
        metavar="FORMAT",
        help=f"what FILE is, if its name and its columns do not say: {', '.join(formats)}",
    )


def read(options: argparse.Namespace) -> Comparisons:
    """The comparisons of the file or of standard input."""
    arguments = {name: getattr(options, name) for name in (*TEXT_OPTIONS, "counts", "drop", "format", "clean")}
    source: Any = options.file if len(options.file) > 1 else options.file[0]
    if "-" in options.file and len(options.file) > 1:
        raise UsageError("standard input, -, is read alone: leave out the other files.")
    if source == "-":
        # Bytes, since what encoding the terminal has says nothing about the file.
        source = getattr(sys.stdin, "buffer", sys.stdin)
    data = read_source(source, _named_columns(options), codes=_codes(options.codes), **arguments)
    if options.judge_metadata or options.item_metadata:
        data = data.with_metadata(judges=_metadata(options.judge_metadata), items=_metadata(options.item_metadata))
    if options.without_judges:
        data = data.without_judges(options.without_judges)
    return data if options.pool_judges is None else data.pool_rare_judges(options.pool_judges)


def _metadata(path: str | None) -> pd.DataFrame | None:
    """A table whose first column holds the labels."""
    try:
        return None if path is None else pd.read_csv(path, index_col=0)
    except ValueError as error:
        raise UsageError(f"{path} cannot be read as a table separated by commas: {error}") from None


def _codes(given: list[str] | None) -> Any:
    if given is None or (len(given) == 1 and "=" not in given[0]):
        return None if given is None else given[0]
    pairs = [code.rsplit("=", 1) for code in given]
    bad = [code for code, pair in zip(given, pairs, strict=True) if len(pair) != 2]
    if bad:
        raise UsageError(f"--codes takes unit, 1..5, alpacaeval, names, or pairs such as 1=first; got {bad[0]!r}.")
    return {value: _meaning(meaning) for value, meaning in pairs}


def _meaning(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def add_model(parser: argparse.ArgumentParser) -> None:
    """Which model to fit, and how; what is left out is chosen."""
    group = parser.add_argument_group(
        "model", "What is not given is chosen by stated rules, and printed with the reason."
    )
    group.add_argument(
        "--model",
        choices=tuple(MODELS),
        help="btl: one score per item; ja: judges differ in sensitivity; hja: and in directions of disagreement; judgewise: every "
        "judge by itself (default: what BIC takes)",
    )
    group.add_argument("--rank", default=AUTO, metavar="N", help="number of disagreement directions, or auto")
    group.add_argument(
        "--criterion", choices=CRITERIA, default="bic", help="what chooses rank and position (default bic)"
    )
    add_terms(group, list(TERM_OPTIONS))
    add_judges(group)
    group.add_argument(
        "--ridge", type=_positive, metavar="ALPHA", help="shrink scores and terms, as fit_regularized(ALPHA)"
    )
    group.add_argument(
        "--robust", action="store_true", help="standard errors that do not trust the model's variance (HC0)"
    )
    group.add_argument(
        "--cluster", metavar="COLUMN", action=_Once, help="standard errors robust to correlation within this column"
    )
    group.add_argument(
        "--covariate",
        nargs="+",
        action="extend",
        metavar="COLUMN",
        help="columns with a coefficient, or the difference of two by a name of its own, length=tokens_a,tokens_b",
    )
    group.add_argument(
        "--balance",
        metavar="COLUMN",
        action=_Once,
        help="let every label of this column, such as a prompt, count the same",
    )
    group.add_argument(
        "--items",
        metavar="FORMULA",
        action=_Once,
        help="scores follow from traits of the items, '~ size', of the table --item-metadata; judges may weigh them differently",
    )
    group.add_argument(
        "--interactions",
        metavar="FORMULA",
        action=_Once,
        help="scores of judges who are else alike differ by their traits, '~ age', of the table --judge-metadata, or by columns of "
        "the verdicts",
    )
    group.add_argument("--random", nargs="+", choices=RANDOM, help="effects whose variance is estimated")
    group.add_argument(
        "--unlinked",
        choices=("refuse", "apart"),
        default="refuse",
        help="groups of items that nobody compared (default refuse)",
    )
    group.add_argument("--seed", type=int, default=0, metavar="N", help="of folds and starts (default 0)")
    group.add_argument(
        "--target",
        nargs="+",
        metavar="JUDGE",
        help="rank as these judges would, with the help of all others: scores anchored to few trusted verdicts",
    )


def add_judges(parser: argparse._ActionsContainer) -> None:
    """How judges enter the model."""
    parser.add_argument(
        "--judges",
        choices=(AUTO, *JUDGES),
        default=AUTO,
        help="every judge with parameters of its own, those with few verdicts as one, or all as a sample of a population "
        "(default auto)",
    )


def add_terms(parser: argparse._ActionsContainer, names: list[str]) -> None:
    """Options for some of the terms of the model."""
    for name in names:
        choices, meaning = TERM_OPTIONS[name]
        parser.add_argument(f"--{name}", choices=(AUTO, *choices), default=AUTO, help=f"{meaning} (default auto)")


def terms(options: argparse.Namespace) -> dict[str, Any]:
    """The terms that were asked for, as arguments of a model."""
    chosen = {name: getattr(options, name) for name in TERM_OPTIONS if name in options}
    return {name: None if word == "none" else word for name, word in chosen.items()}


def _rank(text: str) -> int | str:
    if text == AUTO or text.isdecimal():
        return text if text == AUTO else int(text)
    raise UsageError(f"--rank takes a whole number or auto, got {text!r}.")


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not value > 0:
        raise argparse.ArgumentTypeError(f"must be a positive number, got {text!r}")
    return value


def finite(text: str) -> float:
    """A number; neither nan nor infinite."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"must be a number, got {text!r}")
    return value


def amount(text: str) -> float:
    """A number from zero."""
    value = finite(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"must not be negative, got {text!r}")
    return value


def processes(text: str) -> int:
    """A number of processes; -1 is one for every core."""
    if not re.fullmatch(r"-1|[1-9]\d{0,3}", text):
        raise argparse.ArgumentTypeError(f"must be a number of processes, or -1 for one per core, got {text!r}")
    return int(text)


def fit(options: argparse.Namespace, data: Comparisons) -> HJAResults:
    """What hjastats.fit, or with a target hjastats.anchor, makes of the data with these options."""
    if options.target is not None:
        return _anchored(options, data)
    return fit_by_rules(data, **door(options), progress=sys.stderr.isatty())


def door(options: argparse.Namespace) -> dict[str, Any]:
    """Arguments of hjastats.fit about the model."""
    return {
        "rank": _rank(options.rank),
        "model": options.model,
        "criterion": options.criterion,
        "judges": options.judges,
        "cov_type": "HC0" if options.robust else AUTO,
        "groups": options.cluster,
        "ridge": AUTO if options.ridge is None else options.ridge,
        "exog": _covariates(options.covariate),
        "weights": None if options.balance is None else {options.balance: "equal"},
        "items": options.items,
        "interactions": options.interactions,
        "random": options.random,
        "unlinked": options.unlinked,
        "seed": options.seed,
        **terms(options),
    }


def _anchored(options: argparse.Namespace, data: Comparisons) -> HJAResults:
    """What hjastats.anchor makes of the data; options of a model that is chosen for all judges are refused."""
    unused = {
        "model": None,
        "rank": AUTO,
        "ridge": None,
        "robust": False,
        "covariate": None,
        "balance": None,
        "judges": AUTO,
        "items": None,
        "interactions": None,
        "random": None,
        "unlinked": "refuse",
    }
    unused |= dict.fromkeys(TERM_OPTIONS, AUTO)
    if given := [f"--{name}" for name, default in unused.items() if getattr(options, name, default) != default]:
        raise UsageError(f"{', '.join(given)} has no effect with --target, which has models of its own: leave it out.")
    return anchor(data, options.target, prompt=options.cluster, seed=options.seed)


def _covariates(given: list[str] | None) -> Any:
    """Names of columns, or names with the two columns whose difference they are."""
    if given is None or not any("=" in text for text in given):
        return given
    pairs = {name: tuple(columns.split(",")) for name, _, columns in (text.partition("=") for text in given)}
    if bad := [name for name, pair in pairs.items() if len(pair) != 2]:
        raise UsageError(
            f"--covariate takes columns, or pairs such as length=tokens_a,tokens_b, not both; got {bad[0]!r}."
        )
    return pairs


def _named_columns(options: argparse.Namespace) -> list[tuple[str, str]]:
    """Columns that are named beside those with a role, each with the argument that names it."""
    given = _covariates(vars(options).get("covariate")) or []
    covariates = [column for pair in given.values() for column in pair] if isinstance(given, dict) else given
    named = [("keep", name) for name in options.keep or []] + [("exog", name) for name in covariates]
    others = {"groups": vars(options).get("cluster"), "weights": vars(options).get("balance")}
    others |= {name: vars(options).get(name) for name in ("asked_in", "asked_with")}
    if not (options.judge_metadata or options.item_metadata):
        named += [("by", name) for name in vars(options).get("by", ()) if name != "judge"]
    return named + [(argument, name) for argument, name in others.items() if name is not None]


def advice(result: HJAResults) -> list[str]:
    """What the warnings of the fit ask for, in the options that give it."""
    warned = {finding.topic for finding in result.findings if finding.is_warning}
    found = []
    if not result.converged:
        light = (
            "--judges sample takes judges for a sample"
            if len(result.model.judges) >= limits.SMALL_SAMPLE
            else "--judges pooled joins light judges"
        )
        found.append(f"--ridge 0.1 fits with shrinkage, {light}, --without-judges NAME leaves one out")
    if "left out" in warned:
        found.append(
            "--unlinked apart fits all groups of items, each with a zero of its own; a file of another group ranks that one"
        )
    if "ties" in warned:
        found.append("--robust, or --cluster COLUMN, gives standard errors that hold for ties and soft preferences")
    if "redundancy" in warned and result.cov_type != "cluster":
        found.append(
            "--cluster COLUMN, a column of prompts, gives standard errors that hold where judges repeat each other"
        )
    return found
