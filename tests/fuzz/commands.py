"""Command lines by chance; whatever is wrong with them, the exit code is 2 and one line says what."""

import contextlib
import io
import tempfile
from pathlib import Path

from hjastats.cli import main
from hjastats.cli.main import parser

from .files import ROWS, as_csv, broken_meaning, damaged, same_meaning
from .outcomes import Wrong
from .values import GOOD

COMMANDS = ("fit", "fit", "fit", "compare", "leaderboard", "plan", "report", "groups")
TEXTS = [
    "",
    "0",
    "-1",
    "1.5",
    "nan",
    "1e400",
    "nothing",
    "\0",
    "\ud800",
    "mu[gpt-4]",
    "p[j0, gpt-4, 007]",
    "judge",
    "a=b",
    "a=first",
    "x" * 3000,
]


def _options(command):
    """Options of a command: flags, and those that take a value."""
    subparsers = next(action for action in parser(command)._actions if hasattr(action, "choices") and action.choices)
    actions = subparsers.choices[command]._actions
    return [
        action
        for action in actions
        if action.option_strings and action.dest not in ("help", "debug", "jobs", "n_jobs", "browser")
    ]


def case(rng):
    """One command line on a small file."""
    command = rng.choice(COMMANDS)
    share = rng.random()
    content = (
        as_csv(ROWS).encode()
        if share < 0.6
        else same_meaning(rng)
        if share < 0.8
        else broken_meaning(rng)[0]
        if share < 0.9
        else damaged(rng)[0]
    )

    def call():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "verdicts.csv"
            path.write_bytes(content)
            line = [command, str(path)]
            line += ["--by", rng.choice(["judge", "winner", "question_id", *TEXTS])] if command == "groups" else []
            for action in rng.sample(_options(command), rng.randint(0, 3)):
                line += [action.option_strings[-1]]
                if action.nargs == 0:
                    continue
                values = [str(one) for one in (action.choices or GOOD.get(action.dest) or TEXTS) if one is not None]
                if action.dest in ("save", "output", "json", "out"):
                    values = [str(Path(folder) / "out"), folder, str(Path(folder) / "no" / "out")]
                line += [rng.choice(values if rng.random() < 0.6 else TEXTS)]
            call.told = lambda: " ".join(map(repr, line))
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                try:
                    code = main(line)
                except SystemExit as ended:
                    code = ended.code
            if code not in (0, 2):
                raise AssertionError(f"exit {code}: {err.getvalue()[-400:]}")
            if code == 2:
                if not err.getvalue().strip():
                    raise Wrong("exit 2 without a word")
                raise FileNotFoundError("refused")

    return call
