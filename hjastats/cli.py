"""The command line: ``hjastats demo`` fits the nested models to the embedded panel."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from . import __version__, datasets
from .errors import ComparisonError
from .experiments import EXPERIMENTS, Settings, reproduce
from .inference.comparison import compare
from .models import BTLModel, HJAModel, JAModel
from .summary import frame_text


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="hjastats", description="Ranking from pairwise verdicts of several judges, with inference."
    )
    parser.add_argument("--version", action="version", version=f"hjastats {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser(
        "demo",
        help="fit BTL, JA and HJA to the embedded simulated panel, compare them and print the summary",
        description="Fits Bradley-Terry-Luce, judge-aware and heterogeneous judge-aware models to the simulated panel that "
        "comes with the package, with and without position effects, and prints their comparison and a summary.",
    )
    _add_reproduce(commands)
    options = parser.parse_args(arguments)
    if options.command == "demo":
        demo()
        return 0
    try:
        print(_reproduce(options))
    except ComparisonError as error:
        print(f"hjastats: {error}", file=sys.stderr)
        return 2
    return 0


def _add_reproduce(commands: Any) -> None:
    names = "\n".join(f"  {name:12s} {experiment.title}" for name, experiment in EXPERIMENTS.items())
    parser = commands.add_parser(
        "reproduce",
        help="regenerate the experiments of the paper",
        description=f"Regenerate the experiments of the paper, with tables and figures in a folder:\n\n{names}\n"
        "  all          all of them, one after the other",
        epilog="An interrupted run goes on where it was when started again with the same folder.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=[*EXPERIMENTS, "all"], metavar="NAME", help="one of the above")
    parser.add_argument(
        "--data", nargs="+", default=[], metavar="FILE", help="verdicts for table1; by default the embedded panel"
    )
    parser.add_argument("--output", default="reproduction", metavar="FOLDER", help="where tables and figures go")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="parallel processes (default 1)")
    parser.add_argument("--quick", action="store_true", help="a few repetitions, to see that everything works")
    parser.add_argument(
        "--noise-volume",
        type=float,
        default=Settings.volume,
        metavar="X",
        help="records of a noisy judge, in multiples of the mean judge (default %(default)g)",
    )


def _reproduce(options: argparse.Namespace) -> str:
    settings = Settings(options.quick, tuple(options.data), options.noise_volume)
    return reproduce(options.name, options.output, settings, jobs=options.jobs, progress=sys.stderr.isatty())


def demo() -> None:
    """Print the data, the comparison of the nested models, and the summary of HJA with position effects."""
    data = datasets.load_panel()
    print(data, end="\n\n")
    fits = [
        model.from_comparisons(data, **options, position=position).fit()
        for position in (None, "judge")
        for model, options in ((BTLModel, {}), (JAModel, {}), (HJAModel, {"rank": 1}))
    ]
    print(
        "Nested models (simulated data: six judges with one direction of disagreement, one position-biased, one noisy)"
    )
    print(frame_text(compare(*fits)), end="\n\n")
    print(fits[-1].summary())


if __name__ == "__main__":
    sys.exit(main())
