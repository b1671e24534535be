"""Options several commands share, and what they mean in the package's own terms."""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from ..data.comparisons import Comparisons
from ..data.readers import read_comparisons
from ..models import BTLModel, HJAModel, JAModel, JudgewiseBTLModel
from ..results import HJAResults
from ..selection import CRITERIA, RankSelection, select_rank

MODELS = {"btl": BTLModel, "ja": JAModel, "hja": HJAModel, "judgewise": JudgewiseBTLModel}


class UsageError(ValueError):
    """Options that contradict each other or cannot be read."""


def add_data(parser: argparse.ArgumentParser) -> None:
    """Where the verdicts are and what their columns are called."""
    parser.add_argument("file", metavar="FILE", help="verdicts as .csv, .tsv, .json or .jsonl; - reads standard input")
    group = parser.add_argument_group("data", "Columns are recognised by their usual names; these options name others.")
    group.add_argument("--judge", metavar="COLUMN", help="who judged")
    group.add_argument("--first", metavar="COLUMN", help="the item shown first")
    group.add_argument("--second", metavar="COLUMN", help="the item shown second")
    group.add_argument("--outcome", metavar="COLUMN", help="the verdict")
    group.add_argument("--weight", metavar="COLUMN", help="how many times the row counts")
    group.add_argument(
        "--single-judge", metavar="NAME", help="all verdicts are by this judge; there is no judge column"
    )
    group.add_argument(
        "--codes",
        nargs="+",
        metavar="CODE",
        help="what outcome values mean: unit (1 first to 0 second), alpacaeval, names, or pairs such as 1=first 2=second 3=tie",
    )
    group.add_argument("--drop", nargs="+", metavar="VALUE", help="outcome values to leave out")
    group.add_argument("--without-judges", nargs="+", default=[], metavar="NAME", help="judges to leave out")
    for role in ("judge", "item"):
        group.add_argument(
            f"--{role}-metadata",
            metavar="FILE",
            help=f"CSV with a column of {role} names and further columns; one called family colours the figures",
        )
    group.add_argument("--pool-judges", type=int, metavar="N", help="join judges with fewer than N verdicts into one")
    group.add_argument(
        "--format", choices=("csv", "tsv", "json", "jsonl"), help="format of FILE if its name does not say"
    )
    group.add_argument("--separator", metavar="TEXT", help="between the columns of a text table, such as ';'")


def read(options: argparse.Namespace) -> Comparisons:
    """The comparisons of the file or of standard input."""
    arguments = {
        name: getattr(options, name)
        for name in ("judge", "first", "second", "outcome", "weight", "single_judge", "drop", "format")
    }
    source: Any = options.file
    if options.file == "-":
        text = sys.stdin.read()
        arguments["format"] = options.format or _format_of(text)
        source = io.StringIO(text)
    elif not Path(options.file).exists():
        raise UsageError(f"there is no file {options.file}.")
    if options.separator is not None:
        source, arguments["format"] = _separated(source, options.separator), None
    data = read_comparisons(source, codes=_codes(options.codes), **arguments)
    if options.judge_metadata or options.item_metadata:
        data = data.with_metadata(judges=_metadata(options.judge_metadata), items=_metadata(options.item_metadata))
    if options.without_judges:
        data = data.without_judges(options.without_judges)
    return data if options.pool_judges is None else data.pool_rare_judges(options.pool_judges)


def _separated(source: Any, separator: str) -> pd.DataFrame:
    """A table with a separator of its own, as text: the items 7 and 007 are not the same."""
    try:
        return pd.read_csv(source, sep=separator, dtype=str, index_col=False, engine="python")
    except (ValueError, pd.errors.ParserError) as error:
        raise UsageError(f"FILE cannot be read as a table separated by {separator!r}: {error}") from None


def _metadata(path: str | None) -> pd.DataFrame | None:
    """A table whose first column holds the labels."""
    return None if path is None else pd.read_csv(path, index_col=0)


def _format_of(text: str) -> str:
    """The format of text without a name: JSON announces itself."""
    start = text.lstrip()[:1]
    return "json" if start == "[" else "jsonl" if start == "{" else "csv"


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
    group.add_argument(
        "--position",
        choices=("none", "common", "judge"),
        default="none",
        help="bonus of the item shown first: none (default), the same for all judges, or one per judge",
    )
    group.add_argument(
        "--ties",
        choices=("half", "drop", "davidson"),
        default="half",
        help="ties are half a win for each (default), left out, or an outcome of their own",
    )
    group.add_argument(
        "--tie", choices=("common", "judge"), default="common", help="tie propensity with --ties davidson"
    )
    group.add_argument("--ridge", type=_positive, metavar="ALPHA", help="shrink the scores, as fit_regularized(ALPHA)")
    group.add_argument(
        "--ridge-terms", action="store_true", help="with --ridge: shrink position effects and tie propensities, too"
    )
    group.add_argument(
        "--robust", action="store_true", help="standard errors that do not trust the model's variance (HC0)"
    )
    group.add_argument("--groups", metavar="COLUMN", help="standard errors robust to correlation within this column")


def _positive(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError("must be a positive number")
    return value


def position_of(options: argparse.Namespace) -> str | None:
    """The position effect asked for."""
    return None if options.position == "none" else str(options.position)


def build(options: argparse.Namespace, data: Comparisons) -> tuple[HJAModel, RankSelection | None]:
    """The model asked for; its rank chosen if that was asked for."""
    terms: dict[str, Any] = {"position": position_of(options), "ties": options.ties, "tie": options.tie}
    if options.model != "hja":
        return MODELS[options.model].from_comparisons(data, **terms), None
    if options.rank == "auto":
        selection = select_rank(data, criterion=options.criterion, progress=sys.stderr.isatty(), **terms)
        return selection.result.model, selection
    try:
        rank = int(options.rank)
    except ValueError:
        raise UsageError(f"--rank takes a whole number or auto, got {options.rank!r}.") from None
    return HJAModel.from_comparisons(data, rank=rank, **terms), None


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


def hints(options: argparse.Namespace, result: HJAResults) -> list[str]:
    """What the warnings of the fit ask for, in the options that give it."""
    warned = {finding.topic for finding in result.findings if finding.is_warning}
    found = []
    if not result.converged and options.ridge is None:
        found.append(
            "--ridge 0.1 fits with shrinkage (--ridge-terms: of position effects too), --pool-judges 50 joins light judges, "
            "--without-judges NAME leaves one out"
        )
    elif not result.converged and not options.ridge_terms:
        found.append("--ridge-terms shrinks position effects and tie propensities, too")
    if "ties" in warned:
        found.append("--robust, or --groups COLUMN, gives standard errors that hold for ties and soft preferences")
    return found


def position_note(options: argparse.Namespace, result: HJAResults) -> str | None:
    """That the ranking absorbs a position effect which the data show and the model does not have."""
    tested = [finding for finding in result.findings if finding.topic == "position test" and finding.is_warning]
    if not tested or options.position != "none":
        return None
    return "No position effect was modelled, but the data show one, and the scores absorb it: compare with --position judge."
