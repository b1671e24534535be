"""Parsing, exit codes and errors in one line: 0 all is well, 2 the input is at fault, 1 we are."""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
import traceback
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from .. import __version__
from ..errors import InputError
from ..words import LINE_WIDTH, no_wider
from . import commands
from .hints import told
from .text import say

DESCRIPTION = """\
Rank items from pairwise verdicts of several judges, with inference.

  hjastats demo                               see what it does, on simulated data
  hjastats fit verdicts.csv                   rank the items of a file, with the model its data ask for
  hjastats compare verdicts.csv               the models it was chosen from
  hjastats report verdicts.csv -o report.html a page to send around
  hjastats groups verdicts.csv --by category  rankings of groups, and whether they differ
  hjastats COMMAND --help                     all options of a command
"""
# By which users say how many threads there are to be.
THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
EPILOG = "Exit codes: 0 done, 2 something is wrong with the input (one line says what), 1 a bug (please report it)."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    # Streams that the caller has closed are none; what would be said there is lost, the work is not.
    sys.stdout, sys.stderr = (stream or io.StringIO() for stream in (sys.stdout, sys.stderr))
    given = _with_dashes(sys.argv[1:] if arguments is None else arguments)
    chosen = parser(given[0] if given else None).parse_args(given)
    try:
        with _one_thread(), no_wider(LINE_WIDTH):
            chosen.run(chosen)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of a pipe has seen enough; what is left in the buffer must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return _stop(chosen, "interrupted", 130)
    except (InputError, OSError) as error:
        return _stop(chosen, error, 2)
    except Exception as error:
        reason = f"internal error, {type(error).__name__}: {error} (run again with --debug and report what it prints)"
        return _stop(chosen, reason, 1)
    return 0


def _one_thread() -> AbstractContextManager[object]:
    """One thread for products of matrices, unless the environment says how many.

    Those of most panels are so small that threads wait for each other: at four times the processor time for 124 judges and 59
    items.
    """
    if any(name in os.environ for name in THREADS):
        return nullcontext()
    from threadpoolctl import threadpool_limits

    single: AbstractContextManager[object] = threadpool_limits(1)
    return single


def _with_dashes(arguments: Sequence[str]) -> list[str]:
    """Values of ``--codes`` and ``--drop`` tied to their option: argparse would take -2=first for an option of its own.

    Examples
    --------
    >>> _with_dashes(["fit", "f.csv", "--codes", "-2=0", "2=1", "--drop", "-9", "--json"])
    ['fit', 'f.csv', '--codes=-2=0', '--codes=2=1', '--drop=-9', '--json']
    """
    tied: list[str] = []
    option = ""
    for argument in arguments:
        is_value = not argument.startswith("-") or re.match(r"-[\d.]", argument)
        if option and is_value:
            # In place of the option itself, if this is its first value.
            del tied[len(tied) - (tied[-1] == option) :]
            tied.append(f"{option}={argument}")
            continue
        option = argument if argument in ("--codes", "--drop") else ""
        tied.append(argument)
    return tied


def _stop(chosen: argparse.Namespace, reason: BaseException | str, code: int) -> int:
    if chosen.debug:
        traceback.print_exc()
    say("hjastats: " + told(reason, vars(chosen)))
    return code


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """All commands with their options; only those of one where it is known: others may need imports that take time."""
    top = argparse.ArgumentParser(
        prog="hjastats",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"hjastats {__version__}")
    top.set_defaults(debug=False)
    subparsers = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in commands.COMMANDS.items():
        sub = subparsers.add_parser(
            name,
            help=command.help,
            description=command.description,
            epilog=command.epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if only in (None, name):
            command.add_options(sub)
        sub.add_argument("--debug", action="store_true", help="show the traceback of an error")
        sub.set_defaults(run=command.run)
    return top
