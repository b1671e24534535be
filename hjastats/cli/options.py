"""Options several commands share, and what they mean in the package's own terms."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import pandas as pd

from ..data.comparisons import Comparisons
from ..data.files import FORMATS
from ..data.readers import read_comparisons
from ..data.shapes import PAIRS, SHAPES
from ..errors import InputError
from ..model.responses import RESPONSES
from ..model.terms import OPTIONS, SCOPES
from ..models import BTLModel, HJAModel, JAModel, JudgewiseBTLModel
from ..results import HJAResults
from ..selection import CRITERIA, RankSelection, select_rank
from ..words import either

MODELS = {"btl": BTLModel, "ja": JAModel, "hja": HJAModel, "judgewise": JudgewiseBTLModel}


class UsageError(InputError):
    """Options that contradict each other or cannot be read."""


# Options of the model that take one of a few words: the words, the default, and the help. None means that the model goes without.
TERM_OPTIONS = {
    kind.name: (("none", *SCOPES[1:]), "none", f"{kind.help}: none, the same for all judges, or one per judge")
    for kind in OPTIONS.values()
} | {
    "ties": (tuple(RESPONSES), "half", "ties are half a win for each, left out, or an outcome of their own"),
    "tie": (SCOPES[1:], "common", "tie propensity with --ties davidson"),
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
    "single_judge": ("NAME", "all verdicts are by this judge; there is no judge column"),
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
    parser.add_argument("file", metavar="FILE", help=f"verdicts as {endings}; - reads standard input")
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
        help="what outcome values mean: unit (1 first to 0 second), alpacaeval, names, or pairs such as 1=first 2=second 3=tie; "
        "a value that begins with a dash is written --codes=-1=second",
    )
    group.add_argument("--drop", nargs="+", action="extend", metavar="VALUE", help="outcome values to leave out")
    group.add_argument("--without-judges", nargs="+", default=[], metavar="NAME", help="judges to leave out")
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
    arguments = {name: getattr(options, name) for name in (*TEXT_OPTIONS, "counts", "drop", "format")}
    source: Any = options.file
    if options.file == "-":
        # Bytes, since what encoding the terminal has says nothing about the file.
        source = getattr(sys.stdin, "buffer", sys.stdin)
    data = read_comparisons(source, codes=_codes(options.codes), **arguments)
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
        raise UsageError(f"--codes takes unit, alpacaeval, names, or pairs such as 1=first; got {bad[0]!r}.")
    return {value: _meaning(meaning) for value, meaning in pairs}


def _meaning(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def add_model(parser: argparse.ArgumentParser) -> None:
    """Which model to fit, and how."""
    group = parser.add_argument_group("model")
    group.add_argument(
        "--model",
        choices=tuple(MODELS),
        default="hja",
        help="btl: one score per item; ja: judges differ in sensitivity; hja: and in directions of disagreement (default); "
        "judgewise: every judge by itself",
    )
    group.add_argument(
        "--rank", default="auto", metavar="N", help="number of disagreement directions, or auto (default) to choose it"
    )
    group.add_argument("--criterion", choices=CRITERIA, default="bic", help="how --rank auto chooses (default bic)")
    add_terms(group, list(TERM_OPTIONS))
    group.add_argument("--ridge", type=_positive, metavar="ALPHA", help="shrink the scores, as fit_regularized(ALPHA)")
    group.add_argument(
        "--ridge-terms", action="store_true", help="with --ridge: shrink position effects and tie propensities, too"
    )
    group.add_argument(
        "--robust", action="store_true", help="standard errors that do not trust the model's variance (HC0)"
    )
    group.add_argument("--groups", metavar="COLUMN", help="standard errors robust to correlation within this column")


def add_terms(parser: argparse._ActionsContainer, names: list[str]) -> None:
    """Options for some of the terms of the model."""
    for name in names:
        choices, default, meaning = TERM_OPTIONS[name]
        parser.add_argument(f"--{name}", choices=choices, default=default, help=f"{meaning} (default {default})")


def terms(options: argparse.Namespace) -> dict[str, Any]:
    """The terms that were asked for, as arguments of a model."""
    chosen = {name: getattr(options, name) for name in TERM_OPTIONS if name in options}
    return {name: None if word == "none" else word for name, word in chosen.items()}


def _positive(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError("must be a positive number")
    return value


def build(options: argparse.Namespace, data: Comparisons) -> tuple[HJAModel, RankSelection | None]:
    """The model asked for; its rank chosen if that was asked for."""
    if options.model != "hja":
        return MODELS[options.model].from_comparisons(data, **terms(options)), None
    if options.rank == "auto":
        selection = select_rank(data, criterion=options.criterion, progress=sys.stderr.isatty(), **terms(options))
        return selection.result.model, selection
    try:
        rank = int(options.rank)
    except ValueError:
        raise UsageError(f"--rank takes a whole number or auto, got {options.rank!r}.") from None
    return HJAModel.from_comparisons(data, rank=rank, **terms(options)), None


def fit(options: argparse.Namespace, model: HJAModel) -> HJAResults:
    """The fit asked for."""
    covariance: dict[str, Any] = {}
    if options.groups is not None:
        covariance = {"cov_type": "cluster", "cov_kwds": {"groups": options.groups}}
    elif options.robust:
        covariance = {"cov_type": "HC0"}
    if options.ridge is not None:
        return model.fit_regularized(options.ridge, terms=options.ridge_terms, **covariance)
    if options.ridge_terms:
        raise UsageError("--ridge-terms needs --ridge, such as --ridge 0.1.")
    return model.fit(**covariance)


def advice(options: argparse.Namespace, result: HJAResults) -> list[str]:
    """What the warnings of the fit ask for, in the options that give it."""
    warned = {finding.topic for finding in result.findings if finding.is_warning}
    found = []
    if not result.converged and options.ridge is None:
        found.append(
            "--ridge 0.1 fits with shrinkage (--ridge-terms: of position effects too), --pool-judges N joins light judges, "
            "--without-judges NAME leaves one out"
        )
    elif not result.converged and not options.ridge_terms:
        found.append("--ridge-terms shrinks position effects and tie propensities, too")
    if "ties" in warned:
        found.append("--robust, or --groups COLUMN, gives standard errors that hold for ties and soft preferences")
    if "redundancy" in warned and options.groups is None:
        found.append(
            "--groups COLUMN, a column of prompts, gives standard errors that hold where judges repeat each other"
        )
    return found


def position_note(options: argparse.Namespace, result: HJAResults) -> str | None:
    """That the ranking absorbs a position effect which the data show and the model does not have."""
    tested = [finding for finding in result.findings if finding.topic == "position test" and finding.is_warning]
    if not tested or options.position != "none":
        return None
    return "No position effect was modelled, but the data show one, and the scores absorb it: compare with --position judge."
