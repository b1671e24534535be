"""What to do next, in the options of the command line."""

from __future__ import annotations

import shlex
from collections.abc import Container, Mapping, Sequence

from ..errors import Hint, Message, spelled
from ..words import visible

# Hints that are options of another name, and what has to follow it.
OTHER_NAMES = {
    "cov_type='HC0'": ("robust", ""),
    "cov_type='cluster'": ("cluster", " COLUMN"),
    "fit(cov_type='cluster', cov_kwds={'groups': 'row'})": ("cluster", " row"),
    "hja.fit(..., judges='sample')": ("judges", " sample"),
    "fit_regularized()": ("ridge", " 0.1"),
    "fit_regularized(terms=True)": ("ridge", " 0.1"),
    "ranking(items=[...])": ("group_of", " ITEM"),
    "data.with_metadata(items=table)": ("item_metadata", " FILE"),
    "data.with_metadata(judges=table)": ("judge_metadata", " FILE"),
}

# Arguments of hjastats.fit that are options of another name.
ARGUMENTS = {"groups": "cluster", "exog": "covariate", "weights": "balance"}


def told(message: BaseException | str, options: Container[str]) -> str:
    """An error or a warning on one line, its hints as options.

    Parameters
    ----------
    message : error, warning or str
    options : container of str
        The options of the command, by the names of Python. A hint at anything else is shown as it is.

    Examples
    --------
    >>> from hjastats import ComparisonError
    >>> error = ComparisonError("'x=1' is no verdict: pass ", Hint("codes", {"x=1": "first"}), " or ", Hint("keep", []))
    >>> print(told(error, {"codes"}))
    'x=1' is no verdict: pass --codes 'x=1=first' ... or keep=[...]
    """
    pieces = message.args if isinstance(message, Message) else [message]
    text = visible(spelled(pieces, lambda hint: as_option(hint, options)))
    return " ".join(line.strip() for line in text.splitlines())


def as_option(hint: Hint, options: Container[str]) -> str:
    """A hint as the option it is here; as it stands where there is none.

    Examples
    --------
    >>> print(as_option(Hint("single_judge", "GPT-4"), {"single_judge"}))
    --single-judge GPT-4
    >>> print(as_option(Hint("drop", ["not sure"]), {"drop"}), as_option(Hint("drop", []), {"drop"}))
    --drop 'not sure' ... --drop VALUE ...
    >>> print(as_option(Hint("codes", {"1": "first", "2": "second"}, is_whole=True), {"codes"}))
    --codes 1=first 2=second
    >>> print(as_option(Hint("counts", False), {"counts"}))
    --no-counts
    """
    name, rest = OTHER_NAMES.get(str(hint), (hint.name, None))
    if hint.name == "data.pool_rare_judges":
        name, rest = "pool_judges", f" {hint.value}"
    elif hint.name in ARGUMENTS:
        name, rest = ARGUMENTS[hint.name], f" {shlex.quote(str(hint.value))}"
    if name not in options or (hint.is_call and rest is None):
        return str(hint)
    option = "--" + name.replace("_", "-")
    if rest is not None:
        return option + rest
    if isinstance(hint.value, bool):
        return option if hint.value else option.replace("--", "--no-", 1)
    if hint.is_whole:
        pairs = hint.value.items() if isinstance(hint.value, Mapping) else None
        texts = [str(text) for text in hint.value] if pairs is None else [f"{label}={code}" for label, code in pairs]  # type: ignore[attr-defined]
        # A value that begins with a dash looks like another option unless it is tied to its own.
        tied = [f"{option}={shlex.quote(text)}" for text in texts]
        is_dashed = any(text.startswith("-") for text in texts)
        return " ".join(tied if is_dashed else [option, *map(shlex.quote, texts)])
    if isinstance(hint.value, Mapping):
        return _beginning(option, [f"{label}={meaning}" for label, meaning in hint.value.items()], "VALUE=first")
    if isinstance(hint.value, list):
        return _beginning(option, hint.value, "VALUE")
    if hint.value is None:
        return option
    value = shlex.quote(str(hint.value))
    # What begins with a dash looks like another option.
    return f"{option}={value}" if value.startswith("-") else f"{option} {value}"


def _beginning(option: str, values: Sequence[object], example: str) -> str:
    """An option with the first of its values, in quotes even where they need none: the next ones may."""
    given = " ".join(map(_quoted, values)) or example
    # A value that begins with a dash looks like another option unless it is tied to its own.
    return f"{option}={given} {option} ..." if given.startswith("'-") else f"{option} {given} ..."


def _quoted(value: object) -> str:
    return "'" + str(value).replace("'", "'\"'\"'") + "'"
