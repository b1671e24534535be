"""The command line: ``hjastats demo`` fits the nested models to the embedded panel."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from . import __version__, datasets
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
    parser.parse_args(arguments)
    demo()
    return 0


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
